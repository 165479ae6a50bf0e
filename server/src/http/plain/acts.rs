//! What operators and admins do to one lease, each on a page of its own: GET
//! asks, POST does it.

use std::sync::Arc;

use axum::response::Response;
use baton_app::plain::{Act, Ask, Filled, ask_page};
use baton_client::{
    BarWhom, Code, FieldError, ForceRelease, Generation, HandoverQuery, HolderId, Lease, LeaseName,
    LeaseState, Problem, Protect, Reason, StepDownRequest, Timestamp,
};

use super::{Page, see_other, viewer};
use crate::{
    http::{
        answer::{Answer, Oops},
        asked::RefusedWith,
        call::Call,
        pages::wants_page,
        parse,
    },
    people::{Access, Caller, authorise},
    rules::{Asker, Request},
    store::Store,
};

/// What the form calls the API's fields.
const NAMES: [(&str, &str); 3] = [
    ("bar_ms", "for_ms"),
    ("reserve_ms", "for_ms"),
    ("bar", "then"),
];

/// What it takes to do it.
pub const fn access(act: Act) -> Access {
    match act {
        Act::Protect | Act::Unprotect => Access::Administer,
        _ => Access::Operate,
    }
}

/// `GET /leases/{lease}/…`: asks.
pub async fn look(call: Call, act: Act) -> Answer {
    let filled = call.prefilled();
    let name = call.lease()?;
    let lease = call.site.store().lease(&name).await?;
    let missing = lease.is_none() && act != Act::Pause;
    show(
        &call,
        act,
        lease,
        filled,
        None,
        if missing { 404 } else { 200 },
    )
    .await
}

/// `POST /leases/{lease}/…`: does it.
pub async fn act(mut call: Call, act: Act) -> Answer {
    let filled = call.form().await?;
    let name = call.lease()?;
    let lease = call.site.store().lease(&name).await?;
    let asker = call.asker()?;
    // Somebody else may have done it since the form was shown: then they hear of it,
    // and nothing is done over it.
    let is_done = act.pointless(lease.as_ref()).is_some();
    if act == Act::Pause && is_done && wants_page(&call.headers) {
        return show(&call, act, lease, filled, None, 200).await;
    }
    let done = match request(act, &name, lease.as_ref(), &filled, asker.clone()) {
        Ok(request) => call
            .site
            .store()
            .submit(name.clone(), request)
            .await
            .map_err(Oops::from),
        Err(oops) => Err(oops),
    };
    match done {
        Ok(_) => {
            let seq = own_entry(call.site.store(), &name, &asker).await;
            let after = seq.map_or_else(String::new, |seq| format!("?after={seq}"));
            Ok(see_other(&format!("/leases/{name}{after}")))
        }
        Err(oops) if !wants_page(&call.headers) => Err(oops),
        Err(oops) => again(&call, act, lease, filled, *oops.0).await,
    }
}

/// The page again, with why it was not done.
async fn again(
    call: &Call,
    act: Act,
    before: Option<Lease>,
    filled: Filled,
    mut problem: Problem,
) -> Answer {
    problem.request_id = Some(call.request_id.clone());
    let filled = filled.wrong(&problem.errors, &NAMES);
    let name = call.lease()?;
    // As it is by now; as it was, should the database have gone away.
    let lease = call.site.store().lease(&name).await.unwrap_or(before);
    let refused = RefusedWith(problem.code);
    let status = problem.status;
    let mut page = show(call, act, lease, filled, Some(problem), status).await?;
    page.extensions_mut().insert(refused);
    Ok(page)
}

async fn show(
    call: &Call,
    act: Act,
    lease: Option<Lease>,
    filled: Filled,
    problem: Option<Problem>,
    status: u16,
) -> Answer {
    let name = call.lease()?;
    let now = match &lease {
        Some(lease) => lease.now,
        None => call.site.store().now().await?,
    };
    let ask = Ask {
        act,
        denied: denied(&call.caller, act, &name),
        viewer: viewer(&call.caller),
        name,
        lease,
        filled,
        problem,
    };
    Ok(page(call, &ask, now, status))
}

fn page(call: &Call, ask: &Ask, now: Timestamp, status: u16) -> Response {
    Page::of(call, ask.title())
        .true_at(now)
        .status(status)
        .show(|| ask_page(ask))
}

