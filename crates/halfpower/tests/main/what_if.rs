//! What a simulated machine tells that no host does: how busy its parts were, whether it is true, and what if it were another.

use crate::support::{Lab, Outcome, assert_refusal};

/// What was said on standard output, on one line.
fn words(outcome: &Outcome) -> String {
    outcome.stdout.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn machines_are_held_against_what_was_published() {
    let lab = Lab::new();
    let document = lab.json(["sim", "validate", "--only", "fireball-dma.random.write", "atlas.outer", "--json"]);
    let figures = document["figures"].as_array().unwrap();
    assert_eq!((figures.len(), &document["enough"]), (7, &true.into()), "{document}");
    let outer = &figures[0];
    let simulated = outer["simulated"].as_f64().unwrap();
    assert!((22.8..=25.2).contains(&simulated), "{outer}");
    let error = outer["error"].as_f64().unwrap();
    assert!((error - (simulated / 24.0 - 1.0) * 100.0).abs() < 1e-9 && outer["pass"] == true, "{outer}");
    // Nobody can give a kernel's fault: left out, and nothing is left to hold a machine against.
    let text = lab.run(["sim", "validate", "--only", "parallel-writers"]);
    assert!(
        text.stdout.contains("left out") && text.stdout.contains("nothing can be held against them: 12."),
        "{}",
        text.stdout
    );
    assert_refusal(&lab.run(["sim", "validate", "--only", "atlas.upper"]), 2, "no published figure is called", "atlas");
}

#[test]
fn how_busy_the_parts_were_is_told() {
    let lab = Lab::new();
    let io = ["io", "sim:win2k-pentium3:atlas-4", "--request-size=1MiB", "--depth=8", "--buffering=direct"];
    let told = lab.run([&io[..], &["--duration=2s"]].concat()).stdout;
    assert!(
        told.contains(
            "bottleneck  the bus: it (pci) was busy 93 % of the time, and aic-7899, which waits for it, 100 %"
        ) && told.contains("4 × atlas-10k"),
        "{told}"
    );
    assert!(!told.contains("at most"), "it knows its processors' time: {told}");
    lab.json(["report", "1", "--json", "--output=page.html"]);
    let report = std::fs::read_to_string(lab.path("page.html")).unwrap();
    assert!(
        report.contains("Parts of the simulated machine") && report.contains("<td>aic-7899 100 %</td>"),
        "{report}"
    );
}

/// Rates of a stripe by disks, each set in its own way.
#[test]
fn a_machine_can_be_another_one_for_a_run() {
    let lab = Lab::new();
    let atlas = "sim:win2k-pentium3:atlas-3";
    let io = |target: &str, set: &[&str]| {
        let workload =
            ["--request-size=1MiB", "--depth=8", "--buffering=direct", "--duration=5s", "--size=1GiB", "--json"];
        lab.json([&["io", target][..], &workload, set].concat())
    };
    let rate = |sample: &serde_json::Value| sample["total"]["bytes_per_s"].as_f64().unwrap();
    let plain = io(atlas, &[]);
    let wide = io(atlas, &["--set", "pci.rate=533MB/s", "--set=disks=6", "--set", "scsi.rate=640MB/s"]);
    assert!(rate(&wide) > 1.6 * rate(&plain), "{} {}", rate(&plain), rate(&wide));
    let path = "sim:win2k-pentium3:atlas-3,pci.rate=533MB/s,disks=6,scsi.rate=640MB/s";
    assert_eq!(wide["environment"]["target"]["path"], path);
    let named = io(path, &[]);
    assert_eq!(rate(&named), rate(&wide), "the name is the setting");
    let slow = io(atlas, &["--set", "bus.pci.rate=10MB/s"]);
    assert!(rate(&slow) < 10.1e6, "{}", rate(&slow));
    let told = lab.run(["compare", "1", "2"]);
    assert!(told.stdout.contains("pci.rate=533MB/s"), "{}{}", told.stdout, told.stderr);
    let refused = |set: &str, needle| {
        assert_refusal(&lab.run(["io", atlas, "--set", set]), 2, needle, set);
    };
    refused("pcie.rate=1GB/s", "no part has the name pcie; parts are processor, system, ");
    refused("pci.rte=1GB/s", "unknown field `rte`, expected one of");
    refused("pci.rate=fast", "pci.rate=fast");
    refused("disks=0", "from 1 to 1024");
    refused("disks=4,disks=5", "is set twice");
    refused("disks", "like disks=4");
    assert_refusal(&lab.run(["io", "null:", "--set", "disks=4"]), 2, "is of a simulated machine", "null");
}

const WHAT_IF: &str = r#"
name = "what-if"
[trial]
repetitions = 2
[[sweep]]
name = "disks"
request_size = "1MiB"
depth = 8
size = "1GiB"
duration = "2s"
set = ["disks=1", "disks=2", "disks=4,pci.rate=533MB/s"]
"#;

#[test]
fn a_study_sweeps_over_a_setting() {
    let lab = Lab::new();
    let study = lab.write("what-if.toml", WHAT_IF.as_bytes());
    let run = |target: &str| lab.run(["study", "run", study.to_str().unwrap(), "--target", target, "--report=r.html"]);
    let outcome = run("sim:win2k-pentium3:atlas-2");
    assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
    let told = words(&outcome);
    for needle in [
        "Workload (throughput · IOPS · bottleneck · busy)",
        "set disks=2 50.1 MB/s",
        "· the device: the busiest part, atlas-10k, was busy 100 % of the time; the next, aic-7899, 54 % · \
         2 × atlas-10k 100 %, aic-7899 54 %, pci 50 %, scsi 31 %, processors 1 %",
    ] {
        assert!(told.contains(needle), "{needle}: {told}");
    }
    let document = lab.json(["runs", "show", "1", "--json"]);
    let cells = document["analysis"]["cells"].as_array().unwrap();
    let rates: Vec<f64> = cells.iter().map(|cell| cell["bytes_per_s"]["value"].as_f64().unwrap() / 1e6).collect();
    assert!(rates[1] > 1.9 * rates[0] && rates[2] > 1.9 * rates[1], "{rates:?}");
    assert_eq!(cells[2]["workload"]["set"], "disks=4,pci.rate=533MB/s");
    let report = std::fs::read_to_string(lab.path("r.html")).unwrap();
    assert!(report.contains("set disks=4,pci.rate=533MB") && report.contains("4 × atlas-10k"));
    let verdict = "<p>Bottlenecks of the workloads: the device in 3 of 3.</p>";
    assert!(report.contains(verdict) && !report.contains("This run supports no claim"), "{report}");
    // A host cannot be another one.
    assert_refusal(&run("null:"), 2, "is of a simulated machine", "null");
}

#[test]
fn each_setting_has_a_line_of_its_own() {
    let lab = Lab::new();
    let sweep = "request_size = [\"16KiB\", \"64KiB\", \"256KiB\"]\nbuffering = \"direct\"\nduration = \"50ms\"\nset = [\"disks=1\", \"disks=2\"]\n";
    lab.write("lines.toml", format!("name = \"lines\"\n[trial]\nrepetitions = 1\n[[sweep]]\n{sweep}").as_bytes());
    let target = "sim:win2k-pentium3:atlas-2";
    let outcome = lab.run(["study", "run", "lines.toml", "--target", target, "--report=lines.html"]);
    assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
    let report = std::fs::read_to_string(lab.path("lines.html")).unwrap();
    for line in ["direct, QD1, disks=1", "direct, QD1, disks=2"] {
        assert!(report.contains(line), "{line}");
    }
}

#[test]
fn settings_that_cannot_be_are_mistakes_of_a_study() {
    let lab = Lab::new();
    let head =
        "name = \"wrong\"\n[target]\npath = \"sim:win2k-pentium3:atlas-2\"\n[trial]\nrepetitions = 1\n[[sweep]]\n";
    let sweep = "duration = \"10ms\"\nset = [\"disks=1\", \"pci.rat=1\", \"disks=0\", \"volume=atlas-9\"]\n";
    lab.write("wrong.toml", format!("{head}{sweep}").as_bytes());
    for command in [&["plan"][..], &["study", "run"]] {
        let outcome = lab.run([command, &["wrong.toml"]].concat());
        for mistake in ["unknown field `rat`", "disks=0", "has no volume \"atlas-9\""] {
            assert_refusal(&outcome, 2, mistake, "wrong.toml");
        }
    }
    // With other mistakes, all at once, each at its place; a machine that is not there is told at its own, and once.
    lab.write("wrong.toml", format!("{head}{sweep}deep = 3\n").as_bytes());
    let checked = lab.run(["study", "check", "wrong.toml"]);
    assert_eq!(checked.status, Some(2), "{}", checked.stderr);
    let place = |what: &str| Some(checked.stderr.lines().find(|line| line.contains(what))?.split_once(": ma")?.0);
    let places = ["`rat`", "disks=0:", "no volume"].map(place);
    assert_eq!(
        places,
        ["error: wrong.toml:8:19", "wrong.toml:8:32", "wrong.toml:8:43"].map(Some),
        "{}",
        checked.stderr
    );
    assert!(checked.stderr.contains("wrong.toml:9:1: unknown key `deep`"), "{}", checked.stderr);
    // A folder's in each of its files, those of what they include once.
    std::fs::create_dir(lab.path("folder")).unwrap();
    let whole = head.replace("[[sweep]]\n", "");
    lab.write("folder/study.toml", whole.as_bytes());
    for (file, rate) in [("one", 1), ("two", 2)] {
        let text = format!("name = \"{file}\"\ninclude = \"study.toml\"\n[[sweep]]\nset = \"pci.rat={rate}\"\n");
        lab.write(&format!("folder/{file}.toml"), text.as_bytes());
    }
    let checked = lab.run(["study", "check", "folder"]).stderr;
    assert!(checked.contains("folder/one.toml:4:7: ") && checked.contains("folder/two.toml:4:7: "), "{checked}");
    lab.write("folder/study.toml", format!("{whole}deep = 3\n").as_bytes());
    let checked = lab.run(["study", "check", "folder"]).stderr;
    assert!(checked.matches("unknown key `deep`").count() == 1 && !checked.contains("one.toml"), "{checked}");
    let head = head.replace("win2k-pentium3", "win2k-pentium4");
    lab.write("nowhere.toml", format!("{head}{sweep}").as_bytes());
    let checked = lab.run(["study", "check", "nowhere.toml"]);
    assert_refusal(&checked, 2, "nowhere.toml:3:8: no simulated machine is called win2k-pentium4", "nowhere.toml");
    assert_eq!(checked.stderr.matches("nowhere.toml:").count(), 1, "{}", checked.stderr);
}

#[test]
fn a_workload_without_a_size_is_as_large_as_its_own_volume() {
    let lab = Lab::new();
    let sizes = |target: &str, sweep: &str| {
        let study = format!("name = \"sizes\"\n[trial]\nrepetitions = 1\n[[sweep]]\nduration = \"1s\"\n{sweep}");
        lab.write("sizes.toml", study.as_bytes());
        let outcome = lab.run(["study", "run", "sizes.toml", "--no-report", "--json", "--target", target]);
        assert_eq!((outcome.status, outcome.stderr.contains("given up")), (Some(0), false), "{}", outcome.stderr);
        let run: serde_json::Value = serde_json::from_str(&outcome.stdout).unwrap();
        let cells = run["analysis"]["cells"].as_array().unwrap();
        cells.iter().map(|cell| cell["workload"]["size"].as_u64().unwrap()).collect::<Vec<_>>()
    };
    let striped = sizes("sim:win2k-pentium3:atlas-2", "set = [\"disks=1\", \"disks=2\", \"disks=4\"]");
    assert_eq!((striped[1], striped[2]), (2 * striped[0], 4 * striped[0]));
}

#[test]
fn what_a_volume_does_not_do_is_left_out_of_the_plan() {
    let lab = Lab::new();
    let outcome = lab.run(["run", "--quick", "--dry-run", "sim:win2k-pentium3:memory"]);
    assert!(!outcome.stderr.contains("slow disk"), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("Left out: ") && outcome.stderr.contains("no page cache"), "{}", outcome.stderr);
}

#[test]
fn a_paper_s_figures_run_on_its_machine_and_stand_beside_what_it_prints() {
    let lab = Lab::new();
    // As it ships, but fewer times.
    let own = "name = \"fewer\"\ninclude = \"nt4/figure-3.toml\"\nfigure = \"Figure 3\"\nquestion = \"Why?\"\n[trial]\nrepetitions = 2\n";
    lab.write("figure.toml", own.as_bytes());
    let outcome = lab.run(["study", "run", "figure.toml", "--report=nt4.html"]);
    assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
    let told = " of the 2 figures that the paper prints in Figure 3 are met, and 3 of 3 that it prints elsewhere of";
    assert!(words(&outcome).contains(told) && outcome.stdout.contains("\nPeak "), "{}", outcome.stdout);
    let other = lab.run(["study", "run", "figure.toml", "--no-report", "--set", "pci.rate=50MB/s"]);
    assert_eq!((other.status, other.stdout.contains("the paper prints")), (Some(0), false), "{}", other.stderr);
    let report = std::fs::read_to_string(lab.path("nt4.html")).unwrap();
    let figure = report.split("<h2>Figure 3</h2>").nth(1).unwrap().split("</section>").next().unwrap();
    assert!(figure.contains("Why?") && figure.contains(">the paper</"), "{figure}");
    assert!(figure.contains("the mean of a workload over 2 repetitions."), "{figure}");
    assert!(!figure.contains("over 1 to 2"), "what the paper prints is no repetition: {figure}");
    assert!(figure.contains("Points without a line are printed in the paper."), "{figure}");
    // The Barracuda's 8.5 MB/s of 2^20.
    let beside = figure.split("class=\"beside\"").nth(1).unwrap();
    let row = beside.split("<tr>").find(|row| row.contains(">barracuda-uw<") && row.contains("<td>8.5 MiB&#x2f;s"));
    assert!(row.is_some_and(|row| row.contains("section 3, figure 3")), "{beside}");
    assert!(report.contains("sim:nt4-pentium-pro:barracuda-fw, sim:nt4-pentium-pro:barracuda-uw"), "its volumes");
}

#[test]
fn of_many_figures_the_summary_says_how_many_are_met() {
    let lab = Lab::new();
    std::fs::create_dir(lab.path("two")).unwrap();
    let head = "name = \"two\"\ninclude = \"nt4/study.toml\"\n[trial]\nrepetitions = 1\n";
    lab.write("two/study.toml", head.as_bytes());
    for (name, depth) in [("Figure 3", "1"), ("Figure 5", "2")] {
        let text = format!(
            "name = \"one\"\ninclude = \"study.toml\"\nfigure = \"{name}\"\nquestion = \"How fast?\"\n[[sweep]]\n"
        );
        let sweep = format!("{text}operation = \"read\"\nrequest_size = \"64KiB\"\ndepth = {depth}\n");
        lab.write(&format!("two/{}.toml", name.replace(' ', "-")), sweep.as_bytes());
    }
    let outcome = lab.run(["study", "run", "two", "--no-report"]);
    assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
    let told = outcome.stdout;
    assert!(told.contains(" of 1  How fast?") && told.contains("Figure 5   –       How fast?"), "{told}");
    assert!(told.contains("Elsewhere  2 of 2  Which other") && !told.contains("Peak"), "{told}");
}

#[test]
fn what_a_table_prints_is_told_from_what_the_text_does() {
    let outcome = Lab::new().run(["study", "run", "nt4/table-4", "--no-report", "--no-store"]);
    let told = words(&outcome);
    let counts = "of the 32 figures that the paper prints in Table 4 are met, and 2 of 3 that it prints elsewhere of these workloads: ";
    assert!(told.contains(counts), "{told}");
}

#[test]
fn a_setting_that_changes_nothing_makes_no_workload_of_its_own() {
    let lab = Lab::new();
    let plan = |target: &str| lab.json(["plan", "nt4/figure-2", "--json", "--target", target]);
    let set = |plan: &serde_json::Value| -> usize {
        let cells = plan["cells"].as_array().unwrap().iter();
        cells.filter(|cell| cell["workload"]["set"] == "write-cache=true").count()
    };
    // A flash drive has its buffer anyway, and a disk without write cache has not.
    let [flash, disk] = [plan("sim:nvme-gen4:fresh"), plan("sim:hdd-18tb:disk-nocache")];
    assert_eq!((set(&flash), set(&disk)), (0, 16));
    let cells = |plan: &serde_json::Value| plan["cells"].as_array().unwrap().len();
    assert_eq!(cells(&flash) + 16, cells(&disk));
    // What is swept over has a point for each.
    lab.write("swept.toml", WHAT_IF.as_bytes());
    assert_eq!(cells(&lab.json(["plan", "swept.toml", "--json", "--target=sim:win2k-pentium3:atlas-2"])), 3);
}

#[test]
fn a_study_is_listed_with_as_many_workloads_as_its_plan_has() {
    let lab = Lab::new();
    let listed = lab.json(["study", "list", "--json"]);
    let own = listed.as_array().unwrap().iter().find(|study| study["name"] == "nt4").unwrap();
    assert_eq!(own["cells"], lab.json(["plan", "nt4", "--json"])["cells"].as_array().unwrap().len());
    assert!(lab.run(["study", "check", "nt4"]).stdout.contains(&format!("nt4: {} workloads", own["cells"])));
}

#[test]
fn a_paper_s_study_goes_to_real_targets_as_well() {
    let lab = Lab::new();
    let place = lab.place();
    let target = ["--target", place.to_str().unwrap(), "--size=64MiB"];
    let plan = lab.json([&["plan", "win2000", "--json"][..], &target].concat());
    let cells = plan["cells"].as_array().unwrap();
    let mut workloads: Vec<String> = cells.iter().map(|cell| cell["workload"].to_string()).collect();
    assert!(workloads.len() > 40 && workloads.iter().all(|workload| !workload.contains("volume=")));
    workloads.sort_unstable();
    let all = workloads.len();
    // A volume is no difference there; seeds are.
    workloads.dedup();
    assert_eq!(workloads.len(), all);
    assert_eq!(plan["write_budget"], 32_u64 << 30, "a disk wears");
    let simulated = lab.json(["plan", "win2000", "--json"]);
    assert!(simulated["cells"].as_array().unwrap().len() > 2 * all);
}

#[test]
fn one_target_stands_for_all_volumes_or_one_for_each() {
    let lab = Lab::new();
    let targets: Vec<String> = ["a", "b", "c"]
        .iter()
        .map(|name| {
            let path = lab.path("place").join(name);
            std::fs::write(&path, vec![7_u8; 1 << 20]).unwrap();
            format!("--target={}", path.display())
        })
        .collect();
    let plan = |count: usize| {
        let mut arguments = vec!["plan", "win2000/table-7", "--size=1MiB", "--json"];
        arguments.extend(targets[..count].iter().map(String::as_str));
        lab.run(arguments)
    };
    let among = |outcome: &crate::support::Outcome| {
        let plan: serde_json::Value = serde_json::from_str(&outcome.stdout).unwrap();
        let of = |cell: &serde_json::Value| cell["workload"]["among"].as_str().unwrap_or("all").to_owned();
        plan["cells"].as_array().unwrap().iter().map(of).collect::<Vec<_>>()
    };
    let one = plan(1);
    assert_eq!(among(&one), ["all"]);
    assert!(one.stderr.contains("compares 2 volumes (fireball-dma, fireball-pio)"), "{}", one.stderr);
    assert_eq!(among(&plan(2)), ["only=1", "only=2"]);
    assert_refusal(&plan(3), 2, "name one for all of them, or one for each", "win2000/table-7");
}

#[test]
fn a_simulated_volume_stands_for_each_volume() {
    let lab = Lab::new();
    let plan = |targets: &[&str]| lab.run([&["plan", "win2000/table-7", "--json"], targets].concat());
    let two = plan(&["--target=sim:hdd-18tb:disk", "--target=sim:win2k-pentium3:atlas-3,disks=2"]);
    let two: serde_json::Value = serde_json::from_str(&two.stdout).unwrap();
    let set: Vec<&str> =
        two["cells"].as_array().unwrap().iter().map(|cell| cell["workload"]["set"].as_str().unwrap()).collect();
    assert_eq!(set, ["volume=disk", "volume=win2k-pentium3:atlas-3,disks=2"]);
    assert_eq!(two["target"], "sim:hdd-18tb:disk, sim:win2k-pentium3:atlas-3");
    let three = plan(&["--target=sim:hdd-18tb:disk"; 3]);
    assert_refusal(&three, 2, "name one for all of them, or one for each", "win2000/table-7");
    let mixed = plan(&["--target=sim:hdd-18tb:disk", "--target=null:"]);
    assert_refusal(&mixed, 2, "name only one kind of them", "win2000/table-7");
}

#[test]
fn a_study_s_targets_are_those_of_its_workloads() {
    let lab = Lab::new();
    let head = "name = \"two\"\n[target]\npath = \"sim:win2k-pentium3:atlas-1\"\n[trial]\nrepetitions = 1\n[[sweep]]\n";
    let run = |volumes: &str| {
        let study = format!("{head}size = \"10MiB\"\nduration = \"10ms\"\nset = [{volumes}]\n");
        lab.write("two.toml", study.as_bytes());
        let outcome = lab.run(["study", "run", "two.toml", "--no-report"]);
        assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
        (outcome.stderr, outcome.stdout.replace('\n', " "))
    };
    let (target, summary) = run("\"volume=fireball-raid0-2\", \"volume=fireball-1\"");
    assert!(target.starts_with("Target: fireball-lct08, 256 MiB of memory.\n"), "{target}");
    assert!(summary.contains("(fireball-lct08; kernel Windows 2000, 2 CPUs; by asyn"), "{summary}");
    let (target, summary) =
        run("\"volume=fireball-1\", \"volume=nt4-pentium-pro:barracuda-uw\", \"processor.count=2\"");
    assert!(target.starts_with("Target: fireball-lct08, barracuda-4lp, atlas-10k.\n"), "{target}");
    assert!(summary.contains("atlas-10k; kernel Windows 2000, Windows NT 4.0 SP3)"), "{summary}");
    // So are they listed, the one that the target names among them where a workload goes to it.
    let runs = lab.json(["runs", "--json"]);
    let of_one = "sim:win2k-pentium3:fireball-raid0-2, sim:win2k-pentium3:fireball-1";
    let of_more = "sim:win2k-pentium3:fireball-1, sim:nt4-pentium-pro:barracuda-uw, sim:win2k-pentium3:atlas-1";
    assert_eq!((&runs[0]["target"], &runs[1]["target"]), (&of_one.into(), &of_more.into()));
    assert_eq!(lab.json(["runs", "show", "1", "--json"])["target"], of_one);
    assert!(lab.run(["runs"]).stdout.contains(&format!(" on {of_more}")));
}

#[test]
fn folders_of_studies_are_listed_and_read() {
    let lab = Lab::new();
    let listed = lab.run(["study", "list"]).stdout;
    assert!(listed.contains("\nwin2000 ") && !listed.contains("win2000/figure-34"), "{listed}");
    assert!(listed.contains("`halfpower study list win2000` names them"), "{listed}");
    let figures = lab.run(["study", "list", "nt4"]).stdout;
    assert!(figures.starts_with("nt4/figure-2 ") && figures.contains("\nnt4/table-4 "), "{figures}");
    assert_refusal(&lab.run(["study", "list", "survey"]), 2, "those are nt4, win2000", "survey");
    assert_refusal(&lab.run(["study", "show", "nt4/figure-99"]), 2, "nt4/figure-3, ", "nt4/figure-99");
    std::fs::create_dir(lab.path("mine")).unwrap();
    lab.write("mine/study.toml", b"name = \"mine\"\n[workload]\nrequests = 10\n");
    let file = |name: &str| format!("name = \"{name}\"\ninclude = \"study.toml\"\n[[sweep]]\nname = \"{name}\"\n");
    for name in ["b", "a"] {
        lab.write(&format!("mine/{name}.toml"), file(name).as_bytes());
    }
    assert_eq!(
        lab.run(["study", "check", "mine", "mine/a.toml"]).stdout,
        "mine: 1 workloads\nmine/a.toml: 1 workloads\n"
    );
    let listed = lab.run(["study", "list", "mine"]).stdout;
    assert_eq!(listed, "mine/a.toml     1 workloads\nmine/b.toml     1 workloads\n");
    lab.write("machine.toml", b"[processor]\n");
    let all = lab.run(["study", "list", "."]);
    let mine: Vec<&str> = all.stdout.lines().filter(|line| line.starts_with("mine")).collect();
    assert!(mine.len() == 1 && mine[0].ends_with(" 1 workloads"), "a folder is a study: {}", all.stdout);
    assert!(all.stderr.ends_with("`halfpower study check` names: machine.toml\n"), "{}", all.stderr);
    assert_refusal(&lab.run(["study", "list", "place"]), 2, "no study files (.toml) in place", "an empty folder");
    lab.write("mine/c.toml", b"name = \"c\"\ninclude = \"study.toml\"\n[[sweep]]\ndpeth = 3\n");
    assert_refusal(&lab.run(["study", "check", "mine/"]), 2, "mine/c.toml:4:1: unknown key `dpeth`", "depth");
}
