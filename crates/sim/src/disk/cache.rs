//! A drive's read buffer: segments, one of which a read-ahead may still be filling.
//!
//! A read-ahead is the medium passing on behind a read, so how far it has come follows from the time since. It ends at its
//! limit, or when the arm leaves. A read within it, or behind it, is served by reading on, if that is sooner than an access. A
//! read of which the buffer holds the front gets the rest from the medium, which then extends the segment: so an interrupted
//! stream goes on.
//! Source: Ruemmler and Wilkes (1994), on the effects of buffers; Worthington et al. (1995), on partial hits.

use super::geometry::{Geometry, wait};
use std::ops::Range;

/// A read buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadBuffer {
    /// Number of segments; 0: nothing is kept.
    pub segments: usize,
    /// Blocks of each.
    pub segment_blocks: u64,
    /// Maximum read-ahead in blocks; at most a segment.
    pub read_ahead_blocks: u64,
    /// Read-ahead in blocks behind a read that continues a segment, although others wait: SCSI's minimum pre-fetch.
    pub least_ahead_blocks: u64,
    /// Whether it delivers data more than once.
    pub again: bool,
}

/// What the buffer holds of a read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// All of it.
    All {
        /// From when on: now, or when the read-ahead has passed it.
        ready_ns: u64,
        /// Whether it was delivered before.
        again: bool,
    },
    /// This many of its first blocks.
    Front {
        /// Number of blocks.
        blocks: u64,
    },
    /// Not its first block.
    Nothing,
}

/// Blocks in the buffer, from the first to before the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Segment {
    first: u64,
    end: u64,
    /// Those before it were delivered.
    given: u64,
}

/// A segment that the medium passes on into.
#[derive(Clone, Copy, Debug)]
struct Filling {
    /// First block that is kept.
    first: u64,
    /// Whether it continues a segment.
    continues: bool,
    /// Those before it were delivered, or promised; the same as a stream position.
    given: u64,
    given_turns: f64,
    /// Block at which the read-ahead began, as a stream position, and the time.
    from_block: u64,
    from_turns: f64,
    from_ns: u64,
    /// It goes up to before this block.
    limit: u64,
}

/// The read buffer with its content.
#[derive(Clone, Debug)]
pub struct ReadCache {
    filling: Option<Filling>,
    /// The least recently used first.
    idle: Vec<Segment>,
    size: ReadBuffer,
    turn_ns: f64,
    /// How long the medium read ahead what was delivered.
    useful_ns: u64,
}

impl ReadBuffer {
    /// How far the drive reads ahead, in blocks.
    pub fn ahead_blocks(&self) -> u64 {
        if self.segments == 0 { 0 } else { self.read_ahead_blocks.min(self.segment_blocks) }
    }
}

impl ReadCache {
    /// An empty one of a drive with this rotation time.
    pub fn new(size: ReadBuffer, turn_ns: f64) -> ReadCache {
        ReadCache { filling: None, idle: Vec::with_capacity(size.segments), size, turn_ns, useful_ns: 0 }
    }

    /// What there is of these blocks; what is found counts as delivered. `access_ns` tells when an arm that leaves now, just
    /// after a block, reaches the first of them; none if the arm may not read on for them.
    pub fn find(
        &mut self,
        geometry: &Geometry,
        now_ns: u64,
        blocks: Range<u64>,
        access_ns: Option<&dyn Fn(u64) -> u64>,
    ) -> Found {
        let found = self.find_ahead(geometry, now_ns, &blocks, access_ns);
        if found != Found::Nothing {
            return found;
        }
        let delivers = self.size.again;
        let has = |segment: &Segment| {
            (segment.first..segment.end).contains(&blocks.start) && (delivers || blocks.start >= segment.given)
        };
        let Some(index) = self.idle.iter().position(has) else { return Found::Nothing };
        let mut segment = self.idle.remove(index);
        let (end, again) = (blocks.end.min(segment.end), blocks.start < segment.given);
        self.useful_ns += passing_ns(geometry, self.turn_ns, segment.given, end);
        segment.given = segment.given.max(end);
        self.idle.push(segment);
        if end < blocks.end {
            return Found::Front { blocks: end - blocks.start };
        }
        Found::All { ready_ns: now_ns, again }
    }

