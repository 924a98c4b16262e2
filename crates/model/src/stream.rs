//! The request stream: which operation, where, how long. Made from a workload, a seed and a worker's number.
//!
//! Engine and simulator consume the same stream, so a run on either is the same work and replays exactly. Requests are
//! made in batches: what depends on the workload is decided once a batch, outside the loop that makes them.

use crate::random::{Random, derive_seed};
use crate::workload::{Operation, Pattern, Workload};

/// What one request does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Direction {
    /// Reads.
    Read = 0,
    /// Writes.
    Write = 1,
}

/// One request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// First byte, from the start of the target.
    pub offset: u64,
    /// Number of bytes.
    pub length: u32,
    /// Read or write.
    pub direction: Direction,
}

/// The endless stream of one worker's requests.
#[derive(Clone, Debug)]
pub struct RequestStream {
    offsets: Random,
    directions: Random,
    pattern: Pattern,
    operation: Operation,
    length: u32,
    /// First block of this worker's part, and how many blocks it has.
    first_block: u64,
    blocks: u64,
    /// Next block of a sequential stream, counted within the part.
    next_block: u64,
}

impl RequestStream {
    /// The stream of worker `worker` (from 0).
    ///
    /// # Panics
    /// When the span has no room for one request a worker; resolving a workload makes sure of it.
    pub fn new(workload: &Workload, worker: u32) -> Self {
        let total_blocks = workload.span.0 / workload.request_size.0;
        let (first_block, blocks) = match workload.pattern {
            Pattern::Random => (0, total_blocks),
            Pattern::Sequential => {
                let share = total_blocks / u64::from(workload.workers);
                (share * u64::from(worker), share)
            }
        };
        assert!(blocks > 0, "the span holds a request for every worker");
        let mut offsets = Random::new(derive_seed(workload.seed, u64::from(worker) * 2));
        RequestStream {
            next_block: offsets.below(blocks),
            offsets,
            directions: Random::new(derive_seed(workload.seed, u64::from(worker) * 2 + 1)),
            pattern: workload.pattern,
            operation: workload.operation,
            length: workload.request_size.0 as u32,
            first_block,
            blocks,
        }
    }

    /// Writes the next requests over all of `batch`.
    pub fn fill(&mut self, batch: &mut [Request]) {
        let length = u64::from(self.length);
        match self.pattern {
            Pattern::Random => {
                for request in batch.iter_mut() {
                    request.offset = self.offsets.below(self.blocks) * length;
                }
            }
            Pattern::Sequential => {
                for request in batch.iter_mut() {
                    request.offset = (self.first_block + self.next_block) * length;
                    self.next_block += 1;
                    if self.next_block == self.blocks {
                        self.next_block = 0;
                    }
                }
            }
        }
        match self.operation {
            Operation::Read => batch.iter_mut().for_each(|request| request.direction = Direction::Read),
            Operation::Write => batch.iter_mut().for_each(|request| request.direction = Direction::Write),
            Operation::Mix { read_percent } => {
                for request in batch.iter_mut() {
                    let read = self.directions.below(100) < u64::from(read_percent);
                    request.direction = if read { Direction::Read } else { Direction::Write };
                }
            }
        }
        batch.iter_mut().for_each(|request| request.length = self.length);
    }
}

impl Default for Request {
    fn default() -> Self {
        Request { offset: 0, length: 0, direction: Direction::Read }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Bytes;
    use crate::workload::tests_support::workload;
    use proptest::prelude::*;

    fn take(stream: &mut RequestStream, count: usize) -> Vec<Request> {
        let mut batch = vec![Request::default(); count];
        stream.fill(&mut batch);
        batch
    }

    #[test]
    fn sequential_covers_its_part_once_a_round() {
        let mut workload = workload();
        workload.workers = 3;
        workload.span = Bytes(4096 * 300);
        let mut offsets: Vec<u64> = (0..3)
            .flat_map(|worker| take(&mut RequestStream::new(&workload, worker), 100))
            .map(|request| request.offset)
            .collect();
        offsets.sort_unstable();
        assert_eq!(offsets, (0..300).map(|block| block * 4096).collect::<Vec<_>>());
    }

    #[test]
    fn sequential_goes_up_by_one_request_and_around_the_end() {
        let requests = take(&mut RequestStream::new(&workload(), 0), 600);
        let steps = requests.windows(2).filter(|pair| pair[1].offset == pair[0].offset + 4096).count();
        assert!(steps >= 596, "{steps}");
        assert!(requests.iter().any(|request| request.offset == 0));
    }

    #[test]
    fn a_mix_has_its_share_of_reads() {
        let mut workload = workload();
        workload.operation = Operation::Mix { read_percent: 70 };
        let requests = take(&mut RequestStream::new(&workload, 0), 100_000);
        let reads = requests.iter().filter(|request| request.direction == Direction::Read).count();
        assert!(reads.abs_diff(70_000) < 725, "{reads}");
    }

    #[test]
    fn random_is_even_over_the_span() {
        let mut workload = workload();
        workload.pattern = Pattern::Random;
        workload.span = Bytes(4096 * 16);
        let mut counts = [0_u32; 16];
        for request in take(&mut RequestStream::new(&workload, 0), 160_000) {
            counts[(request.offset / 4096) as usize] += 1;
        }
        assert!(counts.iter().all(|count| count.abs_diff(10_000) < 500), "{counts:?}");
    }

    proptest! {
        #[test]
        fn requests_stay_inside_and_replay(seed in any::<u64>(), size_shift in 0_u32..8, blocks in 8_u64..500,
                                           workers in 1_u32..8, random in any::<bool>()) {
            let mut workload = workload();
            workload.seed = seed;
            workload.request_size = Bytes(512 << size_shift);
            workload.span = Bytes(blocks * (512 << size_shift));
            workload.workers = workers;
            workload.pattern = if random { Pattern::Random } else { Pattern::Sequential };
            for worker in 0..workers {
                let whole = take(&mut RequestStream::new(&workload, worker), 50);
                prop_assert!(whole.iter().all(|r| r.offset + u64::from(r.length) <= workload.span.0));
                let mut again = RequestStream::new(&workload, worker);
                let mut parts = take(&mut again, 20);
                parts.extend(take(&mut again, 30));
                prop_assert_eq!(whole, parts);
            }
        }
    }
}
