//! How idle the machine is, for people.

use halfpower_model::reading::Soaked;
use halfpower_model::sample::SystemAccount;
use halfpower_model::units::significant;
use std::fmt::Write;

pub(super) fn soak(text: &mut String, soaked: &Soaked) {
    let plural = if soaked.processors.len() == 1 { "" } else { "s" };
    let within = percent(soaked.error_share);
    let _ = writeln!(
        text,
        "{} busy, within {within} ({} processor{plural}, {} s)",
        percent(soaked.busy_share),
        soaked.processors.len(),
        significant(soaked.measured_s),
    );
    for processor in &soaked.processors {
        let _ = writeln!(
            text,
            "  processor {:<3} {} busy; {} while calibrated at {} counts a second",
            processor.cpu,
            percent(processor.busy_share),
            percent(processor.calibration_busy_share),
            significant(processor.counts_per_s),
        );
    }
    if let Some(account) = &soaked.account {
        let _ = writeln!(text, "  the kernel's account, in ticks: {}", parts(account, soaked.processors.len()));
    }
}

/// Shares of all processors' time; the loops are in `nice`, so that is left out.
fn parts(account: &SystemAccount, processors: usize) -> String {
    let all_s = account.wall_s * processors.max(1) as f64;
    let parts = [
        ("busy", account.busy_s),
        ("user", account.user_s),
        ("system", account.system_s),
        ("interrupts", account.irq_s + account.softirq_s),
        ("stolen", account.steal_s),
    ];
    parts.map(|(name, part_s)| format!("{name} {}", percent(part_s / all_s))).join(", ")
}

/// To a tenth of a percent: the loops tell no more.
fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}
