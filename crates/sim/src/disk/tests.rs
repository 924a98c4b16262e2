//! A whole disk: streams, depth, buffers, and what holds for any workload.

use super::arm::{Mechanics, tests::slow};
use super::cache::ReadBuffer;
use super::geometry::{Geometry, Switches, tests::zone};
use super::scheduler::Scheduler;
use super::seek::SeekCurve;
use super::*;
use crate::table::Named;
use halfpower_model::random::Random;
use proptest::prelude::*;

const MS: u64 = 1_000_000;

/// A buffer of so many segments, each of so many blocks, and how far it reads ahead.
pub(crate) fn read_buffer(segments: usize, segment_blocks: u64, read_ahead_blocks: u64) -> ReadBuffer {
    ReadBuffer { segments, segment_blocks, read_ahead_blocks, least_ahead_blocks: 0, again: true }
}

fn drive(mechanics: Mechanics) -> Drive {
    Drive {
        mechanics,
        scheduler: Scheduler::Fcfs,
        buffer: read_buffer(3, 60, 40),
        overhead: Overhead::default(),
        write_cache: None,
        noise: Noise::default(),
    }
}

/// A write cache.
pub(super) fn room(blocks: u64, extents: usize) -> WriteCache {
    WriteCache { blocks, extents }
}

/// Serves a closed loop of `depth` requests from `commands`; gives when the last was done.
pub(super) fn serve(disk: &mut Disk, depth: usize, commands: &[Command]) -> Vec<(u64, Served)> {
    let (mut now, mut next, mut outstanding) = (0, 0, Vec::<Served>::new());
    let mut done = Vec::new();
    let mut open = 0;
    while done.len() < commands.len() {
        while open < depth && next < commands.len() {
            disk.accept(now, Command { tag: next as u32, received_ns: now, ..commands[next] });
            next += 1;
            open += 1;
        }
        while let Some(served) = disk.answer() {
            outstanding.push(served);
        }
        let ready = outstanding.iter().map(|served| served.ready_ns).min();
        now = [ready, disk.next_ns()].into_iter().flatten().min().expect("something is under way").max(now);
        if let Some(index) = outstanding.iter().position(|served| served.ready_ns <= now) {
            done.push((now, outstanding.remove(index)));
            open -= 1;
        } else {
            disk.advance(now);
        }
    }
    done
}

pub(super) fn read(block: u64, count: u64) -> Command {
    Command { tag: 0, direction: Direction::Read, block, count, received_ns: 0 }
}

pub(super) fn write(block: u64, count: u64) -> Command {
    Command { direction: Direction::Write, ..read(block, count) }
}

/// The share of the medium's own rate that a sequential workload gets.
fn streamed_share(drive: Drive, depth: usize, direction: Direction, count: u64) -> f64 {
    let requests = 1500 / count;
    let commands: Vec<_> = (0..requests).map(|number| Command { direction, ..read(number * count, count) }).collect();
    let last = requests * count - 1;
    let (turns, turn_ns) = (drive.mechanics.geometry.turns_after(last), drive.mechanics.turn_ns);
    let done = serve(&mut Disk::new(&Arc::new(drive), 0), depth, &commands);
    turns * turn_ns / done.last().unwrap().0 as f64
}

/// Two requests a track of ten sectors with a shift of two: 12 ms for a stream. Between the two the next sector has just
/// gone by, and a turn is lost; the shift at the track's end hides the second request's overhead: 22 ms.
const LOST_ONE_TURN: f64 = 12.0 / 22.0;

#[test]
fn read_ahead_streams_and_without_it_every_request_loses_a_turn() {
    let ahead = streamed_share(drive(slow(false)), 1, Direction::Read, 5);
    assert!(ahead > 0.99, "{ahead}");
    let overhead = Overhead { read_hit_ns: 100_000, read_miss_ns: 100_000, write_ns: 100_000, ..Overhead::default() };
    let plain = drive(slow(false));
    let none = Drive { buffer: ReadBuffer { segments: 0, ..plain.buffer }, overhead, ..plain };
    let lost = streamed_share(none, 1, Direction::Read, 5);
    assert!((lost / LOST_ONE_TURN - 1.0).abs() < 0.02, "{lost}");
}

