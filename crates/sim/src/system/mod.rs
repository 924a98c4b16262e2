//! A workload on a machine: events in the order of time, from the program's request to its completion.
//!
//! ```text
//! program → CPU → portions → pieces → queue → command → disk → bytes over all parts at once → CPU → program
//!                     ↘ page cache → CPU → portions → … → CPU → page cache → program
//! ```
//!
//! Reads give their bytes when the disk has them, writes bring theirs before the disk begins. The bytes of a piece are on
//! all buses of their leg (between disk and memory, or a controller that stores them) at the same time, so the slowest sets
//! the pace, while each is busy only for its own part. Time is in whole nanoseconds, and events of the same nanosecond come in the order in which they were made: the
//! same machine, workload and seed give the same course on every host.

mod events;
mod flush;
mod flush_events;
mod growth;
mod growth_events;
#[cfg(test)]
pub(crate) mod laws;
mod measure;
mod outcome;
mod outstanding;
mod pace;
mod page_cache;
mod path;
mod program;
mod rows;
mod rows_events;
mod share;
mod share_events;
mod state;
#[cfg(test)]
pub(crate) mod tests;

pub use outcome::Outcome;
pub use pace::OpenLoop;

use crate::machine::Machine;
use events::Event;
use halfpower_model::{Cancel, Workload};
use state::System;
use std::sync::atomic::AtomicU64;

/// Runs a workload on a machine until its limits, on a virtual clock.
pub fn run(machine: &Machine, workload: &Workload, cancel: &Cancel) -> Outcome {
    let cursors = cursors(workload);
    let mut system = started(machine, workload, &cursors);
    while system.step() {
        if cancel.is_cancelled() {
            system.outcome.cancelled = true;
            break;
        }
    }
    system.finish()
}

/// The machine with all workers at work.
fn started<'a>(machine: &'a Machine, workload: &'a Workload, cursors: &'a [AtomicU64]) -> System<'a> {
    let mut system = System::new(machine, workload, cursors);
    (0..workload.workers).for_each(|worker| system.set_to_work(worker));
    system
}

/// Where the workers of each target are that share a stream.
fn cursors(workload: &Workload) -> Vec<AtomicU64> {
    (0..workload.volumes()).map(|_| AtomicU64::new(0)).collect()
}

impl System<'_> {
    /// The next event; whether there is more to come.
    #[inline]
    fn step(&mut self) -> bool {
        let Some((at_ns, event)) = self.events.take() else { return false };
        if at_ns > self.ends_ns && self.ends_with_window() {
            self.now_ns = self.ends_ns;
            return false;
        }
        if !self.marks.begun && at_ns >= self.workload.warmup.0 {
            self.now_ns = self.workload.warmup.0;
            self.begin();
        }
        self.now_ns = at_ns;
        self.happen(event);
        self.see_to_flushes();
        !self.is_done()
    }

    fn at(&mut self, at_ns: u64, event: Event) {
        self.events.put(at_ns, event);
    }

    fn happen(&mut self, event: Event) {
        match event {
            Event::Issue { worker } => self.issue_due(worker),
            Event::Dispatch { request } => self.enter(request),
            Event::Through { request } => self.dispatch(request),
            Event::LazyWriter => self.write_out(),
            Event::Launch { portion } => self.launch(portion),
            Event::Queue { piece } => self.queue(piece),
            Event::Arrive { piece } => self.arrive(piece),
            Event::Disk { disk } => self.turn(disk),
            Event::Transfer { piece } => self.transfer(piece),
            Event::Done { piece } => self.done(piece),
            Event::Finish { piece } => self.finish_piece(piece),
            Event::Portion { portion } => self.finish_portion(portion),
            Event::AtServer { request } => self.at_server(request),
            Event::Answer { request } => self.answer(request),
            Event::Interrupt { request } => self.interrupt(request),
            Event::Complete { request } => self.complete(request),
        }
    }
}
