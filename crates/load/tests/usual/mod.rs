//! Servers as they are installed, which end connections in ways of their own while load runs: hardly any
//! request that may be sent again is lost. A server that is not there is skipped. `bench/losses.py` asks more of them.

use std::process::Command;
use std::thread;
use std::time::Duration;

use sojourn_load::job::Job;
use sojourn_load::measure::Judged;

use super::mirror::{Folder, Program, job, skipped};
use super::tls::file;
use super::{run, usable};

/// Asks on many connections, each of which idles for about a tenth of a second, and often is about to end.
fn ask(target: String, transport: &str) -> Judged {
    run(Job {
        rate: "400".into(),
        duration: "2s".into(),
        connections: 40,
        timeout: "10s".into(),
        drain: "10s".into(),
        insecure: target.starts_with("https") || target.starts_with("h2:"),
        ..job(target, transport)
    })
}

/// Nearly nothing was lost, though connections ended all the time: a server that did not run for 100 ms before
/// it ended a connection has looked at the request, as far as a client can know.
fn is_whole(got: &Judged, what: &str) {
    let (result, checks) = (&got.result, &got.result.checks);
    assert!(super::replies::are_few(result), "{what}: {:?}", result.errors);
    assert!(checks.reconnects > 20, "{what}: {checks:?}");
}

/// `kill -SIGNAL` twice while the load runs.
fn twice(program: &Program, signal: &'static str) {
    let pid = program.pid().to_string();
    thread::spawn(move || {
        for _ in 0..2 {
            thread::sleep(Duration::from_millis(600));
            let _ = Command::new("kill").args(["-s", signal, &pid]).status();
        }
    });
}

#[test]
fn nginx_ends_idle_connections_and_those_that_served_enough_and_reloads() {
    let folder = Folder::new();
    let at = folder.0.display();
    let conf = format!(
        "daemon off; worker_processes 1; pid {at}/pid; error_log {at}/log;
         events {{ worker_connections 256; }}
         http {{ access_log off; client_body_temp_path {at}/a; proxy_temp_path {at}/b;
           fastcgi_temp_path {at}/c; uwsgi_temp_path {at}/d; scgi_temp_path {at}/e;
           keepalive_requests 20; keepalive_timeout 100ms;
           server {{ listen unix:{at}/http; listen unix:{at}/https ssl; listen unix:{at}/h2c http2;
             ssl_certificate {}; ssl_certificate_key {};
             location / {{ return 200 hello; }} }} }}",
        file("server.pem"),
        file("server.key")
    );
    std::fs::write(folder.0.join("conf"), conf).unwrap();
    let mut command = Command::new("nginx");
    command.args(["-e", &format!("{at}/log"), "-c", &format!("{at}/conf")]);
    let Some(nginx) = Program::start(&mut command, &folder.0.join("http")) else { return };
    let nginx = nginx.with_children();
    for transport in usable() {
        for scheme in ["http", "https", "h2c"] {
            twice(&nginx, "HUP");
            let got = ask(format!("{scheme}://unix:{at}/{scheme}:/"), transport);
            is_whole(&got, &format!("{transport}, {scheme}"));
        }
    }
}

#[test]
fn haproxy_ends_idle_connections_and_reloads() {
    let folder = Folder::new();
    let at = folder.0.display();
    let conf = format!(
        "defaults\n mode http\n timeout connect 5s\n timeout client 100ms\n timeout server 5s\n \
         frontend front\n bind {at}/http\n http-request return status 200 content-type text/plain string hello\n"
    );
    std::fs::write(folder.0.join("conf"), conf).unwrap();
    let mut command = Command::new("haproxy");
    command.args(["-W", "-f", &format!("{at}/conf")]);
    let Some(haproxy) = Program::start(&mut command, &folder.0.join("http")) else { return };
    let haproxy = haproxy.with_children();
    for transport in usable() {
        twice(&haproxy, "USR2");
        is_whole(&ask(format!("http://unix:{at}/http:/"), transport), transport);
    }
}

#[test]
fn uvicorn_ends_idle_connections_over_tls_too() {
    const APP: &str = "async def pages(scope, receive, send):\n    \
         if scope['type'] != 'http': return\n    \
         head = [(b'content-length', b'5')]\n    \
         await send({'type': 'http.response.start', 'status': 200, 'headers': head})\n    \
         await send({'type': 'http.response.body', 'body': b'hello'})\n";
    let is_there = Command::new("python3").args(["-c", "import uvicorn"]).output();
    if !is_there.is_ok_and(|done| done.status.success()) {
        return skipped("uvicorn is not installed");
    }
    for tls in [false, true] {
        let folder = Folder::new();
        let at = folder.0.display();
        std::fs::write(folder.0.join("app.py"), APP).unwrap();
        let mut command = Command::new("python3");
        command.args(["-m", "uvicorn", "app:pages", "--app-dir", &at.to_string()]);
        command.args(["--uds", &format!("{at}/web"), "--timeout-keep-alive", "1"]);
        if tls {
            command.args(["--ssl-certfile", &file("server.pem")]);
            command.args(["--ssl-keyfile", &file("server.key")]);
        }
        let Some(_uvicorn) = Program::start(&mut command, &folder.0.join("web")) else { return };
        let scheme = if tls { "https" } else { "http" };
        for transport in usable() {
            let target = format!("{scheme}://unix:{at}/web:/");
            let job = Job {
                connections: 100,
                rate: "100".into(),
                duration: "4s".into(),
                ..job(target, transport)
            };
            let result =
                run(Job { insecure: tls, timeout: "10s".into(), drain: "10s".into(), ..job })
                    .result;
            assert!(result.errors.is_empty(), "{transport}, {scheme}: {:?}", result.errors);
            assert!(result.checks.reconnects > 20, "{transport}, {scheme}: {:?}", result.checks);
        }
    }
}
