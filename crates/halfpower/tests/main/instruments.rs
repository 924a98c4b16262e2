//! The instruments: their readings, and the targets that they reject.

use crate::support::{Lab, Loop, assert_refusal, codes, find, is_too_busy, outcome, skip};
use serde_json::Value;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

#[test]
fn memory_is_measured_remembered_and_drawn() {
    let lab = Lab::new();
    let memory = "memory --quick --threads=1 --sizes=16KiB,8MiB";
    let reading = lab.json((memory, ["--note=<i>quiet</i>"]));
    assert_eq!(reading["instrument"], "memory");
    let figures = &reading["figures"];
    let bandwidth = figures["bandwidth"].as_array().unwrap();
    for (kernel, size) in ["read", "write", "copy", "memcpy"].into_iter().flat_map(|it| [(it, 16 << 10), (it, 8 << 20)])
    {
        let cell = bandwidth.iter().find(|cell| cell["kernel"] == kernel && cell["size_bytes"] == size).unwrap();
        assert!(cell["bytes_per_s"]["median"].as_f64().unwrap() > 1e7, "{cell}");
    }
    assert_eq!(figures["studies"].as_array().map(Vec::len), Some(8));
    assert_eq!(figures["latency"].as_array().map(Vec::len), Some(2));
    assert_eq!(lab.json("runs show 1"), reading);
    let shown = lab.run("runs show 1").stdout;
    assert!(shown.starts_with("1 thread, 8 MiB each: read ") && shown.contains("double read"), "{shown}");
    let page = lab.page(1);
    assert!(page.contains("Bandwidth on 1 thread") && page.contains("&lt;i&gt;quiet"), "{page}");
    assert_eq!(lab.page(1), page, "a later page takes its place");
    lab.write("mine.html", "mine");
    lab.refuses("report 1 --output=mine.html", 1, "is no report of Halfpower");
}

#[test]
fn dropped_targets_are_cold_and_stored() {
    let lab = Lab::new();
    lab.data_file("file", 8192);
    assert_eq!(std::fs::read(lab.path("file")).unwrap().len(), 8 << 20);
    let outcome = lab.run(["drop-cache", "file", "--json", "--note=before the test"]);
    let reading = outcome.document();
    assert_eq!(reading["schema"], "halfpower.reading/1");
    assert_eq!((&reading["instrument"], &reading["note"]), (&"drop-cache".into(), &"before the test".into()));
    let target = &reading["figures"]["targets"][0];
    let after = target["steps"][0]["cached_after"].as_f64().unwrap();
    if after == 1.0 {
        return skip("the file system here keeps files in memory");
    }
    outcome.ended(0, "");
    assert_eq!((&target["steps"][0]["method"], &target["cached_before"]), (&"advice".into(), &1.0.into()));
    assert!(after < 0.01, "{after}");
    let list = lab.run("runs").stdout;
    assert!(list.contains("drop-cache on ") && list.contains("(before the test)"), "{list}");
    assert_eq!(lab.json("runs show 1"), reading);
    assert_eq!(lab.json("report 1 --output=page.html")["report"], "page.html");
    let page = lab.read("page.html");
    assert!(page.contains("<h1>Drop cache</h1>") && page.contains("before the test"), "{page}");
}

#[test]
fn link_reads_targets_alone_and_together() {
    let lab = Lab::new();
    lab.data_file("one", 8192);
    lab.data_file("two", 8192);
    if !lab.has_direct_ring() {
        return;
    }
    let reading = lab.json("link one two --duration=100ms --repetitions=2 --request-size=64KiB");
    let figures = &reading["figures"];
    assert_eq!((&reading["instrument"], &figures["depth"]), (&"link".into(), &2.into()));
    let targets = figures["targets"].as_array().unwrap();
    let have_medium = targets.iter().all(|target| target["medium"]["far_p50_ns"].as_u64().unwrap() > 0);
    assert!(targets.len() == 2 && have_medium, "{figures}");
    let settings = figures["settings"].as_array().unwrap();
    let of: Vec<_> = settings.iter().map(|setting| setting["targets"].to_string()).collect();
    assert_eq!(of, ["[0]", "[1]", "[0,1]"]);
    for setting in settings {
        let repetitions = setting["repetitions"].as_array().unwrap().len();
        assert!(repetitions == 2 && setting["bytes_per_s"]["value"].as_f64().unwrap() > 0.0, "{setting}");
    }
    assert!(settings[2]["of_alone"]["value"].as_f64().unwrap() > 0.0 && settings[0]["of_alone"].is_null(), "{figures}");
    assert_eq!(lab.json("runs show 1"), reading);
    let shown = lab.run("runs show 1").stdout;
    assert!(shown.contains("2 together") && shown.contains("of the sum of each alone"), "{shown}");
}

