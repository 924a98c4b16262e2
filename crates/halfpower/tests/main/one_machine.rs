//! A simulated machine is identified by its file, and named in emitted scripts.

use crate::support::{Lab, assert_refusal, names, outcome};
use serde_json::Value;

const OWN: &str = include_str!("../../../../machines/hdd-18tb.toml");
const STUDY: &str = include_str!("files/machine/own.toml");
const RUN: &str = "study run own.toml --no-report";

/// A laboratory with a machine file and a study of it.
fn lab() -> Lab {
    let lab = Lab::new();
    lab.directory("m");
    lab.write("m/own.toml", OWN);
    lab.write("own.toml", STUDY);
    lab
}

/// The machine with another disk.
fn faster() -> String {
    OWN.replace("rpm = 7200 ", "rpm = 12000 ")
}

/// Takes the last block from the first run, as an interruption would.
const INTERRUPT: &str =
    "DELETE FROM samples WHERE run_id = 1 AND block = 1; UPDATE runs SET status = 'interrupted' WHERE id = 1";

/// Whether a report was written.
fn has_page(lab: &Lab) -> bool {
    let named =
        std::fs::read_dir(lab.path(".")).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    named.into_iter().any(|name| name.starts_with("halfpower-") && name.ends_with(".html"))
}

#[test]
fn a_run_is_not_resumed_on_a_machine_whose_file_says_something_else() {
    let lab = lab();
    lab.ok(RUN);
    let whole = lab.samples(1);
    lab.change_store(INTERRUPT);
    lab.write("m/own.toml", faster());
    let resume = "study resume 1 --no-report";
    let why = "the file of the machine ./m/own.toml says something else than when run 1 was begun";
    assert_refusal(&lab.run(resume), 2, why, "rpm");
    assert_eq!(lab.samples(1).len(), 2, "nothing was measured");
    assert_eq!(lab.runs(), [(1, "interrupted".to_owned())]);
    std::fs::rename(lab.path("m"), lab.path("elsewhere")).unwrap();
    let why = "./m/own.toml, where run 1 was begun, is not there any more, seen from here";
    assert_refusal(&lab.run(resume), 2, why, "gone");
    std::fs::rename(lab.path("elsewhere"), lab.path("m")).unwrap();
    // The file has the same contents again.
    lab.write("m/own.toml", format!("# Mine.\n{OWN}"));
    let resumed = lab.ok(resume);
    assert!(!resumed.stderr.contains("Report:") && !has_page(&lab));
    assert_eq!(lab.samples(1), whole);
}

#[test]
fn a_machine_of_which_all_was_left_out_is_none_to_miss() {
    let lab = lab();
    // Of the other machine's memory nothing goes through a page cache.
    let set = "set = [\"volume=disk\", \"volume=win2k-pentium3:memory\"]\n";
    lab.write("own.toml", format!("{STUDY}{set}").replace("\"direct\"", "\"buffered\""));
    lab.ok((RUN, "--size=64MiB"));
    let digests = lab.json("runs show 1")["environment"]["machine_file_crc32c"].take();
    assert!(digests.as_str().unwrap().contains(", "), "{digests}");
    let whole = lab.samples(1);
    assert_eq!(whole.len(), 4);
    lab.change_store(INTERRUPT);
    lab.ok("study resume 1 --no-report");
    assert_eq!(lab.samples(1), whole);
}

#[test]
fn a_comparison_names_the_machine_s_file_where_it_is_another() {
    let lab = lab();
    for _ in 0..2 {
        lab.ok(RUN);
    }
    let same = lab.ok("compare 1 2").stdout;
    assert!(same.starts_with("Equivalent: identical, sample by sample, in all 2 workloads.\n"), "{same}");
    let differs = ["Warning", ", undecided ("].iter().any(|word| same.contains(word));
    assert!(same.contains("The environment is the same") && !differs, "{same}");
    lab.write("m/own.toml", faster());
    lab.ok(RUN);
    let other = lab.json_of_status("compare 1 3");
    let facts = other["differences"].as_array().unwrap();
    assert_eq!(facts.iter().map(|of| &of["fact"]).collect::<Vec<_>>(), ["machine_file_crc32c"]);
    // Equal samples on one side count once, with a warning.
    let once = lab.json_of_status("compare 1,2 3");
    assert_eq!(once["cells"][0]["changes"][0]["before"]["repetitions"], 2);
    assert!(once["warnings"][0]["remedy"].as_str().unwrap().contains("another --seed"), "{once}");
    for _ in 0..2 {
        lab.ok("io sim:./m/own.toml:disk --requests=50 --request-size=8KiB");
    }
    let sample = lab.ok("compare 4 5");
    assert!(sample.stdout.starts_with("Equivalent: identical, sample by sample.\n"), "{}", sample.stdout);
    assert_eq!(sample.stderr, "");
}

