//! From the volume to its devices and back.

use crate::command::{Command, Direction, Served};
use crate::controller::{Forwarding, Gate};
use crate::disk::geometry::BLOCK_BYTES;
use crate::machine::SplitAt;
use crate::system::events::Event;
use crate::system::state::{Moving, Portioned, Seen, System};
use crate::volume::{Piece, Portion, Reader, Volume};

impl System<'_> {
    pub(super) fn dispatch(&mut self, request: u32) {
        let open = self.requests.all[request as usize];
        let machine = self.machine;
        let target = open.volume as usize;
        let direction = open.asked.kind;
        let most = self.most(SplitAt::Volume, direction);
        let (mut offset, mut left) = (open.asked.offset + machine.offset.0, u64::from(open.asked.length));
        // Counts one more until all portions have left, so that none ends the request early. A flush is one portion without bytes.
        self.requests.all[request as usize].portions_left = 1;
        loop {
            self.requests.all[request as usize].portions_left += 1;
            if machine.is_made_in_controller() {
                self.at_devices[target].add(self.now_ns);
            }
            let bytes = left.min(most);
            let disk = self.reader(offset, direction).unwrap_or(target);
            let portion = Portion { offset, bytes, direction, disk };
            let number = self.portions.put(Portioned { request, portion, is_pass: false, pieces_left: 0 });
            match &machine.made {
                None => self.launch(number),
                Some(parts) => {
                    let ready_ns = self.send(parts, bytes, direction);
                    self.at(ready_ns, Event::Launch { portion: number });
                }
            }
            (offset, left) = (offset + bytes, left - bytes);
            if left == 0 {
                return self.finish_one_of(request);
            }
        }
    }

    /// A portion of a request is done.
    fn finish_one_of(&mut self, request: u32) {
        let open = &mut self.requests.all[request as usize];
        open.portions_left -= 1;
        if open.portions_left == 0 {
            self.finish_request(request);
        }
    }

    /// The largest transfer that the system does not split at a place. Trims and flushes are not split.
    fn most(&self, place: SplitAt, direction: Direction) -> u64 {
        if matches!(direction, Direction::Trim | Direction::Flush) {
            return u64::MAX;
        }
        let system = &self.machine.system;
        // To the system, a volume that a controller makes is one disk.
        let split_at = if self.machine.is_made_in_controller() { SplitAt::Volume } else { system.split_at };
        let is_there = split_at == place;
        system.split.filter(|_| is_there && !self.is_raw).map_or(u64::MAX, |split| split.0)
    }

    /// The disk of a mirror that reads.
    fn reader(&mut self, offset: u64, direction: Direction) -> Option<usize> {
        let Volume::Mirror { reader } = self.machine.volume else { return None };
        if direction != Direction::Read {
            return None;
        }
        let all = self.seen.iter().enumerate();
        let least = |key: &dyn Fn(&Seen) -> u64| all.min_by_key(|(_, seen)| key(seen)).map(|(disk, _)| disk);
        match reader {
            Reader::RoundRobin => {
                self.last_reader = (self.last_reader + 1) % self.machine.disks.len();
                Some(self.last_reader)
            }
            Reader::ShorterQueue => least(&|seen| u64::from(seen.outstanding)),
            Reader::Nearest => least(&|seen| seen.end.abs_diff(offset)),
            // A stream keeps its disk. An idle disk is chosen before all busy ones.
            Reader::IdleOrNearest => least(&|seen| match (seen.end.abs_diff(offset), seen.outstanding) {
                (0, _) => 0,
                (_, 0) => 1,
                (far, _) => far.saturating_add(1),
            }),
        }
    }

    /// A portion has arrived where its volume is made: its pieces go to their disks.
    pub(super) fn launch(&mut self, number: u32) {
        let Portioned { portion, is_pass, .. } = self.portions.all[number as usize];
        let has_memory = self.rows.as_ref().is_some_and(|rows| rows.memory.is_some());
        match portion.direction {
            _ if is_pass => self.begin_pass(number, portion.offset),
            Direction::Write if self.rows.is_some() => self.join_rows(number, &portion),
            Direction::Flush if has_memory => self.join_rows(number, &portion),
            _ => self.launch_pieces(number, &portion),
        }
    }

    pub(super) fn launch_pieces(&mut self, number: u32, portion: &Portion) {
        let (mut pieces, machine) = (0, self.machine);
        machine.volume.pieces(machine.disks.len(), portion, &mut |piece| {
            pieces += self.set_out_in_parts(number, piece);
        });
        self.portions.all[number as usize].pieces_left = pieces;
        if pieces == 0 {
            self.finish_portion(number);
        }
    }

    /// Sends a piece to its disk, split at the system's limit per disk; gives the number of commands.
    pub(super) fn set_out_in_parts(&mut self, portion: u32, piece: Piece) -> u32 {
        let Piece { disk, offset, bytes, direction } = piece;
        // The system knows which of its disks have nothing to flush.
        if direction == Direction::Flush && !self.machine.disks[disk].device.is_volatile() {
            return 0;
        }
        let most = self.most(SplitAt::Disk, direction);
        let (mut at, mut left, mut parts) = (offset, bytes, 0);
        loop {
            let bytes = left.min(most);
            parts += 1;
            self.set_out(portion, Piece { disk, offset: at, bytes, direction });
            (at, left) = (at + bytes, left - bytes);
            if left == 0 {
                return parts;
            }
        }
    }

    /// Sends a piece to the controller that stores it, or to the queue of its disk.
    fn set_out(&mut self, portion: u32, piece: Piece) {
        let seen = &mut self.seen[piece.disk];
        // A flush moves no arm.
        let end = if piece.direction == Direction::Flush { seen.end } else { piece.offset + piece.bytes };
        (seen.end, seen.outstanding) = (end, seen.outstanding + 1);
        if !self.machine.is_made_in_controller() {
            self.at_devices[piece.disk].add(self.now_ns);
        }
        let number = self.pieces.put(Moving { portion, piece, received_ns: 0, is_merged: false });
        let far = &self.machine.disks[piece.disk].far;
        if far.is_empty() {
            return self.queue(number);
        }
        let ready_ns = self.send(far, piece.bytes, piece.direction);
        self.at(ready_ns, Event::Queue { piece: number });
    }

    /// A piece enters the queue of its disk.
    pub(super) fn queue(&mut self, number: u32) {
        let piece = self.pieces.all[number as usize].piece;
        let enters = |gate: &mut Gate| gate.enter(number, piece.direction, piece.offset, piece.bytes);
        let may_go = self.gates[piece.disk].as_mut().is_none_or(enters);
        if may_go {
            self.command(number);
        } else {
            self.at_gates[piece.disk].add(self.now_ns);
        }
    }

    /// A piece's command goes to its disk; the bytes of a write with it.
    fn command(&mut self, number: u32) {
        let Piece { disk, bytes, direction, .. } = self.pieces.all[number as usize].piece;
        let near = &self.machine.disks[disk].near;
        let ready_ns = self.send(near, bytes, direction);
        let moving_ns = if direction == Direction::Write { self.slowest_ns(near, bytes, direction) } else { 0 };
        self.pieces.all[number as usize].received_ns = ready_ns - moving_ns;
        self.at(ready_ns, Event::Arrive { piece: number });
    }

    /// Sends a command away from memory, and the bytes of a write behind it; gives when all of it is there.
    pub(super) fn send(&mut self, parts: &[usize], bytes: u64, direction: Direction) -> u64 {
        let bytes = Some(bytes).filter(|_| direction == Direction::Write);
        self.occupy(parts, true, bytes, direction)
    }

    /// Moves bytes over parts; gives when they are there.
    pub(super) fn move_bytes(&mut self, parts: &[usize], bytes: u64, direction: Direction) -> u64 {
        self.occupy(parts, false, Some(bytes), direction)
    }

    /// Occupies all parts at once, each from when it is free, for a command, bytes or both; gives when the last is through.
    fn occupy(&mut self, parts: &[usize], is_command: bool, bytes: Option<u64>, direction: Direction) -> u64 {
        let machine = self.machine;
        let slowest_ns = bytes.map_or(0, |bytes| self.slowest_ns(parts, bytes, direction));
        let (mut done_ns, mut latency_ns) = (self.now_ns, 0);
        for number in parts.iter().copied() {
            let part = &machine.parts[number];
            let command_ns = if is_command { part.command_ns() } else { 0 };
            let transfer_ns = bytes.map_or(0, |bytes| part.transfer_ns(bytes, direction));
            // A controller without ports is held until its slowest neighbour is done.
            let has_one_port = part.controller().is_some_and(|one| one.bytes != Forwarding::Ports);
            let held_ns = if has_one_port { slowest_ns } else { transfer_ns };
            let own_ns = command_ns + transfer_ns;
            let through_ns = self.resources[number].hold(self.now_ns, command_ns + held_ns, own_ns);
            if part.is_programmed() && bytes.is_some() {
                self.cpus.serve(self.now_ns, through_ns - transfer_ns, transfer_ns);
            }
            if self.marks.begun {
                if is_command {
                    self.tallies[number].command();
                }
                if bytes.is_some() {
                    self.tallies[number].transfer(transfer_ns, direction);
                }
            }
            latency_ns += part.latency_ns();
            done_ns = done_ns.max(through_ns);
        }
        done_ns + latency_ns
    }

    /// How long the slowest of some parts takes for bytes that are on all of them.
    fn slowest_ns(&self, parts: &[usize], bytes: u64, direction: Direction) -> u64 {
        let each = |number: &usize| self.machine.parts[*number].transfer_ns(bytes, direction);
        parts.iter().map(each).max().unwrap_or(0)
    }

    pub(super) fn arrive(&mut self, number: u32) {
        let Moving { piece: Piece { disk, offset, bytes, direction }, received_ns, .. } =
            self.pieces.all[number as usize];
        let (block, count) = blocks(offset, bytes);
        self.devices[disk].accept(self.now_ns, Command { tag: number, direction, block, count, received_ns });
        self.hear(disk);
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

    /// Takes a disk's completions, and expects its next event.
    pub(super) fn hear(&mut self, disk: usize) {
        while let Some(Served { tag, begins_ns, ready_ns }) = self.devices[disk].answer() {
            let Piece { direction, bytes, .. } = self.pieces.all[tag as usize].piece;
            if direction != Direction::Read {
                self.at(ready_ns.max(self.now_ns), Event::Done { piece: tag });
                continue;
            }
            let near = &self.machine.disks[disk].near;
            let from_ns = if near.iter().any(|number| self.machine.parts[*number].is_programmed()) {
                // The drive interrupts once all bytes are in its buffer.
                ready_ns
            } else {
                // The transfer ends when the medium does, but begins no sooner than the bytes.
                ready_ns.saturating_sub(self.slowest_ns(near, bytes, direction)).max(begins_ns)
            };
            let from_ns = from_ns.max(self.now_ns);
            match from_ns > self.now_ns {
                true => self.at(from_ns, Event::Transfer { piece: tag }),
                false => self.transfer(tag),
            }
        }
        let next_ns = self.devices[disk].next_ns();
        if next_ns != self.expected_ns[disk] {
            self.expected_ns[disk] = next_ns;
            next_ns.into_iter().for_each(|at_ns| self.at(at_ns, Event::Disk { disk: disk as u32 }));
        }
    }

    /// The bytes of a read leave their disk.
    pub(super) fn transfer(&mut self, number: u32) {
        let Piece { disk, bytes, direction, .. } = self.pieces.all[number as usize].piece;
        let done_ns = self.move_bytes(&self.machine.disks[disk].near, bytes, direction);
        self.at(done_ns, Event::Done { piece: number });
    }

    /// A disk has completed a piece and may take another. The bytes of a read leave the controller that stored them.
    pub(super) fn done(&mut self, number: u32) {
        let Moving { piece: Piece { disk, bytes, direction, .. }, is_merged, .. } = self.pieces.all[number as usize];
        self.seen[disk].outstanding -= 1;
        let gate = self.gates[disk].as_mut().filter(|_| !is_merged);
        let mut next = gate.and_then(Gate::leave);
        while let Some(number) = next {
            self.at_gates[disk].take(self.now_ns);
            self.command(number);
            next = self.gates[disk].as_mut().and_then(Gate::merge);
            self.pieces.all[number as usize].is_merged = next.is_some();
        }
        let far = &self.machine.disks[disk].far;
        if far.is_empty() || direction != Direction::Read {
            return self.finish_piece(number);
        }
        let done_ns = self.move_bytes(far, bytes, direction);
        self.at(done_ns, Event::Finish { piece: number });
    }

    pub(super) fn finish_piece(&mut self, number: u32) {
        let Moving { portion, piece, is_merged, .. } = self.pieces.take(number);
        if !self.machine.is_made_in_controller() {
            self.at_devices[piece.disk].take(self.now_ns);
        }
        // A system counts commands at their completion.
        let device = &mut self.outcome.device[piece.direction as usize];
        *device = (device.0 + u64::from(!is_merged), device.1 + blocks(piece.offset, piece.bytes).1 * BLOCK_BYTES);
        self.outcome.merges += u64::from(is_merged);
        let all = &mut self.portions.all[portion as usize];
        all.pieces_left -= 1;
        if all.pieces_left > 0 {
            return;
        }
        if all.is_pass {
            let rows = all.portion;
            return self.rows_done(portion, &rows);
        }
        let Portion { bytes, direction, .. } = all.portion;
        match &self.machine.made {
            Some(parts) if direction == Direction::Read => {
                let done_ns = self.move_bytes(parts, bytes, direction);
                self.at(done_ns, Event::Portion { portion });
            }
            _ => self.finish_portion(portion),
        }
    }

    pub(super) fn finish_portion(&mut self, number: u32) {
        let Portioned { request, .. } = self.portions.take(number);
        if self.machine.is_made_in_controller() {
            self.at_devices[self.requests.all[request as usize].volume as usize].take(self.now_ns);
        }
        self.finish_one_of(request);
    }
}

/// The first block of some bytes, and how many they lie in.
fn blocks(offset: u64, bytes: u64) -> (u64, u64) {
    let block = offset / BLOCK_BYTES;
    (block, (offset + bytes).div_ceil(BLOCK_BYTES) - block)
}
