use clap::CommandFactory;

use super::*;

#[test]
fn every_key_of_the_job_is_a_flag_and_the_other_way_round() {
    let option = [("any".to_owned(), String::new())].into(); // left out where it is empty
    let json = serde_json::to_value(Job { option, ..Job::default() }).unwrap();
    let mut keys: Vec<String> = json.as_object().unwrap().keys().cloned().collect();
    keys.retain(|key| key != "schema"); // a form, not a wish
    let own = [
        "json",
        "progress",
        "progress_every",
        "listen",
        "job",
        "check",
        "describe",
        "completions",
        "help",
        "version",
        "replay", // paths_file, arrivals and more, at once
        "speed",
    ];
    let command = Args::command();
    let mut flags: Vec<String> =
        command.get_arguments().map(|arg| arg.get_id().to_string()).collect();
    flags.retain(|flag| !own.contains(&flag.as_str()));
    keys.sort();
    flags.sort();
    assert_eq!(keys, flags);
    Args::command().debug_assert();
}

#[test]
fn lines_of_progress_come_as_seldom_as_asked_but_not_without_end() {
    let read =
        |text: &str| Args::try_parse_from(["sojourn-load", "null:", "--progress-every", text]);
    assert_eq!(read("5s").unwrap().output.progress_every, 5_000_000_000);
    assert!(read("99ms").unwrap_err().to_string().contains("too short"));
    assert!(read("soon").is_err());
}

#[test]
fn flags_override_the_job_and_leave_the_rest() {
    let words = ["sojourn-load", "null:", "--rate", "5k", "--find-max", "--items", "2k"];
    let args = Args::try_parse_from(words).unwrap();
    let mut job = Job { rate: "1k".into(), depth: 9, ..Job::default() };
    args.override_keys(&mut job);
    assert_eq!((job.rate.as_str(), job.depth, job.items), ("5k", 9, 2000));
    assert!(job.find_max);
}

#[test]
fn a_comma_ends_a_path_only_where_another_begins() {
    let of = |words: &[&str]| {
        let input = words.iter().flat_map(|word| ["--paths", *word]);
        let words = ["sojourn-load", "http://h/"].into_iter().chain(input);
        Args::try_parse_from(words).unwrap().job().unwrap().paths
    };
    assert_eq!(of(&["/a,/b"]), ["/a", "/b"]);
    assert_eq!(of(&["/a,b"]), ["/a,b"]);
    assert_eq!(of(&["/at/48.2,16.4?x=1,2,/b,"]), ["/at/48.2,16.4?x=1,2", "/b,"]);
    assert_eq!(of(&["/a,b", "/c"]), ["/a,b", "/c"]);
    assert_eq!(of(&[]), ["/"]);
}

#[test]
fn every_default_in_the_help_is_the_jobs() {
    let json = serde_json::to_value(Job::default()).unwrap();
    for arg in Args::command().get_arguments() {
        let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
        let Some(default) = help.strip_suffix(']').and_then(|h| h.rsplit_once('[')) else {
            continue;
        };
        let default = default.1;
        if ["none", "not pinned", "the target's"].contains(&default) {
            continue;
        }
        let key = &json[arg.get_id().as_str()];
        let same = match key {
            serde_json::Value::String(text) => text == default,
            number => units::parse_count(default).ok() == number.as_f64(),
        };
        assert!(same, "{}: the help says {default}, the job {key}", arg.get_id());
    }
}

#[test]
fn an_unknown_key_is_named_with_a_guess() {
    let fault = job_file::parse(r#"{"target": "null:", "connection": 4}"#).unwrap_err();
    assert!(fault.what.contains("'connection'"), "{fault}");
    assert!(fault.fix.contains("did you mean connections"), "{fault}");
    assert_eq!(fault.exit, 2);
    assert!(job_file::parse(r#"{"depth": "many"}"#).unwrap_err().at.contains("line 1"));
    assert!(job_file::parse(r#"{"depth": -1}"#).is_err());
}
