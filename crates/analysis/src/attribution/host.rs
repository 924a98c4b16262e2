//! Suspects above the storage: load generator, requested rate, CPU, memory, dirty-page throttling.
//!
//! - *Generator*: the cost of the empty loop, measured just before, times the requests (`generator_bound`).
//! - *CPU*: the workers ran or waited to run for 90 % of their time. The kernel counts both per thread in nanoseconds
//!   (getrusage(2); Linux, Documentation/scheduler/sched-stats.rst). Polling workers show nothing. Waits of kernel threads,
//!   which complete direct writes, are not counted: if the whole machine is busy, the CPU is not ruled out, and it is named
//!   if the device is idle meanwhile.
//! - *Memory*: the device moved less than half of the bytes read, or writes ended in the page cache. A cache that misses a few
//!   requests is excluded: the device had requests for half of their time or longer while the workers slept.
//! - *Dirty pages*: the kernel throttles writers from the midpoint of its two thresholds on (Linux, mm/page-writeback.c,
//!   balance_dirty_pages): the writers slept, and that much was dirty. Remedy: sysctl vm.dirty_bytes.

use super::facts::{Facts, percent};
use super::simulated::none_full;
use super::suspect::{Owner, Standing, Sureness};
use super::thresholds::{FEWER, FULL, MOST_OF_IT, SPARE};
use crate::device::{BLOCKS_EACH_MAX, PER_REQUEST_MAX};
use halfpower_model::units::significant;
use halfpower_model::{Bytes, BytesPerSecond, CachePolicy, Durability, Pattern, Personality, Quantity, Rate};

/// If all CPUs are busy this long, one of them is nearly always short.
const NEARLY_ALL: f64 = 0.85;
/// A worker waits for others from this share of its time on.
const CROWDED: f64 = 0.3;
/// Below this share of the bytes read from the device, memory served them.
const FROM_DEVICE: f64 = 0.5;
/// Share of the time above the throttling threshold: the bottleneck from the first value on, irrelevant up to the second.
const BRAKED: f64 = 0.5;
const BRAKED_AT_ALL: f64 = 0.1;
/// Device reads per write from which read-modify-write counts.
const READS_FIRST: f64 = 0.25;
/// Flushes below this share of the time do not matter.
const FLUSHED_AT_ALL: f64 = 0.25;
/// A stream that stalls this long in flushes loses as much again.
const STOOD_STILL: f64 = 0.1;
/// A device this idle delays hardly any request.
const IDLE: f64 = 0.1;

pub(super) fn generator(facts: &Facts<'_>) -> Standing {
    let sample = facts.sample;
    if sample.generator_bound {
        let reason = match (facts.is_null(), sample.instrument.loop_ns_per_request) {
            (true, _) => "requests complete immediately".to_owned(),
            (false, Some(loop_ns)) => format!("its loop alone takes {} ns per request", significant(loop_ns)),
            (false, None) => "the sample is marked generator-bound".to_owned(),
        };
        return Standing::Named(Owner::Generator, Sureness::Sure, reason + &waited(facts));
    }
    match sample.instrument.loop_ns_per_request {
        Some(loop_ns) => {
            let workers_ns = facts.sample.elapsed_s * 1e9 * f64::from(facts.workload.workers);
            let share = loop_ns * sample.total.requests as f64 / workers_ns;
            Standing::RuledOut(format!("the load generator (its loop took {} of the time)", percent(share)))
        }
        None => Standing::Open("the load generator: its loop cost was not measured".to_owned()),
    }
}

pub(super) fn rate(facts: &Facts<'_>) -> Standing {
    let total = &facts.sample.total;
    let (share, asked) = match facts.workload.rate {
        None => return Standing::Absent,
        Some(Rate::Requests(rate)) => {
            (total.requests_per_s / rate as f64, Quantity::RequestsPerSecond.format(rate as f64))
        }
        Some(Rate::Bytes(rate)) => (total.bytes_per_s.0 / rate as f64, BytesPerSecond(rate as f64).to_string()),
    };
    match share >= 0.97 {
        true => Standing::Named(
            Owner::Rate,
            Sureness::Sure,
            format!("it reached {} of the requested {asked}", percent(share)),
        ),
        false => Standing::RuledOut(format!("the requested rate ({} of it reached)", percent(share))),
    }
}

