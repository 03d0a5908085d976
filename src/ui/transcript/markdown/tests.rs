//! Tests of Markdown rendering: how it looks, its limits, and that cutting a text into pieces does not change the rows.

mod cutting;
mod unfinished;

use pretty_assertions::assert_eq;
use proptest::prelude::*;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Span;

use crate::ui::text::wrap::{Row, visible, width};
use crate::ui::theme::{ColorDepth, Theme, ThemeName};
use crate::ui::transcript::answer::Answer;
use crate::ui::transcript::cell::CellKind;
use crate::ui::transcript::layout::{Above, CellLayout, LayoutParams, lay_out};
use crate::ui::transcript::markdown::{Pieces, rows};

fn render_rows(text: &str, columns: usize) -> Vec<Row> {
    rows(text, columns, &Theme::default(), &mut 0)
}

fn texts(rows: &[Row]) -> String {
    let mut out = String::new();
    for row in rows {
        let text: String = row.spans.iter().map(|s| s.content.as_ref()).collect();
        out.push_str(text.trim_end());
        out.push('\n');
    }
    out
}

fn render_text(text: &str, columns: usize) -> String {
    texts(&render_rows(text, columns))
}

/// Renders text with its styles, for tests of colours and modifiers.
fn buffer(text: &str, columns: u16) -> Buffer {
    let rows = render_rows(text, usize::from(columns));
    let height = u16::try_from(rows.len()).unwrap();
    let mut out = Buffer::empty(Rect::new(0, 0, columns, height));
    for (y, row) in (0..).zip(&rows) {
        let mut x = 0;
        for span in &row.spans {
            let room = usize::from(columns - x);
            (x, _) = out.set_stringn(x, y, &span.content, room, span.style);
        }
    }
    out
}

#[test]
fn inline_markup_is_styled() {
    insta::assert_debug_snapshot!(buffer(
        "# One *two*\n\nplain **bold *both*** `code` ~~gone~~ [words](https://a.b/c) <https://x.y>\n\n> quoted **bold**\n\n```rs\nfn x() {}\n```",
        40
    ));
}

#[test]
fn code_has_a_ground_with_its_language_at_the_right() {
    let theme = Theme::new(ThemeName::Dark, ColorDepth::True);
    let text = "- item\n\n  ```rs\n  fn x() {}\n  long line of code\n  ```\n\n```\nplain\n```";
    let rows = rows(text, 16, &theme, &mut 0);
    let shown: Vec<String> = rows
        .iter()
        .map(|r| r.spans.iter().map(|s| s.content.as_ref()).collect())
        .collect();
    let expected = [
        "• item",
        "             rs",
        "    fn x() {}   ",
        "    long line of",
        "  ↳  code       ",
        "",
        "  plain         ",
    ];
    let trimmed = |rows: &[String]| -> Vec<String> {
        rows.iter().map(|r| r.trim_end().to_string()).collect()
    };
    assert_eq!(trimmed(&shown), trimmed(&expected.map(String::from)));
    let grounds = |row: &Row| {
        row.spans
            .iter()
            .filter(|s| s.style.bg == theme.code_ground.bg)
            .map(|s| width(&s.content))
            .sum::<usize>()
    };
    // The background of code begins after the indentation of the item and ends at the right edge.
    assert_eq!(
        rows.iter().map(grounds).collect::<Vec<_>>(),
        [0, 14, 14, 14, 14, 0, 16]
    );
    for columns in 1..30 {
        let rows = self::rows(text, columns, &theme, &mut 0);
        assert!(rows.iter().all(|row| row.width() <= columns), "{columns}");
    }
    // The language has no row of its own if it fits beside the first line.
    let wide = texts(&self::rows(text, 30, &theme, &mut 0));
    let language = format!("    fn x() {{}}{}rs\n    long line", " ".repeat(14));
    assert!(wide.contains(&language), "{wide}");
}

#[test]
fn blank_rows_separate_blocks_but_not_list_items() {
    insta::assert_snapshot!(render_text(
        "Intro\nsecond line\n\n## Heading\nText right below.\n- one that is long enough to be wrapped here\n- two\n  1. inner\n  2. more\n     - deepest item that wraps too\n- three\n\nAfter\n\n---\n\n10. ten\n11. eleven\n\n- [ ] open\n- [x] done\n-\n- last",
        28
    ));
}

#[test]
fn list_items_contain_paragraphs_code_and_quotes() {
    insta::assert_snapshot!(render_text(
        "1. First paragraph.\n\n   Second paragraph of it.\n\n2. Item with code:\n   ```sh\n   cargo test --workspace\n   ```\n3. > quoted\n   > more\n\n> - list in quote\n>\n> text in quote\n>> deeper",
        26
    ));
}

