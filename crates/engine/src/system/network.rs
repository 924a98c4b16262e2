//! Network file systems: server, interface, and the options that decide the cost of a request.
//!
//! From the mount's line and the routes in procfs (proc_pid_net(5)); names are not resolved, so a server without an address in the
//! mount has no route. Rules that choose among several tables of routes are not read. An interface's
//! peak is its `speed` (Linux, Documentation/ABI/testing/sysfs-class-net): bits of data without the line's coding, but with the
//! headers of frames. Addresses are not kept.

use super::filesystem::Mount;
use super::{Root, entries, links, number, text};
use halfpower_model::BytesPerSecond;
use halfpower_model::reading::inspect::{Link, LinkKind, LinkRate, Network};
use halfpower_model::units::significant;
use std::fs;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::PathBuf;

/// Options that change the bytes on the network per request, or their time.
const OPTIONS: [&str; 27] = [
    "proto",
    "trans",
    "vers",
    "nconnect",
    "rsize",
    "wsize",
    "rasize",
    "msize",
    "cache",
    "nocache",
    "sync",
    "async",
    "lookupcache",
    "local_lock",
    "fsc",
    "actimeo",
    "noac",
    "sec",
    "multichannel",
    "max_channels",
    "compress",
    "rdma",
    "direct_io",
    "strictcache",
    // Names of 9p's caches before Linux 6.4.
    "mmap",
    "loose",
    "fscache",
];

/// The flag of a route that rejects packets (RTF_REJECT).
const REJECTS: u32 = 0x200;

/// The network of a file system; none if it is local.
pub(super) fn of(root: &Root, mount: &Mount) -> Option<Network> {
    if !super::filesystem::is_network(&mount.kind) {
        return None;
    }
    let options: Vec<&str> = mount.options.split(',').collect();
    let value = |key: &str| options.iter().find_map(|option| option.strip_prefix(key)?.strip_prefix('='));
    let (server, share) = server_and_share(&mount.source);
    let [server_name, share] = [server, share].map(|name| name.map(str::to_owned));
    let mut network = Network { server: server_name, share, ..Network::default() };
    for option in &options {
        let name = option.split_once('=').map_or(*option, |(name, _)| name);
        if OPTIONS.contains(&name) && !network.options.iter().any(|other| other == option) {
            network.options.push((*option).to_owned());
        }
    }
    if mount.kind == "9p" && value("trans").is_none_or(|by| by == "virtio") {
        match channel(root, &mount.source) {
            Some(directory) => network.links = links::of(&directory),
            None => network.unknown = Some("the link of a 9p file system is not reported".to_owned()),
        }
        return Some(network);
    }
    match value("addr").or_else(|| value("mon_addr")).or(server).and_then(address) {
        Some(address) => lead_to(&mut network, root, address),
        None => network.unknown = Some("the mount does not give the server's address".to_owned()),
    }
    Some(network)
}

/// The network to a server that is no mount's, at an address with a port, or at the path of a local socket.
pub(crate) fn to_server(root: &Root, server: &str) -> Network {
    let mut network = Network::default();
    match address(server) {
        Some(address) => lead_to(&mut network, root, address),
        None => network.links = links_of(root, "lo"),
    }
    network
}

/// Finds the interface to an address and its links.
fn lead_to(network: &mut Network, root: &Root, address: IpAddr) {
    match interface(root, address) {
        Some(name) => {
            network.links = links_of(root, &name);
            network.interface = Some(name);
        }
        None => network.unknown = Some("no route to the server is reported".to_owned()),
    }
}

/// `server:/export`, `//server/share`, `user@server:/directory`, `[fe80::1]:/export`.
fn server_and_share(source: &str) -> (Option<&str>, Option<&str>) {
    let parts = match source.strip_prefix("//") {
        Some(rest) => rest.split_once('/'),
        None => source.find(":/").map(|colon| (&source[..colon], &source[colon + 1..])),
    };
    let Some((server, share)) = parts else { return (None, Some(source)) };
    let server = server.rsplit_once('@').map_or(server, |(before, after)| match after {
        // The server of Lustre comes first, then its network.
        "tcp" | "o2ib" => before,
        _ => after,
    });
    (Some(server).filter(|server| !server.is_empty()), Some(share))
}

/// An address, with a port or without; the first of several.
fn address(text: &str) -> Option<IpAddr> {
    let first = text.split([';', '/']).next()?;
    let bare = |text: &str| text.split('%').next()?.trim_matches(['[', ']']).parse().ok();
    bare(first).or_else(|| bare(first.rsplit_once(':')?.0))
}

