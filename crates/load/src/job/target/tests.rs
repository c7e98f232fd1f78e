use super::*;
use crate::protocols::target as parse;

#[test]
fn targets_are_taken_apart() {
    let http = parse("http://localhost:8080/a/b").unwrap();
    assert_eq!(
        (http.scheme.name, http.host.as_str(), http.port, http.path.as_str()),
        ("http", "localhost", 8080, "/a/b")
    );
    let six = parse("memcache+udp://[::1]").unwrap();
    assert_eq!((six.host.as_str(), six.port), ("::1", 11211));
    assert_eq!(parse("null:").unwrap().scheme.carrier, Carrier::Nothing);
}

#[test]
fn several_servers_are_named_in_their_order() {
    let port = |address: &Address| match address {
        Address::Ip(address) => address.port(),
        Address::Unix(_) => 0,
    };
    let three = parse("memcache://127.0.0.1:1,127.0.0.2,[::1]:3").unwrap();
    assert_eq!(three.servers(), 3);
    let result = three.addresses().unwrap();
    let ports: Vec<u16> = result.iter().map(|of_one| port(&of_one[0])).collect();
    assert_eq!(ports, [1, 11211, 3]);
}

#[test]
fn a_unix_socket_is_a_path_and_may_have_another_behind_it() {
    let cache = parse("memcache://unix:/run/mc.sock").unwrap();
    assert_eq!((cache.host.as_str(), cache.path.as_str()), ("unix:/run/mc.sock", "/"));
    assert_eq!(cache.addresses().unwrap(), [vec![Address::Unix("/run/mc.sock".into())]]);
    let web = parse("http://unix:/run/a.sock:/x/{}").unwrap();
    assert_eq!((web.place().as_str(), web.path.as_str()), ("unix:/run/a.sock", "/x/{}"));
    assert_eq!((web.authority().as_str(), web.is_unix()), ("localhost", true));
    for text in ["http://unix:", "http://unix:a", "http://unix:/a:b", "memcache+udp://unix:/a"] {
        assert!(parse(text).unwrap_err().fix.contains("unix:/SOCKET"), "{text}");
    }
}

#[test]
fn who_asks_is_before_the_host_and_a_password_is_never_shown() {
    let shop = parse("postgres://me@127.0.0.1/shop").unwrap();
    assert_eq!((shop.user.as_str(), shop.port, shop.path.as_str()), ("me", 5432, "/shop"));
    let local = parse("postgresql://me@unix:/run/.s.PGSQL.5432:/shop").unwrap();
    assert_eq!((local.user.as_str(), local.path.as_str()), ("me", "/shop"));
    assert_eq!(local.host, "unix:/run/.s.PGSQL.5432");
    assert_eq!(parse("postgres://unix:/run/a@b").unwrap().user, "");
    for text in [
        "postgres://me:hunter2@h/shop",
        "http://me:hunter2@",
        "resp://:hunter2@h",
        "resp://:hun/hunter2@h",
        "resp://:hunter2/x@h",
        "http://me:hunter2?#@h:80/",
        "http://me:é/hunter2@h:80/",
        "null://me:hunter2@h",
        "me:hunter2@h:80",
    ] {
        let fault = parse(text).unwrap_err();
        assert!(fault.fix.contains("--auth"), "{fault}");
        assert!(!fault.to_string().contains("hunter2"), "{fault}");
    }
}

#[test]
fn what_is_no_target_is_refused_with_an_example() {
    for text in [
        "",
        "127.0.0.1",
        "memcache:127.0.0.1",
        "http://:80/",
        "http://h:99999/",
        "memcache://h,",
        "http://[]/",
        "http://[h]/",
        "http://[::1]8080/",
        "http://[::1]:0/",
        "http://h:+80/",
        "http://h:8 /",
        "http://h:80:81/",
    ] {
        assert!(parse(text).unwrap_err().fix.contains("SCHEME"), "{text}");
    }
    for text in ["unix:///run/a.sock", "http+unix://%2Frun%2Fa.sock/x"] {
        assert!(parse(text).unwrap_err().fix.contains("http://unix:/SOCKET:/PATH"), "{text}");
    }
    assert!(parse("memcached://h").unwrap_err().fix.contains("did you mean memcache"));
    let fault = parse("//127.0.0.1:80/x").unwrap_err();
    assert!(fault.fix.contains("http://127.0.0.1:80/x"), "{fault}");
    assert!(parse("http://bücher.example/").unwrap_err().fix.contains("xn--"));
    for text in ["127.0.0.1:7801/x", "localhost:80", "[::1]:80/", "a.example:443"] {
        let fault = parse(text).unwrap_err();
        assert!(fault.fix.contains(&format!("http://{text}")), "{fault}");
    }
}

