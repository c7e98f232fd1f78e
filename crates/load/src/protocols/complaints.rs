//! What a server says when it refuses something, in its own words, and how to fix it.
//!
//! Words that are not known here are passed on all the same, escaped and cut to a length that a line takes.

use sojourn_base::visible;

/// Longest text that is shown, characters.
const SHOWN_MAX: usize = 200;

/// How a complaint is known.
enum Known {
    /// By its first word, a leading `-` left out.
    First(&'static str),
    /// By words anywhere in it.
    Part(&'static str),
}

use Known::{First, Part};

const PASSWORD: &str = "give the password with --auth password:file:PATH or password:env:NAME, and a user of its own as \
     in redis://USER@HOST";
const POOLER: &str = "a pooler that shares connections, such as PgBouncer in transaction mode, keeps no prepared \
     query of ours: give --option prepared=false";
const CLUSTER: &str = "this is a node of a cluster; other nodes have other keys, and redirects are not followed: \
     measure a server that holds all keys";
const CLIENTS: &str = "raise the server's maxclients, or use fewer --connections";
const MAX_CONNECTIONS: &str = "raise the server's max_connections, or use fewer --connections";
const USERS: &str =
    "this memcached wants a user (-Y or -S), and none can be given: start it without";

/// What is known, the particular before the general.
const KNOWN: &[(Known, &str)] = &[
    (First("NOAUTH"), PASSWORD),
    (First("WRONGPASS"), PASSWORD),
    (Part("invalid password"), PASSWORD),
    (Part("without any password configured"), "leave --auth out: the server has no password"),
    (
        First("NOPERM"),
        "let the user run GET, SET and MGET on all keys: ACL SETUSER NAME +get +set +mget ~*",
    ),
    (First("DENIED"), "give the server a password, or start it with protected-mode no"),
    (
        First("READONLY"),
        "name the primary: a replica takes no SETs (INFO replication names its primary)",
    ),
    (First("MOVED"), CLUSTER),
    (First("ASK"), CLUSTER),
    (First("CROSSSLOT"), CLUSTER),
    (
        First("CLUSTERDOWN"),
        "see `redis-cli cluster info`: no node serves some slots of the cluster",
    ),
    (
        First("OOM"),
        "raise the server's maxmemory, let it evict (maxmemory-policy), or ask for fewer --items",
    ),
    (First("LOADING"), "wait until the server has loaded its data"),
    (First("MASTERDOWN"), "wait until the replica has its primary again, or name the primary"),
    (First("NOREPLICAS"), "start the server's replicas, or lower its min-replicas-to-write"),
    (
        First("MISCONF"),
        "see in the server's log why it cannot save its data, or let it take writes all the same: \
      stop-writes-on-bgsave-error no",
    ),
    (First("BUSY"), "wait until the script that runs there has ended, or end it with SCRIPT KILL"),
    (First("WRONGTYPE"), "use another database: keys of these names hold something else"),
    (
        Part("DB index"),
        "name a database that the server has, redis://HOST/0 (databases in its configuration)",
    ),
    (Part("SELECT is not allowed in cluster"), "leave the database out: a cluster has one"),
    (
        Part("unknown command"),
        "use a server that has the command, or ask for operations that it has",
    ),
    (Part("unauthenticated"), USERS),
    (Part("authentication token"), USERS),
    (Part("authentication failure"), USERS),
    (
        Part("object too large"),
        "raise the server's limit for one item (memcached -I), or ask for a smaller \
      --value-size",
    ),
    (
        Part("out of memory"),
        "raise the server's memory (memcached -m), let it evict (no -M), or ask for fewer \
      --items",
    ),
    (Part(" 42P05: "), POOLER), // a code of PostgreSQL, and no number in what it says
    (Part(" 26000: "), POOLER),
];

/// What servers say that take no more connections, and what helps.
const FULL: &[(&str, &str)] = &[
    ("max number of clients", CLIENTS),
    ("max clients", CLIENTS),
    ("Too many open connections", "raise memcached's -c, or use fewer --connections"),
    (" 53300: ", MAX_CONNECTIONS),
    ("too many clients", MAX_CONNECTIONS),
    (
        "no more connections allowed",
        "raise the pooler's max_client_conn, or use fewer --connections",
    ),
];

/// How to fix what `text` complains of; `None`: that is not known here.
pub fn fix(text: &str) -> Option<&'static str> {
    let bare = text.trim_matches('"').trim_start_matches('-');
    let is_it = |known: &Known| match known {
        First(word) => bare.split(' ').next() == Some(word),
        Part(words) => bare.contains(words),
    };
    KNOWN.iter().find(|(known, _)| is_it(known)).map(|(_, fix)| *fix).or_else(|| of_full(text))
}

/// What helps where `text` says that the server takes no more connections.
fn of_full(text: &str) -> Option<&'static str> {
    FULL.iter().find(|(words, _)| text.contains(words)).map(|(_, fix)| *fix)
}

