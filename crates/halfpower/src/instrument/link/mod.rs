//! `halfpower link`: the limit of drive cache, link and bus.

pub(super) mod page;

use super::command::{self, in_own_words};
use crate::command::context::{Context, Ending};
use crate::command::note::Keeping;
use crate::command::number::{any, count};
use crate::reading::link::{LinkSpeed, LinkTarget};
use crate::reading::{Figures, Reading};
use crate::text::refuse;
use clap::Args;
use halfpower_engine::Host;
use halfpower_engine::link::{self, LinkOptions, LinkSamples, LinkSetup};
use halfpower_model::sample::Warning;
use halfpower_model::{Bytes, BytesPerSecond, Environment, MeasureError, Nanoseconds};
use std::path::PathBuf;

/// Re-read a small region of each target to measure the limit of drive cache, link and bus
///
/// After the first read the region is in the drive's cache, so the medium is not involved; small reads inside and outside the
/// region check that. Each target is read alone, then the first two together, the first three, and so on up to all of them,
/// with direct I/O. Every setting is repeated, in random order. Targets that give less together than the sum of each alone
/// share a bottleneck. Nothing is written.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
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

pub(crate) fn run(context: &Context, arguments: &Arguments) -> anyhow::Result<Ending> {
    let started_at = jiff::Timestamp::now();
    let options = LinkOptions {
        region: arguments.region,
        request_size: arguments.request_size,
        depth: arguments.depth,
        duration: arguments.duration,
        repetitions: arguments.repetitions,
        seed: arguments.seed,
    };
    if arguments.duration.0 == 0 {
        refuse!("--duration is 0; use a time such as 1s");
    }
    let instead = "`halfpower sim show MACHINE:VOLUME` shows its buses and links, and `halfpower io` measures it";
    command::refuse_elsewhere(&arguments.targets, "link", instead)?;
    let mut settings = settings(arguments, &options)?;
    // The last setting has all targets.
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
    let limits = arguments.targets.iter().map(|target| command::read_limit(target));
    let link = conclude(&options, &environment, &samples, limits.collect::<Result<_, _>>()?);
    let mut reading = Reading::new(Figures::Link(link), environment, started_at);
    reading.warnings = samples.warnings;
    reading.warnings.extend(same_device(&reading.environment));
    command::conclude(context, &arguments.keeping, &arguments.targets, reading)?;
    Ok(if heeded.is_cancelled() { Ending::Interrupted } else { Ending::Done })
}

/// Each target alone, then the first two, three and so on together.
fn settings(arguments: &Arguments, options: &LinkOptions) -> anyhow::Result<Vec<LinkSetup>> {
    let all = arguments.targets.len() as u32;
    if options.request_size > options.region {
        let (region, request) = (options.region, options.request_size);
        refuse!(
            "--region is {region}, less than a request of {request}; use a smaller --request-size, or a larger --region"
        );
    }
    let together = if arguments.each_and_all { all.max(2) } else { 2 }..=all;
    let open = |target: &u32| command::open_direct(&arguments.targets[*target as usize]);
    let setting = |targets: Vec<u32>| {
        let opened = targets.iter().map(open).collect::<Result<Vec<_>, _>>()?;
        let setup = LinkSetup::new(targets, Box::new(Host::on(opened)?), options);
        Ok(setup.map_err(|error| in_own_words(error, "--request-size", "--region"))?)
    };
    let alone = (0..all).map(|target| vec![target]);
    alone.chain(together.map(|count| (0..count).collect())).map(setting).collect()
}

/// `limits` has the control group's limit of each target's reads.
fn conclude(
    options: &LinkOptions,
    environment: &Environment,
    samples: &LinkSamples,
    limits: Vec<Option<String>>,
) -> LinkSpeed {
    let settings = crate::reading::link::settings(&samples.rates);
    let looked = environment.all_targets().zip(&samples.looks).zip(limits);
    let targets = looked.map(|((target, look), limit)| LinkTarget {
        path: target.path.clone(),
        medium: crate::reading::link::medium(&look.near, look.far.as_ref(), &look.reread, target.rotational, limit),
    });
    LinkSpeed {
        region_bytes: options.region,
        request_bytes: options.request_size,
        depth: options.depth,
        duration: options.duration,
        seed: options.seed,
        targets: targets.collect(),
        sharing: crate::reading::link::sharing(&settings),
        limit: crate::reading::link::limit(&settings),
        settings,
    }
}

/// Warns if two targets are on one device, which they then share in any case.
fn same_device(environment: &Environment) -> Option<Warning> {
    let devices: Vec<&String> = environment.all_targets().filter_map(|target| target.device.as_ref()).collect();
    let twice = devices.iter().enumerate().find(|(index, device)| devices[..*index].contains(device))?.1;
    Some(Warning::new(
        "same_device",
        format!("several targets are on {twice}, so the shared bottleneck may be that device"),
        "name one target per device",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use halfpower_model::{TargetFacts, TargetKind};

    #[test]
    fn targets_on_one_device_are_warned_of() {
        let on = |device: &str| TargetFacts {
            device: Some(device.to_owned()),
            ..TargetFacts::bare("file", TargetKind::File, Bytes::MIB)
        };
        let environment = |devices: [&str; 3]| {
            halfpower_engine::environment(on(devices[0]), devices[1..].iter().map(|device| on(device)).collect())
        };
        assert_eq!(same_device(&environment(["sda", "sdb", "sdc"])), None);
        assert!(same_device(&environment(["sda", "sdb", "sda"])).unwrap().message.contains("are on sda"));
    }
}
