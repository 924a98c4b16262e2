//! A file of rows or documents in pieces of whole records, so that a file of any length is read in bounded memory.
//!
//! Only forms whose records stand by themselves are cut: our own records, where a brace first on its line begins one, and
//! our own table, where a row ends with a line that no quote spans. Each piece of a table begins with the line of names.

use std::io::{self, ErrorKind, Read};

/// Bytes of a piece, unless one record has more.
const PIECE_BYTES: usize = 2 << 20;
/// Records of a piece.
const PIECE_RECORDS: usize = 500;
/// Longest record.
const RECORD_BYTES: usize = 32 << 20;

/// Where a file may be cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cut {
    /// Before a line that begins with a brace.
    BeforeBrace,
    /// After a line that ends outside quotes; the first has the names of the columns.
    AfterRow,
}

/// Whole records, and where they are in the file.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Piece {
    pub(super) bytes: Vec<u8>,
    /// What is to be added to a line's number in the piece, to be its number in the file. Below zero by no more than the
    /// lines that a piece repeats.
    pub(super) lines_before: i64,
}

/// A file, piece by piece.
pub(super) struct Pieces<R> {
    reader: R,
    cut: Cut,
    /// Read and not given yet.
    buffer: Vec<u8>,
    /// How much of it was looked at.
    looked_at: usize,
    is_quoted: bool,
    /// The line of names; empty before the first piece of a table, and in files that have none.
    names: Vec<u8>,
    lines: u64,
    has_ended: bool,
}

impl<R: Read> Pieces<R> {
    /// A file of which `begin` was read already.
    pub(super) fn new(begin: Vec<u8>, reader: R, cut: Cut) -> Self {
        Pieces {
            reader,
            cut,
            buffer: begin,
            looked_at: 0,
            is_quoted: false,
            names: Vec::new(),
            lines: 0,
            has_ended: false,
        }
    }

    /// The next piece; none at the end.
    ///
    /// # Errors
    /// The reader's, and when a record has more than 32 MiB.
    pub(super) fn next(&mut self) -> io::Result<Option<Piece>> {
        let (mut end, mut records) = (0, 0);
        loop {
            while let Some(place) = self.next_place() {
                (end, records) = (place, records + 1);
                if records == PIECE_RECORDS || end >= PIECE_BYTES {
                    return Ok(Some(self.give(end)));
                }
            }
            if self.has_ended {
                let rest = self.buffer.len();
                return Ok((rest > 0).then(|| self.give(rest)));
            }
            if self.buffer.len() >= PIECE_BYTES && end > 0 {
                return Ok(Some(self.give(end)));
            }
            if self.buffer.len() > RECORD_BYTES {
                let message = format!("it has a record of more than {} MiB; is it complete?", RECORD_BYTES >> 20);
                return Err(io::Error::new(ErrorKind::InvalidData, message));
            }
            let read = self.reader.by_ref().take(PIECE_BYTES as u64 / 2).read_to_end(&mut self.buffer)?;
            self.has_ended = read == 0;
        }
    }

    /// The next place after what was looked at where a record ends; none before more is read.
    fn next_place(&mut self) -> Option<usize> {
        while let Some(byte) = self.buffer.get(self.looked_at) {
            let behind = self.looked_at + 1;
            if *byte == b'"' && self.cut == Cut::AfterRow {
                self.is_quoted = !self.is_quoted;
            }
            let ends_record = *byte == b'\n'
                && match self.cut {
                    Cut::AfterRow => !self.is_quoted,
                    // The next byte is looked at as well.
                    Cut::BeforeBrace if behind == self.buffer.len() => return None,
                    Cut::BeforeBrace => self.buffer[behind] == b'{',
                };
            self.looked_at = behind;
            if ends_record {
                return Some(behind);
            }
        }
        None
    }

    fn give(&mut self, end: usize) -> Piece {
        let rest = self.buffer.split_off(end);
        let own = std::mem::replace(&mut self.buffer, rest);
        // What was looked at behind the end is looked at again, from a place outside quotes.
        (self.looked_at, self.is_quoted) = (0, false);
        let count = |bytes: &[u8]| bytes.iter().filter(|byte| **byte == b'\n').count() as u64;
        let before = self.lines as i64 - count(&self.names) as i64;
        self.lines += count(&own);
        let bytes = [&self.names[..], &own].concat();
        if self.cut == Cut::AfterRow && self.names.is_empty() {
            let names = own.iter().position(|byte| *byte == b'\n').map_or(own.len(), |end| end + 1);
            self.names = own[..names].to_vec();
        }
        Piece { bytes, lines_before: before }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pieces(text: &str, begin: usize, cut: Cut) -> Vec<Piece> {
        let (begin, rest) = text.as_bytes().split_at(begin);
        let mut pieces = Pieces::new(begin.to_vec(), rest, cut);
        std::iter::from_fn(|| pieces.next().unwrap()).collect()
    }

    #[test]
    fn a_short_file_is_one_piece() {
        for begin in 0..3 {
            let found = pieces("{}\n", begin, Cut::BeforeBrace);
            assert_eq!(found.len(), 1);
            assert_eq!((found[0].bytes.as_slice(), found[0].lines_before), (&b"{}\n"[..], 0));
        }
        assert_eq!(pieces("", 0, Cut::AfterRow), []);
    }

    #[test]
    fn documents_of_one_line_and_of_several_stay_whole() {
        for document in ["{\"a\": \"{\"}\n", "{\n  \"a\": [\n    {}\n  ]\n}\n"] {
            let lines = document.matches('\n').count() as i64;
            let count = 2 * PIECE_RECORDS + 1;
            let text = document.repeat(count);
            let found = pieces(&text, 7, Cut::BeforeBrace);
            let begins: Vec<i64> = found.iter().map(|piece| piece.lines_before).collect();
            let records = PIECE_RECORDS as i64;
            assert_eq!(begins, [0, records * lines, 2 * records * lines]);
            assert!(found.iter().all(|piece| piece.bytes.starts_with(b"{") && piece.bytes.ends_with(b"}\n")));
            assert_eq!(found.iter().flat_map(|piece| piece.bytes.clone()).collect::<Vec<u8>>(), text.as_bytes());
        }
    }

    #[test]
    fn rows_stay_whole_and_have_their_names() {
        let row = format!("1,\"{}\ntwo \"\"lines\"\"\"\n", "x".repeat(10_000));
        let text = format!("a,b\n{}", row.repeat(500));
        let found = pieces(&text, 2, Cut::AfterRow);
        assert!(found.len() > 2 && found.iter().all(|piece| piece.bytes.starts_with(b"a,b\n1,\"")));
        let rows = |piece: &Piece| (piece.bytes.len() - 4) / row.len();
        assert_eq!(found.iter().map(rows).sum::<usize>(), 500);
        // The line of the second row of the second piece.
        assert_eq!(found[1].lines_before + 2, 2 + 2 * rows(&found[0]) as i64);
    }

    #[test]
    fn a_record_without_an_end_is_refused() {
        let endless = io::repeat(b'"');
        let error = Pieces::new(Vec::new(), endless, Cut::AfterRow).next().unwrap_err().to_string();
        assert!(error.contains("a record of more than 32 MiB"), "{error}");
    }
}