    /// The same of the read-ahead alone.
    fn find_ahead(
        &mut self,
        geometry: &Geometry,
        now_ns: u64,
        blocks: &Range<u64>,
        access_ns: Option<&dyn Fn(u64) -> u64>,
    ) -> Found {
        let (turn_ns, block, end) = (self.turn_ns, blocks.start, blocks.end);
        let Some(mut filling) = self.filling else { return Found::Nothing };
        let passed = filling.passed(geometry, turn_ns, now_ns);
        let kept_from = filling.first.max(passed.saturating_sub(self.size.segment_blocks));
        let again = block < filling.given;
        if block < kept_from || (again && !self.size.again) {
            return Found::Nothing;
        }
        if let Some(access_ns) = access_ns {
            let limit = filling.limit.max((end + self.size.ahead_blocks()).min(geometry.blocks()));
            if limit > filling.limit {
                if passed == filling.limit {
                    filling.resume(geometry, turn_ns, now_ns);
                }
                filling.limit = limit;
            }
            let head = passed.max(filling.given);
            if block > passed && filling.begins_ns(geometry, turn_ns, block) > access_ns(head) {
                return Found::Nothing;
            }
        }
        let reads_on = access_ns.is_some() || end <= filling.given;
        let end = if reads_on { end } else { end.min(passed) };
        if end <= block {
            return Found::Nothing;
        }
        let mut ready_ns = now_ns;
        if end > filling.given.min(passed) {
            let end_turns = geometry.turns_after(end - 1);
            if end > passed {
                ready_ns = filling.at_ns(turn_ns, end_turns).max(now_ns);
            }
            if end > filling.given {
                self.useful_ns += ((end_turns - filling.given_turns) * turn_ns) as u64;
                (filling.given, filling.given_turns) = (end, end_turns);
            }
        }
        self.filling = Some(filling);
        if end < blocks.end { Found::Front { blocks: end - block } } else { Found::All { ready_ns, again } }
    }

    /// The block after the last that a read-ahead has passed or promised; none without one.
    pub fn head(&self, geometry: &Geometry, now_ns: u64) -> Option<u64> {
        self.filling.map(|filling| filling.passed(geometry, self.turn_ns, now_ns).max(filling.given))
    }

    /// Until when the read-ahead of a stream goes on although others wait.
    pub fn least_until_ns(&self, geometry: &Geometry) -> Option<u64> {
        let filling = self.filling.filter(|filling| filling.continues && self.size.least_ahead_blocks > 0)?;
        let end = (filling.given + self.size.least_ahead_blocks).min(filling.limit);
        Some(filling.at_ns(self.turn_ns, geometry.turns_after(end - 1)))
    }

    /// When the read-ahead comes to its limit.
    pub fn until_ns(&self, geometry: &Geometry) -> Option<u64> {
        self.filling.map(|filling| filling.at_ns(self.turn_ns, geometry.turns_after(filling.limit - 1)))
    }

    /// The arm leaves [`head`](ReadCache::head): the read-ahead ends there.
    pub fn stop(&mut self, head: u64) {
        let Some(Filling { first, given, .. }) = self.filling.take() else { return };
        let first = first.max(head.saturating_sub(self.size.segment_blocks));
        self.add(Segment { first, end: head, given });
    }

    fn add(&mut self, segment: Segment) {
        if self.idle.len() == self.size.segments {
            self.idle.remove(0);
        }
        self.idle.push(segment);
    }

