//! Readings with fixed figures of a fixed machine, with hostile names.

use crate::fixtures;
use crate::reading::Reading;
use crate::reading::files::FileRates;
use crate::reading::map::{Band, DeviceMap};
use halfpower_engine::files::{FilePhase, FilesOptions, PhaseRun};
use halfpower_engine::map::Probe;
use halfpower_model::histogram::Histogram;
use halfpower_model::reading::{
    Bandwidth, Cache, Kernel, LoadLatency, MemorySpeed, Rounds, StudySpeed, StudyTest, Vectors,
};
use halfpower_model::{Bytes, BytesPerSecond, Estimate, Quantity};
use serde_json::json;

/// A name with markup, an escape sequence and a zero byte.
pub(super) const PATH: &str = "/srv/<script>alert(2)</script>\u{1b}[2J\u{0}/a-file-with-a-name-that-is-much-longer-than-a-\
    telephone-would-like-it-to-be";

/// One of each instrument.
pub(super) const INSTRUMENTS: [&str; 7] = ["memory", "map", "link", "idle", "inspect", "drop-cache", "files"];

/// The reading of an instrument. `fixed.json` has the figures of
///
/// - link: three disks of 24 MB/s behind a bus of 60 MB/s; the last one reads from its medium.
/// - idle: one idle CPU, with noise slightly above 100 %, and one half busy CPU.
/// - inspect: a file on a loop device on a file of a SATA disk that reports few facts.
/// - drop-cache: a fully cached file, of which posix_fadvise left some pages and drop_caches none.
pub(super) fn reading(instrument: &str) -> Reading {
    let fixed = fixtures::records(include_str!("fixed.json"), PATH);
    let target = if ["memory", "idle"].contains(&instrument) { "null" } else { "disk" };
    let mut reading = fixed["reading"].clone();
    reading["environment"]["target"] = fixed["targets"][target].clone();
    reading["instrument"] = instrument.into();
    reading["figures"] = match instrument {
        "memory" => json!(speed()),
        "map" => json!(map()),
        "files" => json!(files()),
        _ => fixed["figures"][instrument].clone(),
    };
    serde_json::from_value(reading).unwrap()
}

fn estimate(quantity: Quantity, value: f64, low: f64, high: f64) -> Estimate {
    Estimate { quantity, value, low: Some(low), high: Some(high), repetitions: 5 }
}

fn rounds(middle: f64) -> Rounds {
    Rounds::new([0.97, 0.98, 0.985, 0.99, 1.0, 1.01, 1.02, 1.03, 1.04].map(|part| part * middle).to_vec())
}

/// Two threads, three working sets; larger ones are slower.
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

/// A disk of 64 GiB in three bands, with one read per GiB, every fifth a little slower.
fn map() -> DeviceMap {
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
    DeviceMap {
        path: PATH.to_owned(),
        size_bytes: Bytes(64 << 30),
        read_bytes: Bytes(2 << 20),
        places: 64,
        seed: 7,
        probes: (0..64).map(probe).collect(),
        bands: bands.collect(),
        loss: Some(estimate(Quantity::Ratio, 0.45, 0.445, 0.455)),
        limited: None,
    }
}

/// Two workers with 20 000 files, five times: written to memory, and examined and read from there; some deletions took long.
fn files() -> FileRates {
    let options = FilesOptions {
        files: 20_000,
        size: Bytes(4096),
        per_directory: 100,
        workers: 2,
        phases: FilePhase::ALL.to_vec(),
        fsync: false,
        cold: false,
        duration: None,
        repetitions: 5,
        seed: 1,
    };
    let run = |phase: FilePhase, round: u32| {
        let latency_ns = [22_000, 1600, 900, 4800, 9000][phase as usize];
        let mut latency = Histogram::default();
        for file in 0..20_000 {
            latency.record(if file % 500 == 0 { latency_ns * 40 } else { latency_ns + file % 7 * 100 });
        }
        let elapsed_s = latency_ns as f64 * 1e-5 * (1.0 + f64::from(round) / 100.0);
        PhaseRun {
            phase,
            files: 20_000,
            elapsed_s,
            flush_s: phase.changes().then_some(0.4),
            worker_files_per_s: [10_000.0, 11_000.0].map(|files| files / elapsed_s).to_vec(),
            latency_histogram: latency,
            errors: [("ENOENT".to_owned(), 2)].into_iter().filter(|_| phase == FilePhase::Delete).collect(),
            storage_read_bytes: Some(4096),
        }
    };
    let runs: Vec<PhaseRun> =
        (0..5).flat_map(|round| FilePhase::ALL.into_iter().map(move |phase| run(phase, round))).collect();
    FileRates { is_complete: true, ..FileRates::new(PATH.to_owned(), options, Vec::new(), runs, true) }
}
