//! Offsets of a stream's requests: every pattern gives the next of a number of places.

use crate::distribution::{HotCold, Normal, Pareto, Zipf};
use crate::permutation::Permutation;
use crate::random::{Random, derive_seed};
use crate::stream::{Request, RequestKind};
use crate::workload::{Pattern, Sharing, Workload, Zones};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Part of a workload's seed that spreads ranks and orders places; equal for all workers.
const SPREAD: u64 = 1 << 41;

/// The places of one worker.
#[derive(Clone, Debug)]
pub(super) struct Places<'a> {
    law: Law<'a>,
    random: Random,
    /// Byte of the first place, and bytes from each to the next.
    first: u64,
    step: u64,
}

#[derive(Clone, Debug)]
enum Law<'a> {
    Ordered(Ordered<'a>),
    /// Sequential, of different sizes.
    Contiguous {
        /// Bytes of the worker's part, and the start of the next request in it.
        part: u64,
        next: u64,
    },
    Uniform(u64),
    Shuffled(Shuffled),
    Zipf(Zipf, Permutation),
    Pareto(Pareto, Permutation),
    HotCold(HotCold, Permutation),
    /// Sum of percents up to each zone, its first place and their number.
    Zoned(Vec<(u64, u64, u64)>),
    Normal(Normal),
}

/// Places in a fixed order: that of the n-th request follows from n.
#[derive(Clone, Debug)]
struct Ordered<'a> {
    order: Order,
    count: u64,
    next: u64,
    /// Shared with other workers.
    shared: Option<&'a AtomicU64>,
}

#[derive(Clone, Copy, Debug)]
enum Order {
    Up,
    Down,
    /// With this stride; at the end again from the start plus one place.
    Strided(u64),
    /// Up, in runs of this many places of each period.
    Runs {
        run: u64,
        period: u64,
    },
    /// Up, but the last place before all others.
    LastFirst,
}

/// Every place once per round; the workers of a target alternate.
#[derive(Clone, Debug)]
struct Shuffled {
    seed: u64,
    order: Permutation,
    round: u64,
    next: u64,
    workers: u64,
}

/// The zones of so many places; each has one at least.
fn zoned(zones: Zones, count: u64) -> Vec<(u64, u64, u64)> {
    let (mut requests, mut places) = (0, 0);
    let zone = |(requests_percent, places_percent): (u8, u8)| {
        let first = count * places / 100;
        places += u64::from(places_percent);
        requests += u64::from(requests_percent);
        (requests, first.min(count - 1), (count * places / 100 - first).max(1))
    };
    zones.percents().map(zone).collect()
}

impl<'a> Places<'a> {
    pub(super) fn new(
        workload: &Workload,
        worker: u32,
        mut random: Random,
        cursor: Option<&'a AtomicU64>,
    ) -> Places<'a> {
        let (position, workers) = workload.position(worker);
        let total = workload.places();
        let is_shared = |sharing| workload.pattern.is_ordered() && workload.sharing == sharing;
        let (parted, interleaved) = (is_shared(Sharing::Parts), is_shared(Sharing::Interleaved));
        let count = if parted || interleaved { total / workers } else { total };
        assert!(count > 0, "the span holds a request for every worker");
        let step = workload.step().0 * if interleaved { workers } else { 1 };
        let mut first = workload.offset.0;
        // The part of requests of several sizes is in bytes.
        let contiguous = workload.pattern.is_ordered() && !workload.sizes.is_empty();
        let room = (workload.span.0 - first) / if parted { workers } else { 1 };
        let part = if contiguous { room - room % step } else { count * step };
        if parted {
            first += part * position;
        } else if interleaved {
            first += workload.step().0 * position;
        }
        let spread = Permutation::new(count, derive_seed(workload.seed, SPREAD));
        let law = match workload.pattern {
            _ if contiguous => {
                Law::Contiguous { part, next: if cursor.is_some() { 0 } else { random.below(count) * step } }
            }
            Pattern::Sequential | Pattern::Reverse | Pattern::Strided { .. } | Pattern::Runs { .. } => {
                let grows = workload.file_state.grows();
                let order = order(workload, count);
                let count = order.visited(count);
                let start = if grows || cursor.is_some() { 0 } else { random.below(count) };
                Law::Ordered(Ordered { order, count, next: start, shared: cursor })
            }
            Pattern::Random => Law::Uniform(count),
            Pattern::Shuffled => {
                let seed = derive_seed(workload.seed, SPREAD);
                let next = position;
                Law::Shuffled(Shuffled { seed, order: Permutation::new(count, seed), round: 0, next, workers })
            }
            Pattern::Zipf { theta } => Law::Zipf(Zipf::new(count, theta.value()), spread),
            Pattern::Pareto { share } => Law::Pareto(Pareto::new(count, share.value()), spread),
            Pattern::HotCold { requests_percent, places_percent } => {
                let law = HotCold::new(count, u16::from(places_percent) * 10, u16::from(requests_percent) * 10);
                Law::HotCold(law, spread)
            }
            Pattern::Zoned { zones } => Law::Zoned(zoned(zones, count)),
            Pattern::Normal { deviation } => Law::Normal(Normal::new(count, deviation.value())),
        };
        Places { law, random, first, step }
    }

    pub(super) fn is_shared(&self) -> bool {
        matches!(&self.law, Law::Ordered(Ordered { shared: Some(_), .. }))
    }

    /// Gives every request of the batch its place.
    pub(super) fn fill(&mut self, batch: &mut [Request]) {
        let (first, step) = (self.first, self.step);
        let random = &mut self.random;
        let each = |batch: &mut [Request], place: &mut dyn FnMut() -> u64| {
            batch.iter_mut().for_each(|request| request.offset = first + place() * step);
        };
        match &mut self.law {
            // The two patterns of the fastest loops are compiled separately.
            Law::Uniform(count) => {
                batch.iter_mut().for_each(|request| request.offset = first + random.below(*count) * step);
            }
            Law::Ordered(ordered) => {
                batch.iter_mut().for_each(|request| request.offset = first + ordered.next_place() * step);
            }
            Law::Contiguous { part, next } => {
                batch.iter_mut().for_each(|request| request.offset = first + contiguous(*part, next, request, step));
            }
            Law::Shuffled(shuffled) => each(batch, &mut || shuffled.next_place()),
            Law::Zipf(law, spread) => each(batch, &mut || spread.at(law.draw(random))),
            Law::Pareto(law, spread) => each(batch, &mut || spread.at(law.draw(random))),
            Law::Zoned(zones) => each(batch, &mut || {
                let drawn = random.below(100);
                let zone = zones.iter().find(|(up_to, ..)| drawn < *up_to);
                zone.map_or(0, |(_, first, count)| first + random.below(*count))
            }),
            Law::HotCold(law, spread) => each(batch, &mut || spread.at(law.draw(random))),
            Law::Normal(law) => each(batch, &mut || law.draw(random)),
        }
        batch.iter_mut().filter(|request| request.kind == RequestKind::Flush).for_each(|request| request.offset = 0);
    }
}

