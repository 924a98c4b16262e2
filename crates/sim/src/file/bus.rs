//! The keys of a bus.

use super::Said;
use crate::bus::{Bus, Phases};
use halfpower_model::{Bytes, BytesPerSecond, Nanoseconds};
use serde::Deserialize;

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct BusKeys {
    /// Bytes a second while it moves bytes, either way.
    pub(super) rate: Option<Said<BytesPerSecond>>,
    /// The same of reads.
    pub(super) read_rate: Option<Said<BytesPerSecond>>,
    /// The same of writes.
    pub(super) write_rate: Option<Said<BytesPerSecond>>,
    /// Time to take it: a command, and each burst.
    #[serde(default)]
    pub(super) arbitration: Said<Nanoseconds>,
    /// Time until the device answers: a command.
    #[serde(default)]
    pub(super) selection: Said<Nanoseconds>,
    /// Time to say who speaks: a command.
    #[serde(default)]
    pub(super) message_out: Said<Nanoseconds>,
    /// Time of the command's own bytes.
    #[serde(default)]
    pub(super) command: Said<Nanoseconds>,
    /// Time to say whose bytes come: each burst.
    #[serde(default)]
    pub(super) message_in: Said<Nanoseconds>,
    /// Time to say that all is done: a transfer.
    #[serde(default)]
    pub(super) message_end: Said<Nanoseconds>,
    /// Time to say how it went: a transfer.
    #[serde(default)]
    pub(super) status: Said<Nanoseconds>,
    /// Bytes after which it is given up and taken again; none: a transfer is one burst.
    pub(super) burst: Option<Said<Bytes>>,
    /// A device that has its buffer's bytes within so long keeps the bus for the time that it needs itself; none: never.
    pub(super) stay: Option<Said<Nanoseconds>>,
    /// From one end to the other.
    #[serde(default)]
    pub(super) latency: Said<Nanoseconds>,
    /// Whether a processor moves the bytes.
    #[serde(default)]
    pub(super) programmed: bool,
    /// Whether each disk has one of its own: a cable from it to its controller.
    #[serde(default)]
    pub(super) each_disk: bool,
}

impl BusKeys {
    /// None without rates, or with bursts of nothing.
    pub(super) fn bus(&self, name: &str) -> Option<Bus> {
        let read = self.read_rate.or(self.rate)?;
        let write = self.write_rate.or(self.rate)?;
        if read.0.0 <= 0.0 || write.0.0 <= 0.0 || self.burst.is_some_and(|burst| burst.0.0 == 0) {
            return None;
        }
        Some(Bus {
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
