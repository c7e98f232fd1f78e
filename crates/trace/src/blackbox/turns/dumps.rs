//! A dump: made from what is in memory, and written.

use std::io::Write;
use std::path::PathBuf;

use sojourn_base::Fault;
use sojourn_base::clock::{Clock as _, Monotonic, unix_ns};
use sojourn_base::units::NS_PER_S;
use sojourn_base::visible::in_line;

use super::Ring;
use crate::attach::kernel;
use crate::blackbox::assemble::{self, Facts};
use crate::blackbox::dump::{Cause, Dump};
use crate::blackbox::folder::{Folder, Part};
use crate::blackbox::log::Log;
use crate::blackbox::stamp::stamp;
use crate::blackbox::windows::Windows;
use crate::blackbox::{otlp, perfetto};
use crate::judge::result::TraceResult;

/// SIGSTOP.
const STOP: u32 = 19;

impl Ring {
    /// How the service ended, as far as it was seen.
    pub(super) fn last_words(&self) -> String {
        let who = format!("{} (pid {})", in_line(&self.newest.name), self.newest.pid);
        let is_own = |target: u32| self.newest.pids.contains(&target);
        let last =
            self.state.signals.iter().rev().find(|it| is_own(it.target) && it.number != STOP);
        match last {
            Some(signal) => format!(
                "{who} has ended; before that, `{}` ({}) sent it signal {}",
                in_line(&signal.comm),
                signal.tgid,
                signal.number
            ),
            None => format!("{who} has ended; no signal to it was seen"),
        }
    }

    /// Makes a dump, which another thread writes.
    pub(super) fn dump(&mut self, cause: Cause, log: &mut Log<'_>) {
        // What ended until now is counted and stored alike: first the counts, then what is on its way.
        let now_ns = self.second();
        if let Err(fault) = self.take() {
            log.line(&fault.to_string());
        }
        let dump = self.made(cause, now_ns);
        self.passed_over += self.state.passed_over;
        self.state.dumped(now_ns);
        let stages = self.windows.as_ref().and_then(Windows::newest);
        self.writer.give((dump, stages));
    }

    /// Tells what was written since the last look.
    pub(super) fn tell(&mut self, all: Vec<Written>, log: &mut Log<'_>) {
        for Written { result, about, removed } in all {
            if removed > 0 {
                log.line(&format!(
                    "the disk is full: {removed} of the oldest dumps removed to make room"
                ));
            }
            self.dumps_removed += removed;
            match result {
                Ok(path) => {
                    self.dumps += 1;
                    log.line(&format!("{} {about}", path.display()));
                }
                Err(fault) => {
                    self.dumps_failed += 1;
                    log.line(&fault.to_string());
                }
            }
        }
    }

    /// Before the end: what is asked for or due is written, and so is all that waits for the disk.
    ///
    /// # Errors
    /// The kernel refused.
    pub fn finish(&mut self, is_asked: bool, log: &mut Log<'_>) -> Result<(), Fault> {
        self.take()?;
        self.state.hurry();
        let last = self.look(is_asked || self.is_asked, true, log);
        let written = self.writer.finish();
        self.tell(written, log);
        last.map(|_| ())
    }

    fn made(&mut self, cause: Cause, now_ns: u64) -> Dump {
        let from_ns = now_ns.saturating_sub(self.last_ns).max(self.began_ns);
        let from_ns = self.state.tally.edge(from_ns, self.began_ns);
        self.state.signals.make_contiguous();
        let seen = self.hooks.seen();
        assemble::dump(Facts {
            target: self.newest.clone(),
            cause,
            kernel: kernel::release(),
            span: (from_ns, now_ns),
            unix_less_mono_ns: unix_ns().wrapping_sub(Monotonic.now_ns()),
            over_ns: self.over_ns,
            memory: &self.state.memory,
            tally: &self.state.tally,
            seen: &seen,
            seen_from_ns: self.hooks.seen_from_ns(),
            signals: self.state.signals.as_slices().0,
            names: &self.state.names,
        })
    }
}

/// A dump, with the newest stages beside it.
pub(super) type Work = (Dump, Option<TraceResult>);

/// What became of a dump.
pub(super) struct Written {
    /// Where its first file is.
    result: Result<PathBuf, Fault>,
    /// Why it was written, and its answer.
    about: String,
    /// Dumps that were removed because the disk was full.
    removed: u64,
}

/// Writes the files of one dump.
pub(super) fn write(folder: &mut Folder, (dump, stages): &Work) -> Written {
    let name = stamp(dump.cause.at_unix_ns / NS_PER_S);
    let json = |out: &mut dyn Write| Ok(serde_json::to_writer(out, dump)?);
    let trace = |out: &mut dyn Write| Ok(serde_json::to_writer(out, &perfetto::trace(dump))?);
    let spans = |out: &mut dyn Write| out.write_all(otlp::line(dump).as_bytes());
    let windows = |out: &mut dyn Write| Ok(serde_json::to_writer_pretty(out, stages)?);
    let mut parts: Vec<Part<'_>> =
        vec![(".json", &json), (".perfetto.json", &trace), (".otlp.jsonl", &spans)];
    if stages.is_some() {
        parts.push((".windows.json", &windows));
    }
    let before = folder.removed_for_room();
    let result = folder.write(&name, &parts);
    let about = format!("({}): {}", dump.cause.about, dump.answer);
    Written { result, about, removed: folder.removed_for_room() - before }
}
