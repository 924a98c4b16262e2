//! Which of the waiting requests is next.
//!
//! Sources: Denning, "Effects of scheduling on file memory operations" (1967) for the shortest seek; Merten (1970) for the
//! circular scan; Seltzer, Chen and Ousterhout, "Disk scheduling revisited" (1990) and Jacobson and Wilkes (1991) for the
//! shortest positioning time.

use super::arm::{Mechanics, Position};
use super::geometry::{Geometry, Place, SAME_ANGLE};
use crate::command::Direction;
use crate::table::named;

/// The tag of what the write cache puts on the medium: nobody waits for it.
pub(super) const CACHED: u32 = u32::MAX;

named! {
/// The order in which waiting requests are served.
pub enum Scheduler {
    /// As they came.
    Fcfs = "fcfs",
    /// Upwards from where the arm is, then again from the lowest.
    CLook = "c-look",
    /// The fewest cylinders away.
    Sstf = "sstf",
    /// The shortest time until the first block comes by; of reads that go on with one another the first before the others.
    Sptf = "sptf",
}
}

/// A command in the queue.
#[derive(Clone, Copy, Debug)]
pub struct Waiting {
    /// Tag of the command.
    pub tag: u32,
    /// First block.
    pub block: u64,
    /// Number of blocks.
    pub count: u64,
    /// Direction of the transfer.
    pub direction: Direction,
    /// Where its first block is.
    pub place: Place,
    /// Since when the front of the same read can go to the host; none if the buffer held no front.
    pub begins_ns: Option<u64>,
    /// When the drive received it; of an extent of the write cache: its data.
    pub received_ns: u64,
    /// When the electronics have processed it: the arm leaves no sooner.
    pub ready_ns: u64,
}

impl Waiting {
    /// The block after its last.
    pub(super) fn end(&self) -> u64 {
        self.block + self.count
    }

    /// Whether somebody waits until it is on the medium.
    pub(super) fn is_plain_write(&self) -> bool {
        self.direction == Direction::Write && self.tag != CACHED
    }

    /// Both as one, since the earlier was received.
    pub(super) fn with(self, other: &Waiting) -> Waiting {
        let end = self.end().max(other.end());
        let first = if other.block < self.block { *other } else { self };
        Waiting { count: end - first.block, received_ns: self.received_ns.min(other.received_ns), ..first }
    }

    /// The buffer has so many more of its first blocks.
    pub(super) fn skip(&mut self, geometry: &Geometry, now_ns: u64, blocks: u64) {
        (self.block, self.count) = (self.block + blocks, self.count - blocks);
        self.place = geometry.place(self.block);
        self.begins_ns.get_or_insert(now_ns);
    }
}

/// The index of the next command in a queue in the order of arrival; none of an empty one. The arm is at a position after a
/// block, and reads this many blocks ahead.
pub(super) fn choose(
    scheduler: Scheduler,
    queue: &[Waiting],
    (mechanics, from, last_block): (&Mechanics, Position, u64),
    ahead_blocks: u64,
    now_ns: u64,
) -> Option<usize> {
    if queue.len() < 2 {
        return queue.len().checked_sub(1);
    }
    let least = |key: &dyn Fn(&Waiting) -> u64| (0..queue.len()).min_by_key(|index| key(&queue[*index]));
    match scheduler {
        Scheduler::Fcfs => Some(0),
        // Those below come after all above: the distance upwards wraps around.
        Scheduler::CLook => least(&|waiting| waiting.block.wrapping_sub(last_block)),
        Scheduler::Sstf => least(&|waiting| u64::from(waiting.place.cylinder.abs_diff(from.cylinder))),
        Scheduler::Sptf => {
            let all = soonest(queue, mechanics, from, now_ns)?;
            // In the middle of what is read as one, as a long request in pieces, the arm would have to come back.
            let follows = |waiting: &Waiting| waiting.count <= ahead_blocks && follows(queue, waiting);
            if !follows(&queue[all]) {
                return Some(all);
            }
            let first: Vec<usize> = (0..queue.len()).filter(|index| !follows(&queue[*index])).collect();
            let beginnings: Vec<Waiting> = first.iter().map(|index| queue[*index]).collect();
            soonest(&beginnings, mechanics, from, now_ns).map(|index| first[index])
        }
    }
}

/// From so many on it pays to look at near ones first, and to know how far is too far.
const MANY: usize = 64;
/// About how many of them are near.
const NEAR: usize = 32;

