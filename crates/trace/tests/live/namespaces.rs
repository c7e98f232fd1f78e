//! A server in a network namespace of its own, as in a container: its connections are gone over too.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::fd::AsFd as _;
use std::process::Command;

use rustix::process::geteuid;
use rustix::thread::{LinkNameSpaceType, UnshareFlags, move_into_link_name_space, unshare_unsafe};

use crate::support::real::{Kind, Real};
use crate::support::{self, alone, trace};

/// Only this thread goes there.
fn go_to(namespace: &File) {
    move_into_link_name_space(namespace.as_fd(), Some(LinkNameSpaceType::Network)).unwrap();
}

fn namespace_of(who: &str) -> File {
    File::open(format!("/proc/{who}/ns/net")).unwrap()
}

/// No further request closes the last one: it is found where the server's sockets are, or never.
#[test]
fn the_last_request_in_another_namespace_is_closed() {
    let Some(_alone) = alone() else { return };
    if !geteuid().is_root() {
        return support::say("skipped", "only root makes a network namespace");
    }
    let home = namespace_of("thread-self");
    // SAFETY: what a network namespace is given up for is used by no one.
    unsafe { unshare_unsafe(UnshareFlags::NEWNET) }.unwrap();
    assert!(Command::new("ip").args(["link", "set", "lo", "up"]).status().unwrap().success());
    let real = Real::start(Kind::Memcached { threads: 1 }, &[]);
    if let Some(real) = &real {
        real.keep("some", 100);
    }
    go_to(&home);
    let Some(real) = real else { return };
    let (outcome, records) = trace(real.pid(), || {
        go_to(&namespace_of(&real.pid().to_string()));
        let mut stream = real.connect();
        for _ in 0..20 {
            stream.write_all(&real.get("some")).unwrap();
            let mut reply = [0; 128];
            assert!(stream.read(&mut reply).unwrap() > 100);
        }
        // It stays open beyond the end of the trace.
        std::mem::forget(stream);
    });
    assert_eq!(records.len(), 20, "{:?}", outcome.counts.reasons);
    assert_eq!(outcome.counts.connections.len(), 1);
}
