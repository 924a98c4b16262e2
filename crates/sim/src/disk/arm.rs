//! The arm over the turning medium: how long it takes to reach a block and to pass over some.
//!
//! An access is the seek (or the switch to another head), the settling that writing needs on top, the wait until the first
//! block comes by, and the passage over the blocks with the shifts of the tracks between them. A drive with zero-latency
//! access begins in the middle of what it is to read of the first track and takes the rest as it comes by again.
//! Source: Ruemmler and Wilkes (1994); Worthington, Ganger, Patt and Wilkes, "On-line extraction of SCSI disk drive
//! parameters" (1995).

use super::geometry::{Geometry, Place};
use super::seek::SeekCurve;
use crate::device::Direction;

/// What moves and turns.
#[derive(Clone, Debug, PartialEq)]
pub struct Mechanics {
    /// Where the blocks lie.
    pub geometry: Geometry,
    /// The arm's times.
    pub seeks: SeekCurve,
    /// A turn, in nanoseconds.
    pub turn_ns: f64,
    /// To another head of the same cylinder.
    pub head_switch_ns: u64,
    /// What writing waits beyond a seek or a switch.
    pub write_settle_ns: u64,
    /// Whether a track is read from wherever the head comes down.
    pub zero_latency: bool,
}

/// Where the arm is.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Position {
    /// Over which cylinder.
    pub cylinder: u32,
    /// With which head.
    pub head: u32,
}

/// One passage over blocks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Access {
    /// When the first of them comes under the head.
    pub begins_ns: u64,
    /// When the last has passed.
    pub ends_ns: u64,
    /// Where the arm is then.
    pub position: Position,
    /// The stream position just after the last.
    pub after_turns: f64,
}

impl Access {
    /// The same so many turns later that it does not end before a moment.
    pub fn not_before(self, moment_ns: u64, turn_ns: f64) -> Access {
        if self.ends_ns >= moment_ns {
            return self;
        }
        self.later(((moment_ns - self.ends_ns) as f64 / turn_ns).ceil() as u64, turn_ns)
    }

    /// The same so many turns later.
    pub fn later(self, turns: u64, turn_ns: f64) -> Access {
        let later_ns = (turns as f64 * turn_ns + 0.5) as u64;
        Access { begins_ns: self.begins_ns + later_ns, ends_ns: self.ends_ns + later_ns, ..self }
    }
}

/// Angles nearer than this are the same: what continues a stream waits for nothing.
const SAME_ANGLE: f64 = 1e-6;

impl Mechanics {
    /// How long until the first block of a place comes by, for an arm that leaves `from` at `now_ns`, in turns; and how
    /// much of it is the arm's movement.
    fn approach(&self, from: Position, now_ns: u64, place: &Place, direction: Direction) -> (f64, f64) {
        let distance = from.cylinder.abs_diff(place.cylinder);
        let mut moving_ns = match (distance, from.head == place.head) {
            (0, true) => 0,
            (0, false) => self.head_switch_ns,
            (distance, _) => self.seeks.time_ns(distance),
        };
        if direction == Direction::Write && moving_ns > 0 {
            moving_ns += self.write_settle_ns;
        }
        let moving = moving_ns as f64 / self.turn_ns;
        (moving, wait(now_ns as f64 / self.turn_ns + moving, place.turns))
    }

    /// How long until the first block comes by, in nanoseconds.
    pub fn positioning_ns(&self, from: Position, now_ns: u64, place: &Place, direction: Direction) -> u64 {
        let (moving, waiting) = self.approach(from, now_ns, place, direction);
        ((moving + waiting) * self.turn_ns) as u64
    }

    /// Goes on over `count` blocks after an access to those before them that ended at `ends_ns`, which was rounded: where the
    /// first block is at that very angle it is the angle that counts, else small accesses one behind the other would each be
    /// off in the same direction, and lose a turn after some hundreds.
    pub fn pass_on(&self, ends_ns: u64, block: u64, count: u64) -> Access {
        let (place, end) = (self.geometry.place(block), self.geometry.place(block + count.max(1) - 1));
        let after = end.turns + 1.0 / f64::from(end.sectors);
        let from = ends_ns as f64 / self.turn_ns;
        let passed = wait(place.turns, from);
        let begins = from + if 0.0 < passed && passed < SAME_ANGLE { -passed } else { wait(from, place.turns) };
        let ends = begins + (after - place.turns);
        let position = Position { cylinder: end.cylinder, head: end.head };
        Access { begins_ns: self.at_ns(begins), ends_ns: self.at_ns(ends), position, after_turns: after }
    }

