//! What the storage is expected to sustain (`--expect`).

use crate::text::grouped;
use halfpower_analysis::{Analysis, Sureness};
use halfpower_model::{BytesPerSecond, Estimate, Operation, Pattern, Quantity};
use serde::{Deserialize, Serialize};
use std::str::FromStr;

/// Rates that reads and writes are expected to sustain each, written `iops=3000,throughput=125MiB/s`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Expected {
    /// IOPS of small random requests.
    pub(crate) iops: Option<f64>,
    /// Throughput of large sequential requests.
    pub(crate) throughput: Option<BytesPerSecond>,
}

/// A rate falls short if it is lower by more than this share.
const SHORT: f64 = 0.01;

/// More IOPS are a mistake.
const IOPS_MAX: f64 = 1e9;

/// An expected rate with what was measured.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct Judged {
    pub(crate) operation: Operation,
    pub(crate) expected: f64,
    /// None if no such rate was measured, or only in a burst.
    pub(crate) sustained: Option<Estimate>,
    pub(crate) is_short: bool,
    /// Whether a longer measurement may show a lower rate: no burst was seen to end.
    pub(crate) may_fall: bool,
    /// How sure the limit is; none where none was found.
    #[serde(skip)]
    by_limit: Option<Sureness>,
    /// The deepest queue that was measured.
    #[serde(skip)]
    depth: u32,
}

impl FromStr for Expected {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut expected = Expected::default();
        for part in text.split(',').map(str::trim) {
            match part.split_once('=') {
                Some(("iops", _)) if expected.iops.is_some() => return Err("iops is given twice".to_owned()),
                Some(("throughput", _)) if expected.throughput.is_some() => {
                    return Err("throughput is given twice".to_owned());
                }
                Some(("iops", value)) => {
                    let iops = value.parse().ok().filter(|iops: &f64| *iops > 0.0 && *iops <= IOPS_MAX);
                    expected.iops = Some(iops.ok_or_else(|| {
                        format!("`{value}` is no number of IOPS above 0 and up to a billion; write one like 3000")
                    })?);
                }
                Some(("throughput", value)) => {
                    expected.throughput = Some(value.parse().map_err(|error| format!("{error}"))?);
                }
                _ => {
                    return Err(format!(
                        "`{part}` is neither iops=N nor throughput=RATE, like iops=3000,throughput=125MiB/s"
                    ));
                }
            }
        }
        Ok(expected)
    }
}

impl Expected {
    /// Reads and writes against it: by a limit if one was found, else by the fastest workload whose rate lasts.
    pub(crate) fn against(&self, analysis: &Analysis) -> Vec<Judged> {
        let rates =
            [(Quantity::RequestsPerSecond, self.iops), (Quantity::BytesPerSecond, self.throughput.map(|rate| rate.0))];
        let wanted = rates.into_iter().filter_map(|(what, expected)| Some((what, expected?)));
        let judged = wanted.flat_map(|(what, expected)| {
            [Operation::Read, Operation::Write].map(|operation| {
                let (sustained, by_limit) = sustained(analysis, what, operation).unzip();
                let by_limit = by_limit.flatten();
                let may_fall = sustained.is_some() && by_limit != Some(Sureness::Sure);
                let depth = analysis.cells.iter().map(|cell| cell.workload.depth).max().unwrap_or(1);
                let is_short =
                    sustained.is_some_and(|rate: Estimate| rate.high.unwrap_or(rate.value) < expected * (1.0 - SHORT));
                Judged { operation, expected, sustained, is_short, may_fall, by_limit, depth }
            })
        });
        // Reads of a device that may not be written are judged alone.
        let all: Vec<Judged> = judged.collect();
        let measured = |operation| all.iter().any(|one| one.operation == operation && one.sustained.is_some());
        let is_wanted = |one: &Judged| measured(one.operation) || one.operation == Operation::Read;
        all.iter().copied().filter(is_wanted).collect()
    }
}

/// The rate that lasts by a limit, else that of the fastest workload, and how sure it is; none where no limit was found.
pub(crate) fn sustained(
    analysis: &Analysis,
    what: Quantity,
    operation: Operation,
) -> Option<(Estimate, Option<Sureness>)> {
    let is_of = |of: Option<Operation>| of.is_none_or(|of| of == operation);
    let limit = analysis.limits.iter().find(|limit| limit.what == what && is_of(limit.operation));
    let is_bytes = what == Quantity::BytesPerSecond;
    let cells = analysis.cells.iter().filter(|cell| {
        let workload = &cell.workload;
        // IOPS are of random requests: streams are merged, read ahead and cached.
        let counts = workload.buffering.is_direct() && (is_bytes || workload.pattern == Pattern::Random);
        workload.operation == operation && counts && !cell.is_burst
    });
    let rates = cells.map(|cell| if is_bytes { cell.bytes_per_s } else { cell.requests_per_s });
    let fastest = rates.filter(|rate| rate.repetitions > 0).max_by(|one, other| one.value.total_cmp(&other.value));
    Some((limit.map(|limit| limit.sustained).or(fastest)?, limit.map(|limit| limit.confidence)))
}

impl Judged {
    /// `sustain 2870 IOPS, 4.3 % less than the 3000 IOPS expected`
    fn words(&self) -> String {
        let Some(rate) = self.sustained else { return "show no rate that lasts".to_owned() };
        let expected = rate.quantity.format(self.expected);
        if self.is_short {
            let short = (1.0 - rate.value / self.expected) * 100.0;
            let deepest = match self.by_limit {
                Some(Sureness::Sure) => String::new(),
                _ => format!(", at up to QD{}", self.depth),
            };
            return format!("sustain {rate}{deepest}, {short:.1} % less than the {expected} expected");
        }
        let tolerance = match rate.value < self.expected {
            true => format!(", less {:.0} %", SHORT * 100.0),
            false => String::new(),
        };
        // A rate that was only regular may be a burst's; without a limit, a cache or heat may come later.
        let (verb, until) = match self.by_limit {
            Some(Sureness::Sure) => ("sustain", ""),
            Some(_) => ("give", ", as long as measured; it may be a burst"),
            None => ("give", ", as long as measured"),
        };
        format!("{verb} {rate}, as expected (at least {expected}{tolerance}){until}")
    }
}

/// A sentence for each, or for reads and writes together where both are alike.
pub(crate) fn sentences(judged: &[Judged]) -> Vec<String> {
    let sentence = |(words, of_each): (String, Vec<&Judged>)| {
        let of = match of_each[..] {
            [one] if one.operation == Operation::Read => "Reads",
            [_] => "Writes",
            _ => "Reads and writes",
        };
        format!("{of} {words}.")
    };
    grouped(judged, |one| one.words()).into_iter().map(sentence).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_expectation_is_read() {
        let read = |text: &str| text.parse::<Expected>();
        let both = Expected { iops: Some(3000.0), throughput: Some(BytesPerSecond(131_072_000.0)) };
        assert_eq!(read("iops=3000,throughput=125MiB/s"), Ok(both));
        assert_eq!(read("iops=3000"), Ok(Expected { throughput: None, ..both }));
        for bad in [
            "",
            "iops",
            "iops=",
            "iops=-1",
            "iops=nan",
            "iops=3k",
            "iops=3e300",
            "throughput=3",
            "latency=3",
            "iops=1,",
            "iops=1,iops=2",
        ] {
            assert!(read(bad).is_err(), "{bad}");
        }
    }
}
