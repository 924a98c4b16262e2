//! Records of simulated machines: the same for a seed, of open loops, of what the end cuts off, of trims and flushes.

use super::tests::{asked, measure, target};
use halfpower_model::Operation::{Read, Trim, Write};
use halfpower_model::Pattern::{Random, Sequential};
use halfpower_model::workload::Rate;
use halfpower_model::{Arrivals, Bytes, Durability, Limits, Nanoseconds, Sample, Workload};

fn codes(sample: &Sample) -> Vec<&str> {
    sample.warnings.iter().map(|warning| &*warning.code).collect()
}

#[test]
fn the_same_seed_takes_the_same_course() {
    for target in ["win2k-pentium3:atlas-2", "nvme-gen4:steady", "sata-ssd:client-steady", "cloud-gp3:burst"] {
        let of = |seed| {
            let mixed = "mix=70".parse().unwrap();
            let mut sample = measure(target, &Workload { seed, ..asked(mixed, Random, 8, 8, 0.5) });
            sample.workload.seed = 0;
            format!("{sample:?}")
        };
        let one = of(5);
        assert!(one == of(5), "{target}: seed 5 takes two courses");
        assert!(one != of(6), "{target}: seeds 5 and 6 take the same course");
    }
}

#[test]
fn requests_arrive_whether_the_machine_is_free_or_not() {
    let arriving = |per_s| {
        let (arrivals, rate) = (Arrivals::Poisson, Some(Rate::Requests(per_s)));
        measure("win2k-pentium3:atlas-1", &Workload { arrivals, rate, ..asked(Read, Random, 8, 64, 60.0) })
    };
    let kept = arriving(60);
    let open = kept.open_loop.as_ref().unwrap();
    assert!(open.response_ns.mean.unwrap() > kept.total.latency_ns.min.unwrap() as f64, "{open:?}");
    assert!(open.backlog_at_end == 0 && kept.warnings.is_empty(), "{open:?} {:?}", kept.warnings);
    let missed = arriving(1000);
    assert!(missed.open_loop.as_ref().unwrap().backlog_at_end > 10_000, "{:?}", missed.open_loop);
    assert_eq!(codes(&missed)[0], "rate_not_reached");
}

/// Of twelve streams one has the disk for 18 s.
#[test]
fn what_the_end_cuts_off_is_warned_of_where_the_percentiles_lack_it() {
    let streams = |seconds| Workload { workers: 12, ..asked(Read, Sequential, 64, 64, seconds) };
    let random = |seconds| asked(Read, Random, 4, 32, seconds);
    let flushed = Durability::Fsync { every: 16 };
    for (name, workload, is_told) in [
        ("win2k-pentium3:atlas-1", streams(18.0), true),
        ("win2k-pentium3:atlas-1", streams(60.0), false),
        ("hdd-18tb:disk", Workload { warmup: Nanoseconds(1_000_000_000), ..random(1.0) }, false),
        ("sata-ssd:client", asked("mix=write:80,flush:20".parse().unwrap(), Random, 64, 8, 0.5), false),
        ("hdd-18tb:disk", Workload { durability: flushed, ..asked(Write, Sequential, 64, 8, 2.0) }, false),
    ] {
        let sample = measure(name, &Workload { span: Bytes(target(name).size_bytes.0 >> 20 << 20), ..workload });
        assert_eq!(codes(&sample).contains(&"stalled_at_end"), is_told, "{name}: {:?}", sample.warnings);
    }
}

#[test]
fn trims_and_flushes_are_in_the_totals() {
    let limits = Limits { requests: Some(1000), ..Limits::default() };
    let trims = measure("nvme-gen4:fresh", &Workload { limits, ..asked(Trim, Sequential, 1024, 1, 0.0) });
    let (trimmed, block) = (trims.trim.unwrap(), trims.block.unwrap());
    assert_eq!((trimmed.requests, trims.total.requests, trimmed.bytes), (1000, 1000, 1000 << 20));
    assert_eq!((block.trim.unwrap().requests, block.bytes), (1000, 0));
    let operation = "mix=write:80,flush:20".parse().unwrap();
    let mixed = measure("sata-ssd:client", &Workload { limits, ..asked(operation, Sequential, 1024, 1, 0.0) });
    let (written, flush) = (mixed.write.unwrap(), mixed.flush.unwrap());
    assert_eq!((written.requests + flush.requests, mixed.total.requests), (1000, 1000));
    assert_eq!((written.bytes, flush.bytes), (mixed.total.bytes, 0));
    assert!(flush.latency_ns.mean.unwrap() > 1e5, "{flush:?}");
}
