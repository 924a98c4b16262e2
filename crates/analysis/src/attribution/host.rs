//! Suspects above the storage: the program, the rate it was given, the processors, memory, the kernel's own brake on writers.
//!
//! - *Generator*: the loop's own cost, measured just before, times the requests (`generator_bound`).
//! - *Processor*: the workers ran, or were ready and had to wait, nine tenths of their time. The kernel counts both of each
//!   thread in nanoseconds (getrusage(2); Linux, Documentation/scheduler/sched-stats.rst). Workers that poll tell nothing.
//!   What the kernel's own threads wait, which complete direct writes, nobody counts: where all of the machine's processor
//!   time is used, processors are not ruled out, and they are named where the device stands still meanwhile.
//! - *Memory*: the device moved less than half of the bytes that were read, or writes went no further than the file cache. By bytes
//!   alone that is wrong of a cache that misses a few: it is not memory where the requests were at the device half of their time or
//!   longer, and the workers slept meanwhile.
//! - *Dirty pages*: writers are made to wait from the middle of the two thresholds on (Linux, mm/page-writeback.c,
//!   balance_dirty_pages), so they slept, and as much was dirty. Source of the remedy: sysctl vm.dirty_bytes.

use super::facts::{Facts, percent};
use super::simulated::none_full;
use super::suspect::{Owner, Standing, Sureness};
use super::thresholds::{FEWER, FULL, MOST_OF_IT, SPARE};
use crate::device::{BLOCKS_EACH_MAX, PER_REQUEST_MAX};
use halfpower_model::units::significant;
use halfpower_model::{Bytes, BytesPerSecond, CachePolicy, Durability, Pattern, Personality, Quantity, Rate};

/// All processors of a machine at work for so long leave few moments in which none of them is short.
const NEARLY_ALL: f64 = 0.85;
/// From this share of its time on a worker waits for others.
const CROWDED: f64 = 0.3;
/// Share of the bytes read that the device moved, below which the rest came from memory.
const FROM_DEVICE: f64 = 0.5;
/// Share of the time that so much was dirty that writers are made to wait: it sets the pace from the first on, and does not
/// matter up to the second.
const BRAKED: f64 = 0.5;
const BRAKED_AT_ALL: f64 = 0.1;
/// A part of a block that is not in the file cache is read before it is written; so many of the writes make the device
/// read from here on.
const READS_FIRST: f64 = 0.25;
/// Flushes that take less than this do not matter.
const FLUSHED_AT_ALL: f64 = 0.25;
/// A stream that stands still for so long at flushes loses as much again.
const STOOD_STILL: f64 = 0.1;
/// A device that has less to do than this hardly holds anybody up.
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

/// Workers that were ready and had to wait: somebody else had their processor.
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

/// Of the workers' time, what they waited for a processor, where that sets the pace: they want one all the time, or wait for
/// it most of the time, while the device has little to do.
fn crowded(facts: &Facts<'_>) -> Option<(f64, Sureness)> {
    let (wanting, waiting) = (facts.wanting()?, facts.waiting?);
    let is_spare = facts.at_device.is_some_and(|busy| busy < SPARE);
    match !facts.polls {
        true if wanting >= FULL && waiting >= CROWDED => Some((waiting, Sureness::Sure)),
        true if waiting >= MOST_OF_IT && is_spare => Some((waiting, Sureness::Likely)),
        _ => None,
    }
}

/// `, and the workers waited 58 % of their time …` where that makes whatever sets the pace slower; else empty.
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
    // What comes after a simulated request's bytes is no worker's time, and several are on all processors: the parts tell how busy those
    // were. What makes requests is: a worker is on one processor at a time, though others are free.
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
    // What they want it for is told already.
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

/// Workers that make requests all the time, each on one processor: others may be free.
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

/// Where all processors are used, a request may wait for one in a thread of the kernel's that completes it, which is no
/// worker's time; and if the device has hardly anything to do meanwhile, it does.
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

/// ` (pinned to CPU 1)`; empty where they are not.
fn pinned(facts: &Facts<'_>) -> String {
    let cpus: Vec<String> = facts.workload.cpus.iter().map(u32::to_string).collect();
    if cpus.is_empty() { String::new() } else { format!(" (pinned to CPU {})", cpus.join(" and ")) }
}

pub(super) fn memory(facts: &Facts<'_>) -> Standing {
    if facts.is_null() || facts.is_direct() || facts.sample.total.bytes == 0 {
        return Standing::Absent;
    }
    // Where a cache was asked for, that it answers is no news: who has the processor is.
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

/// Of the requests' time, what they were at the device, where that is most of it and the workers slept meanwhile; none where it is not, or
/// nobody counted how many of several were there.
fn misses(facts: &Facts<'_>) -> Option<f64> {
    let at_device = match facts.at_once() {
        Some(at_once) => at_once / facts.sample.depth_mean.counted.max(1.0),
        None => facts.at_device.filter(|_| facts.outstanding == 1)?,
    };
    let sleeps = facts.wanting()? < SPARE;
    (sleeps && at_device >= MOST_OF_IT).then_some(at_device.min(1.0))
}

/// Whether what is written is copied into the file cache by the kernel.
fn copies_into_memory(facts: &Facts<'_>) -> bool {
    let is_moved = !facts.is_null() && facts.sample.total.bytes > 0;
    is_moved && facts.writes_into_memory() && facts.workload.personality != Personality::Mmap
}

/// `88 % of their time`, and of what that is where it could be mistaken for the time of the requests alone.
fn of_their_time(facts: &Facts<'_>, share: f64) -> String {
    let end = if facts.at_end > 0.0 { ", including the final flush" } else { "" };
    format!("{} of their time{end}", percent(share.min(1.0)))
}

/// Copying into the file cache is all a writer does until the kernel makes it wait.
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
            // It has no brake but the room in its file cache.
            return Standing::Absent;
        }
        return Standing::Open("dirty-page throttling: dirty memory was not observed".to_owned());
    };
    let from = Bytes(dirty.wait_from_bytes().0 >> 20 << 20);
    let Some(braked) = dirty.braked_share else {
        return Standing::Open("dirty-page throttling: dirty memory was not observed during the writes".to_owned());
    };
    let words = format!("more than {from} was dirty {} of the time", percent(braked));
    // In a flush at the end they sleep too, and nothing brakes them.
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

/// Writes through the file cache that make the device read: a block that is written in part has to be there first.
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
    // Of whole blocks nothing is written in part but of a larger unit below, and that is read whole: a few small reads are
    // another program's.
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

/// Of whole blocks to a simulated machine, where nobody else reads, what is read is for the parity of a row that is written in part.
/// Those in order would need none, were a row written at once; whether random ones wait for it or for one another is left open.
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

/// Of a simulated machine without a full part, how flushes that take little time themselves hold back what is around them. A worker
/// that flushes waits for its own requests first, so that no more are outstanding than lie between two; and a stream onto
/// a medium that turns stands still meanwhile.
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

/// Of the workers' time, what went into flushes between the writes, and into the one at the end.
pub(super) fn flushes(facts: &Facts<'_>) -> Standing {
    if facts.sample.total.bytes == 0 {
        // They were what was asked for.
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
