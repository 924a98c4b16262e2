//! The figures of a sample that its attribution rests on, each worked out once. One that nobody measured is none.

use super::neighbours::Neighbours;
use crate::device::{MOST_FOR_OTHERS, share_for_others};
use crate::parts::{grouped, most_of, without_number};
use halfpower_model::sample::{Block, Direction, Part, PartKind, Totals};
use halfpower_model::{Buffering, Durability, Personality, RequestKind, RwFlag, Sample, TargetKind, Workload};

/// The kernel's account is in ticks: over a shorter time it says little.
const ACCOUNTED_S: f64 = 0.1;

/// A sample, and what follows from it.
pub(super) struct Facts<'a> {
    pub(super) sample: &'a Sample,
    pub(super) workload: &'a Workload,
    pub(super) neighbours: Neighbours,
    /// Of the measured time, the flush and the closing at its end, in which no request goes.
    pub(super) at_end: f64,
    /// Of the workers' time, its end included, what they were on a processor; none where nobody counted.
    pub(super) running: Option<f64>,
    /// Of the workers' time, what they were ready and had no processor; none where the kernel does not count it.
    pub(super) waiting: Option<f64>,
    /// Of the workers' time, what their own threads were on a processor; none of others than simulated machines.
    pub(super) threads: Option<f64>,
    /// Requests that may be outstanding at once.
    pub(super) outstanding: u64,
    /// Share of the time that a request was outstanding at the device; none where it has no counters.
    pub(super) at_device: Option<f64>,
    /// Whether the workers look for completions instead of sleeping, and so use a processor whatever sets the pace.
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
            at_end: (sample.flush_s.unwrap_or(0.0) / sample.elapsed_s).clamp(0.0, 1.0),
            running: (used_s > 0.0).then(|| share(used_s)),
            waiting: sample.cpu.waited_s.map(share),
            threads: sample.cpu.threads_s.map(share),
            outstanding: u64::from(workload.depth) * u64::from(workload.workers),
            at_device: sample.block.as_ref().map(|block| block.busy_fraction),
            polls: polls(sample),
        }
    }

    /// Of the workers' time, what they ran or wanted to.
    pub(super) fn wanting(&self) -> Option<f64> {
        Some(self.running? + self.waiting.unwrap_or(0.0))
    }

    /// Whether requests go past the file cache.
    pub(super) fn is_direct(&self) -> bool {
        self.workload.buffering.is_direct()
    }

    /// Whether nothing is moved.
    pub(super) fn is_null(&self) -> bool {
        self.workload.personality == Personality::Null || self.sample.environment.target.kind == TargetKind::Null
    }

    /// Whether writes may stay in the file cache, and nobody waits until they are stored.
    pub(super) fn writes_into_memory(&self) -> bool {
        let workload = self.workload;
        workload.operation.writes()
            && workload.buffering == Buffering::Buffered
            && matches!(workload.durability, Durability::None | Durability::FlushAtEnd)
            && !workload.operation.has(RequestKind::Flush)
            && !workload.rw_flags.has(RwFlag::Dsync)
    }

    /// What was asked for in one direction.
    pub(super) fn asked(&self, writes: bool) -> Option<&Totals> {
        let totals = if writes { &self.sample.write } else { &self.sample.read };
        totals.as_ref().filter(|totals| totals.requests > 0)
    }

    /// What the device did in one direction, a second: requests and bytes. The counters are of the warm-up as well.
    pub(super) fn device_rates(&self, writes: bool) -> Option<(f64, f64)> {
        let of = |block: &Block| if writes { block.write } else { block.read };
        let Direction { requests, bytes, .. } = self.sample.block.as_ref().and_then(of)?;
        let counted_s = self.sample.elapsed_s + self.workload.warmup.seconds();
        Some((requests as f64 / counted_s, bytes as f64 / counted_s))
    }

    /// Bytes a second that went to or came from the storage in one direction; none where nobody knows how many did.
    pub(super) fn storage_bytes_per_s(&self, writes: bool) -> Option<f64> {
        let asked = self.asked(writes)?;
        if self.is_direct() {
            return Some(asked.bytes_per_s.0 * self.copies(writes));
        }
        self.device_rates(writes).map(|(_, bytes)| bytes)
    }

    /// Requests a second in one direction, each way there is to count them: as they were asked for, as the device saw them.
    pub(super) fn storage_requests_per_s(&self, writes: bool) -> Vec<f64> {
        let Some(asked) = self.asked(writes) else { return Vec::new() };
        let asked = self.is_direct().then(|| asked.requests_per_s * self.copies(writes));
        asked.into_iter().chain(self.device_rates(writes).map(|(requests, _)| requests)).collect()
    }

    /// Share of the machine's processor time that was used, where most of it was the workers' own and the interrupts'; none where
    /// others had more, or nobody counted.
    pub(super) fn own_machine_busy(&self) -> Option<f64> {
        let account = self.sample.cpu.system?;
        let workers_s = self.running? * self.sample.elapsed_s * f64::from(self.workload.workers);
        let own_s = workers_s + account.irq_s + account.softirq_s;
        self.machine_busy().filter(|_| own_s > account.busy_s / 2.0 && account.wall_s >= ACCOUNTED_S)
    }

    /// `; other programs caused 81 % of the device's bytes` where that is most of them; else empty.
    pub(super) fn for_others(&self) -> String {
        let share = share_for_others(self.sample).filter(|share| *share >= MOST_FOR_OTHERS);
        share
            .map(|share| format!("; other programs caused {} of the device's bytes", percent(share)))
            .unwrap_or_default()
    }

    /// `the device had requests outstanding 70 % of the time`, `it had …`; of several devices, that it is their mean.
    pub(super) fn had(&self, who: &str, share: f64) -> String {
        let words = self.sample.block.as_ref().map(|block| block.outstanding(&percent(share)));
        format!("{who} had {}", words.unwrap_or_default())
    }

    /// Whether it is of a simulated machine, which tells how busy each part was.
    pub(super) fn knows_parts(&self) -> bool {
        !self.sample.parts.is_empty()
    }

    /// Requests outstanding at the device on average; none where nobody counted.
    pub(super) fn at_once(&self) -> Option<f64> {
        self.sample.block.as_ref()?.outstanding_mean
    }

    /// Of a simulated machine, its busiest device and that one's share of the time; none of others.
    pub(super) fn busiest_device(&self) -> Option<(&str, f64)> {
        let devices = self.sample.parts.iter().filter(|part| part.kind == PartKind::Device);
        let groups = grouped(devices.map(|part| (part.name.as_str(), part.kind, part.busy)));
        groups.first().map(|((name, _), shares)| (*name, most_of(shares)))
    }

    /// The one device of a simulated machine that has something to do, and what it is called without its number; none where several have.
    pub(super) fn only_arm(&self) -> Option<(&str, &Part)> {
        let works = |part: &&Part| part.kind == PartKind::Device && part.busy > 0.0;
        let mut devices = self.sample.parts.iter().filter(works);
        let only = devices.next()?;
        devices.next().is_none().then(|| (without_number(&only.name), only))
    }

    /// Whether a simulated arm had what it was asked for pass under it most of the time that it was busy.
    pub(super) fn streams(&self) -> bool {
        let passes = |part: &Part| part.phases.get(Part::PASSING).is_some_and(|share| *share > 0.5);
        self.sample.parts.iter().any(|part| part.kind == PartKind::Device && passes(part))
    }

    /// Of the requests' time, what went into flushes between writes; none where there were none.
    pub(super) fn flushing_between_writes(&self) -> Option<f64> {
        let flush = self.sample.flush.as_ref().filter(|flush| flush.requests > 0 && self.sample.total.bytes > 0)?;
        let time_s = flush.latency_ns.mean? / 1e9 * flush.requests as f64;
        let slots = self.sample.depth_mean.counted.max(f64::from(self.workload.workers));
        Some(time_s / slots / self.sample.elapsed_s)
    }

    fn copies(&self, writes: bool) -> f64 {
        if writes { self.workload.copies() as f64 } else { 1.0 }
    }

    /// Share of the machine's processor time that was used; none where nobody counted.
    pub(super) fn machine_busy(&self) -> Option<f64> {
        let account = self.sample.cpu.system?;
        let all_s = account.total_s();
        (all_s > 0.0).then(|| (account.busy_s + account.steal_s) / all_s)
    }
}

/// Whether the workers look for completions instead of sleeping, and so use a processor whatever sets the pace.
pub(crate) fn polls(sample: &Sample) -> bool {
    let has = |option: &str| sample.instrument.obtained.iter().any(|other| other == option);
    has("iopoll") || has("sqpoll") || sample.workload.rw_flags.has(RwFlag::Hipri)
}

/// For people: `97 %`; of less than a tenth with a digit behind the point.
pub(super) fn percent(share: f64) -> String {
    if share < 0.095 { format!("{:.1} %", share * 100.0) } else { format!("{:.0} %", share * 100.0) }
}
