//! HTTP replies as servers send them beside the usual: long heads, bodies that end with the connection.

mod idle;

use std::io::{BufRead, BufReader, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::SeqCst;
use std::thread;

use sojourn_load::job::Job;
use sojourn_load::judge::result::{RunResult, Verdict};
use sojourn_load::measure::Judged;
use sojourn_load::protocols::Outcome;

use super::mirror;
use super::server::{Behaviour, Server};
use super::{job, run, usable};

/// Answers each request with `reply`, and closes after it if so told. Ends with the process.
fn serve(reply: String, closes: bool) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let reply = reply.clone();
            thread::spawn(move || answer(&stream, reply.as_bytes(), closes));
        }
    });
    port
}

fn answer(mut stream: &TcpStream, reply: &[u8], closes: bool) {
    let _ = stream.set_nodelay(true);
    let mut lines = BufReader::new(stream).lines();
    while let Some(Ok(line)) = lines.next() {
        if line.is_empty() {
            if stream.write_all(reply).is_err() {
                return;
            }
            if closes {
                let _ = stream.shutdown(Shutdown::Both);
                return;
            }
        }
    }
}

fn get(transport: &str, reply: String, closes: bool) -> Judged {
    let unused = Server::start(Behaviour::Good);
    let port = serve(reply, closes);
    run(Job {
        target: format!("http://127.0.0.1:{port}/"),
        rate: "500".into(),
        depth: 1,
        expect_bytes: 5,
        ..job(&unused, transport)
    })
}

#[test]
fn heads_longer_than_a_buffer_with_many_headers_are_read() {
    for transport in usable() {
        let headers = format!("X: {}\r\n", "v".repeat(400)).repeat(100);
        let reply = format!("HTTP/1.1 200 OK\r\n{headers}Content-Length: 5\r\n\r\nhello");
        let got = get(transport, reply, false);
        assert!(got.result.errors.is_empty(), "{transport}: {:?}", got.result.errors);
        assert_eq!(got.result.reply_bytes, got.result.requests * 5);
        assert_eq!(got.result.checks.reconnects, 0);
    }
}

#[test]
fn bodies_that_end_with_the_connection_are_read() {
    for transport in usable() {
        let got = get(transport, "HTTP/1.1 200 OK\r\nServer: old\r\n\r\nhello".into(), true);
        let (result, checks) = (&got.result, &got.result.checks);
        assert!(result.errors.is_empty(), "{transport}: {:?}", result.errors);
        assert_eq!(result.reply_bytes, result.requests * 5);
        assert_eq!(checks.broken_connections, 0, "{transport}: so the body had to end");
        assert!(checks.reconnects + 8 >= result.requests, "{transport}: {checks:?}");
    }
}

#[test]
fn a_body_cut_short_is_no_hit() {
    for transport in usable() {
        let reply = "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nhello";
        let result = get(transport, reply.into(), true).result;
        assert_eq!(result.errors["closed"], result.requests, "{transport}: {:?}", result.errors);
        assert_eq!(result.verdict, Verdict::Unknown);
    }
}

/// The connection is replaced as browsers do it, at once: the client's own pauses cost no request.
#[test]
fn more_bytes_than_a_reply_has_cost_a_connection_and_no_request() {
    for transport in usable() {
        for (head, expect_status) in
            [("204 No Content", "204"), ("200 OK\r\nContent-Length: 0", "200")]
        {
            let port = serve(format!("HTTP/1.1 {head}\r\n\r\nhello"), false);
            let target = format!("http://127.0.0.1:{port}/");
            let (rate, expect_status) = ("200".into(), expect_status.into());
            let job = mirror::job(target, transport);
            let result = run(Job { rate, expect_status, allow_empty: true, ..job }).result;
            assert!(result.errors.is_empty(), "{transport}, {head}: {:?}", result.errors);
            assert!(result.checks.overlong_replies >= result.requests, "{transport}, {head}");
            assert_eq!(result.checks.broken_connections, 0, "{transport}, {head}");
            let text = result.notes.iter().any(|note| note.contains("more bytes came"));
            assert!(text, "{:?}", result.notes);
        }
    }
}

