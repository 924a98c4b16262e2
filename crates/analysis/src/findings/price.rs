//! Price per access and per capacity, from a given price.
//!
//! KAPS (kilobyte accesses per second) are the largest random requests up to 8 KiB, direct if measured: at QD1, as the studies price them,
//! and at the best depth. MAPS (megabyte accesses) are 1 MiB or 10^6 bytes at the best depth, random if measured, else sequential.
//! Price and figures are of all targets together, and of the storage only. The capacity is given, or that of block devices.
//! Source: Chung, Gray, Worthington and Horst, "Windows 2000 disk IO performance" (2000), tables 9 and 10.

use super::frame::found;
use crate::cells::Cell;
use crate::evidence::{Evidence, highest};
use crate::statistics::{Interval, estimate};
use crate::wording::{place, reaches_storage, requests, sentence};
use halfpower_model::units::significant;
use halfpower_model::{
    Bytes, Estimate, Finding, FindingCode, Offer, Operation, Pattern, Quantity, TargetFacts, TargetKind,
};
use std::ops::RangeInclusive;

const KILOBYTES: RangeInclusive<u64> = 1024..=8192;
const MEGABYTES: RangeInclusive<u64> = 1_000_000..=1_048_576;

pub(super) fn find(evidence: &Evidence<'_>, offer: Option<&Offer>) -> Vec<Finding> {
    let Some(offer) = offer else { return Vec::new() };
    let all = evidence.cells.iter().map(|cell| cell.workload.targets).max().unwrap_or(1);
    let of = |operation| {
        let counts = |cell: &&Cell<'_>| {
            let workload = cell.workload;
            let is_whole = workload.targets == all && !workload.is_held_back();
            workload.operation == operation && is_whole && reaches_storage(workload)
        };
        let cells: Vec<&Cell<'_>> = evidence.cells.iter().copied().filter(counts).collect();
        finding(&cells, operation, offer)
    };
    [Operation::Read, Operation::Write].into_iter().filter_map(of).collect()
}

