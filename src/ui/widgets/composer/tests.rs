//! Tests of the composer: editing, history, paste limits, and where text and cursor are drawn.

use pretty_assertions::assert_eq;
use proptest::prelude::*;
use unicode_segmentation::UnicodeSegmentation;

use crate::domain::text::escape_each_char;
use crate::ui::keys;
use crate::ui::text::wrap;
use crate::ui::widgets::composer::history::HISTORY_MAX;
use crate::ui::widgets::composer::rows::WrappedLine;
use crate::ui::widgets::composer::*;

fn room(width: u16, height: u16) -> TextAreaSize {
    TextAreaSize { width, height }
}

fn rows(line: &str, width: usize) -> Vec<String> {
    let rows = WrappedLine::new(line, width);
    (0..rows.len()).map(|row| rows.text(row)).collect()
}

#[test]
fn typed_control_characters_are_escaped_but_joiners_kept() {
    let mut composer = Composer::default();
    for c in "a\u{9b}2\u{202e}می\u{200c}خb\u{200d}".chars() {
        let key = KeyEvent::new(KeyCode::Char(c), crossterm::event::KeyModifiers::NONE);
        composer.key(key, 40);
    }
    assert_eq!(composer.text(), "a\u{fffd}2\u{fffd}می\u{200c}خb\u{200d}");
    let window = composer.window(room(40, 5));
    assert_eq!(window.rows, ["a\u{fffd}2\u{fffd}می\u{200c}خb\u{fffd}"]);
}

fn type_keys(keys: &str) -> Composer {
    let mut composer = Composer::default();
    for key in keys::parse_all(keys).unwrap() {
        composer.key(key, 40);
    }
    composer
}

#[test]
fn paste_is_cut_at_the_limit() {
    let mut composer = Composer::default();
    let pasted = composer.paste(&"é".repeat(600_000));
    assert_eq!(
        pasted,
        PasteResult::Cut {
            kept: COMPOSER_MAX,
            of: 1_200_000
        }
    );
    assert_eq!(composer.text().len(), COMPOSER_MAX);
    composer.key(keys::parse("a").unwrap(), 40);
    assert_eq!(composer.text().len(), COMPOSER_MAX);
}

#[test]
fn cut_paste_reports_expanded_length() {
    let mut composer = Composer::default();
    let tabs = "\t".repeat(100_000);
    let whole = escape_control_chars(&tabs).len();
    assert!(whole > COMPOSER_MAX && tabs.len() < COMPOSER_MAX);
    let cut = PasteResult::Cut {
        kept: COMPOSER_MAX,
        of: whole,
    };
    assert_eq!(composer.paste(&tabs), cut);
}

#[test]
fn paste_normalizes_line_ends_and_escapes_controls() {
    let mut composer = Composer::default();
    assert_eq!(
        composer.paste("a\rb\r\nc\n\u{1b}[2J\td"),
        PasteResult::Whole
    );
    assert_eq!(composer.text(), "a\nb\nc\n␛[2J    d");
}

#[test]
fn history_recall_keeps_the_draft() {
    let mut composer = Composer::default();
    for text in ["one", "two", "two", " "] {
        composer.set(text);
        composer.take();
    }
    composer.set("draft");
    let mut actual = Vec::new();
    for _ in 0..3 {
        composer.cursor_up_or_recall(40);
        actual.push(composer.text());
    }
    for _ in 0..3 {
        composer.cursor_down_or_recall(40);
        actual.push(composer.text());
    }
    assert_eq!(actual, ["two", "one", "one", "two", "draft", "draft"]);
}

#[test]
fn history_is_bounded() {
    let mut composer = Composer::default();
    for i in 0..HISTORY_MAX + 5 {
        composer.set(&i.to_string());
        composer.take();
    }
    for _ in 0..HISTORY_MAX + 50 {
        composer.cursor_up_or_recall(40);
    }
    assert_eq!(composer.text(), "5");
}

