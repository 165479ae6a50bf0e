//! Errors become answers here, and nowhere else: `application/problem+json`,
//! with the code's status from the one table in `baton_client::Code`.

use std::sync::Arc;

use axum::{
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use baton_client::{Code, FieldError, LeaseName, Outcome, Problem, Timestamp};

use crate::{
    access_log::AccessLogError,
    export::ExportError,
    people::{BearerError, Denied, PeopleError, SignInError},
    rules::Refusal,
    store::{ListError, Refused, StoreError, keeping::KeepError},
};

/// What an API call answers.
pub type Answer = Result<Response, Oops>;

/// An error on its way out.
#[derive(Debug)]
pub struct Oops(pub Box<Problem>);

impl Oops {
    /// An error with nothing but its code and what to do.
    pub fn new(code: Code, detail: impl Into<String>) -> Self {
        Self(Box::new(Problem::new(code, detail)))
    }

    /// Fields that are wrong.
    pub fn invalid(errors: Vec<FieldError>) -> Self {
        let mut detail = String::from("nothing was changed; correct ");
        for (i, error) in errors.iter().enumerate() {
            detail.push_str(if i == 0 { "" } else { "; " });
            detail.push_str(&format!("`{}`: {}", error.field, error.message));
        }
        let mut problem = Problem::new(Code::Invalid, detail);
        problem.errors = errors;
        Self(Box::new(problem))
    }

    /// One field that is wrong.
    pub fn field(field: &str, message: impl Into<String>) -> Self {
        Self::invalid(vec![FieldError {
            field: field.into(),
            message: message.into(),
        }])
    }

    /// There is no such lease.
    pub fn unknown_lease(lease: &LeaseName) -> Self {
        Self::new(
            Code::UnknownLease,
            format!(
                "there is no lease `{lease}`; it begins to exist when somebody first acquires or pauses it"
            ),
        )
    }
}

impl From<Problem> for Oops {
    fn from(problem: Problem) -> Self {
        Self(Box::new(problem))
    }
}

impl IntoResponse for Oops {
    fn into_response(self) -> Response {
        let problem = *self.0;
        let status =
            StatusCode::from_u16(problem.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let retry_after = match problem.code {
            Code::StoreUnavailable | Code::RateLimited | Code::HistoryBehind => {
                Some(problem.retry_after_ms.unwrap_or(1_000).div_ceil(1_000))
            }
            _ => None,
        };
        let code = problem.code;
        // The body follows in `observe`, which knows the request's id.
        let mut response = status.into_response();
        response.extensions_mut().insert(Pending(Arc::new(problem)));
        let headers = response.headers_mut();
        headers.insert(
            header::CONTENT_TYPE,
            HeaderValue::from_static("application/problem+json"),
        );
        if let Some(seconds) = retry_after {
            headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        if code == Code::Unauthenticated {
            headers.insert(
                header::WWW_AUTHENTICATE,
                HeaderValue::from_static("Bearer realm=\"baton\""),
            );
        }
        response
    }
}

/// An error whose body is still to be written.
#[derive(Debug, Clone)]
pub struct Pending(Arc<Problem>);

impl Pending {
    /// The body, with the request's id.
    pub fn body(&self, request_id: Option<&str>) -> Vec<u8> {
        let mut problem = (*self.0).clone();
        problem.request_id = request_id.map(ToOwned::to_owned);
        serde_json::to_vec(&problem).unwrap_or_default()
    }
}

impl From<Denied> for Oops {
    fn from(denied: Denied) -> Self {
        match denied {
            Denied::Unauthenticated(detail) => Self::new(Code::Unauthenticated, detail),
            Denied::Forbidden(detail) => Self::new(Code::Forbidden, detail),
        }
    }
}

impl From<BearerError> for Oops {
    fn from(error: BearerError) -> Self {
        match error {
            BearerError::Unknown => Self::new(
                Code::Unauthenticated,
                "the token is unknown, expired or revoked; ask an admin for a new one",
            ),
            BearerError::Unavailable => unavailable(Outcome::NotDone),
        }
    }
}

impl From<SignInError> for Oops {
    fn from(error: SignInError) -> Self {
        let detail = error.to_string();
        match error {
            SignInError::Credentials => Self::new(Code::Unauthenticated, detail),
            SignInError::RateLimited { retry_after_s } => {
                let mut problem = Problem::new(Code::RateLimited, detail);
                problem.retry_after_ms = Some(retry_after_s.saturating_mul(1_000));
                problem.into()
            }
            SignInError::Store(error) => error.into(),
        }
    }
}

impl From<PeopleError> for Oops {
    fn from(error: PeopleError) -> Self {
        if let PeopleError::Unconfirmed(cause) = &error {
            tracing::warn!(error = %cause, "a change of users, tokens or sessions was not confirmed");
            let mut problem = Problem::new(Code::StoreUnavailable, error.to_string());
            problem.outcome = Some(Outcome::Unknown);
            return problem.into();
        }
        tracing::warn!(%error, "users and sessions cannot be read");
        unavailable(Outcome::NotDone)
    }
}

impl From<ListError> for Oops {
    fn from(error: ListError) -> Self {
        match error {
            ListError::Cursor(bad) => Self::field("cursor", bad.to_string()),
            ListError::Store(error) => error.into(),
        }
    }
}

impl From<ExportError> for Oops {
    fn from(error: ExportError) -> Self {
        match error {
            ExportError::Store(error) => error.into(),
            ExportError::TooLong { .. } => Self::field("format", error.to_string()),
            ExportError::Entry(_) => StoreError::Internal.into(),
        }
    }
}

impl From<AccessLogError> for Oops {
    fn from(error: AccessLogError) -> Self {
        match error {
            AccessLogError::Cursor(bad) => Self::field("cursor", bad.to_string()),
            AccessLogError::Store(error) => {
                tracing::warn!(%error, "the access log cannot be read");
                unavailable(Outcome::NotDone)
            }
        }
    }
}

impl From<KeepError> for Oops {
    fn from(error: KeepError) -> Self {
        match error {
            KeepError::Store(error) => {
                tracing::warn!(%error, "a step of keeping was not done");
                // Either way it can be repeated: what is gone is not found again.
                unavailable(Outcome::Unknown)
            }
            KeepError::Locked(_) => StoreError::Blocked(None).into(),
            KeepError::Exhausted | KeepError::Moved | KeepError::NotOwner => {
                Self::new(Code::Internal, error.to_string())
            }
        }
    }
}

impl From<StoreError> for Oops {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Refused(refused) => refusal(*refused),
            StoreError::Blocked(lease) => {
                let mut problem = Problem::new(
                    Code::Blocked,
                    "a transaction of somebody else keeps the lease's row locked; \
                     nothing was done: try again when it has ended",
                );
                problem.lease = lease;
                problem.retry_after_ms = Some(1_000);
                problem.into()
            }
            StoreError::Crowded => {
                let mut problem = Problem::new(
                    Code::StoreUnavailable,
                    "too many requests are waiting; nothing was done: try again shortly",
                );
                problem.outcome = Some(Outcome::NotDone);
                problem.into()
            }
            StoreError::Unavailable(outcome) => unavailable(outcome),
            StoreError::Internal => Self::new(
                Code::Internal,
                "this is a bug; the server's log has more under the request_id",
            ),
        }
    }
}

fn unavailable(outcome: Outcome) -> Oops {
    let mut problem = Problem::new(
        Code::StoreUnavailable,
        match outcome {
            Outcome::NotDone => "the database does not answer; nothing was done: try again",
            Outcome::Unknown => {
                "the database did not answer in time, so this may have happened: \
                 look, or repeat it (acquire with its claim_id; renew and release as they are)"
            }
        },
    );
    problem.outcome = Some(outcome);
    problem.into()
}

fn refusal(refused: Refused) -> Oops {
    let mut problem = Problem::new(refused.refusal.code(), detail(&refused));
    problem.retry_after_ms = refused
        .refusal
        .until()
        .map(|until| refused.now.ms_until_ceil(until));
    problem.ended = refused.ended;
    problem.handover = refused.handover.map(Box::new);
    problem.lease = match refused.refusal {
        Refusal::OtherToken | Refusal::UnknownLease | Refusal::HistoryBehind(_) => None,
        _ => refused.lease.map(Box::new),
    };
    problem.into()
}

fn detail(refused: &Refused) -> String {
    let lease = refused.lease.as_ref();
    let holder = lease
        .and_then(|lease| lease.holder.as_ref())
        .map_or("nobody", |holder| holder.as_str());
    let generation = lease.map_or(0, |lease| lease.generation.get());
    let until = |until: Option<Timestamp>| match until {
        Some(at) => format!("until {at}; try again then, or wait in line with wait_ms"),
        None => "until an operator changes it".to_owned(),
    };
    match &refused.refusal {
        Refusal::Held(at) => format!(
            "{holder} holds it with generation {generation}, and others must stay away {}",
            until(*at)
        ),
        Refusal::Paused => {
            "an operator paused it; nobody can acquire it before it is unpaused".into()
        }
        Refusal::Barred(at) => format!("after a forced release you must stay away {}", until(*at)),
        Refusal::Reserved(at) => format!("it is reserved for another holder {}", until(*at)),
        Refusal::AttemptsExhausted {
            attempt,
            max_attempts,
        } => format!(
            "its holders let it lapse {attempt} times in a row, and you allow {max_attempts}; \
             look at the work, then have an operator force its release to start anew"
        ),
        Refusal::GenerationMoved(expected) => format!(
            "you expected generation {expected}, and it is at {generation}, held by {holder}; \
             look again before you act"
        ),
        Refusal::NotHeld => "nobody holds it, so nobody can be asked or barred".into(),
        Refusal::Lost(presented)
            if presented.get() == generation && lease.is_some_and(|it| it.holder.is_some()) =>
        {
            format!(
                "generation {presented} is not yours: it is held by {holder}; present the name that \
             acquired it, or stop the work"
            )
        }
        Refusal::Lost(presented) if presented.get() > generation => format!(
            "generation {presented} was not granted here; stop the work, and acquire again. \
             It is at {generation}, held by {holder}"
        ),
        Refusal::Lost(presented) => format!(
            "generation {presented} is over; stop the work, and acquire again. \
             It is at {generation}, held by {holder}"
        ),
        Refusal::OtherToken => {
            "the tenure belongs to another API token; use the one that acquired it".into()
        }
        Refusal::UnknownLease => {
            "there is no such lease; it begins to exist when somebody first acquires or pauses it"
                .into()
        }
        Refusal::HistoryBehind(seq) => format!(
            "the log does not contain a checkpoint at seq {seq}: it lost entries, or is another \
             one, and what it grants now could repeat generations; the operator of the server \
             runs `baton raise-floor` (on SQLite, while the server is stopped)"
        ),
        Refusal::GenerationsExhausted => {
            "the generation cannot grow any more; use another name".into()
        }
    }
}
