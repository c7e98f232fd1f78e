//! The program: from a command line to an exit code. Writes only to the streams and files that it is given.

use std::ffi::OsString;
use std::io::Write;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use serde::Serialize;
use sojourn_base::quantiles::{QUANTILES, Quantile, name_of};
use sojourn_base::visible::in_line;
use sojourn_base::{Exit, Fault, files, program};

use crate::attach::how::How;
use crate::attach::kernel;
use crate::attach::target::{self, Target};
use crate::blackbox;
use crate::cli::{Args, Instead};
use crate::culprit::result::Blamed;
use crate::culprit::svg::Panel;
use crate::culprit::{flame, svg};
use crate::diff;
use crate::judge::blocks::{Blocks, ROWS_FROM};
use crate::judge::few;
use crate::judge::result::{Resolution, SCHEMA, TargetFacts, TraceResult, VerdictWord};
use crate::judge::summary;
use crate::judge::verdict::{self, Bounds};
use crate::output::{chrome, describe, text, windows};
use crate::reconstruct::bins;
use crate::reconstruct::reasons::Weight;
use crate::reconstruct::stages::RESIDUAL;
use crate::reconstruct::window::{self, Accuracy, Cost, Sampling, judge, slowing, stalls};
use crate::session::{self, Options, Outcome};
use crate::who;

/// Runs the program on `words` and answers its exit code. `stop` is set by a signal handler.
pub fn main(
    words: impl IntoIterator<Item = OsString>,
    stop: &AtomicBool,
    out: &mut dyn Write,
    talk: &mut dyn Write,
) -> u8 {
    program::main(words, out, talk, |args: Args, out, talk| act(&args, stop, out, talk))
}

fn act(
    args: &Args,
    stop: &AtomicBool,
    out: &mut dyn Write,
    talk: &mut dyn Write,
) -> Result<Exit, Fault> {
    if let Some(Instead::Diff(args)) = &args.instead {
        return diff::act::act(args, out);
    }
    if args.describe {
        return print(out, &describe::json()).map(|()| Exit::Ok);
    }
    if args.black_box.ring {
        return blackbox::act::act(&args.black_box, (args.pid, &args.ports), stop, out, talk);
    }
    if let Some(cpus) = &args.who {
        return look(args, cpus, stop, out, talk);
    }
    let bounds = args.bounds()?;
    let options = Options {
        duration_ns: args.duration_ns()?,
        how: args.how()?,
        ring_bytes: args.ring_bytes()?,
        is_full: args.records.is_some(),
        worst: args.worst,
        hook_cost: args.hook_cost,
        blame: args.blamed_from(),
        all_stages: args.all_stages || args.records.is_some(),
        is_live: args.windows,
    };
    check_outputs(args)?;
    let (bound, json) = (args.bound.as_deref(), args.json.as_deref());
    let mut lines = windows::printer(args.windows, bound, json, out)?;
    session::check_host()?;
    let target = target::find(Path::new("/proc"), args.pid, &args.ports)?;
    let mut kept = crate::output::records::Writer::open(args.records.as_deref())?;
    if let Some(warning) = options.how.tail_warning() {
        let _ = writeln!(talk, "note: {warning}");
    }
    let mut begun = || {
        // Whoever started us may wait for this line before load begins.
        let _ = writeln!(
            talk,
            "tracing {} (pid {}), {}",
            in_line(&target.name),
            target.pid,
            args.duration
        );
    };
    let mut outcome = session::run_with_windows(
        &target,
        options,
        stop,
        &mut begun,
        &mut |record| kept.add(record),
        &mut lines,
    )?;
    drop(lines);
    kept.close(&outcome.counts.threads)?;
    let mut result = result(&target, options, bounds, &mut outcome);
    if outcome.is_few {
        few::name_together(&mut result);
    }
    draw(args, &result, outcome.blamed.as_ref())?;
    write_results(args, &result, out)?;
    Ok(match result.verdict.verdict {
        _ if outcome.was_interrupted => Exit::Interrupted,
        VerdictWord::Holds => Exit::Ok,
        VerdictWord::Unknown => Exit::Unknown,
    })
}

/// Names who runs on some CPUs.
fn look(
    args: &Args,
    cpus: &str,
    stop: &AtomicBool,
    out: &mut dyn Write,
    talk: &mut dyn Write,
) -> Result<Exit, Fault> {
    let (numbers, duration_ns) = (who::parse_cpus(cpus)?, args.duration_ns()?);
    check_outputs(args)?;
    session::check_host()?;
    let mut left_out = args.leave_out.clone();
    left_out.extend((args.pid != 0).then_some(args.pid));
    let mut begun = || {
        let _ = writeln!(talk, "watching CPU {cpus}, {}", args.duration);
    };
    let seen = who::watch::run(&numbers, &left_out, duration_ns, stop, &mut begun)?;
    let result = who::result(kernel::release(), seen);
    write_json(args, &result, out)?;
    if !is_stdout(args.json.as_deref()) {
        print(out, &who::text::page(&result))?;
    }
    let was_interrupted = stop.load(Ordering::Relaxed);
    Ok(if was_interrupted { Exit::Interrupted } else { Exit::Ok })
}

