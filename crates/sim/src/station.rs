//! A part that serves one after another: a bus, a controller's processor, the processors of the host.
//!
//! Who comes first is served first, by whichever of its servers is free earliest. It is told of arrivals in the order of
//! time, so a service can be booked the moment it is asked for, and costs no event of its own.

/// One or several servers with one queue.
#[derive(Clone, Debug)]
pub struct Station {
    free_ns: Vec<u64>,
    busy_ns: u64,
}

impl Station {
    /// So many servers, all free; at least one.
    pub fn new(servers: u32) -> Station {
        Station { free_ns: vec![0; servers.max(1) as usize], busy_ns: 0 }
    }

    /// Serves for `service_ns` from `now_ns` on or as soon as a server is free; gives when that is done.
    pub fn serve(&mut self, now_ns: u64, service_ns: u64) -> u64 {
        let earliest = self.free_ns.iter_mut().min().expect("a station has a server");
        let ends_ns = now_ns.max(*earliest) + service_ns;
        *earliest = ends_ns;
        self.busy_ns += service_ns;
        ends_ns
    }

    /// When a server is free for whoever asks next.
    pub fn free_ns(&self) -> u64 {
        self.free_ns.iter().copied().min().unwrap_or(0)
    }

    /// How long its servers were at work together; a service counts whole when it is booked.
    pub fn busy_ns(&self) -> u64 {
        self.busy_ns
    }

    /// How much of what it is booked for lies beyond a moment, all servers together.
    pub fn booked_after_ns(&self, now_ns: u64) -> u64 {
        self.free_ns.iter().map(|free| free.saturating_sub(now_ns)).sum()
    }

    /// How many servers.
    pub fn servers(&self) -> u32 {
        self.free_ns.len() as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_server_serves_in_turn() {
        let mut bus = Station::new(1);
        assert_eq!([bus.serve(0, 10), bus.serve(2, 10), bus.serve(50, 5)], [10, 20, 55]);
        assert_eq!((bus.busy_ns(), bus.free_ns(), bus.booked_after_ns(52)), (25, 55, 3));
    }

    #[test]
    fn two_servers_serve_at_once() {
        let mut processors = Station::new(2);
        assert_eq!([processors.serve(0, 10), processors.serve(0, 10), processors.serve(0, 10)], [10, 10, 20]);
        assert_eq!(processors.servers(), 2);
    }
}
