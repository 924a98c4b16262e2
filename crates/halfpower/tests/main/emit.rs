//! Emitted plans: scripts that measure the same trials, and job files for fio. Only named files are touched.

use crate::support::{Lab, Outcome, Running, Words, hash, names, outcome, skip, tool, wait_for};
use serde_json::Value;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

fn emit(lab: &Lab, form: &str, words: impl Words) -> String {
    lab.ok((format!("plan --emit {form}"), words)).stdout
}

/// The shell with an emitted script, in its own process group.
fn shell(lab: &Lab, script: &str) -> Command {
    lab.write("emitted.sh", script);
    let mut command = lab.program("sh", "emitted.sh");
    command.process_group(0);
    command
}

/// Runs an emitted script, which must succeed.
fn measure(lab: &Lab, script: &str) {
    outcome(shell(lab, script)).ended(0, "");
}

/// The workload of each sample, by run and time.
fn workloads(lab: &Lab) -> Vec<Value> {
    lab.records().into_iter().map(|mut record| record["workload"].take()).collect()
}

#[test]
fn a_script_measures_what_the_study_would_with_the_note() {
    let lab = Lab::new();
    let plan = "both.toml --target place --size 1MiB --seed 7";
    let script = emit(&lab, "shell", plan);
    assert_eq!(script.matches("\nhalfpower io ").count(), 4, "{script}");
    let noted = Lab::new();
    let note = "it's \"new\" $(touch hacked)";
    let mut command = shell(&lab, &script);
    command.env("XDG_DATA_HOME", noted.path("home")).env("sqlio_note", note);
    outcome(command).ended(0, "");
    assert_eq!(names(&lab.place()), [""; 0], "nothing stays");
    lab.ok(("study run --no-report", plan));
    let (emitted, studied) = (workloads(&noted), workloads(&lab));
    assert_eq!((emitted.len(), emitted), (4, studied), "the same work in the same order");
    let runs = noted.json("runs");
    assert!(runs.as_array().unwrap().iter().all(|run| run["note"] == note), "{runs}");
    assert!(!lab.path("hacked").exists() && !lab.place().join("hacked").exists());
}

#[test]
fn an_interrupted_script_removes_its_file() {
    let lab = Lab::new();
    let script = emit(&lab, "shell", "endless.toml --target place --size 1MiB");
    let mut running = Running::of(shell(&lab, &script).stdout(Stdio::null()));
    wait_for("a sample", || !lab.records().is_empty());
    assert_eq!(names(&lab.place()).len(), 1);
    let group = rustix::process::Pid::from_raw(running.pid() as i32).unwrap();
    rustix::process::kill_process_group(group, rustix::process::Signal::INT).unwrap();
    running.wait().ended(130, "");
    assert_eq!(names(&lab.place()), [""; 0]);
}

#[test]
fn a_script_writes_only_what_the_plan_may_and_only_by_trials_that_write() {
    let lab = Lab::new();
    let file = lab.data_file("data", 1024);
    let before = hash(&file);
    let script = emit(&lab, "shell", "both.toml --target data");
    let mut commands = script.lines().filter(|line| !line.starts_with('#'));
    assert!(!commands.any(|line| line.contains("--overwrite") || line.contains("rm -f")), "{script}");
    measure(&lab, &script);
    assert_eq!(hash(&file), before);
    let script = emit(&lab, "shell", "both.toml --target data --overwrite=data");
    let trials: Vec<&str> = script.lines().filter(|line| line.starts_with("halfpower io ")).collect();
    let named = format!("--overwrite={} ", file.display());
    assert_eq!(trials.len(), 4);
    assert!(trials.iter().all(|trial| trial.contains("--operation write") == trial.contains(&named)), "{script}");
    measure(&lab, &script);
    assert!(hash(&file) != before && file.metadata().unwrap().len() == 1 << 20);
    // One that is too small is enlarged where it may be lost.
    let small = lab.data_file("small", 64);
    measure(&lab, &emit(&lab, "shell", "tiny.toml --target small --size 1MiB --overwrite"));
    assert_eq!(small.metadata().unwrap().len(), 1 << 20);
    measure(&lab, &emit(&lab, "shell", "tiny.toml --target null:"));
    // A missing named file is created and stays; an existing one is not replaced.
    let script = emit(&lab, "shell", "tiny.toml --target new --size 1MiB");
    measure(&lab, &script);
    let made = hash(&lab.path("new"));
    assert_eq!(lab.path("new").metadata().unwrap().len(), 1 << 20);
    let again = outcome(shell(&lab, &script));
    assert!(again.status != Some(0) && again.stdout.is_empty(), "{}", again.stderr);
    assert_eq!(hash(&lab.path("new")), made);
}

