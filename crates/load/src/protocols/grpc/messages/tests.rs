//! JSON that becomes protobuf, by a descriptor made up here.

use prost_reflect::prost_types::field_descriptor_proto::{Label, Type};
use prost_reflect::prost_types::{
    DescriptorProto, FieldDescriptorProto, FileDescriptorProto, FileDescriptorSet,
    MethodDescriptorProto, ServiceDescriptorProto,
};

use super::*;

/// A file that is gone when it is dropped.
struct File(std::path::PathBuf);

impl File {
    fn new(name: &str, bytes: &[u8]) -> Self {
        let path = std::env::temp_dir().join(format!("sojourn-{}-{name}", std::process::id()));
        std::fs::write(&path, bytes).unwrap();
        Self(path)
    }

    fn path(&self) -> String {
        self.0.display().to_string()
    }
}

impl Drop for File {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// `package a; service Greeter { rpc Hello(Name) returns (Name); rpc Watch(Name) returns (stream Name); }`
fn descriptor(name: &str) -> File {
    let field = |name: &str, number, kind: Type| FieldDescriptorProto {
        name: Some(name.into()),
        number: Some(number),
        label: Some(Label::Optional.into()),
        r#type: Some(kind.into()),
        ..FieldDescriptorProto::default()
    };
    let method = |name: &str, is_stream| MethodDescriptorProto {
        name: Some(name.into()),
        input_type: Some(".a.Name".into()),
        output_type: Some(".a.Name".into()),
        server_streaming: Some(is_stream),
        ..MethodDescriptorProto::default()
    };
    let file = FileDescriptorProto {
        name: Some("a.proto".into()),
        package: Some("a".into()),
        syntax: Some("proto3".into()),
        message_type: vec![DescriptorProto {
            name: Some("Name".into()),
            field: vec![field("name", 1, Type::String), field("number", 2, Type::Uint32)],
            ..DescriptorProto::default()
        }],
        service: vec![ServiceDescriptorProto {
            name: Some("Greeter".into()),
            method: vec![method("Hello", false), method("Watch", true)],
            ..ServiceDescriptorProto::default()
        }],
        ..FileDescriptorProto::default()
    };
    File::new(name, &FileDescriptorSet { file: vec![file] }.encode_to_vec())
}

fn job(body: &str) -> Job {
    Job { body: body.into(), items: 3, ..Job::default() }
}

#[test]
fn json_is_encoded_as_the_descriptor_says_for_each_item() {
    let file = descriptor("items");
    let of = |body: &str| super::of(&job(body), "/a.Greeter/Hello", &file.path()).unwrap();
    assert_eq!(of(r#"{"name": "x", "number": 300}"#), [b"\0\0\0\0\x06\x0a\x01x\x10\xac\x02"]);
    let each = of(r#"{"number": {item}}"#);
    assert_eq!(each, [&b"\0\0\0\0\0"[..], b"\0\0\0\0\x02\x10\x01", b"\0\0\0\0\x02\x10\x02"]);
}

#[test]
fn a_file_is_sent_as_it_is_and_nothing_is_an_empty_message() {
    let file = File::new("message", b"\x0a\x01x");
    let job = Job { body_file: file.path(), ..Job::default() };
    assert_eq!(of(&job, "/a.Greeter/Hello", "").unwrap(), [b"\0\0\0\0\x03\x0a\x01x"]);
    assert_eq!(of(&Job::default(), "/a.Greeter/Hello", "").unwrap(), [[0; 5]]);
}

#[test]
fn what_cannot_be_sent_is_refused_with_what_there_is() {
    let file = descriptor("faults");
    let fault = |body: &str, path: &str, descriptor: &str| {
        of(&job(body), path, descriptor).unwrap_err().to_string()
    };
    let hello = "/a.Greeter/Hello";
    let path = file.path();
    for (body, method, descriptor, part) in [
        ("{}", hello, "", "--option descriptor=FILE"),
        ("{}", hello, "/none", "cannot read /none"),
        ("{}", "/a.Greeter/Hi", &path, "name one that it has: /a.Greeter/Hello, /a.Greeter/Watch"),
        ("", "/a.Greeter/Hi", &path, "has no method /a.Greeter/Hi"),
        ("{}", "/a.Greeter/Watch", &path, "is a stream of messages"),
        (r#"{"nmae": "x"}"#, hello, &path, "the fields name, number"),
        (r#"{"number": "x"}"#, hello, &path, "is no a.Name"),
        ("{} {}", hello, &path, "is no a.Name"),
    ] {
        let text = fault(body, method, descriptor);
        assert!(text.contains(part), "{part} in {text}");
    }
    let text = File::new("text", b"syntax = \"proto3\";");
    assert!(fault("{}", hello, &text.path()).contains("is no FileDescriptorSet"));
    let both = Job { body: "{}".into(), body_file: "x".into(), ..Job::default() };
    assert_eq!(of(&both, hello, "").unwrap_err().at, "body");
}
