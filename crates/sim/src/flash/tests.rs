//! A flash drive against theory, alone and in a machine.

use super::space::amplification;
use super::*;
use crate::machine::{self, Machine};
use crate::system::tests::{Outcome, for_ms, machine, megabytes_per_s, requests, run, workload};
use halfpower_model::{Bytes, BytesPerSecond, Cancel, Nanoseconds, Operation, Pattern, RequestKind, Workload};

/// 64 units of 16 KiB pages, 50 µs per read and 640 µs per program, on 8 fast channels; half as much flash again.
pub(super) fn drive() -> FlashDrive {
    FlashDrive {
        size: Bytes(8 << 30),
        spare: Bytes(4 << 30),
        units: 64,
        channels: 8,
        page: Bytes(16 << 10),
        read: Nanoseconds(50_000),
        program: Nanoseconds(640_000),
        channel_rate: BytesPerSecond(1e11),
        buffer: Some(Bytes(1 << 20)),
        state: State::Filled,
        ..FlashDrive::default()
    }
}

/// MB/s that its units program.
const FULL: f64 = 64.0 * 16_384.0 / 640e-6 / 1e6;

const FREE: Trim = Trim { command: Nanoseconds(0), rate: BytesPerSecond(1e15) };

const AREA: FastArea = FastArea {
    size: Bytes(1 << 30),
    always: Some(Bytes(1 << 28)),
    rate: BytesPerSecond(4e9),
    copy_rate: BytesPerSecond(5e8),
    rest: Nanoseconds(100_000_000),
};

/// The drive alone: a machine without costs and buses.
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

/// Requests of so many KiB over the whole drive.
pub(super) fn course(drive: FlashDrive, operation: &str, pattern: Pattern, kib: u64, depth: u32, ms: u64) -> Outcome {
    let machine = alone(drive);
    let (operation, span, limits) = (operation.parse().unwrap(), machine.size(), for_ms(ms));
    let workload = Workload { operation, span, limits, ..workload(pattern, kib << 10, depth, &machine) };
    run(&machine, &workload, &Cancel::default())
}

pub(super) fn per_s(outcome: &Outcome) -> f64 {
    requests(outcome) as f64 / outcome.elapsed_ns as f64 * 1e9
}

pub(super) fn close(what: &str, found: f64, wanted: f64, percent: f64) {
    assert!((found / wanted - 1.0).abs() < percent / 100.0, "{what}: {found} of {wanted}");
}

/// Exact mean value analysis of a closed network of one controller and so many units, with their times per visit: requests per
/// second.
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
        let mut last = 0.0;
        for depth in [1, 4, 16, 64, 256, 1024] {
            let drive = FlashDrive { read_command: Nanoseconds((controller_us * 1e3) as u64), ..drive() };
            let rate = per_s(&course(drive, "read", Pattern::Random, 4, depth, 60));
            // The analysis is exact for exponential times. Constant times queue less, and no order beats the asymptotes.
            let least = mva(controller_us, 50.0, 64.0, depth);
            let most = (f64::from(depth) / (controller_us + 50.0)).min(1.0 / controller_us.max(50.0 / 64.0)) * 1e6;
            assert!(
                rate > least * 0.99 && rate < most.min(least * 1.2) * 1.001,
                "QD{depth}: {rate} of {least} to {most}"
            );
            assert!(rate > last * 0.999, "QD{depth}: {rate} after {last}");
            last = rate;
        }
        assert!(last > 0.95 * 1e6 / f64::max(controller_us, 50.0 / 64.0), "{last}");
    }
}

#[test]
fn a_request_of_several_pages_uses_several_units_and_their_channels() {
    // 128 KiB are 8 pages, which take as long as one; 4 MiB are four on each unit.
    for (kib, depth, wanted) in [(128, 1, 20_000.0), (4096, 1, 5_000.0), (128, 64, 64.0 * 16_384.0 / 50e-6 / 131_072.0)]
    {
        let rate = per_s(&course(drive(), "read", Pattern::Sequential, kib, depth, 100));
        close(&format!("{kib} KiB, QD{depth}"), rate, wanted, 5.0);
    }
    // 8 channels of 100 MB/s.
    let slow = FlashDrive { channel_rate: BytesPerSecond(1e8), ..drive() };
    let outcome = course(slow, "read", Pattern::Sequential, 128, 64, 200);
    close("channels", megabytes_per_s(&outcome), 800.0, 3.0);
    assert!(outcome.parts.last().unwrap().busy > 0.97, "{:?}", outcome.parts);
}

/// One channel of 100 MB/s.
fn narrow() -> FlashDrive {
    FlashDrive { channels: 1, channel_rate: BytesPerSecond(1e8), ..drive() }
}

