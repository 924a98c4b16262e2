//! Test files: found when they are left, never taken for another's.

use super::tests::{begin, place};
use super::*;
use halfpower_engine::test_file::FileId;
use halfpower_model::Bytes;
use std::path::Path;

const TEST_FILE: &str = "halfpower-0123456789abcdef.test";

#[test]
fn a_store_cannot_have_any_file_removed() {
    let (directory, path) = place();
    let mut store = Store::open(&path).unwrap();
    let run = begin(&mut store);
    for name in ["precious.dat", "halfpower-test", "halfpower-0123456789abcdeg.test", "halfpower-01.test"] {
        let file = directory.path().join(name);
        std::fs::write(&file, "0123456789").unwrap();
        note(&mut store, &file, run);
    }
    drop(store);
    let mut store = Store::open(&path).unwrap();
    assert_eq!(store.test_files_left().unwrap(), []);
    let found = store.look_for_test_files().unwrap();
    assert!(found.len() == 4 && found.iter().all(|(_, standing)| *standing == Standing::Unproven));
}

/// Notes a test file that is there, by which file it is.
fn note(store: &mut Store, path: &Path, run: RunId) -> TestFileId {
    let (file, directory) = (FileId::at(path).ok(), FileId::at(path.parent().unwrap()).unwrap());
    store.note_test_file(run, path, Bytes(10), file.as_ref(), &directory).unwrap()
}

#[test]
fn a_test_file_left_behind_is_found_and_only_that_one() {
    let (directory, path) = place();
    let file = directory.path().join(TEST_FILE);
    let mut store = Store::open(&path).unwrap();
    let run = begin(&mut store);
    std::fs::write(&file, "0123456789").unwrap();
    note(&mut store, &file, run);
    let mut other = Store::open(&path).unwrap();
    assert_eq!(other.test_files_left().unwrap(), []);
    drop(store);
    let left = other.test_files_left().unwrap();
    assert_eq!(
        (left[0].path.as_path(), left[0].run, left[0].bytes, left.len()),
        (file.as_path(), Some(run), Bytes(10), 1)
    );
    // Somebody else's file at that path is not ours.
    let elsewhere = directory.path().join("elsewhere");
    std::fs::write(&elsewhere, "theirs").unwrap();
    std::fs::rename(&elsewhere, &file).unwrap();
    assert_eq!(other.look_for_test_files().unwrap(), []);
    assert!(file.exists());
}

#[test]
fn a_test_file_is_struck_off_only_when_it_is_gone_from_its_own_directory() {
    let (directory, path) = place();
    let [home, moved] = ["home", "moved"].map(|name| directory.path().join(name));
    std::fs::create_dir(&home).unwrap();
    let file = home.join(TEST_FILE);
    std::fs::write(&file, "0123456789").unwrap();
    let mut store = Store::open(&path).unwrap();
    let run = begin(&mut store);
    note(&mut store, &file, run);
    drop(store);
    let mut store = Store::open(&path).unwrap();
    let mut standing = || {
        let found = store.look_for_test_files().unwrap();
        found.first().map(|(_, standing)| *standing)
    };
    std::fs::rename(&home, &moved).unwrap();
    assert_eq!(standing(), Some(Standing::OutOfSight));
    std::fs::create_dir(&home).unwrap();
    assert_eq!(standing(), Some(Standing::OutOfSight), "another directory");
    std::fs::write(&file, "theirs").unwrap();
    assert_eq!(standing(), Some(Standing::OutOfSight), "another file in another directory");
    std::fs::remove_dir_all(&home).unwrap();
    std::fs::rename(&moved, &home).unwrap();
    assert_eq!(standing(), Some(Standing::Left));
    std::fs::remove_file(&file).unwrap();
    assert_eq!(standing(), None);
    std::fs::write(&file, "theirs").unwrap();
    assert_eq!(standing(), None, "struck off");
}

#[test]
fn a_test_file_killed_at_birth_is_found() {
    let (directory, path) = place();
    let file = directory.path().join(TEST_FILE);
    let mut store = Store::open(&path).unwrap();
    let run = begin(&mut store);
    // On a file system without files that have no name: noted, made, and killed before it was noted which file it is.
    note(&mut store, &file, run);
    std::fs::write(&file, "").unwrap();
    drop(store);
    let mut store = Store::open(&path).unwrap();
    let left = store.test_files_left().unwrap();
    assert_eq!(left.len(), 1);
    std::fs::write(&file, "theirs").unwrap();
    assert_eq!(store.look_for_test_files().unwrap()[0].1, Standing::Unproven);
    std::fs::remove_file(&file).unwrap();
    store.test_file_removed(left[0].id).unwrap();
    assert_eq!(store.test_files_left().unwrap(), []);
}

#[test]
fn a_test_file_that_is_taken_over_is_left_to_nobody_else() {
    let (directory, path) = place();
    let file = directory.path().join(TEST_FILE);
    let mut killed = Store::open(&path).unwrap();
    std::fs::write(&file, "0123456789").unwrap();
    let run = begin(&mut killed);
    let id = note(&mut killed, &file, run);
    drop(killed);
    let mut resumed = Store::open(&path).unwrap();
    assert!(resumed.take_test_file(id).unwrap());
    let mut other = Store::open(&path).unwrap();
    assert_eq!(other.test_files_left().unwrap(), [], "a run is using it again");
    assert!(!other.take_test_file(id).unwrap());
    drop(resumed);
    assert_eq!(other.test_files_left().unwrap().len(), 1);
}

#[test]
fn a_directory_of_small_files_left_behind_is_found_by_its_name_and_its_kind() {
    let (directory, path) = place();
    let mut store = Store::open(&path).unwrap();
    let run = begin(&mut store);
    for name in ["halfpower-0123456789abcdef.files", "halfpower-0123456789abcde0.test", "halfpower-1.files", "files"] {
        let tree = directory.path().join(name);
        std::fs::create_dir(&tree).unwrap();
        note(&mut store, &tree, run);
    }
    // A file in place of a directory.
    let file = directory.path().join("halfpower-0123456789abcde1.files");
    std::fs::write(&file, "").unwrap();
    note(&mut store, &file, run);
    drop(store);
    let left = Store::open(&path).unwrap().test_files_left().unwrap();
    let names: Vec<_> = left.iter().filter_map(|left| left.path.file_name()?.to_str()).collect();
    assert_eq!(names, ["halfpower-0123456789abcdef.files"]);
}
