//! Several values in one reply, by memcache's meta commands and by RESP's MGET: judged one by one, at any
//! split, and never a hit for wrong bytes.

use super::*;

fn three(job: &mut Job) {
    (job.multiget_share, job.multiget_keys) = (0.1, 3);
}

fn meta() -> Case {
    let va = |item, more: &str| format!("VA 200{more}\r\n{}\r\n", value(item));
    let keyed = |item| va(item, &format!(" k{}", key(item)));
    let bytes = [
        va(3, ""),
        "EN\r\n".into(),
        "HD \r\n".into(),
        "NS\r\n".into(),
        "VA 5\r\nshort\r\n".into(),
        keyed(48) + &keyed(49) + &keyed(0) + "MN\r\n",
        keyed(8) + "MN\r\n",
        "SERVER_ERROR out of memory\r\n".into(),
        va(4, ""),
    ];
    let wanted = [(GET, 3), (GET, 7), (SET, 1), (SET, 2), (GET, 5), (MULTIGET, 48), (MULTIGET, 6)];
    Case {
        protocol: set_up("memcache://h", |job| {
            three(job);
            job.option = [("meta".into(), "true".into())].into();
        }),
        asked: wanted
            .into_iter()
            .chain([(GET, 1), (GET, 9)])
            .map(|(op, it)| asked(op, it))
            .collect(),
        bytes: bytes.concat().into_bytes(),
        outcomes: vec![
            Outcome::Hit,
            Outcome::Miss,
            Outcome::Hit,
            Outcome::Status,
            Outcome::Length,
            Outcome::Hit,
            Outcome::Miss,
            Outcome::Status,
            Outcome::Content,
        ],
    }
}

fn mget() -> Case {
    let bulk = |item| format!("$200\r\n{}\r\n", value(item));
    let bytes = [
        format!("*3\r\n{}{}{}", bulk(48), bulk(49), bulk(0)),
        bulk(1),
        format!("*3\r\n{}$-1\r\n{}", bulk(1), bulk(3)),
        format!("*3\r\n{}{}{}", bulk(1), bulk(2), bulk(4)),
        "-LOADING\r\n".into(),
        "+OK\r\n".into(),
    ];
    let wanted = [(MULTIGET, 48), (GET, 1), (MULTIGET, 1), (MULTIGET, 1), (MULTIGET, 1), (SET, 1)];
    Case {
        protocol: set_up("resp://h", three),
        asked: wanted.map(|(op, item)| asked(op, item)).into(),
        bytes: bytes.concat().into_bytes(),
        outcomes: vec![
            Outcome::Hit,
            Outcome::Hit,
            Outcome::Miss,
            Outcome::Content,
            Outcome::Status,
            Outcome::Hit,
        ],
    }
}

#[test]
fn values_are_judged_alike_at_any_split() {
    for (name, case) in [("meta", meta()), ("mget", mget())] {
        let of = |cuts: &[usize]| replies(case.protocol.as_ref(), &case.asked, &case.bytes, cuts);
        let whole = of(&[]);
        let got: Vec<Outcome> = whole.iter().map(|reply| reply.outcome).collect();
        assert_eq!(got, case.outcomes, "{name}");
        for cut in 0..=case.bytes.len() {
            assert_eq!(of(&[cut]), whole, "{name}, cut at {cut}");
        }
        let every: Vec<usize> = (0..case.bytes.len()).collect();
        assert_eq!(of(&every), whole, "{name}, byte by byte");
        let short = &case.bytes[..case.bytes.len() - 1];
        let got = replies(case.protocol.as_ref(), &case.asked, short, &[]);
        assert_eq!(got.len(), case.asked.len() - 1, "{name}: cut short it never ends");
    }
}

#[test]
fn bytes_of_several_values_are_added() {
    for (case, nth, wanted) in
        [(meta(), 5, 600), (meta(), 6, 200), (mget(), 0, 600), (mget(), 2, 400)]
    {
        let got = replies(case.protocol.as_ref(), &case.asked, &case.bytes, &[]);
        assert_eq!(got[nth].body_bytes, wanted);
    }
}

#[test]
fn wrong_bytes_are_never_a_hit_and_noise_never_stands_still() {
    for (name, case) in [("meta", meta()), ("mget", mget())] {
        let mut rng = stream(5, name, 0);
        for _ in 0..2000 {
            let mut bytes = case.bytes.clone();
            let at = rng.random_range(10..180); // inside the first value
            let old = std::mem::replace(&mut bytes[at], rng.random());
            let got = replies(case.protocol.as_ref(), &case.asked[..1], &bytes, &[]);
            let is_hit = got.first().is_some_and(|reply| reply.outcome == Outcome::Hit);
            assert!(!is_hit || bytes[at] == old, "{name}, byte {at}: {:?}", bytes[at] as char);
            bytes.truncate(rng.random_range(1..bytes.len()));
            let cuts = cuts(&mut rng, bytes.len());
            replies(case.protocol.as_ref(), &case.asked, &bytes, &cuts);
        }
    }
}

#[test]
fn requests_for_several_keys_read_as_the_protocols_say() {
    let text = |case: &Case, op, item| {
        let mut out = Vec::new();
        case.protocol.encode(asked(op, item), &mut out);
        assert!(out.len() <= case.protocol.request_bytes_max());
        String::from_utf8(out).unwrap()
    };
    let (meta, mget) = (meta(), mget());
    assert_eq!(text(&meta, GET, 1), format!("mg {} v\r\n", key(1)));
    assert_eq!(text(&meta, SET, 1), format!("ms {} 200\r\n{}\r\n", key(1), value(1)));
    let quiet = [49, 0, 1].map(|item| format!("mg {} k v q\r\n", key(item)));
    assert_eq!(text(&meta, MULTIGET, 49), quiet.concat() + "mn\r\n");
    let keys = [49, 0, 1].map(|item| format!("$30\r\n{}\r\n", key(item)));
    assert_eq!(text(&mget, MULTIGET, 49), "*4\r\n$4\r\nMGET\r\n".to_owned() + &keys.concat());
}

#[test]
fn meta_is_true_or_false_and_needs_a_stream() {
    let at = |target: &str, text: &str| {
        let option = [("meta".to_string(), text.to_string())].into();
        let job = Job { target: target.into(), option, ..Job::default() };
        build(&job, &super::super::target(target).unwrap()).err().map(|fault| fault.at)
    };
    assert_eq!((at("memcache://h", "true"), at("memcache+udp://h", "false")), (None, None));
    assert_eq!(at("memcache://h", "yes"), Some("option meta".into()));
    assert_eq!(at("memcache+udp://h", "true"), Some("option meta".into()));
}
