//! The way of a volume's bytes, told part by part: from the disks to memory, in the order in which a read passes.
//!
//! It tells what the parts are and do; how busy they are is in a sample.

use crate::bus::Bus;
use crate::cloud::{Burst, CloudVolume, Limit, Limits};
use crate::command::Direction;
use crate::controller::{Controller, Forwarding, Order, Queue};
use crate::flash::{FlashDrive, State};
use crate::machine::{AttachedDisk, Cost, Device, Machine, Part, PartKind, Share, SplitAt};
use crate::volume::{Reader, Volume};
use halfpower_model::units::significant;
use halfpower_model::{Bytes, BytesPerSecond, Nanoseconds};

/// A part of the way, or several that are alike side by side.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathPart {
    /// Their names: as in the machine's file, or in a sample where there are several.
    pub names: Vec<String>,
    /// What each does, in words.
    pub does: String,
    /// What it makes of the disks, in words; none where that is done elsewhere.
    pub makes: Option<String>,
}

/// What a sample calls the CPUs.
const CPUS: &str = "CPUs";
/// And those of a share's server.
const SERVER_CPUS: &str = "server's CPUs";

/// The way of a machine's volume, the disks first.
pub fn path(machine: &Machine) -> Vec<PathPart> {
    let mut stops = vec![disks(machine)];
    let leg = |disk: &AttachedDisk| [&disk.near[..], &disk.far[..]].concat();
    let legs: Vec<Vec<usize>> = machine.disks.iter().map(leg).collect();
    let above = machine.made.as_deref().unwrap_or_default();
    let levels = legs.first().map_or(0, Vec::len);
    for level in 0..levels {
        let mut numbers: Vec<usize> = legs.iter().map(|leg| leg[level]).collect();
        numbers.sort_unstable();
        numbers.dedup();
        stops.push(stop(machine, &numbers));
    }
    let maker = stops.len();
    stops.extend(above.iter().map(|number| stop(machine, &[*number])));
    stops.push(host(machine));
    let at = if above.is_empty() { stops.len() - 1 } else { maker };
    stops[at].makes = volume(machine);
    if let Some(share) = &machine.share {
        self::share(machine, share, &mut stops);
    }
    stops
}

/// What a share adds behind what reaches its server's memory: what the ends spend on it, and the wire between them.
fn share(machine: &Machine, share: &Share, stops: &mut Vec<PathPart>) {
    let Some(server) = stops.last_mut() else { return };
    server.does += &format!("; as server of the share, {}", costs("", [share.server_read, share.server_write]));
    let costs_of = costs("", [share.client_read, share.client_write]);
    let client = format!("as client of the share, {costs_of}; up to {} outstanding writes", share.write_window);
    if share.server_cpus.is_none() {
        server.does += &format!("; {client}");
        return;
    }
    server.names = vec![SERVER_CPUS.to_owned()];
    let passed: Vec<String> = stops.iter().flat_map(|stop| stop.names.clone()).collect();
    let wire = machine.wire.iter().map(|number| {
        let mut one = stop(machine, &[*number]);
        if one.names.iter().all(|name| passed.contains(name)) {
            one.does += ", crossed twice";
        }
        one
    });
    stops.extend(wire);
    let does = format!("{}; {client}", cpus(machine));
    stops.push(PathPart { names: vec![CPUS.to_owned()], does, makes: None });
}

fn disks(machine: &Machine) -> PathPart {
    let number = machine.disks.len();
    let named =
        |(index, name): (usize, &String)| if number == 1 { name.clone() } else { format!("{name} {}", index + 1) };
    let names = machine.disks.iter().map(|disk| &disk.name).enumerate().map(named).collect();
    let does = machine.disks.first().map_or_else(String::new, |disk| {
        let size = disk.device.size();
        match &disk.device {
            Device::Disk(drive) => {
                let turns = 60e9 / drive.mechanics.turn_ns;
                let cache = if drive.write_cache.is_some() { "write cache on" } else { "write cache off" };
                format!("disk of {size}, {turns:.0} rpm, {cache}")
            }
            Device::Flash(drive) => flash(drive, disk.queue),
            Device::Buffer(_) => format!("disk of {size}, all requests from its buffer"),
            Device::Cloud(volume, instance) => cloud(volume, *instance),
        }
    });
    PathPart { names, does, makes: None }
}

fn flash(drive: &FlashDrive, queue: Option<Queue>) -> String {
    let FlashDrive { size, spare, page, read, program, .. } = drive;
    let state = match drive.state {
        State::Fresh => "fresh",
        State::Filled => "written once in order",
        State::Steady => "randomly overwritten",
    };
    let spare = significant(spare.0 as f64 / size.0 as f64 * 100.0);
    let units = format!("{} units of {page} pages (read {read}, program {program})", drive.units);
    let queue = queue.map_or_else(String::new, |queue| format!(", up to {} commands", queue.outstanding));
    format!("flash of {size} and {spare} % spare, {units} on {} channels{queue}, {state}", drive.channels)
}

