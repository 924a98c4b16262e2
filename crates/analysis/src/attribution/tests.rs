//! Samples with made-up figures: each owner is named where its figures are there, and not where they are not.

use super::{Attribution, Owner, Sureness, attribute};
use crate::fixtures::{block, buffered, channel, deep, ends, flushed, moved, random, read, sample, says, write};
use halfpower_model::environment::DeviceLimit;
use halfpower_model::reading::inspect::Limit;
use halfpower_model::sample::{Block, Dirty, Latency, Part, PartKind, SystemAccount, Totals, WaitFor};
use halfpower_model::{
    Bytes, BytesPerSecond, CachePolicy, Level, LevelName, Nanoseconds, Pattern, Personality, Rate, Sample, TargetKind,
    Think, Workload,
};
use std::collections::BTreeMap;

/// A sample of 100 MB/s on a machine with plenty to spare: the program and the CPU are idle, the device is not.
pub(super) fn clean(workload: Workload) -> Sample {
    let mut sample = sample(workload, 100e6);
    let Totals { requests, bytes, .. } = sample.total;
    let of_device = Block { busy_fraction: 0.7, ..block(requests, bytes) };
    sample.block = Some(match sample.workload.operation.writes() {
        true => Block { write: moved(requests, bytes), ..of_device },
        false => Block { read: moved(requests, bytes), ..of_device },
    });
    sample.instrument.loop_ns_per_request = Some(60.0);
    sample.cpu.lower.system_s = 0.2;
    sample.cpu.waited_s = Some(0.01);
    sample.cpu.system = used(0.3, 0.0);
    sample.environment.target.filesystem = Some("ext4".to_owned());
    sample
}

/// What two CPUs did in a second.
fn used(busy_s: f64, irq_s: f64) -> Option<SystemAccount> {
    let (system_s, idle_s) = (busy_s - irq_s, 2.0 - busy_s);
    Some(SystemAccount { wall_s: 1.0, busy_s, irq_s, system_s, idle_s, ..SystemAccount::default() })
}

/// With parts of a simulated machine, each with its share of the time.
pub(super) fn with(mut sample: Sample, parts: &[(&str, PartKind, f64)]) -> Sample {
    let part = |(name, kind, busy): &(&str, PartKind, f64)| match kind {
        PartKind::Wait => waiting(name, *busy),
        _ => Part { busy: *busy, ..Part::idle(name, *kind) },
    };
    sample.parts = parts.iter().map(part).collect();
    sample
}

/// A wait as simulated machines report it, of this share of the time.
pub(super) fn waiting(name: &str, busy: f64) -> Part {
    let (reason, from, who, until) = match name {
        "window" => (WaitFor::Share, 0.9, "writes", "for earlier writes to complete"),
        "turn" => (WaitFor::Share, 0.9, "large writes", "for the previous one"),
        "units" => (WaitFor::Share, 0.5, "large writes", "between their units"),
        "growth" => (WaitFor::Growth, 0.9, "writes that extend a file", "for the one before"),
        _ => (WaitFor::Commands, 0.9, "commands", "for others to end"),
    };
    Part { busy, ..Part::wait(name, reason, from, who, until) }
}

pub(super) fn named(sample: &Sample) -> Option<(Owner, Sureness)> {
    let found = attribute(sample).unwrap();
    found.owner.zip(found.sureness)
}

pub(super) fn sure(owner: Owner) -> Option<(Owner, Sureness)> {
    Some((owner, Sureness::Sure))
}

pub(super) fn likely(owner: Owner) -> Option<(Owner, Sureness)> {
    Some((owner, Sureness::Likely))
}

/// Changes a sample, and looks who is named then.
#[track_caller]
pub(super) fn when(sample: &mut Sample, change: impl FnOnce(&mut Sample), who: Option<(Owner, Sureness)>, why: &str) {
    change(sample);
    assert_eq!(named(sample), who, "{why}");
}

/// The share of the time in which the device had requests outstanding.
pub(super) fn busy(sample: &mut Sample, share: f64) {
    sample.block.as_mut().unwrap().busy_fraction = share;
}

