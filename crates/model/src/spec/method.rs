//! The way requests are done: which it is where nobody said, and what it goes together with.

use super::{ResolveError, WorkloadSpec, first_broken};
use crate::environment::{Environment, TargetFacts, TargetKind};
use crate::sample::Warning;
use crate::units::Bytes;
use crate::workload::{Buffering, Personality, RwFlag, Workload};

impl WorkloadSpec {
    pub(super) fn resolve_buffering(
        &self,
        environment: &Environment,
        request_size: Bytes,
    ) -> Result<Buffering, ResolveError> {
        let refuses = |target: &&TargetFacts| target.direct_alignment_bytes.is_none();
        let target = environment.all_targets().find(refuses).unwrap_or(&environment.target);
        let alignment = environment.direct_alignment();
        let aligned = alignment.is_some_and(|alignment| request_size.0.is_multiple_of(alignment.0));
        let of_the_cache = self.personality == Some(Personality::Mmap) || self.keeps_nothing();
        let fits = aligned && !of_the_cache;
        let buffering = self.buffering.unwrap_or(if fits { Buffering::Direct } else { Buffering::Buffered });
        if !buffering.is_direct() || target.kind == TargetKind::Null {
            return Ok(buffering);
        }
        match alignment {
            None => Err(ResolveError::NoDirect {
                path: target.path.clone(),
                filesystem: target.filesystem.clone().unwrap_or_else(|| "no reason given".to_owned()),
            }),
            Some(alignment) if !aligned => {
                Err(ResolveError::Alignment { path: target.path.clone(), alignment, size: request_size })
            }
            Some(_) => Ok(buffering),
        }
    }

    /// Why requests go through the file cache though nobody said so and the targets take direct ones, with the remedy:
    /// they do not fit.
    pub fn missed_direct(&self, environment: &Environment, workload: &Workload) -> Option<Warning> {
        let is_chosen = self.buffering.is_some() || self.keeps_nothing() || self.personality == Some(Personality::Mmap);
        let (alignment, size) = (environment.direct_alignment()?, workload.request_size);
        let is_missed = !is_chosen && !workload.buffering.is_direct() && environment.target.kind != TargetKind::Null;
        (is_missed && !size.0.is_multiple_of(alignment.0)).then(|| {
            Warning::new(
                "not_direct",
                format!(
                    "requests of {size} are no multiple of {alignment}, which direct I/O wants here: they went through the file cache"
                ),
                "use a multiple, or say --buffering buffered",
            )
        })
    }

    /// Whether it is asked for that the file cache keeps nothing, which takes one that is used.
    fn keeps_nothing(&self) -> bool {
        self.rw_flags.is_some_and(|flags| flags.has(RwFlag::Dontcache))
    }

    pub(super) fn resolve_personality(
        &self,
        environment: &Environment,
        depth: u32,
        buffering: Buffering,
    ) -> Result<Personality, ResolveError> {
        let ring_is_better = depth > 1 || buffering.is_direct();
        let personality = match self.personality {
            Some(said) => said,
            None if environment.target.kind == TargetKind::Null => Personality::Null,
            None if self.rw_flags.is_some_and(|flags| !flags.is_empty()) => Personality::Vectored,
            None if ring_is_better && environment.supports(Personality::IoUring) => Personality::IoUring,
            None => Personality::Sync,
        };
        let without_target = matches!(personality, Personality::Null | Personality::Plugin);
        if environment.target.kind == TargetKind::Null && !without_target {
            return Err(ResolveError::Contradiction(format!(
                "null: takes the null personality and plug-ins only; name a file or device for {personality}"
            )));
        }
        if personality == Personality::Plugin && self.plugin.is_none() {
            return Err(ResolveError::Contradiction(
                "no plug-in is named; say which, like --personality plugin:./own.so".to_owned(),
            ));
        }
        let facts = environment.personalities.iter().find(|facts| facts.personality == personality);
        if let Some(reason) = facts.and_then(|facts| facts.unavailable.clone()) {
            return Err(ResolveError::Unavailable { personality, reason });
        }
        if !personality.is_deep() && depth > 1 {
            let ring = environment.personalities.iter().find(|facts| facts.personality == Personality::IoUring);
            return Err(match ring.and_then(|facts| facts.unavailable.clone()) {
                Some(reason) => ResolveError::Unavailable {
                    personality: Personality::IoUring,
                    reason: format!("{reason}; or use --workers {depth} instead of --depth"),
                },
                None => ResolveError::SyncDepth { personality, depth },
            });
        }
        Ok(personality)
    }
}

/// Refuses what the way cannot do.
pub(super) fn check(workload: &Workload) -> Result<(), ResolveError> {
    let flags = workload.rw_flags;
    let direct = workload.buffering.is_direct();
    let mmap = workload.personality == Personality::Mmap;
    let rules = [
        (
            mmap && direct,
            "mmap goes through the file cache by its nature; use --buffering buffered or through, or another --personality",
        ),
        (
            mmap && workload.file_state.grows(),
            "a mapping does not make a file longer; use --file-state written, preallocated or sparse, or another --personality",
        ),
        (
            !flags.is_empty() && workload.personality != Personality::Vectored,
            "--rw-flags are of preadv2 and pwritev2; use --personality vectored, or leave them out",
        ),
        (
            flags.has(RwFlag::Hipri) && !direct,
            "hipri asks the device itself until it is done; use --buffering direct, or leave hipri out of --rw-flags",
        ),
        (
            flags.has(RwFlag::Dontcache) && direct,
            "dontcache is for requests through the file cache; use --buffering buffered, or leave it out of --rw-flags",
        ),
        (
            flags.has(RwFlag::Dsync) && !workload.operation.writes(),
            "dsync is for writes; use --op write, or leave it out of --rw-flags",
        ),
    ];
    first_broken(&rules)
}
