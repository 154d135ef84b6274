//! In what the arguments of calls differ: looked up in the runs themselves, for those calls that changed.

use serde_json::{Value, json};

use super::{ArgumentDifference, CallChange, Comparison};
use tracer_runs::{RecordError, RecordStream};
use tracer_sdk::format::{EventType, Payload, Record};

impl Comparison {
    /// Fills in what differs in the first `most` calls that changed; both streams are those of the compared runs.
    ///
    /// ```
    /// use tracer_insight::comparison::Comparison;
    /// use tracer_insight::profile::RunProfile;
    /// use tracer_runs::{RunReader, Strictness};
    /// use tracer_sdk::testing::capture;
    ///
    /// let search = |page| capture(|| tracer_sdk::tool_call("search").args(&serde_json::json!({"page": page})).record());
    /// let (old, new) = (tempfile::tempdir()?, tempfile::tempdir()?);
    /// let mut before = RunReader::open(&search(1).save(old.path())?, Strictness::Strict)?;
    /// let mut after = RunReader::open(&search(2).save(new.path())?, Strictness::Strict)?;
    /// let mut comparison = Comparison::of_runs(
    ///     &RunProfile::read(before.require_meta()?, before.records.clone())?,
    ///     &RunProfile::read(after.require_meta()?, after.records.clone())?,
    /// );
    /// comparison.look_up_differences(&mut before.records, &mut after.records, 100)?;
    /// let pair = comparison.calls.pairs().next().unwrap();
    /// assert_eq!(pair.differences[0].path, "args.page");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`RecordError`] when a file cannot be read, or is another one than it was.
    pub fn look_up_differences(
        &mut self,
        before: &mut RecordStream,
        after: &mut RecordStream,
        most: usize,
    ) -> Result<(), RecordError> {
        let wanted: Vec<(usize, u32, u32)> = self
            .calls
            .pairs()
            .enumerate()
            .filter(|(_, pair)| pair.change == CallChange::Changed)
            .filter_map(|(number, pair)| Some((number, pair.before?.step?, pair.after?.step?)))
            .take(most)
            .collect();
        // Pairs are in the order of both runs, so the steps grow.
        let mut was = Steps::new(before);
        let mut is = Steps::new(after);
        for (number, step_before, step_after) in wanted {
            if let (Some(left), Some(right)) = (was.record(step_before)?, is.record(step_after)?) {
                let differences = ArgumentDifference::between(&asked(&left), &asked(&right));
                self.calls.differences.insert(number, differences);
            }
        }
        Ok(())
    }
}

/// Finds records by their steps, which must grow.
struct Steps<'a> {
    records: &'a mut RecordStream,
    /// The next record.
    number: usize,
    /// The step of the record before it.
    step: u32,
}

impl<'a> Steps<'a> {
    fn new(records: &'a mut RecordStream) -> Self {
        Self {
            records,
            number: 0,
            step: 0,
        }
    }

    fn record(&mut self, step: u32) -> Result<Option<Record>, RecordError> {
        while let Some(outline) = self.records.header(self.number) {
            let number = self.number;
            self.number += 1;
            let is_of_run = matches!(outline.event_type, EventType::RunStart | EventType::RunEnd);
            if !is_of_run && !outline.is_leftover {
                self.step += 1;
                if self.step == step {
                    return self.records.read_record(number);
                }
            }
        }
        Ok(None)
    }
}

/// The compared fields of a call: its input, and how it ended.
fn asked(record: &Record) -> Value {
    match &record.payload {
        Payload::LlmCall {
            model,
            prompt,
            temperature,
            provider,
            status,
            error,
            ..
        } => json!({
            "model": model,
            "provider": provider,
            "prompt": prompt,
            "temperature": temperature,
            "status": status,
            "error": error.as_ref().map(|error| &error.error_type),
        }),
        Payload::ToolCall {
            args, status, error, ..
        } => json!({
            "args": args,
            "status": status,
            "error": error.as_ref().map(|error| &error.error_type),
        }),
        _ => Value::Null,
    }
}
