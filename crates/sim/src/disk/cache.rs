//! What a drive keeps of the medium: segments, one of which a read-ahead may still be filling.
//!
//! A read-ahead is the medium passing on after a read: how far it has come is a matter of the time since, so it costs
//! nothing until somebody asks. It ends at its limit, until somebody asks for some of it, or when the arm is wanted
//! elsewhere; behind a read that went on with a segment it goes on for a while even so. A read of which the buffer has
//! the first part is read from where that ends, and what is read then makes the segment longer: so a stream that another
//! request interrupted goes on.
//! Source: Ruemmler and Wilkes (1994), on the effects of buffers; Worthington et al. (1995), on partial hits.

use super::geometry::{Geometry, wait};

/// A buffer for reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadBuffer {
    /// Segments; without any nothing is kept.
    pub segments: usize,
    /// Blocks of each.
    pub segment_blocks: u64,
    /// How far it reads ahead, in blocks; no further than a segment is long.
    pub read_ahead_blocks: u64,
    /// How far of that behind a read that goes on with a segment although others wait, in blocks: SCSI's minimum pre-fetch.
    pub least_ahead_blocks: u64,
    /// The longest read, in blocks, that it gives again; what is longer is read anew.
    pub again_blocks: u64,
}

/// What the buffer has of a read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// All of it.
    All {
        /// When: now, or when the read-ahead has passed over it.
        ready_ns: u64,
        /// Whether it was given before.
        again: bool,
    },
    /// So many of its blocks, from the first; the medium has to be asked for the others.
    Front {
        /// How many.
        blocks: u64,
    },
    /// Nothing of its beginning.
    Nothing,
}

/// Whether the arm is wanted elsewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arm {
    /// It may read on for this read.
    Free,
    /// Others wait, and this is what the head comes to next: of a stream that it came back to it reads on for as far as is the least.
    Passing,
    /// Others wait: it reads no further than it would have.
    Wanted,
}

/// Blocks in the buffer: from the first to before the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Segment {
    first: u64,
    end: u64,
    /// Those before it were given to the host.
    given: u64,
    /// The time of those before it counts, or never will.
    counted: u64,
}

/// A segment that the medium passes on into.
#[derive(Clone, Copy, Debug)]
struct Filling {
    /// Its first block that is kept.
    first: u64,
    /// Whether it goes on with a segment, or a little beyond one.
    continues: bool,
    /// Those before it were given to the host.
    given: u64,
    /// Just after which block the read-ahead began.
    from_block: u64,
    /// The same as a stream position.
    from_turns: f64,
    /// When.
    from_ns: u64,
    /// Up to before which block it goes.
    limit: u64,
    /// The time of those before it counts, or never will,
    counted: u64,
    /// which is up to this stream position.
    counted_turns: f64,
    /// Until when turning towards its first block counts: as far as somebody waits for it.
    turned_until_ns: u64,
}

/// The buffer for reads, with what is in it.
#[derive(Clone, Debug)]
pub struct ReadCache {
    filling: Option<Filling>,
    /// The least recently used first.
    idle: Vec<Segment>,
    size: ReadBuffer,
    turn_ns: f64,
    /// How long the medium read ahead for what was given.
    useful_ns: u64,
}

impl ReadBuffer {
    /// How far it reads on behind what the medium gave, whoever waits: what of that is asked for comes without a wait.
    pub fn reads_on_blocks(&self) -> u64 {
        if self.segments == 0 { 0 } else { self.read_ahead_blocks }
    }
}

impl ReadCache {
    /// An empty one of a drive that takes so long for a turn.
    pub fn new(size: ReadBuffer, turn_ns: f64) -> ReadCache {
        let read_ahead_blocks = size.read_ahead_blocks.min(size.segment_blocks);
        let least_ahead_blocks = size.least_ahead_blocks.min(read_ahead_blocks);
        let size = ReadBuffer { read_ahead_blocks, least_ahead_blocks, ..size };
        ReadCache { filling: None, idle: Vec::with_capacity(size.segments), size, turn_ns, useful_ns: 0 }
    }

