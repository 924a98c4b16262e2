//! Figures of neighbouring cells: deeper queues, other offsets, other sizes, targets together.
//!
//! CPU, bus and controller do not depend on the offset; a medium with an arm does. So the same requests at cheaper offsets show its
//! share: sequential instead of random, or within a region that its buffer may hold (the burst of Chung, Gray, Worthington and
//! Horst, "Windows 2000 disk IO performance", 2000, section 3.5), provided that some pair of the run shows that offsets matter.
//! The time of one more byte is that of the slowest part.

use super::shared_limit::{self, Holding};
use crate::Observed;
use crate::attribution::{Growth, NO_FASTER, Neighbours, Owner, Places, attribute};
use crate::cells::Cell;
use crate::comparable::{Axis, groups};
use crate::evidence::Evidence;
use halfpower_model::{Operation, Workload};
use std::collections::BTreeMap;

/// From this ratio of one pair on, offsets matter to a target.
const MATTERS: f64 = 1.5;
/// A span smaller by this factor is closer.
const NEARER: u64 = 8;
/// This number of stream starts covers several zones of a disk; three would be in one zone once in 27.
const PLACES: usize = 4;

/// Of each cell, by its number.
pub(super) fn of_cells(evidence: &Evidence<'_>) -> BTreeMap<u32, Neighbours> {
    let mut neighbours: BTreeMap<u32, Neighbours> = BTreeMap::new();
    for series in &evidence.by_depth {
        let rates: Vec<f64> = series.cells.iter().map(|cell| cell.mean_requests_per_s()).collect();
        for (at, cell) in series.cells.iter().enumerate() {
            let highest = |rates: &[f64]| rates.iter().copied().max_by(f64::total_cmp);
            let ratio = |others: &[f64]| highest(others).map(|rate| rate / rates[at]).filter(|ratio| ratio.is_finite());
            let its = neighbours.entry(cell.number).or_default();
            (its.shallower, its.deeper) = (ratio(&rates[..at]), ratio(&rates[at + 1..]));
        }
    }
    // Larger requests are no slower by bytes.
    for group in moving(evidence, &[Axis::RequestSize, Axis::Depth]) {
        for cell in &group {
            let (of, rate) = (cell.workload, cell.mean_bytes_per_s());
            let most = |is_it: &dyn Fn(&Workload) -> bool| {
                let others = group.iter().filter(|other| is_it(other.workload));
                others
                    .map(|other| other.mean_bytes_per_s() / rate)
                    .filter(|ratio| ratio.is_finite())
                    .max_by(f64::total_cmp)
            };
            let deeper = most(&|other| other.depth > of.depth && other.request_size > of.request_size);
            let shallower = most(&|other| other.depth < of.depth && other.request_size < of.request_size);
            let its = neighbours.entry(cell.number).or_default();
            its.deeper = its.deeper.or(deeper.filter(|ratio| *ratio <= NO_FASTER));
            its.shallower = its.shallower.into_iter().chain(shallower).max_by(f64::total_cmp);
        }
    }
    for group in
        moving(evidence, &[Axis::RequestSize, Axis::Depth, Axis::Workers, Axis::Where, Axis::Places, Axis::Warmup])
    {
        let is_link = |one: &Observed<'_>| {
            one.sample.connections.is_some()
                && attribute(one.sample).is_some_and(|found| found.owner == Some(Owner::Link))
        };
        let fills =
            |cell: &&&Cell<'_>| 2 * cell.repetitions.iter().filter(|one| is_link(one)).count() > cell.repetitions.len();
        let full = group.iter().filter(fills).map(|cell| cell.mean_bytes_per_s());
        let range = full.map(|rate| [rate; 2]).reduce(|all, one| [all[0].min(one[0]), all[1].max(one[1])]);
        for cell in group.iter().filter(|_| range.is_some()) {
            neighbours.entry(cell.number).or_default().link_bytes_per_s = range;
        }
    }
    for together in shared_limit::all_together(evidence) {
        if together.holding() == Holding::Held {
            neighbours.entry(together.cell.number).or_default().together = Some(together.share());
        }
    }
    for (number, places) in places(evidence) {
        neighbours.entry(number).or_default().places = Some(places);
    }
    for (number, growth) in growths(evidence) {
        neighbours.entry(number).or_default().growth = Some(growth);
    }
    neighbours
}

