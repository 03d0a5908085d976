//! The vendors' published rules for tools and tool calls, as a check of a request body.
//!
//! OpenAI: <https://platform.openai.com/docs/api-reference/chat/create>,
//! <https://platform.openai.com/docs/api-reference/responses/create> and
//! <https://platform.openai.com/docs/guides/structured-outputs#supported-schemas>. Anthropic:
//! <https://docs.anthropic.com/en/docs/agents-and-tools/tool-use/implement-tool-use> and
//! <https://docs.anthropic.com/en/docs/build-with-claude/structured-outputs#json-schema-limitations>. Where they
//! differ, or a limit was raised, the stricter rule applies: compatible servers follow the older one.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wire {
    OpenAi,
    Responses,
    Anthropic,
}

/// Returns the conversation of a request.
pub fn conversation(wire: Wire, body: &Value) -> &Value {
    match wire {
        Wire::OpenAi | Wire::Anthropic => &body["messages"],
        Wire::Responses => &body["input"],
    }
}

/// OpenAI's maximum number of functions in a request.
const TOOLS_MAX: usize = 128;
/// OpenAI's maximum length of a function's description, in characters.
const DESCRIPTION_MAX: usize = 1024;
// Limits of one schema: properties, nesting levels, values of all enums, and characters of all names and values.
const PROPERTIES_MAX: usize = 100;
const LEVELS_MAX: usize = 5;
const VALUES_MAX: usize = 500;
const CHARACTERS_MAX: usize = 15_000;
/// OpenAI's maximum length of the id of a call, in characters.
const ID_MAX: usize = 40;

const TYPES: &[&str] = &[
    "string", "number", "integer", "boolean", "object", "array", "null",
];
/// The string formats that a schema may use with both vendors.
const FORMATS: &[&str] = &[
    "date-time",
    "time",
    "date",
    "duration",
    "email",
    "hostname",
    "ipv4",
    "ipv6",
    "uuid",
];
/// The keywords that a strict schema may use with both vendors. References are left out, because not all compatible
/// servers support them.
const KEYWORDS: &[&str] = &[
    "type",
    "description",
    "properties",
    "required",
    "additionalProperties",
    "items",
    "enum",
    "const",
    "anyOf",
    "format",
];

/// Returns one line for each rule that a request body violates.
pub fn violations(wire: Wire, body: &Value) -> Vec<String> {
    let mut out = Vec::new();
    let tools = body["tools"].as_array().cloned().unwrap_or_default();
    if tools.len() > TOOLS_MAX {
        out.push(format!("{} tools, {TOOLS_MAX} at most", tools.len()));
    }
    let mut names = BTreeSet::new();
    for tool in &tools {
        let name = check_tool(wire, tool, &mut out);
        if !names.insert(name.clone()) {
            out.push(format!("{name}: a second tool of that name"));
        }
    }
    for (id, name) in calls(wire, body) {
        if !is_name(&name, 64) {
            out.push(format!("a call of {name:?}: no valid name"));
        }
        if id.is_empty() || id.len() > ID_MAX || !is_name(&id, ID_MAX) {
            out.push(format!("a call with the id {id:?}: no valid id"));
        }
    }
    if wire == Wire::Responses {
        check_items(body, &mut out);
    }
    out
}

/// Checks the items of a Responses request: each output follows its call, each call has one output, and reasoning is
/// followed by the text or the call that it led to.
fn check_items(body: &Value, out: &mut Vec<String>) {
    let items = body["input"].as_array().cloned().unwrap_or_default();
    let mut open = BTreeSet::new();
    for (at, item) in items.iter().enumerate() {
        let id = item["call_id"].as_str().unwrap_or_default().to_string();
        match item["type"].as_str() {
            Some("function_call") if !open.insert(id.clone()) => {
                out.push(format!("a second call with the id {id:?}"));
            }
            Some("function_call_output") if !open.remove(&id) => {
                out.push(format!("an output without the call {id:?}"));
            }
            Some("reasoning") => {
                let next = items.get(at + 1);
                let is_led_to =
                    |next: &Value| next["role"] == "assistant" || next["type"] == "function_call";
                if !next.is_some_and(is_led_to) {
                    out.push("reasoning without its following item".into());
                }
                if !item["encrypted_content"].is_string() {
                    out.push("reasoning that is not encrypted".into());
                }
            }
            _ => {}
        }
    }
    out.extend(
        open.iter()
            .map(|id| format!("a call without an output: {id:?}")),
    );
    if body["store"] != false {
        out.push("a response that the server stores".into());
    }
}

