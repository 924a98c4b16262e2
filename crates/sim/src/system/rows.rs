//! RAID5 writes.
//!
//! One pass at a time works on a row. A pass takes all adjacent rows that have new writes, reads what their parity needs, then
//! writes data and parity. What is adjacent on a disk is one command, so a request is not torn into one access per row. Of two
//! ways to get the parity of a row it takes the one with fewer bytes: old data and old parity (read-modify-write), or the blocks
//! of the row that it does not write (reconstruct-write).
//!
//! The system cuts the chunks into slices: a row is one slice of each disk. What was read or written of the last rows stays in
//! memory and is not read again. Rows whose pass must read wait while a pass works on them or next to them: a stream fills them
//! meanwhile. If writes complete a row while its pass reads, they join that pass.
//!
//! A card that makes the volume of drives with write caches has memory, as much as one of their caches per disk. Writes complete
//! when they are there. The card writes whole rows at once, and the others when the memory is full or for a flush.
//!
//! Sources: Patterson, Gibson and Katz (1988); Linux, drivers/md/raid5.c, handle_stripe_dirtying, which reconstructs where both
//! ways read as much. md delays partial rows while other such rows read, and its rows are one page: neither is modelled.

use crate::command::Direction;
use crate::disk::geometry::BLOCK_BYTES;
use crate::machine::{Device, Machine};
use crate::volume::{Piece, Portion, Volume, chunks};
use std::collections::{BTreeMap, VecDeque};
use std::ops::{Range, RangeBounds};

/// Linux: `stripe_cache_size`, 256 pages per disk where nobody changed it.
const STRIPE_CACHE_BYTES: u64 = 256 * 4096;

/// Bytes of a chunk in one row of the system, if they divide the chunk. Linux has one page there: four make a run shorter.
const SLICE_BYTES: u64 = 4 * 4096;

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
struct Writes {
    portions: Vec<u32>,
    spans: Spans,
}

/// A row with writes: those of the pass that works on it, and those that wait.
#[derive(Debug, Default)]
struct Row {
    passing: Writes,
    waiting: Writes,
}

impl Row {
    /// Whether a pass works on it.
    fn is_busy(&self) -> bool {
        !self.passing.spans.0.is_empty()
    }

    /// Whether a pass may begin with it.
    fn is_ready(&self) -> bool {
        !self.is_busy() && !self.waiting.spans.0.is_empty()
    }
}

/// The rows with writes under way.
#[derive(Debug)]
pub(super) struct Rows {
    chunk: u64,
    /// How much of a chunk is in one row.
    slice: u64,
    disks: usize,
    rows: BTreeMap<u64, Row>,
    /// How many rows fit into the card's memory, if it has one, and the portions that wait for room there.
    pub(super) memory: Option<usize>,
    pub(super) parked: VecDeque<u32>,
    /// What the system has in memory of the last rows, by chunk with the parity's at the end; which came when, and how many have
    /// room.
    kept: BTreeMap<u64, Vec<Spans>>,
    last: VecDeque<u64>,
    room: usize,
    /// Adjacent rows whose pass could not begin, whether all were to be written, until rows change. A deep queue of large writes
    /// waits with thousands of rows, each of which asks.
    refused: Option<(Range<u64>, bool)>,
}

impl Rows {
    /// None unless the volume is a RAID5.
    pub(super) fn of(machine: &Machine) -> Option<Rows> {
        let Volume::Raid5 { chunk } = machine.volume else { return None };
        let cache = match &machine.disks[0].device {
            Device::Disk(drive) if machine.is_made_in_controller() => drive.write_cache,
            _ => None,
        };
        let is_sliced = !machine.is_made_in_controller() && chunk.0.is_multiple_of(SLICE_BYTES);
        let slice = if is_sliced { SLICE_BYTES } else { chunk.0 };
        Some(Rows {
            chunk: chunk.0,
            slice,
            disks: machine.disks.len(),
            rows: BTreeMap::new(),
            memory: cache.map(|cache| (cache.blocks * BLOCK_BYTES / chunk.0) as usize),
            parked: VecDeque::new(),
            kept: BTreeMap::new(),
            last: VecDeque::new(),
            room: if machine.is_made_in_controller() {
                0
            } else {
                STRIPE_CACHE_BYTES.div_ceil(slice).min(256) as usize
            },
            refused: None,
        })
    }

