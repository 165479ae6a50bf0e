//! What will happen, in plain words, with the facts of this moment.

use baton_client::{Lease, LeaseState};

use crate::{
    countdown::fine,
    moment::utc,
    sentence::{by, isolated},
};

use super::Act;

/// A holder renews every third of its ttl; one that is this many percent of
/// that late has missed more than a moment.
const LATE_PERCENT: u64 = 150;

/// The sentences that belong to an act on a lease, with their marks.
pub fn facts(act: Act, lease: &Lease) -> Vec<String> {
    let mut facts = match act {
        Act::ForceRelease => force(lease),
        Act::StepDown => step_down(lease),
        Act::CancelStepDown => vec![
            "The holder goes on, and nothing forces it any more. One that has begun to let go may still do so.".into(),
        ],
        Act::Pause => pause(lease),
        Act::Unpause => vec![unpause(lease)],
        Act::Lift => lift(lease),
        Act::ResetAttempts => reset(lease),
        Act::Protect => vec![
            "Whoever forces it on the page, or asks its holder to step down, must type its name first.".into(),
            "API and command line ask for no name.".into(),
        ],
        Act::Unprotect => {
            vec!["It can be forced without its name being typed.".into()]
        }
    };
    if act.takes_away() {
        facts.extend(around(lease));
    }
    facts
}

fn force(lease: &Lease) -> Vec<String> {
    let mut facts = vec![alive(lease)];
    if lease.state == LeaseState::Free {
        facts.push(
            "Forcing it changes no hands: it lifts or replaces a bar or a reservation, and starts the attempts anew.".into(),
        );
        return facts;
    }
    let (now, next) = (lease.generation.get(), lease.generation.get() + 1);
    facts.push(format!(
        "From the moment you confirm, the generation is {next}, and writes with generation {now} are refused wherever the generation is checked."
    ));
    facts.extend(finds_out(lease));
    if lease.attempt > 0 {
        facts.push(format!(
            "Whoever takes it next gets the same work, as attempt {}.",
            lease.attempt
        ));
    }
    facts
}

fn step_down(lease: &Lease) -> Vec<String> {
    vec![
        alive(lease),
        format!(
            "It is told at its next renewal{}, and should finish what it does and let go by itself.",
            within(lease)
        ),
        "At the deadline the server forces the release, whatever the holder does. No renewal moves the expiry past it.".into(),
    ]
}

/// Whether the holder seems to live.
fn alive(lease: &Lease) -> String {
    let (Some(renewed_at), Some(ttl_ms)) = (lease.renewed_at, lease.ttl_ms) else {
        return "Nobody holds it.".into();
    };
    let ago_ms = renewed_at.ms_until(lease.now);
    let ago = fine(ago_ms);
    if lease.state == LeaseState::Lapsed {
        return format!(
            "It last renewed {ago} ago and lapsed: it is probably gone, or cut off from Baton and stopped by its own clock."
        );
    }
    if ago_ms * 100 <= ttl_ms / 3 * LATE_PERCENT {
        format!("It renewed {ago} ago, so it is probably alive and working.")
    } else {
        format!(
            "It last renewed {ago} ago, and should every {}: it may be stuck, or cut off from Baton.",
            fine(ttl_ms / 3)
        )
    }
}

/// How the deposed holder learns of it.
fn finds_out(lease: &Lease) -> Option<String> {
    let ttl_ms = lease.ttl_ms?;
    if lease.state == LeaseState::Lapsed {
        return Some("Should it come back, it finds out at its next renewal.".into());
    }
    // One renewal interval before the expiry, a holder stops by its own clock.
    let own_clock_ms = lease.remaining_ms?.saturating_sub(ttl_ms / 3);
    let by_itself = if own_clock_ms == 0 {
        "it stops by its own clock about now".to_owned()
    } else {
        let within = fine(own_clock_ms);
        format!(
            "it stops by its own clock within {within}; until then it may go on with what is not fenced"
        )
    };
    Some(format!(
        "It finds out at its next renewal{}, and should stop by itself. If it cannot reach Baton, {by_itself}.",
        within(lease)
    ))
}

/// When the next renewal is due.
fn within(lease: &Lease) -> String {
    match (lease.renewed_at, lease.ttl_ms) {
        (Some(renewed_at), Some(ttl_ms)) => {
            let due_ms = renewed_at.plus_ms(ttl_ms / 3);
            let left_ms = lease.now.ms_until(due_ms);
            if left_ms == 0 {
                ", which is due".into()
            } else {
                format!(", within {}", fine(left_ms))
            }
        }
        _ => String::new(),
    }
}

fn pause(lease: &Lease) -> Vec<String> {
    let mut facts = vec![
        "Nobody can acquire it until somebody resumes it. Who waits in line goes on waiting."
            .into(),
    ];
    facts.push(match lease.state {
        LeaseState::Held => {
            "Its holder may go on, and renew; when that tenure ends, nobody follows.".into()
        }
        LeaseState::Lapsed => "Its holder did not renew in time, but may still come back.".into(),
        LeaseState::Free => "Nobody holds it.".to_owned(),
    });
    facts
}

