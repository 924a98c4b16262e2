//! From study to plan: every cell is resolved on the testbed, or left out with the reason.

use super::model::{Cell, DEFAULT_WRITE_BUDGET, FigurePlan, Plan, PlanError, Probe, SCHEMA, Skipped, TestFileEnd};
use super::{budget, limited};
use crate::study::{Study, Sweep, VOLUME};
use crate::text::UsageError;
use halfpower_model::random::derive_seed;
use halfpower_model::{
    Among, Bytes, CachePolicy, Environment, Nanoseconds, Offer, Operation, Pattern, Settings, TargetKind, Testbed,
    Workload, WorkloadSpec,
};
use halfpower_sim::Simulated;
use std::collections::{HashMap, HashSet};

/// Settings besides the study, from the command line.
#[derive(Clone, Debug, Default)]
pub(crate) struct Overrides {
    /// Overrides every cell.
    pub workload: WorkloadSpec,
    /// Overrides the study's seed.
    pub seed: Option<u64>,
    /// Overrides the study's budget.
    pub write_budget: Option<Bytes>,
    /// Why cells that write are left out: `--no-writes`, or a read-only target; none if they are not.
    pub no_writes: Option<String>,
    /// Why cells with a cold page cache are left out; none if they are not.
    pub no_cold_cache: Option<String>,
    /// Size of all test files of the run; it counts against the write budget.
    pub test_file: Option<Bytes>,
    /// Size of each test file, if there are several targets.
    pub each_file: Option<Bytes>,
    /// What happens to them after the run.
    pub test_file_end: TestFileEnd,
    /// The targets as absolute names.
    pub targets: Vec<String>,
    /// Number of test files in each directory; none if not given.
    pub files: Option<u32>,
    /// Price and capacity of the targets; none if not given.
    pub offer: Option<Offer>,
    /// The simulated machines by settings: those of each cell, and only their volume; empty on a host.
    pub machines: HashMap<Settings, Simulated>,
}

impl Overrides {
    /// The fewest settings with the same machine: only the volume, or all.
    fn least(&self, set: &Settings) -> Settings {
        let volume = set.only(VOLUME);
        let machines = self.machines.get(set).zip(self.machines.get(&volume));
        if machines.is_some_and(|(one, other)| one.is_same(other)) { volume } else { set.clone() }
    }

    /// Why a workload is left out, if it is.
    fn forbids(&self, workload: &Workload) -> Option<&String> {
        let writes = self.no_writes.as_ref().filter(|_| workload.operation.destroys());
        let cold = workload.cache == CachePolicy::Cold && !workload.buffering.is_direct();
        writes.or(self.no_cold_cache.as_ref().filter(|_| cold))
    }
}

impl Plan {
    /// The plan of a study on the testbed that `environment` describes.
    ///
    /// # Errors
    /// If no cell can be measured there, or the write budget is too small.
    pub(crate) fn make(study: &Study, overrides: &Overrides, environment: &Environment) -> Result<Plan, PlanError> {
        let seed = overrides.seed.unwrap_or(study.trial.seed);
        let resolved = resolve(study, overrides, environment);
        if resolved.workloads.is_empty() {
            // One reason is enough; the others usually differ only in a number.
            let commonest = resolved.skipped.into_iter().max_by_key(|skipped| skipped.cells);
            let reason = commonest.map_or_else(|| "it has no workloads".to_owned(), |skipped| skipped.reason);
            let (study, target) = (&study.name, named(environment));
            let message = format!("nothing of the study {study} can be measured on {target}: {reason}");
            return Err(PlanError::NothingLeft(message));
        }
        let refill_bytes = refill_bytes(&resolved.workloads, environment);
        let target = match resolved.volumes[..] {
            [] => named(environment),
            _ => listed(&resolved.volumes),
        };
        let drawn_as = resolved.drawn_as.into_iter();
        let cells =
            resolved.workloads.into_iter().zip(drawn_as).enumerate().map(|(index, ((label, workload), like))| {
                let workload = Workload { seed: derive_seed(seed, like as u64), ..workload };
                Cell { index, label, workload }
            });
        let mut plan = Plan {
            schema: SCHEMA.to_owned(),
            study: study.name.clone(),
            question: study.question.clone(),
            target,
            targets: overrides.targets.clone(),
            files: overrides.files,
            offer: overrides.offer,
            expected: None,
            refill_bytes,
            test_file_bytes: overrides.test_file,
            file_bytes: overrides.each_file,
            test_file_end: overrides.test_file_end,
            seed,
            order: study.trial.order,
            repetitions: study.trial.repetitions,
            as_needed: study.trial.as_needed,
            time_limit: study.trial.time_limit,
            write_budget: overrides.write_budget.or(study.trial.write_budget).unwrap_or(DEFAULT_WRITE_BUDGET),
            cells: cells.collect(),
            arms: None,
            probe: None,
            figures: resolved.figures,
            lengthened: None,
            skipped: resolved.skipped,
            repeats: Vec::new(),
        };
        if let Some(least) = study.trial.limited_duration {
            limited::lengthen(&mut plan, least, environment);
        }
        bound_cold_reads(&mut plan.cells);
        plan.probe = study.trial.probe.map(|[reads, writes]| {
            let is_virtual = environment.target.kind.is_time_virtual();
            // Simulated time costs nothing.
            let durations = if is_virtual { [reads.max(Probe::LONG); 2] } else { [reads, writes] };
            let write_bytes = Bytes(plan.write_budget.0 / WRITE_PROBE);
            Probe { durations, cells: probed(&plan.cells), write_bytes }
        });
        if !environment.target.kind.is_time_virtual() {
            // Simulated devices do not wear, and a short write would measure a cache that is filling.
            budget::bound_writes(&mut plan)?;
        } else {
            let limited = |workload: &&mut Workload| workload.operation.writes() && workload.limits.bytes.is_some();
            // The flush would include what the warm-up left in a cache.
            let cells = plan.cells.iter_mut().map(|cell| &mut cell.workload).filter(limited);
            cells.for_each(|workload| workload.warmup = Nanoseconds(0));
        }
        Ok(plan)
    }
}

