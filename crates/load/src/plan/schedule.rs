//! The part of a job that says what is asked and when, and the plans drawn from it.

use sojourn_base::Fault;
use sojourn_base::units::parse_ns;
use sojourn_workload::plan::Plan;
use sojourn_workload::schedule::{Drawing, Timetable, Workload};

use crate::job::Job;
use crate::protocols;

/// What the plans of `job` are drawn from.
pub fn workload(job: &Job) -> Result<Workload, Fault> {
    let kind = protocols::kind_of_job(job)?;
    Ok(Workload { items: (kind.items)(job), shares: kind.shares(job)?, ..of_any(job)? })
}

/// The same for a protocol that is not known: one item, one operation.
fn of_any(job: &Job) -> Result<Workload, Fault> {
    let time = |text: &str, at: &str| parse_ns(text).map_err(|fault| fault.within(at));
    Ok(Workload {
        warmup_ns: time(&job.warmup, "warmup")?,
        measured_ns: time(&job.duration, "duration")?,
        rate: job.rate.clone(),
        arrivals: job.arrivals.clone(),
        sessions: job.sessions.clone(),
        popularity: job.popularity.clone(),
        items: 1,
        shares: vec![],
        threads: job.threads,
        seed: job.seed,
        requests_max: job.requests_max,
    })
}

/// When things happen in a run of `job`, by its `warmup`, `duration`, `rate` and `arrivals`.
pub fn timetable(job: &Job) -> Result<Timetable, Fault> {
    Timetable::of(&of_any(job)?)
}

/// What thread `thread` of `job.threads` will send. The job must be resolved: its seed is not 0.
pub fn draw(job: &Job, thread: u32) -> Result<Plan, Fault> {
    let asked = workload(job)?;
    let plan = if job.find_max { asked.draw_closed(thread) } else { asked.draw(thread) };
    plan.map_err(|fault| way_out(job, fault))
}

/// What the probe client will send.
pub fn draw_probe(job: &Job) -> Result<Plan, Fault> {
    workload(job)?.draw_probe(job.probe_rate).map_err(|fault| way_out(job, fault))
}

/// The plan of thread `thread` of an open-loop `job`, drawn piece by piece.
pub fn drawing(job: &Job, thread: u32) -> Result<Drawing, Fault> {
    Drawing::new(&workload(job)?, thread)
}

/// Refuses a plan of `requests` that would be too long, before any of it is drawn.
pub fn refuse_more(requests: f64, job: &Job) -> Result<(), Fault> {
    of_any(job)?.refuse_more(requests).map_err(|fault| way_out(job, fault))
}

/// A run that is too long for being kept whole need not be kept whole.
fn way_out(job: &Job, fault: Fault) -> Fault {
    if fault.at != "requests_max" || job.raw.is_empty() {
        return fault;
    }
    let fix = "leave out raw, because it needs all requests in memory; or shorten the run, or raise the limit";
    Fault { fix: fix.into(), ..fault }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_population_is_that_of_keys_or_of_paths() {
        let of = |target: &str, paths: &[&str]| {
            let paths = paths.iter().map(|&path| path.into()).collect();
            workload(&Job { target: target.into(), paths, items: 10, ..Job::default() })
                .unwrap()
                .items
        };
        assert_eq!((of("http://h/", &["/a", "/{}", "/b"]), of("http://h/", &["/"])), (12, 1));
        assert_eq!(of("memcache://h", &["/a", "/b"]), 10);
    }

    /// Four requests within half a second, at twice the speed, and again after a mean gap.
    #[test]
    fn a_log_is_asked_for_in_its_order_at_its_times() {
        let path = std::env::temp_dir().join(format!("sojourn-log-{}", std::process::id()));
        std::fs::write(&path, "timestamp_s path\n10 /a\n10.1 /b\n10.4 /a\n10.6 /c\n").unwrap();
        let file = path.display().to_string();
        let mut job = Job {
            target: "http://h/".into(),
            arrivals: format!("trace:{file},speed=2"),
            popularity: "order".into(),
            paths_file: file,
            warmup: "0s".into(),
            duration: "850ms".into(),
            seed: 1,
            ..Job::default()
        };
        let (kind, target) =
            (protocols::kind_of_job(&job).unwrap(), protocols::target(&job.target));
        (kind.settle)(&mut job, &target.unwrap()).unwrap();
        timetable(&job).unwrap();
        std::fs::remove_file(&path).unwrap(); // both were read, and may have been pipes
        let plan = draw(&job, 0).unwrap();
        protocols::build(&job, &protocols::target(&job.target).unwrap()).unwrap();
        assert_eq!(plan.item, [0, 1, 2, 3, 0, 1, 2, 3]);
        let due_ms: Vec<f64> = plan.intended_ns.iter().map(|&ns| ns as f64 / 1e6).collect();
        let wanted = [100.0, 150.0, 300.0, 400.0, 500.0, 550.0, 700.0, 800.0];
        let far = due_ms.iter().zip(wanted).map(|(due, at)| (due - at).abs());
        assert!(far.fold(0.0, f64::max) < 1e-3, "{due_ms:?}");
    }

    #[test]
    fn who_wants_raw_requests_is_told_what_they_cost() {
        let long = Job { target: "null:".into(), seed: 1, rate: "100M".into(), ..Job::default() };
        let raw = Job { raw: "file".into(), ..long.clone() };
        assert!(!draw(&long, 0).unwrap_err().fix.contains("raw"));
        assert!(draw(&raw, 0).unwrap_err().fix.contains("leave out raw"));
        assert!(refuse_more(1e12, &raw).unwrap_err().fix.contains("leave out raw"));
    }
}