fn order(workload: &Workload, count: u64) -> Order {
    match workload.pattern {
        _ if workload.file_state == crate::workload::FileState::LastFirst => Order::LastFirst,
        Pattern::Reverse => Order::Down,
        Pattern::Strided { stride } => Order::Strided((stride.0 / workload.step().0).clamp(1, count)),
        Pattern::Runs { length, gap } => {
            let run = (length.0 / workload.step().0).clamp(1, count);
            Order::Runs { run, period: run.saturating_add(gap.0 / workload.step().0) }
        }
        _ => Order::Up,
    }
}

/// The start of the next sequential request; again at the beginning if it does not fit.
fn contiguous(part: u64, next: &mut u64, request: &Request, step: u64) -> u64 {
    let length = u64::from(request.length);
    if *next + length > part {
        *next = 0;
    }
    let place = *next;
    *next += length.next_multiple_of(step);
    place
}

impl Order {
    /// How many of so many places it comes to.
    fn visited(self, count: u64) -> u64 {
        match self {
            Order::Runs { run, period } => count / period * run + (count % period).min(run),
            _ => count,
        }
    }
}

impl Ordered<'_> {
    #[inline]
    fn next_place(&mut self) -> u64 {
        let index = match self.shared {
            Some(cursor) => cursor.fetch_add(1, Relaxed) % self.count,
            None => {
                let index = self.next;
                self.next = if index + 1 == self.count { 0 } else { index + 1 };
                index
            }
        };
        match self.order {
            Order::Up => index,
            Order::Down => self.count - 1 - index,
            Order::Strided(stride) => strided(index, self.count, stride),
            Order::Runs { run, period } => index / run * period + index % run,
            Order::LastFirst => index.checked_sub(1).unwrap_or(self.count - 1),
        }
    }
}

/// The `index`-th place of 0, s, 2s, … then 1, s + 1, … below `count`: the first `count % s` rounds have one more place.
fn strided(index: u64, count: u64, stride: u64) -> u64 {
    let (short, longer) = (count / stride, count % stride);
    let in_longer = longer * (short + 1);
    let (round, position) = match index.checked_sub(in_longer) {
        None => (index / (short + 1), index % (short + 1)),
        Some(rest) => (longer + rest / short, rest % short),
    };
    round + position * stride
}

impl Shuffled {
    #[inline]
    fn next_place(&mut self) -> u64 {
        let count = self.order.count();
        while self.next >= count {
            self.next -= count;
            self.round += 1;
            self.order = Permutation::new(count, derive_seed(self.seed, self.round));
        }
        let place = self.order.at(self.next);
        self.next += self.workers;
        place
    }
}
