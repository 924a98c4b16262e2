//! A device at work: commands in, and when what they ask for is done. What the kinds have in common.

use crate::buffered_drive::Buffer;
use crate::cloud::Cloud;
use crate::command::{Command, Served};
use crate::disk::{Disk, Worked};
use crate::flash::Flash;
use crate::machine;
use std::sync::Arc;

/// A device at work.
#[derive(Clone, Debug)]
pub enum Device {
    /// A disk with an arm.
    Disk(Box<Disk>),
    /// A drive of which only the buffer is asked.
    Buffer(Buffer),
    /// A flash drive.
    Flash(Box<Flash>),
    /// A volume of a cloud provider.
    Cloud(Box<Cloud>),
}

/// What every kind does, each in its own way.
macro_rules! each_kind {
    ($device:expr, $kind:ident => $does:expr) => {
        match $device {
            Device::Disk($kind) => $does,
            Device::Buffer($kind) => $does,
            Device::Flash($kind) => $does,
            Device::Cloud($kind) => $does,
        }
    };
}

impl Device {
    /// At rest; what it draws comes from the seed.
    pub fn new(model: &machine::Device, most_commands: Option<u32>, seed: u64) -> Device {
        match model {
            machine::Device::Disk(drive) => {
                let disk = Disk::new(drive.clone());
                Device::Disk(Box::new(match most_commands {
                    Some(commands) => disk.with_queue_depth(commands),
                    None => disk,
                }))
            }
            machine::Device::Buffer(drive) => Device::Buffer(Buffer::new(*drive)),
            machine::Device::Flash(drive) => Device::Flash(Box::new(Flash::new(drive.clone()))),
            machine::Device::Cloud(volume) => Device::Cloud(Box::new(Cloud::new(Arc::clone(volume), seed))),
        }
    }

    /// Takes a command that came at `now_ns`: of a write, when its bytes were in the device's buffer. Time never goes back.
    pub fn accept(&mut self, now_ns: u64, command: Command) {
        each_kind!(self, device => device.accept(now_ns, command));
    }

    /// When it has to be told of the time next; none while it waits for commands.
    pub fn next_ns(&self) -> Option<u64> {
        each_kind!(self, device => device.next_ns())
    }

    /// The time is now [`next_ns`](Device::next_ns).
    pub fn advance(&mut self, now_ns: u64) {
        each_kind!(self, device => device.advance(now_ns));
    }

    /// What became of a command, in the order in which that was known; none when nothing is new.
    pub fn answer(&mut self) -> Option<Served> {
        each_kind!(self, device => device.answer())
    }

    /// Whether all that was written is on its medium.
    pub fn is_flushed(&self) -> bool {
        each_kind!(self, device => device.is_flushed())
    }

    /// The measured part begins.
    pub fn begin(&mut self, now_ns: u64) {
        if let Device::Disk(disk) = self {
            disk.begin(now_ns);
        }
    }

    /// Somebody waits from now on until all that was written is on its medium, without a command for it.
    pub fn await_flush(&mut self, now_ns: u64) {
        if let Device::Disk(disk) = self {
            disk.await_flush(now_ns);
        }
    }

    /// How long it has been at work until now, in nanoseconds.
    pub fn busy_ns(&self, now_ns: u64) -> u64 {
        each_kind!(self, device => device.busy_ns(now_ns))
    }

    /// Of a cloud volume at an instance with limits: its name, for how long of that they held it, and how often its own and those took
    /// turns.
    pub fn instance(&self, now_ns: u64) -> Option<(&str, [u64; 2])> {
        match self {
            Device::Cloud(cloud) => Some((cloud.instance()?, cloud.instance_busy_ns(now_ns))),
            Device::Disk(_) | Device::Buffer(_) | Device::Flash(_) => None,
        }
    }

    /// The same of an arm, with what it did; none without one.
    pub fn worked(&self, now_ns: u64) -> Option<Worked> {
        match self {
            Device::Disk(disk) => Some(disk.worked(now_ns)),
            Device::Buffer(_) | Device::Flash(_) | Device::Cloud(_) => None,
        }
    }
}
