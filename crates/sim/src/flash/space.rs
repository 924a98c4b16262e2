//! What is written where, as far as garbage collection needs to know, and what it costs.
//!
//! Flash is erased in blocks of many pages and a page is not written over: what is overwritten is garbage until its block is
//! erased, and what is not must be copied first. As long as there is erased flash nothing is copied. Then each byte written at
//! random makes so many be programmed as the pages that are still valid in the emptiest block demand: with α bytes of flash
//! for each valid one, a share x of them where x = e^(−α(1 − x)), and 1/(1 − x) bytes for each (W(−αe^(−α)) in closed form).
//! That is the law of greedy collection of large blocks under uniform writes. What is written in order fills blocks whose pages are
//! all overwritten together, so that nothing is copied for a write in order over such.
//!
//! Whether it finds such is a matter of what was written before, in bytes: what a drive was given at random lies mixed, and until it is
//! written anew a stream over it leaves as many holes as writes at random do. So 256 parts of the addresses each keep how much of them is
//! mixed, and each write costs what it overwrites demands: one that continues none, or comes to what is mixed, all of the law's excess, and one in
//! order over what was written in order none. What is mixed, and all of the parts that were lately written at random, share all spare flash;
//! the rest are full blocks that nobody touches. A stream over a drive that was worn at random so recovers while it writes as much as
//! the drive holds; greedy collection page by page, copies in blocks of their own, takes the same course (within 15 % in the test), and
//! random writes to a part of such a drive gain nothing there (`collection_tests`).
//!
//! Several streams may go through one part: where they go on is known of 64 of them beside the last of each part. Where within a part it is
//! mixed is not known, but for the stream that it was last written by: what that passed is in order, and
//! elsewhere a stream comes to what is mixed first. What is not modelled: writes that are hot and cold within a part,
//! and how a drive's old garbage slowly comes to those parts that are written.
//!
//! What is given back (trimmed) is no longer valid, so that there is less to copy at once; where nothing is left, all is erased. As
//! with writes, trims that continue one another take what there is, and others as much as there is at random: the drive does
//! not know what lies where within a part, and in an order of no sense some of what was never trimmed twice stays.
//!
//! Sources: Hu, Eleftheriou, Haas, Iliadis and Pletka, "Write amplification analysis in flash-based solid state drives" (2009);
//! Desnoyers, "Analytic modeling of SSD write performance" (2012); Xiang and Kurkoski, "An improved analytic expression for
//! write amplification in NAND flash" (2012), whose figure for 30 % of spare flash the test has.

use super::heat::decay;
use crate::disk::geometry::BLOCK_BYTES;
use crate::named::named;
use halfpower_model::Bytes;

named! {
/// What was written before a run.
pub enum State {
    /// Nothing: all flash is erased.
    Fresh = "fresh",
    /// Everything once, in its order: what is spare is erased.
    Filled = "filled",
    /// Everything, and then at random until no more changed.
    Steady = "steady",
}
}

/// Parts of the addresses.
const PARTS: usize = 256;
/// Streams that are known beside the last of each part: of several that write to the same part.
const STREAMS: usize = 64;
/// Writes that continue none between two looks at which parts they go to: enough at random to find all parts but one in e⁸.
const WRITES_A_LOOK: u32 = 2048;

/// A part of the addresses.
#[derive(Clone, Copy, Debug)]
struct Part {
    /// Bytes of it that were written,
    valid: f64,
    /// and of those the ones that lie mixed.
    mixed: f64,
    /// The last stream in it: from which block on,
    from: u64,
    /// how far it has come,
    upto: u64,
    /// and behind its last write.
    next: u64,
    /// Behind the last trim.
    trimmed_to: u64,
    /// In which look it was last written at random.
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
    /// Bytes that the drive offers.
    size: f64,
    /// All flash, bytes.
    whole: f64,
    /// Erased.
    erased: f64,
    /// All that was written.
    valid: f64,
    /// Blocks of a part.
    part_blocks: u64,
    parts: Vec<Part>,
    /// Behind the last writes of other streams in a part than its last; what was so for longest is the first.
    others: [u64; STREAMS],
    look: u32,
    /// Writes that continued none since it began,
    scattered: u32,
    /// and bytes that did since stock was taken.
    in_order: f64,
    /// What is copied for each byte that garbage collection has to make room for, when nothing is erased.
    excess: f64,
}

