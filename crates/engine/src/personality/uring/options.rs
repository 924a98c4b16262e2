//! Creates a ring with the requested options that the kernel grants, and reports those.
//!
//! All options are tried together. If the kernel rejects that, they are added one by one to those granted. Options that exclude
//! each other are settled before: a kernel thread that submits (`sqpoll`) completes requests itself, so nothing can be deferred.

use super::entry::{FileName, Layout};
use super::registered::Slots;
use super::ring::Ring;
use crate::personality::interface::Granted;
use halfpower_model::{RingOption, RingOptions, Wish};
use rustix::io_uring::IoringSetupFlags;
use std::io;
use std::os::fd::RawFd;

/// Options of the setup of a ring, in the order in which they are tried.
const SETUP: [(RingOption, IoringSetupFlags); 6] = [
    (RingOption::Sqpoll, IoringSetupFlags::SQPOLL),
    (RingOption::Iopoll, IoringSetupFlags::IOPOLL),
    (RingOption::SingleIssuer, IoringSetupFlags::SINGLE_ISSUER),
    (RingOption::DeferTaskrun, IoringSetupFlags::DEFER_TASKRUN),
    (RingOption::CoopTaskrun, IoringSetupFlags::COOP_TASKRUN),
    (RingOption::NoSqarray, IoringSetupFlags::NO_SQARRAY),
];

/// Whether an option is tried: requested, or on by default and not declined.
pub(super) fn is_wanted(options: RingOptions, option: RingOption) -> bool {
    match options.wish(option) {
        Wish::Asked => true,
        Wish::Declined => false,
        Wish::Default => !matches!(option, RingOption::Sqpoll | RingOption::Iopoll),
    }
}

/// A ring during its preparation: the requested options, and the granted and rejected ones.
pub(crate) struct Prepared<S, A> {
    pub(crate) ring: Ring<S, A>,
    pub(crate) granted: Granted,
    requested: RingOptions,
}

impl<S: Layout, A: Layout> Prepared<S, A> {
    /// A ring for `outstanding` requests, registered with the calling thread if that option is tried.
    ///
    /// # Errors
    /// The kernel's, if it rejects a ring even without options.
    pub(crate) fn new(outstanding: u32, requested: RingOptions) -> io::Result<Self> {
        let wanted: Vec<_> = SETUP.into_iter().filter(|(option, _)| is_wanted(requested, *option)).collect();
        let together = wanted.iter().filter(|(option, _)| obstacle(requested, *option).is_none());
        let all = together.clone().fold(IoringSetupFlags::empty(), |flags, (_, flag)| flags | *flag);
        let (ring, flags, errors) = match Ring::new(outstanding, all) {
            Ok(ring) => (ring, all, Vec::new()),
            Err(_) => one_by_one(outstanding, together.copied())?,
        };
        let mut prepared = Prepared { ring, granted: Granted::default(), requested };
        for (option, flag) in wanted {
            let error = errors.iter().find(|(refused, _)| *refused == option).map(|(_, error)| error);
            let why =
                obstacle(requested, option).map(str::to_owned).or_else(|| error.map(|error| reason(option, error)));
            prepared.note(option, if flags.contains(flag) { Ok(()) } else { Err(why.unwrap_or_default()) });
        }
        if is_wanted(requested, RingOption::RegisteredRing) {
            let registered = prepared.ring.register_itself();
            prepared.note_outcome(RingOption::RegisteredRing, &registered);
        }
        Ok(prepared)
    }

    /// Registers files if that option is tried; returns their names in entries.
    pub(crate) fn files(&mut self, descriptors: &[RawFd]) -> Vec<FileName> {
        if is_wanted(self.requested, RingOption::RegisteredFiles) {
            let registered = self.ring.register_files(descriptors);
            self.note_outcome(RingOption::RegisteredFiles, &registered);
            if registered.is_ok() {
                return (0..).take(descriptors.len()).map(FileName::Registered).collect();
            }
        }
        descriptors.iter().map(|descriptor| FileName::Descriptor(*descriptor)).collect()
    }

    /// Registers the regions of a worker's buffers, which outlive the ring, if that option is tried; returns their names in
    /// entries.
    pub(crate) fn buffers(&mut self, regions: &[libc::iovec]) -> Option<Slots> {
        if !is_wanted(self.requested, RingOption::RegisteredBuffers) {
            return None;
        }
        let registered = self.ring.register_buffers(regions);
        self.note_outcome(RingOption::RegisteredBuffers, &registered);
        registered.ok()
    }

    /// Notes the outcome of an option; a rejection only if the user requested it.
    pub(crate) fn note(&mut self, option: RingOption, outcome: Result<(), String>) {
        match outcome {
            Ok(()) => self.granted.obtained.push(option.word().to_owned()),
            Err(reason) if self.requested.wish(option) == Wish::Asked => {
                self.granted.refused.push(format!("{option}: {reason}"));
            }
            Err(_) => {}
        }
    }

