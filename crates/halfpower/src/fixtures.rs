//! A host for tests: it can do everything, and nothing of it is measured.

use crate::plan::Plan;
use crate::store::{NewRun, RunKind};
use halfpower_model::environment::{ClockFacts, PersonalityFacts};
use halfpower_model::{Bytes, Environment, Personality, TargetFacts, TargetKind};
use serde_json::{Value, json};

/// The host, with these targets.
pub(crate) fn host(target: TargetFacts, more_targets: Vec<TargetFacts>) -> Environment {
    let works =
        |personality: &Personality| PersonalityFacts { personality: *personality, unavailable: None, stands_for: None };
    Environment {
        host: "test".to_owned(),
        kernel: "6".to_owned(),
        cpus: 2,
        memory_bytes: Bytes(1 << 34),
        clock: ClockFacts { source: "tsc".to_owned(), resolution_ns: 1.0, cost_ns: 1.0 },
        personalities: Personality::ALL.iter().map(works).collect(),
        target,
        more_targets,
        ..Environment::unknown("", None)
    }
}

/// A file on it, good for direct I/O.
pub(crate) fn file(size: Bytes) -> TargetFacts {
    TargetFacts {
        direct_alignment_bytes: Some(Bytes(512)),
        filesystem: Some("ext4".to_owned()),
        ..TargetFacts::bare("/data/test", TargetKind::File, size)
    }
}

/// Records with fixed figures; in their text `PATH` stands for a path.
pub(crate) fn records(text: &str, path: &str) -> Value {
    serde_json::from_str(&text.replace("\"PATH\"", &json!(path).to_string())).unwrap()
}

/// A run of a plan on it, before it has begun.
pub(crate) fn study_run<'a>(plan: &'a Plan, environment: &'a Environment) -> NewRun<'a> {
    NewRun {
        kind: RunKind::Study,
        name: &plan.study,
        question: plan.question.as_deref(),
        study_text: None,
        plan: Some(plan),
        command: "halfpower study run x.toml",
        target: &plan.target,
        seed: plan.seed,
        note: None,
        environment,
    }
}
