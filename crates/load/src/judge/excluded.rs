//! Which requests of a run cannot be judged, because of outages of the instrument ([`crate::watch::outage`]).

use sojourn_base::Fault;
use sojourn_base::units::parse_ns;

use crate::drive::measurement::Measurement;
use crate::protocols::Outcome;
use crate::watch::outage::Outage;
use crate::watch::outage::{Queue, Watch, Windows, union, unrefuted};

/// All outages of the run, warm-up and drain included, ascending and disjoint.
pub fn log(run: &Measurement) -> Result<Vec<Outage>, Fault> {
    log_of(run, None)
}

/// Those of one thread; `None`: of all together.
pub fn log_of(run: &Measurement, thread: Option<usize>) -> Result<Vec<Outage>, Fault> {
    if let Some(result) = &run.long {
        return Ok(result.log.clone());
    }
    let over_ns =
        parse_ns(&run.job.outage_over).map_err(|fault| fault.within("outage_over"))?.max(1);
    let is_meant = |index: usize| thread.is_none_or(|thread| thread == index);
    let own = run.threads.iter().enumerate().filter(|(index, _)| is_meant(*index));
    let mut all: Vec<Outage> = own.flat_map(|(_, thread)| thread.outages.clone()).collect();
    let watches = |watch: &&Watch| {
        watch.threads.is_empty() || watch.threads.iter().any(|&index| is_meant(index))
    };
    for watch in run.sentinels.iter().filter(watches) {
        all.extend(unrefuted(&watch.outages, signs(run, watch), over_ns));
    }
    Ok(union(all))
}

/// When what `watch` watches over was alive, in no order: its threads sent or picked up; a synthetic
/// service replied, to whichever thread.
fn signs<'a>(run: &'a Measurement, watch: &'a Watch) -> impl Iterator<Item = u64> + 'a {
    let is_service = watch.threads.is_empty();
    let is_watched = move |index: &usize| is_service || watch.threads.contains(index);
    let marks = run.threads.iter().enumerate().filter(move |(index, _)| is_watched(index));
    marks.flat_map(move |(_, thread)| {
        let sent_ns: &[u64] = if is_service { &[] } else { &thread.marks.sent_ns };
        sent_ns.iter().chain(&thread.marks.done_ns).copied()
    })
}

/// The windows around all outages of the run.
pub fn windows(run: &Measurement) -> Result<Windows, Fault> {
    match &run.long {
        Some(result) => Ok(result.windows.clone()),
        None => Ok(windows_around(run, &log(run)?)),
    }
}

/// The windows around the times in `log`, be they outages or others.
pub fn windows_around(run: &Measurement, log: &[Outage]) -> Windows {
    match &run.long {
        _ if log.is_empty() => Windows::default(),
        Some(result) => Windows::around(log, &result.outstanding),
        None => Windows::around(log, &queue(run)),
    }
}

/// All requests of a run that is in memory, by when they were due and done.
fn queue(run: &Measurement) -> Queue {
    Queue::of_pairs(
        (0..run.threads.len())
            .flat_map(|index| run.requests(index))
            .filter(|request| request.outcome == Outcome::Hit)
            .map(|request| (request.intended_ns, request.done_ns.max(request.intended_ns)))
            .collect(),
    )
}
