//! Hostile names: names that are not UTF-8 are rejected before anything is measured, and no name controls a terminal.

use crate::support::{Lab, Outcome, assert_refusal, outcome};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;

/// A window title, a colour by a C1 byte, a reversed name, DEL, and a forged error line.
const HOSTILE: &str = "a\u{1b}]0;x\u{7}\u{9b}31m\u{202e}b\u{7f}\u{2066}\u{200f}\r\nerror: all data are lost";

fn not_text(text: &[u8]) -> OsString {
    OsStr::from_bytes(text).to_owned()
}

#[test]
fn a_name_that_is_no_text_is_refused_before_anything_is_measured() {
    let lab = Lab::new();
    let odd = lab.directory(not_text(b"c\xff"));
    // Its name when read back as text.
    lab.directory("c\u{fffd}");
    for (words, name) in [
        ("run --quick", &b"c\xff"[..]),
        ("io", b"c\xff"),
        ("doctor", b"c\xff"),
        ("study run tiny.toml --no-report --target", b"c\xff"),
        ("run --quick place", b"--report=c\xff/r.html"),
        ("run --quick place", b"--store=c\xff/s.db"),
        ("export 1", b"--output=c\xff/x"),
        ("import", b"c\xff"),
        ("io place --json", b"--note=\xff"),
    ] {
        let refused = lab.refuses((words, [not_text(name)]), 2, "is not UTF-8");
        assert!(refused.stderr.contains("use a link to it"), "{}", refused.stderr);
    }
    for command in ["run . --quick --no-report", "study run ../tiny.toml --target=.", "io . --json"] {
        let mut there = lab.command(command);
        there.current_dir(&odd);
        assert_refusal(&outcome(there), 2, "the current directory", command);
    }
    assert!(!lab.store().exists() && std::fs::read_dir(&odd).unwrap().next().is_none());
    lab.data_file("data", 64);
    symlink(&odd, lab.path("link")).unwrap();
    for (data_home, store) in [(odd.clone(), ""), (lab.path("home"), "--store=link/s.db")] {
        let mut command = lab.command(("io data --requests=9", store));
        command.env("XDG_DATA_HOME", data_home);
        assert_refusal(&outcome(command), 1, "is not UTF-8", "a store");
    }
    assert!(!odd.join("s.db").exists() && !odd.join("halfpower/results.db").exists());
    lab.directory("folder");
    for name in [OsString::from("study.toml"), not_text(b"a\xff.toml")] {
        std::fs::copy(lab.path("tiny.toml"), lab.path("folder").join(name)).unwrap();
    }
    lab.refuses("study check folder", 2, "in the folder folder is not UTF-8");
    // As earlier versions left a run of a directory called c\xff.
    lab.ok("study run tiny.toml --target=c\u{fffd} --size=1MiB --no-report");
    lab.change_store("UPDATE runs SET status = 'interrupted'; DELETE FROM samples WHERE block = 1");
    lab.refuses("study resume 1 --no-report", 2, "what of that name was not UTF-8 is not known");
    // By a link it has a name.
    lab.ok("study run tiny.toml --target=link --size=1MiB --no-report");
}

/// Asserts that the output has no control characters, and that no name adds a line.
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
    lab.directory(HOSTILE);
    let data = format!("{HOSTILE}/data");
    lab.data_file(&data, 64);
    let question: String = HOSTILE.chars().map(|c| format!("\\U{:08x}", u32::from(c))).collect();
    let title = format!("name = \"tiny\" # \u{202e}\nquestion = \"{question}\"");
    let study = format!("{HOSTILE}/s.toml");
    lab.write(&study, lab.read("tiny.toml").replace("name = \"tiny\"", &title));
    lab.write("bad.toml", format!("name = \"{question}\"\ntrail = 1"));
    // DATA, STUDY and HOSTILE stand for the names.
    for (words, status) in [
        ("doctor DATA", 0),
        ("plan STUDY --target DATA", 0),
        ("plan STUDY --target DATA --json", 0),
        ("plan STUDY --target DATA --emit=shell", 2),
        ("plan STUDY --target DATA --emit=fio", 2),
        ("study show STUDY", 0),
        ("study show STUDY --json", 0),
        ("study check STUDY bad.toml", 2),
        ("study list HOSTILE", 0),
        ("run DATA --quick --dry-run", 0),
        ("study run STUDY --target DATA --report=r.html --note=HOSTILE", 0),
        ("io DATA --requests=9 --note=HOSTILE", 0),
        ("io DATA --requests=9 --note=HOSTILE --json", 0),
        ("io DATA-that-is-not-there", 2),
        ("inspect DATA", 0),
        ("runs", 0),
        ("runs --json", 0),
        ("runs show 1", 0),
        ("runs show 1 --json", 0),
        ("export 1 --format=jsonl", 0),
        ("export 1 --format=csv", 0),
        ("export 1 --format=openmetrics", 0),
        ("export 1 --format=fio", 0),
        ("export 1 --format=hdr", 0),
        ("export 1 --format=sqlio", 0),
        ("HOSTILE", 2),
        ("io DATA --HOSTILE", 2),
        ("io DATA --request-size=HOSTILE", 2),
        ("io DATA --request-size=HOSTILE --json", 2),
        ("io HOSTILE --size=0", 2),
        ("import DATA", 1),
    ] {
        let name = |word: &str| word.replace("DATA", &data).replace("STUDY", &study).replace("HOSTILE", HOSTILE);
        let outcome = lab.run(words.split(' ').map(name).collect::<Vec<_>>());
        assert_eq!(outcome.status, Some(status), "{words}: {}{}", outcome.stderr, outcome.stdout);
        steers_nothing(&outcome, words);
        assert!(outcome.stdout.len() + outcome.stderr.len() > 0, "{words}");
    }
    let page = Outcome { status: None, stdout: lab.read("r.html"), stderr: String::new() };
    steers_nothing(&page, "the page of the report");
    assert_eq!(lab.run("runs").stdout.lines().count(), 5, "a line a run and one for the head");
    // Control characters are shown as the replacement character.
    lab.data_file("e\x1b[31m\nvil", 64);
    let shown = lab.ok(["io", "e\x1b[31m\nvil", "--requests=9"]).stdout;
    assert!(shown.contains("e\u{fffd}[31m\u{fffd}vil"), "{shown}");
    let lost = lab.run(["io", "no\n\u{202e}such", "--requests=9"]).stderr;
    assert!(lost.lines().count() == 1 && lost.contains("no\u{fffd}\u{fffd}such"), "{lost}");
    // What JSON escapes comes back as it was.
    let sample = lab.json((["io", &data, "--note", HOSTILE], "--requests=9"));
    assert_eq!(sample["note"], HOSTILE);
    let run = lab.runs().len();
    lab.ok(format!("export {run} --output=run.jsonl"));
    let text = lab.read("run.jsonl");
    assert!(text.is_ascii() && text.contains("\\u202e"), "{text}");
    lab.ok("import run.jsonl");
    assert_eq!(lab.ok(format!("export {}", run + 1)).document()["note"], HOSTILE);
}

#[test]
fn any_spelling_of_a_path_will_do() {
    let lab = Lab::new();
    for name in ["a b", "it's", "\"q\"", "$HOME", "-lead", "new\nline", "größe"] {
        let directory = lab.directory(name);
        let target = format!("--target=./place/../{name}");
        lab.ok(("study run tiny.toml --size=256KiB --report=r.html --force", [target]));
        assert!(std::fs::read_dir(directory).unwrap().next().is_none(), "{name:?}");
    }
    lab.data_file("-file", 256);
    lab.ok("io --requests=10 -- -file");
}
