//! The studies' memspeed: eight tests, each less a null test (Chung, Gray, Worthington and Horst, "Windows 2000 Disk IO
//! Performance", MSR-TR-2000-55, section 3.5).
//!
//! 10 MB are read, written or copied: 64 bits at a time; from and to a cached temporary file, 64 KB per call; by memcpy. The
//! tests without a file run again with a thread on every CPU. The null test, the same instructions without the accesses, is
//! measured first and subtracted. The file is in memory (memfd_create), the closest Linux has to a temporary file that is never
//! written back. An iteration moves 16 doubles, as compiled code does: with one, the loop would hide behind the loads and must
//! not be subtracted.

use super::buffer::Buffer;
use super::error::MemoryError;
use super::kernels;
use super::together::together;
use crate::instrument::clock::Clock;
use halfpower_model::Bytes;
use halfpower_model::reading::{Rounds, StudySpeed, StudyTest};
use rustix::fs::{MemfdFlags, memfd_create};
use rustix::io::{pread, pwrite};
use std::arch::asm;
use std::fs::File;
use std::hint::black_box;
use std::ptr;

/// Bytes of a test, and of a call on a file.
const SIZE: usize = 10 << 20;
const CALL: usize = 64 << 10;
/// Doubles per iteration.
const UNROLLED: usize = 16;

/// Two buffers and a file of one thread.
struct Part {
    buffer: Buffer,
    file: File,
}

impl Part {
    fn new() -> Result<Part, MemoryError> {
        let file: File = memfd_create("halfpower-memory", MemfdFlags::CLOEXEC).map_err(MemoryError::file)?.into();
        let mut part = Part { buffer: Buffer::new(2 * SIZE).map_err(MemoryError::no_memory)?, file };
        part.write_file(CALL).map_err(MemoryError::file)?;
        Ok(part)
    }

    fn doubles(&mut self) -> &mut [[f64; UNROLLED]] {
        // SAFETY: every pattern of bits is a double; the buffer is aligned to a page and a whole number of turns long.
        unsafe { self.buffer.bytes_mut()[..SIZE].align_to_mut().1 }
    }

    /// In calls of `length` bytes.
    fn read_file(&mut self, length: usize) -> rustix::io::Result<()> {
        let buffer = &mut self.buffer.bytes_mut()[..length];
        (0..SIZE / CALL).try_for_each(|call| pread(&self.file, &mut *buffer, (call * CALL) as u64).map(|_| ()))
    }

    fn write_file(&mut self, length: usize) -> rustix::io::Result<()> {
        let buffer = &self.buffer.bytes_mut()[..length];
        (0..SIZE / CALL).try_for_each(|call| pwrite(&self.file, buffer, (call * CALL) as u64).map(|_| ()))
    }

    /// Runs a test once.
    fn test(&mut self, test: StudyTest) -> rustix::io::Result<()> {
        match test {
            StudyTest::DoubleRead => read_doubles(self.doubles()),
            StudyTest::DoubleWrite => write_doubles(self.doubles()),
            StudyTest::FileRead => self.read_file(CALL)?,
            StudyTest::FileWrite => self.write_file(CALL)?,
            StudyTest::Memcpy => kernels::copy_by_library(self.buffer.bytes_mut(), SIZE),
        }
        Ok(())
    }

    /// Its null test.
    fn null(&mut self, test: StudyTest) -> rustix::io::Result<()> {
        match test {
            StudyTest::DoubleRead | StudyTest::DoubleWrite => pass_doubles(self.doubles()),
            StudyTest::FileRead => self.read_file(0)?,
            StudyTest::FileWrite => self.write_file(0)?,
            StudyTest::Memcpy => kernels::copy_by_library(self.buffer.bytes_mut(), 0),
        }
        Ok(())
    }
}

fn read_doubles(doubles: &[[f64; UNROLLED]]) {
    for turn in doubles {
        for double in turn {
            // SAFETY: a reference can be read; volatile, so that the unused read is not left out.
            unsafe { ptr::read_volatile(double) };
        }
    }
}

fn write_doubles(doubles: &mut [[f64; UNROLLED]]) {
    let value = black_box(1.0);
    for turn in doubles {
        for double in turn {
            // SAFETY: an exclusive reference can be written; volatile, so that every one is.
            unsafe { ptr::write_volatile(double, value) };
        }
    }
}

fn pass_doubles(doubles: &[[f64; UNROLLED]]) {
    for turn in doubles {
        // SAFETY: no instruction at all; it keeps the loop, which has to have the place in a register.
        unsafe { asm!("/* {0} */", in(reg) turn.as_ptr().addr(), options(nomem, nostack, preserves_flags)) };
    }
}

