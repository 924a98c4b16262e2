//! Machine files: TOML in, a [`Machine`] with one of its volumes out.
//!
//! Every key is known and every value lies within bounds (`crate::bounds`), or the file is refused with the line and the column; so is a
//! name that nothing has. Quantities are texts with their unit. What a key means stands at its field.

mod assemble;
mod drive;
mod error;
mod fitted;
#[cfg(test)]
mod laws;
mod source;
#[cfg(test)]
mod tests;
mod volume;

pub use error::MachineError;
pub use fitted::Fitted;

use crate::bounds::Hertz;
use crate::bus::Bus;
use crate::cloud::{CloudVolume, Limits};
use crate::controller::Controller;
use crate::flash::FlashDrive;
use crate::machine::{Cpu, Machine, OperatingSystem, Share};
use drive::DriveKeys;
use error::Wrong;
use halfpower_model::Settings;
use serde::Deserialize;
use source::Source;
use std::collections::BTreeMap;
use volume::VolumeKeys;

/// A machine as its file tells it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct MachineFile {
    /// What it is, in a sentence.
    pub description: String,
    cpu: Cpu,
    system: OperatingSystem,
    /// Others that some volumes are under.
    #[serde(default)]
    other_system: BTreeMap<String, OperatingSystem>,
    #[serde(default)]
    bus: BTreeMap<String, Bus>,
    #[serde(default)]
    controller: BTreeMap<String, Controller>,
    #[serde(default)]
    drive: BTreeMap<String, DriveKeys>,
    /// Volumes of a cloud provider; a volume names one where others name a drive.
    #[serde(default)]
    cloud: BTreeMap<String, CloudVolume>,
    /// What an instance of the provider may do, whatever its volumes may.
    #[serde(default)]
    instance: BTreeMap<String, Limits>,
    #[serde(default)]
    flash: BTreeMap<String, FlashDrive>,
    #[serde(default)]
    share: BTreeMap<String, Share>,
    volume: BTreeMap<String, VolumeKeys>,
    /// Keys with the published figures that they were chosen for.
    #[serde(default, rename = "fitted")]
    fitted_keys: BTreeMap<String, Vec<String>>,
    /// The same with the count of numbers.
    #[serde(skip)]
    fitted: Vec<Fitted>,
    /// What all this was read from.
    #[serde(skip)]
    source: Source,
    /// Of what it says without the settings.
    #[serde(skip)]
    crc32c: u32,
    /// The way to each setting's key from the top of the file.
    #[serde(skip)]
    places: Vec<Vec<String>>,
    /// The clock that the file says, which its CPU times are of, where a setting says another.
    #[serde(skip)]
    clock_of_times: Option<Hertz>,
}

/// Where a file says how fast its CPUs run.
const CLOCK: [&str; 2] = ["cpu", "clock"];

