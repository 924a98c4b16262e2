//! Verdicts of made-up runs.

use crate::fixtures::{Run, around, block, buffered, deep, flushed, random, read, write};
use crate::{Sureness, Verdict, analyse};
use halfpower_model::sample::{Block, WorkerTotals};
use halfpower_model::{Bytes, BytesPerSecond, Durability, Histogram, TargetFacts, Verify, Workload};

fn verdict(run: &Run) -> Verdict {
    analyse(&run.observed()).verdict
}

/// A disk that is busy all the time: streams as fast as its medium, random requests that gain from the queue until QD16.
fn disk() -> Run {
    let mut run = Run::default();
    for kib in [4, 64, 1024] {
        let rate = if kib == 4 { 150e6 } else { 200e6 };
        run.add(deep(8, read(kib)), &around(rate));
        run.add(buffered(read(kib)), &around(rate / 2.0));
        run.add(flushed(buffered(write(kib))), &around(rate * 0.8));
    }
    for (depth, iops) in [(1, 5e3), (4, 18e3), (16, 40e3), (32, 41e3)] {
        run.add(deep(depth, random(read(4))), &around(iops * 4096.0));
        run.add(deep(depth, random(write(4))), &around(iops * 2048.0));
    }
    run.add(Workload { durability: Durability::Fsync { every: 1 }, ..random(write(4)) }, &around(500.0 * 4096.0));
    for placed in &mut run.samples {
        placed.sample.instrument.loop_ns_per_request = Some(50.0);
        let totals = &placed.sample.total;
        placed.sample.block = Some(Block { busy_fraction: 0.99, ..block(totals.requests, totals.bytes) });
    }
    run
}

#[test]
fn it_says_what_the_storage_gives_what_limits_it_and_what_to_do() {
    let Verdict { sentences, peaks, .. } = verdict(&disk());
    assert_eq!(
        sentences,
        [
            "Reads over 1 s: 200 MB/s sequential, 41\u{202f}000 IOPS random (4 KiB); first 163 MB of writes: 160 MB/s, \
             20\u{202f}500 IOPS, 500 fsync/s.",
            "The bottleneck of reads and writes is the device (likely).",
            "Use QD16–32 for random reads and, for streams, 64 KiB–1 MiB at QD8, direct; for more, use a faster \
             device, or several.",
        ]
    );
    let kinds: Vec<&str> = peaks.iter().map(|best| best.kind.as_str()).collect();
    assert_eq!(kinds, ["sequential read", "random read", "sequential write", "random write", "write and fsync"]);
}

#[test]
fn nothing_has_no_verdict() {
    let nothing = analyse(&[]).verdict;
    assert!(nothing.sentences.is_empty() && nothing.peaks.is_empty() && nothing.advice.is_empty());
    assert!(nothing.bottleneck.reads.is_none() && nothing.bottleneck.writes.is_none());
}

#[test]
fn a_limit_is_the_bottleneck_whatever_else_was_busy() {
    let run = crate::limits::tests::limited();
    let verdict = verdict(&run);
    let reads = verdict.bottleneck.reads.unwrap();
    assert_eq!((reads.level.as_str(), reads.confidence), ("a limit of 60 MB/s", Some(Sureness::Sure)));
    assert!(
        verdict
            .peaks
            .iter()
            .all(|best| best.workload.request_size.0 as f64 * best.rate.value < 61e6 || best.rate.value < 61e6)
    );
}

#[test]
fn targets_of_which_one_is_much_slower_are_told_apart() {
    let told = |slow: f64| {
        let mut run = Run::default();
        run.add(Workload { targets: 2, workers: 2, ..deep(8, read(1024)) }, &around(2e9));
        for placed in &mut run.samples {
            let environment = &mut *placed.sample.environment;
            environment.target.path = "/srv/a/halfpower-0123.test".to_owned();
            let other = TargetFacts { path: "/srv/b/halfpower-4567.test".to_owned(), ..environment.target.clone() };
            environment.more_targets = vec![other];
            let worker =
                |rate| WorkerTotals { elapsed_s: 1.0, bytes_per_s: BytesPerSecond(rate), ..Default::default() };
            placed.sample.workers = vec![worker(2e9 - slow), worker(slow)];
        }
        verdict(&run).sentences.swap_remove(0)
    };
    assert!(told(5e7).ends_with("; of sequential reads /srv/a has 1.95 GB/s, /srv/b 50 MB/s."), "{}", told(5e7));
    assert!(!told(9e8).contains("/srv"), "{}", told(9e8));
}

