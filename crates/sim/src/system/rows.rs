//! RAID5 writes, row by row.
//!
//! One pass at a time works on a row. It reads what the new parity needs, then writes data and parity. Of two ways to get the
//! parity it takes the one with fewer bytes: old data and old parity (read-modify-write), or the blocks of the row that it does
//! not write (reconstruct-write). Writes that arrive meanwhile wait for the next pass and join it. If they complete the row
//! while the pass still reads, they join this pass. What was read is not kept for later passes.
//!
//! Sources: Patterson, Gibson and Katz (1988); Linux, drivers/md/raid5.c, handle_stripe_dirtying, which reconstructs where both
//! ways read as much. md's delay of partial rows from the page cache, and its rows of one page, are not modelled.

use crate::command::Direction;
use crate::machine::Machine;
use crate::volume::{Piece, Portion, Volume, chunks};
use std::collections::HashMap;
use std::ops::Range;

/// Ranges in order that do not touch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Spans(Vec<Range<u64>>);

impl Spans {
    fn add(&mut self, new: Range<u64>) {
        let first = self.0.partition_point(|span| span.end < new.start);
        let behind = self.0.partition_point(|span| span.start <= new.end);
        let touched = &self.0[first..behind];
        let start = touched.first().map_or(new.start, |span| span.start.min(new.start));
        let end = touched.last().map_or(new.end, |span| span.end.max(new.end));
        self.0.splice(first..behind, std::iter::once(start..end));
    }

    fn union(mut self, other: &Spans) -> Spans {
        other.0.iter().for_each(|span| self.add(span.clone()));
        self
    }

    /// Those of these bytes that are not in the other.
    fn without(&self, other: &Spans) -> Spans {
        let rest = |span: &Range<u64>| {
            let inside = other.0.iter().filter(|one| one.start < span.end && one.end > span.start);
            let starts = std::iter::once(span.start).chain(inside.clone().map(|one| one.end));
            let ends = inside.map(|one| one.start).chain([span.end]);
            starts.zip(ends).filter(|(start, end)| start < end).map(|(start, end)| start..end).collect::<Vec<_>>()
        };
        Spans(self.0.iter().flat_map(rest).collect())
    }

    fn bytes(&self) -> u64 {
        self.0.iter().map(|span| span.end - span.start).sum()
    }
}

/// Writes of a row that go together: their portions, and the bytes of the row.
#[derive(Clone, Debug, Default)]
struct Pass {
    portions: Vec<u32>,
    written: Spans,
}

/// A row with writes: those of the pass that works on it, and those that wait.
#[derive(Debug, Default)]
struct Row {
    pass: Pass,
    waiting: Pass,
}

/// The rows with writes under way.
#[derive(Debug)]
pub(super) struct Rows {
    chunk: u64,
    disks: usize,
    rows: HashMap<u64, Row>,
}

impl Rows {
    /// None unless the volume is a RAID5.
    pub(super) fn of(machine: &Machine) -> Option<Rows> {
        let Volume::Raid5 { chunk } = machine.volume else { return None };
        Some(Rows { chunk: chunk.0, disks: machine.disks.len(), rows: HashMap::new() })
    }

    /// Data bytes of a row.
    fn row_bytes(&self) -> u64 {
        self.chunk * (self.disks as u64 - 1)
    }

    /// A portion joins its rows. Gives how many they are, and those that no pass works on.
    pub(super) fn join(&mut self, number: u32, portion: &Portion) -> (u32, Vec<u64>) {
        let (mut count, mut idle) = (0, Vec::new());
        chunks(self.row_bytes(), portion.offset, portion.bytes, &mut |row, from, bytes| {
            count += 1;
            let Row { pass, waiting } = self.rows.entry(row).or_default();
            waiting.portions.push(number);
            waiting.written.add(from..from + bytes);
            if pass.portions.is_empty() && waiting.portions.len() == 1 {
                idle.push(row);
            }
        });
        (count, idle)
    }

    /// A pass begins with all writes that wait. Gives its reads, if it needs any.
    pub(super) fn begin(&mut self, number: u64) -> Vec<Piece> {
        let Some(row) = self.rows.get_mut(&number) else { return Vec::new() };
        row.pass = std::mem::take(&mut row.waiting);
        let written = row.pass.written.clone();
        let (data, parity) = self.by_chunk(&written);
        let old_bytes = written.bytes() + parity.bytes();
        let others_bytes = parity.bytes() * data.len() as u64 - written.bytes();
        let reads = if old_bytes < others_bytes {
            data.into_iter().chain([parity]).collect()
        } else {
            data.iter().map(|spans| parity.without(spans)).collect()
        };
        self.pieces(number, Direction::Read, reads)
    }

    /// A pass has what it read. Gives its writes.
    pub(super) fn write(&mut self, number: u64) -> Vec<Piece> {
        let row_bytes = self.row_bytes();
        let Some(Row { pass, waiting }) = self.rows.get_mut(&number) else { return Vec::new() };
        let all = pass.written.clone().union(&waiting.written);
        if all.bytes() == row_bytes {
            pass.portions.append(&mut waiting.portions);
            (pass.written, waiting.written) = (all, Spans::default());
        }
        let written = pass.written.clone();
        let (data, parity) = self.by_chunk(&written);
        self.pieces(number, Direction::Write, data.into_iter().chain([parity]).collect())
    }

    /// A pass has written. Gives its portions, and whether others wait for the next.
    pub(super) fn end(&mut self, number: u64) -> (Vec<u32>, bool) {
        let Some(row) = self.rows.get_mut(&number) else { return (Vec::new(), false) };
        let (done, waits) = (std::mem::take(&mut row.pass).portions, !row.waiting.portions.is_empty());
        if !waits {
            self.rows.remove(&number);
        }
        (done, waits)
    }

    /// Bytes of a row by data chunk, and those of the parity that they change.
    fn by_chunk(&self, written: &Spans) -> (Vec<Spans>, Spans) {
        let (mut data, mut parity) = (vec![Spans::default(); self.disks - 1], Spans::default());
        for span in &written.0 {
            chunks(self.chunk, span.start, span.end - span.start, &mut |chunk, from, bytes| {
                data[chunk as usize].add(from..from + bytes);
                parity.add(from..from + bytes);
            });
        }
        (data, parity)
    }

    /// The pieces of a row's chunks, the parity's last.
    fn pieces(&self, row: u64, direction: Direction, all: Vec<Spans>) -> Vec<Piece> {
        let (disks, offset) = (self.disks as u64, row * self.chunk);
        let of_chunk = |(index, spans): (u64, Spans)| {
            let disk = ((disks - row % disks + index) % disks) as usize;
            let piece = move |span: Range<u64>| {
                let (offset, bytes) = (offset + span.start, span.end - span.start);
                Piece { disk, offset, bytes, direction }
            };
            spans.0.into_iter().map(piece)
        };
        (0..).zip(all).flat_map(of_chunk).collect()
    }
}

#[cfg(test)]
#[path = "rows_tests.rs"]
mod tests;
