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
/// A bus.
#[derive(Default)]
pub Bus {
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

impl Bus {
    /// Bus time of a command.
    pub fn command_ns(&self) -> u64 {
        let Bus { arbitration, selection, message_out, command, .. } = *self;
        [arbitration, selection, message_out, command].iter().map(|phase| phase.0).sum()
    }

    /// Bus time of a transfer whose bytes take so long.
    pub fn transfer(&self, bytes: u64, bytes_ns: u64) -> Transfer {
        let Bus { arbitration, message_in, message_end, status, burst, .. } = *self;
        let bursts = burst.map_or(1, |burst| bytes.div_ceil(burst.0).max(1));
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
        let Bus { arbitration, selection, message_out, command, message_in, message_end, status, .. } = *bus;
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

    #[test]
    fn time_goes_by_phase_and_small_bursts_waste_it() {
        let [arbitration, selection, message_out, command, message_in, status, message_end] =
            [1, 2, 4, 8, 16, 32, 64].map(|us| Nanoseconds(us * 1000));
        let phases = Bus { arbitration, selection, message_out, command, message_in, ..Bus::default() };
        let of_burst = |bytes| Bus { message_end, status, burst: Some(Bytes(bytes)), ..phases.clone() };
        let bus = of_burst(4096);
        assert_eq!(bus.command_ns(), 15_000);
        // Three bursts of 9000 bytes: each taken and announced.
        let read = bus.transfer(9000, 225_000);
        assert_eq!(read.ns, 3 * 17_000 + 225_000 + 96_000);
        assert_eq!(bus.transfer(4096, 204_800).ns, 17_000 + 204_800 + 96_000);
        let mut tally = Tally::default();
        tally.command();
        tally.transfer(&read, Direction::Read);
        let phases = tally.phases(&bus);
        assert_eq!(phases.iter().map(|(_, ns)| ns).sum::<u64>(), bus.command_ns() + read.ns);
        assert_eq!((phases[0], phases[1]), (("arbitration", 4_000), ("selection", 2_000)));
        let ns = [1024, 4096, 65_536].map(|burst| of_burst(burst).transfer(65_536, 0).ns);
        assert!(ns.is_sorted_by(|one, next| one > next), "{ns:?}");
    }
}