    /// What there is of these blocks. What is found counts as given.
    pub fn find(&mut self, geometry: &Geometry, now_ns: u64, block: u64, count: u64, arm: Arm) -> Found {
        let found = self.find_ahead(geometry, now_ns, block, count, arm);
        if found != Found::Nothing {
            return found;
        }
        let anew = count > self.size.again_blocks;
        let has = |segment: &Segment| segment.first <= block && block < segment.end && !(anew && block < segment.given);
        let Some(index) = self.idle.iter().position(has) else { return Found::Nothing };
        let mut used = self.idle.remove(index);
        let (end, again) = ((block + count).min(used.end), block < used.given);
        used.given = used.given.max(end);
        if end > used.counted {
            let turns = geometry.turns_after(end - 1) - geometry.turns_after(used.counted.max(1) - 1);
            self.useful_ns += (turns * self.turn_ns) as u64;
            used.counted = end;
        }
        self.idle.push(used);
        match end - block {
            blocks if blocks < count => Found::Front { blocks },
            _ => Found::All { ready_ns: now_ns, again },
        }
    }

    /// The same of the read-ahead alone. One that has them goes on as far again beyond them.
    pub fn find_ahead(&mut self, geometry: &Geometry, now_ns: u64, block: u64, count: u64, arm: Arm) -> Found {
        let (turn_ns, end) = (self.turn_ns, block + count);
        let Some(filling) = self.filling.as_mut().filter(|filling| filling.first <= block && block <= filling.limit)
        else {
            return Found::Nothing;
        };
        let passed = filling.passed(geometry, turn_ns, now_ns);
        let again = block < filling.given;
        let anew = again && count > self.size.again_blocks;
        if anew || block < passed.saturating_sub(self.size.segment_blocks) {
            return Found::Nothing;
        }
        let ahead_blocks = match arm {
            Arm::Free => self.size.read_ahead_blocks,
            Arm::Passing if filling.continues && end <= filling.limit => self.size.least_ahead_blocks,
            Arm::Passing | Arm::Wanted => 0,
        };
        let further = (end + ahead_blocks).min(geometry.blocks());
        if further > filling.limit && ahead_blocks > 0 {
            filling.go_on(geometry, turn_ns, now_ns);
            filling.limit = further;
        }
        if end <= filling.limit {
            let (ready_ns, useful_ns) = filling.give(geometry, turn_ns, now_ns, end);
            self.useful_ns += useful_ns;
            return Found::All { ready_ns: ready_ns.max(now_ns), again };
        }
        if passed <= block {
            return Found::Nothing;
        }
        self.useful_ns += filling.give(geometry, turn_ns, now_ns, passed).1;
        Found::Front { blocks: passed - block }
    }

    /// From which block on there is something of the read-ahead, and up to which it goes.
    pub fn ahead(&self) -> Option<(u64, u64)> {
        self.filling.map(|filling| (filling.first, filling.limit))
    }

    /// When the read-ahead comes to a block, up to its limit, with some before it that nobody asked for; none where it does not.
    pub fn comes_ns(&self, geometry: &Geometry, block: u64) -> Option<u64> {
        let filling = self.filling.filter(|filling| filling.given < block && block <= filling.limit)?;
        let turns = geometry.place(block).turns - filling.from_turns;
        Some(filling.from_ns + (turns * self.turn_ns) as u64)
    }

    /// When the read-ahead would come to a block that it does not go as far as, if it went on; none where there is none.
    pub fn would_come_ns(&self, geometry: &Geometry, now_ns: u64, block: u64) -> Option<u64> {
        let mut filling = self.filling.filter(|filling| filling.limit < block)?;
        filling.go_on(geometry, self.turn_ns, now_ns);
        let turns = geometry.place(block).turns - filling.from_turns;
        Some(filling.from_ns + (turns * self.turn_ns) as u64)
    }

    /// The read-ahead goes on up to a block that lies further than it went.
    pub fn go_on_to(&mut self, geometry: &Geometry, now_ns: u64, block: u64) {
        let Some(filling) = &mut self.filling else { return };
        filling.go_on(geometry, self.turn_ns, now_ns);
        filling.limit = filling.limit.max(block);
    }

