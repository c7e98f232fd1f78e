//! Spares: closed at first, each opened beside its connection.

use super::*;

#[test]
fn a_spare_is_opened_beside_its_connection_from_the_same_source_and_outlives_it() {
    let sources: Vec<IpAddr> = ["127.0.0.2", "127.0.0.3"].map(|it| it.parse().unwrap()).to_vec();
    for entry in usable() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let sources = sources.clone();
        let ends = Ends { says_more: true, spares: 2, sources, ..ends(address, 2, 64) };
        let mut transport = (entry.open)(ends).unwrap();
        let transport = transport.as_mut();
        let (_first, mut old) = (listener.accept().unwrap(), listener.accept().unwrap().0);
        reopen(transport, 3);
        let (mut new, from) = listener.accept().unwrap();
        assert_eq!(from.ip(), IpAddr::from([127, 0, 0, 3]), "{}", entry.kind.name);
        let mut result = Received::of(4);
        transport.send(1, b"old");
        transport.send(3, b"new");
        old.write_all(b"to 1").unwrap();
        new.write_all(b"to 3").unwrap();
        result.until(transport, |it| it.bytes[1] == b"to 1" && it.bytes[3] == b"to 3");
        let mut heard = [[0; 3]; 2];
        old.read_exact(&mut heard[0]).unwrap();
        new.read_exact(&mut heard[1]).unwrap();
        assert_eq!(heard, [*b"old", *b"new"], "{}", entry.kind.name);
        transport.close(1);
        new.write_all(b", too").unwrap();
        result.until(transport, |it| it.bytes[3] == b"to 3, too");
        assert!(result.closed.is_empty(), "{}", entry.kind.name);
    }
}

#[test]
fn a_spare_is_refused_where_nothing_listens_and_its_connection_goes_on() {
    for entry in usable() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let ends = Ends { says_more: true, spares: 1, ..ends(address, 1, 64) };
        let mut transport = (entry.open)(ends).unwrap();
        let (mut old, _) = listener.accept().unwrap();
        drop(listener);
        let deadline = Instant::now() + DEADLINE;
        while transport.reopen(1) != Reopen::Refused {
            assert!(Instant::now() < deadline, "{}", entry.kind.name);
        }
        let mut result = Received::of(2);
        old.write_all(b"late").unwrap();
        result.until(transport.as_mut(), |it| it.bytes[0] == b"late");
        assert!(result.closed.is_empty(), "{}", entry.kind.name);
    }
}