/// Returns whether `text` consists of 1 to `max` ASCII letters, digits, `_` and `-`.
fn is_name(text: &str, max: usize) -> bool {
    let is_known = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    (1..=max).contains(&text.len()) && text.chars().all(is_known)
}

fn check_tool(wire: Wire, tool: &Value, out: &mut Vec<String>) -> String {
    let (fields, schema, known) = match wire {
        Wire::OpenAi => {
            if tool["type"] != "function" {
                out.push(format!("a tool of the type {}", tool["type"]));
            }
            let fields = &tool["function"];
            let known = &["name", "description", "parameters", "strict"][..];
            (fields, &fields["parameters"], known)
        }
        Wire::Responses => {
            if tool["type"] != "function" {
                out.push(format!("a tool of the type {}", tool["type"]));
            }
            let known = &["type", "name", "description", "parameters", "strict"][..];
            (tool, &tool["parameters"], known)
        }
        Wire::Anthropic => {
            let known = &["name", "description", "input_schema", "cache_control"][..];
            (tool, &tool["input_schema"], known)
        }
    };
    let name = fields["name"].as_str().unwrap_or_default().to_string();
    let mut report = |text: String| out.push(format!("{name}: {text}"));
    for key in fields.as_object().into_iter().flat_map(Map::keys) {
        if !known.contains(&key.as_str()) {
            report(format!("an unknown field {key}"));
        }
    }
    if !is_name(&name, 64) {
        report("no valid name".into());
    }
    let description = fields["description"].as_str().unwrap_or_default();
    if description.trim().is_empty() || description.chars().count() > DESCRIPTION_MAX {
        report(format!("a description of {} bytes", description.len()));
    }
    if schema["type"] != "object" {
        report("object schema missing: the root is no object".into());
    }
    if schema.get("anyOf").is_some() {
        report("anyOf at the root".into());
    }
    // Without the field, this API takes the schema for a strict one.
    let is_strict = !name.starts_with("mcp__");
    if wire == Wire::Responses && fields["strict"] != is_strict {
        report(format!("strict is {}", fields["strict"]));
    }
    if name.starts_with("mcp__") {
        // crewdeck does not ask for strict schemas, and those of MCP servers are sent as they are.
        check_object_names(schema, &mut report);
        check_free_schema(schema, "()", &mut report);
        return name;
    }
    let mut size = Size::default();
    check_schema(schema, "()", 1, &mut size, &mut report);
    for (label, actual, max) in [
        ("properties", size.properties, PROPERTIES_MAX),
        ("values of enums", size.values, VALUES_MAX),
        (
            "characters of names and values",
            size.characters,
            CHARACTERS_MAX,
        ),
    ] {
        if actual > max {
            report(format!("{actual} {label}, {max} at most"));
        }
    }
    name
}

#[derive(Default)]
struct Size {
    properties: usize,
    values: usize,
    characters: usize,
}

fn check_schema(
    schema: &Value,
    at: &str,
    level: usize,
    size: &mut Size,
    report: &mut impl FnMut(String),
) {
    let Some(fields) = schema.as_object() else {
        return report(format!("{at}: a schema that is no object"));
    };
    for key in fields.keys().filter(|k| !KEYWORDS.contains(&k.as_str())) {
        report(format!("{at}: '{key}' is not permitted"));
    }
    check_format(schema, at, report);
    let kinds = kinds(schema);
    if kinds.is_empty() && schema.get("anyOf").is_none() && schema.get("const").is_none() {
        report(format!("{at}: no type"));
    }
    for kind in kinds.iter().filter(|kind| !TYPES.contains(kind)) {
        report(format!("{at}: unknown type {kind}"));
    }
    if let Some(values) = schema.get("enum") {
        let values = values.as_array().cloned().unwrap_or_default();
        if values.is_empty() || values.iter().any(|v| v.is_object() || v.is_array()) {
            report(format!("{at}: an enum without plain values"));
        }
        size.values += values.len();
        let texts = values.iter().filter_map(Value::as_str);
        size.characters += texts.map(str::len).sum::<usize>();
    }
    if kinds.contains(&"object") || schema.get("properties").is_some() {
        if level > LEVELS_MAX {
            report(format!("{at}: deeper than {LEVELS_MAX} levels"));
        }
        check_object(schema, at, level, size, report);
    }
    if kinds.contains(&"array") {
        match schema.get("items") {
            Some(items) => check_schema(items, &format!("{at}[]"), level + 1, size, report),
            None => report(format!("{at}: array schema missing items")),
        }
    }
    for choice in schema["anyOf"].as_array().into_iter().flatten() {
        check_schema(choice, &format!("{at}|"), level, size, report);
    }
}

