//! The option `--tag` of recorded runs.

use tracer_capture::record::RecordOptions;
use tracer_sdk::format::{InvalidTag, MAX_TAGS, TAGS_VARIABLE, Tags};

use crate::error::CliError;

/// The option that tags runs.
#[derive(Debug, clap::Args)]
pub(crate) struct TagArgs {
    /// Tag the run, to find and group it by; may be given several times [example: commit=3f2a]
    #[arg(long = "tag", value_name = "KEY=VALUE", value_parser = parse_tag)]
    tags: Vec<Tags>,
}

/// One tag.
fn parse_tag(text: &str) -> Result<Tags, InvalidTag> {
    let mut tags = Tags::default();
    tags.set_text(text)?;
    Ok(tags)
}

impl TagArgs {
    /// Tags a run; these tags win over those of the environment.
    pub(crate) fn tag(&self, options: &mut RecordOptions) -> Result<(), CliError> {
        for tag in &self.tags {
            options.tag(tag);
        }
        if options.attributes.len() > MAX_TAGS {
            return Err(CliError::input(format!("a run has at most {MAX_TAGS} tags"))
                .with_hint(format!("give fewer, those of {TAGS_VARIABLE} included")));
        }
        Ok(())
    }
}