    fn note_outcome<T>(&mut self, option: RingOption, outcome: &io::Result<T>) {
        self.note(option, outcome.as_ref().map(drop).map_err(|error| reason(option, error)));
    }
}

/// The conflict of an option with the others, if there is one.
fn obstacle(options: RingOptions, option: RingOption) -> Option<&'static str> {
    let has = |other| is_wanted(options, other);
    match option {
        RingOption::DeferTaskrun | RingOption::CoopTaskrun if has(RingOption::Sqpoll) => {
            Some("cannot be combined with sqpoll, whose thread completes requests itself")
        }
        RingOption::DeferTaskrun if !has(RingOption::SingleIssuer) => Some("needs single_issuer"),
        _ => None,
    }
}

/// A ring, the flags it has, and the options refused.
type Made<S, A> = (Ring<S, A>, IoringSetupFlags, Vec<(RingOption, io::Error)>);

/// Adds one option after another as long as the kernel grants them.
#[cold]
fn one_by_one<S: Layout, A: Layout>(
    outstanding: u32,
    wanted: impl Iterator<Item = (RingOption, IoringSetupFlags)>,
) -> io::Result<Made<S, A>> {
    let mut made = Ring::new(outstanding, IoringSetupFlags::empty())?;
    let (mut flags, mut errors) = (IoringSetupFlags::empty(), Vec::new());
    for (option, flag) in wanted {
        match Ring::new(outstanding, flags | flag) {
            Ok(ring) => (made, flags) = (ring, flags | flag),
            Err(error) => errors.push((option, error)),
        }
    }
    Ok((made, flags, errors))
}

/// The likely reason of a rejected option, with the kernel's error.
fn reason(option: RingOption, error: &io::Error) -> String {
    let needs = match option {
        RingOption::RegisteredFiles => "needs a higher limit on open files; raise ulimit -n",
        RingOption::RegisteredBuffers => "needs a higher limit on locked memory; raise ulimit -l",
        RingOption::SingleIssuer => "needs Linux 6.0",
        RingOption::DeferTaskrun => "needs Linux 6.1 and single_issuer",
        RingOption::CoopTaskrun => "needs Linux 5.19",
        RingOption::NoSqarray => "needs Linux 6.6",
        RingOption::RegisteredRing => "needs Linux 5.18",
        RingOption::Sqpoll => "needs Linux 5.11, or root before",
        RingOption::Iopoll => "needs a device with polled queues",
    };
    format!("{needs} ({error})")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::personality::uring::entry::{Done, Entry};

    #[test]
    fn conflicts_of_options_are_named() {
        let refused = |text: &str| -> Vec<String> {
            let options: RingOptions = text.parse().unwrap();
            let wanted = RingOption::ALL.iter().filter(|option| is_wanted(options, **option));
            wanted.filter_map(|option| Some(format!("{option}: {}", obstacle(options, *option)?))).collect()
        };
        assert_eq!(refused("default"), Vec::<String>::new());
        assert_eq!(refused("no-single_issuer"), ["defer_taskrun: needs single_issuer"]);
        assert_eq!(refused("sqpoll").len(), 2, "nothing to defer or to put off");
        assert_eq!(refused("sqpoll,no-defer_taskrun,no-coop_taskrun"), Vec::<String>::new());
    }

    #[test]
    fn only_requested_options_are_reported_as_rejected() {
        if Ring::<Entry, Done>::new(2, IoringSetupFlags::empty()).is_err() {
            eprintln!("skipped: needs io_uring");
            return;
        }
        let granted = |text: &str| Prepared::<Entry, Done>::new(4, text.parse().unwrap()).unwrap().granted;
        assert_eq!(granted("sqpoll").refused, Vec::<String>::new());
        let [only] = &granted("sqpoll,defer_taskrun").refused[..] else { panic!("one option is refused") };
        assert!(only.starts_with("defer_taskrun: cannot be combined with sqpoll"), "{only}");
        let none = "no-single_issuer,no-coop_taskrun,no-no_sqarray,no-registered_ring";
        assert_eq!(granted(none), Granted::default());
    }

    #[test]
    fn options_tried_one_by_one_are_those_the_kernel_grants() {
        // Deferring without a single issuer is rejected; the next option is granted.
        let wanted = [SETUP[3], SETUP[4]];
        let Ok((_ring, flags, errors)) = one_by_one::<Entry, Done>(4, wanted.into_iter()) else {
            eprintln!("skipped: needs io_uring");
            return;
        };
        assert!(!flags.contains(IoringSetupFlags::DEFER_TASKRUN));
        assert_eq!(errors[0].0, RingOption::DeferTaskrun);
        assert_eq!(flags.contains(IoringSetupFlags::COOP_TASKRUN), errors.len() == 1);
    }
}
