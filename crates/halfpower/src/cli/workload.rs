//! The options that describe a workload, made from the table of its keys. The first paragraph of each is `-h`, all of it
//! `--help`.

use super::fio_names::FioArguments;
use crate::text::{UsageError, option_of};
use clap::{Arg, ArgMatches, Args, Command, FromArgMatches};
use halfpower_model::key::{Given, Group, Kind, worded};
use halfpower_model::{KEYS, Key, WorkloadSpec};

/// The heading of the options of targets and places.
pub(super) const PLACE: &str = Group::Place.heading();

/// The workload options of a command line.
#[derive(Clone, Debug, Default)]
pub(crate) struct WorkloadArguments {
    own: WorkloadSpec,
    fio: FioArguments,
}

impl WorkloadArguments {
    /// The options, with fio's names translated.
    ///
    /// # Errors
    /// If fio's names contradict each other.
    pub(crate) fn spec(&self) -> Result<WorkloadSpec, UsageError> {
        Ok(self.own.clone().or(&self.fio.spec()?))
    }
}

impl Args for WorkloadArguments {
    fn augment_args(command: Command) -> Command {
        FioArguments::augment_args(keys().fold(command, |command, key| command.arg(argument(key))))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for WorkloadArguments {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let own = keys().filter_map(|key| matches.get_one::<WorkloadSpec>(key.name));
        let own = own.fold(WorkloadSpec::default(), |all, one| all.or(one));
        Ok(WorkloadArguments { own, fio: FioArguments::from_arg_matches(matches)? })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// The options of a replay: how requests are issued, but not which.
#[derive(Clone, Debug, Default)]
pub(super) struct ReplayArguments {
    /// The workload without its trace.
    pub(super) spec: WorkloadSpec,
}

/// Their keys.
const OF_REPLAY: [&str; 19] = [
    "depth",
    "workers",
    "personality",
    "buffering",
    "ring",
    "rw_flags",
    "submit_batch",
    "wait_batch",
    "size",
    "cache",
    "duration",
    "requests",
    "warmup",
    "interval",
    "data",
    "block_phases",
    "verify",
    "cpus",
    "seed",
];

impl Args for ReplayArguments {
    fn augment_args(command: Command) -> Command {
        keys().filter(|key| OF_REPLAY.contains(&key.name)).fold(command, |command, key| {
            let help = match key.name {
                "depth" => "Most requests outstanding [default: 256, fewer if they are large]",
                "size" => "Bytes of the target that are used [default: as many as the trace does]",
                "requests" => "Requests to replay [default: all]",
                "cache" => {
                    "State of the page cache before the replay: keep, cold (empty), warm (filled) [default: keep]"
                }
                "duration" => "End after this time, with the trace or before [default: with the trace]",
                _ => return command.arg(argument(key)),
            };
            command.arg(argument(key).help(help).long_help(help))
        })
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for ReplayArguments {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let keys = keys().filter(|key| OF_REPLAY.contains(&key.name));
        let given = keys.filter_map(|key| matches.get_one::<WorkloadSpec>(key.name));
        Ok(ReplayArguments { spec: given.fold(WorkloadSpec::default(), |all, one| all.or(one)) })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// The keys that are options, by heading. Keys that fio has too are the most used, and come first.
fn keys() -> impl Iterator<Item = &'static Key> {
    [Group::Requests, Group::Place, Group::Load, Group::Method, Group::End].into_iter().flat_map(|group| {
        let mut keys: Vec<&Key> = KEYS.iter().filter(|key| key.about.group == group).collect();
        keys.retain(|key| key.about.given != Given::Study);
        keys.sort_by_key(|key| key.about.aliases.is_empty());
        keys
    })
}

fn argument(key: &'static Key) -> Arg {
    let about = &key.about;
    let help = match about.kind {
        Kind::Switch => about.help.to_owned(),
        _ => format!("{} [default: {}]", about.help, key.default()),
    };
    let help = worded(&help, option_of);
    let details = worded(about.details, option_of);
    let long_help = if details.is_empty() { help.clone() } else { format!("{help}\n\n{details}") };
    let argument = Arg::new(key.name)
        .long(key.option())
        .visible_aliases(about.aliases.iter().copied())
        .help_heading(about.group.heading())
        .help(help)
        .long_help(long_help)
        .value_parser(|text: &str| key.read(text))
        .allow_hyphen_values(key.name == "ring");
    let argument = match about.kind {
        Kind::Switch => argument.value_name("on|off").num_args(0..=1).require_equals(true).default_missing_value("on"),
        _ => argument.value_name(key.value_name()),
    };
    match about.contradicts {
        Some(other) => argument.conflicts_with(other),
        None => argument,
    }
}

#[cfg(test)]
mod tests;
