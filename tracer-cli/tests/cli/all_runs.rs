//! Questions over all runs: `list` with a query and an order, `search`, `stats`, and what is kept for them.

use std::fs;

use serde_json::{Value, json};

use crate::sandbox::{FIRST, SECOND, Sandbox, THIRD, contents, meta, spans};
use crate::schemas::keeps_to;

/// Three runs: one that went well, one that failed, one that is large.
fn store() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.run(FIRST, "support-agent", 1, "ok");
    sandbox.run(SECOND, "billing-agent", 2, "error");
    let more: String = (0..5)
        .map(|number| {
            spans(THIRD, "batch", 3, "running")
                .lines()
                .next()
                .unwrap()
                .replace("1111111111111111", &format!("3{number:015}"))
                .replace("refund policy", &format!("invoice {number}"))
                + "\n"
        })
        .collect();
    let mut counted = meta(THIRD, "batch", 3, "ok");
    counted["counts"]["tool_calls"] = json!(6);
    sandbox.files(
        THIRD,
        &counted.to_string(),
        &(more + &spans(THIRD, "batch", 3, "ok")),
    );
    sandbox
}

/// The first characters of the IDs of the listed runs, in their order.
fn listed(sandbox: &Sandbox, arguments: &[&str]) -> String {
    let outcome = sandbox.tracer(&[&["list"], arguments].concat());
    assert_eq!(outcome.code, Some(0), "{outcome:?}");
    let ids = outcome
        .stdout
        .lines()
        .skip(1)
        .filter_map(|line| line.split('\t').nth(1)?.get(..5));
    ids.collect::<Vec<_>>().join(" ")
}

#[test]
fn a_query_selects_runs() {
    let sandbox = store();
    for (query, expected) in [
        ("", "bbbb3 aaaa2 aaaa1"),
        ("name:*agent", "aaaa2 aaaa1"),
        ("status:failed", "aaaa2"),
        ("-status:failed", "bbbb3 aaaa1"),
        ("tool:search_kb tool_calls>5", "bbbb3"),
        ("args~\"invoice 3\"", "bbbb3"),
        ("tokens>400", "bbbb3 aaaa2 aaaa1"),
        ("invoice", "bbbb3"),
        ("-invoice", "aaaa2 aaaa1"),
        ("model:demo-model \"Dear Ada\" -name:batch", "aaaa2 aaaa1"),
    ] {
        assert_eq!(listed(&sandbox, &["--", query]), expected, "{query}");
        let words: Vec<&str> = ["--"].into_iter().chain(query.split_whitespace()).collect();
        if !query.contains('"') {
            assert_eq!(listed(&sandbox, &words), expected, "{query} in several words");
        }
    }
    assert_eq!(listed(&sandbox, &["--", "status:ok", "-name:batch"]), "aaaa1");
    let json = sandbox.tracer(&["list", "--json", "status:failed"]).json();
    assert_eq!(json["runs"][0]["trace_id"], SECOND);
    keeps_to("list", &json);
}

#[test]
fn runs_are_sorted_over_all_of_them() {
    let sandbox = store();
    assert_eq!(listed(&sandbox, &["--sort", "steps", "--limit", "1"]), "bbbb3");
    assert_eq!(listed(&sandbox, &["--sort", "steps"]), "bbbb3 aaaa2 aaaa1");
    assert_eq!(listed(&sandbox, &["--sort", "-started"]), "aaaa1 aaaa2 bbbb3");
    assert_eq!(listed(&sandbox, &["--sort", "name"]), "bbbb3 aaaa2 aaaa1");
    let limited = sandbox.tracer(&["list", "tool:search_kb", "--sort", "tokens", "--limit", "1"]);
    let hint = "1 of 3 runs; list all: tracer list --sort tokens --limit all tool:search_kb";
    assert!(limited.stderr.contains(hint), "{}", limited.stderr);
}

#[test]
fn a_query_that_cannot_be_read_says_why() {
    let sandbox = store();
    for command in ["list", "search", "stats"] {
        sandbox
            .tracer(&[command, "tol:search_kb"])
            .fails(2, &["did you mean `tool`?", "hint: an example"]);
        sandbox.tracer(&[command, "tool:x", "--jsn"]).fails(2, &["--jsn"]);
    }
    sandbox
        .tracer(&["search", "status:failed"])
        .fails(2, &["nothing to look for in steps", "tracer list status:failed"]);
}

