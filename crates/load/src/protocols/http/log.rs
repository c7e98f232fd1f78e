//! Paths in the order of a log: one at the end of each line, behind times that `trace:FILE` reads.
//!
//! ```text
//! timestamp_s path
//! 12.000000   /index.html
//! 12.000018   /search?q=a
//! ```
//!
//! A first line without a path is a heading; empty lines and lines that begin with `#` are skipped. Of an
//! access log the path is that of each request, in the order of time, as `trace:FILE` reads it.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use sojourn_base::Fault;
use sojourn_workload::once::ReadOnce;
use sojourn_workload::replay;

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
}

impl Log {
    /// Reads the file `name`; faults name the line.
    pub(super) fn read(name: &str) -> Result<Arc<Self>, Fault> {
        LOGS.get(name, || {
            let text = std::fs::read_to_string(name).map_err(|error| {
                let what = format!("cannot read {name}: {error}");
                Fault::usage(what, "paths_file", "name a text file that this user may read")
            })?;
            Self::of(&text).map_err(|fault| fault.within(&format!("paths_file, {name}")))
        })
    }

    fn of(text: &str) -> Result<Self, Fault> {
        let mut log = Self::default();
        let mut known: HashMap<String, u32> = HashMap::new();
        let mut add = |path: Cow<'_, str>| {
            let nth = known.get(&*path).copied().unwrap_or_else(|| {
                let nth = log.paths.len() as u32;
                log.paths.push(path.clone().into_owned());
                known.insert(path.into_owned(), nth);
                nth
            });
            log.lines.push(nth);
        };
        if let Some(access) = replay::access(text) {
            let access = access.map_err(|number| {
                let what = "there is no time in brackets";
                let fix = "leave out lines that are of no access log, as with `grep '\\['`";
                Fault::usage(what, format!("line {number}"), fix)
            })?;
            access.entries.into_iter().for_each(|entry| add(entry.path));
            return log.filled();
        }
        let mut is_first = true;
        for (line, number) in replay::lines(text) {
            let path = line.split_whitespace().next_back().filter(|word| word.starts_with('/'));
            match path {
                Some(path) => add(path.into()),
                None if is_first => {}
                None => {
                    let what = format!("'{line}' ends in no path");
                    let fix = "end each line in a path that begins with /";
                    return Err(Fault::usage(what, format!("line {number}"), fix));
                }
            }
            is_first = false;
        }
        log.filled()
    }

    fn filled(self) -> Result<Self, Fault> {
        if self.lines.is_empty() {
            let fix = "end each line in a path that begins with /";
            return Err(Fault::usage("there is no path in it", "", fix));
        }
        Ok(self)
    }
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

    #[test]
    fn a_log_is_its_paths_in_their_order() {
        let text = "timestamp_s path\n1.0 /a\n\n# night\n1.5 /b?c=d\n2\t/a\n";
        let log = Log::of(text).unwrap();
        assert_eq!((log.paths, log.lines), (vec!["/a".into(), "/b?c=d".into()], vec![0, 1, 0]));
        assert_eq!(Log::of("/a\n/b\n").unwrap().lines, [0, 1], "no heading");
        let access = "h - - [28/May/2024:10:00:02 +0000] \"GET /b HTTP/1.1\" 200 5\n\
                      h - - [28/May/2024:10:00:01 +0000] \"POST /a HTTP/1.1\" 200 5 \"/x\" \"-\"\n\
                      h - - [28/May/2024:10:00:01 +0000] \"-\" 400 0\n";
        let log = Log::of(access).unwrap();
        assert_eq!((log.paths, log.lines), (vec!["/a".into(), "/b".into()], vec![0, 1]));
        let escaped =
            "h - - [28/May/2024:10:00:02 +0000] \"GET /a\\\"\\xC3\\xBC HTTP/1.1\" 200 5\n";
        assert_eq!(Log::of(escaped).unwrap().paths, ["/a\"%C3%BC"]);
        assert_eq!(Log::of("\u{feff}/a\r\n/b\r\n").unwrap().lines, [0, 1], "a mark, no heading");
        assert_eq!(Log::of("/a\n1.0\n").unwrap_err().at, "line 2");
        assert!(Log::of("timestamp_s\n").unwrap_err().what.contains("no path"));
    }
}
