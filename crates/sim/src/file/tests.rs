//! What is refused of machine files and settings, and how that is told.

use super::*;
use crate::flash::{Erase, FastArea, Heat, ReadAhead, Trim};
use crate::machine::{PageCache, Parallel};
use crate::shipped::{machine_text, testbed};
use crate::testbed::Simulated;

/// A shipped machine with one of its keys changed: what is said of it when a volume is made.
fn told(machine: &str, volume: &str, from: &str, to: &str) -> String {
    let text = machine_text(machine).unwrap();
    assert!(text.contains(from), "{from}");
    let made = MachineFile::parse(machine, &text.replace(from, to)).and_then(|file| file.with_volume(volume));
    match made {
        Err(error) => error.to_string(),
        Ok(_) => panic!("nothing is wrong with {to}"),
    }
}

/// A shipped machine with settings: what is said of it.
fn told_of(settings: &str) -> String {
    let text = machine_text("win2k-pentium3").unwrap();
    let settings = settings.parse().unwrap();
    match Simulated::of_file("win2k-pentium3", text, "atlas-4", &settings) {
        Err(error) => error.to_string(),
        Ok(_) => panic!("nothing is wrong with {settings}"),
    }
}

#[test]
fn a_setting_is_of_the_volume_s_way_or_refused_where_machines_are_compared() {
    let refused = |name: &str, volume: &str, settings: &str| {
        let text = machine_text(name).unwrap();
        let made = Simulated::of_file(name, text, volume, &settings.parse().unwrap()).unwrap();
        Simulated::reject_ineffective([&made]).err().map(|error| error.to_string())
    };
    let of_use = [
        ("win2k-pentium3", "atlas-4", "disks=2,atlas-10k.rpm=9000,pci.rate=1GB/s,drive.atlas-10k.segments=4"),
        ("win2k-pentium3", "atlas-4", "cpu.count=1,system.completion-share=0.4,volume.atlas-4.disks=3"),
        ("win2k-pentium2", "barracuda-uw-dynamic", "other-system.dynamic.completion-share=0.4,aha-2940uw.request=1us"),
        ("cloud-gp3", "small-instance", "m6i-large.requests=900"),
    ];
    for (name, volume, settings) in of_use {
        assert_eq!(refused(name, volume, settings), None, "{settings}");
    }
    let wrong = refused("win2k-pentium3", "atlas-4", "disks=2,fireball-lct08.rpm=7200").unwrap();
    let expected = "machine win2k-pentium3 with fireball-lct08.rpm=7200: `drive.fireball-lct08.rpm` is 7200: drive.fireball-lct08 is not \
                    on the I/O path of atlas-4, so it would have no effect; set a key of volume.atlas-4, drive.atlas-10k, bus.scsi, \
                    controller.aic-7899, bus.pci, cpu, system, or use a volume that has it: 3ware-5400-burst, 3ware-6800-burst or ";
    assert!(wrong.starts_with(expected), "{wrong}");
    let wrong = refused("win2k-pentium2", "barracuda-uw-dynamic", "system.completion-share=0.4").unwrap();
    assert!(wrong.contains(": system is not on the I/O path of barracuda-uw-dynamic, "), "{wrong}");
    assert!(wrong.ends_with(", cpu, other-system.dynamic, or use a volume that has it: barracuda-uw"), "{wrong}");
    // One of several volumes has it.
    let text = machine_text("win2k-pentium3").unwrap();
    let made = |volume: &str, settings: &str| {
        Simulated::of_file("win2k-pentium3", text, volume, &settings.parse().unwrap()).unwrap()
    };
    let [atlas, fireball] = ["atlas-1", "fireball-dma"].map(|volume| made(volume, "fireball-lct08.rpm=7200"));
    assert!(Simulated::reject_ineffective([&atlas, &fireball]).is_ok());
    assert!(Simulated::reject_ineffective([&atlas, &made("fireball-dma", "disks=2")]).is_err());
}

