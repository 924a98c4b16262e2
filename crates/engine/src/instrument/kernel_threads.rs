//! CPU time of kernel threads: write-back, deferred interrupts, journals, loop and md devices.
//!
//! Source: proc_pid_stat(5) (flag PF_KTHREAD), and /proc/PID/schedstat in nanoseconds, or the ticks of `stat` without it.
//! Reading costs about 15 µs per process, so it happens before and after the measured part. A thread that started meanwhile
//! counts in full; the use of one that ended meanwhile is unknown. A PID namespace shows none. io_uring's workers are threads
//! of the program and not included.

use halfpower_model::sample::KernelThread;
use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::time::{Duration, Instant};

/// Number of kinds that are named.
const NAMED: usize = 5;

/// All of them at one moment.
#[derive(Clone, Debug)]
pub(crate) struct Moment {
    /// By number and start time, since numbers are reused.
    threads: HashMap<(u32, u64), Thread>,
    /// How long reading took.
    pub(crate) took: Duration,
}

#[derive(Clone, Debug, PartialEq)]
struct Thread {
    name: String,
    ran_ns: u64,
}

/// Their use.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Used {
    /// All of them.
    pub(crate) total_s: f64,
    /// The kinds with the highest use.
    pub(crate) largest: Vec<KernelThread>,
}

impl Moment {
    /// Now; none if no kernel thread is visible.
    pub(crate) fn now() -> Option<Moment> {
        Moment::of(Path::new("/proc"))
    }

    fn of(proc: &Path) -> Option<Moment> {
        let began = Instant::now();
        let mut threads = HashMap::new();
        for entry in std::fs::read_dir(proc).ok()?.flatten() {
            let Some(number) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else { continue };
            let directory = entry.path();
            // One that has ended since has no line.
            let Some(stat) = std::fs::read(directory.join("stat")).ok().and_then(|line| parse(&line)) else { continue };
            if stat.flags & libc::PF_KTHREAD as u64 == 0 {
                continue;
            }
            let ran_ns = std::fs::read_to_string(directory.join("schedstat")).ok();
            let ran_ns = ran_ns.and_then(|text| text.split_ascii_whitespace().next()?.parse().ok());
            let ran_ns = ran_ns.unwrap_or_else(|| stat.ticks * 1_000_000_000 / rustix::param::clock_ticks_per_second());
            threads.insert((number, stat.started), Thread { name: stat.name, ran_ns });
        }
        (!threads.is_empty()).then(|| Moment { threads, took: began.elapsed() })
    }

    /// Their use since an earlier moment.
    pub(crate) fn since(&self, before: &Moment) -> Used {
        let mut kinds: BTreeMap<&str, u64> = BTreeMap::new();
        for (which, thread) in &self.threads {
            let had_ns = before.threads.get(which).map_or(0, |earlier| earlier.ran_ns);
            *kinds.entry(kind(&thread.name)).or_default() += thread.ran_ns.saturating_sub(had_ns);
        }
        let total_s = kinds.values().sum::<u64>() as f64 / 1e9;
        let mut largest: Vec<(&str, u64)> = kinds.into_iter().filter(|(_, ran_ns)| *ran_ns > 0).collect();
        largest.sort_by_key(|(_, ran_ns)| std::cmp::Reverse(*ran_ns));
        let named = |(kind, ran_ns): (&str, u64)| KernelThread { kind: kind.to_owned(), time_s: ran_ns as f64 / 1e9 };
        Used { total_s, largest: largest.into_iter().take(NAMED).map(named).collect() }
    }
}

/// The fields used of a line of `stat`.
#[derive(Debug, PartialEq)]
struct Stat {
    name: String,
    flags: u64,
    /// User and system time.
    ticks: u64,
    /// Ticks since boot.
    started: u64,
}

/// `7 (name) S 2 0 …`. A name may contain blanks, parentheses and line ends; the rest contains no parenthesis.
fn parse(line: &[u8]) -> Option<Stat> {
    let open = line.iter().position(|byte| *byte == b'(')?;
    let close = line.iter().rposition(|byte| *byte == b')')?;
    let name = String::from_utf8_lossy(line.get(open + 1..close)?).into_owned();
    // The first word here is the third of the line.
    let words: Vec<&str> = std::str::from_utf8(&line[close + 1..]).ok()?.split_ascii_whitespace().collect();
    let word = |number: usize| words.get(number - 3)?.parse::<u64>().ok();
    Some(Stat { name, flags: word(9)?, ticks: word(14)?.saturating_add(word(15)?), started: word(22)? })
}

