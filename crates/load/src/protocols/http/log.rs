//! Paths in the order of a log: one at the end of each line, behind times that `trace:FILE` reads.
//!
//! ```text
//! timestamp_s path
//! 12.000000   /index.html
//! 12.000018   /search?q=a
//! ```
//!
//! A first line without a path is a heading; empty lines and lines that begin with `#` are skipped. Of a log
//! of requests the path is that of each, in the order of time, as `trace:FILE` reads it; `log_form` may
//! take only those of the job's method, and put numbers in place of what people have typed.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use sojourn_base::Fault;
use sojourn_workload::arrivals;
use sojourn_workload::once::ReadOnce;
use sojourn_workload::replay::{self, Numbers};

use crate::job::Job;
use crate::job::target::Target;

/// Logs of this process, by file.
static LOGS: ReadOnce<Log> = ReadOnce::new();

/// What a log asks for.
#[derive(Debug, Default)]
pub(super) struct Log {
    /// Its paths, each once.
    pub(super) paths: Vec<String>,
    /// Which of them each line has.
    pub(super) lines: Vec<u32>,
    /// Values in them that were replaced by numbers.
    pub(super) numbered: usize,
    /// What else a reader must know: what was left out, and that no request has a time.
    left_out: Option<String>,
}

/// Words of `log_form`: only requests of the job's method; numbers in place of values.
pub(crate) const METHOD: &str = "method";
pub(crate) const NUMBERS: &str = "numbers";

/// What is taken of a log.
#[derive(Clone, Copy)]
struct Taken<'a> {
    /// Requests of this method alone.
    method: Option<&'a str>,
    /// Numbers in place of values.
    are_numbers: bool,
}

impl<'a> Taken<'a> {
    fn of(job: &'a Job) -> Result<Self, Fault> {
        let mut taken = Self { method: None, are_numbers: false };
        for word in job.log_form.split(',').filter(|word| !word.is_empty()) {
            match word {
                METHOD => taken.method = Some(job.method.as_str()),
                NUMBERS => taken.are_numbers = true,
                _ => {
                    let what = format!("'{word}' is nothing that is done to a log");
                    let fix = format!("write {METHOD}, {NUMBERS}, or both with a comma between");
                    return Err(Fault::usage(what, "log_form", fix));
                }
            }
        }
        Ok(taken)
    }
}

impl Log {
    /// Reads the `paths_file` of a job; faults name the line.
    pub(super) fn of_job(job: &Job) -> Result<Arc<Self>, Fault> {
        let taken = Taken::of(job)?;
        let name = job.paths_file.as_str();
        let form = format!("{name}\n{:?}\n{}", taken.method, taken.are_numbers);
        LOGS.get(&form, || {
            let log = replay::text(name).and_then(|text| Self::of(&text, taken));
            log.map_err(|fault| fault.within(&format!("paths_file, {name}")))
        })
    }

    fn of(text: &str, taken: Taken<'_>) -> Result<Self, Fault> {
        let mut log = Self::default();
        let mut known: HashMap<String, u32> = HashMap::new();
        let mut numbers = Numbers::default();
        let mut add = |log: &mut Self, path: Cow<'_, str>| {
            let path = if taken.are_numbers { numbers.path(&path) } else { path.into_owned() };
            let nth = known.get(&path).copied().unwrap_or_else(|| {
                let nth = log.paths.len() as u32;
                log.paths.push(path.clone());
                known.insert(path, nth);
                nth
            });
            log.lines.push(nth);
        };
        if let Some(access) = replay::access(text) {
            let mut access = access?;
            if let Some(method) = taken.method {
                access.keep_method(method);
            }
            log.left_out = replay::joined([access.no_times_note(), access.note()]);
            access.entries.into_iter().for_each(|entry| add(&mut log, entry.path));
            log.numbered = numbers.replaced;
            return log.filled();
        }
        let mut is_first = true;
        for (line, number) in replay::lines(text) {
            let path = line.split_whitespace().next_back().filter(|word| word.starts_with('/'));
            match path {
                Some(path) => add(&mut log, path.into()),
                None if is_first => {}
                None => {
                    let what = format!("'{line}' ends in no path");
                    let fix = "end each line in a path that begins with /";
                    return Err(Fault::usage(what, format!("line {number}"), fix));
                }
            }
            is_first = false;
        }
        log.numbered = numbers.replaced;
        log.filled()
    }

    fn filled(self) -> Result<Self, Fault> {
        if self.lines.is_empty() {
            let fix = "end each line in a path that begins with /; with log_form method, --method says \
                       which requests of a log are sent";
            return Err(Fault::usage("there is no path in it", "", fix));
        }
        Ok(self)
    }
}

