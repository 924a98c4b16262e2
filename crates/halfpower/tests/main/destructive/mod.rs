//! Commands that would destroy data, on storage that is in use: each is refused, and not a byte changes.
//!
//! A situation is storage that something uses, with the names by which it can be reached. Every command of `attempts` is
//! tried on each name; what must not change is compared byte by byte. docs/SAFETY.md has the rules.

mod programs;

use crate::device::{NewZram, partition_table};
use crate::support::{Lab, Loop, Mounted, Running, Words, hash, is_root, make, skip, tool, wait_for};
use rustix::fs::{FlockOperation, OFlags};
use std::cell::Cell;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::ops::Deref;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A laboratory with something beside the targets, which counts the commands that are tried.
struct Destruction {
    lab: Lab,
    tried: Cell<usize>,
}

impl Deref for Destruction {
    type Target = Lab;

    fn deref(&self) -> &Lab {
        &self.lab
    }
}

impl Destruction {
    fn new() -> Destruction {
        let lab = Lab::new();
        lab.data_file("bystander", 64);
        Destruction { lab, tried: Cell::new(0) }
    }

    /// Tries every destructive command on each of the targets, which is refused for this reason; `guarded` must stay as it
    /// is.
    fn saves(&self, reason: &str, targets: &[&Path], guarded: &[&Path]) {
        let bystander = self.path("bystander");
        let guarded: Vec<&Path> = guarded.iter().copied().chain([bystander.as_path()]).collect();
        // What mkfs left in the page cache of one device is to be seen on all of them.
        guarded.iter().for_each(|path| File::open(path).unwrap().sync_all().unwrap());
        let before: Vec<Vec<u8>> = guarded.iter().map(|path| std::fs::read(path).unwrap()).collect();
        let swapped_before = swapped_out();
        for target in targets {
            for attempt in attempts(target) {
                let outcome = self.run(&attempt);
                assert!(matches!(outcome.status, Some(1 | 2)), "{attempt:?}: {:?} {}", outcome.status, outcome.stderr);
                assert!(outcome.stderr.contains(reason), "{attempt:?}: no {reason}: {}", outcome.stderr);
                self.tried.set(self.tried.get() + 1);
            }
            for (path, before) in guarded.iter().zip(&before) {
                let now = std::fs::read(path).unwrap();
                if now != *before && reason == SWAP && swapped_out() != swapped_before {
                    skip("the kernel itself wrote to the swap space");
                    continue;
                }
                let place = || now.iter().zip(before).position(|(now, before)| now != before);
                let lengths = (before.len(), now.len());
                assert!(now == *before, "{target:?} changed {} at {:?}: {lengths:?}", path.display(), place());
            }
        }
    }

    /// Says how many commands were tried.
    fn count(&self, least: usize) {
        eprintln!("tried: {} commands", self.tried.get());
        assert!(self.tried.get() >= least, "only {} commands were tried", self.tried.get());
    }

    /// An image of a new file system; none where there is no such tool; prints the reason.
    fn ext4(&self, name: impl AsRef<Path>) -> Option<PathBuf> {
        let image = self.image(name, &[], 8);
        make("mkfs.ext4 -q -F", &image).then_some(image)
    }

    /// Mounts a device or file, read-only so that the file system itself changes nothing.
    fn mount(&self, what: &Path, options: &str) -> Option<Mounted> {
        let point = self.path(format!("on-{}", what.file_name().unwrap().to_string_lossy().trim_end()));
        Mounted::on(what, point, options)
    }
}

/// What the refusal of swap space says.
const SWAP: &str = "swap space";

/// Pages that the kernel has written to swap space since boot.
fn swapped_out() -> u64 {
    let text = std::fs::read_to_string("/proc/vmstat").unwrap();
    let pages = text.lines().find_map(|line| line.strip_prefix("pswpout "));
    pages.map(|pages| pages.parse().unwrap()).unwrap_or_default()
}

