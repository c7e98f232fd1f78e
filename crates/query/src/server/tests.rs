use std::io::{BufRead, BufReader};
use std::sync::atomic::Ordering::Relaxed;

use super::*;

/// Says its number back, but of 13, which is broken.
struct Back;

impl Work for Back {
    fn desk(&self) -> Box<dyn Desk + '_> {
        Box::new(Self)
    }
}

impl Desk for Back {
    fn answer(&mut self, query: u64, reply: &mut String) {
        if query != 13 {
            *reply = format!("{query}\n");
        }
    }
}

fn with_server(threads: u32, client: impl FnOnce(TcpStream) + Send) -> Vec<Notes> {
    let server = Server::bind("127.0.0.1:0".parse().unwrap(), threads, 100).unwrap();
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        let served = scope.spawn(|| server.run(&Back, &stop).unwrap());
        let stream = TcpStream::connect(server.address().unwrap()).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        client(stream);
        stop.store(true, Relaxed);
        served.join().unwrap()
    })
}

fn bodies(stream: &TcpStream, count: usize) -> Vec<String> {
    let mut lines = BufReader::new(stream).lines().map(Result::unwrap);
    let body = |_| lines.by_ref().skip_while(|line| !line.is_empty()).nth(1).unwrap();
    (0..count).map(body).collect()
}

#[test]
fn replies_keep_the_order_of_requests_whoever_serves_them() {
    let notes = with_server(4, |mut stream| {
        for n in 0..100 {
            write!(stream, "GET /q/{n} HTTP/1.1\r\n\r\n").unwrap();
        }
        let text = |n: u64| match n {
            13 => format!("query {n} has no answer: the data are broken"),
            _ => n.to_string(),
        };
        let wanted: Vec<String> = (0..100).map(text).collect();
        assert_eq!(bodies(&stream, 100), wanted);
    });
    let report = Notes::report(&notes, &crate::args::Settings::default());
    assert_eq!((report.answered, report.refused, report.by_worker.len()), (99, 1, 4));
}

/// As `nc -N` does: what was asked before the end is answered.
#[test]
fn who_ends_its_side_behind_its_requests_has_all_replies() {
    let notes = with_server(2, |mut stream| {
        stream.write_all(b"GET /q/1 HTTP/1.1\r\n\r\nGET /q/2 HTTP/1.1\r\n\r\n").unwrap();
        stream.shutdown(std::net::Shutdown::Write).unwrap();
        assert_eq!(bodies(&stream, 2), ["1", "2"]);
        assert_eq!(stream.read(&mut [0; 8]).unwrap(), 0);
    });
    assert_eq!(Notes::report(&notes, &crate::args::Settings::default()).answered, 2);
}

#[test]
fn what_is_asked_behind_the_last_request_is_not_answered() {
    let notes = with_server(2, |mut stream| {
        let last = b"GET /q/1 HTTP/1.1\r\nConnection: close\r\n\r\nGET /q/2 HTTP/1.1\r\n\r\n";
        stream.write_all(last).unwrap();
        assert_eq!(bodies(&stream, 1), ["1"]);
        assert_eq!(stream.read(&mut [0; 8]).unwrap(), 0);
    });
    assert_eq!(Notes::report(&notes, &crate::args::Settings::default()).answered, 1);
}

#[test]
fn what_is_no_query_is_refused_and_broken_requests_end_the_connection() {
    let notes = with_server(1, |mut stream| {
        stream.write_all(b"GET /q/100 HTTP/1.1\r\n\r\nGET / HTTP/1.1\r\n\r\n").unwrap();
        let text = bodies(&stream, 2);
        assert_eq!(text, ["there is no query 100, only 0 to 99", "ask GET /q/{n}"]);
        stream.write_all(b"hello\r\n\r\n").unwrap();
        assert_eq!(stream.read(&mut [0; 8]).unwrap(), 0);
    });
    assert_eq!(Notes::report(&notes, &crate::args::Settings::default()).refused, 2);
}
