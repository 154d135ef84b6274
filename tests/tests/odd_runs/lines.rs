//! What a line of `spans.jsonl` may be.

use std::fs::OpenOptions;
use std::io::{Seek, SeekFrom, Write};

use super::case::Lenient::{Cut, Shows};
use super::case::{Case, case, child, other, root, run, running};
use serde_json::json;

pub(crate) fn cases() -> Vec<Case> {
    let mut cases = accepted();
    cases.extend(malformed());
    cases.extend(torn());
    cases.extend(huge());
    cases
}

fn accepted() -> Vec<Case> {
    let (child, root) = (child(), root());
    let texts = [
        ("no last newline", format!("{child}\n{root}")),
        ("CRLF", format!("{child}\r\n{root}\r\n")),
        ("blank lines", format!("\n\n{child}\n  \t\n\r\n{root}\n\n")),
        ("spaces around a line", format!("  {child}  \n\t{root}\t\n")),
        ("the root first", format!("{root}\n{child}\n")),
        (
            "a field of others",
            format!(
                "{}\n{root}\n",
                child.to_string().replacen('{', "{\"resource\":{\"a\":[1]},", 1)
            ),
        ),
        (
            "a field of others that is duplicated",
            format!(
                "{}\n{root}\n",
                child
                    .to_string()
                    .replacen('{', "{\"x\":1,\"x\":{\"y\":1,\"y\":1},", 1)
            ),
        ),
        (
            "escapes in keys",
            format!(
                "{}\n{root}\n",
                child
                    .to_string()
                    .replace("\"name\":\"search\"", "\"n\\u0061me\":\"search\"")
            ),
        ),
    ];
    texts
        .into_iter()
        .map(|(name, text)| case(name, run().log(text), &[], Shows(2)))
        .collect()
}

/// A line between the child and the root that is no JSON.
fn malformed() -> Vec<Case> {
    let line = other(json!({})).to_string();
    let with = |from: &str, to: &str| line.replacen(from, to, 1).into_bytes();
    let deep = |depth: usize| {
        let value = format!("{{\"x\":{}1{}}}", "[".repeat(depth), "]".repeat(depth));
        with(
            "\"attributes\":{\"args\":\"{}\"}",
            &format!("\"attributes\":{value}"),
        )
    };
    let lines: [(&str, Vec<u8>); 21] = [
        ("text", b"not json".to_vec()),
        ("an open brace", b"{".to_vec()),
        ("zero bytes", vec![0; 32]),
        ("a torn line in the middle", line.as_bytes()[..80].to_vec()),
        ("two objects on a line", format!("{line} {line}").into()),
        ("two objects without a space", format!("{line}{line}").into()),
        ("a byte order mark", format!("\u{feff}{line}").into()),
        (
            "invalid UTF-8 in a text",
            [b"{\"name\":\"".as_slice(), b"\xc3\x28\"}"].concat(),
        ),
        (
            "invalid UTF-8 in a field of others",
            [b"{\"x\":\"".as_slice(), b"\xff\"}"].concat(),
        ),
        (
            "an overlong form of a slash",
            [b"{\"name\":\"".as_slice(), b"\xc0\xaf\"}"].concat(),
        ),
        ("NaN", with("50,", "NaN,")),
        ("Infinity", with("50,", "Infinity,")),
        ("-Infinity", with("50,", "-Infinity,")),
        ("NaN in a field of others", with("{", "{\"x\":NaN,")),
        ("a number out of range", with("50,", "1e400,")),
        ("a number with a leading zero", with("50,", "050,")),
        ("a hexadecimal number", with("50,", "0x32,")),
        ("a raw control character", with("plan", "pl\u{1}an")),
        ("single quotes", line.replace('"', "'").into_bytes()),
        ("10,000 levels", deep(10_000)),
        ("one level too many", deep(125)),
    ];
    let mut cases: Vec<Case> = lines
        .into_iter()
        .map(|(name, line)| {
            case(
                name,
                run().line(line),
                &["malformed_json spans.jsonl:2"],
                Shows(2),
            )
        })
        .collect();
    for other in ["[]", "null", "true", "7", "\"span\""] {
        let problems = &["invalid_type spans.jsonl:2"];
        cases.push(case(
            format!("a line that is {other}"),
            run().line(other),
            problems,
            Shows(2),
        ));
    }
    cases.push(case(
        "as deep as a line may be",
        run().line(deep(123)),
        &[],
        Shows(3),
    ));
    cases.push(case(
        "every line is broken",
        run().log("{\n{\n{\n"),
        &[
            "malformed_json spans.jsonl:1",
            "malformed_json spans.jsonl:2",
            "malformed_json spans.jsonl:3",
        ],
        Shows(0),
    ));
    cases
}

