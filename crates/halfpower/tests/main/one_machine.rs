//! A simulated machine is the one that was named: told from another of its name, and named as such by what is emitted.

use crate::support::{Lab, PROGRAM, assert_refusal, names, outcome};
use serde_json::Value;
use std::process::Command;

const OWN: &str = include_str!("../../../../machines/hdd-18tb.toml");
const STUDY: &str = r#"
name = "own"
[target]
path = "sim:./m/own.toml:disk"
[trial]
repetitions = 2
[[sweep]]
pattern = "random"
request_size = "8KiB"
buffering = "direct"
depth = [1, 4]
requests = 50
"#;

/// A laboratory with a machine of one's own and a study of it.
fn lab() -> Lab {
    let lab = Lab::new();
    std::fs::create_dir(lab.path("m")).unwrap();
    lab.write("m/own.toml", OWN.as_bytes());
    lab.write("own.toml", STUDY.as_bytes());
    lab
}

fn run(lab: &Lab, arguments: &[&str]) {
    let outcome = lab.run([&["study", "run", "own.toml", "--no-report"], arguments].concat());
    assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
}

/// Takes the last block from the first run, as an interruption would.
fn interrupt(lab: &Lab) {
    let store = rusqlite::Connection::open(lab.store()).unwrap();
    store.execute("DELETE FROM samples WHERE run_id = 1 AND block = 1", ()).unwrap();
    store.execute("UPDATE runs SET status = 'interrupted' WHERE id = 1", ()).unwrap();
}

#[test]
fn a_run_is_not_resumed_on_a_machine_whose_file_says_something_else() {
    let lab = lab();
    run(&lab, &[]);
    let whole = lab.samples(1);
    interrupt(&lab);
    lab.write("m/own.toml", OWN.replace("rpm = 7200 ", "rpm = 12000 ").as_bytes());
    let resume = ["study", "resume", "1", "--no-report"];
    let refused = lab.run(resume);
    assert_refusal(
        &refused,
        2,
        "the file of the machine ./m/own.toml says something else than when run 1 was begun",
        "rpm",
    );
    assert_eq!(lab.samples(1).len(), 2, "nothing was measured");
    assert_eq!(lab.runs(), [(1, "interrupted".to_owned())]);
    std::fs::rename(lab.path("m"), lab.path("elsewhere")).unwrap();
    assert_refusal(
        &lab.run(resume),
        2,
        "./m/own.toml, where run 1 was begun, is not there any more, seen from here",
        "gone",
    );
    std::fs::rename(lab.path("elsewhere"), lab.path("m")).unwrap();
    // It says what it said.
    lab.write("m/own.toml", format!("# Mine.\n{OWN}").as_bytes());
    let resumed = lab.run(resume);
    assert_eq!((resumed.status, resumed.stderr.contains("Report:")), (Some(0), false), "{}", resumed.stderr);
    assert!(!lab.path("halfpower-report.html").exists());
    assert_eq!(lab.samples(1), whole);
}

#[test]
fn a_machine_of_which_all_was_left_out_is_none_to_miss() {
    let lab = lab();
    // Of the other machine's memory nothing goes through a file cache.
    let set = "set = [\"volume=disk\", \"volume=win2k-pentium3:memory\"]\n";
    lab.write("own.toml", format!("{STUDY}{set}").replace("\"direct\"", "\"buffered\"").as_bytes());
    run(&lab, &["--size=64MiB"]);
    let digests = lab.json(["runs", "show", "1", "--json"])["environment"]["machine_file_crc32c"].take();
    assert!(digests.as_str().unwrap().contains(", "), "{digests}");
    let whole = lab.samples(1);
    assert_eq!(whole.len(), 4);
    interrupt(&lab);
    let resumed = lab.run(["study", "resume", "1", "--no-report"]);
    assert_eq!((resumed.status, lab.samples(1)), (Some(0), whole), "{}", resumed.stderr);
}

