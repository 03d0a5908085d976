//! Converts the input schema of a server's tool to a form that all model vendors accept. Pure.
//!
//! One schema that a vendor does not accept makes it reject the whole request. Some interfaces accept no `$ref`; at the
//! root, vendors accept no choice (`anyOf` and the like) and only property names of ASCII letters, digits, `_`, `.` and
//! `-`.

use serde_json::{Map, Value};

/// Maximum size of a schema, in bytes of JSON.
pub const SCHEMA_MAX: usize = 32 * 1024;
/// Maximum depth of a schema, counted after its references are replaced.
const DEPTH_MAX: usize = 32;
/// Maximum length of the name of a property, in bytes.
const PROPERTY_MAX: usize = 64;
/// Keywords that are removed: they describe the schema itself, or are definitions that are not needed after references
/// are replaced.
const META: &[&str] = &[
    "$schema",
    "$id",
    "$comment",
    "$anchor",
    "$defs",
    "definitions",
];
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

/// Returns a form of `schema` that the vendors accept.
///
/// # Errors
/// Returns why it has no such form, as words that follow the name of the tool.
pub fn for_vendors(schema: &Map<String, Value>) -> Result<Value, String> {
    let root = Value::Object(schema.clone());
    let too_large = || format!("its schema is larger than {} KiB", SCHEMA_MAX / 1024);
    if size(&root) > SCHEMA_MAX {
        return Err(too_large());
    }
    let mut expander = Expander {
        root: &root,
        path: Vec::new(),
        room: SCHEMA_MAX,
    };
    let mut node = expander.node(&root, 0)?;
    let Value::Object(fields) = &mut node else {
        return Err("its schema is not an object".into());
    };
    match fields.get("type") {
        Some(Value::String(kind)) if kind == "object" => {}
        None => {
            fields.insert("type".into(), "object".into());
        }
        Some(_) => return Err("its input is not an object".into()),
    }
    fields.retain(|key, _| !NOT_AT_ROOT.contains(&key.as_str()));
    match fields.get("properties") {
        Some(Value::Object(properties)) => {
            if let Some(name) = properties.keys().find(|name| !is_property_name(name)) {
                let name = crate::domain::text::clip(&crate::domain::text::one_line(name), 80);
                return Err(format!("the property name '{name}' is not allowed"));
            }
        }
        None => {
            fields.insert("properties".into(), Value::Object(Map::new()));
        }
        Some(_) => return Err("its properties are not an object".into()),
    }
    if size(&node) > SCHEMA_MAX {
        return Err(too_large());
    }
    Ok(node)
}

fn size(value: &Value) -> usize {
    serde_json::to_vec(value).map_or(usize::MAX, |bytes| bytes.len())
}

fn is_property_name(name: &str) -> bool {
    let is_allowed = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.' | b'-');
    (1..=PROPERTY_MAX).contains(&name.len()) && name.bytes().all(is_allowed)
}

/// Replaces each `$ref` by the part of the schema that it refers to.
struct Expander<'a> {
    root: &'a Value,
    /// The references that are being replaced, outermost first.
    path: Vec<String>,
    /// Number of nodes that may still be created. It bounds schemas that references make exponentially larger.
    room: usize,
}

impl Expander<'_> {
    fn node(&mut self, node: &Value, depth: usize) -> Result<Value, String> {
        self.room = self.room.saturating_sub(1);
        if depth > DEPTH_MAX || self.room == 0 {
            return Err("its schema is nested too deeply or repeats references too often".into());
        }
        match node {
            Value::Object(fields) => self.object(fields, depth),
            Value::Array(items) => items
                .iter()
                .map(|item| self.node(item, depth + 1))
                .collect::<Result<Vec<_>, _>>()
                .map(Value::Array),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Ok(node.clone()),
        }
    }

    fn object(&mut self, fields: &Map<String, Value>, depth: usize) -> Result<Value, String> {
        let mut out = Map::new();
        for (key, value) in fields {
            if key == "$ref" || META.contains(&key.as_str()) {
                continue;
            }
            let value = if key == "properties" {
                self.properties(value, depth)?
            } else {
                self.node(value, depth + 1)?
            };
            out.insert(key.clone(), value);
        }
        let Some(Value::String(reference)) = fields.get("$ref") else {
            return Ok(Value::Object(out));
        };
        if self.path.contains(reference) {
            // A recursive schema: the inner reference is removed, so anything is allowed there.
            return Ok(Value::Object(out));
        }
        let target = reference
            .strip_prefix('#')
            .and_then(|pointer| self.root.pointer(pointer));
        let Some(target) = target else {
            return Err("its schema refers to another document or to a missing part".into());
        };
        self.path.push(reference.clone());
        let target = self.node(target, depth + 1);
        self.path.pop();
        // A keyword beside `$ref`, such as a description, overrides that of the target.
        match target? {
            Value::Object(target) => {
                for (key, value) in target {
                    out.entry(key).or_insert(value);
                }
            }
            Value::Bool(true) => {}
            _ => return Err("its schema refers to something that is no schema".into()),
        }
        Ok(Value::Object(out))
    }

    /// Expands the schemas in `properties`. Its keys are names of properties, so a key like `definitions` is kept.
    fn properties(&mut self, node: &Value, depth: usize) -> Result<Value, String> {
        let Value::Object(properties) = node else {
            return self.node(node, depth + 1);
        };
        let mut out = Map::new();
        for (name, schema) in properties {
            out.insert(name.clone(), self.node(schema, depth + 1)?);
        }
        Ok(Value::Object(out))
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
            (json!({"type": "string"}), "not an object"),
            (json!({"type": ["object", "null"]}), "not an object"),
            (json!({"properties": []}), "not an object"),
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
    fn roots_become_objects_without_choices() {
        for schema in [
            json!({}),
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
