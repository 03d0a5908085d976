//! The command line: output, exit codes, and error messages.

use serde_json::json;

use crate::common::project::Project;

#[test]
fn board_lifecycle_from_first_task_to_last() {
    let project = Project::git();
    let first = project.json(&[
        "task",
        "add",
        "Write the parser",
        "--description",
        "of the format",
    ]);
    assert_eq!(
        (&first["id"], &first["status"], &first["owner"]),
        (&json!(1), &json!("pending"), &json!(""))
    );
    for field in [
        "subject",
        "description",
        "blockedBy",
        "blocks",
        "worktree",
        "tags",
        "created_at",
        "updated_at",
        "attempts",
    ] {
        assert!(first.get(field).is_some(), "{field}: {first}");
    }
    project.json(&["task", "add", "Write the printer"]);
    let join = project.json(&[
        "task",
        "add",
        "Join them",
        "--blocked-by",
        "1,2",
        "--tag",
        "rust",
    ]);
    assert_eq!(
        (&join["blockedBy"], &join["tags"]),
        (&json!([1, 2]), &json!(["rust"]))
    );
    assert_eq!(project.json(&["task", "show", "1"])["blocks"], json!([3]));

    let ready = project.json(&["task", "list", "--ready"]);
    let ids: Vec<_> = ready
        .as_array()
        .unwrap()
        .iter()
        .map(|t| t["id"].clone())
        .collect();
    assert_eq!(ids, [json!(1), json!(2)]);

    let claimed = project.json(&["task", "claim", "--as", "alice"]);
    assert_eq!(
        (&claimed["id"], &claimed["status"], &claimed["owner"]),
        (&json!(1), &json!("in_progress"), &json!("alice"))
    );
    assert_eq!(
        project.json(&["task", "done", "1", "--as", "alice"])["status"],
        "completed"
    );
    // Completing a task without an owner makes the caller its owner.
    assert_eq!(
        project.json(&["task", "done", "2", "--as", "bob"])["owner"],
        "bob"
    );
    assert_eq!(project.json(&["task", "show", "3"])["blockedBy"], json!([]));
    assert_eq!(
        project.json(&["task", "show", "1"])["blocks"],
        json!([3]),
        "the edge is kept"
    );

    let nothing = project.run(&["task", "claim", "--as", "carol"]);
    assert_eq!(
        (nothing.code(), nothing.out().as_str()),
        (3, ""),
        "the remaining task needs a tag that carol lacks"
    );
    let text = project.run(&["task", "list"]).out();
    assert_eq!(
        text,
        "[x] #1: Write the parser  @alice\n[x] #2: Write the printer  @bob\n[ ] #3: Join them  [rust]\n"
    );

    let status = std::process::Command::new("git")
        .args(["status", "--porcelain"])
        .current_dir(project.path())
        .output()
        .unwrap();
    assert!(
        status.stdout.is_empty(),
        "{}",
        String::from_utf8_lossy(&status.stdout)
    );
}

