//! The conversation outside of the screen: in the terminal's own lines, and in `$EDITOR`.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::keys::desk::{CTRL_C, Desk, ENTER, ESC};

const GO_BACK: &str = "Press Enter to return";

/// What ends the alternate screen, and begins it.
const LEAVES: &str = "\x1b[?1049l";

#[test]
fn the_conversation_is_printed_and_the_screen_comes_back() {
    let mut desk = Desk::full();
    desk.press(ESC, "? help");
    desk.press("1s", GO_BACK);
    desk.writes(LEAVES);
    let text = desk.sees("That was the needle in it.");
    // The words of the terminal alone: no frame is left.
    assert!(!text.contains('╭'), "{text}");
    desk.press(ENTER, "╭ 3 Board");
    // Folded output was printed too.
    assert!(desk.raw().contains("sleep 600"));
    printed_again(&mut desk, 2);
    // Ctrl+c means the printed text, and nothing behind it.
    desk.press(CTRL_C, "╭ 3 Board");
    printed_again(&mut desk, 3);
    let pid = desk.screen.pid().to_string();
    let asked = std::process::Command::new("kill")
        .args(["-TERM", &pid])
        .status();
    assert!(asked.unwrap().success());
    let (status, is_clean) = desk.screen.end();
    assert!(status.success() && is_clean, "{status:?} {is_clean}");
}

/// Prints it for that time. The words of the time before are in the terminal's own lines, so they are no sign of it.
fn printed_again(desk: &mut Desk, time: usize) {
    desk.keys("s");
    desk.screen.wait_raw("the print", |raw| {
        String::from_utf8_lossy(raw).matches(GO_BACK).count() == time
    });
}

#[test]
fn the_conversation_is_read_in_the_editor_from_a_file_that_nobody_else_can_read() {
    let dir = tempfile::tempdir().unwrap();
    let editor = dir.path().join("editor.sh");
    let folder = dir.path().display();
    let script = format!(
        "#!/bin/sh\nstat -c %a \"$1\" > {folder}/mode\ncp \"$1\" {folder}/copy\necho \"$1\" > {folder}/path\n\
         echo changed >> \"$1\"\n"
    );
    std::fs::write(&editor, script).unwrap();
    std::fs::set_permissions(&editor, std::fs::Permissions::from_mode(0o755)).unwrap();
    let mut desk = Desk::empty(&[("EDITOR", &editor.display().to_string())]);
    desk.keys("go\r");
    desk.sees("That was the needle in it.");
    desk.press(ESC, "? help");
    desk.keys("1v");
    let read = |name: &str| std::fs::read_to_string(dir.path().join(name)).unwrap_or_default();
    desk.screen.wait("the editor", |_| !read("path").is_empty());
    desk.sees("╭ 3 Board");
    assert_eq!(read("mode").trim(), "600");
    assert!(read("copy").contains("line 7 of it") && read("copy").contains("> go"));
    let path = read("path");
    desk.screen
        .wait("the file is gone", |_| !Path::new(path.trim()).exists());
    // What was changed there went nowhere.
    assert!(!desk.screen.text().contains("changed"));
    desk.leave();
}

#[test]
fn the_todo_list_is_hidden_for_the_project() {
    let mut desk = Desk::full();
    desk.sees("2 Todo");
    desk.press("\x14", "The todo list is hidden");
    desk.loses("╭ 2 Todo");
    let file = desk.home.path().join(".crewdeck/screen.toml");
    let kept = std::fs::read_to_string(file).unwrap_or_default();
    assert!(kept.contains("todo = \"hidden\""), "{kept}");
    desk.press("\x14", "╭ 2 Todo");
    desk.leave();
}
