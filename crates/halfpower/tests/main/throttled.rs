//! Devices of known rates: the kernel throttles reads of a loop device (cgroup v1, blkio), and what is measured is that.

use crate::support::{Lab, Loop, PROGRAM, Running, Words, codes, find, is_root, outcome, skip, wait_for};
use rustix::fs::OFlags;
use rustix::process::Signal;
use serde_json::Value;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

const BLKIO: &str = "/sys/fs/cgroup/blkio";

/// A cgroup of our own that throttles reads; removed in the end.
struct Throttle(PathBuf);

impl Throttle {
    /// None where there is no such controller; prints the reason.
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

    /// With a laboratory and a device to throttle.
    fn with_device() -> Option<(Throttle, Lab, Loop)> {
        let (throttle, lab) = (Throttle::new()?, Lab::new());
        let device = Loop::on(&lab.data_file("image", 16 << 10))?;
        Some((throttle, lab, device))
    }

    /// Limits what is named in the kernel's words, `read_bps` or `read_iops`.
    fn limit(&self, what: &str, device: &Loop, limit: u64) {
        let number = std::fs::metadata(&device.device).unwrap().rdev();
        let line = format!("{}:{} {limit}", rustix::fs::major(number), rustix::fs::minor(number));
        std::fs::write(self.0.join(format!("blkio.throttle.{what}_device")), line).unwrap();
    }

    /// Runs the program in the group; gives its document.
    fn json(&self, lab: &Lab, words: &str) -> Value {
        serde_json::from_str(&self.prints(lab, &format!("{words} --json"))).unwrap()
    }

    fn prints(&self, lab: &Lab, words: &str) -> String {
        outcome(self.command(lab, words)).ended(0, "").stdout
    }