#[test]
fn a_comparison_names_the_machine_s_file_where_it_is_another() {
    let lab = lab();
    run(&lab, &[]);
    run(&lab, &[]);
    let same = lab.run(["compare", "1", "2"]);
    assert_eq!(same.status, Some(0), "{}", same.stdout);
    let told = &same.stdout;
    assert!(told.starts_with("Equivalent: identical, sample by sample, in all 2 workloads.\n"), "{told}");
    assert!(
        told.contains("Measured on the same") && !told.contains("Warning") && !told.contains("undecided"),
        "{told}"
    );
    lab.write("m/own.toml", OWN.replace("rpm = 7200 ", "rpm = 12000 ").as_bytes());
    run(&lab, &[]);
    let other = lab.json_of_status(["compare", "1", "3", "--json"]);
    let facts: Vec<&str> =
        other["differences"].as_array().unwrap().iter().map(|of| of["fact"].as_str().unwrap()).collect();
    assert_eq!(facts, ["machine_file_crc32c"]);
    // On one side the same counts once, and it is told why.
    let once = lab.json_of_status(["compare", "1,2", "3", "--json"]);
    assert_eq!(once["cells"][0]["changes"][0]["before"]["repetitions"], 2);
    assert!(once["warnings"][0]["remedy"].as_str().unwrap().contains("another --seed"), "{once}");
}

#[test]
fn one_sample_of_a_machine_is_the_same_again() {
    let lab = lab();
    for _ in 0..2 {
        lab.json(["io", "sim:./m/own.toml:disk", "--requests=50", "--request-size=8KiB", "--json"]);
    }
    let same = lab.run(["compare", "1", "2"]);
    assert_eq!((same.status, same.stderr.as_str()), (Some(0), ""), "{}", same.stdout);
    assert!(same.stdout.starts_with("Equivalent: identical, sample by sample.\n"), "{}", same.stdout);
}

/// What a sample measured, whatever its target is called.
fn measured(lab: &Lab) -> Vec<(Value, Value)> {
    let records = lab.query("SELECT record FROM samples ORDER BY run_id, id", |row| row.get::<_, String>(0));
    let of = |record: &String| {
        let mut record: Value = serde_json::from_str(record).unwrap();
        (record["total"].take(), record["workload"]["seed"].take())
    };
    records.iter().map(of).collect()
}

/// What the emitted script measures, elsewhere and with a store of its own, is what the study measures.
fn assert_script_does_the_same(lab: &Lab, arguments: &[&str]) {
    let emitted = lab.run([&["plan", "own.toml", "--emit", "shell"], arguments].concat());
    assert_eq!(emitted.status, Some(0), "{}", emitted.stderr);
    let elsewhere = Lab::new();
    elsewhere.write("emitted.sh", emitted.stdout.as_bytes());
    let before = names(&elsewhere.path(""));
    let mut shell = Command::new("sh");
    shell.arg("emitted.sh").current_dir(elsewhere.path("")).env("HALFPOWER", PROGRAM);
    let ran = outcome({
        shell.env("XDG_DATA_HOME", elsewhere.path("home"));
        shell
    });
    assert_eq!((ran.status, ran.stderr.as_str()), (Some(0), ""), "{}\n{}", ran.stdout, emitted.stdout);
    let after: Vec<String> = names(&elsewhere.path("")).into_iter().filter(|name| name != "home").collect();
    assert_eq!(after, before, "nothing is made");
    run(lab, arguments);
    let (script, study) = (measured(&elsewhere), measured(lab));
    assert!(script.len() >= 4, "{}", script.len());
    assert_eq!(script, study);
    let store = elsewhere.store();
    run(lab, &[arguments, &["--store", store.to_str().unwrap()]].concat());
    let (runs, study) = (1..=script.len(), (script.len() + 1).to_string());
    let runs = runs.map(|run| run.to_string()).collect::<Vec<_>>().join(",");
    let told = elsewhere.run(["compare", &study, &runs]).stdout;
    assert!(told.starts_with("Equivalent: identical, sample by sample") && !told.contains("not compared"), "{told}");
}