#[test]
fn buffered_writes_that_pass_a_limit_of_requests_are_explained() {
    let mut run = crate::limits::tests::regular_in_requests();
    let words = |run: &Run| verdict(run).bottleneck.writes.unwrap().words();
    assert_eq!(words(&run), "a limit of 3\u{202f}000 IOPS (likely; it may be a burst)");
    run.add(flushed(buffered(random(write(4)))), &around(200_000.0 * 4096.0));
    assert_eq!(
        words(&run),
        "a limit of 3\u{202f}000 IOPS (likely; it may be a burst; the page cache merges small requests before it)"
    );
}

#[test]
fn settings_that_a_later_run_may_choose_as_well_are_alike() {
    let mut run = Run::default();
    for (kib, rate) in [(4, 100e6), (16, 176e6), (64, 195e6), (1024, 200e6)] {
        // 88 % of the best, and between 81 and 96 %: any of these may be within a tenth of it.
        run.add(deep(8, read(kib)), &[0.9, 0.95, 1.0, 1.05, 1.1].map(|factor| factor * rate));
    }
    let advice = &verdict(&run).advice[0];
    assert_eq!((advice.of, advice.request_size.map(|size| size.0 >> 10)), ("streaming", [16, 1024]));
}

#[test]
fn a_queue_whose_waits_have_tripled_has_a_shorter_one_beside_it() {
    let mut run = disk();
    let latency = |depth: u32| u64::from(depth) * 100_000;
    for placed in &mut run.samples {
        let mut histogram = Histogram::default();
        (0..2000).for_each(|_| histogram.record(latency(placed.sample.workload.depth)));
        placed.sample.latency_histogram.read = Some(histogram);
    }
    let advice = verdict(&run).advice;
    let of = |name: &str| advice.iter().find(|advice| advice.of == name).unwrap();
    assert_eq!((of("random reads").depth, of("low latency").depth), ([16, 32], [1, 4]));
    assert!(of("low latency").p99.unwrap() * 3 < of("random reads").p99.unwrap());
}

#[test]
fn only_seven_reads_to_three_writes_are_a_mix_of_70_to_30() {
    let named = |percent: &str| {
        let mut run = disk();
        let operation = format!("mix={percent}").parse().unwrap();
        run.add(Workload { operation, ..random(read(4)) }, &around(4e6));
        verdict(&run).peaks.iter().any(|best| best.kind == "random 70/30")
    };
    assert_eq!((named("70"), named("50")), (true, false));
}

#[test]
fn figures_beside_a_range_say_what_they_are_of() {
    let mut run = disk();
    let mix = |depth| Workload { operation: "mix=70".parse().unwrap(), ..deep(depth, random(read(4))) };
    // The second is not within a tenth of the best, and another run may find that it is.
    for (depth, iops) in [(1, 5e3), (8, 35.5e3), (32, 40e3)] {
        run.add(mix(depth), &around(iops * 4096.0));
    }
    let advice = verdict(&run).advice;
    let of = |name: &str| advice.iter().find(|advice| advice.of == name).unwrap();
    assert_eq!((of("database").depth, of("database").of_which().as_str()), ([8, 32], " (QD32)"));
    assert_eq!((of("random reads").depth, of("random reads").of_which().as_str()), ([16, 32], ""));
}

