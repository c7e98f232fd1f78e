//! CSV with a head that names its columns: a time, what was asked for, and if it is there the method.

use std::borrow::Cow;

use sojourn_base::Fault;

use super::collected::Collected;
use super::json_lines::{METHODS, PATHS};
use super::{Access, times, whole_lines, wrong};

/// Which columns are read, and what stands between them.
pub(super) struct Columns {
    between: char,
    count: usize,
    /// Those of times and durations, by their names.
    times: Vec<(&'static str, usize)>,
    method: Option<usize>,
    path: usize,
}

/// The columns that a head names; `None`: it is no head of a log.
pub(super) fn columns(head: &str) -> Option<Columns> {
    let between = [',', '\t', ';'].into_iter().find(|between| head.contains(*between))?;
    let mut names = fields(trimmed(head, between), between)?;
    names.pop_if(|last| last.is_empty());
    let of = |name: &str| names.iter().position(|it| it.trim().eq_ignore_ascii_case(name));
    let find = |known: &[&str]| known.iter().find_map(|name| of(name));
    let times = times::names().filter_map(|name| Some((name, of(name)?))).collect();
    let method = find(&METHODS);
    Some(Columns { between, count: names.len(), times, method, path: find(&PATHS)? })
}

pub(super) fn read<'a>(text: &'a str, columns: &Columns) -> Result<Access<'a>, Fault> {
    let mut log = Collected::default();
    for (line, number) in whole_lines(text).skip(1) {
        let row = row(line, columns).ok_or_else(|| {
            let fix = "each row needs as many fields as the head; a field in quotes may not hold the end of a line";
            wrong("this row does not fit the head", number, fix)
        })?;
        let stamp = times::stamp(|name| {
            let (_, column) = columns.times.iter().find(|(known, _)| *known == name)?;
            Some(row[*column].to_string())
        });
        let name = columns.method.map_or("", |column| row[column].trim());
        log.add(stamp, name, row[columns.path].trim().to_string().into());
    }
    Ok(log.finish())
}

/// The fields of a row; `None`: it does not fit the head. One that is empty may be behind them.
fn row<'a>(line: &'a str, columns: &Columns) -> Option<Vec<Cow<'a, str>>> {
    let mut row = fields(trimmed(line, columns.between), columns.between)?;
    if row.len() == columns.count + 1 {
        row.pop_if(|last| last.is_empty());
    }
    (row.len() == columns.count).then_some(row)
}

/// A line without space around it, unless space is between its fields: they may be empty.
fn trimmed(line: &str, between: char) -> &str {
    line.trim_matches(|letter: char| letter.is_whitespace() && letter != between)
}

/// The fields of a row; `None`: a quote is not closed. Source: RFC 4180.
fn fields(line: &str, between: char) -> Option<Vec<Cow<'_, str>>> {
    let mut result = Vec::new();
    let mut rest = line;
    loop {
        let Some(quoted) = rest.strip_prefix('"') else {
            let (field, after) =
                rest.split_once(between).map_or((rest, None), |(a, b)| (a, Some(b)));
            result.push(field.into());
            match after {
                Some(after) => rest = after,
                None => return Some(result),
            }
            continue;
        };
        let bytes = quoted.as_bytes();
        let mut end = 0;
        while *bytes.get(end)? != b'"' || bytes.get(end + 1) == Some(&b'"') {
            end += if bytes[end] == b'"' { 2 } else { 1 };
        }
        result.push(quoted[..end].replace("\"\"", "\"").into());
        rest = &quoted[end + 1..];
        match rest.strip_prefix(between) {
            Some(after) => rest = after,
            None => return rest.is_empty().then_some(result),
        }
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn columns_are_known_by_their_names_and_quotes_are_undone() {
        for text in [
            "id,Timestamp,URL,Method\n1,1716890400.5,\"http://h/a?b=\"\"c,d\"\"\",post\n2,1716890400,/e,GET\n",
            "time;path;verb\n1716890400500;\"/a?b=\"\"c,d\"\"\";POST\n1716890400000;/e;GET\n",
        ] {
            let log = super::super::access(text).unwrap().unwrap();
            let result: Vec<_> = log
                .entries
                .iter()
                .map(|it| (it.at_ns - 1_716_890_400_000_000_000, it.method, &*it.path))
                .collect();
            let wanted = [(0, Some("GET"), "/e"), (500_000_000, Some("POST"), "/a?b=\"c,d\"")];
            assert_eq!(result, wanted, "{text}");
        }
        let log = super::super::access("path,bytes\n/a,5\nnone,6\n").unwrap().unwrap();
        assert_eq!((log.entries.len(), log.left_out, log.has_times), (1, 1, false));
    }

    #[test]
    fn empty_fields_of_a_row_are_fields_and_space_around_it_is_none() {
        for (text, paths) in [
            ("time\tpath\tagent\n1\t/a\t\n2\t/b\tx\n3\t/c\t \r\n", ["/a", "/b", "/c"]),
            ("\ttime\tpath\n\t1\t/a\n0\t2\t/b\n \t3\t/c\n", ["/a", "/b", "/c"]),
            ("time\tpath\t\n1\t/a\t\n2\t/b\n3\t/c\t\n", ["/a", "/b", "/c"]),
            (" time,path \n 1,\"/a\"\t\n2,/b\n3,/c,\n", ["/a", "/b", "/c"]),
        ] {
            let log = super::super::access(text).unwrap().unwrap();
            let result: Vec<_> = log.entries.iter().map(|it| &*it.path).collect();
            assert_eq!((result, log.has_times), (paths.to_vec(), true), "{text:?}");
        }
    }

    #[test]
    fn methods_that_http_does_not_have_and_rows_without_a_time_are_counted() {
        let text = "msec,request_time,path,method\n1716890400.75,0.5,/a,GET\n-,1,/b,GET\n\
                    1716890400.25,0,/c,PURGE\n1716890401.25,,/d,\n";
        let log = super::super::access(text).unwrap().unwrap();
        let result: Vec<_> =
            log.entries.iter().map(|it| (it.at_ns / 1_000_000 % 10_000, &*it.path)).collect();
        assert_eq!(result, [(250, "/a"), (1_250, "/d")], "the first less its duration");
        assert_eq!((log.without_time, log.other_methods, log.ends), (1, 1, 1));
        let none = super::super::access("time,path\nx,/a\n").unwrap().unwrap();
        assert_eq!((none.entries.len(), none.has_times), (1, false));
    }

    #[test]
    fn torn_rows_are_named_and_other_texts_are_no_csv() {
        for torn in ["time,path\n1,\"/a\n", "time,path\n1\n", "time,path\n1,\"/a\"x\n"] {
            assert_eq!(super::super::access(torn).unwrap().unwrap_err().at, "line 2", "{torn}");
        }
        for other in ["time,bytes\n1,2\n", "gap_ns\n1\n", "timestamp_s path\n1 /a\n"] {
            assert!(super::super::access(other).is_none(), "{other}");
        }
    }
}
