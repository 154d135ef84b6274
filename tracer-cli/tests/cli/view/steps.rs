//! Rows, steps and searches: the same steps that the terminal shows.

use serde_json::{Value, json};

use crate::sandbox::{FIRST, Sandbox};

use super::client::{Viewer, opened};

/// The columns of a run, as a page reads them.
struct Columns(Vec<u8>);

impl Columns {
    fn u32(&self, at: usize) -> u32 {
        u32::from_le_bytes(self.0[at..at + 4].try_into().unwrap())
    }

    fn rows(&self) -> usize {
        self.u32(8) as usize
    }

    /// Where the columns begin, in their order.
    fn starts(&self) -> Vec<usize> {
        let mut at = 64;
        [8, 8, 4, 4, 4, 4, 4, 1, 1]
            .into_iter()
            .map(|bytes| {
                let start = at;
                at += (self.rows() * bytes).next_multiple_of(8);
                start
            })
            .chain([0])
            .collect()
    }

    fn f64s(&self, column: usize) -> Vec<f64> {
        let start = self.starts()[column];
        let values = self.0[start..start + self.rows() * 8].chunks(8);
        values
            .map(|bytes| f64::from_le_bytes(bytes.try_into().unwrap()))
            .collect()
    }

    fn u32s(&self, column: usize) -> Vec<u32> {
        let start = self.starts()[column];
        (0..self.rows()).map(|row| self.u32(start + row * 4)).collect()
    }

    fn u8s(&self, column: usize) -> Vec<u8> {
        let start = self.starts()[column];
        self.0[start..start + self.rows()].to_vec()
    }

    fn names(&self) -> Vec<String> {
        let mut at = self.starts()[8] + self.rows().next_multiple_of(8);
        assert_eq!(at + self.u32(16) as usize, self.0.len());
        (0..self.u32(12))
            .map(|_| {
                let length = self.u32(at) as usize;
                at += 4 + length;
                String::from_utf8(self.0[at - length..at].to_vec()).unwrap()
            })
            .collect()
    }
}

fn ask(viewer: &Viewer, path: &str) -> Value {
    viewer.json(&format!("/api/runs/{FIRST}{path}"))
}

#[test]
fn the_columns_hold_every_row() {
    let (_sandbox, viewer) = opened();
    let columns = Columns(viewer.get(&format!("/api/runs/{FIRST}/columns")).body);
    assert_eq!(&columns.0[..8], b"TRCCOL03");
    assert_eq!(columns.rows(), 3);
    assert_eq!(columns.f64s(0), [0.0, 10_000.0, 40_000.0]);
    assert_eq!(columns.f64s(1), [400_000.0, 20_000.0, 200_000.0]);
    assert_eq!(columns.u32s(2), [u32::MAX, 0, 0]);
    assert_eq!(columns.u32s(3), [0, 1, 2]);
    assert_eq!(columns.u32s(6), [0, 0, 447]);
    assert_eq!(columns.u8s(7), [0, 2, 1]);
    assert_eq!(columns.u8s(8), [0, 0, 0]);
    let names = columns.names();
    let shown: Vec<&str> = columns
        .u32s(4)
        .into_iter()
        .map(|name| names[name as usize].as_str())
        .collect();
    assert_eq!(shown, ["agent", "search_kb", "demo-model"]);
}

#[test]
fn the_beginning_of_a_small_run_is_all_of_it() {
    let (_sandbox, viewer) = opened();
    let path = format!("/api/runs/{FIRST}/columns");
    let beginning = viewer.get(&format!("{path}?beginning=true"));
    assert_eq!(beginning.body, viewer.get(&path).body);
    viewer
        .get(&format!("{path}?beginning=2"))
        .refuses(400, "invalid_parameter");
}

#[test]
fn rows_say_what_went_in_and_what_came_out() {
    let (_sandbox, viewer) = opened();
    let rows = ask(&viewer, "/rows?from=1&limit=1");
    assert_eq!(rows["row_count"], 3);
    assert_eq!(
        rows["rows"],
        json!([{"row": 1, "event_id": "1111111111111111", "kind": "tool", "name": "search_kb",
            "gist": {"input": "query=\"refund policy\"", "output": "hits=2"}, "tokens": null, "cost": null, "failure": null,
            "in_flight": false}])
    );
    assert_eq!(ask(&viewer, "/rows?from=2")["rows"][0]["tokens"], "412→35");
    assert_eq!(ask(&viewer, "/rows?from=99")["rows"], json!([]));
}

#[test]
fn a_step_is_shown_by_its_kind() {
    let (_sandbox, viewer) = opened();
    let tool = ask(&viewer, "/steps/1111111111111111");
    assert_eq!(
        (&tool["row"], &tool["number"], &tool["kind"]),
        (&1.into(), &1.into(), &"tool".into())
    );
    assert_eq!(
        tool["tool"]["arguments"]["value"],
        json!({"query": "refund policy"})
    );
    assert_eq!(tool["tool"]["result"]["value"], json!({"hits": 2}));
    assert_eq!((&tool["line"], &tool["duration_us"]), (&1.into(), &20_000.into()));
    assert!(tool["raw"]["value"].as_str().unwrap().contains("refund policy"));
    let llm = ask(&viewer, "/steps?row=2");
    assert_eq!(
        llm["llm"]["messages"][0]["parts"][0]["html"],
        "<p>Draft a reply</p>\n"
    );
    assert_eq!(llm["facts"][2], "412 tokens in, 35 out");
    let answer = viewer.get(&format!("/api/runs/{FIRST}/steps/1111111111111111/text"));
    let text = answer.text();
    assert!(
        text.contains("step 1 of 2") && text.contains("refund policy"),
        "{text}"
    );
    let run = ask(&viewer, "/steps/00f067aa0ba902b7");
    assert_eq!((&run["kind"], &run["name"]), (&"run".into(), &"agent".into()));
}

