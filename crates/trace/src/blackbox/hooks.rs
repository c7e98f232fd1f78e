//! The hooks of the black box: load, attach, tell them whom to watch, take what they send.

use std::cell::RefCell;
use std::path::Path;
use std::rc::Rc;

use libbpf_rs::btf::Btf;
use libbpf_rs::btf::types::Typedef;
use libbpf_rs::{Link, MapCore as _, MapFlags, Object, RingBuffer, RingBufferBuilder};
use sojourn_base::Fault;
use sojourn_base::process::lives;

use super::record::{self, Came};
use super::tally::Beside;
use crate::attach::kernel::{self, refused};
use crate::attach::load;
use crate::attach::pidns;
use crate::attach::shared::Shared;
use crate::attach::steps::Steps;
use crate::culprit::eye::Eye;
use crate::culprit::symbols::Lasting;
use crate::culprit::watch::Watch;
use crate::judge::result::TargetFacts;
use crate::reconstruct::bins;
use crate::reconstruct::layout::{slow_control as control, slow_counts as counts};

static OBJECT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/slow.bpf.o"));

/// Programs, and where they sit.
pub(crate) const HOOKS: [(&str, &str); 5] = [
    ("slow_ready", "sk_data_ready"),
    ("slow_sent", "sock_send_length"),
    ("slow_signal", "signal_generate"),
    ("slow_fork", "sched_process_fork"),
    ("slow_exit", "sched_process_exit"),
];

/// What threads wait for is looked at all the time, so only what a user can notice.
const EYE: Eye = Eye {
    floor_ns: 200_000,
    stack_gap_ns: 20_000_000,
    run_ns: 50_000,
    group_ns: 100_000,
    idle_ns: 1_000_000,
    // A thread for each connection waits for its next request there.
    idles: &[libc::SYS_recvfrom, libc::SYS_recvmsg, libc::SYS_accept4],
    sees_interrupts: false,
};
/// Events of the scheduler in memory: 60 MB. Before older ones leave, the requests that they belong to are cut up.
const EVENTS: usize = 300_000;

/// The loaded hooks. Dropping it detaches them.
pub struct Hooks {
    control: Shared,
    counts: Shared,
    ring: RingBuffer<'static>,
    came: Rc<RefCell<Vec<Came>>>,
    watch: Watch,
    lasting: Lasting,
    /// Scheduler events that ended before this may have left memory, ns of the monotonic clock.
    seen_from_ns: u64,
    _links: Vec<Link>,
    object: Object,
}

impl Hooks {
    /// Loads and attaches them; they do nothing until `enable`.
    ///
    /// # Errors
    /// This kernel has no such tracepoints, or refuses.
    pub fn load() -> Result<Self, Fault> {
        let object = object(OBJECT, None)?;
        let tgids = load::map(&object, "tgids")?;
        let watch = Watch::load_with(&tgids, EYE)?;
        let control = Shared::new(&load::map(&object, ".data.slow")?, control::SIZE)?;
        let counts = Shared::new(&load::map(&object, ".bss.slow")?, counts::SIZE)?;
        let came = Rc::new(RefCell::new(Vec::new()));
        let ring = ring(&object, Rc::clone(&came))?;
        let mut steps = Steps::default();
        let mut links = Vec::new();
        for (name, point) in HOOKS {
            links.push(steps.take(|| attach(&object, (name, point)))?);
        }
        links.extend(watch.attach(&mut steps)?);
        let lasting = Lasting::default();
        Ok(Self {
            control,
            counts,
            ring,
            came,
            watch,
            lasting,
            seen_from_ns: 0,
            _links: links,
            object,
        })
    }

    /// Watches this service, and none else: its processes and ports.
    pub fn follow(&self, target: &TargetFacts) -> Result<(), Fault> {
        follow(&self.object, &self.control, target)
    }

    /// Processes of the service, with children that it has started since.
    pub fn pids(&self) -> Result<Vec<u32>, Fault> {
        Ok(load::pids(&load::map(&self.object, "tgids")?))
    }

    /// Whether a process is watched: since it was followed it has not ended.
    pub fn watches(&self, pid: u32) -> bool {
        let tgids = load::map(&self.object, "tgids");
        tgids
            .is_ok_and(|tgids| !matches!(tgids.lookup(&pid.to_ne_bytes(), MapFlags::ANY), Ok(None)))
    }

    /// A process has ended, so its threads are no longer watched.
    pub fn leave(&self, pid: u32) {
        if let Ok(tgids) = load::map(&self.object, "tgids") {
            let _ = tgids.delete(&pid.to_ne_bytes()); // it may be gone
        }
    }

    /// Requests are timed from now on, or not any more.
    pub fn enable(&self, is_on: bool) {
        self.control.set(control::IS_ENABLED, u64::from(is_on));
    }

    /// Shorter requests are counted only.
    pub fn set_floor(&self, ns: u64) {
        self.control.set(control::FLOOR_NS, ns);
    }

    /// Takes what came, and names the stacks in it.
    pub fn take(&mut self) -> Result<Vec<Came>, Fault> {
        self.ring.consume().map_err(refused)?;
        let from = self.watch.seen().offs.len();
        self.watch.consume()?;
        let mut seen = self.watch.seen();
        if seen.offs.len() > from {
            self.lasting.take(&self.watch.stacks()?, &mut seen, from);
        }
        drop(seen);
        Ok(std::mem::take(&mut self.came.borrow_mut()))
    }

    /// Whether scheduler events have to leave memory, so that others have room.
    pub fn is_full(&self) -> bool {
        self.watch.seen().is_above(EVENTS)
    }