#[test]
fn refusals_name_the_remedy_and_change_nothing() {
    let project = Project::new();
    for subject in ["one", "two", "three"] {
        project.json(&["task", "add", subject]);
    }
    project.json(&["task", "edit", "2", "--block-on", "1"]);
    project.json(&["task", "edit", "3", "--block-on", "2"]);
    project.json(&["task", "claim", "1", "--as", "alice"]);
    let before = project.json(&["task", "list"]);
    for (args, words) in [
        (
            &["task", "show", "9"][..],
            "task #9 does not exist: the board has 3 tasks",
        ),
        (&["task", "add", "  "], "needs a subject"),
        (
            &["task", "add", "x", "--blocked-by", "9"],
            "task #9 does not exist",
        ),
        (
            &["task", "edit", "1", "--block-on", "1"],
            "cannot wait for itself",
        ),
        (
            &["task", "edit", "1", "--block-on", "3"],
            "#3 already waits for #1",
        ),
        (
            &["task", "claim", "1", "--as", "bob"],
            "already been claimed by alice",
        ),
        (&["task", "claim", "2", "--as", "bob"], "blocked by #1"),
        (&["task", "claim", "2", "--as", "alice"], "blocked by #1"),
        (
            &["task", "claim", "--as", "alice"],
            "already works on task #1",
        ),
        (&["task", "done", "1", "--as", "bob"], "belongs to alice"),
        (&["task", "done", "2", "--as", "bob"], "blocked by #1"),
        (&["task", "release", "1", "--as", "bob"], "belongs to alice"),
        (
            &["task", "claim", "2", "--as", "../x"],
            "is not a valid name",
        ),
        (
            &["mail", "send", "nobody", "hi"],
            "no teammate is called 'nobody'",
        ),
        (&["mail", "send", "lead", " "], "its text is empty"),
    ] {
        let line = project.expect_refusal(args);
        assert!(
            line.starts_with("crewdeck: ") && line.contains(words),
            "{args:?}: {line}"
        );
        let mut json = args.to_vec();
        json.push("--json");
        project.expect_refusal(&json);
    }
    assert_eq!(project.json(&["task", "list"]), before);
    project.json(&["task", "done", "1", "--as", "alice"]);
    for (args, words) in [
        (
            &["task", "edit", "3", "--block-on", "1"][..],
            "already completed",
        ),
        (&["task", "done", "1", "--as", "alice"], "is completed"),
        (&["task", "claim", "1", "--as", "bob"], "is completed"),
    ] {
        let line = project.expect_refusal(args);
        assert!(line.contains(words), "{args:?}: {line}");
    }
}

#[test]
fn task_ids_are_never_reused() {
    let project = Project::new();
    project.json(&["task", "add", "one"]);
    project.json(&["task", "add", "two"]);
    project.json(&["task", "rm", "2"]);
    assert_eq!(project.json(&["task", "add", "three"])["id"], 3);
    project.write(".tasks/task_7.json", "{\"id\": 7, \"subj");
    let list = project.run(&["task", "list"]);
    assert_eq!(list.code(), 0);
    assert!(
        list.err().contains("damaged") && list.out().contains("#3"),
        "{}",
        list.err()
    );
    assert!(project.file(".tasks/task_7.json.damaged-1").exists());
    assert_eq!(project.json(&["task", "add", "eight"])["id"], 8);
}

#[test]
fn learn_claude_code_boards_stay_compatible() {
    let project = Project::new();
    project.write(".tasks/task_1.json", "{\n  \"id\": 1,\n  \"subject\": \"Größe\",\n  \"description\": \"\",\n  \"status\": \"pending\",\n  \"blockedBy\": [],\n  \"owner\": null,\n  \"color\": \"red\"\n}");
    project.write(
        ".tasks/task_2.json",
        "\u{feff}{\"id\": 2, \"title\": \"old\", \"status\": \"pending\", \"blockedBy\": [1]}\r\n",
    );
    project.write(
        ".tasks/task_3.json",
        "{\"id\": 3, \"subject\": \"odd\", \"status\": \"banana\"}",
    );
    project.write(".tasks/task_foo.json", "not a task");
    assert_eq!(project.json(&["task", "claim", "--as", "alice"])["id"], 1);
    project.json(&["task", "done", "1", "--as", "alice"]);
    let text = std::fs::read_to_string(project.file(".tasks/task_1.json")).unwrap();
    assert!(
        text.contains("\"color\": \"red\"")
            && text.contains("Größe")
            && text.contains("\"owner\": \"alice\""),
        "{text}"
    );
    assert_eq!(
        project.json(&["task", "claim", "--as", "alice"])["subject"],
        "old"
    );
    let list = project.run(&["task", "list"]);
    assert!(
        list.err().contains("task_3.json is ignored"),
        "{}",
        list.err()
    );
    assert!(
        project.file(".tasks/task_3.json").exists()
            && project.file(".tasks/task_foo.json").exists()
    );
    assert_eq!(project.json(&["task", "add", "new"])["id"], 4);
}

