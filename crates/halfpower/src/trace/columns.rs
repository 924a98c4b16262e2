//! Traces with a request a line, in columns: one table for all of them.

use super::order::Event;
use halfpower_model::stream::{Request, RequestKind};

/// The kind of request that a word stands for.
type KindOf = fn(&[u8]) -> Option<RequestKind>;

/// Where a format has what, columns from 0. Times and sizes are in units of so many ns and bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Columns {
    /// Between columns; a space stands for any number of blanks.
    pub(super) separator: u8,
    /// Number of columns.
    pub(super) count: usize,
    /// Whether the row ends with these columns, and may have more before the second of them.
    pub(super) from_the_end: bool,
    pub(super) at: (usize, u64),
    /// Whether that is the time of the completion.
    pub(super) at_is_end: bool,
    pub(super) offset: (usize, u64),
    pub(super) length: (usize, u64),
    pub(super) latency: Option<(usize, u64)>,
    pub(super) device: Option<usize>,
    pub(super) kind: (usize, KindOf),
}

const SECTOR: u64 = 512;
/// An hour: times that count from the first completion have requests that were issued before.
const BEFORE_NS: u64 = 3_600_000_000_000;

/// A word that begins with R or W, or is D for a discard.
fn by_letter(word: &[u8]) -> Option<RequestKind> {
    match word.first()?.to_ascii_lowercase() {
        b'r' => Some(RequestKind::Read),
        b'w' => Some(RequestKind::Write),
        b'd' | b't' => Some(RequestKind::Trim),
        _ => None,
    }
}

/// 0 for reads, 1 for writes.
fn by_number(word: &[u8]) -> Option<RequestKind> {
    [(b"0", RequestKind::Read), (b"1", RequestKind::Write)]
        .into_iter()
        .find(|(number, _)| *number == word)
        .map(|of| of.1)
}

/// DiskSim's flags, whose lowest bit is set for reads.
fn by_flags(word: &[u8]) -> Option<RequestKind> {
    let flags: u64 = decimal(word, 1).filter(|_| !word.contains(&b'.'))?;
    Some(if flags & 1 == 1 { RequestKind::Read } else { RequestKind::Write })
}

const PLAIN: Columns = Columns {
    separator: b',',
    count: 5,
    from_the_end: false,
    at: (0, 1),
    at_is_end: false,
    offset: (1, 1),
    length: (2, 1),
    latency: None,
    device: None,
    kind: (3, by_letter),
};

/// Microsoft Research, Cambridge (SNIA): Windows file times in 100 ns, host, disk, operation, bytes, response time.
pub(super) const MSR: Columns = Columns {
    count: 7,
    at: (0, 100),
    offset: (4, 1),
    length: (5, 1),
    latency: Some((6, 100)),
    device: Some(2),
    kind: (3, by_letter),
    ..PLAIN
};

/// Storage Performance Council: unit, block, bytes, operation, seconds.
pub(super) const SPC: Columns = Columns { at: (4, 1_000_000_000), offset: (1, SECTOR), device: Some(0), ..PLAIN };

/// Alibaba's block traces: device, operation, bytes, microseconds.
pub(super) const ALIBABA: Columns =
    Columns { at: (4, 1000), offset: (2, 1), length: (3, 1), device: Some(0), kind: (1, by_letter), ..PLAIN };

/// Tencent's block traces: seconds, sectors, operation by number, volume.
pub(super) const TENCENT: Columns = Columns {
    at: (0, 1_000_000_000),
    offset: (1, SECTOR),
    length: (2, SECTOR),
    device: Some(4),
    kind: (3, by_number),
    ..PLAIN
};

/// DiskSim's ASCII: milliseconds, device, block, blocks, flags.
pub(super) const DISKSIM: Columns = Columns {
    separator: b' ',
    at: (0, 1_000_000),
    device: Some(1),
    offset: (2, SECTOR),
    length: (3, SECTOR),
    kind: (4, by_flags),
    ..PLAIN
};

/// Florida International University: ns, process, its name, sector, sectors, operation, device (2), a digest.
pub(super) const FIU: Columns = Columns {
    separator: b' ',
    count: 9,
    at: (0, 1),
    offset: (3, SECTOR),
    length: (4, SECTOR),
    kind: (5, by_letter),
    device: Some(7),
    ..PLAIN
};

/// The columns of biosnoop's output by its heading; processes may have blanks in their names. None for another heading, or one
/// without sectors.
pub(super) fn biosnoop(heading: &str) -> Option<Columns> {
    let words: Vec<&str> = heading.split_whitespace().collect();
    let place = |name: &str| words.iter().position(|word| *word == name);
    (words.first() == Some(&"TIME(s)")).then_some(())?;
    Some(Columns {
        separator: b' ',
        count: words.len(),
        from_the_end: true,
        at: (0, 1_000_000_000),
        at_is_end: true,
        offset: (place("SECTOR")?, SECTOR),
        length: (place("BYTES")?, 1),
        latency: Some((place("LAT(ms)")?, 1_000_000)),
        device: place("DISK"),
        kind: (place("T")?, by_letter),
    })
}

