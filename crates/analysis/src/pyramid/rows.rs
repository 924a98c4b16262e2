//! The levels on the path, each with its peak and its real performance.

use super::level::{Half, PyramidLevel, Stage, Standing};
use crate::cells::Cell;
use crate::evidence::{Evidence, highest};
use crate::findings::shared_limit::{Holding, Together};
use crate::statistics::mean_estimate;
use crate::wording::{caching, depth, reaches_storage, requests};
use halfpower_model::reading::{Bandwidth, Kernel, MemorySpeed, StudyTest};
use halfpower_model::{
    BytesPerSecond, Channel, Environment, Estimate, Layout, Level, LevelName, Operation, Personality, Quantity,
    TargetFacts, TargetKind, Workload,
};

/// The requests of one kind and their path.
pub(super) struct IoPath<'a> {
    pub(super) operation: Operation,
    /// The cell with the highest throughput to the storage.
    pub(super) best: &'a Cell<'a>,
    /// The same of all targets together.
    best_of_all: &'a Cell<'a>,
    /// The highest throughput that ended in the page cache.
    cached: Option<&'a Cell<'a>>,
    /// Targets alone and together.
    pub(super) together: Option<&'a Together<'a>>,
    environment: &'a Environment,
    memory: Option<&'a MemorySpeed>,
}

/// A level with what the search for the bottleneck needs.
pub(super) struct Row {
    pub(super) level: PyramidLevel,
    /// Its capacity: peak or separate measurement, the smaller.
    pub(super) capacity: Option<f64>,
    /// Its throughput with the storage at its best; none if bypassed.
    pub(super) through: Option<f64>,
    /// Whether all targets share it.
    pub(super) is_shared: bool,
}

