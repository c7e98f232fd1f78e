//! One suite over all protocols: any split of a valid stream gives the same replies, what is not
//! valid never panics and never stands still.

use sojourn_base::rng::{Rng, RngExt, stream};

use super::key_value::{MULTIGET, SET};
use super::*;
use crate::job::Job;

mod batches;
mod cases;
mod closing;
mod edges;
mod heads;
mod requests;

pub(crate) use cases::Case;
use cases::{cases, http};

pub(crate) fn set_up(target: &str, change: impl FnOnce(&mut Job)) -> Arc<dyn Protocol> {
    let mut job = Job { target: target.into(), items: 50, ..Job::default() };
    change(&mut job);
    build(&job, &super::target(&job.target).unwrap()).unwrap()
}

pub(crate) fn asked(op: Op, item: u32) -> Asked {
    Asked { op, item, id: item }
}

fn content(value_size: &str) -> Content {
    Content::new(50, "30", value_size).unwrap()
}

fn key(item: u32) -> String {
    let mut key = Vec::new();
    content("1").push_key(item, &mut key);
    String::from_utf8(key).unwrap()
}

fn value(item: u32) -> String {
    let mut value = Vec::new();
    content("200").push_value(item, &mut value);
    String::from_utf8(value).unwrap()
}

/// Outcome and body bytes of each reply, with `bytes` cut at `cuts`; stops at garbage. Where replies
/// interleave, all requests are in flight from the start, and replies come in the order of their ends.
pub(crate) fn replies(
    protocol: &dyn Protocol,
    asked: &[Asked],
    bytes: &[u8],
    cuts: &[usize],
) -> Vec<Reply> {
    let mut decoder = protocol.decoder();
    let mut replies = Vec::new();
    if let Some(it) = decoder.interleaved() {
        for &asked in asked {
            it.begin(asked, &mut message(protocol, asked));
        }
    }
    let mut edges = vec![0];
    edges.extend_from_slice(cuts);
    edges.push(bytes.len());
    for pair in edges.windows(2) {
        let mut piece = &bytes[pair[0]..pair[1]];
        while !piece.is_empty() && replies.len() < asked.len() {
            let step = decoder.read(asked[replies.len()], piece);
            assert!(step.used <= piece.len());
            assert!(step.used > 0 || step.reply.is_some(), "the decoder stands still");
            piece = &piece[step.used..];
            replies.extend(step.reply);
            let is_all = step.request.is_none();
            if is_all && step.reply.is_some_and(|reply| reply.outcome == Outcome::Garbled) {
                return replies;
            }
        }
        while protocol.interleaves()
            && let Some(reply) = decoder.read(Asked::default(), &[]).reply
        {
            replies.push(reply);
        }
    }
    replies
}

fn message(protocol: &dyn Protocol, asked: Asked) -> Vec<u8> {
    let mut message = Vec::new();
    protocol.encode(asked, &mut message);
    message
}

/// Statuses that are expected are hits, others are not; a HEAD has no body, whatever its length.
#[test]
fn a_reply_is_what_the_job_expects() {
    let of = |bytes: &str, change: &dyn Fn(&mut Job)| {
        let protocol = set_up("http://h/", change);
        let reply = replies(protocol.as_ref(), &[asked(GET, 0)], bytes.as_bytes(), &[])[0];
        (reply.outcome, reply.body_bytes)
    };
    let moved = "HTTP/1.1 302 Found\r\nContent-Length: 2\r\n\r\nno";
    assert_eq!(of(moved, &|_| ()), (Outcome::Status, 2));
    let expect = |text: &'static str| move |job: &mut Job| job.expect_status = text.into();
    assert_eq!(of(moved, &expect("302,404")), (Outcome::Hit, 2));
    let absent = "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n";
    assert_eq!(of(absent, &expect("302,404")), (Outcome::Hit, 0));
    let good = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n";
    assert_eq!(of(good, &|job| job.method = "HEAD".into()), (Outcome::Hit, 0));
    assert_eq!(of(&(good.to_owned() + "hello"), &expect("404")), (Outcome::Status, 5));
}

