//! Waiting for a tenure: as long as it takes, or as long as was said, and with
//! words about why it takes so long.

use std::{convert::Infallible, time::Duration};

use baton_client::{
    Call, CallError, Lease, LeaseState,
    keeper::{Handle, HoldError, Tenure},
};

use super::signals::Incoming;
use crate::cli::{
    Exit, Failure,
    connection::Session,
    lease_text, output,
    safe::safe,
    table::{relative, span},
};

/// When to say why it takes long.
const WORD_AFTER: Duration = Duration::from_secs(3);

/// How the waiting ended.
#[derive(Debug)]
pub enum Got {
    Tenure(Tenure),
    /// A signal asked for the end.
    Signal(i32),
}

/// Contends until the lease is held. With a `wait`, no longer than that, but
/// long enough to be answered once: `call` is how long that is waited for.
pub async fn contend(
    handle: &mut Handle,
    session: &Session,
    wait: Option<Duration>,
    call: Duration,
    signals: &mut Incoming,
) -> Result<Got, Failure> {
    let lease = handle.lease().clone();
    let why = || why_not(session, &lease);
    let tenure = handle.tenure();
    tokio::pin!(tenure);
    let limit = async {
        match wait {
            Some(wait) if wait < call => {
                // Told that somebody has it, there is nothing to wait for.
                tokio::time::sleep(wait.max(call / 8)).await;
                let why = why().await;
                if !matches!(why, Why::Holder(_)) {
                    tokio::time::sleep(call).await;
                }
            }
            Some(wait) => tokio::time::sleep(wait).await,
            None => std::future::pending().await,
        }
    };
    let word = async {
        tokio::time::sleep(WORD_AFTER).await;
        output::note(&format!(
            "baton: waiting for {lease}: {}",
            why().await.text()
        ));
        std::future::pending::<Infallible>().await
    };
    tokio::select! {
        biased;
        got = &mut tenure => got.map(Got::Tenure).map_err(|error| refused(error, session)),
        number = signals.ending() => Ok(Got::Signal(number)),
        () = limit => Err(given_up(why().await, lease.as_str())),
        never = word => match never {},
    }
}

/// Why the lease cannot be had, as far as can be found out.
enum Why {
    /// Somebody has it, or an operator keeps it.
    Holder(String),
    /// It looks free: others are faster, or nobody answers acquires.
    Unclear,
    /// The server does not say.
    Failed(Failure),
}

impl Why {
    fn text(&self) -> String {
        match self {
            Self::Holder(text) => text.clone(),
            Self::Unclear => "it cannot be had yet".into(),
            Self::Failed(failure) => failure.text().to_owned(),
        }
    }
}

async fn why_not(session: &Session, lease: &baton_client::LeaseName) -> Why {
    let call = Call::lease(lease).within(Duration::from_secs(3));
    match session.client().send(call).await {
        Ok(answer) => keeps_us_out(&answer.value).map_or(Why::Unclear, Why::Holder),
        Err(CallError::Refused(problem)) if problem.status == 404 => Why::Unclear,
        Err(error) => Why::Failed(session.failure(&error)),
    }
}

fn keeps_us_out(lease: &Lease) -> Option<String> {
    if let Some(paused) = &lease.paused {
        return Some(format!(
            "it is paused by {}: {}",
            safe(&paused.actor.to_string()),
            safe(&paused.reason)
        ));
    }
    if lease.state != LeaseState::Free {
        let until = lease
            .takeable_at
            .map(|at| format!(", which lapses {} unless renewed", relative(lease.now, at)))
            .filter(|_| lease.state == LeaseState::Held);
        return Some(format!(
            "{} has it{}",
            lease_text::holder(lease),
            until.unwrap_or_default()
        ));
    }
    if let Some(reserved) = &lease.reserved {
        return Some(format!(
            "it is reserved for {} for {}: {}",
            safe(reserved.holder.as_str()),
            span(lease.now.ms_until(reserved.until)),
            safe(&reserved.reason)
        ));
    }
    lease.barred.as_ref().map(|barred| {
        format!(
            "it is barred for {}: {}",
            span(lease.now.ms_until(barred.until)),
            safe(&barred.reason)
        )
    })
}

/// The time for waiting is over.
fn given_up(why: Why, lease: &str) -> Failure {
    match why {
        Why::Failed(failure) => failure,
        why => Failure::new(
            Exit::NotHad,
            format!("{lease} could not be had: {}", why.text()),
        ),
    }
}

/// Waiting does not help.
fn refused(error: HoldError, session: &Session) -> Failure {
    match error {
        HoldError::AttemptsExhausted(problem) | HoldError::GenerationMoved(problem) => session
            .failure(&CallError::Refused(problem))
            .with_exit(Exit::NotHad),
        HoldError::Refused(problem) => session.failure(&CallError::Refused(problem)),
        HoldError::Closed => Failure::new(Exit::Failed, error.to_string()),
    }
}
