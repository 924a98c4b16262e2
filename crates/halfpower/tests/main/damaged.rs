//! A medium that is damaged: what fails is named, and nothing else is blamed.

use crate::support::{Lab, is_root, skip, tool};
use crate::throttled::Loop;

/// What the damaged file holds, so that it is found on the device.
const MARK: &[u8; 8] = b"halfpowr";

/// Mounts a device, and unmounts it in the end.
struct Mounted<'a>(&'a std::path::Path);

impl<'a> Mounted<'a> {
    fn on(place: &'a std::path::Path, device: &Loop) -> Option<Self> {
        tool("mount", &["-t".as_ref(), "btrfs".as_ref(), device.name().as_ref(), place.as_os_str()])
            .then_some(Mounted(place))
    }
}

impl Drop for Mounted<'_> {
    fn drop(&mut self) {
        tool("umount", &[self.0.as_os_str()]);
    }
}

#[test]
fn a_damaged_file_is_not_said_to_refuse_direct_io() {
    if !is_root() {
        return;
    }
    let lab = Lab::new();
    let (image, place, file) = (lab.path("image"), lab.place(), lab.place().join("file"));
    std::fs::File::create(&image).unwrap().set_len(200 << 20).unwrap();
    let options = ["-q", "-m", "single", "-d", "single"].map(std::ffi::OsStr::new);
    let made = tool("mkfs.btrfs", &[&options[..], &[image.as_os_str()]].concat());
    let device = made.then(|| Loop::on(&image)).flatten();
    let mounted = device.as_ref().and_then(|device| Mounted::on(&place, device));
    let (Some(device), Some(mounted)) = (&device, mounted) else { return skip("btrfs cannot be made or mounted here") };
    std::fs::write(&file, MARK.repeat(1 << 19)).unwrap();
    drop(mounted);
    let mut bytes = std::fs::read(&image).unwrap();
    let block = MARK.repeat(512);
    let start = (0..bytes.len()).step_by(4096).find(|start| bytes[*start..].starts_with(&block)).unwrap();
    bytes[start..start + (4 << 20)].fill(b'X');
    std::fs::write(&image, bytes).unwrap();
    let Some(_mounted) = Mounted::on(&place, device) else { return skip("the damaged btrfs cannot be mounted") };
    let outcome = lab.run(["io", "place/file", "--buffering=direct", "--requests=10", "--no-store"]);
    assert_eq!(outcome.status, Some(1), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("EIO") && !outcome.stderr.contains("direct I/O"), "{}", outcome.stderr);
}
