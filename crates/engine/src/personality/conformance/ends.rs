//! Ends: errors come back as the kernel's own numbers, and nothing stays open.

use super::*;
use std::fs::File;

every_personality! {
    a_write_to_what_is_open_for_reading_fails => read_only;
    a_full_file_system_says_so => full;
    nothing_of_the_target_stays_open => descriptors;
}

fn read_only<P: Personality>(subject: &Subject) {
    if subject.storage != Storage::Target {
        return;
    }
    let target = Target::new();
    let errors = [libc::EBADF, libc::EACCES, libc::EPERM];
    match Rig::<P>::open(subject, &open(&target.path, "read", Buffering::Buffered)) {
        // One that must know beforehand refuses then.
        Err(error) => assert!(errors.iter().any(|number| is_because_of(&error, *number)), "{error}"),
        Ok(mut rig) => {
            let result = rig.run(&[(RequestKind::Write, 0, 4096)])[0];
            assert!(errors.contains(&-result), "{result}");
        }
    }
    assert!(std::fs::read(&target.path).unwrap() == target.content);
}

fn full<P: Personality>(subject: &Subject) {
    if subject.storage != Storage::Target {
        return;
    }
    let Some(small) = SmallFileSystem::mount() else { return };
    let path = small.0.path().join("file");
    File::create(&path).unwrap().set_len(SPAN as u64).unwrap();
    let mut rig = Rig::<P>::open(subject, &open(&path, "write", Buffering::Buffered)).unwrap();
    rig.buffers.slot_mut(0, 0).fill(1);
    let results: Vec<i32> =
        (0..SPAN).step_by(SLOT).map(|offset| rig.run(&[(RequestKind::Write, offset, SLOT)])[0]).collect();
    assert_eq!(results[0], SLOT as i32, "{results:?}");
    assert_eq!(results.last(), Some(&-libc::ENOSPC), "{results:?}");
    // What fitted is there: whole, or short where the room ended.
    let moved: i32 = results.iter().filter(|result| **result > 0).sum();
    let stored = std::fs::read(path).unwrap();
    assert_eq!(stored.iter().filter(|byte| **byte == 1).count(), moved as usize, "{results:?}");
}

/// A tmpfs of half a target, unmounted when dropped.
struct SmallFileSystem(tempfile::TempDir);

impl SmallFileSystem {
    fn mount() -> Option<SmallFileSystem> {
        let directory = tempfile::tempdir().unwrap();
        let flags = rustix::mount::MountFlags::empty();
        match rustix::mount::mount("tmpfs", directory.path(), "tmpfs", flags, Some(c"size=512k")) {
            Ok(()) => Some(SmallFileSystem(directory)),
            Err(error) => {
                eprintln!("skipped: cannot mount a tmpfs ({error})");
                None
            }
        }
    }
}

impl Drop for SmallFileSystem {
    fn drop(&mut self) {
        let _ = rustix::mount::unmount(self.0.path(), rustix::mount::UnmountFlags::DETACH);
    }
}

fn descriptors<P: Personality>(subject: &Subject) {
    if subject.storage == Storage::Server {
        return;
    }
    let target = Target::new();
    for _ in 0..3 {
        let mut rig = Rig::<P>::on(subject, &target, Buffering::Buffered);
        let wishes: Vec<Wish> =
            (0..rig.outstanding as usize).map(|tag| (RequestKind::Read, tag * 4096, 4096)).collect();
        assert!(rig.run(&wishes).iter().all(|result| *result == 4096));
    }
    assert_eq!(uses_of(&target.path), 0, "{}", subject.label());
    let held = target.open(Buffering::Buffered);
    assert_eq!(uses_of(&target.path), 1, "what is open is seen");
    // The target's own descriptor is not the personality's to close.
    drop(Rig::<P>::open(subject, &held).unwrap());
    assert!(held[0].file().unwrap().file.metadata().is_ok());
    drop(held);
    assert_eq!(uses_of(&target.path), 0);
}

/// Descriptors and mappings of this process that lead to a file.
fn uses_of(path: &Path) -> usize {
    let links =
        std::fs::read_dir("/proc/self/fd").unwrap().filter_map(|entry| std::fs::read_link(entry.ok()?.path()).ok());
    let mappings = std::fs::read_to_string("/proc/self/maps").unwrap();
    let name = path.display().to_string();
    links.filter(|link| link == path).count() + mappings.lines().filter(|line| line.ends_with(&name)).count()
}