/// The tests, on one thread and on every CPU; `step` is called before each.
///
/// # Errors
/// If the system denies memory, a file or a CPU.
pub(super) fn measure(
    clock: Clock,
    cpus: &[u32],
    rounds: usize,
    step: &mut dyn FnMut(StudyTest),
) -> Result<Vec<StudySpeed>, MemoryError> {
    use StudyTest::{DoubleRead, DoubleWrite, FileRead, FileWrite, Memcpy};
    let mut parts = cpus.iter().map(|_| Part::new()).collect::<Result<Vec<_>, _>>()?;
    let all = parts.len();
    // First touched by the threads that use it.
    let fill = |part: &mut Part| kernels::fill(part.buffer.bytes_mut());
    together(clock, cpus, &mut parts, fill, |_| ()).map_err(MemoryError::pin)?;
    let alone = [DoubleRead, DoubleWrite, FileRead, FileWrite, Memcpy].map(|test| (test, 1));
    let together = [DoubleRead, DoubleWrite, Memcpy].map(|test| (test, all));
    let mut speeds = Vec::new();
    for (test, threads) in alone.into_iter().chain(together) {
        step(test);
        speeds.push(speed(clock, &cpus[..threads], &mut parts[..threads], test, rounds)?);
    }
    Ok(speeds)
}

/// How often a test is measured at most: again only if it took no longer than its null test.
const ATTEMPTS: usize = 4;

fn speed(
    clock: Clock,
    cpus: &[u32],
    parts: &mut [Part],
    test: StudyTest,
    rounds: usize,
) -> Result<StudySpeed, MemoryError> {
    let bytes = (SIZE * parts.len()) as f64;
    // As warm as the previous test leaves it.
    let warm = |part: &mut Part| {
        // The timed test reports the same error.
        let _ = part.test(test);
    };
    let mut round = |work: &(dyn Fn(&mut Part) -> rustix::io::Result<()> + Sync)| -> Result<f64, MemoryError> {
        let (elapsed, outcomes) = together(clock, cpus, parts, warm, work).map_err(MemoryError::pin)?;
        outcomes.into_iter().collect::<rustix::io::Result<Vec<()>>>().map_err(MemoryError::file)?;
        Ok(elapsed.0 as f64)
    };
    let (mut nulls, mut wholes) = (Vec::new(), Vec::new());
    for _ in 0..ATTEMPTS {
        for _ in 0..rounds {
            nulls.push(round(&|part| part.null(test))?);
            wholes.push(round(&|part| part.test(test))?);
        }
        if let Some((null_ns, bytes_per_s)) = less_null(bytes, &nulls, &wholes) {
            let (threads, size_bytes) = (cpus.len() as u32, Bytes(SIZE as u64));
            return Ok(StudySpeed { test, threads, size_bytes, null_ns, bytes_per_s });
        }
    }
    Err(MemoryError::Failed(format!(
        "the test `{test}` took no longer than its null test: the machine was disturbed; measure again"
    )))
}

/// The null time, and the throughput without it; none if no round took longer.
///
/// It is the minimum of the null tests, since a disturbance only adds time. Subtracting a disturbed one could give any
/// throughput.
fn less_null(bytes: f64, nulls_ns: &[f64], wholes_ns: &[f64]) -> Option<(f64, Rounds)> {
    let null_ns = nulls_ns.iter().copied().fold(f64::INFINITY, f64::min);
    let longer = wholes_ns.iter().filter(|whole_ns| **whole_ns > null_ns);
    let rates: Vec<f64> = longer.map(|whole_ns| bytes * 1e9 / (whole_ns - null_ns)).collect();
    (!rates.is_empty()).then(|| (null_ns, Rounds::new(rates)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_test_moves_its_bytes_and_the_null_test_none() {
        let mut part = Part::new().unwrap();
        let fresh = |part: &mut Part| {
            part.buffer.bytes_mut()[SIZE..].fill(0);
            kernels::fill(&mut part.buffer.bytes_mut()[..SIZE]);
            part.buffer.bytes_mut().to_vec()
        };
        for test in [StudyTest::DoubleRead, StudyTest::DoubleWrite, StudyTest::FileRead, StudyTest::Memcpy] {
            let before = fresh(&mut part);
            part.null(test).unwrap();
            assert!(part.buffer.bytes_mut() == before, "the null test of {test}");
        }
        fresh(&mut part);
        part.test(StudyTest::DoubleWrite).unwrap();
        assert!(part.doubles().iter().flatten().all(|double| *double == 1.0));
        let before = fresh(&mut part);
        part.test(StudyTest::Memcpy).unwrap();
        assert!(part.buffer.bytes_mut()[SIZE..] == before[..SIZE]);
        part.test(StudyTest::FileWrite).unwrap();
        part.buffer.bytes_mut().fill(7);
        part.test(StudyTest::FileRead).unwrap();
        assert!(part.buffer.bytes_mut()[..CALL] == before[..CALL], "each call has written what the buffer began with");
        assert_eq!(part.file.metadata().unwrap().len(), SIZE as u64);
    }

    #[test]
    fn a_disturbed_null_test_does_not_change_the_rate() {
        let (null_ns, rates) = less_null(1000.0, &[9000.0, 100.0, 5000.0], &[1100.0, 600.0, 2100.0]).unwrap();
        assert_eq!((null_ns, rates.rounds), (100.0, vec![1e9, 2e9, 0.5e9]));
        assert_eq!(less_null(1000.0, &[100.0], &[90.0, 400.0]).unwrap().1.rounds.len(), 1);
        assert_eq!(less_null(1000.0, &[100.0], &[100.0]), None);
    }
}
