//! Made by `build.rs` from `bpf/layout.bpf.c`, which says which structs; not written by hand.
//!
//! Offsets of fields and sizes of the structs that the hooks write and this side reads, bytes. A build
//! with the feature `bpf` fails where this is not what the compiler says; one without needs no clang.

#![allow(dead_code, reason = "not every field is read here")]
#![allow(clippy::unreadable_literal, reason = "numbers for machines")]

/// `struct row`.
pub mod row {
    pub const REQUESTS: usize = 0;
    pub const TOTAL_NS: usize = 8;
    pub const IMBALANCE_NS: usize = 16;
    pub const BYTES_IN: usize = 24;
    pub const BYTES_OUT: usize = 32;
    pub const STAGE_NS: usize = 40;
    pub const HIST: usize = 264;
    pub const SIZE: usize = 107784;
}

/// `struct thread`.
pub mod thread {
    pub const TID: usize = 0;
    pub const TGID: usize = 4;
    pub const OFF_KIND: usize = 8;
    pub const IS_IDLE: usize = 12;
    pub const EPOCH: usize = 16;
    pub const OFF_NS: usize = 24;
    pub const WAKING_NS: usize = 32;
    pub const EARLY_WAKING_NS: usize = 40;
    pub const RUNQ_NS: usize = 48;
    pub const STOPPED_NS: usize = 56;
    pub const SLEPT_NS: usize = 64;
    pub const SEED: usize = 72;
    pub const SEEN_NS: usize = 80;
    pub const RUN_NS: usize = 88;
    pub const SWITCHED_IN_NS: usize = 96;
    pub const WAKE_NS: usize = 104;
    pub const IN: usize = 112;
    pub const ON_NS: usize = 144;
    pub const LOOP_RUNQ_NS: usize = 152;
    pub const WOKEN_NS: usize = 160;
    pub const SLEPT: usize = 168;
    pub const SLEEPS: usize = 232;
    pub const SLEEPS_N: usize = 360;
    pub const SLEPT_ON: usize = 364;
    pub const OFFS_N: usize = 368;
    pub const IS_WORKER: usize = 372;
    pub const CLASS: usize = 376;
    pub const IN_CALL: usize = 380;
    pub const SLEEPS_ON: usize = 384;
    pub const DID_SLEEP: usize = 388;
    pub const IS_TIMED_OUT: usize = 392;
    pub const IS_HOLDING: usize = 396;
    pub const DID_READ: usize = 400;
    pub const AFTER_READ: usize = 404;
    pub const ARGUMENT: usize = 408;
    pub const IS_CORKED: usize = 412;
    pub const LOOKS: usize = 416;
    pub const OPEN_NS: usize = 424;
    pub const READS: usize = 432;
    pub const ENTER: usize = 440;
    pub const EXIT: usize = 472;
    pub const WAIT_ENTER: usize = 504;
    pub const WAIT_EXIT: usize = 536;
    pub const PARK_EXIT: usize = 568;
    pub const WRITE_EXIT: usize = 600;
    pub const SERVE_EXIT: usize = 632;
    pub const CORK_ENTER: usize = 664;
    pub const TOOK: usize = 696;
    pub const TOOK_WOKEN_NS: usize = 728;
    pub const TOOK_ON: usize = 736;
    pub const TOOK_SLEPT: usize = 744;
    pub const SENT_NS: usize = 808;
    pub const REQUESTS: usize = 816;
    pub const TOTAL_SUM_NS: usize = 824;
    pub const QUEUE_SUM_NS: usize = 832;
    pub const SCHED_SUM_NS: usize = 840;
    pub const OFFS: usize = 848;
    pub const SIZE: usize = 1664;
}

/// `struct tally`.
pub mod tally {
    pub const THREADS_N: usize = 0;
    pub const SAMPLES: usize = 8;
    pub const TOTALS: usize = 48;
    pub const THREADS: usize = 30784;
    pub const SIZE: usize = 1734720;
}

/// `struct peek`.
pub mod peek {
    pub const BYTES: usize = 0;
    pub const SHOWN: usize = 4;
    pub const TEXT: usize = 8;
    pub const SIZE: usize = 264;
}

/// `struct conn_line`.
pub mod conn_line {
    pub const REQUESTS: usize = 0;
    pub const TOTAL_SUM_NS: usize = 8;
    pub const TOTAL_MAX_NS: usize = 16;
    pub const THREAD: usize = 24;
    pub const PEER_PORT: usize = 28;
    pub const SIZE: usize = 32;
}

/// `struct settings`.
pub mod settings {
    pub const PORTS: usize = 0;
    pub const SYSCALL_CLASS: usize = 8192;
    pub const NATIVE: usize = 8704;
    pub const FULL_RECORDS: usize = 9824;
    pub const HAS_RX_STAMPS: usize = 9825;
    pub const IS_FEW: usize = 9826;
    pub const PAD: usize = 9827;
    pub const SAMPLE_BELOW: usize = 9828;
    pub const PID_NS: usize = 9832;
    pub const SIZE: usize = 9840;
}