/// A page that counts its visits: with the tenth its length grows by a digit.
#[test]
fn a_page_that_grows_while_it_is_measured_fails_by_its_length_and_counts_where_any_does() {
    let visits = AtomicU64::new(7);
    let port = mirror::listen(move |stream| {
        let mut lines = BufReader::new(&stream).lines();
        while let Some(Ok(line)) = lines.next() {
            if line.is_empty() {
                let page = format!("visits: {}", visits.fetch_add(1, SeqCst));
                let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", page.len());
                let _ = (&stream).write_all(&[head, page].concat().into_bytes());
            }
        }
    });
    for transport in usable() {
        let unused = Server::start(Behaviour::Good);
        let ask = |expect_bytes| {
            let target = format!("http://127.0.0.1:{port}/");
            run(Job {
                target,
                rate: "500".into(),
                depth: 1,
                expect_bytes,
                ..job(&unused, transport)
            })
        };
        let strict = ask(9).result; // as `sojourn try` saw it three times
        let errors = &strict.errors;
        let late = errors.get("timed_out").unwrap_or(&0); // on a busy machine some get no reply
        assert!(strict.requests > 2 * late, "{errors:?}");
        assert_eq!(errors.get("length"), Some(&(strict.requests - late)), "{errors:?}");
        assert_eq!(strict.verdict, Verdict::Unknown, "{transport}");
        let any = ask(0).result;
        let others = any.errors.keys().filter(|&name| name != "timed_out").count();
        assert_eq!(others, 0, "{transport}: {:?}", any.errors);
    }
}

/// RFC 9112, 9.6: what was sent behind the last reply of a connection was not looked at.
#[test]
fn requests_behind_a_reply_that_closes_are_sent_again() {
    let port = mirror::listen(|mut stream| {
        let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
        while lines.next().is_some_and(|line| line.is_ok_and(|line| !line.is_empty())) {}
        let head = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: foo, close\r\n\r\nhello";
        let _ = stream.write_all(head).and_then(|()| stream.shutdown(Shutdown::Write));
        let _ = std::io::copy(&mut stream, &mut std::io::sink()); // as servers linger
    });
    for transport in usable() {
        let job = mirror::job(format!("http://127.0.0.1:{port}/"), transport);
        let (timeout, rate) = ("10s".into(), "2k".into());
        let job = Job { depth: 4, connections: 1, timeout, rate, ..job };
        let result = run(Job { drain: "10s".into(), ..job }).result;
        assert!(result.errors.is_empty(), "{transport}: {:?}", result.errors);
        assert_eq!(result.reply_bytes, result.requests * 5, "{transport}");
        assert_eq!(result.checks.broken_connections, 0, "{transport}: {:?}", result.checks);
        assert!(result.checks.sent_again > 0, "{transport}: {:?}", result.checks);
    }
}

/// Whether at most one in twenty failed. A server that did not run for 100 ms before it ended a connection has
/// looked at the request, as far as a client can know; where none is sent again, more than a quarter fail.
pub fn are_few(result: &RunResult) -> bool {
    result.errors.values().sum::<u64>() * 20 <= result.requests
}

/// A server that ends a connection as soon as it has answered twice: the next request on it is on its way.
#[test]
fn a_request_that_meets_the_end_of_a_connection_is_sent_again_if_that_does_no_harm() {
    let whole = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
    let port = mirror::listen(move |mut stream| {
        let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
        for nth in 0..3 {
            while lines.next().is_some_and(|line| line.is_ok_and(|line| !line.is_empty())) {}
            if nth < 2 && stream.write_all(whole.as_bytes()).is_err() {
                return;
            }
        }
    });
    for transport in usable() {
        let of = |method: &str| {
            let method = method.into();
            run(Job { method, ..mirror::job(format!("http://127.0.0.1:{port}/"), transport) })
                .result
        };
        let (get, post) = (of("GET"), of("POST"));
        assert!(are_few(&get), "{transport}: {:?}", get.errors);
        assert!(get.checks.sent_again > get.requests / 4, "{transport}: {:?}", get.checks);
        assert!(post.errors["closed"] > post.requests / 4, "{transport}: {:?}", post.errors);
        let says = |of: &[String]| of.iter().any(|note| note.contains("use fewer connections"));
        assert_eq!((says(&get.notes), says(&post.notes)), (false, true), "{:?}", post.notes);
        assert_eq!(post.checks.sent_again, 0, "{transport}: a POST may do harm twice");
    }
}

