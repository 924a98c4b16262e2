//! Positions of a disk's blocks: zones of cylinders with equal sectors per track, and skews between tracks, so that a head
//! switch or a seek to the next cylinder takes the skew and not a rotation.
//!
//! One number locates a block: its *stream position* S, the rotations from block 0 to this one in a sequential read, skews
//! included. Its fraction is the block's angle. The difference of two positions is the time to stream between them, at the cost
//! of arithmetic, however many tracks are between. If a skew is shorter than the head movement, the next track starts a
//! rotation later: the angle is the same, and the stream position contains the lost rotation.
//! Source: Ruemmler and Wilkes, "An introduction to disk drive modeling", IEEE Computer 27 (1994).

use super::seek::SeekCurve;

/// Bytes of a block.
pub const BLOCK_BYTES: u64 = 512;

/// A zone as a data sheet or an extraction gives it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Zone {
    /// Its first cylinder, from the outside.
    pub first_cylinder: u32,
    /// Sectors of each of its tracks.
    pub sectors: u32,
    /// By how many sectors the next track of a cylinder begins later.
    pub track_skew: u32,
    /// By how many sectors the first track of the next cylinder begins later.
    pub cylinder_skew: u32,
    /// Sectors kept for replacement at its end.
    pub spare_sectors: u32,
}

/// Time of the head movement to the next track, in turns.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Switches {
    /// To the next surface of a cylinder.
    pub head: f64,
    /// To the first surface of the next cylinder.
    pub cylinder: f64,
}

impl Switches {
    /// With a settling time after each; the step to the next cylinder takes at least the head switch, if there are several
    /// heads.
    pub fn of(surfaces: u32, head_switch_ns: u64, seeks: &SeekCurve, settle_ns: u64, turn_ns: f64) -> Switches {
        let least_ns = if surfaces > 1 { head_switch_ns } else { 0 };
        let turns = |time_ns: u64| (time_ns + settle_ns) as f64 / turn_ns;
        Switches { head: turns(head_switch_ns), cylinder: turns(seeks.time_ns(1).max(least_ns)) }
    }
}

/// Angles closer than this are equal, so a block that continues a stream has no rotational delay.
pub(super) const SAME_ANGLE: f64 = 1e-6;

/// Rotational delay from one angle to another, in turns below 1; for equal angles about 0, perhaps a little less. Times are
/// rounded to nanoseconds, and without this the rounding of some hundred small accesses would add up to a lost rotation.
pub(super) fn wait(from: f64, to: f64) -> f64 {
    let turns = to - from;
    // As `turns - turns.floor()`, which is a call where there is no instruction for it.
    let within = turns - turns as i64 as f64;
    let waiting = if within < 0.0 { within + 1.0 } else { within };
    if waiting > 1.0 - SAME_ANGLE { waiting - 1.0 } else { waiting }
}

/// The blocks of a disk and their positions.
#[derive(Clone, Debug, PartialEq)]
pub struct Geometry {
    surfaces: u32,
    switches: Switches,
    blocks: u64,
    zones: Vec<Laid>,
}

/// A zone with the counts of those before it.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Laid {
    first_block: u64,
    first_cylinder: u32,
    sectors: u32,
    sectors_per_cylinder: u32,
    /// Sectors that pass between the tracks of a cylinder, by `shift`.
    track_shift: f64,
    /// Rotations of a whole cylinder, with its head switches and the step to the next.
    turns_per_cylinder: f64,
    turns_per_sector: f64,
    /// Stream position of its first block.
    start_turns: f64,
}

/// Position of a block.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Place {
    /// Cylinder, from the outside.
    pub cylinder: u32,
    /// Surface.
    pub head: u32,
    /// Number of sectors of its track.
    pub sectors: u32,
    /// Its sector on the track, from 0.
    pub sector: u32,
    /// Its stream position.
    pub turns: f64,
}