#[test]
fn words_stay_whole_and_blanks_stay_in_place() {
    let cases: [(&str, usize, &[&str]); 16] = [
        ("", 5, &[""]),
        ("one two", 8, &["one two"]),
        // The last column is reserved for the cursor.
        ("one two", 7, &["one ", "two"]),
        ("one two", 4, &["one ", "two"]),
        ("one ", 4, &["one ", ""]),
        ("one  two", 5, &["one  ", "two"]),
        ("one  two", 4, &["one ", " ", "two"]),
        ("one      two", 5, &["one  ", "    ", "two"]),
        ("  in dent", 7, &["  in ", "dent"]),
        ("abcdefghij", 5, &["abcd", "efgh", "ij"]),
        ("ab cdefghij", 5, &["ab ", "cdef", "ghij"]),
        ("say (hello), world.", 13, &["say (hello), ", "world."]),
        ("中文字符", 5, &["中文", "字符"]),
        ("中文，字。", 5, &["中", "文，", "字。"]),
        ("ok 👍👍, yes", 7, &["ok 👍", "👍, ", "yes"]),
        ("\u{301}a", 9, &["\u{fffd}a"]),
    ];
    for (line, width, expected) in cases {
        assert_eq!(rows(line, width), expected, "{line:?} in {width}");
    }
    let marks = format!("a{}b", "\u{301}".repeat(50_000));
    assert_eq!(rows(&marks, 10), ["a\u{fffd}b"]);
}

#[test]
fn cursor_is_in_the_window() {
    let mut composer = Composer::default();
    composer.set("ab中d");
    let window = composer.window(room(5, 8));
    assert_eq!(window.rows, ["ab中", "d"]);
    assert_eq!(window.cursor, (1, 1));
    composer.set(&"line\n".repeat(20));
    let window = composer.window(room(10, 3));
    assert_eq!(window.rows, ["line", "line", ""]);
    assert_eq!(window.overflow, Overflow::Above);
    assert_eq!(window.cursor, (2, 0));
    assert_eq!(type_keys("a b").window(room(10, 8)).cursor, (0, 2));
    let full = type_keys("a b c").window(room(4, 8));
    assert_eq!((full.rows.len(), full.cursor), (1, (0, 3)));
    let full = type_keys("a b c d").window(room(4, 8));
    assert_eq!((full.rows.len(), full.cursor), (2, (1, 1)));
}

#[test]
fn vertical_movement_keeps_column_over_short_lines() {
    let mut composer = Composer::default();
    // Rows: "one two ", "three ", "", "x", "中中中中中", "four five".
    composer.set("one two three\n\nx\n中中中中中\nfour five");
    let room = room(11, 10);
    let mut actual = vec![composer.window(room).cursor];
    for _ in 0..4 {
        composer.cursor_up_or_recall(11);
        actual.push(composer.window(room).cursor);
    }
    composer.cursor_up_or_recall(11);
    let at_the_top = composer.window(room).cursor;
    for _ in 0..9 {
        composer.cursor_down_or_recall(11);
    }
    assert_eq!(actual, [(5, 9), (4, 8), (3, 1), (2, 0), (1, 5)]);
    assert_eq!(at_the_top, (0, 7));
    assert_eq!(composer.window(room).cursor, (5, 9));
    // Typing resets the goal column.
    composer.cursor_up_or_recall(11);
    composer.cursor_up_or_recall(11);
    composer.key(keys::parse("y").unwrap(), 11);
    composer.cursor_down_or_recall(11);
    assert_eq!(composer.window(room).cursor, (4, 2));
}

