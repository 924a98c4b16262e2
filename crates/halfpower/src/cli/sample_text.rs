//! The text of a sample: workload, target, figures and warnings.

use crate::sanitize::sanitize;
use crate::text::{grouped, joined, percent};
use halfpower_analysis::{Observed, analyse, attribute, busiest_first, derived_warnings, within_run};
use halfpower_model::sample::{Block, Direction, Latency, Parallel, Phases, Totals, Verified};
use halfpower_model::units::{significant, significant_error};
use halfpower_model::{
    Bytes, Durability, FindingCode, Nanoseconds, Operation, Personality, Quantity, Sample, TargetFacts, Workload,
};
use std::fmt::Write;

/// The text of a sample.
pub(super) fn summary(sample: &Sample) -> String {
    let what = match (is_read_back(sample), left_unflushed(sample)) {
        (true, _) => format!("reading back written data, {} at a time", sample.workload.request_size),
        (_, Some(what)) => what,
        _ => sample.workload.to_string(),
    };
    let head = format!("{what}, {}, on {}", sample.environment.way(&sample.workload), places(sample));
    let parts = [
        ("read", sample.read.as_ref()),
        ("write", sample.write.as_ref()),
        ("trim", sample.trim.as_deref()),
        ("flush", sample.flush.as_deref()),
    ];
    let parts: Vec<(&str, &Totals)> = parts.into_iter().filter_map(|(name, totals)| Some((name, totals?))).collect();
    let parts = || parts.iter().filter(|_| parts.len() > 1).copied();
    let open = sample.open_loop.as_ref();
    let phases = sample.block.as_ref().and_then(|block| block.phases.as_deref());
    let busy = busiest_first(sample.parts.iter().map(|part| (part.name.as_str(), part.kind, part.busy))).join(", ");
    let (obtained, refused) = (&sample.instrument.obtained, &sample.instrument.refused);
    let warnings = sample.warnings.iter().cloned().chain(derived_warnings(sample));
    let lines = [("throughput", Some(throughput(&sample.total))), ("over time", changed(sample))]
        .into_iter()
        .chain(parts().map(|(name, totals)| (name, Some(throughput(totals)))))
        .chain([("latency", latency(&sample.total.latency_ns))])
        .chain(parts().map(|(name, totals)| (name, latency(&totals.latency_ns))))
        .chain([
            ("first byte", first_byte(sample)),
            ("response", open.and_then(|open| latency(&open.response_ns))),
            ("lateness", open.and_then(|open| latency(&open.lateness_ns))),
            ("backlog", open.map(|open| format!("{} at most, {} at the end", open.backlog_max, open.backlog_at_end))),
            ("CPU", cpu(sample)),
            ("machine", machine(sample)),
            ("depth", depth(sample)),
            ("ranks", sample.ranks_in_words()),
            ("bottleneck", attribute(sample).map(|pace| format!("{}.{}", pace.brief(), pace.further()))),
            ("busy", Some(busy).filter(|busy| !busy.is_empty())),
            ("measured", Some(measured(sample))),
            ("this run", precision(sample)),
            ("device", sample.block.as_ref().map(|block| served(block, sample.device_busy()))),
            ("block layer", phases.map(block_layer)),
        ])
        .chain(sample.parallel.iter().flat_map(side_by_side))
        .chain([
            ("verified", sample.verified.as_ref().map(verified)),
            ("obtained", (!obtained.is_empty()).then(|| obtained.join(", "))),
        ])
        .chain(refused.iter().map(|refused| ("unavailable", Some(refused.clone()))))
        .chain(warnings.map(|warning| ("warning", Some(format!("{}; {}", warning.message, warning.remedy)))));
    let mut text = sanitize(&head).into_owned() + "\n";
    for (name, figures) in lines.filter_map(|(name, figures)| Some((name, figures?))) {
        let _ = writeln!(text, "  {name:<11} {}", sanitize(&figures));
    }
    text
}

/// `fell: 240 MB/s for 3 s, then 60 MB/s`; none if the throughput stayed.
fn changed(sample: &Sample) -> Option<String> {
    let observed = [Observed { id: 0, cell: 0, block: 0, sample }];
    let found = analyse(&observed).findings.into_iter().find(|finding| finding.code == FindingCode::Drift)?;
    Some(found.brief)
}