/// Workers that were ready but had no CPU.
pub(super) fn crowded_processor(facts: &Facts<'_>) -> Standing {
    let Some((waiting, sureness)) = crowded(facts) else { return Standing::Absent };
    let share = percent(waiting);
    let idle = match (sureness, facts.at_device) {
        (Sureness::Likely, Some(share)) => format!(", and {}", facts.had("the device", share)),
        _ => String::new(),
    };
    let pinned = pinned(facts);
    let reason = format!(
        "the workers were ready {share} of their time but had no CPU{pinned}, because other programs used it{idle}"
    );
    Standing::Named(Owner::Processor, sureness, reason)
}

/// The share of their time that workers waited for a CPU, if that is the bottleneck.
fn crowded(facts: &Facts<'_>) -> Option<(f64, Sureness)> {
    let (wanting, waiting) = (facts.wanting()?, facts.waiting?);
    let is_spare = facts.at_device.is_some_and(|busy| busy < SPARE);
    match !facts.polls {
        true if wanting >= FULL && waiting >= CROWDED => Some((waiting, Sureness::Sure)),
        true if waiting >= MOST_OF_IT && is_spare => Some((waiting, Sureness::Likely)),
        _ => None,
    }
}

/// `, and the workers waited 58 % of their time …` if that slows any bottleneck; else empty.
fn waited(facts: &Facts<'_>) -> String {
    let words = |(share, _)| {
        format!(", and the workers waited {} of their time for a CPU that other programs used", percent(share))
    };
    crowded(facts).map(words).unwrap_or_default()
}

pub(super) fn processor(facts: &Facts<'_>) -> Standing {
    if facts.polls {
        return Standing::Open("the CPU: the workers poll, so their CPU time does not show saturation".to_owned());
    }
    let Some(wanting) = facts.wanting() else {
        return Standing::Open("the CPU: the workers' CPU time was not measured".to_owned());
    };
    let share = of_their_time(facts, wanting);
    // Completion work of a simulated machine belongs to no worker and runs on any CPU, so its parts show it. Submission runs on
    // one CPU per worker, even if others are idle.
    let is_told = facts.knows_parts() && facts.outstanding > u64::from(facts.workload.workers);
    if wanting >= MOST_OF_IT && is_told {
        return facts
            .threads
            .filter(|share| *share >= FULL)
            .map_or(Standing::Absent, |share| one_for_each(facts, share));
    }
    if wanting >= FULL {
        let reason = format!("the workers ran or waited for a CPU {share}{}", pinned(facts));
        return Standing::Named(Owner::Processor, Sureness::Sure, reason);
    }
    if let Some(busy) = facts.own_machine_busy().filter(|busy| *busy >= NEARLY_ALL) {
        let sureness = if busy >= FULL { Sureness::Sure } else { Sureness::Likely };
        let reason = format!("all CPUs were busy {} of the time, mostly with these requests", percent(busy));
        return Standing::Named(Owner::Processor, sureness, reason);
    }
    let kernel_s = facts.sample.cpu.system.and_then(|account| account.kernel_threads_s).unwrap_or(0.0);
    let kernel = kernel_s / facts.sample.elapsed_s;
    if kernel > FROM_DEVICE {
        return Standing::Open(format!("the CPU: kernel threads used {} of one CPU", percent(kernel)));
    }
    // Memory was named for this already.
    if wanting >= MOST_OF_IT && copies_into_memory(facts) {
        return Standing::Absent;
    }
    if let Some(used) = facts.machine_busy().filter(|used| *used >= FULL && !facts.is_null()) {
        return short_processors(facts, used);
    }
    match wanting >= MOST_OF_IT {
        true => Standing::Open(format!("the CPU: the workers wanted it {share}")),
        false => Standing::RuledOut(format!("the CPU (the workers wanted it {share})")),
    }
}

