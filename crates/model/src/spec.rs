//! What a person said of a workload, and what it resolves to on a machine.
//!
//! A spec says only what was said; the rest is none. Layers (a study's defaults, a sweep's values, the command line)
//! are laid over one another with [`WorkloadSpec::or`]. Resolving fills in the defaults, checks every value against
//! the target, and looks nothing up itself: what it needs to know is in the [`Environment`].

mod imported;
mod method;

use crate::content::MIN_BLOCK_BYTES;
use crate::environment::{Environment, TargetKind};
pub use crate::key::WorkloadSpec;
use crate::key::{KEYS, MAX_RATE};
use crate::units::Bytes;
use crate::workload::RequestKind;
use crate::workload::{
    Among, Arrivals, CachePolicy, Durability, FileState, Layout, Operation, Pattern, Personality, Rate, RingOption,
    Sharing, Verify, Wish, Workload,
};

/// Why what was said cannot be run here. Each message ends with the remedy.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ResolveError {
    /// Nothing there to read or write.
    #[error(
        "{path} is empty; write it first (`halfpower io {path} --op write --size 1GiB --overwrite`) or name another target"
    )]
    Empty {
        /// The target.
        path: String,
    },
    /// A block device without a size.
    #[error("{path} is a device that holds nothing yet; set it up or put a medium in, or name another target")]
    NoMedium {
        /// The target.
        path: String,
    },
    /// More was asked for than there is.
    #[error("{path} has {size}, which does not hold {asked}; ask for less with --size or name a larger target")]
    TooSmall {
        /// The target.
        path: String,
        /// Its size.
        size: Bytes,
        /// What was asked for.
        asked: Bytes,
    },
    /// A stripe with chunks that leave targets out.
    #[error(
        "a stripe's chunk of {chunk} is too large for {room}; use smaller ones, like --layout stripe=64KiB, or more room"
    )]
    Chunk {
        /// Bytes of one.
        chunk: Bytes,
        /// What it is too large for.
        room: String,
    },
    /// O_DIRECT is refused.
    #[error("{path} does not take direct I/O ({filesystem}); use --buffering buffered")]
    NoDirect {
        /// The target.
        path: String,
        /// The file system or kind.
        filesystem: String,
    },
    /// O_DIRECT wants other sizes.
    #[error(
        "direct I/O on {path} needs request sizes in multiples of {alignment}, not {size}; use one, or --buffering buffered"
    )]
    Alignment {
        /// The target.
        path: String,
        /// The multiple.
        alignment: Bytes,
        /// What was asked for.
        size: Bytes,
    },
    /// The personality cannot keep so many outstanding.
    #[error(
        "the {personality} personality keeps one request outstanding; use --personality io_uring for depth {depth}, or --workers {depth}"
    )]
    SyncDepth {
        /// Which.
        personality: Personality,
        /// What was asked for.
        depth: u32,
    },
    /// The personality does not work here.
    #[error("the {personality} personality does not work here: {reason}")]
    Unavailable {
        /// Which.
        personality: Personality,
        /// Why, and the remedy.
        reason: String,
    },
    /// What was said does not go together.
    #[error("{0}")]
    Contradiction(String),
}

