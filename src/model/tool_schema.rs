//! Converts the JSON schema of a tool's input to a strict form that every model server accepts. Does no I/O.
//!
//! Sources: OpenAI's rules for strict schemas
//! (<https://platform.openai.com/docs/guides/structured-outputs#supported-schemas>) and Anthropic's rules for tools
//! (<https://docs.anthropic.com/en/docs/agents-and-tools/tool-use>). Keywords that only one of the two supports are
//! removed.

use serde_json::{Map, Value, json};

/// The schema keywords that all servers support. Anthropic's strict tools support no bounds, and OpenAI rejects formats
/// such as `uint64`, so bounds, formats and defaults are left out; the tools' descriptions state them in text.
const SUPPORTED_KEYWORDS: &[&str] = &[
    "type",
    "description",
    "properties",
    "required",
    "additionalProperties",
    "items",
    "enum",
    "anyOf",
];

/// Returns `schema` in strict form: each object lists its `properties`, requires all of them and allows no others.
/// Optional properties become nullable. Keywords that are not in [`SUPPORTED_KEYWORDS`] are removed or replaced by
/// supported ones. The result describes an object.
pub fn strict(schema: &Value) -> Value {
    let mut root = strict_node(schema);
    if let Value::Object(fields) = &mut root
        && !fields.contains_key("properties")
    {
        fields.insert("type".into(), "object".into());
        require_all(fields);
    }
    root
}

fn strict_node(schema: &Value) -> Value {
    let Value::Object(fields) = schema else {
        // The schema `true`, which allows any value, becomes a string.
        return json!({"type": "string"});
    };
    let mut fields = fields.clone();
    merge_all_of(&mut fields);
    if let Some(value) = fields.remove("const") {
        fields.insert("enum".into(), Value::Array(vec![value]));
    }
    if let Some(Value::Array(choices)) = fields.remove("oneOf") {
        fields.insert("anyOf".into(), Value::Array(choices));
    }
    if let Some(Value::Array(choices)) = fields.get("anyOf") {
        let choices: Vec<Value> = choices.iter().map(strict_node).collect();
        match string_values(&choices) {
            Some(texts) => {
                fields.remove("anyOf");
                fields.insert("type".into(), "string".into());
                fields.insert("enum".into(), Value::Array(texts));
            }
            None => {
                fields.insert("anyOf".into(), Value::Array(choices));
            }
        }
    }
    if let Some(items) = fields.get("items") {
        let items = strict_node(items);
        fields.insert("items".into(), items);
    }
    if is_object(&fields) {
        require_all(&mut fields);
    }
    fields.retain(|key, _| SUPPORTED_KEYWORDS.contains(&key.as_str()));
    Value::Object(fields)
}

/// Merges the parts of `allOf` into the schema that contains it. A keyword that the schema already has stays.
/// Generators use `allOf` with a single part to add a description to that part.
fn merge_all_of(fields: &mut Map<String, Value>) {
    if let Some(Value::Array(parts)) = fields.remove("allOf") {
        for part in parts {
            if let Value::Object(part) = part {
                for (key, value) in part {
                    fields.entry(key).or_insert(value);
                }
            }
        }
    }
}

/// If each of the `choices` of an `anyOf` is an enum of strings, returns all their values in one list, else `None`.
fn string_values(choices: &[Value]) -> Option<Vec<Value>> {
    let mut texts = Vec::new();
    for choice in choices {
        let values = choice.get("enum")?.as_array()?;
        if !values.iter().all(Value::is_string) {
            return None;
        }
        texts.extend(values.iter().cloned());
    }
    Some(texts)
}

fn is_object(fields: &Map<String, Value>) -> bool {
    match fields.get("type") {
        Some(Value::String(kind)) => kind == "object",
        Some(Value::Array(kinds)) => kinds.iter().any(|kind| kind == "object"),
        _ => fields.contains_key("properties"),
    }
}

/// Makes an object schema strict: requires all properties, makes the optional ones nullable, and forbids additional
/// ones.
fn require_all(fields: &mut Map<String, Value>) {
    let needed: Vec<String> = fields
        .get("required")
        .and_then(Value::as_array)
        .map(|names| names.iter().filter_map(Value::as_str))
        .map(|names| names.map(str::to_string).collect())
        .unwrap_or_default();
    let properties: Map<String, Value> = fields
        .get("properties")
        .and_then(Value::as_object)
        .into_iter()
        .flatten()
        .map(|(name, schema)| {
            let schema = strict_node(schema);
            let schema = if needed.contains(name) {
                schema
            } else {
                nullable(schema)
            };
            (name.clone(), schema)
        })
        .collect();
    let names = properties.keys().cloned().map(Value::String).collect();
    fields.insert("properties".into(), Value::Object(properties));
    fields.insert("required".into(), Value::Array(names));
    fields.insert("additionalProperties".into(), false.into());
}

