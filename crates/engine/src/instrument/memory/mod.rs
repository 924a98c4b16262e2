//! Memory: the tests of the studies, bandwidth by kernel, working set and threads, and load latency.
//!
//! Rounds of the kernels of a working set alternate, so that a disturbance affects all of them. A figure is the median of its
//! rounds. Every kernel is verified to have moved its bytes. Not measured: memory of another NUMA node, and implicit traffic.
//! A plain store that misses all caches makes most CPUs read the line first; only the bytes stored count.

mod buffer;
mod chase;
mod error;
mod kernels;
mod plan;
mod studies;
mod together;

pub use error::MemoryError;
pub use kernels::GRANULE;
pub use plan::MemoryOptions;

use super::clock::Clock;
use buffer::Buffer;
use chase::Chase;
use halfpower_model::Bytes;
use halfpower_model::reading::{Bandwidth, Kernel, LoadLatency, MemorySpeed, Rounds, Vectors};
use plan::Plan;
use std::io;
use together::together;

/// Measures memory. Before each step, `progress` gets the number of steps done, their total and the next step.
///
/// # Errors
/// If it cannot be measured.
pub fn memory(options: &MemoryOptions, progress: &mut dyn FnMut(u64, u64, &str)) -> Result<MemorySpeed, MemoryError> {
    let plan = Plan::new(options)?;
    let steps = plan.steps();
    let mut done = 0;
    let mut step = |what: &str| {
        progress(done, steps, what);
        done += 1;
    };
    let clock = Clock::host();
    let mut study_step = |test| step(&format!("{test}, as in the studies"));
    let studies = studies::measure(clock, &plan.cpus, plan.rounds, &mut study_step)?;
    let mut bench = Bench { clock, plan: &plan, vectors: kernels::widest(), huge_page_share: None };
    let mut bandwidth = Vec::new();
    for cells in &plan.cells {
        let mut buffers = bench.buffers(cells.threads, cells.largest())?;
        for size in &cells.sizes {
            step(&format!("{size}, {} thread(s)", cells.threads));
            bandwidth.extend(bench.bandwidth(&mut buffers, *size)?);
        }
    }
    let mut latency = Vec::new();
    let mut buffers = bench.buffers(1, plan.latency_sizes.iter().copied().max().unwrap_or_default())?;
    for size in &plan.latency_sizes {
        step(&format!("{size}, load latency"));
        latency.push(bench.latency(&mut buffers[0], *size)?);
    }
    Ok(MemorySpeed {
        vectors: bench.vectors,
        caches: plan.caches.clone(),
        huge_page_share: bench.huge_page_share,
        cpus: plan.cpus.clone(),
        studies,
        bandwidth,
        latency,
    })
}

/// What all measurements share.
struct Bench<'a> {
    clock: Clock,
    plan: &'a Plan,
    vectors: Vectors,
    /// The lowest share.
    huge_page_share: Option<f64>,
}

