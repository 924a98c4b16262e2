//! A flash drive against theory, on its own and in a machine.

use super::space::amplification;
use super::*;
use crate::machine::{self, Machine};
use crate::system::tests::{Outcome, for_ms, machine, megabytes_per_s, requests, run, workload};
use halfpower_model::{BytesPerSecond, Cancel, Nanoseconds, Operation, Pattern, RequestKind, Workload};

/// 64 units of 16 KiB pages, 50 µs a read and 640 µs a program, on 8 channels that are no limit; half as much flash again.
pub(super) fn drive() -> FlashDrive {
    FlashDrive {
        size: Bytes(8 << 30),
        spare: Bytes(4 << 30),
        array: Array {
            units: 64,
            channels: 8,
            page: Bytes(16 << 10),
            read_ns: 50_000,
            program_ns: 640_000,
            channel_ns_per_byte: 0.01,
            suspend_ns: 0,
        },
        command_ns: [0, 0],
        delay_ns: [0, 0],
        scattered_write_ns: 0,
        buffer: Some(Bytes(1 << 20)),
        is_protected: false,
        fast_area: None,
        mapping: Bytes(0),
        read_ahead: None,
        trim: None,
        heat: None,
        state: State::Fresh,
    }
}

/// A quarter of a nanosecond a byte in, two out.
const AREA: FastArea = FastArea {
    size: Bytes(1 << 30),
    always: Some(Bytes(1 << 28)),
    rate: BytesPerSecond(4e9),
    copy_rate: BytesPerSecond(5e8),
    rest: Nanoseconds(100_000_000),
};

/// The drive alone: a machine that costs nothing, and no bus.
pub(super) fn alone(drive: FlashDrive) -> Machine {
    let mut alone =
        machine(crate::disk::tests::atlas(crate::disk::scheduler::Scheduler::Fcfs), 1, crate::volume::Volume::Each);
    alone.parts.clear();
    alone.disks[0].device = machine::Device::Flash(Arc::new(drive));
    alone.disks[0].near.clear();
    alone.system.split = None;
    (alone.system.direct_read, alone.system.direct_write) = Default::default();
    alone
}

pub(super) fn course(
    machine: &Machine,
    operation: Operation,
    pattern: Pattern,
    kib: u64,
    depth: u32,
    ms: u64,
) -> Outcome {
    let (span, limits) = (machine.size(), for_ms(ms));
    let workload = Workload { operation, span, limits, ..workload(pattern, kib << 10, depth, machine) };
    run(machine, &workload, &Cancel::default())
}

fn random_reads(machine: &Machine, depth: u32) -> Outcome {
    course(machine, Operation::Read, Pattern::Random, 4, depth, 60)
}

fn per_s(outcome: &Outcome) -> f64 {
    requests(outcome) as f64 / outcome.elapsed_ns as f64 * 1e9
}

/// Exact mean value analysis of a closed network: throughput a second at a depth, of one controller and so many units, each
/// with its time for a visit and all units alike.
fn mva(controller_us: f64, unit_us: f64, units: f64, depth: u32) -> f64 {
    let (mut at_controller, mut at_unit, mut rate) = (0.0, 0.0, 0.0);
    for customers in 1..=depth {
        let (controller, unit) = (controller_us * (1.0 + at_controller), unit_us * (1.0 + at_unit));
        rate = f64::from(customers) / (controller + unit);
        (at_controller, at_unit) = (rate * controller, rate / units * unit);
    }
    rate * 1e6
}

#[test]
fn reads_follow_the_closed_network() {
    for controller_us in [0.0, 2.0] {
        let mut drive = drive();
        drive.command_ns = [(controller_us * 1e3) as u64, 0];
        let machine = alone(drive);
        let mut last = 0.0;
        for depth in [1, 2, 4, 8, 16, 32, 64, 128, 256, 1024] {
            let rate = per_s(&random_reads(&machine, depth));
            // Service times that do not vary queue less than the exponential ones for which the analysis is exact, and no
            // order of service gives more than the asymptotes.
            let least = mva(controller_us, 50.0, 64.0, depth);
            let most = (f64::from(depth) / (controller_us + 50.0)).min(1.0 / controller_us.max(50.0 / 64.0)) * 1e6;
            assert!(rate > least * 0.99 && rate < most * 1.001, "QD{depth}: {rate} of {least} to {most}");
            assert!(rate < least * 1.2, "QD{depth}: {rate} of {least}");
            assert!(rate > last * 0.999, "QD{depth}: {rate} after {last}");
            last = rate;
        }
        // Full: what is slowest works all the time.
        let full = 1e6 / f64::max(controller_us, 50.0 / 64.0);
        assert!(last > 0.95 * full, "{last} of {full}");
    }
}

