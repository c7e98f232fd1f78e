//! Sessions against a server of a small film, which it serves as it is, cut short, or changed.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::path::PathBuf;

use ring::digest::{SHA256, digest};
use sojourn_load::job::Job;
use sojourn_load::judge::result::Verdict;
use sojourn_load::measure::Judged;

use super::{mirror, run, usable};

const CHUNKS: usize = 5;

/// One film in two qualities: paths and bodies, in the order of items.
fn film() -> Vec<(String, Vec<u8>)> {
    let of = |quality: usize| {
        let list = (format!("/q{quality}/list.m3u8"), format!("#EXTM3U {quality}\n").into_bytes());
        let chunk = move |nth: usize| {
            let body = vec![b'a' + nth as u8; 3_000 * (quality + 1) + nth];
            (format!("/q{quality}/{nth}.ts"), body)
        };
        std::iter::once(list).chain((0..CHUNKS).map(chunk))
    };
    (0..2).flat_map(of).collect()
}

/// Serves `files` as they are.
fn serve(mut stream: TcpStream, files: &[(String, Vec<u8>)]) {
    let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
    let mut path = String::new();
    while let Some(Ok(line)) = lines.next() {
        if let Some(rest) = line.strip_prefix("GET ") {
            path = rest.split(' ').next().unwrap().into();
        }
        if line.is_empty() {
            let body = &files.iter().find(|(name, _)| *name == path).unwrap().1;
            let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", body.len());
            if stream.write_all(&[head.as_bytes(), body].concat()).is_err() {
                return;
            }
        }
    }
}

/// Two files in a folder of their own: what is asked for, and what it must be.
fn words(name: &str, files: &[(String, Vec<u8>)]) -> (PathBuf, PathBuf) {
    let base = std::env::temp_dir().join(format!("sojourn-sessions-{}-{name}", std::process::id()));
    let paths: Vec<&str> = files.iter().map(|(path, _)| path.as_str()).collect();
    let line = |(path, body): &(String, Vec<u8>)| {
        let sha = digest(&SHA256, body);
        let hex: Vec<String> = sha.as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
        format!("{path} {} {}", body.len(), hex.concat())
    };
    let bodies: Vec<String> = files.iter().map(line).collect();
    let both = (base.with_extension("paths"), base.with_extension("bodies"));
    std::fs::write(&both.0, paths.join("\n")).unwrap();
    std::fs::write(&both.1, bodies.join("\n")).unwrap();
    both
}

/// Watches the film while the server has `change` made of it.
fn watch(name: &str, transport: &str, change: impl Fn(&mut Vec<(String, Vec<u8>)>)) -> Judged {
    let files = film();
    let (paths, bodies) = words(&format!("{name}-{transport}"), &files);
    let mut served = files;
    change(&mut served);
    let port = mirror::listen(move |stream| serve(stream, &served));
    let judged = run(Job {
        rate: "400".into(),
        sessions: "playback:chunks=5,every=40ms,start=40ms,buffer=10s,mix=0.5/0.5".into(),
        paths_file: paths.display().to_string(),
        expect_file: bodies.display().to_string(),
        ..mirror::job(format!("http://127.0.0.1:{port}/"), transport)
    });
    std::fs::remove_file(paths).unwrap();
    std::fs::remove_file(bodies).unwrap();
    judged
}

#[test]
fn a_film_is_watched_by_sessions_and_every_body_is_right() {
    for transport in usable() {
        let got = watch("whole", transport, |_| {});
        let result = &got.result;
        assert!(result.errors.is_empty(), "{:?}", result.errors);
        assert!(result.replies.checked > 0 && result.replies.failed.is_empty());
        let seen = result.sessions.as_ref().unwrap();
        assert!(seen.begun > 0 && seen.chunks > 0, "{seen:?}");
        assert_eq!((seen.lost_chunks, seen.stalled), (0, 0), "all within ten seconds");
        assert_eq!(seen.play_list_ns.count + seen.chunk_ns.count, result.sojourn_ns.count);
        let bodies: u64 = result.replies.bytes_max.unwrap();
        assert_eq!(bodies, 6_004, "the last chunk of the better quality");
    }
}

#[test]
fn a_chunk_that_is_cut_short_is_no_hit() {
    for transport in usable() {
        let got = watch("short", transport, |files| files[3].1.truncate(1_000));
        let seen = got.result.sessions.unwrap();
        assert!(seen.lost_chunks > 0 && got.result.errors["length"] >= seen.lost_chunks);
        assert!(seen.stalled > 0 && seen.stalled_ns == seen.lost_chunks * 40_000_000);
        assert_eq!(got.result.verdict, Verdict::Unknown);
    }
}

#[test]
fn a_chunk_of_the_right_length_and_another_content_is_found_in_the_sample() {
    for transport in usable() {
        let got = watch("other", transport, |files| files[3].1[1_500] = b'?');
        assert!(got.result.replies.failed["expect_file"] > 0, "{:?}", got.result.replies);
        let words = "had another SHA-256 than expect_file";
        assert!(
            got.result.reasons.iter().any(|why| why.contains(words)),
            "{:?}",
            got.result.reasons
        );
        assert_eq!(got.result.verdict, Verdict::Unknown);
    }
}