/// Refuses places that cannot be written, before anything is traced.
fn check_outputs(args: &Args) -> Result<(), Fault> {
    let mut seen = Vec::new();
    for (flag, path) in [
        ("--json", &args.json),
        ("--records", &args.records),
        ("--chrome", &args.chrome),
        ("--flame", &args.flame),
        ("--folded", &args.folded),
    ] {
        let Some(path) = path else { continue };
        if flag != "--json" && path.as_os_str() == "-" {
            return Err(Fault::usage("only --json can go to standard output", flag, "name a file"));
        }
        if seen.contains(&path) {
            let what = format!("{} is to hold two results", path.display());
            return Err(Fault::usage(what, flag, "name a file for each"));
        }
        seen.push(path);
        files::check_writable(path)?;
    }
    Ok(())
}

/// The flame graph and its lines, if they were asked for.
fn draw(args: &Args, result: &TraceResult, blamed: Option<&Blamed>) -> Result<(), Fault> {
    let Some(Blamed { blame, tail, body }) = blamed else { return Ok(()) };
    let quantile = name_of(blame.q);
    if let Some(path) = &args.flame {
        let title = format!("{}: where the time of a request goes", result.target.name);
        let slow = format!("at and above {quantile}");
        let tail = Panel { title: &slow, requests: blame.tail_requests, folded: tail };
        let body = Panel { title: "the others", requests: blame.body_requests, folded: body };
        write_file(path, &svg::draw(&title, &blame.answer, tail, body))?;
    }
    if let Some(path) = &args.folded {
        write_file(path, &flame::lines((&quantile, tail), ("others", body)))?;
    }
    Ok(())
}

fn write_results(args: &Args, result: &TraceResult, out: &mut dyn Write) -> Result<(), Fault> {
    write_json(args, result, out)?;
    if let Some(path) = &args.chrome {
        write_file(path, &chrome::trace(result).to_string())?;
    }
    if !is_stdout(args.json.as_deref()) && !args.windows {
        print(out, &text::page(result))?;
    }
    Ok(())
}

fn is_stdout(path: Option<&Path>) -> bool {
    path.is_some_and(|path| path.as_os_str() == "-")
}

fn write_json(args: &Args, result: &impl Serialize, out: &mut dyn Write) -> Result<(), Fault> {
    let Some(path) = &args.json else { return Ok(()) };
    let mut json = serde_json::to_string_pretty(result).expect("plain data");
    json.push('\n');
    if is_stdout(Some(path)) { print(out, &json) } else { write_file(path, &json) }
}

/// The list of the slowest lacks whom the ring had no room for.
fn incomplete(dropped: u64) -> Option<String> {
    (dropped > 0).then(|| {
        format!(
            "{dropped} slow requests found no room in the ring: the list of the slowest may lack \
             some of them; give a larger --buffer"
        )
    })
}

