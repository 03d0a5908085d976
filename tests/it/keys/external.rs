//! The conversation outside of the screen: in the terminal's own lines, and in `$EDITOR`.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::keys::dashboard::{CTRL_C, Dashboard, ENTER, ESC};

const GO_BACK: &str = "Press Enter to go back";

/// What ends the alternate screen, and begins it.
const LEAVES: &str = "\x1b[?1049l";

#[test]
fn printed_conversation_returns_to_the_screen() {
    let mut dashboard = Dashboard::full();
    dashboard.press(ESC, "? help");
    dashboard.press("1s", GO_BACK);
    dashboard.writes(LEAVES);
    let text = dashboard.sees("That was the needle in it.");
    // The words of the terminal alone: no frame is left.
    assert!(!text.contains('╭'), "{text}");
    dashboard.press(ENTER, "╭ 3 Board");
    // Folded output was printed too.
    assert!(dashboard.raw().contains("sleep 600"));
    printed_again(&mut dashboard, 2);
    // Ctrl+c means the printed text, and nothing behind it.
    dashboard.press(CTRL_C, "╭ 3 Board");
    printed_again(&mut dashboard, 3);
    let pid = dashboard.screen.pid().to_string();
    let asked = std::process::Command::new("kill")
        .args(["-TERM", &pid])
        .status();
    assert!(asked.unwrap().success());
    let (status, is_clean) = dashboard.screen.end();
    assert!(status.success() && is_clean, "{status:?} {is_clean}");
}

/// Prints it for that time. The words of the time before are in the terminal's own lines, so they are no sign of it.
fn printed_again(dashboard: &mut Dashboard, time: usize) {
    dashboard.keys("s");
    dashboard.screen.wait_raw("the print", |raw| {
        String::from_utf8_lossy(raw).matches(GO_BACK).count() == time
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
    let mut dashboard = Dashboard::empty(&[("EDITOR", &editor.display().to_string())]);
    dashboard.keys("go\r");
    dashboard.sees("That was the needle in it.");
    dashboard.press(ESC, "? help");
    dashboard.keys("1v");
    let read = |name: &str| std::fs::read_to_string(dir.path().join(name)).unwrap_or_default();
    dashboard.screen.wait("the editor", |_| !read("path").is_empty());
    dashboard.sees("╭ 3 Board");
    assert_eq!(read("mode").trim(), "600");
    assert!(read("copy").contains("line 7 of it") && read("copy").contains("> go"));
    let path = read("path");
    dashboard.screen
        .wait("the file is gone", |_| !Path::new(path.trim()).exists());
    // What was changed there went nowhere.
    assert!(!dashboard.screen.text().contains("changed"));
    dashboard.leave();
}

#[test]
fn hidden_todo_list_is_remembered_per_project() {
    let mut dashboard = Dashboard::full();
    dashboard.sees("2 Todo");
    dashboard.press("\x14", "The todo list is hidden");
    dashboard.loses("╭ 2 Todo");
    let file = dashboard.home.path().join(".crewdeck/screen.toml");
    let kept = std::fs::read_to_string(file).unwrap_or_default();
    assert!(kept.contains("todo = \"hidden\""), "{kept}");
    dashboard.press("\x14", "╭ 2 Todo");
    dashboard.leave();
}
