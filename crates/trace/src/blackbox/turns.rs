//! The turns of the loop: follow the service, take what the hooks send, write dumps.

use std::path::Path;
use std::sync::PoisonError;

use sojourn_base::Fault;
use sojourn_base::clock::{Clock as _, Monotonic, unix_ns};
use sojourn_base::process::lives;
use sojourn_base::units::NS_PER_S;
use sojourn_base::visible::in_line;

use super::args::Asked;
use super::dump::Cause;
use super::folder::Folder;
use super::hooks::Hooks;
use super::listen::Text;
use super::log::Log;
use super::metrics::{self, Now};
use super::record::Came;
use super::service::By;
use super::state::State;
use super::tally::Beside;
use super::windows::Windows;
use super::writer::Writer;
use crate::judge::result::TargetFacts;
use crate::reconstruct::window::work::own_cpu_ns;

mod dumps;

use dumps::{Work, Written};

/// How often a service that is not there is looked for, one that is there for new processes, and for new ports,
/// which takes some ms.
const FIND_NS: u64 = NS_PER_S / 2;
const AGAIN_NS: u64 = 5 * NS_PER_S;
const PORTS_NS: u64 = 60 * NS_PER_S;

/// All that the loop has.
pub struct Ring {
    by: By,
    ports: Vec<u16>,
    over_ns: Option<u64>,
    last_ns: u64,
    /// Writes dumps.
    writer: Writer<Work, Written>,
    /// SIGUSR1 asked for a dump, and the last one was still being written.
    is_asked: bool,
    hooks: Hooks,
    /// Stages beside it, if they were asked for.
    windows: Option<Windows>,
    state: State,
    /// The service, if it runs.
    target: Option<TargetFacts>,
    /// The service as it was when it last ran.
    newest: TargetFacts,
    began_ns: u64,
    /// It does not run since then.
    gone_ns: Option<u64>,
    unwatched_ns: u64,
    next_second_ns: u64,
    next_find_ns: u64,
    next_ports_ns: u64,
    /// Processes by which the service was found.
    roots: Vec<u32>,
    text: Text,
    dumps: u64,
    dumps_failed: u64,
    dumps_removed: u64,
    passed_over: u64,
}

impl Ring {
    /// Before the first turn. Hooks are attached; `room`: slow requests in memory.
    ///
    /// # Errors
    /// There can be no more threads.
    pub fn new(
        (by, ports): (By, &[u16]),
        (asked, room): (Asked, usize),
        (mut folder, text): (Folder, Text),
        hooks: Hooks,
        windows: Option<Windows>,
    ) -> Result<Self, Fault> {
        let now_ns = Monotonic.now_ns();
        Ok(Self {
            by,
            ports: ports.to_vec(),
            over_ns: asked.over_ns,
            last_ns: asked.last_ns,
            writer: Writer::start(move |work| dumps::write(&mut folder, &work))?,
            is_asked: false,
            hooks,
            windows,
            state: State::new(asked, room),
            target: None,
            newest: TargetFacts::default(),
            began_ns: now_ns,
            gone_ns: Some(now_ns),
            unwatched_ns: 0,
            next_second_ns: now_ns + NS_PER_S,
            next_find_ns: now_ns,
            next_ports_ns: now_ns,
            roots: Vec::new(),
            text,
            dumps: 0,
            dumps_failed: 0,
            dumps_removed: 0,
            passed_over: 0,
        })
    }

    /// One turn; whether the end has come.
    ///
    /// # Errors
    /// The kernel refused.
    pub fn turn(&mut self, is_asked: bool, log: &mut Log<'_>) -> Result<bool, Fault> {
        self.is_asked |= is_asked;
        let may_dump = !self.writer.is_busy();
        let is_over = self.look(may_dump && self.is_asked, may_dump, log)?;
        self.is_asked &= !may_dump;
        let now_ns = Monotonic.now_ns();
        if !is_over && now_ns >= self.next_find_ns && self.may_differ(now_ns) {
            self.find(now_ns, log)?;
        }
        Ok(is_over)
    }

    /// Takes what came, and makes the dumps that it leads to; whether the end has come. Not `may_dump`: the last one
    /// is still being written, so that only one of the service's end is made.
    fn look(&mut self, is_asked: bool, may_dump: bool, log: &mut Log<'_>) -> Result<bool, Fault> {
        let has_ended = self.has_ended();
        self.take()?;
        let written = self.writer.done();
        self.tell(written, log);
        if let Some(fault) = self.windows.as_ref().and_then(Windows::fault) {
            log.line(&format!("no stages can be traced beside it: {fault}"));
        }
        let now_ns = Monotonic.now_ns();
        if now_ns >= self.next_second_ns {
            self.second();
        }
        if is_asked {
            let about = "SIGUSR1 asked for it".to_owned();
            self.dump(cause("signal", about), log);
        }
        if has_ended {
            // Nothing is timed until it is seen again: its own requests would be those of others.
            self.hooks.enable(false);
            let about = self.last_words();
            log.line(&about);
            self.dump(cause("ended", about), log);
            self.target = None;
            self.windows.iter().for_each(|windows| windows.follow(None));
            self.gone_ns = Some(now_ns);
            self.next_find_ns = now_ns + FIND_NS;
            return Ok(matches!(self.by, By::Pid(_)));
        }
        if may_dump && let Some(cause) = self.state.due(now_ns) {
            self.dump(cause, log);
        }
        Ok(false)
    }