#[test]
fn a_query_may_follow_the_port_and_a_scheme_is_the_same_in_capitals() {
    let path = |text: &str| parse(text).unwrap().path;
    assert_eq!(path("http://h:1?x=1"), "/?x=1");
    assert_eq!(path("http://h?x=a@b/c"), "/?x=a@b/c");
    assert_eq!(path("http://h/a?x=1"), "/a?x=1");
    assert_eq!(path("http://h:1#top"), "/#top");
    assert_eq!(path(" http://h/a\n"), "/a");
    let port = |text: &str| parse(text).unwrap().port;
    assert_eq!((port("http://h:/"), port("https://h:?x"), port("h2c://[::1]:/")), (80, 443, 80));
    assert_eq!((port("http://h:08080/"), port("memcache://h:,g:2")), (8080, 11211));
    for path in ["/a,b", "/at/48.2,16.4?x=1,2", "/,", "/a,/b"] {
        let one = parse(&format!("http://h:1{path}")).unwrap();
        assert_eq!((one.servers(), one.path.as_str()), (1, path), "commas part servers alone");
    }
    let both = parse("memcache://a:1,b:2/x,y").unwrap();
    assert_eq!((both.servers(), both.path.as_str()), (2, "/x,y"));
    let loud = parse("HTTP://h:1/A").unwrap();
    assert_eq!((loud.scheme.name, loud.path.as_str()), ("http", "/A"));
    assert_eq!(parse("MemCache+UDP://h").unwrap().scheme.name, "memcache+udp");
}

/// RFC 9110, 4.2: the usual port is left out. RFC 6874, 4: a zone is of this machine alone.
#[test]
fn a_request_names_the_host_as_it_was_typed_and_what_the_server_can_know() {
    let names = |text: &str| parse(text).unwrap().authority();
    for (text, wanted) in [
        ("http://a.example/", "a.example"),
        ("http://a.example:80/", "a.example"),
        ("https://a.example:443/", "a.example"),
        ("https://a.example:80/", "a.example:80"),
        ("http://a.example:443/", "a.example:443"),
        ("h2://a.example/", "a.example"),
        ("h2c://[::1]:80/", "[::1]"),
        ("grpc://h/a.B/C", "h:50051"),
        ("grpcs://h/a.B/C", "h"),
        ("http://[fe80::1%25eth0]:81/", "[fe80::1]:81"),
        ("http://[fe80::1%eth0]/", "[fe80::1]"),
    ] {
        assert_eq!(names(text), wanted, "{text}");
    }
    let zoned = parse("http://[fe80::1%25eth0]:81/").unwrap();
    assert_eq!((zoned.host.as_str(), zoned.host_without_zone()), ("fe80::1%eth0", "fe80::1"));
}

#[test]
fn a_name_represents_all_its_addresses_each_once() {
    let all = parse("http://localhost:81/").unwrap().addresses().unwrap();
    let [all] = &all[..] else { panic!("one host") };
    assert!(!all.is_empty());
    assert!((1..all.len()).all(|nth| !all[..nth].contains(&all[nth])), "{all:?}");
}

/// HTTP has no `--auth password:`, so its users are not sent there.
#[test]
fn a_password_in_a_target_is_sent_to_an_option_that_its_protocol_has() {
    for target in ["http://me:pw@h/", "h2://me:pw@h/", "redis://:pw@h/", "postgres://me:pw@h/db"] {
        let fault = parse(target).unwrap_err();
        assert!(!fault.to_string().contains("pw@"), "it is not shown: {fault}");
        assert!(fault.fix.contains("basic:file:PATH") && fault.fix.contains("password:file:PATH"));
    }
}