/// Checks the rules for the root of a schema that is not strict.
fn check_object_names(schema: &Value, report: &mut impl FnMut(String)) {
    let Some(properties) = schema["properties"].as_object() else {
        return report("object schema missing properties".into());
    };
    for name in properties.keys().filter(|name| !is_property_name(name)) {
        report(format!("a property with the name {name:?}"));
    }
    for key in ["oneOf", "allOf", "enum", "not"] {
        if schema.get(key).is_some() {
            report(format!("{key} at the root"));
        }
    }
}

/// Checks a schema that is not strict.
fn check_free_schema(schema: &Value, at: &str, report: &mut impl FnMut(String)) {
    if !schema.is_object() && !schema.is_boolean() {
        return report(format!("{at}: a schema that is no object"));
    }
    if schema.get("$ref").is_some() {
        report(format!("{at}: a reference"));
    }
    check_format(schema, at, report);
    let kinds = kinds(schema);
    for kind in kinds.iter().filter(|kind| !TYPES.contains(kind)) {
        report(format!("{at}: unknown type {kind}"));
    }
    if kinds.contains(&"array") && schema.get("items").is_none() {
        report(format!("{at}: array schema missing items"));
    }
    for key in ["items", "additionalProperties", "not"] {
        if let Some(part) = schema.get(key) {
            check_free_schema(part, &format!("{at}.{key}"), report);
        }
    }
    for key in ["anyOf", "oneOf", "allOf"] {
        for part in schema[key].as_array().into_iter().flatten() {
            check_free_schema(part, &format!("{at}|"), report);
        }
    }
    for (name, part) in schema["properties"].as_object().into_iter().flatten() {
        check_free_schema(part, &format!("{at}.{name}"), report);
    }
}

fn check_format(schema: &Value, at: &str, report: &mut impl FnMut(String)) {
    if let Some(format) = schema["format"].as_str()
        && !FORMATS.contains(&format)
    {
        report(format!("{at}: unknown format {format}"));
    }
}

fn is_property_name(name: &str) -> bool {
    let is_known = |c: char| c.is_ascii_alphanumeric() || "_.-".contains(c);
    (1..=64).contains(&name.len()) && name.chars().all(is_known)
}

fn check_object(
    schema: &Value,
    at: &str,
    level: usize,
    size: &mut Size,
    report: &mut impl FnMut(String),
) {
    let Some(properties) = schema["properties"].as_object() else {
        return report(format!("{at}: object schema missing properties"));
    };
    if schema["additionalProperties"] != false {
        report(format!("{at}: additionalProperties must be false"));
    }
    let required: Option<BTreeSet<&str>> = schema["required"]
        .as_array()
        .map(|names| names.iter().filter_map(Value::as_str).collect());
    let names: BTreeSet<&str> = properties.keys().map(String::as_str).collect();
    if required != Some(names) {
        report(format!("{at}: required must name every property"));
    }
    for (name, property) in properties {
        if !is_property_name(name) {
            report(format!("{at}: a property with the name {name:?}"));
        }
        size.properties += 1;
        size.characters += name.len();
        check_schema(property, &format!("{at}.{name}"), level + 1, size, report);
    }
}

fn kinds(schema: &Value) -> Vec<&str> {
    match &schema["type"] {
        Value::String(kind) => vec![kind],
        Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    }
}

/// Returns the id and the name of each tool call in the conversation of a request.
fn calls(wire: Wire, body: &Value) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_string();
    let messages = conversation(wire, body).as_array().into_iter().flatten();
    match wire {
        Wire::Responses => messages
            .filter(|item| item["type"] == "function_call")
            .map(|item| (text(&item["call_id"]), text(&item["name"])))
            .collect(),
        Wire::OpenAi => messages
            .filter_map(|m| m["tool_calls"].as_array())
            .flatten()
            .map(|c| (text(&c["id"]), text(&c["function"]["name"])))
            .collect(),
        Wire::Anthropic => messages
            .filter_map(|m| m["content"].as_array())
            .flatten()
            .filter(|b| b["type"] == "tool_use")
            .map(|c| (text(&c["id"]), text(&c["name"])))
            .collect(),
    }
}

/// Tests that [`violations`] finds each violation of a rule.
mod tests {
    use serde_json::json;