    /// Drops events that ended before `from_ns`, and the older half of those without room.
    pub fn forget(&mut self, from_ns: u64) {
        let to_ns = self.watch.seen().forget(from_ns, EVENTS);
        self.seen_from_ns = to_ns.unwrap_or(self.seen_from_ns).max(from_ns);
        self.watch.recycle();
    }

    /// Scheduler events that ended before this may have left memory.
    pub fn seen_from_ns(&self) -> u64 {
        self.seen_from_ns
    }

    /// What threads waited for, as the kernel reports it.
    pub fn seen(&self) -> std::cell::RefMut<'_, crate::culprit::seen::Seen> {
        self.watch.seen()
    }

    /// All requests since the beginning, by bin of their time.
    pub fn totals(&self) -> Vec<u64> {
        (0..bins::TOTAL.count()).map(|bin| self.counts.word(counts::TOTALS + 8 * bin)).collect()
    }

    /// What is counted beside them, less the time without a service, which no hook knows. Dropped are slow requests
    /// without room, and those for which the kernel had no memory.
    pub fn beside(&self) -> Beside {
        let word = |at| self.counts.word(at);
        Beside {
            dropped: word(counts::DROPPED) + word(counts::UNTRACKED),
            lower_bounds: word(counts::LOWER_BOUNDS),
            together: word(counts::TOGETHER),
            foreign: word(counts::FOREIGN),
            events_lost: self.watch.lost(),
            unwatched_ns: 0,
        }
    }
}

/// Sets the processes and ports of the service, which the hooks of `object` watch.
pub(crate) fn follow(object: &Object, control: &Shared, target: &TargetFacts) -> Result<(), Fault> {
    let tgids = load::map(object, "tgids")?;
    for pid in &target.pids {
        tgids.update(&pid.to_ne_bytes(), &1_u32.to_ne_bytes(), MapFlags::ANY).map_err(refused)?;
    }
    // The hook that sees a process end could not remove one that had ended before it was here.
    for pid in target.pids.iter().filter(|pid| !lives(Path::new("/proc"), **pid)) {
        let _ = tgids.delete(&pid.to_ne_bytes()); // it may be gone
    }
    let mut words = [0_u64; 1024];
    for port in &target.ports {
        words[usize::from(port >> 6)] |= 1 << (port & 63);
    }
    for (at, word) in words.into_iter().enumerate() {
        control.set(control::PORTS + 8 * at, word);
    }
    Ok(())
}

/// Room in the object that reports every request.
#[derive(Clone, Copy)]
pub(crate) struct Every {
    /// Size of its ring.
    pub(crate) ring_bytes: u32,
    /// Processes of the service.
    pub(crate) processes: u32,
}

/// The object that reports every request; its programs are not attached yet.
pub(crate) fn every(room: Every) -> Result<Object, Fault> {
    object(OBJECT, Some(room))
}

/// Attaches one of [`HOOKS`] of `object`.
pub(crate) fn attach(object: &Object, (name, point): (&str, &str)) -> Result<Link, Fault> {
    let program = load::program(object, name).ok_or_else(|| missing(point))?;
    program.attach().map_err(|error| refused(error).within(point))
}

fn ring(object: &Object, came: Rc<RefCell<Vec<Came>>>) -> Result<RingBuffer<'static>, Fault> {
    let map = load::map(object, "slow_ring")?;
    let mut builder = RingBufferBuilder::new();
    let take = move |bytes: &[u8]| {
        came.borrow_mut().extend(record::read(bytes));
        0
    };
    builder.add(&map, take).map_err(refused)?;
    builder.build().map_err(refused)
}

fn missing(point: &str) -> Fault {
    Fault::usage(
        format!("this kernel has no tracepoint {point}, and this way to trace needs it"),
        kernel::release(),
        "a kernel of 6.3 or later has it; on an older one trace without --ring and --times",
    )
}

/// Loads the object in `bytes`, ours or one that another compiler made; what each program costs the verifier.
pub fn verifier_costs(bytes: Option<&[u8]>) -> Result<Vec<(String, u32)>, Fault> {
    let object = object(bytes.unwrap_or(OBJECT), None)?;
    let cost = |(name, _): &(&str, &str)| {
        let program = load::program(&object, name)?;
        Some(((*name).to_owned(), kernel::program_cost(&program).ok()?.verified))
    };
    Ok(HOOKS.iter().filter_map(cost).collect())
}

/// Opened, set and loaded. `every`: each request is reported, with room for so much.
fn object(bytes: &[u8], every: Option<Every>) -> Result<Object, Fault> {
    kernel::listen_to_libbpf();
    let btf = Btf::from_vmlinux().map_err(refused)?;
    for (_, point) in HOOKS {
        if btf.type_by_name::<Typedef<'_>>(&format!("btf_trace_{point}")).is_none() {
            return Err(missing(point));
        }
    }
    let mut object = load::open(bytes).map_err(refused)?;
    let pid_ns = u64::from(pidns::of(Path::new("/proc"))?);
    let settings = [pid_ns, u64::from(every.is_some())].map(u64::to_ne_bytes).concat();
    for mut map in object.maps_mut() {
        if map.name().to_str() == Some(".rodata.slow") {
            map.set_initial_value(&settings).map_err(refused)?;
        }
        let entries = match (map.name().to_str(), every) {
            (Some("slow_ring"), Some(room)) => room.ring_bytes,
            (Some("tgids"), Some(room)) => room.processes,
            _ => continue,
        };
        map.set_max_entries(entries).map_err(refused)?;
    }
    object.load().map_err(|error| load::explain(&error, &kernel::libbpf_messages()))
}
