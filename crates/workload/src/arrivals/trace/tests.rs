use super::*;

fn gaps(text: &str) -> Vec<f64> {
    read(text, "f", None).unwrap().gaps_ns
}

#[test]
fn stamps_and_gaps_say_the_same() {
    let stamps = gaps("timestamp_s\n# night\n10.0\n\n10.5\n12.0\n");
    assert_eq!(stamps, [1e9, 0.5e9, 1.5e9]);
    assert_eq!(gaps("gap_ns\n100\n200\n"), [100.0, 200.0]);
    let log = gaps("timestamp_s path\n10 /a\n10.5 /b c\n12\t/a\n");
    assert_eq!(log, stamps, "the text behind the times is ignored");
}

#[test]
fn times_need_no_first_line_where_they_say_what_they_are() {
    let wanted = [1e9, 0.5e9, 1.5e9];
    for text in [
        "1716890400.0 /a\n1716890400.5 /b\n1716890402.0\n",
        "\u{feff}timestamp_s\r\n1716890400000\r\n1716890400500 /b\r\n1716890402000\r\n",
        "2024-05-28T10:00:00Z /a\n2024-05-28T12:00:00.5+02:00 /b\n2024-05-28 10:00:02 /c\n",
    ] {
        assert_eq!(gaps(text), wanted, "{text}");
    }
    let line =
        |second: &str| format!("h - - [28/May/2024:10:00:{second} +0000] \"GET / HTTP/1.1\" 200 5");
    let log = [
        line("02"),
        line("00"),
        line("00.5"),
        "h - - [28/May/2024:10:00:01 +0000] \"-\" 400 0".into(),
    ];
    let result = read(&log.join("\n"), "f", None).unwrap();
    assert_eq!(result.gaps_ns, wanted, "servers write a line when its request is over");
    let note = result.note.unwrap();
    assert!(note.starts_with("1 lines of the log have no request and were left out; "), "{note}");
    assert!(note.contains("3 requests of the log may have the time of their end"), "{note}");
}

#[test]
fn of_a_log_one_method_can_be_taken_and_times_are_needed() {
    let row = |at: &str, method: &str| format!("{at},/a,{method}\n");
    let rows = [row("10", "GET"), row("11", "POST"), row("12", "GET"), row("13", "GET")];
    let text = format!("time,path,method\n{}", rows.concat());
    let get = read(&text, "f", Some("GET")).unwrap();
    assert_eq!(get.gaps_ns, [1.5e9, 2e9, 1e9]);
    assert!(get.note.unwrap().contains("1 requests of the log have other methods"));
    assert_eq!(gaps(&text), [1e9; 4]);
    assert!(read(&text, "f", Some("PUT")).is_err(), "there is none");
    let targets = read("GET http://h/a\n", "f", None).unwrap_err();
    assert!(targets.what.contains("has a time"), "{targets}");
    let begins = read("start,path\n10,/a\n11,/b\n", "f", None).unwrap();
    assert_eq!(begins.note, None, "a burst would be the clients'");
}

#[test]
fn whole_seconds_are_spread_and_the_log_is_as_long_as_it_says() {
    let text: String = (0..3).map(|s| format!("{}\n", 1_716_890_400 + s).repeat(100)).collect();
    let result = read(&text, "f", None).unwrap();
    assert!(result.note.unwrap().contains("are of 1 s"), "the result says so");
    let (all, none) =
        (result.gaps_ns.len() as f64, result.gaps_ns.iter().filter(|&&ns| ns == 0.0).count());
    let length_s = result.gaps_ns.iter().sum::<f64>() / 1e9;
    assert!((2.8..3.2).contains(&length_s) && none == 0, "{all} in {length_s} s, {none} at once");
    assert_eq!(read("timestamp_s\n1\n2\n5\n", "f", None).unwrap().note, None);
}

#[test]
fn mistakes_name_the_line() {
    let wrong = [
        ("", "line 1"),
        ("1\n2\n", "line 1"),
        ("gap_ns\n", "line 1"),
        ("gap_ns\n0\n0\n", "line 1"),
        ("gap_ns\n1e308\n1e308\n", "line 1"),
        ("gap_ns\n9e18\n2e18\n", "line 1"),
        ("gap_ns\n5\nx\n", "line 3"),
        ("gap_ns\n5\n-1\n", "line 3"),
        ("timestamp_s\n2\n\n1\n", "line 4"),
        ("gap_ns\nNaN\n", "line 2"),
        ("timestamp_s\n", "line 1"),
        ("1716890400\nx\n", "line 2"),
    ];
    for (text, at) in wrong {
        assert_eq!(read(text, "f", None).unwrap_err().at, at, "{text:?}");
    }
    let unsorted = read("timestamp_s\n2\n1\n", "my.log", None).unwrap_err();
    assert!(unsorted.fix.contains("sort -s -n my.log"), "{unsorted}");
    assert!(build("/no/such/file", 1.0).unwrap_err().at.contains("/no/such/file"));
    for both in ["f,speed=2,scaled", "f,scaled,speed=2"] {
        let fault = build(both, 1.0).unwrap_err();
        assert!(fault.what.contains("both a speed and the job's rate"), "{both}: {fault}");
    }
    let named = build("/no/a,scaled,b.log,speed=2", 1.0).unwrap_err();
    assert!(named.at.contains("/no/a,scaled,b.log"), "the word is part of a file's name: {named}");
}

#[test]
fn the_file_of_a_trace_is_its_name_whatever_stands_behind_it() {
    for (arrivals, file) in [
        ("trace:f", Some("f")),
        ("trace:f,scaled", Some("f")),
        ("trace:a,b.log,speed=2,method=GET", Some("a,b.log")),
        ("trace:a,b.log", Some("a,b.log")),
        ("trace:a,scaled,b.log", Some("a,scaled,b.log")),
        ("poisson", None),
        ("traces:f", None),
    ] {
        assert_eq!(trace_file(arrivals), file, "{arrivals}");
    }
    let written = trace_of("a,b.log", 0.5, Some("PUT"));
    assert_eq!(written, "trace:a,b.log,speed=0.5,method=PUT");
    assert_eq!(trace_file(&written), Some("a,b.log"));
    assert_eq!(trace_of("f", 2.0, None), "trace:f,speed=2");
}

#[test]
fn a_trace_brings_its_own_rate_unless_it_is_scaled() {
    let path = std::env::temp_dir().join(format!("sojourn-trace-{}", std::process::id()));
    std::fs::write(&path, "gap_ns\n1000\n3000\n").unwrap();
    let text = path.display().to_string();
    let own = build(&text, 7.0).unwrap();
    std::fs::remove_file(&path).unwrap(); // a pipe cannot be read again, either
    let mut scaled = build(&format!("{text},scaled"), 7.0).unwrap();
    assert_eq!((own.own_rate_rps(), scaled.own_rate_rps()), (Some(500_000.0), None));
    let mut rng = sojourn_base::rng::stream(1, "trace", 0);
    let gaps: Vec<f64> = (0..4).map(|_| scaled.next_gap(&mut rng)).collect();
    assert_eq!(gaps, [0.5, 1.5, 0.5, 1.5], "repeated");
}