/// Workers that submit all the time, each on one CPU.
fn one_for_each(facts: &Facts<'_>, share: f64) -> Standing {
    let share = percent(share.min(1.0));
    let reason = match facts.workload.workers {
        1 => format!("the worker thread made requests {share} of its time on one CPU; more workers can use more CPUs"),
        many => format!(
            "the {many} worker threads made requests {share} of their time, each on one CPU; more workers can use more CPUs"
        ),
    };
    Standing::Named(Owner::Processor, Sureness::Sure, reason)
}

/// If all CPUs are used, a request may wait for a kernel thread, which is no worker's time; an idle device confirms it.
fn short_processors(facts: &Facts<'_>, used: f64) -> Standing {
    let used = format!("{} of all CPU time was used", percent(used));
    match facts.at_device {
        Some(share) if share < IDLE && facts.is_direct() => Standing::Named(
            Owner::Processor,
            Sureness::Likely,
            format!("{used}, and {}", facts.had("the device", share)),
        ),
        _ => Standing::Open(format!("the CPU: {used}, so requests may have waited for it")),
    }
}

/// ` (pinned to CPU 1)`; empty if not pinned.
fn pinned(facts: &Facts<'_>) -> String {
    let cpus: Vec<String> = facts.workload.cpus.iter().map(u32::to_string).collect();
    if cpus.is_empty() { String::new() } else { format!(" (pinned to CPU {})", cpus.join(" and ")) }
}

pub(super) fn memory(facts: &Facts<'_>) -> Standing {
    if facts.is_null() || facts.is_direct() || facts.sample.total.bytes == 0 {
        return Standing::Absent;
    }
    // A warm cache was requested, so who uses the CPU is the finding.
    let is_asked_for = facts.workload.cache == CachePolicy::Warm || facts.writes_into_memory();
    if is_asked_for && crowded(facts).is_some() {
        return Standing::Absent;
    }
    if copies_into_memory(facts) {
        return writes_into_memory(facts);
    }
    let Some(read) = facts.asked(false) else { return Standing::Absent };
    match facts.device_rates(false) {
        Some((_, bytes_per_s)) if bytes_per_s < FROM_DEVICE * read.bytes_per_s.0 => {
            let share = bytes_per_s / read.bytes_per_s.0;
            if let Some(missed) = misses(facts) {
                return Standing::RuledOut(format!(
                    "memory (it served {} of the bytes, but the rest spent {} of the requests' time at the device)",
                    percent(1.0 - share),
                    percent(missed)
                ));
            }
            let sureness = if share < 0.1 { Sureness::Sure } else { Sureness::Likely };
            let reason = format!("only {} of the bytes read came from the device{}", percent(share), waited(facts));
            Standing::Named(Owner::Memory, sureness, reason)
        }
        Some(_) => Standing::RuledOut("memory (the bytes read came from the device)".to_owned()),
        None if facts.sample.cached_share_before.is_some_and(|share| share > 0.99) => {
            let reason = "the page cache held all of it before the first request".to_owned();
            Standing::Named(Owner::Memory, Sureness::Likely, reason)
        }
        None => Standing::Open("memory: how much the page cache served is unknown".to_owned()),
    }
}

/// The share of the requests' time at the device, if that is most of it and the workers slept.
fn misses(facts: &Facts<'_>) -> Option<f64> {
    let at_device = match facts.at_once() {
        Some(at_once) => at_once / facts.sample.depth_mean.counted.max(1.0),
        None => facts.at_device.filter(|_| facts.outstanding == 1)?,
    };
    let sleeps = facts.wanting()? < SPARE;
    (sleeps && at_device >= MOST_OF_IT).then_some(at_device.min(1.0))
}

/// Whether the kernel copies the writes into the page cache.
fn copies_into_memory(facts: &Facts<'_>) -> bool {
    let is_moved = !facts.is_null() && facts.sample.total.bytes > 0;
    is_moved && facts.writes_into_memory() && facts.workload.personality != Personality::Mmap
}