/// So many flushes of so many ns.
pub(super) fn flush(sample: &mut Sample, requests: u64, mean_ns: f64) {
    let latency_ns = Latency { mean: Some(mean_ns), ..Latency::default() };
    sample.flush = Some(Totals { requests, latency_ns, ..Totals::default() }.into());
}

/// The CPU time of the workers, and how long they waited for a CPU.
fn ran(sample: &mut Sample, system_s: f64, waited_s: f64) {
    (sample.cpu.lower.system_s, sample.cpu.waited_s) = (system_s, Some(waited_s));
}

pub(super) fn of(sample: &Sample) -> Attribution {
    attribute(sample).unwrap()
}

pub(super) fn deep_reads() -> Sample {
    clean(deep(32, random(read(4))))
}

#[test]
fn a_run_of_a_few_ticks_says_nothing_of_the_device() {
    let mut sample = deep_reads();
    busy(&mut sample, 0.0);
    let ruled_out = "the device (it had requests outstanding";
    assert!(of(&sample).further().contains(ruled_out), "{}", of(&sample).further());
    // As much in proportion.
    sample.elapsed_s = 0.01;
    ran(&mut sample, 0.002, 0.0001);
    let found = of(&sample);
    let words = found.brief() + &found.further();
    assert!(words.contains("the device: the run was too short for its counters"), "{words}");
    assert!(!words.contains(ruled_out), "{words}");
}

#[test]
fn a_clean_sample_names_nobody_and_says_what_it_ruled_out() {
    let found = of(&deep_reads());
    assert_eq!((found.owner, found.sureness), (None, None));
    assert_eq!(found.brief(), "unknown: the device: it had requests outstanding 70 % of the time");
    let words = " Ruled out: the load generator (its loop took 0.1 % of the time); the CPU (the workers were running or runnable 21 % of their time).";
    assert_eq!(found.further(), words);
}

#[test]
fn what_cannot_be_judged_has_no_attribution() {
    let mut nothing = deep_reads();
    nothing.total.requests = 0;
    let mut failed = deep_reads();
    failed.failure = Some(halfpower_model::sample::Failure { code: "EIO".to_owned(), message: "broken".to_owned() });
    assert!(attribute(&nothing).is_none() && attribute(&failed).is_none());
    let mut interrupted = failed;
    interrupted.failure.as_mut().unwrap().code = "interrupted".to_owned();
    assert_eq!(attribute(&interrupted), attribute(&deep_reads()), "it has figures until then");
    let bare = sample(deep(32, read(4)), 100e6);
    let found = of(&bare);
    assert_eq!(found.owner, None);
    says(&found.reason, "the CPU: the workers' CPU time was not measured");
}

#[test]
fn the_program_is_named_where_it_says_so() {
    let mut sample = deep_reads();
    sample.generator_bound = true;
    assert!(of(&sample).brief().ends_with("its loop alone takes 60 ns per request"));
    sample.environment.target.kind = TargetKind::Null;
    when(&mut sample, |it| it.workload.personality = Personality::Null, sure(Owner::Generator), "");
    assert_eq!(of(&sample).reason, "requests complete immediately");
    ran(&mut sample, 0.33, 0.66);
    let words =
        "requests complete immediately, and the workers waited 66 % of their time for a CPU that other programs used";
    assert_eq!(of(&sample).reason, words);
}

#[test]
fn a_rate_that_is_kept_sets_the_pace_and_one_that_is_missed_does_not() {
    let mut sample = deep_reads();
    when(&mut sample, |it| it.workload.rate = Some(Rate::Bytes(102_000_000)), sure(Owner::Rate), "");
    when(&mut sample, |it| it.generator_bound = true, sure(Owner::Rate), "the program waits for its turn");
    sample.generator_bound = false;
    when(&mut sample, |it| it.workload.rate = Some(Rate::Bytes(110_000_000)), None, "");
    assert!(of(&sample).further().contains("the requested rate (91 % of it reached)"));
    sample.workload.rate = None;
    let every = sample.total.requests as u32 / 100;
    let paused = |percent| Some(Think { pause: Nanoseconds::from_seconds(sample.elapsed_s * percent / 1e4), every });
    let (most, least) = (paused(60.0), paused(20.0));
    when(&mut sample, |it| it.workload.think = most, sure(Owner::Pauses), "60 % of the time");
    sample.workload.think = least;
    assert!(of(&sample).further().contains("the requested pauses (20 % of the time)"));
}

