//! How fast memory is: the studies' tests, bandwidth by kernel, working set and threads, and the latency of a load.
//!
//! Kernels that share a working set take turns, round by round, so that a disturbance falls on all of them alike; a
//! figure is the median of its rounds. After its rounds every kernel is checked: the bytes it should have moved are
//! looked at, and a reading whose bytes did not move is refused. It says nothing of memory on another node of the
//! machine than that of the thread, and nothing of traffic that the kernels do not ask for: a plain store into memory
//! that no cache holds makes most processors read it first, and only the bytes stored are counted.

mod buffer;
mod chase;
mod kernels;
mod plan;
mod studies;
mod together;

pub use kernels::GRANULE;
pub use plan::MemoryOptions;

use super::clock::Clock;
use buffer::Buffer;
use chase::Chase;
use halfpower_model::reading::{Bandwidth, Kernel, LoadLatency, MemorySpeed, Rounds, StudyTest, Vectors};
use halfpower_model::{Bytes, Cancel};
use plan::Plan;
use std::io;
use together::together;

/// Why memory cannot be measured as wished.
#[derive(Debug, thiserror::Error)]
pub enum MemoryError {
    /// Working sets are whole pages.
    #[error("a working set of {0} is no multiple of 4 KiB; name one such as 16KiB or 1GiB")]
    Size(Bytes),
    /// Threads are pinned, each to a processor of its own.
    #[error("{threads} threads on {processors} processor(s); name 1 to {processors}")]
    Threads {
        /// Asked for.
        threads: u32,
        /// To be had.
        processors: u32,
    },
    /// Less memory is free.
    #[error(
        "{threads} thread(s) with working sets of {size} take more than half of the {available} of memory that are \
         free; name smaller ones with --sizes, or fewer threads"
    )]
    TooLarge {
        /// Of a thread.
        size: Bytes,
        /// How many.
        threads: u32,
        /// Free.
        available: Bytes,
    },
    /// A kernel did not do what it was timed for: a mistake in the program, or broken memory.
    #[error(
        "the kernel `{kernel}` did not move all of {size}: its figures are worth nothing; this memory may be damaged"
    )]
    NotMoved {
        /// Which.
        kernel: Kernel,
        /// Its working set.
        size: Bytes,
    },
    /// No round of a test took longer than its null test.
    #[error("the test `{0}` took no longer than its null test: something held this machine up; measure again")]
    Disturbed(StudyTest),
    /// Somebody said stop.
    #[error("interrupted before everything was measured; nothing was kept")]
    Cancelled,
    /// Anything else the system said.
    #[error("cannot {action}")]
    System {
        /// What was tried.
        action: &'static str,
        /// What it said.
        #[source]
        source: io::Error,
    },
}

impl MemoryError {
    fn no_memory(source: io::Error) -> MemoryError {
        MemoryError::System { action: "get memory to measure", source }
    }

    fn pin(source: io::Error) -> MemoryError {
        MemoryError::System { action: "pin a thread to a processor; name fewer threads with --threads", source }
    }

    fn file(source: rustix::io::Errno) -> MemoryError {
        MemoryError::System { action: "use a file in memory", source: source.into() }
    }
}

