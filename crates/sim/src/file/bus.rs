//! The keys of a bus.

use super::bounds::{Long, Rate, Short, Size};
use super::error::Wrong;
use super::table::table;
use crate::bus::{Bus, Phases};

table! { BusKeys {
    /// bytes per second while it transfers, both ways; this, or the next two
    rate: Option<Rate>,
    /// for reads
    read_rate: Option<Rate>,
    /// for writes
    write_rate: Option<Rate>,
    /// to take the bus, per command and per burst
    arbitration: Short = default,
    /// until the device answers, per command
    selection: Short = default,
    /// initiator's messages, per command
    message_out: Short = default,
    /// the command's bytes
    command: Short = default,
    /// target's messages, per burst
    message_in: Short = default,
    /// final message, per transfer
    message_end: Short = default,
    /// status phase, per transfer
    status: Short = default,
    /// bytes after which the bus is released and taken again; without it: one burst per transfer
    burst: Option<Size<4, { 1 << 30 }>>,
    /// a device whose buffer can deliver within this time keeps the bus and waits; without it: never
    stay: Option<Short>,
    /// propagation time
    latency: Long = default,
    /// the CPU moves the bytes (PIO)
    programmed: bool = default,
    /// each disk has its own, such as a cable to the controller
    each_disk: bool = default,
} }

impl BusKeys {
    /// The bus of a name.
    ///
    /// # Errors
    /// Without rates, or with two of a direction.
    pub(super) fn bus(&self, name: &str) -> Result<Bus, Wrong> {
        if self.rate.is_some() && (self.read_rate.is_some() || self.write_rate.is_some()) {
            let message = "it excludes read-rate and write-rate; write it, or those two";
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
