//! A device at work: commands in, and when what they ask for is done. What the kinds have in common.

use crate::cloud::Cloud;
use crate::command::{Command, Direction, Served};
use crate::disk::{Disk, Overhead, Worked};
use crate::flash::Flash;
use crate::machine;
use crate::resource::Line;
use halfpower_model::Bytes;
use std::collections::VecDeque;
use std::sync::Arc;

/// A device at work.
#[derive(Clone, Debug)]
pub struct Device {
    kind: Kind,
    /// Answers of a kind whose answers are known at once.
    served: VecDeque<Served>,
}

#[derive(Clone, Debug)]
enum Kind {
    Disk(Box<Disk>),
    Buffer(BufferedDrive, Line),
    Flash(Box<Flash>),
    Cloud(Box<Cloud>),
}

impl Device {
    /// At rest; what it draws comes from the seed.
    pub fn new(model: &machine::Device, seed: u64) -> Device {
        let kind = match model {
            machine::Device::Disk(drive) => Kind::Disk(Box::new(Disk::new(drive, seed))),
            machine::Device::Buffer(drive) => Kind::Buffer(*drive, Line::default()),
            machine::Device::Flash(drive) => Kind::Flash(Box::new(Flash::new(drive.clone(), seed))),
            machine::Device::Cloud(volume, instance) => {
                Kind::Cloud(Box::new(Cloud::new(Arc::clone(volume), *instance, seed)))
            }
        };
        Device { kind, served: VecDeque::new() }
    }

    /// Takes a command that came at `now_ns`: of a write, when its bytes were in the device's buffer. Time never goes back.
    pub fn accept(&mut self, now_ns: u64, command: Command) {
        let served = match &mut self.kind {
            Kind::Disk(disk) => return disk.accept(now_ns, command),
            Kind::Buffer(drive, line) => drive.serve(line, now_ns, command),
            Kind::Flash(flash) => flash.serve(now_ns, command),
            Kind::Cloud(cloud) => cloud.serve(now_ns, command),
        };
        self.served.push_back(served);
    }

    /// When it has to be told of the time next; none while it waits for commands.
    pub fn next_ns(&self) -> Option<u64> {
        match &self.kind {
            Kind::Disk(disk) => disk.next_ns(),
            Kind::Flash(flash) => flash.next_ns(),
            Kind::Buffer(..) | Kind::Cloud(_) => None,
        }
    }

    /// The time is now [`next_ns`](Device::next_ns).
    pub fn advance(&mut self, now_ns: u64) {
        match &mut self.kind {
            Kind::Disk(disk) => disk.advance(now_ns),
            Kind::Flash(flash) => flash.advance(now_ns),
            Kind::Buffer(..) | Kind::Cloud(_) => {}
        }
    }

    /// What became of a command, in the order in which that was known; none when nothing is new.
    pub fn answer(&mut self) -> Option<Served> {
        if let Kind::Disk(disk) = &mut self.kind { disk.answer() } else { self.served.pop_front() }
    }

    /// Whether all that was written is on its medium.
    pub fn is_flushed(&self) -> bool {
        match &self.kind {
            Kind::Disk(disk) => disk.is_flushed(),
            Kind::Flash(flash) => flash.is_flushed(),
            Kind::Buffer(..) | Kind::Cloud(_) => true,
        }
    }

    /// Somebody waits from now on until all that was written is on its medium, without a command for it.
    pub fn await_flush(&mut self, now_ns: u64) {
        if let Kind::Disk(disk) = &mut self.kind {
            disk.await_flush(now_ns);
        }
    }

    /// How long it has been at work until now, in nanoseconds.
    pub fn busy_ns(&self, now_ns: u64) -> u64 {
        match &self.kind {
            Kind::Disk(disk) => disk.busy_ns(now_ns),
            Kind::Buffer(_, line) => line.busy_ns(now_ns),
            Kind::Flash(flash) => flash.busy_ns(now_ns),
            Kind::Cloud(cloud) => cloud.busy_ns(now_ns),
        }
    }

    /// Of a cloud volume at an instance with limits: its name, and for how long they held it.
    pub fn instance(&self, now_ns: u64) -> Option<(&str, u64)> {
        let Kind::Cloud(cloud) = &self.kind else { return None };
        Some((cloud.instance()?, cloud.instance_busy_ns(now_ns)))
    }

    /// The same of an arm, with what it did; none without one.
    pub fn worked(&self, now_ns: u64) -> Option<Worked> {
        if let Kind::Disk(disk) = &self.kind { Some(disk.worked(now_ns)) } else { None }
    }
}

/// A drive that answers from its buffer, whatever is asked, as the studies' DiskCache and burst programs did: it shows what lies
/// between drives and memory. Its times are the drive's own for a buffer hit and a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BufferedDrive {
    /// Bytes of the drive.
    pub size: Bytes,
    /// The drive's own times.
    pub overhead: Overhead,
}

impl BufferedDrive {
    /// Serves one command after another.
    fn serve(self, line: &mut Line, now_ns: u64, command: Command) -> Served {
        let Overhead { read_hit_ns, write_ns, .. } = self.overhead;
        let took_ns = if command.direction == Direction::Read { read_hit_ns } else { write_ns };
        let at_ns = line.hold(now_ns, took_ns, took_ns);
        Served { tag: command.tag, begins_ns: at_ns, ready_ns: at_ns }
    }
}
