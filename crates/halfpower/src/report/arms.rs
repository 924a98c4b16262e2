//! A run of `ab`, whose arms are compared by pairs.

use super::comparison_html;
use crate::store::{Run, RunId, RunKind, Store, StoredSample};
use crate::target::notes::on_memory;
use halfpower_analysis::comparison::{Comparison, Design, Method, OfRun, compare};
use halfpower_analysis::statistics::Margin;
use halfpower_model::Sample;
use std::collections::BTreeMap;

/// A run of `ab` with its comparison.
pub(crate) struct TwoArms {
    run: Run,
    pub(crate) comparison: Comparison,
}

impl TwoArms {
    /// Reads a run and compares its arms; none if it is of another kind.
    ///
    /// # Errors
    /// If there is no such run, or it is damaged.
    pub(crate) fn load(store: &Store, id: RunId, margin: Option<Margin>) -> anyhow::Result<Option<TwoArms>> {
        let run = store.run(id)?;
        let Some(arms) = run.plan.as_ref().and_then(|plan| plan.arms.clone()).filter(|_| run.kind == RunKind::Ab)
        else {
            return Ok(None);
        };
        let samples = store.samples(id)?;
        let [a, b] = pairs(&samples, run.plan.as_ref().map_or(0, |plan| plan.cells.len() / 2));
        let mut comparison = compare(&[a], &[b], Method { margin, design: Design::Pairs });
        comparison.warnings.splice(0..0, on_memory(&samples));
        for (side, arm) in comparison.sides.iter_mut().zip(&arms) {
            side.of = arm.describe();
        }
        Ok(Some(TwoArms { run, comparison }))
    }

    /// As one JSON document.
    pub(crate) fn json(&self) -> serde_json::Value {
        let Run { id, name, status, started_at, target, command, note, program, environment, plan, .. } = &self.run;
        serde_json::json!({
            "schema": "halfpower.ab/1",
            "run": id.0,
            "name": name,
            "status": crate::store::word(*status),
            "started_at": started_at,
            "target": target,
            "command": command,
            "note": note,
            "program": program,
            "environment": environment,
            "arms": plan.as_ref().and_then(|plan| plan.arms.as_ref()),
            "comparison": self.comparison,
        })
    }

    /// The page.
    ///
    /// # Errors
    /// As [`comparison_html`].
    pub(crate) fn html(&self) -> anyhow::Result<String> {
        comparison_html(&self.comparison, "A", "B", &self.run.command)
    }
}

/// The samples of both arms that have a whole partner, at the same place.
fn pairs(samples: &[StoredSample], half: usize) -> [OfRun<'_>; 2] {
    let mut pairs: BTreeMap<(u32, usize), [Option<&Sample>; 2]> = BTreeMap::new();
    for stored in samples.iter().filter(|stored| stored.sample.is_complete()) {
        let (arm, cell) = (usize::from(stored.cell >= half), stored.cell % half.max(1));
        pairs.entry((stored.block, cell)).or_default()[arm] = Some(&stored.sample);
    }
    let whole = pairs.into_values().filter_map(|[a, b]| a.zip(b));
    let (a, b) = whole.unzip();
    [a, b]
}