#[test]
fn garbage_collection_costs_units_and_channels_what_the_law_says() {
    let write = |drive: FlashDrive, pattern| {
        let outcome = course(drive, "write", pattern, 64, 32, 8000);
        assert!(outcome.parts.last().unwrap().busy > 0.98, "{:?}", outcome.parts);
        megabytes_per_s(&outcome)
    };
    let worn = |drive| FlashDrive { state: State::Steady, ..drive };
    close("in order", write(drive(), Pattern::Sequential), FULL, 1.0);
    close("over one channel", write(narrow(), Pattern::Sequential), 100.0, 2.0);
    for (spare, flash) in [(4, 1.5), (1, 1.125)] {
        let (spare, programs) = (Bytes(spare << 30), amplification(flash));
        let law = programs + (programs - 1.0) * 50.0 / 640.0;
        close("worn", write(worn(FlashDrive { spare, ..drive() }), Pattern::Random), FULL / law, 2.0);
        // What is copied goes over the channels twice.
        let over = write(worn(FlashDrive { spare, ..narrow() }), Pattern::Random);
        close("worn, over one channel", over, 100.0 / (2.0 * programs - 1.0), 2.0);
    }
}

#[test]
fn garbage_collection_begins_when_the_erased_flash_is_used_up() {
    let rates = |state, pattern| {
        let outcome = course(FlashDrive { state, ..drive() }, "write", pattern, 64, 32, 12_000);
        let rates: Vec<f64> = outcome.intervals.iter().map(|(_, bytes)| *bytes as f64 / 1e6).collect();
        (rates[1], rates[10], rates.iter().sum::<f64>())
    };
    let steady = FULL / (amplification(1.5) + (amplification(1.5) - 1.0) * 50.0 / 640.0);
    let (first, last, all) = rates(State::Filled, Pattern::Random);
    close("at first", first, FULL, 1.0);
    close("at last", last, steady, 1.0);
    let slow_s = (12.0 - all / FULL) / (1.0 - steady / FULL);
    close("erased MB of the spare 4 GiB", (12.0 - slow_s) * FULL, 4295.0, 2.0);
    // A fresh drive has more, and later some addresses are still unwritten, so that more is spare.
    let (first, last, all_of_fresh) = rates(State::Fresh, Pattern::Random);
    close("fresh", first, FULL, 1.0);
    assert!(last > steady * 1.02 && last < FULL * 0.8 && all_of_fresh > all * 1.2, "{last} {all_of_fresh} {all}");
    close("a stream", rates(State::Filled, Pattern::Sequential).1, FULL, 1.0);
}

#[test]
fn reads_go_first_and_take_the_time_of_writes() {
    let suspends = FlashDrive { suspend: Nanoseconds(20_000), ..drive() };
    let half = course(suspends, "mix=50", Pattern::Random, 16, 64, 300);
    let mean_us = |outcome: &Outcome, which: usize| outcome.latency[which].mean().unwrap() / 1e3;
    // A read waits for a suspension and for other reads, not for the buffer, which is a millisecond deep.
    assert!((70.0..130.0).contains(&mean_us(&half, 0)), "{}", mean_us(&half, 0));
    close("pairs of 70 µs and 640 µs", per_s(&half) / 2.0, 64.0 / 710e-6, 3.0);
    let half = course(narrow(), "mix=50", Pattern::Random, 16, 64, 2000);
    close("one channel", megabytes_per_s(&half), 100.0, 2.0);
    // 64 requests of 16 KiB at 100 MB/s take 10.5 ms on average.
    assert!(mean_us(&half, 0) < 2_000.0 && mean_us(&half, 1) > 18_000.0, "{:?}", half.parts);
    assert!(half.parts.last().unwrap().busy > 0.98);
}

#[test]
fn writes_are_as_fast_as_the_controller_until_the_buffer_is_full() {
    let (write_command, write_delay) = (Nanoseconds(1_000), Nanoseconds(9_000));
    let drive = FlashDrive { buffer: Some(Bytes(64 << 20)), write_command, write_delay, ..drive() };
    // Full after 64 MiB more have come than gone.
    let outcome = course(drive, "write", Pattern::Random, 4, 64, 100);
    let full_s = f64::from(64 << 20) / 1e6 / (4096.0 - FULL);
    close("MB/s", megabytes_per_s(&outcome), (full_s * 4096.0 + (0.1 - full_s) * FULL) / 0.1, 3.0);
    // Two in five are done before, and wait for the controller alone: 64 at a microsecond each.
    let soon = outcome.latency[1].quantile(0.2).unwrap();
    assert!((63_000..75_000).contains(&soon), "{soon}");
}

