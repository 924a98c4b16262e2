//! The keys of a volume, and what its path comes to: a part for each name, or one for each disk or string of them.

use super::error::Wrong;
use crate::bounds::{Blocks, Count, MOST_BYTES, Names, Word};
use crate::device::BufferedDrive;
use crate::disk::Drive;
use crate::flash::State;
use crate::machine::{Device, Machine};
use crate::table::table;
use crate::volume::{Reader, Volume};
use halfpower_model::Bytes;
use std::sync::Arc;

const MOST_DISKS: u64 = 1024;
/// Bytes of a disk's turn.
type Chunk = Blocks<512, { 1 << 40 }>;

table! { pub(super) VolumeKeys {
    /// description, one sentence
    description: String,
    /// its drive, flash drive or cloud volume
    drive: String,
    /// number of drives
    disks: Count<1, MOST_DISKS>,
    /// buses and controllers from the drive to memory, each once; a bus is the first, and one the last; `each-disk` only the first
    path: Names<1>,
    /// number of copies of all parts but the last; the disks are spread over them in turn; at most `disks`
    strings: Count<1, MOST_DISKS> = default,
    /// chunk of a stripe, at most a disk. Without this, `mirror` and `raid5` each disk is a target of its own
    stripe: Option<Chunk>,
    /// a mirror, and which disk reads. `idle-or-nearest`: the disk whose last command ended here, else the first idle one, else
    /// the nearest
    mirror: Option<Word<Reader>>,
    /// chunk of a RAID5, at most a disk
    raid5: Option<Chunk>,
    /// the controller that makes the volume, which needs `stripe`, `mirror` or `raid5` and one of `strings`; it alone has `bytes
    /// = "stored"`; with `raid5` and a `write-cache` it has as much memory; without it: a software volume
    made_in: Option<String>,
    /// place of the volume's first byte in its first chunk
    offset: Blocks<0, MOST_BYTES> = default,
    /// its `[other-system.NAME]`; default `[system]`
    system: Option<String>,
    /// its `[share.NAME]`; without it: local
    share: Option<String>,
    /// false: no file system, which would split large requests; default true
    file_system: Option<bool>,
    /// false: no write caches, and no buffers of flash; true needs the drive's `write-cache`, if it is a disk; default: as the drive
    write_cache: Option<bool>,
    /// true: the drives answer every request from their buffers
    from_buffers: bool = default,
    /// of flash: used part of each drive; the rest is spare; without it: all
    capacity: Option<Blocks<512, MOST_BYTES>>,
    /// of flash: `fresh`, empty, so that reads end at the controller; `filled`, written once in order; `steady`, then randomly until nothing changed, so that a stream
    /// stays slow until it has written the whole drive; default `fresh`
    state: Option<Word<State>>,
    /// of flash: false: `heat` applies; default true
    cooled: Option<bool>,
} }

impl VolumeKeys {
    /// How the disks of the volume of a name make it.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(super) fn volume(&self, name: &str) -> Result<Volume, Wrong> {
        let wrong = |key, message: &str| Err(Wrong::at(&["volume", name, key], message));
        let volume = match (self.stripe, self.mirror, self.raid5) {
            (None, None, None) => Volume::Each,
            (Some(chunk), None, None) => Volume::Stripe { chunk },
            (None, Some(reader), None) => Volume::Mirror { reader },
            (None, None, Some(chunk)) => Volume::Raid5 { chunk },
            (_, Some(_), _) => return wrong("mirror", "a volume has only one of stripe, mirror and raid5"),
            _ => return wrong("raid5", "a volume has only one of stripe, mirror and raid5"),
        };
        if self.disks < volume.fewest_disks() {
            return wrong("disks", "a mirror needs at least 2 disks, a raid5 3, others 1");
        }
        if self.strings > self.disks {
            return wrong("strings", "it has to be at most disks, because each string has a disk");
        }
        if self.made_in.is_some() && (volume == Volume::Each || self.strings > 1) {
            return wrong("made-in", "it needs stripe, mirror or raid5, and strings = 1");
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
            if chunk.is_some_and(|chunk| chunk > disk) {
                let message = format!("it has to be at most the size of a disk, {disk}");
                return Err(Wrong::at(&["volume", name, key], message));
            }
        }
        match machine.size().0 {
            0 => Err(Wrong::at(&["volume", name, "offset"], "it has to lie within the volume")),
            _ => Ok(()),
        }
    }

    /// The drive, with the write cache and buffer that the volume has.
    pub(super) fn disk(&self, mut drive: Drive) -> Device {
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
}
