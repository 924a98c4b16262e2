//! Damage of a store: a damaged record is left out, and `runs repair` recovers the rest. A store that is moved or deleted
//! during a run loses no sample. On a full disk runs can be removed.

use crate::support::{Lab, Mounted, Outcome, names};

/// Two runs of four samples each.
fn two_runs() -> Lab {
    let lab = Lab::new();
    for _ in 0..2 {
        lab.ok("study run tiny.toml --target null: --no-report");
    }
    lab
}

#[test]
fn every_command_does_without_what_is_damaged() {
    let lab = two_runs();
    lab.change_store("UPDATE samples SET record = substr(record, 1, 200) WHERE id = 2");
    let warned = "sample 2 of run 1 is damaged and left out";
    for words in ["runs show 1", "export 1", "report 1 --output r.html", "compare 1 2"] {
        let outcome = lab.run(words);
        assert!(matches!(outcome.status, Some(0 | 3 | 4)), "{words}: {}", outcome.stderr);
        assert_eq!(outcome.stderr.matches(warned).count(), 1, "{words}: {}", outcome.stderr);
        assert!(outcome.stderr.contains("runs repair"), "{}", outcome.stderr);
    }
    assert_eq!(lab.run("export 1").stdout.lines().count(), 3);
    assert_eq!(lab.json("runs show 1")["damaged_samples"], 1);
    assert!(lab.read("r.html").contains("1 sample is damaged in the store"));
    assert!(!lab.ok("export 2").stderr.contains("damaged"), "the other run has nothing to do with it");
    // A damaged sample counts as measured: it is not measured again or replaced.
    lab.change_store("UPDATE runs SET status = 'interrupted' WHERE id = 1; DELETE FROM samples WHERE id = 4");
    lab.ends("study resume 1 --no-report", 0, warned);
    assert_eq!(lab.samples(1).len(), 4);

    // A run that is damaged is listed, and its samples are exported.
    lab.change_store("UPDATE runs SET environment = 'x', started_at = 'then', plan = '{' WHERE id = 2");
    assert_eq!(lab.runs(), [(1, "complete".to_owned()), (2, "complete".to_owned())]);
    lab.ends("runs show 2", 0, "`environment` of run 2 is damaged");
    assert_eq!(lab.ok("export 2").stdout.lines().count(), 4);
    // So is a plan that names no target.
    let no_target = "plan = json_set(plan, '$.targets', json('[]'))";
    lab.change_store(&format!("UPDATE runs SET status = 'interrupted'; UPDATE runs SET {no_target} WHERE id = 1"));
    lab.refuses("study resume 1", 1, "the plan of run 1 is damaged");
    lab.ok("runs show 1");
    lab.refuses("study resume 2", 1, "the plan of run 2 is damaged");
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
    let listed = lab.ends("runs", 0, "may count too few samples");
    assert!(listed.stderr.contains("runs repair"), "{}", listed.stderr);
    let repaired = lab.json("runs repair");
    assert_eq!((&repaired["runs"], &repaired["samples"]), (&2.into(), &8.into()), "{repaired}");
}

#[test]
fn a_repair_reports_what_is_damaged_and_saves_the_rest() {
    let lab = two_runs();
    lab.ends("runs repair", 0, "The store is sound: 2 runs with 8 samples.");
    lab.change_store("UPDATE samples SET record = '{' WHERE id = 2; UPDATE runs SET environment = 'x' WHERE id = 2");
    let repaired = lab.json("runs repair");
    assert_eq!((&repaired["runs"], &repaired["samples"], &repaired["lost"]), (&2.into(), &7.into(), &1.into()));
    assert_eq!(repaired["damaged"].as_array().unwrap().len(), 2, "{repaired}");
    let kept = std::path::PathBuf::from(repaired["damaged_store"].as_str().unwrap());
    assert!(kept.ends_with("results.db.damaged-1") && kept.exists());
    lab.ends("runs repair", 0, "The store is sound: 2 runs with 7 samples.");
    let beside = names(lab.store().parent().unwrap());
    assert_eq!(beside, ["results.db", "results.db.damaged-1", "results.db.reserve"], "nothing else is left");
    assert_eq!(lab.records().len(), 7);
}

