//! Requests to volumes of servers, over connections of the worker's own to each.

use super::interface::{Completion, Granted, Personality, Setup, Transfer};
use crate::network::{Ended, Exchange, PATIENCE, Protocol, silence, wait};
use crate::target::Access;
use halfpower_model::sample::{Acknowledgements, Connections};
use std::io;
use std::time::Duration;

#[derive(Debug)]
pub(crate) struct Network<P: Protocol> {
    /// As many to each target, one target after another.
    links: Vec<Exchange<P>>,
    to_each: usize,
    polls: Vec<libc::pollfd>,
    /// Transfers that ended before they were waited for.
    ended: Vec<Completion>,
    cause: Option<String>,
}

impl<P: Protocol> Personality for Network<P> {
    fn open(setup: Setup<'_>) -> io::Result<(Self, Granted)> {
        let bytes = setup.workload.request_size.0 as usize;
        let access = if setup.workload.operation.destroys() { Access::Overwrite } else { Access::Read };
        let mut all = Granted::default();
        let connect = |name| {
            let mut link = Exchange::<P>::again(name, access)?;
            let Granted { obtained, refused } = link.accept(setup.workload)?;
            // Of several servers, each option once.
            for (all, its) in [(&mut all.obtained, obtained), (&mut all.refused, refused)] {
                its.into_iter().for_each(|one| all.extend((!all.contains(&one)).then_some(one)));
            }
            Ok(link.with_room(setup.outstanding as usize, bytes))
        };
        let to_each = setup.workload.connections.unwrap_or(P::connections(setup.workload)) as usize;
        let names = setup.names()?.into_iter().flat_map(|name| std::iter::repeat_n(name, to_each));
        let links = names.map(connect).collect::<io::Result<Vec<_>>>()?;
        let polls = Vec::with_capacity(links.len());
        let ended = Vec::with_capacity(setup.outstanding as usize);
        Ok((Network { links, to_each, polls, ended, cause: None }, all))
    }

    #[inline]
    unsafe fn submit(&mut self, transfer: Transfer) {
        let ended = Ended { done: &mut self.ended, cause: &mut self.cause };
        let first = usize::from(transfer.target) * self.to_each;
        let its = &mut self.links[first..first + self.to_each];
        let link = match its {
            [link] => link,
            several => several.iter_mut().min_by_key(|link| link.outstanding()).expect("a target has a connection"),
        };
        // SAFETY: the caller's promise.
        unsafe { link.submit(transfer, ended) };
    }

    #[inline]
    fn start(&mut self) {
        for link in &mut self.links {
            link.send(Ended { done: &mut self.ended, cause: &mut self.cause });
        }
    }

    fn reap(&mut self, done: &mut Vec<Completion>, at_least: u32) -> io::Result<()> {
        loop {
            self.start();
            done.append(&mut self.ended);
            if done.len() >= at_least as usize {
                return Ok(());
            }
            match self.links.as_mut_slice() {
                // One call, where nothing has to be sent meanwhile.
                [link] if link.has_sent() => link.receive(true, Ended { done, cause: &mut self.cause }),
                _ => self.take_turn(done, PATIENCE, true)?,
            }
        }
    }

    fn poll(&mut self, done: &mut Vec<Completion>, at_most: Duration) -> io::Result<()> {
        self.start();
        done.append(&mut self.ended);
        let at_most = if done.is_empty() { at_most } else { Duration::ZERO };
        self.take_turn(done, at_most, false)
    }

    fn connections(&self) -> Option<Connections> {
        self.links.iter().map(Exchange::connections).reduce(|all, one| all.and(&one))
    }

    fn try_acknowledgements(&mut self, bytes: usize) -> Option<Acknowledgements> {
        self.links.iter_mut().find_map(|link| link.try_acknowledgements(bytes))
    }

    fn cause(&mut self) -> Option<String> {
        self.cause.take()
    }
}

impl<P: Protocol> Network<P> {
    /// Waits until something can be received or sent, and receives. If nothing can in this time, `gives_up` ends all.
    fn take_turn(&mut self, done: &mut Vec<Completion>, at_most: Duration, gives_up: bool) -> io::Result<()> {
        self.polls.clear();
        self.polls.extend(self.links.iter().map(Exchange::poll));
        if !wait(&mut self.polls, at_most)? && gives_up {
            for link in self.links.iter_mut().filter(|link| link.is_waiting()) {
                link.break_off(&silence(), Ended { done, cause: &mut self.cause });
            }
        }
        for (link, poll) in self.links.iter_mut().zip(&self.polls) {
            if poll.revents & !libc::POLLOUT != 0 {
                link.receive(false, Ended { done, cause: &mut self.cause });
            }
        }
        Ok(())
    }
}
