//! Streams side by side: nobody waits forever, and what is read ahead of each is kept.

use super::cache::ReadBuffer;
use super::scheduler::Scheduler;
use super::tests::{larger, read, room, serve, write};
use super::*;
use crate::named::Named;
use halfpower_model::random::Random;

/// How one of the streams did.
#[derive(Clone, Copy, Default)]
struct Stream {
    done: u64,
    longest_ns: u64,
}

/// What a host needs between two requests.
const PAUSE_NS: u64 = 100_000;

/// Sequential streams of 128 blocks, far from each other, each of them so many deep, for so long.
fn side_by_side(drive: Drive, streams: &[Direction], depth: usize, for_ns: u64) -> Vec<Stream> {
    let mut disk = Disk::new(Arc::new(drive));
    let mut done = vec![Stream::default(); streams.len()];
    let mut next = vec![0; streams.len()];
    // By tag: of which stream, and when.
    let mut asked: Vec<(usize, u64)> = Vec::new();
    let mut outstanding = Vec::<Served>::new();
    let mut to_ask: VecDeque<(u64, usize)> =
        (0..depth).flat_map(|_| (0..streams.len()).map(|stream| (0, stream))).collect();
    let mut now = 0;
    while now < for_ns {
        while let Some((_, stream)) = to_ask.pop_front_if(|(at_ns, _)| *at_ns <= now) {
            let block = stream as u64 * 2_000_000 + next[stream];
            let command = if streams[stream] == Direction::Read { read(block, 128) } else { write(block, 128) };
            disk.accept(now, Command { tag: asked.len() as u32, received_ns: now, ..command });
            next[stream] += 128;
            asked.push((stream, now));
        }
        outstanding.extend(std::iter::from_fn(|| disk.answer()));
        if let Some(index) = outstanding.iter().position(|served| served.ready_ns <= now) {
            let (stream, asked_ns) = asked[outstanding.remove(index).tag as usize];
            let Stream { done, longest_ns } = &mut done[stream];
            (*done, *longest_ns) = (*done + 1, (*longest_ns).max(now - asked_ns));
            to_ask.push_back((now + PAUSE_NS, stream));
        } else if disk.next_ns().is_some_and(|at_ns| at_ns <= now) {
            disk.advance(now);
        } else {
            let ready_ns = outstanding.iter().map(|served| served.ready_ns).min();
            let asks_ns = to_ask.front().map(|(at_ns, _)| *at_ns);
            now = [ready_ns, disk.next_ns(), asks_ns].into_iter().flatten().min().expect("something is under way");
        }
    }
    done
}

/// Whatever the order of service, each of four streams has its part, and nobody waits for longer than is due to so many.
#[test]
fn of_streams_side_by_side_none_waits_for_ever() {
    for &(_, scheduler) in Scheduler::WORDS {
        for pieces in [0, 1, 8] {
            for (depth, directions) in [
                (1, [Direction::Read; 4]),
                (2, [Direction::Read; 4]),
                (4, [Direction::Write; 4]),
                (2, [Direction::Read, Direction::Write, Direction::Read, Direction::Read]),
            ] {
                let write_cache = (pieces > 0).then_some(room(4096, pieces));
                let drive = Drive { write_cache, ..larger(scheduler) };
                let turn_ns = drive.mechanics.turn_ns;
                let done = side_by_side(drive, &directions, depth, 20_000_000_000);
                let longest = done.iter().map(|stream| stream.longest_ns).max().unwrap() as f64 / turn_ns;
                let most = (4 * depth) as f64 * (PATIENCE_TURNS + 4.0);
                assert!(longest < most, "{scheduler:?} {pieces} {depth} {directions:?}: {longest} turns of {most}");
                let least = done.iter().map(|stream| stream.done).min().unwrap();
                assert!(least > 20, "{scheduler:?} {pieces} {depth} {directions:?}: {least}");
            }
        }
    }
}

/// One deep each loses a turn a request where others wait, and not where the drive reads on all the same.
#[test]
fn streams_one_deep_keep_what_is_read_ahead_of_each() {
    let done = |least_ahead_blocks| {
        let drive = larger(Scheduler::Sptf);
        let drive = Drive { buffer: ReadBuffer { least_ahead_blocks, ..drive.buffer }, ..drive };
        side_by_side(drive, &[Direction::Read; 3], 1, 5_000_000_000).iter().map(|stream| stream.done).sum::<u64>()
    };
    let (without, with) = (done(0), done(256));
    assert!(with as f64 > 1.5 * without as f64, "{without} and {with}");
}

