//! The kernel's descriptions of its events, from tracefs: their numbers and the offsets of their fields.
//!
//! If tracefs is not mounted, a thread mounts it in its own namespace, which ends with the thread and leaves nothing behind.

use super::follow::{Event, Point};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Usual mount point of tracefs.
const PLACES: [&str; 2] = ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"];

/// An event's number, and the offsets of its fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Tracepoint {
    pub(super) number: u16,
    pub(super) point: Point,
    device: usize,
    sector: usize,
    /// Fields that not all have.
    sectors: Option<usize>,
    letters: Option<usize>,
}

impl Tracepoint {
    /// Parses a record.
    pub(super) fn event(&self, at_ns: u64, record: &[u8]) -> Option<Event> {
        let device = u32::from_ne_bytes(*record.get(self.device..)?.first_chunk()?);
        let sector = u64::from_ne_bytes(*record.get(self.sector..)?.first_chunk()?);
        let at = |offset: Option<usize>| offset.and_then(|offset| record.get(offset..)?.first_chunk().copied());
        let (sectors, letters) = (at(self.sectors).map_or(0, u32::from_ne_bytes), at(self.letters).unwrap_or_default());
        Some(Event { at_ns, point: self.point, device, sector, sectors, letters })
    }
}

/// Names of events, with what each stands for.
type Named = &'static [(Point, &'static str)];

/// Events of the block layer, or why they are unavailable.
pub(super) fn all(points: Named) -> Result<Vec<Tracepoint>, String> {
    if !rustix::process::geteuid().is_root() {
        return Err("needs root".to_owned());
    }
    match PLACES.iter().find(|place| Path::new(place).join("events/block").exists()) {
        Some(place) => read_all(&Path::new(place).join("events/block"), points),
        None => {
            let read = std::thread::spawn(move || mounted_aside(points));
            read.join().unwrap_or_else(|_| Err("tracefs could not be read".to_owned()))
        }
    }
}

fn mounted_aside(points: Named) -> Result<Vec<Tracepoint>, String> {
    use rustix::mount::{MountFlags, MountPropagationFlags, mount, mount_change};
    use rustix::thread::UnshareFlags;
    let place = PathBuf::from(PLACES[0]);
    let failed = |error: rustix::io::Errno| format!("tracefs is not mounted and cannot be ({error})");
    // SAFETY: a namespace and a working directory of this thread's own; it opens files by absolute names only.
    unsafe { rustix::thread::unshare_unsafe(UnshareFlags::NEWNS | UnshareFlags::FS) }.map_err(failed)?;
    mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC).map_err(failed)?;
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    mount("tracefs", &place, "tracefs", flags, None).map_err(failed)?;
    read_all(&place.join("events/block"), points)
}

fn read_all(folder: &Path, points: Named) -> Result<Vec<Tracepoint>, String> {
    points.iter().map(|(point, name)| read(&folder.join(name), *point)).collect()
}

fn read(folder: &Path, point: Point) -> Result<Tracepoint, String> {
    let text = |file: &str| {
        let path = folder.join(file);
        std::fs::read_to_string(&path).map_err(|error| format!("cannot read {} ({error})", path.display()))
    };
    let number = text("id")?.trim().parse().map_err(|_| format!("{} has no number", folder.display()))?;
    let format = text("format")?;
    let offsets = offsets(&format);
    let field = |name: &str| offsets.get(name).copied().ok_or_else(|| format!("{} has no {name}", folder.display()));
    let [sectors, letters] = ["nr_sector", "rwbs[8]"].map(|name| offsets.get(name).copied());
    // Its length differs between kernels.
    let letters = letters.or_else(|| offsets.get("rwbs[10]").copied());
    Ok(Tracepoint { number, point, device: field("dev")?, sector: field("sector")?, sectors, letters })
}

/// The offset of each field, by lines such as `field:dev_t dev; offset:8; size:4; signed:0;`.
fn offsets(format: &str) -> BTreeMap<&str, usize> {
    let fields = format.lines().filter_map(|line| {
        let (declaration, rest) = line.trim().strip_prefix("field:")?.split_once(';')?;
        let offset = rest.trim_start().strip_prefix("offset:")?.split(';').next()?;
        Some((declaration.split_whitespace().last()?, offset.parse().ok()?))
    });
    fields.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_found_where_the_kernel_says() {
        let format = "name: block_rq_issue\nID: 2104\nformat:\n\
                      \tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\n\
                      \tfield:dev_t dev;\toffset:8;\tsize:4;\tsigned:0;\n\
                      \tfield:sector_t sector;\toffset:16;\tsize:8;\tsigned:0;\n\
                      \tfield:char rwbs[10];\toffset:34;\tsize:10;\tsigned:0;\n";
        let found = offsets(format);
        assert_eq!((found.get("dev"), found.get("sector"), found.get("common_type")), (Some(&8), Some(&16), Some(&0)));
        let (sectors, letters) = (Some(24), Some(28));
        let tracepoint = Tracepoint { number: 2104, point: Point::Issued, device: 8, sector: 16, sectors, letters };
        let mut record = vec![0; 32];
        record[24] = 8;
        record[28..30].copy_from_slice(b"WS");
        record[8..12].copy_from_slice(&7_u32.to_ne_bytes());
        record[16..24].copy_from_slice(&4096_u64.to_ne_bytes());
        let event = Event { at_ns: 5, point: Point::Issued, device: 7, sector: 4096, sectors: 8, letters: *b"WS\0\0" };
        assert_eq!(tracepoint.event(5, &record), Some(event));
        assert_eq!(tracepoint.event(5, &record[..20]), None, "a record cut short");
    }
}
