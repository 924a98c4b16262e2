//! The instruments: what each reads, keeps and refuses.

use crate::support::{Lab, assert_refusal, is_too_busy, skip, wait_for};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

#[test]
fn dropped_targets_are_cold_and_stored() {
    let lab = Lab::new();
    lab.data_file("file", 8192);
    let read = |lab: &Lab| std::fs::read(lab.path("file")).unwrap().len();
    assert_eq!(read(&lab), 8 << 20);
    let outcome = lab.run(["drop-cache", "file", "--json", "--note=before the test"]);
    let reading: serde_json::Value = serde_json::from_str(&outcome.stdout).unwrap();
    assert_eq!(reading["schema"], "halfpower.reading/1");
    assert_eq!((&reading["instrument"], &reading["note"]), (&"drop-cache".into(), &"before the test".into()));
    let target = &reading["figures"]["targets"][0];
    let after = target["steps"][0]["cached_after"].as_f64().unwrap();
    if after == 1.0 {
        return skip("the file system here keeps files in memory");
    }
    assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
    assert_eq!((&target["steps"][0]["method"], &target["cached_before"]), (&"advice".into(), &1.0.into()));
    assert!(after < 0.01, "{after}");
    let list = lab.run(["runs"]).stdout;
    assert!(list.contains("drop-cache on ") && list.contains("(before the test)"), "{list}");
    let shown = lab.json(["runs", "show", "1", "--json"]);
    assert_eq!(shown, reading);
    let report = lab.json(["report", "1", "--json", "--output=page.html"]);
    assert_eq!(report["report"], "page.html");
    let page = std::fs::read_to_string(lab.path("page.html")).unwrap();
    assert!(page.contains("<h1>Drop cache</h1>") && page.contains("before the test"), "{page}");
}

#[test]
fn drop_cache_refuses_what_it_cannot_drop() {
    let lab = Lab::new();
    lab.data_file("file", 16);
    lab.refuses(["drop-cache", "null:"], 1, "holds no data");
    lab.refuses(["drop-cache", "file", "none"], 1, "does not exist");
    lab.refuses(["drop-cache", "place"], 1, "is a directory");
}

#[test]
fn link_reads_targets_alone_and_together() {
    let lab = Lab::new();
    lab.data_file("one", 8192);
    lab.data_file("two", 8192);
    if !lab.has_direct_ring() {
        return;
    }
    let outcome =
        lab.run(["link", "one", "two", "--duration=100ms", "--repetitions=2", "--request-size=64KiB", "--json"]);
    assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
    let reading: serde_json::Value = serde_json::from_str(&outcome.stdout).unwrap();
    let figures = &reading["figures"];
    assert_eq!((&reading["instrument"], &figures["depth"]), (&"link".into(), &2.into()));
    assert_eq!(figures["targets"].as_array().unwrap().len(), 2);
    assert!(figures["targets"][0]["medium"]["far_p50_ns"].as_u64().unwrap() > 0);
    let settings = figures["settings"].as_array().unwrap();
    let targets: Vec<_> = settings.iter().map(|setting| setting["targets"].to_string()).collect();
    assert_eq!(targets, ["[0]", "[1]", "[0,1]"]);
    for setting in settings {
        assert_eq!(setting["repetitions"].as_array().unwrap().len(), 2);
        assert!(setting["bytes_per_s"]["value"].as_f64().unwrap() > 0.0);
    }
    assert!(settings[2]["of_alone"]["value"].as_f64().unwrap() > 0.0 && settings[0]["of_alone"].is_null());
    assert_eq!(lab.json(["runs", "show", "1", "--json"]), reading);
    let shown = lab.run(["runs", "show", "1"]).stdout;
    assert!(shown.contains("2 together") && shown.contains("of the sum of each alone"), "{shown}");
}

#[test]
fn an_interrupted_map_continues() {
    let lab = Lab::new();
    lab.data_file("file", 64 << 10);
    if !lab.has_direct_ring() {
        return;
    }
    let mut running = lab.start(["map", "file", "--places=128", "--read-size=64KiB", "--note=flat"]);
    let kept = || lab.query("SELECT record FROM readings", |row| row.get::<_, String>(0)).pop().unwrap_or_default();
    wait_for("some places to be kept", || kept().contains("\"place\":"));
    running.signal(rustix::process::Signal::INT);
    assert_eq!(running.wait().status, Some(130));
    let part = lab.json(["runs", "show", "1", "--json"]);
    let probes = |reading: &serde_json::Value| reading["figures"]["probes"].as_array().unwrap().clone();
    let before = probes(&part);
    assert!((1..128).contains(&before.len()), "{}", before.len());
    lab.refuses(["map", "file", "--resume", "1"], 2, "cannot be used with");
    let whole = lab.json(["map", "--resume", "1", "--json"]);
    assert_eq!(probes(&whole).len(), 128);
    assert!(before.iter().all(|probe| probes(&whole).contains(probe)), "what was measured is kept");
    assert!(!whole["figures"]["bands"].as_array().unwrap().is_empty());
    assert_eq!((&whole["note"], &lab.json(["runs", "show", "1", "--json"])), (&"flat".into(), &whole));
    lab.refuses(["map", "--resume", "1"], 1, "complete");
}