/// However a body is framed and cut, the sample holds it and nothing else.
#[test]
fn bodies_of_the_sample_are_those_that_were_sent() {
    let Case { asked, bytes, outcomes, .. } = http();
    for step in [1, 3, 7, bytes.len()] {
        let protocol = set_up("http://h/", |job| job.expect_regex = "^(hello|four|)$".into());
        let cuts: Vec<usize> = (0..bytes.len()).step_by(step).collect();
        let asked: Vec<Asked> = asked.iter().zip(0..).map(|(it, id)| Asked { id, ..*it }).collect();
        let got = replies(protocol.as_ref(), &asked, &bytes, &cuts);
        assert_eq!(got.len(), outcomes.len());
        let looked = protocol.sampled().unwrap().look();
        let hits = got.iter().filter(|reply| reply.outcome == Outcome::Hit).count() as u64;
        assert_eq!((looked.checked, looked.failed.len()), (hits, 0), "{}", looked.example);
    }
}

fn cuts(rng: &mut Rng, len: usize) -> Vec<usize> {
    let mut cuts: Vec<usize> =
        (0..rng.random_range(0..8)).map(|_| rng.random_range(0..=len)).collect();
    cuts.sort_unstable();
    cuts
}

#[test]
fn replies_are_judged_one_by_one() {
    for (name, case) in cases() {
        let got: Vec<Outcome> = replies(case.protocol.as_ref(), &case.asked, &case.bytes, &[])
            .iter()
            .map(|reply| reply.outcome)
            .collect();
        assert_eq!(got, case.outcomes, "{name}");
    }
}

#[test]
fn any_split_gives_the_same_replies() {
    for (name, case) in cases() {
        let judge =
            |cuts: &[usize]| replies(case.protocol.as_ref(), &case.asked, &case.bytes, cuts);
        let whole = judge(&[]);
        for cut in 0..=case.bytes.len() {
            assert_eq!(judge(&[cut]), whole, "{name}, cut at {cut}");
        }
        let every: Vec<usize> = (0..case.bytes.len()).collect();
        assert_eq!(judge(&every), whole, "{name}, byte by byte");
        let mut rng = stream(1, name, 0);
        for _ in 0..500 {
            let cuts = cuts(&mut rng, case.bytes.len());
            assert_eq!(judge(&cuts), whole, "{name}, {cuts:?}");
        }
    }
}

#[test]
fn a_reply_cut_short_never_ends() {
    for (name, case) in cases() {
        let cut = &case.bytes[..case.bytes.len() - 1];
        let got = replies(case.protocol.as_ref(), &case.asked, cut, &[]);
        assert_eq!(got.len(), case.asked.len() - 1, "{name}");
    }
}

#[test]
fn garbage_never_panics_and_never_stands_still() {
    for (name, case) in cases() {
        let mut rng = stream(2, name, 0);
        for _ in 0..3000 {
            let mut bytes = case.bytes.clone();
            for _ in 0..rng.random_range(1..6) {
                let at = rng.random_range(0..bytes.len());
                match rng.random_range(0..3) {
                    0 => bytes[at] = rng.random(),
                    1 => bytes.insert(at, rng.random()),
                    _ => drop(bytes.splice(at..(at + 7).min(bytes.len()), [])),
                }
                if bytes.is_empty() {
                    bytes.push(0);
                }
            }
            let cuts = cuts(&mut rng, bytes.len());
            replies(case.protocol.as_ref(), &case.asked, &bytes, &cuts);
        }
        for _ in 0..3000 {
            let len = rng.random_range(1..600);
            let bytes: Vec<u8> = (0..len).map(|_| rng.random()).collect();
            replies(case.protocol.as_ref(), &case.asked, &bytes, &[]);
        }
    }
}

#[test]
fn a_hit_is_never_given_to_wrong_bytes() {
    for (name, case) in cases().into_iter().filter(|(name, _)| ["memcache", "resp"].contains(name))
    {
        let mut rng = stream(3, name, 0);
        for _ in 0..2000 {
            let mut bytes = case.bytes.clone();
            let at = rng.random_range(10..180); // inside the first reply
            let old = std::mem::replace(&mut bytes[at], rng.random());
            if bytes[at] == old || (name == "memcache" && at == 37) {
                continue; // memcache's flags are not ours to judge
            }
            let got = replies(case.protocol.as_ref(), &case.asked[..1], &bytes, &[]);
            let first = got.first().map(|reply| reply.outcome);
            assert_ne!(first, Some(Outcome::Hit), "{name}, byte {at}: {:?}", bytes[at] as char);
        }
    }
}