/// The name of each target, once.
fn named(environment: &Environment) -> String {
    let mut names: Vec<&str> = environment.all_targets().map(|target| target.path.as_str()).collect();
    names.dedup();
    names.join(", ")
}

/// Up to three names, or the number of the others.
fn listed(names: &[String]) -> String {
    match names {
        [first, second, third, others @ ..] if others.len() > 1 => {
            format!("{first}, {second}, {third} and {} others", others.len())
        }
        _ => names.join(", "),
    }
}

/// Bytes to fill all files again if a workload leaves holes in them, because the next one may read data.
fn refill_bytes(workloads: &[(String, Workload)], environment: &Environment) -> Bytes {
    let changes = workloads.iter().any(|(_, workload)| workload.leaves_holes());
    let files = environment.all_targets().filter(|target| target.kind == TargetKind::File);
    let sizes = files.map(|target| target.size_bytes.0);
    if changes { Bytes(sizes.sum()) } else { Bytes(0) }
}

/// The resolved sweeps of a study.
#[derive(Default)]
struct Resolved {
    /// The resolved workloads with their sweeps.
    workloads: Vec<(String, Workload)>,
    /// For each workload the first that differs only in machine settings: both have the same seed, because another
    /// start on the disk would add a difference that is not of the setting.
    drawn_as: Vec<usize>,
    first_drawn: HashMap<WorkloadSpec, usize>,
    /// Cells left out, with the reason.
    skipped: Vec<Skipped>,
    /// The figures of the workloads.
    figures: Vec<FigurePlan>,
    /// The simulated volumes of the workloads, each once.
    volumes: Vec<String>,
    first_of: HashMap<Workload, usize>,
    /// The fewest settings that make the same machine.
    alike: HashMap<Settings, Settings>,
    /// Specs of figures that were left out; several figures may share one.
    left_out: HashSet<WorkloadSpec>,
}

fn resolve(study: &Study, overrides: &Overrides, environment: &Environment) -> Resolved {
    let mut resolved = Resolved::default();
    for sweep in &study.sweeps {
        for spec in &sweep.cells {
            let spec = overrides.workload.clone().or(spec);
            let set = spec.set.clone().unwrap_or_default();
            // Settings may change the size of the volume.
            let machine = overrides.machines.get(&set);
            let alike = resolved.alike.entry(set.clone()).or_insert_with(|| overrides.least(&set)).clone();
            let environment = machine.map_or(environment, Testbed::describe);
            for spec in one_by_one(&spec, environment) {
                let workload = spec.resolve(environment).map_err(|error| UsageError::from(error).0);
                let outcome = workload.and_then(|workload| match overrides.forbids(&workload) {
                    Some(reason) => Err(reason.clone()),
                    None => match machine.map(|machine| machine.refuse(&workload)) {
                        Some(Err(error)) => Err(error.to_string()),
                        _ => Ok(workload),
                    },
                });
                resolved.take(sweep, &spec, outcome, &alike);
            }
            let volume = overrides.machines.get(&set.only(VOLUME)).map(|machine| named(machine.describe()));
            resolved.volumes.extend(volume.filter(|volume| !resolved.volumes.contains(volume)));
        }
    }
    resolved
}

