//! A file system that fills up: ext4 on a loop device.

use super::*;
use std::fs::File;
use std::process::Command;

#[test]
fn a_file_system_that_fills_up_ends_every_personality_with_its_error() {
    let Some(small) = SmallFileSystem::mount() else { return };
    let path = small.directory.path().join("mounted/file");
    File::create(&path).unwrap().set_len(64 << 20).unwrap();
    for named in personalities(&host(&path, Access::Read)) {
        for buffering in [Buffering::Buffered, Buffering::Direct] {
            std::fs::remove_file(&path).unwrap();
            small.wait_for_room();
            File::create(&path).unwrap().set_len(64 << 20).unwrap();
            let spec = WorkloadSpec {
                operation: Some(Operation::Write),
                pattern: Some(Pattern::Sequential),
                request_size: Some(Bytes(64 << 10)),
                bytes: Some(Bytes(64 << 20)),
                buffering: Some(buffering),
                ..spec_of(&named)
            };
            let mut host = host(&path, Access::Overwrite);
            if !matches!(spec.resolve(host.describe()), Ok(workload) if workload.buffering == buffering) {
                eprintln!("skipped: {named}, {buffering} is not for it");
                continue;
            }
            let sample = measure(&mut host, &spec);
            let failure = sample.failure.as_ref().map(|failure| failure.code.as_str());
            assert_eq!(failure, Some("ENOSPC"), "{named}, {buffering}");
            assert_eq!(sample.total.errors.get("ENOSPC"), Some(&1), "{named}, {buffering}");
            assert!(sample.total.requests > 0, "{named}, {buffering}: what was written before is counted");
            // What it says it wrote is stored, and of the request that failed a part at most.
            let content = std::fs::read(&path).unwrap();
            let stored = content.chunks(4096).filter(|block| block.iter().any(|byte| *byte != 0)).count();
            let counted = (sample.total.bytes / 4096) as usize;
            assert!(
                (counted..counted + 16).contains(&stored),
                "{named}, {buffering}: {stored} stored, {counted} counted"
            );
        }
    }
}

/// Unmounted when dropped.
struct SmallFileSystem {
    directory: tempfile::TempDir,
}

impl SmallFileSystem {
    /// Of 16 MiB; none, in words, where the tools or the right to use them are missing.
    fn mount() -> Option<SmallFileSystem> {
        let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let [image, mounted] = ["image", "mounted"].map(|name| directory.path().join(name));
        File::create(&image).unwrap().set_len(16 << 20).unwrap();
        std::fs::create_dir(&mounted).unwrap();
        let mut make = Command::new("mkfs.ext4");
        make.args(["-q", "-F", "-m", "0"]).arg(&image);
        let mut mount = Command::new("mount");
        mount.args(["-o", "loop"]).arg(&image).arg(&mounted);
        for command in [&mut make, &mut mount] {
            let program = command.get_program().to_string_lossy().into_owned();
            match command.output() {
                Ok(output) if output.status.success() => {}
                Ok(output) => {
                    eprintln!("skipped: {program} says {}", String::from_utf8_lossy(&output.stderr).trim());
                    return None;
                }
                Err(error) => {
                    eprintln!("skipped: {program} cannot be run ({error})");
                    return None;
                }
            }
        }
        Some(SmallFileSystem { directory })
    }

    /// Waits until the file that was removed is gone: the kernel lets go of a ring's files some time after it is closed.
    fn wait_for_room(&self) {
        let begun = Instant::now();
        let mounted = self.directory.path().join("mounted");
        loop {
            let room = rustix::fs::statvfs(&mounted).unwrap();
            if room.f_bavail * room.f_frsize > 8 << 20 {
                return;
            }
            assert!(begun.elapsed() < Duration::from_secs(30), "the file stays open");
            std::thread::sleep(Duration::from_millis(3));
        }
    }
}

impl Drop for SmallFileSystem {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(self.directory.path().join("mounted")).status();
    }
}
