//! Bodies of requests and answers as they were before they were compressed, for the copy that is read. What is passed on is never
//! touched.

use std::borrow::Cow;
use std::io::{self, Read};

use crate::otlp::Compression;

/// A body as it was before it was compressed.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Unpacked<'a> {
    pub(crate) bytes: Cow<'a, [u8]>,
    /// There is more of it: it is larger than the limit, or damaged, or was cut.
    pub(crate) is_cut: bool,
}

/// Magic numbers of the compressions that have one, for bodies whose headers name none.
const MAGIC: [(&[u8], &str); 2] = [(b"\x1f\x8b\x08", "gzip"), (b"\x28\xb5\x2f\xfd", "zstd")];

/// The compressions that a `Content-Encoding` names, the one that was applied last first.
fn named(encoding: &str) -> impl Iterator<Item = &str> {
    let names = encoding.rsplit(',').map(str::trim);
    names.filter(|name| !name.is_empty() && !name.eq_ignore_ascii_case("identity"))
}

/// Unpacks a body into at most `limit` bytes; `encoding` is its `Content-Encoding`. None where the compression is not known, or
/// nothing can be read of it.
pub(crate) fn unpacked<'a>(encoding: &str, body: &'a [u8], limit: usize) -> Option<Unpacked<'a>> {
    let mut whole = Unpacked {
        bytes: Cow::Borrowed(body),
        is_cut: false,
    };
    // Some clients compress and do not say so.
    let unnamed = MAGIC
        .iter()
        .filter(|(magic, _)| named(encoding).next().is_none() && body.starts_with(magic));
    for name in named(encoding).chain(unnamed.map(|(_, name)| *name)) {
        let mut bytes = Vec::new();
        let mut reader = reader(name, &whole.bytes)?;
        let read = reader.by_ref().take(limit as u64 + 1).read_to_end(&mut bytes);
        drop(reader);
        if bytes.is_empty() && read.is_err() {
            // Some servers name a compression and do not compress.
            return is_text(&whole.bytes).then_some(whole);
        }
        whole.is_cut |= read.is_err() || bytes.len() > limit;
        bytes.truncate(limit);
        whole.bytes = Cow::Owned(bytes);
    }
    Some(whole)
}

fn is_text(bytes: &[u8]) -> bool {
    std::str::from_utf8(bytes).is_ok_and(|text| !text.contains('\0'))
}

/// Decoder for this compression; `None` when it is not known.
fn reader<'a>(name: &str, body: &'a [u8]) -> Option<Box<dyn Read + 'a>> {
    const BUFFER_BYTES: usize = 16 * 1024;
    if name.eq_ignore_ascii_case("br") {
        return Some(Box::new(brotli_decompressor::Decompressor::new(
            body,
            BUFFER_BYTES,
        )));
    }
    if name.eq_ignore_ascii_case("zstd") {
        let decoder: io::Result<_> = zstd::stream::read::Decoder::with_buffer(body);
        return Some(Box::new(decoder.ok()?));
    }
    Some(Compression::from_name(name)?.reader(body))
}

#[cfg(test)]
mod tests {
    use base64::Engine;
    use base64::engine::general_purpose::STANDARD;
    use proptest::prelude::*;

    use super::*;
    use crate::tests::{gzip, raw_deflate, zlib};

    /// `{"model": "gpt-5", "messages": []}`, as another program compresses it by brotli.
    const BROTLI: &str = "ixCAeyJtb2RlbCI6ICJncHQtNSIsICJtZXNzYWdlcyI6IFtdfQM=";
    const PLAIN: &[u8] = b"{\"model\": \"gpt-5\", \"messages\": []}";

    fn read(encoding: &str, body: &[u8]) -> Option<(Vec<u8>, bool)> {
        unpacked(encoding, body, 1000).map(|unpacked| (unpacked.bytes.into_owned(), unpacked.is_cut))
    }

    fn packed() -> Vec<(&'static str, Vec<u8>)> {
        vec![
            ("gzip", gzip(PLAIN)),
            ("x-gzip", gzip(PLAIN)),
            ("deflate", zlib(PLAIN)),
            ("deflate", raw_deflate(PLAIN)),
            ("zstd", zstd::encode_all(PLAIN, 3).unwrap()),
            ("br", STANDARD.decode(BROTLI).unwrap()),
            ("BR", STANDARD.decode(BROTLI).unwrap()),
            ("gzip, br, identity", PLAIN.to_vec()),
            ("", PLAIN.to_vec()),
            ("identity", PLAIN.to_vec()),
        ]
    }

    #[test]
    fn every_compression_that_is_named_is_undone() {
        for (name, body) in packed() {
            assert_eq!(read(name, &body), Some((PLAIN.to_vec(), false)), "{name}");
        }
        let twice = gzip(&zstd::encode_all(PLAIN, 3).unwrap());
        assert_eq!(read("zstd, gzip", &twice), Some((PLAIN.to_vec(), false)));
    }

    #[test]
    fn a_compression_that_is_not_named_is_seen() {
        for body in [gzip(PLAIN), zstd::encode_all(PLAIN, 3).unwrap()] {
            assert_eq!(read("", &body), Some((PLAIN.to_vec(), false)));
        }
    }

    #[test]
    fn what_cannot_be_read_is_nothing() {
        assert_eq!(read("snappy", PLAIN), None);
        assert_eq!(read("gzip", b"\x00\x01\x02\x03"), None);
        assert_eq!(read("br", b"\xff\xff\xff\xff"), None);
    }

    #[test]
    fn a_body_is_read_as_far_as_it_came_and_no_further_than_allowed() {
        let text = vec![b'a'; 1_000_000];
        for (name, body) in [
            ("gzip", gzip(&text)),
            ("zstd", zstd::encode_all(&*text, 3).unwrap()),
        ] {
            assert_eq!(read(name, &body), Some((vec![b'a'; 1000], true)), "{name}");
        }
        let varied: Vec<u8> = (0..100_000_u32).flat_map(u32::to_le_bytes).collect();
        let body = gzip(&varied);
        let beginning = unpacked("gzip", &body[..body.len() / 2], usize::MAX - 1).unwrap();
        assert!(beginning.is_cut && !beginning.bytes.is_empty() && varied.starts_with(&beginning.bytes));
    }

    proptest! {
        #[test]
        fn any_body_is_survived(body: Vec<u8>, name in "(gzip|deflate|zstd|br|zstd, br|x)?") {
            let _ = unpacked(&name, &body, 100);
        }
    }
}
