use super::*;
use crate::words::settled;
use std::fmt::{Debug, Display};
use std::str::FromStr;

/// Good texts read back as they are; bad ones say what is valid.
fn check<T: FromStr<Err: Debug + Display> + Display>(good: &[&str], bad: &[&str], valid: &str) {
    for text in good {
        assert_eq!(text.parse::<T>().unwrap().to_string(), *text);
    }
    for text in bad {
        let message = text.parse::<T>().map(|_| ()).map_err(|error| error.to_string());
        assert!(message.is_err_and(|message| message.contains(valid)), "{text}");
    }
}

#[test]
fn texts_read_back_and_others_say_what_is_valid() {
    check::<Buffering>(Buffering::WORDS, &["buffed", "Direct", ""], "buffered, direct, through, none");
    check::<Personality>(Personality::WORDS, &["ring", "Sync", ""], "sync, vectored, mmap, libaio, io_uring");
    check::<Layout>(
        &["each", "stripe=64KiB", "mirror=round_robin", "mirror=nearest"],
        &["stripe", "stripe=0", "mirror=both", "mirror=", "raid5", "each=2"],
        "mirror=nearest",
    );
    check::<Among>(Among::EXAMPLES, &["only=0", "first"], "first=NUMBER");
    check::<RwFlags>(&RwFlags::EXAMPLES, &["", "sync", "hipri,", "none,hipri"], "dontcache");
    check::<Operation>(
        &["read", "write", "trim", "flush", "mix=70", "mix=read:60,write:30,trim:9,flush:1", "mix=write:50,trim:50"],
        &["mix", "mix=0", "mix=100", "mix=x", "Read", "", "mix=read:50", "mix=read:50,read:50", "mix=read:101"],
        "mix=PERCENT",
    );
    check::<Sizes>(
        &["4KiB:70/64KiB:30", "read=4KiB:1,write=512:2/1MiB:1", "512:1"],
        &["", "4KiB:0", "0:1", "read=", "flush=4KiB", "4KiB:70,64KiB:30", "4KiB:2000"],
        "like 4KiB:70/64KiB:30",
    );
    check::<Pattern>(&Pattern::EXAMPLES, &["", "zipf", "random=3"], "zipf=THETA, pareto=SHARE");
    check::<Pattern>(
        &["zipf=0.001", "zipf=10"],
        &["zipf=0", "zipf=.", "zipf=1.2345", "zipf=-1"],
        "zipf=0.001 to zipf=10",
    );
    check::<Pattern>(&["pareto=0.5"], &["pareto=2", "pareto=0.6"], "pareto=0.001 to pareto=0.5");
    check::<Pattern>(&["normal=1"], &["normal=0"], "normal=0.001 to normal=1");
    check::<Pattern>(&["hot_cold=99/99"], &["hot-cold=0/5", "hot_cold=100/20"], "hot_cold=1/1 to hot_cold=99/99");
    check::<NamedPersonality>(
        &["sync", "io_uring", "plugin:./own.so", "plugin:/lib/own.so,a=1,b=2", "plugin:a/b,c/d"],
        &["plugin", "plugin:", "plugin:own.so", "plugin:own.so,./a", "plugin:./", "plugin:./a\0b", "own.so"],
        "plugin:FILE",
    );
    check::<RingOptions>(
        &["default", "sqpoll,iopoll", "no-registered_files,no_sqarray"],
        &["", "polling", "no-", "sqpoll,,iopoll", "no-default", "default,sqpoll"],
        "registered_ring, sqpoll, iopoll",
    );
    check::<Settings>(
        &["disks=4", "pci.rate=533MB/s,disks=4", "atlas-10k.seek=[[1, 1.2], [9, 3]],cpu.count=1"],
        &["", "disks", "=4", "disks=", "a b=3", "a=\0"],
        "KEY=VALUE",
    );
    check::<Durability>(&Durability::EXAMPLES, &["fsync", "fsync=0", "sync", ""], "fsync=WRITES");
    check::<Rate>(&["7/s", "100MB/s", "1048576B/s"], &["0", "", "fast", "0MB/s", "-1"], "like 50000/s");
    check::<Think>(&["1ms", "500us/8", "2s"], &["0", "", "1ms/0", "0s/2", "1ms/x"], "like 1ms or 1ms/8");
    let longest = format!("pattern={}", "5a".repeat(64));
    check::<Data>(
        &["incompressible", "compressible=35", "duplicate=40", "zeros", "pattern=c0ffee", "pattern=00", &longest],
        &[
            "",
            "zeros=1",
            "compressible",
            "compressible=101",
            "duplicate=-1",
            "pattern=",
            "pattern=abc",
            "pattern=+1",
            "pattern=ää",
        ],
        "1 to 64 bytes",
    );
    check::<Data>(&[], &[&(longest + "5a")], "1 to 64 bytes");
    for bad in ["", "a", "3-1", "0,", "0-99999999"] {
        assert!(bad.parse::<CpuList>().is_err(), "{bad}");
    }
    assert_eq!("0,2-4".parse(), Ok(CpuList(vec![0, 2, 3, 4])));
}

