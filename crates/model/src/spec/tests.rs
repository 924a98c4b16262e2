use super::*;
use crate::Key;
use crate::environment::PersonalityFacts;
use crate::environment::TargetFacts;
use crate::units::Nanoseconds;
use crate::workload::Buffering;

fn environment() -> Environment {
    let mut target = TargetFacts::bare("/data/file", TargetKind::File, Bytes(1 << 30));
    target.direct_alignment_bytes = Some(Bytes(512));
    let works = |personality: &_| PersonalityFacts { personality: *personality, unavailable: None, stands_for: None };
    Environment {
        cpus: 2,
        cpu_numbers: vec![0, 1, 4],
        personalities: Personality::ALL.iter().map(works).collect(),
        target,
        ..Environment::default()
    }
}

#[test]
fn nothing_said_is_a_direct_sequential_read() {
    let workload = WorkloadSpec::default().resolve(&environment()).unwrap();
    assert_eq!(workload.to_string(), "sequential read, 64 KiB, QD1, direct");
    assert_eq!(workload.personality, Personality::IoUring);
    assert_eq!(workload.limits.duration, Some(Nanoseconds(5_000_000_000)));
}

#[test]
fn what_does_not_fit_direct_says_why() {
    let told = |spec: WorkloadSpec| {
        let environment = environment();
        spec.missed_direct(&environment, &spec.resolve(&environment).unwrap())
    };
    let of = |size| WorkloadSpec { request_size: Some(Bytes(size)), ..Default::default() };
    assert_eq!((told(of(5000)), told(of(5120))), (Some(Bytes(512)), None));
    assert_eq!(told(WorkloadSpec { buffering: Some(Buffering::Buffered), ..of(5000) }), None, "it was said");
}

#[test]
fn without_direct_it_is_buffered_and_sync() {
    let mut environment = environment();
    environment.target.direct_alignment_bytes = None;
    let workload = WorkloadSpec::default().resolve(&environment).unwrap();
    assert_eq!((workload.buffering, workload.personality), (Buffering::Buffered, Personality::Sync));
    let direct = WorkloadSpec { buffering: Some(Buffering::Direct), ..Default::default() };
    assert!(matches!(direct.resolve(&environment), Err(ResolveError::NoDirect { .. })));
}

#[test]
fn what_cannot_be_is_refused_with_the_remedy() {
    let said = WorkloadSpec::default;
    let of = |line: &str| {
        let specs = line.split_whitespace().map(|said| said.split_once('=').unwrap());
        specs.fold(said(), |all, (key, text)| Key::named(key).unwrap().read(text).unwrap().or(&all))
    };
    let cases = [
        (WorkloadSpec { depth: Some(0), ..said() }, "from 1"),
        (WorkloadSpec { request_size: Some(Bytes(0)), ..said() }, "from 1"),
        (WorkloadSpec { requests: Some(0), ..said() }, "requests is 0"),
        (of("request_size=1000 buffering=none"), "multiples of 512 B"),
        (of("personality=sync depth=8"), "--workers 8"),
        (of("size=2GiB"), "--size"),
        (of("workers=1024 request_size=2MiB"), "1024 workers"),
        (of("offset=1GiB"), "beyond the 1 GiB"),
        (of("sizes=write=8KiB"), "nothing of a kind"),
        (of("align=1GiB"), "leave one place"),
        (of("ring=sqpoll personality=sync"), "--personality io_uring"),
        (of("ring=iopoll buffering=buffered depth=2"), "--buffering direct"),
        (of("durability=flush_at_end"), "--operation write"),
        (of("submit_batch=2"), "at a depth of 1 it can be 1 only"),
        (of("submit_batch=9 depth=8"), "from 1 to 8"),
        (of("wait_batch=9 depth=8"), "--wait_batch is 9"),
        (of("cpu_count=3"), "--cpu_count is 3, and 2 can be used here"),
        (of("cpus=1,2"), "CPU 2, and 2 can be used here: 0-1,4"),
        (of("operation=trim verify=stamp"), "does not go with trims"),
        (of("operation=read verify=stamp"), "nothing is written that could be verified"),
    ];
    for (spec, needle) in cases {
        let message = spec.resolve(&environment()).unwrap_err().worded(|key| format!("--{key}"));
        assert!(message.contains(needle), "{message}");
    }
}

