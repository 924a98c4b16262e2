//! Features of simulated machines only: busy parts, validation, and changed settings.

use crate::support::{Lab, Words, assert_refusal};
use serde_json::Value;

/// The cells of a plan.
fn cells(lab: &Lab, words: impl Words) -> Vec<Value> {
    lab.json(("plan", words))["cells"].as_array().unwrap().iter().map(|cell| cell["workload"].clone()).collect()
}

#[test]
fn machines_are_held_against_what_was_published() {
    let lab = Lab::new();
    let document = lab.json("sim validate --only fireball-dma.random.write atlas.outer");
    let figures = document["figures"].as_array().unwrap();
    assert_eq!((figures.len(), &document["enough"]), (7, &true.into()), "{document}");
    let outer = &figures[0];
    let simulated = outer["simulated"].as_f64().unwrap();
    assert!((22.8..=25.2).contains(&simulated), "{outer}");
    let error = outer["error"].as_f64().unwrap();
    assert!((error - (simulated / 24.0 - 1.0) * 100.0).abs() < 1e-9 && outer["pass"] == true, "{outer}");
    // The fault of a kernel is not simulated, so none of these figures is compared.
    let text = lab.run("sim validate --only parallel-writers.buffered").stdout;
    assert!(text.ends_with("Left out, because they cannot be compared: 3.\n") && !text.contains("0 of 0"), "{text}");
    lab.refuses("sim validate --only atlas.upper", 2, "no published figure is called");
    // Those that there are are each named once.
    let refused = lab.refuses(["sim", "validate", "--only", ""], 2, "no published figure is called \"\"").stderr;
    let mut known: Vec<_> = refused.trim().rsplit_once("begin with ").unwrap().1.split(", ").collect();
    let all = known.len();
    known.sort_unstable();
    known.dedup();
    assert!(all > 10 && known.len() == all, "{refused}");
}

#[test]
fn how_busy_the_parts_were_is_reported() {
    let lab = Lab::new();
    let io = "io sim:win2k-pentium3:atlas-4 --request-size=1MiB --depth=8 --buffering=direct --duration=2s";
    let text = lab.ok(io).stdout;
    let bus = "bottleneck  the bus: it (pci) was busy 93 % of the time, and aic-7899, which waits for it, 100 %";
    assert!(text.contains(bus) && text.contains("4 × atlas-10k"), "{text}");
    assert!(!text.contains("at most"), "it knows its CPUs' time: {text}");
    let page = lab.page(1);
    assert!(page.contains("Parts of the simulated machine") && page.contains("<td>aic-7899 100 %</td>"), "{page}");
}

/// Rates of a stripe by disks, each set in its own way.
#[test]
fn a_machine_can_be_another_one_for_a_run() {
    let lab = Lab::new();
    let atlas = "sim:win2k-pentium3:atlas-3";
    let io = |target: &str, set: &str| {
        let how = "io --request-size=1MiB --depth=8 --buffering=direct --duration=5s --size=1GiB";
        lab.json((how, format!("{target} {set}")))
    };
    let rate = |sample: &Value| sample["total"]["bytes_per_s"].as_f64().unwrap();
    let plain = io(atlas, "");
    let wide = io(atlas, "--set pci.rate=533MB/s --set=disks=6 --set scsi.rate=640MB/s");
    assert!(rate(&wide) > 1.6 * rate(&plain), "{} {}", rate(&plain), rate(&wide));
    let path = "sim:win2k-pentium3:atlas-3,pci.rate=533MB/s,disks=6,scsi.rate=640MB/s";
    assert_eq!(wide["environment"]["target"]["path"], path);
    assert_eq!(rate(&io(path, "")), rate(&wide), "the name is the setting");
    let slow = io(atlas, "--set bus.pci.rate=10MB/s");
    assert!(rate(&slow) < 10.1e6, "{}", rate(&slow));
    assert!(lab.run("compare 1 2").stdout.contains("pci.rate=533MB/s"));
    let rows = [
        ("pcie.rate=1GB/s", "no part has the name pcie; parts are cpu, system, "),
        ("pci.rte=1GB/s", "unknown field `rte`, expected one of"),
        ("pci.rate=fast", "pci.rate=fast"),
        ("disks=0", "from 1 to 1024"),
        ("disks=4,disks=5", "is set twice"),
        ("disks", "like disks=4"),
    ];
    lab.refuses_each(rows.map(|(set, needle)| (format!("io {atlas} --set {set}"), 2, needle)));
    for set in ["fireball-lct08.rpm=7200", "maxtor-40.rpm=5400", "ata.read-rate=1GB/s", "volume.atlas-2.disks=3"] {
        for command in ["io sim:", "run sim:", "sim show "] {
            let needle = "is not on the I/O path of atlas-4, so it would have no effect; set";
            lab.refuses(format!("{command}win2k-pentium3:atlas-4 --set {set}"), 2, needle);
        }
    }
    lab.refuses("io null: --set disks=4", 2, "is of a simulated machine");
}

