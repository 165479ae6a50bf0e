//! What else there is to know of a lease, each as a short sentence.

use baton_client::Lease;
use leptos::prelude::*;

use crate::{
    moment_view::sentence,
    sentence::{by, clock, isolated, plain},
};

/// A note, and how it is to be taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    /// The class in the style sheet.
    pub class: &'static str,
    /// The sentence, with its marks.
    pub text: String,
}

/// The notes of a lease, the most pressing first.
pub fn notes(lease: &Lease) -> Vec<Note> {
    let mut notes = Vec::new();
    let mut note = |class, text| notes.push(Note { class, text });
    if lease.flapping >= Lease::FLAPPING_FROM {
        note(
            "alert",
            format!("flapping: {} handovers in 5 min", lease.flapping),
        );
    }
    if let Some(blocked) = &lease.blocked {
        note(
            "alert",
            format!("a change of hands waits: {}", isolated(blocked)),
        );
    }
    if let Some(step_down) = &lease.step_down {
        let (by, reason) = (by(&step_down.actor), isolated(&step_down.reason));
        let deadline = clock(step_down.deadline);
        note(
            "warn",
            format!("asked by {by} to step down by {deadline}: {reason}"),
        );
    }
    if let Some(paused) = &lease.paused {
        note(
            "quiet",
            format!(
                "paused by {}: {}",
                by(&paused.actor),
                isolated(&paused.reason)
            ),
        );
    }
    if let Some(barred) = &lease.barred {
        let whom = barred
            .holder
            .as_ref()
            .map_or_else(|| "everyone".to_owned(), isolated);
        let (until, reason) = (clock(barred.until), isolated(&barred.reason));
        note("quiet", format!("{whom} barred until {until}: {reason}"));
    }
    if let Some(reserved) = &lease.reserved {
        let until = clock(reserved.until);
        note(
            "quiet",
            format!("reserved for {} until {until}", isolated(&reserved.holder)),
        );
    }
    notes
}

/// The notes below a lease's name, and what its holder says.
#[component]
pub fn Notes(notes: Memo<(Vec<Note>, Option<String>)>) -> impl IntoView {
    move || {
        let (notes, says) = notes.get();
        let notes = notes.into_iter().map(|note| (note.class, None, note.text));
        let says = says.map(|says| ("", Some("status"), isolated(&says)));
        let lines = notes.chain(says).map(|(class, part, text)| {
            view! {
                <span class=format!("says {class}") data-part=part title=plain(&text, None)>
                    {sentence(&text)}
                </span>
            }
        });
        lines.collect::<Vec<_>>()
    }
}

#[cfg(test)]
mod tests {
    use baton_client::{Actor, Barred, Paused, Reserved};

    use super::*;
    use crate::countdown::tests::held;

    #[test]
    fn a_quiet_lease_has_no_notes() {
        assert_eq!(notes(&held("a")), []);
    }

    #[test]
    fn notes_say_who_and_why_and_until_when() {
        let mut lease = held("a");
        lease.flapping = 7;
        let actor = Actor::User("omar".into());
        lease.paused = Some(Paused {
            at: lease.now,
            actor: actor.clone(),
            reason: "freeze".into(),
            incident: None,
        });
        lease.barred = Some(Barred {
            holder: None,
            until: lease.now,
            actor: actor.clone(),
            reason: "wedged".into(),
        });
        lease.reserved = Some(Reserved {
            holder: "b".parse().expect("a holder"),
            until: lease.now.plus_ms(24 * 3_600_000),
            actor,
            reason: "wedged".into(),
        });
        let texts: Vec<_> = notes(&lease)
            .into_iter()
            .map(|note| plain(&note.text, Some(lease.now)))
            .collect();
        assert_eq!(
            texts,
            [
                "flapping: 7 handovers in 5 min",
                "paused by omar: freeze",
                "everyone barred until 02:14:07 UTC: wedged",
                "reserved for b until 2026-11-30 02:14:07 UTC",
            ]
        );
    }
}
