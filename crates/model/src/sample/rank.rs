//! The parts of a sample that several processes measured together.

use super::{Sample, Totals, Warning};
use crate::units::significant;
use serde::{Deserialize, Serialize};

/// A rank is a straggler below this share of the median rate.
const STRAGGLER: f64 = 0.75;

/// One process of several.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Rank {
    /// Its number, from 0.
    pub rank: u32,
    /// Its host.
    pub host: String,
    /// Its clock against that of rank 0, by the fastest of a hundred exchanges before the sample.
    pub offset_s: f64,
    /// The most by which that is wrong: half of the exchange's round trip.
    pub offset_bound_s: f64,
    /// How much the offset had changed after the sample.
    pub drift_s: f64,
    /// How late it started, by its own clock.
    pub late_s: f64,
    /// Length of its measured part.
    pub elapsed_s: f64,
    /// What it did.
    pub total: Totals,
}

impl Sample {
    /// One sample of what several processes measured from the same instant on; none without any. Whoever was much slower than the
    /// others is named in a warning.
    pub fn of_ranks(mut parts: Vec<(Rank, Sample)>) -> Option<Sample> {
        parts.sort_by_key(|(rank, _)| rank.rank);
        let started_at = parts.first()?.1.started_at;
        let stragglers = stragglers(&parts);
        let (ranks, samples): (Vec<Rank>, Vec<Sample>) = parts.into_iter().unzip();
        // Their clocks of the day need not agree.
        let warnings = once_each(&samples);
        let samples = samples.into_iter().map(|mut sample| {
            sample.workload.part_of = None;
            Sample { started_at, ..sample }
        });
        let mut whole = Sample { warnings, ..Sample::together(samples.collect())? };
        // Each process keeps its own rate.
        whole.workload.rate = whole.workload.rate.map(|rate| rate.times(ranks.len() as u64));
        whole.ranks = ranks;
        whole.warnings.extend(stragglers);
        Some(whole)
    }

    /// `4 processes on 2 hosts`; none of a process alone.
    pub fn hosts_in_words(&self) -> Option<String> {
        let mut hosts: Vec<&str> = self.ranks.iter().map(|rank| rank.host.as_str()).collect();
        hosts.sort_unstable();
        hosts.dedup();
        let of = if hosts.len() == 1 { "1 host".to_owned() } else { format!("{} hosts", hosts.len()) };
        (!hosts.is_empty()).then(|| format!("{} processes on {of}", self.ranks.len()))
    }

    /// `4 processes on 2 hosts, 20.1 MB/s to 21.3 MB/s each, started within 3 µs of one another`.
    pub fn ranks_in_words(&self) -> Option<String> {
        let rates = || self.ranks.iter().map(|rank| rank.total.bytes_per_s);
        let (least, most) = (rates().min_by(|a, b| a.0.total_cmp(&b.0))?, rates().max_by(|a, b| a.0.total_cmp(&b.0))?);
        let error = |rank: &Rank| rank.offset_bound_s + rank.late_s.abs();
        let within = crate::Nanoseconds::from_seconds(self.ranks.iter().map(error).fold(0.0, f64::max));
        let hosts = self.hosts_in_words()?;
        Some(format!("{hosts}, {least} to {most} each, started within {within} of one another"))
    }
}

/// The warnings of all processes. One that they differ in is said once, with the number of processes that have it.
fn once_each(samples: &[Sample]) -> Vec<Warning> {
    // A process may have several of one kind: the first of each is one warning, the second of each another.
    let mut kept: Vec<(usize, &Warning, Vec<&Warning>)> = Vec::new();
    for warnings in samples.iter().map(|sample| &sample.warnings) {
        for (at, warning) in warnings.iter().enumerate() {
            let number = warnings[..at].iter().filter(|before| before.code == warning.code).count();
            match kept.iter_mut().find(|(of, first, _)| *of == number && first.code == warning.code) {
                Some((.., others)) => others.push(warning),
                None => kept.push((number, warning, Vec::new())),
            }
        }
    }
    let told = |(_, first, others): (usize, &Warning, Vec<&Warning>)| {
        let mut told = first.clone();
        if others.iter().any(|other| *other != first) {
            told.message += &format!(" (the first of {} processes)", others.len() + 1);
        }
        told
    };
    kept.into_iter().map(told).collect()
}

