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

use super::facts::{FEWER, FULL, Facts, MOST_OF_IT, SPARE, percent};
use super::network::starved;
use super::parts::none_full;
use super::suspect::{Owner, Standing, Sureness, likely, named, open, ruled_out, sure};
use crate::device::{BLOCKS_EACH_MAX, PER_REQUEST_MAX};
use halfpower_model::units::significant;
use halfpower_model::{Bytes, BytesPerSecond, CachePolicy, Durability, Pattern, Quantity, Rate};

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

pub(super) fn generator(facts: &Facts<'_>) -> Option<Standing> {
    let sample = facts.sample;
    let loop_ns = sample.instrument.loop_ns_per_request;
    if sample.generator_bound {
        let reason = match loop_ns {
            _ if facts.is_null() => "requests complete immediately".to_owned(),
            Some(loop_ns) => format!("its loop alone takes {} ns per request", significant(loop_ns)),
            None => "the sample is marked generator-bound".to_owned(),
        };
        return sure(Owner::Generator, reason + &waited(facts));
    }
    let Some(loop_ns) = loop_ns else { return open("the load generator: its loop cost was not measured") };
    let share = loop_ns / 1e9 * sample.total.requests as f64 / facts.workers_s;
    ruled_out(format!("the load generator (its loop took {} of the time)", percent(share)))
}

pub(super) fn rate(facts: &Facts<'_>) -> Option<Standing> {
    let total = &facts.sample.total;
    let (share, asked) = match facts.workload.rate? {
        Rate::Requests(rate) => (total.requests_per_s / rate as f64, Quantity::RequestsPerSecond.format(rate as f64)),
        Rate::Bytes(rate) => (total.bytes_per_s.0 / rate as f64, BytesPerSecond(rate as f64).to_string()),
    };
    match percent(share) {
        reached if share >= 0.97 => sure(Owner::Rate, format!("it reached {reached} of the requested {asked}")),
        reached => ruled_out(format!("the requested rate ({reached} of it reached)")),
    }
}

pub(super) fn pauses(facts: &Facts<'_>) -> Option<Standing> {
    let think = facts.workload.think?;
    let paused_s = facts.sample.total.requests as f64 / f64::from(think.every) * think.pause.seconds();
    match paused_s / facts.workers_s {
        share if share >= 0.5 => sure(Owner::Pauses, format!("the workers paused {} of the time", percent(share))),
        share => ruled_out(format!("the requested pauses ({} of the time)", percent(share))),
    }
}

/// Workers that were ready but had no CPU.
pub(super) fn crowded_cpu(facts: &Facts<'_>) -> Option<Standing> {
    let (waiting, sureness) = crowded(facts)?;
    let (share, pinned) = (percent(waiting), pinned(facts));
    let idle = facts.at_device.filter(|_| sureness == Sureness::Likely);
    let idle = idle.map(|share| format!(", and {}", facts.had("the device", share))).unwrap_or_default();
    let reason = format!(
        "the workers were ready {share} of their time but had no CPU{pinned}, because other programs used it{idle}"
    );
    named(Owner::Cpu, sureness, reason)
}

