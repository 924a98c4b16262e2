//! A RAM disk: memory that answers as a block device does.
//!
//! Law: the bytes of one command after another pass a port of a fixed rate, and each command is answered a fixed latency
//! after its last byte. So d outstanding requests of s bytes reach min(rate, d · s / (latency + s / rate)): Little's law below
//! the rate of the port. Where a block lies and what came before do not matter. A flush takes the latency alone; contents are
//! never safe from a loss of power, and nothing makes them so.

use crate::command::{Command, Served};
use crate::disk::geometry::BLOCK_BYTES;
use crate::resource::Resource;
use halfpower_model::Bytes;

/// What it is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RamDisk {
    /// Bytes of it.
    pub size: Bytes,
    /// Nanoseconds from the last byte to the answer.
    pub latency_ns: u64,
    /// Nanoseconds of a byte at the port.
    pub ns_per_byte: f64,
}

/// It at work.
#[derive(Clone, Debug)]
pub struct Ram {
    disk: RamDisk,
    port: Resource,
}

impl Ram {
    /// At rest.
    pub fn new(disk: RamDisk) -> Ram {
        Ram { disk, port: Resource::new(1) }
    }

    /// Serves a command.
    pub fn serve(&mut self, now_ns: u64, command: Command) -> Served {
        let took_ns = ((command.count * BLOCK_BYTES) as f64 * self.disk.ns_per_byte).round() as u64;
        let at = self.port.serve(now_ns, now_ns, took_ns) + self.disk.latency_ns;
        Served { tag: command.tag, begins_ns: at, ready_ns: at, from_buffer: false }
    }

    /// How long its port has been at work until now, in nanoseconds.
    pub fn busy_ns(&self, now_ns: u64) -> u64 {
        self.port.busy_ns(now_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::Direction;

    #[test]
    fn a_course_by_hand() {
        // A byte takes 2 ns: 512 bytes 1.024 µs, 4 KiB 8.192 µs.
        let mut ram = Ram::new(RamDisk { size: Bytes(1 << 30), latency_ns: 3000, ns_per_byte: 2.0 });
        let course = [
            (0, Direction::Read, 8),
            (0, Direction::Write, 1),
            (5000, Direction::Flush, 0),
            (20_000, Direction::Read, 1),
        ];
        let answered = (0..).zip(course).map(|(tag, (now_ns, direction, count))| {
            ram.serve(now_ns, Command { tag, direction, block: 7, count, received_ns: now_ns }).ready_ns
        });
        assert_eq!(answered.collect::<Vec<_>>(), [11_192, 12_216, 8000, 24_024]);
        assert_eq!([20_512, 30_000].map(|now_ns| ram.busy_ns(now_ns)), [9728, 10_240]);
    }
}
