//! Parses the request body of each API into a conversation, and rejects what a strict server rejects.

use std::collections::HashSet;

use serde_json::Value;

/// The API: Anthropic Messages, OpenAI Chat Completions or OpenAI Responses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Wire {
    Messages,
    Completions,
    Responses,
}

impl Wire {
    pub const ALL: [Wire; 3] = [Wire::Messages, Wire::Completions, Wire::Responses];

    /// Returns the name of the provider, which is also the name of the named model in a crew with all three.
    pub fn provider(self) -> &'static str {
        match self {
            Wire::Messages => "anthropic",
            Wire::Completions => "openai",
            Wire::Responses => "responses",
        }
    }

    /// Returns the end of the base address, and the path of a call after it.
    pub fn paths(self) -> (&'static str, &'static str) {
        match self {
            Wire::Messages => ("", "/v1/messages"),
            Wire::Completions => ("/v1", "/chat/completions"),
            Wire::Responses => ("/v1", "/responses"),
        }
    }
}

/// One part of a conversation: a text of the user or the model, a tool call, or its result.
#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    UserText(String),
    ModelText(String),
    Call {
        id: String,
        name: String,
        input: Value,
    },
    Result {
        id: String,
        text: String,
    },
}

/// A request after it was checked and parsed: the calling agent and the conversation.
#[derive(Debug)]
pub struct ModelRequest {
    pub agent: String,
    pub steps: Vec<Step>,
}

impl ModelRequest {
    /// Parses a request body and validates it as a strict server does.
    pub fn read(wire: Wire, body: &Value) -> Result<ModelRequest, String> {
        let (system, steps) = match wire {
            Wire::Messages => messages(body)?,
            Wire::Completions => completions(body)?,
            Wire::Responses => responses(body)?,
        };
        let agent = if system.starts_with("You are the lead") {
            "lead".into()
        } else {
            let name = system.strip_prefix("You are '");
            let name = name.and_then(|rest| rest.split('\'').next());
            name.ok_or(format!("unknown system prompt: {system:.80}"))?
                .into()
        };
        Ok(ModelRequest { agent, steps })
    }

    /// Returns name, input and result of each tool call that has a result, in order.
    pub fn finished_calls(&self) -> impl Iterator<Item = (&str, &Value, &str)> {
        finished_calls(&self.steps)
    }

    /// Returns the last user text that satisfies `is_start`, and the steps after it.
    pub fn after_last_user_text(&self, is_start: impl Fn(&str) -> bool) -> Option<(&str, &[Step])> {
        let at =
            (self.steps.iter()).rposition(|s| matches!(s, Step::UserText(t) if is_start(t)))?;
        let Step::UserText(text) = &self.steps[at] else {
            return None;
        };
        Some((text, &self.steps[at + 1..]))
    }
}

/// Returns name, input and result of each tool call among `steps` that has a result.
pub fn finished_calls(steps: &[Step]) -> impl Iterator<Item = (&str, &Value, &str)> {
    steps.iter().filter_map(|step| {
        let Step::Call { id, name, input } = step else {
            return None;
        };
        let result = steps.iter().find_map(|s| match s {
            Step::Result { id: of, text } if of == id => Some(text.as_str()),
            _ => None,
        });
        Some((name.as_str(), input, result?))
    })
}

fn text<'a>(value: &'a Value, key: &str) -> Result<&'a str, String> {
    let text = value.get(key).and_then(Value::as_str);
    text.ok_or(format!("no {key} in {value:.200}"))
}

fn list<'a>(value: &'a Value, key: &str) -> Result<&'a Vec<Value>, String> {
    let list = value.get(key).and_then(Value::as_array);
    list.filter(|l| !l.is_empty())
        .ok_or(format!("no {key} in {value:.200}"))
}

/// Records the id of a call and returns it. Fails if it is empty or already used in the conversation.
fn register_id(seen: &mut HashSet<String>, id: &str) -> Result<String, String> {
    if id.is_empty() || !seen.insert(id.into()) {
        return Err(format!("the call id '{id}' is empty or used twice"));
    }
    Ok(id.into())
}

/// Removes `id` from the calls without a result and returns it. Fails if it is not among them.
fn take_open_call(open: &mut Vec<String>, id: &str) -> Result<String, String> {
    let at = open.iter().position(|o| o == id);
    let at = at.ok_or(format!("a result for '{id}', which is not an open call"))?;
    Ok(open.remove(at))
}

