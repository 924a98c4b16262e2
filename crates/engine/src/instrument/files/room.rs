//! What a run of many small files needs: space, inodes, descriptors, and the right to drop caches.

use super::options::FilesOptions;
use crate::instrument::drop_cache::may_drop_everything;
use halfpower_model::Bytes;
use rustix::fs::{Mode, OFlags, StatVfs, StatVfsMountFlags, fstatvfs};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::path::Path;

/// A file takes whole blocks. Network file systems report their transfer size as block, so a larger one proves nothing.
const BLOCK_MAX: u64 = 4096;
/// Descriptors beside those of the directories.
const OTHER_DESCRIPTORS: u64 = 64;

/// Rejects a run that cannot be carried out in a directory. Raises the limit on open files as far as it needs.
///
/// # Errors
/// With the reason and the remedy.
pub fn refuse(directory: &Path, options: &FilesOptions) -> Result<(), String> {
    let shown = directory.display();
    if options.cold && !may_drop_everything() {
        let needs = "which needs root and a writable /proc/sys; run as root, or remove it";
        return Err(format!("--cold drops the caches of this machine, {needs}"));
    }
    let opened = rustix::fs::open(directory, OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty());
    // What is wrong with the directory itself is found where it is examined.
    let Ok(found) = opened.and_then(fstatvfs) else { return Ok(()) };
    if found.f_flag.contains(StatVfsMountFlags::RDONLY) {
        return Err(format!("{shown} is on a read-only file system; name a directory on one that can be written"));
    }
    if let Some(lack) = lack(&found, options) {
        let remedy = "free some, use fewer --files, or a smaller --size";
        return Err(format!("{lack}, on the file system of {shown}; {remedy}"));
    }
    allow_descriptors(options)
}

/// What a file system lacks. One that makes inodes as they are needed counts none.
fn lack(found: &StatVfs, options: &FilesOptions) -> Option<String> {
    let (block, free) = (found.f_frsize.clamp(1, BLOCK_MAX), Bytes(found.f_bavail.saturating_mul(found.f_frsize)));
    let directories = options.directories() + u64::from(options.workers) + 1;
    let blocks = options.size.0.div_ceil(block).saturating_mul(options.files).saturating_add(directories);
    let (needed, inodes) = (Bytes(blocks.saturating_mul(block)), options.files + directories);
    if found.f_files > 0 && found.f_favail < inodes {
        return Some(format!("{inodes} inodes are needed and {} are free", found.f_favail));
    }
    (free < needed).then(|| format!("{needed} are needed and {free} are free"))
}

/// Makes room for one descriptor per directory.
fn allow_descriptors(options: &FilesOptions) -> Result<(), String> {
    let (directories, others) = (options.directories(), OTHER_DESCRIPTORS + u64::from(options.workers));
    let (limit, needed) = (getrlimit(Resource::Nofile), directories + others);
    let is_enough = |limit: Option<u64>| limit.is_none_or(|limit| limit >= needed);
    let raised = Rlimit { current: Some(needed), maximum: limit.maximum };
    if is_enough(limit.current) || is_enough(limit.maximum) && setrlimit(Resource::Nofile, raised).is_ok() {
        return Ok(());
    }
    let most = limit.maximum.unwrap_or(needed);
    Err(format!(
        "{directories} directories are open at a time, and the limit on open files is {most}; use --per-directory {} or more, \
         or raise the limit (ulimit -n)",
        options.files.div_ceil(most.saturating_sub(others).max(1))
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_and_inodes_are_counted_with_those_of_directories() {
        let options = |files, size| FilesOptions {
            files,
            size: Bytes(size),
            per_directory: 100,
            workers: 2,
            phases: Vec::new(),
            fsync: false,
            cold: false,
            duration: None,
            repetitions: 1,
            seed: 1,
        };
        let directory = rustix::fs::open("/", OFlags::DIRECTORY, Mode::empty()).unwrap();
        let here = fstatvfs(directory).unwrap();
        let of = |blocks: u64, inodes: Option<u64>, options: &FilesOptions| {
            let (f_files, f_favail) = (inodes.map_or(0, |_| u64::MAX), inodes.unwrap_or(0));
            lack(&StatVfs { f_bavail: blocks, f_frsize: 4096, f_files, f_favail, ..here }, options)
        };
        // A thousand files, ten directories for them, two of workers and the first one.
        assert_eq!(of(1013, Some(1013), &options(1000, 1)), None);
        assert_eq!(of(1013, None, &options(1000, 4096)), None);
        let lacks = |blocks, inodes, options: &FilesOptions| of(blocks, inodes, options).unwrap();
        assert_eq!(lacks(1 << 18, Some(1012), &options(1000, 0)), "1013 inodes are needed and 1012 are free");
        assert_eq!(lacks(1012, None, &options(1000, 1)), "4052 KiB are needed and 4048 KiB are free");
        assert!(of(1 << 28, None, &options(u64::from(u32::MAX), 1 << 20)).is_some());
    }
}
