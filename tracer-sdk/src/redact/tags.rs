//! The tags of a run as they are recorded.

use super::Redactor;
use tracer_format::Tags;
use tracer_format::names::markers;

impl Redactor {
    /// Tags without secrets: what looks like one goes, and so does the value of a key that names one.
    pub(crate) fn tags(&self, tags: &Tags) -> Tags {
        let mut redacted = Tags::default();
        for (key, value) in tags.iter() {
            let member = self.member(key, usize::MAX);
            let value = if member.hides(Some(value), value.parse::<f64>().is_ok()) {
                markers::REDACTED.into()
            } else {
                self.text(value)
            };
            // A key that is no key any more had a secret in it.
            let _ = redacted.set(&member.key.text, &value);
        }
        redacted
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::Settings;

    #[test]
    fn secrets_in_tags_are_redacted() {
        let settings = Settings::with_data_dir("/runs");
        let redactor = Redactor::new(&(&settings).into(), []);
        let mut tags = Tags::default();
        tags.set("api_key", "correct-horse").unwrap();
        tags.set("note", "Authorization: Bearer abcdefghijklmnopqrstuvwxyz012345")
            .unwrap();
        tags.set("commit", "3f2a9c0d1e4b5a6978877665544332211ffeeddc")
            .unwrap();
        let redacted = redactor.tags(&tags);
        assert_eq!(redacted.get("api_key"), Some(markers::REDACTED));
        assert_eq!(redacted.get("commit"), tags.get("commit"));
        let note = redacted.get("note").unwrap();
        assert!(!note.contains("abcdefgh"), "{note}");
    }
}