fn unpause(lease: &Lease) -> String {
    let Some(paused) = &lease.paused else {
        return "It can be acquired again.".into();
    };
    format!(
        "{} paused it at {}: {}. From now on it can be acquired again, at once by who waits in line.",
        by(&paused.actor),
        utc(paused.at),
        isolated(&paused.reason)
    )
}

fn lift(lease: &Lease) -> Vec<String> {
    let mut facts = kept(lease);
    facts.push("It is lifted at once, and who waits in line may take it.".into());
    if lease.attempt > 0 {
        facts.push(format!(
            "The attempts, now {}, start anew as well.",
            lease.attempt
        ));
    }
    facts
}

fn reset(lease: &Lease) -> Vec<String> {
    let mut facts = vec![format!(
        "Its holders let it lapse {}. The next grant counts from zero, and gets past a holder’s limit of attempts.",
        match lease.attempt {
            1 => "once".to_owned(),
            times => format!("{times} times in a row"),
        }
    )];
    if lease
        .barred
        .as_ref()
        .is_some_and(|bar| bar.holder.is_some())
    {
        facts.push("The bar against the deposed holder is lifted by it as well.".into());
    }
    facts
}

/// What keeps others out for a time.
fn kept(lease: &Lease) -> Vec<String> {
    let mut facts = Vec::new();
    if let Some(bar) = &lease.barred {
        let whom = bar
            .holder
            .as_ref()
            .map_or_else(|| "Everyone".to_owned(), isolated);
        facts.push(format!(
            "{whom} is barred until {} by {}: {}",
            utc(bar.until),
            by(&bar.actor),
            isolated(&bar.reason)
        ));
    }
    if let Some(kept) = &lease.reserved {
        facts.push(format!(
            "It is reserved for {} until {} by {}: {}",
            isolated(&kept.holder),
            utc(kept.until),
            by(&kept.actor),
            isolated(&kept.reason)
        ));
    }
    facts
}

/// What else there is that taking it away would meet.
fn around(lease: &Lease) -> Vec<String> {
    let mut facts = Vec::new();
    if let Some(asked) = &lease.step_down {
        let then = asked.successor.as_ref().map_or_else(String::new, |to| {
            format!(
                ", and it was promised to {}: that stands unless you choose otherwise",
                isolated(to)
            )
        });
        facts.push(format!(
            "{} asked it to step down by {}{then}. The reason was: {}",
            by(&asked.actor),
            utc(asked.deadline),
            isolated(&asked.reason)
        ));
    }
    if lease.paused.is_some() {
        facts.push(
            "It is paused: whatever you choose, nobody can acquire it before it is resumed.".into(),
        );
    }
    let kept = kept(lease);
    if !kept.is_empty() {
        facts.extend(kept);
        facts.push("What you choose below takes the place of that.".into());
    }
    if let Some(blocked) = &lease.blocked {
        facts.push(format!(
            "A change of hands waits already: {}.",
            isolated(blocked)
        ));
    }
    facts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::countdown::tests::held;

    fn at(ms: u64) -> Lease {
        let mut lease = held("a");
        lease.now = lease.now.plus_ms(ms);
        lease.remaining_ms = Some(10_000_u64.saturating_sub(ms));
        lease
    }

    #[test]
    fn a_holder_that_renewed_just_now_is_probably_alive() {
        let facts = facts(Act::ForceRelease, &at(2_000));
        assert_eq!(
            facts,
            [
                "It renewed 2.0 s ago, so it is probably alive and working.",
                "From the moment you confirm, the generation is 42, and writes with generation 41 are refused wherever the generation is checked.",
                "It finds out at its next renewal, within 1.3 s, and should stop by itself. If it cannot reach Baton, it stops by its own clock within 4.6 s; until then it may go on with what is not fenced.",
            ]
        );
    }

    #[test]
    fn a_holder_that_is_late_may_be_stuck() {
        let said = facts(Act::ForceRelease, &at(7_000));
        assert!(said[0].starts_with("It last renewed 7.0 s ago, and should every 3.3 s"));
        assert!(said[2].contains("which is due") && said[2].contains("about now"));
    }

    #[test]
    fn a_lapsed_holder_and_none_are_told_apart() {
        let mut lease = at(12_000);
        lease.state = LeaseState::Lapsed;
        assert!(facts(Act::ForceRelease, &lease)[0].contains("lapsed"));
        lease.state = LeaseState::Free;
        (lease.holder, lease.renewed_at, lease.ttl_ms) = (None, None, None);
        let said = facts(Act::ForceRelease, &lease);
        assert_eq!(said[0], "Nobody holds it.");
        assert!(said[1].contains("changes no hands"));
    }
}
