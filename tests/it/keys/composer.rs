//! The keys of the composer.

use std::os::unix::fs::PermissionsExt;

use crate::keys::dashboard::{CTRL_C, DOWN, Dashboard, ENTER, ESC, UP, has_line};

/// Writes an executable script that acts as an editor: it replaces the content of its file by `text`. Returns its
/// folder, which must be kept, and its path.
pub fn write_editor(text: &str) -> (tempfile::TempDir, String) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("editor.sh");
    std::fs::write(&path, format!("#!/bin/sh\nprintf '{text}\\n' > \"$1\"\n")).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    let path = path.display().to_string();
    (dir, path)
}

#[test]
fn composer_edits_sends_and_recalls_a_message() {
    let (_dir, path) = write_editor("from the editor");
    let mut dashboard = Dashboard::with_new_crew(&[("EDITOR", &path)]);
    dashboard.press("first\nsecond", "│ second");
    dashboard.press("\x1b[13;2uthird", "│ third");
    dashboard.press("\x1b\rfourth", "│ fourth");
    dashboard.clear("\x15", "fourth");
    dashboard.press("\x1b[200~pasted one\npasted two\x1b[201~", "pasted two");
    dashboard.press(ENTER, "I see.");
    dashboard.screen.wait("the composer is empty", |t| {
        has_line(t, &["│ Say what you want done"])
    });
    dashboard.send(UP);
    dashboard.screen.wait("the message again", |t| {
        t.matches("pasted two").count() == 2
    });
    // Down past the last line returns to the previous draft.
    dashboard.send(&DOWN.repeat(5));
    dashboard.wait_for("│ Say what you want done");
    dashboard.press("\x18e", "│ from the editor");
    dashboard.press(CTRL_C, "Draft cleared.");
    dashboard.wait_until_gone("│ from the editor");
    dashboard.press("@nobody hello\r", "nobody");
    dashboard.quit();
}

#[test]
fn oversized_editor_text_is_refused_and_kept_in_a_file() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("editor.sh");
    let script = "#!/bin/sh\nhead -c 300000 /dev/zero | tr '\\0' x > \"$1\"\n";
    std::fs::write(&path, script).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    let mut dashboard = Dashboard::with_new_crew(&[("EDITOR", &path.display().to_string())]);
    dashboard.press("as it was", "│ as it was");
    dashboard.press("\x18e", "is too long: 292 KiB, but the limit is 256 KiB");
    dashboard.wait_for("│ as it was");
    // The temporary folder is the home of the test.
    let files = std::fs::read_dir(dashboard.home.path()).unwrap();
    let names = files.map(|e| e.unwrap().file_name().to_string_lossy().into_owned());
    let files: Vec<String> = names
        .filter(|n| n.starts_with("crewdeck-") && n.contains(".md"))
        .collect();
    assert_eq!(files.len(), 1, "{files:?}");
    dashboard.wait_for(&files[0]);
    let size = std::fs::metadata(dashboard.home.path().join(&files[0]))
        .unwrap()
        .len();
    assert_eq!(size, 300_000);
    dashboard.quit();
}

#[test]
fn mentions_and_slash_commands_work_in_the_composer() {
    let mut dashboard = Dashboard::with_busy_crew();
    dashboard.press("@alice are you there?\r", "Sent to alice.");
    dashboard.press("/jobs\r", "sleep 600");
    dashboard.clear("q", "sleep 600");
    dashboard.clear("\x1b[5~", "That was the needle in it.");
    dashboard.press("\x1b[6~", "That was the needle in it.");
    dashboard.quit();
}

#[test]
fn composer_completes_commands_and_names() {
    let mut dashboard = Dashboard::with_busy_crew();
    dashboard.press("/", "summarise the conversation");
    dashboard.press("th", "› /theme");
    dashboard.press(ENTER, "╭ Theme");
    dashboard.clear(ESC, "╭ Theme");
    dashboard.press("@", "╭ Write to");
    dashboard.press(DOWN, "› @bob");
    dashboard.press(UP, "› @alice");
    dashboard.clear(ESC, "╭ Write to");
    dashboard.press("b", "› @bob");
    dashboard.press("\t", "│ @bob ");
    dashboard.press("hello\r", "Sent to bob.");
    dashboard.quit();
}

