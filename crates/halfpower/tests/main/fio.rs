//! fio's job files by the command.

use crate::support::Lab;
use serde_json::Value;

const JOBS: &str = "\
[global]
size=1m
bs=4k
[both]
rw=randread
numjobs=2
group_reporting
[later]
stonewall
rw=write
filename=kept
";

#[test]
fn a_job_file_runs_in_stages_and_its_files_are_removed() {
    let lab = Lab::new();
    lab.write("a.fio", JOBS.replace("kept", "new"));
    let text = lab.ok("fio a.fio").stdout;
    assert!(text.contains("both: shuffled read, 4 KiB, QD1 × 2 workers, buffered"), "{text}");
    assert!(text.contains("later: sequential write, 4 KiB, QD1, buffered"), "{text}");
    assert!(!lab.path("new").exists() && !lab.path("both.0.0").exists());
    let document = lab.json("runs show 1");
    assert_eq!((&document["samples"], &document["status"]), (&2.into(), &"complete".into()), "{document}");
    let exported = lab.ok("export 1").stdout;
    let requests = |line: &str| serde_json::from_str::<serde_json::Value>(line).unwrap()["total"]["requests"].clone();
    // Each clone reads each place once.
    assert_eq!(exported.lines().map(requests).collect::<Vec<_>>(), [512, 256]);

    assert!(lab.ok("fio a.fio --section=both --output-format=json,terse").stdout.ends_with("%\n"));
    lab.refuses("fio --readonly a.fio", 2, "a.fio:10: rw=write writes, and --readonly forbids it");
    // Clones that fio reports apart are one sample, too; jobs that do something else are named.
    lab.ok("fio --size=1m --name=c --rw=randread --numjobs=2 --name=d --rw=read");
    let exported: Vec<serde_json::Value> =
        lab.ok("export 3").stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let of = |sample: &serde_json::Value| (sample["total"]["requests"].clone(), sample["workload"]["workers"].clone());
    assert_eq!(exported.iter().map(of).collect::<Vec<_>>(), [(512.into(), 2.into()), (256.into(), 1.into())]);
    assert!(exported[0]["warnings"].to_string().contains("2 jobs ran at the same time"), "{}", exported[0]["warnings"]);
    let json = lab.ok("fio a.fio --section=later --output-format=json").stdout;
    assert!(json.contains("\"fio version\": \"halfpower-"), "{json}");
    lab.write("again.json", json);
    assert_eq!(lab.json("import again.json")["samples"], 1);
    // One document, as fio writes it, also of jobs with several sizes and of unlike jobs in a group.
    let job =
        "fio --group_reporting --size=64k --output-format=json --name=a --bs=4k,8k --rw=randrw --name=b --rw=read";
    let document: serde_json::Value = serde_json::from_str(&lab.ok(job).stdout).unwrap();
    let [together] = &document["jobs"].as_array().unwrap()[..] else { panic!("one group: {document}") };
    assert_eq!((&together["jobname"], &together["job options"]["bs"]), (&"a".into(), &"4k,8k".into()));
    assert!(together["read"]["clat_ns"]["N"].as_u64() > Some(16), "{together}");
}

#[test]
fn jobs_are_planned_and_become_a_study() {
    let lab = Lab::new();
    lab.write("a.fio", JOBS);
    let plan = lab.ok("plan a.fio").stdout;
    assert!(plan.contains("stage 1, both: shuffled read, 4 KiB, QD1, buffered, 1 MiB, on "), "{plan}");
    let planned = lab.json("plan a.fio");
    assert_eq!((&planned[2]["stage"], &planned[2]["workload"]["limits"]["bytes"]), (&2.into(), &(1 << 20).into()));
    lab.refuses("plan a.fio --emit fio", 2, "make a study of them with `halfpower study from a.fio`");
    lab.ok("study from a.fio --output a.toml");
    let study = lab.read("a.toml");
    assert!(study.contains("[[sweep]]\nname = \"both\"\n") && study.contains("workers = 2"), "{study}");
    // A simulated machine drops its cache once.
    assert!(study.contains("cache = \"cold\"\n"), "{study}");
    let plan = lab.ok("plan a.toml --target sim:nvme-gen4:steady").stdout;
    assert!(plan.contains("sequential write, 4 KiB"), "{plan}");
    lab.ends("study check a.toml", 0, "");
}