#[test]
fn grapheme_cluster_is_one_cursor_stop() {
    let family = "👩🏽‍❤️‍💋‍👨🏿";
    let mut composer = Composer::default();
    composer.set(&format!("a{family}e\u{301}"));
    let mut actual = Vec::new();
    for key in ["left", "left", "left", "right", "right"] {
        composer.key(keys::parse(key).unwrap(), 40);
        actual.push(composer.window(room(40, 1)).cursor.1);
    }
    assert_eq!(actual, [3, 1, 0, 1, 3]);
    composer.key(keys::parse("backspace").unwrap(), 40);
    assert_eq!(composer.text(), "ae\u{301}");
    composer.key(keys::parse("delete").unwrap(), 40);
    assert_eq!(composer.text(), "a");
    composer.set("a\nb");
    for key in ["left", "backspace", "delete", "delete"] {
        composer.key(keys::parse(key).unwrap(), 40);
    }
    assert_eq!(composer.text(), "a");
    // An emoji sequence can be typed code point by code point before another emoji.
    composer.set("👧");
    for key in ["left", "👨", "\u{200d}", "👩", "\u{200d}"] {
        for c in key.chars().filter(|_| key != "left") {
            composer.key(KeyEvent::new(KeyCode::Char(c), KeyModifiers::NONE), 40);
        }
        if key == "left" {
            composer.key(keys::parse(key).unwrap(), 40);
        }
    }
    assert_eq!(composer.text(), "👨\u{200d}👩\u{200d}👧");
}

#[test]
fn view_scrolls_only_when_cursor_leaves_it() {
    let mut composer = Composer::default();
    let lines: Vec<String> = (0..20).map(|n| format!("line {n}")).collect();
    composer.set(&lines.join("\n"));
    let room = room(20, 5);
    let first = |composer: &Composer| composer.window(room).rows[0].clone();
    composer.reveal(room);
    assert_eq!(first(&composer), "line 15");
    for expected in ["line 15", "line 15", "line 15", "line 15", "line 14"] {
        composer.cursor_up_or_recall(20);
        composer.reveal(room);
        assert_eq!(first(&composer), expected);
    }
    composer.click(room, 3, 2);
    composer.reveal(room);
    assert_eq!(first(&composer), "line 14");
    assert_eq!(composer.window(room).cursor, (3, 2));
    composer.cursor_down_or_recall(20);
    composer.cursor_down_or_recall(20);
    composer.reveal(room);
    assert_eq!(first(&composer), "line 15");
    // Deleting lines scrolls the view back, so that no row stays empty.
    for _ in 0..30 {
        composer.key(keys::parse("backspace").unwrap(), 20);
    }
    assert_eq!(composer.window(room).rows.len(), 5);
}

#[test]
fn long_paste_is_laid_out_only_around_the_cursor() {
    let text = "word ".repeat(2_000);
    let mut composer = Composer::default();
    composer.paste(&text.repeat(20));
    assert_eq!(composer.window(room(60, 8)).rows.len(), 8);
    composer.set(&format!("{text}\n").repeat(20));
    // Only lines that can be visible are laid out.
    assert_eq!(composer.laid_out(room(60, 8)), 9);
}

#[test]
fn cursor_reaches_positions_beyond_16_bits() {
    let mut composer = Composer::default();
    composer.set(&"x".repeat(200_000));
    let at = composer.window(room(10, 3)).cursor;
    composer.cursor_up_or_recall(10);
    composer.cursor_down_or_recall(10);
    assert_eq!(composer.window(room(10, 3)).cursor, at);
    composer.set(&format!("{}\nabc", "x".repeat(200_000)));
    composer.cursor_up_or_recall(10);
    composer.key(keys::parse("y").unwrap(), 10);
    assert!(composer.text().ends_with("xxy\nabc"));
    composer.set(&"\n".repeat(70_000));
    composer.cursor_up_or_recall(10);
    composer.key(keys::parse("y").unwrap(), 10);
    assert!(composer.text().ends_with("\ny\n"));
}

fn anything() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-c ,.()中文「」👍é]{0,80}",
        "\\PC{0,60}",
        proptest::collection::vec(any::<char>(), 0..40)
            .prop_map(|chars| escape_control_chars(&String::from_iter(chars)).replace('\n', " ")),
    ]
}

