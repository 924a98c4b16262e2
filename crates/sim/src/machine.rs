//! A simulated machine: CPUs, costs of the operating system, buses, controllers, disks and one volume.
//!
//! [`crate::file`] makes it from a machine file, with all names resolved.

use crate::bounds::{self, Blocks, Clock, Count, MOST_BYTES, Names, Short, Size, Time, Word};
use crate::bus::Bus;
use crate::cloud::{CloudVolume, Limits};
use crate::command::Direction;
use crate::controller::{Controller, Forwarding, Queue};
pub use crate::cost::Cost;
use crate::device::BufferedDrive;
use crate::disk::Drive;
use crate::disk::geometry::BLOCK_BYTES;
use crate::flash::FlashDrive;
use crate::table::{named, table};
use crate::volume::Volume;
use halfpower_model::Bytes;
use std::collections::BTreeSet;
use std::sync::Arc;

/// A machine with one of its volumes.
#[derive(Clone, Debug, PartialEq)]
pub struct Machine {
    /// Its name.
    pub name: String,
    /// Its CPUs and memory.
    pub cpu: Cpu,
    /// The operating system.
    pub system: OperatingSystem,
    /// Buses and controllers between the volume's disks and memory.
    pub parts: Vec<Part>,
    /// The disks of the volume.
    pub disks: Vec<AttachedDisk>,
    /// Their layout.
    pub volume: Volume,
    /// Place of the first byte in the first chunk.
    pub offset: Bytes,
    /// If a controller makes the volume, the parts that requests pass before they are split, the nearest to the disks first;
    /// `None`: the operating system makes it.
    pub made: Option<Vec<usize>>,
    /// The network share between the volume and the program.
    pub share: Option<Share>,
    /// Indices of the parts of its wire, the server's first.
    pub wire: Vec<usize>,
}

table! {
/// CPUs and memory.
pub Cpu {
    /// number of CPU cores
    count: Count<1, 4096>,
    /// CPU model
    model: String,
    /// clock frequency, for CPU cost in clocks per byte. The file's CPU times hold at this clock and scale with `--set
    /// cpu.clock=1466MHz`
    clock: Option<Clock>,
    /// main memory
    memory: Size<{ 1 << 20 }, MOST_BYTES>,
}
}

table! {
/// A network share.
pub Share {
    /// CPU time of the client for a read
    client_read: Cost,
    /// the same for a write
    client_write: Cost,
    /// CPU time of the server for a read, on top of a direct one
    server_read: Cost,
    /// the same for a write
    server_write: Cost,
    /// cores of the server; without it: the client's cores, and the share is local
    server_cpus: Option<Count<1, 4096>>,
    /// buses from the server's memory to the client's, each once
    wire: Names<0> = default,
    /// maximum number of outstanding writes
    write_window: Count<1, 65_536>,
}
}

/// A part between disks and memory.
#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    /// Its name.
    pub name: String,
    /// Nanoseconds per byte of reads and of writes, without overhead; 0 of a controller: as fast as the buses.
    pub ns_per_byte: [f64; 2],
    /// What it is.
    pub kind: PartKind,
}

/// The kinds of parts.
#[derive(Clone, Debug, PartialEq)]
pub enum PartKind {
    /// A bus.
    Bus(Bus),
    /// A controller.
    Controller(Controller),
}

impl Part {
    /// It as a bus.
    pub fn bus(&self) -> Option<&Bus> {
        if let PartKind::Bus(bus) = &self.kind { Some(bus) } else { None }
    }

    /// It as a controller.
    pub fn controller(&self) -> Option<&Controller> {
        if let PartKind::Controller(controller) = &self.kind { Some(controller) } else { None }
    }

    /// Its time per command.
    pub fn command_ns(&self) -> u64 {
        match &self.kind {
            PartKind::Bus(bus) => bus.command_ns(),
            PartKind::Controller(controller) => controller.request.0,
        }
    }

    /// Its time for a transfer without contention; trims and flushes move no bytes.
    pub fn transfer_ns(&self, bytes: u64, direction: Direction) -> u64 {
        let bytes_ns = (bytes as f64 * self.ns_per_byte.get(direction as usize).unwrap_or(&0.0) + 0.5) as u64;
        self.bus().map_or(bytes_ns, |bus| bus.transfer_ns(bytes_ns))
    }

    /// Propagation time.
    pub fn latency_ns(&self) -> u64 {
        self.bus().map_or(0, |bus| bus.latency.0)
    }

    /// Whether the CPU moves its bytes (PIO).
    pub fn is_programmed(&self) -> bool {
        self.bus().is_some_and(|bus| bus.programmed)
    }

