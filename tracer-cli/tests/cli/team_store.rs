//! `--store`: several machines and one bucket, here a folder, as everybody's own `tracer` reads them.

use std::fs;
use std::io::Read;
use std::process::Stdio;

use serde_json::Value;

use crate::sandbox::{FIRST, Outcome, SECOND, Sandbox, THIRD};
use crate::view::client::Viewer;

/// A bucket that two machines sent runs to, and three machines that read it: the last one recorded nothing.
struct Team {
    bucket: tempfile::TempDir,
    machines: [Sandbox; 3],
}

impl Team {
    fn new() -> Self {
        let team = Self {
            bucket: tempfile::tempdir().unwrap(),
            machines: [Sandbox::new(), Sandbox::new(), Sandbox::without_data_directory()],
        };
        for machine in &team.machines {
            let policy =
                "version: 2\nmetrics:\n  step_count: {kind: measured, direction: upper, limit: 20}\n";
            fs::write(machine.path("steps.yaml"), policy).unwrap();
        }
        team.machines[0].run(FIRST, "support agent", 1, "ok");
        team.machines[0].run(SECOND, "support agent", 2, "error");
        team.machines[1].run(THIRD, "nightly", 3, "ok");
        for machine in &team.machines[..2] {
            team.push(machine);
        }
        team
    }

    fn url(&self) -> String {
        format!("file://{}", self.bucket.path().display())
    }

    fn push(&self, machine: &Sandbox) {
        let pushed = machine.tracer(&["push", "--all", "--to", &self.url()]);
        assert_eq!(pushed.code, Some(0), "{pushed:?}");
    }

    fn read(&self, machine: &Sandbox, arguments: &[&str]) -> Outcome {
        let url = self.url();
        let (command, rest) = arguments.split_first().unwrap();
        let mut all = vec![*command, "--store", &url];
        all.extend(rest);
        machine.tracer(&all)
    }
}

#[test]
fn every_machine_gives_the_same_answers_byte_for_byte() {
    let team = Team::new();
    for arguments in [
        &["list", "--limit", "all"][..],
        &["list", "--limit", "all", "--json"],
        &["list", "--json", "tool:search_kb args~refund"],
        &["stats"],
        &["stats", "--by", "name", "--json"],
        &["search", "refund"],
        &["search", "--json", "tool:search_kb"],
        &["show", FIRST],
        &["show", FIRST, "--json"],
        &["show", "latest", "--transcript"],
        &["show", "nightly", "--step", "1"],
        &["export", SECOND, "--out", "-"],
        &["diff", "latest~1", "latest", "--format", "json"],
        &["assert", "nightly", "--policy", "steps.yaml", "--format", "json"],
    ] {
        let [first, second, third] = team
            .machines
            .each_ref()
            .map(|machine| team.read(machine, arguments));
        assert_eq!(first.code, Some(0), "{arguments:?}: {first:?}");
        assert!(!first.stdout.is_empty(), "{arguments:?}");
        assert_eq!(first.stdout, second.stdout, "{arguments:?}");
        assert_eq!(first.stdout, third.stdout, "{arguments:?}");
        assert_eq!(first.stderr, third.stderr, "{arguments:?}");
    }
}

/// What a viewer answers, but for the word by which a client asks whether the files of a run are still the same ones.
fn shown(viewer: &Viewer, path: &str) -> String {
    let answer = viewer.get(path);
    assert_eq!(answer.status, 200, "{path}: {answer:?}");
    let mut answer = answer.json();
    if path.contains("/api/runs/") {
        answer.as_object_mut().unwrap().remove("version");
    }
    answer.to_string()
}

#[test]
fn every_machine_shows_the_same_page() {
    let team = Team::new();
    let url = team.url();
    let viewers = team
        .machines
        .each_ref()
        .map(|machine| Viewer::start_with(machine, &["--store", &url]));
    for path in [
        "/api/table",
        "/api/table?q=args~refund",
        "/api/runs",
        "/api/stats?by=name",
        &format!("/api/runs/{FIRST}"),
        &format!("/api/runs/{THIRD}/overview"),
        &format!("/api/diff?a={FIRST}&b={THIRD}"),
    ] {
        let [first, second, third] = viewers.each_ref().map(|viewer| shown(viewer, path));
        assert_eq!(first, second, "{path}");
        assert_eq!(first, third, "{path}");
    }
    let table = viewers[2].json("/api/table");
    assert_eq!(
        (&table["total"], &table["runs"][0]["origin"]),
        (&3.into(), &Value::from(url))
    );
    let refused = viewers[2].change("DELETE", &format!("/api/runs/{FIRST}"), "{}");
    refused.refuses(409, "in_bucket");
}

