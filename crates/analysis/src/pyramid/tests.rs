//! Pyramids with known answers: the figures are made up, the bottleneck is in them or it is not.

use super::*;
use crate::fixtures::{Run, around, begins, buffered, channel, deep, ends, flushed, read, says, write};
use halfpower_model::reading::{Bandwidth, Kernel, Rounds, StudySpeed, StudyTest, Vectors};
use halfpower_model::workload::MirrorReads;
use halfpower_model::{Among, Bytes, CachePolicy, Layout, Level, LevelName, TargetFacts, TargetKind, Workload};

const MB: f64 = 1e6;

fn level(name: LevelName, at: &str, megabytes: Option<f64>) -> Level {
    Level::of(name, [channel(at, None, megabytes)])
}

/// A disk behind an adapter that others may be behind as well.
fn disk(name: &str, bus: Option<f64>, link: Option<f64>, device: Option<f64>) -> TargetFacts {
    TargetFacts {
        device: Some(name.to_owned()),
        levels: vec![
            level(LevelName::Memory, "memory", None),
            level(LevelName::Bus, "adapter", bus),
            level(LevelName::Link, &format!("cable of {name}"), link),
            level(LevelName::Device, name, device),
        ],
        ..TargetFacts::bare(format!("/dev/{name}"), TargetKind::BlockDevice, Bytes::GIB)
    }
}

/// Puts every sample on the targets that its workload goes to.
fn lay(run: &mut Run, targets: &[TargetFacts]) {
    for placed in &mut run.samples {
        let among = placed.sample.workload.among;
        let environment = &mut placed.sample.environment;
        (environment.target, environment.more_targets) = (targets[0].clone(), targets[1..].to_vec());
        *environment = environment.among(among).unwrap().into();
    }
}

fn pyramids(run: &Run, memory: Option<&MemorySpeed>) -> Vec<Pyramid> {
    crate::analyse_with(&run.observed(), &crate::Context { memory, offer: None }).pyramids
}

fn only(run: &Run) -> Pyramid {
    let mut pyramids = pyramids(run, None);
    assert_eq!(pyramids.len(), 1);
    pyramids.remove(0)
}

fn of(pyramid: &Pyramid, stage: Stage) -> &PyramidLevel {
    pyramid.levels.iter().find(|level| level.level == stage).unwrap()
}

/// PAP and RAP in MB/s.
fn figures(pyramid: &Pyramid, stage: Stage) -> (Option<f64>, Option<f64>) {
    let level = of(pyramid, stage);
    let round = |rate: f64| (rate / MB * 10.0).round() / 10.0;
    (level.pap_bytes_per_s.map(|rate| round(rate.0)), level.rap.map(|rap| round(rap.value)))
}

/// One disk read at these MB/s, whatever the request size.
fn one(target: TargetFacts, megabytes: f64) -> Run {
    let mut run = Run::of([(read(4), around(megabytes * MB / 4.0)), (deep(8, read(1024)), around(megabytes * MB))]);
    lay(&mut run, &[target]);
    run
}

/// So many disks, each alone and all together, with sequential reads.
fn several(targets: &[TargetFacts], each: f64, together: f64) -> Run {
    let mut run = Run::default();
    let count = targets.len() as u32;
    let workload =
        |among, targets| Workload { among, targets, workers: targets, layout: Layout::Each, ..deep(8, read(1024)) };
    for number in 1..=count {
        run.add(workload(Among::Only(number), 1), &around(each * MB));
    }
    run.add(workload(Among::All, count), &around(together * MB));
    lay(&mut run, targets);
    run
}

fn scsi(count: usize, bus: Option<f64>, device: Option<f64>) -> Vec<TargetFacts> {
    ["sda", "sdb", "sdc", "sdd"][..count].iter().map(|name| disk(name, bus, None, device)).collect()
}

