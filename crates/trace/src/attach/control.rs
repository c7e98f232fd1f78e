//! What user space sets for the hooks while a trace runs: the kernel's `struct control`, and what goes over
//! all threads and connections when a window begins and ends.

use std::time::Duration;

use libbpf_rs::{Link, MapCore as _, Object};
use sojourn_base::Fault;
use sojourn_base::clock::{Clock as _, Monotonic};

use crate::attach::hooks::ON_TASK;
use crate::attach::kernel;
use crate::attach::load;
use crate::attach::netns::NetworkNamespace;
use crate::attach::shared::Shared;
use crate::attach::sweeps::{Sweeps, go_over, iterator};
use crate::reconstruct::layout::control;

/// A hook that runs when hooks are disabled has ended by then.
const RUNS_OUT: Duration = Duration::from_millis(1);

/// What a sweep does: `enum sweep`.
#[derive(Clone, Copy)]
enum Sweep {
    Count,
    Close,
    List,
}

/// What `on_task` does: `enum look`.
#[derive(Clone, Copy)]
enum Look {
    Enrol,
    Seed,
}

/// What user space sets while hooks run, and what goes over connections and threads; shared memory, no system
/// call.
pub struct Control {
    words: Shared,
    moment: Shared,
    sweeps: Sweeps,
    tasks: Option<Link>,
}

impl Control {
    /// For a loaded object and the namespaces that its connections are in. Its iterators are made
    /// ready; they cost nothing until they are asked.
    pub fn new(object: &Object, namespaces: Vec<NetworkNamespace>) -> Result<Self, Fault> {
        let moment = load::map(object, ".bss.moment")?;
        let moment = Shared::new(&moment, moment.value_size() as usize)?;
        let words = Shared::new(&load::map(object, ".data.control")?, control::SIZE)?;
        let sweeps = Sweeps::new(object, namespaces)?;
        let tasks = iterator(object, &ON_TASK).ok().flatten();
        Ok(Self { words, moment, sweeps, tasks })
    }

    /// Whether the iterators are there: over all connections, those of a process, and threads.
    pub fn iterators(&self) -> [bool; 3] {
        let (all, of_process) = self.sweeps.are_there();
        [all, of_process, self.tasks.is_some()]
    }

    fn set(&self, at: usize, value: u64) {
        self.words.set(at, value);
    }

    /// Gives a place to the threads there are, once.
    pub fn enrol(&self) -> Result<(), Fault> {
        self.look(Look::Enrol)
    }

    /// Begins window `epoch`, from 1: all hooks are attached. They begin to look at one moment, then
    /// what threads do by now is noted, and then the window begins. Answers when.
    pub fn begin(&self, epoch: u64) -> Result<u64, Fault> {
        self.moment.clear();
        self.set(control::STARTED_NS, u64::MAX);
        self.set(control::ENDED_NS, 0);
        self.set(control::REAL_MINUS_MONO_NS, kernel::real_minus_mono_ns().cast_unsigned());
        self.set(control::KNOWN_N, 0);
        self.set(control::EPOCH, epoch);
        self.set(control::OPEN_N, 1); // it is not known otherwise
        self.set(control::SEEN_NS, Monotonic.now_ns());
        self.set(control::IS_ENABLED, 1);
        self.look(Look::Seed)?;
        let started_ns = Monotonic.now_ns();
        self.set(control::STARTED_NS, started_ns);
        Ok(started_ns)
    }

    /// Ends the window: what arrives from now on does not count. Answers when.
    pub fn end(&self) -> u64 {
        let ended_ns = Monotonic.now_ns();
        self.end_at(ended_ns);
        ended_ns
    }

    /// What arrives from then on does not count.
    pub fn end_at(&self, ns: u64) {
        self.set(control::ENDED_NS, ns);
    }

    /// The hooks do nothing any more.
    pub fn disable(&self) {
        self.set(control::IS_ENABLED, 0);
        std::thread::sleep(RUNS_OUT);
    }

    /// Requests of the window that have not ended.
    pub fn open(&self) -> Result<u64, Fault> {
        self.sweep(Sweep::Count)?;
        Ok(self.words.word(control::OPEN_N))
    }

    /// Closes the exchanges that no further request closed, and counts what was cut off. The hooks
    /// are disabled.
    pub fn close(&self) -> Result<(), Fault> {
        self.sweep(Sweep::Close)
    }

    /// The same, and the lines of all connections.
    pub fn list(&self) -> Result<Vec<u8>, Fault> {
        self.begin_sweep(Sweep::List);
        self.sweeps.all()
    }

    /// Totals from here on are wanted for the list of the worst, and to be looked into; 0: none.
    pub fn want(&self, (worst_ns, blame_ns): (u64, u64)) {
        self.set(control::WORST_FLOOR_NS, worst_ns);
        self.set(control::BLAME_FLOOR_NS, blame_ns);
    }

    /// Chooses other flows: those whose port and `salt` hash below the sample's share.
    pub fn salt(&self, salt: u64) {
        self.set(control::SALT, salt);
    }

    /// Over what the service has open, and if that does not lead to all connections of the window, over all.
    fn sweep(&self, what: Sweep) -> Result<(), Fault> {
        self.begin_sweep(what);
        let has_all = || self.words.word(control::SWEPT_N) >= self.words.word(control::KNOWN_N);
        if self.sweeps.open() && has_all() {
            return Ok(());
        }
        self.begin_sweep(what);
        self.sweeps.all().map(|_| ())
    }

    fn begin_sweep(&self, what: Sweep) {
        self.set(control::SWEEP, what as u64);
        self.set(control::SWEEP_NUMBER, self.words.word(control::SWEEP_NUMBER) + 1);
        self.set(control::SWEPT_N, 0);
        if matches!(what, Sweep::Count) {
            self.set(control::OPEN_N, 0);
        }
    }

    fn look(&self, what: Look) -> Result<(), Fault> {
        self.set(control::LOOK, what as u64);
        self.tasks.as_ref().map_or(Ok(Vec::new()), go_over).map(|_| ())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The names of the kernel's enumerators, in the order of `bpf/shapes.h`.
    fn names(head: &str) -> Vec<String> {
        let body = include_str!("../bpf/shapes.h").split_once(head).unwrap().1;
        let body = body.split_once("};").unwrap().0;
        let code = body.lines().filter_map(|line| line.split("/*").next());
        let names = code.filter_map(|line| line.split_whitespace().last());
        names
            .map(|name| name.trim_end_matches([';', ',']).to_owned())
            .filter(|n| n != "{")
            .collect()
    }

    #[test]
    fn the_kernel_side_has_the_same_words_in_the_same_order() {
        assert_eq!(names("enum sweep {")[Sweep::List as usize], "SWEEP_LIST");
        assert_eq!(names("enum sweep {")[Sweep::Close as usize], "SWEEP_CLOSE");
        assert_eq!(names("enum sweep {")[Sweep::Count as usize], "SWEEP_COUNT");
        assert_eq!(names("enum look {")[Look::Enrol as usize], "LOOK_ENROL");
        assert_eq!(names("enum look {")[Look::Seed as usize], "LOOK_SEED");
    }
}
