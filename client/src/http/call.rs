//! A call as a value: what is asked, where, and how long it may take. Building
//! one sends nothing; see [`Client::send`](super::Client::send).

use std::{fmt, marker::PhantomData, time::Duration};

use reqwest::{Method, Url};
use serde::Serialize;

use crate::{
    AccessPage, AccessQuery, Acquire, AtQuery, CheckQuery, Checked, EventsQuery, ExportQuery,
    ForceRelease, Forget, Forgot, Generation, Handover, HandoverPage, HandoverQuery, Lease,
    LeaseAt, LeaseName, LeasePage, LeaseQuery, Protect, Reason, Release, Renew, Renewals, Renewed,
    Report, ReportQuery, StepDownRequest, TenurePage, TenureQuery, Verification,
};

/// What was answered.
#[derive(Debug, Clone)]
pub struct Answer<T> {
    /// What it means.
    pub value: T,
    /// What it says, letter by letter.
    pub text: String,
}

/// A call whose answer is a `T`.
pub struct Call<T> {
    method: Method,
    path: Vec<String>,
    query: Vec<(String, String)>,
    body: Option<Vec<u8>>,
    wait: Duration,
    within: Option<Duration>,
    answer: PhantomData<fn() -> T>,
}

impl<T> fmt::Debug for Call<T> {
    /// Bodies are not shown: they may hold what is not for logs.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} /{}", self.method, self.path.join("/"))
    }
}

impl<T> Call<T> {
    /// Bounds this call, instead of the client's [`Limits::call`](super::Limits).
    /// An acquire adds its `wait_ms`.
    #[must_use]
    pub fn within(mut self, bound: Duration) -> Self {
        self.within = Some(bound);
        self
    }

    pub(super) fn bound(&self, default: Duration) -> Duration {
        self.within.unwrap_or(default) + self.wait
    }

    pub(super) fn method(&self) -> Method {
        self.method.clone()
    }

    pub(super) fn body(&self) -> Option<&[u8]> {
        self.body.as_deref()
    }

    /// The address, every part of it percent-encoded.
    pub(super) fn url(&self, base: &Url) -> Url {
        let mut url = base.clone();
        if let Ok(mut path) = url.path_segments_mut() {
            path.pop_if_empty().extend(["api", "v1"]).extend(&self.path);
        }
        if !self.query.is_empty() {
            url.query_pairs_mut().extend_pairs(&self.query);
        }
        url
    }

    fn get(path: &[&str], query: &impl Serialize) -> Self {
        Self {
            method: Method::GET,
            path: path.iter().map(|&part| part.to_owned()).collect(),
            query: pairs(query),
            body: None,
            wait: Duration::ZERO,
            within: None,
            answer: PhantomData,
        }
    }

    fn post(path: &[&str], body: &impl Serialize) -> Self {
        let body = serde_json::to_vec(body).expect("wire types always become JSON");
        Self {
            method: Method::POST,
            body: Some(body),
            ..Self::get(path, &())
        }
    }

    pub(super) fn events(query: &EventsQuery) -> Self {
        Self::get(&["events"], query)
    }

    pub(super) fn export(query: &ExportQuery) -> Self {
        Self::get(&["handovers", "export"], query)
    }
}

/// A query's fields that are there, as text.
fn pairs(query: &impl Serialize) -> Vec<(String, String)> {
    use serde_json::Value;
    let Ok(Value::Object(fields)) = serde_json::to_value(query) else {
        return Vec::new();
    };
    fields
        .into_iter()
        .filter_map(|(name, value)| match value {
            Value::Null => None,
            Value::String(text) => Some((name, text)),
            other => Some((name, other.to_string())),
        })
        .collect()
}

impl Call<Lease> {
    fn change(lease: &LeaseName, what: &str, body: &impl Serialize) -> Self {
        Self::post(&["leases", lease.as_str(), what], body)
    }

    /// `POST /leases/{lease}/acquire`.
    pub fn acquire(lease: &LeaseName, acquire: &Acquire) -> Self {
        Self {
            wait: Duration::from_millis(acquire.wait_ms),
            ..Self::change(lease, "acquire", acquire)
        }
    }

    /// `POST /leases/{lease}/renew`.
    pub fn renew(lease: &LeaseName, renew: &Renew) -> Self {
        Self::change(lease, "renew", renew)
    }

    /// `POST /leases/{lease}/release`.
    pub fn release(lease: &LeaseName, release: &Release) -> Self {
        Self::change(lease, "release", release)
    }

    /// `GET /leases/{lease}`.
    pub fn lease(lease: &LeaseName) -> Self {
        Self::get(&["leases", lease.as_str()], &())
    }

    /// `POST /leases/{lease}/force-release`.
    pub fn force_release(lease: &LeaseName, force: &ForceRelease) -> Self {
        Self::change(lease, "force-release", force)
    }

    /// `POST /leases/{lease}/step-down`.
    pub fn step_down(lease: &LeaseName, step_down: &StepDownRequest) -> Self {
        Self::change(lease, "step-down", step_down)
    }

    /// `POST /leases/{lease}/cancel-step-down`.
    pub fn cancel_step_down(lease: &LeaseName, reason: &Reason) -> Self {
        Self::change(lease, "cancel-step-down", reason)
    }