#[test]
fn a_full_cpu_and_a_crowded_one_are_named() {
    let mut sample = deep_reads();
    when(&mut sample, |it| it.cpu.lower.system_s = 0.92, sure(Owner::Cpu), "");
    when(&mut sample, |it| it.cpu.lower.system_s = 0.4, None, "");
    sample.cpu.waited_s = Some(0.55);
    sample.workload.cpus = vec![1];
    let brief = of(&sample).brief();
    let words = "the CPU: the workers were ready 55 % of their time but had no CPU (pinned to CPU 1), because other programs used it";
    assert_eq!(brief, words);
    // Many requests at once: they sleep while the device does all of them, and then wait for the CPU again.
    when(&mut sample, |it| ran(it, 0.05, 0.75), None, "the device had requests outstanding 70 % of the time");
    when(&mut sample, |it| busy(it, 0.3), likely(Owner::Cpu), "");
    ends(&of(&sample).reason, "other programs used it, and the device had requests outstanding 30 % of the time");
    when(&mut sample, |it| it.cpu.waited_s = Some(0.45), None, "it slept half of the time");
    ran(&mut sample, 0.4, 0.55);
    sample.instrument.obtained = vec!["iopoll".to_owned()].into();
    assert_eq!(named(&sample), None, "who polls always uses one");
    sample.instrument.obtained.clear();
    ran(&mut sample, 0.8, 0.05);
    assert!(of(&sample).reason.starts_with("the CPU: the workers were running or runnable 85 % of their time"));
    sample.workload.workers = 2;
    when(&mut sample, |it| ran(it, 0.4, 0.55), None, "half of the time of two workers");
}

#[test]
fn where_all_cpus_are_used_requests_may_wait_for_one_that_no_worker_waits_for() {
    let mut sample = clean(random(write(4)));
    ran(&mut sample, 0.04, 0.0);
    busy(&mut sample, 0.012);
    sample.cpu.system = used(2.0, 0.0);
    let found = of(&sample);
    let words =
        "the CPU (likely): 100 % of all CPU time was used, and the device had requests outstanding 1.2 % of the time";
    assert_eq!(found.brief(), words);
    // A device at work may be what it waits for.
    busy(&mut sample, 0.4);
    let found = of(&sample);
    assert_eq!((found.owner, found.sureness), (Some(Owner::Depth), Some(Sureness::Likely)));
    assert!(
        !found.reason.contains("nothing else is saturated")
            && found.ruled_out.iter().all(|why| !why.contains("the CPU")),
        "{found:?}"
    );
    // With CPUs to spare it is the depth, and nothing else.
    busy(&mut sample, 0.012);
    sample.cpu.system = used(0.5, 0.0);
    let found = of(&sample);
    assert!(found.reason.ends_with("and nothing else is saturated"), "{found:?}");
    assert!(
        found.further().contains("the CPU (the workers were running or runnable 4.0 % of their time)"),
        "{found:?}"
    );
}

#[test]
fn reads_that_the_device_did_not_move_come_from_memory() {
    let mut sample = clean(Workload { cache: CachePolicy::Keep, ..buffered(random(read(4))) });
    assert_ne!(named(&sample).map(|(owner, _)| owner), Some(Owner::Memory));
    sample.cpu.lower.system_s = 0.98;
    let read = |sample: &mut Sample, bytes| sample.block.as_mut().unwrap().read.as_mut().unwrap().bytes = bytes;
    when(&mut sample, |it| read(it, 40_000_000), likely(Owner::Memory), "");
    when(&mut sample, |it| read(it, 0), sure(Owner::Memory), "");
    ran(&mut sample, 0.4, 0.58);
    ends(&of(&sample).brief(), "and the workers waited 58 % of their time for a CPU that other programs used");
    when(&mut sample, |it| it.workload.cache = CachePolicy::Warm, sure(Owner::Cpu), "the cache was asked for");
    sample.workload.cache = CachePolicy::Keep;
    ran(&mut sample, 0.98, 0.01);
    when(&mut sample, |it| it.block = None, sure(Owner::Cpu), "nobody counted");
    when(&mut sample, |it| it.cached_share_before = Some(1.0), likely(Owner::Memory), "");
}

