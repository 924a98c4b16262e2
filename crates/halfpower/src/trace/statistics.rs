//! What a trace holds: mix, sizes, order, arrivals, depth, latency, reuse, and where and when its requests are.

use super::reuse::Reuse;
use halfpower_model::stream::RequestKind;
use halfpower_model::trace::{Contents, Entry};
use halfpower_model::{Histogram, Nanoseconds};
use serde::Serialize;
use std::collections::HashMap;

/// Ends of earlier requests that a sequential one may begin at.
const ENDS: usize = 32;
/// Sizes that are told apart.
const SIZES: usize = 4096;
/// Window in which arrivals are counted.
const WINDOW_NS: u64 = 10_000_000;
/// Fewer windows do not show how requests arrive: of so few, independent arrivals are outside of EVEN to BURSTS by chance.
const WINDOWS_MIN: u64 = 20;
/// Arrivals with a smaller dispersion are even, with this one or a larger in bursts.
pub(crate) const EVEN: f64 = 0.5;
pub(crate) const BURSTS: f64 = 2.0;
/// Columns and rows of the map of places over time.
pub(crate) const COLUMNS: usize = 64;
pub(crate) const ROWS: usize = 12;
/// Sizes of caches that are judged, as powers of two: 16 MiB to 64 GiB.
const CACHES: [usize; 7] = [24, 26, 28, 30, 32, 34, 36];

/// The figures of one kind of request.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct OfKind {
    pub(crate) kind: RequestKind,
    pub(crate) requests: u64,
    pub(crate) bytes: u64,
    /// Sizes with their number of requests, the most frequent first.
    pub(crate) sizes: Vec<(u32, u64)>,
    /// Requests that begin where one of the 32 before ended.
    pub(crate) sequential: u64,
    pub(crate) latency_p50_ns: Option<u64>,
    pub(crate) latency_p99_ns: Option<u64>,
}

/// The figures of a trace.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Statistics {
    pub(crate) contents: Contents,
    pub(crate) kinds: Vec<OfKind>,
    /// Mean rate.
    pub(crate) requests_per_s: f64,
    /// Requests of the busiest second.
    pub(crate) busiest_second: u64,
    /// Variance of the arrivals in 10 ms over their mean: 1 for independent arrivals, 0 for even ones; none of a short trace.
    pub(crate) dispersion: Option<f64>,
    pub(crate) gap_p50_ns: Option<u64>,
    pub(crate) gap_p99_ns: Option<u64>,
    /// Mean number outstanding, by Little's law; none if the trace has no latencies.
    pub(crate) depth_mean: Option<f64>,
    /// Bytes of the different blocks of 4 KiB that were accessed, estimated.
    pub(crate) working_set_bytes: u64,
    /// Share of the accesses that a cache of so many bytes would serve.
    pub(crate) cache_serves: Vec<(u64, f64)>,
    /// Share of the accesses to the most accessed fifth of the blocks.
    pub(crate) hottest_fifth: f64,
    /// Requests by place (rows, lowest first) and time (columns).
    pub(crate) map: Vec<Vec<u64>>,
}

/// Counts a kind.
#[derive(Debug, Default)]
struct Counts {
    sizes: HashMap<u32, u64>,
    sequential: u64,
    latency: Histogram,
}

/// Makes the figures from entries in order.
#[derive(Debug)]
pub(crate) struct Gatherer {
    contents: Contents,
    kinds: [Counts; 4],
    ends: [u64; ENDS],
    next_end: usize,
    /// None before the first.
    last_at: Option<u64>,
    gaps: Histogram,
    /// The window that is being counted, its arrivals, and sums over those before.
    window: u64,
    in_window: u64,
    sum: f64,
    squares: f64,
    second: u64,
    in_second: u64,
    busiest_second: u64,
    latency_sum: f64,
    reuse: Reuse,
    map: Vec<Vec<u64>>,
}

impl Gatherer {
    /// For entries with these sums.
    pub(crate) fn new(contents: Contents) -> Gatherer {
        Gatherer {
            contents,
            kinds: Default::default(),
            ends: [u64::MAX; ENDS],
            next_end: 0,
            last_at: None,
            gaps: Histogram::default(),
            window: 0,
            in_window: 0,
            sum: 0.0,
            squares: 0.0,
            second: 0,
            in_second: 0,
            busiest_second: 0,
            latency_sum: 0.0,
            reuse: Reuse::default(),
            map: vec![vec![0; COLUMNS]; ROWS],
        }
    }

