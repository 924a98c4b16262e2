//! A job's options as keys of a workload.

use super::job::{Direction, Settings};
use super::units::{is_on, think};
use halfpower_model::{Buffering, Bytes, KEYS, Nanoseconds, Sharing, SubmitBatch, WorkloadSpec};

/// A key of the workload, the option it follows from, and its value.
type Given = (&'static str, &'static str, String);

impl Settings<'_> {
    /// The keys of a workload with this number of files, in parts: each part, or why it has no counterpart.
    fn parts(&self, files: usize) -> Vec<Result<Vec<Given>, String>> {
        let mut parts = vec![self.method(), self.ends(), self.think()];
        match self.direction() {
            Ok(direction) => parts.extend([
                self.operation(&direction).map(|operation| vec![("operation", "rw", operation)]),
                self.places(&direction, files),
                self.request_sizes(&direction),
                self.writes(&direction),
                self.verify(&direction),
                self.rate(&direction),
            ]),
            Err(message) => parts.push(Err(message)),
        }
        parts
    }

    /// The workload of a clone, without its place, for a worker.
    ///
    /// # Errors
    /// At the first option that has no counterpart.
    pub(super) fn spec(&self, files: usize, clone: u64) -> Result<WorkloadSpec, String> {
        let direction = self.direction()?;
        self.refuse_pace(&direction)?;
        let mut keys = self.parts(files).into_iter().collect::<Result<Vec<_>, _>>()?.concat();
        if let Some(average_ms) =
            self.get("log_avg_msec").and_then(|text| text.parse::<u64>().ok()).filter(|ms| *ms > 0)
        {
            keys.push(("interval", "log_avg_msec", format!("{}ms", average_ms.max(10))));
        }
        if let Some(cpus) = self.get("cpus_allowed") {
            keys.push(("cpus", "cpus_allowed", self.cpu(cpus, clone)?));
        }
        // It begins at the first offset, and each request is submitted by itself.
        let sharing = (!direction.is_random).then_some(Sharing::Cursor);
        let spec = WorkloadSpec { workers: Some(1), sharing, ..WorkloadSpec::default() };
        let spec = keys.iter().try_fold(spec, |spec, given| Ok::<_, String>(spec.or(&self.read(given)?)))?;
        Ok(WorkloadSpec { submit_batch: spec.submit_batch.or(Some(SubmitBatch::Requests(1))), ..spec })
    }

    /// The workload of a job that has run. Keys without a counterpart, and those that are `unknown`, are not set.
    pub(crate) fn known(&self, unknown: impl Fn(&str) -> bool) -> WorkloadSpec {
        let cpus = self.get("cpus_allowed").map(|cpus| ("cpus", "cpus_allowed", cpus.to_owned()));
        let keys = self.parts(1).into_iter().flatten().flatten().chain(cpus).filter(|(key, ..)| !unknown(key));
        let size = |name: &str| self.sized(name).ok().flatten().map(Bytes);
        let offset = if self.get("offset").is_some() { size("offset") } else { Some(Bytes(0)) };
        let spec = WorkloadSpec { size: size("size"), offset, ..WorkloadSpec::default() };
        keys.filter_map(|given| self.read(&given).ok()).fold(spec, |spec, read| spec.or(&read))
    }

    fn read(&self, (key, from, value): &Given) -> Result<WorkloadSpec, String> {
        let key = KEYS.iter().find(|one| one.name == *key).expect("a key of the table");
        key.read(value).map_err(|error| self.wrong(from, &error))
    }

    /// Places of the requests.
    fn places(&self, direction: &Direction<'_>, files: usize) -> Result<Vec<Given>, String> {
        let from = if direction.is_random { "random_distribution" } else { "rw" };
        let mut keys = vec![("pattern", from, self.pattern(direction)?)];
        keys.extend(self.align(direction)?.map(|align| ("align", "blockalign", format!("{align}B"))));
        if files > 1 {
            keys.push(("layout", "nrfiles", format!("stripe={}B", self.smallest(direction)?)));
        }
        Ok(keys)
    }

    fn request_sizes(&self, direction: &Direction<'_>) -> Result<Vec<Given>, String> {
        let sizes = self.sizes(direction)?;
        Ok(vec![match &sizes[..] {
            [one] if one.len() == 1 => ("request_size", "bs", format!("{}B", one[0].0)),
            [read, write] => ("sizes", "bs", format!("read={},write={}", shares(read), shares(write))),
            several => ("sizes", "bs", shares(&several.concat())),
        }])
    }

    /// The alignment of random requests, if it is another than their size.
    fn align(&self, direction: &Direction<'_>) -> Result<Option<u64>, String> {
        Ok(self.sized("blockalign")?.filter(|_| direction.is_random))
    }

    /// How long it runs.
    fn ends(&self) -> Result<Vec<Given>, String> {
        let of = |time: Nanoseconds| format!("{}us", time.0 / 1000);
        let runtime = self.time("runtime")?.filter(|time| time.0 > 0).map(|time| ("duration", "runtime", of(time)));
        // number_ios limits each pass, and a job by time has any number of them.
        let loops = self.loops()?;
        let all =
            |number: &str| number.parse().map_or(number.to_owned(), |of: u64| of.saturating_mul(loops).to_string());
        let is_endless = self.is_on("time_based") && runtime.is_some();
        let requests =
            self.get("number_ios").filter(|_| !is_endless).map(|number| ("requests", "number_ios", all(number)));
        let warmup = ("warmup", "ramp_time", of(self.time("ramp_time")?.unwrap_or_default()));
        Ok(runtime.into_iter().chain(requests).chain([warmup]).collect())
    }

    /// Engine, depth, and use of the page cache.
    fn method(&self) -> Result<Vec<Given>, String> {
        let engine = self.engine()?;
        let is_queued = matches!(engine, "libaio" | "io_uring" | "nvme" | "sg" | "null" | "nbd");
        let depth = self.number("iodepth", 1, u64::from(u32::MAX))?;
        let depth = if is_queued { depth } else { 1 };
        let mut keys = vec![("personality", "ioengine", engine.to_owned()), ("depth", "iodepth", depth.to_string())];
        for (key, from) in [("submit_batch", "iodepth_batch"), ("wait_batch", "iodepth_batch_complete_min")] {
            let value = self.get(from).filter(|value| is_queued && *value != "0");
            // More than the depth is the depth.
            let value = value.map(|value| value.parse().map_or(value.to_owned(), |of: u64| of.min(depth).to_string()));
            keys.extend(value.map(|value| (key, from, value)));
        }
        let ring = [("hipri", "iopoll"), ("sqthread_poll", "sqpoll")].into_iter().filter(|(name, _)| self.is_on(name));
        let ring: Vec<&str> = ring.map(|(_, word)| word).collect();
        if engine == "io_uring" && !ring.is_empty() {
            keys.push(("ring", "ioengine", ring.join(",")));
        }
        let flags = [("hipri", "hipri"), ("nowait", "nowait"), ("uncached", "dontcache")];
        let mut flags: Vec<(&str, &str)> = flags.into_iter().filter(|(name, _)| self.is_on(name)).collect();
        if engine == "vectored" && !flags.is_empty() {
            let words: Vec<&str> = flags.iter().map(|(_, word)| *word).collect();
            keys.push(("rw_flags", flags[0].0, words.join(",")));
        } else if let Some((name, _)) = flags.pop().filter(|(name, _)| *name != "hipri") {
            return Err(self.wrong(name, "only pvsync2 has such requests; use ioengine=pvsync2"));
        }
        let is_huge = self.get("mem").is_some_and(|of| of.starts_with("mmaphuge") || of.starts_with("shmhuge"));
        keys.push(("huge_pages", "mem", if is_huge { "on" } else { "off" }.to_owned()));
        if engine == "nbd" {
            // This host has no page cache of a server's volume.
            return Ok(keys);
        }
        let is_direct = match self.last(&["direct", "buffered"]) {
            Some(("direct", direct)) => is_on(direct),
            Some((_, buffered)) => !is_on(buffered),
            None => false,
        };
        let is_through = self.get("sync").is_some_and(|sync| !matches!(sync, "0" | "none"));
        let buffering = Buffering::of(is_direct, is_through).word();
        let cache = match self.is_on("pre_read") {
            true => "warm",
            false if !is_direct && self.get("invalidate") != Some("0") => "cold_each_pass",
            false => "keep",
        };
        let advise = match self.get("fadvise_hint") {
            _ if is_direct => "off",
            Some("0" | "none") => "off",
            None | Some("1") => "on",
            Some(_) => return Err(self.wrong("fadvise_hint", "use 1, which is by the pattern, or 0")),
        };
        keys.extend([
            ("buffering", "direct", buffering.to_owned()),
            ("cache", "invalidate", cache.to_owned()),
            ("advise", "fadvise_hint", advise.to_owned()),
        ]);
        Ok(keys)
    }

    /// Flushes and contents of writes.
    fn writes(&self, direction: &Direction<'_>) -> Result<Vec<Given>, String> {
        if direction.kind == "read" {
            return Ok(Vec::new());
        }
        let every = |name: &'static str| self.get(name).filter(|every| *every != "0").map(|every| (name, every));
        let (from, durability) = match every("fsync").or_else(|| every("fdatasync")) {
            Some((name, every)) => (name, format!("{name}={every}")),
            None if self.is_on("end_fsync") || self.is_on("fsync_on_close") => ("end_fsync", "flush_at_end".to_owned()),
            None => ("fsync", "none".to_owned()),
        };
        let data = self.data().map(|(from, data)| ("data", from, data));
        Ok([("durability", from, durability)].into_iter().chain(data).collect())
    }

    fn verify(&self, direction: &Direction<'_>) -> Result<Vec<Given>, String> {
        let mut verify = "off";
        if self.get("verify").is_some_and(|verify| !matches!(verify, "0" | "none" | "null")) {
            verify = match direction.kind {
                "write" | "mix" if self.get("do_verify") == Some("0") => "stamp",
                "write" | "mix" => "read_back",
                _ => {
                    let message = "what fio wrote is not checked; write and check in one job, or use io with --verify";
                    return Err(self.wrong("verify", message));
                }
            };
        }
        Ok(vec![("verify", "verify", verify.to_owned())])
    }

    fn operation(&self, direction: &Direction<'_>) -> Result<String, String> {
        if direction.kind != "mix" {
            return Ok(direction.kind.to_owned());
        }
        let reads = match self.last(&["rwmixread", "rwmixwrite"]) {
            Some(("rwmixread", reads)) => reads.parse().ok(),
            Some((_, writes)) => writes.parse().ok().and_then(|writes| 100_u8.checked_sub(writes)),
            None => Some(50),
        };
        Ok(match reads {
            Some(100) => "read".to_owned(),
            Some(0) => "write".to_owned(),
            Some(reads) if reads < 100 => format!("mix={reads}"),
            _ => return Err(self.wrong("rwmixread", "use 0 to 100")),
        })
    }

    fn pattern(&self, direction: &Direction<'_>) -> Result<String, String> {
        if let Some(zones) = self.zones(direction)? {
            return Ok(zones);
        }
        if !direction.is_random {
            let request_size = if direction.gap == 0 { 0 } else { self.smallest(direction)? };
            return match direction.gap {
                0 => Ok("sequential".to_owned()),
                gap if gap > 0 => Ok(format!("strided={}B", request_size.saturating_add_signed(gap))),
                // fio counts the gap from the request's end.
                gap if gap.unsigned_abs() == request_size || gap.unsigned_abs() == 2 * request_size => {
                    Ok("reverse".to_owned())
                }
                _ => Err(self.wrong("rw", "backwards goes by one request; use its size")),
            };
        }
        let (law, number) =
            self.get("random_distribution").and_then(|text| text.split_once(':')).unwrap_or(("random", ""));
        match law {
            // Every place once, unless requests may overlap.
            "random" if self.is_on("norandommap") || self.has_several_sizes() || self.get("blockalign").is_some() => {
                Ok("random".to_owned())
            }
            "random" => Ok("shuffled".to_owned()),
            "zipf" | "pareto" | "zoned" => Ok(format!("{law}={number}")),
            "normal" => {
                let percent: Option<f64> = number.parse().ok();
                percent
                    .map(|percent| format!("normal={}", percent / 100.0))
                    .ok_or_else(|| self.wrong("random_distribution", "use normal:PERCENT"))
            }
            _ => Err(self.wrong("random_distribution", "use random, zipf, pareto, normal or zoned")),
        }
    }

    /// The pattern of `zonemode=strided`, which zonesize alone means too; none without zones.
    fn zones(&self, direction: &Direction<'_>) -> Result<Option<String>, String> {
        match self.get("zonemode").or(self.get("zonesize").map(|_| "strided")) {
            None | Some("none") => return Ok(None),
            Some("strided") if direction.is_random || direction.gap != 0 => {
                return Err(self.wrong("zonemode", "zones are for rw=read, write, trim and rw without a number"));
            }
            Some("strided") => {}
            Some(_) => return Err(self.wrong("zonemode", "zones of the device itself are not used; use strided")),
        }
        let length = self.sized("zonesize")?.ok_or_else(|| self.wrong("zonemode", "it needs zonesize"))?;
        if self.sized("zonerange")?.is_some_and(|range| range != length) {
            return Err(self.wrong("zonerange", "a zone is read once and whole; leave it out"));
        }
        let gap = self.sized("zoneskip")?.filter(|gap| *gap > 0);
        Ok(gap.map(|gap| format!("runs={length}B/{gap}B")))
    }

    fn engine(&self) -> Result<&'static str, String> {
        Ok(match self.get("ioengine").unwrap_or("psync") {
            "psync" | "sync" | "vsync" => "sync",
            "pvsync" | "pvsync2" => "vectored",
            "mmap" => "mmap",
            "libaio" | "posixaio" => "libaio",
            "io_uring" => "io_uring",
            "io_uring_cmd" if self.get("cmd_type").is_none_or(|kind| kind == "nvme") => "nvme",
            "io_uring_cmd" => return Err(self.wrong("cmd_type", "use nvme")),
            "sg" => "sg",
            "null" => "null",
            "nbd" => "nbd",
            _ => {
                return Err(self.wrong(
                    "ioengine",
                    "use psync, sync, vsync, pvsync, pvsync2, libaio, posixaio, io_uring, io_uring_cmd, mmap, sg, nbd or null",
                ));
            }
        })
    }

    fn data(&self) -> Option<(&'static str, String)> {
        if self.is_on("zero_buffers") {
            return Some(("zero_buffers", "zeros".to_owned()));
        }
        let of = |name: &'static str, text: fn(&str) -> String| self.get(name).map(|value| (name, text(value)));
        of("buffer_pattern", |value| format!("pattern={}", value.trim_start_matches("0x").trim_matches('"')))
            .or_else(|| of("buffer_compress_percentage", |value| format!("compressible={value}")))
            .or_else(|| of("dedupe_percentage", |value| format!("duplicate={value}")))
    }

    /// The rates of kinds of requests that the job has, and the option that says them.
    fn rates(&self, direction: &Direction<'_>) -> Result<Option<(&'static str, Vec<u64>)>, String> {
        let Some(name) = ["rate", "rate_iops"].into_iter().find(|name| self.get(name).is_some()) else {
            return Ok(None);
        };
        let parts: Vec<&str> = self.get(name).unwrap_or_default().split(',').collect();
        let of = |kind: usize| match parts.get(kind).or(parts.last()) {
            Some(text) if !text.is_empty() => self.size(text, name),
            _ => Ok(0),
        };
        let kinds: &[usize] = match direction.kind {
            "read" => &[0],
            "write" => &[1],
            "trim" => &[2],
            _ => &[0, 1],
        };
        Ok(Some((name, kinds.iter().map(|kind| of(*kind)).collect::<Result<_, _>>()?)))
    }

    /// How requests arrive, and the rate of all kinds.
    fn rate(&self, direction: &Direction<'_>) -> Result<Vec<Given>, String> {
        let closed = vec![("arrivals", "rate_process", "closed".to_owned())];
        let Some((name, rates)) = self.rates(direction)? else { return Ok(closed) };
        if rates.iter().all(|rate| *rate == 0) {
            return Ok(closed);
        }
        if rates.contains(&0) {
            return Err(self.wrong(name, "one kind of requests has no rate; give both one"));
        }
        let arrivals = match (self.get("rate_process"), self.get("io_submit_mode")) {
            (Some("poisson"), _) => "poisson",
            (_, Some("offload")) => "constant",
            _ => "closed",
        };
        let unit = if name == "rate" { "B/s" } else { "/s" };
        let rate = rates.iter().fold(0_u64, |sum, rate| sum.saturating_add(*rate));
        Ok(vec![("rate", name, format!("{rate}{unit}")), ("arrivals", "rate_process", arrivals.to_owned())])
    }

    /// Why a workload cannot run that a result may have: here reads and writes have one rate together, and no pauses with it.
    fn refuse_pace(&self, direction: &Direction<'_>) -> Result<(), String> {
        let Some((name, rates)) = self.rates(direction)? else { return Ok(()) };
        if self.get("thinktime").is_some_and(|pause| pause != "0") {
            return Err(self.wrong("thinktime", &format!("it does not go with {name}; leave one out")));
        }
        let is_half = self.operation(direction)? == "mix=50" && rates[0] == rates[1];
        if rates.len() > 1 && !is_half {
            return Err(
                self.wrong(name, "reads and writes have one rate together; give both half of it, with rwmixread=50")
            );
        }
        Ok(())
    }

    /// Pauses; a number alone is microseconds.
    fn think(&self) -> Result<Vec<Given>, String> {
        let Some(text) = self.get("thinktime").filter(|text| *text != "0") else { return Ok(Vec::new()) };
        self.number("thinktime_blocks", 1, u64::from(u32::MAX))?;
        let think = think(text, self.get("thinktime_blocks"));
        let think = think.ok_or_else(|| self.wrong("thinktime", "it is no time, like 500 or 2ms"))?;
        Ok(vec![("think", "thinktime", think.to_string())])
    }

    /// The CPU of a clone.
    fn cpu(&self, cpus: &str, clone: u64) -> Result<String, String> {
        let list: halfpower_model::workload::CpuList =
            cpus.parse().map_err(|error: String| self.wrong("cpus_allowed", &error))?;
        let cpu = list.0.get(clone as usize % list.0.len().max(1));
        cpu.map(u32::to_string).ok_or_else(|| self.wrong("cpus_allowed", "it names no CPU"))
    }
}

/// `4096B:70/65536B:30`.
fn shares(sizes: &[(u64, u64)]) -> String {
    sizes.iter().map(|(size, share)| format!("{size}B:{share}")).collect::<Vec<_>>().join("/")
}
