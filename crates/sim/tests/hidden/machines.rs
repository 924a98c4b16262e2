//! Random machines and something for each to do, from a seed: machine files as anybody writes them, with parts of every speed.
//!
//! Half of the parts of a machine are drawn slow and the others fast, so that each kind of part sets the pace of some; which one
//! does is found by running it, never assumed. Ranges are those of hardware from 1990 to today: buses of 5 to 640 MB/s whose
//! commands take as long as 64 bytes to 8 KiB would (Riedel and others, 1997, table 4: 2.7 and 5.3 KB; Ultra160 and after, 160
//! bytes), PCI of which short bursts leave 71 to 99 %. Controllers take 5 to 500 us a command or have a rate of their own; disks make
//! 5400 to 15 000 turns.

use halfpower_model::random::Random;
use halfpower_model::{Buffering, Bytes, Limits, Operation, Pattern, Workload};
use std::fmt::Write as _;

/// A machine file, and what a person who has such a machine knows of it.
pub(super) struct Drawn {
    /// The machine's file; its volume is called `volume`.
    pub(super) text: String,
    /// What is to be done on it.
    pub(super) workload: Workload,
    /// Disks.
    pub(super) disks: u32,
    /// The buses from the disks to memory: what each is called, its peak, and how many there are of it.
    pub(super) buses: Vec<(&'static str, f64, u32)>,
}

/// Draws within ranges.
struct Draw(Random);

impl Draw {
    /// Alike at every scale.
    fn scale(&mut self, least: f64, most: f64) -> f64 {
        least * (most / least).powf(self.0.next_unit())
    }

    fn between(&mut self, least: u64, most: u64) -> u64 {
        least + self.0.below(most - least + 1)
    }

    fn chance(&mut self, share: f64) -> bool {
        self.0.next_unit() < share
    }

    fn of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.0.below(all.len() as u64) as usize]
    }
}

/// Which parts are drawn slow.
#[derive(Clone, Copy, PartialEq)]
enum Slow {
    Cpu,
    Near,
    Controller,
    Far,
    Disk,
}

/// A machine and its work.
pub(super) fn draw(seed: u64) -> Drawn {
    let mut draw = Draw(Random::new(seed));
    let slow = draw.of(&[Slow::Cpu, Slow::Near, Slow::Controller, Slow::Far, Slow::Disk]);
    let disks = if slow == Slow::Disk { draw.between(1, 4) } else { draw.between(1, 6) } as u32;
    let mut text = String::from("description = \"drawn\"\n");
    cpus(&mut draw, slow, &mut text);
    let mut path = Vec::new();
    let strings = if disks > 1 && draw.chance(0.3) { draw.between(2, u64::from(disks.min(3))) as u32 } else { 1 };
    let mut buses = vec![near(&mut draw, slow, disks, strings, &mut text)];
    path.push("near");
    let has_controller = slow == Slow::Controller || draw.chance(0.6);
    if has_controller {
        controller(&mut draw, slow, &mut text);
        path.push("card");
    }
    let has_bridge = draw.chance(0.25);
    for name in if has_bridge { &["far", "bridge"][..] } else { &["far"] } {
        let is_last = *name == "bridge" || !has_bridge;
        // One of the two is slow.
        let is_slow = slow == Slow::Far && (!has_bridge || is_last == draw.chance(0.5));
        buses.push(far(&mut draw, is_slow, name, if is_last { 1 } else { strings }, &mut text));
        path.push(name);
    }
    drive(&mut draw, slow, &mut text);
    let is_stripe = disks > 1 && draw.chance(0.6);
    let stripe = if is_stripe { format!("stripe = \"{}KiB\"\n", draw.of(&[16, 32, 64, 128])) } else { String::new() };
    let _ = write!(
        text,
        "[volume.volume]\ndescription = \"drawn\"\ndrive = \"disk\"\ndisks = {disks}\nstrings = {strings}\npath = {path:?}\n{stripe}"
    );
    let targets = if is_stripe { 1 } else { disks };
    Drawn { text, workload: workload(&mut draw, slow, targets), disks, buses }
}

fn cpus(draw: &mut Draw, slow: Slow, text: &mut String) {
    let (fixed_us, marginal_us) = match slow {
        Slow::Cpu => (draw.scale(100.0, 2000.0), draw.scale(0.2, 100.0)),
        _ => (draw.scale(2.0, 60.0), draw.scale(0.01, 1.0)),
    };
    let split = draw.of(&["", "split = \"64KiB\"\n", "split = \"128KiB\"\n"]);
    let (count, share) = (draw.between(1, 4), 0.2 + 0.6 * draw.0.next_unit());
    let cost = format!("{{ fixed = \"{:.0}ns\", marginal = \"{:.0}ns\" }}", fixed_us * 1e3, marginal_us * 1e3);
    let _ = write!(
        text,
        "[cpu]\ncount = {count}\nmodel = \"drawn\"\nmemory = \"1GiB\"\n[system]\nname = \"drawn\"\n{split}direct-read = {cost}\n\
         direct-write = {cost}\ncompletion-share = {share:.3}\n"
    );
}

/// What disks are attached by: a bus that several share, or a cable for each.
fn near(draw: &mut Draw, slow: Slow, disks: u32, strings: u32, text: &mut String) -> (&'static str, f64, u32) {
    let rate = if slow == Slow::Near { draw.scale(5e6, 80e6) } else { draw.scale(40e6, 640e6) };
    let is_cable = draw.chance(0.3);
    let beside_ns = draw.scale(64.0, if slow == Slow::Near { 8192.0 } else { 2048.0 }) / rate * 1e9;
    let of_command = draw.0.next_unit();
    let _ = write!(
        text,
        "[bus.near]\nrate = \"{rate:.0}B/s\"\ncommand = \"{:.0}ns\"\nstatus = \"{:.0}ns\"\narbitration = \"{:.0}ns\"\neach-disk = \
         {is_cable}\n",
        beside_ns * of_command,
        beside_ns * (1.0 - of_command) * 0.7,
        beside_ns * (1.0 - of_command) * 0.15,
    );
    ("near", rate, if is_cable { disks } else { strings })
}

