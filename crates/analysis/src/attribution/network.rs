//! Suspects between this host and a server.
//!
//! - *The link*: data of large answers arrive all the time, at a rate that no request size changes; a server that is slow pauses
//!   before an answer and sends it at once. Of writes, TCP has unacknowledged data all the time while the server's window is open
//!   (linux/tcp.h: `tcpi_busy_time`, `tcpi_rwnd_limited`).
//! - *Delayed acknowledgements*: a server that sends an answer in two parts without TCP_NODELAY waits for the acknowledgement of the
//!   first (Nagle, RFC 896), which the other side delays by about 40 ms (TCP_DELACK_MIN). The engine then tries immediate ones.
//! - *Credits*: of SMB; the personality says how many requests they allow.

use super::facts::{FASTER, FULL, Facts, NO_FASTER, SPARE, percent};
use super::suspect::{Owner, Standing, likely, open, ruled_out, sure};
use halfpower_model::sample::Acknowledgements;
use halfpower_model::units::significant;
use halfpower_model::{Bytes, BytesPerSecond, Quantity};

/// Smaller answers arrive whole, whatever the link.
const LARGE: Bytes = Bytes(64 << 10);
/// Immediate acknowledgements shorten reads that take at most this share of their usual time.
const SHORTER: f64 = 0.5;
/// Rates that differ by more are not those of one link.
const VARIED: f64 = 1.5;

/// The link, by the times of receiving and sending, or by the rate of other requests that fill it. A server that sends slowly looks
/// alike, but not to several connections.
pub(super) fn link(facts: &Facts<'_>) -> Option<Standing> {
    let (_, server) = facts.sample.environment.remote_target()?;
    let rate = facts.sample.total.bytes_per_s;
    let by_time = link_by_time(facts);
    let is_named = matches!(by_time, Some(Standing::Named(..)));
    match facts.neighbours.link_bytes_per_s {
        _ if is_named && facts.neighbours.deeper.is_some_and(|ratio| ratio >= FASTER) => {
            ruled_out("the link (a deeper queue is faster)".to_owned())
        }
        _ if server.is_on_this_host() => match by_time {
            Some(Standing::Named(.., reason)) => likely(Owner::Server, format!("{reason}, and no link is between")),
            _ => None,
        },
        Some([least, most]) if most > VARIED * least => {
            let [least, most] = [least, most].map(BytesPerSecond);
            ruled_out(format!(
                "the link (data arrive without a pause at {least} in one sample and at {most} in another)"
            ))
        }
        Some([_, full]) if !is_named && (FULL..=NO_FASTER).contains(&(rate.0 / full)) => {
            let share = percent(rate.0 / full);
            likely(Owner::Link, format!("it runs at {rate}, {share} of the rate at which other requests fill it"))
        }
        _ => match by_time {
            // Writes are distinguished by the server's window.
            Some(Standing::Named(.., reason)) if facts.asked(true).is_none() => {
                likely(Owner::Link, format!("{reason}; a server that sends slowly looks alike"))
            }
            other => other,
        },
    }
}