impl WorkloadSpec {
    /// The workload this comes to on a testbed.
    ///
    /// # Errors
    /// When a value is out of range, contradicts another or asks for what the target cannot do.
    pub fn resolve(&self, environment: &Environment) -> Result<Workload, ResolveError> {
        let pattern = self.pattern.unwrap_or_default();
        let default_size = if pattern.is_ordered() { 64 } else { 4 };
        let sizes = self.sizes.clone().unwrap_or_default();
        let request_size = sizes.all().max().or(self.request_size).unwrap_or(Bytes(default_size * 1024));
        let depth = self.depth.unwrap_or(1);
        let (among, restricted) = self.resolve_among(environment)?;
        let environment = restricted.as_ref().unwrap_or(environment);
        let targets = environment.targets();
        let layout = self.layout.unwrap_or_default();
        let workers = self.workers.unwrap_or(if layout == Layout::Each { targets } else { 1 });
        for key in KEYS {
            key.check(self).map_err(ResolveError::Contradiction)?;
        }
        let buffering = self.resolve_buffering(environment, request_size)?;
        let personality = self.resolve_personality(environment, depth, buffering)?;
        let mut workload =
            Workload { sizes, among, targets, workers, span: environment.volume_size(layout), ..Workload::default() };
        KEYS.iter().filter(|key| key.name != "among").for_each(|key| key.fill(self, &mut workload));
        (workload.request_size, workload.buffering, workload.personality) = (request_size, buffering, personality);
        workload.plugin = self.plugin.clone().filter(|_| personality == Personality::Plugin);
        if self.duration.is_none() && (self.requests.is_some() || self.bytes.is_some()) {
            workload.limits.duration = None;
        }
        workload.span = self.resolve_span(environment, &workload)?;
        check_batch("submit-batch", workload.submit_batch, depth)?;
        check_batch("wait-batch", workload.wait_batch, depth)?;
        if let Some(Rate::Requests(rate)) = workload.rate
            && rate > MAX_RATE
        {
            contradiction(format!("rate is {rate}/s; it must be at most {MAX_RATE}/s"))?;
        }
        check_processors(&workload, environment)?;
        check_places(&workload, environment)?;
        check_together(&workload, environment)?;
        check_volumes(&workload, environment)?;
        check_settings(&workload, environment)?;
        method::check(&workload)?;
        let is_limited = workload.limits.bytes.is_some() || workload.limits.requests.is_some();
        if workload.file_state != FileState::Written && !is_limited {
            // Once the file has been written over, it is like any other.
            workload.limits.bytes = Some(Bytes(workload.places() * workload.request_size.0 * workload.volumes()));
        }
        if workload.reads_a_cold_cache_in_order() && !is_limited {
            // What comes around is in the cache.
            workload.limits.bytes = Some(workload.once_over());
        }
        Ok(workload)
    }

    /// Which targets, and the environment with just those where they are not all.
    fn resolve_among(&self, environment: &Environment) -> Result<(Among, Option<Environment>), ResolveError> {
        let among = self.among.unwrap_or_default();
        let targets = environment.targets();
        if among.range(targets) == Among::All.range(targets) {
            return Ok((Among::All, None));
        }
        match environment.among(among) {
            Some(restricted) => Ok((among, Some(restricted))),
            None => Err(ResolveError::Contradiction(match among {
                Among::Each | Among::Growing => {
                    format!("among {among} stands for several workloads; use it in a study")
                }
                _ => format!("among {among} needs more targets than the {targets} there are; name more"),
            })),
        }
    }

    /// The span in whole requests; every worker has room for one.
    fn resolve_span(&self, environment: &Environment, workload: &Workload) -> Result<Bytes, ResolveError> {
        let target = environment.smallest_target();
        let (path, size) = (target.path.clone(), environment.volume_size(workload.layout));
        if let Layout::Stripe { chunk } = workload.layout
            && (1..chunk.0).contains(&target.size_bytes.0)
        {
            return Err(ResolveError::Chunk { chunk, room: format!("{path}, which has {}", target.size_bytes) });
        }
        if size.0 == 0 {
            let device = target.kind == TargetKind::BlockDevice;
            return Err(if device { ResolveError::NoMedium { path } } else { ResolveError::Empty { path } });
        }
        let span = workload.span;
        if span > size {
            return Err(ResolveError::TooSmall { path, size, asked: span });
        }
        if let Layout::Stripe { chunk } = workload.layout
            && span <= chunk
        {
            let room = format!("the {span} that are used, which would all be on one target");
            return Err(ResolveError::Chunk { chunk, room });
        }
        if workload.offset >= span {
            let offset = workload.offset;
            return Err(ResolveError::Contradiction(format!(
                "--offset {offset} is beyond the {span} of {path}; use a smaller one, or a larger --size or target"
            )));
        }
        let (_, workers) = workload.position(0);
        let room = (span.0.saturating_sub(workload.offset.0)) / workers;
        if workload.places() < workers || (!workload.sizes.is_empty() && room < workload.request_size.0) {
            let each = if workers == 1 { String::new() } else { format!(" for each of {workers} workers") };
            let request = workload.request_size;
            let place = match workload.layout {
                Layout::Each => path,
                layout => format!("{layout} of {} targets", workload.targets),
            };
            return Err(ResolveError::Contradiction(format!(
                "{span} of {place} do not hold a request of {request}{each}; use smaller requests, or a larger --size or target",
            )));
        }
        // Whole requests, where places follow one another; a shifted or widened one is as long as it is.
        let is_whole = workload.align.is_none() && workload.offset.0 == 0 && workload.sizes.is_empty();
        Ok(if is_whole { Bytes(span.0 - span.0 % workload.request_size.0) } else { span })
    }
}

