//! The HTML document around the pages, on the server.

use leptos::{nonce::use_nonce, prelude::*};
use leptos_meta::MetaTags;

use crate::App;

/// The whole document. Scripts carry the request's nonce, and there is no style
/// but the sheet, so that a strict content security policy holds.
pub fn shell(options: LeptosOptions) -> impl IntoView {
    view! {
        <!DOCTYPE html>
        <html lang="en" data-theme=theme()>
            <head>
                <meta charset="utf-8" />
                <meta name="viewport" content="width=device-width, initial-scale=1" />
                <meta name="robots" content="noindex" />
                <link rel="icon" href="/favicon.svg" type="image/svg+xml" />
                <link rel="stylesheet" href="/pkg/baton.css" />
                <Script options />
                <MetaTags />
            </head>
            <body>
                <App />
            </body>
        </html>
    }
}

/// What loads the WebAssembly. As `HydrationScripts`, which however asks for
/// the module before the script without the nonce, and is refused that.
#[component]
fn Script(options: LeptosOptions) -> impl IntoView {
    let LeptosOptions {
        output_name,
        site_pkg_dir,
        ..
    } = options;
    let js = format!("/{site_pkg_dir}/{output_name}.js");
    let wasm = format!("/{site_pkg_dir}/{output_name}_bg.wasm");
    let start = format!(
        "import({js:?}).then(baton => baton.default({{module_or_path: {wasm:?}}}).then(() => baton.hydrate()));"
    );
    view! {
        <link rel="modulepreload" href=js nonce=use_nonce() />
        <link
            rel="preload"
            href=wasm
            r#as="fetch"
            r#type="application/wasm"
            crossorigin="anonymous"
        />
        <script type="module" nonce=use_nonce()>
            {start}
        </script>
    }
}

/// The theme that was chosen, by cookie; `None` leaves it to the system.
fn theme() -> Option<&'static str> {
    let parts = use_context::<http::request::Parts>()?;
    let cookies = parts.headers.get_all(http::header::COOKIE);
    let mut cookies = cookies
        .into_iter()
        .filter_map(|header| header.to_str().ok())
        .flat_map(|header| header.split(';'));
    let theme = cookies.find_map(|cookie| cookie.trim().strip_prefix("theme="))?;
    ["light", "dark"].into_iter().find(|known| *known == theme)
}