    /// Until when the read-ahead of a stream that it came back to goes on although others wait.
    pub fn least_until_ns(&self, geometry: &Geometry) -> Option<u64> {
        let filling = self.filling.as_ref().filter(|filling| filling.continues && self.size.least_ahead_blocks > 0)?;
        let end = (filling.given + self.size.least_ahead_blocks).min(filling.limit);
        let turns = geometry.turns_after(end - 1) - filling.from_turns;
        Some(filling.from_ns + (turns * self.turn_ns + 0.5) as u64)
    }

    /// Whether it reads ahead, and somebody was given some of that.
    pub fn is_of_use(&self, geometry: &Geometry, now_ns: u64) -> bool {
        let of_use = |filling: &Filling| {
            filling.given > filling.from_block && filling.passed(geometry, self.turn_ns, now_ns) < filling.limit
        };
        self.filling.as_ref().is_some_and(of_use)
    }

    /// Just after which block the head is that reads ahead, or has stayed there since, with nothing promised that is still to come;
    /// none where it does not.
    pub fn head(&self, geometry: &Geometry, now_ns: u64) -> Option<u64> {
        // What was promised has passed by then, to the rounding of a nanosecond.
        self.filling.map(|filling| filling.passed(geometry, self.turn_ns, now_ns).max(filling.given))
    }

    /// The arm is wanted and the head is at [`head`](ReadCache::head): what the read-ahead has got so far is what there is.
    pub fn stop(&mut self, head: u64) {
        let Some(Filling { first, given, counted, .. }) = self.filling.take() else { return };
        let first = first.max(head.saturating_sub(self.size.segment_blocks));
        self.add(Segment { first, end: head, given, counted: counted.max(first) });
    }

    fn add(&mut self, segment: Segment) {
        if self.idle.len() == self.size.segments {
            self.idle.remove(0);
        }
        self.idle.push(segment);
    }

    /// The medium gave these blocks at `now_ns`, whose last ends at a stream position; goes on reading behind them. Nothing may
    /// be filling.
    pub fn keep(&mut self, geometry: &Geometry, now_ns: u64, block: u64, count: u64, from_turns: f64) {
        if self.size.segments == 0 {
            return;
        }
        let end = block + count;
        // What continues a segment makes it longer; one that skips a few blocks, as where some of a stream is written, takes its place.
        let skips = |index: &usize| block.saturating_sub(self.idle[*index].end);
        let is_of_stream =
            |index: &usize| self.idle[*index].first <= block && skips(index) <= self.size.least_ahead_blocks;
        let nearest = (0..self.idle.len()).filter(is_of_stream).min_by_key(skips);
        let before = nearest.map(|index| self.idle.remove(index));
        let first = before.filter(|segment| block <= segment.end).map_or(block, |segment| segment.first);
        let first = first.max(end.saturating_sub(self.size.segment_blocks));
        let limit = (end + self.size.read_ahead_blocks).min(geometry.blocks());
        if limit > end {
            // A zero-latency access ended with blocks from the middle: the last of them are still to come by again.
            let waiting_ns = wait(now_ns as f64 / self.turn_ns, from_turns) * self.turn_ns;
            let from_ns = now_ns + waiting_ns as u64;
            self.filling = Some(Filling {
                first,
                continues: before.is_some(),
                given: end,
                from_block: end,
                from_turns,
                from_ns,
                limit,
                counted: end,
                counted_turns: from_turns,
                turned_until_ns: now_ns,
            });
        } else {
            self.add(Segment { first, end, given: end, counted: end });
        }
    }

    /// How long the medium read ahead for what was given: the time of what nobody asked for is not in it, since the arm leaves
    /// that at once when it is wanted. What is given late counts late.
    pub fn useful_ns(&self) -> u64 {
        self.useful_ns
    }

    /// What was read ahead until now never counts.
    pub fn begin(&mut self, geometry: &Geometry, now_ns: u64) {
        self.idle.iter_mut().for_each(|segment| segment.counted = segment.end);
        let turn_ns = self.turn_ns;
        let Some(filling) = &mut self.filling else { return };
        let passed = filling.passed(geometry, turn_ns, now_ns);
        if passed > filling.counted {
            (filling.counted, filling.counted_turns) = (passed, geometry.turns_after(passed - 1));
        }
    }

    /// These blocks are written: what was read of them is no longer so.
    pub fn forget(&mut self, block: u64, count: u64) {
        self.idle.retain(|segment| segment.end <= block || block + count <= segment.first);
    }
}

