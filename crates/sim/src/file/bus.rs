//! The keys of a bus.

use super::bounds::{Long, Rate, Short, Size};
use super::error::Wrong;
use crate::bus::{Bus, Phases};
use serde::Deserialize;

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct BusKeys {
    /// Bytes a second while it moves bytes, either way.
    pub(super) rate: Option<Rate>,
    /// The same of reads.
    pub(super) read_rate: Option<Rate>,
    /// The same of writes.
    pub(super) write_rate: Option<Rate>,
    /// Time to take it: a command, and each burst.
    #[serde(default)]
    pub(super) arbitration: Short,
    /// Time until the device answers: a command.
    #[serde(default)]
    pub(super) selection: Short,
    /// Time to say who speaks: a command.
    #[serde(default)]
    pub(super) message_out: Short,
    /// Time of the command's own bytes.
    #[serde(default)]
    pub(super) command: Short,
    /// Time to say whose bytes come: each burst.
    #[serde(default)]
    pub(super) message_in: Short,
    /// Time to say that all is done: a transfer.
    #[serde(default)]
    pub(super) message_end: Short,
    /// Time to say how it went: a transfer.
    #[serde(default)]
    pub(super) status: Short,
    /// Bytes after which it is given up and taken again; none: a transfer is one burst.
    pub(super) burst: Option<Size<4, { 1 << 30 }>>,
    /// A device that has its buffer's bytes within so long keeps the bus for the time that it needs itself; none: never.
    pub(super) stay: Option<Short>,
    /// From one end to the other.
    #[serde(default)]
    pub(super) latency: Long,
    /// Whether a processor moves the bytes.
    #[serde(default)]
    pub(super) programmed: bool,
    /// Whether each disk has one of its own: a cable from it to its controller.
    #[serde(default)]
    pub(super) each_disk: bool,
}

impl BusKeys {
    /// The bus of a name.
    ///
    /// # Errors
    /// Without rates, or with two of a direction.
    pub(super) fn bus(&self, name: &str) -> Result<Bus, Wrong> {
        if self.rate.is_some() && (self.read_rate.is_some() || self.write_rate.is_some()) {
            let message = "it is of both directions, and read-rate and write-rate are of one each; say it or those two";
            return Err(Wrong::at(&["bus", name, "rate"], message));
        }
        let (Some(read), Some(write)) = (self.read_rate.or(self.rate), self.write_rate.or(self.rate)) else {
            return Err(Wrong::at(&["bus", name], "it needs rate, or read-rate and write-rate"));
        };
        Ok(Bus {
            name: name.to_owned(),
            read_ns_per_byte: 1e9 / read.0.0,
            write_ns_per_byte: 1e9 / write.0.0,
            phases: Phases {
                arbitration_ns: self.arbitration.0.0,
                selection_ns: self.selection.0.0,
                message_out_ns: self.message_out.0.0,
                command_ns: self.command.0.0,
                message_in_ns: self.message_in.0.0,
                message_end_ns: self.message_end.0.0,
                status_ns: self.status.0.0,
            },
            burst: self.burst.map(|burst| burst.0),
            stay_ns: self.stay.map(|stay| stay.0.0),
            latency_ns: self.latency.0.0,
            programmed: self.programmed,
        })
    }
}
