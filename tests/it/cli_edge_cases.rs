//! Unusual but valid uses of the command line and the state files, as documented.

use pretty_assertions::assert_eq;
use serde_json::json;

use crate::common::project::Project;

/// Creates a project with two teammates: amy is idle, bob has shut down.
fn team() -> Project {
    let project = Project::new();
    project.write(
        ".team/config.json",
        r#"{"team_name": "default", "members": [{"name": "amy", "role": "r", "status": "idle"}, {"name": "bob", "status": "shutdown"}]}"#,
    );
    project
}

#[test]
fn repeated_mail_list_changes_nothing() {
    let project = team();
    let message = r#"{"type": "message", "from": "lead", "content": "x", "timestamp": 1.0}"#;
    project.write(
        ".team/inbox/amy.jsonl",
        &format!("{{\"torn\": \n{message}\n"),
    );
    let set_aside = project.file(".team/inbox/amy.jsonl.damaged-1");
    for _ in 0..3 {
        let list = project.run(&["mail", "list", "amy", "--json"]);
        assert!(list.err().contains("1 damaged line"), "{}", list.err());
        assert!(!set_aside.exists());
    }
    let read = project.run(&["mail", "read", "amy"]);
    assert!(read.err().contains("were copied to"), "{}", read.err());
    assert_eq!(std::fs::read_to_string(set_aside).unwrap(), "{\"torn\":\n");
}

#[test]
fn mail_commands_say_how_many_messages_they_do_not_print() {
    let project = team();
    let message = r#"{"type": "message", "from": "lead", "content": "x", "timestamp": 1.0}"#;
    project.write(".team/inbox/amy.jsonl", &format!("{message}\n").repeat(203));
    for (command, notice) in [
        ("list", "3 more unread messages not shown"),
        ("read", "run again: crewdeck mail read amy"),
    ] {
        let out = project.run(&["mail", command, "amy"]);
        assert!(out.err().contains(notice), "{}", out.err());
    }
    let out = project.run(&["mail", "read", "amy"]);
    assert_eq!((out.out().lines().count(), out.err()), (3, String::new()));
}

#[test]
fn mail_send_rejects_unknown_types_and_recipients() {
    let project = team();
    let line = project.expect_refusal(&["mail", "send", "amy", "x", "--type", "mesage"]);
    assert!(line.contains("message, broadcast"), "{line}");
    let line = project.expect_refusal(&["mail", "send", "ammy", "x"]);
    assert!(line.contains("amy, bob (shutdown)"), "{line}");
    assert!(!project.file(".team/inbox").join("ammy.jsonl").exists());
    let message = project.json(&["mail", "send", "amy", "x", "--type", "plan_response"]);
    assert_eq!(message["type"], "plan_response");
}

#[test]
fn empty_tags_are_dropped() {
    let project = Project::new();
    let task = project.json(&["task", "add", "x", "--tag", "", "--tag", " rust "]);
    assert_eq!(task["tags"], json!(["rust"]));
    let task = project.json(&["task", "edit", "1", "--tag", ""]);
    assert_eq!(task["tags"], json!([]));
}

#[test]
fn task_commands_set_damaged_tasks_aside() {
    for command in [
        &["task", "add", "three"][..],
        &["task", "claim", "--as", "amy"],
        &["task", "done", "2", "--as", "amy"],
        &["task", "edit", "2", "--subject", "more"],
        &["task", "show", "2"],
    ] {
        let project = Project::new();
        project.json(&["task", "add", "one"]);
        project.json(&["task", "add", "two"]);
        project.write(".tasks/task_1.json", "{\"id\": 1, \"subj");
        let result = project.run(command);
        assert_eq!(result.code(), 0, "{command:?}: {}", result.err());
        assert!(
            result.err().contains("damaged-1"),
            "{command:?}: {}",
            result.err()
        );
        assert!(project.file(".tasks/task_1.json.damaged-1").exists());
    }
}

#[test]
fn concurrent_mail_reads_never_share_a_message() {
    let project = team();
    let mut received = Vec::new();
    for round in 0..3 {
        for n in 0..10 {
            project.json(&["mail", "send", "amy", &format!("{round}-{n}")]);
        }
        let readers: Vec<_> = (0..4)
            .map(|_| {
                let mut command = project.command(&["mail", "read", "amy", "--json"]);
                command
                    .stdout(std::process::Stdio::piped())
                    .spawn()
                    .unwrap()
            })
            .collect();
        for reader in readers {
            let out = reader.wait_with_output().unwrap();
            let messages: Vec<serde_json::Value> = serde_json::from_slice(&out.stdout).unwrap();
            received.extend(messages.iter().map(|m| m["content"].to_string()));
        }
    }
    assert_eq!(received.len(), 30);
    received.sort();
    received.dedup();
    assert_eq!(received.len(), 30);
}

