//! How idle each CPU is: the time that is left for a busy loop of the lowest priority.

use crate::sample::SystemAccount;
use crate::units::significant;
use serde::{Deserialize, Serialize};

/// How idle the machine is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Idleness {
    /// How long was looked.
    pub measured_s: f64,
    /// How long the loops were calibrated before.
    pub calibrated_s: f64,
    /// Share of all processors' time that was not left for the loops.
    pub busy_share: f64,
    /// By how much that may be wrong: the loops' rate then against their rate when calibrated.
    pub error_share: f64,
    /// Each processor the program may use, in their order.
    pub processors: Vec<IdleCpu>,
    /// What the kernel's own account says of the same time and processors; none where it does not say.
    pub account: Option<SystemAccount>,
}

/// One processor.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct IdleCpu {
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

impl IdleCpu {
    /// Share of its time that was left for the loop; noise may make it more than all.
    pub fn idle_share(&self) -> f64 {
        1.0 - self.busy_share
    }
}

impl Idleness {
    /// What the reader came for: how idle the machine is as a whole.
    pub fn verdict(&self) -> String {
        let count = self.processors.len();
        format!(
            "{} idle, {} busy, within {} ({count} processor{}, {} s)",
            tenth_of_percent(1.0 - self.busy_share),
            tenth_of_percent(self.busy_share),
            at_least_a_tenth(self.error_share),
            if count == 1 { "" } else { "s" },
            significant(self.measured_s),
        )
    }

    /// The kernel's own account of the same time: a name and its share of these processors' time, each. The loops are in
    /// `nice`, so that is left out. Empty where it does not say.
    pub fn account_shares(&self) -> Vec<(&'static str, String)> {
        let Some(account) = &self.account else { return Vec::new() };
        let all_s = account.wall_s * self.processors.len().max(1) as f64;
        let parts = [
            ("busy", account.busy_s),
            ("user", account.user_s),
            ("system", account.system_s),
            ("interrupts", account.irq_s + account.softirq_s),
            ("stolen", account.steal_s),
        ];
        parts.map(|(name, part_s)| (name, tenth_of_percent(part_s / all_s))).to_vec()
    }
}

/// A share to a tenth of a percent: the loops tell no more. What rounds to nothing has no sign.
pub fn tenth_of_percent(share: f64) -> String {
    let tenths = (share * 1000.0).round() + 0.0;
    format!("{:.1} %", tenths / 10.0)
}

/// By how much a share may be wrong: to a tenth of a percent above it, and never less than one.
pub fn at_least_a_tenth(error_share: f64) -> String {
    // What is a whole number of tenths but for the last bit stays that.
    let tenths = (error_share * 1000.0 - 1e-9).ceil().max(1.0);
    format!("{:.1} %", tenths / 10.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_never_said_to_be_nothing() {
        assert_eq!([0.0, 0.000_003, 0.006, 0.015_01].map(at_least_a_tenth), ["0.1 %", "0.1 %", "0.6 %", "1.6 %"]);
        let idleness = Idleness { busy_share: 1.0, error_share: 0.000_1, measured_s: 1.0, ..Idleness::default() };
        assert!(idleness.verdict().contains("within 0.1 %"), "{}", idleness.verdict());
    }

    #[test]
    fn what_rounds_to_nothing_has_no_sign() {
        let shown = [-0.000_4, 0.000_4, -0.002, 0.248, 1.002].map(tenth_of_percent);
        assert_eq!(shown, ["0.0 %", "0.0 %", "-0.2 %", "24.8 %", "100.2 %"]);
    }
}
