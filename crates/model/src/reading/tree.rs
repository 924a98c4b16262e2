//! What inspecting found in words: the path from a file to the hardware as a tree, and the machine as a list. Names are
//! what the kernel tells and may hold anything; who shows them makes them harmless.

use super::inspect::{
    Device, Ground, Inspected, InspectedTarget, Limit, Link, LinkRate, Machine, Network, Processors, Queue,
};
use crate::levels::{Level, LevelName};
use crate::units::significant;
use serde::Serialize;
use std::fmt;

/// A part of the path, and what lies below it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Branch {
    /// What it is called.
    pub name: String,
    /// What there is to say of it.
    pub said: String,
    /// What lies below it, or is particular to it.
    pub below: Vec<Branch>,
}

impl Branch {
    fn leaf(name: impl Into<String>, said: String) -> Branch {
        Branch { name: name.into(), said, below: Vec::new() }
    }
}

impl Inspected {
    /// What the reader came for: what each target lies on, down to the hardware, in a sentence each.
    pub fn verdict(&self) -> Vec<String> {
        let who =
            |target: &InspectedTarget| if self.targets.len() == 1 { "It".to_owned() } else { target.path.clone() };
        self.targets.iter().map(|target| format!("{} {}.", who(target), target.verdict())).collect()
    }
}

impl InspectedTarget {
    /// What it lies on, down to the hardware, and what its device advertises.
    fn verdict(&self) -> String {
        let mut parts = Vec::new();
        let mut ground = Some(&self.ground);
        while let Some(here) = ground {
            parts.extend(here.filesystem.as_ref().map(|mount| mount.kind.clone()));
            let mut device = here.device.as_ref();
            ground = None;
            while let Some(shown) = device {
                let further = if device == here.device.as_ref() { here.beside.len() } else { 0 };
                let further = if further == 0 { String::new() } else { format!(" and {further} more") };
                parts.push(shown.brief() + &further);
                ground = shown.backing.as_ref().map(|backing| &backing.ground);
                device = shown.below.first();
            }
        }
        let path = if parts.is_empty() { "nothing that the kernel tells of".to_owned() } else { parts.join(" on ") };
        let level = self.levels.iter().find(|level| level.name == LevelName::Device);
        let peak = level.and_then(|level| level.pap_bytes_per_s);
        let peak = peak.map(|rate| format!(", which advertises {rate}")).unwrap_or_default();
        format!("lies on {path}{peak}")
    }
}

impl LevelName {
    /// For people.
    pub fn title(self) -> &'static str {
        match self {
            LevelName::ReadLimit => "read limit",
            LevelName::WriteLimit => "write limit",
            name => name.word(),
        }
    }
}

impl Level {
    /// Its peak, or that it is unknown.
    pub fn peak(&self) -> String {
        self.pap_bytes_per_s.map_or("unknown".to_owned(), |rate| rate.to_string())
    }
}

impl Ground {
    /// The file system and the device, with what lies below it.
    pub fn tree(&self) -> Vec<Branch> {
        let filesystem = self.filesystem.as_ref().map(|mount| {
            let said =
                format!("{} on {}, from {} ({})", mount.kind, mount.mount_point, mount.source, mount.mount_options);
            Branch::leaf("file system", said)
        });
        let network = self.filesystem.as_ref().and_then(|mount| mount.network.as_ref());
        let below = network.map(Network::branches);
        let devices = || match &self.device {
            Some(_) => self.devices().map(Device::branch).collect(),
            None => vec![Branch::leaf("device", "none, or the kernel does not tell".to_owned())],
        };
        filesystem.into_iter().chain(below.unwrap_or_else(devices)).collect()
    }
}

impl Network {
    /// The server, and the links to it.
    fn branches(&self) -> Vec<Branch> {
        let options = (!self.options.is_empty()).then(|| self.options.join(" "));
        let share = self.share.as_ref().map(|share| format!("share {share}"));
        let server = Branch::leaf("server", joined([self.server.clone(), share, options]));
        let links = self.links.iter().rev().map(|link| Branch::leaf(&link.at, linked(link)));
        let way = self.unknown.iter().map(|why| Branch::leaf("way", why.clone()));
        [server].into_iter().chain(links).chain(way).collect()
    }
}

impl Device {
    /// Its name, with what it is made as, or how it is attached and its model.
    fn brief(&self) -> String {
        let what = [self.made_as.clone(), self.own_transport(), self.model.clone()];
        match joined(what) {
            what if what.is_empty() => self.name.clone(),
            what => format!("{} ({what})", self.name),
        }
    }

    /// How it is attached, where its name or what it is made as does not say so.
    fn own_transport(&self) -> Option<String> {
        self.transport.clone().filter(|transport| !["loop", "md", "device-mapper"].contains(&&**transport))
    }

