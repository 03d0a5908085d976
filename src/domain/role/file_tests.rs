//! Tests of valid and invalid role files: every field and every mistake.

use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use super::ToolUse;
use super::file::RoleFile;
use super::tools::SOME_TOOLS;
use super::{AgentRole, LIST_MAX, RoleSource};

fn role(text: &str) -> AgentRole {
    let file =
        RoleFile::parse(text, "from-file", SOME_TOOLS).unwrap_or_else(|e| panic!("{text}\n{e}"));
    file.into_role(RoleSource::Project, String::new())
}

/// Parses a role file with the additional front matter `lines`. Returns the field `name` of the role's JSON form, and the
/// notices as `LINE: TEXT`.
fn field(lines: &str, name: &str) -> (Value, Vec<String>) {
    let role = role(&format!(
        "---\nname: a\ndescription: b\n{lines}\n---\nDo it."
    ));
    let notices = role
        .notices
        .iter()
        .map(|n| format!("{}: {}", n.line, n.text))
        .collect();
    (serde_json::to_value(&role).unwrap()[name].clone(), notices)
}

#[test]
fn every_field_is_read_in_every_form() {
    let bash = json!([
        "background_run",
        "bash",
        "check_background",
        "stop_background"
    ]);
    for (lines, name, expected) in [
        ("", "name", json!("a")),
        ("", "description", json!("b")),
        ("", "tools", json!(null)),
        ("tools: '*'", "tools", json!(null)),
        ("tools: Read, Grep", "tools", json!(["read_file", "grep"])),
        ("tools: Read Grep", "tools", json!(["read_file", "grep"])),
        ("tools: [Read, read_file]", "tools", json!(["read_file"])),
        ("tools:\n  - Bash", "tools", bash.clone()),
        ("tools: []", "tools", json!([])),
        (
            "tools: mcp__a, mcp__b__c",
            "tools",
            json!(["mcp__a", "mcp__b__c"]),
        ),
        ("", "disallowedTools", json!([])),
        (
            "disallowedTools: Write, Edit",
            "disallowedTools",
            json!(["write_file", "edit_file"]),
        ),
        ("", "model", json!("")),
        ("model: inherit", "model", json!("")),
        ("model: qwen3:8b", "model", json!("qwen3:8b")),
        ("", "effort", json!(null)),
        ("effort: high", "effort", json!("high")),
        ("effort: XHIGH", "effort", json!("xhigh")),
        ("", "skills", json!([])),
        (
            "skills: pdf, test first",
            "skills",
            json!(["pdf", "test first"]),
        ),
        ("skills: [pdf]", "skills", json!(["pdf"])),
        ("", "mcpServers", json!(null)),
        ("mcpServers: []", "mcpServers", json!([])),
        ("mcpServers: a, b", "mcpServers", json!(["a", "b"])),
        ("mcpServers: [a]", "mcpServers", json!(["a"])),
        ("mcpServers:\n  a:\n  b:", "mcpServers", json!(["a", "b"])),
        ("", "maxTurns", json!(null)),
        ("maxTurns: 7", "maxTurns", json!(7)),
        ("maxTurns: '7'", "maxTurns", json!(7)),
        ("", "color", json!(null)),
        ("color: Purple", "color", json!("purple")),
        ("", "prompt", json!("Do it.")),
    ] {
        let (value, notices) = field(lines, name);
        assert_eq!(
            (value, notices),
            (expected, Vec::<String>::new()),
            "{lines}"
        );
    }
}