/// `88 % of their time`, and whether that includes the flush.
fn of_their_time(facts: &Facts<'_>, share: f64) -> String {
    let end = if facts.at_end > 0.0 { ", including the final flush" } else { "" };
    format!("{} of their time{end}", percent(share.min(1.0)))
}

/// Until the kernel throttles it, a buffered writer only copies.
fn writes_into_memory(facts: &Facts<'_>) -> Standing {
    match facts.wanting() {
        Some(wanting) if wanting >= FULL => {
            let reason = format!(
                "the writes end in the page cache, and the workers ran {}",
                of_their_time(facts, facts.running.unwrap_or(0.0))
            );
            Standing::Named(Owner::Memory, Sureness::Likely, reason)
        }
        Some(wanting) if wanting >= MOST_OF_IT => Standing::Open(format!(
            "memory: copying into the page cache may be the limit; the workers wanted the CPU {}",
            of_their_time(facts, wanting)
        )),
        Some(wanting) => Standing::RuledOut(format!(
            "copying into the page cache (the workers wanted the CPU {})",
            of_their_time(facts, wanting)
        )),
        None => Standing::Absent,
    }
}

pub(super) fn dirty_pages(facts: &Facts<'_>) -> Standing {
    if !facts.writes_into_memory() {
        return Standing::Absent;
    }
    let Some(dirty) = facts.sample.dirty else {
        if facts.knows_parts() {
            // A simulated machine limits writers by the size of its page cache only.
            return Standing::Absent;
        }
        return Standing::Open("dirty-page throttling: dirty memory was not observed".to_owned());
    };
    let from = Bytes(dirty.wait_from_bytes().0 >> 20 << 20);
    let Some(braked) = dirty.braked_share else {
        return Standing::Open("dirty-page throttling: dirty memory was not observed during the writes".to_owned());
    };
    let words = format!("more than {from} was dirty {} of the time", percent(braked));
    // In the final flush the writers sleep unthrottled.
    let slept = facts.wanting().map(|wanting| 1.0 - wanting - facts.at_end);
    match slept {
        _ if braked < BRAKED_AT_ALL => Standing::RuledOut(format!("dirty-page throttling ({words})")),
        Some(slept) if slept > 1.0 - FULL && slept > facts.at_end && braked >= BRAKED => Standing::Named(
            Owner::DirtyPages,
            Sureness::Sure,
            format!("{words}, and the writers slept {} of their time", percent(slept)),
        ),
        Some(slept) if slept > 1.0 - FULL => Standing::Open(format!("dirty-page throttling at times: {words}")),
        _ => Standing::Absent,
    }
}

/// Buffered writes of partial blocks, which the kernel has to read first.
pub(super) fn read_before_write(facts: &Facts<'_>) -> Standing {
    if facts.knows_parts()
        && facts.workload.grain().0.is_multiple_of(crate::device::block(std::iter::once(facts.sample)).0)
    {
        return parity_before_write(facts);
    }
    let is_of_writes = facts.asked(false).is_none() && !facts.is_direct() && !facts.is_null();
    let (Some(write), true) = (facts.asked(true), is_of_writes) else { return Standing::Absent };
    let Some((reads_per_s, bytes_per_s)) = facts.device_rates(false) else {
        return Standing::Open("read-modify-write: device reads were not counted".to_owned());
    };
    let share = reads_per_s / write.requests_per_s;
    let grain = facts.workload.grain();
    let block = crate::device::block(std::iter::once(facts.sample));
    let is_whole = grain.0.is_multiple_of(block.0);
    // Whole blocks need a read only for a larger unit below, which is read whole: few small reads are another program's.
    if share < READS_FIRST || is_whole && bytes_per_s < READS_FIRST * write.bytes_per_s.0 {
        return Standing::RuledOut(format!("read-modify-write ({share:.2} device reads per write)"));
    }
    let each = bytes_per_s / reads_per_s;
    let moved = BytesPerSecond(bytes_per_s);
    if is_whole {
        return Standing::Open(format!(
            "read-modify-write: the device read {moved}, for other programs or because of a larger unit below"
        ));
    }
    if share > PER_REQUEST_MAX || each > BLOCKS_EACH_MAX * block.0 as f64 {
        return Standing::Open(format!(
            "read-modify-write: the device read {moved}, more than partially written blocks need"
        ));
    }
    Standing::Named(
        Owner::ReadBeforeWrite,
        Sureness::Likely,
        format!("the device did {} reads per write, and the writes are aligned to {grain} only", significant(share)),
    )
}

