//! Comparisons of two runs, and their exit status.

use crate::support::{Lab, codes, skip};

#[test]
fn the_collapse_of_buffered_writers_is_named_and_a_file_imported_twice_is_one_measurement() {
    let lab = Lab::new();
    // What iozone prints of two writers through the page cache and of two past it.
    let good = lab.read("good.txt");
    let falls = [("87352.61", "9461.15"), ("85696.29", "79399.89"), ("85689.20", "48569.16")];
    lab.write("bad.txt", falls.iter().fold(good.clone(), |text, (from, to)| text.replace(from, to)));
    lab.write("copy.txt", good);
    for (name, is_again) in [("good.txt", false), ("bad.txt", false), ("copy.txt", true)] {
        let imported = lab.json(("import", name));
        assert_eq!(codes(&imported).contains(&"imported_before".to_owned()), is_again, "{name}: {imported}");
    }
    lab.ends("import good.txt", 0, "run 1 holds the same samples already");
    let worse = lab.ends("compare 1 2", 3, "").words();
    for needle in [
        "Regression (runs are assumed to vary by 14.6 %): sequential write",
        "throughput 9.23 times lower",
        "the cause of the largest fall is likely above the device",
        "1.76 times lower",
    ] {
        assert!(worse.contains(needle), "{needle}: {worse}");
    }
    // One sample of direct writing decides nothing, and a threshold makes no interval.
    let document = lab.ends("compare 2 1 --json", 4, "").document();
    assert_eq!((&document["outcome"], document["cells"].as_array().unwrap().len()), (&"undecided".into(), 2));
    lab.ends("compare 2 1 --threshold=20%", 4, "");
    // A copy of a sample gives no interval.
    let twice = lab.json_of_status("compare 1,3 2 --report twice.html");
    let once = lab.json_of_status("compare 1 2");
    assert_eq!((codes(&once), codes(&twice)), (vec![], vec!["same_samples".to_owned()]));
    assert_eq!(twice["cells"], once["cells"]);
    assert!(lab.read("twice.html").contains("Run 3 holds the samples of run 1 again"));
    let itself = lab.run("compare 1 3").stdout;
    assert!(
        itself.contains("Warning: run 3 holds the samples of run 1: they are compared with themselves"),
        "{itself}"
    );
}

#[test]
fn what_cannot_be_compared_is_refused() {
    let lab = Lab::new();
    lab.data_file("file", 64);
    for _ in 0..2 {
        lab.ok("io file --buffering=buffered --requests=10");
    }
    lab.ok("inspect file");
    lab.refuses_each([
        ("compare 1 1", 2, "run 1 is on both sides"),
        ("compare 1 x", 2, "is no run; write its number"),
        ("compare 1 2 --threshold=5", 2, "write one like 5%"),
        ("compare 1 9", 1, "9"),
        ("compare 1 3", 2, "run 3 has no samples to compare"),
    ]);
    let same = lab.run("compare 1 2");
    // Ten requests each may take any time, but one sample a side is never enough to call them equivalent.
    assert!(same.status.is_some() && !same.stdout.starts_with("Equivalent"), "{}", same.stdout);
    assert!(same.stdout.contains("The environment is the same, as far as the samples record it."), "{}", same.stdout);
}

#[test]
fn what_the_same_differs_by_is_measured_and_can_be_compared_by() {
    let lab = Lab::new();
    let study = "study run simulated.toml --target=sim:win2k-pentium3:atlas-1 --report=aa.html";
    let twice = lab.ok((study, "--aa")).stdout;
    assert!(twice.contains("Noise of this machine: two halves of the run differed"), "{twice}");
    assert_eq!(lab.samples(1).len(), 2 * 5 * 2, "each workload twice as often");
    assert!(lab.read("aa.html").contains(">Noise<"));
    let found = lab.json("runs show 1");
    assert!(found["noise"]["figures"][0]["largest_difference"].as_f64().unwrap() >= 0.0, "{found}");
}

#[test]
fn earlier_runs_show_how_runs_vary() {
    let lab = Lab::new();
    lab.data_file("file", 64);
    let read = "io file --buffering=buffered --requests=100";
    for _ in 0..4 {
        lab.ok(read);
    }
    let basis = |sides: &str| {
        let document = lab.run((sides, "--json")).document();
        (document["between_runs"]["basis"].as_str().unwrap().to_owned(), document["between_runs"]["runs"].clone())
    };
    assert_eq!(basis("compare 1 2"), ("assumed".to_owned(), 2.into()));
    assert_eq!(basis("compare 3 4"), ("earlier_runs".to_owned(), 4.into()));
    assert_eq!(basis("compare 1,2 3,4"), ("named_runs".to_owned(), 4.into()));
    let first = lab.run("compare 1 2").stdout.lines().next().unwrap().to_owned();
    assert!(first.contains("(runs are assumed to vary by "), "{first}");
    assert_eq!(lab.run("compare 1 2 --verbose").stdout, lab.run("compare 1 2 --all").stdout);
    // Of a simulated machine with the same seed nothing is assumed; another seed is another run.
    for seed in [1, 1, 2] {
        lab.ok(&format!("study run simulated.toml --target=sim:win2k-pentium3:atlas-1 --no-report --seed={seed}")[..]);
    }
    let simulated = lab.run("compare 5 6 --json").document();
    assert!(simulated.get("between_runs").is_none() && simulated["cells"][0]["changes"][0].get("variation").is_none());
    assert_eq!(basis("compare 5 7"), ("assumed".to_owned(), 2.into()));
}

