//! Converts the input schema of a server's tool to a form that all model vendors accept. Does no I/O.
//!
//! If a vendor does not accept the schema of one tool, it rejects the whole request. Some vendors accept no `$ref`. At
//! the root of a schema, they accept no alternatives (`anyOf` and the like), and only property names that consist of
//! ASCII letters, digits, `_`, `.` and `-`.

mod keywords;

use serde_json::{Map, Value};

use self::keywords::KeywordKind;
use crate::domain::text::{clip, one_line};

/// Maximum size of a schema, in bytes of JSON, before and after its conversion. A tool with a larger schema is left
/// out.
pub const SCHEMA_MAX: usize = 32 * 1024;
/// Maximum nesting depth of a schema, counted after its references are replaced. A tool with a deeper schema is left
/// out.
const DEPTH_MAX: usize = 32;
/// Maximum length, in bytes, of a property name at the root of a schema. A tool with a longer one is left out.
const PROPERTY_MAX: usize = 64;
/// Maximum size, in bytes, of what the conversion creates while it replaces references. It is larger than
/// [`SCHEMA_MAX`], because the result can be smaller: a keyword next to a `$ref` overrides the same keyword of the
/// part that replaces the `$ref`.
const EXPANDED_MAX: usize = 4 * SCHEMA_MAX;
/// Minimum number of bytes that a regular expression adds to the size of a schema, because checking it takes time.
const PATTERN_COST: usize = 256;
/// Keywords that vendors reject at the root and that are removed there. The model may then send input that the schema
/// forbids, which the server itself rejects.
const NOT_AT_ROOT: &[&str] = &[
    "anyOf",
    "oneOf",
    "allOf",
    "not",
    "if",
    "then",
    "else",
    "enum",
    "const",
    "dependentSchemas",
];

/// Returns `schema` in a form that all model vendors accept.
///
/// # Errors
/// Returns why `schema` has no such form, such as `its schema is larger than 32 KiB`. The text continues a message that
/// names the tool.
pub fn for_vendors(schema: &Map<String, Value>) -> Result<Value, String> {
    let root = Value::Object(schema.clone());
    let too_large = || format!("its schema is larger than {} KiB", SCHEMA_MAX / 1024);
    if size(&root) > SCHEMA_MAX {
        return Err(too_large());
    }
    let mut expander = Expander {
        root: &root,
        path: Vec::new(),
        room: EXPANDED_MAX,
    };
    let mut fields = expander.object(schema, 0)?;
    match fields.get("type") {
        Some(Value::String(kind)) if kind == "object" => {}
        None => {
            fields.insert("type".into(), "object".into());
        }
        Some(_) => return Err("its input schema is not of type object".into()),
    }
    fields.retain(|key, _| !NOT_AT_ROOT.contains(&key.as_str()));
    let properties = fields
        .entry("properties")
        .or_insert_with(|| Value::Object(Map::new()));
    let mut names = properties.as_object().into_iter().flat_map(Map::keys);
    if let Some(name) = names.find(|name| !is_property_name(name)) {
        let name = clip(&one_line(name), 80);
        return Err(format!(
            "the property name '{name}' is not allowed: use 1 to {PROPERTY_MAX} ASCII letters, digits, _ . or -"
        ));
    }
    let schema = Value::Object(fields);
    if size(&schema) > SCHEMA_MAX {
        return Err(too_large());
    }
    Ok(schema)
}

/// Returns `input` without the optional fields that are `null` although `schema` does not allow `null` for them. Keeps
/// all fields of nested objects.
///
/// This is needed because models often send `null` for a field that they leave out: in crewdeck's own tools, every
/// field is required.
pub fn without_forbidden_nulls(
    mut input: Map<String, Value>,
    schema: &Value,
) -> Map<String, Value> {
    let required = schema["required"].as_array();
    input.retain(|name, value| {
        !value.is_null()
            || required.is_some_and(|all| all.iter().any(|n| n == name.as_str()))
            || allows_null(&schema["properties"][name.as_str()])
    });
    input
}

