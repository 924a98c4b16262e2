//! What happens to the rows of a RAID5.

use super::events::Event;
use super::state::{Portioned, System};
use crate::command::Direction;
use crate::volume::{Piece, Portion};

impl System<'_> {
    /// A portion to write, or a flush of the memory, has come to where the volume is made.
    pub(super) fn join_rows(&mut self, number: u32, portion: &Portion) {
        let Some(rows) = &mut self.rows else { return };
        if rows.memory.is_some() {
            rows.parked.push_back(number);
            return self.admit();
        }
        let (count, ready) = rows.join(number, portion);
        self.portions.all[number as usize].pieces_left = count;
        self.start_passes(ready);
    }

    /// Takes into the memory what has room there; a portion is done with that. If one has not, the memory is emptied.
    fn admit(&mut self) {
        while let Some(rows) = &mut self.rows
            && let Some(number) = rows.parked.front().copied()
        {
            let portion = self.portions.all[number as usize].portion;
            if !rows.has_room(&portion) {
                return self.empty_rows();
            }
            rows.parked.pop_front();
            if portion.direction == Direction::Flush {
                self.launch_pieces(number, &portion);
                continue;
            }
            let (_, ready) = rows.join(number, &portion);
            self.start_passes(ready);
            self.finish_portion(number);
        }
    }

    /// Writes all rows.
    pub(super) fn empty_rows(&mut self) {
        let ready = self.rows.as_ref().map(|rows| rows.ready(..)).unwrap_or_default();
        self.start_passes(ready);
    }

    /// Passes start once everything of this moment has joined, as md starts one when a request's parts are all there.
    fn start_passes(&mut self, rows: Vec<u64>) {
        for row in rows {
            let portion = Portion { offset: row, bytes: 0, direction: Direction::Read, disk: 0 };
            let pass = self.portions.put(Portioned { request: 0, portion, is_pass: true, pieces_left: 0 });
            self.at(self.now_ns, Event::Launch { portion: pass });
        }
    }

    /// Begins a pass, if the row is still ready. The portion of a pass is its rows.
    pub(super) fn begin_pass(&mut self, pass: u32, row: u64) {
        let Some(rows) = &mut self.rows else { return };
        let writes_all = !rows.parked.is_empty() || self.flushes.press();
        let Some((range, reads)) = rows.begin(row, writes_all) else {
            self.portions.take(pass);
            return;
        };
        let portion = &mut self.portions.all[pass as usize].portion;
        (portion.offset, portion.bytes) = (range.start, range.end - range.start);
        if reads.is_empty() { self.write_rows(pass) } else { self.launch_rows(pass, reads) }
    }

    fn write_rows(&mut self, pass: u32) {
        let portion = &mut self.portions.all[pass as usize].portion;
        portion.direction = Direction::Write;
        let range = portion.offset..portion.offset + portion.bytes;
        let writes = self.rows.as_mut().map(|rows| rows.write(range)).unwrap_or_default();
        self.launch_rows(pass, writes);
    }

    fn launch_rows(&mut self, pass: u32, pieces: Vec<Piece>) {
        let pieces = pieces.into_iter().map(|piece| self.set_out_in_parts(pass, piece)).sum();
        self.portions.all[pass as usize].pieces_left = pieces;
    }

    /// The reads or writes of a pass are done.
    pub(super) fn rows_done(&mut self, pass: u32, portion: &Portion) {
        let Some(rows) = &mut self.rows else { return };
        if portion.direction == Direction::Read {
            return self.write_rows(pass);
        }
        let (done, ready) = rows.end(portion.offset..portion.offset + portion.bytes);
        self.portions.take(pass);
        for portion in done {
            let left = &mut self.portions.all[portion as usize].pieces_left;
            *left -= 1;
            if *left == 0 {
                self.finish_portion(portion);
            }
        }
        self.start_passes(ready);
        self.admit();
    }
}
