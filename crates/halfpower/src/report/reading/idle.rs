//! The page of `halfpower idle`: how idle the machine is, as a whole and by processor.

use super::{Bar, Body, Page, Section, sentence};
use crate::report::table::Table;
use halfpower_model::reading::{IdleCpu, Idleness, at_least_a_tenth, tenth_of_percent};
use halfpower_model::units::significant;

pub(super) fn page(idleness: &Idleness) -> Page {
    let account = idleness.account_shares();
    let account = (!account.is_empty()).then(|| Section {
        title: "The kernel’s account".to_owned(),
        about: "Of the same time, in ticks of its clock, these processors together.".to_owned(),
        body: Body::Table(Table::new(
            ["part", "share"],
            account.into_iter().map(|(name, share)| [name.to_owned(), share]),
        )),
    });
    Page {
        title: "Idle",
        verdict: vec![sentence(&idleness.verdict())],
        unfinished: None,
        charts: Vec::new(),
        sections: [processors(idleness)].into_iter().chain(account).collect(),
        method: vec![
            "A busy loop of the lowest priority runs on every processor and counts. What it does not get, somebody used: \
             programs, the kernel, interrupts, the hypervisor. How fast it counts when nothing interrupts it is calibrated \
             just before.",
        ],
    }
}

fn processors(idleness: &Idleness) -> Section {
    let bar = |processor: &IdleCpu| {
        let idle = processor.idle_share();
        let about = format!(
            "within {}; {} busy while calibrated, at {} counts a second",
            at_least_a_tenth(processor.error_share),
            tenth_of_percent(processor.calibration_busy_share),
            significant(processor.counts_per_s),
        );
        let figure = format!("{} idle", tenth_of_percent(idle));
        Bar::of_share(format!("processor {}", processor.cpu), Some(idle), figure, about)
    };
    Section {
        title: "Processors".to_owned(),
        about: "The time that was left for the loop. Noise may make it a little more than all.".to_owned(),
        body: Body::Bars(idleness.processors.iter().map(bar).collect()),
    }
}
