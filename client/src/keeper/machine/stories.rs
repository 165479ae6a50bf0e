//! The machine's rules as short stories, one each. What chance brings is the
//! simulation's; here every moment is chosen.

use std::time::Duration;

use super::*;
use crate::{
    Ended, Generation, StepDown, Timestamp,
    keeper::timing::{Bounds, Jitter},
};

const KEY: Key = Key(1);
const NO_JITTER: Jitter = Jitter(0);

/// One lease with a ttl of 30 s: renewed every 10 s, given up after 20.
fn machine() -> Machine {
    let mut machine = Machine::new(8);
    add(&mut machine, KEY, "a", 30_000);
    machine
}

fn add(machine: &mut Machine, key: Key, lease: &str, ttl_ms: u64) {
    let lease = lease.parse().expect("a lease name");
    machine.add(key, lease, Timing::new(ttl_ms), 20_000);
    machine.want(key);
}

fn at(seconds: u64) -> Moment {
    Moment::default().plus(Duration::from_secs(seconds + 1_000))
}

fn grant(generation: u64) -> Grant {
    Grant {
        generation: Generation::try_from(generation).expect("a generation"),
        attempt: 0,
        payload: None,
        principal: None,
    }
}

fn confirmed(remaining_ms: u64) -> Confirmed {
    Confirmed {
        remaining_ms,
        step_down: None,
    }
}

fn asked(remaining_ms: u64) -> Confirmed {
    let deadline = Timestamp::default().plus_ms(remaining_ms);
    let words = StepDown {
        at: Timestamp::default(),
        deadline,
        actor: "user:ana".parse().expect("an actor"),
        reason: "moving it".into(),
        incident: None,
        successor: None,
    };
    let within = Duration::from_millis(remaining_ms);
    Confirmed {
        remaining_ms,
        step_down: Some(AskedRemotely { words, within }),
    }
}

/// The call that is sent at this moment.
fn call(machine: &mut Machine, now: Moment) -> CallId {
    let actions = machine.poll(now);
    let calls: Vec<CallId> = actions
        .iter()
        .filter_map(|action| match action {
            Action::Acquire { call, .. }
            | Action::Renew { call, .. }
            | Action::Release { call, .. } => Some(*call),
            _ => None,
        })
        .collect();
    assert_eq!(calls.len(), 1, "one call is sent: {actions:?}");
    calls[0]
}

/// Granted at once, holding from second 0.
fn holding() -> Machine {
    let mut machine = machine();
    let acquire = call(&mut machine, at(0));
    let answer = AcquireAnswer::Granted(grant(7), confirmed(30_000));
    machine.acquired(KEY, acquire, answer, at(1), NO_JITTER);
    assert_eq!(started(&machine.poll(at(1))), Some(at(20)));
    machine
}

fn started(actions: &[Action]) -> Option<Moment> {
    actions.iter().find_map(|action| match action {
        Action::Start { bounds, .. } => Some(bounds.give_up),
        _ => None,
    })
}

fn extended(actions: &[Action]) -> Option<Bounds> {
    actions.iter().find_map(|action| match action {
        Action::Extend { bounds, .. } => Some(*bounds),
        _ => None,
    })
}

fn stopped(actions: &[Action]) -> Option<Over> {
    actions.iter().find_map(|action| match action {
        Action::Stop { over, .. } => Some(*over),
        _ => None,
    })
}

fn renew(machine: &mut Machine, call: CallId, answer: RenewAnswer, now: Moment) -> Vec<Action> {
    machine.renewed(call, vec![(KEY, answer)], now, NO_JITTER);
    machine.poll(now)
}

#[test]
fn a_renewal_counts_from_when_it_was_sent() {
    let mut machine = holding();
    let renewal = call(&mut machine, at(10));
    let answer = RenewAnswer::Confirmed(confirmed(30_000));
    let bounds = extended(&renew(&mut machine, renewal, answer, at(14)));
    let bounds = bounds.expect("it goes on");
    assert_eq!((bounds.give_up, bounds.deadline), (at(30), at(40)));
}

