//! Replies and greetings byte by byte, without a server.

use super::message::push;
use super::*;
use crate::protocols::Outcome;
use crate::protocols::tests::{Case, asked, replies, set_up};
use crate::protocols::{GET, Reply};
use crate::transports::hello::{Hello as _, HelloState};

fn message(kind: u8, body: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    push(kind, &mut out, |out| out.extend_from_slice(body));
    out
}

fn row(values: &[Option<&str>]) -> Vec<u8> {
    let mut body = (values.len() as u16).to_be_bytes().to_vec();
    for value in values {
        let length = value.map_or(-1, |value| value.len() as i32);
        body.extend_from_slice(&length.to_be_bytes());
        body.extend_from_slice(value.unwrap_or_default().as_bytes());
    }
    message(b'D', &body)
}

fn tag(text: &str) -> Vec<u8> {
    message(b'C', format!("{text}\0").as_bytes())
}

fn error(code: &str, text: &str) -> Vec<u8> {
    message(b'E', format!("SERROR\0C{code}\0M{text}\0\0").as_bytes())
}

fn ready() -> Vec<u8> {
    message(b'Z', b"I")
}

/// A prepared query's reply: bound, its rows, its tag.
fn bound(rows: &[Vec<u8>], text: &str) -> Vec<u8> {
    [message(b'2', b""), rows.concat(), tag(text), ready()].concat()
}

/// Replies of all kinds, to jobs that expect five bytes.
pub(crate) fn case() -> Case {
    let columns = message(b'T', b"\0\x01name\0\0\0\0\0\0\0\0\0\0\x19\xff\xff\xff\xff\xff\xff\0\0");
    let bytes = [
        bound(&[row(&[Some("12"), None, Some("345")])], "SELECT 1"),
        bound(&[row(&[Some("ab")]), row(&[Some("cde")])], "SELECT 2"),
        bound(&[], "SELECT 0"),
        [message(b'2', b""), error("40001", "could not serialize"), ready()].concat(),
        // Sent as text: a notice, columns, a row, a setting that changed.
        [message(b'N', b"SNOTICE\0Mx\0\0"), columns, row(&[Some("hello")]), tag("SELECT 1")]
            .concat(),
        [message(b'S', b"TimeZone\0UTC\0"), ready()].concat(),
        bound(&[], "BEGIN"),
        // A row came before the complaint: the request has failed all the same.
        [row(&[Some("hello")]), error("22012", "division by zero"), ready()].concat(),
    ];
    let query = |job: &mut Job| {
        job.query = vec!["SELECT {}".into()];
        job.expect_bytes = 5;
    };
    Case {
        protocol: set_up("postgres://h/d", query),
        asked: (0..7).map(|item| asked(GET, item)).collect(),
        bytes: bytes.concat(),
        outcomes: vec![
            Outcome::Hit,
            Outcome::Hit,
            Outcome::Length,
            Outcome::Status,
            Outcome::Hit,
            Outcome::Hit,
            Outcome::Status,
        ],
    }
}

fn one(job: impl FnOnce(&mut Job), bytes: &[u8]) -> (Arc<dyn Protocol>, Option<Reply>) {
    let protocol = set_up("postgres://h/d", job);
    let got = replies(protocol.as_ref(), &[asked(GET, 0)], bytes, &[]);
    (protocol, got.first().copied())
}

#[test]
fn rows_are_counted_and_what_touches_nothing_is_empty() {
    let of = |bytes: &[u8]| {
        let (protocol, reply) = one(|_| (), bytes);
        let reply = reply.unwrap();
        assert_eq!(reply.outcome, Outcome::Hit);
        (reply.body_bytes, protocol.notices().unwrap().collected().rows.unwrap())
    };
    assert_eq!(of(&bound(&[row(&[Some("ab"), None]), row(&[])], "SELECT 2")), (2, 2));
    assert_eq!(of(&bound(&[], "SELECT 0")), (0, 0));
    assert_eq!(of(&bound(&[], "UPDATE 0")), (0, 0));
    assert_eq!(of(&bound(&[], "UPDATE 3")), (8, 0), "its tag");
    assert_eq!(of(&bound(&[], "INSERT 0 1")), (10, 0));
    assert_eq!(of(&[message(b'I', b""), ready()].concat()), (0, 0), "an empty query");
    let both = [row(&[Some("a")]), tag("SELECT 1"), tag("DELETE 0"), tag("COMMIT"), ready()];
    assert_eq!(of(&both.concat()), (7, 1), "several commands in one go");
}

