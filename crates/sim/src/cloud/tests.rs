use super::*;
use halfpower_model::{Bytes, BytesPerSecond, Nanoseconds};
use proptest::prelude::*;

const MS: u64 = 1_000_000;

/// 100 requests per second of 8 KiB, 1 MiB/s, 5 ms, no spread.
fn slow() -> CloudVolume {
    CloudVolume {
        size: Bytes(1 << 30),
        unit: Bytes(8192),
        limits: Limits { requests: 100.0, rate: BytesPerSecond(1_048_576.0), ..Limits::default() },
        instance: None,
        parallel: 4,
        read_latency: Nanoseconds(5 * MS),
        write_latency: Nanoseconds(7 * MS),
        spread: Nanoseconds(0),
    }
}

/// When each of some commands that arrive at once is answered, in milliseconds.
fn answered(volume: CloudVolume, commands: &[(Direction, u64, u64)]) -> Vec<u64> {
    let mut cloud = Cloud::new(Arc::new(volume), None, 1);
    let ready_ms = |(tag, &(direction, block, count)): (u32, &(Direction, u64, u64))| {
        cloud.serve(0, Command { tag, direction, block, count, received_ns: 0 }).ready_ns / MS
    };
    (0..).zip(commands).map(ready_ms).collect()
}

#[test]
fn a_course_by_hand() {
    use Direction::{Read, Write};
    // One every 10 ms. The third counts twice, so the fourth waits 20 ms, and its bytes take 15.6 ms.
    let course = [(Read, 0, 8), (Write, 100, 8), (Read, 200, 32), (Read, 500, 8)];
    assert_eq!(answered(slow(), &course), [5, 17, 35, 45]);
    // The first has passed; the third merges with the second, and the fourth is beyond their unit.
    let sequential = [(Read, 0, 8), (Read, 8, 8), (Read, 16, 8), (Read, 24, 8)];
    assert_eq!(answered(slow(), &sequential), [5, 15, 18, 25]);
    // Neither another direction nor a gap merges.
    assert_eq!(answered(slow(), &[(Read, 0, 8), (Read, 8, 8), (Write, 16, 8), (Write, 25, 8)]), [5, 15, 27, 37]);
    let narrow = CloudVolume { parallel: 1, read_latency: Nanoseconds(50 * MS), ..slow() };
    assert_eq!(answered(narrow, &[(Read, 0, 8), (Read, 100, 8)]), [50, 100], "its only server is taken");
    // 1 MiB takes a second, and the next request waits for it.
    let wide = CloudVolume { unit: Bytes(1 << 20), ..slow() };
    assert_eq!(answered(wide, &[(Read, 0, 2048), (Read, 9000, 8)]), [1000, 1005]);
}

/// The provider's table: how long a volume with so many IOPS bursts at 3000 from 5.4 million credits on. The first line of the table
/// is 1862 s for 100 IOPS.
#[test]
fn credits_last_as_long_as_the_provider_says_and_come_back_at_the_rate() {
    for (per_s, lasts_s) in [(100.0, 1862.0), (300.0, 2000.0), (1002.0, 2703.0), (2250.0, 7200.0)] {
        let burst = Some(Burst { per_s: 3000.0, credits: 5.4e6, at_first: 5.4e6 });
        let mut meter = Meter::new(Limit { per_s, burst });
        let mut pass = || {
            let from_ns = meter.free_ns;
            meter.pass(from_ns, 10.0);
            (meter.free_ns / 1e9, 1e10 / (meter.free_ns - from_ns))
        };
        let (empty_s, _) = (0..).map(|_| pass()).find(|(_, rate)| *rate < 2990.0).unwrap();
        assert!((empty_s / lasts_s - 1.0).abs() < 0.001, "{per_s}: {empty_s}");
        assert!((pass().1 / per_s - 1.0).abs() < 1e-9, "{per_s}");
        let empty_ns = meter.free_ns;
        meter.pass(empty_ns + 10e9, per_s);
        // Of 10 s one is spent, and some come in while it passes.
        assert!((8.9..10.0).contains(&(meter.credits / per_s)), "{per_s}: {}", meter.credits);
        meter.pass(meter.free_ns + 1e15, 0.001);
        assert!((meter.credits / 5.4e6 - 1.0).abs() < 1e-3, "{per_s}: {}", meter.credits);
    }
    let mut meter = Meter::new(Limit { per_s: 4.0, burst: None });
    meter.pass(60e9, 1.0);
    assert_eq!(meter.free_ns, 60.25e9, "a minute without requests gives no credit");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    /// No second sees more than the burst rate, and no stretch more than the rate and the credits.
    #[test]
    fn a_limit_is_never_exceeded(
        per_s in 1.0_f64..500.0, credits in 0.0_f64..2000.0, gaps_ms in proptest::collection::vec(0_u32..20, 400)
    ) {
        let burst = (credits > 1.0).then_some(Burst { per_s: 1000.0, credits, at_first: credits });
        let most_per_s = burst.map_or(per_s, |burst| burst.per_s);
        let (mut meter, mut passed, mut from_ns) = (Meter::new(Limit { per_s, burst }), Vec::new(), 0.0);
        for gap_ms in gaps_ms {
            from_ns += f64::from(gap_ms) * 1e6;
            let at_ns = meter.free_ns.max(from_ns);
            meter.pass(at_ns, 1.0);
            passed.push(at_ns / 1e9);
        }
        for (first, from_s) in passed.iter().enumerate() {
            let within = passed[first..].iter().filter(|at_s| **at_s < from_s + 1.0).count() as f64;
            prop_assert!(within <= most_per_s + 1.0 + 1e-6, "{within} in a second");
            let all = (passed.len() - 1 - first) as f64;
            let lasted_s = passed[passed.len() - 1] - from_s;
            prop_assert!(all <= lasted_s * per_s + credits + 1.0 + 1e-6, "{all} in {lasted_s} s");
        }
    }
}