impl Bench<'_> {
    /// A buffer for each thread, first touched by it.
    fn buffers(&mut self, threads: u32, size: Bytes) -> Result<Vec<Buffer>, MemoryError> {
        let buffers: io::Result<Vec<Buffer>> = (0..threads).map(|_| Buffer::new(size.0 as usize)).collect();
        let mut buffers = buffers.map_err(MemoryError::no_memory)?;
        let fill = |buffer: &mut Buffer| kernels::fill(buffer.bytes_mut());
        together(self.clock, &self.plan.cpus, &mut buffers, fill, |_| ()).map_err(MemoryError::pin)?;
        let share = buffers.first().and_then(Buffer::huge_page_share);
        self.huge_page_share = [self.huge_page_share, share].into_iter().flatten().reduce(f64::min);
        Ok(buffers)
    }

    /// All kernels on one working set, with a thread per buffer.
    fn bandwidth(&self, buffers: &mut [Buffer], size: Bytes) -> Result<Vec<Bandwidth>, MemoryError> {
        let all: Vec<Kernel> = kernels::kernels(self.vectors).collect();
        let mut passes = Vec::new();
        for kernel in &all {
            passes.push(self.passes(|passes| self.round(*kernel, buffers, size, passes, false))?);
        }
        let mut rates = vec![Vec::new(); all.len()];
        for round in 0..self.plan.rounds {
            for ((kernel, passes), rates) in all.iter().zip(&passes).zip(&mut rates) {
                let moved = size.0 * passes * buffers.len() as u64 / if kernel.copies() { 2 } else { 1 };
                rates.push(moved as f64 / self.round(*kernel, buffers, size, *passes, round == 0)?);
            }
        }
        let threads = buffers.len() as u32;
        let of = |(kernel, rates): (Kernel, Vec<f64>)| Bandwidth {
            kernel,
            threads,
            size_bytes: size,
            bytes_per_s: Rounds::new(rates),
        };
        Ok(all.into_iter().zip(rates).map(of).collect())
    }

    /// One round of a kernel on all threads, in seconds. One that is verified has its caches warm from filling the memory.
    fn round(
        &self,
        kernel: Kernel,
        buffers: &mut [Buffer],
        size: Bytes,
        passes: u64,
        verify: bool,
    ) -> Result<f64, MemoryError> {
        let part = |buffer| Part { memory: &mut Buffer::bytes_mut(buffer)[..size.0 as usize], sum: 0 };
        let mut parts: Vec<Part<'_>> = buffers.iter_mut().map(part).collect();
        let run = |part: &mut Part<'_>, passes| kernels::run(self.vectors, kernel, part.memory, passes);
        let warm = |part: &mut Part<'_>| {
            if verify {
                kernels::fill(part.memory);
                part.sum = kernels::sum(part.memory);
            } else if passes > 1 {
                // If one pass takes a whole round, the working set fits no cache.
                run(part, 1);
            }
        };
        let (elapsed, traces) = together(self.clock, &self.plan.cpus, &mut parts, warm, |part| run(part, passes))
            .map_err(MemoryError::pin)?;
        let moved = |(part, sum): (&Part<'_>, u64)| kernels::has_moved(kernel, part.memory, passes, part.sum, sum);
        if verify && !parts.iter().zip(traces).all(moved) {
            return Err(MemoryError::Failed(format!(
                "the kernel `{kernel}` did not move all of {size}, so its figures are wrong; the memory may be faulty"
            )));
        }
        Ok(elapsed.seconds())
    }

    /// Load latency in one working set.
    fn latency(&self, buffer: &mut Buffer, size: Bytes) -> Result<LoadLatency, MemoryError> {
        let words = kernels::words_mut(&mut buffer.bytes_mut()[..size.0 as usize]);
        let mut chase = [Chase::new(words)];
        let round_trip = chase[0].lines();
        let mut round = |warm_loads: u64, loads: u64| -> Result<f64, MemoryError> {
            let warm = |chase: &mut Chase<'_>| chase.follow(warm_loads);
            let follow = |chase: &mut Chase<'_>| chase.follow(loads);
            let timed = together(self.clock, &self.plan.cpus, &mut chase, warm, follow);
            Ok(timed.map_err(MemoryError::pin)?.0.seconds())
        };
        let loads = self.passes(|loads| round(0, loads))?;
        let rounds: Result<Vec<f64>, MemoryError> =
            (0..self.plan.rounds).map(|_| Ok(round(round_trip.min(WARM_LOADS), loads)? * 1e9 / loads as f64)).collect();
        Ok(LoadLatency { size_bytes: size, latency_ns: Rounds::new(rounds?) })
    }

    /// How many passes make a round long enough; `time` gives their seconds.
    fn passes(&self, mut time: impl FnMut(u64) -> Result<f64, MemoryError>) -> Result<u64, MemoryError> {
        let wanted_s = self.plan.round.seconds();
        let mut passes = 1;
        loop {
            let needed = wanted_s / time(passes)?.max(1e-9);
            let next = (passes as f64 * needed.min(STEP_MOST)).round().max(1.0) as u64;
            // Close enough, or the minimum.
            if needed < STEP_MOST / 2.0 {
                return Ok(next);
            }
            passes = next;
        }
    }
}

/// Maximum growth of the passes of a round in one step of the search.
const STEP_MOST: f64 = 16.0;
/// Loads that warm the caches before a round: those of a working set of 32 MiB.
const WARM_LOADS: u64 = 1 << 19;

/// The working set of one thread.
struct Part<'a> {
    memory: &'a mut [u8],
    /// The sum of its words, if the verification needs it.
    sum: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_reading_is_complete() {
        let options = MemoryOptions { quick: true, threads: vec![1], sizes: vec![Bytes(16 << 10), Bytes(1 << 20)] };
        let mut steps = Vec::new();
        let speed = memory(&options, &mut |done, of, what| steps.push((done, of, what.to_owned()))).unwrap();
        assert_eq!(speed.thread_counts(), [1]);
        assert_eq!(speed.sizes(1), options.sizes);
        assert_eq!(speed.bandwidth.len(), 2 * kernels::kernels(speed.vectors).count());
        let tests: Vec<StudyTest> = speed.studies.iter().map(|study| study.test).collect();
        use halfpower_model::reading::StudyTest::{self, DoubleRead, DoubleWrite, FileRead, FileWrite, Memcpy};
        assert_eq!(tests, [DoubleRead, DoubleWrite, FileRead, FileWrite, Memcpy, DoubleRead, DoubleWrite, Memcpy]);
        assert_eq!(speed.studies.last().map(|study| study.threads), Some(speed.cpus.len() as u32));
        // No machine reads a cache line in less than a tenth of a nanosecond, and none that runs this needs a second.
        for cell in &speed.bandwidth {
            assert!((1e6..1e13).contains(&cell.bytes_per_s.median), "{cell:?}");
        }
        assert!(
            speed.latency.iter().all(|latency| (0.1..1e6).contains(&latency.latency_ns.median)),
            "{:?}",
            speed.latency
        );
        assert_eq!(steps.last().map(|(done, of, _)| (*done, *of)), Some((steps.len() as u64 - 1, steps.len() as u64)));
    }
}
