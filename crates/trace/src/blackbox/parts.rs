//! The parts of a slow request's time: by stage, and by who or what took it.

use std::sync::Arc;

/// Who or what took time; the same one has the same words.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Culprit {
    /// As in the causes of a trace (`task`, `futex`, `block_io`, …), or `stopped`, `idle` and `running`.
    pub kind: &'static str,
    /// Of the task, file, function, sender or thread.
    pub name: String,
    /// Control group of a task; empty: the root, or no task.
    pub cgroup: String,
    /// Name of the thread that ended a sleep; empty: not known.
    pub waker: String,
    /// In words.
    pub about: String,
}

/// One request, cut into what its thread did from its arrival to its reply.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cut {
    /// Time by stage, ns, none of them 0; adds to the total.
    pub stages: Vec<(&'static str, u64)>,
    /// Time by culprit, ns, the largest first; adds to the total. One culprit of many requests is in memory once.
    pub culprits: Vec<(Arc<Culprit>, u64)>,
    /// Which of the culprits its longest sleep is put down to.
    pub slept: Option<usize>,
    /// Functions in which its longest sleep was, outermost last; empty: not known.
    pub stack: Vec<Arc<str>>,
}
