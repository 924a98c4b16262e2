//! The keys of a flash drive, which are what its parts work with.

use crate::bounds::{Blocks, Count, Day, MOST_BYTES, Number, Rate, Share, Short, Size, Time, Word};
use crate::table::{named, table};

table! {
    /// A flash drive, as a volume uses it.
    #[cfg_attr(test, derive(Default))]
    pub FlashDrive {
        /// capacity
        size: Blocks<512, MOST_BYTES>,
        /// additional flash: at least a thousandth of `size`, and one page for each of `units`
        spare: Size<512, MOST_BYTES>,
        /// planes that read and program independently
        units: Count<1, 16_384>,
        /// channels, shared by the units in turn; at most `units`
        channels: Count<1, 1024>,
        /// unit of reading and programming
        page: Blocks<512, { 1 << 24 }>,
        /// to read a page into the unit's register, however little of it is needed
        read: Short,
        /// spread of that time: a third of the pages take this share less, a third this share more
        read_spread: Share = default,
        /// probability that a page has to be read again to correct its errors, each time, up to 16 reads
        retry: Share = default,
        /// to program a page, its share of an erasure included. units × page / program is the write throughput, unless the channels
        /// limit it
        program: Short,
        /// bytes per second of a channel: reads, programs, and garbage collection twice
        channel_rate: Rate,
        /// until a programming unit lets a read go first
        suspend: Short = default,
        /// erasures that reads wait for; without it: none
        erase: Option<Erase>,
        /// maximum number of commands at it; without it: unlimited
        outstanding: Option<Count<1, 65_536>>,
        /// controller time per read, one after another: its reciprocal limits IOPS
        read_command: Short = default,
        /// the same for a write
        write_command: Short = default,
        /// further latency of a read, in parallel
        read_delay: Short = default,
        /// the same for a write
        write_delay: Short = default,
        /// further latency of a write that continues none
        scattered_write: Short = default,
        /// share of the writes that continue none and wait for a program of the mapping table, half of `program` on average
        checkpoint: Share = default,
        /// mean of an exponential latency of the controller, of every command
        jitter: Short = default,
        /// bytes written between two rounds of garbage collection, in which the drive writes nothing else; 0 B: it copies some with
        /// each write
        collection: Size<0, { 1 << 40 }> = default,
        /// capacity of the write buffer; without it a write ends in flash
        buffer: Option<Size<512, { 1 << 40 }>>,
        /// the buffer survives a power loss: a flush does nothing, and a write through is buffered; needs `buffer`
        protected: bool = default,
        /// bytes of the mapping table programmed with each write that continues none
        mapping: Size<0, { 1 << 24 }> = default,
        /// read-ahead; without it: none
        read_ahead: Option<ReadAhead>,
        /// area of faster (SLC) flash; without it: none
        fast_area: Option<FastArea>,
        /// trims; without it they are rejected
        trim: Option<Trim>,
        /// thermal throttling; without it: never
        heat: Option<Heat>,
        /// what was written before, if the volume does not say it
        state: Word<State> = default,
    }
}

table! {
    /// An erasure. Its share of the time is part of the time to program the pages of its block.
    #[derive(Copy)]
    pub Erase {
        /// time to erase a block
        time: Short,
        /// size of a block, one page at least
        block: Size<512, { 1 << 30 }>,
        /// time until an erasing unit lets a read go first; without it the read waits for the end
        suspend: Option<Short>,
    }
}

table! {
    /// How far.
    #[derive(Copy, Eq)]
    pub ReadAhead {
        /// read-ahead of a stream
        size: Size<512, { 1 << 26 }>,
        /// number of streams that it recognises
        streams: Count<1, 4096>,
    }
}

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

table! {
    /// The cost of a trim.
    #[derive(Copy)]
    pub Trim {
        /// controller time of a trim, one after another
        command: Short,
        /// trimmed bytes per second, in addition
        rate: Rate,
    }
}

table! {
    /// The limits of a drive.
    #[derive(Copy)]
    pub Heat {
        /// write throughput that the drive sustains forever
        sustained: Rate,
        /// bytes read that heat as much as one byte written
        reads_per_write: Number<1, 1000>,
        /// time for two thirds of a temperature change
        time_constant: Time<1_000_000, 86_400_000_000_000>,
        /// write throughput while it is hot
        throttled: Rate,
        /// share of `sustained` to which its temperature must fall
        until: Share,
    }
}

named! {
/// What was written before a run.
pub enum State {
    /// Nothing: all flash is erased.
    Fresh = "fresh",
    /// Everything once, in order: the spare flash is erased.
    Filled = "filled",
    /// Everything, and then at random until nothing changed.
    Steady = "steady",
}
}
