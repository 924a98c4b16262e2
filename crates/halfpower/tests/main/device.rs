//! Block devices are written only if they are named and not in use. Devices in use are in `destructive`.

use crate::support::{Lab, Loop, Mounted, hash, is_root, make, skip, tool, wait_for};
use serde_json::Value;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::Command;

/// A new zram device, removed when dropped.
pub(crate) struct NewZram {
    pub(crate) number: String,
}

impl NewZram {
    /// Without a size; none where the kernel makes none; prints the reason.
    pub(crate) fn new() -> Option<NewZram> {
        let number = is_root().then(|| std::fs::read_to_string("/sys/class/zram-control/hot_add"))?;
        let Ok(number) = number else {
            skip("there is no zram to be had");
            return None;
        };
        Some(NewZram { number: number.trim().to_owned() })
    }

    pub(crate) fn resize(&self, size: &str) {
        std::fs::write(format!("/sys/block/zram{}/disksize", self.number), size).unwrap();
    }
}

impl Drop for NewZram {
    fn drop(&mut self) {
        let remove = || std::fs::write("/sys/class/zram-control/hot_remove", &self.number).is_ok();
        wait_for("a zram to be removed", remove);
    }
}

#[test]
fn devices_are_read_and_written_only_when_named() {
    let lab = Lab::new();
    let images = ["image-a", "image-b"].map(|name| lab.data_file(name, 4096));
    let (Some(one), Some(other)) = (Loop::on(&images[0]), Loop::on(&images[1])) else { return };
    let before = images.each_ref().map(|image| hash(image));
    let [device, second] = [one.name(), other.name()];
    let study = format!("study run both.toml --no-report --target {device}");
    lab.ends(&study, 0, "It writes nothing");
    let sample = lab.json(format!("io {device} {second} --requests=64"));
    assert_eq!((&sample["workload"]["targets"], &sample["total"]["requests"]), (&2.into(), &64.into()));
    let facts = &sample["environment"]["target"];
    assert_eq!((&facts["kind"], &facts["transport"]), (&"block_device".into(), &"loop".into()));
    if sample["block"].is_object() {
        assert!(sample["block"]["bytes"].as_u64() >= sample["total"]["bytes"].as_u64(), "{}", sample["block"]);
    }
    let write = format!("io {device} {second} --op=write --requests=9");
    let rows = [
        (format!("io {device} --op=write --requests=9"), "--overwrite"),
        (format!("io {device} --op=write --overwrite=/dev/other"), "--overwrite names /dev/other"),
        (format!("io {device} {device}"), "are one device"),
        (format!("io {device} {}", images[0].display()), "a loop device and the file it lies on"),
        (format!("{write} --overwrite={device}"), &*format!("{second} exists")),
        (format!("{write} --overwrite --file-state=append"), "a device has no length"),
        (format!("{write} --overwrite --file-state=truncated"), "a device has no length"),
    ];
    lab.refuses_each(rows.map(|(words, needle)| (words, 2, needle)));
    assert_eq!(images.each_ref().map(|image| hash(image)), before, "nothing was written");
    lab.ok(format!("{study} --overwrite={device}"));
    assert_ne!(hash(&images[0]), before[0], "it was not written");
    lab.ok(format!("{write} --overwrite"));
    let trims = "--op=trim --requests=20 --request-size=64KiB --overwrite";
    let block = &lab.json(format!("io {device} {trims}"))["block"];
    assert_eq!((&block["trim"]["bytes"], &block["write"]["bytes"]), (&(20 << 16).into(), &0.into()), "{block}");
}

#[test]
fn a_device_in_use_is_read_and_saves_the_others() {
    let lab = Lab::new();
    let image = lab.image("image", &[], 16);
    let free = lab.data_file("free", 4096);
    let (true, Some(used), Some(other)) = (make("mkfs.ext4 -q -F", &image), Loop::on(&image), Loop::on(&free)) else {
        return;
    };
    // Read-only, so that the file system itself changes nothing meanwhile.
    let Some(_mounted) = Mounted::on(&used.device, lab.path("mounted"), "-o ro") else { return };
    let before = hash(&free);
    for targets in [[other.name(), used.name()], [used.name(), other.name()]] {
        lab.refuses(("io --op=write --overwrite", targets), 1, "is mounted on");
    }
    assert_eq!(hash(&free), before, "the one that is free was written");
    lab.ok(("io --size=64KiB --requests=9", [used.name()]));
    lab.refuses(("runs --store", [used.name()]), 1, "is not a store of Halfpower");
    assert!(!std::fs::read(&used.device).unwrap().starts_with(b"SQLite"), "a device is never made a store");
}

#[test]
fn a_disk_and_a_part_of_it_are_not_measured_together() {
    let lab = Lab::new();
    let Some(disk) = Loop::on(&lab.image("image", &partition_table(), 16)) else { return };
    let part = disk.partition();
    if !part.exists() {
        return skip("loop devices have no partitions here");
    }
    lab.refuses(("io", [disk.device.as_path(), &part]), 2, "a disk and a part of it");
}

#[test]
fn a_file_system_that_cannot_reserve_blocks_says_so() {
    let lab = Lab::new();
    let Some(_mounted) = Mounted::image(lab.path("mounted"), 16, "mkfs.ext2 -q -F") else { return };
    let io = "io mounted --size=1MiB --op=write --file-state";
    lab.ends((io, "preallocated"), 1, "cannot reserve blocks");
    // The remedy works.
    lab.ok((io, "sparse"));
}

