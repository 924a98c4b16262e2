//! `halfpower link`: the limit of cache, link and bus.

use super::instrument::{self, Keeping, in_own_words};
use super::number::{any, count};
use super::{Context, Ending};
use crate::text::UsageError;
use clap::Args;
use halfpower_analysis::instrument::link as analysis;
use halfpower_engine::link::{self, LinkOptions, LinkSamples, LinkSetup};
use halfpower_engine::{Access, Host, Target};
use halfpower_model::reading::{Figures, LinkSpeed, LinkTarget};
use halfpower_model::sample::Warning;
use halfpower_model::{
    Bytes, BytesPerSecond, Environment, MeasureError, Nanoseconds, Reading, TargetFacts, TargetKind,
};
use std::path::PathBuf;

/// Re-read a small region of each target: the limit of drive cache, link and bus
///
/// After the first read the region is in the drive's cache, so the medium is not involved; small reads inside and outside the
/// region check that. Each target is read alone, then the first two together, the first three, and so on up to all of them,
/// with direct I/O. Every setting is repeated, in random order. Targets that give less together than the sum of each alone
/// share a bottleneck. Nothing is written.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// Files and block devices
    #[arg(required = true, value_name = "TARGET")]
    targets: Vec<PathBuf>,
    /// Size of the region, from the start of each target; must fit in the drive's cache
    #[arg(long, value_name = "SIZE", default_value = "1MiB")]
    region: Bytes,
    /// Request size; small requests measure the cost per request rather than the link
    #[arg(long, value_name = "SIZE", visible_alias = "bs", default_value = "256KiB")]
    request_size: Bytes,
    /// Queue depth at each target
    #[arg(long, value_name = "N", visible_alias = "iodepth", default_value_t = 2, value_parser = count::<u32>)]
    depth: u32,
    /// Length of each measurement, after a warm-up of half a second
    #[arg(long, value_name = "TIME", visible_alias = "runtime", default_value = "1s")]
    duration: Nanoseconds,
    /// Repetitions of each setting
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = count::<u32>)]
    repetitions: u32,
    /// Measure each target alone and all together, and no subsets
    #[arg(long)]
    each_and_all: bool,
    /// Seed for the order of the measurements
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = any::<u64>)]
    seed: u64,
    #[command(flatten)]
    keeping: Keeping,
}

pub(super) fn run(context: &Context, arguments: &Arguments) -> anyhow::Result<Ending> {
    let started_at = jiff::Timestamp::now();
    let options = LinkOptions {
        region: arguments.region,
        request_size: arguments.request_size,
        depth: arguments.depth,
        duration: arguments.duration,
        repetitions: arguments.repetitions,
        seed: arguments.seed,
    };
    if arguments.repetitions == 0 {
        anyhow::bail!(UsageError("--repetitions is 0; measure at least once".to_owned()));
    }
    if arguments.duration.0 == 0 {
        anyhow::bail!(UsageError("--duration is 0; say how long each measurement is, like 1s".to_owned()));
    }
    let instead =
        "`halfpower sim show MACHINE:VOLUME` tells what lies between its disks and memory, and `halfpower io` takes it";
    instrument::refuse_simulated(&arguments.targets, "link", instead)?;
    let mut settings = settings(arguments, &options)?;
    // The last has all of them, in order.
    let environment = settings.last().map(|setting| setting.environment().clone()).expect("there is a target");
    let heeded = context.interrupts.heeded();
    context.console.start_bar(1);
    let mut bar = |done, total, rate: BytesPerSecond| {
        context.console.move_bar(done, total, "", &rate.to_string());
    };
    let samples = match link::measure(&mut settings, &options, &mut bar, &heeded) {
        Err(MeasureError::Cancelled) => {
            context.console.end_bar();
            context.console.message("Interrupted before anything was measured.");
            return Ok(Ending::Interrupted);
        }
        samples => samples?,
    };
    let limits = arguments.targets.iter().map(|target| instrument::read_limit(target));
    let link = conclude(&options, &environment, &samples, limits.collect::<Result<_, _>>()?);
    let mut reading = Reading::new(Figures::Link(link), environment, started_at);
    reading.warnings = samples.warnings;
    reading.warnings.extend(same_device(&reading.environment));
    instrument::conclude(context, &arguments.keeping, &arguments.targets, reading)?;
    Ok(if heeded.is_cancelled() { Ending::Interrupted } else { Ending::Done })
}