/// Writes that wait for room in a full write cache are chosen as those are that wait for the medium, and take with them what goes
/// on with them: one of a piece, which holds a single stream, is no slower than none.
#[test]
fn streams_of_writes_are_no_slower_with_a_write_cache_of_one_piece() {
    for &(_, scheduler) in Scheduler::WORDS {
        for (streams, depth, write_overlaps) in
            [(2, 1, false), (2, 4, false), (2, 4, true), (2, 16, false), (4, 1, true), (4, 4, true), (8, 4, false)]
        {
            let of = |write_cache| {
                let overhead = Overhead { write_ns: 100_000, write_overlaps, ..Overhead::default() };
                let drive = Drive { write_cache, overhead, ..larger(scheduler) };
                let done = side_by_side(drive, &vec![Direction::Write; streams], depth, 10_000_000_000);
                done.iter().map(|stream| stream.done).sum::<u64>()
            };
            let (with, without) = (of(Some(room(374, 1))), of(None));
            let is_no_slower = with as f64 > 0.97 * without as f64;
            assert!(is_no_slower, "{scheduler:?}, {streams} streams, QD{depth}: {with} and {without}");
        }
    }
}

/// At random the arm has as many to choose from as without: one fewer than wait, as the next is chosen while it is at work.
#[test]
fn a_full_write_cache_of_one_piece_takes_random_writes_as_none_does() {
    let mut random = Random::new(5);
    let commands: Vec<_> = (0..2000).map(|_| write(random.below(500_000) * 16, 16)).collect();
    for scheduler in [Scheduler::Fcfs, Scheduler::CLook] {
        let takes_ns = |depth, write_cache| {
            let drive = Drive { write_cache, ..larger(scheduler) };
            serve(&mut Disk::new(Arc::new(drive)), depth, &commands).last().unwrap().0 as f64
        };
        for depth in [1, 2, 4, 16] {
            let cached = takes_ns(depth, Some(room(374, 1)));
            let share = cached / takes_ns(depth, None);
            assert!((share - 1.0).abs() < 0.02, "{scheduler:?}, QD{depth}: {share}");
        }
    }
}

/// What goes on with the passage under way needs no piece of its own: others that wait for one do not tear its stream.
#[test]
fn a_write_goes_on_with_the_one_under_way_though_others_wait_for_room() {
    let cache = room(374, 1);
    let mut disk = Disk::new(Arc::new(Drive { write_cache: Some(cache), ..larger(Scheduler::CLook) }));
    let mut ask = |now_ns, tag, block| {
        disk.accept(now_ns, Command { tag, ..write(block, 16) });
        (std::iter::from_fn(|| disk.answer()).map(|served| served.tag).collect::<Vec<_>>(), disk.next_ns())
    };
    let (done, first_ns) = ask(0, 0, 0);
    assert_eq!(done, [0]);
    assert_eq!(ask(0, 1, 2_000_000).0, [1], "the piece is free while the arm is at the first");
    assert!(ask(0, 2, 4_000_000).0.is_empty(), "there is no other for it");
    let (done, second_ns) = ask(0, 3, 16);
    assert_eq!(done, [3]);
    assert!(second_ns > first_ns, "{first_ns:?} and {second_ns:?}");
    assert!(ask(0, 4, 48).0.is_empty(), "it goes on with nothing");
}

/// Writes that wait for room in a full write cache while most of what waits is reads have their turn as these have.
#[test]
fn reads_leave_writes_their_turn_for_which_there_is_no_room() {
    const DEPTH: usize = 64;
    let mut random = Random::new(5);
    let commands: Vec<_> =
        (0..4000).map(|number| if number % 10 == 0 { write } else { read }(random.below(500_000) * 16, 16)).collect();
    for &(_, scheduler) in Scheduler::WORDS {
        let cache = room(374, 1);
        let drive = Drive { write_cache: Some(cache), ..larger(scheduler) };
        let done = serve(&mut Disk::new(Arc::new(drive)), DEPTH, &commands);
        let mean_ns = |direction| {
            let waited = done.iter().filter(|(_, served)| commands[served.tag as usize].direction == direction);
            // Each comes when so many before it are done.
            let waited = waited.filter(|(_, served)| served.tag as usize >= DEPTH);
            let waited_ns: Vec<u64> =
                waited.map(|(at_ns, served)| at_ns - done[served.tag as usize - DEPTH].0).collect();
            waited_ns.iter().sum::<u64>() as f64 / waited_ns.len() as f64
        };
        let (reads, writes) = (mean_ns(Direction::Read), mean_ns(Direction::Write));
        assert!(writes < 1.3 * reads, "{scheduler:?}: {writes} and {reads}");
    }
}