#[test]
fn a_cache_that_misses_a_few_does_not_set_the_pace() {
    let missed = |busy, ran| {
        let mut sample = clean(Workload { cache: CachePolicy::Warm, ..buffered(random(read(4))) });
        let block = sample.block.as_mut().unwrap();
        block.read.as_mut().unwrap().bytes = 15_000_000;
        (block.busy_fraction, sample.cpu.lower.system_s, sample.cpu.waited_s) = (busy, ran, Some(0.0));
        sample
    };
    let found = of(&missed(0.93, 0.07));
    assert_eq!((found.owner, found.sureness), (Some(Owner::Depth), Some(Sureness::Likely)));
    let words = "memory (it served 85 % of the bytes, but the rest spent 93 % of the requests' time at the device)";
    assert!(found.ruled_out.iter().any(|reason| reason == words), "{found:?}");
    assert_eq!(named(&missed(0.3, 0.7)), likely(Owner::Memory), "most of the time goes into copying");
    assert_eq!(named(&missed(0.93, 0.7)), likely(Owner::Memory), "another program's requests");
    let mut several = missed(0.93, 0.07);
    when(&mut several, |it| it.workload.depth = 8, likely(Owner::Memory), "one of them may have been there, or all");
    several.depth_mean.counted = 8.0;
    several.block.as_mut().unwrap().outstanding_mean = Some(7.5);
    assert!(of(&several).further().contains("the rest spent 94 %"), "{:?}", of(&several));
}

#[test]
fn writers_that_sleep_while_much_is_dirty_are_made_to_wait() {
    let mut sample = clean(buffered(write(64)));
    let mib = |count: u64| Bytes(count << 20);
    let dirty = |braked_share| Dirty {
        before_bytes: mib(0),
        after_bytes: mib(50),
        background_bytes: mib(32),
        limit_bytes: mib(64),
        braked_share,
    };
    assert!(of(&sample).reason.contains("dirty-page throttling: dirty memory was not observed"));
    sample.dirty = Some(dirty(Some(0.9)));
    let words = "dirty-page throttling by the kernel: dirty pages exceeded 48 MiB 90 % of the time, and the writers slept 79 % of their time";
    assert_eq!(of(&sample).brief(), words);
    when(&mut sample, |it| it.dirty = Some(dirty(Some(0.3))), None, "");
    sample.dirty = Some(dirty(Some(0.0)));
    assert!(of(&sample).further().contains("dirty-page throttling (dirty pages exceeded 48 MiB 0.0 %"));
    sample.cpu.lower.system_s = 0.97;
    when(&mut sample, |it| it.dirty = Some(dirty(Some(0.9))), likely(Owner::Memory), "nobody slept");
}

