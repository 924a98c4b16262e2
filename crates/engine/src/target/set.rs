//! The targets of a workload, one or several, and the steps before and after the requests on all of them.

use super::error::TargetError;
use super::facts::Access;
use super::in_use::{Node, tree_of_host};
use super::open::Target;
use super::reopened::OpenTarget;
use crate::network;
use crate::system::cache;
use crate::system::disk::DiskCounters;
use crate::system::filesystem;
use halfpower_model::{
    Bytes, CachePolicy, Cancel, FileState, MeasureError, RequestKind, TargetFacts, TargetKind, Workload,
};
use std::collections::BTreeSet;
use std::fs::{self, File, Metadata};
use std::io;
use std::path::Path;

/// Open targets, no two of which share storage. In the order of their numbers in a transfer.
#[derive(Debug)]
pub(crate) struct Targets(Vec<Target>);

impl Targets {
    /// A single target.
    pub(crate) fn one(target: Target) -> Targets {
        Targets(vec![target])
    }

    /// Several targets, in the order of their names.
    ///
    /// # Errors
    /// If the list is empty, two share storage, or `null:` is among others.
    pub(crate) fn new(targets: Vec<Target>) -> Result<Targets, TargetError> {
        if targets.len() != 1
            && (targets.is_empty() || targets.iter().any(|target| target.facts.kind == TargetKind::Null))
        {
            let text = "a workload needs one or more files and devices, or null: alone; name those";
            return Err(TargetError::Rejected(text.to_owned()));
        }
        let mut files = Vec::new();
        for target in &targets {
            let Some(file) = &target.file else { continue };
            let path = Path::new(&target.facts.path);
            files.push((path, file.metadata().map_err(|error| TargetError::from_io("examine", path, error))?));
        }
        refuse(&files)?;
        Ok(Targets(targets))
    }

    /// Their facts.
    pub(crate) fn facts(&self) -> Vec<TargetFacts> {
        self.0.iter().map(|target| target.facts.clone()).collect()
    }

    /// The targets of a workload.
    ///
    /// # Errors
    /// If there are fewer.
    pub(crate) fn of(&mut self, workload: &Workload) -> Result<Chosen<'_>, MeasureError> {
        let count = self.0.len() as u32;
        let chosen = workload.among.range(count).and_then(|range| self.0.get_mut(range));
        let too_few = || MeasureError::Unsupported(format!("--among {} does not fit {count} targets", workload.among));
        chosen.map(Chosen).ok_or_else(too_few)
    }
}

/// The targets of one workload.
pub(crate) struct Chosen<'a>(&'a mut [Target]);

