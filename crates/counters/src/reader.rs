//! Files of the kernel, read in short pieces and stored with the time of reading.

use std::collections::HashMap;
use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::thread::sleep;
use std::time::Duration;

use serde::Serialize;
use sojourn_base::clock::{Clock, Monotonic};

/// How long it reads without a break: shorter than any gap that a client takes for a stop (0.2 ms).
pub const PIECE_NS: u64 = 50_000;
/// The break.
const BREAK: Duration = Duration::from_millis(1);

/// One file: its path, when it had been read (ns of the monotonic clock), and its text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Entry(pub String, pub u64, pub String);

/// Files that stay open between samples: to open one takes longer than to read it.
const OPEN_MAX: usize = 700;
/// What is read at once.
const CHUNK_BYTES: usize = 16_384;

/// Reads files, sample by sample.
#[derive(Debug)]
pub struct Reader {
    /// Whether it may take its time: the first sample is taken before the load.
    is_slow: bool,
    since_ns: u64,
    /// Files and whether they were read in this sample.
    open: HashMap<String, (File, bool)>,
    /// What was retained of this sample, in the order of reading.
    kept: Vec<Entry>,
    chunk: Vec<u8>,
}

impl Default for Reader {
    fn default() -> Self {
        let (open, retained, chunk) = (HashMap::new(), Vec::new(), vec![0; CHUNK_BYTES]);
        Self { is_slow: false, since_ns: Monotonic.now_ns(), open, kept: retained, chunk }
    }
}

impl Reader {
    /// A sample begins, of which nothing is kept yet.
    pub fn begin(&mut self) {
        self.since_ns = Monotonic.now_ns();
        self.kept.clear();
    }

    /// The sample is whole: what was kept, in the order of reading. Files that it did not ask for are
    /// closed. From now on it reads in pieces.
    pub fn end(&mut self) -> Vec<Entry> {
        self.is_slow = true;
        self.open.retain(|_, (_, is_read)| std::mem::take(is_read));
        std::mem::take(&mut self.kept)
    }

    /// The text of a file that is read in each sample; `None`: it is not there, or what it tells of has
    /// ended.
    pub fn read(&mut self, path: &str) -> Option<String> {
        self.pause();
        let Some((file, is_read)) = self.open.get_mut(path) else {
            let file = File::open(path).ok()?;
            let text = text_of(&file, &mut self.chunk);
            if text.is_some() && self.open.len() < OPEN_MAX {
                self.open.insert(path.to_owned(), (file, true));
            }
            return text;
        };
        *is_read = true;
        let text = text_of(file, &mut self.chunk);
        if text.is_none() {
            self.open.remove(path); // its process has ended; the number may be another's by now
        }
        text
    }

    /// The text of a file that is seldom read.
    pub fn read_once(&mut self, path: &str) -> Option<String> {
        self.pause();
        text_of(&File::open(path).ok()?, &mut self.chunk)
    }

    fn pause(&mut self) {
        if self.is_slow && Monotonic.now_ns() >= self.since_ns + PIECE_NS {
            sleep(BREAK);
            self.since_ns = Monotonic.now_ns();
        }
    }

    /// Reads a file and keeps of it what `part` takes; false: it could not be read.
    pub fn keep_part(&mut self, path: String, part: impl Fn(&str) -> String) -> bool {
        let Some(text) = self.read(&path) else { return false };
        self.put(path, part(&text));
        true
    }

    /// Reads a file and keeps it; false: it could not be read.
    pub fn keep(&mut self, path: String) -> bool {
        self.keep_part(path, str::to_owned)
    }

    /// Reads a file that is seldom read and keeps it; false: it could not be read.
    pub fn keep_once(&mut self, path: String) -> bool {
        let Some(text) = self.read_once(&path) else { return false };
        self.put(path, text);
        true
    }

    /// Keeps what has just been read.
    pub fn put(&mut self, path: String, text: String) {
        self.kept.push(Entry(path, Monotonic.now_ns(), text));
    }

    /// Entries of a folder that are numbers, ascending; none if it is gone.
    pub fn numbers(&mut self, folder: &str) -> Vec<u32> {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        let mut found: Vec<u32> =
            entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
        found.sort_unstable();
        found
    }
}

