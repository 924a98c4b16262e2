//! Reads rows from the pages of a damaged store: from the leaves of its tables, even if the pages above them are
//! damaged. Of a row on several pages, the values before the first damaged page are read; the others are null.
//!
//! Format: <https://sqlite.org/fileformat2.html>. Pages in the write-ahead log override those in the file.

use rusqlite::types::Value;
use std::collections::BTreeMap;

/// Type of a leaf page of a table's b-tree.
const LEAF: u8 = 0x0d;
const LOG_HEADER: usize = 32;
const FRAME_HEADER: usize = 24;
/// Place of the page size in the header.
const PAGE_SIZE: std::ops::Range<usize> = 16..18;
const FIRST_PAGE_HEADER: usize = 100;
/// The page size of a store whose header is unreadable.
const USUAL_PAGE_SIZE: usize = 4096;

/// The pages of a store by number.
pub(super) struct Pages<'f> {
    pages: BTreeMap<u32, &'f [u8]>,
    /// Used bytes of each page.
    usable: usize,
}

impl<'f> Pages<'f> {
    pub(super) fn of(file: &'f [u8], log: &'f [u8]) -> Self {
        let stored = file.get(PAGE_SIZE).map_or(0, |size| usize::from(u16::from_be_bytes([size[0], size[1]])));
        let size = if stored >= 512 && stored.is_power_of_two() { stored } else { USUAL_PAGE_SIZE };
        let mut pages: BTreeMap<u32, &[u8]> = (1..).zip(file.chunks_exact(size)).collect();
        let salts = log.get(16..24);
        for frame in log.get(LOG_HEADER..).unwrap_or_default().chunks_exact(FRAME_HEADER + size) {
            // Frames of an earlier log follow.
            if frame.get(8..16) != salts {
                break;
            }
            pages.insert(number(&frame[..4]), &frame[FRAME_HEADER..]);
        }
        Pages { pages, usable: size }
    }

    /// Every row with its number.
    pub(super) fn rows(&self) -> impl Iterator<Item = (i64, Vec<Value>)> {
        self.pages.keys().flat_map(|page| self.rows_on(*page))
    }

    fn rows_on(&self, number: u32) -> Vec<(i64, Vec<Value>)> {
        let header = if number == 1 { FIRST_PAGE_HEADER } else { 0 };
        let Some(page) = self.pages.get(&number).filter(|page| page[header] == LEAF) else { return Vec::new() };
        let cells = usize::from(u16::from_be_bytes([page[header + 3], page[header + 4]]));
        let pointers = page[header + 8..].chunks_exact(2).take(cells);
        let at = |pointer: &[u8]| page.get(usize::from(u16::from_be_bytes([pointer[0], pointer[1]]))..);
        pointers.filter_map(|pointer| self.row(at(pointer)?)).collect()
    }

    fn row(&self, mut cell: &[u8]) -> Option<(i64, Vec<Value>)> {
        let length = usize::try_from(varint(&mut cell)?).ok()?;
        let length = Some(length).filter(|length| *length <= self.pages.len() * self.usable)?;
        let number = varint(&mut cell)?;
        let most = self.usable - 35;
        let least = (self.usable - 12) * 32 / 255 - 23;
        let here = if length <= most {
            length
        } else {
            Some(least + (length - least) % (self.usable - 4)).filter(|here| *here <= most).unwrap_or(least)
        };
        let mut payload = cell.get(..here)?.to_vec();
        let mut next = cell.get(here..here + 4).filter(|_| here < length).map(self::number);
        while let Some(page) = next.and_then(|next| self.pages.get(&next)).filter(|_| payload.len() < length) {
            let part = (length - payload.len()).min(self.usable - 4);
            payload.extend_from_slice(&page[4..4 + part]);
            next = Some(self::number(&page[..4]));
        }
        Some((number, values(&payload)?))
    }
}

/// The values of a record; none if it is invalid.
fn values(payload: &[u8]) -> Option<Vec<Value>> {
    let mut rest = payload;
    let header = usize::try_from(varint(&mut rest)?).ok()?;
    let mut kinds = payload.get(payload.len() - rest.len()..header)?;
    let mut body = payload.get(header..)?;
    let mut values = Vec::new();
    while !kinds.is_empty() {
        let kind = usize::try_from(varint(&mut kinds)?).ok()?;
        let length = match kind {
            0 | 8 | 9 => 0,
            1..=4 => kind,
            5 => 6,
            6 | 7 => 8,
            10 | 11 => return None,
            _ => (kind - 12) / 2,
        };
        let (bytes, rest) = body.split_at_checked(length).unwrap_or_default();
        body = rest;
        values.push(match kind {
            _ if bytes.len() < length => Value::Null,
            0 => Value::Null,
            8 => Value::Integer(0),
            9 => Value::Integer(1),
            7 => Value::Real(f64::from_be_bytes(bytes.try_into().ok()?)),
            1..=6 => Value::Integer(signed(bytes)),
            _ if kind % 2 == 1 => String::from_utf8(bytes.to_vec()).map_or(Value::Null, Value::Text),
            _ => Value::Blob(bytes.to_vec()),
        });
    }
    Some(values)
}

fn signed(bytes: &[u8]) -> i64 {
    let start = if bytes.first().is_some_and(|byte| byte & 0x80 != 0) { -1 } else { 0 };
    bytes.iter().fold(start, |value, byte| value << 8 | i64::from(*byte))
}

fn number(bytes: &[u8]) -> u32 {
    bytes.iter().fold(0, |value, byte| value << 8 | u32::from(*byte))
}

/// Removes a number of variable length from the front.
fn varint(bytes: &mut &[u8]) -> Option<i64> {
    let mut value = 0_i64;
    for place in 0..9 {
        let (byte, rest) = bytes.split_first()?;
        *bytes = rest;
        if place == 8 {
            return Some(value << 8 | i64::from(*byte));
        }
        value = value << 7 | i64::from(byte & 0x7f);
        if byte & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}
