//! What the few hooks of a sample cannot distinguish is named together, and what they do not see is not there:
//! a stage that would always be 0 is left out of the result.
//!
//! The kernel side (`bpf/few.h`) books such stages in one of them; here it gets its name.

use crate::judge::result::{Group, StageTimes, Tail, TraceResult};
use crate::judge::summary;

/// Stages that are one where system calls have no hook.
struct Together {
    /// In which they are booked.
    carrier: &'static str,
    /// What they are called.
    name: &'static str,
    /// The papers' stages they belong to.
    alias: &'static str,
    /// From which event to which.
    about: &'static str,
}

const TOGETHER: [Together; 5] = [
    Together {
        carrier: "batch_wait",
        name: "thread_busy+batch_wait",
        alias: "EPoll+libevent",
        about: "data ready -> its thread sleeps, or is done with the requests before it",
    },
    Together {
        carrier: "read",
        name: "epoll_return+dispatch+read",
        alias: "EPoll+libevent+Read",
        about: "the thread runs, or is done with the request before it -> the bytes are read",
    },
    Together {
        carrier: "application",
        name: "handover+open+application",
        alias: "Open+application",
        about: "the bytes are read -> the reply is given to TCP",
    },
    Together {
        carrier: "reply_wait",
        name: "application+reply_wait",
        alias: "libevent+application",
        about: "the same if its thread read or answered others in between: mostly it waits for them",
    },
    Together {
        carrier: "wait_upstream",
        name: "wait_upstream+wait_sleep",
        alias: "waiting",
        about: "its thread sleeps in epoll, poll, or on a socket or pipe: for another service, process or thread, or \
                for a time that it gave to epoll or poll",
    },
];

/// Booked with another stage, or below TCP, where a sample does not look.
const GONE: [&str; 9] = [
    "rx",
    "ip",
    "thread_busy",
    "context_switch",
    "epoll_return",
    "dispatch",
    "handover",
    "open",
    "tx",
];

/// Renames what is in `result`, all sums and shares as they are.
pub fn name_together(result: &mut TraceResult) {
    rename(&mut result.stages);
    regroup(&mut result.groups, &result.stages);
    result.tails.iter_mut().chain([&mut result.tail]).for_each(tail);
    if let Some(accuracy) = &mut result.sampling.accuracy {
        accuracy.stages.retain(|stage| !GONE.contains(&stage.name.as_str()));
        accuracy.stages.iter_mut().for_each(|stage| stage.name = name(&stage.name));
    }
    let worst = result.worst.iter_mut().flat_map(|request| &mut request.stages);
    worst.for_each(|(stage, _)| *stage = name(stage));
    result.blocks.columns.iter_mut().for_each(|column| *column = name(column));
    result.answer = summary::answer(&result.tail, &result.verdict);
}

fn tail(tail: &mut Tail) {
    rename(&mut tail.stages);
    regroup(&mut tail.groups, &tail.stages);
}

fn together(carrier: &str) -> Option<&'static Together> {
    TOGETHER.iter().find(|it| it.carrier == carrier)
}

fn name(stage: &str) -> String {
    together(stage).map_or(stage, |it| it.name).into()
}

fn rename(stages: &mut Vec<StageTimes>) {
    stages.retain(|stage| !GONE.contains(&stage.name.as_str()));
    for stage in stages {
        if let Some(it) = together(&stage.name) {
            stage.name = it.name.into();
            stage.alias = it.alias.into();
            stage.about = it.about.into();
        }
    }
}

/// The residual's group stays as it is: it is no stage.
fn regroup(groups: &mut Vec<Group>, stages: &[StageTimes]) {
    groups.retain(|group| group.name == "residual");
    for stage in stages.iter().rev() {
        let times = &stage.times;
        if let Some(group) = groups.iter_mut().find(|group| group.name == stage.alias) {
            group.share += times.share;
            group.mean_ns = group.mean_ns.zip(times.mean_ns).map(|(a, b)| a + b);
        } else {
            let name = stage.alias.clone();
            groups.insert(0, Group { name, mean_ns: times.mean_ns, share: times.share });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reconstruct::counts::Row;
    use crate::reconstruct::record::Record;
    use crate::reconstruct::record::tests::record;
    use crate::reconstruct::stages::{COUNT, STAGES};

    fn booked(in_stages: &[(&str, u64)]) -> Row {
        let mut stage_ns = [0; COUNT];
        for (name, ns) in in_stages {
            stage_ns[STAGES.iter().position(|stage| stage.name == *name).unwrap()] = *ns;
        }
        let mut row = Row::default();
        row.add(&Record { stage_ns, ..record(in_stages.iter().map(|(_, ns)| ns).sum()) });
        row
    }

    #[test]
    fn every_name_is_a_stages_and_none_is_both_carrier_and_gone() {
        let is_stage = |name: &str| STAGES.iter().any(|stage| stage.name == name);
        for it in &TOGETHER {
            assert!(is_stage(it.carrier) && !GONE.contains(&it.carrier), "{}", it.carrier);
            assert!(it.name.split('+').all(is_stage), "{}", it.name);
            assert!(it.name.split('+').any(|part| part == it.carrier), "{}", it.name);
        }
        assert!(GONE.iter().all(|name| is_stage(name)));
    }

    #[test]
    fn no_time_is_lost_by_another_name() {
        let row = booked(&[
            ("tcp", 5),
            ("batch_wait", 40),
            ("read", 20),
            ("application", 25),
            ("write", 10),
        ]);
        let (mut stages, mut groups) = (summary::stages(&row), summary::groups(&row));
        rename(&mut stages);
        regroup(&mut groups, &stages);
        assert!(stages.iter().all(|stage| !GONE.contains(&stage.name.as_str())));
        let waited = stages.iter().find(|stage| stage.name == "thread_busy+batch_wait").unwrap();
        assert_eq!(waited.times.mean_ns, Some(40.0));
        let sum = |shares: Vec<f64>| (shares.iter().sum::<f64>() - 1.0).abs() < 1e-9;
        assert!(sum(stages.iter().map(|stage| stage.times.share).collect()));
        assert!(sum(groups.iter().map(|group| group.share).collect()));
        assert_eq!(groups.last().unwrap().name, "residual");
    }
}
