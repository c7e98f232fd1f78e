//! Answers Prometheus with the newest text.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use sojourn_base::Fault;
use sojourn_base::scrape::{self, Answer, Listener};

/// The text that is answered; whoever has it sets it anew.
pub type Text = Arc<Mutex<String>>;

/// Serves `text` on a thread of its own, until this process ends. Where it listens.
///
/// # Errors
/// The address cannot be had.
pub fn serve(address: SocketAddr, text: Text) -> Result<String, Fault> {
    let listener = Listener::open(&address.to_string())?;
    let url = listener.url();
    let answer = move |_: &str| {
        let body = text.lock().unwrap_or_else(PoisonError::into_inner).clone();
        Answer { kind: scrape::TEXT, body: body.into() }
    };
    let serving = move || listener.serve(answer);
    thread::Builder::new().name("metrics".into()).spawn(serving).map_err(|error| {
        let what = format!("no thread can be started: {error}");
        Fault::failed(what, "--listen", "raise the limit on threads (ulimit -u)")
    })?;
    Ok(url)
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};
    use std::net::TcpStream;

    use super::*;

    fn ask(url: &str) -> String {
        let address = url.trim_start_matches("http://").trim_end_matches("/metrics");
        let mut stream = TcpStream::connect(address).unwrap();
        stream.write_all(b"GET /metrics HTTP/1.1\r\n\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    #[test]
    fn it_answers_with_the_newest_text() {
        let text: Text = Arc::new(Mutex::new("a 1\n".into()));
        let url = serve(scrape::address("0").unwrap(), Arc::clone(&text)).unwrap();
        assert!(ask(&url).ends_with("\r\n\r\na 1\n"));
        *text.lock().unwrap() = "a 2\n".into();
        assert!(ask(&url).ends_with("\r\n\r\na 2\n"));
        let taken = url.trim_start_matches("http://").trim_end_matches("/metrics");
        assert!(serve(taken.parse().unwrap(), text).is_err(), "the port is taken");
    }
}
