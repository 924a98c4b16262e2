//! Readings with fixed figures of a fixed machine, with hostile names.

use crate::fixtures;
use crate::reading::link::{LinkSetting, LinkSpeed, LinkTarget, Medium, MediumVerdict, SharedLimit, SharingVerdict};
use crate::reading::map::{Band, DeviceMap};
use crate::reading::{Figures, Reading, SCHEMA};
use halfpower_engine::drop_cache::{DroppedCache, DroppedTarget, Method, Step};
use halfpower_engine::idle::{IdleCpu, Idleness};
use halfpower_engine::map::Probe;
use halfpower_model::environment::ClockFacts;
use halfpower_model::reading::inspect::{
    Backing, Cpus, Device, DeviceKind, FileSystem, Inspected, Limit, Link, LinkKind, LinkRate, Machine, Memory, Queue,
    Storage,
};
use halfpower_model::reading::{
    Bandwidth, Cache, InspectedTarget, Kernel, LoadLatency, MemorySpeed, Rounds, StudySpeed, StudyTest, Vectors,
};
use halfpower_model::sample::{Program, SystemAccount, Warning};
use halfpower_model::{
    Bytes, BytesPerSecond, Environment, Estimate, Level, LevelName, Nanoseconds, Quantity, TargetFacts, TargetKind,
    levels::Channel,
};
use std::collections::BTreeMap;

/// A name that would be a script, a colour and the end of everything.
pub(super) const PATH: &str = "/srv/<script>alert(2)</script>\u{1b}[2J\u{0}/a-file-with-a-name-that-is-much-longer-than-a-\
    telephone-would-like-it-to-be";

/// One of each instrument.
pub(super) fn all() -> Vec<Reading> {
    vec![memory(), map(), link(), idle(), inspect(), drop_cache()]
}

fn reading(figures: Figures, target: TargetFacts) -> Reading {
    Reading {
        schema: SCHEMA.to_owned(),
        program: Program { version: "0.1.0".to_owned(), commit: Some("5a7b366".to_owned()), features: Vec::new() },
        environment: environment(target),
        started_at: "2026-03-01T12:34:56Z".parse().unwrap(),
        elapsed_s: 5.0,
        figures,
        warnings: vec![Warning::new(
            "slow_link",
            "the link <b>ata1</b>\u{9b}31m runs at 1.5 Gbit/s",
            "look at the <i>cable</i>",
        )],
        note: Some("<script>alert(1)\u{1b}[31m</script>".to_owned()),
    }
}

fn environment(target: TargetFacts) -> Environment {
    Environment {
        host: "<b>bench-3</b>".to_owned(),
        kernel: "6.12.9-amd64".to_owned(),
        cpu_model: Some("Example Processor 7 <b>9</b>".to_owned()),
        memory_bytes: Bytes(32 << 30),
        clock: ClockFacts { source: "tsc".to_owned(), resolution_ns: 0.42, cost_ns: 9.1 },
        ..fixtures::host(target, Vec::new())
    }
}

fn nothing() -> TargetFacts {
    TargetFacts::bare("null:", TargetKind::Null, Bytes(0))
}

fn disk() -> TargetFacts {
    TargetFacts {
        device: Some("sda".to_owned()),
        model: Some("Example <img src=x onerror=alert(3)>\u{7f}".to_owned()),
        ..TargetFacts::bare(PATH, TargetKind::BlockDevice, Bytes(64 << 30))
    }
}

fn estimate(quantity: Quantity, value: f64, low: f64, high: f64) -> Estimate {
    Estimate { quantity, value, low: Some(low), high: Some(high), repetitions: 5 }
}

pub(super) fn memory() -> Reading {
    reading(Figures::Memory(speed()), nothing())
}

fn rounds(middle: f64) -> Rounds {
    Rounds::new([0.97, 0.98, 0.985, 0.99, 1.0, 1.01, 1.02, 1.03, 1.04].map(|part| part * middle).to_vec())
}

