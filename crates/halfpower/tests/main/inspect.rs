//! `halfpower inspect`, and peaks that are given.

use crate::device::Loop;
use crate::support::{Lab, PROGRAM, TINY, is_root, outcome, skip};
use rustix::fs::{major, minor};
use serde_json::Value;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The level of a name; null where there is none.
fn level<'v>(levels: &'v Value, name: &str) -> &'v Value {
    let found = levels.as_array().unwrap().iter().find(|level| level["name"] == name);
    found.unwrap_or(&Value::Null)
}

/// The whole disk below a device of a record.
fn disk(device: &Value) -> &Value {
    match &device["below"][0] {
        Value::Null => device,
        below => disk(below),
    }
}

#[test]
fn a_directory_is_followed_to_its_disk() {
    let lab = Lab::new();
    let reading = lab.json(["inspect", "place", "--json", "--note=today"]);
    assert_eq!((&reading["instrument"], &reading["note"]), (&"inspect".into(), &"today".into()));
    assert_eq!(lab.json(["runs", "show", "1", "--json"]), reading);
    let target = &reading["figures"]["targets"][0];
    assert_eq!(target["levels"], reading["environment"]["target"]["levels"]);
    assert_eq!(level(&target["levels"], "memory")["channels"][0]["at"], "memory");
    // The same facts by the other road.
    let facts = &lab.json(["doctor", "place", "--json"])["environment"]["target"];
    assert_eq!(target["filesystem"]["kind"], facts["filesystem"]);
    assert_eq!(target["levels"], facts["levels"]);
    let text = lab.run(["inspect", "place", "--no-store"]).stdout;
    assert!(text.contains("This machine") && text.contains("\n  memory "), "{text}");
    if target["device"].is_null() {
        return skip("the file system here is on no block device");
    }
    let disk = disk(&target["device"]);
    assert_eq!(disk["transport"], facts["transport"]);
    assert!(text.contains(disk["name"].as_str().unwrap()) && text.contains("\n  device "), "{text}");
    if disk["transport"] == "virtio" {
        let link = level(&target["levels"], "link");
        assert!(link["channels"][0]["at"].as_str().unwrap().starts_with("virtio"), "{link}");
        assert!(link["pap_bytes_per_s"].is_null() && link["source"].as_str().unwrap().contains("hypervisor"), "{link}");
    }
}

#[test]
fn a_loop_device_shows_the_whole_stack() {
    let lab = Lab::new();
    let image = lab.data_file("image", 2048);
    let Some(lower) = Loop::on(&image) else { return };
    let Some(upper) = Loop::on(&lower.device) else { return };
    let reading = lab.json(["inspect", "place", upper.name(), "--json", "--no-store"]);
    let [place, target] = [0, 1].map(|number| &reading["figures"]["targets"][number]);
    let top = &target["device"];
    assert_eq!((&top["kind"], &top["size_bytes"]), (&"loop".into(), &(2 << 20).into()));
    assert_eq!(top["backing"]["path"], lower.name());
    assert!(top["backing"]["filesystem"].is_null());
    let below = &top["backing"]["device"];
    assert_eq!(format!("/dev/{}", below["name"].as_str().unwrap()), lower.name());
    assert_eq!(below["backing"]["path"], image.canonicalize().unwrap().to_str().unwrap());
    assert_eq!(below["backing"]["filesystem"], place["filesystem"]);
    assert_eq!(below["backing"]["device"], place["device"]);
    assert_eq!(target["levels"], place["levels"], "what lies below is the same");
}

#[test]
fn whoever_may_not_read_a_disk_may_inspect_it() {
    let lab = Lab::new();
    let image = lab.data_file("image", 1024);
    let Some(device) = Loop::on(&image) else { return };
    let mut command = lab.command(["inspect", device.name(), "--json", "--no-store"]);
    command.uid(65534).gid(65534);
    if lab.command(["--version"]).uid(65534).output().is_err() {
        return skip(&format!("other users cannot run {PROGRAM}"));
    }
    let outcome = outcome(command);
    assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
    let theirs: Value = serde_json::from_str(&outcome.stdout).unwrap();
    let ours = lab.json(["inspect", device.name(), "--json", "--no-store"]);
    let device = |reading: &Value| reading["figures"]["targets"][0]["device"]["name"].clone();
    assert_eq!(device(&theirs), device(&ours));
    let memory = &theirs["figures"]["machine"]["memory"];
    if Path::new("/sys/firmware/dmi/tables/DMI").exists() {
        assert_eq!(memory["source"], "the firmware's tables are not available: needs root");
    }
    assert!(memory["pap_bytes_per_s"].is_null(), "{memory}");
}

/// A control group of our own, removed in the end.
struct ControlGroup(PathBuf);

impl ControlGroup {
    /// None where none is to be had, which is said.
    fn new() -> Option<ControlGroup> {
        if !is_root() {
            return None;
        }
        let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap();
        let blkio = mounts.lines().find(|line| line.contains(" - cgroup ") && line.ends_with("blkio"));
        let Some(point) = blkio.and_then(|line| line.split(' ').nth(4)) else {
            skip("the blkio control group of version 1 is not mounted");
            return None;
        };
        let group = Path::new(point).join(format!("halfpower-test-{}", std::process::id()));
        if std::fs::create_dir(&group).is_err() {
            skip("no control group can be made");
            return None;
        }
        Some(ControlGroup(group))
    }

