//! Parts that all forms of an emitted plan share.

use crate::plan::Plan;
use crate::sanitize::is_unprintable;
use crate::simulator::name::SimulatedName;
use crate::target::{Creation, Place, Site};
use crate::text::counted;
use halfpower_engine::{NULL_TARGET, is_remote};
use halfpower_model::Workload;
use std::ops::Range;
use std::path::Path;

/// A plan to emit, with its targets and its command.
#[derive(Clone, Debug)]
pub(crate) struct Emission<'a> {
    /// The plan.
    pub(crate) plan: &'a Plan,
    /// The targets.
    pub(crate) site: &'a Site,
    /// The command that emits it, without the program's name.
    pub(crate) typed: &'a str,
    /// The user's note from the environment; a script reads it again when it runs.
    pub(crate) note: Option<String>,
}

/// One measurement.
pub(super) struct Trial {
    /// The repetition, from 0.
    pub(super) block: u32,
    pub(super) cell: usize,
    pub(super) workload: Workload,
}

impl Emission<'_> {
    /// The minimum repetitions in the order of the run.
    pub(super) fn trials(&self) -> impl Iterator<Item = Trial> {
        let plan = self.plan;
        (0..plan.repetitions.min).flat_map(move |block| {
            let order = plan.order_of_block(block).into_iter();
            order.map(move |cell| Trial { block, cell, workload: plan.workload(cell, block) })
        })
    }

    /// The title of a trial; `words` are the names of the cells.
    pub(super) fn title(&self, Trial { block, cell, .. }: &Trial, words: &[String]) -> String {
        format!("Block {block}, cell {cell} of {}: {}", self.plan.cells[*cell].label, words[*cell])
    }

    /// The places of a workload.
    pub(super) fn range(&self, workload: &Workload) -> Range<usize> {
        let places = self.site.places.len();
        workload.among.range(places as u32).unwrap_or(0..places)
    }

    /// The heading, a text per line.
    pub(super) fn head(&self, form: &str) -> Vec<String> {
        let Plan { study, target, repetitions, .. } = self.plan;
        let mut head = vec![
            format!("The study {study} on {target}, as {form}."),
            format!("Made by halfpower {} with: halfpower {}", env!("CARGO_PKG_VERSION"), self.typed),
            String::new(),
            format!(
                "Every workload is measured {}, the least that the study asks for{}.",
                counted(repetitions.min as usize, "time"),
                if repetitions.max > repetitions.min {
                    format!("; `halfpower study run` continues up to {}", repetitions.max)
                } else {
                    String::new()
                },
            ),
        ];
        head.extend(self.plan.lengthened.clone());
        head.extend(self.plan.skipped.iter().map(|skipped| {
            format!("Left out of {}: {} of its workloads: {}", skipped.label, skipped.cells, skipped.reason)
        }));
        head
    }
}

/// A comment line; its text cannot end the comment.
pub(super) fn comment(text: &str) -> String {
    let line: String = text.chars().map(|c| if is_unprintable(c) { ' ' } else { c }).collect();
    format!("# {line}").trim_end().to_owned() + "\n"
}

/// The absolute name of a path as text; a simulated volume has the absolute name of its machine file, if there is one.
///
/// # Errors
/// If there is none, with the remedy.
pub(super) fn name(path: &Path) -> Result<String, String> {
    if path.as_os_str() == NULL_TARGET || is_remote(path) {
        return Ok(path.display().to_string());
    }
    if let Some(Ok(simulated)) = SimulatedName::of(path) {
        let Some(file) = simulated.file() else { return Ok(simulated.to_string()) };
        let machine = name(file)?;
        if machine.contains(',') {
            return Err(format!(
                "the machine's file {machine} has a comma in its name, behind which a simulated target has its settings; \
                 move it"
            ));
        }
        return Ok(SimulatedName { machine, ..simulated }.to_string());
    }
    let nowhere = "has no absolute name: the current directory is gone; go to another one";
    let absolute = std::path::absolute(path).map_err(|_| format!("{} {nowhere}", path.display()))?;
    absolute.into_os_string().into_string().map_err(|name| {
        let name = name.to_string_lossy();
        format!("the name {name} is not UTF-8, as an emitted plan must be; rename it, or measure it with `halfpower study run`")
    })
}

/// Whether the file is a test file, which is removed afterwards.
pub(super) fn is_test_file(place: &Place) -> bool {
    matches!(place.creation, Creation::TestFile(_))
}
