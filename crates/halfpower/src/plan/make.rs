//! From study to plan: every cell resolved against the testbed, or left out with the reason.

use super::model::{Cell, DEFAULT_WRITE_BUDGET, FigurePlan, Plan, PlanError, SCHEMA, Skipped, TestFileEnd};
use super::{budget, limited};
use crate::study::{Study, Sweep, VOLUME};
use crate::text::UsageError;
use halfpower_model::random::derive_seed;
use halfpower_model::{
    Bytes, CachePolicy, Environment, Nanoseconds, Offer, Settings, TargetKind, Testbed, Workload, WorkloadSpec,
};
use halfpower_sim::Simulated;
use std::collections::{HashMap, HashSet};

/// What was said beside the study, on the command line say.
#[derive(Clone, Debug, Default)]
pub(crate) struct Overrides {
    /// Laid over every cell.
    pub workload: WorkloadSpec,
    /// In place of the study's.
    pub seed: Option<u64>,
    /// In place of the study's.
    pub write_budget: Option<Bytes>,
    /// Why cells that write are left out: `--no-writes`, or a target that must not be written; none: they are not.
    pub no_writes: Option<String>,
    /// Why cells that want a cold file cache are left out; none: they are not.
    pub no_cold_cache: Option<String>,
    /// Size of the test files that are made for the run, together; it counts against the write budget.
    pub test_file: Option<Bytes>,
    /// Size of each, where there are several targets.
    pub each_file: Option<Bytes>,
    /// What becomes of that file.
    pub test_file_end: TestFileEnd,
    /// What was named, absolute.
    pub targets: Vec<String>,
    /// How many test files in each directory; none where nobody said.
    pub files: Option<u32>,
    /// What the targets cost; none where nobody said.
    pub offer: Option<Offer>,
    /// What a simulated machine is with the settings of each cell, and with the volume alone that they name; empty on a host.
    pub machines: HashMap<Settings, Simulated>,
}

impl Overrides {
    /// The fewest of these settings that make the same machine: the volume alone, or all.
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
    /// When no cell can be measured there, or the write budget is too small.
    pub(crate) fn make(study: &Study, overrides: &Overrides, environment: &Environment) -> Result<Plan, PlanError> {
        let seed = overrides.seed.unwrap_or(study.trial.seed);
        let resolved = resolve(study, overrides, environment);
        if resolved.workloads.is_empty() {
            // One reason is enough to act on; the others are mostly the same with another number.
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
            refill_bytes,
            test_file_bytes: overrides.test_file,
            file_bytes: overrides.each_file,
            test_file_end: overrides.test_file_end,
            seed,
            order: study.trial.order,
            repetitions: study.trial.repetitions,
            time_limit: study.trial.time_limit,
            write_budget: overrides.write_budget.or(study.trial.write_budget).unwrap_or(DEFAULT_WRITE_BUDGET),
            cells: cells.collect(),
            figures: resolved.figures,
            lengthened: None,
            skipped: resolved.skipped,
        };
        if let Some(least) = study.trial.limited_duration {
            limited::lengthen(&mut plan, least, environment);
        }
        bound_cold_reads(&mut plan.cells);
        if !environment.target.kind.is_time_virtual() {
            // What is simulated does not wear, and a write that ends early would show a cache that is filling.
            budget::bound_writes(&mut plan)?;
        } else {
            let limited = |workload: &&mut Workload| workload.operation.writes() && workload.limits.bytes.is_some();
            // What a warm-up leaves in a cache would be flushed with what is measured.
            let cells = plan.cells.iter_mut().map(|cell| &mut cell.workload).filter(limited);
            cells.for_each(|workload| workload.warmup = Nanoseconds(0));
        }
        Ok(plan)
    }
}

/// Every target once, by name.
fn named(environment: &Environment) -> String {
    let mut names: Vec<&str> = environment.all_targets().map(|target| target.path.as_str()).collect();
    names.dedup();
    names.join(", ")
}

/// Names that a line has room for, or how many there are.
fn listed(names: &[String]) -> String {
    match names {
        [first, second, third, others @ ..] if others.len() > 1 => {
            format!("{first}, {second}, {third} and {} others", others.len())
        }
        _ => names.join(", "),
    }
}

/// What filling every file again takes, where a workload leaves holes in them; the next one may want data.
fn refill_bytes(workloads: &[(String, Workload)], environment: &Environment) -> Bytes {
    let changes = workloads.iter().any(|(_, workload)| workload.leaves_holes());
    let files = environment.all_targets().filter(|target| target.kind == TargetKind::File);
    let sizes = files.map(|target| target.size_bytes.0);
    if changes { Bytes(sizes.sum()) } else { Bytes(0) }
}

/// What a study's sweeps come to.
#[derive(Default)]
struct Resolved {
    /// What can be run, with its sweep.
    workloads: Vec<(String, Workload)>,
    /// For each of those the first that differs from it in what is set of the machine alone: both draw the same, since a stream
    /// that begins in another zone of a disk tells nothing of the setting.
    drawn_as: Vec<usize>,
    first_drawn: HashMap<WorkloadSpec, usize>,
    /// What cannot, with the reason.
    skipped: Vec<Skipped>,
    /// The figures that the workloads are of.
    figures: Vec<FigurePlan>,
    /// The volumes of a simulated machine that these go to, each once.
    volumes: Vec<String>,
    first_of: HashMap<Workload, usize>,
    /// To settings those that a machine is the same with.
    alike: HashMap<Settings, Settings>,
    /// What of figures was left out: several may have the same.
    left_out: HashSet<WorkloadSpec>,
}

fn resolve(study: &Study, overrides: &Overrides, environment: &Environment) -> Resolved {
    let mut resolved = Resolved::default();
    for sweep in &study.sweeps {
        for spec in &sweep.cells {
            let spec = overrides.workload.clone().or(spec);
            let set = spec.set.clone().unwrap_or_default();
            // What is set may change what there is room for.
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
    /// A workload, or why it is left out. Where settings change nothing, as of a disk's cache on a target without one, a figure's
    /// workload with them is the one without; whoever sweeps over them has a point for each.
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
                // The first of two targets is the first target alone, and figures share workloads: nobody asked for it twice.
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

/// A spec for each of the targets, or groups of targets, that it stands for here.
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

/// A sequential read of a cold cache ends where it began. It has no warm-up, whose reads would not be counted.
fn bound_cold_reads(cells: &mut [Cell]) {
    for workload in cells.iter_mut().map(|cell| &mut cell.workload).filter(|w| w.reads_a_cold_cache_in_order()) {
        let once = workload.once_over();
        workload.warmup = Nanoseconds(0);
        workload.limits.bytes = Some(workload.limits.bytes.map_or(once, |said| said.min(once)));
    }
}