/// Every kind of command that would overwrite a target.
fn attempts(target: &Path) -> Vec<Vec<OsString>> {
    let named = [OsStr::new("--overwrite="), target.as_os_str()].join(OsStr::new(""));
    let io = |words: &str, overwrite: &OsStr| (("io --requests=4 --no-store", [target]), (words, [overwrite])).words();
    let any = OsStr::new("--overwrite");
    let study = "study run both.toml --no-report --no-store --target";
    vec![
        io("--op=write", any),
        io("--op=write --buffering=buffered --pattern=random", &named),
        io("--op=mix=50", any),
        io("--op=trim", any),
        io("bystander --op=write", any),
        ("run --quick --no-report --no-store", [target.as_os_str(), any]).words(),
        (study, [target.as_os_str(), &named]).words(),
    ]
}

/// Runs a command that prints a line once it has something in use, until it is dropped; none where it does not.
fn keeper(program: &str, words: impl Words) -> Option<Running> {
    if !tool(program, "--version") {
        skip(&format!("there is no {program}"));
        return None;
    }
    let mut command = Command::new(program);
    let mut keeper = Running::of(command.args(words.words()).stdin(Stdio::null()).stdout(Stdio::piped()));
    let mut line = String::new();
    BufReader::new(keeper.child().stdout.take()?).read_line(&mut line).ok()?;
    if line.trim() != "ready" {
        skip(&format!("{program} does not work as needed here"));
        return None;
    }
    Some(keeper)
}

/// Swap space until dropped.
struct Swap(PathBuf);

impl Swap {
    fn on(path: &Path) -> Option<Swap> {
        if tool("mkswap", [path]) && tool("swapon", [path]) {
            return Some(Swap(path.to_owned()));
        }
        skip(&format!("{} cannot be swap space here", path.display()));
        None
    }
}

impl Drop for Swap {
    fn drop(&mut self) {
        tool("swapoff", [&self.0]);
    }
}

#[test]
fn loop_devices_hide_nothing_that_is_mounted() {
    let lab = Destruction::new();
    let Some(image) = lab.ext4("image") else { return };
    let Some(one) = Loop::on(&image) else { return };
    let Some(two) = Loop::on(&one.device) else { return };
    let Some(three) = Loop::on(&two.device) else { return };
    let Some(beside) = Loop::on(&image) else { return };
    let all = [image.as_path(), &one.device, &two.device, &three.device, &beside.device];
    for device in [&one, &two, &three, &beside] {
        let Some(_mounted) = lab.mount(&device.device, "-o ro") else { return };
        lab.saves("is mounted on", &all, &all);
    }
    // Nobody uses them, and yet they are there to be used.
    lab.saves("is a loop device on", &all[..3], &all);
    lab.count(161);
}

#[test]
fn partitions_hide_nothing_that_is_mounted() {
    let lab = Destruction::new();
    let image = lab.image("image", &partition_table(), 16);
    let Some(disk) = Loop::on(&image) else { return };
    let part = disk.partition();
    if !make("mkfs.ext4 -q -F", &part) {
        return skip("loop devices have no partitions here");
    }
    let [Some(on_disk), Some(on_part)] = [&disk.device, &part].map(|below| Loop::on(below)) else { return };
    let all = [image.as_path(), &disk.device, &part, &on_disk.device, &on_part.device];
    for mounted in [&part, &on_part.device] {
        let Some(_mounted) = lab.mount(mounted, "-o ro") else { return };
        lab.saves("is mounted on", &all, &all);
    }
    drop((on_part, on_disk));
    let below = [image.as_path(), &disk.device, &part];
    // A file system within the partition's bytes, that only an offset into the disk leads to.
    if let Some(_mounted) = lab.mount(&disk.device, "-o loop,ro,offset=1048576") {
        lab.saves("is mounted on", &below, &below);
    }
    lab.count(70);
}

