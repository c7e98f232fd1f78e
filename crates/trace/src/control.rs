//! What user space tells the hooks while a trace runs: the kernel's `struct control`, and what goes over
//! all threads and connections when a window begins and ends.

use std::io::Read as _;
use std::os::fd::AsFd as _;

use libbpf_rs::{Iter, IterOpts, Link, MapCore as _, Object};
use sojourn_base::Fault;
use sojourn_base::clock::{Clock as _, Monotonic};

use crate::hooks::{ON_END, ON_TASK};
use crate::kernel::refused;
use crate::shared::Shared;
use crate::{kernel, load};

/// Words of `struct control`, in its order.
#[derive(Clone, Copy)]
enum Word {
    IsEnabled,
    StartedNs,
    RealMinusMonoNs,
    WorstFloorNs,
    BlameFloorNs,
    EndedNs,
    Epoch,
    SeenNs,
    Salt,
    Sweep,
    Look,
    Open,
}

/// Bytes of `struct control`.
pub const BYTES: usize = 8 * (Word::Open as usize + 1);

/// What `on_end` does: `enum sweep`.
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

/// What user space sets while hooks run, and its two iterators; shared memory, no system call.
pub struct Control {
    words: Shared,
    moment: Shared,
    conns: Option<Link>,
    tasks: Option<Link>,
}

impl Control {
    /// For a loaded object. Its iterators are made ready; they cost nothing until they are asked.
    pub fn new(object: &Object) -> Result<Self, Fault> {
        let moment = load::map(object, ".bss.moment")?;
        let moment = Shared::new(&moment, moment.value_size() as usize)?;
        let words = Shared::new(&load::map(object, ".data.control")?, BYTES)?;
        let conns = match load::program(object, ON_END.program) {
            Some(program) => {
                let map = load::map(object, "conns")?;
                Some(program.attach_iter(map.as_fd()).map_err(refused)?)
            }
            None => None,
        };
        let tasks = load::program(object, ON_TASK.program)
            .and_then(|program| program.attach_iter_with_opts(IterOpts::None).ok());
        Ok(Self { words, moment, conns, tasks })
    }

    /// Whether both iterators are there.
    pub fn iterators(&self) -> (bool, bool) {
        (self.conns.is_some(), self.tasks.is_some())
    }

    fn set(&self, word: Word, value: u64) {
        self.words.set(8 * word as usize, value);
    }

    /// Gives a place to the threads there are, once.
    pub fn enrol(&self) -> Result<(), Fault> {
        self.look(Look::Enrol)
    }

    /// Begins window `epoch`, from 1: all hooks are attached. They begin to look at one moment, then
    /// what threads do by now is noted, and then the window begins. Answers when.
    pub fn begin(&self, epoch: u64) -> Result<u64, Fault> {
        self.moment.clear();
        self.set(Word::StartedNs, u64::MAX);
        self.set(Word::EndedNs, 0);
        self.set(Word::RealMinusMonoNs, kernel::real_minus_mono_ns().cast_unsigned());
        self.set(Word::Epoch, epoch);
        self.set(Word::Open, 1); // it is not known otherwise
        self.set(Word::SeenNs, Monotonic.now_ns());
        self.set(Word::IsEnabled, 1);
        self.look(Look::Seed)?;
        let started_ns = Monotonic.now_ns();
        self.set(Word::StartedNs, started_ns);
        Ok(started_ns)
    }

    /// Ends the window: what arrives from now on does not count. Answers when.
    pub fn end(&self) -> u64 {
        let ended_ns = Monotonic.now_ns();
        self.set(Word::EndedNs, ended_ns);
        ended_ns
    }

    /// The hooks do nothing any more.
    pub fn disable(&self) {
        self.set(Word::IsEnabled, 0);
    }

    /// Requests of the window that have not ended.
    pub fn open(&self) -> Result<u64, Fault> {
        self.set(Word::Open, 0);
        self.sweep(Sweep::Count)?;
        Ok(self.words.word(8 * Word::Open as usize))
    }

    /// Closes the exchanges that no further request closed, and counts what was cut off. The hooks
    /// are disabled.
    pub fn close(&self) -> Result<(), Fault> {
        self.sweep(Sweep::Close).map(|_| ())
    }

    /// The same, and the lines of all connections.
    pub fn list(&self) -> Result<Vec<u8>, Fault> {
        self.sweep(Sweep::List)
    }

    /// Totals from here on are wanted for the list of the worst, and to be looked into; 0: none.
    pub fn want(&self, (worst_ns, blame_ns): (u64, u64)) {
        self.set(Word::WorstFloorNs, worst_ns);
        self.set(Word::BlameFloorNs, blame_ns);
    }

    /// Chooses other flows: those whose port and `salt` hash below the sample's share.
    pub fn salt(&self, salt: u64) {
        self.set(Word::Salt, salt);
    }

    fn sweep(&self, what: Sweep) -> Result<Vec<u8>, Fault> {
        self.set(Word::Sweep, what as u64);
        self.conns.as_ref().map_or(Ok(Vec::new()), go_over)
    }

    fn look(&self, what: Look) -> Result<(), Fault> {
        self.set(Word::Look, what as u64);
        self.tasks.as_ref().map_or(Ok(Vec::new()), go_over).map(|_| ())
    }
}

/// Lets an iterator go over all there is; what it writes.
fn go_over(link: &Link) -> Result<Vec<u8>, Fault> {
    let mut bytes = Vec::new();
    let mut iter = Iter::new(link).map_err(refused)?;
    iter.read_to_end(&mut bytes).map_err(|error| {
        Fault::failed(
            format!("cannot go over threads or connections: {error}"),
            "bpf_iter",
            "report it",
        )
    })?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The names of the kernel's fields and enumerators, in the order of `bpf/shapes.h`.
    fn names(head: &str) -> Vec<String> {
        let body = include_str!("bpf/shapes.h").split_once(head).unwrap().1;
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
        let control = names("struct control {");
        assert_eq!(control.len() * 8, BYTES);
        for (word, name) in [
            (Word::IsEnabled, "is_enabled"),
            (Word::StartedNs, "started_ns"),
            (Word::RealMinusMonoNs, "real_minus_mono_ns"),
            (Word::WorstFloorNs, "worst_floor_ns"),
            (Word::BlameFloorNs, "blame_floor_ns"),
            (Word::EndedNs, "ended_ns"),
            (Word::Epoch, "epoch"),
            (Word::SeenNs, "seen_ns"),
            (Word::Salt, "salt"),
            (Word::Sweep, "sweep"),
            (Word::Look, "look"),
            (Word::Open, "open_n"),
        ] {
            assert_eq!(control[word as usize], name);
        }
        assert_eq!(names("enum sweep {")[Sweep::List as usize], "SWEEP_LIST");
        assert_eq!(names("enum sweep {")[Sweep::Close as usize], "SWEEP_CLOSE");
        assert_eq!(names("enum sweep {")[Sweep::Count as usize], "SWEEP_COUNT");
        assert_eq!(names("enum look {")[Look::Enrol as usize], "LOOK_ENROL");
        assert_eq!(names("enum look {")[Look::Seed as usize], "LOOK_SEED");
    }
}