/// Why who looks may not do it.
fn denied(caller: &Arc<Caller>, act: Act, name: &LeaseName) -> Option<String> {
    let denied = authorise(caller, access(act), Some(name)).err();
    denied.map(|denied| denied.to_string())
}

/// The `seq` of the entry that a request just left, if it left one.
async fn own_entry(store: &Store, name: &LeaseName, asker: &Asker) -> Option<u64> {
    let query = HandoverQuery {
        lease: Some(name.clone()),
        limit: Some(20),
        ..HandoverQuery::default()
    };
    // What was done is done: without the entry, the page opens all the same.
    let page = store.handovers(&query).await.ok()?;
    let mut entries = page.items.into_iter();
    let own = entries.find(|entry| entry.request_id == asker.request_id)?;
    Some(own.seq)
}

/// The form as a request of the rules.
pub(super) fn request(
    act: Act,
    name: &LeaseName,
    lease: Option<&Lease>,
    filled: &Filled,
    asker: Asker,
) -> Result<Request, Oops> {
    let mut wrong = Wrong::default();
    let protected = lease.is_some_and(|lease| lease.protected);
    if act.takes_away() && protected && filled.get("typed_name").trim() != name.as_str() {
        wrong.note(
            "typed_name",
            format!("must read `{name}`, as an admin wants it"),
        );
    }
    let reason = filled.get("reason").trim().to_owned();
    let incident = filled.said("incident").map(|text| text.trim().to_owned());
    match act {
        Act::ForceRelease => {
            let wire = force(filled, &mut wrong, reason, incident);
            let force = wrong.with(wire, parse::force_release)?;
            Ok(Request::ForceRelease(asker, force))
        }
        Act::Lift | Act::ResetAttempts => {
            let wire = settle(act, lease, filled, &mut wrong, reason, incident)?;
            let force = wrong.with(wire, parse::force_release)?;
            Ok(Request::ForceRelease(asker, force))
        }
        Act::StepDown => {
            asked_meanwhile(lease, filled, &mut wrong);
            let wire = step_down(filled, &mut wrong, reason, incident);
            let step_down = wrong.with(wire, parse::step_down)?;
            Ok(Request::StepDown(asker, step_down))
        }
        Act::CancelStepDown | Act::Pause | Act::Unpause => {
            let why = wrong.with(Some(Reason { reason, incident }), parse::reason)?;
            Ok(match act {
                Act::CancelStepDown => Request::CancelStepDown(asker, why),
                Act::Pause => Request::Pause(asker, why),
                _ => Request::Unpause(asker, why),
            })
        }
        Act::Protect | Act::Unprotect => {
            let why = wrong.with(Some(Protect { reason }), parse::protect)?;
            Ok(match act {
                Act::Protect => Request::Protect(asker, why),
                _ => Request::Unprotect(asker, why),
            })
        }
    }
}

/// Fields whose text does not even become a value of their type.
#[derive(Default)]
struct Wrong(Vec<FieldError>);

impl Wrong {
    fn note(&mut self, field: &str, message: impl Into<String>) {
        self.0.push(FieldError {
            field: field.into(),
            message: message.into(),
        });
    }

    /// A field's text as what it stands for.
    fn read<T: std::str::FromStr>(&mut self, filled: &Filled, field: &str) -> Option<T>
    where
        T::Err: std::fmt::Display,
    {
        match filled.get(field).trim().parse() {
            Ok(value) => Some(value),
            Err(error) => {
                self.note(field, format!("{error}"));
                None
            }
        }
    }

    /// What is wrong with the texts, and, as far as they could be read, with the
    /// values: told at once.
    fn with<W, T>(
        mut self,
        wire: Option<W>,
        check: impl FnOnce(W) -> Result<T, Oops>,
    ) -> Result<T, Oops> {
        let checked = wire.map(check);
        match checked {
            Some(Ok(request)) if self.0.is_empty() => Ok(request),
            Some(Err(oops)) if oops.0.code != Code::Invalid => Err(oops),
            Some(Err(oops)) => {
                // In the order of the page: the reason comes first.
                let mut errors = oops.0.errors;
                errors.append(&mut self.0);
                Err(Oops::invalid(errors))
            }
            _ => Err(Oops::invalid(self.0)),
        }
    }
}