#[test]
fn everything_below_a_partition_is_checked() {
    let lab = Destruction::new();
    let image = lab.image("image", &partition_table(), 16);
    let Some(below) = Loop::on(&image) else { return };
    let Some(disk) = Loop::on(&below.device) else { return };
    let part = disk.partition();
    if !part.exists() {
        return skip("loop devices have no partitions here");
    }
    let saves = |reason: &str| lab.saves(reason, &[&part], &[&image]);
    // As the journal of a file system is, or a mount that is not seen from here.
    let exclusive = OFlags::EXCL.bits() as i32;
    let holder = File::options().read(true).custom_flags(exclusive).open(&below.device).unwrap();
    saves("is held exclusively");
    drop(holder);
    let locked = File::open(&below.device).unwrap();
    rustix::fs::flock(&locked, FlockOperation::LockExclusive).unwrap();
    saves("holds a lock on loop");
    drop(locked);
    let reader = File::open(&image).unwrap();
    saves("has the file open");
    drop(reader);
    let writer = File::options().write(true).open(&disk.device).unwrap();
    saves("open; stop that first");
    drop(writer);
    let other = Loop::on(&below.device).unwrap();
    for twice in [&disk.device, &other.device] {
        let both = [part.to_str().unwrap(), twice.to_str().unwrap()];
        lab.refuses(("io --requests=4 --no-store", both), 2, "name each target once");
    }
    drop(other);
    // Verification rejects or reports a concurrent writer.
    let part = part.to_str().unwrap();
    lab.ok(format!("io {part} --op=write --verify=stamp --requests=40 --overwrite"));
    // Written data stay in the page cache of the device below until it is flushed.
    let written = || {
        File::open(&below.device).unwrap().sync_all().unwrap();
        hash(&image)
    };
    let stamped = written();
    let writer = lab.start(format!("io {} --op=write --duration=50s --overwrite --no-store", disk.name()));
    let writer = writer.until("the disk to be written", || written() != stamped);
    assert!(written() != stamped, "{}", writer.wait().stderr);
    let outcome = lab.run(format!("io {part} --verify-run=1"));
    assert!(outcome.status == Some(1) || outcome.stdout.contains(" 0 wrong"), "{}", outcome.stdout);
    let warned = ["exclusive lock on loop", "open for writing"].iter().any(|words| outcome.stderr.contains(words));
    assert!(warned, "{}", outcome.stderr);
    lab.count(28);
}

#[test]
fn what_another_container_uses_is_in_use() {
    let lab = Destruction::new();
    let Some(image) = lab.ext4("image") else { return };
    let Some(device) = Loop::on(&image) else { return };
    let point = lab.directory("inside");
    let Some(upper) = Loop::on(&device.device) else { return };
    let mount = format!("mount -o ro {} {}", device.name(), point.display());
    let all = [image.as_path(), &device.device, &upper.device];
    {
        let inside = format!("{mount} && echo ready && exec sleep 600");
        let Some(_keeper) = keeper("unshare", ("--mount sh -c", [inside])) else { return };
        lab.saves("is mounted on", &all, &all);
    }
    let inside = format!("{mount} && echo ready && exec sleep 600");
    let container = ("--mount --pid --fork --kill-child --mount-proc sh -c", [inside]);
    if let Some(_keeper) = keeper("unshare", container) {
        lab.saves("is mounted on", &all, &all);
    }
    drop(upper);
    let below = [image.as_path(), &device.device];
    // Held by a program, as mkfs and volume managers do.
    let mut held = None;
    // A container is unmounted some time after its last process has ended.
    wait_for("the device to be free", || {
        held = File::options().read(true).custom_flags(OFlags::EXCL.bits() as i32).open(&device.device).ok();
        held.is_some()
    });
    let upper = Loop::on(&device.device).unwrap();
    lab.saves("is not written", &[&device.device, &upper.device, &image], &below);
    drop(held);
    lab.count(42);
}

