//! The bottleneck of the best of all cells that differ in size, depth and workers only.
//!
//! Each repetition is judged by itself ([`attribution`](crate::attribution)), with figures of neighbouring cells: whether a deeper
//! queue is faster, and whether targets share a limit. A bottleneck needs the agreement of four repetitions of five.

use super::frame::found;
use super::neighbours;
use crate::attribution::{Attribution, Neighbours, Owner, attribute_with};
use crate::cells::Cell;
use crate::evidence::{Evidence, best};
use crate::series::Series;
use crate::wording::{memory_note, named, place, sentence};
use halfpower_model::{Estimate, Finding, FindingCode, Sample};
use std::collections::BTreeMap;

/// Share of the repetitions that must agree.
const AGREEING: f64 = 0.8;

/// The bottleneck of each cell, by its number.
#[derive(Debug, Default)]
pub(crate) struct Paces(BTreeMap<u32, Attribution>);

impl Paces {
    /// Of one cell.
    pub(crate) fn get(&self, cell: &Cell<'_>) -> Option<&Attribution> {
        self.0.get(&cell.number)
    }
}

/// The bottleneck of each cell, if its samples show it.
pub(crate) fn paces(evidence: &Evidence<'_>) -> Paces {
    let neighbours = neighbours::of_cells(evidence);
    let of = |cell: &&Cell<'_>| {
        let neighbours = neighbours.get(&cell.number).copied().unwrap_or_default();
        Some((cell.number, of_cell(cell, neighbours)?))
    };
    Paces(evidence.cells.iter().filter_map(of).collect())
}

/// What the repetitions agree on, worded by the median one, or by the mean load of reported parts.
fn of_cell(cell: &Cell<'_>, neighbours: Neighbours) -> Option<Attribution> {
    let mut samples: Vec<&Sample> = cell.repetitions.iter().map(|observed| observed.sample).collect();
    samples.sort_by(|one, other| one.total.requests_per_s.total_cmp(&other.total.requests_per_s));
    let each: Vec<Attribution> = samples.iter().filter_map(|sample| attribute_with(sample, neighbours)).collect();
    let mut counts: Vec<(Option<Owner>, usize)> = Vec::new();
    for attribution in &each {
        match counts.iter_mut().find(|(owner, _)| *owner == attribution.owner) {
            Some((_, count)) => *count += 1,
            None => counts.push((attribution.owner, 1)),
        }
    }
    counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let (owner, most) = *counts.first()?;
    if (most as f64) < AGREEING * each.len() as f64 {
        let words = |(owner, count): &(Option<Owner>, usize)| {
            format!("{count} of {} repetitions: {}", each.len(), owner.map_or("unknown", Owner::name))
        };
        let (reason, open) = (
            "the repetitions disagree; measure again while nothing else runs".to_owned(),
            counts.iter().map(words).collect(),
        );
        return Some(Attribution { reason, open, ..Attribution::default() });
    }
    let mut agreed: Vec<Attribution> = each.into_iter().filter(|attribution| attribution.owner == owner).collect();
    let sureness = agreed.iter().filter_map(|attribution| attribution.sureness).min();
    let parts = Some(crate::parts::mean(cell)).filter(|parts| !parts.is_empty());
    let middle = samples[samples.len() / 2];
    let mean = parts.and_then(|parts| attribute_with(&Sample { parts, ..middle.clone() }, neighbours));
    let words = mean.filter(|mean| mean.owner == owner).unwrap_or_else(|| agreed.swap_remove(agreed.len() / 2));
    Some(Attribution { sureness, ..words })
}

/// The best of all cells that differ in size, depth and workers only: by throughput, random ones by IOPS.
pub(super) struct Plateau<'a> {
    pub(super) cell: &'a Cell<'a>,
    pub(super) rate: Estimate,
    /// `4 KiB, QD32, direct`, with what distinguishes it.
    how: String,
}

impl Plateau<'_> {
    pub(super) fn subject(&self) -> String {
        format!("{} {}, {}", self.cell.workload.pattern, self.cell.workload.operation, self.how)
    }

    /// `random reads (4 KiB, QD32, direct): 192 MB/s ± 2 %`.
    pub(super) fn words(&self) -> String {
        format!("{}: {}", named(self.cell.workload, &self.how), self.rate)
    }
}

