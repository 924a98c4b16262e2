//! Requests of a simulated machine that its end cuts off: told of where the latencies do not stand for them, and only there.

use crate::support::Lab;

/// Whether a run of `io` tells of it.
fn is_told(lab: &Lab, given: &str) -> bool {
    let sample = lab.json(["io"].into_iter().chain(given.split(' ')).chain(["--no-store", "--json"]));
    sample["warnings"].as_array().unwrap().iter().any(|warning| warning["code"] == "stalled_at_end")
}

/// Of twelve streams one has the disk for 18 s. The first long answers do not make up for the hundreds that are still due.
#[test]
fn streams_that_wait_for_another_are_told_of_until_their_answers_are_in_the_percentiles() {
    let lab = Lab::new();
    let streams = "sim:win2k-pentium3:atlas-1 --workers 12 --request-size 64KiB --depth 64 --duration";
    for duration in ["10s", "18s", "19s", "20s", "25s", "30s"] {
        assert!(is_told(&lab, &format!("{streams} {duration}")), "{duration}");
    }
    assert!(!is_told(&lab, &format!("{streams} 60s")));
}

#[test]
fn the_end_of_an_ordinary_run_is_not_told_of() {
    let lab = Lab::new();
    for given in [
        "sim:hdd-18tb:disk --pattern random --request-size 4KiB --depth 32 --duration 5s",
        "sim:hdd-18tb:disk --pattern random --request-size 4KiB --depth 32 --warmup 1s --duration 1s",
        "sim:hdd-18tb:disk --pattern random --request-size 4KiB --depth 128 --duration 300ms",
        "sim:win2k-pentium3:atlas-1 --pattern random --request-size 8KiB --depth 16 --workers 12 --warmup 1s --requests 50",
        "sim:win2k-pentium3:atlas-1 --pattern random --depth 64 --arrivals poisson --rate 60 --duration 5s",
        "sim:win2k-pentium3:atlas-2 --request-size 256KiB --depth 8 --workers 4 --warmup 1s --duration 2s",
        "sim:sata-ssd:client --op mix=write:80,flush:20 --depth 8 --duration 500ms",
        "sim:hdd-18tb:disk --op write --request-size 64KiB --depth 8 --durability fsync=16 --duration 2s",
    ] {
        assert!(!is_told(&lab, given), "{given}");
    }
}
