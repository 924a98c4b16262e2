//! A parsed study: question, target, trials and sweeps.

use crate::text::once;
use halfpower_model::{Among, Bytes, GivenPeak, Nanoseconds, Offer, Plugin, Settings, WorkloadSpec};
use serde::{Deserialize, Serialize};

/// A parsed study.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Study {
    /// Its name.
    pub name: String,
    /// The question it answers.
    pub question: Option<String>,
    /// Its target if the user names none; none is the current directory.
    pub path: Option<String>,
    /// Size of the test file if the target is a directory; none for the default.
    pub test_file: Option<Bytes>,
    /// Advertised throughput of levels that the kernel does not report.
    pub peaks: Vec<GivenPeak>,
    /// Price and capacity of the targets.
    pub offer: Option<Offer>,
    /// How each cell is measured.
    pub trial: Trial,
    /// The sweeps, in the order of the file; never empty.
    pub sweeps: Vec<Sweep>,
    /// Its text, after the texts of included files.
    pub text: String,
}

/// A figure or table of a paper that a sweep is a part of.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) struct Exhibit {
    /// Its name in the paper: `Figure 16`.
    pub label: String,
    /// The question it answers.
    pub question: Option<String>,
    /// The quantity that it shows.
    #[serde(default)]
    pub shows: Shows,
}

/// The quantity that a figure shows of its workloads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Shows {
    /// Throughput of sequential workloads, IOPS of others.
    #[default]
    Throughput,
    /// CPU cost.
    Cpu,
    /// Latency.
    Latency,
    /// Busy time of a machine's parts.
    Parts,
}

/// How each cell is measured. Warm-up and duration are in the workloads.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Trial {
    /// Repetitions of each cell.
    pub repetitions: Repetitions,
    /// Duration of the first repetition of the reads and of the writes that reach a limit; none for no longer one.
    pub probe: Option<[Nanoseconds; 2]>,
    /// Minimum duration of a trial whose target is throttled by a control group; none for no minimum.
    pub limited_duration: Option<Nanoseconds>,
    /// No repetition beyond the least is started after this time, counted from the first trial of this start of the run.
    pub time_limit: Option<Nanoseconds>,
    /// Maximum bytes written by all trials, including the test file.
    pub write_budget: Option<Bytes>,
    /// Whether only the cells are measured, and repeated, on which the verdict depends.
    pub as_needed: bool,
    /// Order of the trials.
    pub order: Order,
    /// Seed of the order and the requests.
    pub seed: u64,
}

/// Repetitions of a cell.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Repetitions {
    /// Minimum.
    pub min: u32,
    /// Maximum.
    pub max: u32,
    /// A cell stops after the minimum when the half-width of its 95 % CI, relative to the mean, is at most this; none:
    /// every cell gets the maximum.
    pub precision: Option<f64>,
}

/// The order of the trials.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Order {
    /// Randomised complete blocks: every cell once, in an order drawn for each block.
    #[default]
    Blocks,
    /// Every cell once in the order of the file, in each block.
    Listed,
}

/// One sweep: a name and its workloads.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Sweep {
    /// Its name, or `sweep 3`.
    pub name: String,
    /// The figure that it belongs to; none if its file is no figure.
    pub exhibit: Option<Exhibit>,
    /// Its cells; never empty.
    pub cells: Vec<WorkloadSpec>,
}

/// The replacement of the simulated volumes that a study names.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum StandIns {
    /// One target of this host for all volumes.
    OneOfHost,
    /// One target of this host for each volume.
    EachOfHost,
    /// One simulated volume for all; other settings stay.
    OneSimulated,
    /// One simulated volume for each, with its settings.
    EachSimulated(Vec<Settings>),
}

/// The study of `halfpower limits`.
pub(crate) const LIMITS: &str = "limits";

/// The setting that names another volume of a simulated machine.
pub(crate) const VOLUME: &str = "volume";

/// Longest trial of a simulated machine's study on this host, after its warm-up.
const LONGEST_ON_HOST: Nanoseconds = Nanoseconds(10_000_000_000);
/// Longest warm-up of such a trial.
const LONGEST_WARMUP_ON_HOST: Nanoseconds = Nanoseconds(5_000_000_000);

