//! Reads and writes of which one reaches less than half of the throughput of the other.
//!
//! Direct requests only: above the device both take the same path, so the cause is at the device or below. The ratio is paired by
//! block (geometric mean, t interval of the logarithms) and counts if its interval is wholly beyond a factor of two, adjusted
//! over all sizes and depths (Benjamini and Hochberg). The most distant pair is named, which overstates it slightly.

use super::load::{Loaded, by_load, extent, place};
use crate::cells::Cell;
use crate::comparable::{Axis, are_comparable};
use crate::evidence::Evidence;
use crate::statistics::{Contrast, Margin, Verdict, verdicts};
use crate::wording::{caching, sentence};
use halfpower_model::{Estimate, Finding, FindingCode, Operation, Quantity, Reach};

/// A ratio within a factor of 1 + this is not far apart.
const MARGIN: f64 = 1.0;

/// Reads and writes of one size and depth.
struct Pair<'a> {
    read: &'a Cell<'a>,
    write: &'a Cell<'a>,
    contrast: Contrast,
}

pub(super) fn find(evidence: &Evidence<'_>) -> Vec<Finding> {
    let is_read = |cell: &&&Cell<'_>| cell.workload.operation == Operation::Read && cell.workload.buffering.is_direct();
    let groups = by_load(evidence.cells.iter().filter(is_read).copied(), 1);
    let pairs: Vec<Vec<Pair<'_>>> = groups.iter().map(|group| pairs(evidence, group)).collect();
    let contrasts: Vec<Contrast> = pairs.iter().flatten().map(|pair| pair.contrast).collect();
    let mut verdicts = verdicts(&contrasts).into_iter();
    let found = groups.iter().zip(&pairs).filter_map(|(group, pairs)| {
        let far: Vec<&Pair<'_>> = pairs
            .iter()
            .zip(verdicts.by_ref())
            .filter(|(_, verdict)| matches!(verdict, Verdict::Higher | Verdict::Lower))
            .map(|(pair, _)| pair)
            .collect();
        finding(group, &far, pairs.len())
    });
    found.collect()
}

/// Each read cell with its write counterpart.
fn pairs<'a>(evidence: &Evidence<'a>, group: &Loaded<'a>) -> Vec<Pair<'a>> {
    let pair = |read: &&'a Cell<'a>| {
        let is_its_write = |cell: &&&Cell<'_>| {
            cell.workload.operation == Operation::Write
                && are_comparable(cell.workload, read.workload, &[Axis::Operation])
        };
        let write = *evidence.cells.iter().find(is_its_write)?;
        let contrast = Contrast::paired(&read.paired_with(write), Margin::new(MARGIN)?)?;
        Some(Pair { read, write, contrast })
    };
    group.cells.iter().filter_map(pair).collect()
}

fn finding(group: &Loaded<'_>, far: &[&Pair<'_>], looked_at: usize) -> Option<Finding> {
    let apart = |pair: &Pair<'_>| pair.contrast.ratio.value.ln().abs();
    let furthest = |pairs: &mut dyn Iterator<Item = &&Pair<'_>>| {
        pairs.max_by(|one, other| apart(one).total_cmp(&apart(other))).map(Slower::of)
    };
    let most = furthest(&mut far.iter())?;
    let opposite = furthest(&mut far.iter().filter(|pair| Slower::of(pair).slow != most.slow));
    let rest = match &opposite {
        None => extent(far.len(), looked_at),
        Some(other) => {
            format!("; {} reach {} of the throughput of {} ({})", other.slow, other.share, other.fast, other.place)
        }
    };
    let workload = group.cells[0].workload;
    let Slower { slow, fast, share, place } = most;
    let circumstances = format!("{}{}", caching(workload), group.distinction);
    let claim = format!(
        "{} {slow} ({circumstances}) reach {share} of the throughput of {fast} ({place}){rest}",
        workload.pattern
    );
    Some(Finding {
        code: FindingCode::Asymmetry,
        subject: group.subject.replacen("read", "reads against writes", 1),
        reach: Reach::Storage,
        brief: format!("{slow} at {share} of {fast} ({place})"),
        sentence: sentence(&claim),
        estimates: [Some(share), opposite.map(|other| other.share)].into_iter().flatten().collect(),
        samples: far.iter().flat_map(|pair| [pair.read.samples(), pair.write.samples()].concat()).collect(),
    })
}