/// A study of one sweep on a volume.
fn study(volume: &str, sweep: &str) -> String {
    let target = format!("[target]\npath = \"sim:win2k-pentium3:{volume}\"\n");
    format!("name = \"s\"\n{target}[trial]\nrepetitions = 1\n[[sweep]]\n{sweep}\n")
}

#[test]
fn settings_that_cannot_be_are_mistakes_of_a_study() {
    let lab = Lab::new();
    let sweep = "duration = \"10ms\"\nset = [\"disks=1\", \"pci.rat=1\", \"disks=0\", \"volume=atlas-9\"]";
    lab.write("wrong.toml", study("atlas-2", sweep));
    for command in ["plan", "study run"] {
        let outcome = lab.run((command, "wrong.toml"));
        for mistake in ["unknown field `rat`", "disks=0", "has no volume \"atlas-9\""] {
            assert_refusal(&outcome, 2, mistake, "wrong.toml");
        }
    }
    // With other mistakes, all at once, each at its place; a missing machine is reported once, at its place.
    lab.write("wrong.toml", study("atlas-2", &format!("{sweep}\ndeep = 3")));
    let checked = lab.ends("study check wrong.toml", 2, "wrong.toml:9:1: unknown key `deep`").stderr;
    for (what, place) in [("`rat`", "8:19"), ("disks=0:", "8:32"), ("no volume", "8:43")] {
        let line = checked.lines().find(|line| line.contains(what)).unwrap_or_default();
        assert!(line.contains(&format!("wrong.toml:{place}: ma")), "{what}: {checked}");
    }
    lab.write("nowhere.toml", study("atlas-2", sweep).replace("win2k-pentium3", "win2k-pentium4"));
    let why = "nowhere.toml:3:8: no simulated machine is called win2k-pentium4";
    let checked = lab.refuses("study check nowhere.toml", 2, why).stderr;
    assert_eq!(checked.matches("nowhere.toml:").count(), 1, "{checked}");
    // A folder's in each of its files, those of what they include once.
    lab.directory("folder");
    let whole = study("atlas-2", "").replace("[[sweep]]\n", "");
    lab.write("folder/study.toml", &whole);
    for (file, rate) in [("one", 1), ("two", 2)] {
        let text = format!("name = \"{file}\"\ninclude = \"study.toml\"\n[[sweep]]\nset = \"pci.rat={rate}\"\n");
        lab.write(format!("folder/{file}.toml"), text);
    }
    let checked = lab.ends("study check folder", 2, "folder/one.toml:4:7: ").stderr;
    assert!(checked.contains("folder/two.toml:4:7: "), "{checked}");
    lab.write("folder/study.toml", format!("{whole}deep = 3\n"));
    let checked = lab.run("study check folder").stderr;
    assert!(checked.matches("unknown key `deep`").count() == 1 && !checked.contains("one.toml"), "{checked}");
    // A setting that is of nothing on the way of any volume that the study goes to.
    let set = "set = [\"fireball-lct08.rpm=5400\", \"fireball-lct08.rpm=7200\"]\nduration = \"20ms\"";
    lab.write("idle.toml", study("atlas-4", set));
    for command in ["study check", "study run"] {
        lab.refuses((command, "idle.toml"), 2, "with fireball-lct08.rpm=5400: `drive.fireball-lct08.rpm` is 5400");
    }
    lab.write(
        "moved.toml",
        study("atlas-4", "set = [\"volume=atlas-1\", \"volume=fireball-dma\"]\nduration = \"20ms\""),
    );
    let moved = "study run moved.toml --no-report --set";
    lab.refuses((moved, "maxtor-40.rpm=5400"), 2, "drive.maxtor-40 is not on the I/O path of atlas-1");
    lab.ok((moved, "fireball-lct08.rpm=5400"));
}

