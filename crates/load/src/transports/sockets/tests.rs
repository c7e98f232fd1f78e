use super::*;

#[test]
fn a_machine_without_a_local_port_says_so_and_what_helps() {
    let error = io::Error::from_raw_os_error(libc::EADDRNOTAVAIL);
    let http = Address::Ip("127.0.0.1:80".parse().unwrap());
    let fault = refused(&error, &http, 28_000, 40_000);
    assert!(fault.what.contains("connection 28001 of 40000"), "{fault}");
    assert!(fault.what.contains("no local port left"), "{fault}");
    assert!(fault.fix.contains("--source"), "{fault}");
}

/// The limit is of the process: how many files all of its threads need, `refused` cannot know.
#[test]
fn where_no_more_files_may_be_open_the_number_for_the_whole_run_is_advised() {
    let error = io::Error::from_raw_os_error(libc::EMFILE);
    let http = Address::Ip("127.0.0.1:80".parse().unwrap());
    for (has_spares, limit) in [(false, "ulimit -n 501"), (true, "ulimit -n 902")] {
        let fault = refused(&error, &http, 60, 100);
        let fault = files::numbered(fault, files::needed(400, has_spares));
        assert!(fault.what.contains("connection 61 of 100"), "{fault}");
        assert!(fault.fix.ends_with(limit), "{fault}");
    }
}

#[test]
fn a_connection_that_times_out_may_be_one_too_many_or_to_a_server_far_away() {
    let http = Address::Ip("127.0.0.1:80".parse().unwrap());
    let fault = refused(&io::ErrorKind::TimedOut.into(), &http, 166, 200);
    assert!(fault.what.contains("connection 167 of 200"), "{fault}");
    assert!(fault.fix.contains("200 connections") && fault.fix.contains("round trip"), "{fault}");
}

#[test]
fn an_address_of_another_machine_is_refused_as_a_source() {
    let server = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let elsewhere = "192.0.2.1".parse().unwrap(); // RFC 5737: documentation only
    let fault = connect(
        &mut [vec![server.local_addr().unwrap().into()]],
        false,
        &[elsewhere],
        1,
        &Greeting::default(),
    )
    .unwrap_err();
    assert_eq!((fault.at.as_str(), fault.exit), ("source", 2));
}

/// Two addresses of this machine, of which the first has no listener.
fn half_there() -> (std::net::TcpListener, Vec<Address>) {
    let server = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let there = server.local_addr().unwrap();
    let gone = SocketAddr::new([127, 0, 0, 2].into(), there.port());
    (server, vec![gone.into(), there.into()])
}

#[test]
fn the_first_address_of_a_name_that_can_be_reached_is_used_for_all() {
    let (_server, all) = half_there();
    for datagrams in [false, true] {
        let mut servers = [all.clone()];
        let sockets = connect(&mut servers, datagrams, &[], 3, &Greeting::default()).unwrap();
        assert_eq!(servers, [vec![all[1].clone()]], "the other one is forgotten");
        let peer = |it: &Socket| Address::Ip(it.peer_addr().unwrap().as_socket().unwrap());
        assert!(sockets.iter().all(|it| peer(it) == all[1]), "datagrams: {datagrams}");
    }
    let mut back = [vec![all[1].clone(), all[0].clone()]];
    connect(&mut back, false, &[], 1, &Greeting::default()).unwrap();
    assert_eq!(back, [vec![all[1].clone()]]);
}

#[test]
fn where_no_address_can_be_reached_each_is_reported() {
    let (server, all) = half_there();
    drop(server);
    let fault = connect(&mut [all.clone()], false, &[], 1, &Greeting::default()).unwrap_err();
    for address in &all {
        assert!(fault.what.contains(&address.to_string()), "{address} in {fault}");
    }
    assert!(fault.fix.contains("start the server"), "{fault}");
}

#[test]
fn an_address_of_another_family_than_the_source_is_passed_over() {
    let server = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let there: Address = server.local_addr().unwrap().into();
    let six = SocketAddr::new(std::net::Ipv6Addr::LOCALHOST.into(), 1);
    let mut servers = [vec![six.into(), there.clone()]];
    let source = ["127.0.0.1".parse().unwrap()];
    connect(&mut servers, false, &source, 1, &Greeting::default()).unwrap();
    assert_eq!(servers, [vec![there]]);
}
