//! What can be done to a lease on a page of its own: the words for each.

use baton_client::{Lease, LeaseName, LeaseState, limits::OPERATOR_MS_MAX};

use crate::{
    moment::utc,
    sentence::{by, isolated},
};

/// Something that an operator or an admin does to a lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Act {
    /// Take it away from its holder.
    ForceRelease,
    /// Ask the holder to let go by a deadline.
    StepDown,
    /// Take that back.
    CancelStepDown,
    /// Let nobody acquire.
    Pause,
    /// Take that back.
    Unpause,
    /// Take a bar and a reservation back.
    Lift,
    /// Have the next grant count from zero.
    ResetAttempts,
    /// Want the name typed before it is forced.
    Protect,
    /// Take that back.
    Unprotect,
}

impl Act {
    /// All of them.
    pub const ALL: [Self; 9] = [
        Self::ForceRelease,
        Self::StepDown,
        Self::CancelStepDown,
        Self::Pause,
        Self::Unpause,
        Self::Lift,
        Self::ResetAttempts,
        Self::Protect,
        Self::Unprotect,
    ];

    /// The word in the address.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ForceRelease => "force-release",
            Self::StepDown => "step-down",
            Self::CancelStepDown => "cancel-step-down",
            Self::Pause => "pause",
            Self::Unpause => "unpause",
            Self::Lift => "lift",
            Self::ResetAttempts => "reset-attempts",
            Self::Protect => "protect",
            Self::Unprotect => "unprotect",
        }
    }

    /// The page for it.
    pub fn href(self, lease: &LeaseName) -> String {
        format!("/leases/{lease}/{}", self.as_str())
    }

    /// The words on the button.
    pub fn button(self) -> &'static str {
        match self {
            Self::ForceRelease => "Force release",
            Self::StepDown => "Ask to step down",
            Self::CancelStepDown => "Cancel the step-down",
            Self::Pause => "Pause",
            Self::Unpause => "Resume",
            Self::Lift => "Lift it",
            Self::ResetAttempts => "Reset attempts",
            Self::Protect => "Protect",
            Self::Unprotect => "End the protection",
        }
    }

    /// The question before the lease's name.
    pub(super) fn question(self) -> &'static str {
        match self {
            Self::ForceRelease => "Force release",
            Self::StepDown => "Ask for the step-down of",
            Self::CancelStepDown => "Cancel the step-down of",
            Self::Pause => "Pause",
            Self::Unpause => "Resume",
            Self::Lift => "Lift the bar or reservation of",
            Self::ResetAttempts => "Reset the attempts of",
            Self::Protect => "Protect",
            Self::Unprotect => "End the protection of",
        }
    }

    /// Whether it takes a lease away, now or at a deadline.
    pub fn takes_away(self) -> bool {
        matches!(self, Self::ForceRelease | Self::StepDown)
    }

    /// Whether it acts only on the generation that was seen.
    pub fn needs_generation(self) -> bool {
        self.takes_away() || matches!(self, Self::Lift | Self::ResetAttempts)
    }

    /// Whether the log keeps an incident with it.
    pub fn takes_incident(self) -> bool {
        !matches!(self, Self::Protect | Self::Unprotect)
    }

    /// Why there is nothing to do, if so, in a sentence with its marks. Pausing
    /// alone needs no lease.
    pub fn pointless(self, lease: Option<&Lease>) -> Option<String> {
        let Some(lease) = lease else {
            let why = "There is no such lease. It begins to exist when somebody first acquires or pauses it.";
            return (self != Self::Pause).then(|| why.into());
        };
        let held = lease.state != LeaseState::Free;
        if let (Self::Pause, Some(paused)) = (self, &lease.paused) {
            let (by, at) = (by(&paused.actor), utc(paused.at));
            let reason = isolated(&paused.reason);
            return Some(format!("It is paused already: by {by}, at {at}: {reason}"));
        }
        let why = match self {
            Self::ForceRelease | Self::Protect if !(self == Self::Protect && lease.protected) => {
                return None;
            }
            Self::StepDown if !held => "Nobody holds it, so nobody can be asked.",
            Self::CancelStepDown if lease.step_down.is_none() => {
                "Nobody was asked to step down, or it is done."
            }
            Self::Unpause if lease.paused.is_none() => "It is not paused.",
            Self::Lift if lease.barred.is_none() && lease.reserved.is_none() => {
                "It is neither barred nor reserved, or its time is over."
            }
            Self::Lift if held => {
                "Somebody holds it, and what is kept for later ends by itself. It can be lifted only while nobody holds it."
            }
            Self::ResetAttempts if held => {
                "Somebody holds it, and the attempt is that tenure’s. Force its release first; then the attempts can be reset."
            }
            Self::ResetAttempts if lease.attempt == 0 => "The attempts are at zero.",
            Self::Protect => "It is protected already.",
            Self::Unprotect if !lease.protected => "It is not protected.",
            _ => return None,
        };
        Some(why.into())
    }
}

/// Times to choose from, in milliseconds and in words.
pub(super) fn spans() -> Vec<(String, String)> {
    let spans: [(u64, &str); 9] = [
        (10_000, "10 seconds"),
        (30_000, "30 seconds"),
        (60_000, "1 minute"),
        (300_000, "5 minutes"),
        (600_000, "10 minutes"),
        (1_800_000, "30 minutes"),
        (3_600_000, "1 hour"),
        (14_400_000, "4 hours"),
        (OPERATOR_MS_MAX, "24 hours"),
    ];
    let spans = spans.into_iter();
    spans
        .map(|(ms, words)| (ms.to_string(), words.to_owned()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::countdown::tests::held;

    #[test]
    fn nothing_is_offered_that_would_do_nothing() {
        let mut lease = held("a");
        let possible = |lease: Option<&Lease>| {
            let acts = Act::ALL.into_iter();
            acts.filter(|act| act.pointless(lease).is_none())
                .collect::<Vec<_>>()
        };
        assert_eq!(possible(None), [Act::Pause]);
        let while_held = [Act::ForceRelease, Act::StepDown, Act::Pause, Act::Protect];
        assert_eq!(possible(Some(&lease)), while_held);
        lease.state = LeaseState::Free;
        lease.holder = None;
        lease.attempt = 2;
        lease.protected = true;
        let while_free = [
            Act::ForceRelease,
            Act::Pause,
            Act::ResetAttempts,
            Act::Unprotect,
        ];
        assert_eq!(possible(Some(&lease)), while_free);
    }
}
