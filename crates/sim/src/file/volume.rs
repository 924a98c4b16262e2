//! The keys of a volume, and what its path comes to: a part for each name, or one for each disk or string of them.

use super::bounds::{Blocks, Count, MOST_BYTES, Names, Word};
use super::error::Wrong;
use super::table::table;
use super::{MachineFile, named_in};
use crate::buffer::BufferedDrive;
use crate::disk::Drive;
use crate::flash::space::State;
use crate::machine::{AttachedDisk, Device, Machine, Made, Part};
use crate::volume::{Reader, Volume};
use halfpower_model::Bytes;
use std::sync::Arc;

const MOST_DISKS: u64 = 1024;
/// Bytes of a disk's turn.
type Chunk = Blocks<512, { 1 << 40 }>;

table! { VolumeKeys {
    /// description, one sentence
    description: String,
    /// its drive, flash drive or cloud volume
    drive: String,
    /// number of drives
    disks: Count<1, MOST_DISKS>,
    /// buses and controllers from the drive to memory, each once
    path: Names<1>,
    /// number of copies of all parts but the last; the disks are spread over them in turn; at most `disks`
    strings: Count<1, MOST_DISKS> = default,
    /// chunk of a stripe, at most a disk. Without this, `mirror` and `raid5` each disk is a target of its own
    stripe: Option<Chunk>,
    /// a mirror, and which disk reads. `idle-or-nearest`: the disk whose last command ended here, else the first idle one, else
    /// the nearest
    mirror: Option<Word<Reader>>,
    /// from this many outstanding bytes of a sequential stream, a mirror's disks read parts of this size in turn; without it:
    /// never
    in_turn_from: Option<Chunk>,
    /// chunk of a RAID5, at most a disk
    raid5: Option<Chunk>,
    /// of a software `raid5`: cached data per disk; cached rows need no reads for parity, and writes to a row are joined while it
    /// waits; without it: none
    stripe_cache: Option<Chunk>,
    /// the controller that makes the volume, which needs `stripe`, `mirror` or `raid5` and one of `strings`; it alone has `bytes
    /// = "stored"`; without it: a software volume
    made_in: Option<String>,
    /// place of the volume's first byte in its first chunk
    offset: Blocks<0, MOST_BYTES> = default,
    /// its `[other-system.NAME]`; default `[system]`
    system: Option<String>,
    /// its `[share.NAME]`; without it: local
    share: Option<String>,
    /// false: no file system, which would split large requests; default true
    file_system: Option<bool>,
    /// false: no write caches, and no buffers of flash; default true
    write_cache: Option<bool>,
    /// true: the drives answer every request from their buffers
    from_buffers: bool = default,
    /// of flash: used part of each drive; the rest is spare; without it: all
    capacity: Option<Blocks<512, MOST_BYTES>>,
    /// of flash: `fresh`, empty; `filled`, written once in order; `steady`, then randomly until nothing changed, so that a stream
    /// stays slow until it has written the whole drive; default `fresh`
    state: Option<Word<State>>,
    /// of flash: false: `heat` applies; default true
    cooled: Option<bool>,
} }

/// Parts, disks on them, and where the volume is made.
pub(super) struct Attached {
    pub(super) parts: Vec<Part>,
    pub(super) disks: Vec<AttachedDisk>,
    pub(super) made: Made,
}

