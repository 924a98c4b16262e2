use super::*;
use crate::units::Bytes;
use crate::workload::tests_support::workload;
use crate::workload::{Pattern, Sharing};
use proptest::prelude::*;
use std::collections::BTreeSet;

fn take(stream: &mut RequestStream<'_>, count: usize) -> Vec<Request> {
    let mut batch = vec![Request::default(); count];
    stream.fill(&mut batch);
    batch
}

fn of(workload: &Workload, worker: u32, count: usize) -> Vec<Request> {
    take(&mut RequestStream::new(workload, worker, None), count)
}

fn blocks(requests: &[Request]) -> Vec<u64> {
    requests.iter().map(|request| request.offset / 4096).collect()
}

#[test]
fn sequential_covers_its_part_once_a_round() {
    for pattern in ["sequential", "reverse", "strided=28KiB"] {
        let workload =
            Workload { pattern: pattern.parse().unwrap(), workers: 3, span: Bytes(4096 * 300), ..workload() };
        let mut places: Vec<u64> = (0..3).flat_map(|worker| blocks(&of(&workload, worker, 100))).collect();
        places.sort_unstable();
        assert_eq!(places, (0..300).collect::<Vec<_>>(), "{pattern}");
    }
}

#[test]
fn ordered_patterns_go_their_way() {
    let steps = |pattern: &str| {
        let workload = Workload { pattern: pattern.parse().unwrap(), ..workload() };
        let places = blocks(&of(&workload, 0, 600));
        let steps = places.windows(2).map(|pair| pair[1] as i64 - pair[0] as i64);
        let mut counts = std::collections::BTreeMap::<i64, usize>::new();
        steps.for_each(|step| *counts.entry(step).or_default() += 1);
        counts
    };
    assert!(steps("sequential")[&1] >= 596);
    assert!(steps("reverse")[&-1] >= 596);
    // 256 places in strides of 16: 15 steps of 16, then back to the next of the first 16.
    assert_eq!(steps("strided=64KiB").keys().filter(|step| **step != 16).max(), Some(&-239));
}

#[test]
fn a_shared_cursor_gives_each_place_to_one_worker() {
    let workload = Workload { sharing: Sharing::Cursor, workers: 2, ..workload() };
    let cursor = AtomicU64::new(0);
    let mut streams = [0, 1].map(|worker| RequestStream::new(&workload, worker, Some(&cursor)));
    assert_eq!(streams[0].look_ahead(), 1);
    let mut places = Vec::new();
    for turn in 0..256 {
        places.extend(blocks(&take(&mut streams[usize::from(turn % 3 == 0)], 1)));
    }
    assert_eq!(places, (0..256).collect::<Vec<_>>(), "in order, whoever asks");
    let whole = Workload { sharing: Sharing::Whole, workers: 2, ..workload };
    assert_eq!(blocks(&of(&whole, 1, 256)).into_iter().collect::<BTreeSet<_>>().len(), 256);
}

#[test]
fn runs_leave_out_the_gap_after_each() {
    // 256 blocks of 4 KiB: runs of 3, and 7 left out after each; the last run begins at 250.
    let workload = Workload { pattern: "runs=12KiB/28KiB".parse().unwrap(), ..workload() };
    let runs: Vec<u64> = (0..26).flat_map(|run| [0, 1, 2].map(|block| run * 10 + block)).collect();
    let places = blocks(&of(&workload, 0, 2 * runs.len()));
    let start = runs.iter().position(|block| *block == places[0]).expect("it begins in a run");
    let expected: Vec<u64> = runs.iter().cycle().skip(start).take(2 * runs.len()).copied().collect();
    assert_eq!(places, expected);
}

