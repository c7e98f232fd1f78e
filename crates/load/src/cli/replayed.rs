//! `--replay FILE`: a log of requests as a job, with the keys that a job has for it.

use sojourn_base::Fault;
use sojourn_workload::replay::Access;
use sojourn_workload::{arrivals, replay};

use super::Args;
use crate::job::Job;
use crate::protocols::http::log::{METHOD, NUMBERS};

/// A factor such as `2x` or `0.5`.
pub(super) fn speed(text: &str) -> Result<f64, String> {
    let factor = text.strip_suffix('x').unwrap_or(text).parse().ok();
    factor
        .filter(|factor: &f64| factor.is_finite() && *factor > 0.0)
        .ok_or_else(|| format!("'{text}' is no factor above 0, such as 2x"))
}

impl Args {
    /// Fills in what `--replay` says and no other flag.
    pub(super) fn replay(&self, job: &mut Job) -> Result<(), Fault> {
        let Self { load, content, client, .. } = self;
        let Some(file) = &content.replay else { return Ok(()) };
        job.paths_file.clone_from(file);
        job.popularity = "order".into();
        set(&mut job.log_form, &format!("{METHOD},{NUMBERS}"), content.log_form.is_some());
        let is_one = job.log_form.split(',').any(|word| word == METHOD);
        let method = is_one.then_some(job.method.as_str());
        let Some(seconds) = length_s(file, method)? else {
            if content.speed.is_some() {
                let fix = "leave out --speed, and give a --rate";
                return Err(Fault::usage("this log has no times", file, fix));
            }
            return Ok(());
        };
        if load.rate.is_some() {
            let fix = "leave out --rate; --speed 2x goes twice as fast";
            return Err(Fault::usage("this log has times, which no rate replaces", file, fix));
        }
        let speed = content.speed.unwrap_or(1.0);
        job.arrivals = arrivals::trace_of(file, speed, method);
        set(&mut job.warmup, "0s", load.warmup.is_some());
        if client.threads.is_none() {
            job.threads = 1;
        }
        let us = (seconds * 1e6 / speed).ceil() + 1.0; // the last request is due before the end
        set(&mut job.duration, &format!("{us}us"), load.duration.is_some());
        Ok(())
    }
}

fn set(key: &mut String, value: &str, is_set: bool) {
    if !is_set {
        *key = value.into();
    }
}

/// How long a log is, from its first request to its last and a mean gap; `None`: it has no times.
fn length_s(file: &str, method: Option<&str>) -> Result<Option<f64>, Fault> {
    let text = replay::text(file).map_err(|fault| fault.within("--replay"))?;
    let log = replay::access(&text).ok_or_else(|| {
        let fix = "give an access log, JSON lines, CSV with a path in its head, HAR, or targets of vegeta; \
                   docs/howto/http.md says how others are read";
        Fault::usage("this is no log of requests", file, fix)
    })?;
    let mut log = log.map_err(|fault| fault.within(file))?;
    if let Some(method) = method {
        log.keep_method(method);
    }
    // Times of whole seconds are drawn anew within their second, as the trace of the arrivals does.
    let mut stamps_ns: Vec<i64> = log.entries.iter().map(|entry| entry.at_ns).collect();
    replay::spread(&mut stamps_ns);
    let (Some(first), Some(last)) = (stamps_ns.first(), stamps_ns.last()) else {
        return Err(without_any(&log, file, method));
    };
    let seconds = last.saturating_sub(*first) as f64 / 1e9;
    let gaps = (stamps_ns.len() - 1).max(1) as f64;
    Ok(log.has_times.then(|| seconds + seconds / gaps))
}