impl MachineFile {
    /// The entries of `[fitted]`.
    pub fn fitted(&self) -> &[Fitted] {
        &self.fitted
    }

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
        let (file, crc32c, places): (MachineFile, _, Vec<_>) = source.read()?;
        file.check_names().and_then(|()| file.check_parts()).map_err(|wrong| source.wrong(&wrong))?;
        let fitted = source.fitted(&file.fitted_keys)?;
        let is_clock_set = places.iter().any(|place| *place == CLOCK);
        let clock_of_times = is_clock_set.then(|| MachineFile::clock_of(name, text)).transpose()?;
        let file = MachineFile { clock_of_times: clock_of_times.flatten(), ..file };
        if clock_of_times == Some(None) {
            let message = "the file has no clock, so its CPU times cannot be scaled; add clock to [cpu]";
            return Err(source.wrong(&Wrong::at(&CLOCK, message)));
        }
        Ok(MachineFile { source, crc32c, places, fitted, ..file })
    }

    /// The clock that a file says.
    fn clock_of(name: &str, text: &str) -> Result<Option<Hertz>, MachineError> {
        MachineFile::parse(name, text).map(|file| file.cpu.clock)
    }

    /// The CRC-32C of what it says, without settings, comments and its order: another file has another one.
    pub fn crc32c(&self) -> u32 {
        self.crc32c
    }

    /// Checks names: each means one part, and can be written in a target or a setting.
    fn check_names(&self) -> Result<(), Wrong> {
        fn names<T>(parts: &BTreeMap<String, T>) -> Vec<&str> {
            parts.keys().map(String::as_str).collect()
        }
        // Parts of a group are named in the same places.
        let parts = [
            ("bus", 0, names(&self.bus)),
            ("controller", 0, names(&self.controller)),
            ("instance", 0, names(&self.instance)),
            ("drive", 1, names(&self.drive)),
            ("flash", 1, names(&self.flash)),
            ("cloud", 1, names(&self.cloud)),
            ("share", 2, names(&self.share)),
        ];
        let of_volumes =
            self.volume.iter().map(|(name, keys)| (vec!["volume", name.as_str(), "description"], &keys.description));
        let mut described = std::iter::once((vec!["description"], &self.description)).chain(of_volumes);
        if let Some((place, _)) = described.find(|(_, text)| text.contains(char::is_control)) {
            return Err(Wrong::at(&place, "it has to be one line without control characters"));
        }
        let blank = |sign: char| sign.is_whitespace() || sign.is_control();
        let is_sayable = |name: &str| !name.is_empty() && !name.contains([':', ',']) && !name.contains(blank);
        if let Some(name) = self.volume.keys().find(|name| !is_sayable(name)) {
            let message = "a volume's name must not be empty or contain a colon, comma or space, because targets are sim:MACHINE:VOLUME,KEY=VALUE";
            return Err(Wrong::at(&["volume", name], message));
        }
        let is_settable =
            |name: &str| is_sayable(name) && !name.contains(['.', '=']) && !["system", "cpu", "CPUs"].contains(&name);
        for (number, (kind, group, names)) in parts.iter().enumerate() {
            for name in names {
                let has_name = |(_, of, names): &&(_, _, Vec<&str>)| of == group && names.contains(name);
                if let Some((other, ..)) = parts[..number].iter().find(has_name) {
                    let message = format!("a {other} has the same name, so either could be meant; rename one");
                    return Err(Wrong::at(&[kind, name], message));
                }
                if !is_settable(name) {
                    let message = "a part's name must not be empty, contain . , : = or a space, or be system, cpu or CPUs, because settings are PART.KEY=VALUE";
                    return Err(Wrong::at(&[kind, name], message));
                }
            }
        }
        Ok(())
    }

    /// Its volumes: name and description.
    pub fn volumes(&self) -> impl Iterator<Item = (&str, &str)> {
        self.volume.iter().map(|(name, keys)| (name.as_str(), keys.description.as_str()))
    }

    /// Holds every volume to what can be made.
    ///
    /// # Errors
    /// Of the first by name that cannot.
    pub fn check_volumes(&self) -> Result<(), MachineError> {
        self.volume.keys().try_for_each(|volume| self.with_volume(volume).map(drop))
    }

    /// The machine with one of its volumes.
    ///
    /// # Errors
    /// When there is none of that name, or the file contradicts itself.
    pub fn with_volume(&self, volume: &str) -> Result<Machine, MachineError> {
        let Source { machine, .. } = &self.source;
        let keys = self.volume.get(volume).ok_or_else(|| {
            let known = self.volume.keys().map(String::as_str).collect::<Vec<_>>().join(", ");
            MachineError(format!("machine {machine} has no volume {volume:?}; its volumes are {known}"))
        })?;
        self.machine(volume, keys).map_err(|wrong| self.source.wrong(&wrong))
    }

    /// The settings of tables that a volume does not use, by their keys, and why none of them would have an effect.
    pub fn ineffective(&self, volume: &str) -> Vec<(String, MachineError)> {
        let has = |volume: &str, place: &[String]| self.tables_of(volume).iter().any(|table| starts_with(place, table));
        let places = self.source.keys().zip(&self.places).filter(|(_, place)| !has(volume, place));
        let why = |(key, place): (&str, &Vec<String>)| {
            let volumes: Vec<&str> = self.volume.keys().map(String::as_str).filter(|name| has(name, place)).collect();
            let others = match volumes[..] {
                [] => String::new(),
                [first, second, ref rest @ ..] if rest.len() > 1 => {
                    format!(", or use a volume that has it: {first}, {second} or {} others", rest.len())
                }
                _ => format!(", or use a volume that has it: {}", volumes.join(" or ")),
            };
            let what = if place[0] == "system" { "system".to_owned() } else { place[..2].join(".") };
            let tables: Vec<String> = self.tables_of(volume).iter().map(|table| table.join(".")).collect();
            let tables = tables.join(", ");
            let message = format!(
                "{what} is not on the I/O path of {volume}, so it would have no effect; set a key of {tables}{others}"
            );
            (key.to_owned(), self.source.wrong(&Wrong { key: place.clone(), message }))
        };
        places.map(why).collect()
    }

    /// A machine file of one volume: the tables that it uses, with the settings, in the order in which a read passes them.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn text_of(&self, volume: &str) -> Result<String, MachineError> {
        let is_bare = |word: &str| word.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_');
        let text = |text: &str| format!("\"{}\"", text.replace('\\', r"\\").replace('"', "\\\""));
        let quoted = |word: &str| if is_bare(word) { word.to_owned() } else { text(word) };
        let mut text = format!("description = {}\n", text(&self.description));
        let mut tables = self.tables_of(volume);
        if !tables.contains(&vec!["system"]) {
            // No file lacks it.
            tables.push(vec!["system"]);
        }
        for table in tables {
            let name: Vec<String> = table.iter().map(|word| quoted(word)).collect();
            text += &format!("\n[{}]\n{}", name.join("."), self.source.keys_of(&table)?);
        }
        Ok(text)
    }

    /// The ways from the top of the file to the tables that a volume uses.
    fn tables_of<'a>(&'a self, volume: &'a str) -> Vec<Vec<&'a str>> {
        let Some(keys) = self.volume.get(volume) else { return Vec::new() };
        let part = |name: &'a String| vec![if self.bus.contains_key(name) { "bus" } else { "controller" }, name];
        let drive = match &keys.drive {
            name if self.cloud.contains_key(name) => "cloud",
            name if self.flash.contains_key(name) => "flash",
            _ => "drive",
        };
        let mut tables = vec![vec!["volume", volume], vec![drive, &keys.drive]];
        tables.extend(self.cloud.get(&keys.drive).and_then(|cloud| Some(vec!["instance", cloud.instance.as_ref()?])));
        tables.extend(keys.path.iter().map(part));
        if let Some(name) = &keys.share {
            tables.push(vec!["share", name]);
            let wire = self.share.get(name).into_iter().flat_map(|share| &share.wire);
            tables.extend(wire.filter(|name| !keys.path.contains(name)).map(part));
        }
        tables.push(vec!["cpu"]);
        tables.push(keys.system.as_ref().map_or(vec!["system"], |name| vec!["other-system", name]));
        tables
    }
}

fn starts_with(place: &[String], table: &[&str]) -> bool {
    place.len() >= table.len() && place.iter().zip(table).all(|(word, of_table)| word == of_table)
}
