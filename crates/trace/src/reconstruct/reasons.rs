//! Why a request is not among the matched ones, and what else is worth counting.
//!
//! The order is that of `enum reason` in `bpf/shapes.h`; a test compares the two.

/// What a count means for the result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weight {
    /// One count is one request that could not be matched.
    Unmatched,
    /// One count is one request that had not ended when the trace did; no fault of anybody.
    InFlight,
    /// A detail of a matched request is missing; it went to the residual or to a neighbour stage.
    Note,
    /// Something was seen, and nothing is missing; one count need not be one request.
    Fact,
    /// Of a matched request time is in the wrong stage.
    Split,
    /// A record did not fit the ring.
    Dropped,
    /// Must stay 0, else the tool itself is wrong.
    Defect,
}

/// One reason why something was not matched or not counted.
#[derive(Clone, Copy, Debug)]
pub struct Reason {
    /// In JSON.
    pub name: &'static str,
    /// One line.
    pub about: &'static str,
    /// What it does to the result.
    pub weight: Weight,
}

const fn reason(name: &'static str, weight: Weight, about: &'static str) -> Reason {
    Reason { name, about, weight }
}

use Weight::{Defect, Dropped, Fact, InFlight, Note, Split, Unmatched};

/// All reasons, by the number the kernel counts them under.
pub const REASONS: [Reason; 26] = [
    reason("began_before", InFlight, "its bytes arrived before the trace began"),
    reason("no_segment", Unmatched, "bytes were read whose arrival was not seen"),
    reason("segments_full", Unmatched, "more unread segments than are remembered: start unknown"),
    reason("no_reply", Unmatched, "the connection closed before any reply"),
    reason("reply_unfinished", Unmatched, "the next request was read before this reply had left"),
    reason("bad_order", Unmatched, "its end lies before its start: clocks disagree"),
    reason(
        "thread_unknown",
        Unmatched,
        "read by a task that is not of the service, or beyond the table",
    ),
    reason("closed_unread", Unmatched, "the connection closed before its bytes were read"),
    reason("in_flight", InFlight, "still in service when the trace ended"),
    reason("rx_stamp_missing", Note, "no receive time on its packet: rx counts as 0"),
    reason("rx_split_lost", Note, "went through a busy socket's backlog: rx and ip are residual"),
    reason("thread_history", Note, "its thread had not been seen before: the wait is residual"),
    reason(
        "preempt_history",
        Split,
        "more preemptions during its wait than are remembered: run-queue delay in other stages",
    ),
    reason("read_exit_lost", Note, "end of its read no longer known: the rest is residual"),
    reason(
        "async_send",
        Note,
        "first reply segment left outside a traced write: the rest is residual",
    ),
    reason("retransmit", Fact, "reply segments sent again; in no stage"),
    reason("late_reply", Note, "reply segments after the next request was read"),
    reason("many_segments", Fact, "requests whose bytes came in several segments"),
    reason("wake_unseen", Fact, "a thread ran again without a wake-up being seen"),
    reason("switch_unseen", Fact, "another task ran than in the last switch event; corrected"),
    reason("sum_mismatch", Defect, "stages do not add to the total"),
    reason("worst_dropped", Fact, "candidates for the worst list that found the ring full"),
    reason("record_dropped", Dropped, "records that found the ring full"),
    reason(
        "table_full",
        Fact,
        "threads without a slot: beyond 1023 of a trace, ended ones too, or beyond 4 with ids that \
         agree in the low 16 bits",
    ),
    // Both are work of the service, so no cause and no suspect is another one.
    reason(
        "open_unsplit",
        Fact,
        "requests with an open that counts as application: their thread served others in between",
    ),
    reason(
        "io_uring",
        Note,
        "read or answered by io_uring, where no system call shows the time: --sample 1/2 shows its stages (Linux 6.16 or \
         later)",
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    /// The table has two limits, and a reader must know which of them it was.
    #[test]
    fn the_limits_of_the_table_of_threads_are_those_of_the_kernel_side() {
        let number = |text: &str, name: &str| -> u64 {
            let line = text.lines().find(|line| line.starts_with(&format!("#define {name} ")));
            line.unwrap().split_whitespace().nth(2).unwrap().parse().unwrap()
        };
        let slots = number(include_str!("../bpf/shapes.h"), "MAX_THREADS") - 1;
        let ways = number(include_str!("../bpf/slots.h"), "WAYS");
        assert_eq!(number(include_str!("../bpf/slots.h"), "TIDS"), 1 << 16);
        let reason = REASONS.iter().find(|reason| reason.name == "table_full").unwrap();
        let limits =
            format!("beyond {slots} of a trace, ended ones too, or beyond {ways} with ids");
        assert!(reason.about.contains(&limits), "{}", reason.about);
    }

    #[test]
    fn the_kernel_side_has_the_same_reasons_in_the_same_order() {
        let kernel: Vec<String> = include_str!("../bpf/shapes.h")
            .lines()
            .map(str::trim)
            .filter(|line| line.starts_with("UN_") || line.starts_with("NOTE_"))
            .map(|line| line.split(',').next().unwrap().to_lowercase())
            .map(|name| name.trim_start_matches("un_").trim_start_matches("note_").to_owned())
            .collect();
        let here: Vec<String> = REASONS.iter().map(|reason| reason.name.to_owned()).collect();
        assert_eq!(kernel, here);
    }
}
