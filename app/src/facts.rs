//! What is to be said of one lease: its facts, what limits it, and who may take
//! it when. In words, for a moment on the database's clock.

use baton_client::{Lease, LeaseState, Timestamp};

use crate::{
    countdown::{coarse, fine},
    sentence::{age, by, clock, isolated, short},
};

/// A fact: what it is called, and what it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fact {
    /// What it is called.
    pub term: &'static str,
    /// What it is.
    pub text: String,
    /// It is a name, or something else to be read letter by letter.
    pub name: bool,
    /// It takes a line of its own.
    pub wide: bool,
}

impl Fact {
    fn new(term: &'static str, text: impl Into<String>) -> Self {
        Self {
            term,
            text: text.into(),
            name: false,
            wide: false,
        }
    }
}

/// The facts at `now`, in reading order.
pub fn facts(lease: &Lease, now: Timestamp) -> Vec<Fact> {
    let mut facts = Vec::new();
    if let Some(holder) = &lease.holder {
        facts.push(Fact {
            name: true,
            wide: true,
            ..Fact::new("Holder", isolated(holder))
        });
    }
    facts.push(Fact::new("Generation", lease.generation.to_string()));
    if let Some(at) = lease.granted_at.filter(|_| lease.holder.is_some()) {
        let text = format!("{} ({})", clock(at), coarse(at.ms_until(now)));
        facts.push(Fact::new("Holds it since", text));
    }
    if let Some(at) = lease.renewed_at {
        facts.push(Fact::new("Last renewed", age(at).to_string()));
    }
    if let Some(at) = lease.expires_at {
        let term = match lease.state {
            LeaseState::Lapsed => "Lapsed at",
            LeaseState::Held | LeaseState::Free => "Expires at",
        };
        facts.push(Fact::new(term, short(at).to_string()));
    }
    if let Some(ttl_ms) = lease.ttl_ms {
        let grace = match lease.grace_ms {
            None | Some(0) => ", no grace".to_owned(),
            Some(ms) => format!(", grace {}", span(ms)),
        };
        facts.push(Fact::new("Time to live", span(ttl_ms) + &grace));
    }
    if lease.holder.is_some() || lease.attempt > 0 {
        let text = match lease.attempt {
            0 => "0".to_owned(),
            1 => "1 (the work lapsed once)".to_owned(),
            n => format!("{n} (the work lapsed {n} times in a row)"),
        };
        facts.push(Fact::new("Attempt", text));
    }
    if let Some(principal) = &lease.principal {
        facts.push(Fact {
            name: true,
            ..Fact::new("On behalf of, it says", isolated(principal))
        });
    }
    if lease.flapping > 0 {
        let text = format!("{} in 5 minutes", lease.flapping);
        facts.push(Fact::new("Changes of hands", text));
    }
    if lease.protected {
        let text = "Yes: its name must be typed to force it";
        facts.push(Fact::new("Protected", text));
    }
    facts.push(Fact {
        wide: true,
        ..Fact::new("Who may take it", takeable(lease, now))
    });
    facts
}

/// A set duration, without what is nothing: `10 s`, `1 m 30 s`, `1.5 s`.
pub fn span(ms: u64) -> String {
    if ms.is_multiple_of(1_000) {
        coarse(ms).replace(" 00 s", "").replace(" 00 m", "")
    } else {
        fine(ms)
    }
}

/// Who may take the lease, and when, at `now`.
pub fn takeable(lease: &Lease, now: Timestamp) -> String {
    if lease.paused.is_some() {
        return "Nobody, until it is resumed.".to_owned();
    }
    let until = |at: Timestamp| format!("{} (in {})", clock(at), coarse(now.ms_until(at)));
    let ahead = |at: &Timestamp| *at > now;
    let asked = lease.step_down.as_ref().filter(|_| lease.holder.is_some());
    let successor = asked.and_then(|asked| asked.successor.as_ref());
    // What is left to others once the tenure, if there is one, is out of the way.
    let others = if let (Some(successor), Some(at)) = (successor, lease.takeable_at) {
        format!(
            "only {} until {}, then anyone",
            isolated(successor),
            until(at)
        )
    } else if let Some(reserved) = lease.reserved.as_ref().filter(|r| ahead(&r.until)) {
        format!(
            "only {} until {}, then anyone",
            isolated(&reserved.holder),
            until(reserved.until)
        )
    } else if let Some(barred) = lease.barred.as_ref().filter(|b| ahead(&b.until)) {
        match &barred.holder {
            None => format!("anyone from {}", until(barred.until)),
            Some(holder) => format!(
                "anyone but {}, who is barred until {}",
                isolated(holder),
                until(barred.until)
            ),
        }
    } else {
        "anyone".to_owned()
    };
    let free_at = match (lease.expires_at, lease.grace_ms) {
        (Some(expires_at), grace_ms) if lease.holder.is_some() => {
            Some(expires_at.plus_ms(grace_ms.unwrap_or(0)))
        }
        _ => None,
    };
    match (lease.state, free_at) {
        (LeaseState::Held, Some(at)) if let Some(asked) = asked => {
            let at = until(at.min(asked.deadline));
            format!(
                "Nobody until its holder lets go or is forced, at the latest {at}; then {others}."
            )
        }
        (LeaseState::Held, Some(at)) => {
            let from = until(at);
            format!("Nobody while its holder renews. If it stops: {others}, from {from}.")
        }
        (LeaseState::Lapsed, Some(at)) if at > now => {
            let from = until(at);
            format!("Its holder may still renew. The grace runs until {from}; then {others}.")
        }
        (LeaseState::Lapsed, _) => {
            format!("Now: {others}. Until somebody does, its holder may still renew.")
        }
        _ => {
            let mut text = others;
            // Every sentence above begins with an ASCII letter.
            text[..1].make_ascii_uppercase();
            text.push_str(if text == "Anyone" { ", now." } else { "." });
            text
        }
    }
}

