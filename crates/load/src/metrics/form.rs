//! The form in which a run answers Prometheus.

use sojourn_base::scrape::{Answer, TEXT};

use super::{Seen, protobuf, text};

/// What is known, in the form that the head of a request asks for.
pub fn answer(head: &str, seen: &Seen) -> Answer {
    if is_native(head) {
        Answer { kind: protobuf::KIND, body: protobuf::body(seen) }
    } else {
        Answer { kind: TEXT, body: text::body(seen) }
    }
}

/// Whether the client asks for Prometheus' messages; it does where native histograms are on.
fn is_native(head: &str) -> bool {
    head.lines().any(|line| {
        let line = line.to_ascii_lowercase();
        line.starts_with("accept:") && line.contains("application/vnd.google.protobuf")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_answers_in_the_form_that_is_asked_for() {
        let seen = Seen { sent: 7, times: vec![0; super::super::LEN], ..Seen::default() };
        let plain = answer("GET /metrics HTTP/1.1\r\n\r\n", &seen);
        let text = String::from_utf8(plain.body).expect("text");
        assert!(plain.kind.contains("openmetrics-text") && text.ends_with("# EOF\n"), "{text}");
        assert!(text.contains("sojourn_load_sent_total 7\n"), "{text}");
        let accept = "Accept: application/vnd.google.protobuf;proto=x;q=0.7,text/plain";
        let native = answer(&format!("GET /metrics HTTP/1.1\r\n{accept}\r\n\r\n"), &seen);
        assert!(native.kind.contains("encoding=delimited"), "{}", native.kind);
    }
}