#[test]
fn writes_that_make_the_device_read_say_why() {
    let mut sample = clean(Workload { offset: Bytes(512), ..buffered(random(write(4))) });
    when(&mut sample, |it| it.dirty = Some(Dirty { braked_share: Some(0.0), ..Dirty::default() }), None, "");
    let writes = sample.total.requests;
    sample.block.as_mut().unwrap().read.as_mut().unwrap().requests = writes * 2;
    let words = "read-modify-write of partially written blocks (likely): the device did 2 reads per write, and the writes are aligned to 512 B only";
    assert_eq!(of(&sample).brief(), words);
    sample.read = sample.write.clone();
    assert_ne!(
        named(&sample).map(|(owner, _)| owner),
        Some(Owner::ReadBeforeWrite),
        "the reads may have been asked for"
    );
    // Large whole blocks, and as many small reads of another program.
    let mut whole = clean(buffered(write(1024)));
    whole.dirty = Some(Dirty { braked_share: Some(0.0), ..Dirty::default() });
    let (requests, bytes) = (whole.total.requests, whole.total.bytes);
    let reads = |bytes| moved(requests, bytes);
    when(&mut whole, |it| it.block.as_mut().unwrap().read = reads(requests * 4096), None, "");
    whole.block.as_mut().unwrap().read = reads(2 * bytes);
    let open = of(&whole);
    assert_eq!(open.owner, None, "nothing is written in part");
    says(&open.reason, "the device read 199 MB/s, for other programs or because of a larger unit");
    // Of larger blocks the same are parts.
    whole.environment.target.logical_block_bytes = Some(Bytes(4 << 20));
    assert_eq!(named(&whole), likely(Owner::ReadBeforeWrite));
}

#[test]
fn a_simulated_row_that_is_read_for_its_parity_is_reported() {
    let mut sample = clean(deep(8, write(64)));
    let of_busy = |sample: &mut Sample, busy| {
        sample.parts = vec![Part { busy, ..Part::idle("disk 1", PartKind::Device) }];
        named(sample)
    };
    let bytes = sample.total.bytes;
    sample.block.as_mut().unwrap().read = moved(10, bytes / 2);
    assert_eq!(of_busy(&mut sample, 0.5), likely(Owner::ReadBeforeWrite));
    assert_eq!(of_busy(&mut sample, 1.0), sure(Owner::Device), "it is full");
    sample.workload.pattern = Pattern::Random;
    assert_eq!(of_busy(&mut sample, 0.5), None, "they may wait for one another");
    sample.workload.pattern = Pattern::Sequential;
    sample.block.as_mut().unwrap().read = moved(10, bytes / 8);
    assert_eq!(of_busy(&mut sample, 0.5), None);
    assert!(of(&sample).further().contains("read-modify-write (12.5 MB/s read meanwhile)"), "{:?}", of(&sample));
}

#[test]
fn a_reader_beside_writes_in_part_is_not_taken_for_them() {
    let mut sample = clean(Workload { offset: Bytes(512), ..buffered(random(write(4))) });
    sample.dirty = Some(Dirty { braked_share: Some(0.0), ..Dirty::default() });
    let writes = sample.total.requests;
    let mut reads = |requests, bytes| {
        sample.block.as_mut().unwrap().read = moved(requests, bytes);
        named(&sample)
    };
    assert_eq!(reads(2 * writes, 2 * writes * 4096), likely(Owner::ReadBeforeWrite));
    assert_eq!(reads(7 * writes, 7 * writes * 4096), None, "more often than a write has ends");
    assert_eq!(reads(2 * writes, 2 * writes * 262_144), None, "read ahead");
}

#[test]
fn most_of_what_the_device_did_for_others_is_reported_for_parts_below() {
    let mut sample = deep_reads();
    let read = |bytes| moved(24_414, bytes);
    busy(&mut sample, 0.99);
    when(&mut sample, |it| it.block.as_mut().unwrap().read = read(500_000_000), likely(Owner::Device), "");
    assert!(
        of(&sample).reason.ends_with("; 80 % of the device's traffic came from other programs or file-system metadata"),
        "{:?}",
        of(&sample)
    );
    sample.cpu.lower.system_s = 0.95;
    assert!(!of(&sample).reason.contains("other programs"), "the CPU does not care");
    sample.cpu.lower.system_s = 0.2;
    sample.block.as_mut().unwrap().read = read(130_000_000);
    assert!(!of(&sample).reason.contains("other programs"), "a quarter of it");
}

/// So many bytes per second of reads.
fn bytes(rate: f64) -> Limit {
    Limit { group: "blkio:/a".to_owned(), read_bytes_per_s: Some(BytesPerSecond(rate)), ..Limit::default() }
}

/// With a control group's limit on reads.
fn limited(limit: Limit) -> Sample {
    let mut sample = deep_reads();
    sample.environment.target.limits = vec![DeviceLimit { device: "vda".to_owned(), limit }];
    sample
}

