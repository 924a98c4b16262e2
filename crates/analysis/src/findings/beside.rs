//! What the cells beside a cell say of it: the same requests with more outstanding, at other places, of other sizes, and of
//! targets together.
//!
//! Neither a processor nor a bus nor a controller knows where on the medium a request goes; a medium with an arm does. So the
//! same requests where its arm has less to do tell its share: one after another instead of at random, or within a part that its
//! buffer may hold (the burst of Chung, Gray, Worthington and Horst, "Windows 2000 disk IO performance", 2000, section 3.5). That
//! says something only where the run has a pair that shows that places matter to this target at all. What one more byte of a
//! request costs is what the slowest part takes for it.

use super::Evidence;
use super::shared_limit::{self, Holding};
use crate::alike::{Axis, groups};
use crate::attribution::{Beside, Growth, Places};
use crate::cells::Cell;
use crate::series::Series;
use halfpower_model::{Operation, Workload};
use std::collections::BTreeMap;

/// From this ratio of one pair of cells on, places matter to a target.
const MATTERS: f64 = 1.5;
/// A span that is smaller by this is one that is nearer.
const NEARER: u64 = 8;
/// Streams that begin at so many places have been in several zones of a disk: of three alike, all in one once in 27.
const PLACES: usize = 4;

/// Of each cell, by its number.
pub(super) fn of_cells(evidence: &Evidence<'_>) -> BTreeMap<u32, Beside> {
    let mut besides: BTreeMap<u32, Beside> = BTreeMap::new();
    for series in &evidence.by_depth {
        let mut deeper: Option<f64> = None;
        for cell in series.cells.iter().rev() {
            let rate = cell.mean_requests_per_s();
            let ratio = deeper.map(|deeper| deeper / rate).filter(|ratio| ratio.is_finite());
            besides.entry(cell.number).or_default().deeper = ratio;
            deeper = Some(deeper.unwrap_or(0.0).max(rate));
        }
    }
    for together in shared_limit::all_together(evidence) {
        if together.holding() == Holding::Held {
            besides.entry(together.cell.number).or_default().together = Some(together.share());
        }
    }
    for (number, places) in places(evidence) {
        besides.entry(number).or_default().places = Some(places);
    }
    for (number, growth) in growths(evidence) {
        besides.entry(number).or_default().growth = Some(growth);
    }
    besides
}

/// What the same at other places gives; empty where no pair shows that places matter.
fn places(evidence: &Evidence<'_>) -> Vec<(u32, Places)> {
    let moves = |cell: &&&Cell<'_>| {
        cell.workload.buffering.is_direct() && matches!(cell.workload.operation, Operation::Read | Operation::Write)
    };
    let direct = evidence.cells.iter().filter(moves).copied();
    let groups = groups(direct, &[Axis::Where, Axis::Operation, Axis::RequestSize]);
    let several = groups.iter().filter(|group| group.len() > 1);
    let found: Vec<(u32, Places)> =
        several.flat_map(|group| group.iter().map(|cell| (cell.number, places_of(cell, group)))).collect();
    let matters = found.iter().any(|(_, places)| places.nearer.is_some_and(|ratio| ratio >= MATTERS));
    if matters { found } else { Vec::new() }
}