/// Two threads, three working sets; the deeper, the slower.
fn speed() -> MemorySpeed {
    let sizes = [16 << 10, 1 << 20, 256 << 20].map(Bytes);
    let cells = [1, 2].into_iter().flat_map(|threads| sizes.map(|size| (threads, size)));
    let bandwidth = cells.flat_map(|(threads, size_bytes)| {
        let rate = 200e9 * f64::from(threads) / (size_bytes.kib() / 16.0).powf(0.25);
        Kernel::ALL.into_iter().enumerate().map(move |(index, kernel)| Bandwidth {
            kernel,
            threads,
            size_bytes,
            bytes_per_s: rounds(rate / (1.0 + index as f64 / 4.0)),
        })
    });
    let study = |test, threads, rate| StudySpeed {
        test,
        threads,
        size_bytes: Bytes(10 << 20),
        null_ns: 33_600.0,
        bytes_per_s: rounds(rate),
    };
    MemorySpeed {
        vectors: Vectors::Avx2,
        caches: vec![
            Cache { level: 1, size_bytes: Bytes(32 << 10), shared_by: 1 },
            Cache { level: 3, size_bytes: Bytes(32 << 20), shared_by: 2 },
        ],
        huge_page_share: Some(1.0),
        cpus: vec![0, 1],
        studies: vec![study(StudyTest::DoubleRead, 1, 40e9), study(StudyTest::Memcpy, 2, 24e9)],
        bandwidth: bandwidth.collect(),
        latency: sizes
            .map(|size_bytes| LoadLatency { size_bytes, latency_ns: rounds(size_bytes.kib().sqrt() / 4.0) })
            .to_vec(),
    }
}

/// A disk of 64 GiB in three bands, a read a GiB, one in five a little slow.
pub(super) fn map() -> Reading {
    let edges = [0_u64, 20, 44, 64];
    let rates = [200e6, 150e6, 110e6];
    let probe = |place: u32| {
        let band = edges[1..].iter().position(|end| u64::from(place) < *end).unwrap();
        let slower = if place.is_multiple_of(5) { 0.97 } else { 1.0 };
        let at_bytes = Bytes(u64::from(place) << 30);
        Probe { place, at_bytes, bytes_per_s: BytesPerSecond(rates[band] * slower) }
    };
    let bands = edges.windows(2).zip(rates).map(|(edges, rate)| Band {
        from_bytes: Bytes(edges[0] << 30),
        to_bytes: Bytes(edges[1] << 30),
        bytes_per_s: estimate(Quantity::BytesPerSecond, rate, rate * 0.97, rate * 1.01),
    });
    let map = DeviceMap {
        path: PATH.to_owned(),
        size_bytes: Bytes(64 << 30),
        read_bytes: Bytes(2 << 20),
        places: 64,
        seed: 7,
        probes: (0..64).map(probe).collect(),
        bands: bands.collect(),
        loss: Some(estimate(Quantity::Ratio, 0.45, 0.445, 0.455)),
        limited: None,
    };
    reading(Figures::Map(map), disk())
}

/// Three disks of 24 MB/s behind a bus of 60; the last goes to its medium.
pub(super) fn link() -> Reading {
    let rate = |rate: f64| estimate(Quantity::BytesPerSecond, rate, rate * 0.99, rate * 1.01);
    let setting = |targets: &[u32], value: f64, of_alone| LinkSetting {
        targets: targets.to_vec(),
        repetitions: vec![BytesPerSecond(value); 5],
        bytes_per_s: rate(value),
        of_alone,
    };
    let share = |value, low, high| Some(estimate(Quantity::Ratio, value, low, high));
    let target = |path: &str, medium| LinkTarget { path: path.to_owned(), medium };
    let cache = Medium {
        near_p50_ns: Some(85_000),
        far_p50_ns: Some(8_200_000),
        slow_share: Some(0.0),
        limited: None,
        verdict: MediumVerdict::Cache,
    };
    let medium = Medium { slow_share: Some(0.21), verdict: MediumVerdict::Medium, ..cache.clone() };
    let link = LinkSpeed {
        region_bytes: Bytes(1 << 20),
        request_bytes: Bytes(256 << 10),
        depth: 2,
        duration: Nanoseconds(1_000_000_000),
        seed: 1,
        targets: vec![target(PATH, cache.clone()), target("/dev/sdb", cache.clone()), target("/dev/sdc", medium)],
        settings: vec![
            setting(&[0], 24e6, None),
            setting(&[1], 24e6, None),
            setting(&[2], 24e6, None),
            setting(&[0, 1], 48e6, share(1.0, 0.99, 1.01)),
            setting(&[0, 1, 2], 60e6, share(0.8333, 0.82, 0.84)),
        ],
        sharing: Some(SharingVerdict::Limit),
        limit: Some(SharedLimit { targets: 3, bytes_per_s: rate(60e6) }),
    };
    reading(Figures::Link(link), disk())
}

/// One CPU idle, with noise slightly above 100 %, and one half busy.
pub(super) fn idle() -> Reading {
    let cpu = |cpu, busy_share| IdleCpu {
        cpu,
        counts_per_s: 1.25e9,
        busy_share,
        calibration_busy_share: 0.004,
        error_share: 0.006,
    };
    let idleness = Idleness {
        measured_s: 5.0,
        calibrated_s: 1.0,
        busy_share: 0.248,
        error_share: 0.006,
        cpus: vec![cpu(0, -0.002), cpu(1, 0.498)],
        account: Some(SystemAccount {
            wall_s: 5.0,
            user_s: 2.4,
            system_s: 0.05,
            busy_s: 2.48,
            ..SystemAccount::default()
        }),
    };
    reading(Figures::Idle(idleness), nothing())
}

