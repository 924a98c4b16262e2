use super::describe::spoken;
use super::*;
use crate::fixtures;
use crate::study::Study;
use halfpower_model::{
    Buffering, Bytes, BytesPerSecond, CachePolicy, Channel, Durability, Environment, Level, LevelName, Nanoseconds,
    Operation, Pattern, Personality, TargetKind, Workload, WorkloadSpec,
};
use proptest::prelude::*;

fn environment(size: Bytes) -> Environment {
    fixtures::host(fixtures::file(size), Vec::new())
}

fn survey(name: &str) -> (Study, Plan) {
    let study = Study::builtin(name).unwrap();
    let size = study.test_file.unwrap();
    let overrides = Overrides { test_file: Some(size), ..Overrides::default() };
    let plan = Plan::make(&study, &overrides, &environment(size)).unwrap();
    (study, plan)
}

fn study(sweep: &str) -> Study {
    Study::parse("x.toml", &format!("name = \"x\"\n[trial]\nduration = \"100ms\"\n[[sweep]]\nname = \"s\"\n{sweep}\n"))
        .unwrap()
}

/// A plan on a file of a GiB.
fn planned(study: &Study, overrides: &Overrides) -> Plan {
    Plan::make(study, overrides, &environment(Bytes(1 << 30))).unwrap()
}

fn workloads(plan: &Plan) -> impl Iterator<Item = &Workload> {
    plan.cells.iter().map(|cell| &cell.workload)
}

#[test]
fn every_built_in_study_plans_in_its_time_and_budget() {
    // How long the study of several targets takes depends on how many there are; the papers' have no limit.
    let timed = |study: &Study| study.trial.time_limit.is_some() && study.name != "targets";
    let surveys: Vec<_> = Study::builtins().filter(timed).collect();
    assert!(surveys.len() >= 4, "{}", surveys.len());
    for study in surveys {
        let (_, plan) = survey(&study.name);
        assert!(plan.skipped.is_empty(), "{:?}", plan.skipped);
        assert_eq!(plan.cells.len(), study.cells());
        let limit = study.trial.time_limit.unwrap();
        let expected = plan.expected_duration().unwrap();
        let share = expected.seconds() / limit.seconds();
        // The thorough one goes on until its figures are precise.
        let least = if study.name == "survey-thorough" { 0.25 } else { 0.75 };
        assert!((least..=0.87).contains(&share), "{}: {share} of its time without extra repetitions", study.name);
        assert!(plan.longest_duration().unwrap().0 < limit.0 + 1_000_000_000);
        assert!(plan.bytes_written_at_most() <= study.trial.write_budget.unwrap());
        for workload in workloads(&plan).filter(|workload| workload.operation.writes()) {
            let bytes = workload.limits.bytes.unwrap();
            assert!(bytes.0 >= workload.request_size.0 * u64::from(workload.depth) * 4, "{workload}: {bytes}");
        }
    }
    assert!(survey("survey").1.longest_duration().unwrap().seconds() < 100.0);
}

#[test]
fn the_survey_measures_what_it_is_for() {
    let (_, plan) = survey("survey");
    let count = |test: fn(&&Workload) -> bool| workloads(&plan).filter(test).count();
    assert_eq!(count(|workload| workload.buffering == Buffering::Direct && workload.depth == 8), 21);
    assert_eq!(count(|w| w.cache == CachePolicy::Cold && w.operation == Operation::Read), 10);
    // All that is buffered starts from the same state of the cache.
    assert_eq!(count(|w| w.buffering == Buffering::Buffered && w.cache != CachePolicy::Cold), 0);
    assert_eq!(count(|workload| workload.durability == Durability::FlushAtEnd), 10);
    assert_eq!(plan.cells.len(), 82);
    // Cold sequential reads never come around.
    for workload in workloads(&plan).filter(|w| w.cache == CachePolicy::Cold && w.operation == Operation::Read) {
        let sequential = workload.pattern == Pattern::Sequential;
        assert_eq!(workload.limits.bytes, sequential.then_some(workload.span));
        assert_eq!(workload.warmup.0 == 0, sequential);
    }
    insta::assert_snapshot!(plan.describe());
    insta::assert_snapshot!("survey_quick_table", survey("survey-quick").1.table());
}

