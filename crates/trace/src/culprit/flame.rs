//! Time by stack: the folded lines that viewers of flame graphs take, outermost function first.
//!
//! All of a request's time is in it, so widths compare: what it slept on (with the program's and the
//! kernel's functions), what it waited for its CPU behind, what struck it, and the stages it ran in.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::pieces::Piece;
use super::seen::Stacks;
use super::suspect::{Suspect, WaitKind};
use crate::reconstruct::stages::{Cause, STAGES};

/// Frames joined by `;`, and their time, ns.
pub type Folded = BTreeMap<String, u64>;

/// What the frames below the thread are called.
pub const SLEEPS: &str = "sleeps";
/// Runnable, and another one runs.
pub const WAITS: &str = "waits for a CPU";
/// In interrupts.
pub const STRUCK: &str = "interrupted";
/// On its CPU for others.
pub const QUEUED: &str = "behind other requests";
/// On its CPU for this request.
pub const WORKS: &str = "works";
/// Neither.
pub const OTHER: &str = "other";
const NOBODY: &str = "behind no task seen";
/// Stands behind the names of kernel functions, as other tools have it.
pub const KERNEL: &str = "_[k]";

/// The frames of a piece of a request whose thread is called `root`.
pub fn path_of_piece(root: &str, piece: &Piece<'_>, stacks: &Stacks) -> String {
    let mut path = clean(root);
    match &piece.suspect {
        Suspect::Task { comm, group, is_kernel, .. } => {
            push(&mut path, WAITS);
            let about = match (is_kernel, group.is_empty()) {
                (true, _) => " (kernel)".to_owned(),
                (_, false) => format!(" (cgroup {group})"),
                _ => String::new(),
            };
            push(&mut path, &format!("behind {comm}{about}"));
        }
        Suspect::Unseen => {
            push(&mut path, WAITS);
            push(&mut path, NOBODY);
        }
        Suspect::Softirq(_) => {
            push(&mut path, STRUCK);
            push(&mut path, &format!("soft-IRQ {}", piece.suspect.name()));
        }
        Suspect::Hardirq(_) => {
            push(&mut path, STRUCK);
            push(&mut path, &piece.suspect.name());
        }
        Suspect::Wait { kind, what, waker } => {
            push(&mut path, SLEEPS);
            if let Some(off) = piece.off {
                stacks.user_of(off).iter().rev().for_each(|name| push(&mut path, name));
                let kernel = stacks.kernel_of(off).iter().rev();
                kernel.for_each(|name| push(&mut path, &format!("{name}{KERNEL}")));
            }
            match kind {
                WaitKind::BlockIo if !what.is_empty() => push(&mut path, &format!("disk: {what}")),
                _ if !waker.is_empty() => push(&mut path, &format!("woken by {waker}")),
                _ => {}
            }
        }
        Suspect::Stage(_) => {}
    }
    path
}

/// The frames of what a stage took by itself.
pub fn path_of_stage(root: &str, stage: usize) -> String {
    let mut path = clean(root);
    let (kind, name) = match (STAGES[stage].name, STAGES[stage].cause) {
        ("runq_delay", _) => (WAITS, NOBODY),
        (name, Cause::Queuing | Cause::Imbalance) => (QUEUED, name),
        (name, Cause::Work) => (WORKS, name),
        (name, Cause::Waiting) => (SLEEPS, name),
        (name, _) => (OTHER, name),
    };
    push(&mut path, kind);
    push(&mut path, name);
    path
}

fn push(path: &mut String, frame: &str) {
    path.push(';');
    path.push_str(&clean(frame));
}

/// A frame cannot hold what parts frames or lines, whatever reader parts them.
fn clean(name: &str) -> String {
    let parts_lines = |c: char| c.is_control() || matches!(c, '\u{2028}' | '\u{2029}');
    name.replace(';', ":").replace(parts_lines, " ")
}

/// Lines of `frames time`, the time in µs, of both groups: the first frame says which.
pub fn lines(tail: (&str, &Folded), body: (&str, &Folded)) -> String {
    let mut text = String::new();
    for (name, folded) in [tail, body] {
        for stack in stacks(folded) {
            let _ = writeln!(text, "{};{stack}", clean(name));
        }
    }
    text
}

/// One line for each stack: its frames, then its time in µs.
pub fn stacks(folded: &Folded) -> Vec<String> {
    let some = folded.iter().filter(|(_, ns)| **ns >= 500);
    some.map(|(path, ns)| format!("{path} {}", (ns + 500) / 1000)).collect()
}

/// One frame of a flame graph, with all that it holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Node {
    /// Its time with that of its children, ns.
    pub ns: u64,
    /// By name.
    pub children: BTreeMap<String, Node>,
}

impl Node {
    /// The tree of folded lines.
    pub fn of(folded: &Folded) -> Self {
        let mut root = Self::default();
        for (path, ns) in folded {
            let mut node = &mut root;
            node.ns += ns;
            for frame in path.split(';') {
                node = node.children.entry(frame.to_owned()).or_default();
                node.ns += ns;
            }
        }
        root
    }

    /// Frames above this one, of those at least `least_ns` long.
    pub fn depth(&self, least_ns: u64) -> usize {
        let deep = self.children.values().filter(|child| child.ns >= least_ns);
        deep.map(|child| 1 + child.depth(least_ns)).max().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Python parts lines at more than `\n`: a thread's name must not part them anywhere.
    #[test]
    fn no_name_parts_frames_or_lines() {
        assert_eq!(clean("a;b\nc\x0bd\u{85}e\u{2028}f\x1cg"), "a:b c d e f g");
        assert_eq!(clean("tokio-runtime-w é"), "tokio-runtime-w é");
    }
}
