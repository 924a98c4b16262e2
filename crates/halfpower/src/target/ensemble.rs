//! Several processes, one on each host or more, that measure together: started by an MPI launcher, each with the same command line.
//!
//! Rank 0 runs the command. The others open their targets and do what it orders: measure a workload, or tell the time. All start a
//! workload at an agreed instant of rank 0's clock, against which each clock is compared before and after (Cristian, Distributed
//! Computing 3, 1989: the fastest of a hundred exchanges; the error is at most half of its round trip). MPI is silent while
//! something is measured.
//!
//! Rank 0 opens its targets before the others open theirs. Where all ranks have the same ones, as on a shared file system, their
//! workers share them as those of one process do, and rank 0's claims guard them.

use super::alike::{check_command, check_shared, check_size, own_words};
use crate::text::{UsageError, refuse};
use halfpower_engine::mpi::{Patience, Ranks};
use halfpower_engine::{Access, Clock, Host, Mark, Target, TargetError, is_remote};
use halfpower_model::sample::Rank;
use halfpower_model::trace::Entries;
use halfpower_model::workload::PartOf;
use halfpower_model::{Cancel, Environment, MeasureError, Nanoseconds, Observer, Sample, Testbed, Workload};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::cell::Cell;
use std::fmt::Display;
use std::io;
use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

/// Kinds of messages.
const ORDER: u8 = 1;
const READY: u8 = 2;
const START: u8 = 3;
const RESULT: u8 = 4;
const PING: u8 = 5;
const PONG: u8 = 6;
const OPENED: u8 = 7;
const SHARES: u8 = 8;

/// Between two looks whether rank 0 has opened its targets.
const LOOK: Duration = Duration::from_millis(1);

/// What rank 0 has opened; none in rank 0.
static OF_FIRST: OnceLock<Vec<OpenedTarget>> = OnceLock::new();
/// What this process replays, which orders name only.
static ENTRIES: OnceLock<Arc<dyn Entries>> = OnceLock::new();
/// In rank 0, whether all have the same targets.
static ARE_SHARED: OnceLock<bool> = OnceLock::new();

/// Exchanges by which two clocks are compared.
const EXCHANGES: usize = 100;
/// How far ahead the start is, so that the message arrives before.
const AHEAD: Nanoseconds = Nanoseconds(20_000_000);
/// How long others may take to open their targets, or after this rank to end.
const PATIENCE: Duration = Duration::from_secs(60);
/// Others may take this many times as long as this process where no duration limits them.
const SLOWER: u32 = 20;
/// How long a follower waits for its next order: a user may let a study run for days.
const LONG: Duration = Duration::from_secs(30 * 86_400);

/// What rank 0 wants.
#[derive(Debug, Serialize, Deserialize)]
enum Order {
    Measure(Box<Workload>),
    TellTime,
    End,
}

/// A target that a rank has opened.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct OpenedTarget {
    mark: Option<Mark>,
    may_be_written: bool,
}

impl OpenedTarget {
    /// Of each. Rank 0 marks files that it may overwrite anew, because a copy of its disk on another host has their marks.
    ///
    /// # Errors
    /// The kernel's.
    pub(super) fn of_all(targets: &[Target], ranks: &Ranks) -> io::Result<Vec<OpenedTarget>> {
        if ranks.rank() == 0 {
            targets.iter().try_for_each(Target::mark_anew)?;
        }
        let of = |target: &Target| OpenedTarget { mark: target.mark(), may_be_written: target.may_be_written() };
        Ok(targets.iter().map(of).collect())
    }
}

/// What rank 0 has opened; empty in rank 0, and in a process of its own.
fn of_first() -> &'static [OpenedTarget] {
    OF_FIRST.get().map(Vec::as_slice).unwrap_or_default()
}

/// Reads the entries of a trace that all ranks replay.
pub(crate) fn replay(entries: &Arc<dyn Entries>) {
    ENTRIES.get_or_init(|| Arc::clone(entries));
}

