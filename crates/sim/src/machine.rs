//! What a simulated machine is made of: processors, an operating system's costs, buses, disks, and the volumes on them.
//!
//! It is what a machine file comes to when all its names are resolved; [`crate::file`] reads those.

use crate::buffered_drive::BufferedDrive;
use crate::bus::{Bus, Transfer};
use crate::cloud::CloudVolume;
use crate::command::Direction;
use crate::controller::{Controller, Forwarding, Queue};
pub use crate::cost::Cost;
use crate::disk::Drive;
use crate::disk::geometry::BLOCK_BYTES;
use crate::flash::FlashDrive;
use crate::named::Named;
use crate::volume::Volume;
use halfpower_model::units::significant;
use halfpower_model::{Bytes, Request};
use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

/// A machine with one volume of it, to run workloads on.
#[derive(Clone, Debug, PartialEq)]
pub struct Machine {
    /// Its name.
    pub name: String,
    /// In a sentence.
    pub description: String,
    /// Processors.
    pub processors: u32,
    /// What they are.
    pub processor_model: String,
    /// How fast they run; none where nobody says so.
    pub clock: Option<Hertz>,
    /// Main memory.
    pub memory: Bytes,
    /// The operating system.
    pub system: OperatingSystem,
    /// Buses and controllers between the volume's disks and memory.
    pub parts: Vec<Part>,
    /// The disks of the volume.
    pub disks: Vec<AttachedDisk>,
    /// How they make one volume.
    pub volume: Volume,
    /// Where the volume's first byte lies in it.
    pub offset: Bytes,
    /// Where the volume is made.
    pub made: Made,
    /// What lies between it and the program, where it is another machine's or goes through the network's layers.
    pub share: Option<Share>,
}

/// Clocks a second.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Hertz(pub f64);

impl fmt::Display for Hertz {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 < 1e9 {
            true => write!(f, "{} MHz", significant(self.0 / 1e6)),
            false => write!(f, "{} GHz", significant(self.0 / 1e9)),
        }
    }
}

/// A network share.
#[derive(Clone, Debug, PartialEq)]
pub struct Share {
    /// Processor time of the client for a read and for a write.
    pub client: [Cost; 2],
    /// Of the server, beside what a request of its disks costs.
    pub server: [Cost; 2],
    /// The server's processors; none: they are the client's, and the share is local.
    pub server_processors: Option<u32>,
    /// The parts between the two memories, by number, the server's first.
    pub wire: Vec<usize>,
    /// How many writes may be under way.
    pub write_window: u32,
    /// How reads and writes go that are too large; none: like others.
    pub large: [Option<LargeRequests>; 2],
}

impl Share {
    /// How a request goes that is too large; none where it is not.
    pub fn large(&self, asked: &Request) -> Option<&LargeRequests> {
        let large = self.large.get(asked.kind as usize)?.as_ref();
        large.filter(|large| u64::from(asked.length) > large.above.0)
    }
}

/// Requests of a share that are too large: one at a time, in units, each done before the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LargeRequests {
    /// The longest that are not concerned.
    pub above: Bytes,
    /// Bytes of a unit.
    pub unit: Bytes,
    /// Before the first; none: as before others.
    pub first_wait_ns: Option<u64>,
    /// Before a unit.
    pub wait_ns: u64,
    /// Before what is less than a unit.
    pub part_wait_ns: u64,
}

/// Where a volume is made of its disks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Made {
    /// By the operating system: each piece goes all the way.
    InSoftware,
    /// In a controller: what is asked of the volume goes so far in one piece, over these parts, the nearest to the disks first.
    InController(Vec<usize>),
}

/// What lies between disks and memory.
#[derive(Clone, Debug, PartialEq)]
pub enum Part {
    /// A bus.
    Bus(Bus),
    /// A controller.
    Controller(Controller),
}

impl Part {
    /// Its name.
    pub fn name(&self) -> &str {
        match self {
            Part::Bus(bus) => &bus.name,
            Part::Controller(controller) => &controller.name,
        }
    }

    /// The same with another name.
    pub fn named(mut self, name: &str) -> Part {
        match &mut self {
            Part::Bus(bus) => name.clone_into(&mut bus.name),
            Part::Controller(controller) => name.clone_into(&mut controller.name),
        }
        self
    }