fn places_of(cell: &Cell<'_>, group: &[&Cell<'_>]) -> Places {
    let (of, rate) = (cell.workload, cell.mean_bytes_per_s());
    // Larger requests are no slower on any way, so that what smaller ones come to is the least of it.
    let most = |is_it: &dyn Fn(&Cell<'_>) -> bool| {
        let others = group.iter().filter(|other| other.number != cell.number && is_it(other));
        others.map(|other| other.mean_bytes_per_s() / rate).filter(|ratio| ratio.is_finite()).max_by(f64::total_cmp)
    };
    let is_part = |other: &Workload| other.span.0 <= of.span.0 / NEARER && other.request_size <= of.request_size;
    let is_whole = |other: &Workload| other.request_size == of.request_size && other.span.0 > of.span.0 / NEARER;
    let is_same = |other: &Workload| other.operation == of.operation;
    let (is_ordered, is_write) = (of.pattern.is_ordered(), of.operation == Operation::Write);
    let is_nearer = |other: &Cell<'_>| {
        // What is written again goes to the medium again.
        let counts = !is_write || other.repetitions.iter().all(|one| one.sample.total.bytes < other.workload.span.0);
        let in_order = !is_ordered && is_whole(other.workload) && other.workload.pattern.is_ordered();
        is_same(other.workload) && (in_order || counts && is_part(other.workload))
    };
    let at_random = |other: &Cell<'_>| {
        is_ordered && is_same(other.workload) && is_whole(other.workload) && !other.workload.pattern.is_ordered()
    };
    let is_read_nearer =
        |other: &Cell<'_>| is_write && other.workload.operation == Operation::Read && is_part(other.workload);
    let rates = cell.bytes_per_s();
    let least = rates.iter().copied().fold(f64::INFINITY, f64::min);
    let spread = rates.iter().copied().fold(0.0, f64::max) / least;
    Places {
        nearer: most(&is_nearer),
        at_random: most(&at_random),
        reads_nearer: most(&is_read_nearer),
        everywhere: (is_ordered && rates.len() >= PLACES && spread.is_finite()).then_some(spread),
    }
}

/// How the time a request grows with its size, of the same with as many outstanding as were tried, by when all are at work.
fn growths(evidence: &Evidence<'_>) -> Vec<(u32, Growth)> {
    let own: BTreeMap<u32, Growth> = evidence
        .by_size
        .iter()
        .flat_map(|series| series.cells.iter().filter_map(|cell| Some((cell.number, growth(cell, &series.cells)?))))
        .collect();
    let of_series = |series: &Series<'_>| {
        let mut found: Option<Growth> = None;
        let mut of_cell = |cell: &&Cell<'_>| {
            found = found.or(own.get(&cell.number).copied());
            Some((cell.number, found?))
        };
        series.cells.iter().rev().filter_map(&mut of_cell).collect::<Vec<_>>()
    };
    evidence.by_depth.iter().flat_map(of_series).collect()
}

/// Up to a cell from the one whose requests to the device are the next smaller; of the smallest, to the next larger.
fn growth(cell: &Cell<'_>, cells: &[&Cell<'_>]) -> Option<Growth> {
    let (bytes, time_ns) = to_device(cell)?;
    let others = || cells.iter().filter_map(|other| to_device(other));
    let smaller = others().filter(|other| other.0 < bytes * 0.75).max_by(|one, other| one.0.total_cmp(&other.0));
    let larger = || others().filter(|other| other.0 > bytes / 0.75).min_by(|one, other| one.0.total_cmp(&other.0));
    let (other_bytes, other_ns) = smaller.or_else(larger)?;
    let ns_per_byte = (time_ns - other_ns) / (bytes - other_bytes);
    Some(Growth { fixed_ns: time_ns - ns_per_byte * bytes, ns_per_byte })
}

/// Bytes of each request that the device was given, and the time that one more adds: what is asked for may be cut on its way.
fn to_device(cell: &Cell<'_>) -> Option<(f64, f64)> {
    let counts = cell.repetitions.iter().map(|one| {
        let sample = one.sample;
        (sample.block.as_ref().map_or(0, |block| block.requests), sample.total.requests)
    });
    let (given, asked) = counts.fold((0, 0), |all, one| (all.0 + one.0, all.1 + one.1));
    let pieces = (given as f64 / asked as f64).max(1.0);
    let time_ns = 1e9 / cell.mean_requests_per_s() / pieces;
    time_ns.is_finite().then_some((cell.workload.request_size.0 as f64 / pieces, time_ns))
}
