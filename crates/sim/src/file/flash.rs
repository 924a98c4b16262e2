//! The keys of a flash drive.

use super::bounds::{Blocks, Count, Day, MOST_BYTES, Named, Number, Rate, Share, Short, Size, Time};
use super::error::Wrong;
use super::volume::VolumeKeys;
use crate::controller::{Order, Queue};
use crate::flash::ahead::ReadAhead;
use crate::flash::drain::FastArea;
use crate::flash::heat::Heat;
use crate::flash::space::State;
use crate::flash::units::Array;
use crate::flash::{FlashDrive, Trim};
use halfpower_model::Bytes;
use serde::Deserialize;

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct FlashKeys {
    /// What it offers.
    pub(super) size: Blocks<512, MOST_BYTES>,
    /// Flash beside that.
    pub(super) spare: Size<512, MOST_BYTES>,
    /// Planes that read and program independently.
    pub(super) units: Count<1, 16_384>,
    /// Channels, which units have in turn.
    pub(super) channels: Count<1, 1024>,
    /// Bytes that a unit reads or programs at once.
    pub(super) page: Blocks<512, { 1 << 24 }>,
    /// Time of a unit to read a page.
    pub(super) read: Short,
    /// Time to program one, with its share of an erasure.
    pub(super) program: Short,
    /// Bytes a second of a channel.
    pub(super) channel_rate: Rate,
    /// Until a unit that programs lets a read go before.
    #[serde(default)]
    pub(super) suspend: Short,
    /// How many commands may be at it at once; none: all.
    pub(super) outstanding: Option<Count<1, 65_536>>,
    /// The controller's time for a read, one after another.
    #[serde(default)]
    pub(super) read_command: Short,
    /// The same of a write.
    #[serde(default)]
    pub(super) write_command: Short,
    /// What a read takes beside, any number of them at once.
    #[serde(default)]
    pub(super) read_delay: Short,
    /// The same of a write.
    #[serde(default)]
    pub(super) write_delay: Short,
    /// What a write that continues none takes on top.
    #[serde(default)]
    pub(super) scattered_write: Short,
    /// What the buffer for writes holds; none: a write is done when it is in flash.
    pub(super) buffer: Option<Size<512, { 1 << 40 }>>,
    /// True: what the buffer holds outlasts a loss of power, and a flush has nothing to do.
    #[serde(default)]
    pub(super) protected: bool,
    /// Bytes of the mapping table that are programmed with each write that continues none.
    #[serde(default)]
    pub(super) mapping: Size<0, { 1 << 24 }>,
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
    pub(super) command: Short,
    /// Bytes of addresses a second besides.
    pub(super) rate: Rate,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ReadAheadKeys {
    /// Bytes beyond a stream.
    pub(super) size: Size<512, { 1 << 26 }>,
    /// Streams at the most.
    pub(super) streams: Count<1, 4096>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct FastAreaKeys {
    /// What it holds where the whole drive is free.
    pub(super) size: Size<512, MOST_BYTES>,
    /// What of that there always is; none: all.
    pub(super) always: Option<Size<0, MOST_BYTES>>,
    /// Bytes a second into it.
    pub(super) rate: Rate,
    /// Bytes a second out of it, while the drive has nothing else to do.
    pub(super) copy_rate: Rate,
    /// How long it has had nothing to do when that begins.
    pub(super) rest: Day,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct HeatKeys {
    /// Bytes a second of writes that it bears for ever.
    pub(super) sustained: Rate,
    /// How many bytes read warm it as one that is written does.
    pub(super) reads_per_write: Number<1, 1000>,
    /// Time in which it is two thirds of the way to another temperature.
    pub(super) time_constant: Time<1_000_000, 86_400_000_000_000>,
    /// Bytes a second of writes that pass while it is hot.
    pub(super) throttled: Rate,
    /// The part of `sustained` to which it has to cool, 0 to 1.
    pub(super) until: Share,
}

impl Named for State {
    const WORDS: &'static [(&'static str, Self)] = &State::WORDS;
}

impl FlashKeys {
    /// What a volume uses it as.
    ///
    /// # Errors
    /// When figures of both contradict each other.
    pub(super) fn volume(&self, name: &str, volume: &VolumeKeys) -> Result<FlashDrive, Wrong> {
        let of_volume = |key, message: &str| Err(Wrong::at(&["volume", name, key], message));
        if volume.from_buffers {
            return of_volume("from-buffers", "it is of drives with an arm");
        }
        let size = volume.capacity.map_or(self.size.0, |capacity| capacity.0);
        if size > self.size.0 {
            return of_volume("capacity", &format!("it has to be no more than the drive's size, {}", self.size.0));
        }
        if self.fast_area.is_some_and(|area| area.always.is_some_and(|always| always.0 > area.size.0)) {
            return Err(Wrong::at(
                &["flash", &volume.drive, "fast-area", "always"],
                "it has to be no more than the fast area's size",
            ));
        }
        self.check().map_err(|(key, message)| Wrong::at(&["flash", &volume.drive, key], message))?;
        Ok(self.drive(size, volume))
    }

    /// Holds keys to others; gives the one that is wrong, and why.
    fn check(&self) -> Result<(), (&'static str, String)> {
        if self.units.0 < self.channels.0 {
            return Err(("channels", "it has to be no more than units: each has one at least".to_owned()));
        }
        // With less a write would wait for seconds of copying: 500 bytes for each.
        let least = (self.size.0.0 / 1000).max(u64::from(self.units.0) * self.page.0.0);
        if self.spare.0.0 < least {
            let message = "it has to be a thousandth of size at the least, and a page for each of units:";
            return Err(("spare", format!("{message} {}", Bytes(least))));
        }
        if self.protected && self.buffer.is_none() {
            return Err(("protected", "it is of what the buffer holds; say buffer too, or leave it out".to_owned()));
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
            buffer: self.buffer.map(|buffer| buffer.0).filter(|_| volume.write_cache),
            is_protected: self.protected,
            fast_area: self.fast_area.map(|keys| FastArea {
                size: keys.size.0,
                // What the volume does not use is free whatever it does.
                always: Bytes(keys.always.map_or(keys.size.0, |always| always.0).0 + self.size.0.0 - size.0),
                ns_per_byte: per_byte(keys.rate),
                copy_ns_per_byte: per_byte(keys.copy_rate),
                rest_ns: keys.rest.0.0,
            }),
            mapping: self.mapping.0,
            read_ahead: self.read_ahead.map(|keys| ReadAhead { size: keys.size.0, streams: keys.streams.0 as usize }),
            trim: self.trim.map(|keys| Trim { command_ns: keys.command.0.0, ns_per_byte: per_byte(keys.rate) }),
            heat: self.heat.filter(|_| volume.cooled == Some(false)).map(|keys| Heat {
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
