//! Raw requests as Parquet, for validity tests and for people's own notebooks.
//!
//! One row per request of the measured part, thread by thread in the order of the plan; times in ns
//! after the start of the measured part, null where the event never happened. Beyond `raw_max` rows
//! a uniform sample is stored; the file's metadata say which share (`sojourn.sampled_share`).

use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use parquet::basic::{Compression, ZstdLevel};
use parquet::column::writer::ColumnWriter;
use parquet::data_type::ByteArray;
use parquet::errors::{ParquetError, Result as ParquetResult};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::parser::parse_message_type;
use sojourn_base::Fault;
use sojourn_base::files::write_whole;
use sojourn_base::rng::{RngExt, stream};

use crate::drive::measurement::Measurement;
use crate::judge::excluded;
use crate::plan::schedule;
use crate::protocols::{self, ProtocolKind};
use crate::tally::request::Request;
use crate::watch::outage::Windows;

/// Name and version of the columns, stored in the file.
pub const SCHEMA: &str = "sojourn.load.raw/1";
/// Rows per row group.
const ROWS: usize = 131_072;

const COLUMNS: &str = "
    message request {
        required int64 intended_ns;
        optional int64 sent_ns;
        optional int64 first_byte_ns;
        optional int64 done_ns;
        required int32 thread;
        optional int32 connection;
        required binary op (string);
        required int64 item;
        required binary outcome (string);
        required int32 bytes;
        required boolean excluded;
    }";

/// One row, with times as they are written.
#[derive(Clone, Copy, Debug)]
struct Row {
    request: Request,
    thread: usize,
    is_excluded: bool,
}

/// Writes the requests of `run` to `path`; what share of them it holds is the answer.
pub fn write(run: &Measurement, path: &Path) -> Result<f64, Fault> {
    let kind = protocols::kind_of_job(&run.job)?;
    let windows = excluded::windows(run)?;
    let measured = run.measured(&schedule::timetable(&run.job)?);
    let all =
        (0..run.threads.len()).map(|k| run.measured_requests(k, measured).count() as u64).sum();
    let retained = run.job.raw_max.min(all);
    let share = if all == 0 { 1.0 } else { retained as f64 / all as f64 };
    let rows = sample(run, &windows, measured, all, retained);
    write_whole(path, "the raw requests", |out| {
        parquet((run, kind), rows, measured.0, share, out).map_err(|error| match error {
            ParquetError::External(error) => match error.downcast::<std::io::Error>() {
                Ok(error) => *error,
                Err(error) => std::io::Error::other(error.to_string()),
            },
            error => std::io::Error::other(error.to_string()),
        })
    })?;
    Ok(share)
}

/// `kept` of the `all` requests, each set of that size as likely as any other, in order.
/// Source: Knuth, The Art of Computer Programming 2, section 3.4.2, algorithm S.
fn sample<'a>(
    run: &'a Measurement,
    windows: &'a Windows,
    measured: (u64, u64),
    all: u64,
    retained: u64,
) -> impl Iterator<Item = Row> + 'a {
    let mut rng = stream(run.job.seed, "raw", 0);
    let (mut left, mut wanted) = (all, retained);
    (0..run.threads.len())
        .flat_map(move |thread| {
            let mut is_out = windows.cursor();
            run.measured_requests(thread, measured).map(move |request| {
                let is_excluded = is_out.covers(request.intended_ns);
                Row { request, thread, is_excluded }
            })
        })
        .filter(move |_| {
            let is_chosen = wanted == left || rng.random_range(0..left) < wanted;
            left -= 1;
            wanted -= u64::from(is_chosen);
            is_chosen
        })
}

