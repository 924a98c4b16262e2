//! What `halfpower inspect` found, as a tree for people. Names are what the kernel tells, so every one is made printable.

use super::super::console::printable;
use halfpower_model::reading::inspect::{
    Device, Ground, Inspected, InspectedTarget, Limit, Link, LinkRate, Machine, Network, Queue,
};
use halfpower_model::units::significant;
use halfpower_model::{Level, LevelName};
use std::fmt::Write;

/// Every target with its tree and its levels, then the machine.
pub(super) fn inspect(text: &mut String, inspected: &Inspected) {
    for shown in &inspected.targets {
        target(text, shown);
    }
    machine(text, &inspected.machine);
}

fn target(text: &mut String, target: &InspectedTarget) {
    let _ = writeln!(text, "{}", printable(&target.path));
    ground(text, &target.ground, 1);
    let _ = writeln!(text, "\n  {:<12} {:<12} from", "level", "advertised");
    for level in &target.levels {
        let peak = level.pap_bytes_per_s.map_or("unknown".to_owned(), |rate| rate.to_string());
        let _ = writeln!(text, "  {:<12} {:<12} {}", level_name(level), peak, printable(&level.source));
    }
    if target.levels.iter().any(|level| level.pap_bytes_per_s.is_none()) {
        let _ = writeln!(text, "  What is unknown can be given: --pap device=3500MB/s");
    }
    text.push('\n');
}

fn level_name(level: &Level) -> &'static str {
    match level.name {
        LevelName::ReadLimit => "read limit",
        LevelName::WriteLimit => "write limit",
        name => name.word(),
    }
}

/// A line of the tree: set in by its depth, a name, and what there is to say.
fn line(text: &mut String, depth: usize, name: &str, said: &str) {
    let indent = "  ".repeat(depth);
    let _ = writeln!(text, "{indent}{:<13} {}", printable(name), printable(said));
}