    /// How long a command has it, in nanoseconds.
    pub fn command_ns(&self) -> u64 {
        match self {
            Part::Bus(bus) => bus.command_ns(),
            Part::Controller(controller) => controller.request_ns,
        }
    }

    /// What a transfer would take of it, were it alone.
    pub fn transfer(&self, bytes: u64, direction: Direction) -> Transfer {
        match self {
            Part::Bus(bus) => bus.transfer(bytes, direction),
            Part::Controller(controller) => {
                let per_byte = match direction {
                    Direction::Read => controller.read_ns_per_byte,
                    Direction::Write => controller.write_ns_per_byte,
                    Direction::Trim | Direction::Flush => 0.0,
                };
                let ns = (bytes as f64 * per_byte + 0.5) as u64;
                Transfer { ns, bursts: 1, bytes_ns: ns }
            }
        }
    }

    /// From one end to the other, in nanoseconds.
    pub fn latency_ns(&self) -> u64 {
        match self {
            Part::Bus(bus) => bus.latency_ns,
            Part::Controller(_) => 0,
        }
    }

    /// Whether a processor moves its bytes.
    pub fn is_programmed(&self) -> bool {
        matches!(self, Part::Bus(bus) if bus.programmed)
    }

    /// The same above disks with a link each: bytes that go through a controller do so by a port for each.
    pub fn with_ports(mut self) -> Part {
        if let Part::Controller(controller) = &mut self
            && controller.forwarding == Forwarding::Through
        {
            controller.forwarding = Forwarding::Ports;
        }
        self
    }

    /// Whether bytes rest in it.
    pub fn stores(&self) -> bool {
        matches!(self, Part::Controller(controller) if controller.forwarding == Forwarding::Stored)
    }
}

/// What an operating system does to a request.
#[derive(Clone, Debug, PartialEq)]
pub struct OperatingSystem {
    /// Its name.
    pub name: String,
    /// Direct requests of more bytes are cut into pieces of so many, all outstanding at once; none: not cut.
    pub split: Option<Bytes>,
    /// Where that is done.
    pub split_at: SplitAt,
    /// Processor time of a direct read.
    pub direct_read: Cost,
    /// Processor time of a direct write.
    pub direct_write: Cost,
    /// The part of a request's processor time that comes after its bytes: interrupt and completion.
    pub completion_share: f64,
    /// The file cache; none: requests that go through one are refused.
    pub cache: Option<PageCache>,
    /// How it extends a file.
    pub growth: Growth,
}

/// Where large direct requests are cut.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SplitAt {
    /// Before a volume that the system makes is looked at: what is left of a stripe's row may be part of one.
    #[default]
    Volume,
    /// What each disk of it is given. A volume that a controller makes is one disk to the system.
    Disk,
}

impl Named for SplitAt {
    const WORDS: &'static [(&'static str, Self)] = &[("volume", SplitAt::Volume), ("disk", SplitAt::Disk)];
}

/// How writes that extend a file go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Growth {
    /// Like others.
    #[default]
    Free,
    /// One after another, with zeros in the gap before a write.
    Serial,
}

impl Named for Growth {
    const WORDS: &'static [(&'static str, Self)] = &[("free", Growth::Free), ("serial", Growth::Serial)];
}

/// A file cache.
#[derive(Clone, Debug, PartialEq)]
pub struct PageCache {
    /// Processor time of a read that it has: the call, and the copy of each KiB.
    pub read: Cost,
    /// Of a write.
    pub write: Cost,
    /// Processor time of a request of its own, beside that of a direct one: for pages and mappings, which nobody waits for.
    pub paging_ns: u64,
    /// What it holds.
    pub capacity: Bytes,
    /// How much of it may be dirty before writers wait.
    pub dirty_limit: Bytes,
    /// How long after a scan for dirty pages the next begins, unless a writer waits for room.
    pub scan_ns: u64,
    /// What a write of part of a page or frame reads first.
    pub fill: Fill,
    /// Reads that it does badly; none: none.
    pub slow_reads: Option<SlowReads>,
    /// How many requests of its own there are at once; none: one that reads each target, and one that writes, of a frame.
    pub parallel: Option<Parallel>,
}

/// What a file cache asks of disks at once, of each target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parallel {
    /// How many of its requests read.
    pub reads: u32,
    /// How many write.
    pub writes: u32,
    /// The longest of them.
    pub largest: Bytes,
}

