//! Sessions and prompts.

use std::path::Path;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use super::editor::Editor;
use crate::common::project::Project;

/// The lead thinks, changes a file, runs a command that needs permission, and answers.
const WHOLE: &str = r"
  - when: ^go$
    think: Where do I begin?
    say: I look around.
    calls:
      - { tool: task_create, input: { subject: Sweep the floor } }
      - { tool: write_file, input: { path: notes.md, content: 'two' } }
      - { tool: read_file, input: { path: notes.md } }
      - { tool: bash, input: { command: 'rm -rf gone; echo swept' } }
  - when: swept
    say: All is clean.
";

/// Returns the messages as lines, with the parts of the same text joined and everything that differs between runs
/// replaced. Plans come last, because the board is watched independently of the lead.
fn golden(editor: &Editor, project: &Path) -> String {
    let (mut lines, mut plans) = (Vec::<Value>::new(), Vec::new());
    for message in &editor.received {
        let update = &message["params"]["update"];
        match update["sessionUpdate"].as_str() {
            Some("plan") => {
                plans.push(message.clone());
                continue;
            }
            Some("agent_message_chunk" | "agent_thought_chunk") => {
                let key = |m: &Value| {
                    let update = &m["params"]["update"];
                    (update["sessionUpdate"].clone(), update["messageId"].clone())
                };
                if let Some(last) = lines.last_mut().filter(|last| key(last) == key(message)) {
                    let text = &mut last["params"]["update"]["content"]["text"];
                    let more = update["content"]["text"].as_str().unwrap();
                    *text = json!(format!("{}{more}", text.as_str().unwrap()));
                    continue;
                }
            }
            _ => {}
        }
        lines.push(message.clone());
    }
    lines.extend(plans);
    let lines: Vec<String> = lines.iter().map(Value::to_string).collect();
    let text = lines.join("\n") + "\n";
    let folder = project.canonicalize().unwrap();
    let text = text.replace(&editor.session, "SESSION");
    let text = text.replace(folder.to_str().unwrap(), "/project");
    let text = text.replace(env!("CARGO_PKG_VERSION"), "VERSION");
    let time = regex::Regex::new(r"\d{10}\.\d+").unwrap();
    time.replace_all(&text, "TIME").into_owned()
}

#[test]
fn updates_of_a_whole_session_are_as_recorded() {
    let project = Project::new();
    project.write("notes.md", "one\n");
    project.write("gone/file", "");
    let mut editor = Editor::open(&project, WHOLE, &[]);
    let prompt = editor.prompt("go");
    let question = editor.question();
    editor.choose(&question, "allow");
    assert_eq!(editor.stop_reason(prompt), "end_turn");
    editor.update("plan", "Sweep the floor");
    assert!(!project.file("gone").exists());
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/acp_server/session.jsonl");
    let lines = golden(&editor, project.path());
    if std::env::var_os("GOLDEN").is_some() {
        std::fs::write(&path, &lines).unwrap();
    }
    assert_eq!(lines, std::fs::read_to_string(&path).unwrap());
    assert_eq!(editor.close().code(), Some(0));
}

#[test]
fn other_versions_are_answered_with_version_1() {
    let project = Project::new();
    let mut editor = Editor::start(&project, "  - say: hi\n", &[]);
    let answer = editor.call("initialize", &json!({ "protocolVersion": 2 }));
    assert_eq!(answer["protocolVersion"], 1);
    assert_eq!(answer["agentCapabilities"]["loadSession"], true);
    assert_eq!(
        editor.call("authenticate", &json!({ "methodId": "x" })),
        json!({})
    );
}