/// Last lines that were cut: fine while the run is running, and only there.
fn torn() -> Vec<Case> {
    let (child, root) = (child(), root());
    let half = &root.to_string()[..90];
    let in_a_character = [child.to_string().as_bytes(), b"\n{\"name\":\"\xc3"].concat();
    vec![
        case(
            "a running run cut within a line",
            running().log(format!("{child}\n{half}")),
            &[],
            Cut(1, 90),
        ),
        case(
            "a running run cut within a character",
            running().log(in_a_character),
            &[],
            Cut(1, 10),
        ),
        case(
            "a running run cut in zero bytes",
            running().log(format!("{child}\n\0\0\0\0")),
            &[],
            Cut(1, 4),
        ),
        case(
            "a running run of half a line",
            running().log(half),
            &[],
            Cut(0, 90),
        ),
        case(
            "a running run whose last line is whole",
            running().log(child.to_string()),
            &[],
            Shows(1),
        ),
        case(
            "a running run with a newline behind half a line",
            running().log(format!("{child}\n{half}\n")),
            &["malformed_json spans.jsonl:2"],
            Shows(1),
        ),
        case(
            "a running run cut in the middle of its log",
            running().log(format!("{half}\n{child}\n")),
            &["malformed_json spans.jsonl:1"],
            Shows(1),
        ),
        case(
            "a running run whose last line is whole and wrong",
            running().log(format!("{child}\n[]")),
            &["invalid_type spans.jsonl:2"],
            Shows(1),
        ),
        case(
            "a completed run cut within its last line",
            run().log(format!("{root}\n{child}\n{half}")),
            &["malformed_json spans.jsonl:3"],
            Shows(2),
        ),
        case(
            "a run of unknown status cut within its last line",
            run()
                .meta_with(json!({"status": "paused"}))
                .log(format!("{root}\n{child}\n{half}")),
            &["invalid_value meta.json.status", "malformed_json spans.jsonl:3"],
            Shows(2),
        ),
    ]
}

/// Lines of many megabytes: mostly holes in the file, so that nothing is written.
fn huge() -> Vec<Case> {
    const MIB: u64 = 1024 * 1024;
    let with_hole = |bytes: u64| {
        run().log("").then(move |directory| {
            let mut log = OpenOptions::new()
                .write(true)
                .open(directory.join("spans.jsonl"))
                .unwrap();
            writeln!(log, "{}", child()).unwrap();
            log.write_all(b"{").unwrap();
            log.seek(SeekFrom::Current(i64::try_from(bytes).unwrap()))
                .unwrap();
            write!(log, "\n{}\n", root()).unwrap();
        })
    };
    let long_name = other(json!({"name": "x".repeat(4 * 1024 * 1024)}));
    vec![
        case(
            "a line of 100 MB that is broken",
            with_hole(100_000_000),
            &["malformed_json spans.jsonl:2"],
            Shows(2),
        ),
        case(
            "a line over 128 MiB",
            with_hole(130 * MIB),
            &["invalid_value spans.jsonl:2"],
            Shows(2),
        ),
        case(
            "a valid line of 4 MiB",
            run().line(long_name.to_string()),
            &[],
            Shows(3),
        ),
    ]
}