/// Each target alone, in order, then so many together, all of them last.
fn settings(arguments: &Arguments, options: &LinkOptions) -> anyhow::Result<Vec<LinkSetup>> {
    let all = arguments.targets.len() as u32;
    let together = if arguments.each_and_all { all.max(2) } else { 2 }..=all;
    let alone = (0..all).map(|target| vec![target]);
    alone
        .chain(together.map(|count| (0..count).collect()))
        .map(|targets| setting(arguments, options, targets))
        .collect()
}

fn setting(arguments: &Arguments, options: &LinkOptions, targets: Vec<u32>) -> anyhow::Result<LinkSetup> {
    let open = |target: &u32| Target::open(&arguments.targets[*target as usize], Access::Read);
    let opened = targets.iter().map(open).collect::<Result<Vec<_>, _>>()?;
    if let Some(unsuitable) = opened.iter().find_map(|target| unsuitable(target.facts())) {
        anyhow::bail!(UsageError(unsuitable));
    }
    if options.request_size > options.region {
        anyhow::bail!(UsageError(format!(
            "--region is {}, which does not hold a request of {}; use a smaller --request-size, or a larger --region",
            options.region, options.request_size
        )));
    }
    LinkSetup::new(targets, Box::new(Host::on(opened)?), options)
        .map_err(|error| in_own_words(error, "--request-size", "--region").into())
}

/// Why a target cannot be read past the file cache; none where it can.
pub(super) fn unsuitable(target: &TargetFacts) -> Option<String> {
    let path = &target.path;
    if target.kind == TargetKind::Null {
        return Some("null: has nothing behind it; name files or block devices".to_owned());
    }
    target.direct_alignment_bytes.is_none().then(|| {
        format!("{path} takes no direct I/O, so that the file cache would be measured; name something on a disk")
    })
}

/// `limits` says of each target what holds its reads back.
fn conclude(
    options: &LinkOptions,
    environment: &Environment,
    samples: &LinkSamples,
    limits: Vec<Option<String>>,
) -> LinkSpeed {
    let settings = analysis::settings(&samples.rates);
    let looked = environment.all_targets().zip(&samples.looks).zip(limits);
    let targets = looked.map(|((target, look), limit)| LinkTarget {
        path: target.path.clone(),
        medium: analysis::medium(&look.near, look.far.as_ref(), &look.reread, target.rotational, limit),
    });
    LinkSpeed {
        region_bytes: options.region,
        request_bytes: options.request_size,
        depth: options.depth,
        duration: options.duration,
        seed: options.seed,
        targets: targets.collect(),
        sharing: analysis::sharing(&settings),
        limit: analysis::limit(&settings),
        settings,
    }
}

/// Says where two targets lie on one device, which they then share for a start.
fn same_device(environment: &Environment) -> Option<Warning> {
    let devices: Vec<&String> = environment.all_targets().filter_map(|target| target.device.as_ref()).collect();
    let twice = devices.iter().enumerate().find(|(index, device)| devices[..*index].contains(device))?.1;
    Some(Warning::new(
        "same_device",
        format!("several targets lie on {twice}: what they share is that device, and perhaps nothing else"),
        "name one target of each device",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_only_the_file_cache_gives_is_not_measured() {
        let file = TargetFacts::bare("file", TargetKind::File, Bytes::MIB);
        assert!(unsuitable(&file).unwrap().contains("file takes no direct I/O"));
        assert_eq!(unsuitable(&TargetFacts { direct_alignment_bytes: Some(Bytes(512)), ..file }), None);
    }

    #[test]
    fn targets_of_one_device_are_told_of() {
        let on = |device: &str| TargetFacts {
            device: Some(device.to_owned()),
            ..TargetFacts::bare("file", TargetKind::File, Bytes::MIB)
        };
        let environment = |devices: [&str; 3]| {
            halfpower_engine::environment(on(devices[0]), devices[1..].iter().map(|device| on(device)).collect())
        };
        assert_eq!(same_device(&environment(["sda", "sdb", "sdc"])), None);
        assert!(same_device(&environment(["sda", "sdb", "sda"])).unwrap().message.contains("lie on sda"));
    }
}
