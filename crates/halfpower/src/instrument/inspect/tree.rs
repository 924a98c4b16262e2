//! The path from a file to the hardware as a tree, and the machine as a list. Names come from the kernel and may hold
//! anything; the page and the terminal escape them.

use crate::instrument::page::Branch;
use crate::text::{counted, joined};
use halfpower_model::reading::inspect::{Cpus, Device, FileSystem, Link, LinkRate, Machine, Network, Queue, Storage};
use halfpower_model::units::significant;

/// The file system and the device, with all levels below them.
pub(super) fn path(storage: &Storage) -> Vec<Branch> {
    let mounted = |mount: &FileSystem| {
        let FileSystem { kind, mount_point, source, mount_options, .. } = mount;
        Branch::leaf("file system", format!("{kind} on {mount_point}, from {source} ({mount_options})"))
    };
    let network = storage.filesystem.as_ref().and_then(|mount| mount.network.as_ref());
    let devices = || match &storage.device {
        Some(_) => storage.devices().map(device).collect(),
        None => vec![Branch::leaf("device", "none, or unknown to the kernel".to_owned())],
    };
    storage.filesystem.iter().map(mounted).chain(network.map_or_else(devices, server)).collect()
}

/// A network file system's server, and the links to it.
fn server(network: &Network) -> Vec<Branch> {
    let options = (!network.options.is_empty()).then(|| network.options.join(" "));
    let share = network.share.as_ref().map(|share| format!("share {share}"));
    let server = Branch::leaf("server", joined([network.server.clone(), share, options]));
    let unknown = network.unknown.iter().map(|why| Branch::leaf("path", why.clone()));
    [server].into_iter().chain(links(&network.links)).chain(unknown).collect()
}

/// A device in brief: its name, and its parts, or its transport and model.
pub(super) fn brief(device: &Device) -> String {
    match joined([device.made_as.clone(), transport(device), device.model.clone()]) {
        what if what.is_empty() => device.name.clone(),
        what => format!("{} ({what})", device.name),
    }
}

/// How a device is attached, unless its name or `made_as` says so.
fn transport(device: &Device) -> Option<String> {
    device.transport.clone().filter(|transport| !["loop", "md", "device-mapper"].contains(&&**transport))
}

fn device(device: &Device) -> Branch {
    let text = joined([
        Some(device.made_as.clone().unwrap_or_else(|| device.kind.word().to_owned())),
        Some(device.size_bytes.to_string()),
        transport(device),
        device.model.clone(),
        device.firmware.as_ref().map(|firmware| format!("firmware {firmware}")),
        device.numa_node.map(|node| format!("NUMA node {node}")),
        (!device.holders.is_empty()).then(|| format!("held by {}", device.holders.join(", "))),
    ]);
    let queue = device.queue.iter().map(queue).filter(|text| !text.is_empty()).map(|text| Branch::leaf("queue", text));
    let limits = device.limits.iter().map(|limit| Branch::leaf("throttled", limit.to_string()));
    let backing = device.backing.iter();
    let backing =
        backing.flat_map(|file| [Branch::leaf("file", file.path.clone())].into_iter().chain(path(&file.storage)));
    let below = queue.chain(limits).chain(links(&device.links)).chain(backing);
    let below = below.chain(device.below.iter().map(self::device)).collect();
    Branch { name: device.name.clone(), text, below }
}

fn queue(queue: &Queue) -> String {
    let blocks = queue.logical_block_bytes.map(|logical| match queue.physical_block_bytes {
        Some(physical) if physical != logical => format!("blocks of {logical} ({physical} physical)"),
        _ => format!("blocks of {logical}"),
    });
    joined([
        queue.scheduler.as_ref().map(|scheduler| format!("scheduler {scheduler}")),
        queue.requests_max.map(|requests| format!("{requests} requests")),
        queue.depth_max.map(|depth| format!("queue depth {depth} in the device")),
        queue.request_max_bytes.map(|bytes| format!("requests up to {bytes}")),
        blocks,
        queue.read_ahead_bytes.map(|bytes| format!("read-ahead {bytes}")),
        queue.write_cache.as_ref().map(|cache| format!("cache {cache}")),
        queue.rotational.map(|rotational| if rotational { "rotational" } else { "not rotational" }.to_owned()),
        Some(queue.discard_bytes.map_or("no discard".to_owned(), |bytes| format!("discard unit {bytes}"))),
    ])
}

