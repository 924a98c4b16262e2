//! Phases of requests in the block layer, and the bytes that the device moved for them.

use crate::{file, host, measure, spec};
use halfpower_engine::Access;
use halfpower_model::sample::Phases;
use halfpower_model::{Sample, Testbed};

/// The phases of a sample; none, with a message, if they are unavailable here.
fn phases(sample: &Sample) -> Option<&Phases> {
    let refused = &sample.instrument.refused;
    let phases = sample.block.as_ref().and_then(|block| block.phases.as_deref());
    if phases.is_none() {
        assert!(sample.block.is_none() || !refused.is_empty(), "no reason is given for missing phases");
        eprintln!("skipped: {refused:?}, or the target has no device");
    }
    phases
}

#[test]
fn requests_are_followed_from_the_queue_to_their_end() {
    let (_directory, path) = file(8 << 20);
    let mut host = host(&path, Access::Read);
    if host.describe().target.direct_alignment_bytes.is_none() {
        eprintln!("skipped: needs direct I/O");
        return;
    }
    let spec = spec("buffering=direct block_phases=on request_size=4KiB pattern=random requests=2000");
    // Other tests use the device too, and the observed requests may be theirs.
    for _ in 0..20 {
        let sample = measure(&mut host, &spec);
        let Some(phases) = phases(&sample) else { return };
        if phases.followed == 0 {
            continue;
        }
        assert!(phases.looked_share > 0.0, "{phases:?}");
        let (queued, device) = (phases.queued_ns.mean.unwrap(), phases.device_ns.mean.unwrap());
        let share = phases.queued_share.unwrap();
        assert!((share - queued / (queued + device)).abs() < 1e-6, "{share}");
        let read = sample.block.as_ref().unwrap().read.unwrap();
        assert!(read.amplification.unwrap() >= 0.999, "{read:?}: every byte comes from the device");
        // A request of ours cannot have been at the device longer than the longest that was measured.
        let longest = sample.total.latency_ns.max.unwrap();
        if phases.device_ns.p50.is_some_and(|median| median <= longest) {
            return;
        }
    }
    panic!("half of the requests were always at the device longer than the longest that was measured");
}

#[test]
fn a_request_too_large_for_the_device_is_split() {
    const SIZE: u64 = 32 << 20;
    let (_directory, path) = file(SIZE as usize);
    let mut host = host(&path, Access::Read);
    let most_kib = host.describe().target.device.as_ref().and_then(|device| {
        let text = std::fs::read_to_string(format!("/sys/block/{device}/queue/max_sectors_kb")).ok()?;
        text.trim().parse::<u64>().ok()
    });
    if host.describe().target.direct_alignment_bytes.is_none() || most_kib.is_none_or(|kib| kib << 10 > SIZE / 2) {
        eprintln!("skipped: needs direct I/O on a device that takes at most 16 MiB at a time");
        return;
    }
    // Other tests use the device too, and the observed requests may be theirs.
    for _ in 0..20 {
        let sample = measure(&mut host, &spec("buffering=direct block_phases=on request_size=32MiB requests=10"));
        match phases(&sample) {
            None => return,
            Some(phases) if phases.split > 0 => return,
            Some(_) => {}
        }
    }
    panic!("no request of 32 MiB was seen to be split on a device that takes {most_kib:?} KiB at a time");
}