fn parquet<W: Write + Send>(
    (run, kind): (&Measurement, &ProtocolKind),
    rows: impl Iterator<Item = Row>,
    zero_ns: u64,
    share: f64,
    out: &mut W,
) -> ParquetResult<()> {
    let facts = [
        ("sojourn.schema", SCHEMA.to_string()),
        ("sojourn.sampled_share", share.to_string()),
        ("sojourn.seed", run.job.seed.to_string()),
        ("sojourn.started_unix_ns", run.started_unix_ns.to_string()),
    ];
    let facts = facts.map(|(key, value)| KeyValue::new(key.to_string(), value)).to_vec();
    let properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .set_key_value_metadata(Some(facts))
        .build();
    let schema = Arc::new(parse_message_type(COLUMNS)?);
    let mut file = SerializedFileWriter::new(out, schema, Arc::new(properties))?;
    let mut rows = rows.peekable();
    while rows.peek().is_some() {
        let group: Vec<Row> = rows.by_ref().take(ROWS).collect();
        let mut writer = file.next_row_group()?;
        write_group((run, kind), &group, zero_ns, &mut writer)?;
        writer.close()?;
    }
    file.close().map(|_| ())
}

/// The columns in the order of [`COLUMNS`].
fn write_group<W: Write + Send>(
    (run, kind): (&Measurement, &ProtocolKind),
    rows: &[Row],
    zero_ns: u64,
    writer: &mut SerializedRowGroupWriter<'_, W>,
) -> ParquetResult<()> {
    let since = |ns: u64| (ns > 0).then(|| ns as i64 - zero_ns as i64);
    let optional = |value: fn(&Request) -> u64| Column::Times {
        values: rows.iter().filter_map(|row| since(value(&row.request))).collect(),
        defined: rows.iter().map(|row| i16::from(value(&row.request) > 0)).collect(),
    };
    let connection = |row: &Row| run.threads[row.thread].marks.connection[row.request.index];
    let item = |row: &Row| run.threads[row.thread].plan.item[row.request.index];
    let op = |row: &Row| kind.word(run.threads[row.thread].plan.op[row.request.index]);
    let columns = [
        Column::Longs(rows.iter().map(|r| r.request.intended_ns as i64 - zero_ns as i64).collect()),
        optional(|request| request.sent_ns),
        optional(|request| request.first_byte_ns),
        optional(|request| request.done_ns),
        Column::Ints(rows.iter().map(|row| row.thread as i32).collect()),
        Column::Places {
            values: rows
                .iter()
                .map(connection)
                .filter(|&c| c != u32::MAX)
                .map(|c| c as i32)
                .collect(),
            defined: rows.iter().map(|row| i16::from(connection(row) != u32::MAX)).collect(),
        },
        Column::Words(rows.iter().map(|row| op(row).into()).collect()),
        Column::Longs(rows.iter().map(|row| i64::from(item(row))).collect()),
        Column::Words(rows.iter().map(|row| row.request.outcome.name().into()).collect()),
        Column::Ints(rows.iter().map(|row| row.request.reply_bytes as i32).collect()),
        Column::Flags(rows.iter().map(|row| row.is_excluded).collect()),
    ];
    for column in columns {
        let mut target = writer
            .next_column()?
            .ok_or_else(|| ParquetError::General("more columns than the schema has".into()))?;
        column.write(target.untyped())?;
        target.close()?;
    }
    Ok(())
}

/// The values of one column of one row group.
enum Column {
    Longs(Vec<i64>),
    Times { values: Vec<i64>, defined: Vec<i16> },
    Ints(Vec<i32>),
    Places { values: Vec<i32>, defined: Vec<i16> },
    Words(Vec<ByteArray>),
    Flags(Vec<bool>),
}