    /// Writes for an arm that leaves while the bytes come, the last of them at `ready_ns`: in the order of the blocks, so that
    /// none passes before its bytes are there, or from wherever the head is when all are, whichever is done first. So bytes
    /// that come earlier are never written later.
    pub fn write_early(
        &self,
        from: Position,
        leaves_ns: u64,
        ready_ns: u64,
        block: u64,
        place: &Place,
        count: u64,
    ) -> Access {
        let (moving, waiting) = self.approach(from, leaves_ns, place, Direction::Write);
        let begins_ns = leaves_ns + ((moving + waiting) * self.turn_ns + 0.5) as u64;
        let in_order = self.pass_on(begins_ns, block, count).not_before(ready_ns, self.turn_ns);
        if !self.zero_latency {
            return in_order;
        }
        let all_there_ns = leaves_ns.max(ready_ns.saturating_sub((moving * self.turn_ns) as u64));
        let at_once = self.access(from, all_there_ns, block, place, count, Direction::Write);
        if at_once.ends_ns < in_order.ends_ns { at_once } else { in_order }
    }

    /// Passes over `count` blocks from `place` on, which is that of `block`.
    pub fn access(
        &self,
        from: Position,
        now_ns: u64,
        block: u64,
        place: &Place,
        count: u64,
        direction: Direction,
    ) -> Access {
        let further = count.max(1) - 1;
        let end = place.further(further).unwrap_or_else(|| self.geometry.place(block + further));
        let after = end.turns + 1.0 / f64::from(end.sectors);
        let (moving, waiting) = self.approach(from, now_ns, place, direction);
        let arrives = now_ns as f64 / self.turn_ns + moving;
        let on_first_track = u64::from(place.sectors - place.sector).min(count);
        let first_track = on_first_track as f64 / f64::from(place.sectors);
        let (begins, ends) = if self.zero_latency && waiting > 1.0 - first_track {
            // The head comes down inside of what is wanted: a whole turn takes all that is on this track.
            let turned = arrives + 1.0;
            if on_first_track == count {
                (arrives, turned)
            } else {
                let next = self.geometry.place(block + on_first_track);
                (arrives, turned + wait(turned, next.turns) + (after - next.turns))
            }
        } else {
            (arrives + waiting, arrives + waiting + (after - place.turns))
        };
        let position = Position { cylinder: end.cylinder, head: end.head };
        Access { begins_ns: self.at_ns(begins), ends_ns: self.at_ns(ends), position, after_turns: after }
    }

    /// The nearest nanosecond.
    fn at_ns(&self, turns: f64) -> u64 {
        (turns * self.turn_ns + 0.5) as u64
    }
}