#[test]
fn a_target_that_is_memory_is_named_in_the_answer() {
    let mounts = std::fs::read_to_string("/proc/mounts").unwrap();
    if !mounts.contains(" /dev/shm tmpfs ") {
        return skip("/dev/shm is no tmpfs here");
    }
    let lab = Lab::new();
    let memory = tempfile::tempdir_in("/dev/shm").unwrap();
    let place = memory.path().display();
    let said = lab.run(&format!("ab . {place} --pairs=2 --size=16MiB")[..]);
    let expected = format!("Warning: {place} is memory, not storage; name a path on a disk.");
    let flat = said.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(flat.contains(&expected), "{}{}", said.stdout, said.stderr);
}

#[test]
fn two_targets_are_measured_in_turn_and_compared_by_pairs() {
    let lab = Lab::new();
    let ab =
        "ab sim:win2k-pentium3:atlas-1 sim:win2k-pentium3:atlas-4 --study simulated.toml --pairs=3 --report=ab.html";
    let said = lab.run(ab);
    assert!(matches!(said.status, Some(0 | 3 | 4)), "{}", said.stderr);
    assert!(
        said.stdout.contains("A: sim:win2k-pentium3:atlas-1.") && said.stdout.contains("(A · B · change)"),
        "{}",
        said.stdout
    );
    assert!(lab.read("ab.html").contains("B against A"));
    assert_eq!(lab.samples(1).len(), 2 * 2 * 3, "two workloads, two arms, three pairs");
    assert_eq!(lab.ok("runs show 1").stdout, said.stdout);
    let shown = lab.json("runs show 1");
    assert_eq!(
        (&shown["schema"], &shown["arms"][1]["target"]),
        (&"halfpower.ab/1".into(), &"sim:win2k-pentium3:atlas-4".into())
    );
    assert_eq!(shown["comparison"]["cells"][0]["changes"][0]["before"]["repetitions"], 3);
    lab.ok("report 1 --output again.html");
    lab.refuses_each([
        ("ab file", 2, "A and B are the same"),
        ("ab file --before-a true", 2, "give both --before-a and --before-b"),
        ("compare 1 2", 2, "run 1 compares its two arms already"),
    ]);
}

#[test]
fn a_command_sets_each_arm_up_and_its_failure_ends_the_run() {
    let lab = Lab::new();
    lab.data_file("file", 64);
    lab.write("once.toml", "name = \"once\"\n[trial]\nrepetitions = 3\n[[sweep]]\nname = \"reads\"\nrequests = 10\n");
    let ab = ["ab", "file", "--study=once.toml", "--no-writes", "--json", "--before-a=echo a >> log"];
    let document = lab.run([&ab[..], &["--before-b=echo b >> log"]].concat()).document();
    assert_eq!(document["arms"][0]["before"], "echo a >> log");
    let log = lab.read("log");
    let blocks: Vec<&str> = log.split_inclusive('\n').collect();
    assert!(blocks.len() == 6 && blocks.chunks(2).all(|block| block[0] != block[1]), "{log}");
    let failed = lab.run([&ab[..], &["--before-b=echo no such mount >&2; exit 7"]].concat());
    assert_eq!(failed.status, Some(1));
    for part in ["`echo no such mount >&2; exit 7`", "exit status: 7", ": no such mount"] {
        assert!(failed.stderr.contains(part), "{part}: {}", failed.stderr);
    }
}

#[test]
fn the_history_of_a_target_has_each_workload_over_its_runs() {
    let lab = Lab::new();
    for seed in 1..=12 {
        lab.ok(format!("io sim:cloud-gp3:baseline --pattern=random --depth=8 --requests=200 --seed={seed}"));
    }
    let told = lab.ok("history 12").words();
    assert!(told.starts_with("No change of level in 1 workload over 12 runs on sim:cloud-gp3:baseline."), "{told}");
    let each = lab.ok("history 12 --workload random").stdout;
    assert_eq!(each.lines().filter(|line| line.contains(" IOPS ") && line.contains('█')).count(), 12, "{each}");
    let document = lab.json("history 11");
    assert_eq!(document["workloads"][0]["means"].as_array().unwrap().len(), 11, "up to the run that is named");
    lab.ends("history 12 --workload xyz", 2, "no workload with `xyz`");
    lab.ends("history 13", 1, "no run 13");
}