/// Measures memory. `progress` hears before each step how many of how many are done, and what is next.
///
/// # Errors
/// When it cannot be measured as wished, or somebody said stop.
pub fn memory(
    options: &MemoryOptions,
    cancel: &Cancel,
    progress: &mut dyn FnMut(u64, u64, &str),
) -> Result<MemorySpeed, MemoryError> {
    let plan = Plan::new(options)?;
    let steps = plan.steps();
    let mut done = 0;
    let mut go_on = |what: &str| {
        progress(done, steps, what);
        done += 1;
        !cancel.is_cancelled()
    };
    let clock = Clock::host();
    let mut study_step = |test| go_on(&format!("{test}, as in the studies"));
    let studies = studies::measure(clock, &plan.processors, plan.rounds, &mut study_step)?;
    let mut bench = Bench { clock, plan: &plan, vectors: kernels::widest(), huge_page_share: None };
    let mut bandwidth = Vec::new();
    for cells in &plan.cells {
        let mut buffers = bench.buffers(cells.threads, cells.largest())?;
        for size in &cells.sizes {
            if !go_on(&format!("{size}, {} thread(s)", cells.threads)) {
                return Err(MemoryError::Cancelled);
            }
            bandwidth.extend(bench.bandwidth(&mut buffers, *size)?);
        }
    }
    let mut latency = Vec::new();
    let mut buffers = bench.buffers(1, plan.latency_sizes.iter().copied().max().unwrap_or_default())?;
    for size in &plan.latency_sizes {
        if !go_on(&format!("{size}, latency of a load")) {
            return Err(MemoryError::Cancelled);
        }
        latency.push(bench.latency(&mut buffers[0], *size)?);
    }
    if cancel.is_cancelled() {
        return Err(MemoryError::Cancelled);
    }
    Ok(MemorySpeed {
        vectors: bench.vectors,
        caches: plan.caches.clone(),
        huge_page_share: bench.huge_page_share,
        processors: plan.processors.clone(),
        studies,
        bandwidth,
        latency,
    })
}

/// What all measurements have in common.
struct Bench<'a> {
    clock: Clock,
    plan: &'a Plan,
    vectors: Vectors,
    /// The least seen.
    huge_page_share: Option<f64>,
}

