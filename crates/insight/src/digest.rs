//! SHA-256 digests in hex: of structural signatures, of baselines, of the files that a gate was given.

use std::io::{self, Write};

use serde_json::Value;
use sha2::{Digest, Sha256};

/// The SHA-256 digest of some bytes, as 64 lower-case hex characters.
///
/// ```
/// use tracer_insight::digest::sha256_hex;
///
/// assert!(sha256_hex(b"version: 2\n").starts_with("16e0d1af"));
/// assert_eq!(sha256_hex(b"").len(), 64);
/// ```
#[must_use]
pub fn sha256_hex(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

/// Bytes as lower-case hex characters, two for each.
///
/// ```
/// use tracer_insight::digest::hex;
///
/// assert_eq!(hex(&[0x07, 0xff]), "07ff");
/// ```
#[must_use]
pub fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut text = String::with_capacity(2 * bytes.len());
    for byte in bytes {
        for nibble in [byte >> 4, byte & 0xf] {
            text.push(char::from(DIGITS[usize::from(nibble)]));
        }
    }
    text
}

/// The first 64 bits of the SHA-256 digest of what `write` writes: distinguishes calls and stays the same in every version
/// of this program.
pub(crate) fn fingerprint(write: impl FnOnce(&mut Hashing)) -> u64 {
    let mut hashing = Hashing::default();
    write(&mut hashing);
    hashing.first_bits()
}

/// Takes what is hashed, as a writer that never fails.
///
/// ```
/// use std::io::Write;
/// use tracer_insight::digest::{Hashing, sha256_hex};
///
/// let mut hashing = Hashing::default();
/// hashing.write_all(b"version: ")?;
/// hashing.write_all(b"2\n")?;
/// assert_eq!(hashing.hex(), sha256_hex(b"version: 2\n"));
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug, Default)]
pub struct Hashing(Sha256);

impl Hashing {
    /// The digest, as 64 lower-case hex characters.
    #[must_use]
    pub fn hex(self) -> String {
        hex(&self.0.finalize())
    }

    /// The first 64 bits of the digest.
    pub(crate) fn first_bits(self) -> u64 {
        let digest = self.0.finalize();
        let first = digest.iter().take(8);
        first.fold(0, |value, byte| value << 8 | u64::from(*byte))
    }
}

impl Write for Hashing {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Writes a value as JSON without spaces, the keys of objects sorted: the same text in every program, whatever order the
/// objects have in memory.
pub fn write_canonical(value: &Value, out: &mut impl Write) -> io::Result<()> {
    let mut sorted = value.clone();
    sorted.sort_all_objects();
    Ok(serde_json::to_writer(out, &sorted)?)
}
