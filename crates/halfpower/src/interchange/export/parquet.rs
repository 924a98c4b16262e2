//! The table as Parquet: one row group without compression, so that any reader can read it. Unmeasured values are null.

use super::table::{COLUMNS, Kind, PLACE, place, values};
use crate::store::StoredSample;
use parquet::basic::{ConvertedType, Repetition, Type as Physical};
use parquet::data_type::{BoolType, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::Result;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::{Type, TypePtr};
use serde_json::Value;
use std::sync::Arc;

/// The file.
///
/// # Errors
/// If the library rejects the table.
pub(super) fn write(samples: &[StoredSample]) -> Result<Vec<u8>> {
    let mut content = Vec::new();
    let properties = Arc::new(WriterProperties::builder().build());
    let mut file = SerializedFileWriter::new(&mut content, schema()?, properties)?;
    let mut group = file.next_row_group()?;
    for number in 0..PLACE.len() {
        column::<Int64Type>(&mut group, samples.iter().map(|stored| Some(place(stored)[number])))?;
    }
    let rows: Vec<Vec<Value>> = samples.iter().map(|stored| values(stored).collect()).collect();
    for (number, (_, _, kind)) in COLUMNS.iter().enumerate() {
        let values = rows.iter().map(|row| &row[number]);
        match kind {
            Kind::Text => column::<ByteArrayType>(&mut group, values.map(|value| value.as_str().map(Into::into)))?,
            // Parquet stores the bits of an unsigned number in a signed one.
            Kind::Count => column::<Int64Type>(&mut group, values.map(|value| value.as_u64().map(u64::cast_signed)))?,
            Kind::Figure => column::<DoubleType>(&mut group, values.map(Value::as_f64))?,
            Kind::Truth => column::<BoolType>(&mut group, values.map(Value::as_bool))?,
        }
    }
    group.close()?;
    file.close()?;
    Ok(content)
}

fn schema() -> Result<TypePtr> {
    let place = PLACE.iter().map(|name| (*name, Kind::Count));
    let fields = place.chain(COLUMNS.iter().map(|(name, _, kind)| (*name, *kind))).map(|(name, kind)| {
        let (physical, converted) = match kind {
            Kind::Text => (Physical::BYTE_ARRAY, ConvertedType::UTF8),
            Kind::Count => (Physical::INT64, ConvertedType::UINT_64),
            Kind::Figure => (Physical::DOUBLE, ConvertedType::NONE),
            Kind::Truth => (Physical::BOOLEAN, ConvertedType::NONE),
        };
        let field = Type::primitive_type_builder(name, physical);
        Ok(Arc::new(field.with_repetition(Repetition::OPTIONAL).with_converted_type(converted).build()?))
    });
    let fields = fields.collect::<Result<Vec<_>>>()?;
    Ok(Arc::new(Type::group_type_builder("samples").with_fields(fields).build()?))
}

/// A column: its values, and a level per row that is 0 for null.
fn column<T: DataType>(
    group: &mut SerializedRowGroupWriter<'_, &mut Vec<u8>>,
    values: impl Iterator<Item = Option<T::T>>,
) -> Result<()> {
    let values: Vec<Option<T::T>> = values.collect();
    let levels: Vec<i16> = values.iter().map(|value| i16::from(value.is_some())).collect();
    let present: Vec<T::T> = values.into_iter().flatten().collect();
    if let Some(mut writer) = group.next_column()? {
        writer.typed::<T>().write_batch(present.as_slice(), Some(&levels), None)?;
        writer.close()?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use halfpower_model::{Environment, Sample, Workload};
    use parquet::file::reader::{FileReader, SerializedFileReader};

    #[test]
    fn a_row_is_a_sample_and_null_is_null() {
        let workload = Workload { seed: u64::MAX, ..Workload::default() };
        let mut sample = Sample::empty(workload, Environment::unknown("disk", None));
        sample.total.bytes_per_s.0 = 1.5;
        let stored = StoredSample { id: 7, cell: 2, block: 1, sample };
        let content = write(&[stored]).unwrap();
        let reader = SerializedFileReader::new(bytes_of(content)).unwrap();
        let row = reader.get_row_iter(None).unwrap().next().unwrap().unwrap().to_string();
        for field in ["sample: 7", "bytes_per_s: 1.5", "target: \"disk\"", "seed: 18446744073709551615", "note: null"] {
            assert!(row.contains(field), "{field}: {row}");
        }
    }

    /// A file with the content: the reader needs random access.
    fn bytes_of(content: Vec<u8>) -> std::fs::File {
        use std::io::Write as _;
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&content).unwrap();
        file
    }
}
