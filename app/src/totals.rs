//! How many leases there are of each kind. Each number is a filter.

use baton_client::LeaseState;
use leptos::prelude::*;

use crate::{
    Totals,
    address::{Asked, Show},
    live::LeaseList,
};

/// A number: its word, where it is found, and what it leads to. What needs
/// attention has no filter of its own for each reason, but one for all.
type Figure = (&'static str, fn(&Totals) -> u64, Option<Show>);

const FIGURES: [Figure; 6] = [
    ("all", |totals| totals.all, Some(Show::All)),
    (
        "held",
        |totals| totals.held,
        Some(Show::In(LeaseState::Held)),
    ),
    (
        "lapsed",
        |totals| totals.lapsed,
        Some(Show::In(LeaseState::Lapsed)),
    ),
    ("flapping", |totals| totals.flapping, Some(Show::Attention)),
    ("paused", |totals| totals.paused, None),
    (
        "free",
        |totals| totals.free,
        Some(Show::In(LeaseState::Free)),
    ),
];

/// The numbers.
#[component]
pub fn TotalsLine(list: LeaseList, asked: Memo<Asked>) -> impl IntoView {
    let totals = list.totals;
    // Before anything was read there is no number, not even zero.
    let unread = move || list.opened.with(Option::is_none);
    let figures = FIGURES.map(|(word, count, show)| {
        let count = Memo::new(move |_| totals.with(count));
        let alert = move || matches!(word, "lapsed" | "flapping") && count.get() > 0;
        let inside = view! {
            <b>{move || grouped(count.get())}</b>
            {word}
        };
        match show {
            Some(show) => view! {
                <li>
                    <a
                        data-total=word
                        class:alert=alert
                        class:zero=move || count.get() == 0
                        href=move || asked.with(|asked| asked.showing(show).href())
                        aria-current=move || asked.with(|asked| asked.show == show).then_some("true")
                    >
                        {inside}
                    </a>
                </li>
            }
            .into_any(),
            None => view! {
                <li>
                    <span data-total=word class:zero=move || count.get() == 0>
                        {inside}
                    </span>
                </li>
            }
            .into_any(),
        }
    });
    view! {
        <ul class="totals" aria-label="Leases by state" hidden=unread>
            {figures.collect_view()}
        </ul>
    }
}

/// A count with its thousands apart, to be read and not to be copied.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::grouped;

    #[test]
    fn thousands_stand_apart() {
        for (number, text) in [
            (0, "0"),
            (999, "999"),
            (1_204, "1,204"),
            (100_000, "100,000"),
        ] {
            assert_eq!(grouped(number), text);
        }
    }
}
