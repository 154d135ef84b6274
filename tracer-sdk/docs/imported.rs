{
    // A folder for runs, an importer into it, and a span that another program sent: the example of several pages.
    let folder = tempfile::tempdir().unwrap();
    let settings = tracer_sdk::settings::Settings::with_data_dir(folder.path());
    let importer = tracer_sdk::import::Importer::new(&settings);
    let attributes = serde_json::json!({"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "weather"});
    let start = tracer_sdk::format::Timestamp::from_unix_nanoseconds(1_767_225_600_000_000_000);
    let span = tracer_sdk::format::SpanRecord {
        trace_id: "10000000000000000000000000000001".parse().unwrap(),
        span_id: "1000000000000001".parse().unwrap(),
        parent_span_id: None,
        name: "invoke_agent weather".to_owned(),
        kind: tracer_sdk::format::SpanKind::Internal,
        start_time: start.into(),
        end_time: Some(start.into()),
        duration_ms: Some(0),
        attributes: attributes.as_object().unwrap().clone(),
        events: Vec::new(),
        status_code: tracer_sdk::format::StatusCode::Unset,
        status_description: String::new(),
    };
    (folder, importer, span)
}
