// Included by examples of the documentation, out of the reader's sight: a run whose process is gone, which is the copy
// of one that was still recorded; gives the guard of its folder and the directory of the run.
{
    let folder = tempfile::tempdir().unwrap();
    let config = tracer_sdk::Config::new().data_dir(folder.path());
    let run = tracer_sdk::Run::new("support-agent").config(&config).start();
    tracer_sdk::tool_call("search").record().unwrap();
    let directory = folder.path().join(run.trace_id().unwrap().to_string());
    std::fs::create_dir(&directory).unwrap();
    for file in std::fs::read_dir(run.dir().unwrap()).unwrap() {
        let file = file.unwrap();
        std::fs::copy(file.path(), directory.join(file.file_name())).unwrap();
    }
    (folder, directory)
}
