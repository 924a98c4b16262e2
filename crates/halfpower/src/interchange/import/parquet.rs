//! The table that `halfpower export --format parquet` writes, back again, column by column.
//!
//! Files are not trusted: the places of all columns are held against the file before the library is asked for them, rows,
//! fields and texts are counted, and a batch of rows is held at a time. Compressed columns are refused: the library is
//! built without codecs, so that nothing can inflate. Columns in columns are passed over, as other unknown ones are. Where
//! the library panics, as that of version 60.1 does on a text that is longer than its page, the file is damaged.

use super::error::{Place, What, shortened};
use super::table::{MAX_COLUMNS, Row};
use super::{Format, Harvest, MAX_SAMPLES, Source};
use bytes::Bytes;
use parquet::basic::{Compression, ConvertedType, LogicalType};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::DataType;
use parquet::errors::ParquetError;
use parquet::file::metadata::{ParquetMetaData, RowGroupMetaData};
use parquet::file::reader::{FileReader, RowGroupReader, SerializedFileReader};
use parquet::schema::types::ColumnDescriptor;
use std::borrow::Cow;
use std::panic::{self, AssertUnwindSafe};

/// Most fields that are looked at.
const MAX_FIELDS: usize = 20_000_000;
/// Most bytes of all texts together: a dictionary could have one of them in every row.
const MAX_TEXT_BYTES: usize = 32 << 20;
/// Rows that are held at a time.
const BATCH: usize = 1024;

/// A field as the table of CSV has it.
type Field = Option<Cow<'static, str>>;

/// A column that is read.
struct Column {
    name: String,
    index: usize,
    /// Whether a row may have nothing in it.
    is_optional: bool,
    is_unsigned: bool,
}

/// Every row.
///
/// # Errors
/// At the first row that is none, or when the file is damaged.
pub(super) fn read(source: Source<'_>) -> Result<Harvest, What> {
    // Its message says nothing to who has the file.
    let hook = panic::take_hook();
    panic::set_hook(Box::new(|_| {}));
    let read = panic::catch_unwind(AssertUnwindSafe(|| read_table(source)));
    panic::set_hook(hook);
    let broken = "a page of it is damaged; get the whole file again, or export the run with --format csv";
    read.unwrap_or_else(|_| Err(What::whole(broken)))
}

fn read_table(source: Source<'_>) -> Result<Harvest, What> {
    let file = SerializedFileReader::new(Bytes::copy_from_slice(source.bytes)).map_err(damaged)?;
    let columns = columns(file.metadata())?;
    check(file.metadata(), source.bytes.len(), columns.len())?;
    let names: Vec<Cow<'_, str>> = columns.iter().map(|column| Cow::Borrowed(&*column.name)).collect();
    let mut table = Table { source, names: &names, row: 0, text_bytes: 0, harvest: Harvest::default() };
    for group in 0..file.num_row_groups() {
        let group = file.get_row_group(group).map_err(damaged)?;
        table.take(&*group, &columns)?;
    }
    Ok(table.harvest)
}

/// What the library says of a file, with what to do.
fn damaged(error: ParquetError) -> What {
    let said: String = shortened(&error.to_string()).chars().take(150).collect();
    What::whole(format!("{said}; get the whole file again, or export the run with --format csv"))
}

/// The columns that are no columns of columns.
fn columns(metadata: &ParquetMetaData) -> Result<Vec<Column>, What> {
    let schema = metadata.file_metadata().schema_descr();
    if schema.num_columns() > MAX_COLUMNS {
        return Err(What::whole(format!("it has more than {MAX_COLUMNS} columns; it is no table of ours")));
    }
    let is_plain = |column: &ColumnDescriptor| column.path().parts().len() == 1 && column.max_rep_level() == 0;
    let plain = schema.columns().iter().enumerate().filter(|(_, column)| is_plain(column));
    let columns: Vec<Column> = plain
        .map(|(index, column)| Column {
            name: column.name().to_owned(),
            index,
            is_optional: column.max_def_level() > 0,
            is_unsigned: matches!(column.converted_type(), ConvertedType::UINT_32 | ConvertedType::UINT_64)
                || matches!(column.logical_type_ref(), Some(LogicalType::Integer(kind)) if !kind.is_signed),
        })
        .collect();
    match ["sample", "cell", "block"].into_iter().find(|name| columns.iter().all(|column| column.name != *name)) {
        Some(name) => Err(What::whole(format!("it has no column `{name}`; it is no table of ours"))),
        None => Ok(columns),
    }
}