#[test]
fn a_request_of_several_pages_has_several_units() {
    let machine = alone(drive());
    // 128 KiB are 8 pages: one deep they take as long as one, and 64 units read 1 GiB in 51.2 ms.
    let one = course(&machine, Operation::Read, Pattern::Sequential, 128, 1, 100);
    assert!((per_s(&one) / 20_000.0 - 1.0).abs() < 0.05, "{}", per_s(&one));
    let full = 64.0 * 16_384.0 / 50e-6 / 1e6;
    let many = course(&machine, Operation::Read, Pattern::Sequential, 128, 64, 100);
    assert!((megabytes_per_s(&many) / full - 1.0).abs() < 0.02, "{} of {full}", megabytes_per_s(&many));
    // More pages than units: 4 MiB are 256, four on each.
    let large = course(&machine, Operation::Read, Pattern::Sequential, 4096, 1, 100);
    assert!((per_s(&large) / 5_000.0 - 1.0).abs() < 0.05, "{}", per_s(&large));
}

#[test]
fn channels_are_shared_by_their_units() {
    let mut drive = drive();
    // 8 channels of 100 MB/s.
    drive.array.channel_ns_per_byte = 10.0;
    let machine = alone(drive);
    let outcome = course(&machine, Operation::Read, Pattern::Sequential, 128, 64, 200);
    assert!((megabytes_per_s(&outcome) / 800.0 - 1.0).abs() < 0.03, "{}", megabytes_per_s(&outcome));
    assert!(outcome.parts.last().unwrap().busy > 0.97, "{:?}", outcome.parts);
}

/// 64 units that program 1.64 GB/s, on one channel of 100 MB/s.
fn narrow() -> FlashDrive {
    FlashDrive { array: Array { channels: 1, channel_ns_per_byte: 10.0, ..drive().array }, ..drive() }
}

#[test]
fn what_is_written_goes_over_the_channels_and_what_is_moved_twice() {
    let rate = |drive, pattern| {
        let outcome = course(&alone(drive), Operation::Write, pattern, 64, 32, 8000);
        assert!(outcome.parts.last().unwrap().busy > 0.98, "{:?}", outcome.parts);
        megabytes_per_s(&outcome)
    };
    let in_order = rate(narrow(), Pattern::Sequential);
    assert!((in_order / 100.0 - 1.0).abs() < 0.02, "{in_order}");
    // Each byte, and for each that is copied two.
    let worn = rate(FlashDrive { state: State::Steady, ..narrow() }, Pattern::Random);
    let expected = 100.0 / (2.0 * amplification(1.5) - 1.0);
    assert!((worn / expected - 1.0).abs() < 0.02, "{worn} of {expected}");
}

#[test]
fn reads_and_writes_share_the_channels_and_reads_go_first() {
    let half = course(&alone(narrow()), "mix=50".parse().unwrap(), Pattern::Random, 16, 64, 2000);
    assert!((megabytes_per_s(&half) / 100.0 - 1.0).abs() < 0.02, "{}", megabytes_per_s(&half));
    let mean_us = |which: usize| half.latency[which].mean().unwrap() / 1e3;
    // 64 of 16 KiB at 100 MB/s are 10.5 ms on average, of which reads wait for a few others.
    assert!(mean_us(0) < 2_000.0 && mean_us(1) > 18_000.0, "{} {}", mean_us(0), mean_us(1));
    assert!(half.parts.last().unwrap().busy > 0.98);
}

#[test]
fn a_page_is_programmed_when_it_has_come_over_its_channel() {
    let mut without = Flash::new(Arc::new(FlashDrive { buffer: None, ..narrow() }));
    let write = Command { tag: 0, direction: Direction::Write, block: 0, count: 32, received_ns: 0 };
    assert_eq!(without.serve(0, write).ready_ns, 640_000 + 163_840);
}