/// The slower of a pair.
struct Slower {
    slow: &'static str,
    fast: &'static str,
    /// Its share of the other's throughput.
    share: Estimate,
    place: String,
}

impl Slower {
    fn of(pair: &&Pair<'_>) -> Slower {
        let ratio = pair.contrast.ratio;
        let place = place(pair.read.workload);
        match ratio.value > 1.0 {
            true => Slower { slow: "writes", fast: "reads", share: turned(ratio), place },
            false => Slower { slow: "reads", fast: "writes", share: ratio, place },
        }
    }
}

/// The reciprocal ratio.
fn turned(ratio: Estimate) -> Estimate {
    Estimate {
        quantity: Quantity::Ratio,
        value: 1.0 / ratio.value,
        low: ratio.high.map(|high| 1.0 / high),
        high: ratio.low.map(|low| 1.0 / low),
        ..ratio
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::{Run, around, buffered, deep, random, read, write};

    #[test]
    fn reads_four_times_as_fast_are_far_apart() {
        let mut run = Run::default();
        for (depth, writes) in [(1, 80e6), (8, 100e6), (32, 100e6)] {
            run.add(deep(depth, random(read(4))), &around(100e6 * f64::from(depth).sqrt()));
            run.add(deep(depth, random(write(4))), &around(writes));
        }
        let findings = run.findings(FindingCode::Asymmetry);
        assert_eq!(findings.len(), 1);
        assert_eq!(
            findings[0].sentence,
            "Random writes (direct) reach 17.7 % [17.7 to 17.7] of the throughput of reads (4 KiB, QD32); the same at 2 of 3 measured sizes and queue depths."
        );
        assert_eq!(findings[0].subject, "random reads against writes, direct");
        assert_eq!((findings[0].samples.len(), findings[0].estimates[0].repetitions), (20, 5));
    }

    #[test]
    fn slow_reads_are_told_as_well() {
        let mut run = Run::default();
        run.add(random(read(4)), &around(20e6));
        run.add(random(write(4)), &around(100e6));
        assert_eq!(
            run.findings(FindingCode::Asymmetry)[0].sentence,
            "Random reads (direct) reach 20 % [20 to 20] of the throughput of writes (4 KiB, QD1)."
        );
    }

    #[test]
    fn what_is_the_other_way_round_elsewhere_is_told() {
        let mut run = Run::default();
        for (kib, reads, writes) in [(4, 20e6, 100e6), (64, 300e6, 100e6)] {
            run.add(read(kib), &around(reads));
            run.add(write(kib), &around(writes));
        }
        let findings = run.findings(FindingCode::Asymmetry);
        assert_eq!(
            findings[0].sentence,
            "Sequential reads (direct) reach 20 % [20 to 20] of the throughput of writes (4 KiB, QD1); writes reach 33.3 % [33.3 to 33.3] of the throughput of reads (64 KiB, QD1)."
        );
        assert_eq!(findings[0].estimates.len(), 2);
    }

    #[test]
    fn half_as_fast_or_through_the_cache_or_once_is_not() {
        let mut run = Run::default();
        run.add(read(64), &around(2.0e9));
        run.add(write(64), &around(1.1e9));
        run.add(buffered(read(64)), &around(9e9));
        run.add(buffered(write(64)), &around(1e9));
        run.add(random(read(4)), &[9e6]);
        run.add(random(write(4)), &[1e6]);
        run.add(deep(8, read(64)), &around(9e9));
        assert_eq!(run.findings(FindingCode::Asymmetry), []);
    }
}