#[test]
fn mail_list_keeps_messages_and_mail_read_takes_them() {
    let project = Project::new();
    project.write(".team/config.json", "{\"team_name\": \"default\", \"members\": [{\"name\": \"bob\", \"role\": \"r\", \"status\": \"idle\"}], \"x\": 1}");
    assert_eq!(project.json(&["team", "list"])[0]["name"], "bob");
    project.json(&["mail", "send", "bob", "first"]);
    // `--as` is the option of `crewdeck task` for the same thing.
    project.json(&["mail", "send", "BOB", "second", "--as", "lead"]);
    project.write(".team/inbox/x", "");
    // learn-claude-code appends to the inbox without a lock.
    let inbox = project.file(".team/inbox/bob.jsonl");
    let mut text = std::fs::read_to_string(&inbox).unwrap();
    text.push_str("not json\n{\"type\": \"message\", \"from\": \"eve\", \"content\": \"third\", \"timestamp\": 1.5}\n");
    std::fs::write(&inbox, text).unwrap();
    let contents = |args: &[&str]| -> Vec<String> {
        let messages = project.json(args);
        messages
            .as_array()
            .unwrap()
            .iter()
            .map(|m| m["content"].as_str().unwrap().to_string())
            .collect()
    };
    assert_eq!(
        contents(&["mail", "list", "bob"]),
        ["first", "second", "third"]
    );
    assert_eq!(
        contents(&["mail", "list", "bob"]),
        ["first", "second", "third"],
        "mail list removes nothing"
    );
    assert_eq!(
        contents(&["mail", "read", "bob"]),
        ["first", "second", "third"]
    );
    assert_eq!(contents(&["mail", "read", "bob"]), Vec::<String>::new());
    project.json(&["mail", "send", "bob", "fourth"]);
    assert_eq!(contents(&["mail", "read", "bob"]), ["fourth"]);
    let message = project.json(&["mail", "send", "user", "hello", "--from", "bob"]);
    assert_eq!(
        (&message["from"], &message["to"], &message["type"]),
        (&json!("bob"), &json!("user"), &json!("message"))
    );
}

#[test]
fn mail_list_without_a_name_lists_all_inboxes() {
    let project = Project::new();
    project.write(".team/config.json", "{\"team_name\": \"default\", \"members\": [{\"name\": \"bob\", \"role\": \"r\", \"status\": \"idle\"}]}");
    for (to, text) in [("bob", "first"), ("bob", "second"), ("user", "hello")] {
        project.json(&["mail", "send", to, text]);
    }
    let all = project.json(&["mail", "list"]);
    let waiting: Vec<_> = all
        .as_array()
        .unwrap()
        .iter()
        .map(|inbox| {
            (
                inbox["name"].as_str().unwrap(),
                inbox["waiting"].as_u64().unwrap(),
            )
        })
        .collect();
    assert_eq!(waiting, [("lead", 0), ("user", 1), ("bob", 2)]);
    assert!(all[2]["oldest"].as_f64().unwrap() > 1e9, "{all}");
    let ran = project.run(&["mail", "list"]);
    let table = ran.out();
    let lines: Vec<&str> = table.lines().collect();
    assert_eq!(
        lines[..4],
        [
            "INBOX  WAITING",
            "lead         0",
            "user         1",
            "bob          2"
        ],
    );
    assert_eq!(
        project
            .json(&["mail", "read", "bob"])
            .as_array()
            .unwrap()
            .len(),
        2,
        "mail list removes nothing"
    );
}

#[test]
fn wrong_address_of_a_hub_is_one_line_with_an_example() {
    let ran = Project::new().run(&["--hub", "http://h/x", "task", "list"]);
    assert_eq!(ran.code(), 1);
    let expected = "crewdeck: 'http://h/x' is no address of a hub: it must begin with nats:// or tls://. Example: nats://hub.example.org:4222/web";
    assert_eq!(ran.err().trim_end(), expected);
}