/// A cached write leaves a stream its read-ahead, as long as it may wait and there is room.
#[test]
fn writes_into_the_cache_cost_a_reader_no_turn_each() {
    let commands: Vec<_> = (0..4000_u64)
        .map(|number| if number % 10 == 9 { write(5_000_000 + number * 100, 8) } else { read(number * 8, 8) })
        .collect();
    let takes_ns = |wait_ns| {
        let write_cache = Some(WriteCache { blocks: 65_536, pieces: 512, wait_ns });
        let drive = Drive { write_cache, ..larger(Scheduler::Sptf) };
        let mut disk = Disk::new(Arc::new(drive));
        commands.iter().fold(0, |now_ns, command| {
            disk.accept(now_ns, Command { received_ns: now_ns, ..*command });
            let ready_ns = loop {
                match disk.answer() {
                    Some(served) => break served.ready_ns,
                    None => disk.advance(disk.next_ns().unwrap()),
                }
            };
            let next_ns = ready_ns + PAUSE_NS;
            while let Some(at_ns) = disk.next_ns().filter(|at_ns| *at_ns <= next_ns) {
                disk.advance(at_ns);
            }
            next_ns
        })
    };
    let (at_once, held) = (takes_ns(0), takes_ns(50_000_000));
    assert!(2 * held < at_once, "{at_once} {held}");
}

/// What the write cache has in one piece leaves the arm to who waits.
#[test]
fn a_reader_does_not_wait_for_all_that_the_write_cache_holds() {
    let write_cache = Some(room(65_536, 512));
    let drive = Drive { write_cache, ..larger(Scheduler::Sptf) };
    let turn_ns = drive.mechanics.turn_ns;
    let [reader, _] = side_by_side(drive, &[Direction::Read, Direction::Write], 1, 5_000_000_000)[..] else { panic!() };
    assert!(reader.done > 50 && reader.longest_ns as f64 / turn_ns < 16.0, "{} {}", reader.done, reader.longest_ns);
}

/// What the head has passed over is given to who waits for it, and what it is in the middle of is not left for the next sweep.
#[test]
fn two_streams_deeper_are_no_slower() {
    for (segment_blocks, least_ahead_blocks) in [(300, 0), (430, 0), (430, 90), (700, 300)] {
        let done = |depth| {
            let drive = larger(Scheduler::CLook);
            let buffer = ReadBuffer {
                segments: 4,
                segment_blocks,
                read_ahead_blocks: segment_blocks,
                least_ahead_blocks,
                ..drive.buffer
            };
            let streams = side_by_side(Drive { buffer, ..drive }, &[Direction::Read; 2], depth, 10_000_000_000);
            streams.iter().map(|stream| stream.done).sum::<u64>()
        };
        let done: Vec<u64> = (1..=8).map(done).collect();
        let is_no_slower = done.windows(2).all(|pair| pair[1] as f64 > 0.98 * pair[0] as f64);
        assert!(is_no_slower, "{segment_blocks} {least_ahead_blocks}: {done:?}");
    }
}

/// Of a stream of which somebody wants a part, as from a mirror round-robin, the head reads over what nobody wants, however many wait.
#[test]
fn parts_of_a_stream_are_no_slower_where_more_of_them_wait() {
    let commands: Vec<_> = (0..4000).map(|number| read(number * 24, 8)).collect();
    let takes_ns = |depth| {
        let drive = larger(Scheduler::CLook);
        let buffer = ReadBuffer { segment_blocks: 176, read_ahead_blocks: 176, least_ahead_blocks: 0, ..drive.buffer };
        let overhead = Overhead { read_miss_ns: 500_000, ..Overhead::default() };
        serve(&mut Disk::new(Arc::new(Drive { buffer, overhead, ..drive })), depth, &commands).last().unwrap().0 as f64
    };
    let (few, many) = (takes_ns(6), takes_ns(16));
    assert!(many < 1.01 * few, "{few} and {many}");
}

/// Writes that wait for room while reads wait are prepared while the arm is at the one before: what preparing takes is no turn for
/// each that goes on with another. They come from behind, as where rows of a RAID5 are done in another order.
#[test]
fn writes_for_which_there_is_no_room_are_prepared_as_they_wait() {
    let mut random = Random::new(5);
    let commands: Vec<_> = (0..4000_u64)
        .map(
            |number| if number % 8 == 0 { read(random.below(500_000) * 16, 16) } else { write((number ^ 63) * 16, 16) },
        )
        .collect();
    let takes_ns = |depth, write_ns| {
        let overhead = Overhead { write_ns, write_next_ns: write_ns / 3, ..Overhead::default() };
        let write_cache = Some(room(128, 4));
        let drive = Drive { write_cache, overhead, ..larger(Scheduler::CLook) };
        serve(&mut Disk::new(Arc::new(drive)), depth, &commands).last().unwrap().0 as f64
    };
    for depth in [16, 32] {
        let share = takes_ns(depth, 300_000) / takes_ns(depth, 0);
        assert!(share < 1.05, "QD{depth}: {share}");
    }
}
