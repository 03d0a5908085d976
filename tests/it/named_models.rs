//! Named models in a whole crew: which agent calls which model, what happens if one fails, and what `doctor` says.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use crewdeck::app::now;
use crewdeck::crew::Crew;
use crewdeck::domain::ids::Name;
use crewdeck::model::script::Script;
use crewdeck::protocol::event::{CrewEvent, EventKind};
use crewdeck::protocol::{Command, CommandIds, bus};
use serde_json::{Value, json};
use wiremock::matchers::method;
use wiremock::{Mock, MockServer, Request, Respond, ResponseTemplate};

use crate::common::crew::crew_parts;
use crate::common::project::Project;

/// The lead spawns alice, who answers with the text of the model that she uses.
const LEAD: &str = r"
model: lead-script
rules:
  - agent: lead
    when: ^go$
    calls:
      - { tool: spawn_teammate, input: { name: alice, prompt: report } }
  - agent: alice
    say: alice speaks with the model of the lead
  - { times: 0, say: Done. }
";

const OTHER: &str = r"
model: other-script
rules:
  - { times: 0, say: spoken by the other model }
";

struct Events(Vec<Value>);

impl Events {
    fn parse(out: &str) -> Events {
        let event = |line: &str| serde_json::from_str(line).unwrap();
        Events(out.lines().map(event).collect())
    }

    /// Returns the models of an agent, in the order in which it used them.
    fn models(&self, agent: &str) -> Vec<&str> {
        let changed = self.0.iter().filter(|e| e["type"] == "model_changed");
        let own = changed.filter(|e| e["agent"] == agent);
        own.map(|e| e["model"].as_str().unwrap()).collect()
    }

    fn said(&self, agent: &str) -> Vec<&str> {
        let said = self.0.iter().filter(|e| e["type"] == "said");
        let own = said.filter(|e| e["agent"] == agent);
        own.map(|e| e["text"].as_str().unwrap()).collect()
    }

    fn notices(&self) -> Vec<&str> {
        let notices = self.0.iter().filter(|e| e["type"] == "notice");
        notices.map(|e| e["text"].as_str().unwrap()).collect()
    }

    fn tool_output(&self, tool: &str) -> &str {
        let ended = |e: &&Value| e["type"] == "tool_finished" && e["tool"] == tool;
        self.0.iter().find(ended).unwrap()["output"]
            .as_str()
            .unwrap()
    }
}

fn project(settings: &str) -> Project {
    let project = Project::repository(&[("a.txt", "one\n")]);
    project.write("lead.yaml", LEAD);
    project.write("other.yaml", OTHER);
    project.write_user_settings(settings);
    project
}

fn run(project: &Project, options: &[&str]) -> Events {
    let ran = project.run(&[&["run", "go", "--json"], options].concat());
    Events::parse(&ran.out())
}

#[test]
fn each_kind_of_agent_uses_the_model_of_the_settings() {
    let project = project(
        "[models.boss]\nprovider = 'script:lead.yaml'\n[models.cheap]\nprovider = 'script:other.yaml'\neffort = 'low'\n[use]\nlead = 'boss'\nteammate = 'cheap'\n",
    );
    let events = run(&project, &[]);
    assert_eq!(events.models("lead"), ["lead-script"]);
    assert_eq!(events.models("alice"), ["other-script"]);
    assert_eq!(events.said("alice"), ["spoken by the other model"]);
    let of_alice = |e: &&Value| e["type"] == "model_changed" && e["agent"] == "alice";
    let change = events.0.iter().find(of_alice).unwrap();
    assert_eq!(change["effort"], "low");
}

#[test]
fn option_model_selects_a_named_model_and_overrides_the_setting() {
    let project = project(
        "[models.boss]\nprovider = 'script:lead.yaml'\n[models.cheap]\nprovider = 'script:other.yaml'\n[use]\nlead = 'cheap'\n",
    );
    let events = run(&project, &["--model", "boss"]);
    assert_eq!(events.models("lead"), ["lead-script"]);
    // Without a model of its own, a teammate uses that of the lead.
    assert_eq!(
        events.said("alice"),
        ["alice speaks with the model of the lead"]
    );
}

#[test]
fn teammate_whose_model_has_no_key_is_not_started() {
    let project = project(
        "[models.strong]\nprovider = 'anthropic'\nkey_var = 'MISSING_API_KEY'\n[use]\nteammate = 'strong'\n",
    );
    let events = run(&project, &["--provider", "script:lead.yaml"]);
    let output = events.tool_output("spawn_teammate");
    assert!(
        output.contains("the model 'strong' cannot be used: There is no API key")
            && output.contains("export MISSING_API_KEY=…"),
        "{output}"
    );
}

