//! A lease's name, its state, and what can be done about it.

use baton_client::{Attention, Lease, Role};
use leptos::prelude::*;

use crate::{
    countdown::left,
    live::{Live, OneLease, flag, text},
    state_mark::{Mark, StateMark},
};

/// The state, and whether it flaps.
#[component]
pub fn LeaseState(one: OneLease, live: Live) -> impl IntoView {
    let lease = one.lease;
    let mark =
        Memo::new(move |_| lease.with(|lease| Mark::of(lease, left(lease, live.now.get()).tone)));
    let flapping = text(move || {
        let times = lease.with(|lease| lease.flapping);
        format!("Flapping: {times} changes of hands in 5 min")
    });
    let calm = flag(move || lease.with(|lease| lease.flapping < Lease::FLAPPING_FROM));
    let open =
        flag(move || lease.with(|lease| lease.paused.is_none() || mark.get() == Mark::Paused));
    view! {
        <StateMark mark />
        <span class="state lapsed" hidden=calm>
            {flapping}
        </span>
        <span class="state paused" hidden=open>
            "Paused"
        </span>
    }
}

/// What the tab says, also when the page is in the background.
pub fn title(lease: &Lease) -> String {
    let word = match lease.attention() {
        Some(Attention::Lapsed) => "Lapsed: ",
        Some(Attention::Flapping) => "Flapping: ",
        Some(Attention::Blocked) => "Blocked: ",
        Some(Attention::SteppingDown) => "Stepping down: ",
        None if lease.paused.is_some() => "Paused: ",
        None => "",
    };
    format!("{word}{}", lease.lease)
}

/// An act: where its form is, what it is called, the class of its button, who
/// may, and whether there is a use for it.
type Act = (
    &'static str,
    &'static str,
    &'static str,
    Role,
    fn(&Lease) -> bool,
);

const ACTS: [Act; 9] = [
    ("pause", "Pause", "button", Role::Operator, |lease| {
        lease.paused.is_none()
    }),
    ("unpause", "Resume", "button", Role::Operator, |lease| {
        lease.paused.is_some()
    }),
    (
        "step-down",
        "Ask to step down",
        "button",
        Role::Operator,
        |lease| lease.holder.is_some() && lease.step_down.is_none(),
    ),
    (
        "cancel-step-down",
        "Cancel the step-down",
        "button",
        Role::Operator,
        |lease| lease.step_down.is_some(),
    ),
    (
        "lift",
        "Lift bar or reservation",
        "button",
        Role::Operator,
        |lease| lease.barred.is_some() || lease.reserved.is_some(),
    ),
    (
        "reset-attempts",
        "Reset attempts",
        "button",
        Role::Operator,
        |lease| lease.attempt > 0,
    ),
    ("protect", "Protect", "button", Role::Admin, |lease| {
        !lease.protected
    }),
    ("unprotect", "Unprotect", "button", Role::Admin, |lease| {
        lease.protected
    }),
    (
        "force-release",
        "Force release",
        "button danger",
        Role::Operator,
        |lease| lease.holder.is_some(),
    ),
];

/// The acts that there is a use for, as links to their forms. Who may not gets
/// to see them, and why they can't.
#[component]
pub fn Acts(one: OneLease, role: Role) -> impl IntoView {
    let lease = one.lease;
    let name = lease.with_untracked(|lease| lease.lease.to_string());
    let links = ACTS
        .into_iter()
        .filter(|act| act.3 <= Role::Operator || role >= act.3);
    let links = links.map(|(path, words, class, least, useful)| {
        let may = role >= least;
        let hidden = flag(move || !lease.with(useful));
        let href = may.then(|| format!("/leases/{name}/{path}"));
        view! {
            <a
                class=class
                href=href
                hidden=hidden
                role=(!may).then_some("link")
                aria-disabled=(!may).then_some("true")
            >
                {words}
            </a>
        }
    });
    view! { <div class="acts">{links.collect::<Vec<_>>()}</div> }
}