/// Something that an operator, or a change of hands that waits, put on a lease.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limit {
    /// The class in the style sheet.
    pub class: &'static str,
    /// What is so.
    pub text: String,
    /// Why, in the operator's words.
    pub reason: Option<String>,
    /// Link or number of an incident.
    pub incident: Option<String>,
    /// Who did it, and when that is known.
    pub by: Option<String>,
}

/// What limits the lease at `now`, the most pressing first.
pub fn limits(lease: &Lease, now: Timestamp) -> Vec<Limit> {
    let mut limits = Vec::new();
    let until = |at: Timestamp| format!("{}, {} from now", clock(at), coarse(now.ms_until(at)));
    if let Some(blocked) = &lease.blocked {
        limits.push(Limit {
            class: "alert",
            text: format!(
                "A change of hands waits for fenced transactions: {}",
                isolated(blocked)
            ),
            reason: None,
            incident: None,
            by: None,
        });
    }
    if let Some(step_down) = &lease.step_down {
        let then = match &step_down.successor {
            Some(successor) => format!(" It is then reserved for {}.", isolated(successor)),
            None => String::new(),
        };
        limits.push(Limit {
            class: "warn",
            text: format!(
                "Asked to step down by {}, or it is forced.{then}",
                until(step_down.deadline)
            ),
            reason: Some(step_down.reason.clone()),
            incident: step_down.incident.clone(),
            by: Some(acted(&step_down.actor, Some(step_down.at))),
        });
    }
    if let Some(paused) = &lease.paused {
        limits.push(Limit {
            class: "quiet",
            text: "Paused: nobody can acquire it; the current tenure may go on.".to_owned(),
            reason: Some(paused.reason.clone()),
            incident: paused.incident.clone(),
            by: Some(acted(&paused.actor, Some(paused.at))),
        });
    }
    if let Some(barred) = lease.barred.as_ref().filter(|barred| barred.until > now) {
        let whom = match &barred.holder {
            Some(holder) => isolated(holder),
            None => "Everyone".to_owned(),
        };
        limits.push(Limit {
            class: "quiet",
            text: format!("{whom} may not take it until {}.", until(barred.until)),
            reason: Some(barred.reason.clone()),
            incident: None,
            by: Some(acted(&barred.actor, None)),
        });
    }
    if let Some(reserved) = lease
        .reserved
        .as_ref()
        .filter(|reserved| reserved.until > now)
    {
        limits.push(Limit {
            class: "quiet",
            text: format!(
                "Reserved for {} until {}.",
                isolated(&reserved.holder),
                until(reserved.until)
            ),
            reason: Some(reserved.reason.clone()),
            incident: None,
            by: Some(acted(&reserved.actor, None)),
        });
    }
    limits
}

fn acted(actor: &baton_client::Actor, at: Option<Timestamp>) -> String {
    match at {
        Some(at) => format!("{}, {}", by(actor), short(at)),
        None => by(actor),
    }
}

#[cfg(test)]
mod tests {
    use baton_client::{Actor, Barred, Paused, Reserved, StepDown};

    use super::*;
    use crate::{countdown::tests::held, sentence::plain};

    /// As it reads in UTC.
    fn takeable(lease: &Lease, now: Timestamp) -> String {
        plain(&super::takeable(lease, now), Some(now))
    }

    fn ana() -> Actor {
        Actor::User("ana".into())
    }

