use super::entry::{Done, Done32, Entry, Entry128, FileName};
use super::*;
use crate::buffers::Buffers;
use crate::target::{Access, Opened, Target};
use halfpower_model::{Buffering, Bytes, Operation, RingOptions, Workload};
use rustix::fs::{FlockOperation, flock};
use rustix::io_uring::IoringOp;
use std::fs::File;
use std::io::Write;
use std::os::fd::AsFd;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

/// A ring with setup flags; none, saying so, where there is no io_uring or not with these.
fn ring<S: entry::Submission, A: entry::Answer>(entries: u32, flags: IoringSetupFlags) -> Option<Ring<S, A>> {
    match Ring::new(entries, flags) {
        Ok(ring) => Some(ring),
        Err(error) => {
            eprintln!("skipped: no ring with {flags:?} ({error})");
            None
        }
    }
}

fn nop(user_data: u64) -> Entry {
    Entry { user_data, ..Entry::new(IoringOp::Nop, FileName::Descriptor(-1)) }
}

fn taken(ring: &mut Ring<Entry, Done>) -> Vec<u64> {
    let mut taken = Vec::new();
    ring.take(&mut taken, |done| done.user_data);
    taken
}

#[test]
fn entries_go_round_and_answers_carry_what_they_were_given() {
    for flags in [IoringSetupFlags::empty(), IoringSetupFlags::NO_SQARRAY] {
        let Some(mut ring) = ring::<Entry, Done>(4, flags) else { continue };
        // Three at a time in a ring of four: every place is every entry's in turn, and the indices wrap.
        for turn in 0..50_u64 {
            let numbers = [turn << 40, turn << 40 | 1, u64::MAX - turn];
            for number in numbers {
                // SAFETY: it names nothing.
                assert!(unsafe { ring.push(nop(number)) });
            }
            ring.submit_and_wait(3).unwrap();
            assert_eq!(taken(&mut ring), numbers, "turn {turn}");
            assert!(taken(&mut ring).is_empty(), "an answer is taken once");
        }
    }
}

#[test]
fn a_full_queue_takes_no_more_until_there_is_room() {
    for flags in [IoringSetupFlags::empty(), IoringSetupFlags::SQPOLL] {
        let Some(mut ring) = ring::<Entry, Done>(4, flags) else { continue };
        for number in 0..4 {
            // SAFETY: it names nothing.
            assert!(unsafe { ring.push(nop(number)) });
        }
        // SAFETY: the same.
        assert!(!unsafe { ring.push(nop(9)) }, "the kernel has not seen the first one yet");
        ring.make_room().unwrap();
        ring.submit_and_wait(4).unwrap();
        assert_eq!(taken(&mut ring), [0, 1, 2, 3]);
        // SAFETY: the same.
        assert!(unsafe { ring.push(nop(9)) });
        ring.submit_and_wait(1).unwrap();
        assert_eq!(taken(&mut ring), [9]);
    }
}

#[test]
fn wide_entries_and_answers_are_reported_apart() {
    let Some(mut ring) = ring::<Entry128, Done32>(2, IoringSetupFlags::empty()) else { return };
    for turn in 0..5 {
        for number in [turn, 100 + turn] {
            // A no-operation with the bytes of a command around it: the kernel looks at the first 64 only.
            let entry = Entry128::command(nop(number), 0, &[0; 80]);
            // SAFETY: it names nothing.
            assert!(unsafe { ring.push(entry) });
        }
        ring.submit_and_wait(2).unwrap();
        let mut taken = Vec::new();
        ring.take(&mut taken, |answer| (answer.done.user_data, answer.done.result));
        assert_eq!(taken, [(turn, 0), (100 + turn, 0)]);
    }
}

#[test]
fn polling_waits_as_long_as_it_may_and_no_longer() {
    let deferred = IoringSetupFlags::SINGLE_ISSUER | IoringSetupFlags::DEFER_TASKRUN;
    for flags in [IoringSetupFlags::empty(), deferred] {
        let Some(mut ring) = ring::<Entry, Done>(2, flags) else { continue };
        let begun = Instant::now();
        ring.submit_and_poll(Duration::from_millis(20)).unwrap();
        assert!(begun.elapsed() >= Duration::from_millis(20), "nothing comes, so it waits");
        // A read of an empty pipe stays out until something is written to it.
        let (reader, writer) = rustix::pipe::pipe().unwrap();
        let memory = Buffers::new(1, 4096).unwrap();
        let file = FileName::Descriptor(reader.as_raw_fd());
        let read = Entry {
            address: memory.address(0, 0) as u64,
            length: 5,
            user_data: 7,
            offset: u64::MAX,
            ..Entry::new(IoringOp::Read, file)
        };
        // SAFETY: memory and pipe outlive the ring's use of them: the answer is awaited below.
        assert!(unsafe { ring.push(read) });
        ring.submit_and_poll(Duration::ZERO).unwrap();
        assert!(taken(&mut ring).is_empty(), "it was handed over, and is not done");
        rustix::io::write(&writer, b"bytes").unwrap();
        // The kernel has put the rest of the work off for us: looking without waiting must do it.
        let deadline = Instant::now() + Duration::from_secs(5);
        let mut seen = Vec::new();
        while seen.is_empty() && Instant::now() < deadline {
            ring.submit_and_poll(Duration::ZERO).unwrap();
            seen = taken(&mut ring);
        }
        assert_eq!(seen, [7]);
    }
}

