//! Where in a query the item's number goes: `{}` and `{item}` stand for it, but not where SQL has braces
//! of its own.
//!
//! Text in quotes, in dollar quotes, names in double quotes and comments are left as they are: `'{}'` is an
//! empty JSON object, or an empty array. There `{item}` alone stands for the number, because it is no JSON
//! and no array of numbers. Where a placeholder stands for the number, `{{}}` and `{{item}}` are `{}` and
//! `{item}` as they are.
//! Source: PostgreSQL documentation, "Lexical Structure".

/// What represents the number: the second in text of any kind too.
const BARE: &str = "{}";
const NAMED: &str = "{item}";
/// How each is written where it is meant as it is.
const BARE_ESCAPED: &str = "{{}}";
const NAMED_ESCAPED: &str = "{{item}}";
/// What they are in text of SQL's own, and elsewhere: placeholders, and how each is escaped.
const APART: &[(&str, &str)] = &[(NAMED, NAMED_ESCAPED)];
const PLAIN: &[(&str, &str)] = &[(BARE, BARE_ESCAPED), (NAMED, NAMED_ESCAPED)];

/// `query`, cut where the number goes; and whether it goes into a text, a name or a comment, where no
/// parameter of a prepared query may stand.
pub(super) fn pieces(query: &str) -> (Vec<String>, bool) {
    let mut pieces = vec![String::new()];
    let mut is_in_text = false;
    let mut rest = query;
    while !rest.is_empty() {
        let apart = apart(rest, query.len() - rest.len(), query);
        let used = if apart > 0 {
            let before = pieces.len();
            push(&rest[..apart], APART, &mut pieces);
            is_in_text |= pieces.len() > before;
            apart
        } else {
            let run = rest.char_indices().skip(1).map(|(at, _)| at);
            let run = run.into_iter().find(|&at| may_begin(rest.as_bytes()[at]));
            let run = run.unwrap_or(rest.len());
            push(&rest[..run], PLAIN, &mut pieces);
            run
        };
        rest = &rest[used..];
    }
    (pieces, is_in_text)
}

/// Whether a text, a name or a comment may begin with it.
fn may_begin(byte: u8) -> bool {
    matches!(byte, b'\'' | b'"' | b'$' | b'-' | b'/')
}

/// Appends `text`; each of `places` in it ends a piece.
fn push(text: &str, places: &[(&str, &str)], pieces: &mut Vec<String>) {
    let mut rest = text;
    while !rest.is_empty() {
        let escaped = places.iter().find(|(_, escaped)| rest.starts_with(escaped));
        let placed = places.iter().find(|(place, _)| rest.starts_with(place));
        let length = rest.chars().next().map_or(1, char::len_utf8);
        let (used, retained) = match (escaped, placed) {
            (Some((place, escaped)), _) => (escaped.len(), *place),
            (None, Some((place, _))) => {
                pieces.push(String::new());
                (place.len(), "")
            }
            (None, None) => (length, &rest[..length]),
        };
        if let Some(last) = pieces.last_mut() {
            last.push_str(retained);
        }
        rest = &rest[used..];
    }
}

/// How many bytes of `rest`, which begins at `at` in `query`, are text, a name or a comment: 0 if it begins
/// with none of them. One that is never closed goes to the end, as the server will say.
fn apart(rest: &str, at: usize, query: &str) -> usize {
    let bytes = rest.as_bytes();
    let whole = |end: Option<usize>| end.unwrap_or(rest.len());
    match bytes[0] {
        b'\'' => whole(quoted(bytes, b'\'', is_escaping(query, at))),
        b'"' => whole(quoted(bytes, b'"', false)),
        b'-' if rest.starts_with("--") => whole(rest.find('\n')),
        b'/' if rest.starts_with("/*") => whole(comment(bytes)),
        b'$' if !is_in_word(query, at) => dollars(rest),
        _ => 0,
    }
}

/// Where text that begins with `quote` is over: two of them in a row are one of its letters, and so is what
/// follows a backslash where these escape.
fn quoted(bytes: &[u8], quote: u8, is_escaping: bool) -> Option<usize> {
    let mut at = 1;
    while at < bytes.len() {
        match bytes[at] {
            b'\\' if is_escaping => at += 2,
            byte if byte == quote && bytes.get(at + 1) == Some(&quote) => at += 2,
            byte if byte == quote => return Some(at + 1),
            _ => at += 1,
        }
    }
    None
}