impl Filling {
    /// Where it came to its limit and stayed on that track, it goes on when what lies beyond comes by again; at once where it comes there
    /// just now, to the rounding of a nanosecond.
    fn go_on(&mut self, geometry: &Geometry, turn_ns: f64, now_ns: u64) {
        let until_limit_ns = (geometry.turns_after(self.limit - 1) - self.from_turns) * turn_ns;
        if now_ns.saturating_sub(self.from_ns) as f64 <= until_limit_ns + 1.0 {
            return;
        }
        let place = geometry.place(self.limit);
        let comes_ns = geometry.comes_after(now_ns as f64 / turn_ns, &place) * turn_ns;
        (self.from_block, self.from_turns, self.from_ns) = (self.limit, place.turns, now_ns.max(comes_ns as u64));
    }

    /// Before which block the medium has passed.
    fn passed(&self, geometry: &Geometry, turn_ns: f64, now_ns: u64) -> u64 {
        let turns = self.from_turns + now_ns.saturating_sub(self.from_ns) as f64 / turn_ns;
        geometry.blocks_before(turns).clamp(self.from_block, self.limit)
    }

    /// Gives what lies before `end`: when that has passed under the head, 0 where it had before the read-ahead began; and how
    /// long the medium takes for what of it does not count yet.
    fn give(&mut self, geometry: &Geometry, turn_ns: f64, now_ns: u64, end: u64) -> (u64, u64) {
        self.given = self.given.max(end);
        if end <= self.from_block && end <= self.counted {
            return (0, 0);
        }
        let turns = geometry.turns_after(end - 1);
        let (mut ready_ns, mut useful_ns) = (0, 0);
        if end > self.from_block {
            ready_ns = self.from_ns + ((turns - self.from_turns) * turn_ns + 0.5) as u64;
            useful_ns = self.from_ns.saturating_sub(now_ns.max(self.turned_until_ns));
            self.turned_until_ns = self.turned_until_ns.max(self.from_ns);
        }
        if end > self.counted {
            // Rounded down: the arm is not at work for longer than there is time.
            useful_ns += ((turns - self.counted_turns) * turn_ns) as u64;
            (self.counted, self.counted_turns) = (end, turns);
        }
        (ready_ns, useful_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::arm::tests::slow;

    /// Sectors of 1 ms, ten a track with a shift of two; three segments of 20 blocks, 8 ahead.
    fn cache() -> (ReadCache, Geometry) {
        let size = ReadBuffer {
            segments: 3,
            segment_blocks: 20,
            read_ahead_blocks: 8,
            least_ahead_blocks: 0,
            again_blocks: 20,
        };
        (ReadCache::new(size, 10e6), slow(false).geometry)
    }

    fn all(ready_ns: u64) -> Found {
        Found::All { ready_ns, again: false }
    }

    fn keep(cache: &mut ReadCache, disk: &Geometry, now_ns: u64, block: u64, count: u64) {
        cache.keep(disk, now_ns, block, count, disk.turns_after(block + count - 1));
    }

    fn stop(cache: &mut ReadCache, disk: &Geometry, now_ns: u64) -> Option<u64> {
        cache.head(disk, now_ns).inspect(|head| cache.stop(*head))
    }

    const MS: u64 = 1_000_000;

    #[test]
    fn a_read_ahead_is_there_when_the_medium_has_passed() {
        let (mut cache, disk) = cache();
        keep(&mut cache, &disk, 4 * MS, 0, 4);
        let again = Found::All { ready_ns: 4 * MS, again: true };
        assert_eq!(cache.find(&disk, 4 * MS, 1, 2, Arm::Free), again, "what was read is there");
        assert_eq!(cache.find(&disk, 5 * MS, 4, 2, Arm::Free), all(6 * MS), "sectors 4 and 5 have passed at 6 ms");
        assert_eq!(cache.find(&disk, 9 * MS, 6, 2, Arm::Free), all(9 * MS), "and 7 long before 9");
        // The next track begins two sectors later: block 11 has passed at 14 ms.
        assert_eq!(cache.find(&disk, 9 * MS, 10, 2, Arm::Free), all(14 * MS));
        assert_eq!(cache.find(&disk, 9 * MS, 30, 2, Arm::Free), Found::Nothing);
        // Asked for up to 12, it goes 8 further: block 19 has passed at 22 ms.
        assert_eq!(cache.find(&disk, 9 * MS, 18, 2, Arm::Free), all(22 * MS));
    }

    #[test]
    fn a_read_beyond_the_read_ahead_is_read_on_for_while_the_arm_is_free() {
        let (mut cache, disk) = cache();
        keep(&mut cache, &disk, 4 * MS, 0, 4);
        let mut wanted = cache.clone();
        assert_eq!(cache.find(&disk, 6 * MS, 4, 12, Arm::Free), all(18 * MS), "up to 16, and the limit was 12");
        assert_eq!(wanted.find(&disk, 6 * MS, 4, 12, Arm::Wanted), Found::Front { blocks: 2 });
        assert_eq!(wanted.find(&disk, 6 * MS, 8, 12, Arm::Wanted), Found::Nothing, "its first has not passed");
        assert_eq!(wanted.find(&disk, 6 * MS, 8, 4, Arm::Wanted), all(14 * MS), "what is read ahead anyway");
    }

    #[test]
    fn what_was_read_first_is_pushed_out() {
        let (mut cache, disk) = cache();
        keep(&mut cache, &disk, 4 * MS, 0, 4);
        let mut now = 4 * MS;
        for block in 4..30 {
            let Found::All { ready_ns, again: false } = cache.find(&disk, now, block, 1, Arm::Free) else { panic!() };
            now = ready_ns;
        }
        // 30 have passed and 20 are kept.
        assert_eq!(cache.find(&disk, now, 9, 1, Arm::Free), Found::Nothing);
        assert_eq!(cache.find(&disk, now, 10, 1, Arm::Free), Found::All { ready_ns: now, again: true });
    }

    #[test]
    fn an_interrupted_read_ahead_has_what_had_passed_and_goes_on_from_there() {
        let (mut cache, disk) = cache();
        keep(&mut cache, &disk, 4 * MS, 0, 4);
        assert_eq!(stop(&mut cache, &disk, 7 * MS + MS / 2), Some(7));
        assert_eq!(cache.find(&disk, 8 * MS, 5, 2, Arm::Free), all(8 * MS));
        assert_eq!(cache.find(&disk, 8 * MS, 6, 4, Arm::Free), Found::Front { blocks: 1 });
        assert_eq!(cache.head(&disk, 9 * MS), None, "nothing is filling any more");
        keep(&mut cache, &disk, 20 * MS, 7, 3);
        let again = Found::All { ready_ns: 20 * MS, again: true };
        assert_eq!(cache.find(&disk, 20 * MS, 5, 5, Arm::Free), again, "one segment again");
    }

    #[test]
    fn a_read_ahead_that_came_to_its_limit_goes_on_when_it_is_asked_for() {
        let (mut cache, disk) = cache();
        keep(&mut cache, &disk, 4 * MS, 0, 4);
        let mut wanted = cache.clone();
        // It has 12 blocks; the next, sector 2 of a track shifted by 2, comes by at 94 ms.
        assert_eq!(cache.find(&disk, 91 * MS, 6, 2, Arm::Free), all(91 * MS));
        assert_eq!(cache.find(&disk, 92 * MS, 8, 5, Arm::Free), all(95 * MS));
        assert_eq!(cache.find(&disk, 92 * MS, 13, 2, Arm::Free), all(97 * MS));
        assert_eq!(wanted.find(&disk, 90 * MS, 10, 2, Arm::Wanted), all(90 * MS), "its last blocks");
        assert_eq!(wanted.find(&disk, 91 * MS, 12, 2, Arm::Wanted), Found::Nothing);
        assert_eq!(wanted.find(&disk, 91 * MS, 9, 6, Arm::Wanted), Found::Front { blocks: 3 });
    }

    #[test]
    fn a_read_ahead_that_is_asked_for_more_as_it_comes_to_its_limit_loses_no_turn() {
        let (cache, disk) = cache();
        // A turn of no whole number of nanoseconds a sector.
        let turn_ns = 8_333_333.0;
        let mut cache = ReadCache::new(cache.size, turn_ns);
        let ends_ns = |block: u64| (disk.turns_after(block - 1) * turn_ns).round() as u64;
        let mut now_ns = ends_ns(4);
        cache.keep(&disk, now_ns, 0, 4, disk.turns_after(3));
        for block in (4..1900).step_by(3) {
            cache.go_on_to(&disk, now_ns, block + 3);
            let Found::All { ready_ns, .. } = cache.find_ahead(&disk, now_ns, block, 3, Arm::Wanted) else { panic!() };
            assert!(ready_ns.abs_diff(ends_ns(block + 3)) <= 1, "{block}");
            now_ns = ready_ns;
        }
    }

    #[test]
    fn what_is_read_ahead_whoever_waits_is_no_longer_than_what_is_read_ahead_at_all() {
        let (cache, disk) = cache();
        let size = ReadBuffer { segment_blocks: 6, read_ahead_blocks: 30, least_ahead_blocks: 10, ..cache.size };
        let mut cache = ReadCache::new(size, 10e6);
        keep(&mut cache, &disk, 4 * MS, 0, 4);
        stop(&mut cache, &disk, 4 * MS);
        keep(&mut cache, &disk, 18 * MS, 4, 4);
        assert_eq!(cache.find_ahead(&disk, 18 * MS, 8, 2, Arm::Passing), all(20 * MS));
        assert_eq!(cache.ahead(), Some((2, 16)), "six beyond 10");
    }

    #[test]
    fn time_counts_for_what_is_given_and_once() {
        let (mut cache, disk) = cache();
        let useful_ms = |cache: &ReadCache| (cache.useful_ns() as f64 / MS as f64).round() as u64;
        keep(&mut cache, &disk, 4 * MS, 0, 4);
        assert_eq!(useful_ms(&cache), 0, "what nobody asked for");
        cache.find(&disk, 5 * MS, 4, 2, Arm::Free);
        assert_eq!(useful_ms(&cache), 2, "blocks 4 and 5, one of which is to come");
        cache.find(&disk, 9 * MS, 4, 2, Arm::Free);
        assert_eq!(useful_ms(&cache), 2, "given again");
        cache.begin(&disk, 8 * MS);
        cache.find(&disk, 9 * MS, 6, 3, Arm::Free);
        assert_eq!(useful_ms(&cache), 3, "blocks 6 and 7 passed before the measured part");
        assert_eq!(stop(&mut cache, &disk, 14 * MS), Some(12));
        cache.find(&disk, 20 * MS, 9, 3, Arm::Free);
        assert_eq!(useful_ms(&cache), 8, "9, the shift of two sectors, 10 and 11, from what was kept");
    }

    #[test]
    fn the_oldest_segment_makes_room() {
        let (mut cache, disk) = cache();
        for number in 0..4 {
            keep(&mut cache, &disk, (number * 125 + 4) * MS, number * 100, 4);
            stop(&mut cache, &disk, (number * 125 + 4) * MS);
        }
        let mut found = |block| cache.find(&disk, 900 * MS, block, 4, Arm::Free) != Found::Nothing;
        assert_eq!([0, 100, 200, 300].map(&mut found), [false, true, true, true]);
        cache.forget(203, 1);
        assert_eq!(cache.find(&disk, 900 * MS, 200, 4, Arm::Free), Found::Nothing, "it was written since");
    }

    #[test]
    fn a_buffer_that_gives_nothing_twice_reads_it_anew() {
        let (mut cache, disk) = cache();
        cache.size.again_blocks = 0;
        keep(&mut cache, &disk, 4 * MS, 0, 4);
        assert_eq!(cache.find(&disk, 9 * MS, 2, 2, Arm::Free), Found::Nothing);
        assert_eq!(cache.find(&disk, 9 * MS, 4, 2, Arm::Free), all(9 * MS), "what was read ahead is there once");
        assert_eq!(cache.find(&disk, 9 * MS, 4, 2, Arm::Free), Found::Nothing);
        stop(&mut cache, &disk, 9 * MS);
        assert_eq!(cache.find(&disk, 9 * MS, 5, 2, Arm::Free), Found::Nothing);
        assert_eq!(cache.find(&disk, 9 * MS, 6, 2, Arm::Free), all(9 * MS));
    }
}