#[test]
fn a_drive_that_is_hot_is_as_busy_as_one_that_is_not() {
    let heat = Heat {
        sustained: BytesPerSecond(1e9),
        reads_per_write: 2.0,
        time_constant: Nanoseconds(1_000_000_000),
        throttled: BytesPerSecond(3e8),
        until: 0.8,
    };
    let hot =
        course(&alone(FlashDrive { heat: Some(heat), ..drive() }), Operation::Write, Pattern::Random, 64, 8, 9000);
    // It is full half of the time, and held back for the other.
    let slow = hot.intervals.iter().filter(|(_, bytes)| *bytes < 1_000_000_000).count();
    assert!((2..7).contains(&slow), "{:?}", hot.intervals);
    assert!(hot.parts.last().unwrap().busy > 0.97, "{:?}", hot.parts);
}

#[test]
fn a_fast_area_is_what_there_always_is_and_what_is_free() {
    let took_ms = |state, trims: bool| {
        let mut flash = Flash::new(Arc::new(FlashDrive { fast_area: Some(AREA), state, ..drive() }));
        let mut now_ns = 0;
        let trim = Command { tag: 0, direction: Direction::Trim, block: 0, count: 1 << 24, received_ns: 0 };
        let writes =
            (0..8192).map(|index| Command { direction: Direction::Write, block: index * 128, count: 128, ..trim });
        for command in trims.then_some(trim).into_iter().chain(writes) {
            now_ns = flash.serve(now_ns, command).ready_ns;
        }
        now_ns as f64 / 1e6
    };
    // Half a gigabyte, a quarter of a nanosecond a byte; 0.61 beyond the fast area, and where the drive is worn more than that.
    let (fast, slow) = (f64::from(1 << 28) * 0.25e-6, f64::from(1 << 28) * 0.61e-6);
    let [fresh, filled] = [State::Fresh, State::Filled].map(|state| took_ms(state, false));
    assert!((fresh / (2.0 * fast) - 1.0).abs() < 0.02, "{fresh}");
    assert!((filled / (fast + slow) - 1.0).abs() < 0.02, "{filled} of {}", fast + slow);
    assert!(took_ms(State::Steady, false) > 1.2 * filled);
    assert!((took_ms(State::Steady, true) / fresh - 1.0).abs() < 0.02, "trimmed wholly it is fresh");
}

#[test]
fn writes_are_as_fast_as_the_buffer_until_it_is_full() {
    let drive = FlashDrive { buffer: Some(Bytes(64 << 20)), command_ns: [0, 1_000], delay_ns: [0, 9_000], ..drive() };
    // Thrice as fast as 64 units program: full after 64 MiB have come and 21 gone.
    let outcome = course(&alone(drive), Operation::Write, Pattern::Random, 4, 64, 100);
    let (fast, slow) = (4096e3, 64.0 * 16_384.0 / 640e-6 / 1e6);
    let full_s = (64 << 20) as f64 / 1e6 / (fast / 1e3 - slow);
    let expected = (full_s * fast / 1e3 + (0.1 - full_s) * slow) / 0.1;
    assert!((megabytes_per_s(&outcome) / expected - 1.0).abs() < 0.03, "{} of {expected}", megabytes_per_s(&outcome));
    // Two in five are done before it is full, and wait for the controller alone: 64 at a microsecond each.
    let soon = outcome.latency[1].quantile(0.2).unwrap();
    assert!((63_000..75_000).contains(&soon), "{soon}");
}

#[test]
fn a_fast_area_fills_and_empties_while_nothing_is_asked() {
    let mut flash = Flash::new(Arc::new(FlashDrive { fast_area: Some(AREA), ..drive() }));
    // Gives how long 64 KiB after 64 KiB take from a moment on, until so many have been written.
    let mut write = |from_ns: u64, number: u64| {
        let mut now_ns = from_ns;
        for index in 0..number {
            let command =
                Command { tag: 0, direction: Direction::Write, block: index * 128, count: 128, received_ns: now_ns };
            now_ns = flash.serve(now_ns, command).ready_ns;
        }
        (now_ns - from_ns) as f64
    };
    let gigabyte = (1_u64 << 30) as f64;
    let slow = 640e3 / (64.0 * 16_384.0);
    assert!((write(0, 16_384) / (gigabyte * 0.25) - 1.0).abs() < 0.01);
    let full = write(1_000_000_000, 16_384);
    // It rested for less than a second, 0.1 s of which it waited: 0.3 GB had left.
    let rested = (1.0 - 0.25 * gigabyte / 1e9 - 0.1) * 1e9 / 2.0;
    let expected = rested * 0.25 + (gigabyte - rested) * slow;
    assert!((full / expected - 1.0).abs() < 0.02, "{full} {expected}");
    assert!((write(60_000_000_000, 16_384) / (gigabyte * 0.25) - 1.0).abs() < 0.01);
}

