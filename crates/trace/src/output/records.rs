//! Full records as Parquet: a row per request, a column per stage.
//!
//! Rows are kept in memory and written in groups of a million, because writing takes a CPU that the
//! service may need; one group is 220 MB before it is written.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parquet::basic::{Compression, ZstdLevel};
use parquet::data_type::{Int32Type, Int64Type};
use parquet::errors::{ParquetError, Result as ParquetResult};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::parser::parse_message_type;
use sojourn_base::visible::in_line;
use sojourn_base::{Fault, files};

use crate::reconstruct::counts::Thread;
use crate::reconstruct::record::Record;
use crate::reconstruct::stages::STAGES;

/// Version of the file's form.
pub const SCHEMA: &str = "sojourn.trace.records/1";
/// Rows in a group.
const ROWS: usize = 1_000_000;

/// Columns before those of the stages.
const LONGS: [&str; 4] = ["start_ns", "total_ns", "imbalance_ns", "connection"];
/// Columns between: `thread` and `writer` are slots, named in the file's metadata.
const INTS: [&str; 6] = ["thread", "writer", "bytes_in", "bytes_out", "peer_port", "seq"];

/// Takes records; writes nothing if no file was asked for.
pub struct Writer(Option<Open>);

struct Open {
    path: PathBuf,
    file: SerializedFileWriter<File>,
    rows: Vec<Record>,
    error: Option<ParquetError>,
}

impl Writer {
    /// Opens `path`, if there is one.
    pub fn open(path: Option<&Path>) -> Result<Self, Fault> {
        let Some(path) = path else { return Ok(Self(None)) };
        let open = || -> ParquetResult<Open> {
            let file = create(path, &columns())?;
            Ok(Open { path: path.into(), file, rows: Vec::new(), error: None })
        };
        open().map(|open| Self(Some(open))).map_err(|error| fault(path, &error))
    }

    /// Takes one record; a full block of them is written at once.
    pub fn add(&mut self, record: &Record) {
        let Some(open) = self.0.as_mut().filter(|open| open.error.is_none()) else { return };
        open.rows.push(record.clone());
        if open.rows.len() == ROWS {
            open.flush();
        }
    }

    /// Writes what is left, with the names of the threads.
    pub fn close(self, threads: &[Thread]) -> Result<(), Fault> {
        let Some(mut open) = self.0 else { return Ok(()) };
        open.flush();
        let slots: Vec<String> = threads.iter().map(slot).collect();
        for (key, value) in
            [("sojourn.schema", SCHEMA.to_owned()), ("sojourn.threads", slots.join(","))]
        {
            open.file.append_key_value_metadata(KeyValue::new(key.to_owned(), value));
        }
        let path = open.path;
        let closed = match open.error {
            Some(error) => Err(error),
            None => open.file.close().map(|_| ()),
        };
        closed.map_err(|error| fault(&path, &error))
    }
}

/// A thread in the metadata, where commas stand between threads: one in a name is spelled out.
fn slot(thread: &Thread) -> String {
    format!("{}:{}", thread.tid, in_line(&thread.comm).replace(',', "\\x2c"))
}

impl Open {
    fn flush(&mut self) {
        if self.rows.is_empty() || self.error.is_some() {
            return;
        }
        let rows = std::mem::take(&mut self.rows);
        let mut write = || -> ParquetResult<()> {
            let mut group = self.file.next_row_group()?;
            write_group(&mut group, &rows)?;
            group.close().map(|_| ())
        };
        self.error = write().err();
    }
}

/// A file of rows that have numbers only, open and empty.
#[cfg(feature = "bpf")]
pub(crate) struct Columns {
    path: PathBuf,
    file: SerializedFileWriter<File>,
}

/// Opens `path` for rows with columns of these names.
#[cfg(feature = "bpf")]
pub(crate) fn begin(path: &Path, names: &[&str]) -> Result<Columns, Fault> {
    let columns: Vec<String> =
        names.iter().map(|name| format!(" required int64 {name};")).collect();
    let file = create(path, &format!("message request {{{} }}", columns.concat()));
    file.map(|file| Columns { path: path.into(), file }).map_err(|error| fault(path, &error))
}

#[cfg(feature = "bpf")]
impl Columns {
    /// Writes all `rows`, each with these `values`, and closes the file.
    pub(crate) fn write<R>(
        mut self,
        schema: &str,
        rows: &[R],
        values: &[fn(&R) -> u64],
    ) -> Result<(), Fault> {
        let mut write = || -> ParquetResult<()> {
            for rows in rows.chunks(ROWS) {
                let mut group = self.file.next_row_group()?;
                for value in values {
                    let column: Vec<i64> = rows.iter().map(|row| value(row) as i64).collect();
                    long(&mut group, &column)?;
                }
                group.close()?;
            }
            let about = KeyValue::new("sojourn.schema".to_owned(), schema.to_owned());
            self.file.append_key_value_metadata(about);
            Ok(())
        };
        let closed = write().and_then(|()| self.file.close().map(|_| ()));
        closed.map_err(|error| fault(&self.path, &error))
    }
}

