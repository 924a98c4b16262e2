//! Block devices: read without asking, written only when they are named and nobody uses them.

use crate::support::{BOTH, Lab, Mounted, hash, is_root, skip, tool, wait_for};
use std::path::{Path, PathBuf};
use std::process::Command;

/// A loop device on a file, detached in the end.
pub(crate) struct Loop {
    pub(crate) device: PathBuf,
}

impl Loop {
    /// None where there is none to be had, which is said.
    pub(crate) fn on(file: &Path) -> Option<Loop> {
        if !is_root() {
            return None;
        }
        let attached = Command::new("losetup").args(["--find", "--show", "--partscan"]).arg(file).output();
        let Some(output) = attached.ok().filter(|output| output.status.success()) else {
            skip("no loop device is to be had");
            return None;
        };
        Some(Loop { device: PathBuf::from(String::from_utf8(output.stdout).unwrap().trim()) })
    }

    pub(crate) fn name(&self) -> &str {
        self.device.to_str().unwrap()
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        tool("partx", &["--delete".as_ref(), self.device.as_os_str()]);
        tool("losetup", &["--detach".as_ref(), self.device.as_os_str()]);
    }
}

/// A zram0 in use until dropped.
struct Zram;

impl Drop for Zram {
    fn drop(&mut self) {
        // Somebody may be looking at the new disk just now.
        wait_for("zram0 to be free", || std::fs::write("/sys/block/zram0/reset", "1").is_ok());
    }
}

/// A zram device of its own, taken away when dropped.
pub(crate) struct NewZram {
    pub(crate) number: String,
}

impl NewZram {
    /// None where the kernel makes none.
    pub(crate) fn of(size: &str) -> Option<NewZram> {
        let number = std::fs::read_to_string("/sys/class/zram-control/hot_add").ok()?.trim().to_owned();
        let zram = NewZram { number };
        std::fs::write(format!("/sys/block/zram{}/disksize", zram.number), size).ok()?;
        Some(zram)
    }
}

impl Drop for NewZram {
    fn drop(&mut self) {
        let remove = || std::fs::write("/sys/class/zram-control/hot_remove", &self.number).is_ok();
        wait_for("a zram to be removed", remove);
    }
}

#[test]
fn a_device_is_read_and_written_only_when_named() {
    let lab = Lab::new();
    lab.write("both.toml", BOTH.as_bytes());
    let image = lab.data_file("image", 4096);
    let Some(device) = Loop::on(&image) else { return };
    let before = hash(&device.device);
    let study = ["study", "run", "both.toml", "--no-report", "--target", device.name()];
    let read = lab.run(study);
    assert_eq!(read.status, Some(0), "{}", read.stderr);
    assert!(read.stderr.contains("It writes nothing"), "{}", read.stderr);
    let sample = lab.json(["io", device.name(), "--requests=50", "--json"]);
    assert_eq!(sample["environment"]["target"]["kind"], "block_device");
    assert_eq!(sample["environment"]["target"]["transport"], "loop");
    lab.refuses(["io", device.name(), "--op=write", "--requests=9"], 2, "--overwrite");
    lab.refuses(["io", device.name(), "--op=write", "--overwrite=/dev/other"], 2, "--overwrite names /dev/other");
    assert_eq!(hash(&device.device), before, "reading changed it");
    let written = lab.run([&study[..], &[&format!("--overwrite={}", device.name())]].concat());
    assert_eq!(written.status, Some(0), "{}", written.stderr);
    assert_ne!(hash(&device.device), before, "it was not written");
}