/// Mean queue depth; none for a verification, which does not count it.
fn depth(sample: &Sample) -> Option<String> {
    let requested = u64::from(sample.workload.depth) * u64::from(sample.workload.workers);
    let depth = significant(sample.depth_mean.counted);
    (!is_read_back(sample)).then(|| format!("{depth} of {requested} outstanding on average"))
}

/// The duration, and the bytes if a limit in bytes was rounded up to whole requests.
fn measured(sample: &Sample) -> String {
    let flush = sample.flush_s.map(|flush_s| format!(", {} of it the flush", Nanoseconds::from_seconds(flush_s)));
    let limit = sample.workload.limits.bytes.filter(|limit| sample.total.bytes > limit.0);
    let rounded = limit.map(|limit| format!("; {limit} in whole requests are {}", Bytes(sample.total.bytes)));
    let elapsed = Nanoseconds::from_seconds(sample.elapsed_s);
    format!("{elapsed}{}{}", flush.unwrap_or_default(), rounded.unwrap_or_default())
}

fn precision(sample: &Sample) -> Option<String> {
    let within = within_run(sample)?;
    let (half, count, worth) = (within.half_width(), within.intervals, significant(within.independent));
    let basis = format!("batch means of {count} intervals, which are worth {worth} independent ones");
    Some(format!("throughput {half} within it, by {basis}; another run may differ by more"))
}

fn verified(verified: &Verified) -> String {
    let wrong = verified.first_wrong.as_ref().map(|first| format!("; the first: {first}")).unwrap_or_default();
    format!("{} blocks of {}, {} wrong{wrong}", verified.blocks, verified.block_bytes, verified.wrong)
}

/// Whether the sample is a verification only.
fn is_read_back(sample: &Sample) -> bool {
    sample.verified.is_some() && !sample.workload.operation.writes()
}

/// The workload of a simulated machine that was interrupted before its flush. A host always flushes at the end.
fn left_unflushed(sample: &Sample) -> Option<String> {
    let is_flushed_last = sample.workload.durability == Durability::FlushAtEnd;
    let written = Workload { durability: Durability::None, ..sample.workload.clone() };
    (sample.environment.target.kind.is_time_virtual() && is_flushed_last && sample.failure.is_some())
        .then(|| format!("{written}, interrupted before all was flushed"))
}

/// The share of a mean latency that a sample's first and last answers may be off.
const EDGES: f64 = 0.02;

/// When the first byte of a read's answer came: a connection to an object store has one request at a time, so it is the latency
/// without the time in which the answer arrived.
fn first_byte(sample: &Sample) -> Option<String> {
    let is_read = sample.workload.personality == Personality::S3 && sample.workload.operation == Operation::Read;
    let connections = sample.connections.as_ref().filter(|_| is_read && sample.total.requests > 0)?;
    let rest_ns = connections.arriving_s * 1e9 / sample.total.requests as f64;
    let mean_ns = sample.total.latency_ns.mean?;
    // Answers at both ends of the sample count in part: a smaller difference is noise.
    let first_ns = Some(mean_ns - rest_ns).filter(|first_ns| *first_ns > EDGES * mean_ns)?;
    let [first, rest] = [first_ns, rest_ns].map(|ns| Nanoseconds(ns as u64));
    Some(format!("{first} after a request on average, the rest of its answer {rest} more"))
}

/// CPU time per I/O. The kernel counts it in ticks, so zero in a short sample means unknown.
fn cpu(sample: &Sample) -> Option<String> {
    let cost = sample.cpu.lower_us_per_request.filter(|cost| *cost > 0.0)?;
    let share = |part_s: f64| significant(part_s * 1e6 / sample.total.requests.max(1) as f64);
    let (user, system) = (share(sample.cpu.lower.user_s), share(sample.cpu.lower.system_s));
    let clocks = sample.cpu.clocks_per_byte.map(|clocks| format!(", {} clocks per byte", significant(clocks)));
    // A simulated machine knows the exact time, so both bounds are equal.
    let upper = sample.cpu.upper_us_per_request.filter(|upper| *upper > cost).map(|upper| {
        let error_s = sample.cpu.soaker.map_or(0.0, |soaker| soaker.error_s);
        let error = error_s * 1e6 / sample.total.requests.max(1) as f64;
        format!(", at most {} ± {}", significant(upper), significant_error(error, upper))
    });
    let (clocks, upper) = (clocks.unwrap_or_default(), upper.unwrap_or_default());
    Some(format!("{} µs per I/O (user {user}, system {system}){upper}{clocks}", significant(cost)))
}