    /// The medium delivered these blocks at `now_ns`, the last of them ending at a stream position; the drive reads on behind
    /// them. No read-ahead may be under way.
    pub fn keep(&mut self, geometry: &Geometry, now_ns: u64, block: u64, count: u64, from_turns: f64) {
        if self.size.segments == 0 {
            return;
        }
        let end = block + count;
        let extends = |segment: &Segment| (segment.first..=segment.end).contains(&block);
        let before = self.idle.iter().position(extends).map(|index| self.idle.remove(index));
        let first = before.map_or(block, |segment| segment.first);
        let first = first.max(end.saturating_sub(self.size.segment_blocks));
        let limit = (end + self.size.ahead_blocks()).min(geometry.blocks());
        if limit == end {
            return self.add(Segment { first, end, given: end });
        }
        // An access that began mid-track ended mid-track: its last block passes again later.
        let waiting_ns = wait(now_ns as f64 / self.turn_ns, from_turns) * self.turn_ns;
        let from_ns = now_ns + waiting_ns as u64;
        let (continues, given, given_turns, from_block) = (before.is_some(), end, from_turns, end);
        let filling = Filling { first, continues, given, given_turns, from_block, from_turns, from_ns, limit };
        self.filling = Some(filling);
    }

    /// How long the medium read ahead what was delivered. Other read-ahead does not count: the arm leaves it at once.
    pub fn useful_ns(&self) -> u64 {
        self.useful_ns
    }

    /// These blocks are written: the buffer's copy of them is stale.
    pub fn forget(&mut self, block: u64, count: u64) {
        self.idle.retain(|segment| segment.end <= block || block + count <= segment.first);
    }
}

/// How long the medium takes from one block to before another, which may be no further.
fn passing_ns(geometry: &Geometry, turn_ns: f64, from: u64, end: u64) -> u64 {
    if end <= from || from == 0 {
        return 0;
    }
    ((geometry.turns_after(end - 1) - geometry.turns_after(from - 1)) * turn_ns) as u64
}

impl Filling {
    /// A read-ahead that stopped at its limit goes on when the next block comes by again; at once if that is now, to the
    /// rounding of a nanosecond.
    fn resume(&mut self, geometry: &Geometry, turn_ns: f64, now_ns: u64) {
        let until_limit_ns = (geometry.turns_after(self.limit - 1) - self.from_turns) * turn_ns;
        if now_ns.saturating_sub(self.from_ns) as f64 <= until_limit_ns + 1.0 {
            return;
        }
        let place = geometry.place(self.limit);
        let comes_ns = geometry.comes_after(now_ns as f64 / turn_ns, &place) * turn_ns;
        (self.from_block, self.from_turns, self.from_ns) = (self.limit, place.turns, now_ns.max(comes_ns as u64));
    }

    /// The block after the last that has passed.
    fn passed(&self, geometry: &Geometry, turn_ns: f64, now_ns: u64) -> u64 {
        let turns = self.from_turns + now_ns.saturating_sub(self.from_ns) as f64 / turn_ns;
        geometry.blocks_before(turns).clamp(self.from_block, self.limit)
    }

    /// When a block begins to pass.
    fn begins_ns(&self, geometry: &Geometry, turn_ns: f64, block: u64) -> u64 {
        self.from_ns + ((geometry.place(block).turns - self.from_turns).max(0.0) * turn_ns) as u64
    }

