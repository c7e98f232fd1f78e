//! Values of headers that are lists, parted by commas. Source: RFC 9110, 5.6.1.

/// The items of a list. A comma in quotes parts nothing; white space and quotes around an item are left out,
/// and so are empty items.
pub(in crate::protocols) fn items(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    let (mut is_quoted, mut is_escaped) = (false, false);
    let parts = value.split(move |&byte| {
        is_quoted ^= byte == b'"' && !is_escaped;
        is_escaped = is_quoted && byte == b'\\' && !is_escaped;
        byte == b',' && !is_quoted
    });
    parts.map(unquoted).filter(|item| !item.is_empty())
}

/// Whether `name` is an item, in small letters or capitals.
pub(super) fn has(value: &[u8], name: &str) -> bool {
    items(value).any(|item| item.eq_ignore_ascii_case(name.as_bytes()))
}

/// The one number that a list repeats; `None`: there are others, or what is none. Source: RFC 9110, 8.6.
pub(in crate::protocols) fn number(value: &[u8]) -> Option<u64> {
    let mut numbers = items(value).map(|item| {
        let text = std::str::from_utf8(item).ok()?;
        text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse::<u64>().ok())?
    });
    let first = numbers.next()??;
    numbers.all(|other| other == Some(first)).then_some(first)
}

fn unquoted(item: &[u8]) -> &[u8] {
    let item = item.trim_ascii();
    let inner = item.strip_prefix(b"\"").and_then(|rest| rest.strip_suffix(b"\""));
    inner.unwrap_or(item).trim_ascii()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_its_items_however_it_is_written() {
        let of = |text: &str| {
            let text = text.as_bytes().to_vec();
            items(&text).map(|it| String::from_utf8_lossy(it).into_owned()).collect::<Vec<_>>()
        };
        assert_eq!(of("Upgrade, close"), ["Upgrade", "close"]);
        assert_eq!(of(" ,a ,,\tb,\r\n c "), ["a", "b", "c"]);
        assert_eq!(
            of(r#""close", x="a, close", "b\", c""#),
            ["close", r#"x="a, close""#, r#"b\", c"#]
        );
        assert!(of("").is_empty() && of(" , ").is_empty());
    }

    #[test]
    fn an_item_is_found_in_any_case_and_only_as_a_whole() {
        for text in ["close", "CLOSE", "Upgrade, Close", "close, foo", "\"close\"", "a,close,b"] {
            assert!(has(text.as_bytes(), "close"), "{text}");
        }
        for text in ["", "closed", "not close", "x=\"a, close\"", "clo,se"] {
            assert!(!has(text.as_bytes(), "close"), "{text}");
        }
    }

    #[test]
    fn a_length_may_be_reported_twice_and_not_in_two_ways() {
        let of = |text: &str| number(text.as_bytes());
        assert_eq!(
            [of("5"), of("5, 5"), of("5,5 , 05"), of("\r\n 7")],
            [Some(5), Some(5), Some(5), Some(7)]
        );
        for text in ["", ",", "5, 6", "5, x", "-5", "+5", "5 5", "0x5", "99999999999999999999"] {
            assert_eq!(of(text), None, "{text}");
        }
    }
}
