//! Hooks come and go: everything attached hangs on file descriptors that are closed when dropped.

use std::os::fd::{AsRawFd as _, OwnedFd};

use libbpf_rs::{Link, Object};
use sojourn_base::Fault;

use crate::attach::hooks::{
    CALLS, FEW, FINE, Hook, LIVES, MERGED, ON_END, ON_FILE, ON_TASK, READY_FENTRY, SAMPLER,
    TRACEPOINTS,
};
use crate::attach::how::How;
use crate::attach::kernel;
use crate::attach::kernel::refused;
use crate::attach::load;
use crate::attach::steps::Steps;
use crate::reconstruct::parts;

/// CPU samples a second; a prime, so that it keeps no step with anything periodic.
const SAMPLE_HZ: u64 = 997;

/// Dropping it detaches everything in it at once, [`Attached::detach`] step by step.
#[derive(Default)]
pub struct Attached {
    links: Vec<Link>,
    /// What was attached, and what not.
    pub hooks: Vec<parts::Hook>,
    /// Makes the kernel stamp received packets.
    stamps: Option<OwnedFd>,
}

impl Attached {
    /// Those that stay between windows.
    pub fn lives(object: &Object, steps: &mut Steps) -> Result<Self, Fault> {
        let mut attached = Self::default();
        let mut lives = TRACEPOINTS.iter().filter(|hook| LIVES.contains(&hook.program));
        lives.try_for_each(|hook| attached.add(object, hook, steps))?;
        Ok(attached)
    }

    /// All others that this way to trace needs; `is_few`: without those on system calls. Those that fire
    /// most come last, and go first.
    pub fn requests(
        object: &Object,
        how: How,
        is_few: bool,
        steps: &mut Steps,
    ) -> Result<Self, Fault> {
        let is_sample = matches!(how, How::Sample { .. });
        let stamps = if is_sample { None } else { steps.take(kernel::receive_stamps).ok() };
        let mut attached = Self { stamps, ..Self::default() };
        for hook in [&READY_FENTRY].into_iter().chain(TRACEPOINTS.iter().rev()) {
            if LIVES.contains(&hook.program) || !is_few && FEW.contains(&hook.program) {
                continue;
            }
            if is_few && CALLS.contains(&hook.program) {
                attached.note(&Hook { lost: MERGED, ..*hook }, false);
                continue;
            }
            if is_sample && FINE.contains(&hook.program) {
                attached.note(hook, false);
                continue;
            }
            attached.add(object, hook, steps)?;
        }
        Ok(attached)
    }

    /// Detaches everything, step by step.
    pub fn detach(mut self, steps: &mut Steps) {
        steps.detach(std::mem::take(&mut self.links));
        steps.take(|| drop(self.stamps.take()));
    }

    fn add(&mut self, object: &Object, hook: &Hook, steps: &mut Steps) -> Result<(), Fault> {
        let Some(program) = load::program(object, hook.program) else {
            if hook.program != READY_FENTRY.program {
                self.note(hook, false);
            }
            return Ok(());
        };
        match steps.take(|| program.attach()) {
            Ok(link) => {
                self.links.push(link);
                self.note(hook, true);
            }
            Err(_) if !hook.lost.is_empty() => self.note(hook, false),
            Err(error) => return Err(refused(error).within(hook.point)),
        }
        Ok(())
    }

    fn note(&mut self, hook: &Hook, is_attached: bool) {
        self.hooks.push(noted(hook, is_attached));
    }
}

/// The iterators, which are not attached to anything.
pub fn noted_iterators([has_end, has_file, has_task]: [bool; 3]) -> [parts::Hook; 3] {
    [noted(&ON_END, has_end), noted(&ON_FILE, has_file), noted(&ON_TASK, has_task)]
}

fn noted(hook: &Hook, is_attached: bool) -> parts::Hook {
    parts::Hook {
        name: hook.point.into(),
        attached: is_attached,
        lost: if is_attached { String::new() } else { hook.lost.into() },
        missed: 0,
        runs: None,
        run_ns: None,
    }
}

/// The clocks that sample CPU time, one per CPU. They stay, and tick only while they are enabled.
pub struct Clocks {
    _links: Vec<Link>,
    clocks: Vec<OwnedFd>,
}

impl Clocks {
    /// Made and silent; and how the result calls it.
    pub fn new(object: &Object) -> (Self, parts::Hook) {
        let clocks = kernel::cpu_clocks(kernel::cpus(), SAMPLE_HZ).unwrap_or_default();
        let program = load::program(object, SAMPLER.program);
        let links: Option<Vec<Link>> = program.and_then(|program| {
            let attach = |clock: &OwnedFd| program.attach_perf_event(clock.as_raw_fd()).ok();
            clocks.iter().map(attach).collect()
        });
        let is_attached = !clocks.is_empty() && links.is_some();
        let made = Self { _links: links.unwrap_or_default(), clocks };
        made.tick(false);
        (made, noted(&SAMPLER, is_attached))
    }

    /// Lets them tick, or not.
    pub fn tick(&self, is_on: bool) {
        self.clocks.iter().for_each(|clock| kernel::tick(clock, is_on));
    }
}