/// Kills commands that add, edit and complete tasks, at different moments of their writes. The commands after it find and delete its temporary files.
#[test]
fn killed_commands_leave_no_temporary_files() {
    let project = Project::new();
    // The first task is edited, each of the others is completed once.
    for _ in 0..15 {
        project.json(&["task", "add", "open"]);
    }
    let names = || -> Vec<String> {
        let entries = std::fs::read_dir(project.file(".tasks")).unwrap();
        let names = entries.map(|e| e.unwrap().file_name().into_string().unwrap());
        names.filter(|name| name.starts_with(".tmp-")).collect()
    };
    for n in 0..40 {
        let (subject, open) = (format!("round {n}"), (2 + n / 3).to_string());
        let args: &[&str] = match n % 3 {
            0 => &["task", "add", &subject],
            1 => &["task", "edit", "1", "--subject", &subject],
            _ => &["task", "done", &open, "--as", "user"],
        };
        let mut command = project.command(args);
        let mut child = command.stdout(std::process::Stdio::null()).spawn().unwrap();
        // Any moment is valid, so the exact delay does not matter.
        std::thread::sleep(std::time::Duration::from_micros(n * 400));
        child.kill().unwrap();
        child.wait().unwrap();
    }
    // A recent temporary file of an older version, or of a file system without unnamed files.
    project.write(".tasks/.tmp-Ab12Cd", "{\"id\": 9");
    project.json(&["task", "list"]);
    assert_eq!(names(), [""; 0]);
    project.write(".tasks/.tmp-Ab12Ce", "{\"id\": 9");
    project.json(&["task", "add", "last"]);
    assert_eq!(names(), [""; 0]);
}

#[test]
fn unknown_setting_suggests_the_closest_match() {
    let project = Project::new();
    project.write(".crewdeck/config.toml", "modle = \"x\"\n");
    let line = project.expect_refusal(&["run", "hello"]);
    assert!(line.contains("'modle': did you mean 'model'"), "{line}");
    let tools = Project::new().expect_refusal(&["run", "hello", "--tools", "bash,raed_file"]);
    let expected = "--tools: Unknown tool: raed_file. Did you mean read_file";
    assert!(tools.contains(expected), "{tools}");
    // The error names the source of the name: here the user's file.
    project.write(".crewdeck/config.toml", "");
    project.write(".config/crewdeck/config.toml", "tools = [\"bsh\"]\n");
    for args in [&["run", "hello"][..], &["doctor"]] {
        let refusal = project.run(args);
        let text = refusal.out() + &refusal.err();
        let expected = "crewdeck/config.toml: tools: Unknown tool: bsh. Did you mean bash?";
        assert!(text.contains(expected), "{text}");
        assert!(!text.contains("--tools"), "{text}");
    }
}

#[test]
fn usage_errors_exit_with_2() {
    let project = Project::new();
    for args in [
        &["task", "claim", "1"][..],
        &["--plan", "maybe"],
        &["frobnicate"],
        &["run"],
    ] {
        let ran = project.run(args);
        assert_eq!(ran.code(), 2, "{args:?}");
        assert!(
            ran.err().starts_with("crewdeck: "),
            "{args:?}: {}",
            ran.err()
        );
        assert!(!ran.err().contains("error:"), "{args:?}: {}", ran.err());
    }
    // Other errors start with the same prefix.
    for args in [
        &["task", "show", "7"][..],
        &["--dir", "nowhere"],
        &["mail", "send", "eve", "x"],
    ] {
        let refusal = project.expect_refusal(args);
        assert!(refusal.starts_with("crewdeck: "), "{args:?}: {refusal}");
    }
    let version = project.run(&["--version"]);
    assert_eq!(
        (version.code(), version.out().starts_with("crewdeck ")),
        (0, true)
    );
}

