//! A bus, which one command or transfer occupies at a time.
//!
//! A command has arbitration, selection, message and command phases. A transfer arbitrates again, sends its
//! messages, moves the bytes at the rate of their direction, and ends with a status. A link is a bus with a latency, which
//! delays but does not occupy. Cycles and priorities are not modelled: first come, first served.
//! Sources: phases as in ANSI X3.131 (SCSI-2) and as a bus analyser counts them in Riedel, van Ingen and Gray, "Sequential
//! I/O on Windows NT 4.0" (1997), table 4.

use crate::bounds::{Long, Rate, Short};
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
    /// to take the bus, per command and per transfer
    arbitration: Short = default,
    /// until the device answers, per command
    selection: Short = default,
    /// initiator's messages, per command
    message_out: Short = default,
    /// the command's bytes
    command: Short = default,
    /// target's messages, per transfer
    message_in: Short = default,
    /// status phase, per transfer
    status: Short = default,
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
    pub fn transfer_ns(&self, bytes_ns: u64) -> u64 {
        let Bus { arbitration, message_in, status, .. } = *self;
        arbitration.0 + message_in.0 + bytes_ns + status.0
    }
}

/// What a bus did: enough to tell its time by phase.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    commands: u64,
    transfers: [u64; 4],
    transfers_ns: [u64; 4],
}

impl Tally {
    /// A command.
    pub fn command(&mut self) {
        self.commands += 1;
    }

    /// A transfer of so many nanoseconds in all.
    pub fn transfer(&mut self, ns: u64, direction: Direction) {
        self.transfers[direction as usize] += 1;
        self.transfers_ns[direction as usize] += ns;
    }

    /// Nanoseconds by phase, in the order in which they come.
    pub fn phases(&self, bus: &Bus) -> [(&'static str, u64); 8] {
        let Bus { arbitration, selection, message_out, command, message_in, status, .. } = *bus;
        let transfers: u64 = self.transfers.iter().sum();
        let data = |direction| {
            let number = direction as usize;
            self.transfers_ns[number] - self.transfers[number] * bus.transfer_ns(0)
        };
        [
            ("arbitration", (self.commands + transfers) * arbitration.0),
            ("selection", self.commands * selection.0),
            ("message out", self.commands * message_out.0),
            ("command", self.commands * command.0),
            ("message in", transfers * message_in.0),
            ("data in", data(Direction::Read)),
            ("data out", data(Direction::Write)),
            ("status", transfers * status.0),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use halfpower_model::Nanoseconds;

    #[test]
    fn the_phases_add_up_to_the_time() {
        let [arbitration, selection, message_out, command, message_in, status] =
            [1, 2, 4, 8, 16, 32].map(|us| Nanoseconds(us * 1000));
        let bus = Bus { arbitration, selection, message_out, command, message_in, status, ..Bus::default() };
        assert_eq!((bus.command_ns(), bus.transfer_ns(225_000)), (15_000, 274_000));
        let mut tally = Tally::default();
        tally.command();
        tally.transfer(274_000, Direction::Read);
        let phases = tally.phases(&bus);
        assert_eq!(phases.iter().map(|(_, ns)| ns).sum::<u64>(), 15_000 + 274_000);
        assert_eq!((phases[0], phases[1]), (("arbitration", 2_000), ("selection", 2_000)));
    }
}