/// Milliseconds of so many writes of 64 KiB, one after another from a moment on, after a trim of the whole drive or none.
fn writes_ms(flash: &mut Flash, from_ms: u64, number: u64, trims: bool) -> f64 {
    let command = |direction, block, count| Command { tag: 0, direction, block, count, received_ns: 0 };
    let trim = trims.then(|| command(Direction::Trim, 0, 1 << 24));
    let writes = (0..number).map(|index| command(Direction::Write, index * 128, 128));
    let mut now_ns = from_ms * 1_000_000;
    trim.into_iter().chain(writes).for_each(|command| now_ns = flash.serve(now_ns, command).ready_ns);
    now_ns as f64 / 1e6 - from_ms as f64
}

#[test]
fn a_fast_area_takes_writes_first_and_empties_while_the_drive_is_idle() {
    let new = |state| Flash::new(Arc::new(FlashDrive { fast_area: Some(AREA), state, ..drive() }), 1);
    // A full drive has a quarter of a GiB; the other quarter of these writes goes beyond it.
    let [fast, slow] = [4000.0, FULL].map(|rate| f64::from(1 << 28) / rate / 1e3);
    close("fresh", writes_ms(&mut new(State::Fresh), 0, 8192, false), 2.0 * fast, 2.0);
    close("filled", writes_ms(&mut new(State::Filled), 0, 8192, false), fast + slow, 2.0);
    assert!(writes_ms(&mut new(State::Steady), 0, 8192, false) > 1.2 * (fast + slow));
    close("trimmed", writes_ms(&mut new(State::Steady), 0, 8192, true), 2.0 * fast, 2.0);
    let mut flash = new(State::Fresh);
    close("1 GiB", writes_ms(&mut flash, 0, 16_384, false), 4.0 * fast, 1.0);
    // It was idle until 1 s, and waited for 0.1 s of that: 0.3 GB have left.
    let left = (1.0 - 4.0 * fast / 1e3 - 0.1) / 2.0 * 1e9 / f64::from(1 << 28);
    let expected = left * fast + (4.0 - left) * slow;
    close("after a second", writes_ms(&mut flash, 1_000, 16_384, false), expected, 2.0);
    close("after a minute", writes_ms(&mut flash, 60_000, 16_384, false), 4.0 * fast, 1.0);
}

#[test]
fn read_ahead_serves_streams_and_a_write_makes_it_stale() {
    let ahead = Some(ReadAhead { size: Bytes(128 << 10), streams: 2 });
    let mut flash = Flash::new(Arc::new(FlashDrive { read_ahead: ahead, ..drive() }), 1);
    let mut took = |at_ms: u64, direction, block| {
        let at_ns = at_ms * 1_000_000;
        flash.serve(at_ns, Command { tag: 0, direction, block, count: 8, received_ns: at_ns }).ready_ns - at_ns
    };
    let read = Direction::Read;
    let times: Vec<u64> = (0..4).map(|index| took(index, read, 8 + index * 8)).collect();
    assert!(times[0] >= 50_000 && times[1] >= 50_000 && times[2] < 1_000 && times[3] < 1_000, "{times:?}");
    // After two other reads the stream is forgotten.
    assert!(took(5, read, 8000) >= 50_000 && took(6, read, 9000) >= 50_000 && took(7, read, 40) >= 50_000);
    took(8, read, 48);
    took(9, Direction::Write, 60);
    assert!(took(10, read, 56) >= 50_000);
    // A stream of 4 KiB reads each page once, where random reads need a page each.
    let ahead = Some(ReadAhead { size: Bytes(512 << 10), streams: 4 });
    let rate = |pattern| per_s(&course(FlashDrive { read_ahead: ahead, ..drive() }, "read", pattern, 4, 64, 60));
    let (ordered, random) = (rate(Pattern::Sequential), rate(Pattern::Random));
    assert!(ordered > 3.0 * random, "{ordered} {random}");
}

#[test]
fn a_read_of_unwritten_blocks_needs_no_flash() {
    let drive = FlashDrive { state: State::Fresh, trim: Some(FREE), ..drive() };
    let mut flash = Flash::new(Arc::new(FlashDrive { read_delay: Nanoseconds(7_000), ..drive }), 1);
    let mut took = |at_ms: u64, direction, block, count| {
        let at_ns = at_ms * 1_000_000;
        flash.serve(at_ns, Command { tag: 0, direction, block, count, received_ns: at_ns }).ready_ns - at_ns
    };
    let (read, write) = (Direction::Read, Direction::Write);
    assert_eq!([took(0, read, 0, 8), took(1, read, 1 << 20, 8)], [7_000, 7_000]);
    took(2, write, 1 << 20, 1024);
    let around = [(1 << 20) - 8, 1 << 20, (1 << 20) + 1016, (1 << 20) + 1024];
    assert_eq!(around.map(|block| took(50, read, block, 8) > 50_000), [false, true, true, false]);
    // With every second MiB trimmed, half of the reads need flash.
    took(100, write, 0, 1 << 24);
    (0..4096).for_each(|index| _ = took(100_000, Direction::Trim, index * 4096, 2048));
    let touched = (0..4096).filter(|index| took(200_000 + index * 10, read, index * 4096 + 8, 8) > 50_000).count();
    assert!((1900..2700).contains(&touched), "{touched}");
}

