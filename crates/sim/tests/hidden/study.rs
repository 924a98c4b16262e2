//! What a user would run to find out what holds a workload back, on a machine whose parts hide how busy they were.
//!
//! The workload five times, each from another place on; beside it, once each, the same with more outstanding, in the other
//! order of places, over the outermost eighth, of other sizes, of a write the read, as reads over parts that the drives'
//! buffers may hold, and one small request at a time on one disk, near and far.

use crate::host::as_seen_by_a_host;
use crate::machines::{Drawn, draw};
use halfpower_analysis::{Attribution, Observed, Owner, analyse};
use halfpower_model::sample::{Part, PartKind};
use halfpower_model::{Among, Bytes, Cancel, Limits, Operation, Pattern, Sample, Settings, Testbed, Workload};
use halfpower_sim::Simulated;

/// A part that was at work for more than this share of the time sets the pace, if
const FULL: f64 = 0.9;
/// the next was for less than this.
const SPARE: f64 = 0.7;
/// Of the workload itself.
const REPETITIONS: u64 = 5;

/// The parts of a machine, as its file calls them.
pub(super) const PARTS: [&str; 6] = ["CPUs", "disk", "near", "card", "far", "bridge"];

/// One machine with its work.
pub(super) struct Case {
    drawn: Drawn,
    testbed: Simulated,
    /// The busiest part, one of [`PARTS`].
    pub(super) truth: &'static str,
    /// How busy it and the next were.
    busy: [f64; 2],
    repetitions: Vec<Sample>,
}

impl Case {
    /// The machine of this seed, if one part of it is full and all others have enough to spare.
    pub(super) fn of(seed: u64) -> Option<Case> {
        let mut drawn = draw(seed);
        let testbed = Simulated::of_file("drawn", &drawn.text, "volume", &Settings::default());
        let mut testbed = testbed.unwrap_or_else(|error| panic!("seed {seed}: {error}\n{}", drawn.text));
        // All of it, in whole requests of every size that is tried.
        drawn.workload.span = Bytes(testbed.describe().target.size_bytes.0 >> 22 << 22);
        // Most are not: a short look spares the long one.
        let (_, busy) = busiest(measure(&mut testbed, &drawn.workload, 150).parts.iter())?;
        if busy[0] < 0.8 {
            return None;
        }
        let mut repetitions = Vec::new();
        for repetition in 0..REPETITIONS {
            let workload = Workload { seed: drawn.workload.seed.wrapping_add(repetition), ..drawn.workload.clone() };
            repetitions.push(steady(&mut testbed, &drawn, &workload));
        }
        let (truth, busy) = busiest(repetitions.iter().flat_map(|sample| &sample.parts))?;
        (busy[0] > FULL && busy[1] < SPARE).then_some(Case { drawn, testbed, truth, busy, repetitions })
    }

    /// What the analysis makes of it, with nothing but what a host has, told each of these times the rates of the buses.
    pub(super) fn attributions<const N: usize>(mut self, told: [f64; N]) -> [Attribution; N] {
        let repetitions = (0..).zip(self.repetitions).map(|(block, sample)| (0, block, sample));
        let mut samples: Vec<(u32, u32, Sample)> = repetitions.collect();
        for (cell, workload) in (1..).zip(beside(&self.drawn.workload)) {
            samples.push((cell, 0, steady(&mut self.testbed, &self.drawn, &workload)));
        }
        told.map(|told| {
            let seen = samples.iter().map(|(_, _, sample)| as_seen_by_a_host(&self.drawn, told, sample.clone()));
            let seen: Vec<Sample> = seen.collect();
            let observed = (0..).zip(samples.iter().zip(&seen));
            let observed =
                observed.map(|(id, ((cell, block, _), sample))| Observed { id, cell: *cell, block: *block, sample });
            let analysis = analyse(&observed.collect::<Vec<_>>());
            analysis.cells[0].pace.clone().expect("samples that moved something have an attribution")
        })
    }

    /// `sequential write, 4 KiB, QD32, 5 workers, 5 targets: near is busy 97 %, the next 45 %`.
    pub(super) fn words(&self) -> String {
        let Workload { pattern, operation, request_size, depth, workers, targets, .. } = &self.drawn.workload;
        let [first, next] = self.busy.map(|share| format!("{:.0} %", share * 100.0));
        format!(
            "{pattern} {operation}, {request_size}, QD{depth}, {workers} workers, {targets} targets: {} is busy {first}, the \
             next {next}",
            self.truth
        )
    }
}

