//! Tests of what an approval covers: worktrees, folders of a command, the search path, and own servers.

use std::fs;

use pretty_assertions::assert_eq;

use super::tests::Files;
use super::*;

#[test]
fn hook_in_a_worktree_runs_only_approved_files() {
    let files = Files::new();
    files.write(
        ".crewdeck/hooks.json",
        r#"{"hooks": {"Stop": [{"hooks": [{"command": "sh tools/check.sh"}]}]}}"#,
    );
    files.write("tools/check.sh", "one");
    let found = files.load_approved();
    let tree = files.root.path().join(".worktrees/task-1");
    let check = || found.trust.check_hook(&found.hooks[0], &tree).is_ok();
    fs::create_dir_all(&tree).unwrap();
    assert!(check(), "the worktree has no such file");
    files.write(".worktrees/task-1/tools/check.sh", "one");
    assert!(check(), "the same content");
    files.write(".worktrees/task-1/tools/check.sh", "two");
    assert!(!check(), "changed in the worktree");
    fs::remove_file(tree.join("tools/check.sh")).unwrap();
    files.write(".worktrees/task-1/sh", "two");
    assert!(!check(), "a file that the project does not have");
}

#[test]
fn hook_named_by_the_project_directory_runs_the_approved_copy() {
    let files = Files::new();
    files.write(
        ".crewdeck/hooks.json",
        r#"{"hooks": {"Stop": [{"hooks": [
            {"command": "\"$CLAUDE_PROJECT_DIR\"/tools/check.sh"},
            {"command": "cd \"$CLAUDE_PROJECT_DIR\"/tools && ./check.sh"},
            {"command": "\"$PWD\"/tools/check.sh"},
            {"command": "cd tools && ./check.sh"}]}]}}"#,
    );
    files.write("tools/check.sh", "edited and approved");
    files.write(".worktrees/task-1/tools/check.sh", "as committed");
    let found = files.load_approved();
    let tree = files.root.path().join(".worktrees/task-1");
    let check = |dir: &Path| -> Vec<bool> {
        let all = found.hooks.iter();
        all.map(|hook| found.trust.check_hook(hook, dir).is_ok())
            .collect()
    };
    assert_eq!(check(&tree), [true, true, false, false]);
    assert_eq!(check(files.root.path()), [true; 4]);
    files.write("tools/check.sh", "changed");
    assert_eq!(check(files.root.path()), [false; 4]);
    let refused = found.trust.check_hook(&found.hooks[1], &tree).unwrap_err();
    assert!(refused.has_changed, "{refused:?}");
    assert!(
        !files
            .load()
            .trust
            .check_hook(&found.hooks[1], &tree)
            .unwrap_err()
            .has_changed
    );
}

#[test]
fn program_planted_in_a_worktree_does_not_run() {
    let files = Files::new();
    files.write(
        ".crewdeck/hooks.json",
        r#"{"hooks": {"Stop": [{"hooks": [{"command": "true&&eslint ."}]}]}}"#,
    );
    let environment = |name: &str| (name == "PATH").then(|| "./node_modules/.bin:/usr/bin".into());
    let load = |digests: &[String]| {
        let decisions = || Decisions::approved(digests);
        Extensions::load_from(files.root.path(), None, decisions, environment)
    };
    let found = load(&digests(&load(&[])));
    let tree = files.root.path().join(".worktrees/task-1");
    fs::create_dir_all(&tree).unwrap();
    let check = || found.trust.check_hook(&found.hooks[0], &tree);
    assert_eq!(check(), Ok(()));
    files.write(".worktrees/task-1/node_modules/.bin/eslint", "planted");
    assert!(check().is_err());
}