#[test]
fn failing_model_is_replaced_by_its_fallback_within_the_turn() {
    // The port is closed again, so that connections to it are refused.
    let port = std::net::TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .port();
    let settings = |fallback: &str| {
        format!(
            "[models.down]\nbase_url = 'http://127.0.0.1:{port}/v1'\nmodel = 'gone'\n{fallback}\n[models.cheap]\nprovider = 'script:other.yaml'\n[use]\nlead = 'down'\n"
        )
    };
    let with = project(&settings("fallback = 'cheap'"));
    let events = run(&with, &[]);
    assert_eq!(events.models("lead"), ["gone", "other-script"]);
    assert_eq!(events.said("lead"), ["spoken by the other model"]);
    let notices = events.notices();
    assert!(
        notices
            .iter()
            .any(|text| text.starts_with("gone has failed: ")
                && text.contains("lead continues with other-script")),
        "{notices:#?}"
    );
    let without = project(&settings(""));
    let ran = without.run(&["run", "go"]);
    assert_eq!(ran.code(), 1, "{}", ran.err());
}

#[test]
fn fallback_and_summary_model_that_cannot_be_used_are_named() {
    let project = project(
        "[models.down]\nprovider = 'script:down.yaml'\nfallback = 'keyless'\n[models.keyless]\nprovider = 'anthropic'\nkey_var = 'MISSING_API_KEY'\n[use]\nlead = 'down'\n",
    );
    project.write("down.yaml", "rules: [{ times: 0, fault: { status: 401 } }]");
    let ran = project.run(&["run", "go"]);
    assert_eq!(ran.code(), 1);
    let expected = "it has no fallback: the model 'keyless' cannot be used: There is no API key";
    assert!(ran.err().contains(expected), "{}", ran.err());
}

#[test]
fn doctor_checks_the_named_models() {
    let project = project(
        "[models.boss]\nprovider = 'script:lead.yaml'\n[models.strong]\nprovider = 'anthropic'\nkey_var = 'MISSING_API_KEY'\n[models.odd]\nbase_url = 'http://127.0.0.1:9/v1'\nheaders = { X-Team = '${UNSET_TEAM}' }\n[use]\nlead = 'boss'\n",
    );
    let out = project.run(&["doctor"]).out();
    for expected in [
        "boss: scripted: lead.yaml",
        "strong cannot be used: There is no API key",
        "odd cannot be used: the header X-Team needs the variable UNSET_TEAM",
    ] {
        assert!(out.contains(expected), "{expected}\n{out}");
    }
}

#[test]
fn key_of_the_provider_goes_to_all_addresses_of_its_vendor_only() {
    let address = |name: &str, provider: &str, url: &str| {
        format!("[models.{name}]\nprovider = '{provider}'\nbase_url = '{url}'\n")
    };
    let settings = [
        address("az", "azure", "https://r.openai.azure.com"),
        address("az2", "azure", "https://r.services.ai.azure.com/openai/v1"),
        address("plain", "azure", "http://r.openai.azure.com"),
        address("claude", "anthropic", "https://api.anthropic.com"),
        address("proxy", "anthropic", "https://models.example.com"),
    ];
    let project = project(&settings.concat());
    let mut command = project.command(&["doctor", "--provider", "script:lead.yaml"]);
    let none = String::from_utf8(command.output().unwrap().stdout).unwrap();
    command.env("AZURE_OPENAI_API_KEY", "key");
    command.env("ANTHROPIC_API_KEY", "key");
    let with = String::from_utf8(command.output().unwrap().stdout).unwrap();
    for name in ["az", "az2", "claude"] {
        let refused = format!("{name} cannot be used: There is no API key");
        assert!(none.contains(&refused), "{refused}\n{none}");
        assert!(with.contains(&format!("{name}: {name} of ")), "{with}");
    }
    for (name, server) in [
        ("plain", "azure at http://r.openai.azure.com"),
        ("proxy", "anthropic at https://models.example.com"),
    ] {
        let keyless = format!("{name}: {name} of {server}, no key is sent (key_var is not set)");
        assert!(none.contains(&keyless), "{keyless}\n{none}");
        assert!(with.contains(&keyless), "{keyless}\n{with}");
    }
}