/// Links from the device to the CPU, the nearest to the device last.
fn links(links: &[Link]) -> impl Iterator<Item = Branch> {
    let rate = |rate: LinkRate| format!("{} Gbit/s × {}", significant(rate.gigabits_per_s), rate.lanes);
    links.iter().rev().map(move |link| {
        let peak = link.pap_bytes_per_s.map_or(format!("{}, unknown", link.kind), |peak| peak.to_string());
        let best = link.best.filter(|_| link.is_below_its_best()).map(|best| format!("{} at best", rate(best)));
        Branch::leaf(&link.at, joined([Some(peak), Some(link.source.clone()), best]))
    })
}

/// Facts of the machine.
pub(super) fn machine(machine: &Machine) -> Vec<Branch> {
    let product = machine.product.clone().unwrap_or_else(|| "unknown to the firmware".to_owned());
    let virtualised = machine.virtualisation.clone().unwrap_or_else(|| "no hypervisor found".to_owned());
    let caches = machine.caches.iter().map(|cache| {
        let kind = cache.kind.chars().next().filter(|_| cache.kind != "Unified");
        let kind = kind.map(|kind| kind.to_ascii_lowercase().to_string()).unwrap_or_default();
        Some(format!("{} × {} L{}{kind}", cache.instances, cache.size_bytes, cache.level))
    });
    let caches = match joined(caches) {
        none if none.is_empty() => "unknown to the kernel".to_owned(),
        caches => caches,
    };
    let memory = &machine.memory;
    let modules = (!memory.modules.is_empty()).then(|| counted(memory.modules.len(), "module"));
    let nodes = machine.numa_nodes.map(|nodes| counted(nodes as usize, "NUMA node"));
    let memory = joined([Some(memory.size_bytes.to_string()), nodes, modules, Some(memory.source.clone())]);
    vec![
        Branch::leaf("product", product),
        Branch::leaf("hypervisor", virtualised),
        Branch::leaf("kernel", machine.kernel.clone()),
        Branch::leaf("CPUs", cpus(&machine.cpus)),
        Branch::leaf("caches", caches),
        Branch::leaf("memory", memory),
        mitigations(machine),
    ]
}

fn mitigations(machine: &Machine) -> Branch {
    let open = machine.mitigations.iter().filter(|(_, state)| *state != "Not affected");
    let below: Vec<Branch> = open.map(|(name, state)| Branch::leaf(name, state.clone())).collect();
    let text = match (machine.mitigations.len(), below.len()) {
        (0, _) => "unknown to the kernel".to_owned(),
        (_, 0) => "not affected by any vulnerability that the kernel knows".to_owned(),
        (known, affected) => format!("affected by {affected} of {known} vulnerabilities that the kernel knows"),
    };
    Branch { name: "mitigations".to_owned(), text, below }
}

fn cpus(cpus: &Cpus) -> String {
    let clock = |clock: Option<f64>, what: &str| clock.map(|clock| format!("{} MHz{what}", clock.round()));
    joined([
        cpus.model.clone(),
        cpus.sockets.map(|sockets| counted(sockets as usize, "socket")),
        cpus.cores.map(|cores| counted(cores as usize, "core")),
        Some(
            cpus.threads.map_or("unknown number of threads".to_owned(), |threads| counted(threads as usize, "thread")),
        ),
        clock(cpus.clock_mhz, " now"),
        clock(cpus.clock_max_mhz, " max"),
        (!cpus.governors.is_empty()).then(|| format!("governor {}", cpus.governors.join(", "))),
    ])
}