#[test]
fn errors_of_every_verb_group_begin_alike() {
    let project = Project::new();
    for (args, code) in [
        (&["task", "show", "7"][..], 1),
        (&["mail", "read"], 2),
        (&["agents", "show", "absent"], 1),
        (&["team", "lsit"], 2),
        (&["worktree", "diff", "9"], 1),
        (&["worktree", "merge", "9"], 1),
        (&["worktree", "remove", "9"], 1),
        (&["checkpoint", "diff", "9"], 1),
        (&["checkpoint", "restore", "9"], 1),
        (&["checkpoint", "restore", "nine"], 2),
        (&["mcp", "test", "absent"], 1),
        (&["mcp", "add", "absent"], 2),
        (&["mcp", "remove", "absent"], 1),
        (&["mcp", "logout", "absent"], 1),
        (&["mcp", "approve", "absent"], 1),
        (&["trust", "--ignore", "--forget"], 2),
        (&["trust", "--dir", "nowhere"], 1),
        (&["doctor", "--dir", "nowhere"], 1),
        (&["replay", "nowhere"], 1),
        (&["completions", "frobnicate"], 2),
        (&["man", "frobnicate"], 2),
    ] {
        let ran = project.run(args);
        let err = ran.err();
        assert_eq!(ran.code(), code, "{args:?}: {err}");
        assert!(err.starts_with("crewdeck: "), "{args:?}: {err}");
        assert_eq!(ran.out(), "", "{args:?}");
        assert!(!err.contains("error:"), "{args:?}: {err}");
    }
}

/// The fields of a task have two spellings, so the page names one of each.
#[test]
fn scripting_page_names_both_spellings_of_fields() {
    let page = include_str!("../../docs/scripting.md");
    for field in ["`blockedBy`", "`created_at`"] {
        assert!(page.contains(field), "{field}");
    }
    let project = Project::new();
    let task = project.json(&["task", "add", "first"]);
    for field in ["blockedBy", "created_at"] {
        assert!(!task[field].is_null(), "{task}");
    }
}

#[test]
fn failed_demo_start_leaves_no_folder() {
    let project = Project::new();
    let folder = project.file("shown");
    let demo = ["run", "--demo", "--dir", folder.to_str().unwrap()];
    let line = project.expect_refusal(&[&demo[..], &["--tools", "frobnicate"]].concat());
    assert!(line.contains("frobnicate"), "{line}");
    assert!(!folder.exists());
}

#[test]
fn run_without_a_model_names_the_remedy() {
    let line = Project::new().expect_refusal(&["run", "hello", "--provider", "anthropic"]);
    assert!(
        line.contains("ANTHROPIC_API_KEY") && line.contains("--demo"),
        "{line}"
    );
    let unreachable = [
        "run",
        "hello",
        "--provider",
        "openai",
        "--base-url",
        "http://127.0.0.1:9/v1",
    ];
    let line = Project::new().expect_refusal(&unreachable);
    assert!(
        line.contains("nothing answers at http://127.0.0.1:9/v1") && line.contains("--base-url"),
        "{line}"
    );
}

#[test]
fn bash_completion_works_and_man_page_lists_commands() {
    let project = Project::new();
    let script = project.run(&["completions", "bash"]).out();
    project.write("crewdeck.bash", &script);
    let completion = "source crewdeck.bash; COMP_WORDS=(crewdeck workt); COMP_CWORD=1; _crewdeck crewdeck workt crewdeck; echo ${COMPREPLY[@]}";
    let answer = std::process::Command::new("bash")
        .args(["-c", completion])
        .current_dir(project.file("."))
        .output()
        .unwrap();
    assert_eq!(String::from_utf8_lossy(&answer.stdout).trim(), "worktree");
    let page = project.run(&["man"]).out();
    for verb in [
        "run",
        "task add",
        "mail send",
        "team list",
        "worktree diff",
        "checkpoint restore",
    ] {
        assert!(page.contains(&format!(".SS crewdeck {verb}")), "{verb}");
    }
    assert_eq!(project.run(&["completions", "csh"]).code(), 2);
}
