use super::*;

fn expecting(regex: &str) -> Sampled {
    Sampled::of(&Job { expect_regex: regex.into(), ..Job::default() }).unwrap().unwrap()
}

fn reply(sampled: &Sampled, id: u32, text: &str) {
    if let Some(mut body) = sampled.begin(id) {
        body.push(text.as_bytes());
        sampled.keep(id, body, None);
    }
}

#[test]
fn of_many_replies_an_even_sample_is_checked_in_memory_that_does_not_grow() {
    let sampled = expecting("^good");
    for id in 0..100_000 {
        reply(&sampled, id, if id < 50_000 { "good" } else { "bad" });
    }
    let looked = sampled.look();
    assert_eq!(looked.every, 256, "100 000 / 400 is 250");
    assert_eq!(looked.checked, 100_000_u64.div_ceil(256));
    assert_eq!(looked.failed["expect_regex"], looked.checked / 2);
    assert_eq!(looked.example, "\"bad\"");
    let shelf = sampled.shelf.lock().unwrap();
    assert_eq!(shelf.retained.len() + shelf.free.len(), STORED_MAX + READING);
}

/// Paths of a log are asked for in turn, so the item is the request's number modulo theirs.
#[test]
fn one_wrong_path_of_a_log_is_seen_whichever_it_is() {
    for paths in [2, 16, 64] {
        for wrong in 0..paths {
            let sampled = expecting("^good");
            for id in 0..100_000 {
                reply(&sampled, id, if id % paths == wrong { "bad" } else { "good" });
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
    let sampled = Sampled::of(&job).unwrap().unwrap();
    reply(&sampled, 0, "hello");
    reply(&sampled, 1, "");
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
    let mut body = sampled.begin(0).unwrap();
    body.push(long.as_bytes());
    body.push(long.as_bytes());
    sampled.keep(0, body, None);
    let looked = sampled.look();
    assert_eq!((looked.checked, looked.too_long), (0, 1));
}
