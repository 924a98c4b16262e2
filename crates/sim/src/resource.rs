//! Resources that serve requests in the order of arrival.
//!
//! A [`Line`] is a bus or a controller. It takes work from now on only: an arbiter does not keep a bus free for what comes later.
//! A [`Resource`] is the CPU cores of the host, or a part inside a device. Its work may be booked ahead, which needs no event, and
//! gets the first free interval that is long enough.

use std::collections::VecDeque;

/// One server: a bus, a link, a controller or the flash units as a whole. It takes work from now on only, so it never waits for work to come while other
/// work is there.
#[derive(Clone, Copy, Debug, Default)]
pub struct Line {
    free_ns: u64,
    /// Time taken up to then, and of that its own work, without waits for other parts.
    busy_ns: u64,
    own_ns: u64,
}

impl Line {
    /// Takes it for `held_ns`, of which `own_ns` are its own work; gives the end.
    pub fn hold(&mut self, now_ns: u64, held_ns: u64, own_ns: u64) -> u64 {
        self.free_ns = self.free_ns.max(now_ns) + held_ns;
        self.busy_ns += held_ns;
        self.own_ns += own_ns;
        self.free_ns
    }

    /// The end of its work.
    pub fn free_ns(&self) -> u64 {
        self.free_ns
    }

    /// How long it was taken until now.
    pub fn busy_ns(&self, now_ns: u64) -> u64 {
        self.busy_ns - self.free_ns.saturating_sub(now_ns)
    }

    /// How long of that it did its own work; of work under way the average share.
    pub fn at_work_ns(&self, now_ns: u64) -> u64 {
        (self.busy_ns(now_ns) as f64 / self.busy_ns.max(1) as f64 * self.own_ns as f64) as u64
    }
}

/// One or several servers with one queue.
#[derive(Clone, Debug)]
pub struct Resource {
    /// When each server becomes free, the soonest first.
    free_ns: Vec<u64>,
    /// Booked time in all.
    busy_ns: u64,
    /// Start and end of services that may not be over. With one server they are in order, and adjacent ones are joined.
    booked: VecDeque<(u64, u64)>,
}

impl Resource {
    /// Free servers, at least one.
    pub fn new(servers: u32) -> Resource {
        Resource { free_ns: vec![0; servers.max(1) as usize], busy_ns: 0, booked: VecDeque::new() }
    }

    /// Books `service_ns` from `from_ns` on, which is at least `now_ns`. Returns the end.
    pub fn serve(&mut self, now_ns: u64, from_ns: u64, service_ns: u64) -> u64 {
        if service_ns == 0 {
            return from_ns;
        }
        while self.booked.front().is_some_and(|(_, ends_ns)| *ends_ns <= now_ns) {
            self.booked.pop_front();
        }
        self.busy_ns += service_ns;
        if self.free_ns.len() == 1 { self.fit_in(from_ns, service_ns) } else { self.append(from_ns, service_ns) }
    }

    /// Chooses among several servers the free one that became free last, so a booking ahead leaves the others free for
    /// immediate requests. Without a free server it takes the first that becomes free.
    fn append(&mut self, from_ns: u64, service_ns: u64) -> u64 {
        let place = self.free_ns.partition_point(|free_ns| *free_ns <= from_ns).saturating_sub(1);
        let begins_ns = from_ns.max(self.free_ns[place]);
        let ends_ns = begins_ns + service_ns;
        self.free_ns[place] = ends_ns;
        // It goes behind those that are free before it.
        let sooner = self.free_ns[place + 1..].partition_point(|free_ns| *free_ns < ends_ns);
        self.free_ns[place..=place + sooner].rotate_left(1);
        self.booked.push_back((begins_ns, ends_ns));
        ends_ns
    }