#[test]
fn files_are_attached_and_commands_are_run() {
    let mut dashboard = Dashboard::with_new_crew(&[]);
    std::fs::write(dashboard.home.path().join("notes.md"), "one\ntwo\n").unwrap();
    // A completion that was not found yet appears as soon as the files are read.
    dashboard.press("read @nots", "› @notes.md");
    dashboard.press("\t", "│ read @notes.md ");
    dashboard.press(ENTER, "notes.md · 2 lines");
    dashboard.wait_for("I see.");
    dashboard.press("!echo $((40 + 2))", "shell command in the project");
    dashboard.send(ENTER);
    dashboard
        .screen
        .wait("the output", |t| t.lines().any(|line| line.trim() == "42"));
    dashboard.quit();
}

#[test]
fn command_of_the_user_runs_outside_of_the_sandbox() {
    let mut dashboard = Dashboard::with_new_crew(&[]);
    // Commands of agents cannot write to this folder.
    let state = dashboard.home.path().join(".local/state/crewdeck");
    std::fs::create_dir_all(&state).unwrap();
    let command = "!touch .local/state/crewdeck/mine; echo ended-$((40 + 2))";
    dashboard.press(&format!("{command}\r"), "ended-42");
    assert!(state.join("mine").exists());
    dashboard.quit();
}

#[test]
fn deleted_text_returns_and_edits_are_undone() {
    let (_dir, path) = write_editor("from the editor");
    let mut dashboard = Dashboard::with_new_crew(&[("EDITOR", &path)]);
    dashboard.press("alpha beta gamma", "│ alpha beta gamma");
    // Ctrl+w twice, then Ctrl+y brings both words back.
    dashboard.clear("\x17\x17", "beta");
    dashboard.press("\x19", "│ alpha beta gamma");
    // Ctrl+a, Alt+d, Ctrl+k: the rest of the line is one text with the word.
    dashboard.clear("\x01\x1bd\x0b", "│ alpha");
    dashboard.press("new \x19", "│ new alpha beta gamma");
    // Alt+y and its second way take the text that was deleted before.
    dashboard.press("\x1by", "│ new beta gamma");
    dashboard.press("\x18y", "│ new alpha beta gamma");
    // Undo and redo, each in its ways.
    dashboard.press("\x1f", "│ new beta gamma");
    dashboard.press("\x18r", "│ new alpha beta gamma");
    dashboard.clear("\x18u\x18u\x18u", "gamma");
    dashboard.clear("\x15", "│ new ");
    // Alt+Backspace deletes the word before the cursor, which returns too.
    dashboard.press("one two", "│ one two");
    dashboard.clear("\x1b\x7f", "two");
    dashboard.press("\x19", "│ one two");
    dashboard.press("\x07", "│ from the editor");
    dashboard.quit();
}

#[test]
fn deleted_paste_returns_after_a_message_and_opens() {
    let mut dashboard = Dashboard::with_new_crew(&[]);
    let rows: Vec<String> = (1..=7).map(|number| format!("row {number}")).collect();
    let pasted = format!("\x1b[200~{}\x1b[201~", rows.join("\n"));
    dashboard.press(&pasted, "│ [pasted 7 lines]");
    dashboard.clear("\x15", "[pasted 7 lines]");
    dashboard.press("hello\r", "I see.");
    dashboard.press("\x19", "│ [pasted 7 lines]");
    dashboard.press("\x0f", "│ row 7");
    dashboard.quit();
}

#[test]
fn earlier_messages_are_searched() {
    let mut dashboard = Dashboard::with_new_crew(&[]);
    dashboard.press("fix the parser\r", "I see.");
    dashboard.send("run all tests\r");
    dashboard
        .screen
        .wait("two answers", |t| t.matches("I see.").count() == 2);
    let mut dashboard = dashboard.restart();
    // Esc leaves the draft as it was.
    dashboard.press("a draft", "│ a draft");
    let text = dashboard.press("\x12", "Earlier messages");
    assert!(has_line(&text, &["a draft"]), "{text}");
    dashboard
        .screen
        .wait("the newest first", |t| has_line(t, &["›", "run all tests"]));
    dashboard.clear(ESC, "Earlier messages");
    dashboard.wait_for("│ a draft");
    // Ctrl+r again goes to the older match, Ctrl+s to the newer one.
    dashboard.press("\x12", "Earlier messages");
    dashboard.send("\x12");
    dashboard
        .screen
        .wait("the older", |t| has_line(t, &["›", "fix the parser"]));
    dashboard.send("\x13");
    dashboard
        .screen
        .wait("the newer", |t| has_line(t, &["›", "run all tests"]));
    dashboard.clear("PARS", "run all tests");
    dashboard.press(ENTER, "│ fix the parser");
    dashboard.wait_until_gone("Earlier messages");
    // Down past the newest message returns the draft.
    dashboard.press(&DOWN.repeat(2), "│ a draft");
    dashboard.quit();
}
