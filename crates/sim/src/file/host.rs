//! The keys of processors and of the operating system.

use super::Said;
use crate::machine::{Cost, OperatingSystem};
use halfpower_model::{Bytes, Nanoseconds};
use serde::Deserialize;

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct ProcessorKeys {
    /// How many.
    pub(super) count: u32,
    /// What they are called.
    pub(super) model: String,
    /// Main memory of the machine.
    pub(super) memory: Said<Bytes>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct SystemKeys {
    /// What it is called.
    pub(super) name: String,
    /// Direct requests beyond this are cut into pieces of it.
    pub(super) split: Option<Said<Bytes>>,
    /// Processor time of a direct read.
    pub(super) direct_read: CostKeys,
    /// Processor time of a direct write.
    pub(super) direct_write: CostKeys,
    /// The part of it that comes after the bytes, 0 to 1.
    pub(super) completion_share: f64,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CostKeys {
    /// Time a request.
    pub(super) fixed: Said<Nanoseconds>,
    /// Time a KiB.
    pub(super) marginal: Said<Nanoseconds>,
}

impl CostKeys {
    pub(super) fn cost(self) -> Cost {
        Cost { fixed_us: self.fixed.0.0 as f64 / 1e3, marginal_us_per_kib: self.marginal.0.0 as f64 / 1e3 }
    }
}

impl SystemKeys {
    pub(super) fn system(&self) -> OperatingSystem {
        OperatingSystem {
            name: self.name.clone(),
            split: self.split.map(|split| split.0),
            direct_read: self.direct_read.cost(),
            direct_write: self.direct_write.cost(),
            completion_share: self.completion_share,
        }
    }
}
