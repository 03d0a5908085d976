//! Tests of pasted text that is folded into chips.

use pretty_assertions::assert_eq;

use crate::ui::keymap::Action;
use crate::ui::keys;
use crate::ui::widgets::composer::*;

fn lines(count: usize) -> String {
    let all: Vec<String> = (0..count).map(|n| format!("line {n}")).collect();
    all.join("\n")
}

fn press(composer: &mut Composer, all: &str) {
    for key in all.split(' ') {
        composer.key(keys::parse(key).unwrap(), 40);
    }
}

#[test]
fn long_pastes_become_numbered_chips() {
    let mut composer = Composer::default();
    for (text, draft) in [
        (lines(5), lines(5)),
        (lines(6), "[pasted 6 lines]".into()),
        ("x".repeat(1000), "x".repeat(1000)),
        ("y".repeat(1001), "[pasted 1001 characters]".into()),
    ] {
        composer.set("");
        assert_eq!(composer.paste_folded(&text), PasteResult::Whole);
        assert_eq!(composer.draft(), draft);
        assert_eq!(composer.text(), text);
    }
    let mut composer = Composer::default();
    composer.paste("a ");
    composer.paste_folded(&lines(6));
    composer.paste(" b ");
    composer.paste_folded(&lines(6));
    assert_eq!(composer.draft(), "a [pasted 6 lines] b [pasted 6 lines #2]");
    assert_eq!(composer.text(), format!("a {0} b {0}", lines(6)));
}

#[test]
fn undo_and_deleted_text_keep_chips_whole() {
    let mut composer = Composer::default();
    composer.paste("a ");
    composer.paste_folded(&lines(9));
    let draft = "a [pasted 9 lines]";
    assert!(composer.unfold());
    assert_eq!(composer.draft(), format!("a {}", lines(9)));
    composer.act(Action::Undo);
    assert_eq!(composer.draft(), draft);
    composer.act(Action::DeleteWord);
    assert_eq!(composer.draft(), "a ");
    composer.act(Action::Yank);
    assert_eq!(composer.draft(), draft);
    composer.set("another");
    composer.act(Action::Undo);
    assert_eq!(composer.text(), format!("a {}", lines(9)));
}

#[test]
fn chip_is_deleted_and_passed_as_one_character() {
    let mut composer = Composer::default();
    composer.paste("a ");
    composer.paste_folded(&lines(9));
    press(&mut composer, "left");
    composer.paste("b ");
    assert_eq!(composer.draft(), "a b [pasted 9 lines]");
    press(&mut composer, "end backspace");
    assert_eq!(
        (composer.draft(), composer.has_chip()),
        ("a b ".into(), false)
    );
    composer.paste_folded(&lines(9));
    press(&mut composer, "home right right right right delete");
    assert_eq!(composer.text(), "a b ");
}

#[test]
fn typing_inside_a_chip_goes_behind_it() {
    let mut composer = Composer::default();
    composer.paste_folded(&lines(9));
    composer.click(
        TextAreaSize {
            width: 40,
            height: 3,
        },
        0,
        5,
    );
    press(&mut composer, "x");
    assert_eq!(composer.draft(), "[pasted 9 lines]x");
    assert_eq!(composer.text(), lines(9) + "x");
}

#[test]
fn chip_at_the_cursor_is_unfolded() {
    let mut composer = Composer::default();
    composer.paste_folded(&lines(6));
    composer.paste(" ");
    composer.paste_folded(&lines(7));
    press(&mut composer, "home");
    assert!(composer.unfold());
    assert_eq!(composer.draft(), lines(6) + " [pasted 7 lines]");
    assert!(composer.unfold());
    assert!(!composer.unfold());
    assert_eq!(composer.draft(), format!("{} {}", lines(6), lines(7)));
    assert_eq!(composer.text(), composer.draft());
}

#[test]
fn recalled_and_restored_messages_fold_again() {
    let mut composer = Composer::default();
    composer.paste("see ");
    // A message ends without a line break.
    composer.paste_folded(&(lines(6) + "\n"));
    composer.take();
    let text = format!("see {}", lines(6));
    composer.cursor_up_or_recall(40);
    assert_eq!(composer.draft(), "see [pasted 6 lines]\n");
    let mut other = Composer::default();
    other.take_history(&mut composer);
    other.set(&text);
    assert_eq!(
        (other.draft(), other.text()),
        ("see [pasted 6 lines]".into(), text)
    );
}

#[test]
fn deleted_chip_returns_with_its_text_in_any_draft() {
    // A text that ends with a line break returns as the same chip.
    for text in [lines(8), lines(8) + "\n"] {
        let mut composer = Composer::default();
        composer.paste_folded(&text);
        composer.act(Action::DeleteToStart);
        composer.act(Action::Yank);
        assert_eq!(composer.draft(), "[pasted 8 lines]");
        // Inserted twice, it is two chips with the same text.
        composer.act(Action::Yank);
        assert_eq!(composer.draft(), "[pasted 8 lines][pasted 8 lines #2]");
        assert_eq!(composer.text(), text.repeat(2));
        composer.act(Action::DeleteToStart);
        composer.paste("hello");
        assert_eq!(composer.take(), "hello");
        composer.act(Action::Yank);
        assert_eq!(composer.text(), text.repeat(2));
        assert!(composer.has_chip());
        let mut other = Composer::default();
        other.take_history(&mut composer);
        other.act(Action::Yank);
        assert_eq!(other.text(), text.repeat(2));
    }
}

#[test]
fn deletion_from_inside_a_chip_takes_the_whole_chip() {
    let mut composer = Composer::default();
    composer.paste_folded(&lines(9));
    let room = TextAreaSize {
        width: 40,
        height: 3,
    };
    composer.click(room, 0, 5);
    composer.act(Action::DeleteToStart);
    assert_eq!(composer.draft(), "");
    composer.act(Action::Yank);
    assert_eq!(composer.text(), lines(9));
}

#[test]
fn blank_pasted_lines_are_not_recognized_in_other_texts() {
    let mut composer = Composer::default();
    composer.paste_folded(&"\n".repeat(9));
    composer.take();
    composer.set("hello");
    assert_eq!(composer.draft(), "hello");
}

#[test]
fn message_with_chips_stays_within_the_limit() {
    let mut composer = Composer::default();
    let half = "x\n".repeat(COMPOSER_MAX / 4 + 10);
    assert_eq!(composer.paste_folded(&half), PasteResult::Whole);
    let second = composer.paste_folded(&half);
    assert!(matches!(second, PasteResult::Cut { .. }), "{second:?}");
    assert!(composer.draft().len() < 100);
    // The chips are shorter than the room that was left for the text.
    assert!(composer.text().len() <= COMPOSER_MAX);
    let million = "a line of a pasted text\n".repeat(1_000_000 / 24);
    let mut composer = Composer::default();
    assert!(matches!(
        composer.paste_folded(&million),
        PasteResult::Cut { .. }
    ));
    assert!(
        composer.draft().starts_with("[pasted 10582 lines"),
        "{}",
        composer.draft()
    );
    press(&mut composer, "w h y");
    assert!(composer.text().ends_with("why"), "a question fits");
}