proptest! {
    /// Every cursor position has its own cell, and every cell maps to a cursor position in its row.
    #[test]
    fn cursor_positions_and_cells_map_one_to_one(line in anything(), width in 2usize..40) {
        let rows = WrappedLine::new(&line, width);
        let mut stops = vec![0];
        for cluster in escape_each_char(&line).graphemes(true) {
            stops.push(stops[stops.len() - 1] + cluster.chars().count());
        }
        let places: Vec<(usize, usize)> = stops.iter().map(|at| rows.cell_of(*at)).collect();
        prop_assert!(places.is_sorted_by(|a, b| a < b), "{places:?}");
        for (at, (row, column)) in stops.iter().zip(&places) {
            prop_assert!(*column < width && *row < rows.len());
            prop_assert_eq!(rows.position_at(*row, *column), *at);
        }
        for row in 0..rows.len() {
            for column in 0..width + 3 {
                let at = rows.position_at(row, column);
                prop_assert!(stops.contains(&at));
                prop_assert_eq!(rows.cell_of(at).0, row);
            }
        }
    }

    /// After any keys at any size, the cursor is visible and a click on it does not move it.
    #[test]
    fn cursor_is_visible_and_click_on_it_keeps_it(
        text in "([a-c 中👍é]{0,30}\n?){0,9}",
        keys in proptest::collection::vec(
            proptest::sample::select(vec![
                "up", "down", "left", "right", "home", "end", "backspace", "delete", "a", "space", "ctrl+w", "alt+b",
            ]),
            0..40,
        ),
        (width, height) in (2u16..30, 1u16..9),
    ) {
        let mut composer = Composer::default();
        composer.set(&text);
        for key in keys {
            composer.key(keys::parse(key).unwrap(), width);
            composer.reveal(room(width, height));
            let window = composer.window(room(width, height));
            let (row, column) = window.cursor;
            prop_assert!(usize::from(row) < window.rows.len() && column < width, "{window:?}");
            prop_assert!(window.rows.len() <= usize::from(height));
            composer.click(room(width, height), row, column);
            prop_assert_eq!(composer.window(room(width, height)), window);
        }
    }

    #[test]
    fn all_typed_text_is_visible(line in anything(), width in 4usize..40) {
        let rows = rows(&line, width);
        for row in &rows {
            prop_assert!(wrap::width(row) <= width, "{row:?}");
        }
        let shown = escape_each_char(&line);
        let signs = shown.graphemes(true).map(|sign| match wrap::width(sign) {
            0 => "\u{fffd}".to_string(),
            _ => escape_control_chars(sign),
        });
        prop_assert_eq!(rows.concat(), signs.collect::<String>());
    }

    #[test]
    fn words_that_fit_are_never_broken(words in proptest::collection::vec("[a-z]{1,9}", 1..30), width in 10usize..40) {
        let line = words.join(" ");
        let rows = rows(&line, width);
        let actual: Vec<&str> = rows.iter().flat_map(|row| row.split_whitespace()).collect();
        prop_assert_eq!(actual, words);
        prop_assert!(rows.iter().skip(1).all(|row| !row.starts_with(' ')));
    }
}

#[test]
fn window_shows_where_text_continues() {
    for (text, height, up, expected) in [
        ("word", 1, 0, Overflow::Nowhere),
        ("a\nb\nc", 3, 0, Overflow::Nowhere),
        ("a\nb\nc", 2, 0, Overflow::Above),
        ("a\nb\nc", 1, 1, Overflow::Both),
        ("a\nb\nc", 2, 2, Overflow::Below),
        // Rows of one wrapped line count like lines.
        ("word word word word", 2, 0, Overflow::Above),
        // Lines far from the cursor are not laid out.
        ("a\nb\nc\nd\ne\nf\ng\nh", 2, 7, Overflow::Below),
    ] {
        let mut composer = Composer::default();
        composer.set(text);
        let room = room(6, height);
        for _ in 0..up {
            composer.cursor_up_or_recall(room.width);
        }
        assert_eq!(composer.window(room).overflow, expected, "{text:?}");
    }
}
