//! io_uring with every combination of options that the kernel grants.

use super::bytes::{follow, trim_and_flush};
use super::*;
use crate::personality::uring::Uring;
use halfpower_model::{RingOption, RingOptions, Wish};
use std::process::Command;

/// io_uring with options; none, with a message, if it is unavailable.
fn uring(ring: RingOptions) -> Option<Subject> {
    if let Some(why) = Uring::unavailable() {
        eprintln!("skipped: {why}");
        return None;
    }
    Some(Subject { ring, ..Subject::new(Name::IoUring) })
}

fn has(granted: &Granted, option: RingOption) -> bool {
    granted.obtained.iter().any(|obtained| obtained == option.word())
}

#[test]
fn every_combination_that_the_kernel_grants_moves_the_right_bytes() {
    let switches: Vec<_> = RingOption::ALL.iter().copied().filter(|option| *option != RingOption::Iopoll).collect();
    let mut target = Target::new();
    for set in 0..1_u32 << switches.len() {
        let wish = |index: u32| if set >> index & 1 == 1 { Wish::Asked } else { Wish::Declined };
        let options =
            (0..).zip(&switches).fold(RingOptions::default(), |all, (index, one)| all.with(*one, wish(index)));
        let Some(subject) = uring(options) else { return };
        let mut rig = follow::<Uring>(&subject, &mut target, Buffering::Buffered, 40);
        trim_and_flush(&subject, &mut target, &mut rig);
        let granted = &rig.granted;
        for option in &switches {
            let refused = granted.refused.iter().any(|refused| refused.starts_with(&format!("{option}: ")));
            let asked = options.wish(*option) == Wish::Asked;
            assert_eq!(has(granted, *option) || refused, asked, "{options}: {granted:?}");
        }
    }
}

#[test]
fn a_target_that_cannot_be_polled_is_read_without_polling_and_the_reason_is_reported() {
    // Buffered requests are never polled, whatever the device; `resolve` refuses the two together.
    let Some(subject) = uring("iopoll".parse().unwrap()) else { return };
    let granted = follow::<Uring>(&subject, &mut Target::new(), Buffering::Buffered, 40).granted;
    let [refused] = &granted.refused[..] else { panic!("{granted:?}") };
    assert!(refused.starts_with("iopoll: needs"), "{refused}");
    assert!(!has(&granted, RingOption::Iopoll) && has(&granted, RingOption::RegisteredBuffers), "{granted:?}");
}

#[test]
fn a_device_is_trimmed_in_the_ring_where_the_kernel_can() {
    let mut target = Target::new();
    let attached = Command::new("losetup").args(["--find", "--show"]).arg(&target.path).output();
    let Some(output) = attached.ok().filter(|output| output.status.success()) else {
        eprintln!("skipped: no loop device is to be had");
        return;
    };
    let device = PathBuf::from(String::from_utf8(output.stdout).unwrap().trim());
    for options in ["default", "no-registered_files", "sqpoll"] {
        let Some(subject) = uring(options.parse().unwrap()) else { break };
        let mut rig = Rig::<Uring>::open(&subject, &open(&device, "trim", Buffering::Buffered)).unwrap();
        // `BLOCK_URING_CMD_DISCARD` came with 6.12; before, and here too, the plain call does it.
        let release = rustix::system::uname().release().to_string_lossy().into_owned();
        let mut version = release.split(['.', '-']).map_while(|part| part.parse::<u32>().ok());
        let is_new = (version.next(), version.next()) >= (Some(6), Some(12));
        assert_eq!(rig.granted.obtained.iter().any(|option| option == "discard_command"), is_new, "{release}");
        let trims = [1, 30].map(|block| (RequestKind::Trim, block * 4096, 4096));
        assert_eq!(rig.run(&trims), [0, 0], "{options}");
        trims.iter().for_each(|(_, at, length)| target.content[*at..at + length].fill(0));
    }
    assert!(Command::new("losetup").arg("--detach").arg(&device).status().unwrap().success());
    assert!(std::fs::read(&target.path).unwrap() == target.content);
}
