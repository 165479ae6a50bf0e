//! Moments on a page: each is an element that says the exact time in UTC to
//! whoever points at it, and reads as its reader chose.

use baton_client::Timestamp;
use leptos::{either::EitherOf3, prelude::*};

use crate::{
    display::Times,
    live::text,
    moment::{Form, written},
    sentence::{Piece, pieces},
};

/// Who reads the page, as far as its moments are concerned. It stands in the
/// context of everything that is shown.
#[derive(Debug, Clone, Copy, Default)]
pub struct Reader {
    /// What they chose.
    pub times: Times,
    /// The database time that the page is true for.
    pub now: Option<Memo<Timestamp>>,
}

impl Reader {
    /// Who reads this page.
    pub fn of_page() -> Self {
        use_context().unwrap_or_default()
    }

    /// The moment as they want it.
    pub fn write(self, at: Timestamp, form: Form) -> String {
        let now = self.now.map(|now| now.get_untracked());
        let ahead_min = match self.times {
            Times::Local => ahead_min(at),
            Times::Utc | Times::Ago => None,
        };
        written(at, form, self.times, now, ahead_min)
    }
}

/// How many minutes the local time is ahead of UTC then. Only a browser knows.
#[cfg(feature = "hydrate")]
fn ahead_min(at: Timestamp) -> Option<i64> {
    let date = js_sys::Date::new(&(at.micros() as f64 / 1_000.0).into());
    // Browsers count the other way round.
    Some(-(date.get_timezone_offset() as i64))
}

#[cfg(not(feature = "hydrate"))]
fn ahead_min(_: Timestamp) -> Option<i64> {
    None
}

/// A moment that stays what it is. In a browser [`keep`] keeps it current.
pub fn moment(at: Timestamp, form: Form) -> impl IntoView {
    let exact = at.to_string();
    view! {
        <time datetime=exact.clone() title=exact data-form=form.as_str()>
            {Reader::of_page().write(at, form)}
        </time>
    }
}

/// The time that a page is true for, as it goes on.
pub fn moving(at: Memo<Timestamp>) -> impl IntoView {
    let reader = Reader::of_page();
    let exact = text(move || at.get().to_string());
    let words = text(move || reader.write(at.get(), Form::Clock));
    view! {
        <time datetime=exact title=exact data-form=Form::Clock.as_str()>
            {words}
        </time>
    }
}

/// A sentence with what is marked in it.
pub fn sentence(text: &str) -> impl IntoView + use<> {
    pieces(text).into_iter().map(piece).collect::<Vec<_>>()
}

/// A sentence that changes. One function for all, so that it is compiled once.
pub fn spoken(text: Memo<String>) -> impl IntoView {
    move || sentence(&text.get())
}

/// A part of a sentence.
pub fn piece(piece: Piece) -> impl IntoView {
    match piece {
        Piece::Text(text) => EitherOf3::A(text),
        Piece::At(at, form) => EitherOf3::B(moment(at, form)),
        Piece::Isolated(text) => EitherOf3::C(view! { <bdi>{text}</bdi> }),
    }
}

/// Writes all moments of the open page anew: those that came from the server do
/// not know the local zone, and how long ago changes as time goes on. Only the
/// text is changed, in place, so that what is taken over stays so.
#[cfg(feature = "hydrate")]
pub fn keep(reader: Reader) {
    use wasm_bindgen::JsCast;
    if reader.times == Times::Utc {
        return;
    }
    // Only a selector that cannot be read fails.
    let Ok(all) = document().query_selector_all("time[data-form]") else {
        return;
    };
    for element in (0..all.length()).filter_map(|at| all.get(at)) {
        let Some(text) = element.first_child() else {
            continue;
        };
        let element: web_sys::Element = element.unchecked_into();
        let at = element.get_attribute("datetime");
        let form = element.get_attribute("data-form");
        if let Some(at) = at.and_then(|at| at.parse().ok())
            && let Some(form) = form.and_then(|form| Form::read(&form))
        {
            let words = reader.write(at, form);
            if text.node_value().as_deref() != Some(&words) {
                text.set_node_value(Some(&words));
            }
        }
    }
}
