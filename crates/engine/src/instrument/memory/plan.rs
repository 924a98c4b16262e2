//! The plan of a measurement: threads, working sets and rounds, by the options and this host.

use super::error::MemoryError;
use super::kernels::GRANULE;
use crate::system::machine::available_memory;
use crate::system::{Root, allowed_cpus, caches::data_caches};
use halfpower_model::reading::Cache;
use halfpower_model::{Bytes, Nanoseconds};

/// The user's options.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MemoryOptions {
    /// Fewer working sets, rounds and threads.
    pub quick: bool,
    /// Thread counts; default: 1, 2, 4, 8, then in steps of four times, and one per CPU.
    pub threads: Vec<u32>,
    /// Working sets of a thread; default: doublings from a quarter of the innermost cache to eight times the outermost.
    pub sizes: Vec<Bytes>,
}

/// Working sets of one thread count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Cells {
    pub(super) threads: u32,
    pub(super) sizes: Vec<Bytes>,
}

impl Cells {
    pub(super) fn largest(&self) -> Bytes {
        self.sizes.iter().copied().max().unwrap_or_default()
    }
}

/// The plan for this host.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    pub(super) cpus: Vec<u32>,
    pub(super) caches: Vec<Cache>,
    pub(super) cells: Vec<Cells>,
    pub(super) latency_sizes: Vec<Bytes>,
    /// Rounds of each figure, and their minimum length.
    pub(super) rounds: usize,
    pub(super) round: Nanoseconds,
}

/// The tests of the studies, a step each.
const STUDY_STEPS: u64 = 8;
/// Nine rounds give an interval that two disturbed rounds do not widen; five give none.
const ROUNDS: usize = 9;
const QUICK_ROUNDS: usize = 5;
const ROUND: Nanoseconds = Nanoseconds(5_000_000);
const QUICK_ROUND: Nanoseconds = Nanoseconds(2_000_000);
/// If the kernel reports no cache.
const USUAL_INNERMOST: u64 = 32 << 10;
const USUAL_OUTERMOST: u64 = 32 << 20;
/// The largest working set as a multiple of the outermost cache, so that it is in memory, and its bounds.
const BEYOND: u64 = 8;
const LEAST_BEYOND: u64 = 64 << 20;
const MOST_BEYOND: u64 = 1 << 30;

impl Plan {
    /// For this host.
    ///
    /// # Errors
    /// If the host cannot satisfy the options.
    pub(super) fn new(options: &MemoryOptions) -> Result<Plan, MemoryError> {
        let cpus = allowed_cpus();
        let caches = cpus.first().map(|cpu| data_caches(&Root::host(), *cpu)).unwrap_or_default();
        resolve(options, cpus, caches, available_memory())
    }

    /// Number of steps.
    pub(super) fn steps(&self) -> u64 {
        STUDY_STEPS
            + (self.cells.iter().map(|cells| cells.sizes.len()).sum::<usize>() + self.latency_sizes.len()) as u64
    }
}

fn resolve(
    options: &MemoryOptions,
    cpus: Vec<u32>,
    caches: Vec<Cache>,
    available: Option<Bytes>,
) -> Result<Plan, MemoryError> {
    let count = cpus.len() as u32;
    let threads =
        sorted(if options.threads.is_empty() { usual_threads(count, options.quick) } else { options.threads.clone() });
    if let Some(threads) = threads.iter().copied().find(|threads| !(1..=count).contains(threads)) {
        return Err(MemoryError::Usage(format!("{threads} threads on {count} CPU(s); use 1 to {count}")));
    }
    let wrong = |size: &&Bytes| size.0 == 0 || !size.0.is_multiple_of(GRANULE as u64);
    if let Some(size) = options.sizes.iter().find(wrong) {
        return Err(MemoryError::Usage(format!(
            "a working set of {size} is no multiple of 4 KiB; use one such as 16KiB or 1GiB"
        )));
    }
    let sizes = |threads: u32| match options.sizes.as_slice() {
        [] => usual_sizes(&caches, threads, options.quick, available),
        named => sorted(named.to_vec()),
    };
    let cells: Vec<Cells> = threads.into_iter().map(|threads| Cells { threads, sizes: sizes(threads) }).collect();
    let fits = |size: Bytes, threads: u32| {
        available.is_none_or(|available| size.0.saturating_mul(u64::from(threads)) <= available.0 / 2)
    };
    if let Some(cells) = cells.iter().find(|cells| !fits(cells.largest(), cells.threads)) {
        return Err(MemoryError::Failed(format!(
            "{} thread(s) with working sets of {} take more than half of the {} of memory that are free; name smaller \
             ones with --sizes, or fewer threads",
            cells.threads,
            cells.largest(),
            available.unwrap_or_default()
        )));
    }
    Ok(Plan {
        latency_sizes: sizes(1),
        cpus,
        caches,
        cells,
        rounds: if options.quick { QUICK_ROUNDS } else { ROUNDS },
        round: if options.quick { QUICK_ROUND } else { ROUND },
    })
}