#[test]
fn a_study_sweeps_over_a_setting() {
    let lab = Lab::new();
    let sweep = "request_size = \"1MiB\"\ndepth = 8\nsize = \"1GiB\"\nduration = \"2s\"\n\
        set = [\"disks=1\", \"disks=2\", \"disks=4,pci.rate=533MB/s\"]";
    lab.write("what-if.toml", study("atlas-2", sweep).replace("repetitions = 1", "repetitions = 2"));
    let run = "study run what-if.toml --report=r.html";
    assert_eq!(cells(&lab, "what-if.toml").len(), 3, "each has a point");
    let printed = lab.ok(run).words();
    for needle in [
        "set disks=2 50.1 MB/s",
        "Workload (throughput · IOPS · bottleneck · busy)",
        "· the device: the busiest part, atlas-10k, was busy 100 % of the time; the next, aic-7899, 54 % · \
         2 × atlas-10k 100 %, aic-7899 54 %, pci 50 %, scsi 31 %, CPUs 1 %",
    ] {
        assert!(printed.contains(needle), "{needle}: {printed}");
    }
    let document = lab.json("runs show 1");
    let cells = document["analysis"]["cells"].as_array().unwrap();
    let rates: Vec<f64> = cells.iter().map(|cell| cell["bytes_per_s"]["value"].as_f64().unwrap()).collect();
    assert!(rates[1] > 1.9 * rates[0] && rates[2] > 1.9 * rates[1], "{rates:?}");
    assert_eq!(cells[2]["workload"]["set"], "disks=4,pci.rate=533MB/s");
    let report = lab.read("r.html");
    for part in [
        "set disks=4,pci.rate=533MB",
        "4 × atlas-10k",
        "Parts of the simulated machine",
        "<p>Bottlenecks of the workloads: the device in 3 of 3.</p>",
    ] {
        assert!(report.contains(part), "{part}");
    }
    assert!(!report.contains("This run supports no claim"), "{report}");
    // Each setting has a line of its own.
    let sweep =
        "request_size = [\"16KiB\", \"64KiB\", \"256KiB\"]\nbuffering = \"direct\"\nset = [\"disks=1\", \"disks=2\"]";
    lab.write("lines.toml", study("atlas-2", &format!("{sweep}\nduration = \"50ms\"")));
    lab.ok("study run lines.toml --report=lines.html");
    let lines = lab.read("lines.html");
    assert!(lines.contains("direct, QD1, disks=1") && lines.contains("direct, QD1, disks=2"), "{lines}");
    // Without a size each is as large as its own volume.
    lab.write("sizes.toml", study("atlas-2", "duration = \"1s\"\nset = [\"disks=1\", \"disks=2\", \"disks=4\"]"));
    let outcome = lab.ok("study run sizes.toml --no-report --json");
    assert!(!outcome.stderr.contains("given up"), "{}", outcome.stderr);
    let document = outcome.document();
    let [one, two, four] =
        [0, 1, 2].map(|cell| document["analysis"]["cells"][cell]["workload"]["size"].as_u64().unwrap());
    assert_eq!((two, four), (2 * one, 4 * one));
    // A host cannot be another one.
    lab.write("host.toml", "name = \"s\"\n[[sweep]]\nset = \"disks=1\"\n");
    lab.refuses("study run host.toml --target=null:", 2, "is of a simulated machine");
    let outcome = lab.ends("run --quick --dry-run sim:win2k-pentium3:memory", 0, "Left out: ");
    assert!(!outcome.stderr.contains("slow disk") && outcome.stderr.contains("no page cache"), "{}", outcome.stderr);
}

