//! Several processes by MPI: one result, each process in it, and failures by name. Needs an MPI with its compiler.

use super::support::*;
use serde_json::Value;
use std::process::{Command, Stdio};

/// The launcher with this many processes of the program; none, with a message, where there is no MPI.
fn mpirun(lab: &Lab, count: u32, words: &str) -> Option<Outcome> {
    let (source, shim) = (lab.path("halfpower_mpi.c"), lab.path("halfpower_mpi.so"));
    if !shim.exists() {
        std::fs::write(&source, lab.ok("mpi").stdout).unwrap();
        let mut compiler = Command::new("mpicc");
        compiler.args(["-shared", "-fPIC", "-O2", "-Wall", "-Werror", "-o"]).arg(&shim).arg(source);
        if !compiler.stdout(Stdio::null()).status().is_ok_and(|status| status.success()) {
            skip("there is no mpicc that builds the shim");
            return None;
        }
    }
    let mut words: Vec<String> = words.split(' ').map(str::to_owned).collect();
    words.splice(0..0, ["-n".to_owned(), count.to_string(), PROGRAM.to_owned()]);
    let mut command = lab.program("mpirun", words);
    command.env("HALFPOWER_MPI", shim).env("OMPI_ALLOW_RUN_AS_ROOT", "1").env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
    // More processes than cores, to Open MPI 4 and 5.
    command
        .env("OMPI_MCA_rmaps_base_oversubscribe", "1")
        .env("PRTE_MCA_rmaps_default_mapping_policy", ":oversubscribe");
    Some(outcome(command))
}

fn ranks(sample: &Value) -> &Vec<Value> {
    sample["ranks"].as_array().unwrap()
}

#[test]
fn processes_that_measure_together_make_one_sample() {
    let lab = Lab::new();
    let words = "io file-{rank} --size=4MiB --op=write --buffering=buffered --request-size=4KiB --requests=300 --json";
    let Some(run) = mpirun(&lab, 3, words) else { return };
    let sample = run.ended(0, "").document();
    assert_eq!((&sample["total"]["requests"], &sample["workload"]["workers"]), (&900.into(), &3.into()));
    let of_each: Vec<_> = ranks(&sample).iter().map(|rank| (&rank["rank"], &rank["total"]["requests"])).collect();
    let [zero, one, two, requests] = [0, 1, 2, 300].map(Value::from);
    assert_eq!(of_each, [(&zero, &requests), (&one, &requests), (&two, &requests)]);
    for rank in ranks(&sample).iter().skip(1) {
        // Of one host, but for the length of a tick, which each process measures anew.
        let [offset, bound] = ["offset_s", "offset_bound_s"].map(|key| rank[key].as_f64().unwrap());
        assert!(bound > 0.0 && offset.abs() < 1.0, "{rank}");
    }
    assert_eq!(lab.runs(), [(1, "complete".to_owned())]);
    for rank in 0..3 {
        assert_eq!(std::fs::metadata(lab.path(format!("file-{rank}"))).unwrap().len(), 4 << 20);
    }
    assert!(lab.ok("runs show 1").stdout.contains("3 processes on 1 host"), "{}", lab.ok("runs show 1").stdout);
}

#[test]
fn processes_share_one_file_as_workers_do_in_parts_and_interleaved() {
    let lab = Lab::new();
    for (run, sharing) in [(1, "parts"), (3, "interleaved")] {
        let words = format!(
            "io shared --size=6MiB --op=write --overwrite --request-size=64KiB --requests=32 --verify=stamp --sharing={sharing} \
             --json"
        );
        let Some(done) = mpirun(&lab, 3, &words) else { return };
        let sample = done.ended(0, "").document();
        assert_eq!((&sample["workload"]["workers"], &sample["workload"]["sharing"]), (&3.into(), &sharing.into()));
        assert_eq!((&sample["total"]["requests"], &sample["workload"]["part_of"]), (&96.into(), &Value::Null));
        // Each of the 96 places was written once, by the worker whose it is.
        let verified = lab.json(&format!("io shared --verify-run={run}")[..]);
        assert_eq!(
            (&verified["verified"]["wrong"], &verified["total"]["bytes"]),
            (&0.into(), &(6 << 20).into()),
            "{verified}"
        );
    }
    for (words, reason) in [
        ("--verify=read-back --pattern=random", "each process verifies its own data"),
        ("--sharing=cursor", "use sharing interleaved"),
        ("--request-size=4MiB", "1 place for 3 workers"),
    ] {
        let words = format!("io shared --op=write --overwrite --requests=9 {words}");
        let done = mpirun(&lab, 3, &words).unwrap();
        assert!(done.status != Some(0) && done.stderr.contains(reason), "{words}: {}", done.stderr);
    }
}

#[test]
fn a_study_of_several_processes_is_one_run_and_leaves_no_test_file() {
    let lab = Lab::new();
    lab.write(
        "study.toml",
        "name = \"two\"\n[target]\nsize = \"4MiB\"\n[trial]\nduration = \"50ms\"\nwarmup = \"10ms\"\nrepetitions = 2\n\
         [[sweep]]\nname = \"reads\"\nrequest_size = [\"4KiB\", \"64KiB\"]\nbuffering = \"buffered\"\ncache = \"warm\"\n",
    );
    (0..2).for_each(|rank| drop(lab.directory(format!("place-{rank}"))));
    let Some(run) = mpirun(&lab, 2, "study run study.toml --target place-{rank} --no-report") else { return };
    run.ended(0, "");
    let samples = lab.records();
    assert_eq!((lab.runs(), samples.len()), (vec![(1, "complete".to_owned())], 4));
    assert!(samples.iter().all(|sample| ranks(sample).len() == 2));
    (0..2).for_each(|rank| assert_eq!(std::fs::read_dir(lab.path(format!("place-{rank}"))).unwrap().count(), 0));
    lab.refuses("study repeat 1 --no-report", 2, "mpirun -n 2 halfpower");
}

