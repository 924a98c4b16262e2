//! Trees of sysfs and procfs for tests: an NVMe disk behind a switch, SATA, SAS, USB, stacked devices.

use super::Root;
use std::fs;
use std::path::{Path, PathBuf};

/// A root with nothing below it yet.
pub(super) struct Tree(tempfile::TempDir);

impl Tree {
    pub(super) fn new() -> Tree {
        let tree = Tree(tempfile::tempdir().unwrap());
        fs::create_dir_all(tree.0.path().join("sys/dev/block")).unwrap();
        tree
    }

    pub(super) fn root(&self) -> Root {
        Root(self.0.path().to_owned())
    }

    /// A file below the root, with the directories above it.
    pub(super) fn write(&self, path: &Path, text: impl AsRef<[u8]>) {
        let path = self.0.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub(super) fn files(&self, directory: &str, files: &[(&str, &str)]) {
        files.iter().for_each(|(name, text)| self.write(&Path::new(directory).join(name), format!("{text}\n")));
    }

    pub(super) fn mounts(&self, lines: &str) {
        self.write(Path::new("proc/self/mountinfo"), format!("{lines}\n"));
    }

    pub(super) fn link(&self, from: &Path, to: &Path) {
        let from = self.0.path().join(from);
        fs::create_dir_all(from.parent().unwrap()).unwrap();
        std::os::unix::fs::symlink(self.0.path().join(to), from).unwrap();
    }

    /// A block device with a size and this besides; gives its directory, below the root.
    pub(super) fn device(&self, place: &str, number: &str, files: &[(&str, &str)]) -> PathBuf {
        let directory = Path::new("sys").join(place.trim_start_matches('/'));
        let shown = directory.to_str().unwrap();
        self.files(shown, &[("dev", number), ("size", "2000")]);
        self.files(shown, files);
        self.link(&Path::new("sys/dev/block").join(number), &directory);
        directory
    }

    /// Puts one device on others.
    pub(super) fn stack(&self, upper: &Path, lower: &[&Path]) {
        for below in lower {
            self.link(&upper.join("slaves").join(below.file_name().unwrap()), below);
            self.link(&below.join("holders").join(upper.file_name().unwrap()), upper);
        }
    }

    pub(super) fn pci(&self, place: &str, now: (&str, &str), best: (&str, &str)) {
        let files = [
            ("current_link_speed", now.0),
            ("current_link_width", now.1),
            ("max_link_speed", best.0),
            ("max_link_width", best.1),
        ];
        self.files(&format!("sys/devices/{place}"), &files);
    }

    /// A disk on PCIe 4.0 ×4 in a socket of PCIe 5.0, without a switch.
    pub(super) fn nvme(&self, name: &str, number: &str) -> PathBuf {
        let port = "pci0000:40/0000:40:01.1";
        self.pci(port, ("16.0 GT/s PCIe", "4"), ("32.0 GT/s PCIe", "16"));
        let function = format!("{port}/0000:41:00.0");
        self.pci(&function, ("16.0 GT/s PCIe", "4"), ("16.0 GT/s PCIe", "4"));
        self.files(&format!("sys/devices/{function}"), &[("numa_node", "1")]);
        let controller = format!("sys/devices/{function}/nvme/nvme0");
        self.files(
            &controller,
            &[("model", "ACME Fast 1TB          "), ("firmware_rev", "F1R2    "), ("transport", "pcie")],
        );
        let disk = self.device(&format!("devices/{function}/nvme/nvme0/{name}"), number, &[]);
        let queue = [
            ("rotational", "0"),
            ("scheduler", "[none] mq-deadline"),
            ("nr_requests", "1023"),
            ("max_sectors_kb", "1280"),
            ("max_segments", "127"),
            ("write_cache", "write back"),
            ("discard_granularity", "512"),
            ("discard_max_bytes", "2199023255040"),
        ];
        self.files(disk.join("queue").to_str().unwrap(), &queue);
        self.link(&disk.join("device"), Path::new(&controller));
        disk
    }

    /// A disk at 6 Gbit/s on the chipset's own controller.
    pub(super) fn sata(&self, name: &str) -> PathBuf {
        let port = "devices/pci0000:00/0000:00:17.0/ata3";
        self.files(
            &format!("sys/{port}/link3/ata_link/link3"),
            &[("sata_spd", "6.0 Gbps"), ("hw_sata_spd_limit", "6.0 Gbps")],
        );
        self.files("sys/devices/pci0000:00/0000:00:17.0", &[("numa_node", "-1")]);
        self.device(&format!("{port}/host2/target2:0:0/2:0:0:0/block/{name}"), "8:0", &[])
    }

    /// A disk at 12 Gbit/s behind an expander with four lanes to an adapter on PCIe 3.0 ×8, of which four are used.
    pub(super) fn sas(&self, name: &str) -> PathBuf {
        let port = "pci0000:00/0000:00:03.0";
        self.pci(port, ("8.0 GT/s PCIe", "4"), ("8.0 GT/s PCIe", "8"));
        let adapter = format!("{port}/0000:02:00.0");
        self.pci(&adapter, ("8.0 GT/s PCIe", "4"), ("8.0 GT/s PCIe", "8"));
        let host = format!("devices/{adapter}/host0");
        let phy = |place: &str, phy: String| {
            let rates = [("negotiated_linkrate", "12.0 Gbit"), ("maximum_linkrate", "12.0 Gbit")];
            self.files(&format!("sys/{place}/{phy}/sas_phy/{phy}"), &rates);
        };
        (0..4).for_each(|number| phy(&format!("{host}/port-0:0"), format!("phy-0:{number}")));
        let slot = u32::from(*name.as_bytes().last().unwrap() - b'a');
        let end = format!("{host}/port-0:0/expander-0:0/port-0:0:{slot}");
        phy(&end, format!("phy-0:0:{slot}"));
        let disk = format!("{end}/end_device-0:0:{slot}/target0:0:{slot}/0:0:{slot}:0");
        self.files(&format!("sys/{disk}"), &[("model", "SAS DISK"), ("rev", "0003"), ("queue_depth", "254")]);
        let found = self.device(&format!("{disk}/block/{name}"), &format!("8:{}", slot * 16), &[]);
        self.link(&found.join("device"), &Path::new("sys").join(disk));
        found
    }
}
