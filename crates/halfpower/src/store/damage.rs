//! Damage in a store. A damaged record affects only itself: it is left out and reported once.

use super::error::StoreError;
use super::handle::Store;
use super::run_id::RunId;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// Why something is unreadable.
pub(super) type Cause = Box<dyn std::error::Error + Send + Sync>;

/// Damage found so far, and the function that reports it.
#[derive(Default)]
pub(super) struct Damage {
    found: RefCell<BTreeSet<String>>,
    warned: RefCell<BTreeSet<String>>,
    lost: RefCell<BTreeMap<RunId, BTreeSet<i64>>>,
    report: RefCell<Option<Report>>,
}

/// Reports one message.
type Report = Box<dyn Fn(&str)>;

/// A sample that is unreadable.
#[derive(Debug)]
pub(super) struct Lost {
    /// Its number.
    pub id: i64,
    /// Why.
    pub cause: Cause,
}

impl Damage {
    /// Reports damage the first time it is found.
    pub(super) fn note(&self, what: String) {
        self.warn(format!("{what}; `halfpower runs repair` makes the store sound and keeps what can be read"));
        self.found.borrow_mut().insert(what);
    }

    /// Reports any other event of the store, once.
    pub(super) fn warn(&self, what: String) {
        if let Some(report) = self.report.borrow().as_ref().filter(|_| !self.warned.borrow().contains(&what)) {
            report(&what);
        }
        self.warned.borrow_mut().insert(what);
    }

    /// All damage found.
    pub(super) fn found(&self) -> Vec<String> {
        self.found.borrow().iter().cloned().collect()
    }

    /// Reports samples of a run that are left out.
    pub(super) fn note_lost(&self, run: RunId, lost: &[Lost]) {
        let Some(first) = lost.first() else { return };
        self.lost.borrow_mut().entry(run).or_default().extend(lost.iter().map(|lost| lost.id));
        let numbers: Vec<String> = lost.iter().take(5).map(|lost| lost.id.to_string()).collect();
        let more = lost.len() - numbers.len();
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        let (plural, are) = if lost.len() == 1 { ("", "is") } else { ("s", "are") };
        let numbers = numbers.join(", ");
        let cause = &first.cause;
        self.note(format!("sample{plural} {numbers}{more} of run {run} {are} damaged and left out ({cause})"));
    }
}

impl fmt::Debug for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.found.fmt(f)
    }
}

impl Store {
    /// Sets the function that is called with each damage, once.
    pub(crate) fn report_damage(&mut self, report: impl Fn(&str) + 'static) {
        *self.damage.report.borrow_mut() = Some(Box::new(report));
    }

    /// The number of samples of a run that were left out because they are damaged.
    pub(crate) fn lost_samples(&self, run: RunId) -> usize {
        self.damage.lost.borrow().get(&run).map_or(0, BTreeSet::len)
    }
}

/// The error for a record that is unreadable.
pub(super) fn damaged(what: impl Into<String>, source: impl Into<Cause>) -> StoreError {
    StoreError::Damaged { what: what.into(), source: source.into() }
}
