//! What other programs did beside the samples.

use crate::device::share_for_others;
use crate::statistics::mean;
use halfpower_model::Sample;
use serde::Serialize;

/// From this share on it is worth a word.
const WORTH_A_WORD: f64 = 0.05;

/// The load of other programs, on average over the samples of a side.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Load {
    /// Share of all CPU time that other programs used, the kernel's work left out; 0 if not counted.
    pub cpu: f64,
    /// Share of the device's bytes that were for others; 0 if not known.
    pub device: f64,
    /// Whether they are known: the CPU time, and the device's bytes.
    #[serde(skip)]
    pub(super) are_known: [bool; 2],
}

impl Load {
    pub(super) fn of(samples: &[&Sample]) -> Load {
        let of = |share: fn(&Sample) -> Option<f64>| {
            let shares: Vec<f64> = samples.iter().filter_map(|sample| share(sample)).collect();
            mean(&shares).unwrap_or(0.0)
        };
        let are_known = [cpu_for_others, share_for_others]
            .map(|of: fn(&Sample) -> Option<f64>| samples.iter().any(|sample| of(sample).is_some()));
        Load { cpu: of(cpu_for_others), device: of(share_for_others), are_known }
    }

    /// The larger share.
    pub(super) fn most(self) -> f64 {
        self.cpu.max(self.device)
    }

    /// `Other programs used 54 % of the CPU time before and 84 % after`; none if it is not worth a word.
    pub(super) fn in_words([before, after]: [Load; 2], [first, second]: [&str; 2]) -> Option<String> {
        let part = |kind: usize, share: fn(Load) -> f64, verb: &str, of: &str| {
            let [one, other] = [before, after].map(share);
            let [one_percent, other_percent] = [one, other].map(|share| format!("{:.0} %", share * 100.0));
            let percents = match (before.are_known[kind], after.are_known[kind]) {
                (true, true) => format!("{verb} {one_percent} of the {of} {first} and {other_percent} {second}"),
                (true, false) => format!("{verb} {one_percent} of the {of} {first}"),
                _ => format!("{verb} {other_percent} of the {of} {second}"),
            };
            (one.max(other) >= WORTH_A_WORD).then_some(percents)
        };
        let words =
            [part(0, |load| load.cpu, "used", "CPU time"), part(1, |load| load.device, "caused", "device's I/O")];
        let words: Vec<String> = words.into_iter().flatten().collect();
        (!words.is_empty()).then(|| format!("Other programs {}", words.join(", and ")))
    }
}

/// The share of all CPU time that other programs used outside the kernel, whose work is in part for the measured requests.
fn cpu_for_others(sample: &Sample) -> Option<f64> {
    let account = sample.cpu.system.filter(|account| account.total_s() > 0.0)?;
    let programs_s = account.user_s + account.nice_s;
    Some(((programs_s - sample.cpu.lower.user_s) / account.total_s()).clamp(0.0, 1.0))
}