#[test]
fn search_prints_run_step_and_excerpt() {
    let sandbox = store();
    let outcome = sandbox.tracer(&["search", "tool:search_kb args~\"invoice 4\""]);
    assert_eq!(outcome.code, Some(0), "{outcome:?}");
    assert_eq!(
        outcome.stdout,
        format!("{THIRD}\t5\ttool\tok\tsearch_kb\targs.query: invoice 4\n")
    );
    let found = sandbox.tracer(&["search", "--json", "refund -name:batch"]);
    let lines: Vec<Value> = found
        .stdout
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(lines.len(), 2, "{found:?}");
    for line in &lines {
        assert_eq!((&line["step"], &line["name"]), (&json!(1), &json!("search_kb")));
        assert_eq!(line["event_id"], "1111111111111111");
    }
    let shown = sandbox.tracer(&["show", FIRST, "--step", "1"]);
    assert!(
        shown.stdout.contains("refund policy"),
        "the number is that of `show`"
    );
    assert_eq!(
        sandbox.tracer(&["search", "refund", "--count"]).stdout,
        "3 hits in 3 runs\n"
    );
    let none = sandbox.tracer(&["search", "nowhere"]);
    assert_eq!((none.code, none.stdout.as_str()), (Some(0), ""));
    assert_eq!(none.stderr, "no step matches, in 3 runs\n");
    let first = sandbox.tracer(&["search", "search_kb", "--limit", "2"]);
    assert_eq!(first.stdout.lines().count(), 2);
    assert!(
        first
            .stderr
            .contains("print all: tracer search --limit all search_kb"),
        "{}",
        first.stderr
    );
}

#[test]
fn hits_are_sorted_over_all_runs() {
    let sandbox = store();
    let longest = sandbox.tracer(&["search", "kind:llm,tool", "--sort", "duration", "--limit", "4"]);
    let names: Vec<&str> = longest
        .stdout
        .lines()
        .filter_map(|line| line.split('\t').nth(4))
        .collect();
    assert_eq!(names, ["demo-model", "demo-model", "demo-model", "search_kb"]);
    assert!(
        longest.stdout.lines().all(|line| line.ends_with(" ms")),
        "{longest:?}"
    );
    let more =
        "the first 4 hits in 3 runs; print all: tracer search --sort duration --limit all kind:llm,tool";
    assert!(longest.stderr.contains(more), "{}", longest.stderr);
    let tokens = sandbox
        .tracer(&["search", "kind:llm", "--sort", "tokens", "--json", "--limit", "1"])
        .json();
    assert_eq!(tokens["sorted_by"], json!({"tokens": 447}));
    let costs = sandbox.tracer(&["search", "kind:llm", "--sort", "cost"]);
    assert_eq!(
        (costs.code, costs.stdout.as_str()),
        (Some(0), ""),
        "nobody sells the model"
    );
    sandbox
        .tracer(&["search", "kind:llm", "--sort", "size"])
        .fails(2, &["cost"]);
}

#[test]
fn groups_are_sorted_by_a_column() {
    let sandbox = store();
    let first = |arguments: &[&str]| {
        let printed = sandbox
            .tracer(&[&["stats", "--by", "name"], arguments].concat())
            .stdout;
        printed
            .lines()
            .nth(1)
            .unwrap()
            .split('\t')
            .next()
            .unwrap()
            .to_owned()
    };
    assert_eq!(first(&["--sort", "failed"]), "billing-agent");
    assert_eq!(first(&["--sort", "calls"]), "batch");
    assert_eq!(first(&["--sort", "-group"]), "support-agent");
    sandbox.tracer(&["stats", "--sort", "runs"]).fails(2, &["--by"]);
}

#[test]
fn every_line_of_search_names_its_version() {
    let sandbox = store();
    for options in [
        &["search", "refund", "--json"][..],
        &["search", "kind:tool", "--json", "--sort", "duration"],
        &["search", "refund", "--json", "--count"],
    ] {
        let outcome = sandbox.tracer(options);
        assert!(outcome.stdout.lines().count() > 0);
        for line in outcome.stdout.lines() {
            let line: Value = serde_json::from_str(line).unwrap();
            assert_eq!(line["spec_version"], "0.2.0", "{line:#}");
        }
    }
}

#[test]
fn stats_are_of_runs_or_of_calls() {
    let sandbox = store();
    let all = sandbox.tracer(&["stats", "--json"]).json();
    assert_eq!(
        (&all["all"]["runs"], &all["all"]["failed_runs"]),
        (&json!(3), &json!(1))
    );
    assert_eq!(all["all"]["total_tokens"], 3 * 447);
    assert_eq!(all["groups"], json!([]));
    let tools = sandbox
        .tracer(&["stats", "--by", "tool", "--json", "--", "-status:failed"])
        .json();
    assert_eq!(tools["query"], "-status:failed");
    assert_eq!(
        (&tools["groups"][0]["group"], &tools["groups"][0]["calls"]),
        (&json!("search_kb"), &json!(7))
    );
    let csv = sandbox.tracer(&["stats", "--by", "name", "--csv"]).stdout;
    let lines: Vec<&str> = csv.lines().collect();
    assert!(lines[0].starts_with("group,runs,ended_runs,failed_runs,failure_rate,"));
    assert!(lines[2].starts_with("billing-agent,1,1,1,1.0000,"), "{csv}");
    let day = sandbox.tracer(&["stats", "--by", "day"]).stdout;
    assert!(
        day.lines().nth(1).unwrap().starts_with("2026-01-01\t3\t"),
        "{day}"
    );
    sandbox
        .tracer(&["stats", "--by", "shoe"])
        .fails(2, &["model", "tool"]);
}

