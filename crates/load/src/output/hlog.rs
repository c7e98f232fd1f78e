//! Histograms of sojourn times by slices of a run, as an `HdrHistogram` interval log (V2, compressed).
//!
//! Two series: untagged, the requests outside outages of the instrument, as in `sojourn_ns`; and
//! `Tag=all`, every request. A request belongs to the slice in which it was due.
//! A slice is a fortieth of the run, and at most a second: enough of them to see a trend, a cold start
//! and how requests depend on each other without any raw request, also in a run of two seconds.
//! Values are ns; the largest of a line is in ms, because readers take histograms for ns and show so. A
//! failed request is written as one hour, the largest value there is, because it must lie above
//! every other: the format knows no infinity.
//!
//! The first line names the version of the format and the last of the head its columns: `HdrHistogram_c`
//! reads no log without them. Source: `HdrHistogram`, `HistogramLogWriter`.

use std::io::{self, Write};
use std::iter::Peekable;
use std::path::Path;
use std::time::{Duration, SystemTime};

use hdrhistogram::serialization::V2DeflateSerializer;
use hdrhistogram::serialization::interval_log::{
    IntervalLogWriterBuilder, IntervalLogWriterError, Tag,
};
use sojourn_base::Fault;
use sojourn_base::files::write_whole;

use crate::drive::measurement::Measurement;
use crate::judge::excluded;
use crate::plan::schedule;
use crate::tally::slices::{empty, slice_ns, sojourn_or_hour_ns};
use crate::watch::outage::Windows;

const VERSION: &str = "#[Histogram log format version 1.3]\n";
const COLUMNS: &str =
    "\"StartTimestamp\",\"Interval_Length\",\"Interval_Max\",\"Interval_Compressed_Histogram\"\n";
/// Of a largest value, so that it is in ms.
const NS_PER_MS: f64 = 1e6;

/// Puts the columns' names before the first line that is no comment: the library has no call for it.
struct Headed<W> {
    out: W,
    is_begun: bool,
    is_line_begun: bool,
}

impl<W: Write> Write for Headed<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if !self.is_begun && !self.is_line_begun && bytes.first().is_some_and(|&byte| byte != b'#')
        {
            self.out.write_all(COLUMNS.as_bytes())?;
            self.is_begun = true;
        }
        let written = self.out.write(bytes)?;
        if let Some(last) = bytes[..written].last() {
            self.is_line_begun = *last != b'\n';
        }
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// Writes the log of `run` to `path`.
pub fn write(run: &Measurement, path: &Path) -> Result<(), Fault> {
    let windows = excluded::windows(run)?;
    let measured = run.measured(&schedule::timetable(&run.job)?);
    write_whole(path, "the interval log", |out| log(run, &windows, measured, out))
}

fn log(
    run: &Measurement,
    windows: &Windows,
    (from_ns, to_ns): (u64, u64),
    out: &mut impl Write,
) -> io::Result<()> {
    let started = SystemTime::UNIX_EPOCH + Duration::from_nanos(run.started_unix_ns);
    out.write_all(VERSION.as_bytes())?;
    let mut out = Headed { out, is_begun: false, is_line_begun: false };
    let mut serializer = V2DeflateSerializer::new();
    let mut log = IntervalLogWriterBuilder::new()
        .add_comment("[sojourn times, ns; failed requests as one hour; Tag=all: outages included]")
        .with_start_time(started)
        .with_base_time(started)
        .with_max_value_divisor(NS_PER_MS)
        .begin_log_with(&mut out, &mut serializer)?;
    let tag = Tag::new("all");
    if let Some(slices) = run.long.as_ref().and_then(|result| result.slices.as_ref()) {
        for (index, start_ns) in (0..).zip((from_ns..to_ns).step_by(slices.length_ns() as usize)) {
            let slice = slices.get(index);
            let since = Duration::from_nanos(start_ns - from_ns);
            let length = Duration::from_nanos((to_ns - start_ns).min(slices.length_ns()));
            log.write_histogram(&slice.retained, since, length, None).map_err(into_io)?;
            log.write_histogram(&slice.all, since, length, tag).map_err(into_io)?;
        }
        return Ok(());
    }
    let mut threads: Vec<Peekable<_>> = (0..run.threads.len())
        .map(|index| run.measured_requests(index, (from_ns, to_ns)).peekable())
        .collect();
    let mut cursors: Vec<_> = threads.iter().map(|_| windows.cursor()).collect();
    let (mut retained, mut all) = (empty(), empty());
    let slice_ns = slice_ns(from_ns, to_ns);
    for start_ns in (from_ns..to_ns).step_by(slice_ns as usize) {
        let end_ns = (start_ns + slice_ns).min(to_ns);
        retained.reset();
        all.reset();
        for (requests, is_out) in threads.iter_mut().zip(&mut cursors) {
            while let Some(request) = requests.next_if(|request| request.intended_ns < end_ns) {
                let value = sojourn_or_hour_ns(&request);
                all.saturating_record(value);
                if !is_out.covers(request.intended_ns) {
                    retained.saturating_record(value);
                }
            }
        }
        let since = Duration::from_nanos(start_ns - from_ns);
        let length = Duration::from_nanos(end_ns - start_ns);
        log.write_histogram(&retained, since, length, None).map_err(into_io)?;
        log.write_histogram(&all, since, length, tag).map_err(into_io)?;
    }
    Ok(())
}

