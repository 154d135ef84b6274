// Included by examples of the documentation, out of the reader's sight: records what a closure does as a run, in a
// folder of its own, and reads the run back.
|work: fn() -> Result<(), tracer_sdk::GuardrailExceeded>| -> tracer_sdk::read::LoadedRun {
    let folder = tempfile::tempdir().unwrap();
    let config = tracer_sdk::Config::new().data_dir(folder.path());
    let run = tracer_sdk::Run::new("example").config(&config).start();
    let directory = run.dir().unwrap();
    work().unwrap();
    run.finish();
    tracer_sdk::read::LoadedRun::read(&directory).unwrap()
}
