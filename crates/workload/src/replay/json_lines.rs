//! Lines of JSON, as NGINX, Caddy, Envoy, Traefik and others write them: an object for each request.

use serde_json::{Map, Value};
use sojourn_base::Fault;

use super::{Access, Entry, date, har, is_near, method, time, url, wrong};

/// What servers call the time of a request, its method and what it asks for; the first that is there.
pub(super) const TIMES: [&str; 14] = [
    "ts",
    "time",
    "timestamp",
    "timestamp_s",
    "@timestamp",
    "msec",
    "time_iso8601",
    "time_local",
    "start_time",
    "startutc",
    "starttime",
    "start",
    "date",
    "datetime",
];
pub(super) const METHODS: [&str; 4] = ["method", "request_method", "requestmethod", "verb"];
pub(super) const PATHS: [&str; 7] =
    ["path", "uri", "request_uri", "url", "requestpath", "request_path", "target"];
const REQUEST: &str = "request"; // its line, or an object with the rest

type Object = Map<String, Value>;

pub(super) fn read(text: &str) -> Result<Access<'static>, Fault> {
    let mut log = Access { has_times: true, ..Access::default() };
    for (line, number) in super::lines(text) {
        let object: Object = serde_json::from_str(line).map_err(|error| {
            let what = format!("this line is no JSON object: {error}");
            wrong(
                &what,
                number,
                "the file may be cut short; leave out such lines, as with `grep '^{'`",
            )
        })?;
        match entry(&object) {
            Some((entry, has_time)) => {
                log.has_times &= has_time;
                log.with_secrets += usize::from(has_secrets(&object));
                log.entries.push(entry);
            }
            None => log.left_out += 1,
        }
    }
    Ok(log)
}

/// The request of a line, and whether the line says when it came.
fn entry(line: &Object) -> Option<(Entry<'static>, bool)> {
    let within = field(line, &[REQUEST]);
    let inner = within.and_then(Value::as_object);
    let get = |names: &[&str]| field(line, names).or_else(|| field(inner?, names));
    let (mut name, mut target) = (text(get(&METHODS)), text(get(&PATHS)));
    if let (None, Some(request)) = (&target, text(within)) {
        let mut words = request.split(' ').map(String::from);
        name = words.next();
        target = words.next();
    }
    let path = url::encoded(url::path(&target?)?).into_owned().into();
    let at_ns = text(get(&TIMES)).and_then(|text| at(&text));
    let method = name.and_then(|name| method(&name));
    Some((Entry { at_ns: at_ns.unwrap_or_default(), method, path }, at_ns.is_some()))
}

/// A time as any of the servers writes it, ns.
pub(super) fn at(text: &str) -> Option<i64> {
    time(text).or_else(|| date::of_log(text).filter(|ns| is_near(*ns)))
}

fn field<'a>(object: &'a Object, names: &[&str]) -> Option<&'a Value> {
    names.iter().find_map(|name| {
        object.iter().find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    })
}

fn text(value: Option<&Value>) -> Option<String> {
    match value? {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

fn has_secrets(line: &Object) -> bool {
    let is_secret = |object: &Object| object.keys().any(|name| har::is_secret(name));
    let headers = |object: &Object| {
        ["headers", "header"]
            .iter()
            .any(|name| object.get(*name).and_then(Value::as_object).is_some_and(is_secret))
    };
    let request = line.get(REQUEST).and_then(Value::as_object);
    is_secret(line) || headers(line) || request.is_some_and(|it| is_secret(it) || headers(it))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_server_has_its_own_names_for_the_same() {
        let at = 1_716_890_400_250_000_000;
        for line in [
            r#"{"ts":1716890400.25,"request":{"method":"GET","uri":"/a?b=c","headers":{"Cookie":["x"]}},"status":200}"#,
            r#"{"msec":"1716890400.250","request":"GET /a?b=c HTTP/1.1","cookie":"x"}"#,
            r#"{"start_time":"2024-05-28T10:00:00.250Z","method":"GET","path":"/a?b=c","authorization":"x"}"#,
            r#"{"StartUTC":"2024-05-28T10:00:00.25Z","RequestMethod":"GET","RequestPath":"/a?b=c","Cookie":1}"#,
            r#"{"time":1716890400250,"verb":"get","url":"http://h/a?b=c#d","header":{"Authorization":"x"}}"#,
            r#"{"time_local":"28/May/2024:12:00:00.25 +0200","request":"GET /a?b=c HTTP/1.1","COOKIE":""}"#,
        ] {
            let log = super::super::access(line).unwrap().unwrap();
            let wanted = Entry { at_ns: at, method: Some("GET"), path: "/a?b=c".into() };
            assert_eq!((log.entries, log.with_secrets), (vec![wanted], 1), "{line}");
            assert!(log.has_times, "{line}");
        }
    }

    #[test]
    fn lines_without_a_request_or_a_time_are_counted_and_torn_ones_named() {
        let text = "{\"level\":\"info\"}\n{\"method\":\"GET\",\"url\":\"http://h/a\"}\n";
        let log = super::super::access(text).unwrap().unwrap();
        assert_eq!((log.entries.len(), log.left_out, log.has_times), (1, 1, false));
        let torn = super::super::access(&text[..text.len() - 3]).unwrap().unwrap_err();
        assert_eq!(torn.at, "line 2");
        let deep = format!("{{\"path\":{}", "[".repeat(100_000));
        assert_eq!(super::super::access(&deep).unwrap().unwrap_err().at, "line 1");
    }
}
