//! Terminal output with hostile text from files, arguments and the model: control sequences and invisible characters are escaped.

use std::os::unix::ffi::OsStrExt;
use std::process::Command;

use crewdeck::fuzzing::check_visible_lines;
use serde_json::{Value, json};

use crate::common::project::{Project, RunResult};
use crate::common::pty::Screen;

/// Control sequences that set the title, clear the screen, write to the clipboard and reverse the text direction.
const EVIL: &str =
    "\u{1b}]0;pwned\u{7}\u{1b}[2J\u{1b}]52;c;cHduZWQ=\u{7}\u{9b}2J\u{7f}\u{202e}x\u{e0041}y";

/// Follows [`EVIL`] in each text. If the output contains it, the hostile text was shown.
const MARKER: &str = "seen-here";

fn evil(what: &str) -> String {
    format!("{EVIL}{MARKER} {what}")
}

/// Creates a repository with hostile text in every state file.
fn project() -> Project {
    let project = Project::git();
    let git = |args: &[&str]| {
        let run = Command::new("git")
            .args(["-c", "user.name=a", "-c", "user.email=a@b"])
            .args(args)
            .current_dir(project.path())
            .output();
        assert!(run.unwrap().status.success(), "{args:?}");
    };
    git(&[
        "commit",
        "--quiet",
        "--allow-empty",
        "-m",
        &evil("commit").replace('\0', ""),
    ]);
    let task = |id: u64, status: &str| {
        let task = json!({"id": id, "subject": evil("subject"), "description": evil("text"), "status": status,
            "owner": evil("owner"), "tags": [evil("tag")], "worktree": evil("tree")});
        project.write(&format!(".tasks/task_{id}.json"), &task.to_string());
    };
    task(1, "pending");
    task(2, "completed");
    project.write(".tasks/task_3.json", &format!("{EVIL} is no JSON"));
    let odd = json!({"id": 4, "subject": "x", "status": evil("status")});
    project.write(".tasks/task_4.json", &odd.to_string());
    let team = json!({"team_name": evil("team"), "members": [
        {"name": "bob", "role": evil("role"), "tags": [evil("tag")], "model": evil("model")}]});
    project.write(".team/config.json", &team.to_string());
    let message = json!({"type": evil("type"), "from": evil("from"), "to": evil("to"), "content": evil("letter")});
    project.write(".team/inbox/bob.jsonl", &format!("{message}\n{EVIL}\n"));
    project
}

fn assert_escaped(what: &str, ran: &RunResult) {
    for text in [ran.out(), ran.err()] {
        if let Err(why) = check_visible_lines(what, &text) {
            panic!("{why}\n{text:?}");
        }
    }
}

#[test]
fn commands_escape_hostile_state() {
    let project = project();
    // Worktree names are validated, but branch names are not.
    project.json(&["task", "add", "Own words"]);
    let index = json!({"worktrees": [
        {"name": "task-1", "path": evil("path"), "branch": evil("branch"), "task_id": 1, "status": "active",
         "owner": evil("owner"), "created_at": 1.0},
        {"name": evil("name"), "status": "active"}]});
    project.write(".worktrees/index.json", &index.to_string());
    for verb in [
        &["task", "list"][..],
        &["task", "list", "--ready"],
        &["task", "show", "1"],
        &["mail", "list", "bob"],
        &["mail", "read", "bob"],
        &["team", "list"],
        &["worktree", "list"],
        &["worktree", "diff", "task-1"],
        &["worktree", "merge", "task-1"],
        &["worktree", "remove", "task-1"],
        &["checkpoint", "list"],
    ] {
        for more in [&[][..], &["--json"]] {
            let args: Vec<&str> = verb.iter().chain(more).copied().collect();
            assert_escaped(&args.join(" "), &project.run(&args));
        }
    }
    let text = project.run(&["task", "list"]);
    assert!(text.out().contains(MARKER), "{}", text.out());
    let task: Value = project.json(&["task", "show", "1"]);
    assert_eq!(task["subject"], evil("subject"), "JSON keeps the text");
}

