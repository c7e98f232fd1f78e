//! Messages of the black box, for days: log rotation moves the file, and SIGHUP opens a new one.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use sojourn_base::Fault;
use sojourn_base::clock::unix_ns;
use sojourn_base::units::NS_PER_S;
use sojourn_base::visible::Visible;

use super::stamp::stamp;

/// Messages: to a file that is opened anew on SIGHUP, or to standard error.
pub struct Log<'a> {
    path: Option<PathBuf>,
    file: Option<Visible<File>>,
    talk: &'a mut dyn Write,
}

impl<'a> Log<'a> {
    /// To `path`, or to `talk`.
    ///
    /// # Errors
    /// The file cannot be opened.
    pub fn new(path: Option<PathBuf>, talk: &'a mut dyn Write) -> Result<Self, Fault> {
        let file = path.as_deref().map(open).transpose()?;
        Ok(Self { path, file, talk })
    }

    /// Opens the file anew. What cannot be opened leaves the old one in use.
    pub fn reopen(&mut self) {
        match self.path.as_deref().map(open) {
            Some(Ok(file)) => self.file = Some(file),
            Some(Err(fault)) => self.line(&fault.to_string()),
            None => {}
        }
    }

    /// Writes a line: to the log, with the time of day in UTC, or to stderr, of which others note the time.
    pub fn line(&mut self, text: &str) {
        let Some(file) = &mut self.file else {
            let _ = writeln!(self.talk, "{text}"); // there is nowhere else to say it
            let _ = self.talk.flush();
            return;
        };
        let _ = writeln!(file, "{} {text}", stamp(unix_ns() / NS_PER_S)); // nor here
        let _ = file.flush();
    }
}

fn open(path: &Path) -> Result<Visible<File>, Fault> {
    let mut options = OpenOptions::new();
    options.create(true).append(true).mode(0o600);
    let file = options.custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK).open(path);
    file.map(Visible::new).map_err(|error| {
        let fix = "name a file in a folder that exists; a link is not followed";
        Fault::usage(format!("the log cannot be opened: {error}"), path.display().to_string(), fix)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    /// The lines of a log, each of which begins with its time: `20261126T235959Z`.
    fn without_times(text: &str) -> String {
        let (now_s, mut lines) = (unix_ns() / NS_PER_S, String::new());
        for line in text.lines() {
            let (time, rest) = line.split_once(' ').unwrap();
            assert!(*time <= *stamp(now_s) && *time > *stamp(now_s - 3_600), "{line}");
            lines.push_str(rest);
            lines.push('\n');
        }
        lines
    }

    #[test]
    fn a_log_that_was_moved_goes_on_in_a_new_file_and_a_link_is_not_followed() {
        let folder = std::env::temp_dir().join(format!("sojourn-ring-log-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir(&folder).unwrap();
        let (path, moved) = (folder.join("ring.log"), folder.join("ring.log.1"));
        let read = |path: &Path| without_times(&fs::read_to_string(path).unwrap());
        let mut none = Vec::new();
        let mut log = Log::new(Some(path.clone()), &mut none).unwrap();
        log.line("first");
        fs::rename(&path, &moved).unwrap();
        log.line("second");
        log.reopen();
        log.line("third \u{1b}[2J");
        assert_eq!(read(&moved), "first\nsecond\n");
        assert_eq!(read(&path), "third \\x1b[2J\n");
        fs::remove_file(&path).unwrap();
        std::os::unix::fs::symlink(&moved, &path).unwrap();
        log.reopen();
        log.line("fourth");
        assert_eq!(read(&moved), "first\nsecond\n", "the link is left alone");
        assert!(Log::new(Some(path), &mut Vec::new()).is_err());
        fs::remove_dir_all(&folder).unwrap();
    }
}
