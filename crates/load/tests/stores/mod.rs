//! Key-value stores that refuse: connections, commands, passwords; and what is said when one opens.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::process::Command;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use sojourn_base::Fault;
use sojourn_load::drive::preload;
use sojourn_load::job::Job;
use sojourn_load::judge::result::{RunResult, Verdict};
use sojourn_load::plan::resolve::resolve;
use sojourn_load::protocols::content::Content;

use super::mirror::{self, Folder, Program};
use super::{run, tls, usable};

/// A store that speaks RESP.
#[derive(Clone)]
struct Store {
    /// Connections that it takes; it says `refusal` to others and closes them.
    limit: usize,
    refusal: &'static str,
    /// What it says to GET and SET; empty: it does them.
    to_get: &'static str,
    to_set: &'static str,
    /// Replies after which it closes a connection.
    closes_after: usize,
    open: Arc<AtomicUsize>,
    /// The first commands of each connection.
    begun: Arc<Mutex<Vec<Vec<String>>>>,
}

impl Store {
    fn new() -> Self {
        Self {
            limit: usize::MAX,
            refusal: "",
            to_get: "",
            to_set: "",
            closes_after: usize::MAX,
            open: Arc::default(),
            begun: Arc::default(),
        }
    }

    /// Its port; it ends with the process.
    fn start(&self) -> u16 {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let this = self.clone();
        thread::spawn(move || {
            for mut stream in listener.incoming().flatten() {
                if this.open.fetch_add(1, SeqCst) >= this.limit {
                    this.open.fetch_sub(1, SeqCst);
                    let _ = stream.write_all(this.refusal.as_bytes());
                    continue;
                }
                let this = this.clone();
                let _ = stream.set_nodelay(true);
                thread::spawn(move || {
                    this.serve(stream);
                    this.open.fetch_sub(1, SeqCst);
                });
            }
        });
        port
    }

    fn serve(&self, stream: impl Read + Write) {
        let content = Content::new(100, "30", "200").unwrap();
        let mut reader = BufReader::new(stream);
        let mut begun = Vec::new();
        for nth in 0..self.closes_after {
            let Some(words) = command(&mut reader) else { break };
            if nth < 3 {
                begun.push(words[..words.len().min(3)].join(" "));
            }
            let reply = match (words[0].as_str(), self.to_get, self.to_set) {
                ("GET", "", _) => {
                    let mut reply = b"$200\r\n".to_vec();
                    content.push_value(words[1].parse().unwrap(), &mut reply);
                    [reply, b"\r\n".to_vec()].concat()
                }
                ("GET", words, _) | ("SET", _, words) if !words.is_empty() => {
                    format!("{words}\r\n").into_bytes()
                }
                _ => b"+OK\r\n".to_vec(),
            };
            let stream = reader.get_mut();
            if stream.write_all(&reply).and_then(|()| stream.flush()).is_err() {
                break;
            }
        }
        self.begun.lock().unwrap().push(begun);
    }

    /// What connections began with, once so many have ended: a connection ends after its client has.
    fn ended(&self, count: usize) -> Vec<Vec<String>> {
        let until = Instant::now() + Duration::from_secs(10);
        while self.begun.lock().unwrap().len() < count && Instant::now() < until {
            thread::sleep(Duration::from_millis(1));
        }
        self.begun.lock().unwrap().clone()
    }
}

/// One array of bulk strings.
fn command(reader: &mut impl BufRead) -> Option<Vec<String>> {
    let count = number(reader, '*')?;
    (0..count)
        .map(|_| {
            let mut word = vec![0; number(reader, '$')? + 2];
            reader.read_exact(&mut word).ok()?;
            word.truncate(word.len() - 2);
            Some(String::from_utf8_lossy(&word).into_owned())
        })
        .collect()
}

fn number(reader: &mut impl BufRead, sign: char) -> Option<usize> {
    let mut line = String::new();
    reader.read_line(&mut line).ok().filter(|&read| read > 0)?;
    line.trim().strip_prefix(sign)?.parse().ok()
}

fn job(target: String, transport: &str) -> Job {
    Job { items: 100, ..mirror::job(target, transport) }
}

fn reasons(result: &RunResult) -> String {
    format!("{:?} {:?} {:?}", result.verdict, result.reasons, result.notes)
}

#[test]
fn a_store_that_takes_fewer_connections_than_asked_is_not_believed() {
    for transport in usable() {
        for refusal in ["-ERR max number of clients reached\r\n", ""] {
            for find_max in [false, true] {
                let store = Store { limit: 10, refusal, ..Store::new() };
                let target = format!("resp://127.0.0.1:{}", store.start());
                let job = Job { connections: 64, find_max, ..job(target, transport) };
                let result = run(Job { requests_max: 1_000_000, ..job }).result;
                let text = reasons(&result);
                assert_eq!(result.verdict, Verdict::Unknown, "{transport} {refusal}");
                assert!(text.contains("54 of 64 connections never answered"), "{text}");
                let fix = if refusal.is_empty() { "limit on connections" } else { "maxclients" };
                assert!(text.contains(fix), "{text}");
            }
        }
    }
}

