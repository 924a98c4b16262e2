//! A study as it was written: its question, target, trials and sweeps.

use crate::text::once;
use halfpower_model::{Among, Bytes, GivenPeak, Nanoseconds, Offer, Plugin, Settings, WorkloadSpec};
use serde::{Deserialize, Serialize};

/// A study as it was written.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Study {
    /// One word for it.
    pub name: String,
    /// What it is to find out.
    pub question: Option<String>,
    /// What it goes to where nobody names a target; none: here.
    pub path: Option<String>,
    /// Size of the test file to make where the target is a directory; none: whoever makes it chooses.
    pub test_file: Option<Bytes>,
    /// What levels below the target advertise, where the kernel does not tell.
    pub peaks: Vec<GivenPeak>,
    /// What the targets cost.
    pub offer: Option<Offer>,
    /// How each cell is measured.
    pub trial: Trial,
    /// The sweeps, in the order of the file; never empty.
    pub sweeps: Vec<Sweep>,
    /// The text it was read from, what it includes before it.
    pub text: String,
}

/// A figure or table of a paper that a sweep is a part of.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) struct Exhibit {
    /// What the paper calls it: `Figure 16`.
    pub label: String,
    /// What it is to find out.
    pub question: Option<String>,
    /// What it shows of its workloads.
    #[serde(default)]
    pub shows: Shows,
}

/// What a figure shows of its workloads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Shows {
    /// Bytes a second of those in order, requests a second of others.
    #[default]
    Throughput,
    /// What they cost the CPU.
    Cpu,
    /// How long a request takes.
    Latency,
    /// How busy the parts of a machine are.
    Parts,
}

/// How each cell is measured. Warm-up and duration are in the workloads.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Trial {
    /// How often.
    pub repetitions: Repetitions,
    /// What a trial lasts at least whose target a control group is known to hold back; none: no longer than any other.
    pub limited_duration: Option<Nanoseconds>,
    /// No repetition beyond the least is started after this time, counted from the first trial of this start of the run.
    pub time_limit: Option<Nanoseconds>,
    /// Bytes that all trials may write, the test file included.
    pub write_budget: Option<Bytes>,
    /// In which order.
    pub order: Order,
    /// Draws the order and the requests.
    pub seed: u64,
}

/// How often a cell is measured.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Repetitions {
    /// At least.
    pub min: u32,
    /// At most.
    pub max: u32,
    /// A cell stops, once it has the least, at this half-width of the 95 % interval relative to the mean; none: every
    /// cell gets the most.
    pub precision: Option<f64>,
}

/// The order of the trials.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Order {
    /// Randomised complete blocks: every cell once, in an order of its own, then every cell again.
    Blocks,
    /// Every cell once in the order of the file, then every cell again.
    Listed,
}

/// One sweep: a name and the workloads it crosses to.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Sweep {
    /// Its name, or `sweep 3`.
    pub name: String,
    /// The figure that it is a part of; none where its file is none.
    pub exhibit: Option<Exhibit>,
    /// Its cells; never empty.
    pub cells: Vec<WorkloadSpec>,
}

/// What stands for the volumes of a simulated machine that a study names.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum StandIns {
    /// One target of this host for all.
    OneOfHost,
    /// One of this host for each.
    EachOfHost,
    /// One simulated volume for all: what else is set stays.
    OneSimulated,
    /// One for each, with what is set of it.
    EachSimulated(Vec<Settings>),
}

/// The setting that names another volume of a simulated machine.
pub(crate) const VOLUME: &str = "volume";

/// What a trial of a simulated machine's study lasts at most on this host, behind its warm-up.
const LONGEST_ON_HOST: Nanoseconds = Nanoseconds(10_000_000_000);
/// The longest warm-up there.
const LONGEST_WARMUP_ON_HOST: Nanoseconds = Nanoseconds(5_000_000_000);

/// Each volume once, in their order; none is the one that the target names.
pub(crate) fn volumes_in<'a>(volumes: impl Iterator<Item = Option<&'a str>>) -> Vec<Option<String>> {
    once(volumes).into_iter().map(|volume| volume.map(str::to_owned)).collect()
}

impl Study {
    /// The same with the sweeps of another, and with the time that they may take.
    #[must_use]
    pub(crate) fn and(mut self, other: Study) -> Study {
        self.sweeps.extend(other.sweeps);
        let limits = self.trial.time_limit.zip(other.trial.time_limit);
        self.trial.time_limit = limits.map(|(own, more)| Nanoseconds(own.0 + more.0));
        self
    }

