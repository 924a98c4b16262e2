//! Simulated machines as targets, with the same record as a host.

use crate::support::{Lab, Words, codes, find};
use rustix::process::Signal;
use serde_json::Value;

const ATLAS: &str = "sim:win2k-pentium3:atlas-1";

/// The sample of a workload that is not kept.
fn sample(lab: &Lab, words: impl Words) -> Value {
    lab.json(("io --no-store", words))
}

#[test]
fn a_machine_takes_a_workload_and_gives_the_same_record_each_time() {
    let lab = Lab::new();
    let io = format!("{ATLAS} --pattern=random --request-size=8KiB --depth=4 --buffering=direct");
    let record = || sample(&lab, (&io, "--duration=60s --seed=5"));
    let one = record();
    assert_eq!(one, record());
    assert_eq!(one["environment"]["target"]["kind"], "simulated");
    assert_eq!(one["elapsed_s"], 60.0, "on a virtual clock");
    let rate = one["total"]["requests_per_s"].as_f64().unwrap();
    assert!((110.0..150.0).contains(&rate), "{rate}");
    let survey = lab.json(format!("run --quick {ATLAS} --no-report"));
    assert!(survey["analysis"]["cells"].as_array().unwrap().len() > 20);
    let plan = |target: &str| lab.run(format!("plan survey-quick --target {target}")).stdout;
    let (simulated, real) = (plan("sim:cloud-gp3:baseline"), plan("."));
    assert!(!real.contains("virtual") && !real.contains("simulated"), "{real}");
    for part in [" of virtual time, up to ", "What it writes is simulated."] {
        assert!(simulated.contains(part), "{simulated}");
    }
}

#[test]
fn what_lasts_is_told_from_a_burst() {
    let lab = Lab::new();
    for command in ["limits", "run --quick"] {
        let target = "sim:cloud-gp3:burst --set gp2.limits.request-credits=6000";
        let run = lab.json(format!("{command} {target} --no-store --no-report"));
        let limits = run["limits"].as_array().unwrap();
        let told: Vec<_> =
            limits.iter().map(|limit| (&limit["what"], &limit["operation"], &limit["confidence"])).collect();
        let [requests, bytes, sure, likely] = ["requests_per_s", "bytes_per_s", "sure", "likely"].map(Value::from);
        let of_both = &Value::Null;
        assert_eq!(told, [(&requests, of_both, &sure), (&bytes, of_both, &likely)], "{limits:?}");
        let [sustained, length] =
            [&limits[0]["sustained"]["value"], &limits[0]["burst_seconds"]].map(|value| value.as_f64().unwrap());
        assert!((298.0..302.0).contains(&sustained), "{sustained} IOPS");
        // 6000 credits, of which each request above 300 of 3000 a second takes one.
        assert!((2.1..2.3).contains(&length), "{length} s");
    }
}

#[test]
fn a_longer_look_shows_a_longer_burst() {
    let lab = Lab::new();
    // 81 000 credits last for half a minute at 3000 IOPS.
    let target = "sim:cloud-gp3:burst --set gp2.limits.request-credits=81000 --no-store --no-report";
    let sustained = |options: &str| {
        let limits = lab.json(format!("limits {target} {options}"))["limits"].clone();
        let of_requests = |limit: &&Value| limit["what"] == "requests_per_s";
        limits.as_array().unwrap().iter().find(of_requests).and_then(|limit| limit["sustained"]["value"].as_f64())
    };
    assert!(sustained("").is_some_and(|rate| rate > 2900.0), "the burst, which is all that shows");
    assert!(sustained("--duration 60s").is_some_and(|rate| (298.0..302.0).contains(&rate)));
    for duration in ["999ms", "61m", "long"] {
        lab.ends(format!("limits {target} --duration {duration}"), 2, "--duration");
    }
}