/// Figures and seed of each sample, without its target.
fn measured(lab: &Lab) -> Vec<(Value, Value)> {
    let of = |mut record: Value| (record["total"].take(), record["workload"]["seed"].take());
    lab.records().into_iter().map(of).collect()
}

/// What the emitted script measures, elsewhere and with a store of its own, is what the study measures.
fn assert_script_does_the_same(lab: &Lab, more: &str) {
    let script = lab.ok(("plan own.toml --emit shell", more)).stdout;
    let elsewhere = Lab::new();
    elsewhere.write("emitted.sh", &script);
    let before = names(&elsewhere.path(""));
    let ran = outcome(elsewhere.program("sh", "emitted.sh"));
    assert_eq!((ran.status, ran.stderr.as_str()), (Some(0), ""), "{}\n{script}", ran.stdout);
    let after: Vec<String> = names(&elsewhere.path("")).into_iter().filter(|name| name != "home").collect();
    assert_eq!(after, before, "nothing is made");
    lab.ok((RUN, more));
    let (script, study) = (measured(&elsewhere), measured(lab));
    assert!(script.len() >= 4, "{}", script.len());
    assert_eq!(script, study);
    lab.ok((RUN, (more, ["--store".as_ref(), elsewhere.store().as_os_str()])));
    let runs = (1..=script.len()).map(|run| run.to_string()).collect::<Vec<_>>().join(",");
    let compared = elsewhere.run(format!("compare {} {runs}", script.len() + 1)).stdout;
    let is_equal = compared.starts_with("Equivalent: identical, sample by sample");
    assert!(is_equal && !compared.contains("not compared"), "{compared}");
}

#[test]
fn an_emitted_script_runs_on_the_machine() {
    assert_script_does_the_same(&lab(), "");
    assert_script_does_the_same(&lab(), "--set exos-x18.rpm=12000");
    let swept = lab();
    let sets = "[\"disks=1\", \"disks=2\", \"volume=win2k-pentium3:fireball-each-4\"]";
    let sweep = format!("{STUDY}set = {sets}\noperation = [\"read\", \"write\"]\n");
    swept.write("own.toml", sweep.replace(":disk\"", ":disk-each-4\""));
    assert_script_does_the_same(&swept, "--size=1GiB");
}

#[test]
fn what_cannot_be_emitted_is_said() {
    let lab = lab();
    lab.refuses("plan own.toml --emit fio", 2, "it has no simulated machines); use --emit shell");
    let some = lab.run("plan win2000/figure-22 --emit shell").stdout;
    let left = "# Left out, as it goes to some of a simulated volume's targets, and `halfpower io` to all: ";
    assert!(some.contains(left) && some.contains("\nhalfpower io sim:win2k-pentium3:atlas-1 "), "{some}");
    lab.write("own.toml", format!("{STUDY}among = \"only=1\"\n").replace(":disk\"", ":disk-each-4\""));
    lab.refuses("plan own.toml --emit shell", 2, "can say no workload of the study");
    std::fs::rename(lab.path("m"), lab.path("a,b")).unwrap();
    lab.write("own.toml", STUDY.replace("./m/own.toml", "./own.toml"));
    let mut inside = lab.command("plan ../own.toml --emit shell");
    inside.current_dir(lab.path("a,b"));
    assert_refusal(&outcome(inside), 2, "has a comma in its name", "a,b");
    // No file is made of a simulated volume's name; one that is there is a file like another.
    for name in ["./sim:win2k-pentium3:atlas-1", "place/sim:x", "place/../sim:x:y"] {
        lab.refuses(format!("io {name} --size=1MiB --requests=1"), 2, "as sim:MACHINE:VOLUME");
    }
    lab.data_file("sim:there", 64);
    lab.ok("io ./sim:there --requests=1 --buffering=buffered");
}

#[test]
fn what_a_study_sets_is_not_set_besides() {
    let lab = lab();
    lab.write("swept.toml", format!("{STUDY}set = [\"disks=1\", \"sata.rate=1GB/s\"]\n"));
    lab.write("named.toml", format!("{STUDY}set = \"disks=1\"\n").replace(":disk\"", ":disk,disks=2\""));
    let twice = "`disks` is set twice: 3 for the target, and 1 by the study own; leave it out of one";
    for (words, needle) in [
        ("swept.toml --set disks=3", twice),
        ("swept.toml --set volume.disk.disks=3", "`volume.disk.disks` is set twice; set it once"),
        ("swept.toml --target=sim:./m/own.toml:disk,disks=3", "`disks` is set twice: 3 for the target"),
        ("win2000/table-7 --set=volume=maxtor", "`volume` is set twice: maxtor for the target, and fireball-dma"),
        ("named.toml", "is set twice"),
    ] {
        lab.refuses(("plan", words), 2, needle);
        lab.refuses(("study run --no-report", words), 2, needle);
    }
    lab.refuses("study check named.toml", 2, "is set twice");
}