/// The virtio device whose tag is mounted.
fn channel(root: &Root, tag: &str) -> Option<PathBuf> {
    let devices = entries(&root.path("/sys/bus/virtio/drivers/9pnet_virtio"));
    // The tag ends with a zero on some kernels.
    let is_it = |directory: &&PathBuf| {
        text(directory.join("mount_tag")).is_some_and(|found| found.trim_end_matches('\0') == tag)
    };
    fs::canonicalize(devices.iter().find(is_it)?).ok()
}

/// The interface to an address: by the longest route, and among those by the lowest metric.
fn interface(root: &Root, address: IpAddr) -> Option<String> {
    let read = |name: &str| text(root.path(format!("/proc/self/net/{name}"))).unwrap_or_default();
    let routes: Vec<Route> = match address {
        IpAddr::V4(address) if address.is_loopback() || is_own(&read("fib_trie"), address) => {
            return Some("lo".to_owned());
        }
        IpAddr::V4(address) => read("route").lines().filter_map(|line| route_v4(line, address)).collect(),
        IpAddr::V6(address) => read("ipv6_route").lines().filter_map(|line| route_v6(line, address)).collect(),
    };
    let best = routes.into_iter().min_by_key(|route| (std::cmp::Reverse(route.length), route.metric))?;
    (best.flags & REJECTS == 0).then_some(best.interface)
}

/// A route that leads to the address.
struct Route {
    length: u32,
    metric: u32,
    flags: u32,
    interface: String,
}

/// `eth0 000200C0 00000000 0001 0 0 100 00FFFFFF 0 0 0`, addresses as they lie in memory.
fn route_v4(line: &str, address: Ipv4Addr) -> Option<Route> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let hex = |index: usize| u32::from_str_radix(words.get(index)?, 16).ok();
    let (network, mask) = (hex(1)?, hex(7)?);
    (u32::from_ne_bytes(address.octets()) & mask == network).then_some(())?;
    Some(Route {
        length: mask.count_ones(),
        metric: words[6].parse().ok()?,
        flags: hex(3)?,
        interface: words[0].to_owned(),
    })
}

/// `fe80…0 40 0…0 00 0…0 00000100 00000002 00000000 00000001 eth0`
fn route_v6(line: &str, address: Ipv6Addr) -> Option<Route> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let hex = |index: usize| u32::from_str_radix(words.get(index)?, 16).ok();
    let network = u128::from_str_radix(words.first()?, 16).ok()?;
    let length = hex(1).filter(|length| *length <= 128)?;
    let mask = u128::MAX.checked_shl(128 - length).unwrap_or(0);
    (address.to_bits() & mask == network).then_some(())?;
    Some(Route { length, metric: hex(5)?, flags: hex(8)?, interface: (*words.get(9)?).to_owned() })
}

/// Whether the table of all routes has an address as one of this machine's own.
fn is_own(fib_trie: &str, address: Ipv4Addr) -> bool {
    let leaf = format!("|-- {address}");
    let lines: Vec<&str> = fib_trie.lines().map(str::trim).collect();
    lines.windows(2).any(|pair| pair[0] == leaf && pair[1] == "/32 host LOCAL")
}

