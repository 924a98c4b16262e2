//! What a simulated machine is made of: processors, an operating system's costs, buses, disks, and the volumes on them.
//!
//! It is what a machine file comes to when all its names are resolved; [`crate::file`] reads those.

use crate::disk::Drive;
use crate::disk::geometry::BLOCK_BYTES;
use halfpower_model::Bytes;
use std::sync::Arc;

/// A machine with one volume of it, to run workloads on.
#[derive(Clone, Debug)]
pub struct Machine {
    /// Its name.
    pub name: String,
    /// In a sentence.
    pub description: String,
    /// Processors.
    pub processors: u32,
    /// What they are.
    pub processor_model: String,
    /// Main memory.
    pub memory: Bytes,
    /// The operating system.
    pub system: OperatingSystem,
    /// Buses, in the order of the file.
    pub buses: Vec<Bus>,
    /// The disks of the volume.
    pub disks: Vec<AttachedDisk>,
    /// How they make one volume.
    pub volume: Volume,
}

/// What an operating system does to a request.
#[derive(Clone, Debug, PartialEq)]
pub struct OperatingSystem {
    /// Its name.
    pub name: String,
    /// Direct requests of more bytes are cut into pieces of so many, all outstanding at once; none: not cut.
    pub split: Option<Bytes>,
    /// Processor time of a direct read.
    pub direct_read: Cost,
    /// Processor time of a direct write.
    pub direct_write: Cost,
    /// The part of a request's processor time that comes after its bytes: interrupt and completion.
    pub completion_share: f64,
}

/// Processor time of a request: a fixed part and one for each KiB.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Cost {
    /// Microseconds a request.
    pub fixed_us: f64,
    /// Microseconds a KiB.
    pub marginal_us_per_kib: f64,
}

impl Cost {
    /// Nanoseconds for a request of so many bytes.
    pub fn ns(self, bytes: u64) -> u64 {
        ((self.fixed_us + self.marginal_us_per_kib * bytes as f64 / 1024.0) * 1000.0).round() as u64
    }
}

/// A bus: every command and every transfer of bytes has it for a time.
#[derive(Clone, Debug, PartialEq)]
pub struct Bus {
    /// Its name.
    pub name: String,
    /// Nanoseconds a byte of reads, while it moves bytes.
    pub read_ns_per_byte: f64,
    /// The same of writes.
    pub write_ns_per_byte: f64,
    /// Nanoseconds that a command takes of it: arbitration, selection, the command's own bytes.
    pub command_ns: u64,
    /// Nanoseconds that a transfer takes beside its bytes: reselection, messages, status, setting up.
    pub transfer_ns: u64,
    /// Whether a processor moves the bytes.
    pub programmed: bool,
}

/// What a device is.
#[derive(Clone, Debug)]
pub enum Device {
    /// A disk with an arm.
    Disk(Arc<Drive>),
}

impl Device {
    /// Bytes of it.
    pub fn size(&self) -> Bytes {
        match self {
            Device::Disk(drive) => Bytes(drive.mechanics.geometry.blocks() * BLOCK_BYTES),
        }
    }
}

/// A device and the buses between it and memory, the nearest to the device first.
#[derive(Clone, Debug)]
pub struct AttachedDisk {
    /// What it is.
    pub device: Device,
    /// Its name in the machine's file.
    pub name: String,
    /// Numbers of the machine's buses.
    pub buses: Vec<usize>,
}

/// How disks make a volume.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Volume {
    /// One disk, or several with a target of its own each.
    Each,
    /// Chunks in turn.
    Stripe {
        /// Bytes of each.
        chunk: Bytes,
    },
}

impl Machine {
    /// Bytes of each of its targets.
    pub fn size(&self) -> Bytes {
        let smallest = self.disks.iter().map(|disk| disk.device.size().0).min().unwrap_or(0);
        Bytes(match self.volume {
            Volume::Each => smallest,
            Volume::Stripe { chunk } => (smallest - smallest % chunk.0) * self.disks.len() as u64,
        })
    }
}
