//! What the device moved, by its own counters.
//!
//! The counters include warm-up, final flush and other programs. So they are compared with all submitted requests, and are an
//! upper bound of what those caused. Only for one kind and size of request: in a mix the cause is unknown.

use crate::cells::Cell;
use crate::statistics::mean_estimate;
use halfpower_model::{Buffering, Bytes, Durability, Estimate, Operation, Quantity, RwFlag, Sample, TargetKind};

/// A page, and the block of most file systems: the least that the system writes.
const PAGE: u64 = 4096;
/// From this share on, other programs caused most of the device's bytes.
pub(crate) const MOST_FOR_OTHERS: f64 = 0.5;

/// Most device reads per write that partial blocks can cause: one at either end, and metadata.
pub(crate) const PER_REQUEST_MAX: f64 = 2.5;
/// Most blocks in one such read.
pub(crate) const BLOCKS_EACH_MAX: f64 = 4.0;

/// Device reads of one repetition.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DeviceReads {
    /// Bytes per submitted byte.
    pub(crate) per_byte: f64,
    /// Requests per submitted request.
    pub(crate) per_request: f64,
    /// Bytes per device read; none without any.
    pub(crate) bytes_each: Option<f64>,
}

impl DeviceReads {
    /// None if not counted.
    pub(crate) fn of(sample: &Sample) -> Option<DeviceReads> {
        let read = sample.block.as_ref()?.read?;
        let submitted = submitted(sample)? as f64;
        let bytes = submitted * sample.workload.request_size.0 as f64;
        Some(DeviceReads {
            per_byte: read.bytes as f64 / bytes,
            per_request: read.requests as f64 / submitted,
            bytes_each: (read.requests > 0).then(|| read.bytes as f64 / read.requests as f64),
        })
    }

    /// Of every repetition; empty unless each is counted.
    pub(crate) fn of_cell(cell: &Cell<'_>) -> Vec<DeviceReads> {
        let all: Option<Vec<_>> = cell.repetitions.iter().map(|observed| DeviceReads::of(observed.sample)).collect();
        all.unwrap_or_default()
    }
}

/// Mean of a ratio over the repetitions.
pub(crate) fn mean_ratio(reads: &[DeviceReads], figure: impl Fn(&DeviceReads) -> f64) -> Option<Estimate> {
    mean_estimate(Quantity::Ratio, &reads.iter().map(figure).collect::<Vec<_>>())
}

/// Share of the device's bytes caused by other programs; none if unknown. Known for direct requests of one kind and size on a
/// host only: read-ahead, write-back and journals hide whose bytes they are. Requests outstanding at the end count as own.
pub(crate) fn share_for_others(sample: &Sample) -> Option<f64> {
    let workload = &sample.workload;
    let is_stored = workload.buffering == Buffering::None
        || !matches!(workload.durability, Durability::None | Durability::FlushAtEnd)
        || workload.rw_flags.has(RwFlag::Dsync);
    let copies = match workload.operation {
        Operation::Read => 1,
        Operation::Write if !is_stored => workload.copies(),
        _ => return None,
    };
    let is_of_host = sample.origin.is_none()
        && sample
            .environment
            .all_targets()
            .all(|target| matches!(target.kind, TargetKind::File | TargetKind::BlockDevice));
    let block = sample.block.as_ref().filter(|_| is_of_host && workload.buffering.is_direct())?;
    let outstanding = u64::from(workload.depth) * u64::from(workload.workers);
    let own = (submitted(sample)? + outstanding) * workload.request_size.0 * copies;
    let moved = block.read?.bytes + block.write?.bytes;
    (moved > 0).then(|| (1.0 - own as f64 / moved as f64).max(0.0))
}

/// The block for partial writes: a page, or a larger block of the device.
pub(crate) fn block<'a>(samples: impl Iterator<Item = &'a Sample>) -> Bytes {
    let targets = samples.flat_map(|sample| sample.environment.all_targets());
    let logical = targets.filter_map(|target| target.logical_block_bytes).map(|bytes| bytes.0).max();
    Bytes(logical.unwrap_or(0).max(PAGE))
}

/// Submitted requests of one size, warm-up included.
pub(crate) fn submitted(sample: &Sample) -> Option<u64> {
    let by_workers: u64 = sample.workers.iter().map(|worker| worker.submitted).sum();
    let completed =
        || (sample.workload.warmup.0 == 0 && sample.is_known("total.requests")).then_some(sample.total.requests);
    let submitted = if by_workers > 0 { Some(by_workers) } else { completed() };
    submitted.filter(|requests| *requests > 0 && sample.workload.sizes.is_empty() && sample.workload.request_size.0 > 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::{Run, buffered, read, write};
    use halfpower_model::sample::WorkerTotals;
    use halfpower_model::{Nanoseconds, Workload};

    #[test]
    fn the_warm_up_is_on_both_sides() {
        let mut run = Run::default();
        // 1000 requests counted, 1500 submitted, and the device read all of those twice, 8 KiB at a time.
        run.add(read(4), &[4_096_000.0]);
        run.device_reads(0, |_| (1500, 1500 * 8192));
        let sample = &mut run.samples[0].sample;
        sample.workload.warmup = Nanoseconds(500_000_000);
        assert!(DeviceReads::of(sample).is_none(), "the requests of the warm-up are unknown");
        sample.workers = vec![WorkerTotals { submitted: 1500, ..WorkerTotals::default() }];
        let reads = DeviceReads::of(sample).unwrap();
        assert_eq!((reads.per_byte, reads.per_request, reads.bytes_each), (2.0, 1.0, Some(8192.0)));
        sample.workload.sizes = "4KiB:1/8KiB:1".parse().unwrap();
        assert!(DeviceReads::of(sample).is_none(), "of several sizes");
    }

    #[test]
    fn what_was_for_others_is_reported_of_direct_requests_alone() {
        let shares = |workload: Workload, bytes: u64| {
            let mut run = Run::of([(workload, [4_096_000.0])]);
            run.device_reads(0, |_| (1000, bytes));
            share_for_others(&run.samples[0].sample)
        };
        // 1000 requests of 4 KiB and one that may be outstanding.
        assert_eq!(shares(read(4), 4 * 1001 * 4096), Some(0.75));
        assert_eq!(shares(read(4), 1000 * 4096), Some(0.0));
        assert_eq!(shares(buffered(read(4)), 4 * 1001 * 4096), None, "it may have been read ahead");
        assert_eq!(shares(write(4), 4 * 1001 * 4096), Some(0.75), "whatever it read and wrote");
        assert_eq!(
            shares(Workload { durability: Durability::Fsync { every: 1 }, ..write(4) }, 4 * 1001 * 4096),
            None,
            "a journal's"
        );
        let mut run = Run::of([(read(4), [4_096_000.0])]);
        run.device_reads(0, |_| (1000, 4 * 1001 * 4096));
        run.samples[0].sample.environment.target.kind = TargetKind::Simulated;
        assert_eq!(share_for_others(&run.samples[0].sample), None, "there is nobody else");
    }
}
