//! The stripe cache of a RAID5 that the system makes: what is written of a row before its turn comes is written together.
//!
//! Writes of a row are joined until the row is written. Unless it is whole, what its parity needs and is not known is read first:
//! old bytes and old parity, or, where that is no more, what is not written of the other disks, for each column of the row by
//! itself. What came meanwhile is joined, so the row may be whole by then. Rows that the page cache writes in part wait, as more
//! of them is on its way, until no whole one is being written and none is being read for, and then go together; what a program
//! writes directly does not wait. What was read and written of the last rows is known, and not read again. It does not read the
//! rest of a page of which a write has a part.
//! Source: Linux, drivers/md/raid5.c: handle_stripe_dirtying (the others where both are as many: rmw_level 1);
//! raid5_activate_delayed, while preread_active_stripes is not 0; hold_list, after pending_full_writes; REQ_SYNC, which a direct
//! write has, sets STRIPE_PREREAD_ACTIVE at once.

use crate::command::Direction;
use crate::machine::{Machine, Made};
use crate::volume::{Piece, Portion, Stage, Volume};
use std::collections::VecDeque;
use std::ops::Range;

/// Ranges of a chunk, in their order, that do not touch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Spans(Vec<Range<u64>>);

impl Spans {
    pub(super) fn add(&mut self, new: Range<u64>) {
        let first = self.0.partition_point(|span| span.end < new.start);
        let behind = self.0.partition_point(|span| span.start <= new.end);
        let touched = &self.0[first..behind];
        let start = touched.first().map_or(new.start, |span| span.start.min(new.start));
        let end = touched.last().map_or(new.end, |span| span.end.max(new.end));
        self.0.splice(first..behind, std::iter::once(start..end));
    }

    pub(super) fn add_all(&mut self, others: &Spans) {
        others.0.iter().for_each(|span| self.add(span.clone()));
    }

    pub(super) fn are_all_of(&self, chunk: u64) -> bool {
        self.0.first().is_some_and(|span| *span == (0..chunk))
    }

    pub(super) fn has(&self, place: u64) -> bool {
        self.0.iter().any(|span| span.contains(&place))
    }
}

/// A row that is to be written, or is.
#[derive(Debug)]
pub(super) struct Row {
    pub(super) number: u64,
    /// Whose pieces those under way are, and the others that are done when it is.
    pub(super) portions: Vec<u32>,
    /// Of each chunk that is not parity.
    pub(super) written: Vec<Spans>,
    /// Of each chunk, the one of parity last.
    pub(super) known: Vec<Spans>,
    pub(super) is_whole: bool,
    pub(super) is_lazy: bool,
    pub(super) stage: Option<Stage>,
}

impl Row {
    /// Reads what parity needs and is not known, of each chunk.
    pub(super) fn lacks(&self) -> Vec<Spans> {
        let parity = self.written.len();
        let mut lacks = vec![Spans::default(); parity + 1];
        let mut ends: Vec<u64> = self
            .written
            .iter()
            .chain(&self.known)
            .flat_map(|spans| &spans.0)
            .flat_map(|span| [span.start, span.end])
            .collect();
        ends.sort_unstable();
        ends.dedup();
        for column in ends.windows(2) {
            let (from, to) = (column[0], column[1]);
            let is_written = |chunk: &usize| *chunk < parity && self.written[*chunk].has(from);
            if !(0..parity).any(|chunk| is_written(&chunk)) {
                continue;
            }
            let unknown = |chunk: &usize| !self.known[*chunk].has(from);
            let old: Vec<usize> =
                (0..=parity).filter(|chunk| *chunk == parity || is_written(chunk)).filter(unknown).collect();
            let others: Vec<usize> = (0..parity).filter(|chunk| !is_written(chunk)).filter(unknown).collect();
            let fewer = if old.len() < others.len() { old } else { others };
            fewer.into_iter().for_each(|chunk| lacks[chunk].add(from..to));
        }
        lacks
    }

    /// What is written of each chunk, the parity with it.
    pub(super) fn writes(&self) -> Vec<Spans> {
        let mut parity = Spans::default();
        self.written.iter().for_each(|spans| parity.add_all(spans));
        self.written.iter().cloned().chain([parity]).collect()
    }
}

/// Rows that are written, and what is known of the last.
#[derive(Debug)]
pub(super) struct Rows {
    pub(super) chunk: u64,
    pub(super) disks: usize,
    /// Of how many rows something is known.
    pub(super) most_known: usize,
    /// In the order in which they came.
    pub(super) rows: Vec<Row>,
    /// The last is the latest.
    pub(super) known: VecDeque<(u64, Vec<Spans>)>,
    pub(super) whole_under_way: u32,
}