#[test]
fn a_stream_is_read_ahead_of_and_a_write_takes_that_back() {
    let ahead = ReadAhead { size: Bytes(128 << 10), streams: 2 };
    let mut flash = Flash::new(Arc::new(FlashDrive { read_ahead: Some(ahead), ..drive() }));
    let mut took = |at_ns: u64, direction, block| {
        flash.serve(at_ns, Command { tag: 0, direction, block, count: 8, received_ns: at_ns }).ready_ns - at_ns
    };
    let read = Direction::Read;
    let times: Vec<u64> = (0..4).map(|index| took(index * 1_000_000, read, 8 + index * 8)).collect();
    assert!(times[0] >= 50_000 && times[1] >= 50_000, "nobody knows yet: {times:?}");
    assert!(times[2] < 1_000 && times[3] < 1_000, "{times:?}");
    // Two other reads, and it is forgotten; a write of what was read ahead makes that stale.
    let (here, there) = (took(5_000_000, read, 8000), took(6_000_000, read, 9000));
    assert!(here >= 50_000 && there >= 50_000);
    assert!(took(7_000_000, read, 40) >= 50_000);
    took(8_000_000, read, 48);
    took(9_000_000, Direction::Write, 60);
    assert!(took(10_000_000, read, 56) >= 50_000);
}

#[test]
fn a_flush_waits_until_the_buffer_is_empty_unless_that_is_protected() {
    let write = Command { tag: 0, direction: Direction::Write, block: 0, count: 2048, received_ns: 0 };
    let mut flash = Flash::new(Arc::new(drive()));
    // 1 MiB in 64 pages, one on each unit.
    assert!(flash.serve(0, write).ready_ns == 0 && !flash.is_flushed());
    assert_eq!(flash.next_ns(), Some(640_164), "a page over its channel, and its program");
    // More came in the meantime.
    flash.serve(100_000, Command { block: 9000, ..write });
    flash.advance(640_164);
    assert_eq!((flash.next_ns(), flash.is_flushed()), (Some(1_280_164), false));
    flash.advance(1_280_164);
    assert!(flash.is_flushed() && flash.next_ns().is_none());
    let mut safe = Flash::new(Arc::new(FlashDrive { is_protected: true, ..drive() }));
    safe.serve(0, write);
    assert!(safe.is_flushed() && safe.next_ns().is_none());
    let mut without = Flash::new(Arc::new(FlashDrive { buffer: None, ..drive() }));
    assert_eq!(without.serve(0, write).ready_ns, 640_164, "a program, without a buffer");
    let mut without = Flash::new(Arc::new(FlashDrive { buffer: None, fast_area: Some(AREA), ..drive() }));
    assert_eq!(without.serve(0, write).ready_ns, 262_308, "a quarter of a nanosecond for each of 64 pages");
}

#[test]
fn a_flush_command_waits_for_the_buffer_and_where_it_is_protected_is_none() {
    let [volatile, safe] = [false, true].map(|is_protected| {
        let machine = alone(FlashDrive { is_protected, ..drive() });
        course(&machine, "mix=write:90,flush:10".parse().unwrap(), Pattern::Random, 16, 1, 300)
    });
    let flush = RequestKind::Flush as usize;
    // The page that was written last is programmed, but where nine times in ten a write came before it and not another flush.
    let mean_us = volatile.latency[flush].mean().unwrap() / 1e3;
    assert!((mean_us / (0.9 * 640.0) - 1.0).abs() < 0.03, "{mean_us}");
    assert!(safe.latency[flush].count() > 100 && safe.latency[flush].mean() == Some(1.0), "{:?}", safe.latency[flush]);
    assert!(volatile.device[flush].0 > 100 && safe.device[flush].0 == 0);
}

#[test]
fn workers_of_one_small_file_write_as_fast_as_one_does() {
    // What continues none programs as much again; they all write to two of the 256 parts of the drive.
    let machine = alone(FlashDrive { mapping: Bytes(16 << 10), state: State::Filled, ..drive() });
    let rates = [1, 4, 16, 48].map(|workers| {
        let asked = workload(Pattern::Sequential, 16 << 10, 4, &machine);
        let (operation, span, limits) = (Operation::Write, Bytes(64 << 20), for_ms(200));
        megabytes_per_s(&run(&machine, &Workload { operation, workers, span, limits, ..asked }, &Cancel::default()))
    });
    assert!(rates.iter().all(|rate| (rate / rates[0] - 1.0).abs() < 0.05), "{rates:?}");
}

