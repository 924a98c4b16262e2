//! Whether targets share a limit: their throughput together against the sum of each alone.
//!
//! Paired by block (geometric mean, t interval of the logarithms). Source: Riedel, van Ingen and Gray (1997), who added disks to
//! a bus until the sum stopped growing.

use super::frame::found;
use crate::cells::Cell;
use crate::comparable::{Axis, groups};
use crate::evidence::{Evidence, of_targets};
use crate::models::Models;
use crate::statistics::{mean_estimate, paired_ratio};
use crate::wording::{requests, sentence};
use halfpower_model::{BytesPerSecond, Estimate, Finding, FindingCode, Quantity};

/// Share of the sum from which on they share no limit.
const FREE: f64 = 0.95;

/// Several targets with one workload, alone and together.
#[derive(Debug)]
pub(crate) struct Together<'a> {
    /// All of them.
    pub(crate) cell: &'a Cell<'a>,
    /// Each alone.
    alone: Vec<&'a Cell<'a>>,
    /// Throughput together, over complete blocks.
    pub(crate) total: Estimate,
    /// Sum of each alone.
    pub(crate) sum: Estimate,
    share: Estimate,
}

/// The verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Holding {
    /// A shared resource limits them.
    Held,
    /// They share no limit.
    Free,
    /// The intervals are too wide.
    Undecided,
}

/// Every workload measured with each target alone and together.
pub(crate) fn all_together<'a>(evidence: &Evidence<'a>) -> Vec<Together<'a>> {
    groups(evidence.cells.iter().copied(), &[Axis::Targets]).iter().filter_map(|group| together(group)).collect()
}

pub(super) fn find(evidence: &Evidence<'_>, models: &Models) -> Vec<Finding> {
    all_together(evidence).iter().map(|together| finding(together, models)).collect()
}

/// The most targets measured together, if each was measured alone.
fn together<'a>(group: &[&'a Cell<'a>]) -> Option<Together<'a>> {
    let (alone, several) = of_targets(group)?;
    let cell = *several.last()?;
    let blocks = cell.repetitions.iter().filter_map(|all| {
        let rates = alone.iter().map(|cell| cell.repetitions.iter().find(|one| one.block == all.block));
        let rates: Option<Vec<f64>> = rates.map(|one| Some(one?.sample.total.bytes_per_s.0)).collect();
        Some((all.sample.total.bytes_per_s.0, rates?.iter().sum()))
    });
    let blocks: Vec<(f64, f64)> = blocks.collect();
    let (totals, sums): (Vec<f64>, Vec<f64>) = blocks.iter().copied().unzip();
    Some(Together {
        cell,
        alone,
        total: mean_estimate(Quantity::BytesPerSecond, &totals)?,
        sum: mean_estimate(Quantity::BytesPerSecond, &sums)?,
        share: paired_ratio(&blocks)?,
    })
}

impl Together<'_> {
    /// Whether they share a limit.
    pub(crate) fn holding(&self) -> Holding {
        match (self.share.low, self.share.high) {
            (_, Some(high)) if high < FREE => Holding::Held,
            (Some(low), _) if low >= FREE => Holding::Free,
            _ => Holding::Undecided,
        }
    }

    /// Together, as a share of the sum.
    pub(crate) fn share(&self) -> f64 {
        self.share.value
    }

    /// All that were used.
    pub(crate) fn cells(&self) -> impl Iterator<Item = &Cell<'_>> {
        self.alone.iter().copied().chain([self.cell])
    }
}

fn finding(together: &Together<'_>, models: &Models) -> Finding {
    let workload = together.cell.workload;
    let count = workload.targets;
    let [sum_text, total_text] = [together.sum, together.total].map(|rate| BytesPerSecond(rate.value).to_string());
    let verdict = match together.holding() {
        Holding::Held => format!("a shared resource limits them to {total_text}"),
        Holding::Free => "they share no limit".to_owned(),
        Holding::Undecided => "undecided whether they share a limit".to_owned(),
    };
    let (share, size, requests) = (together.share, workload.request_size, requests(workload.operation));
    let (pattern, operation) = (workload.pattern, workload.operation);
    let claim = format!(
        "{count} targets together deliver {total_text} ({pattern} {size} {requests}), {share} of the {sum_text} sum of each \
         alone: {verdict}"
    );
    let bare = |rate: Estimate| Estimate { low: None, high: None, ..rate };
    let model = models.scaling.iter().find(|model| model.cells.contains(&together.cell.number));
    let fitted = model.map(|model| format!(" {}", model.sentence())).unwrap_or_default();
    let brief = format!("{total_text} together, {sum_text} as the sum of each alone: {verdict}");
    let subject = format!("{pattern} {operation}, {size}, {count} targets");
    let estimates = vec![share, bare(together.total), bare(together.sum)];
    found(FindingCode::SharedLimit, subject, together.cells(), [brief, sentence(&claim) + &fitted], estimates)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::{Run, around, deep, random, read};
    use halfpower_model::{Among, Workload};

    fn among(among: Among, targets: u32) -> Workload {
        Workload { among, targets, workers: targets, ..deep(8, read(1024)) }
    }

    /// The findings of several targets with these rates alone and together.
    fn limits(each: f64, together: &[f64]) -> Vec<Finding> {
        let mut run = Run::default();
        let count = together.len() as u32 + 1;
        for number in 1..=count {
            run.add(among(Among::Only(number), 1), &around(each));
        }
        for (rate, targets) in together.iter().zip(2..) {
            let which = if targets == count { Among::All } else { Among::First(targets) };
            run.add(among(which, targets), &around(*rate));
        }
        // Nothing of theirs.
        run.add(random(read(4)), &around(1e6));
        run.findings(FindingCode::SharedLimit)
    }

    #[test]
    fn a_bus_shows_as_a_sum_that_stops_growing() {
        let findings = limits(24e6, &[48e6, 60e6, 60e6]);
        assert_eq!(findings.len(), 1);
        let words = "4 targets together deliver 60 MB/s (sequential 1 MiB reads), 62.5 % [62.5 to 62.5] of the 96 MB/s sum of each alone: a shared resource limits them to 60 MB/s. Fitted model: each target delivers 24.3 MB/s ± 1.2 %, with a shared limit of 61 MB/s ± 1.4 % (1.07 % off on average).";
        assert_eq!(findings[0].sentence, words);
        assert!((findings[0].estimates[0].value - 0.625).abs() < 1e-9);
    }

    #[test]
    fn targets_that_share_nothing_add_up() {
        let findings = limits(24e6, &[48e6]);
        assert!(findings[0].brief.ends_with("they share no limit"), "{findings:?}");
    }

    #[test]
    fn without_each_of_them_alone_nothing_is_said() {
        let run = Run::of([(among(Among::Only(1), 1), around(1e6)), (among(Among::All, 2), around(1e6))]);
        let findings = crate::analyse(&run.observed()).findings;
        assert!(findings.iter().all(|finding| finding.code != FindingCode::SharedLimit));
    }
}