#[test]
fn a_device_in_use_is_never_written() {
    let lab = Lab::new();
    let image = lab.write("image", &[]);
    std::fs::File::options().write(true).open(&image).unwrap().set_len(16 << 20).unwrap();
    if !tool("mkfs.ext4", &["-q".as_ref(), "-F".as_ref(), image.as_os_str()]) {
        return skip("there is no mkfs.ext4");
    }
    let Some(device) = Loop::on(&image) else { return };
    let point = lab.path("mounted");
    std::fs::create_dir(&point).unwrap();
    // Read-only, so that the file system itself changes nothing meanwhile.
    if !tool("mount", &["-o".as_ref(), "ro".as_ref(), device.device.as_os_str(), point.as_os_str()]) {
        return skip("nothing can be mounted here");
    }
    let mounted = Mounted(point);
    for command in ["io", "run"] {
        let arguments: &[&str] = if command == "io" { &["--op=write", "--overwrite"] } else { &["--overwrite"] };
        lab.refuses([&[command, device.name()], arguments].concat(), 1, "is mounted on");
    }
    let read = lab.run(["io", device.name(), "--size=64KiB", "--requests=9"]);
    assert_eq!(read.status, Some(0), "reading is no harm: {}", read.stderr);
    // The same bytes by other names: the file below, and another device on it.
    lab.refuses(["io", image.to_str().unwrap(), "--op=write", "--overwrite"], 1, "is mounted on");
    if let Some(other) = Loop::on(&image) {
        lab.refuses(["io", other.name(), "--op=write", "--overwrite"], 1, "is mounted on");
    }
    lab.refuses(["runs", "--store", device.name()], 1, "is not a store of Halfpower");
    drop(mounted);
    // Below a loop device on a loop device.
    let Some(upper) = Loop::on(&device.device) else { return };
    let point = lab.path("mounted");
    if !tool("mount", &["-o".as_ref(), "ro".as_ref(), upper.device.as_os_str(), point.as_os_str()]) {
        return skip("nothing can be mounted here");
    }
    let _mounted = Mounted(point);
    for below in [image.to_str().unwrap(), device.name(), upper.name()] {
        lab.refuses(["io", below, "--op=write", "--overwrite"], 1, "is mounted on");
    }
    let record = std::fs::read(&device.device).unwrap();
    assert!(!record.starts_with(b"SQLite"), "a device is never made a store");
}

#[test]
fn several_devices_are_guarded_each() {
    let lab = Lab::new();
    let images = ["image-a", "image-b"].map(|name| lab.data_file(name, 4096));
    let (Some(one), Some(other)) = (Loop::on(&images[0]), Loop::on(&images[1])) else { return };
    let both = ["io", one.name(), other.name(), "--requests=64", "--json"];
    let sample = lab.json(both);
    assert_eq!((&sample["workload"]["targets"], &sample["total"]["requests"]), (&2.into(), &64.into()));
    if sample["block"].is_object() {
        assert!(sample["block"]["bytes"].as_u64() >= sample["total"]["bytes"].as_u64(), "{}", sample["block"]);
    }
    lab.refuses(["io", one.name(), one.name()], 2, "are one device");
    lab.refuses(["io", one.name(), images[0].to_str().unwrap()], 2, "a loop device and the file it lies on");
    let before = images.each_ref().map(|image| hash(image));
    let write = ["io", one.name(), other.name(), "--op=write", "--requests=9"];
    let named = format!("--overwrite={}", one.name());
    lab.refuses([&write[..], &[&named]].concat(), 2, &format!("{} exists", other.name()));
    lab.refuses([&write[..], &["--overwrite", "--file-state=append"]].concat(), 2, "a device has no length");
    lab.refuses([&write[..], &["--overwrite", "--file-state=truncated"]].concat(), 2, "a device has no length");
    assert_eq!(images.each_ref().map(|image| hash(image)), before, "nothing was written");
    let written = lab.run([&write[..], &["--overwrite"]].concat());
    assert_eq!(written.status, Some(0), "{}", written.stderr);
}

#[test]
fn one_device_in_use_saves_the_others() {
    let lab = Lab::new();
    let image = lab.write("image", &[]);
    std::fs::File::options().write(true).open(&image).unwrap().set_len(16 << 20).unwrap();
    if !tool("mkfs.ext4", &["-q".as_ref(), "-F".as_ref(), image.as_os_str()]) {
        return skip("there is no mkfs.ext4");
    }
    let free = lab.data_file("free", 4096);
    let (Some(used), Some(other)) = (Loop::on(&image), Loop::on(&free)) else { return };
    let point = lab.path("mounted");
    std::fs::create_dir(&point).unwrap();
    if !tool("mount", &["-o".as_ref(), "ro".as_ref(), used.device.as_os_str(), point.as_os_str()]) {
        return skip("nothing can be mounted here");
    }
    let _mounted = Mounted(point);
    let before = hash(&free);
    for targets in [[other.name(), used.name()], [used.name(), other.name()]] {
        lab.refuses([&["io"], &targets[..], &["--op=write", "--overwrite"]].concat(), 1, "is mounted on");
    }
    assert_eq!(hash(&free), before, "the one that is free was written");
}

