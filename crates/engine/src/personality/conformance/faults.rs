//! Faults of the storage: the kernel's error of a bad place is the result of each transfer there, and of no other.

use super::fuse::{BAD, FaultyFile, SLOW, SLOWNESS};
use super::*;
use std::time::{Duration, Instant};

every_personality! {
    a_bad_place_fails_alone_and_what_reaches_into_it_is_short => bad_place;
    polling_does_not_wait_for_what_is_slow => slow_place;
}

fn bad_place<P: Personality>(subject: &Subject) {
    if subject.storage != Storage::Target {
        return;
    }
    let mut model = vec![0; SPAN];
    draw(&mut model, &mut Random::new(17));
    let Some(faulty) = FaultyFile::mount(model.clone()) else { return };
    let mut rig = match Rig::<P>::open(subject, &open(&faulty.path(), "mix=50", Buffering::Buffered)) {
        // The kernel maps nothing that is not cached.
        Err(error) if is_because_of(&error, libc::ENODEV) => {
            eprintln!("skipped: {}, it cannot map a file that is not cached", subject.label());
            return;
        }
        rig => rig.unwrap(),
    };
    let page = 4096;
    // Offset, length and result.
    let cases = [
        (0, SLOT, SLOT as i32),
        (BAD.start - page, page, page as i32),
        (BAD.start - page, 2 * page, page as i32),
        (BAD.start, page, -libc::EIO),
        (BAD.end - page, 2 * page, -libc::EIO),
        (BAD.end, SLOT, SLOT as i32),
        (SPAN - page, 2 * page, page as i32),
    ];
    for kind in [RequestKind::Read, RequestKind::Write] {
        // Past its end a file grows; this one does not.
        let cases = if kind == RequestKind::Read { &cases[..] } else { &cases[..6] };
        for (number, wave) in cases.chunks(rig.outstanding as usize).enumerate() {
            for tag in 0..wave.len() {
                rig.buffers.slot_mut(tag, 0).fill(UNTOUCHED - number as u8);
            }
            let wishes: Vec<Wish> = wave.iter().map(|(offset, length, _)| (kind, *offset, *length)).collect();
            let results = rig.run(&wishes);
            for (tag, (offset, length, expected)) in wave.iter().enumerate() {
                let moved = (*expected).max(0) as usize;
                // Of an asynchronous write that was short FUSE makes an error.
                let is_short = kind == RequestKind::Write && moved > 0 && moved < *length;
                let result = if is_short && results[tag] == -libc::EIO { *expected } else { results[tag] };
                assert_eq!(result, *expected, "{kind:?} of {length} at {offset}");
                let bytes = &rig.buffers.slot_mut(tag, 0)[..moved];
                match kind {
                    RequestKind::Read => assert!(bytes == &model[*offset..offset + moved], "{length} at {offset}"),
                    _ => model[*offset..offset + moved].copy_from_slice(bytes),
                }
            }
        }
        assert!(*faulty.content.lock().unwrap() == model, "{kind:?}");
    }
}

fn slow_place<P: Personality>(subject: &Subject) {
    // One that works transfer by transfer does the one it has, and a plug-in need not poll.
    if subject.storage == Storage::Server || subject.personality == Name::Plugin || !subject.personality.is_deep() {
        return;
    }
    let Some(faulty) = FaultyFile::mount(vec![1; SPAN]) else { return };
    let mut rig = Rig::<P>::open(subject, &open(&faulty.path(), "read", Buffering::Direct)).unwrap();
    rig.submit(0, (RequestKind::Read, SLOW, 4096));
    let (begun, mut done) = (Instant::now(), Vec::with_capacity(1));
    rig.personality.poll(&mut done, Duration::from_millis(1)).unwrap();
    let took = begun.elapsed();
    assert!(done.is_empty() && took < SLOWNESS, "{}: {took:?}", subject.label());
    rig.personality.reap(&mut done, 1).unwrap();
    assert_eq!(done.iter().map(|completion| completion.result).collect::<Vec<_>>(), [4096]);
    assert!(begun.elapsed() >= SLOWNESS, "{}: {:?}", subject.label(), begun.elapsed());
}
