//! A workload as fio's options, and the reasons if fio has no equivalent.

use super::{engine, share, words};
use halfpower_model::content::Data;
use halfpower_model::stream::RequestKind;
use halfpower_model::workload::{RwFlag, Thousandths};
use halfpower_model::{
    Arrivals, CachePolicy, Closing, CpuAccounting, Durability, FileState, Layout, Operation, Pattern, Personality,
    Rate, RingOption, Sharing, SubmitBatch, Verify, Wish, Workload,
};

type Settings = Vec<(&'static str, String)>;

/// Ring options that fio chooses itself.
const ITS_OWN: [RingOption; 5] = [
    RingOption::SingleIssuer,
    RingOption::DeferTaskrun,
    RingOption::CoopTaskrun,
    RingOption::NoSqarray,
    RingOption::RegisteredRing,
];

/// Why fio has no equivalent of a workload; none if it has one.
pub(super) fn no_equal(workload: &Workload, on_file: bool) -> Option<&'static str> {
    let Workload { operation, pattern, personality, rw_flags, sizes, limits, .. } = workload;
    let (_, on_one_target) = workload.position(0);
    let many = on_one_target > 1;
    let trims_in_a_mix =
        operation.has(RequestKind::Trim) && !matches!(operation, Operation::Trim | Operation::TrimWrite);
    let own_options = ITS_OWN.iter().any(|option| workload.ring.wish(*option) != Wish::Default);
    let has_gaps = pattern.is_ordered() && sizes.is_empty() && workload.step() != workload.request_size;
    let is_verified = workload.verify != Verify::Off;
    let times = [limits.duration, Some(workload.warmup), workload.think.map(|think| think.pause)];
    let has_odd_time = times.iter().flatten().any(|time| !time.0.is_multiple_of(1000));
    let rate_of_requests = matches!(workload.rate, Some(Rate::Requests(_)));
    let reasons = [
        (operation.has(RequestKind::Flush) || trims_in_a_mix, "fio mixes reads and writes only"),
        (operation.has(RequestKind::Trim) && on_file, "fio trims devices, and no files"),
        (workload.layout != Layout::Each, "fio makes no stripes and no mirrors"),
        (*personality == Personality::Plugin, "fio does not load Halfpower's plug-ins"),
        (*personality == Personality::Nvme, "fio sends such commands to another device, /dev/ng, not to this"),
        (
            rw_flags.iter().any(|flag| flag != RwFlag::Hipri),
            "fio has no such flags of single requests, or they mean something else there",
        ),
        (
            *personality != Personality::Vectored && !rw_flags.is_empty(),
            "fio has flags of single requests for pvsync2 only",
        ),
        (own_options, "fio sets these options of a ring itself"),
        (*pattern == Pattern::Reverse, "going down, fio never reaches the last place"),
        (matches!(pattern, Pattern::Runs { .. }) && many, "each of fio's jobs goes to every zone"),
        (matches!(pattern, Pattern::Strided { .. }), "fio's strides come to the same places in each pass"),
        (
            matches!(pattern, Pattern::Normal { .. }),
            "the deviation of fio's normal distribution is another, and its places are spread",
        ),
        (*pattern == Pattern::Zipf { theta: Thousandths(1000) }, "fio takes no zipf with an exponent of 1"),
        (
            *pattern == Pattern::Shuffled && many,
            "each of fio's jobs goes to every place, where these workers take turns",
        ),
        (
            matches!(workload.sharing, Sharing::Cursor | Sharing::Interleaved) && many,
            "fio's jobs do not take turns in one order",
        ),
        (has_gaps, "fio leaves no gaps between requests in order"),
        (workload.file_state != FileState::Written, "fio does not bring a file into a state between jobs"),
        (workload.closing == Closing::Timed, "fio does not count closing"),
        (is_verified && (*operation != Operation::Write || many), "fio checks what one job has written, and no mix"),
        (workload.cpu_accounting == CpuAccounting::Soaker, "fio has no soaker"),
        (!workload.set.is_empty(), "fio has no simulated machines"),
        (workload.cpu_count.is_some(), "fio binds jobs to CPUs, and not itself to a number of them"),
        (workload.connections.is_some(), "fio's jobs have one connection each"),
        (has_odd_time, "fio's times are whole microseconds"),
        (
            !has_whole_rate(workload),
            "fio's rates are those of one job and one direction, and these do not divide evenly",
        ),
        (rate_of_requests && !sizes.is_empty(), "fio counts requests per second of one size only"),
        (whole_shares(workload).is_none(), "fio's shares of sizes are whole percents"),
    ];
    reasons.iter().find(|(applies, _)| *applies).map(|(_, reason)| *reason)
}

