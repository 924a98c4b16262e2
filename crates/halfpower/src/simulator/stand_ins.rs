//! Other targets in place of the simulated volumes that a study compares.

use super::name::SimulatedName;
use crate::console::Console;
use crate::study::{StandIns, Study, VOLUME};
use crate::text::{UsageError, refuse};
use halfpower_model::Settings;
use std::path::PathBuf;

/// The study moved to `targets`, and its new targets.
///
/// # Errors
/// If only some targets are simulated, or their number is neither one nor that of the volumes.
pub(crate) fn moved(study: Study, targets: &[PathBuf], console: &Console) -> Result<(Study, Vec<PathBuf>), UsageError> {
    let names = targets.iter().filter_map(|target| SimulatedName::of(target)).collect::<Result<Vec<_>, _>>()?;
    if !names.is_empty() && names.len() < targets.len() {
        refuse!("a study is of simulated targets or of others; name only one kind of them");
    }
    let is_simulated = !names.is_empty();
    let volumes = study.volumes();
    let list = || volumes.join(", ");
    match (targets.len(), volumes.len()) {
        (1, several) if several > 1 => console.message(&format!(
            "{} compares {several} volumes ({}). On one target nothing is compared, and each workload is run once; \
             for a target of its own for each, repeat --target in that order.",
            study.name,
            list()
        )),
        (given, several) if given > 1 && given != several && (several > 1 || is_simulated) => refuse!(
            "{} compares {several} volumes ({}), and {given} targets are named; name one for all of them, or one for \
             each in that order",
            study.name,
            list()
        ),
        _ => {}
    }
    let each = volumes.len() > 1 && targets.len() > 1;
    let stand_ins = match (each, is_simulated) {
        (false, false) => StandIns::OneOfHost,
        (true, false) => StandIns::EachOfHost,
        (false, true) => StandIns::OneSimulated,
        (true, true) => return Ok(each_simulated(study, &names)),
    };
    Ok((study.moved(&stand_ins), targets.to_vec()))
}

/// A simulated volume in place of each: a run has one testbed, and its workloads name their volumes.
fn each_simulated(study: Study, names: &[SimulatedName]) -> (Study, Vec<PathBuf>) {
    let first = &names[0];
    let volume = |name: &SimulatedName| match name.machine == first.machine {
        true => name.volume.clone(),
        false => format!("{}:{}", name.machine, name.volume),
    };
    let settings = names.iter().map(|name| Settings(vec![(VOLUME.to_owned(), volume(name))]).and(&name.settings));
    (study.moved(&StandIns::EachSimulated(settings.collect())), vec![first.plain()])
}