/// The part that was named, one of [`PARTS`], or who else.
pub(super) fn named(attribution: &Attribution) -> &'static str {
    let is_at = |part: &&&str| attribution.at.as_ref().is_some_and(|at| at.starts_with(**part));
    match attribution.owner {
        Some(Owner::Cpu) => "CPUs",
        Some(Owner::Device) => "disk",
        Some(Owner::Controller) => "card",
        Some(Owner::Link | Owner::Bus) => PARTS.iter().find(is_at).copied().unwrap_or("another bus"),
        Some(_) => "something else",
        None => "cannot tell",
    }
}

/// The busiest part, those of one name by their mean, with how busy it and the next were.
fn busiest<'a>(parts: impl Iterator<Item = &'a Part> + Clone) -> Option<(&'static str, [f64; 2])> {
    let share = |name: &&'static str| {
        let is_it = |part: &&Part| {
            part.kind != PartKind::Wait
                && part.busy > 0.0
                && part.name.starts_with(name)
                && (part.kind == PartKind::Device) == (*name == "disk")
        };
        let (sum, count) = parts.clone().filter(is_it).fold((0.0, 0), |all, part| (all.0 + part.busy, all.1 + 1));
        (count > 0).then(|| (*name, sum / f64::from(count)))
    };
    let mut all: Vec<(&'static str, f64)> = PARTS.iter().filter_map(share).collect();
    all.sort_by(|one, other| other.1.total_cmp(&one.1));
    let (name, first) = *all.first()?;
    Some((name, [first, all.get(1).map_or(0.0, |next| next.1)]))
}

/// For a tenth of a second at least, and until write caches are full.
fn steady(testbed: &mut Simulated, drawn: &Drawn, workload: &Workload) -> Sample {
    let caches = (6 << 20) * u64::from(drawn.disks) / workload.request_size.0;
    let rate = measure(testbed, workload, 60).total.requests_per_s;
    measure(testbed, workload, caches.clamp(250, 2500).max((rate * 0.12) as u64))
}

fn measure(testbed: &mut Simulated, workload: &Workload, requests: u64) -> Sample {
    let span = Bytes(workload.span.0 / workload.request_size.0 * workload.request_size.0);
    let limits = Limits { requests: Some(requests), ..Limits::default() };
    let workload = Workload { limits, span, ..workload.clone() };
    testbed.measure(&workload, &mut (), &Cancel::default()).unwrap_or_else(|error| panic!("{error}"))
}

/// The workloads beside it, each once.
fn beside(workload: &Workload) -> Vec<Workload> {
    let Workload { request_size: Bytes(size), depth, workers, span: Bytes(span), .. } = *workload;
    let is_random = workload.pattern == Pattern::Random;
    let pattern = if is_random { Pattern::Sequential } else { Pattern::Random };
    let mut all = vec![
        Workload { pattern, ..workload.clone() },
        Workload { span: Bytes((span / 8) >> 22 << 22), ..workload.clone() },
        Workload { operation: Operation::Read, ..workload.clone() },
    ];
    all.extend([2, 4].map(|times| Workload { depth: times * depth, ..workload.clone() }));
    all.extend([4 << 10, 16 << 10, size / 2, size * 2].map(|bytes| Workload {
        request_size: Bytes(bytes.max(512)),
        depth: 4 * depth,
        ..workload.clone()
    }));
    for (part, most) in
        [(128 << 10, 1 << 20), (1 << 20, 1 << 20), (128 << 10, 16 << 10), (1 << 20, 16 << 10), (1 << 20, 64 << 10)]
    {
        let bytes = size.min(most);
        all.push(Workload {
            operation: Operation::Read,
            request_size: Bytes(bytes),
            span: Bytes(part.max(2 * bytes * u64::from(workers))),
            ..workload.clone()
        });
    }
    all.extend([span, 1 << 20].map(|part| Workload {
        operation: Operation::Read,
        pattern: Pattern::Random,
        request_size: Bytes(512),
        span: Bytes(part),
        depth: 1,
        workers: 1,
        among: Among::Only(1),
        targets: 1,
        ..workload.clone()
    }));
    let mut different = vec![workload.clone()];
    for other in all {
        if !different.contains(&other) {
            different.push(other);
        }
    }
    different.split_off(1)
}
