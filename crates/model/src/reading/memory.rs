//! The record of memory: the eight tests of the studies, bandwidth by kernel, working set and threads, and load latency.

use super::Rounds;
use crate::units::Bytes;
use serde::{Deserialize, Serialize};
use std::fmt;

/// A best round this far above the median is no noise of the memory.
const SPREAD_MAX: f64 = 1.25;
/// Share of the figures that may exceed it by chance.
const OFF_MAX: f64 = 0.05;

/// What `halfpower memory` measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MemorySpeed {
    /// The widest loads and stores of this CPU, used by the kernels.
    pub vectors: Vectors,
    /// The data caches of the first CPU used, the innermost first; empty if unknown.
    pub caches: Vec<Cache>,
    /// Share of the buffers in huge pages; none if unknown.
    pub huge_page_share: Option<f64>,
    /// The CPUs used; threads are pinned to them in this order.
    pub cpus: Vec<u32>,
    /// The tests of the studies.
    pub studies: Vec<StudySpeed>,
    /// Bandwidth by kernel, working set and threads.
    pub bandwidth: Vec<Bandwidth>,
    /// Latency of dependent loads by working set; one thread.
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
    /// 8 bytes: the CPU is not an x86-64.
    Scalar,
}

/// A data cache.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cache {
    /// 1 is the innermost.
    pub level: u32,
    /// Its size.
    pub size_bytes: Bytes,
    /// CPUs that share it.
    pub shared_by: u32,
}

/// A test of the studies with one thread count. Two tests use a file, the others only memory.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StudySpeed {
    /// Which.
    pub test: StudyTest,
    /// Threads.
    pub threads: u32,
    /// Bytes that each thread reads, writes or copies at once.
    pub size_bytes: Bytes,
    /// Time of the null test, which is subtracted.
    pub null_ns: f64,
    /// Bytes per second of all threads; a copied byte counts once.
    pub bytes_per_s: Rounds,
}

/// The tests of the studies: five on one thread, and those without a file again on every CPU.
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
    /// Threads, each with its own working set.
    pub threads: u32,
    /// The working set of a thread; of a copy, source and destination together.
    pub size_bytes: Bytes,
    /// Bytes per second of all threads; a copied byte counts once.
    pub bytes_per_s: Rounds,
}

/// Kernels: loops that move bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kernel {
    /// Widest loads.
    Read,
    /// Widest stores.
    Write,
    /// Widest non-temporal stores, which bypass the caches.
    WriteNonTemporal,
    /// Widest loads and stores.
    Copy,
    /// Widest loads and non-temporal stores.
    CopyNonTemporal,
    /// The C library's memcpy.
    Memcpy,
}

/// The latency of dependent loads.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LoadLatency {
    /// The working set; each line is loaded once per cycle, in random order.
    pub size_bytes: Bytes,
    /// Latency of a load.
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
}

impl fmt::Display for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(["read", "write", "write NT", "copy", "copy NT", "memcpy"][*self as usize])
    }
}

impl fmt::Display for StudyTest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(["double read", "double write", "file read, 64 KiB", "file write, 64 KiB", "memcpy"][*self as usize])
    }
}

impl fmt::Display for Vectors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(["AVX-512, 64 bytes", "AVX2, 32 bytes", "SSE2, 16 bytes", "none, 8 bytes at a time"][*self as usize])
    }
}

impl MemorySpeed {
    /// Thread counts that were measured, ascending.
    pub fn thread_counts(&self) -> Vec<u32> {
        let mut counts: Vec<u32> = self.bandwidth.iter().map(|bandwidth| bandwidth.threads).collect();
        counts.sort_unstable();
        counts.dedup();
        counts
    }

    /// Working sets measured with a thread count, ascending.
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

    /// The highest bandwidth of these kernels on the largest working set, with any thread count.
    pub fn best(&self, kernels: &[Kernel]) -> Option<&Bandwidth> {
        let beyond = |cell: &&Bandwidth| self.sizes(cell.threads).last() == Some(&cell.size_bytes);
        let cells = self.bandwidth.iter().filter(|cell| kernels.contains(&cell.kernel)).filter(beyond);
        cells.max_by(|one, other| one.bytes_per_s.median.total_cmp(&other.bytes_per_s.median))
    }

    /// How many figures were disturbed, if they are too many for an idle machine; 1 of 186 there, 12 of 96 on a busy one.
    /// The best round of a disturbed figure is far above the median.
    pub fn disturbed(&self) -> Option<usize> {
        let is_off = |cell: &&Bandwidth| cell.bytes_per_s.largest() > SPREAD_MAX * cell.bytes_per_s.median;
        let off = self.bandwidth.iter().filter(is_off).count();
        (off as f64 > OFF_MAX * self.bandwidth.len() as f64).then_some(off)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
            cpus: vec![0],
            studies: Vec::new(),
            bandwidth: (0..20)
                .map(|at| cell(if at < disturbed { &[5.0, 7.0, 10.0] } else { &[9.0, 10.0, 10.1] }))
                .collect(),
            latency: Vec::new(),
        };
        assert_eq!(speed(1).disturbed(), None);
        assert_eq!(speed(2).disturbed(), Some(2));
    }
}
