//! Commands that would destroy data, on storage that is in use: each is refused, and not a byte changes.
//!
//! A situation is storage that something uses, with the names by which it can be reached. Every command of `attempts` is
//! tried on each name; what must not change is compared byte by byte. docs/SAFETY.md has the rules.

mod programs;

use crate::device::{Loop, partition_table};
use crate::support::{BOTH, Lab, Mounted, is_root, skip, tool, wait_for};
use rustix::fs::{FlockOperation, OFlags};
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// Storage that is in use.
struct Situation<'a> {
    lab: &'a Lab,
    name: &'a str,
    /// What the refusal says.
    reason: &'a str,
}

impl Situation<'_> {
    /// Tries every destructive command on each of the targets; `guarded` must stay as it is. Gives how many were tried.
    fn refuses(&self, targets: &[&Path], guarded: &[&Path]) -> usize {
        let bystander = self.lab.path("bystander");
        let guarded: Vec<&Path> = guarded.iter().copied().chain([bystander.as_path()]).collect();
        // What mkfs left in the page cache of one device is to be seen on all of them.
        guarded.iter().for_each(|path| File::open(path).unwrap().sync_all().unwrap());
        let before: Vec<Vec<u8>> = guarded.iter().map(|path| std::fs::read(path).unwrap()).collect();
        let mut tried = 0;
        for target in targets {
            for attempt in attempts(target) {
                let outcome = self.lab.run(&attempt);
                let what = format!("{}: {attempt:?}", self.name);
                assert!(matches!(outcome.status, Some(1 | 2)), "{what}: {:?} {}", outcome.status, outcome.stderr);
                assert!(outcome.stderr.contains(self.reason), "{what}: {}", outcome.stderr);
                for (path, before) in guarded.iter().zip(&before) {
                    let now = std::fs::read(path).unwrap();
                    let place = || now.iter().zip(before).position(|(now, before)| now != before);
                    let lengths = (before.len(), now.len());
                    assert!(now == *before, "{what} changed {} at {:?}: {lengths:?}", path.display(), place());
                }
                tried += 1;
            }
        }
        tried
    }
}

/// Every kind of command that would overwrite a target.
fn attempts(target: &Path) -> Vec<Vec<OsString>> {
    let named = || [OsStr::new("--overwrite="), target.as_os_str()].join(OsStr::new(""));
    let command = |words: &[&str], overwrite: OsString| {
        let mut arguments: Vec<OsString> = words.iter().map(OsString::from).collect();
        arguments.insert(1, target.into());
        arguments.push(overwrite);
        arguments
    };
    let io = |words: &[&str], overwrite| command(&[&["io", "--requests=4", "--no-store"], words].concat(), overwrite);
    let mut study: Vec<OsString> =
        ["study", "run", "both.toml", "--no-report", "--no-store", "--target"].map(Into::into).into();
    study.extend([target.into(), named()]);
    vec![
        io(&["--op=write"], "--overwrite".into()),
        io(&["--op=write", "--buffering=buffered", "--pattern=random"], named()),
        io(&["--op=mix=50"], "--overwrite".into()),
        io(&["--op=trim"], "--overwrite".into()),
        io(&["bystander", "--op=write"], "--overwrite".into()),
        command(&["run", "--quick", "--no-report", "--no-store"], "--overwrite".into()),
        study,
    ]
}

impl Lab {
    fn of_destruction() -> Lab {
        let lab = Lab::new();
        lab.write("both.toml", BOTH.as_bytes());
        lab.data_file("bystander", 64);
        lab
    }

    /// An image of a new file system of so many MiB; none where there is no such tool, which is said.
    fn file_system(&self, name: impl AsRef<Path>, mib: u64, make: &[&str]) -> Option<PathBuf> {
        let image = self.path(name);
        File::create(&image).unwrap().set_len(mib << 20).unwrap();
        let mut arguments: Vec<&OsStr> = make[1..].iter().map(OsStr::new).collect();
        arguments.push(image.as_os_str());
        if !tool(make[0], &arguments) {
            skip(&format!("{} is not to be had", make[0]));
            return None;
        }
        Some(image)
    }

    fn ext4(&self, name: impl AsRef<Path>) -> Option<PathBuf> {
        self.file_system(name, 8, &["mkfs.ext4", "-q", "-F"])
    }

