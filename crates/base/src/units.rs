//! What people type and read: `50k`, `30s`, `1.5ms`, `4KiB`.

use crate::Fault;

/// Nanoseconds in one second.
pub const NS_PER_S: u64 = 1_000_000_000;

const SCALES: &[(&str, f64)] = &[("k", 1e3), ("K", 1e3), ("M", 1e6), ("G", 1e9)];
const TIMES_NS: &[(&str, f64)] = &[
    ("ns", 1.0),
    ("us", 1e3),
    ("µs", 1e3),
    ("ms", 1e6),
    ("min", 60e9),
    ("m", 60e9),
    ("h", 3600e9),
    ("s", 1e9),
];
const SIZES: &[(&str, f64)] = &[
    ("KiB", 1024.0),
    ("MiB", 1_048_576.0),
    ("GiB", 1_073_741_824.0),
    ("kB", 1e3),
    ("KB", 1e3),
    ("MB", 1e6),
    ("GB", 1e9),
    ("B", 1.0),
];

/// A plain count or rate: `50000`, `50k`, `1.2M`.
pub fn parse_count(text: &str) -> Result<f64, Fault> {
    parse(text, SCALES, 1.0, "a number such as 50000, 50k or 1.2M")
}

/// A span of time in ns; a bare number means seconds: `30`, `30s`, `1.5ms`, `2min`.
pub fn parse_ns(text: &str) -> Result<u64, Fault> {
    let ns = parse(text, TIMES_NS, 1e9, "a time such as 30s, 1.5ms or 200us")?;
    if ns < 0.0 {
        return Err(Fault::usage(
            format!("'{text}' is a negative time"),
            "",
            "give a time of 0 or more",
        ));
    }
    Ok(ns.round() as u64)
}

/// A size in bytes; a bare number means bytes: `200`, `4KiB`, `1MB`.
pub fn parse_bytes(text: &str) -> Result<u64, Fault> {
    let bytes = parse(text, SIZES, 1.0, "a size such as 200, 4KiB or 1MB")?;
    if bytes < 0.0 {
        return Err(Fault::usage(
            format!("'{text}' is a negative size"),
            "",
            "give a size of 0 or more",
        ));
    }
    Ok(bytes.round() as u64)
}

fn parse(text: &str, units: &[(&str, f64)], bare: f64, wanted: &str) -> Result<f64, Fault> {
    let trimmed = text.trim();
    let (digits, scale) = units
        .iter()
        .find_map(|(unit, scale)| trimmed.strip_suffix(unit).map(|rest| (rest.trim_end(), *scale)))
        .unwrap_or((trimmed, bare));
    match digits.parse::<f64>() {
        Ok(number) if number.is_finite() => Ok(number * scale),
        _ => Err(Fault::usage(format!("'{text}' is not {wanted}"), "", format!("write {wanted}"))),
    }
}

/// To where a bound is rounded, so that it still holds as it is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// As "at least" needs.
    Down,
    /// As "at most" needs.
    Up,
}

/// A bound to so many digits after the point, rounded so that it still holds.
pub fn outward(bound: f64, digits: i32, way: Way) -> f64 {
    if !bound.is_finite() {
        return bound;
    }
    let scale = 10_f64.powi(digits);
    let scaled = (bound * scale * 1e6).round() / 1e6; // what is a hair off is no other number
    (if way == Way::Up { scaled.ceil() } else { scaled.floor() }) / scale
}

/// A share and its limit in percent, with so many digits after the point that they differ as shown.
///
/// `digits`: at least so many. Shares that differ by less than 10⁻⁹ look alike.
pub fn percents(share: f64, limit: f64, digits: usize) -> [String; 2] {
    let shown = |digits: usize| [share, limit].map(|it| format!("{:.digits$}", it * 100.0));
    let differ = |digits: &usize| shown(*digits)[0] != shown(*digits)[1];
    shown((digits..7).find(differ).unwrap_or(digits))
}

/// How many there are of what is named in the singular: `1 window`, `4 windows`.
pub fn several(number: u64, one: &str) -> String {
    format!("{number} {one}{}", if number == 1 { "" } else { "s" })
}

/// Three significant digits and a unit: `412 ns`, `1.31 ms`, `12.0 s`.
pub fn show_ns(ns: f64) -> String {
    shown_ns(ns, None)
}

/// The same of a bound: `1.31 ms` of 1.319 if it is rounded down.
pub fn show_bound_ns(ns: f64, way: Way) -> String {
    shown_ns(ns, Some(way))
}

