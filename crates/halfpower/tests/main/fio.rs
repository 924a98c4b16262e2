//! fio's names for the options, where a hand is used to them.

use crate::support::Lab;
use serde_json::json;

#[test]
fn the_names_of_fio_come_to_the_same_workload() {
    let lab = Lab::new();
    lab.data_file("data", 1024);
    for (fio, ours) in [
        ("null: --rw read", "--op read"),
        ("null: --rw write --fsync 10", "--op write --durability fsync=10"),
        ("null: --rw randread", "--op read --pattern random"),
        ("null: --rw randwrite --fdatasync 3", "--op write --pattern random --durability fdatasync=3"),
        ("null: --rw rw", "--op mix=50"),
        ("null: --rw randrw --rwmixread 70", "--op mix=70 --pattern random"),
        ("null: --rw trim", "--op trim"),
        ("null: --rw randtrim", "--op trim --pattern random"),
        ("data --ioengine psync --direct=0", "--personality sync --buffering buffered"),
        ("data --ioengine pvsync2 --direct=0", "--personality vectored --buffering buffered"),
        ("data --ioengine mmap --direct=0", "--personality mmap --buffering buffered"),
        ("data --ioengine libaio --direct=0", "--personality libaio --buffering buffered"),
        ("null: --bs 4k --iodepth 8 --numjobs 2", "--request-size 4KiB --depth 8 --workers 2"),
    ] {
        let target = fio.split(' ').next().unwrap();
        let [fio, ours] = [format!("io {fio}"), format!("io {target} {ours}")].map(|words| {
            let mut workload = lab.json(format!("{words} --requests=100"))["workload"].take();
            workload["seed"].take();
            (workload, words)
        });
        assert_eq!(fio.0, ours.0, "{} and {}", fio.1, ours.1);
    }
    if lab.has_direct_ring() {
        let workload =
            lab.json("io data --ioengine io_uring --direct 1 --runtime 0.2 --ramp_time 1ms")["workload"].take();
        let expected = (&json!("io_uring"), &json!("direct"), &json!(0.2));
        let limits = &workload["limits"]["duration_s"];
        assert_eq!((&workload["personality"], &workload["buffering"], limits), expected);
    }
}

#[test]
fn what_has_no_meaning_here_is_refused() {
    let lab = Lab::new();
    let rows = [
        ("--ioengine=splice", "--personality"),
        ("--direct=2", "use 0 or 1"),
        ("--rw=trimwrite", "randread"),
        ("--rw=read --rwmixread=70", "--rwmixread goes with"),
        ("--rw=rw --rwmixread=100", "use 1 to 99"),
        ("--rw=write --fsync=0", "write a whole number of 1 or more"),
    ];
    lab.refuses_each(rows.map(|(words, needle)| (("io null:", words), 2, needle)));
}