/// The links to the interface's card, and its own to the network.
fn links_of(root: &Root, interface: &str) -> Vec<Link> {
    let directory = root.path(format!("/sys/class/net/{interface}"));
    let card = fs::canonicalize(&directory).unwrap_or_default();
    let mut found = links::of(&card);
    let link = |source: &str| links::link(interface, LinkKind::Network, None, None, source);
    // That of a veth or a tap is made up (10 Gbit/s); bonds and VLANs have that of their cards.
    let is_virtual = card.to_string_lossy().contains("/devices/virtual/");
    let kind = text(directory.join("uevent")).unwrap_or_default();
    let has_speed = !is_virtual || ["DEVTYPE=bond", "DEVTYPE=vlan"].iter().any(|with| kind.contains(with));
    // It is -1 if unknown, and unreadable if the interface is down.
    let speed = number::<f64>(directory.join("speed")).filter(|megabits| has_speed && *megabits > 0.0);
    found.push(match speed {
        Some(megabits) => Link {
            now: Some(LinkRate { gigabits_per_s: megabits / 1e3, lanes: 1 }),
            pap_bytes_per_s: Some(BytesPerSecond(megabits * 1e6 / 8.0)),
            ..link(&format!("network {} Gbit/s", significant(megabits / 1e3)))
        },
        None if interface == "lo" => link("the server is this machine"),
        None => link("the interface does not report its speed"),
    });
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::device::storage_of;
    use crate::system::levels::{levels, levels_to};
    use crate::system::machine::memory;
    use crate::system::tree::Tree;
    use halfpower_model::LevelName;
    use std::path::Path;

    const ROUTES: &str = "Iface Destination Gateway Flags RefCnt Use Metric Mask MTU Window IRTT\n\
        eth0 00000000 010200C0 0003 0 0 100 00000000 0 0 0\n\
        wlan0 00000000 010200C0 0003 0 0 600 00000000 0 0 0\n\
        eth1 0000000A 00000000 0001 0 0 0 000000FF 0 0 0\n\
        eth1 0001000A 00000000 0201 0 0 0 00FFFFFF 0 0 0\n\
        veth0 0008090A 00000000 0001 0 0 0 00FFFFFF 0 0 0\n\
        bond0 0007090A 00000000 0001 0 0 0 00FFFFFF 0 0 0";

    /// Two cards, the second in a socket that holds it back.
    fn tree(mount: &str) -> Tree {
        let tree = Tree::new();
        tree.mounts(&format!("30 1 0:50 / / rw,relatime - {mount}"));
        tree.files("proc/self/net", &[("route", ROUTES), ("fib_trie", "|-- 10.9.9.9\n   /32 host LOCAL")]);
        let six = "20010db8000000000000000000000000 20 00000000000000000000000000000000 00 \
                   00000000000000000000000000000000 00000100 00000001 00000000 00000001 eth1";
        tree.files("proc/self/net", &[("ipv6_route", six)]);
        tree.files("sys/devices/virtual/net/lo", &[("speed", "-1")]);
        tree.link(Path::new("sys/class/net/lo"), Path::new("sys/devices/virtual/net/lo"));
        for (name, kind, speed) in [("veth0", "INTERFACE=veth0", "10000"), ("bond0", "DEVTYPE=bond", "2000")] {
            let device = format!("sys/devices/virtual/net/{name}");
            tree.files(&device, &[("speed", speed), ("uevent", kind)]);
            tree.link(&Path::new("sys/class/net").join(name), Path::new(&device));
        }
        for (name, bus, speed) in [("eth0", 1, "1000"), ("eth1", 2, "100000")] {
            let port = format!("pci0000:00/0000:00:0{bus}.0");
            tree.pci(&port, ("5.0 GT/s PCIe", "4"), ("8.0 GT/s PCIe", "8"));
            let card = format!("{port}/0000:0{bus}:00.0");
            tree.pci(&card, ("5.0 GT/s PCIe", "4"), ("8.0 GT/s PCIe", "8"));
            tree.files(&format!("sys/devices/{card}/net/{name}"), &[("speed", speed)]);
            tree.link(&Path::new("sys/class/net").join(name), Path::new(&format!("sys/devices/{card}/net/{name}")));
        }
        tree
    }

    fn network(mount: &str) -> Network {
        storage_of(&tree(mount).root(), Path::new("/")).filesystem.unwrap().network.unwrap()
    }

    #[test]
    fn the_card_and_its_socket_are_levels() {
        let tree = tree("nfs4 store:/pool/a rw,vers=4.2,rsize=1048576,proto=tcp,clientaddr=10.0.7.7,addr=10.0.7.8");
        let storage = storage_of(&tree.root(), Path::new("/"));
        let found = storage.filesystem.as_ref().unwrap().network.as_ref().unwrap();
        assert_eq!((found.server.as_deref(), found.share.as_deref()), (Some("store"), Some("/pool/a")));
        assert_eq!(found.options, ["vers=4.2", "rsize=1048576", "proto=tcp"]);
        assert_eq!((found.interface.as_deref(), found.unknown.as_deref()), (Some("eth1"), None));
        let levels = levels(&storage, &memory(&tree.root()));
        let shown = |name: LevelName| {
            let level = levels.iter().find(|level| level.name == name).unwrap();
            (level.pap_bytes_per_s.map(|rate| rate.0), level.source.as_str())
        };
        assert_eq!(shown(LevelName::Link), (Some(12.5e9), "network 100 Gbit/s"));
        assert_eq!(shown(LevelName::Bus), (Some(2e9), "PCIe 5 GT/s × 4, 8b/10b"));
        assert!(levels.iter().all(|level| level.name != LevelName::Device));
    }

    #[test]
    fn the_card_towards_a_server_is_a_level() {
        let tree = tree("ext4 /dev/vda rw");
        let link = |server: &str| {
            let levels = levels_to(&tree.root(), server, &memory(&tree.root()));
            let last = levels.last().unwrap();
            (last.name, last.pap_bytes_per_s.map(|rate| rate.0), last.source.clone())
        };
        for (server, peak, source) in [
            ("10.0.7.8:445", Some(12.5e9), "network 100 Gbit/s"),
            ("[2001:db8::1]:10809", Some(12.5e9), "network 100 Gbit/s"),
            ("192.0.2.77:80", Some(125e6), "network 1 Gbit/s"),
            ("10.9.8.7:80", None, "the interface does not report its speed"),
            ("10.9.7.7:80", Some(250e6), "network 2 Gbit/s"),
            ("127.0.0.1:80", None, "the server is this machine"),
            ("/run/nbd.sock", None, "the server is this machine"),
            ("10.0.1.1:80", None, "no route to the server is reported"),
        ] {
            assert_eq!(link(server), (LevelName::Link, peak, source.to_owned()), "{server}");
        }
    }

    #[test]
    fn the_route_decides_on_the_interface() {
        let by = |mount: &str| network(mount).interface;
        for (mount, interface) in [
            ("nfs server:/a rw,addr=192.0.2.77", "eth0"),
            ("nfs server:/a rw,addr=127.0.0.1", "lo"),
            ("nfs server:/a rw,addr=10.9.9.9", "lo"),
            ("cifs //10.2.3.4/share rw", "eth1"),
            ("cifs //files/share rw,addr=10.2.3.4", "eth1"),
            ("nfs4 [2001:db8::1]:/a rw,addr=2001:db8::1", "eth1"),
            ("ceph user@fs.data=/a rw,mon_addr=10.2.3.4:6789/10.2.3.5:6789", "eth1"),
            ("fuse.sshfs someone@10.2.3.4:/home rw", "eth1"),
        ] {
            assert_eq!(by(mount).as_deref(), Some(interface), "{mount}");
        }
        let why = |mount: &str| network(mount).unknown.unwrap();
        assert!(why("fuse.sshfs someone@files:/home rw").contains("does not give the server's address"));
        // A route that refuses, and none at all.
        assert!(why("nfs server:/a rw,addr=10.0.1.1").contains("no route"));
        assert!(why("nfs server:/a rw,addr=fd00::1").contains("no route"));
    }

    #[test]
    fn sources_are_split_into_server_and_share() {
        for (source, server, share) in [
            ("server:/export/a b", Some("server"), "/export/a b"),
            ("//server/share/below", Some("server"), "share/below"),
            ("[fe80::1%eth0]:/a", Some("[fe80::1%eth0]"), "/a"),
            ("someone@host:/home:/odd", Some("host"), "/home:/odd"),
            ("10.0.0.1@tcp:/lustre", Some("10.0.0.1"), "/lustre"),
            ("tag", None, "tag"),
            (":/", None, "/"),
        ] {
            assert_eq!(server_and_share(source), (server, Some(share)), "{source}");
        }
        assert_eq!(address("[fe80::1%eth0]"), "fe80::1".parse().ok());
        assert_eq!(address("10.0.0.1:6789"), "10.0.0.1".parse().ok());
        assert_eq!((address("host"), address("")), (None, None));
    }

    #[test]
    fn a_shared_folder_of_a_hypervisor_has_its_channel() {
        let tree = tree("9p lab rw,access=client,loose,msize=8192,trans=virtio");
        let device = "sys/devices/pci0000:00/0000:00:05.0/virtio2";
        tree.files(device, &[("mount_tag", "lab")]);
        tree.link(Path::new("sys/bus/virtio/drivers/9pnet_virtio/virtio2"), Path::new(device));
        let found = storage_of(&tree.root(), Path::new("/")).filesystem.unwrap().network.unwrap();
        assert_eq!((found.server, found.share.as_deref(), found.interface), (None, Some("lab"), None));
        assert_eq!(found.options, ["loose", "msize=8192", "trans=virtio"]);
        assert_eq!(found.links.last().map(|link| (link.kind, link.at.as_str())), Some((LinkKind::Virtual, "virtio2")));
        assert!(network("9p other rw,trans=virtio").unknown.is_some());
    }
}
