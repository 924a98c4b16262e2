//! Whether requests that the end of a sample cut off took so long that its figures, which do not have them, say too little: on a
//! host or a simulated machine.

use super::{MEASURE_LONGER, Sample, Warning};
use crate::units::Nanoseconds;

/// What was cut off by the end is worth a word when it took this many times the longest that was counted, and this long.
const TIMES: u64 = 2;
const LONG_NS: u64 = 10_000_000;

/// Requests outstanding at the end that do not count.
#[derive(Clone, Copy, Debug, Default)]
pub struct CutOff {
    /// How many.
    pub requests: u64,
    /// The longest of them.
    pub longest_ns: u64,
    /// That from its intended arrival.
    pub longest_response_ns: u64,
    /// Whether these are up to the end, where nobody waited for them, and not until they were done.
    pub is_until_end: bool,
}

/// A stall that reaches past the end of the window is in no figure.
pub fn stalled_at_end(sample: &Sample, cut_off: &CutOff) -> Option<Warning> {
    let CutOff { requests, longest_ns, longest_response_ns, is_until_end } = *cut_off;
    let beyond = |cut_off_ns: u64, counted: Option<u64>| {
        cut_off_ns > LONG_NS && cut_off_ns > counted.unwrap_or(0).saturating_mul(TIMES)
    };
    let response = sample.open_loop.as_ref().map(|open| open.response_ns.max);
    let of_response = response.is_some_and(|counted| beyond(longest_response_ns, counted));
    let figures = match (beyond(longest_ns, sample.total.latency_ns.max), of_response) {
        (true, true) => "the percentiles of the latency and of the response",
        (true, false) => "the percentiles",
        (false, true) => "the percentiles of the response",
        (false, false) => return None,
    };
    let took = if of_response {
        format!("{}, {} from its intended arrival", Nanoseconds(longest_ns), Nanoseconds(longest_response_ns))
    } else {
        Nanoseconds(longest_ns).to_string()
    };
    let (noun, were) = if requests == 1 { ("request", "was") } else { ("requests", "were") };
    let had = if is_until_end { "had taken" } else { "took" };
    let message = format!(
        "{requests} {noun} {were} still outstanding at the end and the longest {had} {took}; {figures} do not have them"
    );
    Some(Warning::new("stalled_at_end", message, MEASURE_LONGER))
}
