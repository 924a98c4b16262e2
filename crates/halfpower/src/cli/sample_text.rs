//! A sample for people: what it measured, on what, with what, and what could make it wrong.

use crate::sanitize::sanitize;
use halfpower_analysis::{attribute, busiest_first, derived_warnings, within_run};
use halfpower_model::sample::{Block, Direction, Latency, Parallel, Phases, Totals};
use halfpower_model::units::{significant, significant_error};
use halfpower_model::{Bytes, Durability, Nanoseconds, Quantity, Sample, TargetKind, Workload};
use std::fmt::Write;

/// A sample for people.
pub(super) fn summary(sample: &Sample) -> String {
    let what = match (is_read_back(sample), left_unflushed(sample)) {
        (true, _) => format!("reading back what was written, {} at a time", sample.workload.request_size),
        (_, Some(what)) => what,
        _ => sample.workload.to_string(),
    };
    let head = format!("{what}, {}, on {}", sample.environment.way(&sample.workload), places(sample));
    let mut text = sanitize(&head).into_owned() + "\n";
    let parts = [
        ("read", sample.read.as_ref()),
        ("write", sample.write.as_ref()),
        ("trim", sample.trim.as_deref()),
        ("flush", sample.flush.as_deref()),
    ];
    let parts: Vec<(&str, &Totals)> = parts.into_iter().filter_map(|(name, totals)| Some((name, totals?))).collect();
    throughput(&mut text, "throughput", &sample.total);
    if parts.len() > 1 {
        parts.iter().for_each(|(name, totals)| throughput(&mut text, name, totals));
    }
    latency(&mut text, "latency", &sample.total.latency_ns);
    if parts.len() > 1 {
        parts.iter().for_each(|(name, totals)| latency(&mut text, name, &totals.latency_ns));
    }
    if let Some(open) = &sample.open_loop {
        latency(&mut text, "response", &open.response_ns);
        latency(&mut text, "lateness", &open.lateness_ns);
        let (most, end) = (open.backlog_max, open.backlog_at_end);
        line(&mut text, "backlog", &format!("{most} at most, {end} at the end"));
    }
    if let Some(cost) = processor(sample) {
        line(&mut text, "CPU", &cost);
    }
    if let Some(machine) = machine(sample) {
        line(&mut text, "machine", &machine);
    }
    // Nobody counts what is outstanding while it is read back.
    if !is_read_back(sample) {
        let asked = u64::from(sample.workload.depth) * u64::from(sample.workload.workers);
        let depth = significant(sample.depth_mean.counted);
        line(&mut text, "depth", &format!("{depth} of {asked} outstanding on average"));
    }
    if let Some(pace) = attribute(sample) {
        line(&mut text, "bottleneck", &format!("{}.{}", pace.brief(), pace.further()));
    }
    if !sample.parts.is_empty() {
        let parts = sample.parts.iter().map(|part| (part.name.as_str(), part.kind, part.busy));
        line(&mut text, "busy", &busiest_first(parts).join(", "));
    }
    let flush = sample.flush_s.map(|flush_s| format!(", {} of it the flush", Nanoseconds::from_seconds(flush_s)));
    let elapsed = Nanoseconds::from_seconds(sample.elapsed_s);
    let rounded = rounded_up(sample).unwrap_or_default();
    line(&mut text, "measured", &format!("{elapsed}{}{rounded}", flush.unwrap_or_default()));
    if let Some(within) = within_run(sample) {
        let (half, count, worth) = (within.half_width(), within.intervals, significant(within.independent));
        let basis = format!("batch means of {count} intervals, which are worth {worth} independent ones");
        line(
            &mut text,
            "this run",
            &format!("throughput {half} within it, by {basis}; another run may differ by more"),
        );
    }
    if let Some(block) = &sample.block {
        line(&mut text, "device", &served(block));
    }
    if let Some(phases) = sample.block.as_ref().and_then(|block| block.phases.as_deref()) {
        line(&mut text, "block layer", &lives(phases));
    }
    if let Some(parallel) = &sample.parallel {
        side_by_side(&mut text, parallel);
    }
    if let Some(verified) = &sample.verified {
        let wrong = verified.first_wrong.as_ref().map(|first| format!("; the first: {first}")).unwrap_or_default();
        let blocks = format!("{} blocks of {}, {} wrong", verified.blocks, verified.block_bytes, verified.wrong);
        line(&mut text, "verified", &format!("{blocks}{wrong}"));
    }
    if !sample.instrument.obtained.is_empty() {
        line(&mut text, "obtained", &sample.instrument.obtained.join(", "));
    }
    for refused in &sample.instrument.refused {
        line(&mut text, "unavailable", refused);
    }
    for warning in sample.warnings.iter().chain(&derived_warnings(sample)) {
        line(&mut text, "warning", &format!("{}; {}", warning.message, warning.remedy));
    }
    text
}

