//! From files to files: what is written, and what is refused.

use clap::Parser as _;
use serde_json::Value;

use super::*;
use crate::cli::{Args, Instead};
use crate::diff::testing::{STAGES, blame, requests, result};

struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("sojourn-diff-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn put(&self, name: &str, value: &str) -> String {
        std::fs::write(self.0.join(name), value).unwrap();
        self.at(name)
    }

    fn at(&self, name: &str) -> String {
        self.0.join(name).display().to_string()
    }

    fn text(&self, name: &str) -> String {
        std::fs::read_to_string(self.0.join(name)).unwrap()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn run(words: &[&str]) -> (Result<Exit, Fault>, String) {
    let words = ["sojourn-trace", "diff"].iter().chain(words);
    let Some(Instead::Diff(args)) = Args::try_parse_from(words).unwrap().instead else {
        panic!("no diff")
    };
    let mut out = Vec::new();
    (act(&args, &mut out), String::from_utf8(out).unwrap())
}

fn made(sleep_ns: u64) -> Value {
    let mut value = result(&STAGES, &requests(20, 200, sleep_ns));
    value["blame"] = blame("a sleep in `fsync`", sleep_ns);
    value
}

#[test]
fn both_sides_are_compared_drawn_and_put_into_one_file() {
    let folder = Folder::new("whole");
    let first = folder.put("a.json", &made(1).to_string());
    let second = folder.put("b.json", &made(1_000_000).to_string());
    let [json, flame, folded, chrome] =
        ["d.json", "d.svg", "d.folded", "d.chrome"].map(|n| folder.at(n));
    let (exit, page) = run(&[
        &first, &second, "--json", &json, "--flame", &flame, "--folded", &folded, "--chrome",
        &chrome,
    ]);
    assert_eq!(exit.unwrap(), Exit::Ok);
    assert!(page.contains("* wait_sleep") && page.contains("verdict: holds"), "{page}");
    let written: Value = serde_json::from_str(&folder.text("d.json")).unwrap();
    assert_eq!(written["tail"]["parts"][0]["name"], "wait_sleep");
    let svg = folder.text("d.svg");
    assert!(svg.contains("first: 40 requests") && svg.contains("second: 40 requests"));
    assert_eq!(
        folder.text("d.folded"),
        "server;sleeps;main;fsync 1000 1000\nserver;works;application 250 250\n"
    );
    let trace: Value = serde_json::from_str(&folder.text("d.chrome")).unwrap();
    let events = trace["traceEvents"].as_array().unwrap();
    let names: Vec<&Value> = events
        .iter()
        .filter(|event| event["name"] == "process_name")
        .map(|event| &event["args"]["name"])
        .collect();
    assert_eq!(names, ["first 1: server", "second 1: server"]);
    let slices = |pid: u64| events.iter().filter(|e| e["ph"] == "X" && e["pid"] == pid).count();
    assert_eq!((slices(1), slices(2)), (3, 3), "a request and its two stages each");
    assert!(events.iter().filter(|e| e["ph"] == "X").all(|e| e["ts"].as_f64().unwrap() >= 1.0));
    let (again, _) = run(&[&first, &second, "--json", &folder.at("e.json")]);
    assert_eq!((again.unwrap(), folder.text("e.json")), (Exit::Ok, folder.text("d.json")));
}

#[test]
fn what_is_no_result_is_refused_with_its_place() {
    let folder = Folder::new("wrong");
    let good = folder.put("good.json", &made(0).to_string());
    let mut older = made(0);
    older.as_object_mut().unwrap().remove("blocks");
    let mut newer = made(0);
    newer["schema"] = "sojourn.trace.result/2".into();
    let changed = |of: &dyn Fn(&mut Value)| {
        let mut value = made(0);
        of(&mut value);
        value.to_string()
    };
    let few = changed(&|value| value["blocks"]["columns"][3] = "handover+open+application".into());
    std::fs::create_dir(folder.0.join("folder")).unwrap();
    for (name, text, word) in [
        ("none", None, "cannot be read"),
        ("folder", None, "no file"),
        ("empty", Some(String::new()), "no JSON"),
        ("list", Some("[1]".into()), "schema is nothing"),
        ("newer", Some(newer.to_string()), "schema is sojourn.trace.result/2"),
        ("older", Some(older.to_string()), "an older version traced it"),
        (
            "more",
            Some(changed(&|value| value["unknown"] = 1.into())),
            "damaged or of another version",
        ),
        (
            "cut",
            Some(changed(&|value| value["blocks"]["rows"][5] = "1,2".into())),
            "damaged: '1,2'",
        ),
        ("minus", Some(changed(&|v| v["blocks"]["rows"][0] = "0,1,-1,0,0,0".into())), "damaged"),
        ("zero", Some(changed(&|v| v["blocks"]["rows"][0] = "0,1,0,0,0,0".into())), "damaged"),
        ("twice", Some(changed(&|v| v["blocks"]["columns"][4] = "application".into())), "damaged"),
        ("few", Some(few), "have other stages"),
    ] {
        if let Some(text) = text {
            folder.put(name, &text);
        }
        let fault = run(&[&good, &folder.at(name)]).0.unwrap_err();
        assert_eq!(fault.exit, Exit::Usage as u8, "{name}: {fault}");
        assert!(fault.what.contains(word) && fault.at.ends_with(name), "{name}: {fault}");
    }
}

#[test]
fn a_pipe_is_not_waited_for_and_hostile_names_are_spelled() {
    let folder = Folder::new("pipe");
    let good = folder.put("good.json", &made(0).to_string());
    let pipe = folder.0.join("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    assert!(run(&[&good, &folder.at("pipe")]).0.unwrap_err().what.contains("no file"));
    let mut value = made(0);
    value["target"]["name"] = "a\u{1b}[31m\nb".into();
    value["stages"][0]["name"] = "x\u{1b}[0m".into();
    value["blocks"]["columns"][3] = "x\u{1b}[0m".into();
    value["blame"]["tail_stacks"] = serde_json::json!(["a\u{1b}<b>;c 4000000000"]);
    let hostile = folder.put("hostile.json", &value.to_string());
    let (exit, page) = run(&[&hostile, &good, "--flame", &folder.at("f.svg")]);
    assert_eq!(exit.unwrap(), Exit::Ok);
    assert!(!page.contains('\u{1b}') && !folder.text("f.svg").contains('\u{1b}'), "{page}");
    assert!(!folder.text("f.svg").contains("<b>"));
}

#[test]
fn options_that_cannot_be_are_refused() {
    let folder = Folder::new("options");
    let good = folder.put("good.json", &made(0).to_string());
    for (words, at) in [
        (vec!["--alpha", "0"], "--alpha"),
        (vec!["--alpha", "60%"], "--alpha"),
        (vec!["--least=-1"], "--least"),
        (vec!["--least", "NaN"], "--least"),
        (vec![good.as_str()], "diff"),
    ] {
        let fault = run(&[&[good.as_str(), &good], &words[..]].concat()).0.unwrap_err();
        assert_eq!((fault.at.as_str(), fault.exit), (at, Exit::Usage as u8));
    }
    for tail in ["p50", "p100", "x"] {
        assert!(Args::try_parse_from(["t", "diff", "a", "b", "--tail", tail]).is_err());
    }
    assert!(Args::try_parse_from(["t", "diff", "a"]).is_err());
    assert!(Args::try_parse_from(["t", "diff", "a", "b", "--pid", "1"]).is_err());
    let mut bare = made(0);
    bare["blame"] = Value::Null;
    let bare = folder.put("bare.json", &bare.to_string());
    let fault = run(&[&good, &bare, "--folded", &folder.at("x")]).0.unwrap_err();
    assert_eq!(
        (fault.what.as_str(), fault.fix.as_str()),
        ("the trace has no stacks", "trace with --blame")
    );
}