    /// When the medium has come to a stream position.
    fn at_ns(&self, turn_ns: f64, turns: f64) -> u64 {
        self.from_ns + ((turns - self.from_turns).max(0.0) * turn_ns + 0.5) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::arm::tests::slow;

    const MS: u64 = 1_000_000;

    /// Sectors of 1 ms, ten a track with a shift of two; segments of 20 blocks, 8 ahead, and a read of 4 at 4 ms.
    fn cache() -> (ReadCache, Geometry) {
        let disk = slow(false).geometry;
        let size =
            ReadBuffer { segments: 3, segment_blocks: 20, read_ahead_blocks: 8, least_ahead_blocks: 0, again: true };
        let mut cache = ReadCache::new(size, 10e6);
        keep(&mut cache, &disk, 4 * MS, 0, 4);
        (cache, disk)
    }

    fn keep(cache: &mut ReadCache, disk: &Geometry, now_ns: u64, block: u64, count: u64) {
        cache.keep(disk, now_ns, block, count, disk.turns_after(block + count - 1));
    }

    /// An arm that takes for ever, so that reading on is sooner.
    fn free(cache: &mut ReadCache, disk: &Geometry, now_ms: u64, block: u64, count: u64) -> Found {
        cache.find(disk, now_ms * MS, block..block + count, Some(&|_| u64::MAX))
    }

    fn needed(cache: &mut ReadCache, disk: &Geometry, now_ms: u64, block: u64, count: u64) -> Found {
        cache.find(disk, now_ms * MS, block..block + count, None)
    }

    fn all(ready_ms: u64) -> Found {
        Found::All { ready_ns: ready_ms * MS, again: false }
    }

    fn again(ready_ms: u64) -> Found {
        Found::All { ready_ns: ready_ms * MS, again: true }
    }

    #[test]
    fn a_read_ahead_is_there_when_the_medium_has_passed() {
        let (mut cache, disk) = cache();
        assert_eq!(free(&mut cache, &disk, 4, 1, 2), again(4), "what was read is there");
        assert_eq!(free(&mut cache, &disk, 5, 4, 2), all(6), "sectors 4 and 5 have passed at 6 ms");
        assert_eq!(free(&mut cache, &disk, 9, 6, 2), all(9), "and 7 long before 9");
        // The next track begins two sectors later: block 11 has passed at 14 ms.
        assert_eq!(free(&mut cache, &disk, 9, 10, 2), all(14));
        assert_eq!(free(&mut cache, &disk, 9, 18, 4), all(27), "it reads on as far as it takes");
    }

    #[test]
    fn a_read_is_no_reason_to_read_on_where_an_access_is_sooner() {
        let (mut cache, disk) = cache();
        // Block 30 begins to pass at 37 ms.
        let mut at = |access_ms: u64| cache.find(&disk, 5 * MS, 30..32, Some(&|_| access_ms * MS));
        assert_eq!([at(36), at(37)], [Found::Nothing, all(39)]);
    }

    #[test]
    fn an_arm_that_is_needed_elsewhere_reads_no_further_than_was_promised() {
        let (mut cache, disk) = cache();
        assert_eq!(needed(&mut cache, &disk, 6, 4, 12), Found::Front { blocks: 2 });
        assert_eq!(needed(&mut cache, &disk, 6, 8, 4), Found::Nothing);
        assert_eq!(free(&mut cache, &disk, 6, 6, 4), all(10));
        assert_eq!(needed(&mut cache, &disk, 6, 8, 2), again(10), "it was promised");
    }

    #[test]
    fn only_the_last_of_a_segment_is_kept() {
        let (mut cache, disk) = cache();
        let mut now_ms = 4;
        for block in 4..30 {
            let Found::All { ready_ns, again: false } = free(&mut cache, &disk, now_ms, block, 1) else { panic!() };
            now_ms = ready_ns / MS;
        }
        assert_eq!(needed(&mut cache, &disk, now_ms, 9, 1), Found::Nothing);
        assert_eq!(needed(&mut cache, &disk, now_ms, 10, 1), again(now_ms));
    }

    #[test]
    fn an_interrupted_stream_goes_on_in_its_segment() {
        let (mut cache, disk) = cache();
        let head = cache.head(&disk, 7 * MS + MS / 2).unwrap();
        cache.stop(head);
        assert_eq!((head, cache.head(&disk, 9 * MS)), (7, None));
        assert_eq!(free(&mut cache, &disk, 8, 5, 2), all(8));
        assert_eq!(free(&mut cache, &disk, 8, 6, 4), Found::Front { blocks: 1 });
        keep(&mut cache, &disk, 20 * MS, 7, 3);
        assert_eq!(needed(&mut cache, &disk, 20, 5, 5), again(20), "one segment again");
    }

    #[test]
    fn a_read_ahead_that_came_to_its_limit_goes_on_when_the_next_block_comes_by() {
        let (mut cache, disk) = cache();
        // It has 12 blocks; the next, sector 2 of a track shifted by 2, comes by at 94 ms.
        assert_eq!(free(&mut cache, &disk, 91, 8, 5), all(95));
        assert_eq!(free(&mut cache, &disk, 92, 13, 2), all(97));
    }

    #[test]
    fn a_stream_that_asks_as_the_read_ahead_comes_to_its_limit_loses_no_turn() {
        let (cache, disk) = cache();
        // A turn of no whole number of nanoseconds a sector.
        let turn_ns = 8_333_333.0;
        let size = ReadBuffer { read_ahead_blocks: 3, ..cache.size };
        let mut cache = ReadCache::new(size, turn_ns);
        let ends_ns = |block: u64| (disk.turns_after(block - 1) * turn_ns).round() as u64;
        let mut now_ns = ends_ns(4);
        cache.keep(&disk, now_ns, 0, 4, disk.turns_after(3));
        for block in (4..1900).step_by(3) {
            let found = cache.find(&disk, now_ns, block..block + 3, Some(&|_| u64::MAX));
            let Found::All { ready_ns, .. } = found else { panic!("{block}: {found:?}") };
            assert!(ready_ns.abs_diff(ends_ns(block + 3)) <= 1, "{block}");
            now_ns = ready_ns;
        }
    }

    #[test]
    fn time_counts_for_what_is_delivered_and_once() {
        let (mut cache, disk) = cache();
        let useful_ms = |cache: &ReadCache| (cache.useful_ns() as f64 / MS as f64).round() as u64;
        assert_eq!(useful_ms(&cache), 0, "nobody asked for it");
        free(&mut cache, &disk, 5, 4, 2);
        free(&mut cache, &disk, 9, 4, 2);
        assert_eq!(useful_ms(&cache), 2, "blocks 4 and 5");
        let head = cache.head(&disk, 14 * MS).unwrap();
        cache.stop(head);
        free(&mut cache, &disk, 20, 9, 3);
        assert_eq!(useful_ms(&cache), 10, "up to 11, with the shift of two sectors");
    }

    #[test]
    fn the_oldest_segment_makes_room() {
        let (mut cache, disk) = cache();
        for number in 1..4 {
            let head = cache.head(&disk, number * 125 * MS).unwrap();
            cache.stop(head);
            keep(&mut cache, &disk, (number * 125 + 4) * MS, number * 100, 4);
        }
        let head = cache.head(&disk, 505 * MS).unwrap();
        cache.stop(head);
        let mut found = |block| needed(&mut cache, &disk, 900, block, 4) != Found::Nothing;
        assert_eq!([0, 100, 200, 300].map(&mut found), [false, true, true, true]);
        cache.forget(203, 1);
        assert_eq!(needed(&mut cache, &disk, 900, 200, 4), Found::Nothing, "it was written since");
    }

    #[test]
    fn a_buffer_that_delivers_once_has_what_was_read_ahead_once() {
        let (mut cache, disk) = cache();
        cache.size.again = false;
        assert_eq!(free(&mut cache, &disk, 9, 2, 2), Found::Nothing);
        assert_eq!(free(&mut cache, &disk, 9, 4, 2), all(9));
        assert_eq!(free(&mut cache, &disk, 9, 4, 2), Found::Nothing);
        let head = cache.head(&disk, 9 * MS).unwrap();
        cache.stop(head);
        assert_eq!([5, 6].map(|block| needed(&mut cache, &disk, 9, block, 2)), [Found::Nothing, all(9)]);
    }
}
