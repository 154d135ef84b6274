//! A run that has ended: read back strictly, with its counts compared to its projection.

use std::path::Path;

use serde_json::Value;
use tracer_runs::{LoadedRun, count_records};
use tracer_sdk::format::{EventType, Record, RecordedStatus, SpanRecord};
use tracer_sdk::spans_to_events;

/// A valid run that has ended.
#[derive(Debug)]
pub struct Finished {
    /// The run as it was read.
    pub run: LoadedRun,
    /// Its projection.
    pub records: Vec<Record>,
}

impl std::ops::Deref for Finished {
    type Target = LoadedRun;

    fn deref(&self) -> &LoadedRun {
        &self.run
    }
}

impl Finished {
    /// Reads a run. It must be valid and have ended, its counts must be those of its projection, and nothing of the
    /// emitter's own may be left beside its two files.
    #[must_use]
    pub fn open(directory: &Path) -> Self {
        let run = LoadedRun::read(directory).unwrap_or_else(|invalid| panic!("{invalid:#?}"));
        let records = spans_to_events(&run.spans);
        assert!(
            run.meta.status.is_completed(),
            "the run has not ended: {:?}",
            run.meta
        );
        assert_eq!(
            run.meta.counts,
            count_records(&records),
            "the counts are not those of the projection"
        );
        assert_eq!(records.first().map(Record::event_type), Some(EventType::RunStart));
        let late: Vec<String> = run
            .spans
            .iter()
            .filter(|span| span.attributes.contains_key("tracer.after_end"))
            .map(|span| span.span_id.to_string())
            .collect();
        // The emitter writes all times in one form, so that their texts are in the order of the times.
        let ended_at = run.meta.ended_at.as_ref().unwrap().instant().to_string();
        let last = records.iter().rfind(|record| record.ts <= ended_at);
        assert_eq!(last.map(Record::event_type), Some(EventType::RunEnd));
        assert_eq!(
            run.meta.additional.get("late_spans"),
            (!late.is_empty()).then(|| late.len().into()).as_ref(),
            "meta.json does not say how many spans ended after the run"
        );
        let mut files: Vec<_> = std::fs::read_dir(directory)
            .unwrap()
            .map(|entry| entry.unwrap().file_name())
            .collect();
        files.sort();
        // What a recorded command's calls of models are replayed from.
        files.retain(|name| name != "exchanges.jsonl");
        assert_eq!(files, ["meta.json", "spans.jsonl"]);
        Self { run, records }
    }

    /// How the run ended.
    #[must_use]
    pub fn status(&self) -> RecordedStatus {
        self.run.meta.status
    }

    /// The types of all records, in their order.
    #[must_use]
    pub fn types(&self) -> Vec<EventType> {
        self.records.iter().map(Record::event_type).collect()
    }

    /// The records of one type, in their order.
    #[must_use]
    pub fn all(&self, event_type: EventType) -> Vec<&Record> {
        self.records
            .iter()
            .filter(|record| record.event_type() == event_type)
            .collect()
    }

    /// The only record of a type.
    #[must_use]
    pub fn only(&self, event_type: EventType) -> &Record {
        let all = self.all(event_type);
        assert_eq!(all.len(), 1, "one {} was expected", event_type.as_str());
        all[0]
    }

    /// The payload of the only record of a type, as JSON.
    #[must_use]
    pub fn payload(&self, event_type: EventType) -> Value {
        payload(self.only(event_type))
    }

    /// The span of a record that stands for one.
    #[must_use]
    pub fn span(&self, record: &Record) -> &SpanRecord {
        let span = self
            .run
            .spans
            .iter()
            .find(|span| span.span_id.to_string() == record.event_id);
        span.unwrap_or_else(|| panic!("{} stands for no span", record.event_id))
    }

    /// The payload of the only record with a name, as JSON.
    #[must_use]
    pub fn payload_named(&self, name: &str) -> Value {
        payload(self.named(name))
    }

    /// The name of the span in which the only record with a name stands.
    #[must_use]
    pub fn parent_name(&self, name: &str) -> &str {
        let parent = self.named(name).parent_id.as_deref();
        let span = self
            .run
            .spans
            .iter()
            .find(|span| Some(span.span_id.to_string().as_str()) == parent);
        span.map_or("", |span| &span.name)
    }

    fn named(&self, name: &str) -> &Record {
        let all: Vec<&Record> = self.records.iter().filter(|record| record.name == name).collect();
        assert_eq!(all.len(), 1, "one {name:?} was expected");
        all[0]
    }

    /// The first span with a name.
    #[must_use]
    pub fn span_named(&self, name: &str) -> &SpanRecord {
        let span = self.run.spans.iter().find(|span| span.name == name);
        span.unwrap_or_else(|| panic!("there is no span {name:?}"))
    }
}

/// The payload of a record, as JSON.
#[must_use]
pub fn payload(record: &Record) -> Value {
    serde_json::to_value(&record.payload).unwrap()
}
