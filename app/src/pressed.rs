//! The keys that are pressed on a page that is live: [`keys`](crate::keys) says
//! what each does, and here it is done.

use std::cell::RefCell;

use leptos::prelude::document;
use wasm_bindgen::{JsCast, closure::Closure};
use web_sys::{Element, HtmlDialogElement, HtmlElement, KeyboardEvent, Node};

use crate::keys::{Does, does, step};

/// Where keys are text, or the browser's own.
const TYPING: &str = "input, textarea, select, dialog, [contenteditable]";
/// Where to search, or to filter.
const SEARCH: &str = "[role=search] input";
/// The link that opens a row.
const ROW: &str = "a[data-row]";

/// Listens, for as long as the document lives. `is_list`: the page is about a
/// list, so that arrows move through it from wherever nothing has the focus.
pub fn listen(is_list: bool) {
    let last = RefCell::new(None);
    let pressed = Closure::<dyn Fn(KeyboardEvent)>::new(move |event: KeyboardEvent| {
        let with = event.ctrl_key() || event.alt_key() || event.meta_key();
        let target: Option<Element> = event.target().and_then(|target| target.dyn_into().ok());
        let typing = target.as_ref().and_then(|target| closest(target, TYPING));
        if with || event.is_composing() || event.default_prevented() || typing.is_some() {
            return;
        }
        let row = target.as_ref().and_then(|target| closest(target, "tr"));
        let nowhere = target.is_none_or(|target| target.has_type::<web_sys::HtmlBodyElement>());
        let arrows = row.is_some() || (is_list && nowhere);
        if does(&event.key(), arrows).is_some_and(|what| act(what, row.as_ref(), &last)) {
            event.prevent_default();
        }
    });
    // The document of an open page takes listeners.
    let _ =
        document().add_event_listener_with_callback("keydown", pressed.as_ref().unchecked_ref());
    pressed.forget();
}

/// Does it, if there is something to do it with. `row` has the focus; `last` is
/// the link that was gone to last.
fn act(what: Does, row: Option<&Element>, last: &RefCell<Option<Node>>) -> bool {
    match what {
        Does::List => {
            let list = document().get_element_by_id("keys");
            let list = list.and_then(|list| list.dyn_into::<HtmlDialogElement>().ok());
            // One that is in the document and closed can be shown.
            list.is_some_and(|list| list.show_modal().is_ok())
        }
        Does::Search => {
            let Ok(Some(field)) = document().query_selector(SEARCH) else {
                return false;
            };
            if let Some(folded) = closest(&field, "details") {
                // An attribute of an element that exists can be set.
                let _ = folded.set_attribute("open", "");
            }
            focus(field)
        }
        Does::Next | Does::Before => go(what, row, last),
    }
}

fn go(what: Does, row: Option<&Element>, last: &RefCell<Option<Node>>) -> bool {
    let Ok(links) = document().query_selector_all(ROW) else {
        return false;
    };
    let is_here = |link: Option<Node>| match row {
        Some(row) => row.contains(link.as_ref()),
        // A row that moves in a live list loses the focus, and not its place.
        None => link.is_some() && link == *last.borrow(),
    };
    let at = (0..links.length()).find(|at| is_here(links.get(*at)));
    let to = step(what, at, links.length()).and_then(|to| links.get(to));
    match to {
        Some(link) => {
            last.replace(Some(link.clone()));
            focus(link.unchecked_into())
        }
        // At an end arrows do not scroll on.
        None => at.is_some(),
    }
}

fn focus(element: Element) -> bool {
    let element: HtmlElement = element.unchecked_into();
    // What is not shown takes no focus, and then nothing has happened.
    element.focus().is_ok()
}

fn closest(element: &Element, selector: &str) -> Option<Element> {
    // Only a selector that cannot be read fails.
    element.closest(selector).ok().flatten()
}