/// Direct reads and writes that are equal but for the axes.
fn moving<'a>(evidence: &Evidence<'a>, axes: &[Axis]) -> Vec<Vec<&'a Cell<'a>>> {
    let moves = |cell: &&Cell<'_>| {
        cell.workload.buffering.is_direct() && matches!(cell.workload.operation, Operation::Read | Operation::Write)
    };
    groups(evidence.cells.iter().copied().filter(moves), axes)
}

/// Rates at other offsets; empty if no pair shows that they matter.
fn places(evidence: &Evidence<'_>) -> Vec<(u32, Places)> {
    let groups = moving(evidence, &[Axis::Where, Axis::Operation, Axis::RequestSize]);
    let several = groups.iter().filter(|group| group.len() > 1);
    let found: Vec<(u32, Places)> =
        several.flat_map(|group| group.iter().map(|cell| (cell.number, places_of(cell, group)))).collect();
    let matters = found.iter().any(|(_, places)| places.nearer.is_some_and(|ratio| ratio >= MATTERS));
    if matters { found } else { Vec::new() }
}

fn places_of(cell: &Cell<'_>, group: &[&Cell<'_>]) -> Places {
    let (of, rate) = (cell.workload, cell.mean_bytes_per_s());
    // Larger requests are no slower, so smaller ones give a lower bound.
    let most = |is_it: &dyn Fn(&Cell<'_>) -> bool| {
        let others = group.iter().filter(|other| other.number != cell.number && is_it(other));
        others.map(|other| other.mean_bytes_per_s() / rate).filter(|ratio| ratio.is_finite()).max_by(f64::total_cmp)
    };
    let is_part = |other: &Workload| other.span.0 <= of.span.0 / NEARER && other.request_size <= of.request_size;
    let is_whole = |other: &Workload| other.request_size == of.request_size && other.span.0 > of.span.0 / NEARER;
    let is_same = |other: &Workload| other.operation == of.operation;
    let (is_ordered, is_write) = (of.pattern.is_ordered(), of.operation == Operation::Write);
    let is_nearer = |other: &Cell<'_>| {
        // Rewritten data goes to the medium again.
        let counts = !is_write || other.repetitions.iter().all(|one| one.sample.total.bytes < other.workload.span.0);
        let in_order = !is_ordered && is_whole(other.workload) && other.workload.pattern.is_ordered();
        is_same(other.workload) && (in_order || counts && is_part(other.workload))
    };
    let at_random = |other: &Cell<'_>| {
        is_ordered && is_same(other.workload) && is_whole(other.workload) && !other.workload.pattern.is_ordered()
    };
    let is_read_nearer =
        |other: &Cell<'_>| is_write && other.workload.operation == Operation::Read && is_part(other.workload);
    let rates = &cell.bytes_per_s;
    let least = rates.iter().copied().fold(f64::INFINITY, f64::min);
    let spread = rates.iter().copied().fold(0.0, f64::max) / least;
    Places {
        nearer: most(&is_nearer),
        at_random: most(&at_random),
        reads_nearer: most(&is_read_nearer),
        everywhere: (is_ordered && rates.len() >= PLACES && spread.is_finite()).then_some(spread),
    }
}

/// Growth of time with request size at any offset and depth.
fn growths(evidence: &Evidence<'_>) -> Vec<(u32, Growth)> {
    let of_group = |group: Vec<&Cell<'_>>| {
        let with_time = |cell: &&Cell<'_>| Some((cell.number, cell.workload.operation, to_device(cell)?));
        let times: Vec<_> = group.iter().filter_map(with_time).collect();
        times.iter().filter_map(|(number, of, at)| Some((*number, growth(*of, at.0, &times)?))).collect::<Vec<_>>()
    };
    let groups = moving(evidence, &[Axis::Where, Axis::Operation, Axis::RequestSize, Axis::Depth]);
    groups.into_iter().flat_map(of_group).collect()
}

