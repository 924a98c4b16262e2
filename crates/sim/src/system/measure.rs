//! How the measured part begins and ends, and what the parts did in it.

use super::outcome::{LONG, Mark, Outcome};
use super::state::{Origin, System};
use super::{growth, share};
use crate::bus::{Bus, Tally};
use crate::disk::Worked;
use halfpower_model::Histogram;
use halfpower_model::sample::{CutOff, Part, PartKind, WaitFor};
use halfpower_model::workload::FEW_REQUESTS;
use std::collections::BTreeMap;

/// Takes a part: its servers, how long they were busy up to now, and how it is reported.
type Give<'g> = dyn FnMut(u32, u64, &dyn Fn() -> Part) + 'g;

impl System<'_> {
    /// Gives every part.
    fn each_part(&self, give: &mut Give<'_>) {
        let (machine, now_ns) = (self.machine, self.now_ns);
        give(machine.cpu.count, self.cpus.busy_ns(now_ns), &|| Part::idle("CPUs", PartKind::Cpu));
        for (number, part) in machine.parts.iter().enumerate() {
            give(1, self.resources[number].busy_ns(now_ns), &|| match part.bus() {
                Some(bus) => {
                    Part { phases: phases(bus, &self.tallies[number]), ..Part::idle(&part.name, PartKind::Bus) }
                }
                None => Part { buses: machine.buses_beside(number), ..Part::idle(&part.name, PartKind::Controller) },
            });
        }
        for (number, disk) in machine.disks.iter().enumerate() {
            let name = || format!("{} {}", disk.name, number + 1);
            give(1, self.devices[number].busy_ns(now_ns), &|| Part::idle(&name(), PartKind::Device));
        }
        if let Some(share) = &self.share {
            if let (Some(server), Some(cpus)) = (&share.server, share.model.server_cpus) {
                give(cpus, server.busy_ns(now_ns), &|| Part::idle("server's CPUs", PartKind::Cpu));
            }
            give(1, share.held.some_ns(now_ns), &share::wait);
        }
        for (number, disk) in machine.disks.iter().enumerate() {
            let Some(gate) = machine.gate_of(disk) else { continue };
            let name = || format!("{gate}.outstanding {}", number + 1);
            let wait = || Part::wait(&name(), WaitFor::Commands, LONG, "commands", "for others to end");
            give(1, self.at_gates[number].some_ns(now_ns), &wait);
        }
        if let Some(growth) = &self.growth {
            give(growth.files.len() as u32, growth.busy_ns(now_ns), &growth::wait);
        }
        if let Some((name, busy_ns)) = self.devices.first().and_then(|device| device.instance(now_ns)) {
            give(1, busy_ns, &|| Part::idle(name, PartKind::Controller));
        }
    }

    /// What was counted up to now.
    pub(super) fn mark(&self) -> Mark {
        let since_ns = self.now_ns - self.outstanding_until_ns;
        // Of targets that are disks each, those that have workers.
        let reached = if self.machine.targets() > 1 { self.workload.volumes() as usize } else { self.at_devices.len() };
        let at_devices = self.at_devices[..reached.min(self.at_devices.len())].iter();
        let mut busy_ns = Vec::new();
        self.each_part(&mut |_, ns, _| busy_ns.push(ns));
        Mark {
            at_ns: self.now_ns,
            busy_ns,
            own_ns: self.resources.iter().map(|resource| resource.at_work_ns(self.now_ns)).collect(),
            worked: self.devices.iter().map(|device| device.worked(self.now_ns)).collect(),
            at_work_ns: at_devices.clone().map(|device| device.some_ns(self.now_ns)).collect(),
            at_devices_ns: at_devices.map(|device| device.all_ns(self.now_ns)).sum(),
            interrupt_ns: self.outcome.interrupt_ns,
            device: self.outcome.device,
            merges: self.outcome.merges,
            outstanding_ns: self.outstanding_ns + self.outstanding_for(since_ns),
        }
    }

    /// Requests of the program are about to be more or fewer, or its flushes.
    pub(super) fn count_outstanding(&mut self) {
        self.outstanding_ns += self.outstanding_for(self.now_ns - self.outstanding_until_ns);
        self.outstanding_until_ns = self.now_ns;
    }

    fn outstanding_for(&self, since_ns: u64) -> u128 {
        u128::from(since_ns) * u128::from(self.open_requests + self.flushes.waiting)
    }

    /// A request of the program is done during the warm-up: the measured part may begin here.
    pub(super) fn may_begin(&mut self) {
        self.marks.completion = self.mark();
    }

    /// The window begins.
    pub(super) fn begin(&mut self) {
        self.marks.begun = true;
        // What is outstanding counts when it is done.
        (self.issued, self.issued_bytes) = (u64::from(self.open_requests), self.open_bytes);
        self.marks.window = self.mark();
        self.marks.threads_ns = self.threads_ns();
    }

    /// Whether the measured part ends with its window, which is over: not where the flush is timed, nor with so few
    /// requests that what is outstanding has to be waited for. A rate that holds them back is no matter of completions.
    pub(super) fn ends_with_window(&mut self) -> bool {
        if self.flushes.at_end {
            return false;
        }
        let done: u64 = self.outcome.latency.iter().map(Histogram::count).sum();
        let is_of_few = done < FEW_REQUESTS && self.open_requests > 0 && !self.workload.is_held_back();
        !*self.marks.is_of_few.get_or_insert(is_of_few)
    }

    /// What of the program's is under way at the end of the measured part.
    fn under_way(&self) -> CutOff {
        let mut under_way = CutOff { requests: u64::from(self.open_requests), is_until_end: true, ..CutOff::default() };
        for open in self.requests.taken().filter(|open| matches!(open.origin, Origin::Program { .. })) {
            let took_ns = self.now_ns - open.issued_ns;
            under_way.latency.record(took_ns);
            under_way.measured_ns += took_ns.min(self.outcome.elapsed_ns) as f64;
            under_way.longest_ns = under_way.longest_ns.max(took_ns);
            under_way.longest_response_ns =
                under_way.longest_response_ns.max(self.now_ns.saturating_sub(open.arrived_ns));
        }
        under_way
    }

    pub(crate) fn finish(mut self) -> Outcome {
        if !self.marks.begun {
            self.begin();
        }
        self.count_backlogs();
        let after = self.mark();
        let is_of_few = self.marks.is_of_few == Some(true);
        let before = std::mem::take(if is_of_few { &mut self.marks.completion } else { &mut self.marks.window });
        let elapsed_ns = self.now_ns.saturating_sub(before.at_ns);
        for (now, then) in self.outcome.device.iter_mut().zip(before.device) {
            *now = (now.0 - then.0, now.1 - then.1);
        }
        self.outcome.merges -= before.merges;
        self.outcome.outstanding_ns = after.outstanding_ns - before.outstanding_ns;
        self.outcome.cpu_ns = after.busy_ns[0] - before.busy_ns.first().copied().unwrap_or(0);
        self.outcome.parts = self.parts(&before, &after);
        self.outcome.at_work_ns = since(&after.at_work_ns, &before.at_work_ns);
        self.outcome.at_devices_ns = after.at_devices_ns - before.at_devices_ns;
        self.outcome.interrupt_ns -= before.interrupt_ns;
        self.outcome.threads_ns = self.threads_ns().saturating_sub(self.marks.threads_ns);
        self.outcome.elapsed_ns = elapsed_ns;
        self.outcome.cut_off = self.under_way();
        self.outcome.flush = self.flushes.took.clone();
        self.outcome.flush_ns = self.flushes.ending_ns.map(|ending_ns| self.now_ns - ending_ns);
        self.outcome
    }

    /// What each part did between two moments.
    fn parts(&self, before: &Mark, after: &Mark) -> Vec<Part> {
        let whole_ns = after.at_ns.saturating_sub(before.at_ns).max(1) as f64;
        let used = since(&after.busy_ns, &before.busy_ns);
        let (mut parts, mut numbers) = (Vec::new(), used.iter());
        self.each_part(&mut |servers, _, part| {
            let used_ns = numbers.next().copied().unwrap_or(0) as f64;
            parts.push(Part { busy: (used_ns / whole_ns / f64::from(servers)).min(1.0), ..part() });
        });
        // The CPUs come first, then buses and controllers, then disks.
        let own = since(&after.own_ns, &before.own_ns);
        let between = parts[1..].iter_mut().zip(&used[1..]).zip(&own);
        for ((part, used), own) in between.filter(|((part, _), _)| part.kind == PartKind::Controller) {
            part.phases = held(*own as f64 / (*used).max(1) as f64);
        }
        for (part, phases) in parts[1 + own.len()..].iter_mut().zip(arms(after, before)) {
            part.phases = phases;
        }
        parts
    }
}

