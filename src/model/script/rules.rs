//! Parses the rules of a script from YAML, and matches them with messages. Does no I/O.

use regex::{Captures, Regex, RegexBuilder};
use serde::Deserialize;
use serde_json::Value;

use crate::domain::usage::Usage;

#[derive(Debug, thiserror::Error)]
pub enum ScriptError {
    /// The YAML or its structure is invalid; the string says where.
    #[error("the script is invalid: {0}")]
    Format(String),
    #[error("rule {rule}: `when` is not a valid regular expression: {why}")]
    Pattern {
        /// The number of the rule in the script, counted from 1.
        rule: usize,
        why: String,
    },
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScriptFile {
    /// The name of the model; `script` if the file sets none.
    #[serde(default = "default_name")]
    pub model: String,
    #[serde(default)]
    pub window: Option<u64>,
    /// The speed in tokens per second; 0 means unlimited.
    #[serde(default)]
    pub pace: f64,
    /// The rules, in order of precedence.
    pub rules: Vec<RuleEntry>,
}

fn default_name() -> String {
    "script".into()
}

/// A rule as written in a script file; its pattern is not compiled yet.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RuleEntry {
    #[serde(default)]
    agent: Option<String>,
    #[serde(default)]
    when: Option<String>,
    #[serde(default = "once")]
    times: u32,
    #[serde(default)]
    delay_ms: u64,
    #[serde(default)]
    think: String,
    #[serde(default)]
    say: String,
    #[serde(default)]
    calls: Vec<CallEntry>,
    #[serde(default)]
    usage: Option<UsageEntry>,
    #[serde(default)]
    fault: Option<FaultEntry>,
}

fn once() -> u32 {
    1
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CallEntry {
    pub tool: String,
    /// The arguments of the call as a JSON object; `null` or missing: an empty object.
    #[serde(default)]
    pub input: Value,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
struct UsageEntry {
    #[serde(default)]
    input: u64,
    #[serde(default)]
    output: u64,
    #[serde(default)]
    cache_read: u64,
    #[serde(default)]
    cache_write: u64,
}

/// A simulated failure, as written in a script file. Only one kind is simulated: the first field that is set in the
/// order `status`, `broken_json`, `cut`, `hang`, `empty`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct FaultEntry {
    #[serde(default)]
    status: Option<u16>,
    #[serde(default)]
    retry_after: Option<f64>,
    #[serde(default)]
    message: Option<String>,
    #[serde(default)]
    cut: Option<usize>,
    #[serde(default)]
    hang: Option<bool>,
    #[serde(default)]
    empty: Option<bool>,
    #[serde(default)]
    broken_json: Option<String>,
}

#[derive(Debug, Clone, PartialEq)]
pub enum SimulatedFault {
    Status {
        code: u16,
        /// The wait that the server asks for, in seconds; `None` if it asks for none.
        retry_after: Option<f64>,
        message: String,
    },
    /// The response ends after this number of characters of its text.
    Cut(usize),
    /// The response never comes.
    Hang,
    /// The reply is complete but has no content.
    Empty,
    /// The first tool call of the response has this text as its input, which is usually not valid JSON.
    BrokenJson(String),
}

/// A rule with its compiled pattern.
#[derive(Debug, Clone)]
pub struct ScriptRule {
    agent: Option<String>,
    when: Option<Regex>,
    /// How often each agent may use the rule; 0 means unlimited.
    pub times: u32,
    pub delay_ms: u64,
    /// The response, in which placeholders such as `{{agent}}` are not replaced yet.
    pub answer: ScriptedResponse,
    pub fault: Option<SimulatedFault>,
}

#[derive(Debug, Clone, PartialEq, Default)]
pub struct ScriptedResponse {
    pub think: String,
    /// The visible text of the response.
    pub say: String,
    /// The name and input of each tool call.
    pub calls: Vec<(String, Value)>,
    /// The token counts to report; `None` to report an estimate.
    pub usage: Option<Usage>,
}

impl ScriptFile {
    /// Parses the YAML. Fails if it is invalid or contains unknown fields. The patterns of the rules are checked later,
    /// by [`ScriptFile::rules`].
    pub fn parse(text: &str) -> Result<ScriptFile, ScriptError> {
        serde_saphyr::from_str(text).map_err(|e| ScriptError::Format(e.to_string()))
    }

    /// Compiles the patterns of the rules. Fails at the first invalid one.
    pub fn rules(&self) -> Result<Vec<ScriptRule>, ScriptError> {
        self.rules
            .iter()
            .enumerate()
            .map(|(at, rule)| rule.build(at + 1))
            .collect()
    }
}

impl RuleEntry {
    fn build(&self, number: usize) -> Result<ScriptRule, ScriptError> {
        let pattern = |text: &String| {
            RegexBuilder::new(text)
                .multi_line(true)
                .size_limit(1 << 20)
                .build()
                .map_err(|e| ScriptError::Pattern {
                    rule: number,
                    why: e.to_string(),
                })
        };
        let usage = self.usage.map(|u| Usage {
            input: u.input,
            output: u.output,
            cache_read: u.cache_read,
            cache_write: u.cache_write,
        });
        Ok(ScriptRule {
            agent: self.agent.clone(),
            when: self.when.as_ref().map(pattern).transpose()?,
            times: self.times,
            delay_ms: self.delay_ms,
            answer: ScriptedResponse {
                think: self.think.clone(),
                say: self.say.trim_end().to_string(),
                calls: self
                    .calls
                    .iter()
                    .map(|c| (c.tool.clone(), c.input.clone()))
                    .collect(),
                usage,
            },
            fault: self.fault.as_ref().and_then(FaultEntry::build),
        })
    }
}

impl FaultEntry {
    fn build(&self) -> Option<SimulatedFault> {
        if let Some(code) = self.status {
            let message = self
                .message
                .clone()
                .unwrap_or_else(|| "simulated by the script".into());
            return Some(SimulatedFault::Status {
                code,
                retry_after: self.retry_after,
                message,
            });
        }
        if let Some(text) = &self.broken_json {
            return Some(SimulatedFault::BrokenJson(text.clone()));
        }
        let is_set = |flag: Option<bool>| flag == Some(true);
        self.cut
            .map(SimulatedFault::Cut)
            .or(is_set(self.hang).then_some(SimulatedFault::Hang))
            .or(is_set(self.empty).then_some(SimulatedFault::Empty))
    }
}

impl ScriptRule {
    /// Returns the response to `last`, the text of the conversation's last message. Returns `None` if the rule does not
    /// apply to `agent` or to this message.
    pub fn answer_to(&self, agent: &str, last: &str) -> Option<ScriptedResponse> {
        if self
            .agent
            .as_ref()
            .is_some_and(|a| !a.eq_ignore_ascii_case(agent))
        {
            return None;
        }
        let captures = match &self.when {
            Some(when) => Some(when.captures(last)?),
            None => None,
        };
        let fill = |text: &str| fill(text, agent, captures.as_ref());
        Some(ScriptedResponse {
            think: fill(&self.answer.think),
            say: fill(&self.answer.say),
            calls: self
                .answer
                .calls
                .iter()
                .map(|(tool, input)| (tool.clone(), fill_value(input, &fill)))
                .collect(),
            usage: self.answer.usage,
        })
    }
}

/// Replaces `{{agent}}` by the agent's name, and `{{1}}`, `{{2}}` and so on by the capture groups of the rule's
/// pattern. Other text in double braces stays. Inserted values are not searched for placeholders, because they may come
/// from the conversation.
fn fill(text: &str, agent: &str, captures: Option<&Captures<'_>>) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, tail)) = rest.split_once("{{") {
        let Some((name, after)) = tail.split_once("}}") else {
            break;
        };
        let group = |captures: &Captures<'_>| {
            let number = name
                .parse()
                .ok()
                .filter(|n| (1..captures.len()).contains(n))?;
            Some(captures.get(number).map_or("", |g| g.as_str()).to_string())
        };
        let value = match name {
            "agent" => Some(agent.to_string()),
            _ => captures.and_then(group),
        };
        out.push_str(before);
        if let Some(value) = value {
            out.push_str(&value);
            rest = after;
        } else {
            out.push('{');
            rest = &rest[before.len() + 1..];
        }
    }
    out.push_str(rest);
    out
}