#[test]
fn a_device_at_its_peak_is_the_bottleneck() {
    let pyramid = only(&one(disk("sda", Some(60.0), Some(160.0), Some(24.0)), 23.5));
    assert_eq!((pyramid.operation, pyramid.targets, pyramid.bottleneck), (Operation::Read, 1, Some(Stage::Device)));
    let order: Vec<Stage> = pyramid.levels.iter().map(|level| level.level).collect();
    let upper = [Stage::Memory, Stage::MemoryCopy, Stage::FileCache];
    assert_eq!(order, [&upper[..], &[Stage::Bus, Stage::Link, Stage::Device]].concat());
    assert_eq!(figures(&pyramid, Stage::Device), (Some(24.0), Some(23.5)));
    assert_eq!(figures(&pyramid, Stage::Link), (Some(160.0), Some(23.5)));
    let halves = [Stage::Bus, Stage::Link, Stage::Device].map(|stage| of(&pyramid, stage).half);
    assert_eq!(halves, [Half::Missed, Half::Missed, Half::Reached]);
    assert!((of(&pyramid, Stage::Device).share.unwrap() - 23.5 / 24.0).abs() < 1e-9);
    assert_eq!(of(&pyramid, Stage::Device).rap_source, "sequential 1 MiB reads, QD8, direct");
    let words = "The bottleneck of reads is the device: it is at 98 % of its capacity, and no other level is closer to its peak. Ruled out: bus (39 %), link (15 %).";
    assert_eq!(pyramid.sentence, words);
    assert_eq!(pyramid.brief, "device (98 % of its capacity)");
    assert_eq!(pyramid.samples, [105, 106, 107, 108, 109], "those of the best size");
}

#[test]
fn four_disks_behind_a_bus_are_held_by_the_bus() {
    let pyramid = only(&several(&scsi(4, Some(60.0), Some(24.0)), 24.0, 60.0));
    assert_eq!((pyramid.targets, pyramid.bottleneck), (4, Some(Stage::Bus)));
    assert_eq!(figures(&pyramid, Stage::Bus), (Some(60.0), Some(60.0)));
    assert_eq!(figures(&pyramid, Stage::Device), (Some(96.0), Some(96.0)), "sum of each alone");
    assert_eq!(of(&pyramid, Stage::Device).standing, Standing::RuledOut);
    assert!(of(&pyramid, Stage::Device).rap_source.ends_with("sum of each alone"));
    assert_eq!(pyramid.samples.len(), 25);
    begins(&pyramid.sentence, "4 targets together are limited to 60 MB/s");
    says(&pyramid.sentence, "device (each alone delivers more)");
}

#[test]
fn a_shared_level_is_named_without_its_peak() {
    let pyramid = only(&several(&scsi(3, None, None), 24.0, 60.0));
    assert_eq!(pyramid.bottleneck, Some(Stage::Bus), "{}", pyramid.sentence);
    assert_eq!(figures(&pyramid, Stage::Bus), (None, Some(60.0)));
    assert_eq!(pyramid.brief, "bus (3 targets share it and are limited to 60 MB/s)");
    // Though not where its peak says that it had more than twice that to give.
    let pyramid = only(&several(&scsi(3, Some(600.0), None), 24.0, 60.0));
    assert_eq!(pyramid.bottleneck, None, "{}", pyramid.sentence);
    says(&pyramid.sentence, "by something outside the listed levels");
}

#[test]
fn two_disks_that_share_nothing_that_matters_are_their_own_bottleneck() {
    let pyramid = only(&several(&scsi(2, Some(60.0), Some(24.0)), 24.0, 48.0));
    assert_eq!(pyramid.bottleneck, Some(Stage::Device), "{}", pyramid.sentence);
    assert_eq!(of(&pyramid, Stage::Bus).standing, Standing::RuledOut);
    assert_eq!(figures(&pyramid, Stage::Bus), (Some(60.0), Some(48.0)));
    says(&pyramid.sentence, "bus (the targets share no limit)");
    // The disks' peaks are unknown, and the bus alone is no answer.
    let pyramid = only(&several(&scsi(2, Some(60.0), None), 24.0, 48.0));
    assert_eq!(pyramid.bottleneck, None);
}

