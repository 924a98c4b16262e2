//! Answers: every transfer comes back once, as many as were waited for, in time, together where they were started
//! together.

use super::*;
use std::time::{Duration, Instant};

every_personality! {
    each_tag_comes_back_once_and_no_fewer_than_were_waited_for => tags;
    polling_brings_what_is_done => polling;
}

fn tags<P: Personality>(subject: &Subject) {
    let target = Target::new();
    let mut rig = Rig::<P>::on(subject, &target, Buffering::Buffered);
    let all = rig.outstanding;
    for at_least in 1..=all {
        for tag in 0..all {
            rig.submit(tag, (RequestKind::Read, tag as usize * SLOT, SLOT));
        }
        let mut seen = vec![0; all as usize];
        let mut left = all;
        while left > 0 {
            let mut done = Vec::with_capacity(all as usize);
            rig.personality.reap(&mut done, at_least.min(left)).unwrap();
            assert!(done.len() as u32 >= at_least.min(left), "{} of {at_least}", done.len());
            for completion in &done {
                assert_eq!(completion.result, SLOT as i32);
                seen[completion.tag as usize] += 1;
            }
            left -= done.len() as u32;
        }
        assert!(seen.iter().all(|times| *times == 1), "{seen:?}");
    }
}

fn polling<P: Personality>(subject: &Subject) {
    let target = Target::new();
    let mut rig = Rig::<P>::on(subject, &target, Buffering::Buffered);
    let all = rig.outstanding;
    for tag in 0..all {
        rig.submit(tag, (RequestKind::Read, tag as usize * SLOT, SLOT));
    }
    let (mut done, begun) = (Vec::with_capacity(all as usize), Instant::now());
    while done.len() < all as usize {
        let mut more = Vec::with_capacity(all as usize);
        rig.personality.poll(&mut more, Duration::from_millis(1)).unwrap();
        done.append(&mut more);
        assert!(begun.elapsed() < Duration::from_secs(30), "{} of {all}", done.len());
    }
    done.sort_by_key(|completion| completion.tag);
    assert!(done.iter().map(|completion| completion.tag).eq(0..all), "{done:?}");
}

#[test]
fn a_plug_in_takes_as_many_at_a_time_as_are_submitted_and_polls_in_time() {
    let Some(subject) = ram("delay_us=1000000") else { return };
    let mut rig = Rig::<super::super::plugin::Plugin>::open(&subject, &[]).unwrap();
    let begun = Instant::now();
    (0..DEPTH).for_each(|tag| rig.submit(tag, (RequestKind::Read, 0, 512)));
    let mut done = Vec::with_capacity(DEPTH as usize);
    rig.personality.poll(&mut done, Duration::from_millis(1)).unwrap();
    assert!(done.is_empty() && begun.elapsed() < Duration::from_secs(1), "{:?}", begun.elapsed());
    rig.personality.reap(&mut done, DEPTH).unwrap();
    let took = begun.elapsed();
    assert_eq!(done.len(), DEPTH as usize);
    assert!(took >= Duration::from_secs(1) && took < Duration::from_secs(5), "all at once, not one by one: {took:?}");
}