fn fill_value(value: &Value, fill: &impl Fn(&str) -> String) -> Value {
    match value {
        Value::String(text) => Value::String(fill(text)),
        Value::Array(items) => items.iter().map(|v| fill_value(v, fill)).collect(),
        Value::Object(fields) => fields
            .iter()
            .map(|(k, v)| (k.clone(), fill_value(v, fill)))
            .collect(),
        Value::Null => Value::Object(serde_json::Map::new()),
        Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn placeholders_are_filled_from_the_pattern() {
        let text = "rules:\n  - when: Fix (\\w+) in (\\S+)\n    say: '{{agent}} fixes {{1}}'\n    calls:\n      - tool: read_file\n        input: { path: '{{2}}', deep: ['{{1}}', 3] }\n";
        let rules = ScriptFile::parse(text).unwrap().rules().unwrap();
        let answer = rules[0]
            .answer_to("bob", "please\nFix add in a.py")
            .unwrap();
        assert_eq!(answer.say, "bob fixes add");
        assert_eq!(
            answer.calls[0].1,
            json!({"path": "a.py", "deep": ["add", 3]})
        );
        assert_eq!(rules[0].answer_to("bob", "nothing"), None);
    }

    #[test]
    fn inserted_text_is_not_filled_again() {
        let text = "rules:\n  - when: ((((.*))))\n    say: '{{1}} {{{{2}}}} {{9}} {{x}} {{'\n";
        let rules = ScriptFile::parse(text).unwrap().rules().unwrap();
        let last = "{{1}}{{2}}{{3}}{{4}}{{agent}}";
        assert_eq!(
            rules[0].answer_to("bob", last).unwrap().say,
            format!("{last} {{{{{last}}}}} {{{{9}}}} {{{{x}}}} {{{{")
        );
    }

    #[test]
    fn errors_say_where_the_script_is_invalid() {
        let unknown = ScriptFile::parse("rules:\n  - sya: hello\n")
            .unwrap_err()
            .to_string();
        assert!(unknown.contains("sya"), "{unknown}");
        let pattern = ScriptFile::parse("rules:\n  - when: '('\n")
            .unwrap()
            .rules()
            .unwrap_err()
            .to_string();
        assert!(pattern.starts_with("rule 1"), "{pattern}");
        assert!(ScriptFile::parse("rules: 3").is_err());
    }
}
