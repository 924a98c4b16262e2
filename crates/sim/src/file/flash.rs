//! The keys of a flash drive.

use super::error::Wrong;
use super::volume::VolumeKeys;
use crate::bounds::{Blocks, Count, MOST_BYTES, Rate, Share, Short, Size};
use crate::controller::{Order, Queue};
use crate::flash::array::{Array, Erase};
use crate::flash::buffer::FastArea;
use crate::flash::read_ahead::ReadAhead;
use crate::flash::space::State;
use crate::flash::{FlashDrive, Trim};
use crate::table::table;
use halfpower_model::Bytes;

table! { pub(super) FlashKeys {
    /// capacity
    size: Blocks<512, MOST_BYTES>,
    /// additional flash: at least a thousandth of `size`, and one page for each of `units`
    spare: Size<512, MOST_BYTES>,
    /// planes that read and program independently
    units: Count<1, 16_384>,
    /// channels, shared by the units in turn; at most `units`
    channels: Count<1, 1024>,
    /// unit of reading and programming
    page: Blocks<512, { 1 << 24 }>,
    /// to read a page into the unit's register, however little of it is needed
    read: Short,
    /// spread of that time: a third of the pages take this share less, a third this share more
    read_spread: Share = default,
    /// probability that a page has to be read again to correct its errors, each time, up to 16 reads
    retry: Share = default,
    /// to program a page, its share of an erasure included. units × page / program is the write throughput, unless the channels
    /// limit it
    program: Short,
    /// the same spread of the program that a flush, or a write without a buffer, waits for
    program_spread: Share = default,
    /// bytes per second of a channel: reads, programs, and garbage collection twice
    channel_rate: Rate,
    /// until a programming unit lets a read go first
    suspend: Short = default,
    /// erasures that reads wait for; without it: none
    erase: Option<Erase>,
    /// maximum number of commands at it; without it: unlimited
    outstanding: Option<Count<1, 65_536>>,
    /// controller time per read, one after another: its reciprocal limits IOPS
    read_command: Short = default,
    /// the same for a write
    write_command: Short = default,
    /// further latency of a read, in parallel
    read_delay: Short = default,
    /// the same for a write
    write_delay: Short = default,
    /// further latency of a write that continues none
    scattered_write: Short = default,
    /// share of the writes that continue none and wait for a program of the mapping table, half of `program` on average
    checkpoint: Share = default,
    /// mean of an exponential latency of the controller, of every command
    jitter: Short = default,
    /// bytes written between two rounds of garbage collection, in which the drive writes nothing else; 0 B: it copies some with
    /// each write
    collection: Size<0, { 1 << 40 }> = default,
    /// capacity of the write buffer; without it a write ends in flash
    buffer: Option<Size<512, { 1 << 40 }>>,
    /// the buffer survives a power loss: a flush does nothing, and a write through is buffered; needs `buffer`
    protected: bool = default,
    /// bytes of the mapping table programmed with each write that continues none
    mapping: Size<0, { 1 << 24 }> = default,
    /// read-ahead; without it: none
    read_ahead: Option<ReadAhead>,
    /// area of faster (SLC) flash; without it: none
    fast_area: Option<FastArea>,
    /// trims; without it they are rejected
    trim: Option<Trim>,
} }

impl FlashKeys {
    /// What a volume uses it as.
    ///
    /// # Errors
    /// When figures of both contradict each other.
    pub(super) fn volume(&self, name: &str, volume: &VolumeKeys) -> Result<FlashDrive, Wrong> {
        let of_volume = |key, message: &str| Err(Wrong::at(&["volume", name, key], message));
        if volume.from_buffers {
            return of_volume("from-buffers", "it applies to disks only");
        }
        let size = volume.capacity.unwrap_or(self.size);
        if size > self.size {
            return of_volume("capacity", &format!("it has to be at most the drive's size, {}", self.size));
        }
        if self.fast_area.is_some_and(|area| area.always.is_some_and(|always| always > area.size)) {
            return Err(Wrong::at(&["flash", &volume.drive, "fast-area", "always"], "it has to be at most size"));
        }
        self.check().map_err(|(key, message)| Wrong::at(&["flash", &volume.drive, key], message))?;
        Ok(self.drive(size, volume))
    }

    /// Holds keys to others; gives the one that is wrong, and why.
    fn check(&self) -> Result<(), (&'static str, String)> {
        if self.units < self.channels {
            return Err(("channels", "it has to be at most units".to_owned()));
        }
        // With less a write would wait for seconds of copying: 500 bytes for each.
        let least = (self.size.0 / 1000).max(u64::from(self.units) * self.page.0);
        if self.spare.0 < least {
            let message = "it has to be at least a thousandth of size, and one page per unit:";
            return Err(("spare", format!("{message} {}", Bytes(least))));
        }
        if self.protected && self.buffer.is_none() {
            return Err(("protected", "it needs buffer too".to_owned()));
        }
        Ok(())
    }

    /// How its commands wait, where something holds them back.
    pub(super) fn queue(&self) -> Option<Queue> {
        self.outstanding.map(|outstanding| Queue { outstanding, order: Order::Fcfs, merge: 0 })
    }

    /// With so much of it in use; the rest is spare.
    fn drive(&self, size: Bytes, volume: &VolumeKeys) -> FlashDrive {
        // What the volume does not use is spare, and free whatever it does.
        let unused = self.size.0 - size.0;
        let fast_area = |area: FastArea| {
            let always = Some(Bytes(area.always.unwrap_or(area.size).0 + unused));
            FastArea { always, ..area }
        };
        FlashDrive {
            size,
            spare: Bytes(self.spare.0 + unused),
            array: Array {
                units: self.units,
                channels: self.channels,
                page: self.page,
                read_ns: self.read.0,
                read_spread: self.read_spread,
                retry: self.retry,
                program_ns: self.program.0,
                program_spread: self.program_spread,
                channel_ns_per_byte: 1e9 / self.channel_rate.0,
                suspend_ns: self.suspend.0,
                erase: self.erase,
            },
            command_ns: [self.read_command.0, self.write_command.0],
            delay_ns: [self.read_delay.0, self.write_delay.0],
            scattered_write_ns: self.scattered_write.0,
            buffer: self.buffer.filter(|_| volume.write_cache != Some(false)),
            is_protected: self.protected,
            fast_area: self.fast_area.map(fast_area),
            mapping: self.mapping,
            read_ahead: self.read_ahead,
            trim: self.trim,
            jitter_ns: self.jitter.0 as f64,
            checkpoint: self.checkpoint,
            collection: self.collection,
            state: volume.state.unwrap_or(State::Fresh),
        }
    }
}
