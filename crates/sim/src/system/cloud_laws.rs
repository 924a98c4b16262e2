//! What holds for any cloud volume and any workload, whatever its figures.

use super::laws::sized_workload;
use super::tests::*;
use crate::cloud::limit::{Burst, Limit};
use crate::cloud::{CloudVolume, Limits};
use proptest::prelude::*;
use std::sync::Arc;

/// So many volumes behind a link.
fn on_link(volume: CloudVolume, disks: usize, made_of: Volume) -> Machine {
    let (mut machine, volume) = (machine(larger(Scheduler::Fcfs), disks, made_of), Arc::new(volume));
    machine.parts = vec![bus("link", 1250e6)];
    for disk in &mut machine.disks {
        (disk.device, disk.near) = (Device::Cloud(Arc::clone(&volume)), vec![0]);
    }
    machine
}

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
            let volume = CloudVolume {
                size: Bytes(8 << 30),
                unit: Bytes(1 << unit),
                instance: (limits.len() > 1).then(|| "instance".to_owned()),
                limits,
                parallel,
                read_ns,
                write_ns,
                spread_ns: (read_ns.min(write_ns) as f64 * spread) as u64,
            };
            let made_of = if disks > 1 { Volume::Stripe { chunk: Bytes(65_536) } } else { Volume::Each };
            on_link(volume, disks, made_of)
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn nothing_is_lost_and_what_is_let_through_is_paid_for_with_credits_or_in_time(
        machine in any_machine(), workload in sized_workload(500, 1_u64..600, 1_u32..64)
    ) {
        let outcome = course(&machine, &workload);
        hold(&outcome, &workload);
        let bytes = 500 * workload.request_size.0;
        prop_assert_eq!(outcome.device[usize::from(workload.operation == Operation::Write)].1, bytes);
        if let ([_], Device::Cloud(volume)) = (&machine.disks[..], &machine.disks[0].device) {
            for Limits { bytes: Limit { per_s, burst }, .. } in &volume.limits {
                let paid = outcome.elapsed_ns as f64 / 1e9 * per_s + burst.map_or(0.0, |burst| burst.at_first);
                let at_least = bytes as f64 - workload.request_size.0 as f64;
                prop_assert!(at_least <= paid * (1.0 + 1e-9) + 1.0, "{} of {}", at_least, paid);
            }
        }
    }
}

/// A spread is drawn for each disk and each seed.
#[test]
fn another_seed_draws_other_latencies() {
    let limit = |per_s| Limit { per_s, burst: None };
    let limits = vec![Limits { requests: limit(1e6), bytes: limit(1e12) }];
    let volume = CloudVolume { limits, spread_ns: 1_000_000, ..crate::cloud::tests::slow() };
    let machine = on_link(volume, 2, Volume::Each);
    let (request_size, span, limits) = (Bytes(4096), Bytes(1 << 29), of_requests(100));
    let elapsed_ns =
        |seed| course(&machine, &Workload { seed, request_size, span, limits, ..Workload::default() }).elapsed_ns;
    assert_ne!(elapsed_ns(1), elapsed_ns(2));
    assert_eq!(elapsed_ns(3), elapsed_ns(3));
}