#[test]
fn every_device_of_a_file_system_is_in_use() {
    let lab = Destruction::new();
    if !is_root() {
        return;
    }
    // btrfs: the mount names one of two.
    let [one, two] = ["btrfs-one", "btrfs-two"].map(|name| lab.image(name, &[], 128));
    let (Some(first), Some(second)) = (Loop::on(&one), Loop::on(&two)) else { return };
    let devices = [&first.device, &second.device];
    if tool("mkfs.btrfs", ("-q -f -m raid1", devices)) {
        tool("btrfs", ("device scan", devices));
        if let Some(_mounted) = lab.mount(&first.device, "-o ro") {
            let all = [one.as_path(), &two, &first.device, &second.device];
            lab.saves("is not written", &all, &all);
        }
    } else {
        skip("there is no mkfs.btrfs");
    }
    // ext4 with an external journal, xfs with an external log.
    let [journal, log] = ["journal", "log"].map(|name| lab.image(name, &[], 64));
    let (Some(journal_device), Some(log_device)) = (Loop::on(&journal), Loop::on(&log)) else { return };
    let data = lab.image("ext4-data", &[], 64);
    if make("mke2fs -q -F -b4096 -O journal_dev", &journal_device.device)
        && make(&format!("mkfs.ext4 -q -F -b4096 -J device={}", journal_device.name()), &data)
        && let Some(_mounted) = lab.mount(&data, "-o loop")
    {
        let all = [journal.as_path(), &journal_device.device];
        lab.saves("is not written", &all, &all);
    }
    let data = lab.image("xfs-data", &[], 300);
    let options = format!("logdev={}", log_device.name());
    if make(&format!("mkfs.xfs -q -f -l {options}"), &data)
        && let Some(_mounted) = lab.mount(&data, &format!("-o loop,{options}"))
    {
        let all = [log.as_path(), &log_device.device];
        lab.saves("is not written", &all, &all);
    }
    lab.count(0);
}

#[test]
fn files_that_are_mounted_are_in_use_whatever_they_are_called() {
    let lab = Destruction::new();
    if !is_root() {
        return;
    }
    let names: [&[u8]; 6] = [b"plain", b"a blank", b"line\n", b"gone (deleted)", b"\\040octal", b"\xff\xfe"];
    for name in names {
        let Some(image) = lab.ext4(OsStr::from_bytes(name)) else { return };
        let Some(_device) = Loop::on(&image) else { return };
        // By another name too, for that of the loop device leads nowhere in the end.
        let link = lab.path("link");
        std::fs::hard_link(&image, &link).unwrap();
        if image.to_str().is_some() {
            lab.saves("is a loop device on", &[&image], &[&link]);
        }
        std::fs::remove_file(&image).unwrap();
        lab.saves("is a loop device on", &[&link], &[&link]);
        std::fs::remove_file(&link).unwrap();
    }
    // Mounted over by something else, so that the path leads to another file.
    let hidden = lab.directory("hidden");
    let Some(image) = lab.ext4("hidden/image") else { return };
    let Some(_device) = Loop::on(&image) else { return };
    let link = lab.path("link");
    std::fs::hard_link(&image, &link).unwrap();
    if let Some(_cover) = Mounted::tmpfs(hidden, "size=1m") {
        std::fs::write(&image, "another").unwrap();
        lab.saves("is a loop device on", &[&link], &[&link]);
    }
    // Mounted from the file itself.
    lab.directory("tree");
    lab.write("tree/file", [7; 5000]);
    let erofs = lab.path("erofs");
    if tool("mkfs.erofs", [&erofs, &lab.path("tree")]) {
        if let Some(_mounted) = lab.mount(&erofs, "-t erofs -o ro") {
            lab.saves("is not written", &[&erofs], &[&erofs]);
        }
    } else {
        skip("there is no mkfs.erofs");
    }
    lab.count(80);
}

#[test]
fn other_names_of_a_device_do_not_help() {
    let lab = Destruction::new();
    let Some(image) = lab.ext4("image") else { return };
    let Some(device) = Loop::on(&image) else { return };
    let Some(_mounted) = lab.mount(&device.device, "-o ro") else { return };
    let [link, links, node] = ["link", "links", "node"].map(|name| lab.path(name));
    std::os::unix::fs::symlink(&device.device, &link).unwrap();
    std::os::unix::fs::symlink("link", &links).unwrap();
    let numbers = std::fs::read_to_string(format!("/sys/class/block/{}/dev", &device.name()[5..])).unwrap();
    let (major, minor) = numbers.trim().split_once(':').unwrap();
    let made = tool("mknod", ([&node], ["b", major, minor]));
    let mut targets = vec![link.as_path(), &links];
    targets.extend(made.then_some(node.as_path()));
    lab.saves("is mounted on", &targets, &[&image, &device.device]);
    lab.count(14);
}