/// Returns the address of a port on which no server listens.
fn unused_address() -> String {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    format!("http://{}", listener.local_addr().unwrap())
}

#[test]
fn options_override_environment_overrides_files() {
    let (file, environment, option) = (unused_address(), unused_address(), unused_address());
    let project = Project::new();
    project.write_user_settings(&format!(
        "provider = 'anthropic'\nmodel = 'm'\nbase_url = '{file}'\n"
    ));
    let stderr = |args: &[&str], url: Option<&str>| {
        let mut command = project.command(&[&["run", "hello"], args].concat());
        command.envs(url.map(|url| ("ANTHROPIC_BASE_URL", url)));
        String::from_utf8(command.output().unwrap().stderr).unwrap()
    };
    for (args, url, expected) in [
        (&[][..], None, &file),
        (&[], Some(environment.as_str()), &environment),
        (&["--base-url", &option], Some(&environment), &option),
    ] {
        let stderr = stderr(args, url);
        assert!(
            stderr.contains(&format!("nothing answers at {expected}")),
            "{stderr}"
        );
    }
}

#[test]
fn base_url_variable_selects_the_provider() {
    for (name, provider) in [
        ("ANTHROPIC_BASE_URL", "anthropic"),
        ("OPENAI_BASE_URL", "openai"),
    ] {
        let (project, url) = (Project::new(), unused_address());
        let mut command = project.command(&["run", "hello", "--model", "m"]);
        let stderr = command.env(name, &url).output().unwrap().stderr;
        let stderr = String::from_utf8(stderr).unwrap();
        assert!(
            stderr.contains(&format!("crewdeck · {provider} · m")),
            "{stderr}"
        );
        assert!(
            stderr.contains(&format!("nothing answers at {url}")),
            "{stderr}"
        );
    }
}

#[test]
fn openai_key_selects_responses_only_for_the_vendors_address() {
    let project = Project::new();
    let url = unused_address();
    let args = ["run", "hello", "--model", "m", "--base-url", &url];
    let mut command = project.command(&args);
    let stderr = command
        .env("OPENAI_API_KEY", "sk-x")
        .output()
        .unwrap()
        .stderr;
    let stderr = String::from_utf8(stderr).unwrap();
    assert!(stderr.contains("crewdeck · openai · m"), "{stderr}");
}

#[test]
fn azure_without_an_address_says_how_to_set_it() {
    let line = Project::new().expect_refusal(&["run", "hello", "--provider", "azure"]);
    for part in [
        "name of your resource",
        "--base-url https://RESOURCE.openai.azure.com",
        "AZURE_OPENAI_ENDPOINT",
    ] {
        assert!(line.contains(part), "{part}: {line}");
    }
}

#[test]
fn blank_prompt_is_refused() {
    let line = Project::new().expect_refusal(&["run", " ", "--provider", "openai"]);
    assert!(line.contains("run needs a prompt"), "{line}");
}

#[test]
#[ignore = "long: see the longer rounds in CONTRIBUTING.md"]
fn demo_ends_when_the_lead_approves_plans() {
    let project = Project::new();
    let ran = project.run(&[
        "run", "--demo", "--json", "--speed", "1000", "--plan", "lead",
    ]);
    assert_eq!(ran.code(), 0, "{}", ran.err());
    let is_decided = |line: &str| {
        line.contains("request_changed")
            && line.contains("\"kind\":\"plan\"")
            && line.contains("\"decided_by\":\"lead\"")
    };
    assert!(ran.out().lines().any(is_decided), "{}", ran.out());
}

#[test]
fn unattended_demo_denies_requests_set_to_ask() {
    let project = Project::new();
    let demo = [
        "--demo", "run", "--json", "--speed", "1000", "--plan", "ask",
    ];
    let ran = project.run(&demo);
    // The plan was denied, so tasks that depend on it may be open.
    assert!([0, 4].contains(&ran.code()), "{}", ran.err());
    assert!(
        ran.err()
            .contains("approved (change it with --shutdown, --tool ")
            && ran.err().contains("denied (change it with --plan "),
        "{}",
        ran.err()
    );
    let last = ran.out().lines().last().unwrap().to_string();
    assert!(last.contains("crew_at_rest"), "{last}");
    let decided = |kind: &str, status: &str| {
        let kind = format!("\"kind\":\"{kind}\"");
        let status = format!("\"status\":\"{status}\"");
        ran.out()
            .lines()
            .any(|l| l.contains("request_changed") && l.contains(&kind) && l.contains(&status))
    };
    assert!(decided("plan", "rejected") && !decided("plan", "approved"));
}