#[test]
fn a_store_that_closes_now_and_then_has_refused_nothing() {
    for transport in usable() {
        let store = Store { closes_after: 40, ..Store::new() };
        let target = format!("redis://127.0.0.1:{}", store.start());
        let result = run(Job { duration: "2s".into(), ..job(target, transport) }).result;
        assert!(result.checks.reconnects > 0);
        assert!(!reasons(&result).contains("connections: "), "{}", reasons(&result));
    }
}

fn preloaded(target: String) -> Result<(), Fault> {
    let resolved = resolve(job(target, "epoll")).unwrap();
    preload::preload(&resolved, &AtomicBool::new(false))
}

#[test]
fn what_a_store_says_of_items_that_it_refuses_is_passed_on_with_its_fix() {
    for (words, fix) in [
        ("-NOAUTH Authentication required.", "--auth password:file"),
        ("-READONLY You can't write against a read only replica.", "name the primary"),
        ("-MOVED 3999 127.0.0.1:6381", "a node of a cluster"),
        ("-OOM command not allowed when used memory > 'maxmemory'.", "maxmemory"),
        ("-LOADING Redis is loading the dataset in memory", "wait until"),
        ("-MYERR something \x1b of its own", "documentation"),
    ] {
        let store = Store { to_set: words, ..Store::new() };
        let fault = preloaded(format!("resp://127.0.0.1:{}", store.start())).unwrap_err();
        let shown = words.replace('\x1b', "\\u{1b}");
        assert!(fault.what.contains("did not store 100 of 100 items"), "{fault}");
        assert!(fault.what.contains(&shown) && fault.fix.contains(fix), "{fault}");
        assert_eq!(fault.exit, 4);
    }
    let odd = Store { to_set: "BUSY", ..Store::new() };
    let fault = preloaded(format!("resp://127.0.0.1:{}", odd.start())).unwrap_err();
    assert!(fault.what.ends_with("an unknown reply, \"BUSY\""), "{fault}");
}

#[test]
fn what_a_store_says_to_requests_is_in_the_result() {
    for transport in usable() {
        let store = Store { to_get: "-MOVED 3999 127.0.0.1:6381", ..Store::new() };
        let result = run(job(format!("resp://127.0.0.1:{}", store.start()), transport)).result;
        assert_eq!(result.errors["status"], result.requests);
        let text = reasons(&result);
        assert!(
            text.contains("-MOVED 3999 127.0.0.1:6381") && text.contains("node of a cluster"),
            "{text}"
        );
        assert_eq!(result.replies.rows, None, "it has none");
    }
}

#[test]
fn password_and_database_are_reported_on_every_connection() {
    let path = std::env::temp_dir().join(format!("sojourn-store-{}", std::process::id()));
    std::fs::write(&path, "open sesame\n").unwrap();
    for transport in usable() {
        let store = Store { closes_after: 50, ..Store::new() };
        let target = format!("redis://me@127.0.0.1:{}/2", store.start());
        let auth = format!("password:file:{}", path.display());
        // A batch of SETs is longer than the store lets a connection live: items come from elsewhere.
        let result = run(Job { auth, ..job(target, transport) }).result;
        assert!(result.checks.reconnects > 0, "{transport}");
        let json = serde_json::to_string(&result).unwrap();
        assert!(!json.contains("sesame"), "the secret is in no result");
        for begun in store.begun.lock().unwrap().iter().filter(|begun| begun.len() > 1) {
            assert_eq!(begun[..2], ["AUTH me open sesame", "SELECT 2"], "{transport}: {begun:?}");
        }
    }
    std::fs::remove_file(&path).unwrap();
}

