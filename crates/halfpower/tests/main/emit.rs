//! Plans for other hands: scripts that measure the plan's own trials, job files that fio takes, and nothing touched
//! that was not named.

use crate::support::{BOTH, Lab, Outcome, Running, assert_refusal, hash, names, outcome, skip, tool, wait_for};
use serde_json::Value;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

const SCRIPT: &str = "emitted.sh";

/// A cell of each kind that fio has to be told of in its own way, and some that it has no equal of.
const MANY: &str = r#"
name = "many"
[trial]
repetitions = { min = 1, max = 1 }
[[sweep]]
name = "patterns"
operation = "mix=70"
pattern = ["sequential", "reverse", "random", "shuffled", "zipf=0.99", "zipf=1", "pareto=0.2", "hot_cold=80/20", "normal=0.1"]
request_size = "4KiB"
requests = 20
[[sweep]]
name = "sizes"
operation = ["read", "mix=60"]
sizes = ["4KiB:70/64KiB:30", "4KiB:1/64KiB:2"]
pattern = "random"
requests = 20
offset = "64KiB"
[[sweep]]
name = "data"
operation = "write"
data = ["incompressible", "compressible=60", "duplicate=30", "zeros", "pattern=c0ffee"]
durability = ["flush_at_end", "fsync=5", "fdatasync=3"]
buffering = ["buffered", "through"]
cache = ["cold", "warm"]
requests = 20
[[sweep]]
name = "ways"
operation = "write"
personality = ["sync", "vectored", "libaio", "io_uring"]
file_state = ["written", "append"]
verify = "read_back"
requests = 20
[[sweep]]
name = "together"
operation = ["read", "mix=50"]
workers = 2
processes = [false, true]
rate = "1000/s"
arrivals = ["closed", "poisson"]
cpus = [0]
duration = "20ms"
warmup = "1ms"
"#;

fn emit(lab: &Lab, form: &str, arguments: &[&str]) -> String {
    let outcome = lab.run([&["plan", "--emit", form], arguments].concat());
    assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
    outcome.stdout
}

/// The shell with an emitted script, in a process group of its own.
fn shell(lab: &Lab, script: &str) -> Command {
    lab.write(SCRIPT, script.as_bytes());
    let mut command = lab.command([""; 0]);
    let program = command.get_program().to_owned();
    let environment: Vec<_> =
        command.get_envs().map(|(key, value)| (key.to_owned(), value.unwrap().to_owned())).collect();
    command = Command::new("sh");
    command.arg(SCRIPT).current_dir(lab.path("")).envs(environment).env("HALFPOWER", program);
    command.stdin(Stdio::null()).process_group(0);
    command
}

fn measure(lab: &Lab, script: &str) -> Outcome {
    outcome(shell(lab, script))
}

/// The workload of each sample, by run and time.
fn workloads(lab: &Lab) -> Vec<Value> {
    let records = lab.query("SELECT record FROM samples ORDER BY run_id, id", |row| row.get::<_, String>(0));
    records.iter().map(|record| serde_json::from_str::<Value>(record).unwrap()["workload"].take()).collect()
}

#[test]
fn a_script_measures_what_the_study_would_with_the_note() {
    let lab = Lab::new();
    lab.write("both.toml", BOTH.as_bytes());
    let plan = ["both.toml", "--target", "place", "--size", "1MiB", "--seed", "7"];
    let script = emit(&lab, "shell", &plan);
    assert_eq!(script.matches("\nhalfpower io ").count(), 4, "{script}");
    let noted = Lab::new();
    std::fs::remove_dir(noted.place()).unwrap();
    let mut command = shell(&lab, &script);
    command.env("XDG_DATA_HOME", noted.path("home")).env("sqlio_note", "it's \"new\" $(touch hacked)");
    let outcome = outcome(command);
    assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
    assert_eq!(names(&lab.place()), [""; 0], "nothing stays");
    let studied = lab.run([&["study", "run", "--no-report"], &plan[..]].concat());
    assert_eq!(studied.status, Some(0), "{}", studied.stderr);
    let (emitted, studied) = (workloads(&noted), workloads(&lab));
    assert_eq!(emitted.len(), 4);
    assert_eq!(emitted, studied, "the same work in the same order");
    let runs = noted.json(["runs", "--json"]);
    let notes: Vec<&str> = runs.as_array().unwrap().iter().map(|run| run["note"].as_str().unwrap()).collect();
    assert_eq!(notes, ["it's \"new\" $(touch hacked)"; 4]);
    assert!(!lab.path("hacked").exists() && !lab.place().join("hacked").exists());
}

