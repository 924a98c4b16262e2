//! The figures of a sample that the suspects use. Unmeasured figures are none.

use crate::device::{MOST_FOR_OTHERS, share_for_others};
use crate::parts::{grouped, without_number};
use halfpower_model::sample::{Block, Direction, Part, PartKind, Totals};
use halfpower_model::{Durability, Personality, RwFlag, Sample, TargetKind, Workload};

/// Saturated: share of its time that a worker wants a CPU, or a part is busy.
pub(crate) const FULL: f64 = 0.9;
/// Most of the time: from here on flushes, or other users of the CPU, are the bottleneck.
pub(super) const MOST_OF_IT: f64 = 0.5;
/// Below this share of the configured requests, few were outstanding.
pub(super) const FEWER: f64 = 0.75;
/// A device below this load has room.
pub(super) const SPARE: f64 = 0.5;
/// A deeper queue is faster from the first on, and no faster up to the second.
pub(super) const FASTER: f64 = 1.2;
pub(crate) const NO_FASTER: f64 = 1.1;
/// Share of the time whose removal would make it that much faster.
pub(super) const MATTERS: f64 = 1.0 - 1.0 / FASTER;

/// The kernel's CPU accounting is in ticks and too coarse for a shorter time.
const ACCOUNTED_S: f64 = 0.1;

/// Figures of neighbouring cells.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Neighbours {
    /// Highest rate at a deeper queue over this rate. If none was measured, of larger requests, which are no slower by bytes, where
    /// those are no faster.
    pub(crate) deeper: Option<f64>,
    /// Highest rate at a shallower queue over this rate, of these requests or by bytes of smaller ones.
    pub(crate) shallower: Option<f64>,
    /// Of requests of the same operation whose own figures show the link to a server as the limit: lowest and highest rate by bytes.
    pub(crate) link_bytes_per_s: Option<[f64; 2]>,
    /// Share of the sum of each target alone, if the targets limit one another.
    pub(crate) together: Option<f64>,
    /// The same at other offsets; none if not measured, or if offsets do not matter to this target.
    pub(crate) places: Option<Places>,
    /// How time grows with request size; none with one size.
    pub(crate) growth: Option<Growth>,
}

/// Highest rates at other offsets over this rate; none if not measured.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Places {
    /// Offsets that the medium reaches faster: sequential, or reads within a buffer-sized region.
    pub(crate) nearer: Option<f64>,
    /// Of sequential requests: random ones.
    pub(crate) at_random: Option<f64>,
    /// Of streams with different starts: the fastest over the slowest.
    pub(crate) everywhere: Option<f64>,
    /// Of writes: reads within a buffer-sized region, on the same path.
    pub(crate) reads_nearer: Option<f64>,
}

/// Time that one more request at the device adds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Growth {
    /// Fixed part.
    pub(crate) fixed_ns: f64,
    /// Per byte.
    pub(crate) ns_per_byte: f64,
}

/// A sample and its derived figures.
pub(super) struct Facts<'a> {
    pub(super) sample: &'a Sample,
    pub(super) workload: &'a Workload,
    pub(super) neighbours: Neighbours,
    /// Time of all workers.
    pub(super) workers_s: f64,
    /// Share of the measured time in the final flush and close, without requests.
    pub(super) at_end: f64,
    /// Share of the workers' time on a CPU.
    pub(super) running: Option<f64>,
    /// Share of the workers' time ready without a CPU.
    pub(super) waiting: Option<f64>,
    /// Share of the workers' time on a CPU in their own threads, if counted separately.
    pub(super) threads: Option<f64>,
    /// Configured outstanding requests.
    pub(super) outstanding: u64,
    /// Share of the time with a request at the device; none without counters, or if the run was too short for them.
    pub(super) at_device: Option<f64>,
    /// Whether the workers poll, and so always use a CPU.
    pub(super) polls: bool,
}

