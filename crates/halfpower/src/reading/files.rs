//! The record of `halfpower files`, and its conclusions: rates over repetitions, and what answered stat and read.
//!
//! The kernel counts the bytes that block devices read for the program, those of directories and inodes too. Below 64 bytes for
//! each file, a quarter of the smallest inode, memory answered. On a network there is no such count, so it stays unknown.

use crate::text::counted;
use halfpower_analysis::statistics::mean_estimate;
use halfpower_engine::files::{FilePhase, FilesOptions, PhaseRun};
use halfpower_model::histogram::Histogram;
use halfpower_model::sample::{Latency, Warning};
use halfpower_model::{Estimate, Quantity};
use serde::{Deserialize, Serialize};

/// Below this for each file, nothing of it was read from the storage.
const READ_PER_FILE_BYTES: u64 = 64;
/// What the program reads for itself meanwhile.
const READ_BESIDE_BYTES: u64 = 64 << 10;
/// Maximum number of errors in a warning; the record has all.
const ERRORS_SHOWN: usize = 5;

/// How many small files per second.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct FileRates {
    /// The directory, as it was named.
    pub(crate) path: String,
    /// What was asked for, as keys beside the others.
    #[serde(flatten)]
    pub(crate) options: FilesOptions,
    /// The host of each process of an MPI launcher, which had as many files and workers each; empty of one alone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) hosts: Vec<String>,
    /// Whether everything was carried out.
    pub(crate) is_complete: bool,
    /// Each phase that was completed, in order.
    pub(crate) runs: Vec<PhaseRun>,
    /// Each phase over its repetitions.
    pub(crate) rates: Vec<PhaseRates>,
}

/// One phase, over its repetitions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct PhaseRates {
    /// The phase.
    pub(crate) phase: FilePhase,
    /// Files per second.
    pub(crate) files_per_s: Estimate,
    /// The same with the time of writing back at the end; none if the phase leaves nothing in memory.
    pub(crate) flushed_files_per_s: Option<Estimate>,
    /// The slowest worker in its own time, the mean of all, and the fastest; none of one alone.
    pub(crate) worker_files_per_s: Option<[f64; 3]>,
    /// Latency of one file; of one directory that was listed.
    pub(crate) latency_ns: Latency,
    /// What answered; none if unknown, or if the phase changes something.
    pub(crate) answered_by: Option<Answerer>,
}

/// Where facts and data of files came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Answerer {
    /// Memory alone.
    Memory,
    /// The storage, at least in part.
    Storage,
}

impl FileRates {
    /// What was measured. `is_counted`: the target is on a block device, whose reads the kernel counts.
    pub(crate) fn new(
        path: String,
        options: FilesOptions,
        hosts: Vec<String>,
        runs: Vec<PhaseRun>,
        is_counted: bool,
    ) -> FileRates {
        let of = |phase| runs.iter().filter(|run| run.phase == phase).collect::<Vec<_>>();
        let rates = FilePhase::ALL.into_iter().filter_map(|phase| rates(phase, &of(phase), is_counted)).collect();
        FileRates { path, options, hosts, is_complete: false, runs, rates }
    }

    /// `2 workers`, `2 workers in each of 4 processes on 2 hosts`.
    pub(crate) fn workers_in_words(&self) -> String {
        let workers = counted(self.options.workers as usize, "worker");
        let mut hosts: Vec<&String> = self.hosts.iter().collect();
        hosts.sort_unstable();
        hosts.dedup();
        let of = counted(hosts.len(), "host");
        if hosts.is_empty() { workers } else { format!("{workers} in each of {} processes on {of}", self.hosts.len()) }
    }

    /// The phases that answer from what is there. Names that are listed take too few bytes to tell what answered.
    pub(crate) fn lookups(&self) -> impl Iterator<Item = &PhaseRates> {
        self.rates.iter().filter(|rates| is_lookup(rates.phase))
    }

    /// Whether a file was not as it was left.
    pub(crate) fn has_errors(&self) -> bool {
        self.runs.iter().any(|run| !run.errors.is_empty())
    }

    /// Warnings about errors, and caches that were not dropped.
    pub(crate) fn warnings(&self) -> Vec<Warning> {
        let of = |run: &PhaseRun| {
            let phase = run.phase.word();
            run.errors.iter().map(|(name, count)| format!("{phase}: {name} of {count}")).collect::<Vec<_>>()
        };
        let errors: Vec<String> = self.runs.iter().flat_map(of).take(ERRORS_SHOWN).collect();
        let failed = self.has_errors().then(|| {
            let message =
                format!("not every file was as it was left, and such files do not count ({})", errors.join(", "));
            Warning::new("file_errors", message, "make sure that nothing else works there; see the kernel log (dmesg)")
        });
        let is_warm = self.options.cold && self.lookups().any(|rates| rates.answered_by == Some(Answerer::Memory));
        let warm = is_warm.then(|| {
            let message =
                "the caches were dropped, but the storage read next to nothing, so a cache answered after all";
            Warning::new("not_cold", message, "name a directory on a disk of this machine")
        });
        failed.into_iter().chain(warm).collect()
    }
}

fn is_lookup(phase: FilePhase) -> bool {
    matches!(phase, FilePhase::Stat | FilePhase::Read)
}