#[test]
fn a_flush_waits_until_the_buffer_is_empty_unless_it_is_protected() {
    let write = Command { tag: 0, direction: Direction::Write, block: 0, count: 2048, received_ns: 0 };
    let mut flash = Flash::new(Arc::new(drive()), 1);
    // 1 MiB in 64 pages, one on each unit.
    assert!(flash.serve(0, write).ready_ns == 0 && !flash.is_flushed());
    assert_eq!(flash.next_ns(), Some(640_164), "a page over its channel, and its program");
    flash.serve(100_000, Command { block: 9000, ..write });
    flash.advance(640_164);
    assert_eq!((flash.next_ns(), flash.is_flushed()), (Some(1_280_164), false), "more came in the meantime");
    flash.advance(1_280_164);
    assert!(flash.is_flushed() && flash.next_ns().is_none());
    let mut safe = Flash::new(Arc::new(FlashDrive { protected: true, ..drive() }), 1);
    safe.serve(0, write);
    assert!(safe.is_flushed() && safe.next_ns().is_none());
    // Without a buffer a write takes a program, in the fast area a faster one.
    for (fast_area, took_ns) in [(None, 640_164), (Some(AREA), 262_308)] {
        let mut without = Flash::new(Arc::new(FlashDrive { buffer: None, fast_area, ..drive() }), 1);
        assert_eq!(without.serve(0, write).ready_ns, took_ns);
    }
    let [volatile, safe] = [false, true].map(|protected| {
        course(FlashDrive { protected, ..drive() }, "mix=write:90,flush:10", Pattern::Random, 16, 1, 300)
    });
    let flush = RequestKind::Flush as usize;
    // The last page is programmed, unless the request before was another flush.
    close("flush", volatile.latency[flush].mean().unwrap() / 1e3, 0.9 * 640.0, 3.0);
    assert!(safe.latency[flush].count() > 100 && safe.latency[flush].mean() == Some(1.0), "{:?}", safe.latency[flush]);
    assert!(volatile.device[flush].0 > 100 && safe.device[flush].0 == 0);
}

#[test]
fn a_trim_takes_the_controller_its_time() {
    let trim = Some(Trim { command: Nanoseconds(10_000), rate: BytesPerSecond(1e13) });
    let outcome = course(FlashDrive { trim, ..drive() }, "trim", Pattern::Random, 1 << 20, 4, 100);
    // 107 µs for 1 GiB, and 10 µs, one after another.
    close("trims", per_s(&outcome), 1e6 / 117.374, 1.0);
    assert_eq!((outcome.device[0], outcome.device[1], outcome.bytes[1]), ((0, 0), (0, 0), 0));
    assert_eq!(outcome.device[2].1, outcome.device[2].0 << 30);
}

#[test]
fn a_throttled_drive_counts_as_busy() {
    let heat = Some(Heat {
        sustained: BytesPerSecond(1e9),
        reads_per_write: 2.0,
        time_constant: Nanoseconds(1_000_000_000),
        throttled: BytesPerSecond(3e8),
        until: 0.8,
    });
    let hot = course(FlashDrive { heat, state: State::Fresh, ..drive() }, "write", Pattern::Random, 64, 8, 9000);
    let slow = hot.intervals.iter().filter(|(_, bytes)| *bytes < 1_000_000_000).count();
    assert!((2..7).contains(&slow), "{:?}", hot.intervals);
    assert!(hot.parts.last().unwrap().busy > 0.97, "{:?}", hot.parts);
}

#[test]
fn many_workers_write_one_small_file_as_fast_as_one() {
    let machine = alone(FlashDrive { mapping: Bytes(16 << 10), ..drive() });
    let rates = [1, 4, 16, 48].map(|workers| {
        let asked = workload(Pattern::Sequential, 16 << 10, 4, &machine);
        let (operation, span, limits) = (Operation::Write, Bytes(64 << 20), for_ms(200));
        megabytes_per_s(&run(&machine, &Workload { operation, workers, span, limits, ..asked }, &Cancel::default()))
    });
    assert!(rates.iter().all(|rate| (rate / rates[0] - 1.0).abs() < 0.05), "{rates:?}");
}
