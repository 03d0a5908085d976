//! Step tables of the editing actions: deletions and their return, undo and redo.

use pretty_assertions::assert_eq;

use super::history::HISTORY_MAX;
use super::*;
use crate::ui::keymap::Action;
use crate::ui::keys;

/// Returns the text with `|` at the cursor.
fn text_with_cursor(composer: &Composer) -> String {
    let (row, at) = composer.cursor();
    let mut lines: Vec<String> = composer.text().split('\n').map(String::from).collect();
    let end = lines[row].char_indices().nth(at).map(|(byte, _)| byte);
    let end = end.unwrap_or(lines[row].len());
    lines[row].insert(end, '|');
    lines.join("\n")
}

/// Runs the steps on a composer with `text`, and returns the result. A step is the readline name of an action, or a
/// key.
fn after(text: &str, steps: &str) -> String {
    let mut composer = Composer::default();
    composer.set(text);
    for step in steps.split_whitespace() {
        let action = match step {
            "C-k" => Action::DeleteToEnd,
            "C-u" => Action::DeleteToStart,
            "C-w" => Action::DeleteWord,
            "M-d" => Action::DeleteNextWord,
            "M-DEL" => Action::DeletePrevWord,
            "C-y" => Action::Yank,
            "M-y" => Action::YankPop,
            "undo" => Action::Undo,
            "redo" => Action::Redo,
            key => {
                composer.key(keys::parse(key).unwrap(), 40);
                continue;
            }
        };
        composer.act(action);
    }
    text_with_cursor(&composer)
}

#[test]
fn deletions_cover_words_and_lines() {
    for (text, steps, expected) in [
        ("one two three", "C-w", "one two |"),
        ("one two  ", "C-w", "one |"),
        ("one two/three", "C-w", "one |"),
        ("one two", "left left C-w", "one |wo"),
        ("one two", "home C-k", "|"),
        ("one\ntwo", "up home C-k", "|\ntwo"),
        ("one\ntwo", "up home C-k C-k", "|two"),
        ("one\ntwo", "C-k", "one\ntwo|"),
        ("one two", "left C-u", "|o"),
        ("one\ntwo", "home C-u", "one|two"),
        ("one\ntwo", "home C-w", "one|two"),
        ("one", "home C-u", "|one"),
        ("one-two three", "home M-d", "|-two three"),
        ("one-two three", "home M-d M-d", "| three"),
        ("one\ntwo", "up end M-d", "one|two"),
        ("one ..", "left left left M-d", "one|"),
        ("e\u{301}t x", "home M-d", "| x"),
        ("x e\u{301}", "C-w", "x |"),
        ("one two/three", "M-DEL", "one two/|"),
        ("one two/three", "M-DEL M-DEL", "one |"),
        ("one two. ", "M-DEL", "one |"),
        ("one two", "left left M-DEL", "one |wo"),
        (" ..", "M-DEL", "|"),
        ("one\ntwo", "home M-DEL", "one|two"),
        ("x e\u{301}", "M-DEL", "x |"),
        ("", "C-w C-u C-k M-d M-DEL", "|"),
    ] {
        assert_eq!(after(text, steps), expected, "{text:?} {steps}");
    }
}

#[test]
fn deleted_text_is_inserted_again() {
    for (text, steps, expected) in [
        // Deletions in a row are one text.
        ("one two three", "C-w C-w C-y", "one two three|"),
        (
            "one two three",
            "home M-d M-d C-y C-y",
            "one twoone two| three",
        ),
        ("one\ntwo", "up home C-k C-k C-y", "one\n|two"),
        ("alpha beta", "M-DEL C-y", "alpha beta|"),
        ("one two/three", "M-DEL M-DEL C-y", "one two/three|"),
        // After a movement or an edit, a deletion is a new text.
        ("one two", "C-w left C-w C-y", "one| "),
        ("one two", "C-w left C-w C-y M-y", "two| "),
        ("one two", "C-w left C-w C-y M-y M-y", "one| "),
        ("one two", "C-w x C-w C-y", "one x|"),
        // `M-y` works only directly after an insertion.
        ("one two", "C-w C-y left M-y", "one tw|o"),
        ("x", "C-y M-y", "x|"),
    ] {
        assert_eq!(after(text, steps), expected, "{text:?} {steps}");
    }
}

#[test]
fn undo_goes_back_by_words_and_redo_forward() {
    for (text, steps, expected) in [
        ("", "a b c space d e undo", "abc |"),
        ("", "a b c space d e undo undo", "|"),
        ("", "a b c space d e undo undo redo", "abc |"),
        ("", "a b c space d e undo undo redo redo redo", "abc de|"),
        ("", "a b left c undo", "a|b"),
        ("", "a undo b redo", "b|"),
        ("", "undo redo", "|"),
        ("one two", "C-w undo", "one two|"),
        ("one two", "C-w undo redo", "one |"),
        ("one two", "C-w C-y M-y undo undo", "one two|"),
        ("one two", "backspace backspace undo", "one tw|"),
        ("one two", "left right undo", "|"),
        ("one\ntwo", "home backspace undo", "one\n|two"),
    ] {
        assert_eq!(after(text, steps), expected, "{text:?} {steps}");
    }
}

#[test]
fn sent_text_cannot_be_undone_but_deleted_text_stays() {
    let mut composer = Composer::default();
    composer.set("secret words");
    composer.act(Action::DeleteWord);
    composer.take();
    composer.act(Action::Undo);
    assert_eq!(text_with_cursor(&composer), "|");
    composer.act(Action::Yank);
    assert_eq!(text_with_cursor(&composer), "words|");
}

#[test]
fn undo_and_deleted_texts_are_bounded() {
    let mut composer = Composer::default();
    for _ in 0..40 {
        composer.set(&"x".repeat(COMPOSER_MAX));
        composer.act(Action::DeleteToStart);
        composer.set("");
    }
    assert!(composer.undo.bytes() <= 4 * 1024 * 1024);
    assert!(composer.kills.bytes() <= 1024 * 1024);
    for word in 0..300 {
        composer.paste(&word.to_string());
    }
    for _ in 0..300 {
        composer.act(Action::Undo);
    }
    let left = composer.text();
    assert!(!left.is_empty() && left.ends_with("99"), "{left}");
}

#[test]
fn saved_messages_precede_those_of_this_session() {
    let mut composer = Composer::default();
    composer.set("new");
    composer.take();
    let saved = ["old", "older twin", "new"].map(String::from);
    composer.add_older(saved.to_vec());
    let all: Vec<&String> = composer.history().collect();
    assert_eq!(all, ["new", "older twin", "old"]);
    composer.set("draft");
    composer.recall("old");
    assert_eq!(composer.text(), "old");
    for expected in ["older twin", "new", "draft"] {
        composer.cursor_down_or_recall(40);
        assert_eq!(composer.text(), expected);
    }
    composer.recall("unknown");
    assert_eq!(composer.text(), "draft");
    let many = (0..HISTORY_MAX * 2).map(|n| n.to_string()).collect();
    composer.add_older(many);
    assert_eq!(composer.history().count(), HISTORY_MAX);
    assert_eq!(composer.history().next().map(String::as_str), Some("new"));
}
