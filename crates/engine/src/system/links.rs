//! The links between the CPU and a disk, from the disk's place in sysfs: each part of the path that is the lower end of a link is
//! one.
//!
//! The peak of a link is its rate less its coding: PCI Express Base Specification (8b/10b below 8 GT/s, 128b/130b
//! below 64, then flits with 236 of 256 bytes for packets), Serial ATA 3 and SAS-3 (8b/10b), SAS-4 (128b/150b), USB 3.2
//! (8b/10b at 5 Gbit/s, 128b/132b above), USB 2 and parallel ATA (no coding). Packet headers take a further part, so no
//! device reaches the peak.

use super::{entries, is_numbered, name_of, number, text};
use halfpower_model::BytesPerSecond;
use halfpower_model::reading::inspect::{Link, LinkKind, LinkRate};
use halfpower_model::units::significant;
use std::fs;
use std::path::{Path, PathBuf};

/// The links of a disk, the CPU's end first.
pub(super) fn of(disk: &Path) -> Vec<Link> {
    let place = place_of(disk);
    let above: Vec<&Path> = place.ancestors().collect();
    let mut links: Vec<Link> = Vec::new();
    // PCI functions since the last host bridge: a port and the lower end of its link take turns.
    let mut functions: Vec<&Path> = Vec::new();
    for directory in above.into_iter().rev() {
        let name = name_of(directory);
        if is_pci_function(&name) {
            functions.push(directory);
            if functions.len().is_multiple_of(2) {
                links.push(pci(directory, Some(functions[functions.len() - 2])));
            }
            continue;
        }
        // A controller that is part of the root itself, or of a bridge.
        if functions.len() % 2 == 1 {
            links.push(pci(functions[functions.len() - 1], None));
        }
        functions.clear();
        links.extend(other(directory, &name, links.last()));
    }
    links
}

/// The place of the hardware. A disk of several controllers is elsewhere in sysfs; its first working controller counts.
fn place_of(disk: &Path) -> PathBuf {
    let controllers = controllers(disk);
    let is_live = |path: &&PathBuf| text(path.join("state")).is_none_or(|state| state == "live");
    controllers.iter().find(is_live).or(controllers.first()).cloned().unwrap_or_else(|| disk.to_owned())
}

/// The controllers of an NVMe disk whose directory has links to them beside it; empty for any other disk.
pub(super) fn controllers(disk: &Path) -> Vec<PathBuf> {
    let Some(subsystem) = disk.parent().filter(|parent| name_of(parent).starts_with("nvme-subsys")) else {
        return Vec::new();
    };
    let links = entries(subsystem).into_iter().filter(|path| is_numbered(path, "nvme"));
    links.filter_map(|link| fs::canonicalize(link).ok()).collect()
}

/// The link whose lower end a directory is, unless it is PCI's.
fn other(directory: &Path, name: &str, above: Option<&Link>) -> Option<Link> {
    let is = |prefix: &str| {
        name.strip_prefix(prefix).is_some_and(|rest| rest.as_bytes().first().is_some_and(u8::is_ascii_digit))
    };
    let unknown = |kind, why: &str| Some(link(name, kind, None, None, why));
    if is("ata") && directory.join(name.replace("ata", "link")).is_dir() {
        return Some(ata(directory, name));
    }
    if is("port-") {
        return sas(directory, name);
    }
    if is_usb_device(name) {
        return usb(directory, name);
    }
    if is("virtio") {
        return unknown(LinkKind::Virtual, "the hypervisor does not report its bandwidth");
    }
    if is("mmc") && !name.contains(':') && directory.parent().is_some_and(|parent| name_of(parent) == "mmc_host") {
        return unknown(LinkKind::Mmc, "the kernel does not report the card's rate");
    }
    if is("nvme")
        && let Some(transport) = text(directory.join("transport")).filter(|transport| transport != "pcie")
    {
        // `traddr=192.0.2.1,trsvcid=4420,src_addr=192.0.2.2`
        let address = text(directory.join("address")).unwrap_or_default();
        let server = address.split(',').find_map(|part| part.strip_prefix("traddr="));
        let to = server.map(|server| format!(" to {server}")).unwrap_or_default();
        return unknown(LinkKind::Network, &format!("{transport}{to}, which does not report its bandwidth"));
    }
    if is("session") && directory.join("iscsi_session").is_dir() {
        // `connection1:0/iscsi_connection/connection1:0/persistent_address`
        let connections = entries(directory).into_iter().map(|path| path.join("iscsi_connection").join(name_of(&path)));
        let server = connections.into_iter().find_map(|path| text(path.join("persistent_address")));
        let to = server.map(|server| format!(" to {server}")).unwrap_or_default();
        return unknown(LinkKind::Network, &format!("iSCSI{to}, which does not report its bandwidth"));
    }
    let has_own = above.is_some_and(|link| {
        matches!(link.kind, LinkKind::Sata | LinkKind::Ata | LinkKind::Sas | LinkKind::Usb | LinkKind::Network)
    });
    if is("target") && !has_own {
        return unknown(LinkKind::Scsi, "the controller does not report its bandwidth");
    }
    None
}