    /// The program in it.
    fn command(&self, lab: &Lab, arguments: &[&str]) -> Command {
        let plain = lab.command(arguments);
        let mut command = Command::new("sh");
        command.arg("-c").arg(r#"echo $$ > "$0/cgroup.procs" && exec "$@""#).arg(&self.0);
        command.arg(plain.get_program()).args(plain.get_args()).current_dir(plain.get_current_dir().unwrap());
        command.env("XDG_DATA_HOME", lab.path("home"));
        command
    }
}

impl Drop for ControlGroup {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir(&self.0);
    }
}

#[test]
fn a_limit_that_is_set_is_shown() {
    let lab = Lab::new();
    let image = lab.data_file("image", 1024);
    let Some(device) = Loop::on(&image) else { return };
    let Some(group) = ControlGroup::new() else { return };
    let number = std::fs::metadata(&device.device).unwrap().rdev();
    let number = format!("{}:{}", major(number), minor(number));
    if std::fs::write(group.0.join("blkio.throttle.read_bps_device"), format!("{number} 24000000")).is_err() {
        return skip("the kernel does not throttle block devices");
    }
    let limited = outcome(group.command(&lab, &["inspect", device.name(), "--json", "--no-store"]));
    assert_eq!(limited.status, Some(0), "{}", limited.stderr);
    let reading: Value = serde_json::from_str(&limited.stdout).unwrap();
    let target = &reading["figures"]["targets"][0];
    let limit = &target["device"]["limits"][0];
    assert_eq!(limit["read_bytes_per_s"], 24e6, "{target}");
    assert!(limit["write_bytes_per_s"].is_null() && limit["group"].as_str().unwrap().starts_with("blkio:/halfpower"));
    assert_eq!(level(&target["levels"], "read_limit")["pap_bytes_per_s"], 24e6);
    assert!(level(&target["levels"], "write_limit").is_null());
    let text = outcome(group.command(&lab, &["inspect", device.name(), "--no-store"])).stdout;
    assert!(text.contains("throttled") && text.contains("read limit") && text.contains("24 MB/s"), "{text}");
    let sample = outcome(group.command(&lab, &["io", device.name(), "--requests=1", "--no-store"]));
    assert!(sample.stderr.contains("throttled to 24 MB/s"), "{}", sample.stderr);
    // A process outside the group is not throttled.
    let free = lab.json(["inspect", device.name(), "--json", "--no-store"]);
    assert!(level(&free["figures"]["targets"][0]["levels"], "read_limit").is_null());
}

#[test]
fn a_peak_that_is_given_is_kept() {
    let lab = Lab::new();
    lab.data_file("data", 64);
    lab.refuses(["inspect", "null:", "--pap=device=1MB/s", "--pap=device=2MB/s"], 2, "--pap names device twice");
    let given = ["--pap", "device=3500MB/s", "--pap", "bus=8GB/s", "--json"];
    let inspected = lab.json([&["inspect", "data"][..], &given].concat());
    let sample = lab.json([&["io", "data", "--requests=1"][..], &given].concat());
    for target in [&inspected["figures"]["targets"][0], &sample["environment"]["target"]] {
        assert_eq!(level(&target["levels"], "device")["pap_bytes_per_s"], 3.5e9);
        assert_eq!(level(&target["levels"], "device")["source"], "given");
        assert_eq!(level(&target["levels"], "bus")["pap_bytes_per_s"], 8e9);
    }
    assert_eq!(sample["environment"]["target"]["pap_bytes_per_s"], 3.5e9);
    let null = lab.json([&["io", "null:", "--requests=1"][..], &given].concat());
    assert_eq!(null["environment"]["target"]["pap_bytes_per_s"], 3.5e9);

    let study = TINY.replace("[trial]", "[target]\npap = { device = \"100MB/s\", link = \"600MB/s\" }\n[trial]");
    lab.write("peaks.toml", study.as_bytes());
    let run = ["study", "run", "peaks.toml", "--target=data", "--no-report", "--json"];
    let pap = |run: &Value| {
        let target = &run["environment"]["target"];
        (target["pap_bytes_per_s"].as_f64(), level(&target["levels"], "link")["pap_bytes_per_s"].as_f64())
    };
    assert_eq!(pap(&lab.json(run)), (Some(1e8), Some(6e8)));
    let over = lab.json([&run[..], &["--pap=device=200MB/s"]].concat());
    assert_eq!(pap(&over), (Some(2e8), Some(6e8)), "what is typed counts before what the study says");
    for record in lab.samples(over["run"].as_i64().unwrap()) {
        let sample: Value = serde_json::from_str(&record.2).unwrap();
        assert_eq!(sample["environment"]["target"]["pap_bytes_per_s"], 2e8);
    }
}

#[test]
fn what_is_no_peak_is_refused() {
    let lab = Lab::new();
    lab.data_file("data", 64);
    for given in ["3500MB/s", "cable=1GB/s", "device=fast", "device=0MB/s", "read_limit=1MB/s"] {
        lab.refuses(["io", "data", "--requests=1", "--pap", given], 2, given.split('=').next_back().unwrap_or(given));
    }
    for (pap, needle) in [
        ("{ cable = \"1MB/s\" }", "cable"),
        ("{ device = 100 }", "not what belongs"),
        ("\"1MB/s\"", "text is not what belongs"),
    ] {
        lab.write("wrong.toml", TINY.replace("[trial]", &format!("[target]\npap = {pap}\n[trial]")).as_bytes());
        lab.refuses(["study", "check", "wrong.toml"], 2, needle);
    }
    lab.refuses(["inspect", "nowhere"], 1, "does not exist");
    lab.refuses(["inspect", "/dev/zero"], 1, "character device");
}
