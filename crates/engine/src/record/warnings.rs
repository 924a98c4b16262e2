//! Warnings of a sample whose figures may be wrong.

use super::no_effect;
use crate::instrument::accounts::TICK_S;
use halfpower_model::sample::{Warning, came_around, in_write_cache, left_in_buffer, memory_speed, once_over};
use halfpower_model::{Buffering, CachePolicy, Personality, Sample, Workload};

/// Share of the workers' time, runnable without a CPU, from which other programs used their CPUs.
const WAITED_MOST: f64 = 0.1;

/// All warnings of a sample.
pub(super) fn warnings(sample: &Sample, hole_share: f64, stolen_over_s: f64) -> Vec<Warning> {
    let workload = &sample.workload;
    let mut warnings = Vec::new();
    let mut warn = |applies: bool, code: &str, message: String, remedy: &str| {
        if applies {
            warnings.push(Warning::new(code, message, remedy));
        }
    };
    warn(
        sample.generator_bound,
        "generator_bound",
        "the program was the bottleneck, not the storage".to_owned(),
        &program_remedy(sample),
    );
    let cold = matches!(workload.cache, CachePolicy::Cold | CachePolicy::ColdEachPass);
    let cached = sample.cached_share_before.unwrap_or(0.0);
    warn(
        cold && cached > 0.01,
        "not_cold",
        format!("{:.0} % of the span was still in the page cache", cached * 100.0),
        "close other programs that use the file, or use --buffering direct",
    );
    warn(
        cold && sample.cached_share_before.is_none() && !workload.buffering.is_direct(),
        "cold_unknown",
        "the kernel does not report whether the page cache dropped the span".to_owned(),
        "run as a user who has permission to write the target, or use --buffering direct",
    );
    warn(
        workload.reads_a_cold_cache_in_order() && came_around(sample),
        "cache_hits",
        "the run read more bytes than the span holds, so some came from the page cache".to_owned(),
        &once_over(workload),
    );
    warn(
        hole_share > 0.01 && workload.operation.writes(),
        "sparse_target",
        format!(
            "{:.0} % of the span held no data, so the file system allocated or converted blocks during the run",
            hole_share * 100.0
        ),
        "write the whole file once before the run",
    );
    let stolen_s = sample.cpu.steal_s.unwrap_or(0.0);
    // The ticks of the kernel's count may exceed the elapsed time a little.
    let stolen = (stolen_s / stolen_over_s.max(0.01) / f64::from(sample.environment.cpus)).min(1.0);
    // A single tick of the kernel's count may stand for a much shorter time.
    warn(
        stolen > 0.05 && stolen_s > 1.5 * TICK_S,
        "time_stolen",
        format!("steal time: the hypervisor took {:.0} % of the CPU time", stolen * 100.0),
        "measure again when the host is less loaded",
    );
    warn(
        !sample.instrument.refused.is_empty(),
        "option_refused",
        format!("not granted: {}", sample.instrument.refused.join("; ")),
        "provide what it needs, or leave the option out",
    );
    warn(
        submits_synchronously(workload),
        "submits_synchronously",
        "libaio completes buffered requests during their submission, so the storage never saw the queue depth, \
         whatever depth_mean says"
            .to_owned(),
        "use --buffering direct, or --personality io_uring",
    );
    let polled = sample.instrument.obtained.iter().any(|option| option == "sqpoll");
    warn(
        (polled || workload.buffering == Buffering::Buffered) && workload.personality == Personality::IoUring,
        "kernel_workers",
        "the lower bound lacks the CPU time of kernel worker threads".to_owned(),
        "take the CPU cost from --personality sync",
    );
    warnings.extend(no_effect::warnings(sample, hole_share).into_iter().chain(memory_speed(sample)));
    warnings.extend(bounds_cross(sample));
    warnings.extend(unflushed(sample));
    warnings
}

/// Whether libaio completes requests during their submission.
pub(super) fn submits_synchronously(workload: &Workload) -> bool {
    workload.personality == Personality::Libaio && !workload.buffering.is_direct()
}

/// The remedy if the program was the bottleneck, also if it lacked CPUs.
fn program_remedy(sample: &Sample) -> String {
    let workers_s = sample.elapsed_s * f64::from(sample.workload.workers);
    let waited = sample.cpu.waited_s.map(|waited_s| waited_s / workers_s).filter(|share| *share >= WAITED_MOST);
    match (sample.workload.personality == Personality::Null, waited) {
        (false, _) => "use more workers or larger requests".to_owned(),
        (true, None) => "name a file or a device to measure storage; this is the program's own limit".to_owned(),
        (true, Some(share)) => format!(
            "name a file or a device to measure storage; the program's own limit is higher: it waited {:.0} % of the time for \
             a CPU",
            share * 100.0
        ),
    }
}