    use super::*;

    fn body(schema: &Value) -> Value {
        json!({"tools": [{"name": "a", "description": "does it", "input_schema": schema}]})
    }

    #[allow(clippy::needless_pass_by_value)] // so that it reads as JSON does
    fn strict_object(properties: Value) -> Value {
        let names: Vec<&String> = properties.as_object().unwrap().keys().collect();
        json!({"type": "object", "required": names, "additionalProperties": false, "properties": properties})
    }

    #[test]
    fn check_accepts_a_valid_schema() {
        let schema = strict_object(json!({
            "path": {"type": "string", "description": "The file."},
            "limit": {"type": ["integer", "null"]},
            "kind": {"anyOf": [{"type": "string", "enum": ["a"]}, {"type": "null"}]},
            "items": {"type": "array", "items": strict_object(json!({"text": {"type": "string"}}))},
        }));
        assert_eq!(violations(Wire::Anthropic, &body(&schema)), [""; 0]);
    }

    #[test]
    fn check_reports_every_violation_in_schemas() {
        let one = |property: Value| strict_object(json!({ "x": property }));
        let many = |n: usize| -> Value {
            (0..n)
                .map(|n| (format!("p{n}"), json!({"type": "null"})))
                .collect()
        };
        let deep = (0..5).fold(json!({"type": "string"}), |inner, _| one(inner));
        for (schema, rule) in [
            (
                json!({"type": "object"}),
                "object schema missing properties",
            ),
            (json!({}), "the root is no object"),
            (json!({"type": "string"}), "the root is no object"),
            (
                json!({"type": "object", "properties": {}, "required": []}),
                "additionalProperties must be false",
            ),
            (
                json!({"type": "object", "properties": {"x": {"type": "null"}}, "required": [], "additionalProperties": false}),
                "required must name every property",
            ),
            (
                json!({"type": "object", "properties": {}, "additionalProperties": false}),
                "required must name every property",
            ),
            (
                one(json!({"type": "integer", "format": "uint64"})),
                "unknown format uint64",
            ),
            (
                one(json!({"type": "integer", "minimum": 0})),
                "'minimum' is not permitted",
            ),
            (
                one(json!({"type": "string", "maxLength": 9})),
                "'maxLength' is not permitted",
            ),
            (
                one(json!({"type": "null", "default": null})),
                "'default' is not permitted",
            ),
            (
                one(json!({"oneOf": [{"type": "null"}]})),
                "'oneOf' is not permitted",
            ),
            (one(json!({"$ref": "#/x"})), "'$ref' is not permitted"),
            (one(json!({"type": "array"})), "missing items"),
            (one(json!({"type": "uint"})), "unknown type uint"),
            (one(json!({"description": "x"})), "no type"),
            (one(json!(true)), "no object"),
            (
                one(json!({"type": "string", "enum": []})),
                "enum without plain values",
            ),
            (
                one(json!({"type": "object"})),
                "().x: object schema missing properties",
            ),
            (
                one(json!({"type": "array", "items": {"type": "object"}})),
                "().x[]: object schema missing properties",
            ),
            (
                one(json!({"anyOf": [{"type": "object"}]})),
                "().x|: object schema",
            ),
            (
                strict_object(json!({"a b": {"type": "null"}})),
                "a property with the name",
            ),
            (strict_object(many(101)), "101 properties"),
            (one(deep), "deeper than 5 levels"),
            (
                one(json!({"type": "string", "enum": vec!["x"; 501]})),
                "501 values of enums",
            ),
            (
                one(json!({"type": "string", "enum": ["x".repeat(15_001)]})),
                "15002 characters",
            ),
        ] {
            let found = violations(Wire::Anthropic, &body(&schema));
            assert!(found.iter().any(|s| s.contains(rule)), "{rule}: {found:?}");
        }
    }

