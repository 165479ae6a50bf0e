//! A lease, as people read it: in full, or as one row of a list. All times are
//! told from the lease's own `now`.

use baton_client::{Lease, LeaseState, RawJson};

use super::{
    safe::{safe, shell_word},
    table::{Table, clock, relative, span},
};

/// The headings of [`row`].
pub const HEADINGS: [&str; 6] = ["LEASE", "STATE", "HOLDER", "GENERATION", "EXPIRES", "NOTES"];

/// A status longer than this is cut in a list.
const STATUS_CHARS_MAX: usize = 60;

/// A lease as a row of a list.
pub fn row(lease: &Lease) -> Vec<String> {
    vec![
        lease.lease.to_string(),
        lease.state.as_str().to_owned(),
        holder(lease),
        lease.generation.to_string(),
        expires(lease),
        notes(lease),
    ]
}

/// A lease in full. Ends with a line break.
pub fn details(lease: &Lease) -> String {
    let now = lease.now;
    let mut table = Table::bare();
    let mut say = |what: &str, value: String| table.row(vec![format!("  {what}"), value]);
    say("state", lease.state.as_str().to_owned());
    say("generation", lease.generation.to_string());
    say("holder", holder(lease));
    if let Some(at) = lease.granted_at {
        say(
            "held since",
            format!("{}  ({})", clock(at), relative(now, at)),
        );
    }
    if let Some(at) = lease.renewed_at {
        say("renewed", format!("{}  ({})", clock(at), relative(now, at)));
    }
    if let Some(at) = lease.expires_at {
        say("expires", format!("{}  ({})", clock(at), relative(now, at)));
    }
    if lease.state == LeaseState::Free || lease.takeable_at != lease.expires_at {
        say("takeable", takeable(lease));
    }
    if let Some(ttl_ms) = lease.ttl_ms {
        let grace_ms = lease.grace_ms.unwrap_or(0);
        say("ttl", format!("{}, grace {}", span(ttl_ms), span(grace_ms)));
    }
    say("attempt", lease.attempt.to_string());
    if let Some(principal) = &lease.principal {
        say("principal", safe(principal).into_owned());
    }
    if let Some(status) = &lease.status {
        say("status", json_text(status));
    }
    if let Some(Some(payload)) = &lease.payload {
        say("payload", json_text(payload));
    }
    say_exceptions(lease, &mut say);
    if lease.flapping > 0 {
        let flag = if lease.flapping >= Lease::FLAPPING_FROM {
            "  (flapping)"
        } else {
            ""
        };
        say(
            "changes",
            format!("{} in the last 5 minutes{flag}", lease.flapping),
        );
    }
    format!("{}\n{}", lease.lease, table.text())
}

/// What keeps the lease from its plain course.
fn say_exceptions(lease: &Lease, say: &mut impl FnMut(&str, String)) {
    let now = lease.now;
    if lease.protected {
        say(
            "protected",
            "yes: an admin wants it handled with care".into(),
        );
    }
    if let Some(it) = &lease.step_down {
        let mut text = format!(
            "asked by {}, forced {}: {}",
            safe(&it.actor.to_string()),
            relative(now, it.deadline),
            safe(&it.reason)
        );
        if let Some(successor) = &it.successor {
            text.push_str(&format!(" (then for {})", safe(successor.as_str())));
        }
        say("step-down", text);
    }
    if let Some(it) = &lease.paused {
        let actor = it.actor.to_string();
        let text = format!(
            "by {}, {}: {}",
            safe(&actor),
            relative(now, it.at),
            safe(&it.reason)
        );
        say("paused", text);
    }
    if let Some(it) = &lease.barred {
        let whom = it.holder.as_ref().map_or("everyone", |h| h.as_str());
        let actor = it.actor.to_string();
        let text = format!(
            "{}, for {} more, by {}: {}",
            safe(whom),
            span(now.ms_until(it.until)),
            safe(&actor),
            safe(&it.reason)
        );
        say("barred", text);
    }
    if let Some(it) = &lease.reserved {
        let actor = it.actor.to_string();
        let text = format!(
            "for {}, for {} more, by {}: {}",
            safe(it.holder.as_str()),
            span(now.ms_until(it.until)),
            safe(&actor),
            safe(&it.reason)
        );
        say("reserved", text);
    }
    if let Some(blocked) = &lease.blocked {
        say("blocked", safe(blocked).into_owned());
    }
}

