//! A dump as a Chrome trace, for ui.perfetto.dev: slow requests by connection, stages and culprits inside.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::dump::Dump;

/// More are too many for a viewer.
const MOST: usize = 5_000;

/// The slowest requests in the Trace Event Format, times in µs from the dump's start. The stages of a request are
/// drawn one after another: their order is not known.
pub fn trace(dump: &Dump) -> Value {
    let mut events = vec![json!({
        "ph": "M", "name": "process_name", "pid": dump.target.pid, "args": {"name": dump.target.name},
    })];
    let mut tracks = BTreeMap::new();
    let at = |ns: u64| ns.saturating_sub(dump.from_ns) as f64 / 1e3;
    for request in dump.slow.iter().take(MOST) {
        // A number of a track has 32 bits in Perfetto, fewer than a thread and a port together.
        let next = tracks.len() + 1;
        let track = *tracks.entry((request.tid, request.peer_port)).or_insert(next);
        if track == next {
            let name = format!("{} {}, port {}", request.thread, request.tid, request.peer_port);
            events.push(json!({
                "ph": "M", "name": "thread_name", "pid": dump.target.pid, "tid": track, "args": {"name": name},
            }));
        }
        let slice = |name: &str, start_ns: u64, ns: u64, args: Value| {
            json!({
                "ph": "X", "cat": "request", "name": name, "pid": dump.target.pid, "tid": track,
                "ts": at(start_ns), "dur": ns as f64 / 1e3, "args": args,
            })
        };
        let culprits: Vec<Value> = request
            .culprits
            .iter()
            .filter_map(|(at, ns)| Some((dump.culprits.get(*at as usize)?, ns)))
            .map(|(culprit, ns)| json!({"about": culprit.about, "ns": ns, "stack": culprit.stack}))
            .collect();
        let args = json!({"culprits": culprits, "bytes_out": request.bytes_out});
        let title = culprits.first().and_then(|it| it["about"].as_str()).unwrap_or("request");
        events.push(slice(title, request.start_ns, request.total_ns, args));
        let mut at_ns = request.start_ns;
        for (name, ns) in &request.stages {
            events.push(slice(name, at_ns, *ns, json!({})));
            at_ns = at_ns.saturating_add(*ns);
        }
    }
    for signal in &dump.signals {
        let ns = signal.at_unix_ns.saturating_sub(dump.from_unix_ns);
        events.push(json!({
            "ph": "i", "s": "p", "name": format!("signal {} from {}", signal.number, signal.from),
            "pid": dump.target.pid, "tid": 0, "ts": ns as f64 / 1e3,
        }));
    }
    json!({"traceEvents": events, "displayTimeUnit": "ns"})
}
