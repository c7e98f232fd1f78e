//! The culprit's hooks: load, attach, take their events, detach. Runs beside a breakdown.

use std::cell::{Cell, RefCell, RefMut};
use std::os::fd::AsFd as _;
use std::path::Path;
use std::rc::Rc;

use libbpf_rs::btf::types::Typedef;
use libbpf_rs::{Link, Map, Object, RingBuffer, RingBufferBuilder};
use sojourn_base::Fault;
use sojourn_base::clock::{Clock as _, Monotonic};

use super::eye::{Eye, IN_WINDOWS, settings};
use super::keep::Keep;
use super::result::{Asked, Blamed, blame};
use super::seen::Seen;
use super::symbols;
use crate::attach::kernel;
use crate::attach::kernel::refused;
use crate::attach::load;
use crate::attach::pidns;
use crate::attach::shared::Shared;
use crate::attach::steps::Steps;
use crate::reconstruct::bins;
use crate::reconstruct::counts::{Counts, tid_of};
use crate::reconstruct::layout::{culprit_control as control, culprit_counts as counts};
use crate::reconstruct::parts::Hook;

static OBJECT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/culprit.bpf.o"));

/// Programs, where they sit, and what is lost without them; empty: nothing works without.
const HOOKS: [(&str, &str, &str); 8] = [
    ("culprit_switch", "sched_switch", ""),
    ("culprit_waking", "sched_waking", ""),
    ("culprit_migrate", "sched_migrate_task", MIGRATE),
    ("culprit_exit", "sched_process_exit", "thread ids used again may be taken for the service's"),
    ("culprit_softirq", "softirq_entry", SOFTIRQ),
    ("culprit_softirq_end", "softirq_exit", SOFTIRQ),
    ("culprit_irq", "irq_handler_entry", HARDIRQ),
    ("culprit_irq_end", "irq_handler_exit", HARDIRQ),
];
const MIGRATE: &str =
    "a thread that is moved while it waits for a CPU is taken to have waited for the last one";
const SOFTIRQ: &str = "soft-IRQ time counts for the task it strikes";
const HARDIRQ: &str = "time in interrupts counts for the task they strike";

/// Of 1024 places for threads: from here on they are given out anew.
const PLACES: u64 = 960;

/// Thread ids may be used again by anybody: this one stays between windows.
const LIVES: &str = "culprit_exit";

/// The loaded hooks, and their events so far.
pub struct Watch {
    lives: Option<Link>,
    eye: Eye,
    /// Programs that could be attached.
    names: RefCell<Vec<&'static str>>,
    control: Shared,
    counts: Shared,
    epoch: Cell<u64>,
    ring: RingBuffer<'static>,
    seen: Rc<RefCell<Seen>>,
    object: Object,
}

impl Watch {
    /// Loads everything; `tgids` is the breakdown's map of the service's processes.
    pub fn load(tgids: &Map<'_>) -> Result<Self, Fault> {
        Self::load_with(tgids, IN_WINDOWS)
    }

    /// The same, looking in another way.
    pub fn load_with(tgids: &Map<'_>, eye: Eye) -> Result<Self, Fault> {
        let object = object(OBJECT, Some(tgids), eye)?;
        let lives = load::program(&object, LIVES).and_then(|program| program.attach().ok());
        let control = Shared::new(&load::map(&object, ".data.culprit")?, control::SIZE)?;
        let counts = Shared::new(&load::map(&object, ".bss.culprit")?, counts::SIZE)?;
        let seen = Rc::new(RefCell::new(Seen::default()));
        let taken = Rc::clone(&seen);
        let ring = {
            let map = load::map(&object, "culprit_ring")?;
            let mut builder = RingBufferBuilder::new();
            let take = move |bytes: &[u8]| {
                taken.borrow_mut().take(bytes);
                0
            };
            builder.add(&map, take).map_err(refused)?;
            builder.build().map_err(refused)?
        };
        let names = RefCell::new(lives.iter().map(|_| LIVES).collect());
        let epoch = Cell::new(0);
        Ok(Self { lives, eye, names, control, counts, epoch, ring, seen, object })
    }

    /// Attaches the hooks; they begin to look. Until `disable`, then the links may be dropped.
    pub fn attach(&self, steps: &mut Steps) -> Result<Vec<Link>, Fault> {
        let mut links = Vec::new();
        let is_wanted =
            |lost: &str| self.eye.sees_interrupts || ![SOFTIRQ, HARDIRQ].contains(&lost);
        for (name, point, lost) in HOOKS.iter().filter(|(name, ..)| *name != LIVES) {
            if !is_wanted(lost) {
                continue;
            }
            let program = load::program(&self.object, name);
            match program.map(|program| steps.take(|| program.attach())) {
                Some(Ok(link)) => {
                    links.push(link);
                    if !self.names.borrow().contains(name) {
                        self.names.borrow_mut().push(name);
                    }
                }
                Some(Err(error)) if lost.is_empty() => return Err(refused(error).within(point)),
                _ if lost.is_empty() => return Err(missing(point)),
                _ => {}
            }
        }
        self.epoch.set(self.epoch.get() + 1);
        self.counts.set(counts::WAITING, 0);
        self.control.set(control::EPOCH, self.epoch.get());
        self.control.set(control::BEGAN_NS, Monotonic.now_ns());
        self.control.set(control::IS_ENABLED, 1);
        Ok(links)
    }

    /// The hooks do nothing any more.
    pub fn disable(&self) {
        self.control.set(control::IS_ENABLED, 0);
    }

