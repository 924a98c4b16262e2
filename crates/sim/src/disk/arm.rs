//! Arm and platters: the time of an access.
//!
//! An access is a seek or head switch, the settling time of writes, the rotational delay, and the transfer with the skews of
//! the tracks in it. A drive with zero-latency access starts mid-track, at a whole sector, and transfers the rest of that track
//! at the end of the rotation. A write settles after each head movement, also from track to track: if the skew is too short
//! for that, a rotation is lost. One rotation is a *turn*.
//! Source: Ruemmler and Wilkes (1994); Worthington, Ganger, Patt and Wilkes, "On-line extraction of SCSI disk drive
//! parameters" (1995).

use super::geometry::{Geometry, Place, SAME_ANGLE, wait};
use super::seek::SeekCurve;
use crate::command::Direction;

/// Arm and platters.
#[derive(Clone, Debug, PartialEq)]
pub struct Mechanics {
    /// Positions of the blocks.
    pub geometry: Geometry,
    /// The same for writes, if settling costs a stream of them rotations; none if the skews have room for it.
    pub written: Option<Geometry>,
    /// Seek times.
    pub seeks: SeekCurve,
    /// Time of a rotation in nanoseconds.
    pub turn_ns: f64,
    /// Time to switch to another head of the same cylinder.
    pub head_switch_ns: u64,
    /// Settling time of a write after a seek or head switch.
    pub write_settle_ns: u64,
    /// Whether an access starts mid-track.
    pub zero_latency: bool,
    /// Blocks of a physical sector, which is read and written whole.
    pub sector_blocks: u64,
}

/// Position of the arm.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Position {
    /// Cylinder.
    pub cylinder: u32,
    /// Head.
    pub head: u32,
}

/// An access to consecutive blocks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Access {
    /// When the first of them begins to pass.
    pub begins_ns: u64,
    /// When the last has passed.
    pub ends_ns: u64,
    /// How long a stream takes to pass over them; the rest of the access is seek and rotational delay.
    pub passing_ns: u64,
    /// Position of the arm at the end.
    pub position: Position,
    /// Stream position after the last block; of a write, that for writes.
    pub after_turns: f64,
}

impl Access {
    /// The same, delayed by whole rotations so that it ends no earlier than `moment_ns`.
    pub fn not_before(self, moment_ns: u64, turn_ns: f64) -> Access {
        if self.ends_ns >= moment_ns {
            return self;
        }
        self.later(((moment_ns - self.ends_ns) as f64 / turn_ns).ceil() as u64, turn_ns)
    }

    /// The same, delayed by rotations.
    pub fn later(self, turns: u64, turn_ns: f64) -> Access {
        let later_ns = (turns as f64 * turn_ns + 0.5) as u64;
        Access { begins_ns: self.begins_ns + later_ns, ends_ns: self.ends_ns + later_ns, ..self }
    }
}

impl Mechanics {
    /// For an arm that leaves `from` at `now_ns`: time of its movement, and rotational delay until `place` comes by, in turns.
    fn approach(&self, from: Position, now_ns: u64, place: &Place, direction: Direction) -> (f64, f64) {
        let distance = from.cylinder.abs_diff(place.cylinder);
        let switching_ns = if from.head == place.head { 0 } else { self.head_switch_ns };
        let mut moving_ns = self.seeks.time_ns(distance).max(switching_ns);
        if direction == Direction::Write && moving_ns > 0 {
            moving_ns += self.write_settle_ns;
        }
        let moving = moving_ns as f64 / self.turn_ns;
        (moving, wait(now_ns as f64 / self.turn_ns + moving, place.turns))
    }

    /// Positioning time, seek and rotational delay, in nanoseconds.
    pub fn positioning_ns(&self, from: Position, now_ns: u64, place: &Place, direction: Direction) -> u64 {
        let (moving, waiting) = self.approach(from, now_ns, place, direction);
        ((moving + waiting) * self.turn_ns) as u64
    }

    /// The geometry of a stream of this direction: the angles are the same, its stream positions contain lost rotations.
    fn medium(&self, direction: Direction) -> &Geometry {
        let written = self.written.as_ref().filter(|_| direction == Direction::Write);
        written.unwrap_or(&self.geometry)
    }

    /// Extends an access that ended at `ends_ns` by the next `count` blocks.
    pub fn write_on(&self, ends_ns: u64, block: u64, count: u64) -> Access {
        let medium = self.medium(Direction::Write);
        let place = medium.place(block);
        let begins = medium.comes_after(ends_ns as f64 / self.turn_ns, &place);
        self.pass(begins, block, &place, count, Direction::Write)
    }

