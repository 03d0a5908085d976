//! Skills end to end: the tool, the system prompt, changes during a run, and the built-in skills.

use std::collections::BTreeSet;

use crewdeck::domain::skill::{DESCRIPTION_MAX, SkillSource};
use crewdeck::store::Skills;
use crewdeck::tools::policy::{self, PermissionRules, PlanGate, PolicyContext, Ruling};
use crewdeck::tools::table;
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::common::project::Project;
use crate::common::tool_fixture::ToolFixture;
use crate::roles::{answer, requests_to};

const BUILT_IN: &str =
    "code-review, planning-a-board, test-first, working-in-a-worktree, writing-a-commit";

fn write_skill(place: &ToolFixture, folder: &str, text: &str) {
    std::fs::create_dir_all(place.root().join(folder)).unwrap();
    place.write(&format!("{folder}/SKILL.md"), text);
}

#[test]
fn load_skill_returns_the_current_file() {
    let place = ToolFixture::new();
    write_skill(
        &place,
        "skills/pdf",
        "---\nname: PDF\n---\n\nUse pdftotext.\n",
    );
    let loaded = "<skill name=\"PDF\">\nUse pdftotext.\n</skill>";
    assert_eq!(place.ok("load_skill", json!({"name": "PDF"})), loaded);
    assert_eq!(place.ok("load_skill", json!({"name": " pdf "})), loaded);
    write_skill(&place, "skills/pdf", "---\nname: PDF\n---\nUse mutool.\n");
    place.write("skills/pdf/forms.md", "Forms");
    assert_eq!(
        place.ok("load_skill", json!({"name": "PDF"})),
        "<skill name=\"PDF\">\nUse mutool.\n</skill>\nThe skill's other files are in skills/pdf: read them with read_file when the skill refers to them."
    );
    let built_in = place.ok("load_skill", json!({"name": "test-first"}));
    assert!(
        built_in.starts_with("<skill name=\"test-first\">\n# Test first\n"),
        "{built_in}"
    );
    assert!(built_in.ends_with("\n</skill>"), "{built_in}");
}

#[test]
fn unknown_skill_error_lists_the_available_skills() {
    let place = ToolFixture::new();
    assert_eq!(
        place.expect_error("load_skill", json!({"name": "zzz"})),
        format!("Error: Unknown skill 'zzz'. Available: {BUILT_IN}")
    );
    write_skill(&place, "skills/agent-builder", "Build it.");
    assert_eq!(
        place.expect_error("load_skill", json!({"name": "agent-bilder"})),
        format!(
            "Error: Unknown skill 'agent-bilder'. Available: agent-builder, {BUILT_IN}. Did you mean 'agent-builder'?"
        )
    );
    write_skill(&place, "skills/agent-builder", "---\nname: agent-builder\n");
    let text = place.expect_error("load_skill", json!({"name": "agent-builder"}));
    assert!(
        text.ends_with(". skills/agent-builder/SKILL.md cannot be used: line 1: the front matter has no end: add a line --- below it"),
        "{text}"
    );
    place.expect_error("load_skill", json!({}));
    place.expect_error("load_skill", json!({"name": "../../etc"}));
    place.expect_error("load_skill", json!({"name": "\u{1b}[2J"}));
}

/// Runs `crewdeck run` with a model that follows the script rules `rules`, and returns the events.
fn run_events(project: &Project, prompt: &str, rules: &str) -> Vec<Value> {
    let script = project.write("script.yaml", &format!("rules:\n{rules}"));
    let provider = format!("script:{}", script.display());
    let ran = project.run(&[
        "run",
        prompt,
        "--provider",
        &provider,
        "--tool",
        "auto",
        "--plan",
        "auto",
        "--shutdown",
        "auto",
        "--json",
    ]);
    // Exit code 4: the run succeeded and a task is open.
    assert!([0, 4].contains(&ran.code()), "{}{}", ran.out(), ran.err());
    ran.out()
        .lines()
        .map(|l| serde_json::from_str(l).unwrap())
        .collect()
}

fn events_of_type<'a>(events: &'a [Value], kind: &'a str) -> impl Iterator<Item = &'a Value> {
    events.iter().filter(move |e| e["type"] == kind)
}

