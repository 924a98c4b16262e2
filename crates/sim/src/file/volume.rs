//! The keys of a volume, and what its path comes to: a part for each name, or one for each disk or string of them.

use super::{MachineError, MachineFile, Said};
use crate::buffer::BufferedDrive;
use crate::disk::Drive;
use crate::flash::space::State;
use crate::machine::{AttachedDisk, Device, Made, Part};
use crate::volume::{Reader, Volume};
use halfpower_model::Bytes;
use serde::Deserialize;
use std::str::FromStr;
use std::sync::Arc;

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct VolumeKeys {
    /// What it is, in a sentence.
    pub(super) description: String,
    /// Which drive.
    pub(super) drive: String,
    /// How many of them.
    pub(super) disks: u32,
    /// From the drive to memory, in their order: buses and controllers.
    pub(super) path: Vec<String>,
    /// How many there are of all parts but the last, each with its share of the disks in turn.
    #[serde(default = "one")]
    pub(super) strings: u32,
    /// Chunk of a stripe. Without this, mirror and raid5 each disk is a target of its own.
    pub(super) stripe: Option<Said<Bytes>>,
    /// A mirror; which disk reads: round-robin, shorter-queue, nearest.
    pub(super) mirror: Option<Said<Reader>>,
    /// From so many bytes of a sequential stream outstanding on, a mirror's disks read pieces of so many in turn.
    pub(super) in_turn_from: Option<Said<Bytes>>,
    /// Chunk of a RAID5.
    pub(super) raid5: Option<Said<Bytes>>,
    /// Which controller of the path makes the volume; none: the operating system.
    pub(super) made_in: Option<String>,
    /// Where the volume's first byte lies in its first chunk.
    #[serde(default)]
    pub(super) offset: Said<Bytes>,
    /// Which of the other systems it is under; none: the machine's own.
    pub(super) system: Option<String>,
    /// Which share it is reached by; none: it is local.
    pub(super) share: Option<String>,
    /// False: without a file system, which would cut large requests.
    #[serde(default = "yes")]
    pub(super) file_system: bool,
    /// False takes the drives' write caches away.
    #[serde(default = "yes")]
    pub(super) write_cache: bool,
    /// True: the drives answer from their buffers, whatever is asked.
    #[serde(default)]
    pub(super) from_buffers: bool,
    /// Of flash: how much of each drive is used; what is not is spare. None: all.
    pub(super) capacity: Option<Said<Bytes>>,
    /// Of flash: fresh, filled or steady: what was written before.
    pub(super) state: Option<Said<State>>,
    /// Of flash: false: nothing cools it.
    pub(super) cooled: Option<bool>,
}

fn yes() -> bool {
    true
}

fn one() -> u32 {
    1
}

impl FromStr for Reader {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        super::word("reader", &Reader::WORDS, text)
    }
}

/// Parts, disks on them, and where the volume is made.
pub(super) struct Attached {
    pub(super) parts: Vec<Part>,
    pub(super) disks: Vec<AttachedDisk>,
    pub(super) made: Made,
}

