//! Beside tasks that fill the server's CPU: what a thread waits for it is run-queue delay, wherever the
//! request was meanwhile, and no stage of work or queuing holds any of it. How long it waited is the
//! scheduler's to decide: the kernel's own account of the thread says it.

use std::process::Command;
use std::thread;
use std::time::Duration;

use sojourn_base::schedstat::Schedstat;
use sojourn_trace::reconstruct::record::Record;

use crate::support::calm::{calmly_but, judge};
use crate::support::child::Held;
use crate::support::echo::{self, Ask};
use crate::support::server::Server;
use crate::support::{PAUSE_NS, PAUSE_US, alone, index, median, say, trace};

/// Tasks that compute all the time, on the CPU of a server.
fn beside_hogs(server: &Server, n: usize) -> Vec<Held> {
    pin(server.pid());
    let spin = || Held::start(Command::new("sh").args(["-c", "while :; do :; done"]));
    let hogs: Vec<Held> = (0..n).map(|_| spin()).collect();
    for hog in &hogs {
        pin(hog.pid());
    }
    hogs
}

/// To CPU 0.
fn pin(pid: u32) {
    let words = ["-apc", "0", &pid.to_string()];
    assert!(Command::new("taskset").args(words).output().unwrap().status.success());
}

#[test]
fn a_hog_on_the_cpu_is_run_queue_delay() {
    let Some(_alone) = alone() else { return };
    calmly_but(Some(0), || {
        let server = echo::start(&["1"]);
        // Known before the hogs come: until a connection is accepted it has no thread that could wait.
        let mut stream = server.connect();
        Ask::default().call(&mut stream);
        let _hogs = beside_hogs(&server, 5);
        let before = Schedstat::of_process(server.pid()).unwrap();
        let (_, records) = trace(server.pid(), || {
            // Work that outlasts its slice, so that it is preempted in the middle too.
            let ask = Ask { reply_bytes: 2_000_000, writes: 4, ..Ask::default() };
            (0..60).for_each(|_| ask.call(&mut stream));
        });
        let account = Schedstat::of_process(server.pid()).unwrap().since(before);
        let sum = |stage: &str| records.iter().map(|r| r.stage_ns[index(stage)]).sum::<u64>();
        let runq = sum("runq_delay");
        let others =
            ["thread_busy", "application", "read", "dispatch", "batch_wait", "epoll_return"];
        let own: u64 = others.map(sum).into_iter().sum();
        let text = || format!("{own} ns elsewhere, runq_delay {runq} ns, {account:?}");
        // Some of its waits touch no request: the client is not there, or the reply leaves meanwhile.
        judge(runq * 4 > account.waited_ns, text)?;
        judge(own < account.ran_ns * 5 / 4, text)
    });
}

/// It has replied, and before it waits again it computes for so much CPU time, beside three hogs that
/// take three times as much: a request that comes meanwhile waits for both, and each has its name.
#[test]
fn a_thread_that_is_preempted_before_it_waits_again_is_busy_for_its_own_time_only() {
    let Some(_alone) = alone() else { return };
    // In an event loop it serves another connection, with blocking reads the same one.
    for words in [["1"].as_slice(), &["1", "blocking"]] {
        calmly_but(Some(0), || {
            let server = echo::start(words);
            let mut streams = [server.connect(), server.connect()];
            for stream in &mut streams {
                Ask::default().call(stream);
            }
            let _hogs = beside_hogs(&server, 3);
            let next = 2 - words.len();
            let (_, records) = trace(server.pid(), || {
                for _ in 0..15 {
                    Ask { after_us: PAUSE_US, ..Ask::default() }.call(&mut streams[0]);
                    Ask { reply_bytes: 7, ..Ask::default() }.call(&mut streams[next]);
                }
            });
            let behind: Vec<&Record> = records.iter().filter(|r| r.bytes_out == 7).collect();
            assert_eq!(behind.len(), 15);
            let middle = |name| median(behind.iter().map(|r| r.stage_ns[index(name)]).collect());
            let (busy, runq) = (middle("thread_busy"), middle("runq_delay"));
            let text = || format!("{words:?}: busy {busy} ns, runq_delay {runq} ns");
            judge((PAUSE_NS / 2..PAUSE_NS * 3 / 2).contains(&busy), text)?;
            judge(runq > PAUSE_NS, text)
        });
    }
}

/// More preemptions than the 32 that a thread remembers, while the request waits for its thread.
#[test]
fn a_wait_of_many_preemptions_keeps_its_split() {
    let Some(_alone) = alone() else { return };
    calmly_but(Some(0), || {
        let server = echo::start(&["1"]);
        let _hogs = beside_hogs(&server, 3);
        let before = Schedstat::of_process(server.pid()).unwrap();
        let (outcome, records) = trace(server.pid(), || {
            let (mut slow, mut quick) = (server.connect(), server.connect());
            Ask::default().call(&mut quick);
            let ask = Ask { reply_bytes: 400_000_000, writes: 4000, ..Ask::default() };
            ask.send(&mut slow);
            thread::sleep(Duration::from_millis(20));
            Ask::default().send(&mut quick);
            ask.receive(&mut slow);
            Ask::default().receive(&mut quick);
        });
        let account = Schedstat::of_process(server.pid()).unwrap().since(before);
        assert_eq!(outcome.counts.reason("preempt_history"), 0);
        let behind =
            records.iter().filter(|r| r.bytes_out == 1).max_by_key(|r| r.total_ns).unwrap();
        let (runq, total) = (behind.stage_ns[index("runq_delay")], behind.total_ns);
        let text = || format!("runq_delay {runq} of {total} ns, {account:?}");
        if account.turns <= 2 * 32 {
            say("unknown", &format!("too few preemptions: {}", text()));
            return Ok(());
        }
        judge(runq * 10 > account.waited_ns * 8, text)
    });
}