/// All plateaus, reads before writes, sequential before random.
pub(super) fn plateaus<'a>(evidence: &Evidence<'a>) -> Vec<Plateau<'a>> {
    let of = |group: &Series<'a>| {
        let (cell, rate) = best(&group.cells)?;
        Some(Plateau { cell, rate, how: format!("{}, {}", place(cell.workload), group.circumstances) })
    };
    evidence.by_load(1, |_| true).iter().filter_map(of).collect()
}

pub(super) fn find(plateaus: &[Plateau<'_>], paces: &Paces) -> Vec<Finding> {
    plateaus.iter().filter_map(|plateau| finding(plateau, paces)).collect()
}

fn finding(plateau: &Plateau<'_>, paces: &Paces) -> Option<Finding> {
    // No figures, no claim.
    let pace = paces.get(plateau.cell).filter(|pace| pace.says_something())?;
    let note = memory_note(plateau.cell.workload);
    let words = [pace.named(), format!("{} {}{note}", sentence(&plateau.words()), pace.sentence())];
    Some(found(FindingCode::Owner, plateau.subject(), [plateau.cell], words, vec![plateau.rate]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attribution::Sureness;
    use crate::fixtures::{Run, around, begins, block, by_depth, deep, read, says};
    use halfpower_model::Among;
    use halfpower_model::sample::Block;

    fn owner_of(run: &Run, cell: u32) -> Option<(Owner, Sureness)> {
        let pace = crate::analyse(&run.observed()).cells[cell as usize].pace.clone()?;
        pace.owner.zip(pace.sureness)
    }

    /// Random reads of 4 KiB at each depth, and a device that is busy so much.
    fn sweep(rates: &[(u32, f64)], busy_fraction: f64) -> Run {
        let mut run = by_depth(rates);
        for placed in &mut run.samples {
            placed.sample.cpu.lower.system_s = 0.2;
            placed.sample.instrument.loop_ns_per_request = Some(50.0);
            let totals = &placed.sample.total;
            placed.sample.block = Some(Block { busy_fraction, ..block(totals.requests, totals.bytes) });
        }
        run
    }

    #[test]
    fn the_depth_owns_what_more_outstanding_make_faster_and_the_device_the_plateau() {
        let mut run = sweep(&[(1, 10e3), (4, 38e3), (16, 57e3), (32, 58e3)], 0.99);
        assert_eq!(owner_of(&run, 0), Some((Owner::Depth, Sureness::Sure)));
        assert_eq!(owner_of(&run, 1), Some((Owner::Depth, Sureness::Sure)));
        assert_eq!(owner_of(&run, 2), Some((Owner::Device, Sureness::Likely)));
        let found = run.findings(FindingCode::Owner);
        assert_eq!(found.len(), 1, "one for the plateau");
        assert_eq!(found[0].subject, "random read, 4 KiB, QD32, direct");
        begins(
            &found[0].sentence,
            "Random reads (4 KiB, QD32, direct): 58\u{202f}000 IOPS ± 2 %. Bottleneck (likely): the device. It had requests outstanding 99 % of the time",
        );
        run.samples.iter_mut().for_each(|placed| placed.sample.origin = Some(Box::default()));
        assert_eq!(run.findings(FindingCode::Owner), [], "another program measured it");
    }

    #[test]
    fn repetitions_that_disagree_name_nobody() {
        let mut run = sweep(&[(32, 58e3)], 0.99);
        assert_eq!(owner_of(&run, 0), Some((Owner::Device, Sureness::Likely)));
        run.samples[0].sample.cpu.lower.system_s = 1.0;
        assert_eq!(owner_of(&run, 0), Some((Owner::Device, Sureness::Likely)), "one of five");
        run.samples[1].sample.cpu.lower.system_s = 1.0;
        assert_eq!(owner_of(&run, 0), None);
        says(
            &run.findings(FindingCode::Owner)[0].sentence,
            "disagree; measure again while nothing else runs. Not determined: 3 of 5 repetitions: the device",
        );
    }

    #[test]
    fn targets_that_hold_one_another_back_share_something() {
        let among =
            |among, targets| halfpower_model::Workload { among, targets, workers: targets, ..deep(8, read(64)) };
        let run = |together: f64| {
            let mut run = Run::default();
            for number in 1..=2 {
                run.add(among(Among::Only(number), 1), &around(100e6));
            }
            run.add(among(Among::All, 2), &around(together));
            run
        };
        assert_eq!(owner_of(&run(120e6), 2), Some((Owner::SharedLimit, Sureness::Sure)));
        assert_eq!(owner_of(&run(200e6), 2), None);
    }
}
