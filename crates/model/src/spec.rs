//! The user's input for a workload, and its resolution on a machine.
//!
//! An unset key of a spec is `None`. [`WorkloadSpec::or`] layers specs: a study's defaults, a sweep's values, the command line.
//! Resolving fills in the defaults and checks every value against the target. It reads facts from the [`Environment`] only.

mod imported;
mod method;
mod replay;

use crate::content::MIN_BLOCK_BYTES;
use crate::environment::{Environment, TargetKind};
pub use crate::key::WorkloadSpec;
use crate::key::{self, KEYS, MAX_RATE};
use crate::units::Bytes;
use crate::workload::RequestKind;
use crate::workload::{
    Among, Arrivals, CachePolicy, Durability, FileState, Layout, Operation, Pattern, Personality, Rate, RingOption,
    Sharing, SubmitBatch, Verify, Wish, Workload,
};

/// Why a workload cannot run here. Each message ends with the remedy. Keys in it have the form `‹depth›`;
/// [`worded`](ResolveError::worded) replaces them by the reader's words.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ResolveError {
    /// The span is larger than the target.
    #[error("{path} has {size}, which does not hold {asked}; ask for less with ‹size› or name a larger target")]
    TooSmall {
        /// The target.
        path: String,
        /// Its size.
        size: Bytes,
        /// The request.
        asked: Bytes,
    },
    /// O_DIRECT is not supported.
    #[error("{path} does not take direct I/O ({filesystem}); use ‹buffering› buffered")]
    NoDirect {
        /// The target.
        path: String,
        /// The file system or kind.
        filesystem: String,
    },
    /// O_DIRECT needs other sizes.
    #[error(
        "direct I/O on {path} needs request sizes in multiples of {alignment}, not {size}; use one, or ‹buffering› buffered"
    )]
    Alignment {
        /// The target.
        path: String,
        /// The alignment.
        alignment: Bytes,
        /// The request.
        size: Bytes,
    },
    /// The target is empty.
    #[error("{0} is empty; write it first or name another target")]
    Empty(String),
    /// The target or the machine does not support it.
    #[error("{0}")]
    Unavailable(String),
    /// Values contradict each other.
    #[error("{0}")]
    Contradiction(String),
}

impl ResolveError {
    /// The message, with each key [as the reader writes it](key::worded).
    pub fn worded(&self, name: impl Fn(&str) -> String) -> String {
        key::worded(&self.to_string(), name)
    }
}

impl WorkloadSpec {
    /// The workload on a testbed.
    ///
    /// # Errors
    /// If a value is out of range, contradicts another or is not supported by the target.
    pub fn resolve(&self, environment: &Environment) -> Result<Workload, ResolveError> {
        if let Some(trace) = &self.trace {
            return self.resolve_replay(trace, environment);
        }
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
            if let Some(other) = key.contradicted_by(self) {
                contradiction(format!("‹{}› and ‹{other}› exclude each other; leave one out", key.name))?;
            }
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
        if let SubmitBatch::Requests(batch) = workload.submit_batch {
            check_batch("submit_batch", batch, depth)?;
        }
        check_batch("wait_batch", workload.wait_batch, depth)?;
        if let Some(Rate::Requests(rate)) = workload.rate
            && rate > MAX_RATE
        {
            contradiction(format!("rate is {rate}/s; it must be at most {MAX_RATE}/s"))?;
        }
        check_cpus(&workload, environment)?;
        check_places(&workload, environment)?;
        check_settings(&workload, environment)?;
        let fault = at_odds(&workload, environment).or_else(|| method::at_odds(&workload));
        fault.map_or(Ok(()), |message| contradiction(message.to_owned()))?;
        let is_limited = workload.limits.bytes.is_some() || workload.limits.requests.is_some();
        if workload.file_state != FileState::Written && !is_limited {
            // After one pass the file is like any other.
            workload.limits.bytes = Some(Bytes(workload.places() * workload.request_size.0 * workload.volumes()));
        }
        if workload.reads_a_cold_cache_in_order() && !is_limited {
            // A second pass would hit the cache.
            workload.limits.bytes = Some(workload.once_over());
        }
        Ok(workload)
    }

    /// The targets, and an environment with only those if not all are used.
    fn resolve_among(&self, environment: &Environment) -> Result<(Among, Option<Environment>), ResolveError> {
        let among = self.among.unwrap_or_default();
        let targets = environment.targets();
        if among.range(targets) == Among::All.range(targets) {
            return Ok((Among::All, None));
        }
        let restricted = environment.among(among);
        let fault = || match among {
            Among::Each | Among::Growing => format!("among {among} stands for several workloads; use it in a study"),
            _ => format!("among {among} needs more targets than the {targets} there are; name more"),
        };
        restricted.map(|restricted| (among, Some(restricted))).ok_or_else(|| ResolveError::Contradiction(fault()))
    }

