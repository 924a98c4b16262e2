//! How fast memory is: the studies' eight tests, and today's kernels by working set and threads.

use super::Rounds;
use crate::sample::Warning;
use crate::units::{Bytes, BytesPerSecond, significant};
use serde::{Deserialize, Serialize};
use std::fmt;

/// A best round so much above the middle one is no noise of the memory.
const SPREAD_MAX: f64 = 1.25;
/// Share of the figures that may be like that by chance.
const OFF_MAX: f64 = 0.05;

/// What `halfpower memory` measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MemorySpeed {
    /// The widest loads and stores this processor has, used by the kernels.
    pub vectors: Vectors,
    /// The data caches of the first processor used, the innermost first; empty where the kernel does not tell.
    pub caches: Vec<Cache>,
    /// Share of the buffers that was in huge pages; none where the kernel does not tell.
    pub huge_page_share: Option<f64>,
    /// The processors used; threads are pinned to them in this order.
    pub processors: Vec<u32>,
    /// The studies' tests.
    pub studies: Vec<StudySpeed>,
    /// Bandwidth by kernel, working set and threads.
    pub bandwidth: Vec<Bandwidth>,
    /// What a load takes that depends on the load before, by working set; one thread.
    pub latency: Vec<LoadLatency>,
}

/// Widths of loads and stores.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Vectors {
    /// 64 bytes.
    Avx512,
    /// 32 bytes.
    Avx2,
    /// 16 bytes.
    Sse2,
    /// 8 bytes: the processor is not an x86-64.
    Scalar,
}

/// A data cache.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cache {
    /// 1 is nearest to the processor.
    pub level: u32,
    /// What it holds.
    pub size_bytes: Bytes,
    /// Processors that share it.
    pub shared_by: u32,
}

/// One of the studies' tests on one number of threads. Two tests are on a file, the others on memory alone.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StudySpeed {
    /// Which.
    pub test: StudyTest,
    /// Threads.
    pub threads: u32,
    /// Bytes that each thread read, wrote or copied in one go.
    pub size_bytes: Bytes,
    /// What the same took without reading or writing, and was taken off, in ns.
    pub null_ns: f64,
    /// Bytes a second, all threads together; of a copy, each byte counts once.
    pub bytes_per_s: Rounds,
}

/// The studies' tests: five on one thread, and all but those on the file again on every processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StudyTest {
    /// Memory into a register, 64 bits at a time.
    DoubleRead,
    /// A register into memory, 64 bits at a time.
    DoubleWrite,
    /// A cached temporary file into a buffer of 64 KiB, by a system call.
    FileRead,
    /// A buffer of 64 KiB into a cached temporary file, by a system call.
    FileWrite,
    /// One buffer into another by the C library.
    Memcpy,
}

/// Bandwidth of a kernel.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Bandwidth {
    /// Which.
    pub kernel: Kernel,
    /// Threads, each with a working set of its own.
    pub threads: u32,
    /// The working set of a thread; of a copy, source and destination together.
    pub size_bytes: Bytes,
    /// Bytes a second, all threads together; of a copy, each byte counts once.
    pub bytes_per_s: Rounds,
}

/// Ways to move bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kernel {
    /// Widest loads.
    Read,
    /// Widest stores.
    Write,
    /// Widest stores past the caches.
    WriteNonTemporal,
    /// Widest loads and stores.
    Copy,
    /// Widest loads, stores past the caches.
    CopyNonTemporal,
    /// The C library's memcpy.
    Memcpy,
}

/// What a dependent load takes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LoadLatency {
    /// The working set, of which each line is visited once a round trip, in random order.
    pub size_bytes: Bytes,
    /// Time of a load.
    pub latency_ns: Rounds,
}

impl Kernel {
    /// Every one, in the order they are shown.
    pub const ALL: [Kernel; 6] =
        [Kernel::Read, Kernel::Write, Kernel::WriteNonTemporal, Kernel::Copy, Kernel::CopyNonTemporal, Kernel::Memcpy];

    /// Whether it reads one half of its working set and writes the other.
    pub fn copies(self) -> bool {
        matches!(self, Kernel::Copy | Kernel::CopyNonTemporal | Kernel::Memcpy)
    }

