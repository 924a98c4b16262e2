use super::*;
use crate::Key;
use crate::environment::{PersonalityFacts, TargetFacts};
use crate::workload::Buffering;

/// What `key=value` says, for each word of a line.
fn spec(line: &str) -> WorkloadSpec {
    let all = line.split_whitespace().map(|said| said.split_once('=').unwrap());
    all.fold(WorkloadSpec::default(), |all, (key, text)| Key::named(key).unwrap().read(text).unwrap().or(&all))
}

fn refused(spec: &WorkloadSpec, environment: &Environment) -> String {
    spec.resolve(environment).unwrap_err().worded(|key| format!("--{key}"))
}

fn file(path: &str, size: u64, alignment: Option<Bytes>) -> TargetFacts {
    let facts = TargetFacts::bare(path, TargetKind::File, Bytes(size));
    TargetFacts { direct_alignment_bytes: alignment, ..facts }
}

fn environment() -> Environment {
    let works = |personality: &_| PersonalityFacts { personality: *personality, unavailable: None, stands_for: None };
    Environment {
        cpus: 2,
        cpu_numbers: vec![0, 1, 4],
        personalities: Personality::ALL.iter().map(works).collect(),
        target: file("/data/file", 1 << 30, Some(Bytes(512))),
        ..Environment::default()
    }
}

fn with_second(size: u64, alignment: Option<u64>) -> Environment {
    Environment { more_targets: vec![file("/data/second", size, alignment.map(Bytes))], ..environment() }
}

fn with_target(target: TargetFacts) -> Environment {
    Environment { target, ..environment() }
}

#[test]
fn the_upper_layer_wins() {
    let both = spec("depth=8 verify=stamp").or(&spec("depth=2 workers=3"));
    assert_eq!((both.depth, both.workers, both.verify), (Some(8), Some(3), Some(crate::Verify::Stamp)));
}

#[test]
fn what_is_not_said_depends_on_the_target() {
    let workload = WorkloadSpec::default().resolve(&environment()).unwrap();
    assert_eq!(workload.to_string(), "sequential read, 64 KiB, QD1, direct");
    assert_eq!(workload.personality, Personality::IoUring);
    assert_eq!(workload.limits.duration, Some("5s".parse().unwrap()));
    let cached_only = with_target(file("/data/file", 1 << 30, None));
    let workload = WorkloadSpec::default().resolve(&cached_only).unwrap();
    assert_eq!((workload.buffering, workload.personality), (Buffering::Buffered, Personality::Sync));
    assert!(refused(&spec("buffering=direct"), &cached_only).contains("does not take direct I/O"));
    for (line, personality, buffering) in [
        ("personality=mmap", Personality::Mmap, Buffering::Buffered),
        ("rw_flags=nowait", Personality::Vectored, Buffering::Direct),
        ("rw_flags=dontcache", Personality::Vectored, Buffering::Buffered),
        ("rw_flags=none", Personality::IoUring, Buffering::Direct),
    ] {
        let workload = spec(line).resolve(&environment()).unwrap();
        assert_eq!((workload.personality, workload.buffering), (personality, buffering), "{line}");
    }
    let missed = |line| spec(line).missed_direct(&environment(), &spec(line).resolve(&environment()).unwrap());
    assert_eq!((missed("request_size=5000"), missed("request_size=5120")), (Some(Bytes(512)), None));
    assert_eq!(missed("request_size=5000 buffering=buffered"), None, "it was said");
}

#[test]
fn what_cannot_be_is_refused_with_the_remedy() {
    let said = WorkloadSpec::default;
    for (spec, needle) in [
        (WorkloadSpec { depth: Some(0), ..said() }, "from 1"),
        (WorkloadSpec { request_size: Some(Bytes(0)), ..said() }, "from 1"),
        (WorkloadSpec { requests: Some(0), ..said() }, "requests is 0"),
        (spec("sizes=4KiB/8KiB request_size=4KiB"), "exclude each other; leave one out"),
        (spec("request_size=1000 buffering=none"), "multiples of 512 B"),
        (spec("personality=sync depth=8"), "--workers 8"),
        (spec("size=2GiB"), "--size"),
        (spec("workers=1024 request_size=2MiB"), "1024 workers"),
        (spec("offset=1GiB"), "beyond the 1 GiB"),
        (spec("sizes=write=8KiB"), "nothing of a kind"),
        (spec("align=1GiB"), "leave one place"),
        (spec("ring=sqpoll personality=sync"), "--personality io_uring"),
        (spec("ring=iopoll buffering=buffered depth=2"), "--buffering direct"),
        (spec("durability=flush_at_end"), "--operation write"),
        (spec("submit_batch=2"), "at a depth of 1 it can be 1 only"),
        (spec("submit_batch=9 depth=8"), "from 1 to 8"),
        (spec("wait_batch=9 depth=8"), "--wait_batch is 9"),
        (spec("cpu_count=3"), "--cpu_count is 3, and 2 can be used here"),
        (spec("cpus=1,2"), "CPU 2, and 2 can be used here: 0-1,4"),
        (spec("operation=trim verify=stamp"), "does not go with trims"),
        (spec("operation=read verify=stamp"), "nothing is written that could be verified"),
        (spec("layout=mirror"), "several targets"),
        (spec("personality=mmap buffering=direct"), "by its nature"),
        (spec("personality=mmap operation=write file_state=append"), "longer"),
        (spec("personality=sync rw_flags=nowait"), "--personality vectored"),
        (spec("buffering=buffered rw_flags=hipri"), "--buffering direct"),
        (spec("buffering=direct rw_flags=dontcache"), "--buffering buffered"),
        (spec("rw_flags=dsync"), "--operation write"),
        (spec("depth=2 rw_flags=nowait"), "keeps one request"),
    ] {
        let message = refused(&spec, &environment());
        assert!(message.contains(needle), "{message}");
    }
}

