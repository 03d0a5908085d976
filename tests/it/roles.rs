//! Roles, slash commands and team presets end to end: a corpus of files, `crewdeck agents`, and the requests of agents
//! with roles.

mod effects;

use std::fmt::Write;
use std::path::Path;

use crewdeck::domain::role::RoleSource;
use crewdeck::store::{Roles, Skills};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use wiremock::matchers::method;
use wiremock::{Mock, MockServer, ResponseTemplate};

use crate::common::project::Project;
use crate::common::pty::Screen;

fn corpus(name: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/fixtures/roles")
        .join(name)
}

/// Copies a folder of the corpus into a project.
fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap().flatten() {
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).unwrap();
        }
    }
}

#[test]
fn corpus_is_read_as_expected() {
    let project = Project::new();
    copy(&corpus("agents"), &project.path().join(".claude/agents"));
    copy(
        &corpus("commands"),
        &project.path().join(".claude/commands"),
    );
    // These two files are made here, because they are no text and too large for the corpus.
    let agents = project.path().join(".claude/agents");
    std::fs::write(agents.join("latin-1.md"), b"---\nname: pr\xfcfer\n---\nDo.").unwrap();
    std::fs::write(agents.join("too-large.md"), "x".repeat(256 * 1024 + 1)).unwrap();
    let mut out = String::new();
    let catalog = Roles::open(project.path(), None, crewdeck::tools::table::names()).read();
    for role in catalog
        .roles
        .iter()
        .filter(|r| r.source != RoleSource::BuiltIn)
    {
        let mut value = serde_json::to_value(role).unwrap();
        let fields = value.as_object_mut().unwrap();
        let description = role.description.chars().take(60).collect::<String>();
        fields.insert("description".into(), description.into());
        fields.insert("prompt".into(), role.prompt.len().into());
        fields.remove("source");
        fields.retain(|_, v| !v.is_null() && *v != json!([]) && *v != json!(""));
        writeln!(out, "{value}").unwrap();
    }
    for broken in &catalog.broken {
        writeln!(out, "broken {}: {}", broken.path, broken.why).unwrap();
    }
    let skills = Skills::open(project.path(), None);
    let catalog = skills.read();
    for command in catalog.commands.iter().filter(|c| !c.path.is_empty()) {
        let text = skills
            .expand(&format!("/{} one \"two three\"", command.name))
            .unwrap()
            .expansion;
        let text = text
            .text
            .replace(&*project.path().to_string_lossy(), "ROOT");
        writeln!(
            out,
            "/{} {} | {} | {text:?}",
            command.name, command.hint, command.description
        )
        .unwrap();
    }
    for broken in &catalog.broken {
        writeln!(out, "broken {}: {}", broken.path, broken.why).unwrap();
    }
    let expected = corpus("expected.txt");
    if std::env::var_os("UPDATE_CORPUS").is_some() {
        std::fs::write(&expected, &out).unwrap();
    }
    assert_eq!(std::fs::read_to_string(expected).unwrap(), out);
}

#[test]
fn agents_are_listed_and_shown() {
    let project = Project::git();
    let built_in = project.json(&["agents", "list"]);
    let names: Vec<&Value> = built_in
        .as_array()
        .unwrap()
        .iter()
        // The external agents are in the list too.
        .filter(|r| r["type"] == "role")
        .map(|r| &r["name"])
        .collect();
    assert_eq!(names, ["implementer", "reviewer", "tester"]);
    for agent in built_in.as_array().unwrap() {
        match agent["type"].as_str().unwrap() {
            "role" => assert!(agent["source"].is_string(), "{agent}"),
            "external" => {
                assert_eq!(agent["installed"], agent["path"].is_string(), "{agent}");
                assert!(!agent["install"].as_str().unwrap().is_empty(), "{agent}");
            }
            other => panic!("{other}"),
        }
    }
    std::fs::create_dir_all(project.path().join(".claude/agents")).unwrap();
    project.write(
        ".claude/agents/a.md",
        "---\nname: mine\ndescription: Does it\ntools: Read, WebSearch\nmaxTurns: 3\n---\nDo it.",
    );
    project.write(".claude/agents/b.md", "---\nname: [\n---\n");
    let listed = project.run(&["agents", "list"]);
    assert!(
        listed.out().contains("mine (project, 1 notice): Does it\n"),
        "{}",
        listed.out()
    );
    assert!(
        listed
            .err()
            .contains("crewdeck: .claude/agents/b.md: line "),
        "{}",
        listed.err()
    );
    let shown = project.json(&["agents", "show", "Mine"]);
    assert_eq!(
        (&shown["tools"], &shown["maxTurns"], &shown["source"]),
        (&json!(["read_file"]), &json!(3), &json!("claude"))
    );
    let text = project.run(&["agents", "show", "mine"]).out();
    assert!(
        text.contains("notice: .claude/agents/a.md:4: crewdeck has no tool WebSearch"),
        "{text}"
    );
    let why = project.expect_refusal(&["agents", "show", "zzz"]);
    assert!(
        why.contains("there is no role or external agent 'zzz'"),
        "{why}"
    );
    let why = project.expect_refusal(&["agents", "show", "b"]);
    assert!(why.contains(".claude/agents/b.md: line "), "{why}");
    let why = project.expect_refusal(&["run", "x", "--provider", "script:x", "--team", "web"]);
    assert!(
        why.contains("--team: there is no team preset 'web'"),
        "{why}"
    );
}

