//! A bus, which one command or transfer occupies at a time.
//!
//! A command has arbitration, selection, message and command phases. A transfer arbitrates again for each burst, sends a
//! message, moves the bytes at the rate of their direction, and ends with a status, so small bursts waste bus time. A link is
//! a bus with a latency, which delays but does not occupy. Cycles and priorities are not modelled: first come, first served.
//! Sources: phases as in ANSI X3.131 (SCSI-2) and as a bus analyser counts them in Riedel, van Ingen and Gray, "Sequential
//! I/O on Windows NT 4.0" (1997), table 4.

use crate::bounds::{Long, Rate, Short, Size};
use crate::command::Direction;
use crate::table::table;

table! {
/// The keys of a bus.
#[derive(Default)]
pub BusKeys {
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
    /// propagation time
    latency: Long = default,
    /// the CPU moves the bytes (PIO)
    programmed: bool = default,
    /// each disk has its own, such as a cable to the controller
    each_disk: bool = default,
}
}

/// A bus.
#[derive(Clone, Debug, PartialEq)]
pub struct Bus {
    /// Its name.
    pub name: String,
    /// Nanoseconds per byte of reads and of writes, without overhead.
    pub ns_per_byte: [f64; 2],
    /// What else its file says.
    pub keys: BusKeys,
}

/// Nanoseconds of bytes at the rates of reads and writes; trims and flushes move none.
pub(crate) fn bytes_ns(ns_per_byte: [f64; 2], bytes: u64, direction: Direction) -> u64 {
    (bytes as f64 * ns_per_byte.get(direction as usize).unwrap_or(&0.0) + 0.5) as u64
}

impl Bus {
    /// Bus time of a command.
    pub fn command_ns(&self) -> u64 {
        let BusKeys { arbitration, selection, message_out, command, .. } = self.keys;
        [arbitration, selection, message_out, command].iter().map(|phase| phase.0).sum()
    }

    /// Bus time of a transfer.
    pub fn transfer(&self, bytes: u64, direction: Direction) -> Transfer {
        let BusKeys { arbitration, message_in, message_end, status, burst, .. } = self.keys;
        let bursts = burst.map_or(1, |burst| bytes.div_ceil(burst.0).max(1));
        let bytes_ns = bytes_ns(self.ns_per_byte, bytes, direction);
        let ns = bursts * (arbitration.0 + message_in.0) + bytes_ns + message_end.0 + status.0;
        Transfer { ns, bursts, bytes_ns }
    }
}

/// Bus time of a transfer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Transfer {
    /// Nanoseconds in all.
    pub ns: u64,
    /// How often a bus is taken for it.
    pub bursts: u64,
    /// Nanoseconds in which bytes move.
    pub bytes_ns: u64,
}

/// What a bus did: enough to tell its time by phase.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    commands: u64,
    transfers: u64,
    bursts: u64,
    bytes_ns: [u64; 4],
}

impl Tally {
    /// A command.
    pub fn command(&mut self) {
        self.commands += 1;
    }

    /// A transfer.
    pub fn transfer(&mut self, transfer: &Transfer, direction: Direction) {
        self.transfers += 1;
        self.bursts += transfer.bursts;
        self.bytes_ns[direction as usize] += transfer.bytes_ns;
    }

    /// Nanoseconds by phase, in the order in which they come.
    pub fn phases(&self, bus: &Bus) -> [(&'static str, u64); 8] {
        let BusKeys { arbitration, selection, message_out, command, message_in, message_end, status, .. } = bus.keys;
        [
            ("arbitration", (self.commands + self.bursts) * arbitration.0),
            ("selection", self.commands * selection.0),
            ("message out", self.commands * message_out.0),
            ("command", self.commands * command.0),
            ("message in", self.bursts * message_in.0 + self.transfers * message_end.0),
            ("data in", self.bytes_ns[Direction::Read as usize]),
            ("data out", self.bytes_ns[Direction::Write as usize]),
            ("status", self.transfers * status.0),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use halfpower_model::{Bytes, Nanoseconds};

    fn scsi() -> Bus {
        let [arbitration, selection, message_out, command, message_in, status, message_end] =
            [1, 2, 4, 8, 16, 32, 64].map(|us| Nanoseconds(us * 1000));
        let burst = Some(Bytes(4096));
        let phases = BusKeys { arbitration, selection, message_out, command, message_in, ..BusKeys::default() };
        let keys = BusKeys { message_end, status, burst, ..phases };
        Bus { name: "scsi".to_owned(), ns_per_byte: [25.0, 50.0], keys }
    }

    #[test]
    fn time_goes_by_phase() {
        let bus = scsi();
        assert_eq!(bus.command_ns(), 15_000);
        // Three bursts of 9000 bytes: each taken and announced.
        assert_eq!(bus.transfer(9000, Direction::Read).ns, 3 * 17_000 + 225_000 + 96_000);
        assert_eq!(bus.transfer(4096, Direction::Write).ns, 17_000 + 204_800 + 96_000);
        let mut tally = Tally::default();
        tally.command();
        tally.transfer(&bus.transfer(9000, Direction::Read), Direction::Read);
        let phases = tally.phases(&bus);
        let all: u64 = phases.iter().map(|(_, ns)| ns).sum();
        assert_eq!(all, bus.command_ns() + bus.transfer(9000, Direction::Read).ns);
        assert_eq!((phases[0], phases[1]), (("arbitration", 4_000), ("selection", 2_000)));
    }
    #[test]
    fn small_bursts_waste_a_bus() {
        let ns = [1024, 4096, 65_536].map(|burst| {
            let keys = BusKeys { burst: Some(Bytes(burst)), ..scsi().keys };
            Bus { keys, ..scsi() }.transfer(65_536, Direction::Read).ns
        });
        assert!(ns.is_sorted_by(|one, next| one > next), "{ns:?}");
    }
}