/// What came between two moments; before anything was done every part was idle.
fn since(after: &[u64], before: &[u64]) -> Vec<u64> {
    let before = before.iter().copied().chain(std::iter::repeat(0));
    after.iter().zip(before).map(|(after, before)| after.saturating_sub(before)).collect()
}

/// What each device's arm did between two moments, as shares of the time that it was at work; none where there is no arm.
fn arms(after: &Mark, before: &Mark) -> Vec<BTreeMap<String, f64>> {
    let before = before.worked.iter().copied().chain(std::iter::repeat(None));
    let each = after.worked.iter().zip(before);
    let phases = each.map(|(after, before)| {
        let (Some(after), before) = (*after, before.unwrap_or_default()) else { return BTreeMap::new() };
        let since = |of: fn(&Worked) -> u64| of(&after).saturating_sub(of(&before)) as f64;
        let passing = (since(|worked| worked.passing_ns) / since(|worked| worked.busy_ns).max(1.0)).min(1.0);
        let phases = [(Part::PASSING, passing), (Part::REACHING, 1.0 - passing)];
        let phases = phases.into_iter().filter(|(_, share)| *share > 1e-6);
        phases.map(|(phase, share)| (phase.to_owned(), share)).collect()
    });
    phases.collect()
}

/// Of the time that a controller was taken, its own work and what it was held for others; none where it never was.
fn held(own: f64) -> BTreeMap<String, f64> {
    let own = own.min(1.0);
    if own > 1.0 - 1e-6 {
        return BTreeMap::new();
    }
    BTreeMap::from([("own_work".to_owned(), own), (Part::HELD.to_owned(), 1.0 - own)])
}

/// What a bus did beside and with bytes, as shares of the time that it was busy.
fn phases(bus: &Bus, tally: &Tally) -> BTreeMap<String, f64> {
    let phases = tally.phases(bus);
    let all_ns: u64 = phases.iter().map(|(_, ns)| ns).sum();
    let at_work = phases.into_iter().filter(|(_, ns)| *ns > 0);
    at_work.map(|(phase, ns)| (phase.to_owned(), ns as f64 / all_ns as f64)).collect()
}