/// The text and how to fix it, for a sentence.
pub fn with_fix(text: &str) -> String {
    fix(text).map_or_else(|| text.into(), |fix| format!("{text} ({fix})"))
}

/// Whether `text` says that the server takes no more connections.
pub fn refuses_connections(text: &str) -> bool {
    of_full(text).is_some()
}

/// `line` as it is shown: in quotes, what is no plain character escaped.
pub fn shown(line: &[u8]) -> String {
    let mut shown = escaped(&String::from_utf8_lossy(line));
    if let Some((cut, _)) = shown.char_indices().nth(SHOWN_MAX) {
        shown.truncate(cut);
        shown.push('…');
    }
    format!("\"{shown}\"")
}

/// `text` with letters spelled out that control a terminal, turn the order of others, or have no form.
pub fn escaped(text: &str) -> String {
    text.chars().fold(String::new(), |mut shown, letter| {
        let is_plain = !letter.is_control() && letter != char::REPLACEMENT_CHARACTER;
        if !is_plain || visible::is_control(letter) {
            shown.extend(letter.escape_default());
        } else {
            shown.push(letter);
        }
        shown
    })
}

/// By which complaints are distinguished: the first word, or the first four where that one is said of
/// everything. A number in it is another case of the same, as a slot or a length is.
pub fn kind(line: &[u8]) -> &[u8] {
    let words = |count: usize| {
        let ends = line.iter().enumerate().filter(|(_, byte)| **byte == b' ').map(|(at, _)| at);
        &line[..ends.take(count).last().filter(|_| has_words(line, count)).unwrap_or(line.len())]
    };
    let first = words(1);
    let is_general = [&b"-ERR"[..], b"ERROR", b"CLIENT_ERROR", b"SERVER_ERROR"].contains(&first);
    if is_general { words(4) } else { first }
}

fn has_words(line: &[u8], count: usize) -> bool {
    line.split(|byte| *byte == b' ').count() > count
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_servers_say_has_its_own_fix() {
        let of = |text: &str| fix(text).unwrap_or_default();
        for (text, part) in [
            ("-NOAUTH Authentication required.", "--auth password:file"),
            (
                "-WRONGPASS invalid username-password pair or user is disabled.",
                "--auth password:file",
            ),
            ("-ERR invalid password", "--auth password:file"),
            ("-READONLY You can't write against a read only replica.", "name the primary"),
            ("-MOVED 3999 127.0.0.1:6381", "node of a cluster"),
            ("-OOM command not allowed when used memory > 'maxmemory'.", "maxmemory"),
            ("-LOADING Redis is loading the dataset in memory", "wait until"),
            ("-ERR max number of clients reached", "maxclients"),
            ("-ERR DB index is out of range", "redis://HOST/0"),
            ("ERROR Too many open connections", "memcached's -c"),
            ("CLIENT_ERROR unauthenticated", "-Y or -S"),
            ("SERVER_ERROR out of memory storing object", "memcached -m"),
            ("SERVER_ERROR object too large for cache", "memcached -I"),
            ("ERROR 42P05: prepared statement \"s0\" already exists", "prepared=false"),
            ("ERROR 26000: prepared statement \"s0\" does not exist", "prepared=false"),
        ] {
            assert!(of(text).contains(part), "{text}: {}", of(text));
        }
        assert_eq!(fix("-ERR value is 26 bytes too OOMy"), None);
        assert_eq!(fix("ERROR 22003: value \"26000\" is out of range"), None);
        assert!(!refuses_connections("ERROR 23503: key (id)=(53300) is not present in table"));
        assert!(refuses_connections("-ERR max number of clients reached"));
        assert!(!refuses_connections("-OOM command not allowed"));
        let pooler = "ERROR 08P01: no more connections allowed (max_client_conn)";
        assert!(refuses_connections(pooler) && of(pooler).contains("max_client_conn"));
    }

    #[test]
    fn words_are_shown_as_they_came_and_escaped() {
        assert_eq!(shown(b"-MYERR caf\xc3\xa9 \x1b[31m\x00"), "\"-MYERR café \\u{1b}[31m\\u{0}\"");
        assert_eq!(shown("a\u{202e}b\u{2066}".as_bytes()), "\"a\\u{202e}b\\u{2066}\"");
        let long = shown(&[b'x'; 1000]);
        assert!(long.chars().count() == SHOWN_MAX + 3 && long.ends_with("…\""), "{long}");
    }

    #[test]
    fn kinds_are_distinguished_by_what_is_particular() {
        assert_eq!(kind(b"-MOVED 3999 127.0.0.1:6381"), b"-MOVED");
        assert_eq!(kind(b"-ERR unknown command 'GET', with"), b"-ERR unknown command 'GET',");
        assert_eq!(kind(b"-ERR max"), b"-ERR max");
        assert_eq!(
            kind(b"SERVER_ERROR out of memory storing object"),
            b"SERVER_ERROR out of memory"
        );
        assert_eq!(kind(b"ERROR"), b"ERROR");
    }
}