#[test]
fn a_complaint_fails_its_request_and_its_text_is_kept() {
    let failed = [error("42P01", "no such\ntable"), ready()].concat();
    let (protocol, reply) = one(|_| (), &failed);
    let reply = reply.unwrap();
    assert_eq!((reply.outcome, reply.last), (Outcome::Status, false));
    // In a transaction that failed the server refuses all that follows: the connection is replaced.
    let aborted = [error("40P01", "deadlock detected"), message(b'Z', b"E")].concat();
    let reply = one(|_| (), &aborted).1.unwrap();
    assert_eq!((reply.outcome, reply.last), (Outcome::Status, true));
    assert_eq!(protocol.notices().unwrap().collected().complaints, ["ERROR 42P01: no such table"]);
    // A server that goes says why, and the connection ends instead of the reply.
    let mut decoder = protocol.decoder();
    let went = error("57P01", "terminating connection");
    assert_eq!(decoder.read(asked(GET, 0), &went).reply, None);
    assert_eq!(decoder.ended(asked(GET, 0)).unwrap().outcome, Outcome::Status);
    let mut decoder = protocol.decoder();
    decoder.read(asked(GET, 0), &message(b'2', b""));
    assert_eq!(decoder.ended(asked(GET, 0)), None, "without a word the request is lost");
}

#[test]
fn the_sample_holds_a_line_for_each_row() {
    let rows = [row(&[Some("a"), None, Some("b")]), row(&[Some("c")])];
    for regex in ["^a\t\tb\nc$", "^a$"] {
        let (protocol, _) = one(|job| job.expect_regex = regex.into(), &bound(&rows, "SELECT 2"));
        let looked = protocol.sampled().unwrap().look();
        assert_eq!((looked.checked, looked.failed.is_empty()), (1, regex.len() > 3), "{looked:?}");
    }
}

#[test]
fn what_cannot_follow_is_garbage() {
    for bytes in [
        &b"HTTP/1.1 400 Bad Request\r\n"[..],
        b"Z\0\0\0\x06I?",
        b"Z\0\0\0\x05?",
        b"G\0\0\0\x07\0\0\0", // it waits for a COPY's data
        b"D\0\0\0\x04",
        b"2\0\0\0\x03",
    ] {
        let (_, reply) = one(|_| (), bytes);
        assert_eq!(reply.unwrap().outcome, Outcome::Garbled, "{}", bytes.escape_ascii());
    }
}

#[test]
fn several_queries_take_turns_and_those_with_a_number_are_as_many() {
    let queries = ["SELECT {}", "BEGIN", "SELECT -{item}"].map(String::from).to_vec();
    let job = Job { query: queries.clone(), items: 50, ..Job::default() };
    assert_eq!(items(&job), 101);
    let text = |item: u32, prepared: &str| {
        let protocol = set_up("postgres://h", |job| {
            job.query.clone_from(&queries);
            job.option.insert(PREPARED.into(), prepared.into());
        });
        let mut out = Vec::new();
        protocol.encode(asked(GET, item), &mut out);
        assert!(out.len() <= protocol.request_bytes_max());
        String::from_utf8(out).unwrap()
    };
    for (item, query, bind) in [
        (0, "BEGIN\0", "\0s1\0"),
        (1, "SELECT 0\0", "\0s0\0"),
        (50, "SELECT 49\0", "\0s0\0"),
        (51, "SELECT -0\0", "\0s2\0"),
        (100, "SELECT -49\0", "\0s2\0"),
    ] {
        assert_eq!(&text(item, "false")[5..], query);
        assert!(text(item, "true")[5..].starts_with(bind), "{item}");
    }
}