/// Lets the others open theirs beside rank 0, where none can have the same: all fill files of their own.
pub(super) fn let_others_open(ranks: &Arc<Ranks>) -> io::Result<()> {
    if ranks.rank() == 0 { Talk(Arc::clone(ranks)).let_open(&[]) } else { Ok(()) }
}

/// Opens a target: beside rank 0, which guards it, where that has opened the same one for writing.
///
/// # Errors
/// As [`Target::open`].
pub(super) fn open(path: &Path, access: Access) -> Result<Target, TargetError> {
    // A server's volume is guarded by nobody.
    if !is_remote(path) && of_first().iter().any(|first| first.may_be_written) {
        let mark = Target::open(path, Access::Read)?.mark();
        let is_it = |first: &&OpenedTarget| first.may_be_written && first.mark == mark;
        if let Some(mark) = of_first().iter().find(is_it).and(mark.as_ref()) {
            return Target::open_beside(path, mark);
        }
    }
    Target::open(path, access)
}

/// Waits until rank 0 has opened its targets.
///
/// # Errors
/// [`Followed`] if it ends without, or MPI's.
pub(crate) fn wait_for_first(ranks: &Ranks) -> anyhow::Result<()> {
    loop {
        if let Some(bytes) = ranks.receive(0, OPENED, Patience::Asleep(Duration::ZERO))? {
            let (words, opened): (Vec<String>, _) = serde_json::from_slice(&bytes)?;
            OF_FIRST.get_or_init(|| opened);
            return check_command(&own_words(), &words).map_err(Into::into);
        }
        // Its first order before it has opened anything is the end.
        if ranks.receive(0, ORDER, Patience::Asleep(LOOK))?.is_some() {
            return Err(Followed.into());
        }
    }
}

/// A rank has done what it was told to; carried as an error, since there is no result of its own.
#[derive(Debug, thiserror::Error)]
#[error("rank 0 has the result")]
pub(crate) struct Followed;

/// This host and those of the other ranks.
pub(super) struct Ensemble {
    host: Host,
    talk: Talk,
    /// Whether all have the same targets.
    are_shared: bool,
}

/// What rank 0 says to the others, and they to it.
struct Talk(Arc<Ranks>);

/// A clock against that of rank 0.
#[derive(Clone, Copy)]
struct Offset {
    seconds: f64,
    bound_s: f64,
}

/// What a rank measured, and how late its last worker began; or why not.
type Measured = Result<(Box<Sample>, Nanoseconds), String>;

impl Ensemble {
    /// Rank 0's testbed. Other ranks follow its orders, and come back with [`Followed`].
    ///
    /// # Errors
    /// [`Followed`], or MPI's.
    pub(super) fn join(
        host: Host,
        opened: &[OpenedTarget],
        ranks: Arc<Ranks>,
        cancel: &Cancel,
    ) -> anyhow::Result<Ensemble> {
        if ranks.rank() == 0 {
            let talk = Talk(ranks);
            let are_shared = match ARE_SHARED.get() {
                Some(are_shared) => *are_shared,
                None => {
                    let are_shared = talk.are_shared(opened)?;
                    *ARE_SHARED.get_or_init(|| are_shared)
                }
            };
            return Ok(Ensemble { host, talk, are_shared });
        }
        let is_same = |(own, first): (&OpenedTarget, &OpenedTarget)| own.mark.is_some() && own.mark == first.mark;
        let are_same = opened.len() == of_first().len() && opened.iter().zip(of_first()).all(is_same);
        tell_of_targets(&ranks, &Ok(are_same))?;
        let mut host = host;
        follow(&ranks, &mut |workload, instant| {
            if let Some(trace) = &mut workload.trace {
                trace.entries = ENTRIES.get().cloned();
            }
            check_size(workload, host.describe())?;
            let measured = host.measure_from(workload, &mut (), cancel, instant);
            measured.map(|(sample, late)| (Box::new(sample), late)).map_err(|error| causes(&error))
        })?;
        Err(Followed.into())
    }
}

impl Talk {
    fn others(&self) -> std::ops::Range<u32> {
        1..self.0.count()
    }