/// Returns the bodies of all requests of `crewdeck run PROMPT OPTIONS` to a server that answers every request with a
/// short text.
fn requests(project: &Project, prompt: &str, options: &[&str]) -> Vec<Value> {
    requests_to(answer(), project, prompt, options).0
}

pub fn answer() -> ResponseTemplate {
    let text = "data: {\"id\":\"1\",\"object\":\"chat.completion.chunk\",\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"Done.\"},\"finish_reason\":null}]}\n\n\
                  data: {\"id\":\"1\",\"object\":\"chat.completion.chunk\",\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";
    ResponseTemplate::new(200).set_body_raw(text, "text/event-stream")
}

/// As [`requests`], with a server that answers as `responder` does. Also returns how the program ended.
pub fn requests_to(
    responder: impl wiremock::Respond + 'static,
    project: &Project,
    prompt: &str,
    options: &[&str],
) -> (Vec<Value>, std::process::Output) {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let server = runtime.block_on(async {
        let server = MockServer::start().await;
        Mock::given(method("POST"))
            .respond_with(responder)
            .mount(&server)
            .await;
        server
    });
    let url = format!("{}/v1", server.uri());
    let mut args = vec![
        "run",
        prompt,
        "--provider",
        "openai",
        "--base-url",
        &url,
        "--model",
        "m",
    ];
    args.extend(options);
    let ended = project.command(&args).output().unwrap();
    let requests = runtime.block_on(server.received_requests()).unwrap();
    assert!(!requests.is_empty(), "{ended:?}");
    let bodies = requests
        .iter()
        .map(|r| serde_json::from_slice(&r.body).unwrap());
    (bodies.collect(), ended)
}

fn tools(request: &Value) -> Vec<&str> {
    let tools = request["tools"].as_array().unwrap().iter();
    tools
        .map(|t| t["function"]["name"].as_str().unwrap())
        .collect()
}

/// Returns the first request of the agent whose system prompt begins with `start`.
fn of<'a>(requests: &'a [Value], start: &str) -> &'a Value {
    let found = requests.iter().find(|r| {
        r["messages"][0]["content"]
            .as_str()
            .is_some_and(|s| s.starts_with(start))
    });
    found.unwrap_or_else(|| panic!("no request of {start}: {requests:?}"))
}

#[test]
fn preset_members_get_what_their_role_says() {
    let project = Project::git();
    for folder in [
        ".claude/agents",
        ".crewdeck/teams",
        ".claude/commands",
        "skills/own",
    ] {
        std::fs::create_dir_all(project.path().join(folder)).unwrap();
    }
    project.write("AGENTS.md", "Memory of the project.");
    project.write(
        "skills/own/SKILL.md",
        "---\nname: own\n---\nText of the skill.",
    );
    project.write(".claude/commands/greet.md", "Greet $1 politely.");
    project.write(
        ".claude/agents/checker.md",
        "---\nname: checker\ndescription: Checks\ntools: Read\ndisallowedTools: TaskCreate\nmodel: small\nskills: own\n---\nCheck everything.",
    );
    project.write(
        ".crewdeck/teams/web.toml",
        "lead = \"delegate\"\n[[members]]\nname = \"alice\"\nrole = \"checker\"\n[[members]]\nrole = \"free text\"\n",
    );
    let all = requests(&project, "/greet bob", &["--team", "web"]);
    let alice = of(&all, "You are 'alice', role: checker");
    let system = alice["messages"][0]["content"].as_str().unwrap();
    for part in [
        "Check everything.",
        "Text of the skill.",
        "Memory of the project.",
    ] {
        assert!(system.contains(part), "no {part}: {system}");
    }
    assert_eq!(alice["model"], "small");
    let names = tools(alice);
    assert!(
        names.contains(&"read_file") && names.contains(&"task_update"),
        "{names:?}"
    );
    for gone in ["bash", "grep", "edit_file", "task_create", "task"] {
        assert!(!names.contains(&gone), "{gone}: {names:?}");
    }
    let other = of(&all, "You are 'free-text', role: free text");
    assert!(tools(other).contains(&"bash") && other["model"] == "m");
    let lead = of(&all, "You are the lead");
    assert!(!tools(lead).contains(&"bash") && tools(lead).contains(&"spawn_teammate"));
    let text = lead.to_string();
    assert!(
        text.contains("- checker: Checks") && text.contains("Greet bob politely."),
        "{text}"
    );
}