#[test]
fn what_a_control_group_holds_back_is_measured_for_longer() {
    let limited = |name| {
        let mut environment = environment(Bytes::GIB);
        let channel = Channel {
            at: "sda".to_owned(),
            through: None,
            pap_bytes_per_s: Some(BytesPerSecond(20e6)),
            source: "control group blkio:/slow".to_owned(),
        };
        environment.target.levels = vec![Level::of(name, [channel])];
        Plan::make(&Study::builtin("survey-quick").unwrap(), &Overrides::default(), &environment).unwrap()
    };
    let reads = limited(LevelName::ReadLimit);
    for workload in workloads(&reads) {
        let (duration, warmup) = (workload.limits.duration.unwrap().0 / 1_000_000, workload.warmup.0 / 1_000_000);
        let is_mixed = matches!(workload.operation, Operation::Mix(_));
        match (workload.operation, workload.reads_a_cold_cache_in_order()) {
            // What is written has no warm-up.
            _ if is_mixed => assert_eq!((duration, warmup), (1500, 0), "{workload}"),
            (Operation::Read, false) => assert_eq!((duration, warmup), (1500, 250), "{workload}"),
            (Operation::Read, true) => assert_eq!((duration, warmup), (1500, 0), "{workload}"),
            _ => assert_eq!((duration, warmup), (80, 0), "{workload}"),
        }
    }
    let text = reads.describe();
    assert!(text.contains("Trials of reads last 1.5 s: control group blkio:/slow throttles them"), "{text}");
    assert!(limited(LevelName::WriteLimit).describe().contains("Trials of writes last 1.5 s"));
    assert_eq!(limited(LevelName::Bus).lengthened, None);
}

/// The flush would include data that the warm-up left in a cache.
#[test]
fn writes_with_a_limit_in_bytes_have_no_warm_up_on_simulated_machines_either() {
    let mut environment = environment(Bytes::GIB);
    environment.target.kind = TargetKind::Simulated;
    let plan = Plan::make(&Study::builtin("survey-quick").unwrap(), &Overrides::default(), &environment).unwrap();
    let is_limited = |workload: &Workload| workload.operation.writes() && workload.limits.bytes.is_some();
    let (limited, others): (Vec<_>, Vec<_>) = workloads(&plan).partition(|workload| is_limited(workload));
    assert!(!limited.is_empty() && limited.iter().all(|workload| workload.warmup.0 == 0));
    assert!(others.iter().any(|workload| workload.warmup.0 > 0), "as the study says");
}

#[test]
fn a_cache_that_stays_full_leaves_cold_cells_out() {
    let study = study("buffering = [\"direct\", \"buffered\"]\ncache = [\"keep\", \"cold\"]");
    let stays = Overrides { no_cold_cache: Some("it stays".to_owned()), ..Overrides::default() };
    let plan = planned(&study, &stays);
    assert_eq!((plan.cells.len(), plan.skipped[0].cells), (3, 1));
    assert_eq!(plan.skipped[0].reason, "it stays");
    assert!(!workloads(&plan).any(|w| w.cache == CachePolicy::Cold && w.buffering == Buffering::Buffered));
}