    fn command(&self, lab: &Lab, words: &str) -> Command {
        let enter = format!("echo $$ > '{}' && exec \"$0\" \"$@\"", self.0.join("cgroup.procs").display());
        lab.program("sh", (["-c", &enter, PROGRAM], (words, "--no-store")).words())
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
fn a_limit_is_shown_lengthens_a_survey_and_leaves_a_map_without_a_result() {
    let Some((throttle, lab, device)) = Throttle::with_device() else { return };
    let device_name = device.name();
    let map = format!("map {device_name} --places=16 --read-size=16KiB");
    let survey = format!("run --quick {device_name} --dry-run");
    let inspect = format!("inspect {device_name}");
    let durations_s = |plan: &Value| {
        let cells = plan["cells"].as_array().unwrap().iter();
        cells.map(|cell| cell["workload"]["limits"]["duration_s"].as_f64().unwrap()).collect::<Vec<_>>()
    };
    assert_eq!(codes(&throttle.json(&lab, &map)), [""; 0], "nothing is limited yet");
    let free = throttle.json(&lab, &survey);
    assert_eq!(free["lengthened"], Value::Null);
    assert!(durations_s(&free).iter().all(|duration_s| *duration_s < 0.1), "{free}");

    throttle.limit("read_bps", &device, 24_000_000);
    let reading = throttle.json(&lab, &map);
    assert_eq!(codes(&reading), ["limited"]);
    assert!(reading["figures"]["limited"].as_str().unwrap().starts_with("reads at 24 MB/s"), "{reading}");
    let message = reading["warnings"][0]["message"].as_str().unwrap();
    assert!(message.contains("reads at 24 MB/s, control group blkio:/halfpower-test-"), "{message}");
    let limited = throttle.json(&lab, &survey);
    assert!(limited["lengthened"].as_str().unwrap().contains("control group blkio:/halfpower-test-"), "{limited}");
    assert!(durations_s(&limited).iter().all(|duration_s| *duration_s == 1.5), "{limited}");
    let target = &throttle.json(&lab, &inspect)["figures"]["targets"][0];
    let limit = &target["device"]["limits"][0];
    assert!(limit["read_bytes_per_s"] == 24e6 && limit["write_bytes_per_s"].is_null(), "{target}");
    assert!(limit["group"].as_str().unwrap().starts_with("blkio:/halfpower"), "{target}");
    assert_eq!(find(&target["levels"], "name", "read_limit")["pap_bytes_per_s"], 24e6);
    assert!(find(&target["levels"], "name", "write_limit").is_null());
    let text = throttle.prints(&lab, &inspect);
    assert!(text.contains("throttled") && text.contains("read limit") && text.contains("24 MB/s"), "{text}");
    let sample = outcome(throttle.command(&lab, &format!("io {device_name} --requests=1")));
    assert!(sample.stderr.contains("throttled to 24 MB/s"), "{}", sample.stderr);

    // A process outside the group is not throttled.
    assert_eq!(codes(&lab.json((map, "--no-store"))), [""; 0]);
    let free = lab.json((inspect, "--no-store"));
    assert!(find(&free["figures"]["targets"][0]["levels"], "name", "read_limit").is_null());
}

/// Whether a process has a device open with O_DIRECT.
fn has_open_direct(pid: u32, device: &Loop) -> bool {
    let descriptors = std::fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
    let is_device = |path: PathBuf| path == device.device;
    let mut of_device = descriptors.filter(|entry| std::fs::read_link(entry.path()).is_ok_and(is_device));
    of_device.any(|entry| {
        let info = format!("/proc/{pid}/fdinfo/{}", entry.file_name().display());
        let info = std::fs::read_to_string(info).unwrap_or_default();
        let flags = info.lines().find_map(|line| u32::from_str_radix(line.strip_prefix("flags:")?.trim(), 8).ok());
        flags.is_some_and(|flags| flags & OFlags::DIRECT.bits() != 0)
    })
}

#[test]
fn an_interrupt_on_a_throttled_device_is_answered_before_its_requests_are_done() {
    let Some((throttle, lab, device)) = Throttle::with_device() else { return };
    // Four requests take 16 s.
    throttle.limit("read_bps", &device, 256 << 10);
    let io = format!("io {} --request-size=1MiB --depth=4 --buffering=direct --warmup=0s", device.name());
    let mut command = throttle.command(&lab, &io);
    let mut running = Running::with_stderr(command.stdout(Stdio::null()), lab.write("said", ""));
    let pid = running.pid();
    // The program looks at the device with O_DIRECT for a moment, too, before it measures.
    let mut polls = 0;
    wait_for("a worker to have the device open", || {
        polls = if has_open_direct(pid, &device) { polls + 1 } else { 0 };
        running.has_ended() || polls > 50
    });
    running.signal(Signal::INT);
    let answer = || lab.read("said").contains("Ctrl-C again stops at once.");
    let mut running = running.until("the answer", answer);
    assert!(!running.has_ended(), "requests are in flight: {}", lab.read("said"));
    assert_eq!(running.end(Signal::INT).status, Some(130), "{}", lab.read("said"));
    let both = "Stopping once the requests in flight are done; Ctrl-C again stops at once.\n\nStopped at once.";
    assert!(lab.read("said").contains(both), "{}", lab.read("said"));
}

#[test]
fn a_throttled_device_has_the_rate_that_is_known() {
    let Some((throttle, lab, one)) = Throttle::with_device() else { return };
    let others = ["two", "three", "four"].map(|name| Loop::on(&lab.data_file(name, 16 << 10)));
    let [Some(two), Some(three), Some(four)] = others else { return };
    // A throttle gives back a tenth of a second that was not used, after a stall too: 2.5 % of 4 s.
    let how = "--duration=4s --repetitions=2 --each-and-all";
    let measure_alone = |device: &Loop, rate: u32| {
        throttle.limit("read_bps", device, rate.into());
        let io = format!("io {} --buffering=direct --depth=4 --warmup=500ms --duration=4s", device.name());
        let of_all = |sample: &Value, _| sample["total"]["bytes_per_s"].as_f64().unwrap();
        measured(&[rate.into()], || throttle.json(&lab, &io), of_all);
        let link = format!("link {} {how}", device.name());
        measured(&[rate.into()], || throttle.json(&lab, &link), of_setting);
    };
    // They share nothing, and all are measured at once: each has its own limit.
    throttle.limit("read_bps", &one, 40_000_000);
    throttle.limit("read_bps", &two, 20_000_000);
    let link = format!("link {} {} {how}", one.name(), two.name());
    let reading = std::thread::scope(|scope| {
        scope.spawn(|| measure_alone(&three, 12_000_000));
        scope.spawn(|| measure_alone(&four, 40_000_000));
        measured(&[40e6, 20e6, 60e6], || throttle.json(&lab, &link), of_setting)
    });
    assert_eq!(reading["figures"]["limit"], Value::Null);
    assert_ne!(reading["figures"]["sharing"], "limit");
    let medium = &reading["figures"]["targets"][1]["medium"];
    assert_eq!(medium["verdict"], "undecided", "a read that waits for the throttle looks like one of a medium");
    assert!(medium["limited"].as_str().unwrap().starts_with("reads at 20 MB/s"), "{medium}");
}

#[test]
fn a_limit_that_is_reached_is_named_and_one_that_is_not_is_ruled_out() {
    let Some((throttle, lab, device)) = Throttle::with_device() else { return };
    let how = "--buffering=direct --depth=4 --request-size=16KiB --warmup=300ms --duration=1s";
    let pace = |what: &str, why: &str| {
        let printed = throttle.prints(&lab, &format!("io {} {how}", device.name()));
        let line = printed.lines().find(|line| line.trim_start().starts_with("bottleneck")).unwrap().to_owned();
        assert!(line.contains(what) && line.contains(why), "wanted {what}: {printed}");
        line
    };
    throttle.limit("read_bps", &device, 6_000_000);
    pace("a control group's bandwidth limit", "of the limit of 6 MB/s for reads (blkio:/halfpower-test-");
    throttle.limit("read_bps", &device, 1 << 50);
    throttle.limit("read_iops", &device, 150);
    pace("a control group's IOPS limit", "of the limit of 150 IOPS for reads");
    throttle.limit("read_iops", &device, 1 << 30);
    let line = pace("the control group (", "");
    assert!(!line.contains("a control group's"), "{line}");
}

#[test]
fn what_a_loop_device_costs_is_seen_in_the_kernel_s_threads() {
    let lab = Lab::new();
    let Some(device) = Loop::on(&lab.data_file("file", 16 << 10)) else { return };
    // The warm-up has the file in the cache that the device's thread copies from.
    let how = "--buffering=direct --request-size=256KiB --warmup=300ms --duration=500ms";
    let sample = lab.json(format!("io {} {how}", device.name()));
    let Some(used_s) = sample["cpu"]["system"]["kernel_threads_s"].as_f64() else {
        return skip("no thread of the kernel is to be seen here");
    };
    // A thread of the kernel copies every byte, no faster than memory is.
    let bytes = sample["total"]["bytes"].as_f64().unwrap();
    assert!(used_s > bytes / 100e9, "{used_s} s for {bytes} B: {}", sample["cpu"]);
    let kinds = sample["cpu"]["kernel_threads"].as_array().unwrap();
    let sum_s: f64 = kinds.iter().map(|kind| kind["time_s"].as_f64().unwrap()).sum();
    let does_requests = kinds.iter().any(|kind| kind["kind"] == "kworker" || kind["kind"] == "loop");
    assert!(does_requests && sum_s <= used_s + 1e-9, "{kinds:?}");
    // The window is a little longer than the account's.
    let cpus = sample["environment"]["cpus"].as_f64().unwrap();
    assert!(used_s <= (sample["cpu"]["system"]["wall_s"].as_f64().unwrap() + 0.1) * cpus, "{used_s} s");
}
