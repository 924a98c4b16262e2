//! The workload that replays a trace: what the trace determines, and the rest from the user.

use super::{ResolveError, WorkloadSpec, contradiction};
use crate::environment::Environment;
use crate::key::{KEYS, MAX_RATE, MAX_REQUEST};
use crate::units::Bytes;
use crate::workload::trace::{Speed, Trace};
use crate::workload::{Arrivals, Layout, Operation, Pattern, Rate, Workload};

/// Keys that the trace determines.
const OF_TRACE: [&str; 10] =
    ["operation", "pattern", "sharing", "request_size", "sizes", "align", "offset", "arrivals", "rate", "think"];
/// The default depth, where the buffers of the largest request leave room for it.
const DEPTH: u64 = 256;
const BUFFERS: u64 = 256 << 20;

impl WorkloadSpec {
    /// The replay of a trace on a testbed.
    ///
    /// # Errors
    /// If the trace is empty or too large, a key is given that it determines, or the target does not support the rest.
    pub(super) fn resolve_replay(&self, trace: &Trace, environment: &Environment) -> Result<Workload, ResolveError> {
        let contents = &trace.contents;
        if contents.total() == 0 {
            contradiction(format!("{} holds no request", trace.name))?;
        }
        if contents.largest > MAX_REQUEST {
            contradiction(format!(
                "{} has a request of {}; at most {MAX_REQUEST} can be replayed",
                trace.name, contents.largest
            ))?;
        }
        if let Some(key) = KEYS.iter().find(|key| OF_TRACE.contains(&key.name) && key.is_said(self)) {
            contradiction(format!("the trace determines ‹{}›; leave it out", key.name))?;
        }
        if self.layout.is_some_and(|layout| layout != Layout::Each) || environment.targets() > 1 {
            contradiction("a trace is of one target; name one, and no ‹layout›".to_owned())?;
        }
        let direct = self.buffering.is_none_or(|buffering| buffering.is_direct());
        let alignment = environment.direct_alignment().filter(|_| direct);
        let align = match alignment {
            Some(alignment) if !contents.grain.0.is_multiple_of(alignment.0) => alignment,
            _ => contents.grain.max(Bytes(1)),
        };
        let request_size = Bytes(contents.largest.0.max(1).next_multiple_of(align.0));
        let depth = DEPTH.min((BUFFERS / request_size.0).max(1)) as u32;
        let is_deep = self.personality.is_none_or(|personality| personality.is_deep());
        let plain = WorkloadSpec {
            trace: None,
            operation: Some(Operation::of_counts(contents.requests)),
            pattern: Some(Pattern::Random),
            request_size: Some(request_size),
            align: Some(align),
            depth: self.depth.or(Some(if is_deep { depth } else { 1 })),
            requests: self.requests.or(Some(contents.total())),
            size: self
                .size
                .or(Some(Bytes(contents.end.0.max(request_size.0)).min(environment.volume_size(Layout::Each)))),
            ..self.clone()
        };
        let mut workload = plain.resolve(environment)?;
        if let Speed::Times(times) = trace.speed {
            // Requests of one moment are taken for those of a second.
            let seconds = if contents.duration.0 == 0 { 1.0 } else { contents.duration.seconds() / times.value() };
            let rate = (contents.total() as f64 / seconds).round().clamp(1.0, MAX_RATE as f64);
            (workload.arrivals, workload.rate) = (Arrivals::Recorded, Some(Rate::Requests(rate as u64)));
        }
        workload.trace = Some(trace.clone());
        Ok(workload)
    }
}