fn said_texts(events: &[Value]) -> Vec<&str> {
    let texts = events_of_type(events, "said").map(|e| e["text"].as_str().unwrap());
    texts.filter(|t| !t.is_empty()).collect()
}

#[test]
fn practice_prompt_loads_and_follows_a_project_skill() {
    let project = Project::git();
    project.write(
        "skills/agent-builder/SKILL.md",
        "---\nname: agent-builder\ndescription: Build an agent\n---\nWrite the word `loop` into agent.txt.\n",
    );
    project.write("skills/bad/SKILL.md", "---\nname: [\n---\nx");
    project.write(".config/crewdeck/skills/mine/SKILL.md", "Mine.");
    let rules = r#"
  - when: Load the (\S+) skill and follow its instructions
    calls: [{ tool: load_skill, input: { name: "{{1}}" } }]
  - when: '<skill name="agent-builder">\nWrite the word `(\w+)` into (\S+)\.\n</skill>'
    calls: [{ tool: write_file, input: { path: "{{2}}", content: "{{1}}" } }]
  - say: I followed it.
"#;
    let events = run_events(
        &project,
        "Load the agent-builder skill and follow its instructions",
        rules,
    );
    assert_eq!(said_texts(&events), ["I followed it."]);
    assert_eq!(
        std::fs::read_to_string(project.file("agent.txt")).unwrap(),
        "loop"
    );

    assert_eq!(events[0]["type"], "crew_ready");
    let book = events_of_type(&events, "skills_changed").next().unwrap();
    let listed = book["skills"].as_array().unwrap().iter();
    let listed: Vec<(&str, &str)> = listed
        .map(|s| (s["name"].as_str().unwrap(), s["source"].as_str().unwrap()))
        .filter(|(_, source)| *source != "built_in")
        .collect();
    assert_eq!(listed, [("agent-builder", "project"), ("mine", "user")]);
    assert_eq!(book["broken"][0]["path"], "skills/bad/SKILL.md");
    let notice = events_of_type(&events, "notice")
        .find(|e| e["level"] == "warn")
        .unwrap();
    let text = notice["text"].as_str().unwrap();
    assert!(
        text.starts_with("The skill or command file skills/bad/SKILL.md cannot be used: line "),
        "{text}"
    );
}

#[test]
fn skill_added_during_work_is_announced_once() {
    let project = Project::git();
    // The turn goes on until the journal has the changed skills.
    let rules = r#"
  - when: ^go$
    calls: [{ tool: write_file, input: { path: skills/late/SKILL.md, content: "Come late." } }]
  - when: '<crew>(skills have changed: new: \w+)</crew>'
    say: "I heard: {{1}}."
  - calls: [{ tool: task_create, input: { subject: "A change of the board makes crewdeck read the skills at once" } }]
  - calls: [{ tool: bash, input: { command: "until grep -q 'skills_change[d].*late' .crewdeck/sessions/*/journal.jsonl; do sleep 0.05; done" } }]
"#;
    let events = run_events(&project, "go", rules);
    assert_eq!(
        said_texts(&events),
        ["I heard: skills have changed: new: late."]
    );
    assert_eq!(events_of_type(&events, "skills_changed").count(), 2);
}

/// Returns the system prompt in the first request to the model server.
fn system_prompt(project: &Project, more: &[&str]) -> String {
    let (bodies, ended) = requests_to(answer(), project, "hello", more);
    assert!(ended.status.success(), "{ended:?}");
    let content = bodies[0]["messages"][0]["content"].as_str();
    content.unwrap().to_string()
}

#[test]
fn system_prompt_lists_skills_only_with_load_skill() {
    let project = Project::git();
    project.write(
        ".claude/skills/pdf/SKILL.md",
        "---\nname: pdf\ndescription: |\n  Reads\n  PDF files\ntags: [files, text]\n---\nUse pdftotext.\n",
    );
    let prompt = system_prompt(&project, &[]);
    assert!(
        prompt.contains("\n  - pdf: Reads PDF files [files, text]\n"),
        "{prompt}"
    );
    assert!(prompt.contains("\n  - code-review: "), "{prompt}");
    let narrow = system_prompt(&project, &["--tools", "bash,read_file"]);
    assert!(
        !narrow.contains("pdf") && !narrow.contains("load_skill"),
        "{narrow}"
    );
}

