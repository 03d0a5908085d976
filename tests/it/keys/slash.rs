//! The slash commands that change or leave the session, and those that write or check something.

use std::path::Path;

use crate::common::pty::Screen;
use crate::keys::dashboard::{CTRL_C, Dashboard, ENTER, ESC, UP, has_line};

/// This hint is shown while the lead works.
const STOP: &str = "Ctrl+c stop lead";

/// Returns the names of the files in `.transcripts`, sorted.
fn transcripts(home: &Path) -> Vec<String> {
    let files = std::fs::read_dir(home.join(".transcripts")).unwrap();
    let names = files.map(|file| file.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.collect();
    names.sort();
    names
}

#[test]
fn conversation_is_cleared_and_sessions_are_started_and_resumed() {
    let mut dashboard = Dashboard::with_new_crew(&[]);
    let home = dashboard.home.path().to_path_buf();
    dashboard.press("first words\r", "I see.");
    dashboard.wait_until_gone(STOP);
    dashboard.press("/clear\r", "conversation cleared");
    dashboard.wait_until_gone("I see.");
    let files = transcripts(&home);
    assert!(
        files.iter().any(|f| f.ends_with("-lead.whole-1.jsonl")),
        "{files:?}"
    );
    let log = files.iter().find(|f| f.ends_with("-lead.jsonl")).unwrap();
    let read = |name: &str| std::fs::read_to_string(home.join(".transcripts").join(name)).unwrap();
    let text = read(log);
    assert!(!text.contains("first words"), "{text}");
    dashboard.press("second words\r", "I see.");
    let text = read(log);
    assert!(text.contains("second words"), "{text}");

    // An agent that works is stopped only after a question.
    dashboard.wait_until_gone(STOP);
    dashboard.press("wait\r", STOP);
    dashboard.press("/clear\r", "lead is still working.");
    dashboard.clear("n", "lead is still working.");
    dashboard.press("/new\r", "Leave this session and");
    dashboard.clear("n", "Leave this session and");
    dashboard.press("/clear\r", "lead is still working.");
    dashboard.clear("y", "lead is still working.");
    dashboard.wait_until_gone("second words");
    dashboard.wait_until_gone(STOP);

    dashboard.send("/new\r");
    dashboard.screen.wait("a new session", |t| {
        !t.contains("conversation cleared") && t.contains("scripted") && t.contains(" to lead ")
    });
    dashboard.press("third words\r", "I see.");
    dashboard.wait_until_gone(STOP);
    dashboard.press("/resume\r", "Resume a session");
    dashboard
        .screen
        .wait("the first session", |t| has_line(t, &["›", "first words"]));
    dashboard.send(ENTER);
    dashboard.screen.wait("the first session again", |t| {
        t.contains("conversation cleared") && !t.contains("third words")
    });
    // The history spans all sessions.
    dashboard
        .screen
        .wait("the crew", |t| t.contains(" to lead "));
    dashboard.press(UP, "│ third words");
    dashboard.quit();
}

#[test]
fn export_names_its_file_and_replaces_none() {
    let mut dashboard = Dashboard::with_new_crew(&[]);
    dashboard.press("say <b>hello</b>\r", "I see.");
    dashboard.press("/export out.html\r", "exported to out.html.");
    dashboard.press("/export out.html\r", "exported to out-2.html.");
    dashboard.press("/export out.txt\r", "must end with .md or .html");
    let text = dashboard.press("/export\r", "exported to crewdeck-");
    let home = dashboard.home.path();
    let page = std::fs::read_to_string(home.join("out.html")).unwrap();
    assert!(page.contains("say &lt;b&gt;hello&lt;/b&gt;"), "{page}");
    let names = std::fs::read_dir(home).unwrap();
    let names = names.map(|file| file.unwrap().file_name().into_string().unwrap());
    let name = names
        .into_iter()
        .find(|n| n.starts_with("crewdeck-") && n.ends_with("-lead.md"));
    let name = name.unwrap();
    assert!(text.contains(&name), "{name} in {text}");
    let page = std::fs::read_to_string(home.join(name)).unwrap();
    assert!(
        page.contains("> say <b>hello</b>") && page.contains("I see."),
        "{page}"
    );
    dashboard.quit();
}

#[test]
fn doctor_cost_permissions_and_typos_have_an_answer() {
    let mut dashboard = Dashboard::with_new_crew(&[]);
    dashboard.press("/doctor\r", "╭ Doctor");
    dashboard.screen.wait("the report", |t| {
        has_line(t, &["settings"]) && !t.contains("Checking terminal")
    });
    dashboard.clear(ESC, "╭ Doctor");
    dashboard.press("/cost\r", "╭ Cost");
    dashboard.clear(ESC, "╭ Cost");
    dashboard.press("/permissions\r", "Allowed until crewdeck ends");
    dashboard.clear(ESC, "Allowed until crewdeck ends");
    dashboard.press("/mcp\r", "No MCP servers.");
    dashboard.clear(ESC, "No MCP servers.");
    dashboard.press("/exprot x.md\r", "Did you mean /export?");
    dashboard.clear(CTRL_C, "/exprot");
    dashboard.press("/init\r", "I see.");
    dashboard.wait_for("Write an AGENTS.md for this repository");
    dashboard.quit();
}

#[test]
fn exit_prints_the_command_that_resumes() {
    let Dashboard { home, mut screen } = Dashboard::with_new_crew(&[]);
    screen.send(&CTRL_C.repeat(3));
    screen.wait_for_exit();
    // What the program prints at its end is seen in a shell.
    let mut shell = Screen::start_program(
        Path::new("/bin/bash"),
        home.path(),
        160,
        30,
        &["--norc", "--noprofile", "-i"],
        &[("PS1", "READY> ")],
    );
    shell.wait_for("READY>");
    let program = env!("CARGO_BIN_EXE_crewdeck");
    let start = format!("{program} --provider script:script.yaml\r");
    shell.send(&start);
    shell.wait("the crew", |t| {
        t.contains("scripted") && t.contains(" to lead ")
    });
    // A session without a conversation cannot be resumed.
    shell.send(&CTRL_C.repeat(3));
    let text = shell.wait("the shell", |t| {
        !t.contains(" to lead ") && t.matches("READY>").count() == 2
    });
    assert!(!text.contains("--resume"), "{text}");
    shell.send(&start);
    shell.wait("the crew", |t| {
        t.contains("scripted") && t.contains(" to lead ")
    });
    shell.send_and_wait_for("my first words\r", "I see.");
    shell.wait("an idle lead", |t| !t.contains(STOP));
    shell.send(&CTRL_C.repeat(3));
    let text = shell.wait("the shell", |t| t.matches("READY>").count() == 3);
    let command = text
        .lines()
        .find_map(|line| line.split_once("To resume this session: crewdeck "));
    let (_, options) = command.unwrap_or_else(|| panic!("{text}"));
    assert!(options.contains("--resume 0"), "{options}");
    shell.send(&format!("{program} {options}\r"));
    shell.wait_for("my first words");
    shell.send(&CTRL_C.repeat(3));
    shell.wait("the shell", |t| t.matches("READY>").count() == 4);
    shell.send("exit\r");
    shell.wait_for_exit();
}
