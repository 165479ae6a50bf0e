//! How many leases there are of each kind. Each number is a filter.

use baton_client::LeaseState;
use leptos::prelude::*;

use crate::{
    Totals,
    address::{Asked, Show},
    live::{LeaseList, text},
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
pub fn TotalsLine(list: LeaseList, asked: Asked) -> impl IntoView {
    let totals = list.totals;
    let figures = FIGURES.map(|(word, count, show)| {
        let number = text(move || grouped(totals.with(count)));
        let class = text(move || {
            let class = match (word, totals.with(count)) {
                (_, 0) => "zero",
                ("lapsed" | "flapping", _) => "alert",
                _ => "",
            };
            class.to_owned()
        });
        // What has no filter of its own is no link.
        let href = show.map(|show| asked.showing(show).href());
        let current = show
            .is_some_and(|show| show == asked.show)
            .then_some("true");
        view! {
            <li>
                <a data-total=word class=class href=href aria-current=current>
                    <b>{number}</b>
                    {word}
                </a>
            </li>
        }
    });
    view! {
        <ul class="totals" aria-label="Leases by state">
            {figures.into_iter().collect::<Vec<_>>()}
        </ul>
    }
}

/// What the tab says, also when the page is in the background.
pub fn title(totals: Totals) -> String {
    match totals {
        Totals {
            lapsed: 0,
            flapping: 0,
            ..
        } => "Leases".to_owned(),
        Totals {
            lapsed: 0,
            flapping,
            ..
        } => format!("{flapping} flapping"),
        Totals { lapsed, .. } => format!("{lapsed} lapsed"),
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