/// The outcome as it is written.
fn result(target: &Target, options: Options, bounds: Bounds, outcome: &mut Outcome) -> TraceResult {
    let counts = &outcome.counts;
    let mut sampling = std::mem::take(&mut outcome.sampling);
    let mut failures = std::mem::take(&mut outcome.failures);
    let all = counts.from_row(0);
    let residual = summary::stage_times(&all, RESIDUAL);
    let unmatched = counts.weighing(Weight::Unmatched);
    let cut_off = counts.weighing(Weight::InFlight);
    let threads = summary::threads(counts);
    let tail = summary::tail(counts, 0.99);
    if sampling.windows.is_some() {
        let workers = threads.iter().filter(|thread| thread.requests > 0);
        let busy = workers.map(|thread| thread.busy_ratio).fold(0.0, f64::max);
        let causes = summary::causes(&all);
        let slowing = slowing::slowing(outcome.cpu_ratio, busy, &causes, &tail.causes);
        let elapsed_ns = counts.duration_ns.max(1) as f64;
        let longer = |ratio: Option<f64>| ratio.unwrap_or(1.0);
        sampling.tail_cost = Some(outcome.stalls.cost(&stalls::Seen {
            totals: &counts.totals,
            mean_ns: all.total_ns as f64 / all.requests.max(1) as f64,
            busy,
            inside: outcome.enabled_ns as f64 / elapsed_ns,
            longer: (longer(slowing.mean_ratio), longer(slowing.tail_ratio)),
            elapsed_ns,
        }));
        sampling.slowing = Some(slowing);
    }
    if !matches!(options.how, How::All) {
        let blind_hz = sampling.windows.and(window::blind_hz(sampling.traced_ns));
        let accuracy = outcome.clusters.accuracy(summary::row_at(counts, 0.99));
        sampling.accuracy = Some(Accuracy { blind_hz, ..accuracy });
        failures.extend(judge::doubts(counts, &sampling));
    }
    let mut warnings = std::mem::take(&mut outcome.warnings);
    warnings.extend(costs(&sampling, &options.how));
    warnings.extend(incomplete(counts.reason("worst_dropped")));
    warnings.extend(pipelining(counts.reason("many_segments"), counts.matched()));
    TraceResult {
        schema: SCHEMA.into(),
        version: env!("CARGO_PKG_VERSION").into(),
        kernel: kernel::release(),
        target: TargetFacts {
            pid: target.pid,
            name: target.name.clone(),
            pids: target.pids.clone(),
            ports: target.ports.clone(),
        },
        started_unix_ns: outcome.started_unix_ns,
        started_ns: outcome.started_ns,
        duration_ns: counts.duration_ns,
        mode: options.how.word(options.is_full).into(),
        sampling,
        requests: counts.matched() + unmatched + cut_off,
        matched: counts.matched(),
        unmatched: summary::by_reason(counts, &[Weight::Unmatched]),
        unmatched_share: verdict::unmatched_share(counts),
        cut_off: summary::by_reason(counts, &[Weight::InFlight]),
        dropped: counts.weighing(Weight::Dropped),
        notes: summary::by_reason(counts, &[Weight::Note, Weight::Fact, Weight::Defect]),
        verdict: verdict::judge(counts, (residual.share, tail.residual.share), bounds, failures),
        answer: summary::answer(&tail),
        total: summary::total_times(&all, &counts.totals),
        residual,
        stages: summary::stages(&all),
        groups: summary::groups(&all),
        causes: summary::causes(&all),
        tails: tails().map(|quantile| summary::tail(counts, quantile.q)).collect(),
        tail,
        imbalance: summary::imbalance(&threads),
        threads,
        connections: summary::connections(counts),
        cpu: summary::cpu(counts),
        hooks: std::mem::take(&mut outcome.hooks),
        warnings,
        resolution: Resolution { total: bins::TOTAL.resolution(), stage: bins::STAGE.resolution() },
        worst: outcome.worst.iter().map(summary::worst).collect(),
        blame: outcome.blamed.as_ref().map(|blamed| blamed.blame.clone()),
        blocks: Blocks::of(&outcome.clusters, summary::row_at(counts, ROWS_FROM)),
    }
}

/// Quantiles from which on requests are broken down: the median to compare with, and the tail.
fn tails() -> impl Iterator<Item = Quantile> {
    QUANTILES.into_iter().filter(|quantile| quantile.q == 0.5 || quantile.q >= 0.99)
}

/// What the trace cost more than it should.
fn costs(sampling: &Sampling, how: &How) -> impl Iterator<Item = String> {
    let cpu = sampling.cost.as_ref().and_then(dear);
    let tail = sampling.tail_cost.as_ref().and_then(stalls::TailCost::warning);
    cpu.into_iter().chain(tail).chain(how.tail_warning().map(str::to_owned))
}

/// The cost that was asked for lies below what was surely taken.
fn dear(cost: &Cost) -> Option<String> {
    let low = cost.interval?.low + cost.tracer_cpu_ratio;
    (low > cost.asked).then(|| {
        format!(
            "tracing took more than the {:.1} % that were asked for: at least {:.1} %, the tracer's own CPU time included",
            cost.asked * 100.0,
            low * 100.0
        )
    })
}

/// One exchange may hold several requests of a pipelining client; say so when it looks like it.
fn pipelining(many_segments: u64, matched: u64) -> Option<String> {
    (many_segments * 100 > matched).then(|| {
        format!(
            "{many_segments} of {matched} requests came in several segments: a request here is what is read \
             until a reply is written, so a pipelining client's requests count as one"
        )
    })
}

fn print(out: &mut dyn Write, text: &str) -> Result<(), Fault> {
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).map_err(|error| {
        Fault::failed(
            format!("cannot write the result: {error}"),
            "standard output",
            "is the pipe closed?",
        )
    })
}

fn write_file(path: &Path, text: &str) -> Result<(), Fault> {
    files::write_whole(path, "the result", |out| out.write_all(text.as_bytes()))
}