impl VolumeKeys {
    /// How the disks of the volume of a name make it.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(super) fn volume(&self, name: &str) -> Result<Volume, Wrong> {
        let wrong = |key, message: &str| Err(Wrong::at(&["volume", name, key], message));
        let volume = match (self.stripe, self.mirror, self.raid5) {
            (None, None, None) => Volume::Each,
            (Some(chunk), None, None) => Volume::Stripe { chunk: chunk.0 },
            (None, Some(reader), None) => {
                Volume::Mirror { reader: reader.0, in_turn_from: self.in_turn_from.map(|least| least.0) }
            }
            (None, None, Some(chunk)) => {
                Volume::Raid5 { chunk: chunk.0, cache: self.stripe_cache.map(|cache| cache.0) }
            }
            (_, Some(_), _) => return wrong("mirror", "it is a stripe, a mirror or a raid5, not two of them"),
            _ => return wrong("raid5", "it is a stripe, a mirror or a raid5, not two of them"),
        };
        if self.disks.0 < volume.fewest_disks() {
            return wrong("disks", "a mirror needs two, a raid5 three, others one");
        }
        if self.strings.0 > self.disks.0 {
            return wrong("strings", "it has to be no more than disks: there is one on each");
        }
        if self.made_in.is_some() && (volume == Volume::Each || self.strings.0 > 1) {
            return wrong("made-in", "a controller makes a stripe, a mirror or a raid5 of disks that are all its own");
        }
        if self.in_turn_from.is_some() && self.mirror.is_none() {
            return wrong("in-turn-from", "it is of a mirror");
        }
        if self.stripe_cache.is_some() && (self.raid5.is_none() || self.made_in.is_some()) {
            return wrong("stripe-cache", "it is of a raid5 that the system makes");
        }
        Ok(volume)
    }

    /// Holds chunks and offset to what the disks of the volume of a name have.
    ///
    /// # Errors
    /// When nothing fits on them.
    pub(super) fn check_size(&self, name: &str, machine: &Machine) -> Result<(), Wrong> {
        let disk = machine.disks.first().map_or(Bytes(0), |disk| disk.device.size());
        for (key, chunk) in [("stripe", self.stripe), ("raid5", self.raid5)] {
            if chunk.is_some_and(|chunk| chunk.0 > disk) {
                let message = format!("it has to be no more than a disk holds, {disk}");
                return Err(Wrong::at(&["volume", name, key], message));
            }
        }
        match machine.size().0 {
            0 => Err(Wrong::at(&["volume", name, "offset"], "it has to lie within the volume")),
            _ => Ok(()),
        }
    }

    /// Its drive, whatever kind it is of.
    ///
    /// # Errors
    /// When there is none of the name, or it cannot be.
    fn device(&self, file: &MachineFile, name: &str) -> Result<Device, Wrong> {
        if let Some(keys) = file.cloud.get(&self.drive) {
            return Ok(Device::Cloud(Arc::new(keys.volume(file, name, self)?)));
        }
        if let Some(keys) = file.flash.get(&self.drive) {
            return Ok(Device::Flash(Arc::new(keys.volume(name, self)?)));
        }
        let of_flash =
            [("capacity", self.capacity.is_some()), ("state", self.state.is_some()), ("cooled", self.cooled.is_some())];
        if let Some((key, _)) = of_flash.into_iter().find(|(_, is_said)| *is_said) {
            return Err(Wrong::at(&["volume", name, key], "it is of flash drives"));
        }
        let keys = named_in(&file.drive, &["volume", name, "drive"], "drive", &self.drive)?;
        Ok(self.disk(keys.drive(&self.drive)?))
    }

    fn disk(&self, mut drive: Drive) -> Device {
        if self.write_cache == Some(false) {
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
    pub(super) fn attach(&self, file: &MachineFile, name: &str) -> Result<Attached, Wrong> {
        let wrong = |key, message: &str| Err(Wrong::at(&["volume", name, key], message));
        let device = self.device(file, name)?;
        // For each name of the path: its parts, and how many disks there are in turn to each.
        let mut parts = Vec::new();
        let mut levels = Vec::new();
        let is_each_disk_s = |named: &String| file.bus.get(named).is_some_and(|bus| bus.each_disk);
        for (level, named) in self.path.0.iter().enumerate() {
            let mut part = file.part(&["volume", name, "path"], level, named)?;
            if level.checked_sub(1).is_some_and(|below| is_each_disk_s(&self.path.0[below])) {
                part = part.with_ports();
            }
            let is_last = level + 1 == self.path.0.len();
            let count = match (is_each_disk_s(named), is_last) {
                (true, _) => self.disks.0,
                (false, true) => 1,
                (false, false) => self.strings.0,
            };
            levels.push((parts.len(), count as usize));
            for number in 1..=count {
                parts.push(if count == 1 { part.clone() } else { part.clone().named(&format!("{named} {number}")) });
            }
        }
        let stores = |level: usize| parts.get(levels[level].0).is_some_and(Part::stores);
        let storing: Vec<usize> = (0..levels.len()).filter(|level| stores(*level)).collect();
        let is_made_in = |level: &usize| self.made_in.as_ref().is_some_and(|made| *made == self.path.0[*level]);
        let made_at = (0..levels.len()).find(is_made_in);
        match (&self.made_in, made_at) {
            (Some(_), None) => return wrong("made-in", "there is no controller of that name in its path"),
            (Some(_), Some(level)) if !stores(level) => {
                return wrong("made-in", "the controller that makes it has to store bytes: bytes = \"stored\"");
            }
            _ if storing.len() > 1 => return wrong("path", "one controller of it can store bytes"),
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
            disks: (0..self.disks.0 as usize).map(disk).collect(),
            made: match made_at {
                Some(level) => Made::InController(of_levels(0, level, levels.len())),
                None => Made::InSoftware,
            },
            parts,
        })
    }
}
