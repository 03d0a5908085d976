//! Writing to an agent.

use std::os::unix::fs::PermissionsExt;

use crate::keys::desk::{CTRL_C, DOWN, Desk, ENTER, ESC, UP, has_line};

/// A program that writes `text` over its file, as an editor would.
pub fn editor(text: &str) -> (tempfile::TempDir, String) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("editor.sh");
    std::fs::write(&path, format!("#!/bin/sh\nprintf '{text}\\n' > \"$1\"\n")).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    let path = path.display().to_string();
    (dir, path)
}

#[test]
fn a_message_is_written_sent_and_called_back() {
    let (_dir, path) = editor("from the editor");
    let mut desk = Desk::empty(&[("EDITOR", &path)]);
    desk.press("first\nsecond", "│ second");
    desk.press("\x1b[13;2uthird", "│ third");
    desk.press("\x1b\rfourth", "│ fourth");
    desk.clear("\x15", "fourth");
    desk.press("\x1b[200~pasted one\npasted two\x1b[201~", "pasted two");
    desk.press(ENTER, "I see.");
    desk.screen.wait("the composer is empty", |t| {
        has_line(t, &["│ Say what you want done"])
    });
    desk.keys(UP);
    desk.screen.wait("the message again", |t| {
        t.matches("pasted two").count() == 2
    });
    // Down past its last line is what was there before.
    desk.keys(&DOWN.repeat(5));
    desk.sees("│ Say what you want done");
    desk.press("\x18e", "│ from the editor");
    desk.press(CTRL_C, "Draft cleared.");
    desk.loses("│ from the editor");
    desk.press("@nobody hello\r", "nobody");
    desk.leave();
}

#[test]
fn what_the_editor_gives_back_is_bounded_and_nothing_of_it_is_lost() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("editor.sh");
    let script = "#!/bin/sh\nhead -c 300000 /dev/zero | tr '\\0' x > \"$1\"\n";
    std::fs::write(&path, script).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    let mut desk = Desk::empty(&[("EDITOR", &path.display().to_string())]);
    desk.press("as it was", "│ as it was");
    desk.press("\x18e", "is too long: 292 KiB, the limit is 256 KiB");
    desk.sees("│ as it was");
    // The folder for temporary files is that of the test.
    let files = std::fs::read_dir(desk.home.path()).unwrap();
    let names = files.map(|e| e.unwrap().file_name().to_string_lossy().into_owned());
    let kept: Vec<String> = names
        .filter(|n| n.starts_with("crewdeck-") && n.contains(".md"))
        .collect();
    assert_eq!(kept.len(), 1, "{kept:?}");
    desk.sees(&kept[0]);
    let size = std::fs::metadata(desk.home.path().join(&kept[0]))
        .unwrap()
        .len();
    assert_eq!(size, 300_000);
    desk.leave();
}

#[test]
fn a_name_and_a_slash_lead_elsewhere() {
    let mut desk = Desk::full();
    desk.press("@alice are you there?\r", "Sent to alice.");
    desk.press("/jobs\r", "sleep 600");
    desk.clear("q", "sleep 600");
    desk.clear("\x1b[5~", "That was the needle in it.");
    desk.press("\x1b[6~", "That was the needle in it.");
    desk.leave();
}

#[test]
fn a_word_is_completed() {
    let mut desk = Desk::full();
    desk.press("/", "/compact  summarise");
    desk.press("th", "›/theme");
    desk.press(ENTER, "╭ Theme");
    desk.clear(ESC, "╭ Theme");
    desk.press("@", "╭ Write to");
    desk.press(DOWN, "›@bob");
    desk.press(UP, "›@alice");
    desk.clear(ESC, "╭ Write to");
    desk.press("b", "›@bob");
    desk.press("\t", "│ @bob ");
    desk.press("hello\r", "Sent to bob.");
    desk.leave();
}