    /// Whether none of the service's processes runs. One whose number runs, but is no longer watched, has ended,
    /// and another process has its number.
    fn has_ended(&self) -> bool {
        let runs = |pid: &u32| lives(Path::new("/proc"), *pid) && self.hooks.watches(*pid);
        self.target.as_ref().is_some_and(|target| !target.pids.iter().any(runs))
    }

    fn take(&mut self) -> Result<(), Fault> {
        let (now_ns, unix_ns) = (Monotonic.now_ns(), unix_ns());
        for came in self.hooks.take()? {
            match came {
                Came::Signal(signal) => self.state.signal(signal),
                Came::Slow(slow, thread) => self.state.slow(slow, thread, now_ns, unix_ns),
            }
        }
        Ok(())
    }

    /// A second ends now, or sooner for a dump; when. To cut up what is stored takes long, so that the clock is read
    /// after that, with the counts.
    fn second(&mut self) -> u64 {
        if self.hooks.is_full() {
            let seen = self.hooks.seen();
            let own = self.newest.pids.iter().copied();
            self.state.cut(&seen, own, self.hooks.seen_from_ns(), Monotonic.now_ns());
        }
        self.hooks.forget(Monotonic.now_ns().saturating_sub(self.last_ns + NS_PER_S));
        let now_ns = Monotonic.now_ns();
        let beside = self.beside(now_ns);
        self.state.second(now_ns, unix_ns(), &self.hooks.totals(), beside);
        self.hooks.set_floor(self.state.floor_ns);
        self.next_second_ns = now_ns + NS_PER_S;
        let text = metrics::text(&self.now(now_ns));
        *self.text.lock().unwrap_or_else(PoisonError::into_inner) = text;
        now_ns
    }

    fn now(&self, now_ns: u64) -> Now {
        Now {
            service: self.newest.name.clone(),
            is_up: self.target.is_some(),
            totals: self.state.tally.ever().to_vec(),
            stored: self.state.memory.len() as u64,
            floor_ns: self.state.floor_ns,
            beside: self.beside(now_ns),
            dumps: self.dumps,
            dumps_failed: self.dumps_failed,
            dumps_removed: self.dumps_removed,
            passed_over: self.passed_over + self.state.passed_over,
            own_cpu_ns: own_cpu_ns() as u64,
            own_bytes: own_bytes(),
        }
    }

    fn beside(&self, now_ns: u64) -> Beside {
        Beside { unwatched_ns: self.unwatched(now_ns), ..self.hooks.beside() }
    }

    fn unwatched(&self, now_ns: u64) -> u64 {
        self.unwatched_ns + self.gone_ns.map_or(0, |gone_ns| now_ns.saturating_sub(gone_ns))
    }

    /// Whether a look at the service may show something new. It is not there, or has other processes, or its ports
    /// have not been looked at for long.
    fn may_differ(&mut self, now_ns: u64) -> bool {
        self.next_find_ns = now_ns + if self.target.is_some() { AGAIN_NS } else { FIND_NS };
        let roots = self.by.roots(Path::new("/proc"));
        let is_due = self.target.is_none() || now_ns >= self.next_ports_ns || roots != self.roots;
        self.roots = roots;
        is_due
    }

    /// Looks for the service, or for more of it.
    fn find(&mut self, now_ns: u64, log: &mut Log<'_>) -> Result<(), Fault> {
        let listed = self.by.look(Path::new("/proc"), &self.ports, &[std::process::id()]);
        self.next_ports_ns = now_ns + PORTS_NS;
        let Some(mut listed) = listed else { return Ok(()) };
        for pid in self.hooks.pids()? {
            if !lives(Path::new("/proc"), pid) {
                self.hooks.leave(pid);
            } else if !listed.pids.contains(&pid) {
                listed.pids.push(pid); // a child that has left its parent
            }
        }
        let is_new = self.target.is_none();
        if self.target.as_ref() != Some(&listed) {
            self.hooks.follow(&listed)?;
        }
        if is_new {
            self.unwatched_ns = self.unwatched(Monotonic.now_ns()); // a look takes long on a full machine
            self.gone_ns = None;
            self.hooks.set_floor(self.state.floor_ns);
            self.hooks.enable(true);
            let ports: Vec<String> = listed.ports.iter().map(ToString::to_string).collect();
            let (name, ports) = (in_line(&listed.name), ports.join(", "));
            log.line(&format!("watching {name} (pid {}), port {ports}", listed.pid));
        }
        self.windows.iter().for_each(|windows| windows.follow(Some(listed.pid)));
        self.newest = listed.clone();
        self.target = Some(listed);
        Ok(())
    }
}

fn cause(kind: &str, about: String) -> Cause {
    Cause { kind: kind.into(), about, at_unix_ns: unix_ns(), passed_over: 0 }
}

/// Memory of this program that is in RAM, bytes.
fn own_bytes() -> u64 {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages: u64 = text.split_whitespace().nth(1).and_then(|it| it.parse().ok()).unwrap_or(0);
    // SAFETY: it takes a number and touches no memory.
    let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) }; // 64 KiB on some machines
    pages * u64::try_from(page).unwrap_or(0)
}
