//! What happens to the rows of a RAID5.

use super::events::Event;
use super::state::{Portioned, System};
use crate::command::Direction;
use crate::volume::{Piece, Portion};

impl System<'_> {
    /// A written portion joins its rows.
    pub(super) fn join_rows(&mut self, number: u32, portion: &Portion) {
        let Some((rows, idle)) = self.rows.as_mut().map(|rows| rows.join(number, portion)) else { return };
        self.portions.all[number as usize].pieces_left = rows;
        idle.into_iter().for_each(|row| self.start_pass(row));
    }

    /// A pass starts once everything of this moment has joined, as md starts one when a request's parts are all there.
    fn start_pass(&mut self, row: u64) {
        let portion = Portion { offset: 0, bytes: 0, direction: Direction::Read, disk: 0 };
        let pass = self.portions.put(Portioned { request: 0, portion, row: Some(row), pieces_left: 0 });
        self.at(self.now_ns, Event::Launch { portion: pass });
    }

    pub(super) fn begin_pass(&mut self, pass: u32, row: u64) {
        let reads = self.rows.as_mut().map(|rows| rows.begin(row)).unwrap_or_default();
        if reads.is_empty() { self.write_row(pass, row) } else { self.launch_row(pass, reads) }
    }

    fn write_row(&mut self, pass: u32, row: u64) {
        self.portions.all[pass as usize].portion.direction = Direction::Write;
        let writes = self.rows.as_mut().map(|rows| rows.write(row)).unwrap_or_default();
        self.launch_row(pass, writes);
    }

    fn launch_row(&mut self, pass: u32, pieces: Vec<Piece>) {
        let pieces = pieces.into_iter().map(|piece| self.set_out_in_parts(pass, piece)).sum();
        self.portions.all[pass as usize].pieces_left = pieces;
    }

    /// The reads or writes of a pass are done.
    pub(super) fn row_done(&mut self, pass: u32, row: u64) {
        if self.portions.all[pass as usize].portion.direction == Direction::Read {
            return self.write_row(pass, row);
        }
        self.portions.take(pass);
        let (done, waits) = self.rows.as_mut().map(|rows| rows.end(row)).unwrap_or_default();
        for portion in done {
            let left = &mut self.portions.all[portion as usize].pieces_left;
            *left -= 1;
            if *left == 0 {
                self.finish_portion(portion);
            }
        }
        if waits {
            self.start_pass(row);
        }
    }
}