#[test]
fn a_store_whose_beginning_is_gone_is_saved_from_its_pages() {
    let lab = two_runs();
    let before = lab.records();
    let mut image = std::fs::read(lab.store()).unwrap();
    image[..4096].fill(0xa5);
    std::fs::write(lab.store(), &image).unwrap();
    lab.ends("runs", 1, "");
    assert_eq!(std::fs::read(lab.store()).unwrap(), image, "left as it is");
    lab.ends("runs repair", 0, "Saved 2 runs with 8 samples; 0 samples could not be read");
    assert_eq!(lab.records(), before);
    // What never was a store is not made one.
    lab.write("notes", "my notes");
    lab.ends("runs repair --store notes", 1, "is not a store");
    assert_eq!(lab.read("notes"), "my notes");
}

/// Samples of the study.
const SAMPLES: usize = 30;

/// A run during which something is done to the store, once it has samples.
fn run_during_which(lab: &Lab, happens: impl FnOnce()) -> Outcome {
    let running = lab.start("study run longer.toml --target place --size=1MiB --no-report");
    let mut running = running.until("samples", || lab.samples(1).len() >= 3);
    assert!(!running.has_ended());
    happens();
    running.wait().ended(0, "")
}

#[test]
fn a_store_that_is_deleted_during_a_run_is_written_again() {
    for is_directory in [false, true] {
        let lab = Lab::new();
        let folder = lab.path("home/halfpower");
        let outcome = run_during_which(&lab, || {
            if is_directory {
                return std::fs::remove_dir_all(lab.path("home")).unwrap();
            }
            names(&folder).iter().for_each(|name| std::fs::remove_file(folder.join(name)).unwrap());
        });
        assert!(outcome.stderr.contains("was deleted while it was in use"), "{}", outcome.stderr);
        assert_eq!(lab.runs(), [(1, "complete".to_owned())]);
        assert_eq!(lab.samples(1).len(), SAMPLES, "those too that were there before");
    }
}

#[test]
fn a_store_that_is_moved_during_a_run_has_everything_where_it_is() {
    let lab = Lab::new();
    let moved = lab.path("moved.db");
    let outcome = run_during_which(&lab, || std::fs::rename(lab.store(), &moved).unwrap());
    assert!(outcome.stderr.contains(&format!("kept in {}", moved.display())), "{}", outcome.stderr);
    let runs = lab.json("runs --store moved.db");
    assert_eq!((&runs[0]["samples"], &runs[0]["status"]), (&SAMPLES.into(), &"complete".into()));
    // Nothing is in the way of the next one.
    assert_eq!(lab.runs(), []);
    // Another store that took the name is left alone.
    let other = Lab::new();
    other.ok("io null: --requests=10");
    let outcome = run_during_which(&lab, || std::fs::rename(other.store(), lab.store()).unwrap());
    assert!(outcome.stderr.contains("results.db.again-1"), "{}", outcome.stderr);
    let again = format!("{}.again-1", lab.store().display());
    assert_eq!(lab.json(("runs --store", [again]))[0]["samples"], SAMPLES);
}

#[test]
fn on_a_full_disk_runs_are_shown_and_removed() {
    let lab = Lab::new();
    let Some(_mounted) = Mounted::image(lab.path("full"), 24, "mkfs.ext4 -q -m0") else { return };
    let store = "--store full/s.db";
    let study = ("study run tiny.toml --target null: --no-report", store);
    lab.ok(study);
    lab.ok(study);
    // Until not a byte is left.
    let fill = |name: &str| {
        let mut file = std::fs::File::create(lab.path(name)).unwrap();
        while std::io::Write::write_all(&mut file, &[1; 512]).is_ok() {}
    };
    fill("full/ballast");
    fill("full/more");
    let run = lab.ends(study, 1, "file system is full");
    assert!(run.stderr.contains("runs rm") && run.stderr.contains("runs clean"), "what to free: {}", run.stderr);
    assert_eq!(lab.ok(("runs", store)).stdout.matches("complete").count(), 2);
    assert_eq!(lab.ok(("export 2", store)).stdout.lines().count(), 4);
    lab.ok(("runs rm 1", store));
    // Nothing has become free but what the run had, and that is filled as well.
    fill("full/even more");
    lab.ok(("runs rm 2", store));
}
