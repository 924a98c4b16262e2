//! Machine files: TOML in, a [`Machine`] with one of its volumes out.
//!
//! Every key is known, or the file is refused with the line and the column; so is a name that nothing has. Quantities are
//! texts with their unit. What a key means stands at its field.

use crate::disk::arm::Mechanics;
use crate::disk::geometry::{Geometry, GeometryError, Zone};
use crate::disk::scheduler::Scheduler;
use crate::disk::seek::{SeekCurve, SeekError};
use crate::disk::{Drive, Overhead, WriteCache};
use crate::machine::{AttachedDisk, Bus, Cost, Machine, OperatingSystem, Volume};
use halfpower_model::{Bytes, BytesPerSecond, Nanoseconds};
use serde::Deserialize;
use serde::de::{Deserializer, Error as _};
use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

/// A machine as its file tells it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct MachineFile {
    /// What it is, in a sentence.
    pub description: String,
    processor: ProcessorKeys,
    system: SystemKeys,
    #[serde(default)]
    bus: BTreeMap<String, BusKeys>,
    #[serde(default)]
    drive: BTreeMap<String, DriveKeys>,
    volume: BTreeMap<String, VolumeKeys>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct ProcessorKeys {
    /// How many.
    count: u32,
    /// What they are called.
    model: String,
    /// Main memory of the machine.
    memory: Said<Bytes>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct SystemKeys {
    /// What it is called.
    name: String,
    /// Direct requests beyond this are cut into pieces of it.
    split: Option<Said<Bytes>>,
    /// Processor time of a direct read.
    direct_read: CostKeys,
    /// Processor time of a direct write.
    direct_write: CostKeys,
    /// The part of it that comes after the bytes, 0 to 1.
    completion_share: f64,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct CostKeys {
    /// Time a request.
    fixed: Said<Nanoseconds>,
    /// Time a KiB.
    marginal: Said<Nanoseconds>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct BusKeys {
    /// Bytes a second while it moves bytes, either way.
    rate: Option<Said<BytesPerSecond>>,
    /// The same of reads.
    read_rate: Option<Said<BytesPerSecond>>,
    /// The same of writes.
    write_rate: Option<Said<BytesPerSecond>>,
    /// Time that a command takes of it.
    #[serde(default)]
    command: Said<Nanoseconds>,
    /// Time that a transfer takes of it beside its bytes.
    #[serde(default)]
    transfer: Said<Nanoseconds>,
    /// Whether a processor moves the bytes.
    #[serde(default)]
    programmed: bool,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct DriveKeys {
    surfaces: u32,
    cylinders: u32,
    /// Turns a minute.
    rpm: f64,
    /// First cylinder, sectors a track, shift to the next track and to the next cylinder in sectors; spare sectors.
    zones: Vec<(u32, u32, u32, u32, u32)>,
    /// Measured: cylinders and milliseconds.
    seek: Option<Vec<(u32, f64)>>,
    /// Of a data sheet.
    seek_times: Option<SeekTimes>,
    head_switch: Said<Nanoseconds>,
    #[serde(default)]
    write_settle: Said<Nanoseconds>,
    #[serde(default)]
    zero_latency: bool,
    /// fcfs, c-look, sstf or sptf.
    scheduler: Said<Scheduler>,
    /// Read segments; 0 for none.
    segments: usize,
    /// Bytes of each.
    segment: Said<Bytes>,
    /// How far it reads ahead.
    read_ahead: Said<Bytes>,
    /// The drive's time for a read that its buffer has.
    #[serde(default)]
    read_hit: Said<Nanoseconds>,
    /// For one of the medium.
    #[serde(default)]
    read_miss: Said<Nanoseconds>,
    /// For a write.
    #[serde(default)]
    write: Said<Nanoseconds>,
    /// What the write cache holds; none: it is off.
    write_cache: Option<WriteCacheKeys>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct SeekTimes {
    track_to_track: Said<Nanoseconds>,
    average: Said<Nanoseconds>,
    full: Said<Nanoseconds>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct WriteCacheKeys {
    /// Bytes.
    size: Said<Bytes>,
    /// Separate pieces of the medium.
    pieces: usize,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct VolumeKeys {
    /// What it is, in a sentence.
    description: String,
    /// Which drive.
    drive: String,
    /// How many of them.
    disks: u32,
    /// From the drive to memory, in their order.
    buses: Vec<String>,
    /// Chunk of a stripe; none: each disk is a target of its own.
    stripe: Option<Said<Bytes>>,
    /// False takes the drives' write caches away.
    #[serde(default = "yes")]
    write_cache: bool,
}

fn yes() -> bool {
    true
}

/// A quantity that is said as text, with its unit.
#[derive(Clone, Copy, Debug, Default)]
struct Said<T>(T);

impl<'de, T: FromStr<Err: fmt::Display>> Deserialize<'de> for Said<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map(Said).map_err(D::Error::custom)
    }
}

impl FromStr for Scheduler {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Scheduler::WORDS.iter().find(|(word, _)| *word == text);
        let words = Scheduler::WORDS.map(|(word, _)| word).join(", ");
        found
            .map(|(_, scheduler)| *scheduler)
            .ok_or_else(|| format!("no scheduler is called {text:?}; use one of {words}"))
    }
}

/// Why a machine cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum MachineError {
    /// The file is not one.
    #[error("machine {name}: {message}")]
    File {
        /// The machine's.
        name: String,
        /// With line and column.
        message: String,
    },
    /// There is no such volume.
    #[error("machine {machine} has no volume {volume:?}; it has {}", known.join(", "))]
    NoVolume {
        /// The machine's name.
        machine: String,
        /// As asked for.
        volume: String,
        /// What there is.
        known: Vec<String>,
    },
    /// A volume names what is not there.
    #[error("machine {machine}, volume {volume}: there is no {kind} {name:?}")]
    NoPart {
        /// The machine's name.
        machine: String,
        /// The volume's.
        volume: String,
        /// `drive`, `bus`.
        kind: &'static str,
        /// As named.
        name: String,
    },
    /// A figure that cannot be.
    #[error("machine {machine}, {part}: {message}")]
    Figure {
        /// The machine's name.
        machine: String,
        /// Which part.
        part: String,
        /// What is wrong.
        message: String,
    },
    /// Blocks that lie nowhere.
    #[error("machine {machine}, drive {drive}")]
    Geometry {
        /// The machine's name.
        machine: String,
        /// The drive's.
        drive: String,
        /// Why.
        #[source]
        source: GeometryError,
    },
    /// A seek curve that is none.
    #[error("machine {machine}, drive {drive}")]
    Seek {
        /// The machine's name.
        machine: String,
        /// The drive's.
        drive: String,
        /// Why.
        #[source]
        source: SeekError,
    },
}

impl MachineFile {
    /// Reads a machine's text.
    ///
    /// # Errors
    /// With line and column, when it is not TOML, has a key that nobody knows, or lacks one.
    pub fn parse(name: &str, text: &str) -> Result<MachineFile, MachineError> {
        toml::from_str(text).map_err(|error| MachineError::File { name: name.to_owned(), message: error.to_string() })
    }

    /// Its volumes: name and description.
    pub fn volumes(&self) -> impl Iterator<Item = (&str, &str)> {
        self.volume.iter().map(|(name, keys)| (name.as_str(), keys.description.as_str()))
    }

    /// The machine with one of its volumes.
    ///
    /// # Errors
    /// When there is none of that name, or the file contradicts itself.
    pub fn with_volume(&self, name: &str, volume: &str) -> Result<Machine, MachineError> {
        let keys = self.volume.get(volume).ok_or_else(|| MachineError::NoVolume {
            machine: name.to_owned(),
            volume: volume.to_owned(),
            known: self.volume.keys().cloned().collect(),
        })?;
        let missing = |kind, part: &str| MachineError::NoPart {
            machine: name.to_owned(),
            volume: volume.to_owned(),
            kind,
            name: part.to_owned(),
        };
        let figure = |part: &str, message: &str| MachineError::Figure {
            machine: name.to_owned(),
            part: part.to_owned(),
            message: message.to_owned(),
        };
        if keys.disks == 0 || keys.stripe.is_some_and(|chunk| chunk.0.0 == 0 || chunk.0.0 % 512 != 0) {
            return Err(figure(&format!("volume {volume}"), "it needs a disk, and a stripe a chunk of whole blocks"));
        }
        if self.processor.count == 0 || !(0.0..=1.0).contains(&self.system.completion_share) {
            return Err(figure("processor", "it needs one, and completion-share lies between 0 and 1"));
        }
        let drive_keys = self.drive.get(&keys.drive).ok_or_else(|| missing("drive", &keys.drive))?;
        let mut drive = drive_keys.drive(name, &keys.drive)?;
        if !keys.write_cache {
            drive.write_cache = None;
        }
        let drive = Arc::new(drive);
        let place = |bus: &String| self.bus.keys().position(|known| known == bus).ok_or_else(|| missing("bus", bus));
        let path: Vec<usize> = keys.buses.iter().map(place).collect::<Result<_, _>>()?;
        let bus = |(bus, keys): (&String, &BusKeys)| {
            keys.bus(bus).ok_or_else(|| figure(&format!("bus {bus}"), "it needs rate, or read-rate and write-rate"))
        };
        let attached = AttachedDisk { drive, drive_name: keys.drive.clone(), buses: path };
        Ok(Machine {
            name: name.to_owned(),
            description: self.description.clone(),
            processors: self.processor.count,
            processor_model: self.processor.model.clone(),
            memory: self.processor.memory.0,
            system: self.system.system(),
            buses: self.bus.iter().map(bus).collect::<Result<_, _>>()?,
            disks: vec![attached; keys.disks as usize],
            volume: keys.stripe.map_or(Volume::Each, |chunk| Volume::Stripe { chunk: chunk.0 }),
        })
    }
}

impl SystemKeys {
    fn system(&self) -> OperatingSystem {
        let cost = |keys: CostKeys| Cost {
            fixed_us: keys.fixed.0.0 as f64 / 1e3,
            marginal_us_per_kib: keys.marginal.0.0 as f64 / 1e3,
        };
        OperatingSystem {
            name: self.name.clone(),
            split: self.split.map(|split| split.0),
            direct_read: cost(self.direct_read),
            direct_write: cost(self.direct_write),
            completion_share: self.completion_share,
        }
    }
}

impl BusKeys {
    /// None without rates.
    fn bus(&self, name: &str) -> Option<Bus> {
        let read = self.read_rate.or(self.rate)?;
        let write = self.write_rate.or(self.rate)?;
        Some(Bus {
            name: name.to_owned(),
            read_ns_per_byte: 1e9 / read.0.0,
            write_ns_per_byte: 1e9 / write.0.0,
            command_ns: self.command.0.0,
            transfer_ns: self.transfer.0.0,
            programmed: self.programmed,
        })
    }
}

impl DriveKeys {
    fn drive(&self, machine: &str, name: &str) -> Result<Drive, MachineError> {
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
            segments: self.segments,
            segment_blocks: self.segment.0.0 / 512,
            read_ahead_blocks: self.read_ahead.0.0 / 512,
            overhead: Overhead {
                read_hit_ns: self.read_hit.0.0,
                read_miss_ns: self.read_miss.0.0,
                write_ns: self.write.0.0,
            },
            write_cache: self
                .write_cache
                .map(|cache| WriteCache { blocks: cache.size.0.0 / 512, pieces: cache.pieces }),
        })
    }
}