#[test]
fn a_dropped_ring_has_let_go_of_its_files() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let Some(mut ring) = ring::<Entry, Done>(2, IoringSetupFlags::empty()) else { return };
    let held = File::open(file.path()).unwrap();
    flock(held.as_fd(), FlockOperation::NonBlockingLockExclusive).unwrap();
    ring.register_files(&[held.as_raw_fd()]).unwrap();
    // The lock belongs to the open file, which the ring has now to itself.
    drop(held);
    let other = File::open(file.path()).unwrap();
    assert!(flock(&other, FlockOperation::NonBlockingLockExclusive).is_err(), "the ring holds it");
    drop(ring);
    flock(&other, FlockOperation::NonBlockingLockExclusive).expect("let go of at once, not some time later");
}

/// A file whose every 4 KiB block begins with its number.
fn numbered(blocks: u64) -> tempfile::TempPath {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    for block in 0..blocks {
        let mut bytes = [0x5a; 4096];
        bytes[..8].copy_from_slice(&block.to_le_bytes());
        file.write_all(&bytes).unwrap();
    }
    file.as_file().sync_all().unwrap();
    // Nobody else may have a file open that is written.
    file.into_temp_path()
}

fn opened(path: &Path, workload: &Workload) -> Opened {
    Target::open(path, Access::Overwrite).unwrap().reopen(workload).unwrap().unwrap()
}

/// Transfers of one kind for the given blocks, each with its number as the tag; gives the results by tag.
fn transfers(uring: &mut Uring, buffers: &Buffers, kind: RequestKind, blocks: &[u64]) -> Vec<i32> {
    let mut results = vec![0; blocks.len()];
    for (tag, block) in blocks.iter().enumerate() {
        let transfer = Transfer {
            tag: tag as u32,
            length: if kind == RequestKind::Flush { 0 } else { 4096 },
            offset: block * 4096,
            address: buffers.address(tag, 0),
            target: 0,
            kind,
        };
        // SAFETY: a slot each, and all are awaited before anybody looks at them.
        unsafe { uring.submit(transfer) };
    }
    let mut done = Vec::with_capacity(blocks.len());
    uring.start();
    uring.poll(&mut done, Duration::from_millis(50)).unwrap();
    while done.len() < blocks.len() {
        let mut more = Vec::with_capacity(blocks.len());
        uring.reap(&mut more, (blocks.len() - done.len()) as u32).unwrap();
        done.append(&mut more);
    }
    done.iter().for_each(|completion| results[completion.tag as usize] = completion.result);
    results
}

fn has(granted: &Granted, option: RingOption) -> bool {
    granted.obtained.iter().any(|obtained| obtained == option.word())
}

/// Reads, writes, trims and flushes with the options; every byte is looked at.
fn moves_the_right_bytes(options: RingOptions, buffering: Buffering) -> Granted {
    const BLOCKS: u64 = 32;
    let file = numbered(BLOCKS);
    let workload = Workload {
        operation: "mix=50".parse::<Operation>().unwrap(),
        request_size: Bytes(4096),
        depth: 8,
        buffering,
        ring: options,
        ..Workload::default()
    };
    let target = [opened(&file, &workload)];
    let mut buffers = Buffers::new(8, 4096).unwrap();
    let setup = Setup { targets: &target, buffers: &buffers, outstanding: 8, workload: &workload };
    let (mut uring, granted) = Uring::open(setup).unwrap_or_else(|error| panic!("{options}: {error}"));
    for from in (0..BLOCKS).step_by(8) {
        let blocks: Vec<u64> = (from..from + 8).rev().collect();
        assert_eq!(transfers(&mut uring, &buffers, RequestKind::Read, &blocks), [4096; 8], "{options}");
        for (slot, block) in blocks.iter().enumerate() {
            let bytes = buffers.slot_mut(slot, 0);
            assert_eq!(bytes[..8], block.to_le_bytes(), "{options}: block {block}");
            bytes.fill(*block as u8);
        }
        assert_eq!(transfers(&mut uring, &buffers, RequestKind::Write, &blocks), [4096; 8], "{options}");
    }
    assert_eq!(transfers(&mut uring, &buffers, RequestKind::Trim, &[3]), [0], "{options}");
    assert_eq!(transfers(&mut uring, &buffers, RequestKind::Flush, &[0]), [0], "{options}");
    drop(uring);
    let bytes = std::fs::read(&file).unwrap();
    for (block, bytes) in bytes.chunks(4096).enumerate() {
        let expected = if block == 3 { 0 } else { block as u8 };
        assert!(bytes.iter().all(|byte| *byte == expected), "{options}: block {block}");
    }
    granted
}

