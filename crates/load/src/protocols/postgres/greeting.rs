//! What is sent when a connection opens: who asks for which database, the proof of the password, and
//! each query to be prepared.
//!
//! `StartupMessage` → (`AuthenticationX` → proof)* → `AuthenticationOk` → `ReadyForQuery` → Parse, Describe … Sync
//! → `ReadyForQuery`. What the server refuses it says in words, and they are passed on.
//! Source: PostgreSQL documentation, "Message Flow".

use std::sync::Arc;

use super::message::{Complaint, HEAD, body_len, push, push_sized, push_text};
use super::proof::{self, MECHANISM, Password, Scram};
use super::statement::Statement;
use crate::protocols::complaints;
use crate::protocols::server_notices::ServerNotices;
use crate::transports::hello::{Hello, HelloState, Refusal};

/// Version 3.0 of the protocol, which every server since 7.4 speaks.
const VERSION: u32 = 3 << 16;
/// Most bytes of one message before the first reply.
const MESSAGE_MAX: usize = 1 << 20;
/// Bytes shown of what is no PostgreSQL.
const SHOWN: usize = 32;
const AUTH: &str = "give --auth password:file:PATH or password:env:NAME";

/// Who asks, and for what: the same on every connection.
pub(super) struct Login {
    pub(super) user: String,
    pub(super) database: String,
    /// `None`: the job names none.
    pub(super) password: Option<Password>,
    /// Queries to be prepared; none: they are sent as text.
    pub(super) prepared: Vec<Arc<Statement>>,
    pub(super) notices: Arc<ServerNotices>,
}

/// The greeting of one connection.
pub(super) struct Greet {
    login: Arc<Login>,
    /// What came and is no whole message yet.
    heard: Vec<u8>,
    has_begun: bool,
    scram: Option<Scram>,
    is_preparing: bool,
    /// Of the queries to be prepared, how many the server has described.
    described: usize,
    why: Option<Refusal>,
}

impl Hello for Greet {
    fn say(&mut self, heard: &[u8], out: &mut Vec<u8>) -> HelloState {
        if !self.has_begun {
            self.has_begun = true;
            self.begin(out);
        }
        self.heard.extend_from_slice(heard);
        let mut heard = std::mem::take(&mut self.heard);
        let mut at = 0;
        let state = loop {
            match self.next(&heard[at..], out) {
                Ok(None) => break HelloState::More,
                Ok(Some((used, is_done))) => {
                    at += used;
                    if is_done {
                        break HelloState::Done;
                    }
                }
                Err(why) => {
                    self.login.notices.complain(&why.what, &why.what);
                    self.why = Some(why);
                    break HelloState::Refused;
                }
            }
        };
        heard.drain(..at);
        self.heard = heard;
        state
    }

    fn why(&self) -> Option<Refusal> {
        self.why.clone()
    }
}

impl Greet {
    pub(super) fn new(login: Arc<Login>) -> Self {
        Self {
            login,
            heard: Vec::new(),
            has_begun: false,
            scram: None,
            is_preparing: false,
            described: 0,
            why: None,
        }
    }

    fn begin(&self, out: &mut Vec<u8>) {
        push_sized(out, |out| {
            out.extend_from_slice(&VERSION.to_be_bytes());
            let Login { user, database, .. } = &*self.login;
            for text in ["user", user, "database", database, "application_name", "sojourn-load", ""]
            {
                push_text(text, out);
            }
        });
    }

    /// Takes in one message; its length and whether the greeting is over, or `None` if it is not whole.
    fn next(&mut self, heard: &[u8], out: &mut Vec<u8>) -> Result<Option<(usize, bool)>, Refusal> {
        let Some(&kind) = heard.first() else { return Ok(None) };
        if !b"RSKNEvZ1tTn".contains(&kind) {
            return Err(other(heard));
        }
        if heard.len() < HEAD {
            return Ok(None);
        }
        let length = body_len(heard).filter(|&length| length <= MESSAGE_MAX);
        let Some(length) = length else { return Err(other(heard)) };
        let Some(body) = heard.get(HEAD..HEAD + length) else { return Ok(None) };
        let is_done = self.take(kind, body, out)?;
        Ok(Some((HEAD + length, is_done)))
    }

    fn take(&mut self, kind: u8, body: &[u8], out: &mut Vec<u8>) -> Result<bool, Refusal> {
        match kind {
            b'R' => self.authenticate(body, out)?,
            b'E' => return Err(self.refused(&Complaint::read(body))),
            b't' => self.describe(body)?,
            b'Z' if self.login.prepared.is_empty() || self.is_preparing => return Ok(true),
            b'Z' => self.prepare(out),
            _ => {} // settings, the key for cancelling, notices, the columns of a result
        }
        Ok(false)
    }

