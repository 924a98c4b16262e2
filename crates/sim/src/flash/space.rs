//! What is written where, as far as garbage collection needs to know, and what it costs.
//!
//! Flash is erased in blocks of many pages and a page is not written over: what is overwritten is garbage until its block is
//! erased, and what is not must be copied first. As long as there is erased flash nothing is copied. Then each byte written at
//! random makes so many be programmed as the pages that are still valid in the emptiest block demand: with α bytes of flash
//! for each valid one, a share x of them where x = e^(−α(1 − x)), and 1/(1 − x) bytes for each (W(−αe^(−α)) in closed form).
//! That is the law of greedy collection of large blocks under uniform writes. A stream empties whole blocks and copies nothing;
//! a mixture has of the excess what its share of scattered bytes is.
//!
//! The drive does not know its workload: it counts, over a few thousand writes, which of 256 parts of the addresses they went
//! to and how many did not continue another. The parts written to share all spare flash; the others are full blocks that
//! nobody touches. What is not modelled: writes that are hot and cold within a part, and how long a change takes to spread.
//!
//! What is given back (trimmed) is no longer valid, so that there is less to copy at once; where nothing is left, all is erased. As
//! with writes, trims that continue one another take what there is, and others as much as there is at random: the drive does
//! not know what lies where within a part, and in an order of no sense some of what was never trimmed twice stays.
//!
//! Sources: Hu, Eleftheriou, Haas, Iliadis and Pletka, "Write amplification analysis in flash-based solid state drives" (2009);
//! Desnoyers, "Analytic modeling of SSD write performance" (2012); Xiang and Kurkoski, "An improved analytic expression for
//! write amplification in NAND flash" (2012), whose figure for 30 % of spare flash the test has.

use super::decay;
use crate::disk::geometry::BLOCK_BYTES;
use halfpower_model::Bytes;

/// What was written before a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum State {
    /// Nothing: all flash is erased.
    #[default]
    Fresh,
    /// Everything once, in its order: what is spare is erased.
    Filled,
    /// Everything, and then at random until no more changed.
    Steady,
}

impl State {
    /// What each is called in a machine file.
    pub const WORDS: [(&'static str, State); 3] =
        [("fresh", State::Fresh), ("filled", State::Filled), ("steady", State::Steady)];
}

/// Parts of the addresses.
const PARTS: usize = 256;
/// Writes between two looks at the workload: enough at random to find all parts but one in e⁸.
const WRITES_A_LOOK: u32 = 2048;

/// A part of the addresses.
#[derive(Clone, Copy, Debug, Default)]
struct Part {
    /// Bytes of it that were written.
    valid: f64,
    /// Behind the last write in it.
    next: u64,
    /// Behind the last trim.
    trimmed_to: u64,
    /// In which look it was last written.
    look: u32,
}

/// What became of a write.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Written {
    /// Whether it continues another.
    pub continues: bool,
    /// How many bytes are programmed for each of it.
    pub amplification: f64,
}

/// The flash of a drive.
#[derive(Clone, Debug)]
pub struct Space {
    /// All of it, bytes.
    whole: f64,
    /// Erased.
    erased: f64,
    /// Blocks of a part.
    part_blocks: u64,
    parts: Vec<Part>,
    look: u32,
    writes: u32,
    bytes: f64,
    scattered_bytes: f64,
    /// Of what is written now, when nothing is erased.
    amplification: f64,
}

impl Space {
    /// A drive of so many bytes with others beside.
    pub fn new(size: Bytes, spare: Bytes, state: State) -> Space {
        let part_blocks = (size.0 / BLOCK_BYTES).div_ceil(PARTS as u64).max(1);
        let valid = if state == State::Fresh { 0.0 } else { size.0 as f64 / PARTS as f64 };
        let whole = (size.0 + spare.0) as f64;
        Space {
            whole,
            erased: match state {
                State::Fresh => whole,
                State::Filled => spare.0 as f64,
                State::Steady => 0.0,
            },
            part_blocks,
            parts: vec![Part { valid, next: u64::MAX, trimmed_to: u64::MAX, look: 0 }; PARTS],
            look: 1,
            writes: 0,
            bytes: 0.0,
            scattered_bytes: 0.0,
            amplification: amplification(whole / size.0 as f64),
        }
    }