#[test]
fn a_paper_s_figures_run_on_its_machine_and_stand_beside_what_it_prints() {
    let lab = Lab::new();
    // As it ships, but fewer times.
    let own = "name = \"fewer\"\ninclude = \"nt4/figure-3.toml\"\nfigure = \"Figure 3\"\nquestion = \"Why?\"\n[trial]\nrepetitions = 2\n";
    lab.write("figure.toml", own);
    let summary = lab.ok("study run figure.toml --report=nt4.html");
    let met = " of the 4 figures that the paper prints in Figure 3 are met, and 3 of 5 that it prints elsewhere of";
    assert!(summary.words().contains(met) && summary.stdout.contains("\nPeak "), "{}", summary.stdout);
    let other = lab.ok("study run figure.toml --no-report --set pci.rate=50MB/s").stdout;
    assert!(!other.contains("the paper prints"), "{other}");
    let report = lab.read("nt4.html");
    let figure = report.split("<h2>Figure 3</h2>").nth(1).unwrap().split("</section>").next().unwrap();
    for part in [
        "Why?",
        ">the paper</",
        "the mean of a workload over 2 repetitions.",
        "Points without a line are printed in the paper.",
    ] {
        assert!(figure.contains(part), "{part}: {figure}");
    }
    assert!(!figure.contains("over 1 to 2"), "what the paper prints is no repetition: {figure}");
    // The Barracuda's 8.5 MB/s of 2^20.
    let beside = figure.split("class=\"beside\"").nth(1).unwrap();
    let row = beside.split("<tr>").find(|row| row.contains(">barracuda-uw<") && row.contains("<td>8.5 MiB&#x2f;s"));
    assert!(row.is_some_and(|row| row.contains("section 3, figure 3")), "{beside}");
    assert!(report.contains("sim:nt4-pentium-pro:barracuda-fw, sim:nt4-pentium-pro:barracuda-uw"), "its volumes");
    // For many figures the summary has the number of values that are met.
    lab.directory("two");
    lab.write("two/study.toml", "name = \"two\"\ninclude = \"nt4/study.toml\"\n[trial]\nrepetitions = 1\n");
    for (name, depth) in [("Figure 3", "1"), ("Figure 5", "2")] {
        let head = format!("name = \"one\"\ninclude = \"study.toml\"\nfigure = \"{name}\"\nquestion = \"How fast?\"\n");
        let sweep = format!("[[sweep]]\noperation = \"read\"\nrequest_size = \"64KiB\"\ndepth = {depth}\n");
        lab.write(format!("two/{}.toml", name.replace(' ', "-")), head + &sweep);
    }
    let many = lab.ok("study run two --no-report").stdout;
    for part in [" of 1  How fast?", "Figure 5   –       How fast?", "Elsewhere  2 of 3  Which other"] {
        assert!(many.contains(part) && !many.contains("Peak"), "{many}");
    }
    // Values of a table and of the text are counted apart.
    let table = lab.ok("study run nt4/table-4 --no-report --no-store").words();
    let met = "of the 32 figures that the paper prints in Table 4 are met, and 2 of 4 that it prints elsewhere of these workloads: ";
    assert!(table.contains(met), "{table}");
}

#[test]
fn a_setting_that_changes_nothing_makes_no_workload_of_its_own() {
    let lab = Lab::new();
    let planned = |target: &str| {
        let cells = cells(&lab, ("nt4/figure-2 --target", target));
        (cells.len(), cells.iter().filter(|cell| cell["set"] == "write-cache=true").count())
    };
    // A flash drive has its buffer anyway, and a disk without write cache has not.
    let [flash, disk] = ["sim:nvme-gen4:fresh", "sim:hdd-18tb:disk-nocache"].map(planned);
    assert_eq!((flash.1, disk), (0, (flash.0 + 16, 16)));
}

#[test]
fn a_paper_s_study_goes_to_other_targets_as_well() {
    let lab = Lab::new();
    let plan = lab.json("plan win2000 --target place --size=64MiB");
    let mut workloads: Vec<String> =
        plan["cells"].as_array().unwrap().iter().map(|cell| cell["workload"].to_string()).collect();
    let all = workloads.len();
    assert!(all > 40 && workloads.iter().all(|workload| !workload.contains("volume=")));
    // A volume is no difference there; seeds are.
    workloads.sort_unstable();
    workloads.dedup();
    assert_eq!(workloads.len(), all);
    assert_eq!(plan["write_budget"], 32_u64 << 30, "a disk wears");
    assert!(cells(&lab, "win2000").len() > 2 * all);

    // One target stands for all volumes, or one for each; simulated ones too.
    let table = "plan win2000/table-7 --size=1MiB";
    lab.ends((table, "--target=place"), 0, "compares 2 volumes (fireball-dma, fireball-pio)");
    let [a, b, c] = ["a", "b", "c"].map(|name| {
        lab.data_file(name, 1024);
        format!("--target={name}")
    });
    for (targets, expected) in [(vec![&a], vec![Value::Null]), (vec![&a, &b], vec!["only=1".into(), "only=2".into()])] {
        let cells = lab.json((table, &targets))["cells"].take();
        let among = cells.as_array().unwrap().iter().map(|cell| cell["workload"]["among"].clone());
        assert_eq!(among.collect::<Vec<_>>(), expected, "{targets:?}");
    }
    lab.refuses((table, [a, b, c]), 2, "name one for all of them, or one for each");
    let [disk, other] = ["--target=sim:hdd-18tb:disk", "--target=sim:win2k-pentium3:atlas-3,disks=2"];
    let two = lab.json((table, format!("{disk} {other}")));
    assert_eq!(two["target"], "sim:hdd-18tb:disk, sim:win2k-pentium3:atlas-3");
    let set = |cell: usize| two["cells"][cell]["workload"]["set"].as_str().unwrap();
    assert_eq!([set(0), set(1)], ["volume=disk", "volume=win2k-pentium3:atlas-3,disks=2"]);
    lab.refuses((table, [disk; 3]), 2, "name one for all of them, or one for each");
    lab.refuses((table, [disk, "--target=null:"]), 2, "name only one kind of them");
}

