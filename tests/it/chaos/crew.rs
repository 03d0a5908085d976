//! What a sensible model does next; it knows nothing but the conversation that it is sent.

use std::collections::HashSet;

use serde_json::{Value, json};

use super::talk::{Step, Talk, done};

/// Tasks that the lead writes.
pub const TASKS: usize = 20;
/// The teammates that it spawns.
pub const MATES: [&str; 7] = ["ann", "bea", "cid", "dan", "eve", "fay", "gus"];

/// What is said: words and calls of tools.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Reply {
    pub words: String,
    pub calls: Vec<(String, Value)>,
}

impl Reply {
    fn words(words: impl Into<String>) -> Reply {
        Reply {
            words: words.into(),
            calls: Vec::new(),
        }
    }

    fn call(words: &str, name: &str, input: Value) -> Reply {
        Reply {
            words: words.into(),
            calls: vec![(name.into(), input)],
        }
    }
}

/// The next answer.
pub fn next(talk: &Talk) -> Reply {
    if talk.agent == "lead" {
        lead(talk)
    } else {
        mate(talk)
    }
}

fn worked(result: &str) -> bool {
    !result.starts_with("Error")
}

fn subject(n: usize) -> String {
    format!("Write note {n}")
}

fn lead(talk: &Talk) -> Reply {
    let with = |tool: &str, key: &str| -> HashSet<String> {
        let ok = talk.done().filter(|(t, _, r)| *t == tool && worked(r));
        ok.filter_map(|(_, i, _)| Some(i.get(key)?.as_str()?.to_string()))
            .collect()
    };
    let made = with("task_create", "subject");
    let missing: Vec<usize> = (1..=TASKS)
        .filter(|n| !made.contains(&subject(*n)))
        .collect();
    if !missing.is_empty() {
        let call = |n: &usize| {
            // A third of them waits for the one before; where that failed, for nothing.
            let before = talk.done().find_map(|(t, i, r)| {
                (t == "task_create" && worked(r) && i["subject"] == subject(n - 1).as_str())
                    .then(|| serde_json::from_str::<Value>(r).ok()?["id"].as_u64())
                    .flatten()
            });
            let blocked_by: Vec<u64> = before.filter(|_| n.is_multiple_of(3)).into_iter().collect();
            let input = json!({"subject": subject(*n), "description": format!("As out/{n}.txt"), "blocked_by": blocked_by});
            ("task_create".to_string(), input)
        };
        return Reply {
            words: "I write the tasks.".into(),
            calls: missing.iter().take(7).map(call).collect(),
        };
    }
    let there = with("spawn_teammate", "name");
    let missing: Vec<&str> = MATES.into_iter().filter(|m| !there.contains(*m)).collect();
    if !missing.is_empty() {
        let call = |m: &&str| {
            let input = json!({"name": m, "role": "writer"});
            ("spawn_teammate".to_string(), input)
        };
        return Reply {
            words: "I call the team.".into(),
            calls: missing.iter().map(call).collect(),
        };
    }
    Reply::words("The team is at work, or has done it.")
}

fn mate(talk: &Talk) -> Reply {
    let number = |text: &str| -> Option<u64> {
        let (_, rest) = text.split_once("Task #")?;
        rest.split(|c: char| !c.is_ascii_digit())
            .next()?
            .parse()
            .ok()
    };
    let task =
        |text: &str| text.starts_with("<auto-claimed>") || text.starts_with("<reminder>Task #");
    let Some((text, steps)) = talk.since(task) else {
        return Reply::words("I am ready.");
    };
    let Some(id) = number(text) else {
        return Reply::words("What task?");
    };
    let has = |tool: &str| {
        done(steps).any(|(t, _, r)| t == tool && (worked(r) || r.contains("is completed")))
    };
    if !has("write_file") && !has("task_update") {
        let path = format!("out/{id}.txt");
        let content = format!("{} wrote this.\n", talk.agent);
        return Reply::call("", "write_file", json!({"path": path, "content": content}));
    }
    if id.is_multiple_of(4) && !has("send_message") {
        let at = MATES.iter().position(|m| *m == talk.agent).unwrap_or(0);
        let to = MATES[(at + 1) % MATES.len()];
        let content = format!("Note {id} is written.");
        return Reply::call(
            "They should know.",
            "send_message",
            json!({"to": to, "content": content}),
        );
    }
    if !has("task_update") {
        return Reply::call(
            "Written.",
            "task_update",
            json!({"task_id": id, "status": "completed"}),
        );
    }
    let heard = steps.iter().any(|s| matches!(s, Step::Heard(_)));
    Reply::words(if heard { "Thank you." } else { "It is done." })
}
