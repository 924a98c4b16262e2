//! All volumes can be made. What the studies measured of theirs is in `docs/studies`, whose tables `halfpower` tests; here is what those
//! tables lack.

use super::*;
use crate::file::MachineFile;
use halfpower_model::Operation::{self, Read, Write};
use halfpower_model::{
    Buffering, Bytes, Cancel, Limits, Nanoseconds, Pattern, Personality, Sample, TargetFacts, Testbed, Workload,
};

/// And is the same volume in the file of it alone.
#[test]
fn every_volume_of_every_machine_can_be_made() {
    for name in machines() {
        let file = MachineFile::parse(name, machine_text(name).unwrap()).unwrap();
        for (volume, description) in file.volumes() {
            let size = target(&format!("{name}:{volume}")).size_bytes;
            assert!(size.0 >= 1 << 28 && !description.is_empty(), "{name} {volume}");
            let alone = MachineFile::parse(name, &file.text_of(volume).unwrap()).unwrap();
            assert!(alone.with_volume(volume) == file.with_volume(volume), "{name} {volume}");
        }
    }
}

/// The facts of `MACHINE:VOLUME`, whatever settings are behind it.
pub(super) fn target(name: &str) -> TargetFacts {
    let (machine, volume) = name.split(',').next().and_then(|name| name.split_once(':')).unwrap();
    testbed(machine, volume).unwrap().unwrap().describe().target.clone()
}

/// Direct, asynchronous requests of so many KiB over the first 100 MiB, for so many seconds.
pub(super) fn asked(operation: Operation, pattern: Pattern, kib: u64, depth: u32, seconds: f64) -> Workload {
    Workload {
        operation,
        pattern,
        depth,
        buffering: Buffering::Direct,
        personality: Personality::IoUring,
        request_size: Bytes(kib << 10),
        span: Bytes(100 << 20),
        limits: Limits { duration: Some(Nanoseconds((seconds * 1e9) as u64)), ..Limits::default() },
        ..Workload::default()
    }
}

/// A sample of `MACHINE:VOLUME`, which may have settings behind it, a comma before each.
pub(super) fn measure(target: &str, workload: &Workload) -> Sample {
    let (target, settings) = target.split_once(',').unwrap_or((target, ""));
    let settings = if settings.is_empty() { Settings::default() } else { settings.parse().unwrap() };
    let (machine, volume) = target.split_once(':').unwrap();
    let mut testbed = Simulated::of_file(machine, machine_text(machine).unwrap(), volume, &settings).unwrap();
    testbed.measure(workload, &mut (), &Cancel::default()).unwrap()
}

/// What was published against what the machine gives: within so many percent.
pub(super) fn check(what: &str, simulated: f64, published: f64, percent: f64) {
    let off = (simulated / published - 1.0) * 100.0;
    assert!(off.abs() <= percent, "{what}: {simulated:.2} against {published}, {off:+.1} %");
}

/// In SQLIO's MB/s of 2^20 bytes.
fn stream(target: &str, operation: Operation, kib: u64, depth: u32) -> f64 {
    measure(target, &asked(operation, Pattern::Sequential, kib, depth, 30.0)).total.bytes_per_s.0 / 1_048_576.0
}

/// The studies have 22.5: a turn is lost at the step to each cylinder, for which the shift has no room beside settling, and none
/// anywhere else, however the stream is cut into passages.
#[test]
fn an_atlas_writes_as_fast_at_every_depth() {
    for (kib, depth) in [(8, 2), (8, 4), (8, 8), (16, 1), (16, 16), (64, 2)] {
        let workload = Workload { span: Bytes(2 << 30), ..asked(Write, Pattern::Sequential, kib, depth, 20.0) };
        let workload = Workload { warmup: Nanoseconds(1_000_000_000), ..workload };
        let sample = measure("win2k-pentium3:atlas-1", &workload);
        check(&format!("{kib} KiB, QD{depth}"), sample.total.bytes_per_s.0 / 1_048_576.0, 22.3, 0.5);
    }
}

/// DiskSim's validated model of the drive (C-LOOK, all of the disk) has these; nothing of this machine was fitted to them.
#[test]
fn an_atlas_has_the_depth_curve_of_disksim() {
    for (depth, published) in [(1, 110.6), (2, 111.8), (4, 123.3), (8, 142.6), (16, 158.9), (32, 172.7)] {
        let size = target("win2k-pentium3:atlas-1").size_bytes.0;
        let span = Bytes(size / 8192 * 8192);
        let workload = Workload { span, ..asked(Read, Pattern::Random, 8, depth, 400.0) };
        let sample = measure("win2k-pentium3:atlas-1", &workload);
        check(&format!("QD{depth}"), sample.total.requests_per_s, published, 2.0);
    }
}

/// Large reads of a mapped drive run near the disk's speed (figure 36 of the study of 2000).
#[test]
fn a_mapped_drive_reads_large_requests_at_disk_speed() {
    assert!(stream("win2k-pentium3:mapped-atlas", Read, 1024, 2) > 20.0);
}

/// The speed of the disk, though the card stores each of the lazy writer's requests first (figure 24 of the study of 2000).
#[test]
fn a_lazy_writer_keeps_a_disk_behind_a_card_at_its_speed() {
    let direct = stream("win2k-pentium3:fireball-1", Write, 64, 4);
    for kib in [4, 256] {
        let workload = Workload {
            buffering: Buffering::Buffered,
            span: Bytes(2 << 30),
            warmup: Nanoseconds(30_000_000_000),
            ..asked(Write, Pattern::Sequential, kib, 1, 30.0)
        };
        let buffered = measure("win2k-pentium3:fireball-1", &workload).total.bytes_per_s.0 / 1_048_576.0;
        assert!(buffered > 0.95 * direct, "{kib} KiB: {buffered:.2} of {direct:.2}");
    }
}
