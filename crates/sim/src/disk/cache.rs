//! What a drive keeps of the medium: segments, one of which a read-ahead may still be filling.
//!
//! A read-ahead is the medium passing on after a read: how far it has come is a matter of the time since, so it costs
//! nothing until somebody asks. It ends at its limit, or when the arm is wanted elsewhere.
//! Source: Ruemmler and Wilkes (1994), on the effects of buffers; Worthington et al. (1995).

use super::geometry::Geometry;

/// Blocks in the buffer: from the first to before the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Segment {
    first: u64,
    end: u64,
}

/// A segment that the medium passes on into.
#[derive(Clone, Copy, Debug)]
struct Filling {
    /// Its first block that is kept.
    first: u64,
    /// Just after which block the read-ahead began.
    from_block: u64,
    /// The same as a stream position.
    from_turns: f64,
    /// When.
    from_ns: u64,
    /// Up to before which block it goes.
    limit: u64,
}

/// The buffer for reads.
#[derive(Clone, Debug)]
pub struct ReadCache {
    filling: Option<Filling>,
    /// The least recently used first.
    idle: Vec<Segment>,
    most_segments: usize,
    segment_blocks: u64,
    read_ahead_blocks: u64,
    turn_ns: f64,
}

impl ReadCache {
    /// So many segments of so many blocks, reading ahead so far at the most. Without segments nothing is kept.
    pub fn new(most_segments: usize, segment_blocks: u64, read_ahead_blocks: u64, turn_ns: f64) -> ReadCache {
        let read_ahead_blocks = read_ahead_blocks.min(segment_blocks);
        ReadCache { filling: None, idle: Vec::new(), most_segments, segment_blocks, read_ahead_blocks, turn_ns }
    }

    /// When all of these blocks are in the buffer, already or by a read-ahead that will have them; none where the medium
    /// has to be asked. A read-ahead that has them goes on as far again beyond them.
    pub fn find(&mut self, geometry: &Geometry, now_ns: u64, block: u64, count: u64) -> Option<u64> {
        let end = block + count;
        let (turn_ns, segment_blocks) = (self.turn_ns, self.segment_blocks);
        let holds = |filling: &&mut Filling| {
            end <= filling.limit && block >= filling.first_kept(geometry, turn_ns, now_ns, segment_blocks)
        };
        if let Some(filling) = self.filling.as_mut().filter(holds) {
            let at = filling.passes_ns(geometry, turn_ns, end).max(now_ns);
            if filling.passes_ns(geometry, turn_ns, filling.limit) > now_ns {
                let limit = (end + self.read_ahead_blocks).min(geometry.blocks());
                filling.limit = limit.max(filling.limit);
            }
            return Some(at);
        }
        let index = self.idle.iter().position(|segment| segment.first <= block && end <= segment.end)?;
        let used = self.idle.remove(index);
        self.idle.push(used);
        Some(now_ns)
    }

    /// The arm is wanted: what the read-ahead has got so far is what there is. Gives just after which block the head is.
    pub fn stop(&mut self, geometry: &Geometry, now_ns: u64) -> Option<u64> {
        let filling = self.filling.take()?;
        let end = filling.passed(geometry, self.turn_ns, now_ns);
        self.add(Segment { first: filling.first.max(end.saturating_sub(self.segment_blocks)), end });
        Some(end)
    }

    fn add(&mut self, segment: Segment) {
        if self.idle.len() == self.most_segments {
            self.idle.remove(0);
        }
        self.idle.push(segment);
    }

    /// The medium gave these blocks at `now_ns`; goes on reading behind them. Nothing may be filling.
    pub fn keep(&mut self, geometry: &Geometry, now_ns: u64, block: u64, count: u64) {
        if self.most_segments == 0 {
            return;
        }
        let end = block + count;
        // What continues a segment makes it longer.
        let grown = self.idle.iter().position(|segment| segment.first <= block && block <= segment.end);
        let first = grown.map_or(block, |index| self.idle.remove(index).first);
        let first = first.max(end.saturating_sub(self.segment_blocks));
        let limit = (end + self.read_ahead_blocks).min(geometry.blocks());
        if limit > end {
            let from_turns = geometry.turns_after(end - 1);
            self.filling = Some(Filling { first, from_block: end, from_turns, from_ns: now_ns, limit });
        } else {
            self.add(Segment { first, end });
        }
    }

    /// These blocks are written: what was read of them is no longer so.
    pub fn forget(&mut self, block: u64, count: u64) {
        self.idle.retain(|segment| segment.end <= block || block + count <= segment.first);
    }
}