    /// What was attached, and what it cost if the kernel measured it.
    pub fn hooks(&self, is_measured: bool) -> Vec<Hook> {
        let hook = |(name, point, lost): &(&str, &str, &str)| {
            let attached = self.names.borrow().contains(name);
            let program = load::program(&self.object, name);
            let cost = program.and_then(|program| kernel::program_cost(&program).ok());
            let measured = cost.filter(|_| is_measured);
            Hook {
                name: format!("{point} (blame)"),
                attached,
                lost: if attached { String::new() } else { (*lost).into() },
                missed: cost.map_or(0, |cost| cost.missed),
                runs: measured.map(|cost| cost.runs),
                run_ns: measured.filter(|c| c.runs > 0).map(|c| c.run_ns as f64 / c.runs as f64),
            }
        };
        HOOKS.iter().map(hook).collect()
    }

    /// Takes what is in the ring.
    pub fn consume(&self) -> Result<(), Fault> {
        self.ring.consume().map_err(refused)
    }

    /// What was sent and has not been dropped.
    pub fn seen(&self) -> RefMut<'_, Seen> {
        self.seen.borrow_mut()
    }

    /// The kernel's stacks, by the numbers that events have.
    pub fn stacks(&self) -> Result<Map<'_>, Fault> {
        load::map(&self.object, "culprit_stacks")
    }

    /// Events without room in the ring so far.
    pub fn lost(&self) -> u64 {
        self.counts.word(counts::RING_FULL)
    }

    /// Gives the places of threads out anew once most are in use: threads come and go for days.
    pub fn recycle(&self) {
        if self.counts.word(counts::THREADS_N) > PLACES {
            self.counts.set(counts::THREADS_N, 0);
        }
    }

    /// Joins the slowest requests of a trace with what was seen meanwhile; nothing is attached any more.
    pub fn blame(self, keep: Keep, counts: &Counts, started_ns: u64) -> Result<Blamed, Fault> {
        let q = keep.quantile();
        // The edge of the quantile's bin, from which on the kernel's own count is exact.
        let bin = bins::TOTAL.quantile(&counts.totals, 0, q).map_or(0, |ns| bins::TOTAL.of(ns));
        let from_ns = bins::TOTAL.low(bin);
        let mut kept = keep.split(from_ns);
        let tids: Vec<u32> = counts.threads.iter().map(|thread| thread.tid).collect();
        for record in kept.tail.iter_mut().chain(&mut kept.body) {
            record.thread = tid_of(&tids, record.thread);
            record.writer = tid_of(&tids, record.writer);
        }
        let asked = Asked {
            q,
            from_ns,
            requests: counts.totals.iter().skip(bin).sum(),
            span: (started_ns, started_ns + counts.duration_ns),
            threads: &counts.threads,
        };
        Ok(blame(asked, &kept, &self.end()?))
    }

    /// Every event, with names.
    fn end(self) -> Result<Seen, Fault> {
        drop(self.lives);
        self.ring.consume().map_err(refused)?;
        drop(self.ring);
        let mut seen = self.seen.take();
        let count = |at: usize| self.counts.word(at);
        seen.losses.told = count(counts::TOLD).saturating_sub(seen.losses.lost);
        seen.losses.lost += count(counts::RING_FULL);
        seen.losses.history_full = count(counts::HISTORY_FULL);
        seen.losses.stacks_lost = count(counts::STACKS_LOST);
        let stacks = load::map(&self.object, "culprit_stacks")?;
        seen.stacks = symbols::name(&stacks, &seen.offs, &mut seen.names);
        Ok(seen)
    }
}

fn missing(point: &str) -> Fault {
    Fault::usage(
        format!("this kernel has no tracepoint {point}"),
        kernel::release(),
        "leave out --blame, --flame and --folded",
    )
}

/// Loads the object in `bytes`, ours or one that another compiler made; what each program costs the
/// verifier.
pub fn verifier_costs(bytes: Option<&[u8]>) -> Result<Vec<(String, u32)>, Fault> {
    let object = object(bytes.unwrap_or(OBJECT), None, IN_WINDOWS)?;
    let cost = |(name, ..): &(&str, &str, &str)| {
        let program = load::program(&object, name)?;
        Some(((*name).to_owned(), kernel::program_cost(&program).ok()?.verified))
    };
    Ok(HOOKS.iter().filter_map(cost).collect())
}

fn object(bytes: &[u8], tgids: Option<&Map<'_>>, eye: Eye) -> Result<Object, Fault> {
    kernel::listen_to_libbpf();
    let mut object = load::open(bytes).map_err(refused)?;
    let pid_ns = pidns::of(Path::new("/proc"))?;
    for mut map in object.maps_mut() {
        match (map.name().to_str(), tgids) {
            (Some(".rodata.culprit"), _) => {
                map.set_initial_value(&settings(pid_ns, eye)).map_err(refused)?;
            }
            (Some("tgids"), Some(shared)) => map.reuse_fd(shared.as_fd()).map_err(refused)?,
            _ => {}
        }
    }
    let btf = libbpf_rs::btf::Btf::from_vmlinux().map_err(refused)?;
    for mut program in object.progs_mut() {
        let name = program.name().to_string_lossy().into_owned();
        let hook = HOOKS.iter().find(|(program, ..)| *program == name);
        let has = hook.is_some_and(|(_, point, _)| {
            btf.type_by_name::<Typedef<'_>>(&format!("btf_trace_{point}")).is_some()
        });
        program.set_autoload(has);
    }
    object.load().map_err(|error| load::explain(&error, &kernel::libbpf_messages()))
}
