//! How often do the stated intervals hold? Draws windows, or samples of flows, again and again from the
//! records of every request of a trace, and counts how often each interval contains what all say.
//!
//! `redraw RECORDS windows|sample DRAWS` prints JSON: a line for each number whose truth is no trifle. No
//! hook is in the way here: what does not hold is the fault of the draw or of the estimator. `blind` tells
//! them apart: of those that do not hold, in draws that saw next to nothing of what makes the tail.

#![allow(clippy::print_stdout, clippy::unwrap_used)] // a tool for benchmarks: what fails, ends it

use std::fs::File;

use parquet::column::reader::get_typed_column_reader;
use parquet::data_type::{DataType, Int32Type, Int64Type};
use parquet::file::reader::{FileReader as _, SerializedFileReader};
use sojourn_trace::judge::summary::row_holding;
use sojourn_trace::reconstruct::bins::row_of;
use sojourn_trace::reconstruct::stages::{COUNT, STAGES};
use sojourn_trace::reconstruct::window::clusters::{Clusters, Snapshot};
use sojourn_trace::reconstruct::window::draw::Draw;
use sojourn_trace::reconstruct::window::duty::{Duty, Turn};
use sojourn_trace::reconstruct::window::work::Work;
use sojourn_trace::reconstruct::window::{Accuracy, Interval};

/// What is asked for: the defaults' values.
const COST: f64 = 0.02;
const ONE_IN: u32 = 64;
/// Flows are chosen anew, and slices end, every so often.
const SALT_NS: u64 = 50_000_000;
const SLICE_NS: u64 = 500_000_000;
/// What was seen on memcached, NGINX and Redis: share lost while attached, time attached beside a window,
/// CPU time of the tracer for one, gap between two.
const LOST: f64 = 0.16;
const BESIDE_NS: u64 = 15_000_000;
const OWN_NS: f64 = 2_500_000.0;
const GAP_NS: u64 = 10_000_000;
/// Draws that saw less than this part of the time of the slowest hundredth missed what makes it: no
/// estimator could tell.
const TAIL_SEEN_MIN: f64 = 0.5;
/// Shares below this are no news.
const LEAST: f64 = 0.01;

struct Request {
    start_ns: u64,
    total_ns: u64,
    peer_port: u16,
    stage_ns: [u64; COUNT],
}

type Find = Box<dyn Fn(&Accuracy) -> Option<Interval>>;

/// A number by name, what it is, and how to find its interval.
struct Number {
    name: String,
    truth: f64,
    of: Find,
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [records, how, draws] = &words[..] else { panic!("RECORDS windows|sample DRAWS") };
    let requests = read(records);
    let numbers = numbers(&requests);
    let mut everything = Snapshot::default();
    for request in &requests {
        everything.count(request.total_ns, request.stage_ns);
    }
    let p99_ns = numbers.iter().find(|number| number.name == "p99").unwrap().truth as u64;
    let whole_ns = tail_ns(&everything, p99_ns);
    let draws: u64 = draws.parse().unwrap();
    let (mut held, mut stated) = (vec![0_u64; numbers.len()], vec![0_u64; numbers.len()]);
    let (mut widths, mut blind) = (vec![0.0; numbers.len()], vec![0_u64; numbers.len()]);
    for seed in 0..draws {
        let (snapshot, clusters) = match how.as_str() {
            "windows" => windows(&requests, seed),
            _ => flows(&requests, seed),
        };
        let rows = snapshot.rows.iter().map(|row| row.requests).enumerate();
        let accuracy = clusters.accuracy(row_holding(0.99, rows));
        let is_blind = tail_ns(&snapshot, p99_ns) < TAIL_SEEN_MIN * whole_ns;
        for (k, number) in numbers.iter().enumerate() {
            let Some(Interval { low, high }) = (number.of)(&accuracy) else { continue };
            stated[k] += 1;
            let holds = low <= number.truth && high.is_none_or(|h| number.truth <= h);
            held[k] += u64::from(holds);
            blind[k] += u64::from(!holds && is_blind);
            widths[k] += (high.unwrap_or(f64::INFINITY) - low) / number.truth;
        }
    }
    for (k, number) in numbers.iter().enumerate() {
        println!(
            "{}",
            serde_json::json!({
                "name": number.name, "truth": number.truth, "draws": draws, "stated": stated[k],
                "held": held[k], "blind": blind[k], "width": widths[k] / stated[k].max(1) as f64,
            })
        );
    }
}

/// Time of requests at and above p99, per request: of the rows from the one that holds it.
fn tail_ns(snapshot: &Snapshot, p99_ns: u64) -> f64 {
    let tail: u64 = snapshot.rows[row_of(p99_ns)..].iter().map(|row| row.total_ns).sum();
    tail as f64 / snapshot.rows.iter().map(|row| row.requests).sum::<u64>() as f64
}

/// Windows of the default cost over these requests, as `run` draws them.
fn windows(requests: &[Request], seed: u64) -> (Snapshot, Clusters) {
    let (from_ns, to_ns) = (requests[0].start_ns, requests[requests.len() - 1].start_ns);
    let (mut duty, mut draw) = (Duty::new(COST, (to_ns - from_ns) as f64), Draw::new(seed));
    let (mut snapshot, mut clusters) = (Snapshot::default(), Clusters::default());
    let mut now_ns = 0;
    loop {
        let (place_ns, length_ns) = duty.next(&mut draw);
        let began_ns = place_ns.max(now_ns + GAP_NS);
        if from_ns + began_ns + length_ns > to_ns {
            return (snapshot, clusters);
        }
        let at = |ns: u64| requests.partition_point(|request| request.start_ns < from_ns + ns);
        for request in &requests[at(began_ns)..at(began_ns + length_ns)] {
            snapshot.count(request.total_ns, request.stage_ns);
        }
        clusters.add(snapshot.clone());
        let attached_ns = (length_ns + BESIDE_NS) as f64;
        let work = |ns: f64, factor: f64| Work { cpu_ns: ns, segments: ns * factor / 3000.0 };
        duty.add(&Turn {
            outside: work((began_ns - now_ns) as f64, 1.0),
            inside: work(attached_ns, 1.0 - LOST),
            traced: work(length_ns as f64, 1.0 - LOST),
            length_ns: length_ns as f64,
            attached_ns,
            own_ns: OWN_NS,
        });
        now_ns = began_ns + length_ns + BESIDE_NS;
    }
}

