//! `CLAUDE_ENV_FILE`: variables that hooks of the session's start set for later commands.

use std::os::unix::fs::PermissionsExt;

use pretty_assertions::assert_eq;

use super::{notices, project, results, run, unapproved};
use crate::common::project::Project;

const RULES: &str = r#"
  - when: begin
    calls:
      - { tool: bash, input: { command: 'echo "$FOO/$BAR/${PATH%%:*}/${GITHUB_TOKEN:-none}/${BASH_ENV:-none}"' } }
      - { tool: background_run, input: { command: 'echo "in the background: $FOO" > background.txt' } }
      - { tool: bash, input: { command: "until [ -s background.txt ]; do sleep 0.05; done" } }
  - say: done
    times: 0
"#;

/// A hook as it is written for Claude Code.
const SHELL_HOOK: &str = r#"#!/bin/sh
[ -n "$CLAUDE_ENV_FILE" ] || exit 1
echo 'export FOO="a  b"' >> "$CLAUDE_ENV_FILE"
echo 'export PATH="/opt/tools:$PATH"' >> "$CLAUDE_ENV_FILE"
echo 'export GITHUB_TOKEN=ghp_0123456789abcdefghijklmnopqrstuvwxyz' >> "$CLAUDE_ENV_FILE"
echo 'export BASH_ENV=/nowhere/evil.sh' >> "$CLAUDE_ENV_FILE"
echo "$CLAUDE_ENV_FILE" > "$CLAUDE_PROJECT_DIR/env-file.txt"
"#;

const PYTHON_HOOK: &str = r#"#!/usr/bin/env python3
import json, os, sys
source = json.load(sys.stdin)["source"]
with open(os.environ["CLAUDE_ENV_FILE"], "a") as out:
    out.write(f"export BAR='{source}'\n")
"#;

fn write_script(project: &Project, name: &str, text: &str) {
    let path = project.write(name, text);
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

fn hook(name: &str) -> (&'static str, &'static str, String) {
    let command = format!("\"$CLAUDE_PROJECT_DIR\"/.claude/{name}");
    ("SessionStart", "", command)
}

fn approve(project: &Project) {
    let ran = project.run(&["trust", "--yes"]);
    assert_eq!(ran.code(), 0, "{}", ran.err());
}

#[test]
fn hooks_set_variables_for_commands_of_agents() {
    let project = unapproved(&[hook("env.sh"), hook("env.py")], RULES);
    write_script(&project, ".claude/env.sh", SHELL_HOOK);
    write_script(&project, ".claude/env.py", PYTHON_HOOK);
    approve(&project);
    let events = run(&project, &["--tool", "auto"]);
    let seen = results(&events, "bash");
    assert!(
        seen[0].starts_with("a  b/startup//opt/tools/none/none"),
        "{seen:?}"
    );
    let background = std::fs::read_to_string(project.file("background.txt")).unwrap();
    assert_eq!(background, "in the background: a  b\n");
    for refused in [
        "because they look like secrets; to pass them on, list them in the setting pass_env: GITHUB_TOKEN.",
        "because the sandbox and the approval of commands rely on them: BASH_ENV.",
    ] {
        assert_eq!(notices(&events, refused).len(), 1, "{refused}");
    }
    // The file is deleted, and was where agents cannot write.
    let path = std::fs::read_to_string(project.file("env-file.txt")).unwrap();
    let path = std::path::Path::new(path.trim());
    assert!(!path.exists());
    assert!(
        path.starts_with(project.file(".local/state/crewdeck")),
        "{path:?}"
    );
}

#[test]
fn code_that_fails_is_reported() {
    for (code, shown, notice) in [
        (
            "export FOO=1; nonsense-command; export BAR=2",
            "1/2",
            "printed an error: ",
        ),
        ("export FOO=1\nexit 3", "1/", ""),
        ("export FOO='unfinished", "/", "printed an error: "),
        ("export FOO=1; exec true", "/", "are not set: "),
    ] {
        let project = unapproved(&[hook("env.sh")], RULES);
        let script = format!("#!/bin/sh\ncat >\"$CLAUDE_ENV_FILE\" <<'EOF'\n{code}\nEOF\n");
        write_script(&project, ".claude/env.sh", &script);
        approve(&project);
        let events = run(&project, &["--tool", "auto"]);
        let seen = &results(&events, "bash")[0];
        assert!(seen.starts_with(shown), "{code}: {seen}");
        let expected = usize::from(!notice.is_empty());
        let told = notices(&events, "CLAUDE_ENV_FILE");
        assert_eq!(told.len(), expected, "{code}: {told:?}");
        assert!(
            told.iter().all(|text| text.contains(notice)),
            "{code}: {told:?}"
        );
    }
}

#[test]
fn only_hooks_of_the_start_get_the_file() {
    let probe = "echo \"${CLAUDE_ENV_FILE:-none}\" >> \"$CLAUDE_PROJECT_DIR\"/env-file.txt";
    let hooks = [("PreToolUse", "Bash", probe.to_string())];
    let project = project(&hooks, RULES);
    run(&project, &["--tool", "auto"]);
    let seen = std::fs::read_to_string(project.file("env-file.txt")).unwrap();
    assert!(
        !seen.is_empty() && seen.lines().all(|line| line == "none"),
        "{seen}"
    );
}

#[test]
fn approved_git_commands_do_not_get_the_variables() {
    let rules = r#"
  - when: begin
    calls:
      - { tool: bash, input: { command: "git status" } }
      - { tool: bash, input: { command: "git tag -d v1" } }
  - say: done
    times: 0
"#;
    let project = unapproved(&[hook("env.sh")], rules);
    let code =
        "#!/bin/sh\necho \"export PATH=$CLAUDE_PROJECT_DIR/bin:\\$PATH\" >> \"$CLAUDE_ENV_FILE\"\n";
    write_script(&project, ".claude/env.sh", code);
    // As an agent can write it.
    write_script(
        &project,
        "bin/git",
        "#!/bin/sh\necho \"$1\" >> planted.txt\n",
    );
    approve(&project);
    run(&project, &["--tool", "auto"]);
    let planted = std::fs::read_to_string(project.file("planted.txt")).unwrap();
    assert_eq!(planted, "status\n");
}