#[test]
fn doctor_names_the_variable_of_the_key_that_is_sent() {
    let project = project(
        "[models.proxy]\nprovider = 'anthropic'\nbase_url = 'http://127.0.0.2:9'\nkey_var = 'PROXY_API_KEY'\n[models.own]\nprovider = 'anthropic'\nkey_var = 'MY_API_KEY'\n[use]\nlead = 'proxy'\n",
    );
    let mut command = project.command(&["doctor"]);
    command.env("PROXY_API_KEY", "key").env("MY_API_KEY", "key");
    let ran = command.output().unwrap();
    let err = String::from_utf8(ran.stderr).unwrap();
    let sent = "the API key in PROXY_API_KEY is sent to http://127.0.0.2:9";
    assert!(err.contains(sent), "{err}");
    let out = String::from_utf8(ran.stdout).unwrap();
    for expected in [
        "proxy: proxy of anthropic at http://127.0.0.2:9, with the key in PROXY_API_KEY",
        "own: own of anthropic at https://api.anthropic.com",
    ] {
        assert!(out.contains(expected), "{expected}\n{out}");
    }
}

#[test]
fn model_of_the_project_can_fall_back_to_one_of_the_user() {
    let project = project("[models.own]\nprovider = 'script:other.yaml'\n");
    project.write(
        ".crewdeck/config.toml",
        "[models.shared]\nprovider = 'script:lead.yaml'\nfallback = 'own'\n",
    );
    let run = |args: &[&str]| {
        project.run(&[&["run", "go", "--provider", "script:other.yaml"], args].concat())
    };
    let approved = project.run(&["trust", "--yes"]);
    let ran = run(&[]);
    assert_eq!(ran.code(), 0, "{}{}", ran.err(), approved.err());
}

#[test]
fn invalid_named_models_are_reported_with_the_remedy() {
    for (settings, expected) in [
        (
            "[models.a]\nprovder = 'openai'",
            "unknown setting 'models.a.provder': did you mean 'provider'?",
        ),
        (
            "[models.a]\nprovider = 'opnai'",
            "models.a.provider is 'opnai': use anthropic,",
        ),
        (
            "[models.a]\nkey_var = 'MINE'",
            "models.a.key_var is 'MINE': choose a variable whose name says that it is a key",
        ),
        (
            "[models.a]\nfallback = 'b'\n[models.b]\nfallback = 'a'",
            "models.a.fallback leads back to 'a'",
        ),
        (
            "[models.a]\nfallback = 'c'",
            "models.a.fallback is 'c', which is no entry of models",
        ),
        (
            "[models.'a b']",
            "models has an entry 'a b': use the characters",
        ),
        (
            "[use]\nled = 'a'",
            "unknown setting 'use.led': did you mean 'lead'?",
        ),
    ] {
        let project = project(settings);
        let error = project.expect_refusal(&["run", "go"]);
        assert!(error.contains(expected), "{settings}\n{error}");
    }
}

/// A model server whose first answer thinks and asks for a compaction of the conversation.
#[derive(Default)]
struct ThinkingServer(AtomicUsize);

impl Respond for ThinkingServer {
    fn respond(&self, _: &Request) -> ResponseTemplate {
        let call = |id: &str, name: &str, input: Value| json!({"type": "tool_use", "id": id, "name": name, "input": input});
        let content = match self.0.fetch_add(1, Ordering::SeqCst) {
            0 => json!([
                {"type": "thinking", "thinking": "hm", "signature": "sig-own"},
                call("a", "bash", json!({"command": "seq 1000"})),
                call("b", "compact", json!({})),
            ]),
            1 => json!([{"type": "text", "text": "The numbers are printed."}]),
            _ => json!([{"type": "text", "text": "Done."}]),
        };
        ResponseTemplate::new(200).set_body_json(json!({"type": "message", "content": content}))
    }
}

#[test]
fn summary_is_requested_with_the_thinking_of_the_conversation() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let server = runtime.block_on(async {
        let server = MockServer::start().await;
        let mock = Mock::given(method("POST")).respond_with(ThinkingServer::default());
        mock.mount(&server).await;
        server
    });
    let project = project(&format!(
        "[models.boss]\nprovider = 'anthropic'\nbase_url = '{}'\nmodel = 'm'\nthinking_budget = 2048\n[use]\nlead = 'boss'\n",
        server.uri()
    ));
    let ran = project.run(&["run", "go", "--tool", "auto"]);
    assert_eq!(ran.code(), 0, "{}", ran.err());
    let requests = runtime.block_on(server.received_requests()).unwrap();
    let bodies: Vec<Value> = requests
        .iter()
        .map(|r| serde_json::from_slice(&r.body).unwrap())
        .collect();
    let summary = &bodies[1];
    assert!(
        summary
            .to_string()
            .contains("Write down the state of this work"),
        "{summary}"
    );
    // Otherwise the server refuses the thinking of the last answer.
    assert_eq!(summary["thinking"]["budget_tokens"], 2048);
    assert_eq!(summary["messages"][1]["content"][0]["signature"], "sig-own");
}