/// The parts that there are, one after another.
fn joined(parts: impl IntoIterator<Item = Option<String>>) -> String {
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

fn ground(text: &mut String, ground: &Ground, depth: usize) {
    if let Some(mount) = &ground.filesystem {
        let said = format!("{} on {}, from {} ({})", mount.kind, mount.mount_point, mount.source, mount.mount_options);
        line(text, depth, "file system", &said);
        if let Some(network) = &mount.network {
            share(text, network, depth);
            return;
        }
    }
    match &ground.device {
        Some(below) => device(text, below, depth),
        None => line(text, depth, "device", "none, or the kernel does not tell"),
    }
}

fn share(text: &mut String, network: &Network, depth: usize) {
    let options = (!network.options.is_empty()).then(|| network.options.join(" "));
    let share = network.share.as_ref().map(|share| format!("share {share}"));
    line(text, depth, "server", &joined([network.server.clone(), share, options]));
    network.links.iter().rev().for_each(|link| line(text, depth, &link.at, &linked(link)));
    network.unknown.iter().for_each(|why| line(text, depth, "way", why));
}

fn device(text: &mut String, shown: &Device, depth: usize) {
    let transport =
        shown.transport.clone().filter(|transport| !["loop", "md", "device-mapper"].contains(&&**transport));
    let what = shown.made_as.clone().unwrap_or_else(|| shown.kind.word().to_owned());
    let said = joined([
        Some(what),
        Some(shown.size_bytes.to_string()),
        transport,
        shown.model.clone(),
        shown.firmware.as_ref().map(|firmware| format!("firmware {firmware}")),
        shown.numa_node.map(|node| format!("NUMA node {node}")),
        (!shown.holders.is_empty()).then(|| format!("held by {}", shown.holders.join(", "))),
    ]);
    line(text, depth, &shown.name, &said);
    let depth = depth + 1;
    if let Some(queue) = shown.queue.as_ref().map(described).filter(|said| !said.is_empty()) {
        line(text, depth, "queue", &queue);
    }
    shown.limits.iter().for_each(|limit| line(text, depth, "limited", &limited(limit)));
    shown.links.iter().rev().for_each(|link| line(text, depth, &link.at, &linked(link)));
    if let Some(backing) = &shown.backing {
        line(text, depth, "file", &backing.path);
        ground(text, &backing.ground, depth);
    }
    shown.below.iter().for_each(|below| device(text, below, depth));
}

fn described(queue: &Queue) -> String {
    let blocks = queue.logical_block_bytes.map(|logical| match queue.physical_block_bytes {
        Some(physical) if physical != logical => format!("blocks of {logical} ({physical} on the medium)"),
        _ => format!("blocks of {logical}"),
    });
    joined([
        queue.scheduler.as_ref().map(|scheduler| format!("scheduler {scheduler}")),
        queue.requests_max.map(|requests| format!("{requests} requests")),
        queue.depth_max.map(|depth| format!("{depth} in the device")),
        queue.request_max_bytes.map(|bytes| format!("up to {bytes} each")),
        blocks,
        queue.read_ahead_bytes.map(|bytes| format!("{bytes} read ahead")),
        queue.write_cache.as_ref().map(|cache| format!("cache {cache}")),
        queue.rotational.map(|rotational| if rotational { "rotational" } else { "not rotational" }.to_owned()),
        Some(queue.discard_bytes.map_or("no discard".to_owned(), |bytes| format!("discard in {bytes}"))),
    ])
}

fn limited(limit: &Limit) -> String {
    let said = joined([
        limit.read_bytes_per_s.map(|rate| format!("reads to {rate}")),
        limit.write_bytes_per_s.map(|rate| format!("writes to {rate}")),
        limit.read_requests_per_s.map(|rate| format!("to {rate} reads a second")),
        limit.write_requests_per_s.map(|rate| format!("to {rate} writes a second")),
    ]);
    format!("{said}, by control group {}", limit.group)
}

fn linked(link: &Link) -> String {
    let rate = |rate: LinkRate| format!("{} Gbit/s × {}", significant(rate.gigabits_per_s), rate.lanes);
    let peak = link.pap_bytes_per_s.map_or(format!("{}, unknown", link.kind), |peak| peak.to_string());
    let best = link.best.filter(|_| link.is_below_its_best()).map(|best| format!("{} at best", rate(best)));
    joined([Some(peak), Some(link.source.clone()), best])
}

fn machine(text: &mut String, machine: &Machine) {
    let processors = &machine.processors;
    let clock = |clock: Option<f64>, what: &str| clock.map(|clock| format!("{} MHz{what}", clock.round()));
    let counted = |count: u32, what: &str| format!("{count} {what}{}", if count == 1 { "" } else { "s" });
    let said = joined([
        processors.model.clone(),
        Some(counted(processors.sockets, "socket")),
        Some(counted(processors.cores, "core")),
        Some(counted(processors.threads, "thread")),
        clock(processors.clock_mhz, " now"),
        clock(processors.clock_max_mhz, " at most"),
        (!processors.governors.is_empty()).then(|| format!("governor {}", processors.governors.join(", "))),
    ]);
    let product = machine.product.clone().unwrap_or_else(|| "the firmware does not tell".to_owned());
    let _ = writeln!(text, "This machine");
    line(text, 1, "product", &product);
    line(text, 1, "virtualised", machine.virtualisation.as_deref().unwrap_or("no, as far as it shows"));
    line(text, 1, "kernel", &machine.kernel);
    line(text, 1, "processors", &said);
    let caches = machine.caches.iter().map(|cache| {
        let kind = cache.kind.chars().next().filter(|_| cache.kind != "Unified").map(|kind| kind.to_ascii_lowercase());
        let kind = kind.map(String::from).unwrap_or_default();
        Some(format!("{} × {} L{}{kind}", cache.instances, cache.size_bytes, cache.level))
    });
    line(text, 1, "caches", &joined(caches));
    let memory = &machine.memory;
    let modules = (!memory.modules.is_empty()).then(|| counted(memory.modules.len() as u32, "module"));
    let nodes = counted(machine.numa_nodes, "NUMA node");
    let said = joined([Some(memory.size_bytes.to_string()), Some(nodes), modules, Some(memory.source.clone())]);
    line(text, 1, "memory", &said);
    let open = machine.mitigations.iter().filter(|(_, state)| *state != "Not affected");
    let open: Vec<String> = open.map(|(name, state)| format!("{name}: {state}")).collect();
    let needed = if open.is_empty() {
        "none needed, as far as the kernel tells".to_owned()
    } else {
        format!("{} of {} weaknesses that the kernel knows", open.len(), machine.mitigations.len())
    };
    line(text, 1, "mitigations", &needed);
    for said in open {
        let _ = writeln!(text, "    {}", printable(&said));
    }
}
