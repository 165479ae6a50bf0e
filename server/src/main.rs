//! The program. Everything is in the library, where tests reach it.

use std::process::ExitCode;

fn main() -> ExitCode {
    baton::cli::main()
}
