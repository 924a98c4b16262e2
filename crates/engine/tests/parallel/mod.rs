//! Workers side by side: processes, their figures, and what happens when one of them breaks down.

use super::{file, host, host_for, measure, spec};
use halfpower_engine::{Access, Host};
use halfpower_model::{Cancel, Observer, Personality, Progress, Sample, Testbed, WorkerKind, WorkloadSpec};
use rustix::process::{Pid, Signal, kill_process};

#[test]
fn processes_do_what_threads_do() {
    let (_directory, path) = file(4 << 20);
    for personality in [Personality::Sync, Personality::IoUring] {
        let Some(mut host) = host_for(personality, &path, Access::Overwrite) else { continue };
        let method = format!("personality={personality} buffering=buffered durability=flush_at_end time_close=on");
        let load = "operation=write request_size=64KiB workers=3 processes=on requests=63";
        let sample = measure(&mut host, &spec(&format!("{method} {load}")));
        assert!(sample.is_complete(), "{:?}", sample.failure);
        assert_eq!(sample.total.requests, 63);
        assert_eq!(sample.workers.iter().map(|worker| worker.requests).collect::<Vec<_>>(), [21, 21, 21]);
        assert!(sample.flush_s.is_some_and(|flush_s| flush_s > 0.0));
        let parallel = sample.parallel.expect("workers side by side");
        let rates: f64 = sample.workers.iter().map(|worker| worker.bytes_per_s.0).sum();
        assert!((parallel.sum_bytes_per_s.0 / rates - 1.0).abs() < 1e-9);
        assert!((parallel.parent_bytes_per_s.0 / sample.total.bytes_per_s.0 - 1.0).abs() < 1e-9);
        assert!(parallel.parent_bytes_per_s.0 <= parallel.sum_bytes_per_s.0 * (1.0 + 1e-9));
        assert!(parallel.min_bytes_per_s.0 <= parallel.mean_bytes_per_s.0);
        assert!(parallel.mean_bytes_per_s.0 <= parallel.max_bytes_per_s.0);
        assert!((21..=63).contains(&(parallel.bytes_at_first_finish / (64 << 10))), "{parallel:?}");
    }
}

#[test]
fn a_shared_cursor_takes_every_block_once() {
    let (_directory, path) = file(4 << 20);
    for worker_kind in [WorkerKind::Thread, WorkerKind::Process] {
        let mut host = host(&path, Access::Overwrite);
        let place = "operation=write sharing=cursor request_size=4KiB buffering=buffered requests=1024";
        let spec = spec(&format!("{place} workers=4 processes={worker_kind}"));
        std::fs::write(&path, vec![7; 4 << 20]).unwrap();
        assert_eq!(measure(&mut host, &spec).total.requests, 1024);
        let untouched = std::fs::read(&path).unwrap().chunks(4096).filter(|block| block == &[7; 4096]).count();
        assert_eq!(untouched, 0, "{worker_kind}");
    }
}

/// Sends a signal to one worker's process after some requests, and cancels if it has a `cancel`.
struct SignalOne {
    signal: Option<Signal>,
    cancel: Option<Cancel>,
}

impl Observer for SignalOne {
    fn progress(&mut self, progress: &Progress) {
        if progress.requests < 1000 {
            return;
        }
        let Some(signal) = self.signal.take() else { return };
        // The thread that measures has started them.
        let children = std::fs::read_to_string("/proc/thread-self/children").unwrap();
        if let Some(pid) = children.split_whitespace().next() {
            kill_process(Pid::from_raw(pid.parse().unwrap()).unwrap(), signal).unwrap();
        }
        if let Some(cancel) = &self.cancel {
            cancel.cancel();
        }
    }
}

/// A sample of two processes, of which one gets a signal.
fn with_signal(signal: Signal, seconds: u64, cancels: bool) -> Sample {
    let (_directory, path) = file(4 << 20);
    let spec = spec(&format!("pattern=random buffering=buffered duration={seconds}s"));
    signal_one(&mut host(&path, Access::Read), signal, &spec, cancels)
}