#[test]
fn an_interrupted_script_removes_its_file() {
    let lab = Lab::new();
    let script = emit(&lab, "shell", &["endless.toml", "--target", "place", "--size", "1MiB"]);
    let mut command = shell(&lab, &script);
    let mut running = Running::of(command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap());
    wait_for("a sample", || !workloads(&lab).is_empty());
    assert_eq!(names(&lab.place()).len(), 1);
    let group = rustix::process::Pid::from_raw(running.pid() as i32).unwrap();
    rustix::process::kill_process_group(group, rustix::process::Signal::INT).unwrap();
    assert_eq!(running.wait().status, Some(130));
    assert_eq!(names(&lab.place()), [""; 0]);
}

#[test]
fn a_script_writes_only_what_the_plan_may_and_only_by_trials_that_write() {
    let lab = Lab::new();
    lab.write("both.toml", BOTH.as_bytes());
    let file = lab.data_file("data", 1024);
    let before = hash(&file);
    let script = emit(&lab, "shell", &["both.toml", "--target", "data"]);
    let mut commands = script.lines().filter(|line| !line.starts_with('#'));
    assert!(!commands.any(|line| line.contains("--overwrite") || line.contains("rm -f")), "{script}");
    assert_eq!(measure(&lab, &script).status, Some(0));
    assert_eq!(hash(&file), before);
    let script = emit(&lab, "shell", &["both.toml", "--target", "data", "--overwrite=data"]);
    let trials: Vec<&str> = script.lines().filter(|line| line.starts_with("halfpower io ")).collect();
    let named = format!("--overwrite={} ", file.display());
    assert_eq!(trials.len(), 4);
    assert!(trials.iter().all(|trial| trial.contains("--operation write") == trial.contains(&named)), "{script}");
    assert_eq!(measure(&lab, &script).status, Some(0));
    assert!(hash(&file) != before && file.metadata().unwrap().len() == 1 << 20);
}

#[test]
fn several_targets_are_measured_alone_and_together() {
    let lab = Lab::new();
    let study =
        crate::support::TINY.replace("[[sweep]]", "[[sweep]]\nbuffering = \"buffered\"\namong = [\"each\", \"all\"]");
    lab.write("among.toml", study.as_bytes());
    let plan = ["among.toml", "--target", "place", "--files", "2", "--size", "1MiB"];
    let script = emit(&lab, "shell", &plan);
    let outcome = measure(&lab, &script);
    assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
    assert_eq!(names(&lab.place()), [""; 0]);
    let cells = lab.json([&["plan", "--json"], &plan[..]].concat())["cells"].take();
    let targets = |workload: &Value| workload["targets"].as_u64().unwrap();
    let mut planned: Vec<u64> = cells.as_array().unwrap().iter().map(|cell| targets(&cell["workload"])).collect();
    planned.extend(planned.clone());
    planned.sort_unstable();
    let mut measured: Vec<u64> = workloads(&lab).iter().map(targets).collect();
    measured.sort_unstable();
    assert_eq!((measured.len(), measured), (12, planned));
    lab.write("job.fio", emit(&lab, "fio", &plan).as_bytes());
    if has_fio() {
        let outcome = fio(&lab, &["job.fio"]);
        assert_eq!(outcome.status, Some(0), "{}{}", outcome.stdout, outcome.stderr);
        assert_eq!(names(&lab.place()), [""; 0]);
    }
}

