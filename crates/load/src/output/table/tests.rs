use super::*;
use crate::drive::measurement::fake;
use crate::job::Job;
use crate::judge::summary::summarise;
use crate::protocols::Outcome;
use crate::watch::outage::Outage;

#[test]
fn the_page_is_at_most_80_columns_wide_and_names_what_matters() {
    let job = Job { qos_quantile: 0.99, qos_bound: "1us".into(), ..fake::job() };
    let mut run = fake::run(job, 3_000_000, 1_000);
    run.threads[0].marks.outcome[5000..5010].fill(Outcome::Miss);
    run.threads[0].outages.push(Outage { start_ns: 500_000_000, length_ns: 300_000_000 });
    let text = table(&summarise(&run).unwrap());
    for line in text.lines() {
        assert!(line.chars().count() <= WIDTH, "{} columns: {line}", line.chars().count());
    }
    for word in ["offered", "sojourn", "p99.99", "miss 10", "verdict    unknown"] {
        assert!(text.contains(word), "{word} is missing in\n{text}");
    }
}

#[test]
fn sessions_say_how_long_a_picture_stood_still() {
    let job = Job {
        target: "http://h/".into(),
        paths: vec!["/{}".into()],
        items: 44,
        sessions: "playback:every=10ms,start=0s".into(),
        ..fake::job()
    };
    let text = table(&summarise(&fake::run(job, 0, 1_000)).unwrap());
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("0 lost; 0 ns a session without a picture"), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= WIDTH));
}

#[test]
fn an_address_that_the_target_does_not_name_is_reported() {
    let shown = |target: &str, address: &str| {
        let mut run = fake::run(Job { target: target.into(), ..fake::job() }, 0, 1_000);
        run.addresses = vec![address.into()];
        table(&summarise(&run).unwrap()).lines().next().unwrap().trim().to_owned()
    };
    let line = shown("memcache://localhost:1", "127.0.0.1:1");
    assert_eq!(line, "target     memcache://localhost:1 at 127.0.0.1:1");
    for (target, address) in
        [("memcache://127.0.0.1:1", "127.0.0.1:1"), ("memcache://unix:/a", "unix:/a")]
    {
        assert_eq!(shown(target, address), format!("target     {target}"));
    }
}

#[test]
fn a_quantile_among_failed_requests_reads_inf() {
    let mut run = fake::run(fake::job(), 0, 1_000);
    run.threads[0].marks.outcome.fill(Outcome::Closed);
    assert!(table(&summarise(&run).unwrap()).contains("inf"));
}

#[test]
fn long_words_are_folded_not_cut() {
    let text = folded("  - ", &"word ".repeat(40));
    assert!(text.lines().count() > 2 && text.lines().all(|line| line.len() <= WIDTH));
    assert_eq!(text.matches("word").count(), 40);
}
