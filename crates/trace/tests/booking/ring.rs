//! What the black box counts of one connection, to the microsecond: `ring.c` plays the kernel.

use std::sync::OnceLock;

use crate::world::{compiled, played};

/// Requests (start, total, µs), how many are lower bounds and came together, those of others, and signals.
#[derive(Debug, Default, PartialEq)]
struct Counted {
    requests: Vec<[u64; 2]>,
    lower_bounds: u64,
    together: u64,
    foreign: u64,
    signals: Vec<u64>,
}

/// What the script, events apart by `;`, leads to.
fn counted(script: &str) -> Counted {
    static PROGRAM: OnceLock<std::path::PathBuf> = OnceLock::new();
    let program = PROGRAM.get_or_init(|| compiled("booking-ring", "ring.c", &[]));
    let text = played(program, script);
    let mut result = Counted::default();
    for line in text.lines() {
        let (word, rest) = line.split_once(' ').unwrap();
        let numbers: Vec<u64> = rest.split(' ').map(|word| word.parse().unwrap()).collect();
        if word == "request" {
            result.requests.push([numbers[0], numbers[1]]);
        } else if word == "signal" {
            result.signals.push(numbers[0]);
        } else {
            (result.together, result.lower_bounds) = (numbers[0], numbers[1]);
            result.foreign = numbers[3];
            assert_eq!(numbers[2], result.requests.len() as u64, "all are in the totals");
        }
    }
    result
}

#[test]
fn a_request_lasts_from_its_first_bytes_to_the_first_of_its_reply() {
    for script in [
        "100 come 80; 110 take 80; 140 send 10; 150 send 10",
        // More of it, before the service comes to read.
        "100 come 40; 130 come 40; 135 take 80; 140 send 10",
        // The client sends no more, and sees the reply in two parts.
        "100 come 80; 110 take 80; 120 fin 0; 140 send 10; 500 send 10",
        "100 come 80; 110 take 80; 120 fin 0; 130 take 1; 140 send 10; 500 send 10",
    ] {
        let result = counted(script);
        let wanted = Counted { requests: vec![[100, 40]], ..Counted::default() };
        assert_eq!(result, wanted, "{script}");
    }
}

/// An ACK, and then nothing for a minute.
#[test]
fn idle_time_after_bytes_that_get_no_reply_is_in_no_request() {
    let minute = 60_000_000;
    let first = "100 come 80; 110 take 80; 140 send 10; 200 come 9; 201 take 9;";
    let result = counted(&format!("{first} {minute} come 80; 60000010 take 80; 60001000 send 10"));
    let requests = vec![[100, 40], [minute, 1_000]];
    let wanted = Counted { requests, lower_bounds: 1, together: 1, ..Counted::default() };
    assert_eq!(result, wanted);
    // It came before the reply had been sent, and was read afterwards.
    let first = "100 come 80; 110 take 80; 130 come 9; 140 send 10; 150 take 9;";
    let result = counted(&format!("{first} {minute} come 80; 60000010 take 80; 60001000 send 10"));
    assert_eq!(result.requests, [[130, 10], [minute, 1_000]]);
    assert_eq!(result.lower_bounds, 2, "{result:?}");
}

#[test]
fn a_body_in_parts_is_never_longer_than_it_was_and_counted_as_a_lower_bound() {
    let result = counted("100 come 80; 110 take 80; 150 come 80; 160 take 80; 190 send 10");
    let requests = vec![[150, 40]];
    let wanted = Counted { requests, lower_bounds: 1, together: 1, ..Counted::default() };
    assert_eq!(result, wanted);
    let result = counted(
        "5 come 80; 10 take 80; 20 come 80; 30 take 80; 40 send 10; 200 come 80; 210 take 80; 220 send 10",
    );
    assert_eq!((result.requests[1], result.lower_bounds), ([200, 20], 1), "the mark goes with it");
}

/// The server reads nothing while it is stopped, so that what comes meanwhile takes nothing away.
#[test]
fn a_stall_is_in_the_time_whatever_comes_meanwhile() {
    let result = counted("100 come 80; 200 come 80; 300 come 80; 900 take 240; 910 send 10");
    assert_eq!((result.requests, result.lower_bounds), (vec![[100, 810]], 0));
}

#[test]
fn requests_that_come_before_the_reply_to_others_are_lower_bounds() {
    let result = counted(
        "100 come 80; 110 take 80; 120 come 80; 130 send 10; 131 take 80; 140 send 10; \
         200 come 80; 210 take 80; 220 send 10",
    );
    let requests = vec![[120, 10], [120, 20], [200, 20]];
    let wanted = Counted { requests, lower_bounds: 2, together: 2, ..Counted::default() };
    assert_eq!(result, wanted);
}

/// Two containers listen on a port of the same number: the hooks see the connections of both.
#[test]
fn requests_that_another_service_replies_to_are_in_no_number_but_their_own() {
    let body = "100 come 80; 110 take 80; 150 come 80; 160 take 80; 190 other 10; 195 other 10;";
    let result = counted(&format!("{body} 200 come 80; 210 take 80; 900 other 10"));
    assert_eq!(result, Counted { foreign: 2, ..Counted::default() });
    let own = "300 come 80; 310 take 80; 340 send 10";
    let result = counted(&format!("{body} {own}"));
    let wanted = Counted { requests: vec![[300, 40]], foreign: 1, ..Counted::default() };
    assert_eq!(result, wanted, "what came to the other one is not put down to the next request");
}

/// Another process may have its number then, and it is none of the service's until it is seen as one.
#[test]
fn a_process_is_watched_until_its_last_thread_has_ended() {
    let request = "100 come 80; 110 take 80; 140 send 10";
    let result = counted(&format!("50 exit 1; {request}"));
    assert_eq!((result.requests, result.foreign), (vec![[100, 40]], 0), "it has another thread");
    let result = counted(&format!("50 exit 0; {request}; 200 signal 15"));
    assert_eq!(result, Counted { foreign: 1, ..Counted::default() });
}

#[test]
fn signals_that_may_end_the_service_are_seen_and_those_that_it_ignores_are_not() {
    let sent: Vec<String> = (1..=31).map(|number| format!("10 signal {number}")).collect();
    let seen = counted(&sent.join(";")).signals;
    assert_eq!(seen, [1, 2, 3, 4, 6, 7, 8, 9, 11, 13, 15, 19, 24, 25, 31]);
    assert_eq!(counted("10 ignored 13; 11 ignored 1; 12 signal 9").signals, [9]);
}