#[test]
fn a_file_system_that_cannot_reserve_blocks_says_so() {
    let lab = Lab::new();
    let image = lab.write("image", &[]);
    std::fs::File::options().write(true).open(&image).unwrap().set_len(16 << 20).unwrap();
    if !is_root() || !tool("mkfs.ext2", &["-q".as_ref(), "-F".as_ref(), image.as_os_str()]) {
        return skip("there is no mkfs.ext2");
    }
    let point = lab.path("mounted");
    std::fs::create_dir(&point).unwrap();
    if !tool("mount", &["-o".as_ref(), "loop".as_ref(), image.as_os_str(), point.as_os_str()]) {
        return skip("ext2 cannot be mounted here");
    }
    let _mounted = Mounted(point);
    let io = ["io", "mounted", "--size=1MiB", "--op=write", "--file-state"];
    let outcome = lab.run([&io[..], &["preallocated"]].concat());
    assert_eq!(outcome.status, Some(1), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("cannot reserve blocks"), "{}", outcome.stderr);
    let sparse = lab.run([&io[..], &["sparse"]].concat());
    assert_eq!(sparse.status, Some(0), "the remedy works: {}", sparse.stderr);
}

#[test]
fn a_file_system_can_be_unmounted_right_after_a_run() {
    let lab = Lab::new();
    if !lab.has_direct_ring() {
        return;
    }
    for _ in 0..3 {
        let point = lab.path("mounted");
        let Some(_mounted) = Mounted::tmpfs(point.clone(), "size=32m") else { return };
        let run = lab.run(["io", "mounted", "--size=4MiB", "--personality=io_uring", "--depth=8", "--requests=50"]);
        assert_eq!(run.status, Some(0), "{}", run.stderr);
        assert!(tool("umount", &[point.as_os_str()]), "something still holds a file there");
    }
}

/// A master boot record with one partition from 1 MiB on, of 15 MiB.
pub(crate) fn partition_table() -> [u8; 512] {
    let mut record = [0; 512];
    record[446 + 4] = 0x83;
    record[446 + 8..446 + 12].copy_from_slice(&2048_u32.to_le_bytes());
    record[446 + 12..446 + 16].copy_from_slice(&(15 * 2048_u32).to_le_bytes());
    record[510..].copy_from_slice(&[0x55, 0xaa]);
    record
}

#[test]
fn a_partitioned_device_of_which_a_part_is_mounted_is_never_written() {
    let lab = Lab::new();
    let image = lab.write("image", &partition_table());
    std::fs::File::options().write(true).open(&image).unwrap().set_len(16 << 20).unwrap();
    let Some(device) = Loop::on(&image) else { return };
    // Where the kernel reads no partition tables, it can still be told of partitions.
    tool("partx", &["--add".as_ref(), device.device.as_os_str()]);
    let part = PathBuf::from(format!("{}p1", device.name()));
    let point = lab.path("mounted");
    std::fs::create_dir(&point).unwrap();
    let made = tool("mkfs.ext4", &["-q".as_ref(), "-F".as_ref(), part.as_os_str()]);
    if !made || !tool("mount", &["-o".as_ref(), "ro".as_ref(), part.as_os_str(), point.as_os_str()]) {
        return skip("loop devices have no partitions here");
    }
    let _mounted = Mounted(point);
    for target in [device.name(), part.to_str().unwrap()] {
        lab.refuses(["io", target, "--op=write", "--overwrite"], 1, "is mounted on");
    }
    lab.refuses(["io", device.name(), part.to_str().unwrap()], 2, "a disk and a part of it");
}

#[test]
fn the_disk_of_the_root_file_system_is_never_written() {
    if !is_root() {
        return;
    }
    let output = Command::new("findmnt").args(["-n", "-o", "SOURCE", "/"]).output();
    let source = output.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned()).unwrap_or_default();
    if !source.starts_with("/dev/") || !Path::new(&source).exists() {
        return skip("the root file system is not on a device that is seen here");
    }
    let lab = Lab::new();
    let named = format!("--overwrite={source}");
    lab.refuses(["io", &source, "--op=write", &named], 1, "is not written");
    lab.refuses(["run", &source, &named], 1, "is not written");
}

#[test]
fn memory_that_looks_like_a_disk_is_told_from_one() {
    if !is_root() {
        return;
    }
    let size = Path::new("/sys/block/zram0/disksize");
    if std::fs::read_to_string(size).ok().is_none_or(|text| text.trim() != "0") {
        return skip("there is no unused zram0");
    }
    let lab = Lab::new();
    lab.refuses(["io", "/dev/zram0"], 2, "holds nothing yet");
    if std::fs::write(size, "8M").is_err() {
        return skip("zram0 cannot be set up");
    }
    let _reset = Zram;
    let written = lab.run(["io", "/dev/zram0", "--op=write", "--bytes=8MiB", "--request-size=64KiB", "--overwrite"]);
    assert_eq!(written.status, Some(0), "{}", written.stderr);
    assert!(written.stderr.contains("/dev/zram0 is memory, not storage"), "{}", written.stderr);
}

