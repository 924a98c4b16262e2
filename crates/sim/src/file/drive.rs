//! The keys of a disk.

use super::error::Wrong;
use crate::bounds::{Blocks, Count, List, MOST_BYTES, Number, Share, Short, Word};
use crate::disk::arm::Mechanics;
use crate::disk::cache::ReadBuffer;
use crate::disk::geometry::{BLOCK_BYTES, Geometry, Switches, Zone};
use crate::disk::scheduler::Scheduler;
use crate::disk::seek::SeekCurve;
use crate::disk::{Drive, Noise, Overhead, WriteCache};
use crate::table::table;
use halfpower_model::Bytes;

const MOST_CYLINDERS: u64 = 10_000_000;
type Cylinder = Count<0, MOST_CYLINDERS>;
type Sectors = Count<1, 1_000_000>;
type Shift = Count<0, 1_000_000>;
type Spare = Count<0, 1_000_000_000>;
type ZoneKeys = (Cylinder, Sectors, Shift, Shift, Spare);
/// A part of the drive's memory, which keeps whole blocks: none, or so many.
type Buffer = Blocks<0, { 1 << 30 }>;
type Sector = Blocks<512, { 1 << 20 }>;

table! { pub(super) DriveKeys {
    /// surfaces, with one head each
    surfaces: Count<1, 255>,
    /// tracks per surface
    cylinders: Count<1, MOST_CYLINDERS>,
    /// rotations per minute
    rpm: Number<60, 100_000>,
    /// largest deviation of the rotation speed, as a share; each drive has its own speed and phase; 0: all rotate as one
    speed_tolerance: Share = default,
    /// share of the accesses that take another rotation: a missed track, or a retry
    retries: Share = default,
    /// from the outside in, each `[first cylinder, sectors per track, skew to the next track, skew to the next cylinder, spare
    /// sectors]`. At most 1024 TiB; skews below the sectors. If a skew is shorter than the head's way, a stream loses a rotation there
    zones: List<ZoneKeys, 1, 1000>,
    /// measured: `[cylinders, milliseconds]`, from 1 cylinder to half of the stroke or more, ascending, times never falling; the
    /// last line goes on beyond the last point; this, or `seek-times`
    seek: Option<List<(Count<1, MOST_CYLINDERS>, Number<0, 1000>), 1, 10_000>>,
    /// of a data sheet
    seek_times: Option<SeekTimes>,
    /// time to another surface; the step to the next cylinder takes at least as long
    head_switch: Short,
    /// extra wait of a write after a seek or head switch, also within a stream
    write_settle: Short = default,
    /// an access begins at the first of its sectors that passes the head
    zero_latency: bool = default,
    /// next command. With `sptf` no read overtakes the one that it continues. The oldest command is next after four rotations of
    /// waiting per waiting command
    scheduler: Word<Scheduler>,
    /// segments of the read buffer; 0: no caching, no read-ahead
    segments: Count<0, 4096>,
    /// size of each
    segment: Buffer,
    /// maximum read-ahead; at most `segment`
    read_ahead: Buffer,
    /// read-ahead behind a read that continues a segment even if others wait (minimum pre-fetch of SCSI's caching page)
    read_ahead_least: Buffer = default,
    /// drive time of a read that the buffer has, before the transfer
    read_hit: Short = default,
    /// the same for data that was delivered before; default `read-hit`
    read_again: Option<Short>,
    /// the buffer delivers data once: a repeated read goes to the medium
    delivers_once: bool = default,
    /// drive time of a read from the medium
    read_miss: Short = default,
    /// drive time of a write
    write: Short = default,
    /// writes past the write cache are processed while the arm serves another command, so that queued ones stream
    write_overlaps: bool = default,
    /// sector of the medium, at most a track: a partial write costs another rotation
    physical_sector: Sector = default,
    /// the write cache; without it the cache is off
    write_cache: Option<WriteCacheKeys>,
} }

table! { pub(super) SeekTimes {
    /// seek over one cylinder
    track_to_track: Short,
    /// average seek over uniform pairs of cylinders; about a third to three quarters of the way from `track-to-track` to `full`,
    /// because the curve never falls
    average: Short,
    /// full stroke; at least `track-to-track`
    full: Short,
} }

table! { pub(super) WriteCacheKeys {
    /// capacity
    size: Blocks<512, { 1 << 40 }>,
    /// maximum number of separate extents in it
    extents: Count<1, 16_384>,
} }