/// Reads of more than so many bytes are not read ahead, and each of their pieces waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlowReads {
    /// The longest that are not concerned.
    pub above: Bytes,
    /// How long.
    pub wait_ns: u64,
}

/// What a write into the cache reads first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fill {
    /// Pages that it writes in part.
    Page,
    /// The same; and a write that continues none, the whole frames that it writes in part.
    Frame,
}

impl Named for Fill {
    const WORDS: &'static [(&'static str, Self)] = &[("page", Fill::Page), ("frame", Fill::Frame)];
}

/// What a device is.
#[derive(Clone, Debug, PartialEq)]
pub enum Device {
    /// A disk with an arm.
    Disk(Arc<Drive>),
    /// A drive of which only the buffer is asked.
    Buffer(BufferedDrive),
    /// A flash drive.
    Flash(Arc<FlashDrive>),
    /// A volume of a cloud provider.
    Cloud(Arc<CloudVolume>),
}

impl Device {
    #[cfg(test)]
    pub(crate) fn disk(&self) -> &Drive {
        let Device::Disk(drive) = self else { panic!("{self:?} has no arm") };
        drive
    }

    /// Whether a loss of power takes what it was given and answered, so that a flush has something to do.
    pub fn is_volatile(&self) -> bool {
        match self {
            Device::Disk(drive) => drive.write_cache.is_some(),
            Device::Flash(drive) => drive.buffer.is_some() && !drive.is_protected,
            Device::Buffer(_) | Device::Cloud(_) => false,
        }
    }

    /// Whether blocks can be given back to it.
    pub fn takes_trims(&self) -> bool {
        matches!(self, Device::Flash(drive) if drive.trim.is_some())
    }

    /// Whether it turns.
    pub fn is_rotational(&self) -> bool {
        matches!(self, Device::Disk(_) | Device::Buffer(_))
    }

    /// Bytes of it.
    pub fn size(&self) -> Bytes {
        match self {
            Device::Disk(drive) => Bytes(drive.mechanics.geometry.blocks() * BLOCK_BYTES),
            Device::Buffer(drive) => drive.size,
            Device::Flash(drive) => drive.size,
            Device::Cloud(volume) => volume.size,
        }
    }
}

/// A device and what lies between it and memory.
#[derive(Clone, Debug, PartialEq)]
pub struct AttachedDisk {
    /// What it is.
    pub device: Device,
    /// Its name in the machine's file.
    pub name: String,
    /// The parts that its bytes are on at once when they leave it, by number, the nearest first.
    pub near: Vec<usize>,
    /// The parts behind a controller that stores them, which is the first; empty where there is none.
    pub far: Vec<usize>,
    /// How its commands wait; none: they go to it at once.
    pub queue: Option<Queue>,
}

impl Machine {
    /// What its processors are called, with their clock where that is told: `Pentium III, 733 MHz`.
    pub fn processor(&self) -> String {
        self.clock.map_or(self.processor_model.clone(), |clock| format!("{}, {clock}", self.processor_model))
    }

    /// Whatever takes its processors a time takes so many times as long; but for what goes over a bus word by word, and for the
    /// processors of another machine's share.
    pub(crate) fn scale_processor_times(&mut self, factor: f64) {
        let scale = |cost: &mut Cost| *cost = cost.times(factor);
        let OperatingSystem { direct_read, direct_write, cache, .. } = &mut self.system;
        [direct_read, direct_write].into_iter().for_each(scale);
        if let Some(cache) = cache {
            [&mut cache.read, &mut cache.write].into_iter().for_each(scale);
            cache.paging_ns = (cache.paging_ns as f64 * factor) as u64;
        }
        for part in &mut self.parts {
            if let Part::Controller(controller) = part {
                [&mut controller.driver_read, &mut controller.driver_write].into_iter().for_each(scale);
            }
        }
        if let Some(share) = &mut self.share {
            let server = share.server_processors.is_none().then_some(&mut share.server);
            share.client.iter_mut().chain(server.into_iter().flatten()).for_each(scale);
        }
    }

    /// Who lets only so many commands be at a disk, as its file calls it: a controller on the way or the one that makes the volume,
    /// else the drive itself; none where all go there at once.
    pub fn gate_of<'a>(&'a self, disk: &'a AttachedDisk) -> Option<&'a str> {
        disk.queue?;
        let made: &[usize] = if let Made::InController(parts) = &self.made { parts } else { &[] };
        let way = disk.near.iter().chain(&disk.far).chain(made);
        let mut queues = way.filter_map(|number| match &self.parts[*number] {
            Part::Controller(controller) => controller.queue.map(|_| controller.name.as_str()),
            Part::Bus(_) => None,
        });
        // Of several alike each has a number, and the file has them once.
        Some(queues.next().and_then(|name| name.split(' ').next()).unwrap_or(&disk.name))
    }