/// Just after sectors 0 to 3. Block 30 comes by at 7 ms, in 3 ms of which the arm is there, and again in three turns, which the
/// read-ahead would pass over.
#[test]
fn an_arm_leaves_its_read_ahead_where_that_saves_a_turn() {
    let done_ms = |block| {
        let mut disk = Disk::new(&Arc::new(drive(slow(false))), 0);
        disk.accept(0, read(0, 4));
        disk.advance(4 * MS);
        disk.accept(4 * MS, read(block, 1));
        [disk.answer(), disk.answer()].map(|served| served.unwrap().ready_ns as f64 / 1e6)
    };
    assert_eq!([done_ms(30), done_ms(10)], [[4.0, 8.0], [4.0, 13.0]]);
}

#[test]
fn sequential_writes_stream_with_the_write_cache_and_lose_turns_without() {
    let overhead = Overhead { write_ns: 200_000, ..Overhead::default() };
    let cached = Drive { write_cache: Some(room(40, 8)), overhead, ..drive(slow(false)) };
    let uncached = Drive { write_cache: None, ..cached.clone() };
    let (with, without) =
        (streamed_share(cached, 1, Direction::Write, 5), streamed_share(uncached, 1, Direction::Write, 5));
    assert!(with > 0.97, "{with}");
    assert!((without / LOST_ONE_TURN - 1.0).abs() < 0.02, "{without}");
}

/// When the last of so many writes is on the medium, each made a while after the one before was.
fn flushed_one_by_one_ns(drive: &Drive, count: u64, pause_ns: u64) -> u64 {
    let mut disk = Disk::new(&Arc::new(drive.clone()), 0);
    let mut now = 0;
    for number in 0..40 {
        now += pause_ns;
        disk.accept(now, Command { received_ns: now, ..write(number * count, count) });
        now = disk.answer().unwrap().ready_ns;
        while let Some(at) = disk.next_ns() {
            (now, _) = (at.max(now), disk.advance(at));
        }
        assert!(disk.is_flushed());
    }
    now
}

/// A sector of 4 of 40 blocks passes in 1 ms: the head is always beyond its beginning.
#[test]
fn a_sector_that_is_flushed_before_the_next_takes_a_turn_each() {
    let zones = [zone(0, 40, 8, 12)];
    let mechanics =
        Mechanics { geometry: Geometry::new(2, 100, &zones, Switches::default()), sector_blocks: 4, ..slow(true) };
    let write_cache = Some(room(400, 8));
    for (pause_ns, write_ns) in [(700_000, 0), (100_000, 700_000), (100_000, 0)] {
        let overhead = Overhead { write_ns, ..Overhead::default() };
        let one_by_one =
            flushed_one_by_one_ns(&Drive { write_cache, overhead, ..drive(mechanics.clone()) }, 4, pause_ns);
        // 40 sectors are four tracks; at three ends the shift is there in time.
        assert!(one_by_one > 35 * 10 * MS, "{pause_ns} {write_ns}: {one_by_one}");
    }
}

/// Sector 3 comes by from 3 ms on.
#[test]
fn an_arm_leaves_for_a_cached_write_when_the_drive_has_done_its_own() {
    let done_ms = |write_ns| {
        let overhead = Overhead { write_ns, ..Overhead::default() };
        let write_cache = Some(room(40, 8));
        let mut disk = Disk::new(&Arc::new(Drive { write_cache, overhead, ..drive(slow(false)) }), 0);
        disk.accept(2 * MS, write(3, 1));
        disk.next_ns().unwrap() / MS
    };
    assert_eq!([0, MS, MS + 10_000].map(done_ms), [4, 4, 14]);
}

