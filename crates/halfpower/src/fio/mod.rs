//! Runs fio's job files: reads them, translates each job into workloads, and runs them.

use halfpower_model::sample::Warning;

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

/// Says of samples that each is of one of several jobs that ran at the same time.
pub(crate) fn ran_together(jobs: usize) -> Warning {
    let message = format!("{jobs} jobs ran at the same time; each sample is of one of them");
    Warning::new("ran_together", message, "add them up, or measure one at a time")
}
