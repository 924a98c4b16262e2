//! What holds for any cloud volume and any workload, whatever its figures.

use super::tests::{bus, machine, requests};
use super::*;
use crate::cloud::limit::{Burst, Limit};
use crate::cloud::{CloudVolume, Limits};
use crate::disk::scheduler::Scheduler;
use crate::disk::tests::larger;
use crate::machine::Device;
use crate::machine::Machine;
use crate::volume::Volume;
use halfpower_model::{Bytes, Limits as RunLimits, Operation, Pattern};
use halfpower_model::{Cancel, Histogram, Workload};
use proptest::prelude::*;
use std::sync::Arc;

fn any_limit(most: f64) -> impl Strategy<Value = Limit> {
    let burst = proptest::option::of((1.0_f64..5.0, 0.0_f64..most, 0.0_f64..=1.0));
    (most / 100.0..most, burst).prop_map(|(per_s, burst)| Limit {
        per_s,
        burst: burst.map(|(times, credits, full)| Burst { per_s: per_s * times, credits, at_first: credits * full }),
    })
}

fn any_machine() -> impl Strategy<Value = Machine> {
    let limits = (any_limit(50_000.0), any_limit(1e9)).prop_map(|(requests, bytes)| Limits { requests, bytes });
    let limits = proptest::collection::vec(limits, 1..3);
    (limits, 9_u32..21, 1_u32..65, 1_u64..3_000_000, 1_u64..3_000_000, 0.0_f64..=1.0, 1_usize..4).prop_map(
        |(limits, unit, parallel, read_ns, write_ns, spread, disks)| {
            let volume = Arc::new(CloudVolume {
                size: Bytes(8 << 30),
                unit: Bytes(1 << unit),
                instance: (limits.len() > 1).then(|| "instance".to_owned()),
                limits,
                parallel,
                read_ns,
                write_ns,
                spread_ns: (read_ns.min(write_ns) as f64 * spread) as u64,
            });
            let made_of = if disks > 1 { Volume::Stripe { chunk: Bytes(65_536) } } else { Volume::Each };
            let mut machine = machine(larger(Scheduler::Fcfs), disks, made_of);
            machine.parts = vec![bus("link", 1250e6)];
            for disk in &mut machine.disks {
                (disk.device, disk.near) = (Device::Cloud(Arc::clone(&volume)), vec![0]);
            }
            machine
        },
    )
}

fn any_workload() -> impl Strategy<Value = Workload> {
    let operation = prop_oneof![Just(Operation::Read), Just(Operation::Write)];
    let pattern = prop_oneof![Just(Pattern::Random), Just(Pattern::Sequential)];
    (any::<u64>(), operation, pattern, 1_u64..600, 1_u32..64).prop_map(|(seed, operation, pattern, blocks, depth)| {
        Workload {
            seed,
            operation,
            pattern,
            depth,
            request_size: Bytes(blocks * 512),
            span: Bytes((4 << 30) / (blocks * 512) * (blocks * 512)),
            limits: RunLimits { duration: None, requests: Some(500), bytes: None },
            ..Workload::default()
        }
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn nothing_is_lost_and_no_part_works_more_than_there_is_time(machine in any_machine(), workload in any_workload()) {
        let outcome = run(&machine, &workload, &Cancel::default());
        let bytes = 500 * workload.request_size.0;
        let which = usize::from(workload.operation == Operation::Write);
        prop_assert_eq!(requests(&outcome), 500);
        prop_assert_eq!((outcome.bytes[which], outcome.device[which].1), (bytes, bytes));
        for part in &outcome.parts {
            prop_assert!((0.0..=1.0 + 1e-9).contains(&part.busy), "{:?}", part);
        }
        // Little: what is outstanding on average is the rate times the mean latency.
        let mean_ns: f64 = outcome.latency.iter().map(Histogram::sum).sum::<f64>() / 500.0;
        let outstanding = 500.0 / outcome.elapsed_ns as f64 * mean_ns;
        let counted = outcome.outstanding_ns as f64 / outcome.elapsed_ns as f64;
        prop_assert!((outstanding / counted - 1.0).abs() < 1e-6, "{} {}", outstanding, counted);
        prop_assert!(outstanding <= f64::from(workload.depth) * (1.0 + 1e-9), "{}", outstanding);
        // What was let through was paid for: with credits, or in time.
        for limits in machine.disks.iter().take(1).flat_map(|disk| match &disk.device {
            Device::Cloud(volume) => volume.limits.clone(),
            _ => Vec::new(),
        }) {
            let Limit { per_s, burst } = limits.bytes;
            let paid = outcome.elapsed_ns as f64 / 1e9 * per_s + burst.map_or(0.0, |burst| burst.at_first);
            let each = (bytes as f64 - workload.request_size.0 as f64) / machine.disks.len() as f64;
            let least = if machine.disks.len() == 1 { each } else { 0.0 };
            prop_assert!(least <= paid * (1.0 + 1e-9) + 1.0, "{} of {}", least, paid);
        }
    }

    #[test]
    fn the_same_seed_gives_the_same_course_and_another_one_another(machine in any_machine(), workload in any_workload()) {
        let outcome = |seed| {
            let outcome = run(&machine, &Workload { seed, ..workload.clone() }, &Cancel::default());
            (outcome.elapsed_ns, outcome.outstanding_ns, outcome.latency.map(|latency| latency.sum() as u64))
        };
        prop_assert_eq!(outcome(workload.seed), outcome(workload.seed));
    }
}

/// A spread is drawn for each disk and each seed.
#[test]
fn another_seed_draws_other_latencies() {
    let limit = |per_s| Limit { per_s, burst: None };
    let volume = CloudVolume {
        limits: vec![Limits { requests: limit(1e6), bytes: limit(1e12) }],
        spread_ns: 1_000_000,
        ..crate::cloud::tests::slow()
    };
    let mut machine = machine(larger(Scheduler::Fcfs), 2, Volume::Each);
    machine.parts = vec![bus("link", 1250e6)];
    for disk in &mut machine.disks {
        (disk.device, disk.near) = (Device::Cloud(Arc::new(volume.clone())), vec![0]);
    }
    let workload = Workload {
        request_size: Bytes(4096),
        span: Bytes(1 << 29),
        limits: RunLimits { duration: None, requests: Some(100), bytes: None },
        ..Workload::default()
    };
    let elapsed_ns = |seed| run(&machine, &Workload { seed, ..workload.clone() }, &Cancel::default()).elapsed_ns;
    assert_ne!(elapsed_ns(1), elapsed_ns(2));
    assert_eq!(elapsed_ns(3), elapsed_ns(3));
}
