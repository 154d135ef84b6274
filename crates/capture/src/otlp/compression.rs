//! Compressed bodies, unpacked within a limit: it counts what comes out, so that a small bomb is no large request.

use std::io::{self, Read};

use flate2::read::{DeflateDecoder, MultiGzDecoder, ZlibDecoder};

/// Compression of a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compression {
    /// Not at all.
    Identity,
    /// RFC 1952, of one member or several.
    Gzip,
    /// RFC 1950 by the standard; RFC 1951 without its frame, as some senders understand the name.
    Deflate,
}

/// Why a body cannot be unpacked.
#[derive(Debug, thiserror::Error)]
pub enum DecompressError {
    /// More comes out than is allowed.
    #[error("the body is larger than {limit} bytes when it is unpacked")]
    TooLarge {
        /// The limit, in bytes.
        limit: usize,
    },
    /// It is no stream of this kind, or it is cut.
    #[error("the compressed body is damaged or cut")]
    Damaged(#[source] io::Error),
}

impl Compression {
    /// The compression that a `Content-Encoding` or `grpc-encoding` names; none for names that are not supported.
    ///
    /// ```
    /// use tracer_capture::otlp::Compression;
    ///
    /// assert_eq!(Compression::from_name("GZIP"), Some(Compression::Gzip));
    /// assert_eq!(Compression::from_name("br"), None);
    /// ```
    pub fn from_name(name: &str) -> Option<Self> {
        match name.trim().to_ascii_lowercase().as_str() {
            "" | "identity" => Some(Self::Identity),
            "gzip" | "x-gzip" => Some(Self::Gzip),
            "deflate" => Some(Self::Deflate),
            _ => None,
        }
    }

    /// Unpacks `body` into at most `limit` bytes. `admit` is called before each part is kept, with its length, and may
    /// refuse it: the memory of all requests together has a limit too.
    ///
    /// # Errors
    ///
    /// [`DecompressError`]; what `admit` answers.
    pub(crate) fn unpack<E: From<DecompressError>>(
        self,
        body: &[u8],
        limit: usize,
        admit: impl FnMut(usize) -> Result<(), E>,
    ) -> Result<Vec<u8>, E> {
        collect(self.reader(body), limit, admit)
    }

    /// Reader of the unpacked body.
    pub(crate) fn reader(self, body: &[u8]) -> Box<dyn Read + '_> {
        match self {
            Self::Identity => Box::new(body),
            Self::Gzip => Box::new(MultiGzDecoder::new(body)),
            Self::Deflate if is_zlib(body) => Box::new(ZlibDecoder::new(body)),
            Self::Deflate => Box::new(DeflateDecoder::new(body)),
        }
    }
}

/// Returns whether the first two bytes are the head of RFC 1950.
fn is_zlib(body: &[u8]) -> bool {
    matches!(body, [method, flags, ..] if method & 0x0f == 8 && (u16::from(*method) << 8 | u16::from(*flags)) % 31 == 0)
}

fn collect<E: From<DecompressError>>(
    mut reader: impl Read,
    limit: usize,
    mut admit: impl FnMut(usize) -> Result<(), E>,
) -> Result<Vec<u8>, E> {
    const PART_BYTES: usize = 64 * 1024;
    let mut unpacked = Vec::new();
    let mut part = vec![0; PART_BYTES];
    loop {
        let read = match reader.read(&mut part) {
            Ok(0) => return Ok(unpacked),
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(DecompressError::Damaged(error).into()),
        };
        if unpacked.len() + read > limit {
            return Err(DecompressError::TooLarge { limit }.into());
        }
        admit(read)?;
        // `read` is at most the length of `part`.
        unpacked.extend_from_slice(part.get(..read).unwrap_or_default());
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::tests::{gzip, raw_deflate, zlib};

    fn unpack(compression: Compression, body: &[u8], limit: usize) -> Result<Vec<u8>, DecompressError> {
        compression.unpack(body, limit, |_| Ok(()))
    }

    proptest! {
        #[test]
        fn every_supported_compression_is_undone(bytes in prop::collection::vec(any::<u8>(), 0..4000)) {
            prop_assert_eq!(&unpack(Compression::Identity, &bytes, 4000).unwrap(), &bytes);
            prop_assert_eq!(&unpack(Compression::Gzip, &gzip(&bytes), 4000).unwrap(), &bytes);
            prop_assert_eq!(&unpack(Compression::Deflate, &zlib(&bytes), 4000).unwrap(), &bytes);
            prop_assert_eq!(&unpack(Compression::Deflate, &raw_deflate(&bytes), 4000).unwrap(), &bytes);
        }

        #[test]
        fn damaged_bodies_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = unpack(Compression::Gzip, &bytes, 4000);
            let _ = unpack(Compression::Deflate, &bytes, 4000);
        }
    }

    #[test]
    fn the_limit_counts_what_comes_out() {
        let bomb = gzip(&vec![0; 1_000_000]);
        assert!(bomb.len() < 2000);
        assert!(matches!(
            unpack(Compression::Gzip, &bomb, 999_999),
            Err(DecompressError::TooLarge { limit: 999_999 })
        ));
        assert_eq!(
            unpack(Compression::Gzip, &bomb, 1_000_000).unwrap().len(),
            1_000_000
        );
    }

    #[test]
    fn several_gzip_members_are_one_body() {
        let body = [gzip(b"one "), gzip(b"body")].concat();
        assert_eq!(unpack(Compression::Gzip, &body, 100).unwrap(), b"one body");
    }

    #[test]
    fn a_cut_stream_is_an_error() {
        let body = gzip(b"a text that is long enough to be cut somewhere");
        assert!(matches!(
            unpack(Compression::Gzip, &body[..body.len() / 2], 1000),
            Err(DecompressError::Damaged(_))
        ));
    }
}