    /// Blocks are written.
    pub fn write(&mut self, block: u64, count: u64) -> Written {
        let bytes = (count * BLOCK_BYTES) as f64;
        let number = self.part(block);
        let continues = self.parts[number].next == block
            || block.is_multiple_of(self.part_blocks) && number > 0 && self.parts[number - 1].next == block;
        let part_bytes = (self.part_blocks * BLOCK_BYTES) as f64;
        let part = &mut self.parts[number];
        let missing = part_bytes - part.valid;
        // What continues is new as long as anything is; at random it is as often as there is something that is.
        part.valid += if continues { bytes.min(missing) } else { bytes.min(part_bytes) * missing / part_bytes };
        (part.next, part.look) = (block + count, self.look);
        self.writes += 1;
        self.bytes += bytes;
        self.scattered_bytes += if continues { 0.0 } else { bytes };
        if self.writes >= WRITES_A_LOOK {
            self.take_stock();
        }
        if self.erased > 0.0 {
            self.erased -= bytes;
            return Written { continues, amplification: 1.0 };
        }
        Written { continues, amplification: self.amplification }
    }

    /// Blocks are given back.
    pub fn trim(&mut self, block: u64, count: u64) {
        let part_bytes = (self.part_blocks * BLOCK_BYTES) as f64;
        let (mut at, end) = (block, block + count);
        let mut continued = block.checked_sub(1).is_some_and(|last| self.parts[self.part(last)].trimmed_to == block);
        while at < end {
            let number = self.part(at);
            let part_end = (number as u64 + 1) * self.part_blocks;
            let upto = if number + 1 == PARTS { end } else { end.min(part_end) };
            let bytes = ((upto - at) * BLOCK_BYTES) as f64;
            let part = &mut self.parts[number];
            // As much of it as is valid, where it is not known to be.
            part.valid -=
                if continued { bytes.min(part.valid) } else { bytes.min(part_bytes) * part.valid / part_bytes };
            part.trimmed_to = upto;
            (at, continued) = (upto, true);
        }
        let valid: f64 = self.parts.iter().map(|part| part.valid).sum();
        // But for what rounding leaves.
        if valid < self.whole * 1e-6 {
            self.erased = self.whole;
            self.amplification = 1.0;
        } else {
            self.amplification = amplification(self.whole / valid).min(self.amplification);
        }
    }

    /// The part of a block.
    fn part(&self, block: u64) -> usize {
        ((block / self.part_blocks) as usize).min(PARTS - 1)
    }

    /// What the last writes make of garbage collection.
    fn take_stock(&mut self) {
        let (mut active, mut valid) = (0.0, 0.0);
        for part in &self.parts {
            valid += part.valid;
            active += if part.look == self.look { part.valid } else { 0.0 };
        }
        let excess = amplification((active + self.whole - valid) / active) - 1.0;
        self.amplification = 1.0 + excess * self.scattered_bytes / self.bytes;
        (self.look, self.writes, self.bytes, self.scattered_bytes) = (self.look + 1, 0, 0.0, 0.0);
    }
}

/// Bytes programmed for each that is written at random, with `flash` bytes of flash for each valid one, more than one.
pub fn amplification(flash: f64) -> f64 {
    // The smaller root; the other is 1. Below it each step comes nearer from the left.
    let (mut low, mut high) = (0.0, 1.0 - 1e-6);
    for _ in 0..40 {
        let valid = (low + high) / 2.0;
        // Between the roots more would have to be valid than is.
        (low, high) = if decay(flash * (1.0 - valid)) > valid { (valid, high) } else { (low, valid) };
    }
    1.0 / (1.0 - low)
}
