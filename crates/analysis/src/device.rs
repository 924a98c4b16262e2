//! What the device moved for requests, by its own counters.
//!
//! They run from before the warm-up to after the flush, and other programs' requests are in them. So they are held
//! against all that was submitted, the warm-up included, and are the most that the requests can have caused. Said of one
//! kind of request and of one size alone: of a mix nobody knows which request caused what.

use crate::cells::Cell;
use crate::statistics::mean_estimate;
use halfpower_model::{Estimate, Quantity, Sample};

/// What the device read in one repetition.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DeviceReads {
    /// Its bytes for each byte that was submitted, of whatever operation.
    pub(crate) per_byte: f64,
    /// Its requests for each one that was submitted.
    pub(crate) per_request: f64,
    /// Bytes of each of its requests; none without any.
    pub(crate) bytes_each: Option<f64>,
}

impl DeviceReads {
    /// Of a sample; none where nobody counted.
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

    /// Of every repetition of a cell; empty where not each of them has its counts.
    pub(crate) fn of_cell(cell: &Cell<'_>) -> Vec<DeviceReads> {
        let all: Option<Vec<_>> = cell.repetitions.iter().map(|observed| DeviceReads::of(observed.sample)).collect();
        all.unwrap_or_default()
    }
}

/// The mean of a share or an amplification over the repetitions.
pub(crate) fn mean_ratio(reads: &[DeviceReads], figure: impl Fn(&DeviceReads) -> f64) -> Option<Estimate> {
    mean_estimate(Quantity::Ratio, &reads.iter().map(figure).collect::<Vec<_>>())
}

/// Requests of one size that were submitted, those of the warm-up too.
pub(crate) fn submitted(sample: &Sample) -> Option<u64> {
    let by_workers: u64 = sample.workers.iter().map(|worker| worker.submitted).sum();
    let completed =
        || (sample.workload.warmup.0 == 0 && sample.tells("total.requests")).then_some(sample.total.requests);
    let submitted = if by_workers > 0 { Some(by_workers) } else { completed() };
    submitted.filter(|requests| *requests > 0 && sample.workload.sizes.is_empty() && sample.workload.request_size.0 > 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::support::{Run, read};
    use halfpower_model::Nanoseconds;
    use halfpower_model::sample::WorkerTotals;

    #[test]
    fn the_warm_up_is_on_both_sides() {
        let mut run = Run::default();
        // 1000 requests counted, 1500 submitted, and the device read all of those twice, 8 KiB at a time.
        run.add(read(4), &[4_096_000.0]);
        run.device_reads(0, |_| (1500, 1500 * 8192));
        let sample = &mut run.samples[0].sample;
        sample.workload.warmup = Nanoseconds(500_000_000);
        assert!(DeviceReads::of(sample).is_none(), "of the warm-up's requests nobody tells");
        sample.workers = vec![WorkerTotals { submitted: 1500, ..WorkerTotals::default() }];
        let reads = DeviceReads::of(sample).unwrap();
        assert_eq!((reads.per_byte, reads.per_request, reads.bytes_each), (2.0, 1.0, Some(8192.0)));
        sample.workload.sizes = "4KiB:1/8KiB:1".parse().unwrap();
        assert!(DeviceReads::of(sample).is_none(), "of several sizes");
    }
}