#[test]
fn results_are_printed_as_fio_prints_them() {
    let lab = Lab::new();
    let job =
        |form: &str| lab.ok(format!("fio --output-format={form} --name=a --size=8m --bs=4k --rw=randread")).stdout;
    let terse = job("terse");
    let fields: Vec<&str> = terse.trim_end().split(';').collect();
    // As many as of fio 3.33, without its disks.
    assert_eq!((fields.len(), fields[0], fields[2], fields[5]), (121, "3", "a", "8192"), "{terse}");
    assert!(fields[29].starts_with("99.000000%="), "{terse}");
    let normal = job("normal");
    assert!(normal.contains("a: (groupid=0, jobs=1): err= 0:") && normal.contains("  read: IOPS="), "{normal}");
    assert!(normal.contains("issued rwts: total=2048,0,0,0 short=0,0,0,0"), "{normal}");
    assert!(normal.contains("   READ: bw=") && normal.contains("io=8MiB (8.39MB)"), "{normal}");
    // Both come back.
    for (name, text) in [("terse.txt", &terse), ("normal.txt", &normal)] {
        lab.write(name, text);
        assert_eq!(lab.json(format!("import {name}"))["samples"], 1);
    }
    let again = lab.ok("export 4").stdout;
    assert!(again.contains(r#""pattern":"shuffled""#) && again.contains(r#""requests":2048"#), "{again}");
}

#[test]
fn logs_have_an_average_for_each_interval_and_a_job_pauses() {
    let lab = Lab::new();
    // 25 requests with 20 ms after each.
    lab.ok(
        "fio --name=a --size=1m --rw=randread --number_ios=25 --thinktime=20000 --write_iops_log=l --log_avg_msec=100",
    );
    let log = lab.read("l_iops.1.log");
    let ends_ms: Vec<u64> = log.lines().map(|line| line.split(", ").next().unwrap().parse().unwrap()).collect();
    assert!(ends_ms.len() >= 4 && ends_ms.last() >= Some(&480), "{log}");
    // Of each clone, and of reads and writes apart.
    lab.ok("fio --name=a --size=1m --rw=randrw --numjobs=2 --group_reporting --write_lat_log=m");
    for name in ["m_lat.1.log", "m_clat.2.log"] {
        let log = lab.read(name);
        let kinds: Vec<&str> =
            log.lines().filter_map(|line| line.split_once(", ")?.1.split_once(", ")).map(|(_, rest)| rest).collect();
        assert_eq!(kinds, ["0, 0, 0", "1, 0, 0"], "{log}");
    }
    lab.refuses("fio --name=a --size=1m --write_bw_log=none/l", 1, "cannot make l_bw.1.log in none");
    assert!(!lab.path("a.0.0").exists(), "made before the refusal");
}

#[test]
fn a_job_that_ends_all_leaves_no_later_stage() {
    let lab = Lab::new();
    let jobs = "[global]\nsize=1m\nexitall\n[long]\nrw=randread\ntime_based\nruntime=600\n[short]\nrw=read\nWHAT[later]\nstonewall\nrw=read\n";
    let ran = |what: &str| {
        lab.write("a.fio", jobs.replace("WHAT", what));
        lab.ok("fio a.fio --output-format=json").document()["jobs"].as_array().unwrap().len()
    };
    assert_eq!((ran(""), ran("exit_what=all\n")), (3, 2));
}

#[test]
fn existing_data_is_kept_and_what_has_no_meaning_is_refused() {
    let lab = Lab::new();
    lab.write("kept", "data");
    lab.write("a.fio", JOBS);
    lab.refuses("fio a.fio", 2, "kept exists and would be overwritten; add --overwrite=kept before the job file");
    lab.refuses("fio --overwrite a.fio", 2, "give --overwrite=kept");
    lab.refuses("fio a.fio --no-store", 2, "put it before the job file and fio's options: halfpower fio --no-store");
    assert_eq!(lab.read("kept"), "data");
    assert!(!lab.path("both.0.0").exists(), "made before the refusal");
    lab.write("b.fio", "[a]\nsize=1m\nlatency_target=5\nioengine=rbd\n");
    let told = lab.refuses("fio b.fio", 2, "b.fio:3: latency_target: it is refused: run it at several depths");
    assert!(told.stderr.contains("b.fio:4: ioengine=rbd: use psync"), "{}", told.stderr);
    lab.refuses("fio none.fio", 1, "cannot read none.fio");
    lab.refuses("fio a.fio --output-format=xml", 2, "use json, json+, normal or terse");
}

#[test]
fn a_job_is_the_same_workload_in_fio_s_results() {
    let lab = Lab::new();
    let job = "fio --name=a --size=8m --bs=4k --rw=randrw --rwmixread=70 --iodepth=4 --ioengine=libaio --fsync=8";
    lab.write("a.json", lab.ok(format!("{job} --output-format=json+")).stdout);
    lab.json("import a.json");
    let compared = lab.run("compare 1 2 --json").document();
    assert_eq!(compared["cells"].as_array().unwrap().len(), 1, "{}", compared["sentence"]);
}

#[test]
fn mixes_are_read_back_and_what_a_failing_stage_leaves_is_printed() {
    let lab = Lab::new();
    let told = lab.ok("fio --name=v --size=1m --rw=randrw --verify=crc32c").stdout;
    let verified = told.lines().find(|line| line.contains("verified ")).unwrap_or_default();
    let blocks =
        verified.split("verified ").nth(1).unwrap().trim().split(' ').find_map(|word| word.parse::<u32>().ok());
    assert!(blocks > Some(50), "{verified}");
    // The last job reads a file that has lost its data.
    lab.write("c.fio", "[a]\nrw=write\nsize=1m\n[b]\nstonewall\nfilename=a.0.0\nsize=1m\nrw=trim\n[c]\nstonewall\nfilename=a.0.0\nsize=1m\nrw=read\n");
    let ended = lab.run("fio c.fio --output-format=json --output=o.json");
    assert!(ended.status == Some(1) && ended.stderr.contains("c failed, and no later stage ran: "), "{}", ended.stderr);
    let printed: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(lab.path("o.json")).unwrap()).unwrap();
    assert_eq!(printed["jobs"].as_array().unwrap().len(), 2);
    // What ends with one that has `exitall` ends with each.
    let ends = "[a]\nrw=read\nsize=1m\n[b]\nrw=randread\nsize=1m\nrate_iops=20\nexitall\n";
    lab.write("e.fio", ends);
    let told = lab.ok("fio e.fio --output-format=json").document();
    assert!(told["jobs"][1]["read"]["total_ios"].as_u64() < Some(256), "{}", told["jobs"][1]["read"]["total_ios"]);
    lab.ok("fio --name=z --size=64k --rw=write --zero_buffers --loops=0 --runtime=0 --iodepth_batch=8");
}

#[test]
fn a_remedy_names_fio_s_option() {
    let lab = Lab::new();
    let told = lab.ok("fio --name=a --size=1m --rw=randread --ioengine=libaio --iodepth=4").stdout;
    assert!(told.contains("; use direct=1, or ioengine=io_uring"), "{told}");
    assert!(!told.contains("--buffering"), "{told}");
}

#[test]
fn files_have_their_own_global_settings_and_loops_their_own_requests() {
    let lab = Lab::new();
    lab.write("one.fio", "[global]\nbs=16k\nsize=64k\n[a]\nrw=read\n");
    lab.write("two.fio", "[j]\nrw=read\nsize=64k\nnumber_ios=4\nloops=3\n");
    let lines = lab.ok("fio one.fio two.fio --parse-only").stdout;
    assert!(
        lines.contains("stage 1, a: sequential read, 16 KiB") && lines.contains("stage 2, j: sequential read, 4 KiB"),
        "{lines}"
    );
    assert!(lines.contains("12 requests"), "{lines}");
    lab.ends(
        "fio --readonly --name=a --rw=randread --size=64k",
        2,
        "a.0.0 does not exist, and --readonly forbids making it",
    );
    lab.write("none.fio", "[global]\nbs=16k\n");
    lab.ends("fio none.fio", 2, "none.fio: it has no job");
    // Each kind over the time of the jobs that have it.
    let job = "[global]\ngroup_reporting\nsize=64k\n[a]\nrw=randread\nrate_iops=20\nnumber_ios=5\n[b]\nrw=write\n";
    lab.write("group.fio", job);
    let text = lab.ok("fio group.fio --output-format=json").stdout;
    let document: Value = serde_json::from_str(&text).unwrap();
    let runtime = |kind: &str| document["jobs"][0][kind]["runtime"].as_u64().unwrap();
    assert!(runtime("write") * 2 < runtime("read"), "{text}");
}