fn create(path: &Path, columns: &str) -> ParquetResult<SerializedFileWriter<File>> {
    let properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .build();
    let schema = Arc::new(parse_message_type(columns)?);
    SerializedFileWriter::new(files::begin(path)?, schema, Arc::new(properties))
}

fn columns() -> String {
    let longs = LONGS.iter().map(|name| format!(" required int64 {name};"));
    let ints = INTS.iter().map(|name| format!(" required int32 {name};"));
    let stages = STAGES.iter().map(|stage| format!(" required int64 {}_ns;", stage.name));
    let columns: Vec<String> = longs.chain(ints).chain(stages).collect();
    format!("message request {{{} }}", columns.concat())
}

fn write_group(
    group: &mut SerializedRowGroupWriter<'_, File>,
    rows: &[Record],
) -> ParquetResult<()> {
    let longs: [fn(&Record) -> u64; 4] =
        [|r| r.start_ns, |r| r.total_ns, |r| r.imbalance_ns, |r| r.conn];
    let ints: [fn(&Record) -> u32; 6] = [
        |r| r.thread,
        |r| r.writer,
        |r| r.bytes_in,
        |r| r.bytes_out,
        |r| u32::from(r.peer_port),
        |r| r.seq,
    ];
    for value in longs {
        let values: Vec<i64> = rows.iter().map(|row| value(row) as i64).collect();
        long(group, &values)?;
    }
    for value in ints {
        let mut column = next(group)?;
        let values: Vec<i32> = rows.iter().map(|row| value(row) as i32).collect();
        column.typed::<Int32Type>().write_batch(&values, None, None)?;
        column.close()?;
    }
    for stage in 0..STAGES.len() {
        let values: Vec<i64> = rows.iter().map(|row| row.stage_ns[stage] as i64).collect();
        long(group, &values)?;
    }
    Ok(())
}

fn long(group: &mut SerializedRowGroupWriter<'_, File>, values: &[i64]) -> ParquetResult<()> {
    let mut column = next(group)?;
    column.typed::<Int64Type>().write_batch(values, None, None)?;
    column.close()
}

fn next<'a>(
    group: &'a mut SerializedRowGroupWriter<'_, File>,
) -> ParquetResult<parquet::file::writer::SerializedColumnWriter<'a>> {
    group.next_column()?.ok_or_else(|| ParquetError::General("fewer columns than values".into()))
}

fn fault(path: &Path, error: &ParquetError) -> Fault {
    Fault::failed(
        format!("cannot write the records: {error}"),
        path.display().to_string(),
        "is there room on the disk?",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reconstruct::record::tests::record;
    use parquet::file::reader::{FileReader as _, SerializedFileReader};
    use parquet::record::RowAccessor as _;

    #[test]
    fn what_is_written_is_read_back() {
        let path = std::env::temp_dir().join(format!("sojourn-records-{}", std::process::id()));
        let mut writer = Writer::open(Some(&path)).unwrap();
        (1..=10).for_each(|i| writer.add(&record(i * 100)));
        writer.close(&[]).unwrap();
        let reader = SerializedFileReader::new(File::open(&path).unwrap()).unwrap();
        let totals: Vec<i64> = reader
            .get_row_iter(None)
            .unwrap()
            .map(|row| row.unwrap().get_long(1).unwrap())
            .collect();
        std::fs::remove_file(&path).unwrap();
        assert_eq!(totals, (1..=10).map(|i| i * 100).collect::<Vec<i64>>());
    }

    #[test]
    fn a_name_with_a_comma_is_no_further_thread() {
        let path = std::env::temp_dir().join(format!("sojourn-slots-{}", std::process::id()));
        let named = |tid, comm: &str| Thread { tid, comm: comm.into(), ..Thread::default() };
        let threads = [named(7, "a,9:b\n"), named(8, "mc:worker")];
        Writer::open(Some(&path)).unwrap().close(&threads).unwrap();
        let reader = SerializedFileReader::new(File::open(&path).unwrap()).unwrap();
        let about = reader.metadata().file_metadata().key_value_metadata().unwrap();
        let slots = about.iter().find(|it| it.key == "sojourn.threads").unwrap();
        std::fs::remove_file(&path).unwrap();
        assert_eq!(slots.value.as_deref(), Some("7:a\\x2c9:b\\x0a,8:mc:worker"));
    }

    #[test]
    fn nothing_piles_up_after_the_disk_has_failed() {
        let path = std::env::temp_dir().join(format!("sojourn-failed-{}", std::process::id()));
        let mut writer = Writer::open(Some(&path)).unwrap();
        writer.add(&record(100));
        writer.0.as_mut().unwrap().error = Some(ParquetError::General("no space left".into()));
        (1..=10).for_each(|i| writer.add(&record(i * 100)));
        assert_eq!(writer.0.as_ref().unwrap().rows.len(), 1);
        let fault = writer.close(&[]).unwrap_err();
        std::fs::remove_file(&path).unwrap();
        assert!(fault.what.contains("no space left"), "{fault}");
    }
}