impl Rows {
    /// None where there is no such cache.
    pub(super) fn of(machine: &Machine) -> Option<Rows> {
        match (machine.volume, &machine.made) {
            (Volume::Raid5 { chunk, cache: Some(cache) }, Made::InSoftware) => Some(Rows {
                chunk: chunk.0,
                disks: machine.disks.len(),
                most_known: (cache.0 / chunk.0) as usize,
                rows: Vec::new(),
                known: VecDeque::new(),
                whole_under_way: 0,
            }),
            _ => None,
        }
    }

    /// Bytes of a row without its parity.
    pub(super) fn row_bytes(&self) -> u64 {
        self.chunk * (self.disks as u64 - 1)
    }

    /// A portion, of one row, is to be written. Gives whether its row goes on now.
    pub(super) fn join(&mut self, number: u32, portion: &Portion, is_lazy: bool) -> bool {
        let in_row = self.disks - 1;
        let row_bytes = self.row_bytes();
        let row = portion.offset / row_bytes;
        let found = self.rows.iter().position(|open| open.number == row && open.stage != Some(Stage::Itself));
        let place = found.unwrap_or_else(|| {
            let known = self.known.iter().position(|(known, _)| *known == row).and_then(|at| self.known.remove(at));
            self.rows.push(Row {
                number: row,
                portions: Vec::new(),
                written: vec![Spans::default(); in_row],
                known: known.map_or_else(|| vec![Spans::default(); self.disks], |(_, known)| known),
                is_whole: false,
                is_lazy: true,
                stage: None,
            });
            self.rows.len() - 1
        });
        let open = &mut self.rows[place];
        open.portions.push(number);
        open.is_lazy &= is_lazy;
        let (mut at, end) = (portion.offset % row_bytes, portion.offset % row_bytes + portion.bytes);
        while at < end {
            let (chunk, within) = (at / self.chunk, at % self.chunk);
            let bytes = (end - at).min(self.chunk - within);
            open.written[chunk as usize].add(within..within + bytes);
            at += bytes;
        }
        open.is_whole = open.written.iter().all(|spans| spans.are_all_of(self.chunk));
        let may_wait = open.is_lazy && !open.is_whole;
        open.stage.is_none() && !(may_wait && self.is_busy())
    }

    /// Whether lazy rows wait.
    pub(super) fn is_busy(&self) -> bool {
        self.whole_under_way > 0 || self.rows.iter().any(|row| row.stage == Some(Stage::Before))
    }

    /// The pieces with which the row of a portion goes on, and whose they are.
    pub(super) fn go_on(&mut self, number: u32) -> Option<(u32, Vec<Piece>)> {
        let place = self.rows.iter().position(|row| row.portions.contains(&number))?;
        let (chunk, disks) = (self.chunk, self.disks);
        let row = &mut self.rows[place];
        let lacks = row.lacks();
        let is_read = lacks.iter().any(|spans| !spans.0.is_empty());
        let (stage, direction, spans) = match is_read {
            true => (Stage::Before, Direction::Read, lacks),
            false => (Stage::Itself, Direction::Write, row.writes()),
        };
        row.stage = Some(stage);
        row.known.iter_mut().zip(&spans).for_each(|(known, spans)| known.add_all(spans));
        let first = disks - (row.number % disks as u64) as usize;
        let mut pieces = Vec::new();
        for (index, spans) in spans.iter().enumerate() {
            let disk = (first + index) % disks;
            let offset = row.number * chunk;
            let piece = |span: &Range<u64>| Piece {
                disk,
                offset: offset + span.start,
                bytes: span.end - span.start,
                direction,
            };
            pieces.extend(spans.0.iter().map(piece));
        }
        let (row, leader) = (row.number, row.portions[0]);
        if stage == Stage::Itself {
            self.whole_under_way += u32::from(self.rows[place].is_whole);
            self.known.push_back((row, self.rows[place].known.clone()));
            while self.known.len() > self.most_known {
                self.known.pop_front();
            }
        }
        Some((leader, pieces))
    }

    /// The portions that are done when a row's first one is; none while it is not written.
    pub(super) fn done(&mut self, leader: u32) -> Option<Vec<u32>> {
        let is_it = |row: &Row| row.portions[0] == leader && row.stage == Some(Stage::Itself);
        let row = self.rows.remove(self.rows.iter().position(is_it)?);
        self.whole_under_way -= u32::from(row.is_whole);
        Some(row.portions)
    }

    /// Of rows that have waited the first portions.
    pub(super) fn may_begin(&self) -> Vec<u32> {
        if self.is_busy() {
            return Vec::new();
        }
        let waiting = self.rows.iter().filter(|row| row.stage.is_none());
        waiting.map(|row| row.portions[0]).collect()
    }
}
