//! A conversation as a server reads it, from the body of either wire; what a strict server refuses fails here.

use std::collections::HashSet;

use serde_json::Value;

/// The wire that is spoken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wire {
    Messages,
    Completions,
}

/// One thing that was said.
#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    /// Words of the user's side.
    Heard(String),
    /// Words of the model.
    Said(String),
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

/// A whole request.
#[derive(Debug)]
pub struct Talk {
    pub agent: String,
    pub steps: Vec<Step>,
}

impl Talk {
    /// Reads a request and checks it as a strict server does.
    pub fn read(wire: Wire, body: &Value) -> Result<Talk, String> {
        let (system, steps) = match wire {
            Wire::Messages => messages(body)?,
            Wire::Completions => completions(body)?,
        };
        let agent = if system.starts_with("You are the lead") {
            "lead".into()
        } else {
            let name = system.strip_prefix("You are '");
            let name = name.and_then(|rest| rest.split('\'').next());
            name.ok_or(format!("nobody's prompt: {system:.80}"))?.into()
        };
        Ok(Talk { agent, steps })
    }

    /// Each call with its result, in order.
    pub fn done(&self) -> impl Iterator<Item = (&str, &Value, &str)> {
        done(&self.steps)
    }

    /// What was said after the last words of the user's side that `starts`.
    pub fn since(&self, starts: impl Fn(&str) -> bool) -> Option<(&str, &[Step])> {
        let at = (self.steps.iter()).rposition(|s| matches!(s, Step::Heard(t) if starts(t)))?;
        let Step::Heard(text) = &self.steps[at] else {
            return None;
        };
        Some((text, &self.steps[at + 1..]))
    }
}

/// Each call among `steps` with its result.
pub fn done(steps: &[Step]) -> impl Iterator<Item = (&str, &Value, &str)> {
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

/// Notes a call's id; ids must differ in the whole conversation.
fn new_id(seen: &mut HashSet<String>, id: &str) -> Result<String, String> {
    if id.is_empty() || !seen.insert(id.into()) {
        return Err(format!("the call id '{id}' came twice or is empty"));
    }
    Ok(id.into())
}

/// Takes the result of one of the calls that were just made.
fn answered(open: &mut Vec<String>, id: &str) -> Result<String, String> {
    let at = open.iter().position(|o| o == id);
    let at = at.ok_or(format!("a result for '{id}', which is no open call"))?;
    Ok(open.remove(at))
}

fn messages(body: &Value) -> Result<(String, Vec<Step>), String> {
    let system = text(&list(body, "system")?[0], "text")?.to_string();
    let (mut steps, mut seen, mut open) = (Vec::new(), HashSet::new(), Vec::<String>::new());
    let mut expected = "user";
    for message in list(body, "messages")? {
        let role = text(message, "role")?;
        if role != expected {
            return Err(format!("{role} where {expected} must speak"));
        }
        expected = if role == "user" { "assistant" } else { "user" };
        for block in list(message, "content")? {
            match (role, text(block, "type")?) {
                ("user", "tool_result") => steps.push(Step::Result {
                    id: answered(&mut open, text(block, "tool_use_id")?)?,
                    text: text(block, "content")?.into(),
                }),
                (_, "text") => {
                    let text = text(block, "text")?.to_string();
                    if text.trim().is_empty() {
                        return Err("an empty text block".into());
                    }
                    if role == "user" && !open.is_empty() {
                        return Err(format!("words before the results of {open:?}"));
                    }
                    steps.push(if role == "user" {
                        Step::Heard(text)
                    } else {
                        Step::Said(text)
                    });
                }
                ("assistant", "tool_use") => {
                    let id = new_id(&mut seen, text(block, "id")?)?;
                    open.push(id.clone());
                    steps.push(Step::Call {
                        id,
                        name: text(block, "name")?.into(),
                        input: block["input"].clone(),
                    });
                    if !block["input"].is_object() {
                        return Err(format!("an input that is no object: {block:.200}"));
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
        return Err("the last message is the model's own".into());
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
            "user" => steps.push(Step::Heard(words)),
            "tool" => steps.push(Step::Result {
                id: answered(&mut open, text(message, "tool_call_id")?)?,
                text: words,
            }),
            "assistant" => {
                if !words.is_empty() {
                    steps.push(Step::Said(words));
                }
                let calls = message.get("tool_calls").and_then(Value::as_array);
                for call in calls.into_iter().flatten() {
                    let id = new_id(&mut seen, text(call, "id")?)?;
                    open.push(id.clone());
                    let input = text(&call["function"], "arguments")?;
                    let input: Value = serde_json::from_str(input).map_err(|e| e.to_string())?;
                    if !input.is_object() {
                        return Err(format!("arguments that are no object: {input:.200}"));
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