#[test]
fn a_ring_trims_a_device_that_does_its_work_as_it_comes() {
    if !is_root() {
        return;
    }
    let Some(zram) = NewZram::of("8M") else { return skip("there is no zram to be had") };
    let lab = Lab::new();
    let device = format!("/dev/zram{}", zram.number);
    for personality in ["io_uring", "sync"] {
        let way = format!("--personality={personality}");
        let sample = lab.json(["io", &device, "--op=trim", "--requests=20", "--overwrite", &way, "--json"]);
        assert_eq!(sample["trim"]["requests"], 20, "{sample}");
        let counting = std::fs::read_to_string(format!("/sys/block/zram{}/queue/iostats", zram.number)).unwrap();
        assert_eq!(sample["block"].is_null(), counting.trim() == "0", "counters that stay 0 are none");
    }
}

#[test]
fn what_a_device_trimmed_is_counted() {
    let lab = Lab::new();
    let Some(device) = Loop::on(&lab.data_file("image", 4096)) else { return };
    let trims = ["--op=trim", "--requests=20", "--request-size=64KiB", "--overwrite", "--json"];
    let sample = lab.json([&["io", device.name()], &trims[..]].concat());
    assert_eq!(sample["block"]["trim"]["bytes"], 20 << 16, "{}", sample["block"]);
    assert_eq!(sample["block"]["write"]["bytes"], 0, "{}", sample["block"]);
}

#[test]
fn a_slip_in_the_name_of_a_device_makes_no_file() {
    let mounts = std::fs::read_to_string("/proc/self/mounts").unwrap();
    if !is_root() || !mounts.lines().any(|line| line.contains(" /dev devtmpfs ")) {
        return skip("/dev is no devtmpfs here, or not to be written");
    }
    let lab = Lab::new();
    let name = format!("/dev/loop0p{}", std::process::id());
    let made = lab.run(["io", &name, "--op=write", "--overwrite", "--size=1MiB", "--requests=1"]);
    assert!(std::fs::remove_file(&name).is_err(), "a file was made among the devices");
    assert!(made.status == Some(1) && made.stderr.contains("check the device's name"), "{}", made.stderr);
    lab.refuses(["run", "/dev"], 1, "where devices have their names");
}

#[test]
fn a_medium_that_fails_is_told_by_name() {
    let lab = Lab::new();
    let image = lab.write("image", &[]);
    std::fs::File::options().write(true).open(&image).unwrap().set_len(128 << 20).unwrap();
    if !is_root() || !tool("mkfs.btrfs", &["-q".as_ref(), "-msingle".as_ref(), "-dsingle".as_ref(), image.as_os_str()])
    {
        return skip("there is no mkfs.btrfs, whose checksums make a read fail");
    }
    let point = lab.path("mounted");
    std::fs::create_dir(&point).unwrap();
    let mount = || tool("mount", &["-o".as_ref(), "loop".as_ref(), image.as_os_str(), point.as_os_str()]);
    if !mount() {
        return skip("btrfs cannot be mounted here");
    }
    let mark = b"read this back, if you can: ".repeat(150_000);
    std::fs::write(point.join("data"), &mark).unwrap();
    tool("sync", &[]);
    drop(Mounted(point.clone()));
    let bytes = std::fs::read(&image).unwrap();
    let at = bytes.windows(4096).position(|window| window == &mark[..4096]).unwrap() as u64 + (2 << 20);
    std::os::unix::fs::FileExt::write_all_at(
        &std::fs::File::options().write(true).open(&image).unwrap(),
        &[0; 4096],
        at,
    )
    .unwrap();
    assert!(mount());
    let _mounted = Mounted(point);
    let personalities: &[&str] = if lab.has_direct_ring() { &["sync", "io_uring"] } else { &["sync"] };
    for personality in personalities {
        let read = ["io", "mounted/data", "--size=4MiB", "--bytes=4MiB", "--json", "--personality", personality];
        let outcome = lab.run(read);
        assert_eq!(outcome.status, Some(1), "{personality}: {}", outcome.stderr);
        let sample: serde_json::Value = serde_json::from_str(&outcome.stdout).unwrap();
        assert_eq!(sample["failure"]["code"], "EIO", "{personality}");
        assert_eq!(sample["total"]["errors"]["EIO"], 1, "{personality}");
        assert!(sample["total"]["requests"].as_u64().unwrap() > 0, "what was read before is kept");
    }
}