#[test]
fn what_a_job_cannot_ask_is_refused_and_no_secret_shown() {
    let at = |target: &str, change: &dyn Fn(&mut Job)| {
        let mut job = Job { target: target.into(), ..Job::default() };
        change(&mut job);
        let target = crate::protocols::target(target).unwrap();
        let entry = crate::protocols::kind_of(&target);
        let built =
            entry.check(&job, &target).and_then(|()| crate::protocols::build(&job, &target));
        let fault = built.err()?;
        assert!(!fault.to_string().contains("hunter2"), "{fault}");
        Some(fault.at)
    };
    let auth = |text: &'static str| at("postgres://h", &|job| job.auth = text.into());
    for text in ["hunter2", "password:hunter2", "basic:file:hunter2", "password:file:hunter2"] {
        assert_eq!(auth(text).as_deref(), Some("auth"), "{text}");
    }
    let query = |text: &[&str]| {
        let texts: Vec<String> = text.iter().map(|&text| text.into()).collect();
        at("postgres://h", &|job| job.query.clone_from(&texts))
    };
    assert_eq!(query(&["SELECT 1", " "]).as_deref(), Some("query"));
    assert_eq!(query(&[]).as_deref(), Some("query"));
    assert_eq!(query(&["SELECT {}", "SELECT 2"]), None);
    let option = |job: &mut Job| drop(job.option.insert(PREPARED.into(), "no".into()));
    assert_eq!(at("postgres://h", &option).as_deref(), Some("option prepared"));
    for target in ["postgres://h/a/b", "postgres://h/a?sslmode=off"] {
        assert_eq!(at(target, &|_| ()).as_deref(), Some("target"), "{target}");
    }
    assert_eq!(at("postgres://h", &|job| job.body = "x".into()).as_deref(), Some("body"));
    assert_eq!(at("http://h", &|job| job.query = vec!["x".into()]).as_deref(), Some("query"));
    assert_eq!(at("http://me@h", &|_| ()).as_deref(), Some("target"));
    assert_eq!(at("memcache://me@h", &|_| ()).as_deref(), Some("target"));
}

/// A greeting that has said its first words, for a job with this password and query.
fn greet(password: Option<&str>, query: Option<&str>) -> Greet {
    let prepared = query.map(|query| Arc::new(Statement::of(0, query).unwrap()));
    Greet::new(Arc::new(Login {
        user: "me".into(),
        database: "shop".into(),
        password: password.map(Password::of),
        prepared: prepared.into_iter().collect(),
        notices: Arc::default(),
    }))
}

fn auth(method: u32, rest: &[u8]) -> Vec<u8> {
    message(b'R', &[&method.to_be_bytes(), rest].concat())
}

/// What it says to `heard` behind its first words, and how far it has come.
fn answer(mut greet: Greet, heard: &[u8]) -> (Vec<u8>, HelloState, Greet) {
    let mut out = Vec::new();
    assert_eq!(greet.say(&[], &mut out), HelloState::More);
    let wanted = b"\0\x03\0\0user\0me\0database\0shop\0application_name\0sojourn-load\0\0";
    assert_eq!(&out[4..], wanted);
    out.clear();
    let state = greet.say(heard, &mut out);
    (out, state, greet)
}

#[test]
fn a_password_is_given_as_the_server_wants_it() {
    let (out, state, _) = answer(greet(Some("secret"), None), &auth(3, b""));
    assert_eq!((out.as_slice(), state), (&b"p\0\0\0\x0bsecret\0"[..], HelloState::More));
    let (out, ..) = answer(greet(Some("secret"), None), &auth(5, &[1, 2, 3, 4]));
    assert!(out.ends_with(b"md58322d584bf59f0253d58346307bb6ba3\0"), "{out:?}");
    let (out, ..) = answer(greet(Some("secret"), None), &auth(10, b"OTHER\0SCRAM-SHA-256\0\0"));
    assert!(out.starts_with(b"p") && out[5..].starts_with(b"SCRAM-SHA-256\0"), "{out:?}");
    for method in [3, 5, 10] {
        let (_, state, greet) = answer(greet(None, None), &auth(method, b"SCRAM-SHA-256\0\0"));
        let why = greet.why().unwrap();
        assert_eq!(state, HelloState::Refused);
        assert!(why.what.contains("needs a password") && why.fix.contains("--auth"), "{why}");
    }
}