impl Filling {
    /// The first block that is still there: what has passed since pushes out what was read first.
    fn first_kept(&self, geometry: &Geometry, turn_ns: f64, now_ns: u64, segment_blocks: u64) -> u64 {
        self.first.max(self.passed(geometry, turn_ns, now_ns).saturating_sub(segment_blocks))
    }

    /// Before which block the medium has passed.
    fn passed(&self, geometry: &Geometry, turn_ns: f64, now_ns: u64) -> u64 {
        let turns = self.from_turns + now_ns.saturating_sub(self.from_ns) as f64 / turn_ns;
        geometry.blocks_before(turns).clamp(self.from_block, self.limit)
    }

    /// When the block before `end` has passed under the head.
    fn passes_ns(&self, geometry: &Geometry, turn_ns: f64, end: u64) -> u64 {
        if end <= self.from_block {
            return self.from_ns;
        }
        self.from_ns + ((geometry.turns_after(end - 1) - self.from_turns) * turn_ns).round() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::arm::tests::slow;

    /// Sectors of 1 ms, ten a track with a shift of two; three segments of 20 blocks, 8 ahead.
    fn cache() -> (ReadCache, Geometry) {
        (ReadCache::new(3, 20, 8, 10e6), slow(false).geometry)
    }

    const MS: u64 = 1_000_000;

    #[test]
    fn a_read_ahead_is_there_when_the_medium_has_passed() {
        let (mut cache, disk) = cache();
        cache.keep(&disk, 4 * MS, 0, 4);
        assert_eq!(cache.find(&disk, 4 * MS, 1, 2), Some(4 * MS), "what was read is there");
        assert_eq!(cache.find(&disk, 5 * MS, 4, 2), Some(6 * MS), "sectors 4 and 5 have passed at 6 ms");
        assert_eq!(cache.find(&disk, 9 * MS, 6, 2), Some(9 * MS), "and 7 long before 9");
        // The next track begins two sectors later: block 11 has passed at 14 ms.
        assert_eq!(cache.find(&disk, 9 * MS, 10, 2), Some(14 * MS));
        assert_eq!(cache.find(&disk, 9 * MS, 30, 2), None);
        // Asked for up to 12, it goes 8 further: block 19 has passed at 22 ms.
        assert_eq!(cache.find(&disk, 9 * MS, 18, 2), Some(22 * MS));
    }

    #[test]
    fn what_was_read_first_is_pushed_out() {
        let (mut cache, disk) = cache();
        cache.keep(&disk, 4 * MS, 0, 4);
        let mut now = 4 * MS;
        for block in 4..30 {
            now = cache.find(&disk, now, block, 1).unwrap();
        }
        // 30 have passed and 20 are kept.
        assert_eq!((cache.find(&disk, now, 9, 1), cache.find(&disk, now, 10, 1)), (None, Some(now)));
    }

    #[test]
    fn an_interrupted_read_ahead_has_what_had_passed() {
        let (mut cache, disk) = cache();
        cache.keep(&disk, 4 * MS, 0, 4);
        assert_eq!(cache.stop(&disk, 7 * MS + MS / 2), Some(7));
        assert_eq!((cache.find(&disk, 8 * MS, 5, 2), cache.find(&disk, 8 * MS, 6, 2)), (Some(8 * MS), None));
        assert_eq!(cache.stop(&disk, 9 * MS), None, "nothing is filling any more");
    }

    #[test]
    fn a_read_ahead_that_came_to_its_limit_does_not_go_on() {
        let (mut cache, disk) = cache();
        cache.keep(&disk, 4 * MS, 0, 4);
        assert_eq!(cache.find(&disk, 90 * MS, 10, 2), Some(90 * MS), "its last blocks");
        assert_eq!(cache.find(&disk, 91 * MS, 12, 2), None);
    }

    #[test]
    fn the_oldest_segment_makes_room() {
        let (mut cache, disk) = cache();
        for number in 0..4 {
            cache.keep(&disk, number * 100 * MS, number * 100, 4);
            cache.stop(&disk, number * 100 * MS);
        }
        let found: Vec<bool> = (0..4).map(|number| cache.find(&disk, 900 * MS, number * 100, 4).is_some()).collect();
        assert_eq!(found, [false, true, true, true]);
        cache.forget(203, 1);
        assert_eq!(cache.find(&disk, 900 * MS, 200, 4), None, "it was written since");
    }
}
