//! When requests came and were answered, by two hooks: held against what the server was asked to do.

use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::thread;
use std::time::{Duration, Instant};

use parquet::file::reader::{FileReader as _, SerializedFileReader};
use parquet::record::RowAccessor as _;
use serde_json::Value;
use sojourn_trace::attach::target::{self, Target};
use sojourn_trace::judge::result::TargetFacts;
use sojourn_trace::program;
use sojourn_trace::times::act::{Asked, act};

use crate::foreign;
use crate::support::echo::{self, Ask};
use crate::support::server::Server;
use crate::support::{Sets, alone};

const MS: i64 = 1_000_000;

/// Says when a line has come.
struct Talk<F: Fn()>(F);

impl<F: Fn()> io::Write for Talk<F> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        (self.0)();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Exit code, result, and the rows (start, first, end, connection) of what `load` did to `server`.
fn timed(server: &Server, load: impl FnOnce()) -> (u8, Value, Vec<[i64; 4]>) {
    let folder = std::env::temp_dir().join(format!("sojourn-times-live-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let at = |name: &str| folder.join(name).display().to_string();
    let words = ["sojourn-trace", "--pid", &server.pid().to_string(), "--times", &at("times")]
        .into_iter()
        .chain(["--json", &at("json"), "--duration", "1min"])
        .map(Into::into)
        .collect::<Vec<_>>();
    let (stop, (begun, wait)) = (AtomicBool::new(false), channel());
    let exit = thread::scope(|scope| {
        let mut talk = Talk(move || {
            let _ = begun.send(()); // only the first line is waited for
        });
        let stop = &stop;
        let trace = scope.spawn(move || program::main(words, stop, &mut io::sink(), &mut talk));
        wait.recv_timeout(Duration::from_secs(60)).expect("it begins");
        load();
        stop.store(true, Ordering::Relaxed);
        trace.join().unwrap()
    });
    let text = std::fs::read_to_string(at("json")).unwrap();
    let rows = rows(&folder.join("times"));
    std::fs::remove_dir_all(&folder).unwrap();
    (exit, serde_json::from_str(&text).unwrap(), rows)
}

fn rows(path: &PathBuf) -> Vec<[i64; 4]> {
    let file = SerializedFileReader::new(File::open(path).unwrap()).unwrap();
    let rows = file.get_row_iter(None).unwrap().map(Result::unwrap);
    rows.map(|row| [0, 1, 2, 3].map(|at| row.get_long(at).unwrap())).collect()
}

fn pause() {
    thread::sleep(Duration::from_millis(2));
}

#[test]
fn every_request_has_its_times_and_later_writes_move_its_end() {
    let Some(_alone) = alone() else { return };
    let server = echo::start(&["1"]);
    let mut streams = [server.connect(), server.connect()];
    let (exit, result, rows) = timed(&server, || {
        for nth in 0..60_u32 {
            let writes = 1 + nth % 3;
            let ask = Ask { app_us: 3_000, reply_bytes: 30, writes, ..Ask::default() };
            ask.call(&mut streams[nth as usize % 2]);
            pause();
        }
    });
    assert_eq!((exit, &result["verdict"]["verdict"]), (130, &"holds".into()), "{result}");
    assert_eq!((rows.len(), &result["requests"]), (60, &60.into()), "{result}");
    for (nth, [start, first, end, connection]) in rows.iter().enumerate() {
        assert!((3 * MS..200 * MS).contains(&(first - start)), "{nth}: {}", first - start);
        assert_eq!(nth % 3 == 0, first == end, "{nth}: {} writes", 1 + nth % 3);
        assert!(end - first < 100 * MS && *connection == rows[nth % 2][3], "{nth}");
    }
    assert_ne!(rows[0][3], rows[1][3], "two connections");
}

#[test]
fn connections_that_last_for_one_request_are_each_their_own() {
    let Some(_alone) = alone() else { return };
    let server = echo::start(&["1"]);
    let (_, result, rows) = timed(&server, || {
        for _ in 0..20 {
            Ask::default().call(&mut server.connect());
        }
    });
    let mut connections: Vec<i64> = rows.iter().map(|row| row[3]).collect();
    connections.sort_unstable();
    connections.dedup();
    assert_eq!((rows.len(), connections.len()), (20, 20), "{result}");
}

#[test]
fn requests_that_come_before_the_reply_to_others_make_it_unknown() {
    let Some(_alone) = alone() else { return };
    let server = echo::start(&["1"]);
    let mut stream = server.connect();
    let (exit, result, _) = timed(&server, || {
        let ask = Ask { app_us: 2_000, ..Ask::default() };
        for _ in 0..20 {
            for _ in 0..4 {
                stream.write_all(&ask.bytes()).unwrap();
            }
            stream.read_exact(&mut [0; 4]).unwrap();
        }
    });
    assert_eq!(result["verdict"]["verdict"], "unknown", "{exit} {result}");
    assert!(result["verdict"]["reasons"].to_string().contains("one by one"), "{result}");
}

#[test]
fn a_service_without_a_request_is_unknown_and_the_file_has_no_row() {
    let Some(_alone) = alone() else { return };
    let server = echo::start(&["1"]);
    let (_, result, rows) = timed(&server, pause);
    assert!(rows.is_empty(), "{result}");
    assert!(result["verdict"]["reasons"].to_string().contains("no request"), "{result}");
}

/// How many requests were seen while connections came for so long, with room for `processes` of the service.
fn seen_with_room(processes: u32, server: &Server, length: Duration) -> u64 {
    let Target { pid, name, pids, ports } =
        target::find(Path::new("/proc"), server.pid(), &[]).unwrap();
    let path = std::env::temp_dir().join(format!("sojourn-times-room-{}", std::process::id()));
    let asked = &Asked {
        path: &path,
        duration_ns: 600_000_000_000,
        ring_bytes: 1 << 20,
        processes,
        unmatched_max: 0.01,
    };
    let (stop, (begun, wait)) = (AtomicBool::new(false), channel());
    let result = thread::scope(|scope| {
        let stop = &stop;
        let trace = scope.spawn(move || {
            let mut begins = || begun.send(()).expect("it is waited for");
            act(TargetFacts { pid, name, pids, ports }, asked, stop, &mut begins)
        });
        {
            let _ends = Sets(stop);
            wait.recv_timeout(Duration::from_secs(60)).expect("it begins");
            let until = Instant::now() + length;
            while Instant::now() < until {
                Ask::default().call(&mut server.connect());
                pause();
            }
        }
        trace.join().unwrap()
    });
    let requests = result.unwrap().counts.requests;
    std::fs::remove_file(&path).unwrap();
    requests
}

/// Each connection has a process of its own for its one request. Without room its request is not seen.
#[test]
fn processes_that_have_ended_make_room_for_others() {
    const ROOM: u32 = 8;
    let Some(_alone) = alone() else { return };
    let program = foreign::compiled("forks").unwrap();
    let server = Server::start_at(&program, &[], |line| line.trim().parse().unwrap());
    // Room is made once a second. Where the machine is busy the first look may be too short.
    let mut lengths = [3, 30].map(Duration::from_secs).into_iter();
    let has_more = |length| seen_with_room(ROOM, &server, length) > u64::from(ROOM);
    assert!(lengths.any(has_more), "only the first were seen");
}