fn shown_ns(ns: f64, way: Option<Way>) -> String {
    let (value, unit) = match ns.abs() {
        x if x.is_infinite() => return "inf".into(),
        x if x < 1e3 => (ns, "ns"),
        x if x < 1e6 => (ns / 1e3, "µs"),
        x if x < 1e9 => (ns / 1e6, "ms"),
        _ => (ns / 1e9, "s"),
    };
    format!("{} {unit}", three_digits(value, way))
}

/// Three significant digits and a scale: `950`, `50.0k`, `1.20M`.
pub fn show_count(count: f64) -> String {
    let (value, unit) = match count.abs() {
        x if x < 1e3 => (count, ""),
        x if x < 1e6 => (count / 1e3, "k"),
        x if x < 1e9 => (count / 1e6, "M"),
        _ => (count / 1e9, "G"),
    };
    format!("{}{unit}", three_digits(value, None))
}

fn three_digits(exact: f64, way: Option<Way>) -> String {
    let digits = match exact.abs() {
        x if x >= 100.0 => 0,
        x if x >= 10.0 => 1,
        _ => 2,
    };
    let value = way.map_or(exact, |way| outward(exact, digits, way));
    match value.abs() {
        x if x >= 99.95 || (exact.fract() == 0.0 && x < 10.0) => format!("{value:.0}"),
        x if x >= 9.995 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_no_plural() {
        assert_eq!([several(1, "window"), several(4, "window")], ["1 window", "4 windows"]);
        assert_eq!(several(0, "window"), "0 windows");
    }

    #[test]
    fn what_people_type_is_understood() {
        assert_eq!(parse_count("50k"), Ok(50_000.0));
        assert_eq!(parse_count("1.2M"), Ok(1.2e6));
        assert_eq!(parse_ns("30"), Ok(30 * NS_PER_S));
        assert_eq!(parse_ns("1.5ms"), Ok(1_500_000));
        assert_eq!(parse_ns("2 min"), Ok(120 * NS_PER_S));
        assert_eq!(parse_bytes("4KiB"), Ok(4096));
    }

    #[test]
    fn what_is_no_quantity_is_refused_with_an_example() {
        for text in ["", "fast", "1e400", "NaN", "12parsecs"] {
            assert!(parse_ns(text).unwrap_err().fix.contains("30s"), "{text}");
        }
        assert!(parse_ns("-1s").is_err());
        assert!(parse_bytes("-1").is_err());
    }

    #[test]
    fn what_people_read_has_three_digits() {
        assert_eq!(show_ns(412.0), "412 ns");
        assert_eq!(show_ns(1_314_000.0), "1.31 ms");
        assert_eq!(show_count(50_000.0), "50.0k");
        assert_eq!(show_ns(f64::INFINITY), "inf");
    }

    #[test]
    fn a_bound_still_holds_as_it_is_shown_and_an_exact_one_stays() {
        for (ns, down, up) in [
            (1_319_000.0, "1.31 ms", "1.32 ms"),
            (282_000.0, "282 µs", "282 µs"),
            (281_427.0, "281 µs", "282 µs"),
            (99_960.0, "99.9 µs", "100 µs"),
            (9_996.0, "9.99 µs", "10.0 µs"),
            (5_000.0, "5 µs", "5 µs"),
            (5_001.0, "5.00 µs", "5.01 µs"),
            (-1_319_000.0, "-1.32 ms", "-1.31 ms"),
            (f64::INFINITY, "inf", "inf"),
        ] {
            let [below, above] = [Way::Down, Way::Up].map(|way| show_bound_ns(ns, way));
            assert_eq!((below.as_str(), above.as_str()), (down, up));
        }
        assert_eq!([outward(1.058, 2, Way::Down), outward(1.051, 2, Way::Up)], [1.05, 1.06]);
        assert_eq!(outward(1.1 * 1.1, 2, Way::Up), 1.21);
    }

    #[test]
    fn a_share_and_its_limit_differ_as_they_are_shown() {
        let shown = |share, limit, digits| percents(share, limit, digits).join(" ");
        assert_eq!(shown(0.81, 0.8, 0), "81 80");
        assert_eq!(shown(0.8004, 0.8, 0), "80.04 80.00");
        assert_eq!(shown(0.974_999, 0.975, 2), "97.4999 97.5000");
        assert_eq!(shown(0.5, 0.5, 1), "50.0 50.0");
    }
}