#[test]
fn a_large_value_is_cut_and_can_be_had_whole() {
    let sandbox = Sandbox::new();
    let directory = sandbox.run(FIRST, "agent", 1, "ok");
    let log = directory.join("spans.jsonl");
    let large = "word ".repeat(40_000);
    let text = std::fs::read_to_string(&log)
        .unwrap()
        .replace("refund policy", &large);
    std::fs::write(&log, text).unwrap();
    let viewer = Viewer::start(&sandbox);
    let arguments = ask(&viewer, "/steps/1111111111111111")["tool"]["arguments"].clone();
    assert!(arguments["value"].is_null());
    assert!(arguments["size"].as_u64().unwrap() > 200_000);
    assert!(
        arguments["head"]
            .as_str()
            .unwrap()
            .starts_with("{\"query\":\"word")
    );
    let whole = viewer.json(arguments["value_url"].as_str().unwrap());
    assert_eq!(whole["query"], large);
    let raw = viewer.get(&format!("/api/runs/{FIRST}/steps/1111111111111111/values/raw"));
    assert!(raw.header("content-type").unwrap().starts_with("text/plain"));
    assert!(raw.body.len() > 200_000);
}

#[test]
fn a_search_finds_text_and_columns() {
    let (_sandbox, viewer) = opened();
    let hits = |query: &str| ask(&viewer, &format!("/search?q={query}"))["hits"].clone();
    assert_eq!(hits("REFUND"), json!([1]));
    assert_eq!(hits("%22draft%20a%22"), json!([2]));
    assert_eq!(hits("nothing"), json!([]));
    assert_eq!(hits("kind:llm"), json!([2]));
    assert_eq!(hits("name~search%20duration%3E1ms"), json!([1]));
    assert_eq!(hits("-kind:llm%20tool:search*"), json!([1]));
    assert_eq!(hits("args~refund"), json!([1]));
    assert_eq!(hits("refund%20-args~refund"), json!([]));
    assert_eq!(hits("answer~ada"), json!([2]));
    assert_eq!(hits("kind:llm%20refund"), json!([]));
    assert_eq!(
        hits("trace_id"),
        json!([]),
        "a key of the format is not what was said"
    );
    let (mut rows, mut after) = (Vec::new(), json!(0));
    while !after.is_null() {
        let part = ask(&viewer, &format!("/search?limit=1&after={after}"));
        after = part["next"].clone();
        assert_eq!(part["done"], after.is_null());
        rows.extend(
            part["hits"]
                .as_array()
                .unwrap()
                .iter()
                .map(|row| row.as_u64().unwrap()),
        );
    }
    rows.sort_unstable();
    assert_eq!(rows, [0, 1, 2], "a part at a time");
}

#[test]
fn a_transcript_says_what_is_new() {
    let (_sandbox, viewer) = opened();
    let transcript = ask(&viewer, "/transcript?limit=1");
    assert_eq!(
        (&transcript["turn_count"], &transcript["next"]),
        (&2.into(), &1.into())
    );
    assert_eq!(
        transcript["turns"][0]["arguments"]["value"],
        json!({"query": "refund policy"})
    );
    let rest = ask(&viewer, "/transcript?from=1");
    assert_eq!(rest["turns"][0]["messages"][0]["role"], "user");
    assert_eq!(rest["turns"][0]["response"][0]["parts"][0]["value"], "Dear Ada");
    assert!(rest["next"].is_null());
    assert_eq!(ask(&viewer, "/transcript?kind=state")["turns"], json!([]));
}

#[test]
fn two_runs_are_compared() {
    let (sandbox, viewer) = opened();
    sandbox.run(crate::sandbox::SECOND, "agent", 2, "error");
    let diff = viewer.json(&format!("/api/diff?a={FIRST}&b={}", crate::sandbox::SECOND));
    assert_eq!(
        (&diff["before"]["status"], &diff["after"]["status"]),
        (&"ok".into(), &"error".into())
    );
    assert_eq!(
        (&diff["pair_count"], &diff["is_same"]),
        (&2.into(), &false.into())
    );
    assert_eq!(diff["calls"][0]["change"], "same");
    let part = viewer.json(&format!(
        "/api/diff?a={FIRST}&b={}&limit=1",
        crate::sandbox::SECOND
    ));
    assert_eq!(part["next"], 1);
}

#[test]
fn a_call_whose_request_was_not_kept_has_no_command() {
    let (_sandbox, viewer) = opened();
    let steps = viewer.json(&format!("/api/runs/{FIRST}/rows?limit=20"));
    let event = steps["rows"][1]["event_id"].as_str().unwrap();
    let curl = viewer.json(&format!("/api/runs/{FIRST}/steps/{event}/curl"));
    assert!(curl["command"].is_null());
    let note = curl["note"].as_str().unwrap();
    assert!(
        note.contains("was not kept; `tracer record -- COMMAND`"),
        "{note}"
    );
}
