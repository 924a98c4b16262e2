//! The buffer for writes, and how it empties.
//!
//! A write is done when the buffer has room for it. The buffer empties in the order in which it was filled, as fast as the
//! units program, or the channels bring it to them, which is slower where garbage collection copies. Flash that is written faster (one bit a cell) comes first
//! as long as it has room; what it holds is copied on while the drive has nothing else to do. All of it is a fluid: one number
//! tells when all is out, and from that what there is room for.

use super::units::{Array, Both, Units};
use crate::bounds::{Day, MOST_BYTES, Rate, Size};
use crate::table::table;
use halfpower_model::Bytes;

table! {
    /// Flash that is written faster.
    #[derive(Copy)]
    pub FastArea {
        /// its capacity on an empty drive
        size: Size<512, MOST_BYTES>,
        /// part of it that a full drive keeps, at most `size`; the rest shrinks with the free space; without it: all
        always: Option<Size<0, MOST_BYTES>>,
        /// write throughput into it
        rate: Rate,
        /// throughput out of it while the drive is idle
        copy_rate: Rate,
        /// idle time before that begins
        rest: Day,
    }
}

impl FastArea {
    /// Of all units together, into it.
    fn ns_per_byte(&self) -> f64 {
        1e9 / self.rate.0
    }
}

/// A write on its way through the buffer.
#[derive(Clone, Copy, Debug)]
pub struct Passage {
    /// Of the host.
    pub bytes: u64,
    /// With what is written about them.
    pub programmed: u64,
    /// Bytes programmed for each of those.
    pub amplification: f64,
    /// Bytes of the drive that hold nothing.
    pub free: f64,
}

/// The buffer.
#[derive(Clone, Debug)]
pub struct Drain {
    buffer: Option<Bytes>,
    fast_area: Option<FastArea>,
    /// What the fast area holds.
    fast_bytes: f64,
    /// When all that came is in flash: the units have programmed it, and the channels brought it.
    empty: Both,
    /// How long it takes to empty when it is full, of what came lately.
    full_ns: f64,
    /// When the last write was in the buffer: nobody overtakes.
    last_ns: u64,
    /// How long the page that it is on takes over its channel and into flash.
    last_page_ns: u64,
}

impl Drain {
    /// Empty.
    pub fn new(buffer: Option<Bytes>, fast_area: Option<FastArea>) -> Drain {
        Drain { buffer, fast_area, fast_bytes: 0.0, empty: Both::default(), full_ns: 0.0, last_ns: 0, last_page_ns: 0 }
    }

    /// When all that came until now is in flash.
    fn empty_ns(&self) -> u64 {
        self.empty.most_ns()
    }

    /// Until when units have something to program, of what came until now.
    pub fn programs_until_ns(&self) -> u64 {
        self.empty.units_ns
    }

    /// When all that came until now would outlast a loss of power: the last page is programmed as a whole, however little of
    /// all units' time it takes.
    pub fn safe_ns(&self) -> u64 {
        self.empty_ns().max(self.last_ns + self.last_page_ns)
    }

    /// Reads take so much of the time of all units and channels.
    pub fn lose(&mut self, now_ns: u64, ns: Both) {
        let later = |until_ns, ns| if until_ns > now_ns { until_ns + ns } else { until_ns };
        self.empty = Both {
            units_ns: later(self.empty.units_ns, ns.units_ns),
            channels_ns: later(self.empty.channels_ns, ns.channels_ns),
        };
    }

    /// Takes a write that the controller has seen to at `at_ns`; gives when it is done.
    pub fn write(&mut self, now_ns: u64, at_ns: u64, passage: Passage, units: &mut Units) -> u64 {
        let Passage { bytes, programmed, amplification, .. } = passage;
        let area = self.fast_area;
        let area = area.filter(|area| self.has_room(*area, units.idle_ns(now_ns), passage));
        let array = *units.array();
        let (ns_per_byte, over_ns_per_byte) = match area {
            Some(area) => (area.ns_per_byte(), array.over_ns_per_byte(1.0)),
            None => (array.ns_per_byte(amplification), array.over_ns_per_byte(amplification)),
        };
        let [units_ns, channels_ns] = [ns_per_byte, over_ns_per_byte].map(|ns| (programmed as f64 * ns + 0.5) as u64);
        let took = Both { units_ns, channels_ns };
        self.empty = units.work(now_ns, took);
        self.last_page_ns = page_ns(&array, area);
        let in_ns = match self.buffer {
            // So many bytes may still be on their way when this one is in.
            Some(room) => {
                let weight = if self.full_ns == 0.0 { 1.0 } else { (bytes as f64 / room.0 as f64).min(1.0) };
                self.full_ns += (took.most_ns() as f64 / bytes as f64 * room.0 as f64 - self.full_ns) * weight;
                self.empty_ns().saturating_sub(self.full_ns as u64).max(at_ns)
            }
            None => self.empty_ns().max(at_ns + self.last_page_ns),
        };
        self.last_ns = self.last_ns.max(in_ns);
        self.last_ns
    }

    /// Whether the fast area takes a write, after what it passed on while the drive was idle.
    fn has_room(&mut self, area: FastArea, idle_ns: u64, passage: Passage) -> bool {
        let bytes = passage.programmed as f64;
        let copied = idle_ns.saturating_sub(area.rest.0) as f64 / (1e9 / area.copy_rate.0);
        let left = (self.fast_bytes - copied).max(0.0) + bytes;
        let always = area.always.unwrap_or(area.size).min(area.size).0 as f64;
        let fits = left <= always + (area.size.0 as f64 - always).min(passage.free);
        self.fast_bytes = if fits { left } else { left - bytes };
        fits
    }
}

/// A page over its channel and into flash, or into the fast area where it goes there.
fn page_ns(array: &Array, area: Option<FastArea>) -> u64 {
    let page = array.page.0 as f64;
    let fast_ns = |area: FastArea| (area.ns_per_byte() * page * f64::from(array.units)) as u64;
    area.map_or(array.program_ns, fast_ns) + (page * array.channel_ns_per_byte + 0.5) as u64
}
