//! What the program writes where the user says: looked at before anything is measured, never over what is somebody's, and
//! nothing that was measured is lost.

use crate::support::{Lab, Mounted, Outcome, Running, Words, names, outcome, skip};
use serde_json::Value;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Stdio;

#[test]
fn the_place_of_a_page_is_looked_at_before_anything_is_measured() {
    let lab = Lab::new();
    lab.write("thesis.html", "my thesis");
    symlink("thesis.html", lab.path("link.html")).unwrap();
    for _ in 0..2 {
        lab.ok("study run tiny.toml --target=place --size=1MiB --no-report");
    }
    lab.write("empty", "");
    lab.ok("export 1 --format=csv --output=first.csv");
    lab.write("halfpower-report.html", "not ours");
    for (name, why) in [
        ("thesis.html", "thesis.html exists and is no report of Halfpower"),
        ("link.html", "link.html is a symbolic link"),
        ("place", "place is not a regular file"),
        ("nowhere/r.html", "cannot make r.html in nowhere; name a file in a directory that can be written"),
        ("halfpower-report.html", "no report of Halfpower"),
        ("/proc/r.html", "cannot make r.html in /proc"),
    ] {
        for command in ["study run tiny.toml --target=place", "run --quick place", "study resume 1"] {
            let refused = lab.refuses(format!("{command} --report={name}"), 1, why);
            assert!(refused.stderr.contains("--no-report"), "{}", refused.stderr);
        }
        lab.refuses(format!("report 1 --output={name}"), 1, why);
        lab.refuses(format!("compare 1 2 --report={name}"), 1, why);
        if name != "place" {
            let why = if why.contains("no report") { "html exists" } else { why };
            lab.refuses(format!("export 1 --format=csv --output={name}"), 1, why);
        }
    }
    assert_eq!(lab.runs().len(), 2, "nothing was begun");
    // An export never replaces a file.
    lab.refuses("export 1 --format=csv --output=empty", 1, "exists");
    lab.refuses("export 1 --format=csv --output=first.csv", 1, "exists");
    lab.directory("folder");
    let export = "export 1 --format=fio --output=folder";
    lab.ok(export);
    lab.refuses(export, 1, "exists, and nothing is written over");
    let Some(_mounted) = Mounted::tmpfs(lab.path("full"), "ro") else { return };
    lab.refuses("run place --quick --report=full/r.html", 1, "Read-only file system");
}

#[test]
fn a_report_of_another_run_is_replaced_only_by_force_and_several_runs_are_in_one() {
    let lab = Lab::new();
    for seed in [1, 2] {
        lab.ok(format!(
            "study run simulated.toml --target=sim:win2k-pentium3:atlas-1 --seed={seed} --report=r.html --force"
        )
        .as_str());
    }
    let io = "io sim:hdd-18tb:disk --pattern=random --requests=100";
    lab.ok(io);
    lab.ok("report 2 --output=r.html");
    let why = "r.html is the report of another run; give another name, or replace it with --force";
    for command in [
        "report 1 --output=r.html",
        "study run simulated.toml --target=sim:win2k-pentium3:atlas-1 --report=r.html",
        "compare 1 2 --report=r.html",
    ] {
        lab.refuses(command, 1, why);
    }
    assert_eq!(lab.runs().len(), 3, "nothing was begun");
    lab.json_of_status("compare 1 2 --report=c.html");
    lab.json_of_status("compare 1 2 --report=c.html");
    lab.refuses("compare 2 1 --report=c.html", 1, "of another run");

    lab.ok("report 1 2 3");
    assert!(names(&lab.path(".")).iter().any(|name| name.contains("-runs-1-2-3-")));
    lab.ok("report 1 2 3 --output=several.html");
    let page = lab.read("several.html");
    for text in ["<h1>Runs 1, 2, 3</h1>", "run 2: reads", "Run 3 against run 1: Undecided: the two have no workload"] {
        assert!(page.contains(text), "{text}: {page}");
    }
    lab.ok("memory --quick --sizes=16KiB");
    lab.refuses("report 1 4 --output=x.html", 2, "run 4 is a reading or a comparison");
    lab.refuses("report 1 2 --format=markdown", 2, "name one run");

    let markdown = lab.ok("report 3 --format=markdown").stdout;
    assert!(
        markdown.contains("| Workload | throughput | IOPS | bottleneck | busy |\n|---|---|---|---|---|\n"),
        "{markdown}"
    );
    lab.ok("report 4 --format=markdown --output=reading.md");
    assert!(lab.read("reading.md").lines().all(|line| line.starts_with("    ")));
    lab.ok("report 1 --figures=charts");
    let charts = names(&lab.path("charts"));
    assert!(!charts.is_empty());
    for chart in &charts {
        let svg = lab.read(format!("charts/{chart}"));
        assert!(svg.starts_with("<svg xmlns=") && !svg.contains("var("), "{chart}: {svg}");
    }
    lab.refuses("report 1 --figures=charts", 1, "exists, and nothing is written over");
    lab.ends("report 1 --png", 2, "--figures");
}