    /// The only server: the first gap that is long enough.
    fn fit_in(&mut self, from_ns: u64, service_ns: u64) -> u64 {
        match self.booked.back_mut() {
            // Most come behind all that is booked.
            Some(last) if last.1 == from_ns => {
                last.1 += service_ns;
                return last.1;
            }
            Some(last) if last.1 > from_ns => {}
            _ => {
                self.booked.push_back((from_ns, from_ns + service_ns));
                return from_ns + service_ns;
            }
        }
        let mut begins_ns = from_ns;
        let mut place = 0;
        while let Some((next_ns, ends_ns)) = self.booked.get(place) {
            if begins_ns + service_ns <= *next_ns {
                break;
            }
            begins_ns = begins_ns.max(*ends_ns);
            place += 1;
        }
        let ends_ns = begins_ns + service_ns;
        match place.checked_sub(1).and_then(|before| self.booked.get_mut(before)) {
            Some(before) if before.1 == begins_ns => before.1 = ends_ns,
            _ => self.booked.insert(place, (begins_ns, ends_ns)),
        }
        ends_ns
    }

    /// How long its servers have been taken together until a moment, which is not before the last booking was made.
    pub fn busy_ns(&self, now_ns: u64) -> u64 {
        let ahead = |(begins_ns, ends_ns): &(u64, u64)| ends_ns.saturating_sub(now_ns.max(*begins_ns));
        self.busy_ns - self.booked.iter().map(ahead).sum::<u64>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use halfpower_model::random::Random;

    #[test]
    fn a_line_serves_in_turn() {
        let mut bus = Line::default();
        assert_eq!([bus.hold(0, 10, 10), bus.hold(2, 10, 10), bus.hold(50, 5, 5)], [10, 20, 55]);
        assert_eq!((bus.busy_ns(52), bus.busy_ns(99)), (22, 25));
    }

    #[test]
    fn waiting_for_another_part_is_not_its_work() {
        let mut controller = Line::default();
        assert_eq!([controller.hold(0, 10, 10), controller.hold(0, 90, 20)], [10, 100]);
        assert_eq!(controller.hold(0, 10, 10), 110, "it is had by one at a time");
        assert_eq!((controller.busy_ns(110), controller.at_work_ns(110), controller.at_work_ns(55)), (110, 40, 20));
    }

    #[test]
    fn what_is_asked_now_goes_before_what_is_booked_for_later() {
        let mut bus = Resource::new(1);
        assert_eq!(bus.serve(0, 100, 10), 110);
        assert_eq!([bus.serve(0, 0, 60), bus.serve(0, 0, 40), bus.serve(0, 0, 1)], [60, 100, 111]);
        assert_eq!(bus.serve(30, 30, 0), 30, "nothing waits for nothing");
        assert_eq!((bus.busy_ns(50), bus.busy_ns(111)), (50, 111), "what is booked for later has not been");
    }

    #[test]
    fn who_books_ahead_keeps_to_one_server() {
        let mut cpus = Resource::new(2);
        let mut worker = |from_ns, _| cpus.serve(0, from_ns, 10);
        let done = (0..5).fold(0, &mut worker);
        assert_eq!((done, (0..5).fold(0, worker)), (50, 50), "another worker has the other one");
    }

    /// As a look at each of them would have it.
    #[test]
    fn of_many_servers_the_one_that_was_free_last_serves() {
        let (mut resource, mut plain, mut random) = (Resource::new(7), [0_u64; 7], Random::new(1));
        for now_ns in 0..5000 {
            let (from_ns, service_ns) = (now_ns + random.below(9), 1 + random.below(12));
            let unfit = |free_ns: u64| (free_ns > from_ns, free_ns.abs_diff(from_ns));
            let fittest = plain.iter_mut().min_by_key(|free_ns| unfit(**free_ns)).unwrap();
            *fittest = from_ns.max(*fittest) + service_ns;
            assert_eq!(resource.serve(now_ns, from_ns, service_ns), *fittest);
        }
    }
}
