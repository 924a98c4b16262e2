//! Courses that a hand can follow.

use crate::bus::Bus;
use crate::controller::{Controller, Forwarding};
use crate::disk::{Noise, arm::Mechanics};
use crate::machine::{AttachedDisk, Cpu, OperatingSystem};
use crate::volume::Reader;
use halfpower_model::workload::Rate;
use halfpower_model::{Cancel, Personality};
use std::sync::Arc;

/// What most tests of machines at work need.
pub(crate) use super::{Outcome, run};
pub(crate) use crate::disk::scheduler::Scheduler;
pub(crate) use crate::disk::tests::{atlas, larger};
pub(crate) use crate::disk::{Drive, WriteCache};
pub(crate) use crate::machine::{Cost, Device, Growth, Machine, PageCache, Part, PartKind, SplitAt};
pub(crate) use crate::volume::Volume;
pub(crate) use halfpower_model::{
    Buffering, Bytes, Durability, Histogram, Limits, Nanoseconds, Operation, Pattern, Sharing, Workload,
};

pub(crate) fn bus(name: &str, bytes_per_s: f64) -> Part {
    let (command, status) = (Nanoseconds(10_000), Nanoseconds(5_000));
    let bus = Bus { command, status, ..Bus::default() };
    Part { name: name.to_owned(), ns_per_byte: [1e9 / bytes_per_s; 2], kind: PartKind::Bus(bus) }
}

pub(crate) fn machine(drive: Drive, disks: usize, volume: Volume) -> Machine {
    let drive = Arc::new(drive);
    let cost = Cost { fixed_us: 30.0, marginal_us_per_kib: 0.25 };
    Machine {
        name: "test".to_owned(),
        cpu: Cpu { count: 2, model: String::new(), clock: None, memory: Bytes(1 << 28) },
        system: OperatingSystem {
            name: "test".to_owned(),
            split: Some(Bytes(64 << 10)),
            split_at: SplitAt::Volume,
            direct_read: cost,
            direct_write: cost,
            completion_share: 0.4,
            interrupt_jitter: Nanoseconds(0),
            cache: None,
            growth: Growth::Serial,
        },
        parts: vec![bus("scsi", 160e6), bus("pci", 133e6)],
        disks: (0..disks)
            .map(|_| AttachedDisk {
                device: Device::Disk(Arc::clone(&drive)),
                name: "disk".to_owned(),
                near: vec![0, 1],
                far: Vec::new(),
                queue: None,
            })
            .collect(),
        volume,
        offset: Bytes(0),
        made: None,
        share: None,
        wire: Vec::new(),
    }
}

pub(crate) fn workload(pattern: Pattern, request_size: u64, depth: u32, machine: &Machine) -> Workload {
    Workload {
        pattern,
        request_size: Bytes(request_size),
        buffering: Buffering::Direct,
        depth,
        span: Bytes((machine.size().0 / request_size * request_size).min(4 << 30)),
        limits: for_ms(20_000),
        ..Workload::default()
    }
}

/// A controller that costs 1 µs a command.
pub(super) fn controller(bytes: Forwarding, outstanding: Option<u32>) -> Part {
    let controller = Controller {
        request: Nanoseconds(1000),
        read_rate: None,
        write_rate: None,
        bytes,
        outstanding,
        order: None,
        merge: None,
        driver_read: None,
        driver_write: None,
    };
    Part { name: "card".to_owned(), ns_per_byte: [0.0; 2], kind: PartKind::Controller(controller) }
}

/// Of 64 MiB, a quarter of which may be dirty.
pub(crate) fn page_cache() -> PageCache {
    PageCache {
        read: Cost { fixed_us: 12.0, marginal_us_per_kib: 4.0 },
        write: Cost { fixed_us: 12.0, marginal_us_per_kib: 5.0 },
        paging: Nanoseconds(70_000),
        share: 0.25,
        dirty_share: 0.0625,
        scan: Nanoseconds(1_000_000_000),
        parallel: None,
    }
}