    #[test]
    fn a_held_lease_says_when_others_may_have_it() {
        let mut lease = held("a");
        let now = lease.now.plus_ms(2_000);
        assert_eq!(
            takeable(&lease, now),
            "Nobody while its holder renews. If it stops: anyone, from 02:14:17 UTC (in 8 s)."
        );
        lease.grace_ms = Some(5_000);
        lease.state = LeaseState::Lapsed;
        assert_eq!(
            takeable(&lease, lease.now.plus_ms(12_000)),
            "Its holder may still renew. The grace runs until 02:14:22 UTC (in 3 s); then anyone."
        );
        assert_eq!(
            takeable(&lease, lease.now.plus_ms(16_000)),
            "Now: anyone. Until somebody does, its holder may still renew."
        );
    }

    #[test]
    fn a_free_lease_is_anyones_unless_someone_limits_it() {
        let mut lease = held("a");
        let now = lease.now;
        lease.state = LeaseState::Free;
        lease.holder = None;
        assert_eq!(takeable(&lease, now), "Anyone, now.");
        lease.barred = Some(Barred {
            holder: Some("b".parse().expect("a holder")),
            until: now.plus_ms(60_000),
            actor: ana(),
            reason: "wedged".into(),
        });
        assert_eq!(
            takeable(&lease, now),
            "Anyone but b, who is barred until 02:15:07 UTC (in 1 m 00 s)."
        );
        assert_eq!(takeable(&lease, now.plus_ms(60_000)), "Anyone, now.");
        lease.barred = None;
        lease.reserved = Some(Reserved {
            holder: "c".parse().expect("a holder"),
            until: now.plus_ms(60_000),
            actor: ana(),
            reason: "wedged".into(),
        });
        assert_eq!(
            takeable(&lease, now),
            "Only c until 02:15:07 UTC (in 1 m 00 s), then anyone."
        );
        lease.paused = Some(Paused {
            at: now,
            actor: ana(),
            reason: "freeze".into(),
            incident: None,
        });
        assert_eq!(takeable(&lease, now), "Nobody, until it is resumed.");
    }

    #[test]
    fn a_step_down_decides_who_may_take_it() {
        let mut lease = held("a");
        let now = lease.now;
        lease.expires_at = Some(now.plus_ms(60_000));
        lease.step_down = Some(StepDown {
            at: now,
            deadline: now.plus_ms(30_000),
            actor: ana(),
            reason: "drain".into(),
            incident: None,
            successor: None,
        });
        assert_eq!(
            takeable(&lease, now),
            "Nobody until its holder lets go or is forced, at the latest 02:14:37 UTC (in 30 s); then anyone."
        );
        let asked = lease.step_down.as_mut().expect("it was asked");
        asked.successor = Some("b".parse().expect("a holder"));
        lease.takeable_at = Some(now.plus_ms(60_000));
        assert_eq!(
            takeable(&lease, now),
            "Nobody until its holder lets go or is forced, at the latest 02:14:37 UTC (in 30 s); \
             then only b until 02:15:07 UTC (in 1 m 00 s), then anyone."
        );
    }

    #[test]
    fn limits_say_who_why_and_until_when() {
        let mut lease = held("a");
        let now = lease.now;
        assert_eq!(limits(&lease, now), []);
        lease.step_down = Some(StepDown {
            at: now,
            deadline: now.plus_ms(30_000),
            actor: ana(),
            reason: "drain".into(),
            incident: Some("INC-1".into()),
            successor: Some("b".parse().expect("a holder")),
        });
        let [limit] = &limits(&lease, now)[..] else {
            panic!("one limit");
        };
        assert_eq!(
            plain(&limit.text, Some(now)),
            "Asked to step down by 02:14:37 UTC, 30 s from now, or it is forced. It is then reserved for b."
        );
        let by = limit.by.as_deref().map(|by| plain(by, Some(now)));
        assert_eq!(by.as_deref(), Some("ana, 02:14:07 UTC"));
        assert_eq!(limit.incident.as_deref(), Some("INC-1"));
    }

    #[test]
    fn facts_are_those_that_there_are() {
        let lease = held("a");
        let terms = |lease: &Lease| {
            facts(lease, lease.now)
                .into_iter()
                .map(|fact| fact.term)
                .collect::<Vec<_>>()
        };
        assert_eq!(
            terms(&lease),
            [
                "Holder",
                "Generation",
                "Holds it since",
                "Last renewed",
                "Expires at",
                "Time to live",
                "Attempt",
                "Who may take it",
            ]
        );
        let mut free = held("a");
        free.state = LeaseState::Free;
        (free.holder, free.granted_at, free.renewed_at) = (None, None, None);
        (free.expires_at, free.ttl_ms) = (None, None);
        assert_eq!(terms(&free), ["Generation", "Who may take it"]);
    }

    #[test]
    fn set_durations_have_no_empty_units() {
        for (ms, text) in [
            (10_000, "10 s"),
            (60_000, "1 m"),
            (90_000, "1 m 30 s"),
            (3_600_000, "1 h"),
            (1_500, "1.5 s"),
        ] {
            assert_eq!(span(ms), text);
        }
    }
}
