//! Transfers over one connection: what was asked, what came back, and where its bytes go.
//!
//! Several requests leave with one call. One call receives into the buffer of the read whose data are arriving and, behind it, into
//! a box for the starts of the next answers. Data that arrive in the box are copied: with small requests one call receives many
//! answers, with large ones most bytes go straight to their place.

use super::connection::{Outbox, Socket, silence};
use super::{Answer, Name, Protocol, Refusal, Volume};
use crate::personality::interface::{Completion, Granted, Transfer, failed};
use crate::target::Access;
use halfpower_model::Workload;
use halfpower_model::sample::{Acknowledgements, Connections};
use halfpower_model::stream::RequestKind;
use std::collections::VecDeque;
use std::io::{self, ErrorKind};
use std::time::{Duration, Instant};

/// Requests up to this size are received many at a time.
const SMALL: usize = 16 << 10;
/// The box for answers of small requests, and of larger ones.
const BOX_BYTES: [usize; 2] = [64 << 10, 8 << 10];

/// How far apart the parts of an answer are whose server waits for an acknowledgement: TCP_DELACK_MIN to TCP_DELACK_MAX
/// (linux/tcp.h), and a tick of the kernel.
const HELD_UP: std::ops::Range<Duration> = Duration::from_millis(36)..Duration::from_millis(210);
/// The number of delayed answers that starts a trial, and the reads of each kind in it.
const TRIALS: usize = 3;
/// A server that sends nothing for longer ends the trial.
const TRIAL_PATIENCE: Duration = Duration::from_secs(1);

/// A connection with its outstanding transfers.
#[derive(Debug)]
pub(crate) struct Exchange<P: Protocol> {
    protocol: P,
    socket: Socket,
    outbox: Outbox,
    /// Requests without their data, by tag.
    heads: Vec<Vec<u8>>,
    /// Outstanding transfers, by tag.
    asked: Vec<Option<Asked>>,
    /// How many they are.
    outstanding: usize,
    /// Transfers that the server does not take yet.
    held: VecDeque<Transfer>,
    inbox: Box<[u8]>,
    /// The bytes of the inbox that were received and not read.
    from: usize,
    to: usize,
    arriving: Option<Arriving>,
    /// Since when data are missing, and how long they were before.
    incomplete_since: Option<Instant>,
    incomplete: Duration,
    /// The part of it of answers that may have been held up by acknowledgements, and their number.
    held_up: Duration,
    answers_held_up: usize,
    /// How often all was received that had arrived, and data were missing.
    emptied: u64,
    /// The error of every transfer since the connection failed.
    broken: Option<i32>,
}

/// An outstanding transfer.
#[derive(Clone, Copy, Debug)]
struct Asked {
    address: *mut u8,
    length: u32,
    /// Bytes that the answer has.
    moved: u32,
    kind: RequestKind,
    /// Of the outbox: the piece after its last one.
    sent_at: u64,
}

/// The read whose data are arriving.
#[derive(Clone, Copy, Debug)]
struct Arriving {
    tag: u32,
    address: *mut u8,
    left: usize,
}

/// Where completions go, and the cause of the first failure.
pub(crate) struct Ended<'a> {
    pub(crate) done: &'a mut Vec<Completion>,
    pub(crate) cause: &'a mut Option<String>,
}

impl Ended<'_> {
    fn push(&mut self, tag: u32, result: i32) {
        self.done.push(Completion { tag, result });
    }
}

impl<P: Protocol> Exchange<P> {
    /// Connects, with room for one transfer.
    ///
    /// # Errors
    /// The protocol's.
    pub(crate) fn connect(name: &Name, access: Access) -> io::Result<(Exchange<P>, Volume)> {
        let (protocol, socket, volume) = P::connect(name, access)?;
        Ok((Exchange::of(protocol, socket), volume))
    }

    /// Connects to a volume that was examined before.
    ///
    /// # Errors
    /// The protocol's.
    pub(crate) fn again(name: &Name, access: Access) -> io::Result<Exchange<P>> {
        P::again(name, access).map(|(protocol, socket)| Exchange::of(protocol, socket))
    }

    fn of(protocol: P, socket: Socket) -> Exchange<P> {
        let exchange = Exchange {
            protocol,
            socket,
            outbox: Outbox::default(),
            heads: Vec::new(),
            asked: Vec::new(),
            outstanding: 0,
            held: VecDeque::new(),
            inbox: Box::default(),
            from: 0,
            to: 0,
            arriving: None,
            incomplete_since: None,
            incomplete: Duration::ZERO,
            held_up: Duration::ZERO,
            answers_held_up: 0,
            emptied: 0,
            broken: None,
        };
        exchange.with_room(1, SMALL)
    }

