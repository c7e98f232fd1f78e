//! The hooks that report every request: load, attach, take what they send.

use std::cell::RefCell;
use std::path::Path;
use std::rc::Rc;

use libbpf_rs::{Link, MapCore as _, Object, RingBuffer, RingBufferBuilder};
use sojourn_base::Fault;
use sojourn_base::process::lives;

use super::result::Counts;
use super::rows::{self, Rows};
use crate::attach::kernel::refused;
use crate::attach::load;
use crate::attach::shared::Shared;
use crate::blackbox::hooks::{Every, HOOKS, attach, every, follow};
use crate::judge::result::TargetFacts;
use crate::reconstruct::layout::{slow_control as control, slow_counts as counts};

/// The program that sees signals; it is left out, because times alone need no cause.
const SIGNALS: &str = "slow_signal";

/// The loaded hooks. Dropping it detaches them.
pub(super) struct Hooks {
    control: Shared,
    counts: Shared,
    ring: RingBuffer<'static>,
    rows: Rc<RefCell<Rows>>,
    _links: Vec<Link>,
    object: Object,
}

impl Hooks {
    /// Loads and attaches them to `target`, with room for so much; they do nothing until `enable`.
    pub(super) fn load(target: &TargetFacts, room: Every) -> Result<Self, Fault> {
        let object = every(room)?;
        let control = Shared::new(&load::map(&object, ".data.slow")?, control::SIZE)?;
        let counts = Shared::new(&load::map(&object, ".bss.slow")?, counts::SIZE)?;
        let rows = Rc::new(RefCell::new(Rows::default()));
        let shared = Rc::clone(&rows);
        let mut builder = RingBufferBuilder::new();
        let take = move |bytes: &[u8]| {
            if let Some(written) = rows::read(bytes) {
                shared.borrow_mut().add(written);
            }
            0
        };
        let map = load::map(&object, "slow_ring")?;
        builder.add(&map, take).map_err(refused)?;
        let ring = builder.build().map_err(refused)?;
        follow(&object, &control, target)?;
        let hooks = HOOKS.into_iter().filter(|(name, _)| *name != SIGNALS);
        let links = hooks.map(|hook| attach(&object, hook)).collect::<Result<_, _>>()?;
        Ok(Self { control, counts, ring, rows, _links: links, object })
    }

    /// Requests are timed from now on, or not any more.
    pub(super) fn enable(&self, is_on: bool) {
        self.control.set(control::IS_ENABLED, u64::from(is_on));
    }

    /// Forgets processes that have ended: there is room for so many, and a service may start one for each connection.
    pub(super) fn forget_ended(&self) -> Result<(), Fault> {
        let tgids = load::map(&self.object, "tgids")?;
        for pid in load::pids(&tgids) {
            if !lives(Path::new("/proc"), pid) {
                let _ = tgids.delete(&pid.to_ne_bytes()); // it may be gone
            }
        }
        Ok(())
    }

    /// Takes what came.
    pub(super) fn take(&self) -> Result<(), Fault> {
        self.ring.consume().map_err(refused)
    }

    /// All requests so far.
    pub(super) fn rows(&self) -> std::cell::Ref<'_, Rows> {
        self.rows.borrow()
    }

    /// What was counted so far.
    pub(super) fn counts(&self) -> Counts {
        let rows = self.rows();
        let lost = [counts::DROPPED, counts::UNTRACKED].map(|at| self.counts.word(at));
        Counts {
            requests: rows.all().len() as u64,
            dropped: lost.iter().sum(),
            left_out: rows.left_out,
            together: self.counts.word(counts::TOGETHER),
            foreign: self.counts.word(counts::FOREIGN),
        }
    }
}
