//! What is wrong with a target that cannot be read. A password in it is never repeated.

use sojourn_base::Fault;
use sojourn_base::kind;

/// Whether a colon is between the slashes and the last `@`. A password may have slashes too.
pub(super) fn has_password(text: &str) -> bool {
    let before = text.rsplit_once('@').map_or("", |(before, _)| before);
    before.split_once("//").map_or(before, |(_, who)| who).contains(':')
}

/// The fault of a target with a password, which it does not repeat.
pub(super) fn with_password() -> Fault {
    let fix = "write it into a file that only you may read, and give --auth password:file:PATH; over \
               HTTP write USER:PASSWORD into it, and give --auth basic:file:PATH";
    Fault::usage("a password does not belong in a target", "", fix)
}

/// The fault of what is no target, with two that are.
pub(super) fn wrong(text: &str) -> Fault {
    Fault::usage(
        format!("'{text}' is not a target"),
        "",
        "write SCHEME://HOST:PORT, such as memcache://127.0.0.1:11211 or http://127.0.0.1:8080/, or null:",
    )
}

/// The fault of a name that the lookup of addresses and TLS do not know as it is. Source: RFC 5890.
pub(super) fn not_ascii(authority: &str) -> Fault {
    Fault::usage(
        format!("the name '{authority}' is not ASCII"),
        "",
        "write it as the network knows it, xn--…: python3 -c \"print('NAME'.encode('idna').decode())\"",
    )
}

/// The fault of a target without a scheme.
pub(super) fn bare(text: &str) -> Fault {
    let text = text.trim_start_matches('/');
    Fault::usage(
        format!("'{text}' is not a target: it does not say which protocol the server speaks"),
        "",
        format!(
            "put a scheme before it, such as http://{text}, memcache://{text} or resp://{text}"
        ),
    )
}

/// The fault of a unix socket that is written in another way.
pub(super) fn wrong_unix(text: &str) -> Fault {
    Fault::usage(
        format!("'{text}' is not a target"),
        "",
        "write a unix socket as SCHEME://unix:/SOCKET, and one with a path as http://unix:/SOCKET:/PATH",
    )
}

/// The fault of a scheme that no protocol has.
pub(super) fn unknown<'a>(name: &str, known: impl Iterator<Item = &'a str> + Clone) -> Fault {
    kind::unknown(name, known, "scheme", "")
}