impl Columns {
    /// The device and the request of a line; none if it is not of this form.
    pub(super) fn read<'l>(&self, line: &'l [u8]) -> Option<(&'l [u8], Event)> {
        let mut fields = [b"".as_slice(); 16];
        let mut count = 0;
        for field in line.split(|byte| *byte == self.separator || self.separator == b' ' && *byte == b'\t') {
            if self.separator == b' ' && field.is_empty() {
                continue;
            }
            *fields.get_mut(count)? = field.trim_ascii();
            count += 1;
        }
        let extra = count.checked_sub(self.count).filter(|extra| *extra == 0 || self.from_the_end)?;
        let field = |index: usize| fields[if index > 0 { index + extra } else { 0 }];
        let number = |(index, unit): (usize, u64)| decimal(field(index), unit);
        let (at_ns, length) = (number(self.at)?, u32::try_from(number(self.length)?).ok()?);
        let latency_ns = match self.latency {
            Some(column) => Some(number(column)?),
            None => None,
        };
        let at_ns = match self.at_is_end {
            true => at_ns.saturating_add(BEFORE_NS).saturating_sub(latency_ns.unwrap_or(0)),
            false => at_ns,
        };
        let request = Request { offset: number(self.offset)?, length, kind: self.kind.1(field(self.kind.0))? };
        let device = self.device.map_or(b"".as_slice(), field);
        Some((device, Event::Issued { at_ns, request, latency_ns }))
    }
}

/// A plain decimal number times a unit, in whole numbers.
pub(super) fn decimal(text: &[u8], unit: u64) -> Option<u64> {
    let (mut whole, mut part, mut scale, mut is_part) = (0_u64, 0_u64, 1_u64, false);
    if text.is_empty() || text == b"." {
        return None;
    }
    for byte in text {
        match byte {
            b'0'..=b'9' if !is_part => whole = whole.checked_mul(10)?.checked_add(u64::from(byte - b'0'))?,
            // Beyond the unit's own digits nothing is left.
            b'0'..=b'9' if scale < 1_000_000_000 => {
                (part, scale) = (part * 10 + u64::from(byte - b'0'), scale * 10);
            }
            b'0'..=b'9' => {}
            b'.' if !is_part => is_part = true,
            _ => return None,
        }
    }
    let part = u128::from(part) * u128::from(unit) / u128::from(scale);
    whole.checked_mul(unit)?.checked_add(part as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(columns: &Columns, line: &str) -> Option<(String, u64, u64, u32, RequestKind, Option<u64>)> {
        let (device, event) = columns.read(line.as_bytes())?;
        let Event::Issued { at_ns, request, latency_ns } = event else { return None };
        let device = String::from_utf8_lossy(device).into_owned();
        Some((device, at_ns, request.offset, request.length, request.kind, latency_ns))
    }

    #[test]
    fn every_form_is_read() {
        use RequestKind::{Read, Write};
        let msr = read(&MSR, "128166372003061629,web,2,Write,7014609920,24576,41286");
        assert_eq!(msr, Some(("2".into(), 12816637200306162900, 7014609920, 24576, Write, Some(4_128_600))));
        let spc = read(&SPC, "1,240840,32768,r,0.551706");
        assert_eq!(spc, Some(("1".into(), 551_706_000, 240840 * 512, 32768, Read, None)));
        let alibaba = read(&ALIBABA, "419,W,8792731648,16384,1577808144360767");
        assert_eq!(alibaba, Some(("419".into(), 1577808144360767000, 8792731648, 16384, Write, None)));
        let tencent = read(&TENCENT, "1538323199,12910952,128,0,6");
        assert_eq!(tencent, Some(("6".into(), 1538323199000000000, 12910952 * 512, 65536, Read, None)));
        let disksim = read(&DISKSIM, "12.5  0 \t 4096 8 1");
        assert_eq!(disksim, Some(("0".into(), 12_500_000, 4096 * 512, 4096, Read, None)));
        let fiu = read(&FIU, "89966104560 4892 syslogd 904265560 8 W 6 0 531e779d3");
        assert_eq!(fiu, Some(("0".into(), 89966104560, 904265560 * 512, 4096, Write, None)));
    }

    #[test]
    fn biosnoop_is_read_by_its_heading() {
        let columns = biosnoop("TIME(s)     COMM           PID     DISK      T SECTOR     BYTES  LAT(ms)").unwrap();
        let line = "0.004100    Web Content    1234    nvme0n1   W 2048       4096      1.50";
        let expected = ("nvme0n1".into(), BEFORE_NS + 2_600_000, 2048 * 512, 4096, RequestKind::Write, Some(1_500_000));
        assert_eq!(read(&columns, line), Some(expected));
        assert!(biosnoop("TIME(ms)   DISK   COMM   PID   LAT(ms)").is_none());
    }

    #[test]
    fn other_lines_are_of_no_form() {
        for line in ["", "a,b,c,d,e", "1,2,3,r", "1,240840,32768,x,0.5", "1,-2,32768,r,0.5", "1,2,99999999999,r,0.5"] {
            assert_eq!(read(&SPC, line), None, "{line}");
        }
        assert_eq!(decimal(b"18446744073709551615", 2), None);
        assert_eq!(decimal(b"1.9999999999999999999", 1000), Some(1999));
    }
}
