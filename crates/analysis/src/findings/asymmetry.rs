//! Reads and writes of which one reaches less than half of the throughput of the other.
//!
//! Direct requests only: above the device both take the same path, so the cause is at the device or below. The ratio is paired by
//! block (geometric mean, t interval of the logarithms) and counts if its interval is wholly beyond a factor of two, adjusted
//! over all sizes and depths (Benjamini and Hochberg). The most distant pair is named, which overstates it slightly.

use super::frame::{extent, found};
use crate::cells::Cell;
use crate::evidence::Evidence;
use crate::series::Series;
use crate::statistics::{Contrast, Margin, Verdict, verdicts};
use crate::wording::{place, sentence};
use halfpower_model::{Estimate, Finding, FindingCode, Operation, Quantity, Workload};

/// A ratio within a factor of 1 + this is not far apart.
const MARGIN: f64 = 1.0;

/// Reads and writes of one size and depth.
struct Pair<'a> {
    read: &'a Cell<'a>,
    write: &'a Cell<'a>,
    contrast: Contrast,
}

pub(super) fn find(evidence: &Evidence<'_>) -> Vec<Finding> {
    let is_read = |cell: &Cell<'_>| cell.workload.operation == Operation::Read && cell.workload.buffering.is_direct();
    let groups = evidence.by_load(1, is_read);
    let pairs: Vec<Vec<Pair<'_>>> = groups.iter().map(|group| pairs(evidence, group)).collect();
    let contrasts: Vec<Contrast> = pairs.iter().flatten().map(|pair| pair.contrast).collect();
    let mut verdicts = verdicts(&contrasts).into_iter();
    let mut is_far = |_: &&Pair<'_>| matches!(verdicts.next(), Some(Verdict::Higher | Verdict::Lower));
    let far: Vec<Vec<&Pair<'_>>> = pairs.iter().map(|pairs| pairs.iter().filter(&mut is_far).collect()).collect();
    groups.iter().zip(&far).zip(&pairs).filter_map(|((group, far), pairs)| finding(group, far, pairs.len())).collect()
}

/// Each read cell with its write counterpart.
fn pairs<'a>(evidence: &Evidence<'a>, group: &Series<'a>) -> Vec<Pair<'a>> {
    let pair = |read: &&'a Cell<'a>| {
        let write = evidence.cell_of(&Workload { operation: Operation::Write, ..read.workload.clone() })?;
        let contrast = Contrast::paired(&read.paired_with(write), Margin::new(MARGIN)?)?;
        Some(Pair { read, write, contrast })
    };
    group.cells.iter().filter_map(pair).collect()
}

fn finding(group: &Series<'_>, far: &[&Pair<'_>], looked_at: usize) -> Option<Finding> {
    let apart = |pair: &Pair<'_>| pair.contrast.ratio.value.ln().abs();
    let furthest = |slow: Option<&str>| {
        let pairs = far.iter().filter(|pair| slow.is_none_or(|slow| pair.slower().0 == slow));
        pairs.max_by(|one, other| apart(one).total_cmp(&apart(other))).map(|pair| pair.slower())
    };
    let (slow, fast, share, place) = furthest(None)?;
    let opposite = furthest(Some(fast));
    let rest = match &opposite {
        None => extent(far.len(), looked_at),
        Some((slow, fast, share, place)) => format!("; {slow} reach {share} of the throughput of {fast} ({place})"),
    };
    let (pattern, how) = (group.workload().pattern, &group.circumstances);
    let claim = format!("{pattern} {slow} ({how}) reach {share} of the throughput of {fast} ({place}){rest}");
    let subject = group.subject.replacen("read", "reads against writes", 1);
    let brief = format!("{slow} at {share} of {fast} ({place})");
    let cells = far.iter().flat_map(|pair| [pair.read, pair.write]);
    let estimates = [share].into_iter().chain(opposite.map(|other| other.2)).collect();
    Some(found(FindingCode::Asymmetry, subject, cells, [brief, sentence(&claim)], estimates))
}

impl Pair<'_> {
    /// The slower, the faster, the share of the throughput that the slower reaches, and where.
    fn slower(&self) -> (&'static str, &'static str, Estimate, String) {
        let (ratio, place) = (self.contrast.ratio, place(self.read.workload));
        match ratio.value > 1.0 {
            true => ("writes", "reads", turned(ratio), place),
            false => ("reads", "writes", ratio, place),
        }
    }
}

/// The reciprocal ratio.
fn turned(ratio: Estimate) -> Estimate {
    let over = |end: f64| 1.0 / end;
    let (low, high) = (ratio.high.map(over), ratio.low.map(over));
    Estimate { quantity: Quantity::Ratio, value: over(ratio.value), low, high, ..ratio }
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
        let words = "Random writes (direct) reach 17.7 % [17.7 to 17.7] of the throughput of reads (4 KiB, QD32); the same at 2 of 3 measured sizes and queue depths.";
        assert_eq!(findings[0].sentence, words);
        assert_eq!(findings[0].subject, "random reads against writes, direct");
        assert_eq!((findings[0].samples.len(), findings[0].estimates[0].repetitions), (20, 5));
    }

    #[test]
    fn what_is_the_other_way_round_elsewhere_is_reported() {
        let mut run = Run::default();
        for (kib, reads, writes) in [(4, 20e6, 100e6), (64, 300e6, 100e6)] {
            run.add(read(kib), &around(reads));
            run.add(write(kib), &around(writes));
        }
        let findings = run.findings(FindingCode::Asymmetry);
        let words = "Sequential reads (direct) reach 20 % [20 to 20] of the throughput of writes (4 KiB, QD1); writes reach 33.3 % [33.3 to 33.3] of the throughput of reads (64 KiB, QD1).";
        assert_eq!(findings[0].sentence, words);
        assert_eq!(findings[0].estimates.len(), 2);
        let alone = Run::of([(random(read(4)), around(20e6)), (random(write(4)), around(100e6))]);
        assert_eq!(
            alone.sentences(FindingCode::Asymmetry),
            ["Random reads (direct) reach 20 % [20 to 20] of the throughput of writes (4 KiB, QD1)."]
        );
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
