//! The limit of drive cache, link and bus: a small region of each target, read over and over, on one target and on several at once.
//!
//! After the first time the device has the region in its cache, so that what is left is cache, link and bus: the Windows
//! 2000 study found the limits of its SCSI, IDE and PCI buses so (section 3.5, memspeed). Every sample is a workload like
//! any other, direct so that the file cache has no part in it. Each repetition measures every setting once, in an order
//! drawn anew. What the samples say, and whether a medium was involved after all, is for the analysis.

use halfpower_model::histogram::Histogram;
use halfpower_model::random::{Random, derive_seed};
use halfpower_model::sample::Warning;
use halfpower_model::{
    Buffering, Bytes, BytesPerSecond, Cancel, Environment, Limits, MeasureError, Nanoseconds, Operation, Pattern,
    ResolveError, Sample, Testbed, Workload, WorkloadSpec,
};

/// Time before each measurement that is not counted: fills the caches, and uses up what a limiter allows at once.
const WARMUP: Nanoseconds = Nanoseconds(500_000_000);
/// How long the small reads go on that look for a medium, and their size, or what the target needs at least.
const LOOK: Nanoseconds = Nanoseconds(400_000_000);
const LOOK_BYTES: u64 = 4096;

/// What is read, how, and how often.
#[derive(Clone, Copy, Debug)]
pub struct LinkOptions {
    /// Bytes of each target.
    pub region: Bytes,
    /// Bytes of each request.
    pub request_size: Bytes,
    /// Requests outstanding at each target.
    pub depth: u32,
    /// Of each measurement.
    pub duration: Nanoseconds,
    /// How many there are of each setting.
    pub repetitions: u32,
    /// Draws the order.
    pub seed: u64,
}

/// Targets that are read at once.
pub struct LinkSetup {
    /// Which, by their places in the list of all.
    pub targets: Vec<u32>,
    testbed: Box<dyn Testbed>,
    workload: Workload,
}

/// What the samples gave.
#[derive(Clone, Debug)]
pub struct LinkSamples {
    /// Of each setting, its bytes per second in every whole repetition.
    pub rates: Vec<(Vec<u32>, Vec<f64>)>,
    /// Of each setting of one target, in their order, how long requests took.
    pub looks: Vec<LinkLatencies>,
    /// What could make the rates wrong, each code in its first wording.
    pub warnings: Vec<Warning>,
}

impl LinkSamples {
    fn add(&mut self, setting: usize, sample: &Sample) {
        self.rates[setting].1.push(sample.total.bytes_per_s.0);
        let alone = self.rates[..setting].iter().filter(|(targets, _)| targets.len() == 1).count();
        if self.rates[setting].0.len() == 1 {
            self.looks[alone].reread.merge(&sample.latency_histogram.total());
        }
        for warning in &sample.warnings {
            if self.warnings.iter().all(|other| other.code != warning.code) {
                self.warnings.push(warning.clone());
            }
        }
    }

    /// Leaves out what a repetition that was cancelled has begun.
    fn cut(mut self, repetitions: u32) -> LinkSamples {
        self.rates.iter_mut().for_each(|(_, rates)| rates.truncate(repetitions as usize));
        self
    }
}

/// How long requests to one target took.
#[derive(Clone, Debug, Default)]
pub struct LinkLatencies {
    /// Small reads at random places of the region, one at a time.
    pub near: Histogram,
    /// The same behind the region; none where there is no room.
    pub far: Option<Histogram>,
    /// The re-reads, of all repetitions.
    pub reread: Histogram,
}

impl LinkSetup {
    /// Some of the targets, behind a testbed that has them in the same order.
    ///
    /// # Errors
    /// When one of them cannot be read so: it is smaller than the region, or takes no direct I/O.
    pub fn new(targets: Vec<u32>, testbed: Box<dyn Testbed>, options: &LinkOptions) -> Result<LinkSetup, ResolveError> {
        let spec = WorkloadSpec {
            operation: Some(Operation::Read),
            pattern: Some(Pattern::Sequential),
            request_size: Some(options.request_size),
            depth: Some(options.depth),
            buffering: Some(Buffering::Direct),
            size: Some(options.region),
            duration: Some(options.duration),
            warmup: Some(WARMUP),
            seed: Some(options.seed),
            ..WorkloadSpec::default()
        };
        let workload = spec.resolve(testbed.describe())?;
        Ok(LinkSetup { targets, testbed, workload })
    }

    /// What it is measured on.
    pub fn environment(&self) -> &Environment {
        self.testbed.describe()
    }

    fn sample(&mut self, workload: &Workload, cancel: &Cancel) -> Result<Sample, MeasureError> {
        let sample = self.testbed.measure(workload, &mut (), cancel)?;
        match sample.failure {
            Some(_) if cancel.is_cancelled() => Err(MeasureError::Cancelled),
            Some(failure) => Err(MeasureError::Unsupported(failure.message)),
            None => Ok(sample),
        }
    }

    /// Small reads at random places between two bytes; none where they do not fit.
    fn small_reads(&mut self, from: Bytes, to: Bytes, cancel: &Cancel) -> Result<Option<Histogram>, MeasureError> {
        let least = self.environment().direct_alignment().map_or(1, |alignment| alignment.0);
        let size = Bytes(LOOK_BYTES.next_multiple_of(least));
        let workload = Workload {
            pattern: Pattern::Random,
            request_size: size,
            offset: from,
            span: to,
            depth: 1,
            limits: Limits { duration: Some(LOOK), ..self.workload.limits },
            warmup: Nanoseconds(LOOK.0 / 4),
            ..self.workload.clone()
        };
        if workload.places() < 2 {
            return Ok(None);
        }
        Ok(Some(self.sample(&workload, cancel)?.latency_histogram.total()))
    }
}

