//! Machine files: TOML in, a [`Machine`] with one of its volumes out.
//!
//! Every key is known and every value lies within bounds (`bounds`), or the file is refused with the line and the column; so is a
//! name that nothing has. Quantities are texts with their unit. What a key means stands at its field.

mod bounds;
mod bus;
mod cloud;
mod controller;
mod digest;
mod drive;
mod error;
mod flash;
mod host;
mod share;
mod source;
#[cfg(test)]
mod tests;
mod volume;

pub use error::MachineError;

use crate::machine::{Machine, Part, Share};
use bus::BusKeys;
use cloud::{CloudKeys, LimitKeys};
use controller::ControllerKeys;
use drive::DriveKeys;
use error::Wrong;
use flash::FlashKeys;
use halfpower_model::Settings;
use host::{ProcessorKeys, SystemKeys};
use serde::Deserialize;
use share::ShareKeys;
use source::Source;
use std::collections::BTreeMap;
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
    /// What all this was read from.
    #[serde(skip)]
    source: Source,
    /// Of what it says without the settings.
    #[serde(skip)]
    crc32c: u32,
}

impl MachineFile {
    /// Reads a machine's text.
    ///
    /// # Errors
    /// With line and column, when it is not TOML, has a key that nobody knows, lacks one, or has a value that cannot be.
    pub fn parse(name: &str, text: &str) -> Result<MachineFile, MachineError> {
        MachineFile::with_settings(name, text, "", &Settings::default())
    }

    /// The same with settings in it, for a volume of it.
    ///
    /// # Errors
    /// As without; and with the setting, when one names what there is not, or cannot be.
    pub fn with_settings(
        name: &str,
        text: &str,
        volume: &str,
        settings: &Settings,
    ) -> Result<MachineFile, MachineError> {
        let source = Source::new(name, text, volume, settings);
        let (file, crc32c): (MachineFile, u32) = source.read()?;
        file.check_names().map_err(|wrong| source.wrong(&wrong))?;
        Ok(MachineFile { source, crc32c, ..file })
    }

    /// The CRC-32C of what it says, without settings, comments and its order: another file has another one.
    pub fn crc32c(&self) -> u32 {
        self.crc32c
    }

    /// Holds names to what they are looked up by.
    fn check_names(&self) -> Result<(), Wrong> {
        let twice = |kind: &str, name: &String, other: &str| {
            let message =
                format!("there is a {other} of that name too, and a volume could mean either; call one otherwise");
            Err(Wrong::at(&[kind, name], message))
        };
        if let Some(name) = self.controller.keys().find(|name| self.bus.contains_key(*name)) {
            return twice("controller", name, "bus");
        }
        if let Some(name) = self.flash.keys().find(|name| self.drive.contains_key(*name)) {
            return twice("flash", name, "drive");
        }
        for name in self.cloud.keys() {
            for (other, is_there) in
                [("drive", self.drive.contains_key(name)), ("flash", self.flash.contains_key(name))]
            {
                if is_there {
                    return twice("cloud", name, other);
                }
            }
        }
        let is_between = |name: &&String| self.bus.contains_key(*name) || self.controller.contains_key(*name);
        if let Some(name) = self.instance.keys().find(is_between) {
            let message = "there is a bus or a controller of that name too, and a sample tells how busy each was; call one otherwise";
            return Err(Wrong::at(&["instance", name], message));
        }
        self.check_words()
    }