fn link_by_time(facts: &Facts<'_>) -> Option<Standing> {
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

/// A server that waits for acknowledgements, as a trial with immediate ones shows.
pub(super) fn delayed_acknowledgement(facts: &Facts<'_>) -> Option<Standing> {
    let connections = facts.sample.connections.as_ref()?;
    // A local socket acknowledges nothing.
    connections.tcp.as_ref()?;
    let held_up = connections.share(connections.held_up_s, facts.sample.elapsed_s);
    let Some(Acknowledgements { delayed_s, at_once_s }) = connections.acknowledgements else {
        let why =
            "the rest of answers came 36 to 210 ms late, and no trial with immediate acknowledgements was possible";
        return if held_up >= FULL { likely(Owner::DelayedAcknowledgement, why) } else { None };
    };
    let [delayed, at_once] = [delayed_s, at_once_s].map(|time_s| Quantity::Nanoseconds.format(time_s * 1e9));
    let said = format!("a read takes {delayed} as usual and {at_once} with immediate acknowledgements (TCP_QUICKACK)");
    match held_up {
        _ if at_once_s > SHORTER * delayed_s => ruled_out(format!("delayed acknowledgements ({said})")),
        SPARE.. => sure(Owner::DelayedAcknowledgement, format!("{said}: the server sends an answer in parts")),
        _ => None,
    }
}

/// What is left where no part of this side holds requests back: they wait at the server.
pub(super) fn server(facts: &Facts<'_>) -> Option<Standing> {
    facts.sample.environment.remote_target()?;
    let but = "and neither this host nor the link was shown to be the limit";
    match (facts.neighbours.deeper, facts.neighbours.shallower) {
        (Some(ratio), _) if ratio <= NO_FASTER => likely(Owner::Server, format!("a deeper queue is no faster, {but}")),
        (Some(_), _) => None,
        (None, Some(ratio)) if ratio * NO_FASTER >= 1.0 => {
            likely(Owner::Server, format!("a shallower queue is as fast, {but}"))
        }
        (None, _) => open("the server: it reports nothing of itself, and a deeper queue was not measured"),
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
    use crate::attribution::{Neighbours, attribute_with};
    use crate::fixtures::{deep, random, read, write};
    use halfpower_model::sample::{Connections, Tcp};
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
            read_only: None,
        };
        (sample.block, sample.environment.target.server) = (None, Some(server));
        let tcp = Some(Tcp { round_trip_least_s: 1e-4, ..Tcp::default() });
        sample.connections = Some(Connections { connections: 1, arriving_s, tcp, ..Connections::default() }.into());
        sample
    }

    #[test]
    fn a_queue_depth_that_changes_nothing_shows_the_server() {
        let sample = remote(random(read(4)), 0.0);
        let owner = |shallower, deeper| {
            attribute_with(&sample, Neighbours { shallower, deeper, ..Neighbours::default() }).unwrap().owner
        };
        for (shallower, deeper) in [(Some(0.3), Some(1.05)), (Some(0.95), None)] {
            assert_eq!(owner(shallower, deeper), Some(Owner::Server), "{shallower:?} {deeper:?}");
        }
        for (shallower, deeper) in [(Some(0.5), None), (Some(1.0), Some(1.5)), (None, None)] {
            assert_ne!(owner(shallower, deeper), Some(Owner::Server), "{shallower:?} {deeper:?}");
        }
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
    fn other_requests_that_fill_the_link_show_how_much_it_carries() {
        let small = remote(random(read(4)), 0.0);
        let rate = small.total.bytes_per_s.0;
        let owner = |most: Option<f64>| {
            let link_bytes_per_s = most.map(|most| [most / 1.1, most]);
            attribute_with(&small, Neighbours { link_bytes_per_s, ..Neighbours::default() }).unwrap().owner
        };
        assert_eq!(owner(Some(1.02 * rate)), Some(Owner::Link));
        for other in [None, Some(1.5 * rate), Some(0.5 * rate)] {
            assert_ne!(owner(other), Some(Owner::Link), "{other:?}");
        }
    }

    #[test]
    fn a_server_that_sends_slowly_is_not_the_link() {
        let mut sample = remote(random(read(256)), 0.97);
        let owner = |sample: &Sample, neighbours| attribute_with(sample, neighbours).unwrap().owner;
        assert_eq!(owner(&sample, Neighbours::default()), Some(Owner::Link));
        let rate = sample.total.bytes_per_s.0;
        let varied = Neighbours { link_bytes_per_s: Some([rate / 8.0, rate]), ..Neighbours::default() };
        assert_ne!(owner(&sample, varied), Some(Owner::Link));
        let deeper = Neighbours { deeper: Some(4.0), ..Neighbours::default() };
        assert_eq!(owner(&sample, deeper), Some(Owner::Depth));
        sample.environment.target.server.as_mut().unwrap().address = "127.0.0.1:10809".to_owned();
        assert_eq!(owner(&sample, Neighbours::default()), Some(Owner::Server));
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
    fn reads_that_immediate_acknowledgements_shorten_show_delayed_ones() {
        let with = |held_up_s: f64, at_once_s: f64| {
            let mut sample = remote(random(read(4)), held_up_s);
            let connections = sample.connections.as_mut().unwrap();
            connections.held_up_s = held_up_s;
            connections.acknowledgements = Some(Acknowledgements { delayed_s: 0.044, at_once_s });
            of(&sample)
        };
        let found = with(0.99, 2e-4);
        assert_eq!(found.owner, Some(Owner::DelayedAcknowledgement), "{found:?}");
        assert!(found.reason.contains("44 ms as usual and 200 µs"), "{found:?}");
        // Something else pauses within an answer; few answers were held up.
        let other = with(0.99, 0.043);
        assert!(other.ruled_out.iter().any(|why| why.contains("delayed acknowledgements (")), "{other:?}");
        assert_ne!(with(0.01, 2e-4).owner, Some(Owner::DelayedAcknowledgement));
    }

    #[test]
    fn credits_for_fewer_requests_are_the_limit() {
        let with = |arriving_s| {
            let mut sample = remote(random(read(256)), arriving_s);
            sample.instrument.refused = vec!["depth: the server's credits allow 8 requests at a time".to_owned()];
            named(&sample)
        };
        assert_eq!(with(0.6), sure(Owner::Credits));
        // More requests make no link faster.
        assert_eq!(with(0.97), likely(Owner::Link));
    }
}