#[test]
fn over_tls_password_and_database_follow_the_handshake() {
    let path = std::env::temp_dir().join(format!("sojourn-secured-{}", std::process::id()));
    std::fs::write(&path, "open sesame\n").unwrap();
    for transport in usable() {
        let store = Store { closes_after: 50, ..Store::new() };
        let shared = store.clone();
        let port = tls::listen_secured("server.pem", move |stream| shared.serve(stream));
        let secured = |auth: String, preload: bool| Job {
            ca_file: tls::file("issuer.pem"),
            items: if preload { 20 } else { 100 },
            auth,
            preload,
            ..job(format!("rediss://127.0.0.1:{port}/2"), transport)
        };
        let auth = format!("password:file:{}", path.display());
        let result = run(secured(auth, true)).result;
        assert!(result.checks.reconnects > 0 && result.tls.is_some(), "{transport}");
        let failed: u64 = result.errors.values().sum();
        assert!(failed * 3 < result.requests, "{transport}: {:?}", result.errors);
        let all = store.ended(6);
        let spoken: Vec<_> = all.iter().filter(|begun| begun.len() > 1).collect();
        assert!(spoken.len() > 5, "{transport}: {all:?}");
        for begun in spoken {
            assert_eq!(begun[..2], ["AUTH open sesame", "SELECT 2"], "{transport}: {begun:?}");
        }
    }
    std::fs::remove_file(&path).unwrap();
    let store = Store { ..Store::new() };
    let fault = tls::fault(Job {
        insecure: true,
        ..job(format!("rediss://127.0.0.1:{}", store.start()), "epoll")
    });
    assert!(fault.what.contains("no secure connection"), "{fault}");
}

/// The distribution's own: what is asked of database 2 lies in database 2, and without the password
/// nothing is.
#[test]
fn a_real_redis_lets_in_who_has_the_password_and_keeps_databases_apart() {
    let folder = Folder::new();
    let socket = folder.0.join("redis");
    let mut command = Command::new("redis-server");
    command.args(["--port", "0", "--save", "", "--appendonly", "no", "--dir"]).arg(&folder.0);
    command.arg("--unixsocket").arg(&socket).args(["--requirepass", "open sesame"]);
    let Some(_program) = Program::start(&mut command, &socket) else { return };
    let secret = folder.0.join("secret");
    std::fs::write(&secret, "open sesame\n").unwrap();
    let target = |path: &str| format!("redis://unix:{}{path}", socket.display());
    let auth = format!("password:file:{}", secret.display());
    for transport in usable() {
        let preload = true;
        let result =
            run(Job { auth: auth.clone(), preload, ..job(target(":/2"), transport) }).result;
        assert!(result.errors.is_empty(), "{}", reasons(&result));
        let other = run(Job { auth: auth.clone(), ..job(target(":/0"), transport) }).result;
        assert_eq!(other.errors["miss"], other.requests, "nothing is in database 0");
    }
    let fault = preloaded(target("")).unwrap_err();
    assert!(fault.what.contains("-NOAUTH") && fault.fix.contains("--auth"), "{fault}");
    std::fs::write(&secret, "wrong\n").unwrap();
    let fault = resolve(Job { auth, ..job(target(""), "epoll") }).and_then(|resolved| {
        let protocol = sojourn_load::drive::ready::check(&resolved)?;
        sojourn_load::drive::ready::prepare(&resolved, protocol, &Arc::default()).map(|_| ())
    });
    let fault = fault.unwrap_err();
    assert!(fault.what.contains("WRONGPASS") && fault.fix.contains("--auth"), "{fault}");
    assert!(!fault.to_string().contains("wrong\n"));
}

/// memcached with `-Y` answers fewer times than it is asked, because a SET is an attempt to log in to it.
#[test]
fn a_real_memcached_that_wants_a_user_says_so() {
    let folder = Folder::new();
    let (socket, users) = (folder.0.join("memcached"), folder.0.join("users"));
    std::fs::write(&users, "me:secret\n").unwrap();
    let mut command = Command::new("memcached");
    command.args(["-u", "root", "-U", "0", "-s"]).arg(&socket).arg("-Y").arg(&users);
    let Some(_program) = Program::start(&mut command, &socket) else { return };
    let fault = preloaded(format!("memcache://unix:{}", socket.display())).unwrap_err();
    assert!(fault.what.contains("CLIENT_ERROR") && fault.fix.contains("-Y or -S"), "{fault}");
}

#[test]
fn parts_of_a_target_that_a_protocol_has_no_use_for_are_refused() {
    for target in [
        "memcache://h:1/foo?timeout=3",
        "memcache+udp://h:1/x",
        "memcache://unix:/run/m.sock:/x",
        "memcache://h:1,h:2/x",
        "echo://h:1/abc",
        "echo://h:1/?q",
    ] {
        let fault = resolve(job(target.into(), "auto")).map(|_| ()).unwrap_err();
        assert!(fault.what.contains("has no use for") && fault.exit == 2, "{target}: {fault}");
    }
    for target in ["null:abc", "null://h", "redis://h/x", "resp://h:1/2?db=3"] {
        let refused = resolve(job(target.into(), "auto"))
            .and_then(|resolved| sojourn_load::drive::ready::check(&resolved).map(|_| ()));
        assert_eq!(refused.unwrap_err().exit, 2, "{target}");
    }
    for target in ["memcache://h:1", "memcache://h:1/", "echo://h/", "redis://h/0", "null:"] {
        assert!(resolve(job(target.into(), "auto")).is_ok(), "{target}");
    }
}
