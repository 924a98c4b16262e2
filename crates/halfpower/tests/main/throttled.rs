//! Devices of known rates: the kernel holds reads of a loop device back (cgroup v1, blkio), and what is measured is that.

use crate::support::{Lab, PROGRAM, Running, is_root, skip, tool, wait_for};
use rustix::fs::OFlags;
use rustix::process::Signal;
use serde_json::Value;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

const BLKIO: &str = "/sys/fs/cgroup/blkio";

/// A loop device on a file, detached in the end.
pub(crate) struct Loop(PathBuf);

impl Loop {
    pub(crate) fn on(file: &Path) -> Option<Loop> {
        let attached = Command::new("losetup").args(["--find", "--show"]).arg(file).output();
        let output = attached.ok().filter(|output| output.status.success())?;
        Some(Loop(PathBuf::from(String::from_utf8(output.stdout).unwrap().trim())))
    }

    pub(crate) fn name(&self) -> &str {
        self.0.to_str().unwrap()
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        tool("losetup", &["--detach".as_ref(), self.0.as_os_str()]);
    }
}

/// A cgroup of our own that holds reads back; removed in the end.
struct Throttle(PathBuf);

impl Throttle {
    /// None where there is no such controller, which is said.
    fn new() -> Option<Throttle> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Relaxed);
        let path = Path::new(BLKIO).join(format!("halfpower-test-{}-{count}", std::process::id()));
        if !is_root() {
            return None;
        }
        if !Path::new(BLKIO).join("blkio.throttle.read_bps_device").exists() || std::fs::create_dir(&path).is_err() {
            skip("there is no blkio controller (cgroup v1) that throttles");
            return None;
        }
        Some(Throttle(path))
    }

    fn limit(&self, device: &Loop, bytes_per_s: u64) {
        self.set("read_bps", device, bytes_per_s);
    }

    fn set(&self, what: &str, device: &Loop, limit: u64) {
        let number = std::fs::metadata(&device.0).unwrap().rdev();
        let line = format!("{}:{} {limit}", rustix::fs::major(number), rustix::fs::minor(number));
        std::fs::write(self.0.join(format!("blkio.throttle.{what}_device")), line).unwrap();
    }

    /// Runs the program in the group; gives its document.
    fn json(&self, lab: &Lab, arguments: &[&str]) -> Value {
        serde_json::from_str(&self.said(lab, &[arguments, &["--json"]].concat())).unwrap()
    }

    /// The same; gives what it says.
    fn said(&self, lab: &Lab, arguments: &[&str]) -> String {
        let output = self.command(lab, arguments).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    fn command(&self, lab: &Lab, arguments: &[&str]) -> Command {
        let enter = format!("echo $$ > '{}' && exec \"$0\" \"$@\"", self.0.join("cgroup.procs").display());
        let mut command = Command::new("sh");
        command.args(["-c", &enter, PROGRAM]).args(arguments).arg("--no-store");
        command.current_dir(lab.path("")).env("XDG_DATA_HOME", lab.path("home")).stdin(Stdio::null());
        command
    }
}

impl Drop for Throttle {
    fn drop(&mut self) {
        wait_for("the cgroup to be empty", || std::fs::remove_dir(&self.0).is_ok());
    }
}

/// Measures until the rates are as known, three times at most: what disturbs this machine only slows it, so that a slow
/// rate, unlike a fast one, is measured again.
fn measured(known: &[f64], mut measure: impl FnMut() -> Value, rate: impl Fn(&Value, usize) -> f64) -> Value {
    let mut seen = Vec::new();
    for _ in 0..3 {
        let record = measure();
        let rates: Vec<f64> = (0..known.len()).map(|index| rate(&record, index)).collect();
        let shares: Vec<f64> = rates.iter().zip(known).map(|(rate, known)| rate / known).collect();
        if shares.iter().all(|share| (share - 1.0).abs() < 0.03) {
            return record;
        }
        seen.push(rates);
        if shares.iter().any(|share| *share > 1.03) {
            break;
        }
    }
    panic!("{seen:?} are not {known:?}")
}

/// The rate of one of a link's settings.
fn of_setting(reading: &Value, index: usize) -> f64 {
    reading["figures"]["settings"][index]["bytes_per_s"]["value"].as_f64().unwrap()
}