    /// `POST /leases/{lease}/pause`.
    pub fn pause(lease: &LeaseName, reason: &Reason) -> Self {
        Self::change(lease, "pause", reason)
    }

    /// `POST /leases/{lease}/unpause`.
    pub fn unpause(lease: &LeaseName, reason: &Reason) -> Self {
        Self::change(lease, "unpause", reason)
    }

    /// `POST /leases/{lease}/protect`.
    pub fn protect(lease: &LeaseName, protect: &Protect) -> Self {
        Self::change(lease, "protect", protect)
    }

    /// `POST /leases/{lease}/unprotect`.
    pub fn unprotect(lease: &LeaseName, protect: &Protect) -> Self {
        Self::change(lease, "unprotect", protect)
    }
}

impl Call<Renewed> {
    /// `POST /renewals`.
    pub fn renewals(renewals: &Renewals) -> Self {
        Self::post(&["renewals"], renewals)
    }
}

impl Call<AccessPage> {
    /// `GET /access`: one page of the access log.
    pub fn access(query: &AccessQuery) -> Self {
        Self::get(&["access"], query)
    }
}

impl Call<Forgot> {
    /// `POST /forget`: one step, of at most 1,000 leases.
    pub fn forget(forget: &Forget) -> Self {
        Self::post(&["forget"], forget)
    }
}

impl Call<Checked> {
    /// `GET /leases/{lease}/check`.
    pub fn check(lease: &LeaseName, generation: Generation) -> Self {
        Self::get(
            &["leases", lease.as_str(), "check"],
            &CheckQuery { generation },
        )
    }
}

impl Call<LeasePage> {
    /// `GET /leases`.
    pub fn leases(query: &LeaseQuery) -> Self {
        Self::get(&["leases"], query)
    }
}

impl Call<HandoverPage> {
    /// `GET /handovers`.
    pub fn handovers(query: &HandoverQuery) -> Self {
        Self::get(&["handovers"], query)
    }
}

impl Call<LeaseAt> {
    /// `GET /leases/{lease}/at`.
    pub fn at(lease: &LeaseName, query: &AtQuery) -> Self {
        Self::get(&["leases", lease.as_str(), "at"], query)
    }
}

impl Call<Report> {
    /// `GET /leases/{lease}/report`.
    pub fn report(lease: &LeaseName, query: &ReportQuery) -> Self {
        Self::get(&["leases", lease.as_str(), "report"], query)
    }
}

impl Call<Verification> {
    /// `GET /verification`.
    pub fn verification() -> Self {
        Self::get(&["verification"], &())
    }
}

impl Call<TenurePage> {
    /// `GET /tenures`.
    pub fn tenures(query: &TenureQuery) -> Self {
        Self::get(&["tenures"], query)
    }
}

impl Call<Handover> {
    /// `GET /handovers/{seq}`.
    pub fn handover(seq: u64) -> Self {
        Self::get(&["handovers", &seq.to_string()], &())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Actor, LeaseState};

    #[test]
    fn addresses_are_encoded_part_by_part() {
        let base = Url::parse("https://proxy.example/baton/").expect("an address");
        let lease = "a:b@c".parse().expect("a lease name");
        assert_eq!(
            Call::lease(&lease).url(&base).as_str(),
            "https://proxy.example/baton/api/v1/leases/a:b@c"
        );
        let odd = Call::<Lease>::get(&["leases", "a/b ?#%"], &());
        assert_eq!(
            odd.url(&base).path(),
            "/baton/api/v1/leases/a%2Fb%20%3F%23%25"
        );
    }

    #[test]
    fn queries_hold_what_was_asked_and_nothing_else() {
        let base = Url::parse("http://127.0.0.1:7400").expect("an address");
        assert_eq!(
            Call::leases(&LeaseQuery::default()).url(&base).query(),
            None
        );
        let query = LeaseQuery {
            search: Some("a&b =ä".into()),
            state: Some(LeaseState::Held),
            attention: Some(true),
            limit: Some(10),
            ..LeaseQuery::default()
        };
        let url = Call::leases(&query).url(&base);
        let back: std::collections::BTreeMap<_, _> = url.query_pairs().into_owned().collect();
        assert_eq!(back.len(), 4);
        assert_eq!(back["search"], "a&b =ä");
        assert_eq!(back["state"], "held");
        assert_eq!(back["attention"], "true");
        assert_eq!(back["limit"], "10");

        let query = HandoverQuery {
            actor: Some(Actor::User("ana".into())),
            from: "2026-11-29T02:14:07Z".parse().ok(),
            ..HandoverQuery::default()
        };
        let url = Call::handovers(&query).url(&base);
        let back: std::collections::BTreeMap<_, _> = url.query_pairs().into_owned().collect();
        assert_eq!(back["actor"], "user:ana");
        assert_eq!(back["from"], "2026-11-29T02:14:07.000000Z");
    }

    #[test]
    fn a_waiting_acquire_gets_its_wait_on_top() {
        let lease = "a".parse().expect("a lease name");
        let mut acquire = Acquire::new("h".parse().expect("a holder"), 10_000);
        acquire.wait_ms = 2_000;
        let call = Call::acquire(&lease, &acquire);
        assert_eq!(call.bound(Duration::from_secs(10)).as_secs(), 12);
        let call = call.within(Duration::from_secs(1));
        assert_eq!(call.bound(Duration::from_secs(10)).as_secs(), 3);
    }
}
