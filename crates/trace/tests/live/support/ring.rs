//! A black box in a thread of the test, and what it wrote.

use std::ffi::OsString;
use std::fs;
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use sojourn_trace::blackbox::dump::Dump;
use sojourn_trace::program;

const PATIENCE: Duration = Duration::from_secs(60);

/// What the program says.
#[derive(Clone, Default)]
struct Said(Arc<Mutex<Vec<u8>>>);

impl Write for Said {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A black box that watches, until it is dropped.
pub struct Ring {
    pub folder: PathBuf,
    said: Said,
    stop: Arc<AtomicBool>,
    pub thread: Option<JoinHandle<u8>>,
}

impl Ring {
    pub fn start(words: &[&str]) -> Self {
        let name = format!("sojourn-ring-live-{}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        let _ = fs::remove_dir_all(&folder);
        let (said, stop) = (Said::default(), Arc::new(AtomicBool::new(false)));
        let mut all: Vec<OsString> =
            ["sojourn-trace", "--ring", "--dumps"].map(Into::into).to_vec();
        all.push(folder.clone().into());
        all.extend(words.iter().map(Into::into));
        let (mut talk, ends) = (said.clone(), Arc::clone(&stop));
        let run = move || program::main(all, &ends, &mut io::sink(), &mut talk);
        Self { folder, said, stop, thread: Some(thread::spawn(run)) }
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.said.0.lock().unwrap()).into_owned()
    }

    pub fn wait_for(&self, what: &str, times: usize) {
        let deadline = Instant::now() + PATIENCE;
        while self.text().matches(what).count() < times {
            assert!(Instant::now() < deadline, "no '{what}': {}", self.text());
            thread::sleep(Duration::from_millis(10));
        }
    }

    /// The newest dump that one of this kind started.
    pub fn dump(&self, kind: &str) -> Dump {
        let deadline = Instant::now() + PATIENCE;
        loop {
            if let Some(dump) = self.dumps().into_iter().rev().find(|dump| dump.cause.kind == kind)
            {
                return dump;
            }
            assert!(Instant::now() < deadline, "no dump '{kind}': {}", self.text());
            thread::sleep(Duration::from_millis(20));
        }
    }

    /// All of them, oldest first.
    pub fn dumps(&self) -> Vec<Dump> {
        let Ok(entries) = fs::read_dir(&self.folder) else { return Vec::new() };
        let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
        paths.sort();
        let is_dump = |path: &&PathBuf| {
            let name = path.file_name().unwrap().to_string_lossy();
            name.ends_with(".json") && !name.contains("perfetto") && !name.starts_with('.')
        };
        let texts = paths.iter().filter(is_dump).filter_map(|path| fs::read_to_string(path).ok());
        texts.map(|text| serde_json::from_str(&text).unwrap()).collect()
    }

    /// Asks for one by SIGUSR1.
    pub fn ask(&self) -> Dump {
        // SAFETY: this process has a handler by now, because the service is watched.
        unsafe { libc::kill(libc::getpid(), libc::SIGUSR1) };
        self.dump("signal")
    }

    /// Asks for one more, and waits for it.
    pub fn ask_anew(&self) -> Dump {
        let before = self.dumps().len();
        let deadline = Instant::now() + PATIENCE;
        // SAFETY: as above.
        unsafe { libc::kill(libc::getpid(), libc::SIGUSR1) };
        loop {
            let mut dumps = self.dumps();
            if dumps.len() > before {
                return dumps.pop().unwrap();
            }
            assert!(Instant::now() < deadline, "no dump: {}", self.text());
            thread::sleep(Duration::from_millis(20));
        }
    }

    pub fn end(&mut self) -> u8 {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.take().map_or(0, |thread| thread.join().unwrap())
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
        let _ = fs::remove_dir_all(&self.folder);
    }
}