#[test]
fn sessions_belong_to_one_project() {
    let (project, other) = (Project::git(), Project::git());
    std::fs::create_dir_all(project.file("src/deep")).unwrap();
    let mut editor = Editor::start(&project, "  - say: hi\n    times: 0\n", &[]);
    let cwd = project.file("src/deep");
    let answer = editor.call("session/new", &json!({ "cwd": cwd, "mcpServers": [] }));
    editor.session = answer["sessionId"].as_str().unwrap().into();
    // The only mode says who approves tool calls.
    assert_eq!(answer["modes"]["currentModeId"], "ask");
    let mode = json!({ "sessionId": editor.session, "modeId": "ask" });
    editor.call("session/set_mode", &mode);
    let mode = json!({ "sessionId": editor.session, "modeId": "auto" });
    let why = editor.refused("session/set_mode", &mode);
    assert!(why.contains("start crewdeck acp with --tool auto"), "{why}");
    let commands = editor.update("available_commands_update", "compact");
    assert_eq!(commands["availableCommands"][1]["name"], "clear");
    assert_eq!(editor.ask("hello"), "end_turn");
    for (cwd, why) in [
        (other.path(), "is outside of"),
        (&project.file("missing"), "is not an accessible directory"),
    ] {
        let error = editor.refused("session/new", &json!({ "cwd": cwd, "mcpServers": [] }));
        assert!(error.contains(why), "{error}");
    }
    // The crew of the first session still runs.
    assert_eq!(editor.ask("hello again"), "end_turn");
    // The state is in the root, not in the folder of the editor.
    assert!(project.file(".transcripts").is_dir());
}

#[test]
fn second_session_replaces_the_first() {
    let project = Project::new();
    let rules = "  - when: ^slow$\n    calls: [{ tool: bash, input: { command: 'rm -rf gone' } }]\n  - say: hi\n    times: 0\n";
    let mut editor = Editor::open(&project, rules, &[]);
    let first = editor.session.clone();
    let prompt = editor.prompt("slow");
    editor.question();
    let params = json!({ "cwd": project.path(), "mcpServers": [] });
    let why = editor.refused("session/new", &params);
    assert!(why.contains("is still working"), "{why}");
    let why = editor.refused(
        "session/prompt",
        &json!({ "sessionId": first, "prompt": [{ "type": "text", "text": "x" }] }),
    );
    assert!(why.contains("a prompt is running"), "{why}");
    // Closing the session answers the prompt.
    editor.call("session/close", &json!({ "sessionId": first }));
    assert_eq!(editor.stop_reason(prompt), "cancelled");
    editor.new_session(&project);
    assert_ne!(editor.session, first);
    assert_eq!(editor.ask("hello"), "end_turn");
    let why = editor.refused(
        "session/prompt",
        &json!({ "sessionId": first, "prompt": [{ "type": "text", "text": "x" }] }),
    );
    assert!(
        why.contains("only the session that was opened last does"),
        "{why}"
    );
}

#[test]
fn session_of_a_killed_agent_is_loaded_with_its_conversation() {
    let project = Project::new();
    project.write("gone/file", "");
    let mut editor = Editor::open(&project, WHOLE, &["--tool", "auto"]);
    assert_eq!(editor.ask("go"), "end_turn");
    let id = editor.session.clone();
    editor.process.kill().unwrap();
    editor.wait_for_exit();

    let mut editor = Editor::start(
        &project,
        "  - when: ^and now$\n    say: Still clean.\n",
        &["--tool", "auto"],
    );
    let listed = editor.call("session/list", &json!({ "cwd": project.path() }));
    assert_eq!(listed["sessions"][0]["sessionId"], id);
    assert_eq!(listed["sessions"][0]["title"], "go");
    let params = json!({ "sessionId": id, "cwd": project.path(), "mcpServers": [] });
    editor.call("session/load", &params);
    let kinds: Vec<&str> = editor
        .received
        .iter()
        .filter_map(|m| m["params"]["update"]["sessionUpdate"].as_str())
        .collect();
    assert_eq!(kinds[0], "user_message_chunk");
    assert_eq!(kinds.iter().filter(|kind| **kind == "tool_call").count(), 4);
    assert!(editor.said().contains("All is clean."), "{}", editor.said());
    editor.session = id;
    assert_eq!(editor.ask("and now"), "end_turn");
    assert!(editor.said().ends_with("Still clean."), "{}", editor.said());
    let mut unknown = params;
    unknown["sessionId"] = json!("0190aaaa");
    let why = editor.refused("session/load", &unknown);
    assert!(why.contains("there is no session 0190aaaa"), "{why}");
}

