//! One projected record on each line, as the envelope has them.

use std::io::Write;

use super::ExportError;
use super::lines::Lines;

/// Writes the lines.
pub(crate) fn write(
    records: impl IntoIterator<Item = Result<Lines, ExportError>>,
    writer: &mut dyn Write,
) -> Result<(), ExportError> {
    for lines in records {
        for line in lines?.iter() {
            writer.write_all(line)?;
            writer.write_all(b"\n")?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::super::lines::Lines;
    use super::super::samples;

    #[test]
    fn each_line_is_a_record_of_the_envelope() {
        let records = || {
            let mut lines = Lines::default();
            for record in tracer_sdk::spans_to_events(&samples::run()) {
                lines.push(&record).unwrap();
            }
            [Ok(lines)]
        };
        let mut lines = Vec::new();
        super::write(records(), &mut lines).unwrap();
        let mut envelope = Vec::new();
        super::super::envelope::write(&samples::meta(), records(), &mut envelope).unwrap();

        let lines = String::from_utf8(lines).unwrap();
        let lines: Vec<Value> = lines
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        let envelope: Value = serde_json::from_slice(&envelope).unwrap();
        assert_eq!(envelope["events"], Value::Array(lines));
        let keys: Vec<&String> = envelope.as_object().unwrap().keys().collect();
        assert_eq!(keys, ["events", "run", "spec_version"]);
    }
}
