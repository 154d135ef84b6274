//! The baseline that a command compares with: a file, or what `tracer baseline --push` left in a team's bucket.

use std::path::Path;

use tracer_bucket::BucketUrl;
use tracer_gate::files::{self, BaselineInput};

use crate::error::CliError;
use crate::runtime::block_on;
use crate::team_bucket::{self, WaitDisplay};
use crate::team_store;
use crate::ui::Ui;

/// What is done, as a part of an error.
const ACTION: &str = "read a baseline from";
const ENDING: &str = ".json";

/// The baseline at a path, at the URL of a bucket's object, or, where the command line names a bucket, of a name in it.
/// Whatever cannot be read is an error: nothing is ever compared with another baseline than the one that was named.
pub(crate) fn read(given: &Path, store: Option<&str>, ui: &mut Ui) -> Result<BaselineInput, CliError> {
    let text = given.to_str().unwrap_or_default();
    if text.contains("://") {
        return at_url(text, ui);
    }
    let Some(store) = store.filter(|store| is_name(given) && *store != team_store::NONE) else {
        return Ok(files::baseline(given)?);
    };
    let url = team_bucket::url(store)?;
    if given.is_file() {
        return Err(CliError::input(format!(
            "{text} is a file here, and the name of a baseline in a bucket"
        ))
        .with_hint(format!("name the file: --baseline ./{text}"))
        .with_hint(format!("or the baseline: --baseline {}", url.baseline(text))));
    }
    in_bucket(&url, text, ui)
}

/// Whether this is the name of a baseline in a bucket, where one is named.
pub(crate) fn is_name(given: &Path) -> bool {
    let text = given.to_str().unwrap_or_default();
    !text.is_empty() && !text.contains(['/', '\\']) && !text.ends_with(ENDING)
}

fn at_url(text: &str, ui: &mut Ui) -> Result<BaselineInput, CliError> {
    let (store, name) = BucketUrl::split_baseline(text).ok_or_else(|| {
        CliError::input("the URL is not that of a baseline in a bucket")
            .with_hint("name it as it was pushed: --baseline s3://BUCKET/PREFIX/baselines/NAME.json")
    })?;
    in_bucket(&team_bucket::url(store)?, name, ui)
}

fn in_bucket(url: &BucketUrl, name: &str, ui: &mut Ui) -> Result<BaselineInput, CliError> {
    let bucket = team_bucket::open_to_read(url, ACTION)?;
    let mut wait = WaitDisplay::default();
    let mut observe = |event| wait.show(event, ui);
    let found = block_on(bucket.read_baseline(name, &mut observe))?;
    let found = found.map_err(|error| team_bucket::failed(ACTION, url, &error))?;
    let place = url.baseline(name);
    let Some(bytes) = found else {
        return Err(CliError::input(format!("there is no baseline {place}"))
            .with_hint("push one: tracer baseline --from-report FILE --push URL"));
    };
    Ok(files::baseline_of(Path::new(&place), &bytes)?)
}