fn nullable(schema: Value) -> Value {
    let Value::Object(mut fields) = schema else {
        return schema;
    };
    let null = json!({"type": "null"});
    if let Some(Value::Array(choices)) = fields.get_mut("anyOf") {
        if !choices.contains(&null) {
            choices.push(null);
        }
        return Value::Object(fields);
    }
    if let Some(Value::Array(values)) = fields.get_mut("enum") {
        values.retain(|value| !value.is_null());
        if let Some(Value::Array(kinds)) = fields.get_mut("type") {
            kinds.retain(|kind| kind != "null");
            if let [kind] = &kinds[..] {
                let kind = kind.clone();
                fields.insert("type".into(), kind);
            }
        }
        let description = fields.remove("description");
        let mut outer = Map::new();
        outer.extend(description.map(|text| ("description".to_string(), text)));
        let choices = vec![Value::Object(fields), null];
        outer.insert("anyOf".into(), Value::Array(choices));
        return Value::Object(outer);
    }
    match fields.get_mut("type") {
        Some(Value::Array(kinds)) if !kinds.iter().any(|kind| kind == "null") => {
            kinds.push("null".into());
        }
        Some(kind @ Value::String(_)) => *kind = json!([kind.take(), "null"]),
        _ => {}
    }
    Value::Object(fields)
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn tool_without_arguments_has_empty_properties() {
        let closed = json!({"type": "object", "properties": {}, "required": [], "additionalProperties": false});
        for schema in [json!({"type": "object"}), json!({}), closed.clone()] {
            let strict = strict(&schema);
            assert_eq!(strict["properties"], json!({}), "{schema}");
            for (key, value) in closed.as_object().unwrap() {
                assert_eq!(&strict[key], value, "{schema}");
            }
        }
    }

    #[test]
    fn optional_properties_are_required_and_nullable() {
        let schema = json!({
            "type": "object",
            "required": ["path"],
            "properties": {
                "path": {"type": "string", "minLength": 1},
                "limit": {"type": ["integer", "null"], "format": "uint64", "minimum": 0, "default": null},
                "all": {"type": "boolean"},
                "kind": {"description": "Which.", "oneOf": [
                    {"type": "string", "const": "a", "description": "One."},
                    {"type": "string", "enum": ["b", "c"]},
                ]},
                "plan": {"anyOf": [{"type": "string", "enum": ["free"]}, {"type": "null"}]},
                "show": {"description": "Which.", "type": ["string", "null"], "enum": ["all", null]},
                "edits": {"type": "array", "maxItems": 9, "items": {"type": "object", "properties": {
                    "old": {"type": "string"}}}},
            },
        });
        assert_eq!(
            strict(&schema),
            json!({
                "type": "object",
                "required": ["path", "limit", "all", "kind", "plan", "show", "edits"],
                "properties": {
                    "path": {"type": "string"},
                    "limit": {"type": ["integer", "null"]},
                    "all": {"type": ["boolean", "null"]},
                    "kind": {"description": "Which.", "anyOf": [
                        {"type": "string", "enum": ["a", "b", "c"]}, {"type": "null"}]},
                    "plan": {"anyOf": [{"type": "string", "enum": ["free"]}, {"type": "null"}]},
                    "show": {"description": "Which.", "anyOf": [
                        {"type": "string", "enum": ["all"]}, {"type": "null"}]},
                    "edits": {"type": ["array", "null"], "items": {
                        "type": "object",
                        "properties": {"old": {"type": ["string", "null"]}},
                        "required": ["old"],
                        "additionalProperties": false,
                    }},
                },
                "additionalProperties": false,
            })
        );
    }

    #[test]
    fn strict_form_of_a_strict_schema_is_unchanged() {
        for tool in ["bash", "todo", "spawn_teammate"] {
            let once = strict(&json!({"type": "object", "properties": {tool: {"type": "string"}}}));
            assert_eq!(strict(&once), once);
        }
    }
}
