//! Warns of requests without effect: repeated trims, and flushes without writes between them.
//!
//! Repeated trims are found by generating the workers' requests again from the seed and their numbers. The workers alternate here,
//! unlike in the run, which changes the share little. Only the first requests are counted; later ones repeat more, so the share
//! is a lower bound.

use halfpower_model::sample::Warning;
use halfpower_model::stream::{Request, RequestStream};
use halfpower_model::{Operation, RequestKind, Sample, Sharing, TargetKind, Workload};
use std::sync::atomic::AtomicU64;

/// Share of requests without effect above which figures mislead.
const MAX_SHARE: f64 = 0.05;
/// Maximum of units in the map of trimmed units, one bit each: 32 MiB.
const UNITS_MAX: u64 = 1 << 28;
/// Maximum of units counted: about 0.1 s.
const STEPS_MAX: u64 = 1 << 25;
/// Requests of a worker before the next worker's.
const BATCH: usize = 128;

/// Warnings of trims and flushes without effect.
pub(super) fn warnings(sample: &Sample, hole_share: f64) -> Vec<Warning> {
    let workload = &sample.workload;
    let mut warnings = Vec::new();
    if sample.environment.target.kind == TargetKind::Null {
        return warnings;
    }
    let trims = workload.operation.has(RequestKind::Trim);
    if trims && !workload.operation.writes() && hole_share > 0.01 {
        warnings.push(Warning::new(
            "sparse_target",
            format!("{:.0} % of the span was unallocated, so trims of it did nothing", hole_share * 100.0),
            "write the whole file once before the run",
        ));
    }
    let submitted: Vec<u64> = sample.workers.iter().map(|worker| worker.submitted).collect();
    let again = if trims { trimmed_again(workload, &submitted) } else { 0.0 };
    if again > MAX_SHARE {
        warnings.push(Warning::new(
            "trims_repeat",
            format!(
                "at least {:.0} % of the trims repeated earlier ones and did nothing",
                again * 100.0
            ),
            "trim each place once: --pattern sequential or shuffled, and --bytes up to the size; or mix trims with writes",
        ));
    }
    // The order of a trace is its own.
    let idle = if workload.trace.is_some() { 0.0 } else { idle_flushes(workload.operation) };
    if idle > MAX_SHARE {
        let message = if idle < 1.0 {
            format!("{:.0} % of the flushes followed another flush with no write between", idle * 100.0)
        } else {
            "nothing was written between the flushes, so this is the cost of an empty flush".to_owned()
        };
        let remedy = "to measure fsync after writes, use --op write with --durability fsync=N or fdatasync=N";
        warnings.push(Warning::new("nothing_to_flush", message, remedy));
    }
    warnings
}

/// Share of the flushes that follow another without a change between: kinds are independent, so it is the probability that the
/// last flush or change before was a flush.
fn idle_flushes(operation: Operation) -> f64 {
    let percent = |kind| f64::from(operation.percent(kind));
    let flushes = percent(RequestKind::Flush);
    let changes = percent(RequestKind::Write) + percent(RequestKind::Trim);
    if flushes > 0.0 { flushes / (flushes + changes) } else { 0.0 }
}

