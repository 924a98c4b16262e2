//! The units (planes) that read and program, and the channels between them and the controller.
//!
//! Page placement rotates from row to row: a stream uses all units equally, and random addresses hit random units. Each unit serves
//! its reads first come, first served. All programming is one fluid over the units and one over the channels, which gets the time
//! that reads leave; the slower of the two sets the pace. MQSim's scheduler prefers reads in the same way.
//!
//! Garbage collection moves pages over the channels twice, to the controller and back, because they have to be checked and corrected
//! on the way. MQSim does so by default (`Use_Copyback_for_GC`).

use super::drive::{Erase, FlashDrive};
use crate::resource::{Line, Resource};
use halfpower_model::random::Random;
use std::sync::Arc;

/// A read-retry table ends.
const READS_MOST: u32 = 16;

/// The time of a page that stores the first, second or third bit of its cells; `number` tells which.
fn of_kind(ns: u64, spread: f64, number: u64) -> u64 {
    if spread == 0.0 { ns } else { (ns as f64 * (1.0 + spread * ((number % 3) as f64 - 1.0)) + 0.5) as u64 }
}

/// Work that is spread over parts of a kind, done as soon as there is time: reads first.
#[derive(Clone, Copy, Debug, Default)]
pub struct Fluid {
    line: Line,
    written_ns: u64,
}

impl Fluid {
    /// A read takes the time from writes that are not done.
    fn read(&mut self, now_ns: u64, ns: u64) {
        self.line.hold(now_ns, ns, ns);
        if self.written_ns > now_ns {
            self.written_ns += ns;
        }
    }

    /// Returns when a write that arrives now is done.
    pub fn write(&mut self, now_ns: u64, ns: u64) -> u64 {
        self.written_ns = self.line.hold(now_ns, ns, ns);
        self.written_ns
    }

    /// When everything is done.
    pub fn free_ns(&self) -> u64 {
        self.line.free_ns()
    }

    /// How long it was at work until now.
    pub fn busy_ns(&self, now_ns: u64) -> u64 {
        self.line.busy_ns(now_ns)
    }
}

/// When the bytes of a read come from the flash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Came {
    /// The first page.
    pub begins_ns: u64,
    /// The last page.
    pub ends_ns: u64,
}

/// The units and channels at work.
#[derive(Clone, Debug)]
pub struct Units {
    drive: Arc<FlashDrive>,
    channel_ns_per_byte: f64,
    /// When each has read what it was asked for.
    free_ns: Vec<u64>,
    channels: Vec<Resource>,
    /// The work of all units, and of all channels.
    fluids: [Fluid; 2],
    /// Probability that a unit that does not read erases, while there is something to write.
    erasing: f64,
    random: Random,
}

impl Units {
    /// All free.
    pub fn new(drive: Arc<FlashDrive>, seed: u64) -> Units {
        let programs_ns = |erase: Erase| (erase.block.0 as f64 / drive.page.0 as f64).max(1.0) * drive.program.0 as f64;
        Units {
            channel_ns_per_byte: 1e9 / drive.channel_rate.0,
            free_ns: vec![0; drive.units as usize],
            channels: (0..drive.channels).map(|_| Resource::new(1)).collect(),
            fluids: [Fluid::default(); 2],
            erasing: drive.erase.map_or(0.0, |erase| erase.time.0 as f64 / programs_ns(erase).max(1.0)),
            random: Random::new(seed),
            drive,
        }
    }

    /// Time of all units together, and of all channels, for each byte of a log if so many bytes are programmed for it. All but one
    /// of them are copies, which are read and transferred first.
    pub fn write_ns_per_byte(&self, amplification: f64) -> [f64; 2] {
        let FlashDrive { read, program, page, units, channels, .. } = *self.drive;
        let copies = amplification - 1.0;
        let page_ns = amplification * program.0 as f64 + copies * read.0 as f64;
        let all = page_ns / (page.0 as f64 * f64::from(units));
        [all, (amplification + copies) * self.channel_ns_per_byte / f64::from(channels)]
    }

