//! Options for targets, their peaks, and permission to overwrite.

use super::context::Context;
use crate::simulator::name::SimulatedName;
use crate::simulator::stand_ins;
use crate::study::Study;
use crate::target::{Overwrite, is_same_name};
use crate::target_name::is_path;
use crate::text::UsageError;
use clap::Args;
use halfpower_engine::is_remote;
use halfpower_model::{GivenPeak, LevelName};
use std::path::{Path, PathBuf};

/// Stands for `--overwrite` without a name; an argument cannot contain it.
const NO_NAME: &str = "\0";

/// The targets of a study.
#[derive(Clone, Debug, Args)]
pub(crate) struct TargetArgument {
    /// A directory, a file or a block device; repeated for several [default: what the study names, else .]
    ///
    /// If the study compares volumes of a simulated machine, name one target for all of them, or one for each in their order.
    #[arg(long = "target", value_name = "PATH")]
    targets: Vec<PathBuf>,
}

impl TargetArgument {
    pub(crate) fn is_given(&self) -> bool {
        !self.targets.is_empty()
    }

    /// The study and its targets. A study of a simulated machine that runs on other targets has each workload once on each,
    /// without the machine's settings.
    ///
    /// # Errors
    /// If the study compares several volumes and the number of targets is neither one nor theirs, or if `--overwrite` names
    /// no target and the study names one that would be overwritten.
    pub(crate) fn of(
        &self,
        context: &Context,
        study: Study,
        overwrite: &OverwriteArgument,
    ) -> Result<(Study, Vec<PathBuf>), UsageError> {
        if self.targets.is_empty() {
            let targets = vec![PathBuf::from(study.path.clone().unwrap_or_else(|| ".".to_owned()))];
            overwrite.refuse_without_name(&targets, &format!("the study {}", study.name))?;
            return Ok((study, targets));
        }
        match study.path.as_ref().and_then(|path| SimulatedName::of(Path::new(path))) {
            Some(_) => stand_ins::moved(study, &self.targets, &context.console),
            None => Ok((study, self.targets.clone())),
        }
    }
}

/// Advertised peaks that the kernel does not report.
#[derive(Clone, Debug, Args)]
pub(crate) struct PeakArguments {
    /// Peak advertised performance (PAP) of memory, bus, link or device, like device=3500MB/s; repeatable
    ///
    /// Of each link and each device; of a bus, the total. Replaces the kernel's value.
    #[arg(long = "pap", value_name = "LEVEL=RATE")]
    given: Vec<GivenPeak>,
}

impl PeakArguments {
    /// The given peaks.
    ///
    /// # Errors
    /// If two are of one level.
    pub(crate) fn given(&self) -> Result<&[GivenPeak], UsageError> {
        let levels: Vec<LevelName> = self.given.iter().map(|given| given.level).collect();
        match levels.iter().enumerate().find(|(index, level)| levels[..*index].contains(level)) {
            Some((_, twice)) => Err(UsageError(format!("--pap names {twice} twice; give one peak of each level"))),
            None => Ok(&self.given),
        }
    }
}

/// Permission to overwrite.
#[derive(Clone, Debug, Args)]
pub(crate) struct OverwriteArgument {
    /// Allow overwriting existing data on the targets; with =TARGET, repeated, only on those
    ///
    /// A target that is named by a study or a stored run must be named here as well: --overwrite=TARGET.
    #[arg(
        long,
        value_name = "TARGET",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = NO_NAME,

    )]
    overwrite: Vec<PathBuf>,
}

impl OverwriteArgument {
    /// Rejects `--overwrite` without a name for targets that are not on the command line, because the user has not seen
    /// their names there.
    ///
    /// # Errors
    /// If such a target is an existing file or device.
    pub(crate) fn refuse_without_name(&self, targets: &[PathBuf], named_by: &str) -> Result<(), UsageError> {
        if !self.overwrite.iter().any(|name| name.as_os_str() == NO_NAME) {
            return Ok(());
        }
        let is_there = |target: &Path| is_path(target) && target.exists() && !target.is_dir();
        let is_lost = |target: &&PathBuf| is_there(target) || is_remote(target);
        match targets.iter().find(is_lost) {
            None => Ok(()),
            Some(target) => Err(UsageError(format!(
                "--overwrite alone is for targets on the command line, and only {named_by} names {target}; \
                 to overwrite that, give --overwrite={target}",
                target = target.display()
            ))),
        }
    }

    /// The permission for one of several targets.
    pub(crate) fn only(&self, target: &Path) -> OverwriteArgument {
        let is_of = |name: &&PathBuf| name.as_os_str() == NO_NAME || is_same_name(name, target);
        OverwriteArgument { overwrite: self.overwrite.iter().filter(is_of).cloned().collect() }
    }

    /// Which of the targets may be overwritten.
    ///
    /// # Errors
    /// If a name is not that of a target, or `--overwrite` was given both with a name and without.
    pub(crate) fn of(&self, targets: &[PathBuf]) -> Result<Overwrite, UsageError> {
        let names: Vec<PathBuf> = self.overwrite.iter().filter(|name| name.as_os_str() != NO_NAME).cloned().collect();
        match (self.overwrite.len(), names.len()) {
            (0, _) => Ok(Overwrite::Nothing),
            (_, 0) => Ok(Overwrite::Everything),
            (given, named) if given == named => Overwrite::Named(names).of(targets),
            _ => Err(UsageError(
                "--overwrite alone means every target, --overwrite=TARGET only that one; say one or the other"
                    .to_owned(),
            )),
        }
    }
}