    /// Mounts a device or file, read-only so that the file system itself changes nothing.
    fn mount(&self, what: &Path, options: &str) -> Option<Mounted> {
        self.mount_as(&[], what, options)
    }

    fn mount_as(&self, kind: &[&str], what: &Path, options: &str) -> Option<Mounted> {
        let point = self.path(format!("on-{}", what.file_name().unwrap().to_string_lossy().trim_end()));
        std::fs::create_dir_all(&point).unwrap();
        let mut arguments: Vec<&OsStr> = kind.iter().map(OsStr::new).collect();
        arguments.extend(["-o".as_ref(), options.as_ref(), what.as_os_str(), point.as_os_str()]);
        if tool("mount", &arguments) {
            return Some(Mounted(point));
        }
        skip(&format!("{} cannot be mounted here", what.display()));
        None
    }
}

/// A process that keeps something in use until it is dropped.
struct Keeper(Child);

impl Keeper {
    /// Runs a command that prints a line once it is ready; none where it does not.
    fn of(program: &str, arguments: &[&OsStr]) -> Option<Keeper> {
        let mut command = Command::new(program);
        command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut keeper = Keeper(command.spawn().ok()?);
        let mut line = String::new();
        BufReader::new(keeper.0.stdout.take()?).read_line(&mut line).ok()?;
        if line.trim() != "ready" {
            skip(&format!("{program} does not do what it should here"));
            return None;
        }
        Some(keeper)
    }

