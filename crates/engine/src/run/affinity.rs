//! Restricts workers and the whole program to CPUs.

use crate::system;
use halfpower_model::Workload;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use std::io;

/// Pins the calling thread to its CPU of the workload, if CPUs are given.
pub(super) fn pin(workload: &Workload, index: u32) -> io::Result<()> {
    let Some(cpu) = workload.cpus.get(index as usize % workload.cpus.len().max(1)) else { return Ok(()) };
    if *cpu as usize >= CpuSet::MAX_CPU {
        return Err(io::Error::other(format!("there is no CPU {cpu}; use a smaller number in --cpus")));
    }
    system::pin(*cpu).map_err(|error| {
        io::Error::other(format!("cannot pin a worker to CPU {cpu} ({error}); use one of this host's in --cpus"))
    })
}

/// Restricts the calling thread, and threads that it starts, to its first CPUs until dropped.
pub(super) struct Restricted {
    before: Option<CpuSet>,
}

impl Restricted {
    /// Restricts to this many CPUs, if a number is given.
    ///
    /// # Errors
    /// If there are fewer CPUs, or the kernel rejects it.
    pub(super) fn to(cpus: Option<u32>) -> io::Result<Restricted> {
        let Some(cpus) = cpus else { return Ok(Restricted { before: None }) };
        let before = sched_getaffinity(None)?;
        if before.count() < cpus {
            let there = before.count();
            return Err(io::Error::other(format!("there are {there} CPUs; use at most as many with --cpu-count")));
        }
        let mut set = CpuSet::new();
        let allowed = (0..CpuSet::MAX_CPU).filter(|cpu| before.is_set(*cpu));
        allowed.take(cpus as usize).for_each(|cpu| set.set(cpu));
        sched_setaffinity(None, &set)?;
        Ok(Restricted { before: Some(before) })
    }
}

impl Drop for Restricted {
    fn drop(&mut self) {
        if let Some(before) = &self.before {
            // The CPUs before are still allowed, unless the process lost one meanwhile.
            let _ = sched_setaffinity(None, before);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_restriction_to_one_cpu_ends_with_its_value() {
        let before = sched_getaffinity(None).unwrap();
        let restricted = Restricted::to(Some(1)).unwrap();
        assert_eq!(sched_getaffinity(None).unwrap().count(), 1);
        drop(restricted);
        assert_eq!(sched_getaffinity(None).unwrap(), before);
        assert!(Restricted::to(Some(100_000)).is_err());
    }
}