#[test]
fn what_is_kept_changes_nothing_but_time() {
    let sandbox = store();
    let commands: [&[&str]; 4] = [
        &["list"],
        &["list", "--json", "--sort", "tokens"],
        &["search", "refund"],
        &["stats", "--by", "tool", "--json"],
    ];
    let printed = || {
        let mut printed: Vec<String> = commands
            .iter()
            .map(|arguments| sandbox.tracer(arguments).stdout)
            .collect();
        // Runs are printed as they are searched.
        let mut hits: Vec<&str> = printed[2].lines().collect();
        hits.sort_unstable();
        printed[2] = hits.join("\n");
        printed
    };
    let first = printed();
    let kept = sandbox.data_dir().join("cache/facts-12.sqlite");
    assert!(kept.exists());
    let runs = contents(&sandbox.data_dir().join("runs"));
    assert_eq!(printed(), first);
    for wrong in [&b""[..], b"no database", &vec![0x5a; 20_000]] {
        fs::write(&kept, wrong).unwrap();
        assert_eq!(printed(), first);
    }
    fs::remove_dir_all(sandbox.data_dir().join("cache")).unwrap();
    fs::write(sandbox.data_dir().join("cache"), "a file").unwrap();
    assert_eq!(printed(), first);
    assert_eq!(contents(&sandbox.data_dir().join("runs")), runs);
}

#[test]
fn damage_that_only_the_facts_have_is_found_and_made_again() {
    let sandbox = store();
    // A run that was just written is read again the next time, and kept then.
    std::thread::sleep(std::time::Duration::from_millis(300));
    let commands: [&[&str]; 4] = [
        &["search", "refund", "--sort", "duration"],
        &["search", "invoice 3"],
        &["search", "refund", "--count"],
        &["list", "--json"],
    ];
    let kept = sandbox.data_dir().join("cache/facts-12.sqlite");
    for arguments in commands {
        let first = sandbox.tracer(arguments);
        let mut bytes = fs::read(&kept).unwrap();
        let mut damaged = 0;
        for page in bytes.chunks_mut(4096) {
            if page[0] == 0x0d && String::from_utf8_lossy(page).contains("\"st\":") {
                page.fill(0xff);
                damaged += 1;
            }
        }
        assert!(damaged > 0);
        fs::write(&kept, bytes).unwrap();
        let second = sandbox.tracer(arguments);
        assert_eq!(second.code, Some(0), "{second:?}");
        assert_eq!(second.stdout, first.stdout);
    }
}

#[test]
fn several_processes_list_the_same_at_once() {
    let sandbox = store();
    let start = || {
        sandbox
            .command(&["list", "--limit", "all"])
            .stdout(std::process::Stdio::piped())
            .spawn()
            .unwrap()
    };
    for _ in 0..3 {
        let children: Vec<_> = (0..4).map(|_| start()).collect();
        let mut killed = start();
        killed.kill().unwrap();
        killed.wait().unwrap();
        let printed: Vec<Vec<u8>> = children
            .into_iter()
            .map(|child| child.wait_with_output().unwrap().stdout)
            .collect();
        assert!(printed.windows(2).all(|pair| pair[0] == pair[1]));
        assert_eq!(String::from_utf8_lossy(&printed[0]).lines().count(), 4);
        sandbox.run(SECOND, "billing-agent", 2, "ok");
    }
}

#[test]
fn a_deleted_run_is_forgotten_at_once() {
    let sandbox = store();
    sandbox.run(FIRST, "Ada-Lovelace-1815", 1, "ok");
    // A run that was just written is read again the next time, and kept then.
    std::thread::sleep(std::time::Duration::from_millis(300));
    sandbox.tracer(&["list"]);
    let kept = sandbox.data_dir().join("cache/facts-12.sqlite");
    let holds = || String::from_utf8_lossy(&fs::read(&kept).unwrap()).contains("Ada-Lovelace-1815");
    assert!(holds());
    assert_eq!(sandbox.tracer(&["delete", FIRST, "--yes"]).code, Some(0));
    assert!(!holds());
}