fn cloud(volume: &CloudVolume, instance: Option<Limits>) -> String {
    let CloudVolume { size, unit, read_latency, write_latency, .. } = volume;
    let limit = |limit: Limit, rate: &dyn Fn(f64) -> String, amount: &dyn Fn(f64) -> String| {
        let burst = |burst: Burst| format!(" ({} while {} of credits last)", rate(burst.per_s), amount(burst.at_first));
        rate(limit.per_s) + &limit.burst.map(burst).unwrap_or_default()
    };
    let requests = |number: f64| format!("{} requests", significant(number));
    let limits = |(limits, whose): (Limits, &str)| {
        let [of_requests, of_bytes] = limits.both();
        let of_requests = limit(of_requests, &|per_s| format!("{} IOPS", significant(per_s)), &requests);
        let rate = |per_s| BytesPerSecond(per_s).to_string();
        let of_bytes = limit(of_bytes, &rate, &|bytes| format!("{} GB", significant(bytes / 1e9)));
        format!("{whose} {of_requests} of up to {unit} and {of_bytes}")
    };
    let own = limits((volume.limits, "limited to"));
    let instance = instance.map(|instance| format!(", {}", limits((instance, "its instance to")))).unwrap_or_default();
    format!("cloud volume of {size}, read latency {read_latency}, write latency {write_latency}, {own}{instance}")
}

fn stop(machine: &Machine, numbers: &[usize]) -> PathPart {
    let names = numbers.iter().map(|number| machine.parts[*number].name.clone()).collect();
    let does = numbers.first().map_or_else(String::new, |number| {
        let part = &machine.parts[*number];
        match &part.kind {
            PartKind::Bus(one) => bus(one, part),
            PartKind::Controller(one) => controller(one, part),
        }
    });
    PathPart { names, does, makes: None }
}