#[test]
fn link_and_map_refuse_what_they_cannot_measure() {
    let lab = Lab::new();
    lab.data_file("file", 256);
    for instrument in ["link", "map"] {
        lab.refuses([instrument, "null:"], 2, "has no storage behind it");
        lab.refuses([instrument, "none"], 1, "does not exist");
        lab.refuses([instrument, "place"], 1, "is a directory");
    }
    for (instrument, instead) in
        [("link", ":disk` shows"), ("map", "` shows the zones"), ("inspect", ":disk`"), ("drop-cache", "--cache")]
    {
        let refused = lab.run([instrument, "sim:hdd-18tb:disk"]);
        let named = format!("is simulated; {instrument} needs files or devices of this host; ");
        assert_refusal(&refused, 2, &named, instrument);
        assert!(refused.stderr.contains("hdd-18tb") && refused.stderr.contains(instead), "{}", refused.stderr);
        lab.refuses([instrument, "sim:hdd-18tb"], 2, "names no volume");
    }
    lab.refuses(["map", "file", "--places=9999"], 2, "use 1 to 4096");
    lab.refuses(["map", "--resume=1"], 1, "there is no run 1");
    if lab.has_direct_ring() {
        lab.refuses(["map", "file", "--read-size=64KiB"], 2, "does not hold 256 places");
        lab.refuses(["link", "file"], 2, "file has");
        let map = |size: &str| lab.json(["map", "file", "--places=2", size, "--json", "--no-store"]);
        let raised = map("--read-size=1");
        assert_eq!(
            (&raised["figures"]["read_bytes"], &raised["warnings"][0]["code"]),
            (&4096.into(), &"read_size".into())
        );
        assert_eq!(map("--read-size=4KiB")["warnings"], serde_json::Value::Null);
        let one = lab.run(["map", "file", "--places=1", "--read-size=4KiB", "--no-store"]).stdout;
        assert!(one.contains("at 1 place, "), "{one}");
    }
}

/// A burst of about a millisecond, and a pause three times as long, until told to stop: gives the share of the time that
/// the thread burnt by its own processor time. The lengths differ, so that they are never in step with the ticks.
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

/// Seconds that programs of low priority have had so far, whosever they are.
fn nice_s() -> f64 {
    let text = std::fs::read_to_string("/proc/stat").unwrap_or_default();
    let ticks: f64 = text.split_ascii_whitespace().nth(2).and_then(|ticks| ticks.parse().ok()).unwrap_or(0.0);
    ticks / rustix::param::clock_ticks_per_second() as f64
}

#[test]
fn the_soaker_sees_what_is_burnt_and_is_what_the_kernel_calls_nice() {
    let lab = Lab::new();
    let before_s = nice_s();
    std::thread::sleep(Duration::from_millis(300));
    let others_s = nice_s() - before_s;
    // The kernel counts time, the loops what they got done in it: less while another guest of this host is on the same core.
    let mut told = Vec::new();
    while told.len() < 3 {
        let stop = AtomicBool::new(false);
        let (burnt, soaked) = std::thread::scope(|scope| {
            let burner = scope.spawn(|| burn_a_quarter(&stop));
            let soaked = Looked::take(&lab);
            stop.store(true, Relaxed);
            (burner.join().unwrap(), soaked)
        });
        let Some(soaked) = soaked else { return };
        // Others may be at work as well, so this is the least it must see; the most is held by the kernel's account, where the
        // loops are what has the lowest priority.
        let seen = soaked.all - soaked.loops;
        assert!(burnt > 0.05 && seen > burnt - 0.03, "burnt {burnt}, seen {seen}");
        if others_s > 0.01 {
            return skip("other programs of low priority are at work, and the kernel counts them with the loops");
        }
        if soaked.off() < 0.1 {
            return;
        }
        told.push(format!("soaked {}, nice {} of {}", soaked.loops, soaked.nice, soaked.all));
    }
    let Some(alone) = Looked::take(&lab) else { return };
    assert!(alone.off() > 0.03, "{told:?}");
    skip("the loops get less done in their time than when their speed was taken, with nothing burnt as well");
}