#[test]
fn a_slow_disk_gets_less_to_flush() {
    let (_, mut plan) = survey("survey");
    let before = plan.clone();
    assert_eq!(plan.fit_to(2e9), None, "64 MiB are flushed in time");
    assert_eq!(plan, before);
    // 20 MB/s for 0.2 s are 4 MB; 1 MiB requests in whole rounds, four at least.
    assert_eq!(plan.fit_to(20e6), Some(Bytes(4 << 20)));
    for (now, then) in plan.cells.iter().zip(&before.cells) {
        let (now, then) = (&now.workload, &then.workload);
        let flushed = now.operation.writes() && now.buffering == Buffering::Buffered;
        assert_eq!(flushed, now.limits != then.limits, "{now}");
        assert!(!flushed || now.limits.bytes.unwrap().0.is_multiple_of(now.request_size.0));
    }
}

#[test]
fn a_stored_plan_replays() {
    let (_, plan) = survey("survey-quick");
    let json = serde_json::to_string(&plan).unwrap();
    let again: Plan = serde_json::from_str(&json).unwrap();
    assert_eq!(plan, again);
    for block in 0..20 {
        assert_eq!(plan.order_of_block(block), again.order_of_block(block));
        assert_eq!(plan.workload(3, block), again.workload(3, block));
    }
    let mut order = plan.order_of_block(7);
    order.sort_unstable();
    assert_eq!(order, (0..plan.cells.len()).collect::<Vec<_>>(), "every cell once");
    assert_ne!(plan.order_of_block(0), plan.order_of_block(1));
    assert_ne!(plan.workload(3, 0).seed, plan.workload(3, 1).seed);
    assert_ne!(plan.workload(3, 0).seed, plan.workload(4, 0).seed);
}

#[test]
fn what_cannot_be_done_here_is_left_out_with_the_reason() {
    let mut environment = environment(Bytes(1 << 30));
    environment.target.direct_alignment_bytes = Some(Bytes(4096));
    let study = study(
        "buffering = [\"direct\", \"buffered\"]\nrequest_size = [512, 1024, 4096]\noperation = [\"read\", \"write\"]",
    );
    let plan = Plan::make(&study, &Overrides::default(), &environment).unwrap();
    assert_eq!((plan.cells.len(), plan.skipped.len()), (8, 2));
    assert!(plan.skipped.iter().all(|skipped| skipped.cells == 2 && skipped.reason.contains("multiples of 4 KiB")));
    assert!(plan.describe().contains("Left out: 4 workloads"), "{}", plan.describe());
    let readonly = Overrides { no_writes: Some("--no-writes".to_owned()), ..Overrides::default() };
    let plan = Plan::make(&study, &readonly, &environment).unwrap();
    assert!(workloads(&plan).all(|workload| workload.operation == Operation::Read));
    assert!(plan.describe().contains("writes nothing"), "{}", plan.describe());
    environment.target.size_bytes = Bytes(0);
    let message = Plan::make(&study, &Overrides::default(), &environment).unwrap_err().to_string();
    assert!(
        message.starts_with("nothing of the study x can be measured on /data/test: /data/test is empty"),
        "{message}"
    );
}

#[test]
fn cells_that_come_to_the_same_are_run_once_and_left_out_once() {
    let study = study("personality = [\"auto\", \"io_uring\"]\nbuffering = \"direct\"");
    let plan = planned(&study, &Overrides::default());
    assert_eq!((plan.cells.len(), plan.skipped[0].reason.as_str()), (1, "here it is the same as workload 0"));
    let workload = WorkloadSpec { personality: Some(Personality::Sync), ..WorkloadSpec::default() };
    let plan = planned(&study, &Overrides { workload, seed: Some(9), ..Overrides::default() });
    assert_eq!((plan.cells[0].workload.personality, plan.seed), (Personality::Sync, 9));
    // Of several figures.
    let text =
        "name = \"x\"\nfigure = \"Figure 1\"\n[trial]\nduration = \"1s\"\n[[sweep]]\nsize = [\"2GiB\", \"1MiB\"]\n";
    let study = Study::parse("x.toml", text).unwrap();
    let plan = planned(&study.clone().and(study), &Overrides::default());
    assert_eq!((plan.cells.len(), plan.skipped.len(), plan.skipped[0].cells), (1, 1, 1));
}