    /// Holds names to what can be said of them on a command line.
    fn check_words(&self) -> Result<(), Wrong> {
        let blank = |sign: char| sign.is_whitespace() || sign.is_control();
        // A target is written sim:MACHINE:VOLUME,KEY=VALUE.
        let is_sayable = |name: &String| !name.is_empty() && !name.contains([':', ',']) && !name.contains(blank);
        if let Some(name) = self.volume.keys().find(|name| !is_sayable(name)) {
            let message = "a volume's name has to be a text without : and , and blanks, as targets are sim:MACHINE:VOLUME,KEY=VALUE";
            return Err(Wrong::at(&["volume", name], message));
        }
        // A setting is written PART.KEY=VALUE, and of both of these there is one.
        let is_settable = |name: &&String| {
            is_sayable(name)
                && !name.contains(['.', '='])
                && !["system", "processor", "processors"].contains(&name.as_str())
        };
        let parts = [
            ("bus", self.bus.keys().find(|name| !is_settable(name))),
            ("controller", self.controller.keys().find(|name| !is_settable(name))),
            ("drive", self.drive.keys().find(|name| !is_settable(name))),
            ("flash", self.flash.keys().find(|name| !is_settable(name))),
            ("cloud", self.cloud.keys().find(|name| !is_settable(name))),
            ("instance", self.instance.keys().find(|name| !is_settable(name))),
            ("share", self.share.keys().find(|name| !is_settable(name))),
        ];
        match parts.into_iter().find_map(|(kind, name)| Some((kind, name?))) {
            Some((kind, name)) => {
                let message = "a part's name has to be a text without . , : = and blanks, and not system, processor or processors, as settings are PART.KEY=VALUE";
                Err(Wrong::at(&[kind, name], message))
            }
            None => Ok(()),
        }
    }

    /// Its volumes: name and description.
    pub fn volumes(&self) -> impl Iterator<Item = (&str, &str)> {
        self.volume.iter().map(|(name, keys)| (name.as_str(), keys.description.as_str()))
    }

    /// The machine with one of its volumes.
    ///
    /// # Errors
    /// When there is none of that name, or the file contradicts itself.
    pub fn with_volume(&self, volume: &str) -> Result<Machine, MachineError> {
        let Source { machine, .. } = &self.source;
        let keys = self.volume.get(volume).ok_or_else(|| MachineError::NoVolume {
            machine: machine.clone(),
            volume: volume.to_owned(),
            known: self.volume.keys().cloned().collect(),
        })?;
        self.machine(volume, keys).map_err(|wrong| self.source.wrong(&wrong))
    }

    fn machine(&self, volume: &str, keys: &VolumeKeys) -> Result<Machine, Wrong> {
        let made_of = keys.volume(volume)?;
        let (place, system) = match &keys.system {
            Some(named) => {
                let system = named_in(&self.other_system, &["volume", volume, "system"], "other system", named)?;
                (vec!["other-system", named], system)
            }
            None => (vec!["system"], &self.system),
        };
        system.check(&place, self.processor.memory.0)?;
        let Attached { mut parts, disks, made } = keys.attach(self, volume)?;
        let share = keys.share.as_ref().map(|share| self.share(volume, share, &mut parts)).transpose()?;
        let mut system = system.system(self.processor.memory.0);
        if !keys.file_system {
            system.split = None;
        }
        if !keys.file_system || share.is_some() {
            system.cache = None;
        }
        let machine = Machine {
            name: self.source.machine.clone(),
            description: self.description.clone(),
            processors: self.processor.count.0,
            processor_model: self.processor.model.clone(),
            memory: self.processor.memory.0,
            system,
            parts,
            disks,
            volume: made_of,
            offset: keys.offset.0,
            made,
            share,
        };
        keys.check_size(volume, &machine)?;
        Ok(machine)
    }

    /// A share by its name; the buses of its wire that no disk is on join the parts.
    fn share(&self, volume: &str, name: &str, parts: &mut Vec<Part>) -> Result<Share, Wrong> {
        let keys = named_in(&self.share, &["volume", volume, "share"], "share", name)?;
        let mut wire = Vec::new();
        for named in &keys.wire.0 {
            let known = parts.iter().position(|part| part.name() == named);
            wire.push(known.unwrap_or(parts.len()));
            if known.is_none() {
                parts.push(self.part(&["share", name, "wire"], named)?);
            }
        }
        Ok(keys.share(wire))
    }

    /// A bus or a controller by its name; `key` is where it is named.
    fn part(&self, key: &[&str], name: &str) -> Result<Part, Wrong> {
        match self.bus.get(name) {
            Some(keys) => keys.bus(name).map(Part::Bus),
            None => named_in(&self.controller, key, "bus or controller", name)?.controller(name).map(Part::Controller),
        }
    }
}

/// What has a name; `key` is where it is named.
fn named_in<'a, T>(all: &'a BTreeMap<String, T>, key: &[&str], kind: &str, name: &str) -> Result<&'a T, Wrong> {
    all.get(name).ok_or_else(|| Wrong::at(key, format!("there is no {kind} {name:?}")))
}