#[test]
fn code_is_verbatim_and_continuation_rows_are_marked() {
    insta::assert_snapshot!(render_text(
        "```\n\tif x {\n\n\t\treturn   a_very_long_name;\n}\n```\n\n    indented code\n\n~~~text\n``` inside\n~~~",
        20
    ));
}

#[test]
fn table_is_drawn_as_grid() {
    insta::assert_snapshot!(render_text(
        "| file | lines | what **it** is |\n|:--|--:|:-:|\n| add.py | 2 | `x` |\n| 中文.py | 1024 | a 👍 |\n| short |",
        40
    ));
}

#[test]
fn wide_table_wraps_cells_then_becomes_list() {
    let table = "| name | what it does |\n|---|---|\n| alpha | reads the header of the file |\n| beta | writes |";
    insta::assert_snapshot!(format!(
        "{}\n{}",
        render_text(table, 24),
        render_text(table, 10)
    ));
}

#[test]
fn control_characters_and_link_targets_are_visible() {
    let cases = [
        ("<b>x</b> <!-- y -->", "<b>x</b> <!-- y -->\n"),
        ("<div>\nin\n</div>", "<div>\nin\n</div>\n"),
        ("a\u{1b}[31mb\u{202e}c\u{200b}d", "a␛[31mb�c�d\n"),
        ("[good](http://bad)", "good (http://bad)\n"),
        ("[http://bad](http://bad)", "http://bad\n"),
        ("![alt](x.png)", "alt (x.png)\n"),
        (
            "[a][1] and [b]\n\n[1]: http://x\n[b]: http://y",
            "[a][1] and [b]\n\n[1]: http://x\n[b]: http://y\n",
        ),
        ("a[^1]\n\n[^1]: note", "a[^1]\n\n[^1]: note\n"),
        ("&lt;b&gt; \\*x\\*", "<b> *x*\n"),
        ("&#27;[2J&#x202e;a&#155;b", "␛[2J�a�b\n"),
        ("[x&zwj;](b&#27;c&NewLine;d)", "x� (b␛c⏎d)\n"),
        ("```a&#27;\n&#27;\n```", "▏ a␛\n▏ &#27;\n"),
    ];
    for (text, expected) in cases {
        assert_eq!(render_text(text, 40), expected, "{text:?}");
    }
}

#[test]
fn every_prefix_of_a_text_can_be_drawn() {
    let whole = "Some **bold** text\n\n```rs\nfn x() {}\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |";
    for (end, _) in whole.char_indices() {
        let rows = render_rows(&whole[..end], 30);
        assert!(rows.iter().all(|r| r.width() <= 30), "{end}");
    }
    assert_eq!(render_text("```rs\nfn x", 20), "▏ rs\n▏ fn x\n");
}

#[test]
fn no_blank_rows_at_the_end() {
    for text in ["", "\n", "\n\n\n", "<!-- -->", "a\n\n\n", "```\n```", "-"] {
        let rows = render_rows(text, 20);
        assert!(rows.len() <= 1, "{text:?} {rows:?}");
    }
}

#[test]
fn text_offsets_do_not_depend_on_width() {
    let text = "# Head\n\nText with **bold** words and 中文.\n\n- item\n  - inner item\n\n| name | what it does |\n|---|---|\n| a | long words in a cell |\n\n```\nsome code here\n```\n\nEnd.";
    let end = |columns| {
        let mut text_offset = 0;
        rows(text, columns, &Theme::default(), &mut text_offset);
        text_offset
    };
    let all: Vec<usize> = (4..80).map(end).collect();
    assert!(all.iter().all(|i| *i == all[0]), "{all:?}");
    for columns in 4..80 {
        let inks: Vec<usize> = render_rows(text, columns)
            .iter()
            .map(|r| r.text_offset)
            .collect();
        assert!(inks.is_sorted(), "{columns}: {inks:?}");
    }
}

#[test]
fn deep_nesting_leaves_room_for_text() {
    for text in [
        ">".repeat(500) + " deep",
        (0..60)
            .map(|n| format!("{}- x{n}\n", "  ".repeat(n)))
            .collect::<Vec<_>>()
            .concat(),
        "- ".repeat(2000) + "deep",
    ] {
        let rows = render_rows(&text, 30);
        assert!(rows.iter().all(|r| r.width() <= 30));
        let last = if text.contains("deep") { "deep" } else { "x59" };
        assert!(texts(&rows).contains(last), "{}", texts(&rows));
    }
}