#[test]
fn several_targets_are_measured_alone_and_together() {
    let lab = Lab::new();
    let sweep = "[[sweep]]\nbuffering = \"buffered\"\namong = [\"each\", \"all\"]";
    lab.write("among.toml", lab.read("tiny.toml").replace("[[sweep]]", sweep));
    let plan = "among.toml --target place --files 2 --size 1MiB";
    measure(&lab, &emit(&lab, "shell", plan));
    assert_eq!(names(&lab.place()), [""; 0]);
    let cells = lab.json(("plan", plan))["cells"].take();
    let targets = |workload: &Value| workload["targets"].as_u64().unwrap();
    let mut planned: Vec<u64> = cells.as_array().unwrap().iter().map(|cell| targets(&cell["workload"])).collect();
    planned.extend(planned.clone());
    planned.sort_unstable();
    let mut measured: Vec<u64> = workloads(&lab).iter().map(targets).collect();
    measured.sort_unstable();
    assert_eq!((measured.len(), measured), (12, planned));
    fio(&lab, &emit(&lab, "fio", plan), "");
    assert_eq!(names(&lab.place()), [""; 0]);
}

#[test]
fn a_file_with_holes_is_made_anew_or_the_study_refused() {
    let lab = Lab::new();
    let first = "[[sweep]]\nname = \"a\"\noperation = \"write\"\nfile_state = \"append\"\nrequests = 5\n[[sweep]]";
    lab.write("holes.toml", lab.read("both.toml").replace("[[sweep]]", first));
    measure(&lab, &emit(&lab, "shell", "holes.toml --target place --size 1MiB"));
    assert_eq!((lab.records().len(), names(&lab.place())), (6, vec![]));
    lab.data_file("data", 1024);
    lab.refuses("plan holes.toml --target data --overwrite --emit shell", 2, "name a directory");
}