#[test]
fn it_gives_up_by_itself_and_a_late_answer_changes_nothing() {
    let mut machine = holding();
    let renewal = call(&mut machine, at(10));
    assert_eq!(stopped(&machine.poll(at(20))), Some(Over::Expired));
    let late = RenewAnswer::Confirmed(confirmed(30_000));
    let actions = renew(&mut machine, renewal, late, at(21));
    assert!(actions.is_empty(), "it stays given up: {actions:?}");
}

#[test]
fn an_answer_that_arrives_as_time_runs_out_is_late() {
    let mut machine = holding();
    let renewal = call(&mut machine, at(10));
    // Nobody polled at second 20: the process stood still.
    let late = RenewAnswer::Confirmed(confirmed(30_000));
    let actions = renew(&mut machine, renewal, late, at(20));
    assert_eq!(stopped(&actions), Some(Over::Expired));
    assert!(extended(&actions).is_none());
}

#[test]
fn what_was_given_up_is_renewed_once_its_work_has_stopped() {
    let mut machine = holding();
    call(&mut machine, at(10));
    machine.poll(at(20));
    machine.want(KEY);
    assert!(machine.poll(at(21)).is_empty(), "the work still runs");
    machine.work_stopped(KEY, Epoch(1), false, at(22));
    let renewal = call(&mut machine, at(22));
    let answer = RenewAnswer::Confirmed(confirmed(30_000));
    let actions = renew(&mut machine, renewal, answer, at(23));
    assert_eq!(started(&actions), Some(at(42)), "a new local tenure");
}

#[test]
fn a_refusal_stops_the_work_at_once_and_it_contends_under_a_new_claim() {
    let mut machine = holding();
    let renewal = call(&mut machine, at(10));
    let lost = RenewAnswer::Lost(Ended::Forced);
    let actions = renew(&mut machine, renewal, lost, at(11));
    assert_eq!(stopped(&actions), Some(Over::Ended(Ended::Forced)));
    machine.want(KEY);
    machine.work_stopped(KEY, Epoch(1), false, at(12));
    let again = machine.poll(at(12));
    let claimed = |action: &Action| matches!(action, Action::Acquire { claim: 1, .. });
    assert!(again.iter().any(claimed), "{again:?}");
}

#[test]
fn errors_are_merely_unconfirmed_and_leave_time_for_another_try() {
    let mut machine = holding();
    let renewal = call(&mut machine, at(10));
    let failed = RenewAnswer::Failed { retry_after: None };
    // After half an interval, the bound of the call.
    assert!(renew(&mut machine, renewal, failed, at(15)).is_empty());
    let again = call(&mut machine, at(16));
    let answer = RenewAnswer::Confirmed(confirmed(30_000));
    assert!(extended(&renew(&mut machine, again, answer, at(19))).is_some());
}

#[test]
fn a_grant_after_a_wait_in_line_is_renewed_before_the_work_starts() {
    let mut machine = machine();
    let acquire = call(&mut machine, at(0));
    let answer = AcquireAnswer::Granted(grant(7), confirmed(30_000));
    machine.acquired(KEY, acquire, answer, at(12), NO_JITTER);
    let renewal = call(&mut machine, at(12));
    let answer = RenewAnswer::Confirmed(confirmed(30_000));
    let actions = renew(&mut machine, renewal, answer, at(13));
    assert_eq!(started(&actions), Some(at(32)));
}