#[test]
fn an_emitted_script_runs_on_the_machine() {
    assert_script_does_the_same(&lab(), &[]);
    assert_script_does_the_same(&lab(), &["--set", "exos-x18.rpm=12000"]);
    let swept = lab();
    let sweep = "set = [\"disks=1\", \"disks=2\", \"volume=win2k-pentium3:fireball-each-4\"]\noperation = [\"read\", \"write\"]\n";
    swept.write("own.toml", format!("{STUDY}{sweep}").replace(":disk\"", ":disk-each-4\"").as_bytes());
    assert_script_does_the_same(&swept, &["--size=1GiB"]);
}

#[test]
fn what_cannot_be_emitted_is_said() {
    let lab = lab();
    let plan = |form: &str, arguments: &[&str]| lab.run([&["plan", "--emit", form], arguments].concat());
    assert_refusal(&plan("fio", &["own.toml"]), 2, "it has no simulated machines); use --emit shell", "fio");
    let some = plan("shell", &["win2000/figure-22"]).stdout;
    assert!(
        some.contains("# Left out, as it goes to some of a simulated volume's targets, and `halfpower io` to all: ")
    );
    assert!(some.contains("\nhalfpower io sim:win2k-pentium3:atlas-1 "), "{some}");
    lab.write("own.toml", format!("{STUDY}among = \"only=1\"\n").replace(":disk\"", ":disk-each-4\"").as_bytes());
    assert_refusal(&plan("shell", &["own.toml"]), 2, "can say no workload of the study", "one of four");
    std::fs::rename(lab.path("m"), lab.path("a,b")).unwrap();
    lab.write("own.toml", STUDY.replace("./m/own.toml", "./own.toml").as_bytes());
    let mut inside = lab.command(["plan", "../own.toml", "--emit", "shell"]);
    inside.current_dir(lab.path("a,b"));
    assert_refusal(&outcome(inside), 2, "has a comma in its name", "a,b");
}

#[test]
fn no_file_is_made_of_a_simulated_volume_s_name() {
    let lab = Lab::new();
    for name in ["./sim:win2k-pentium3:atlas-1", "place/sim:x", "place/../sim:x:y"] {
        lab.refuses(["io", name, "--size=1MiB", "--requests=1"], 2, "as sim:MACHINE:VOLUME");
    }
    // One that is there is a file like another.
    lab.data_file("sim:there", 64);
    lab.json(["io", "./sim:there", "--requests=1", "--buffering=buffered", "--json"]);
}

#[test]
fn what_a_study_sets_is_not_set_besides() {
    let lab = lab();
    lab.write(
        "swept.toml",
        format!("{STUDY}set = [\"disks=1\", \"pci.rate=1GB/s\"]\n").replace("pci", "sata").as_bytes(),
    );
    let refused = |arguments: &[&str], needle: &str| {
        for command in [&["study", "run", "--no-report"][..], &["plan"]] {
            assert_refusal(&lab.run([command, arguments].concat()), 2, needle, &format!("{arguments:?}"));
        }
    };
    refused(
        &["swept.toml", "--set", "disks=3"],
        "`disks` is set twice: 3 for the target, and 1 by the study own; leave it out of one",
    );
    refused(&["swept.toml", "--set", "volume.disk.disks=3"], "`volume.disk.disks` is set twice; set it once");
    refused(&["swept.toml", "--target=sim:./m/own.toml:disk,disks=3"], "`disks` is set twice: 3 for the target");
    refused(
        &["win2000/table-7", "--set=volume=maxtor"],
        "`volume` is set twice: maxtor for the target, and fireball-dma",
    );
    lab.write("named.toml", format!("{STUDY}set = \"disks=1\"\n").replace(":disk\"", ":disk,disks=2\"").as_bytes());
    refused(&["named.toml"], "is set twice");
    assert_refusal(&lab.run(["study", "check", "named.toml"]), 2, "is set twice", "named.toml");
}
