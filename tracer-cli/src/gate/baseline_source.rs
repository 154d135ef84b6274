//! The baseline that a command compares with: a file, or what `tracer baseline --push` left in a team's bucket.

use std::path::Path;

use tracer_bucket::{BucketError, BucketUrl};
use tracer_gate::files::{self, BaselineInput};

use crate::error::CliError;
use crate::runtime::block_on;
use crate::team_bucket;
use crate::team_store;

/// What is done, as a part of an error.
const ACTION: &str = "read a baseline from";
/// The folder of the baselines in a bucket, as it is in their URLs.
const FOLDER: &str = "/baselines/";
const ENDING: &str = ".json";

/// The baseline at a path, at the URL of a bucket's object, or, where the command line names a bucket, of a name in it.
/// Whatever cannot be read is an error: nothing is ever compared with another baseline than the one that was named.
pub(crate) fn read(given: &Path, store: Option<&str>) -> Result<BaselineInput, CliError> {
    let text = given.to_str().unwrap_or_default();
    if text.contains("://") {
        return at_url(text);
    }
    match store.filter(|store| is_name(given) && *store != team_store::NONE) {
        None => Ok(files::baseline(given)?),
        Some(store) if given.exists() => Err(CliError::input(format!(
            "{text} is a file here, and the name of a baseline in a bucket"
        ))
        .with_hint(format!("name the file: --baseline ./{text}"))
        .with_hint(format!(
            "or the baseline: --baseline {store}{FOLDER}{text}{ENDING}"
        ))),
        Some(store) => in_bucket(store, text),
    }
}

/// Whether this is the name of a baseline in a bucket, where one is named.
pub(crate) fn is_name(given: &Path) -> bool {
    let text = given.to_str().unwrap_or_default();
    !text.is_empty() && !text.contains(['/', '\\']) && !text.ends_with(ENDING)
}

/// The bucket and the name of the baseline that a URL is of.
fn name_in_url(text: &str) -> Option<(&str, &str)> {
    let (store, name) = text.rsplit_once(FOLDER)?;
    let name = name.strip_suffix(ENDING)?;
    (!name.is_empty() && !name.contains('/')).then_some((store, name))
}

fn at_url(text: &str) -> Result<BaselineInput, CliError> {
    let (store, name) = name_in_url(text).ok_or_else(|| {
        CliError::input("the URL is not that of a baseline in a bucket").with_hint(format!(
            "name it as it was pushed: --baseline s3://BUCKET/PREFIX{FOLDER}NAME{ENDING}"
        ))
    })?;
    in_bucket(store, name)
}

fn in_bucket(store: &str, name: &str) -> Result<BaselineInput, CliError> {
    let url: BucketUrl = store.parse().map_err(|error: BucketError| {
        let hint = error.hint();
        CliError::input(error.to_string()).with_hint(hint)
    })?;
    let bucket = team_bucket::open_to_read(&url, ACTION)?;
    let found = block_on(bucket.read_baseline(name))?;
    let found = found.map_err(|error| team_bucket::failed(ACTION, &url, &error))?;
    let place = format!("{url}{FOLDER}{name}{ENDING}");
    let Some(bytes) = found else {
        return Err(CliError::input(format!("there is no baseline {place}"))
            .with_hint("push one: tracer baseline --from-report FILE --push URL"));
    };
    Ok(files::baseline_of(Path::new(&place), &bytes)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_names_a_bucket_and_a_baseline() {
        assert_eq!(
            name_in_url("s3://team/agents/baselines/agent.json"),
            Some(("s3://team/agents", "agent"))
        );
        for other in [
            "s3://team/agents/agent.json",
            "s3://team/agents/baselines/agent",
            "s3://team/agents/baselines/.json",
            "s3://team/agents/baselines/../x/agent.json",
        ] {
            assert_eq!(name_in_url(other), None, "{other}");
        }
    }
}
