//! Which the arm serves next.
//!
//! What has waited for too long goes before all, else the scheduler chooses. While reads wait, a write that waits for room in a full write
//! cache is as good as one without a cache: it may go to the medium past what the cache holds. Among writes alone, who has room goes
//! first: a write that waits for room is a command that waits in the drive, and the scheduler chooses among them too.

use super::scheduler::{CACHED, Waiting, choose};
use super::{Disk, PATIENCE_TURNS, WriteCache};

/// Where the next one waits.
#[derive(Clone, Copy, Debug)]
pub(super) enum Next {
    /// At a place of the queue.
    Queued(usize),
    /// At a place among those that wait for room in the write cache.
    Parked(usize),
}

impl Disk {
    /// Takes it from where it waits.
    pub(super) fn take(&mut self, next: Next) -> Waiting {
        match next {
            Next::Queued(index) => self.queue.remove(index),
            Next::Parked(index) => self.parked.remove(index),
        }
    }

    /// One that has waited for too long, whatever the scheduler would choose: of those who wait for the medium the oldest, else the
    /// oldest of what the write cache has.
    pub(super) fn due(&self, now_ns: u64) -> Option<Next> {
        let first = self.queue.first()?;
        if let Some(index) = self.queue.iter().position(|waiting| waiting.tag != CACHED) {
            let parked = self.parked.first().filter(|parked| parked.received_ns < self.queue[index].received_ns);
            let (next, waits) =
                parked.map_or((Next::Queued(index), &self.queue[index]), |parked| (Next::Parked(0), parked));
            let commands = (self.queue.len() - self.pieces + self.parked.len()).min(self.most_commands);
            if self.is_due(now_ns, waits, commands) {
                return Some(next);
            }
        }
        self.is_due(now_ns, first, self.queue.len()).then_some(Next::Queued(0))
    }

    /// Whether one of so many has waited for too long.
    pub(super) fn is_due(&self, now_ns: u64, waiting: &Waiting, among: usize) -> bool {
        let waited_ns = now_ns.saturating_sub(waiting.received_ns) as f64;
        waited_ns > PATIENCE_TURNS * among as f64 * self.drive.mechanics.turn_ns
    }

    /// What the scheduler chooses of the queue, and while reads wait of those that wait for room as well.
    pub(super) fn choose(&self, now_ns: u64) -> Option<Next> {
        let drive = &*self.drive;
        let leaves_ns = |waiting: &Waiting| self.leaves_ns(waiting, now_ns);
        let arm = (&drive.mechanics, &leaves_ns, drive.buffer.reads_on_blocks());
        let at = (self.position, self.last_block);
        if self.parked.is_empty() || self.queue.len() == self.pieces {
            return choose(drive.scheduler, &self.queue, arm, at, now_ns).map(Next::Queued);
        }
        let places = (0..self.queue.len()).map(Next::Queued).chain((0..self.parked.len()).map(Next::Parked));
        let mut all: Vec<(Next, Waiting)> = places.zip(self.queue.iter().chain(&self.parked).copied()).collect();
        all.sort_by_key(|(_, waiting)| waiting.received_ns);
        let waiting: Vec<Waiting> = all.iter().map(|(_, waiting)| *waiting).collect();
        choose(drive.scheduler, &waiting, arm, at, now_ns).map(|index| all[index].0)
    }

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