/// What loops of the lowest priority had of the processors, in processors.
struct Looked {
    /// As they count it.
    loops: f64,
    /// As the kernel does.
    nice: f64,
    /// How many processors there are.
    all: f64,
}

impl Looked {
    /// For two seconds; none where the machine is too busy.
    fn take(lab: &Lab) -> Option<Looked> {
        let reading = lab.run(["idle", "2", "--json", "--no-store"]);
        if is_too_busy(&reading) {
            return None;
        }
        let reading: serde_json::Value = serde_json::from_str(&reading.stdout).expect(&reading.stderr);
        assert_eq!(reading["instrument"], "idle");
        let processors = reading["figures"]["processors"].as_array().unwrap();
        assert!(processors.iter().all(|processor| processor["counts_per_s"].as_f64().unwrap() > 1000.0));
        let account = |name: &str| reading["figures"]["account"][name].as_f64().unwrap();
        let all = processors.len() as f64;
        let loops = all * (1.0 - reading["figures"]["busy_share"].as_f64().unwrap());
        Some(Looked { loops, nice: account("nice_s") / account("wall_s"), all })
    }

    /// Share of the machine by which the two differ.
    fn off(&self) -> f64 {
        (self.loops - self.nice).abs() / self.all
    }
}

#[test]
fn a_sample_with_a_soaker_has_both_bounds_and_they_do_not_cross() {
    let lab = Lab::new();
    lab.data_file("file", 4096);
    let options = ["io", "file", "--buffering=buffered", "--cache=warm", "--duration=400ms", "--warmup=3s", "--json"];
    let plain = lab.json(options);
    assert_eq!((&plain["workload"]["cpu_accounting"], &plain["cpu"]["upper_s"]), (&"account".into(), &().into()));
    assert!(plain["cpu"]["context_switches"]["voluntary"].is_u64(), "{}", plain["cpu"]);
    let wall_s = plain["cpu"]["system"]["wall_s"].as_f64().unwrap();
    assert!((0.1..2.0).contains(&wall_s), "the measured part without the warm-up of 3 s: {wall_s}");
    let soaked = lab.run([&options[..], &["--cpu-accounting=soaker"]].concat());
    if is_too_busy(&soaked) {
        return;
    }
    let soaked: serde_json::Value = serde_json::from_str(&soaked.stdout).expect(&soaked.stderr);
    let cpu = &soaked["cpu"];
    let figure = |value: &serde_json::Value| value.as_f64().unwrap();
    let lower_s = figure(&cpu["lower"]["user_s"]) + figure(&cpu["lower"]["system_s"]);
    let (upper_s, error_s) = (figure(&cpu["upper_s"]), figure(&cpu["soaker"]["error_s"]));
    assert!(lower_s > 0.0 && lower_s <= upper_s + error_s, "{cpu}");
    assert!(upper_s <= 1.05 * figure(&soaked["elapsed_s"]) * figure(&cpu["soaker"]["processors"]), "{cpu}");
    assert!(figure(&cpu["upper_us_per_request"]) > 0.0 && cpu["upper_method"] == "soaker");
    assert_ne!(cpu["counters_unavailable"].is_string(), cpu["clocks_per_byte"].is_f64(), "{cpu}");
}

#[test]
fn instruments_name_their_own_options() {
    let lab = Lab::new();
    lab.data_file("file", 2048);
    lab.write("small", b"a few bytes");
    for (arguments, needle) in [
        (&["link", "file", "--region=10GiB"][..], "use a smaller --region"),
        (&["link", "file", "--request-size=777"], "--request-size is 777 B; use a multiple"),
        (&["link", "file", "--request-size=2MiB", "--region=1MiB"], "or a larger --region"),
        (&["map", "small"], "less than one read; name a larger target"),
    ] {
        let outcome = lab.run(arguments);
        if outcome.stderr.contains("does not support direct I/O") {
            return skip("no direct I/O here");
        }
        assert_refusal(&outcome, 2, needle, &format!("{arguments:?}"));
        for foreign in ["--size", "--buffering"] {
            assert!(!outcome.stderr.contains(&format!("{foreign} ")), "{}", outcome.stderr);
        }
    }
    let doctor = lab.json(["doctor", ".", "--json"]);
    let names: Vec<&str> =
        doctor["instruments"].as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["block phases", "counters", "soaker", "firmware", "drop caches"]);
}
