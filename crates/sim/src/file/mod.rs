//! Machine files: TOML in, a [`Machine`] with one of its volumes out.
//!
//! Every key is known, or the file is refused with the line and the column; so is a name that nothing has. Quantities are
//! texts with their unit. What a key means stands at its field.

mod bus;
mod drive;
mod error;
mod host;

pub use error::MachineError;

use crate::machine::{AttachedDisk, Device, Machine, Volume};
use bus::BusKeys;
use drive::DriveKeys;
use halfpower_model::Bytes;
use host::{ProcessorKeys, SystemKeys};
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
        let attached = AttachedDisk { device: Device::Disk(drive), name: keys.drive.clone(), buses: path };
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
