use super::*;
use crate::protocols::tests::{asked, set_up};
use crate::protocols::{GET, Outcome};

fn expecting(regex: &str) -> Sampled {
    Sampled::of(&Job { expect_regex: regex.into(), ..Job::default() }).unwrap().unwrap()
}

fn reply(sampled: &Sampled, numbers: &mut Numbers, text: &str) {
    if let Some(mut body) = sampled.begin(numbers) {
        body.push(text.as_bytes());
        sampled.keep(body, None);
    }
}

#[test]
fn of_many_replies_an_even_sample_is_checked_in_memory_that_does_not_grow() {
    let (sampled, mut numbers) = (expecting("^good"), Numbers::default());
    for nth in 0..100_000 {
        reply(&sampled, &mut numbers, if nth < 50_000 { "good" } else { "bad" });
    }
    let looked = sampled.look();
    assert_eq!(looked.every, 256, "100 000 / 400 is 250");
    assert_eq!(looked.checked, 100_000_u64.div_ceil(256));
    assert_eq!(looked.failed["expect_regex"], looked.checked / 2);
    assert_eq!(looked.example, "\"bad\"");
    let shelf = sampled.shelf.lock().unwrap();
    assert_eq!(shelf.retained.len() + shelf.free.len(), STORED_MAX + READING);
}

/// In a long run 1024 places of requests are used 2000 times, and its last quarter is wrong.
#[test]
fn a_long_run_is_sampled_evenly_to_its_end() {
    let (sampled, all) = (expecting("^good"), 1024 * 2000);
    let mut numbers = Numbers::default();
    for nth in 0..all {
        reply(&sampled, &mut numbers, if nth < all / 4 * 3 { "good" } else { "bad" });
    }
    let looked = sampled.look();
    assert_eq!(looked.every, 8192, "2 048 000 / 400 is 5120");
    assert!((240..=260).contains(&looked.checked), "{}", looked.checked);
    let failed = looked.failed["expect_regex"];
    assert!((56..=69).contains(&failed), "a quarter of them: {failed}");
}

#[test]
fn the_number_of_a_request_decides_nothing() {
    let protocol = set_up("http://h/", |job| job.expect_regex = "^good".into());
    let mut decoder = protocol.decoder();
    for nth in 0..2000 {
        let text = if nth < 1500 { "good" } else { "evil" };
        let bytes = format!("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n{text}");
        let reply = decoder.read(asked(GET, 0), bytes.as_bytes()).reply.unwrap();
        assert_eq!(reply.outcome, Outcome::Hit);
    }
    let looked = protocol.sampled().unwrap().look();
    assert_eq!(looked.every, 8);
    let failed = looked.failed["expect_regex"];
    assert!((56..=69).contains(&failed), "a quarter of 250: {failed}");
}

/// 1000 connections, each with 100 replies, in turn.
#[test]
fn many_connections_that_take_numbers_at_the_same_time_have_an_even_sample() {
    let sampled = expecting("^good");
    let mut each: Vec<Numbers> = (0..1000).map(|_| Numbers::default()).collect();
    for nth in 0..100_000 {
        let text = if nth % 1000 < 250 { "bad" } else { "good" };
        reply(&sampled, &mut each[nth % 1000], text);
    }
    let looked = sampled.look();
    let due = 100_000 / looked.every;
    assert!((due * 3 / 4..=due * 5 / 4).contains(&looked.checked), "{looked:?}");
    let (failed, due) = (looked.failed["expect_regex"], looked.checked / 4);
    assert!((due * 3 / 4..=due * 5 / 4).contains(&failed), "a quarter: {looked:?}");
}

/// Paths of a log are asked for in turn, so the item is the request's number modulo theirs.
#[test]
fn one_wrong_path_of_a_log_is_seen_whichever_it_is() {
    for paths in [2, 16, 64] {
        for wrong in 0..paths {
            let (sampled, mut numbers) = (expecting("^good"), Numbers::default());
            for nth in 0..100_000 {
                reply(&sampled, &mut numbers, if nth % paths == wrong { "bad" } else { "good" });
            }
            let looked = sampled.look();
            let seen = looked.failed.get("expect_regex").copied().unwrap_or(0);
            let due = looked.checked as f64 / f64::from(paths);
            assert!((seen as f64 - due).abs() <= 0.5 * due, "{wrong} of {paths}: {seen}");
        }
    }
}

#[test]
fn bodies_are_held_against_a_digest_and_a_regular_expression() {
    let hello = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824";
    let job = Job { expect_sha256: hello.into(), ..Job::default() };
    let (sampled, mut numbers) = (Sampled::of(&job).unwrap().unwrap(), Numbers::default());
    reply(&sampled, &mut numbers, "hello");
    reply(&sampled, &mut numbers, "");
    assert_eq!((sampled.look().checked, sampled.look().failed["expect_sha256"]), (2, 1));
    assert!(Sampled::of(&Job::default()).unwrap().is_none());
    let at = |job: Job| Sampled::of(&job).err().unwrap().at;
    for sha in ["x", &hello[1..], &hello.replace('2', "+")] {
        assert_eq!(at(Job { expect_sha256: sha.into(), ..Job::default() }), "expect_sha256");
    }
    assert_eq!(at(Job { expect_regex: "(".into(), ..Job::default() }), "expect_regex");
}

#[test]
fn a_body_too_long_to_keep_is_reported_and_not_checked() {
    let sampled = expecting("x");
    let long = "x".repeat(BODY_MAX / 2 + 1);
    let mut body = sampled.begin(&mut Numbers::default()).unwrap();
    body.push(long.as_bytes());
    body.push(long.as_bytes());
    sampled.keep(body, None);
    let looked = sampled.look();
    assert_eq!((looked.checked, looked.too_long), (0, 1));
}