#[test]
fn a_study_s_targets_are_those_of_its_workloads() {
    let lab = Lab::new();
    let run = |volumes: &str| {
        lab.write("two.toml", study("atlas-1", &format!("size = \"10MiB\"\nduration = \"10ms\"\nset = [{volumes}]")));
        let outcome = lab.ok("study run two.toml --no-report");
        (outcome.stderr.clone(), outcome.stdout.replace('\n', " "))
    };
    let (target, summary) = run("\"volume=fireball-raid0-2\", \"volume=fireball-1\"");
    assert!(target.starts_with("Target: fireball-lct08, 256 MiB of memory.\n"), "{target}");
    assert!(summary.contains("(fireball-lct08; kernel Windows 2000, 2 CPUs; by asyn"), "{summary}");
    let (target, summary) = run("\"volume=fireball-1\", \"volume=nt4-pentium-pro:barracuda-uw\", \"cpu.count=2\"");
    assert!(target.starts_with("Target: fireball-lct08, barracuda-4lp, atlas-10k.\n"), "{target}");
    assert!(summary.contains("atlas-10k; kernel Windows 2000, Windows NT 4.0 SP3)"), "{summary}");
    // So are they listed, the one that the target names among them where a workload goes to it.
    let runs = lab.json("runs");
    let of_one = "sim:win2k-pentium3:fireball-raid0-2, sim:win2k-pentium3:fireball-1";
    let of_more = "sim:win2k-pentium3:fireball-1, sim:nt4-pentium-pro:barracuda-uw, sim:win2k-pentium3:atlas-1";
    assert_eq!((&runs[0]["target"], &runs[1]["target"]), (&of_one.into(), &of_more.into()));
    assert_eq!(lab.json("runs show 1")["target"], of_one);
    assert!(lab.run("runs").stdout.contains(&format!(" on {of_more}")));
}

#[test]
fn folders_of_studies_are_listed_and_read() {
    let lab = Lab::new();
    let listed = lab.run("study list").stdout;
    assert!(listed.contains("\nwin2000 ") && !listed.contains("win2000/figure-34"), "{listed}");
    assert!(listed.contains("`halfpower study list win2000` names them"), "{listed}");
    let figures = lab.run("study list nt4").stdout;
    assert!(figures.starts_with("nt4/figure-2 ") && figures.contains("\nnt4/table-4 "), "{figures}");
    // As many workloads as its plan has.
    let own = crate::support::find(&lab.json("study list"), "name", "nt4")["cells"].clone();
    assert_eq!(own, cells(&lab, "nt4").len());
    assert!(lab.run("study check nt4").stdout.contains(&format!("nt4: {own} workloads")));
    lab.directory("mine");
    lab.write("mine/study.toml", "name = \"mine\"\n[workload]\nrequests = 10\n");
    for name in ["b", "a"] {
        let text = format!("name = \"{name}\"\ninclude = \"study.toml\"\n[[sweep]]\nname = \"{name}\"\n");
        lab.write(format!("mine/{name}.toml"), text);
    }
    let checked = lab.run("study check mine mine/a.toml").stdout;
    assert_eq!(checked, "mine: 1 workloads\nmine/a.toml: 1 workloads\n");
    assert_eq!(lab.run("study list mine").stdout, "mine/a.toml     1 workloads\nmine/b.toml     1 workloads\n");
    lab.write("machine.toml", "[cpu]\n");
    let all = lab.run("study list .");
    let mine: Vec<&str> = all.stdout.lines().filter(|line| line.starts_with("mine")).collect();
    assert!(mine.len() == 1 && mine[0].ends_with(" 1 workloads"), "a folder is a study: {}", all.stdout);
    assert!(all.stderr.ends_with("`halfpower study check` names: machine.toml\n"), "{}", all.stderr);
    lab.write("mine/c.toml", "name = \"c\"\ninclude = \"study.toml\"\n[[sweep]]\ndpeth = 3\n");
    let rows = [
        ("study list survey", "those are nt4, win2000"),
        ("study show nt4/figure-99", "nt4/figure-3, "),
        ("study list place", "no study files (.toml) in place"),
        ("study check mine/", "mine/c.toml:4:1: unknown key `dpeth`"),
    ];
    lab.refuses_each(rows.map(|(words, needle)| (words, 2, needle)));
}