/// Whether what the columns say of themselves can be.
fn check(metadata: &ParquetMetaData, file_bytes: usize, columns: usize) -> Result<(), What> {
    let inside = |offset: i64, length: i64| {
        let end = offset.checked_add(length).and_then(|end| usize::try_from(end).ok());
        offset >= 0 && length >= 0 && end.is_some_and(|end| end <= file_bytes)
    };
    let mut rows = 0_usize;
    for group in metadata.row_groups() {
        let more = usize::try_from(group.num_rows()).ok();
        rows = more.and_then(|more| rows.checked_add(more)).unwrap_or(usize::MAX);
        if rows > MAX_SAMPLES || rows.saturating_mul(columns) > MAX_FIELDS {
            let message = format!("it has more than {MAX_SAMPLES} rows, or {MAX_FIELDS} fields; split it");
            return Err(What::whole(message));
        }
        check_columns(group, inside)?;
    }
    Ok(())
}

fn check_columns(group: &RowGroupMetaData, inside: impl Fn(i64, i64) -> bool) -> Result<(), What> {
    for column in group.columns() {
        if column.compression() != Compression::UNCOMPRESSED {
            let codec = column.compression();
            return Err(What::whole(format!("its columns are compressed ({codec}); write it without compression")));
        }
        let start = column.dictionary_page_offset().unwrap_or(column.data_page_offset());
        if !inside(start, column.compressed_size()) {
            let message = "a column lies beyond its end; get the whole file again, or export the run with --format csv";
            return Err(What::whole(message));
        }
    }
    Ok(())
}

/// What was read so far.
struct Table<'a> {
    source: Source<'a>,
    names: &'a [Cow<'a, str>],
    /// Rows that were taken.
    row: u64,
    text_bytes: usize,
    harvest: Harvest,
}

impl Table<'_> {
    /// The rows of a group.
    fn take(&mut self, group: &dyn RowGroupReader, columns: &[Column]) -> Result<(), What> {
        let mut readers = columns
            .iter()
            .map(|column| group.get_column_reader(column.index).map_err(damaged))
            .collect::<Result<Vec<_>, _>>()?;
        let mut left = usize::try_from(group.metadata().num_rows()).unwrap_or_default();
        while left > 0 {
            let rows = left.min(BATCH);
            left -= rows;
            let batch = readers.iter_mut().zip(columns).map(|(reader, column)| self.fields(reader, column, rows));
            let mut batch = batch.map(|fields| fields.map(Vec::into_iter)).collect::<Result<Vec<_>, _>>()?;
            for _ in 0..rows {
                self.row += 1;
                let fields: Vec<Field> = batch.iter_mut().map(|fields| fields.next().flatten()).collect();
                let place = Place::Row(self.row);
                let row = Row { format: Format::Parquet, place, names: self.names, fields: &fields };
                self.harvest.take(row.sample(self.source)?)?;
            }
        }
        Ok(())
    }

    /// The next fields of a column, as text.
    fn fields(&mut self, reader: &mut ColumnReader, column: &Column, rows: usize) -> Result<Vec<Field>, What> {
        let next = Next { column, first_row: self.row + 1, rows };
        let mut text_bytes = self.text_bytes;
        let fields = match reader {
            ColumnReader::BoolColumnReader(reader) => next.of(reader, |value| Some(value.to_string())),
            // Parquet keeps the bits of an unsigned number in a signed one.
            ColumnReader::Int32ColumnReader(reader) if column.is_unsigned => {
                next.of(reader, |value| Some(value.cast_unsigned().to_string()))
            }
            ColumnReader::Int32ColumnReader(reader) => next.of(reader, |value| Some(value.to_string())),
            ColumnReader::Int64ColumnReader(reader) if column.is_unsigned => {
                next.of(reader, |value| Some(value.cast_unsigned().to_string()))
            }
            ColumnReader::Int64ColumnReader(reader) => next.of(reader, |value| Some(value.to_string())),
            ColumnReader::FloatColumnReader(reader) => next.of(reader, |value| Some(value.to_string())),
            ColumnReader::DoubleColumnReader(reader) => next.of(reader, |value| Some(value.to_string())),
            ColumnReader::ByteArrayColumnReader(reader) => next.of(reader, |value| {
                text_bytes += value.len();
                value.as_utf8().ok().filter(|_| text_bytes <= MAX_TEXT_BYTES).map(str::to_owned)
            }),
            // Of later versions, or of another program: nothing of ours has these types.
            ColumnReader::Int96ColumnReader(_) | ColumnReader::FixedLenByteArrayColumnReader(_) => Ok(vec![None; rows]),
        };
        self.text_bytes = text_bytes;
        if text_bytes > MAX_TEXT_BYTES {
            return Err(What::whole(format!("its texts have more than {} MiB; split it", MAX_TEXT_BYTES >> 20)));
        }
        fields
    }
}

