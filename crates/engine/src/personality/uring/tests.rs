use super::entry::{Done32, Entry128};
use super::*;
use crate::buffers::Buffers;
use rustix::fs::{FlockOperation, flock};
use std::fs::File;
use std::os::fd::AsFd;
use std::time::Instant;

/// A ring with setup flags; none, saying so, where there is no io_uring or not with these.
fn ring<S: entry::Layout, A: entry::Layout>(entries: u32, flags: IoringSetupFlags) -> Option<Ring<S, A>> {
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
fn entries_wrap_around_and_answers_carry_their_user_data() {
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
            // A no-operation with the bytes of a command around it: the kernel reads the first 64 only.
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
fn polling_waits_up_to_its_limit() {
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
        // The kernel has deferred the rest of the work: a poll without waiting must run it.
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
fn a_dropped_ring_has_released_its_files() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let Some(mut ring) = ring::<Entry, Done>(2, IoringSetupFlags::empty()) else { return };
    let held = File::open(file.path()).unwrap();
    flock(held.as_fd(), FlockOperation::NonBlockingLockExclusive).unwrap();
    ring.register_files(&[held.as_raw_fd()]).unwrap();
    // The lock belongs to the open file, which only the ring holds now.
    drop(held);
    let other = File::open(file.path()).unwrap();
    assert!(flock(&other, FlockOperation::NonBlockingLockExclusive).is_err(), "the ring holds it");
    drop(ring);
    flock(&other, FlockOperation::NonBlockingLockExclusive).expect("released at once, not some time later");
}