#[test]
fn disks_with_cables_of_their_own_have_nothing_to_blame() {
    let mut targets = scsi(2, None, None);
    targets.iter_mut().for_each(|target| target.levels.retain(|level| level.name != LevelName::Bus));
    let pyramid = only(&several(&targets, 24.0, 30.0));
    assert_eq!(pyramid.bottleneck, None);
    assert_eq!(pyramid.brief, "a resource that the targets share");
    assert_eq!(of(&pyramid, Stage::Memory).standing, Standing::Open, "that memory is shared is no news");
}

#[test]
fn two_files_on_one_disk_have_the_disk_in_common() {
    let file = |name: &str| TargetFacts {
        path: name.to_owned(),
        filesystem: Some("ext4".to_owned()),
        ..scsi(1, None, None).remove(0)
    };
    let pyramid = only(&several(&[file("/a"), file("/b")], 24.0, 24.0));
    assert_eq!(pyramid.bottleneck, Some(Stage::Device));
    assert_eq!(of(&pyramid, Stage::FileSystem).at, ["ext4"]);
}

#[test]
fn without_a_known_peak_nothing_is_named() {
    let pyramid = only(&one(disk("sda", None, None, None), 1600.0));
    assert_eq!(pyramid.bottleneck, None);
    assert!(pyramid.levels.iter().all(|level| level.half == Half::CannotTell && level.share.is_none()));
    let words = "The bottleneck of reads (1.6 GB/s) is unknown: the peaks of bus, link and device are unknown; set them with --pap.";
    assert_eq!(pyramid.sentence, words);
    // Records of before have no levels at all.
    let bare = only(&one(TargetFacts::bare("/old", TargetKind::File, Bytes::GIB), 10.0));
    assert_eq!((bare.bottleneck, of(&bare, Stage::Device).pap_source.as_str()), (None, "not recorded"));
}

#[test]
fn a_level_far_from_its_peak_is_not_named() {
    // All peaks known, none near: the requests are what is slow.
    let pyramid = only(&one(disk("sda", Some(600.0), Some(600.0), Some(500.0)), 100.0));
    assert_eq!(pyramid.bottleneck, None);
    says(&pyramid.brief, "no level is near its peak");
    // Between: neither ruled out nor named.
    let pyramid = only(&one(disk("sda", Some(600.0), None, Some(150.0)), 100.0));
    assert_eq!((pyramid.bottleneck, of(&pyramid, Stage::Device).standing), (None, Standing::Open));
    assert_eq!(of(&pyramid, Stage::Device).half, Half::Reached);
    // Half is undecided where the interval of ± 2 % holds it.
    let pyramid = only(&one(disk("sda", None, None, Some(200.0)), 100.5));
    assert_eq!(of(&pyramid, Stage::Device).half, Half::CannotTell);
    // Two that are as full as one another.
    let pyramid = only(&one(disk("sda", None, Some(101.0), Some(100.0)), 100.0));
    assert_eq!(pyramid.brief, "the device or the link (likely)");
}

#[test]
fn more_than_the_peak_is_said_and_not_believed() {
    let pyramid = only(&one(disk("sda", None, None, Some(24.0)), 30.0));
    assert_eq!((pyramid.bottleneck, of(&pyramid, Stage::Device).half), (None, Half::BeyondPeak));
    ends(&pyramid.sentence, "Throughput of the device is 125 % of its peak: the peak is wrong, or a cache answered.");
    assert_eq!(pyramid.brief, "unknown (more passed the device than its stated peak allows)");
    // So is as much as the repetitions differ by.
    let mut run = Run::of([(deep(8, read(1024)), [24e6, 26e6, 28e6])]);
    lay(&mut run, &[disk("sda", Some(60.0), Some(160.0), Some(24.0))]);
    let pyramid = only(&run);
    assert!(of(&pyramid, Stage::Device).share.unwrap() > 1.05);
    assert_eq!((pyramid.bottleneck, of(&pyramid, Stage::Device).half), (Some(Stage::Device), Half::Reached));
    // Though not where they differ by so much that the interval holds everything.
    let mut run = Run::of([(deep(8, read(1024)), [90e6, 300e6, 900e6])]);
    lay(&mut run, &[disk("sda", None, None, Some(24.0))]);
    assert_eq!(of(&only(&run), Stage::Device).half, Half::BeyondPeak);
    // A hair above is noise.
    let pyramid = only(&one(disk("sda", None, None, Some(24.0)), 24.5));
    assert_eq!((pyramid.bottleneck, of(&pyramid, Stage::Device).half), (Some(Stage::Device), Half::Reached));
}