fn messages(body: &Value) -> Result<(String, Vec<Step>), String> {
    let system = text(&list(body, "system")?[0], "text")?.to_string();
    let (mut steps, mut seen, mut open) = (Vec::new(), HashSet::new(), Vec::<String>::new());
    let mut expected = "user";
    for message in list(body, "messages")? {
        let role = text(message, "role")?;
        if role != expected {
            return Err(format!("a message of {role}, expected {expected}"));
        }
        expected = if role == "user" { "assistant" } else { "user" };
        for block in list(message, "content")? {
            match (role, text(block, "type")?) {
                ("user", "tool_result") => steps.push(Step::Result {
                    id: take_open_call(&mut open, text(block, "tool_use_id")?)?,
                    text: text(block, "content")?.into(),
                }),
                (_, "text") => {
                    let text = text(block, "text")?.to_string();
                    if text.trim().is_empty() {
                        return Err("an empty text block".into());
                    }
                    if role == "user" && !open.is_empty() {
                        return Err(format!("text before the results of {open:?}"));
                    }
                    steps.push(if role == "user" {
                        Step::UserText(text)
                    } else {
                        Step::ModelText(text)
                    });
                }
                ("assistant", "tool_use") => {
                    let id = register_id(&mut seen, text(block, "id")?)?;
                    open.push(id.clone());
                    steps.push(Step::Call {
                        id,
                        name: text(block, "name")?.into(),
                        input: block["input"].clone(),
                    });
                    if !block["input"].is_object() {
                        return Err(format!("an input that is not an object: {block:.200}"));
                    }
                }
                (_, kind) => return Err(format!("{kind} from {role}")),
            }
        }
        if role == "user" && !open.is_empty() {
            return Err(format!("no result for {open:?}"));
        }
    }
    if expected == "user" {
        return Err("the last message is the model's".into());
    }
    Ok((system, steps))
}

fn completions(body: &Value) -> Result<(String, Vec<Step>), String> {
    let all = list(body, "messages")?;
    let (mut steps, mut seen, mut open) = (Vec::new(), HashSet::new(), Vec::<String>::new());
    let mut last = "";
    for (at, message) in all.iter().enumerate() {
        let role = text(message, "role")?;
        if (at == 0) != (role == "system") {
            return Err(format!("{role} as message {at}"));
        }
        if role != "tool" && !open.is_empty() {
            return Err(format!("no result for {open:?}"));
        }
        let words = text(message, "content")?.to_string();
        match role {
            "system" => {}
            "user" => steps.push(Step::UserText(words)),
            "tool" => steps.push(Step::Result {
                id: take_open_call(&mut open, text(message, "tool_call_id")?)?,
                text: words,
            }),
            "assistant" => {
                if !words.is_empty() {
                    steps.push(Step::ModelText(words));
                }
                let calls = message.get("tool_calls").and_then(Value::as_array);
                for call in calls.into_iter().flatten() {
                    let id = register_id(&mut seen, text(call, "id")?)?;
                    open.push(id.clone());
                    let input = text(&call["function"], "arguments")?;
                    let input: Value = serde_json::from_str(input).map_err(|e| e.to_string())?;
                    if !input.is_object() {
                        return Err(format!("arguments that are not an object: {input:.200}"));
                    }
                    let name = text(&call["function"], "name")?.into();
                    steps.push(Step::Call { id, name, input });
                }
            }
            other => return Err(format!("a message of {other}")),
        }
        last = role;
    }
    if !open.is_empty() || last == "assistant" {
        return Err(format!("the last message is of {last}, open are {open:?}"));
    }
    Ok((text(&all[0], "content")?.into(), steps))
}

fn responses(body: &Value) -> Result<(String, Vec<Step>), String> {
    let (mut steps, mut seen, mut open) = (Vec::new(), HashSet::new(), Vec::<String>::new());
    let mut last = "";
    if body["store"] != false || body.get("previous_response_id").is_some() {
        return Err("a request that needs stored responses".into());
    }
    for item in list(body, "input")? {
        let kind = match text(item, "role") {
            Ok(role) => role,
            Err(_) => text(item, "type")?,
        };
        let is_message = ["user", "assistant"].contains(&kind);
        if is_message && !open.is_empty() {
            return Err(format!("no result for {open:?}"));
        }
        match kind {
            "user" | "assistant" => {
                let words = text(item, "content")?.to_string();
                if words.trim().is_empty() {
                    return Err("an empty message".into());
                }
                steps.push(if kind == "user" {
                    Step::UserText(words)
                } else {
                    Step::ModelText(words)
                });
            }
            "function_call" => {
                if last == "function_call_output" && !open.is_empty() {
                    return Err(format!("a call before the results of {open:?}"));
                }
                let id = register_id(&mut seen, text(item, "call_id")?)?;
                open.push(id.clone());
                let input = text(item, "arguments")?;
                let input: Value = serde_json::from_str(input).map_err(|e| e.to_string())?;
                if !input.is_object() {
                    return Err(format!("arguments that are not an object: {input:.200}"));
                }
                let name = text(item, "name")?.into();
                steps.push(Step::Call { id, name, input });
            }
            "function_call_output" => steps.push(Step::Result {
                id: take_open_call(&mut open, text(item, "call_id")?)?,
                text: text(item, "output")?.into(),
            }),
            other => return Err(format!("an item {other}")),
        }
        last = kind;
    }
    if !open.is_empty() || last == "assistant" {
        return Err(format!("the last item is {last}, open are {open:?}"));
    }
    Ok((text(body, "instructions")?.into(), steps))
}
