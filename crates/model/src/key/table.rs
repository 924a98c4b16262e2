//! The table of keys, in the order in which the cells of a study vary: the first varies slowest.

use super::{About, Access, Given, Group, Key, Kind};
use crate::content::Data;
use crate::units::{Bytes, Nanoseconds};
use crate::words::Value;
use crate::workload::trace::Trace;
use crate::workload::{
    Advise, Among, Arrivals, BlockPhases, Buffering, CachePolicy, Closing, CpuAccounting, CpuList, Durability,
    FileState, HugePages, Layout, NamedPersonality, Operation, Pattern, Personality, Plugin, Rate, RingOptions,
    RwFlags, Settings, Sharing, Sizes, SubmitBatch, Think, Verify, WorkerKind,
};

/// Largest request.
pub const MAX_REQUEST: Bytes = Bytes(1 << 30);
/// Maximum of requests outstanding per worker.
pub const MAX_DEPTH: u32 = 16_384;
/// Maximum of workers.
pub const MAX_WORKERS: u32 = 1024;
/// Maximum of the requested IOPS: more than any loop issues.
pub const MAX_RATE: u64 = 100_000_000;
/// Shortest recorded interval.
pub const MIN_INTERVAL: Nanoseconds = Nanoseconds(10_000_000);
/// The largest number: the maximum of a signed 64-bit offset.
pub const LARGEST: u64 = i64::MAX as u64;
/// The longest time: longer ones are typing errors, and records keep seconds.
pub const LONGEST: Nanoseconds = Nanoseconds(7 * 24 * 3600 * 1_000_000_000);