/// Whether it is of a verification alone.
fn is_read_back(sample: &Sample) -> bool {
    sample.verified.is_some() && !sample.workload.operation.writes()
}

/// What a simulated machine was doing that was interrupted before all it wrote was flushed; a host's writes are, whenever it ends.
fn left_unflushed(sample: &Sample) -> Option<String> {
    let is_simulated = sample.environment.target.kind == TargetKind::Simulated;
    let is_flushed_last = sample.workload.durability == Durability::FlushAtEnd;
    let written = Workload { durability: Durability::None, ..sample.workload.clone() };
    (is_simulated && is_flushed_last && sample.failure.is_some())
        .then(|| format!("{written}, interrupted before all was flushed"))
}

fn line(text: &mut String, name: &str, figures: &str) {
    let _ = writeln!(text, "  {name:<11} {}", sanitize(figures));
}

/// Where a limit in bytes came to no whole number of requests, and so to more.
fn rounded_up(sample: &Sample) -> Option<String> {
    let limit = sample.workload.limits.bytes.filter(|limit| sample.total.bytes > limit.0)?;
    Some(format!("; {limit} in whole requests are {}", Bytes(sample.total.bytes)))
}

/// CPU time per request. The kernel's count moves with its ticks: nothing counted in so short a sample is nothing
/// known.
fn processor(sample: &Sample) -> Option<String> {
    let cost = sample.cpu.lower_us_per_request.filter(|cost| *cost > 0.0)?;
    let share = |part_s: f64| significant(part_s * 1e6 / sample.total.requests.max(1) as f64);
    let (user, system) = (share(sample.cpu.lower.user_s), share(sample.cpu.lower.system_s));
    let clocks = sample.cpu.clocks_per_byte.map(|clocks| format!(", {} clocks per byte", significant(clocks)));
    // A simulated machine knows it all, and has no bounds.
    let upper = sample.cpu.upper_us_per_request.filter(|upper| *upper > cost).map(|upper| {
        let error_s = sample.cpu.soaker.map_or(0.0, |soaker| soaker.error_s);
        let error = error_s * 1e6 / sample.total.requests.max(1) as f64;
        format!(", at most {} ± {}", significant(upper), significant_error(error, upper))
    });
    let (clocks, upper) = (clocks.unwrap_or_default(), upper.unwrap_or_default());
    Some(format!("{} µs per I/O (user {user}, system {system}){upper}{clocks}", significant(cost)))
}

/// What all CPUs did meanwhile, the workers' part left out of nothing: the kernel's threads and other programs are
/// in it.
fn machine(sample: &Sample) -> Option<String> {
    let account = sample.cpu.system?;
    // The account is of the whole machine, of which the program may not use every CPU.
    let all_s = account.total_s();
    // In so short a sample the kernel's ticks say nothing.
    let share = |part_s: f64| (all_s >= 0.5).then(|| format!("{:.0} %", part_s / all_s * 100.0));
    let (busy, stolen) = (share(account.busy_s)?, share(account.steal_s)?);
    let switches = sample.cpu.context_switches.map(|switches| {
        format!("; workers waited {} times, were interrupted {}", switches.voluntary, switches.involuntary)
    });
    let switches = switches.unwrap_or_default();
    let threads = account.kernel_threads_s.and_then(share);
    let threads = threads.map(|share| format!(", {share} by the kernel's threads")).unwrap_or_default();
    Some(format!("{busy} of its CPU time used{threads}, {stolen} stolen{switches}"))
}

/// What the device did for the requests.
fn served(block: &Block) -> String {
    let amplification = |direction: Option<Direction>, name: &str| {
        Some(format!("{} times the bytes {name}", significant(direction?.amplification?)))
    };
    let moved = [amplification(block.read, "read"), amplification(block.write, "written")];
    let moved: Vec<String> = moved.into_iter().flatten().collect();
    let moved = if moved.is_empty() { format!("{} moved", Bytes(block.bytes)) } else { moved.join(", ") };
    let share = format!("{} %", significant(block.busy_fraction * 100.0));
    let (outstanding, merged) = (block.outstanding(&share), block.merges);
    // A direction that nobody asked for: reads of blocks that are written in part, what the file system keeps, others.
    let unasked = |direction: Option<Direction>, of: Option<Direction>| {
        let is_asked = of.is_some_and(|of| of.amplification.is_some());
        direction.filter(|direction| is_asked && direction.amplification.is_none() && direction.requests > 0)
    };
    let (reads, writes) = (unasked(block.read, block.write), unasked(block.write, block.read));
    let besides = match (reads, writes) {
        (Some(read), _) => Some((read, "read", "the writes")),
        (None, Some(write)) => Some((write, "wrote", "the reads")),
        (None, None) => None,
    };
    let requests = block.requests.saturating_sub(besides.map_or(0, |(besides, ..)| besides.requests));
    // Requests without bytes are flushes of the device's cache, which the kernel counts as writes.
    let besides = besides.filter(|(besides, ..)| besides.bytes > 0);
    let besides = besides.map(|(Direction { requests, bytes, .. }, did, these)| {
        format!("; meanwhile it {did} {} in {requests} requests, for others or for {these}", Bytes(bytes))
    });
    format!("{moved} in {requests} requests, {merged} merged, {outstanding}{}", besides.unwrap_or_default())
}