impl DriveKeys {
    /// The drive of a name.
    ///
    /// # Errors
    /// When its zones or its seek times contradict themselves.
    pub(super) fn drive(&self, name: &str) -> Result<Drive, Wrong> {
        let wrong = |(key, message): (&str, String)| Wrong::at(&["drive", name, key], message);
        self.check_zones().and_then(|()| self.check_seeks()).and_then(|()| self.check_sizes()).map_err(wrong)?;
        let zone = |&(first_cylinder, sectors, track_skew, cylinder_skew, spare_sectors): &_| Zone {
            first_cylinder,
            sectors,
            track_skew,
            cylinder_skew,
            spare_sectors,
        };
        let zones: Vec<Zone> = self.zones.iter().map(zone).collect();
        let seeks = self.seeks().map_err(wrong)?;
        let (surfaces, head_switch_ns, turn_ns) = (self.surfaces, self.head_switch.0, 60e9 / self.rpm);
        let laid = |settle_ns: u64| {
            let switches = Switches::of(surfaces, head_switch_ns, &seeks, settle_ns, turn_ns);
            Geometry::new(surfaces, self.cylinders, &zones, switches)
        };
        let (geometry, written) = (laid(0), laid(self.write_settle.0));
        if !(1..=MOST_BYTES / BLOCK_BYTES).contains(&geometry.blocks()) {
            let message = format!("a drive has to hold at least one block and at most {}", Bytes(MOST_BYTES));
            return Err(wrong(("zones", message)));
        }
        let settles = written.turns_after(u64::MAX) > geometry.turns_after(u64::MAX);
        let mechanics = Mechanics {
            geometry,
            written: settles.then_some(written),
            seeks,
            turn_ns,
            head_switch_ns,
            write_settle_ns: self.write_settle.0,
            zero_latency: self.zero_latency,
            sector_blocks: self.physical_sector.0 / BLOCK_BYTES,
        };
        let cache =
            |cache: &WriteCacheKeys| WriteCache { blocks: cache.size.0 / BLOCK_BYTES, extents: cache.extents as usize };
        Ok(Drive {
            mechanics,
            scheduler: self.scheduler,
            buffer: ReadBuffer {
                segments: self.segments as usize,
                segment_blocks: self.segment.0 / BLOCK_BYTES,
                read_ahead_blocks: self.read_ahead.0 / BLOCK_BYTES,
                least_ahead_blocks: self.read_ahead_least.0 / BLOCK_BYTES,
                again: !self.delivers_once,
            },
            overhead: Overhead {
                read_hit_ns: self.read_hit.0,
                read_again_ns: self.read_again.unwrap_or(self.read_hit).0,
                read_miss_ns: self.read_miss.0,
                write_ns: self.write.0,
                write_overlaps: self.write_overlaps,
            },
            write_cache: self.write_cache.as_ref().map(cache),
            noise: Noise { speed: self.speed_tolerance, retries: self.retries },
        })
    }

    /// Checks each size against what it is part of; gives the wrong key, and why, as the other checks do.
    fn check_sizes(&self) -> Result<(), (&'static str, String)> {
        let sectors = self.zones.iter().map(|zone| u64::from(zone.1)).min();
        let track = Bytes(sectors.unwrap_or(0) * BLOCK_BYTES);
        for (key, size, whole, most) in [
            ("read-ahead", self.read_ahead, "segment", self.segment),
            ("read-ahead-least", self.read_ahead_least, "read-ahead", self.read_ahead),
            ("physical-sector", self.physical_sector, "the shortest track of zones", track),
        ] {
            if size > most {
                return Err((key, format!("it has to be at most {whole}, {most}")));
            }
        }
        Ok(())
    }

    /// Checks that zones are in order from the outside in, with skews below their sectors.
    fn check_zones(&self) -> Result<(), (&'static str, String)> {
        let mut before = None;
        for (number, (first, sectors, track_skew, cylinder_skew, _)) in (1_u32..).zip(&self.zones) {
            let has_to = match before {
                None if *first > 0 => Some("the first begins at 0".to_owned()),
                Some(before) if first <= before => {
                    Some(format!("it has to begin after zone {}, which begins at {before}", number - 1))
                }
                _ if *first >= self.cylinders => {
                    Some(format!("it has to begin within the {} cylinders", self.cylinders))
                }
                _ => None,
            };
            if let Some(has_to) = has_to {
                let order = "zones are in order from the outside in";
                return Err(("zones", format!("zone {number} begins at cylinder {first}; {order}, and {has_to}")));
            }
            if track_skew.max(cylinder_skew) >= sectors {
                let shifts = format!("{sectors} sectors a track with shifts of {track_skew} and {cylinder_skew}");
                return Err(("zones", format!("zone {number}: {shifts}; shifts are below the sectors")));
            }
            before = Some(first);
        }
        Ok(())
    }

    /// Checks the points of a measured seek curve.
    fn check_seeks(&self) -> Result<(), (&'static str, String)> {
        let wrong = |message| Err(("seek", message));
        let points = self.seek.as_deref().unwrap_or_default();
        if let Some((far, _)) = points.first().filter(|(far, _)| *far > 1) {
            return wrong(format!("the first is of {far} cylinders; a curve begins with a seek over 1 cylinder"));
        }
        if let Some((far, _)) = points.last().filter(|(far, _)| far.saturating_mul(2) < self.cylinders - 1) {
            let stroke = self.cylinders - 1;
            return wrong(format!(
                "the last is of {far} cylinders; a curve goes to half of the stroke of {stroke} at least"
            ));
        }
        for pair in points.windows(2) {
            let [(nearer, shorter_ms), (far, ms)] = [pair[0], pair[1]];
            if far <= nearer {
                let order = "they have to be in ascending order";
                return wrong(format!("a seek over {far} cylinders follows one over {nearer}; {order}"));
            }
            if ms < shorter_ms {
                let takes = format!("a seek over {far} cylinders takes {ms} ms, and a shorter one {shorter_ms} ms");
                return wrong(format!("{takes}; none takes less than a shorter one"));
            }
        }
        Ok(())
    }

    /// The seek curve, or the key that is wrong.
    fn seeks(&self) -> Result<SeekCurve, (&'static str, String)> {
        let cylinders = self.cylinders;
        match (&self.seek, &self.seek_times) {
            (None, Some(SeekTimes { track_to_track, average, full })) => {
                let [single, average, full] = [track_to_track, average, full].map(|time| time.0 as f64 / 1e6);
                SeekCurve::data_sheet(cylinders, single, average, full).map_err(|message| ("seek-times", message))
            }
            (Some(points), None) => Ok(SeekCurve::measured(cylinders, points)),
            _ => Err(("seek", "a drive needs either seek or seek-times".to_owned())),
        }
    }
}