/// The same of any workload.
fn signal_one(host: &mut Host, signal: Signal, spec: &WorkloadSpec, cancels: bool) -> Sample {
    let spec = WorkloadSpec { workers: Some(2), processes: Some(WorkerKind::Process), ..spec.clone() };
    let workload = spec.resolve(host.describe()).unwrap();
    let cancel = Cancel::default();
    let mut observer = SignalOne { signal: Some(signal), cancel: cancels.then(|| cancel.clone()) };
    let sample = host.measure(&workload, &mut observer, &cancel).unwrap();
    assert!(sample.total.requests > 0 && sample.elapsed_s < 30.0);
    sample
}

#[test]
fn writes_of_a_killed_process_are_verified_without_false_mismatches() {
    for (personality, depth) in [(Personality::Sync, 1), (Personality::IoUring, 16)] {
        for verify in ["stamp", "read_back"] {
            let (_directory, path) = file(4 << 20);
            let Some(mut host) = host_for(personality, &path, Access::Overwrite) else { continue };
            let writes = "operation=write pattern=random request_size=4KiB buffering=buffered duration=60s";
            let spec = spec(&format!("{writes} personality={personality} depth={depth} verify={verify}"));
            let written = signal_one(&mut host, Signal::KILL, &spec, false);
            let case = format!("{personality}, {verify}");
            assert_eq!(written.failure.as_ref().map(|failure| failure.code.as_str()), Some("worker"), "{case}");
            assert!(written.workers.iter().all(|worker| worker.submitted >= worker.requests), "{case}");
            let failed = &written.verified.as_ref().expect("it was stamped").failed;
            assert!(failed.len() <= depth as usize, "{case}: no more than it had outstanding: {failed:?}");
            let found = host.verify(&written, &Cancel::default()).unwrap().verified.unwrap();
            assert!(found.blocks > 100 && found.wrong == 0, "{case}: {found:?}");
        }
    }
}

#[test]
fn the_figures_side_by_side_have_the_bytes_and_the_time_of_a_killed_process() {
    let sample = with_signal(Signal::KILL, 60, false);
    let failure = sample.failure.as_ref().expect("it failed");
    assert!(failure.code == "worker" && failure.message.contains("killed by signal 9"), "{failure:?}");
    let parallel = sample.parallel.expect("two side by side");
    let [one, other] = [0, 1].map(|index| sample.workers[index].elapsed_s);
    let (least, most) = (one.min(other), one.max(other));
    assert!(least > 0.0 && least < most && most == sample.elapsed_s, "{least} s and {most} s of {}", sample.elapsed_s);
    let rates = sample.workers.iter().map(|worker| worker.bytes as f64 / worker.elapsed_s);
    assert!((parallel.sum_bytes_per_s.0 / rates.sum::<f64>() - 1.0).abs() < 1e-9, "{parallel:?}");
    assert!(parallel.min_bytes_per_s.0 > 0.0, "{parallel:?}");
    assert!(parallel.sum_bytes_per_s.0 >= parallel.parent_bytes_per_s.0, "{parallel:?}");
    assert!(sample.workers.iter().all(|worker| worker.submitted >= worker.requests), "{:?}", sample.workers);
}

#[test]
fn a_stopped_process_ends_with_a_cancelled_run() {
    let failure = with_signal(Signal::STOP, 60, true).failure.expect("it was interrupted");
    assert_eq!(failure.code, "interrupted");
}

#[test]
fn a_stopped_process_does_not_prolong_the_run() {
    let sample = with_signal(Signal::STOP, 1, false);
    assert!(sample.is_complete(), "{:?}", sample.failure);
    assert!(sample.warnings.iter().any(|warning| warning.code == "paused"), "{:?}", sample.warnings);
}

#[test]
fn hundreds_of_processes_run_and_end() {
    let (_directory, path) = file(4 << 20);
    let mut host = host(&path, Access::Read);
    let spec = spec("pattern=random buffering=buffered workers=200 processes=on requests=400");
    let workload = spec.resolve(host.describe()).unwrap();
    let measure = move || {
        let sample = host.measure(&workload, &mut (), &Cancel::default()).unwrap();
        // Of this thread alone, because other tests have children too.
        let children = std::fs::read_to_string("/proc/thread-self/children").unwrap();
        (sample, children)
    };
    let (sample, children) = std::thread::spawn(measure).join().unwrap();
    assert!(sample.workers.iter().all(|worker| worker.requests == 2));
    assert_eq!((sample.workers.len(), children.as_str()), (200, ""));
}