/// The kind of a name: `kworker` of `kworker/u4:2-writeback`, `loop` of `loop7`, `md0_raid5` as it is.
fn kind(name: &str) -> &str {
    match name.split_once(['/', ':']) {
        Some((kind, _)) => kind,
        None if name.contains('_') => name,
        None => name.trim_end_matches(|letter: char| letter.is_ascii_digit() || letter == '.'),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(name: &str, flags: u64, [user, system, started]: [u64; 3]) -> String {
        format!(
            "7 ({name}) S 2 0 0 0 -1 {flags} 0 0 0 0 {user} {system} 0 0 20 0 1 0 {started} 0 0 18446744073709551615\n"
        )
    }

    #[test]
    fn names_may_hold_anything() {
        for name in ["kworker/0:1H-kblockd", "a b", ") S 2 0 0 (", "(((", ")))", "line\nend", "", "1 (x) R 1 1 1"] {
            let stat = parse(line(name, 0x20_8040, [3, 4, 99]).as_bytes()).unwrap();
            assert_eq!(stat, Stat { name: name.to_owned(), flags: 0x20_8040, ticks: 7, started: 99 });
        }
        let mut bytes = line("?", 1, [0, 0, 0]).into_bytes();
        bytes[3] = 0xff;
        assert_eq!(parse(&bytes).unwrap().name, "\u{fffd}");
        for broken in ["", "7 (a", "7 a)", ")(", "7 (a) S 2 0 0", "7 (a) S 2 0 0 0 -1 x 0 0 0 0 1 1 0 0 20 0 1 0 5"] {
            assert_eq!(parse(broken.as_bytes()), None, "{broken}");
        }
    }

    #[test]
    fn numbered_threads_are_one_kind() {
        let names = [
            "kworker/u4:2-writeback",
            "loop7",
            "md0_raid5",
            "jbd2/vda1-8",
            "kswapd0",
            "kdamond.0",
            "irq/24-nvme0q1",
            "a_1",
        ];
        assert_eq!(names.map(kind), ["kworker", "loop", "md0_raid5", "jbd2", "kswapd", "kdamond", "irq", "a_1"]);
    }

    #[test]
    fn the_use_of_threads_is_summed_by_kind() {
        let directory = tempfile::tempdir().unwrap();
        let thread = |number: u32, stat: String, schedstat: Option<&str>| {
            let place = directory.path().join(number.to_string());
            std::fs::create_dir_all(&place).unwrap();
            std::fs::write(place.join("stat"), stat).unwrap();
            schedstat.into_iter().for_each(|text| std::fs::write(place.join("schedstat"), text).unwrap());
        };
        let kernel = libc::PF_KTHREAD as u64;
        thread(40, line("a program", 0x40_0000, [900, 900, 5]), Some("9000000000 0 0"));
        assert!(Moment::of(directory.path()).is_none(), "no thread of the kernel is to be seen");
        thread(10, line("kworker/0:1", kernel, [0, 0, 5]), Some("1000000000 5 5\n"));
        thread(11, line("kworker/1:1", kernel, [0, 0, 5]), Some("2000000000 5 5\n"));
        thread(12, line("loop0", kernel, [10, 20, 5]), None);
        thread(13, line("ends", kernel, [0, 0, 5]), Some("7000000000 5 5\n"));
        thread(14, line("kswapd0", kernel, [0, 0, 5]), Some("7000000000 5 5\n"));
        std::fs::create_dir(directory.path().join("self")).unwrap();
        let before = Moment::of(directory.path()).unwrap();
        thread(10, line("kworker/0:1", kernel, [0, 0, 5]), Some("1250000000 5 5\n"));
        thread(11, line("kworker/1:1", kernel, [0, 0, 5]), Some("2500000000 5 5\n"));
        thread(12, line("loop0", kernel, [20, 20, 5]), None);
        // The same number, but another thread.
        thread(13, line("md0_raid5", kernel, [0, 0, 77]), Some("40000000 5 5\n"));
        let used = Moment::of(directory.path()).unwrap().since(&before);
        let shown: Vec<_> = used.largest.iter().map(|thread| (thread.kind.as_str(), thread.time_s)).collect();
        assert_eq!(shown, [("kworker", 0.75), ("loop", 0.1), ("md0_raid5", 0.04)]);
        assert!((used.total_s - 0.89).abs() < 1e-9, "{used:?}");
    }
}
