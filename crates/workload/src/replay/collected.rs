//! Requests of a log as its lines are read, until it is known what all of them have.

use std::borrow::Cow;
use std::collections::HashSet;

use super::times::Stamp;
use super::{Access, Entry, grain, method, url};

/// What was read of a log.
#[derive(Default)]
pub(super) struct Collected<'a> {
    requests: Vec<Request<'a>>,
    hosts: HashSet<String>,
    /// Counts of what is left out.
    access: Access<'a>,
}

struct Request<'a> {
    entry: Entry<'a>,
    stamp: Stamp,
    has_secrets: bool,
}

impl<'a> Collected<'a> {
    /// Takes in a request of a method, empty if the line has none, for a path or URL; `false`: it is left out.
    pub(super) fn add(&mut self, stamp: Stamp, name: &str, target: Cow<'a, str>) -> bool {
        let host = url::host(&target).map(str::to_ascii_lowercase);
        let Some(path) = url::asked(target) else {
            self.access.left_out += 1;
            return false;
        };
        let method = method(name);
        if method.is_none() && !name.is_empty() {
            self.access.other_methods += 1; // it would be sent as a GET otherwise
            return false;
        }
        self.hosts.extend(host);
        let entry = Entry { at_ns: 0, method, path };
        self.requests.push(Request { entry, stamp, has_secrets: false });
        true
    }

    /// Counts a line that has no request.
    pub(super) fn leave_out(&mut self) {
        self.access.left_out += 1;
    }

    /// Counts a request that a cache answered.
    pub(super) fn leave_out_cached(&mut self) {
        self.access.cached += 1;
    }

    /// Notes that the last request that was added has cookies or an authorisation.
    pub(super) fn mark_secrets(&mut self) {
        if let Some(last) = self.requests.last_mut() {
            last.has_secrets = true;
        }
    }

    /// Notes that it went to this host.
    pub(super) fn add_host(&mut self, host: &str) {
        self.hosts.insert(host.to_ascii_lowercase());
    }

    /// The log, in the order of its lines. Where one request has a time, others are left out for want of it.
    pub(super) fn finish(self) -> Access<'a> {
        let Self { requests, hosts, mut access } = self;
        access.hosts = hosts.len();
        access.has_times = requests.iter().any(|request| request.stamp != Stamp::Missing);
        // Times of whole seconds stay such: a part of one would say that they are finer than they are.
        let ends_ns = requests.iter().filter_map(|request| match request.stamp {
            Stamp::End(ns, _) => Some(ns),
            Stamp::Begin(_) | Stamp::Missing => None,
        });
        let unit_ns = grain(&ends_ns.collect::<Vec<_>>());
        for Request { mut entry, stamp, has_secrets } in requests {
            match stamp {
                Stamp::Missing if access.has_times => {
                    access.without_time += 1;
                    continue;
                }
                Stamp::Missing => {}
                Stamp::Begin(ns) => entry.at_ns = ns,
                Stamp::End(ns, None) => {
                    access.ends += 1;
                    entry.at_ns = ns;
                }
                Stamp::End(ns, Some(lasted_ns)) => {
                    entry.at_ns = ns.saturating_sub(lasted_ns / unit_ns * unit_ns);
                }
            }
            access.with_secrets += usize::from(has_secrets);
            access.entries.push(entry);
        }
        access
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The log of requests for `/` with these stamps.
    fn log(stamps: &[Stamp]) -> Access<'static> {
        let mut collected = Collected::default();
        assert!(stamps.iter().all(|stamp| collected.add(*stamp, "GET", "/".into())));
        collected.finish()
    }

    #[test]
    fn requests_without_a_time_are_left_out_where_others_have_one() {
        let some = log(&[Stamp::Begin(5), Stamp::Missing, Stamp::End(7, None)]);
        let at: Vec<_> = some.entries.iter().map(|entry| entry.at_ns).collect();
        assert_eq!((at, some.has_times, some.without_time, some.ends), (vec![5, 7], true, 1, 1));
        assert!(some.note().unwrap().contains("1 requests of the log have no time"));
        assert!(some.ends_note().unwrap().contains("1 requests") && some.no_times_note().is_none());
        let none = log(&[Stamp::Missing; 2]);
        assert_eq!((none.entries.len(), none.has_times, none.without_time), (2, false, 0));
        assert!(none.no_times_note().unwrap().contains("has a time"));
    }

    #[test]
    fn durations_are_subtracted_in_the_unit_of_the_times() {
        let (second, ms) = (1_000_000_000, 1_000_000);
        let fine = log(&[Stamp::End(3 * second + ms, Some(250 * ms)), Stamp::End(second, Some(7))]);
        let at: Vec<_> = fine.entries.iter().map(|entry| entry.at_ns).collect();
        assert_eq!((at, fine.ends), (vec![2_751 * ms, second], 0));
        let whole = log(&[Stamp::End(3 * second, Some(1_250 * ms)), Stamp::End(second, Some(ms))]);
        let at: Vec<_> = whole.entries.iter().map(|entry| entry.at_ns).collect();
        assert_eq!(at, [2 * second, second], "a part of a second would not be spread within it");
        assert_eq!((whole.ends, whole.ends_note()), (0, None));
    }

    #[test]
    fn a_method_that_http_does_not_have_is_no_get() {
        let mut collected = Collected::default();
        let add = |name: &str| collected.add(Stamp::Missing, name, "/".into());
        assert_eq!(["GET", "", "PURGE", "PROPFIND"].map(add), [true, true, false, false]);
        let mut log = collected.finish();
        log.keep_method("GET");
        assert_eq!((log.entries.len(), log.other_methods), (2, 2));
    }

    #[test]
    fn hosts_are_counted_each_once() {
        let mut collected = Collected::default();
        for url in ["http://a/x", "https://me@A?y", "/z", "http://b:80/"] {
            assert!(collected.add(Stamp::Missing, "GET", url.into()), "{url}");
        }
        collected.add_host("C");
        let log = collected.finish();
        assert_eq!(log.hosts, 3);
        assert!(log.note().unwrap().starts_with("3 hosts are named in the log"));
    }
}