/// CPU time of the whole machine: workers, kernel threads and other programs.
fn machine(sample: &Sample) -> Option<String> {
    let account = sample.cpu.system?;
    // Over all CPUs, of which the program may use only some.
    let all_s = account.total_s();
    // In a shorter sample the kernel's ticks are too coarse.
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

/// The device's requests and bytes.
fn served(block: &Block, busy: Option<f64>) -> String {
    let amplification = |direction: Option<Direction>, name: &str| {
        Some(format!("{} times the bytes {name}", significant(direction?.amplification?)))
    };
    let moved = joined([amplification(block.read, "read"), amplification(block.write, "written")]);
    let moved = if moved.is_empty() { format!("{} moved", Bytes(block.bytes)) } else { moved };
    let outstanding = busy.map(|busy| format!(", {}", block.outstanding(&percent(busy)))).unwrap_or_default();
    // A direction without requests of ours: blocks that are written in part, metadata of the file system, other programs.
    let not_ours = |direction: Option<Direction>, of: Option<Direction>| {
        let is_ours = of.is_some_and(|of| of.amplification.is_some());
        direction.filter(|direction| is_ours && direction.amplification.is_none() && direction.requests > 0)
    };
    let read = not_ours(block.read, block.write).map(|read| (read, "read", "the writes"));
    let besides = read.or_else(|| Some((not_ours(block.write, block.read)?, "wrote", "the reads")));
    let requests = block.requests.saturating_sub(besides.map_or(0, |(besides, ..)| besides.requests));
    // Requests without bytes are flushes of the device's cache, which the kernel counts as writes.
    let besides = besides.filter(|(besides, ..)| besides.bytes > 0);
    let besides = besides.map(|(Direction { requests, bytes, .. }, did, these)| {
        format!("; meanwhile it {did} {} in {requests} requests, for others or for {these}", Bytes(bytes))
    });
    format!("{moved} in {requests} requests, {} merged{outstanding}{}", block.merges, besides.unwrap_or_default())
}

/// Time of the requests in the block layer, and how many were split, merged or requeued.
fn block_layer(phases: &Phases) -> String {
    let (Some(share), Some(queued), Some(device)) = (phases.queued_share, phases.queued_ns.mean, phases.device_ns.mean)
    else {
        return "no request was seen from its start to its end".to_owned();
    };
    let [queued, device] = [queued, device].map(|ns| Nanoseconds(ns as u64));
    let Phases { split, merged, requeued, followed, .. } = phases;
    let life = format!("queued {queued} ({}), at the device {device}", percent(share));
    format!("{life}; {split} split, {merged} merged, {requeued} given back, of {followed} followed")
}

/// The figures of parallel workers, as `iozone -t` has them.
fn side_by_side(parallel: &Parallel) -> [(&'static str, Option<String>); 3] {
    let Parallel { sum_bytes_per_s, parent_bytes_per_s, min_bytes_per_s, mean_bytes_per_s, max_bytes_per_s, .. } =
        parallel;
    [
        ("workers", Some(format!("together {sum_bytes_per_s}, to the last finish {parent_bytes_per_s}"))),
        ("each", Some(format!("least {min_bytes_per_s}, mean {mean_bytes_per_s}, most {max_bytes_per_s}"))),
        ("first done", Some(format!("when all had moved {}", Bytes(parallel.bytes_at_first_finish)))),
    ]
}

/// Every target with its file system, device and transport; several targets with equal ones share them.
fn places(sample: &Sample) -> String {
    let below =
        |target: &&TargetFacts| joined([&target.filesystem, &target.device, &target.transport].map(Option::as_ref));
    let named = grouped(sample.environment.all_targets(), below).into_iter().map(|(below, targets)| {
        let paths = match &targets[..] {
            [first, .., _] if targets.len() > 4 => format!("{} and {} more", first.path, targets.len() - 1),
            few => joined(few.iter().map(|target| Some(&target.path))),
        };
        if below.is_empty() { paths } else { format!("{paths} ({below})") }
    });
    named.collect::<Vec<_>>().join("; ")
}

pub(super) fn throughput(totals: &Totals) -> String {
    let rate = Quantity::RequestsPerSecond.format(totals.requests_per_s);
    // A flush moves no bytes.
    if totals.bytes > 0 { format!("{}, {rate}", totals.bytes_per_s) } else { rate }
}

pub(super) fn latency(latency: &Latency) -> Option<String> {
    let figures = [
        ("mean", latency.mean.map(|mean| mean.round() as u64)),
        ("p50", latency.p50),
        ("p90", latency.p90),
        ("p99", latency.p99),
        ("p99.9", latency.p99_9),
        ("max", latency.max),
    ];
    let shown = joined(figures.map(|(name, value)| Some(format!("{name} {}", Nanoseconds(value?)))));
    (!shown.is_empty()).then_some(shown)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures;
    use halfpower_model::TargetKind;
    use halfpower_model::sample::{Connections, Failure, Interval, OpenLoop};

    fn target(path: &str, device: &str) -> TargetFacts {
        let device = Some(device.to_owned());
        TargetFacts { device, ..TargetFacts::bare(path, TargetKind::File, Bytes(1 << 20)) }
    }

    fn sample(more_targets: Vec<TargetFacts>) -> Sample {
        Sample::empty(Workload::default(), fixtures::host(target("a", "vda"), more_targets))
    }

    #[test]
    fn the_workload_and_its_targets_come_first() {
        let several = sample(vec![target("b", "vdb"), target("c", "vda")]);
        assert_eq!(places(&several), "a, c (vda); b (vdb)");
        let many = sample((0..9).map(|number| target(&format!("t{number}"), "vda")).collect());
        assert_eq!(places(&many), "a and 9 more (vda)");
        let mut sample = sample(Vec::new());
        assert!(summary(&sample).starts_with("sequential read,") && summary(&sample).contains("outstanding"));
        sample.verified = Some(Verified::default());
        let text = summary(&sample);
        assert!(text.starts_with("reading back written data, 64 KiB at a time"), "{text}");
        assert!(!text.contains("outstanding") && !text.contains("sequential"), "{text}");
        sample.workload.operation = Operation::Write;
        sample.workload.durability = Durability::FlushAtEnd;
        sample.environment.target.kind = TargetKind::Simulated;
        assert!(summary(&sample).contains(", flushed, sync"));
        sample.failure = Some(Failure { code: "interrupted".to_owned(), message: "interrupted".to_owned() });
        let text = summary(&sample);
        assert!(text.contains(", interrupted before all was flushed, sync") && !text.contains(", flushed"), "{text}");
    }

    #[test]
    fn every_part_of_a_sample_has_its_line() {
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
        for expected in
            ["7 at most, 2 at the end", "moved 1 MiB", "1 wrong; the first: bad", "flush       3 IOPS", "sqpoll"]
        {
            assert!(text.contains(expected), "{expected}: {text}");
        }
    }

    #[test]
    fn an_object_store_s_first_byte_is_what_its_data_leave_of_the_latency() {
        let mut sample = sample(Vec::new());
        (sample.total.requests, sample.total.latency_ns.mean) = (100, Some(2e6));
        sample.connections = Some(Connections { connections: 4, arriving_s: 0.15, ..Connections::default() }.into());
        assert!(!summary(&sample).contains("first byte"), "of no other protocol");
        sample.workload.personality = Personality::S3;
        assert!(
            summary(&sample)
                .contains("  first byte  500 µs after a request on average, the rest of its answer 1.5 ms more\n")
        );
        sample.workload.operation = Operation::Write;
        assert!(!summary(&sample).contains("first byte"));
    }

    #[test]
    fn the_device_s_requests_are_reported() {
        let direction = |requests, bytes, amplification| Some(Direction { requests, bytes, amplification });
        let served = |read, write| {
            let (requests, bytes, merges, devices) = (12, 1 << 20, 3, 1);
            served(&Block { requests, bytes, merges, devices, read, write, ..Block::default() }, Some(0.25))
        };
        let (mib, busy) = (1 << 20, "3 merged, requests outstanding 25 % of the time");
        let (plain, amplified) = (direction(8, mib, None), direction(4, 4 * mib, Some(1.25)));
        for (read, write, expected) in [
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
            assert_eq!(served(read, write), expected);
        }
    }

    #[test]
    fn a_warm_up_is_reported_else_the_precision_within_the_run() {
        let mut sample = sample(Vec::new());
        sample.workload.interval = Nanoseconds(10_000_000);
        let course = |first: u64| -> Vec<Interval> {
            let interval = |index: u32| Interval {
                at_s: f64::from(index) / 100.0,
                requests: 1,
                bytes: u64::from(index * 7919 % 101) * 1000 + if index <= 60 { first } else { 1_000_000 },
                ..Interval::default()
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
