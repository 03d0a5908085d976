//! Tool input from a hostile or broken model: every tool returns a bounded result and writes only inside the project.

use crewdeck::tools::table::TABLE;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use serde_json::{Map, Value, json};

use crate::common::tool_fixture::ToolFixture;

/// Maximum size of a tool's result, in bytes: the tools' limit of 64 KiB and some formatting.
const RESULT_MAX: usize = 80 * 1024;

/// Unusual texts for fields that expect a path, a pattern, a name or a number.
const TEXTS: &[&str] = &[
    "",
    " ",
    "\u{0}",
    "/",
    "..",
    "../secret",
    "a/../../secret",
    "/etc/passwd",
    "\u{1b}[2J\u{1b}]0;x\u{7}",
    "\u{202e}\u{e0041}\u{200b}",
    "name\nwith\nlines",
    "[",
    "{a,{b,{c}}}",
    "**/**/**/**/**/**/*a*b*c*d*e*",
    "(a*)*(b*)*(c*)*$",
    "(?i)(?s)\\p{Cc}{1000}{1000}",
    "9223372036854775808",
    "-1",
    "1e999",
    "#1",
    "lead",
    "ALICE",
];

/// Generates a value for a field with this `schema`. Some of the values have another type than the schema demands.
fn field_value(schema: &Value) -> BoxedStrategy<Value> {
    let text = prop::sample::select(TEXTS).prop_map(Value::from);
    let odd = prop_oneof![
        text.clone(),
        any::<i64>().prop_map(Value::from),
        Just(json!(u64::MAX)),
        Just(json!(-1.5e300)),
        Just(Value::Null),
        Just(json!(true)),
        Just(json!([])),
        Just(json!({"a": [null]})),
        prop::collection::vec(text.clone(), 0..4).prop_map(Value::Array),
        "\\PC{0,20}".prop_map(Value::from),
    ];
    let known: Vec<Value> = schema["enum"].as_array().cloned().unwrap_or_default();
    match (schema["type"].as_str(), known.is_empty()) {
        (_, false) => prop_oneof![3 => prop::sample::select(known), 1 => odd].boxed(),
        (Some("string"), _) => prop_oneof![3 => text, 1 => odd].boxed(),
        (Some("integer"), _) => prop_oneof![1 => (0u64..5).prop_map(Value::from), 1 => odd].boxed(),
        (_, _) => odd.boxed(),
    }
}

fn tool_input(schema: &Value) -> impl Strategy<Value = Value> + use<> {
    let fields: Vec<_> = schema["properties"]
        .as_object()
        .into_iter()
        .flatten()
        .map(|(name, schema)| {
            let name = name.clone();
            prop::option::weighted(0.9, field_value(schema))
                .prop_map(move |v| Some((name.clone(), v?)))
        })
        .collect();
    fields.prop_map(|found| Value::Object(found.into_iter().flatten().collect::<Map<_, _>>()))
}

/// Returns whether the tool runs no commands. Random text is no safe command, so the other tools are not tested.
fn runs_no_programs(tool: &str) -> bool {
    !["bash", "background_run"].contains(&tool)
}

#[test]
fn any_tool_input_gets_a_bounded_result() {
    let fixture = ToolFixture::new();
    let mut runner = TestRunner::deterministic();
    for tool in TABLE.iter().filter(|t| runs_no_programs(t.name)) {
        let strategy = tool_input(&(tool.schema)());
        for _ in 0..40 {
            let input = strategy.new_tree(&mut runner).unwrap().current();
            let out = fixture.call_as("alice", tool.name, input.clone());
            let size = out.text.len() + out.diff.len();
            assert!(size <= RESULT_MAX, "{} {input}: {size}", tool.name);
        }
    }
    let secret = std::fs::read_to_string(fixture.dir.path().join("secret"));
    assert_eq!(secret.unwrap(), "outside");
    let outside = std::fs::read_dir(fixture.dir.path()).unwrap().count();
    assert_eq!(outside, 2, "the project and the secret");
}

#[test]
fn invalid_tool_input_gets_a_short_error() {
    let fixture = ToolFixture::new();
    for tool in TABLE {
        for input in [
            json!([]),
            json!("x"),
            json!(1e300),
            json!({"\u{1b}[2J": {}}),
        ] {
            let out = fixture.call_as("alice", tool.name, input.clone());
            assert!(out.text.len() < 2000, "{} {input}: {}", tool.name, out.text);
        }
    }
}

#[test]
fn deep_patterns_overflow_no_stack_and_errors_are_short() {
    const DEPTH: usize = 100_000;
    let fixture = ToolFixture::new();
    fixture.write("a.txt", "text\n");
    for (open, close) in [
        ("{", "}"),
        ("{a,", "}"),
        ("[", "]"),
        ("(", ")"),
        ("(?:a|", ")"),
        ("*", ""),
        ("**/", ""),
        ("?", ""),
    ] {
        let pattern = open.repeat(DEPTH) + &close.repeat(DEPTH);
        for (tool, input) in [
            ("glob", json!({"pattern": pattern})),
            ("grep", json!({"pattern": pattern})),
            ("grep", json!({"pattern": "text", "glob": pattern})),
            ("read_file", json!({"path": pattern})),
            ("write_file", json!({"path": pattern, "content": ""})),
            (
                "edit_file",
                json!({"path": "a.txt", "old_text": pattern, "new_text": ""}),
            ),
            ("load_skill", json!({"name": pattern})),
            ("task_get", json!({"id": pattern})),
        ] {
            let out = fixture.call_as("alice", tool, input);
            // Other tools may repeat the path in full; the agent truncates every result.
            if ["glob", "grep"].contains(&tool) {
                let size = out.text.len();
                assert!(size <= 6000, "{tool} {open:?}: an answer of {size} bytes");
            }
        }
    }
}
