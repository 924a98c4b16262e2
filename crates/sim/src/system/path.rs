//! From the volume to its devices and back: pieces, commands, bytes over all buses at once.

use super::split::{self, Piece};
use super::{Event, Moving, System, direction};
use crate::device::{Command, Direction, Served};
use crate::disk::geometry::BLOCK_BYTES;
use halfpower_model::RequestKind;

impl System<'_> {
    pub(super) fn dispatch(&mut self, request: u32) {
        let open = self.requests.all[request as usize];
        let machine = self.machine;
        let volume = self.workload.volume_of(open.worker);
        let mut pieces = 0;
        for piece in split::pieces(machine, volume, open.asked.offset, u64::from(open.asked.length)) {
            pieces += 1;
            let number = self.pieces.put(Moving { request, piece });
            let [nearest, ..] = machine.disks[piece.disk].buses[..] else {
                self.at(self.now_ns, Event::Arrive { piece: number });
                continue;
            };
            let command_ns = machine.buses[nearest].command_ns;
            let mut ready_ns = self.buses[nearest].serve(self.now_ns, command_ns);
            if open.asked.kind == RequestKind::Write {
                ready_ns = self.move_bytes(ready_ns, &piece, Direction::Write);
            }
            self.at(ready_ns, Event::Arrive { piece: number });
        }
        self.requests.all[request as usize].pieces_left = pieces;
    }

    /// Books all buses of a piece's disk for its bytes; gives when the last of them is through.
    pub(super) fn move_bytes(&mut self, now_ns: u64, piece: &Piece, direction: Direction) -> u64 {
        let mut done_ns = now_ns;
        let machine = self.machine;
        for number in &machine.disks[piece.disk].buses {
            let bus = &machine.buses[*number];
            let took_ns = bus.transfer_ns + bus.bytes_ns(piece.bytes, direction);
            let through_ns = self.buses[*number].serve(now_ns, took_ns);
            if bus.programmed {
                self.processors.serve(through_ns - took_ns, took_ns);
            }
            done_ns = done_ns.max(through_ns);
        }
        done_ns
    }

    pub(super) fn arrive(&mut self, number: u32) {
        let Moving { request, piece } = self.pieces.all[number as usize];
        let direction = direction(self.requests.all[request as usize].asked.kind);
        let block = piece.offset / BLOCK_BYTES;
        let count = (piece.offset + piece.bytes).div_ceil(BLOCK_BYTES) - block;
        let device = &mut self.outcome.device[direction as usize];
        if self.marks.begun {
            *device = (device.0 + 1, device.1 + count * BLOCK_BYTES);
        }
        self.devices[piece.disk].accept(self.now_ns, Command { tag: number, direction, block, count });
        self.hear(piece.disk);
    }

    pub(super) fn turn(&mut self, disk: u32) {
        let disk = disk as usize;
        // Expected again for later since: that event is on its way.
        if self.expected_ns[disk] != Some(self.now_ns) {
            return;
        }
        self.expected_ns[disk] = None;
        self.devices[disk].advance(self.now_ns);
        self.hear(disk);
    }

    /// Takes what a disk has to say, and when it will have more.
    pub(super) fn hear(&mut self, disk: usize) {
        while let Some(Served { tag, begins_ns, ready_ns, .. }) = self.devices[disk].answer() {
            let Moving { request, piece } = self.pieces.all[tag as usize];
            if self.requests.all[request as usize].asked.kind == RequestKind::Write {
                self.at(ready_ns.max(self.now_ns), Event::Finish { piece: tag });
                continue;
            }
            // Begins so that the last bytes do not wait for the slowest bus, and none moves before it is there.
            let machine = self.machine;
            let buses = machine.disks[disk].buses.iter().map(|number| &machine.buses[*number]);
            let moving_ns =
                buses.map(|bus| bus.transfer_ns + bus.bytes_ns(piece.bytes, Direction::Read)).max().unwrap_or(0);
            let from_ns = ready_ns.saturating_sub(moving_ns).max(begins_ns).max(self.now_ns);
            self.at(from_ns, Event::Transfer { piece: tag });
        }
        let next_ns = self.devices[disk].next_ns();
        if next_ns != self.expected_ns[disk] {
            self.expected_ns[disk] = next_ns;
            next_ns.into_iter().for_each(|at_ns| self.at(at_ns, Event::Disk { disk: disk as u32 }));
        }
    }

    pub(super) fn transfer(&mut self, number: u32) {
        let piece = self.pieces.all[number as usize].piece;
        let done_ns = self.move_bytes(self.now_ns, &piece, Direction::Read);
        self.at(done_ns, Event::Finish { piece: number });
    }

    pub(super) fn finish_piece(&mut self, number: u32) {
        let Moving { request, .. } = self.pieces.take(number);
        let open = &mut self.requests.all[request as usize];
        open.pieces_left -= 1;
        if open.pieces_left == 0 {
            let spent_ns =
                self.cost_ns(&self.requests.all[request as usize].asked, self.machine.system.completion_share);
            let done_ns = self.processors.serve(self.now_ns, spent_ns);
            self.at(done_ns, Event::Complete { request });
        }
    }
}

impl crate::machine::Bus {
    fn bytes_ns(&self, bytes: u64, direction: Direction) -> u64 {
        let per_byte = match direction {
            Direction::Read => self.read_ns_per_byte,
            Direction::Write => self.write_ns_per_byte,
        };
        (bytes as f64 * per_byte).round() as u64
    }
}
