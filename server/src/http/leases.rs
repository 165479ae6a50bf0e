//! The calls about leases.

use std::{sync::Arc, time::Duration};

use axum::{
    Json,
    http::header,
    response::{IntoResponse, Response},
};
use baton_client::{
    Acquire, CheckQuery, Checked, Code, ForceRelease, Lease, LeaseName, LeaseQuery, Protect,
    Reason, Release, Renew, Renewal, RenewalResult, StepDownRequest, Timestamp,
    limits::{BODY_BYTES_MAX, RENEWALS_BYTES_MAX, RENEWALS_MAX},
};

use serde::Serialize;

use crate::{
    people::{Access, authorise},
    rules::{Asker, Request, Why},
    store::StoreError,
};

use super::{
    answer::{Answer, Oops},
    body::Named,
    call::Call,
    fields::Fields,
    parse,
};

/// `POST /leases/{lease}/acquire`.
pub async fn acquire(mut call: Call) -> Answer {
    let wire: Acquire = call.json(BODY_BYTES_MAX).await?;
    // A server that stops lets nobody begin to wait.
    let wait_ms = if call.site.inner.stop.is_cancelled() {
        0
    } else {
        wire.wait_ms
    };
    let wait = Duration::from_millis(wait_ms);
    let request = Request::Acquire(call.asker()?, parse::acquire(wire)?);
    let name = call.lease()?;
    let done = call.site.store().submit_waiting(name, request, wait);
    let done = tokio::select! {
        biased;
        done = done => done?,
        why = revoked(&call), if !wait.is_zero() => return Err(why),
    };
    Ok(Json(done.lease_with_payload()).into_response())
}

/// Comes back when a token stopped working while it waits in line. That it cannot
/// be checked for the moment ends no wait: whenever the database is started anew,
/// everybody would lose their place.
async fn revoked(call: &Call) -> Oops {
    loop {
        let why = call.no_longer_allowed().await;
        if why.0.code != Code::StoreUnavailable {
            return why;
        }
    }
}

/// `POST /leases/{lease}/renew`.
pub async fn renew(mut call: Call) -> Answer {
    let wire: Renew = call.json(BODY_BYTES_MAX).await?;
    let mut fields = Fields::default();
    parse::check_renew(&mut fields, &wire);
    fields.finish()?;
    let request = Request::Renew(call.asker()?.into(), parse::renew(wire));
    submit(call, request).await
}

/// `POST /leases/{lease}/release`.
pub async fn release(mut call: Call) -> Answer {
    let wire: Release = call.json(BODY_BYTES_MAX).await?;
    let request = Request::Release(call.asker()?, parse::release(wire)?);
    submit(call, request).await
}

/// `POST /leases/{lease}/force-release`.
pub async fn force_release(mut call: Call) -> Answer {
    let wire: ForceRelease = call.json(BODY_BYTES_MAX).await?;
    let request = Request::ForceRelease(call.asker()?, parse::force_release(wire)?);
    submit(call, request).await
}

/// `POST /leases/{lease}/step-down`.
pub async fn step_down(mut call: Call) -> Answer {
    let wire: StepDownRequest = call.json(BODY_BYTES_MAX).await?;
    let request = Request::StepDown(call.asker()?, parse::step_down(wire)?);
    submit(call, request).await
}

/// `POST /leases/{lease}/cancel-step-down`.
pub async fn cancel_step_down(call: Call) -> Answer {
    with_reason(call, Request::CancelStepDown).await
}

/// `POST /leases/{lease}/pause`.
pub async fn pause(call: Call) -> Answer {
    with_reason(call, Request::Pause).await
}

/// `POST /leases/{lease}/unpause`.
pub async fn unpause(call: Call) -> Answer {
    with_reason(call, Request::Unpause).await
}

/// `POST /leases/{lease}/protect`.
pub async fn protect(call: Call) -> Answer {
    protection(call, Request::Protect).await
}

/// `POST /leases/{lease}/unprotect`.
pub async fn unprotect(call: Call) -> Answer {
    protection(call, Request::Unprotect).await
}

async fn with_reason(mut call: Call, request: fn(Asker, Why) -> Request) -> Answer {
    let wire: Reason = call.json(BODY_BYTES_MAX).await?;
    let request = request(call.asker()?, parse::reason(wire)?);
    submit(call, request).await
}

async fn protection(mut call: Call, request: fn(Asker, Why) -> Request) -> Answer {
    let wire: Protect = call.json(BODY_BYTES_MAX).await?;
    let request = request(call.asker()?, parse::protect(wire)?);
    submit(call, request).await
}

async fn submit(call: Call, request: Request) -> Answer {
    let name = call.lease()?;
    let done = call.site.store().submit(name, request).await?;
    Ok(Json(done.lease()).into_response())
}

/// [`baton_client::Renewals`], read more strictly.
#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Renewals {
    renewals: Vec<Named<Renewal>>,
}

