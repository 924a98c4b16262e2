//! What an instrument read: the record that `halfpower scrub` and the other instruments print with `--json` and keep in
//! the store. A workload's record is a [`Sample`](crate::Sample).
//!
//! Fields are only ever added. A figure nobody measured is absent.

mod burst;
pub mod inspect;
mod memory;
mod rounds;
mod scrub;
mod soak;
mod tree;
mod zones;

pub use burst::{Burst, BurstSetting, BurstTarget, Medium, MediumVerdict, SharedLimit, SharingVerdict};
pub use inspect::{Inspected, InspectedTarget};
pub use memory::{Bandwidth, Cache, Kernel, LoadLatency, MemorySpeed, StudySpeed, StudyTest, Vectors};
pub use rounds::Rounds;
pub use scrub::{COLD, Scrubbed, ScrubbedTarget, Step, Way, cached_share};
pub use soak::{Soaked, SoakedProcessor, at_least_a_tenth, tenth_of_percent};
pub use tree::Branch;
pub use zones::{Band, Probe, Zones};

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
#[serde(tag = "instrument", content = "figures", rename_all = "snake_case")]
pub enum Figures {
    /// `halfpower inspect`: the path from targets to the hardware.
    Inspect(Box<Inspected>),
    /// `halfpower scrub`: what of targets was in the file cache, and is.
    Scrub(Scrubbed),
    /// `halfpower burst`: the limit of cache, link and bus.
    Burst(Burst),
    /// `halfpower zones`: throughput from the first byte to the last.
    Zones(Zones),
    /// `halfpower memory`: how fast memory is.
    Memory(MemorySpeed),
    /// `halfpower soak`: how idle the processors are.
    Soak(Soaked),
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
            Figures::Scrub(_) => "scrub",
            Figures::Burst(_) => "burst",
            Figures::Zones(_) => "zones",
            Figures::Memory(_) => "memory",
            Figures::Soak(_) => "soak",
        }
    }
}