/// A bus of the host, and its stated rate, of which short bursts leave a part.
fn far(draw: &mut Draw, is_slow: bool, name: &'static str, count: u32, text: &mut String) -> (&'static str, f64, u32) {
    let rate = if is_slow { draw.scale(10e6, 133e6) } else { draw.scale(66e6, 2e9) };
    let of_bytes = rate / (1.0 + draw.scale(0.01, 0.4));
    let _ = writeln!(text, "[bus.{name}]\nrate = \"{of_bytes:.0}B/s\"");
    (name, rate, count)
}

fn controller(draw: &mut Draw, slow: Slow, text: &mut String) {
    let (request_us, rate) = match slow {
        Slow::Controller if draw.chance(0.5) => (draw.scale(50.0, 500.0), None),
        Slow::Controller => (draw.scale(5.0, 200.0), Some(draw.scale(8e6, 60e6))),
        _ => (draw.scale(5.0, 50.0), draw.chance(0.3).then(|| draw.scale(100e6, 800e6))),
    };
    let bytes = draw.of(&["through", "stored"]);
    let writes = 0.6 + 0.4 * draw.0.next_unit();
    let rates = rate.map_or_else(String::new, |rate| {
        format!("read-rate = \"{rate:.0}B/s\"\nwrite-rate = \"{:.0}B/s\"\n", rate * writes)
    });
    let _ = write!(text, "[controller.card]\nbytes = \"{bytes}\"\nrequest = \"{:.0}ns\"\n{rates}", request_us * 1e3);
}

fn drive(draw: &mut Draw, slow: Slow, text: &mut String) {
    let surfaces = draw.between(1, 12);
    let cylinders = draw.between(3000, 20_000);
    let rpm = draw.of(&[5400, 7200, 10_000, 15_000]);
    let outer = if slow == Slow::Disk { draw.between(100, 600) } else { draw.between(300, 2000) };
    let switch_ms = 0.2 + 0.8 * draw.0.next_unit();
    let single_ms = switch_ms + 1.2 * draw.0.next_unit();
    let average_ms = single_ms + draw.scale(2.0, 9.0);
    let turn_ms = 60e3 / f64::from(rpm);
    let zones: Vec<String> = [(0, 1.0), (1, 0.8), (2, 0.6)]
        .iter()
        .map(|(third, share)| {
            let sectors = (outer as f64 * share) as u64;
            let shift = |ms: f64| ((ms / turn_ms * sectors as f64).ceil() as u64 + 1).min(sectors - 1);
            format!("[{}, {sectors}, {}, {}, 0]", third * cylinders / 3, shift(switch_ms), shift(single_ms))
        })
        .collect();
    let segment_kib = draw.of(&[64, 128, 256, 512, 1024]);
    let scheduler = draw.of(&["fcfs", "c-look", "sstf", "sptf"]);
    let cache = if draw.chance(0.6) {
        format!(
            "write-cache = {{ size = \"{}KiB\", extents = {} }}\n",
            draw.of(&[128, 256, 512, 1024]),
            draw.between(1, 32)
        )
    } else {
        String::new()
    };
    let _ = write!(
        text,
        "[drive.disk]\nsurfaces = {surfaces}\ncylinders = {cylinders}\nrpm = {rpm}\nzones = [{}]\nseek-times = {{ track-to-track = \
         \"{single_ms:.3}ms\", average = \"{average_ms:.3}ms\", full = \"{:.3}ms\" }}\nhead-switch = \"{switch_ms:.3}ms\"\nwrite-settle = \
         \"{:.3}ms\"\nzero-latency = {}\nscheduler = \"{scheduler}\"\nsegments = {}\nsegment = \"{segment_kib}KiB\"\nread-ahead = \
         \"{segment_kib}KiB\"\nread-hit = \"{:.0}us\"\nread-miss = \"{:.0}us\"\nwrite = \"{:.0}us\"\n{cache}",
        zones.join(", "),
        (average_ms * (1.8 + 0.4 * draw.0.next_unit())).min(single_ms + 2.9 * (average_ms - single_ms)),
        0.5 * draw.0.next_unit(),
        draw.chance(0.5),
        draw.between(1, 16),
        draw.scale(5.0, 200.0),
        draw.scale(20.0, 600.0),
        draw.scale(20.0, 400.0),
    );
}

fn workload(draw: &mut Draw, slow: Slow, targets: u32) -> Workload {
    let exponent = if slow == Slow::Disk { draw.between(9, 18) } else { draw.between(9, 20) };
    // Only a stream is faster than a bus of its time.
    let is_random = draw.chance(if slow == Slow::Disk { 0.6 } else { 0.15 });
    let request_size = Bytes(1 << exponent);
    Workload {
        operation: if draw.chance(0.35) { Operation::Write } else { Operation::Read },
        pattern: if is_random { Pattern::Random } else { Pattern::Sequential },
        request_size,
        depth: draw.of(&[1, 2, 4, 8, 16, 32]),
        workers: targets * draw.of(&[1, 1, 2, 4]),
        targets,
        buffering: Buffering::Direct,
        limits: Limits { requests: Some(0), ..Limits::default() },
        seed: draw.0.next_bits(),
        ..Workload::default()
    }
}