pub(crate) fn of_requests(requests: u64) -> Limits {
    Limits { requests: Some(requests), ..Limits::default() }
}

pub(crate) fn of_bytes(bytes: u64) -> Limits {
    Limits { bytes: Some(Bytes(bytes)), ..Limits::default() }
}

pub(crate) fn for_ms(ms: u64) -> Limits {
    Limits { duration: Some(Nanoseconds(ms * 1_000_000)), ..Limits::default() }
}

pub(crate) fn course(machine: &Machine, workload: &Workload) -> Outcome {
    run(machine, workload, &Cancel::default())
}

/// The same, unless it takes so many steps or more.
pub(crate) fn course_within(machine: &Machine, workload: &Workload, most_steps: u64) -> Option<Outcome> {
    let cursors = super::cursors(workload);
    let mut system = super::started(machine, workload, &cursors);
    let steps = (0..most_steps).position(|_| !system.step());
    steps.map(|_| system.finish())
}

pub(crate) fn megabytes_per_s(outcome: &Outcome) -> f64 {
    outcome.bytes.iter().sum::<u64>() as f64 / outcome.elapsed_ns as f64 * 1e3
}

pub(crate) fn requests(outcome: &Outcome) -> u64 {
    outcome.latency.iter().map(Histogram::count).sum()
}

/// Microseconds of a CPU for a request.
pub(super) fn cpu_us(outcome: &Outcome) -> f64 {
    outcome.cpu_ns as f64 / requests(outcome) as f64 / 1e3
}

pub(super) fn busy(outcome: &Outcome, name: &str) -> f64 {
    outcome.parts.iter().find(|part| part.name == name).unwrap().busy
}

/// Every request is done once with its bytes, and no part works for more than there is time. Little: what is outstanding on average is
/// the rate times the mean latency.
pub(crate) fn hold(outcome: &Outcome, workload: &Workload) {
    let most = workload.limits.requests.unwrap();
    assert_eq!((requests(outcome), outcome.bytes.iter().sum()), (most, most * workload.request_size.0));
    assert_eq!(outcome.intervals.iter().map(|(requests, _)| requests).sum::<u64>(), most);
    for part in &outcome.parts {
        assert!((0.0..=1.0 + 1e-9).contains(&part.busy), "{part:?}");
    }
    let took_ns: f64 = outcome.latency.iter().map(Histogram::sum).sum();
    let outstanding_ns = outcome.outstanding_ns as f64;
    assert!((took_ns - outstanding_ns).abs() <= 1e-6 * outstanding_ns, "{took_ns} {outstanding_ns}");
    let most = outcome.elapsed_ns as f64 * f64::from(workload.depth * workload.workers);
    assert!(outstanding_ns <= most * (1.0 + 1e-9), "{outstanding_ns} of {most}");
}

#[test]
fn sequential_reads_run_at_the_speed_of_the_medium() {
    let machine = machine(atlas(Scheduler::CLook), 1, Volume::Each);
    // A stream begins anywhere in its span, which keeps to the outermost zone here.
    let workload = Workload { span: Bytes(1 << 30), ..workload(Pattern::Sequential, 65_536, 2, &machine) };
    let outcome = course(&machine, &workload);
    // The outermost tracks: six of 334 blocks with five shifts of 63 and one of 113, in six turns and a bit.
    let sectors = 6.0 * 334.0;
    let medium = sectors * 512.0 / ((sectors + 5.0 * 63.0 + 113.0) / 334.0 * 60.0 / 10_025.0) / 1e6;
    let measured = megabytes_per_s(&outcome);
    assert!((measured / medium - 1.0).abs() < 0.01, "{measured} of {medium}");
    let arm = outcome.parts.last().unwrap();
    assert_eq!((outcome.parts.len(), arm.name.as_str()), (4, "disk 1"));
}

