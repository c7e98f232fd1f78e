//! Dates as logs write them → ns since 1970.
//!
//! Source: Hinnant, "chrono-Compatible Low-Level Date Algorithms" (`days_from_civil`).

const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
const NS_PER_S: i64 = 1_000_000_000;

/// `10/Oct/2000:13:55:36.123 -0700`, as access logs have it; Python's servers write a space for the first colon.
pub(super) fn of_log(text: &str) -> Option<i64> {
    let (date, time) = text.split_once([':', ' '])?;
    let mut parts = date.split('/');
    let day = digits(parts.next()?)?;
    let name = parts.next()?;
    let month = MONTHS.iter().position(|month| *month == name)? as i64 + 1;
    let year = digits(parts.next()?)?;
    let (clock, zone) = time.split_once(' ').unwrap_or((time, "+0000"));
    ns((year, month, day), clock, zone)
}

/// `2000-10-10T13:55:36.123Z`, with or without a zone; without one it is UTC.
pub(super) fn of_iso(text: &str) -> Option<i64> {
    let (date, time) = text.split_once('T')?;
    let mut parts = date.split('-');
    let (year, month, day) =
        (digits(parts.next()?)?, digits(parts.next()?)?, digits(parts.next()?)?);
    let end = time.find(['Z', '+', '-']).unwrap_or(time.len());
    ns((year, month, day), &time[..end], &time[end..])
}

fn ns((year, month, day): (i64, i64, i64), clock: &str, zone: &str) -> Option<i64> {
    let mut parts = clock.split(':');
    let (hour, minute, rest) = (digits(parts.next()?)?, digits(parts.next()?)?, parts.next()?);
    let (second, part) = rest.split_once(['.', ',']).unwrap_or((rest, ""));
    let second = digits(second)?;
    let is_date = (1..=12).contains(&month) && (1..=31).contains(&day);
    if !is_date || hour > 23 || minute > 59 || second > 60 || parts.next().is_some() {
        return None;
    }
    let part_ns = if part.is_empty() {
        0
    } else {
        let nine: String = part.chars().chain("00000000".chars()).take(9).collect();
        if part.len() > 9 { digits(part.get(..9)?)? } else { digits(&nine)? }
    };
    let seconds = (days(year, month, day) * 24 + hour) * 3600 + minute * 60 + second;
    (seconds - offset_s(zone)?).checked_mul(NS_PER_S)?.checked_add(part_ns)
}

/// Seconds by which a zone is ahead: nothing, `Z`, `+02:00`, `-0700`, `+02`.
fn offset_s(zone: &str) -> Option<i64> {
    let Some(ahead) = zone.strip_prefix('+').or_else(|| zone.strip_prefix('-')) else {
        return (zone.is_empty() || zone == "Z").then_some(0);
    };
    let numbers = ahead.replace(':', "");
    let (hours, minutes) = match numbers.len() {
        2 => (digits(&numbers)?, 0),
        4 => (digits(numbers.get(..2)?)?, digits(numbers.get(2..)?)?),
        _ => return None,
    };
    let seconds = hours * 3600 + minutes * 60;
    Some(if zone.starts_with('-') { -seconds } else { seconds })
}

/// Days since 1970-01-01 in the Gregorian calendar.
fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let of_era = year - era * 400;
    let of_year = (153 * (if month > 2 { month - 3 } else { month + 9 }) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

fn digits(text: &str) -> Option<i64> {
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|_| is_number && text.len() <= 9)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Against `date -u -d … +%s`.
    #[test]
    fn dates_are_seconds_since_1970() {
        for (text, wanted) in [
            ("01/Jan/1970:00:00:00 +0000", 0),
            ("10/Oct/2000:13:55:36 -0700", 971_211_336),
            ("29/Feb/2024:23:59:59 +0530", 1_709_231_399),
            ("31/Dec/2099:12:00:00 +0000", 4_102_401_600),
        ] {
            assert_eq!(of_log(text), Some(wanted * NS_PER_S), "{text}");
        }
        assert_eq!(of_log("10/Oct/2000:13:55:36.25 +0000"), Some(971_186_136_250_000_000));
        assert_eq!(of_log("10/Oct/2000 13:55:36"), Some(971_186_136 * NS_PER_S), "http.server");
        assert_eq!(of_iso("2000-10-10T13:55:36.0000000019Z"), Some(971_186_136 * NS_PER_S + 1));
        for text in ["10/Okt/2000:13:55:36 +0000", "10/Oct/2000", "10/Oct/2000:25:00:00 +0000", "x"]
        {
            assert_eq!(of_log(text), None, "{text}");
        }
        for text in ["2000-10-10T13:55", "2000-10-10T13:55:36+1", "2000-10-10T1x:55:36Z"] {
            assert_eq!(of_iso(text), None, "{text}");
        }
    }
}