impl Column {
    fn write(&self, target: &mut ColumnWriter<'_>) -> ParquetResult<usize> {
        match (self, target) {
            (Self::Longs(values), ColumnWriter::Int64ColumnWriter(to)) => {
                to.write_batch(values, None, None)
            }
            (Self::Times { values, defined }, ColumnWriter::Int64ColumnWriter(to)) => {
                to.write_batch(values, Some(defined), None)
            }
            (Self::Ints(values), ColumnWriter::Int32ColumnWriter(to)) => {
                to.write_batch(values, None, None)
            }
            (Self::Places { values, defined }, ColumnWriter::Int32ColumnWriter(to)) => {
                to.write_batch(values, Some(defined), None)
            }
            (Self::Words(values), ColumnWriter::ByteArrayColumnWriter(to)) => {
                to.write_batch(values, None, None)
            }
            (Self::Flags(values), ColumnWriter::BoolColumnWriter(to)) => {
                to.write_batch(values, None, None)
            }
            _ => Err(ParquetError::General("a column's type is not that of the schema".into())),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use parquet::file::reader::{FileReader, SerializedFileReader};
    use parquet::record::RowAccessor;

    use super::*;
    use crate::drive::measurement::fake;
    use crate::job::Job;
    use crate::protocols::Outcome;

    fn reader(run: &Measurement, name: &str) -> (f64, SerializedFileReader<File>) {
        let path = std::env::temp_dir().join(format!("sojourn-{name}-{}", std::process::id()));
        let share = write(run, &path).unwrap();
        let reader = SerializedFileReader::new(File::open(&path).unwrap()).unwrap();
        std::fs::remove_file(&path).unwrap();
        (share, reader)
    }

    #[test]
    fn every_request_is_a_row_and_what_never_happened_is_null() {
        let job = Job { threads: 2, set_share: 0.5, ..fake::job() };
        let mut run = fake::run(job, 1_000, 10_000);
        let last = run.threads[1].marks.done_ns.len() - 1;
        run.threads[1].marks.done_ns[last] = 0;
        run.threads[1].marks.outcome[last] = Outcome::Pending;
        let (share, reader) = reader(&run, "raw-all");
        assert_eq!(share, 1.0);
        let rows: Vec<_> = reader.get_row_iter(None).unwrap().map(Result::unwrap).collect();
        let measured = |t: &crate::plan::marks::ThreadMeasurement| {
            t.plan.intended_ns.len() - t.plan.measured_from
        };
        assert_eq!(rows.len(), run.threads.iter().map(measured).sum::<usize>());
        let first = &rows[0];
        let plan = &run.threads[0].plan;
        let due_ns = plan.intended_ns[plan.measured_from] as i64 - 100_000_000;
        assert_eq!(first.get_long(0).unwrap(), due_ns);
        assert_eq!(first.get_long(1).unwrap(), due_ns + 1_000);
        assert_eq!(first.get_string(8).unwrap(), "hit");
        let lost = rows.last().unwrap();
        assert!(lost.is_null(3).unwrap() && lost.get_string(8).unwrap() == "pending");
        let sets = rows.iter().filter(|row| row.get_string(6).unwrap() == "set").count() as f64;
        let n = rows.len() as f64;
        assert!((sets / n - 0.5).abs() < 5.0 * 0.5 / n.sqrt(), "five sigma: {sets} of {n}");
    }

    #[test]
    fn beyond_the_cap_a_uniform_sample_of_that_size_is_kept() {
        let job = Job { raw_max: 1000, ..fake::job() };
        let run = fake::run(job, 1_000, 10_000);
        let (share, reader) = reader(&run, "raw-cap");
        let meta = reader.metadata().file_metadata();
        assert_eq!(meta.num_rows(), 1000);
        let facts = meta.key_value_metadata().unwrap();
        let share_written = facts.iter().find(|fact| fact.key == "sojourn.sampled_share").unwrap();
        assert_eq!(share_written.value.as_ref().unwrap().parse::<f64>().unwrap(), share);
        let rows = reader.get_row_iter(None).unwrap().map(Result::unwrap);
        let mean_s = rows.map(|row| row.get_long(0).unwrap() as f64 / 1e9).sum::<f64>() / 1000.0;
        let sigma = 2.0 / 12_f64.sqrt() / 1000_f64.sqrt();
        assert!((mean_s - 1.0).abs() < 5.0 * sigma, "evenly over 2 s, five sigma: {mean_s}");
    }
}
