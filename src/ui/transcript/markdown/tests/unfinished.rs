//! Tests of how the end of a text is drawn while the text is being written.

use pretty_assertions::assert_eq;
use proptest::prelude::*;

use crate::ui::theme::Theme;
use crate::ui::transcript::answer::Answer;
use crate::ui::transcript::cell::CellKind;
use crate::ui::transcript::layout::{Above, LayoutParams, lay_out};
use crate::ui::transcript::markdown::complete;
use crate::ui::transcript::markdown::tests::{render_text, texts};

/// Returns the rows of an answer of which `text` was written so far, without blank rows at the end.
fn open_text(text: &str, columns: usize) -> String {
    let mut answer = Answer::streaming(1);
    answer.push_text(text);
    let page = LayoutParams {
        columns,
        code_columns: columns,
        theme: &Theme::default(),
        pictures: Default::default(),
    };
    let kind = CellKind::Answer(Box::new(answer));
    let layout = lay_out(&kind, Above::Nothing, false, page, None);
    let rows: Vec<_> = layout.rows(0).cloned().collect();
    texts(&rows).trim_end().to_string()
}

#[test]
fn open_markup_is_drawn_as_if_it_ended_here() {
    let cases = [
        ("Some **bold te", "Some bold te"),
        ("Some **", "Some"),
        ("Some **bold*", "Some bold"),
        ("Some **bold ", "Some bold"),
        ("Some *it", "Some it"),
        ("***both", "both"),
        ("**a *b", "a b"),
        ("*a **b", "a b"),
        ("~~gone", "gone"),
        ("a `co", "a co"),
        ("a ``co`", "a co"),
        ("**`co", "co"),
        ("see [the do", "see the do"),
        ("see [the docs]", "see the docs"),
        ("see [docs](http://x.y/a", "see docs (http://x.y/a)"),
        ("see [docs](", "see docs"),
        ("**see [do", "see do"),
        ("see [**do", "see do"),
        ("- [", ""),
        ("- [x]", ""),
        ("- [x] do", "☑ do"),
        ("- **bo", "• bo"),
        ("# **bo", "# bo"),
        ("> **bo", "▎ bo"),
        ("| abc |\n|---|\n| **bo", ""),
        // These may still become a list, a rule or a heading.
        ("Intro:\n-", "Intro:"),
        ("Intro:\n--", "Intro:"),
        ("*", ""),
        ("```", ""),
        ("```rs\nlet a;\n``", "▏ rs\n▏ let a;"),
        (
            "```rs\nlet a = b * c; // *d",
            "▏ rs\n▏ let a = b * c; // *d",
        ),
    ];
    for (text, expected) in cases {
        let shown = open_text(text, 40);
        if text.starts_with('|') {
            assert!(!shown.contains('*') && shown.contains("bo"), "{shown}");
        } else {
            assert_eq!(shown, expected, "{text:?}");
        }
    }
}

#[test]
fn marks_that_begin_no_markup_are_drawn() {
    for text in [
        "2 * 3 and 4*5",
        "a_b and c__d__e",
        "the files *.rs and",
        "the item a[0 is",
        "about ~5 and",
        "in [1, 2] and",
        "escaped \\*one",
        "Some **bold",
    ] {
        let whole = render_text(text, 40);
        let open = open_text(text, 40);
        assert_eq!(
            open == whole.trim_end(),
            text != "Some **bold",
            "{text:?} {open}"
        );
    }
    // The next line does not continue what was left open.
    assert_eq!(open_text("a **b\n", 40), "a **b");
    assert_eq!(open_text("a **b\nc", 40), "a **b\nc");
}

#[test]
fn no_mark_of_a_streamed_text_is_ever_visible() {
    let text = "A **bold** word, *one* and `code`, [words](http://a.b/c) and ~~x~~.\n\n- **first:** `a` *b*\n- [the **second**](x.rs)\n";
    for (end, _) in text.char_indices() {
        let shown = open_text(&text[..end], 80);
        assert!(!shown.contains(['*', '`', '[', ']', '~']), "{shown}");
    }
}

#[test]
fn very_long_line_of_marks_is_drawn_as_it_is() {
    for mark in ["[a ", "*a ", "[a](<b)"] {
        assert_eq!(complete(&mark.repeat(100_000)), None);
    }
}

proptest! {
    /// Whatever a model writes, no word is lost, and the complete lines stay as they are.
    #[test]
    fn completion_keeps_all_words(text in "[a-c *_`~\\[\\]()#.\n-]{0,40}") {
        if let Some(completed) = complete(&text).filter(|_| !text.contains("](")) {
            let line = text.rfind('\n').map_or(0, |at| at + 1);
            prop_assert_eq!(&completed[..line], &text[..line]);
            let characters = |text: &str| text.chars().filter(char::is_ascii_lowercase).count();
            let shown = render_text(&completed, 200);
            prop_assert_eq!(characters(&shown), characters(&text), "{:?} {:?}", text, completed);
        }
    }
}