    /// Data bytes of a row.
    fn row_bytes(&self) -> u64 {
        self.slice * (self.disks as u64 - 1)
    }

    /// Whether nothing is left to write.
    pub(super) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Whether the memory has room for a portion. If it is empty, it has: for one that is larger too, and for a flush.
    pub(super) fn has_room(&self, portion: &Portion) -> bool {
        let rows = (portion.bytes / self.row_bytes()) as usize + 2;
        let fits =
            portion.direction == Direction::Write && self.memory.is_some_and(|most| self.rows.len() + rows <= most);
        fits || self.rows.is_empty()
    }

    /// Of these rows those with which a pass may begin.
    pub(super) fn ready(&self, rows: impl RangeBounds<u64>) -> Vec<u64> {
        self.rows.range(rows).filter(|(_, row)| row.is_ready()).map(|(number, _)| *number).collect()
    }

    /// A portion joins its rows. Gives how many they are, and those with which a pass may begin.
    pub(super) fn join(&mut self, number: u32, portion: &Portion) -> (u32, Vec<u64>) {
        self.refused = None;
        let (mut count, mut ready) = (0, Vec::new());
        let (chunk, slice, data_disks) = (self.chunk, self.slice, self.disks as u64 - 1);
        chunks(chunk, portion.offset, portion.bytes, &mut |number_of_chunk, from, bytes| {
            let (stripe, index) = (number_of_chunk / data_disks, number_of_chunk % data_disks);
            chunks(slice, from, bytes, &mut |number_of_slice, from, bytes| {
                count += 1;
                let number_of_row = stripe * (chunk / slice) + number_of_slice;
                let row = self.rows.entry(number_of_row).or_default();
                row.waiting.spans.add(index * slice + from..index * slice + from + bytes);
                row.waiting.portions.extend(self.memory.is_none().then_some(number));
                if row.is_ready() {
                    ready.push(number_of_row);
                }
            });
        });
        (count, ready)
    }

    /// A pass begins with this row and all adjacent ones that are ready, if it may begin. Of those in memory only whole ones are,
    /// unless all are to be written. Gives the rows and the reads.
    pub(super) fn begin(&mut self, number: u64, writes_all: bool) -> Option<(Range<u64>, Vec<Piece>)> {
        if self.refused.as_ref().is_some_and(|(rows, all)| rows.contains(&number) && *all == writes_all) {
            return None;
        }
        let row_bytes = self.row_bytes();
        let is_whole = |row: &Row| row.waiting.spans.bytes() == row_bytes;
        let is_due = |row: &Row| row.is_ready() && (writes_all || self.memory.is_none() || is_whole(row));
        let goes = |number: &u64| self.rows.get(number).is_some_and(is_due);
        let first = (0..=number).rev().take_while(goes).last()?;
        let rows = first..(number..).find(|number| !goes(number))?;
        let read = rows.clone().map(|number| self.to_read(number)).collect::<Vec<_>>();
        let (mut reads, around) = (Vec::new(), first.saturating_sub(1)..=rows.end);
        for (number, chunks) in rows.clone().zip(&read) {
            self.add_pieces(number, Direction::Read, chunks, &mut reads);
        }
        if !reads.is_empty() && self.rows.range(around).any(|(_, row)| row.is_busy()) {
            self.refused = Some((rows, writes_all));
            return None;
        }
        self.refused = None;
        for (number, chunks) in rows.clone().zip(read) {
            self.keep(number, &chunks);
            self.rows.entry(number).and_modify(|row| row.passing = std::mem::take(&mut row.waiting));
        }
        Some((rows, joined(reads)))
    }

    /// What a pass with the waiting writes of a row reads, by chunk.
    fn to_read(&self, number: u64) -> Vec<Spans> {
        let (data, parity) = self.by_chunk(&self.rows[&number].waiting.spans);
        let others = data.iter().map(|spans| parity.without(spans)).collect();
        let old = data.into_iter().chain([parity]).collect();
        let kept = self.kept.get(&number).map_or(&[][..], |kept| kept);
        let [old, others] = [old, others].map(|mut chunks: Vec<Spans>| {
            chunks.iter_mut().zip(kept).for_each(|(spans, kept)| *spans = spans.without(kept));
            chunks
        });
        let bytes = |chunks: &[Spans]| chunks.iter().map(Spans::bytes).sum::<u64>();
        if bytes(&old) < bytes(&others) { old } else { others }
    }