/// The rows of a column that are to be read next.
struct Next<'a> {
    column: &'a Column,
    /// From 1.
    first_row: u64,
    rows: usize,
}

impl Next<'_> {
    fn of<T: DataType>(
        &self,
        reader: &mut ColumnReaderImpl<T>,
        mut text: impl FnMut(&T::T) -> Option<String>,
    ) -> Result<Vec<Field>, What> {
        let (mut values, mut levels) = (Vec::new(), Vec::new());
        let wanted = self.column.is_optional.then_some(&mut levels);
        let (read, ..) = reader.read_records(self.rows, wanted, None, &mut values).map_err(damaged)?;
        if !self.column.is_optional {
            levels = vec![1; read];
        }
        let name = &self.column.name;
        let missing = || {
            let message =
                format!("the column `{name}` has fewer rows than the others; export the run with --format csv");
            What::whole(message)
        };
        if levels.len() != self.rows {
            return Err(missing());
        }
        let mut values = values.iter();
        let field = |(row, level): (u64, &i16)| match level {
            0 => Ok(None),
            _ => match text(values.next().ok_or_else(missing)?) {
                Some(text) => Ok(Some(Cow::Owned(text))),
                None => Err(Place::Row(row).wrong(format!("the column `{name}` is no text in UTF-8"))),
            },
        };
        (self.first_row..).zip(&levels).map(field).collect()
    }
}

#[cfg(test)]
mod tests {
    use crate::interchange::import::{Format, import_bytes};
    use parquet::data_type::{ByteArray, ByteArrayType, DataType, Int64Type};
    use parquet::errors::Result;
    use parquet::file::properties::WriterProperties;
    use parquet::file::writer::SerializedFileWriter;
    use parquet::schema::parser::parse_message_type;
    use std::sync::Arc;

    const PLACE: &str = "required int64 sample; required int64 cell; required int64 block;";

    /// A table of a row with those three columns, and of as many more of one type as there are values.
    fn table<T: DataType>(place: &str, more: &str, values: &[T::T]) -> Vec<u8> {
        let mut content = Vec::new();
        let schema = Arc::new(parse_message_type(&format!("message m {{ {place} {more} }}")).unwrap());
        let properties = Arc::new(WriterProperties::builder().build());
        let mut file = SerializedFileWriter::new(&mut content, schema, properties).unwrap();
        let mut group = file.next_row_group().unwrap();
        let mut write = || -> Result<()> {
            for _ in 0..place.matches(';').count() {
                let mut column = group.next_column()?.unwrap();
                column.typed::<Int64Type>().write_batch(&[1], None, None)?;
                column.close()?;
            }
            for value in values {
                let mut column = group.next_column()?.unwrap();
                column.typed::<T>().write_batch(std::slice::from_ref(value), Some(&[1]), None)?;
                column.close()?;
            }
            Ok(())
        };
        write().unwrap();
        group.close().unwrap();
        file.close().unwrap();
        content
    }

