//! Lines of JSON, as NGINX, Caddy, Envoy, Traefik and others write them: an object for each request.

use serde_json::{Map, Value};
use sojourn_base::Fault;

use super::collected::Collected;
use super::{Access, har, times, wrong};

/// What servers call the method of a request and what it asks for; the first that is there.
pub(super) const METHODS: [&str; 7] = [
    "method",
    "request_method",
    "requestmethod",
    "http.request.method",
    "http_method",
    "httpmethod",
    "verb",
];
pub(super) const PATHS: [&str; 11] = [
    "path",
    "uri",
    "request_uri",
    "url",
    "requestpath",
    "request_path",
    "requesturl",
    "request_url",
    "url.original",
    "url.path",
    "target",
];
/// Its line, or an object with the rest: also of pino, and of Google's load balancers.
const REQUESTS: [&str; 4] = ["request", "req", "httprequest", "http_request"];
/// What they call its host. Caddy's `host` is in that object; elsewhere it may be the host that wrote the log.
const HOSTS: [&str; 3] = ["http_host", "requesthost", "authority"];
const HOST: &str = "host";

type Object = Map<String, Value>;

pub(super) fn read(text: &str) -> Result<Access<'static>, Fault> {
    let mut log = Collected::default();
    for (line, number) in super::lines(text) {
        let object: Object = serde_json::from_str(line).map_err(|error| {
            let what = format!("this line is no JSON object: {error}");
            wrong(
                &what,
                number,
                "the file may be cut short; leave out such lines, as with `grep '^{'`",
            )
        })?;
        add(&mut log, &object);
    }
    Ok(log.finish())
}

/// Whether the first line is one of Docker's `json-file` logs: a line of the log as a text, and its stream.
pub(super) fn is_of_docker(log: &str) -> bool {
    let first = super::lines(log).next().map(|(line, _)| line).filter(|line| line.starts_with('{'));
    let object = first.and_then(|line| serde_json::from_str::<Object>(line).ok());
    object.is_some_and(|line| {
        let stream = line.get("stream").and_then(Value::as_str).unwrap_or_default();
        line.get("log").is_some_and(Value::is_string) && ["stdout", "stderr"].contains(&stream)
    })
}

/// Takes in the request of a line.
fn add(log: &mut Collected<'static>, line: &Object) {
    let within = field(line, &REQUESTS);
    let inner = within.and_then(Value::as_object);
    let get = |names: &[&str]| field(line, names).or_else(|| field(inner?, names));
    let (mut name, mut target) = (text(get(&METHODS)), text(get(&PATHS)));
    if let (None, Some(request)) = (&target, text(within)) {
        let mut words = request.split(' ').map(String::from);
        name = words.next();
        target = words.next();
    }
    let Some(target) = target else {
        log.leave_out();
        return;
    };
    let stamp = times::stamp(|name| text(get(&[name])));
    if !log.add(stamp, name.unwrap_or_default().trim(), target.into()) {
        return;
    }
    if has_secrets(line) {
        log.mark_secrets();
    }
    let host = get(&HOSTS).or_else(|| field(inner?, &[HOST]));
    if let Some(host) = text(host) {
        log.add_host(&host);
    }
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
    let request = field(line, &REQUESTS).and_then(Value::as_object);
    is_secret(line) || headers(line) || request.is_some_and(|it| is_secret(it) || headers(it))
}

#[cfg(test)]
mod tests {
    use super::super::Entry;

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
            r#"{"time":1716890400250,"req":{"method":"GET","url":"/a?b=c","headers":{"cookie":"x"}}}"#,
            r#"{"timestamp":"2024-05-28T10:00:00.25Z","httpRequest":{"requestMethod":"GET","requestUrl":"https://h/a?b=c"},"cookie":1}"#,
            r#"{"@timestamp":"2024-05-28T10:00:00.25Z","http.request.method":"GET","url.original":"/a?b=c","cookie":1}"#,
            r#"{"requestTime":"28/May/2024:10:00:00.25 +0000","httpMethod":"GET","path":"/a?b=c","cookie":1}"#,
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

    #[test]
    fn one_line_without_a_time_moves_no_other() {
        let text = r#"{"ts":7.5,"method":"GET","path":"/a"}
{"ts":"soon","method":"GET","path":"/b","cookie":"x"}
{"method":"GET","path":"/c"}
{"ts":6,"method":"GET","path":"/d"}"#;
        let log = super::super::access(text).unwrap().unwrap();
        let result: Vec<_> = log.entries.iter().map(|it| (it.at_ns, &*it.path)).collect();
        assert_eq!(result, [(6_000_000_000, "/d"), (7_500_000_000, "/a")]);
        assert_eq!((log.has_times, log.without_time, log.with_secrets), (true, 2, 0));
    }

    #[test]
    fn times_are_of_the_begin_where_a_line_says_enough() {
        let at = 1_716_890_400_250_000_000;
        for (line, ends) in [
            (r#"{"StartUTC":"2024-05-28T10:00:00.25Z","time":1716890409,"path":"/"}"#, 0),
            (r#"{"msec":1716890400.75,"time_iso8601":"x","request_time":"0.500","path":"/"}"#, 0),
            (r#"{"ts":1716890400.75,"duration":0.5,"request":{"uri":"/"}}"#, 0),
            (r#"{"time":"2024-05-28T10:00:00Z","msec":"1716890400.25","path":"/"}"#, 1),
        ] {
            let log = super::super::access(line).unwrap().unwrap();
            assert_eq!((log.entries[0].at_ns, log.ends), (at, ends), "{line}");
        }
    }

    #[test]
    fn other_methods_are_left_out_and_hosts_counted() {
        let text = r#"{"request":"PROPFIND /a HTTP/1.1","http_host":"z"}
{"method":"PURGE","url":"http://y/b"}
{"method":"","url":"http://h/c","host":"machine"}
{"method":"GET","url":"file:///d"}
{"request":{"method":"GET","uri":"/e","host":"i"}}
{"RequestMethod":"GET","RequestPath":"/f","RequestHost":"H"}"#;
        let log = super::super::access(text).unwrap().unwrap();
        let result: Vec<_> = log.entries.iter().map(|it| (it.method, &*it.path)).collect();
        assert_eq!(result, [(None, "/c"), (Some("GET"), "/e"), (Some("GET"), "/f")]);
        assert_eq!((log.other_methods, log.left_out, log.hosts), (2, 1, 2));
    }
}
