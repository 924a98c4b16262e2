//! The thread that has the store.

use crate::report::Analysed;
use crate::store::{RunId, RunStatus, RunSummary, Store};
use anyhow::Context as _;
use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

/// Without a request for this long, the headline of one more run is found out.
const IDLE: Duration = Duration::from_millis(20);
/// How often new runs are looked for.
const LOOK: Duration = Duration::from_secs(2);

type Job = Box<dyn FnOnce(&Held) + Send>;

/// Asks the thread.
#[derive(Clone)]
pub(super) struct Shelf(Sender<Job>);

/// What the thread has.
pub(super) struct Held {
    pub(super) store: Store,
    /// What finished runs gave, in a few words; of one without, empty.
    pub(super) headlines: HashMap<i64, String>,
}

impl Shelf {
    /// Opens the store in another thread.
    ///
    /// # Errors
    /// If it cannot be opened.
    pub(super) fn open(path: PathBuf) -> anyhow::Result<Shelf> {
        let ((to, jobs), (opened, is_open)) = (channel(), channel());
        std::thread::Builder::new().name("store".to_owned()).spawn(move || match Store::open(&path) {
            Ok(store) => {
                let _ = opened.send(Ok(()));
                Held { store, headlines: HashMap::new() }.work(&jobs);
            }
            Err(error) => drop(opened.send(Err(error))),
        })?;
        is_open.recv().context("the thread of the store ended")??;
        Ok(Shelf(to))
    }

    /// Does some work with the store; gives its result.
    pub(super) async fn ask<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Held) -> anyhow::Result<T> + Send + 'static,
    ) -> anyhow::Result<T> {
        let (to, from) = tokio::sync::oneshot::channel();
        let job = move |held: &Held| drop(to.send(work(held)));
        self.0.send(Box::new(job)).ok().context("the thread of the store ended")?;
        from.await.context("the page could not be made; the error is on the terminal")?
    }
}

impl Held {
    fn work(mut self, jobs: &Receiver<Job>) {
        let mut wait = IDLE;
        loop {
            match jobs.recv_timeout(wait) {
                // The request then fails with an error.
                Ok(job) => drop(catch_unwind(AssertUnwindSafe(|| job(&self)))),
                Err(RecvTimeoutError::Timeout) => wait = if self.find_headline() { IDLE } else { LOOK },
                Err(RecvTimeoutError::Disconnected) => return,
            }
        }
    }

    /// Finds out the headline of the latest run that has none; whether there was one.
    fn find_headline(&mut self) -> bool {
        let runs = self.store.runs().unwrap_or_default();
        let is_new = |run: &&RunSummary| run.status != RunStatus::Running && !self.headlines.contains_key(&run.id.0);
        let Some(id) = runs.iter().rev().find(is_new).map(|run| run.id) else { return false };
        let headline = catch_unwind(AssertUnwindSafe(|| self.headline(id))).unwrap_or_default();
        self.headlines.insert(id.0, headline);
        true
    }

    fn headline(&self, id: RunId) -> String {
        Analysed::load(&self.store, id).map(|analysed| analysed.headline()).unwrap_or_default()
    }
}
