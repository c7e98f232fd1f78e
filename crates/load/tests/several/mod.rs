//! Several servers, each with its own keys.

use sojourn_load::job::Job;
use sojourn_load::job::shards::Shards;
use sojourn_load::plan::resolve::resolve;
use sojourn_load::protocols::Outcome;

use super::server::{Behaviour, Server, job};
use super::{run, usable};

/// The job, of both servers.
fn sharded(servers: [&Server; 2], transport: &str) -> Job {
    let [first, second] = servers.map(|server| format!("127.0.0.1:{}", server.port()));
    Job { target: format!("memcache://{first},{second}"), ..job(servers[0], transport) }
}

#[test]
fn several_servers_are_filled_and_asked_each_for_its_own_keys() {
    for transport in usable() {
        for find_max in [false, true] {
            let servers = [Server::start(Behaviour::Good), Server::start(Behaviour::Good)];
            let both = sharded([&servers[0], &servers[1]], transport);
            let judged = run(Job { preload: true, find_max, probe_rate: 50.0, ..both });
            assert_eq!(servers[0].sets() + servers[1].sets(), 100, "each item once");
            assert!(servers.iter().all(|server| server.sets() > 0 && server.requests() > 0));
            let outcomes = &judged.run.threads[0].marks.outcome;
            assert!(!outcomes.is_empty() && outcomes.iter().all(|&it| it == Outcome::Hit));
        }
    }
}

#[test]
fn a_server_is_never_asked_for_the_keys_of_another() {
    let servers = [Server::start(Behaviour::Good), Server::start(Behaviour::Mute)];
    let both = sharded([&servers[0], &servers[1]], "epoll");
    let judged = run(Job { drain: "100ms".into(), ..both });
    let (shards, thread) = (Shards::new(2, 100), &judged.run.threads[0]);
    let asked = || thread.plan.item.iter().map(|&item| shards.of(item)).zip(&thread.marks.outcome);
    assert!(asked().all(|(shard, &outcome)| shard == 0 || outcome != Outcome::Hit));
    assert!(asked().any(|(shard, &outcome)| shard == 0 && outcome == Outcome::Hit));
}

#[test]
fn what_several_servers_cannot_do_is_refused() {
    let server = Server::start(Behaviour::Good);
    let both = sharded([&server, &server], "epoll");
    let refused = |job: Job| resolve(job).unwrap_err().at;
    assert_eq!(refused(Job { connections: 1, ..both.clone() }), "connections");
    assert_eq!(refused(Job { items: 63, ..both.clone() }), "items");
    assert_eq!(refused(Job { multiget_share: 0.1, ..both.clone() }), "multiget_share");
    assert_eq!(refused(Job { target: "resp://127.0.0.1,127.0.0.2".into(), ..both }), "target");
}