/// Returns the texts in backticks, except those in indented blocks. A text ends on the line on which it starts.
fn backquoted(body: &str) -> Vec<&str> {
    let lines = body.lines().filter(|l| !l.starts_with("    "));
    lines
        .flat_map(|l| l.split('`').skip(1).step_by(2))
        .collect()
}

/// Returns the names of all tools, of their input fields and of the fields' values.
fn tool_terms() -> BTreeSet<String> {
    fn gather(schema: &Value, out: &mut BTreeSet<String>) {
        match schema {
            Value::Object(fields) => {
                if let Some(Value::Object(properties)) = fields.get("properties") {
                    out.extend(properties.keys().cloned());
                }
                fields.values().for_each(|v| gather(v, out));
            }
            Value::Array(items) => items.iter().for_each(|v| gather(v, out)),
            Value::String(word) => {
                out.insert(word.clone());
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
    let mut terms = BTreeSet::new();
    for tool in table::TABLE {
        terms.insert(tool.name.to_string());
        gather(&(tool.schema)(), &mut terms);
    }
    terms
}

/// Returns the words in backticks that look like the name of a tool or field but are none.
fn unknown_terms(body: &str) -> Vec<&str> {
    let known = tool_terms();
    let is_word = |w: &&str| w.chars().all(|c| c.is_ascii_alphabetic() || c == '_');
    let terms = backquoted(body).into_iter().filter(is_word);
    terms.filter(|w| !known.contains(*w)).collect()
}

#[test]
fn built_in_skills_are_valid_and_name_only_existing_tools() {
    assert_eq!(
        unknown_terms("Call `task_make` with `blocked_by`, then `bash`."),
        ["task_make"]
    );
    let dir = tempfile::tempdir().unwrap();
    let skills = Skills::open(dir.path(), None);
    let book = skills.read();
    assert_eq!(book.broken, []);
    let names: Vec<&str> = book.skills.iter().map(|s| s.name.as_str()).collect();
    assert_eq!(names.join(", "), BUILT_IN);
    for listed in &book.skills {
        let name = &listed.name;
        assert_eq!(listed.source, SkillSource::BuiltIn);
        let length = listed.description.chars().count();
        assert!((40..DESCRIPTION_MAX).contains(&length), "{name}: {length}");
        assert!(!listed.tags.is_empty(), "{name}");
        let body = skills.load(name).unwrap().body;
        let lines = body.lines().count();
        assert!((40..=90).contains(&lines), "{name}: {lines} lines");
        assert!(
            body.lines().all(|l| l.matches('`').count() % 2 == 0),
            "{name}: unclosed backtick"
        );
        assert_eq!(unknown_terms(&body), [""; 0], "{name}");
    }
}

/// Returns the indented blocks that begin with a git command.
fn git_blocks(body: &str) -> Vec<String> {
    let mut blocks = vec![String::new()];
    for line in body.lines() {
        let block = blocks.last_mut().unwrap();
        match line.strip_prefix("    ") {
            Some(code) => block.push_str(&format!("{code}\n")),
            None if line.is_empty() && !block.is_empty() => block.push('\n'),
            None => blocks.push(String::new()),
        }
    }
    blocks.retain(|b| b.starts_with("git "));
    blocks
}

#[test]
fn commands_in_built_in_skills_need_no_permission() {
    let bash = table::find("bash").unwrap();
    let dir = tempfile::tempdir().unwrap();
    let skills = Skills::open(dir.path(), None);
    let context = PolicyContext {
        rules: &PermissionRules::default(),
        gate: PlanGate::Open,
        workdir: dir.path(),
    };
    let mut checked = 0;
    for listed in skills.read().skills {
        let body = skills.load(&listed.name).unwrap().body;
        for command in git_blocks(&body) {
            let input = json!({ "command": command });
            assert_eq!(
                policy::decide(bash, &input, &context),
                Ruling::Allow,
                "{}: {input}",
                listed.name
            );
            checked += 1;
        }
    }
    assert!(checked >= 3, "{checked}");
}