#[test]
fn stripes_add_up_until_a_bus_is_full() {
    let [one, two, eight] = [1, 2, 8].map(|disks| {
        let machine = machine(atlas(Scheduler::CLook), disks, Volume::Stripe { chunk: Bytes(65_536) });
        course(&machine, &workload(Pattern::Sequential, 1 << 20, 4, &machine))
    });
    let ratio = megabytes_per_s(&two) / megabytes_per_s(&one);
    assert!((ratio - 2.0).abs() < 0.03, "{ratio}");
    // 64 KiB in 493 µs and 15 of a command and a status: 129.1 MB/s.
    assert!((megabytes_per_s(&eight) / 129.1 - 1.0).abs() < 0.01, "{}", megabytes_per_s(&eight));
    let busiest = eight.parts.iter().max_by(|one, other| one.busy.total_cmp(&other.busy)).unwrap();
    assert!(busiest.name == "pci" && busiest.busy > 0.99 && busiest.busy <= 1.0, "{busiest:?}");
}

/// Spindles turn at their own phase and speed, and the arms move alike. So n disks without write caches have written their blocks
/// after the longest of n uniform rotational delays, n/(n + 1) of a rotation, as a mirror or as the stripe of a request.
#[test]
fn a_write_to_several_disks_waits_for_the_slowest_of_independent_spindles() {
    let drive = larger(Scheduler::Fcfs);
    let mechanics = Mechanics { zero_latency: false, ..drive.mechanics };
    let drive = Drive { mechanics, noise: Noise { speed: 0.001, ..Noise::default() }, ..drive };
    let turn_ns = drive.mechanics.turn_ns;
    let mean_ns = |disks: usize, volume: Volume| {
        let machine = machine(drive.clone(), disks, volume);
        let size = if matches!(volume, Volume::Stripe { .. }) { 512 * disks as u64 } else { 512 };
        let random = workload(Pattern::Random, size, 1, &machine);
        let (operation, span, limits) = (Operation::Write, machine.size(), of_requests(10_000));
        course(&machine, &Workload { operation, span, limits, ..random }).elapsed_ns as f64 / 10_000.0
    };
    let one_ns = mean_ns(1, Volume::Each);
    for disks in [2, 4] {
        let expected_ns = one_ns + (disks as f64 / (disks as f64 + 1.0) - 0.5) * turn_ns;
        for volume in [Volume::Mirror { reader: Reader::Nearest }, Volume::Stripe { chunk: Bytes(512) }] {
            let found_ns = mean_ns(disks, volume);
            assert!((found_ns / expected_ns - 1.0).abs() < 0.03, "{disks}, {volume:?}: {found_ns} of {expected_ns}");
        }
    }
}

#[test]
fn a_rate_is_kept_and_commands_straight_to_a_disk_pass_the_system_by() {
    let machine = machine(atlas(Scheduler::CLook), 1, Volume::Each);
    let paced = |personality| Workload {
        rate: Some(Rate::Requests(20)),
        personality,
        ..workload(Pattern::Sequential, 262_144, 1, &machine)
    };
    let measured = |personality| course(&machine, &paced(personality));
    let (whole, straight) = (measured(Personality::Sync), measured(Personality::Sg));
    assert_eq!((requests(&whole), requests(&straight)), (400, 400), "20 a second for 20 seconds");
    assert_eq!((whole.device[0].0, straight.device[0].0), (1600, 400), "nobody cuts a command");
    assert!(whole.cpu_ns > 0 && straight.cpu_ns == 0);
}

#[test]
fn interrupts_that_vary_add_their_mean_to_the_latency_and_nothing_to_the_cpu() {
    let measured = |jitter_ns| {
        let mut machine = machine(atlas(Scheduler::CLook), 1, Volume::Each);
        machine.system.interrupt_jitter = Nanoseconds(jitter_ns);
        let outcome = course(&machine, &workload(Pattern::Random, 4096, 1, &machine));
        (outcome.latency[0].mean().unwrap() / 1e6, cpu_us(&outcome))
    };
    let (exact, noisy) = (measured(0), measured(10_000_000));
    let added_ms = noisy.0 - exact.0;
    assert!((9.5..10.5).contains(&added_ms) && (noisy.1 - exact.1).abs() < 0.1, "{exact:?} {noisy:?}");
}