fn into_io<E: std::error::Error>(error: IntervalLogWriterError<E>) -> io::Error {
    match error {
        IntervalLogWriterError::IoError(error) => error,
        IntervalLogWriterError::SerializeError(error) => io::Error::other(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;
    use hdrhistogram::Histogram;
    use hdrhistogram::serialization::Deserializer;
    use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry};

    use sojourn_base::span::MAX_NS;

    use super::*;
    use crate::drive::measurement::fake;
    use crate::job::Job;
    use crate::judge::summary::summarise;
    use crate::protocols::Outcome;
    use crate::watch::outage::Outage;

    /// Start in s, tag and histogram of every interval in a log.
    fn read(text: &[u8]) -> Vec<(f64, bool, Histogram<u64>)> {
        let entries = IntervalLogIterator::new(text).map(Result::unwrap);
        entries
            .filter_map(|entry| {
                let LogEntry::Interval(interval) = entry else { return None };
                let bytes = STANDARD.decode(interval.encoded_histogram()).unwrap();
                let histogram = Deserializer::new().deserialize(&mut bytes.as_slice()).unwrap();
                Some((
                    interval.start_timestamp().as_secs_f64(),
                    interval.tag().is_some(),
                    histogram,
                ))
            })
            .collect()
    }

    /// As the C library reads the head: comments, of which one names the version, and a line of columns,
    /// with which the head ends; then nothing but intervals.
    #[test]
    fn readers_that_go_by_the_head_find_it() {
        let run = fake::run(fake::job(), 0, 2_000_000);
        let mut text = Vec::new();
        let measured = run.measured(&schedule::timetable(&run.job).unwrap());
        log(&run, &Windows::default(), measured, &mut text).unwrap();
        let text = String::from_utf8(text).unwrap();
        let mut lines = text.lines();
        assert_eq!(lines.next(), Some("#[Histogram log format version 1.3]"));
        let head: Vec<&str> = lines.by_ref().take_while(|line| line.starts_with('#')).collect();
        assert!(head.iter().any(|line| line.starts_with("#[StartTime: ")), "{head:?}");
        assert_eq!(text.matches(COLUMNS).count(), 1);
        assert_eq!(text.lines().nth(head.len() + 1), Some(COLUMNS.trim_end()));
        let longest_ms: f64 = lines
            .map(|line| line.trim_start_matches("Tag=all,").split(',').nth(2).unwrap())
            .map(|most| most.parse::<f64>().unwrap())
            .fold(0.0, f64::max);
        let longest_ns = summarise(&run).unwrap().sojourn_ns.max.unwrap() as f64;
        assert!((longest_ms * 1e6 / longest_ns - 1.0).abs() < 2e-3, "{longest_ms} {longest_ns}");
    }

    #[test]
    fn a_long_run_is_cut_by_the_second() {
        let job = Job { rate: "100".into(), duration: "90500ms".into(), ..fake::job() };
        let run = fake::run(job, 0, 1_000);
        let mut text = Vec::new();
        let measured = run.measured(&schedule::timetable(&run.job).unwrap());
        log(&run, &Windows::default(), measured, &mut text).unwrap();
        let intervals = read(&text);
        let starts: Vec<f64> = intervals.iter().filter(|i| !i.1).map(|i| i.0).collect();
        assert_eq!((starts.len(), starts[1], starts[90]), (91, 1.0, 90.0));
    }

    #[test]
    fn the_slices_together_are_the_result() {
        let job = Job { threads: 2, duration: "2500ms".into(), ..fake::job() };
        let mut run = fake::run(job, 1_000, 20_000);
        run.threads[0].marks.outcome[3000..3005].fill(Outcome::Closed);
        run.threads[0].outages.push(Outage { start_ns: 2_000_000_000, length_ns: 5_000_000 });
        let result = summarise(&run).unwrap();
        let path = std::env::temp_dir().join(format!("sojourn-hlog-{}", std::process::id()));
        write(&run, &path).unwrap();
        let text = std::fs::read(&path).unwrap();
        std::fs::remove_file(&path).unwrap();

        let intervals = read(&text);
        let starts: Vec<f64> = intervals.iter().filter(|i| !i.1).map(|i| i.0).collect();
        assert_eq!((starts.len(), starts[0]), (40, 0.0));
        let is_even = |pair: &[f64]| (pair[1] - pair[0] - 0.0625).abs() < 1e-3;
        assert!(starts.windows(2).all(is_even), "62.5 ms each, to a ms: {starts:?}");
        for (tagged, span) in [(false, &result.sojourn_ns), (true, &result.sojourn_all_ns)] {
            let mut sum = empty();
            intervals.iter().filter(|i| i.1 == tagged).for_each(|i| sum.add(&i.2).unwrap());
            assert_eq!(sum.len(), span.count, "tagged {tagged}");
            assert_eq!(Some(sum.value_at_quantile(0.95)), span.p95);
            assert!(sum.max() >= MAX_NS, "failed requests lie above all others");
        }
        assert!(result.sojourn_ns.count < result.sojourn_all_ns.count);
    }
}
