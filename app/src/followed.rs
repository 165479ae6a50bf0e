//! After an operator's act the page follows the handover: what was done, and
//! what came of it.

use baton_client::{HandoverEvent, Lease, LeaseState, Timestamp};

use crate::{
    countdown::coarse,
    entry::Entry,
    sentence::{clock, isolated},
};

/// What is to be said, in sentences with their marks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Followed {
    /// What was done.
    pub done: String,
    /// What came of it, or what is waited for.
    pub then: String,
    /// Something is still waited for.
    pub waiting: bool,
}

/// What came of `act` as the lease stands at `now`.
pub fn followed(act: &Entry, lease: &Lease, now: Timestamp) -> Followed {
    let at = clock(act.at);
    let before = act
        .previous_holder
        .as_ref()
        .map_or_else(|| "nobody".to_owned(), isolated);
    let ago = coarse(act.at.ms_until(now));
    let (done, then, waiting) = match act.event {
        HandoverEvent::Forced => {
            let done = if act.previous_holder.is_some() {
                format!("{before} was deposed at {at}. Its generation is refused from then on.")
            } else {
                format!("Bar, reservation and attempts were set at {at}; nobody held it.")
            };
            let (then, waiting) = successor(act, lease, &ago);
            (done, then, waiting)
        }
        HandoverEvent::StepDown => {
            let done = format!("{before} was asked at {at} to step down.");
            if lease.generation > act.generation {
                let (then, waiting) = successor(act, lease, &ago);
                (done, then, waiting)
            } else if let Some(step_down) = &lease.step_down {
                let left = coarse(now.ms_until(step_down.deadline));
                let then = format!("It has not let go yet. It is forced in {left}.");
                (done, then, true)
            } else {
                (done, "That was cancelled.".to_owned(), false)
            }
        }
        HandoverEvent::StepDownCancelled => (
            format!("The step-down was cancelled at {at}."),
            format!("{before} goes on."),
            false,
        ),
        HandoverEvent::Paused => (
            format!("Paused at {at}."),
            match &lease.holder {
                Some(holder) => {
                    format!("{} may go on; nobody else can take it.", isolated(holder))
                }
                None => "Nobody can take it.".to_owned(),
            },
            false,
        ),
        HandoverEvent::Unpaused => (
            format!("Resumed at {at}."),
            "It can be taken again.".to_owned(),
            false,
        ),
        HandoverEvent::Protected => (
            format!("Protected at {at}."),
            "To force it, its name must be typed.".to_owned(),
            false,
        ),
        HandoverEvent::Unprotected => (
            format!("No longer protected, since {at}."),
            "To force it, its name need not be typed.".to_owned(),
            false,
        ),
        _ => (format!("Done at {at}."), String::new(), false),
    };
    Followed {
        done,
        then,
        waiting,
    }
}

/// Who has the lease after `act` ended a tenure, or what is waited for.
fn successor(act: &Entry, lease: &Lease, ago: &str) -> (String, bool) {
    match (&lease.holder, lease.granted_at) {
        (Some(holder), Some(granted_at)) if lease.generation > act.generation => {
            let after = coarse(act.at.ms_until(granted_at));
            let late = match lease.state {
                LeaseState::Lapsed => ", and has lapsed",
                LeaseState::Held | LeaseState::Free => "",
            };
            let text = format!(
                "{} has it since {}, {after} later, as generation {}{late}.",
                isolated(holder),
                clock(granted_at),
                lease.generation
            );
            (text, false)
        }
        _ if lease.paused.is_some() => ("Nobody can take it: it is paused.".to_owned(), false),
        _ => (
            format!("Nobody has it yet, {ago} later. Waiting for the next holder."),
            true,
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{countdown::tests::held, sentence::plain};

    fn act(event: &str, generation: u64) -> Entry {
        serde_json::from_value(serde_json::json!({
            "seq": 7, "at": "2026-11-29T02:14:00Z", "lease": "a", "event": event,
            "generation": generation, "holder": null, "previous_holder": "replica-a",
            "held_from": null, "held_until": null, "reason": "wedged", "incident": null,
            "actor": "user:ana",
        }))
        .expect("an entry")
    }

    #[test]
    fn it_waits_until_somebody_has_the_lease() {
        let mut lease = held("a");
        let now = lease.now;
        let forced = act("forced", 40);
        lease.granted_at = Some(forced.at.plus_ms(3_000));
        let said = followed(&forced, &lease, now);
        assert_eq!(
            plain(&said.done, Some(now)),
            "replica-a was deposed at 02:14:00 UTC. Its generation is refused from then on."
        );
        assert_eq!(
            plain(&said.then, Some(now)),
            "replica-b / 7f9d has it since 02:14:03 UTC, 3 s later, as generation 41."
        );
        assert!(!said.waiting);

        lease.state = LeaseState::Free;
        (lease.holder, lease.granted_at) = (None, None);
        let said = followed(&forced, &lease, now);
        assert_eq!(
            said.then,
            "Nobody has it yet, 7 s later. Waiting for the next holder."
        );
        assert!(said.waiting);
    }

    #[test]
    fn a_step_down_is_followed_to_its_end() {
        let mut lease = held("a");
        let now = lease.now;
        let asked = act("step_down", 41);
        lease.step_down = Some(baton_client::StepDown {
            at: asked.at,
            deadline: now.plus_ms(20_000),
            actor: asked.actor.clone(),
            reason: asked.reason.clone(),
            incident: None,
            successor: None,
        });
        assert_eq!(
            followed(&asked, &lease, now).then,
            "It has not let go yet. It is forced in 20 s."
        );
        lease.step_down = None;
        assert_eq!(followed(&asked, &lease, now).then, "That was cancelled.");
        assert!(!followed(&act("step_down", 40), &lease, now).waiting);
    }
}