impl VolumeKeys {
    /// How its disks make it.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(super) fn volume(&self) -> Result<Volume, &'static str> {
        let volume = match (self.stripe, self.mirror, self.raid5) {
            (None, None, None) => Volume::Each,
            (Some(chunk), None, None) => Volume::Stripe { chunk: chunk.0 },
            (None, Some(reader), None) => {
                Volume::Mirror { reader: reader.0, in_turn_from: self.in_turn_from.map(|least| least.0) }
            }
            (None, None, Some(chunk)) => Volume::Raid5 { chunk: chunk.0 },
            _ => return Err("it is a stripe, a mirror or a raid5, not two of them"),
        };
        let bytes = [self.stripe, self.raid5, self.in_turn_from].into_iter().flatten();
        if bytes.into_iter().any(|chunk| chunk.0.0 == 0 || chunk.0.0 % 512 != 0) || !self.offset.0.0.is_multiple_of(512)
        {
            return Err("chunks and offsets are of whole blocks of 512 bytes");
        }
        if self.disks == 0 || self.disks < volume.fewest_disks() {
            return Err("it has too few disks: a mirror needs two, a raid5 three, others one");
        }
        if self.strings == 0 || self.strings > self.disks {
            return Err("it has at least one string and a disk on each");
        }
        if self.made_in.is_some() && (volume == Volume::Each || self.strings > 1) {
            return Err("a controller makes a stripe, a mirror or a raid5 of disks that are all its own");
        }
        if self.in_turn_from.is_some() && self.mirror.is_none() {
            return Err("in-turn-from is of a mirror");
        }
        Ok(volume)
    }

    /// Its drive, whatever kind it is of.
    ///
    /// # Errors
    /// When there is none of the name, or it cannot be.
    fn device(&self, file: &MachineFile, machine: &str, name: &str) -> Result<Device, MachineError> {
        if let Some(keys) = file.cloud.get(&self.drive) {
            return Ok(Device::Cloud(Arc::new(keys.volume(file, machine, name, self)?)));
        }
        if let Some(keys) = file.flash.get(&self.drive) {
            return Ok(Device::Flash(Arc::new(keys.volume(machine, name, self)?)));
        }
        if self.capacity.is_some() || self.state.is_some() || self.cooled.is_some() {
            let (machine, part) = (machine.to_owned(), format!("volume {name}"));
            let message = "capacity, state and cooled are of flash drives".to_owned();
            return Err(MachineError::Figure { machine, part, message });
        }
        let keys = file.drive.get(&self.drive).ok_or_else(|| file.missing(machine, name, "drive", &self.drive))?;
        Ok(self.disk(keys.drive(machine, &self.drive)?))
    }

    fn disk(&self, mut drive: Drive) -> Device {
        if !self.write_cache {
            drive.write_cache = None;
        }
        let device = Device::Disk(Arc::new(drive));
        match &device {
            Device::Disk(drive) if self.from_buffers => {
                Device::Buffer(BufferedDrive { size: device.size(), overhead: drive.overhead })
            }
            _ => device,
        }
    }

    /// The parts of the path and the disks on them.
    ///
    /// # Errors
    /// When the path names what is not there or cannot be.
    pub(super) fn attach(&self, file: &MachineFile, machine: &str, name: &str) -> Result<Attached, MachineError> {
        let figure = |part: &str, message: &str| MachineError::Figure {
            machine: machine.to_owned(),
            part: part.to_owned(),
            message: message.to_owned(),
        };
        let volume = format!("volume {name}");
        let device = self.device(file, machine, name)?;
        // For each name of the path: its parts, and how many disks there are in turn to each.
        let mut parts = Vec::new();
        let mut levels = Vec::new();
        let is_each_disk_s = |named: &String| file.bus.get(named).is_some_and(|bus| bus.each_disk);
        for (level, named) in self.path.iter().enumerate() {
            let mut part = file.part(machine, name, named)?;
            if level.checked_sub(1).is_some_and(|below| is_each_disk_s(&self.path[below])) {
                part = part.with_ports();
            }
            let is_last = level + 1 == self.path.len();
            let count = match (is_each_disk_s(named), is_last) {
                (true, _) => self.disks,
                (false, true) => 1,
                (false, false) => self.strings,
            };
            levels.push((parts.len(), count as usize));
            for number in 1..=count {
                parts.push(if count == 1 { part.clone() } else { part.clone().named(&format!("{named} {number}")) });
            }
        }
        let stores = |level: usize| parts.get(levels[level].0).is_some_and(Part::stores);
        let storing: Vec<usize> = (0..levels.len()).filter(|level| stores(*level)).collect();
        let is_made_in = |level: &usize| self.made_in.as_ref().is_some_and(|made| *made == self.path[*level]);
        let made_at = (0..levels.len()).find(is_made_in);
        match (&self.made_in, made_at) {
            (Some(made_in), None) => return Err(file.missing(machine, name, "controller in its path called", made_in)),
            (Some(_), Some(level)) if !stores(level) => {
                return Err(figure(&volume, "the controller that makes it has to store bytes: bytes = \"stored\""));
            }
            _ if storing.len() > 1 => return Err(figure(&volume, "one controller of its path can store bytes")),
            _ => {}
        }
        let border = storing.first().copied().unwrap_or(levels.len());
        let of_levels = |disk: usize, from: usize, to: usize| -> Vec<usize> {
            levels[from..to].iter().map(|(first, count)| first + disk % count).collect()
        };
        let queues = parts.iter().filter_map(|part| match part {
            Part::Controller(controller) => controller.queue,
            Part::Bus(_) => None,
        });
        let of_drive = || file.flash.get(&self.drive).and_then(|keys| keys.queue());
        let queue = queues.into_iter().next().or_else(of_drive);
        let disk = |disk: usize| AttachedDisk {
            device: device.clone(),
            name: self.drive.clone(),
            near: of_levels(disk, 0, border),
            far: if made_at.is_some() { Vec::new() } else { of_levels(disk, border, levels.len()) },
            queue,
        };
        Ok(Attached {
            disks: (0..self.disks as usize).map(disk).collect(),
            made: match made_at {
                Some(level) => Made::InController(of_levels(0, level, levels.len())),
                None => Made::InSoftware,
            },
            parts,
        })
    }
}
