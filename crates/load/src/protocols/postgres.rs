//! PostgreSQL's protocol 3.0: queries prepared once on each connection, or sent as text.
//!
//! A prepared query is asked for by Bind, Execute and Sync, with the item's number as its parameter; one
//! sent as text by Query, with the number in it. Either way the reply ends with `ReadyForQuery`, and a
//! complaint of the server (`ErrorResponse`) is an error status with a text that is reported.
//! Source: PostgreSQL documentation, "Frontend/Backend Protocol".

mod greeting;
mod message;
mod places;
mod proof;
mod reader;
mod statement;
#[cfg(test)]
pub(super) mod tests;

use std::sync::Arc;

use sojourn_base::Fault;
use sojourn_base::kind::{Kind, Param};

use super::{Asked, Decoder, Operation, PLAIN, Protocol, ProtocolKind, secret};
use crate::job::Job;
use crate::job::target::{Scheme, Target};
use crate::protocols::content::Content;
use crate::protocols::sampled::Sampled;
use crate::protocols::server_notices::ServerNotices;
use crate::transports::hello::Greeting;
use greeting::{Greet, Login};
use proof::Password;
use reader::{Reader, Wish};
use statement::Statement;

const PREPARED: &str = "prepared";
/// Who asks where the target names no user, as the server's own superuser is called.
const USER: &str = "postgres";

struct Postgres {
    /// Queries that are the same for all items.
    fixed: Vec<Arc<Statement>>,
    /// Queries with the item's number in them.
    numbered: Vec<Arc<Statement>>,
    items: u32,
    is_prepared: bool,
    login: Arc<Login>,
    wish: Wish,
}

impl Protocol for Postgres {
    fn encode(&self, asked: Asked, out: &mut Vec<u8>) {
        let (statement, number) = self.of(asked.item);
        if self.is_prepared {
            statement.push_bind(number, out);
        } else {
            statement.push_query(number, out);
        }
    }

    fn decoder(&self) -> Box<dyn Decoder> {
        Box::new(Reader::new(self.wish.clone()))
    }

    fn request_bytes_max(&self) -> usize {
        self.fixed.iter().chain(&self.numbered).map(|it| it.bytes_max()).max().unwrap_or(0)
    }

    fn hello(&self) -> Greeting {
        let login = Arc::clone(&self.login);
        Greeting::new(move || Box::new(Greet::new(Arc::clone(&login))))
    }

    fn sampled(&self) -> Option<&Sampled> {
        self.wish.sampled.as_deref()
    }

    fn notices(&self) -> Option<&ServerNotices> {
        Some(&self.wish.notices)
    }
}

impl Postgres {
    /// Items below the number of fixed queries are these; the others go over the numbered ones, each
    /// `items` long, as [`items`] counts them.
    fn of(&self, item: u32) -> (&Statement, u32) {
        let item = item as usize;
        if let Some(fixed) = self.fixed.get(item) {
            return (fixed, 0);
        }
        let (nth, items) = (item - self.fixed.len(), self.items as usize);
        (&self.numbered[nth / items % self.numbered.len()], (nth % items) as u32)
    }
}

