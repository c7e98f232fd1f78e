//! Unix sockets instead of TCP: the same requests, for every protocol that has a stream.

use std::process::Command;

use sojourn_load::job::Job;

use super::mirror::{Folder, Program, job, listen_unix};
use super::{run, usable};

#[test]
fn requests_reach_a_unix_socket_and_find_it_again_when_it_closes() {
    for transport in usable() {
        let folder = Folder::new();
        let socket = folder.0.join("web");
        listen_unix(&socket, 40);
        let target = format!("http://unix:{}:/some/path", socket.display());
        let expect_regex = r"^GET /some/path HTTP/1.1\r\nHost: localhost\r\n".into();
        let result = run(Job { expect_regex, ..job(target, transport) }).result;
        let failed: u64 = result.errors.values().sum();
        assert!(failed * 4 < result.requests, "{transport}: {:?}", result.errors);
        assert!(result.checks.reconnects > 0, "{transport}: it closed after 40 replies");
        assert!(result.replies.checked > 50 && result.replies.failed.is_empty(), "{transport}");
    }
}

#[test]
fn a_socket_that_is_not_there_is_reported() {
    let folder = Folder::new();
    let target = format!("resp://unix:{}", folder.0.join("none").display());
    let resolved = sojourn_load::plan::resolve::resolve(job(target, "epoll")).unwrap();
    let protocol = sojourn_load::drive::ready::check(&resolved).unwrap();
    let ready =
        sojourn_load::drive::ready::prepare(&resolved, protocol, &std::sync::Arc::default());
    let fault = ready.err().unwrap();
    assert!(fault.what.contains("unix:/") && fault.fix.contains("ss -lx"), "{fault}");
}

#[test]
fn caches_are_filled_and_asked_over_unix_sockets() {
    let folder = Folder::new();
    let at = |name: &str| folder.0.join(name);
    let (cache, redis) = (at("memcached"), at("redis"));
    let mut memcached = Command::new("memcached");
    memcached.args(["-u", "root", "-U", "0", "-s"]).arg(&cache);
    let mut server = Command::new("redis-server");
    server.args(["--port", "0", "--save", "", "--appendonly", "no", "--dir"]).arg(&folder.0);
    server.arg("--unixsocket").arg(&redis);
    let meta = [("meta".to_owned(), "true".to_owned())];
    for (command, scheme, socket, options) in [
        (&mut memcached, "memcache", &cache, vec![vec![], meta.into()]),
        (&mut server, "resp", &redis, vec![vec![]]),
    ] {
        let Some(_program) = Program::start(command, socket) else { continue };
        let target = format!("{scheme}://unix:{}", socket.display());
        for (transport, option) in usable().into_iter().zip(options.into_iter().cycle()) {
            let result = run(Job {
                preload: true,
                items: 500,
                set_share: 0.2,
                multiget_share: 0.3,
                multiget_keys: 7,
                option: option.into_iter().collect(),
                ..job(target.clone(), transport)
            })
            .result;
            assert!(result.errors.is_empty(), "{target}, {transport}: {:?}", result.errors);
            let lengths = (result.replies.bytes_min, result.replies.bytes_max);
            assert_eq!(lengths, (Some(200), Some(200)));
        }
    }
}