    fn branch(&self) -> Branch {
        let what = self.made_as.clone().unwrap_or_else(|| self.kind.word().to_owned());
        let said = joined([
            Some(what),
            Some(self.size_bytes.to_string()),
            self.own_transport(),
            self.model.clone(),
            self.firmware.as_ref().map(|firmware| format!("firmware {firmware}")),
            self.numa_node.map(|node| format!("NUMA node {node}")),
            (!self.holders.is_empty()).then(|| format!("held by {}", self.holders.join(", "))),
        ]);
        let queue = self.queue.as_ref().map(described).filter(|said| !said.is_empty());
        let queue = queue.map(|said| Branch::leaf("queue", said));
        let limits = self.limits.iter().map(|limit| Branch::leaf("limited", limit.to_string()));
        let links = self.links.iter().rev().map(|link| Branch::leaf(&link.at, linked(link)));
        let backing = self
            .backing
            .iter()
            .flat_map(|backing| [Branch::leaf("file", backing.path.clone())].into_iter().chain(backing.ground.tree()));
        let below = queue.into_iter().chain(limits).chain(links).chain(backing);
        let below = below.chain(self.below.iter().map(Device::branch)).collect();
        Branch { name: self.name.clone(), said, below }
    }
}

/// The parts that there are, one after another.
fn joined(parts: impl IntoIterator<Item = Option<String>>) -> String {
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
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

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let said = joined([
            self.read_bytes_per_s.map(|rate| format!("reads to {rate}")),
            self.write_bytes_per_s.map(|rate| format!("writes to {rate}")),
            self.read_requests_per_s.map(|rate| format!("to {rate} reads a second")),
            self.write_requests_per_s.map(|rate| format!("to {rate} writes a second")),
        ]);
        write!(f, "{said}, by control group {}", self.group)
    }
}

fn linked(link: &Link) -> String {
    let rate = |rate: LinkRate| format!("{} Gbit/s × {}", significant(rate.gigabits_per_s), rate.lanes);
    let peak = link.pap_bytes_per_s.map_or(format!("{}, unknown", link.kind), |peak| peak.to_string());
    let best = link.best.filter(|_| link.is_below_its_best()).map(|best| format!("{} at best", rate(best)));
    joined([Some(peak), Some(link.source.clone()), best])
}

impl Machine {
    /// Facts, in the order of the record.
    pub fn facts(&self) -> Vec<Branch> {
        let product = self.product.clone().unwrap_or_else(|| "the firmware does not tell".to_owned());
        let virtualised = self.virtualisation.clone().unwrap_or_else(|| "no, as far as it shows".to_owned());
        let caches = self.caches.iter().map(|cache| {
            let kind = cache.kind.chars().next().filter(|_| cache.kind != "Unified");
            let kind = kind.map(|kind| kind.to_ascii_lowercase().to_string()).unwrap_or_default();
            Some(format!("{} × {} L{}{kind}", cache.instances, cache.size_bytes, cache.level))
        });
        let caches = match joined(caches) {
            none if none.is_empty() => "the kernel does not tell".to_owned(),
            caches => caches,
        };
        let memory = &self.memory;
        let modules = (!memory.modules.is_empty()).then(|| counted(memory.modules.len() as u32, "module"));
        let nodes = self.numa_nodes.map(|nodes| counted(nodes, "NUMA node"));
        let memory = joined([Some(memory.size_bytes.to_string()), nodes, modules, Some(memory.source.clone())]);
        vec![
            Branch::leaf("product", product),
            Branch::leaf("virtualised", virtualised),
            Branch::leaf("kernel", self.kernel.clone()),
            Branch::leaf("processors", self.processors.described()),
            Branch::leaf("caches", caches),
            Branch::leaf("memory", memory),
            self.mitigated(),
        ]
    }

    fn mitigated(&self) -> Branch {
        let open = self.mitigations.iter().filter(|(_, state)| *state != "Not affected");
        let below: Vec<Branch> = open.map(|(name, state)| Branch::leaf(name, state.clone())).collect();
        let said = if self.mitigations.is_empty() {
            "the kernel does not tell".to_owned()
        } else if below.is_empty() {
            "none needed, as far as the kernel tells".to_owned()
        } else {
            format!("{} of {} weaknesses that the kernel knows", below.len(), self.mitigations.len())
        };
        Branch { name: "mitigations".to_owned(), said, below }
    }
}

impl Processors {
    fn described(&self) -> String {
        let clock = |clock: Option<f64>, what: &str| clock.map(|clock| format!("{} MHz{what}", clock.round()));
        joined([
            self.model.clone(),
            self.sockets.map(|sockets| counted(sockets, "socket")),
            self.cores.map(|cores| counted(cores, "core")),
            self.threads
                .map_or_else(|| Some("how many is not told".to_owned()), |threads| Some(counted(threads, "thread"))),
            clock(self.clock_mhz, " now"),
            clock(self.clock_max_mhz, " at most"),
            (!self.governors.is_empty()).then(|| format!("governor {}", self.governors.join(", "))),
        ])
    }
}

fn counted(count: u32, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}