fn cut(text: &str) -> Vec<&str> {
    let mut pieces = Pieces::default();
    pieces.read(text);
    pieces
        .of(text)
        .into_iter()
        .map(|p| &text[p.range])
        .collect()
}

/// Lays out an answer with this text, in pieces.
fn laid(text: &str, columns: usize) -> CellLayout {
    laid_in_chunks(text, &[text.len()], columns)
}

/// Lays out a text again after each of its chunks, each time with the previous layout. `ends` are the byte offsets at
/// which the chunks end; an offset within a character is moved to the end of the character. The answer is complete after
/// the last chunk.
fn laid_in_chunks(text: &str, ends: &[usize], columns: usize) -> CellLayout {
    let theme = &Theme::default();
    let page = LayoutParams {
        columns,
        code_columns: columns,
        theme,
        pictures: Default::default(),
    };
    let mut kind = CellKind::Answer(Box::new(Answer::streaming(1)));
    let (mut out, mut start) = (None, 0);
    for end in ends {
        let end = text.ceil_char_boundary(*end);
        if let CellKind::Answer(answer) = &mut kind {
            answer.push_text(&text[start..end]);
            if end == text.len() {
                answer.close();
            }
        }
        start = end;
        out = Some(lay_out(&kind, Above::Nothing, false, page, out));
    }
    out.unwrap()
}

fn stream_rows(text: &str, ends: &[usize], columns: usize) -> Vec<Row> {
    laid_in_chunks(text, ends, columns)
        .rows(0)
        .cloned()
        .collect()
}

fn drawn_in_pieces(text: &str, columns: usize) -> Vec<Row> {
    laid(text, columns).rows(0).cloned().collect()
}

/// Returns the styled content of the rows. A blank row has no content.
fn looks(rows: &[Row]) -> Vec<Vec<Span<'static>>> {
    let look = |row: &Row| {
        let is_blank = row.spans.iter().all(|s| s.content.trim().is_empty());
        if is_blank {
            Vec::new()
        } else {
            row.spans.clone()
        }
    };
    rows.iter().map(look).collect()
}

#[test]
fn long_top_level_code_is_cut() {
    let code = |lines: usize| "let x = 1;\n".repeat(lines);
    let lengths = |text: &str| -> Vec<usize> {
        cut(text)
            .iter()
            .map(|piece| piece.lines().count())
            .collect()
    };
    let cases = [
        (format!("```rust\n{}```\nend\n", code(64)), vec![66, 1]),
        (format!("```rust\n{}```\n\nend\n", code(66)), vec![65, 4, 1]),
        (format!("a\n\n~~~\n{}", code(200)), vec![2, 65, 65, 65, 6]),
        // Code is not cut next to a blank line.
        (format!("```\n{}\n\n{}", code(64), code(9)), vec![68, 8]),
        (format!("a\n```\n{}", code(200)), vec![1, 65, 65, 65, 6]),
        // Code inside another block is not cut.
        (
            format!("- ```\n{}", code(200).replace("let", "  let")),
            vec![201],
        ),
        (
            format!("> ```\n{}", code(200).replace("let", "> let")),
            vec![201],
        ),
    ];
    for (text, expected) in cases {
        assert_eq!(lengths(&text), expected, "{:.20}", text);
        assert_eq!(
            looks(&drawn_in_pieces(&text, 40)),
            looks(&render_rows(&text, 40))
        );
    }
}

#[test]
fn block_comment_continues_in_next_piece() {
    let text = format!("```rust\n/* {}*/ let y;\n```\n", "let x = 1;\n".repeat(150));
    assert_eq!(cut(&text).len(), 3);
    assert_eq!(
        looks(&drawn_in_pieces(&text, 40)),
        looks(&render_rows(&text, 40))
    );
}

#[test]
fn pieces_begin_with_top_level_blocks() {
    let cases: [(&str, &[&str]); 10] = [
        ("# a\nb\n- c\n***\n", &["# a\n", "b\n", "- c\n", "***\n"]),
        ("", &[""]),
        ("a\nb\n", &["a\nb\n"]),
        ("a\n\nb\n\n\nc\n", &["a\n\n", "b\n\n\n", "c\n"]),
        ("a\n\nb", &["a\n\nb"]),
        (
            "- a\n\n- b\n\n  c\n\nd\n",
            &["- a\n\n- b\n\n  c\n\n", "d\n"],
        ),
        ("```\na\n\nb\n```\n\nc\n", &["```\na\n\nb\n```\n\n", "c\n"]),
        ("a\n\n```\nb\n\nc\n", &["a\n\n", "```\nb\n\nc\n"]),
        (
            "- ```\n  a\n\n  b\n  ```\n\nc\n",
            &["- ```\n  a\n\n  b\n  ```\n\n", "c\n"],
        ),
        (
            "1. a\n   ~~~\n\nb\n\nc\n",
            &["1. a\n   ~~~\n\n", "b\n\n", "c\n"],
        ),
    ];
    for (text, expected) in cases {
        assert_eq!(cut(text), expected, "{text:?}");
    }
}

