//! Halfpower: a laboratory for storage I/O.

mod cli;
mod plan;
mod report;
mod runner;
mod store;
mod study;
mod survey;

fn main() {}