#[test]
fn nobody_waits_for_whoever_reads_an_answer_slowly() {
    let team = Team::new();
    let [sender, other, reader] = &team.machines;
    let id = |number: u32| format!("{number:08x}000000000000000000000001");
    for number in 1..=300 {
        sender.run(&id(number), "support agent", 1, "ok");
    }
    team.push(sender);
    let commands = [
        &["search", "--limit", "all", "--json", "refund"][..],
        &["list", "--limit", "all", "--json", "tool:search_kb"],
        &["list", "--limit", "all", "--json"],
    ];
    for (number, arguments) in (1_001..).zip(commands) {
        let url = team.url();
        let mut answer = reader
            .command(&[arguments, &["--store", &url]].concat())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        // The rest is more than a pipe holds.
        let mut first = [0];
        answer.stdout.as_mut().unwrap().read_exact(&mut first).unwrap();
        other.run(&id(number), "late", 4, "ok");
        team.push(other);
        let listed = team.read(reader, &["list", "--limit", "all"]);
        assert_eq!(answer.try_wait().unwrap(), None, "{arguments:?}: it still writes");
        assert_eq!(
            (listed.code, listed.stderr.as_str()),
            (Some(0), ""),
            "{arguments:?}"
        );
        assert!(listed.stdout.contains(&id(number)), "{arguments:?}");
        answer.kill().unwrap();
        answer.wait().unwrap();
    }
}

#[test]
fn local_and_remote_runs_are_side_by_side_with_their_origin() {
    let team = Team::new();
    let machine = &team.machines[1];
    let own = "cccc4444000000000000000000000004";
    machine.run(own, "unsent", 4, "ok");
    let listed = team.read(machine, &["list", "--json"]).json();
    let origins: Vec<(&str, &str)> = listed["runs"]
        .as_array()
        .unwrap()
        .iter()
        .map(|run| (run["trace_id"].as_str().unwrap(), run["origin"].as_str().unwrap()))
        .collect();
    let url = team.url();
    assert_eq!(
        origins,
        [
            (own, "this machine"),
            (THIRD, &url),
            (SECOND, &url),
            (FIRST, &url)
        ]
    );
    let rows = team.read(machine, &["list"]);
    assert!(rows.stdout.starts_with("status\trun_id\t"), "{rows:?}");
    assert!(
        rows.stdout.lines().next().unwrap().ends_with("\torigin"),
        "{rows:?}"
    );
    // A name that was given after the run was sent is this machine's until it is sent.
    let renamed = machine.tracer(&["rename", THIRD, "weekly"]);
    assert_eq!(renamed.code, Some(0), "{renamed:?}");
    assert!(
        team.read(machine, &["list"])
            .stdout
            .contains("\tweekly\tthis machine\n")
    );
    assert!(
        team.read(&team.machines[0], &["list"])
            .stdout
            .contains(&format!("\tnightly\t{url}\n"))
    );
    team.push(machine);
    for machine in &team.machines {
        let listed = team.read(machine, &["list"]);
        assert!(
            listed.stdout.contains(&format!("\tweekly\t{url}\n")),
            "{listed:?}"
        );
    }
    let alone = machine.tracer(&["list"]);
    assert!(
        !alone.stdout.contains("origin") && !alone.stdout.contains(FIRST),
        "{alone:?}"
    );
}

#[test]
fn without_the_bucket_there_is_what_was_read() {
    let team = Team::new();
    let machine = &team.machines[2];
    let moved = team.bucket.path().with_extension("moved");
    let down = || fs::rename(team.bucket.path(), &moved).unwrap();
    let up = || fs::rename(&moved, team.bucket.path()).unwrap();
    down();
    team.read(machine, &["list"])
        .fails(2, &["there is no such bucket", "--store none"]);
    assert!(!team.bucket.path().exists(), "reading makes no bucket");
    up();
    let before = team.read(machine, &["list", "--json"]);
    team.read(machine, &["show", FIRST]);
    down();
    let offline = team.read(machine, &["list", "--json"]);
    assert_eq!(
        (offline.code, &offline.stdout),
        (Some(0), &before.stdout),
        "{offline:?}"
    );
    assert!(
        offline.stderr.contains("; what is shown was read at 20"),
        "{offline:?}"
    );
    assert_eq!(team.read(machine, &["show", FIRST]).code, Some(0));
    team.read(machine, &["show", THIRD])
        .fails(2, &["run bbbb3333 is in the bucket, and cannot be fetched"]);
    let searched = team.read(machine, &["search", "refund"]);
    assert_eq!(
        (searched.code, searched.stdout.lines().count()),
        (Some(0), 1),
        "{searched:?}"
    );
    assert!(
        searched.stderr.contains("2 runs not looked through"),
        "{searched:?}"
    );
    up();
}

