//! [`OpenBucket`]: an open bucket, and the few requests that are made of it.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream;
use futures_util::{StreamExt, TryStreamExt};
use object_store::aws::AmazonS3Builder;
use object_store::azure::MicrosoftAzureBuilder;
use object_store::gcp::GoogleCloudStorageBuilder;
use object_store::local::LocalFileSystem;
use object_store::path::Path;
use object_store::{
    ClientOptions, GetOptions, GetResult, ObjectMeta, ObjectStore, ObjectStoreExt, PutMode, PutOptions,
    PutPayload, RetryConfig, UpdateVersion,
};

use crate::bucket::layout;
use crate::bucket::url::{BucketUrl, Service};
use crate::error::{RequestFailure, ShipError, optional};

/// Time for a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// Time for a request, its body included.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(300);
/// Repetitions of a request by the client itself. A shipper repeats, and reports, what takes longer.
const CLIENT_RETRIES: usize = 4;

/// An open bucket.
#[derive(Clone)]
pub struct OpenBucket {
    pub(crate) url: BucketUrl,
    pub(crate) store: Arc<dyn ObjectStore>,
    pub(crate) prefix: Path,
    /// Name of its files in a data directory.
    pub(crate) key: String,
}

/// The content and the version of an object.
pub(crate) struct FoundObject {
    pub(crate) bytes: Bytes,
    pub(crate) version: UpdateVersion,
}

impl OpenBucket {
    /// Opens a bucket with the credentials of the environment and of the usual files. No request is made.
    ///
    /// # Errors
    ///
    /// [`ShipError::Config`]: something that the service needs is missing, or cannot be used.
    pub fn open(url: &BucketUrl) -> Result<Self, ShipError> {
        let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        // The first one counts; another part of the process may have chosen already.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let failed = |error: object_store::Error| {
            // A setting of this machine is at fault, whatever the client calls it.
            let reason = match RequestFailure::from(error) {
                RequestFailure::Transient { reason, .. } | RequestFailure::Missing(reason) => reason,
                other => other.into_error().to_string(),
            };
            ShipError::Config { reason }
        };
        let endpoint = match url.service {
            Service::S3 => s3_endpoint(&variable),
            _ => None,
        };
        let store: Arc<dyn ObjectStore> = match url.service {
            Service::S3 => Arc::new(s3(url, endpoint.as_deref(), &variable)?.build().map_err(failed)?),
            Service::Gcs => Arc::new(
                GoogleCloudStorageBuilder::from_env()
                    .with_bucket_name(&url.bucket)
                    .with_client_options(client_options())
                    .with_retry(retries())
                    .build()
                    .map_err(failed)?,
            ),
            Service::Azure => Arc::new(
                MicrosoftAzureBuilder::from_env()
                    .with_container_name(&url.bucket)
                    .with_client_options(client_options())
                    .with_retry(retries())
                    .build()
                    .map_err(failed)?,
            ),
            Service::Folder => Arc::new(folder(url)?),
        };
        Ok(Self {
            key: url.key(endpoint.as_deref()),
            prefix: url.prefix.clone(),
            url: url.clone(),
            store,
        })
    }

    /// Opens a bucket to be read: opening a folder that is not there would make it.
    pub(crate) fn open_existing(url: &BucketUrl) -> Result<Self, ShipError> {
        if url.is_remote() || url.folder.is_dir() {
            Self::open(url)
        } else {
            Err(no_folder())
        }
    }

    /// The same bucket in another store.
    #[cfg(test)]
    pub(crate) fn with_store(url: &BucketUrl, store: Arc<dyn ObjectStore>) -> Self {
        Self {
            key: url.key(None),
            prefix: url.prefix.clone(),
            url: url.clone(),
            store,
        }
    }

    /// Its URL.
    #[must_use]
    pub fn url(&self) -> &BucketUrl {
        &self.url
    }

    /// Writes an object that must not be there.
    pub(crate) async fn create(&self, path: &Path, bytes: Bytes) -> Result<(), RequestFailure> {
        match self.put(path, bytes.clone(), PutMode::Create).await {
            Err(RequestFailure::Unsupported) => {
                // A store without conditional writes: a look first leaves a gap that only two writers of one run can hit.
                match optional(self.head(path).await)? {
                    Some(_) => Err(RequestFailure::Exists),
                    None => self.put(path, bytes, PutMode::Overwrite).await,
                }
            }
            // Some stores say so instead.
            Err(RequestFailure::Changed) => Err(RequestFailure::Exists),
            done => done,
        }
    }

    /// Replaces an object that is still what it was.
    pub(crate) async fn replace(
        &self,
        path: &Path,
        bytes: Bytes,
        was: UpdateVersion,
    ) -> Result<(), RequestFailure> {
        match self.put(path, bytes.clone(), PutMode::Update(was)).await {
            Err(RequestFailure::Unsupported) => self.put(path, bytes, PutMode::Overwrite).await,
            Err(RequestFailure::Exists) => Err(RequestFailure::Changed),
            done => done,
        }
    }

    async fn put(&self, path: &Path, bytes: Bytes, mode: PutMode) -> Result<(), RequestFailure> {
        let payload = PutPayload::from_bytes(bytes);
        let options = PutOptions::from(mode);
        self.store.put_opts(path, payload, options).await?;
        Ok(())
    }

    /// All objects below a folder.
    pub(crate) async fn list(&self, folder: &Path) -> Result<Vec<ObjectMeta>, RequestFailure> {
        Ok(self.store.list(Some(folder)).try_collect().await?)
    }

    /// The partitions of the facts, by their names.
    pub(crate) async fn partitions(&self) -> Result<BTreeSet<String>, RequestFailure> {
        let listed = self
            .store
            .list_with_delimiter(Some(&layout::facts(&self.prefix)))
            .await?;
        let names = listed.common_prefixes.iter().filter_map(Path::filename);
        Ok(names
            .filter(|name| layout::is_partition(name))
            .map(str::to_owned)
            .collect())
    }

    /// Removes objects, many with one request where the store can. One that is not there is removed already.
    pub(crate) async fn remove(&self, paths: Vec<Path>) -> Result<(), RequestFailure> {
        if paths.is_empty() {
            return Ok(());
        }
        let mut removed = self.store.delete_stream(stream::iter(paths).map(Ok).boxed());
        while let Some(path) = removed.next().await {
            optional(path.map_err(RequestFailure::from))?;
        }
        Ok(())
    }

    pub(crate) async fn head(&self, path: &Path) -> Result<ObjectMeta, RequestFailure> {
        Ok(self.store.head(path).await?)
    }

    /// Opens an object; its content is still to come.
    pub(crate) async fn open_object(&self, path: &Path) -> Result<GetResult, RequestFailure> {
        Ok(self.store.get_opts(path, GetOptions::default()).await?)
    }

    /// Reads an object of at most this many bytes.
    pub(crate) async fn get(&self, path: &Path, max_bytes: u64) -> Result<FoundObject, RequestFailure> {
        let found = self.open_object(path).await?;
        if found.meta.size > max_bytes {
            return Err(RequestFailure::Fatal(ShipError::Refused {
                reason: format!(
                    "{path} has {} bytes, and at most {max_bytes} are read",
                    found.meta.size
                ),
            }));
        }
        let version = UpdateVersion {
            e_tag: found.meta.e_tag.clone(),
            version: found.meta.version.clone(),
        };
        let bytes = found.bytes().await?;
        Ok(FoundObject { bytes, version })
    }
}