/// Warns of writes that may still be in the device's cache or buffer: without a flush, or if it ignores flushes. The kernel does not
/// report its size.
fn unflushed(sample: &Sample) -> Option<Warning> {
    let has = |kind: &str| sample.environment.all_targets().any(|target| target.write_cache.as_deref() == Some(kind));
    let left = has("write through").then(|| left_in_buffer(sample, None)).flatten();
    left.or_else(|| has("write back").then(|| in_write_cache(sample, None))?)
}

/// Warns if the CPU time of the workers exceeds that of the whole machine.
fn bounds_cross(sample: &Sample) -> Option<Warning> {
    let lower_s = sample.cpu.lower.user_s + sample.cpu.lower.system_s;
    let error_s = sample.cpu.soaker.map_or(0.0, |soaker| soaker.error_s);
    let message = "the lower bound of the CPU time exceeds the upper one by more than its error";
    let remedy = "measure longer, on an idle machine";
    (lower_s > sample.cpu.upper_s? + error_s).then(|| Warning::new("bounds_cross", message, remedy))
}

#[cfg(test)]
mod tests {
    use super::*;
    use halfpower_model::sample::Soaker;
    use halfpower_model::sample::Totals;
    use halfpower_model::{Bytes, Durability, TargetFacts, TargetKind};

    fn sample(workload: Workload) -> Sample {
        let nowhere = TargetFacts::bare("null:", TargetKind::Null, Bytes(0));
        Sample::empty(workload, crate::environment(nowhere, Vec::new()))
    }

    #[test]
    fn bounds_that_cross_are_reported() {
        let mut sample = sample(Workload::default());
        (sample.cpu.lower.user_s, sample.cpu.lower.system_s) = (0.4, 0.6);
        assert!(bounds_cross(&sample).is_none(), "nobody measured the upper bound");
        sample.cpu.upper_s = Some(0.95);
        assert_eq!(bounds_cross(&sample).map(|warning| warning.code), Some("bounds_cross".to_owned()));
        sample.cpu.soaker = Some(Soaker { error_s: 0.06, ..Soaker::default() });
        assert!(bounds_cross(&sample).is_none(), "within the stated error");
    }

    #[test]
    fn a_program_without_a_cpu_does_not_show_what_it_can_do() {
        let mut sample = sample(Workload { personality: Personality::Null, ..Workload::default() });
        (sample.elapsed_s, sample.generator_bound) = (1.0, true);
        let warning = |sample: &Sample| warnings(sample, 0.0, 1.0).remove(0).remedy;
        sample.cpu.waited_s = Some(0.02);
        assert!(warning(&sample).ends_with("this is the program's own limit"), "{}", warning(&sample));
        sample.cpu.waited_s = Some(0.66);
        let remedy = warning(&sample);
        assert!(remedy.ends_with("it waited 66 % of the time for a CPU"), "{remedy}");
    }

    #[test]
    fn no_more_than_all_was_stolen() {
        let mut sample = sample(Workload::default());
        let warning = |sample: &Sample, over_s| {
            let found = warnings(sample, 0.0, over_s).into_iter().find(|warning| warning.code == "time_stolen");
            found.map(|warning| warning.message)
        };
        sample.cpu.steal_s = Some(0.3 * f64::from(sample.environment.cpus));
        assert_eq!(warning(&sample, 1.0).unwrap(), "steal time: the hypervisor took 30 % of the CPU time");
        assert_eq!(warning(&sample, 0.08).unwrap(), "steal time: the hypervisor took 100 % of the CPU time");
        assert_eq!(warning(&sample, 10.0), None);
    }

    #[test]
    fn few_writes_that_a_device_may_have_kept_are_reported() {
        let warning = |cache: Option<&str>, durability| {
            let write_cache = cache.map(str::to_owned);
            let facts = TargetFacts { write_cache, ..TargetFacts::bare("a", TargetKind::File, Bytes(1 << 30)) };
            let workload = Workload { buffering: Buffering::Direct, durability, ..Workload::default() };
            let mut sample = Sample::empty(workload, crate::environment(facts, Vec::new()));
            sample.write = Some(Totals { bytes: 32 << 20, ..Totals::default() });
            unflushed(&sample).map(|warning| warning.code)
        };
        let of = |durability| [Some("write through"), Some("write back"), None].map(|cache| warning(cache, durability));
        assert_eq!(of(Durability::FlushAtEnd), [Some("left_in_buffer".to_owned()), None, None]);
        assert_eq!(of(Durability::None), [None, Some("in_write_cache".to_owned()), None]);
    }
}