/// Whether backslashes escape in the text that begins at `at`: `E'…'`.
fn is_escaping(query: &str, at: usize) -> bool {
    query[..at].ends_with(['e', 'E']) && !is_in_word(query, at - 1)
}

/// Whether a word goes on at `at`.
fn is_in_word(query: &str, at: usize) -> bool {
    let before = query[..at].chars().next_back();
    before.is_some_and(|letter| letter.is_alphanumeric() || letter == '_' || letter == '$')
}

/// Where the comment is over that `bytes` begin with: comments nest.
fn comment(bytes: &[u8]) -> Option<usize> {
    let (mut depth, mut at) = (0, 0);
    while at + 1 < bytes.len() {
        match &bytes[at..at + 2] {
            b"/*" => (depth, at) = (depth + 1, at + 2),
            b"*/" => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
        if depth == 0 {
            return Some(at);
        }
    }
    None
}

/// Length of the text in dollar quotes, `$$…$$` or `$tag$…$tag$`, that `rest` begins with; 0: it does not.
fn dollars(rest: &str) -> usize {
    let Some(end) = rest[1..].find('$').map(|at| at + 2) else { return 0 };
    let (mark, tag) = (&rest[..end], &rest[1..end - 1]);
    let is_tag = tag.chars().all(|letter| letter.is_alphanumeric() || letter == '_')
        && !tag.starts_with(|letter: char| letter.is_ascii_digit());
    if !is_tag {
        return 0;
    }
    rest[end..].find(mark).map_or(rest.len(), |at| end + at + mark.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The query with `#` where the number goes.
    fn of(query: &str) -> String {
        pieces(query).0.join("#")
    }

    #[test]
    fn a_place_in_text_a_name_or_a_comment_is_reported() {
        for query in
            ["SELECT 'user-{item}', {}", "SELECT $$ {item} $$", "SELECT \"{item}\"", "-- {item}"]
        {
            assert!(pieces(query).1, "{query}");
        }
        for query in ["SELECT '{}', {}, {item}", "SELECT 'user-' || {}", "SELECT '{{item}}', {}"] {
            assert!(!pieces(query).1, "{query}");
        }
    }

    #[test]
    fn braces_stand_for_the_number_only_where_sql_has_none() {
        for (query, wanted) in [
            ("SELECT {} + {item}", "SELECT # + #"),
            ("{}", "#"),
            ("SELECT '{}'::jsonb", "SELECT '{}'::jsonb"),
            ("SELECT 'it''s {}' || {}", "SELECT 'it''s {}' || #"),
            ("SELECT E'\\'{}' || {}", "SELECT E'\\'{}' || #"),
            ("SELECT 'a\\' || {}, '{}'", "SELECT 'a\\' || #, '{}'"),
            ("SELECT type'{}' || {}", "SELECT type'{}' || #"),
            ("SELECT \"{}\" FROM t WHERE id = {}", "SELECT \"{}\" FROM t WHERE id = #"),
            ("SELECT \"a\"\"{}\", {}", "SELECT \"a\"\"{}\", #"),
            ("SELECT {} -- {} and '\n, {}", "SELECT # -- {} and '\n, #"),
            ("SELECT /* {} /* ' */ {} */ {}", "SELECT /* {} /* ' */ {} */ #"),
            ("SELECT $${}$$, {}", "SELECT $${}$$, #"),
            ("SELECT $a$ {} $$ ' $a$, {}", "SELECT $a$ {} $$ ' $a$, #"),
            ("SELECT $1, {}, $2", "SELECT $1, #, $2"),
            ("SELECT a$b{}$b", "SELECT a$b#$b"),
            ("SELECT 1 - {} / {}", "SELECT 1 - # / #"),
            ("SELECT 'user-{item}'", "SELECT 'user-#'"),
            ("SELECT '{{item}}', {{}}, {}", "SELECT '{item}', {}, #"),
            ("SELECT 'not closed {}", "SELECT 'not closed {}"),
            ("SELECT ARRAY[{}], 'ä{}', {}", "SELECT ARRAY[#], 'ä{}', #"),
            ("SELECT '{{}}'", "SELECT '{{}}'"),
        ] {
            assert_eq!(of(query), wanted, "{query}");
        }
    }

    #[test]
    fn what_is_no_place_is_kept_letter_for_letter() {
        for query in
            ["SELECT '{\"a\": {\"b\": 1}}'", "{ }", "{{", "}}", "{x}", "-", "/", "$", "'", "é"]
        {
            assert_eq!(of(query), query);
        }
    }
}
