//! A run while it is measured, by server-sent events.

use super::guard::{Html, Refusal};
use super::shelf::{Held, Shelf};
use crate::report::html::render;
use crate::store::{RunId, RunStatus, word};
use axum::extract::{Path, State};
use axum::response::sse::{Event, Sse};
use futures_util::Stream;
use futures_util::stream::unfold;
use halfpower_model::{Nanoseconds, Sample};
use minijinja::context;
use serde::Serialize;
use std::convert::Infallible;
use std::time::Duration;

/// The time between two looks.
const LOOK: Duration = Duration::from_millis(300);

/// The state of a run.
#[derive(Serialize)]
struct Now {
    status: String,
    samples: usize,
    /// The workloads measured last, the newest first: words, rate, p99.
    latest: Vec<[String; 3]>,
}

pub(super) async fn page(State(shelf): State<Shelf>, Path(run): Path<i64>) -> Result<Html, Refusal> {
    let stored = shelf.ask(move |held| Ok(held.store.run(RunId(run))?)).await?;
    let view = context! { title => format!("{} on {}", stored.name, stored.target), run, up => "../" };
    Ok(Html(render("live.html", view)?))
}

/// An event whenever there is another sample; the last one when the run has ended.
pub(super) async fn events(
    State(shelf): State<Shelf>,
    Path(run): Path<i64>,
) -> Result<Sse<impl Stream<Item = Result<Event, Infallible>>>, Refusal> {
    shelf.ask(move |held| Ok(held.store.run(RunId(run))?)).await?;
    let next = move |(shelf, before): (Shelf, Option<(usize, bool)>)| async move {
        loop {
            match before {
                Some((_, true)) => return None,
                Some(_) => tokio::time::sleep(LOOK).await,
                None => {}
            }
            let known = before.map(|(samples, _)| samples);
            let state = shelf.ask(move |held| state(held, RunId(run), known)).await.ok()?;
            if let Some((state, has_ended)) = state {
                let event = Event::default().data(serde_json::to_string(&state).ok()?);
                return Some((Ok(event), (shelf, Some((state.samples, has_ended)))));
            }
        }
    };
    Ok(Sse::new(unfold((shelf, None), next)))
}

/// The state, and whether the run has ended; none if nothing is new.
fn state(held: &Held, run: RunId, known: Option<usize>) -> anyhow::Result<Option<(Now, bool)>> {
    let (status, samples) = (held.store.run(run)?.status, held.store.count_samples(run)?);
    let has_ended = status != RunStatus::Running;
    if known == Some(samples) && !has_ended {
        return Ok(None);
    }
    let stored = held.store.samples(run)?;
    let latest = stored.iter().rev().take(12).map(|stored| row(&stored.sample)).collect();
    Ok(Some((Now { status: word(status), samples, latest }, has_ended)))
}

fn row(sample: &Sample) -> [String; 3] {
    let (quantity, rate) = sample.rate();
    let p99 = sample.total.latency_ns.p99.map(|p99| Nanoseconds(p99).to_string());
    [sample.workload.to_string(), quantity.format(rate), p99.unwrap_or_default()]
}