#[test]
fn a_map_of_a_throttled_device_has_no_result() {
    let Some(throttle) = Throttle::new() else { return };
    let lab = Lab::new();
    let Some(device) = Loop::on(&lab.data_file("image", 16 << 10)) else {
        return skip("no loop device is to be had");
    };
    let map = ["map", device.name(), "--places=16", "--read-size=16KiB"];
    let codes = |reading: &Value| {
        let warnings = reading["warnings"].as_array().cloned().unwrap_or_default();
        warnings.iter().map(|warning| warning["code"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(codes(&throttle.json(&lab, &map)), [""; 0], "nothing is limited yet");
    throttle.limit(&device, 24_000_000);
    let reading = throttle.json(&lab, &map);
    assert_eq!(codes(&reading), ["limited"]);
    assert!(reading["figures"]["limited"].as_str().unwrap().starts_with("reads at 24 MB/s"), "{reading}");
    let message = reading["warnings"][0]["message"].as_str().unwrap();
    assert!(message.contains("reads at 24 MB/s, control group blkio:/halfpower-test-"), "{message}");
    assert_eq!(codes(&lab.json([&map[..], &["--json", "--no-store"]].concat())), [""; 0], "who is not in the group");
}

/// Whether a process has a device open with O_DIRECT.
fn has_open_direct(pid: u32, device: &Loop) -> bool {
    let descriptors = std::fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
    let mut of_device = descriptors.filter(|entry| std::fs::read_link(entry.path()).is_ok_and(|path| path == device.0));
    of_device.any(|entry| {
        let info = format!("/proc/{pid}/fdinfo/{}", entry.file_name().display());
        let info = std::fs::read_to_string(info).unwrap_or_default();
        let flags = info.lines().find_map(|line| u32::from_str_radix(line.strip_prefix("flags:")?.trim(), 8).ok());
        flags.is_some_and(|flags| flags & OFlags::DIRECT.bits() != 0)
    })
}

#[test]
fn an_interrupt_on_a_throttled_device_is_answered_before_its_requests_are_done() {
    let Some(throttle) = Throttle::new() else { return };
    let lab = Lab::new();
    let Some(device) = Loop::on(&lab.data_file("image", 16 << 10)) else {
        return skip("no loop device is to be had");
    };
    // Four requests take 16 s.
    throttle.limit(&device, 256 << 10);
    let io = ["io", device.name(), "--request-size=1MiB", "--depth=4", "--buffering=direct", "--warmup=0s"];
    let mut command = throttle.command(&lab, &io);
    let said = || std::fs::read_to_string(lab.path("said")).unwrap();
    command.stdout(Stdio::null()).stderr(std::fs::File::create(lab.path("said")).unwrap());
    let mut running = Running::of(command.spawn().unwrap());
    let pid = running.pid();
    // The program looks at the device with O_DIRECT for a moment, too, before it measures.
    let mut polls = 0;
    wait_for("a worker to have the device open", || {
        polls = if has_open_direct(pid, &device) { polls + 1 } else { 0 };
        running.has_ended() || polls > 50
    });
    running.signal(Signal::INT);
    wait_for("the answer", || running.has_ended() || said().contains("Ctrl-C again stops at once."));
    assert!(!running.has_ended(), "requests are in flight: {}", said());
    running.signal(Signal::INT);
    assert_eq!(running.wait().status, Some(130), "{}", said());
    let both = "Stopping once the requests in flight are done; Ctrl-C again stops at once.\n\nStopped at once.";
    assert!(said().contains(both), "{}", said());
}

#[test]
fn a_throttled_device_has_the_rate_that_is_known() {
    let Some(throttle) = Throttle::new() else { return };
    let lab = Lab::new();
    let images = ["one", "two"].map(|name| lab.data_file(name, 16 << 10));
    let (Some(one), Some(two)) = (Loop::on(&images[0]), Loop::on(&images[1])) else {
        return skip("no loop device is to be had");
    };
    // A throttle gives back a tenth of a second that was not used, after a stall too: 2.5 % of 4 s.
    let how = ["--duration=4s", "--repetitions=2", "--each-and-all"];
    for rate in [12_000_000_u32, 40_000_000] {
        throttle.limit(&one, rate.into());
        let io = ["io", one.name(), "--buffering=direct", "--depth=4", "--warmup=500ms", "--duration=4s"];
        let of_all = |sample: &Value, _| sample["total"]["bytes_per_s"].as_f64().unwrap();
        measured(&[rate.into()], || throttle.json(&lab, &io), of_all);
        let link = [&["link", one.name()], &how[..]].concat();
        measured(&[rate.into()], || throttle.json(&lab, &link), of_setting);
    }
    // Two that share nothing: each has its own limit.
    throttle.limit(&two, 20_000_000);
    let link = [&["link", one.name(), two.name()], &how[..]].concat();
    let reading = measured(&[40e6, 20e6, 60e6], || throttle.json(&lab, &link), of_setting);
    assert_eq!(reading["figures"]["limit"], Value::Null);
    assert_ne!(reading["figures"]["sharing"], "limit");
    let medium = &reading["figures"]["targets"][1]["medium"];
    assert_eq!(medium["verdict"], "undecided", "a read that waits for the throttle looks like one of a medium");
    assert!(medium["limited"].as_str().unwrap().starts_with("reads at 20 MB/s"), "{medium}");
}

#[test]
fn a_survey_under_a_limit_is_longer_and_says_why() {
    let Some(throttle) = Throttle::new() else { return };
    let lab = Lab::new();
    let Some(device) = Loop::on(&lab.data_file("image", 16 << 10)) else {
        return skip("no loop device is to be had");
    };
    let plan = || throttle.json(&lab, &["run", "--quick", device.name(), "--dry-run"]);
    let durations_s = |plan: &Value| {
        let cells = plan["cells"].as_array().unwrap().iter();
        cells.map(|cell| cell["workload"]["limits"]["duration_s"].as_f64().unwrap()).collect::<Vec<_>>()
    };
    let free = plan();
    assert_eq!(free["lengthened"], Value::Null);
    assert!(durations_s(&free).iter().all(|duration_s| *duration_s < 0.1), "{free}");
    throttle.limit(&device, 24_000_000);
    let limited = plan();
    let why = limited["lengthened"].as_str().unwrap();
    assert!(why.contains("control group blkio:/halfpower-test-"), "{why}");
    assert!(durations_s(&limited).iter().all(|duration_s| *duration_s == 1.5), "{limited}");
}

#[test]
fn a_limit_that_is_reached_is_named_and_one_that_is_not_is_ruled_out() {
    let Some(throttle) = Throttle::new() else { return };
    let lab = Lab::new();
    let Some(device) = Loop::on(&lab.data_file("image", 16 << 10)) else {
        return skip("no loop device is to be had");
    };
    let io = [
        "io",
        device.name(),
        "--buffering=direct",
        "--depth=4",
        "--request-size=16KiB",
        "--warmup=300ms",
        "--duration=1s",
    ];
    let pace = |what: &str| {
        let said = throttle.said(&lab, &io);
        let line = said.lines().find(|line| line.trim_start().starts_with("bottleneck")).unwrap().to_owned();
        assert!(line.contains(what), "wanted {what}: {said}");
        line
    };
    throttle.set("read_bps", &device, 6_000_000);
    let line = pace("a control group's bandwidth limit");
    assert!(line.contains("of the limit of 6 MB/s for reads (blkio:/halfpower-test-"), "{line}");
    throttle.set("read_bps", &device, 1 << 50);
    throttle.set("read_iops", &device, 150);
    let line = pace("a control group's IOPS limit");
    assert!(line.contains("of the limit of 150 IOPS for reads"), "{line}");
    throttle.set("read_iops", &device, 1 << 30);
    let line = pace("the control group (");
    assert!(!line.contains("a control group's"), "{line}");
}

#[test]
fn what_a_loop_device_costs_is_seen_in_the_kernel_s_threads() {
    let lab = Lab::new();
    let file = lab.data_file("file", 16 << 10);
    let Some(device) = Loop::on(&file) else { return skip("needs root and a loop device") };
    let io = |target: &str| {
        // The warm-up has the file in the cache that the device's thread copies from.
        let io = ["io", target, "--buffering=direct", "--request-size=256KiB", "--warmup=300ms", "--duration=500ms"];
        lab.json([&io[..], &["--json"]].concat())
    };
    let sample = io(device.name());
    if sample["cpu"]["system"]["kernel_threads_s"].is_null() {
        return skip("no thread of the kernel is to be seen here");
    }
    let time_s = |sample: &Value| sample["cpu"]["system"]["kernel_threads_s"].as_f64().unwrap();
    // One thread of the kernel does the requests one after another and has nothing else to do but to copy.
    let used_s = time_s(&sample);
    assert!(used_s > 0.05, "{used_s} s: {}", sample["cpu"]);
    let kinds = sample["cpu"]["kernel_threads"].as_array().unwrap();
    let sum_s: f64 = kinds.iter().map(|kind| kind["time_s"].as_f64().unwrap()).sum();
    assert!((kinds[0]["kind"] == "kworker" || kinds[0]["kind"] == "loop") && sum_s <= used_s + 1e-9, "{kinds:?}");
    // The window is a little longer than the account's.
    let processors = sample["environment"]["cpus"].as_f64().unwrap();
    assert!(used_s <= (sample["cpu"]["system"]["wall_s"].as_f64().unwrap() + 0.1) * processors, "{used_s} s");
}
