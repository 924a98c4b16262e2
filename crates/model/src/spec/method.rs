//! Buffering and personality: their defaults and contradictions.

use super::{ResolveError, WorkloadSpec, contradiction, unavailable};
use crate::environment::{Environment, TargetFacts, TargetKind};
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
        if let Some((remote, _)) = environment.remote_target().filter(|_| !buffering.is_direct()) {
            let path = &remote.path;
            unavailable(match alignment.filter(|_| self.buffering.is_none()) {
                Some(alignment) => {
                    format!("{path} takes request sizes in multiples of {alignment}, not {request_size}")
                }
                None => format!("no page cache of this host is between it and {path}; use ‹buffering› direct, or none"),
            })?;
        }
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

    /// The alignment that direct I/O would need, if requests are buffered by default only because their size misses it.
    pub fn missed_direct(&self, environment: &Environment, workload: &Workload) -> Option<Bytes> {
        let is_chosen = self.buffering.is_some() || self.keeps_nothing() || self.personality == Some(Personality::Mmap);
        let is_missed = !is_chosen && !workload.buffering.is_direct() && environment.target.kind != TargetKind::Null;
        let alignment = environment.direct_alignment().filter(|_| is_missed)?;
        (!workload.request_size.0.is_multiple_of(alignment.0)).then_some(alignment)
    }

    /// Whether the `dontcache` flag is set, which needs buffered I/O.
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
        let of_server = environment.remote_target().map(|(_, server)| server.protocol);
        let personality = match self.personality.or(of_server) {
            Some(one) => one,
            None if environment.target.kind == TargetKind::Null => Personality::Null,
            None if self.rw_flags.is_some_and(|flags| !flags.is_empty()) => Personality::Vectored,
            None if ring_is_better && environment.supports(Personality::IoUring) => Personality::IoUring,
            None => Personality::Sync,
        };
        let without_target = matches!(personality, Personality::Null | Personality::Plugin);
        if environment.target.kind == TargetKind::Null && !without_target {
            contradiction(format!(
                "null: takes the null personality and plug-ins only; name a file or device for {personality}"
            ))?;
        }
        self.check_reach(environment, personality)?;
        if personality == Personality::Plugin && self.plugin.is_none() {
            contradiction("no plug-in is named; say which, like ‹personality› plugin:./own.so".to_owned())?;
        }
        let why_not = |personality| {
            let facts = environment.personalities.iter().find(|facts| facts.personality == personality)?;
            Some(format!("the {personality} personality does not work here: {}", facts.unavailable.as_ref()?))
        };
        why_not(personality).map_or(Ok(()), unavailable)?;
        if !personality.is_deep() && depth > 1 {
            unavailable(match why_not(Personality::IoUring) {
                Some(reason) => format!("{reason}; or use ‹workers› {depth} instead of ‹depth›"),
                None => format!(
                    "the {personality} personality keeps one request outstanding; use ‹personality› io_uring for depth {depth}, or ‹workers› {depth}"
                ),
            })?;
        }
        Ok(personality)
    }
}

impl WorkloadSpec {
    /// A volume of a server is reached by its protocol, and only so; a request has to fit into one of its.
    fn check_reach(&self, environment: &Environment, personality: Personality) -> Result<(), ResolveError> {
        let Some((remote, server)) = environment.remote_target() else {
            if self.connections.is_some() {
                return contradiction(
                    "‹connections› are those to a server; name a target of one, or leave it out".to_owned(),
                );
            }
            return if personality.is_remote() {
                unavailable(format!("{personality} reaches volumes of servers; name one, like nbd://HOST/EXPORT"))
            } else {
                Ok(())
            };
        };
        let path = &remote.path;
        let is_of_it = |target: &TargetFacts| target.server.as_ref().is_some_and(|of| of.protocol == server.protocol);
        if let Some(other) = environment.all_targets().find(|target| !is_of_it(target)) {
            return unavailable(format!(
                "{path} is reached by {}, and {} is not; measure them apart",
                server.protocol, other.path
            ));
        }
        if let Some(connections) = self.connections.filter(|connections| *connections > self.depth.unwrap_or(1)) {
            return contradiction(format!(
                "‹connections› is {connections}, and the queue depth they share is {}; use a larger ‹depth›",
                self.depth.unwrap_or(1)
            ));
        }
        if personality != server.protocol {
            return unavailable(format!("{path} is reached by {}; leave ‹personality› out", server.protocol));
        }
        match self.request_size.filter(|size| *size > server.request_max_bytes) {
            Some(_) => {
                unavailable(format!("{path} takes requests of at most {}; use smaller ones", server.request_max_bytes))
            }
            None => Ok(()),
        }
    }
}

/// Contradictions of the I/O method.
pub(super) fn at_odds(workload: &Workload) -> Option<&'static str> {
    let flags = workload.rw_flags;
    let direct = workload.buffering.is_direct();
    let mmap = workload.personality == Personality::Mmap;
    Some(if mmap && direct {
        "mmap goes through the page cache by its nature; use ‹buffering› buffered or through, or another ‹personality›"
    } else if mmap && workload.file_state.grows() {
        "a mapping does not make a file longer; use ‹file_state› written, preallocated or sparse, or another ‹personality›"
    } else if !flags.is_empty() && workload.personality != Personality::Vectored {
        "‹rw_flags› are of preadv2 and pwritev2; use ‹personality› vectored, or leave them out"
    } else if flags.has(RwFlag::Hipri) && !direct {
        "hipri asks the device itself until it is done; use ‹buffering› direct, or leave hipri out of ‹rw_flags›"
    } else if flags.has(RwFlag::Dontcache) && direct {
        "dontcache is for requests through the page cache; use ‹buffering› buffered, or leave it out of ‹rw_flags›"
    } else if flags.has(RwFlag::Dsync) && !workload.operation.writes() {
        "dsync is for writes; use ‹operation› write, or leave it out of ‹rw_flags›"
    } else {
        return None;
    })
}
