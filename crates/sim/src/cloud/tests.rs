use super::*;

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
