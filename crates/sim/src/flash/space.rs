//! What is written, as far as garbage collection needs to know, and what it costs.
//!
//! Flash is erased in large blocks, and what is still valid in a block must be copied first. While there is erased flash nothing is
//! copied. Then each byte written at a random place programs 1/(1 − x) bytes: with a bytes of flash for each valid one, the emptiest
//! block holds a share x = e^(−a(1 − x)) of valid pages. This is the law of greedy collection under uniform writes. Data written in
//! order fill blocks that are overwritten as a whole, so a write in order over them copies nothing.
//!
//! Two numbers describe the drive. `mixed` are the bytes that lie in blocks with holes: a random write mixes what it covers, and a
//! stream restores as much as it writes. A stream over mixed data costs as much as random writes, so that one of a drive's capacity
//! recovers a worn drive. `area` are the addresses of the recent random writes, between the lowest and the highest. The larger of both
//! shares all spare flash; the rest lies in full blocks that nothing touches. Within the addresses that were written, data are
//! assumed to be spread evenly. Not modelled: hot and cold data within the area, and two areas far apart count as one.
//!
//! A write continues a stream if it begins where one of the last writes ended. Trims reduce the valid data.
//!
//! Sources: Hu, Eleftheriou, Haas, Iliadis and Pletka, "Write amplification analysis in flash-based solid state drives" (2009);
//! Desnoyers, "Analytic modeling of SSD write performance" (2012); Xiang and Kurkoski, "An improved analytic expression for
//! write amplification in NAND flash" (2012), whose figure for 30 % of spare flash the test has.

use super::drive::State;
use super::heat::decay;
use crate::disk::geometry::BLOCK_BYTES;
use halfpower_model::Bytes;

/// Streams that are known at a time.
const STREAMS: usize = 64;
/// Random writes after which their area is known.
const WRITES_OF_AREA: u32 = 2048;

/// From the lowest to behind the highest of some blocks.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Extent {
    from: u64,
    end: u64,
}

impl Extent {
    const NONE: Extent = Extent { from: u64::MAX, end: 0 };

    fn add(&mut self, from: u64, end: u64) {
        *self = Extent { from: self.from.min(from), end: self.end.max(end) };
    }

    fn holds(self, from: u64, end: u64) -> bool {
        self.from <= from && end <= self.end
    }

    fn bytes(self) -> f64 {
        (self.end.saturating_sub(self.from) * BLOCK_BYTES) as f64
    }
}

/// What a write comes to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Written {
    /// Whether it continues another write.
    pub continues: bool,
    /// Bytes that are programmed for each of it.
    pub amplification: f64,
}

/// The flash of a drive.
#[derive(Clone, Debug)]
pub struct Space {
    size: f64,
    /// All flash, bytes.
    whole: f64,
    erased: f64,
    valid: f64,
    mixed: f64,
    /// The addresses that were written.
    written: Extent,
    /// Bytes of the area, and the random writes of the next one.
    area: f64,
    next_area: Extent,
    scattered: u32,
    /// Bytes written in order since the excess was last computed.
    in_order: f64,
    /// Bytes copied for each byte that garbage collection makes room for.
    excess: f64,
    streams: Streams,
    /// What the last stream of trims covered.
    trimmed: Extent,
}

impl Space {
    /// A drive of `size` bytes with `spare` bytes more.
    pub fn new(size: Bytes, spare: Bytes, state: State) -> Space {
        let (size_bytes, whole) = (size.0 as f64, (size.0 + spare.0) as f64);
        let (erased, valid, mixed) = match state {
            State::Fresh => (whole, 0.0, 0.0),
            State::Filled => (spare.0 as f64, size_bytes, 0.0),
            State::Steady => (0.0, size_bytes, size_bytes),
        };
        Space {
            size: size_bytes,
            whole,
            erased,
            valid,
            mixed,
            written: if state == State::Fresh { Extent::NONE } else { Extent { from: 0, end: size.0 / BLOCK_BYTES } },
            area: 0.0,
            next_area: Extent::NONE,
            scattered: 0,
            in_order: 0.0,
            excess: amplification(whole / size_bytes) - 1.0,
            streams: Streams::new(),
            trimmed: Extent::NONE,
        }
    }

    /// Bytes of the drive that hold nothing.
    pub fn free(&self) -> f64 {
        (self.size - self.valid).max(0.0)
    }

    /// Whether a block holds data. If not all the written addresses do, its number decides, so that the answer changes only once.
    pub fn is_written(&self, block: u64) -> bool {
        let draw = || (block / 8).wrapping_mul(0x9E37_79B9_7F4A_7C15) as f64 / u64::MAX as f64;
        self.written.holds(block, block + 1)
            && (self.valid >= self.written.bytes() || draw() * self.written.bytes() < self.valid)
    }