pub(super) fn link(at: &str, kind: LinkKind, now: Option<LinkRate>, best: Option<LinkRate>, source: &str) -> Link {
    Link { at: at.to_owned(), kind, now, best, pap_bytes_per_s: None, source: source.to_owned() }
}

/// `0000:41:00.0`: domain, bus, device, function.
fn is_pci_function(name: &str) -> bool {
    let is_hex = |text: &&str| text.bytes().all(|byte| byte.is_ascii_hexdigit());
    let parts: Vec<&str> = name.split([':', '.']).collect();
    let lengths: Vec<usize> = parts.iter().map(|part| part.len()).collect();
    matches!(lengths[..], [4..=8, 2, 2, 1]) && parts.iter().all(is_hex) && name.rfind(':') < name.find('.')
}

/// `2-1`, `2-1.4`: a device on a USB bus, behind hubs.
fn is_usb_device(name: &str) -> bool {
    let ports =
        name.split_once('-').filter(|(bus, _)| !bus.is_empty() && bus.bytes().all(|byte| byte.is_ascii_digit()));
    ports.is_some_and(|(_, ports)| {
        ports.split('.').all(|port| !port.is_empty() && port.bytes().all(|b| b.is_ascii_digit()))
    })
}

/// A link of PCI Express from its lower end and the port above it.
fn pci(lower: &Path, port: Option<&Path>) -> Link {
    let rate = |directory: &Path, of: &str| {
        let gigabits_per_s = first_number(&text(directory.join(format!("{of}_link_speed")))?)?;
        // 0 and 255 mean that there is no link.
        let lanes =
            number::<u32>(directory.join(format!("{of}_link_width"))).filter(|lanes| (1..=32).contains(lanes))?;
        Some(LinkRate { gigabits_per_s, lanes })
    };
    let both = |of: &str| {
        let ends = [rate(lower, of), port.and_then(|port| rate(port, of))].into_iter().flatten();
        ends.reduce(|a, b| LinkRate {
            gigabits_per_s: a.gigabits_per_s.min(b.gigabits_per_s),
            lanes: a.lanes.min(b.lanes),
        })
    };
    let (now, best) = (both("current"), both("max"));
    let name = name_of(lower);
    match now.or(best) {
        Some(rate) => {
            let (share, coding) = pci_coding(rate.gigabits_per_s);
            let what = format!("PCIe {} GT/s", significant(rate.gigabits_per_s));
            coded(link(&name, LinkKind::Pci, now, best, ""), rate, share, &what, coding)
        }
        None => {
            let part = if port.is_none() { "part of the host's PCI root, which" } else { "PCI that" };
            link(&name, LinkKind::Pci, None, None, &format!("{part} does not report its bandwidth"))
        }
    }
}

/// The share of the bits that carry packets, and what the coding is called.
fn pci_coding(gigabits_per_s: f64) -> (f64, &'static str) {
    match gigabits_per_s {
        rate if rate < 7.0 => (0.8, "8b/10b"),
        rate if rate < 60.0 => (128.0 / 130.0, "128b/130b"),
        _ => (236.0 / 256.0, "flits of 236 in 256 bytes"),
    }
}