    /// Lets all others open their targets, once.
    fn let_open(&self, opened: &[OpenedTarget]) -> io::Result<()> {
        if !is_first_time() {
            return Ok(());
        }
        let told = (own_words(), opened);
        self.others().try_for_each(|rank| send(&self.0, rank, OPENED, &told))
    }

    /// Lets all others open their targets, and learns of each whether it has these, or why it has none. They may have files to
    /// fill first.
    fn open_all(&self, opened: &[OpenedTarget]) -> anyhow::Result<Vec<Result<bool, String>>> {
        self.let_open(opened)?;
        let told = |rank| receive(&self.0, rank, SHARES, Patience::Asleep(LONG)).map_err(|error| failed(rank, error));
        Ok(self.others().map(told).collect::<Result<_, _>>()?)
    }

    /// Whether all have the same targets. A rank that has none says why when it is to measure.
    fn are_shared(&self, opened: &[OpenedTarget]) -> anyhow::Result<bool> {
        let same = self.open_all(opened)?.iter().filter(|told| **told == Ok(true)).count();
        if same > 0 && same < self.others().len() && opened.iter().any(|target| target.may_be_written) {
            refuse!(
                "some ranks have the target of rank 0 and others have not; name one for all, or one for each ({{rank}})"
            );
        }
        Ok(same > 0 && same == self.others().len())
    }

    /// Orders something of all others.
    fn order(&self, order: impl Fn(u32) -> Order) -> Result<(), MeasureError> {
        self.others().try_for_each(|rank| send(&self.0, rank, ORDER, &order(rank)).map_err(|error| failed(rank, error)))
    }

    /// Compares the clocks of all others with this one.
    fn offsets(&self) -> Result<Vec<Offset>, MeasureError> {
        let clock = Clock::host();
        let mut offsets = Vec::new();
        for rank in self.others() {
            let of = |error| failed(rank, error);
            send(&self.0, rank, ORDER, &Order::TellTime).map_err(of)?;
            let mut best: Option<(u64, f64)> = None;
            for _ in 0..EXCHANGES {
                let sent = clock.now().0;
                send_bytes(&self.0, rank, PING, &[]).map_err(of)?;
                let told: Nanoseconds = receive(&self.0, rank, PONG, Patience::Awake(PATIENCE)).map_err(of)?;
                let round_trip = clock.now().0 - sent;
                if best.is_none_or(|(least, _)| round_trip < least) {
                    best = Some((round_trip, told.0 as f64 - (sent as f64 + round_trip as f64 / 2.0)));
                }
            }
            let (round_trip, offset_ns) = best.unwrap_or_default();
            offsets.push(Offset { seconds: offset_ns / 1e9, bound_s: round_trip as f64 / 2e9 });
        }
        Ok(offsets)
    }

    /// Waits until all others are ready, and gives the start to each in its own time; none if one of them is not.
    fn agree(&self, is_ready: bool, offsets: &[Offset]) -> Result<Option<Nanoseconds>, MeasureError> {
        let mut failure = None;
        for rank in self.others() {
            let told = receive::<Result<(), String>>(&self.0, rank, READY, Patience::Asleep(PATIENCE));
            match told {
                Ok(Ok(())) => {}
                Ok(Err(why)) => drop(failure.get_or_insert(MeasureError::Unsupported(format!("rank {rank}: {why}")))),
                Err(error) => drop(failure.get_or_insert(failed(rank, error))),
            }
        }
        let start = (is_ready && failure.is_none()).then(|| Nanoseconds(Clock::host().now().0 + AHEAD.0));
        for (rank, offset) in self.others().zip(offsets) {
            let its = start.map(|start| Nanoseconds((start.0 as f64 + offset.seconds * 1e9) as u64));
            send(&self.0, rank, START, &its).map_err(|error| failed(rank, error))?;
        }
        failure.map_or(Ok(start), Err)
    }