    /// The span in whole requests; fails if a worker has no room for one.
    fn resolve_span(&self, environment: &Environment, workload: &Workload) -> Result<Bytes, ResolveError> {
        let target = environment.smallest_target();
        let (path, size, span) = (target.path.clone(), environment.volume_size(workload.layout), workload.span);
        let chunk = if let Layout::Stripe { chunk } = workload.layout { chunk } else { Bytes(0) };
        let too_large = |room: String| {
            unavailable(format!(
                "a stripe's chunk of {chunk} is too large for {room}; use smaller ones, like ‹layout› stripe=64KiB, or more room"
            ))
        };
        if (1..chunk.0).contains(&target.size_bytes.0) {
            too_large(format!("{path}, which has {}", target.size_bytes))?;
        }
        if size.0 == 0 && target.kind == TargetKind::BlockDevice {
            unavailable(format!(
                "{path} is a device that holds nothing yet; set it up or put a medium in, or name another target"
            ))?;
        }
        if size.0 == 0 {
            return Err(ResolveError::Empty(path));
        }
        if span > size {
            return Err(ResolveError::TooSmall { path, size, asked: span });
        }
        if span <= chunk {
            too_large(format!("the {span} that are used, which would all be on one target"))?;
        }
        if workload.offset >= span {
            contradiction(format!(
                "‹offset› {} is beyond the {span} of {path}; use a smaller one, or a larger ‹size› or target",
                workload.offset
            ))?;
        }
        let (_, workers) = workload.position(0);
        let room = (span.0 - workload.offset.0) / workers;
        if workload.places() < workers || (!workload.sizes.is_empty() && room < workload.request_size.0) {
            let each = if workers == 1 { String::new() } else { format!(" for each of {workers} workers") };
            let request = workload.request_size;
            let place = match workload.layout {
                Layout::Each => path,
                layout => format!("{layout} of {} targets", workload.targets),
            };
            contradiction(format!(
                "{span} of {place} do not hold a request of {request}{each}; use smaller requests, or a larger ‹size› or target"
            ))?;
        }
        // Rounded to whole requests, unless the offset, the alignment or several sizes decide the offsets.
        let is_whole = workload.align.is_none() && workload.offset.0 == 0 && workload.sizes.is_empty();
        Ok(if is_whole { Bytes(span.0 - span.0 % workload.request_size.0) } else { span })
    }
}

/// Settings need simulated targets.
fn check_settings(workload: &Workload, environment: &Environment) -> Result<(), ResolveError> {
    match environment.all_targets().find(|target| target.kind != TargetKind::Simulated) {
        Some(real) if !workload.set.is_empty() => contradiction(format!(
            "{} is of a simulated machine, and {} is none; name sim:MACHINE:VOLUME, or leave it out",
            workload.set, real.path
        )),
        _ => Ok(()),
    }
}

/// A batch may not exceed the queue depth.
fn check_batch(key: &str, batch: u32, depth: u32) -> Result<(), ResolveError> {
    if (1..=depth).contains(&batch) {
        return Ok(());
    }
    contradiction(format!(
        "‹{key}› is {batch}, and at a depth of {depth} it can be {}; use that, or a larger ‹depth›",
        if depth == 1 { "1 only".to_owned() } else { format!("from 1 to {depth}") }
    ))
}

/// CPUs must exist. Simulated machines reject these keys themselves.
fn check_cpus(workload: &Workload, environment: &Environment) -> Result<(), ResolveError> {
    if environment.target.kind == TargetKind::Simulated {
        return Ok(());
    }
    let (count, numbers) = (environment.cpus, &environment.cpu_numbers);
    if let Some(asked) = workload.cpu_count.filter(|asked| *asked > count) {
        return contradiction(format!("‹cpu_count› is {asked}, and {count} can be used here; use no more"));
    }
    match workload.cpus.iter().find(|cpu| !numbers.is_empty() && !numbers.contains(cpu)) {
        None => Ok(()),
        Some(cpu) => contradiction(format!(
            "‹cpus› names CPU {cpu}, and {count} can be used here: {}; name those",
            environment.cpu_list()
        )),
    }
}

/// Checks stride, offset, alignment and sizes against each other and against direct I/O.
fn check_places(workload: &Workload, environment: &Environment) -> Result<(), ResolveError> {
    let step = workload.step();
    let lengths = match workload.pattern {
        Pattern::Strided { stride } => vec![("the stride", stride)],
        Pattern::Runs { length, gap } => vec![("the length of a run", length), ("the gap", gap)],
        _ => Vec::new(),
    };
    if let Some((what, bytes)) = lengths.into_iter().find(|(_, bytes)| *bytes < step || !bytes.0.is_multiple_of(step.0))
    {
        return contradiction(format!("{what} is {bytes}; it must be a multiple of {step}, a request's step"));
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
            "direct I/O on {} needs multiples of {alignment}, and ‹{name}› comes to {bytes}; use one, or ‹buffering› buffered",
            environment.target.path
        )),
    }
}