    /// The same above disks with a link each: the controller has one port per disk.
    pub fn with_ports(mut self) -> Part {
        if let PartKind::Controller(controller) = &mut self.kind
            && controller.bytes == Forwarding::Through
        {
            controller.bytes = Forwarding::Ports;
        }
        self
    }

    /// Whether it stores all bytes before it passes them on.
    pub fn stores(&self) -> bool {
        self.controller().is_some_and(|controller| controller.bytes == Forwarding::Stored)
    }
}

table! {
    /// Costs and limits of an operating system.
    pub OperatingSystem {
        /// name of the system
        name: String,
        /// direct requests above this size are split into parts of it
        split: Option<Blocks<512, { 1 << 30 }>>,
        /// split a request above a software volume (`volume`), or for each of its disks (`disk`)
        split_at: Word<SplitAt> = default,
        /// CPU time of a direct read; a request without any cost takes 1 ns
        direct_read: Cost,
        /// the same for a write
        direct_write: Cost,
        /// share of that CPU time after the data transfer
        completion_share: bounds::Share,
        /// mean of an exponential time from the last byte to the CPU's interrupt, not of a share: coalescing, a CPU that sleeps, other work
        interrupt_jitter: Short = default,
        /// the page cache; without it buffered requests are rejected
        cache: Option<PageCache>,
        /// writes that extend a file run in parallel (`free`), or one by one with zeros in the gap before them (`serial`)
        growth: Word<Growth> = default,
    }
}

named! {
/// The level at which large direct requests are split.
pub enum SplitAt {
    /// Above a software volume, so a part may cover less than a stripe's row.
    Volume = "volume",
    /// Per disk of a software volume. A volume that a controller makes is one disk to the system.
    Disk = "disk",
}
}

named! {
/// Concurrency of writes that extend a file.
pub enum Growth {
    /// In parallel, like other writes.
    Free = "free",
    /// One by one, with zeros in the gap before a write.
    Serial = "serial",
}
}

table! {
    /// The page cache of an operating system.
    pub PageCache {
        /// CPU time of a read from the cache: call and copy; `fixed` is at least 50 ns
        read: Cost,
        /// the same for a write into it
        write: Cost,
        /// CPU time of one of the cache's own requests, on top of a direct one; nobody waits for it
        paging: Short = default,
        /// maximum share of memory for the cache, at least 1 MiB
        share: bounds::Share,
        /// dirty share of memory above which writers wait; at most `share`
        dirty_share: bounds::Share,
        /// pause between two scans for dirty pages; a writer that waits for room starts one at once
        scan: Time<10_000_000, 3_600_000_000_000>,
        /// the cache's own requests; without it there is one read and one write per target, of at most 64 KiB, and a write that
        /// must read first waits for the end of a scan
        parallel: Option<Parallel>,
    }
}

impl PageCache {
    /// The bytes that it holds, and those of them that may be dirty, on a machine with so much memory.
    pub fn sizes(&self, memory: Bytes) -> [Bytes; 2] {
        [self.share, self.dirty_share].map(|share| Bytes((memory.0 as f64 * share) as u64))
    }
}

table! {
    /// Concurrency of a page cache's own requests.
    #[derive(Copy, Eq)]
    pub Parallel {
        /// reads of the cache per target at once; each request with missing pages reads them itself, and so does the read-ahead
        reads: Count<1, 65_536>,
        /// writes of the cache per target at once
        writes: Count<1, 65_536>,
        /// maximum size of either; neighbours are joined
        largest: Size<{ 64 << 10 }, { 64 << 20 }>,
    }
}

/// The model of a device.
#[derive(Clone, Debug, PartialEq)]
pub enum Device {
    /// A disk with an arm.
    Disk(Arc<Drive>),
    /// A disk that answers every request from its buffer.
    Buffer(BufferedDrive),
    /// A flash drive.
    Flash(Arc<FlashDrive>),
    /// A volume of a cloud provider, and the limits of its instance.
    Cloud(Arc<CloudVolume>, Option<Limits>),
}

impl Device {
    #[cfg(test)]
    pub(crate) fn disk(&self) -> &Drive {
        let Device::Disk(drive) = self else { panic!("{self:?} has no arm") };
        drive
    }

    /// Whether a power loss can lose acknowledged writes, so that a flush has work to do.
    pub fn is_volatile(&self) -> bool {
        match self {
            Device::Disk(drive) => drive.write_cache.is_some(),
            Device::Flash(drive) => drive.buffer.is_some() && !drive.protected,
            Device::Buffer(_) | Device::Cloud(..) => false,
        }
    }