fn with_second(size: u64, alignment: Option<Bytes>) -> Environment {
    let mut environment = environment();
    let mut second = TargetFacts::bare("/data/second", TargetKind::File, Bytes(size));
    second.direct_alignment_bytes = alignment;
    environment.more_targets = vec![second];
    environment
}

#[test]
fn several_targets_make_one_volume() {
    let striped = WorkloadSpec { layout: "stripe=64KiB".parse().ok(), ..Default::default() };
    let mirrored = WorkloadSpec { layout: "mirror".parse().ok(), ..Default::default() };
    let each = WorkloadSpec::default();
    let environment = with_second((1 << 29) + 1, Some(Bytes(4096)));
    let spans = [&striped, &mirrored, &each].map(|spec| spec.resolve(&environment).unwrap());
    assert_eq!(spans.each_ref().map(|workload| workload.span.0), [1 << 30, 1 << 29, 1 << 29]);
    assert_eq!(spans.each_ref().map(|workload| (workload.targets, workload.workers)), [(2, 1), (2, 1), (2, 2)]);
}

#[test]
fn every_one_of_several_targets_must_suit() {
    let said = WorkloadSpec::default;
    let direct = WorkloadSpec { buffering: Some(Buffering::Direct), ..said() };
    let small = WorkloadSpec { request_size: Some(Bytes(512)), ..direct.clone() };
    let striped = |text: &str| WorkloadSpec { layout: text.parse().ok(), ..direct.clone() };
    let stateful = WorkloadSpec { operation: Some(Operation::Write), file_state: Some(FileState::Sparse), ..said() };
    let (mut device, mut null) = (with_second(1 << 30, Some(Bytes(512))), environment());
    device.more_targets[0].kind = TargetKind::BlockDevice;
    null.target = TargetFacts::bare("null:", TargetKind::Null, Bytes(1 << 30));
    let cases = [
        (direct.clone(), with_second(1 << 30, None), "/data/second does not take direct I/O"),
        (small, with_second(1 << 30, Some(Bytes(4096))), "multiples of 4 KiB, not 512 B"),
        (striped("stripe=1000"), with_second(1 << 30, Some(Bytes(512))), "--layout comes to 1000 B"),
        (
            striped("stripe=64KiB"),
            with_second(1 << 10, Some(Bytes(512))),
            "chunk of 64 KiB is too large for /data/second, which has 1 KiB",
        ),
        (
            WorkloadSpec { size: Some(Bytes(1 << 16)), ..striped("stripe=64KiB") },
            with_second(1 << 20, Some(Bytes(512))),
            "all be on one target",
        ),
        (
            WorkloadSpec { request_size: Some(Bytes(1 << 22)), ..striped("stripe=64KiB") },
            with_second(1 << 20, Some(Bytes(512))),
            "2 MiB of stripe=64KiB of 2 targets do not hold a request of 4 MiB",
        ),
        (striped("mirror"), environment(), "several targets"),
        (WorkloadSpec { workers: Some(1), ..said() }, with_second(1 << 30, None), "fewer workers than targets"),
        (direct, with_second(0, Some(Bytes(512))), "/data/second is empty"),
        (stateful, device, "a device has no length"),
        (
            WorkloadSpec { operation: Some(Operation::Write), verify: Some(Verify::Stamp), ..said() },
            null,
            "null: keeps nothing",
        ),
    ];
    for (spec, environment, needle) in cases {
        let message = spec.resolve(&environment).unwrap_err().worded(|key| format!("--{key}"));
        assert!(message.contains(needle), "{message}");
    }
    let buffered = said().resolve(&with_second(1 << 30, None)).unwrap();
    assert_eq!(buffered.buffering, Buffering::Buffered);
}

