//! Access logs in the common or combined format: a time in brackets, then a request in quotes.

use std::borrow::Cow;

use sojourn_base::Fault;

use super::{Access, Entry, date, is_near, lines, method, quoted, url, wrong};

const FIX: &str = "leave out lines that are of no access log, as with `grep '\\['`";

/// Whether a log begins with such a line.
pub(super) fn is_it(line: &str) -> bool {
    time(line).is_some()
}

pub(super) fn read(text: &str) -> Result<Access<'_>, Fault> {
    let mut log = Access { has_times: true, ..Access::default() };
    for (line, number) in lines(text) {
        let at_ns = time(line).ok_or_else(|| wrong("there is no time in brackets", number, FIX))?;
        match request(line) {
            Some((method, path)) => log.entries.push(Entry { at_ns, method: Some(method), path }),
            None => log.left_out += 1,
        }
    }
    Ok(log)
}

/// The time in brackets, `[10/Oct/2000:13:55:36 -0700]`, before a quoted request.
fn time(line: &str) -> Option<i64> {
    let begin = line.find('[')? + 1;
    let end = begin + line[begin..].find(']')?;
    line[end..].find('"')?;
    date::of_log(&line[begin..end]).filter(|ns| is_near(*ns))
}

/// What the quoted request behind the time asks for.
fn request(line: &str) -> Option<(&'static str, Cow<'_, str>)> {
    let text = quoted::first(&line[line.find(']')?..])?;
    let (name, rest) = text.split_once(' ')?;
    let target = rest.rsplit_once(' ').map_or(rest, |(target, _)| target);
    let path = url::path(target)?;
    let method = method(name).filter(|method| *method == name)?;
    (!path.contains(char::is_whitespace)).then(|| (method, quoted::as_path(path)))
}