#[test]
fn names_that_mean_something_to_a_shell_mean_nothing() {
    let lab = Lab::new();
    let hostile = "it's $(touch hacked) `touch hacked` \"x\"\n; touch hacked #";
    let target = lab.directory(lab.place().join(hostile));
    let plan = |study: &str, form: &str| {
        ["plan", study, "--target", target.to_str().unwrap(), "--size", "1MiB", "--emit", form].map(str::to_owned)
    };
    lab.write("study.toml", lab.read("tiny.toml").replace("\"tiny\"", r#""a\u000atouch hacked""#));
    for study in ["study.toml", "tiny.toml"] {
        let planned = lab.run(plan(study, "shell"));
        // A name with a line's end in it may be refused; it must not become a command.
        assert!(matches!(planned.status, Some(0 | 2)), "{}", planned.stderr);
        measure(&lab, &planned.stdout);
        assert_eq!(names(&target), [""; 0]);
    }
    let count = lab.records().len();
    assert!(
        count > 0 && count.is_multiple_of(4) && !lab.path("hacked").exists() && !lab.place().join("hacked").exists()
    );
    lab.refuses(plan("tiny.toml", "fio"), 2, "--emit shell");
    for form in ["shell", "fio"] {
        lab.refuses(format!("plan tiny.toml --target place --emit {form} --json"), 2, "leave --json out");
    }
    lab.ends("plan tiny.toml --target place --emit batch", 2, "[possible values: table, shell, fio]");
}

#[test]
fn a_note_comes_from_the_environment_where_none_is_said() {
    let lab = Lab::new();
    for (variables, option, expected) in [
        (&[][..], "", None),
        (&[("sqlio_note", "old")], "", Some("old")),
        (&[("sqlio_note", "old"), ("HALFPOWER_NOTE", "")], "", Some("old")),
        (&[("sqlio_note", "old"), ("HALFPOWER_NOTE", "new")], "", Some("new")),
        (&[("HALFPOWER_NOTE", "new")], "--note=said", Some("said")),
        (&[("HALFPOWER_NOTE", "new")], "--note=", None),
    ] {
        let mut command = lab.command(("io null: --requests=10 --json", option));
        command.envs(variables.iter().copied());
        assert_eq!(outcome(command).document()["note"].as_str(), expected, "{variables:?} {option}");
    }
    let mut study = lab.command("study run tiny.toml --target null: --no-report");
    study.env("HALFPOWER_NOTE", "a study");
    outcome(study).ended(0, "");
    let runs = lab.json("runs");
    assert!(runs.as_array().unwrap().iter().any(|run| run["note"] == "a study"), "{runs}");
}

/// Runs fio on a job, which must succeed; nothing where there is no fio; prints the reason.
fn fio(lab: &Lab, job: &str, options: &str) -> Option<Outcome> {
    if !tool("fio", "--version") {
        skip("there is no fio");
        return None;
    }
    lab.write("job.fio", job);
    Some(outcome(lab.program("fio", (options, "job.fio"))).ended(0, ""))
}

#[test]
fn fio_takes_the_job_of_every_study_with_what_it_has_words_for() {
    let lab = Lab::new();
    for study in ["survey-quick", "survey", "survey-thorough", "many.toml"] {
        let job = emit(&lab, "fio", format!("{study} --target place --size 64MiB"));
        assert!(job.contains("\n[block-0-cell-0]\nstonewall\n"), "{job}");
        if let Some(parsed) = fio(&lab, &job, "--parse-only") {
            assert_eq!(parsed.stderr, "", "{study}");
        }
    }
    assert_eq!(names(&lab.place()), [""; 0]);
    let job = emit(&lab, "fio", "many.toml --target place --size 4MiB");
    let settings = "rw=rw rwmixread=70 rw=randrw norandommap=1 norandommap=0 random_distribution=zipf:0.99 \
        random_distribution=pareto:0.2 random_distribution=zoned:80/20:20/80 bssplit=4096/70:65536/30 \
        offset=65536 buffer_compress_percentage=60 dedupe_percentage=30 zero_buffers=1 \
        buffer_pattern=0xc0ffee end_fsync=1 fsync=5 fdatasync=3 sync=dsync invalidate=1 pre_read=1 \
        verify=crc32c numjobs=2 thread=0 rate_iops=500 rate_iops=250,250 rate_process=poisson \
        cpus_allowed=0 runtime=20000us ramp_time=1000us time_based=1 number_ios=20 \
        ioengine=libaio ioengine=psync ioengine=pvsync2 unlink=0";
    for setting in settings.split(' ') {
        // Some go with direct I/O and rings, which not every place has.
        assert!(job.lines().any(|line| line.starts_with(setting)) || !lab.has_direct_ring(), "{setting}: {job}");
    }
    let left_out: Vec<&str> = job.lines().filter(|line| line.starts_with("# Left out, as ")).collect();
    for (reason, words) in [
        ("never reaches the last place", "reverse"),
        ("an exponent of 1", "zipf=1"),
        ("normal distribution", "normal=0.1"),
        ("whole percents", "4KiB:1/64KiB:2"),
        ("into a state", "new file"),
    ] {
        assert!(left_out.iter().any(|line| line.contains(reason) && line.contains(words)), "{reason}: {left_out:?}");
    }
    let sections = job.lines().filter(|line| line.starts_with("[block-")).count();
    let cells = lab.json("plan many.toml --target place --size 4MiB")["cells"].take();
    assert_eq!(sections + left_out.len(), cells.as_array().unwrap().len());
}

#[test]
fn fio_does_the_work_of_the_plan_and_leaves_nothing() {
    let lab = Lab::new();
    // A colon would name another file, and spaces are kept.
    lab.directory("place/a:b c");
    let mut plan = lab.command(("plan --emit fio both.toml --size 1MiB --target", ["place/a:b c"]));
    plan.env("sqlio_note", "old firmware");
    let Some(outcome) = fio(&lab, &outcome(plan).stdout, "--output-format=json") else { return };
    let results: Value = serde_json::from_str(&outcome.stdout[outcome.stdout.find('{').unwrap()..]).unwrap();
    assert_eq!(results["global options"]["description"], "old firmware");
    let done = |job: &Value| (job["read"]["total_ios"].as_u64().unwrap(), job["write"]["total_ios"].as_u64().unwrap());
    let mut done: Vec<(u64, u64)> = results["jobs"].as_array().unwrap().iter().map(done).collect();
    assert_eq!(done.pop(), Some((1, 0)), "what removes the file");
    done.sort_unstable();
    assert_eq!(done, [(0, 20), (0, 20), (20, 0), (20, 0)]);
    assert_eq!(names(&lab.place()), ["a:b c"]);
    assert_eq!(names(&lab.place().join("a:b c")), [""; 0]);
    // A file that is there is read and stays as it is.
    let file = lab.data_file("data", 1024);
    let before = hash(&file);
    let job = emit(&lab, "fio", "tiny.toml --target data");
    assert!(job.contains("\nallow_file_create=0\n") && !job.contains("unlink=1"), "{job}");
    fio(&lab, &job, "");
    assert_eq!(hash(&file), before);
}