#[test]
fn line_breaks_in_records_begin_no_line_of_output() {
    let project = Project::new();
    let field = |what: &str| format!("{what}\nforged line");
    let task = json!({"id": 1, "subject": field("subject"), "status": "in_progress", "owner": field("owner"),
        "tags": [field("tag")]});
    project.write(".tasks/task_1.json", &task.to_string());
    let team = json!({"team_name": "web", "members": [{"name": "bob", "role": field("role")}]});
    project.write(".team/config.json", &team.to_string());
    let message = json!({"type": field("type"), "from": field("from"), "to": field("to"), "content": field("text")});
    project.write(".team/inbox/bob.jsonl", &format!("{message}\n"));
    for (args, shown) in [
        (&["task", "list"][..], "tag⏎forged line"),
        (&["task", "show", "1"], "tags: tag⏎forged line"),
        (&["team", "list"], "bob (role⏎forged line)"),
        // The text of a message has several lines, which are indented.
        (&["mail", "list", "bob"], "text\n    forged line"),
        (&["mail", "read", "bob"], "from⏎forged line → to"),
    ] {
        let out = project.run(args).out();
        assert!(out.contains(shown), "{args:?}: {out}");
        let is_forged = |line: &str| line.starts_with("forged");
        assert!(!out.lines().any(is_forged), "{args:?}: {out}");
    }
}

#[test]
fn refusals_escape_hostile_arguments() {
    let project = project();
    project.write("evil.yaml", &format!("rules:\n  - {}: x\n", json!(EVIL)));
    let script = format!("script:{}", project.file("evil.yaml").display());
    let missing = format!("script:{EVIL}");
    for args in [
        &["--dir", EVIL, "task", "list"][..],
        &["task", "show", EVIL],
        &["task", "add", "x", "--blocked-by", EVIL],
        &["task", "done", "1", "--as", EVIL],
        &["task", "claim", "1", "--as", "alice"],
        &["task", "done", "1", "--as", "alice"],
        &["mail", "read", EVIL],
        &["mail", "send", EVIL, "text"],
        &["mail", "send", "bob", "text", "--from", EVIL],
        &["worktree", "merge", EVIL],
        &["worktree", "remove", EVIL],
        &["checkpoint", "diff", EVIL],
        &["checkpoint", "list", "--agent", EVIL],
        &[EVIL],
        &["task", EVIL],
        &["--plan", EVIL],
        &["--speed", EVIL, "--demo"],
        &[&format!("--{EVIL}")],
        &["run", "x", "--provider", EVIL],
        &["run", "x", "--provider", &missing],
        &["run", "x", "--provider", &script],
        &["run", "x", "--demo", "--tools", EVIL],
        &["run", "x", "--provider", "demo", "--resume", EVIL],
        &["run", "x", "--provider", "openai", "--base-url", EVIL],
    ] {
        let ran = project.run(args);
        assert_ne!(ran.code(), 0, "{args:?}: {}", ran.out());
        assert!(!ran.err().is_empty(), "{args:?}");
        assert_escaped(&format!("{args:?}"), &ran);
    }
    for settings in [
        format!(
            "{} = 1\n",
            crewdeck::domain::text::escape_json(&json!("\u{1b}[2J\u{9b}\u{202e}").to_string())
        ),
        format!("model = {EVIL}\n"),
        format!("plan = {}\n", json!(EVIL)),
    ] {
        project.write(".crewdeck/config.toml", &settings);
        let ran = project.run(&["run", "x"]);
        assert!(ran.err().contains("config.toml"), "{}", ran.err());
        assert_escaped("settings", &ran);
    }
}

#[test]
fn hostile_folder_names_are_escaped() {
    let outer = Project::new();
    let dir = outer.file(&evil("folder"));
    std::fs::create_dir(&dir).unwrap();
    std::fs::create_dir_all(dir.join(".tasks")).unwrap();
    std::fs::write(dir.join(".tasks/task_1.json"), "no JSON").unwrap();
    std::fs::write(dir.join(".team"), "no folder").unwrap();
    for args in [
        &["task", "list"][..],
        &["mail", "read", "lead"],
        &["team", "list"],
    ] {
        let mut command = outer.command(args);
        command
            .arg("--dir")
            .arg(std::ffi::OsStr::from_bytes(dir.as_os_str().as_bytes()));
        assert_escaped(&format!("{args:?}"), &RunResult(command.output().unwrap()));
    }
}