#[test]
fn what_there_is_not_is_refused() {
    let lab = Lab::new();
    lab.write("own.toml", "");
    // Nobody ever writes into it.
    rustix::fs::mknodat(rustix::fs::CWD, lab.path("pipe"), rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
    let rows = [
        ("sim:own.toml:x", "did you mean the file ./own.toml?"),
        ("sim:win2k-pentium3:atlas-9", "atlas-1, atlas-1-nocache"),
        ("sim:cray-1:x", "win2k-pentium3"),
        ("sim:win2k-pentium3", "use sim:MACHINE:VOLUME"),
        ("ATLAS file", "name it alone"),
        ("ATLAS sim:nvme-gen4:fresh", "a study measures several volumes with its key `set`"),
        ("ATLAS --files=3", "a simulated volume has none; remove --files"),
        ("ATLAS --op=trim", "trims of this volume; use a flash drive"),
        ("sim:nvme-gen4:fresh --op=trim --buffering=buffered", "use --buffering direct"),
        ("sim:nvme-gen4:fresh --buffering=buffered --cache=cold_each_pass", "use --cache cold"),
        // What would look as if it had an effect.
        ("ATLAS --cpus=0", "leave --cpus out, or set their number, like --set cpu.count=1"),
        ("ATLAS --cpus=7", "leave --cpus out"),
        ("ATLAS --cpu-count=1", "like --set cpu.count=1"),
        ("ATLAS --cpu-count=1000", "leave --cpu-count out"),
        ("ATLAS --personality=io_uring --ring=sqpoll", "leave --ring out"),
        ("ATLAS --depth=32 --submit-batch=32", "leave --submit-batch out"),
        ("ATLAS --depth=32 --wait-batch=2", "leave --wait-batch out"),
        ("ATLAS --processes", "leave --processes out"),
        ("ATLAS --time-close", "leave --time-close out"),
        ("ATLAS --op=write --data=zeros", "leave --data out"),
        ("ATLAS --block-phases", "leave --block-phases out"),
        ("ATLAS --cpu-accounting=soaker", "leave --cpu-accounting out"),
        ("ATLAS --op=write --verify=stamp", "leave --verify out"),
    ];
    lab.refuses_each(rows.map(|(words, needle)| (("io", words.replace("ATLAS", ATLAS)), 2, needle)));
    lab.refuses("io sim:./pipe:x", 1, "it is a pipe, and it is read more than once; write it into a file");
    // What a machine has or that means the same there is taken.
    let same =
        "--interval=100ms --seed=3 --submit-batch=1 --overwrite --pap=device=9GB/s --personality=io_uring --depth=32";
    let environment = &sample(&lab, (format!("{ATLAS} --duration=1s --set=cpu.count=1"), same))["environment"];
    assert_eq!((&environment["cpus"], &environment["target"]["pap_bytes_per_s"]), (&1.into(), &9e9.into()));
    // A study leaves out workloads with such options.
    lab.write(
        "study.toml",
        "name = \"own\"\n[[sweep]]\ncpu_count = [1, 2]\n[[sweep]]\ndepth = [1, 2]\n\
          cpu_accounting = [\"account\", \"soaker\"]\nduration = \"1s\"\n",
    );
    let run = format!("study run study.toml --target {ATLAS} --dry-run");
    lab.ends(run, 0, "leave --cpu-accounting out");
}

#[test]
fn the_ways_of_a_machine_are_those_of_its_system() {
    let lab = Lab::new();
    let io = format!("io {ATLAS} --depth=4 --duration=1s");
    let text = lab.run(&io).stdout;
    let first = "sequential read, 64 KiB, QD4, direct, by asynchronous requests of Windows 2000, on ";
    assert!(text.starts_with(&format!("{first}{ATLAS}")), "{text}");
    let shown = lab.run("runs show 1").words();
    assert!(shown.contains("2 CPUs; by asynchronous requests of Windows 2000)"), "{shown}");
    let record = lab.json(&io);
    assert_eq!(record["workload"]["personality"], "io_uring", "the word that was said or meant");
    let ring = find(&record["environment"]["personalities"], "personality", "io_uring");
    assert_eq!(ring["stands_for"], "asynchronous requests of Windows 2000");
    let text = lab.run(("doctor", ATLAS)).stdout;
    let is_host = |line: &str| line.starts_with("host") && line.ends_with(", Windows 2000, 2 CPUs");
    assert!(text.lines().any(is_host), "{text}");
    assert!(text.contains("stands for synchronous requests of Windows 2000"), "{text}");
    let host = sample(&lab, "null: --requests=10")["environment"]["personalities"].to_string();
    assert!(!host.contains("stands_for"), "a host's are themselves");
}

#[test]
fn machines_are_listed_and_shown() {
    let lab = Lab::new();
    assert!(lab.json("sim list").to_string().contains(&format!("\"{ATLAS}\"")));
    let text = lab.json("sim show win2k-pentium3")["text"].as_str().unwrap().to_owned();
    assert!(text.contains("[drive.atlas-10k]"));
    let shown = lab.json(("sim show", ATLAS));
    let lines = shown["text"].as_str().unwrap().lines();
    let tables: Vec<_> = lines.filter(|line| line.starts_with('[')).collect();
    let parts = ["[drive.atlas-10k]", "[bus.scsi]", "[controller.aic-7899]", "[bus.pci]", "[cpu]", "[system]"];
    assert_eq!(tables, [&["[volume.atlas-1]"], &parts[..]].concat());
    lab.write("own.toml", &text);
    assert_eq!(lab.json("sim show ./own.toml")["text"], text);
    let own = lab.json("sim show ./own.toml:atlas-1 --set=pci.rate=20MB/s");
    assert_eq!(own["description"], "one Atlas 10K on Ultra160 SCSI, but with pci.rate=20MB/s");
    assert_eq!(own["target"], "sim:./own.toml:atlas-1,pci.rate=20MB/s");
    assert!(own["text"].as_str().unwrap().contains("[bus.pci]\nrate = \"20MB/s\"\n"), "{own}");
    // Whatever io takes.
    let other = lab.json("sim show win2k-pentium3:maxtor --set=volume=atlas-1");
    assert_eq!(other["description"], shown["description"]);
    lab.write("bad.toml", "name = 5");
    lab.refuses("sim show win2k-pentium3:atlas-9", 2, "no volume");
    lab.refuses("sim show ./bad.toml", 2, "line 1");
    lab.refuses("sim show own --set=disks=2", 2, "names no volume");
    // Every volume is looked at, and the mistake is where it is written.
    let (before, volume) = text.split_once("[volume.atlas-2]").unwrap();
    for (from, to, key) in [("stripe = ", "raid5 = ", "disks = "), ("\"atlas-10k\"", "\"nosuch\"", "drive = ")] {
        let changed = format!("[volume.atlas-2]{}", volume.replacen(from, to, 1));
        lab.write("bad.toml", format!("{before}{changed}"));
        let line = (before.to_owned() + changed.split_once(key).unwrap().0).matches('\n').count() + 1;
        let needle = format!("bad.toml, line {line}, column {}: `volume.atlas-2.", key.len() + 1);
        lab.refuses("sim show ./bad.toml", 2, &needle);
    }
}

/// A volume that bursts from a little of its credits, which last 8 s.
#[test]
fn what_is_expected_is_compared_with_what_lasts() {
    let lab = Lab::new();
    let limits = "limits --no-report --no-store sim:cloud-gp3:baseline";
    let met = lab.run(format!("{limits} --expect iops=3000,throughput=125MiB/s")).ended(0, "");
    assert!(
        met.stdout
            .contains("Reads and writes give 3\u{202f}000 IOPS ± 0.1 %, as expected (at least 3\u{202f}000 IOPS)"),
        "{}",
        met.stdout
    );
    let short = lab.run(format!("{limits} --expect iops=4000 --json")).ended(3, "").document();
    let expected = short["expected"].as_array().unwrap();
    assert!(expected.len() == 2 && expected.iter().all(|one| one["is_short"] == true), "{expected:?}");
    // The credits of the first last for eleven seconds, and the shorter of two long samples ends before.
    let burst = "limits --no-report --no-store sim:cloud-gp3:burst --set gp2.limits.request-credits=30000";
    let said = lab.run(format!("{burst} --expect iops=3000")).ended(3, "").stdout;
    assert!(
        said.contains("Reads and writes sustain 300 IOPS") && said.contains("300 IOPS ± 0.1 % sustained; 2"),
        "{said}"
    );
    let long = lab
        .run("limits --no-report --no-store sim:cloud-gp3:burst --duration 30s --write-budget 64MiB")
        .ended(0, "")
        .stdout;
    assert!(long.contains("The write budget ended writes after "), "{long}");
    let set = "--set gp2.limits.request-credits=30000";
    let io =
        "io sim:cloud-gp3:burst --op read --pattern random --request-size 4KiB --depth 32 --duration 60s --no-store";
    let io = lab.run(format!("{io} {set}")).ended(0, "").stdout;
    assert!(io.contains("over time   fell: 12.3 MB/s for 11 s, then 1.25 MB/s"), "{io}");
    let free = lab.run("limits --no-report --no-store sim:sata-ssd:filled").ended(0, "").stdout;
    assert!(free.contains("No rate limit was seen: reads 72\u{202f}4"), "{free}");
    // A drive that grows hot and cools down again has no rate that lasts.
    let hot = "limits --no-report --no-store sim:nvme-gen4:uncooled --duration 25s";
    let hot = lab.run(format!("{hot} --set p5500.heat.time-constant=10s")).ended(0, "").stdout.replace('\n', " ");
    assert!(hot.contains("longer --duration, for writes with a larger --write-budget. Sequential reads"), "{hot}");
    assert!(hot.contains("Possible causes: thermal throttling"), "{hot}");
    let reads = lab.run("limits --no-report --no-store sim:sata-ssd:filled --no-writes").ended(0, "").stdout;
    assert!(reads.contains("No rate limit") && !reads.contains("budget"), "{reads}");
    // Latencies of the burst are not those of what lasts.
    let survey = lab.json("run --quick --no-report sim:cloud-gp3:burst --set gp2.limits.request-credits=20000");
    let peaks = survey["verdict"]["peaks"].as_array().unwrap();
    let random = peaks.iter().find(|peak| peak["kind"] == "random read").unwrap();
    assert!(random["rate"]["value"].as_f64().unwrap() < 310.0 && random["p50"].is_null(), "{random}");
    lab.run(format!("{limits} --expect latency=3")).ended(2, "neither iops=N nor throughput=RATE");
}

const BURST: &str = "sim:cloud-gp3:burst,gp2.limits.full=0.004";

/// That volume, and one that has no credits and needs none.
#[test]
fn credits_that_run_out_are_found_and_a_limit_that_stays_is_none() {
    let lab = Lab::new();
    let changes = |target: &str| {
        let document = lab.json(format!("study run credits.toml --target {target} --no-report"));
        let findings = document["analysis"]["findings"].as_array().unwrap().clone();
        let brief = |finding: &Value| finding["brief"].as_str().unwrap().to_owned();
        findings.iter().filter(|finding| finding["code"] == "drift").map(brief).collect::<Vec<_>>()
    };
    let burst = changes(BURST);
    assert!(burst.len() == 1 && burst[0].ends_with(" MB/s for 8 s, then 4.92 MB/s"), "{burst:?}");
    assert!(burst[0].starts_with("fell: 49."), "{burst:?}");
    assert_eq!(changes("sim:cloud-gp3:baseline"), [""; 0]);
    let instance = changes("sim:cloud-gp3:small-instance,m6i-large.full=0.0015");
    assert!(instance.len() == 1 && instance[0].ends_with(" for 8 s, then 59 MB/s"), "{instance:?}");
}

/// Interrupted at a moment of chance and resumed, a study gives the samples that it gives in one go.
#[test]
fn an_interrupted_study_of_a_machine_is_resumed_to_the_same_samples() {
    let run = format!("study run credits.toml --no-report --target {BURST}");
    let [whole, lab] = [Lab::new(), Lab::new()];
    for lab in [&whole, &lab] {
        let study = lab.read("credits.toml").replace("repetitions = 2", "repetitions = 5").replace("16s", "10s");
        lab.write("credits.toml", study.replace("depth = 32", "depth = [1, 8, 32]"));
    }
    whole.ok(&run);
    lab.start(&run).until("samples", || lab.samples(1).len() >= 4).end(Signal::INT);
    let kept = lab.samples(1).len();
    assert!((4..15).contains(&kept), "{kept} of 15 samples before it was interrupted");
    lab.ok("study resume 1 --report r.html");
    assert_eq!(lab.samples(1), whole.samples(1));
}

#[test]
fn writes_that_a_buffer_holds_are_warned_of() {
    let lab = Lab::new();
    for (target, bytes, expected) in [
        ("sim:nvme-gen4:fresh", "32MiB", "left_in_buffer"),
        // Each of four has one.
        ("sim:nvme-gen4:stripe-4", "512MiB", "left_in_buffer"),
        // Enough, or a buffer that the flush empties.
        ("sim:nvme-gen4:fresh", "160MiB", ""),
        ("sim:hdd-18tb:disk", "32MiB", ""),
        // Nothing flushes these, and a disk without a cache keeps none.
        ("sim:hdd-18tb:disk", "64MiB", "in_write_cache"),
        ("sim:hdd-18tb:disk", "8GiB", ""),
        ("sim:hdd-18tb:disk-nocache", "64MiB", ""),
        // Both hold the same.
        ("sim:hdd-18tb:mirror-2", "800MiB", ""),
    ] {
        let is_flushed = target.contains("nvme") || bytes == "32MiB";
        let way = if is_flushed { "buffered --durability=flush_at_end" } else { "direct --durability=none" };
        let io = format!("{target} --op=write --request-size=1MiB --bytes {bytes} --buffering={way}");
        assert_eq!(codes(&sample(&lab, &io)).concat(), expected, "{io}");
    }
}

#[test]
fn what_only_the_simulated_page_cache_took_is_the_speed_of_memory() {
    let lab = Lab::new();
    let disk = "sim:hdd-18tb:disk --requests=2000 --buffering";
    for (words, expected) in [
        ("buffered --op=write", true),
        ("buffered --op=write --durability=flush_at_end", false),
        ("direct --op=write", false),
        // The cache is empty.
        ("buffered --op=read", false),
        // And has all of it from the first time on.
        ("buffered --op=read --size=64KiB", true),
    ] {
        assert_eq!(codes(&sample(&lab, (disk, words))).contains(&"memory_speed".to_owned()), expected, "{words}");
    }
    let written = |duration: &str| {
        let io = format!("io {ATLAS} --op=write --request-size=64KiB --buffering=buffered --duration {duration}");
        lab.run(io).stdout
    };
    assert!(!written("120s").contains("until the writes were stored"), "the disk kept up");
    assert!(written("10s").contains("% of their bytes meanwhile: the storage is slower than this"));
    assert!(written("1s").contains("until the writes were stored: this is the speed of memory"));
    // Reads of a warm cache ask the device for nothing.
    let warm = "sim:nvme-gen4:fresh --buffering=buffered --cache=warm --size=64MiB --bytes=64MiB --request-size=1MiB";
    let read = sample(&lab, warm);
    // It reads ahead beyond the last.
    assert!(read["total"]["requests"] == 64 && read["block"]["requests"].as_u64() <= Some(1), "{}", read["block"]);
}

/// Of twelve streams one has the disk for 18 s. The first long answers do not make up for the hundreds that are still due.
#[test]
fn requests_that_the_end_cuts_off_are_reported_where_the_latencies_do_not_stand_for_them() {
    let lab = Lab::new();
    let streams = "ATLAS --workers 12 --request-size 64KiB --depth 64 --duration";
    let stalled = ["10s", "18s", "19s", "20s", "25s", "30s"].map(|duration| format!("{streams} {duration}"));
    let disk = "sim:hdd-18tb:disk --pattern random --request-size 4KiB --depth";
    let ordinary = [
        format!("{streams} 60s"),
        format!("{disk} 32 --duration 5s"),
        format!("{disk} 32 --warmup 1s --duration 1s"),
        format!("{disk} 128 --duration 200ms"),
        "ATLAS --pattern random --request-size 8KiB --depth 16 --workers 12 --warmup 1s --requests 50".to_owned(),
        "ATLAS --pattern random --depth 64 --arrivals poisson --rate 60 --duration 5s".to_owned(),
        "sim:win2k-pentium3:atlas-2 --request-size 256KiB --depth 8 --workers 4 --warmup 1s --duration 2s".to_owned(),
        "sim:sata-ssd:client --op mix=write:80,flush:20 --depth 8 --duration 500ms".to_owned(),
        "sim:hdd-18tb:disk --op write --request-size 64KiB --depth 8 --durability fsync=16 --duration 2s".to_owned(),
    ];
    for (words, expected) in
        stalled.iter().map(|words| (words, true)).chain(ordinary.iter().map(|words| (words, false)))
    {
        let found = codes(&sample(&lab, words.replace("ATLAS", ATLAS)));
        assert_eq!(found.contains(&"stalled_at_end".to_owned()), expected, "{words}");
    }
}

/// One stream takes all commands that the controller allows, so that the disk never sees both streams.
#[test]
fn the_part_that_keeps_streams_from_their_disk_is_named() {
    let lab = Lab::new();
    // As it would be without what Linux does in front of it.
    let plain = "--set=ahci.order=fcfs --set=ahci.merge=512B";
    for (words, expected) in [
        (format!("--depth=32 {plain}"), true),
        // The disk streams, or no request waits.
        ("--depth=32".to_owned(), false),
        (format!("--depth=30 {plain}"), false),
        (format!("--depth=32 {plain} --set=ahci.outstanding=64"), false),
    ] {
        let io = "io sim:hdd-18tb:disk --workers=2 --request-size=8KiB --duration=5s --no-store";
        let text = lab.ok((io, &words)).stdout;
        let slots = "the command limit of ahci (ahci.outstanding) kept others waiting 100 % of the time";
        let names_it = text.contains("exos-x18, was busy 100 % of the time; the next, sata, ") && text.contains(slots);
        assert!(if expected { names_it } else { !text.contains("command limit of ahci") }, "{words}: {text}");
    }
}

#[test]
fn trims_flushes_rates_and_commands_straight_to_a_disk_are_simulated() {
    let lab = Lab::new();
    let requests = |sample: &Value, kind: &str| sample[kind]["requests"].as_u64().unwrap();
    let trims = sample(&lab, "sim:nvme-gen4:fresh --request-size=1MiB --duration=100ms --op=trim");
    let trimmed = requests(&trims, "trim");
    assert!(trimmed > 1000 && trimmed == requests(&trims, "total"), "{trims}");
    // What is under way at the end is of the device's count alone.
    let given_back = requests(&trims["block"], "trim");
    assert!(trimmed.abs_diff(given_back) <= 1 && trims["block"]["bytes"] == 0, "{trims}");
    let mixed = sample(&lab, "sim:sata-ssd:client --request-size=1MiB --duration=100ms --op=mix=write:80,flush:20");
    assert_eq!(requests(&mixed, "total"), requests(&mixed, "write") + requests(&mixed, "flush"));
    assert!(mixed["flush"]["latency_ns"]["mean"].as_f64() > Some(1e5), "{}", mixed["flush"]);

    // Requests arrive whether the machine is free or not.
    let random = "--pattern random --request-size 8KiB --buffering direct --depth 64 --duration 60s";
    let arriving = |rate: u32| sample(&lab, format!("{ATLAS} {random} --arrivals=poisson --rate={rate}/s"));
    let free = arriving(60);
    let mean_ns = free["open_loop"]["response_ns"]["mean"].as_f64().unwrap();
    assert!(mean_ns > free["total"]["latency_ns"]["min"].as_f64().unwrap(), "{free}");
    assert_eq!((&free["open_loop"]["backlog_at_end"], codes(&free)), (&0.into(), vec![]));
    let busy = arriving(1000);
    assert!(busy["open_loop"]["backlog_at_end"].as_u64().unwrap() > 10_000, "{}", busy["open_loop"]);
    assert_eq!(codes(&busy)[0], "rate_not_reached");

    let io = "sim:nt4-pentium-pro:barracuda-uw --personality=sg --rate=10/s --request-size=8KiB --requests=50";
    let total = sample(&lab, io)["total"].take();
    // Table 3 of the 1997 study has 0.51 ms for 8 KB that the drive has read ahead.
    let median_ns = total["latency_ns"]["p50"].as_f64().unwrap();
    assert!((median_ns / 510e3 - 1.0).abs() < 0.1, "{median_ns}");
    let rate = total["requests_per_s"].as_f64().unwrap();
    assert!((rate / 10.0 - 1.0).abs() < 0.05, "{rate}");
}

#[test]
fn the_analysis_finds_what_requests_cost_the_cpu() {
    let lab = Lab::new();
    let document = lab.json(format!("study run cost.toml --target {ATLAS} --size=1GiB --no-report"));
    let findings = document["analysis"]["findings"].as_array().unwrap();
    // The costs of the machine file: direct requests, and buffered ones with the cache's own requests.
    for (subject, expected) in [
        ("sequential read, QD1, direct", [32.0, 0.25]),
        ("sequential read, QD1, buffered", [12.0, 6.0]),
        ("sequential write, QD1, direct", [32.0, 0.25]),
        ("sequential write, QD1, buffered", [12.0, 7.0]),
    ] {
        let is_it = |finding: &&Value| {
            finding["code"] == "cpu_cost" && finding["subject"].as_str().unwrap().starts_with(subject)
        };
        let finding = findings.iter().find(is_it).unwrap_or_else(|| panic!("{subject}"));
        let found = [0, 1].map(|index| finding["estimates"][index]["value"].as_f64().unwrap());
        let is_near = found.iter().zip(expected).all(|(found, expected)| (found / expected - 1.0).abs() < 0.05);
        assert!(is_near, "{subject}: {found:?} of {expected:?}");
    }
}

/// Garbage collection in rounds stops the writes of a client's drive. Retries, erasures and page kinds are no tail of this length. The
/// SATA drive's writes are left out: by its data sheet their share beyond ten medians is near the threshold.
#[test]
fn a_long_tail_is_named_where_a_drive_has_one() {
    let lab = Lab::new();
    for (target, judged, expected) in [
        ("nvme-gen4:filled", ["read", "write"], [false, false]),
        ("sata-ssd:filled", ["read", "read"], [false, false]),
        ("sata-ssd:client-steady", ["read", "write"], [false, false]),
        ("sata-ssd:client-steady,qvo.fast-area.always=0B", ["read", "write"], [false, true]),
        ("sata-ssd:client-steady,qvo.fast-area.always=0B,qvo.collection=0B", ["read", "write"], [false, false]),
        ("cloud-gp3:baseline", ["read", "write"], [false, false]),
        ("hdd-18tb:disk-nocache", ["read", "write"], [false, false]),
    ] {
        let document = lab.json(format!("study run tail.toml --seed=1 --target sim:{target} --no-report"));
        let findings = document["analysis"]["findings"].as_array().unwrap();
        let tails = findings.iter().filter(|finding| finding["code"] == "tail_latency");
        let subjects: Vec<&str> = tails.map(|finding| finding["subject"].as_str().unwrap()).collect();
        let named = judged.map(|operation| subjects.iter().any(|subject| subject.contains(operation)));
        assert_eq!(named, expected, "{target}: {subjects:?}");
    }
}
