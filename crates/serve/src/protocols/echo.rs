//! Frames that go back as they came. See [`sojourn_base::echo`].

use sojourn_base::echo::{BODY_BYTES_MAX, HEADER_BYTES, body_bytes};
use sojourn_base::kind::Kind;

use super::{Parsed, ProtocolKind, Work};
use crate::store::Store;

pub(super) const KIND: ProtocolKind = ProtocolKind {
    kind: Kind {
        name: "echo",
        about: "frames that go back as they came",
        usage: "echo",
        params: &[],
        needs: &[],
        source: "",
    },
    parse,
};

fn parse(input: &[u8], _: &mut Store, reply: &mut Vec<u8>) -> Parsed {
    let Some(header) = input.first_chunk::<HEADER_BYTES>() else { return Parsed::More };
    let body = body_bytes(header);
    if body > BODY_BYTES_MAX {
        return Parsed::Close;
    }
    let used = HEADER_BYTES + body;
    let Some(frame) = input.get(..used) else { return Parsed::More };
    reply.extend_from_slice(frame);
    Parsed::Request { used, work: Work::Read }
}

#[cfg(test)]
mod tests {
    use super::super::suite::replies;
    use super::*;

    #[test]
    fn every_frame_comes_back_at_any_split() {
        let mut input = b"\0\0\0\0\0\0\0\x01\0\0\0\x05hello".to_vec();
        input.extend_from_slice(b"\0\0\0\0\0\0\0\x02\0\0\0\0");
        assert_eq!(replies(&KIND, &input), input);
    }

    #[test]
    fn an_impossible_length_ends_the_connection() {
        let input = b"\0\0\0\0\0\0\0\x01\xff\xff\xff\xff";
        assert_eq!(parse(input, &mut Store::default(), &mut Vec::new()), Parsed::Close);
    }
}
