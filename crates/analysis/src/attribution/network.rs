//! Suspects between this host and a server.
//!
//! - *The link*: data of large answers arrive all the time, at a rate that no request size changes; a server that is slow pauses
//!   before an answer and sends it at once. Of writes, TCP has unacknowledged data all the time while the server's window is open
//!   (linux/tcp.h: `tcpi_busy_time`, `tcpi_rwnd_limited`).
//! - *Delayed acknowledgements*: a server that sends an answer in two parts without TCP_NODELAY waits for the acknowledgement of the
//!   first (Nagle, RFC 896), which the other side delays by about 40 ms (TCP_DELACK_MIN).
//! - *Credits*: of SMB; the personality says how many requests they allow.

use super::facts::{FULL, Facts, NO_FASTER, SPARE, percent};
use super::suspect::{Owner, Standing, likely, open, ruled_out, sure};
use halfpower_model::units::significant;
use halfpower_model::{Bytes, Quantity};

/// Smaller answers arrive whole, whatever the link.
const LARGE: Bytes = Bytes(64 << 10);
/// Latencies of a delayed acknowledgement.
const DELAYED_NS: std::ops::Range<f64> = 38e6..50e6;
/// A round trip that is so much shorter does not explain them.
const SHORTER: f64 = 0.2;

/// The link, by what arrived and what was sent.
pub(super) fn link(facts: &Facts<'_>) -> Option<Standing> {
    let connections = facts.sample.connections.as_ref()?;
    let share = |time_s| connections.share(time_s, facts.sample.elapsed_s);
    let rate = facts.sample.total.bytes_per_s;
    let reads = facts.asked(false).filter(|read| read.bytes >= read.requests * LARGE.0);
    if reads.is_some() && facts.asked(true).is_none() {
        let arriving = share(connections.arriving_s);
        let said = format!("answers were arriving {} of the time", percent(arriving));
        return match arriving {
            FULL.. => likely(Owner::Link, format!("{said}, at {rate}")),
            ..SPARE => ruled_out(format!("the link ({said})")),
            _ => None,
        };
    }
    let writes = facts.asked(true).filter(|write| write.bytes >= write.requests * LARGE.0);
    let tcp = connections.tcp.as_ref().filter(|_| writes.is_some() && facts.asked(false).is_none())?;
    let (sending, full) = (share(tcp.sending_s), share(tcp.window_limited_s));
    let said = format!("data were on their way {} of the time", percent(sending));
    match (sending, full) {
        (FULL.., ..SPARE) => likely(Owner::Link, format!("{said}, at {rate}, and the server's window was open")),
        (FULL.., _) => ruled_out(format!("the link (the server's window was full {} of the time)", percent(full))),
        (..SPARE, _) => ruled_out(format!("the link ({said})")),
        _ => None,
    }
}

/// How often workers wait for the rest of an answer, once or more for each: the kernel has passed on all data, so they are not the
/// limit, whatever CPU time the kernel charges them. With a saturated CPU, data pile up.
pub(super) fn starved(facts: &Facts<'_>) -> Option<String> {
    let connections = facts.sample.connections.as_ref()?;
    let is_arriving = connections.share(connections.arriving_s, facts.sample.elapsed_s) >= FULL;
    let times = connections.emptied as f64 / facts.sample.total.requests as f64;
    (is_arriving && times >= 1.0).then(|| significant(times))
}

/// A server that waits for acknowledgements.
pub(super) fn delayed_acknowledgement(facts: &Facts<'_>) -> Option<Standing> {
    let tcp = facts.sample.connections.as_ref()?.tcp.as_ref()?;
    let latency = &facts.sample.total.latency_ns;
    let (half, least) = (latency.p50? as f64, latency.min? as f64);
    let is_delayed =
        DELAYED_NS.contains(&half) && least < SHORTER * half && tcp.round_trip_least_s * 1e9 < SHORTER * half;
    is_delayed.then(|| {
        let [half, least] = [half, least].map(|time| Quantity::Nanoseconds.format(time));
        likely(
            Owner::DelayedAcknowledgement,
            format!(
                "half of the requests take {half} and the fastest {least}, as where a server sends without TCP_NODELAY"
            ),
        )
    })?
}

/// What is left where no part of this side holds requests back: they wait at the server.
pub(super) fn server(facts: &Facts<'_>) -> Option<Standing> {
    facts.sample.environment.remote_target()?;
    match facts.neighbours.deeper {
        Some(ratio) if ratio <= NO_FASTER => {
            let reason = "a deeper queue is no faster, and neither this host nor the link was shown to be the limit";
            likely(Owner::Server, reason)
        }
        Some(_) => None,
        None => open("the server: it reports nothing of itself, and a deeper queue was not measured"),
    }
}