#[test]
fn a_lost_answer_is_asked_for_again_under_the_same_claim() {
    let mut machine = machine();
    let acquire = call(&mut machine, at(0));
    let failed = AcquireAnswer::Failed { retry_after: None };
    machine.acquired(KEY, acquire, failed, at(5), NO_JITTER);
    let again = machine.poll(at(6));
    let Some(Action::Acquire { call, claim: 0, .. }) = again.first() else {
        panic!("the same claim: {again:?}");
    };
    // It was granted six seconds ago.
    let answer = AcquireAnswer::Granted(grant(7), confirmed(24_000));
    machine.acquired(KEY, *call, answer, at(7), NO_JITTER);
    assert_eq!(started(&machine.poll(at(7))), Some(at(6 + 24 - 10)));
}

#[test]
fn a_step_down_is_passed_on_and_the_work_ends_before_its_deadline() {
    let mut machine = holding();
    let renewal = call(&mut machine, at(10));
    let actions = renew(
        &mut machine,
        renewal,
        RenewAnswer::Confirmed(asked(15_000)),
        at(11),
    );
    let told = actions.iter().any(|action| {
        matches!(action, Action::StepDown { asked: Some(asked), .. } if asked.deadline == at(25))
    });
    assert!(told, "{actions:?}");
    assert_eq!(
        extended(&actions).map(|bounds| bounds.give_up),
        Some(at(15))
    );
    assert_eq!(stopped(&machine.poll(at(15))), Some(Over::SteppedDown));
    // It is let go, not renewed.
    machine.work_stopped(KEY, Epoch(1), false, at(16));
    let actions = machine.poll(at(16));
    assert!(
        matches!(actions[..], [Action::Release { .. }]),
        "{actions:?}"
    );
}

#[test]
fn a_step_down_that_is_too_near_stops_the_work_at_once() {
    let mut machine = holding();
    let renewal = call(&mut machine, at(10));
    let answer = RenewAnswer::Confirmed(asked(9_000));
    let actions = renew(&mut machine, renewal, answer, at(11));
    assert_eq!(stopped(&actions), Some(Over::SteppedDown));
}

#[test]
fn a_refusal_for_good_ends_contending_until_somebody_asks_again() {
    let mut machine = machine();
    let acquire = call(&mut machine, at(0));
    machine.acquired(KEY, acquire, AcquireAnswer::Never, at(1), NO_JITTER);
    let actions = machine.poll(at(1));
    assert!(
        matches!(actions[..], [Action::Halted { .. }]),
        "{actions:?}"
    );
    assert!(machine.poll(at(60)).is_empty());
    machine.want(KEY);
    call(&mut machine, at(61));
}

#[test]
fn who_waits_for_a_renewal_that_is_not_allowed_is_told() {
    let mut machine = holding();
    let renewal = call(&mut machine, at(10));
    // While holding it confirms nothing, and the time runs on.
    let actions = renew(&mut machine, renewal, RenewAnswer::NotAllowed, at(11));
    assert!(actions.is_empty(), "{actions:?}");
    machine.poll(at(20));
    machine.work_stopped(KEY, Epoch(1), false, at(20));
    machine.want(KEY);
    let renewal = call(&mut machine, at(20));
    let actions = renew(&mut machine, renewal, RenewAnswer::NotAllowed, at(21));
    let halted = |action: &Action| matches!(action, Action::Halted { .. });
    assert!(
        actions.iter().all(halted) && actions.len() == 1,
        "{actions:?}"
    );
    // To ask again is to try again.
    machine.want(KEY);
    call(&mut machine, at(30));
}

#[test]
fn a_release_without_an_answer_ends_its_generation_for_good() {
    let mut machine = holding();
    machine.work_stopped(KEY, Epoch(1), true, at(2));
    for second in [2, 10, 20] {
        let release = call(&mut machine, at(second));
        let now = at(second + 5);
        machine.released(KEY, release, ReleaseAnswer::Failed, now, NO_JITTER);
    }
    let actions = machine.poll(at(26));
    let unconfirmed = |action: &Action| {
        let went = LetGo::Unconfirmed;
        matches!(action, Action::Released { went: w, .. } if *w == went)
    };
    assert!(actions.iter().any(unconfirmed), "{actions:?}");
    machine.want(KEY);
    let actions = machine.poll(at(27));
    // A renewal could be undone by a release that is still on its way.
    let anew = |action: &Action| matches!(action, Action::Acquire { claim: 1, .. });
    assert!(actions.iter().any(anew), "{actions:?}");
}