/// A link with its peak: the rate of all lanes less the coding.
fn coded(link: Link, rate: LinkRate, share: f64, what: &str, coding: &str) -> Link {
    let peak = rate.gigabits_per_s * 1e9 / 8.0 * share * f64::from(rate.lanes);
    let lanes =
        if rate.lanes == 1 && link.kind != LinkKind::Pci { String::new() } else { format!(" × {}", rate.lanes) };
    let coding = if coding.is_empty() { String::new() } else { format!(", {coding}") };
    Link { pap_bytes_per_s: Some(BytesPerSecond(peak.round())), source: format!("{what}{lanes}{coding}"), ..link }
}

/// `6.0 Gbps`, `16.0 GT/s PCIe`: the number at the front.
fn first_number(text: &str) -> Option<f64> {
    text.split_whitespace().next()?.parse().ok().filter(|number: &f64| number.is_finite() && *number > 0.0)
}

/// A port of Serial ATA, or of parallel ATA, where the disk reports its mode.
fn ata(directory: &Path, name: &str) -> Link {
    let number = name.trim_start_matches("ata");
    let port = directory.join(format!("link{number}"));
    let of = |file: &str| {
        let gigabits_per_s = first_number(&text(port.join(format!("ata_link/link{number}/{file}")))?)?;
        Some(LinkRate { gigabits_per_s, lanes: 1 })
    };
    if let Some(now) = of("sata_spd") {
        let what = format!("SATA {} Gbit/s", significant(now.gigabits_per_s));
        return coded(link(name, LinkKind::Sata, Some(now), of("hw_sata_spd_limit"), ""), now, 0.8, &what, "8b/10b");
    }
    let modes = entries(&port).into_iter().filter_map(|device| {
        let device_name = name_of(&device);
        text(device.join("ata_device").join(device_name).join("xfer_mode"))
    });
    // Two disks may share the cable: the faster mode is the cable's.
    let best = modes.filter_map(|mode| Some((mode_rate(&mode)?, mode))).max_by(|a, b| a.0.total_cmp(&b.0));
    match best {
        Some((megabytes, mode)) => Link {
            pap_bytes_per_s: Some(BytesPerSecond(megabytes * 1e6)),
            source: format!("ATA in mode {}", mode.trim_start_matches("XFER_")),
            ..link(name, LinkKind::Ata, None, None, "")
        },
        None => link(name, LinkKind::Sata, None, None, "the port does not report its rate"),
    }
}

/// MB/s of a mode (ATA/ATAPI-7, CompactFlash 2.1 for the last of the slow ones).
fn mode_rate(mode: &str) -> Option<f64> {
    const ULTRA: [f64; 8] = [16.7, 25.0, 33.3, 44.4, 66.7, 100.0, 133.0, 167.0];
    const MULTIWORD: [f64; 5] = [4.2, 13.3, 16.7, 20.0, 25.0];
    const PROGRAMMED: [f64; 7] = [3.3, 5.2, 8.3, 11.1, 16.7, 20.0, 25.0];
    let (kind, number) = mode.strip_prefix("XFER_")?.rsplit_once('_')?;
    let rates: &[f64] = match kind {
        "UDMA" => &ULTRA,
        "MW_DMA" => &MULTIWORD,
        "PIO" => &PROGRAMMED,
        _ => return None,
    };
    rates.get(number.parse::<usize>().ok()?).copied()
}