/// Answers as [`requests`] does, but refuses requests with an effort.
struct Plain;

impl wiremock::Respond for Plain {
    fn respond(&self, request: &wiremock::Request) -> ResponseTemplate {
        let body: Value = serde_json::from_slice(&request.body).unwrap();
        if body.get("reasoning_effort").is_none() {
            return answer();
        }
        let message = "Unrecognized request argument supplied: reasoning_effort";
        ResponseTemplate::new(400).set_body_json(json!({"error": {"message": message}}))
    }
}

#[test]
fn effort_of_a_role_is_sent_and_left_out_where_it_is_refused() {
    let project = Project::git();
    project.write(
        ".claude/agents/thinker.md",
        "---\nname: thinker\ndescription: Thinks\neffort: high\n---\nThink.",
    );
    let member = "[[members]]\nname = \"alice\"\nrole = \"thinker\"\n";
    project.write(".crewdeck/teams/web.toml", member);
    let all = requests(&project, "begin", &["--team", "web"]);
    let alice = of(&all, "You are 'alice', role: thinker");
    assert_eq!(alice["reasoning_effort"], "high");
    assert_eq!(of(&all, "You are the lead").get("reasoning_effort"), None);

    let project = Project::git();
    project.write(
        ".claude/agents/thinker.md",
        "---\nname: thinker\ndescription: Thinks\neffort: high\n---\nThink.",
    );
    project.write(".crewdeck/teams/web.toml", member);
    let (all, ended) = requests_to(Plain, &project, "begin", &["--team", "web"]);
    let is_alice = |r: &&Value| {
        r["messages"][0]["content"]
            .as_str()
            .is_some_and(|s| s.contains("alice', role"))
    };
    let efforts: Vec<_> = all
        .iter()
        .filter(is_alice)
        .map(|r| r.get("reasoning_effort").is_some())
        .collect();
    assert_eq!(efforts[..2], [true, false]);
    assert!(
        efforts[1..].iter().all(|has_effort| !has_effort),
        "{efforts:?}"
    );
    let err = String::from_utf8_lossy(&ended.stderr).into_owned();
    let notices =
        err.matches("The model m accepts no effort level, so effort high of alice is ignored.");
    assert_eq!(notices.count(), 1, "{err}");
    assert_eq!(ended.status.code(), Some(0), "{err}");
}

/// Answers as [`requests`] does, but refuses efforts above `high`, without naming the field in the message.
struct UpToHigh;

impl wiremock::Respond for UpToHigh {
    fn respond(&self, request: &wiremock::Request) -> ResponseTemplate {
        let body: Value = serde_json::from_slice(&request.body).unwrap();
        if body["reasoning_effort"] != "xhigh" {
            return answer();
        }
        let message = "Unsupported value: 'xhigh' is not supported with the 'm' model. Supported values are: 'none', 'low', 'medium', and 'high'.";
        ResponseTemplate::new(400).set_body_json(json!({"error": {"message": message,
            "type": "invalid_request_error", "param": "reasoning_effort", "code": "unsupported_value"}}))
    }
}

