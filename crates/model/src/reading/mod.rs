//! What an instrument read: the record that `halfpower drop-cache` and the other instruments print with `--json` and keep in
//! the store. A workload's record is a [`Sample`](crate::Sample).
//!
//! Fields are only ever added. A figure nobody measured is absent.

mod drop_cache;
mod idle;
pub mod inspect;
mod link;
mod map;
mod memory;
mod rounds;
mod tree;

pub use drop_cache::{COLD, DroppedCache, DroppedTarget, Step, Way, cached_share};
pub use idle::{IdleCpu, Idleness, at_least_a_tenth, tenth_of_percent};
pub use inspect::{Inspected, InspectedTarget};
pub use link::{LinkSetting, LinkSpeed, LinkTarget, Medium, MediumVerdict, SharedLimit, SharingVerdict};
pub use map::{Band, DeviceMap, Probe};
pub use memory::{Bandwidth, Cache, Kernel, LoadLatency, MemorySpeed, StudySpeed, StudyTest, Vectors};
pub use rounds::Rounds;
pub use tree::Branch;

use crate::environment::Environment;
use crate::sample::{Program, Warning};
use serde::{Deserialize, Serialize};

/// The name of this record's form.
pub const SCHEMA: &str = "halfpower.reading/1";

/// One reading of one instrument.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Reading {
    /// [`SCHEMA`].
    pub schema: String,
    /// What read it.
    pub program: Program,
    /// What it was read on; the target is `null:` for an instrument that has none.
    pub environment: Environment,
    /// When it began.
    pub started_at: jiff::Timestamp,
    /// How long it took.
    pub elapsed_s: f64,
    /// What was found: `instrument` names it, `figures` has it.
    #[serde(flatten)]
    pub figures: Figures,
    /// What could make the figures wrong, and what could not be had here.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<Warning>,
    /// Whatever the user wants remembered.
    pub note: Option<String>,
}

/// The figures of an instrument.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "instrument", content = "figures", rename_all = "kebab-case")]
pub enum Figures {
    /// `halfpower inspect`: the path from targets to the hardware.
    Inspect(Box<Inspected>),
    /// `halfpower drop-cache`: what of targets was in the file cache, and is.
    DropCache(DroppedCache),
    /// `halfpower link`: the limit of cache, link and bus.
    Link(LinkSpeed),
    /// `halfpower map`: throughput from the first byte to the last.
    Map(DeviceMap),
    /// `halfpower memory`: how fast memory is.
    Memory(MemorySpeed),
    /// `halfpower idle`: how idle the processors are.
    Idle(Idleness),
}

impl Reading {
    /// A reading that ends now.
    pub fn new(figures: Figures, environment: Environment, started_at: jiff::Timestamp) -> Reading {
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

    /// The instrument's name, as the command has it.
    pub fn instrument(&self) -> &'static str {
        match self.figures {
            Figures::Inspect(_) => "inspect",
            Figures::DropCache(_) => "drop-cache",
            Figures::Link(_) => "link",
            Figures::Map(_) => "map",
            Figures::Memory(_) => "memory",
            Figures::Idle(_) => "idle",
        }
    }
}