/// Returns whether `schema` may allow `null`. False only if its `type` or `enum` excludes `null`.
fn allows_null(schema: &Value) -> bool {
    let by_type = match &schema["type"] {
        Value::String(kind) => kind == "null",
        Value::Array(kinds) => kinds.iter().any(|kind| kind == "null"),
        _ => true,
    };
    let by_values = schema["enum"].as_array();
    by_type && by_values.is_none_or(|values| values.contains(&Value::Null))
}

fn size(value: &Value) -> usize {
    serde_json::to_vec(value).map_or(usize::MAX, |bytes| bytes.len())
}

fn is_property_name(name: &str) -> bool {
    let is_allowed = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.' | b'-');
    (1..=PROPERTY_MAX).contains(&name.len()) && name.bytes().all(is_allowed)
}

/// Replaces each `$ref` by the part of the schema that it refers to, and removes keywords that vendors reject.
struct Expander<'a> {
    root: &'a Value,
    /// The references that are being replaced, outermost first.
    path: Vec<String>,
    /// Number of bytes that the replacement of references may still create. The limit stops schemas that references
    /// make exponentially larger.
    room: usize,
}

impl Expander<'_> {
    fn take_room(&mut self, bytes: usize, depth: usize) -> Result<(), String> {
        self.room = self.room.saturating_sub(bytes);
        if depth > DEPTH_MAX || self.room == 0 {
            return Err("its schema is nested too deeply or repeats references too often".into());
        }
        Ok(())
    }

    /// Expands a schema. The schema `true`, which allows any value, becomes an empty object, because some vendors do
    /// not accept `true` everywhere. Fails if the schema is nested too deeply or too large, or contains an invalid
    /// reference.
    fn schema(&mut self, schema: &Value, depth: usize) -> Result<Value, String> {
        self.take_room(2, depth)?;
        Ok(match schema {
            Value::Object(fields) => Value::Object(self.object(fields, depth)?),
            Value::Bool(true) => Value::Object(Map::new()),
            other => other.clone(),
        })
    }

    fn object(
        &mut self,
        fields: &Map<String, Value>,
        depth: usize,
    ) -> Result<Map<String, Value>, String> {
        let mut out = Map::new();
        for (key, value) in fields {
            let Some(kind) = keywords::kind_of(key, value) else {
                continue;
            };
            self.take_room(key.len() + 4, depth)?;
            let value = match (kind, value) {
                // In `additionalProperties`, vendors accept `true` and `false`.
                (KeywordKind::Schema, Value::Bool(_)) if key == "additionalProperties" => {
                    value.clone()
                }
                (KeywordKind::Schema, _) => self.schema(value, depth + 1)?,
                (KeywordKind::Schemas, Value::Array(all)) => {
                    let all = all.iter().map(|part| self.schema(part, depth + 1));
                    Value::Array(all.collect::<Result<_, _>>()?)
                }
                (KeywordKind::NamedSchemas, Value::Object(all)) => {
                    let mut named = Map::new();
                    for (name, part) in all {
                        self.take_room(name.len() + 4, depth)?;
                        named.insert(name.clone(), self.schema(part, depth + 1)?);
                    }
                    Value::Object(named)
                }
                _ => {
                    // A regular expression takes longer to check than its length suggests, so it counts as more bytes.
                    let least = if key == "pattern" { PATTERN_COST } else { 0 };
                    self.take_room(size(value).max(least), depth)?;
                    value.clone()
                }
            };
            out.insert(key.clone(), value);
        }
        if let Some(Value::String(reference)) = fields.get("$ref") {
            self.add_target(reference, &mut out, depth)?;
        }
        // Vendors reject a list without a schema for the items.
        if may_be_list(&out) && !out.contains_key("items") {
            out.insert("items".into(), Value::Object(Map::new()));
        }
        Ok(out)
    }

    /// Adds the keywords of the schema to which `reference` points. `reference` is the value of a `$ref`, and `out` is
    /// the schema that contains this `$ref`. A keyword that `out` already has, such as a description, is not replaced.
    /// If the `$ref` is recursive, adds nothing, so that `out` allows any value.
    ///
    /// # Errors
    /// Fails if `reference` points to another document, to a missing part or to a value that is no schema, or if the
    /// result is too large.
    fn add_target(
        &mut self,
        reference: &String,
        out: &mut Map<String, Value>,
        depth: usize,
    ) -> Result<(), String> {
        if self.path.contains(reference) {
            return Ok(());
        }
        let target = reference
            .strip_prefix('#')
            .and_then(|pointer| self.root.pointer(pointer));
        let Some(target) = target else {
            return Err(
                "a $ref in its schema points to another document or to a missing part".into(),
            );
        };
        self.path.push(reference.clone());
        let target = self.schema(target, depth + 1);
        self.path.pop();
        let Value::Object(target) = target? else {
            return Err("a $ref in its schema points to a value that is not a schema".into());
        };
        for (key, value) in target {
            out.entry(key).or_insert(value);
        }
        Ok(())
    }
}