fn sorted<T: Ord>(mut values: Vec<T>) -> Vec<T> {
    values.sort_unstable();
    values.dedup();
    values
}

fn usual_threads(count: u32, quick: bool) -> Vec<u32> {
    let steps =
        std::iter::successors(Some(1_u32), |threads| Some(if *threads < 8 { threads * 2 } else { threads * 4 }));
    let below = steps.take_while(|threads| *threads < count).take(if quick { 1 } else { usize::MAX });
    below.chain([count]).collect()
}

/// Doublings, or fourfold for `quick`, down from the largest.
fn usual_sizes(caches: &[Cache], threads: u32, quick: bool, available: Option<Bytes>) -> Vec<Bytes> {
    let smallest = caches.first().map_or(USUAL_INNERMOST, |cache| cache.size_bytes.0).next_power_of_two() / 4;
    let outermost = caches.last().map_or(USUAL_OUTERMOST, |cache| cache.size_bytes.0).next_power_of_two();
    // Threads that share a cache fill it together.
    let sharing = caches.last().map_or(1, |cache| threads.min(cache.shared_by)).max(1);
    let beyond = (outermost * BEYOND).clamp(LEAST_BEYOND, MOST_BEYOND) / u64::from(sharing).next_power_of_two();
    let room = available.map_or(u64::MAX, |available| available.0 / 2 / u64::from(threads));
    let step = if quick { 2 } else { 1 };
    let smallest = smallest.max(GRANULE as u64);
    let sizes = std::iter::successors(Some(beyond.max(smallest)), |size| Some(size >> step));
    sorted(sizes.take_while(|size| *size >= smallest).filter(|size| *size <= room).map(Bytes).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn caches() -> Vec<Cache> {
        let cache = |level, size, shared_by| Cache { level, size_bytes: Bytes(size), shared_by };
        vec![cache(1, 48 << 10, 1), cache(2, 1 << 20, 1), cache(3, 32 << 20, 16)]
    }

    fn plan(options: &MemoryOptions, cpus: u32, available: u64) -> Result<Plan, MemoryError> {
        resolve(options, (0..cpus).collect(), caches(), Some(Bytes(available)))
    }

    #[test]
    fn working_sets_reach_from_the_innermost_cache_to_memory() {
        let plan = plan(&MemoryOptions::default(), 64, 1 << 40).unwrap();
        let threads: Vec<u32> = plan.cells.iter().map(|cells| cells.threads).collect();
        assert_eq!(threads, [1, 2, 4, 8, 32, 64]);
        let alone: Vec<u64> = plan.cells[0].sizes.iter().map(|size| size.0).collect();
        assert_eq!((alone[0], alone[1], alone.last()), (16 << 10, 32 << 10, Some(&(256 << 20))));
        assert_eq!(alone.len(), 15);
        // Sixteen threads share each of the outermost caches, so all of them are full with a sixteenth each.
        assert_eq!(plan.cells[5].largest(), Bytes(16 << 20));
        assert_eq!(plan.latency_sizes, plan.cells[0].sizes);
        assert_eq!(plan.steps(), 8 + 15 + 15 + 14 + 13 + 12 + 11 + 11);
    }

    #[test]
    fn named_threads_and_sizes_are_the_whole_plan() {
        let options = MemoryOptions { quick: false, threads: vec![3, 1, 3], sizes: vec![Bytes(1 << 20), Bytes(4096)] };
        let plan = plan(&options, 4, 1 << 30).unwrap();
        let sizes = vec![Bytes(4096), Bytes(1 << 20)];
        assert_eq!(plan.cells, [1, 3].map(|threads| Cells { threads, sizes: sizes.clone() }));
    }

    #[test]
    fn impossible_options_are_rejected_and_default_sizes_fit_the_memory() {
        let named = |threads: &[u32], sizes: &[u64]| MemoryOptions {
            quick: false,
            threads: threads.to_vec(),
            sizes: sizes.iter().copied().map(Bytes).collect(),
        };
        for (threads, sizes, said) in [
            (vec![5], vec![4096], "5 threads on 4 CPU(s)"),
            (vec![0], vec![4096], "0 threads"),
            (vec![1], vec![4097], "no multiple of 4 KiB"),
            (vec![1], vec![0], "no multiple of 4 KiB"),
            (vec![4], vec![256 << 20], "name smaller ones"),
        ] {
            let error = plan(&named(&threads, &sizes), 4, 1 << 30).unwrap_err().to_string();
            assert!(error.contains(said), "{error}");
        }
        let small = plan(&MemoryOptions::default(), 4, 128 << 20).unwrap();
        assert_eq!(small.cells[0].largest(), Bytes(64 << 20));
    }
}
