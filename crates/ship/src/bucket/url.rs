//! [`BucketUrl`]: a bucket and a prefix in it, as a URL without credentials.

use std::fmt::{self, Write as _};
use std::path::PathBuf;

use object_store::path::Path;
use reqwest::Url;
use tracer_insight::digest::sha256_hex;

use crate::error::ShipError;

/// Hexadecimal digits of the hash that names a bucket's files.
const KEY_DIGITS: usize = 16;

/// Characters of a URL in the name of a folder.
const MAX_READABLE: usize = 40;

/// Which service keeps the objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Service {
    S3,
    Gcs,
    Azure,
    /// A folder of this machine, or one that is mounted.
    Folder,
}

/// Place of a team's runs: `s3://bucket/prefix`, `gs://…`, `az://…` or `file:///folder`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BucketUrl {
    pub(crate) service: Service,
    /// The bucket, or the container; empty of a folder.
    pub(crate) bucket: String,
    /// The folder itself; empty of what is no folder.
    pub(crate) folder: PathBuf,
    /// The begin of all names in the bucket.
    pub(crate) prefix: Path,
    text: String,
}

impl std::str::FromStr for BucketUrl {
    type Err = ShipError;

    fn from_str(text: &str) -> Result<Self, ShipError> {
        // The text itself is never quoted: a key in it must not get into a log.
        let invalid = |reason: &str| ShipError::Url {
            reason: reason.to_owned(),
        };
        let url = Url::parse(text)
            .map_err(|_| invalid("expected s3://BUCKET/PREFIX, gs://, az:// or file:///FOLDER"))?;
        if !url.username().is_empty() || url.password().is_some() {
            return Err(invalid("credentials do not belong into it"));
        }
        if url.query().is_some() || url.fragment().is_some() || url.port().is_some() {
            return Err(invalid("it has a port, a query or a fragment"));
        }
        let service = match url.scheme() {
            "s3" | "s3a" => Service::S3,
            "gs" | "gcs" => Service::Gcs,
            "az" | "azure" | "abfs" => Service::Azure,
            "file" => Service::Folder,
            _ => return Err(invalid("expected s3://, gs://, az:// or file:///")),
        };
        let host = url.host_str().unwrap_or_default();
        if service == Service::Folder {
            // A host would make Windows log in to another machine.
            if !host.is_empty() {
                return Err(invalid("a folder has three slashes: file:///FOLDER"));
            }
            let folder = url
                .to_file_path()
                .map_err(|()| invalid("expected an absolute path: file:///FOLDER"))?;
            return Ok(Self {
                service,
                bucket: String::new(),
                text: format!("file://{}", url.path().trim_end_matches('/')),
                folder,
                prefix: Path::default(),
            });
        }
        let is_name = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_');
        if host.is_empty() || !host.bytes().all(is_name) {
            return Err(invalid(
                "the name of the bucket is missing or has other characters than a-z, 0-9, . - and _",
            ));
        }
        let prefix = Path::from_url_path(url.path().trim_matches('/'))
            .map_err(|_| invalid("the prefix cannot be used as a name"))?;
        let scheme = match service {
            Service::S3 => "s3",
            Service::Gcs => "gs",
            _ => "az",
        };
        let mut text = format!("{scheme}://{host}");
        if !prefix.as_ref().is_empty() {
            // Writing to a text never fails.
            let _ = write!(text, "/{prefix}");
        }
        Ok(Self {
            service,
            bucket: host.to_owned(),
            folder: PathBuf::new(),
            prefix,
            text,
        })
    }
}

impl BucketUrl {
    /// `true` when what is sent there leaves this machine.
    #[must_use]
    pub fn is_remote(&self) -> bool {
        self.service != Service::Folder
    }

    /// Name of the folder of its mirror: what a person reads in it, and its key.
    pub(crate) fn mirror_name(&self, key: &str) -> String {
        let words = self
            .text
            .split_once("://")
            .map_or(self.text.as_str(), |(_, rest)| rest);
        let readable: String = words
            .chars()
            .map(|sign| if sign.is_ascii_alphanumeric() { sign } else { '-' })
            .take(MAX_READABLE)
            .collect();
        let hash = key.rsplit('-').next().unwrap_or_default();
        format!("{}-{hash}", readable.trim_matches('-'))
    }

    /// Name of this bucket's files in a data directory: a hash of it and of the endpoint that it is reached by, since a
    /// test server has buckets of the same names.
    pub(crate) fn key(&self, endpoint: Option<&str>) -> String {
        let named = format!("{self}\n{}", endpoint.unwrap_or_default());
        let mut hash = sha256_hex(named.as_bytes());
        hash.truncate(KEY_DIGITS);
        format!("bucket-{hash}")
    }
}

impl fmt::Display for BucketUrl {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::prefix("s3://team/agents/2026/", "s3://team/agents/2026", "agents/2026")]
    #[case::no_prefix("gs://team", "gs://team", "")]
    #[case::azure("az://container/x", "az://container/x", "x")]
    #[case::folder("file:///srv/runs/", "file:///srv/runs", "")]
    fn a_url_names_bucket_and_prefix(#[case] text: &str, #[case] shown: &str, #[case] prefix: &str) {
        let url: BucketUrl = text.parse().unwrap();
        assert_eq!((url.to_string().as_str(), url.prefix.as_ref()), (shown, prefix));
    }

    #[rstest]
    #[case::credentials("s3://AKIA:s3cret@team/x")]
    #[case::query("s3://team/x?s3cret=1")]
    #[case::no_bucket("s3:///s3cret")]
    #[case::other_scheme("https://team/s3cret")]
    #[case::host_of_a_folder("file://s3cret/share")]
    #[case::no_url("s3cret")]
    #[case::odd_bucket("s3://te%20am/s3cret")]
    fn another_text_is_refused_without_being_quoted(#[case] text: &str) {
        let error = text.parse::<BucketUrl>().unwrap_err();
        assert!(!format!("{error} {error:?}").contains("s3cret"), "{error}");
    }

    #[test]
    fn endpoints_have_journals_of_their_own() {
        let url: BucketUrl = "s3://team/agents".parse().unwrap();
        assert_ne!(url.key(None), url.key(Some("http://127.0.0.1:8333")));
        assert_eq!(
            url.key(None),
            "s3://team/agents/".parse::<BucketUrl>().unwrap().key(None)
        );
    }
}
