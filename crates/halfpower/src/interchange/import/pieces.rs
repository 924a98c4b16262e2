//! A file of our own records in parts of whole records, so that a file of any length needs bounded memory. A brace at
//! the start of a line begins a record.

use std::io::{self, BufRead, BufReader, ErrorKind, Read};

/// Bytes of a part, unless one record is larger.
const PIECE_BYTES: usize = 2 << 20;
/// Maximum number of records of a part.
const PIECE_RECORDS: usize = 500;
/// Maximum size of a record.
const RECORD_BYTES: usize = 32 << 20;

/// Whole records with their place in the file.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Piece {
    pub(super) bytes: Vec<u8>,
    /// Lines of the file before it.
    pub(super) lines_before: u64,
}

/// A file read in parts.
pub(super) struct Pieces<R> {
    reader: BufReader<R>,
    /// The next line.
    line: Vec<u8>,
    /// Number of lines returned.
    lines: u64,
}

impl<R: Read> Pieces<R> {
    pub(super) fn new(reader: R) -> Self {
        Pieces { reader: BufReader::new(reader), line: Vec::new(), lines: 0 }
    }

    /// The next part; none at the end.
    ///
    /// # Errors
    /// Errors of the reader; a record over 32 MiB.
    pub(super) fn next(&mut self) -> io::Result<Option<Piece>> {
        let mut piece = Piece { bytes: Vec::new(), lines_before: self.lines };
        let (mut records, mut start) = (0, 0);
        loop {
            if self.line.starts_with(b"{") {
                if records == PIECE_RECORDS || piece.bytes.len() >= PIECE_BYTES {
                    return Ok(Some(piece));
                }
                (records, start) = (records + 1, piece.bytes.len());
            }
            self.lines += u64::from(self.line.ends_with(b"\n"));
            piece.bytes.append(&mut self.line);
            if piece.bytes.len() - start > RECORD_BYTES {
                let message = format!("it has a record of more than {} MiB; is it complete?", RECORD_BYTES >> 20);
                return Err(io::Error::new(ErrorKind::InvalidData, message));
            }
            if self.reader.by_ref().take(RECORD_BYTES as u64 + 1).read_until(b'\n', &mut self.line)? == 0 {
                return Ok((!piece.bytes.is_empty()).then_some(piece));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pieces(text: &str) -> Vec<Piece> {
        let mut pieces = Pieces::new(text.as_bytes());
        std::iter::from_fn(|| pieces.next().unwrap()).collect()
    }

    #[test]
    fn documents_of_one_line_and_of_several_stay_whole() {
        assert_eq!((pieces("").len(), pieces("{}\n").len()), (0, 1));
        for document in ["{\"a\": \"{\"}\n", "{\n  \"a\": [\n    {}\n  ]\n}\n"] {
            let lines = document.matches('\n').count() as u64;
            let count = 2 * PIECE_RECORDS + 1;
            let text = document.repeat(count);
            let found = pieces(&text);
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
        let error = Pieces::new(endless).next().unwrap_err().to_string();
        assert!(error.contains("a record of more than 32 MiB"), "{error}");
    }
}
