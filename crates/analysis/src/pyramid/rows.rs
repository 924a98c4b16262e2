//! The levels on the path, each with its peak and its real performance.

use super::level::{Half, PyramidLevel, Stage, Standing};
use crate::cells::Cell;
use crate::evidence::{Evidence, highest};
use crate::findings::shared_limit::{Holding, Together};
use crate::statistics::mean_estimate;
use crate::wording::{caching, depth, reaches_storage, requests};
use halfpower_model::reading::{Kernel, MemorySpeed, StudyTest};
use halfpower_model::{
    BytesPerSecond, Channel, Environment, Estimate, Layout, Level, LevelName, Operation, Personality, Quantity,
    TargetFacts, Workload,
};
use std::collections::BTreeSet;

const UNADVERTISED: &str = "no advertised peak";

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

/// An advertised peak with its source, or why it is unknown.
type Peak = (Option<BytesPerSecond>, String);
/// Real performance with its source, or why it is unknown.
type Real = (Option<Estimate>, String);

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
        if !environment.target.kind.can_lose_data() {
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
    pub(super) fn rows(&self) -> Vec<PyramidLevel> {
        let levels = self.environment.levels();
        let memory = levels.iter().find(|level| level.name == LevelName::Memory);
        let pap = memory.and_then(|level| level.pap_bytes_per_s);
        let source = memory.map_or_else(|| "not recorded".to_owned(), |level| level.source.clone());
        let half = pap.map(|rate| BytesPerSecond(rate.0 / 2.0));
        let source_of_half = match half {
            Some(_) => "half the memory peak: a copy reads and writes",
            None => "the memory peak is unknown",
        };
        let kernels: &[Kernel] = match self.operation {
            Operation::Write => &[Kernel::Write, Kernel::WriteNonTemporal],
            _ => &[Kernel::Read],
        };
        let copying = [Kernel::Copy, Kernel::CopyNonTemporal, Kernel::Memcpy];
        let is_cached = !self.best.workload.buffering.is_direct() && !self.best.workload.personality.is_passthrough();
        let mut rows = vec![
            self.apart(Stage::Memory, (pap, source), self.measured(kernels), true),
            self.apart(Stage::MemoryCopy, (half, source_of_half.to_owned()), self.measured(&copying), is_cached),
            self.apart(Stage::FileCache, (None, UNADVERTISED.to_owned()), self.cache(), is_cached),
        ];
        rows.extend(self.software());
        let lower = levels.iter().filter_map(|level| Some((stage(level.name, self.operation)?, level)));
        rows.extend(lower.map(|(stage, level)| self.recorded(stage, level)));
        if self.environment.target.levels.is_empty() {
            // Records without levels may have a given peak.
            let pap_bytes_per_s = self.environment.target.pap_bytes_per_s;
            let source = if pap_bytes_per_s.is_some() { "given" } else { "not recorded" }.to_owned();
            let device = Level { name: LevelName::Device, pap_bytes_per_s, source, channels: vec![] };
            rows.push(self.recorded(Stage::Device, &device));
        }
        rows
    }

    /// A level that was measured by itself.
    fn apart(&self, stage: Stage, pap: Peak, rap: Real, is_passed: bool) -> PyramidLevel {
        let level = level(stage, Vec::new(), pap, rap, true);
        let known = [level.pap_bytes_per_s.map(|rate| rate.0), level.rap.map(|rap| rap.value)].into_iter().flatten();
        let capacity = known.filter(|rate| rate.is_finite() && *rate > 0.0).min_by(f64::total_cmp);
        let through = is_passed.then(|| self.best.mean_bytes_per_s());
        PyramidLevel { capacity, through, ..level }
    }

    /// The best of kernels of `halfpower memory`.
    fn measured(&self, kernels: &[Kernel]) -> Real {
        let Some(best) = self.memory.and_then(|memory| memory.best(kernels)) else {
            return (None, "not measured; run halfpower memory".to_owned());
        };
        let plural = if best.threads == 1 { "" } else { "s" };
        let words = format!("halfpower memory: {}, {} thread{plural}", best.kernel, best.threads);
        (Some(best.bytes_per_s.estimate(Quantity::BytesPerSecond)), words)
    }

    /// The page cache: samples, or else the study test of `halfpower memory`.
    fn cache(&self) -> Real {
        if let Some(cell) = self.cached {
            return (mean_rate(cell), described(cell));
        }
        let wanted = if self.operation == Operation::Write { StudyTest::FileWrite } else { StudyTest::FileRead };
        match self.memory.and_then(|memory| memory.studies.iter().find(|study| study.test == wanted)) {
            Some(study) => {
                let rate = study.bytes_per_s.estimate(Quantity::BytesPerSecond);
                (Some(rate), format!("halfpower memory: {}", study.test))
            }
            None => (None, "the page cache alone was not measured".to_owned()),
        }
    }

    /// File system and stacked devices, without an advertised peak.
    fn software(&self) -> impl Iterator<Item = PyramidLevel> {
        let stacked = |target: &TargetFacts| {
            let disks = target.levels.iter().find(|level| level.name == LevelName::Device)?;
            target.device.clone().filter(|device| disks.channels.iter().all(|disk| disk.at != *device))
        };
        let named = [
            (
                Stage::FileSystem,
                self.environment.all_targets().filter_map(|target| target.filesystem.clone()).collect(),
            ),
            (Stage::Stack, self.environment.all_targets().filter_map(stacked).collect::<BTreeSet<String>>()),
        ];
        named.into_iter().filter(|(_, at)| !at.is_empty()).map(|(stage, at)| {
            let rap = self.best_through(true);
            level(stage, at.into_iter().collect(), (None, UNADVERTISED.to_owned()), rap, self.targets() == 1)
        })
    }

    /// A recorded level between software and medium.
    fn recorded(&self, stage: Stage, found: &Level) -> PyramidLevel {
        let is_shared = self.is_shared(found.name);
        let (rap, mut rap_source) = self.best_through(is_shared);
        if self.environment.all_targets().any(|target| target.transport.as_deref() == Some("loop")) {
            rap_source += "; the file below a loop device may have been read from the page cache";
        }
        let copies = copies(self.best.workload);
        let pap = found.pap_bytes_per_s.map(|rate| BytesPerSecond(rate.0 / f64::from(copies)));
        let divided = format!(", divided by the {copies} copies of a mirror");
        let divided = if pap.is_some() && copies > 1 { divided } else { String::new() };
        // Channels without a limit are not part of it.
        let is_part = |channel: &&Channel| stage != Stage::Limit || channel.pap_bytes_per_s.is_some();
        let at = found.channels.iter().filter(is_part).map(|channel| channel.at.clone()).collect();
        let capacity = pap.map(|rate| rate.0);
        let level = level(stage, at, (pap, found.source.clone() + &divided), (rap, rap_source), is_shared);
        PyramidLevel { capacity, ..level }
    }

    /// Best throughput of a level: of all targets together, or the sum of each alone.
    fn best_through(&self, is_shared: bool) -> (Option<Estimate>, String) {
        let cell = if is_shared { self.best } else { self.best_of_all };
        match self.together.filter(|together| !is_shared && together.sum.value > cell.mean_bytes_per_s()) {
            Some(together) => (Some(together.sum), format!("{}, sum of each alone", of_requests(together.cell))),
            None => (mean_rate(cell), described(cell)),
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
}

/// Whether a workload shows the capacity of the path: one operation, no rate limit.
fn counts(workload: &Workload, operation: Operation) -> bool {
    workload.operation == operation && !workload.is_held_back() && workload.personality != Personality::Null
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

/// A level that only the requests show.
fn level(
    stage: Stage,
    at: Vec<String>,
    (pap, pap_source): Peak,
    (rap, rap_source): Real,
    is_shared: bool,
) -> PyramidLevel {
    // Zero or infinite peaks are unknown.
    let pap_bytes_per_s = pap.filter(|rate| rate.0.is_finite() && rate.0 > 0.0);
    PyramidLevel {
        level: stage,
        at,
        pap_bytes_per_s,
        pap_source,
        rap,
        rap_source,
        share: rap.zip(pap_bytes_per_s).map(|(rap, pap)| rap.value / pap.0),
        half: Half::of(rap, pap_bytes_per_s.map(|rate| rate.0)),
        standing: Standing::Open,
        capacity: None,
        through: rap.map(|rap| rap.value),
        is_shared,
    }
}

fn mean_rate(cell: &Cell<'_>) -> Option<Estimate> {
    mean_estimate(Quantity::BytesPerSecond, &cell.bytes_per_s)
}

/// `sequential 1 MiB reads, QD8, direct`.
fn of_requests(cell: &Cell<'_>) -> String {
    let workload = cell.workload;
    let (size, requests) = (workload.request_size, requests(workload.operation));
    format!("{} {size} {requests}, {}, {}", workload.pattern, depth(workload), caching(workload))
}

fn described(cell: &Cell<'_>) -> String {
    match cell.workload.targets {
        1 => of_requests(cell),
        targets => format!("{}, {targets} targets together", of_requests(cell)),
    }
}