/// `HAProxy` and others say 408 on a connection that idles before they end it (RFC 9110, 15.5.9).
#[test]
fn a_408_that_ends_an_idle_connection_is_no_reply_and_no_break() {
    let port = mirror::listen(|mut stream| {
        let _ = stream.set_read_timeout(Some(std::time::Duration::from_millis(20)));
        let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
        while let Some(Ok(line)) = lines.next() {
            let hello = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
            if line.is_empty() && stream.write_all(hello).is_err() {
                return;
            }
        }
        let _ = stream.write_all(b"HTTP/1.0 408 Request Time-out\r\nConnection: close\r\n\r\n");
    });
    for transport in usable() {
        let job = mirror::job(format!("http://127.0.0.1:{port}/"), transport);
        let result = run(Job { rate: "100".into(), connections: 8, ..job }).result;
        let checks = &result.checks;
        let broke = checks.broken_connections; // where a request crossed it, and TCP was reset
        assert!(checks.reconnects > 5 && broke * 4 < checks.reconnects, "{transport}: {checks:?}");
        let met: u64 = result.errors.values().sum(); // those on their way when it was said
        assert!(met * 4 < result.requests, "{transport}: {:?}", result.errors);
    }
}

/// The same where a request is on its way: it was not looked at, and goes to another connection.
#[test]
fn a_request_that_crosses_a_408_is_sent_again_if_that_does_no_harm() {
    let port = mirror::listen(|mut stream| {
        let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
        // The body of the last one ends with the connection.
        for reply in
            ["200 OK\r\nContent-Length: 5\r\n\r\nhello", "408 Late\r\nConnection: close\r\n\r\n"]
        {
            while lines.next().is_some_and(|line| line.is_ok_and(|line| !line.is_empty())) {}
            let _ = stream.write_all(format!("HTTP/1.1 {reply}").as_bytes());
        }
    });
    for transport in usable() {
        let of = |method: &str| {
            let (method, target) = (method.into(), format!("http://127.0.0.1:{port}/"));
            run(Job { method, rate: "200".into(), ..mirror::job(target, transport) }).result
        };
        let (get, post) = (of("GET"), of("POST"));
        assert!(are_few(&get), "{transport}: {:?}", get.errors);
        assert!(get.checks.sent_again > get.requests / 4, "{transport}: {:?}", get.checks);
        assert!(post.errors["status"] > post.requests / 4, "{transport}: {:?}", post.errors);
        assert_eq!((post.checks.sent_again, post.errors.len()), (0, 1), "{transport}");
    }
}

/// Answers with `Connection: close`, but ends every fourth connection when its first request has come.
fn ends_every_fourth() -> (u16, Arc<AtomicU64>) {
    let (all, ended) = (AtomicU64::new(0), Arc::new(AtomicU64::new(0)));
    let count = Arc::clone(&ended);
    let port = mirror::listen(move |mut stream| {
        let nth = all.fetch_add(1, SeqCst) + 1;
        let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
        let is_line = |line: std::io::Result<String>| line.is_ok_and(|line| !line.is_empty());
        if !lines.next().is_some_and(is_line) {
            return;
        }
        while lines.next().is_some_and(is_line) {}
        if nth.is_multiple_of(4) {
            count.fetch_add(1, SeqCst);
            return;
        }
        let head = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello";
        let _ = stream.write_all(head);
    });
    (port, ended)
}

/// The end of a connection that has never answered: if it idled, the server may have ended it for that, and
/// the request goes elsewhere, once; if it was opened for the request, that is the server's answer.
#[test]
fn a_connection_that_ends_before_its_first_reply_costs_its_request_unless_it_idled() {
    for transport in usable() {
        let of = |method: &str, find_max: bool| {
            let (port, ended) = ends_every_fourth();
            let method = method.into();
            let job = mirror::job(format!("http://127.0.0.1:{port}/"), transport);
            let job = Job { method, find_max, rate: "200".into(), connections: 8, ..job };
            (run(job), ended.load(SeqCst))
        };
        let lost = |got: &Judged| {
            let of_thread = got.run.threads[0].marks.outcome.iter();
            of_thread.filter(|&&it| it == Outcome::Closed).count() as u64
        };
        let (idle, ended) = of("GET", false);
        let again = idle.result.checks.sent_again;
        assert!(ended > 20 && again > 0, "{transport}: {again} of {ended}");
        assert_eq!(again + lost(&idle), ended, "{transport}");
        let (post, ended) = of("POST", false);
        assert_eq!((post.result.checks.sent_again, lost(&post)), (0, ended), "{transport}");
        let (busy, ended) = of("GET", true); // each is opened for the request that waits
        assert!(ended > 20 && lost(&busy) > 0, "{transport}: {:?}", busy.result.checks);
    }
}

