//! The keys of a flash drive.

use super::volume::VolumeKeys;
use super::{MachineError, Said};
use crate::controller::{Order, Queue};
use crate::flash::ahead::ReadAhead;
use crate::flash::drain::FastArea;
use crate::flash::heat::Heat;
use crate::flash::space::State;
use crate::flash::units::Array;
use crate::flash::{FlashDrive, Trim};
use halfpower_model::{Bytes, BytesPerSecond, Nanoseconds};
use serde::Deserialize;
use std::str::FromStr;

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct FlashKeys {
    /// What it offers.
    pub(super) size: Said<Bytes>,
    /// Flash beside that.
    pub(super) spare: Said<Bytes>,
    /// Planes that read and program independently.
    pub(super) units: u32,
    /// Channels, which units have in turn.
    pub(super) channels: u32,
    /// Bytes that a unit reads or programs at once.
    pub(super) page: Said<Bytes>,
    /// Time of a unit to read a page.
    pub(super) read: Said<Nanoseconds>,
    /// Time to program one, with its share of an erasure.
    pub(super) program: Said<Nanoseconds>,
    /// Bytes a second of a channel.
    pub(super) channel_rate: Said<BytesPerSecond>,
    /// Until a unit that programs lets a read go before.
    #[serde(default)]
    pub(super) suspend: Said<Nanoseconds>,
    /// How many commands may be at it at once; none: all.
    pub(super) outstanding: Option<u32>,
    /// The controller's time for a read, one after another.
    #[serde(default)]
    pub(super) read_command: Said<Nanoseconds>,
    /// The same of a write.
    #[serde(default)]
    pub(super) write_command: Said<Nanoseconds>,
    /// What a read takes beside, any number of them at once.
    #[serde(default)]
    pub(super) read_delay: Said<Nanoseconds>,
    /// The same of a write.
    #[serde(default)]
    pub(super) write_delay: Said<Nanoseconds>,
    /// What a write that continues none takes on top.
    #[serde(default)]
    pub(super) scattered_write: Said<Nanoseconds>,
    /// What the buffer for writes holds; none: a write is done when it is in flash.
    pub(super) buffer: Option<Said<Bytes>>,
    /// True: what the buffer holds outlasts a loss of power, and a flush has nothing to do.
    #[serde(default)]
    pub(super) protected: bool,
    /// Bytes of the mapping table that are programmed with each write that continues none.
    #[serde(default)]
    pub(super) mapping: Said<Bytes>,
    /// How far it reads ahead; none: it does not.
    pub(super) read_ahead: Option<ReadAheadKeys>,
    /// Flash that is written faster, before the rest; none: there is none.
    pub(super) fast_area: Option<FastAreaKeys>,
    /// What giving blocks back costs its controller; none: it does not take trims.
    pub(super) trim: Option<TrimKeys>,
    /// What it does when it is hot; none: it stays cool.
    pub(super) heat: Option<HeatKeys>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TrimKeys {
    /// Time a command, one after another.
    pub(super) command: Said<Nanoseconds>,
    /// Bytes of addresses a second besides.
    pub(super) rate: Said<BytesPerSecond>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ReadAheadKeys {
    /// Bytes beyond a stream.
    pub(super) size: Said<Bytes>,
    /// Streams at the most.
    pub(super) streams: usize,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct FastAreaKeys {
    /// What it holds.
    pub(super) size: Said<Bytes>,
    /// Bytes a second into it.
    pub(super) rate: Said<BytesPerSecond>,
    /// Bytes a second out of it, while the drive has nothing else to do.
    pub(super) copy_rate: Said<BytesPerSecond>,
    /// How long it has had nothing to do when that begins.
    pub(super) rest: Said<Nanoseconds>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct HeatKeys {
    /// Bytes a second of writes that it bears for ever.
    pub(super) sustained: Said<BytesPerSecond>,
    /// How many bytes read warm it as one that is written does.
    pub(super) reads_per_write: f64,
    /// Time in which it is two thirds of the way to another temperature.
    pub(super) time_constant: Said<Nanoseconds>,
    /// Bytes a second of writes that pass while it is hot.
    pub(super) throttled: Said<BytesPerSecond>,
    /// The part of `sustained` to which it has to cool, 0 to 1.
    pub(super) until: f64,
}

impl FromStr for State {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        super::word("state of flash", &State::WORDS, text)
    }
}

impl FlashKeys {
    /// What is wrong with a figure, if one is.
    fn mistake(&self, capacity: u64) -> Option<&'static str> {
        let is_blocks = |bytes: u64| bytes > 0 && bytes.is_multiple_of(512);
        if !is_blocks(self.size.0.0) || !is_blocks(self.page.0.0) {
            return Some("its size and its page are of whole blocks of 512 bytes");
        }
        if !is_blocks(capacity) || capacity > self.size.0.0 {
            return Some("a volume's capacity is of whole blocks of 512 bytes, and no more than its size");
        }
        if self.spare.0.0 == 0 {
            return Some("it needs spare flash: without, nothing could be overwritten");
        }
        if self.channels == 0 || self.units < self.channels {
            return Some("it has a channel at least, and a unit on each");
        }
        if self.trim.is_some_and(|keys| !(1.0..f64::INFINITY).contains(&keys.rate.0.0)) {
            return Some("what it trims a second is a byte at least: trim.rate");
        }
        if self.outstanding == Some(0) {
            return Some("it takes a command at least: outstanding");
        }
        if self.read_ahead.is_some_and(|keys| keys.streams == 0) || self.buffer.is_some_and(|buffer| buffer.0.0 == 0) {
            return Some(
                "a buffer and streams to read ahead of are at least one; leave the key out where there is none",
            );
        }
        let is_heat = |keys: HeatKeys| {
            keys.reads_per_write > 0.0 && (0.0..=1.0).contains(&keys.until) && keys.time_constant.0.0 > 0
        };
        (!self.heat.is_none_or(is_heat))
            .then_some("its reads-per-write and time-constant are above nought, and until lies between 0 and 1")
    }

    /// What a volume uses it as.
    ///
    /// # Errors
    /// When a figure cannot be.
    pub(super) fn volume(&self, machine: &str, name: &str, volume: &VolumeKeys) -> Result<FlashDrive, MachineError> {
        let figure = |part: String, message: &str| MachineError::Figure {
            machine: machine.to_owned(),
            part,
            message: message.to_owned(),
        };
        if volume.from_buffers {
            return Err(figure(format!("volume {name}"), "from-buffers is of drives with an arm"));
        }
        let size = volume.capacity.map_or(self.size.0, |capacity| capacity.0);
        match self.mistake(size.0) {
            Some(mistake) => Err(figure(format!("flash {}", volume.drive), mistake)),
            None => Ok(self.drive(size, volume)),
        }
    }

    /// How its commands wait, where something holds them back.
    pub(super) fn queue(&self) -> Option<Queue> {
        self.outstanding.map(|outstanding| Queue { outstanding, order: Order::Fcfs })
    }

    /// With so much of it in use; the rest is spare.
    fn drive(&self, size: Bytes, volume: &VolumeKeys) -> FlashDrive {
        let per_byte = |rate: Said<BytesPerSecond>| 1e9 / rate.0.0;
        FlashDrive {
            size,
            spare: Bytes(self.spare.0.0 + self.size.0.0 - size.0),
            array: Array {
                units: self.units,
                channels: self.channels,
                page: self.page.0,
                read_ns: self.read.0.0,
                program_ns: self.program.0.0,
                channel_ns_per_byte: per_byte(self.channel_rate),
                suspend_ns: self.suspend.0.0,
            },
            command_ns: [self.read_command.0.0, self.write_command.0.0],
            delay_ns: [self.read_delay.0.0, self.write_delay.0.0],
            scattered_write_ns: self.scattered_write.0.0,
            buffer: self.buffer.map(|buffer| buffer.0).filter(|_| volume.write_cache),
            is_protected: self.protected,
            fast_area: self.fast_area.map(|keys| FastArea {
                size: keys.size.0,
                ns_per_byte: per_byte(keys.rate),
                copy_ns_per_byte: per_byte(keys.copy_rate),
                rest_ns: keys.rest.0.0,
            }),
            mapping: self.mapping.0,
            read_ahead: self.read_ahead.map(|keys| ReadAhead { size: keys.size.0, streams: keys.streams }),
            trim: self.trim.map(|keys| Trim { command_ns: keys.command.0.0, ns_per_byte: per_byte(keys.rate) }),
            heat: self.heat.filter(|_| volume.cooled == Some(false)).map(|keys| Heat {
                sustained: keys.sustained.0.0,
                reads_per_write: keys.reads_per_write,
                time_constant_ns: keys.time_constant.0.0,
                throttled: keys.throttled.0.0,
                until: keys.until,
            }),
            state: volume.state.unwrap_or_default().0,
        }
    }
}