/// All of it. Of a file of many lines, such as `net/dev`, the kernel gives a page at a time, however much is asked for:
/// only a read of nothing is the end.
fn text_of(file: &File, chunk: &mut [u8]) -> Option<String> {
    let mut bytes = Vec::new();
    loop {
        let length = file.read_at(chunk, bytes.len() as u64).ok()?;
        if length == 0 {
            return Some(String::from_utf8_lossy(&bytes).into_owned());
        }
        bytes.extend_from_slice(&chunk[..length]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_has_its_time_and_what_is_gone_is_left_out() {
        let mut reader = Reader::default();
        let before_ns = Monotonic.now_ns();
        assert!(reader.keep("/proc/self/stat".into()));
        assert!(!reader.keep("/proc/self/no such file".into()));
        assert!(reader.keep_part("/proc/self/status".into(), |text| text[..5].to_owned()));
        let retained = reader.end();
        let [stat, status] = &retained[..] else { panic!("{retained:?}") };
        assert!(stat.2.starts_with(&std::process::id().to_string()));
        assert_eq!(status.2, "Name:");
        assert!(before_ns <= stat.1 && stat.1 <= status.1);
        assert!(reader.end().is_empty());
    }

    #[test]
    fn a_file_that_stays_open_is_read_anew_and_let_go_of_when_its_process_ends() {
        let mut child = std::process::Command::new("sleep").arg("30").spawn().unwrap();
        let (path, ticking) = (format!("/proc/{}/stat", child.id()), "/proc/uptime");
        let mut reader = Reader::default();
        let first = reader.read(ticking).unwrap();
        assert!(reader.read(&path).is_some() && reader.open.len() == 2);
        let mut reads = std::iter::repeat_with(|| reader.read(ticking).unwrap());
        assert!(reads.any(|text| text != first));
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(reader.read(&path).is_none() && !reader.open.contains_key(&path));
        assert!(reader.read_once("/proc/version").is_some() && reader.open.len() == 1);
        reader.end();
        assert_eq!(reader.open.len(), 1, "it was read in this sample");
        reader.end();
        assert!(reader.open.is_empty());
    }

    #[test]
    fn a_text_longer_than_a_chunk_is_read_whole() {
        let path = std::env::temp_dir().join(format!("counters-long-{}", std::process::id()));
        let text = "0123456789".repeat(4000);
        fs::write(&path, &text).unwrap();
        let result = Reader::default().read_once(path.to_str().unwrap());
        fs::remove_file(&path).unwrap();
        assert_eq!(result, Some(text));
    }

    /// `maps` has a line for each stretch of memory: a read gives 4 kB of it, whatever has room.
    #[test]
    fn a_file_of_the_kernel_that_comes_page_by_page_is_read_whole() {
        const PAGE: usize = 4096;
        const PAGES: usize = 400;
        // SAFETY: new memory that nothing else uses, of which every other page is made readable.
        let first = unsafe {
            let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
            let any = std::ptr::null_mut();
            let first = libc::mmap(any, PAGES * PAGE, libc::PROT_NONE, flags, -1, 0);
            assert_ne!(first, libc::MAP_FAILED);
            for page in (0..PAGES).step_by(2) {
                let at = first.byte_add(page * PAGE);
                assert_eq!(libc::mprotect(at, PAGE, libc::PROT_READ), 0);
            }
            first
        };
        let text = Reader::default().read_once("/proc/self/maps").unwrap();
        let begins = |page: usize| format!("{:x}-", first as usize + page * PAGE);
        let missing = (0..PAGES).step_by(2).find(|&page| !text.contains(&begins(page)));
        assert_eq!(missing, None, "of {PAGES} pages in {} bytes", text.len());
        // SAFETY: as mapped above.
        unsafe { libc::munmap(first, PAGES * PAGE) };
    }

    #[test]
    fn between_two_pieces_it_sleeps_but_in_the_first_sample() {
        let mut reader = Reader::default();
        let first_ns = reader.since_ns;
        while Monotonic.now_ns() < first_ns + 2 * PIECE_NS {
            reader.read("/proc/self/stat").unwrap();
        }
        assert_eq!(reader.since_ns, first_ns);
        reader.end();
        let mut pieces = 1;
        let mut since_ns = reader.since_ns;
        while pieces < 4 {
            reader.read("/proc/self/stat").unwrap();
            if reader.since_ns != since_ns {
                assert!(reader.since_ns - since_ns >= PIECE_NS + BREAK.as_nanos() as u64);
                since_ns = reader.since_ns;
                pieces += 1;
            }
        }
    }
}