#[test]
#[allow(clippy::too_many_lines)] // one table of mistakes
fn mistakes_that_leave_the_role_usable_are_notices_with_lines() {
    for (lines, name, expected, notice) in [
        (
            "tools: Read, WebSearch",
            "tools",
            json!(["read_file"]),
            "4: crewdeck has no tool WebSearch: ",
        ),
        (
            "tools: Read, Grpe",
            "tools",
            json!(["read_file"]),
            "4: there is no tool Grpe: did you mean Grep?",
        ),
        (
            "tools: Read, Bash(git log, *)",
            "tools",
            json!(["read_file"]),
            "4: the pattern (git log, *) is not supported, so the tool is left out",
        ),
        (
            "disallowedTools: Edit(*.md)",
            "disallowedTools",
            json!(["edit_file"]),
            "4: the pattern (*.md) is not supported: the whole tool is denied",
        ),
        (
            "model: sonnet",
            "model",
            json!("sonnet"),
            "4: sonnet is a model alias of Claude Code: your model of that name is used",
        ),
        (
            "model: [x]",
            "model",
            json!(""),
            "4: model must be text: the value is ignored",
        ),
        (
            "effort: huge",
            "effort",
            json!(null),
            "4: effort huge is unknown: use low, medium",
        ),
        (
            "color: mauve",
            "color",
            json!(null),
            "4: color mauve is unknown: use red, blue",
        ),
        (
            "skills: {a: 1}",
            "skills",
            json!([]),
            "4: skills must be a list of names",
        ),
        (
            "skills: [../x]",
            "skills",
            json!([]),
            "4: \"../x\" is not a valid skill name",
        ),
        (
            "mcpServers: 3",
            "mcpServers",
            json!([]),
            "4: mcpServers must be a list of names: the role gets no server",
        ),
        (
            "mcpServers: [a b]",
            "mcpServers",
            json!([]),
            "4: \"a b\" is not a valid server name",
        ),
        (
            "mcpServers: [{x: 1}]",
            "mcpServers",
            json!([{"x": "inline"}]),
            "4: the server x must be a map with command or url",
        ),
        (
            "maxTurns: 5000",
            "maxTurns",
            json!(1000),
            "4: maxTurns is more than 1000: 1000 is used",
        ),
        (
            "disallowedTools: WebFetch",
            "disallowedTools",
            json!([]),
            "4: crewdeck has no tool WebFetch: ",
        ),
        (
            "\npermissionMode: acceptEdits",
            "model",
            json!(""),
            "5: permissionMode is not used: ",
        ),
        (
            "\npermissionMode: plan",
            "disallowedTools",
            json!([
                "write_file",
                "edit_file",
                "background_run",
                "bash",
                "check_background",
                "stop_background",
                "mcp__*"
            ]),
            "5: with permissionMode plan, the role cannot write files",
        ),
        (
            "hooks: {}",
            "model",
            json!(""),
            "4: hooks is not used: hooks are read from",
        ),
        (
            "memory: user",
            "model",
            json!(""),
            "4: memory is not used: ",
        ),
        (
            "background: true",
            "model",
            json!(""),
            "4: background is not used: ",
        ),
        (
            "isolation: worktree",
            "model",
            json!(""),
            "4: isolation is not used: each task has its own worktree",
        ),
        (
            "initialPrompt: x",
            "model",
            json!(""),
            "4: initialPrompt is not used: ",
        ),
        (
            "zzz9: 1",
            "model",
            json!(""),
            "4: the field zzz9 is unknown and ignored",
        ),
    ] {
        let (value, notices) = field(lines, name);
        assert_eq!(value, expected, "{lines}");
        let [told] = notices.as_slice() else {
            panic!("{lines}\n{notices:?}")
        };
        assert!(told.starts_with(notice), "{lines}\n{told}");
    }
}

#[test]
fn values_that_are_not_valid_yaml_are_read_as_text() {
    let text = "---\nname: a\ndescription: Use when: asked. Example: <x> user: \"hi\" # more\nmodel: \"m\"\ntools: Read\n---\nDo.";
    let role = role(text);
    assert_eq!(
        role.description,
        "Use when: asked. Example: <x> user: \"hi\" # more"
    );
    assert_eq!(
        (
            role.model.as_str(),
            role.tools.permits("bash", ToolUse::Work)
        ),
        ("m", false)
    );
    assert_eq!((role.notices.len(), role.notices[0].line), (1, 3));
}

#[test]
fn missing_parts_are_notices() {
    let role = role("\u{feff}---\r\ncolor: red\r\n---\r\n");
    assert_eq!(
        (role.name.as_str(), role.description.as_str()),
        ("from-file", "No description")
    );
    let told: Vec<(usize, &str)> = role
        .notices
        .iter()
        .map(|n| (n.line, n.text.as_str()))
        .collect();
    assert_eq!(
        told,
        [
            (
                2,
                "description is missing: say when the lead should use the role"
            ),
            (2, "name is missing: the file name is used"),
            (
                4,
                "the role has no prompt: write one below the front matter"
            ),
        ]
    );
}

#[test]
fn outside_text_is_escaped_and_bounded() {
    let long = "é".repeat(70_000);
    let role = role(&format!(
        "---\nname: a\ndescription: \"x\\u001b[2J{}\"\n---\n\u{1b}]0;t\u{7}{long}",
        "y".repeat(6000)
    ));
    assert!(role.description.chars().count() <= super::DESCRIPTION_MAX);
    assert!(!role.description.contains('\u{1b}') && !role.prompt.contains('\u{1b}'));
    assert!(role.prompt.len() < 65 * 1024 && role.prompt.ends_with("bytes cut here …]"));
}