impl<'a> Facts<'a> {
    pub(super) fn of(sample: &'a Sample, neighbours: Neighbours) -> Facts<'a> {
        let workload = &sample.workload;
        let workers_s = sample.elapsed_s * f64::from(workload.workers);
        let share = |time_s: f64| time_s / workers_s;
        let used_s = sample.cpu.lower.user_s + sample.cpu.lower.system_s;
        Facts {
            sample,
            workload,
            neighbours,
            workers_s,
            at_end: (sample.flush_s.unwrap_or(0.0) / sample.elapsed_s).clamp(0.0, 1.0),
            running: (used_s > 0.0).then(|| share(used_s)),
            waiting: sample.cpu.waited_s.map(share),
            threads: sample.cpu.threads_s.map(share),
            outstanding: u64::from(workload.depth) * u64::from(workload.workers),
            at_device: sample.device_busy(),
            polls: polls(sample),
        }
    }

    /// Share of the workers' time running or ready.
    pub(super) fn wanting(&self) -> Option<f64> {
        Some(self.running? + self.waiting.unwrap_or(0.0))
    }

    /// Whether requests bypass the page cache.
    pub(super) fn is_direct(&self) -> bool {
        self.workload.buffering.is_direct()
    }

    /// Whether the kernel copies the writes into the page cache.
    pub(super) fn copies_into_memory(&self) -> bool {
        let is_moved = !self.is_null() && self.sample.total.bytes > 0;
        is_moved && self.writes_into_memory() && self.workload.personality != Personality::Mmap
    }

    /// Whether no data is moved.
    pub(super) fn is_null(&self) -> bool {
        self.workload.personality == Personality::Null || self.sample.environment.target.kind == TargetKind::Null
    }

    /// Whether writes may stay in the page cache unflushed.
    pub(super) fn writes_into_memory(&self) -> bool {
        let is_unflushed = matches!(self.workload.durability, Durability::None | Durability::FlushAtEnd);
        is_unflushed && self.workload.writes_to_cache()
    }

    /// Requested totals of one direction.
    pub(super) fn asked(&self, writes: bool) -> Option<&Totals> {
        let totals = if writes { &self.sample.write } else { &self.sample.read };
        totals.as_ref().filter(|totals| totals.requests > 0)
    }

    /// Device requests and bytes per second in one direction. The counters include the warm-up.
    pub(super) fn device_rates(&self, writes: bool) -> Option<(f64, f64)> {
        let of = |block: &Block| if writes { block.write } else { block.read };
        let Direction { requests, bytes, .. } = self.sample.block.as_ref().and_then(of)?;
        let counted_s = self.sample.elapsed_s + self.workload.warmup.seconds();
        Some((requests as f64 / counted_s, bytes as f64 / counted_s))
    }

    /// Bytes per second at the storage in one direction; none if unknown.
    pub(super) fn storage_bytes_per_s(&self, writes: bool) -> Option<f64> {
        let asked = self.asked(writes)?;
        if self.is_direct() {
            return Some(asked.bytes_per_s.0 * self.copies(writes));
        }
        self.device_rates(writes).map(|(_, bytes)| bytes)
    }

    /// Requests per second in one direction: as requested and as counted by the device.
    pub(super) fn storage_requests_per_s(&self, writes: bool) -> Vec<f64> {
        let Some(asked) = self.asked(writes) else { return Vec::new() };
        let asked = self.is_direct().then(|| asked.requests_per_s * self.copies(writes));
        asked.into_iter().chain(self.device_rates(writes).map(|(requests, _)| requests)).collect()
    }

    /// Busy share of all CPUs, if the workers and interrupts used most of it.
    pub(super) fn own_machine_busy(&self) -> Option<f64> {
        let account = self.sample.cpu.system?;
        let own_s = self.running? * self.workers_s + account.irq_s + account.softirq_s;
        self.machine_busy().filter(|_| own_s > account.busy_s / 2.0 && account.wall_s >= ACCOUNTED_S)
    }

    /// `; 81 % of the device's traffic came from other programs …` if that is most of them; else empty.
    pub(super) fn for_others(&self) -> String {
        let share = share_for_others(self.sample).filter(|share| *share >= MOST_FOR_OTHERS).map(percent);
        share
            .map(|share| format!("; {share} of the device's traffic came from other programs or file-system metadata"))
            .unwrap_or_default()
    }

    /// `the device had requests outstanding 70 % of the time`; for several devices, their mean.
    pub(super) fn had(&self, who: &str, share: f64) -> String {
        let words = self.sample.block.as_ref().map(|block| block.outstanding(&percent(share)));
        format!("{who} had {}", words.unwrap_or_default())
    }

    /// Whether the testbed reported its parts.
    pub(super) fn knows_parts(&self) -> bool {
        !self.sample.parts.is_empty()
    }

    /// Mean requests outstanding at the device; none if not counted.
    pub(super) fn at_once(&self) -> Option<f64> {
        self.sample.block.as_ref()?.outstanding_mean
    }

    /// The devices among the reported parts.
    fn devices(&self) -> impl Iterator<Item = &Part> {
        self.sample.parts.iter().filter(|part| part.kind == PartKind::Device)
    }

    /// The busiest of them without its number, and its share.
    pub(super) fn busiest_device(&self) -> Option<(&str, f64)> {
        let groups = grouped(self.devices(), |part| (part.name.as_str(), part.kind, part.busy));
        groups.first().map(|group| (without_number(&group[0].name), group[0].busy))
    }

    /// Whether an arm transferred most of the time it was busy.
    pub(super) fn streams(&self) -> bool {
        self.devices().any(|part| phase(part, Part::PASSING) > 0.5)
    }

    /// Share of the requests' time in flushes between writes; none without flushes.
    pub(super) fn flushing_between_writes(&self) -> Option<f64> {
        let flush = self.sample.flush.as_ref().filter(|flush| flush.requests > 0 && self.sample.total.bytes > 0)?;
        let time_s = flush.latency_ns.mean? / 1e9 * flush.requests as f64;
        let slots = self.sample.depth_mean.counted.max(f64::from(self.workload.workers));
        Some(time_s / slots / self.sample.elapsed_s)
    }

    fn copies(&self, writes: bool) -> f64 {
        if writes { self.workload.copies() as f64 } else { 1.0 }
    }

    /// Busy share of all CPUs; none if not counted.
    pub(super) fn machine_busy(&self) -> Option<f64> {
        let account = self.sample.cpu.system?;
        let all_s = account.total_s();
        (all_s > 0.0).then(|| (account.busy_s + account.steal_s) / all_s)
    }
}

/// Whether the workers poll, and so always use a CPU.
pub(crate) fn polls(sample: &Sample) -> bool {
    let has = |option: &str| sample.instrument.obtained.iter().any(|other| other == option);
    has("iopoll") || has("sqpoll") || sample.workload.rw_flags.has(RwFlag::Hipri)
}

/// Share of a part's busy time in a phase.
pub(super) fn phase(part: &Part, phase: &str) -> f64 {
    part.phases.get(phase).copied().unwrap_or(0.0)
}

/// `97 %`; below a tenth with one decimal.
pub(super) fn percent(share: f64) -> String {
    if share < 0.095 { format!("{:.1} %", share * 100.0) } else { format!("{:.0} %", share * 100.0) }
}
