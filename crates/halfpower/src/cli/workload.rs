//! The options that describe a workload, in the order a person thinks: what the requests do, where they go, how many,
//! how they are done, when it ends. The first paragraph of each is `-h`, all of it `--help`.

use super::fio_names::FioArguments;
use super::number::{any, count};
use crate::text::UsageError;
use clap::Args;
use halfpower_model::content::Data;
use halfpower_model::{
    Arrivals, BlockPhases, Buffering, Bytes, CachePolicy, Closing, CpuAccounting, Durability, FileState, Layout,
    NamedPersonality, Nanoseconds, Operation, Pattern, Rate, RingOptions, RwFlags, Sharing, Sizes, Verify, WorkerKind,
    WorkloadSpec,
};

/// What was said of a workload.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct WorkloadArguments {
    #[command(flatten)]
    what: What,
    #[command(flatten)]
    place: Where,
    #[command(flatten)]
    many: HowMany,
    #[command(flatten)]
    how: How,
    #[command(flatten)]
    end: End,
    #[command(flatten)]
    fio: FioArguments,
}

#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "What the requests do")]
struct What {
    /// read, write, trim, flush, or a mix, like mix=70 [default: read]
    ///
    /// trim       gives blocks back: discards them on a device, punches
    ///            a hole in a file; what they held is lost
    /// flush      makes what was written safe; has no size and no place
    /// mix=70     70 % reads, 30 % writes, drawn request by request
    /// mix=read:60,write:30,trim:9,flush:1     any shares that make 100
    #[arg(long, value_name = "OP", verbatim_doc_comment)]
    op: Option<Operation>,
    /// Bytes of each, like 4KiB or 64k [default: 64KiB in order, else 4KiB]
    #[arg(long, value_name = "SIZE", visible_alias = "bs")]
    request_size: Option<Bytes>,
    /// Several sizes with weights, like 4KiB:70/64KiB:30 [default: all of one]
    ///
    /// A weight left out is 1. Kinds of requests can have their own:
    /// read=4KiB:9/1MiB:1,write=64KiB.
    #[arg(long, value_name = "LIST", conflicts_with = "request_size", verbatim_doc_comment)]
    sizes: Option<Sizes>,
    /// When writes are made safe, inside the timing [default: none]
    ///
    /// none            not at all: the last write returned is the end
    /// flush_at_end    one fsync by each worker after its last write
    /// fsync=N         one by each worker after every N of its writes,
    ///                 before the next: none after its last
    /// fdatasync=N     the same with fdatasync
    #[arg(long, value_name = "WHEN", verbatim_doc_comment)]
    durability: Option<Durability>,
    /// What a file is like before it is written [default: written]
    ///
    /// Anything but `written` costs the file all it held, past --size too;
    /// a file that was there needs --overwrite, and a device has no state.
    ///
    /// written         it holds data from its first byte to its last
    /// preallocated    its blocks are reserved and hold nothing yet
    /// append          it is empty: every write makes it longer
    /// last_first      it is empty, and its last block is written first
    /// truncated       it holds data, and is cut to nothing in the timing
    /// sparse          it has its length, and nothing is stored
    #[arg(long, value_name = "STATE", verbatim_doc_comment)]
    file_state: Option<FileState>,
    /// What writes carry: incompressible, zeros and others [default: incompressible]
    ///
    /// incompressible    nothing in it that a layer below could save
    /// compressible=60   60 % of every 512 bytes are zeros
    /// duplicate=30      30 % of the 4 KiB blocks are copies of others
    /// zeros             zeros
    /// pattern=c0ffee    these bytes over and over
    #[arg(long, value_name = "KIND", verbatim_doc_comment)]
    data: Option<Data>,
    /// Stamp and check blocks: off, stamp, read_back [default: off]
    ///
    /// off          neither
    /// stamp        writes are stamped, and reads of the same run checked
    /// read_back    the same, and what was written is read back after
    ///              the measurement
    #[arg(long, value_name = "CHECK", verbatim_doc_comment)]
    verify: Option<Verify>,
    /// Close the target inside the timing [default: after it]
    #[arg(long)]
    time_close: bool,
}

/// The heading of the options that say where requests go.
pub(super) const PLACE: &str = "Where they go";

