//! The command line of a workload: the options of `halfpower io` that come to it again.
//!
//! What does not depend on the machine is left out where it is the default. What does (the way, the use of caches, the
//! size, how many workers) is always said, so that the command does the same or refuses, never something else. Which
//! targets a workload goes to is not among the options: those are named.

use halfpower_model::{Bytes, Limits, Nanoseconds, Workload};
use std::fmt::Display;

/// The options of `halfpower io` that resolve to this workload on the targets it goes to.
pub(crate) fn options(workload: &Workload) -> Vec<String> {
    // A field more has to find its option here.
    let Workload {
        operation,
        // Of imported samples only: a plan knows all.
        unknown: _,
        pattern,
        sharing,
        request_size,
        sizes,
        align,
        offset,
        depth,
        submit_batch,
        wait_batch,
        workers,
        worker_kind,
        buffering,
        personality: _,
        plugin: _,
        ring,
        rw_flags,
        layout,
        among: _,
        targets: _,
        span,
        limits: Limits { duration, requests, bytes },
        arrivals,
        rate,
        warmup,
        interval,
        cache,
        file_state,
        durability,
        closing,
        data,
        verify,
        seed,
        block_phases,
        cpus,
        processors,
        cpu_accounting,
        set,
    } = workload;
    let plain = Workload::default();
    let mut said = Said(Vec::new());
    said.unless(&plain.operation, "--op", operation);
    said.unless(&plain.pattern, "--pattern", pattern);
    if sizes.is_empty() {
        said.option("--request-size", request_size.exactly());
    } else {
        said.option("--sizes", sizes);
    }
    said.unless(&plain.depth, "--depth", depth);
    said.option("--workers", workers);
    said.flag(*worker_kind != plain.worker_kind, "--processes");
    said.option("--buffering", buffering);
    said.option("--personality", workload.named_personality());
    said.unless(&plain.ring, "--ring", ring);
    said.unless(&plain.rw_flags, "--rw-flags", rw_flags);
    said.unless(&plain.submit_batch, "--submit-batch", submit_batch);
    said.unless(&plain.wait_batch, "--wait-batch", wait_batch);
    said.option("--size", span.exactly());
    said.unless(&plain.layout, "--layout", layout);
    said.unless(&plain.sharing, "--sharing", sharing);
    said.maybe("--align", align.map(Bytes::exactly));
    said.maybe("--offset", (*offset != plain.offset).then(|| offset.exactly()));
    said.unless(&plain.cache, "--cache", cache);
    said.unless(&plain.file_state, "--file-state", file_state);
    said.unless(&plain.durability, "--durability", durability);
    said.flag(*closing != plain.closing, "--time-close");
    said.unless(&plain.data, "--data", data);
    said.unless(&plain.verify, "--verify", verify);
    said.maybe("--rate", *rate);
    said.unless(&plain.arrivals, "--arrivals", arrivals);
    let cpus: Vec<String> = cpus.iter().map(u32::to_string).collect();
    said.maybe("--cpus", (!cpus.is_empty()).then(|| cpus.join(",")));
    said.maybe("--processors", *processors);
    said.flag(*block_phases != plain.block_phases, "--block-phases");
    said.unless(&plain.cpu_accounting, "--cpu-accounting", cpu_accounting);
    set.0.iter().for_each(|(key, value)| said.option("--set", format!("{key}={value}")));
    said.maybe("--duration", duration.map(Nanoseconds::exactly));
    said.maybe("--requests", *requests);
    said.maybe("--bytes", bytes.map(Bytes::exactly));
    said.maybe("--warmup", (*warmup != plain.warmup).then(|| warmup.exactly()));
    said.maybe("--interval", (*interval != plain.interval).then(|| interval.exactly()));
    said.option("--seed", seed);
    said.0
}

/// Options and their values, one after another.
struct Said(Vec<String>);

impl Said {
    fn option(&mut self, option: &str, value: impl Display) {
        self.0.extend([option.to_owned(), value.to_string()]);
    }

    fn maybe(&mut self, option: &str, value: Option<impl Display>) {
        if let Some(value) = value {
            self.option(option, value);
        }
    }

    fn unless<T: Display + PartialEq>(&mut self, default: &T, option: &str, value: &T) {
        self.maybe(option, (value != default).then_some(value));
    }

    fn flag(&mut self, is_said: bool, option: &str) {
        if is_said {
            self.0.push(option.to_owned());
        }
    }
}
