//! The work of one worker, on a thread or in a process: it prepares, waits for the others, and runs.

use super::affinity::pin;
use super::barrier::Start;
use super::state::{Ready, Shared};
use crate::buffers::Buffers;
use crate::instrument::clock::Clock;
use crate::instrument::cpu::Meter;
use crate::personality::interface::{Granted, Personality, Setup};
use crate::personality::spread::Spread;
use crate::worker::extras::{Extras, has_timed_end};
use crate::worker::{Outcome, Schedule, Surroundings, Worker};
use halfpower_model::random::derive_seed;
use halfpower_model::workload::FEW_REQUESTS;
use halfpower_model::{Layout, Sharing, Verify, Workload};
use std::any::Any;
use std::io;
use std::sync::atomic::Ordering::Relaxed;

/// Part of a workload's seed that draws the data written.
const DATA_SEED: u64 = 1 << 40;

/// Runs a worker from its preparation to its end.
pub(super) fn work<P: Personality>(shared: &Shared<'_>, index: u32, ready: Ready<'_>) -> io::Result<Outcome> {
    let workload = shared.workload;
    let outcome = if !Extras::are_needed(workload, shared.ledger.is_some()) {
        work_with::<P, false>(shared, index, ready)
    } else if workload.layout == Layout::Each {
        work_with::<P, true>(shared, index, ready)
    } else {
        work_with::<Spread<P>, true>(shared, index, ready)
    };
    shared.finish();
    if outcome.is_err() {
        shared.stop().store(true, Relaxed);
    }
    outcome
}

fn work_with<P: Personality, const FULL: bool>(
    shared: &Shared<'_>,
    index: u32,
    ready: Ready<'_>,
) -> io::Result<Outcome> {
    let (worker, granted) = prepare::<P, FULL>(shared, index)
        .map_or_else(|error| (None, Err(error)), |(worker, granted)| (Some(worker), Ok(granted)));
    ready(granted);
    match (worker, shared.barrier().wait()) {
        (Some(worker), Start::At(measure_from)) => {
            worker.run(schedule(shared.workload, index, shared.clock, measure_from))
        }
        _ => Ok(Outcome::default()),
    }
}

fn prepare<'a, P: Personality, const FULL: bool>(
    shared: &'a Shared<'_>,
    index: u32,
) -> io::Result<(Worker<'a, P, FULL>, Granted)> {
    let workload = shared.workload;
    pin(workload, index)?;
    // Before the personality, because it includes the threads that the personality starts.
    let meter = Meter::start();
    let (slots, slot_bytes) =
        if P::MOVES_DATA { (workload.depth as usize, workload.request_size.0 as usize) } else { (1, 1) };
    let mut buffers = Buffers::in_pages(slots, slot_bytes, workload.huge_pages)?;
    if workload.operation.writes() && workload.verify == Verify::Off && P::MOVES_DATA {
        buffers.fill(&workload.data, derive_seed(workload.seed, DATA_SEED + u64::from(index)));
    }
    let volume = workload.volume_of(index);
    let targets = match workload.layout {
        Layout::Each => shared.targets.get(volume..=volume).unwrap_or_default(),
        _ => shared.targets,
    };
    let outstanding = workload.depth;
    let (personality, granted) = P::open(Setup { targets, buffers: &buffers, outstanding, workload })?;
    let files = targets.iter().filter_map(|target| target.file().ok()).filter(|_| FULL);
    let own_files = files.map(|file| file.reopen()).collect::<io::Result<Vec<_>>>()?;
    let surroundings = Surroundings {
        clock: shared.clock,
        workload,
        index,
        record: &shared.records[index as usize],
        stop: shared.stop(),
        cursor: (workload.sharing == Sharing::Cursor).then(|| &shared.cursors[volume]),
        extras: Extras::new(workload, index, shared.clock, own_files, shared.ledger),
        meter,
    };
    Ok((Worker::new(personality, buffers, surroundings), granted))
}

/// Worker `index`'s part of the limits.
fn schedule(workload: &Workload, index: u32, clock: Clock, measure_from: u64) -> Schedule {
    let limits = &workload.limits;
    // Requests of several sizes are counted while they run.
    let by_bytes = limits.bytes.filter(|_| workload.sizes.is_empty());
    let by_bytes = by_bytes.map(|bytes| bytes.0.div_ceil(workload.request_size.0));
    let requests = [limits.requests, by_bytes].into_iter().flatten().min();
    let workers = u64::from(workload.workers);
    let share = requests.map(|all| all / workers + u64::from(u64::from(index) < all % workers));
    Schedule {
        measure_from,
        measure_until: limits.duration.map_or(u64::MAX, |span| measure_from.saturating_add(clock.ticks(span.0))),
        requests: share.unwrap_or(u64::MAX),
        count_drain: has_timed_end(workload),
        // At a rate, the arrivals determine the number of requests in the window.
        few: if workload.is_held_back() { 0 } else { FEW_REQUESTS.div_ceil(workers) },
    }
}

/// The message of a panic.
pub(super) fn panic_message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "no message".to_owned())
}