#[test]
fn thinking_budget_becomes_an_effort_where_there_is_no_such_limit() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let server = runtime.block_on(async {
        let server = MockServer::start().await;
        let answer =
            json!({"choices": [{"message": {"content": "Fine."}, "finish_reason": "stop"}]});
        let answer = ResponseTemplate::new(200).set_body_json(answer);
        let mock = Mock::given(method("POST")).respond_with(answer);
        mock.mount(&server).await;
        server
    });
    for (options, expected) in [
        ("thinking_budget = 8000", "medium"),
        ("thinking_budget = 8000\neffort = 'low'", "low"),
    ] {
        let project = project(&format!(
            "[models.boss]\nbase_url = '{}/v1'\nmodel = 'm'\n{options}\n[use]\nlead = 'boss'\n",
            server.uri()
        ));
        let ran = project.run(&["run", "go"]);
        assert_eq!(ran.code(), 0, "{}", ran.err());
        let requests = runtime.block_on(server.received_requests()).unwrap();
        let body: Value = serde_json::from_slice(&requests.last().unwrap().body).unwrap();
        assert_eq!(body["reasoning_effort"], expected);
    }
}

/// Runs a crew, in which the lead is given the model `chosen`, if any. Returns the lead's models as they were published.
async fn lead_models(
    root: &Path,
    session: &str,
    resumes: bool,
    chosen: Option<&str>,
) -> Vec<String> {
    let (event_sender, mut receiver) = bus::bus(now);
    let model = Arc::new(Script::parse("rules: [{ times: 0, say: Done. }]", 1.0).unwrap());
    let mut parts = crew_parts(root, event_sender, now, model);
    parts.session.info.session = session.into();
    parts.resumes = resumes;
    let crew = Crew::start(parts).await.unwrap();
    let mut ids = CommandIds::default();
    if let Some(name) = chosen {
        let (name, agent) = (name.to_string(), None);
        crew.submit(ids.assign(Command::UseModel { name, agent }))
            .unwrap();
    }
    let prompt = Command::prompt(Name::lead(), "go");
    crew.submit(ids.assign(prompt)).unwrap();
    let mut models = Vec::new();
    let ended = async {
        while let Some(event) = receiver.next().await {
            match event.kind {
                EventKind::Crew(CrewEvent::Ready(setup)) => models.push(setup.model),
                EventKind::Crew(CrewEvent::AllIdle) => return,
                _ => {}
            }
        }
    };
    tokio::time::timeout(Duration::from_secs(60), ended)
        .await
        .unwrap();
    crew.stop().await.unwrap();
    models
}

#[tokio::test]
async fn model_that_the_user_chose_for_the_lead_is_kept_on_resume() {
    let root = tempfile::tempdir().unwrap();
    crewdeck::store::prepare(root.path()).unwrap();
    let root = root.path();
    assert_eq!(
        lead_models(root, "0190aaaa", false, Some("other")).await,
        ["script", "other"]
    );
    assert_eq!(
        lead_models(root, "0190aaaa", true, None).await,
        ["script", "other"]
    );
    assert_eq!(lead_models(root, "0190bbbb", false, None).await, ["script"]);
}

#[test]
fn demo_uses_no_model_of_the_user() {
    let project = Project::new();
    // Nothing listens at this address.
    project.write_user_settings(
        "[models.own]\nprovider = 'openai'\nbase_url = 'http://127.0.0.1:9/v1'\nmodel = 'm'\n\
         [use]\nlead = 'own'\nteammate = 'own'\nsubagent = 'own'\nsummary = 'own'\n",
    );
    let demo = project.file("demo");
    let ran = project.run(&[
        "run",
        "--json",
        "--demo",
        "--speed",
        "100",
        "--dir",
        demo.to_str().unwrap(),
    ]);
    let events = Events::parse(&ran.out());
    assert_eq!(events.0[0]["provider"], "demo", "{}", ran.err());
    assert!(!events.said("alice").is_empty(), "{}", ran.err());
}