fn bus(bus: &Bus, part: &Part) -> String {
    let per = |of: &str, ns: u64| (ns > 0).then(|| format!("{} per {of}", Nanoseconds(ns)));
    let words = [
        Some(format!("bus, {}", rates(part.ns_per_byte))),
        per("command", bus.command_ns()),
        per("transfer", bus.transfer_ns(0)),
        (bus.latency.0 > 0).then(|| format!("latency {}", bus.latency)),
        bus.programmed.then(|| "the CPU moves the bytes (PIO)".to_owned()),
    ];
    words.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

fn controller(controller: &Controller, part: &Part) -> String {
    let forwarding = match controller.bytes {
        Forwarding::Through => "controller, passes bytes on",
        Forwarding::Ports => "controller, passes bytes on, one port per disk",
        Forwarding::Stored => "controller, stores each transfer before it passes it on",
    };
    let queue = |Queue { outstanding, order, merge }| {
        let order = match order {
            Order::Fcfs => "first come, first served",
            Order::CLook => "C-LOOK for reads",
            Order::FScan => "FSCAN for reads",
        };
        let commands = if outstanding == 1 { "one command".to_owned() } else { format!("{outstanding} commands") };
        let merged = if merge > 0 { format!(", merges up to {}", Bytes(merge)) } else { String::new() };
        format!("{commands} per disk, {order}{merged}")
    };
    let words = [
        Some(forwarding.to_owned()),
        (controller.request.0 > 0).then(|| format!("{} per command", controller.request)),
        Some(rates(part.ns_per_byte)).filter(|rates| !rates.is_empty()),
        controller.queue().map(queue),
    ];
    words.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// Of reads and of writes, once if they are the same; nothing where the neighbours are the limit.
fn rates(ns_per_byte: [f64; 2]) -> String {
    let [read, write] = ns_per_byte.map(|ns| BytesPerSecond(1e9 / ns));
    let both = [("reads", read), ("writes", write)].into_iter().filter(|(_, rate)| rate.0.is_finite());
    match read == write && read.0.is_finite() {
        true => read.to_string(),
        false => both.map(|(of, rate)| format!("{of} {rate}")).collect::<Vec<_>>().join(", "),
    }
}

fn host(machine: &Machine) -> PathPart {
    let system = &machine.system;
    let direct = [(system.direct_read, Direction::Read), (system.direct_write, Direction::Write)]
        .map(|(cost, direction)| cost.plus(machine.driver_cost(direction)));
    let what = if system.split_at == SplitAt::Disk { "per disk" } else { "above the volume" };
    let cut = system.split.map_or_else(String::new, |split| format!(", requests split at {split} {what}"));
    // Nothing says what a server's are.
    let cpus = match machine.share.as_ref().and_then(|share| share.server_cpus) {
        Some(count) => format!("{count} CPU cores"),
        None => cpus(machine),
    };
    let does = format!("{cpus}; {}: {}{cut}", system.name, costs("direct ", direct));
    PathPart { names: vec![CPUS.to_owned()], does, makes: None }
}

fn cpus(machine: &Machine) -> String {
    let (count, cpu) = (machine.cpu.count, machine.cpu());
    if count == 1 { cpu } else { format!("{count} × {cpu}") }
}

/// CPU time of a request of a kind; of reads and of writes, where they are not alike.
fn costs(kind: &str, [read, write]: [Cost; 2]) -> String {
    let of = |cost: Cost| {
        format!("{} µs + {} µs per KiB", significant(cost.fixed_us), significant(cost.marginal_us_per_kib))
    };
    if of(read) == of(write) {
        format!("{} of CPU per {kind}request", of(read))
    } else {
        format!("{} of CPU per {kind}read, {} per write", of(read), of(write))
    }
}

/// What is made of the disks, and where its first byte lies; none of single disks.
fn volume(machine: &Machine) -> Option<String> {
    let made = match machine.volume {
        Volume::Each => return None,
        Volume::Stripe { chunk } => format!("a stripe, chunk {chunk}"),
        Volume::Raid5 { chunk } => format!("a RAID5, chunk {chunk}"),
        Volume::Mirror { reader } => {
            let reader = match reader {
                Reader::RoundRobin => "reads round-robin",
                Reader::ShorterQueue => "reads from the disk with the fewest commands",
                Reader::Nearest => "reads from the disk with the nearest last address",
                Reader::IdleOrNearest => "reads from the stream's disk, else an idle one, else the nearest",
            };
            format!("a mirror, {reader}")
        }
    };
    let offset = machine.offset;
    Some(if offset.0 == 0 { made } else { format!("{made}, offset {offset}") })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(machine: &str, volume: &str) -> Vec<String> {
        let stops = path(crate::shipped::testbed(machine, volume).unwrap().unwrap().machine());
        let told = |stop: &PathPart| {
            let makes = stop.makes.as_ref().map_or_else(String::new, |makes| format!(" makes {makes}"));
            format!("{}: {}{makes}", stop.names.join(", "), stop.does)
        };
        stops.iter().map(told).collect()
    }

    #[test]
    fn a_path_is_told_part_by_part() {
        for (machine, volume, wanted) in [
            (
                "win2k-pentium3",
                "fireball-raid0-2",
                "\
fireball-lct08 1, fireball-lct08 2: disk of 24.8 GiB, 5400 rpm, write cache on
ata 1, ata 2: bus, reads 32 MB/s, writes 66.7 MB/s
3ware-5400: controller, stores each transfer before it passes it on, 150 µs per command, reads 72 MB/s, writes 46 MB/s, one command \
per disk, FSCAN for reads makes a stripe, chunk 64 KiB, offset 31.5 KiB
pci: bus, 101 MB/s
CPUs: 2 × Pentium III, 733 MHz; Windows 2000: 57 µs + 0.53 µs per KiB of CPU per direct request, requests split at 64 KiB above the \
volume",
            ),
            (
                "win2k-pentium3",
                "mapped-gigabit",
                "\
atlas-10k 1, atlas-10k 2, atlas-10k 3: disk of 17.1 GiB, 10025 rpm, write cache on
scsi: bus, 160 MB/s
aic-7899: controller, passes bytes on, 62 µs per command, writes 55.3 MB/s
server-pci: bus, 79 MB/s
server's CPUs: 2 CPU cores; Windows 2000: 32 µs + 0.25 µs per KiB of CPU per direct request, requests split at 64 KiB above the \
volume; as server of the share, 266 µs + 9.08 µs per KiB of CPU per request makes a stripe, chunk 64 KiB
server-pci: bus, 79 MB/s, crossed twice
ethernet: bus, 125 MB/s, latency 390 µs
pci: bus, 101 MB/s
CPUs: 2 × Pentium III, 733 MHz; as client of the share, 266 µs + 9.08 µs per KiB of CPU per request; up to 2 outstanding writes",
            ),
            (
                "sata-ssd",
                "steady",
                "\
s4500: flash of 3.5 TiB and 14.5 % spare, 64 units of 16 KiB pages (read 59 µs, program 1.02 ms) on 8 channels, up to 32 commands, \
randomly overwritten
sata: bus, reads 525 MB/s, writes 501 MB/s, 6 µs per command
CPUs: 8 × CPU of today, 3 GHz; Linux: 2.5 µs + 0.002 µs per KiB of CPU per direct request, requests split at 1280 KiB per \
disk",
            ),
            (
                "cloud-gp3",
                "small-instance",
                "\
gp3-small: cloud volume of 500 GiB, read latency 700 µs, write latency 900 µs, limited to 16000 IOPS of up to 256 KiB and 1.05 GB/s, \
its instance to 3600 IOPS (40000 IOPS while 65520000 requests of credits last) of up to 256 KiB and 81.3 MB/s (1.25 GB/s while 2104 GB \
of credits last)
ebs: bus, 1.25 GB/s
CPUs: 32 × Xeon Platinum 8375C, 2.9 GHz; Linux: 1.2 µs + 0.002 µs per KiB of CPU per direct request",
            ),
        ] {
            assert_eq!(told(machine, volume).join("\n"), wanted);
        }
    }
}
