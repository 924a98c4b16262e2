//! The keys of a disk.

use super::{MachineError, Said};
use crate::disk::arm::Mechanics;
use crate::disk::cache::ReadBuffer;
use crate::disk::geometry::{BLOCK_BYTES, Geometry, Zone};
use crate::disk::scheduler::Scheduler;
use crate::disk::seek::{SeekCurve, SeekError};
use crate::disk::{Drive, Overhead, WriteCache};
use halfpower_model::{Bytes, Nanoseconds};
use serde::Deserialize;
use std::str::FromStr;

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct DriveKeys {
    pub(super) surfaces: u32,
    pub(super) cylinders: u32,
    /// Turns a minute.
    pub(super) rpm: f64,
    /// First cylinder, sectors a track, shift to the next track and to the next cylinder in sectors; spare sectors.
    pub(super) zones: Vec<(u32, u32, u32, u32, u32)>,
    /// Measured: cylinders and milliseconds.
    pub(super) seek: Option<Vec<(u32, f64)>>,
    /// Of a data sheet.
    pub(super) seek_times: Option<SeekTimes>,
    pub(super) head_switch: Said<Nanoseconds>,
    #[serde(default)]
    pub(super) write_settle: Said<Nanoseconds>,
    #[serde(default)]
    pub(super) zero_latency: bool,
    /// fcfs, c-look, sstf or sptf.
    pub(super) scheduler: Said<Scheduler>,
    /// Read segments; 0 for none.
    pub(super) segments: usize,
    /// Bytes of each.
    pub(super) segment: Said<Bytes>,
    /// How far it reads ahead.
    pub(super) read_ahead: Said<Bytes>,
    /// The drive's time for a read that its buffer has, before the bytes come.
    #[serde(default)]
    pub(super) read_hit: Said<Nanoseconds>,
    /// The same for what was given before; as `read-hit` where it is not said.
    pub(super) read_again: Option<Said<Nanoseconds>>,
    /// The longest read that the buffer gives again: what is longer is read anew. Where it is not said, all that it has.
    pub(super) read_again_most: Option<Said<Bytes>>,
    /// What a read that the buffer has takes at the least, with its bytes.
    #[serde(default)]
    pub(super) read_least: Said<Nanoseconds>,
    /// For one of the medium.
    #[serde(default)]
    pub(super) read_miss: Said<Nanoseconds>,
    /// For a write.
    #[serde(default)]
    pub(super) write: Said<Nanoseconds>,
    /// For one for the medium that came before the medium was at those that are under way; none: as `write`.
    pub(super) write_next: Option<Said<Nanoseconds>>,
    /// A sector of the medium: a write of part of one takes another turn, to read it first.
    #[serde(default = "block")]
    pub(super) physical_sector: Said<Bytes>,
    /// What the write cache holds; none: it is off.
    pub(super) write_cache: Option<WriteCacheKeys>,
}

fn block() -> Said<Bytes> {
    Said(Bytes(BLOCK_BYTES))
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct SeekTimes {
    pub(super) track_to_track: Said<Nanoseconds>,
    pub(super) average: Said<Nanoseconds>,
    pub(super) full: Said<Nanoseconds>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct WriteCacheKeys {
    /// Bytes.
    pub(super) size: Said<Bytes>,
    /// Separate pieces of the medium.
    pub(super) pieces: usize,
}

impl FromStr for Scheduler {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        super::word("scheduler", &Scheduler::WORDS, text)
    }
}

impl DriveKeys {
    pub(super) fn drive(&self, machine: &str, name: &str) -> Result<Drive, MachineError> {
        let part = || (machine.to_owned(), name.to_owned());
        let zones: Vec<Zone> = self
            .zones
            .iter()
            .map(|&(first_cylinder, sectors, track_skew, cylinder_skew, spare_sectors)| Zone {
                first_cylinder,
                sectors,
                track_skew,
                cylinder_skew,
                spare_sectors,
            })
            .collect();
        let geometry = Geometry::new(self.surfaces, self.cylinders, &zones).map_err(|source| {
            let (machine, drive) = part();
            MachineError::Geometry { machine, drive, source }
        })?;
        let milliseconds = |time: Said<Nanoseconds>| time.0.0 as f64 / 1e6;
        let seeks = match (&self.seek, self.seek_times) {
            (Some(points), None) => SeekCurve::measured(self.cylinders, points),
            (None, Some(times)) => SeekCurve::data_sheet(
                self.cylinders,
                milliseconds(times.track_to_track),
                milliseconds(times.average),
                milliseconds(times.full),
            ),
            _ => Err(SeekError::Points),
        };
        let seeks = seeks.map_err(|source| {
            let (machine, drive) = part();
            MachineError::Seek { machine, drive, source }
        })?;
        if !(60.0..=100_000.0).contains(&self.rpm) {
            let (machine, drive) = part();
            let message = format!("{} turns a minute? It is from 60 to 100 000", self.rpm);
            return Err(MachineError::Figure { machine, part: format!("drive {drive}"), message });
        }
        let physical = self.physical_sector.0.0;
        if physical == 0 || !physical.is_multiple_of(BLOCK_BYTES) {
            let (machine, drive) = part();
            let message = format!("a physical-sector of {} is of no whole blocks of 512 bytes", Bytes(physical));
            return Err(MachineError::Figure { machine, part: format!("drive {drive}"), message });
        }
        let mechanics = Mechanics {
            geometry,
            seeks,
            turn_ns: 60e9 / self.rpm,
            head_switch_ns: self.head_switch.0.0,
            write_settle_ns: self.write_settle.0.0,
            zero_latency: self.zero_latency,
        };
        Ok(Drive {
            mechanics,
            scheduler: self.scheduler.0,
            buffer: ReadBuffer {
                segments: self.segments,
                segment_blocks: self.segment.0.0 / BLOCK_BYTES,
                read_ahead_blocks: self.read_ahead.0.0 / BLOCK_BYTES,
                again_blocks: self.read_again_most.map_or(u64::MAX, |most| most.0.0 / BLOCK_BYTES),
            },
            overhead: Overhead {
                read_hit_ns: self.read_hit.0.0,
                read_again_ns: self.read_again.unwrap_or(self.read_hit).0.0,
                read_least_ns: self.read_least.0.0,
                read_miss_ns: self.read_miss.0.0,
                write_ns: self.write.0.0,
                write_next_ns: self.write_next.unwrap_or(self.write).0.0,
            },
            write_cache: self
                .write_cache
                .map(|cache| WriteCache { blocks: cache.size.0.0 / BLOCK_BYTES, pieces: cache.pieces }),
            physical_blocks: physical / BLOCK_BYTES,
        })
    }
}