/// Where requests spent their time in the block layer, and what was done to them.
fn lives(phases: &Phases) -> String {
    let (Some(share), Some(queued), Some(device)) = (phases.queued_share, phases.queued_ns.mean, phases.device_ns.mean)
    else {
        return "no request was seen from its start to its end".to_owned();
    };
    let mean = |ns: f64| Nanoseconds(ns as u64);
    format!(
        "queued {} ({} %), at the device {}; {} split, {} merged, {} given back, of {} followed",
        mean(queued),
        significant(share * 100.0),
        mean(device),
        phases.split,
        phases.merged,
        phases.requeued,
        phases.followed
    )
}

/// Workers side by side, in the figures of `iozone -t`.
fn side_by_side(text: &mut String, parallel: &Parallel) {
    let Parallel { sum_bytes_per_s, parent_bytes_per_s, min_bytes_per_s, mean_bytes_per_s, max_bytes_per_s, .. } =
        parallel;
    line(text, "workers", &format!("together {sum_bytes_per_s}, to the last finish {parent_bytes_per_s}"));
    line(text, "each", &format!("least {min_bytes_per_s}, mean {mean_bytes_per_s}, most {max_bytes_per_s}"));
    line(text, "first done", &format!("when all had moved {}", Bytes(parallel.bytes_at_first_finish)));
}

/// Every target with what lies below it; what several have in common once.
fn places(sample: &Sample) -> String {
    let mut places: Vec<(Vec<String>, String)> = Vec::new();
    for target in sample.environment.all_targets() {
        let below: Vec<&str> =
            [&target.filesystem, &target.device, &target.transport].into_iter().flatten().map(String::as_str).collect();
        let (path, below) = (target.path.clone(), below.join(", "));
        match places.iter_mut().find(|(_, other)| *other == below) {
            Some((paths, _)) => paths.push(path),
            None => places.push((vec![path], below)),
        }
    }
    let named = places.into_iter().map(|(paths, below)| {
        let paths =
            if paths.len() > 4 { format!("{} and {} more", paths[0], paths.len() - 1) } else { paths.join(", ") };
        if below.is_empty() { paths } else { format!("{paths} ({below})") }
    });
    named.collect::<Vec<_>>().join("; ")
}

fn throughput(text: &mut String, name: &str, totals: &Totals) {
    let rate = Quantity::RequestsPerSecond.format(totals.requests_per_s);
    // A flush moves no bytes.
    let bytes = if totals.bytes > 0 { format!("{}, ", totals.bytes_per_s) } else { String::new() };
    line(text, name, &format!("{bytes}{rate}"));
}