/// Contradictions between keys, or with the targets.
fn at_odds(workload: &Workload, environment: &Environment) -> Option<&'static str> {
    let writes = workload.operation.writes();
    let null = environment.target.kind == TargetKind::Null;
    let device = environment.all_targets().any(|target| target.kind == TargetKind::BlockDevice);
    let passthrough = workload.personality.is_passthrough();
    let is_disk = |kind| matches!(kind, TargetKind::BlockDevice | TargetKind::Simulated);
    let all_devices = environment.all_targets().all(|target| is_disk(target.kind));
    let (_, on_one_target) = workload.position(0);
    let ordered = workload.pattern.is_ordered();
    let sized = !workload.sizes.is_empty();
    let unsized_kind = |kind| sized && workload.operation.has(kind) && workload.sizes.of(kind).is_empty();
    let direct = workload.buffering.is_direct();
    let verified = workload.verify != Verify::Off;
    let in_a_state = workload.file_state != FileState::Written;
    Some(if workload.durability != Durability::None && !writes {
        "a flush is for writes; use ‹operation› write, or leave ‹durability› out"
    } else if passthrough && !all_devices {
        "sg and nvme send commands to whole disks; name one, or use ‹personality› io_uring"
    } else if passthrough && !direct {
        "sg and nvme bypass the page cache, in whole blocks of the disk; use ‹buffering› direct, or none for writes that are written through, and sizes of whole blocks"
    } else if !workload.ring.is_default() && !matches!(workload.personality, Personality::IoUring | Personality::Nvme) {
        "‹ring› is for ‹personality› io_uring or nvme; use one, or leave it out"
    } else if workload.ring.wish(RingOption::Iopoll) == Wish::Asked && !direct {
        "iopoll asks a device, and buffered requests go to memory; use ‹buffering› direct, or leave it out of ‹ring›"
    } else if workload.cache != CachePolicy::Keep && environment.target.kind == TargetKind::Remote {
        "the server's cache cannot be emptied or filled from here; leave ‹cache› out"
    } else if workload.cache != CachePolicy::Keep && null {
        "null: has no cache; leave ‹cache› out"
    } else if workload.arrivals == Arrivals::Recorded {
        "recorded arrivals are those of a trace; use `halfpower replay`, or another word for ‹arrivals›"
    } else if workload.arrivals != Arrivals::Closed && workload.rate.is_none() {
        "arrivals need a rate; say how many with ‹rate›, like ‹rate› 50000/s"
    } else if workload.sharing != Sharing::Parts && !ordered {
        "‹sharing› is for patterns with an order; leave it out, or use ‹pattern› sequential"
    } else if [RequestKind::Read, RequestKind::Write, RequestKind::Trim].into_iter().any(unsized_kind) {
        "‹sizes› says nothing of a kind of request that ‹operation› has; give each a list, like read=4KiB,write=64KiB"
    } else if workload.places() == 1 && (workload.align.is_some() || workload.offset.0 > 0) {
        "‹align› and ‹offset› leave one place, and every request would go there; use smaller ones, or a larger target"
    } else if ordered && sized && workload.pattern != Pattern::Sequential {
        "several sizes go with ‹pattern› sequential and with random patterns only"
    } else if sized && on_one_target > 1 && matches!(workload.sharing, Sharing::Cursor | Sharing::Interleaved) {
        "several sizes go with ‹sharing› parts or whole; use one of these"
    } else if in_a_state && (workload.operation != Operation::Write || null) {
        "‹file_state› is for writes to a file; use ‹operation› write, or leave it out"
    } else if in_a_state && device {
        "a device has no length and no blocks of its own to give; leave ‹file_state› out, or name files only"
    } else if workload.file_state.grows() && workload.pattern != Pattern::Sequential {
        "a file that grows is written from its start; use ‹pattern› sequential"
    } else if workload.file_state.grows() && (on_one_target > 1 && workload.sharing != Sharing::Cursor) {
        "a file that grows has one writer; give each worker a target of its own, or use ‹sharing› cursor"
    } else if verified && workload.personality == Personality::Null {
        "null: keeps nothing that could be verified; name a file or device, or leave ‹verify› out"
    } else if verified && workload.operation.has(RequestKind::Trim) {
        "verification is of what is written and does not go with trims; leave them or ‹verify› out"
    } else if verified && !writes {
        "nothing is written that could be verified; use ‹operation› write or a mix, or verify the data of a stored run instead"
    } else if verified && workload.verify_block().0 < MIN_BLOCK_BYTES as u64 {
        "a block that is verified has 64 bytes at least; use sizes, ‹align› and ‹offset› in multiples of that"
    } else if workload.layout != Layout::Each && workload.targets < 2 {
        "a layout is of several targets; name them all, or leave ‹layout› out"
    } else if workload.layout == Layout::Each && workload.workers < workload.targets {
        "fewer workers than targets: some would have none; use more ‹workers›, or a ‹layout›"
    } else {
        return None;
    })
}

fn contradiction(message: String) -> Result<(), ResolveError> {
    Err(ResolveError::Contradiction(message))
}

fn unavailable(message: String) -> Result<(), ResolveError> {
    Err(ResolveError::Unavailable(message))
}

#[cfg(test)]
mod tests;