    fn authenticate(&mut self, body: &[u8], out: &mut Vec<u8>) -> Result<(), Refusal> {
        let Some((method, rest)) = body.split_first_chunk() else { return Err(other(body)) };
        let login = Arc::clone(&self.login);
        let password = || {
            let missing = || refusal("the server needs a password, and none is given", AUTH);
            login.password.as_ref().ok_or_else(missing)
        };
        match u32::from_be_bytes(*method) {
            0 => {}
            3 => {
                let text = &password()?.text;
                push(b'p', out, |out| push_text(text, out));
            }
            5 => {
                let proof = proof::md5_of(&login.user, &password()?.text, rest);
                push(b'p', out, |out| push_text(&proof, out));
            }
            10 => self.begin_scram(rest, password()?, out)?,
            11 => {
                let last =
                    self.scram.as_mut().and_then(|it| it.last(rest, login.password.as_ref()?));
                let last = last.ok_or_else(|| refusal("the server's challenge is none", CHECK))?;
                push(b'p', out, |out| out.extend_from_slice(last.as_bytes()));
            }
            12 if self.scram.as_ref().is_some_and(|it| it.is_proved(rest)) => {}
            12 => return Err(refusal("the server does not know the password it asks for", CHECK)),
            other => {
                let what = match other {
                    2 => "Kerberos V5".into(),
                    7 | 8 => "GSSAPI".into(),
                    9 => "SSPI".into(),
                    other => format!("the method {other}"),
                };
                return Err(refusal(
                    &format!("the server wants {what}, which is not supported here"),
                    ALLOW,
                ));
            }
        }
        Ok(())
    }

    fn begin_scram(
        &mut self,
        mechanisms: &[u8],
        password: &Password,
        out: &mut Vec<u8>,
    ) -> Result<(), Refusal> {
        let mut names = mechanisms.split(|&byte| byte == 0).filter(|name| !name.is_empty());
        if !names.clone().any(|name| name == MECHANISM.as_bytes()) {
            let names: Vec<_> = names.by_ref().map(String::from_utf8_lossy).collect();
            let what =
                format!("the server wants {}, which is not supported here", names.join(" or "));
            return Err(refusal(&what, ALLOW));
        }
        if !password.text.is_ascii() {
            let what = "the password is not ASCII, and would have to be normalised (SASLprep)";
            return Err(refusal(what, "use a user with an ASCII password"));
        }
        let scram = Scram::new();
        let scram = scram.ok_or_else(|| refusal("the system gives no random numbers", CHECK))?;
        push(b'p', out, |out| {
            push_text(MECHANISM, out);
            push_sized_text(&scram.first(), out);
        });
        self.scram = Some(scram);
        Ok(())
    }

    fn prepare(&mut self, out: &mut Vec<u8>) {
        self.is_preparing = true;
        for statement in &self.login.prepared {
            statement.push_parse(out);
        }
        push(b'S', out, |_| ());
    }

    /// The server announces how many parameters the next of the prepared queries has.
    fn describe(&mut self, body: &[u8]) -> Result<(), Refusal> {
        let Some(statement) = self.login.prepared.get(self.described) else {
            return Err(other(body));
        };
        self.described += 1;
        let count = body.first_chunk().map_or(0, |bytes| u16::from_be_bytes(*bytes));
        if count == statement.parameters() {
            return Ok(());
        }
        let what = format!(
            "the query '{}' has {count} parameters for the server, and needs {}",
            statement.text(),
            statement.parameters()
        );
        let fix = "write {} where a value may stand, not within quotes ('user-' || {}); or send it as \
                   text: --option prepared=false";
        Err(refusal(&what, fix))
    }

    /// Why the server refuses us, and how to fix it.
    fn refused(&self, complaint: &Complaint) -> Refusal {
        let Login { user, database, .. } = &*self.login;
        let fix = match complaint.code.as_str() {
            "42P05" | "26000" | "53300" => complaints::fix(&complaint.text).unwrap_or(CHECK).into(),
            "28P01" => format!("check the password of user {user}: {AUTH}"),
            "28000" => format!(
                "name a user that may come in, as in postgres://USER@HOST/DATABASE (it was {user}), or let \
                 this one in from this machine in pg_hba.conf, without TLS"
            ),
            "3D000" => {
                format!("make it (createdb {database}), or name another: postgres://HOST/DATABASE")
            }
            "57P03" => "wait until the server has started".into(),
            _ if self.is_preparing => {
                "try the query with psql; several commands in one go as text: \
                                       --option prepared=false"
                    .into()
            }
            _ => complaints::fix(&complaint.text).unwrap_or(CHECK).into(),
        };
        Refusal { what: format!("the server says {}", complaint.text), fix }
    }
}

const CHECK: &str = "see the server's log";
const ALLOW: &str =
    "let this user in with scram-sha-256, md5 or password in pg_hba.conf, without TLS";

fn push_sized_text(text: &str, out: &mut Vec<u8>) {
    out.extend_from_slice(&(text.len() as u32).to_be_bytes());
    out.extend_from_slice(text.as_bytes());
}

fn refusal(what: &str, fix: &str) -> Refusal {
    Refusal { what: what.into(), fix: fix.into() }
}

/// Whoever says this does not speak PostgreSQL's protocol.
fn other(heard: &[u8]) -> Refusal {
    let shown = heard[..heard.len().min(SHOWN)].escape_ascii();
    refusal(
        &format!("what listens there does not speak PostgreSQL's protocol 3: it says \"{shown}\""),
        "name the server's own scheme, such as http://, memcache:// or resp://",
    )
}