#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = PLACE)]
struct Where {
    /// How much of the target, from its start; of a layout, of what it makes [default: all of it]
    #[arg(long, value_name = "SIZE")]
    size: Option<Bytes>,
    /// How several targets make one: each, stripe=CHUNK, mirror [default: each]
    ///
    /// each            none: the first worker has the first, and so on
    /// stripe=64KiB    one volume; a chunk on each target in turn
    /// mirror          writes go to all, a read to each in turn; or
    ///                 mirror=shortest_queue: to the least busy one; or
    ///                 mirror=nearest: to the one that was last near there
    #[arg(long, value_name = "LAYOUT", verbatim_doc_comment)]
    layout: Option<Layout>,
    /// In which order: sequential, random and others [default: sequential]
    ///
    /// sequential      one after another, from a place that the seed draws
    ///                 around the end to the start
    /// reverse         the same, downwards
    /// strided=1MiB    each so far behind the one before
    /// random          any place, evenly
    /// shuffled        any place, each once before any comes again
    /// zipf=0.99       a few places often: place k as often as 1/k^0.99
    /// pareto=0.2      20 % of the places get 80 %, and so on within
    /// hot_cold=80/20  80 % of the requests to 20 % of the places
    /// normal=0.1      around the middle; deviation 10 % of the span
    #[arg(long, verbatim_doc_comment)]
    pattern: Option<Pattern>,
    /// How workers share a pattern that has an order: parts, cursor, whole [default: parts]
    ///
    /// parts     each goes through a part of its own
    /// cursor    each takes the next request of one order
    /// whole     each goes through all: one may find in a cache what
    ///           another has just read
    #[arg(long, verbatim_doc_comment)]
    sharing: Option<Sharing>,
    /// Places are multiples of this, counted from --offset [default: the request size]
    #[arg(long, value_name = "SIZE")]
    align: Option<Bytes>,
    /// First place: shifts every request, as a misaligned volume would [default: 0]
    #[arg(long, value_name = "SIZE")]
    offset: Option<Bytes>,
    /// Draws places, mix and data; the same seed gives the same requests [default: 1]
    #[arg(long, value_name = "N", value_parser = any::<u64>)]
    seed: Option<u64>,
}

#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "How many")]
struct HowMany {
    /// Requests outstanding, of each worker [default: 1]
    #[arg(long, value_name = "N", visible_alias = "iodepth", value_parser = count::<u32>)]
    depth: Option<u32>,
    /// Workers: each issues its own requests [default: one, or one a target]
    #[arg(long, value_name = "N", visible_alias = "numjobs", value_parser = count::<u32>)]
    workers: Option<u32>,
    /// Workers are processes, as parallel writers mostly are [default: threads]
    #[arg(long)]
    processes: bool,
    /// No more than this, of all workers, like 50000/s or 100MB/s [default: as fast as they can]
    #[arg(long, value_name = "RATE")]
    rate: Option<Rate>,
    /// How requests arrive: closed, constant, poisson [default: closed]
    ///
    /// closed      each waits for one before it to be done
    /// constant    at --rate, evenly, whether those before are done or
    ///             not: latency counts from when each was due
    /// poisson     the same, by chance, as from many users
    #[arg(long, verbatim_doc_comment)]
    arrivals: Option<Arrivals>,
}

#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "How they are done")]
struct How {
    /// Use of caches: buffered, direct, through, none [default: direct where it can be]
    ///
    /// buffered    through the file cache
    /// direct      past it (O_DIRECT)
    /// through     through it, and on the medium when a write returns
    ///             (O_DSYNC)
    /// none        direct and through
    #[arg(long, value_name = "USE", verbatim_doc_comment)]
    buffering: Option<Buffering>,
    /// State of the file cache before: keep, cold, warm [default: keep]
    ///
    /// keep    as it is
    /// cold    what the requests go to is put out of it; sequential reads end
    ///         after going over it once, unless --bytes or --requests say more
    /// warm    what they go to is read into it
    #[arg(long, value_name = "STATE", verbatim_doc_comment)]
    cache: Option<CachePolicy>,
    /// Way to do I/O: sync, io_uring and others [default: io_uring when direct or deep, else sync]
    ///
    /// sync        pread and pwrite: one request outstanding a worker
    /// vectored    preadv2 and pwritev2, with --rw-flags: one as well
    /// mmap        copies in and out of a mapping: one as well
    /// libaio      io_submit: many outstanding, direct only
    /// io_uring    the kernel's rings
    /// sg          commands straight to a whole SCSI disk
    /// nvme        commands straight to a whole NVMe disk
    /// null        does nothing: measures the program itself
    /// plugin:FILE,OPTIONS    a shared object of yours, which runs with
    ///             your rights: docs/PLUGINS.md
    #[arg(long, value_name = "WAY", verbatim_doc_comment)]
    personality: Option<NamedPersonality>,
    /// Flags of vectored, like nowait,dontcache [default: none]
    ///
    /// hipri       the device is asked until it is done: direct only
    /// dsync       each write is on the medium when it returns
    /// nowait      what would have to wait is counted, and done again
    /// dontcache   the file cache keeps nothing
    #[arg(long, value_name = "LIST", verbatim_doc_comment)]
    rw_flags: Option<RwFlags>,
    /// Options of io_uring and nvme [default: all but the last two, where the kernel has them]
    ///
    /// A list like sqpoll,no-registered_files. What is asked for by name
    /// and refused is said in the sample.
    ///
    /// registered_files      the kernel looks targets up once
    /// registered_buffers    it pins the buffers once
    /// single_issuer         it knows that one thread submits
    /// defer_taskrun         it finishes requests when they are waited for
    /// coop_taskrun          it does not interrupt to finish them
    /// no_sqarray            no table between the queue and its entries
    /// registered_ring       it looks the ring up once
    /// sqpoll                a thread of its own looks for requests
    /// iopoll                it asks the device, and takes no interrupts
    #[arg(long, value_name = "LIST", allow_hyphen_values = true, verbatim_doc_comment)]
    ring: Option<RingOptions>,
    /// Requests handed to the kernel with one call, at most [default: 1]
    ///
    /// More cost less processor time; one keeps the device busiest.
    #[arg(long, value_name = "N", value_parser = count::<u32>)]
    submit_batch: Option<u32>,
    /// Requests a worker waits for with one call [default: 1]
    #[arg(long, value_name = "N", value_parser = count::<u32>)]
    wait_batch: Option<u32>,
    /// Processors to pin the workers to in turn, like 0,2 or 0-3 [default: not pinned]
    #[arg(long, value_name = "LIST")]
    cpus: Option<CpuList>,
    /// Processors the whole program keeps to [default: all]
    #[arg(long, value_name = "N", value_parser = count::<u32>)]
    processors: Option<u32>,
    /// Look where requests spend their time in the kernel's block layer: queued, or at the device
    ///
    /// For short whiles, so that it costs little; takes root. What is split, merged and given back is counted as well.
    #[arg(long)]
    block_phases: bool,
    /// How processor time is accounted for: account, soaker [default: account]
    ///
    /// account    by the kernel's accounts: a lower bound, at no cost
    /// soaker     by a busy loop on every processor besides, of the lowest
    ///            priority: what it does not get is an upper bound. It may
    ///            disturb the rest, so take throughput from another run
    #[arg(long, value_name = "HOW", verbatim_doc_comment)]
    cpu_accounting: Option<CpuAccounting>,
}

