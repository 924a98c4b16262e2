//! How many commands or writes are outstanding at one place, and for how long.

/// The count at one place, and its integrals over time.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Outstanding {
    number: u32,
    /// When it last changed.
    until_ns: u64,
    /// Time up to then with at least one outstanding.
    some_ns: u64,
    /// Sum of the times of all up to then.
    all_ns: u64,
}

impl Outstanding {
    /// One more.
    pub(super) fn add(&mut self, now_ns: u64) {
        *self = Outstanding { number: self.number + 1, ..self.counted(now_ns) };
    }

    /// One is done.
    pub(super) fn take(&mut self, now_ns: u64) {
        *self = Outstanding { number: self.number - 1, ..self.counted(now_ns) };
    }

    /// The same, with the times up to now.
    fn counted(&self, now_ns: u64) -> Outstanding {
        let since_ns = now_ns - self.until_ns;
        let (some_ns, all_ns) = (since_ns * u64::from(self.number.min(1)), since_ns * u64::from(self.number));
        Outstanding {
            until_ns: now_ns,
            some_ns: self.some_ns + some_ns,
            all_ns: self.all_ns + all_ns,
            number: self.number,
        }
    }

    /// Time up to now with at least one outstanding.
    pub(super) fn some_ns(&self, now_ns: u64) -> u64 {
        self.counted(now_ns).some_ns
    }

    /// Sum of the times of all up to now.
    pub(super) fn all_ns(&self, now_ns: u64) -> u64 {
        self.counted(now_ns).all_ns
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::*;
    use super::*;
    use crate::controller::{Forwarding, Order, Queue};
    use halfpower_model::sample::PartKind;

    /// Shares of the time that something was outstanding at each device, and how many were on average.
    fn at_devices(outcome: &Outcome) -> (Vec<f64>, f64) {
        let share = |ns: &u64| *ns as f64 / outcome.elapsed_ns as f64;
        (outcome.at_work_ns.iter().map(share).collect(), share(&outcome.at_devices_ns))
    }

    fn course(machine: &Machine, depth: u32) -> Outcome {
        let random = workload(Pattern::Random, 8192, depth, machine);
        super::super::tests::course(machine, &Workload { limits: of_requests(400), ..random })
    }

    #[test]
    fn a_volume_that_a_controller_makes_is_one_device() {
        let mut machine = machine(atlas(Scheduler::CLook), 4, Volume::Stripe { chunk: Bytes(65_536) });
        let (shares, mean) = at_devices(&course(&machine, 1));
        assert!(shares.len() == 4 && shares.iter().all(|share| (0.15..0.35).contains(share)), "{shares:?}");
        assert!((shares.iter().sum::<f64>() - mean).abs() < 1e-9 && mean > 0.9, "{mean}");
        machine.made = Some(Vec::new());
        let (shares, one_deep) = at_devices(&course(&machine, 1));
        assert!(shares.len() == 1 && shares[0] > 0.98 && one_deep == shares[0], "{shares:?} {one_deep}");
        let (shares, mean) = at_devices(&course(&machine, 8));
        assert!(shares.len() == 1 && shares[0] > 0.99 && (7.5..8.0).contains(&mean), "{shares:?} {mean}");
    }

    #[test]
    fn disks_that_no_request_reaches_are_not_counted() {
        let machine = machine(atlas(Scheduler::CLook), 4, Volume::Each);
        let (shares, mean) = at_devices(&course(&machine, 1));
        assert!(shares.len() == 1 && shares[0] > 0.98 && mean == shares[0], "{shares:?} {mean}");
    }

    #[test]
    fn a_flush_between_writes_is_outstanding_at_the_device_and_of_the_program() {
        let cache = WriteCache { blocks: 4096, extents: 16 };
        let drive = Drive { write_cache: Some(cache), ..larger(Scheduler::CLook) };
        let machine = machine(drive, 1, Volume::Each);
        let (durability, limits) = (Durability::Fsync { every: 1 }, of_requests(100));
        let random = workload(Pattern::Random, 4096, 1, &machine);
        let flushed = Workload { operation: Operation::Write, durability, limits, ..random };
        let outcome = super::super::tests::course(&machine, &flushed);
        let took_ns = outcome.flush.sum() + outcome.latency.iter().map(|latency| latency.sum()).sum::<f64>();
        let (shares, mean) = at_devices(&outcome);
        assert!(outcome.flush.sum() / took_ns > 0.9, "most of it is flushes");
        assert!(shares[0] > 0.98 && (mean - shares[0]).abs() < 0.02, "{shares:?} {mean}");
        // Little's law, for requests and flushes together.
        assert!((outcome.outstanding_ns as f64 / took_ns - 1.0).abs() < 1e-6, "{} {took_ns}", outcome.outstanding_ns);
        assert!(outcome.outstanding_ns <= u128::from(outcome.elapsed_ns), "one at a time");
    }

    #[test]
    fn a_controller_tells_the_buses_on_its_legs() {
        let mut machine = machine(atlas(Scheduler::CLook), 2, Volume::Each);
        machine.parts.push(bus("isa", 8e6));
        machine.parts.push(controller(Forwarding::Stored, None));
        (machine.disks[0].near, machine.disks[0].far) = (vec![0], vec![3, 1]);
        let outcome = course(&machine, 1);
        let buses = |name| outcome.parts.iter().find(|part| part.name == name).unwrap().buses.clone();
        assert_eq!((buses("card"), buses("pci")), (vec!["pci".to_owned()], Vec::new()));
    }

    #[test]
    fn what_waits_at_a_gate_is_told_with_its_controller() {
        let mut machine = machine(atlas(Scheduler::CLook), 1, Volume::Each);
        machine.disks[0].queue = Some(Queue { outstanding: 2, order: Order::CLook, merge: 0 });
        let gate = |outcome: &Outcome| outcome.parts.iter().find(|part| part.kind == PartKind::Wait).cloned().unwrap();
        let shares = [1, 2, 8].map(|depth| gate(&course(&machine, depth)).busy);
        assert!(shares[0] == 0.0 && shares[1] == 0.0 && shares[2] > 0.98, "{shares:?}");
        assert_eq!(gate(&course(&machine, 8)).name, "disk.outstanding 1", "the drive's own");
        machine.parts.push(controller(Forwarding::Through, Some(2)));
        machine.disks[0].near.push(2);
        assert_eq!(gate(&course(&machine, 8)).name, "card.outstanding 1");
        machine.parts[2].name = "card 1".to_owned();
        assert_eq!(gate(&course(&machine, 8)).name, "card.outstanding 1", "one of several alike, which have one key");
        machine.disks[0].near.pop();
        machine.made = Some(vec![2]);
        assert_eq!(gate(&course(&machine, 8)).name, "card.outstanding 1", "which makes the volume");
    }

    #[test]
    fn time_counts_once_and_for_each() {
        let mut place = Outstanding::default();
        place.add(10);
        place.add(20);
        assert_eq!((place.some_ns(25), place.all_ns(25)), (15, 20));
        place.take(30);
        place.take(50);
        assert_eq!((place.some_ns(90), place.all_ns(90)), (40, 50));
    }
}
