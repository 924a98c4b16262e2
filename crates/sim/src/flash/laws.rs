//! Laws of any flash drive under any workload.

use super::tests::{alone, drive};
use super::*;
use crate::machine::{self, Machine};
use crate::system::laws::{sized_workload, widen};
use crate::system::tests::{bus, course, hold, megabytes_per_s, of_requests};
use crate::table::Named;
use halfpower_model::{Bytes, BytesPerSecond, Nanoseconds, Operation, Workload};
use proptest::prelude::*;

/// A random drive.
fn any_drive() -> impl Strategy<Value = FlashDrive> {
    let array = (1_u32..5, 1_u32..40, 1_u64..5, 0_u64..90_000, 100_000_u64..2_000_000, 0.001_f64..20.0);
    let array = array.prop_map(|(channels, each, page, read_ns, program_ns, channel_ns_per_byte)| FlashDrive {
        units: channels * each,
        channels,
        page: Bytes(page * 4096),
        read: Nanoseconds(read_ns),
        program: Nanoseconds(program_ns),
        channel_rate: BytesPerSecond(1e9 / channel_ns_per_byte),
        suspend: Nanoseconds(read_ns / 2),
        ..drive()
    });
    let buffer = proptest::option::of((1_u64..4096).prop_map(|kib| Bytes(kib << 10)));
    let ahead = proptest::option::of(
        (1_u64..512, 1_u32..6).prop_map(|(kib, streams)| ReadAhead { size: Bytes(kib << 10), streams }),
    );
    let area = proptest::option::of((1_u64..64).prop_map(|mib| FastArea {
        size: Bytes(mib << 20),
        always: Some(Bytes(mib << 18)),
        rate: BytesPerSecond(2e9),
        copy_rate: BytesPerSecond(3e8),
        rest: Nanoseconds(1_000_000),
    }));
    let heat = proptest::option::of((1.0_f64..500.0).prop_map(|megabytes| Heat {
        sustained: BytesPerSecond(megabytes * 1e6),
        reads_per_write: 2.0,
        time_constant: Nanoseconds(20_000_000),
        throttled: BytesPerSecond(megabytes * 5e5),
        until: 0.8,
    }));
    let state = (0..State::WORDS.len()).prop_map(|which| State::WORDS[which].1);
    let own = (0_u64..5_000, 0_u64..30_000, 1_u64..4096, any::<bool>());
    (array, buffer, ahead, area, heat, state, own).prop_map(
        |(array, buffer, read_ahead, fast_area, heat, state, (command_ns, delay_ns, spare, protected))| FlashDrive {
            spare: Bytes(spare << 20),
            read_command: Nanoseconds(command_ns),
            write_command: Nanoseconds(2 * command_ns),
            read_delay: Nanoseconds(delay_ns),
            write_delay: Nanoseconds(delay_ns / 2),
            scattered_write: Nanoseconds(delay_ns),
            buffer,
            protected,
            fast_area,
            mapping: Bytes(delay_ns),
            read_ahead,
            heat,
            state,
            ..array
        },
    )
}

/// A random drive behind a bus of a random rate, on CPUs that cost a little.
fn any_machine() -> impl Strategy<Value = Machine> {
    (any_drive(), 50.0_f64..4000.0).prop_map(|(drive, megabytes)| {
        let mut machine = alone(drive);
        machine.parts = vec![bus("link", megabytes * 1e6)];
        machine.disks[0].near = vec![0];
        machine.system.direct_read.fixed_us = 1.0;
        machine.system.direct_write.fixed_us = 1.0;
        machine
    })
}

fn any_workload() -> impl Strategy<Value = Workload> {
    sized_workload(600, 1_u64..600, 1_u32..80)
}

fn rate(machine: &Machine, workload: &Workload) -> f64 {
    megabytes_per_s(&course(machine, workload))
}

/// A machine with another drive.
fn changed(machine: &Machine, change: impl Fn(&mut FlashDrive)) -> Machine {
    let mut machine = machine.clone();
    if let machine::Device::Flash(drive) = &mut machine.disks[0].device {
        change(Arc::make_mut(drive));
    }
    machine
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn nothing_is_lost_and_no_part_works_more_than_there_is_time(
        machine in any_machine(), workload in any_workload(), noise in (0.0_f64..0.5, 0.0_f64..0.3, 0_u64..4_000_000, 1_u64..1 << 20)
    ) {
        let (share, retry, ns, bytes) = noise;
        let noisy = changed(&machine, |drive| {
            (drive.read_spread, drive.retry) = (share, retry);
            let suspend = (ns % 2 == 0).then_some(Nanoseconds(ns / 4));
            drive.erase = Some(Erase { time: Nanoseconds(ns), block: Bytes(4 * bytes), suspend });
            (drive.checkpoint, drive.collection) = (share, Bytes(bytes));
            drive.jitter = Nanoseconds((retry * 1e5) as u64);
        });
        for machine in [machine, noisy] {
            let outcome = course(&machine, &workload);
            hold(&outcome, &workload);
            let moved: u64 = outcome.device.iter().map(|(_, bytes)| bytes).sum();
            prop_assert!(moved >= 600 * workload.request_size.0);
        }
    }

    /// Other arrival times may cause a worse order, by a request or two at the end.
    #[test]
    fn more_depth_or_a_wider_link_lowers_no_throughput(
        machine in any_machine(), workload in any_workload(), factor in 1.0_f64..4.0
    ) {
        // Read-ahead is wasted with more streams than the drive knows, and at the end of each stream.
        let most = Bytes(600 * workload.request_size.0 / 100 / u64::from(workload.workers));
        // More load heats a drive sooner, and leaves no idle time to empty a fast area.
        let machine = changed(&machine, |drive| {
            (drive.heat, drive.fast_area) = (None, None);
            drive.read_ahead.iter_mut().for_each(|ahead| {
                (ahead.streams, ahead.size) = (ahead.streams.max(workload.workers), ahead.size.min(most));
            });
        });
        // Reads outstanding at the end are to be few.
        let all = 20 * 2 * u64::from(workload.depth * workload.workers);
        let requests = if workload.operation == Operation::Read { all.max(600) } else { 600 };
        let workload = Workload { limits: of_requests(requests), ..workload };
        let deeper = Workload { depth: workload.depth * 2, ..workload.clone() };
        let mut wide = machine.clone();
        widen(&mut wide.parts[0], factor);
        let before = rate(&machine, &workload);
        for more in [rate(&machine, &deeper), rate(&wide, &workload)] {
            prop_assert!(more > before * 0.97, "{} {}", before, more);
        }
    }

    #[test]
    fn more_spare_flash_slows_no_writes(machine in any_machine(), workload in any_workload(), more in 1_u64..4096) {
        let machine = changed(&machine, |drive| drive.heat = None);
        let workload = Workload { operation: Operation::Write, ..workload };
        let wide = changed(&machine, |drive| drive.spare.0 += more << 20);
        let (tight, wide) = (rate(&machine, &workload), rate(&wide, &workload));
        prop_assert!(wide > tight * 0.999, "{} {}", tight, wide);
    }
}