fn stragglers(parts: &[(Rank, Sample)]) -> Option<Warning> {
    let mut rates: Vec<f64> = parts.iter().map(|(rank, _)| rank.total.bytes_per_s.0).collect();
    rates.sort_by(f64::total_cmp);
    let median = *rates.get(rates.len() / 2).filter(|_| rates.len() > 1)?;
    let slow = parts.iter().filter(|(rank, _)| rank.total.bytes_per_s.0 < STRAGGLER * median);
    let named: Vec<String> = slow
        .map(|(Rank { rank, host, total, .. }, sample)| {
            let share = 100.0 * total.bytes_per_s.0 / median;
            let device =
                sample.environment.target.device.as_deref().map(|device| format!(", {device}")).unwrap_or_default();
            format!("rank {rank} ({host}{device}) reached {} %", significant(share))
        })
        .collect();
    (!named.is_empty()).then(|| {
        let message = format!("{} of the median of the ranks", named.join(", "));
        Warning::new("straggler", message, "look at its host, its device and its way to the storage")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::environment::Environment;
    use crate::units::BytesPerSecond;
    use crate::workload::{Rate, Workload};

    fn part(rank: u32, host: &str, rate: f64) -> (Rank, Sample) {
        let total =
            Totals { requests: 100, bytes: rate as u64, bytes_per_s: BytesPerSecond(rate), ..Totals::default() };
        let environment = Environment { host: host.to_owned(), ..Environment::default() };
        let sample = Sample { elapsed_s: 1.0, total: total.clone(), ..Sample::empty(Workload::default(), environment) };
        let of = Rank {
            rank,
            host: host.to_owned(),
            offset_s: -3.0,
            offset_bound_s: 2e-6,
            drift_s: 0.0,
            late_s: 1e-6,
            elapsed_s: 1.0,
            total,
        };
        (of, sample)
    }

    #[test]
    fn ranks_are_summed_from_one_start_whatever_their_clocks_say() {
        let mut late = part(0, "a", 50e6);
        late.1.started_at += jiff::SignedDuration::from_hours(1);
        let whole = Sample::of_ranks(vec![part(1, "b", 60e6), late]).unwrap();
        assert_eq!((whole.total.bytes, whole.elapsed_s, whole.workload.workers), (110_000_000, 1.0, 2));
        assert_eq!(whole.ranks.iter().map(|rank| rank.rank).collect::<Vec<_>>(), [0, 1]);
        let words = whole.ranks_in_words().unwrap();
        assert_eq!(words, "2 processes on 2 hosts, 50 MB/s to 60 MB/s each, started within 3 µs of one another");
        assert!(whole.warnings.is_empty(), "{:?}", whole.warnings);
    }

    #[test]
    fn rates_of_processes_are_added_and_their_warnings_said_once() {
        let of = |rank| {
            let mut part = part(rank, "a", 50e6);
            part.1.workload.rate = Some(Rate::Requests(100));
            part.1.warnings.push(Warning::new("unflushed", format!("{rank} MiB"), "flush"));
            part.1.warnings.extend(["one", "two"].map(|option| Warning::new("option_refused", option, "leave it out")));
            part
        };
        let whole = Sample::of_ranks((0..3).map(of).collect()).unwrap();
        assert_eq!(whole.workload.rate, Some(Rate::Requests(300)));
        let messages: Vec<&str> = whole.warnings.iter().map(|warning| warning.message.as_str()).collect();
        assert_eq!(messages, ["0 MiB (the first of 3 processes)", "one", "two"]);
    }

    #[test]
    fn a_straggler_is_named_with_its_host() {
        let whole = Sample::of_ranks(vec![part(0, "a", 50e6), part(1, "b", 20e6), part(2, "c", 51e6)]).unwrap();
        let [warning] = &whole.warnings[..] else { panic!("{:?}", whole.warnings) };
        assert_eq!(warning.message, "rank 1 (b) reached 40 % of the median of the ranks");
        assert_eq!(Sample::of_ranks(Vec::new()), None);
    }
}