    /// Transfers `count` blocks in order; the first begins to pass at `begins`, in turns.
    fn pass(&self, begins: f64, block: u64, place: &Place, count: u64, direction: Direction) -> Access {
        let further = count.max(1) - 1;
        if let Some(end) = place.further(further) {
            let passing = end.after() - place.turns;
            return self.over(begins, begins + passing, passing, &end);
        }
        let medium = self.medium(direction);
        let end = medium.place(block + further);
        let first = if self.written.is_some() { medium.place(block) } else { *place };
        let passing = end.after() - first.turns;
        self.over(begins, begins + passing, passing, &end)
    }

    fn over(&self, begins: f64, ends: f64, passing: f64, end: &Place) -> Access {
        let position = Position { cylinder: end.cylinder, head: end.head };
        let [begins_ns, ends_ns, passing_ns] = [begins, ends, passing].map(|turns| self.at_ns(turns));
        Access { begins_ns, ends_ns, passing_ns, position, after_turns: end.after() }
    }

    /// Writes with an arm that leaves at `leaves_ns`, while the data still arrive until `ready_ns`: either in the order of the
    /// blocks, so that none passes before its data, or mid-track once all data are there, whichever ends first. So data that
    /// arrive earlier are never written later.
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
        let begins = leaves_ns as f64 / self.turn_ns + moving + waiting;
        let in_order = self.pass(begins, block, place, count, Direction::Write).not_before(ready_ns, self.turn_ns);
        if !self.zero_latency {
            return in_order;
        }
        let all_there_ns = leaves_ns.max(ready_ns.saturating_sub((moving * self.turn_ns) as u64));
        let at_once = self.access(from, all_there_ns, block, place, count, Direction::Write);
        if at_once.ends_ns < in_order.ends_ns { at_once } else { in_order }
    }

    /// Accesses `count` blocks from `block` on, which is at `place`.
    pub fn access(
        &self,
        from: Position,
        now_ns: u64,
        block: u64,
        place: &Place,
        count: u64,
        direction: Direction,
    ) -> Access {
        let (moving, waiting) = self.approach(from, now_ns, place, direction);
        let arrives = now_ns as f64 / self.turn_ns + moving;
        let on_first_track = u64::from(place.sectors - place.sector).min(count);
        let begins = self.amid(arrives, waiting, block, place, on_first_track);
        let Some(begins) = begins else { return self.pass(arrives + waiting, block, place, count, direction) };
        // A whole turn takes all that is on this track.
        let turned = begins + 1.0;
        if let Some(end) = place.further(count - 1) {
            return self.over(begins, turned, end.after() - place.turns, &end);
        }
        let medium = self.medium(direction);
        let [first, next, end] = [0, on_first_track, count - 1].map(|further| medium.place(block + further));
        let ends = medium.comes_after(turned, &next) + (end.after() - next.turns);
        self.over(begins, ends, end.after() - first.turns, &end)
    }

    /// When the next whole sector of `count` blocks on a track comes by, if the head arrives among them and the drive starts
    /// mid-track; in turns, none if it starts with the first.
    fn amid(&self, arrives: f64, waiting: f64, block: u64, place: &Place, count: u64) -> Option<f64> {
        let sectors = f64::from(place.sectors);
        let passed = (1.0 - waiting) * sectors;
        if !self.zero_latency || passed >= count as f64 {
            return None;
        }
        let sector = self.sector_blocks;
        let missed = (passed - SAME_ANGLE * sectors).max(0.0).ceil() as u64;
        let next = (block + missed).next_multiple_of(sector) - block;
        (next < count).then(|| arrives + (next as f64 - passed) / sectors)
    }

    /// The nearest nanosecond.
    fn at_ns(&self, turns: f64) -> u64 {
        (turns * self.turn_ns + 0.5) as u64
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::disk::geometry::{Switches, tests::zone};

    /// Ten sectors a track and a turn of 10 ms: a sector passes in 1 ms.
    pub(crate) fn slow(zero_latency: bool) -> Mechanics {
        switching(1_000_000, zero_latency)
    }

    /// The same with a head switch of so long.
    fn switching(head_switch_ns: u64, zero_latency: bool) -> Mechanics {
        let seeks = SeekCurve::measured(100, &[(1, 2.0), (99, 11.8)]);
        let laid = |settle_ns| {
            let switches = Switches::of(2, head_switch_ns, &seeks, settle_ns, 10e6);
            Geometry::new(2, 100, &[zone(0, 10, 2, 3)], switches)
        };
        Mechanics {
            geometry: laid(0),
            written: Some(laid(500_000)),
            seeks,
            turn_ns: 10e6,
            head_switch_ns,
            write_settle_ns: 500_000,
            zero_latency,
            sector_blocks: 1,
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
        // The next track begins at 12, 0.5 ms after the turn, and the head is there 0.5 ms late.
        assert_eq!(access(&drive, 1.0, 0, 12, Direction::Read), (1.0, 14.0));
        assert_eq!(access(&switching(1_500_000, true), 1.0, 0, 12, Direction::Read), (1.0, 24.0));
    }

    #[test]
    fn no_part_of_a_sector_is_read_or_written() {
        let drive = slow(true);
        assert_eq!(access(&drive, 4.5, 2, 6, Direction::Read), (5.0, 15.0));
        assert_eq!(access(&drive, 7.5, 2, 6, Direction::Read), (12.0, 18.0), "the last began");
        let large = Mechanics { sector_blocks: 4, ..slow(true) };
        assert_eq!(access(&large, 2.5, 0, 8, Direction::Write), (4.0, 14.0));
        assert_eq!(access(&large, 4.5, 0, 8, Direction::Write), (10.0, 18.0));
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

    /// 8 of 4832 sectors of 8.3 ms take 13 796 ns and nine tenths. In one passage, or each asked for when the one before has
    /// passed.
    #[test]
    fn a_thousand_small_passages_are_no_later_than_a_large_one() {
        let drive = Mechanics {
            geometry: Geometry::new(2, 100, &[zone(0, 4832, 480, 480)], Switches::default()),
            written: None,
            turn_ns: 60e9 / 7200.0,
            ..switching(800_000, false)
        };
        let (mut now, mut from, mut then) = (0, Position::default(), 0);
        for block in (0..400_000).step_by(8) {
            now = drive.write_on(now, block, 8).ends_ns;
            let streamed = drive.geometry.turns_after(block + 7) * drive.turn_ns;
            assert!((now as f64 - streamed).abs() < 1.0, "{block}: {now} against {streamed}");
            // Up to the next cylinder.
            if block < 9664 {
                let access = drive.access(from, then, block, &drive.geometry.place(block), 8, Direction::Read);
                (from, then) = (access.position, access.ends_ns);
                assert!((then as f64 - streamed).abs() < 1.0, "{block}: {then} against {streamed}");
            }
        }
    }

    /// Whether a stream is asked for in pieces or at once, it loses a turn of 10 ms at each track where the head is too late: after
    /// shifts of 2 ms, and of 3 where seeking takes 2. Writing has to settle for 0.5 ms more.
    #[test]
    fn a_stream_goes_on_without_a_wait_but_for_the_head_switch() {
        for (direction, head_switch_us, lost) in [
            (Direction::Read, 0, 0.0),
            (Direction::Read, 2000, 0.0),
            (Direction::Read, 2500, 0.5),
            (Direction::Read, 4000, 1.0),
            (Direction::Read, 15_000, 2.0),
            (Direction::Read, 1_000_000, 100.0),
            (Direction::Write, 1500, 0.0),
            (Direction::Write, 2000, 0.5),
            (Direction::Write, 2500, 0.5),
            (Direction::Write, 3000, 1.0),
            (Direction::Write, 1_000_000, 100.0),
        ] {
            let drive = switching(head_switch_us * 1000, false);
            let (mut from, mut now, mut written, mut block) = (Position::default(), 0, 0, 0);
            while block < 1890 {
                let place = drive.geometry.place(block);
                let access = drive.access(from, now, block, &place, 7, direction);
                written = if block == 0 { access.ends_ns } else { drive.write_on(written, block, 7).ends_ns };
                (from, now, block) = (access.position, access.ends_ns, block + 7);
                let streamed = drive.medium(direction).turns_after(block - 1) * drive.turn_ns;
                assert!((now as f64 - streamed).abs() < 2.0, "{block}: {now} against {streamed}");
                let is_same = direction == Direction::Read || written.abs_diff(now) < 2;
                assert!(is_same, "{block}: {written} against {now}");
            }
            // 189 tracks of 10 ms and the 188 shifts between them round-robin.
            let passed = 1890.0 + 188.0 * 2.5 + 188.0 * lost * 10.0;
            assert!((now as f64 / 1e6 / passed - 1.0).abs() < 1e-3, "{head_switch_us}: {now} against {passed}");
        }
    }
}