    /// Whether its stores go past the caches.
    fn is_past(self) -> bool {
        matches!(self, Kernel::WriteNonTemporal | Kernel::CopyNonTemporal)
    }
}

impl fmt::Display for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Kernel::Read => "read",
            Kernel::Write => "write",
            Kernel::WriteNonTemporal => "write past",
            Kernel::Copy => "copy",
            Kernel::CopyNonTemporal => "copy past",
            Kernel::Memcpy => "memcpy",
        })
    }
}

impl fmt::Display for StudyTest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            StudyTest::DoubleRead => "double read",
            StudyTest::DoubleWrite => "double write",
            StudyTest::FileRead => "file read, 64 KiB",
            StudyTest::FileWrite => "file write, 64 KiB",
            StudyTest::Memcpy => "memcpy",
        })
    }
}

impl fmt::Display for Vectors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Vectors::Avx512 => "AVX-512, 64 bytes",
            Vectors::Avx2 => "AVX2, 32 bytes",
            Vectors::Sse2 => "SSE2, 16 bytes",
            Vectors::Scalar => "none, 8 bytes at a time",
        })
    }
}

impl MemorySpeed {
    /// Numbers of threads that were measured, ascending.
    pub fn thread_counts(&self) -> Vec<u32> {
        let mut counts: Vec<u32> = self.bandwidth.iter().map(|bandwidth| bandwidth.threads).collect();
        counts.sort_unstable();
        counts.dedup();
        counts
    }

    /// Working sets measured with some number of threads, ascending.
    pub fn sizes(&self, threads: u32) -> Vec<Bytes> {
        let of = self.bandwidth.iter().filter(|bandwidth| bandwidth.threads == threads);
        let mut sizes: Vec<Bytes> = of.map(|bandwidth| bandwidth.size_bytes).collect();
        sizes.sort_unstable();
        sizes.dedup();
        sizes
    }

    /// One figure.
    pub fn bandwidth(&self, kernel: Kernel, threads: u32, size: Bytes) -> Option<&Rounds> {
        let found = self.bandwidth.iter().find(|it| (it.kernel, it.threads, it.size_bytes) == (kernel, threads, size));
        found.map(|bandwidth| &bandwidth.bytes_per_s)
    }

    /// The most that any of these kernels moves, beyond all caches that were measured, on any number of threads.
    pub fn best(&self, kernels: &[Kernel]) -> Option<&Bandwidth> {
        let beyond = |cell: &&Bandwidth| self.sizes(cell.threads).last() == Some(&cell.size_bytes);
        let cells = self.bandwidth.iter().filter(|cell| kernels.contains(&cell.kernel)).filter(beyond);
        cells.max_by(|one, other| one.bytes_per_s.median.total_cmp(&other.bytes_per_s.median))
    }

    /// A warning where others had a part of the machine meanwhile: the best round of a figure is then far above the middle
    /// one, which it hardly is on an idle machine (1 of 186 figures there, 12 of 96 on a busy one).
    pub fn disturbed(&self) -> Option<Warning> {
        let is_off = |cell: &&Bandwidth| {
            let best = cell.bytes_per_s.rounds.iter().copied().fold(0.0, f64::max);
            best > SPREAD_MAX * cell.bytes_per_s.median
        };
        let off = self.bandwidth.iter().filter(is_off).count();
        (off as f64 > OFF_MAX * self.bandwidth.len() as f64).then(|| {
            Warning::new(
                "disturbed",
                format!(
                    "of {} of {} figures the best round was more than a quarter above the middle one: \
                     others used the machine meanwhile",
                    off,
                    self.bandwidth.len()
                ),
                "measure again on an idle machine; `halfpower idle` tells how idle it is",
            )
        })
    }

