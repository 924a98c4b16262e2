//! What holds for any RAM disk and any workload, whatever its figures.

use super::laws::sized_workload;
use super::tests::*;
use crate::ram::RamDisk;
use proptest::prelude::*;

/// One behind a bus that is far faster.
fn ram(latency_ns: u64, ns_per_byte: f64) -> Machine {
    let mut machine = machine(larger(Scheduler::Fcfs), 1, Volume::Each);
    machine.parts = vec![bus("memory", 1e15)];
    machine.disks[0].device = Device::Ram(RamDisk { size: Bytes(8 << 30), latency_ns, ns_per_byte });
    machine.disks[0].near = vec![0];
    machine
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn nothing_is_lost_and_nothing_is_faster_than_its_port_or_its_latency(
        latency_ns in 0_u64..1_000_000, ns_per_byte in 0.01_f64..10.0, workload in sized_workload(500, 1_u64..600, 1_u32..64)
    ) {
        let outcome = course(&ram(latency_ns, ns_per_byte), &workload);
        hold(&outcome, &workload);
        let request = workload.request_size.0 as f64;
        let port_ns = 500.0 * request * ns_per_byte;
        let in_turn = 500.0 / f64::from(workload.depth * workload.workers);
        let least_ns = port_ns.max(in_turn * (latency_ns as f64 + request * ns_per_byte));
        prop_assert!(outcome.elapsed_ns as f64 >= least_ns * 0.999, "{} ns of {least_ns}", outcome.elapsed_ns);
    }
}
