//! Tests of reading the files of servers and hooks together: precedence, approval, and what is reported.

use std::fs;

use pretty_assertions::assert_eq;

use super::*;

pub struct Files {
    pub root: tempfile::TempDir,
    pub user: tempfile::TempDir,
}

impl Files {
    pub fn new() -> Files {
        Files {
            root: tempfile::tempdir().unwrap(),
            user: tempfile::tempdir().unwrap(),
        }
    }

    pub fn write(&self, file: &str, text: &str) {
        let path = self.root.path().join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub fn load(&self) -> Extensions {
        Extensions::load_from(
            self.root.path(),
            Some(self.user.path()),
            Decisions::default,
            environment,
        )
    }

    /// Loads with all present items approved.
    pub fn load_approved(&self) -> Extensions {
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

impl Files {
    /// Returns what is loaded in later sessions after the user has decided so about everything that is present now.
    pub fn decide(&self, decision: SettingsDecision) -> impl Fn() -> Extensions {
        let found = self.load();
        let harmless = crate::config::ProjectPolicy::Harmless;
        let request = ApprovalRequest::all(self.root.path(), &harmless, &found).unwrap();
        let (root, user) = (self.root.path().to_owned(), self.user.path().to_owned());
        move || {
            let decisions = || Decisions::of(request.changes(Some(decision)));
            Extensions::load_from(&root, Some(&user), decisions, environment)
        }
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
        "Server time of .mcp.json is not approved and does not run. To review and approve it: crewdeck mcp approve time"
    );
}

#[test]
fn notice_about_many_servers_still_names_the_command() {
    let files = Files::new();
    let server = |n: u32| format!(r#""{n}{}": {{"command": "true"}}"#, "x".repeat(30));
    let servers: Vec<String> = (10..19).map(server).collect();
    files.write(
        ".mcp.json",
        &format!(r#"{{"mcpServers": {{{}}}}}"#, servers.join(", ")),
    );
    let notice = files.load().waiting_notice().unwrap();
    for words in ["the MCP servers 10xxx", " and 5 more, which wait"] {
        assert!(notice.contains(words), "{notice}");
    }
    let command = "crewdeck trust, or crewdeck mcp approve for the servers";
    assert!(notice.ends_with(command), "{notice}");
    assert!(notice.chars().count() < 400, "{notice}");
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
        "this project has 3 hooks, which wait for your approval and do not run. To review and approve: crewdeck trust"
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
    assert_eq!(request.clone().retain_undecided(), Some(request));
    let approved = files.load_approved();
    let all = ApprovalRequest::all(
        files.root.path(),
        &crate::config::ProjectPolicy::Harmless,
        &approved,
    )
    .unwrap();
    assert_eq!(all.retain_undecided(), None);
}