/// The share of their time that workers waited for a CPU, if that is the bottleneck.
fn crowded(facts: &Facts<'_>) -> Option<(f64, Sureness)> {
    let (wanting, waiting) = (facts.wanting().filter(|_| starved(facts).is_none())?, facts.waiting?);
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

pub(super) fn cpu(facts: &Facts<'_>) -> Option<Standing> {
    if facts.polls {
        return open("the CPU: the workers poll, so their CPU time does not show saturation");
    }
    let Some(wanting) = facts.wanting() else { return open("the CPU: the workers' CPU time was not measured") };
    if let Some(times) = starved(facts) {
        return ruled_out(format!("the CPU (the workers waited {times} times for the rest of an answer)"));
    }
    let share = of_their_time(facts, wanting);
    // Work that completes requests and is counted apart from the threads' own runs on any CPU, which the parts show. Submission
    // runs on one CPU per worker, even if others are idle.
    let threads =
        facts.threads.filter(|_| facts.knows_parts() && facts.outstanding > u64::from(facts.workload.workers));
    if let Some(threads) = threads.filter(|_| wanting >= MOST_OF_IT) {
        return if threads >= FULL { one_for_each(facts, threads) } else { None };
    }
    if wanting >= FULL {
        return sure(Owner::Cpu, format!("the workers ran or waited for a CPU {share}{}", pinned(facts)));
    }
    if let Some(busy) = facts.own_machine_busy().filter(|busy| *busy >= NEARLY_ALL) {
        let sureness = if busy >= FULL { Sureness::Sure } else { Sureness::Likely };
        let reason = format!("all CPUs were busy {} of the time, mostly with these requests", percent(busy));
        return named(Owner::Cpu, sureness, reason);
    }
    let kernel_s = facts.sample.cpu.system.and_then(|account| account.kernel_threads_s).unwrap_or(0.0);
    let kernel = kernel_s / facts.sample.elapsed_s;
    if kernel > FROM_DEVICE {
        return open(format!("the CPU: kernel threads used {} of one CPU", percent(kernel)));
    }
    // Memory was named for this already.
    if wanting >= MOST_OF_IT && facts.copies_into_memory() {
        return None;
    }
    if let Some(used) = facts.machine_busy().filter(|used| *used >= FULL && !facts.is_null()) {
        // A request may wait for a kernel thread, which is no worker's time; an idle device confirms it.
        let used = format!("{} of all CPU time was used", percent(used));
        return match facts.at_device.filter(|share| *share < IDLE && facts.is_direct()) {
            Some(share) => likely(Owner::Cpu, format!("{used}, and {}", facts.had("the device", share))),
            None => open(format!("the CPU: {used}, so requests may have waited for it")),
        };
    }
    match wanting >= MOST_OF_IT {
        true => open(format!("the CPU: the workers were running or runnable {share}")),
        false => ruled_out(format!("the CPU (the workers were running or runnable {share})")),
    }
}

/// Workers that submit all the time, each on one CPU.
fn one_for_each(facts: &Facts<'_>, share: f64) -> Option<Standing> {
    let share = percent(share.min(1.0));
    let who = match facts.workload.workers {
        1 => format!("the worker thread made requests {share} of its time on one CPU"),
        many => format!("the {many} worker threads made requests {share} of their time, each on one CPU"),
    };
    sure(Owner::Cpu, who + "; more workers can use more CPUs")
}

/// ` (pinned to CPU 1)`; empty if not pinned.
fn pinned(facts: &Facts<'_>) -> String {
    let cpus: Vec<String> = facts.workload.cpus.iter().map(u32::to_string).collect();
    if cpus.is_empty() { String::new() } else { format!(" (pinned to CPU {})", cpus.join(" and ")) }
}

pub(super) fn memory(facts: &Facts<'_>) -> Option<Standing> {
    if facts.is_null() || facts.is_direct() || facts.sample.total.bytes == 0 {
        return None;
    }
    // A warm cache was requested, so who uses the CPU is the finding.
    let is_asked_for = facts.workload.cache == CachePolicy::Warm || facts.writes_into_memory();
    if is_asked_for && crowded(facts).is_some() {
        return None;
    }
    if facts.copies_into_memory() {
        return writes_into_memory(facts);
    }
    let read = facts.asked(false)?;
    let Some((_, bytes_per_s)) = facts.device_rates(false) else {
        return match facts.sample.cached_share_before {
            Some(share) if share > 0.99 => {
                likely(Owner::Memory, "the page cache held all of it before the first request")
            }
            _ => open("memory: how much the page cache served is unknown"),
        };
    };
    let share = bytes_per_s / read.bytes_per_s.0;
    if share.is_nan() || share >= FROM_DEVICE {
        return ruled_out("memory (the bytes read came from the device)".to_owned());
    }
    if let Some(missed) = misses(facts) {
        return ruled_out(format!(
            "memory (it served {} of the bytes, but the rest spent {} of the requests' time at the device)",
            percent(1.0 - share),
            percent(missed)
        ));
    }
    let sureness = if share < 0.1 { Sureness::Sure } else { Sureness::Likely };
    let reason = format!("only {} of the bytes read came from the device{}", percent(share), waited(facts));
    named(Owner::Memory, sureness, reason)
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

/// `88 % of their time`, and whether that includes the flush.
fn of_their_time(facts: &Facts<'_>, share: f64) -> String {
    let end = if facts.at_end > 0.0 { ", including the final flush" } else { "" };
    format!("{} of their time{end}", percent(share.min(1.0)))
}

/// Until the kernel throttles it, a buffered writer only copies.
fn writes_into_memory(facts: &Facts<'_>) -> Option<Standing> {
    let wanting = facts.wanting()?;
    let time = of_their_time(facts, wanting);
    if wanting >= FULL {
        let ran = of_their_time(facts, facts.running?);
        return likely(Owner::Memory, format!("the writes end in the page cache, and the workers ran {ran}"));
    }
    match wanting >= MOST_OF_IT {
        true => open(format!(
            "memory: copying into the page cache may be the limit; the workers were running or runnable {time}"
        )),
        false => ruled_out(format!("copying into the page cache (the workers were running or runnable {time})")),
    }
}

pub(super) fn dirty_pages(facts: &Facts<'_>) -> Option<Standing> {
    if !facts.writes_into_memory() {
        return None;
    }
    let Some(dirty) = facts.sample.dirty else {
        // A testbed that reports parts has none that is dirty memory.
        let unobserved = || open("dirty-page throttling: dirty memory was not observed");
        return if facts.knows_parts() { None } else { unobserved() };
    };
    let from = Bytes(dirty.wait_from_bytes().0 >> 20 << 20);
    let Some(braked) = dirty.braked_share else {
        return open("dirty-page throttling: dirty memory was not observed during the writes");
    };
    let words = format!("dirty pages exceeded {from} {} of the time", percent(braked));
    if braked < BRAKED_AT_ALL {
        return ruled_out(format!("dirty-page throttling ({words})"));
    }
    // In the final flush the writers sleep unthrottled.
    let slept = 1.0 - facts.wanting()? - facts.at_end;
    match slept > 1.0 - FULL {
        true if slept > facts.at_end && braked >= BRAKED => {
            sure(Owner::DirtyPages, format!("{words}, and the writers slept {} of their time", percent(slept)))
        }
        true => open(format!("dirty-page throttling at times: {words}")),
        false => None,
    }
}

/// Buffered writes of partial blocks, which the kernel has to read first.
pub(super) fn read_before_write(facts: &Facts<'_>) -> Option<Standing> {
    let write = facts.asked(true).filter(|_| facts.asked(false).is_none())?;
    let (grain, block) = (facts.workload.grain(), crate::device::block(std::iter::once(facts.sample)));
    let is_whole = grain.0.is_multiple_of(block.0);
    let is_parity = facts.knows_parts() && is_whole;
    if is_parity && facts.workload.pattern != Pattern::Sequential
        || !is_parity && (facts.is_direct() || facts.is_null())
    {
        return None;
    }
    let Some((reads_per_s, bytes_per_s)) = facts.device_rates(false) else {
        let uncounted = || open("read-modify-write: device reads were not counted");
        return if is_parity { None } else { uncounted() };
    };
    let moved = BytesPerSecond(bytes_per_s);
    let is_little = bytes_per_s < READS_FIRST * write.bytes_per_s.0;
    if is_parity {
        // Reads compute the parity of partial rows. For random writes the cause is left open.
        return match none_full(facts) {
            _ if is_little => ruled_out(format!("read-modify-write ({moved} read meanwhile)")),
            true => likely(
                Owner::ReadBeforeWrite,
                format!(
                    "the device read {moved} for the writes, because each is part of a larger unit below, such as a RAID 5 \
                     row; no part is saturated"
                ),
            ),
            false => None,
        };
    }
    let share = reads_per_s / write.requests_per_s;
    let each = bytes_per_s / reads_per_s;
    // Whole blocks need a read only for a larger unit below, which is read whole: few small reads are another program's.
    if share < READS_FIRST || is_whole && is_little {
        ruled_out(format!("read-modify-write ({share:.2} device reads per write)"))
    } else if is_whole {
        open(format!(
            "read-modify-write: the device read {moved}, for other programs or because of a larger unit below"
        ))
    } else if share > PER_REQUEST_MAX || each > BLOCKS_EACH_MAX * block.0 as f64 {
        open(format!("read-modify-write: the device read {moved}, more than partially written blocks need"))
    } else {
        let reads = significant(share);
        likely(
            Owner::ReadBeforeWrite,
            format!("the device did {reads} reads per write, and the writes are aligned to {grain} only"),
        )
    }
}

/// How short flushes limit the requests around them if no part is saturated: a worker first drains its own requests, and a
/// stream on a rotating medium stalls.
fn emptied(facts: &Facts<'_>) -> Option<String> {
    let flush = facts.sample.flush.as_ref().filter(|_| facts.is_direct() && none_full(facts))?;
    let counted = facts.sample.depth_mean.counted;
    let stood = flush.latency_ns.mean? / 1e9 * flush.requests as f64 / facts.workers_s;
    let time = percent(stood);
    if counted < FEWER * facts.outstanding as f64 {
        return Some(format!(
            "each flush waits for all requests, so that only {} of {} were outstanding on average; flushes took {time} of the \
             time, and no part is saturated",
            significant(counted),
            facts.outstanding,
        ));
    }
    let (device, busy) = facts.busiest_device().filter(|_| facts.workload.pattern.is_ordered())?;
    let busy = percent(busy);
    (facts.streams() && stood >= STOOD_STILL).then(|| {
        format!("they took {time} of the time and restart the stream, and {device} was busy {busy} of the time")
    })
}

/// The share of the workers' time in flushes, between writes and at the end.
pub(super) fn flushes(facts: &Facts<'_>) -> Option<Standing> {
    // Without bytes, flushes were the workload.
    let is_flushed = facts.workload.durability == Durability::FlushAtEnd && facts.sample.flush_s.is_some();
    let between = facts.flushing_between_writes();
    if facts.sample.total.bytes == 0 || between.is_none() && !is_flushed {
        return None;
    }
    if let Some(reason) = between.and_then(|_| emptied(facts)) {
        return likely(Owner::Flushes, reason);
    }
    let share = between.unwrap_or(0.0) + if is_flushed { facts.at_end } else { 0.0 };
    let time = percent(share.min(1.0));
    if share < FLUSHED_AT_ALL {
        return ruled_out(format!("flushes ({time} of the time)"));
    }
    if share < MOST_OF_IT {
        return open(format!("flushes: they took {time} of the time"));
    }
    let at_device = facts.at_device.map(|share| format!(", and {}", facts.had("the device", share)));
    let reason = match between {
        None => format!("the final flush took {time} of the time{}", at_device.unwrap_or_default()),
        Some(_) => format!("they took {time} of the requests' time"),
    };
    likely(Owner::Flushes, reason)
}
