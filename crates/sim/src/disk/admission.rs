//! Who is next to have room in a write cache that was full.
//!
//! A write that waits for room is a command that waits in the drive, as good as one without a cache: the scheduler chooses among them.

use super::scheduler::{Waiting, choose};
use super::{Disk, WriteCache};

impl Disk {
    /// Those that waited for room in the write cache get what there is, each with what goes on with it, unless a flush waits.
    pub(super) fn unpark(&mut self, now_ns: u64) {
        let Some(room) = self.drive.write_cache.filter(|_| self.flushes.is_empty()) else { return };
        while let Some(first) = self.next_parked(now_ns) {
            let mut next = Some(first);
            while let Some(index) = next {
                let Some(end) = self.leave_parked(now_ns, index, room) else { return };
                next = self.parked.iter().position(|waiting| waiting.block == end);
            }
        }
    }

    /// One of them has room, if there is: then where it ends.
    fn leave_parked(&mut self, now_ns: u64, index: usize, room: WriteCache) -> Option<u64> {
        let waiting = self.parked[index];
        self.is_cached(now_ns.max(waiting.received_ns), &waiting, room).then(|| self.parked.remove(index).end())
    }

    /// The place of the next: of what has waited for too long; else of what goes on with what the arm has just written, if the drive is
    /// ready for it, as the arm would lose a turn otherwise; else of what the scheduler has the arm serve, among those that had come
    /// when it left for the one before, since the drive chooses while the arm is at that. Of a stream it is the first.
    fn next_parked(&self, now_ns: u64) -> Option<usize> {
        if self.is_due(now_ns, self.parked.first()?, self.parked.len()) {
            return Some(0);
        }
        let goes_on = |waiting: &Waiting| waiting.block == self.last_block && waiting.received_ns <= now_ns;
        if let Some(index) = self.parked.iter().position(goes_on) {
            return Some(index);
        }
        let known = self.parked.partition_point(|waiting| waiting.received_ns <= self.left_ns).max(1);
        let leaves_ns = |waiting: &Waiting| waiting.received_ns.max(now_ns);
        let arm = (&self.drive.mechanics, &leaves_ns, 0);
        let at = (self.position, self.last_block);
        let mut index = choose(self.drive.scheduler, &self.parked[..known], arm, at, now_ns)?;
        while let Some(before) = self.parked[..index].iter().position(|one| one.end() == self.parked[index].block) {
            index = before;
        }
        Some(index)
    }
}