    /// Keeps these bytes of a row's chunks too, of which the parity's is the last.
    fn keep(&mut self, number: u64, chunks: &[Spans]) {
        if self.room == 0 {
            return;
        }
        let kept = self.kept.entry(number).or_insert_with(|| {
            self.last.push_back(number);
            vec![Spans::default(); self.disks]
        });
        for (kept, more) in kept.iter_mut().zip(chunks) {
            more.0.iter().for_each(|span| kept.add(span.clone()));
        }
        if self.last.len() > self.room {
            self.last.pop_front().and_then(|oldest| self.kept.remove(&oldest));
        }
    }

    /// A pass has what it read. Gives its writes.
    pub(super) fn write(&mut self, rows: Range<u64>) -> Vec<Piece> {
        self.refused = None;
        let (mut writes, row_bytes) = (Vec::new(), self.row_bytes());
        for number in rows {
            let Some(Row { passing, waiting }) = self.rows.get_mut(&number) else { continue };
            let all = passing.spans.clone().union(&waiting.spans);
            if all.bytes() == row_bytes {
                passing.portions.append(&mut waiting.portions);
                (passing.spans, waiting.spans) = (all, Spans::default());
            }
            let written = passing.spans.clone();
            let (data, parity) = self.by_chunk(&written);
            let chunks = data.into_iter().chain([parity]).collect::<Vec<_>>();
            self.keep(number, &chunks);
            self.add_pieces(number, Direction::Write, &chunks, &mut writes);
        }
        joined(writes)
    }

    /// A pass has written. Gives its portions, and the rows in it and next to it that are ready.
    pub(super) fn end(&mut self, rows: Range<u64>) -> (Vec<u32>, Vec<u64>) {
        self.refused = None;
        let mut done = Vec::new();
        for number in rows.clone() {
            let Some(row) = self.rows.get_mut(&number) else { continue };
            done.append(&mut std::mem::take(&mut row.passing).portions);
            if !row.is_ready() {
                self.rows.remove(&number);
            }
        }
        (done, self.ready(rows.start.saturating_sub(1)..=rows.end))
    }

    /// Bytes of a row by data chunk, and those of the parity that they change.
    fn by_chunk(&self, written: &Spans) -> (Vec<Spans>, Spans) {
        let (mut data, mut parity) = (vec![Spans::default(); self.disks - 1], Spans::default());
        for span in &written.0 {
            chunks(self.slice, span.start, span.end - span.start, &mut |chunk, from, bytes| {
                data[chunk as usize].add(from..from + bytes);
                parity.add(from..from + bytes);
            });
        }
        (data, parity)
    }

    /// Adds the pieces of a row's chunks, of which the parity's is the last.
    fn add_pieces(&self, row: u64, direction: Direction, chunks: &[Spans], pieces: &mut Vec<Piece>) {
        let (disks, offset) = (self.disks as u64, row * self.slice);
        let stripe = row / (self.chunk / self.slice);
        for (index, spans) in (0..).zip(chunks) {
            let disk = ((disks - stripe % disks + index) % disks) as usize;
            let piece = |Range { start, end }| Piece { disk, offset: offset + start, bytes: end - start, direction };
            pieces.extend(spans.0.iter().cloned().map(piece));
        }
    }
}

/// Pieces of which those that are adjacent on a disk are one.
fn joined(mut pieces: Vec<Piece>) -> Vec<Piece> {
    pieces.sort_by_key(|piece| (piece.disk, piece.offset));
    pieces.dedup_by(|next, last| {
        let is_adjacent = last.disk == next.disk && last.offset + last.bytes == next.offset;
        last.bytes += if is_adjacent { next.bytes } else { 0 };
        is_adjacent
    });
    pieces
}

#[cfg(test)]
#[path = "rows_tests.rs"]
mod tests;