impl Space {
    /// A drive of so many bytes with others beside.
    pub fn new(size: Bytes, spare: Bytes, state: State) -> Space {
        let part_blocks = (size.0 / BLOCK_BYTES).div_ceil(PARTS as u64).max(1);
        let valid = if state == State::Fresh { 0.0 } else { size.0 as f64 / PARTS as f64 };
        let mixed = if state == State::Steady { valid } else { 0.0 };
        let whole = (size.0 + spare.0) as f64;
        let (from, upto, next, trimmed_to) = (0, 0, u64::MAX, u64::MAX);
        Space {
            size: size.0 as f64,
            whole,
            erased: match state {
                State::Fresh => whole,
                State::Filled => spare.0 as f64,
                State::Steady => 0.0,
            },
            valid: valid * PARTS as f64,
            part_blocks,
            parts: vec![Part { valid, mixed, from, upto, next, trimmed_to, look: 0 }; PARTS],
            others: [u64::MAX; STREAMS],
            look: 2,
            scattered: 0,
            in_order: 0.0,
            excess: amplification(whole / size.0 as f64) - 1.0,
        }
    }

    /// Bytes of the drive that hold nothing.
    pub fn free(&self) -> f64 {
        (self.size - self.valid).max(0.0)
    }

    /// Blocks are written.
    pub fn write(&mut self, block: u64, count: u64) -> Written {
        let number = self.part(block);
        let continues = self.continues(number, block);
        let part_bytes = (self.part_blocks * BLOCK_BYTES) as f64;
        let (mut at, end, mut holes) = (block, block + count, 0.0);
        while at < end {
            let number = self.part(at);
            let upto = self.end_within(number, end);
            if at > block {
                self.give_way(self.parts[number].next, 0);
            }
            let part = &mut self.parts[number];
            let before = part.valid;
            if continues {
                holes += part.write_in_order(at, upto, part_bytes);
            } else {
                part.write_at_random(at, upto, part_bytes, self.look);
                holes += ((upto - at) * BLOCK_BYTES) as f64;
            }
            self.valid += part.valid - before;
            at = upto;
        }
        let bytes = (count * BLOCK_BYTES) as f64;
        if continues {
            self.in_order += bytes;
        } else {
            self.scattered += 1;
        }
        if self.scattered >= WRITES_A_LOOK || self.in_order >= part_bytes {
            self.take_stock();
        }
        if self.erased > 0.0 {
            self.erased -= bytes;
            return Written { continues, amplification: 1.0 };
        }
        Written { continues, amplification: 1.0 + self.excess * holes / bytes }
    }

    /// Whether a write that begins with this block of a part goes on where another ended.
    fn continues(&mut self, number: usize, block: u64) -> bool {
        let last = self.parts[number].next;
        if last == block {
            return true;
        }
        let enters = block.is_multiple_of(self.part_blocks) && number > 0 && self.parts[number - 1].next == block;
        // All are looked at, as that takes less time than to stop at the right one.
        let is_known = self.others.iter().fold(false, |is_known, next| is_known | (*next == block));
        let place = self.others.iter().position(|next| is_known && *next == block);
        self.give_way(last, place.unwrap_or(0));
        enters || is_known
    }

    /// The last stream of a part is one of the others, where one of them was until now.
    fn give_way(&mut self, last: u64, place: usize) {
        self.others.copy_within(place + 1.., place);
        self.others[STREAMS - 1] = last;
    }

