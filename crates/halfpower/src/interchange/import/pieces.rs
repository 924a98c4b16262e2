//! A file of our own records in pieces of whole ones, so that a file of any length is read in bounded memory. A brace that
//! is first on its line begins a record.

use std::io::{self, ErrorKind, Read};

/// Bytes of a piece, unless one record has more.
const PIECE_BYTES: usize = 2 << 20;
/// Records of a piece.
const PIECE_RECORDS: usize = 500;
/// Longest record.
const RECORD_BYTES: usize = 32 << 20;

/// Whole records, and where they are in the file.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Piece {
    pub(super) bytes: Vec<u8>,
    /// Lines of the file before it.
    pub(super) lines_before: u64,
}

/// A file, piece by piece.
pub(super) struct Pieces<R> {
    reader: R,
    /// Read and not given yet.
    buffer: Vec<u8>,
    /// How much of it was looked at.
    looked_at: usize,
    lines: u64,
    has_ended: bool,
}

impl<R: Read> Pieces<R> {
    /// A file of which `begin` was read already.
    pub(super) fn new(begin: Vec<u8>, reader: R) -> Self {
        Pieces { reader, buffer: begin, looked_at: 0, lines: 0, has_ended: false }
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
        let rest = &self.buffer[self.looked_at..];
        match rest.windows(2).position(|pair| pair == b"\n{") {
            Some(at) => {
                self.looked_at += at + 1;
                Some(self.looked_at)
            }
            None => {
                // The last byte is looked at again, with the next.
                self.looked_at += rest.len().saturating_sub(1);
                None
            }
        }
    }

    fn give(&mut self, end: usize) -> Piece {
        let rest = self.buffer.split_off(end);
        let bytes = std::mem::replace(&mut self.buffer, rest);
        self.looked_at = 0;
        let lines_before = self.lines;
        self.lines += bytes.iter().filter(|byte| **byte == b'\n').count() as u64;
        Piece { bytes, lines_before }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pieces(text: &str, begin: usize) -> Vec<Piece> {
        let (begin, rest) = text.as_bytes().split_at(begin);
        let mut pieces = Pieces::new(begin.to_vec(), rest);
        std::iter::from_fn(|| pieces.next().unwrap()).collect()
    }

    #[test]
    fn a_short_file_is_one_piece() {
        for begin in 0..3 {
            let found = pieces("{}\n", begin);
            assert_eq!(found.len(), 1);
            assert_eq!((found[0].bytes.as_slice(), found[0].lines_before), (&b"{}\n"[..], 0));
        }
        assert_eq!(pieces("", 0), []);
    }

    #[test]
    fn documents_of_one_line_and_of_several_stay_whole() {
        for document in ["{\"a\": \"{\"}\n", "{\n  \"a\": [\n    {}\n  ]\n}\n"] {
            let lines = document.matches('\n').count() as u64;
            let count = 2 * PIECE_RECORDS + 1;
            let text = document.repeat(count);
            let found = pieces(&text, 7);
            let begins: Vec<u64> = found.iter().map(|piece| piece.lines_before).collect();
            let records = PIECE_RECORDS as u64;
            assert_eq!(begins, [0, records * lines, 2 * records * lines]);
            assert!(found.iter().all(|piece| piece.bytes.starts_with(b"{") && piece.bytes.ends_with(b"}\n")));
            assert_eq!(found.iter().flat_map(|piece| piece.bytes.clone()).collect::<Vec<u8>>(), text.as_bytes());
        }
    }

    #[test]
    fn a_record_without_an_end_is_refused() {
        let endless = io::repeat(b'"');
        let error = Pieces::new(Vec::new(), endless).next().unwrap_err().to_string();
        assert!(error.contains("a record of more than 32 MiB"), "{error}");
    }
}