/// An entry: key, type of its value, field of the workload, heading, and description.
macro_rules! keys {
    ($($name:ident: $type:ty, $($field:ident).+, $group:ident { $($about:ident: $value:expr,)+ })+) => {
        /// The user's input for a workload, key by key; none for unset keys.
        #[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
        pub struct WorkloadSpec {
            $(#[doc = concat!("The key `", stringify!($name), "`.")] pub $name: Option<$type>,)+
            /// The plug-in, if the personality is one.
            pub plugin: Option<Plugin>,
            /// The trace to replay, instead of generated requests.
            pub trace: Option<Trace>,
        }

        impl WorkloadSpec {
            /// This spec, with unset keys from `below`.
            #[must_use]
            pub fn or(self, below: &WorkloadSpec) -> WorkloadSpec {
                WorkloadSpec {
                    $($name: self.$name.or_else(|| below.$name.clone()),)+
                    plugin: self.plugin.or_else(|| below.plugin.clone()),
                    trace: self.trace.or_else(|| below.trace.clone()),
                }
            }
        }

        /// Every key.
        pub static KEYS: &[Key] = &[$(Key {
            name: stringify!($name),
            access: Access {
                read: |text| {
                    let value = text.parse::<$type>().map_err(|error| error.to_string())?;
                    Ok(WorkloadSpec { $name: Some(value), ..WorkloadSpec::default() })
                },
                is_said: |spec| spec.$name.is_some(),
                number: |spec| spec.$name.as_ref().and_then(Value::number),
                fill: |spec, workload| if let Some(value) = spec.$name.clone() { workload.$($field).+ = value.into() },
                clear: |workload| workload.$($field).+ = Default::default(),
                take: |one, other| one.$($field).+.clone_from(&other.$($field).+),
                is_same: |one, other| one.$($field).+ == other.$($field).+,
                exact: |workload| workload.$($field).+.exact(),
                shown: |workload| workload.$($field).+.shown(),
            },
            about: About { group: Group::$group, $($about: $value,)+ ..PLAIN },
        },)+];
    };
}

/// Defaults of the entries.
const PLAIN: About = About {
    group: Group::Requests,
    kind: Kind::Switch,
    value_name: "",
    depends: None,
    help: "",
    details: "",
    aliases: &[],
    fio: "",
    contradicts: None,
    unsimulated: None,
    given: Given::Both,
};

const NO_TIME: Nanoseconds = Nanoseconds(0);
const INSTANT: Nanoseconds = Nanoseconds(1);

keys! {
    operation: Operation, operation, Requests {
        kind: Kind::Word(&["read", "write", "trim", "flush", "trim_write", "mix=70", "mix=read:60,write:30,trim:10"]),
        value_name: "OP",
        aliases: &["op"],
        fio: "rw, rwmixread",
        help: "read, write, trim, flush, or a mix, like mix=70",
        details: "trim       discard blocks: on a device, or as a hole in a file;
           their data is lost
flush      flush the write cache; has no size and no offset
trim_write trim, then write the same bytes
mix=70     70 % reads, 30 % writes, drawn request by request
mix=read:60,write:30,trim:9,flush:1     any shares that add up to 100",
    }
    pattern: Pattern, pattern, Place {
        kind: Kind::Word(&Pattern::EXAMPLES),
        fio: "rw, random_distribution",
        help: "Order of the offsets: sequential, random and others",
        details: "sequential      ascending from a random (seeded) offset, wrapping
                around at the end
reverse         the same, descending
strided=1MiB    a fixed stride between request offsets
runs=1MiB/3MiB  1 MiB in order, then 3 MiB left out, and so on
random          uniform
shuffled        every offset once, in random order, then again
zipf=0.99       the k-th most popular offset is chosen in proportion
                to 1/k^0.99
pareto=0.2      20 % of the offsets get 80 % of the requests; within
                them the same again, recursively
hot_cold=80/20  80 % of the requests to 20 % of the offsets
zoned=50/5:30/15:20/80
                zones one after another: 50 % of the requests to the first
                5 % of the offsets, and so on (JESD219)
normal=0.1      normal distribution around the middle of the span,
                standard deviation 10 % of it",
    }
    sharing: Sharing, sharing, Place {
        kind: Kind::Word(Sharing::WORDS),
        help: "How workers share a sequential pattern: parts, interleaved, cursor, whole",
        details: "parts        each worker has a part of its own
interleaved  each worker has every n-th request, of n workers
cursor       all workers take the next request of one stream
whole        each worker covers the whole target; it may hit data that
             another has just cached
Processes of an MPI launcher that name one file share it as workers do.",
    }
    among: Among, among, Place {
        kind: Kind::Word(Among::EXAMPLES),
        help: "Which of several targets",
        given: Given::Study,
    }
    layout: Layout, layout, Place {
        kind: Kind::Word(&["each", "stripe=64KiB", "mirror", "mirror=shortest_queue", "mirror=nearest"]),
        unsimulated: Some("layouts of several targets; name a volume that is a stripe"),
        help: "How several targets are combined: each, stripe=CHUNK, mirror",
        details: "each            separate targets; workers are assigned round-robin
stripe=64KiB    one volume; a chunk on each target in turn
mirror          writes go to all, reads round-robin; or
                mirror=shortest_queue: reads to the least busy; or
                mirror=nearest: to the one last used near that offset",
    }
    buffering: Buffering, buffering, Method {
        kind: Kind::Word(Buffering::WORDS),
        value_name: "USE",
        depends: Some("direct where the target takes it"),
        fio: "direct, sync",
        help: "Use of the page cache: buffered, direct, through, none",
        details: "buffered    through the page cache
direct      bypass it (O_DIRECT)
through     write through it: on the medium when a write returns
            (O_DSYNC)
none        direct and through (O_DIRECT and O_DSYNC)",
    }
    cache: CachePolicy, cache, Method {
        kind: Kind::Word(CachePolicy::WORDS),
        value_name: "STATE",
        fio: "invalidate, pre_read",
        help: "State of the page cache before the workload: keep, cold, cold_each_pass, warm",
        details: "keep            as it is
cold            drop the target from it; sequential reads then end after
                one pass, unless ‹bytes› or ‹requests› ask for more
cold_each_pass  drop it again before each pass of a worker
warm            read the target into it",
    }
    advise: Advise, advise, Method {
        fio: "fadvise_hint",
        help: "Advise the kernel of the pattern (posix_fadvise)",
        details: "It reads ahead further for sequential requests, and not at all for
random ones.",
        unsimulated: Some("a kernel that is advised"),
    }
    huge_pages: HugePages, huge_pages, Method {
        fio: "iomem",
        help: "Buffers in huge pages where there are some",
        details: "A device needs fewer segments for a request of several pages then, and
may be faster. For the speed of programs with ordinary buffers: off.",
        unsimulated: Some("buffers in other pages"),
    }
    file_state: FileState, file_state, Requests {
        kind: Kind::Word(FileState::WORDS),
        value_name: "STATE",
        help: "State of a file before it is written",
        details: "Every state but `written` discards the whole file, also beyond ‹size›.
An existing file needs the permission to overwrite; a device has no state.

written         holds data from first to last byte
preallocated    blocks are allocated, none written yet
append          empty: every write extends the file
last_first      empty; the last block is written first
truncated       holds data, and is truncated to 0 bytes when the measured
                part begins
sparse          full length, no blocks allocated",
    }
    durability: Durability, durability, Requests {
        kind: Kind::Word(&Durability::EXAMPLES),
        value_name: "WHEN",
        fio: "fsync, fdatasync, end_fsync",
        help: "When writes are flushed, within the measured time: none, flush_at_end, fsync=N",
        details: "none            never: the measured time ends when the last write returns
flush_at_end    each worker calls fsync once, after its last write
fsync=N         each worker calls fsync after every N writes; no extra
                fsync at the end
fdatasync=N     the same with fdatasync",
    }
    time_close: Closing, closing, Requests {
        help: "Include closing the target in the measured time",
        unsimulated: Some("the closing of a target, which would take no time"),
    }
    data: Data, data, Requests {
        kind: Kind::Word(&["incompressible", "compressible=60", "duplicate=30", "zeros", "pattern=c0ffee"]),
        value_name: "KIND",
        fio: "buffer_compress_percentage, dedupe_percentage, zero_buffers, buffer_pattern",
        help: "Content of the data written: incompressible, zeros and others",
        details: "incompressible    random bytes
compressible=60   60 % of every 512 bytes are zeros
duplicate=30      30 % of the 4 KiB blocks are copies of others
zeros             zeros
pattern=c0ffee    these bytes, repeated",
        unsimulated: Some("the content of writes: no drive looks at it"),
    }
    verify: Verify, verify, Requests {
        kind: Kind::Word(Verify::WORDS),
        value_name: "CHECK",
        fio: "verify=crc32c",
        unsimulated: Some("the bytes of blocks"),
        help: "Stamp and check blocks: off, stamp, read_back",
        details: "off          neither
stamp        write a header with checksum into each block, and check it
             in later reads of the run
read_back    the same, and read everything back after the measurement",
    }
    personality: Personality, personality, Method {
        kind: Kind::Word(&["auto", "sync", "vectored", "mmap", "libaio", "io_uring", "sg", "nvme", "null", "plugin:./own.so"]),
        value_name: "METHOD",
        depends: Some("io_uring for direct I/O or a queue depth over 1, else sync"),
        fio: "ioengine",
        help: "I/O engine: sync, io_uring and others",
        details: "sync        pread and pwrite: QD1 per worker
vectored    preadv2 and pwritev2, with ‹rw_flags›: QD1 too
mmap        copies to and from a mapping: QD1 too
libaio      io_submit: any queue depth; asynchronous only with direct I/O
io_uring    the kernel's rings
sg          SCSI passthrough to a whole disk
nvme        NVMe passthrough to a whole disk
null        no I/O: measures the program itself
plugin:FILE,OPTIONS    a shared object of yours, which runs with
            your rights: docs/PLUGINS.md",
    }
    ring: RingOptions, ring, Method {
        kind: Kind::Word(&["default", "registered_files", "registered_buffers", "single_issuer", "defer_taskrun",
            "coop_taskrun", "no_sqarray", "registered_ring", "sqpoll", "iopoll", "no-registered_files"]),
        value_name: "LIST",
        fio: "registerfiles, fixedbufs, sqthread_poll, hipri",
        help: "Options of io_uring and nvme, like sqpoll,no-registered_files",
        details: "Default: all but the last two, as far as the kernel supports them. The
sample lists requested options that the kernel rejected.

registered_files      register the targets once
registered_buffers    pin the buffers once
single_issuer         only one thread submits
defer_taskrun         complete requests when they are waited for
coop_taskrun          do not interrupt the thread to complete them
no_sqarray            no index array beside the submission queue
                      (IORING_SETUP_NO_SQARRAY)
registered_ring       register the ring's file descriptor
sqpoll                a kernel thread polls for submissions
iopoll                poll the device for completions",
        unsimulated: Some("the options of a ring"),
    }
    rw_flags: RwFlags, rw_flags, Method {
        kind: Kind::Word(&RwFlags::EXAMPLES),
        value_name: "LIST",
        fio: "hipri",
        unsimulated: Some("flags of reads and writes"),
        help: "Flags of vectored, like nowait,dontcache",
        details: "hipri       poll for completions: direct I/O only; no effect from
            Linux 5.19 on
dsync       each write is on the medium when it returns
nowait      count transfers that return EAGAIN, and retry them without
            the flag
dontcache   drop the data from the page cache afterwards, where the file
            system supports it",
    }
    processes: WorkerKind, worker_kind, Load {
        fio: "thread",
        help: "Workers are processes instead of threads",
        unsimulated: Some("workers as processes, which would be as threads are"),
    }
    workers: u32, workers, Load {
        kind: Kind::Count(1, MAX_WORKERS as u64),
        depends: Some("one, or one per target"),
        aliases: &["numjobs"],
        fio: "numjobs",
        help: "Workers: each issues its own requests",
    }
    depth: u32, depth, Load {
        kind: Kind::Count(1, MAX_DEPTH as u64),
        aliases: &["iodepth"],
        fio: "iodepth",
        help: "Queue depth: requests outstanding per worker",
    }
    connections: u32, connections, Method {
        kind: Kind::Count(1, MAX_DEPTH as u64),
        depends: Some("one; of S3, one per request outstanding"),
        help: "Connections of a worker to a server, which share its queue depth",
        unsimulated: Some("connections to servers"),
    }
    submit_batch: SubmitBatch, submit_batch, Method {
        kind: Kind::AutoCount(1, MAX_DEPTH as u64),
        fio: "iodepth_batch",
        help: "Requests submitted with one call, at most: auto or a number",
        details: "auto    one; up to 32 while requests complete during their submission, as
        from the page cache; always one at a given rate
N       larger batches use less CPU time, but the device waits for the
        first one",
        unsimulated: Some("requests that are submitted together: each is issued by itself"),
    }
    wait_batch: u32, wait_batch, Method {
        kind: Kind::Count(1, MAX_DEPTH as u64),
        fio: "iodepth_batch_complete_min",
        help: "Completions a worker waits for with one call",
        unsimulated: Some("waiting for several completions: a worker goes on after each"),
    }
    arrivals: Arrivals, arrivals, Load {
        kind: Kind::Word(&["closed", "constant", "poisson"]),
        fio: "rate_process",
        help: "How requests arrive: closed, constant, poisson",
        details: "closed      a request is issued when an earlier one completes
constant    open loop: evenly spaced at ‹rate›. At most ‹depth› requests
            are outstanding; later arrivals queue, and the response time
            includes that wait
poisson     the same at random intervals, as from many users",
    }
    rate: Rate, rate, Load {
        kind: Kind::Word(&["50000/s", "100MB/s"]),
        fio: "rate, rate_iops",
        help: "Arrival rate, or upper limit, of all workers together: 50000/s, 100MB/s",
    }
    think: Think, think, Load {
        kind: Kind::Word(&["1ms", "1ms/8"]),
        contradicts: Some("rate"),
        fio: "thinktime",
        help: "A worker's pause after each request, or after some: 1ms, 1ms/8",
        details: "It begins when all requests of the worker are complete.",
    }
    request_size: Bytes, request_size, Requests {
        kind: Kind::Size(1, MAX_REQUEST.0),
        depends: Some("64KiB for sequential patterns, else 4KiB"),
        aliases: &["bs"],
        fio: "bs",
        help: "Bytes per request, like 4KiB or 64k (KiB and k are 1024)",
    }
    sizes: Sizes, sizes, Requests {
        kind: Kind::Word(&["4KiB:70/64KiB:30", "read=4KiB:9/1MiB:1,write=64KiB"]),
        value_name: "LIST",
        fio: "bssplit",
        help: "Several request sizes with weights, like 4KiB:70/64KiB:30",
        details: "A missing weight is 1. Operations can have their own sizes:
read=4KiB:9/1MiB:1,write=64KiB.",
        contradicts: Some("request_size"),
        depends: Some("one size"),
    }
    align: Bytes, align, Place {
        kind: Kind::Size(1, MAX_REQUEST.0),
        depends: Some("the request size"),
        fio: "blockalign",
        help: "Offsets are multiples of this, counted from ‹offset›",
    }
    offset: Bytes, offset, Place {
        kind: Kind::Size(0, LARGEST),
        fio: "offset",
        help: "First offset: shifts every request, as a misaligned volume would",
    }
    size: Bytes, span, Place {
        kind: Kind::Size(1, LARGEST),
        depends: Some("all of it"),
        fio: "size",
        help: "How much of the target is used, from its first byte; with a layout, of its volume",
    }
    duration: Nanoseconds, limits.duration, End {
        kind: Kind::Time(INSTANT, LONGEST),
        depends: Some("5s, unless another limit is given"),
        aliases: &["runtime"],
        fio: "runtime",
        help: "Measured time, like 3s or 500ms",
    }
    requests: u64, limits.requests, End {
        kind: Kind::Count(1, LARGEST),
        fio: "number_ios",
        help: "Requests of all workers together",
    }
    bytes: Bytes, limits.bytes, End {
        kind: Kind::Size(1, LARGEST),
        depends: Some("none; one pass for a ‹file_state› like append that extends the file"),
        fio: "io_size",
        help: "Bytes of all workers together, in whole requests",
        details: "Rounded up to whole requests of the (largest) request size: 100KiB in
requests of 64KiB are two.",
    }
    warmup: Nanoseconds, warmup, End {
        kind: Kind::Time(NO_TIME, LONGEST),
        aliases: &["ramp_time"],
        fio: "ramp_time",
        help: "Time at the start that is not measured",
    }
    interval: Nanoseconds, interval, End {
        kind: Kind::Time(MIN_INTERVAL, LONGEST),
        fio: "log_avg_msec",
        help: "Length of the recorded intervals, 10ms or more",
        details: "With 100 or more, the analysis detects a warm-up and gives a
confidence interval within the run.",
    }
    block_phases: BlockPhases, block_phases, Method {
        help: "Trace how long requests are queued in the kernel and how long at the device",
        details: "Traces in short periods, so that it costs little; needs root. Also counts
splits, merges and requeues.",
        unsimulated: Some("a kernel's block layer to trace: the sample says how busy each part was"),
    }
    cpus: CpuList, cpus, Method {
        kind: Kind::Cpus,
        value_name: "LIST",
        fio: "cpus_allowed",
        help: "CPUs to pin the workers to, round-robin, like 0,2 or 0-3",
        unsimulated: Some("pinned workers: each runs on any free CPU"),
    }
    cpu_count: u32, cpu_count, Method {
        kind: Kind::Count(1, 4096),
        depends: Some("all"),
        help: "CPUs that the whole program may use",
        unsimulated: Some("programs that keep to some CPUs"),
    }
    cpu_accounting: CpuAccounting, cpu_accounting, Method {
        kind: Kind::Word(CpuAccounting::WORDS),
        value_name: "HOW",
        help: "How CPU time is measured: account, soaker",
        details: "account    from the kernel's accounting: a lower bound, at no cost
soaker     also an upper bound, from an idle-priority busy loop on every
           CPU. It disturbs the workload: only the CPU cost of such a
           sample is used",
        unsimulated: Some("a soaker: its CPU time is exact"),
    }
    seed: u64, seed, Place {
        kind: Kind::Count(0, u64::MAX),
        fio: "randseed",
        help: "Seed of offsets, mix and data: the same seed gives the same requests",
        given: Given::CommandLine,
    }
    set: Settings, set, Place {
        kind: Kind::Word(&["disks=4", "pci.rate=533MB/s,disks=4"]),
        help: "Keys of the simulated machine that have another value",
        given: Given::Study,
    }
}

/// The personality by name: `auto` leaves it unset, and a plug-in has a file.
pub(super) fn personality(text: &str) -> Result<WorkloadSpec, String> {
    if text == "auto" {
        return Ok(WorkloadSpec::default());
    }
    let NamedPersonality { personality, plugin } = text.parse().map_err(|error| format!("{error}"))?;
    Ok(WorkloadSpec { personality: Some(personality), plugin, ..WorkloadSpec::default() })
}
