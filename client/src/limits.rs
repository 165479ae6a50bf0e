//! Every bound of the wire contract, in one place. Durations are milliseconds,
//! lengths are Unicode scalars unless the name says bytes.

/// The largest number that the wire carries exactly in every JSON reader: 2^53 − 1.
pub const NUMBER_MAX: u64 = (1 << 53) - 1;
/// The largest `above`: 2^52, so that generations have room to grow after it.
pub const ABOVE_MAX: u64 = 1 << 52;
/// Longest lease name.
pub const LEASE_NAME_CHARS_MAX: usize = 200;
/// Longest holder.
pub const HOLDER_CHARS_MAX: usize = 255;
/// Longest claim id.
pub const CLAIM_ID_CHARS_MAX: usize = 64;
/// Longest principal.
pub const PRINCIPAL_CHARS_MAX: usize = 255;
/// Longest reason.
pub const REASON_CHARS_MAX: usize = 2_000;
/// Longest incident link or number.
pub const INCIDENT_CHARS_MAX: usize = 500;
/// Longest text to search for.
pub const SEARCH_CHARS_MAX: usize = 255;
/// Shortest time that a tenure lasts without renewal.
pub const TTL_MS_MIN: u64 = 1_000;
/// Longest time that a tenure lasts without renewal: 24 hours.
pub const TTL_MS_MAX: u64 = 86_400_000;
/// Longest grace: one hour.
pub const GRACE_MS_MAX: u64 = 3_600_000;
/// Shortest bar, reservation or step-down deadline.
pub const OPERATOR_MS_MIN: u64 = 1_000;
/// Longest bar, reservation or step-down deadline: 24 hours.
pub const OPERATOR_MS_MAX: u64 = 86_400_000;
/// Shortest idle time after which a lease can be forgotten.
pub const FORGET_IDLE_MS_MIN: u64 = 1_000;
/// Longest text of an address.
pub const ADDRESS_CHARS_MAX: usize = 64;
/// Longest wait of an acquire: one minute.
pub const WAIT_MS_MAX: u64 = 60_000;
/// Largest `payload`, in bytes of JSON.
pub const PAYLOAD_BYTES_MAX: usize = 64 * 1024;
/// Largest `status`, in bytes of JSON.
pub const STATUS_BYTES_MAX: usize = 1024;
/// Deepest nesting of a `payload` or `status`.
pub const JSON_DEPTH_MAX: usize = 64;
/// Largest body of a call.
pub const BODY_BYTES_MAX: usize = 256 * 1024;
/// Largest body of `POST /renewals`.
pub const RENEWALS_BYTES_MAX: usize = 1024 * 1024;
/// Most renewals in one call.
pub const RENEWALS_MAX: usize = 1_000;
/// Largest page of a list.
pub const PAGE_MAX: u64 = 1_000;
/// A page of a list, when nothing else was asked for.
pub const PAGE_DEFAULT: u64 = 100;
/// How far a reader of events may be behind before it gets a `reset`.
pub const EVENTS_BEHIND_MAX: u64 = 10_000;
/// Most changes of hands that `flapping` counts; more show as this many.
pub const FLAPPING_MAX: usize = 100;