impl Geometry {
    /// Lays out zones in their order from cylinder 0 on, with skews below their sectors.
    pub fn new(surfaces: u32, cylinders: u32, zones: &[Zone], switches: Switches) -> Geometry {
        let mut laid = Vec::with_capacity(zones.len());
        let (mut blocks, mut turns) = (0_u64, 0.0_f64);
        for (index, zone) in zones.iter().enumerate() {
            let end = zones.get(index + 1).map_or(cylinders, |next| next.first_cylinder);
            let Zone { sectors, track_skew, cylinder_skew, .. } = *zone;
            let count = end - zone.first_cylinder;
            let track_shift = shift(track_skew, sectors, switches.head);
            let shifts = f64::from(surfaces - 1) * track_shift + shift(cylinder_skew, sectors, switches.cylinder);
            let turns_per_cylinder = (f64::from(sectors * surfaces) + shifts) / f64::from(sectors);
            let of_zone = Laid {
                first_block: blocks,
                first_cylinder: zone.first_cylinder,
                sectors,
                sectors_per_cylinder: sectors * surfaces,
                track_shift,
                turns_per_cylinder,
                turns_per_sector: 1.0 / f64::from(sectors),
                start_turns: turns,
            };
            let room = u64::from(of_zone.sectors_per_cylinder) * u64::from(count);
            blocks += room.saturating_sub(u64::from(zone.spare_sectors));
            turns += f64::from(count) * turns_per_cylinder;
            laid.push(of_zone);
        }
        Geometry { surfaces, switches, blocks, zones: laid }
    }

    /// How many blocks there are.
    pub fn blocks(&self) -> u64 {
        self.blocks
    }

    /// Position of a block; beyond the last that of the last.
    pub fn place(&self, block: u64) -> Place {
        let block = block.min(self.blocks.saturating_sub(1));
        let zone = &self.zones[self.zones.partition_point(|zone| zone.first_block <= block) - 1];
        let within = block - zone.first_block;
        let per_cylinder = zone.sectors_per_cylinder;
        // Halves the time of a division where it can be had.
        let (cylinder, of_cylinder) = match u32::try_from(within) {
            Ok(within) => (within / per_cylinder, within % per_cylinder),
            Err(_) => ((within / u64::from(per_cylinder)) as u32, (within % u64::from(per_cylinder)) as u32),
        };
        let (head, sector) = (of_cylinder / zone.sectors, of_cylinder % zone.sectors);
        Place {
            cylinder: zone.first_cylinder + cylinder,
            head,
            sectors: zone.sectors,
            sector,
            turns: zone.start_turns
                + f64::from(cylinder) * zone.turns_per_cylinder
                + (f64::from(of_cylinder) + f64::from(head) * zone.track_shift) * zone.turns_per_sector,
        }
    }

    /// Stream position after a block.
    pub fn turns_after(&self, block: u64) -> f64 {
        self.place(block).after()
    }

    /// When a place comes by for a head that passed the block before it at `from`, or has stayed on that track since; a time in
    /// turns.
    pub fn comes_after(&self, from: f64, place: &Place) -> f64 {
        let switch = match (place.sector, place.head) {
            (0, 0) => self.switches.cylinder,
            (0, _) => self.switches.head,
            _ => 0.0,
        };
        let from = from + switch;
        from + wait(from, place.turns)
    }

    /// How many blocks of the medium, from block 0, have passed whole at a stream position: the inverse of
    /// [`turns_after`](Geometry::turns_after).
    pub fn blocks_before(&self, turns: f64) -> u64 {
        // Positions are sums of fractions: a block that ends at this very position may be a few rounding errors beyond.
        let turns = turns + 1e-9;
        if turns <= 0.0 {
            return 0;
        }
        let number = self.zones.partition_point(|zone| zone.start_turns <= turns);
        let zone = &self.zones[number.saturating_sub(1)];
        let within = turns - zone.start_turns;
        let cylinder = (within / zone.turns_per_cylinder) as u64;
        let of_cylinder = (within - cylinder as f64 * zone.turns_per_cylinder) * f64::from(zone.sectors);
        let track = f64::from(zone.sectors) + zone.track_shift;
        let head = ((of_cylinder / track) as u32).min(self.surfaces - 1);
        let sector = ((of_cylinder - f64::from(head) * track) as u32).min(zone.sectors);
        let passed = cylinder * u64::from(zone.sectors_per_cylinder) + u64::from(head * zone.sectors + sector);
        let end = self.zones.get(number).map_or(self.blocks, |next| next.first_block);
        (zone.first_block + passed).min(end)
    }
}

/// How many sectors pass between a track and the next: as many as this begins later, and those of the turns that are lost
/// where the head is not there yet.
fn shift(skew: u32, sectors: u32, switch_turns: f64) -> f64 {
    let (skew, sectors) = (f64::from(skew), f64::from(sectors));
    skew + (switch_turns - skew / sectors - SAME_ANGLE).max(0.0).ceil() * sectors
}

impl Place {
    /// The stream position just after it.
    pub fn after(&self) -> f64 {
        self.turns + 1.0 / f64::from(self.sectors)
    }

