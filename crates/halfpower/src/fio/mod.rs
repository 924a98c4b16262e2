//! Runs fio's job files: reads them, translates each job into workloads, and runs them.

pub(crate) mod job;
pub(crate) mod job_file;
pub(crate) mod run;
mod sizes;
pub(crate) mod study;
pub(crate) mod table;
#[cfg(test)]
mod tests;
pub(crate) mod units;
mod workload;
