//! What goes out: each request byte for byte, and how long the longest is.

use super::*;

fn bytes(protocol: &dyn Protocol, asked: Asked) -> Vec<u8> {
    let mut out = Vec::new();
    protocol.encode(asked, &mut out);
    out
}

#[test]
fn frames_are_a_header_and_what_is_in_it() {
    let null = set_up("null:", |_| ());
    assert_eq!(bytes(null.as_ref(), asked(GET, 7)), [0]);
    let echo = set_up("echo://h", |job| job.value_size = "5".into());
    let frame = [&[0, 0, 0, 0, 0, 0, 1, 44, 0, 0, 0, 5], &value(1).as_bytes()[..5]].concat();
    assert_eq!(bytes(echo.as_ref(), Asked { op: GET, item: 1, id: 300 }), frame);
    let [plain, udp] = ["memcache://h", "memcache+udp://h"].map(|at| set_up(at, |_| ()));
    let asked = Asked { op: GET, item: 1, id: 65_536 + 0x102 };
    let framed = [&[1, 2, 0, 0, 0, 1, 0, 0], &bytes(plain.as_ref(), asked)[..]].concat();
    assert_eq!(bytes(udp.as_ref(), asked), framed, "the id's lower half");
    assert_eq!(udp.request_bytes_max(), plain.request_bytes_max() + 8);
    let resp = set_up("resp://h", |_| ());
    let get = format!("*2\r\n$3\r\nGET\r\n$30\r\n{}\r\n", key(1));
    assert_eq!(bytes(resp.as_ref(), asked), get.into_bytes());
}

/// Buffers are made for the longest request: none is longer, and little room is wasted.
#[test]
fn the_longest_request_fits_and_hardly_more() {
    let job = |share: f64, keys: u32| {
        move |job: &mut Job| {
            (job.multiget_share, job.multiget_keys, job.set_share) = (share, keys, 0.5);
            (job.key_size, job.value_size) = ("250".into(), "500".into());
        }
    };
    for (target, share, longest, most) in [
        ("memcache://h", 0.0, asked(SET, 1), 64),
        ("memcache://h", 0.5, asked(MULTIGET, 1), 64),
        ("memcache+udp://h", 0.5, asked(MULTIGET, 1), 64),
        ("resp://h", 0.0, asked(SET, 1), 64),
        ("echo://h", 0.0, asked(GET, 1), 0),
        ("null:", 0.0, asked(GET, 1), 0),
    ] {
        let protocol = set_up(target, job(share, 10));
        let (longest, max) =
            (bytes(protocol.as_ref(), longest).len(), protocol.request_bytes_max());
        assert!((longest..=longest + most).contains(&max), "{target}: {longest}, {max}");
    }
    let items = 4_000_000_000;
    let http = |paths: &[&str], last: u32| {
        let paths = paths.iter().map(|path| (*path).into()).collect();
        let protocol = set_up("http://h/", |job| (job.paths, job.items) = (paths, items));
        (bytes(protocol.as_ref(), asked(GET, last)).len(), protocol.request_bytes_max())
    };
    let (longest, max) = http(&["/{}"], 3_999_999_999);
    assert_eq!(max, longest, "a number of ten digits");
    let (longest, max) = http(&["/a/longer/path", "/"], 0);
    assert_eq!(max, longest, "the longer one");
}

/// Two fixed paths, then ten numbers of each of three: every item asks for another path.
#[test]
fn each_item_has_a_path_of_its_own() {
    let paths = ["/a", "/x{}", "/b", "/y{}.html", "/z/{}"];
    let http = set_up("http://h:81/", |job| {
        (job.paths, job.items) = (paths.iter().map(|&path| path.into()).collect(), 10);
    });
    let path_of = |item| {
        let text = String::from_utf8(bytes(http.as_ref(), asked(GET, item))).unwrap();
        text.split(' ').nth(1).unwrap().to_string()
    };
    let mut wanted = vec!["/a".to_string(), "/b".into()];
    for (before, after) in [("/x", ""), ("/y", ".html"), ("/z/", "")] {
        wanted.extend((0..10).map(|number| format!("{before}{number}{after}")));
    }
    assert_eq!((0..32).map(path_of).collect::<Vec<_>>(), wanted);
}

#[test]
fn what_cannot_be_asked_is_refused() {
    let of = |target: &str, change: &dyn Fn(&mut Job)| {
        let mut job = Job { target: target.into(), items: 5, ..Job::default() };
        change(&mut job);
        build(&job, &super::super::target(target).unwrap()).map(|_| ()).map_err(|fault| fault.at)
    };
    let keys = |share, keys| {
        of("memcache://h", &|job: &mut Job| {
            (job.multiget_share, job.multiget_keys) = (share, keys);
        })
    };
    assert_eq!(keys(0.5, 6), Err("multiget_keys".into()), "six of five");
    assert_eq!((keys(0.5, 5), keys(0.0, 6)), (Ok(()), Ok(())));
    assert_eq!(of("http://h/", &|job: &mut Job| job.paths.clear()), Err("paths".into()));
    let both = |job: &mut Job| job.paths = vec!["/".into(), "/{}".into()];
    assert_eq!(of("http://[::1]/", &both), Ok(()));
}

/// The text of what is sent for `item`.
fn http(item: u32, change: &dyn Fn(&mut Job)) -> String {
    let http = set_up("http://h:81/", change);
    let text = String::from_utf8(bytes(http.as_ref(), asked(GET, item))).unwrap();
    assert!(text.len() <= http.request_bytes_max());
    text
}