/// Only a simulated machine can be another one for a while.
fn check_settings(workload: &Workload, environment: &Environment) -> Result<(), ResolveError> {
    match environment.all_targets().find(|target| target.kind != TargetKind::Simulated) {
        Some(real) if !workload.set.is_empty() => contradiction(format!(
            "{} is of a simulated machine, and {} is none; name sim:MACHINE:VOLUME, or leave it out",
            workload.set, real.path
        )),
        _ => Ok(()),
    }
}

/// No more requests are handed over or waited for with one call than can be outstanding.
fn check_batch(option: &str, batch: u32, depth: u32) -> Result<(), ResolveError> {
    if (1..=depth).contains(&batch) {
        return Ok(());
    }
    contradiction(format!(
        "--{option} is {batch}, and at a depth of {depth} it can be {}; use that, or a larger --depth",
        if depth == 1 { "1 only".to_owned() } else { format!("from 1 to {depth}") }
    ))
}

/// Nothing keeps to processors that are not there. What is simulated keeps to none, and says so itself.
fn check_processors(workload: &Workload, environment: &Environment) -> Result<(), ResolveError> {
    if environment.target.kind == TargetKind::Simulated {
        return Ok(());
    }
    let (count, numbers) = (environment.cpus, &environment.cpu_numbers);
    if let Some(asked) = workload.cpu_count.filter(|asked| *asked > count) {
        return contradiction(format!("--cpu-count is {asked}, and {count} can be used here; use no more"));
    }
    match workload.cpus.iter().find(|cpu| !numbers.is_empty() && !numbers.contains(cpu)) {
        None => Ok(()),
        Some(cpu) => contradiction(format!(
            "--cpus names CPU {cpu}, and {count} can be used here: {}; name those",
            environment.cpu_list()
        )),
    }
}

/// Offset, alignment and sizes together, and with what direct I/O wants.
fn check_places(workload: &Workload, environment: &Environment) -> Result<(), ResolveError> {
    if let Pattern::Strided { stride } = workload.pattern
        && (stride < workload.step() || !stride.0.is_multiple_of(workload.step().0))
    {
        let step = workload.step();
        return contradiction(format!("the stride is {stride}; it must be a multiple of {step}, a request's step"));
    }
    let alignment = environment.direct_alignment().filter(|_| workload.buffering.is_direct());
    let Some(alignment) = alignment.filter(|_| environment.target.kind != TargetKind::Null) else { return Ok(()) };
    let mut places = vec![("offset", workload.offset), ("align", workload.step())];
    places.extend(workload.sizes.all().map(|size| ("sizes", size)));
    if let Layout::Stripe { chunk } = workload.layout {
        places.push(("layout", chunk));
    }
    match places.into_iter().find(|(_, bytes)| !bytes.0.is_multiple_of(alignment.0)) {
        None => Ok(()),
        Some((name, bytes)) => contradiction(format!(
            "direct I/O on {} needs multiples of {alignment}, and --{name} comes to {bytes}; use one, or --buffering buffered",
            environment.target.path
        )),
    }
}