    /// Own sample and those of all others, with what is known of each.
    fn gather(&self, own: (Sample, Nanoseconds), before: &[Offset]) -> Result<Vec<(Rank, Sample)>, MeasureError> {
        let (own, late) = own;
        let elapsed = Duration::from_secs_f64(own.elapsed_s);
        // Requests or bytes may take others much longer.
        let more = match own.workload.limits.duration {
            Some(limit) => Duration::from_nanos(limit.0).saturating_sub(elapsed),
            None => SLOWER * elapsed,
        };
        let patience = Patience::Asleep(PATIENCE + more);
        let mut parts = vec![(part_of(0, &own, None, late), own)];
        for (rank, offset) in self.others().zip(before) {
            let told = receive::<Measured>(&self.0, rank, RESULT, patience);
            let told = told.map_err(|error| failed(rank, error))?;
            let (mut sample, late) = told.map_err(|why| MeasureError::Unsupported(format!("rank {rank}: {why}")))?;
            let of = part_of(rank, &sample, Some(*offset), late);
            if let Some(failure) = &mut sample.failure {
                failure.message = format!("rank {rank} ({}): {}", of.host, failure.message);
            }
            parts.push((of, *sample));
        }
        let after = self.offsets()?;
        for ((of, _), (before, after)) in parts.iter_mut().skip(1).zip(before.iter().zip(&after)) {
            of.drift_s = after.seconds - before.seconds;
        }
        Ok(parts)
    }
}

/// Processes that each work in files of their own, and begin together.
pub(crate) struct Company {
    talk: Talk,
    /// Rank 0 has sent this one home.
    has_ended: Cell<bool>,
    /// Since when all do the same.
    begun: Cell<Instant>,
}

impl Company {
    /// Of all processes. Rank 0 lets the others begin.
    ///
    /// # Errors
    /// MPI's.
    pub(crate) fn of(ranks: &Arc<Ranks>) -> anyhow::Result<Company> {
        let talk = Talk(Arc::clone(ranks));
        let company = Company { talk, has_ended: Cell::new(false), begun: Cell::new(Instant::now()) };
        if ranks.rank() > 0 {
            tell_of_targets(ranks, &Ok(false))?;
            return Ok(company);
        }
        let told = company.talk.open_all(&[])?;
        let lacking = (1..).zip(told).find_map(|(rank, told)| Some(format!("rank {rank}: {}", told.err()?)));
        lacking.map_or(Ok(company), |why| Err(UsageError(why).into()))
    }

    /// Waits until all are ready; then the start, in this host's time.
    ///
    /// # Errors
    /// If another rank has failed, with its reason, or rank 0 has ended.
    pub(crate) fn ready(&self) -> io::Result<Nanoseconds> {
        let Talk(ranks) = &self.talk;
        if ranks.rank() == 0 {
            self.receive_all::<()>(READY)?;
            let offsets = self.talk.offsets().map_err(io::Error::other)?;
            let start = Nanoseconds(Clock::host().now().0 + AHEAD.0);
            for (rank, offset) in self.talk.others().zip(offsets) {
                send(ranks, rank, START, &Nanoseconds((start.0 as f64 + offset.seconds * 1e9) as u64))?;
            }
            return Ok(start);
        }
        send(ranks, 0, READY, &Ok::<(), String>(()))?;
        match receive(ranks, 0, ORDER, Patience::Asleep(LONG))? {
            Order::TellTime => answer_exchanges(ranks)?,
            Order::End | Order::Measure(_) => {
                self.has_ended.set(true);
                return Err(io::Error::other("rank 0 has ended"));
            }
        }
        receive(ranks, 0, START, Patience::Asleep(PATIENCE))
    }

    /// What every rank has, in their order; none but in rank 0.
    ///
    /// # Errors
    /// As [`ready`](Self::ready).
    pub(crate) fn gather<T: Serialize + DeserializeOwned>(&self, own: T) -> io::Result<Option<Vec<T>>> {
        if self.talk.0.rank() == 0 {
            let others = self.receive_all(RESULT)?;
            return Ok(Some([own].into_iter().chain(others).collect()));
        }
        send(&self.talk.0, 0, RESULT, &Ok::<T, String>(own))?;
        Ok(None)
    }

    /// How a rank other than 0 ends, whose result rank 0 has.
    ///
    /// # Errors
    /// What it failed with, or [`Followed`] if rank 0 knows.
    pub(crate) fn end(&self, measured: anyhow::Result<()>) -> anyhow::Result<()> {
        if self.has_ended.get() { Err(Followed.into()) } else { measured }
    }

