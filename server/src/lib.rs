//! The `baton` program: rules, store, HTTP and command line.
//!
//! ARCHITECTURE.md is the map. Dependencies point one way: `cli` → `http` →
//! `store` → `rules`, and `rules` knows nothing of any of them.

pub mod cli;
pub mod http;

pub mod store;

pub mod export;

pub mod access_log;
pub mod people;

pub mod audit;
pub mod chain;
pub mod checkpoint;
pub mod rules;

pub mod database;
pub mod metrics;
mod safe;

#[cfg(test)]
#[path = "../tests/support/mod.rs"]
mod support;
#[cfg(test)]
#[path = "../tests/support/postgres_test.rs"]
mod support_postgres_test;
