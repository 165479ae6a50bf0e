//! The HTML document around a page.

use baton_client::Timestamp;
use leptos::prelude::*;
use serde::Serialize;

use crate::{
    display::{Choice, Display},
    files,
    moment_view::Reader,
};

/// What stands around a page.
#[derive(Debug, Clone, Default)]
pub struct Document {
    /// What the tab says, before the name of the program.
    pub title: String,
    /// How its reader wants it to be shown.
    pub display: Display,
    /// The database time that it is true for, if it shows anything that time
    /// changes.
    pub now: Option<Timestamp>,
    /// What makes the page live; `None` for one that stands still.
    pub script: Option<Script>,
    /// After so many seconds the browser asks again.
    pub reload_s: Option<u64>,
}

/// What the page's WebAssembly begins with.
#[derive(Debug, Clone)]
pub struct Script {
    /// Which page it is.
    pub page: &'static str,
    /// What it shows, as JSON.
    pub data: String,
    /// The nonce without which no script runs.
    pub nonce: String,
}

impl Script {
    /// Of this page, with what it shows.
    pub fn new(page: &'static str, data: &impl Serialize, nonce: &str) -> Option<Self> {
        // Nothing that pages show fails to be written; a page without its
        // script is still a whole page.
        let data = serde_json::to_string(data).ok()?;
        Some(Self {
            page,
            // No text may end the element that it stands in, nor open a comment.
            data: data.replace('<', "\\u003c"),
            nonce: nonce.to_owned(),
        })
    }
}

/// The whole document. Scripts carry the request's nonce, and there is no style
/// but the sheet, so that a strict content security policy holds.
pub fn render<V: IntoView>(document: Document, body: impl FnOnce() -> V) -> String {
    let owner = Owner::new_root(None);
    let html = owner.with(|| {
        let Document {
            title,
            display,
            now,
            script,
            reload_s,
        } = document;
        provide_context(display);
        provide_context(Reader {
            times: display.times,
            now: now.map(|now| Memo::new(move |_| now)),
        });
        let reload =
            reload_s.map(|s| view! { <meta http-equiv="refresh" content=s.to_string() /> });
        let (head, data) = script.map(scripts).unzip();
        view! {
            <html
                lang="en"
                data-theme=display.theme.marked()
                data-times=display.times.marked()
                data-keys=display.keys.marked()
            >
                <head>
                    <meta charset="utf-8" />
                    <meta name="viewport" content="width=device-width, initial-scale=1" />
                    <meta name="robots" content="noindex" />
                    <title>{format!("{title} · Baton")}</title>
                    {reload}
                    <link rel="icon" href="/favicon.svg" type="image/svg+xml" />
                    <link rel="stylesheet" href=files::css() />
                    {head}
                </head>
                <body>{body()} {data}</body>
            </html>
        }
        .to_html()
    });
    owner.cleanup();
    format!("<!DOCTYPE html>{html}")
}

/// What loads the WebAssembly, and what it begins with.
fn scripts(script: Script) -> (impl IntoView, impl IntoView) {
    let Script { page, data, nonce } = script;
    let (js, wasm) = (files::js(), files::wasm());
    let start = format!(
        "import({js:?}).then(baton => baton.default({{module_or_path: {wasm:?}}}).then(() => baton.wake()));"
    );
    let head = view! {
        <link rel="modulepreload" href=js nonce=nonce.clone() />
        <link rel="preload" href=wasm r#as="fetch" r#type="application/wasm" crossorigin="anonymous" />
        <script type="module" nonce=nonce inner_html=start></script>
    };
    let data = view! { <script type="application/json" id="opened" data-page=page inner_html=data></script> };
    (head, data)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_data_ends_its_element() {
        let hostile = "</script><script>alert(1)</script><!--";
        let script = Script::new("leases", &hostile, "n0nce").expect("it is written");
        let document = Document {
            title: hostile.into(),
            script: Some(script),
            ..Document::default()
        };
        let html = render(document, || view! { <p>{hostile}</p> });
        assert_eq!(html.matches("<script").count(), 2, "{html}");
        assert_eq!(html.matches("</script").count(), 2, "{html}");
        assert_eq!(html.matches("<!--").count(), 0, "{html}");
        let from =
            html.find("data-page=\"leases\">").expect("the data") + "data-page=\"leases\">".len();
        let to = from + html[from..].find("</script>").expect("its end");
        let read: String = serde_json::from_str(&html[from..to]).expect("JSON");
        assert_eq!(read, hostile);
    }

    #[test]
    fn a_page_that_stands_still_has_no_script() {
        let html = render(Document::default(), || view! { <p>"x"</p> });
        assert!(html.starts_with("<!DOCTYPE html><html"), "{html}");
        assert!(!html.contains("script"), "{html}");
    }
}