    /// Tells rank 0 why this rank cannot go on.
    pub(crate) fn give_up(&self, why: &str) {
        for tag in [READY, RESULT] {
            // It may have ended itself.
            let _ = send(&self.talk.0, 0, tag, &Err::<(), _>(why));
        }
    }

    /// Of all others, each of which may take much longer than this one.
    fn receive_all<T: DeserializeOwned>(&self, tag: u8) -> io::Result<Vec<T>> {
        let patience = Patience::Asleep(PATIENCE + SLOWER * self.begun.get().elapsed());
        let from = |rank: u32| {
            let named = |why: &dyn Display| io::Error::other(format!("rank {rank}: {why}"));
            let told: Result<T, String> = receive(&self.talk.0, rank, tag, patience).map_err(|error| named(&error))?;
            told.map_err(|why| named(&why))
        };
        let all = self.talk.others().map(from).collect();
        self.begun.set(Instant::now());
        all
    }
}

impl Testbed for Ensemble {
    fn describe(&self) -> &Environment {
        self.host.describe()
    }

    fn measure(
        &mut self,
        workload: &Workload,
        observer: &mut dyn Observer,
        cancel: &Cancel,
    ) -> Result<Sample, MeasureError> {
        let Ensemble { host, talk, are_shared } = self;
        if talk.0.is_one_lost() {
            return Err(MeasureError::Unsupported("a process has not answered before".to_owned()));
        }
        let processes = talk.0.count();
        if *are_shared {
            check_shared(workload, processes)?;
        }
        let of_rank = |process| {
            let part_of = are_shared.then_some(PartOf { process, processes });
            Workload { part_of, ..workload.clone() }
        };
        let before = talk.offsets()?;
        talk.order(|rank| Order::Measure(Box::new(of_rank(rank))))?;
        let mut agreed = None;
        let mut instant = || {
            let start = talk.agree(true, &before);
            let at = start.as_ref().ok().copied().flatten();
            agreed = Some(start);
            at
        };
        let own = host.measure_from(&of_rank(0), observer, cancel, &mut instant);
        match (agreed, own) {
            (Some(Err(error)), _) => Err(error),
            (Some(Ok(_)), Ok(own)) => {
                let mut parts = talk.gather(own, &before)?;
                // They may know the same targets by other names.
                for (_, sample) in parts.iter_mut().filter(|_| *are_shared) {
                    let names = host.describe().all_targets().map(|target| target.path.clone());
                    sample.environment.all_targets_mut().zip(names).for_each(|(target, name)| target.path = name);
                }
                Sample::of_ranks(parts).ok_or(MeasureError::Cancelled)
            }
            (Some(Ok(_)), Err(error)) => {
                // The others measure meanwhile; what they have is of no use.
                for rank in talk.others() {
                    let _ = receive::<Measured>(&talk.0, rank, RESULT, Patience::Asleep(PATIENCE));
                }
                Err(error)
            }
            (None, own) => {
                talk.agree(false, &before)?;
                own.map(|(sample, _)| sample)
            }
        }
    }
}

/// A rank's part, without its drift.
fn part_of(rank: u32, sample: &Sample, offset: Option<Offset>, late: Nanoseconds) -> Rank {
    let offset = offset.unwrap_or(Offset { seconds: 0.0, bound_s: 0.0 });
    Rank {
        rank,
        host: sample.environment.host.clone(),
        offset_s: offset.seconds,
        offset_bound_s: offset.bound_s,
        drift_s: 0.0,
        late_s: late.seconds(),
        elapsed_s: sample.elapsed_s,
        total: sample.total.clone(),
    }
}

/// Measures a workload, from when the function tells that it starts.
type Measure<'a> = &'a mut dyn FnMut(&mut Workload, &mut dyn FnMut() -> Option<Nanoseconds>) -> Measured;