#[test]
fn a_file_in_a_state_is_written_once_over() {
    let spec = |text: &str| WorkloadSpec {
        operation: Some(Operation::Write),
        file_state: text.parse().ok(),
        ..WorkloadSpec::default()
    };
    let limit = |spec: &WorkloadSpec, environment| spec.resolve(&environment).unwrap().limits.bytes;
    for state in FileState::ALL.iter().filter(|state| **state != FileState::Written) {
        assert_eq!(limit(&spec(state.word()), environment()), Some(Bytes(1 << 30)), "{state}");
    }
    assert_eq!(limit(&spec("written"), environment()), None);
    assert_eq!(limit(&spec("append"), with_second(1 << 30, Some(Bytes(512)))), Some(Bytes(2 << 30)));
    let said = WorkloadSpec { requests: Some(3), ..spec("append") };
    assert_eq!(limit(&said, environment()), None);
}

#[test]
fn a_cold_sequential_read_ends_where_it_began() {
    let cold = WorkloadSpec {
        cache: Some(CachePolicy::Cold),
        buffering: Some(Buffering::Buffered),
        duration: Some(Nanoseconds(1_000_000_000)),
        ..WorkloadSpec::default()
    };
    let limits = |spec: &WorkloadSpec, environment| spec.resolve(&environment).unwrap().limits;
    let once = limits(&cold, environment());
    assert_eq!((once.bytes, once.duration), (Some(Bytes(1 << 30)), cold.duration), "whichever comes first");
    let two = limits(&cold, with_second(1 << 30, Some(Bytes(512))));
    assert_eq!(two.bytes, Some(Bytes(2 << 30)), "each target once");
    let shifted = WorkloadSpec { offset: Some(Bytes(1 << 20)), ..cold.clone() };
    assert_eq!(limits(&shifted, environment()).bytes, Some(Bytes((1 << 30) - (1 << 20))));
    let said = WorkloadSpec { bytes: Some(Bytes(4 << 30)), ..cold.clone() };
    assert_eq!(limits(&said, environment()).bytes, said.bytes, "what was said goes");
    for other in [
        WorkloadSpec { pattern: Some(Pattern::Random), ..cold.clone() },
        WorkloadSpec { cache: Some(CachePolicy::Keep), ..cold.clone() },
        WorkloadSpec { buffering: Some(Buffering::Direct), ..cold.clone() },
        WorkloadSpec { operation: Some(Operation::Write), ..cold.clone() },
        WorkloadSpec { rw_flags: "dontcache".parse().ok(), personality: Some(Personality::Vectored), ..cold.clone() },
    ] {
        assert_eq!(limits(&other, environment()).bytes, None, "{other:?}");
    }
}

#[test]
fn ways_have_their_own_defaults_and_contradictions() {
    let mmap = WorkloadSpec { personality: Some(Personality::Mmap), ..Default::default() };
    assert_eq!(mmap.resolve(&environment()).unwrap().buffering, Buffering::Buffered);
    let flags = |text: &str| WorkloadSpec { rw_flags: Some(text.parse().unwrap()), ..Default::default() };
    let resolved = |spec: &WorkloadSpec| {
        let workload = spec.resolve(&environment()).unwrap();
        (workload.personality, workload.buffering)
    };
    assert_eq!(resolved(&flags("nowait")), (Personality::Vectored, Buffering::Direct));
    assert_eq!(resolved(&flags("dontcache")), (Personality::Vectored, Buffering::Buffered));
    assert_eq!(resolved(&flags("none")), (Personality::IoUring, Buffering::Direct));
    let direct = Some(Buffering::Direct);
    let appended = Some(FileState::Append);
    let cases = [
        (WorkloadSpec { buffering: direct, ..mmap.clone() }, "by its nature"),
        (WorkloadSpec { operation: Some(Operation::Write), file_state: appended, ..mmap }, "longer"),
        (WorkloadSpec { personality: Some(Personality::Sync), ..flags("nowait") }, "--personality vectored"),
        (WorkloadSpec { buffering: Some(Buffering::Buffered), ..flags("hipri") }, "--buffering direct"),
        (WorkloadSpec { buffering: direct, ..flags("dontcache") }, "--buffering buffered"),
        (flags("dsync"), "--operation write"),
        (WorkloadSpec { depth: Some(2), ..flags("nowait") }, "keeps one request"),
    ];
    for (spec, needle) in cases {
        let message = spec.resolve(&environment()).unwrap_err().worded(|key| format!("--{key}"));
        assert!(message.contains(needle), "{message}");
    }
}