    /// What memory does, beyond all caches that were measured: a sentence for each number of threads, with the best kernel
    /// of each kind, and one for the latency.
    pub fn verdict(&self) -> Vec<String> {
        let bandwidth = self.thread_counts().into_iter().filter_map(|threads| {
            let size = *self.sizes(threads).last()?;
            let best = |kernels: &[Kernel]| {
                let rate = |kernel: &Kernel| Some((self.bandwidth(*kernel, threads, size)?.median, *kernel));
                let best = kernels.iter().filter_map(rate).max_by(|one, other| one.0.total_cmp(&other.0));
                best.map_or("not measured".to_owned(), |(rate, kernel)| {
                    format!("{}{}", BytesPerSecond(rate), if kernel.is_past() { " past the caches" } else { "" })
                })
            };
            let read = best(&[Kernel::Read]);
            let write = best(&[Kernel::Write, Kernel::WriteNonTemporal]);
            let copy = best(&[Kernel::Copy, Kernel::CopyNonTemporal, Kernel::Memcpy]);
            let who =
                if threads == 1 { format!("1 thread, {size}") } else { format!("{threads} threads, {size} each") };
            Some(format!("{who}: read {read}, write {write}, copy {copy}"))
        });
        let latency = self.latency.last().map(|latency| {
            let nanoseconds = significant(latency.latency_ns.median);
            format!("a load that waits for the one before, {}: {nanoseconds} ns", latency.size_bytes)
        });
        bandwidth.chain(latency).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_verdict_is_of_the_largest_working_set_and_the_best_kernel() {
        let cell = |kernel, threads, mib: u64, gigabytes: f64| Bandwidth {
            kernel,
            threads,
            size_bytes: Bytes(mib << 20),
            bytes_per_s: Rounds::new(vec![gigabytes * 1e9]),
        };
        let latency = |mib: u64, ns| LoadLatency { size_bytes: Bytes(mib << 20), latency_ns: Rounds::new(vec![ns]) };
        let speed = MemorySpeed {
            vectors: Vectors::Avx2,
            caches: Vec::new(),
            huge_page_share: None,
            processors: vec![0, 1],
            studies: Vec::new(),
            bandwidth: vec![
                cell(Kernel::Read, 2, 32, 40.0),
                cell(Kernel::Read, 1, 1, 200.0),
                cell(Kernel::Read, 1, 64, 23.5),
                cell(Kernel::Write, 1, 64, 15.0),
                cell(Kernel::WriteNonTemporal, 1, 64, 24.0),
                cell(Kernel::CopyNonTemporal, 1, 64, 19.0),
                cell(Kernel::Memcpy, 1, 64, 9.0),
            ],
            latency: vec![latency(1, 5.0), latency(64, 119.4)],
        };
        let best = |kernels: &[Kernel]| speed.best(kernels).map(|cell| (cell.threads, cell.bytes_per_s.median / 1e9));
        assert_eq!(best(&[Kernel::Read]), Some((2, 40.0)), "of the largest working sets, not of the caches");
        assert_eq!(best(&[Kernel::Memcpy, Kernel::CopyNonTemporal]), Some((1, 19.0)));
        assert_eq!(best(&[Kernel::Copy]), None);
        assert_eq!(
            speed.verdict(),
            [
                "1 thread, 64 MiB: read 23.5 GB/s, write 24 GB/s past the caches, copy 19 GB/s past the caches",
                "2 threads, 32 MiB each: read 40 GB/s, write not measured, copy not measured",
                "a load that waits for the one before, 64 MiB: 119 ns"
            ]
        );
    }
    #[test]
    fn a_busy_machine_shows_in_the_rounds() {
        let cell = |rounds: &[f64]| Bandwidth {
            kernel: Kernel::Read,
            threads: 1,
            size_bytes: Bytes(1 << 20),
            bytes_per_s: Rounds::new(rounds.to_vec()),
        };
        let speed = |disturbed: usize| MemorySpeed {
            vectors: Vectors::Avx2,
            caches: Vec::new(),
            huge_page_share: None,
            processors: vec![0],
            studies: Vec::new(),
            bandwidth: (0..20)
                .map(|at| cell(if at < disturbed { &[5.0, 7.0, 10.0] } else { &[9.0, 10.0, 10.1] }))
                .collect(),
            latency: Vec::new(),
        };
        assert_eq!(speed(1).disturbed(), None);
        let warning = speed(2).disturbed().unwrap();
        assert!(warning.code == "disturbed" && warning.message.starts_with("of 2 of 20 figures"), "{warning:?}");
    }
}
