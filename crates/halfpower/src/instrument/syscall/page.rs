//! What `halfpower syscall` shows: the cost, and of how many calls it is.

use crate::instrument::page::{Body, Page, Section};
use crate::report::table::Table;
use halfpower_engine::syscall::SystemCall;
use halfpower_model::Quantity;
use halfpower_model::units::significant;

pub(crate) fn page(call: &SystemCall) -> Page {
    let rows = [
        ["rounds".to_owned(), call.call_ns.rounds.len().to_string()],
        ["calls per round".to_owned(), call.calls.to_string()],
        ["slowest round".to_owned(), format!("{} ns per call", significant(call.call_ns.largest()))],
        ["resolution".to_owned(), format!("{} ns per call", significant(call.resolution_ns))],
    ];
    let about = "The median of the rounds, because other programs lengthen some.";
    Page {
        title: "System call",
        verdict: vec![format!("An empty system call takes {}.", call.call_ns.estimate(Quantity::Nanoseconds))],
        sections: vec![Section::new("Measurement", about, Body::Facts(Table::new(["", ""], rows)))],
        method: vec![
            "One thread calls getppid, which the kernel answers without work. Each round is timed as a whole. The time includes \
             entering and leaving the kernel with its mitigations of CPU vulnerabilities.",
        ],
        ..Page::default()
    }
}
