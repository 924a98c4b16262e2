//! The keys of a flash drive.

use super::bounds::{Blocks, Count, Day, MOST_BYTES, Number, Rate, Share, Short, Size, Time};
use super::error::Wrong;
use super::table::table;
use super::volume::VolumeKeys;
use crate::controller::{Order, Queue};
use crate::flash::fast_area::FastArea;
use crate::flash::heat::Heat;
use crate::flash::read_ahead::ReadAhead;
use crate::flash::units::Array;
use crate::flash::{FlashDrive, Trim};
use halfpower_model::Bytes;

table! { FlashKeys {
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
    /// to program a page, its share of an erasure included. units × page / program is the write throughput, unless the channels
    /// limit it
    program: Short,
    /// bytes per second of a channel: reads, programs, and garbage collection twice
    channel_rate: Rate,
    /// until a programming unit lets a read go first
    suspend: Short = default,
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
    /// capacity of the write buffer; without it a write ends in flash
    buffer: Option<Size<512, { 1 << 40 }>>,
    /// the buffer survives a power loss: a flush does nothing, and a write through is buffered; needs `buffer`
    protected: bool = default,
    /// bytes of the mapping table programmed with each write that continues none
    mapping: Size<0, { 1 << 24 }> = default,
    /// read-ahead; without it: none
    read_ahead: Option<ReadAheadKeys>,
    /// area of faster (SLC) flash; without it: none
    fast_area: Option<FastAreaKeys>,
    /// trims; without it they are rejected
    trim: Option<TrimKeys>,
    /// thermal throttling; without it: never
    heat: Option<HeatKeys>,
} }

table! { TrimKeys {
    /// controller time of a trim, one after another
    command: Short,
    /// trimmed bytes per second, in addition
    rate: Rate,
} }

table! { ReadAheadKeys {
    /// read-ahead of a stream
    size: Size<512, { 1 << 26 }>,
    /// number of streams that it recognises
    streams: Count<1, 4096>,
} }

table! { FastAreaKeys {
    /// its capacity on an empty drive
    size: Size<512, MOST_BYTES>,
    /// part of it that a full drive keeps, at most `size`; the rest shrinks with the free space; without it: all
    always: Option<Size<0, MOST_BYTES>>,
    /// write throughput into it
    rate: Rate,
    /// throughput out of it while the drive is idle
    copy_rate: Rate,
    /// idle time before that begins
    rest: Day,
} }

table! { HeatKeys {
    /// write throughput that the drive sustains forever
    sustained: Rate,
    /// bytes read that heat as much as one byte written
    reads_per_write: Number<1, 1000>,
    /// time for two thirds of a temperature change
    time_constant: Time<1_000_000, 86_400_000_000_000>,
    /// write throughput while it is hot
    throttled: Rate,
    /// share of `sustained` to which its temperature must fall
    until: Share,
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
        let size = volume.capacity.map_or(self.size.0, |capacity| capacity.0);
        if size > self.size.0 {
            return of_volume("capacity", &format!("it has to be at most the drive's size, {}", self.size.0));
        }
        if self.fast_area.as_ref().is_some_and(|area| area.always.is_some_and(|always| always.0 > area.size.0)) {
            return Err(Wrong::at(&["flash", &volume.drive, "fast-area", "always"], "it has to be at most size"));
        }
        self.check().map_err(|(key, message)| Wrong::at(&["flash", &volume.drive, key], message))?;
        Ok(self.drive(size, volume))
    }

    /// Holds keys to others; gives the one that is wrong, and why.
    fn check(&self) -> Result<(), (&'static str, String)> {
        if self.units.0 < self.channels.0 {
            return Err(("channels", "it has to be at most units".to_owned()));
        }
        // With less a write would wait for seconds of copying: 500 bytes for each.
        let least = (self.size.0.0 / 1000).max(u64::from(self.units.0) * self.page.0.0);
        if self.spare.0.0 < least {
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
        self.outstanding.map(|outstanding| Queue { outstanding: outstanding.0, order: Order::Fcfs, merge: 0 })
    }

    /// With so much of it in use; the rest is spare.
    fn drive(&self, size: Bytes, volume: &VolumeKeys) -> FlashDrive {
        let per_byte = |rate: Rate| 1e9 / rate.0.0;
        FlashDrive {
            size,
            spare: Bytes(self.spare.0.0 + self.size.0.0 - size.0),
            array: Array {
                units: self.units.0,
                channels: self.channels.0,
                page: self.page.0,
                read_ns: self.read.0.0,
                program_ns: self.program.0.0,
                channel_ns_per_byte: per_byte(self.channel_rate),
                suspend_ns: self.suspend.0.0,
            },
            command_ns: [self.read_command.0.0, self.write_command.0.0],
            delay_ns: [self.read_delay.0.0, self.write_delay.0.0],
            scattered_write_ns: self.scattered_write.0.0,
            buffer: self.buffer.map(|buffer| buffer.0).filter(|_| volume.write_cache != Some(false)),
            is_protected: self.protected,
            fast_area: self.fast_area.as_ref().map(|keys| FastArea {
                size: keys.size.0,
                // What the volume does not use is free whatever it does.
                always: Bytes(keys.always.map_or(keys.size.0, |always| always.0).0 + self.size.0.0 - size.0),
                ns_per_byte: per_byte(keys.rate),
                copy_ns_per_byte: per_byte(keys.copy_rate),
                rest_ns: keys.rest.0.0,
            }),
            mapping: self.mapping.0,
            read_ahead: self
                .read_ahead
                .as_ref()
                .map(|keys| ReadAhead { size: keys.size.0, streams: keys.streams.0 as usize }),
            trim: self
                .trim
                .as_ref()
                .map(|keys| Trim { command_ns: keys.command.0.0, ns_per_byte: per_byte(keys.rate) }),
            heat: self.heat.as_ref().filter(|_| volume.cooled == Some(false)).map(|keys| Heat {
                sustained: keys.sustained.0.0,
                reads_per_write: keys.reads_per_write.0,
                time_constant_ns: keys.time_constant.0.0,
                throttled: keys.throttled.0.0,
                until: keys.until.0,
            }),
            state: volume.state.unwrap_or_default().0,
        }
    }
}