impl<'a> IoPath<'a> {
    /// None if no request of the kind reached a storage.
    pub(super) fn of(
        evidence: &Evidence<'a>,
        operation: Operation,
        together: &'a [Together<'a>],
        memory: Option<&'a MemorySpeed>,
    ) -> Option<IoPath<'a>> {
        let cells: Vec<&Cell<'_>> =
            evidence.cells.iter().copied().filter(|cell| counts(cell.workload, operation)).collect();
        let (storage, cached): (Vec<&Cell<'_>>, Vec<&Cell<'_>>) =
            cells.into_iter().partition(|cell| reaches_storage(cell.workload));
        let best = highest(&storage, Cell::mean_bytes_per_s)?;
        let most = storage.iter().map(|cell| cell.workload.targets).max()?;
        let of_all: Vec<&Cell<'_>> = storage.into_iter().filter(|cell| cell.workload.targets == most).collect();
        let best_of_all = highest(&of_all, Cell::mean_bytes_per_s)?;
        // Of targets measured one at a time only, the fastest is shown.
        let best = if most == 1 || copies(best.workload) != copies(best_of_all.workload) { best_of_all } else { best };
        let environment = &best_of_all.repetitions.first()?.sample.environment;
        if matches!(environment.target.kind, TargetKind::Null | TargetKind::Simulated) {
            return None;
        }
        let together = together.iter().filter(|together| {
            let workload = together.cell.workload;
            counts(workload, operation) && reaches_storage(workload) && workload.targets == most
        });
        let together = together.max_by(|one, other| one.total.value.total_cmp(&other.total.value));
        let cached = highest(&cached, Cell::mean_bytes_per_s);
        Some(IoPath { operation, best, best_of_all, cached, together, environment, memory })
    }

    pub(super) fn targets(&self) -> u32 {
        self.best_of_all.workload.targets
    }

    /// Store numbers of all samples used.
    pub(super) fn samples(&self) -> Vec<i64> {
        let cells = [Some(self.best), Some(self.best_of_all), self.cached].into_iter().flatten();
        let cells = cells.chain(self.together.iter().flat_map(|together| together.cells()));
        let mut samples: Vec<i64> = cells.flat_map(|cell| cell.samples()).collect();
        samples.sort_unstable();
        samples.dedup();
        samples
    }

    /// Highest throughput of all targets together.
    pub(super) fn most(&self) -> BytesPerSecond {
        BytesPerSecond(self.best_of_all.mean_bytes_per_s())
    }

    /// Whether the targets share a limit.
    pub(super) fn is_held(&self) -> bool {
        self.together.is_some_and(|together| together.holding() == Holding::Held)
    }

    /// Whether the load generator was the bottleneck of most of the best samples.
    pub(super) fn is_generator_bound(&self) -> bool {
        let repetitions = &self.best_of_all.repetitions;
        repetitions.iter().filter(|observed| observed.sample.generator_bound).count() * 2 > repetitions.len()
    }

    /// From memory to device.
    pub(super) fn rows(&self) -> Vec<Row> {
        let mut rows = vec![self.memory_row(), self.copy_row(), self.cache_row()];
        rows.extend(self.software_rows());
        let levels = self.environment.levels();
        let lower = levels.iter().filter_map(|level| Some((stage(level.name, self.operation)?, level)));
        rows.extend(lower.map(|(stage, level)| self.level_row(stage, level)));
        if self.environment.target.levels.is_empty() {
            rows.push(self.unrecorded_device());
        }
        rows
    }

    fn memory_row(&self) -> Row {
        let levels = self.environment.levels();
        let level = levels.iter().find(|level| level.name == LevelName::Memory);
        let kernels: &[Kernel] = match self.operation {
            Operation::Write => &[Kernel::Write, Kernel::WriteNonTemporal],
            _ => &[Kernel::Read],
        };
        let pap = level.and_then(|level| level.pap_bytes_per_s);
        let source = level.map_or_else(|| "not recorded".to_owned(), |level| level.source.clone());
        self.measured_apart(Stage::Memory, pap, source, kernels)
    }

    fn copy_row(&self) -> Row {
        let of_memory = self.memory_row().level.pap_bytes_per_s;
        let half = of_memory.map(|rate| BytesPerSecond(rate.0 / 2.0));
        let source = match half {
            Some(_) => "half the memory peak: a copy reads and writes",
            None => "the memory peak is unknown",
        };
        let kernels = [Kernel::Copy, Kernel::CopyNonTemporal, Kernel::Memcpy];
        let mut row = self.measured_apart(Stage::MemoryCopy, half, source.to_owned(), &kernels);
        row.through = row.through.filter(|_| self.is_through_the_cache());
        row
    }

    /// A level from `halfpower memory`, if measured.
    fn measured_apart(&self, stage: Stage, pap: Option<BytesPerSecond>, source: String, kernels: &[Kernel]) -> Row {
        let best = self.memory.and_then(|memory| memory.best(kernels));
        let words = |best: &Bandwidth| {
            let plural = if best.threads == 1 { "" } else { "s" };
            format!("halfpower memory: {}, {} thread{plural}", best.kernel, best.threads)
        };
        let rap = best.map(|best| best.bytes_per_s.estimate(Quantity::BytesPerSecond));
        let level = level(stage, Vec::new(), (pap, source), (rap, best.map_or_else(no_reading, words)));
        Row { capacity: least(pap, rap), through: Some(self.best.mean_bytes_per_s()), is_shared: true, level }
    }

    /// The page cache: samples, or else the study test of `halfpower memory`.
    fn cache_row(&self) -> Row {
        let wanted = if self.operation == Operation::Write { StudyTest::FileWrite } else { StudyTest::FileRead };
        let study = || self.memory?.studies.iter().find(|study| study.test == wanted);
        let (rap, source) = match (self.cached, study()) {
            (Some(cell), _) => (mean_rate(cell.bytes_per_s()), described(cell)),
            (None, Some(study)) => (
                Some(study.bytes_per_s.estimate(Quantity::BytesPerSecond)),
                format!("halfpower memory: {}", study.test),
            ),
            (None, None) => (None, "the page cache alone was not measured".to_owned()),
        };
        let nobody = (None, "no advertised peak".to_owned());
        let level = level(Stage::FileCache, Vec::new(), nobody, (rap, source));
        let through = self.is_through_the_cache().then(|| self.best.mean_bytes_per_s());
        Row { level, capacity: least(None, rap), through, is_shared: true }
    }

    /// File system and stacked devices, without an advertised peak.
    fn software_rows(&self) -> Vec<Row> {
        let different = |named: &dyn Fn(&TargetFacts) -> Option<String>| {
            let mut names: Vec<String> = self.environment.all_targets().filter_map(named).collect();
            names.sort_unstable();
            names.dedup();
            names
        };
        let filesystems = different(&|target| target.filesystem.clone());
        let stacked = different(&|target| {
            let disks = target.levels.iter().find(|level| level.name == LevelName::Device)?;
            target.device.clone().filter(|device| disks.channels.iter().all(|disk| disk.at != *device))
        });
        let row = |stage: Stage, at: Vec<String>| {
            let (rap, source) = self.best_through(true);
            let is_shared = self.targets() == 1;
            let through = rap.map(|rap| rap.value);
            let nobody = (None, "no advertised peak".to_owned());
            Row { level: level(stage, at, nobody, (rap, source)), capacity: None, through, is_shared }
        };
        let named = [(Stage::FileSystem, filesystems), (Stage::Stack, stacked)];
        named.into_iter().filter(|(_, at)| !at.is_empty()).map(|(stage, at)| row(stage, at)).collect()
    }

    /// A recorded level between software and medium.
    fn level_row(&self, stage: Stage, found: &Level) -> Row {
        let is_shared = self.is_shared(found.name);
        let (rap, mut rap_source) = self.best_through(is_shared);
        if self.environment.all_targets().any(|target| target.transport.as_deref() == Some("loop")) {
            rap_source += "; the file below a loop device may have been read from the page cache";
        }
        let copies = copies(self.best.workload);
        let pap = found.pap_bytes_per_s.map(|rate| BytesPerSecond(rate.0 / f64::from(copies)));
        let source = match (pap, copies) {
            (Some(_), 2..) => format!("{}, divided by the {copies} copies of a mirror", found.source),
            _ => found.source.clone(),
        };
        // Channels without a limit are not part of it.
        let is_part = |channel: &&Channel| stage != Stage::Limit || channel.pap_bytes_per_s.is_some();
        let at = found.channels.iter().filter(is_part).map(|channel| channel.at.clone()).collect();
        let through = rap.map(|rap| rap.value);
        let capacity = pap.map(|rate| rate.0);
        Row { level: level(stage, at, (pap, source), (rap, rap_source)), capacity, through, is_shared }
    }

    /// Records without levels may have a given peak.
    fn unrecorded_device(&self) -> Row {
        let pap = self.environment.target.pap_bytes_per_s;
        let source = if pap.is_some() { "given" } else { "not recorded" };
        let found =
            Level { name: LevelName::Device, pap_bytes_per_s: pap, source: source.to_owned(), channels: vec![] };
        self.level_row(Stage::Device, &found)
    }

    /// Best throughput of a level: of all targets together, or the sum of each alone.
    fn best_through(&self, is_shared: bool) -> (Option<Estimate>, String) {
        let cell = if is_shared { self.best } else { self.best_of_all };
        match self.together.filter(|together| !is_shared && together.sum.value > cell.mean_bytes_per_s()) {
            Some(together) => (Some(together.sum), format!("{}, sum of each alone", of_requests(together.cell))),
            None => (mean_rate(cell.bytes_per_s()), described(cell)),
        }
    }

    /// Whether all targets share the outermost channel of a level.
    fn is_shared(&self, name: LevelName) -> bool {
        let of = |target: &'a TargetFacts| target.levels.iter().find(|level| level.name == name);
        let outermost = |level: &'a Level| level.channels.iter().filter(|channel| channel.through.is_none());
        let Some(first) = of(&self.environment.target) else { return self.targets() == 1 };
        outermost(first).any(|channel| {
            let mut others = self.environment.more_targets.iter();
            others.all(|other| of(other).is_some_and(|level| outermost(level).any(|same| same.at == channel.at)))
        })
    }

    /// Whether the best requests used the page cache.
    fn is_through_the_cache(&self) -> bool {
        let workload = self.best.workload;
        !workload.buffering.is_direct() && !workload.personality.is_passthrough()
    }
}