#[test]
fn what_is_trimmed_is_written_next() {
    for pattern in ["sequential", "random"] {
        let workload = Workload { operation: Operation::TrimWrite, pattern: pattern.parse().unwrap(), ..workload() };
        let mut stream = RequestStream::new(&workload, 0, None);
        // Batches of an odd number part a pair.
        let requests: Vec<Request> = (0..6).flat_map(|_| take(&mut stream, 7)).collect();
        for pair in requests.chunks(2) {
            assert_eq!((pair[0].kind, pair[1].kind), (RequestKind::Trim, RequestKind::Write), "{pattern}");
            assert_eq!((pair[0].offset, pair[0].length), (pair[1].offset, pair[1].length), "{pattern}");
        }
    }
}

#[test]
fn shuffled_covers_each_place_once_a_round() {
    let workload = Workload { pattern: Pattern::Shuffled, workers: 4, ..workload() };
    let all: Vec<Vec<u64>> = (0..4).map(|worker| blocks(&of(&workload, worker, 128))).collect();
    for round in 0..2 {
        let places = all.iter().flat_map(|places| &places[round * 64..(round + 1) * 64]);
        assert_eq!(places.collect::<BTreeSet<_>>().len(), 256, "round {round}");
    }
    assert_ne!(all[0][..64], all[0][64..], "another order in each round");
}

#[test]
fn kinds_and_sizes_have_their_shares() {
    let workload = Workload {
        operation: "mix=read:60,write:30,trim:9,flush:1".parse().unwrap(),
        pattern: Pattern::Random,
        sizes: "read=4KiB:70/8KiB:30,write=16KiB".parse().unwrap(),
        request_size: Bytes(16 << 10),
        ..workload()
    };
    let requests = of(&workload, 0, 100_000);
    let share = |wanted: &dyn Fn(&&Request) -> bool| requests.iter().filter(wanted).count();
    let kind = |kind| share(&|request| request.kind == kind);
    // Five standard deviations of a binomial.
    let near = |got: usize, expected: f64| {
        let deviation = (expected * (1.0 - expected / 1e5)).sqrt();
        assert!((got as f64 - expected).abs() < 5.0 * deviation, "{got}, not {expected}");
    };
    near(kind(RequestKind::Read), 6e4);
    near(kind(RequestKind::Write), 3e4);
    near(kind(RequestKind::Trim), 9e3);
    near(kind(RequestKind::Flush), 1e3);
    near(share(&|request| request.kind == RequestKind::Read && request.length == 4096), 4.2e4);
    assert!(requests.iter().filter(|r| r.kind == RequestKind::Write).all(|r| r.length == 16 << 10));
    assert!(requests.iter().filter(|r| r.kind == RequestKind::Flush).all(|r| (r.length, r.offset) == (0, 0)));
}

#[test]
fn requests_of_several_sizes_follow_on_one_another() {
    let sizes = "512:1/4KiB:1/64KiB:1".parse().unwrap();
    let workload = Workload { sizes, request_size: Bytes(64 << 10), ..workload() };
    let requests = of(&workload, 0, 1000);
    let gaps = requests.windows(2).filter(|pair| pair[1].offset != pair[0].offset + u64::from(pair[0].length));
    // About 44 go into a MiB, so the end is met some 23 times.
    assert!(gaps.count() <= 26);
    // A shared cursor begins at the first place.
    let cursor = AtomicU64::new(0);
    let mut stream = RequestStream::new(&Workload { sharing: Sharing::Cursor, ..workload }, 0, Some(&cursor));
    assert_eq!(take(&mut stream, 1)[0].offset, 0);
}

#[test]
fn an_offset_shifts_and_an_alignment_widens() {
    let workload = Workload { offset: Bytes(12 << 10), align: Some(Bytes(64 << 10)), ..workload() };
    for pattern in ["sequential", "random", "shuffled", "zipf=0.99"] {
        let workload = Workload { pattern: pattern.parse().unwrap(), ..workload.clone() };
        let requests = of(&workload, 0, 64);
        assert!(requests.iter().all(|request| request.offset % (64 << 10) == 12 << 10), "{pattern}");
        assert!(requests.iter().all(|request| request.offset + 4096 <= 1 << 20));
    }
}