#[test]
fn links_and_images_are_attached() {
    let project = Project::new();
    project.write("a b.md", "one\n");
    let mut png = std::io::Cursor::new(Vec::new());
    image::RgbImage::from_pixel(3, 2, image::Rgb([200, 10, 10]))
        .write_to(&mut png, image::ImageFormat::Png)
        .unwrap();
    let mut editor = Editor::open(
        &project,
        "  - when: compare\n    say: Done.\n    times: 0\n",
        &[],
    );
    let uri = format!("file://{}/a%20b.md", project.path().display());
    let blocks = json!([
        { "type": "text", "text": "compare " },
        { "type": "resource_link", "name": "a b.md", "uri": uri },
        { "type": "image", "mimeType": "image/png", "data": BASE64_STANDARD.encode(png.into_inner()) },
        { "type": "resource", "resource": { "uri": "untitled:1", "text": "draft" } }
    ]);
    let session = editor.session.clone();
    let id = editor.request(
        "session/prompt",
        &json!({ "sessionId": session, "prompt": blocks }),
    );
    assert_eq!(editor.stop_reason(id), "end_turn");
    let journal = format!(".crewdeck/sessions/{session}/journal.jsonl");
    let journal = std::fs::read_to_string(project.file(&journal)).unwrap();
    let prompted = journal
        .lines()
        .map(|l| serde_json::from_str::<Value>(l).unwrap())
        .find(|e| e["type"] == "prompted")
        .unwrap();
    assert_eq!(
        prompted["text"],
        "compare @\"a b.md\"[image 1]untitled:1\n\n<context path=\"untitled:1\">\ndraft\n</context>"
    );
    let attachments = prompted["attachments"].to_string();
    assert!(
        attachments.contains("a b.md · 1 line") && attachments.contains("3x2 image"),
        "{attachments}"
    );
    // A file that cannot be attached.
    let blocks = json!([{ "type": "resource_link", "name": "x", "uri": "file:///missing/x.md" }]);
    let why = editor.refused(
        "session/prompt",
        &json!({ "sessionId": session, "prompt": blocks }),
    );
    assert!(why.contains("Cannot attach /missing/x.md"), "{why}");
    assert_eq!(editor.ask("compare"), "end_turn");
}

#[test]
fn report_of_a_teammate_is_shown_after_the_prompt() {
    let project = Project::new();
    let rules = r"
  - when: ^go$
    say: Bob does it.
    calls:
      - { tool: task_create, input: { subject: Write the report } }
      - { tool: spawn_teammate, input: { name: bob, role: writer, prompt: Work } }
  - agent: bob
    when: Write the report
    delay_ms: 300
    calls: [{ tool: task_update, input: { task_id: 1, status: completed } }]
  - agent: bob
    times: 0
    say: Done.
  - agent: lead
    when: bob
    times: 1
    say: Bob is at work.
  - agent: lead
    times: 0
    say: Bob has reported.
";
    let mut editor = Editor::open(&project, rules, &[]);
    assert_eq!(editor.ask("go"), "end_turn");
    let prompts = editor
        .received
        .iter()
        .filter(|m| m["result"]["stopReason"] == "end_turn");
    assert_eq!(prompts.count(), 1);
    editor.update("plan", "(bob)");
    editor.update("plan", r#""status":"completed""#);
    editor.update("agent_message_chunk", "Bob has reported.");
}

#[test]
fn slash_commands_end_when_they_are_carried_out() {
    let project = Project::new();
    let mut editor = Editor::open(&project, "  - say: hi\n    times: 0\n", &[]);
    assert_eq!(editor.ask("/compact"), "end_turn");
    assert!(
        editor.said().contains("nothing to compact"),
        "{}",
        editor.said()
    );
    assert_eq!(editor.ask("hello"), "end_turn");
    assert_eq!(editor.ask("/clear"), "end_turn");
    assert!(editor.said().contains("was emptied"), "{}", editor.said());
    assert_eq!(editor.ask("/init"), "end_turn");
    let blank = editor.prompt(" ");
    assert!(
        editor.answer(blank)["error"]
            .to_string()
            .contains("the prompt is empty")
    );
}

#[test]
fn servers_of_the_editor_are_refused_with_a_message() {
    let project = Project::new();
    let mut editor = Editor::start(&project, "  - say: hi\n", &[]);
    let server = json!({ "name": "files", "command": "/bin/true", "args": [], "env": [] });
    editor.call(
        "session/new",
        &json!({ "cwd": project.path(), "mcpServers": [server] }),
    );
    editor.update("agent_message_chunk", "MCP servers (files) are not used");
}