#[test]
fn a_control_group_s_limit_that_is_reached_is_named() {
    let requests = |rate| Limit { read_bytes_per_s: None, read_requests_per_s: Some(rate), ..bytes(0.0) };
    assert_eq!(named(&limited(bytes(101e6))), sure(Owner::ThrottledBandwidth));
    assert_eq!(named(&limited(requests(24_000))), sure(Owner::ThrottledRequests));
    let words =
        "a control group's IOPS limit: it runs at 102 % of the limit of 24\u{202f}000 IOPS for reads (blkio:/a on vda)";
    assert_eq!(of(&limited(requests(24_000))).brief(), words);
    let idle = of(&limited(bytes(200e6)));
    assert_eq!(idle.owner, None);
    says(&idle.reason, "the control group: it runs at 50 % of the limit of 200 MB/s for reads");
    for (rate, left_open) in [(115e6, true), (205e6, false), (400e6, false)] {
        let found = of(&limited(bytes(rate)));
        assert_eq!(found.owner, None, "{rate}");
        assert_eq!(found.reason.contains("the control group: it runs at"), left_open, "{rate}: {}", found.reason);
        assert_eq!(found.further().contains("the control group ("), !left_open, "{rate}: {}", found.further());
    }
    assert!(of(&limited(bytes(50e6))).reason.contains("is exceeded, so it may not apply here"));
    let writes = Limit { write_bytes_per_s: Some(BytesPerSecond(100e6)), ..bytes(200e6) };
    assert_eq!(named(&limited(writes)), None, "nothing is written");
    let mut several = limited(bytes(50e6));
    several.environment.more_targets = vec![several.environment.target.clone()];
    several.environment.more_targets[0].limits[0].device = "vdb".to_owned();
    assert_eq!(named(&several), sure(Owner::ThrottledBandwidth), "half of it to each");
}

#[test]
fn a_limit_is_held_against_the_program_s_own_bytes_with_room_for_the_first_slices() {
    let sample = |asked: f64, device: f64, limit: f64, warmup_ns: u64| {
        let mut sample = clean(Workload { limits: Default::default(), ..buffered(read(64)) });
        sample.environment.target.limits = limited(bytes(limit)).environment.target.limits.clone();
        sample.read.as_mut().unwrap().bytes_per_s = BytesPerSecond(asked);
        sample.workload.warmup = halfpower_model::Nanoseconds(warmup_ns);
        let counted_s = 1.0 + sample.workload.warmup.seconds();
        let bytes = (device * counted_s) as u64;
        sample.block.as_mut().unwrap().read = moved(1000, bytes);
        sample
    };
    let named = |asked, device, limit, warmup_ns| named(&sample(asked, device, limit, warmup_ns));
    let throttled = |sureness| Some((Owner::ThrottledBandwidth, sureness));
    assert_eq!(named(97e6, 135e6, 100e6, 0), throttled(Sureness::Sure), "read-ahead, and others");
    assert_eq!(named(119e6, 140e6, 100e6, 0), throttled(Sureness::Likely), "the first two slices");
    assert_eq!(named(119e6, 140e6, 100e6, 1_000_000_000), None, "a warm-up has used them up");
    assert_eq!(named(140e6, 140e6, 100e6, 0), None, "passed");
    assert_eq!(named(150e6, 99e6, 100e6, 0), throttled(Sureness::Sure), "a third came from the page cache");
    let short = Sample { elapsed_s: 0.08, ..sample(360e6, 29e6, 100e6, 0) };
    assert_ne!(of(&short).owner, Some(Owner::ThrottledBandwidth), "in less than a slice all of it passed");
    let open = of(&sample(30e6, 99e6, 100e6, 0));
    assert_eq!(open.owner, None, "others, or read-ahead");
    says(&open.reason, "at 30 % of the limit of 100 MB/s for reads (blkio:/a");
    assert!(of(&sample(30e6, 40e6, 100e6, 0)).further().contains("the control group (30 %"));
}