#[test]
fn files_that_cannot_be_used_name_the_line() {
    let long = format!("---\nname: a\nx: {}\n---\nDo", "y".repeat(16 * 1024));
    for (text, expected) in [
        ("", "line 1: there is no front matter"),
        ("Do it.", "line 1: there is no front matter"),
        ("---\n---\nDo", "line 1: there is no front matter"),
        ("---\nname: a\nDo", "line 1: the front matter has no end"),
        (&long, "line 1: the front matter is longer than 16 KiB"),
        ("---\n- a\n---\nDo", "line 2: "),
        ("---\nname: [a\n---\nDo", "line "),
        ("---\nname: a\nname: b\n---\nDo", "line 3: "),
        (
            "---\nname: a/b\ndescription: x\n---\nDo",
            "line 2: \"a/b\" is not a valid name",
        ),
        ("---\nname: ''\n---\nDo", "line 2: \"\" is not a valid name"),
        ("---\nname: {a: 1}\n---\nDo", "line 2: "),
        (
            "---\nname: a\ntools: {a: 1}\n---\nDo",
            "line 3: tools must be a list",
        ),
        (
            "---\nname: a\ntools: [[a]]\n---\nDo",
            "line 3: tools must be a list",
        ),
        (
            "---\nname: a\n\ndisallowedTools: {a: 1}\n---\nDo",
            "line 4: disallowedTools must be a list",
        ),
        (
            "---\nname: a\ntools: WebSearch, WebFetch\n---\nDo",
            "line 3: none of the listed tools can be used: crewdeck has no tool WebSearch",
        ),
    ] {
        let why = RoleFile::parse(text, "x", SOME_TOOLS)
            .unwrap_err()
            .to_string();
        assert!(why.starts_with(expected), "{text}\n{why}");
        assert_eq!(why.lines().count(), 1, "{why}");
    }
}

#[test]
fn limits_that_cannot_be_read_reject_the_role() {
    let long = format!("tools: [{}]", vec!["Read"; LIST_MAX + 1].join(", "));
    for (lines, expected) in [
        (
            "Tools: Read",
            "the field Tools is unknown: write tools, or remove it",
        ),
        ("tols: Read", "the field tols is unknown: write tools"),
        ("tool: Read", "the field tool is unknown: write tools"),
        (
            "allowed-tools: Read",
            "the field allowed-tools is unknown: write tools",
        ),
        (
            "readonly: true",
            "the field readonly is unknown: write tools",
        ),
        (
            "disallowed-tools: Bash",
            "the field disallowed-tools is unknown: write disallowedTools",
        ),
        (
            "disalowedTools: Bash",
            "the field disalowedTools is unknown: write disallowedTools",
        ),
        (
            "deniedTools: Bash",
            "the field deniedTools is unknown: write disallowedTools",
        ),
        (
            "mcp_servers: [a]",
            "the field mcp_servers is unknown: write mcpServers",
        ),
        (
            "mpcServers: [a]",
            "the field mpcServers is unknown: write mcpServers",
        ),
        (
            "max_turns: 3",
            "the field max_turns is unknown: write maxTurns",
        ),
        (
            "permission-mode: plan",
            "the field permission-mode is unknown: write permissionMode",
        ),
        (
            "tools:",
            "tools has no value: write one, or remove the line",
        ),
        ("disallowedTools: ''", "disallowedTools has no value"),
        ("mcpServers:", "mcpServers has no value"),
        ("maxTurns: null", "maxTurns has no value"),
        ("tools: {a: 1}", "tools must be a list of tools"),
        ("tools: [Read, [Bash]]", "tools must be a list of tools"),
        (
            "disallowedTools: {a: 1}",
            "disallowedTools must be a list of tools",
        ),
        (
            "disallowedTools: Bahs",
            "disallowedTools: there is no tool Bahs: did you mean Bash?",
        ),
        (
            "disallowedTools: Edit, Zzz9",
            "disallowedTools: there is no tool Zzz9: remove it",
        ),
        (&long, "tools has more than 128 entries"),
        ("maxTurns: 0", "maxTurns must be a whole number above 0"),
        ("maxTurns: -1", "maxTurns must be a whole number above 0"),
        ("maxTurns: many", "maxTurns must be a whole number above 0"),
        (
            "tools: Bash(git log:*)",
            "none of the listed tools can be used: the pattern (git log:*)",
        ),
        (
            "hooks: {PreToolUse: []}",
            "the PreToolUse hooks of a role are not run: move them to .claude/settings.json",
        ),
    ] {
        let text = format!("---\nname: a\ndescription: b\n{lines}\n---\nDo it.");
        let why = RoleFile::parse(&text, "x", SOME_TOOLS)
            .unwrap_err()
            .to_string();
        let expected = format!("line 4: {expected}");
        assert!(why.starts_with(&expected), "{lines}\n{why}");
    }
}

#[test]
fn every_tool_can_be_taken_away() {
    let role = role("---\nname: a\ndescription: b\ndisallowedTools: '*'\n---\nDo it.");
    for tool in SOME_TOOLS.iter().copied().chain(["mcp__a__b"]) {
        assert!(!role.tools.permits(tool, ToolUse::Work), "{tool}");
        assert!(!role.tools.permits(tool, ToolUse::Coordination), "{tool}");
    }
    assert!(!role.tools.permits_server("a"));
}