#[test]
fn ranked_patterns_give_the_hottest_places_their_known_share() {
    // By their laws: Zipf, share of the first of 256 ranks = 1 / H(256) = 0.1633; Pareto h = 0.2, the first fifth = 0.8;
    // hot and cold as said; a normal of 0.1 has 0.6827 within 0.1 of the middle.
    let cases = [("zipf=1", 1, 0.163_3), ("pareto=0.2", 51, 0.798), ("hot_cold=90/10", 26, 0.9)];
    for (pattern, places, expected) in cases {
        let workload = Workload { pattern: pattern.parse().unwrap(), ..workload() };
        let mut counts = [0_u32; 256];
        of(&workload, 0, 100_000).iter().for_each(|request| counts[(request.offset / 4096) as usize] += 1);
        counts.sort_unstable_by(|a, b| b.cmp(a));
        let share = f64::from(counts[..places].iter().sum::<u32>()) / 1e5;
        assert!((share - expected).abs() < 0.01, "{pattern}: {share}");
    }
    let zoned = Workload { pattern: "zoned=50/5:30/15:20/".parse().unwrap(), ..workload() };
    let mut zones = [0_u32; 3];
    for request in of(&zoned, 0, 100_000) {
        // 5 and 20 % of 256 places.
        zones[match request.offset / 4096 {
            0..12 => 0,
            12..51 => 1,
            _ => 2,
        }] += 1;
    }
    assert!(zones.iter().zip([50_000, 30_000, 20_000]).all(|(count, known)| count.abs_diff(known) < 800), "{zones:?}");
    let workload = Workload { pattern: "normal=0.1".parse().unwrap(), ..workload() };
    let near = of(&workload, 0, 100_000).iter().filter(|r| (r.offset / 4096).abs_diff(128) < 26).count();
    assert!((near as f64 / 1e5 - 0.6827).abs() < 0.02, "{near}");
}

#[test]
fn random_is_even_over_the_span() {
    let workload = Workload { pattern: Pattern::Random, span: Bytes(4096 * 16), ..workload() };
    let mut counts = [0_u32; 16];
    blocks(&of(&workload, 0, 160_000)).iter().for_each(|block| counts[*block as usize] += 1);
    assert!(counts.iter().all(|count| count.abs_diff(10_000) < 500), "{counts:?}");
}

#[test]
fn targets_of_their_own_are_divided_among_their_workers_only() {
    let workload = Workload { workers: 4, targets: 2, span: Bytes(4096 * 100), ..workload() };
    let set = |worker| blocks(&of(&workload, worker, 50)).into_iter().collect::<BTreeSet<_>>();
    // Workers 0 and 2 have the first target.
    assert!(set(0).is_disjoint(&set(2)) && set(0) == set(1));
}

proptest! {
    #[test]
    fn requests_stay_inside_and_replay(seed in any::<u64>(), size_shift in 0_u32..8, blocks in 8_u64..500,
                                       workers in 1_u32..8, pattern in 0_usize..9, offset in 0_u64..4) {
        let size = 512 << size_shift;
        let workload = Workload {
            seed,
            request_size: Bytes(size),
            offset: Bytes(offset * 512),
            span: Bytes(blocks * size + 2048),
            workers,
            pattern: Pattern::EXAMPLES[pattern].parse().unwrap(),
            ..workload()
        };
        for worker in 0..workers {
            let whole = of(&workload, worker, 50);
            prop_assert!(whole.iter().all(|r| r.offset >= offset * 512 && r.offset + u64::from(r.length) <= workload.span.0));
            let mut again = RequestStream::new(&workload, worker, None);
            let mut parts = take(&mut again, 20);
            parts.extend(take(&mut again, 30));
            prop_assert_eq!(whole, parts);
        }
    }
}