    fn shell(text: &str) -> Option<Keeper> {
        Keeper::of(
            "unshare",
            &["--mount", "sh", "-c", &format!("{text} && echo ready && exec sleep 600")].map(OsStr::new),
        )
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Swap space until dropped.
struct Swap(PathBuf);

impl Swap {
    fn on(path: &Path) -> Option<Swap> {
        if tool("mkswap", &[path.as_os_str()]) && tool("swapon", &[path.as_os_str()]) {
            return Some(Swap(path.to_owned()));
        }
        skip(&format!("{} cannot be swap space here", path.display()));
        None
    }
}

impl Drop for Swap {
    fn drop(&mut self) {
        tool("swapoff", &[self.0.as_os_str()]);
    }
}

/// Says how many commands a test has tried.
fn count(tried: usize, least: usize) {
    eprintln!("tried: {tried} commands");
    assert!(tried >= least, "only {tried} commands were tried");
}

#[test]
fn loop_devices_hide_nothing_that_is_mounted() {
    let lab = Lab::of_destruction();
    let Some(image) = lab.ext4("image") else { return };
    let Some(one) = Loop::on(&image) else { return };
    let Some(two) = Loop::on(&one.device) else { return };
    let Some(three) = Loop::on(&two.device) else { return };
    let Some(beside) = Loop::on(&image) else { return };
    let all = [image.as_path(), &one.device, &two.device, &three.device, &beside.device];
    let mut tried = 0;
    for device in [&one, &two, &three, &beside] {
        let Some(_mounted) = lab.mount(&device.device, "ro") else { return };
        tried += Situation { lab: &lab, name: "loop devices", reason: "is mounted on" }.refuses(&all, &all);
    }
    // Nobody uses them, and yet they are there to be used.
    tried += Situation { lab: &lab, name: "idle", reason: "is a loop device on" }.refuses(&all[..3], &all);
    count(tried, 161);
}

#[test]
fn partitions_hide_nothing_that_is_mounted() {
    let lab = Lab::of_destruction();
    let image = lab.write("image", &partition_table());
    File::options().write(true).open(&image).unwrap().set_len(16 << 20).unwrap();
    let Some(disk) = Loop::on(&image) else { return };
    tool("partx", &["--add".as_ref(), disk.device.as_os_str()]);
    let part = PathBuf::from(format!("{}p1", disk.name()));
    if !tool("mkfs.ext4", &["-q".as_ref(), "-F".as_ref(), part.as_os_str()]) {
        return skip("loop devices have no partitions here");
    }
    let [Some(on_disk), Some(on_part)] = [&disk.device, &part].map(|below| Loop::on(below)) else { return };
    let all = [image.as_path(), &disk.device, &part, &on_disk.device, &on_part.device];
    let mut tried = 0;
    for mounted in [&part, &on_part.device] {
        let Some(_mounted) = lab.mount(mounted, "ro") else { return };
        tried += Situation { lab: &lab, name: "partitions", reason: "is mounted on" }.refuses(&all, &all);
    }
    drop((on_part, on_disk));
    let below = [image.as_path(), &disk.device, &part];
    // A file system within the partition's bytes, that only an offset into the disk leads to.
    let options = ["-o".as_ref(), "loop,ro,offset=1048576".as_ref()];
    let point = lab.path("mounted");
    std::fs::create_dir(&point).unwrap();
    if tool("mount", &[&options[..], &[disk.device.as_os_str(), point.as_os_str()]].concat()) {
        let _mounted = Mounted(point);
        tried += Situation { lab: &lab, name: "an offset", reason: "is mounted on" }.refuses(&below, &below);
    }
    count(tried, 70);
}

#[test]
fn what_lies_below_a_partition_is_asked_as_much() {
    let lab = Lab::of_destruction();
    let image = lab.write("image", &partition_table());
    File::options().write(true).open(&image).unwrap().set_len(16 << 20).unwrap();
    let Some(below) = Loop::on(&image) else { return };
    let Some(disk) = Loop::on(&below.device) else { return };
    tool("partx", &["--add".as_ref(), disk.device.as_os_str()]);
    let part = PathBuf::from(format!("{}p1", disk.name()));
    if !part.exists() {
        return skip("loop devices have no partitions here");
    }
    let mut tried = 0;
    let mut refuses = |name: &str, reason: &str| {
        tried += Situation { lab: &lab, name, reason }.refuses(&[&part], &[&image]);
    };
    {
        // As the journal of a file system is, or a mount that is not seen from here.
        let exclusive = OFlags::EXCL.bits() as i32;
        let _holder = File::options().read(true).custom_flags(exclusive).open(&below.device).unwrap();
        refuses("a device held below", "is held exclusively");
    }
    {
        let holder = File::open(&below.device).unwrap();
        rustix::fs::flock(&holder, FlockOperation::LockExclusive).unwrap();
        refuses("a locked device below", "holds a lock on loop");
    }
    {
        let _reader = File::open(&image).unwrap();
        refuses("an open file below", "has the file open");
    }
    {
        let _writer = File::options().write(true).open(&disk.device).unwrap();
        refuses("an open disk", "open; stop that first");
    }
    let other = Loop::on(&below.device).unwrap();
    for twice in [&disk.device, &other.device] {
        let both = [part.to_str().unwrap(), twice.to_str().unwrap()];
        lab.refuses(["io", both[0], both[1], "--requests=4", "--no-store"], 2, "name each target once");
    }
    drop(other);
    // What is verified must not be written meanwhile.
    let part = part.to_str().unwrap();
    let stamped = lab.run(["io", part, "--op=write", "--verify=stamp", "--requests=40", "--overwrite"]);
    assert_eq!(stamped.status, Some(0), "{}", stamped.stderr);
    let _writer = lab.start(["io", disk.name(), "--op=write", "--duration=50s", "--overwrite", "--no-store"]);
    wait_for("the disk to be written", || {
        let outcome = lab.run(["io", part, "--verify-run=1"]);
        assert!(outcome.status == Some(1) || outcome.stdout.contains(" 0 wrong"), "{}", outcome.stdout);
        outcome.stderr.contains("exclusive lock on loop") || outcome.stderr.contains("open for writing")
    });
    count(tried, 28);
}

#[test]
fn what_another_container_uses_is_in_use() {
    let lab = Lab::of_destruction();
    let Some(image) = lab.ext4("image") else { return };
    let Some(device) = Loop::on(&image) else { return };
    let point = lab.path("inside");
    std::fs::create_dir(&point).unwrap();
    let Some(upper) = Loop::on(&device.device) else { return };
    let mount = format!("mount -o ro {} {}", device.name(), point.display());
    let all = [image.as_path(), &device.device, &upper.device];
    let mut tried = 0;
    {
        let Some(_keeper) = Keeper::shell(&mount) else { return };
        tried += Situation { lab: &lab, name: "a mount namespace", reason: "is mounted on" }.refuses(&all, &all);
    }
    let inside = format!("{mount} && echo ready && exec sleep 600");
    let container = ["--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "sh", "-c", &inside];
    if let Some(_keeper) = Keeper::of("unshare", &container.map(OsStr::new)) {
        tried += Situation { lab: &lab, name: "a container", reason: "is mounted on" }.refuses(&all, &all);
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
    let situation = Situation { lab: &lab, name: "an exclusive open", reason: "is not written" };
    tried += situation.refuses(&[&device.device, &upper.device, &image], &below);
    drop(held);
    count(tried, 42);
}

#[test]
fn every_device_of_a_file_system_is_in_use() {
    let lab = Lab::of_destruction();
    if !is_root() {
        return;
    }
    let mut tried = 0;
    // btrfs: the mount names one of two.
    let [one, two] = ["btrfs-one", "btrfs-two"].map(|name| lab.path(name));
    for image in [&one, &two] {
        File::create(image).unwrap().set_len(128 << 20).unwrap();
    }
    let (Some(first), Some(second)) = (Loop::on(&one), Loop::on(&two)) else { return };
    let devices = [first.device.as_os_str(), second.device.as_os_str()];
    if tool("mkfs.btrfs", &[&["-q".as_ref(), "-f".as_ref(), "-m".as_ref(), "raid1".as_ref()], &devices[..]].concat()) {
        tool("btrfs", &[&["device".as_ref(), "scan".as_ref()], &devices[..]].concat());
        if let Some(_mounted) = lab.mount(&first.device, "ro") {
            let all = [one.as_path(), &two, &first.device, &second.device];
            tried += Situation { lab: &lab, name: "btrfs", reason: "is not written" }.refuses(&all, &all);
        }
    } else {
        skip("there is no mkfs.btrfs");
    }
    // ext4 with a journal of its own, xfs with a log of its own.
    let [journal, log] = ["journal", "log"].map(|name| lab.path(name));
    for image in [&journal, &log] {
        File::create(image).unwrap().set_len(64 << 20).unwrap();
    }
    let (Some(journal_device), Some(log_device)) = (Loop::on(&journal), Loop::on(&log)) else { return };
    let made = tool("mke2fs", &["-q", "-F", "-b4096", "-O", "journal_dev", journal_device.name()].map(OsStr::new));
    let data = lab.path("ext4-data");
    File::create(&data).unwrap().set_len(64 << 20).unwrap();
    let options = format!("device={}", journal_device.name());
    if made
        && tool("mkfs.ext4", &["-q", "-F", "-b4096", "-J", &options, data.to_str().unwrap()].map(OsStr::new))
        && let Some(_mounted) = lab.mount(&data, "loop")
    {
        let all = [journal.as_path(), &journal_device.device];
        tried += Situation { lab: &lab, name: "ext4's journal", reason: "is not written" }.refuses(&all, &all);
    }
    let data = lab.path("xfs-data");
    File::create(&data).unwrap().set_len(300 << 20).unwrap();
    let options = format!("logdev={}", log_device.name());
    if tool("mkfs.xfs", &["-q", "-f", "-l", &options, data.to_str().unwrap()].map(OsStr::new))
        && let Some(_mounted) = lab.mount(&data, &format!("loop,{options}"))
    {
        let all = [log.as_path(), &log_device.device];
        tried += Situation { lab: &lab, name: "xfs's log", reason: "is not written" }.refuses(&all, &all);
    }
    count(tried, 0);
}

#[test]
fn files_that_are_mounted_are_in_use_whatever_they_are_called() {
    let lab = Lab::of_destruction();
    if !is_root() {
        return;
    }
    let mut tried = 0;
    let names: [&[u8]; 6] = [b"plain", b"a blank", b"line\n", b"gone (deleted)", b"\\040octal", b"\xff\xfe"];
    for name in names {
        let Some(image) = lab.ext4(OsStr::from_bytes(name)) else { return };
        let Some(_device) = Loop::on(&image) else { return };
        // By another name too, for that of the loop device leads nowhere in the end.
        let link = lab.path("link");
        std::fs::hard_link(&image, &link).unwrap();
        let situation = Situation { lab: &lab, name: "hostile names", reason: "is a loop device on" };
        if image.to_str().is_some() {
            tried += situation.refuses(&[&image], &[&link]);
        }
        std::fs::remove_file(&image).unwrap();
        tried += situation.refuses(&[&link], &[&link]);
        std::fs::remove_file(&link).unwrap();
    }
    // Mounted over by something else, so that the path leads to another file.
    let hidden = lab.path("hidden");
    std::fs::create_dir(&hidden).unwrap();
    let Some(image) = lab.ext4("hidden/image") else { return };
    let Some(_device) = Loop::on(&image) else { return };
    let link = lab.path("link");
    std::fs::hard_link(&image, &link).unwrap();
    if let Some(_cover) = Mounted::tmpfs(hidden, "size=1m") {
        std::fs::write(&image, "another").unwrap();
        let situation = Situation { lab: &lab, name: "a hidden path", reason: "is a loop device on" };
        tried += situation.refuses(&[&link], &[&link]);
    }
    // Mounted from the file itself.
    std::fs::create_dir(lab.path("tree")).unwrap();
    std::fs::write(lab.path("tree/file"), [7; 5000]).unwrap();
    let erofs = lab.path("erofs");
    if tool("mkfs.erofs", &[erofs.as_os_str(), lab.path("tree").as_os_str()]) {
        if let Some(_mounted) = lab.mount_as(&["-t", "erofs"], &erofs, "ro") {
            tried += Situation { lab: &lab, name: "erofs", reason: "is not written" }.refuses(&[&erofs], &[&erofs]);
        }
    } else {
        skip("there is no mkfs.erofs");
    }
    count(tried, 80);
}

#[test]
fn other_names_of_a_device_do_not_help() {
    let lab = Lab::of_destruction();
    let Some(image) = lab.ext4("image") else { return };
    let Some(device) = Loop::on(&image) else { return };
    let Some(_mounted) = lab.mount(&device.device, "ro") else { return };
    let [link, links, node] = ["link", "links", "node"].map(|name| lab.path(name));
    std::os::unix::fs::symlink(&device.device, &link).unwrap();
    std::os::unix::fs::symlink("link", &links).unwrap();
    let numbers = std::fs::read_to_string(format!("/sys/class/block/{}/dev", &device.name()[5..])).unwrap();
    let (major, minor) = numbers.trim().split_once(':').unwrap();
    let made = tool("mknod", &[node.as_os_str(), "b".as_ref(), major.as_ref(), minor.as_ref()]);
    let mut targets = vec![link.as_path(), &links];
    targets.extend(made.then_some(node.as_path()));
    let situation = Situation { lab: &lab, name: "names of a device", reason: "is mounted on" };
    count(situation.refuses(&targets, &[&image, &device.device]), 14);
}

#[test]
fn swap_space_is_in_use() {
    let lab = Lab::of_destruction();
    if !is_root() {
        return;
    }
    let mut tried = 0;
    for name in ["swap", "swap with blanks"] {
        let file = lab.data_file(name, 1024);
        std::fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
        let Some(_swap) = Swap::on(&file) else { continue };
        tried += Situation { lab: &lab, name, reason: "swap space" }.refuses(&[&file], &[&file]);
    }
    let image = lab.data_file("image", 1024);
    let Some(device) = Loop::on(&image) else { return };
    if let Some(_swap) = Swap::on(&device.device) {
        let upper = Loop::on(&device.device).unwrap();
        let all = [image.as_path(), &device.device, &upper.device];
        tried += Situation { lab: &lab, name: "swap on a device", reason: "swap space" }.refuses(&all, &all);
    }
    count(tried, 0);
}

#[test]
fn memory_that_is_mounted_is_in_use() {
    if !is_root() {
        return;
    }
    let lab = Lab::of_destruction();
    let Some(zram) = crate::device::NewZram::of("32M") else { return skip("there is no zram to be had") };
    let device = PathBuf::from(format!("/dev/zram{}", zram.number));
    if !tool("mkfs.ext4", &["-q".as_ref(), "-F".as_ref(), device.as_os_str()]) {
        return skip("there is no mkfs.ext4");
    }
    let Some(upper) = Loop::on(&device) else { return };
    let mut tried = 0;
    {
        let Some(_mounted) = lab.mount(&device, "ro") else { return };
        let all = [device.as_path(), &upper.device];
        tried += Situation { lab: &lab, name: "zram", reason: "is mounted on" }.refuses(&all, &all);
    }
    {
        let Some(_mounted) = lab.mount(&upper.device, "ro") else { return };
        let all = [device.as_path(), &upper.device];
        tried += Situation { lab: &lab, name: "zram below", reason: "is mounted on" }.refuses(&all, &all);
    }
    count(tried, 28);
}

#[test]
fn the_layers_of_an_overlay_are_in_use() {
    let lab = Lab::of_destruction();
    if !is_root() {
        return;
    }
    for name in ["lower", "lower/deep", "upper", "work", "merged", "bound"] {
        std::fs::create_dir(lab.path(name)).unwrap();
    }
    let deep = lab.data_file("lower/deep/file", 64);
    let [low, up] = ["lower/file", "upper/other"].map(|name| lab.data_file(name, 64));
    let options = ["lower", "upper", "work"].map(|name| format!("{name}dir={}", lab.path(name).display())).join(",");
    let merged = lab.path("merged");
    let arguments = ["-t", "overlay", "-o", &options, "overlay", merged.to_str().unwrap()].map(OsStr::new);
    if !tool("mount", &arguments) {
        return skip("there is no overlay here");
    }
    let _mounted = Mounted(merged);
    let situation = Situation { lab: &lab, name: "layers", reason: "is a layer of the overlay on" };
    let mut tried = situation.refuses(&[&low, &up], &[&low, &up]);
    if tool("mount", &["--bind".as_ref(), lab.path("lower/deep").as_os_str(), lab.path("bound").as_os_str()]) {
        let _bound = Mounted(lab.path("bound"));
        tried += situation.refuses(&[&lab.path("bound/file")], &[&deep]);
    }
    let Some(device) = Loop::on(&up) else { return };
    tried += situation.refuses(&[&device.device], &[&up]);
    // The file on the overlay is another one to the kernel than the one in the layer, which is in use.
    let on_overlay = lab.path("merged/other");
    let situation = Situation { lab: &lab, name: "a file on an overlay", reason: "is a loop device on the file" };
    tried += situation.refuses(&[&on_overlay], &[&up]);
    drop(device);
    let _reader = File::open(&up).unwrap();
    let situation = Situation { lab: &lab, name: "a file on an overlay", reason: "has it open" };
    tried += situation.refuses(&[&on_overlay], &[&up]);
    count(tried, 35);
}

#[test]
fn what_lies_below_a_loop_device_is_asked_as_much() {
    let lab = Lab::of_destruction();
    let image = lab.data_file("image", 1024);
    let Some(device) = Loop::on(&image) else { return };
    let Some(upper) = Loop::on(&device.device) else { return };
    let refuses = |name: &str, target: &Loop, reason: &str| {
        Situation { lab: &lab, name, reason }.refuses(&[&target.device], &[&image])
    };
    let mut tried = 0;
    {
        let holder = File::open(&device.device).unwrap();
        rustix::fs::flock(&holder, FlockOperation::LockExclusive).unwrap();
        tried += refuses("a locked device", &upper, "holds a lock on loop");
    }
    {
        let _writer = File::options().write(true).open(&device.device).unwrap();
        tried += refuses("a device that is open", &upper, "open; stop that first");
    }
    drop(upper);
    {
        let _reader = File::open(&image).unwrap();
        tried += refuses("a file that is open", &device, "has the file open");
    }
    drop(device);
    std::fs::create_dir(lab.path("tree")).unwrap();
    std::fs::write(lab.path("tree/file"), [7; 5000]).unwrap();
    let point = lab.path("point");
    std::fs::create_dir(&point).unwrap();
    let made = tool("mkfs.erofs", &[image.as_os_str(), lab.path("tree").as_os_str()]);
    // Without a loop device of mount(8)'s own.
    let mounted =
        made && rustix::mount::mount(&image, &point, "erofs", rustix::mount::MountFlags::RDONLY, None).is_ok();
    if mounted {
        let _mounted = Mounted(point);
        let device = Loop::on(&image).unwrap();
        tried += refuses("erofs from a file", &device, "is mounted on");
    } else {
        skip("no file can be mounted here");
    }
    let read_only = Command::new("losetup").args(["--find", "--show", "--read-only"]).arg(&image).output().unwrap();
    let device = Loop { device: PathBuf::from(String::from_utf8(read_only.stdout).unwrap().trim()) };
    tried += refuses("a read-only device", &device, "is a read-only device");
    count(tried, 28);
}