#[test]
fn refused_effort_is_lowered_to_one_that_the_model_accepts() {
    let project = Project::git();
    project.write(
        ".claude/agents/thinker.md",
        "---\nname: thinker\ndescription: Thinks\neffort: max\n---\nThink.",
    );
    let member = "[[members]]\nname = \"alice\"\nrole = \"thinker\"\n";
    project.write(".crewdeck/teams/web.toml", member);
    let (all, ended) = requests_to(UpToHigh, &project, "begin", &["--team", "web"]);
    let is_alice = |r: &&Value| {
        let system = r["messages"][0]["content"].as_str();
        system.is_some_and(|s| s.contains("alice', role"))
    };
    let efforts: Vec<_> = all
        .iter()
        .filter(is_alice)
        .map(|r| r["reasoning_effort"].as_str())
        .collect();
    assert_eq!(efforts[..2], [Some("xhigh"), Some("high")]);
    assert!(
        efforts[1..].iter().all(|effort| *effort == Some("high")),
        "{efforts:?}"
    );
    let err = String::from_utf8_lossy(&ended.stderr).into_owned();
    let notices = err.matches("The model m does not accept effort max, so alice uses effort high.");
    assert_eq!(notices.count(), 1, "{err}");
    assert_eq!(ended.status.code(), Some(0), "{err}");
}

#[test]
fn preset_lead_delegates_in_every_later_run_of_the_session() {
    let project = Project::git();
    std::fs::create_dir_all(project.path().join(".crewdeck/teams")).unwrap();
    project.write(".crewdeck/teams/web.toml", "lead = \"delegate\"\n");
    let lead_has_bash = |prompt: &str, options: &[&str]| {
        let all = requests(&project, prompt, options);
        tools(of(&all, "You are the lead")).contains(&"bash")
    };
    assert!(!lead_has_bash("begin", &["--team", "web"]));
    assert!(!lead_has_bash("go on", &["--resume"]));
    assert!(!lead_has_bash("and on", &["--resume"]));
    assert!(lead_has_bash("another session", &[]));
}

#[test]
fn teammate_does_not_start_with_a_broken_role() {
    let project = Project::git();
    for folder in [".claude/agents", ".crewdeck/teams"] {
        std::fs::create_dir_all(project.path().join(folder)).unwrap();
    }
    project.write(
        ".claude/agents/checker.md",
        "---\nname: checker\ndescription: Checks\ndisallowed-tools: Bash\n---\nCheck.",
    );
    project.write(
        ".crewdeck/teams/web.toml",
        "[[members]]\nname = \"alice\"\nrole = \"Checker\"\n[[members]]\nname = \"bob\"\nrole = \"reviewer\"\n",
    );
    let all = requests(&project, "hello", &["--team", "web"]);
    let systems = all
        .iter()
        .filter_map(|r| r["messages"][0]["content"].as_str());
    assert!(systems.clone().all(|s| !s.starts_with("You are 'alice'")));
    let bob = of(&all, "You are 'bob', role: reviewer");
    for gone in ["bash", "background_run", "write_file", "edit_file"] {
        assert!(!tools(bob).contains(&gone), "{gone}");
    }
}

#[test]
fn nothing_is_added_without_roles() {
    let project = Project::git();
    let all = requests(&project, "hello", &[]);
    let text = all[0].to_string();
    assert!(
        !text.contains("Roles for") && !text.contains("<role") && !text.contains("<command"),
        "{text}"
    );
}

#[test]
fn preset_joins_a_running_crew() {
    let project = Project::repository(&[("a.txt", "one\n")]);
    project.write(
        "rules.yaml",
        "rules:\n  - say: all finished\n    times: 0\n",
    );
    project.write(
        ".crewdeck/teams/web.toml",
        "lead = \"delegate\"\n[[members]]\nname = \"alice\"\nrole = \"tester\"\n[[members]]\nrole = \"reviewer\"\ncount = 2\n",
    );
    let args = ["--provider", "script:rules.yaml"];
    let mut screen = Screen::start(project.path(), 120, 35, &args);
    screen.wait_for("script");
    screen.send_and_wait_for("/team none\r", "there is no team preset 'none'");
    screen.send("/team web\r");
    screen.wait("the members", |text| {
        ["alice", "reviewer-1", "reviewer-2"]
            .iter()
            .all(|name| text.contains(name))
    });
    let members = project.json(&["team", "list"]);
    let members: Vec<(&str, &str)> = members
        .as_array()
        .unwrap()
        .iter()
        .map(|member| {
            (
                member["name"].as_str().unwrap(),
                member["role"].as_str().unwrap(),
            )
        })
        .collect();
    let expected = [
        ("alice", "tester"),
        ("reviewer-1", "reviewer"),
        ("reviewer-2", "reviewer"),
    ];
    assert_eq!(members, expected);
    screen.send("\x03\x03\x03");
    let (status, is_clean) = screen.wait_for_exit();
    assert!(status.success() && is_clean);
}
