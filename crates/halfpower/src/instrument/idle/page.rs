//! What `halfpower idle` shows: how idle the machine is, and each CPU.

use crate::instrument::page::{Bar, Body, Page, Section};
use crate::report::table::Table;
use crate::text::counted;
use halfpower_engine::idle::{IdleCpu, Idleness};
use halfpower_model::sample::SystemAccount;
use halfpower_model::units::significant;

pub(crate) fn page(idleness: &Idleness) -> Page {
    let count = idleness.cpus.len();
    let verdict = format!(
        "{} idle, {} busy (± {}): {} for {} s.",
        tenth_of_percent(1.0 - idleness.busy_share),
        tenth_of_percent(idleness.busy_share),
        at_least_a_tenth(idleness.error_share),
        counted(count, "CPU"),
        significant(idleness.measured_s),
    );
    let cpus = Section::new(
        "CPUs",
        "The share of time left for the busy loop. Noise can raise it slightly above 100 %.",
        Body::Bars(idleness.cpus.iter().map(bar).collect()),
    );
    let account = idleness.account.iter().map(|account| kernel_account(account, count));
    Page {
        title: "Idle",
        verdict: vec![verdict],
        sections: [cpus].into_iter().chain(account).collect(),
        method: vec![
            "A busy loop at the lowest priority runs on every CPU and counts. The time that it does not get was used by \
             programs, the kernel, interrupts or the hypervisor. Its uninterrupted speed is calibrated just before.",
        ],
        ..Page::default()
    }
}

fn bar(cpu: &IdleCpu) -> Bar {
    let idle = 1.0 - cpu.busy_share;
    let about = format!(
        "± {}; {} busy during calibration",
        at_least_a_tenth(cpu.error_share),
        tenth_of_percent(cpu.calibration_busy_share)
    );
    Bar::of_share(format!("CPU {}", cpu.cpu), Some(idle), format!("{} idle", tenth_of_percent(idle)), about)
}

/// The kernel counts the loops as `nice`, which is left out.
fn kernel_account(account: &SystemAccount, cpus: usize) -> Section {
    let all_s = account.wall_s * cpus.max(1) as f64;
    let parts = [
        ("busy", account.busy_s),
        ("user", account.user_s),
        ("system", account.system_s),
        ("interrupts", account.irq_s + account.softirq_s),
        ("steal", account.steal_s),
    ];
    let rows = parts.map(|(name, part_s)| [name.to_owned(), tenth_of_percent(part_s / all_s)]);
    let table = Table::new(["CPU time", "share"], rows);
    Section::new("The kernel’s account", "The same time and CPUs, counted in clock ticks.", Body::Table(table))
}

/// The loops resolve a tenth of a percent. Zero has no sign.
fn tenth_of_percent(share: f64) -> String {
    let tenths = (share * 1000.0).round() + 0.0;
    format!("{:.1} %", tenths / 10.0)
}

/// An error is rounded up to a tenth of a percent, and never less than one.
fn at_least_a_tenth(error_share: f64) -> String {
    // The last bit of a whole number of tenths does not count.
    let tenths = (error_share * 1000.0 - 1e-9).ceil().max(1.0);
    format!("{:.1} %", tenths / 10.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_rounded_to_tenths_and_errors_up() {
        assert_eq!([0.0, 0.000_003, 0.006, 0.015_01].map(at_least_a_tenth), ["0.1 %", "0.1 %", "0.6 %", "1.6 %"]);
        let shown = [-0.000_4, 0.000_4, -0.002, 0.248, 1.002].map(tenth_of_percent);
        assert_eq!(shown, ["0.0 %", "0.0 %", "-0.2 %", "24.8 %", "100.2 %"]);
    }
}
