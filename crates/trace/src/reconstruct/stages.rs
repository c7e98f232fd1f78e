//! The stages of a request, in the order in which it goes through them.
//!
//! The order is that of `enum stage` in `bpf/shapes.h`; a test compares the two.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Why a request waits (PAPERS L3), or that it does not.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// Behind other requests of the same thread.
    Queuing,
    /// Ready to run and not running: wake-up, run queue, context switch.
    Scheduling,
    /// The part of queuing during which another worker of the service slept.
    Imbalance,
    /// The request itself is worked on, by the service or by the kernel.
    Work,
    /// Its thread sleeps: the service waits for another one, a disk, a lock, a timer or a page.
    Waiting,
    /// Kept from outside: the process was stopped by a signal.
    Stopped,
    /// The rest of the request had not come yet: the client's time, or the network's.
    Client,
    /// Not explained.
    Residual,
}

/// One stage in the life of a request.
#[derive(Clone, Copy, Debug)]
pub struct Stage {
    /// In JSON and tables.
    pub name: &'static str,
    /// The stage of the papers it belongs to (L12, C8, C9).
    pub alias: &'static str,
    /// From which event to which.
    pub about: &'static str,
    /// What time spent here is put down to.
    pub cause: Cause,
}

const fn stage(
    name: &'static str,
    alias: &'static str,
    cause: Cause,
    about: &'static str,
) -> Stage {
    Stage { name, alias, about, cause }
}

/// The papers have none of these.
const fn wait(name: &'static str, about: &'static str) -> Stage {
    stage(name, "waiting", Cause::Waiting, about)
}

/// How many there are, the residual included.
pub const COUNT: usize = 28;
/// The residual's place: the last.
pub const RESIDUAL: usize = COUNT - 1;

/// All stages, in the order in which a request passes them.
pub const STAGES: [Stage; COUNT] = [
    stage("rx", "RX", Cause::Work, "driver or backlog -> netif_receive_skb"),
    stage("ip", "TCP/IP", Cause::Work, "netif_receive_skb -> TCP receive"),
    stage("tcp", "TCP/IP", Cause::Work, "TCP receive -> data ready"),
    stage("thread_busy", "EPoll", Cause::Queuing, "data ready -> its thread enters epoll_wait"),
    stage("wakeup", "EPoll", Cause::Scheduling, "data ready in epoll_wait -> the thread is woken"),
    stage(
        "runq_delay",
        "EPoll",
        Cause::Scheduling,
        "runnable and not running, here or in any later stage",
    ),
    stage("context_switch", "EPoll", Cause::Scheduling, "switch to the thread -> it runs"),
    stage("epoll_return", "EPoll", Cause::Work, "the thread runs -> epoll_wait returns"),
    stage(
        "batch_wait",
        "libevent",
        Cause::Queuing,
        "epoll_wait returned -> requests served before it are done",
    ),
    stage("dispatch", "libevent", Cause::Work, "previous call of the batch -> read is entered"),
    stage("read", "Read", Cause::Work, "first read of the request"),
    stage(
        "body",
        "Read",
        Cause::Work,
        "end of the first read -> end of its last read, less the waits in between",
    ),
    stage(
        "client_wait",
        "client",
        Cause::Client,
        "a part was read, and the rest had not come: a slow client, or a command without a reply before it; or the \
         thread sleeps because the client has not taken what was sent",
    ),
    stage(
        "handover",
        "application",
        Cause::Scheduling,
        "read -> another thread of the service takes over",
    ),
    stage("open", "Open", Cause::Work, "openat and its like"),
    stage(
        "application",
        "application",
        Cause::Work,
        "read done -> write is entered, less open and all waits",
    ),
    stage(
        "reply_wait",
        "libevent",
        Cause::Queuing,
        "worked on, but its thread serves others before it writes the reply",
    ),
    wait(
        "wait_upstream",
        "its thread sleeps in epoll, poll, or on a socket or pipe: for another service, process or thread, or for a \
         timer among the descriptors of its loop (timerfd)",
    ),
    wait("wait_disk", "its thread sleeps on a file"),
    wait("wait_lock", "its thread sleeps on a futex: a lock, or a queue between threads"),
    wait(
        "wait_sleep",
        "its thread sleeps until a time: a pause, a timer, or a wait that timed out, as threads of Python wait for each \
         other",
    ),
    wait("wait_fault", "its thread sleeps because a page is not in memory"),
    wait("wait_other", "its thread sleeps on something else, such as a child process"),
    stage("write", "Send", Cause::Work, "write entered -> first reply segment at the device queue"),
    stage("drain", "Send", Cause::Work, "first -> last reply segment at the device queue"),
    stage("tx", "Send", Cause::Work, "last reply segment queued -> given to the driver"),
    stage("stopped", "stopped", Cause::Stopped, "the serving thread was stopped by a signal"),
    stage("residual", "residual", Cause::Residual, "explained by no other stage"),
];

/// The papers' stages in their order: RX, TCP/IP, `EPoll`, libevent, Read, application, Open, Send, …
pub fn aliases() -> Vec<&'static str> {
    let mut names = Vec::new();
    for stage in &STAGES {
        if !names.contains(&stage.alias) {
            names.push(stage.alias);
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Names of an enum of `shapes.h`, in order.
    pub fn enum_names(prefix: &str) -> Vec<String> {
        include_str!("../bpf/shapes.h")
            .lines()
            .filter_map(|line| line.trim().strip_prefix(prefix))
            .filter(|rest| rest.contains(','))
            .map(|rest| rest.split(',').next().unwrap().to_lowercase())
            .collect()
    }

    #[test]
    fn the_kernel_side_has_the_same_stages_in_the_same_order() {
        let kernel = enum_names("ST_");
        assert_eq!(kernel.len(), COUNT);
        for (kernel, stage) in kernel.iter().zip(&STAGES) {
            let short = ["busy", "runq", "switch", "return", "batch", "app"];
            let agrees = stage.name == kernel
                || short.contains(&kernel.as_str()) && stage.name.contains(kernel.as_str());
            assert!(agrees, "{kernel} in shapes.h, {} here", stage.name);
        }
        assert_eq!(STAGES[RESIDUAL].name, "residual");
    }

    #[test]
    fn names_are_unique() {
        let names: std::collections::BTreeSet<_> = STAGES.iter().map(|stage| stage.name).collect();
        assert_eq!(names.len(), COUNT);
    }
}