pub(super) const KIND: ProtocolKind = ProtocolKind {
    kind: Kind {
        name: "postgres",
        about: "PostgreSQL's protocol 3: queries prepared once a connection or sent as text; rows are counted, checked on a sample",
        usage: "postgres://USER@HOST:PORT/DATABASE or postgresql://…; of a unix socket, postgres://USER@unix:/SOCKET:/DATABASE",
        params: &[
            Param {
                name: "query",
                unit: "",
                about: "what is asked for, any number of them; {} and {item} are a number below items, {} not within quotes; {{}} is {} as it is",
                default: "SELECT 1",
                range: "",
            },
            Param {
                name: "auth",
                unit: "",
                about: "password:, and where it is: file:PATH or env:NAME; it is proved by SCRAM-SHA-256 or MD5, or sent, as the server wants",
                default: "",
                range: "",
            },
            Param {
                name: PREPARED,
                unit: "",
                about: "prepare each query when a connection opens; false: send it as text, which may be several commands",
                default: "true",
                range: "true or false",
            },
            Param {
                name: "expect_bytes",
                unit: "bytes",
                about: "size of a reply's values; 0: any",
                default: "0",
                range: ">= 0",
            },
            Param {
                name: "expect_sha256",
                unit: "",
                about: "digest of each reply of a sample: a line for each row, tabulators between columns",
                default: "",
                range: "64 hexadecimal digits",
            },
            Param {
                name: "expect_regex",
                unit: "",
                about: "what each reply of a sample contains",
                default: "",
                range: "",
            },
            Param {
                name: "allow_empty",
                unit: "",
                about: "a reply may find and do nothing",
                default: "false",
                range: "true or false",
            },
        ],
        needs: &[],
        source: "PostgreSQL documentation, Frontend/Backend Protocol 3.0",
    },
    schemes: &[Scheme::stream("postgres", 5432), Scheme::stream("postgresql", 5432)],
    operations: &[Operation { name: "query", share: "" }],
    is_opaque: true,
    has_user: true,
    wishes: &["query", "auth", "expect_sha256", "expect_regex", "allow_empty"],
    options: &[PREPARED],
    items,
    build,
    ..PLAIN
};

/// Queries, those with a number in them counted once per number.
fn items(job: &Job) -> u64 {
    let of = |(nth, query): (usize, &String)| match Statement::of(nth, query) {
        Ok(statement) if statement.is_numbered() => job.items,
        _ => 1,
    };
    job.query.iter().enumerate().map(of).sum()
}

/// The database that a target names; the user's own where it names none.
fn database(target: &Target, user: &str) -> Result<String, Fault> {
    let name = target.path.strip_prefix('/').unwrap_or_default();
    if name.contains(['?', '/', '%']) {
        let what = format!("'{}' is not the name of a database", target.path);
        return Err(Fault::usage(
            what,
            "target",
            "write postgres://USER@HOST:PORT/DATABASE, no more",
        ));
    }
    Ok(if name.is_empty() { user } else { name }.into())
}

fn password(auth: &str) -> Result<Option<Password>, Fault> {
    Ok(secret::password(auth)?.map(|text| Password::of(&text)))
}

fn is_prepared(job: &Job) -> Result<bool, Fault> {
    match KIND.option(job, PREPARED) {
        "true" => Ok(true),
        "false" => Ok(false),
        other => {
            let what = format!("{PREPARED} is '{other}'");
            Err(Fault::usage(what, format!("option {PREPARED}"), "give true or false"))
        }
    }
}

fn build(job: &Job, target: &Target, _: &Arc<Content>) -> Result<Arc<dyn Protocol>, Fault> {
    if job.query.is_empty() {
        return Err(Fault::usage(
            "there are no queries",
            "query",
            "give at least one, such as SELECT 1",
        ));
    }
    let all =
        job.query.iter().enumerate().map(|(nth, query)| Statement::of(nth, query).map(Arc::new));
    let all = all.collect::<Result<Vec<_>, Fault>>()?;
    let is_prepared = is_prepared(job)?;
    if is_prepared {
        all.iter().try_for_each(|statement| statement.check_prepared())?;
    }
    let user = if target.user.is_empty() { USER } else { &target.user };
    let notices = Arc::new(ServerNotices::of_rows());
    let login = Login {
        user: user.into(),
        database: database(target, user)?,
        password: password(&job.auth)?,
        prepared: if is_prepared { all.clone() } else { Vec::new() },
        notices: Arc::clone(&notices),
    };
    let sampled = Sampled::of(job)?.map(Arc::new);
    let (numbered, fixed) = all.into_iter().partition(|statement| statement.is_numbered());
    Ok(Arc::new(Postgres {
        fixed,
        numbered,
        items: job.items as u32,
        is_prepared,
        login: Arc::new(login),
        wish: Wish { bytes: job.expect_bytes, sampled, notices },
    }))
}