#[test]
fn a_request_is_cut_above_the_volume_or_for_each_disk() {
    let commands = |volume, size, split_at, made| {
        let mut machine = machine(larger(Scheduler::CLook), 4, volume);
        machine.system.split_at = split_at;
        machine.made = made;
        let workload = Workload {
            operation: Operation::Write,
            limits: of_requests(100),
            ..workload(Pattern::Sequential, size, 1, &machine)
        };
        let [(reads, _), (writes, _), ..] = course(&machine, &workload).device;
        [reads, writes]
    };
    // Chunks of 48 KiB: two commands, or three if the request is cut at 64 KiB above the volume. The system takes for one disk
    // what a controller makes.
    let stripe = Volume::Stripe { chunk: Bytes(48 << 10) };
    let in_controller = || Some(Vec::new());
    assert_eq!(commands(stripe, 96 << 10, SplitAt::Disk, None), [0, 200]);
    assert_eq!(commands(stripe, 96 << 10, SplitAt::Volume, None), [0, 300]);
    assert_eq!(commands(stripe, 96 << 10, SplitAt::Disk, in_controller()), [0, 300]);
    // Rows of 96 KiB, three of 32 KiB and one of parity: the parts of a request meet in their rows, wherever they are cut.
    let raid5 = Volume::Raid5 { chunk: Bytes(32 << 10) };
    assert_eq!(commands(raid5, 96 << 10, SplitAt::Disk, None), [0, 400]);
    assert_eq!(commands(raid5, 96 << 10, SplitAt::Volume, None), [0, 400]);
    assert_eq!(commands(raid5, 96 << 10, SplitAt::Disk, in_controller()), [0, 400]);
    // 160 KiB are three commands of a disk, wherever they are cut.
    for split_at in [SplitAt::Disk, SplitAt::Volume] {
        assert_eq!(commands(Volume::Each, 160 << 10, split_at, None), [0, 300]);
    }
}

/// Of 4096 that are outstanding when the window is over none is done.
#[test]
fn a_device_has_done_what_its_requests_have() {
    let machine = machine(larger(Scheduler::Fcfs), 1, Volume::Each);
    let outcome = course(&machine, &workload(Pattern::Random, 4096, 4096, &machine));
    let done = requests(&outcome);
    assert!((200..4096).contains(&done), "{done}");
    assert!((done..=done + 1).contains(&outcome.device[0].0), "{:?} of {done}", outcome.device);
}

/// Sequential reads of 1 MiB, of which a window holds from one to seven: it has their rate, and not a multiple of one a window.
#[test]
fn a_window_of_few_requests_has_their_rate() {
    let machine = machine(atlas(Scheduler::CLook), 1, Volume::Each);
    for depth in [1, 4] {
        let long = workload(Pattern::Sequential, 1 << 20, depth, &machine);
        let long = Workload { warmup: Nanoseconds(200_000_000), ..long };
        let rate = megabytes_per_s(&course(&machine, &long));
        for window_ms in [20, 60, 80, 110, 170, 300] {
            let outcome = course(&machine, &Workload { limits: for_ms(window_ms), ..long.clone() });
            let few = megabytes_per_s(&outcome);
            assert!((few / rate - 1.0).abs() < 0.03, "{window_ms} ms, QD{depth}: {few} and not {rate} MB/s");
            // Nothing of a request lies outside.
            let outstanding = outcome.outstanding_ns as f64 / outcome.elapsed_ns as f64;
            assert!(outstanding <= f64::from(depth), "{window_ms} ms: {outstanding} outstanding of {depth}");
            let done = requests(&outcome);
            assert!(outcome.device[0].1 >= (done + 1 - u64::from(depth)) << 20, "{:?} of {done}", outcome.device);
        }
    }
}

