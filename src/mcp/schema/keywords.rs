//! Decides which keywords of a schema model vendors accept. Vendors validate the schema of each tool against JSON
//! Schema 2020-12 and reject the whole request if one is invalid, so keywords with an invalid value are removed.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

const TYPES: &[&str] = &[
    "string", "number", "integer", "boolean", "object", "array", "null",
];
/// The values of the keyword `format` that all vendors accept. The keyword is removed if it has another value, such as
/// `uint64`.
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
/// Escapes and groups that some vendors do not support in regular expressions. The group `(?:` is supported.
const RARE_PATTERNS: &[&str] = &["\\p", "\\P", "\\u{", "\\x{", "\\z", "\\Z", "(?"];

/// Maximum size, in bytes, of a compiled regular expression. It limits the time that the check takes. A larger one is
/// removed.
const PATTERN_MAX: usize = 32 * 1024;

/// What the value of a keyword contains.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeywordKind {
    /// The value is a schema, as for `items`.
    Schema,
    /// The value is a list of schemas, as for `anyOf`.
    Schemas,
    /// The value is an object whose keys are names and whose values are schemas, as for `properties`.
    NamedSchemas,
    /// The value is any JSON value that is not a schema, as for `default`.
    Data,
    /// The value is text, a number, a boolean or a list of names, as for `title`. Also used for any value of a keyword
    /// that crewdeck does not know.
    Plain,
}

/// Returns what the value of a keyword contains. Returns `None` if a vendor may reject the keyword with this value, so
/// that the keyword must be removed.
pub fn kind_of(keyword: &str, value: &Value) -> Option<KeywordKind> {
    let (kind, is_valid) = match keyword {
        "additionalProperties"
        | "items"
        | "contains"
        | "not"
        | "propertyNames"
        | "if"
        | "then"
        | "else"
        | "unevaluatedItems"
        | "unevaluatedProperties" => (KeywordKind::Schema, is_schema(value)),
        "anyOf" | "allOf" | "oneOf" | "prefixItems" => {
            let is_valid = |all: &Vec<Value>| !all.is_empty() && all.iter().all(is_schema);
            (KeywordKind::Schemas, value.as_array().is_some_and(is_valid))
        }
        "properties" | "patternProperties" | "dependentSchemas" => {
            let is_valid = |all: &Map<String, Value>| all.values().all(is_schema);
            (
                KeywordKind::NamedSchemas,
                value.as_object().is_some_and(is_valid),
            )
        }
        "default" | "const" => (KeywordKind::Data, true),
        "examples" => (KeywordKind::Data, value.is_array()),
        "enum" => (
            KeywordKind::Data,
            value.as_array().is_some_and(|all| !all.is_empty()),
        ),
        _ => (KeywordKind::Plain, is_valid_plain(keyword, value)),
    };
    is_valid.then_some(kind)
}

fn is_schema(value: &Value) -> bool {
    value.is_object() || value.is_boolean()
}

fn is_valid_plain(keyword: &str, value: &Value) -> bool {
    match keyword {
        "type" => match value {
            Value::String(kind) => TYPES.contains(&kind.as_str()),
            _ => is_names(value, |kind| TYPES.contains(&kind)) && value != &Value::Array(vec![]),
        },
        "required" => is_names(value, |_| true),
        "title" | "description" | "contentEncoding" | "contentMediaType" => value.is_string(),
        "format" => value.as_str().is_some_and(|name| FORMATS.contains(&name)),
        "pattern" => value.as_str().is_some_and(is_pattern),
        "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" => value.is_number(),
        "multipleOf" => value.as_f64().is_some_and(|step| step > 0.0),
        "minLength" | "maxLength" | "minItems" | "maxItems" | "minProperties" | "maxProperties"
        | "minContains" | "maxContains" => value.is_u64(),
        "uniqueItems" | "deprecated" | "readOnly" | "writeOnly" => value.is_boolean(),
        // Removed: definitions and references, because references are replaced, and keywords of older versions of JSON
        // Schema. Other unknown names stay, because vendors ignore them.
        "definitions" | "dependencies" | "dependentRequired" | "additionalItems" | "id" => false,
        _ => !keyword.starts_with('$'),
    }
}

/// Returns whether `value` is a list of different strings, each of which `is_valid` accepts.
fn is_names(value: &Value, is_valid: impl Fn(&str) -> bool) -> bool {
    let mut names = BTreeSet::new();
    let mut is_next = |name: &Value| {
        let name = name.as_str().filter(|name| is_valid(name));
        name.is_some_and(|name| names.insert(name.to_string()))
    };
    value
        .as_array()
        .is_some_and(|all| all.iter().all(&mut is_next))
}

/// Returns whether `text` is a regular expression that all vendors support. Also false if the compiled form is larger
/// than [`PATTERN_MAX`].
fn is_pattern(text: &str) -> bool {
    let mut plain = text.replace("(?:", "(");
    if RARE_PATTERNS.iter().any(|rare| plain.contains(rare)) {
        return false;
    }
    // Compiled classes of Unicode characters would exceed the size limit, so an `a` replaces each class for the check.
    for class in ["\\w", "\\W", "\\d", "\\D", "\\s", "\\S"] {
        plain = plain.replace(class, "a");
    }
    let checked = regex::RegexBuilder::new(&plain)
        .size_limit(PATTERN_MAX)
        .build();
    checked.is_ok()
}