/// The rates of a phase; none if no repetition was completed.
fn rates(phase: FilePhase, runs: &[&PhaseRun], is_counted: bool) -> Option<PhaseRates> {
    let estimate = |seconds: &dyn Fn(&PhaseRun) -> f64| {
        let each: Vec<f64> = runs.iter().map(|run| run.files as f64 / seconds(run)).collect();
        mean_estimate(Quantity::FilesPerSecond, &each)
    };
    let mut latency = Histogram::default();
    runs.iter().for_each(|run| latency.merge(&run.latency_histogram));
    let flushed = |run: &PhaseRun| run.elapsed_s + run.flush_s.unwrap_or_default();
    Some(PhaseRates {
        phase,
        files_per_s: estimate(&|run| run.elapsed_s)?,
        flushed_files_per_s: estimate(&flushed).filter(|_| runs.iter().all(|run| run.flush_s.is_some())),
        worker_files_per_s: spread(runs),
        latency_ns: Latency::of(&latency),
        answered_by: answerer(runs).filter(|_| is_counted && is_lookup(phase)),
    })
}

/// Of workers, each as the mean of its repetitions: the slowest, the mean, the fastest.
fn spread(runs: &[&PhaseRun]) -> Option<[f64; 3]> {
    let workers = runs.first()?.worker_files_per_s.len();
    let mean = |rates: Vec<f64>| rates.iter().sum::<f64>() / rates.len() as f64;
    let of = |worker: usize| mean(runs.iter().map(|run| run.worker_files_per_s[worker]).collect());
    let mut each: Vec<f64> = (0..workers).map(of).collect();
    each.sort_by(f64::total_cmp);
    (workers > 1).then(|| [each[0], mean(each.clone()), each[workers - 1]])
}

fn answerer(runs: &[&PhaseRun]) -> Option<Answerer> {
    let read: u64 = runs.iter().map(|run| run.storage_read_bytes).sum::<Option<u64>>()?;
    let files: u64 = runs.iter().map(|run| run.files).sum();
    let is_little = read < READ_PER_FILE_BYTES * files + READ_BESIDE_BYTES * runs.len() as u64;
    Some(if is_little { Answerer::Memory } else { Answerer::Storage })
}

#[cfg(test)]
mod tests {
    use super::*;
    use halfpower_model::Bytes;

    fn run(phase: FilePhase, elapsed_s: f64, read: Option<u64>) -> PhaseRun {
        let mut latency = Histogram::default();
        (0..1000).for_each(|_| latency.record(20_000));
        PhaseRun {
            phase,
            files: 1000,
            elapsed_s,
            flush_s: phase.changes().then_some(1.5),
            worker_files_per_s: vec![100.0, 300.0],
            latency_histogram: latency,
            errors: Default::default(),
            storage_read_bytes: read,
        }
    }

    fn concluded(cold: bool, runs: &[PhaseRun], is_counted: bool) -> FileRates {
        let options = FilesOptions {
            files: 1000,
            size: Bytes(4096),
            per_directory: 100,
            workers: 2,
            phases: FilePhase::ALL.to_vec(),
            fsync: false,
            cold,
            duration: None,
            repetitions: 2,
            seed: 1,
        };
        FileRates::new("/data".to_owned(), options, Vec::new(), runs.to_vec(), is_counted)
    }

    #[test]
    fn rates_are_means_of_repetitions_and_the_flush_counts_where_there_is_one() {
        let runs = [(FilePhase::Create, 0.5), (FilePhase::Stat, 0.1), (FilePhase::Create, 0.25)];
        let rates = concluded(false, &runs.map(|(phase, elapsed_s)| run(phase, elapsed_s, Some(0))), true);
        let [create, stat] = &rates.rates[..] else { panic!("{:?}", rates.rates) };
        assert_eq!((create.files_per_s.value, create.files_per_s.repetitions), (3000.0, 2));
        assert!(create.files_per_s.low.is_some() && stat.files_per_s.low.is_none());
        assert_eq!(create.flushed_files_per_s.map(|rate| rate.value.round()), Some(536.0));
        assert_eq!((stat.flushed_files_per_s, stat.files_per_s.value), (None, 10_000.0));
        assert_eq!(create.worker_files_per_s, Some([100.0, 200.0, 300.0]));
        assert_eq!(create.latency_ns.p99, Some(20_000));
        assert!(rates.warnings().is_empty() && !rates.has_errors());
        let text = serde_json::to_string(&rates).unwrap();
        assert!(text.contains("\"size_bytes\":4096,") && text.contains("\"duration_s\":null,"), "{text}");
        assert_eq!(serde_json::from_str::<FileRates>(&text).unwrap(), rates);
    }

    #[test]
    fn what_answered_is_known_where_reads_are_counted() {
        for (read, is_counted, expected) in [
            (Some(0), true, Some(Answerer::Memory)),
            (Some(100_000), true, Some(Answerer::Memory)),
            (Some(256_000), true, Some(Answerer::Storage)),
            (None, true, None),
            (Some(0), false, None),
        ] {
            let answered = |phase| concluded(false, &[run(phase, 1.0, read)], is_counted).rates[0].answered_by;
            assert_eq!(answered(FilePhase::Stat), expected, "{read:?}");
            assert_eq!(answered(FilePhase::Delete), None);
        }
    }

    #[test]
    fn errors_and_caches_that_stayed_are_warnings() {
        let mut read = run(FilePhase::Read, 1.0, Some(0));
        read.errors = [("ENOENT".to_owned(), 2), ("wrong_data".to_owned(), 1)].into();
        let warnings = concluded(true, &[read], true).warnings();
        let codes: Vec<&str> = warnings.iter().map(|warning| warning.code.as_str()).collect();
        assert_eq!(codes, ["file_errors", "not_cold"]);
        assert!(warnings[0].message.contains("(read: ENOENT of 2, read: wrong_data of 1)"), "{}", warnings[0].message);
    }
}