/// No one is answered: then no end of a connection is that of an idle one.
#[test]
fn a_server_that_ends_every_connection_is_asked_once_for_each_request() {
    let (closes, asked) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
    let (count, seen) = (Arc::clone(&closes), Arc::clone(&asked));
    let port = mirror::listen(move |stream| {
        count.fetch_add(1, SeqCst);
        let first = BufReader::new(stream).lines().next();
        seen.fetch_add(u64::from(first.is_some_and(|line| line.is_ok())), SeqCst);
    });
    for transport in usable() {
        let result = run(mirror::job(format!("http://127.0.0.1:{port}/"), transport)).result;
        assert_eq!(result.checks.sent_again, 0, "{transport}");
        let failed: u64 = result.errors.values().sum();
        assert_eq!((failed, result.verdict), (result.requests, Verdict::Unknown), "{transport}");
    }
    assert!(closes.load(SeqCst) > 0 && asked.load(SeqCst) > 0);
}

/// What is reported where no reply is complete: why, and not that another protocol is spoken.
#[test]
fn a_web_server_that_is_slow_or_breaks_off_is_named_as_that() {
    let whole = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n";
    for (reply, closes, part) in [
        (String::new(), false, "raise timeout"),
        (format!("{whole}hell"), false, "were not complete within"),
        (format!("{whole}hell"), true, "were cut off"),
        ("HTTP/1.1 200 OK\r\nContent-Length: 5, 6\r\n\r\nhello".into(), false, "a Content-Length"),
        ("HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\nhello".into(), false, "a Content-Length"),
    ] {
        let port = serve(reply, closes);
        let (duration, timeout) = ("300ms".into(), "100ms".into());
        let job = mirror::job(format!("http://127.0.0.1:{port}/"), usable()[0]);
        let reasons = run(Job { duration, timeout, ..job }).result.reasons;
        let text = reasons.iter().find(|why| why.starts_with("protocol")).expect("it is told");
        assert!(text.contains(part), "{part} in {text}");
        assert!(!text.contains("probably speaks another"), "{text}");
    }
}

#[test]
fn a_server_that_answers_nothing_is_fast_and_not_believed() {
    for transport in usable() {
        let port = serve("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n".into(), false);
        let job = || mirror::job(format!("http://127.0.0.1:{port}/"), transport);
        let result = run(job()).result;
        assert_eq!(result.verdict, Verdict::Unknown, "{transport}");
        let all = result.requests;
        let text = format!("content: {all} of {all} replies had an empty body");
        assert!(result.reasons.iter().any(|why| why.starts_with(&text)), "{:?}", result.reasons);
        assert_eq!((result.errors.len(), result.replies.bytes_max), (0, Some(0)));
        let allowed = run(Job { allow_empty: true, ..job() }).result;
        assert!(!allowed.reasons.iter().any(|why| why.starts_with("content")), "{transport}");
    }
}

#[test]
fn what_is_sent_is_what_was_asked_for_and_bodies_are_held_against_it() {
    let path = std::env::temp_dir().join(format!("sojourn-token-{}", std::process::id()));
    std::fs::write(&path, "me:open sesame\n").unwrap();
    let port = mirror::listen(|stream| mirror::mirror(stream, u64::MAX, || ()));
    for transport in usable() {
        let job = |expect_regex: &str| Job {
            method: "PUT".into(),
            paths: vec!["/shelf/{}".into()],
            header: vec!["X-Item: no. {item}".into(), "user-agent: other".into()],
            body: r#"{"id": {item}, "again": {item}}"#.into(),
            auth: format!("basic:file:{}", path.display()),
            items: 100,
            expect_regex: expect_regex.into(),
            ..mirror::job(format!("http://127.0.0.1:{port}/"), transport)
        };
        let wanted = r#"^PUT /shelf/(\d+) HTTP/1.1\r\nHost: 127.0.0.1:\d+\r\nAccept: \*/\*\r\nX-Item: no. \d+\r\nuser-agent: other\r\nAuthorization: Basic \w{19}=\r\nContent-Length: 2\d\r\n\r\n\{"id": \d+, "again": \d+\}$"#;
        let good = run(job(wanted)).result;
        assert!(good.errors.is_empty() && good.replies.checked > 100, "{:?}", good.replies);
        assert!(good.replies.failed.is_empty(), "{transport}: {:?}", good.replies);
        let json = serde_json::to_string(&good).unwrap();
        assert!(!json.contains("sesame") && !json.contains("bWU6b3"), "the secret is in no result");
        let bad = run(job("/shelf/7 ")).result;
        assert_eq!(bad.verdict, Verdict::Unknown);
        let text = "replies checked did not match expect_regex";
        assert!(bad.reasons.iter().any(|why| why.contains(text)), "{:?}", bad.reasons);
    }
    std::fs::remove_file(&path).unwrap();
}