    /// With room for so many transfers of so many bytes.
    pub(crate) fn with_room(mut self, transfers: usize, bytes: usize) -> Exchange<P> {
        self.outbox = Outbox::new(2 * transfers);
        self.heads = (0..transfers).map(|_| Vec::with_capacity(64)).collect();
        self.asked = vec![None; transfers];
        self.held = VecDeque::with_capacity(transfers);
        self.inbox = vec![0; BOX_BYTES[usize::from(bytes > SMALL)]].into();
        self
    }

    /// Prepares for a workload.
    ///
    /// # Errors
    /// The protocol's.
    pub(crate) fn accept(&mut self, workload: &Workload) -> io::Result<Granted> {
        self.protocol.accept(&self.socket, workload)
    }

    /// The descriptor, and what to wait for.
    pub(crate) fn poll(&self) -> libc::pollfd {
        let events = if self.outbox.is_empty() { libc::POLLIN } else { libc::POLLIN | libc::POLLOUT };
        // The kernel passes over a negative one.
        let descriptor = if self.is_waiting() { self.socket.raw() } else { -1 };
        libc::pollfd { fd: descriptor, events, revents: 0 }
    }

    /// Whether a transfer is outstanding.
    pub(crate) fn is_waiting(&self) -> bool {
        self.outstanding > 0
    }

    /// Transfers that were submitted and not completed.
    pub(crate) fn outstanding(&self) -> usize {
        self.outstanding + self.held.len()
    }

    /// Whether all requests were sent.
    pub(crate) fn has_sent(&self) -> bool {
        self.outbox.is_empty()
    }

    /// Puts a transfer into the outbox. It ends at once where it cannot be asked for.
    ///
    /// # Safety
    /// Its memory stays mapped and without another use until its completion.
    #[inline]
    pub(crate) unsafe fn submit(&mut self, transfer: Transfer, mut ended: Ended<'_>) {
        if let Some(errno) = self.broken {
            return ended.push(transfer.tag, -errno);
        }
        if !self.held.is_empty() || !self.protocol.can_ask(&transfer) {
            return self.held.push_back(transfer);
        }
        self.ask(transfer, &mut ended);
    }

    #[inline]
    fn ask(&mut self, transfer: Transfer, ended: &mut Ended<'_>) {
        let Transfer { tag, length, address, kind, .. } = transfer;
        let head = &mut self.heads[tag as usize];
        head.clear();
        if let Err(Refusal { errno, cause }) = self.protocol.ask(&transfer, head) {
            ended.cause.get_or_insert(cause);
            return ended.push(tag, -errno);
        }
        self.outbox.push(head.as_ptr(), head.len());
        if kind == RequestKind::Write {
            self.outbox.push(address, length as usize);
        }
        let sent_at = self.outbox.pushed();
        self.outstanding += 1;
        self.asked[tag as usize] = Some(Asked { address, length, moved: length, kind, sent_at });
    }

    /// Asks for what was held back, as far as the server takes it now.
    #[cold]
    fn ask_held(&mut self, ended: &mut Ended<'_>) {
        while let Some(transfer) = self.held.front().copied().filter(|first| self.protocol.can_ask(first)) {
            self.held.pop_front();
            self.ask(transfer, ended);
        }
    }

    /// Sends as many requests as the socket takes.
    #[inline]
    pub(crate) fn send(&mut self, ended: Ended<'_>) {
        // SAFETY: the data of a request are its caller's until its completion, its head is not touched before, and a transfer does
        // not complete before its request was sent.
        if let Err(error) = unsafe { self.outbox.send(&self.socket) } {
            self.break_off(&error, ended);
        }
    }

    /// Receives once, and ends the transfers that are complete. Waits for the server only if `waits`.
    pub(crate) fn receive(&mut self, mut waits: bool, mut ended: Ended<'_>) {
        loop {
            if let Err(error) = self.receive_some(waits, &mut ended) {
                return self.break_off(&error, ended);
            }
            if !self.socket.has_more() {
                break;
            }
            waits = false;
        }
        self.count_incomplete();
        if !self.held.is_empty() {
            self.ask_held(&mut ended);
        }
    }

