//! Names from outside: those that are no text are refused before anything is measured, and none steers a terminal, whatever
//! holds it.

use crate::support::{Lab, Outcome, TINY, assert_refusal};
use serde_json::Value;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;

/// A title of the window, a colour in one byte of C1, a name written backwards, DEL, and a line that is none of ours.
const HOSTILE: &str = "a\u{1b}]0;x\u{7}\u{9b}31m\u{202e}b\u{7f}\u{2066}\u{200f}\r\nerror: all data are lost";

fn not_text(text: &[u8]) -> OsString {
    OsStr::from_bytes(text).to_owned()
}

#[test]
fn a_name_that_is_no_text_is_refused_before_anything_is_measured() {
    let lab = Lab::new();
    let odd = not_text(b"c\xff");
    std::fs::create_dir(lab.path(&odd)).unwrap();
    // What it would be taken for when it is read again.
    std::fs::create_dir(lab.path("c\u{fffd}")).unwrap();
    let word = |text: &str| OsString::from(text);
    let study = [word("study"), word("run"), word("tiny.toml"), word("--no-report"), word("--target")];
    let quick = [word("run"), word("--quick"), word("place")];
    for arguments in [
        vec![word("run"), word("--quick"), odd.clone()],
        vec![word("io"), odd.clone()],
        vec![word("doctor"), odd.clone()],
        [&study[..], std::slice::from_ref(&odd)].concat(),
        [&quick[..], &[not_text(b"--report=c\xff/r.html")]].concat(),
        [&quick[..], &[not_text(b"--store=c\xff/s.db")]].concat(),
        vec![word("export"), word("1"), not_text(b"--output=c\xff/x")],
        vec![word("import"), odd.clone()],
        vec![word("io"), word("place"), word("--json"), not_text(b"--note=\xff")],
    ] {
        let refused = lab.refuses(&arguments, 2, "is not UTF-8");
        assert!(refused.stderr.contains("use a link to it"), "{}", refused.stderr);
    }
    assert!(!lab.store().exists());
}

#[test]
fn a_run_in_a_directory_whose_name_is_no_text_is_not_begun() {
    let lab = Lab::new();
    let odd = lab.path(not_text(b"c\xff"));
    std::fs::create_dir(&odd).unwrap();
    for command in ["run . --quick --no-report", "study run ../tiny.toml --target=.", "io . --json"] {
        let mut there = lab.command(command.split(' '));
        there.current_dir(&odd);
        let refused = crate::support::outcome(there);
        assert_refusal(&refused, 2, "the current directory", command);
    }
    assert!(!lab.store().exists() && std::fs::read_dir(&odd).unwrap().next().is_none());
    // By a link it has a name.
    std::os::unix::fs::symlink(&odd, lab.path("link")).unwrap();
    let run = lab.run(["study", "run", "tiny.toml", "--target=link", "--no-report"]);
    assert_eq!(run.status, Some(0), "{}", run.stderr);
}

#[test]
fn a_store_whose_name_is_no_text_is_not_made() {
    let lab = Lab::new();
    let odd = lab.path(not_text(b"c\xff"));
    std::fs::create_dir(&odd).unwrap();
    lab.data_file("data", 64);
    std::os::unix::fs::symlink(&odd, lab.path("link")).unwrap();
    for (data_home, store) in [(odd.clone(), None), (lab.path("home"), Some("--store=link/s.db"))] {
        let mut command = lab.command(["io", "data", "--requests=9"].into_iter().chain(store));
        command.env("XDG_DATA_HOME", data_home);
        assert_refusal(&crate::support::outcome(command), 1, "is not UTF-8", "a store");
    }
    assert!(!odd.join("s.db").exists() && !odd.join("halfpower/results.db").exists());
}

#[test]
fn a_run_that_was_begun_under_a_name_that_is_no_text_is_not_resumed_elsewhere() {
    let lab = Lab::new();
    std::fs::create_dir(lab.path("c\u{fffd}")).unwrap();
    let run = lab.run(["study", "run", "tiny.toml", "--target=c\u{fffd}", "--no-report"]);
    assert_eq!(run.status, Some(0), "{}", run.stderr);
    // As earlier versions left it of a directory called c\xff.
    let store = rusqlite::Connection::open(lab.store()).unwrap();
    store.execute_batch("UPDATE runs SET status = 'interrupted'; DELETE FROM samples WHERE block = 1").unwrap();
    lab.refuses(["study", "resume", "1", "--no-report"], 2, "what of that name was not UTF-8 is not known");
}

#[test]
fn a_study_folder_names_the_file_whose_name_is_no_text() {
    let lab = Lab::new();
    std::fs::create_dir(lab.path("folder")).unwrap();
    lab.write("folder/study.toml", TINY.as_bytes());
    std::fs::write(lab.path("folder").join(not_text(b"a\xff.toml")), TINY).unwrap();
    lab.refuses(["study", "check", "folder"], 2, "in the folder folder is not UTF-8");
}

