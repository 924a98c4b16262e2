//! A bus, which one command or transfer occupies at a time.
//!
//! A command has arbitration, selection, message and command phases. A transfer arbitrates again for each burst, sends a
//! message, moves the bytes at the rate of their direction, and ends with a status, so small bursts waste bus time. A link is
//! a bus with a latency, which delays but does not occupy. Cycles and priorities are not modelled: first come, first served.
//! Sources: phases as in ANSI X3.131 (SCSI-2) and as a bus analyser counts them in Riedel, van Ingen and Gray, "Sequential
//! I/O on Windows NT 4.0" (1997), table 4.

use crate::command::Direction;
use halfpower_model::Bytes;

/// A bus.
#[derive(Clone, Debug, PartialEq)]
pub struct Bus {
    /// Its name.
    pub name: String,
    /// Nanoseconds per byte of reads, without overhead.
    pub read_ns_per_byte: f64,
    /// The same for writes.
    pub write_ns_per_byte: f64,
    /// Overhead of commands and transfers.
    pub phases: Phases,
    /// Bytes after which the bus is released and taken again; `None`: one burst per transfer.
    pub burst: Option<Bytes>,
    /// A device whose buffer can deliver within this time keeps the bus; others release it meanwhile.
    pub stay_ns: Option<u64>,
    /// Propagation time.
    pub latency_ns: u64,
    /// Whether the CPU moves the bytes (PIO).
    pub programmed: bool,
}

/// Overhead phases in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Phases {
    /// Per command and burst.
    pub arbitration_ns: u64,
    /// Per command, until the device answers.
    pub selection_ns: u64,
    /// Per command.
    pub message_out_ns: u64,
    /// Per command: its bytes.
    pub command_ns: u64,
    /// Per burst.
    pub message_in_ns: u64,
    /// Per transfer.
    pub message_end_ns: u64,
    /// Per transfer.
    pub status_ns: u64,
}

impl Bus {
    /// Bus time of a command.
    pub fn command_ns(&self) -> u64 {
        let Phases { arbitration_ns, selection_ns, message_out_ns, command_ns, .. } = self.phases;
        arbitration_ns + selection_ns + message_out_ns + command_ns
    }

    /// Bus time of a transfer.
    pub fn transfer(&self, bytes: u64, direction: Direction) -> Transfer {
        let Phases { arbitration_ns, message_in_ns, message_end_ns, status_ns, .. } = self.phases;
        let per_byte = match direction {
            Direction::Read => self.read_ns_per_byte,
            Direction::Write => self.write_ns_per_byte,
            Direction::Trim | Direction::Flush => 0.0,
        };
        let bursts = self.burst.map_or(1, |burst| bytes.div_ceil(burst.0).max(1));
        let bytes_ns = (bytes as f64 * per_byte + 0.5) as u64;
        let ns = bursts * (arbitration_ns + message_in_ns) + bytes_ns + message_end_ns + status_ns;
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
    kept_ns: u64,
}

impl Tally {
    /// A command.
    pub fn command(&mut self) {
        self.commands += 1;
    }

    /// A device that was selected kept it so long.
    pub fn kept(&mut self, ns: u64) {
        self.kept_ns += ns;
    }

    /// A transfer.
    pub fn transfer(&mut self, transfer: &Transfer, direction: Direction) {
        self.transfers += 1;
        self.bursts += transfer.bursts;
        self.bytes_ns[direction as usize] += transfer.bytes_ns;
    }

    /// Nanoseconds by phase, in the order in which they come.
    pub fn phases(&self, bus: &Bus) -> [(&'static str, u64); 8] {
        let Phases {
            arbitration_ns,
            selection_ns,
            message_out_ns,
            command_ns,
            message_in_ns,
            message_end_ns,
            status_ns,
        } = bus.phases;
        [
            ("arbitration", (self.commands + self.bursts) * arbitration_ns),
            ("selection", self.commands * selection_ns + self.kept_ns),
            ("message out", self.commands * message_out_ns),
            ("command", self.commands * command_ns),
            ("message in", self.bursts * message_in_ns + self.transfers * message_end_ns),
            ("data in", self.bytes_ns[Direction::Read as usize]),
            ("data out", self.bytes_ns[Direction::Write as usize]),
            ("status", self.transfers * status_ns),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scsi() -> Bus {
        Bus {
            name: "scsi".to_owned(),
            read_ns_per_byte: 25.0,
            write_ns_per_byte: 50.0,
            phases: Phases {
                arbitration_ns: 1_000,
                selection_ns: 2_000,
                message_out_ns: 4_000,
                command_ns: 8_000,
                message_in_ns: 16_000,
                message_end_ns: 64_000,
                status_ns: 32_000,
            },
            burst: Some(Bytes(4096)),
            stay_ns: None,
            latency_ns: 0,
            programmed: false,
        }
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
        tally.kept(500);
        tally.transfer(&bus.transfer(9000, Direction::Read), Direction::Read);
        let phases = tally.phases(&bus);
        let all: u64 = phases.iter().map(|(_, ns)| ns).sum();
        assert_eq!(all, bus.command_ns() + 500 + bus.transfer(9000, Direction::Read).ns);
        assert_eq!((phases[0], phases[1]), (("arbitration", 4_000), ("selection", 2_500)));
    }
}