/// A file on a loop device on a file of a SATA disk that says little of itself.
pub(super) fn inspect() -> Reading {
    let mount = |point: &str, source: &str| FileSystem {
        kind: "ext4".to_owned(),
        mount_point: point.to_owned(),
        mount_options: "rw,relatime".to_owned(),
        source: source.to_owned(),
        network: None,
    };
    let device = |name: &str, number: &str, kind| Device {
        name: name.to_owned(),
        number: number.to_owned(),
        kind,
        size_bytes: Bytes(64 << 30),
        made_as: None,
        model: None,
        firmware: None,
        transport: None,
        queue: None,
        holders: Vec::new(),
        numa_node: None,
        links: Vec::new(),
        limits: Vec::new(),
        below: Vec::new(),
        backing: None,
    };
    let rate = |gigabits_per_s| Some(LinkRate { gigabits_per_s, lanes: 1 });
    let sda = Device {
        model: disk().model,
        transport: Some("sata".to_owned()),
        queue: Some(Queue { rotational: Some(true), scheduler: Some("mq-deadline".to_owned()), ..Queue::default() }),
        links: vec![Link {
            at: "ata1".to_owned(),
            kind: LinkKind::Sata,
            now: rate(6.0),
            best: rate(6.0),
            pap_bytes_per_s: Some(BytesPerSecond(600e6)),
            source: "SATA at 6 Gbit/s".to_owned(),
        }],
        limits: vec![Limit {
            group: "blkio:/<b>batch</b>".to_owned(),
            read_bytes_per_s: Some(BytesPerSecond(24e6)),
            ..Limit::default()
        }],
        ..device("sda", "8:0", DeviceKind::Disk)
    };
    let sda1 = Device { below: vec![sda], ..device("sda1", "8:1", DeviceKind::Partition) };
    let below = Storage { filesystem: Some(mount("/", "/dev/sda1")), device: Some(sda1), beside: Vec::new() };
    let backing = Backing { path: "/images/<script>".to_owned(), storage: below };
    let loop0 = Device { backing: Some(Box::new(backing)), ..device("loop0", "7:0", DeviceKind::Loop) };
    let level = |name, rate: Option<f64>, source: &str| {
        let at = "sda".to_owned();
        let pap_bytes_per_s = rate.map(BytesPerSecond);
        Level::of(name, [Channel { at, through: None, pap_bytes_per_s, source: source.to_owned() }])
    };
    let target = InspectedTarget {
        path: PATH.to_owned(),
        storage: Storage { filesystem: Some(mount("/srv", "/dev/loop0")), device: Some(loop0), beside: Vec::new() },
        levels: vec![
            level(LevelName::Memory, None, "the firmware's tables are for root to read"),
            level(LevelName::ReadLimit, Some(24e6), "control group blkio:/<b>batch</b>"),
            level(LevelName::Link, Some(600e6), "SATA at 6 Gbit/s"),
            level(LevelName::Device, None, "a device does not say"),
        ],
    };
    let machine = Machine {
        product: None,
        virtualisation: Some("kvm".to_owned()),
        kernel: "6.12.9-amd64".to_owned(),
        cpus: Cpus { sockets: Some(1), cores: Some(1), threads: Some(2), ..Cpus::default() },
        caches: Vec::new(),
        numa_nodes: Some(1),
        memory: Memory {
            size_bytes: Bytes(32 << 30),
            modules: Vec::new(),
            channels: None,
            pap_bytes_per_s: None,
            source: "the firmware's tables are for root to read".to_owned(),
        },
        mitigations: BTreeMap::from([("spectre_v2".to_owned(), "Mitigation: <b>retpolines</b>".to_owned())]),
    };
    reading(Figures::Inspect(Box::new(Inspected { machine, targets: vec![target] })), disk())
}

/// Fully cached; posix_fadvise left some, drop_caches none.
pub(super) fn drop_cache() -> Reading {
    let step = |method, share| Step { method, cached_after: Some(share) };
    let target = DroppedTarget {
        path: PATH.to_owned(),
        size_bytes: Bytes(64 << 30),
        cached_before: Some(1.0),
        steps: vec![step(Method::Advice, 0.125), step(Method::DropCaches, 0.0)],
    };
    reading(Figures::DropCache(DroppedCache { targets: vec![target] }), disk())
}