#[test]
fn other_spellings_are_understood() {
    fn same<T: FromStr<Err: Debug> + Display>(said: &str, text: &str) {
        assert_eq!(said.parse::<T>().unwrap().to_string(), text);
    }
    same::<Personality>("io-uring", "io_uring");
    same::<Layout>("mirror", "mirror=round_robin");
    same::<RwFlags>("dontcache, nowait", "nowait,dontcache");
    same::<Operation>("mix=read:70,write:30", "mix=70");
    same::<Pattern>("hot-cold=90%/10%", "hot_cold=90/10");
    same::<Pattern>("zoned=50/5:30/15:20/", "zoned=50/5:30/15:20/80");
    for wrong in ["zoned=50/50", "zoned=", "zoned=50/5:60/95", "zoned=50/5:50/96", "zoned=100/100:0/0"] {
        assert!(wrong.parse::<Pattern>().unwrap_err().to_string().contains("add up to 100"), "{wrong}");
    }
    same::<Durability>("flush-at-end", "flush_at_end");
    same::<Rate>("50000", "50000/s");
    same::<Data>("compressible=50%", "compressible=50");
    same::<Data>("pattern=0xC0", "pattern=c0");
    same::<RingOptions>(
        "sqpoll, no-registered-files,-defer_taskrun,no_iopoll,no-sqarray",
        "no-registered_files,no-defer_taskrun,no_sqarray,sqpoll,no-iopoll",
    );
    same::<RingOptions>("sqpoll,no-sqpoll,-no_sqarray", "no-no_sqarray,no-sqpoll");
    let words = ["nowait", "io_uring", "no_sqarray"];
    for (said, word) in
        [("no-wait", "nowait"), ("no_wait", "nowait"), ("iouring", "io_uring"), ("no-sqarray", "no_sqarray")]
    {
        assert_eq!(settled(said, &words), word);
    }
    for none in ["", "-", "-nowait", "_io_uring", "nowait-", "Nowait", "no wait", "uring"] {
        assert_eq!(settled(none, &words), none);
    }
}

#[test]
fn parts_are_what_was_said() {
    let mix: Operation = "mix=read:60,write:30,trim:10".parse().unwrap();
    assert_eq!((mix.percent(RequestKind::Trim), mix.only(), mix.destroys()), (10, None, true));
    let both: Sizes = "4KiB:70/64KiB:30".parse().unwrap();
    assert_eq!(both.of(RequestKind::Write), [(Bytes(4096), 70), (Bytes(65_536), 30)]);
    let plugin: Plugin = "./own.so,a=1,b".parse().unwrap();
    assert_eq!((plugin.file.as_str(), plugin.options.as_str()), ("./own.so", "a=1,b"));
    assert_eq!(serde_json::to_string(&plugin).unwrap(), "\"./own.so,a=1,b\"");
    let wish = RingOptions::default().with(RingOption::Sqpoll, Wish::Declined);
    assert_eq!((wish.wish(RingOption::Sqpoll), wish.wish(RingOption::Iopoll)), (Wish::Declined, Wish::Default));
    assert_eq!(wish.with(RingOption::Sqpoll, Wish::Default), RingOptions::default());
    let two: Settings = "a.b=[1, 2],c=3".parse().unwrap();
    assert_eq!(two.0, [("a.b".to_owned(), "[1, 2]".to_owned()), ("c".to_owned(), "3".to_owned())]);
    assert_eq!(two.only("c").to_string(), "c=3");
    assert_eq!(two.and(&"a.b=7,d=4".parse().unwrap()).to_string(), "c=3,a.b=7,d=4", "what is laid over counts");
    assert_eq!(Among::Each.expand(2), [Among::Only(1), Among::Only(2)]);
    assert_eq!((Among::First(2).range(3), Among::Only(3).range(3)), (Some(0..2), Some(2..3)));
    assert_eq!((Among::Only(4).range(3), Among::Only(0).range(3), Among::Growing.range(3)), (None, None, None));
    let part = |layout: &str, volume, targets| layout.parse::<Layout>().unwrap().part(Bytes(volume), targets).0;
    assert_eq!(part("stripe=64KiB", (3 << 20) + 1, 3), (1 << 20) + (64 << 10), "whole chunks");
    assert_eq!(["stripe=64KiB", "mirror", "each"].map(|layout| part(layout, 3 << 20, 3)), [1 << 20, 3 << 20, 3 << 20]);
}

#[test]
fn batches_are_a_number_or_auto_in_records_of_any_age() {
    check::<SubmitBatch>(&["auto", "1", "32"], &["Auto", "", "-1", "1.5"], "");
    for (batch, text) in [(SubmitBatch::Auto, "\"auto\""), (SubmitBatch::Requests(32), "32")] {
        let workload = Workload { submit_batch: batch, ..Workload::default() };
        let record = serde_json::to_string(&workload).unwrap();
        assert!(record.contains(&format!("\"submit_batch\":{text},")), "{record}");
        assert_eq!(serde_json::from_str::<Workload>(&record).unwrap(), workload);
    }
    assert!(serde_json::from_str::<SubmitBatch>("\"many\"").is_err());
}

#[test]
fn every_kind_that_is_there_is_in_the_mix() {
    let mix = |requests| Operation::of_counts(requests).to_string();
    assert_eq!(mix([1_000_000, 1, 0, 0]), "mix=99");
    assert_eq!(mix([0, 5, 0, 0]), "write");
    assert_eq!(mix([1, 1, 1, 1_000_000]), "mix=read:1,write:1,trim:1,flush:97");
    assert_eq!(mix([70, 30, 0, 0]), "mix=70");
    assert_eq!(mix([1, 1, 1, 0]), "mix=read:33,write:33,trim:34");
}
