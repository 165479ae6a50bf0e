//! The program. Everything is in the library, where tests reach it.

use std::process::ExitCode;

/// A renewal is a few dozen small pieces of memory, made in one thread and freed
/// in another, which the system's allocator is slow at.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    baton::cli::main()
}