    #[test]
    fn check_reports_every_violation_in_schemas_of_servers() {
        let tool = |schema: Value| json!({"tools": [{"name": "mcp__s__a", "description": "does it", "input_schema": schema}]});
        let one = |part: Value| json!({"type": "object", "properties": {"x": part}});
        let free = one(json!({"type": "object", "additionalProperties": {"type": "string"}}));
        assert_eq!(violations(Wire::Anthropic, &tool(free)), [""; 0]);
        for (schema, rule) in [
            (
                json!({"type": "object"}),
                "object schema missing properties",
            ),
            (json!({"properties": {}, "allOf": []}), "allOf at the root"),
            (
                json!({"properties": {"a b": {}}}),
                "a property with the name",
            ),
            (
                one(json!({"items": {"$ref": "#/x"}})),
                "().x.items: a reference",
            ),
            (
                one(json!({"anyOf": [{"type": "any"}]})),
                "().x|: unknown type any",
            ),
            (
                one(json!({"type": "array"})),
                "().x: array schema missing items",
            ),
            (
                one(json!({"type": "integer", "format": "uint64"})),
                "().x: unknown format uint64",
            ),
            (one(json!(3)), "().x: a schema that is no object"),
        ] {
            let found = violations(Wire::Anthropic, &tool(schema));
            assert!(found.iter().any(|s| s.contains(rule)), "{rule}: {found:?}");
        }
    }

    #[test]
    fn check_reports_every_violation_in_items() {
        let call = |id: &str| json!({"type": "function_call", "call_id": id, "name": "bash", "arguments": "{}"});
        let output =
            |id: &str| json!({"type": "function_call_output", "call_id": id, "output": ""});
        let reasoning = json!({"type": "reasoning", "encrypted_content": "x", "summary": []});
        let request = |items: &[&Value]| json!({"input": items, "store": false});
        let good = [&reasoning, &call("a"), &output("a")].map(Clone::clone);
        let good: Vec<&Value> = good.iter().collect();
        assert_eq!(violations(Wire::Responses, &request(&good)), [""; 0]);
        let free = json!({"type": "object", "properties": {}});
        let tool = |name: &str, strict: Value| {
            json!({"store": false, "tools": [
            {"type": "function", "name": name, "description": "x", "parameters": free, "strict": strict}]})
        };
        for (body, rule) in [
            (request(&[&call("a")]), "a call without an output"),
            (request(&[&output("a")]), "an output without the call"),
            (
                request(&[&call("a"), &call("a"), &output("a")]),
                "a second call",
            ),
            (
                request(&[&reasoning, &output("a")]),
                "without its following item",
            ),
            (
                request(&[&json!({"type": "reasoning"}), &call("a")]),
                "not encrypted",
            ),
            (json!({"input": []}), "the server stores"),
            (tool("mcp__s__a", json!(true)), "strict is true"),
            (tool("mcp__s__a", Value::Null), "strict is null"),
            (tool("bash", json!(false)), "strict is false"),
        ] {
            let found = violations(Wire::Responses, &body);
            assert!(found.iter().any(|s| s.contains(rule)), "{rule}: {found:?}");
        }
    }

    #[test]
    fn check_reports_every_violation_in_tools_and_calls() {
        let nothing = strict_object(json!({}));
        let tool = |name: &str, text: &str| json!({"type": "function", "function": {"name": name, "description": text, "parameters": nothing}});
        let call = |id: &str, name: &str| json!({"messages": [{"role": "assistant", "tool_calls": [{"id": id, "function": {"name": name}}]}]});
        let good = tool("bash", "does it");
        assert_eq!(
            violations(Wire::OpenAi, &json!({ "tools": [good] })),
            [""; 0]
        );
        assert_eq!(violations(Wire::OpenAi, &call("c1", "bash")), [""; 0]);
        let long = "x".repeat(65);
        for (body, rule) in [
            (json!({"tools": [tool("a b", "x")]}), "no valid name"),
            (json!({"tools": [tool(&long, "x")]}), "no valid name"),
            (json!({"tools": [tool("", "x")]}), "no valid name"),
            (
                json!({"tools": [tool("a", "")]}),
                "a description of 0 bytes",
            ),
            (
                json!({"tools": [tool("a", &"x".repeat(1025))]}),
                "a description of 1025 bytes",
            ),
            (json!({"tools": [good, good]}), "a second tool of that name"),
            (json!({"tools": vec![good.clone(); 129]}), "129 tools"),
            (
                json!({"tools": [{"function": good["function"]}]}),
                "of the type null",
            ),
            (
                json!({"tools": [{"type": "function", "function": {"name": "a", "text": ""}}]}),
                "an unknown field text",
            ),
            (call("c1", "a b"), "a call of \"a b\": no valid name"),
            (call("c1", &long), "no valid name"),
            (call("", "a"), "no valid id"),
            (call(&long, "a"), "no valid id"),
            (call("a b", "a"), "no valid id"),
        ] {
            let found = violations(Wire::OpenAi, &body);
            assert!(found.iter().any(|s| s.contains(rule)), "{rule}: {found:?}");
        }
    }
}