#[test]
fn a_mirror_halves_what_writes_can_have() {
    let targets = scsi(2, Some(60.0), Some(24.0));
    let mirror = |workload| Workload {
        layout: Layout::Mirror { reads: MirrorReads::RoundRobin },
        targets: 2,
        ..deep(8, workload)
    };
    let mut run = Run::of([(mirror(read(1024)), around(47.0 * MB)), (mirror(write(1024)), around(23.5 * MB))]);
    lay(&mut run, &targets);
    let [reads, writes] = pyramids(&run, None).try_into().unwrap();
    assert_eq!(figures(&reads, Stage::Device), (Some(48.0), Some(47.0)));
    assert_eq!(figures(&writes, Stage::Device), (Some(24.0), Some(23.5)));
    assert_eq!(figures(&writes, Stage::Bus), (Some(30.0), Some(23.5)));
    assert_eq!(of(&writes, Stage::Device).pap_source, "2 × (given), divided by the 2 copies of a mirror");
    assert_eq!((reads.bottleneck, writes.bottleneck), (Some(Stage::Device), Some(Stage::Device)));
}

#[test]
fn a_limit_is_of_reads_or_of_writes() {
    let mut target = disk("sda", None, None, None);
    let limits = [channel("vda", None, None), channel("sda", Some("vda"), Some(24.0))];
    target.levels.insert(1, Level::of(LevelName::ReadLimit, limits));
    let mut run = Run::of([(read(1024), around(24.0 * MB)), (write(1024), around(100.0 * MB))]);
    lay(&mut run, &[target]);
    let [reads, writes] = pyramids(&run, None).try_into().unwrap();
    assert_eq!(reads.bottleneck, Some(Stage::Limit));
    assert_eq!(of(&reads, Stage::Limit).at, ["sda"], "nothing holds vda back");
    assert_eq!(writes.bottleneck, None);
    assert!(writes.levels.iter().all(|level| level.level != Stage::Limit));
}

fn memory() -> MemorySpeed {
    let cell = |kernel, gigabytes: f64| Bandwidth {
        kernel,
        threads: 2,
        size_bytes: Bytes::GIB,
        bytes_per_s: Rounds::new(vec![gigabytes * 1e9]),
    };
    MemorySpeed {
        vectors: Vectors::Avx2,
        caches: Vec::new(),
        huge_page_share: None,
        cpus: vec![0, 1],
        studies: vec![StudySpeed {
            test: StudyTest::FileRead,
            threads: 1,
            size_bytes: Bytes::GIB,
            null_ns: 1.0,
            bytes_per_s: Rounds::new(vec![7e9]),
        }],
        bandwidth: vec![cell(Kernel::Read, 20.0), cell(Kernel::WriteNonTemporal, 15.0), cell(Kernel::Copy, 8.0)],
        latency: Vec::new(),
    }
}

#[test]
fn what_memory_gives_rules_it_out() {
    let mut target = disk("sda", None, None, None);
    target.levels[0] = level(LevelName::Memory, "memory", Some(25_000.0));
    target.filesystem = Some("ext4".to_owned());
    let run = one(target, 1000.0);
    let [pyramid] = pyramids(&run, Some(&memory())).try_into().unwrap();
    assert_eq!(figures(&pyramid, Stage::Memory), (Some(25_000.0), Some(20_000.0)));
    assert_eq!(figures(&pyramid, Stage::MemoryCopy), (Some(12_500.0), Some(8000.0)));
    assert_eq!(figures(&pyramid, Stage::FileCache), (None, Some(7000.0)));
    assert_eq!(figures(&pyramid, Stage::FileSystem), (None, Some(1000.0)));
    assert_eq!(of(&pyramid, Stage::Memory).standing, Standing::RuledOut);
    assert_eq!(of(&pyramid, Stage::MemoryCopy).standing, Standing::NotPassed, "direct requests go past it");
    ends(&pyramid.sentence, "Ruled out: memory (5 %).");
    assert_eq!(pyramid.bottleneck, None);
}

