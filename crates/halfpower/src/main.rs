//! Halfpower: a laboratory for storage I/O. Measures what a storage system really delivers to a program, what that
//! costs, and what holds it back.

mod cli;
mod command;
mod console;
mod emit;
#[cfg(test)]
mod fixtures;
mod input;
mod instrument;
mod interchange;
mod output;
mod plan;
mod reading;
mod report;
mod runner;
mod sanitize;
mod simulator;
mod store;
mod study;
mod target;
mod target_name;
mod text;

use std::process::ExitCode;
use std::thread;

/// Of the thread that does the work, in bytes.
const STACK: usize = 8 << 20;

fn main() -> ExitCode {
    // A worker of `--processes` is this program too.
    let work = || if halfpower_engine::worker_process() { ExitCode::SUCCESS } else { cli::main() };
    // The stack of the first thread is as large as `ulimit -s` says, which may be too little for anything.
    match thread::Builder::new().name("main".to_owned()).stack_size(STACK).spawn(work) {
        Ok(work) => work.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
        Err(_) => work(),
    }
}