    /// The same with twice as many repetitions, and the time that they may take.
    #[must_use]
    pub(crate) fn twice(mut self) -> Study {
        let repetitions = &mut self.trial.repetitions;
        (repetitions.min, repetitions.max) = (repetitions.min.saturating_mul(2), repetitions.max.saturating_mul(2));
        self.trial.time_limit = self.trial.time_limit.map(|limit| Nanoseconds(limit.0.saturating_mul(2)));
        self
    }

    /// The volumes of a simulated machine that its workloads name, in the order of the file.
    pub(crate) fn volumes(&self) -> Vec<String> {
        self.volumes_or_target().into_iter().flatten().collect()
    }

    /// What its workloads set of a simulated machine, each once.
    pub(crate) fn settings(&self) -> Vec<Settings> {
        let cells = self.sweeps.iter().flat_map(|sweep| &sweep.cells);
        let mut seen = std::collections::HashSet::new();
        cells.map(|cell| cell.set.clone().unwrap_or_default()).filter(|set| seen.insert(set.clone())).collect()
    }

    /// The volumes that its workloads name, and none for the one that the target names, where a workload goes to that.
    pub(crate) fn volumes_or_target(&self) -> Vec<Option<String>> {
        let cells = self.sweeps.iter().flat_map(|sweep| &sweep.cells);
        volumes_in(cells.map(|cell| cell.set.as_ref()?.without(VOLUME).0))
    }

    /// The same on targets that are not its simulated machine's: one in place of all the volumes that its workloads name, or
    /// one for each in their order.
    #[must_use]
    pub(crate) fn moved(mut self, stand_ins: &StandIns) -> Study {
        let volumes = self.volumes();
        let is_host = matches!(stand_ins, StandIns::OneOfHost | StandIns::EachOfHost);
        let mut seen = std::collections::HashSet::new();
        for sweep in &mut self.sweeps {
            for cell in &mut sweep.cells {
                let set = cell.set.take().unwrap_or_default();
                let (volume, others) = set.without(VOLUME);
                let number = volume.and_then(|volume| volumes.iter().position(|known| known == volume));
                let set = match (stand_ins, number) {
                    (StandIns::EachOfHost, Some(number)) => {
                        cell.among = Some(Among::Only(number as u32 + 1));
                        Settings::default()
                    }
                    // What both set is refused by the machine.
                    (StandIns::EachSimulated(own), Some(number)) => {
                        Settings([own[number].0.as_slice(), &others.0].concat())
                    }
                    _ => others,
                };
                cell.set = Some(set).filter(|set| !is_host && !set.is_empty());
                if cell.pattern.is_some_and(|pattern| !pattern.is_ordered()) {
                    // As large as a disk of that machine: here it is as large as the target.
                    cell.size = None;
                }
                if is_host {
                    // A minute of virtual time is over at once.
                    cell.duration = cell.duration.map(|duration| duration.min(LONGEST_ON_HOST));
                    cell.warmup = cell.warmup.map(|warmup| warmup.min(LONGEST_WARMUP_ON_HOST));
                }
            }
            let is_of_figure = sweep.exhibit.is_some();
            sweep.cells.retain(|cell| seen.insert(cell.clone()) || is_of_figure);
        }
        self.sweeps.retain(|sweep| !sweep.cells.is_empty());
        if is_host {
            // What costs nothing in virtual time wears a disk.
            self.trial.write_budget = None;
        }
        self
    }

    /// The figures that it is of, in their order.
    pub(crate) fn exhibits(&self) -> Vec<&Exhibit> {
        let mut exhibits: Vec<&Exhibit> = self.sweeps.iter().filter_map(|sweep| sweep.exhibit.as_ref()).collect();
        exhibits.dedup();
        exhibits
    }

    /// The plug-ins that it names.
    pub(crate) fn plugins(&self) -> impl Iterator<Item = &Plugin> {
        self.sweeps.iter().flat_map(|sweep| &sweep.cells).filter_map(|cell| cell.plugin.as_ref())
    }

    /// Cells of all sweeps; one that several figures have counts once.
    pub(crate) fn cells(&self) -> usize {
        self.sweeps.iter().flat_map(|sweep| &sweep.cells).collect::<std::collections::HashSet<_>>().len()
    }
}