    /// The place of the block so many beyond this one; none where that is on another track.
    pub fn further(&self, blocks: u64) -> Option<Place> {
        if u64::from(self.sector) + blocks >= u64::from(self.sectors) {
            return None;
        }
        let turns = self.turns + blocks as f64 / f64::from(self.sectors);
        Some(Place { sector: self.sector + blocks as u32, turns, ..*self })
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use proptest::prelude::*;

    pub(crate) fn zone(first_cylinder: u32, sectors: u32, track_skew: u32, cylinder_skew: u32) -> Zone {
        Zone { first_cylinder, sectors, track_skew, cylinder_skew, spare_sectors: 0 }
    }

    /// Two surfaces, three cylinders of ten sectors and two of eight.
    fn small() -> Geometry {
        Geometry::new(2, 5, &[zone(0, 10, 2, 3), zone(3, 8, 1, 2)], Switches::default())
    }

    #[test]
    fn blocks_lie_where_a_hand_puts_them() {
        let disk = small();
        assert_eq!(disk.blocks(), 3 * 20 + 2 * 16);
        let at = |block| {
            let place = disk.place(block);
            (place.cylinder, place.head, place.sector, (place.turns * 40.0).round() as u32)
        };
        assert_eq!(at(0), (0, 0, 0, 0));
        assert_eq!(at(9), (0, 0, 9, 36));
        // A turn and two of ten sectors.
        assert_eq!(at(10), (0, 1, 0, 48));
        // Two turns, two and three of ten.
        assert_eq!(at(20), (1, 0, 0, 100));
        // Three cylinders of 2.5 turns.
        assert_eq!(at(60), (3, 0, 0, 300));
        // A turn and one of eight.
        assert_eq!(at(68), (3, 1, 0, 345));
        assert_eq!(disk.place(1 << 40), disk.place(91), "beyond the end is the end");
    }

    /// Shifts of 0.2 and 0.3 of a turn outside, 0.125 and 0.25 inside.
    #[test]
    fn a_shift_that_is_shorter_than_the_switch_costs_a_turn_and_leaves_the_angle() {
        let starts = |head, cylinder| {
            let zones = [zone(0, 10, 2, 3), zone(3, 8, 1, 2)];
            let disk = Geometry::new(2, 5, &zones, Switches { head, cylinder });
            [10, 20, 60, 68].map(|block| (disk.place(block).turns * 1000.0).round() as u32)
        };
        let plain = [1200, 2500, 7500, 8625];
        assert_eq!(starts(0.0, 0.0), plain);
        assert_eq!(starts(0.125, 0.25), plain, "within all shifts");
        assert_eq!(starts(0.2, 0.25), [1200, 2500, 7500, 9625], "within that of the outer zone alone");
        assert_eq!(
            starts(0.21, 0.25),
            [2200, 3500, 10_500, 12_625],
            "a turn at each of three switches, and at the fourth"
        );
        assert_eq!(starts(0.0, 1.31), [1200, 4500, 13_500, 14_625], "two at each step to the next cylinder");
    }

    #[test]
    fn spares_are_not_blocks() {
        let zones = [Zone { spare_sectors: 3, ..zone(0, 10, 0, 1) }, zone(1, 8, 0, 1)];
        let disk = Geometry::new(1, 2, &zones, Switches::default());
        assert_eq!(disk.blocks(), 7 + 8);
        assert_eq!((disk.place(6).cylinder, disk.place(7).cylinder), (0, 1));
    }

    proptest! {
        #[test]
        fn what_has_passed_is_what_lies_before(
            sectors in 5_u32..40, skew in 0_u32..5, surfaces in 1_u32..5, share in 0.0_f64..1.0,
            switches in (0.0_f64..3.0, 0.0_f64..3.0)
        ) {
            let zones = [zone(0, sectors, skew, skew), zone(3, sectors - 2, skew.min(sectors - 3), skew.min(sectors - 3))];
            let switches = Switches { head: switches.0, cylinder: switches.1 };
            let disk = Geometry::new(surfaces, 6, &zones, switches);
            let block = (share * disk.blocks() as f64) as u64;
            prop_assert_eq!(disk.blocks_before(disk.turns_after(block)), block + 1);
            let just_before = disk.turns_after(block) - 0.5 / f64::from(sectors);
            prop_assert_eq!(disk.blocks_before(just_before), block);
            let after = disk.turns_after(block);
            prop_assert!(block + 1 == disk.blocks() || disk.place(block + 1).turns >= after - 1e-9);
        }
    }
}