fn finding(cells: &[&Cell<'_>], operation: Operation, offer: &Offer) -> Option<Finding> {
    let kilobytes = of_size(cells, &KILOBYTES, Pattern::Random);
    let megabytes = [Pattern::Random, Pattern::Sequential].map(|pattern| of_size(cells, &MEGABYTES, pattern));
    let megabytes = megabytes.into_iter().find(|cells| !cells.is_empty()).unwrap_or_default();
    // The number of targets is unknown for imported samples.
    let alone = |cell: &&Cell<'_>| cell.outstanding() == u64::from(cell.workload.targets.max(1));
    let one_deep = kilobytes.iter().copied().find(alone);
    let most = highest(&kilobytes, Cell::mean_requests_per_s);
    let most = most.filter(|most| one_deep.is_none_or(|one| one.number != most.number));
    let accesses = [
        (one_deep, Quantity::PricePerKaps),
        (most, Quantity::PricePerKaps),
        (highest(&megabytes, Cell::mean_requests_per_s), Quantity::PricePerMaps),
    ];
    let priced = accesses.into_iter().filter_map(|(cell, quantity)| Some((cell?, access(cell?, quantity, offer)?)));
    let (priced, prices): (Vec<&Cell<'_>>, Vec<(String, Estimate)>) = priced.unzip();
    let (mut words, mut estimates): (Vec<String>, Vec<Estimate>) = prices.into_iter().unzip();
    if let Some(capacity) = capacity(priced.first()?, offer) {
        let held = capacity.0 as f64 / 1e6 / offer.price.amount;
        words.push(format!("{} MB per 1 {}", significant(held), offer.price.currency));
        estimates.push(estimate(Quantity::MegabytesPerPrice, held, None, 1));
    }
    let (price, requests) = (&offer.price, requests(operation));
    let claim = format!("at a total price of {price}, {requests} cost {}", words.join(", "));
    let subject = format!("{requests} at {price}");
    Some(found(FindingCode::Price, subject, priced, [words.join("; "), sentence(&claim)], estimates))
}

/// Cells of the largest size in the range, direct if any.
fn of_size<'a>(cells: &[&'a Cell<'a>], sizes: &RangeInclusive<u64>, pattern: Pattern) -> Vec<&'a Cell<'a>> {
    let fits = |cell: &&Cell<'_>| cell.workload.pattern == pattern && sizes.contains(&cell.workload.request_size.0);
    let mut fitting: Vec<&Cell<'_>> = cells.iter().copied().filter(fits).collect();
    if fitting.iter().any(|cell| cell.workload.buffering.is_direct()) {
        fitting.retain(|cell| cell.workload.buffering.is_direct());
    }
    let largest = fitting.iter().map(|cell| cell.workload.request_size).max();
    fitting.retain(|cell| Some(cell.workload.request_size) == largest);
    fitting
}

/// In words and as an estimate; none if nothing moved.
fn access(cell: &Cell<'_>, quantity: Quantity, offer: &Offer) -> Option<(String, Estimate)> {
    let rate = cell.rate(Quantity::RequestsPerSecond).filter(|rate| rate.value > 0.0)?;
    let at = |rate: f64| offer.price.amount / rate;
    let ends = rate.low.zip(rate.high).filter(|(low, _)| *low > 0.0);
    let interval = ends.map(|(low, high)| Interval { low: at(high), high: at(low) });
    let estimate = estimate(quantity, at(rate.value), interval, rate.repetitions as usize);
    let workload = cell.workload;
    let pattern = if workload.pattern == Pattern::Random { String::new() } else { format!("{} ", workload.pattern) };
    let words = estimate.to_string().replacen(" per ", &format!(" {} per ", offer.price.currency), 1);
    Some((format!("{words} ({pattern}{})", place(workload)), estimate))
}

/// Capacity of all targets; none if not given and not all are block devices.
fn capacity(cell: &Cell<'_>, offer: &Offer) -> Option<Bytes> {
    let of_devices = || {
        let targets = cell.repetitions.first()?.sample.environment.all_targets();
        let size = |target: &TargetFacts| (target.kind == TargetKind::BlockDevice).then_some(target.size_bytes.0);
        Some(Bytes(targets.map(size).sum::<Option<u64>>()?)).filter(|bytes| bytes.0 > 0)
    };
    offer.capacity.or_else(of_devices)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::{Run, around, buffered, deep, random, read, says, write};
    use crate::{Context, analyse_with};
    use halfpower_model::Workload;

    fn prices(run: &Run, price: &str, capacity: Option<u64>) -> Vec<Finding> {
        let offer = Offer { price: price.parse().unwrap(), capacity: capacity.map(Bytes) };
        let mut findings =
            analyse_with(&run.observed(), &Context { offer: Some(&offer), ..Context::default() }).findings;
        findings.retain(|finding| finding.code == FindingCode::Price);
        findings
    }

    fn values(finding: &Finding) -> Vec<String> {
        finding.estimates.iter().map(|estimate| format!("{:.3}", estimate.value)).collect()
    }

    #[test]
    fn the_studys_two_drives_come_to_its_table() {
        // Tables 9 and 10: the Fireball, 26 GB for 209 dollars, 66 random 8 KB reads a second: 3.17 a KAPS, 124 MB a dollar;
        // the Atlas, 18 GB for 534, 105 reads and 20 megabyte accesses: 5.09 a KAPS, 0.04 MAPS a dollar, 34 MB.
        let fireball = Run::of([(random(read(8)), around(66.0 * 8192.0))]);
        let [found] = &prices(&fireball, "209", Some(26_000_000_000))[..] else { panic!("one finding") };
        assert_eq!(values(found), ["3.167", "124.402"]);
        assert_eq!(found.subject, "reads at 209 USD");
        let words = "At a total price of 209 USD, reads cost 3.17 USD per KAPS ± 2 % (8 KiB, QD1), 124 MB per 1 USD.";
        assert_eq!(found.sentence, words);
        let mut atlas = Run::default();
        atlas.add(random(read(8)), &around(105.0 * 8192.0));
        atlas.add(random(read(1024)), &around(20.0 * 1_048_576.0));
        let [found] = &prices(&atlas, "534", Some(18_000_000_000))[..] else { panic!("one finding") };
        assert_eq!(values(found), ["5.086", "26.700", "33.708"]);
    }

    #[test]
    fn one_deep_and_the_most_are_distinguished() {
        let cell = |(depth, rate)| (deep(depth, random(write(4))), around(rate * 4096.0));
        let mut run = Run::of([(1, 1e4), (8, 5e4), (32, 4e4)].map(cell));
        run.add(buffered(random(read(8))), &around(1e5 * 8192.0));
        run.add(deep(8, write(1024)), &around(2e9));
        let [reads, writes] = &prices(&run, "100EUR", None)[..] else { panic!("reads and writes") };
        assert_eq!(values(writes), ["0.010", "0.002", "0.052"]);
        says(&writes.sentence, "0.002 EUR per KAPS ± 2 % (4 KiB, QD8)");
        says(&writes.sentence, "per MAPS ± 2 % (sequential 1 MiB");
        assert_eq!(values(reads), ["0.001"], "buffered where there is nothing else");
    }

    #[test]
    fn without_a_price_or_accesses_nothing_is_said() {
        let mut run = Run::of([(random(read(64)), around(1e9))]);
        assert_eq!(prices(&run, "100", Some(1)), []);
        run.add(random(read(4)), &around(1e9));
        assert_eq!(prices(&run, "100", None).len(), 1);
        let unpriced = crate::analyse(&run.observed()).findings;
        assert!(unpriced.iter().all(|finding| finding.code != FindingCode::Price));
        let cell = |(depth, rate)| (Workload { targets: 0, ..deep(depth, random(read(8))) }, around(rate * 8192.0));
        let imported = Run::of([(1, 66.0), (32, 100.0)].map(cell));
        assert_eq!(values(&prices(&imported, "209", None)[0]), ["3.167", "2.090"], "the number of targets is unknown");
    }
}