/// Why nothing of a log is replayed.
fn without_any(log: &Access<'_>, file: &str, method: Option<&str>) -> Fault {
    if log.other_methods == 0 {
        let fix = "name its columns or keys as NGINX, Caddy, Envoy or Traefik do, such as time, method and \
                   path (docs/howto/http.md)";
        return Fault::usage("no line in it has a request that can be read", file, fix);
    }
    let what = format!("no request in it is a {}", method.unwrap_or("request"));
    Fault::usage(what, file, "name another --method")
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::os::fd::AsRawFd as _;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use clap::Parser as _;

    use super::*;
    use crate::protocols::http::log;

    /// Names of files: each is read once in a process.
    static NTH: AtomicUsize = AtomicUsize::new(0);

    /// The job of `--replay` of a file, and more flags.
    fn job_of(file: &str, flags: &[&str]) -> Result<Job, String> {
        let words = ["sojourn-load", "http://h/", "--replay", file];
        let args =
            Args::try_parse_from(words.iter().chain(flags)).map_err(|error| error.to_string());
        args.and_then(|args| args.job().map_err(|fault| fault.to_string()))
    }

    /// The job of a log with this text, and the name of its file.
    fn named(text: &str, flags: &[&str]) -> (Result<Job, String>, String) {
        let nth = NTH.fetch_add(1, Ordering::Relaxed);
        let unique = format!("sojourn-replay-{}-{nth}", std::process::id());
        let path = std::env::temp_dir().join(unique);
        std::fs::write(&path, text).unwrap();
        let file = path.display().to_string();
        let job = job_of(&file, flags);
        std::fs::remove_file(&path).unwrap();
        (job, file)
    }

    /// The job of `--replay` of a text, and more flags; `FILE` is the name of its file.
    fn job(text: &str, flags: &[&str]) -> Result<Job, String> {
        let (job, file) = named(text, flags);
        job.map(|mut job| {
            job.arrivals = job.arrivals.replace(&file, "FILE");
            job.paths_file = job.paths_file.replace(&file, "FILE");
            job
        })
    }

    const CSV: &str = "time,path,method\n1,/a?q=ann,GET\n2,/b,POST\n4,/c,GET\n5,/a,GET\n";

    #[test]
    fn a_log_is_a_job_with_its_times_and_without_what_people_typed() {
        let all = job(CSV, &[]).unwrap();
        assert_eq!(all.arrivals, "trace:FILE,speed=1,method=GET");
        assert_eq!((all.paths_file.as_str(), all.popularity.as_str()), ("FILE", "order"));
        assert_eq!(all.log_form, "method,numbers");
        assert_eq!(
            (all.duration.as_str(), all.warmup.as_str()),
            ("6000001us", "0s"),
            "4 s, a gap of 2"
        );
        let fast = job(CSV, &["--speed", "2x", "--log-form", "method", "--warmup", "1s"]).unwrap();
        assert_eq!(fast.arrivals, "trace:FILE,speed=2,method=GET");
        let its = (fast.duration.as_str(), fast.warmup.as_str(), fast.log_form.as_str());
        assert_eq!(its, ("3000001us", "1s", "method"));
        let every = job(CSV, &["--log-form", "", "--duration", "1s"]).unwrap();
        assert_eq!(
            (every.arrivals.as_str(), every.duration.as_str()),
            ("trace:FILE,speed=1", "1s")
        );
    }

    #[test]
    fn every_request_of_whole_seconds_is_due_before_the_end() {
        for seconds in [1, 3] {
            let line = |second: usize| {
                format!("h - - [28/May/2024:12:00:0{second} +0000] \"GET /a HTTP/1.1\" 200 5\n")
            };
            let text: String = (0..seconds).flat_map(|second| vec![line(second); 100]).collect();
            let job = job(&text, &[]).unwrap();
            let us: f64 = job.duration.strip_suffix("us").unwrap().parse().unwrap();
            let log = replay::access(&text).unwrap().unwrap();
            let mut due_ns: Vec<i64> = log.entries.iter().map(|entry| entry.at_ns).collect();
            replay::spread(&mut due_ns);
            let length_ns = (due_ns[due_ns.len() - 1] - due_ns[0]) as f64;
            assert!(us * 1e3 >= length_ns, "{seconds} s: {us} us, {length_ns} ns");
            let whole_us = seconds as f64 * 1e6;
            assert!(us > 0.9 * whole_us && us < 1.05 * whole_us, "{us}");
        }
    }

    #[test]
    fn a_pipe_is_read_once_for_its_times_and_its_paths() {
        let (reader, mut writer) = std::io::pipe().unwrap();
        writer.write_all(CSV.as_bytes()).unwrap();
        drop(writer);
        let job = job_of(&format!("/dev/fd/{}", reader.as_raw_fd()), &[]).unwrap();
        let of_times = arrivals::parse(&job.arrivals, 1.0).unwrap().note().unwrap();
        assert!(of_times.starts_with("1 requests of the log have other methods"), "{of_times}");
        let of_paths = log::note(&job).unwrap();
        assert!(of_paths.starts_with("1 values in queries of the log were replaced"), "{of_paths}");
    }

    #[test]
    fn one_line_without_a_time_does_not_turn_the_replay_off() {
        let line = |time: &str| format!("{{\"time\":{time},\"path\":\"/a\"}}\n");
        let some = job(&[line("1"), line("null"), line("3")].concat(), &[]).unwrap();
        assert_eq!(
            (some.arrivals.as_str(), some.duration.as_str()),
            ("trace:FILE,speed=1,method=GET", "4000001us")
        );
        let none = job(&line("null"), &[]).unwrap();
        assert_eq!(none.arrivals, "poisson");
    }

    #[test]
    fn targets_have_no_times_and_what_is_no_log_is_refused() {
        let targets = named("GET http://h/a\n", &["--rate", "50"]).0.unwrap();
        assert!(log::note(&targets).unwrap().starts_with("no request of the log has a time"));
        assert_eq!((targets.arrivals.as_str(), targets.rate.as_str()), ("poisson", "50"));
        for (text, flags, what) in [
            ("GET http://h/a\n", &["--speed", "2"][..], "no times"),
            (CSV, &["--rate", "500"], "has times"),
            ("/a\n/b\n", &[], "no log of requests"),
            (CSV, &["--method", "PUT"], "is a PUT"),
            ("{\"level\":30,\"what\":\"/a\"}\n", &[], "no line in it has a request"),
            (CSV, &["--speed", "0x"], "no factor"),
            (CSV, &["--arrivals", "fixed"], "cannot be used with"),
        ] {
            let error = job(text, flags).unwrap_err();
            assert!(error.contains(what), "{flags:?}: {error}");
        }
    }
}