#[test]
fn a_greeting_is_the_same_at_any_split() {
    let welcome = [
        auth(0, b""),
        message(b'S', b"server_version\x0015.18\0"),
        message(b'K', &[0; 8]),
        ready(),
    ];
    let described = [message(b'1', b""), message(b't', b"\0\x01\0\0\0\x17"), message(b'n', b"")];
    let all = [welcome.concat(), described.concat(), ready()].concat();
    for step in 1..all.len() {
        let (mut greet, mut out) = (greet(None, Some("SELECT {}")), Vec::new());
        greet.say(&[], &mut out);
        out.clear();
        let states: Vec<HelloState> =
            all.chunks(step).map(|part| greet.say(part, &mut out)).collect();
        assert_eq!(states.last(), Some(&HelloState::Done), "{step}");
        assert!(
            states[..states.len() - 1].iter().all(|state| *state == HelloState::More),
            "{step}: {states:?}"
        );
        assert!(out.starts_with(b"P") && out.ends_with(b"S\0\0\0\x04"), "prepared once: {out:?}");
        assert_eq!(memchr::memchr_iter(b'$', &out).count(), 1);
    }
}

#[test]
fn what_a_server_refuses_is_reported_with_what_would_fix_it() {
    let refused = |greeting: Greet, heard: &[u8]| {
        let (_, state, greet) = answer(greeting, heard);
        assert_eq!(state, HelloState::Refused, "{}", heard.escape_ascii());
        let why = greet.why().unwrap();
        (why.what, why.fix)
    };
    let fresh = || greet(Some("x"), None);
    for (code, text, advice) in [
        ("28P01", "password authentication failed", "--auth"),
        ("28000", "no pg_hba.conf entry", "pg_hba.conf"),
        ("3D000", "database \"shop\" does not exist", "createdb shop"),
        ("53300", "sorry, too many clients already", "max_connections"),
        ("42P05", "prepared statement \"s0\" already exists", "prepared=false"),
        ("26000", "prepared statement \"s0\" does not exist", "prepared=false"),
        ("XX000", "something else", "log"),
    ] {
        let (what, fix) = refused(fresh(), &error(code, text));
        assert!(
            what.contains(text) && what.contains(code) && fix.contains(advice),
            "{what}: {fix}"
        );
    }
    for (method, rest, name) in [
        (7, &b""[..], "GSSAPI"),
        (9, b"", "SSPI"),
        (2, b"", "Kerberos"),
        (10, b"OAUTHBEARER\0\0", "OAUTHBEARER"),
        (99, b"", "99"),
    ] {
        let (what, fix) = refused(fresh(), &auth(method, rest));
        assert!(what.contains(name) && fix.contains("scram-sha-256"), "{what}: {fix}");
    }
    for heard in [&b"ERROR\r\n"[..], b"HTTP/1.1 400", b"-ERR unknown", b"\x15\x03\x01"] {
        let (what, fix) = refused(fresh(), heard);
        assert!(what.contains("does not speak") && fix.contains("scheme"), "{what}: {fix}");
    }
    let unproved = [auth(10, b"SCRAM-SHA-256\0\0"), auth(12, b"v=AAAA")].concat();
    assert!(refused(fresh(), &unproved).0.contains("does not know the password"));
    // Prepared, but the number is where no parameter can.
    let welcome = [auth(0, b""), ready()].concat();
    let none = [welcome.clone(), message(b'1', b""), message(b't', b"\0\0")].concat();
    let (what, fix) = refused(greet(None, Some("SELECT 'user-{item}'")), &none);
    assert!(what.contains("has 0 parameters") && fix.contains("prepared=false"), "{what}: {fix}");
    let wrong = [welcome, error("42601", "syntax error")].concat();
    assert!(refused(greet(None, Some("SELEC")), &wrong).1.contains("psql"));
}