#[test]
fn a_file_system_can_be_unmounted_right_after_a_run() {
    let lab = Lab::new();
    if !lab.has_direct_ring() {
        return;
    }
    for _ in 0..3 {
        let Some(mounted) = Mounted::tmpfs(lab.path("mounted"), "size=32m") else { return };
        lab.ok("io mounted --size=4MiB --personality=io_uring --depth=8 --requests=50");
        assert!(tool("umount", [&mounted.0]), "something still holds a file there");
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
    for command in ["io --op=write", "run"] {
        lab.refuses(format!("{command} {source} --overwrite={source}"), 1, "is not written");
    }
}

#[test]
fn a_loop_device_with_direct_io_is_not_taken_for_memory() {
    let lab = Lab::new();
    let file = lab.data_file("image", 4096);
    for (direct, is_warned) in [("off", true), ("on", false)] {
        let Some(device) = Loop::with(&format!("--direct-io={direct}"), &file) else { return };
        let name = device.device.file_name().unwrap().to_str().unwrap();
        if std::fs::read_to_string(format!("/sys/block/{name}/loop/dio")).unwrap().trim()
            != ["1", "0"][usize::from(is_warned)]
        {
            return skip("this file system has no direct I/O for loop devices");
        }
        let done = lab.run(format!("io {} --requests=9 --no-store", device.name())).ended(0, "");
        assert_eq!(done.stderr.contains("may be in the memory of this host"), is_warned, "{}", done.stderr);
    }
}

#[test]
fn memory_that_looks_like_a_disk_is_recognised() {
    let Some(zram) = NewZram::new() else { return };
    let lab = Lab::new();
    let device = format!("/dev/zram{}", zram.number);
    lab.refuses(("io", &device), 2, "holds nothing yet");
    zram.resize("8M");
    let write = format!("io {device} --op=write --bytes=8MiB --request-size=64KiB --overwrite");
    lab.ends(write, 0, &format!("{device} is memory, not storage"));
    // io_uring trims a device without a queue; the device may count no requests.
    for personality in ["io_uring", "sync"] {
        let trim = format!("io {device} --op=trim --requests=20 --overwrite --personality={personality}");
        let sample = lab.json(trim);
        let counting = std::fs::read_to_string(format!("/sys/block/zram{}/queue/iostats", zram.number)).unwrap();
        assert_eq!((&sample["trim"]["requests"], sample["block"].is_null()), (&20.into(), counting.trim() == "0"));
    }
}

#[test]
fn a_slip_in_the_name_of_a_device_makes_no_file() {
    let mounts = std::fs::read_to_string("/proc/self/mounts").unwrap();
    if !is_root() || !mounts.lines().any(|line| line.contains(" /dev devtmpfs ")) {
        return skip("/dev is no devtmpfs here, or not to be written");
    }
    let lab = Lab::new();
    let name = format!("/dev/loop0p{}", std::process::id());
    let made = lab.run(format!("io {name} --op=write --overwrite --size=1MiB --requests=1"));
    assert!(std::fs::remove_file(&name).is_err(), "a file was made among the devices");
    assert!(made.status == Some(1) && made.stderr.contains("check the device's name"), "{}", made.stderr);
    lab.refuses("run /dev", 1, "where devices have their names");
}

#[test]
fn a_medium_that_fails_is_named_and_nothing_else_is_blamed() {
    let lab = Lab::new();
    let has_ring = lab.has_direct_ring();
    // Its checksums make a read fail.
    let mounted = || Mounted::on(&lab.path("place.image"), lab.place(), "-o loop");
    let Some(new) = Mounted::image(lab.place(), 128, "mkfs.btrfs -q -msingle -dsingle") else { return };
    let mark = b"read this back, if you can: ".repeat(150_000);
    let lost = b"read nothing back ".repeat(240_000);
    lab.write("place/data", &mark);
    lab.write("place/lost", &lost);
    tool("sync", "");
    drop(new);
    let image = lab.path("place.image");
    let bytes = std::fs::read(&image).unwrap();
    let damage = |content: &[u8], from: u64, length: usize| {
        let at = bytes.windows(4096).position(|window| window == &content[..4096]).unwrap() as u64 + from;
        std::fs::File::options().write(true).open(&image).unwrap().write_all_at(&vec![0; length], at).unwrap();
    };
    damage(&mark, 2 << 20, 4096);
    damage(&lost, 0, 4 << 20);
    let _mounted = mounted().unwrap();
    let ways: &[&str] = if has_ring {
        &["--personality sync", "--personality io_uring", "--buffering=direct"]
    } else {
        &["--personality sync"]
    };
    for way in ways {
        let read = format!("io place/data --size=4MiB --bytes=4MiB --json {way}");
        let outcome = lab.ends(read, 1, "EIO");
        assert!(!outcome.stderr.contains("direct I/O"), "{way}: {}", outcome.stderr);
        let sample: Value = outcome.document();
        assert_eq!(
            (&sample["failure"]["code"], &sample["total"]["errors"]["EIO"]),
            (&"EIO".into(), &1.into()),
            "{way}"
        );
        assert!(sample["total"]["requests"].as_u64().unwrap() > 0, "what was read before is kept");
    }
    // Nor is it said to take no direct I/O, where the first byte fails.
    let outcome = lab.ends("io place/lost --buffering=direct --requests=10 --no-store", 1, "EIO");
    assert!(!outcome.stderr.contains("direct I/O"), "{}", outcome.stderr);
}
