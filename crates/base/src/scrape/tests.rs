use super::*;

fn asked(url: &str, request: &str) -> String {
    let address = url.trim_start_matches("http://").trim_end_matches("/metrics");
    let mut client = TcpStream::connect(address).expect("it listens");
    client.set_read_timeout(Some(Duration::from_secs(20))).expect("a time");
    let _ = client.write_all(request.as_bytes()); // it closes on what it refuses
    let mut answer = Vec::new();
    let _ = client.read_to_end(&mut answer);
    String::from_utf8_lossy(&answer).into_owned()
}

#[test]
fn it_answers_until_it_is_stopped_and_outlives_nonsense() {
    let listener = Listener::open("0").expect("a free port");
    let (url, stopper) = (listener.url(), listener.stopper());
    assert!(url.starts_with("http://127.0.0.1:"), "a port alone is on loopback: {url}");
    let answer = |head: &str| Answer { kind: TEXT, body: format!("{}\n", head.len()).into() };
    thread::scope(|scope| {
        scope.spawn(|| listener.serve(answer));
        let right = asked(&url, "GET /metrics HTTP/1.1\r\n\r\n");
        assert!(right.contains("openmetrics-text") && right.ends_with("\r\n\r\n25\n"), "{right}");
        let bare = asked(&url, "HEAD /metrics HTTP/1.1\r\n\r\n");
        assert!(bare.starts_with("HTTP/1.1 200") && bare.ends_with("close\r\n\r\n"), "{bare}");
        assert!(asked(&url, "GET / HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 404"));
        assert!(asked(&url, "POST /metrics HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 405"));
        assert!(asked(&url, &"x".repeat(HEAD_BYTES + 1)).is_empty(), "an endless head");
        assert!(asked(&url, "GET /metrics?x HTTP/1.1\r\n\r\n").ends_with("27\n"));
        let long = format!("GET /metrics HTTP/1.1\r\nX: {}\r\n\r\n", "x".repeat(996));
        assert!(asked(&url, &long).ends_with("\r\n\r\n1026\n"), "its end is in two parts");
        drop(stopper);
    });
}

/// One after the other, each for half a second, these made everyone else wait for a minute.
#[test]
fn clients_that_say_nothing_keep_no_other_waiting() {
    let listener = Listener::open("0").expect("a free port");
    let (url, stopper) = (listener.url(), listener.stopper());
    let address = url.trim_start_matches("http://").trim_end_matches("/metrics");
    let silent: Vec<_> =
        (0..120).map(|_| TcpStream::connect(address).expect("it listens")).collect();
    let answer = |_: &str| Answer { kind: TEXT, body: b"1\n".to_vec() };
    thread::scope(|scope| {
        scope.spawn(|| listener.serve(answer));
        let right = asked(&url, "GET /metrics HTTP/1.1\r\n\r\n"); // they are before it
        assert!(right.ends_with("\r\n\r\n1\n"), "{right}");
        drop(stopper);
    });
    drop(silent);
}

/// A client that is too many ends the oldest, not one that asks.
#[test]
fn the_oldest_goes_for_one_that_is_too_many() {
    let listener = Listener::open("0").expect("a free port");
    let address = listener.0.local_addr().expect("bound");
    let answer = |_: &str| Answer { kind: TEXT, body: Vec::new() };
    let mut clients = Vec::new();
    let mut silent = Vec::new();
    for number in 1..=CLIENTS_MAX + 2 {
        silent.push(TcpStream::connect(address).expect("it listens"));
        assert!(listener.admit(&mut clients, &answer), "more may come");
        assert_eq!(clients.len(), number.min(CLIENTS_MAX));
    }
    let ports = |all: Vec<io::Result<SocketAddr>>| -> Vec<u16> {
        all.into_iter().map(|at| at.expect("connected").port()).collect()
    };
    let there = ports(clients.iter().map(|one| one.stream.peer_addr()).collect());
    let newest = ports(silent[2..].iter().map(TcpStream::local_addr).collect());
    assert_eq!(there, newest);
}

/// Without a limit for all writes together, who reads slowly would hold up the end of a run.
#[test]
fn a_client_that_reads_nothing_is_left() {
    let listener = Listener::open("0").expect("a free port");
    let (url, stopper) = (listener.url(), listener.stopper());
    let large = |_: &str| Answer { kind: TEXT, body: vec![b'x'; 64 << 20] };
    let address = url.trim_start_matches("http://").trim_end_matches("/metrics");
    let mut silent = TcpStream::connect(address).expect("it listens");
    silent.write_all(b"GET /metrics HTTP/1.1\r\n\r\n").expect("it takes a request");
    thread::scope(|scope| {
        scope.spawn(|| listener.serve(large));
        assert!(asked(&url, "GET / HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 404"));
        drop(stopper);
    });
    drop(silent);
}

#[test]
fn what_is_no_address_and_a_port_in_use_are_refused() {
    for wrong in ["", "x", "x:y", "70000", "10.0.0.5", "host:80"] {
        let fault = Listener::open(wrong).expect_err("no address");
        assert_eq!((fault.exit, fault.at.as_str()), (2, "--listen"), "{wrong}");
    }
    let first = Listener::open(":0").expect("a free port");
    assert!(Listener::open("[::1]:0").map_or(true, |one| one.url().starts_with("http://[::1]:")));
    let port = first.0.local_addr().expect("bound").port();
    let fault = Listener::open(&port.to_string()).expect_err("in use");
    assert_eq!((fault.exit, fault.at.as_str()), (4, "--listen"));
}