#[test]
fn a_cached_write_is_done_at_once_until_the_cache_is_full() {
    let cached = Drive { write_cache: Some(room(8, 8)), ..drive(slow(false)) };
    let mut disk = Disk::new(&Arc::new(cached), 0);
    let commands: Vec<_> = [500, 900, 1500].map(|block| write(block, 4)).into();
    let done = serve(&mut disk, 3, &commands);
    assert_eq!(done[0].0, 0);
    assert_eq!(done[1].0, 0);
    assert!(done[2].0 > MS, "the third waits for room");
    assert!(!disk.is_idle(), "what is done for the host is not all on the medium");
    while let Some(at) = disk.next_ns() {
        disk.advance(at);
    }
    assert!(disk.is_idle() && disk.worked(u64::MAX).busy_ns > 0);
}

/// Sectors 4 to 7 wait for the arm, which destages sector 0 until 1 ms. What overlaps them needs room for its new blocks alone.
#[test]
fn a_write_of_waiting_blocks_replaces_them() {
    let cached = Drive { write_cache: Some(room(12, 1)), ..drive(slow(false)) };
    let commands = [write(0, 1), write(4, 4), write(4, 4), write(5, 1), write(6, 3), write(3, 2)];
    let mut disk = Disk::new(&Arc::new(cached), 0);
    commands.iter().for_each(|command| disk.accept(0, *command));
    assert!(commands.iter().all(|_| disk.answer().is_some_and(|served| served.ready_ns == 0)));
    assert_eq!((disk.dirty_blocks, disk.extents), (7, 1), "0, and 3 to 8");
    disk.advance(disk.next_ns().unwrap());
    assert_eq!(disk.next_ns(), Some(9 * MS), "3 to 8 in one access");
}

/// The read-ahead of 8 sectors ends at 14 ms. Nobody waits for the write, until there is a flush.
#[test]
fn a_read_ahead_ends_before_the_drive_destages_unless_somebody_waits() {
    let cached = Drive { write_cache: Some(room(80, 8)), buffer: read_buffer(2, 20, 8), ..drive(slow(false)) };
    let until_ms = |flushes: bool| {
        let mut disk = Disk::new(&Arc::new(cached.clone()), 0);
        disk.accept(0, read(0, 4));
        disk.advance(4 * MS);
        disk.accept(4 * MS, write(30, 1));
        if flushes {
            disk.await_flush(4 * MS);
        }
        disk.next_ns().unwrap() / MS
    };
    assert_eq!([until_ms(false), until_ms(true)], [14, 8]);
}

#[test]
fn a_write_just_before_a_piece_that_waits_makes_it_longer() {
    let cached = Drive { write_cache: Some(room(80, 1)), ..drive(slow(false)) };
    let mut disk = Disk::new(&Arc::new(cached), 0);
    // The arm is at the first.
    [500, 904, 900, 896].into_iter().for_each(|block| disk.accept(0, write(block, 4)));
    assert_eq!(std::iter::from_fn(|| disk.answer()).count(), 4);
    disk.accept(0, write(700, 4));
    assert_eq!(disk.answer(), None, "there is one piece");
}

#[test]
fn a_write_of_part_of_a_physical_sector_takes_another_turn() {
    let large = drive(Mechanics { sector_blocks: 4, ..slow(false) });
    let done_ms =
        |drive: &Drive, command: Command| serve(&mut Disk::new(&Arc::new(drive.clone()), 0), 1, &[command])[0].0 / MS;
    let at_once = |command| (done_ms(&drive(slow(false)), command), done_ms(&large, command));
    assert_eq!([at_once(write(4, 4)), at_once(read(5, 2)), at_once(read(6, 3))], [(8, 8), (7, 7), (9, 9)]);
    assert_eq!([at_once(write(5, 2)), at_once(write(4, 3)), at_once(write(6, 2))], [(7, 17), (7, 17), (8, 18)]);
}

#[test]
fn what_is_in_the_write_cache_is_read_from_there() {
    let cached = Drive { write_cache: Some(room(80, 8)), ..drive(slow(false)) };
    let mut disk = Disk::new(&Arc::new(cached), 0);
    disk.accept(0, write(500, 4));
    disk.accept(0, write(700, 4));
    disk.accept(0, read(701, 2));
    let answers: Vec<_> = std::iter::from_fn(|| disk.answer()).collect();
    assert_eq!(answers.len(), 3);
    assert_eq!(answers[2].ready_ns, 0);
}

