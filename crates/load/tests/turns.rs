//! Two generators on one CPU. What they take from each other can be told only where nobody else takes it
//! from both, so this is a program of its own: cargo runs those one after another.

#![allow(clippy::unwrap_used)] // a test that cannot be set up must say where

#[allow(dead_code)] // of its behaviours only the good one is asked for here
mod server;

use std::io::Write as _;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread;

use server::{Behaviour, Server, job};
use sojourn_load::drive::progress::{Form, Progress};
use sojourn_load::job::Job;
use sojourn_load::measure::measure;
use sojourn_load::plan::resolve::resolve;

/// How often it is looked again where the machine is busy with others.
const ATTEMPTS: usize = 8;
/// Share of the time that others take from a single generator; with more it cannot be known.
const OTHERS_MAX: f64 = 0.05;

fn on_one_cpu(server: &Server, wait: &str) -> Job {
    Job { cpus: "0".into(), wait: wait.into(), ..job(server, "epoll") }
}

/// Share of the time in which a generator did not run.
fn stopped(job: Job) -> f64 {
    let stop = Arc::new(AtomicBool::new(false));
    let got = measure(&resolve(job).unwrap(), &stop, &mut Progress::new(Form::Off)).unwrap();
    got.result.outages.share_time
}

/// What two generators on one CPU take from each other, as a share of the time of both.
fn stopped_by_each_other(server: &Server, wait: &str) -> f64 {
    let both =
        [(); 2].map(|()| on_one_cpu(server, wait)).map(|job| thread::spawn(move || stopped(job)));
    both.map(|it| it.join().unwrap()).iter().sum::<f64>() / 2.0
}

#[test]
fn generators_that_give_way_share_a_cpu_that_those_that_spin_take_from_each_other() {
    let server = Server::start(Behaviour::Good);
    let mut seen = Vec::new();
    for _ in 0..ATTEMPTS {
        let by_force = stopped_by_each_other(&server, "spin");
        let in_turn = stopped_by_each_other(&server, "yield");
        if in_turn < by_force / 2.0 {
            return;
        }
        let by_others = stopped(on_one_cpu(&server, "spin"));
        seen.push((in_turn, by_force, by_others));
    }
    let words = format!("in turn, by force and by others alone, shares of the time: {seen:?}");
    let is_calm = |(.., by_others): &(f64, f64, f64)| *by_others < OTHERS_MAX;
    assert!(seen.iter().filter(|one| is_calm(one)).count() < ATTEMPTS / 2, "{words}");
    let line = format!("unknown: generators_that_give_way: the CPU was never theirs: {words}\n");
    let _ = std::io::stderr().write_all(line.as_bytes());
}
