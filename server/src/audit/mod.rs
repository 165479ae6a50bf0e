//! What an auditor asks of the log, worked out from its entries alone: whether it
//! holds, and what it says of leases and holders.
//!
//! All of it is pure: entries in, findings out. It reads no clock, no database and
//! no file; see the command line and `store` for where entries come from.

pub mod fault;
mod line;
mod links;
mod once;
mod report;
mod succession;
pub mod tenures;
mod verify;

pub use fault::{Fault, Finding};
pub use line::{Line, read_line, strictly};
pub use links::{Findings, Link, Linked, Links, Machine, Place};
pub use report::Reporter;
pub use verify::{Begins, Depth, Verified, Verifier};
