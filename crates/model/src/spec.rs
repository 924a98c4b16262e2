//! What a person said of a workload, and what it resolves to on a machine.
//!
//! A spec says only what was said; the rest is none. Layers (a study's defaults, a sweep's values, the command line)
//! are laid over one another with [`WorkloadSpec::or`]. Resolving fills in the defaults, checks every value against
//! the target, and looks nothing up itself: what it needs to know is in the [`Environment`].

use crate::environment::{Environment, TargetKind};
use crate::units::{Bytes, Nanoseconds};
use crate::workload::{Buffering, CachePolicy, Durability, Limits, Operation, Pattern, Personality, Workload};
use std::fmt;

/// What was said of a workload.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct WorkloadSpec {
    /// Default: read.
    pub operation: Option<Operation>,
    /// Default: sequential.
    pub pattern: Option<Pattern>,
    /// Default: 64 KiB for sequential, 4 KiB for random.
    pub request_size: Option<Bytes>,
    /// Default: 1.
    pub depth: Option<u32>,
    /// Default: 1.
    pub submit_batch: Option<u32>,
    /// Default: 1.
    pub workers: Option<u32>,
    /// Default: direct where the target takes it, else buffered.
    pub buffering: Option<Buffering>,
    /// Default: io_uring when direct or deeper than one and it works here, else sync.
    pub personality: Option<Personality>,
    /// Default: the whole target.
    pub span: Option<Bytes>,
    /// Default: 5 s, unless there is another limit.
    pub duration: Option<Nanoseconds>,
    /// Default: none.
    pub requests: Option<u64>,
    /// Default: none.
    pub bytes: Option<Bytes>,
    /// Default: none.
    pub warmup: Option<Nanoseconds>,
    /// Default: 1 s.
    pub interval: Option<Nanoseconds>,
    /// Default: keep.
    pub cache: Option<CachePolicy>,
    /// Default: none.
    pub durability: Option<Durability>,
    /// Default: 1.
    pub seed: Option<u64>,
    /// Default: not pinned.
    pub cpus: Option<Vec<u32>>,
}