/// From one angle to another, in turns: from 0 to just below 1.
pub(super) fn wait(from: f64, to: f64) -> f64 {
    let turns = to - from;
    // As `turns - turns.floor()`, which is a call where there is no instruction for it.
    let within = turns - turns as i64 as f64;
    let waiting = if within < 0.0 { within + 1.0 } else { within };
    if waiting > 1.0 - SAME_ANGLE { 0.0 } else { waiting }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::disk::geometry::tests::zone;

    /// Ten sectors a track and a turn of 10 ms: a sector passes in 1 ms.
    pub(crate) fn slow(zero_latency: bool) -> Mechanics {
        Mechanics {
            geometry: Geometry::new(2, 100, &[zone(0, 10, 2, 3)]).unwrap(),
            seeks: SeekCurve::measured(100, &[(1, 2.0), (99, 11.8)]).unwrap(),
            turn_ns: 10e6,
            head_switch_ns: 1_000_000,
            write_settle_ns: 500_000,
            zero_latency,
        }
    }

    fn access(drive: &Mechanics, now_ms: f64, block: u64, count: u64, direction: Direction) -> (f64, f64) {
        let place = drive.geometry.place(block);
        let access = drive.access(Position::default(), (now_ms * 1e6) as u64, block, &place, count, direction);
        (access.begins_ns as f64 / 1e6, access.ends_ns as f64 / 1e6)
    }

    #[test]
    fn an_access_by_hand() {
        let drive = slow(false);
        // On the track: sector 4 comes by at 4 ms, and two of them pass in 2.
        assert_eq!(access(&drive, 0.0, 4, 2, Direction::Read), (4.0, 6.0));
        // Just gone: a turn less half a sector.
        assert_eq!(access(&drive, 4.5, 4, 2, Direction::Read), (14.0, 16.0));
        // The next head: 1 ms of switching, and its first sector is at 12 ms.
        assert_eq!(access(&drive, 0.0, 10, 1, Direction::Read), (2.0, 3.0));
        // Over the end of a track: eight, the shift of two, and two more.
        assert_eq!(access(&drive, 0.0, 2, 10, Direction::Read), (2.0, 14.0));
        // One cylinder on: 2 ms of seeking; block 20 is at 25 sectors, that is 5 of a turn.
        assert_eq!(access(&drive, 0.0, 20, 1, Direction::Read), (5.0, 6.0));
        assert_eq!(access(&drive, 3.2, 20, 1, Direction::Read), (15.0, 16.0), "2 ms are too many");
        assert_eq!(access(&drive, 2.7, 20, 1, Direction::Write), (15.0, 16.0), "so is what writing needs");
        assert_eq!(access(&drive, 2.7, 20, 1, Direction::Read), (5.0, 6.0));
    }

    #[test]
    fn zero_latency_takes_a_turn_at_the_most() {
        let drive = slow(true);
        // Sectors 2 to 7 wanted, the head comes down on 4.
        assert_eq!(access(&drive, 4.0, 2, 6, Direction::Read), (4.0, 14.0));
        assert_eq!(access(&slow(false), 4.0, 2, 6, Direction::Read), (12.0, 18.0));
        assert_eq!(access(&drive, 0.0, 2, 6, Direction::Read), (2.0, 8.0), "outside of what is wanted nothing changes");
        // Sectors 2 to 9 and two of the next track, which begin at 12: a turn from 4, and on to 22.
        assert_eq!(access(&drive, 4.0, 2, 10, Direction::Read), (4.0, 24.0));
    }

    #[test]
    fn an_arm_that_is_early_writes_no_byte_before_it_is_there() {
        // Sectors 2 to 7.
        let ends_ms = |zero_latency, leaves_ms: u64, ready_ms: u64| {
            let drive = slow(zero_latency);
            let place = drive.geometry.place(2);
            let from = Position::default();
            drive.write_early(from, leaves_ms * 1_000_000, ready_ms * 1_000_000, 2, &place, 6).ends_ns as f64 / 1e6
        };
        assert_eq!(ends_ms(true, 0, 3), 8.0, "in their order, the last before it passes");
        assert_eq!(ends_ms(true, 4, 4), 14.0, "all are there: from where the head is");
        assert_eq!(ends_ms(true, 4, 9), 18.0, "at 4 ms none of what passes was there");
        assert_eq!([ends_ms(false, 4, 4), ends_ms(false, 0, 9)], [18.0, 18.0]);
    }

    /// 8 of 4832 sectors of 8.3 ms take 13 796 ns and nine tenths.
    #[test]
    fn a_thousand_small_passages_are_no_later_than_a_large_one() {
        let drive = Mechanics {
            geometry: Geometry::new(2, 100, &[zone(0, 4832, 480, 480)]).unwrap(),
            turn_ns: 60e9 / 7200.0,
            ..slow(false)
        };
        let mut now = 0;
        for block in (0..400_000).step_by(8) {
            now = drive.pass_on(now, block, 8).ends_ns;
            let streamed = drive.geometry.turns_after(block + 7) * drive.turn_ns;
            assert!((now as f64 - streamed).abs() < 1.0, "{block}: {now} against {streamed}");
        }
    }

    #[test]
    fn a_stream_goes_on_without_a_wait() {
        let drive = slow(false);
        let (mut from, mut now, mut block) = (Position::default(), 0, 0);
        while block < 1900 {
            let place = drive.geometry.place(block);
            let access = drive.access(from, now, block, &place, 7, Direction::Read);
            (from, now, block) = (access.position, access.ends_ns, block + 7);
            let streamed = drive.geometry.turns_after(block - 1) * drive.turn_ns;
            assert!((now as f64 - streamed).abs() < 2000.0, "{block}: {now} against {streamed}");
        }
    }
}
