//! The calls of the machine, over HTTP, and what their answers mean to it.
//! Anything but a decision of the server is a failure that proves nothing.

use std::{collections::BTreeMap, time::Duration};

use super::{
    HoldError,
    machine::{
        AcquireAnswer, AskedRemotely, Confirmed, Due, Grant, Key, ReleaseAnswer, RenewAnswer,
    },
};
use crate::{
    Acquire, Call, CallError, Client, Code, Ended, Generation, HolderId, Lease, LeaseName, Problem,
    Release, Renewal, RenewalResult, Renewals, Renewed,
};

/// Acquires, and says what a refusal that time does not change was.
pub(super) async fn acquire(
    client: &Client,
    lease: &LeaseName,
    acquire: &Acquire,
    bound: Duration,
) -> (AcquireAnswer, Option<HoldError>) {
    let answered = client
        .send(Call::acquire(lease, acquire).within(bound))
        .await;
    match answered.map(|answer| answer.value) {
        Ok(granted) => {
            let answer = match confirmed(&granted, lease, &acquire.holder, None) {
                Some(confirmed) => AcquireAnswer::Granted(grant(granted), confirmed),
                // Not what was asked for: something in between answers.
                None => AcquireAnswer::Failed { retry_after: None },
            };
            (answer, None)
        }
        Err(CallError::Refused(problem)) => refused(problem),
        Err(failed) => {
            let retry_after = failed.retry_after();
            (AcquireAnswer::Failed { retry_after }, None)
        }
    }
}

fn refused(problem: Box<Problem>) -> (AcquireAnswer, Option<HoldError>) {
    let retry_after = problem.retry_after_ms.map(Duration::from_millis);
    let never = |error| (AcquireAnswer::Never, Some(error));
    match problem.code {
        Code::Held | Code::Paused | Code::Barred | Code::Reserved | Code::Blocked => {
            (AcquireAnswer::NotNow { retry_after }, None)
        }
        Code::Lost => (AcquireAnswer::ClaimOver, None),
        Code::RateLimited => (AcquireAnswer::Failed { retry_after }, None),
        Code::AttemptsExhausted => never(HoldError::AttemptsExhausted(problem)),
        Code::GenerationMoved => never(HoldError::GenerationMoved(problem)),
        _ => never(HoldError::Refused(problem)),
    }
}

/// What the answer confirms, if it is about this holder's tenure.
fn confirmed(
    lease: &Lease,
    name: &LeaseName,
    holder: &HolderId,
    generation: Option<Generation>,
) -> Option<Confirmed> {
    let ours = lease.lease == *name
        && lease.holder.as_ref() == Some(holder)
        && generation.is_none_or(|generation| generation == lease.generation);
    let step_down = lease.step_down.clone().map(|words| AskedRemotely {
        within: Duration::from_millis(lease.now.ms_until(words.deadline)),
        words,
    });
    ours.then_some(Confirmed {
        remaining_ms: lease.remaining_ms?,
        step_down,
    })
}

fn grant(lease: Lease) -> Grant {
    Grant {
        generation: lease.generation,
        attempt: lease.attempt,
        payload: lease.payload.flatten(),
        principal: lease.principal,
    }
}

/// Renews many, each under its name.
pub(super) async fn renew(
    client: &Client,
    holder: &HolderId,
    renewals: &[(LeaseName, Due)],
    bound: Duration,
) -> Vec<Answered> {
    let asked = Renewals {
        renewals: renewals
            .iter()
            .map(|(lease, due)| Renewal {
                lease: lease.clone(),
                holder: holder.clone(),
                generation: due.generation,
                ttl_ms: None,
                status: due.status.clone().map(Some),
            })
            .collect(),
    };
    match client.send(Call::renewals(&asked).within(bound)).await {
        Ok(answer) => each(holder, renewals, answer.value),
        Err(CallError::Refused(problem)) => {
            let all = renewals.iter();
            all.map(|(_, due)| Answered::refused(due.key, problem.clone()))
                .collect()
        }
        Err(failed) => {
            let retry_after = failed.retry_after();
            let answer = RenewAnswer::Failed { retry_after };
            let all = renewals.iter();
            all.map(|(_, due)| Answered::plain(due.key, answer.clone()))
                .collect()
        }
    }
}

/// What a renewal came to, and the refusal's words if somebody should hear them.
pub(super) struct Answered {
    pub(super) key: Key,
    pub(super) answer: RenewAnswer,
    pub(super) error: Option<HoldError>,
}

impl Answered {
    fn plain(key: Key, answer: RenewAnswer) -> Self {
        Self {
            key,
            answer,
            error: None,
        }
    }

    /// A refusal of the whole call, or of one renewal in it.
    fn refused(key: Key, problem: Box<Problem>) -> Self {
        let retry_after = problem.retry_after_ms.map(Duration::from_millis);
        match problem.code {
            Code::Lost => {
                let ended = problem.ended.unwrap_or(Ended::Unknown);
                Self::plain(key, RenewAnswer::Lost(ended))
            }
            Code::UnknownLease => Self::plain(key, RenewAnswer::Lost(Ended::Unknown)),
            // Somebody's transaction has the lease locked, for a while.
            Code::Blocked | Code::RateLimited => {
                Self::plain(key, RenewAnswer::Failed { retry_after })
            }
            _ if problem.status >= 500 => Self::plain(key, RenewAnswer::Failed { retry_after }),
            _ => Self {
                key,
                answer: RenewAnswer::NotAllowed,
                error: Some(HoldError::Refused(problem)),
            },
        }
    }
}

/// The renewals' answers, each found by its lease.
fn each(holder: &HolderId, renewals: &[(LeaseName, Due)], answer: Renewed) -> Vec<Answered> {
    let mut results: BTreeMap<LeaseName, RenewalResult> = answer
        .results
        .into_iter()
        .map(|result| (result.lease().clone(), result))
        .collect();
    let one = |(name, due): &(LeaseName, Due)| match results.remove(name) {
        Some(RenewalResult::Refused { body, .. }) => Answered::refused(due.key, body),
        Some(RenewalResult::Done { body, .. }) => {
            let confirmed = confirmed(&body, name, holder, Some(due.generation));
            let failed = RenewAnswer::Failed { retry_after: None };
            Answered::plain(due.key, confirmed.map_or(failed, RenewAnswer::Confirmed))
        }
        None => Answered::plain(due.key, RenewAnswer::Failed { retry_after: None }),
    };
    renewals.iter().map(one).collect()
}

/// Releases.
pub(super) async fn release(
    client: &Client,
    lease: &LeaseName,
    release: &Release,
    bound: Duration,
) -> ReleaseAnswer {
    let call = Call::release(lease, release).within(bound);
    match client.send(call).await {
        Ok(_) => ReleaseAnswer::Done,
        Err(CallError::Refused(problem)) if problem.code == Code::Lost => {
            ReleaseAnswer::Lost(problem.ended.unwrap_or(Ended::Unknown))
        }
        Err(CallError::Refused(problem)) if problem.code == Code::UnknownLease => {
            ReleaseAnswer::Lost(Ended::Unknown)
        }
        Err(_) => ReleaseAnswer::Failed,
    }
}

impl RenewalResult {
    fn lease(&self) -> &LeaseName {
        match self {
            Self::Done { lease, .. } | Self::Refused { lease, .. } => lease,
        }
    }
}
