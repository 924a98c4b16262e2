//! A volume of a cloud provider: block storage behind a network, within the provider's limits.
//!
//! A command waits until every limit lets it pass: those of its volume and of its instance, in requests and in bytes, in the order of
//! arrival. One of many parallel servers then answers after a latency with a spread, drawn from the workload's seed. A request of
//! more than the provider's unit counts as several. A request that continues a waiting one merges with it up to the unit: Amazon EBS
//! User Guide, "I/O characteristics and monitoring".
//!
//! A limit is a token bucket (Turner, "New directions in communications", IEEE Communications Magazine 24, 1986). Its tokens are the
//! provider's credits: they arrive at the rate of the limit, up to a maximum, and each request or byte spends one. While there are
//! credits, requests pass at the rate of bursts. A limit without bursts has no credits, and what was not used is lost.
//!
//! Every run begins with the credits of the machine file. There is no cache, and addresses do not matter.

use crate::bounds::{Blocks, Count, Long, MOST_BYTES, Number, Rate, Share, Size};
use crate::command::{Command, Direction, Served};
use crate::disk::geometry::BLOCK_BYTES;
use crate::resource::Resource;
use crate::table::table;
use halfpower_model::random::Random;
use std::sync::Arc;

/// IOPS.
type Requests = Number<1, 1_000_000_000>;

table! {
    /// A volume.
    pub CloudVolume {
        /// capacity
        size: Blocks<512, MOST_BYTES>,
        /// maximum size that counts as one request; larger ones count as several
        unit: Size<512, { 1 << 30 }>,
        /// its limits
        limits: Limits,
        /// the `[instance.NAME]` it is attached to: the same limits, a separate part with its own busy time; for a volume of one disk
        instance: Option<String>,
        /// number of requests served at once
        parallel: Count<1, 4096>,
        /// mean latency of a read, from acceptance to answer
        read_latency: Long,
        /// the same for a write
        write_latency: Long,
        /// maximum deviation from it, of which small ones are the most frequent; at most either
        spread: Long = default,
    }
}

table! {
    /// Limits of a volume or of an instance.
    #[derive(Copy, Default)]
    pub Limits {
        /// IOPS
        requests: Requests,
        /// bytes per second
        rate: Rate,
        /// IOPS while there are credits; at least `requests`; needs `request-credits`
        burst_requests: Option<Requests>,
        /// maximum balance of requests
        request_credits: Option<Number<0, 1_000_000_000_000_000>>,
        /// bytes per second while there are credits; needs `byte-credits`
        burst_rate: Option<Rate>,
        /// maximum balance of bytes
        byte_credits: Option<Size<0, MOST_BYTES>>,
        /// balance at the start of a sample, as a share; default 1
        full: Option<Share>,
    }
}

impl Limits {
    /// That of requests and that of bytes.
    pub fn both(&self) -> [Limit; 2] {
        let full = self.full.unwrap_or(1.0);
        let limit = |per_s, burst: Option<f64>, credits: Option<f64>| {
            let burst = burst.zip(credits);
            Limit { per_s, burst: burst.map(|(per_s, credits)| Burst { per_s, credits, at_first: credits * full }) }
        };
        let (burst_rate, credits) = (self.burst_rate.map(|rate| rate.0), self.byte_credits.map(|bytes| bytes.0 as f64));
        [limit(self.requests, self.burst_requests, self.request_credits), limit(self.rate.0, burst_rate, credits)]
    }

    /// What is wrong with them: the key and why.
    pub(crate) fn check(&self) -> Result<(), (&'static str, String)> {
        let [requests, rate] = [["burst-requests", "request-credits"], ["burst-rate", "byte-credits"]];
        let has_credits = [self.request_credits.is_some(), self.byte_credits.is_some()];
        let (burst_rate, least_rate) = (self.burst_rate.map(|rate| rate.0), self.rate.0);
        let bursts = [(self.burst_requests, self.requests), (burst_rate, least_rate)];
        for (([burst, credits], has_credits), (per_s, least)) in
            [requests, rate].into_iter().zip(has_credits).zip(bursts)
        {
            match per_s {
                None if has_credits => return Err((credits, format!("it needs {burst} too"))),
                Some(_) if !has_credits => return Err((burst, format!("it needs {credits} too"))),
                Some(per_s) if per_s < least => {
                    return Err((burst, "it has to be at least the limit without bursts".to_owned()));
                }
                _ => {}
            }
        }
        Ok(())
    }
}

/// A limit of requests or of bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limit {
    /// Per second, forever.
    pub per_s: f64,
    /// What may exceed it for a time.
    pub burst: Option<Burst>,
}

/// Bursts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Burst {
    /// Per second while there are credits; not below the limit.
    pub per_s: f64,
    /// Maximum credits.
    pub credits: f64,
    /// Credits at the start.
    pub at_first: f64,
}

/// A limit at work.
#[derive(Clone, Debug)]
struct Meter {
    limit: Limit,
    credits: f64,
    /// When the credits were counted, and when the next request may pass.
    free_ns: f64,
}

impl Meter {
    fn new(limit: Limit) -> Meter {
        Meter { limit, credits: limit.burst.map_or(0.0, |burst| burst.at_first), free_ns: 0.0 }
    }

