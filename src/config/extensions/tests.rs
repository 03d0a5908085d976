//! Tests of reading the files of servers and hooks together: precedence, approval, and what is reported.

use std::fs;

use pretty_assertions::assert_eq;

use super::*;

struct Files {
    root: tempfile::TempDir,
    user: tempfile::TempDir,
}

impl Files {
    fn new() -> Files {
        Files {
            root: tempfile::tempdir().unwrap(),
            user: tempfile::tempdir().unwrap(),
        }
    }

    fn write(&self, file: &str, text: &str) {
        let path = self.root.path().join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn load(&self) -> Extensions {
        Extensions::load_from(
            self.root.path(),
            Some(self.user.path()),
            Decisions::default,
            environment,
        )
    }

    /// Loads the files after all servers and hooks in them were approved.
    fn load_approved(&self) -> Extensions {
        let digests: Vec<String> = self
            .load()
            .trust
            .items()
            .filter_map(|i| i.digest.clone().ok())
            .collect();
        Extensions::load_from(
            self.root.path(),
            Some(self.user.path()),
            || Decisions::approved(&digests),
            environment,
        )
    }
}

fn environment(name: &str) -> Option<String> {
    match name {
        "PROGRAM" => Some("prog".into()),
        "GITHUB_TOKEN" => Some("ghp_secret".into()),
        _ => None,
    }
}

fn problems(found: &Extensions) -> Vec<String> {
    found.problems.iter().map(ToString::to_string).collect()
}

#[test]
fn nothing_is_found_without_files() {
    let found = Files::new().load();
    assert!(found.servers.is_empty() && found.hooks.is_empty() && found.problems.is_empty());
    assert_eq!(found.waiting_notice(), None);
}

#[test]
fn user_wins_over_the_project() {
    let files = Files::new();
    fs::write(
        files.user.path().join("mcp.json"),
        r#"{"mcpServers": {"git": {"command": "mine"}}}"#,
    )
    .unwrap();
    files.write(
        ".mcp.json",
        r#"{"mcpServers": {"git": {"command": "theirs"}, "time": {"command": "t"}, "bad": {}}}"#,
    );
    let found = files.load();
    let listed: Vec<(&str, ServerSource, &ListedState)> = found
        .listing
        .iter()
        .map(|s| (s.name.as_str(), s.source, &s.state))
        .collect();
    let why = ListedState::Problem("command or url is missing".into());
    assert_eq!(
        listed,
        [
            ("git", ServerSource::User, &ListedState::Approved),
            ("time", ServerSource::Project, &ListedState::NeedsApproval),
            ("bad", ServerSource::Project, &why),
        ]
    );
    assert_eq!(
        problems(&found),
        [
            ".mcp.json: server bad: command or url is missing",
            ".mcp.json: server git: your own server of this name is used instead",
        ]
    );
    assert_eq!(found.trust.check_server(&found.servers[0]), Ok(()));
    let refused = found.trust.check_server(&found.servers[1]).unwrap_err();
    assert_eq!(
        refused.why,
        "Server time of .mcp.json is not approved and does not run. To review and approve it: crewdeck mcp approve time, then restart crewdeck if it is running"
    );
}

#[test]
fn hooks_of_all_files_are_read_and_can_be_turned_off() {
    let hooks = |command: &str| {
        format!(r#"{{"hooks": {{"Stop": [{{"hooks": [{{"command": "{command}"}}]}}]}}}}"#)
    };
    let files = Files::new();
    for (at, file) in HOOK_FILES.iter().enumerate() {
        files.write(file, &hooks(&at.to_string()));
    }
    let own = files.user.path().join("hooks.json");
    fs::write(&own, hooks("own")).unwrap();
    let found = files.load();
    let runs: Vec<String> = found.hooks.iter().map(HookSpec::runs).collect();
    assert_eq!(runs, ["own", "0", "1", "2"]);
    assert_eq!(
        found.trust.check_hook(&found.hooks[0], files.root.path()),
        Ok(())
    );
    assert!(
        found.hooks[1..]
            .iter()
            .all(|hook| found.trust.check_hook(hook, files.root.path()).is_err())
    );
    assert_eq!(
        found.waiting_notice().unwrap(),
        "this project brings 3 hooks, which wait for your approval and do not run. To review and approve: crewdeck trust"
    );
    let approved = files.load_approved();
    assert!(
        approved
            .hooks
            .iter()
            .all(|hook| approved.trust.check_hook(hook, files.root.path()).is_ok())
    );
    // `disableAllHooks` in a file of the project disables only the hooks of this file.
    files.write(HOOK_FILES[0], r#"{"disableAllHooks": true}"#);
    assert_eq!(files.load().hooks.len(), 3);
    fs::write(&own, r#"{"disableAllHooks": true}"#).unwrap();
    assert!(files.load().hooks.is_empty());
}

#[test]
fn secrets_are_for_approved_servers_only() {
    let files = Files::new();
    let server =
        r#"{"command": "${PROGRAM}", "args": ["${GITHUB_TOKEN}", "${CLAUDE_PROJECT_DIR}"]}"#;
    files.write(
        ".mcp.json",
        &format!(r#"{{"mcpServers": {{"theirs": {server}}}}}"#),
    );
    let own = format!(r#"{{"mcpServers": {{"mine": {server}}}}}"#);
    fs::write(files.user.path().join("mcp.json"), own).unwrap();
    let words = |found: &Extensions, name: &str| {
        let server = found.servers.iter().find(|s| s.name == name).unwrap();
        match &server.transport {
            ServerTransport::Program { command, args, .. } => {
                (command.clone(), args.first().cloned().unwrap())
            }
            ServerTransport::Http { .. } => panic!("{server:?}"),
        }
    };
    let pair = |a: &str, b: &str| (a.to_string(), b.to_string());
    let waiting = files.load();
    assert_eq!(words(&waiting, "theirs"), pair("prog", "${GITHUB_TOKEN}"));
    assert_eq!(words(&waiting, "mine"), pair("prog", "ghp_secret"));
    assert_eq!(problems(&waiting), [""; 0]);
    let approved = files.load_approved();
    assert_eq!(words(&approved, "theirs"), pair("prog", "ghp_secret"));
    assert_eq!(
        approved.listing[1].target,
        "${PROGRAM} ${GITHUB_TOKEN} ${CLAUDE_PROJECT_DIR}"
    );
    let ServerTransport::Program { args, .. } = &approved.servers[1].transport else {
        panic!("{approved:?}")
    };
    assert_eq!(args[1], files.root.path().display().to_string());
}

#[test]
fn changed_content_is_not_approved() {
    let server = |args: &str| {
        format!(r#"{{"mcpServers": {{"a": {{"command": "node", "args": [{args}]}}}}}}"#)
    };
    let files = Files::new();
    files.write(".mcp.json", &server(r#""./server.js""#));
    files.write("server.js", "one");
    files.write("tools/check.sh", "one");
    files.write(
        ".claude/settings.json",
        r#"{"hooks": {"Stop": [{"hooks": [{"command": "\"$CLAUDE_PROJECT_DIR\"/tools/check.sh -q"}]}]}}"#,
    );
    let found = files.load_approved();
    let (server_config, hook) = (&found.servers[0], &found.hooks[0]);
    let check = |expected: (bool, bool), what: &str| {
        let now = (
            found.trust.check_server(server_config).is_ok(),
            found.trust.check_hook(hook, files.root.path()).is_ok(),
        );
        assert_eq!(now, expected, "{what}");
    };
    check((true, true), "as approved");
    files.write("server.js", "two");
    check((false, true), "changed script of the server");
    files.write("server.js", "one");
    check((true, true), "changed back");
    files.write("tools/check.sh", "two");
    check((true, false), "changed script of the hook");
    fs::remove_file(files.root.path().join("tools/check.sh")).unwrap();
    check((true, false), "deleted script");
    std::os::unix::fs::symlink("../server.js", files.root.path().join("tools/check.sh")).unwrap();
    check((true, false), "link to another file with the same content");
    fs::remove_file(files.root.path().join("tools/check.sh")).unwrap();
    files.write("tools/check.sh", "one");
    check((true, true), "all as before");
    files.write(".mcp.json", &format!("{} ", server(r#""./server.js""#)));
    check((false, true), "one byte more in the file");
    fs::remove_file(files.root.path().join(".mcp.json")).unwrap();
    check((false, true), "the file is gone");
    files.write(".mcp.json", &server(r#""./server.js""#));
    check((true, true), "restored");
}

#[test]
fn file_that_appears_later_is_not_approved() {
    let files = Files::new();
    files.write(
        ".mcp.json",
        r#"{"mcpServers": {"a": {"command": "node", "args": ["./srv"], "cwd": "sub"}}}"#,
    );
    files.write("sub/srv/index.js", "one");
    let found = files.load_approved();
    assert_eq!(found.trust.check_server(&found.servers[0]), Ok(()));
    // Because of this new file, `node ./srv` runs other code than before.
    files.write("sub/srv.js", "two");
    assert!(found.trust.check_server(&found.servers[0]).is_err());
}

#[test]
fn commands_that_cannot_be_checked_cannot_be_approved() {
    let files = Files::new();
    let words: Vec<String> = (0..5000).map(|n| format!("\"w{n}\"")).collect();
    files.write(
        ".mcp.json",
        &format!(
            r#"{{"mcpServers": {{"a": {{"command": "x", "args": [{}]}}}}}}"#,
            words.join(",")
        ),
    );
    let found = files.load();
    assert!(matches!(found.listing[0].state, ListedState::Problem(_)));
    assert!(
        problems(&found)[0].contains("cannot be approved"),
        "{:?}",
        problems(&found)
    );
    assert_eq!(
        ApprovalRequest::all(
            files.root.path(),
            &crate::config::ProjectPolicy::Harmless,
            &found
        ),
        None
    );
    assert!(found.trust.check_server(&found.servers[0]).is_err());
}

#[test]
fn request_names_everything_that_waits() {
    let files = Files::new();
    files.write(".mcp.json", r#"{"mcpServers": {"a": {"command": "x", "env": {"K": "v"}}, "b": {"type": "http", "url": "https://b"}}}"#);
    files.write(".crewdeck/hooks.json", r#"{"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [{"command": "a\u001b[2J.sh"}]}]}}"#);
    let found = files.load();
    let request = ApprovalRequest::all(
        files.root.path(),
        &crate::config::ProjectPolicy::Harmless,
        &found,
    )
    .unwrap();
    assert_eq!(request.summary(), "2 MCP servers and 1 hook");
    assert_eq!(
        request.names(),
        "server a of .mcp.json, server b of .mcp.json, hooks of .crewdeck/hooks.json"
    );
    let lines: Vec<String> = request.lines().into_iter().map(|(text, _)| text).collect();
    assert_eq!(
        lines,
        [
            "Server a of .mcp.json: x, with K=v",
            "Server b of .mcp.json: https://b",
            "Hook PreToolUse (Bash) of .crewdeck/hooks.json: a␛[2J.sh",
        ]
    );
    assert_eq!(request.digests().len(), 3);
    assert_eq!(request.clone().waiting(), Some(request));
    let approved = files.load_approved();
    let all = ApprovalRequest::all(
        files.root.path(),
        &crate::config::ProjectPolicy::Harmless,
        &approved,
    )
    .unwrap();
    assert_eq!(all.waiting(), None);
}

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
        // The file is created while crewdeck runs.
        files.write(file, "one");
        let refused = check(&found).unwrap_err().why;
        assert!(
            refused.contains(&format!("it would run {file}")),
            "{refused}"
        );
        let found = files.load();
        assert_eq!(found.listing[0].state, ListedState::NeedsApproval);
        let notice = found.waiting_notice().unwrap();
        assert!(
            notice.contains("files that your own MCP servers would run (time)"),
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