/// The faster half of a real drive's tables, four heads.
pub(crate) fn larger(scheduler: Scheduler) -> Drive {
    let seeks = SeekCurve::data_sheet(8000, 1.0, 6.0, 12.0).unwrap();
    let zones = [zone(0, 400, 60, 90), zone(4000, 300, 45, 70)];
    let geometry = Geometry::new(4, 8000, &zones, Switches::of(4, 500_000, &seeks, 0, 8.33e6));
    let (turn_ns, head_switch_ns, write_settle_ns) = (8.33e6, 500_000, 300_000);
    let mechanics =
        Mechanics { geometry, written: None, seeks, turn_ns, head_switch_ns, write_settle_ns, ..slow(true) };
    Drive { scheduler, buffer: read_buffer(4, 512, 256), ..drive(mechanics) }
}

fn random_rate(scheduler: Scheduler, depth: usize) -> f64 {
    let drive = larger(scheduler);
    let blocks = drive.mechanics.geometry.blocks() - 16;
    let mut random = Random::new(7);
    let commands: Vec<_> = (0..4000).map(|_| read(random.below(blocks), 16)).collect();
    let done = serve(&mut Disk::new(&Arc::new(drive), 0), depth, &commands);
    4000e9 / done.last().unwrap().0 as f64
}

#[test]
fn depth_helps_the_schedulers_in_their_order() {
    let [fcfs, circular, sptf] =
        [Scheduler::Fcfs, Scheduler::CLook, Scheduler::Sptf].map(|scheduler| random_rate(scheduler, 32));
    let one = random_rate(Scheduler::Sptf, 1);
    assert!((fcfs / one - 1.0).abs() < 0.02, "in the order of arrival depth changes nothing: {fcfs} {one}");
    assert!(circular > 1.3 * fcfs && sptf > 1.2 * circular, "{fcfs} {circular} {sptf}");
    // 6 ms of seek, half a turn, and 16 blocks: 10.5 ms.
    assert!((one * 10.5e-3 - 1.0).abs() < 0.05, "{one}");
}

/// When a stream of reads of `count` blocks is done that stops before its `at`th for `pause_ns`, and for a read elsewhere.
fn interrupted_ns(drive: &Drive, count: u64, at: usize, pause_ns: u64, elsewhere: Option<u64>) -> u64 {
    let mut disk = Disk::new(&Arc::new(drive.clone()), 0);
    let mut now = 0;
    let mut serve = |now: u64, command: Command| {
        disk.accept(now, Command { received_ns: now, ..command });
        while disk.next_ns().is_some_and(|at| at <= now) {
            disk.advance(now);
        }
        loop {
            if let Some(served) = disk.answer() {
                // The arm has its time until the bytes are there.
                while let Some(next) = disk.next_ns().filter(|next| *next <= served.ready_ns) {
                    disk.advance(next);
                }
                return served.ready_ns;
            }
            let next = disk.next_ns().expect("something is under way");
            disk.advance(next);
        }
    };
    for number in 0..40_usize {
        if number == at {
            now += pause_ns;
            now = elsewhere.map_or(now, |block| serve(now, read(block, 8)));
        }
        now = serve(now, read(3000 + number as u64 * count, count));
    }
    now
}

