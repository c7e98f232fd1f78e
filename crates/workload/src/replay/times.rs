//! When a request came, by the names that servers have for the times of one.
//!
//! NGINX and Caddy write a line, and its time, when a request is over. Replayed as it is, what waited for the
//! end of a stall comes at once. So the duration is subtracted where the line has it.

use sojourn_base::units::parse_ns;

use super::{date, is_near, time};

/// Names of the time at which a request came; the first that can be read counts.
const BEGINS: [&str; 7] =
    ["startutc", "start_time", "starttime", "started_at", "start", "startlocal", "timestamp_s"];
/// Names of what may be the time of its end, the finest first.
const ENDS: [&str; 10] = [
    "msec",
    "ts",
    "time",
    "timestamp",
    "@timestamp",
    "time_iso8601",
    "time_local",
    "requesttime",
    "date",
    "datetime",
];
/// Names of its duration in s, and of the time that each belongs to; empty: to any. Elsewhere `duration` is
/// in ms or in ns. Sources: `ngx_http_log_module`; Caddy, "Structure of access logs".
const DURATIONS: [(&str, &str); 2] = [("request_time", ""), ("duration", "ts")];
/// A longer one is of another unit, ns.
const DURATION_MAX_NS: u64 = 86_400_000_000_000;

/// What a line says of when its request came, ns since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stamp {
    /// Nothing that can be read.
    Missing,
    /// When it came.
    Begin(i64),
    /// When it may have ended, and how long it took, if the line says so.
    End(i64, Option<i64>),
}

/// All names of fields that [`stamp`] asks for, in lower case.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    BEGINS.into_iter().chain(ENDS).chain(DURATIONS.map(|(name, _)| name))
}

/// What a line says, of which `get` has the text of each field.
pub(super) fn stamp(get: impl Fn(&str) -> Option<String>) -> Stamp {
    let read = |name: &'static str| Some((name, at(get(name)?.trim())?));
    if let Some((_, at_ns)) = BEGINS.into_iter().find_map(read) {
        return Stamp::Begin(at_ns);
    }
    let Some((name, at_ns)) = ENDS.into_iter().find_map(read) else { return Stamp::Missing };
    let lasted_ns = DURATIONS.into_iter().find_map(|(field, of)| {
        let is_of_it = of.is_empty() || of == name;
        let ns = parse_ns(&get(field).filter(|_| is_of_it)?).ok()?;
        (ns <= DURATION_MAX_NS).then_some(ns as i64)
    });
    Stamp::End(at_ns, lasted_ns)
}

/// A time as any of the servers writes it, ns.
fn at(text: &str) -> Option<i64> {
    time(text).or_else(|| date::of_log(text).filter(|ns| is_near(*ns)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The stamp of a line with these fields.
    fn of(fields: &[(&str, &str)]) -> Stamp {
        stamp(|name| {
            let field = fields.iter().find(|(known, _)| *known == name);
            field.map(|(_, text)| (*text).into())
        })
    }

    #[test]
    fn a_begin_is_better_than_an_end_and_a_fine_time_than_a_coarse_one() {
        let (begin, end) =
            (("startutc", "2024-05-28T10:00:00.25Z"), ("time", "2024-05-28T10:00:01Z"));
        let noon = 1_716_890_400_000_000_000;
        assert_eq!(of(&[end, begin]), Stamp::Begin(noon + 250_000_000), "Traefik has both");
        let torn = ("startutc", "-");
        assert_eq!(of(&[end, torn]), Stamp::End(noon + 1_000_000_000, None));
        let fine = ("msec", "1716890401.003");
        assert_eq!(of(&[end, fine]), Stamp::End(noon + 1_003_000_000, None));
        assert_eq!(of(&[torn, ("bytes", "5")]), Stamp::Missing);
    }

    #[test]
    fn a_duration_counts_where_its_unit_is_known() {
        let noon = 1_716_890_400_000_000_000;
        let (msec, ts) = (("msec", "1716890400"), ("ts", "1716890400"));
        for (line, lasted_ns) in [
            ([msec, ("request_time", "0.250")], Some(250_000_000)),
            ([ts, ("duration", "0.000015")], Some(15_000)),
            ([ts, ("duration", "1.5ms")], Some(1_500_000)),
            ([msec, ("duration", "12")], None),
            ([ts, ("duration", "1500000")], None),
            ([msec, ("request_time", "-")], None),
        ] {
            assert_eq!(of(&line), Stamp::End(noon, lasted_ns), "{line:?}");
        }
        let begin = ("start_time", "1716890400");
        assert_eq!(of(&[begin, ("request_time", "1")]), Stamp::Begin(noon), "nothing to subtract");
    }
}
