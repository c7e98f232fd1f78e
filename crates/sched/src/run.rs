//! In force: from the switch of all tasks to the switch back.

use std::io::Write;
use std::os::unix::process::parent_id;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use libbpf_rs::{Link, MapCore as _, MapFlags, Object};
use serde::Serialize;
use sojourn_base::clock::{Clock as _, Monotonic};
use sojourn_base::units::NS_PER_S;
use sojourn_base::{Fault, files};
use sojourn_trace::attach::kernel;

use crate::host::{self, NAME};
use crate::line::{First, Last, SCHEMA, Second, granted, had};
use crate::load::{self, map, map_mut, refused};
use crate::shapes::{Counts, ending};
use crate::terms::Plan;

const PAUSE: Duration = Duration::from_millis(50);
/// Of the switch of all tasks, on a machine that is busy.
const SWITCH_S_MAX: u64 = 20;

/// Puts the scheduler in force until `stop`, the end of its time or of whoever started it.
pub fn run(plan: &Plan, stop: &AtomicBool, out: &mut dyn Write) -> Result<(), Fault> {
    let parent = parent_id(); // before anything that takes time: whoever it is may end meanwhile
    let mut object = load::object(load::OBJECT, plan)?;
    let link = map_mut(&mut object, "bvt_ops")?.attach_struct_ops().map_err(refused)?;
    let mut watch = Watch::begin(&object, plan, parent)?;
    say(out, &watch.first())?;
    let why = watch.seconds(stop, out)?;
    let last = Last { is_summary: true, whole: watch.whole()?, why: why.text() };
    say(out, &last)?;
    end(link);
    match why {
        Why::Ejected(reason) => Err(Fault::failed(
            format!("the kernel has ended the scheduler: {reason}"),
            format!("sched_ext, Linux {}", kernel::release()),
            "all tasks are under the kernel's own scheduler again; see dmesg, and report it",
        )),
        Why::Stopped | Why::Over | Why::Orphan => Ok(()),
    }
}

/// Loads an object of another compiler and nothing else; its programs with their costs.
pub fn verify(path: &Path, plan: &Plan) -> Result<Vec<(String, u32)>, Fault> {
    let bytes = std::fs::read(path).map_err(|error| {
        let what = format!("the object cannot be read: {error}");
        Fault::usage(what, path.display().to_string(), "name an object of src/bpf/bvt.bpf.c")
    })?;
    Ok(load::verifier_costs(&load::object(&bytes, plan)?))
}

/// Takes it out of force, and waits until the kernel says so.
fn end(link: Link) {
    drop(link);
    let until_ns = Monotonic.now_ns() + SWITCH_S_MAX * NS_PER_S;
    let is_ours = || host::state(Path::new("/")).is_some_and(|now| now.scheduler == NAME);
    while is_ours() && Monotonic.now_ns() < until_ns {
        std::thread::sleep(PAUSE);
    }
}

/// Why it ended.
enum Why {
    Stopped,
    Over,
    Orphan,
    Ejected(String),
}

impl Why {
    fn text(&self) -> String {
        match self {
            Self::Stopped => "it was told to end".into(),
            Self::Over => "its time was over".into(),
            Self::Orphan => "whoever started it has ended".into(),
            Self::Ejected(reason) => reason.clone(),
        }
    }
}

/// Reads what is counted, once a second.
struct Watch<'a> {
    object: &'a Object,
    plan: &'a Plan,
    names: Vec<String>,
    parent: u32,
    start_ns: u64,
    before: (u64, Vec<Counts>),
    begin: Vec<Counts>,
}

impl<'a> Watch<'a> {
    /// Waits until the kernel says that it is in force.
    fn begin(object: &'a Object, plan: &'a Plan, parent: u32) -> Result<Self, Fault> {
        let until_ns = Monotonic.now_ns() + SWITCH_S_MAX * NS_PER_S;
        loop {
            let now = host::state(Path::new("/"));
            let is_on = |now: &host::State| now.state == "enabled" && now.scheduler == NAME;
            if now.as_ref().is_some_and(is_on) {
                break;
            }
            if let Some(reason) = ended(object)? {
                let what = format!("the kernel has not taken the scheduler: {reason}");
                return Err(Fault::failed(what, "sched_ext", "see dmesg, and report it"));
            }
            if Monotonic.now_ns() > until_ns {
                let what = format!("the scheduler is not in force after {SWITCH_S_MAX} s: {now:?}");
                return Err(Fault::failed(what, "/sys/kernel/sched_ext/state", "see dmesg"));
            }
            std::thread::sleep(PAUSE);
        }
        let (start_ns, counts) = (Monotonic.now_ns(), counts(object, plan)?);
        let names = plan.classes.iter().map(|class| class.name.clone()).collect();
        let before = (start_ns, counts.clone());
        Ok(Self { object, plan, names, parent, start_ns, before, begin: counts })
    }