impl Chosen<'_> {
    /// The targets themselves.
    pub(super) fn all(&self) -> &[Target] {
        self.0
    }

    /// The name of one of them.
    pub(crate) fn path(&self, number: usize) -> &str {
        self.0.get(number).map_or("", |target| &target.facts.path)
    }

    /// Locks all of them against runs that write, as [`Target::keep_from_writers`].
    ///
    /// # Errors
    /// With the program that writes one of them.
    pub(crate) fn keep_from_writers(&self) -> Result<Vec<File>, String> {
        let locked: Result<Vec<_>, String> = self.0.iter().map(Target::keep_from_writers).collect();
        Ok(locked?.into_iter().flatten().collect())
    }

    /// Rejects a workload that would destroy data, or measure memory instead of storage. Returns the share of holes in its span,
    /// 0 if its file state has holes.
    ///
    /// # Errors
    /// With the remedy.
    pub(crate) fn check(&self, workload: &Workload) -> Result<f64, MeasureError> {
        // On `null:` only plug-ins have data.
        let holds_data = |target: &Target| target.facts.kind != TargetKind::Null || workload.plugin.is_some();
        let read_only = |target: &&Target| target.access == Access::Read && holds_data(target);
        if workload.operation.destroys()
            && let Some(target) = self.0.iter().find(read_only)
        {
            return Err(MeasureError::Unsupported(format!(
                "{} was opened for reading only; add --overwrite if its data may be lost",
                target.facts.path
            )));
        }
        let part = self.part(workload);
        let mut hole_share = 0.0;
        for target in self.0.iter() {
            // A file changed by an earlier workload will be filled again.
            if workload.file_state == FileState::Written && !target.is_reshaped {
                // Trims make holes, those of an earlier run too.
                let refuses = workload.operation.reads() && !workload.operation.has(RequestKind::Trim);
                let share = if refuses { target.refuse_holes(part)? } else { target.hole_share(part) };
                hole_share += share / self.0.len() as f64;
            }
        }
        Ok(hole_share)
    }

    /// Brings every file into the workload's state.
    ///
    /// # Errors
    /// See [`Target::bring_into_state`].
    pub(crate) fn bring_into_state(&mut self, workload: &Workload, cancel: &Cancel) -> Result<(), MeasureError> {
        self.0.iter_mut().try_for_each(|target| target.bring_into_state(workload, cancel))
    }

    /// Brings the page cache into the workload's state; returns the share of the targets in it, if the kernel reports it for all
    /// of them.
    ///
    /// # Errors
    /// The kernel's.
    pub(crate) fn prepare_cache(&self, workload: &Workload, cancel: &Cancel) -> Result<Option<f64>, MeasureError> {
        let part = self.part(workload);
        let is_examined = workload.cache != CachePolicy::Keep
            && !workload.buffering.is_direct()
            && workload.file_state == FileState::Written;
        let mut cached_share = Some(0.0);
        for target in self.0.iter() {
            let Some(file) = &target.file else { return Ok(None) };
            match workload.cache {
                CachePolicy::Keep => cache::settle(file),
                CachePolicy::Cold | CachePolicy::ColdEachPass => cache::make_cold(file, part),
                CachePolicy::Warm => cache::make_warm(file, part, cancel),
            }
            .map_err(|source| target.failed("prepare the cache for", source))?;
            let share = if is_examined { cache::cached_share(file, part) } else { None };
            cached_share = cached_share.zip(share).map(|(sum, share)| sum + share / self.0.len() as f64);
        }
        Ok(cached_share)
    }

    /// Opens each again with the workload's buffering; empty for `null:`.
    ///
    /// # Errors
    /// The kernel's.
    pub(crate) fn reopen(&self, workload: &Workload) -> Result<Vec<OpenTarget>, MeasureError> {
        self.0.iter().filter_map(|target| target.reopen(workload).transpose()).collect()
    }

    /// The counters of the devices below; none where one of the targets has none.
    pub(crate) fn counters(&self) -> Option<DiskCounters> {
        DiskCounters::of(self.0.iter().flat_map(|target| target.devices.iter().copied()))
    }

    /// The numbers of the disks below, each once.
    pub(crate) fn disks(&self) -> Vec<(u32, u32)> {
        let devices = self.0.iter().flat_map(|target| target.devices.iter().copied().flatten());
        let disks = devices.filter_map(filesystem::disk_number);
        disks.collect::<BTreeSet<_>>().into_iter().collect()
    }

    /// Flushes each to its medium.
    ///
    /// # Errors
    /// The kernel's.
    pub(crate) fn flush(&self) -> Result<(), MeasureError> {
        self.0.iter().try_for_each(|target| {
            let file = target.file.as_ref().map_or(Ok(()), File::sync_all);
            let flushed = file.and_then(|()| target.remote.as_ref().map_or(Ok(()), network::flush));
            flushed.map_err(|source| target.failed("flush", source))
        })
    }

    /// The part of each target, from its start, that requests use.
    fn part(&self, workload: &Workload) -> Bytes {
        workload.layout.part(workload.span, self.0.len() as u32)
    }
}

impl Target {
    fn failed(&self, action: &'static str, source: io::Error) -> MeasureError {
        MeasureError::System { action, subject: self.facts.path.clone(), source }
    }
}