/// A step-down that was asked for after the form was shown is replaced by nobody who
/// has not heard of it.
fn asked_meanwhile(lease: Option<&Lease>, filled: &Filled, wrong: &mut Wrong) {
    let Some(asked) = lease.and_then(|lease| lease.step_down.as_ref()) else {
        return;
    };
    let shown_at = filled.get("shown_at").parse::<Timestamp>();
    if shown_at.is_ok_and(|shown_at| shown_at < asked.at) {
        let (by, at, deadline) = (&asked.actor, asked.at, asked.deadline);
        wrong.note(
            "deadline_ms",
            format!(
                "{by} asked for it at {at}, by {deadline}, with the reason: {}. Send this again to \
                 replace that",
                asked.reason
            ),
        );
    }
}

fn generation(filled: &Filled, wrong: &mut Wrong) -> Option<Generation> {
    wrong.read(filled, "expected_generation")
}

/// Who comes next, and for how long: the form's one choice is two fields of the
/// API or none.
fn then(filled: &Filled, wrong: &mut Wrong) -> (Option<BarWhom>, Option<HolderId>, Option<u64>) {
    let (bar, successor) = match filled.said("then").unwrap_or("anyone") {
        "anyone" => return (None, None, None),
        "holder" => (Some(BarWhom::Holder), None),
        "everyone" => (Some(BarWhom::Everyone), None),
        "successor" => (None, wrong.read(filled, "successor")),
        other => {
            let one_of = "anyone, holder, everyone or successor";
            wrong.note("then", format!("is {one_of}, not `{other}`"));
            (None, None)
        }
    };
    (bar, successor, wrong.read(filled, "for_ms"))
}

fn force(
    filled: &Filled,
    wrong: &mut Wrong,
    reason: String,
    incident: Option<String>,
) -> Option<ForceRelease> {
    let (bar, successor, for_ms) = then(filled, wrong);
    Some(ForceRelease {
        expected_generation: generation(filled, wrong)?,
        reason,
        incident,
        bar,
        bar_ms: bar.and(for_ms),
        reserve_ms: successor.as_ref().and(for_ms),
        successor,
    })
}

fn step_down(
    filled: &Filled,
    wrong: &mut Wrong,
    reason: String,
    incident: Option<String>,
) -> Option<StepDownRequest> {
    let (_, successor, for_ms) = then(filled, wrong);
    let deadline_ms = wrong.read(filled, "deadline_ms");
    Some(StepDownRequest {
        expected_generation: generation(filled, wrong)?,
        reason,
        incident,
        deadline_ms: deadline_ms?,
        reserve_ms: successor.as_ref().and(for_ms),
        successor,
    })
}

/// Lifting and resetting are forced releases of a lease that nobody holds: they
/// change no hands, and the generation that was seen makes sure of it.
fn settle(
    act: Act,
    lease: Option<&Lease>,
    filled: &Filled,
    wrong: &mut Wrong,
    reason: String,
    incident: Option<String>,
) -> Result<Option<ForceRelease>, Oops> {
    let Some(expected_generation) = generation(filled, wrong) else {
        return Ok(None);
    };
    let lease = lease.filter(|lease| lease.generation == expected_generation);
    // One with another generation is refused by the rules, which say what moved it.
    if let Some(lease) = lease
        && lease.state != LeaseState::Free
    {
        let mut problem = Problem::new(
            Code::Held,
            "somebody holds it, and this would take it away: nothing was done",
        );
        problem.lease = Some(Box::new(lease.clone()));
        return Err(problem.into());
    }
    let mut wire = ForceRelease {
        expected_generation,
        reason,
        incident,
        bar: None,
        bar_ms: None,
        successor: None,
        reserve_ms: None,
    };
    // What stands besides the attempts goes on for the time that it has left.
    if let Some(lease) = lease.filter(|_| act == Act::ResetAttempts) {
        let left = |until: Timestamp| lease.now.ms_until_ceil(until).max(1_000);
        if let Some(kept) = &lease.reserved {
            wire.successor = Some(kept.holder.clone());
            wire.reserve_ms = Some(left(kept.until));
        } else if let Some(bar) = lease.barred.as_ref().filter(|bar| bar.holder.is_none()) {
            wire.bar = Some(BarWhom::Everyone);
            wire.bar_ms = Some(left(bar.until));
        }
    }
    Ok(Some(wire))
}