impl Bench<'_> {
    /// A buffer for each thread, touched first by the thread that will use it.
    fn buffers(&mut self, threads: u32, size: Bytes) -> Result<Vec<Buffer>, MemoryError> {
        let buffers: io::Result<Vec<Buffer>> = (0..threads).map(|_| Buffer::new(size.0 as usize)).collect();
        let mut buffers = buffers.map_err(MemoryError::no_memory)?;
        let fill = |buffer: &mut Buffer| kernels::fill(buffer.bytes_mut());
        together(self.clock, &self.plan.processors, &mut buffers, fill, |_| ()).map_err(MemoryError::pin)?;
        let share = buffers.first().and_then(Buffer::huge_page_share);
        self.huge_page_share = [self.huge_page_share, share].into_iter().flatten().reduce(f64::min);
        Ok(buffers)
    }

    /// All kernels on one working set of as many threads as there are buffers.
    fn bandwidth(&self, buffers: &mut [Buffer], size: Bytes) -> Result<Vec<Bandwidth>, MemoryError> {
        let all: Vec<Kernel> = kernels::kernels(self.vectors).collect();
        let mut passes = Vec::new();
        for kernel in &all {
            passes.push(self.passes(|passes| self.round(*kernel, buffers, size, passes, Check::Not))?);
        }
        let mut rates = vec![Vec::new(); all.len()];
        for round in 0..self.plan.rounds {
            let check = if round == 0 { Check::Moved } else { Check::Not };
            for ((kernel, passes), rates) in all.iter().zip(&passes).zip(&mut rates) {
                let moved = size.0 * passes * buffers.len() as u64 / if kernel.copies() { 2 } else { 1 };
                rates.push(moved as f64 / self.round(*kernel, buffers, size, *passes, check)?);
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

    /// One round of a kernel on all threads; gives its seconds.
    fn round(
        &self,
        kernel: Kernel,
        buffers: &mut [Buffer],
        size: Bytes,
        passes: u64,
        check: Check,
    ) -> Result<f64, MemoryError> {
        let part = |buffer| Part { memory: &mut Buffer::bytes_mut(buffer)[..size.0 as usize], sum: 0 };
        let mut parts: Vec<Part<'_>> = buffers.iter_mut().map(part).collect();
        let run = |part: &mut Part<'_>, passes| kernels::run(self.vectors, kernel, part.memory, passes);
        let warm = |part: &mut Part<'_>| match check {
            Check::Moved => {
                kernels::fill(part.memory);
                part.sum = kernels::sum(part.memory);
            }
            // What takes a whole round for one pass fits no cache that could be warm.
            Check::Not if passes > 1 => {
                run(part, 1);
            }
            Check::Not => {}
        };
        let (elapsed, traces) = together(self.clock, &self.plan.processors, &mut parts, warm, |part| run(part, passes))
            .map_err(MemoryError::pin)?;
        let moved = |(part, trace): (&Part<'_>, _)| kernels::has_moved(kernel, part.memory, passes, part.sum, trace);
        if check == Check::Moved && !parts.iter().zip(traces).all(moved) {
            return Err(MemoryError::NotMoved { kernel, size });
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
            let timed = together(self.clock, &self.plan.processors, &mut chase, warm, follow);
            Ok(timed.map_err(MemoryError::pin)?.0.seconds())
        };
        let loads = self.passes(|loads| round(0, loads))?;
        let rounds: Result<Vec<f64>, MemoryError> =
            (0..self.plan.rounds).map(|_| Ok(round(round_trip.min(WARM_LOADS), loads)? * 1e9 / loads as f64)).collect();
        Ok(LoadLatency { size_bytes: size, latency_ns: Rounds::new(rounds?) })
    }

    /// How often something is done in a round for the round to last long enough; `time` gives the seconds of a number.
    fn passes(&self, mut time: impl FnMut(u64) -> Result<f64, MemoryError>) -> Result<u64, MemoryError> {
        let wanted_s = self.plan.round.seconds();
        let mut passes = 1;
        loop {
            let needed = wanted_s / time(passes)?.max(1e-9);
            let next = (passes as f64 * needed.min(STEP_MOST)).round().max(1.0) as u64;
            // Near enough, or as few as there can be.
            if needed < STEP_MOST / 2.0 {
                return Ok(next);
            }
            passes = next;
        }
    }
}

/// By how much the passes of a round grow at most while their number is looked for.
const STEP_MOST: f64 = 16.0;
/// Loads that warm the caches before a round; those of a working set of 32 MiB.
const WARM_LOADS: u64 = 1 << 19;

/// What a kernel did is checked in the first round, whose caches are warm from filling the memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Check {
    Moved,
    Not,
}

/// The working set of one thread.
struct Part<'a> {
    memory: &'a mut [u8],
    /// Of its words, where a check needs it.
    sum: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_reading_is_complete() {
        let options = MemoryOptions { quick: true, threads: vec![1], sizes: vec![Bytes(16 << 10), Bytes(1 << 20)] };
        let mut steps = Vec::new();
        let speed = memory(&options, &Cancel::default(), &mut |done, of, what| steps.push((done, of, what.to_owned())))
            .unwrap();
        assert_eq!(speed.thread_counts(), [1]);
        assert_eq!(speed.sizes(1), options.sizes);
        assert_eq!(speed.bandwidth.len(), 2 * kernels::kernels(speed.vectors).count());
        let tests: Vec<StudyTest> = speed.studies.iter().map(|study| study.test).collect();
        use StudyTest::{DoubleRead, DoubleWrite, FileRead, FileWrite, Memcpy};
        assert_eq!(tests, [DoubleRead, DoubleWrite, FileRead, FileWrite, Memcpy, DoubleRead, DoubleWrite, Memcpy]);
        assert_eq!(speed.studies.last().map(|study| study.threads), Some(speed.processors.len() as u32));
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

    #[test]
    fn an_interruption_ends_it() {
        let cancel = Cancel::default();
        let options = MemoryOptions { quick: true, threads: vec![1], sizes: vec![Bytes(16 << 10)] };
        let outcome = memory(&options, &cancel, &mut |done, _, _| {
            if done == 3 {
                cancel.cancel();
            }
        });
        assert!(matches!(outcome, Err(MemoryError::Cancelled)), "{outcome:?}");
    }
}
