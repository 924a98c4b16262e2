//! Soaking: how idle the machine is, told by the time that is left for loops nobody needs.

use crate::sample::SystemAccount;
use serde::{Deserialize, Serialize};

/// What soaking came to.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Soaked {
    /// How long was looked.
    pub measured_s: f64,
    /// How long the loops were calibrated before.
    pub calibrated_s: f64,
    /// Share of all processors' time that was not left for the loops.
    pub busy_share: f64,
    /// By how much that may be wrong: the loops' rate then against their rate when calibrated.
    pub error_share: f64,
    /// Each processor the program may use, in their order.
    pub processors: Vec<SoakedProcessor>,
    /// What the kernel's own account says of the same time, all processors together; none where it does not say.
    pub account: Option<SystemAccount>,
}

/// One processor.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct SoakedProcessor {
    /// Its number.
    pub cpu: u32,
    /// Counts a second of the loop when nothing interrupts it, as calibrated.
    pub counts_per_s: f64,
    /// Share of its time that was not left for the loop; noise may make it less than nothing.
    pub busy_share: f64,
    /// The same while the loop was calibrated: how idle the machine was then.
    pub calibration_busy_share: f64,
    /// By how much it may be wrong.
    pub error_share: f64,
}
