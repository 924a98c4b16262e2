//! What is to happen, in the order of time; what was asked for first is first of those of one moment.
//!
//! Few events are to come at a time, and a new one is mostly later than all of them: the soonest are in a row, to which it is
//! added from the end. A heap has what the row has no room for..

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// What happens next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Event {
    /// A worker issues its next request.
    Issue { worker: u32 },
    /// A request's CPU time is spent: it goes to the cache, or its portions set out.
    Dispatch { request: u32 },
    /// A request has passed the page cache or the server's CPUs, and goes to its disks.
    Through { request: u32 },
    /// The lazy writer may scan.
    LazyWriter,
    /// A portion is at the controller that makes the volume.
    Launch { portion: u32 },
    /// A piece is at the controller that stores it.
    Queue { piece: u32 },
    /// A piece is at its disk: the command of a read, the bytes of a write.
    Arrive { piece: u32 },
    /// A disk's arm is free.
    Disk { disk: u32 },
    /// The bytes of a read begin to move.
    Transfer { piece: u32 },
    /// A disk has done a piece: its bytes have left it, or are in it.
    Done { piece: u32 },
    /// A piece's bytes are in memory.
    Finish { piece: u32 },
    /// A portion's are.
    Portion { portion: u32 },
    /// A request is at the server of its share.
    AtServer { request: u32 },
    /// It is on its way back.
    Answer { request: u32 },
    /// The program sees its request done.
    Complete { request: u32 },
}

/// How many places the row has.
const ROW: usize = 32;

/// An event and when it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Due {
    at_ns: u64,
    /// How many were made before it.
    made: u64,
    event: Event,
}

/// Events that are to come.
#[derive(Debug, Default)]
pub(super) struct Events {
    /// The soonest, in their order,
    row: Vec<Due>,
    /// but for so many that have been.
    past: usize,
    /// Those that are not before the last of the row.
    later: BinaryHeap<Reverse<Due>>,
    made: u64,
}

impl Events {
    /// One more, which is not before the last that was taken.
    pub(super) fn put(&mut self, at_ns: u64, event: Event) {
        let due = Due { at_ns, made: self.made, event };
        self.made += 1;
        if self.later.peek().is_some_and(|Reverse(soonest)| soonest.at_ns <= at_ns) {
            return self.later.push(Reverse(due));
        }
        if self.row.len() == ROW {
            self.make_room();
        }
        let mut place = self.row.len();
        self.row.push(due);
        while place > self.past && self.row[place - 1].at_ns > at_ns {
            self.row[place] = self.row[place - 1];
            place -= 1;
        }
        self.row[place] = due;
        if self.row.len() > ROW {
            self.later.extend(self.row.pop().map(Reverse));
        }
    }

    /// A row whose first places are free begins with them again.
    #[cold]
    fn make_room(&mut self) {
        self.row.drain(..std::mem::take(&mut self.past));
    }

    /// The next, and when it is.
    pub(super) fn take(&mut self) -> Option<(u64, Event)> {
        let Some(due) = self.row.get(self.past) else {
            return self.later.pop().map(|Reverse(due)| (due.at_ns, due.event));
        };
        let next = (due.at_ns, due.event);
        self.past += 1;
        if self.past == self.row.len() {
            self.past = 0;
            self.row.clear();
        }
        Some(next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn they_come_in_the_order_of_time_and_of_their_making(
            steps in proptest::collection::vec((0_u64..40, 0_usize..4), 1..120),
        ) {
            let (mut events, mut plain, mut now_ns) = (Events::default(), Vec::new(), 0);
            let (mut taken, mut sorted) = (Vec::new(), Vec::new());
            for (number, (ahead_ns, takes)) in steps.into_iter().enumerate() {
                // Three are made for each two that are taken, so that the row runs over.
                for number in [3 * number, 3 * number + 1, 3 * number + 2] {
                    let at_ns = now_ns + ahead_ns * (number as u64 % 3);
                    events.put(at_ns, Event::Disk { disk: number as u32 });
                    plain.push((at_ns, number as u32));
                }
                for _ in 0..takes {
                    plain.sort_unstable();
                    sorted.extend((!plain.is_empty()).then(|| plain.remove(0)));
                    let Some((at_ns, Event::Disk { disk })) = events.take() else { break };
                    taken.push((at_ns, disk));
                    now_ns = at_ns;
                }
            }
            plain.sort_unstable();
            sorted.extend(plain);
            while let Some((at_ns, Event::Disk { disk })) = events.take() {
                taken.push((at_ns, disk));
            }
            prop_assert_eq!(taken, sorted);
        }
    }
}
