//! Secrets that stand in a job by mistake. A job is kept beside its result, so it may only name where they are.

use sojourn_base::Fault;

/// Parts of names that only secrets have, in lower case, with a hyphen for `_` and `.`.
const PARTS: [&str; 12] = [
    "token",
    "secret",
    "password",
    "passwd",
    "api-key",
    "apikey",
    "credential",
    "access-key",
    "subscription-key",
    "functions-key",
    "jwt",
    "bearer",
];
/// Words in the name of a header of which the same is true.
const WORDS: [&str; 5] = ["session", "sessionid", "sid", "signature", "csrf"];
/// Names in a query that a secret may have, and much else: there a long value makes the difference.
const DOUBTFUL: [&str; 9] = [
    "key",
    "auth",
    "authorization",
    "sig",
    "signature",
    "x-amz-signature",
    "session",
    "sessionid",
    "pwd",
];
/// From so many letters on, the value of a doubtful name is a secret.
const LONG: usize = 16;
/// The placeholder of an item's number: what differs from request to request is no secret.
const ITEMS: [&str; 2] = ["{}", "{item}"];

/// Whether a header bears what others must not know.
pub fn is_in_header(name: &str, value: &str) -> bool {
    let name = plain(name);
    has_part(&name) || (value.len() >= LONG && name.split('-').any(|word| WORDS.contains(&word)))
}

fn plain(name: &str) -> String {
    name.to_ascii_lowercase().replace(['_', '.'], "-")
}

fn has_part(name: &str) -> bool {
    PARTS.iter().any(|part| name.contains(part))
}

/// Refuses a target or path whose query or fragment bears a secret; its value is in no message.
pub fn refuse_query(path: &str, at: &str) -> Result<(), Fault> {
    let Some((_, query)) = path.split_once(['?', '#']) else { return Ok(()) };
    let result = query.split(['?', '#', '&', ';']).find_map(|part| {
        let (name, value) = part.split_once('=')?;
        bears(name, value).then_some(name)
    });
    result.map_or(Ok(()), |name| {
        let name: String = name.chars().take(60).collect();
        let what = format!("'{name}' in the query looks like a secret, and the job is stored beside its result");
        let fix = "send it as a header that names its place, 'X-Api-Key: env:VARIABLE' or file:PATH; or write the \
                   path into paths_file, which stays where it is";
        Err(Fault::usage(what, at, fix))
    })
}

fn bears(name: &str, value: &str) -> bool {
    let is_public = value.bytes().all(|byte| byte.is_ascii_digit())
        || ["true", "false", "yes", "no", "on", "off"].contains(&value)
        || ITEMS.iter().any(|item| value.contains(item));
    let name = plain(name);
    !is_public && (has_part(&name) || (DOUBTFUL.contains(&name.as_str()) && value.len() >= LONG))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_is_a_secret_by_its_name_and_a_doubtful_one_by_its_length() {
        for name in ["X-JWT-Assertion", "Ocp-Apim-Subscription-Key", "x_functions_key", "X-Bearer"]
        {
            assert!(is_in_header(name, "x"), "{name}");
        }
        for name in ["X-Session-Id", "X-Hub-Signature-256", "X-CSRF"] {
            assert!(is_in_header(name, "hunter2hunter2hunter2"), "{name}");
            assert!(!is_in_header(name, "7"), "{name}");
        }
        assert!(!is_in_header("X-Inside", "hunter2hunter2hunter2"));
        assert!(!is_in_header("X-Request-Id", "hunter2hunter2hunter2"));
    }

    #[test]
    fn a_secret_in_a_query_is_refused_without_its_value() {
        for path in [
            "/?api_key=hunter2",
            "/a?page=2&Access.Token=hunter2",
            "http://h:1/x?X-Amz-Security-Token=hunter2#top",
            "/a;b?sig=hunter2hunter2hunter2",
            "?a=b;client_secret=hunter2",
            "http://h/#access_token=hunter2",
        ] {
            let fault = refuse_query(path, "target").unwrap_err();
            assert_eq!(fault.at, "target");
            assert!(fault.what.contains("looks like a secret"), "{fault}");
            assert!(!fault.to_string().contains("hunter2"), "{fault}");
        }
    }

    #[test]
    fn numbers_items_and_short_keys_are_asked_for_as_ever() {
        for path in [
            "/api_key=hunter2",
            "/?q=hunter2&page=token",
            "/?key=user7",
            "/?key={}",
            "/?token={item}",
            "/?max_tokens=100",
            "/?token=",
            "/?token",
        ] {
            assert!(refuse_query(path, "").is_ok(), "{path}");
        }
    }
}