/// Credits for fewer requests than the queue is deep.
pub(super) fn credits(facts: &Facts<'_>) -> Option<Standing> {
    facts.sample.connections.as_ref()?;
    let refused = &facts.sample.instrument.refused;
    let words = refused.iter().find_map(|refused| refused.strip_prefix("depth: "))?;
    let asked = significant(facts.outstanding as f64);
    sure(Owner::Credits, format!("{words}, and {asked} were outstanding or waited for credits"))
}

#[cfg(test)]
mod tests {
    use super::super::tests::{clean, likely, named, of, sure};
    use super::*;
    use crate::fixtures::{deep, random, read, write};
    use halfpower_model::sample::{Connections, Latency, Tcp};
    use halfpower_model::{Personality, Sample, Server, Workload};

    /// A second of one connection to a server, in which data were arriving for so long.
    fn remote(workload: Workload, arriving_s: f64) -> Sample {
        let mut sample = clean(deep(32, workload));
        let server = Server {
            protocol: Personality::Nbd,
            address: "192.0.2.1:10809".to_owned(),
            agreed: Vec::new(),
            request_max_bytes: Bytes(32 << 20),
            round_trip: None,
            segment_max_bytes: None,
        };
        (sample.block, sample.environment.target.server) = (None, Some(server));
        let tcp = Some(Tcp { round_trip_least_s: 1e-4, ..Tcp::default() });
        sample.connections = Some(Connections { connections: 1, arriving_s, emptied: 0, tcp }.into());
        sample
    }

    #[test]
    fn data_that_arrive_all_the_time_show_the_link() {
        assert_eq!(named(&remote(random(read(256)), 0.97)), likely(Owner::Link));
        let found = of(&remote(random(read(256)), 0.03));
        assert_eq!(found.owner, None);
        assert!(
            found.ruled_out.contains(&"the link (answers were arriving 3.0 % of the time)".to_owned()),
            "{found:?}"
        );
        assert!(found.open.is_empty() && found.reason.contains("the server"), "{found:?}");
        // Small answers arrive whole.
        let small = of(&remote(random(read(4)), 0.0));
        assert!(small.ruled_out.iter().all(|why| !why.contains("the link")), "{small:?}");
    }

    #[test]
    fn who_waits_for_the_rest_of_answers_is_not_short_of_a_cpu() {
        let with = |emptied: u64| {
            let mut sample = remote(random(read(256)), 0.97);
            sample.cpu.lower.system_s = 0.95 * sample.elapsed_s;
            sample.connections.as_mut().unwrap().emptied = emptied * sample.total.requests;
            named(&sample)
        };
        assert_eq!((with(0), with(2)), (self::sure(Owner::Cpu), likely(Owner::Link)));
    }

    #[test]
    fn writes_show_the_link_while_the_server_reads() {
        let writes = |sending_s, window_limited_s| {
            let mut sample = remote(random(write(256)), 0.0);
            let tcp = Tcp { sending_s, window_limited_s, round_trip_least_s: 1e-4, ..Tcp::default() };
            sample.connections.as_mut().unwrap().tcp = Some(tcp);
            of(&sample)
        };
        assert_eq!(writes(0.99, 0.01).owner, Some(Owner::Link));
        for (found, why) in [(writes(0.99, 0.9), "window was full 90 %"), (writes(0.1, 0.0), "on their way 10 %")] {
            assert!(found.ruled_out.iter().any(|reason| reason.contains(why)), "{found:?}");
        }
    }

    #[test]
    fn latencies_near_40_ms_show_delayed_acknowledgements() {
        let with = |p50: u64, min: u64| {
            let mut sample = remote(random(read(4)), 0.0);
            sample.total.latency_ns =
                Latency { p50: Some(p50), min: Some(min), mean: Some(p50 as f64), ..Latency::default() };
            named(&sample)
        };
        assert_eq!(with(44_000_000, 200_000), likely(Owner::DelayedAcknowledgement));
        for (p50, min) in [(44_000_000, 40_000_000), (20_000_000, 200_000), (60_000_000, 200_000)] {
            assert_ne!(with(p50, min), likely(Owner::DelayedAcknowledgement), "{p50}, {min}");
        }
    }

    #[test]
    fn credits_for_fewer_requests_are_the_limit() {
        let mut sample = remote(random(read(256)), 0.97);
        sample.instrument.refused = vec!["depth: the server's credits allow 8 requests at a time".to_owned()];
        assert_eq!(named(&sample), sure(Owner::Credits));
    }
}