#[test]
fn a_budget_too_small_says_what_it_takes() {
    let study = study("operation = \"write\"\nrequest_size = \"1MiB\"\nbuffering = \"direct\"");
    let budget = |mib: u64| Overrides {
        write_budget: Some(Bytes(mib << 20)),
        test_file: Some(Bytes(64 << 20)),
        ..Overrides::default()
    };
    let message = Plan::make(&study, &budget(83), &environment(Bytes(64 << 20))).unwrap_err().to_string();
    assert!(message.contains("at least 84 MiB") && message.contains("--no-writes"), "{message}");
    let plan = Plan::make(&study, &budget(84), &environment(Bytes(64 << 20))).unwrap();
    assert_eq!(plan.cells[0].workload.limits.bytes, Some(Bytes(4 << 20)));
    assert!(plan.affords(Bytes(80 << 20), 0) && !plan.affords(Bytes(81 << 20), 0));
}

#[test]
fn durations_are_said_as_people_say_them() {
    let said = [40, 60, 145, 3600, 11_100].map(|seconds| spoken(Nanoseconds(seconds * 1_000_000_000)));
    assert_eq!(said, ["40 s", "1 min", "2 min 25 s", "1 h", "3 h 5 min"]);
    let endless = Study::parse("x.toml", "name = \"x\"\n[[sweep]]\nrequests = 100").unwrap();
    let plan = planned(&endless, &Overrides::default());
    assert_eq!(plan.expected_duration(), None);
    assert!(plan.describe().contains("for as long as it takes"), "{}", plan.describe());
}

proptest! {
    #[test]
    fn the_least_repetitions_keep_to_any_budget(budget in 0_u64..1 << 36, fill_mib in 0_u64..2048, name in 0_usize..3) {
        let study = Study::builtins().nth(name).unwrap();
        let overrides = Overrides {
            write_budget: Some(Bytes(budget)),
            test_file: Some(Bytes(fill_mib << 20)),
            ..Overrides::default()
        };
        match Plan::make(&study, &overrides, &environment(Bytes(1 << 31))) {
            Err(error) => {
                prop_assert!(matches!(error, PlanError::Budget(_)), "{}", error);
            }
            Ok(plan) => {
                let block: u64 = plan.cells.iter().map(|cell| plan.bytes_written_by(&cell.workload).0).sum();
                let worst = block * u64::from(plan.repetitions.min) + (fill_mib << 20);
                prop_assert!(worst <= budget, "{worst} of {budget}");
                prop_assert!(plan.bytes_written_at_most().0 <= budget);
            }
        }
    }
}

#[test]
fn workloads_that_differ_in_settings_alone_begin_at_the_same_place() {
    let sweep = "request_size = [\"4KiB\", \"8KiB\"]\nset = [\"disks=1\", \"disks=2\", \"disks=4,pci.rate=533MB/s\"]";
    let mut machine = environment(Bytes::GIB);
    machine.target.kind = TargetKind::Simulated;
    let plan = Plan::make(&study(sweep), &Overrides::default(), &machine).unwrap();
    let seeds = |block| plan.cells.iter().map(|cell| plan.workload(cell.index, block).seed).collect::<Vec<_>>();
    let [first, second] = [seeds(0), seeds(1)];
    for (index, cell) in plan.cells.iter().enumerate() {
        let like = plan.cells.iter().position(|other| other.workload.request_size == cell.workload.request_size);
        assert_eq!((first[index], second[index]), (first[like.unwrap()], second[like.unwrap()]));
    }
    let all: std::collections::HashSet<u64> = first.into_iter().chain(second).collect();
    assert_eq!(all.len(), 4, "each size and each block draws anew");
}

