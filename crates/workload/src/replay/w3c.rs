//! Logs in W3C's extended format, as IIS and `CloudFront` write them: `#Fields:` names what each line has.
//!
//! Fields have no space in them; one without a value is a dash. Dates and times are of UTC.
//! Source: W3C, "Extended Log File Format" (WD-logfile-960323).

use super::collected::Collected;
use super::times::Stamp;
use super::{Access, date, is_near, unmarked};

const FIELDS: &str = "#Fields:";
const NONE: &str = "-";

/// Whether a log begins with lines of such a head.
pub(super) fn is_it(text: &str) -> bool {
    let mut head = unmarked(text).lines().take_while(|line| line.starts_with('#'));
    head.any(|line| line.starts_with(FIELDS) && line.contains("cs-uri"))
}

pub(super) fn read(text: &str) -> Access<'_> {
    let mut log = Collected::default();
    let mut names: Vec<&str> = Vec::new();
    for line in unmarked(text).lines().filter(|line| !line.trim().is_empty()) {
        if let Some(fields) = line.strip_prefix(FIELDS) {
            names = fields.split_whitespace().collect(); // also where a server has begun anew
            continue;
        }
        if line.starts_with('#') {
            continue;
        }
        let values: Vec<&str> = line.split_whitespace().collect();
        let get = |name: &str| {
            let nth = names.iter().position(|it| it.eq_ignore_ascii_case(name))?;
            values.get(nth).copied().filter(|value| *value != NONE)
        };
        match get("cs-uri-stem").or_else(|| get("cs-uri")) {
            Some(stem) if values.len() == names.len() => {
                let target = match get("cs-uri-query") {
                    Some(query) => format!("{stem}?{query}"),
                    None => stem.into(),
                };
                let day = get("date").zip(get("time"));
                let at = day.and_then(|(day, time)| date::of_iso(&format!("{day}T{time}")));
                let stamp = at
                    .filter(|ns| is_near(*ns))
                    .map_or(Stamp::Missing, |at_ns| Stamp::End(at_ns, None));
                if !log.add(stamp, get("cs-method").unwrap_or_default(), target.into()) {
                    continue;
                }
                if get("cs(Cookie)").is_some() {
                    log.mark_secrets();
                }
                if let Some(host) = get("cs-host").or_else(|| get("cs(Host)")) {
                    log.add_host(host);
                }
            }
            _ => log.leave_out(),
        }
    }
    log.finish()
}

#[cfg(test)]
mod tests {
    #[test]
    fn fields_are_known_by_the_names_in_the_head() {
        let iis = "#Software: Microsoft Internet Information Services 10.0\r\n#Version: 1.0\r\n\
            #Fields: date time s-ip cs-method cs-uri-stem cs-uri-query cs(Cookie) sc-status\r\n\
            2024-05-28 10:00:00 10.0.0.5 GET /a b=c - 200\r\n\
            2024-05-28 10:00:01 10.0.0.5 POST /d - id=1 200\r\n\
            2024-05-28 10:00:01 torn\r\n\
            #Fields: time date cs-uri-stem cs-method\r\n10:00:02 2024-05-28 /e GET\r\n";
        let cloud_front = "#Version: 1.0\n#Fields: date\ttime\tcs-method\tcs(Host)\tcs-uri-stem\tsc-status\t\
            cs-uri-query\n2024-05-28\t10:00:00\tGET\td1.example\t/a\t200\tb=c\n";
        let log = super::super::access(iis).unwrap().unwrap();
        let begin = 1_716_890_400_000_000_000;
        let result: Vec<_> =
            log.entries.iter().map(|it| ((it.at_ns - begin) / 1_000_000_000, &*it.path)).collect();
        assert_eq!(result, [(0, "/a?b=c"), (1, "/d"), (2, "/e")]);
        assert_eq!((log.left_out, log.with_secrets, log.ends), (1, 1, 3));
        let log = super::super::access(cloud_front).unwrap().unwrap();
        assert_eq!((&*log.entries[0].path, log.hosts), ("/a?b=c", 1));
        assert!(super::super::access("#Fields: a b\n1 2\n").is_none());
    }
}
