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
use crate::blackbox::folder::Part;
use crate::blackbox::log::Log;
use crate::blackbox::stamp::stamp;
use crate::blackbox::windows::Windows;
use crate::blackbox::{otlp, perfetto};

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

    pub(super) fn dump(&mut self, cause: Cause, log: &mut Log<'_>) {
        // What ended until now is counted and stored alike: first the counts, then what is on its way.
        let now_ns = Monotonic.now_ns();
        self.second(now_ns);
        if let Err(fault) = self.take() {
            log.line(&fault.to_string());
        }
        let dump = self.made(cause, now_ns);
        let before = self.folder.removed_for_room();
        let written = self.write(&dump);
        if let removed @ 1.. = self.folder.removed_for_room() - before {
            log.line(&format!(
                "the disk is full: {removed} of the oldest dumps removed to make room"
            ));
        }
        self.passed_over += self.state.passed_over;
        self.state.dumped(now_ns);
        match written {
            Ok(path) => {
                self.dumps += 1;
                log.line(&format!("{} ({}): {}", path.display(), dump.cause.about, dump.answer));
            }
            Err(fault) => {
                self.dumps_failed += 1;
                log.line(&fault.to_string());
            }
        }
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

    fn write(&mut self, dump: &Dump) -> Result<PathBuf, Fault> {
        let name = stamp(dump.cause.at_unix_ns / NS_PER_S);
        let json = |out: &mut dyn Write| Ok(serde_json::to_writer(out, dump)?);
        let trace = |out: &mut dyn Write| Ok(serde_json::to_writer(out, &perfetto::trace(dump))?);
        let spans = |out: &mut dyn Write| out.write_all(otlp::line(dump).as_bytes());
        let stages = self.windows.as_ref().and_then(Windows::newest);
        let windows = |out: &mut dyn Write| Ok(serde_json::to_writer_pretty(out, &stages)?);
        let mut parts: Vec<Part<'_>> =
            vec![(".json", &json), (".perfetto.json", &trace), (".otlp.jsonl", &spans)];
        if stages.is_some() {
            parts.push((".windows.json", &windows));
        }
        self.folder.write(&name, &parts)
    }
}
