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

impl SystemKeys {
    pub(super) fn system(&self) -> OperatingSystem {
        let cost = |keys: CostKeys| Cost {
            fixed_us: keys.fixed.0.0 as f64 / 1e3,
            marginal_us_per_kib: keys.marginal.0.0 as f64 / 1e3,
        };
        OperatingSystem {
            name: self.name.clone(),
            split: self.split.map(|split| split.0),
            direct_read: cost(self.direct_read),
            direct_write: cost(self.direct_write),
            completion_share: self.completion_share,
        }
    }
}
