//! What is sent when a connection opens: the password and the database, where the job names them.
//!
//! `AUTH [USER] PASSWORD` → `+OK`, `SELECT NUMBER` → `+OK`. What the server refuses it says in words, and
//! they are passed on. Source: redis.io, commands AUTH and SELECT.

use std::sync::Arc;

use sojourn_base::Fault;

use super::super::line::{Lines, Scan};
use super::LINE_MAX;
use crate::job::Job;
use crate::job::target::Target;
use crate::protocols::complaints;
use crate::protocols::secret;
use crate::protocols::server_notices::ServerNotices;
use crate::transports::hello::{Greeting, Hello, HelloState, Refusal};

/// Largest number of a database: servers have 16 of them unless their configuration says more.
const DATABASE_MAX: u32 = 1_000_000;

/// The greeting of each connection to `target`.
pub(super) fn greeting(
    job: &Job,
    target: &Target,
    notices: &Arc<ServerNotices>,
) -> Result<Greeting, Fault> {
    let mut commands = Vec::new();
    match secret::password(&job.auth)? {
        Some(password) if target.user.is_empty() => commands.push(command(&["AUTH", &password])),
        Some(password) => commands.push(command(&["AUTH", &target.user, &password])),
        None if !target.user.is_empty() => {
            let what = format!("the target names user {}, and no password is given", target.user);
            let fix = "give --auth password:file:PATH or password:env:NAME, or leave the user out";
            return Err(Fault::usage(what, "target", fix));
        }
        None => {}
    }
    let number = database(target)?;
    if number > 0 {
        commands.push(command(&["SELECT", &number.to_string()]));
    }
    if commands.is_empty() {
        return Ok(Greeting::default());
    }
    let (commands, notices) = (Arc::new(commands), Arc::clone(notices));
    Ok(Greeting::new(move || {
        let (commands, notices) = (Arc::clone(&commands), Arc::clone(&notices));
        Box::new(Greet {
            commands,
            notices,
            answered: None,
            lines: Lines::new(LINE_MAX),
            why: None,
        })
    }))
}

/// The number behind the target's host; 0 where there is none.
fn database(target: &Target) -> Result<u32, Fault> {
    let text = target.path.strip_prefix('/').unwrap_or(&target.path);
    if text.is_empty() {
        return Ok(0);
    }
    let is_number = text.len() <= 7 && text.bytes().all(|byte| byte.is_ascii_digit());
    let number = text.parse().ok().filter(|&number| is_number && number <= DATABASE_MAX);
    number.ok_or_else(|| {
        let what = format!("'{}' is not the number of a database", target.path);
        let fix = format!("write {}://HOST:PORT/NUMBER, or leave it out", target.scheme.name);
        Fault::usage(what, "target", fix)
    })
}

/// A command as an array of bulk strings: words may hold any bytes.
fn command(words: &[&str]) -> Vec<u8> {
    let mut out = format!("*{}\r\n", words.len()).into_bytes();
    for word in words {
        out.extend_from_slice(format!("${}\r\n{word}\r\n", word.len()).as_bytes());
    }
    out
}

struct Greet {
    commands: Arc<Vec<Vec<u8>>>,
    notices: Arc<ServerNotices>,
    /// How many commands have been answered; `None`: none was sent.
    answered: Option<usize>,
    lines: Lines,
    why: Option<Refusal>,
}

impl Hello for Greet {
    fn say(&mut self, mut heard: &[u8], out: &mut Vec<u8>) -> HelloState {
        if self.answered.is_none() {
            self.commands.iter().for_each(|command| out.extend_from_slice(command));
        }
        let mut answered = self.answered.unwrap_or(0);
        while answered < self.commands.len() && !heard.is_empty() {
            let (line, used) = match self.lines.find(heard) {
                Scan::Line(line, used) => (line.to_vec(), used),
                Scan::Part => break,
                Scan::TooLong => (heard.to_vec(), heard.len()),
            };
            self.lines.clear();
            heard = &heard[used..];
            if line != b"+OK" {
                self.why = Some(self.refusal(&line));
                return HelloState::Refused;
            }
            answered += 1;
        }
        self.answered = Some(answered);
        if answered == self.commands.len() { HelloState::Done } else { HelloState::More }
    }

