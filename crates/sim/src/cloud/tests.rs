use super::*;
use crate::cloud::limit::Burst;
use proptest::prelude::*;

const MS: u64 = 1_000_000;

/// A hundred requests per second of 8 KiB, a megabyte, 5 ms; no spread.
pub(crate) fn slow() -> CloudVolume {
    let limit = |per_s| Limit { per_s, burst: None };
    CloudVolume {
        size: Bytes(1 << 30),
        unit: Bytes(8192),
        limits: vec![Limits { requests: limit(100.0), bytes: limit(1_048_576.0) }],
        instance: None,
        parallel: 4,
        read_ns: 5 * MS,
        write_ns: 7 * MS,
        spread_ns: 0,
    }
}

/// When each of some commands that come at once is answered, in milliseconds.
fn answered(volume: CloudVolume, commands: &[(Direction, u64, u64)]) -> Vec<u64> {
    let mut cloud = Cloud::new(Arc::new(volume), 1);
    let ready_ms = |(tag, &(direction, block, count)): (u32, &(Direction, u64, u64))| {
        cloud.serve(0, Command { tag, direction, block, count, received_ns: 0 }).ready_ns / MS
    };
    (0..).zip(commands).map(ready_ms).collect()
}

#[test]
fn a_course_by_hand() {
    use Direction::{Read, Write};
    // One every 10 ms; the third counts twice, so the fourth waits 20, and its bytes take 15.6.
    let course = [(Read, 0, 8), (Write, 100, 8), (Read, 200, 32), (Read, 500, 8)];
    assert_eq!(answered(slow(), &course), [5, 17, 35, 45]);
    // The first has passed; the third joins the second, and the fourth is beyond their unit.
    let sequential = [(Read, 0, 8), (Read, 8, 8), (Read, 16, 8), (Read, 24, 8)];
    assert_eq!(answered(slow(), &sequential), [5, 15, 18, 25]);
    // Nobody joins the other way, nor with a gap.
    assert_eq!(answered(slow(), &[(Read, 0, 8), (Read, 8, 8), (Write, 16, 8), (Write, 25, 8)]), [5, 15, 27, 37]);
    let narrow = CloudVolume { parallel: 1, read_ns: 50 * MS, ..slow() };
    assert_eq!(answered(narrow, &[(Read, 0, 8), (Read, 100, 8)]), [50, 100], "its only server is taken");
    // 1 MiB takes a second, which what comes next waits as well.
    let wide = CloudVolume { unit: Bytes(1 << 20), ..slow() };
    assert_eq!(answered(wide, &[(Read, 0, 2048), (Read, 9000, 8)]), [1000, 1005]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8))]

    #[test]
    fn no_second_gives_more_than_the_limits_once_the_credits_are_gone(
        per_s in 20.0_f64..400.0, gaps in proptest::collection::vec(0_u64..20, 600), count in 1_u64..40, seed in any::<u64>()
    ) {
        let mut volume = CloudVolume { spread_ns: 2 * MS, parallel: 1000, ..slow() };
        let burst = Some(Burst { per_s: 500.0, credits: 100.0, at_first: 100.0 });
        volume.limits[0].requests = Limit { per_s, burst };
        let (mut cloud, mut now_ns, mut answers) = (Cloud::new(Arc::new(volume), seed), 0, Vec::new());
        for (tag, gap_ms) in (0..).zip(gaps) {
            now_ns += gap_ms * MS;
            let block = u64::from(tag) * 7919 % 2_000_000;
            let command = Command { tag, direction: Direction::Read, block, count, received_ns: now_ns };
            let served = cloud.serve(now_ns, command);
            prop_assert!(served.tag == tag && served.ready_ns >= now_ns + 3 * MS);
            answers.push(served.ready_ns);
        }
        answers.sort_unstable();
        let bytes = (count * BLOCK_BYTES) as f64;
        for (first, from_ns) in answers.iter().enumerate() {
            let within = answers[first + 1..].iter().filter(|at_ns| **at_ns < from_ns + 1_000_000_000).count() as f64;
            // What is answered within a second passed within one and the spread of latencies.
            let most_s = 1.0 + 4e-3;
            let counted = within * (bytes / 8192.0).ceil();
            prop_assert!(counted <= per_s * most_s + 100.0 + 1e-6, "{counted} requests in a second");
            prop_assert!(within * bytes <= 1_048_576.0 * most_s + 1e-3, "{} bytes in a second", within * bytes);
        }
    }
}