/// `POST /renewals`.
pub async fn renewals(mut call: Call) -> Answer {
    let Renewals { renewals } = call.json(RENEWALS_BYTES_MAX).await?;
    let renewals: Vec<Renewal> = renewals.into_iter().map(|Named(renewal)| renewal).collect();
    let asker = Arc::new(call.asker()?);
    check_renewals(&renewals)?;
    // A renewal outside the token's prefixes is refused by itself.
    let allowed: Vec<Result<(), Oops>> = renewals
        .iter()
        .map(|renewal| Ok(authorise(&call.caller, Access::Hold, Some(&renewal.lease))?))
        .collect();
    let names: Vec<LeaseName> = renewals.iter().map(|r| r.lease.clone()).collect();
    let requests = renewals
        .into_iter()
        .zip(&allowed)
        .filter(|(_, allowed)| allowed.is_ok())
        .map(|(renewal, _)| {
            let (lease, renew) = split(renewal);
            (lease, Request::Renew(asker.clone(), parse::renew(renew)))
        })
        .collect();
    let mut answers = call.site.store().renew_all(requests).await.into_iter();
    let mut now = None;
    let mut results = Results::of(names.len());
    for (lease, allowed) in names.into_iter().zip(allowed) {
        let answer = match allowed {
            Ok(()) => answers.next().unwrap_or(Err(StoreError::Internal)),
            Err(oops) => {
                results.add(&refused(lease, oops, &call))?;
                continue;
            }
        };
        match answer {
            Ok(done) => {
                now = now.max(Some(done.now));
                results.add(&Renewed {
                    lease: &lease,
                    status: 200,
                    body: &done.lease(),
                })?;
            }
            Err(error) => {
                if let StoreError::Refused(refused) = &error {
                    now = now.max(Some(refused.now));
                }
                results.add(&refused(lease, error.into(), &call))?;
            }
        }
    }
    let now: Timestamp = match now {
        Some(now) => now,
        // Nothing was decided, so nothing said what time it is.
        None => call.site.store().now().await?,
    };
    Ok(results.end(now))
}

/// A [`RenewalResult::Done`], from what is at hand.
#[derive(Serialize)]
struct Renewed<'a> {
    lease: &'a LeaseName,
    status: u16,
    body: &'a Lease,
}

/// A [`baton_client::Renewed`], written result by result: a thousand leases at once are more than
/// a processor has at hand.
struct Results(Vec<u8>);

impl Results {
    /// Bytes that a result has, about.
    const BYTES: usize = 800;

    fn of(count: usize) -> Self {
        let mut text = Vec::with_capacity(count * Self::BYTES);
        text.extend_from_slice(br#"{"results":["#);
        Self(text)
    }

    fn add(&mut self, result: &impl Serialize) -> Result<(), Oops> {
        if !self.0.ends_with(b"[") {
            self.0.push(b',');
        }
        serde_json::to_writer(&mut self.0, result).map_err(|error| {
            tracing::error!(%error, "a result cannot be written");
            Oops::from(StoreError::Internal)
        })
    }

    fn end(mut self, now: Timestamp) -> Response {
        self.0
            .extend_from_slice(format!(r#"],"now":"{now}"}}"#).as_bytes());
        ([(header::CONTENT_TYPE, "application/json")], self.0).into_response()
    }
}

fn refused(lease: LeaseName, oops: Oops, call: &Call) -> RenewalResult {
    let mut body = oops.0;
    body.request_id = Some(call.request_id.clone());
    RenewalResult::Refused {
        lease,
        status: body.status,
        body,
    }
}

fn split(renewal: Renewal) -> (LeaseName, Renew) {
    let Renewal {
        lease,
        holder,
        generation,
        ttl_ms,
        status,
    } = renewal;
    let renew = Renew {
        holder,
        generation,
        ttl_ms,
        status,
    };
    (lease, renew)
}

fn check_renewals(renewals: &[Renewal]) -> Result<(), Oops> {
    let mut fields = Fields::default();
    fields.number(
        "renewals",
        Some(renewals.len() as u64),
        1,
        RENEWALS_MAX as u64,
    );
    let mut seen = std::collections::HashSet::with_capacity_and_hasher(
        renewals.len(),
        foldhash::fast::RandomState::default(),
    );
    for (i, renewal) in renewals.iter().enumerate() {
        let doubled = !seen.insert(renewal.lease.as_str());
        if !doubled && renewal.ttl_ms.is_none() && renewal.status.is_none() {
            continue;
        }
        fields.under(format!("renewals[{i}]."));
        if doubled {
            fields.wrong("lease", format!("`{}` comes more than once", renewal.lease));
        }
        let (_, renew) = split(renewal.clone());
        parse::check_renew(&mut fields, &renew);
    }
    fields.finish()
}

/// `GET /leases/{lease}`.
pub async fn lease(call: Call) -> Answer {
    call.query::<Nothing>()?;
    let name = call.lease()?;
    let lease = call.site.store().lease(&name).await?;
    let mut lease = lease.ok_or_else(|| Oops::unknown_lease(&name))?;
    if call.caller.is_anonymous() {
        lease.payload = None;
    }
    Ok(Json(lease).into_response())
}

/// `GET /leases/{lease}/check`.
pub async fn check(call: Call) -> Answer {
    let CheckQuery { generation } = call.query()?;
    let lease = call.lease()?;
    let (current, now) = call.site.store().check(&lease, generation).await?;
    Ok(Json(Checked {
        lease,
        generation,
        current,
        now,
    })
    .into_response())
}

/// `GET /leases`.
pub async fn leases(call: Call) -> Answer {
    let query: LeaseQuery = call.query()?;
    parse::lease_query(&query)?;
    Ok(Json(call.site.store().leases(&query).await?).into_response())
}

/// A query without fields.
#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Nothing {}