    fn why(&self) -> Option<Refusal> {
        self.why.clone()
    }
}

impl Greet {
    fn refusal(&self, line: &[u8]) -> Refusal {
        self.notices.refused(line);
        let text = complaints::shown(line);
        if !line.starts_with(b"-") {
            return Refusal {
                what: format!("what listens there does not speak RESP: it says {text}"),
                fix: "name the server's own scheme, such as http://, memcache:// or postgres://"
                    .into(),
            };
        }
        let fix = complaints::fix(&text).unwrap_or("see the server's log and its configuration");
        Refusal { what: format!("the server says {text}"), fix: fix.into() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocols;

    fn greeted(target: &str, auth: &str, heard: &[&[u8]]) -> (String, HelloState, Option<Refusal>) {
        let job = Job { target: target.into(), auth: auth.into(), ..Job::default() };
        let target = protocols::target(target).unwrap();
        let greeting = greeting(&job, &target, &Arc::new(ServerNotices::default())).unwrap();
        let mut hello = greeting.hello().unwrap();
        let mut out = Vec::new();
        let mut greeted = hello.say(&[], &mut out);
        for piece in heard {
            greeted = hello.say(piece, &mut out);
        }
        (String::from_utf8(out).unwrap(), greeted, hello.why())
    }

    #[test]
    fn password_and_database_are_reported_on_each_connection() {
        let path = std::env::temp_dir().join(format!("sojourn-resp-auth-{}", std::process::id()));
        std::fs::write(&path, "open sesame\n").unwrap();
        let auth = format!("password:file:{}", path.display());
        let plain = "*2\r\n$4\r\nAUTH\r\n$11\r\nopen sesame\r\n";
        let select = "*2\r\n$6\r\nSELECT\r\n$1\r\n2\r\n";
        let (out, state, _) = greeted("redis://h/2", &auth, &[b"+O", b"K\r\n+OK", b"\r\n"]);
        assert_eq!((out, state), (format!("{plain}{select}"), HelloState::Done));
        let (out, state, _) = greeted("valkey://me@h", &auth, &[b"+OK\r\n"]);
        assert_eq!(out, "*3\r\n$4\r\nAUTH\r\n$2\r\nme\r\n$11\r\nopen sesame\r\n");
        assert_eq!(state, HelloState::Done);
        let (_, state, why) = greeted("resp://h/2", &auth, &[b"-WRONGPASS invalid\r\n+OK\r\n"]);
        let why = why.unwrap();
        assert_eq!(
            (state, why.what.as_str()),
            (HelloState::Refused, "the server says \"-WRONGPASS invalid\"")
        );
        assert!(why.fix.contains("--auth"), "{why:?}");
        let (_, state, why) = greeted("resp://h/2", "", &[b"HTTP/1.1 400 Bad Request\r\n"]);
        assert!(state == HelloState::Refused && why.unwrap().what.contains("does not speak RESP"));
        std::fs::remove_file(&path).unwrap();
    }

    #[test]
    fn what_is_no_database_is_refused_and_none_is_database_0() {
        let of = |target: &str| {
            let target = protocols::target(target).unwrap();
            greeting(&Job::default(), &target, &Arc::new(ServerNotices::default()))
        };
        for text in
            ["resp://h/x", "resp://h/2?db=3", "resp://h/2/3", "redis://h/-1", "resp://h/99999999"]
        {
            assert!(of(text).unwrap_err().what.contains("not the number of a database"), "{text}");
        }
        for text in ["resp://h", "resp://h/", "redis://h/0", "resp://unix:/run/r.sock"] {
            assert!(of(text).unwrap().hello().is_none(), "{text}");
        }
        assert!(of("resp://unix:/run/r.sock:/5").unwrap().hello().is_some());
        assert!(of("redis://me@h").unwrap_err().fix.contains("--auth"));
    }
}