/// The steepest from a smaller request at the device, or for the smallest the flattest to a larger: another part than the path may
/// hold any of them, which only adds to its time. Reads share the path of writes.
fn growth(of: Operation, bytes: f64, times: &[(u32, Operation, (f64, f64))]) -> Option<Growth> {
    let within = |least: f64, most: f64| times.iter().filter(move |one| (least..most).contains(&(one.2.0 / bytes)));
    let of_size = within(0.75, 1.0 / 0.75).filter(|one| one.1 == of).map(|one| one.2);
    let own = of_size.min_by(|one, other| (one.1 / one.0).total_cmp(&(other.1 / other.0)))?;
    let per_byte = |(_, _, other): &(u32, Operation, (f64, f64))| (own.1 - other.1) / (own.0 - other.0);
    let flattest = || within(1.0 / 0.75, f64::INFINITY).map(per_byte).min_by(f64::total_cmp);
    let ns_per_byte = within(0.0, 0.75).map(per_byte).max_by(f64::total_cmp).or_else(flattest)?;
    Some(Growth { fixed_ns: own.1 - ns_per_byte * own.0, ns_per_byte })
}

/// Bytes of each request at the device and the time one more adds; requests may be split on their way.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attribution::Sureness;
    use crate::fixtures::{Run, block, deep, random, read, write};
    use halfpower_model::sample::{Block, Direction};
    use halfpower_model::{Bytes, BytesPerSecond, Channel, Level, LevelName};

    /// A disk that is slow far off, on a link of 100 MB/s; of streams at QD8, how long 16 and 32 KiB take, and 32 KiB over
    /// the outermost part.
    fn run(of: fn(u64) -> Workload, [small_us, whole_us, part_us]: [f64; 3]) -> Run {
        let mut run = Run::default();
        let part = |workload: Workload| Workload { span: Bytes(1 << 26), ..workload };
        let rate = |kib: u64, us: f64| (kib << 10) as f64 / us * 1e6;
        run.add(deep(8, of(32)), &[rate(32, whole_us); 5]);
        run.add(deep(16, of(32)), &[rate(32, whole_us)]);
        run.add(deep(8, of(16)), &[rate(16, small_us)]);
        run.add(part(deep(8, read(32))), &[rate(32, part_us)]);
        run.add(random(read(4)), &[rate(4, 9000.0)]);
        run.add(part(random(read(4))), &[rate(4, 900.0)]);
        for placed in &mut run.samples {
            placed.sample.cpu.lower.system_s = 0.1;
            let (requests, bytes) = (placed.sample.total.requests, placed.sample.total.bytes);
            let all = Some(Direction { requests, bytes, amplification: None });
            let (read, write) = if placed.sample.read.is_some() { (all, None) } else { (None, all) };
            placed.sample.block = Some(Block { busy_fraction: 1.0, read, write, ..block(requests, bytes) });
            let pap = Some(BytesPerSecond(100e6));
            let (at, source) = ("scsi0".to_owned(), "its label".to_owned());
            let link = Channel { at, through: None, pap_bytes_per_s: pap, source };
            let mut environment = (*placed.sample.environment).clone();
            environment.target.levels = vec![Level::of(LevelName::Link, [link])];
            environment.target.rotational = Some(true);
            placed.sample.environment = environment.into();
        }
        run
    }

    fn owner(run: &Run) -> Option<(Owner, Sureness, Option<String>)> {
        let pace = crate::analyse(&run.observed()).cells[0].pace.clone()?;
        Some((pace.owner?, pace.sureness?, pace.at))
    }

    fn likely(owner: Owner) -> Option<(Owner, Sureness, Option<String>)> {
        Some((owner, Sureness::Likely, None))
    }

    #[test]
    fn what_is_faster_where_the_arm_has_less_to_do_waits_for_the_medium() {
        assert_eq!(owner(&run(read, [600.0, 1200.0, 1000.0])), likely(Owner::Device));
        // Between: nothing shows it, and the device has requests outstanding all the time.
        assert_eq!(owner(&run(read, [600.0, 1200.0, 1400.0])), likely(Owner::Device));
        assert_eq!(owner(&run(write, [600.0, 1200.0, 500.0])), likely(Owner::Device), "the way of writes has room");
    }

    /// Larger requests at QD8 are no faster: then neither are these.
    #[test]
    fn a_deeper_queue_of_larger_requests_bounds_that_of_small_ones() {
        let found = |large_mb_s: f64| {
            let mut run = Run::default();
            run.add(read(64), &[57e6]);
            run.add(read(1024), &[55e6]);
            let large = run.add(deep(8, read(1024)), &[large_mb_s * 1e6]);
            let observed = run.observed();
            let cells = crate::cells::gather(&observed);
            let neighbours = of_cells(&Evidence::new(&cells));
            (neighbours[&cells[0].number].deeper, neighbours[&large].shallower)
        };
        assert_eq!(found(57.0), (Some(1.0), Some(1.0)));
        assert_eq!(found(114.0), (None, Some(0.5)), "that may be due to their size");
    }

    #[test]
    fn what_grows_as_a_bus_lets_it_is_held_by_the_bus() {
        // 10 ns a byte, and 80 us beside: 8000 bytes' worth.
        let link = Some((Owner::Link, Sureness::Likely, Some("scsi0".to_owned())));
        assert_eq!(owner(&run(read, [243.8, 407.7, 407.7])), link);
        assert_eq!(owner(&run(write, [243.8, 407.7, 407.7])), link);
        assert_eq!(owner(&run(read, [343.8, 507.7, 507.7])), likely(Owner::Controller), "18 000 bytes' worth beside");
    }

    #[test]
    fn a_bus_may_attain_half_of_its_peak_or_more_and_a_link_seventy_percent() {
        let on = |name: LevelName, us: [f64; 3]| {
            let mut run = run(read, us);
            for placed in &mut run.samples {
                let mut environment = (*placed.sample.environment).clone();
                environment.target.levels[0].name = name;
                placed.sample.environment = environment.into();
            }
            owner(&run)
        };
        let at = |owner: Owner| Some((owner, Sureness::Likely, Some("scsi0".to_owned())));
        let [of_44, of_53, of_75] = [368.5, 311.5, 218.5].map(|us| [us, 2.0 * us, 2.0 * us]);
        assert_eq!(on(LevelName::Bus, of_53), at(Owner::Bus));
        assert_eq!(on(LevelName::Bus, of_44), likely(Owner::Controller));
        assert_eq!(on(LevelName::Link, of_75), at(Owner::Link));
        assert_eq!(on(LevelName::Link, of_53), likely(Owner::Controller));
        assert_eq!(on(LevelName::Bus, [700.0, 623.0, 623.0]), at(Owner::Bus), "smaller ones wait for the medium");
    }

    #[test]
    fn what_grows_as_no_bus_does_is_held_by_a_controller() {
        assert_eq!(owner(&run(read, [600.0, 1200.0, 1200.0])), likely(Owner::Controller));
        assert_eq!(owner(&run(read, [600.0, 601.0, 601.0])), likely(Owner::Controller), ", independent of size");
    }

    #[test]
    fn a_target_without_an_arm_shows_nothing_by_places() {
        let mut flat = run(read, [600.0, 1200.0, 1200.0]);
        let near = flat.samples.last().unwrap().sample.clone();
        let far = flat.samples.iter_mut().find(|placed| placed.cell == 4).unwrap();
        far.sample.total = near.total;
        assert_eq!(owner(&flat), likely(Owner::Device), "as without them");
    }

    #[test]
    fn a_stream_that_differs_from_place_to_place_may_wait_for_the_medium() {
        let mut zones = run(read, [600.0, 1200.0, 1200.0]);
        let of_first = zones.samples.iter_mut().filter(|placed| placed.cell == 0);
        for (placed, factor) in of_first.zip([1.0, 0.9, 1.1, 1.0, 1.0]) {
            placed.sample.total.bytes_per_s.0 *= factor;
        }
        assert_eq!(owner(&zones), likely(Owner::Device));
    }
}