/// The place of the one whose first block comes by first, and of those that come at the same time the first.
fn soonest(queue: &[Waiting], mechanics: &Mechanics, from: Position, now_ns: u64) -> Option<usize> {
    let takes_ns = |waiting: &Waiting| {
        let leaves_ns = waiting.ready_ns.max(now_ns);
        leaves_ns - now_ns + mechanics.positioning_ns(from, leaves_ns, &waiting.place, waiting.direction)
    };
    if queue.len() < MANY {
        return (0..queue.len()).min_by_key(|index| takes_ns(&queue[*index]));
    }
    let distance = |waiting: &Waiting| u64::from(from.cylinder.abs_diff(waiting.place.cylinder));
    // As far as so many of them lie where they lie evenly: up to twice as far as they do on average.
    let sample = queue.iter().step_by(queue.len() / NEAR).map(distance);
    let near = 2 * sample.sum::<u64>() / queue.len() as u64;
    let (mut soonest, mut least_ns, mut reaches, mut are_there) = (None, u64::MAX, [u64::MAX; 2], [false; 2]);
    for is_near in [true, false] {
        for (index, waiting) in queue.iter().enumerate() {
            let (distance, kind) = (distance(waiting), usize::from(waiting.direction == Direction::Write));
            are_there[kind] = true;
            if (distance <= near) != is_near || distance > reaches[kind] {
                continue;
            }
            let takes_ns = takes_ns(waiting);
            if (takes_ns, Some(index)) < (least_ns, soonest.or(Some(usize::MAX))) {
                (soonest, least_ns) = (Some(index), takes_ns);
                // Positioning was rounded down, and the same angle may be a little before.
                let moving_ns = takes_ns + 2 + (SAME_ANGLE * mechanics.turn_ns) as u64;
                reaches = [0, mechanics.write_settle_ns]
                    .map(|settling_ns| u64::from(mechanics.seeks.reach(moving_ns.saturating_sub(settling_ns))));
            }
        }
        if (0..2).all(|kind| !are_there[kind] || reaches[kind] <= near) {
            break;
        }
    }
    soonest
}

/// Whether a read begins where another one that waits ends.
fn follows(queue: &[Waiting], waiting: &Waiting) -> bool {
    let ends_there = |one: &Waiting| one.block + one.count == waiting.block && one.direction == Direction::Read;
    waiting.direction == Direction::Read && queue.iter().fold(false, |follows, one| follows | ends_there(one))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::arm::tests::slow;
    use halfpower_model::random::Random;

    fn waiting(direction: Direction, block: u64, count: u64) -> Waiting {
        let place = slow(false).geometry.place(block);
        Waiting { tag: 0, block, count, direction, place, begins_ns: None, received_ns: 0, ready_ns: 0 }
    }

    fn over(block: u64) -> Position {
        let place = slow(false).geometry.place(block);
        Position { cylinder: place.cylinder, head: place.head }
    }

    /// The first block of the one that is chosen, by an arm just after a block that reads on for so many.
    fn chosen(scheduler: Scheduler, queue: &[Waiting], from_block: u64, reads_on_blocks: u64) -> u64 {
        let drive = slow(false);
        queue[choose(scheduler, queue, (&drive, over(from_block), from_block), reads_on_blocks, 0).unwrap()].block
    }

    #[test]
    fn each_chooses_its_own() {
        // Cylinders 95, 10, 39, 45 from cylinder 40.
        let of = |scheduler, blocks: &[u64], from| {
            let queue: Vec<_> = blocks.iter().map(|block| waiting(Direction::Read, *block, 1)).collect();
            chosen(scheduler, &queue, from, 0)
        };
        let blocks = [1900, 200, 785, 905];
        assert_eq!(of(Scheduler::Fcfs, &blocks, 800), 1900);
        assert_eq!(of(Scheduler::CLook, &blocks, 800), 905);
        assert_eq!(of(Scheduler::CLook, &blocks, 1901), 200, "from the lowest again");
        assert_eq!(of(Scheduler::Sstf, &blocks, 800), 785);
        // Block 800 lies at angle 0; 801 comes by in 1 ms, the nearest cylinder only after its seek.
        assert_eq!(of(Scheduler::Sptf, &[785, 801, 20], 800), 801);
    }

    #[test]
    fn a_long_read_in_pieces_begins_with_its_first() {
        let of = |direction, reads_on_blocks, pieces: &[u64]| {
            let queue: Vec<_> = pieces.iter().map(|block| waiting(direction, *block, 2)).collect();
            chosen(Scheduler::Sptf, &queue, 800, reads_on_blocks)
        };
        // The arm is over cylinder 40, at the angle of block 800.
        let pieces = [1200, 807, 805, 803, 801, 799];
        assert_eq!(of(Direction::Read, 2, &pieces), 799, "though it has just gone");
        assert_eq!(of(Direction::Read, 1, &pieces), 801, "it would not read on so far");
        assert_eq!(of(Direction::Write, 2, &pieces), 801, "nor does it write on");
        assert_eq!(of(Direction::Read, 2, &[807, 805, 1207, 1205, 1203]), 805, "whichever of the first is sooner");
    }

    #[test]
    fn the_soonest_is_that_of_all_that_are_looked_at() {
        let drive = slow(false);
        let mut random = Random::new(7);
        for round in 0..600 {
            // All over, and within a few cylinders; of one direction and of both.
            let below = if round % 3 == 0 { 150 } else { 1900 };
            let from = over(random.below(1900));
            let any = |_| {
                let block = random.below(below);
                let is_read = round % 2 == 0 && random.below(2) == 0;
                waiting(if is_read { Direction::Read } else { Direction::Write }, block, 1)
            };
            let queue: Vec<_> = (0..[80, 63, 64, 700][round % 4]).map(any).collect();
            let takes_ns = |one: &Waiting| drive.positioning_ns(from, 12_345_678, &one.place, one.direction);
            let least = (0..queue.len()).min_by_key(|index| takes_ns(&queue[*index]));
            assert_eq!(soonest(&queue, &drive, from, 12_345_678), least);
        }
    }
    #[test]
    fn nothing_waits_nothing_is_chosen() {
        let drive = slow(false);
        assert_eq!(choose(Scheduler::Sptf, &[], (&drive, Position::default(), 0), 0, 0), None);
    }
}
