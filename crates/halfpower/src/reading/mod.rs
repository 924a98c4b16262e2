//! The record of an instrument, which `--json` prints and the store keeps. The record of a workload is a
//! [`Sample`](halfpower_model::Sample).

pub(crate) mod files;
pub(crate) mod link;
pub(crate) mod map;

use files::FileRates;
use halfpower_engine::drop_cache::DroppedCache;
use halfpower_engine::idle::Idleness;
use halfpower_model::Environment;
use halfpower_model::reading::{Inspected, MemorySpeed};
use halfpower_model::sample::{Program, Warning};
use link::LinkSpeed;
use map::DeviceMap;
use serde::{Deserialize, Serialize};

/// The schema of the record.
pub(crate) const SCHEMA: &str = "halfpower.reading/1";

/// One reading of one instrument.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Reading {
    /// [`SCHEMA`].
    pub(crate) schema: String,
    /// The program that read it.
    pub(crate) program: Program,
    /// The host and the target; `null:` for an instrument without a target.
    pub(crate) environment: Environment,
    /// When it began.
    pub(crate) started_at: jiff::Timestamp,
    /// How long it took.
    pub(crate) elapsed_s: f64,
    /// The result, as two keys: `instrument` and `figures`.
    #[serde(flatten)]
    pub(crate) figures: Figures,
    /// What may be wrong with the figures.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) warnings: Vec<Warning>,
    /// The user's note.
    pub(crate) note: Option<String>,
}

/// The figures of an instrument; `instrument` in JSON is the name of the command.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "instrument", content = "figures", rename_all = "kebab-case")]
pub(crate) enum Figures {
    Inspect(Box<Inspected>),
    DropCache(DroppedCache),
    Link(LinkSpeed),
    Map(DeviceMap),
    Memory(MemorySpeed),
    Idle(Idleness),
    Files(FileRates),
}

impl Reading {
    /// A reading that ends now.
    pub(crate) fn new(figures: Figures, environment: Environment, started_at: jiff::Timestamp) -> Reading {
        Reading {
            schema: SCHEMA.to_owned(),
            program: Program::this(),
            environment,
            started_at,
            elapsed_s: jiff::Timestamp::now().duration_since(started_at).as_secs_f64(),
            figures,
            warnings: Vec::new(),
            note: None,
        }
    }

    /// The name of the command.
    pub(crate) fn instrument(&self) -> &'static str {
        match self.figures {
            Figures::Inspect(_) => "inspect",
            Figures::DropCache(_) => "drop-cache",
            Figures::Link(_) => "link",
            Figures::Map(_) => "map",
            Figures::Memory(_) => "memory",
            Figures::Idle(_) => "idle",
            Figures::Files(_) => "files",
        }
    }
}
