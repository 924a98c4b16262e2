//! Simulated machines as targets: the road of a host, with the same record at its end.

use crate::support::{Lab, assert_refusal, wait_for};
use rustix::process::Signal;

const ATLAS: &str = "sim:win2k-pentium3:atlas-1";

#[test]
fn a_machine_takes_a_workload_and_gives_the_same_record_each_time() {
    let lab = Lab::new();
    let io = ["io", ATLAS, "--pattern=random", "--request-size=8KiB", "--depth=4", "--buffering=direct"];
    let record = || lab.json([&io[..], &["--duration=60s", "--seed=5", "--json"]].concat());
    let (mut one, other) = (record(), record());
    assert_eq!(one, other);
    assert_eq!(one["environment"]["target"]["kind"], "simulated");
    assert_eq!(one["elapsed_s"], 60.0, "on a virtual clock");
    let rate = one["total"]["requests_per_s"].take().as_f64().unwrap();
    assert!((110.0..150.0).contains(&rate), "{rate}");
}

#[test]
fn a_survey_runs_on_a_machine() {
    let lab = Lab::new();
    let document = lab.json(["run", "--quick", ATLAS, "--no-report", "--json"]);
    let cells = document["analysis"]["cells"].as_array().unwrap();
    assert!(cells.len() > 20, "{}", cells.len());
}