#[test]
fn pieces_do_not_depend_on_chunks() {
    let text = "a\n\n- b\n\n```\nc\n\n中\n```\n\nd\n\n1) e\n\nf\n";
    let mut whole = Pieces::default();
    whole.read(text);
    let mut grown = Pieces::default();
    for (at, c) in text.char_indices() {
        grown.read(&text[..at + c.len_utf8()]);
    }
    assert_eq!(grown, whole);
}

/// Generates texts with the blocks that are typical of a model's answer.
fn document() -> impl Strategy<Value = String> {
    let block = prop_oneof![
        "[a-z]{1,8}( [a-z*`]{1,8}){0,4}\n\n",
        "#{1,3} [a-z]{1,6}\n\n",
        "(- [a-z]{1,6}\n){1,3}\n",
        "- [a-z]{1,6}\n\n  [a-z]{1,6}\n\n",
        "[1-9]\\. [a-z]{1,6}\n   ```\n   [a-z]{1,6}\n\n   x\n   ```\n\n",
        "```[a-z]{0,3}\n[a-z ]{1,9}\n\n- [a-z]{1,6}\n```\n\n",
        "> [a-z]{1,6}\n> [a-z]{1,6}\n\n",
        "```(rust|py|)\n([a-z\"'/*# ]{0,7}\n){60,140}```\n\n",
        "\\| [a-z]{1,6} \\| b \\|\n\\|---\\|---\\|\n\\| [a-z]{1,6} \\| 2 \\|\n\n",
        "    [a-z]{1,6}\n\n",
        "---\n\n",
    ];
    proptest::collection::vec(block, 0..8).prop_map(|blocks| blocks.concat())
}

/// Like `looks`, but without blank rows at the start and the end, and with consecutive blank rows merged, because only
/// one of the two renderings draws the blank row of a block that has no content yet.
fn looks_of_words(rows: &[Row]) -> Vec<Vec<Span<'static>>> {
    let mut looks = looks(rows);
    looks.dedup_by(|a, b| a.is_empty() && b.is_empty());
    if looks.last().is_some_and(Vec::is_empty) {
        looks.pop();
    }
    if looks.first().is_some_and(Vec::is_empty) {
        looks.remove(0);
    }
    looks
}

proptest! {
    /// A text that is rendered in pieces has the same rows as a text that is rendered as a whole.
    #[test]
    fn pieces_draw_the_same_rows_as_the_whole(text in document(), columns in 8usize..40) {
        let joined = drawn_in_pieces(&text, columns);
        prop_assert_eq!(texts(&joined), render_text(&text, columns));
        prop_assert_eq!(looks(&joined), looks(&render_rows(&text, columns)));
    }

    /// Whatever a model writes, no row is wider than the page, and the pieces together are the whole text.
    #[test]
    fn no_row_is_too_wide(text in "[a-z *_`#>|\\-1.\\[\\]()<!~:中😀é\n]{0,200}", columns in 1usize..60) {
        prop_assert_eq!(cut(&text).concat(), text.clone());
        for row in render_rows(&text, columns) {
            prop_assert!(row.width() <= columns, "{} > {columns}: {row:?}", row.width());
        }
    }

    /// No character is lost, except what Markdown itself drops: cells of a table for which the head has no column, and
    /// titles of links.
    #[test]
    fn no_character_is_lost(text in "[a-z *_`#>|\\-\\[\\]()~\n]{0,120}", columns in 12usize..60) {
        let is_rule = |line: &str| line.contains('-') && line.chars().all(|c| " >|-".contains(c));
        let has_title = text.contains("](") && text.matches('(').count() > 1;
        if has_title || text.lines().any(is_rule) {
            return Ok(());
        }
        let messages = |t: &str| {
            let mut all: Vec<char> = t.chars().filter(char::is_ascii_lowercase).collect();
            all.sort_unstable();
            all
        };
        let rows = render_rows(&text, columns);
        let mut have = messages(&texts(&rows));
        for c in messages(&text) {
            let at = have.iter().position(|h| *h == c);
            prop_assert!(at.is_some(), "{c} of {text:?} in {}", texts(&rows));
            have.swap_remove(at.unwrap());
        }
        prop_assert!(visible(&text) < 200);
    }
}
