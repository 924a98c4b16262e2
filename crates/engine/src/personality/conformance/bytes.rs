//! Bytes: reads return the stored bytes, writes store theirs, and no other byte changes.

use super::*;
use halfpower_model::Pattern;
use halfpower_model::stream::{Request, RequestStream};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

every_personality! {
    a_stream_of_requests_does_what_its_model_does => stream;
    the_same_past_the_page_cache => direct_stream;
    reads_of_any_place_and_length_touch_no_byte_beside => odd_reads;
    transfers_are_short_at_the_end_of_a_file => end_of_file;
    a_trim_gives_zeros_and_a_flush_succeeds => trim;
}

fn stream<P: Personality>(subject: &Subject) {
    follow::<P>(subject, &mut Target::new(), Buffering::Buffered, 600);
}

fn direct_stream<P: Personality>(subject: &Subject) {
    let mut target = Target::new();
    if crate::target::Target::open(&target.path, Access::Read).unwrap().facts().direct_alignment_bytes.is_none() {
        eprintln!("skipped: the file system of the build takes no direct I/O");
        return;
    }
    follow::<P>(subject, &mut target, Buffering::Direct, 600);
}

/// Runs a stream of requests and the same changes on a model in memory; returns the open personality.
pub(super) fn follow<P: Personality>(
    subject: &Subject,
    target: &mut Target,
    buffering: Buffering,
    count: usize,
) -> Rig<P> {
    let mut model = target.content.clone();
    let mut rig = Rig::<P>::on(subject, target, buffering);
    let workload = Workload {
        operation: "mix=40".parse::<Operation>().unwrap(),
        pattern: Pattern::Random,
        request_size: Bytes(8192),
        align: Some(Bytes(4096)),
        span: Bytes(SPAN as u64),
        seed: 11,
        ..Workload::default()
    };
    let mut requests = vec![Request::default(); count];
    RequestStream::new(&workload, 0, None).fill(&mut requests);
    // Other bytes each time, so that a target that is used again changes.
    static TURN: AtomicU64 = AtomicU64::new(13);
    let mut random = Random::new(TURN.fetch_add(1, Relaxed));
    let mut left = &requests[..];
    while !left.is_empty() {
        let (wave, rest) = left.split_at(apart(left, rig.outstanding as usize));
        left = rest;
        for (tag, request) in wave.iter().enumerate() {
            let buffer = rig.buffers.slot_mut(tag, 0);
            buffer.fill(UNTOUCHED);
            if request.kind == RequestKind::Write {
                draw(&mut buffer[..request.length as usize], &mut random);
            }
        }
        let wishes: Vec<Wish> = wave.iter().map(|r| (r.kind, r.offset as usize, r.length as usize)).collect();
        let results = rig.run(&wishes);
        for (tag, (kind, offset, length)) in wishes.into_iter().enumerate() {
            assert_eq!(results[tag], length as i32, "{kind:?} at {offset}");
            let bytes = &rig.buffers.slot_mut(tag, 0)[..length];
            match kind {
                RequestKind::Read => assert!(bytes == &model[offset..offset + length], "{kind:?} at {offset}"),
                _ => model[offset..offset + length].copy_from_slice(bytes),
            }
        }
    }
    assert!(model != target.content, "the stream writes");
    assert!(rig.content(subject, target) == model, "{} left other bytes", subject.label());
    target.content = model;
    rig
}

/// Number of the first requests, up to `most`, that do not overlap: the result of overlapping ones is undefined.
fn apart(requests: &[Request], most: usize) -> usize {
    let overlap = |one: &Request, other: &Request| {
        one.offset < other.offset + u64::from(other.length) && other.offset < one.offset + u64::from(one.length)
    };
    let first =
        (1..requests.len()).find(|end| requests[..*end].iter().any(|earlier| overlap(earlier, &requests[*end])));
    first.unwrap_or(requests.len()).min(most)
}

fn odd_reads<P: Personality>(subject: &Subject) {
    let target = Target::new();
    let mut rig = Rig::<P>::on(subject, &target, Buffering::Buffered);
    for (offset, length) in [(0, 1), (1, 4095), (4095, 2), (12_345, 54_321), (SPAN - 1, 1), (SPAN - SLOT, SLOT)] {
        let buffer = rig.buffers.slot_mut(0, 0);
        buffer.fill(UNTOUCHED);
        assert_eq!(rig.run(&[(RequestKind::Read, offset, length)]), [length as i32]);
        let (read, beside) = rig.buffers.slot_mut(0, 0).split_at(length);
        assert!(read == &target.content[offset..offset + length], "{length} bytes at {offset}");
        assert!(beside.iter().all(|byte| *byte == UNTOUCHED), "{length} bytes at {offset}");
    }
}

fn end_of_file<P: Personality>(subject: &Subject) {
    if subject.storage == Storage::Server {
        return;
    }
    let target = Target::new();
    let mut rig = Rig::<P>::on(subject, &target, Buffering::Buffered);
    rig.buffers.slot_mut(0, 0).fill(UNTOUCHED);
    assert_eq!(rig.run(&[(RequestKind::Read, SPAN - 1000, 4096)]), [1000]);
    let (read, beside) = rig.buffers.slot_mut(0, 0).split_at(1000);
    assert!(read == &target.content[SPAN - 1000..]);
    assert!(beside.iter().all(|byte| *byte == UNTOUCHED));
    assert_eq!(rig.run(&[(RequestKind::Read, SPAN, 4096)]), [0]);
    assert_eq!(rig.run(&[(RequestKind::Read, SPAN + 8192, 4096)]), [0]);
}

fn trim<P: Personality>(subject: &Subject) {
    let mut target = Target::new();
    let mut rig = Rig::<P>::on(subject, &target, Buffering::Buffered);
    trim_and_flush(subject, &mut target, &mut rig);
}

pub(super) fn trim_and_flush<P: Personality>(subject: &Subject, target: &mut Target, rig: &mut Rig<P>) {
    assert!(rig.run(&[(RequestKind::Flush, 0, 0)])[0] >= 0);
    let result = rig.run(&[(RequestKind::Trim, 64 << 10, 32 << 10)])[0];
    if result == -libc::EOPNOTSUPP {
        eprintln!("skipped: {} does not trim here", subject.label());
        return;
    }
    assert!(result >= 0, "{result}");
    target.content[64 << 10..96 << 10].fill(0);
    assert!(rig.content(subject, target) == target.content);
}
