//! How idle the machine is, for people.

use halfpower_model::reading::{Idleness, tenth_of_percent};
use halfpower_model::units::significant;
use std::fmt::Write;

pub(super) fn idle(text: &mut String, idleness: &Idleness) {
    let _ = writeln!(text, "{}", idleness.verdict());
    for processor in &idleness.processors {
        let _ = writeln!(
            text,
            "  processor {:<3} {} busy; {} while calibrated at {} counts a second",
            processor.cpu,
            tenth_of_percent(processor.busy_share),
            tenth_of_percent(processor.calibration_busy_share),
            significant(processor.counts_per_s),
        );
    }
    let account: Vec<String> =
        idleness.account_shares().into_iter().map(|(name, share)| format!("{name} {share}")).collect();
    if !account.is_empty() {
        let _ = writeln!(text, "  the kernel's account, in ticks: {}", account.join(", "));
    }
}