/// Why what was said cannot be run here. Each message ends with the remedy.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ResolveError {
    /// A number outside its range.
    #[error("{key} is {value}; it must be {range}")]
    Range {
        /// Which setting.
        key: &'static str,
        /// What it was.
        value: String,
        /// What it may be.
        range: String,
    },
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
        "the sync personality keeps one request outstanding; use --personality io_uring for depth {depth}, or --workers {depth}"
    )]
    SyncDepth {
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

/// Largest request.
pub const MAX_REQUEST: Bytes = Bytes(1 << 30);
/// Most requests outstanding a worker.
pub const MAX_DEPTH: u32 = 16_384;
/// Most workers.
pub const MAX_WORKERS: u32 = 1024;
/// Closest spacing of the recorded intervals.
pub const MIN_INTERVAL: Nanoseconds = Nanoseconds(10_000_000);

impl WorkloadSpec {
    /// What this spec says, and where it says nothing, what `below` says.
    #[must_use]
    pub fn or(self, below: &WorkloadSpec) -> WorkloadSpec {
        WorkloadSpec {
            operation: self.operation.or(below.operation),
            pattern: self.pattern.or(below.pattern),
            request_size: self.request_size.or(below.request_size),
            depth: self.depth.or(below.depth),
            submit_batch: self.submit_batch.or(below.submit_batch),
            workers: self.workers.or(below.workers),
            buffering: self.buffering.or(below.buffering),
            personality: self.personality.or(below.personality),
            span: self.span.or(below.span),
            duration: self.duration.or(below.duration),
            requests: self.requests.or(below.requests),
            bytes: self.bytes.or(below.bytes),
            warmup: self.warmup.or(below.warmup),
            interval: self.interval.or(below.interval),
            cache: self.cache.or(below.cache),
            durability: self.durability.or(below.durability),
            seed: self.seed.or(below.seed),
            cpus: self.cpus.or_else(|| below.cpus.clone()),
        }
    }

    /// The workload this comes to on a testbed.
    ///
    /// # Errors
    /// When a value is out of range, contradicts another or asks for what the target cannot do.
    pub fn resolve(&self, environment: &Environment) -> Result<Workload, ResolveError> {
        let target = &environment.target;
        let pattern = self.pattern.unwrap_or(Pattern::Sequential);
        let default_size = if pattern == Pattern::Random { 4 } else { 64 };
        let request_size = self.request_size.unwrap_or(Bytes(default_size * 1024));
        let depth = self.depth.unwrap_or(1);
        let workers = self.workers.unwrap_or(1);
        check_range("request size", request_size, Bytes(1), Some(MAX_REQUEST))?;
        check_range("depth", depth, 1, Some(MAX_DEPTH))?;
        check_range("workers", workers, 1, Some(MAX_WORKERS))?;
        let buffering = self.resolve_buffering(environment, request_size)?;
        let limits = self.resolve_limits()?;
        let workload = Workload {
            operation: self.operation.unwrap_or(Operation::Read),
            pattern,
            request_size,
            depth,
            submit_batch: self.submit_batch.unwrap_or(1),
            workers,
            buffering,
            personality: self.resolve_personality(environment, depth, buffering)?,
            span: self.resolve_span(environment, request_size, workers)?,
            limits,
            warmup: self.warmup.unwrap_or_default(),
            interval: self.interval.unwrap_or(Nanoseconds(1_000_000_000)),
            cache: self.cache.unwrap_or(CachePolicy::Keep),
            durability: self.durability.unwrap_or(Durability::None),
            seed: self.seed.unwrap_or(1),
            cpus: self.cpus.clone().unwrap_or_default(),
        };
        check_range("submit batch", workload.submit_batch, 1, Some(MAX_DEPTH))?;
        check_range("interval", workload.interval, MIN_INTERVAL, None)?;
        if workload.durability == Durability::FlushAtEnd && !workload.operation.writes() {
            return Err(ResolveError::Contradiction(
                "a flush at the end is for writes; use --op write, or leave --durability out".to_owned(),
            ));
        }
        if workload.cache != CachePolicy::Keep && target.kind == TargetKind::Null {
            return Err(ResolveError::Contradiction("null: has no cache; leave --cache out".to_owned()));
        }
        Ok(workload)
    }

    fn resolve_buffering(&self, environment: &Environment, request_size: Bytes) -> Result<Buffering, ResolveError> {
        let target = &environment.target;
        let alignment = target.direct_alignment_bytes;
        let fits = alignment.is_some_and(|alignment| request_size.0.is_multiple_of(alignment.0));
        let buffering = self.buffering.unwrap_or(if fits { Buffering::Direct } else { Buffering::Buffered });
        if !buffering.is_direct() || target.kind == TargetKind::Null {
            return Ok(buffering);
        }
        match alignment {
            None => Err(ResolveError::NoDirect {
                path: target.path.clone(),
                filesystem: target.filesystem.clone().unwrap_or_else(|| "no reason given".to_owned()),
            }),
            Some(alignment) if !fits => {
                Err(ResolveError::Alignment { path: target.path.clone(), alignment, size: request_size })
            }
            Some(_) => Ok(buffering),
        }
    }

    fn resolve_personality(
        &self,
        environment: &Environment,
        depth: u32,
        buffering: Buffering,
    ) -> Result<Personality, ResolveError> {
        let ring_is_better = depth > 1 || buffering.is_direct();
        let personality = match self.personality {
            Some(said) => said,
            None if environment.target.kind == TargetKind::Null => Personality::Null,
            None if ring_is_better && environment.supports(Personality::IoUring) => Personality::IoUring,
            None => Personality::Sync,
        };
        if environment.target.kind == TargetKind::Null && personality != Personality::Null {
            return Err(ResolveError::Contradiction(format!(
                "null: takes the null personality only; name a file or device for {personality}"
            )));
        }
        let facts = environment.personalities.iter().find(|facts| facts.personality == personality);
        if let Some(reason) = facts.and_then(|facts| facts.unavailable.clone()) {
            return Err(ResolveError::Unavailable { personality, reason });
        }
        if personality == Personality::Sync && depth > 1 {
            let ring = environment.personalities.iter().find(|facts| facts.personality == Personality::IoUring);
            return Err(match ring.and_then(|facts| facts.unavailable.clone()) {
                Some(reason) => ResolveError::Unavailable {
                    personality: Personality::IoUring,
                    reason: format!("{reason}; or use --workers {depth} instead of --depth"),
                },
                None => ResolveError::SyncDepth { depth },
            });
        }
        Ok(personality)
    }

    fn resolve_span(&self, environment: &Environment, request: Bytes, workers: u32) -> Result<Bytes, ResolveError> {
        let target = &environment.target;
        check_range("size", self.span.unwrap_or(Bytes(1)), Bytes(1), None)?;
        if target.size_bytes.0 == 0 {
            let path = target.path.clone();
            let device = target.kind == TargetKind::BlockDevice;
            return Err(if device { ResolveError::NoMedium { path } } else { ResolveError::Empty { path } });
        }
        let span = self.span.unwrap_or(target.size_bytes);
        if span > target.size_bytes {
            let (path, size) = (target.path.clone(), target.size_bytes);
            return Err(ResolveError::TooSmall { path, size, asked: span });
        }
        let whole = span.0 - span.0 % request.0;
        if whole / request.0 < u64::from(workers) {
            let each = if workers == 1 { String::new() } else { format!(" for each of {workers} workers") };
            return Err(ResolveError::Contradiction(format!(
                "{span} of {} do not hold a request of {request}{each}; use smaller requests, or a larger --size or target",
                target.path
            )));
        }
        Ok(Bytes(whole))
    }

    fn resolve_limits(&self) -> Result<Limits, ResolveError> {
        check_range("duration", self.duration.unwrap_or(Nanoseconds(1)), Nanoseconds(1), None)?;
        check_range("requests", self.requests.unwrap_or(1), 1, None)?;
        check_range("bytes", self.bytes.unwrap_or(Bytes(1)), Bytes(1), None)?;
        let only_default = self.requests.is_none() && self.bytes.is_none();
        let duration = self.duration.or(only_default.then_some(Nanoseconds(5_000_000_000)));
        Ok(Limits { duration, requests: self.requests, bytes: self.bytes })
    }
}

fn check_range<T: fmt::Display + PartialOrd>(
    key: &'static str,
    value: T,
    low: T,
    high: Option<T>,
) -> Result<(), ResolveError> {
    if value >= low && high.as_ref().is_none_or(|high| value <= *high) {
        return Ok(());
    }
    let range = high.map_or_else(|| format!("at least {low}"), |high| format!("from {low} to {high}"));
    Err(ResolveError::Range { key, value: value.to_string(), range })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::environment::{ClockFacts, PersonalityFacts, TargetFacts};

    fn environment() -> Environment {
        let mut target = TargetFacts::bare("/data/file", TargetKind::File, Bytes(1 << 30));
        target.direct_alignment_bytes = Some(Bytes(512));
        Environment {
            host: "test".to_owned(),
            kernel: "6".to_owned(),
            cpus: 2,
            cpu_model: None,
            memory_bytes: Bytes(1 << 34),
            clock: ClockFacts { source: "tsc".to_owned(), resolution_ns: 1.0, cost_ns: 1.0 },
            personalities: Personality::ALL
                .iter()
                .map(|personality| PersonalityFacts { personality: *personality, unavailable: None })
                .collect(),
            target,
        }
    }

    #[test]
    fn nothing_said_is_a_direct_sequential_read() {
        let workload = WorkloadSpec::default().resolve(&environment()).unwrap();
        assert_eq!(workload.to_string(), "sequential read, 64 KiB, 1 deep, direct");
        assert_eq!(workload.personality, Personality::IoUring);
        assert_eq!(workload.limits.duration, Some(Nanoseconds(5_000_000_000)));
    }

    #[test]
    fn without_direct_it_is_buffered_and_sync() {
        let mut environment = environment();
        environment.target.direct_alignment_bytes = None;
        let workload = WorkloadSpec::default().resolve(&environment).unwrap();
        assert_eq!((workload.buffering, workload.personality), (Buffering::Buffered, Personality::Sync));
        let direct = WorkloadSpec { buffering: Some(Buffering::Direct), ..Default::default() };
        assert!(matches!(direct.resolve(&environment), Err(ResolveError::NoDirect { .. })));
    }

    #[test]
    fn what_cannot_be_is_refused_with_the_remedy() {
        let said = WorkloadSpec::default;
        let cases = [
            (WorkloadSpec { depth: Some(0), ..said() }, "from 1"),
            (WorkloadSpec { request_size: Some(Bytes(0)), ..said() }, "from 1"),
            (
                WorkloadSpec { request_size: Some(Bytes(1000)), buffering: Some(Buffering::None), ..said() },
                "multiples of 512 B",
            ),
            (WorkloadSpec { personality: Some(Personality::Sync), depth: Some(8), ..said() }, "--workers 8"),
            (WorkloadSpec { span: Some(Bytes(1 << 31)), ..said() }, "--size"),
            (WorkloadSpec { workers: Some(1024), request_size: Some(Bytes(1 << 21)), ..said() }, "1024 workers"),
            (WorkloadSpec { requests: Some(0), ..said() }, "requests is 0"),
            (WorkloadSpec { durability: Some(Durability::FlushAtEnd), ..said() }, "--op write"),
        ];
        for (spec, needle) in cases {
            let message = spec.resolve(&environment()).unwrap_err().to_string();
            assert!(message.contains(needle), "{message}");
        }
        let mut empty = environment();
        empty.target.size_bytes = Bytes(0);
        assert!(matches!(said().resolve(&empty), Err(ResolveError::Empty { .. })));
    }

    #[test]
    fn the_upper_layer_wins() {
        let above = WorkloadSpec { depth: Some(8), ..Default::default() };
        let below = WorkloadSpec { depth: Some(2), workers: Some(3), ..Default::default() };
        let both = above.or(&below);
        assert_eq!((both.depth, both.workers), (Some(8), Some(3)));
    }
}