fn may_be_list(schema: &Map<String, Value>) -> bool {
    match schema.get("type") {
        Some(Value::String(kind)) => kind == "array",
        Some(Value::Array(kinds)) => kinds.iter().any(|kind| kind == "array"),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;
    use serde_json::json;

    fn convert(schema: &Value) -> Result<Value, String> {
        for_vendors(schema.as_object().unwrap())
    }

    #[test]
    fn references_are_replaced() {
        let schema = json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "type": "object",
            "properties": {
                "at": {"$ref": "#/$defs/Point", "description": "where"},
                "definitions": {"type": "string"},
                "tree": {"$ref": "#/$defs/Tree"},
            },
            "required": ["at"],
            "$defs": {
                "Point": {"type": "object", "description": "a point", "properties": {"x": {"$ref": "#/$defs/Number"}}},
                "Number": {"type": "number"},
                "Tree": {"type": "object", "properties": {"child": {"$ref": "#/$defs/Tree"}}},
            },
        });
        assert_eq!(
            convert(&schema).unwrap(),
            json!({
                "type": "object",
                "properties": {
                    "at": {"type": "object", "description": "where", "properties": {"x": {"type": "number"}}},
                    "definitions": {"type": "string"},
                    "tree": {"type": "object", "properties": {"child": {}}},
                },
                "required": ["at"],
            })
        );
    }

    #[test]
    fn schemas_that_vendors_reject_are_errors() {
        let deep = (0..100).fold(json!({}), |inner, _| json!({"items": inner}));
        let doubling: Map<String, Value> = (0..30)
            .map(|n| {
                let next = json!({"$ref": format!("#/$defs/d{}", n + 1)});
                (
                    format!("d{n}"),
                    json!({"properties": {"a": next, "b": next}}),
                )
            })
            .chain([("d30".to_string(), json!({}))])
            .collect();
        for (schema, why) in [
            (json!({"type": "string"}), "not of type object"),
            (json!({"type": ["object", "null"]}), "not of type object"),
            (json!({"properties": {"a b": {}}}), "property name"),
            (json!({"properties": {"": {}}}), "property name"),
            (json!({"properties": {"x".repeat(65): {}}}), "property name"),
            (
                json!({"properties": {"a": {"$ref": "http://x/y.json"}}}),
                "another document",
            ),
            (
                json!({"properties": {"a": {"$ref": "#/$defs/none"}}}),
                "missing part",
            ),
            (
                json!({"description": "x".repeat(SCHEMA_MAX)}),
                "larger than 32 KiB",
            ),
            (json!({"properties": {"a": deep}}), "too deeply"),
            (
                json!({"properties": {"a": {"$ref": "#/$defs/d0"}}, "$defs": doubling}),
                "too deeply",
            ),
        ] {
            let error = convert(&schema).unwrap_err();
            assert!(error.contains(why), "{error}: {schema}");
        }
    }

    #[test]
    fn free_form_objects_and_bounds_are_kept() {
        let schema = json!({
            "type": "object",
            "properties": {
                "headers": {"type": "object", "additionalProperties": {"type": "string", "minLength": 1}},
                "note": {"type": ["string", "null"], "pattern": "^(?:[a-z]|\\w{2,8})+$", "default": {"$ref": "x", "type": "y"}},
                "count": {"type": "integer", "minimum": 0, "maximum": 9},
                "when": {"type": "string", "format": "date-time", "examples": ["now"]},
                "more": {"type": "object", "additionalProperties": true},
                "none": {"type": "object", "patternProperties": {"^x": {"type": "null"}}},
                "one": {"oneOf": [{"type": "string"}, {"type": "array", "items": {"type": "number"}}]},
            },
            "required": ["headers", "note"],
            "additionalProperties": false,
        });
        assert_eq!(convert(&schema).unwrap(), schema);
    }

    #[test]
    fn keywords_that_vendors_reject_are_removed() {
        let schema = json!({
            "$schema": "http://json-schema.org/draft-04/schema#",
            "properties": {
                "a": {"type": "any", "required": true, "minimum": 0, "exclusiveMinimum": true, "format": "uint64"},
                "b": {"type": "array", "items": [{"type": "string"}]},
                "c": {"type": "string", "pattern": "^\\p{L}(?<x>a)$", "enum": []},
                "d": true,
                "e": {"type": ["array", "null"]},
                "f": {"anyOf": [], "pattern": "(a{1000}){1000}", "minLength": -1, "title": 3, "$dynamicRef": "#x"},
            },
            "required": ["a", "a"],
        });
        assert_eq!(
            convert(&schema).unwrap(),
            json!({
                "type": "object",
                "properties": {
                    "a": {"minimum": 0},
                    "b": {"type": "array", "items": {}},
                    "c": {"type": "string"},
                    "d": {},
                    "e": {"type": ["array", "null"], "items": {}},
                    "f": {},
                },
            })
        );
    }

    #[test]
    fn references_cannot_multiply_long_texts() {
        let text = "x".repeat(16 * 1024);
        let mut parts: Map<String, Value> = (0..12)
            .map(|n| {
                let next = json!({"$ref": format!("#/$defs/d{}", n + 1)});
                let both = json!({"properties": {"a": next, "b": next}});
                (format!("d{n}"), both)
            })
            .collect();
        parts.insert("d12".into(), json!({"description": text}));
        let root = json!({"properties": {"a": {"$ref": "#/$defs/d0"}}, "$defs": parts});
        let mut expander = Expander {
            root: &root,
            path: Vec::new(),
            room: EXPANDED_MAX,
        };
        let error = expander.object(root.as_object().unwrap(), 0).unwrap_err();
        assert!(error.contains("repeats references too often"), "{error}");
        assert_eq!(expander.room, 0);
        assert!(convert(&root).is_err());
    }

    #[test]
    fn only_forbidden_nulls_are_removed() {
        let schema = json!({
            "properties": {
                "a": {"type": ["string", "null"]},
                "b": {"type": "string"},
                "c": {"type": "string"},
                "d": {"enum": ["x"]},
                "e": {"anyOf": [{"type": "null"}]},
            },
            "required": ["c"],
        });
        let input = json!({"a": null, "b": null, "c": null, "d": null, "e": null, "f": null, "g": {"h": null}});
        let kept = without_forbidden_nulls(input.as_object().unwrap().clone(), &schema);
        let expected = json!({"a": null, "c": null, "e": null, "f": null, "g": {"h": null}});
        assert_eq!(Value::Object(kept), expected);
    }

    #[test]
    fn roots_become_objects_without_choices() {
        for schema in [
            json!({}),
            json!({"properties": []}),
            json!({"type": "object"}),
            json!({"anyOf": [{"required": ["a"]}], "properties": {}}),
        ] {
            assert_eq!(
                convert(&schema).unwrap(),
                json!({"type": "object", "properties": {}})
            );
        }
    }
}