/// Of many requests the window is what was asked for.
#[test]
fn a_window_of_many_requests_ends_when_it_was_to() {
    let machine = machine(atlas(Scheduler::CLook), 1, Volume::Each);
    let workload = workload(Pattern::Sequential, 64 << 10, 1, &machine);
    let workload = Workload { warmup: Nanoseconds(100_000_001), ..workload };
    let outcome = course(&machine, &workload);
    assert_eq!(outcome.elapsed_ns, 20_000_000_000);
    assert!(outcome.outstanding_ns <= u128::from(outcome.elapsed_ns), "{}", outcome.outstanding_ns);
    // A rate that holds requests back: ten a second are ten in a second, however many that is.
    let slow = Workload { rate: Some(Rate::Requests(10)), limits: for_ms(1000), ..workload };
    let outcome = course(&machine, &slow);
    assert_eq!((requests(&outcome), outcome.elapsed_ns), (10, 1_000_000_000));
}

/// What is cut off by the end is in the count of what was outstanding and in no latency: together they are the whole window.
#[test]
fn what_the_end_cuts_off_is_told() {
    let machine = machine(atlas(Scheduler::CLook), 1, Volume::Each);
    let outcome = course(&machine, &workload(Pattern::Random, 8192, 1, &machine));
    let latency = &outcome.latency[0];
    let received_ns = latency.mean().unwrap() * latency.count() as f64 + outcome.cut_off.longest_ns as f64;
    assert!(
        (received_ns / outcome.outstanding_ns as f64 - 1.0).abs() < 1e-9,
        "{received_ns} of {}",
        outcome.outstanding_ns
    );
    assert_eq!((outcome.cut_off.requests, outcome.cut_off.longest_ns > 0), (1, true));
    let all = Workload { limits: of_requests(20), ..workload(Pattern::Random, 8192, 8, &machine) };
    assert_eq!(course(&machine, &all).cut_off.requests, 0, "all of them are waited for");
}

/// Those that are outstanding at the end of a warm-up count when they are done, and no more than were asked for do.
#[test]
fn a_limit_behind_a_warm_up_is_used_up_exactly() {
    let machine = machine(larger(Scheduler::CLook), 1, Volume::Each);
    for (warmup_ms, workers, depth, most) in
        [(0, 1, 4, 1000), (0, 3, 4, 77), (500, 1, 1, 100), (500, 1, 8, 100), (500, 1, 32, 100), (500, 1, 64, 5)]
    {
        let of = |limits| {
            let warmup = Nanoseconds(warmup_ms * 1_000_000);
            course(&machine, &Workload { warmup, workers, limits, ..workload(Pattern::Random, 8192, depth, &machine) })
        };
        let outcome = of(of_requests(most));
        assert_eq!(requests(&outcome), most, "QD{depth}");
        assert_eq!(of(of_bytes(most * 8192)).bytes, [most * 8192, 0, 0, 0], "QD{depth}");
        // As fast as without a limit.
        let rate = |outcome: &Outcome| requests(outcome) as f64 / outcome.elapsed_ns as f64;
        let free = rate(&course(&machine, &workload(Pattern::Random, 8192, depth, &machine)));
        assert!(most < 100 || (rate(&outcome) / free - 1.0).abs() < 0.3, "{} and {free}", rate(&outcome));
    }
}

#[test]
fn the_course_of_a_long_run_has_wider_intervals_instead_of_more() {
    let machine = machine(atlas(Scheduler::CLook), 1, Volume::Each);
    let asked = Workload { interval: Nanoseconds(1_000), ..workload(Pattern::Random, 8 << 10, 1, &machine) };
    let outcome = course(&machine, &asked);
    assert_eq!(outcome.interval_ns, 256_000, "20 s in at most 100 000 intervals");
    assert!((50_000..=100_000).contains(&outcome.intervals.len()), "{}", outcome.intervals.len());
    assert_eq!(outcome.intervals.iter().map(|(requests, _)| requests).sum::<u64>(), outcome.latency[0].count());
    let plain = course(&machine, &Workload { interval: Nanoseconds(256_000), ..asked });
    assert_eq!(outcome.intervals, plain.intervals);
}
