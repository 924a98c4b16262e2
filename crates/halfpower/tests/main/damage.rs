//! What may happen to a store: a damaged record costs itself, and `runs repair` saves the rest; a store that is moved or
//! deleted during a run keeps what is measured; on a full disk runs can be removed.

use crate::support::{Lab, Outcome, names, wait_for};

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
fn a_plan_that_names_no_target_is_damaged() {
    let lab = two_runs();
    damage(&lab, "UPDATE runs SET plan = json_set(plan, '$.targets', json('[]')), status = 'interrupted' WHERE id = 1");
    lab.refuses(["study", "resume", "1"], 1, "the plan of run 1 is damaged");
    done(lab.run(["runs", "show", "1"]));
}

#[test]
fn a_list_whose_index_is_damaged_says_so() {
    let lab = two_runs();
    let store = rusqlite::Connection::open(lab.store()).unwrap();
    let root = "SELECT rootpage FROM sqlite_schema WHERE name = 'sqlite_autoindex_samples_1'";
    let page: i64 = store.query_row(root, (), |row| row.get(0)).unwrap();
    let bytes: i64 = store.query_row("PRAGMA page_size", (), |row| row.get(0)).unwrap();
    drop(store);
    let file = std::fs::File::options().write(true).open(lab.store()).unwrap();
    std::os::unix::fs::FileExt::write_all_at(&file, &[0xff; 64], ((page - 1) * bytes).cast_unsigned()).unwrap();
    let listed = done(lab.run(["runs"]));
    assert!(
        listed.stderr.contains("may count too few samples") && listed.stderr.contains("runs repair"),
        "{}",
        listed.stderr
    );
    let repaired = lab.json(["runs", "repair", "--json"]);
    assert_eq!((&repaired["runs"], &repaired["samples"]), (&2.into(), &8.into()), "{repaired}");
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
    assert_eq!(beside, ["results.db", "results.db.damaged-1", "results.db.reserve"], "nothing else is left");
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

/// A run during which something is done to the store, once it has samples.
fn run_during_which(lab: &Lab, happens: impl FnOnce()) -> Outcome {
    let study = ["study", "run", "longer.toml", "--target", "place", "--size=1MiB", "--no-report"];
    let mut running = lab.start(study);
    wait_for("samples", || running.has_ended() || lab.samples(1).len() >= 3);
    assert!(!running.has_ended());
    happens();
    done(running.wait())
}

/// Samples of the study.
const SAMPLES: usize = 30;

#[test]
fn a_store_that_is_deleted_during_a_run_is_written_again() {
    let lab = Lab::new();
    let beside = || names(lab.store().parent().unwrap());
    let outcome = run_during_which(&lab, || {
        for name in beside() {
            std::fs::remove_file(lab.store().with_file_name(name)).unwrap();
        }
    });
    assert!(outcome.stderr.contains("was deleted while it was in use"), "{}", outcome.stderr);
    assert_eq!(lab.runs(), [(1, "complete".to_owned())]);
    assert_eq!(lab.samples(1).len(), SAMPLES, "those too that were there before");
    // A directory that is gone is made again.
    let lab = Lab::new();
    let outcome = run_during_which(&lab, || std::fs::remove_dir_all(lab.path("home")).unwrap());
    assert!(outcome.stderr.contains("was deleted while it was in use"), "{}", outcome.stderr);
    assert_eq!((lab.runs().len(), lab.samples(1).len()), (1, SAMPLES));
}

#[test]
fn a_store_that_is_moved_during_a_run_has_everything_where_it_is() {
    let lab = Lab::new();
    let moved = lab.path("moved.db");
    let outcome = run_during_which(&lab, || std::fs::rename(lab.store(), &moved).unwrap());
    assert!(outcome.stderr.contains(&format!("kept in {}", moved.display())), "{}", outcome.stderr);
    let runs = lab.json(["runs", "--json", "--store", "moved.db"]);
    assert_eq!((&runs[0]["samples"], &runs[0]["status"]), (&SAMPLES.into(), &"complete".into()));
    // Nothing is in the way of the next one.
    assert_eq!(lab.runs(), []);
}

#[test]
fn another_store_that_took_the_name_is_left_alone() {
    let lab = Lab::new();
    let other = Lab::new();
    done(other.run(["io", "null:", "--requests=10"]));
    let outcome = run_during_which(&lab, || std::fs::rename(other.store(), lab.store()).unwrap());
    assert!(outcome.stderr.contains("results.db.again-1"), "{}", outcome.stderr);
    let again = lab.store().with_file_name("results.db.again-1");
    let runs = lab.json(["runs", "--json", "--store", again.to_str().unwrap()]);
    assert_eq!(runs[0]["samples"], SAMPLES);
}

#[test]
fn on_a_full_disk_runs_are_shown_and_removed() {
    let lab = Lab::new();
    let (image, full) = (lab.path("image"), lab.path("full"));
    std::fs::create_dir(&full).unwrap();
    std::fs::File::create(&image).unwrap().set_len(24 << 20).unwrap();
    let is_done = |program: &str, arguments: &[&std::ffi::OsStr]| {
        std::process::Command::new(program).args(arguments).output().is_ok_and(|output| output.status.success())
    };
    if !is_done("mkfs.ext4", &["-q".as_ref(), "-m0".as_ref(), image.as_ref()])
        || !is_done("mount", &["-oloop".as_ref(), image.as_ref(), full.as_ref()])
    {
        eprintln!("skipped: no file system can be made and mounted here");
        return;
    }
    let study = ["study", "run", "tiny.toml", "--target", "null:", "--no-report", "--store", "full/s.db"];
    let before = [lab.run(study), lab.run(study)];
    // Until not a byte is left.
    let fill = |name: &str| {
        let mut file = std::fs::File::create(full.join(name)).unwrap();
        while std::io::Write::write_all(&mut file, &[1; 512]).is_ok() {}
    };
    fill("ballast");
    fill("more");
    let [run, list, export, removed] = [
        &study[..],
        &["runs", "--store", "full/s.db"],
        &["export", "2", "--store", "full/s.db"],
        &["runs", "rm", "1", "--store", "full/s.db"],
    ]
    .map(|arguments| lab.run(arguments));
    // Nothing has become free but what the run had, and that is filled as well.
    fill("even more");
    let again = lab.run(["runs", "rm", "2", "--store", "full/s.db"]);
    wait_for("the end of the mount", || is_done("umount", &[full.as_ref()]));
    for outcome in before {
        done(outcome);
    }
    assert!(run.status == Some(1) && run.stderr.contains("file system is full"), "{}", run.stderr);
    assert!(run.stderr.contains("runs rm") && run.stderr.contains("runs clean"), "what to free: {}", run.stderr);
    assert_eq!(done(list).stdout.matches("complete").count(), 2);
    assert_eq!(done(export).stdout.lines().count(), 4);
    done(removed);
    done(again);
}