#[test]
fn rows_of_a_plan_show_every_difference() {
    let text = "name = \"alike\"\n[[sweep]]\nname = \"a\"\ndepth = 4\nworkers = 2\nsubmit_batch = [1, 4]\n\
                sharing = [\"parts\", \"whole\"]\nalign = [\"64KiB\", \"128KiB\"]\ninterval = [\"10ms\", \"1s\"]\n";
    let study = Study::parse("alike.toml", text).unwrap();
    let plan = planned(&study, &Overrides::default());
    let names: std::collections::HashSet<String> = plan.names(&[]).into_iter().collect();
    assert_eq!((plan.cells.len(), names.len()), (16, 16), "{names:?}");
    assert!(plan.table().contains("sharing whole, submit_batch 4, align 128 KiB, interval 10 ms"), "{}", plan.table());
}

#[test]
fn a_workload_is_planned_on_each_target_alone_and_on_more_and_more_of_them() {
    let study = study("among = [\"each\", \"growing\"]\nrequest_size = [\"4KiB\", \"8KiB\"]\nrequests = 10");
    let mut environment = environment(Bytes(1 << 30));
    let targets = |environment: &Environment| {
        let plan = Plan::make(&study, &Overrides::default(), environment).unwrap();
        assert!(plan.skipped.is_empty(), "{:?}", plan.skipped);
        plan.cells.iter().map(|cell| (cell.workload.among.to_string(), cell.workload.targets)).collect::<Vec<_>>()
    };
    assert_eq!(targets(&environment), [("all".to_owned(), 1), ("all".to_owned(), 1)], "one target is all there is");
    environment.more_targets = vec![environment.target.clone(), environment.target.clone()];
    let each = [("only=1", 1), ("only=2", 1), ("only=3", 1)];
    // The first alone is there already.
    let growing = [("first=2", 2), ("all", 3)];
    // Once for each size.
    let expected = each.iter().chain(&each).chain(&growing).chain(&growing);
    let expected: Vec<(String, u32)> = expected.map(|(among, targets)| ((*among).to_owned(), *targets)).collect();
    assert_eq!(targets(&environment), expected);
}

#[test]
fn arms_take_turns_in_an_order_drawn_for_each_block() {
    let study = study("request_size = [\"4KiB\", \"8KiB\", \"16KiB\"]\nrequests = 10");
    let plan = || planned(&study, &Overrides::default());
    let arms = ["/a", "/b"].map(|target| Arm { target: target.to_owned(), before: None });
    let both = plan().with_arms(plan(), arms.clone()).unwrap();
    let firsts = (0..20).map(|block| {
        let order = both.order_of_block(block);
        let (one, other) = order.split_at(3);
        let of = |part: &[usize]| part.iter().map(|cell| both.arm_of(*cell)).collect::<Vec<_>>();
        assert_eq!(of(one), vec![1 - of(other)[0]; 3], "one arm wholly, then the other");
        assert!(one.iter().zip(other).all(|(one, other)| one % 3 == other % 3), "{order:?}");
        for cell in 0..3 {
            assert_eq!(both.workload(cell, block), both.workload(cell + 3, block), "the same requests");
        }
        of(one)[0]
    });
    assert!((5..=15).contains(&firsts.sum::<usize>()));
    let with = |cells: Vec<Cell>| plan().with_arms(Plan { cells, ..plan() }, arms.clone());
    // What only one can run is left out; the first here has another place, and so another seed, than in A.
    let last = plan().cells.into_iter().skip(1).map(|mut cell| {
        cell.workload.seed += 1;
        cell.workload.limits.requests = Some(7);
        cell
    });
    let common = with(last.collect()).unwrap();
    assert_eq!((common.cells.len(), common.skipped[0].cells), (4, 1));
    assert_eq!(common.workload(0, 0), common.workload(2, 0), "the same requests");
    assert_eq!((common.workload(0, 0).request_size, common.workload(0, 0).limits.requests), (Bytes(8 << 10), Some(7)));
    assert!(with(Vec::new()).is_err());
}
