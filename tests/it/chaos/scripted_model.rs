//! A scripted model without state: it derives its next reply from the conversation in the request alone.

use std::collections::HashSet;

use serde_json::{Value, json};

use super::request::{ModelRequest, Step, Wire, finished_calls};

pub const TASKS: usize = 20;
/// Teammates that the lead spawns.
pub const TEAMMATES: [&str; 7] = ["ann", "bea", "cid", "dan", "eve", "fay", "gus"];

/// Which models the lead chooses for its teammates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TeamModels {
    /// All agents use the lead's model.
    One,
    /// One third of the teammates uses each of three models: those of `[use]` for teammates, and two by name.
    Three,
}

impl TeamModels {
    /// Returns the API that an agent uses in a crew with three models.
    pub fn wire(agent: &str) -> Wire {
        let at = TEAMMATES.iter().position(|name| *name == agent);
        match at.map(|at| at % 3) {
            Some(0) => Wire::Completions,
            Some(1) => Wire::Responses,
            Some(_) | None => Wire::Messages,
        }
    }

    /// Returns the input of `spawn_teammate`.
    fn spawn(self, name: &str) -> Value {
        let mut input = json!({"name": name, "role": "writer"});
        let wire = TeamModels::wire(name);
        // The setting `use.teammate` applies to the others.
        if self == TeamModels::Three && wire != Wire::Completions {
            input["model"] = wire.provider().into();
        }
        input
    }
}

/// What the model answers to a request: text and tool calls.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Reply {
    pub text: String,
    pub calls: Vec<(String, Value)>,
}

impl Reply {
    fn text(text: impl Into<String>) -> Reply {
        Reply {
            text: text.into(),
            calls: Vec::new(),
        }
    }

    fn call(text: &str, name: &str, input: Value) -> Reply {
        Reply {
            text: text.into(),
            calls: vec![(name.into(), input)],
        }
    }
}

/// Returns the reply, which depends only on the agent and the conversation in the request.
pub fn next_reply(request: &ModelRequest, team: TeamModels) -> Reply {
    if request.agent == "lead" {
        lead(request, team)
    } else {
        teammate(request)
    }
}

fn succeeded(result: &str) -> bool {
    !result.starts_with("Error")
}

fn subject(n: usize) -> String {
    format!("Write note {n}")
}

fn lead(request: &ModelRequest, team: TeamModels) -> Reply {
    let field_values = |tool: &str, key: &str| -> HashSet<String> {
        let ok = request
            .finished_calls()
            .filter(|(t, _, r)| *t == tool && succeeded(r));
        ok.filter_map(|(_, i, _)| Some(i.get(key)?.as_str()?.to_string()))
            .collect()
    };
    let created = field_values("task_create", "subject");
    let missing: Vec<usize> = (1..=TASKS)
        .filter(|n| !created.contains(&subject(*n)))
        .collect();
    if !missing.is_empty() {
        let call = |n: &usize| {
            // Every third task is blocked by the one before, if that was created.
            let before = request.finished_calls().find_map(|(t, i, r)| {
                (t == "task_create" && succeeded(r) && i["subject"] == subject(n - 1).as_str())
                    .then(|| serde_json::from_str::<Value>(r).ok()?["id"].as_u64())
                    .flatten()
            });
            let blocked_by: Vec<u64> = before.filter(|_| n.is_multiple_of(3)).into_iter().collect();
            let input = json!({"subject": subject(*n), "description": format!("As out/{n}.txt"), "blocked_by": blocked_by});
            ("task_create".to_string(), input)
        };
        return Reply {
            text: "I create the tasks.".into(),
            calls: missing.iter().take(7).map(call).collect(),
        };
    }
    let spawned = field_values("spawn_teammate", "name");
    let missing: Vec<&str> = TEAMMATES
        .into_iter()
        .filter(|m| !spawned.contains(*m))
        .collect();
    if !missing.is_empty() {
        let call = |m: &&str| ("spawn_teammate".to_string(), team.spawn(m));
        return Reply {
            text: "I spawn the team.".into(),
            calls: missing.iter().map(call).collect(),
        };
    }
    Reply::text("The team is at work, or has done it.")
}

fn teammate(request: &ModelRequest) -> Reply {
    let task_number = |text: &str| -> Option<u64> {
        let (_, rest) = text.split_once("Task #")?;
        rest.split(|c: char| !c.is_ascii_digit())
            .next()?
            .parse()
            .ok()
    };
    let task =
        |text: &str| text.starts_with("<auto-claimed>") || text.starts_with("<reminder>Task #");
    let Some((text, steps)) = request.after_last_user_text(task) else {
        return Reply::text("I am ready.");
    };
    let Some(id) = task_number(text) else {
        return Reply::text("What task?");
    };
    let has_called = |tool: &str| {
        finished_calls(steps)
            .any(|(t, _, r)| t == tool && (succeeded(r) || r.contains("is completed")))
    };
    if !has_called("write_file") && !has_called("task_update") {
        let path = format!("out/{id}.txt");
        let content = format!("{} wrote this.\n", request.agent);
        return Reply::call("", "write_file", json!({"path": path, "content": content}));
    }
    if id.is_multiple_of(4) && !has_called("send_message") {
        let at = TEAMMATES
            .iter()
            .position(|m| *m == request.agent)
            .unwrap_or(0);
        let to = TEAMMATES[(at + 1) % TEAMMATES.len()];
        let content = format!("Note {id} is written.");
        return Reply::call(
            "They should know.",
            "send_message",
            json!({"to": to, "content": content}),
        );
    }
    if !has_called("task_update") {
        return Reply::call(
            "Written.",
            "task_update",
            json!({"task_id": id, "status": "completed"}),
        );
    }
    let has_user_text = steps.iter().any(|s| matches!(s, Step::UserText(_)));
    Reply::text(if has_user_text {
        "Thank you."
    } else {
        "It is done."
    })
}