#[test]
fn a_template_has_the_items_number_wherever_it_is_asked_for_and_the_length_that_follows() {
    let text = http(11, &|job| {
        (job.method, job.items) = ("POST".into(), 50);
        job.paths = vec!["/{item}/of/{}".into()];
        job.header = vec!["Host: other".into(), "X-Item:{item}".into()];
        job.body = "{\"item\": {item}, \"{}\": 0}".into();
    });
    let body = "{\"item\": 11, \"{}\": 0}";
    let wanted = format!(
        "POST /11/of/11 HTTP/1.1\r\nUser-Agent: sojourn-load\r\nAccept: */*\r\nHost: other\r\n\
         X-Item: 11\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    assert_eq!(text, wanted);
    let fixed = |method: &str| http(0, &|job: &mut Job| job.method = method.into());
    assert!(fixed("PUT").ends_with("Accept: */*\r\nContent-Length: 0\r\n\r\n"));
    assert!(fixed("DELETE").ends_with("Accept: */*\r\n\r\n"));
    let numbered = |job: &mut Job| job.header = vec!["X: {item}".into()];
    let kind = KINDS.iter().find(|entry| entry.kind.name == "http").unwrap();
    let mut job = Job { items: 50, ..Job::default() };
    numbered(&mut job);
    assert_eq!((kind.items)(&job), 50, "the path is one, its requests are not");
    assert!(http(49, &numbered).contains("X: 49\r\n"));
}

#[test]
fn what_no_request_can_have_is_refused_by_name() {
    let at = |change: &dyn Fn(&mut Job)| {
        let mut job = Job { target: "http://h/".into(), ..Job::default() };
        change(&mut job);
        build(&job, &super::super::target("http://h/").unwrap()).err().map(|fault| fault.at)
    };
    let header = |text: &str| at(&|job: &mut Job| job.header = vec![text.into()]);
    for text in
        ["x", ": y", "a b: c", "x: a\r\nInjected: b", "Content-Length: 3", "authorization: x"]
    {
        assert_eq!(header(text), Some("header".into()), "{text}");
    }
    assert_eq!(header("Cookie: session={item}"), None);
    for text in ["Cookie: a=hunter2", "X-API-Key: hunter2", "x-auth-token:hunter2", "no hunter2: x"]
    {
        let mut job = Job { target: "http://h/".into(), ..Job::default() };
        job.header = vec![text.into()];
        let fault = build(&job, &super::super::target("http://h/").unwrap()).err().unwrap();
        let is_reported = fault.what.contains("hunter2") && !text.starts_with("no");
        assert!(fault.at == "header" && !is_reported, "{text}: {fault}");
    }
    assert_eq!(at(&|job: &mut Job| job.method = "get".into()), Some("method".into()));
    assert_eq!(at(&|job: &mut Job| job.body = "x".into()), Some("method".into()), "GET");
    let post = |job: &mut Job| job.method = "POST".into();
    let both = |job: &mut Job| {
        post(job);
        (job.body, job.body_file) = ("x".into(), "y".into());
    };
    assert_eq!(at(&both), Some("body".into()));
    let file = |job: &mut Job| {
        post(job);
        job.body_file = "/none".into();
    };
    assert_eq!(at(&file), Some("body_file".into()));
    assert_eq!(at(&|job: &mut Job| job.expect_status = "ok".into()), Some("expect_status".into()));
}

#[test]
fn a_header_may_name_the_place_of_a_secret_and_never_shows_it() {
    let path = std::env::temp_dir().join(format!("sojourn-header-{}", std::process::id()));
    let with = |name: &str| {
        let mut job = Job { target: "http://h/".into(), ..Job::default() };
        job.header = vec![format!("{name}: file:{}", path.display())];
        build(&job, &super::super::target("http://h/").unwrap()).map(|_| ())
    };
    assert_eq!(with("Cookie").unwrap_err().at, "header", "there is no such file");
    std::fs::write(&path, "sid=hunter2; a=b\n").unwrap();
    let file = path.display().to_string();
    let text = http(0, &|job| job.header = vec![format!("Cookie: file:{file}")]);
    assert!(text.contains("Cookie: sid=hunter2; a=b\r\n"), "{text}");
    assert_eq!(with("X-Plain"), Ok(()), "any header may");
    std::fs::write(&path, "hunter2\r\nInjected: b").unwrap();
    let fault = with("Cookie").unwrap_err();
    assert!(fault.at == "header" && !fault.to_string().contains("hunter2"), "{fault}");
    std::fs::remove_file(&path).unwrap();
}

#[test]
fn only_http_has_methods_bodies_and_expectations() {
    let at = |change: &dyn Fn(&mut Job)| {
        let mut job = Job { target: "resp://h/".into(), ..Job::default() };
        change(&mut job);
        let target = super::super::target("resp://h/").unwrap();
        kind_of(&target).check(&job, &target).err().map(|fault| fault.at)
    };
    assert_eq!(at(&|_| ()), None);
    assert_eq!(at(&|job: &mut Job| job.method = "POST".into()), Some("method".into()));
    assert_eq!(at(&|job: &mut Job| job.expect_regex = "x".into()), Some("expect_regex".into()));
    assert_eq!(at(&|job: &mut Job| job.body = "x".into()), Some("body".into()));
}