/// Whether a workload shows the capacity of the path: one operation, no rate limit.
fn counts(workload: &Workload, operation: Operation) -> bool {
    workload.operation == operation && workload.rate.is_none() && workload.personality != Personality::Null
}

/// Copies of each byte written.
fn copies(workload: &Workload) -> u32 {
    match workload.layout {
        Layout::Mirror { .. } if workload.operation == Operation::Write => workload.targets,
        _ => 1,
    }
}

fn stage(name: LevelName, operation: Operation) -> Option<Stage> {
    match (name, operation) {
        (LevelName::Memory, _) => None,
        (LevelName::ReadLimit, Operation::Write) | (LevelName::WriteLimit, Operation::Read) => None,
        (LevelName::ReadLimit | LevelName::WriteLimit, _) => Some(Stage::Limit),
        (LevelName::Bus, _) => Some(Stage::Bus),
        (LevelName::Link, _) => Some(Stage::Link),
        (LevelName::Device, _) => Some(Stage::Device),
    }
}

fn level(
    stage: Stage,
    at: Vec<String>,
    (pap, pap_source): (Option<BytesPerSecond>, String),
    (rap, rap_source): (Option<Estimate>, String),
) -> PyramidLevel {
    // Zero or infinite peaks are unknown.
    let pap = pap.filter(|rate| rate.0.is_finite() && rate.0 > 0.0);
    PyramidLevel {
        level: stage,
        at,
        pap_bytes_per_s: pap,
        pap_source,
        rap,
        rap_source,
        share: rap.zip(pap).map(|(rap, pap)| rap.value / pap.0),
        half: Half::of(rap, pap.map(|rate| rate.0)),
        standing: Standing::Open,
    }
}

fn least(pap: Option<BytesPerSecond>, rap: Option<Estimate>) -> Option<f64> {
    let known = [pap.map(|rate| rate.0), rap.map(|rap| rap.value)].into_iter().flatten();
    known.filter(|rate| rate.is_finite() && *rate > 0.0).min_by(f64::total_cmp)
}

/// Mean throughput of some repetitions.
fn mean_rate(rates: &[f64]) -> Option<Estimate> {
    mean_estimate(Quantity::BytesPerSecond, rates)
}

fn no_reading() -> String {
    "not measured; run halfpower memory".to_owned()
}

/// `sequential 1 MiB reads, QD8, direct`.
fn of_requests(cell: &Cell<'_>) -> String {
    let workload = cell.workload;
    let requests = requests(workload.operation);
    let (size, depth) = (workload.request_size, depth(workload));
    format!("{} {size} {requests}, {depth}, {}", workload.pattern, caching(workload))
}

fn described(cell: &Cell<'_>) -> String {
    match cell.workload.targets {
        1 => of_requests(cell),
        targets => format!("{}, {targets} targets together", of_requests(cell)),
    }
}