    /// Counts an entry.
    pub(crate) fn add(&mut self, entry: &Entry) {
        let (request, at) = (entry.request, entry.at.0);
        if let Some(latency) = entry.latency {
            self.kinds[request.kind as usize].latency.record(latency.0);
            self.latency_sum += latency.0 as f64;
        }
        if let Some(before) = self.last_at.replace(at) {
            self.gaps.record(at.saturating_sub(before));
        }
        if at / WINDOW_NS != self.window {
            self.end_window();
            self.window = at / WINDOW_NS;
        }
        self.in_window += 1;
        if at / 1_000_000_000 != self.second {
            (self.second, self.in_second) = (at / 1_000_000_000, 0);
        }
        self.in_second += 1;
        self.busiest_second = self.busiest_second.max(self.in_second);
        if request.kind == RequestKind::Flush {
            return;
        }
        let counts = &mut self.kinds[request.kind as usize];
        let full = counts.sizes.len() >= SIZES;
        if !full || counts.sizes.contains_key(&request.length) {
            *counts.sizes.entry(request.length).or_default() += 1;
        }
        counts.sequential += u64::from(self.ends.contains(&request.offset));
        self.ends[self.next_end] = request.offset + u64::from(request.length);
        self.next_end = (self.next_end + 1) % ENDS;
        if request.kind != RequestKind::Trim {
            self.reuse.access(request.offset, request.length.into());
        }
        let share = |part: u64, whole: u64, count: usize| {
            ((part as f64 / whole.max(1) as f64 * count as f64) as usize).min(count - 1)
        };
        let row = share(request.offset, self.contents.end.0, ROWS);
        self.map[row][share(at, self.contents.duration.0, COLUMNS)] += 1;
    }

    /// Adds a window that is over; the last one of a trace is not.
    fn end_window(&mut self) {
        let count = std::mem::take(&mut self.in_window) as f64;
        self.sum += count;
        self.squares += count * count;
    }

    /// The figures.
    pub(crate) fn finish(self) -> Statistics {
        let contents = self.contents;
        let per_s = |amount: f64| if contents.duration.0 > 0 { amount / contents.duration.seconds() } else { 0.0 };
        // Windows without any count too.
        let windows = contents.duration.0 / WINDOW_NS;
        let mean = self.sum / windows as f64;
        let variance = self.squares / windows as f64 - mean * mean;
        let latencies: u64 = self.kinds.iter().map(|counts| counts.latency.count()).sum();
        // Those whose latency is unknown took as long as the others.
        let moving = contents.total() - contents.requests[RequestKind::Flush as usize];
        let outstanding = per_s(self.latency_sum / 1e9 / latencies as f64 * moving as f64);
        let of_kind = |(kind, counts): (RequestKind, Counts)| {
            let mut sizes: Vec<(u32, u64)> = counts.sizes.into_iter().collect();
            sizes.sort_unstable_by_key(|(size, count)| (std::cmp::Reverse(*count), *size));
            let (requests, bytes) = (contents.requests[kind as usize], contents.bytes[kind as usize]);
            let [latency_p50_ns, latency_p99_ns] = [0.5, 0.99].map(|quantile| counts.latency.quantile(quantile));
            let sequential = counts.sequential;
            (requests > 0).then_some(OfKind {
                kind,
                requests,
                bytes,
                sizes,
                sequential,
                latency_p50_ns,
                latency_p99_ns,
            })
        };
        Statistics {
            contents,
            kinds: RequestKind::ALL.into_iter().zip(self.kinds).filter_map(of_kind).collect(),
            requests_per_s: per_s(contents.total() as f64),
            busiest_second: self.busiest_second,
            dispersion: (windows >= WINDOWS_MIN && mean > 0.0).then(|| variance / mean),
            gap_p50_ns: self.gaps.quantile(0.5),
            gap_p99_ns: self.gaps.quantile(0.99),
            depth_mean: (latencies > 0 && contents.duration.0 > 0)
                .then_some(outstanding.min(contents.outstanding.into())),
            working_set_bytes: self.reuse.working_set() as u64,
            cache_serves: CACHES.map(|bits| (1 << bits, self.reuse.served(bits))).to_vec(),
            hottest_fifth: self.reuse.of_the_hottest_fifth(),
            map: self.map,
        }
    }
}

impl Statistics {
    /// Share of the reads and writes that are sequential.
    pub(crate) fn sequential_share(&self) -> f64 {
        let moving = self.kinds.iter().filter(|of| of.kind != RequestKind::Flush);
        let (sequential, all) = moving.fold((0, 0), |(sum, all), of| (sum + of.sequential, all + of.requests));
        sequential as f64 / u64::max(all, 1) as f64
    }

    /// Share of the requests that are of a kind.
    pub(crate) fn share(&self, kind: RequestKind) -> f64 {
        self.contents.requests[kind as usize] as f64 / self.contents.total().max(1) as f64
    }

    /// Mean size of reads, writes and trims.
    pub(crate) fn mean_bytes(&self) -> f64 {
        let moving = self.contents.total() - self.contents.requests[RequestKind::Flush as usize];
        self.contents.bytes.iter().sum::<u64>() as f64 / moving.max(1) as f64
    }

    /// How long it lasts.
    pub(crate) fn duration(&self) -> Nanoseconds {
        self.contents.duration
    }
}
