//! The units that read and program at once, and the channels that they share.
//!
//! Pages lie on units in turn, in an order that differs from row to row, as they do where a log was written: a stream finds
//! all units alike, and addresses at random find units at random. A unit does one thing at a time, what came first first. All work together is
//! kept as one fluid beside them, one of the units and one of the channels: what is written has what reads leave of both, at the pace of the
//! slower, and a part that cannot do more than there is time for tells how busy it was.
//!
//! What is programmed comes over the channels, and what garbage collection moves goes over them twice, to the controller and back:
//! it has to be checked and corrected on its way. Agrawal and others (2008) have both ways, over the serial pins and copied within a die;
//! the second does not check, and MQSim leaves it out unless told to (`Use_Copyback_for_GC`), as here. A unit has a register for
//! what moves and one for what it works on, so that both go on at once, and reads go before what is programmed, as in MQSim's scheduler;
//! the page that is on a channel when one comes is left out.

use super::fast_area::Drain;
use super::work::Work;
use crate::resource::Resource;
use halfpower_model::Bytes;

/// What reads and programs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Array {
    /// Planes that work independently of each other.
    pub units: u32,
    /// Channels, which units have in turn.
    pub channels: u32,
    /// Bytes of a page: what a unit reads or programs at once.
    pub page: Bytes,
    /// A page into its unit's register, whatever part of it is asked for.
    pub read_ns: u64,
    /// A page from there into flash, with its share of an erasure.
    pub program_ns: u64,
    /// Over a channel.
    pub channel_ns_per_byte: f64,
    /// Until a unit that programs lets a read go before.
    pub suspend_ns: u64,
}

impl Array {
    /// What a byte of a log takes of all units together, where so many bytes are programmed for each, and all but one of them
    /// are copies.
    pub fn ns_per_byte(&self, amplification: f64) -> f64 {
        let copies = amplification - 1.0;
        let page_ns = amplification * self.program_ns as f64 + copies * self.read_ns as f64;
        page_ns / (self.page.0 as f64 * f64::from(self.units))
    }

    /// The same of all channels together: each byte comes once, and what is copied has gone the other way before.
    pub fn over_ns_per_byte(&self, amplification: f64) -> f64 {
        (2.0 * amplification - 1.0) * self.channel_ns_per_byte / f64::from(self.channels)
    }
}

/// What is asked of all units together, and of all channels: nanoseconds, or moments.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Both {
    /// Of the units.
    pub units_ns: u64,
    /// Of the channels.
    pub channels_ns: u64,
}

impl Both {
    /// Of the one that has more.
    pub fn most_ns(self) -> u64 {
        self.units_ns.max(self.channels_ns)
    }
}

/// When the bytes of a read come from the flash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Came {
    /// The first page.
    pub begins_ns: u64,
    /// The last.
    pub ends_ns: u64,
}

/// Them at work.
#[derive(Clone, Debug)]
pub struct Units {
    array: Array,
    /// When each has read what it is asked for.
    free_ns: Vec<u64>,
    channels: Vec<Resource>,
    /// All that is read and programmed, as though it were spread over all alike,
    all: Work,
    /// and all that goes over the channels.
    over: Work,
}

impl Units {
    /// All free.
    pub fn new(array: Array) -> Units {
        Units {
            array,
            free_ns: vec![0; array.units as usize],
            channels: (0..array.channels).map(|_| Resource::new(1)).collect(),
            all: Work::default(),
            over: Work::default(),
        }
    }

    /// What they are.
    pub fn array(&self) -> &Array {
        &self.array
    }

    /// Which unit a page lies on.
    fn unit(&self, page: u64) -> usize {
        let units = self.free_ns.len() as u64;
        // Another beginning in each row, by the multiplier of Knuth's multiplicative hash.
        let turn = (page / units).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 33;
        ((page + turn) % units) as usize
    }

    /// Asks now for bytes from an address on, of which none is read before `from_ns`.
    pub fn read(&mut self, now_ns: u64, from_ns: u64, offset: u64, bytes: u64, drain: &mut Drain) -> Came {
        let (page, units) = (self.array.page.0, u64::from(self.array.units));
        let channels = u64::from(self.array.channels);
        let (first, end) = (offset / page, offset + bytes);
        let pages = end.div_ceil(page) - first;
        let mut came = Came { begins_ns: u64::MAX, ends_ns: 0 };
        // Of more pages than there are units, each has several.
        for index in 0..pages.min(units) {
            let turns = (pages - index).div_ceil(units);
            let start = (first + index) * page;
            let outside = offset.saturating_sub(start) + (start + page).saturating_sub(end);
            let unit = self.unit(first + index);
            let begins_ns = self.free_ns[unit].max(from_ns);
            let suspend_ns = if drain.programs_until_ns() > begins_ns { self.array.suspend_ns } else { 0 };
            let service_ns = suspend_ns + turns * self.array.read_ns;
            self.free_ns[unit] = begins_ns + service_ns;
            let over_ns = ((turns * page - outside) as f64 * self.array.channel_ns_per_byte + 0.5) as u64;
            let shares = Both { units_ns: service_ns / units, channels_ns: over_ns / channels };
            self.work(now_ns, shares);
            drain.lose(now_ns, shares);
            let channel = unit % self.channels.len();
            let done_ns = self.channels[channel].serve(now_ns, begins_ns + service_ns, over_ns);
            came = Came { begins_ns: came.begins_ns.min(done_ns), ends_ns: came.ends_ns.max(done_ns) };
        }
        came
    }

    /// All of them work for so long, units and channels at once, behind what reads have asked for; gives when each are done.
    pub fn work(&mut self, now_ns: u64, ns: Both) -> Both {
        Both { units_ns: self.all.book(now_ns, ns.units_ns), channels_ns: self.over.book(now_ns, ns.channels_ns) }
    }

    /// How long they had nothing to do until now since they last had.
    pub fn idle_ns(&self, now_ns: u64) -> u64 {
        now_ns.saturating_sub(self.all.free_ns.max(self.over.free_ns))
    }

    /// How long units and channels were at work on average.
    pub fn busy_ns(&self, now_ns: u64) -> [u64; 2] {
        [&self.all, &self.over].map(|work| work.busy_ns(now_ns))
    }
}
