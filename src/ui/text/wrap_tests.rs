//! Tests of wrapping: break positions, maximum width, no lost text.

use pretty_assertions::assert_eq;
use proptest::prelude::*;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Style, Stylize};

use crate::ui::text::wrap::*;

fn rows(text: &str, columns: usize, margin: &Margin, how: Break) -> Vec<Row> {
    wrap(&[Span::raw(text.to_string())], columns, margin, how, &mut 0)
}

fn words(text: &str, columns: usize) -> Vec<String> {
    texts(&rows(text, columns, &Margin::default(), Break::Words))
}

fn texts(rows: &[Row]) -> Vec<String> {
    let text = |r: &Row| r.spans.iter().map(|s| s.content.as_ref()).collect();
    rows.iter().map(text).collect()
}

#[test]
fn lines_break_at_expected_positions() {
    let cases: [(&str, usize, &[&str]); 20] = [
        ("", 5, &[""]),
        ("one", 5, &["one"]),
        ("one two", 7, &["one two"]),
        ("one two", 6, &["one", "two"]),
        ("one two", 3, &["one", "two"]),
        ("one   two", 9, &["one   two"]),
        ("one   two", 8, &["one", "two"]),
        ("one two ", 7, &["one two"]),
        ("a\n\nb", 5, &["a", "", "b"]),
        ("a\n", 5, &["a", ""]),
        ("  in dent", 6, &["  in", "dent"]),
        ("         x", 4, &["x"]),
        ("say (hello), world.", 12, &["say (hello),", "world."]),
        ("abcdefghij", 4, &["abcd", "efgh", "ij"]),
        ("ab cdefghij", 4, &["ab", "cdef", "ghij"]),
        ("abcdefgh ij", 4, &["abcd", "efgh", "ij"]),
        ("中文字符", 5, &["中文", "字符"]),
        ("中文，字。", 4, &["中", "文，", "字。"]),
        ("他说「好」吗", 6, &["他说", "「好」", "吗"]),
        ("ok 👍👍, yes", 6, &["ok 👍", "👍,", "yes"]),
    ];
    for (text, columns, expected) in cases {
        assert_eq!(words(text, columns), expected, "{text:?} in {columns}");
    }
}

#[test]
fn code_breaks_anywhere_and_keeps_its_blanks() {
    let margin = Margin {
        first: vec!["  ".into()],
        line: vec!["  ".into()],
        rest: vec!["↳ ".into()],
    };
    let rows = rows("  let x = 1;\n\n}", 8, &margin, Break::Anywhere);
    assert_eq!(texts(&rows), ["    let ", "↳ x = 1;", "  ", "  }"]);
}

#[test]
fn margin_hangs_and_is_omitted_without_room() {
    let margin = Margin::hanging(vec!["10. ".into()], vec!["    ".into()]);
    let wrapped = rows("one two", 7, &margin, Break::Words);
    assert_eq!(texts(&wrapped), ["10. one", "    two"]);
    assert_eq!(texts(&rows("one", 5, &margin, Break::Words)), ["one"]);
}

#[test]
fn word_with_two_styles_stays_whole() {
    let spans = ["see ".into(), "this".bold(), ", now".into()];
    let rows = wrap(&spans, 8, &Margin::default(), Break::Words, &mut 0);
    assert_eq!(texts(&rows), ["see", "this,", "now"]);
    assert_eq!(rows[1].spans, ["this".bold(), Span::raw(",")]);
    let rows = wrap(&spans, 9, &Margin::default(), Break::Words, &mut 0);
    assert_eq!(texts(&rows), ["see this,", "now"]);
}

#[test]
fn text_offset_counts_visible_characters() {
    let mut text_offset = 100;
    let spans = [Span::raw("ab cd\n\n中文 efghijk")];
    let rows = wrap(
        &spans,
        5,
        &Margin::default(),
        Break::Words,
        &mut text_offset,
    );
    assert_eq!(texts(&rows), ["ab cd", "", "中文", "efghi", "jk"]);
    assert_eq!(
        rows.iter().map(|r| r.text_offset).collect::<Vec<_>>(),
        [100, 104, 104, 106, 111]
    );
    assert_eq!(text_offset, 113);
    assert_eq!(visible(&spans[0].content), 13);
}