#[test]
fn a_level_near_its_peak_is_named() {
    let with = |name, megabytes| {
        let mut sample = deep_reads();
        sample.environment.target.levels = vec![Level::of(name, [channel("a", None, Some(megabytes))])];
        sample
    };
    assert_eq!(named(&with(LevelName::Link, 105.0)), sure(Owner::Link));
    assert_eq!(named(&with(LevelName::Bus, 105.0)), sure(Owner::Bus));
    assert_eq!(named(&with(LevelName::Device, 105.0)), sure(Owner::Device));
    assert_eq!(named(&with(LevelName::Device, 300.0)), None);
    assert_eq!(named(&with(LevelName::Device, 120.0)), None);
    assert!(of(&with(LevelName::Device, 50.0)).reason.contains("the stated peak is wrong or not on this path"));
}

#[test]
fn flushes_that_take_most_of_the_time_are_named() {
    let mut sample = clean(random(write(4)));
    when(&mut sample, |it| flush(it, 100, 8e6), likely(Owner::Flushes), "");
    when(&mut sample, |it| flush(it, 100, 1e6), likely(Owner::Depth), "");
    assert!(of(&sample).further().contains("flushes (10 % of the time)"));
}

#[test]
fn a_flush_at_the_end_that_takes_most_of_the_time_is_named_and_no_memory_or_cpu() {
    let mut sample = clean(flushed(buffered(write(1024))));
    sample.dirty = Some(Dirty { braked_share: Some(0.9), ..Dirty::default() });
    (sample.flush_s, sample.cpu.lower.system_s) = (Some(0.7), 0.3);
    let words = "flushes (likely): the final flush took 70 % of the time, and the device had requests outstanding 70 % of the time";
    assert_eq!(of(&sample).brief(), words);
    (sample.flush_s, sample.cpu.lower.system_s) = (Some(0.48), 0.5);
    let neither = of(&sample);
    let words = "unknown: memory: copying into the page cache may be the limit; the workers were running or runnable 51 % of their time, including the final flush; flushes: they took 48 % of the time; the device: it had requests outstanding 70 % of the time";
    assert_eq!(neither.brief(), words);
    assert!(!neither.further().contains("CPU") && !neither.further().contains("flush"), "{}", neither.further());
    (sample.flush_s, sample.cpu.lower.system_s) = (Some(0.2), 0.88);
    let ruled_out = of(&sample).further();
    assert!(ruled_out.contains("flushes (20 %") && !ruled_out.contains("CPU"), "{ruled_out}");
    when(&mut sample, |it| (it.flush_s, it.cpu.lower.system_s) = (Some(0.05), 0.93), likely(Owner::Memory), "");
    (sample.flush_s, sample.cpu.lower.system_s) = (Some(0.2), 0.3);
    assert_eq!(named(&sample), sure(Owner::DirtyPages), "they slept before it");
}

#[test]
fn one_small_request_at_a_time_is_bound_by_its_latency() {
    let mut sample = clean(random(read(4)));
    sample.total.latency_ns.mean = Some(41_000.0);
    let words = "queue depth (likely): one request at a time, 41 µs each on average, and nothing else is saturated";
    assert_eq!(of(&sample).brief(), words);
    assert_eq!(named(&clean(deep(2, random(read(4))))), None);
    assert_eq!(named(&clean(read(1024))), None, "a large one may keep the device at work");
    assert_eq!(named(&clean(buffered(read(4)))), None, "the kernel reads ahead");
    let mut cached = clean(buffered(random(read(4))));
    assert_eq!(named(&cached), likely(Owner::Depth));
    when(&mut cached, |it| it.block = None, None, "a cache may have answered");
    let mut shallow = deep_reads();
    shallow.depth_mean.counted = 3.0;
    says(&of(&shallow).reason, "queue depth: only 3 of 32 requests were outstanding");
}