/// A Quantum Atlas 10K of 9.1 GB as DiskSim 4.0 describes it (extracted points, thinned out; shifts and zones merged).
pub(crate) fn atlas(scheduler: Scheduler) -> Drive {
    let firsts = [0, 1265, 4609, 5449, 5865, 6281, 7121, 7537, 7953, 8377, 8793, 9209, 9625];
    let sectors = [334, 324, 306, 302, 293, 288, 280, 270, 262, 255, 246, 237, 229];
    let of_tracks = [63, 62, 58, 57, 56, 55, 54, 51, 51, 48, 47, 45, 44];
    let of_cylinders = [113, 101, 98, 92, 91, 90, 88, 87, 83, 83, 75, 75, 75];
    let zone_of = |at: usize| zone(firsts[at], sectors[at], of_tracks[at], of_cylinders[at]);
    let zones: Vec<_> = (0..firsts.len()).map(zone_of).collect();
    let cylinders = [1, 5, 10, 20, 50, 100, 200, 400, 1000, 2000, 3000, 4000, 5000, 6000, 7000, 8000, 9000, 10_021];
    let ms = [
        1.245, 1.355, 1.531, 1.620, 1.863, 2.011, 2.651, 3.146, 3.820, 4.842, 5.643, 6.226, 6.814, 7.525, 8.205, 8.951,
        10.114, 10.828,
    ];
    let points: Vec<_> = cylinders.into_iter().zip(ms).collect();
    let (seeks, turn_ns) = (SeekCurve::measured(10_042, &points), 60e9 / 10_025.0);
    let geometry = Geometry::new(6, 10_042, &zones, Switches::of(6, 176_000, &seeks, 0, turn_ns));
    let (head_switch_ns, write_settle_ns) = (176_000, 487_000);
    let mechanics =
        Mechanics { geometry, written: None, seeks, turn_ns, head_switch_ns, write_settle_ns, ..slow(true) };
    let overhead = Overhead { read_hit_ns: 184_000, read_miss_ns: 0, write_ns: 345_000, ..Overhead::default() };
    Drive { scheduler, buffer: read_buffer(10, 374, 354), overhead, ..drive(mechanics) }
}

#[test]
fn an_atlas_does_what_disksim_s_does() {
    let rate = |scheduler, depth| {
        let drive = atlas(scheduler);
        // Spares and slipped defects take what is beyond its 17 938 986 blocks.
        let mut random = Random::new(3);
        let commands: Vec<_> = (0..20_000).map(|_| read(random.below(1_121_186) * 16, 16)).collect();
        20_000e9 / serve(&mut Disk::new(&Arc::new(drive), 0), depth, &commands).last().unwrap().0 as f64
    };
    // DiskSim: 110.6 at depth 1, 173 at depth 32 with C-LOOK.
    let (one, deep) = (rate(Scheduler::CLook, 1), rate(Scheduler::CLook, 32));
    assert!((one / 110.6 - 1.0).abs() < 0.02, "{one}");
    assert!((deep / 173.0 - 1.0).abs() < 0.04, "{deep}");
}

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
    let mut disk = Disk::new(&Arc::new(drive), 0);
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

/// Under any scheduler each of four streams has its part, and no command waits for longer than its due.
#[test]
fn no_stream_starves_beside_others() {
    for &(_, scheduler) in Scheduler::WORDS {
        for extents in [0, 1, 8] {
            for (depth, directions) in [
                (1, [Direction::Read; 4]),
                (2, [Direction::Read; 4]),
                (4, [Direction::Write; 4]),
                (2, [Direction::Read, Direction::Write, Direction::Read, Direction::Read]),
            ] {
                let write_cache = (extents > 0).then_some(room(4096, extents));
                let drive = Drive { write_cache, ..larger(scheduler) };
                let turn_ns = drive.mechanics.turn_ns;
                let done = side_by_side(drive, &directions, depth, 20_000_000_000);
                let longest = done.iter().map(|stream| stream.longest_ns).max().unwrap() as f64 / turn_ns;
                let most = (4 * depth) as f64 * (PATIENCE_TURNS + 4.0);
                assert!(longest < most, "{scheduler:?} {extents} {depth} {directions:?}: {longest} turns of {most}");
                let least = done.iter().map(|stream| stream.done).min().unwrap();
                assert!(least > 20, "{scheduler:?} {extents} {depth} {directions:?}: {least}");
            }
        }
    }
}

#[test]
fn spindles_turn_at_their_own_phase_unless_they_have_no_tolerance() {
    let differs = |speed| {
        let noise = Noise { speed, ..Noise::default() };
        let drive = Arc::new(Drive { noise, ..larger(Scheduler::Fcfs) });
        Disk::new(&drive, 1).phase_ns != Disk::new(&drive, 2).phase_ns
    };
    assert_eq!([0.001, 0.0].map(differs), [true, false]);
}