#[test]
fn charts_are_written_as_png_by_librsvg() {
    let lab = Lab::new();
    lab.ok("io sim:hdd-18tb:disk --pattern=random --requests=100");
    let command = "report 1 --figures=charts --png";
    let without = lab.command(command).env("PATH", "").output().unwrap();
    assert_eq!(without.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&without.stderr).contains("librsvg2-bin"), "{without:?}");
    assert!(!lab.path("charts").exists());
    if std::process::Command::new("rsvg-convert").arg("--version").output().is_err() {
        return skip("there is no rsvg-convert here");
    }
    lab.ok(command);
    let (pictures, charts): (Vec<_>, Vec<_>) =
        names(&lab.path("charts")).into_iter().partition(|name| name.ends_with(".png"));
    assert!(!charts.is_empty() && pictures.len() == charts.len(), "{pictures:?} {charts:?}");
    let bytes = std::fs::read(lab.path("charts").join(&pictures[0])).unwrap();
    assert!(bytes.starts_with(b"\x89PNG"));
}

/// The command between the last backticks of what was said, without the program's name.
fn remedy(said: &str) -> Vec<String> {
    let command = said.rsplit('`').nth(1).unwrap_or_else(|| panic!("no command in {said}"));
    command.split(' ').skip(1).map(|word| word.trim_matches('\'').to_owned()).collect()
}

#[test]
fn a_report_that_cannot_be_written_in_the_end_is_written_by_the_command_that_is_named() {
    // Kept where it was to be kept; in another store; and in the usual one where it was to be kept in none.
    for (more, store) in [("", ""), ("--store=other.db", "--store=other.db"), ("--no-store", "")] {
        let lab = Lab::new();
        lab.directory("reports");
        let running = lab.start(("study run longer.toml --target=place --size=1MiB --report=reports/r.html", more));
        let running = running.until("the test file", || !names(&lab.place()).is_empty());
        std::fs::remove_dir(lab.path("reports")).unwrap();
        let ended = running.wait().ended(0, "");
        let mut command = remedy(&ended.stderr);
        assert_eq!(command[0], "report", "{}", ended.stderr);
        let output = command.iter().position(|word| word == "FILE").unwrap();
        command[output] = "elsewhere.html".to_owned();
        lab.ok(&command);
        assert!(lab.path("elsewhere.html").exists());
        let shown = lab.json((["runs", "show", &command[1]], store));
        assert_eq!((&shown["samples"], &shown["status"]), (&30.into(), &"complete".into()), "{}", ended.stderr);
        assert_eq!(lab.runs().len(), usize::from(store.is_empty()));
    }
}

/// Runs a command whose standard output takes nothing.
fn into_nothing(lab: &Lab, words: impl Words) -> Outcome {
    let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
    Running::of(lab.command(words).stdout(full)).wait()
}

#[test]
fn a_result_that_cannot_be_printed_is_in_the_store() {
    let lab = Lab::new();
    lab.data_file("data", 1024);
    let mut count = 0;
    for command in
        ["io data --requests=9", "study run tiny.toml --target=place --size=1MiB --no-report", "inspect data"]
    {
        for more in ["", "--no-store", "--no-store --json"] {
            let outcome = into_nothing(&lab, (command, more)).ended(1, "could not be printed");
            count += 1;
            let runs = lab.runs();
            assert_eq!(runs.len(), count, "{command} {more} is lost: {}", outcome.stderr);
            assert_eq!(runs.last().unwrap().1, "complete");
            assert_ne!(lab.ok(remedy(&outcome.stderr)).stdout, "", "{command} {more}");
        }
    }
    into_nothing(&lab, "study show survey").ended(1, "cannot write to standard output");
}

#[test]
fn nobody_reading_is_no_failure() {
    let lab = Lab::new();
    lab.data_file("data", 256);
    for words in [
        "io data --requests=10 --json",
        "io data --requests=10",
        "runs",
        "study show survey",
        "plan tiny.toml --target data",
        "study run tiny.toml --target data --no-report",
        "--help",
    ] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let ended = Running::of(lab.command(words).stdout(Stdio::from(writer))).wait().ended(0, "");
        assert!(!ended.stderr.contains("panicked"), "{words}: {}", ended.stderr);
    }
}

#[test]
fn a_sample_that_the_store_does_not_take_is_printed() {
    let lab = Lab::new();
    lab.data_file("data", 1024);
    lab.ok("io data --requests=9");
    lab.change_store("CREATE TRIGGER full BEFORE INSERT ON samples BEGIN INSERT INTO nowhere VALUES (1); END");
    for command in ["io data --requests=9 --json", "study run tiny.toml --target=place --size=1MiB --no-report --json"]
    {
        let document: Value = lab.ends(command, 1, "no such table").document();
        assert_eq!(document["schema"], "halfpower.sample/1", "{command}");
    }
    let text = lab.ends("io data --requests=9", 1, "no such table");
    assert!(text.stdout.contains("throughput") && names(&lab.place()).is_empty(), "{}", text.stdout);
}

