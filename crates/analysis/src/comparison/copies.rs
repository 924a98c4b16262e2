//! Detects the same measurement stored twice, such as a file imported again, which would narrow intervals.

use halfpower_model::Sample;

/// Whether two runs hold the same samples, ignoring notes, warnings and origins. Every sample must match at its place, because a
/// single rounded figure may repeat.
pub fn are_copies(one: &[&Sample], other: &[&Sample]) -> bool {
    are_equal(one, other) && one.iter().zip(other).all(|(one, other)| one.workload == other.workload)
}

/// The same for samples of workloads known to be equal.
pub(super) fn are_equal(one: &[&Sample], other: &[&Sample]) -> bool {
    let is_same = |(one, other): (&&Sample, &&Sample)| {
        (one.started_at, one.elapsed_s, one.flush_s) == (other.started_at, other.elapsed_s, other.flush_s)
            && (&one.total, &one.read, &one.write) == (&other.total, &other.read, &other.write)
            && (one.workload.seed, &one.cpu) == (other.workload.seed, &other.cpu)
            && one.latency_histogram == other.latency_histogram
    };
    !one.is_empty() && one.len() == other.len() && one.iter().zip(other).all(is_same)
}

/// Whether all are simulated: equal samples are no copies there.
pub fn are_simulated(samples: &[&Sample]) -> bool {
    samples.iter().all(|sample| sample.environment.target.kind.is_time_virtual())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::{Run, around, read};

    #[test]
    fn a_run_is_distinguished_from_its_copy_and_from_its_like() {
        let run = Run::of([(read(4), around(1e9))]);
        let samples: Vec<Sample> = run.observed().iter().map(|observed| observed.sample.clone()).collect();
        let all: Vec<&Sample> = samples.iter().collect();
        let mut noted = samples.clone();
        noted[0].note = Some("imported again".to_owned());
        assert!(are_copies(&all, &noted.iter().collect::<Vec<_>>()));
        assert!(!are_copies(&all, &all[1..]), "a part of it");
        assert!(!are_copies(&[], &[]), "nothing was measured");
        let mut other = samples.clone();
        other.last_mut().unwrap().elapsed_s += 1e-9;
        assert!(!are_copies(&all, &other.iter().collect::<Vec<_>>()));
    }
}