    #[inline]
    fn receive_some(&mut self, waits: bool, ended: &mut Ended<'_>) -> io::Result<()> {
        let nothing = libc::iovec { iov_base: std::ptr::null_mut(), iov_len: 0 };
        let rest = &mut self.inbox[self.to..];
        let mut pieces = [nothing, libc::iovec { iov_base: rest.as_mut_ptr().cast(), iov_len: rest.len() }];
        if let Some(Arriving { address, left, .. }) = self.arriving {
            pieces[0] = libc::iovec { iov_base: address.cast(), iov_len: left };
        }
        let pieces = if self.arriving.is_some() { &mut pieces[..] } else { &mut pieces[1..] };
        let room: usize = pieces.iter().map(|piece| piece.iov_len).sum();
        // SAFETY: the rest of the inbox is borrowed; the other piece is the rest of a read's memory, which is its caller's until its
        // completion.
        let received = match unsafe { self.socket.receive(pieces, waits) } {
            Err(error) if error.kind() == ErrorKind::WouldBlock && !waits => return Ok(()),
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Err(silence()),
            Err(error) => return Err(error),
            Ok(0) => return Err(io::Error::new(ErrorKind::ConnectionReset, "the server closed the connection")),
            Ok(received) => received,
        };
        let direct = self.arriving.map_or(0, |arriving| arriving.left.min(received));
        self.to += received - direct;
        let has_room = received < room;
        self.arrive(direct, ended).and_then(|()| self.read(ended)).map_err(io::Error::other)?;
        self.emptied += u64::from(has_room && self.arriving.is_some());
        Ok(())
    }

    /// An answer has begun to arrive and is not complete, or is. Whole answers cost no reading of the clock.
    #[inline]
    fn count_incomplete(&mut self) {
        match (self.arriving.is_some() || self.to > 0, self.incomplete_since) {
            (true, None) => self.incomplete_since = Some(Instant::now()),
            (false, Some(since)) => {
                let lasted = since.elapsed();
                self.incomplete += lasted;
                if HELD_UP.contains(&lasted) {
                    self.held_up += lasted;
                    self.answers_held_up += 1;
                }
                self.incomplete_since = None;
            }
            _ => {}
        }
    }

    /// What the connection did since it was opened.
    pub(crate) fn connections(&self) -> Connections {
        let arriving = self.incomplete + self.incomplete_since.map_or(Duration::ZERO, |since| since.elapsed());
        Connections {
            connections: 1,
            arriving_s: arriving.as_secs_f64(),
            held_up_s: self.held_up.as_secs_f64(),
            emptied: self.emptied,
            tcp: self.socket.tcp(),
            acknowledgements: None,
        }
    }

    /// Compares reads with delayed and with immediate acknowledgements, interleaved, if answers were delayed. Nothing may be
    /// outstanding. None if a read fails.
    pub(crate) fn try_acknowledgements(&mut self, bytes: usize) -> Option<Acknowledgements> {
        if self.answers_held_up < TRIALS || self.broken.is_some() {
            return None;
        }
        self.socket.wait_at_most(TRIAL_PATIENCE).ok()?;
        let mut memory = vec![0; bytes];
        let mut times = [[0.0; TRIALS]; 2];
        for turn in 0..2 * TRIALS {
            let at_once = turn % 2 == 1;
            let address = memory.as_mut_ptr();
            let read =
                Transfer { tag: 0, length: bytes as u32, offset: 0, address, target: 0, kind: RequestKind::Read };
            let since = Instant::now();
            // SAFETY: the memory is as long, and outlives the read, which is over.
            unsafe { self.carry_out(read, Some(at_once)) }.ok()?;
            times[usize::from(at_once)][turn / 2] = since.elapsed().as_secs_f64();
        }
        times.iter_mut().for_each(|times| times.sort_by(f64::total_cmp));
        let [delayed_s, at_once_s] = times.map(|times| times[TRIALS / 2]);
        Some(Acknowledgements { delayed_s, at_once_s })
    }

    /// So many bytes more of a read are in its memory.
    #[inline]
    fn arrive(&mut self, bytes: usize, ended: &mut Ended<'_>) -> Result<(), String> {
        let Some(arriving) = &mut self.arriving else { return Ok(()) };
        arriving.left -= bytes;
        arriving.address = arriving.address.wrapping_add(bytes);
        if arriving.left == 0 {
            let tag = arriving.tag;
            self.arriving = None;
            if let Some(Asked { address, moved, .. }) = self.asked[tag as usize] {
                // SAFETY: the memory of a read is its caller's until its completion, and so many bytes of it were received.
                self.protocol.arrived(unsafe { std::slice::from_raw_parts(address, moved as usize) })?;
            }
            self.end(tag, 0, ended);
        }
        Ok(())
    }

