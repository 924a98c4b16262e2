//! What sets the pace of the best of all cells that are alike but for size, depth and workers: the plateau's likely owner.
//!
//! Each repetition is looked at by itself ([`attribution`](crate::attribution)), with what the cells beside it say: whether
//! the same with more outstanding is faster, and whether the targets hold one another back. An owner is named where four
//! repetitions of five name it; where they name different ones it cannot be told.

use super::shared_limit::{self, Holding};
use super::{Evidence, highest};
use crate::alike::{Axis, distinctions, groups};
use crate::attribution::{Attribution, Beside, Owner, attribute_beside};
use crate::cells::Cell;
use crate::series::rank;
use crate::statistics::mean_estimate;
use crate::words::{caching, depth, memory_note, reach, requests, sentence};
use halfpower_model::{Finding, FindingCode, Quantity, Workload};
use std::collections::BTreeMap;

/// Of all repetitions, those that must agree.
const AGREEING: f64 = 0.8;

/// What sets the pace of each cell, by its number.
#[derive(Debug, Default)]
pub(crate) struct Paces(BTreeMap<u32, Attribution>);

impl Paces {
    /// Of one cell.
    pub(crate) fn get(&self, cell: &Cell<'_>) -> Option<&Attribution> {
        self.0.get(&cell.number)
    }
}

/// What sets the pace of each cell, as far as its samples can tell at all.
pub(crate) fn paces(evidence: &Evidence<'_>) -> Paces {
    let mut besides: BTreeMap<u32, Beside> = BTreeMap::new();
    for series in &evidence.by_depth {
        let mut deeper: Option<f64> = None;
        for cell in series.cells.iter().rev() {
            let rate = cell.mean_requests_per_s();
            let ratio = deeper.map(|deeper| deeper / rate).filter(|ratio| ratio.is_finite());
            besides.insert(cell.number, Beside { deeper: ratio, together: None });
            deeper = Some(deeper.unwrap_or(0.0).max(rate));
        }
    }
    for together in shared_limit::all_together(evidence) {
        if together.holding() == Holding::Held {
            besides.entry(together.cell.number).or_default().together = Some(together.share());
        }
    }
    let of = |cell: &&Cell<'_>| {
        let beside = besides.get(&cell.number).copied().unwrap_or_default();
        Some((cell.number, of_cell(cell, beside)?))
    };
    Paces(evidence.cells.iter().filter_map(of).collect())
}

/// What the repetitions agree on; the words are of the one whose rate is the median.
fn of_cell(cell: &Cell<'_>, beside: Beside) -> Option<Attribution> {
    let mut each: Vec<(f64, Attribution)> = cell
        .repetitions
        .iter()
        .filter_map(|observed| Some((observed.sample.total.requests_per_s, attribute_beside(observed.sample, beside)?)))
        .collect();
    each.sort_by(|(one, _), (other, _)| one.total_cmp(other));
    let mut counts: Vec<(Option<Owner>, usize)> = Vec::new();
    for (_, attribution) in &each {
        match counts.iter_mut().find(|(owner, _)| *owner == attribution.owner) {
            Some((_, count)) => *count += 1,
            None => counts.push((attribution.owner, 1)),
        }
    }
    counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let (owner, most) = *counts.first()?;
    if (most as f64) < AGREEING * each.len() as f64 {
        let words = |(owner, count): &(Option<Owner>, usize)| {
            format!("{count} say {}", owner.map_or("that it cannot be told", Owner::name))
        };
        let said = counts.iter().map(words).collect::<Vec<_>>().join(", ");
        let reason = format!("of {} repetitions {said}", each.len());
        return Some(Attribution { owner: None, sureness: None, reason, ruled_out: Vec::new(), open: Vec::new() });
    }
    each.retain(|(_, attribution)| attribution.owner == owner);
    let sureness = each.iter().filter_map(|(_, attribution)| attribution.sureness).min();
    let middle = each.len() / 2;
    Some(Attribution { sureness, ..each.swap_remove(middle).1 })
}

pub(super) fn find(evidence: &Evidence<'_>, paces: &Paces) -> Vec<Finding> {
    let mut groups = groups(evidence.cells.iter().copied(), Axis::LOAD);
    groups.sort_by_key(|group| rank(group[0].workload));
    let named: Vec<_> = groups.iter().map(|group| (kind(group[0].workload), group[0].workload)).collect();
    let distinctions = distinctions(&named, Axis::LOAD);
    let of = |(group, distinction): (&Vec<&Cell<'_>>, &String)| finding(group, distinction, paces);
    groups.iter().zip(&distinctions).filter_map(of).collect()
}

fn kind(workload: &Workload) -> String {
    format!("{} {}, {}", workload.pattern, workload.operation, caching(workload))
}

/// Of the best of the cells; `distinction` tells them from others of the same words.
fn finding(group: &[&Cell<'_>], distinction: &str, paces: &Paces) -> Option<Finding> {
    let (cell, rate) = if group[0].workload.pattern.is_ordered() {
        let cell = highest(group, Cell::mean_bytes_per_s)?;
        (cell, mean_estimate(Quantity::BytesPerSecond, &cell.bytes_per_s())?)
    } else {
        let cell = highest(group, Cell::mean_requests_per_s)?;
        (cell, mean_estimate(Quantity::RequestsPerSecond, &cell.requests_per_s())?)
    };
    let pace = paces.get(cell)?;
    let workload = cell.workload;
    let how = format!("{}, {}, {}{distinction}", workload.request_size, depth(workload), caching(workload));
    let claim = match pace.owner {
        Some(_) => format!("the pace is set by {}", pace.brief()),
        None => format!("what sets the pace {}", pace.brief()),
    };
    let what = format!("{} {}, {how}, {rate}", workload.pattern, requests(workload.operation));
    Some(Finding {
        code: FindingCode::Owner,
        subject: format!("{} {}, {how}", workload.pattern, workload.operation),
        reach: reach(workload),
        brief: pace.brief(),
        sentence: sentence(&format!("{what}: {claim}")) + &pace.further() + memory_note(workload),
        estimates: vec![rate],
        samples: cell.samples(),
    })
}
