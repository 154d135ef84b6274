//! Compressed bodies for tests, as senders make them.

use std::io::Read;

use flate2::Compression;
use flate2::read::{DeflateEncoder, GzEncoder, ZlibEncoder};

fn read(mut encoder: impl Read) -> Vec<u8> {
    let mut packed = Vec::new();
    encoder.read_to_end(&mut packed).unwrap();
    packed
}

pub(crate) fn gzip(bytes: &[u8]) -> Vec<u8> {
    read(GzEncoder::new(bytes, Compression::default()))
}

pub(crate) fn zlib(bytes: &[u8]) -> Vec<u8> {
    read(ZlibEncoder::new(bytes, Compression::default()))
}

/// Compresses without the header of zlib, as some senders understand `deflate`.
pub(crate) fn raw_deflate(bytes: &[u8]) -> Vec<u8> {
    read(DeflateEncoder::new(bytes, Compression::default()))
}
