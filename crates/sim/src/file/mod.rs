//! Machine files: TOML in, a [`Machine`] with one of its volumes out.
//!
//! Every key is known, or the file is refused with the line and the column; so is a name that nothing has. Quantities are
//! texts with their unit. What a key means stands at its field.

mod bus;
mod cloud;
mod controller;
mod drive;
mod error;
mod flash;
mod host;
mod settings;
mod share;
mod volume;

pub use error::MachineError;

use crate::machine::{Machine, Part, Share};
use bus::BusKeys;
use cloud::{CloudKeys, LimitKeys};
use controller::ControllerKeys;
use drive::DriveKeys;
use flash::FlashKeys;
use halfpower_model::Settings;
use host::{ProcessorKeys, SystemKeys};
use serde::Deserialize;
use serde::de::{Deserializer, Error as _};
use share::ShareKeys;
use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;
use volume::{Attached, VolumeKeys};

/// A machine as its file tells it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct MachineFile {
    /// What it is, in a sentence.
    pub description: String,
    processor: ProcessorKeys,
    system: SystemKeys,
    /// Others that some volumes are under.
    #[serde(default)]
    other_system: BTreeMap<String, SystemKeys>,
    #[serde(default)]
    bus: BTreeMap<String, BusKeys>,
    #[serde(default)]
    controller: BTreeMap<String, ControllerKeys>,
    #[serde(default)]
    drive: BTreeMap<String, DriveKeys>,
    /// Volumes of a cloud provider; a volume names one where others name a drive.
    #[serde(default)]
    cloud: BTreeMap<String, CloudKeys>,
    /// What an instance of the provider may do, whatever its volumes may.
    #[serde(default)]
    instance: BTreeMap<String, LimitKeys>,
    #[serde(default)]
    flash: BTreeMap<String, FlashKeys>,
    #[serde(default)]
    share: BTreeMap<String, ShareKeys>,
    volume: BTreeMap<String, VolumeKeys>,
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

    /// The same with settings in it, for a volume of it.
    ///
    /// # Errors
    /// As without; and when a setting names what there is not, or cannot be.
    pub fn with_settings(
        name: &str,
        text: &str,
        volume: &str,
        settings: &Settings,
    ) -> Result<MachineFile, MachineError> {
        let file = MachineFile::parse(name, text)?;
        if settings.is_empty() || !file.volume.contains_key(volume) {
            return Ok(file);
        }
        let table = settings::table(name, text, volume, settings)?;
        table.try_into().map_err(|error: toml::de::Error| MachineError::Setting {
            machine: name.to_owned(),
            setting: settings.to_string(),
            message: error.to_string().trim_end().replace('\n', " "),
        })
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
        let figure = |part: &str, message: &str| MachineError::Figure {
            machine: name.to_owned(),
            part: part.to_owned(),
            message: message.to_owned(),
        };
        let made_of = keys.volume().map_err(|message| figure(&format!("volume {volume}"), message))?;
        if self.processor.count == 0 {
            return Err(figure("processor", "it needs one"));
        }
        let system = match &keys.system {
            Some(system) => {
                self.other_system.get(system).ok_or_else(|| self.missing(name, volume, "other-system", system))?
            }
            None => &self.system,
        };
        if let Some(mistake) = system.mistake() {
            return Err(figure("system", mistake));
        }
        let Attached { mut parts, disks, made } = keys.attach(self, name, volume)?;
        let share = keys.share.as_ref().map(|share| self.share(name, volume, share, &mut parts)).transpose()?;
        let mut system = system.system(self.processor.memory.0);
        if !keys.file_system {
            system.split = None;
        }
        if !keys.file_system || share.is_some() {
            system.cache = None;
        }
        Ok(Machine {
            name: name.to_owned(),
            description: self.description.clone(),
            processors: self.processor.count,
            processor_model: self.processor.model.clone(),
            memory: self.processor.memory.0,
            system,
            parts,
            disks,
            volume: made_of,
            offset: keys.offset.0,
            made,
            share,
        })
    }

    /// A share by its name; the buses of its wire that no disk is on join the parts.
    fn share(&self, machine: &str, volume: &str, name: &str, parts: &mut Vec<Part>) -> Result<Share, MachineError> {
        let keys = self.share.get(name).ok_or_else(|| self.missing(machine, volume, "share", name))?;
        if let Some(message) = keys.mistake() {
            let (machine, part, message) = (machine.to_owned(), format!("share {name}"), message.to_owned());
            return Err(MachineError::Figure { machine, part, message });
        }
        let mut wire = Vec::new();
        for named in &keys.wire {
            let known = parts.iter().position(|part| part.name() == named);
            wire.push(known.unwrap_or(parts.len()));
            if known.is_none() {
                parts.push(self.part(machine, volume, named)?);
            }
        }
        Ok(keys.share(wire))
    }

    /// A bus or a controller by its name.
    fn part(&self, machine: &str, volume: &str, name: &str) -> Result<Part, MachineError> {
        let figure = |part: String, message: &str| MachineError::Figure {
            machine: machine.to_owned(),
            part,
            message: message.to_owned(),
        };
        if let Some(keys) = self.bus.get(name) {
            let message = "it needs rate, or read-rate and write-rate, above nought; and bursts of a byte at least";
            return keys.bus(name).map(Part::Bus).ok_or_else(|| figure(format!("bus {name}"), message));
        }
        let keys = self.controller.get(name).ok_or_else(|| self.missing(machine, volume, "bus or controller", name))?;
        let message = "its rates are above a byte a second, outstanding is at least 1, and an order needs one";
        keys.controller(name).map(Part::Controller).ok_or_else(|| figure(format!("controller {name}"), message))
    }

    fn missing(&self, machine: &str, volume: &str, kind: &'static str, name: &str) -> MachineError {
        MachineError::NoPart { machine: machine.to_owned(), volume: volume.to_owned(), kind, name: name.to_owned() }
    }
}

/// One of some words.
fn word<T: Copy>(kind: &str, words: &[(&'static str, T)], text: &str) -> Result<T, String> {
    let known = || words.iter().map(|(word, _)| *word).collect::<Vec<_>>().join(", ");
    let found = words.iter().find(|(word, _)| *word == text);
    found.map(|(_, meant)| *meant).ok_or_else(|| format!("no {kind} is called {text:?}; use one of {}", known()))
}
