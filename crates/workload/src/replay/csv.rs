//! CSV with a head that names its columns: a time, what was asked for, and if it is there the method.

use std::borrow::Cow;

use sojourn_base::Fault;

use super::json_lines::{METHODS, PATHS, TIMES, at};
use super::{Access, Entry, lines, method, url, wrong};

/// Which columns are read, and what stands between them.
pub(super) struct Columns {
    between: char,
    count: usize,
    time: Option<usize>,
    method: Option<usize>,
    path: usize,
}

/// The columns that a head names; `None`: it is no head of a log.
pub(super) fn columns(head: &str) -> Option<Columns> {
    let between = [',', '\t', ';'].into_iter().find(|between| head.contains(*between))?;
    let names = fields(head, between)?;
    let find = |known: &[&str]| {
        known
            .iter()
            .find_map(|name| names.iter().position(|it| it.trim().eq_ignore_ascii_case(name)))
    };
    let (time, method) = (find(&TIMES), find(&METHODS));
    Some(Columns { between, count: names.len(), time, method, path: find(&PATHS)? })
}

pub(super) fn read<'a>(text: &'a str, columns: &Columns) -> Result<Access<'a>, Fault> {
    let mut log = Access { has_times: columns.time.is_some(), ..Access::default() };
    for (line, number) in lines(text).skip(1) {
        let row = fields(line, columns.between).filter(|row| row.len() == columns.count);
        let row = row.ok_or_else(|| {
            let fix = "each row needs as many fields as the head; a field in quotes may not hold the end of a line";
            wrong("this row does not fit the head", number, fix)
        })?;
        let stamp = columns.time.map(|column| at(row[column].trim()));
        match (stamp, url::path(row[columns.path].trim())) {
            (Some(None), _) | (_, None) => log.left_out += 1,
            (stamp, Some(path)) => log.entries.push(Entry {
                at_ns: stamp.flatten().unwrap_or_default(),
                method: columns.method.and_then(|column| method(row[column].trim())),
                path: url::encoded(path).into_owned().into(),
            }),
        }
    }
    Ok(log)
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
    fn torn_rows_are_named_and_other_texts_are_no_csv() {
        for torn in ["time,path\n1,\"/a\n", "time,path\n1\n", "time,path\n1,\"/a\"x\n"] {
            assert_eq!(super::super::access(torn).unwrap().unwrap_err().at, "line 2", "{torn}");
        }
        for other in ["time,bytes\n1,2\n", "gap_ns\n1\n", "timestamp_s path\n1 /a\n"] {
            assert!(super::super::access(other).is_none(), "{other}");
        }
    }
}