/// Measures every setting, and each that has one target for signs of a medium. Cancelled, it gives the repetitions that
/// are whole.
///
/// `tell` hears how many measurements are done, of how many, and the rate of the last.
///
/// # Errors
/// When a request fails, or nothing was measured when it was cancelled.
pub fn measure(
    settings: &mut [LinkSetup],
    options: &LinkOptions,
    tell: &mut dyn FnMut(u64, u64, BytesPerSecond),
    cancel: &Cancel,
) -> Result<LinkSamples, MeasureError> {
    let mut looks = Vec::new();
    for setting in settings.iter_mut().filter(|setting| setting.targets.len() == 1) {
        let size = setting.environment().target.size_bytes;
        let near = setting.small_reads(Bytes(0), options.region, cancel)?.unwrap_or_default();
        let far = setting.small_reads(options.region, size, cancel)?;
        looks.push(LinkLatencies { near, far, reread: Histogram::default() });
    }
    let rates = settings.iter().map(|setting| (setting.targets.clone(), Vec::new())).collect();
    let mut samples = LinkSamples { rates, looks, warnings: Vec::new() };
    let total = u64::from(options.repetitions) * settings.len() as u64;
    let mut done = 0;
    for repetition in 0..options.repetitions {
        let mut order: Vec<usize> = (0..settings.len()).collect();
        Random::new(derive_seed(options.seed, u64::from(repetition))).shuffle(&mut order);
        for index in order {
            let workload = settings[index].workload.clone();
            let sample = match settings[index].sample(&workload, cancel) {
                Err(MeasureError::Cancelled) if repetition > 0 => return Ok(samples.cut(repetition)),
                sample => sample?,
            };
            samples.add(index, &sample);
            done += 1;
            tell(done, total, sample.total.bytes_per_s);
        }
    }
    Ok(samples)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::environment;
    use halfpower_model::{Observer, TargetFacts, TargetKind};

    /// Devices of 24 MB/s behind a bus of 60, whose medium takes 8 ms and cache 0.1 ms; cancels itself after so many
    /// samples.
    struct Bus {
        environment: Environment,
        left: u32,
    }

    impl Testbed for Bus {
        fn describe(&self) -> &Environment {
            &self.environment
        }

        fn measure(
            &mut self,
            workload: &Workload,
            _: &mut dyn Observer,
            cancel: &Cancel,
        ) -> Result<Sample, MeasureError> {
            if self.left == 0 {
                cancel.cancel();
                return Err(MeasureError::Cancelled);
            }
            self.left -= 1;
            assert!(workload.buffering.is_direct() && workload.operation == Operation::Read);
            let mut sample = Sample::empty(workload.clone(), self.environment.clone());
            sample.total.bytes_per_s = BytesPerSecond((24e6 * f64::from(workload.targets)).min(60e6));
            let mut latencies = Histogram::default();
            (0..100).for_each(|_| latencies.record(if workload.offset.0 > 0 { 8_000_000 } else { 100_000 }));
            sample.latency_histogram.read = Some(latencies);
            Ok(sample)
        }
    }

    const OPTIONS: LinkOptions = LinkOptions {
        region: Bytes::MIB,
        request_size: Bytes(65536),
        depth: 2,
        duration: Nanoseconds(1_000_000_000),
        repetitions: 3,
        seed: 1,
    };

    fn setting(targets: Vec<u32>, left: u32) -> LinkSetup {
        let facts = || TargetFacts {
            direct_alignment_bytes: Some(Bytes(512)),
            ..TargetFacts::bare("disk", TargetKind::BlockDevice, Bytes(64 << 20))
        };
        let environment = environment(facts(), targets.iter().skip(1).map(|_| facts()).collect());
        LinkSetup::new(targets, Box::new(Bus { environment, left }), &OPTIONS).unwrap()
    }

    #[test]
    fn every_setting_is_measured_in_each_repetition() {
        let mut settings =
            [setting(vec![0], 99), setting(vec![1], 99), setting(vec![2], 99), setting(vec![0, 1, 2], 99)];
        let mut told = Vec::new();
        let samples =
            measure(&mut settings, &OPTIONS, &mut |done, total, _| told.push((done, total)), &Cancel::default());
        let samples = samples.unwrap();
        assert_eq!(samples.rates[1], (vec![1], vec![24e6; 3]));
        assert_eq!(samples.rates[3], (vec![0, 1, 2], vec![60e6; 3]));
        assert_eq!((told.len(), told.last()), (12, Some(&(12, 12))));
        assert_eq!(samples.looks.len(), 3);
        let look = &samples.looks[0];
        assert_eq!(look.far.as_ref().and_then(|far| far.quantile(0.5)).map(|ns| ns / 1_000_000), Some(8));
        assert_eq!((look.near.count(), look.reread.count()), (100, 300));
    }

    #[test]
    fn cancelled_it_keeps_the_repetitions_that_are_whole() {
        // Two looks each, then a repetition, then the end.
        let mut settings = [setting(vec![0], 3), setting(vec![1], 99)];
        let samples = measure(&mut settings, &OPTIONS, &mut |_, _, _| {}, &Cancel::default()).unwrap();
        assert_eq!(samples.rates, [(vec![0], vec![24e6]), (vec![1], vec![24e6])]);
        let early = measure(&mut [setting(vec![0], 2)], &OPTIONS, &mut |_, _, _| {}, &Cancel::default());
        assert!(matches!(early, Err(MeasureError::Cancelled)));
    }
}
