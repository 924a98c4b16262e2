//! Halfpower measures the performance of storage, its cost in CPU time, and its bottleneck.

mod cli;
mod command;
mod console;
mod emit;
mod fio;
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
mod trace;

use std::process::ExitCode;
use std::thread;

/// Stack size of the main thread in bytes.
const STACK: usize = 8 << 20;

fn main() -> ExitCode {
    // A worker of `--processes` is started as this program.
    let work = || if halfpower_engine::worker_process() { ExitCode::SUCCESS } else { cli::main() };
    // `ulimit -s` limits the stack of the first thread and may be too small.
    match thread::Builder::new().name("main".to_owned()).stack_size(STACK).spawn(work) {
        Ok(work) => work.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
        Err(_) => work(),
    }
}