#[test]
fn progress_is_a_line_per_trial_or_none_and_colour_is_as_wanted() {
    let lab = Lab::new();
    let run = "study run simulated.toml --target=sim:win2k-pentium3:atlas-1 --no-report --no-store";
    let plain = lab.ok((run, "--plain")).stderr;
    assert!(plain.contains("   1  ") && plain.contains("  10  ") && plain.contains("QD1, direct: 1"), "{plain}");
    assert_eq!(lab.ok((run, "--quiet")).stderr, "");
    lab.ends((run, "--quiet --plain"), 2, "cannot be used with");
    let has_colour = |words: &str| lab.ok((run, words)).stdout.contains('\u{1b}');
    assert_eq!(["--color=always", "--color=never", "--color=auto"].map(has_colour), [true, false, false]);
}

/// The program on a terminal of 80 by 24; none without script(1).
fn on_a_terminal(lab: &Lab, words: &str) -> Option<String> {
    let command = format!("stty cols 80 rows 24; \"$HALFPOWER\" {words}");
    let output = lab.program("script", ["-qefc", &command, "/dev/null"]).env("TERM", "xterm").output();
    Some(String::from_utf8_lossy(&output.ok()?.stdout).into_owned())
}

#[test]
fn a_run_takes_the_whole_terminal_and_gives_it_back() {
    let lab = Lab::new();
    let Some(shown) = on_a_terminal(&lab, "run sim:cloud-gp3:burst --quick --tui --no-report") else {
        return skip("there is no script(1)");
    };
    let (before, covered) = shown.split_once("\x1b[?1049h").unwrap_or_else(|| panic!("{shown}"));
    let (covered, after) = covered.split_once("\x1b[?1049l").unwrap_or_else(|| panic!("{shown}"));
    assert!(before.contains("Plan: ") && after.contains("Tables and evidence: "), "{shown}");
    assert!(
        covered.contains("open  ") && covered.contains("best  ") && covered.contains("random read, 4 KiB"),
        "{covered}"
    );
    lab.refuses("run sim:cloud-gp3:burst --tui --plain", 2, "cannot be used with");
}

#[test]
fn a_shell_gets_completions_and_man_its_pages() {
    let lab = Lab::new();
    let script = lab.ok("completions bash").stdout;
    assert!(script.contains("complete -F _halfpower") && script.contains("drop-cache"), "{script}");
    assert!(lab.ok("man").stdout.contains(".TH halfpower 1"));
    lab.directory("pages");
    lab.ok("man pages");
    assert!(lab.read("pages/halfpower-run.1").contains("write\\-budget"));
    let page = lab.read("pages/halfpower-files.1");
    assert!(page.contains(concat!("\"halfpower ", env!("CARGO_PKG_VERSION"), "\"")), "{page}");
    assert!(page.contains(".SH EXAMPLES\n.nf\n  halfpower files "), "{page}");
    lab.refuses("man missing", 1, "cannot write to missing");
}

/// A command of the documents that needs no more than a laboratory: no disk, server or runs of its reader's own.
fn runs_anywhere(line: &str) -> bool {
    let foreign = [
        "/dev/", "/mnt/", "/srv/", "/var/", "/lustre/", "s3://", "smb://", "nbd", "plugin:", "perf.db", " 7 8",
        "history", "mpi",
    ];
    line.starts_with("halfpower ")
        && !line.starts_with("halfpower  ")
        && !foreign.iter().any(|word| line.contains(word))
}

#[test]
fn the_commands_of_the_documents_run() {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs");
    for page in ["TOUR", "COOKBOOK", "TRACES", "FIO"] {
        let lab = Lab::new();
        lab.write("job.fio", "[reads]\nrw=randread\nsize=1m\n");
        let requests =
            (0..400).map(|at| format!("{},web,0,{},{},4096,1500\n", at * 10_000, ["Read", "Write"][at % 2], at * 4096));
        lab.write("sda.trace", requests.collect::<String>());
        lab.data_file("test.bin", 1024);
        let text = std::fs::read_to_string(docs.join(page).with_extension("md")).unwrap().replace("/mnt/other/", "");
        let blocks = text.split("\n```").skip(1).step_by(2);
        let commands: Vec<&str> = blocks.flat_map(str::lines).filter(|line| runs_anywhere(line)).collect();
        assert!(commands.len() >= 2, "{page}: {commands:?}");
        for command in commands {
            let ours = command.replacen("halfpower", "\"$HALFPOWER\"", 1);
            let outcome = outcome(lab.program("sh", ["-ec", &ours]));
            assert!(
                matches!(outcome.status, Some(0 | 3)),
                "{page}: {command}: {:?} {}",
                outcome.status,
                outcome.stderr
            );
        }
    }
}