    /// Reads the inbox: starts of answers, and data behind them.
    fn read(&mut self, ended: &mut Ended<'_>) -> Result<(), String> {
        loop {
            let received = &self.inbox[self.from..self.to];
            if let Some(Arriving { address, left, .. }) = self.arriving {
                let count = left.min(received.len());
                // SAFETY: the memory of a read is its caller's until its completion, and at least `left` bytes of it are missing.
                unsafe { std::ptr::copy_nonoverlapping(received.as_ptr(), address, count) };
                self.from += count;
                self.arrive(count, ended)?;
                if self.arriving.is_some() {
                    break;
                }
                continue;
            }
            let Some(answer) = self.protocol.answer(received)? else { break };
            let (tag, errno, moved) = match answer {
                Answer::Interim(length) => {
                    self.from += length;
                    continue;
                }
                Answer::Final { length, tag, errno, moved } => {
                    self.from += length;
                    (tag, errno, moved)
                }
            };
            let tag = u32::try_from(tag).unwrap_or(u32::MAX);
            let sent = self.outbox.sent();
            let asked = self.asked.get_mut(tag as usize).and_then(Option::as_mut).filter(|asked| asked.sent_at <= sent);
            let asked = asked.ok_or("it answered a request that was not sent")?;
            asked.moved = moved.unwrap_or(asked.length);
            if asked.moved > asked.length {
                return Err("it moved more than was asked for".to_owned());
            }
            if asked.kind == RequestKind::Read && errno == 0 && asked.moved > 0 {
                self.arriving = Some(Arriving { tag, address: asked.address, left: asked.moved as usize });
            } else {
                self.end(tag, errno, ended);
            }
        }
        // What is left is less than the start of an answer.
        self.inbox.copy_within(self.from..self.to, 0);
        (self.from, self.to) = (0, self.to - self.from);
        if self.to == self.inbox.len() { Err("it sent no end of an answer".to_owned()) } else { Ok(()) }
    }

    /// A transfer was answered.
    #[inline]
    fn end(&mut self, tag: u32, errno: i32, ended: &mut Ended<'_>) {
        let Some(asked) = self.asked[tag as usize].take() else { return };
        self.outstanding -= 1;
        if errno != 0
            && let Some(cause) = self.protocol.cause()
        {
            ended.cause.get_or_insert(cause);
        }
        ended.push(tag, if errno == 0 { asked.moved as i32 } else { -errno });
    }

    /// The connection can no longer be used: every outstanding transfer fails.
    #[cold]
    pub(crate) fn break_off(&mut self, error: &io::Error, mut ended: Ended<'_>) {
        let result = match error.kind() {
            ErrorKind::ConnectionReset | ErrorKind::BrokenPipe => -libc::ECONNRESET,
            ErrorKind::TimedOut => -libc::ETIMEDOUT,
            ErrorKind::Other => -libc::EPROTO,
            _ => failed(error),
        };
        let cause = match result.abs() {
            libc::EPROTO => format!("the server does not keep to the protocol: {error}"),
            libc::ECONNRESET => "the server closed the connection".to_owned(),
            _ => error.to_string(),
        };
        ended.cause.get_or_insert(cause);
        self.broken = Some(-result);
        self.arriving = None;
        self.outbox.clear();
        for held in self.held.drain(..) {
            ended.push(held.tag, result);
        }
        self.outstanding = 0;
        for tag in 0..self.asked.len() as u32 {
            if self.asked[tag as usize].take().is_some() {
                ended.push(tag, result);
            }
        }
    }

    /// Has the server write to its medium what it holds.
    ///
    /// # Errors
    /// The connection's, or the server's answer.
    pub(crate) fn flush(mut self) -> io::Result<()> {
        let address = std::ptr::null_mut();
        let flush = Transfer { tag: 0, length: 0, offset: 0, address, target: 0, kind: RequestKind::Flush };
        // SAFETY: a flush has no memory.
        unsafe { self.carry_out(flush, None) }
    }

    /// Carries out a transfer, with nothing else outstanding; `at_once` says whether its answer is acknowledged at once, where that
    /// is not left to the kernel.
    ///
    /// # Safety
    /// As of [`submit`](Self::submit).
    ///
    /// # Errors
    /// The connection's, or the server's answer.
    unsafe fn carry_out(&mut self, transfer: Transfer, at_once: Option<bool>) -> io::Result<()> {
        let (mut done, mut cause) = (Vec::new(), None);
        let acknowledge = |socket: &Socket| at_once.map_or(Ok(()), |at_once| socket.acknowledge_at_once(at_once));
        acknowledge(&self.socket)?;
        // SAFETY: the caller's promise.
        unsafe { self.submit(transfer, Ended { done: &mut done, cause: &mut cause }) };
        while done.is_empty() {
            self.send(Ended { done: &mut done, cause: &mut cause });
            if done.is_empty() {
                self.receive(true, Ended { done: &mut done, cause: &mut cause });
                if at_once == Some(true) {
                    // Where it fails, the kernel decides. The transfer must come back first.
                    let _ = acknowledge(&self.socket);
                }
            }
        }
        let errno = done.first().map_or(0, |completion| -completion.result);
        match cause {
            _ if errno <= 0 => Ok(()),
            Some(cause) => Err(io::Error::other(cause)),
            None => Err(io::Error::from_raw_os_error(errno)),
        }
    }
}

impl<P: Protocol> Drop for Exchange<P> {
    fn drop(&mut self) {
        if self.broken.is_none() && self.outbox.is_empty() {
            // A server that is gone needs none.
            let _ = self.socket.send_all(&self.protocol.farewell());
        }
    }
}
