//! A volume of a cloud provider: block storage behind a network, which the provider holds to limits.
//!
//! A command waits until every limit lets it pass (its volume's of requests and of bytes, and its instance's), in the order
//! in which commands came; is then served by the first of many parallel servers that is free; and is answered after a
//! latency with a spread, drawn from the workload's seed. Limits are told in [`limit`]. A request of more than the
//! provider's unit counts as several, and one that continues the one before while that still waits is merged with it
//! as long as both fit into a unit: Amazon EBS User Guide, "I/O characteristics and monitoring".
//!
//! Every run begins with the credits that its machine's file says: a volume does not remember what an earlier sample used.
//! It has no cache, refuses nothing, and where its blocks lie does not matter.

pub mod limit;

use crate::command::{Command, Direction, Served};
use crate::disk::geometry::BLOCK_BYTES;
use crate::resource::Resource;
use halfpower_model::Bytes;
use halfpower_model::random::Random;
use limit::{Limit, Meter};
use std::sync::Arc;

/// What a volume is.
#[derive(Clone, Debug, PartialEq)]
pub struct CloudVolume {
    /// Bytes of it.
    pub size: Bytes,
    /// The most bytes that count as one request.
    pub unit: Bytes,
    /// The volume's limits, and the instance's that it is attached to.
    pub limits: Vec<Limits>,
    /// What that instance is called; none where no other limits are given.
    pub instance: Option<String>,
    /// How many requests are served at once.
    pub parallel: u32,
    /// Nanoseconds from the provider's taking a read to its answer, on average.
    pub read_ns: u64,
    /// The same of a write.
    pub write_ns: u64,
    /// By how much that is shorter or longer at most; most often by little.
    pub spread_ns: u64,
}

/// What is let through in a second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    /// Requests, of a unit at most.
    pub requests: Limit,
    /// Bytes.
    pub bytes: Limit,
}

/// The last command that came.
#[derive(Clone, Copy, Debug)]
struct Last {
    direction: Direction,
    /// Just after which block it ends.
    end: u64,
    /// Bytes that still count to its last unit.
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
    /// The time that a limit let something pass, or had nothing left for what waits.
    held: Resource,
    /// What of it was the instance's, which let it pass last.
    held_by_instance: Resource,
    /// Whether that was so of the last command, and how often it changed.
    is_by_instance: bool,
    turns: u64,
    last: Option<Last>,
    random: Random,
}

impl Cloud {
    /// At rest, with the credits that there are at first.
    pub fn new(volume: Arc<CloudVolume>, seed: u64) -> Cloud {
        Cloud {
            meters: volume.limits.iter().map(|limits| [limits.requests, limits.bytes].map(Meter::new)).collect(),
            servers: Resource::new(volume.parallel),
            held: Resource::new(1),
            held_by_instance: Resource::new(1),
            is_by_instance: false,
            turns: 0,
            last: None,
            random: Random::new(seed),
            volume,
        }
    }

    /// Serves a command: a write is answered when the provider has it safe.
    pub fn serve(&mut self, now_ns: u64, command: Command) -> Served {
        let Command { tag, direction, block, count, .. } = command;
        let (bytes, unit) = (count * BLOCK_BYTES, self.volume.unit.0);
        let waits = |last: &Last| last.passes_ns > now_ns as f64;
        let before = self.last.filter(waits);
        let room = before.filter(|last| last.end == block && last.direction == direction).map_or(0, |last| last.room);
        let requests = bytes.saturating_sub(room).div_ceil(unit);
        let amounts = [requests, bytes].map(|amount| amount as f64);
        let mut passes_ns = before.map_or(now_ns as f64, |last| last.passes_ns);
        for meters in &self.meters {
            for (meter, amount) in meters.iter().zip(amounts) {
                if amount > 0.0 {
                    passes_ns = passes_ns.max(meter.free_ns());
                }
            }
        }
        // Up to here it was at work for those before.
        let from_ns = self.free_ns().max(passes_ns) as u64;
        for meters in &mut self.meters {
            for (meter, amount) in meters.iter_mut().zip(amounts) {
                meter.pass(passes_ns, amount);
            }
        }
        let free_ns = self.free_ns();
        let held_ns = free_ns as u64 - from_ns;
        self.held.serve(now_ns, from_ns, held_ns);
        let is_by_instance = self.meters.first().is_some_and(|own| own.iter().all(|meter| meter.free_ns() < free_ns));
        if is_by_instance {
            self.held_by_instance.serve(now_ns, from_ns, held_ns);
        }
        self.turns += u64::from(is_by_instance != self.is_by_instance);
        self.is_by_instance = is_by_instance;
        self.last = Some(Last { direction, end: block + count, room: room + requests * unit - bytes, passes_ns });
        let took_ns = self.latency_ns(direction);
        // The first whole nanosecond that is not before it may pass.
        let answered_ns = self.servers.serve(now_ns, passes_ns.ceil() as u64, took_ns);
        // Its bytes come as its limits let them through, also where it is the first.
        let through_ns = self.meters.iter().map(|[_, bytes]| bytes.free_ns()).fold(0.0, f64::max);
        let ready_ns = answered_ns.max(through_ns.ceil() as u64);
        Served { tag, begins_ns: answered_ns, ready_ns, from_buffer: false }
    }

    /// When the last of the limits lets the next pass.
    fn free_ns(&self) -> f64 {
        self.meters.iter().flatten().map(Meter::free_ns).fold(0.0, f64::max)
    }

    /// The mean of two draws: a triangle around the average.
    fn latency_ns(&mut self, direction: Direction) -> u64 {
        let CloudVolume { read_ns, write_ns, spread_ns, .. } = *self.volume;
        let least_ns = if direction == Direction::Read { read_ns } else { write_ns }.saturating_sub(spread_ns);
        let mut draw = || self.random.below(spread_ns + 1);
        least_ns + draw() + draw()
    }

    /// How long it has been at work until now, in nanoseconds: its limits, or its servers together if those were longer.
    pub fn busy_ns(&self, now_ns: u64) -> u64 {
        let servers_ns = self.servers.busy_ns(now_ns) / u64::from(self.volume.parallel.max(1));
        servers_ns.max(self.held.busy_ns(now_ns))
    }

    /// What its instance is called, if that has limits.
    pub fn instance(&self) -> Option<&str> {
        self.volume.instance.as_deref()
    }

    /// For how long of that its instance's limits held it, and how often its own and those took turns.
    pub fn instance_busy_ns(&self, now_ns: u64) -> [u64; 2] {
        [self.held_by_instance.busy_ns(now_ns), self.turns]
    }
}

#[cfg(test)]
pub(crate) mod tests;