    /// Blocks are written.
    pub fn write(&mut self, block: u64, count: u64) -> Written {
        let (end, bytes) = (block + count, (count * BLOCK_BYTES) as f64);
        self.written.add(block, end);
        if block < self.trimmed.end && self.trimmed.from < end {
            self.trimmed = Extent::NONE;
        }
        let new = (self.written.bytes() - self.valid).max(0.0);
        let (continues, is_again) = self.streams.write(block, end);
        let holes = if !continues {
            // Some of it is new, and some of it mixed, as everything between the written addresses is.
            self.valid += new * (bytes / self.written.bytes()).min(1.0);
            self.next_area.add(block, end);
            let area = self.next_area.bytes().max(self.area);
            self.mixed += (area - self.mixed).max(0.0) * (bytes / area).min(1.0);
            self.scattered += 1;
            bytes
        } else if is_again {
            0.0
        } else {
            let new = bytes.min(new);
            self.valid += new;
            let mixed = (bytes - new).min(self.mixed);
            self.mixed -= mixed;
            self.in_order += bytes;
            mixed
        };
        if self.scattered >= WRITES_OF_AREA {
            self.area = std::mem::replace(&mut self.next_area, Extent::NONE).bytes();
            self.scattered = 0;
            self.excess = self.excess_of_now();
        } else if self.in_order >= self.size / 256.0 {
            self.area = (self.area - self.in_order).max(0.0);
            self.in_order = 0.0;
            self.excess = self.excess_of_now();
        }
        if self.erased > 0.0 {
            self.erased -= bytes;
            return Written { continues, amplification: 1.0 };
        }
        Written { continues, amplification: 1.0 + self.excess * holes / bytes }
    }

    /// Blocks are given back.
    pub fn trim(&mut self, block: u64, count: u64) {
        let (end, bytes) = (block + count, (count * BLOCK_BYTES) as f64);
        if self.trimmed.holds(block, end) {
            return;
        }
        let gone = if self.trimmed.end == block {
            self.trimmed.add(block, end);
            bytes.min(self.valid)
        } else {
            self.trimmed = Extent { from: block, end };
            self.valid * (bytes / self.written.bytes().max(bytes)).min(1.0)
        };
        self.mixed -= self.mixed * gone / self.valid.max(1.0);
        self.valid -= gone;
        // Rounding may leave a little.
        if self.valid < self.whole * 1e-6 {
            (self.erased, self.excess) = (self.whole, 0.0);
            (self.valid, self.mixed, self.area, self.written) = (0.0, 0.0, 0.0, Extent::NONE);
        } else {
            self.excess = self.excess_of_now().min(self.excess);
        }
    }

    /// The excess of the data with holes, which have all spare flash.
    fn excess_of_now(&self) -> f64 {
        let copied = self.mixed.max(self.area).min(self.valid);
        match copied < self.whole * 1e-6 {
            true => 0.0,
            false => amplification((copied + self.whole - self.valid) / copied) - 1.0,
        }
    }
}

/// The last writes, each of which may become a stream.
#[derive(Clone, Debug)]
struct Streams {
    /// Behind the last write of each.
    next: [u64; STREAMS],
    /// What each wrote in order, and what encloses those that went on, as random writes need no search outside of it.
    wrote: [Extent; STREAMS],
    all: Extent,
    /// Whether it went on since the hand passed it: the clock algorithm chooses which one is forgotten.
    is_used: [bool; STREAMS],
    hand: usize,
}

impl Streams {
    fn new() -> Streams {
        Streams {
            next: [u64::MAX; STREAMS],
            wrote: [Extent::NONE; STREAMS],
            all: Extent::NONE,
            is_used: [false; STREAMS],
            hand: 0,
        }
    }

    /// Whether a write continues a stream, and whether that wrote there before: one that begins anew knows what it wrote.
    fn write(&mut self, block: u64, end: u64) -> (bool, bool) {
        // All are compared, which is faster than to stop at the right one.
        if !self.next.iter().fold(false, |found, next| found | (*next == block)) {
            while std::mem::take(&mut self.is_used[self.hand]) {
                self.hand = (self.hand + 1) % STREAMS;
            }
            let known = match self.all.holds(block, end) {
                true => self.wrote.iter().find(|wrote| wrote.holds(block, end)).copied(),
                false => None,
            };
            self.wrote[self.hand] = known.unwrap_or(Extent { from: block, end });
            self.next[self.hand] = end;
            self.hand = (self.hand + 1) % STREAMS;
            return (false, known.is_some());
        }
        let place = self.next.iter().position(|next| *next == block).unwrap_or(0);
        let is_again = self.wrote[place].holds(block, end);
        self.wrote[place].add(block, end);
        self.all.add(self.wrote[place].from, end);
        (self.next[place], self.is_used[place]) = (end, true);
        (true, is_again)
    }
}

/// Bytes programmed for each that is written at random, with `flash` bytes of flash for each valid one, more than one.
pub fn amplification(flash: f64) -> f64 {
    // The smaller root; the other is 1.
    let (mut low, mut high) = (0.0, 1.0 - 1e-6);
    for _ in 0..40 {
        let valid = (low + high) / 2.0;
        // Between the roots more would have to be valid than is.
        (low, high) = if decay(flash * (1.0 - valid)) > valid { (valid, high) } else { (low, valid) };
    }
    1.0 / (1.0 - low)
}
