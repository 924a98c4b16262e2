//! A CPU that is saturated or nearly: the rate at which each worker would use one CPU core fully.
//!
//! A worker is one thread on one core. Its cost per request (lower bound) implies a maximum rate. From 90 % use on the core is
//! saturated; from 50 % on it is reported. Judged is the best cell over sizes, depths and workers. Polling workers and the
//! generator alone are left out. Other CPU work makes the real limit lower. Source: Chung, Gray, Worthington and Horst, "Windows 2000
//! disk IO performance" (2000).

use super::bottleneck::{Paces, Plateau};
use super::frame::found;
use crate::attribution::Owner;
use crate::statistics::{mean, mean_estimate};
use crate::wording::noted;
use halfpower_model::{Finding, FindingCode, Quantity, Sample};

/// Saturated from this share of a worker's time on, and reported from that one on.
const FULL: f64 = 0.9;
const NEAR: f64 = 0.5;
/// Use beyond a worker's time is a measurement error.
const MOST: f64 = 1.05;

pub(super) fn find(plateaus: &[Plateau<'_>], paces: &Paces) -> Vec<Finding> {
    plateaus.iter().filter_map(|plateau| finding(plateau, paces)).collect()
}

fn finding(plateau: &Plateau<'_>, paces: &Paces) -> Option<Finding> {
    let (cell, rate) = (plateau.cell, plateau.rate);
    let pace = paces.get(cell)?;
    let is_program = pace.owner == Some(Owner::Generator);
    let polls = cell.repetitions.iter().any(|observed| crate::attribution::polls(observed.sample));
    let costs = cell.cpu_s_per(|sample| match rate.quantity {
        Quantity::BytesPerSecond => sample.total.bytes,
        _ => sample.total.requests,
    });
    if is_program || polls || costs.is_empty() {
        return None;
    }
    let workers = f64::from(cell.workload.workers);
    let full_at: Vec<f64> = costs.iter().map(|cost_s| workers / cost_s).collect();
    // Per repetition: with scatter, mean cost × mean rate is no share that occurred.
    let used = |sample: &Sample| (sample.cpu.lower.user_s + sample.cpu.lower.system_s) / (sample.elapsed_s * workers);
    let shares: Vec<f64> = cell.repetitions.iter().map(|observed| used(observed.sample)).collect();
    let share = mean(&shares)?;
    let most = mean_estimate(rate.quantity, &full_at)?;
    if !(NEAR..=MOST).contains(&share) {
        return None;
    }
    let percent = format!("{:.0} %", (share * 100.0).min(100.0));
    let each = match cell.workload.workers {
        1 => format!("the worker uses {percent} of a CPU core"),
        workers => format!("each of {workers} workers uses {percent} of a CPU core"),
    };
    let (brief, claim) = match share >= FULL {
        true => (format!("saturated at {rate}"), format!("{each}: it is saturated, and {most} is its limit")),
        false => (
            format!("one CPU would saturate at {most} ({percent} used)"),
            format!("{each}, which would saturate at {most} or below"),
        ),
    };
    let words = [brief, noted(cell.workload, &format!("{}; {claim}", plateau.words()))];
    Some(found(FindingCode::CpuSaturation, plateau.subject(), [cell], words, vec![most, rate]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::{Run, around, deep, random, read, says};

    /// A cell of 100 000 IOPS with this CPU time per I/O.
    fn found(us_per_request: f64, workers: u32) -> Vec<Finding> {
        let mut run = Run::default();
        let workload = halfpower_model::Workload { workers, ..deep(32, random(read(4))) };
        let cell = run.add(workload, &around(409.6e6));
        run.cost(cell, |_| us_per_request);
        run.findings(FindingCode::CpuSaturation)
    }

    #[test]
    fn a_full_cpu_and_a_nearly_full_one_are_reported() {
        let full = found(9.5, 1);
        assert_eq!(full[0].brief, "saturated at 100\u{202f}000 IOPS ± 2 %");
        says(&full[0].sentence, "uses 95 % of a CPU core: it is saturated");
        let near = found(6.25, 1);
        assert_eq!(near[0].estimates[0].value.round(), 160_000.0);
        says(&near[0].sentence, "would saturate at 160\u{202f}000 IOPS");
        for tenths in 1..=100 {
            let findings = found(f64::from(tenths) / 10.0, 1);
            let below = |finding: &Finding| finding.estimates[0].value < finding.estimates[1].value * 0.97;
            assert!(!findings.iter().any(below), "never below what was measured: {findings:?}");
        }
        assert!(found(6.3 * 2.0, 2)[0].sentence.contains("each of 2 workers uses 63 %"));
    }

    #[test]
    fn where_the_rate_scatters_it_is_what_each_repetition_used() {
        let mut run = Run::default();
        let rates = [20e3, 20e3, 60e3, 100e3];
        let cell = run.add(deep(32, random(read(4))), &rates.map(|rate| rate * 4096.0));
        // 55 % of the time each; the product of the means is 81 %.
        run.cost(cell, |block| 0.55e6 / rates[block as usize]);
        let found = run.findings(FindingCode::CpuSaturation);
        says(&found[0].sentence, "uses 55 % of a CPU core");
        run.cost(cell, |block| 0.45e6 / rates[block as usize]);
        assert_eq!(run.findings(FindingCode::CpuSaturation), []);
    }

    #[test]
    fn an_idle_one_or_an_unmeasured_one_is_not() {
        assert_eq!(found(4.9, 1), []);
        assert_eq!(found(9.5, 2), []);
        assert_eq!(found(12.0, 1), [], "more than there is");
        assert_eq!(found(0.0, 1), []);
    }

    #[test]
    fn workers_that_poll_say_nothing() {
        let mut run = Run::default();
        let cell = run.add(deep(32, random(read(4))), &around(409.6e6));
        run.cost(cell, |_| 9.9);
        let codes = |run: &Run| {
            let findings = crate::analyse(&run.observed()).findings;
            findings.iter().any(|finding| finding.code == FindingCode::CpuSaturation)
        };
        assert!(codes(&run));
        run.samples.iter_mut().for_each(|placed| placed.sample.instrument.obtained = vec!["iopoll".to_owned()].into());
        assert!(!codes(&run));
    }
}
