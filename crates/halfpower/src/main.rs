//! Halfpower: a laboratory for storage I/O. Measures what a storage system really delivers to a program, what that
//! costs, and what holds it back.

mod cli;
mod ground;
mod harmless;
mod input;
mod interchange;
mod output;
mod plan;
mod report;
mod runner;
mod store;
mod study;
mod validate;

use std::process::ExitCode;

fn main() -> ExitCode {
    cli::main()
}