#[test]
fn every_combination_that_the_kernel_grants_moves_the_right_bytes() {
    if let Some(why) = Uring::unavailable() {
        eprintln!("skipped: {why}");
        return;
    }
    let switches = [
        RingOption::RegisteredFiles,
        RingOption::RegisteredBuffers,
        RingOption::SingleIssuer,
        RingOption::DeferTaskrun,
        RingOption::CoopTaskrun,
        RingOption::NoSqarray,
        RingOption::RegisteredRing,
        RingOption::Sqpoll,
    ];
    for set in 0..1_u32 << switches.len() {
        let wish = |index: u32| if set >> index & 1 == 1 { Wish::Asked } else { Wish::Declined };
        let options = (0..).zip(switches).fold(RingOptions::default(), |all, (index, one)| all.with(one, wish(index)));
        let granted = moves_the_right_bytes(options, Buffering::Buffered);
        for option in switches {
            let refused = granted.refused.iter().any(|refused| refused.starts_with(&format!("{option}: ")));
            let asked = options.wish(option) == Wish::Asked;
            assert_eq!(has(&granted, option) || refused, asked, "{options}: {granted:?}");
        }
    }
}

#[test]
fn a_target_that_cannot_be_polled_is_read_otherwise_and_the_reason_is_said() {
    if let Some(why) = Uring::unavailable() {
        eprintln!("skipped: {why}");
        return;
    }
    // Buffered requests are never polled, whatever the device; `resolve` refuses the two together.
    let granted = moves_the_right_bytes("iopoll".parse().unwrap(), Buffering::Buffered);
    let [refused] = &granted.refused[..] else { panic!("{granted:?}") };
    assert!(refused.starts_with("iopoll: needs"), "{refused}");
    assert!(!has(&granted, RingOption::Iopoll) && has(&granted, RingOption::RegisteredBuffers), "{granted:?}");
}

/// A loop device on a file, detached in the end.
struct Loop(String);

impl Loop {
    fn on(file: &Path) -> Option<Loop> {
        let attached = Command::new("losetup").args(["--find", "--show"]).arg(file).output();
        match attached {
            Ok(output) if output.status.success() => {
                Some(Loop(String::from_utf8(output.stdout).unwrap().trim().to_owned()))
            }
            other => {
                eprintln!("skipped: no loop device is to be had ({other:?})");
                None
            }
        }
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        let _ = Command::new("losetup").args(["--detach", &self.0]).status();
    }
}

#[test]
fn a_device_is_trimmed_in_the_ring_where_the_kernel_can() {
    if let Some(why) = Uring::unavailable() {
        eprintln!("skipped: {why}");
        return;
    }
    let file = numbered(32);
    let Some(device) = Loop::on(&file) else { return };
    for options in ["default", "no-registered_files", "sqpoll"].map(|text| text.parse().unwrap()) {
        let workload = Workload { operation: "trim".parse().unwrap(), ring: options, ..Workload::default() };
        let target = [opened(Path::new(&device.0), &workload)];
        let buffers = Buffers::new(8, 4096).unwrap();
        let setup = Setup { targets: &target, buffers: &buffers, outstanding: 8, workload: &workload };
        let (mut uring, granted) = Uring::open(setup).unwrap();
        // `BLOCK_URING_CMD_DISCARD` came with 6.12; before, and here too, the plain call does it.
        let release = rustix::system::uname().release().to_string_lossy().into_owned();
        let mut version = release.split(['.', '-']).map_while(|part| part.parse::<u32>().ok());
        let is_new = (version.next(), version.next()) >= (Some(6), Some(12));
        assert_eq!(granted.obtained.iter().any(|option| option == "discard_command"), is_new, "{release}");
        assert_eq!(transfers(&mut uring, &buffers, RequestKind::Trim, &[1, 30]), [0, 0], "{options}");
        drop(uring);
    }
    let bytes = std::fs::read(&file).unwrap();
    for (block, bytes) in bytes.chunks(4096).enumerate() {
        let is_trimmed = block == 1 || block == 30;
        assert_eq!(bytes.iter().all(|byte| *byte == 0), is_trimmed, "block {block}");
    }
}