#[test]
fn small_reads_in_order_read_each_page_once() {
    let ahead = ReadAhead { size: Bytes(512 << 10), streams: 4 };
    let machine = alone(FlashDrive { read_ahead: Some(ahead), ..drive() });
    let [ordered, random] = [Pattern::Sequential, Pattern::Random]
        .map(|pattern| per_s(&course(&machine, Operation::Read, pattern, 4, 64, 60)));
    // Four of them are a page, of which a random read has one of its own.
    assert!(ordered > 3.0 * random, "{ordered} {random}");
}

#[test]
fn reads_go_before_what_is_programmed_and_take_its_time() {
    let machine = alone(FlashDrive { array: Array { suspend_ns: 20_000, ..drive().array }, ..drive() });
    let half = course(&machine, "mix=50".parse().unwrap(), Pattern::Random, 16, 64, 300);
    let mean_us = |which: usize| half.latency[which].mean().unwrap() / 1e3;
    // A read waits for a unit to stop, and for other reads; not for the buffer, which is a millisecond deep.
    assert!((70.0..130.0).contains(&mean_us(0)), "{}", mean_us(0));
    // A pair takes 70 us of a unit to read and 640 to write.
    let pairs = 64.0 / 710e-6;
    let rate = per_s(&half) / 2.0;
    assert!((rate / pairs - 1.0).abs() < 0.03, "{rate} of {pairs}");
    assert!(half.parts.last().unwrap().busy > 0.98);
}

/// 8 GiB in use and 4 spare: 12 for each of 8, or of 4 when half of it is given back.
#[test]
fn what_is_trimmed_is_not_copied_and_a_drive_that_was_trimmed_wholly_is_fresh() {
    let (blocks, step) = (8 << 21, 2048);
    let steady = || Space::new(drive().size, drive().spare, State::Steady);
    let trimmed = |upto: u64| {
        let mut space = steady();
        (0..upto / step).for_each(|index| space.trim(index * step, step));
        space
    };
    let close = |space: &mut Space, wanted: f64| {
        let found = space.write(5_000_000, 8).amplification;
        assert!((found / wanted - 1.0).abs() < 1e-3, "{found} for {wanted}");
    };
    close(&mut steady(), amplification(1.5));
    close(&mut trimmed(blocks / 2), amplification(3.0));
    // All of it: so much is written as there is before anything is copied, as on a drive that is fresh.
    let mut fresh = Space::new(drive().size, drive().spare, State::Fresh);
    let mut again = trimmed(blocks);
    for index in 0..100_000_u64 {
        let block = index.wrapping_mul(0x9E37_79B9_7F4A_7C15) % (blocks / 256) * 256;
        assert_eq!(fresh.write(block, 256), again.write(block, 256), "{index}");
    }
    assert!(again.write(0, 8).amplification > 1.0, "12.2 GiB were written");
    // One trim of everything, however it lies in parts, and one of a drive of which nothing is left.
    let mut at_once = steady();
    at_once.trim(0, blocks);
    at_once.trim(1000, 1 << 20);
    close(&mut at_once, 1.0);
}

/// Of places that are written as often as they are trimmed half hold something.
#[test]
fn writes_and_trims_at_random_leave_their_share() {
    let mut space = Space::new(drive().size, drive().spare, State::Steady);
    let mut random = halfpower_model::random::Random::new(7);
    for _ in 0..400_000 {
        let block = random.below(1 << 17) * 128;
        if random.below(2) == 0 {
            space.trim(block, 128)
        } else {
            let _ = space.write(block, 128);
        }
    }
    let (found, wanted) = (space.write(64, 8).amplification, amplification(3.0));
    assert!((found / wanted - 1.0).abs() < 0.02, "{found} for {wanted}");
}

#[test]
fn a_trim_takes_the_controller_its_time() {
    let cost = Trim { command: Nanoseconds(10_000), rate: BytesPerSecond(1e13) };
    let machine = alone(FlashDrive { trim: Some(cost), ..drive() });
    let outcome = course(&machine, Operation::Trim, Pattern::Random, 1 << 20, 4, 100);
    // 107 us for 1 GiB, and 10: one after another.
    assert!((per_s(&outcome) * 117.374e-6 - 1.0).abs() < 0.01, "{}", per_s(&outcome));
    assert_eq!((outcome.device[0], outcome.device[1], outcome.bytes[1]), ((0, 0), (0, 0), 0));
    assert_eq!(outcome.device[2].1, outcome.device[2].0 << 30);
}