impl fmt::Display for OpenBucket {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.url.fmt(formatter)
    }
}

impl fmt::Debug for OpenBucket {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The store may show how it was configured.
        write!(formatter, "OpenBucket({})", self.url)
    }
}

pub(crate) fn no_folder() -> ShipError {
    ShipError::NoBucket {
        reason: "the folder does not exist".to_owned(),
    }
}

fn client_options() -> ClientOptions {
    ClientOptions::new()
        .with_connect_timeout(CONNECT_TIMEOUT)
        .with_timeout(REQUEST_TIMEOUT)
}

fn retries() -> RetryConfig {
    RetryConfig {
        max_retries: CLIENT_RETRIES,
        retry_timeout: Duration::from_secs(30),
        ..RetryConfig::default()
    }
}

fn s3_endpoint(variable: &impl Fn(&str) -> Option<String>) -> Option<String> {
    ["AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT"]
        .iter()
        .find_map(|name| variable(name))
}

fn s3(
    url: &BucketUrl,
    endpoint: Option<&str>,
    variable: &impl Fn(&str) -> Option<String>,
) -> Result<AmazonS3Builder, ShipError> {
    let mut builder = AmazonS3Builder::from_env()
        .with_bucket_name(&url.bucket)
        .with_retry(retries());
    let mut options = client_options();
    if let Some(endpoint) = endpoint {
        builder = builder.with_endpoint(endpoint);
        // Unencrypted to this machine itself; elsewhere the user has to ask for it.
        let is_loopback = ["http://127.0.0.1", "http://localhost", "http://[::1]"]
            .iter()
            .any(|start| {
                endpoint
                    .strip_prefix(start)
                    .is_some_and(|rest| rest.is_empty() || rest.starts_with([':', '/']))
            });
        let is_asked = variable("AWS_ALLOW_HTTP").is_some_and(|value| value == "true" || value == "1");
        options = options.with_allow_http(is_loopback || is_asked);
    }
    builder = builder.with_client_options(options);
    let has_own = [
        "AWS_ACCESS_KEY_ID",
        "AWS_WEB_IDENTITY_TOKEN_FILE",
        "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
        "AWS_CONTAINER_CREDENTIALS_FULL_URI",
    ]
    .iter()
    .any(|name| variable(name).is_some());
    // The role of the machine would be taken in its place.
    if !has_own && variable("AWS_PROFILE").is_some() {
        return Err(ShipError::Config {
            reason: "AWS_PROFILE names a profile, and profiles are not read: export its credentials first, \
                     `eval \"$(aws configure export-credentials --format env)\"`"
                .to_owned(),
        });
    }
    Ok(builder)
}

fn folder(url: &BucketUrl) -> Result<LocalFileSystem, ShipError> {
    let unusable = |reason: String| ShipError::Config { reason };
    std::fs::create_dir_all(&url.folder)
        .map_err(|error| unusable(format!("the folder cannot be made: {error}")))?;
    let folder = LocalFileSystem::new_with_prefix(&url.folder)
        .map_err(|_| unusable("the folder cannot be used".to_owned()))?;
    // A day whose objects are gone leaves no empty folder.
    Ok(folder.with_automatic_cleanup(true))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_profile_without_exported_credentials_is_refused() {
        let url: BucketUrl = "s3://team/agents".parse().unwrap();
        let open = |set: &'static [&'static str]| {
            let variable = move |name: &str| set.contains(&name).then(|| "team".to_owned());
            s3(&url, None, &variable).map(drop)
        };
        let Err(ShipError::Config { reason }) = open(&["AWS_PROFILE"]) else {
            panic!("the profile was taken");
        };
        assert!(reason.contains("aws configure export-credentials"), "{reason}");
        assert!(open(&["AWS_PROFILE", "AWS_ACCESS_KEY_ID"]).is_ok());
        assert!(open(&[]).is_ok());
    }
}
