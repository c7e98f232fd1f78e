//! One case of each protocol: requests, the bytes of their replies, and what each comes to.

use super::*;

/// Requests, the bytes of their replies one after another, and what each comes to.
pub(crate) struct Case {
    pub protocol: Arc<dyn Protocol>,
    pub asked: Vec<Asked>,
    pub bytes: Vec<u8>,
    pub outcomes: Vec<Outcome>,
}

fn memcache() -> Case {
    let get = |item| format!("VALUE {} 0 200\r\n{}\r\n", key(item), value(item));
    let wrong = value(4).replace(&value(4)[..9], "#########");
    let bytes = [
        get(3) + "END\r\n",
        "END\r\n".into(),
        "STORED\r\n".into(),
        format!("VALUE {} 0 200\r\n{wrong}\r\nEND\r\n", key(4)),
        format!("VALUE {} 0 5\r\nshort\r\nEND\r\n", key(5)),
        "SERVER_ERROR out of memory storing object\r\n".into(),
        get(6) + &get(8) + "END\r\n",
        get(48) + &get(49) + &get(0) + "END\r\n",
        "SERVER_ERROR object too large for cache\r\n".into(),
    ];
    Case {
        protocol: set_up("memcache://h", |job| {
            (job.multiget_share, job.multiget_keys) = (0.1, 3);
        }),
        asked: vec![
            asked(GET, 3),
            asked(GET, 7),
            asked(SET, 1),
            asked(GET, 4),
            asked(GET, 5),
            asked(GET, 5),
            asked(MULTIGET, 6),
            asked(MULTIGET, 48),
            asked(SET, 2),
        ],
        bytes: bytes.concat().into_bytes(),
        outcomes: vec![
            Outcome::Hit,
            Outcome::Miss,
            Outcome::Hit,
            Outcome::Content,
            Outcome::Length,
            Outcome::Status,
            Outcome::Miss,
            Outcome::Hit,
            Outcome::Status,
        ],
    }
}

fn resp() -> Case {
    let bytes = [
        format!("$200\r\n{}\r\n", value(1)),
        "$-1\r\n".into(),
        "+OK\r\n".into(),
        "-OOM command not allowed\r\n".into(),
        format!("$200\r\n{}\r\n", value(2)),
        "$0\r\n\r\n".into(),
        "_\r\n".into(),
    ];
    Case {
        protocol: set_up("resp://h", |_| ()),
        asked: vec![
            asked(GET, 1),
            asked(GET, 2),
            asked(SET, 3),
            asked(SET, 3),
            asked(GET, 9),
            asked(GET, 1),
            asked(GET, 1),
        ],
        bytes: bytes.concat().into_bytes(),
        outcomes: vec![
            Outcome::Hit,
            Outcome::Miss,
            Outcome::Hit,
            Outcome::Status,
            Outcome::Content,
            Outcome::Length,
            Outcome::Miss,
        ],
    }
}

pub(super) fn http() -> Case {
    let bytes = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello\
        HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3;x=y\r\nhel\r\n2\r\nlo\r\n0\r\nT: 1\r\n\r\n\
        HTTP/1.1 404 Not Found\r\ncontent-length: 3\r\n\r\nno!\
        HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n\
        HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nfour\
        HTTP/1.1 204 No Content\r\n\r\n\
        HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 5\r\n\r\nhello";
    Case {
        protocol: set_up("http://h/", |job| job.expect_bytes = 5),
        asked: vec![asked(GET, 0); 7],
        bytes: bytes.as_bytes().to_vec(),
        outcomes: vec![
            Outcome::Hit,
            Outcome::Hit,
            Outcome::Miss,
            Outcome::Status,
            Outcome::Length,
            Outcome::Length,
            Outcome::Hit,
        ],
    }
}

fn echo() -> Case {
    let protocol = set_up("echo://h", |_| ());
    let asked = vec![asked(GET, 1), asked(GET, 2), asked(GET, 3)];
    let mut bytes = Vec::new();
    for &asked in &asked {
        protocol.encode(asked, &mut bytes);
    }
    bytes[2 * (echo::HEADER + 200) - 1] ^= 1;
    Case { protocol, asked, bytes, outcomes: vec![Outcome::Hit, Outcome::Content, Outcome::Hit] }
}

fn null() -> Case {
    Case {
        protocol: set_up("null:", |_| ()),
        asked: vec![Asked::default(); 3],
        bytes: vec![0; 3],
        outcomes: vec![Outcome::Hit; 3],
    }
}

pub(super) fn cases() -> Vec<(&'static str, Case)> {
    type Own = (&'static str, fn() -> Case);
    let own: [Own; 6] = [
        ("memcache", memcache),
        ("http", http),
        ("resp", resp),
        ("postgres", postgres::tests::case),
        ("echo", echo),
        ("null", null),
    ];
    let of = |entry: &ProtocolKind| {
        let named = own.iter().find(|(name, _)| *name == entry.kind.name).map(|(_, case)| *case);
        named.or(entry.case).expect("every protocol has its case")()
    };
    KINDS.iter().map(|entry| (entry.kind.name, of(entry))).collect()
}