    fn first(&self) -> First {
        First {
            schema: SCHEMA,
            scheduler: NAME,
            kernel: kernel::release(),
            pid: std::process::id(),
            at_ns: self.start_ns,
            allowance_ns: self.plan.allowance_ns,
            grace_ns: self.plan.grace_ns,
            credit_ns: self.plan.credit_ns,
            classes: granted(self.plan),
        }
    }

    fn seconds(&mut self, stop: &AtomicBool, out: &mut dyn Write) -> Result<Why, Fault> {
        let end_ns = self.plan.duration_ns.map_or(u64::MAX, |ns| self.start_ns.saturating_add(ns));
        for nth in 1.. {
            let until_ns = (self.start_ns + nth * NS_PER_S).min(end_ns);
            let mut why = None;
            while why.is_none() && Monotonic.now_ns() < until_ns {
                let left = Duration::from_nanos(until_ns.saturating_sub(Monotonic.now_ns()));
                std::thread::sleep(PAUSE.min(left));
                why = self.why(stop)?;
            }
            let why = why.or_else(|| (Monotonic.now_ns() >= end_ns).then_some(Why::Over));
            let now = (Monotonic.now_ns(), counts(self.object, self.plan)?);
            say(out, &self.between(self.before.0, &self.before.1, &now))?;
            self.before = now;
            if let Some(why) = why {
                return Ok(why);
            }
            load::put_groups(self.object, self.plan, false)?;
            load::drop_ended(self.object, self.plan)?;
        }
        Ok(Why::Over)
    }

    fn why(&self, stop: &AtomicBool) -> Result<Option<Why>, Fault> {
        if let Some(reason) = ended(self.object)? {
            return Ok(Some(Why::Ejected(reason)));
        }
        if stop.load(Ordering::Relaxed) {
            return Ok(Some(Why::Stopped));
        }
        Ok((parent_id() != self.parent).then_some(Why::Orphan))
    }

    fn whole(&self) -> Result<Second, Fault> {
        let now = (Monotonic.now_ns(), counts(self.object, self.plan)?);
        Ok(self.between(self.start_ns, &self.begin, &now))
    }

    fn between(&self, from_ns: u64, from: &[Counts], to: &(u64, Vec<Counts>)) -> Second {
        let had_ns = to.1.iter().zip(from).map(|(to, from)| to.since(*from));
        Second {
            t_s: to.0.saturating_sub(self.start_ns) as f64 / 1e9,
            at_ns: to.0,
            length_s: to.0.saturating_sub(from_ns) as f64 / 1e9,
            classes: had(&self.names, &had_ns.collect::<Vec<Counts>>()),
        }
    }
}

fn counts(object: &Object, plan: &Plan) -> Result<Vec<Counts>, Fault> {
    let map = map(object, "bvt_counts")?;
    let of = |class: usize| {
        let cpus = map.lookup_percpu(&(class as u32).to_ne_bytes(), MapFlags::ANY);
        cpus.map(|cpus| Counts::sum(&cpus.unwrap_or_default())).map_err(refused)
    };
    (0..plan.classes.len()).map(of).collect()
}

/// Why the kernel has ended it; none while it goes on.
fn ended(object: &Object) -> Result<Option<String>, Fault> {
    let bytes = map(object, ".data.bvt")?.lookup(&0_u32.to_ne_bytes(), MapFlags::ANY);
    Ok(bytes.map_err(refused)?.as_deref().and_then(ending))
}

fn say(out: &mut dyn Write, line: &impl Serialize) -> Result<(), Fault> {
    let text = serde_json::to_string(line).unwrap_or_default(); // plain data: it cannot fail
    files::say(out, &format!("{text}\n"))
}