/// Differences between fio and Halfpower that do not exclude a workload.
pub(super) fn remarks(workload: &Workload) -> Vec<&'static str> {
    let remarks = [
        (
            matches!(workload.pattern, Pattern::HotCold { .. }),
            "The hot places lie together at the start of the file; Halfpower's are spread.",
        ),
        (
            workload.arrivals != Arrivals::Closed,
            "fio counts latency from when a request is issued, Halfpower from when it was due.",
        ),
        (
            matches!(workload.data, Data::Duplicate { .. }) && workload.request_size.0 != 4096,
            "fio duplicates whole requests, Halfpower 4 KiB.",
        ),
        (
            workload.submit_batch == SubmitBatch::Auto && workload.depth > 1 && !workload.buffering.is_direct(),
            "fio submits each request by itself, Halfpower up to 32 with one call while all come from the page cache.",
        ),
        (
            workload.verify != Verify::Off,
            "fio checks sums; Halfpower also knows where a block belongs and which write it is of.",
        ),
    ];
    remarks.iter().filter(|(applies, _)| *applies).map(|(_, remark)| *remark).collect()
}

/// The settings of the jobs on one of the targets.
///
/// # Errors
/// If the target has no workers.
pub(super) fn settings(workload: &Workload, volume: usize, is_null: bool) -> Result<Settings, String> {
    let workers = (0..workload.workers).filter(|worker| workload.volume_of(*worker) == volume).count() as u64;
    if workers == 0 {
        return Err("one of its targets has no workers".to_owned());
    }
    let mut settings: Settings = words(workload).into_iter().map(|(_, key, value)| (key, value)).collect();
    settings.push(match whole_shares(workload) {
        Some(shares) if !shares.is_empty() => ("bssplit", shares),
        _ => ("bs", workload.request_size.0.to_string()),
    });
    settings.extend(places(workload, workers));
    settings.extend(engine_options(workload, is_null));
    if let SubmitBatch::Requests(number) = workload.submit_batch {
        settings.push(("iodepth_batch", number.to_string()));
    }
    settings
        .extend([("iodepth_batch_complete_min", workload.wait_batch.to_string()), ("numjobs", workers.to_string())]);
    settings.push(match workload.cache {
        CachePolicy::Keep => ("invalidate", "0".to_owned()),
        CachePolicy::Cold | CachePolicy::ColdEachPass => ("invalidate", "1".to_owned()),
        CachePolicy::Warm => ("pre_read", "1".to_owned()),
    });
    if workload.operation.writes() {
        settings.extend(bytes_of_writes(&workload.data));
        settings.extend(match workload.verify {
            Verify::Off => vec![],
            Verify::Stamp => vec![("verify", "crc32c".to_owned()), ("do_verify", "0".to_owned())],
            Verify::ReadBack => vec![("verify", "crc32c".to_owned()), ("do_verify", "1".to_owned())],
        });
    }
    if !workload.cpus.is_empty() {
        let cpus: Vec<String> = workload.cpus.iter().map(u32::to_string).collect();
        settings.extend([("cpus_allowed", cpus.join(",")), ("cpus_allowed_policy", "split".to_owned())]);
    }
    settings.extend(pace(workload));
    settings.extend(end(workload));
    // fio accepts up to 63 bits.
    settings.push(("randseed", (workload.seed >> 1).to_string()));
    Ok(settings)
}

/// Size and offsets of the jobs.
fn places(workload: &Workload, workers: u64) -> Settings {
    let span = workload.span.0 - workload.offset.0;
    let mut settings = Settings::new();
    if workload.pattern.is_ordered() && workload.sharing == Sharing::Parts && workers > 1 {
        let step = workload.step().0;
        let part =
            if workload.sizes.is_empty() { workload.places() / workers * step } else { span / workers / step * step };
        settings.extend([("size", part.to_string()), ("offset_increment", part.to_string())]);
    } else {
        settings.push(("size", span.to_string()));
    }
    if workload.align.is_some() && !workload.pattern.is_ordered() {
        settings.push(("blockalign", workload.step().0.to_string()));
    }
    settings
}

/// The engine and its options.
fn engine_options(workload: &Workload, is_null: bool) -> Settings {
    let engine = engine(if is_null { Personality::Null } else { workload.personality });
    let mut settings = vec![("ioengine", engine.to_owned())];
    let mut on = |key| settings.push((key, "1".to_owned()));
    if engine == "io_uring" {
        let wish = |option| workload.ring.wish(option);
        if wish(RingOption::RegisteredFiles) != Wish::Declined {
            on("registerfiles");
        }
        // fio 3.42 gives its flushes such a buffer, too, which the kernel refuses.
        let flushes = matches!(workload.durability, Durability::Fsync { .. } | Durability::Fdatasync { .. });
        if wish(RingOption::RegisteredBuffers) != Wish::Declined && !flushes {
            on("fixedbufs");
        }
        if wish(RingOption::Sqpoll) == Wish::Asked {
            on("sqthread_poll");
        }
        if wish(RingOption::Iopoll) == Wish::Asked {
            on("hipri");
        }
    }
    if engine == "pvsync2" && workload.rw_flags.has(RwFlag::Hipri) {
        on("hipri");
    }
    settings
}