fn latency(text: &mut String, name: &str, latency: &Latency) {
    let whole = |value: Option<f64>| value.map(|value| value.round() as u64);
    let figures = [
        ("mean", whole(latency.mean)),
        ("p50", latency.p50),
        ("p90", latency.p90),
        ("p99", latency.p99),
        ("p99.9", latency.p99_9),
        ("max", latency.max),
    ];
    let shown = figures.iter().filter_map(|(name, value)| Some(format!("{name} {}", Nanoseconds((*value)?))));
    let shown: Vec<String> = shown.collect();
    if !shown.is_empty() {
        line(text, name, &shown.join(", "));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures;
    use halfpower_model::sample::{Failure, Interval, OpenLoop, Verified};
    use halfpower_model::{Operation, TargetFacts};

    fn target(path: &str, device: &str) -> TargetFacts {
        let device = Some(device.to_owned());
        TargetFacts { device, ..TargetFacts::bare(path, TargetKind::File, Bytes(1 << 20)) }
    }

    fn sample(more_targets: Vec<TargetFacts>) -> Sample {
        Sample::empty(Workload::default(), fixtures::host(target("a", "vda"), more_targets))
    }

    #[test]
    fn what_was_done_on_what_comes_first() {
        let several = sample(vec![target("b", "vdb"), target("c", "vda")]);
        assert_eq!(places(&several), "a, c (vda); b (vdb)");
        let many = sample((0..9).map(|number| target(&format!("t{number}"), "vda")).collect());
        assert_eq!(places(&many), "a and 9 more (vda)");
        let mut sample = sample(Vec::new());
        assert!(summary(&sample).starts_with("sequential read,") && summary(&sample).contains("outstanding"));
        sample.verified = Some(Verified::default());
        let text = summary(&sample);
        assert!(text.starts_with("reading back what was written, 64 KiB at a time"), "{text}");
        assert!(!text.contains("outstanding") && !text.contains("sequential"), "{text}");
        sample.workload.operation = Operation::Write;
        sample.workload.durability = Durability::FlushAtEnd;
        sample.environment.target.kind = TargetKind::Simulated;
        assert!(summary(&sample).contains(", flushed, sync"));
        sample.failure = Some(Failure { code: "interrupted".to_owned(), message: "interrupted".to_owned() });
        let told = summary(&sample);
        assert!(told.contains(", interrupted before all was flushed, sync") && !told.contains(", flushed"), "{told}");
    }

    #[test]
    fn what_was_found_is_told() {
        let mut sample = sample(Vec::new());
        let plain = summary(&sample);
        for absent in ["response", "backlog", "verified", "workers", "obtained", "trim", "flush", "device  "] {
            assert!(!plain.contains(absent), "{absent}: {plain}");
        }
        sample.open_loop = Some(OpenLoop { backlog_max: 7, backlog_at_end: 2, ..OpenLoop::default() }.into());
        sample.parallel = Some(Parallel { bytes_at_first_finish: 1 << 20, ..Parallel::default() });
        sample.verified =
            Some(Verified { blocks: 9, wrong: 1, first_wrong: Some("bad".to_owned()), ..Default::default() });
        sample.workload.operation = Operation::Write;
        sample.read = Some(Totals { requests: 5, bytes: 5, ..Totals::default() });
        sample.flush = Some(Totals { requests: 3, requests_per_s: 3.0, ..Totals::default() }.into());
        sample.instrument.obtained = vec!["sqpoll".to_owned()].into();
        let text = summary(&sample);
        for told in
            ["7 at most, 2 at the end", "moved 1 MiB", "1 wrong; the first: bad", "flush       3 IOPS", "sqpoll"]
        {
            assert!(text.contains(told), "{told}: {text}");
        }
    }

    #[test]
    fn what_the_device_did_is_told() {
        let direction = |requests, bytes, amplification| Some(Direction { requests, bytes, amplification });
        let served = |read, write| {
            served(&Block {
                requests: 12,
                bytes: 1 << 20,
                merges: 3,
                busy_fraction: 0.25,
                devices: 1,
                outstanding_mean: None,
                read,
                write,
                trim: None,
                phases: None,
            })
        };
        let (mib, busy) = (1 << 20, "3 merged, requests outstanding 25 % of the time");
        let (plain, amplified) = (direction(8, mib, None), direction(4, 4 * mib, Some(1.25)));
        for (read, write, told) in [
            (direction(12, mib, Some(2.5)), None, format!("2.5 times the bytes read in 12 requests, {busy}")),
            (
                plain,
                amplified,
                format!(
                    "1.25 times the bytes written in 4 requests, {busy}; meanwhile it read 1 MiB in 8 requests, for others \
                     or for the writes"
                ),
            ),
            (
                amplified,
                plain,
                format!(
                    "1.25 times the bytes read in 4 requests, {busy}; meanwhile it wrote 1 MiB in 8 requests, for others or \
                     for the reads"
                ),
            ),
            (amplified, direction(8, 0, None), format!("1.25 times the bytes read in 4 requests, {busy}")),
            (None, None, format!("1 MiB moved in 12 requests, {busy}")),
        ] {
            assert_eq!(served(read, write), told);
        }
    }

    #[test]
    fn a_warm_up_is_told_and_else_how_exact_the_run_is_within_itself() {
        let mut sample = sample(Vec::new());
        sample.workload.interval = Nanoseconds(10_000_000);
        let course = |first: u64| -> Vec<Interval> {
            let interval = |index: u32| Interval {
                at_s: f64::from(index) / 100.0,
                requests: 1,
                bytes: u64::from(index * 7919 % 101) * 1000 + if index <= 60 { first } else { 1_000_000 },
                latency_p50_ns: None,
                latency_p99_ns: None,
            };
            (1..=300).map(interval).collect()
        };
        assert!(!summary(&sample).contains("this run"), "no course, nothing to tell");
        sample.intervals = course(1_000_000);
        let steady = summary(&sample);
        assert!(
            steady.contains("within it, by batch means of 300 intervals") && !steady.contains("warm-up"),
            "{steady}"
        );
        sample.intervals = course(400_000);
        let slow = summary(&sample);
        assert!(slow.contains(" are a warm-up: without it throughput is 1.1") && slow.contains("--warmup "), "{slow}");
        assert!(!slow.contains("this run"), "{slow}");
    }
}