#[test]
fn swap_space_is_in_use() {
    let lab = Destruction::new();
    if !is_root() {
        return;
    }
    for name in ["swap", "swap with blanks"] {
        let file = lab.data_file(name, 1024);
        std::fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
        let Some(_swap) = Swap::on(&file) else { continue };
        lab.saves(SWAP, &[&file], &[&file]);
    }
    let image = lab.data_file("image", 1024);
    let Some(device) = Loop::on(&image) else { return };
    if let Some(_swap) = Swap::on(&device.device) {
        let upper = Loop::on(&device.device).unwrap();
        let all = [image.as_path(), &device.device, &upper.device];
        lab.saves(SWAP, &all, &all);
    }
    lab.count(0);
}

#[test]
fn memory_that_is_mounted_is_in_use() {
    let lab = Destruction::new();
    let Some(zram) = NewZram::new() else { return };
    zram.resize("32M");
    let device = PathBuf::from(format!("/dev/zram{}", zram.number));
    if !make("mkfs.ext4 -q -F", &device) {
        return;
    }
    let Some(upper) = Loop::on(&device) else { return };
    let all = [device.as_path(), &upper.device];
    for mounted in [&device, &upper.device] {
        let Some(_mounted) = lab.mount(mounted, "-o ro") else { return };
        lab.saves("is mounted on", &all, &all);
    }
    lab.count(28);
}

#[test]
fn the_layers_of_an_overlay_are_in_use() {
    let lab = Destruction::new();
    if !is_root() {
        return;
    }
    for name in ["lower", "lower/deep", "upper", "work", "merged", "bound"] {
        lab.directory(name);
    }
    let deep = lab.data_file("lower/deep/file", 64);
    let [low, up] = ["lower/file", "upper/other"].map(|name| lab.data_file(name, 64));
    let options = ["lower", "upper", "work"].map(|name| format!("{name}dir={}", lab.path(name).display())).join(",");
    let overlay = format!("-t overlay -o {options}");
    let Some(_mounted) = Mounted::on(Path::new("overlay"), lab.path("merged"), &overlay) else { return };
    let layer = "is a layer of the overlay on";
    lab.saves(layer, &[&low, &up], &[&low, &up]);
    if let Some(_bound) = Mounted::on(&lab.path("lower/deep"), lab.path("bound"), "--bind") {
        lab.saves(layer, &[&lab.path("bound/file")], &[&deep]);
    }
    let Some(device) = Loop::on(&up) else { return };
    lab.saves(layer, &[&device.device], &[&up]);
    // The file on the overlay is another one to the kernel than the one in the layer, which is in use.
    let on_overlay = lab.path("merged/other");
    lab.saves("is a loop device on the file", &[&on_overlay], &[&up]);
    drop(device);
    let _reader = File::open(&up).unwrap();
    lab.saves("has it open", &[&on_overlay], &[&up]);
    lab.count(35);
}

#[test]
fn everything_below_a_loop_device_is_checked() {
    let lab = Destruction::new();
    let image = lab.data_file("image", 1024);
    let Some(device) = Loop::on(&image) else { return };
    let Some(upper) = Loop::on(&device.device) else { return };
    let saves = |target: &Loop, reason: &str| lab.saves(reason, &[&target.device], &[&image]);
    let locked = File::open(&device.device).unwrap();
    rustix::fs::flock(&locked, FlockOperation::LockExclusive).unwrap();
    saves(&upper, "holds a lock on loop");
    drop(locked);
    let writer = File::options().write(true).open(&device.device).unwrap();
    saves(&upper, "open; stop that first");
    drop((writer, upper));
    let reader = File::open(&image).unwrap();
    saves(&device, "has the file open");
    drop((reader, device));
    lab.directory("tree");
    lab.write("tree/file", [7; 5000]);
    let point = lab.directory("point");
    let made = tool("mkfs.erofs", [&image, &lab.path("tree")]);
    // Without a loop device of mount(8)'s own.
    let mounted =
        made && rustix::mount::mount(&image, &point, "erofs", rustix::mount::MountFlags::RDONLY, None).is_ok();
    if mounted {
        let _mounted = Mounted(point);
        let device = Loop::on(&image).unwrap();
        saves(&device, "is mounted on");
    } else {
        skip("no file can be mounted here");
    }
    let device = Loop::with("--read-only", &image).unwrap();
    saves(&device, "is a read-only device");
    lab.count(28);
}
