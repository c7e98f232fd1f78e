//! The part of memcached's text protocol that load generators speak: get and gets with any number
//! of keys, set, delete, version, verbosity, `flush_all`, quit. Source: memcached's doc/protocol.txt.

use std::str::from_utf8;

use sojourn_base::kind::Kind;

use super::{Parsed, ProtocolKind, REPLY_MAX, Work};
use crate::store::Store;

/// Longest command line, bytes: a multi-get of 1000 keys of 250 bytes fits.
const LINE_MAX: usize = 512 * 1024;
/// Longest key, bytes.
const KEY_MAX: usize = 250;
/// Longest value, bytes.
const VALUE_MAX: usize = 64 << 20;

pub(super) const KIND: ProtocolKind = ProtocolKind {
    kind: Kind {
        name: "memcache",
        about: "memcached's text protocol: get, gets, set, delete, version, flush_all, quit",
        usage: "memcache",
        params: &[],
        needs: &[],
        source: "memcached, doc/protocol.txt",
    },
    parse,
};

fn parse(input: &[u8], store: &mut Store, reply: &mut Vec<u8>) -> Parsed {
    let window = &input[..input.len().min(LINE_MAX)];
    let Some(end) = window.iter().position(|&byte| byte == b'\n') else {
        return if input.len() >= LINE_MAX { Parsed::Close } else { Parsed::More };
    };
    let line = input[..end].strip_suffix(b"\r").unwrap_or(&input[..end]);
    let mut words = line.split(|&byte| byte == b' ').filter(|word| !word.is_empty());
    let used = end + 1;
    let admin = Parsed::Request { used, work: Work::Admin };
    match words.next().unwrap_or_default() {
        b"get" => get(words, false, used, store, (reply, REPLY_MAX)),
        b"gets" => get(words, true, used, store, (reply, REPLY_MAX)),
        b"set" => set(&words.collect::<Vec<_>>(), &input[used..], used, store, reply),
        b"delete" => delete(words, used, store, reply),
        b"version" => answer(admin, reply, b"VERSION sojourn\r\n"),
        b"verbosity" => answer(admin, reply, b"OK\r\n"),
        b"flush_all" => {
            store.clear();
            let is_quiet = words.next_back() == Some(b"noreply");
            answer(admin, reply, if is_quiet { b"" } else { b"OK\r\n" })
        }
        b"quit" => Parsed::Close,
        _ => answer(admin, reply, b"ERROR\r\n"),
    }
}

fn answer(parsed: Parsed, reply: &mut Vec<u8>, text: &[u8]) -> Parsed {
    reply.extend_from_slice(text);
    parsed
}

/// A line that asks for more than `most` bytes ends the connection: one may name a value many times.
fn get<'a>(
    keys: impl Iterator<Item = &'a [u8]>,
    with_cas: bool,
    used: usize,
    store: &Store,
    (reply, most): (&mut Vec<u8>, usize),
) -> Parsed {
    let before = reply.len();
    let mut count = 0;
    for key in keys {
        count += 1;
        if key.len() > KEY_MAX {
            reply.truncate(before);
            let refused = Parsed::Request { used, work: Work::Admin };
            return answer(refused, reply, b"CLIENT_ERROR bad command line format\r\n");
        }
        let Some(item) = store.get(key) else { continue };
        if reply.len() - before + item.value.len() > most {
            return Parsed::Close;
        }
        reply.extend_from_slice(b"VALUE ");
        reply.extend_from_slice(key);
        let cas = if with_cas { " 1" } else { "" };
        let rest = format!(" {} {}{cas}\r\n", item.flags, item.value.len());
        reply.extend_from_slice(rest.as_bytes());
        reply.extend_from_slice(&item.value);
        reply.extend_from_slice(b"\r\n");
    }
    if count == 0 {
        return answer(Parsed::Request { used, work: Work::Admin }, reply, b"ERROR\r\n");
    }
    answer(Parsed::Request { used, work: Work::Read }, reply, b"END\r\n")
}