#[test]
fn an_interrupted_map_continues() {
    let lab = Lab::new();
    lab.data_file("file", 64 << 10);
    if !lab.has_direct_ring() {
        return;
    }
    let running = lab.start("map file --places=48 --read-size=64KiB --note=flat");
    let kept = || lab.query("SELECT record FROM readings", |row| row.get::<_, String>(0)).pop().unwrap_or_default();
    let running = running.until("some places to be kept", || kept().contains("\"place\":"));
    running.end(rustix::process::Signal::INT).ended(130, "");
    let probes = |reading: &Value| reading["figures"]["probes"].as_array().unwrap().clone();
    let before = probes(&lab.json("runs show 1"));
    assert!((1..48).contains(&before.len()), "{}", before.len());
    lab.refuses("map file --resume 1", 2, "cannot be used with");
    let whole = lab.json("map --resume 1");
    assert_eq!(probes(&whole).len(), 48);
    assert!(before.iter().all(|probe| probes(&whole).contains(probe)), "what was measured is kept");
    assert!(!whole["figures"]["bands"].as_array().unwrap().is_empty());
    assert_eq!((&whole["note"], &lab.json("runs show 1")), (&"flat".into(), &whole));
    lab.refuses("map --resume 1", 1, "complete");
}

#[test]
fn instruments_refuse_what_they_cannot_measure_in_their_own_words() {
    let lab = Lab::new();
    lab.data_file("file", 256);
    lab.data_file("large", 2048);
    lab.write("small", "a few bytes");
    for instrument in ["link", "map"] {
        lab.refuses(format!("{instrument} null:"), 2, "has no storage behind it");
        lab.refuses(format!("{instrument} none"), 1, "does not exist");
        lab.refuses(format!("{instrument} place"), 1, "is a directory");
    }
    for (instrument, instead) in
        [("link", ":disk` shows"), ("map", "` shows the zones"), ("inspect", ":disk`"), ("drop-cache", "--cache")]
    {
        let why = format!("is simulated; {instrument} needs files or devices of this host; ");
        let refused = lab.refuses(format!("{instrument} sim:hdd-18tb:disk"), 2, &why);
        assert!(refused.stderr.contains("hdd-18tb") && refused.stderr.contains(instead), "{}", refused.stderr);
        lab.refuses(format!("{instrument} sim:hdd-18tb"), 2, "names no volume");
    }
    lab.refuses_each([
        ("drop-cache null:", 1, "holds no data"),
        ("drop-cache file none", 1, "does not exist"),
        ("drop-cache place", 1, "is a directory"),
        ("map file --places=9999", 2, "use 1 to 4096"),
        ("map --resume=1", 1, "there is no run 1"),
        ("memory --sizes=10KiB", 2, "no multiple of 4 KiB"),
        ("memory --threads=100000", 2, "100000 threads on "),
        ("memory --sizes=1024TiB --threads=1", 1, "name smaller ones"),
        ("memory --sizes=large", 2, "large"),
        ("inspect nowhere", 1, "does not exist"),
        ("inspect /dev/zero", 1, "character device"),
    ]);
    let doctor = lab.json("doctor .");
    let instruments = doctor["instruments"].as_array().unwrap().iter();
    let names: Vec<&str> = instruments.map(|one| one["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["block phases", "counters", "soaker", "firmware", "drop caches"]);
    if !lab.has_direct_ring() {
        return;
    }
    for (words, needle) in [
        ("map file --read-size=64KiB", "does not hold 256 places"),
        ("link file", "file has"),
        ("link large --region=10GiB", "use a smaller --region"),
        ("link large --request-size=777", "--request-size is 777 B; use a multiple"),
        ("link large --request-size=2MiB --region=1MiB", "or a larger --region"),
        ("map small", "less than one read; name a larger target"),
    ] {
        let refused = lab.run(words);
        assert_refusal(&refused, 2, needle, words);
        assert!(!refused.stderr.contains("--size ") && !refused.stderr.contains("--buffering "), "{}", refused.stderr);
    }
    for (size, warnings) in [("1", vec!["read_size"]), ("4KiB", vec![])] {
        let map = lab.json(format!("map file --places=2 --read-size={size} --no-store"));
        assert_eq!(map["figures"]["read_bytes"], 4096, "{size}");
        assert_eq!(codes(&map), warnings, "{size}");
    }
    let one = lab.run("map file --places=1 --read-size=4KiB --no-store").stdout;
    assert!(one.contains("at 1 place, ") && !one.contains("Warning"), "{one}");
}

/// Bursts of about a millisecond, with pauses three times as long, until `stop`. Returns the share of time that the thread
/// used by its CPU time. The lengths vary, so that they do not coincide with ticks.
fn burn_a_quarter(stop: &AtomicBool) -> f64 {
    let cpu_time = || rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    let seconds = |time: rustix::time::Timespec| time.tv_sec as f64 + time.tv_nsec as f64 / 1e9;
    let (wall, before) = (Instant::now(), seconds(cpu_time()));
    for number in 0_u64.. {
        if stop.load(Relaxed) {
            break;
        }
        let burst = Duration::from_micros(700 + number * 37 % 600);
        let from = seconds(cpu_time());
        while seconds(cpu_time()) - from < burst.as_secs_f64() {}
        std::thread::sleep(burst * 3);
    }
    (seconds(cpu_time()) - before) / wall.elapsed().as_secs_f64()
}

/// `bench/idle_truth.py` measures the precision of the loops on an idle machine.
#[test]
fn the_soaker_sees_what_is_burnt_and_runs_at_the_lowest_priority() {
    let lab = Lab::new();
    let stop = AtomicBool::new(false);
    let (burnt, soaked) = std::thread::scope(|scope| {
        let burner = scope.spawn(|| burn_a_quarter(&stop));
        let soaked = lab.run("idle 2 --json --no-store");
        stop.store(true, Relaxed);
        (burner.join().unwrap(), soaked)
    });
    if is_too_busy(&soaked) {
        return;
    }
    let reading = soaked.document();
    assert_eq!(reading["instrument"], "idle");
    let (figures, account) = (&reading["figures"], &reading["figures"]["account"]);
    let cpus = figures["cpus"].as_array().unwrap();
    assert!(cpus.iter().all(|cpu| cpu["counts_per_s"].as_f64().unwrap() > 1000.0), "{figures}");
    if cpus.iter().any(|cpu| cpu["calibration_busy_share"].as_f64().unwrap() > 0.05) {
        return skip("others were at work while the loops were calibrated");
    }
    // Others may be at work meanwhile as well, so this is the least that the loops must see, and the most they can have had.
    let seen = cpus.len() as f64 * figures["busy_share"].as_f64().unwrap();
    let error = cpus.len() as f64 * figures["error_share"].as_f64().unwrap();
    assert!(seen > burnt - 0.03 - error, "burnt {burnt}, seen {seen} ± {error}");
    // What the loops had the kernel counts as time at the lowest priority, with that of others.
    let nice = account["nice_s"].as_f64().unwrap() / account["wall_s"].as_f64().unwrap();
    let loops = cpus.len() as f64 - seen;
    assert!(nice > loops - 0.1 * cpus.len() as f64 - error, "the loops had {loops} CPUs of {nice}: {account}");
}

#[test]
fn a_sample_with_a_soaker_has_both_bounds_and_they_do_not_cross() {
    let lab = Lab::new();
    lab.data_file("file", 4096);
    let options = "io file --buffering=buffered --cache=warm --duration=400ms --warmup=3s --json";
    let plain = lab.run(options).document();
    assert_eq!((&plain["workload"]["cpu_accounting"], &plain["cpu"]["upper_s"]), (&"account".into(), &().into()));
    assert!(plain["cpu"]["context_switches"]["voluntary"].is_u64(), "{}", plain["cpu"]);
    let wall_s = plain["cpu"]["system"]["wall_s"].as_f64().unwrap();
    assert!((0.1..2.5).contains(&wall_s), "the measured part without the warm-up of 3 s: {wall_s}");
    let soaked = lab.run((options, "--cpu-accounting=soaker"));
    if is_too_busy(&soaked) {
        return;
    }
    let soaked = soaked.document();
    let cpu = &soaked["cpu"];
    let figure = |value: &Value| value.as_f64().unwrap();
    let lower_s = figure(&cpu["lower"]["user_s"]) + figure(&cpu["lower"]["system_s"]);
    let (upper_s, error_s) = (figure(&cpu["upper_s"]), figure(&cpu["soaker"]["error_s"]));
    assert!(lower_s > 0.0 && lower_s <= upper_s + error_s, "{cpu}");
    assert!(upper_s <= 1.05 * figure(&soaked["elapsed_s"]) * figure(&cpu["soaker"]["cpus"]), "{cpu}");
    assert!(figure(&cpu["upper_us_per_request"]) > 0.0 && cpu["upper_method"] == "soaker");
    assert_ne!(cpu["counters_unavailable"].is_string(), cpu["clocks_per_byte"].is_f64(), "{cpu}");
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
    let reading = lab.json("inspect place --note=today");
    assert_eq!((&reading["instrument"], &reading["note"]), (&"inspect".into(), &"today".into()));
    assert_eq!(lab.json("runs show 1"), reading);
    let target = &reading["figures"]["targets"][0];
    assert_eq!(target["levels"], reading["environment"]["target"]["levels"]);
    assert_eq!(find(&target["levels"], "name", "memory")["channels"][0]["at"], "memory");
    // The same facts by the other road.
    let facts = &lab.json("doctor place")["environment"]["target"];
    assert_eq!((&target["filesystem"]["kind"], &target["levels"]), (&facts["filesystem"], &facts["levels"]));
    let text = lab.run("inspect place --no-store").stdout;
    assert!(text.contains("This machine") && text.contains("\n  memory "), "{text}");
    if target["device"].is_null() {
        return skip("the file system here is on no block device");
    }
    let disk = disk(&target["device"]);
    assert_eq!(disk["transport"], facts["transport"]);
    assert!(text.contains(disk["name"].as_str().unwrap()) && text.contains("\n  device "), "{text}");
    if disk["transport"] == "virtio" {
        let link = find(&target["levels"], "name", "link");
        assert!(link["channels"][0]["at"].as_str().unwrap().starts_with("virtio"), "{link}");
        assert!(link["pap_bytes_per_s"].is_null() && link["source"].as_str().unwrap().contains("hypervisor"), "{link}");
    }
}

#[test]
fn whoever_may_not_read_a_device_may_inspect_it() {
    let lab = Lab::new();
    let image = lab.data_file("image", 2048);
    let Some(lower) = Loop::on(&image) else { return };
    let Some(upper) = Loop::on(&lower.device) else { return };
    let inspect = format!("inspect place {} --json --no-store", upper.name());
    let Some(theirs) = lab.as_nobody(&inspect) else { return };
    let [ours, theirs] = [lab.command(&inspect), theirs].map(|command| outcome(command).document()["figures"].take());
    let [place, target] = [0, 1].map(|number| &ours["targets"][number]);
    let (top, below) = (&target["device"], &target["device"]["backing"]["device"]);
    assert_eq!((&top["kind"], &top["size_bytes"]), (&"loop".into(), &(2 << 20).into()));
    assert_eq!((&top["backing"]["path"], &top["backing"]["filesystem"]), (&lower.name().into(), &Value::Null));
    assert_eq!(format!("/dev/{}", below["name"].as_str().unwrap()), lower.name());
    assert_eq!(below["backing"]["path"], image.canonicalize().unwrap().to_str().unwrap());
    for key in ["filesystem", "device"] {
        assert_eq!(below["backing"][key], place[key], "{key}");
    }
    assert_eq!(target["levels"], place["levels"], "what lies below is the same");
    assert_eq!(theirs["targets"][1]["device"]["name"], target["device"]["name"]);
    let memory = &theirs["machine"]["memory"];
    if Path::new("/sys/firmware/dmi/tables/DMI").exists() {
        assert_eq!(memory["source"], "the firmware's tables are not available: needs root");
    }
    assert!(memory["pap_bytes_per_s"].is_null(), "{memory}");
}

#[test]
fn a_peak_that_is_given_is_kept() {
    let lab = Lab::new();
    lab.data_file("data", 64);
    let given = "--pap device=3500MB/s --pap bus=8GB/s";
    let inspected = lab.json(("inspect data", given));
    let sample = lab.json(("io data --requests=1", given));
    for target in [&inspected["figures"]["targets"][0], &sample["environment"]["target"]] {
        let device = find(&target["levels"], "name", "device");
        assert_eq!((&device["pap_bytes_per_s"], &device["source"]), (&3.5e9.into(), &"given".into()));
        assert_eq!(find(&target["levels"], "name", "bus")["pap_bytes_per_s"], 8e9);
    }
    for sample in [sample, lab.json(("io null: --requests=1", given))] {
        assert_eq!(sample["environment"]["target"]["pap_bytes_per_s"], 3.5e9);
    }
    let tiny = |pap: &str| lab.read("tiny.toml").replace("[trial]", &format!("[target]\npap = {pap}\n[trial]"));
    lab.write("peaks.toml", tiny("{ device = \"100MB/s\", link = \"600MB/s\" }"));
    let pap = |run: &Value| {
        let target = &run["environment"]["target"];
        let link = find(&target["levels"], "name", "link");
        (target["pap_bytes_per_s"].as_f64(), link["pap_bytes_per_s"].as_f64())
    };
    let run = "study run peaks.toml --target=data --no-report";
    assert_eq!(pap(&lab.json(run)), (Some(1e8), Some(6e8)));
    let over = lab.json((run, "--pap=device=200MB/s"));
    assert_eq!(pap(&over), (Some(2e8), Some(6e8)), "what is typed counts before what the study says");
    let records = lab.records().split_off(lab.records().len() - lab.samples(over["run"].as_i64().unwrap()).len());
    let is_kept = |record: &Value| record["environment"]["target"]["pap_bytes_per_s"] == 2e8;
    assert!(records.len() == 4 && records.iter().all(is_kept), "{records:?}");

    lab.refuses("inspect null: --pap=device=1MB/s --pap=device=2MB/s", 2, "--pap names device twice");
    let rows = [
        ("3500MB/s", "3500MB/s"),
        ("cable=1GB/s", "1GB/s"),
        ("device=fast", "fast"),
        ("device=0MB/s", "0MB/s"),
        ("read_limit=1MB/s", "1MB/s"),
        ("device=1MB/s --pap=device=2MB/s", "--pap names device twice"),
    ];
    lab.refuses_each(rows.map(|(peak, needle)| (format!("io data --requests=1 --pap {peak}"), 2, needle)));
    for (pap, needle) in [
        ("{ cable = \"1MB/s\" }", "cable"),
        ("{ device = 100 }", "not what belongs"),
        ("\"1MB/s\"", "text is not what belongs"),
    ] {
        lab.write("wrong.toml", tiny(pap));
        lab.refuses("study check wrong.toml", 2, needle);
    }
}