/// Asserts that nothing that was said steers a terminal, and that no name made a line of its own.
fn steers_nothing(outcome: &Outcome, what: &str) {
    for said in [&outcome.stdout, &outcome.stderr] {
        let harmful = |c: char| {
            let turns =
                matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
            c.is_control() && !matches!(c, '\n' | '\t') || turns
        };
        // Rows of CSV end with both.
        let found: Vec<char> = said.replace("\r\n", "\n").chars().filter(|c| harmful(*c)).collect();
        assert!(found.is_empty(), "{what} prints {found:?}: {said:?}");
        // Within the quotes of a field CSV has lines of its own, and a page has no lines.
        let has_lines = !what.contains("csv") && !what.contains("page");
        let makes_line = has_lines && said.lines().any(|line| line.starts_with("error: all"));
        assert!(!makes_line, "{what} lets a name make a line: {said}");
    }
}

#[test]
fn no_name_steers_a_terminal() {
    let lab = Lab::new();
    std::fs::create_dir(lab.path(HOSTILE)).unwrap();
    std::fs::copy(lab.data_file("data", 64), lab.path(HOSTILE).join("data")).unwrap();
    let data = format!("{HOSTILE}/data");
    let question: String = HOSTILE.chars().map(|c| format!("\\U{:08x}", u32::from(c))).collect();
    let study =
        TINY.replace("name = \"tiny\"", &format!("name = \"tiny\" # {}\nquestion = \"{question}\"", "\u{202e}"));
    let file = format!("{HOSTILE}/s.toml");
    lab.write(&file, study.as_bytes());
    lab.write("bad.toml", format!("name = \"{question}\"\ntrail = 1").as_bytes());
    let option = format!("--{HOSTILE}");
    let size = format!("--request-size={HOSTILE}");
    let note = format!("--note={HOSTILE}");
    for (arguments, status) in [
        (vec!["doctor", &data], 0),
        (vec!["plan", &file, "--target", &data], 0),
        (vec!["plan", &file, "--target", &data, "--json"], 0),
        (vec!["plan", &file, "--target", &data, "--emit=shell"], 2),
        (vec!["plan", &file, "--target", &data, "--emit=fio"], 2),
        (vec!["study", "show", &file], 0),
        (vec!["study", "show", &file, "--json"], 0),
        (vec!["study", "check", &file, "bad.toml"], 2),
        (vec!["study", "list", HOSTILE], 0),
        (vec!["run", &data, "--quick", "--dry-run"], 0),
        (vec!["study", "run", &file, "--target", &data, "--report=r.html", &note], 0),
        (vec!["io", &data, "--requests=9", &note], 0),
        (vec!["io", &data, "--requests=9", &note, "--json"], 0),
        (vec!["inspect", &data], 0),
        (vec!["runs"], 0),
        (vec!["runs", "--json"], 0),
        (vec!["runs", "show", "1"], 0),
        (vec!["runs", "show", "1", "--json"], 0),
        (vec!["export", "1", "--format=jsonl"], 0),
        (vec!["export", "1", "--format=csv"], 0),
        (vec!["export", "1", "--format=openmetrics"], 0),
        (vec!["export", "1", "--format=fio"], 0),
        (vec!["export", "1", "--format=hdr"], 0),
        (vec!["export", "1", "--format=sqlio"], 0),
        (vec![HOSTILE], 2),
        (vec!["io", &data, &option], 2),
        (vec!["io", &data, &size], 2),
        (vec!["io", &data, &size, "--json"], 2),
        (vec!["io", HOSTILE, "--size=0"], 2),
        (vec!["import", &data], 1),
    ] {
        let outcome = lab.run(&arguments);
        let what = format!("{arguments:?}");
        assert_eq!(outcome.status, Some(status), "{what}: {}{}", outcome.stderr, outcome.stdout);
        steers_nothing(&outcome, &what);
        assert!(outcome.stdout.len() + outcome.stderr.len() > 0, "{what}");
    }
    let page = std::fs::read_to_string(lab.path("r.html")).unwrap();
    steers_nothing(&Outcome { status: None, stdout: page, stderr: String::new() }, "the page of the report");
}

#[test]
fn what_json_escapes_comes_back_as_it_was() {
    let lab = Lab::new();
    lab.data_file("data", 64);
    let note = format!("--note={HOSTILE}");
    let sample = lab.json(["io", "data", "--requests=9", "--json", &note]);
    assert_eq!(sample["note"], HOSTILE);
    let exported = lab.run(["export", "1", "--output=run.jsonl"]);
    assert_eq!(exported.status, Some(0), "{}", exported.stderr);
    let text = std::fs::read_to_string(lab.path("run.jsonl")).unwrap();
    assert!(text.is_ascii() && text.contains("\\u202e"), "{text}");
    lab.json(["import", "run.jsonl", "--json"]);
    let record: Value = serde_json::from_str(&lab.run(["export", "2"]).stdout).unwrap();
    assert_eq!(record["note"], HOSTILE);
}
