//! Evidence of read-modify-write: device reads while only writes were requested.
//!
//! The counters include other programs, which read larger pieces or more often. So every repetition must show reads of at most four
//! blocks each, at most 2.5 per write (both ends and metadata), and at least one per four writes or a quarter of the bytes
//! written. A program that reads single blocks at such a rate would be mistaken for it; read-modify-write below the counters, in a
//! parity array or a drive, is not seen.

use crate::cells::Cell;
use crate::device::{BLOCKS_EACH_MAX, DeviceReads, PER_REQUEST_MAX, mean_ratio};
use crate::statistics::mean;
use crate::wording::ratio_to;
use halfpower_model::units::significant;
use halfpower_model::{Bytes, Estimate, Operation, Quantity};

const SHARE_MIN: f64 = 0.25;

/// Alignment of requests to blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fit {
    /// Whole aligned blocks.
    Whole,
    /// Partial blocks.
    Parts,
    /// Whole blocks, misaligned.
    Across,
}

/// Device reads of writes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Proof {
    /// Bytes read per byte written.
    pub(super) per_byte: Estimate,
    /// Reads per write.
    pub(super) per_request: Estimate,
    /// Bytes per read.
    bytes_each: f64,
}

/// A page, or a larger block of the device.
pub(super) fn block(cell: &Cell<'_>) -> Bytes {
    crate::device::block(cell.repetitions.iter().map(|observed| observed.sample))
}

/// Alignment of a cell's requests.
pub(super) fn fit(cell: &Cell<'_>) -> Fit {
    let block = block(cell).0;
    let is_whole = |bytes: Bytes| bytes.0.is_multiple_of(block);
    let sizes = cell.workload.sizes.all().chain([cell.workload.request_size]);
    match (is_whole(cell.workload.grain()), sizes.into_iter().all(is_whole)) {
        (true, _) => Fit::Whole,
        (false, true) => Fit::Across,
        (false, false) => Fit::Parts,
    }
}

/// The evidence in a cell of writes, if there is any.
pub(super) fn proof(cell: &Cell<'_>) -> Option<Proof> {
    let reads = DeviceReads::of_cell(cell);
    let each_max = BLOCKS_EACH_MAX * block(cell).0 as f64;
    let shows = |reads: &DeviceReads| {
        reads.per_byte.max(reads.per_request) >= SHARE_MIN
            && reads.per_request <= PER_REQUEST_MAX
            && reads.bytes_each.is_some_and(|bytes| bytes <= each_max)
    };
    if cell.workload.operation != Operation::Write || !reads.iter().all(shows) {
        return None;
    }
    let per_byte = mean_ratio(&reads, |reads| reads.per_byte)?;
    let each: Vec<f64> = reads.iter().filter_map(|reads| reads.bytes_each).collect();
    let per_request = mean_ratio(&reads, |reads| reads.per_request)?;
    Some(Proof { per_byte, per_request, bytes_each: mean(&each)? })
}

impl Proof {
    /// `the device reads 7.1 times [7 to 7.2] the bytes written`.
    pub(super) fn brief(&self) -> String {
        format!("the device reads {}", ratio_to(self.per_byte, "the bytes written"))
    }

    /// The same with `, 0.88 reads of 4 KiB per write`.
    pub(super) fn words(&self) -> String {
        let count = significant(self.per_request.value);
        let each = Quantity::RequestSizeBytes.format(self.bytes_each);
        format!("{}, {count} reads of {each} per write", self.brief())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cells::gather;
    use crate::fixtures::{Run, buffered, random, read, write};
    use halfpower_model::Workload;

    /// Whether this number of device reads and bytes is proof for 1000 writes of 512 bytes.
    fn is_proof(counts: &[(u64, u64)]) -> bool {
        let mut run = Run::default();
        let small = Workload { request_size: Bytes(512), ..buffered(random(write(1))) };
        run.add(small, &vec![512_000.0; counts.len()]);
        run.device_reads(0, |block| counts[block as usize]);
        let observed = run.observed();
        let cells = gather(&observed);
        proof(&cells[0]).is_some()
    }

    #[test]
    fn only_what_the_writes_can_have_caused_is_proof() {
        assert!(is_proof(&[(1000, 4_096_000), (880, 880 * 4096)]));
        assert!(is_proof(&[(125, 512_000)]), "in sequence: each block once");
        assert!(!is_proof(&[(0, 0)]));
        assert!(!is_proof(&[(1000, 4_096_000), (10, 40_960)]), "not in every repetition");
        assert!(!is_proof(&[(1000, 128 << 20)]), "a program that reads much at once");
        assert!(!is_proof(&[(4000, 4000 * 4096)]), "more often than the writes could");
    }

    #[test]
    fn reads_that_were_asked_for_prove_nothing() {
        let mut run = Run::of([(read(4), [4_096_000.0])]);
        run.device_reads(0, |_| (1000, 4_096_000));
        run.add(write(4), &[4_096_000.0]);
        let observed = run.observed();
        let cells = gather(&observed);
        assert!(proof(&cells[0]).is_none());
        assert!(proof(&cells[1]).is_none(), "nobody counted");
    }

    #[test]
    fn requests_lie_on_blocks_or_across_them() {
        let fits = |workload| {
            let run = Run::of([(workload, [1e6])]);
            fit(&gather(&run.observed())[0])
        };
        assert_eq!(fits(write(4)), Fit::Whole);
        assert_eq!(fits(Workload { offset: Bytes(8192), ..write(64) }), Fit::Whole);
        assert_eq!(fits(Workload { offset: Bytes(512), ..write(64) }), Fit::Across);
        assert_eq!(fits(Workload { align: Some(Bytes(512)), ..random(write(64)) }), Fit::Across);
        assert_eq!(fits(write(2)), Fit::Parts);
        assert_eq!(fits(write(6)), Fit::Parts);
        let mut run = Run::of([(write(4), [1e6])]);
        run.samples[0].sample.environment.target.logical_block_bytes = Some(Bytes(16_384));
        assert_eq!(fit(&gather(&run.observed())[0]), Fit::Parts);
    }
}
