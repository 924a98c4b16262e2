//! The keys of a bus.

use super::Said;
use crate::machine::Bus;
use halfpower_model::{BytesPerSecond, Nanoseconds};
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
    /// Time that a command takes of it.
    #[serde(default)]
    pub(super) command: Said<Nanoseconds>,
    /// Time that a transfer takes of it beside its bytes.
    #[serde(default)]
    pub(super) transfer: Said<Nanoseconds>,
    /// Whether a processor moves the bytes.
    #[serde(default)]
    pub(super) programmed: bool,
}

impl BusKeys {
    /// None without rates.
    pub(super) fn bus(&self, name: &str) -> Option<Bus> {
        let read = self.read_rate.or(self.rate)?;
        let write = self.write_rate.or(self.rate)?;
        Some(Bus {
            name: name.to_owned(),
            read_ns_per_byte: 1e9 / read.0.0,
            write_ns_per_byte: 1e9 / write.0.0,
            command_ns: self.command.0.0,
            transfer_ns: self.transfer.0.0,
            programmed: self.programmed,
        })
    }
}
