//! The access log, for admins: who signed in, changed users and tokens, exported,
//! and was refused.

use baton_client::{AccessEntry, AccessEvent, AccessPage};
use leptos::prelude::*;

use crate::{address::query_of, moment::Form, moment_view::moment};

use super::{
    Filled,
    form::{Field, select_field, text_field},
};

/// What the address filters by.
const FILTERS: [&str; 6] = ["event", "actor", "address", "subject", "from", "to"];

/// What there is to show.
#[derive(Debug, Clone)]
pub enum AccessShown {
    /// A page of entries, newest first.
    Entries(AccessPage),
    /// Something is wrong with what was asked for.
    Nothing,
}

/// The page.
pub fn access_page(filled: &Filled, shown: AccessShown) -> AnyView {
    let entries = match shown {
        AccessShown::Entries(page) => entries(filled, page),
        AccessShown::Nothing => view! {
            <p class="problem" role="alert" data-part="problem">
                "Nothing is shown: one of the filters cannot be."
            </p>
        }
        .into_any(),
    };
    view! {
        <main>
            <div class="head">
                <h1>"Access log"</h1>
                <a class="button" href=link("/api/v1/access/export", filled, None) download="">
                    "Export"
                </a>
            </div>
            <p class="muted">
                "Who signed in, changed users and tokens, exported, and was refused. Changes of leases are in the history."
            </p>
            {filters(filled)}
            {entries}
        </main>
    }
    .into_any()
}

/// An address with the filters in it, and where its page begins.
fn link(path: &str, filled: &Filled, cursor: Option<&str>) -> String {
    let fields = FILTERS.iter().filter_map(|field| {
        let value = filled.said(field)?.trim();
        Some((*field, value))
    });
    format!(
        "{path}{}",
        query_of(fields.chain(cursor.map(|cursor| ("cursor", cursor))))
    )
}

fn filters(filled: &Filled) -> AnyView {
    let all = (String::new(), "all events".to_owned());
    let events = AccessEvent::ALL.iter().map(|event| {
        let words = event.as_str().replace('_', " ");
        (event.as_str().to_owned(), words)
    });
    let events: Vec<(String, String)> = std::iter::once(all).chain(events).collect();
    let text = |name, label, hint, chars_max| {
        let field = Field {
            name,
            label,
            hint,
            chars_max,
            ..Field::default()
        };
        text_field(filled, field)
    };
    view! {
        <form class="sheet filters" method="get" action="/access" role="search">
            {select_field(filled, "event", "What", &events, "")}
            {text("actor", "Who", "user:NAME, token:NAME or baton", 255)}
            {text("subject", "About", "a user, token or lease", 200)}
            {text("address", "From where", "an IP address", 64)}
            {text("from", "Since", "2026-11-29T02:00:00Z", 32)}
            {text("to", "Before", "2026-11-30T02:00:00Z", 32)}
            <footer>
                <a class="button" href="/access">
                    "Clear"
                </a>
                <button class="primary" type="submit">
                    "Show"
                </button>
            </footer>
        </form>
    }
    .into_any()
}

fn entries(filled: &Filled, page: AccessPage) -> AnyView {
    if page.items.is_empty() {
        return view! {
            <p class="notice" role="status" data-part="empty">
                "Nothing in the access log matches."
            </p>
        }
        .into_any();
    }
    let older = page.next.as_deref().map(|next| {
        view! {
            <a class="button" href=link("/access", filled, Some(next)) rel="next">
                "Older entries"
            </a>
        }
    });
    let newest = filled.said("cursor").map(|_| {
        view! {
            <a class="button" href=link("/access", filled, None)>
                "Newest entries"
            </a>
        }
    });
    let rows = page.items.into_iter().map(row).collect_view();
    view! {
        <div class="sheet">
            <table class="cards access">
                <thead>
                    <tr>
                        <th>"Time"</th>
                        <th>"What"</th>
                        <th>"Who"</th>
                        <th>"From where"</th>
                        <th>"About"</th>
                        <th>"More"</th>
                    </tr>
                </thead>
                <tbody>{rows}</tbody>
            </table>
        </div>
        <p class="pages">{newest} {older}</p>
    }
    .into_any()
}

fn row(entry: AccessEntry) -> AnyView {
    let actor = entry.actor.as_ref().map(ToString::to_string);
    let text = |text: Option<String>| text.unwrap_or_else(|| "–".into());
    let id = entry
        .request_id
        .map(|id| format!("request {id}"))
        .unwrap_or_default();
    view! {
        <tr data-seq=entry.seq.to_string()>
            <th scope="row" class="name" title=format!("seq {}", entry.seq)>
                {moment(entry.at, Form::Full)}
            </th>
            <td class="what">{entry.event.as_str().replace('_', " ")}</td>
            <td data-label="Who">
                <bdi>{text(actor)}</bdi>
            </td>
            <td data-label="From" title=id>
                {text(entry.actor_address)}
            </td>
            <td class="wide" data-label="About">
                <bdi>{text(entry.subject)}</bdi>
            </td>
            <td class="wide" data-label="More">
                <bdi>{details(&entry.details)}</bdi>
            </td>
        </tr>
    }
    .into_any()
}

/// The details in a line of words.
fn details(details: &serde_json::Map<String, serde_json::Value>) -> String {
    let said = details.iter().filter_map(|(key, value)| match value {
        serde_json::Value::Null => None,
        serde_json::Value::String(text) if text.is_empty() => None,
        serde_json::Value::String(text) => Some(format!("{key} {}", text.replace('\n', ", "))),
        value => Some(format!("{key} {value}")),
    });
    said.collect::<Vec<_>>().join(" · ")
}