/// One flow in 64 of these requests, as `whole` draws them.
fn flows(requests: &[Request], seed: u64) -> (Snapshot, Clusters) {
    let (mut draw, mut salt) = (Draw::new(seed), 0);
    let (mut snapshot, mut clusters) = (Snapshot::default(), Clusters::default());
    let (mut salted_ns, mut sliced_ns) = (0, requests[0].start_ns);
    for request in requests {
        if request.start_ns >= salted_ns + SALT_NS {
            salt = draw.salt() as u32;
            salted_ns = request.start_ns;
        }
        if request.start_ns >= sliced_ns + SLICE_NS {
            clusters.add(snapshot.clone());
            sliced_ns = request.start_ns;
        }
        if is_chosen(request.peer_port, salt) {
            snapshot.count(request.total_ns, request.stage_ns);
        }
    }
    (snapshot, clusters)
}

/// `is_chosen` of `sample.h`.
fn is_chosen(peer_port: u16, salt: u32) -> bool {
    let mut hash = u32::from(peer_port) ^ salt;
    hash = (hash ^ hash >> 16).wrapping_mul(0x85eb_ca6b);
    hash = (hash ^ hash >> 13).wrapping_mul(0xc2b2_ae35);
    hash ^ hash >> 16 < u32::MAX / ONE_IN
}

/// What all requests say: of the tail, what the slowest hundredth does.
fn numbers(requests: &[Request]) -> Vec<Number> {
    let mut totals: Vec<u64> = requests.iter().map(|request| request.total_ns).collect();
    totals.sort_unstable();
    let at = |q: f64| totals[(q * totals.len() as f64) as usize] as f64;
    let tail_from = at(0.99) as u64;
    let tail: Vec<&Request> = requests.iter().filter(|r| r.total_ns >= tail_from).collect();
    let everybody: Vec<&Request> = requests.iter().collect();
    let number = |name: &str, truth, of: fn(&Accuracy) -> Option<Interval>| Number {
        name: name.into(),
        truth,
        of: Box::new(of),
    };
    let mean = totals.iter().sum::<u64>() as f64 / totals.len() as f64;
    let mut numbers = vec![
        number("mean", mean, |a| a.mean_ns),
        number("p50", at(0.5), |a| a.p50_ns),
        number("p95", at(0.95), |a| a.p95_ns),
        number("p99", at(0.99), |a| a.p99_ns),
    ];
    for (k, stage) in STAGES.iter().enumerate() {
        for (of, requests, is_tail) in [("share", &everybody, false), ("tail share", &tail, true)] {
            let truth = share(requests, k);
            if truth < LEAST {
                continue;
            }
            let of_stage = move |a: &Accuracy| {
                if is_tail { a.stages[k].tail_share } else { a.stages[k].share }
            };
            let name = format!("{} {of}", stage.name);
            numbers.push(Number { name, truth, of: Box::new(of_stage) });
        }
    }
    numbers
}

fn share(requests: &[&Request], stage: usize) -> f64 {
    let part: u64 = requests.iter().map(|request| request.stage_ns[stage]).sum();
    part as f64 / requests.iter().map(|request| request.total_ns).sum::<u64>() as f64
}

/// The records by the time of their arrival.
fn read(path: &str) -> Vec<Request> {
    let reader = SerializedFileReader::new(File::open(path).unwrap()).unwrap();
    let schema = reader.metadata().file_metadata().schema_descr();
    let at = |name: &str| schema.columns().iter().position(|column| column.name() == name).unwrap();
    let columns: Vec<usize> =
        STAGES.iter().map(|stage| at(&format!("{}_ns", stage.name))).collect();
    let mut requests = Vec::new();
    for group in 0..reader.num_row_groups() {
        let column = |name| values::<Int64Type>(&reader, group, at(name));
        let (starts, totals) = (column("start_ns"), column("total_ns"));
        let ports = values::<Int32Type>(&reader, group, at("peer_port"));
        let stages: Vec<Vec<i64>> =
            columns.iter().map(|column| values::<Int64Type>(&reader, group, *column)).collect();
        requests.extend((0..starts.len()).map(|row| Request {
            start_ns: starts[row] as u64,
            total_ns: totals[row] as u64,
            peer_port: ports[row] as u16,
            stage_ns: std::array::from_fn(|k| stages[k][row] as u64),
        }));
    }
    requests.sort_by_key(|request| request.start_ns);
    requests
}

fn values<T: DataType>(
    reader: &SerializedFileReader<File>,
    group: usize,
    column: usize,
) -> Vec<T::T> {
    let group = reader.get_row_group(group).unwrap();
    let rows = group.metadata().num_rows() as usize;
    let mut values = Vec::with_capacity(rows);
    let mut column = get_typed_column_reader::<T>(group.get_column_reader(column).unwrap());
    while values.len() < rows {
        let (_, n, _) = column.read_records(rows, None, None, &mut values).unwrap();
        assert!(n > 0, "a column is shorter than its group");
    }
    values
}