/// Each volume once, in order; none is the volume of the target.
pub(crate) fn volumes_in<'a>(volumes: impl Iterator<Item = Option<&'a str>>) -> Vec<Option<String>> {
    once(volumes).into_iter().map(|volume| volume.map(str::to_owned)).collect()
}

impl Study {
    /// This study followed by the sweeps of another one, with the sum of the time limits.
    #[must_use]
    pub(crate) fn and(mut self, other: Study) -> Study {
        self.sweeps.extend(other.sweeps);
        let limits = self.trial.time_limit.zip(other.trial.time_limit);
        self.trial.time_limit = limits.map(|(own, more)| Nanoseconds(own.0 + more.0));
        self
    }

    /// This study with twice the repetitions, of all cells, and twice the time limit.
    #[must_use]
    pub(crate) fn twice(mut self) -> Study {
        self.trial.as_needed = false;
        let repetitions = &mut self.trial.repetitions;
        (repetitions.min, repetitions.max) = (repetitions.min.saturating_mul(2), repetitions.max.saturating_mul(2));
        self.trial.time_limit = self.trial.time_limit.map(|limit| Nanoseconds(limit.0.saturating_mul(2)));
        self
    }

    /// The simulated volumes that its workloads name, in the order of the file.
    pub(crate) fn volumes(&self) -> Vec<String> {
        self.volumes_or_target().into_iter().flatten().collect()
    }

    /// The settings of its workloads for a simulated machine, each once.
    pub(crate) fn settings(&self) -> Vec<Settings> {
        let cells = self.sweeps.iter().flat_map(|sweep| &sweep.cells);
        let mut seen = std::collections::HashSet::new();
        cells.map(|cell| cell.set.clone().unwrap_or_default()).filter(|set| seen.insert(set.clone())).collect()
    }

    /// The volumes that its workloads name; none is the volume of the target.
    pub(crate) fn volumes_or_target(&self) -> Vec<Option<String>> {
        let cells = self.sweeps.iter().flat_map(|sweep| &sweep.cells);
        volumes_in(cells.map(|cell| cell.set.as_ref()?.without(VOLUME).0))
    }

    /// This study on other targets than its simulated machine: one target for all volumes that its workloads name, or
    /// one for each, in order.
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
                    // The machine rejects a key that both set.
                    (StandIns::EachSimulated(own), Some(number)) => {
                        Settings([own[number].0.as_slice(), &others.0].concat())
                    }
                    _ => others,
                };
                cell.set = Some(set).filter(|set| !is_host && !set.is_empty());
                if cell.pattern.is_some_and(|pattern| !pattern.is_ordered()) {
                    // The size was chosen for that machine's disk; here it is the size of the target.
                    cell.size = None;
                }
                if is_host {
                    // A minute of virtual time passes at once.
                    cell.duration = cell.duration.map(|duration| duration.min(LONGEST_ON_HOST));
                    cell.warmup = cell.warmup.map(|warmup| warmup.min(LONGEST_WARMUP_ON_HOST));
                }
            }
            let is_of_figure = sweep.exhibit.is_some();
            sweep.cells.retain(|cell| seen.insert(cell.clone()) || is_of_figure);
        }
        self.sweeps.retain(|sweep| !sweep.cells.is_empty());
        if is_host {
            // The budget allows for virtual writes, which cause no wear.
            self.trial.write_budget = None;
        }
        self
    }

    /// Its figures, in order.
    pub(crate) fn exhibits(&self) -> Vec<&Exhibit> {
        let mut exhibits: Vec<&Exhibit> = self.sweeps.iter().filter_map(|sweep| sweep.exhibit.as_ref()).collect();
        exhibits.dedup();
        exhibits
    }

    /// Its plug-ins.
    pub(crate) fn plugins(&self) -> impl Iterator<Item = &Plugin> {
        self.sweeps.iter().flat_map(|sweep| &sweep.cells).filter_map(|cell| cell.plugin.as_ref())
    }

    /// The number of cells; a cell that several figures share counts once.
    pub(crate) fn cells(&self) -> usize {
        self.sweeps.iter().flat_map(|sweep| &sweep.cells).collect::<std::collections::HashSet<_>>().len()
    }
}