/// `words` are key, flags, expiry, bytes and perhaps `noreply`; the value follows the line. Expiry
/// is read and ignored: nothing here lives long enough.
fn set(
    words: &[&[u8]],
    rest: &[u8],
    used: usize,
    store: &mut Store,
    reply: &mut Vec<u8>,
) -> Parsed {
    let number = |at: usize| from_utf8(words.get(at)?).ok()?.parse::<u32>().ok();
    let is_quiet = words.get(4) == Some(&b"noreply".as_slice());
    let (Some(key), Some(flags), Some(bytes)) = (words.first(), number(1), number(3)) else {
        let refused = Parsed::Request { used, work: Work::Admin };
        return answer(refused, reply, b"CLIENT_ERROR bad command line format\r\n");
    };
    let bytes = bytes as usize;
    if bytes > VALUE_MAX || key.len() > KEY_MAX {
        return Parsed::Close; // the value that follows cannot be separated from commands
    }
    let Some(value) = rest.get(..bytes + 2) else { return Parsed::More };
    let used = used + bytes + 2;
    if &value[bytes..] != b"\r\n" {
        let refused = Parsed::Request { used, work: Work::Admin };
        return answer(refused, reply, b"CLIENT_ERROR bad data chunk\r\n");
    }
    let stored: &[u8] = match store.set(key, flags, &value[..bytes]) {
        true if is_quiet => b"",
        true => b"STORED\r\n",
        false => b"SERVER_ERROR out of memory storing object\r\n",
    };
    answer(Parsed::Request { used, work: Work::Write }, reply, stored)
}

fn delete<'a>(
    mut words: impl Iterator<Item = &'a [u8]>,
    used: usize,
    store: &mut Store,
    reply: &mut Vec<u8>,
) -> Parsed {
    let Some(key) = words.next() else {
        return answer(Parsed::Request { used, work: Work::Admin }, reply, b"ERROR\r\n");
    };
    let text: &[u8] = if store.remove(key) { b"DELETED\r\n" } else { b"NOT_FOUND\r\n" };
    let is_quiet = words.next() == Some(b"noreply");
    let parsed = Parsed::Request { used, work: Work::Write };
    answer(parsed, reply, if is_quiet { b"" } else { text })
}

#[cfg(test)]
mod tests {
    use super::super::suite::replies;
    use super::*;

    fn said(input: &str) -> String {
        String::from_utf8(replies(&KIND, input.as_bytes())).unwrap()
    }

    #[test]
    fn what_was_set_is_got_at_any_split() {
        let all = "set a 5 0 3\r\nabc\r\nset b 0 0 2\r\n\r\n\r\nget a\r\nget x b a\r\ngets a\r\n";
        let wanted = "STORED\r\nSTORED\r\nVALUE a 5 3\r\nabc\r\nEND\r\n\
                      VALUE b 0 2\r\n\r\n\r\nVALUE a 5 3\r\nabc\r\nEND\r\n\
                      VALUE a 5 3 1\r\nabc\r\nEND\r\n";
        assert_eq!(said(all), wanted);
    }

    #[test]
    fn quiet_requests_have_no_reply() {
        assert_eq!(said("set a 0 0 1 noreply\r\nx\r\nget a\r\n"), "VALUE a 0 1\r\nx\r\nEND\r\n");
        assert_eq!(said("flush_all noreply\r\nget a\r\n"), "END\r\n");
    }

    #[test]
    fn mistakes_are_answered_as_memcached_does() {
        assert_eq!(said("bogus\r\n"), "ERROR\r\n");
        assert_eq!(said("get\r\n"), "ERROR\r\n");
        assert_eq!(said("set a b c d\r\n"), "CLIENT_ERROR bad command line format\r\n");
        assert_eq!(said("set a 0 0 1\r\nxyz"), "CLIENT_ERROR bad data chunk\r\n");
        assert_eq!(said("delete a\r\nversion\r\n"), "NOT_FOUND\r\nVERSION sojourn\r\n");
    }

    #[test]
    fn a_line_that_asks_for_more_than_may_be_ends_the_connection() {
        let mut store = Store::default();
        assert!(store.set(b"a", 0, &[b'v'; 100]));
        let of = |times: usize| {
            let (keys, mut reply) = (vec![b"a".as_slice(); times], Vec::new());
            let parsed = get(keys.into_iter(), false, 9, &store, (&mut reply, 1000));
            (parsed, reply.len())
        };
        let each = "VALUE a 0 100\r\n\r\n".len() + 100;
        let read = Parsed::Request { used: 9, work: Work::Read };
        assert_eq!(of(8), (read, 8 * each + "END\r\n".len()));
        for times in [9, 100_000] {
            let (parsed, bytes) = of(times);
            assert_eq!(parsed, Parsed::Close, "{times}");
            assert!(bytes <= 1000 + each, "{times}: {bytes}");
        }
    }

    #[test]
    fn a_line_without_end_does_not_grow_for_ever() {
        let endless = vec![b'g'; LINE_MAX];
        assert_eq!(parse(&endless, &mut Store::default(), &mut Vec::new()), Parsed::Close);
    }
}
