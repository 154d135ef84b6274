// Included by examples of the documentation, out of the reader's sight: records a run with one tool call in a data
// directory of its own; gives the guard of that directory and the directory of the run.
{
    let folder = tempfile::tempdir().unwrap();
    let config = tracer_sdk::Config::new().data_dir(folder.path());
    let run = tracer_sdk::Run::new("support-agent").config(&config).start();
    tracer_sdk::tool_call("search").record().unwrap();
    let directory = run.dir().unwrap();
    run.finish();
    (folder, directory)
}