#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "When it ends, whichever comes first")]
struct End {
    /// Measured time, like 3s or 500ms [default: 5s, unless another limit is given]
    #[arg(long, value_name = "TIME", visible_alias = "runtime")]
    duration: Option<Nanoseconds>,
    /// Requests of all workers [default: no such limit]
    #[arg(long, value_name = "N", value_parser = count::<u64>)]
    requests: Option<u64>,
    /// Bytes of all workers, in whole requests [default: none; once over a file that grows]
    ///
    /// As many requests as it takes to move them, each of the one size, or of
    /// the largest of --sizes: 100KiB in requests of 64KiB are two, 128 KiB.
    #[arg(verbatim_doc_comment, long, value_name = "SIZE")]
    bytes: Option<Bytes>,
    /// Time at the start that is not counted [default: none]
    #[arg(long, value_name = "TIME", visible_alias = "ramp_time")]
    warmup: Option<Nanoseconds>,
    /// Spacing of the recorded intervals, 10ms or more [default: 1s]
    ///
    /// Where there are more than a hundred it is found whether the first are a warm-up, and how exact the run is within itself.
    #[arg(long, value_name = "TIME")]
    interval: Option<Nanoseconds>,
}

/// A list of processors, `0,2-4`.
#[derive(Clone, Debug, PartialEq, Eq)]
struct CpuList(Vec<u32>);

impl std::str::FromStr for CpuList {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("`{text}` is no list of processors; write one like 0,2 or 0-3");
        let mut cpus = Vec::new();
        for part in text.split(',') {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let first: u32 = first.trim().parse().map_err(|_| wrong())?;
            let last: u32 = last.trim().parse().map_err(|_| wrong())?;
            if last < first || last > 65_535 {
                return Err(wrong());
            }
            cpus.extend(first..=last);
        }
        Ok(CpuList(cpus))
    }
}

impl WorkloadArguments {
    /// What was said, fio's names translated.
    ///
    /// # Errors
    /// A word of fio's that has no meaning here.
    pub(crate) fn spec(&self) -> Result<WorkloadSpec, UsageError> {
        let WorkloadArguments { what, place, many, how, end, fio } = self.clone();
        let said = WorkloadSpec {
            operation: what.op,
            request_size: what.request_size,
            sizes: what.sizes,
            durability: what.durability,
            file_state: what.file_state,
            data: what.data,
            verify: what.verify,
            closing: what.time_close.then_some(Closing::Timed),
            span: place.size,
            layout: place.layout,
            among: None,
            pattern: place.pattern,
            sharing: place.sharing,
            align: place.align,
            offset: place.offset,
            seed: place.seed,
            depth: many.depth,
            workers: many.workers,
            worker_kind: many.processes.then_some(WorkerKind::Process),
            rate: many.rate,
            arrivals: many.arrivals,
            buffering: how.buffering,
            cache: how.cache,
            personality: how.personality.as_ref().map(|named| named.personality),
            plugin: how.personality.and_then(|named| named.plugin),
            rw_flags: how.rw_flags,
            ring: how.ring,
            submit_batch: how.submit_batch,
            wait_batch: how.wait_batch,
            block_phases: how.block_phases.then_some(BlockPhases::On),
            cpus: how.cpus.map(|list| list.0),
            processors: how.processors,
            cpu_accounting: how.cpu_accounting,
            // The target has it.
            set: None,
            duration: end.duration,
            requests: end.requests,
            bytes: end.bytes,
            warmup: end.warmup,
            interval: end.interval,
        };
        Ok(said.or(&fio.spec()?))
    }
}

#[cfg(test)]
mod tests;