#[test]
fn what_there_is_not_is_told() {
    let lab = Lab::new();
    let refused = |arguments: &[&str], status, needle| {
        assert_refusal(&lab.run([&["io"][..], arguments].concat()), status, needle, arguments[0]);
    };
    lab.write("own.toml", b"");
    refused(&["sim:own.toml:x"], 2, "did you mean the file ./own.toml?");
    refused(&["sim:win2k-pentium3:atlas-9"], 2, "atlas-1, atlas-1-nocache");
    refused(&["sim:cray-1:x"], 2, "win2k-pentium3");
    refused(&["sim:win2k-pentium3"], 2, "use sim:MACHINE:VOLUME");
    refused(&[ATLAS, "file"], 2, "name it alone");
    refused(&[ATLAS, "sim:nvme-gen4:fresh"], 2, "a study measures several volumes with its key `set`");
    refused(&[ATLAS, "--files=3"], 2, "a simulated volume has none; remove --files");
    refused(&[ATLAS, "--op=trim"], 2, "trims of this volume; use a flash drive");
    refused(&["sim:nvme-gen4:fresh", "--op=trim", "--buffering=buffered"], 2, "use --buffering direct");
    // Nobody ever writes into it.
    rustix::fs::mknodat(rustix::fs::CWD, lab.path("pipe"), rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
    refused(&["sim:./pipe:x"], 1, "it is a pipe, and it is read more than once; write it into a file");
}

#[test]
fn a_machine_s_system_is_called_what_it_is() {
    let text = Lab::new().run(["doctor", ATLAS]).stdout;
    assert!(text.lines().any(|line| line.starts_with("host") && line.ends_with(", Windows 2000, 2 CPUs")), "{text}");
}

#[test]
fn the_ways_of_a_machine_are_those_of_its_system() {
    let lab = Lab::new();
    let io = ["io", ATLAS, "--depth=4", "--duration=1s", "--no-store"];
    let text = lab.run(io).stdout;
    let first =
        "sequential read, 64 KiB, QD4, direct, by asynchronous requests of Windows 2000, on sim:win2k-pentium3:atlas-1";
    assert!(text.starts_with(first), "{text}");
    let record = lab.json([&io[..], &["--json"]].concat());
    assert_eq!(record["workload"]["personality"], "io_uring", "the word that was said or meant");
    let facts = record["environment"]["personalities"].as_array().unwrap();
    let ring = facts.iter().find(|facts| facts["personality"] == "io_uring").unwrap();
    assert_eq!(ring["stands_for"], "asynchronous requests of Windows 2000");
    let text = lab.run(["doctor", ATLAS]).stdout;
    assert!(text.contains("stands for synchronous requests of Windows 2000"), "{text}");
    lab.run(&io[..3]);
    let shown = lab.run(["runs", "show", "1"]).stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(shown.contains("2 CPUs; by asynchronous requests of Windows 2000)"), "{shown}");
    let host = lab.json(["io", "null:", "--requests=10", "--no-store", "--json"]);
    let facts = host["environment"]["personalities"].as_array().unwrap();
    assert!(facts.iter().all(|facts| facts.get("stands_for").is_none()), "a host's are themselves");
}

/// One stream fills all that the controller lets be at the disk, which so never knows of both.
#[test]
fn streams_that_lose_one_another_are_told_who_keeps_them_from_their_disk() {
    let lab = Lab::new();
    let told = |depth: &str, set: &[&str]| {
        let io =
            ["io", "sim:hdd-18tb:disk", "--workers=2", depth, "--request-size=8KiB", "--duration=5s", "--no-store"];
        lab.run([&io[..], set].concat()).stdout
    };
    let slots = "the command limit of ahci (ahci.outstanding) kept others waiting 100 % of the time";
    // As it would be without what Linux does in front of it.
    let plain = ["--set=ahci.order=fcfs", "--set=ahci.merge=512B"];
    let lost = told("--depth=32", &plain);
    assert!(lost.contains("exos-x18, was busy 100 % of the time; the next, sata, ") && lost.contains(slots), "{lost}");
    assert!(!told("--depth=32", &[]).contains("command limit of ahci"), "it streams");
    assert!(!told("--depth=30", &plain).contains("command limit of ahci"), "others wait, and it streams");
    let more = [&plain[..], &["--set=ahci.outstanding=64"]].concat();
    assert!(!told("--depth=32", &more).contains("command limit of ahci"), "nobody waits");
}

/// What would look as if it had an effect.
#[test]
fn what_is_of_a_real_host_is_refused() {
    let lab = Lab::new();
    let deep = ["--personality=io_uring", "--depth=32"];
    for (options, needle) in [
        (vec!["--cpus=0"], "leave --cpus out, or set their number, like --set processor.count=1"),
        (vec!["--cpus=7"], "leave --cpus out"),
        (vec!["--cpu-count=1"], "like --set processor.count=1"),
        (vec!["--cpu-count=1000"], "leave --cpu-count out"),
        (vec!["--ring=sqpoll"], "leave --ring out"),
        (vec!["--submit-batch=32"], "leave --submit-batch out"),
        (vec!["--wait-batch=2"], "leave --wait-batch out"),
        (vec!["--processes"], "leave --processes out"),
        (vec!["--time-close"], "leave --time-close out"),
        (vec!["--op=write", "--data=zeros"], "leave --data out"),
        (vec!["--block-phases"], "leave --block-phases out"),
        (vec!["--cpu-accounting=soaker"], "leave --cpu-accounting out"),
        (vec!["--op=write", "--verify=stamp"], "leave --verify out"),
    ] {
        let output = lab.run([&["io", ATLAS][..], &deep, &options].concat());
        assert_refusal(&output, 2, needle, options[0]);
    }
    // What a machine has or that means the same there is taken.
    let taken = [
        "--set=processor.count=1",
        "--interval=100ms",
        "--seed=3",
        "--submit-batch=1",
        "--overwrite",
        "--pap=device=9GB/s",
    ];
    let sample = lab.json([&["io", ATLAS, "--duration=1s", "--no-store", "--json"][..], &deep, &taken].concat());
    assert_eq!(sample["environment"]["cpus"], 1);
    assert_eq!(sample["environment"]["target"]["pap_bytes_per_s"], 9e9, "{}", sample["environment"]["target"]);
    // A study leaves out the workloads that say such a thing.
    lab.write(
        "study.toml",
        b"name = \"own\"\n[[sweep]]\ncpu_count = [1, 2]\n[[sweep]]\ndepth = [1, 2]\n\
          cpu_accounting = [\"account\", \"soaker\"]\nduration = \"1s\"\n",
    );
    let run = lab.run(["study", "run", "study.toml", "--target", ATLAS, "--dry-run"]);
    assert!(run.stderr.contains("leave --cpu-accounting out"), "{}", run.stderr);
}

#[test]
fn flash_takes_trims_and_flushes() {
    let lab = Lab::new();
    let of = |target: &str, operation: &str| {
        let run = ["io", target, "--request-size=1MiB", "--duration=100ms", "--op", operation, "--no-store", "--json"];
        lab.json(run)
    };
    let trims = of("sim:nvme-gen4:fresh", "trim");
    let requests = |sample: &serde_json::Value, kind: &str| sample[kind]["requests"].as_u64();
    assert!(requests(&trims, "trim").unwrap() > 1000 && requests(&trims, "trim") == requests(&trims, "total"));
    // What is under way at the end is of the device's count alone.
    let given_back = trims["block"]["trim"]["requests"].as_u64().unwrap();
    assert!(requests(&trims, "trim").unwrap().abs_diff(given_back) <= 1 && trims["block"]["bytes"] == 0, "{trims}");
    let mixed = of("sim:sata-ssd:client", "mix=write:80,flush:20");
    let sum = requests(&mixed, "write").unwrap() + requests(&mixed, "flush").unwrap();
    assert_eq!(requests(&mixed, "total"), Some(sum));
    assert!(mixed["flush"]["latency_ns"]["mean"].as_f64() > Some(1e5), "{}", mixed["flush"]);
}

#[test]
fn requests_arrive_whether_the_machine_is_free_or_not() {
    let lab = Lab::new();
    let arriving = |rate| {
        let given =
            format!("io {ATLAS} --pattern random --request-size 8KiB --buffering direct --depth 64 --duration 60s");
        let all = given.split(' ').chain([rate, "--arrivals=poisson", "--json"]);
        lab.json(all)
    };
    let sample = arriving("--rate=60/s");
    let response_ns = |figure| sample["open_loop"]["response_ns"][figure].as_f64().unwrap();
    assert!(response_ns("mean") > sample["total"]["latency_ns"]["min"].as_f64().unwrap());
    assert_eq!(
        (sample["open_loop"]["backlog_at_end"].as_u64(), sample["warnings"].as_array().unwrap().len()),
        (Some(0), 0)
    );
    let sample = arriving("--rate=1000/s");
    assert!(sample["open_loop"]["backlog_at_end"].as_u64().unwrap() > 10_000, "{}", sample["open_loop"]);
    assert_eq!(sample["warnings"][0]["code"], "rate_not_reached");
}

#[test]
fn machines_are_listed_and_shown() {
    let lab = Lab::new();
    let machines = lab.json(["sim", "list", "--json"]);
    let volumes = machines.as_array().unwrap().iter().flat_map(|machine| machine["volumes"].as_array().unwrap());
    let targets = volumes.map(|volume| volume["target"].as_str().unwrap());
    assert!(targets.clone().any(|target| target == ATLAS), "{:?}", targets.collect::<Vec<_>>());
    let text = lab.json(["sim", "show", "win2k-pentium3", "--json"])["text"].as_str().unwrap().to_owned();
    assert!(text.contains("[drive.atlas-10k]"));
    let shown = lab.json(["sim", "show", ATLAS, "--json"]);
    let parts: Vec<_> =
        shown["path"].as_array().unwrap().iter().map(|stop| stop["parts"][0].as_str().unwrap()).collect();
    assert_eq!(parts, ["atlas-10k", "scsi", "aic-7899", "pci", "processors"]);
    assert_refusal(&lab.run(["sim", "show", "win2k-pentium3:atlas-9"]), 2, "no volume", "atlas-9");
    lab.write("own.toml", text.as_bytes());
    assert_eq!(lab.json(["sim", "show", "./own.toml", "--json"])["text"], text);
    let own = lab.json(["sim", "show", "./own.toml:atlas-1", "--set=pci.rate=20MB/s", "--json"]);
    assert_eq!(own["description"], "one Atlas 10K on Ultra160 SCSI, but with pci.rate=20MB/s");
    assert_eq!(own["target"], "sim:./own.toml:atlas-1,pci.rate=20MB/s");
    assert!(own["path"][3]["does"].as_str().unwrap().starts_with("bus, 20 MB/s"), "{own}");
    assert_eq!((&own["path"][0], &own["path"][4]), (&shown["path"][0], &shown["path"][4]));
    // Whatever io takes.
    let other = lab.json(["sim", "show", "win2k-pentium3:maxtor", "--set=volume=atlas-1", "--json"]);
    assert_eq!((&other["path"], &other["description"]), (&shown["path"], &shown["description"]));
    lab.write("bad.toml", b"name = 5");
    assert_refusal(&lab.run(["sim", "show", "./bad.toml"]), 2, "line 1", "bad.toml");
    assert_refusal(&lab.run(["sim", "show", "own", "--set=disks=2"]), 2, "names no volume", "own");
    // Every volume is looked at, and the mistake is where it is written.
    let (before, volume) = text.split_once("[volume.atlas-2]").unwrap();
    for (from, to, key) in [("stripe = ", "raid5 = ", "disks = "), ("\"atlas-10k\"", "\"nosuch\"", "drive = ")] {
        let changed = format!("[volume.atlas-2]{}", volume.replacen(from, to, 1));
        std::fs::write(lab.path("bad.toml"), format!("{before}{changed}")).unwrap();
        let line = (before.to_owned() + changed.split_once(key).unwrap().0).matches('\n').count() + 1;
        let needle = format!("bad.toml, line {line}, column {}: `volume.atlas-2.", key.len() + 1);
        assert_refusal(&lab.run(["sim", "show", "./bad.toml"]), 2, &needle, to);
    }
}

#[test]
fn reads_of_a_warm_cache_ask_the_device_for_nothing() {
    let lab = Lab::new();
    let io = ["io", "sim:nvme-gen4:fresh", "--buffering=buffered", "--cache=warm", "--size=64MiB", "--bytes=64MiB"];
    let sample = lab.json([&io[..], &["--request-size=1MiB", "--no-store", "--json"]].concat());
    // It reads ahead beyond the last.
    let of_device = sample["block"]["requests"].as_u64();
    assert!(sample["total"]["requests"] == 64 && of_device <= Some(1), "{}", sample["block"]);
}

#[test]
fn a_figure_that_is_not_there_is_told_with_those_that_are_each_once() {
    let refused = Lab::new().run(["sim", "validate", "--only", ""]);
    assert_refusal(&refused, 2, "no published figure is called \"\"", "an empty word");
    let told = refused.stderr;
    let mut known: Vec<_> = told.trim().rsplit_once("begin with ").unwrap().1.split(", ").collect();
    let all = known.len();
    known.sort_unstable();
    known.dedup();
    assert!(all > 10 && known.len() == all, "{told}");
    let left_out = Lab::new().run(["sim", "validate", "--only", "parallel-writers"]).stdout;
    assert!(left_out.ends_with("Left out, as nothing can be held against them: 12.\n") && !left_out.contains("0 of 0"));
}

#[test]
fn the_analysis_finds_what_requests_cost_the_processor() {
    let lab = Lab::new();
    let sweep = |operation: &str, durability: &str| {
        format!(
            "[[sweep]]\nname = \"{operation}\"\noperation = \"{operation}\"\nbuffering = [\"direct\", \"buffered\"]\n\
             request_size = {{ from = \"4KiB\", to = \"256KiB\", factor = 4 }}\ndurability = \"{durability}\"\nbytes = \"16MiB\"\n"
        )
    };
    let trial = "name = \"sizes\"\n[trial]\nrepetitions = { min = 5, max = 5 }\n";
    let study = format!("{trial}{}{}", sweep("read", "none"), sweep("write", "flush_at_end"));
    lab.write("sizes.toml", study.as_bytes());
    let run = ["study", "run", "sizes.toml", "--target", ATLAS, "--size=1GiB", "--no-report", "--json"];
    let document = lab.json(run);
    let findings = document["analysis"]["findings"].as_array().unwrap();
    // What the machine's file says of direct requests; of buffered ones in all, with what the cache asks of the disk itself.
    for (subject, fixed, marginal) in [
        ("sequential read, QD1, direct", 32.0, 0.25),
        ("sequential read, QD1, buffered", 12.0, 6.0),
        ("sequential write, QD1, direct", 32.0, 0.25),
        ("sequential write, QD1, buffered", 12.0, 7.0),
    ] {
        let is_it = |finding: &&serde_json::Value| {
            finding["code"] == "processor_cost" && finding["subject"].as_str().unwrap().starts_with(subject)
        };
        let finding = findings.iter().find(is_it).unwrap_or_else(|| panic!("{subject}"));
        for (index, expected) in [fixed, marginal].into_iter().enumerate() {
            let found = finding["estimates"][index]["value"].as_f64().unwrap();
            assert!((found / expected - 1.0).abs() < 0.05, "{subject}: {found} of {expected}");
        }
    }
}

#[test]
fn commands_straight_to_a_disk_and_a_rate_are_simulated() {
    let lab = Lab::new();
    let target = "sim:nt4-pentium-pro:barracuda-uw";
    let sample = lab.json([
        "io",
        target,
        "--personality=sg",
        "--rate=10/s",
        "--request-size=8KiB",
        "--requests=50",
        "--no-store",
        "--json",
    ]);
    // Table 3 of the 1997 study has 0.51 ms for 8 KB that the drive has read ahead.
    let median_ns = sample["total"]["latency_ns"]["p50"].as_f64().unwrap();
    assert!((median_ns / 510e3 - 1.0).abs() < 0.1, "{median_ns}");
    let rate = sample["total"]["requests_per_s"].as_f64().unwrap();
    assert!((rate / 10.0 - 1.0).abs() < 0.05, "{rate}");
}

const CREDITS: &str = r#"
name = "credits"
[trial]
repetitions = 2
duration = "16s"
[[sweep]]
name = "reads"
pattern = "random"
request_size = "16KiB"
buffering = "direct"
depth = 32
"#;

/// A volume that bursts from a little of its credits, which last 8 s, and one that has none and needs none.
#[test]
fn credits_that_run_out_are_found_and_a_limit_that_stays_is_none() {
    let lab = Lab::new();
    lab.write("credits.toml", CREDITS.as_bytes());
    let changes = |target: &str| {
        let document = lab.json(["study", "run", "credits.toml", "--target", target, "--no-report", "--json"]);
        let findings = document["analysis"]["findings"].as_array().unwrap().clone();
        let brief = |finding: &serde_json::Value| finding["brief"].as_str().unwrap().to_owned();
        findings.iter().filter(|finding| finding["code"] == "drift").map(brief).collect::<Vec<_>>()
    };
    let burst = changes("sim:cloud-gp3:burst,gp2.limits.full=0.004");
    assert!(burst.len() == 1 && burst[0].ends_with(" MB/s for 8 s, then 4.92 MB/s"), "{burst:?}");
    assert!(burst[0].starts_with("fell: 49."), "{burst:?}");
    assert_eq!(changes("sim:cloud-gp3:baseline"), [""; 0]);
    let instance = changes("sim:cloud-gp3:small-instance,m6i-large.full=0.0015");
    assert!(instance.len() == 1 && instance[0].ends_with(" for 8 s, then 59 MB/s"), "{instance:?}");
}

#[test]
fn a_plan_of_a_machine_tells_virtual_time_and_simulated_writes() {
    let lab = Lab::new();
    let told = |target: &str| lab.run(["plan", "survey-quick", "--target", target]).stdout;
    let (simulated, real) = (told("sim:cloud-gp3:baseline"), told("."));
    assert!(
        simulated.contains(" of virtual time, up to ") && simulated.contains("What it writes is simulated."),
        "{simulated}"
    );
    assert!(!real.contains("virtual") && !real.contains("simulated"), "{real}");
}

/// Interrupted at a moment of chance and resumed, a study gives the samples that it gives in one go.
#[test]
fn a_study_of_a_machine_that_was_interrupted_is_resumed_to_the_same_samples() {
    let study = CREDITS
        .replace("repetitions = 2", "repetitions = 5")
        .replace("depth = 32", "depth = [1, 8, 32]")
        .replace("16s", "10s");
    let run = ["study", "run", "credits.toml", "--target", "sim:cloud-gp3:burst,gp2.limits.full=0.004", "--no-report"];
    let whole = Lab::new();
    whole.write("credits.toml", study.as_bytes());
    assert_eq!(whole.run(run).status, Some(0));
    let lab = Lab::new();
    lab.write("credits.toml", study.as_bytes());
    let mut running = lab.start(run);
    wait_for("samples", || running.has_ended() || lab.samples(1).len() >= 4);
    running.signal(Signal::INT);
    running.wait();
    let kept = lab.samples(1).len();
    assert!((4..15).contains(&kept), "{kept} of 15 samples before it was interrupted");
    let resumed = lab.run(["study", "resume", "1", "--report", "r.html"]);
    assert_eq!(resumed.status, Some(0), "{}", resumed.stderr);
    assert_eq!(lab.samples(1), whole.samples(1));
}

/// The codes of a sample's warnings.
fn warnings(sample: &serde_json::Value) -> Vec<String> {
    let warnings = sample["warnings"].as_array().cloned().unwrap_or_default();
    warnings.iter().map(|warning| warning["code"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn writes_that_a_buffer_holds_are_warned_of() {
    let lab = Lab::new();
    let of = |target: &str, bytes: &str, way: [&str; 2]| {
        let io = ["io", target, "--op=write", "--request-size=1MiB", "--bytes", bytes, "--json"];
        warnings(&lab.json([&io[..], &way].concat()))
    };
    let codes = |target, bytes| of(target, bytes, ["--buffering=buffered", "--durability=flush_at_end"]);
    let unflushed = |target, bytes| of(target, bytes, ["--buffering=direct", "--durability=none"]);
    assert_eq!(codes("sim:nvme-gen4:fresh", "32MiB"), ["left_in_buffer"]);
    assert_eq!(codes("sim:nvme-gen4:stripe-4", "512MiB"), ["left_in_buffer"], "each of four has one");
    // Enough, or a buffer that the flush empties.
    assert_eq!(codes("sim:nvme-gen4:fresh", "160MiB"), [""; 0]);
    assert_eq!(codes("sim:hdd-18tb:disk", "32MiB"), [""; 0]);
    // Nothing flushes these, and a disk without a cache keeps none.
    assert_eq!(unflushed("sim:hdd-18tb:disk", "64MiB"), ["in_write_cache"]);
    assert_eq!(unflushed("sim:hdd-18tb:disk", "8GiB"), [""; 0]);
    assert_eq!(unflushed("sim:hdd-18tb:disk-nocache", "64MiB"), [""; 0]);
    assert_eq!(unflushed("sim:hdd-18tb:mirror-2", "800MiB"), [""; 0], "both hold the same");
}

#[test]
fn a_setting_that_is_of_nothing_on_the_volume_s_way_is_refused() {
    let lab = Lab::new();
    let target = "sim:win2k-pentium3:atlas-4";
    for set in ["fireball-lct08.rpm=7200", "ata.rate=1GB/s", "volume.atlas-2.disks=3"] {
        for command in [&["io", target][..], &["run", target], &["sim", "show", "win2k-pentium3:atlas-4"]] {
            let needle = "is not on the I/O path of atlas-4, so it would have no effect; set";
            lab.refuses([command, &["--set", set]].concat(), 2, needle);
        }
    }
    let study = |name: &str, sets: &str| {
        let path = lab.path(name);
        let sweep = format!("[trial]\nduration = \"20ms\"\nrepetitions = 1\n[[sweep]]\nset = [{sets}]\n");
        std::fs::write(&path, format!("name = \"s\"\n[target]\npath = \"{target}\"\n{sweep}")).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let idle = study("idle.toml", r#""fireball-lct08.rpm=5400", "fireball-lct08.rpm=7200""#);
    for command in ["check", "run"] {
        let needle = "with fireball-lct08.rpm=5400: `drive.fireball-lct08.rpm` is 5400";
        lab.refuses(["study", command, &idle], 2, needle);
    }
    // Where it is of one of the volumes that the study goes to.
    let moved = study("moved.toml", r#""volume=atlas-1", "volume=fireball-dma""#);
    let arguments = |set: &'static str| ["study", "run", &moved, "--set", set].map(str::to_owned);
    lab.refuses(arguments("maxtor-40.rpm=5400"), 2, "drive.maxtor-40 is not on the I/O path of atlas-1");
    assert_eq!(lab.run(arguments("fireball-lct08.rpm=5400")).status, Some(0));
}

#[test]
fn what_only_the_simulated_file_cache_took_is_the_speed_of_memory() {
    let lab = Lab::new();
    let is_told = |more: &[&str]| {
        let arguments = ["io", "sim:hdd-18tb:disk", "--requests=2000", "--json"];
        warnings(&lab.json(arguments.iter().chain(more))).contains(&"memory_speed".to_owned())
    };
    let buffered = "--buffering=buffered";
    assert!(is_told(&["--op=write", buffered]));
    assert!(!is_told(&["--op=write", buffered, "--durability=flush_at_end"]));
    assert!(!is_told(&["--op=write", "--buffering=direct"]));
    assert!(!is_told(&["--op=read", buffered]), "the cache is empty");
    let warned = |duration: &str| {
        let place = "sim:win2k-pentium3:atlas-1";
        lab.run(["io", place, "--op=write", "--request-size=64KiB", buffered, "--duration", duration]).stdout
    };
    assert!(!warned("120s").contains("until the writes were stored"), "the disk kept up");
    assert!(warned("10s").contains("% of their bytes meanwhile: the storage is slower than this"));
    assert!(warned("1s").contains("until the writes were stored: this is the speed of memory"));
    assert!(is_told(&["--op=read", buffered, "--size=64KiB"]), "and has all of it from the first time on");
}