    /// Lets an amount pass, not before `free_ns`.
    fn pass(&mut self, at_ns: f64, amount: f64) {
        if amount <= 0.0 {
            return;
        }
        let Limit { per_s, burst } = self.limit;
        let (fastest_per_s, most) = burst.map_or((per_s, 0.0), |burst| (burst.per_s, burst.credits));
        let there = (self.credits + (at_ns - self.free_ns) / 1e9 * per_s).min(most);
        let took_s = (amount / fastest_per_s).max((amount - there) / per_s);
        self.credits = (there + took_s * per_s - amount).max(0.0);
        self.free_ns = at_ns + took_s * 1e9;
    }
}

/// The last command.
#[derive(Clone, Copy, Debug)]
struct Last {
    direction: Direction,
    /// The block behind it.
    end: u64,
    /// Bytes that still fit into its last unit.
    room: u64,
    passes_ns: f64,
}

/// A volume at work.
#[derive(Clone, Debug)]
pub struct Cloud {
    volume: Arc<CloudVolume>,
    /// Of requests and of bytes.
    meters: Vec<[Meter; 2]>,
    servers: Resource,
    /// How long the limits of the volume were the last to let a command pass, and how long those of the instance.
    held: [Resource; 2],
    last: Option<Last>,
    random: Random,
}

impl Cloud {
    /// At rest, with the credits of the start.
    pub fn new(volume: Arc<CloudVolume>, instance: Option<Limits>, seed: u64) -> Cloud {
        let limits = [Some(volume.limits), instance].into_iter().flatten();
        Cloud {
            meters: limits.map(|limits| limits.both().map(Meter::new)).collect(),
            servers: Resource::new(volume.parallel),
            held: [(); 2].map(|()| Resource::new(1)),
            last: None,
            random: Random::new(seed),
            volume,
        }
    }

    /// Serves a command. A write is answered when it is durable.
    pub fn serve(&mut self, now_ns: u64, command: Command) -> Served {
        let Command { tag, direction, block, count, .. } = command;
        let (bytes, unit) = (count * BLOCK_BYTES, self.volume.unit.0);
        let before = self.last.filter(|last| last.passes_ns > now_ns as f64);
        let room = before.filter(|last| last.end == block && last.direction == direction).map_or(0, |last| last.room);
        let requests = bytes.saturating_sub(room).div_ceil(unit);
        let amounts = [requests, bytes].map(|amount| amount as f64);
        let mut passes_ns = before.map_or(now_ns as f64, |last| last.passes_ns);
        for (meter, amount) in self.meters.iter().flat_map(|meters| meters.iter().zip(amounts)) {
            if amount > 0.0 {
                passes_ns = passes_ns.max(meter.free_ns);
            }
        }
        // Until then the limits worked for earlier commands.
        let from_ns = latest_ns(self.meters.iter().flatten()).max(passes_ns) as u64;
        for (meter, amount) in self.meters.iter_mut().flat_map(|meters| meters.iter_mut().zip(amounts)) {
            meter.pass(passes_ns, amount);
        }
        let free_ns = latest_ns(self.meters.iter().flatten());
        let is_by_instance = self.meters.first().is_some_and(|own| latest_ns(own.iter()) < free_ns);
        self.held[usize::from(is_by_instance)].serve(now_ns, from_ns, free_ns as u64 - from_ns);
        self.last = Some(Last { direction, end: block + count, room: room + requests * unit - bytes, passes_ns });
        let took_ns = self.latency_ns(direction);
        let answered_ns = self.servers.serve(now_ns, passes_ns.ceil() as u64, took_ns);
        // Its bytes arrive as the limits let them through.
        let through_ns = latest_ns(self.meters.iter().map(|[_, bytes]| bytes));
        Served { tag, begins_ns: answered_ns, ready_ns: answered_ns.max(through_ns.ceil() as u64) }
    }

    /// The mean of two draws: a triangle around the average.
    fn latency_ns(&mut self, direction: Direction) -> u64 {
        let CloudVolume { read_latency, write_latency, spread, .. } = &*self.volume;
        let mean = if direction == Direction::Read { read_latency } else { write_latency };
        let mut draw = || self.random.below(spread.0 + 1);
        mean.0.saturating_sub(spread.0) + draw() + draw()
    }

    /// How long its limits, or its servers together if that is longer, were at work until now.
    pub fn busy_ns(&self, now_ns: u64) -> u64 {
        let servers_ns = self.servers.busy_ns(now_ns) / u64::from(self.volume.parallel.max(1));
        servers_ns.max(self.held[0].busy_ns(now_ns))
    }

    /// Name of its instance, if that has limits.
    pub fn instance(&self) -> Option<&str> {
        self.volume.instance.as_deref()
    }

    /// How long the limits of the instance delayed it.
    pub fn instance_busy_ns(&self, now_ns: u64) -> u64 {
        self.held[1].busy_ns(now_ns)
    }
}

/// When the last of some limits lets the next request pass.
fn latest_ns<'a>(meters: impl Iterator<Item = &'a Meter>) -> f64 {
    meters.map(|meter| meter.free_ns).fold(0.0, f64::max)
}

#[cfg(test)]
mod tests;