    /// Blocks are given back.
    pub fn trim(&mut self, block: u64, count: u64) {
        let part_bytes = (self.part_blocks * BLOCK_BYTES) as f64;
        let (mut at, end) = (block, block + count);
        let mut continued = block.checked_sub(1).is_some_and(|last| self.parts[self.part(last)].trimmed_to == block);
        while at < end {
            let number = self.part(at);
            let upto = self.end_within(number, end);
            let bytes = ((upto - at) * BLOCK_BYTES) as f64;
            let part = &mut self.parts[number];
            // As much of it as is valid, where it is not known to be.
            let gone = if continued { bytes.min(part.valid) } else { bytes.min(part_bytes) * part.valid / part_bytes };
            part.mixed -= part.mixed * gone / part.valid.max(1.0);
            part.valid -= gone;
            (part.trimmed_to, part.from, part.upto) = (upto, 0, 0);
            (at, continued) = (upto, true);
        }
        self.valid = self.parts.iter().map(|part| part.valid).sum();
        // But for what rounding leaves.
        if self.valid < self.whole * 1e-6 {
            self.erased = self.whole;
            self.excess = 0.0;
        } else {
            self.excess = (amplification(self.whole / self.valid) - 1.0).min(self.excess);
        }
    }

    /// Where blocks up to `end` leave a part.
    fn end_within(&self, number: usize, end: u64) -> u64 {
        let part_end = (number as u64 + 1) * self.part_blocks;
        if number + 1 == PARTS { end } else { end.min(part_end) }
    }

    /// The part of a block.
    fn part(&self, block: u64) -> usize {
        ((block / self.part_blocks) as usize).min(PARTS - 1)
    }

    /// What the writes of late make of garbage collection.
    fn take_stock(&mut self) {
        if self.scattered >= WRITES_A_LOOK {
            (self.look, self.scattered) = (self.look + 1, 0);
        }
        self.in_order = 0.0;
        self.valid = self.parts.iter().map(|part| part.valid).sum();
        // Writes at random leave holes all over a part.
        let has_holes = |part: &Part| if part.look + 1 >= self.look { part.valid } else { part.mixed };
        let copied: f64 = self.parts.iter().map(has_holes).sum();
        // But for what rounding leaves.
        self.excess = if copied < self.whole * 1e-6 {
            0.0
        } else {
            amplification((copied + self.whole - self.valid) / copied) - 1.0
        };
    }
}

impl Part {
    /// Blocks are written that continue none.
    fn write_at_random(&mut self, at: u64, upto: u64, part_bytes: f64, look: u32) {
        let share = (((upto - at) * BLOCK_BYTES) as f64 / part_bytes).min(1.0);
        // It is new as often as there is something that is, and comes to what is in order as often as there is that.
        self.valid += share * (part_bytes - self.valid).max(0.0);
        self.mixed += share * (part_bytes - self.mixed).max(0.0);
        // A stream that begins anew knows what it has passed.
        if at < self.from || upto > self.upto {
            (self.from, self.upto) = (at, upto);
        }
        (self.next, self.look) = (upto, look);
    }

    /// Blocks are written in order; gives how many bytes of what they overwrite are mixed.
    fn write_in_order(&mut self, at: u64, upto: u64, part_bytes: f64) -> f64 {
        self.next = upto;
        if self.from <= at && upto <= self.upto {
            return 0.0;
        }
        if at < self.from || at > self.upto {
            self.from = at;
        }
        self.upto = upto;
        let bytes = ((upto - at) * BLOCK_BYTES) as f64;
        // It is new as long as anything is, and then mixed as long as anything is that.
        let new = bytes.min((part_bytes - self.valid).max(0.0));
        self.valid += new;
        let mixed = (bytes - new).min(self.mixed);
        self.mixed -= mixed;
        mixed
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