/// The holder's next lines to paste, after a grant.
pub fn how_to_go_on(lease: &Lease) -> String {
    let holder = lease.holder.as_ref().map_or("", |holder| holder.as_str());
    let arguments = format!(
        "{} --holder {} --generation {}",
        lease.lease,
        shell_word(holder),
        lease.generation
    );
    format!(
        "Renew it before it expires:  baton renew {arguments}\n\
         Give it back when done:      baton release {arguments}\n"
    )
}

/// The holder, or a dash.
pub fn holder(lease: &Lease) -> String {
    lease
        .holder
        .as_ref()
        .map_or("-".into(), |holder| safe(holder.as_str()).into_owned())
}

fn expires(lease: &Lease) -> String {
    lease
        .expires_at
        .map_or("-".into(), |at| relative(lease.now, at))
}

fn takeable(lease: &Lease) -> String {
    match lease.takeable_at {
        None => "only when an operator changes something".into(),
        Some(at) if at <= lease.now => "now".into(),
        Some(at) => format!("{}  ({})", clock(at), relative(lease.now, at)),
    }
}

fn notes(lease: &Lease) -> String {
    let now = lease.now;
    let mut notes = Vec::new();
    if let Some(it) = &lease.step_down {
        notes.push(format!("step-down {}", relative(now, it.deadline)));
    }
    if lease.paused.is_some() {
        notes.push("paused".into());
    }
    if let Some(it) = &lease.barred {
        let whom = it.holder.as_ref().map_or("everyone", |h| h.as_str());
        notes.push(format!("barred: {}", safe(whom)));
    }
    if let Some(it) = &lease.reserved {
        notes.push(format!("reserved for {}", safe(it.holder.as_str())));
    }
    if lease.blocked.is_some() {
        notes.push("blocked".into());
    }
    if lease.flapping >= Lease::FLAPPING_FROM {
        notes.push(format!("flapping ({} changes)", lease.flapping));
    }
    if lease.protected {
        notes.push("protected".into());
    }
    if lease.attempt > 0 {
        notes.push(format!("attempt {}", lease.attempt));
    }
    if let Some(status) = &lease.status {
        let text = json_text(status);
        let mut cut: String = text.chars().take(STATUS_CHARS_MAX).collect();
        if cut.len() < text.len() {
            cut.push('…');
        }
        notes.push(cut);
    }
    notes.join(", ")
}

/// A text without its quotes, anything else as JSON on one line.
fn json_text(json: &RawJson) -> String {
    match serde_json::from_str::<String>(json.get()) {
        Ok(text) => safe(&text).into_owned(),
        // Outside of strings these are blanks, and inside they are escaped.
        Err(_) => safe(&json.get().replace(['\n', '\r', '\t'], " ")).into_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lease() -> Lease {
        serde_json::from_str(
            r#"{"lease":"a","state":"held","holder":"h\u202e","generation":7,
            "granted_at":"2026-11-29T02:14:07.000000Z","renewed_at":"2026-11-29T02:14:07.000000Z",
            "expires_at":"2026-11-29T02:14:17.000000Z","takeable_at":"2026-11-29T02:14:17.000000Z",
            "remaining_ms":8000,"ttl_ms":10000,"grace_ms":0,"attempt":0,"principal":null,
            "status":"sweep 1/9","protected":false,"step_down":null,"paused":null,"barred":null,
            "reserved":null,"blocked":null,"flapping":1,"now":"2026-11-29T02:14:09.000000Z"}"#,
        )
        .expect("a lease")
    }

    #[test]
    fn a_row_says_the_state_by_the_answers_own_clock() {
        assert_eq!(
            row(&lease()),
            ["a", "held", "h\\u{202e}", "7", "in 8.0 s", "sweep 1/9"]
        );
    }

    #[test]
    fn the_details_are_aligned_and_complete() {
        let text = details(&lease());
        assert!(
            text.starts_with("a\n  state       held\n  generation  7\n"),
            "{text}"
        );
        assert!(
            text.contains("(in 8.0 s)") && !text.contains("takeable"),
            "{text}"
        );
    }
}