#[test]
fn settings_of_the_host_that_are_in_the_way_are_named() {
    let mut run = disk();
    for placed in &mut run.samples {
        let target = &mut placed.sample.environment.target;
        target.read_ahead_bytes = Some(Bytes(128 << 10));
        (target.rotational, target.scheduler) = (Some(false), Some("bfq".to_owned()));
        target.mount_options = Some("rw,sync".to_owned());
    }
    let tried = |run: &Run, of: &str| {
        let advice = verdict(run).advice;
        advice.iter().find(|advice| advice.of == of).unwrap().settings.clone()
    };
    // 64 KiB at QD8; buffered reads have half of it.
    assert_eq!(tried(&run, "streaming"), ["read_ahead_kb 512 (now 128) for buffered reads"]);
    assert_eq!(tried(&run, "random reads"), ["scheduler none (now bfq)"]);
    assert_eq!(tried(&run, "backup"), ["mounting without sync"]);
    for placed in &mut run.samples {
        let target = &mut placed.sample.environment.target;
        (target.read_ahead_bytes, target.scheduler) = (Some(Bytes(1 << 20)), Some("none".to_owned()));
    }
    assert_eq!([tried(&run, "streaming"), tried(&run, "random reads")], [[""; 0]; 2]);
    for placed in &mut run.samples {
        placed.sample.environment.target.requests_max = Some(8);
    }
    assert_eq!(tried(&run, "random reads"), ["nr_requests 16 (now 8)"]);
    let bottleneck = verdict(&run).bottleneck.reads.unwrap();
    assert!(bottleneck.level.contains("the device or its short queue (nr_requests)"), "{bottleneck:?}");
    assert_eq!(bottleneck.remedies, ["raise nr_requests (now 8)"]);
}

#[test]
fn small_files_are_better_flushed_together() {
    let advice = verdict(&disk()).advice;
    let small = advice.iter().find(|advice| advice.of == "small files").unwrap();
    assert_eq!(
        (small.setting().as_str(), small.workload.durability),
        ("4 KiB, one flush for all", Durability::FlushAtEnd)
    );
    // 120 MB/s of 4 KiB against 500 commits a second.
    let gain = small.gain.as_ref().unwrap();
    assert!((gain.0 / (120e6 / 4096.0 / 500.0) - 1.0).abs() < 1e-3, "{gain:?}");
}

#[test]
fn a_commit_takes_as_long_as_its_write_and_its_fsync() {
    let mut run = disk();
    let histogram = |ns: u64| {
        let mut histogram = Histogram::default();
        (0..2000).for_each(|_| histogram.record(ns));
        Some(histogram)
    };
    for placed in &mut run.samples {
        let histograms = &mut placed.sample.latency_histogram;
        (histograms.write, histograms.flush) = (histogram(128_000), histogram(1_024_000));
    }
    let verdict = verdict(&run);
    let commit = verdict.peaks.iter().find(|best| best.kind == "write and fsync").unwrap();
    assert!(commit.p99.is_some_and(|p99| p99.abs_diff(1_152_000) < 20_000), "{commit:?}");
}

#[test]
fn several_ways_to_verify_have_no_common_best() {
    let mut run = Run::default();
    for kib in [4, 64, 1024] {
        run.add(write(kib), &around(1e6 * kib as f64));
        run.add(Workload { verify: Verify::Stamp, ..write(kib) }, &around(5e5 * kib as f64));
    }
    assert!(verdict(&run).advice.is_empty());
}

#[test]
fn an_unknown_bottleneck_says_what_it_may_be_and_what_would_tell() {
    let mut run = disk();
    for placed in &mut run.samples {
        placed.sample.block.as_mut().unwrap().busy_fraction = 0.7;
    }
    let verdict = verdict(&run);
    let reads = verdict.bottleneck.reads.unwrap();
    assert_eq!((reads.level.as_str(), reads.confidence), ("unknown", None));
    assert_eq!(reads.words(), "unknown (the CPU or the device; a run on an idle machine would tell)");
    assert!(verdict.sentences[1].contains(&reads.words()), "{}", verdict.sentences[1]);
    assert_eq!(reads.evidence.last().unwrap(), "A run on an idle machine would tell.");
}