#[test]
fn reads_that_the_cache_could_not_hand_out_any_faster_are_held_by_it() {
    let mut run = Run::default();
    run.add(buffered(read(1024)), &around(3000.0 * MB));
    run.add(Workload { cache: CachePolicy::Warm, ..buffered(read(1024)) }, &around(3300.0 * MB));
    run.add(flushed(buffered(write(1024))), &around(900.0 * MB));
    run.add(buffered(write(1024)), &around(2600.0 * MB));
    lay(&mut run, &[disk("sda", None, None, None)]);
    let [reads, writes] = pyramids(&run, Some(&memory())).try_into().unwrap();
    assert_eq!((reads.bottleneck, figures(&reads, Stage::FileCache).1), (Some(Stage::FileCache), Some(3300.0)));
    assert_eq!(of(&reads, Stage::FileCache).rap_source, "sequential 1 MiB reads, QD1, buffered");
    assert_eq!(of(&writes, Stage::FileCache).standing, Standing::RuledOut);
    assert_eq!(figures(&writes, Stage::Device).1, Some(900.0));
}

#[test]
fn a_program_that_set_the_pace_is_no_bottleneck_of_the_storage() {
    let mut run = one(disk("sda", None, None, Some(24.0)), 24.0);
    run.samples.iter_mut().for_each(|placed| placed.sample.generator_bound = true);
    let pyramid = only(&run);
    assert_eq!(pyramid.brief, "the load generator");
}

#[test]
fn what_is_below_the_target_and_not_the_disk_is_a_stack() {
    let stacked = TargetFacts { device: Some("md0".to_owned()), ..disk("sda", None, None, Some(24.0)) };
    let pyramid = only(&one(stacked, 24.0));
    assert_eq!(
        (of(&pyramid, Stage::Stack).at.as_slice(), pyramid.bottleneck),
        (&["md0".to_owned()][..], Some(Stage::Device))
    );
    assert_eq!(figures(&pyramid, Stage::Stack), (None, Some(24.0)));
}

#[test]
fn without_requests_that_reached_a_storage_there_is_no_pyramid() {
    let mut run = Run::default();
    run.add(buffered(write(64)), &around(1e9));
    run.add(Workload { rate: Some("1MB/s".parse().unwrap()), ..read(64) }, &around(1e6));
    assert!(pyramids(&run, None).is_empty());
    let nothing = one(TargetFacts::bare("null:", TargetKind::Null, Bytes(0)), 1.0);
    assert!(pyramids(&nothing, None).is_empty());
}

#[test]
fn the_half_power_size_is_that_of_the_finding() {
    let mut run = Run::default();
    for (kib, megabytes) in [(4, 4.0), (64, 16.0), (1024, 24.0)] {
        run.add(read(kib), &around(megabytes * MB / 2.0));
        run.add(deep(8, read(kib)), &around(megabytes * MB));
    }
    let analysis = crate::analyse(&run.observed());
    // That of one deep has the best cell as its reference.
    let halves: Vec<&Finding> = analysis.findings.iter().filter(|it| it.code == FindingCode::HalfPower).collect();
    assert_eq!(halves.len(), 2);
    let finding = halves.iter().find(|finding| finding.subject == "sequential read, QD8, direct").unwrap();
    let half_power = analysis.pyramids[0].half_power.as_ref().unwrap();
    assert_eq!((&half_power.subject, &half_power.brief), (&finding.subject, &finding.brief));
    run.advertise(24.0 * MB);
    let pyramid = only(&run);
    assert_eq!((pyramid.bottleneck, figures(&pyramid, Stage::Device).0), (Some(Stage::Device), Some(24.0)));
}