#[test]
fn a_rank_that_cannot_measure_is_named_and_nothing_hangs() {
    let lab = Lab::new();
    lab.data_file("file-0", 64);
    let Some(run) = mpirun(&lab, 2, "io file-{rank} --requests=9") else { return };
    assert!(run.status != Some(0) && run.stderr.contains("rank 1: file-1 does not exist"), "{}", run.stderr);
    let wrong = mpirun(&lab, 2, "io --no-such-option").unwrap();
    assert!(wrong.status != Some(0), "{}", wrong.stderr);
    let alone = mpirun(&lab, 2, "memory --no-store").unwrap();
    assert!(alone.stderr.contains("start this one alone"), "{}", alone.stderr);
}

#[test]
fn a_smaller_file_of_another_rank_is_not_extended() {
    let lab = Lab::new();
    lab.data_file("file-0", 4096);
    lab.data_file("file-1", 1024);
    let Some(run) = mpirun(&lab, 2, "io file-{rank} --op=write --overwrite --bytes=4MiB") else { return };
    let why = "rank 1: file-1 has 1 MiB, and rank 0 measures 4 MiB; give --size";
    assert!(run.status != Some(0) && run.stderr.contains(why), "{}", run.stderr);
    assert_eq!(std::fs::metadata(lab.path("file-1")).unwrap().len(), 1 << 20);
    mpirun(&lab, 2, "io file-{rank} --op=write --overwrite --size=1MiB").unwrap().ended(0, "");
}

#[test]
fn processes_of_different_commands_are_refused() {
    let lab = Lab::new();
    lab.directory("a");
    lab.directory("b");
    let one = |first: &str, second: &str| mpirun(&lab, 1, &format!("{first} : -n 1 {PROGRAM} {second}"));
    let Some(other) = one("io a --size=1MiB --requests=9", "io a --size=1MiB --requests=8") else { return };
    let why = "rank 1: its command line has --requests=8 where rank 0 has --requests=9; start all with one command";
    assert!(other.status != Some(0) && other.stderr.contains(why), "{}", other.stderr);
    let other = one("files a --files=9", "io a --size=1MiB").unwrap();
    assert!(other.status != Some(0) && other.stderr.contains("has io where rank 0 has files"), "{}", other.stderr);
    one("io ./a --size=1MiB --requests=9", "io ./b --size=1MiB --requests=9").unwrap().ended(0, "");
}

#[test]
fn each_process_replays_the_trace_on_its_own_target() {
    let lab = Lab::new();
    let row = |number: u64| {
        let (at, offset) = (128_166_372_003_061_629 + number * 1000, number * 4096 * 7 % (1 << 20));
        format!("{at},host,0,{},{offset},4096,100\n", if number.is_multiple_of(3) { "Write" } else { "Read" })
    };
    lab.write("own.csv", (0..60).map(row).collect::<String>());
    let Some(run) = mpirun(&lab, 2, "replay own.csv file-{rank} --size=1MiB --json") else { return };
    let sample = run.ended(0, "").document();
    let of_each: Vec<_> = ranks(&sample).iter().map(|rank| &rank["total"]["requests"]).collect();
    assert_eq!((&sample["read"]["requests"], &of_each[..]), (&80.into(), &[&60.into(), &60.into()][..]));
    let shared = mpirun(&lab, 2, "replay own.csv file-0 --overwrite").unwrap();
    assert!(shared.status != Some(0) && shared.stderr.contains("replays the whole trace"), "{}", shared.stderr);
}

#[test]
fn processes_make_small_files_together_and_leave_none() {
    let lab = Lab::new();
    let words = "files place --files=30 --per-directory=8 --workers=2 --repetitions=2 --json";
    let Some(run) = mpirun(&lab, 3, words) else { return };
    let reading = run.ended(0, "").document();
    let figures = &reading["figures"];
    assert_eq!((figures["hosts"].as_array().unwrap().len(), figures["runs"].as_array().unwrap().len()), (3, 8));
    for phase in figures["runs"].as_array().unwrap() {
        assert_eq!(
            (&phase["files"], phase["worker_files_per_s"].as_array().unwrap().len()),
            (&90.into(), 6),
            "{phase}"
        );
    }
    assert_eq!((lab.runs(), names(&lab.place())), (vec![(1, "complete".to_owned())], Vec::new()));
    assert!(lab.ok("runs show 1").stdout.contains("2 workers in each of 3 processes on 1 host"));
    // What one rank cannot do, all are told.
    lab.write("place-1", "no directory");
    (0..3).step_by(2).for_each(|rank| drop(lab.directory(format!("place-{rank}"))));
    let failed = mpirun(&lab, 3, "files place-{rank} --files=30").unwrap();
    assert!(failed.status != Some(0) && failed.stderr.contains("place-1 is no directory"), "{}", failed.stderr);
    (0..3).step_by(2).for_each(|rank| assert_eq!(names(&lab.path(format!("place-{rank}"))), [""; 0]));
}
