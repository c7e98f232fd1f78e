//! The hooks: what each is for, and what is lost without it.

/// One BPF program, and where it is attached.
#[derive(Clone, Copy, Debug)]
pub struct Hook {
    /// Its function in one of the files that `bpf/breakdown.bpf.c` includes.
    pub program: &'static str,
    /// Where it sits in the kernel.
    pub point: &'static str,
    /// What is lost without it; empty: nothing works without it.
    pub lost: &'static str,
}

const fn hook(program: &'static str, point: &'static str, lost: &'static str) -> Hook {
    Hook { program, point, lost }
}

/// All tracepoints. One of the two `ready` hooks is needed; the first is preferred.
pub const TRACEPOINTS: [Hook; 16] = [
    hook("on_sys_enter", "sys_enter", ""),
    hook("on_sys_exit", "sys_exit", ""),
    hook("on_tcp", "tcp_probe", ""),
    hook("on_ready", "sk_data_ready", ""),
    hook("on_read", "tcp_rcv_space_adjust", ""),
    hook("on_queue", "net_dev_queue", ""),
    hook("on_switch", "sched_switch", ""),
    hook("on_waking", "sched_waking", ""),
    hook("on_send", "tcp_sendmsg_locked", "a sample needs hooks on system calls (before 6.16)"),
    hook("on_send_end", "sock_send_length", "a sample needs hooks on system calls (before 6.3)"),
    hook("on_receive", "netif_receive_skb", "rx and ip become part of the residual"),
    hook(
        "on_sent",
        "net_dev_start_xmit",
        "tx: requests end at the device queue; rx on loopback and veth counts as 0",
    ),
    hook(
        "on_switched",
        "sched_exit_tp",
        "context_switch: part of epoll_return (kernels before 6.16)",
    ),
    hook(
        "on_state",
        "inet_sock_set_state",
        "the last request of a connection, if it closes during the trace",
    ),
    hook("on_fork", "sched_process_fork", "processes that the service starts during the trace"),
    hook("on_exit", "sched_process_exit", "thread ids used again may be taken for the service's"),
];

/// Processes, threads and connections that come and go: these stay between windows, for they fire seldom.
pub const LIVES: [&str; 3] = ["on_fork", "on_exit", "on_state"];

/// Below TCP, and the end of a context switch: a sample of flows does without, for they fire for every
/// packet and switch of the machine.
pub const FINE: [&str; 3] = ["on_receive", "on_sent", "on_switched"];

/// System calls: these run for every call of every process.
pub const CALLS: [&str; 2] = ["on_sys_enter", "on_sys_exit"];

/// What replaces them in a sample of flows, on kernels that have it; see `bpf/few.h`.
pub const FEW: [&str; 2] = ["on_send", "on_send_end"];

/// What is lost without [`CALLS`].
pub const MERGED: &str = "some stages cannot be separated: they are merged";

/// Goes over all connections when a window ends.
pub const ON_END: Hook = hook("on_end", "tcp", "the last request of each connection");

/// Goes over the service's own, where the kernel can (from 6.1 on).
pub const ON_FILE: Hook = hook(
    "on_file",
    "task_file",
    "the end of a window goes over all TCP connections of the machine, which takes 2 ms of a CPU",
);

/// Goes over all threads when a window begins.
pub const ON_TASK: Hook =
    hook("on_task", "task", "what threads do when a window begins: their first wait is residual");

/// Where the kernel has no `sk_data_ready` tracepoint (before 6.3).
pub const READY_FENTRY: Hook = hook("on_ready_fentry", "sock_def_readable", "");

/// The program that samples CPU time.
pub const SAMPLER: Hook = hook("on_sample", "cpu-clock", "the CPU split");

/// Every program of the object.
pub fn all() -> impl Iterator<Item = &'static Hook> {
    TRACEPOINTS.iter().chain(&[READY_FENTRY, SAMPLER, ON_END, ON_FILE, ON_TASK])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_program_of_the_object_is_in_the_table() {
        let source = concat!(
            include_str!("../bpf/arrive.h"),
            include_str!("../bpf/few.h"),
            include_str!("../bpf/serve.h"),
            include_str!("../bpf/reply.h"),
            include_str!("../bpf/sched.h"),
            include_str!("../bpf/beside.h"),
            include_str!("../bpf/look.h"),
        );
        let mut here: Vec<&str> = all().map(|hook| hook.program).collect();
        here.sort_unstable();
        let mut there: Vec<&str> = source
            .lines()
            .zip(source.lines().skip(1))
            .filter(|(section, _)| section.starts_with("SEC(\"") && !section.contains("license"))
            .filter_map(|(_, line)| {
                let name = line.strip_prefix("int BPF_PROG(").or(line.strip_prefix("int "))?;
                name.split([',', '(']).next()
            })
            .collect();
        there.sort_unstable();
        assert_eq!(here, there);
    }

    #[test]
    fn what_some_ways_to_trace_leave_out_is_in_the_table_and_may_be_missed() {
        for name in LIVES.iter().chain(&FINE).chain(&FEW) {
            let hook = TRACEPOINTS.iter().find(|hook| hook.program == *name);
            assert!(hook.is_some_and(|hook| !hook.lost.is_empty()), "{name}");
        }
    }
}