#[test]
fn changed_files_in_named_folders_are_not_approved() {
    for (server, file) in [
        (
            r#""command": "uv", "args": ["--directory", "srv", "run", "foo.py"]"#,
            "srv/foo.py",
        ),
        (
            r#""command": "npm", "args": ["--prefix", "srv", "start"]"#,
            "srv/package.json",
        ),
        (
            r#""command": "sh", "args": ["-c", "cd srv && node a.js"]"#,
            "srv/a.js",
        ),
        (
            r#""command": "/usr/bin/python3", "args": ["/opt/x.py"], "env": {"PYTHONPATH": "./lib"}"#,
            "lib/json.py",
        ),
        (
            r#""command": "/usr/bin/python3", "args": ["/opt/x.py"], "env": {"PYTHONPATH": "./lib"}"#,
            "lib/json/__init__.py",
        ),
        (
            r#""command": "serve", "env": {"PATH": "./bin:/usr/bin"}"#,
            "bin/serve",
        ),
        (
            r#""command": "npx", "args": ["-y", "pkg@1"]"#,
            "node_modules/.bin/pkg",
        ),
        (r#""command": "npx", "args": ["-y", "pkg@1"]"#, ".npmrc"),
    ] {
        let files = Files::new();
        files.write(
            ".mcp.json",
            &format!(r#"{{"mcpServers": {{"a": {{{server}}}}}}}"#),
        );
        for before in [None, Some("one")] {
            if let Some(text) = before {
                files.write(file, text);
            }
            let found = files.load_approved();
            let check = || found.trust.check_server(&found.servers[0]);
            assert_eq!(check(), Ok(()), "{server}");
            files.write(file, "two");
            assert!(check().is_err(), "{server}: {before:?}");
        }
    }
}

#[test]
fn own_server_that_would_run_files_of_the_project_needs_approval() {
    let server = r#"{"mcpServers": {"time": {"command": "SERVER", "args": ARGS}}}"#;
    for (program, args, harmless, file) in [
        (
            "python3",
            r#"["-m", "mcp_server_time"]"#,
            "README.md",
            "mcp_server_time.py",
        ),
        (
            "python3",
            r#"["-m", "mcp_server_time"]"#,
            "src/x.py",
            "json.py",
        ),
        (
            "npx",
            r#"["-y", "@a/time"]"#,
            "package.json",
            "node_modules/.bin/time",
        ),
        ("npx", r#"["-y", "@a/time"]"#, "index.js", ".npmrc"),
    ] {
        let files = Files::new();
        let own = server.replace("SERVER", program).replace("ARGS", args);
        fs::write(files.user.path().join("mcp.json"), own).unwrap();
        files.write(harmless, "{}");
        let found = files.load();
        let check = |found: &Extensions| found.trust.check_server(&found.servers[0]);
        assert_eq!(check(&found), Ok(()), "{args}");
        assert_eq!(found.listing[0].state, ListedState::Approved);
        assert_eq!(found.trust.items().count() + found.problems.len(), 0);
        // It appears while crewdeck runs.
        files.write(file, "one");
        let refused = check(&found).unwrap_err().why;
        assert!(
            refused.contains(&format!("it would use {file}")),
            "{refused}"
        );
        let found = files.load();
        assert_eq!(found.listing[0].state, ListedState::NeedsApproval);
        let notice = found.waiting_notice().unwrap();
        assert!(
            notice.contains("files that your own MCP servers would use (time)"),
            "{notice}"
        );
        assert!(check(&found).is_err());
        let approved = files.load_approved();
        assert_eq!(check(&approved), Ok(()));
        files.write(file, "two");
        assert!(check(&approved).is_err(), "{file}");
    }
}

/// Returns the digests of everything that can be approved.
fn digests(found: &Extensions) -> Vec<String> {
    let items = found.trust.items();
    items.filter_map(|item| item.digest.clone().ok()).collect()
}

#[test]
fn programs_of_the_project_in_the_search_path_are_checked() {
    let files = Files::new();
    let bin = files.root.path().join("bin");
    files.write(
        ".mcp.json",
        r#"{"mcpServers": {"a": {"command": "serve"}}}"#,
    );
    files.write("bin/serve", "one");
    let path = format!("/usr/bin:{}", bin.display());
    let load = |decisions: &[String]| {
        let environment = |name: &str| (name == "PATH").then(|| path.clone());
        Extensions::load_from(
            files.root.path(),
            None,
            || Decisions::approved(decisions),
            environment,
        )
    };
    let digests: Vec<String> = load(&[])
        .trust
        .items()
        .filter_map(|i| i.digest.clone().ok())
        .collect();
    let found = load(&digests);
    assert_eq!(found.trust.check_server(&found.servers[0]), Ok(()));
    files.write("bin/serve", "two");
    assert!(found.trust.check_server(&found.servers[0]).is_err());
}

#[test]
fn own_server_may_name_data_of_the_project() {
    let files = Files::new();
    let data = files.root.path().join("app.db");
    let own = format!(
        r#"{{"mcpServers": {{"db": {{"command": "uvx", "args": ["mcp-server-sqlite", "--db-path", "{}"]}}}}}}"#,
        data.display()
    );
    fs::write(files.user.path().join("mcp.json"), own).unwrap();
    files.write("app.db", "one");
    let found = files.load();
    let check = || found.trust.check_server(&found.servers[0]);
    assert_eq!(check(), Ok(()));
    files.write("app.db", "two");
    assert_eq!(check(), Ok(()));
}

#[test]
fn own_server_that_runs_in_another_folder_uses_no_files_of_the_project() {
    for args in [
        r#""--directory", "/opt/weather", "run", "server.py""#,
        r#""--directory=/opt/weather", "run", "server.py""#,
    ] {
        let files = Files::new();
        let own = format!(r#"{{"mcpServers": {{"w": {{"command": "uv", "args": [{args}]}}}}}}"#);
        fs::write(files.user.path().join("mcp.json"), own).unwrap();
        files.write("pyproject.toml", "[project]\n");
        files.write("server.py", "one");
        let found = files.load();
        assert_eq!(
            found.trust.check_server(&found.servers[0]),
            Ok(()),
            "{args}"
        );
    }
}

#[test]
fn hook_is_skipped_if_a_project_file_changed_and_blocks_if_its_script_changed() {
    let files = Files::new();
    files.write(
        ".crewdeck/hooks.json",
        r#"{"hooks": {"PreToolUse": [{"hooks": [{"command": "npx tsx guard.ts"}]}]}}"#,
    );
    files.write("guard.ts", "one");
    files.write("package.json", "{}");
    let found = files.load_approved();
    let tree = files.root.path().join(".worktrees/task-1");
    let has_changed = |dir: &Path| {
        let checked = found.trust.check_hook(&found.hooks[0], dir);
        checked.map_err(|refused| refused.has_changed)
    };
    assert_eq!(has_changed(files.root.path()), Ok(()));
    files.write(".worktrees/task-1/package.json", r#"{"a": 1}"#);
    assert_eq!(has_changed(&tree), Err(false));
    files.write(".worktrees/task-1/package.json", "{}");
    files.write(".worktrees/task-1/guard.ts", "two");
    assert_eq!(has_changed(&tree), Err(true));
    files.write("package.json", r#"{"a": 1}"#);
    assert_eq!(has_changed(files.root.path()), Err(false));
    files.write("guard.ts", "two");
    assert_eq!(has_changed(files.root.path()), Err(true));
}

#[test]
fn approved_hook_that_changed_between_sessions_blocks() {
    let files = Files::new();
    let declared = |matcher: &str, command: &str| {
        let hooks = serde_json::json!([{"matcher": matcher, "hooks": [{"command": command}]}]);
        serde_json::json!({"hooks": {"PreToolUse": hooks}}).to_string()
    };
    let text = declared("Bash", "npx tsx guard.ts");
    files.write(".crewdeck/hooks.json", &text);
    files.write("guard.ts", "one");
    files.write("package.json", "{}");
    let load = files.decide(SettingsDecision::Approved);
    // For each hook that is found: its matcher, and whether it is approved (`Ok`), blocks (`Err(true)`) or is skipped.
    let states = || -> Vec<(String, Result<(), bool>)> {
        let found = load();
        let check = |hook| found.trust.check_hook(hook, files.root.path());
        let state = |hook| check(hook).map_err(|refused| refused.has_changed);
        let hooks = found.hooks.iter();
        hooks
            .map(|hook| (hook.matcher.text(), state(hook)))
            .collect()
    };
    let one = |matcher: &str, state| vec![(matcher.to_string(), state)];
    assert_eq!(states(), one("Bash", Ok(())));
    files.write("package.json", r#"{"a": 1}"#);
    assert_eq!(states(), one("Bash", Err(false)));
    files.write("guard.ts", "two");
    assert_eq!(states(), one("Bash", Err(true)));
    let changed = load();
    assert!(
        changed
            .waiting_notice()
            .unwrap()
            .contains("1 changed or removed hook blocks what it guarded"),
        "{:?}",
        changed.waiting_notice()
    );
    files.write("guard.ts", "one");
    files.write("package.json", "{}");
    // Restored: the session that found the change runs the hook again, as a later one does.
    assert_eq!(
        changed
            .trust
            .check_hook(&changed.hooks[0], files.root.path()),
        Ok(())
    );
    assert_eq!(states(), one("Bash", Ok(())));
    files.write(".crewdeck/hooks.json", &format!("{text}\n"));
    assert_eq!(states(), one("Bash", Err(true)));

    // The approved hook blocks what it guarded even if another one has replaced it.
    let blocking = ("Bash".to_string(), Err(true));
    files.write(
        ".crewdeck/hooks.json",
        &declared("Nothing", "npx tsx guard.ts"),
    );
    assert_eq!(
        states(),
        [("Nothing".to_string(), Err(false)), blocking.clone()]
    );
    for gone in ["{}", r#"{"disableAllHooks": true}"#, "{not json"] {
        files.write(".crewdeck/hooks.json", gone);
        assert_eq!(states(), std::slice::from_ref(&blocking), "{gone}");
    }
    fs::remove_file(files.root.path().join(".crewdeck/hooks.json")).unwrap();
    assert_eq!(states(), [blocking]);
    fs::write(
        files.user.path().join("hooks.json"),
        r#"{"disableAllHooks": true}"#,
    )
    .unwrap();
    assert_eq!(states(), []);
}

#[test]
fn hook_blocks_after_no_other_decision_than_an_approval() {
    let files = Files::new();
    let declare = |command: &str| {
        let hooks = format!(
            r#"{{"PreToolUse": [{{"hooks": [{{"command": "{command}"}}]}}], "PostToolUse": [{{"hooks": [{{"command": "{command}"}}]}}]}}"#
        );
        files.write(".crewdeck/hooks.json", &format!(r#"{{"hooks": {hooks}}}"#));
    };
    declare("sh guard.sh");
    files.write("guard.sh", "one");
    let changes = |load: &dyn Fn() -> Extensions| -> Vec<Option<HookChange>> {
        let found = load();
        found.trust.items().map(|item| item.change).collect()
    };
    let approved = files.decide(SettingsDecision::Approved);
    let ignored = files.decide(SettingsDecision::Ignored);
    assert_eq!(changes(&approved), [None, None]);
    files.write("guard.sh", "two");
    // A hook whose block prevents nothing is skipped.
    assert_eq!(changes(&approved), [Some(HookChange::Changed), None]);
    assert_eq!(changes(&ignored), [None, None]);
    declare("sh other.sh");
    assert_eq!(changes(&approved), [None, None, Some(HookChange::Missing)]);
    assert_eq!(changes(&ignored), [None, None]);
    // The user confirms that the hook is gone.
    let found = approved();
    let harmless = crate::config::ProjectPolicy::Harmless;
    let request = ApprovalRequest::all(files.root.path(), &harmless, &found).unwrap();
    let text: Vec<&str> = request
        .lines()
        .into_iter()
        .map(|(_, effect)| effect)
        .collect();
    assert!(
        text[2].contains("its file does not declare it any more"),
        "{text:?}"
    );
    let later = request.changes(Some(SettingsDecision::Approved));
    let identity = found.trust.items().last().unwrap().digest.clone().unwrap();
    let gone = later
        .iter()
        .find(|change| change.digest == identity)
        .unwrap();
    assert_eq!(gone.decision, None);
}

#[test]
fn approved_hook_stays_active_while_it_is_skipped() {
    let files = Files::new();
    files.write(
        ".crewdeck/hooks.json",
        r#"{"hooks": {"PreToolUse": [{"hooks": [{"command": "sh guard.sh && npm test"}]}]}}"#,
    );
    files.write("guard.sh", "one");
    files.write("package.json", "{}");
    let load = files.decide(SettingsDecision::Approved);
    // Agents change this file in normal work, so the change does not block.
    files.write("package.json", r#"{"name": "x"}"#);
    let found = load();
    let check = || found.trust.check_hook(&found.hooks[0], files.root.path());
    assert!(!check().unwrap_err().has_changed);
    assert_eq!(found.active_hooks(), found.hooks);
    // A hook that was skipped when the files were read still guards later.
    files.write("guard.sh", "two");
    assert!(check().unwrap_err().has_changed);
    files.write("guard.sh", "one");
    files.write("package.json", "{}");
    assert_eq!(check(), Ok(()));
    // Without an approval, a hook never becomes active.
    assert_eq!(files.load().active_hooks(), []);
    let ignored = files.decide(SettingsDecision::Ignored);
    assert_eq!(ignored().active_hooks(), []);
}

#[test]
fn hook_that_could_not_be_found_again_is_not_approved() {
    let files = Files::new();
    let declare = |event: &str, bytes: usize| {
        let command = format!("true {}", "x".repeat(bytes));
        files.write(
            ".crewdeck/hooks.json",
            &format!(r#"{{"hooks": {{"{event}": [{{"hooks": [{{"command": "{command}"}}]}}]}}}}"#),
        );
        let found = files.load();
        let item = found.trust.items().next().unwrap();
        item.digest.clone().err()
    };
    let why = "is declared with more than 16 KiB: put its command into a script";
    assert_eq!(declare("PreToolUse", 20_000), Some(why.to_string()));
    assert_eq!(declare("PreToolUse", 10_000), None);
    // It prevents nothing, so it need not be found again.
    assert_eq!(declare("PostToolUse", 20_000), None);
}
