//! What a shipped simulated machine does, and would do with other settings.

use super::guard::{Html, Refusal};
use crate::cli::sample_text;
use crate::report::html::render;
use crate::text::refuse;
use axum::Json;
use axum::extract::Query;
use axum::http::StatusCode;
use halfpower_analysis::attribute;
use halfpower_model::sample::PartKind;
use halfpower_model::{Cancel, Observer, Progress, Sample, Settings, Testbed, WorkloadSpec, key};
use halfpower_sim::Simulated;
use halfpower_sim::file::MachineFile;
use halfpower_sim::shipped::{machine_text, machines};
use minijinja::context;
use minijinja::value::{Serde, Value};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};
use tokio::sync::Semaphore;

/// Requests of a simulation.
const REQUESTS: u64 = 8000;
/// A simulation ends after this long.
const LONGEST: Duration = Duration::from_secs(2);
/// Maximum number of parts in an answer, the busiest first.
const PARTS: usize = 12;
/// The keys of a workload that can be asked for.
const KEYS: [&str; 5] = ["operation", "pattern", "request_size", "depth", "workers"];

/// A question.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Asked {
    /// `nvme-gen4:filled`.
    volume: String,
    /// `bus.pcie.rate=3GB/s,flash.p5500.units=64`.
    set: String,
}

/// The figures of one simulation.
#[derive(Debug, Serialize)]
pub(super) struct Answer {
    throughput: String,
    latency: String,
    bottleneck: String,
    /// Name and percent of the time, the busiest first.
    busy: Vec<(String, f64)>,
    took_ms: f64,
}

pub(super) async fn page() -> Result<Html, Refusal> {
    let machine = |name: &'static str| -> anyhow::Result<Value> {
        let file = MachineFile::parse(name, machine_text(name).unwrap_or_default())?;
        let volumes: Vec<(String, String)> =
            file.volumes().map(|(volume, about)| (format!("{name}:{volume}"), about.to_owned())).collect();
        Ok(context! { name, description => &file.description, volumes => Serde(volumes) })
    };
    let all: Vec<Value> = machines().map(machine).collect::<Result<_, _>>()?;
    let view = context! { title => "What if", up => "./", machines => all.into_iter().collect::<Value>() };
    Ok(Html(render("what-if.html", view)?))
}

pub(super) async fn answer(
    Query(asked): Query<Asked>,
    Query(all): Query<BTreeMap<String, String>>,
) -> Result<Json<Answer>, Refusal> {
    // One at a time, so that a slider leaves the CPU to the last of its simulations.
    static TURN: Semaphore = Semaphore::const_new(1);
    let failed = |_| Refusal(StatusCode::INTERNAL_SERVER_ERROR, "the simulation failed".to_owned());
    let _turn = TURN.acquire().await;
    let done = tokio::task::spawn_blocking(move || simulate(&asked, &all)).await.map_err(failed)?;
    Ok(Json(done?))
}

fn simulate(asked: &Asked, all: &BTreeMap<String, String>) -> anyhow::Result<Answer> {
    let begun = Instant::now();
    let (machine, volume) = asked.volume.split_once(':').unwrap_or((&asked.volume, ""));
    let Some(text) = machine_text(machine) else { refuse!("there is no machine {machine}") };
    let settings =
        if asked.set.is_empty() { Settings::default() } else { asked.set.parse().map_err(anyhow::Error::msg)? };
    let mut machine = Simulated::of_file(machine, text, volume, &settings)?;
    Simulated::reject_ineffective([&machine])?;
    let mut spec = WorkloadSpec { requests: Some(REQUESTS), ..WorkloadSpec::default() };
    for key in key::KEYS.iter().filter(|key| KEYS.contains(&key.name)) {
        if let Some(value) = all.get(key.name).filter(|value| !value.is_empty()) {
            let read = key.read(value).map_err(anyhow::Error::msg)?;
            spec = read.or(&spec);
        }
    }
    let workload = spec.resolve(machine.describe())?;
    let cancel = Cancel::default();
    let mut clock = Clock { ends: begun + LONGEST, cancel: cancel.clone() };
    let sample = machine.measure(&workload, &mut clock, &cancel)?;
    Ok(told(&sample, begun))
}

/// Ends a simulation that takes too long.
struct Clock {
    ends: Instant,
    cancel: Cancel,
}

impl Observer for Clock {
    fn progress(&mut self, _: &Progress) {
        if Instant::now() > self.ends {
            self.cancel.cancel();
        }
    }
}

fn told(sample: &Sample, begun: Instant) -> Answer {
    let parts = sample.parts.iter().filter(|part| part.kind != PartKind::Wait);
    let mut busy: Vec<(String, f64)> = parts.map(|part| (part.name.clone(), part.busy * 100.0)).collect();
    busy.sort_by(|one, other| other.1.total_cmp(&one.1));
    busy.truncate(PARTS);
    Answer {
        throughput: sample_text::throughput(&sample.total),
        latency: sample_text::latency(&sample.total.latency_ns).unwrap_or_default(),
        bottleneck: attribute(sample).map(|pace| pace.brief()).unwrap_or_default(),
        busy,
        took_ms: begun.elapsed().as_secs_f64() * 1e3,
    }
}
