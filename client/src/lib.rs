//! The wire contract of Baton, as Rust types, a client that speaks it, and a
//! keeper that holds leases with it.
//!
//! To hold a lease, start at [`keeper`]: ten lines of code, then every
//! guarantee they give and where it ends.
//!
//! The types compile everywhere, WebAssembly included: the server answers with
//! them, the page reads them, the command line prints them. Nothing here knows
//! a rule, a clock or a database; see the server's `rules` for those.
//!
//! With the feature `http` (on by default) there is also [`Client`], a thin
//! typed client of the HTTP interface; with the feature `keeper` (also on by
//! default) the [`keeper`] over it. With neither, the crate is types only.

mod blank;
mod names;
mod time;

mod access;
mod answers;
mod export;
mod handover;
mod inquiry;
mod lease;
mod people;
mod problem;
mod requests;

pub mod limits;

#[cfg(feature = "http")]
mod http;
#[cfg(feature = "keeper")]
pub mod keeper;

pub use access::{
    AccessEntry, AccessEvent, AccessExportQuery, AccessPage, AccessQuery, AccessTrailer,
};
pub use answers::{
    Checked, Event, Forgot, HandoverPage, LeasePage, RenewalResult, Renewed, Snapshot, TimeEvent,
};
pub use blank::is_blank;
pub use export::{ExportFormat, ExportQuery, ExportTrailer, Trailer, TrailerLine};
pub use handover::{Handover, HandoverEvent};
pub use inquiry::{
    AtQuery, ForcedBy, Found, Gap, LeaseAt, Report, ReportQuery, Tenure, TenurePage, TenureQuery,
    Verification,
};
pub use lease::{Attention, Barred, Lease, LeaseState, Paused, Reserved, StepDown};
pub use names::{Generation, HolderId, LeaseName, NameError};
pub use people::{Actor, Role};
pub use problem::{Code, Ended, FieldError, Outcome, Problem};
pub use requests::{
    Acquire, BarWhom, CheckQuery, EventHandovers, EventsQuery, ForceRelease, Forget, HandoverQuery,
    LeaseQuery, LeaseSort, Order, Protect, Reason, Release, Renew, Renewal, Renewals,
    StepDownRequest,
};
pub use time::{Timestamp, TimestampError};

#[cfg(feature = "http")]
pub use http::{
    Answer, Call, CallError, Client, ClientError, EventStream, ExportStream, Failed, Limits,
    RawEvent,
};

/// JSON that is kept letter by letter as it was sent.
pub type RawJson = Box<serde_json::value::RawValue>;