#[test]
fn a_file_that_is_too_small_is_enlarged_where_it_may_be_lost() {
    let lab = Lab::new();
    let file = lab.data_file("data", 64);
    let script = emit(&lab, "shell", &["tiny.toml", "--target", "data", "--size", "1MiB", "--overwrite"]);
    let outcome = measure(&lab, &script);
    assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
    assert_eq!(file.metadata().unwrap().len(), 1 << 20);
    assert_eq!(measure(&lab, &emit(&lab, "shell", &["tiny.toml", "--target", "null:"])).status, Some(0));
}

#[test]
fn a_named_file_is_made_where_there_is_none_and_never_over_another() {
    let lab = Lab::new();
    let script = emit(&lab, "shell", &["tiny.toml", "--target", "new", "--size", "1MiB"]);
    assert_eq!(measure(&lab, &script).status, Some(0));
    let made = hash(&lab.path("new"));
    assert_eq!(lab.path("new").metadata().unwrap().len(), 1 << 20, "it stays");
    let again = measure(&lab, &script);
    assert!(again.status != Some(0) && again.stdout.is_empty(), "{}", again.stderr);
    assert_eq!(hash(&lab.path("new")), made);
}

#[test]
fn a_file_with_holes_is_made_anew_or_the_study_refused() {
    let lab = Lab::new();
    let study = BOTH.replace(
        "[[sweep]]",
        "[[sweep]]\nname = \"a\"\noperation = \"write\"\nfile_state = \"append\"\nrequests = 5\n[[sweep]]",
    );
    lab.write("holes.toml", study.as_bytes());
    let script = emit(&lab, "shell", &["holes.toml", "--target", "place", "--size", "1MiB"]);
    let outcome = measure(&lab, &script);
    assert_eq!((outcome.status, workloads(&lab).len()), (Some(0), 6), "{}", outcome.stderr);
    assert_eq!(names(&lab.place()), [""; 0]);
    lab.data_file("data", 1024);
    lab.refuses(["plan", "holes.toml", "--target", "data", "--overwrite", "--emit", "shell"], 2, "name a directory");
}