    /// Whether it accepts trims.
    pub fn takes_trims(&self) -> bool {
        matches!(self, Device::Flash(drive) if drive.trim.is_some())
    }

    /// Whether its medium rotates.
    pub fn is_rotational(&self) -> bool {
        matches!(self, Device::Disk(_) | Device::Buffer(_))
    }

    /// Capacity.
    pub fn size(&self) -> Bytes {
        match self {
            Device::Disk(drive) => Bytes(drive.mechanics.geometry.blocks() * BLOCK_BYTES),
            Device::Buffer(drive) => drive.size,
            Device::Flash(drive) => drive.size,
            Device::Cloud(volume, _) => volume.size,
        }
    }
}

/// A device with its path to memory.
#[derive(Clone, Debug, PartialEq)]
pub struct AttachedDisk {
    /// The device.
    pub device: Device,
    /// Its name in the machine's file.
    pub name: String,
    /// Indices of the parts that a transfer occupies at once, the nearest first.
    pub near: Vec<usize>,
    /// The parts from a controller that stores bytes onwards; empty without one.
    pub far: Vec<usize>,
    /// The queue in front of it; `None`: commands go to it at once.
    pub queue: Option<Queue>,
}

impl Machine {
    /// CPU model with its clock: `Pentium III, 733 MHz`.
    pub fn cpu(&self) -> String {
        self.cpu.clock.map_or(self.cpu.model.clone(), |clock| format!("{}, {clock}", self.cpu.model))
    }

    /// Who lets only so many commands be at a disk, as its file calls it: a controller on the way or the one that makes the volume,
    /// else the drive itself; none where all go there at once.
    pub fn gate_of<'a>(&'a self, disk: &'a AttachedDisk) -> Option<&'a str> {
        disk.queue?;
        let way = disk.near.iter().chain(&disk.far).chain(self.made.iter().flatten());
        let queues = |number: &usize| self.parts[*number].controller().is_some_and(|one| one.outstanding.is_some());
        let name = way.copied().find(queues).map(|number| self.parts[number].name.as_str());
        // Of several alike each has a number, and the file has them once.
        Some(name.and_then(|name| name.split(' ').next()).unwrap_or(&disk.name))
    }

    /// The same with its drives' write caches off.
    pub fn without_write_caches(&self) -> Machine {
        let mut machine = self.clone();
        for disk in &mut machine.disks {
            match &mut disk.device {
                Device::Disk(drive) => Arc::make_mut(drive).write_cache = None,
                // What outlasts a loss of power is as good as written.
                Device::Flash(drive) if !drive.protected => Arc::make_mut(drive).buffer = None,
                Device::Flash(_) | Device::Buffer(_) | Device::Cloud(..) => {}
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
                Device::Flash(drive) => (drive.buffer.map_or(0, |buffer| buffer.0), drive.protected),
                Device::Disk(drive) => (drive.write_cache.map_or(0, |cache| cache.blocks * BLOCK_BYTES), false),
                Device::Buffer(_) | Device::Cloud(..) => (0, false),
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
        self.made.is_some()
    }

    /// The buses that bytes are on while they are in a part, by name: those of its legs.
    pub fn buses_beside(&self, part: usize) -> Vec<String> {
        let above = self.made.as_deref().unwrap_or_default();
        let legs = self.disks.iter().flat_map(|disk| [&disk.near[..], &disk.far]).chain([above, &self.wire]);
        let on_them: BTreeSet<usize> = legs.filter(|leg| leg.contains(&part)).flatten().copied().collect();
        let buses = on_them.into_iter().map(|number| &self.parts[number]).filter(|part| part.bus().is_some());
        buses.map(|part| part.name.clone()).collect()
    }

    /// How many devices the system sees: the disks, or what a controller makes of them.
    pub fn devices_seen(&self) -> usize {
        if self.is_made_in_controller() { self.targets() } else { self.disks.len() }
    }

    /// What the drivers of its controllers cost the CPUs for a request, beside the operating system.
    pub fn driver_cost(&self, direction: Direction) -> Cost {
        let of = |part: &Part| {
            let driver =
                |one: &Controller| if direction == Direction::Read { one.driver_read } else { one.driver_write };
            part.controller().and_then(driver).unwrap_or_default()
        };
        // Of one disk's way: those of the others are like it.
        let ways = self.disks.first().into_iter().flat_map(|disk| disk.near.iter().chain(&disk.far));
        ways.chain(self.made.iter().flatten()).map(|number| of(&self.parts[*number])).fold(Cost::default(), Cost::plus)
    }
}