/// Does what rank 0 orders until it orders the end.
fn follow(ranks: &Ranks, measure: Measure<'_>) -> io::Result<()> {
    loop {
        match receive(ranks, 0, ORDER, Patience::Asleep(LONG))? {
            Order::End => return Ok(()),
            Order::TellTime => answer_exchanges(ranks)?,
            Order::Measure(mut workload) => {
                let mut told = None;
                let mut instant = || {
                    let start = tell_and_ask(ranks, &Ok(()));
                    let at = start.as_ref().ok().copied().flatten();
                    told = Some(start);
                    at
                };
                let measured = measure(&mut workload, &mut instant);
                let start = match told {
                    Some(start) => start?,
                    None => tell_and_ask(ranks, &measured.as_ref().map(|_| ()).map_err(Clone::clone))?,
                };
                if start.is_some() {
                    send(ranks, 0, RESULT, &measured)?;
                }
            }
        }
    }
}

/// This rank's part in the comparison of clocks.
fn answer_exchanges(ranks: &Ranks) -> io::Result<()> {
    for _ in 0..EXCHANGES {
        bytes(ranks, 0, PING, Patience::Awake(PATIENCE))?;
        send(ranks, 0, PONG, &Clock::host().now())?;
    }
    Ok(())
}

/// Tells rank 0, once, whether this one has its targets, or why it has none.
fn tell_of_targets(ranks: &Ranks, told: &Result<bool, String>) -> io::Result<()> {
    if is_first_time() { send(ranks, 0, SHARES, told) } else { Ok(()) }
}

/// Whether this process has not told others of its targets yet.
fn is_first_time() -> bool {
    static TOLD: OnceLock<()> = OnceLock::new();
    TOLD.set(()).is_ok()
}

/// Tells rank 0 whether this one is ready, and asks when to start.
fn tell_and_ask(ranks: &Ranks, ready: &Result<(), String>) -> io::Result<Option<Nanoseconds>> {
    send(ranks, 0, READY, ready)?;
    // Rank 0 waits for all others meanwhile.
    receive(ranks, 0, START, Patience::Asleep(PATIENCE * 2))
}

/// Answers the orders of rank 0 with why this rank cannot do them.
pub(crate) fn follow_without_target(ranks: &Ranks, why: &str) -> io::Result<()> {
    tell_of_targets(ranks, &Err(why.to_owned()))?;
    follow(ranks, &mut |_, _| Err(why.to_owned()))
}

/// Sends all other ranks home. If one is lost, all are ended by MPI.
pub(crate) fn dismiss(ranks: &Ranks) -> io::Result<()> {
    if ranks.is_one_lost() {
        return Ok(());
    }
    (1..ranks.count()).try_for_each(|rank| send(ranks, rank, ORDER, &Order::End))
}

fn send(ranks: &Ranks, to: u32, tag: u8, message: &impl Serialize) -> io::Result<()> {
    send_bytes(ranks, to, tag, &serde_json::to_vec(message)?)
}

/// Sends a message: to rank 0 with a long limit, because it may still measure; to others with a short one, because they wait.
fn send_bytes(ranks: &Ranks, to: u32, tag: u8, message: &[u8]) -> io::Result<()> {
    let at_most = if ranks.rank() == 0 { PATIENCE } else { LONG };
    if ranks.send(to, tag, message, at_most)? { Ok(()) } else { Err(lost(ranks)) }
}

fn receive<T: DeserializeOwned>(ranks: &Ranks, from: u32, tag: u8, patience: Patience) -> io::Result<T> {
    Ok(serde_json::from_slice(&bytes(ranks, from, tag, patience)?)?)
}

/// Receives a message. A rank that sends none in time is lost.
fn bytes(ranks: &Ranks, from: u32, tag: u8, patience: Patience) -> io::Result<Vec<u8>> {
    ranks.receive(from, tag, patience)?.ok_or_else(|| lost(ranks))
}

fn lost(ranks: &Ranks) -> io::Error {
    ranks.lose();
    io::Error::new(io::ErrorKind::TimedOut, "it does not answer")
}

fn failed(rank: u32, source: io::Error) -> MeasureError {
    MeasureError::System { action: "measure with", subject: format!("rank {rank}"), source }
}

fn causes(error: &MeasureError) -> String {
    crate::text::causes(error)
}