    /// The same with its drives' write caches off.
    pub fn without_write_caches(&self) -> Machine {
        let mut machine = self.clone();
        for disk in &mut machine.disks {
            match &mut disk.device {
                Device::Disk(drive) => Arc::make_mut(drive).write_cache = None,
                // What outlasts a loss of power is as good as written.
                Device::Flash(drive) if !drive.is_protected => Arc::make_mut(drive).buffer = None,
                Device::Flash(_) | Device::Buffer(_) | Device::Cloud(_) => {}
            }
        }
        machine
    }

    /// What its devices hold of writes, each once: what a flush leaves there, and all.
    pub fn buffers(&self) -> [Bytes; 2] {
        // Those of a mirror all hold the same.
        let several = if matches!(self.volume, Volume::Mirror { .. }) { 1 } else { self.disks.len() };
        self.disks.iter().take(several).fold([Bytes(0); 2], |[protected, all], disk| {
            let (holds, is_protected) = match &disk.device {
                Device::Flash(drive) => (drive.buffer.map_or(0, |buffer| buffer.0), drive.is_protected),
                Device::Disk(drive) => (drive.write_cache.map_or(0, |cache| cache.blocks * BLOCK_BYTES), false),
                Device::Buffer(_) | Device::Cloud(_) => (0, false),
            };
            [Bytes(protected.0 + if is_protected { holds } else { 0 }), Bytes(all.0 + holds)]
        })
    }

    /// Bytes of each of its targets.
    pub fn size(&self) -> Bytes {
        let smallest = self.disks.iter().map(|disk| disk.device.size().0).min().unwrap_or(0);
        Bytes(self.volume.size(self.disks.len() as u64, smallest).saturating_sub(self.offset.0))
    }

    /// How many targets it has.
    pub fn targets(&self) -> usize {
        if self.volume == Volume::Each { self.disks.len() } else { 1 }
    }

    /// Whether the system sees its volume as one device.
    pub fn is_made_in_controller(&self) -> bool {
        matches!(self.made, Made::InController(_))
    }

    /// The buses that bytes are on while they are in a part, by name: those of its legs.
    pub fn buses_beside(&self, part: usize) -> Vec<String> {
        let above = if let Made::InController(parts) = &self.made { &parts[..] } else { &[] };
        let wire = self.share.as_ref().map_or(&[][..], |share| &share.wire);
        let legs = self.disks.iter().flat_map(|disk| [&disk.near[..], &disk.far]).chain([above, wire]);
        let on_them: BTreeSet<usize> = legs.filter(|leg| leg.contains(&part)).flatten().copied().collect();
        let bus = |number: &usize| match &self.parts[*number] {
            Part::Bus(bus) => Some(bus.name.clone()),
            Part::Controller(_) => None,
        };
        on_them.iter().filter_map(bus).collect()
    }

    /// How many devices the system sees: the disks, or what a controller makes of them.
    pub fn devices_seen(&self) -> usize {
        if self.is_made_in_controller() { self.targets() } else { self.disks.len() }
    }

    /// What the drivers of its controllers cost the processors for a request, beside the operating system.
    pub fn driver_cost(&self, direction: Direction) -> Cost {
        let of = |part: &Part| match (part, direction) {
            (Part::Bus(_), _) => Cost::default(),
            (Part::Controller(controller), Direction::Read) => controller.driver_read,
            (Part::Controller(controller), _) => controller.driver_write,
        };
        // Of one disk's way: those of the others are like it.
        let behind: &[usize] = if let Made::InController(parts) = &self.made { parts } else { &[] };
        let ways = self.disks.first().into_iter().flat_map(|disk| disk.near.iter().chain(&disk.far));
        ways.chain(behind).map(|number| of(&self.parts[*number])).fold(Cost::default(), |sum, cost| Cost {
            fixed_us: sum.fixed_us + cost.fixed_us,
            marginal_us_per_kib: sum.marginal_us_per_kib + cost.marginal_us_per_kib,
        })
    }
}