#[test]
fn the_file_system_is_named_where_writes_wait_and_everything_idles() {
    let mut sample = clean(deep(16, write(64)));
    assert_eq!(named(&sample), None);
    when(&mut sample, |it| busy(it, 0.2), likely(Owner::FileSystem), "");
    when(&mut sample, |it| it.cpu.waited_s = Some(0.2), None, "it may have waited for a CPU");
    let mut reads = deep_reads();
    when(&mut reads, |it| busy(it, 0.2), None, "");
}

#[test]
fn a_device_that_is_always_at_work_is_likely() {
    let mut sample = deep_reads();
    when(&mut sample, |it| busy(it, 0.97), likely(Owner::Device), "");
    sample.workload.depth = 1;
    when(&mut sample, |it| it.workload.request_size = Bytes(1 << 20), None, "");
}

#[test]
fn a_simulated_machine_shows_which_part_is_full() {
    let with = |parts: &[(&str, PartKind, f64)]| of(&with(deep_reads(), parts));
    let (bus, disk) = (PartKind::Bus, PartKind::Device);
    let found = with(&[("pci", bus, 0.97), ("atlas 1", disk, 0.79), ("atlas 2", disk, 0.8)]);
    assert_eq!((found.owner, found.sureness), (Some(Owner::Bus), Some(Sureness::Sure)));
    assert_eq!(found.reason, "the busiest part, pci, was busy 97 % of the time; the next, atlas, 80 %");
    let kinds = [PartKind::Cpu, bus, PartKind::Controller, disk];
    let owners = kinds.map(|kind| with(&[("x", kind, 0.95)]).owner);
    assert_eq!(owners, [Owner::Cpu, Owner::Bus, Owner::Controller, Owner::Device].map(Some));
    let mut sample = Sample { parts: Vec::new(), ..deep_reads() };
    for (name, kind, busy, held) in
        [("card", PartKind::Controller, 1.0, 0.91), ("atlas 1", disk, 0.94, 0.0), ("pci", bus, 0.91, 0.0)]
    {
        let phases = BTreeMap::from([(Part::HELD.to_owned(), held)]);
        sample.parts.push(Part { busy, phases, ..Part::idle(name, kind) });
    }
    assert_eq!(of(&sample).owner, Some(Owner::Controller), "no bus is on its way");
    sample.parts[0].buses = vec!["pci".to_owned()];
    sample.parts.push(Part { busy: 0.95, ..Part::idle("isa", bus) });
    let found = of(&sample);
    assert_eq!(found.owner, Some(Owner::Bus), "the one on its way, not the busiest");
    assert_eq!(found.reason, "it (pci) was busy 91 % of the time, and card, which waits for it, 100 %");
    sample.parts[0].phases.insert(Part::HELD.to_owned(), 0.57);
    sample.parts[2].busy = 0.57;
    let words = "it (pci) was busy 57 % of the time, and card, which waits for it, 100 %: 57 % waiting, 43 % own work, so speeding up either helps";
    assert_eq!(of(&sample).reason, words);
    sample.parts[0].phases.insert(Part::HELD.to_owned(), 0.3);
    sample.parts[2].busy = 0.5;
    assert_eq!(of(&sample).owner, Some(Owner::Controller), "most of it is its own");
    let found = with(&[("pci", bus, 0.6), ("atlas 1", disk, 0.85)]);
    let idle = "every part (the busiest, atlas, 85 % of the time)";
    assert!(found.owner.is_none() && found.ruled_out.iter().any(|reason| reason == idle), "{found:?}");
}

#[test]
fn all_cpus_that_are_busy_with_its_requests_are_full() {
    let mut sample = deep_reads();
    sample.cpu.lower.system_s = 0.5;
    when(&mut sample, |it| it.cpu.system = used(1.9, 1.3), sure(Owner::Cpu), "");
    when(&mut sample, |it| it.cpu.system = used(1.75, 1.2), likely(Owner::Cpu), "");
    sample.cpu.system = used(1.9, 0.2);
    assert_ne!(named(&sample).map(|(owner, _)| owner), Some(Owner::Cpu), "others had most of it");
    sample.cpu.system = used(1.6, 1.2);
    assert_ne!(named(&sample).map(|(owner, _)| owner), Some(Owner::Cpu));
}
