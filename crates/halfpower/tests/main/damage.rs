//! A damaged store: a record costs itself, and `runs repair` saves the rest.

use crate::support::{Lab, Outcome, names};

/// Damages the store behind the program's back.
fn damage(lab: &Lab, sql: &str) {
    rusqlite::Connection::open(lab.store()).unwrap().execute_batch(sql).unwrap();
}

fn done(outcome: Outcome) -> Outcome {
    assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
    outcome
}

/// Two runs of four samples each.
fn two_runs() -> Lab {
    let lab = Lab::new();
    for _ in 0..2 {
        done(lab.run(["study", "run", "tiny.toml", "--target", "null:", "--no-report"]));
    }
    lab
}

#[test]
fn every_command_does_without_the_sample_that_is_damaged() {
    let lab = two_runs();
    damage(&lab, "UPDATE samples SET record = substr(record, 1, 200) WHERE id = 2");
    let warned = "sample 2 of run 1 is damaged and left out";
    for arguments in [
        vec!["runs", "show", "1"],
        vec!["export", "1"],
        vec!["report", "1", "--output", "r.html"],
        vec!["compare", "1", "2"],
    ] {
        let outcome = lab.run(&arguments);
        assert!(matches!(outcome.status, Some(0 | 3 | 4)), "{arguments:?}: {}", outcome.stderr);
        assert_eq!(outcome.stderr.matches(warned).count(), 1, "{arguments:?}: {}", outcome.stderr);
        assert!(outcome.stderr.contains("runs repair"), "{}", outcome.stderr);
    }
    assert_eq!(lab.run(["export", "1"]).stdout.lines().count(), 3);
    assert_eq!(lab.json(["runs", "show", "1", "--json"])["damaged_samples"], 1);
    assert!(std::fs::read_to_string(lab.path("r.html")).unwrap().contains("1 sample is damaged in the store"));
    assert!(!done(lab.run(["export", "2"])).stderr.contains("damaged"), "the other run has nothing to do with it");

    // What is damaged counts as measured: nothing is measured twice, and nothing replaced.
    damage(&lab, "UPDATE runs SET status = 'interrupted' WHERE id = 1; DELETE FROM samples WHERE id = 4");
    let resumed = done(lab.run(["study", "resume", "1", "--no-report"]));
    assert!(resumed.stderr.contains(warned), "{}", resumed.stderr);
    assert_eq!(lab.samples(1).len(), 4);
}

#[test]
fn a_run_that_is_damaged_is_listed_and_its_samples_are_exported() {
    let lab = two_runs();
    damage(&lab, "UPDATE runs SET environment = 'x', started_at = 'then', plan = '{' WHERE id = 1");
    assert_eq!(lab.runs(), [(1, "complete".to_owned()), (2, "complete".to_owned())]);
    let shown = done(lab.run(["runs", "show", "1"]));
    assert!(shown.stderr.contains("`environment` of run 1 is damaged"), "{}", shown.stderr);
    assert_eq!(done(lab.run(["export", "1"])).stdout.lines().count(), 4);
    damage(&lab, "UPDATE runs SET status = 'interrupted' WHERE id = 1");
    lab.refuses(["study", "resume", "1"], 1, "the plan of run 1 is damaged");
}

#[test]
fn a_repair_reports_what_is_damaged_and_saves_the_rest() {
    let lab = two_runs();
    let sound = done(lab.run(["runs", "repair"]));
    assert!(sound.stderr.contains("The store is sound: 2 runs with 8 samples."), "{}", sound.stderr);
    damage(&lab, "UPDATE samples SET record = '{' WHERE id = 2; UPDATE runs SET environment = 'x' WHERE id = 2");
    let repaired = lab.json(["runs", "repair", "--json"]);
    assert_eq!((&repaired["runs"], &repaired["samples"], &repaired["lost"]), (&2.into(), &7.into(), &1.into()));
    assert_eq!(repaired["damaged"].as_array().unwrap().len(), 2, "{repaired}");
    let kept = std::path::PathBuf::from(repaired["damaged_store"].as_str().unwrap());
    assert!(kept.ends_with("results.db.damaged-1") && kept.exists());
    let again = done(lab.run(["runs", "repair"]));
    assert!(again.stderr.contains("The store is sound: 2 runs with 7 samples."), "{}", again.stderr);
    let beside = names(lab.store().parent().unwrap());
    assert_eq!(beside, ["results.db", "results.db.damaged-1"], "nothing else is left");
    assert_eq!(lab.samples(1).len() + lab.samples(2).len(), 7);
}

#[test]
fn a_store_whose_beginning_is_gone_is_saved_from_its_pages() {
    let lab = two_runs();
    let before: Vec<_> = [lab.samples(1), lab.samples(2)].concat();
    let mut image = std::fs::read(lab.store()).unwrap();
    image[..4096].fill(0xa5);
    std::fs::write(lab.store(), &image).unwrap();
    assert_eq!(lab.run(["runs"]).status, Some(1));
    assert_eq!(std::fs::read(lab.store()).unwrap(), image, "left as it is");
    let repaired = done(lab.run(["runs", "repair"]));
    assert!(
        repaired.stderr.contains("Saved 2 runs with 8 samples; 0 samples could not be read"),
        "{}",
        repaired.stderr
    );
    assert_eq!([lab.samples(1), lab.samples(2)].concat(), before);
    // What never was a store is not made one.
    lab.write("notes", b"my notes");
    let path = lab.path("notes");
    let outcome = lab.run(["runs", "repair", "--store", path.to_str().unwrap()]);
    assert!(outcome.status == Some(1) && outcome.stderr.contains("is not a store"), "{}", outcome.stderr);
    assert_eq!(std::fs::read(&path).unwrap(), b"my notes");
}
