//! What calls send: a message from a file, or JSON that a descriptor says how to encode.

use std::path::Path;

use prost_reflect::prost::Message as _;
use prost_reflect::{DescriptorPool, DynamicMessage, MessageDescriptor, MethodDescriptor};
use serde_json::Deserializer;
use sojourn_base::Fault;

use crate::job::Job;
use crate::protocols::http::requests::ITEM;
use crate::protocols::http2::PREFIX;

/// Most messages that are encoded before the run, and most bytes of one and of all.
const MESSAGES_MAX: u64 = 1_000_000;
const BYTES_MAX: usize = 256 << 20;
/// Names shown of those that a descriptor has.
const SHOWN: usize = 8;

/// The messages of `job` for the method `path`, each behind its prefix: one, or one for each item.
pub(super) fn of(job: &Job, path: &str, descriptor: &str) -> Result<Vec<Vec<u8>>, Fault> {
    let plain = match (job.body.as_str(), job.body_file.as_str()) {
        ("", "") => Vec::new(),
        ("", file) => read(file, "body_file")?,
        (_, "") => return encoded(job, path, descriptor),
        _ => {
            let what = "body and body_file both say what is sent";
            return Err(Fault::usage(what, "body", "give one of them"));
        }
    };
    if !descriptor.is_empty() {
        find(path, descriptor)?; // a method that is not there is told before the run
    }
    framed(&plain).map(|message| vec![message])
}

/// The JSON of `job`, encoded for each item.
fn encoded(job: &Job, path: &str, descriptor: &str) -> Result<Vec<Vec<u8>>, Fault> {
    if descriptor.is_empty() {
        let fix = "name the method's with --option descriptor=FILE (protoc --include_imports \
                   --descriptor_set_out=FILE), or send an encoded message with --body-file";
        return Err(Fault::usage("a message in JSON needs a descriptor", "body", fix));
    }
    let kind = find(path, descriptor)?.input();
    if !job.body.contains(ITEM) {
        return Ok(vec![message(&kind, &job.body)?]);
    }
    if job.items > MESSAGES_MAX {
        let what = format!("{} messages are to be encoded before the run", job.items);
        return Err(Fault::usage(what, "items", format!("give at most {MESSAGES_MAX}")));
    }
    let mut all = Vec::with_capacity(job.items as usize);
    let mut bytes = 0;
    for item in 0..job.items {
        let message = message(&kind, &job.body.replace(ITEM, &item.to_string()))?;
        bytes += message.len();
        all.push(message);
        if bytes > BYTES_MAX {
            let what = format!("the messages have more than {BYTES_MAX} bytes together");
            return Err(Fault::usage(what, "items", "ask for fewer, or send shorter ones"));
        }
    }
    Ok(all)
}

/// `json` as protobuf, behind its prefix.
fn message(kind: &MessageDescriptor, json: &str) -> Result<Vec<u8>, Fault> {
    let mut reader = Deserializer::from_str(json);
    let read = DynamicMessage::deserialize(kind.clone(), &mut reader);
    let read = read.and_then(|message| reader.end().map(|()| message)).map_err(|error| {
        let what = format!("the body is no {}: {error}", kind.full_name());
        let fields: Vec<String> = kind.fields().map(|field| field.json_name().into()).collect();
        Fault::usage(what, "body", format!("write JSON with the fields {}", some(&fields)))
    })?;
    framed(&read.encode_to_vec())
}

/// Puts the prefix of an uncompressed message before it.
fn framed(message: &[u8]) -> Result<Vec<u8>, Fault> {
    if message.len() > BYTES_MAX {
        let what = format!("the message has {} bytes", message.len());
        return Err(Fault::usage(what, "body_file", format!("give at most {BYTES_MAX}")));
    }
    let mut bytes = Vec::with_capacity(PREFIX + message.len());
    bytes.push(0);
    bytes.extend_from_slice(&(message.len() as u32).to_be_bytes());
    bytes.extend_from_slice(message);
    Ok(bytes)
}

/// The unary method `path` in a file of descriptors.
fn find(path: &str, file: &str) -> Result<MethodDescriptor, Fault> {
    let at = "option descriptor";
    let pool = DescriptorPool::decode(read(file, at)?.as_slice()).map_err(|error| {
        let fix = "make it with protoc --include_imports --descriptor_set_out=FILE X.proto";
        Fault::usage(format!("{file} is no FileDescriptorSet: {error}"), at, fix)
    })?;
    let name = path.trim_start_matches('/').replace('/', ".");
    let methods = || pool.services().flat_map(|service| service.methods().collect::<Vec<_>>());
    let result = methods().find(|method| method.full_name() == name).ok_or_else(|| {
        let mut known: Vec<String> = methods()
            .map(|it| format!("/{}/{}", it.parent_service().full_name(), it.name()))
            .collect();
        known.sort_unstable();
        let what = format!("{file} has no method {path}");
        Fault::usage(what, "target", format!("name one that it has: {}", some(&known)))
    })?;
    if result.is_client_streaming() || result.is_server_streaming() {
        let what = format!("{path} is a stream of messages");
        return Err(Fault::usage(what, "target", "name a method with one message each way"));
    }
    Ok(result)
}

fn read(file: &str, at: &str) -> Result<Vec<u8>, Fault> {
    std::fs::read(Path::new(file)).map_err(|error| {
        let what = format!("cannot read {file}: {error}");
        Fault::usage(what, at, "name a file that this user may read")
    })
}

/// Names, the rest of many counted.
fn some(names: &[String]) -> String {
    let shown = names.iter().take(SHOWN).cloned().collect::<Vec<_>>().join(", ");
    match names.len().saturating_sub(SHOWN) {
        _ if names.is_empty() => "none".into(),
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

#[cfg(test)]
mod tests;
