//! What is measured, and what of it may be lost: shared by every command that takes targets.

use super::context::Context;
use crate::simulated::{SimulatedName, is_simulated};
use crate::study::{StandIns, Study, VOLUME};
use crate::target::Overwrite;
use crate::text::{UsageError, refuse};
use clap::Args;
use halfpower_model::{GivenPeak, LevelName, Settings};
use std::path::{Path, PathBuf};

/// Stands for `--overwrite` without a name: no argument of a program can hold it.
const NO_NAME: &str = "\0";

/// What a study is carried out on.
#[derive(Clone, Debug, Args)]
pub(crate) struct TargetArgument {
    /// A directory, a file or a block device; repeated for several [default: what the study names, else .]
    ///
    /// Of a study that compares volumes of a simulated machine, one target stands for all of them, or, repeated, one for each in
    /// their order.
    #[arg(long = "target", value_name = "PATH")]
    targets: Vec<PathBuf>,
}

impl TargetArgument {
    /// The study and its targets. One of a simulated machine that goes to other targets has each workload once on each, whatever
    /// the machine would be set to.
    ///
    /// # Errors
    /// When it compares several volumes, and there are neither one target nor as many.
    /// When `--overwrite` names no target, and the study names one that would be overwritten.
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
        if !study.path.as_ref().is_some_and(|path| is_simulated(Path::new(path))) {
            return Ok((study, self.targets.clone()));
        }
        let simulated = self.targets.iter().filter(|target| is_simulated(target)).count();
        if simulated > 0 && simulated < self.targets.len() {
            refuse!("a study is of simulated targets or of others; name only one kind of them");
        }
        let volumes = study.volumes();
        let list = || volumes.join(", ");
        match (self.targets.len(), volumes.len()) {
            (1, several) if several > 1 => context.console.message(&format!(
                "{} compares {several} volumes ({}). On one target nothing is compared, and each workload is run once; \
                 for a target of its own for each, repeat --target in that order.",
                study.name,
                list()
            )),
            (given, several) if given > 1 && given != several && (several > 1 || simulated > 0) => {
                refuse!(
                    "{} compares {several} volumes ({}), and {given} targets are named; name one for all of them, or one for \
                     each in that order",
                    study.name,
                    list()
                );
            }
            _ => {}
        }
        let each = volumes.len() > 1 && self.targets.len() > 1;
        let stand_ins = match (each, simulated) {
            (false, 0) => StandIns::OneOfHost,
            (true, 0) => StandIns::EachOfHost,
            (false, _) => StandIns::OneSimulated,
            (true, _) => return self.each_simulated(study),
        };
        Ok((study.moved(&stand_ins), self.targets.clone()))
    }

    /// The study with a simulated volume of its own in place of each that it compares, and the target: a run has one testbed, and its
    /// workloads name their volumes.
    fn each_simulated(&self, study: Study) -> Result<(Study, Vec<PathBuf>), UsageError> {
        let names =
            self.targets.iter().filter_map(|target| SimulatedName::of(target)).collect::<Result<Vec<_>, _>>()?;
        let first = names[0].plain();
        let volume = |name: &SimulatedName| match name.machine == names[0].machine {
            true => name.volume.clone(),
            false => format!("{}:{}", name.machine, name.volume),
        };
        let settings = names.iter().map(|name| Settings(vec![(VOLUME.to_owned(), volume(name))]).and(&name.settings));
        Ok((study.moved(&StandIns::EachSimulated(settings.collect())), vec![first]))
    }
}

/// What the levels below a target advertise, where the kernel does not tell.
#[derive(Clone, Debug, Args)]
pub(crate) struct PeakArguments {
    /// Peak that a level advertises: memory, bus, link or device, as device=3500MB/s; repeated for several
    ///
    /// Of a bus as a whole, of each link and each device. Replaces what the kernel tells.
    #[arg(long = "pap", value_name = "LEVEL=RATE")]
    given: Vec<GivenPeak>,
}

impl PeakArguments {
    /// What was given.
    ///
    /// # Errors
    /// When two are of one level.
    pub(crate) fn given(&self) -> Result<&[GivenPeak], UsageError> {
        let levels: Vec<LevelName> = self.given.iter().map(|given| given.level).collect();
        match levels.iter().enumerate().find(|(index, level)| levels[..*index].contains(level)) {
            Some((_, twice)) => Err(UsageError(format!("--pap names {twice} twice; give one peak of each level"))),
            None => Ok(&self.given),
        }
    }
}

/// What is different from a simulated machine's file.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct SetArgument {
    /// Another value for a key of a simulated machine: disks=4 of its volume, pci.rate=533MB/s of a part; repeated for several
    ///
    /// The target's name has it after a comma, sim:MACHINE:VOLUME,disks=4, and can be written so.
    /// What is of no part on the volume's way is refused: nothing would change.
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<Settings>,
}

impl SetArgument {
    /// The targets, the simulated ones with these settings.
    ///
    /// # Errors
    /// When none of them is simulated.
    pub(crate) fn on(&self, targets: &[PathBuf]) -> Result<Vec<PathBuf>, UsageError> {
        // All that were said: of one said twice none counts, and the machine says so.
        let settings = Settings(self.set.iter().flat_map(|settings| settings.0.clone()).collect());
        if settings.is_empty() {
            return Ok(targets.to_vec());
        }
        if !targets.iter().any(|target| is_simulated(target)) {
            refuse!("--set {settings} is of a simulated machine; name sim:MACHINE:VOLUME, or leave it out");
        }
        let set = |target: &PathBuf| match is_simulated(target) {
            true => PathBuf::from(format!("{},{settings}", target.display())),
            false => target.clone(),
        };
        Ok(targets.iter().map(set).collect())
    }
}

/// What may be lost.
#[derive(Clone, Debug, Args)]
pub(crate) struct OverwriteArgument {
    /// Allow overwriting existing data on the targets; with =TARGET, repeated, only on those
    ///
    /// A target that only a study or a stored run names has to be named: --overwrite=TARGET.
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
    /// Refuses `--overwrite` without a name for targets that are not on the command line: nobody would have read there
    /// what is going to be lost.
    ///
    /// # Errors
    /// When it was given for a file or device that is there.
    pub(crate) fn refuse_without_name(&self, targets: &[PathBuf], named_by: &str) -> Result<(), UsageError> {
        if !self.overwrite.iter().any(|name| name.as_os_str() == NO_NAME) {
            return Ok(());
        }
        let is_lost = |target: &&PathBuf| !is_simulated(target) && target.exists() && !target.is_dir();
        match targets.iter().find(is_lost) {
            None => Ok(()),
            Some(target) => Err(UsageError(format!(
                "--overwrite alone is for targets on the command line, and only {named_by} names {target}; \
                 to overwrite that, give --overwrite={target}",
                target = target.display()
            ))),
        }
    }

    /// What may be lost of the targets.
    ///
    /// # Errors
    /// When a name is none of theirs, or it was said both with a name and without.
    pub(crate) fn of(&self, targets: &[PathBuf]) -> Result<Overwrite, UsageError> {
        let names: Vec<PathBuf> = self.overwrite.iter().filter(|name| name.as_os_str() != NO_NAME).cloned().collect();
        match (self.overwrite.len(), names.len()) {
            (0, _) => Ok(Overwrite::Nothing),
            (_, 0) => Ok(Overwrite::Everything),
            (said, named) if said == named => Overwrite::Named(names).of(targets),
            _ => Err(UsageError(
                "--overwrite alone means every target, --overwrite=TARGET only that one; say one or the other"
                    .to_owned(),
            )),
        }
    }
}