/// Returns a script whose lead answers with hostile text, calls unknown tools with hostile names, reads a hostile file,
/// and writes hostile messages and tasks.
fn script() -> String {
    // YAML needs these characters escaped, but has no surrogate pairs.
    let hostile = |what: &str| {
        let text = crewdeck::domain::text::escape_json(&json!(evil(what)).to_string());
        text.replace("\\udb40\\udc41", "\u{e0041}")
    };
    format!(
        r#"model: {model}
rules:
  - agent: lead
    think: {think}
    say: {say}
    calls:
      - tool: task_create
        input: {{ subject: {subject}, description: {text}, tags: [{tag}] }}
      - tool: read_file
        input: {{ path: "evil.txt" }}
      - tool: read_file
        input: {{ path: {path} }}
      - tool: {tool}
        input: {{ path: {path} }}
      - tool: bash
        input: {{ command: "cat evil.txt; ls" }}
      - tool: glob
        input: {{ pattern: "*" }}
      - tool: load_skill
        input: {{ name: {skill} }}
      - tool: send_message
        input: {{ to: user, content: {message} }}
      - tool: todo
        input: {{ items: [{{ text: {todo}, status: in_progress }}] }}
  - agent: lead
    times: 0
    say: {last}
"#,
        model = hostile("model"),
        think = hostile("thought"),
        say = hostile("words"),
        subject = hostile("subject"),
        text = hostile("text"),
        tag = hostile("tag"),
        path = hostile("path"),
        tool = hostile("tool"),
        skill = hostile("skill"),
        message = hostile("message"),
        todo = hostile("todo"),
        last = hostile("\n\n&#27;]0;pwned&#7; [a](http://b&#27;[2J) the-last-words"),
    )
}

fn project_with_script() -> Project {
    let project = project();
    project.write("evil.yaml", &script());
    project.write("evil.txt", &format!("{}\n", evil("file")));
    project.write(&format!("{}.txt", evil("name").replace('/', "")), "x");
    project.write(
        "skills/evil/SKILL.md",
        &format!(
            "---\nname: evil\ndescription: {}\n---\n{EVIL}\n",
            json!(evil("description"))
        ),
    );
    project.write(
        "skills/broken/SKILL.md",
        &format!("---\nname: {}\n---\nx\n", json!(EVIL)),
    );
    project
}

#[test]
fn run_output_escapes_hostile_text() {
    let project = project_with_script();
    let provider = format!("script:{}", project.file("evil.yaml").display());
    let ran = project.run(&["run", &evil("prompt"), "--provider", &provider]);
    assert!(
        ran.out().contains("the-last-words"),
        "{} {}",
        ran.out(),
        ran.err()
    );
    assert_escaped("run", &ran);
}

#[test]
fn dashboard_writes_only_its_own_escape_sequences() {
    let project = project_with_script();
    let provider = format!("script:{}", project.file("evil.yaml").display());
    let mut screen = Screen::start(project.path(), 160, 45, &["--provider", &provider]);
    screen.wait_for(MARKER);
    screen.send("hello\r");
    screen.wait_for("the-last-words");
    screen.wait("an idle lead", |text| {
        text.lines().nth(1).is_some_and(|l| l.contains("○ idle "))
    });
    screen.send("\u{1b}");
    screen.wait_for("q quit");
    // Popups with full text: skills, event log, task, message. Wait for each to close, because Esc and the next key together are
    // Alt+key.
    for keys in ["S", "@", "43\r", "45\r"] {
        screen.send(keys);
        screen.wait("a popup", |text| !text.contains("q quit"));
        screen.send("\u{1b}");
        screen.wait_for("q quit");
    }
    let raw = screen.raw();
    screen.send("q");
    let (status, is_clean) = screen.wait_for_exit();
    assert!(status.success() && is_clean, "{status:?} {is_clean}");
    let text = String::from_utf8_lossy(&raw);
    assert!(text.contains(MARKER), "the hostile text must be drawn");
    for sequence in [
        "\u{9b}",
        "\u{202e}",
        "\u{e0041}",
        "\u{7f}",
        "\u{1b}]52",
        "\u{1b}]8",
        "\u{1b}P",
        "\u{1b}_",
    ] {
        let found = text
            .split_once(sequence)
            .map(|(_, rest)| rest.chars().take(40).collect::<String>());
        assert_eq!(found, None, "{sequence:?}");
    }
    // Only crewdeck's own titles are set.
    for title in text.split("\u{1b}]").skip(1) {
        let title: String = title.chars().take(40).collect();
        assert!(
            title.starts_with("0;crewdeck") || title.starts_with("0;\u{7}"),
            "{title:?}"
        );
    }
}
