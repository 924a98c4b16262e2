//! A part that serves one after another: a bus, a controller's processor, the processors of the host.
//!
//! Who comes first is served first, by whichever of its servers is free earliest. It is told of arrivals in the order of
//! time, so a service can be booked the moment it is asked for, and costs no event of its own.

use std::collections::VecDeque;

/// One or several servers with one queue.
#[derive(Clone, Debug)]
pub struct Station {
    free_ns: Vec<u64>,
    busy_ns: u64,
    /// Services that may not be over: from when to when.
    booked: VecDeque<(u64, u64)>,
}

impl Station {
    /// So many servers, all free; at least one.
    pub fn new(servers: u32) -> Station {
        Station { free_ns: vec![0; servers.max(1) as usize], busy_ns: 0, booked: VecDeque::new() }
    }

    /// Serves for `service_ns` from `now_ns` on or as soon as a server is free; gives when that is done.
    pub fn serve(&mut self, now_ns: u64, service_ns: u64) -> u64 {
        let earliest = self.free_ns.iter_mut().min().expect("a station has a server");
        let begins_ns = now_ns.max(*earliest);
        let ends_ns = begins_ns + service_ns;
        *earliest = ends_ns;
        while self.booked.front().is_some_and(|(_, ends_ns)| *ends_ns <= now_ns) {
            self.booked.pop_front();
        }
        self.booked.push_back((begins_ns, ends_ns));
        self.busy_ns += service_ns;
        ends_ns
    }

    /// How long its servers have been at work together until a moment, which is not before the last booking was made.
    pub fn busy_ns(&self, now_ns: u64) -> u64 {
        let ahead = |(begins_ns, ends_ns): &(u64, u64)| ends_ns.saturating_sub(now_ns.max(*begins_ns));
        self.busy_ns - self.booked.iter().map(ahead).sum::<u64>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_server_serves_in_turn() {
        let mut bus = Station::new(1);
        assert_eq!([bus.serve(0, 10), bus.serve(2, 10), bus.serve(50, 5)], [10, 20, 55]);
        assert_eq!((bus.busy_ns(52), bus.busy_ns(99)), (22, 25));
        bus.serve(200, 10);
        assert_eq!(bus.busy_ns(100), 25, "what is booked for later has not been");
    }

    #[test]
    fn two_servers_serve_at_once() {
        let mut processors = Station::new(2);
        assert_eq!([processors.serve(0, 10), processors.serve(0, 10), processors.serve(0, 10)], [10, 10, 20]);
    }
}