/// Share of the trimmed units, including the warm-up, that had been trimmed before and not written since; 0 if the span has too
/// many units.
fn trimmed_again(workload: &Workload, submitted: &[u64]) -> f64 {
    let unit = workload.grain().0;
    let units = workload.span.0.div_ceil(unit);
    let volumes = workload.volumes();
    if units * volumes > UNITS_MAX {
        return 0.0;
    }
    let mut trimmed = vec![0_u64; (units * volumes).div_ceil(64) as usize];
    let cursors: Vec<_> = (0..volumes).map(|_| AtomicU64::new(0)).collect();
    let worker = |(index, left): (u32, &u64)| {
        let volume = workload.volume_of(index);
        let cursor = (workload.sharing == Sharing::Cursor).then(|| &cursors[volume]);
        (RequestStream::new(workload, index, cursor), volume as u64 * units, *left)
    };
    let mut workers: Vec<_> = (0..).zip(submitted).map(worker).collect();
    let mut batch = [Request::default(); BATCH];
    let (mut all, mut again, mut steps) = (0_u64, 0_u64, 0_u64);
    while steps < STEPS_MAX && workers.iter().any(|(_, _, left)| *left > 0) {
        for (stream, first, left) in &mut workers {
            let turn = &mut batch[..BATCH.min(*left as usize)];
            *left -= turn.len() as u64;
            stream.fill(turn);
            for request in turn {
                let end = (request.offset + u64::from(request.length)).div_ceil(unit);
                steps += 1;
                for place in request.offset / unit..end {
                    let (word, bit) = (&mut trimmed[((*first + place) / 64) as usize], 1 << ((*first + place) % 64));
                    steps += 1;
                    match request.kind {
                        RequestKind::Trim => {
                            (all, again) = (all + 1, again + u64::from(*word & bit != 0));
                            *word |= bit;
                        }
                        RequestKind::Write => *word &= !bit,
                        RequestKind::Read | RequestKind::Flush => {}
                    }
                }
            }
        }
    }
    if all == 0 { 0.0 } else { again as f64 / all as f64 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use halfpower_model::{Bytes, Layout, Pattern};

    /// Trims of a hundred places.
    fn trims(pattern: Pattern) -> Workload {
        Workload {
            operation: Operation::Trim,
            pattern,
            request_size: Bytes(64 << 10),
            span: Bytes(100 * (64 << 10)),
            ..Workload::default()
        }
    }

    #[test]
    fn each_place_once_is_no_repeat_and_twice_is_half() {
        for pattern in [Pattern::Sequential, Pattern::Reverse, Pattern::Shuffled] {
            assert_eq!(trimmed_again(&trims(pattern), &[100]), 0.0, "{pattern}");
            assert_eq!(trimmed_again(&trims(pattern), &[200]), 0.5, "{pattern}");
            let four = Workload { workers: 4, ..trims(pattern) };
            assert_eq!(trimmed_again(&four, &[25; 4]), 0.0, "{pattern}");
            assert_eq!(trimmed_again(&four, &[50; 4]), 0.5, "{pattern}");
        }
        let whole = Workload { workers: 2, sharing: Sharing::Whole, ..trims(Pattern::Sequential) };
        assert_eq!(trimmed_again(&whole, &[100; 2]), 0.5, "each goes through the whole");
        let cursor = Workload { sharing: Sharing::Cursor, ..whole };
        assert_eq!(trimmed_again(&cursor, &[70, 30]), 0.0);
    }

    #[test]
    fn targets_of_their_own_are_reported_apart() {
        let own = Workload { workers: 2, targets: 2, layout: Layout::Each, ..trims(Pattern::Sequential) };
        assert_eq!(trimmed_again(&own, &[100; 2]), 0.0);
    }

    #[test]
    fn uniform_places_repeat_by_the_law_of_chance() {
        // k draws of n places reach n (1 - (1 - 1/n)^k) of them; for k = n that is 1 - 1/e, and 1/e are repeats.
        let many = Workload { request_size: Bytes(4096), span: Bytes(100_000 * 4096), ..trims(Pattern::Random) };
        let again = trimmed_again(&many, &[100_000]);
        assert!((again - (-1.0_f64).exp()).abs() < 0.01, "{again}");
    }

    #[test]
    fn overlapping_trims_count_by_what_they_share() {
        // Places every 4 KiB: the hundred trims of 64 KiB lie mostly on one another.
        let dense = Workload { align: Some(Bytes(4096)), span: Bytes(128 << 10), ..trims(Pattern::Shuffled) };
        assert_eq!(dense.places(), 17);
        let again = trimmed_again(&dense, &[17]);
        assert!((again - (1.0 - 32.0 / (17.0 * 16.0))).abs() < 1e-12, "{again}");
    }

    #[test]
    fn a_write_between_makes_a_trim_new() {
        let mix = |text: &str| Workload { operation: text.parse().unwrap(), ..trims(Pattern::Random) };
        let mostly_written = trimmed_again(&mix("mix=write:95,trim:5"), &[100_000]);
        let mostly_trimmed = trimmed_again(&mix("mix=read:40,trim:60"), &[100_000]);
        // The last request at a place was a trim in one of twenty, or always.
        assert!((mostly_written - 0.05).abs() < 0.01 && mostly_trimmed > 0.99, "{mostly_written} {mostly_trimmed}");
    }

    #[test]
    fn flushes_without_changes_between_are_idle() {
        let share = |text: &str| idle_flushes(text.parse().unwrap());
        assert_eq!((share("flush"), share("mix=read:50,flush:50"), share("write")), (1.0, 1.0, 0.0));
        assert_eq!((share("mix=write:50,flush:50"), share("mix=read:5,write:76,flush:19")), (0.5, 0.2));
        assert_eq!(share("mix=trim:90,flush:10"), 0.1, "a trim is a change too");
    }
}