/// On a simulated machine, reads during sequential whole-block writes compute parity of partial rows. For random writes the
/// cause is left open.
fn parity_before_write(facts: &Facts<'_>) -> Standing {
    let is_of_writes = facts.asked(false).is_none() && facts.workload.pattern == Pattern::Sequential;
    let (Some(write), true) = (facts.asked(true), is_of_writes) else { return Standing::Absent };
    let Some((_, bytes_per_s)) = facts.device_rates(false) else { return Standing::Absent };
    if bytes_per_s < READS_FIRST * write.bytes_per_s.0 {
        return Standing::RuledOut(format!("read-modify-write ({} read meanwhile)", BytesPerSecond(bytes_per_s)));
    }
    if !none_full(facts) {
        return Standing::Absent;
    }
    let moved = BytesPerSecond(bytes_per_s);
    let words = format!(
        "the device read {moved} for the writes, because each is part of a larger unit below, such as a RAID 5 row; no part is saturated"
    );
    Standing::Named(Owner::ReadBeforeWrite, Sureness::Likely, words)
}

/// How short flushes on a simulated machine limit the requests around them: a worker first drains its own requests, and a
/// stream on a rotating medium stalls.
fn emptied(facts: &Facts<'_>) -> Option<String> {
    let flush = facts.sample.flush.as_ref()?;
    let counted = facts.sample.depth_mean.counted;
    let workers_s = facts.sample.elapsed_s * f64::from(facts.workload.workers);
    let stood = flush.latency_ns.mean? / 1e9 * flush.requests as f64 / workers_s;
    if !facts.is_direct() || !none_full(facts) {
        return None;
    }
    if counted < FEWER * facts.outstanding as f64 {
        return Some(format!(
            "each flush waits for all requests, so that only {} of {} were outstanding on average; flushes took {} of the \
             time, and no part is saturated",
            significant(counted),
            facts.outstanding,
            percent(stood)
        ));
    }
    let (device, busy) = facts.busiest_device().filter(|_| facts.workload.pattern.is_ordered())?;
    let streams = facts.streams() && stood >= STOOD_STILL;
    streams.then(|| {
        format!(
            "they took {} of the time and restart the stream, and {device} was busy {} of the time",
            percent(stood),
            percent(busy)
        )
    })
}

/// The share of the workers' time in flushes, between writes and at the end.
pub(super) fn flushes(facts: &Facts<'_>) -> Standing {
    if facts.sample.total.bytes == 0 {
        // Flushes were the workload.
        return Standing::Absent;
    }
    let between = facts.flushing_between_writes();
    let is_flushed = facts.workload.durability == Durability::FlushAtEnd && facts.sample.flush_s.is_some();
    let at_end = is_flushed.then_some(facts.at_end);
    if between.is_none() && at_end.is_none() {
        return Standing::Absent;
    }
    let share = between.unwrap_or(0.0) + at_end.unwrap_or(0.0);
    let time = percent(share.min(1.0));
    if let Some(reason) = between.and_then(|_| emptied(facts)) {
        return Standing::Named(Owner::Flushes, Sureness::Likely, reason);
    }
    if share < FLUSHED_AT_ALL {
        return Standing::RuledOut(format!("flushes ({time} of the time)"));
    }
    if share < MOST_OF_IT {
        return Standing::Open(format!("flushes: they took {time} of the time"));
    }
    let at_device = facts.at_device.map(|share| format!(", and {}", facts.had("the device", share)));
    let reason = match between {
        None => format!("the final flush took {time} of the time{}", at_device.unwrap_or_default()),
        Some(_) => format!("they took {time} of the requests' time"),
    };
    Standing::Named(Owner::Flushes, Sureness::Likely, reason)
}