/// A target, what is replaced in its file by what, the key of the error, and what it says.
type Row<'a> = (&'a str, &'a str, &'a str, &'a str, &'a str);

/// `file::laws` holds that all have line and column.
fn refused(rows: &[Row<'_>]) {
    for (target, from, to, key, said) in rows {
        let (machine, volume) = target.split_once(':').unwrap();
        let message = told(machine, volume, from, to);
        assert!(message.contains(&format!(": `{key}`")) && message.contains(said), "{to}: {message}");
        assert!(message.chars().count() < 300 && !message.contains('\n'), "{message}");
    }
}

const HDD: &str = "hdd-18tb:disk";
const PATH: &str = "path = [\"sata\", \"ahci\", \"dmi\"]";

/// Of each kind of value one.
#[test]
fn a_value_that_no_machine_can_have_is_refused_at_its_key() {
    let (hdd, path) = (HDD, PATH);
    let write_cache = "write-cache = { size = \"64MiB\", extents = 1024 }";
    let blocks = "a size like \"64KiB\" from 0 B to 1 GiB, in multiples of 512 B";
    refused(&[
        (hdd, "segments = 16", "segments = 4000000000", "drive.exos-x18.segments", "a whole number from 0 to 4096"),
        (hdd, "count = 8", "count = 0", "cpu.count", "a whole number from 1 to 4096"),
        (hdd, "count = 8", "count = 8.0", "cpu.count", "a whole number from 1 to 4096"),
        (hdd, "segment = \"8MiB\"", "segment = \"300B\"", "drive.exos-x18.segment", blocks),
        (hdd, "segment = \"8MiB\"", "segment = \"2GiB\"", "drive.exos-x18.segment", blocks),
        (hdd, "split = \"1280KiB\"", "split = \"100\"", "system.split", "512 B to 1 GiB, in multiples"),
        (hdd, "scan = \"5s\"", "scan = \"0s\"", "system.cache.scan", "a time like \"250us\" from 10 ms to 60 min"),
        (hdd, "fixed = \"369ns\"", "fixed = \"49ns\"", "system.cache.read.fixed", "at least 50 ns"),
        (hdd, "rpm = 7200", "rpm = 1e300", "drive.exos-x18.rpm", "a number from 60 to 100000"),
        (hdd, "rpm = 7200", "rpm = nan", "drive.exos-x18.rpm", "a number from 60 to 100000"),
        (hdd, "rpm = 7200", "rpm = \"7200\"", "drive.exos-x18.rpm", "a number from 60 to 100000"),
        (hdd, "rpm = 7200", "rpm = [7200]", "drive.exos-x18.rpm", "a number from 60 to 100000"),
        (hdd, "extents = 1024", "extents = 0", "drive.exos-x18.write-cache.extents", "a whole number from 1 to 16384"),
        (
            hdd,
            "scheduler = \"sptf\"",
            "scheduler = \"sp\"",
            "drive.exos-x18.scheduler",
            "one of fcfs, c-look, sstf, sptf",
        ),
        (hdd, "bytes = \"through\"", "bytes = true", "controller.ahci.bytes", "one of through, stored"),
        (hdd, "rate = \"600MB/s\"", "rate = \"-6MB/s\"", "bus.sata.rate", "\"600MB/s\" from 1 kB/s to 1000000 GB/s"),
        (hdd, "each-disk = true", "each-disk = 1", "bus.sata.each-disk", "true or false"),
        (hdd, write_cache, "write-cache = 5", "drive.exos-x18.write-cache", "a table"),
        (hdd, "[0, 4936, 611, 611, 0]", "[0, 4832, 480, 480]", "drive.exos-x18.zones", "a list of 5"),
        (hdd, path, "path = [\"sata\", \"sata\", \"dmi\"]", "volume.disk.path", "to name each part once"),
        (hdd, path, "path = []", "volume.disk.path", "a list of 1 to 16"),
        (hdd, path, "path = [\"pci\"]", "volume.disk.path", "there is no bus or controller \"pci\""),
        (hdd, "drive = \"exos-x18\"", "drive = \"exos\"", "volume.disk.drive", "there is no drive \"exos\""),
    ]);
}

/// Each contradiction.
#[test]
fn values_that_exclude_each_other_are_refused_at_a_key() {
    let (hdd, nvme, atlas, path) = (HDD, "nvme-gen4:steady", "win2k-pentium3:atlas-2", PATH);
    let seek_times = "seek-times = { track-to-track = \"0.23ms\", average = \"7.4ms\", full = \"16ms\" }";
    let (last_zone, short) = ("[501185, 2368, 293, 293, 44880]", "the shortest track of zones, 3.5 KiB");
    let buffer = machine_text("nvme-gen4").unwrap().lines().find(|line| line.starts_with("buffer = ")).unwrap();
    let (zones, seek) = ("drive.atlas-10k.zones", "drive.atlas-10k.seek");
    refused(&[
        (hdd, "average = \"7.4ms\"", "average = \"74ms\"", "drive.exos-x18.seek-times", "it has to be from "),
        (hdd, seek_times, "", "drive.exos-x18.seek", "a drive needs either seek or seek-times"),
        (hdd, "dirty-share = 0.2", "dirty-share = 0.9", "system.cache.dirty-share", "at most share"),
        (hdd, "share = 0.8\ndirty-share = 0.2", "share = 0.0\ndirty-share = 0", "system.cache.share", "it needs 1 MiB"),
        (hdd, "rate = \"3940MB/s\"", "read-rate = \"1MB/s\"", "bus.dmi", "read-rate and write-rate"),
        (hdd, "rate = \"600MB/s\"", "rate = \"1GB/s\"\nread-rate = \"1GB/s\"", "bus.sata.rate", "or those two"),
        (hdd, path, "path = [\"ahci\"]", "volume.disk.path", "ahci needs a bus on both sides"),
        (hdd, path, "path = [\"dmi\", \"ahci\", \"sata\"]", "volume.disk.path", "sata has each-disk"),
        (
            "nt4-pentium-pro:barracuda-narrow",
            "drive = \"barracuda-4-narrow\"\n",
            "drive = \"barracuda-4-narrow\"\nwrite-cache = true\n",
            "volume.barracuda-narrow.write-cache",
            "barracuda-4-narrow has none; add write-cache to [drive.barracuda-4-narrow]",
        ),
        (hdd, "outstanding = 32 ", "", "controller.ahci.order", "it needs outstanding"),
        (hdd, "read-ahead = \"8MiB\"", "read-ahead = \"9MiB\"", "drive.exos-x18.read-ahead", "at most segment, 8 MiB"),
        (hdd, last_zone, "[501185, 7, 0, 0, 0]", "drive.exos-x18.physical-sector", short),
        (nvme, "channels = 16", "channels = 500", "flash.p5500.channels", "at most units"),
        (nvme, "spare = \"558GB\"", "spare = \"512B\"", "flash.p5500.spare", "at least a thousandth of size"),
        (
            "nvme-gen4:steady-mixed-use",
            "\"3200GB\"",
            "\"4000GB\"",
            "volume.steady-mixed-use.capacity",
            "the drive's size",
        ),
        (nvme, "state = \"steady\"", "state = \"full\"", "volume.steady.state", "one of fresh, filled, steady"),
        (nvme, buffer, "", "flash.p5500.protected", "it needs buffer too"),
        ("sata-ssd:client", "always = \"6GB\"", "always = \"79GB\"", "flash.qvo.fast-area.always", "at most size"),
        (
            "win2k-pentium3:maxtor",
            "drive = \"maxtor-40\"\n",
            "drive = \"maxtor-40\"\nstate = \"steady\"\n",
            "volume.maxtor.state",
            "` is \"steady\": it applies to flash drives only",
        ),
        (atlas, "[9625, 229,", "[19625, 229,", zones, "zone 13 begins at cylinder 19625; zones are in order from the"),
        (atlas, "[9625, 229,", "[19625, 229,", zones, "outside in, and it has to begin within the 10042 cylinders"),
        (atlas, "[1265, 324,", "[0, 324,", zones, "it has to begin after zone 1, which begins at 0"),
        (atlas, "[0, 334,", "[1, 334,", zones, "zone 1 begins at cylinder 1"),
        (atlas, "[9625, 229, 29,", "[9625, 229, 231,", zones, "zone 13: 229 sectors a track with shifts of 231"),
        (atlas, "[1000, 3.820]", "[1000, 0.820]", seek, "a seek over 1000 cylinders takes 0.82 ms, and"),
        (atlas, "[1000, 3.820]", "[100, 3.820]", seek, "a seek over 100 cylinders follows one over "),
        ("win2k-pentium3:memory", "[1023, 1.0]", "[511, 1.0]", "drive.memory.seek", "half of the stroke of 1023"),
        (atlas, "[1, 1.245], ", "", seek, "the first is of 5 cylinders; a curve begins with a seek over 1"),
    ]);
}

#[test]
fn values_at_their_bounds_are_taken() {
    for [segment, read_ahead] in [["0B", "0B"], ["512B", "512B"], ["8MiB", "0B"]] {
        let set = format!("exos-x18.segment={segment},exos-x18.read-ahead={read_ahead},exos-x18.read-ahead-least=0B");
        let made = testbed("hdd-18tb", "disk").unwrap().unwrap().with(&set.parse().unwrap());
        assert!(made.is_ok(), "{set}: {made:?}");
    }
}

#[test]
fn what_there_is_not_is_told_with_what_there_is() {
    let error = testbed("win2k-pentium3", "atlas-9").unwrap().unwrap_err().to_string();
    assert!(error.contains("no volume \"atlas-9\"; its volumes are ") && error.contains(", atlas-1, "), "{error}");
    assert!(testbed("cray-1", "x").is_none());
}

#[test]
fn cpu_times_are_of_the_clock_that_the_file_says() {
    let made = |volume: &str, settings: &str| {
        let text = machine_text("win2k-pentium3").unwrap();
        let file = MachineFile::with_settings("win2k-pentium3", text, volume, &settings.parse().unwrap()).unwrap();
        file.with_volume(volume).unwrap()
    };
    for volume in ["atlas-1", "fireball-1", "unc-atlas", "mapped-gigabit"] {
        let [own, twice, as_said] =
            ["cpu.count=2", "cpu.clock=1466MHz", "cpu.clock=0.733GHz"].map(|set| made(volume, set));
        assert_eq!((own.cpu().as_str(), twice.cpu().as_str()), ("Pentium III, 733 MHz", "Pentium III, 1.47 GHz"));
        assert!(own == as_said, "{volume}");
        let mut half = own.clone();
        half.scale_cpu_times(0.5);
        assert!(Machine { cpu: own.cpu.clone(), ..twice } == half, "{volume}");
        assert!(half.system.direct_read.fixed_us == 0.5 * own.system.direct_read.fixed_us && half != own);
    }
    let clockless = machine_text("win2k-pentium3").unwrap().replace("clock = \"733MHz\"", "");
    let file = |settings: &str| MachineFile::with_settings("own", &clockless, "atlas-1", &settings.parse().unwrap());
    assert_eq!(file("disks=1").unwrap().with_volume("atlas-1").unwrap().cpu(), "Pentium III");
    let wrong = file("cpu.clock=1GHz").unwrap_err().to_string();
    assert!(wrong.ends_with("the file has no clock, so its CPU times cannot be scaled; add clock to [cpu]"), "{wrong}");
    // Without a least call a run that is ended by time might have no end.
    let wrong = told_of("cpu.clock=1000GHz");
    assert!(wrong.ends_with("a page cache call would take less than 50 ns; set a lower clock"), "{wrong}");
    let wrong = told_of("cpu.clock=733");
    assert!(wrong.ends_with("it has to be a clock like \"733MHz\" from 1 MHz to 1000 GHz; write the unit"), "{wrong}");
}

#[test]
fn a_number_of_more_than_64_bits_is_rejected_with_the_bounds() {
    let message = told("hdd-18tb", "disk", "rpm = 7200", "rpm = 99999999999999999999999999");
    assert!(
        message.contains("it has to be a") && message.contains(" from ") && !message.contains("any value"),
        "{message}"
    );
}

/// As a number, as a text, in the file and in a setting, whether the file has the key or not.
#[test]
fn what_has_no_unit_is_refused_with_the_remedy() {
    for value in ["\"0.0074\"", "0.0074"] {
        let message = told("hdd-18tb", "disk", "\"7.4ms\"", value);
        let said = format!("seek-times.average` is {value}: it has to be a time like \"250us\"");
        assert!(message.contains(&said) && message.ends_with("; write the unit"), "{message}");
    }
    for settings in
        ["atlas-10k.head-switch=1", "atlas-10k.write-settle=0.5", "pci.latency=1", "offset=512", "scsi.status=0"]
    {
        let message = told_of(settings);
        assert!(message.ends_with("; write the unit"), "{message}");
    }
    assert!(!told_of("pci.latency=1h").contains("write the unit"));
}

#[test]
fn a_name_means_one_part_and_a_volume_s_can_be_said() {
    let after = |machine, text: &str| {
        let text = format!("{}\n{text}", machine_text(machine).unwrap());
        let line = text.lines().count();
        (MachineFile::parse(machine, &text).unwrap_err().to_string(), line)
    };
    let copy = |machine, table: &str| {
        let (_, rest) = machine_text(machine).unwrap().split_once(table).unwrap();
        rest.split("\n[").next().unwrap().to_owned()
    };
    let (message, _) = after("hdd-18tb", "[controller.sata]\nbytes = \"through\"");
    assert!(message.contains(": `controller.sata`: a bus has the same name"), "{message}");
    let (message, _) = after("hdd-18tb", &format!("[flash.exos-x18]{}", copy("nvme-gen4", "[flash.p5500]")));
    assert!(message.contains(": `flash.exos-x18`: a drive has the same name"), "{message}");
    for name in ["system", "cpu", "CPUs", "a.b", "a=b", ""] {
        let (message, _) = after("hdd-18tb", &format!("[bus.\"{name}\"]\nrate = \"1GB/s\""));
        assert!(message.contains("a part's name must not be empty, contain . , : = or a space"), "{message}");
    }
    for name in ["", "a:b", "a,b", " ", "a b"] {
        let (message, line) = after("hdd-18tb", &format!("[volume.\"{name}\"]{}", copy("hdd-18tb", "[volume.disk]")));
        let told = format!(": `volume.{name}`: a volume's name must not be empty or contain a colon, comma or space");
        assert!(message.contains(&told) && message.contains(", column 1: "), "{line}: {message}");
    }
}

#[test]
fn a_part_that_no_volume_uses_is_checked_too() {
    let machine = machine_text("win2k-pentium3").unwrap();
    let drive = machine.split("\n[drive.maxtor-40]").nth(1).unwrap().split("\n[").next().unwrap();
    let slow = drive.replace("average = \"6.5ms\"", "average = \"1.5ms\"");
    for (table, key) in
        [("[bus.spare]\nlatency = \"1us\"", "bus.spare"), (&format!("[drive.spare]{slow}"), "drive.spare.seek-times")]
    {
        let error = MachineFile::parse("x", &format!("{machine}\n{table}\n")).unwrap_err().to_string();
        assert!(error.contains(&format!(": `{key}`")), "{error}");
    }
}

#[test]
fn a_description_is_one_line() {
    let text = machine_text("nvme-gen4").unwrap();
    for (place, key) in [(0, "description"), (1, "volume.fresh.description")] {
        let at = text.match_indices("description = \"").nth(place).unwrap().0 + "description = \"".len();
        let error = MachineFile::parse("x", &format!("{}a\\n[b]{}", &text[..at], &text[at..])).unwrap_err().to_string();
        assert!(error.contains(key) && error.ends_with("it has to be one line without control characters"), "{error}");
    }
}

#[test]
fn what_a_file_lacks_at_its_top_is_at_no_key() {
    let message = MachineFile::parse("x", "description = \"x\"\n").unwrap_err().to_string();
    assert_eq!(message, "machine x, line 1, column 1: missing field `cpu`");
}

#[test]
fn files_that_say_the_same_have_the_same_digest_and_others_have_not() {
    let text = machine_text("nvme-gen4").unwrap();
    let crc32c = |text: &str| MachineFile::parse("x", text).unwrap().crc32c();
    for (from, to, is_same) in [
        ("units = 256 ", "# More.\nunits   =  256 # or so\n", true),
        ("command = \"20ns\" ", "command = '20ns' ", true),
        ("units = 256", "units = 257", false),
        ("size = \"3840GB\"", "size = \"3841GB\"", false),
        ("protected = true", "protected = false", false),
        ("read-spread = 0.24", "read-spread = 0.25", false),
    ] {
        assert_eq!(crc32c(text) == crc32c(&text.replacen(from, to, 1)), is_same, "{to}");
    }
}

#[test]
fn what_is_no_toml_is_told_on_one_line() {
    for (to, said) in [
        ("rpm = 7200\nrpm = 5400", "duplicate key"),
        ("rmp = 7200", "`drive.exos-x18.rmp`: unknown field `rmp`, expected one of `surfaces`, "),
        ("rpm = 7200 x", "column 7: string values must be quoted"),
        ("rpm = \n", "column 7: `rpm` has no value; write one after the ="),
        ("rpm =  # turns", "column 8: `rpm` has no value; write one after the ="),
        ("", "missing field `rpm`"),
        ("\"\\u001b[31m\" = 7200\nrpm = 7200", "unknown field `\\u{1b}[31m`"),
        ("rpm = 7200\n\"a\u{1b}b\" = 1", "line "),
    ] {
        let message = told("hdd-18tb", "disk", "rpm = 7200", to);
        assert!(message.contains(said) && message.contains(", line "), "{message}");
        assert!(!message.contains(char::is_control), "{message:?}");
    }
    let long = format!("machine = \"{}\"", "x".repeat(2 << 20));
    let message = MachineFile::parse("long", &long).unwrap_err().to_string();
    assert!(message.contains("longer than 1 MiB") && message.len() < 200, "{message}");
}

#[test]
fn settings_are_refused_with_the_key_in_place_of_the_line() {
    for (settings, said) in [
        (
            "stripe=1TB",
            "with stripe=1TB: `volume.atlas-4.stripe` is 1TB: it has to be at most the size of a disk, 17.1 GiB",
        ),
        ("disks=4,disks=5", "with disks=5: `volume.atlas-4.disks` is set twice; set it once"),
        ("pci.rate=1GB/s,bus.pci.rate=1GB/s", "with bus.pci.rate=1GB/s: `bus.pci.rate` is set twice; set it once"),
        ("volume=atlas-1,volume=atlas-2", "`volume` is set twice; set it once"),
        ("pci.rate=-5MB/s", "with pci.rate=-5MB/s: `bus.pci.rate` is -5MB/s: it has to be a rate like \"600MB/s\""),
        ("pci.rate=NaN", "with pci.rate=NaN: `bus.pci.rate` is NaN: it has to be a rate like \"600MB/s\""),
        ("pci.rate=1e30GB/s", "`bus.pci.rate` is 1e30GB/s: it has to be a rate like \"600MB/s\""),
        (
            "disks=1000000",
            "with disks=1000000: `volume.atlas-4.disks` is 1000000: it has to be a whole number from 1 to 1024",
        ),
        ("disks=2,pci.rte=1GB/s", "with pci.rte=1GB/s: `bus.pci.rte`: unknown field `rte`, expected one of "),
        (
            "path=[\"scsi\", \"scsi\"]",
            "with path=[\"scsi\", \"scsi\"]: `volume.atlas-4.path` is [\"scsi\", \"scsi\"]: it has to name",
        ),
        ("description=x", "with description=x: description is only a text"),
        ("cpu.model=x", "with cpu.model=x: cpu.model is only a text"),
        ("zero.rate=1GB/s", "with zero.rate=1GB/s: no part has the name zero; parts are cpu, system, "),
        ("offset=90GB", "with offset=90GB: `volume.atlas-4.offset` is 90GB: it has to "),
        ("mirror=nearest", "with mirror=nearest: `volume.atlas-4.mirror` is nearest: a volume has only one of stripe"),
    ] {
        let message = told_of(settings);
        assert!(message.starts_with("machine win2k-pentium3 with ") && message.contains(said), "{settings}: {message}");
        assert!(!message.contains("line "), "{message}");
    }
    let known = told_of("zero.rate=1GB/s");
    let each = |name: &str| known.split([' ', ',']).filter(|word| *word == name).count();
    assert_eq!((each("memory"), each("bus.memory"), each("drive.memory"), each("bus.pci")), (0, 1, 1, 1), "{known}");
    // What the setting contradicts stands in the file.
    let text = machine_text("hdd-18tb").unwrap();
    let error = Simulated::of_file("hdd-18tb", text, "disk", &"exos-x18.cylinders=10".parse().unwrap()).unwrap_err();
    assert!(error.to_string().starts_with("machine hdd-18tb with exos-x18.cylinders=10, line "), "{error}");
}

#[test]
fn the_readme_lists_every_key() {
    let tables = [
        ("cpu", Cpu::rows()),
        ("system", OperatingSystem::rows()),
        ("cache", PageCache::rows()),
        ("parallel", Parallel::rows()),
        ("cost", crate::cost::CostKeys::rows()),
        ("bus", Bus::rows()),
        ("controller", Controller::rows()),
        ("drive", DriveKeys::rows()),
        ("seek-times", drive::SeekTimes::rows()),
        ("write-cache", drive::WriteCacheKeys::rows()),
        ("flash", FlashDrive::rows()),
        ("flash-read-ahead", ReadAhead::rows()),
        ("erase", Erase::rows()),
        ("fast-area", FastArea::rows()),
        ("trim", Trim::rows()),
        ("heat", Heat::rows()),
        ("cloud", CloudVolume::rows()),
        ("limits", Limits::rows()),
        ("share", Share::rows()),
        ("volume", VolumeKeys::rows()),
    ];
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../machines/README.md");
    let text = std::fs::read_to_string(&path).unwrap();
    let mut fresh = text.clone();
    for (name, rows) in tables {
        let mark = format!("<!-- keys: {name} -->\n");
        let from = fresh.find(&mark).unwrap_or_else(|| panic!("no {mark}")) + mark.len();
        let to = from + fresh[from..].find("<!-- /keys -->").unwrap();
        fresh.replace_range(from..to, &rows);
    }
    if std::env::var_os("INSTA_UPDATE").is_some_and(|update| update == "always") {
        std::fs::write(&path, fresh).unwrap();
    } else {
        assert!(text == fresh, "the tables of machines/README.md are old; `just golden` writes them");
    }
}
