//! The number of requests that a worker submits with one call, where the workload leaves it to the worker (`auto`).
//!
//! While requests complete during their submission, as from the page cache, no device waits for a batch, and a call per request
//! costs CPU time only. Then everything outstanding returns at once, although the worker waits for less. On a disk the first
//! request should start before the next is prepared. libaio completes only buffered requests during their submission; of
//! direct ones all may return at once from a disk, and then a batch would follow a batch.

use halfpower_model::{Personality, SubmitBatch, Workload};

/// Reaps in a row that return everything outstanding, before the batch grows.
const ROUNDS: u32 = 8;

/// The largest batch: larger ones gain nothing, and their first requests wait longer.
const MOST: u32 = 32;

/// The size of batches, with its bounds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Batches {
    size: u32,
    least: u32,
    most: u32,
    /// Reaps until the batch grows.
    rounds: u32,
}

impl Batches {
    /// Batches of a workload: a given number stays. At a rate each request starts when it is due.
    pub(super) fn new(workload: &Workload) -> Self {
        let waits_for_a_disk = workload.personality == Personality::Libaio && workload.buffering.is_direct();
        let (least, most) = match workload.submit_batch {
            SubmitBatch::Requests(number) => (number, number),
            SubmitBatch::Auto if workload.rate.is_none() && !waits_for_a_disk => (1, workload.depth.min(MOST)),
            SubmitBatch::Auto => (1, 1),
        };
        Batches { size: least, least, most, rounds: ROUNDS }
    }

    /// The maximum of requests for one call.
    #[inline]
    pub(super) fn size(self) -> u32 {
        self.size
    }

    /// Takes note of a reap that waited for `at_least` of the outstanding requests and returned `done`.
    #[inline]
    pub(super) fn reaped(&mut self, done: usize, outstanding: u64, at_least: u32) {
        if (done as u64) < outstanding {
            (self.size, self.rounds) = (self.least, ROUNDS);
        } else if u64::from(at_least) < outstanding {
            self.rounds = self.rounds.saturating_sub(1);
            if self.rounds == 0 {
                self.size = self.most;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use halfpower_model::{Buffering, Rate};

    fn batches(submit_batch: &str, rate: Option<Rate>, depth: u32) -> Batches {
        let submit_batch = submit_batch.parse().unwrap();
        Batches::new(&Workload { submit_batch, rate, depth, ..Workload::default() })
    }

    #[test]
    fn batches_grow_while_requests_complete_during_their_submission() {
        let mut deep = batches("auto", None, 64);
        (0..9).for_each(|_| deep.reaped(64, 64, 1));
        assert_eq!(deep.size(), 32);
        let mut batches = batches("auto", None, 16);
        let mut sizes = |done, at_least| {
            let reap = |_| {
                batches.reaped(done, 16, at_least);
                batches.size()
            };
            (0..9).map(reap).collect::<Vec<u32>>()
        };
        let grown = [1, 1, 1, 1, 1, 1, 1, 16, 16];
        assert_eq!(sizes(16, 1), grown);
        assert_eq!(sizes(15, 1), [1; 9]);
        assert_eq!(sizes(16, 16), [1; 9], "it waited for all of them");
        assert_eq!(sizes(16, 15), grown);
        // The rounds are in a row.
        batches.reaped(1, 16, 1);
        for round in 0..99 {
            batches.reaped(if round % 8 == 7 { 15 } else { 16 }, 16, 1);
            assert_eq!(batches.size(), 1);
        }
    }

    #[test]
    fn direct_requests_of_libaio_go_by_themselves() {
        for (buffering, size) in [(Buffering::Direct, 1), (Buffering::None, 1), (Buffering::Buffered, 16)] {
            let workload = Workload { personality: Personality::Libaio, buffering, depth: 16, ..Workload::default() };
            let mut batches = Batches::new(&workload);
            (0..9).for_each(|_| batches.reaped(16, 16, 1));
            assert_eq!(batches.size(), size, "{buffering}");
        }
    }

    #[test]
    fn a_number_stays_and_requests_at_a_rate_go_by_themselves() {
        let kept = [("1", None, 1), ("4", None, 4), ("auto", Some(Rate::Requests(9)), 1)];
        for (said, rate, size) in kept {
            let mut batches = batches(said, rate, 32);
            for round in 0..99 {
                batches.reaped(if round < 50 { 32 } else { 1 }, 32, 1);
                assert_eq!(batches.size(), size, "{said}");
            }
        }
    }
}