#[test]
fn names_that_mean_something_to_a_shell_mean_nothing() {
    let lab = Lab::new();
    let hostile = "it's $(touch hacked) `touch hacked` \"x\"\n; touch hacked #";
    std::fs::create_dir(lab.place().join(hostile)).unwrap();
    let target = lab.place().join(hostile);
    let target = target.to_str().unwrap();
    let study =
        lab.write("study.toml", crate::support::TINY.replace("\"tiny\"", r#""a\u000atouch hacked""#).as_bytes());
    for study in [study.to_str().unwrap(), "tiny.toml"] {
        let planned = lab.run(["plan", study, "--target", target, "--size", "1MiB", "--emit", "shell"]);
        // A name with a line's end in it may be refused; it must not become a command.
        assert!(matches!(planned.status, Some(0 | 2)), "{}", planned.stderr);
        let outcome = measure(&lab, &planned.stdout);
        assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
        assert_eq!(names(Path::new(target)), [""; 0]);
    }
    assert_eq!(workloads(&lab).len() % 4, 0);
    assert!(!workloads(&lab).is_empty() && !lab.path("hacked").exists() && !lab.place().join("hacked").exists());
    lab.refuses(["plan", "tiny.toml", "--target", target, "--size", "1MiB", "--emit", "fio"], 2, "--emit shell");
}

#[test]
fn what_is_emitted_is_no_json() {
    let lab = Lab::new();
    for form in ["shell", "fio"] {
        lab.refuses(["plan", "tiny.toml", "--target", "place", "--emit", form, "--json"], 2, "leave --json out");
    }
    assert_eq!(lab.json(["plan", "tiny.toml", "--target", "place", "--json"])["schema"], "halfpower.plan/1");
    let outcome = lab.run(["plan", "tiny.toml", "--target", "place", "--emit", "batch"]);
    assert!(outcome.status == Some(2) && outcome.stderr.contains("[possible values: table, shell, fio]"));
}

#[test]
fn a_plug_in_is_emitted_only_where_the_user_named_it() {
    let lab = Lab::new();
    let study = crate::support::TINY.replace("[[sweep]]", "[[sweep]]\npersonality = \"plugin:./own.so\"");
    lab.write("plugin.toml", study.as_bytes());
    let outcome = lab.run(["plan", "plugin.toml", "--target", "place", "--emit", "shell"]);
    assert_refusal(&outcome, 2, "--plugin ./own.so", "a study that loads a plug-in");
}

#[test]
fn a_note_comes_from_the_environment_where_none_is_said() {
    let lab = Lab::new();
    for (variables, said, expected) in [
        (&[][..], &[][..], None),
        (&[("sqlio_note", "old")], &[], Some("old")),
        (&[("sqlio_note", "old"), ("HALFPOWER_NOTE", "")], &[], Some("old")),
        (&[("sqlio_note", "old"), ("HALFPOWER_NOTE", "new")], &[], Some("new")),
        (&[("HALFPOWER_NOTE", "new")], &["--note=said"], Some("said")),
        (&[("HALFPOWER_NOTE", "new")], &["--note="], None),
    ] {
        let mut command = lab.command([&["io", "null:", "--requests=10", "--json"], said].concat());
        command.envs(variables.iter().copied());
        let record: Value = serde_json::from_str(&outcome(command).stdout).unwrap();
        assert_eq!(record["note"].as_str(), expected, "{variables:?} {said:?}");
    }
    let mut study = lab.command(["study", "run", "tiny.toml", "--target", "null:", "--no-report"]);
    study.env("HALFPOWER_NOTE", "a study");
    assert_eq!(outcome(study).status, Some(0));
    let runs = lab.json(["runs", "--json"]);
    assert!(runs.as_array().unwrap().iter().any(|run| run["note"] == "a study"), "{runs}");
}

/// Whether fio is here; says so when not.
fn has_fio() -> bool {
    let here = tool("fio", &["--version".as_ref()]);
    if !here {
        skip("there is no fio");
    }
    here
}

fn fio(lab: &Lab, arguments: &[&str]) -> Outcome {
    let mut command = Command::new("fio");
    command.args(arguments).current_dir(lab.path("")).stdin(Stdio::null());
    outcome(command)
}

#[test]
fn fio_takes_the_job_of_every_study() {
    let lab = Lab::new();
    lab.write("many.toml", MANY.as_bytes());
    for study in ["survey-quick", "survey", "survey-thorough", "many.toml"] {
        let job = emit(&lab, "fio", &[study, "--target", "place", "--size", "64MiB"]);
        assert!(job.contains("\n[block-0-cell-0]\nstonewall\n"), "{job}");
        lab.write("job.fio", job.as_bytes());
        if has_fio() {
            let parsed = fio(&lab, &["--parse-only", "job.fio"]);
            assert!(
                parsed.status == Some(0) && parsed.stderr.is_empty(),
                "{study}: {}{}",
                parsed.stdout,
                parsed.stderr
            );
        }
    }
    assert_eq!(names(&lab.place()), [""; 0]);
}

#[test]
fn fio_is_told_what_it_has_words_for_and_the_reader_what_it_has_not() {
    let lab = Lab::new();
    lab.write("many.toml", MANY.as_bytes());
    let job = emit(&lab, "fio", &["many.toml", "--target", "place", "--size", "4MiB"]);
    for setting in [
        "rw=rw",
        "rwmixread=70",
        "rw=randrw",
        "norandommap=1",
        "norandommap=0",
        "random_distribution=zipf:0.99",
        "random_distribution=pareto:0.2",
        "random_distribution=zoned:80/20:20/80",
        "bssplit=4096/70:65536/30",
        "offset=65536",
        "buffer_compress_percentage=60",
        "dedupe_percentage=30",
        "zero_buffers=1",
        "buffer_pattern=0xc0ffee",
        "end_fsync=1",
        "fsync=5",
        "fdatasync=3",
        "sync=dsync",
        "invalidate=1",
        "pre_read=1",
        "verify=crc32c",
        "numjobs=2",
        "thread=0",
        "rate_iops=500",
        "rate_iops=250,250",
        "rate_process=poisson",
        "cpus_allowed=0",
        "runtime=20000us",
        "ramp_time=1000us",
        "time_based=1",
        "number_ios=20",
        "iodepth_batch=1",
        "ioengine=libaio",
        "ioengine=psync",
        "ioengine=pvsync2",
        "unlink=0",
    ] {
        // Some go with direct I/O and rings, which not every place has.
        assert!(job.lines().any(|line| line.starts_with(setting)) || !lab.has_direct_ring(), "{setting}: {job}");
    }
    let left_out: Vec<&str> = job.lines().filter(|line| line.starts_with("# Left out, as ")).collect();
    for (reason, words) in [
        ("never comes to the last place", "reverse"),
        ("an exponent of 1", "zipf=1"),
        ("normal distribution", "normal=0.1"),
        ("whole percents", "4KiB:1/64KiB:2"),
        ("into a state", "append"),
    ] {
        assert!(left_out.iter().any(|line| line.contains(reason) && line.contains(words)), "{reason}: {left_out:?}");
    }
    let sections = job.lines().filter(|line| line.starts_with("[block-")).count();
    let cells = lab.json(["plan", "many.toml", "--target", "place", "--size", "4MiB", "--json"])["cells"]
        .as_array()
        .unwrap()
        .len();
    assert_eq!(sections + left_out.len(), cells);
}

#[test]
fn fio_does_the_work_of_the_plan_and_leaves_nothing() {
    let lab = Lab::new();
    if !has_fio() {
        return;
    }
    // A colon would name another file, and spaces are kept.
    std::fs::create_dir(lab.place().join("a:b c")).unwrap();
    lab.write("both.toml", BOTH.as_bytes());
    let plan = ["plan", "--emit", "fio", "both.toml", "--target", "place/a:b c", "--size", "1MiB"];
    let mut plan = lab.command(plan);
    plan.env("sqlio_note", "old firmware");
    lab.write("job.fio", outcome(plan).stdout.as_bytes());
    let outcome = fio(&lab, &["--output-format=json", "job.fio"]);
    assert_eq!(outcome.status, Some(0), "{}{}", outcome.stdout, outcome.stderr);
    let results: Value = serde_json::from_str(&outcome.stdout[outcome.stdout.find('{').unwrap()..]).unwrap();
    assert_eq!(results["global options"]["description"], "old firmware");
    let done = |job: &Value| (job["read"]["total_ios"].as_u64().unwrap(), job["write"]["total_ios"].as_u64().unwrap());
    let mut done: Vec<(u64, u64)> = results["jobs"].as_array().unwrap().iter().map(done).collect();
    assert_eq!(done.pop(), Some((1, 0)), "what removes the file");
    done.sort_unstable();
    assert_eq!(done, [(0, 20), (0, 20), (20, 0), (20, 0)]);
    assert_eq!(names(&lab.place()), ["a:b c"]);
    assert_eq!(names(&lab.place().join("a:b c")), [""; 0]);
}

#[test]
fn fio_reads_a_file_that_is_there_and_changes_nothing() {
    let lab = Lab::new();
    let file = lab.data_file("data", 1024);
    let before = hash(&file);
    let job = emit(&lab, "fio", &["tiny.toml", "--target", "data"]);
    assert!(job.contains("\nallow_file_create=0\n") && !job.contains("unlink=1"), "{job}");
    lab.write("job.fio", job.as_bytes());
    if has_fio() {
        let outcome = fio(&lab, &["job.fio"]);
        assert_eq!(outcome.status, Some(0), "{}{}", outcome.stdout, outcome.stderr);
        assert_eq!(hash(&file), before);
    }
}