impl Resolved {
    /// Adds a workload, or the reason why it is left out. If settings have no effect, such as a disk's cache on a
    /// target without one, a figure uses the workload without them; a sweep over them has a point for each.
    fn take(&mut self, sweep: &Sweep, spec: &WorkloadSpec, outcome: Result<Workload, String>, alike: &Settings) {
        let label = &sweep.name;
        let known_as = |workload: &Workload| match sweep.exhibit {
            Some(_) => Workload { set: alike.clone(), ..workload.clone() },
            None => workload.clone(),
        };
        let place = match outcome {
            Ok(workload) => match self.first_of.get(&known_as(&workload)) {
                None => {
                    let place = self.workloads.len();
                    self.first_of.insert(known_as(&workload), place);
                    self.workloads.push((label.clone(), workload));
                    let unset = WorkloadSpec { set: None, ..spec.clone() };
                    self.drawn_as.push(*self.first_drawn.entry(unset).or_insert(place));
                    place
                }
                // The first of two targets is the first target alone, and figures share workloads.
                Some(first) if spec.among.is_some() || sweep.exhibit.is_some() => *first,
                Some(first) => {
                    let reason = format!("here it is the same as workload {first}");
                    return leave_out(&mut self.skipped, label, reason);
                }
            },
            Err(_) if sweep.exhibit.is_some() && !self.left_out.insert(spec.clone()) => return,
            Err(reason) => return leave_out(&mut self.skipped, label, reason),
        };
        let Some(exhibit) = &sweep.exhibit else { return };
        match self.figures.last_mut().filter(|figure| figure.exhibit == *exhibit) {
            Some(figure) if figure.cells.contains(&place) => {}
            Some(figure) => figure.cells.push(place),
            None => self.figures.push(FigurePlan { exhibit: exhibit.clone(), cells: vec![place] }),
        }
    }
}

/// The specs of each target, or group of targets, for which a spec stands.
fn one_by_one(spec: &WorkloadSpec, environment: &Environment) -> Vec<WorkloadSpec> {
    match spec.among {
        None => vec![spec.clone()],
        Some(among) => {
            let each = among.expand(environment.targets()).into_iter();
            each.map(|among| WorkloadSpec { among: Some(among), ..spec.clone() }).collect()
        }
    }
}

fn leave_out(skipped: &mut Vec<Skipped>, label: &str, reason: String) {
    match skipped.iter_mut().rev().find(|skipped| skipped.label == label && skipped.reason == reason) {
        Some(same) => same.cells += 1,
        None => skipped.push(Skipped { label: label.to_owned(), reason, cells: 1 }),
    }
}

/// A write probe gets this part of the write budget.
const WRITE_PROBE: u64 = 8;

/// The cells whose first repetition is long, of reads, of writes and of mixes. The most small random requests outstanding reach a
/// limit in requests, the most large sequential ones a limit in bytes. Of several targets the first is also read alone: a limit
/// that all have together may be their sum.
fn probed(cells: &[Cell]) -> Vec<usize> {
    let of = |is_of: fn(Operation) -> bool, pattern: Pattern, is_alone: bool| {
        let counts = |cell: &&Cell| {
            let workload = &cell.workload;
            let is_direct = workload.buffering.is_direct() && workload.limits.requests.is_none();
            is_of(workload.operation)
                && workload.pattern == pattern
                && is_direct
                && (!is_alone || workload.among == Among::Only(1))
        };
        let load = |cell: &&Cell| {
            let workload = &cell.workload;
            let size = workload.request_size.0 as i64;
            let size = if pattern == Pattern::Random { -size } else { size };
            (workload.targets, u64::from(workload.depth) * u64::from(workload.workers), size)
        };
        cells.iter().filter(counts).max_by_key(load).map(|cell| cell.index)
    };
    let of_both = |is_of, is_alone| [Pattern::Random, Pattern::Sequential].map(|pattern| of(is_of, pattern, is_alone));
    let kinds = [
        of_both(|operation| operation == Operation::Read, false),
        of_both(|operation| operation == Operation::Read, true),
        of_both(|operation| operation == Operation::Write, false),
        of_both(|operation| matches!(operation, Operation::Mix(_)), false),
    ];
    kinds.into_iter().flatten().flatten().collect()
}

/// Limits a sequential read of a cold cache to one pass, without a warm-up, whose reads would not be counted.
fn bound_cold_reads(cells: &mut [Cell]) {
    for workload in cells.iter_mut().map(|cell| &mut cell.workload).filter(|w| w.reads_a_cold_cache_in_order()) {
        let once = workload.once_over();
        workload.warmup = Nanoseconds(0);
        workload.limits.bytes = Some(workload.limits.bytes.map_or(once, |limit| limit.min(once)));
    }
}