/// What was said must go together.
fn check_together(workload: &Workload, environment: &Environment) -> Result<(), ResolveError> {
    let writes = workload.operation.writes();
    let null = environment.target.kind == TargetKind::Null;
    let device = environment.all_targets().any(|target| target.kind == TargetKind::BlockDevice);
    let passthrough = workload.personality.is_passthrough();
    let is_disk = |kind| matches!(kind, TargetKind::BlockDevice | TargetKind::Simulated);
    let all_devices = environment.all_targets().all(|target| is_disk(target.kind));
    let (_, on_one_target) = workload.position(0);
    let ordered = workload.pattern.is_ordered();
    let rules = [
        (
            workload.durability != Durability::None && !writes,
            "a flush is for writes; use --op write, or leave --durability out",
        ),
        (
            passthrough && !all_devices,
            "sg and nvme send commands to whole disks; name one, or use --personality io_uring",
        ),
        (
            passthrough && !workload.buffering.is_direct(),
            "sg and nvme go past the file cache, in whole blocks of the disk; use --buffering direct, or none for \
             writes that are written through, and sizes of whole blocks",
        ),
        (
            !workload.ring.is_default() && !matches!(workload.personality, Personality::IoUring | Personality::Nvme),
            "--ring is for --personality io_uring or nvme; use one, or leave it out",
        ),
        (
            workload.ring.wish(RingOption::Iopoll) == Wish::Asked && !workload.buffering.is_direct(),
            "iopoll asks a device, and buffered requests go to memory; use --buffering direct, or leave it out of --ring",
        ),
        (workload.cache != CachePolicy::Keep && null, "null: has no cache; leave --cache out"),
        (
            workload.arrivals != Arrivals::Closed && workload.rate.is_none(),
            "arrivals need a rate; say how many with --rate, like --rate 50000/s",
        ),
        (
            workload.sharing != Sharing::Parts && !ordered,
            "--sharing is for patterns with an order; leave it out, or use --pattern sequential",
        ),
        (
            [RequestKind::Read, RequestKind::Write, RequestKind::Trim].into_iter().any(|kind| {
                workload.operation.has(kind) && !workload.sizes.is_empty() && workload.sizes.of(kind).is_empty()
            }),
            "--sizes says nothing of a kind of request that --op has; give each a list, like read=4KiB,write=64KiB",
        ),
        (
            workload.places() == 1 && (workload.align.is_some() || workload.offset.0 > 0),
            "--align and --offset leave one place, and every request would go there; use smaller ones, or a larger target",
        ),
        (
            ordered && !workload.sizes.is_empty() && workload.pattern != Pattern::Sequential,
            "several sizes go with --pattern sequential and with random patterns only",
        ),
        (
            !workload.sizes.is_empty() && workload.sharing == Sharing::Cursor,
            "several sizes do not go with a shared cursor; use --sharing parts",
        ),
        (
            workload.file_state != FileState::Written && (workload.operation != Operation::Write || null),
            "--file-state is for writes to a file; use --op write, or leave it out",
        ),
        (
            workload.file_state != FileState::Written && device,
            "a device has no length and no blocks of its own to give; leave --file-state out, or name files only",
        ),
        (
            workload.file_state.grows() && workload.pattern != Pattern::Sequential,
            "a file that grows is written from its start; use --pattern sequential",
        ),
        (
            workload.file_state.grows() && (on_one_target > 1 && workload.sharing != Sharing::Cursor),
            "a file that grows has one writer; give each worker a target of its own, or use --sharing cursor",
        ),
    ];
    first_broken(&rules)
}

/// Verification, and how several targets make one.
fn check_volumes(workload: &Workload, environment: &Environment) -> Result<(), ResolveError> {
    let null = environment.target.kind == TargetKind::Null;
    let writes = workload.operation.writes();
    first_broken(&[
        (
            workload.verify != Verify::Off && null,
            "null: keeps nothing that could be verified; name a file or device, or leave --verify out",
        ),
        (
            workload.verify != Verify::Off && workload.operation.has(RequestKind::Trim),
            "verification is of what is written and does not go with trims; leave them or --verify out",
        ),
        (
            workload.verify != Verify::Off && !writes,
            "nothing is written that could be verified; use --op write or a mix, or --verify-run for what a run wrote",
        ),
        (
            workload.verify != Verify::Off && workload.verify_block().0 < MIN_BLOCK_BYTES as u64,
            "a block that is verified has 64 bytes at least; use sizes, --align and --offset in multiples of that",
        ),
        (
            workload.layout != Layout::Each && workload.targets < 2,
            "a layout is of several targets; name them all, or leave --layout out",
        ),
        (
            workload.layout == Layout::Each && workload.workers < workload.targets,
            "fewer workers than targets: some would have none; use more --workers, or a --layout",
        ),
    ])
}

fn first_broken(rules: &[(bool, &str)]) -> Result<(), ResolveError> {
    rules.iter().find(|(broken, _)| *broken).map_or(Ok(()), |(_, message)| contradiction((*message).to_owned()))
}

fn contradiction(message: String) -> Result<(), ResolveError> {
    Err(ResolveError::Contradiction(message))
}

#[cfg(test)]
mod tests;
