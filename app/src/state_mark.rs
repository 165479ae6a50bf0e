//! A lease's state as a shape and a word, never colour alone.

use baton_client::{Lease, LeaseState};
use leptos::prelude::*;

use crate::{countdown::Tone, live::text};

/// What the mark shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mark {
    /// Somebody holds it.
    Held,
    /// Somebody holds it, and the renewal is late.
    Late,
    /// The holder did not renew in time.
    Lapsed,
    /// Nobody holds it, and nobody may take it.
    Paused,
    /// Nobody holds it.
    Free,
}

impl Mark {
    /// The mark of a lease whose countdown is to be taken as `tone`.
    pub fn of(lease: &Lease, tone: Tone) -> Self {
        match lease.state {
            LeaseState::Held if tone == Tone::Soon => Self::Late,
            LeaseState::Held => Self::Held,
            LeaseState::Lapsed => Self::Lapsed,
            LeaseState::Free if lease.paused.is_some() => Self::Paused,
            LeaseState::Free => Self::Free,
        }
    }

    fn word(self) -> &'static str {
        match self {
            Self::Held | Self::Late => "Held",
            Self::Lapsed => "Lapsed",
            Self::Paused => "Paused",
            Self::Free => "Free",
        }
    }

    fn class(self) -> &'static str {
        match self {
            Self::Held => "state held",
            Self::Late => "state soon",
            Self::Lapsed => "state lapsed",
            Self::Paused => "state paused",
            Self::Free => "state free",
        }
    }

    /// The shape, filled or as a line of this width.
    fn shape(self) -> (&'static str, bool) {
        match self {
            Self::Held => ("M6 1a5 5 0 1 0 .01 0z", true),
            Self::Late => ("M6 1.2a4.8 4.8 0 1 0 .01 0M6 6.4V3.2", false),
            Self::Lapsed => ("M6 .8 11.6 11H.4z", true),
            Self::Paused => ("M2 1h3v10H2zM7 1h3v10H7z", true),
            Self::Free => ("M6 1.8a4.2 4.2 0 1 0 .01 0z", false),
        }
    }
}

/// The shape and the word.
#[component]
pub fn StateMark(mark: Memo<Mark>) -> impl IntoView {
    let class = text(move || mark.get().class().to_owned());
    let shape = text(move || mark.get().shape().0.to_owned());
    let ink = |filled: bool| if filled { "currentColor" } else { "none" }.to_owned();
    let fill = text(move || ink(mark.get().shape().1));
    let stroke = text(move || ink(!mark.get().shape().1));
    let word = text(move || mark.get().word().to_owned());
    view! {
        <span class=class>
            <svg viewBox="0 0 12 12" aria-hidden="true">
                <path d=shape fill=fill stroke=stroke stroke-width="1.6" />
            </svg>
            <span data-part="state">{word}</span>
        </span>
    }
}
