//! Verification by reading back the written blocks, in the same run or a later one.

use crate::run::RawRun;
use crate::worker::ledger::Ledger;
use halfpower_model::sample::{Failure, Verified};
use halfpower_model::{
    Arrivals, Bytes, Closing, CpuAccounting, Durability, FileState, Layout, Limits, Nanoseconds, Operation, Pattern,
    Sample, Sharing, Sizes, Verify, Workload,
};
use std::io;
use std::ops::Range;

/// The copies of the volumes: a volume, and the targets that hold one copy of it. Each is read back by itself.
pub(crate) fn copies(written: &Workload) -> Vec<(usize, Range<usize>)> {
    let targets = 0..written.targets as usize;
    match written.layout {
        Layout::Each => targets.map(|target| (target, target..target + 1)).collect(),
        Layout::Stripe { .. } => vec![(0, targets)],
        // A read goes to one of the sides alone, so each is read by itself.
        Layout::Mirror { .. } => targets.map(|target| (0, target..target + 1)).collect(),
    }
}

/// A workload that reads once all blocks of one copy of a volume of `written`; its span is empty if nothing was written.
pub(crate) fn reading(written: &Workload, ledger: &Ledger, volume: usize) -> Workload {
    let block = written.verify_block();
    let span = Bytes(ledger.end(volume));
    // Requests of the written size, if they fill the span exactly.
    let room = span.0.saturating_sub(written.offset.0);
    let even = written.request_size.0.is_multiple_of(block.0) && room.is_multiple_of(written.request_size.0);
    let request_size = if even { written.request_size } else { block };
    let is_striped = matches!(written.layout, Layout::Stripe { .. });
    Workload {
        operation: Operation::Read,
        pattern: Pattern::Sequential,
        sharing: Sharing::Cursor,
        sizes: Sizes::default(),
        align: None,
        request_size,
        layout: if is_striped { written.layout } else { Layout::Each },
        targets: if is_striped { written.targets } else { 1 },
        span,
        limits: Limits { duration: None, requests: Some(room / request_size.0.max(1)), bytes: None },
        verify: Verify::Stamp,
        ..plain(written)
    }
}

/// The same requests on one worker without a rate or a trace, and without steps before or after them.
pub(crate) fn plain(workload: &Workload) -> Workload {
    Workload {
        workers: 1,
        warmup: Nanoseconds(0),
        durability: Durability::None,
        file_state: FileState::Written,
        closing: Closing::Untimed,
        layout: Layout::Each,
        targets: 1,
        arrivals: Arrivals::Closed,
        rate: None,
        think: None,
        trace: None,
        cpu_accounting: CpuAccounting::Account,
        ..workload.clone()
    }
}

/// The ledger that a stored sample left behind.
///
/// # Errors
/// When there is not enough memory.
pub(crate) fn ledger_of(written: &Sample) -> io::Result<Ledger> {
    let submitted: Vec<u64> = written.workers.iter().map(|worker| worker.submitted).collect();
    let failed = written.verified.as_ref().map_or(&[][..], |verified| &verified.failed);
    Ledger::replay(&written.workload, &submitted, failed)
}

/// Adds the verification of a run of writes to its sample: blocks that its reads found wrong, and failed writes.
pub(crate) fn conclude(sample: &mut Sample, raw: &RawRun, ledger: &Ledger) {
    let block_bytes = sample.workload.verify_block();
    let verified = sample.verified.get_or_insert_with(|| Verified { block_bytes, ..Verified::default() });
    for (index, worker) in (0..).zip(&raw.workers) {
        verified.failed.extend(worker.outcome.failures.iter().map(|failure| (index, failure.request)));
        if worker.breakdown.is_some() {
            let cut_off = ledger.abandon(sample.workload.volume_of(index));
            verified.failed.extend(cut_off.into_iter().map(|request| (index, request)));
        }
    }
    find(sample, raw, ledger, "");
}

/// Adds the result of reading back a copy; `place` names it if there are several. Blocks that cannot be read count as wrong.
pub(crate) fn conclude_reading(sample: &mut Sample, raw: &RawRun, ledger: &Ledger, place: &str, cancelled: bool) {
    find(sample, raw, ledger, place);
    let broken = raw.workers.iter().find_map(|worker| worker.breakdown.clone());
    let unread = raw.failures().next().map(|failure| {
        let at = failure.request.offset;
        match failure.explanation() {
            None => format!("the target ends at offset {at}, before the end of the written data"),
            Some(why) => format!("offset {at} cannot be read ({why})"),
        }
    });
    let what =
        broken.or(unread).map(|why| ("verification_failed", format!("the read-back is incomplete: {place}{why}")));
    let stopped = cancelled.then(|| ("interrupted", "interrupted during the read-back".to_owned()));
    if let Some((code, message)) = what.or(stopped) {
        sample.failure.get_or_insert(Failure { code: code.to_owned(), message });
    }
}

/// Adds the number of checked and of wrong blocks, and the first wrong one.
fn find(sample: &mut Sample, raw: &RawRun, ledger: &Ledger, place: &str) {
    let Some(verified) = &mut sample.verified else { return };
    (verified.blocks, verified.wrong) = (ledger.checked(), ledger.wrong());
    let first = raw.workers.iter().find_map(|worker| worker.outcome.mismatch.clone());
    verified.first_wrong = verified.first_wrong.take().or_else(|| Some(format!("{place}{}", first?)));
    if let Some(first) = &verified.first_wrong {
        let wrong = verified.wrong;
        let blocks = if wrong == 1 { "block is" } else { "blocks are" };
        sample.failure = Some(Failure {
            code: "verification_failed".to_owned(),
            message: format!("{wrong} {blocks} not as written; the first: {first}"),
        });
    }
}