#[test]
fn requests_read_as_the_protocol_says() {
    let text = |protocol: &Arc<dyn Protocol>, asked| {
        let mut out = Vec::new();
        protocol.encode(asked, &mut out);
        assert!(out.len() <= protocol.request_bytes_max());
        String::from_utf8(out).unwrap()
    };
    let memcache = set_up("memcache://h", |job| {
        (job.multiget_share, job.multiget_keys, job.value_size) = (0.5, 2, "5".into());
    });
    let body = &value(1)[..5];
    assert_eq!(text(&memcache, asked(GET, 1)), format!("get {}\r\n", key(1)));
    assert_eq!(text(&memcache, asked(MULTIGET, 49)), format!("get {} {}\r\n", key(49), key(0)));
    assert_eq!(text(&memcache, asked(SET, 1)), format!("set {} 0 0 5\r\n{body}\r\n", key(1)));
    let resp = set_up("resp://h", |job| job.value_size = "5".into());
    let set = format!("*3\r\n$3\r\nSET\r\n$30\r\n{}\r\n$5\r\n{body}\r\n", key(1));
    assert_eq!(text(&resp, asked(SET, 1)), set);
    let http = set_up("http://h:81/", |job| {
        (job.paths, job.items) = (vec!["/x".into(), "/{}.html".into()], 10);
    });
    assert!(text(&http, asked(GET, 0)).starts_with("GET /x HTTP/1.1\r\nHost: h:81\r\n"));
    assert!(text(&http, asked(GET, 8)).starts_with("GET /7.html HTTP/1.1\r\n"));
    let coded = |text: &str| {
        let job = Job { target: "http://h/".into(), ..Job::default() };
        let option = [("accept_encoding".into(), text.into())].into();
        build(&Job { option, ..job }, &target("http://h/").unwrap())
    };
    let request = text(&coded("gzip").unwrap(), asked(GET, 0));
    assert!(request.ends_with("\r\nAccept-Encoding: gzip\r\n\r\n"));
    assert_eq!(coded("gzip\r\nX: y").err().unwrap().at, "option accept_encoding");
}

#[test]
fn a_datagram_of_another_request_is_not_read() {
    let protocol = set_up("memcache+udp://h", |_| ());
    let mut decoder = protocol.decoder();
    let reply = |id: u8, sequence: u8, text: &str| {
        [&[0, id, 0, sequence, 0, 2, 0, 0], text.as_bytes()].concat()
    };
    let now = asked(GET, 9);
    let stale = reply(8, 0, "END\r\n");
    assert_eq!(decoder.read(now, &stale), Step::more(stale.len()));
    let first = reply(9, 0, &format!("VALUE {} 0 200\r\n{}", key(9), &value(9)[..150]));
    assert_eq!(decoder.read(now, &first), Step::more(first.len()));
    let second = reply(9, 1, &format!("{}\r\nEND\r\n", &value(9)[150..]));
    assert_eq!(decoder.read(now, &second), Step::end(second.len(), Outcome::Hit, 200));
    let torn = reply(9, 1, "END\r\n");
    assert_eq!(decoder.read(now, &torn), Step::more(torn.len()), "its first datagram was lost");
    assert_eq!(decoder.read(now, &first), Step::more(first.len()));
    let next = asked(GET, 10);
    let miss = [&[0, 10, 0, 0, 0, 1, 0, 0], "END\r\n".as_bytes()].concat();
    let step = decoder.read(next, &miss);
    assert_eq!(step, Step::end(miss.len(), Outcome::Miss, 0), "whatever was begun before it");
}

#[test]
fn a_get_of_many_keys_comes_as_one_whole_datagram_per_key() {
    let protocol = set_up("memcache+udp://h", |job| {
        (job.multiget_share, job.multiget_keys) = (1.0, 2);
    });
    let mut decoder = protocol.decoder();
    let whole = |text: &str| [&[0, 9, 0, 0, 0, 1, 0, 0], text.as_bytes()].concat();
    let asked = asked(MULTIGET, 9);
    let first = whole(&format!("VALUE {} 0 200\r\n{}\r\n", key(9), value(9)));
    let second = whole(&format!("VALUE {} 0 200\r\n{}\r\nEND\r\n", key(10), value(10)));
    for _ in 0..2 {
        assert_eq!(decoder.read(asked, &first), Step::more(first.len()));
        assert_eq!(decoder.read(asked, &second), Step::end(second.len(), Outcome::Hit, 400));
    }
}

#[test]
fn paths_that_are_none_are_refused() {
    for path in ["x", "/a b", "/ä", ""] {
        let job = Job { paths: vec![path.into()], target: "http://h/".into(), ..Job::default() };
        let fault = build(&job, &super::target("http://h/").unwrap()).err().unwrap();
        assert_eq!(fault.at, "paths", "{path}");
    }
}