#[test]
fn many_leases_fall_into_one_call() {
    let mut machine = Machine::new(8);
    for number in 0..1_500 {
        let key = Key(number);
        add(&mut machine, key, &format!("lease-{number}"), 30_000);
    }
    let acquires = machine.poll(at(0));
    for action in acquires {
        let Action::Acquire { key, call, .. } = action else {
            panic!("only acquires: {action:?}");
        };
        // Answered over two seconds, each with a jitter of its own.
        let now = at(0).plus(Duration::from_millis(key.0));
        let jitter = Jitter((key.0 * 40) as u16);
        let answer = AcquireAnswer::Granted(grant(1), confirmed(30_000));
        machine.acquired(key, call, answer, now, jitter);
    }
    machine.poll(at(2));
    let first = machine.next_at().expect("renewals are due");
    assert!(first >= at(9) && first <= at(10));
    let sizes: Vec<usize> = machine
        .poll(first)
        .iter()
        .filter_map(|action| match action {
            Action::Renew { renewals, .. } => Some(renewals.len()),
            _ => None,
        })
        .collect();
    assert_eq!(sizes, [1_000, 500], "all of them, in as few calls as fit");
}

#[test]
fn one_name_is_never_twice_in_a_call() {
    let mut machine = machine();
    add(&mut machine, Key(2), "a", 30_000);
    assert_eq!(machine.batches(&[KEY, Key(2)]).len(), 2);
}

/// A call is over when the shortest bound in it is.
#[test]
fn a_long_tenure_is_not_renewed_in_the_short_time_of_another() {
    let (short, longer) = (Key(2), Key(3));
    let mut machine = machine();
    add(&mut machine, short, "b", 3_000);
    add(&mut machine, longer, "c", 60_000);
    let batches = machine.batches(&[short, KEY, longer]);
    assert_eq!(batches, [vec![short], vec![KEY, longer]]);
}

#[test]
fn who_failed_does_not_go_along_before_its_time() {
    let mut machine = machine();
    let other = Key(2);
    add(&mut machine, other, "b", 30_000);
    let names = |actions: Vec<Action>| -> Vec<(CallId, Vec<Key>)> {
        let renewals = actions.into_iter().filter_map(|action| match action {
            Action::Renew { call, renewals, .. } => {
                Some((call, renewals.iter().map(|due| due.key).collect()))
            }
            _ => None,
        });
        renewals.collect()
    };
    for action in machine.poll(at(0)) {
        let Action::Acquire { key, call, .. } = action else {
            panic!("only acquires: {action:?}");
        };
        let answer = AcquireAnswer::Granted(grant(1), confirmed(30_000));
        // The other one a little later.
        let now = at(0).plus(Duration::from_millis(500 * key.0));
        machine.acquired(key, call, answer, now, NO_JITTER);
    }
    machine.poll(at(2));
    // Together as long as all is well.
    let first = names(machine.poll(at(10)));
    let [(call, both)] = &first[..] else {
        panic!("one call: {first:?}");
    };
    assert_eq!(both[..], [KEY, other]);
    let retry_after = Some(Duration::from_secs(4));
    let answers = [(KEY, retry_after), (other, None)];
    let failed = answers.map(|(key, retry_after)| (key, RenewAnswer::Failed { retry_after }));
    machine.renewed(*call, failed.into(), at(10), NO_JITTER);
    machine.poll(at(10));
    // The one that may come again soon does so alone.
    let soon = machine.next_at().expect("it is tried again");
    assert!(soon < at(13), "{soon:?}");
    let second = names(machine.poll(soon));
    assert_eq!(second.len(), 1);
    assert_eq!(second[0].1, [other]);
}
