//! What holds for every reported exchange.

use serde_json::Value;

use super::play;

/// Each file of `tests/data/reported` as the client got it: the bytes that the provider sent.
#[test]
fn every_reported_answer_arrives_unchanged() {
    let folder = format!("{}/data/reported", env!("CARGO_MANIFEST_DIR"));
    let mut played = 0;
    for file in std::fs::read_dir(folder).unwrap() {
        let path = file.unwrap().path();
        let exchange: Value = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
        let run = play(path.file_stem().unwrap().to_str().unwrap());
        for (turn, received) in exchange["turns"].as_array().unwrap().iter().zip(&run.received) {
            let sent = match &turn["reply"] {
                Value::Array(chunks) => chunks.iter().flat_map(super::bytes).collect(),
                body => super::bytes(body),
            };
            assert_eq!(received, &sent, "{}", path.display());
        }
        assert!(run.tracer(&["show"]).contains("proxied"), "{}", path.display());
        assert!(!run.run.records.is_empty());
        played += 1;
    }
    assert!(played >= 18, "{played} exchanges");
}
