//! What the fields of a role's file change for teammates and subagents: model calls, model, effort, skills and color.

use std::sync::Mutex;

use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use wiremock::{Request, Respond, ResponseTemplate};

use super::{answer, requests_to};
use crate::common::project::Project;

const RULES: &str = r"rules:
  - agent: lead
    when: begin
    calls: [{ tool: task, input: { prompt: look, role: limited } }]
  - agent: bob
    when: .
    calls: [{ tool: bash, input: { command: echo x >> steps } }]
    times: 0
  - say: done
    times: 0
";

const ROLE: &str =
    "---\nname: limited\ndescription: Works\neffort: ultra\nmaxTurns: 3\ncolor: pink\n---\nWork.";

#[test]
fn teammate_gets_the_turn_limit_color_and_notices_of_its_role() {
    let project = Project::git();
    project.write(".claude/agents/limited.md", ROLE);
    let member = "[[members]]\nname = \"bob\"\nrole = \"limited\"\nprompt = \"go\"\n";
    project.write(".crewdeck/teams/web.toml", member);
    project.write("rules.yaml", RULES);
    let args = [
        "run",
        "begin",
        "--provider",
        "script:rules.yaml",
        "--team",
        "web",
    ];
    let ran = project.run(&[&args[..], &["--json", "--tool", "auto"]].concat());
    let events: Vec<Value> = ran
        .out()
        .lines()
        .map(|l| serde_json::from_str(l).unwrap())
        .collect();
    let of_type = |name: &'static str| events.iter().filter(move |e| e["type"] == name);

    // Bob calls a tool in each answer, so only the limit ends his turn.
    let steps = std::fs::read_to_string(project.file("steps")).unwrap_or_default();
    assert_eq!(steps.lines().count(), 3, "{}", ran.err());
    let ends: Vec<&Value> = of_type("turn_ended")
        .filter(|e| e["agent"] == "bob")
        .collect();
    let why = "the turn reached its limit of 3 model calls";
    assert!(ends.iter().any(|e| e.to_string().contains(why)), "{ends:?}");

    let is_pink = |e: &Value| {
        let mut members = e["team"]["members"].as_array().into_iter().flatten();
        members.any(|m| m["name"] == "bob" && m["color"] == "pink")
    };
    assert!(of_type("team_changed").any(is_pink), "{events:?}");
    let subagents: Vec<&Value> = of_type("subagent_started").map(|e| &e["color"]).collect();
    assert_eq!(subagents, ["pink"]);

    // Two agents have the role; its notice is published once.
    let notice = "Role limited: .claude/agents/limited.md:4: effort ultra is unknown";
    let notices = of_type("notice").filter(|e| e["text"].as_str().unwrap().starts_with(notice));
    assert_eq!(notices.count(), 1, "{events:?}");
}

/// A model whose lead delegates a task to the role `limited`, and whose subagent calls a tool in each answer.
struct Delegating(Mutex<u32>);

impl Respond for Delegating {
    fn respond(&self, request: &Request) -> ResponseTemplate {
        let body: Value = serde_json::from_slice(&request.body).unwrap();
        let messages = body["messages"].as_array().unwrap();
        let is_lead = messages[0].to_string().contains("You are the lead");
        let (tool, input) = match (is_lead, messages.len()) {
            (true, 2) => ("task", json!({"prompt": "look", "role": "limited"})),
            (true, _) => return answer(),
            (false, _) => ("read_file", json!({"path": "a.txt"})),
        };
        let mut calls = self.0.lock().unwrap();
        *calls += 1;
        let function = json!({"name": tool, "arguments": input.to_string()});
        let call = json!({"index": 0, "id": format!("c{calls}"), "type": "function", "function": function});
        let chunk = |delta: Value, reason: Value| {
            let choice = json!({"index": 0, "delta": delta, "finish_reason": reason});
            let chunk = json!({"id": "1", "object": "chat.completion.chunk", "choices": [choice]});
            format!("data: {chunk}\n\n")
        };
        let text = chunk(
            json!({"role": "assistant", "tool_calls": [call]}),
            Value::Null,
        ) + &chunk(json!({}), json!("tool_calls"))
            + "data: [DONE]\n\n";
        ResponseTemplate::new(200).set_body_raw(text, "text/event-stream")
    }
}

#[test]
fn task_gives_a_subagent_the_model_skills_effort_and_limit_of_its_role() {
    let project = Project::git();
    project.write("a.txt", "one\n");
    project.write(
        "skills/own/SKILL.md",
        "---\nname: own\n---\nText of the skill.",
    );
    project.write(
        ".claude/agents/limited.md",
        "---\nname: limited\ndescription: Looks\nmodel: small\neffort: low\nskills: own\nmaxTurns: 2\n---\nLook closely.",
    );
    let (all, ended) = requests_to(Delegating(Mutex::new(0)), &project, "begin", &[]);
    let is_lead = |r: &&Value| r["messages"][0].to_string().contains("You are the lead");
    let (lead, subagent): (Vec<&Value>, Vec<&Value>) = all.iter().partition(is_lead);
    assert_eq!((lead.len(), subagent.len()), (2, 2), "{ended:?}");
    for request in &subagent {
        assert_eq!(request["model"], "small");
        assert_eq!(request["reasoning_effort"], "low");
        let system = request["messages"][0]["content"].as_str().unwrap();
        for part in [
            "You are a subagent of 'lead'",
            "Look closely.",
            "Text of the skill.",
        ] {
            assert!(system.contains(part), "no {part}: {system}");
        }
    }
    assert!(subagent[1].to_string().contains("This is your last step"));
    assert_eq!(
        (&lead[0]["model"], lead[0].get("reasoning_effort")),
        (&json!("m"), None)
    );
    let result = lead[1]["messages"].as_array().unwrap().last().unwrap();
    let why = "the subagent ended without an answer: the turn reached its limit of 2 model calls";
    assert!(result.to_string().contains(why), "{result}");
}