#[test]
fn the_bucket_is_a_setting_of_the_user_and_never_of_a_project() {
    let team = Team::new();
    let machine = &team.machines[2];
    let by_variable = machine
        .command(&["list"])
        .env("TRACER_STORE", team.url())
        .output()
        .unwrap();
    let by_variable = Outcome::from(by_variable);
    assert!(by_variable.stdout.contains(THIRD), "{by_variable:?}");
    let none = machine
        .command(&["list", "--store", "none"])
        .env("TRACER_STORE", team.url())
        .output()
        .unwrap();
    assert_eq!(Outcome::from(none).code, Some(2), "nothing was recorded here");
    let setting = format!("store = {:?}\n", team.url());
    fs::create_dir_all(machine.path(".tracer")).unwrap();
    fs::write(machine.path(".tracer/config.toml"), &setting).unwrap();
    assert!(machine.tracer(&["list"]).stdout.contains(THIRD));
    // Commands that write have nothing to do with it.
    machine.tracer(&["rename", THIRD, "mine"]).fails(2, &["no"]);
    fs::remove_file(machine.path(".tracer/config.toml")).unwrap();
    let project = machine.path("clone");
    fs::create_dir_all(project.join(".tracer")).unwrap();
    fs::write(project.join(".tracer/config.toml"), &setting).unwrap();
    let cloned = machine.command(&["list"]).current_dir(&project).output().unwrap();
    Outcome::from(cloned).fails(2, &["store must not be in a project file"]);
}

#[test]
fn a_run_of_the_bucket_is_validated() {
    let team = Team::new();
    let machine = &team.machines[2];
    let valid = team.read(machine, &["validate-trace", "nightly", "--json"]);
    assert_eq!(valid.code, Some(0), "{valid:?}");
    assert_eq!(valid.json()["trace_id"], THIRD);
    team.read(machine, &["validate-trace", "nobody"])
        .fails(2, &["no run has an ID that starts with"]);
    // The setting makes no run of what is a path.
    let path = machine
        .command(&["validate-trace", "nightly"])
        .env("TRACER_STORE", team.url())
        .output()
        .unwrap();
    Outcome::from(path).fails(2, &["failed to read a run from `nightly`"]);
    let run = team.machines[1].run_dir(THIRD).display().to_string();
    let valid = machine.tracer(&["validate-trace", "--store", "none", &run, "--json"]);
    assert_eq!(valid.code, Some(0), "{valid:?}");
    assert_eq!(valid.json()["trace_id"], THIRD);
}

#[cfg(unix)]
#[test]
fn a_path_that_is_no_text_names_no_run_of_the_bucket() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    let team = Team::new();
    let refused = team.machines[2]
        .command(&["validate-trace", "--store", &team.url()])
        .arg(OsStr::from_bytes(b"nightly\xff"))
        .output()
        .unwrap();
    Outcome::from(refused).fails(2, &["names no run: it is not UTF-8"]);
}

#[test]
fn fetched_runs_have_the_room_that_is_set() {
    let team = Team::new();
    let machine = &team.machines[2];
    let fetched = |megabytes: &str| {
        for run in [FIRST, SECOND, THIRD] {
            let shown = machine
                .command(&["show", run])
                .env("TRACER_STORE", team.url())
                .env("TRACER_STORE_CACHE_MB", megabytes)
                .output()
                .unwrap();
            assert!(shown.status.success(), "{shown:?}");
        }
        let stores = fs::read_dir(machine.path("data/cache/stores")).unwrap();
        let runs = stores.flat_map(|store| fs::read_dir(store.unwrap().path().join("runs")).unwrap());
        runs.count()
    };
    assert_eq!((fetched("0"), fetched("1")), (1, 3));
    let refused = machine
        .command(&["doctor"])
        .env("TRACER_STORE_CACHE_MB", "much")
        .output()
        .unwrap();
    let refused = Outcome::from(refused);
    assert!(
        refused
            .stdout
            .contains("TRACER_STORE_CACHE_MB must be a whole number, zero or more"),
        "{refused:?}"
    );
}

#[test]
fn a_url_with_credentials_is_refused_without_being_quoted() {
    let sandbox = Sandbox::new();
    let refused = sandbox.tracer(&["list", "--store", "s3://AKIA:s3cret@team/agents"]);
    refused.fails(2, &["credentials do not belong into it"]);
    assert!(!refused.stderr.contains("s3cret"), "{refused:?}");
}

#[test]
fn a_half_written_run_and_torn_facts_are_passed_over() {
    let team = Team::new();
    let folder = team.bucket.path();
    let facts = folder.join("facts/date=2026-01-01");
    fs::create_dir_all(&facts).unwrap();
    fs::write(
        facts.join("000000.000000-0000000a-0000000000000001.jsonl"),
        "{\"version\":1,\"trace",
    )
    .unwrap();
    let half = "dddd5555000000000000000000000005";
    fs::create_dir_all(folder.join("runs").join(half)).unwrap();
    fs::write(folder.join("runs").join(half).join("spans.jsonl"), "{}\n").unwrap();
    let machine = &team.machines[2];
    let listed = team.read(machine, &["list"]);
    assert_eq!(
        (listed.code, listed.stdout.lines().count()),
        (Some(0), 4),
        "{listed:?}"
    );
    assert!(listed.stderr.contains("1 entry in "), "{listed:?}");
    team.read(machine, &["show", half])
        .fails(2, &["no run has an ID"]);
    let log = folder.join("runs").join(FIRST).join("spans.jsonl");
    let changed = fs::read_to_string(&log).unwrap().replace("refund", "refuse");
    fs::write(&log, changed).unwrap();
    team.read(machine, &["show", FIRST])
        .fails(2, &["what the bucket has of it is damaged"]);
}