#[test]
fn long_runs_of_combining_marks_are_cut() {
    let zalgo = format!("a{}b", "\u{301}".repeat(50_000));
    assert_eq!(words(&zalgo, 10), ["a\u{fffd}b"]);
    assert_eq!(width(&zalgo), 3);
    let family = "👩🏽‍❤️‍💋‍👨🏿";
    assert_eq!(words(&format!("{family}{family}"), 2), [family, family]);
}

#[test]
fn any_text_fits_one_column() {
    assert_eq!(words("a中 👍", 1), ["a", "…", "…"]);
    // A cluster of three columns, found by the property test below.
    assert_eq!(words("𱍐ி", 2), ["…"]);
    let margin = Margin::hanging(vec![], vec!["  ".into()]);
    assert_eq!(texts(&rows("0োি", 4, &margin, Break::Words)), ["…"]);
}

#[test]
fn cut_text_ends_in_ellipsis() {
    let cases = [
        ("abc", 3, "abc"),
        ("abcd", 3, "ab…"),
        ("中文字", 6, "中文字"),
        ("中文字", 5, "中文…"),
        ("中文字", 4, "中…"),
        ("abc", 1, "…"),
        ("abc", 0, ""),
        ("", 0, ""),
    ];
    for (text, columns, expected) in cases {
        assert_eq!(fit(text, columns), expected, "{text:?} in {columns}");
    }
}

#[test]
fn long_line_is_wrapped_in_linear_time() {
    for word in ["x", "中", "ab ", "é"] {
        let text = word.repeat(200 * 1024 / word.len());
        let rows = rows(&text, 80, &Margin::default(), Break::Words);
        let text_offset: usize = text.graphemes(true).filter(|g| *g != " ").count();
        let drawn: usize = texts(&rows)
            .iter()
            .map(|t| t.graphemes(true).filter(|g| *g != " ").count())
            .sum();
        assert_eq!(drawn, text_offset, "{word}");
        assert!(rows.iter().all(|r| r.width() <= 80));
    }
}

fn anything() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-c ,.()\n中文「」👍é]{0,80}",
        "\\PC{0,60}",
        proptest::collection::vec(any::<char>(), 0..40)
            .prop_map(|chars| crate::domain::text::escape_control_chars(&String::from_iter(chars))),
    ]
}

proptest! {
    #[test]
    fn no_row_is_too_wide(text in anything(), columns in 1usize..40, indent in 0usize..6) {
        let margin = Margin::hanging(vec![" ".repeat(indent).into()], vec!["  ".into()]);
        for how in [Break::Words, Break::Anywhere] {
            for row in rows(&text, columns, &margin, how) {
                prop_assert!(row.width() <= columns, "{row:?}");
            }
        }
    }

    #[test]
    fn no_visible_character_is_lost(text in anything(), columns in 2usize..40) {
        let visible = |text: &str| {
            clusters(text).filter(|(c, w)| *w > 0 && *c != " " && *c != "\n").map(|(c, w)| (c.to_string(), w)).collect::<Vec<_>>()
        };
        // A cluster wider than the row is replaced with `…`.
        let fitting = |(cluster, wide): (String, usize)| if wide > columns { "…".to_string() } else { cluster };
        let expected: Vec<String> = text.split('\n').flat_map(visible).map(fitting).collect();
        for how in [Break::Words, Break::Anywhere] {
            let rows = rows(&text, columns, &Margin::default(), how);
            let drawn: Vec<String> = texts(&rows).iter().flat_map(|t| visible(t)).map(fitting).collect();
            prop_assert_eq!(drawn.concat(), expected.concat());
        }
    }

    /// The terminal buffer counts columns the same way: a text of `width` columns is drawn whole.
    #[test]
    fn widths_match_the_terminal_buffer(text in "\\PC{1,40}") {
        let wide = width(&text);
        prop_assume!(wide > 0);
        let columns = u16::try_from(wide).unwrap();
        let mut buffer = Buffer::empty(Rect::new(0, 0, columns + 5, 1));
        let (end, _) = buffer.set_stringn(0, 0, &text, wide + 5, Style::default());
        prop_assert_eq!(usize::from(end), wide);
    }
}