/// A port of SAS: all its lanes together, at the rate of the slowest.
fn sas(directory: &Path, name: &str) -> Option<Link> {
    let phys: Vec<PathBuf> = entries(directory).into_iter().filter(|path| name_of(path).starts_with("phy-")).collect();
    let lanes = phys.len() as u32;
    let of = |file: &str| {
        let rates =
            phys.iter().filter_map(|phy| first_number(&text(phy.join("sas_phy").join(name_of(phy)).join(file))?));
        let slowest = rates.min_by(f64::total_cmp)?;
        Some(LinkRate { gigabits_per_s: slowest, lanes })
    };
    let empty = link(name, LinkKind::Sas, of("negotiated_linkrate"), of("maximum_linkrate"), "");
    let Some(now) = empty.now else {
        return Some(Link { source: "the port does not report its rate".to_owned(), ..empty });
    };
    let (share, coding) = if now.gigabits_per_s > 20.0 { (128.0 / 150.0, "128b/150b") } else { (0.8, "8b/10b") };
    Some(coded(empty, now, share, &format!("SAS {} Gbit/s", significant(now.gigabits_per_s)), coding))
}

/// A device on USB; its maximum rate is unknown.
fn usb(directory: &Path, name: &str) -> Option<Link> {
    let megabits = first_number(&text(directory.join("speed"))?)?;
    // 20 Gbit/s are two lanes of 10.
    let lanes = if megabits > 10_000.0 { 2 } else { 1 };
    let now = LinkRate { gigabits_per_s: megabits / 1e3 / f64::from(lanes), lanes };
    let (share, coding) = match megabits {
        rate if rate < 5_000.0 => (1.0, ""),
        rate if rate < 10_000.0 => (0.8, "8b/10b"),
        _ => (128.0 / 132.0, "128b/132b"),
    };
    let what = match now.gigabits_per_s {
        rate if rate < 1.0 => format!("USB {} Mbit/s", significant(rate * 1e3)),
        rate => format!("USB {} Gbit/s", significant(rate)),
    };
    Some(coded(link(name, LinkKind::Usb, Some(now), None, ""), now, share, &what, coding))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::tree::Tree;

    /// Place, peak in MB/s and source of every link of a disk of the tree.
    fn links(tree: &Tree, disk: &Path) -> Vec<(String, Option<f64>, String)> {
        let shown = |link: Link| (link.at, link.pap_bytes_per_s.map(|rate| (rate.0 / 1e6).round()), link.source);
        of(&fs::canonicalize(tree.root().path(disk)).unwrap()).into_iter().map(shown).collect()
    }

    fn shown(at: &str, megabytes: f64, source: &str) -> (String, Option<f64>, String) {
        (at.to_owned(), Some(megabytes), source.to_owned())
    }

    #[test]
    fn an_nvme_disk_has_the_link_of_its_socket() {
        let tree = Tree::new();
        let disk = tree.nvme("nvme0n1", "259:0");
        assert_eq!(links(&tree, &disk), [shown("0000:41:00.0", 7877.0, "PCIe 16 GT/s × 4, 128b/130b")]);
        let link = of(&fs::canonicalize(tree.root().path(&disk)).unwrap()).remove(0);
        // The socket would do more, the disk would not.
        assert_eq!((link.best, link.is_below_its_best()), (link.now, false));
    }

    #[test]
    fn an_nvme_disk_of_several_controllers_has_the_links_of_one_that_works() {
        let tree = Tree::new();
        tree.nvme("nvme0c0n1", "259:7");
        let subsystem = "devices/virtual/nvme-subsystem/nvme-subsys0";
        let disk = tree.device(&format!("{subsystem}/nvme0n1"), "259:0", &[]);
        let controller = "sys/devices/pci0000:40/0000:40:01.1/0000:41:00.0/nvme/nvme0";
        tree.link(&Path::new("sys").join(subsystem).join("nvme0"), Path::new(controller));
        assert_eq!(links(&tree, &disk), [shown("0000:41:00.0", 7877.0, "PCIe 16 GT/s × 4, 128b/130b")]);
        // Of two that lead there, the one that works.
        tree.files(controller, &[("state", "connecting")]);
        let other = "sys/devices/pci0000:80/0000:80:01.1/0000:81:00.0";
        tree.pci("pci0000:80/0000:80:01.1", ("8.0 GT/s PCIe", "2"), ("8.0 GT/s PCIe", "2"));
        tree.pci("pci0000:80/0000:80:01.1/0000:81:00.0", ("8.0 GT/s PCIe", "2"), ("8.0 GT/s PCIe", "2"));
        tree.files(&format!("{other}/nvme/nvme1"), &[("state", "live")]);
        tree.link(&Path::new("sys").join(subsystem).join("nvme1"), Path::new(&format!("{other}/nvme/nvme1")));
        assert_eq!(links(&tree, &disk), [shown("0000:81:00.0", 1969.0, "PCIe 8 GT/s × 2, 128b/130b")]);
        tree.files(&format!("{other}/nvme/nvme1"), &[("state", "dead")]);
        assert_eq!(links(&tree, &disk)[0].0, "0000:41:00.0");
    }

    #[test]
    fn a_switch_adds_a_link() {
        let tree = Tree::new();
        let ends = ["0000:00:01.0", "0000:01:00.0", "0000:02:04.0", "0000:03:00.0"];
        for depth in 1..=4 {
            let rate = if depth <= 2 { ("8.0 GT/s PCIe", "8") } else { ("5.0 GT/s PCIe", "2") };
            tree.pci(&format!("pci0000:00/{}", ends[..depth].join("/")), rate, ("16.0 GT/s PCIe", "8"));
        }
        let disk = tree.device(&format!("devices/pci0000:00/{}/nvme/nvme3/nvme3n1", ends.join("/")), "259:3", &[]);
        let wanted = [
            shown("0000:01:00.0", 7877.0, "PCIe 8 GT/s × 8, 128b/130b"),
            shown("0000:03:00.0", 1000.0, "PCIe 5 GT/s × 2, 8b/10b"),
        ];
        assert_eq!(links(&tree, &disk), wanted);
        let lower = of(&fs::canonicalize(tree.root().path(&disk)).unwrap()).remove(1);
        assert!(lower.is_below_its_best() && lower.best == Some(LinkRate { gigabits_per_s: 16.0, lanes: 8 }));
    }

    #[test]
    fn a_sata_disk_has_its_port_and_a_controller_of_unknown_rate() {
        let tree = Tree::new();
        let found = links(&tree, &tree.sata("sda"));
        assert_eq!(found[1], shown("ata3", 600.0, "SATA 6 Gbit/s, 8b/10b"));
        assert_eq!((found.len(), found[0].0.as_str(), found[0].1), (2, "0000:00:17.0", None));
        assert!(found[0].2.contains("root"), "{found:?}");
    }

    #[test]
    fn a_parallel_ata_disk_has_the_rate_of_its_mode() {
        let tree = Tree::new();
        let port = "devices/pci0000:00/0000:00:01.1/ata1";
        tree.files(&format!("sys/{port}/link1/ata_link/link1"), &[("sata_spd", "<unknown>")]);
        tree.files(&format!("sys/{port}/link1/dev1.0/ata_device/dev1.0"), &[("xfer_mode", "XFER_UDMA_5")]);
        tree.files(&format!("sys/{port}/link1/dev1.1/ata_device/dev1.1"), &[("xfer_mode", "XFER_PIO_SLOW")]);
        let disk = tree.device(&format!("{port}/host0/target0:0:0/0:0:0:0/block/sda"), "8:0", &[]);
        assert_eq!(links(&tree, &disk)[1..], [shown("ata1", 100.0, "ATA in mode UDMA_5")]);
        for (mode, rate) in [("MW_DMA_2", Some(16.7)), ("PIO_4", Some(16.7)), ("PIO_SLOW", None), ("UDMA_9", None)] {
            assert_eq!(mode_rate(&format!("XFER_{mode}")), rate, "{mode}");
        }
    }

    #[test]
    fn a_sas_disk_has_its_lane_the_expander_s_lanes_and_the_adapter_s() {
        let tree = Tree::new();
        let wanted = [
            shown("0000:02:00.0", 3938.0, "PCIe 8 GT/s × 4, 128b/130b"),
            shown("port-0:0", 4800.0, "SAS 12 Gbit/s × 4, 8b/10b"),
            shown("port-0:0:1", 1200.0, "SAS 12 Gbit/s, 8b/10b"),
        ];
        assert_eq!(links(&tree, &tree.sas("sdb")), wanted);
    }

    #[test]
    fn a_usb_disk_has_the_links_of_its_hubs() {
        let tree = Tree::new();
        let hub = "devices/pci0000:00/0000:00:14.0/usb2/2-1";
        tree.files(&format!("sys/{hub}"), &[("speed", "5000")]);
        tree.files("sys/devices/pci0000:00/0000:00:14.0/usb2", &[("speed", "20000")]);
        tree.files(&format!("sys/{hub}/2-1.4"), &[("speed", "480")]);
        let disk = format!("{hub}/2-1.4/2-1.4:1.0/host6/target6:0:0/6:0:0:0/block/sdc");
        let disk = tree.device(&disk, "8:32", &[]);
        let wanted = [shown("2-1", 500.0, "USB 5 Gbit/s, 8b/10b"), shown("2-1.4", 60.0, "USB 480 Mbit/s")];
        assert_eq!(links(&tree, &disk)[1..], wanted);
    }

    #[test]
    fn virtual_devices_have_no_rate() {
        let tree = Tree::new();
        let virtio = "devices/pci0000:00/0000:00:02.0/virtio1";
        let disk = tree.device(&format!("{virtio}/block/vda"), "254:0", &[]);
        let places = |disk: &Path| links(&tree, disk).into_iter().map(|(at, peak, _)| (at, peak)).collect::<Vec<_>>();
        assert_eq!(places(&disk), [("0000:00:02.0".to_owned(), None), ("virtio1".to_owned(), None)]);
        let disk = tree.device(&format!("{virtio}/host0/target0:0:1/0:0:1:0/block/sda"), "8:0", &[]);
        assert_eq!(places(&disk)[1..], [("virtio1".to_owned(), None), ("target0:0:1".to_owned(), None)]);
        // An adapter that hides its disks, with a link of unknown rate.
        tree.pci("pci0000:00/0000:00:04.0", ("Unknown", "0"), ("Unknown", "255"));
        let disk = tree.device("devices/pci0000:00/0000:00:04.0/host1/target1:2:0/1:2:0:0/block/sdb", "8:16", &[]);
        assert_eq!(places(&disk), [("0000:00:04.0".to_owned(), None), ("target1:2:0".to_owned(), None)]);
    }

    #[test]
    fn an_iscsi_disk_is_on_the_network() {
        let tree = Tree::new();
        let session = "devices/platform/host3/session1";
        tree.files(&format!("sys/{session}/iscsi_session/session1"), &[("targetname", "iqn.2026-01.test:lab")]);
        let connection = format!("sys/{session}/connection1:0/iscsi_connection/connection1:0");
        tree.files(&connection, &[("persistent_address", "192.0.2.1"), ("persistent_port", "3260")]);
        let disk = tree.device(&format!("{session}/target3:0:0/3:0:0:0/block/sdb"), "8:16", &[]);
        let source = "iSCSI to 192.0.2.1, which does not report its bandwidth";
        assert_eq!(links(&tree, &disk), [("session1".to_owned(), None, source.to_owned())]);
    }

    #[test]
    fn codings_are_as_the_specifications_have_them() {
        for (gigabits, lanes, megabytes) in
            [(2.5, 1, 250.0), (8.0, 16, 15_754.0), (32.0, 4, 15_754.0), (64.0, 4, 29_500.0)]
        {
            let rate = LinkRate { gigabits_per_s: gigabits, lanes };
            let (share, coding) = pci_coding(gigabits);
            let peak = coded(link("", LinkKind::Pci, None, None, ""), rate, share, "", coding).pap_bytes_per_s.unwrap();
            assert!((peak.0 / 1e6 - megabytes).abs() < 1.0, "{peak}");
        }
        assert!(is_pci_function("10000:e1:00.0") && is_pci_function("0000:00:1f.2"));
        for name in ["pci0000:00", "0000:00", "0:0:0:0", "nvme0n1", "2-1:1.0", "0000:00:1g.2"] {
            assert!(!is_pci_function(name), "{name}");
        }
    }
}
