//! The slow requests of a dump as OpenTelemetry spans, a line of JSON: a child for each stage.
//!
//! Source: the JSON mapping of OTLP 1.x. Numbers of 64 bits are strings, ids are hexadecimal.

use std::hash::{DefaultHasher, Hash, Hasher};

use serde_json::{Value, json};

use super::dump::{Dump, SlowRequest};

/// The tail only: more spans are a load for whoever collects them.
const MOST: usize = 1_000;
const INTERNAL: u32 = 1;
const SERVER: u32 = 2;

/// One line, `ExportTraceServiceRequest` as JSON.
pub fn line(dump: &Dump) -> String {
    let spans: Vec<Value> =
        dump.slow.iter().take(MOST).flat_map(|request| spans(dump, request)).collect();
    let resource = attributes(&[
        ("service.name", json!({"stringValue": dump.target.name})),
        ("process.pid", json!({"intValue": dump.target.pid.to_string()})),
    ]);
    let scope = json!({"name": "sojourn-trace", "version": dump.version});
    let whole = json!({"resourceSpans": [{
        "resource": {"attributes": resource},
        "scopeSpans": [{"scope": scope, "spans": spans}],
    }]});
    format!("{whole}\n")
}

fn spans(dump: &Dump, request: &SlowRequest) -> Vec<Value> {
    let own = (request.start_unix_ns, request.tid, request.peer_port, dump.target.pid);
    let (trace, parent) = (format!("{}{}", id(&own, 1), id(&own, 2)), id(&own, 3));
    let culprit = request.culprits.first().and_then(|(at, _)| dump.culprits.get(*at as usize));
    let about = attributes(&[
        ("thread.id", json!({"intValue": request.tid.to_string()})),
        ("client.port", json!({"intValue": request.peer_port.to_string()})),
        ("server.port", json!({"intValue": request.port.to_string()})),
        ("sojourn.culprit", json!({"stringValue": culprit.map_or("", |it| &it.about)})),
    ]);
    let span = |own: &str, name: &str, from_ns: u64, to_ns: u64, kind: u32| {
        json!({
            "traceId": trace, "spanId": own, "name": name, "kind": kind,
            "startTimeUnixNano": from_ns.to_string(), "endTimeUnixNano": to_ns.to_string(),
        })
    };
    let end_ns = request.start_unix_ns.saturating_add(request.total_ns);
    let name = format!("request to {}", dump.target.name);
    let mut whole = span(&parent, &name, request.start_unix_ns, end_ns, SERVER);
    whole["attributes"] = about;
    let mut all = vec![whole];
    let mut at_ns = request.start_unix_ns;
    for (number, (stage, ns)) in request.stages.iter().enumerate() {
        let to_ns = at_ns.saturating_add(*ns);
        let mut child = span(&id(&own, 4 + number as u64), stage, at_ns, to_ns, INTERNAL);
        child["parentSpanId"] = json!(parent);
        all.push(child);
        at_ns = to_ns;
    }
    all
}

fn attributes(pairs: &[(&str, Value)]) -> Value {
    pairs.iter().map(|(key, value)| json!({"key": key, "value": value})).collect()
}

/// The same request has the same id in every dump. It is never 0, which means none.
fn id(own: &impl Hash, number: u64) -> String {
    let mut hasher = DefaultHasher::new();
    (own, number).hash(&mut hasher);
    format!("{:016x}", hasher.finish().max(1))
}