    /// Reads bytes from an address on, not before `from_ns`.
    pub fn read(&mut self, now_ns: u64, from_ns: u64, offset: u64, bytes: u64) -> Came {
        let (page, units) = (self.drive.page.0, u64::from(self.drive.units));
        let (first, end) = (offset / page, offset + bytes);
        let pages = end.div_ceil(page) - first;
        let mut came = Came { begins_ns: u64::MAX, ends_ns: 0 };
        // With more pages than units, each unit has several.
        for index in 0..pages.min(units) {
            let turns = (pages - index).div_ceil(units);
            let start = (first + index) * page;
            let outside = offset.saturating_sub(start) + (start + page).saturating_sub(end);
            // Each row begins elsewhere, by the multiplier of Knuth's multiplicative hash.
            let turn = ((first + index) / units).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 33;
            let unit = ((first + index + turn) % units) as usize;
            let free_ns = self.free_ns[unit].max(from_ns);
            let [wait_ns, suspend_ns] = self.in_the_way(free_ns);
            let service_ns = suspend_ns + turns * self.page_ns(first + index + turn / 3);
            let read_ns = free_ns + wait_ns + service_ns;
            self.free_ns[unit] = read_ns;
            let over_ns = ((turns * page - outside) as f64 * self.channel_ns_per_byte + 0.5) as u64;
            self.fluids[0].read(now_ns, service_ns / units);
            self.fluids[1].read(now_ns, over_ns / u64::from(self.drive.channels));
            let channel = unit % self.channels.len();
            let done_ns = self.channels[channel].serve(now_ns, read_ns, over_ns);
            came = Came { begins_ns: came.begins_ns.min(done_ns), ends_ns: came.ends_ns.max(done_ns) };
        }
        came
    }

    /// How long a read waits for an erasure, and for the suspension of a program, if there is something to write.
    fn in_the_way(&mut self, at_ns: u64) -> [u64; 2] {
        match self.drive.erase {
            _ if self.fluids[0].written_ns <= at_ns => [0, 0],
            Some(erase) if self.random.next_unit() < self.erasing => {
                let rest_ns = self.random.below(erase.time.0);
                [erase.suspend.map_or(rest_ns, |suspend| rest_ns.min(suspend.0)), 0]
            }
            _ => [0, self.drive.suspend.0],
        }
    }

    /// The time to read a page, and to read it again until it can be corrected.
    fn page_ns(&mut self, number: u64) -> u64 {
        let once_ns = of_kind(self.drive.read.0, self.drive.read_spread, number);
        let mut reads = 1;
        while self.drive.retry > 0.0 && reads < READS_MOST && self.random.next_unit() < self.drive.retry {
            reads += 1;
        }
        u64::from(reads) * once_ns
    }

    /// The time of a single page over its channel and into flash, by its own program time unless another is known.
    pub fn page_program_ns(&self, known_ns: Option<u64>) -> u64 {
        let FlashDrive { program, page, .. } = *self.drive;
        known_ns.unwrap_or(program.0) + (page.0 as f64 * self.channel_ns_per_byte + 0.5) as u64
    }

    /// All of them write for so long, units and channels at once.
    pub fn write(&mut self, now_ns: u64, [units_ns, channels_ns]: [f64; 2]) {
        self.fluids[0].write(now_ns, (units_ns + 0.5) as u64);
        self.fluids[1].write(now_ns, (channels_ns + 0.5) as u64);
    }

    /// When everything is written.
    pub fn written_ns(&self) -> u64 {
        self.fluids[0].written_ns.max(self.fluids[1].written_ns)
    }

    /// How long they have had nothing to do.
    pub fn idle_ns(&self, now_ns: u64) -> u64 {
        now_ns.saturating_sub(self.fluids[0].free_ns().max(self.fluids[1].free_ns()))
    }

    /// How long units and channels were at work on average.
    pub fn busy_ns(&self, now_ns: u64) -> [u64; 2] {
        self.fluids.map(|fluid| fluid.busy_ns(now_ns))
    }
}