#[test]
fn every_one_of_several_targets_must_suit() {
    let mut device = with_second(1 << 30, Some(512));
    device.more_targets[0].kind = TargetKind::BlockDevice;
    let null = with_target(TargetFacts::bare("null:", TargetKind::Null, Bytes(1 << 30)));
    for (line, environment, needle) in [
        ("buffering=direct", with_second(1 << 30, None), "/data/second does not take direct I/O"),
        ("buffering=direct request_size=512", with_second(1 << 30, Some(4096)), "multiples of 4 KiB, not 512 B"),
        ("buffering=direct layout=stripe=1000", with_second(1 << 30, Some(512)), "--layout comes to 1000 B"),
        (
            "layout=stripe=64KiB",
            with_second(1 << 10, Some(512)),
            "64 KiB is too large for /data/second, which has 1 KiB",
        ),
        ("size=64KiB layout=stripe=64KiB", with_second(1 << 20, Some(512)), "all be on one target"),
        (
            "request_size=4MiB layout=stripe=64KiB",
            with_second(1 << 20, Some(512)),
            "2 MiB of stripe=64KiB of 2 targets do not hold a request of 4 MiB",
        ),
        ("workers=1", with_second(1 << 30, None), "fewer workers than targets"),
        ("buffering=direct", with_second(0, Some(512)), "/data/second is empty"),
        ("operation=write file_state=sparse", device, "a device has no length"),
        ("operation=write verify=stamp", null, "null: keeps nothing that could be verified; name a file or device, or"),
    ] {
        let message = refused(&spec(line), &environment);
        assert!(message.contains(needle), "{message}");
    }
    let buffered = WorkloadSpec::default().resolve(&with_second(1 << 30, None)).unwrap();
    assert_eq!(buffered.buffering, Buffering::Buffered);
    let two = with_second((1 << 29) + 1, Some(4096));
    for (line, span, workers) in [("layout=stripe=64KiB", 1 << 30, 1), ("layout=mirror", 1 << 29, 1), ("", 1 << 29, 2)]
    {
        let workload = spec(line).resolve(&two).unwrap();
        assert_eq!((workload.span.0, workload.targets, workload.workers), (span, 2, workers), "{line}");
    }
}

#[test]
fn what_may_not_come_around_ends_after_one_pass() {
    let limit = |line: &str, environment| spec(line).resolve(&environment).unwrap().limits.bytes.map(|bytes| bytes.0);
    for state in FileState::ALL {
        let expected = (*state != FileState::Written).then_some(1 << 30);
        assert_eq!(limit(&format!("operation=write file_state={state}"), environment()), expected, "{state}");
    }
    assert_eq!(limit("operation=write file_state=append", with_second(1 << 30, Some(512))), Some(2 << 30));
    assert_eq!(limit("operation=write file_state=append requests=3", environment()), None);
    // Reads in order of a page cache that was emptied.
    let cold = |line: &str| format!("cache=cold buffering=buffered duration=1s {line}");
    let both = spec(&cold("")).resolve(&environment()).unwrap().limits;
    assert_eq!((both.bytes, both.duration), (Some(Bytes(1 << 30)), "1s".parse().ok()), "whichever comes first");
    assert_eq!(limit(&cold(""), with_second(1 << 30, Some(512))), Some(2 << 30), "each target once");
    assert_eq!(limit(&cold("offset=1MiB"), environment()), Some((1 << 30) - (1 << 20)));
    assert_eq!(limit(&cold("bytes=4GiB"), environment()), Some(4 << 30), "what was said goes");
    let others = "pattern=random cache=keep buffering=direct operation=write rw_flags=dontcache";
    for other in others.split(' ') {
        assert_eq!(limit(&cold(other), environment()), None, "{other}");
    }
}