/// Two streams of one request each lose a rotation and a seek per request, unless the drive reads ahead before it leaves.
#[test]
fn a_minimum_read_ahead_keeps_streams_side_by_side_apart() {
    let done = |least_ahead_blocks| {
        let drive = larger(Scheduler::CLook);
        let drive = Drive { buffer: ReadBuffer { least_ahead_blocks, ..drive.buffer }, ..drive };
        side_by_side(drive, &[Direction::Read; 2], 1, 5_000_000_000).iter().map(|stream| stream.done).sum::<u64>()
    };
    let (without, with) = (done(0), done(256));
    assert!(with as f64 > 1.5 * without as f64, "{without} and {with}");
}

/// A retry takes another rotation.
#[test]
fn retries_take_their_share_of_rotations() {
    let rate = |retries| {
        let drive = Drive { noise: Noise { retries, ..Noise::default() }, ..larger(Scheduler::Fcfs) };
        let mut random = Random::new(7);
        let commands: Vec<_> = (0..4000).map(|_| read(random.below(11_000_000), 1)).collect();
        serve(&mut Disk::new(&Arc::new(drive), 3), 1, &commands).last().unwrap().0 as f64 / 4000.0
    };
    let more = (rate(0.25) - rate(0.0)) / 8.33e6;
    assert!((more - 0.25).abs() < 0.02, "{more} rotations");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// A pause costs itself and a turn at most, and may cost nothing, as the drive reads on meanwhile; a read elsewhere
    /// costs itself and a way back. What was read ahead is not read again.
    #[test]
    fn a_stream_that_was_interrupted_goes_on(
        count in 1_u64..200, at in 1_usize..40, pause_ns in 0_u64..40_000_000, block in 100_000_u64..11_000_000
    ) {
        let drive = larger(Scheduler::CLook);
        let (turn_ns, full_ns) = (drive.mechanics.turn_ns as u64 + 2, drive.mechanics.seeks.time_ns(7999));
        let whole = interrupted_ns(&drive, count, 0, 0, None);
        let paused = interrupted_ns(&drive, count, at, pause_ns, None);
        prop_assert!(paused >= whole && paused <= whole + pause_ns + turn_ns, "{} {}", whole, paused);
        let torn = interrupted_ns(&drive, count, at, 0, Some(block));
        prop_assert!(torn >= whole && torn <= whole + 2 * (full_ns + turn_ns) + turn_ns, "{} {}", whole, torn);
    }

    #[test]
    fn every_request_is_answered_once_and_the_arm_works_no_longer_than_there_is_time(
        seed in any::<u64>(), depth in 1_usize..40, cached in any::<bool>(), which in 0_usize..4
    ) {
        let scheduler = Scheduler::WORDS[which].1;
        let write_cache = cached.then_some(room(256, 8));
        let mut disk = Disk::new(&Arc::new(Drive { write_cache, ..larger(scheduler) }), 0);
        let mut random = Random::new(seed);
        let mut block = 0;
        let commands: Vec<_> = (0..400).map(|_| {
            block = if random.below(3) == 0 { random.below(11_000_000) } else { block + 8 };
            let direction = if random.below(2) == 0 { Direction::Read } else { Direction::Write };
            Command { direction, ..read(block, 1 + random.below(64)) }
        }).collect();
        let done = serve(&mut disk, depth, &commands);
        let mut tags: Vec<u32> = done.iter().map(|(_, served)| served.tag).collect();
        tags.sort_unstable();
        prop_assert!(tags.iter().copied().eq(0..400));
        prop_assert!(done.iter().all(|(_, served)| served.begins_ns <= served.ready_ns));
        let mut end = done.iter().map(|(at, _)| *at).max().unwrap();
        while let Some(at) = disk.next_ns() {
            end = end.max(at);
            disk.advance(at);
        }
        prop_assert!(disk.is_idle());
        prop_assert!(disk.worked(end).busy_ns <= end, "{} of {end}", disk.worked(end).busy_ns);
    }
}
