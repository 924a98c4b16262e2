//! What a host has of a sample, and nothing else: no part's utilisation, and what `inspect` or a person tells of its buses.

use crate::machines::Drawn;
use halfpower_model::sample::CpuTime;
use halfpower_model::{BytesPerSecond, Channel, Level, LevelName, Sample};

/// Takes out of a record what only a simulator knows, and gives it the levels that a host would have found, each bus of `told`
/// times its rate.
pub(super) fn as_seen_by_a_host(drawn: &Drawn, told: f64, mut sample: Sample) -> Sample {
    sample.parts.clear();
    // A host's count of the workers' time has no interrupts in it.
    let account = sample.cpu.system.expect("a simulated record has the machine's account");
    sample.cpu.lower = CpuTime { user_s: 0.0, system_s: account.system_s };
    (sample.cpu.upper_s, sample.cpu.upper_us_per_request) = (None, None);
    let all = (*sample.environment).clone();
    let mut environment = all.among(sample.workload.among).unwrap_or(all);
    for (number, target) in (0..).zip(environment.all_targets_mut()) {
        // The disks of this target.
        let disks: Vec<u32> = if drawn.workload.targets == 1 { (0..drawn.disks).collect() } else { vec![number] };
        target.levels = levels(drawn, told, &disks);
    }
    sample.environment = environment.into();
    sample
}

fn levels(drawn: &Drawn, told: f64, disks: &[u32]) -> Vec<Level> {
    let name = |bus: &(&str, f64, u32), disk: u32| match bus.2 {
        1 => bus.0.to_owned(),
        count => format!("{} {}", bus.0, disk % count + 1),
    };
    let channel = |bus: &(&str, f64, u32), through: Option<String>, disk: u32| Channel {
        at: name(bus, disk),
        through,
        pap_bytes_per_s: Some(BytesPerSecond(told * bus.1)),
        source: "as its label says".to_owned(),
    };
    let (near, above) = (&drawn.buses[0], &drawn.buses[1..]);
    let link = Level::of(LevelName::Link, disks.iter().map(|disk| channel(near, None, *disk)));
    let of_disk = |disk: &u32| {
        (0..above.len())
            .rev()
            .map(|place| channel(&above[place], above.get(place + 1).map(|next| name(next, *disk)), *disk))
            .collect::<Vec<_>>()
    };
    let bus = Level::of(LevelName::Bus, disks.iter().flat_map(of_disk));
    vec![bus, link]
}
