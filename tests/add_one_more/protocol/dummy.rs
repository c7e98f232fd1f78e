//! A protocol that is nobody's: what it takes to add one. It says hello, has an operation of its own
//! (`scan`), and an option that no other has (`user`).

use std::sync::Arc;

use sojourn_base::Fault;
use sojourn_base::kind::{Kind, Param};
use sojourn_workload::plan::Op;

use super::{Asked, Decoder, GET, Operation, PLAIN, Protocol, ProtocolKind, Step};
use crate::job::Job;
use crate::job::target::{Scheme, Target};
use crate::protocols::Outcome;
use crate::protocols::content::Content;
use crate::transports::hello::{Greeting, Hello, HelloState};

const SCAN: Op = Op(1);

struct Dummy {
    user: String,
}

/// `HELLO user`, answered by `READY`.
struct StartUp {
    user: String,
    heard: Vec<u8>,
}

impl Hello for StartUp {
    fn say(&mut self, heard: &[u8], out: &mut Vec<u8>) -> HelloState {
        if heard.is_empty() {
            out.extend_from_slice(format!("HELLO {}\n", self.user).as_bytes());
            return HelloState::More;
        }
        self.heard.extend_from_slice(heard);
        match self.heard.iter().position(|&byte| byte == b'\n') {
            None => HelloState::More,
            Some(end) if &self.heard[..end] == b"READY" => HelloState::Done,
            Some(_) => HelloState::Refused,
        }
    }
}

impl Protocol for Dummy {
    fn encode(&self, asked: Asked, out: &mut Vec<u8>) {
        out.push(if asked.op == SCAN { b's' } else { b'g' });
    }

    fn decoder(&self) -> Box<dyn Decoder> {
        Box::new(Reader)
    }

    fn request_bytes_max(&self) -> usize {
        1
    }

    fn hello(&self) -> Greeting {
        let user = self.user.clone();
        Greeting::new(move || Box::new(StartUp { user: user.clone(), heard: Vec::new() }))
    }
}

struct Reader;

impl Decoder for Reader {
    fn read(&mut self, asked: Asked, bytes: &[u8]) -> Step {
        let wanted = if asked.op == GET { b'g' } else { b's' };
        let outcome = if bytes[0] == wanted { Outcome::Hit } else { Outcome::Garbled };
        Step::end(1, outcome, 0)
    }

    fn reset(&mut self) {}
}

pub(super) const KIND: ProtocolKind = ProtocolKind {
    kind: Kind {
        name: "dummy",
        about: "one letter there, the same back, after a greeting",
        usage: "dummy://HOST:PORT",
        params: &[
            Param { name: "user", unit: "", about: "who asks", default: "nobody", range: "" },
            Param {
                name: "scan_share",
                unit: "ratio",
                about: "requests that are scans",
                default: "0",
                range: "0..1",
            },
        ],
        needs: &[],
        source: "",
    },
    schemes: &[Scheme::stream("dummy", 7011)],
    operations: &[
        Operation { name: "get", share: "" },
        Operation { name: "scan", share: "scan_share" },
    ],
    options: &["user", "scan_share"],
    build,
    #[cfg(test)]
    case: Some(tests::case),
    ..PLAIN
};

fn build(job: &Job, _: &Target, _: &Arc<Content>) -> Result<Arc<dyn Protocol>, Fault> {
    let user = KIND.option(job, "user").to_owned();
    if user.is_empty() {
        return Err(Fault::usage("the user has no name", "option user", "give --option user=NAME"));
    }
    Ok(Arc::new(Dummy { user }))
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpListener;

    use super::super::tests::Case;
    use super::*;
    use crate::plan::schedule;
    use crate::transports::sockets;

    fn job(options: &[(&str, &str)]) -> Job {
        let option = options.iter().map(|(name, value)| ((*name).into(), (*value).into()));
        Job { target: "dummy://h".into(), option: option.collect(), seed: 1, ..Job::default() }
    }

    pub(super) fn case() -> Case {
        let protocol = super::super::build(&job(&[]), &super::super::target("dummy://h").unwrap());
        let asked = |op, id| Asked { op, item: id, id };
        Case {
            protocol: protocol.unwrap(),
            asked: vec![asked(GET, 0), asked(SCAN, 1), asked(GET, 2)],
            bytes: b"gsg".to_vec(),
            outcomes: vec![Outcome::Hit; 3],
        }
    }

    #[test]
    fn its_own_operation_is_drawn_as_often_as_its_own_option_says() {
        let plan = schedule::draw(&job(&[("scan_share", "0.5")]), 0).unwrap();
        let scans = plan.op.iter().filter(|&&op| op == SCAN).count() as f64;
        let n = plan.op.len() as f64;
        assert!((scans / n - 0.5).abs() < 5.0 * (0.25 / n).sqrt(), "five sigma: {scans} of {n}");
    }

    #[test]
    fn a_server_hears_the_greeting_before_the_first_request() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let server = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut heard = [0; 10];
            stream.read_exact(&mut heard).unwrap();
            stream.write_all(b"REA").unwrap();
            stream.write_all(b"DY\n").unwrap();
            heard
        });
        let job = job(&[("user", "anna")]);
        let protocol = super::super::build(&job, &super::super::target("dummy://h").unwrap());
        let opened = sockets::connect(&mut [vec![address.into()]], false, &[], 1, &protocol.unwrap().hello());
        assert_eq!(&server.join().unwrap()[..], b"HELLO anna"[..10].as_ref());
        assert_eq!(opened.unwrap().len(), 1);
    }
}