/// `struct control`.
pub mod control {
    pub const IS_ENABLED: usize = 0;
    pub const STARTED_NS: usize = 8;
    pub const REAL_MINUS_MONO_NS: usize = 16;
    pub const WORST_FLOOR_NS: usize = 24;
    pub const BLAME_FLOOR_NS: usize = 32;
    pub const ENDED_NS: usize = 40;
    pub const EPOCH: usize = 48;
    pub const SEEN_NS: usize = 56;
    pub const SALT: usize = 64;
    pub const SWEEP: usize = 72;
    pub const LOOK: usize = 80;
    pub const OPEN_N: usize = 88;
    pub const SWEEP_NUMBER: usize = 96;
    pub const SWEPT_N: usize = 104;
    pub const KNOWN_N: usize = 112;
    pub const SIZE: usize = 120;
}

/// `struct record`.
pub mod record {
    pub const START_NS: usize = 0;
    pub const TOTAL_NS: usize = 8;
    pub const IMBALANCE_NS: usize = 16;
    pub const CONN: usize = 24;
    pub const THREAD: usize = 32;
    pub const WRITER: usize = 36;
    pub const BYTES_IN: usize = 40;
    pub const BYTES_OUT: usize = 44;
    pub const PEER_PORT: usize = 48;
    pub const WHY: usize = 50;
    pub const SEQ: usize = 52;
    pub const STAGE_NS: usize = 56;
    pub const TEXT: usize = 280;
    pub const SIZE: usize = 328;
}

/// `struct told`.
pub mod told {
    pub const KIND: usize = 0;
    pub const CPU: usize = 4;
    pub const TID: usize = 8;
    pub const TGID: usize = 12;
    pub const FROM_NS: usize = 16;
    pub const TO_NS: usize = 24;
    pub const WOKEN_NS: usize = 32;
    pub const HERE_NS: usize = 40;
    pub const WHAT: usize = 48;
    pub const CALL: usize = 52;
    pub const KERNEL_STACK: usize = 56;
    pub const USER_STACK: usize = 60;
    pub const WAKER_TID: usize = 64;
    pub const WAKER_TGID: usize = 68;
    pub const WAKER_IS_IRQ: usize = 72;
    pub const MODE: usize = 76;
    pub const ARGUMENT: usize = 80;
    pub const DEVICE: usize = 88;
    pub const IS_IDLE: usize = 92;
    pub const COMM: usize = 96;
    pub const NAME: usize = 112;
    pub const SIZE: usize = 152;
}

/// `struct culprit_control`.
pub mod culprit_control {
    pub const IS_ENABLED: usize = 0;
    pub const EPOCH: usize = 8;
    pub const BEGAN_NS: usize = 16;
    pub const SIZE: usize = 24;
}

/// `struct culprit_counts`.
pub mod culprit_counts {
    pub const TOLD: usize = 0;
    pub const RING_FULL: usize = 8;
    pub const HISTORY_FULL: usize = 16;
    pub const STACKS_LOST: usize = 24;
    pub const THREADS_N: usize = 32;
    pub const WAITING: usize = 40;
    pub const SIZE: usize = 48;
}

/// `struct who_cpu`.
pub mod who_cpu {
    pub const TID: usize = 0;
    pub const IS_KNOWN: usize = 4;
    pub const IN_NS: usize = 8;
    pub const IDLE_NS: usize = 16;
    pub const LEFT_OUT_NS: usize = 24;
    pub const DROPPED_NS: usize = 32;
    pub const DROPPED_RUNS: usize = 40;
    pub const UNSEEN_NS: usize = 48;
    pub const SIZE: usize = 64;
}

/// `struct who_task`.
pub mod who_task {
    pub const RUNS: usize = 0;
    pub const RUN_NS: usize = 8;
    pub const LONG_RUNS: usize = 16;
    pub const LONG_NS: usize = 24;
    pub const LONGEST_NS: usize = 32;
    pub const PID: usize = 40;
    pub const IS_KERNEL: usize = 44;
    pub const NAME: usize = 48;
    pub const SIZE: usize = 64;
}

/// `struct slow`.
pub mod slow {
    pub const START_NS: usize = 0;
    pub const TOTAL_NS: usize = 8;
    pub const CONNECTION: usize = 16;
    pub const KIND: usize = 24;
    pub const TID: usize = 28;
    pub const TGID: usize = 32;
    pub const BYTES: usize = 36;
    pub const PEER_PORT: usize = 40;
    pub const PORT: usize = 42;
    pub const TARGET: usize = 44;
    pub const COMM: usize = 48;
    pub const SIZE: usize = 64;
}

/// `struct timed`.
pub mod timed {
    pub const START_NS: usize = 0;
    pub const AT_NS: usize = 8;
    pub const CONNECTION: usize = 16;
    pub const SIZE: usize = 24;
}

/// `struct slow_control`.
pub mod slow_control {
    pub const IS_ENABLED: usize = 0;
    pub const FLOOR_NS: usize = 8;
    pub const PORTS: usize = 16;
    pub const SIZE: usize = 8208;
}

/// `struct slow_counts`.
pub mod slow_counts {
    pub const DROPPED: usize = 0;
    pub const FOREIGN: usize = 8;
    pub const UNTRACKED: usize = 16;
    pub const TOGETHER: usize = 24;
    pub const LOWER_BOUNDS: usize = 32;
    pub const TOTALS: usize = 40;
    pub const SIZE: usize = 30760;
}