/// Rejects paths of which two lead to the same storage; missing files are ignored.
///
/// # Errors
/// Names the two.
pub fn refuse_same<P: AsRef<Path>>(paths: &[P]) -> Result<(), TargetError> {
    let known = paths.iter().filter_map(|path| Some((path.as_ref(), fs::metadata(path).ok()?)));
    refuse(&known.collect::<Vec<_>>())
}

/// The same for examined files.
fn refuse(targets: &[(&Path, Metadata)]) -> Result<(), TargetError> {
    if targets.len() < 2 {
        return Ok(());
    }
    let tree = tree_of_host();
    for (index, (path, facts)) in targets.iter().enumerate() {
        let others = targets[..index].iter();
        let related = |(other, its): &(&Path, Metadata)| {
            let relation = tree.relation(Node::of(facts), Node::of(its))?;
            Some((other.display().to_string(), if facts.is_dir() { "are one directory" } else { relation }))
        };
        if let Some((other, relation)) = others.filter_map(related).next() {
            let path = path.display();
            return Err(TargetError::Rejected(format!("{path} and {other} {relation}; name each target once")));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Host;
    use halfpower_model::{Buffering, Operation, Sample, Testbed, WorkloadSpec};
    use std::os::unix::fs::MetadataExt;

    const SIZE: u64 = 1 << 20;

    /// Files of sevens on the disk the build is on.
    fn files<const COUNT: usize>() -> [tempfile::TempPath; COUNT] {
        std::array::from_fn(|_| {
            let file = tempfile::NamedTempFile::new_in(env!("CARGO_MANIFEST_DIR")).unwrap();
            std::fs::write(file.path(), vec![7; SIZE as usize]).unwrap();
            file.as_file().sync_all().unwrap();
            // A target to be overwritten must not be open elsewhere.
            file.into_temp_path()
        })
    }

    fn host(files: &[tempfile::TempPath], access: Access) -> Result<Host, TargetError> {
        Host::on(files.iter().map(|file| Target::open(file, access).unwrap()).collect())
    }

    fn measure(host: &mut Host, spec: &WorkloadSpec) -> Result<Sample, MeasureError> {
        let workload = spec.resolve(host.describe()).unwrap();
        host.measure(&workload, &mut (), &Cancel::default())
    }

    fn writes() -> WorkloadSpec {
        WorkloadSpec {
            operation: Some(Operation::Write),
            buffering: Some(Buffering::Buffered),
            request_size: Some(Bytes(64 << 10)),
            ..WorkloadSpec::default()
        }
    }

    #[test]
    fn a_workload_uses_the_targets_it_names() {
        let files = files::<3>();
        let mut host = host(&files, Access::Overwrite).unwrap();
        for (among, written) in [("only=2", [false, true, false]), ("first=2", [true, true, false])] {
            files.iter().for_each(|file| std::fs::write(file, vec![7; SIZE as usize]).unwrap());
            let spec = WorkloadSpec { among: among.parse().ok(), bytes: Some(Bytes(2 * SIZE)), ..writes() };
            let sample = measure(&mut host, &spec).unwrap();
            let count = written.iter().filter(|written| **written).count() as u32;
            assert_eq!((sample.workload.workers, sample.environment.targets()), (count, count), "{among}");
            let changed: Vec<bool> =
                files.iter().map(|file| std::fs::read(file).unwrap() != vec![7; SIZE as usize]).collect();
            assert_eq!(changed, written, "{among}");
        }
        for among in ["only=4", "growing"] {
            let spec = WorkloadSpec { among: among.parse().ok(), ..writes() };
            assert!(spec.resolve(host.describe()).is_err(), "{among}");
        }
    }

    #[test]
    fn a_target_opened_for_reading_prevents_writes_to_all() {
        let files = files::<2>();
        let open = |file: &tempfile::TempPath, access| Target::open(file, access).unwrap();
        let targets = vec![open(&files[0], Access::Overwrite), open(&files[1], Access::Read)];
        let mut host = Host::on(targets).unwrap();
        for state in [FileState::Written, FileState::Append] {
            let error = measure(&mut host, &WorkloadSpec { file_state: Some(state), ..writes() }).unwrap_err();
            assert!(error.to_string().contains("reading only"), "{error}");
        }
        assert!(files.iter().all(|file| std::fs::read(file).unwrap() == vec![7; SIZE as usize]));
    }

    #[test]
    fn storage_that_is_named_twice_is_refused() {
        let [file] = files::<1>();
        let link = file.with_extension("link");
        std::os::unix::fs::symlink(&file, &link).unwrap();
        let targets = [&*file, link.as_path()].map(|path| Target::open(path, Access::Read).unwrap());
        std::fs::remove_file(link).unwrap();
        let refusal = |targets| Host::on(targets).unwrap_err().to_string();
        assert!(refusal(targets.into()).contains("are one file"));
        let null = || Target::open(Path::new(crate::NULL_TARGET), Access::Read).unwrap();
        let file = Target::open(&file, Access::Read).unwrap();
        assert!(refusal(vec![file, null()]).contains("or null: alone"));
        assert!(refusal(Vec::new()).contains("or null: alone"));
        assert!(Host::on(vec![null()]).is_ok());
    }

    #[test]
    fn a_hole_in_one_of_them_is_not_read() {
        let files = files::<2>();
        let file = std::fs::File::options().write(true).open(&files[1]).unwrap();
        file.set_len(0).unwrap();
        file.set_len(SIZE).unwrap();
        let error = measure(&mut host(&files, Access::Read).unwrap(), &WorkloadSpec::default()).unwrap_err();
        let path = files[1].display().to_string();
        assert!(error.to_string().starts_with(&path) && error.to_string().contains("sparse"), "{error}");
    }

    #[test]
    fn blocks_are_allocated_when_the_state_says_so() {
        let files = files::<2>();
        let mut host = host(&files, Access::Overwrite).unwrap();
        // Each file gets half of the bytes, at some place in it.
        for (state, length, blocks) in [
            (FileState::Append, SIZE / 2, SIZE / 2),
            (FileState::Sparse, SIZE, SIZE / 2),
            (FileState::Preallocated, SIZE, SIZE),
            (FileState::Written, SIZE, SIZE),
        ] {
            let spec = WorkloadSpec { file_state: Some(state), bytes: Some(Bytes(SIZE)), ..writes() };
            let sample = measure(&mut host, &spec).unwrap();
            assert!(sample.warnings.iter().all(|warning| warning.code != "sparse_target"), "{state}: it was wanted");
            for file in &files {
                File::open(file).unwrap().sync_all().unwrap();
                let facts = fs::metadata(file).unwrap();
                assert_eq!(facts.len(), length, "{state}");
                // Metadata may take a block or two.
                assert!((blocks..blocks + (64 << 10)).contains(&(facts.blocks() * 512)), "{state}: {}", facts.blocks());
            }
        }
        let read = measure(&mut host, &WorkloadSpec { requests: Some(9), ..WorkloadSpec::default() }).unwrap();
        assert!(read.is_complete(), "{:?}", read.failure);
    }

    #[test]
    fn one_file_has_many_names() {
        let directory = tempfile::tempdir().unwrap();
        let [file, hard, soft, other] = ["file", "hard", "soft", "other"].map(|name| directory.path().join(name));
        std::fs::write(&file, "a").unwrap();
        std::fs::write(&other, "a").unwrap();
        std::fs::hard_link(&file, &hard).unwrap();
        std::os::unix::fs::symlink(&file, &soft).unwrap();
        for name in [&file, &hard, &soft] {
            let message = refuse_same(&[&file, &other, name]).unwrap_err().to_string();
            assert!(message.contains("are one file") && message.contains(&name.display().to_string()), "{message}");
        }
        assert!(refuse_same(&[file, other, directory.path().join("none"), directory.path().join("none")]).is_ok());
        let again = directory.path().join(".");
        assert!(refuse_same(&[directory.path(), &again]).unwrap_err().to_string().contains("one directory"));
    }
}