    fn texts(more: &str, values: &[&[u8]]) -> Vec<u8> {
        let values: Vec<ByteArray> = values.iter().map(|value| ByteArray::from(value.to_vec())).collect();
        table::<ByteArrayType>(PLACE, more, &values)
    }

    #[test]
    fn columns_are_found_by_their_names_and_others_passed_over() {
        let content = texts(
            "optional binary of_later; optional binary note; optional binary operation;",
            &[b"\xff is passed over only if it is text", b"=1", b"write"],
        );
        let error = import_bytes("t", &content, None).unwrap_err().to_string();
        assert_eq!(
            error,
            "t: row 1: the column `of_later` is no text in UTF-8 (read as parquet); mend it there, or export the run with --format csv"
        );
        let content = texts(
            "optional binary of_later; optional binary note; optional binary operation;",
            &[b"x", b"=1", b"write"],
        );
        let imported = import_bytes("t", &content, None).unwrap();
        let [sample] = &imported.samples[..] else { panic!("{imported:?}") };
        assert_eq!((sample.note.as_deref(), sample.workload.tells("depth")), (Some("=1"), false));
        assert_eq!(sample.workload.operation, halfpower_model::Operation::Write);
        assert_eq!(sample.origin.as_ref().unwrap().line, None);
    }

    #[test]
    fn what_is_no_table_of_ours_or_damaged_is_refused() {
        let short = |content: &[u8], message: &str| {
            let error = import_bytes("t.parquet", content, None).unwrap_err().to_string();
            assert!(error.starts_with("t.parquet: ") && error.contains(message), "{error}");
        };
        short(&texts("optional binary operation;", &[b"swim"]), "row 1: the column `operation` is `swim`, which it");
        short(
            &table::<Int64Type>("required int64 sample;", "", &[]),
            "it has no column `cell`; it is no table of ours",
        );
        let whole = texts("optional binary note;", &[b"x"]);
        for length in 0..whole.len() {
            if let Err(error) = import_bytes("t", &whole[..length], None) {
                assert!(error.to_string().contains("; "), "{error}");
            } else {
                panic!("{length} of {} bytes are no file", whole.len());
            }
        }
        short(&whole[..whole.len() - 1], "get the whole file again");
    }

    #[test]
    fn a_page_that_the_library_stumbles_over_is_refused() {
        let whole = texts("optional binary note;", &[b"hello"]);
        let footer = whole.len() - 8 - whole[whole.len() - 8] as usize - 256 * whole[whole.len() - 7] as usize;
        // Every bit of the pages, whose headers say how many values and bytes they have.
        for place in 0..footer * 8 {
            let mut damaged = whole.clone();
            damaged[place / 8] ^= 1 << (place % 8);
            if let Err(error) = import_bytes("t.parquet", &damaged, Some(Format::Parquet)) {
                assert!(error.to_string().contains("; "), "{error}");
            }
        }
    }

    #[test]
    fn a_text_in_every_row_is_counted_every_time() {
        let mut content = Vec::new();
        let schema = Arc::new(parse_message_type(&format!("message m {{ {PLACE} required binary note; }}")).unwrap());
        let mut file = SerializedFileWriter::new(&mut content, schema, Default::default()).unwrap();
        let mut group = file.next_row_group().unwrap();
        const ROWS: usize = 1 << 12;
        for _ in 0..3 {
            let mut column = group.next_column().unwrap().unwrap();
            column.typed::<Int64Type>().write_batch(&[1; ROWS], None, None).unwrap();
            column.close().unwrap();
        }
        let mut column = group.next_column().unwrap().unwrap();
        let text = ByteArray::from(vec![b'a'; 1 << 15]);
        column.typed::<ByteArrayType>().write_batch(&vec![text; ROWS], None, None).unwrap();
        column.close().unwrap();
        group.close().unwrap();
        file.close().unwrap();
        assert!(content.len() < 1 << 17, "a dictionary holds it once: {}", content.len());
        let error = import_bytes("t", &content, None).unwrap_err().to_string();
        assert!(error.contains("its texts have more than 32 MiB; split it"), "{error}");
    }
}
