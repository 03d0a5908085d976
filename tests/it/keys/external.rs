//! The conversation outside the dashboard: printed to the terminal, and in `$EDITOR`. Also the hidden todo list.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::keys::dashboard::{CTRL_C, Dashboard, ENTER, ESC};

const RETURN_PROMPT: &str = "Press Enter to return";

const LEAVE_ALTERNATE_SCREEN: &str = "\x1b[?1049l";

#[test]
fn printed_conversation_returns_to_the_screen() {
    let mut dashboard = Dashboard::with_busy_crew();
    dashboard.press(ESC, "i to write");
    dashboard.press("1P", RETURN_PROMPT);
    dashboard.wait_for_output(LEAVE_ALTERNATE_SCREEN);
    let text = dashboard.wait_for("That was the needle in it.");
    // Only the printed text is shown, without frames.
    assert!(!text.contains('╭'), "{text}");
    dashboard.press(ENTER, "  3 Board ─");
    // Folded output is printed too.
    assert!(dashboard.raw().contains("sleep 600"));
    print_again(&mut dashboard, 2);
    // Ctrl+c ends only the printed view.
    dashboard.press(CTRL_C, "  3 Board ─");
    print_again(&mut dashboard, 3);
    let pid = dashboard.screen.pid().to_string();
    let sent = std::process::Command::new("kill")
        .args(["-TERM", &pid])
        .status();
    assert!(sent.unwrap().success());
    let (status, is_clean) = dashboard.screen.wait_for_exit();
    assert!(status.success() && is_clean, "{status:?} {is_clean}");
}

/// Prints the conversation to the scrollback and waits for the prompt to return, for the `time`th time. The prompts are
/// counted in the raw output, because earlier ones stay in the scrollback.
fn print_again(dashboard: &mut Dashboard, time: usize) {
    dashboard.send("P");
    dashboard.screen.wait_raw("the print", |raw| {
        String::from_utf8_lossy(raw).matches(RETURN_PROMPT).count() == time
    });
}

#[test]
fn conversation_opens_in_the_editor_as_a_private_file() {
    let dir = tempfile::tempdir().unwrap();
    let editor = dir.path().join("editor.sh");
    let folder = dir.path().display();
    let script = format!(
        "#!/bin/sh\nstat -c %a \"$1\" > {folder}/mode\ncp \"$1\" {folder}/copy\necho \"$1\" > {folder}/path\n\
         echo changed >> \"$1\"\n"
    );
    std::fs::write(&editor, script).unwrap();
    std::fs::set_permissions(&editor, std::fs::Permissions::from_mode(0o755)).unwrap();
    let mut dashboard = Dashboard::with_new_crew(&[("EDITOR", &editor.display().to_string())]);
    dashboard.send("go\r");
    dashboard.wait_for("That was the needle in it.");
    dashboard.press(ESC, "i to write");
    dashboard.send("1e");
    let read = |name: &str| std::fs::read_to_string(dir.path().join(name)).unwrap_or_default();
    dashboard
        .screen
        .wait("the editor", |_| !read("path").is_empty());
    dashboard.wait_for("  3 Board ─");
    assert_eq!(read("mode").trim(), "600");
    assert!(read("copy").contains("line 7 of it") && read("copy").contains("> go"));
    let path = read("path");
    dashboard
        .screen
        .wait("the file is gone", |_| !Path::new(path.trim()).exists());
    // Changes in the editor are discarded.
    assert!(!dashboard.screen.text().contains("changed"));
    dashboard.quit();
}

#[test]
fn hidden_todo_list_is_remembered_per_project() {
    let mut dashboard = Dashboard::with_busy_crew();
    dashboard.wait_for("2 Todo");
    dashboard.press("\x14", "Todo list hidden");
    dashboard.wait_until_gone("  2 Todo ─");
    let file = dashboard.home.path().join(".crewdeck/screen.toml");
    let settings = std::fs::read_to_string(file).unwrap_or_default();
    assert!(settings.contains("todo = \"hidden\""), "{settings}");
    dashboard.press("\x14", "  2 Todo ─");
    dashboard.quit();
}
