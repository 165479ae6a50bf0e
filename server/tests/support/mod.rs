//! What tests of several modules share. The library's own tests include this
//! folder too, so that each helper exists once.

// Every test program uses some of it.
#![allow(dead_code)]

pub mod postgres;
