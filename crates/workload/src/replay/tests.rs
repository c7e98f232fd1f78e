use super::*;

const COMBINED: &str = r#"10.0.0.1 - - [28/May/2024:12:00:01 +0200] "GET /b?c=d HTTP/1.1" 200 5 "-" "x [y]"
10.0.0.1 - me [28/May/2024:12:00:00 +0200] "POST /a HTTP/2.0" 201 5
10.0.0.2 - - [28/May/2024:12:00:01 +0200] "-" 408 0 "-" "-"
10.0.0.2 - - [28/May/2024:12:00:01 +0200] "\x16\x03\x01" 400 0
h - - [28/May/2024:12:00:02 +0200] "GET http://other/c HTTP/1.1" 200 5
"#;

#[test]
fn an_access_log_is_its_requests_in_the_order_of_time() {
    let text = format!("\u{feff}# from nginx\r\n{}", COMBINED.replace('\n', "\r\n"));
    let log = access(&text).unwrap().unwrap();
    let noon = 1_716_890_400_000_000_000; // 2024-05-28T10:00:00Z, `date -d … +%s`
    let result: Vec<_> = log.entries.iter().map(|it| (it.at_ns - noon, &*it.path)).collect();
    assert_eq!(result, [(0, "/a"), (1_000_000_000, "/b?c=d"), (2_000_000_000, "/c")]);
    assert_eq!(log.left_out, 2);
    let torn = format!("{COMBINED}nothing\nh - - [::1] \"GET /a HTTP/1.1\" 200 5\n");
    let log = access(&torn).unwrap().unwrap();
    assert_eq!((log.entries.len(), log.left_out, log.without_time), (3, 3, 1), "the rest is there");
    let cut = &COMBINED[40..]; // as tail -c leaves it
    let log = access(cut).unwrap().unwrap();
    assert_eq!((log.entries.len(), log.left_out, log.without_time), (2, 2, 1), "{cut}");
    for other in ["timestamp_s\n1\n", "/a\n/b\n", "1.5 /a[1]\n", ""] {
        assert!(access(other).is_none(), "{other}");
    }
}

#[test]
fn times_are_numbers_of_any_unit_or_dates() {
    let at = 1_716_890_400_123_000_000;
    for line in [
        "1716890400.123 /a",
        "1716890400123",
        "1716890400123000 /a",
        "1716890400123000000",
        "2024-05-28T10:00:00.123Z",
        "2024-05-28T12:00:00,123+02:00 /a",
        "2024-05-28 10:00:00.123 /a",
        "2024-05-28T05:00:00.123-0500",
        "2024-05-28 12:00:00.123 +0200 CEST /a",
        "2024-05-28 05:00:00.123 -05:00",
        "2024-05-28 12:00:00.123+02:00 +0200",
        "2024-05-28 10:00:00.123 - 12",
        "2024-05-28 10:00:00.123 -12 /a",
    ] {
        assert_eq!(time(line), Some(at), "{line}");
        assert!(is_self_evident(line), "{line}");
    }
    assert_eq!(
        (time("12.000018 /x"), time("0"), time(".5")),
        (Some(12_000_018_000), Some(0), Some(500_000_000))
    );
    assert!(!is_self_evident("12.5"), "of what, it must say");
    for line in ["x", "-1", "NaN", "2024-13-28T10:00:00Z", "2024-05-28", ""] {
        assert_eq!(time(line), None, "{line}");
    }
}

/// Summer time ends between the second line and the third, and no second is missing.
#[test]
fn a_zone_that_changes_moves_no_request() {
    let text = r#"{"time":"2024-10-27 02:59:58 +0200","path":"/a"}
{"time":"2024-10-27 02:59:59 +0200","path":"/b"}
{"time":"2024-10-27 02:00:00 +0100","path":"/c"}"#;
    let log = access(text).unwrap().unwrap();
    let begin = 1_729_990_798_000_000_000; // 2024-10-27T00:59:58Z, `date -d … +%s`
    let result: Vec<_> = log.entries.iter().map(|it| (it.at_ns - begin, &*it.path)).collect();
    assert_eq!(result, [(0, "/a"), (1_000_000_000, "/b"), (2_000_000_000, "/c")]);
}

#[test]
fn times_so_far_apart_that_their_difference_would_overflow_are_none() {
    for line in [
        "2262-04-11T23:47:16Z", // a second more, as `spread` may add, is beyond 64 bits
        "1700-01-01T00:00:00Z",
        "9223372036854775800",
        "9e18",
    ] {
        assert_eq!(time(line), None, "{line}");
    }
    let log =
        |year: u32| format!("h - - [11/Apr/{year}:23:47:16 +0000] \"GET / HTTP/1.1\" 200 5\n");
    assert!(access(&log(2262)).is_none());
    let both = log(2025) + &log(1700);
    let both = access(&both).unwrap().unwrap();
    assert_eq!((both.entries.len(), both.without_time), (1, 1));
    let (first, last) =
        (time("1825-01-01T00:00:00Z").unwrap(), time("2115-01-01 00:00:00").unwrap());
    let mut stamps = vec![first, first, last, last];
    assert_eq!(spread(&mut stamps), Some(1_000_000_000));
    assert!(stamps[3].checked_sub(stamps[0]).is_some());
}

#[test]
fn times_of_a_coarse_unit_are_spread_within_it_and_keep_their_order() {
    let second = 1_000_000_000;
    let whole: Vec<i64> = (0..3000).map(|nth| 7 * second + nth / 100 * second).collect();
    let mut once = whole.clone();
    assert_eq!(spread(&mut once), Some(second));
    assert!(once.windows(2).all(|pair| pair[0] <= pair[1]));
    assert!(once.iter().zip(&whole).all(|(ns, was)| ns / second == was / second));
    let mut again = whole.clone();
    spread(&mut again);
    assert_eq!(once, again, "the same in every run");
    // Evenly over the unit: a tenth of all in each tenth, within five sigma.
    for tenth in 0..10 {
        let within = once.iter().filter(|&&ns| ns % second * 10 / second == tenth).count() as f64;
        assert!(
            (within - 300.0).abs() < 5.0 * (3000.0_f64 * 0.1 * 0.9).sqrt(),
            "{tenth}: {within}"
        );
    }
    let mut ms = vec![5_000_000, 5_000_000, 7_000_000];
    assert_eq!(spread(&mut ms), Some(1_000_000), "the unit is found");
    let mut exact = vec![second, 2 * second, 5 * second];
    assert_eq!(spread(&mut exact), None, "no two are the same");
    assert_eq!(exact, [second, 2 * second, 5 * second]);
    let mut last = vec![i64::MAX - 7; 2]; // as far as a time of a log may lie
    assert_eq!(spread(&mut last), Some(100));
    let mut fine = vec![11, 11, 12];
    assert_eq!(spread(&mut fine), None, "to the ns");
}