/// Contents of writes.
fn bytes_of_writes(data: &Data) -> Settings {
    match data {
        Data::Incompressible => vec![("scramble_buffers", "1".to_owned())],
        Data::Compressible { percent } => {
            vec![("buffer_compress_percentage", percent.to_string()), ("buffer_compress_chunk", "512".to_owned())]
        }
        Data::Duplicate { percent } => vec![("dedupe_percentage", percent.to_string())],
        Data::Zeros => vec![("zero_buffers", "1".to_owned())],
        Data::Repeated { bytes } => {
            let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
            vec![("buffer_pattern", format!("0x{digits}"))]
        }
    }
}

/// The rate of arrivals.
pub(crate) fn pace(workload: &Workload) -> Settings {
    let Some(rate) = workload.rate else { return Settings::new() };
    let (key, all) = match rate {
        Rate::Requests(all) => ("rate_iops", all),
        Rate::Bytes(all) => ("rate", all),
    };
    let process = if workload.arrivals == Arrivals::Poisson { "poisson" } else { "linear" };
    let of = |kind| all * u64::from(workload.operation.percent(kind)) / 100 / u64::from(workload.workers);
    // A direction without requests gets no rate; 0 would mean no limit.
    let directions = [RequestKind::Read, RequestKind::Write, RequestKind::Trim].map(|kind| match of(kind) {
        0 => String::new(),
        rate => rate.to_string(),
    });
    vec![(key, directions.join(",").trim_end_matches(',').to_owned()), ("rate_process", process.to_owned())]
}

/// Whether the rate is a whole number for each job and direction.
pub(crate) fn has_whole_rate(workload: &Workload) -> bool {
    let (Some(Rate::Requests(all) | Rate::Bytes(all)), parts) = (workload.rate, 100 * u128::from(workload.workers))
    else {
        return true;
    };
    let shares =
        [RequestKind::Read, RequestKind::Write, RequestKind::Trim].map(|kind| workload.operation.percent(kind));
    shares.iter().all(|percent| (u128::from(all) * u128::from(*percent)).is_multiple_of(parts))
}

/// The limits of the jobs.
fn end(workload: &Workload) -> Settings {
    let mut settings = Settings::new();
    let limits = workload.limits;
    // The file is passed repeatedly until a limit is reached.
    let whole = |bytes: u64| bytes.div_ceil(workload.request_size.0) * workload.request_size.0;
    let by_requests = limits.requests.map(|requests| share(requests, workload));
    let by_bytes = limits.bytes.map(|bytes| whole(share(bytes.0, workload)));
    let bytes =
        by_requests.map(|requests| requests.saturating_mul(workload.request_size.0)).into_iter().chain(by_bytes);
    match bytes.min() {
        Some(bytes) => settings.push(("io_size", bytes.min(i64::MAX as u64).to_string())),
        None => settings.push(("time_based", "1".to_owned())),
    }
    if let Some(requests) = by_requests {
        settings.push(("number_ios", requests.to_string()));
    }
    settings
}

/// Sizes with their shares in fio's form, empty for a single size; none if the shares are not whole percents.
fn whole_shares(workload: &Workload) -> Option<String> {
    if workload.sizes.is_empty() {
        return Some(String::new());
    }
    let kinds = [RequestKind::Read, RequestKind::Write, RequestKind::Trim];
    let list = |kind: RequestKind| {
        let sizes = workload.sizes.of(kind);
        let sum: u32 = sizes.iter().map(|(_, weight)| weight).sum();
        let one = |(size, weight): &(halfpower_model::Bytes, u32)| {
            (weight * 100).is_multiple_of(sum).then(|| format!("{}/{}", size.0, weight * 100 / sum))
        };
        sizes.iter().map(one).collect::<Option<Vec<_>>>().map(|sizes| sizes.join(":"))
    };
    // fio requires sizes for a kind without requests, too.
    let lists: Vec<String> = kinds.into_iter().map(list).collect::<Option<_>>()?;
    let given = lists.iter().find(|list| !list.is_empty())?.clone();
    let lists: Vec<String> = lists.into_iter().map(|list| if list.is_empty() { given.clone() } else { list }).collect();
    Some(lists.join(","))
}