/// What a reader of the result must know of the paths of a job's log; a trace of it says the rest itself.
pub(crate) fn note(job: &Job) -> Option<String> {
    if job.paths_file.is_empty() {
        return None;
    }
    let log = Log::of_job(job).ok()?;
    let numbered = (log.numbered > 0).then(|| {
        format!(
            "{} values in queries of the log were replaced by numbers, the same value by the same one",
            log.numbered
        )
    });
    let is_in_trace =
        !job.find_max && arrivals::trace_file(&job.arrivals) == Some(job.paths_file.as_str());
    let left_out = log.left_out.clone().filter(|_| !is_in_trace);
    replay::joined([numbered, left_out])
}

/// Refuses paths beside those of a log.
pub(super) fn refuse_paths(job: &Job, target: &Target) -> Result<(), Fault> {
    if target.path == "/" && job.paths == Job::default().paths {
        return Ok(());
    }
    let fix = "leave out paths, and let the target end in /";
    Err(Fault::usage("paths and paths_file both say what is asked for", "paths_file", fix))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: Taken<'_> = Taken { method: None, are_numbers: false };

    #[test]
    fn a_log_is_its_paths_in_their_order() {
        let text = "timestamp_s path\n1.0 /a\n\n# night\n1.5 /b?c=d\n2\t/a\n";
        let log = Log::of(text, ALL).unwrap();
        assert_eq!((log.paths, log.lines), (vec!["/a".into(), "/b?c=d".into()], vec![0, 1, 0]));
        assert_eq!(Log::of("/a\n/b\n", ALL).unwrap().lines, [0, 1], "no heading");
        let access = "h - - [28/May/2024:10:00:02 +0000] \"GET /b HTTP/1.1\" 200 5\n\
                      h - - [28/May/2024:10:00:01 +0000] \"POST /a HTTP/1.1\" 200 5 \"/x\" \"-\"\n\
                      h - - [28/May/2024:10:00:01 +0000] \"-\" 400 0\n";
        let log = Log::of(access, ALL).unwrap();
        assert_eq!((log.paths, log.lines), (vec!["/a".into(), "/b".into()], vec![0, 1]));
        let escaped =
            "h - - [28/May/2024:10:00:02 +0000] \"GET /a\\\"\\xC3\\xBC HTTP/1.1\" 200 5\n";
        assert_eq!(Log::of(escaped, ALL).unwrap().paths, ["/a\"%C3%BC"]);
        assert_eq!(
            Log::of("\u{feff}/a\r\n/b\r\n", ALL).unwrap().lines,
            [0, 1],
            "a mark, no heading"
        );
        assert_eq!(Log::of("/a\n1.0\n", ALL).unwrap_err().at, "line 2");
        assert!(Log::of("timestamp_s\n", ALL).unwrap_err().what.contains("no path"));
    }

    #[test]
    fn what_is_replayed_is_of_one_method_and_has_numbers_for_values() {
        let line = |method: &str, path: &str| {
            format!("h - - [28/May/2024:10:00:02 +0000] \"{method} {path} HTTP/1.1\" 200 5\n")
        };
        let text = [line("GET", "/s?q=ann"), line("POST", "/s"), line("GET", "/s?q=bob")].concat();
        let text = format!("{text}{}", line("GET", "/s?q=ann"));
        let of = |method, are_numbers| Log::of(&text, Taken { method, are_numbers });
        let all = of(None, false).unwrap();
        assert_eq!((all.lines, all.numbered), (vec![0, 1, 2, 0], 0), "as it is");
        assert_eq!(of(Some("GET"), false).unwrap().paths, ["/s?q=ann", "/s?q=bob"]);
        let numbers = of(Some("GET"), true).unwrap();
        assert_eq!((numbers.lines, numbers.numbered), (vec![0, 1, 0], 3));
        assert_eq!(numbers.paths, ["/s?q=1", "/s?q=2"]);
        assert!(of(Some("PUT"), true).unwrap_err().fix.contains("--method"));
        let cookies = "GET http://h/a?b=c\nCookie: d\n";
        let log = Log::of(cookies, Taken { method: None, are_numbers: true }).unwrap();
        let left_out = log.left_out.unwrap();
        assert!(left_out.starts_with("no request of the log has a time, so "), "{left_out}");
        assert!(left_out.contains("; 1 requests of the log have cookies"), "{left_out}");
        assert_eq!(Log::of("1.0 /a\n", ALL).unwrap().left_out, None, "no log of requests");
        let job = |form: &str| Job { log_form: form.into(), ..Job::default() };
        let two = job("numbers,method");
        let both = Taken::of(&two).unwrap();
        assert_eq!((both.method, both.are_numbers), (Some("GET"), true));
        let odd = Job { paths_file: "f".into(), ..job("method,digests") };
        assert_eq!(Log::of_job(&odd).unwrap_err().at, "log_form");
    }
}
