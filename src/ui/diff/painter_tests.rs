//! Tests of rendered diffs: changed words, both versions side by side, colours of the language.

use pretty_assertions::assert_eq;
use ratatui::style::Color;

use crate::ui::diff::{DiffPainter, DiffParams, DiffPlacement, digits, read};
use crate::ui::text::wrap::Row;
use crate::ui::theme::{ColorDepth, Theme, ThemeName};

const DIFF: &str = "--- a/add.rs\n+++ b/add.rs\n@@ -8,4 +8,5 @@\n fn add(a: i32) {\n-    a - 1\n+    a + 1 // half\n+    /* new */\n }\n \n\
                    @@ -30,2 +31,1 @@ fn end()\n end\n-gone\n";

fn rows(columns: usize, theme: &Theme) -> Vec<Row> {
    let lines = read(DIFF);
    let mut painter = DiffPainter::new(DiffParams {
        columns,
        theme,
        placement: DiffPlacement::Conversation,
        digits: digits(&lines),
    });
    painter.rows(&lines, &mut 0)
}

fn texts(rows: &[Row]) -> Vec<String> {
    let text = |row: &Row| -> String { row.spans.iter().map(|s| s.content.as_ref()).collect() };
    rows.iter()
        .map(|row| text(row).trim_end().to_string())
        .collect()
}

/// Returns the text of the spans with the background `ground`, without padding.
fn on(rows: &[Row], ground: Option<Color>) -> Vec<String> {
    let spans = rows.iter().flat_map(|row| &row.spans);
    let found = spans
        .filter(|s| s.style.bg == ground)
        .map(|s| s.content.to_string());
    found.filter(|text| !text.trim().is_empty()).collect()
}

#[test]
fn unified_below_the_width_of_two_columns() {
    let expected = [
        "   8   fn add(a: i32) {",
        "   9 -     a - 1",
        "   9 +     a + 1 // half",
        "  10 +     /* new */",
        "  11   }",
        "  12",
        "     ⋯ fn end()",
        "  31   end",
        "  31 - gone",
    ];
    assert_eq!(texts(&rows(109, &Theme::default())), expected);
}

#[test]
fn both_versions_side_by_side_in_a_wide_area() {
    let wide = |left: &str, right: &str| {
        let row = format!("  {left:<53}│ {right}");
        row.trim_end().to_string()
    };
    let expected = [
        wide(" 8   fn add(a: i32) {", " 8   fn add(a: i32) {"),
        wide(" 9 -     a - 1", " 9 +     a + 1 // half"),
        wide("", "10 +     /* new */"),
        wide("10   }", "11   }"),
        wide("11", "12"),
        "     ⋯ fn end()".into(),
        wide("30   end", "31   end"),
        wide("31 - gone", ""),
    ];
    let dark = Theme::new(ThemeName::Dark, ColorDepth::True);
    for theme in [Theme::default(), dark] {
        let rows = rows(110, &theme);
        assert_eq!(texts(&rows), expected);
        assert!(rows.iter().all(|row| row.width() <= 110));
    }
}

#[test]
fn new_file_takes_the_whole_width() {
    let lines = read("--- /dev/null\n+++ b/x\n@@ -0,0 +1,2 @@\n+one\n+two\n");
    let theme = Theme::default();
    let look = DiffParams {
        columns: 120,
        theme: &theme,
        placement: DiffPlacement::Conversation,
        digits: 1,
    };
    let rows = DiffPainter::new(look).rows(&lines, &mut 0);
    assert_eq!(texts(&rows), ["  1 + one", "  2 + two"]);
}

#[test]
fn offsets_rise_and_do_not_depend_on_the_width() {
    let end = |columns| {
        let lines = read(DIFF);
        let mut end = 0;
        let look = DiffParams {
            columns,
            theme: &Theme::default(),
            placement: DiffPlacement::Conversation,
            digits: 2,
        };
        let rows = DiffPainter::new(look).rows(&lines, &mut end);
        assert!(rows.is_sorted_by_key(|row| row.text_offset), "{columns}");
        end
    };
    let all: Vec<usize> = [20, 40, 109, 110, 200].map(end).to_vec();
    assert!(all.iter().all(|at| *at == all[0]), "{all:?}");
}

#[test]
fn changed_words_are_marked() {
    let dark = Theme::new(ThemeName::Dark, ColorDepth::True);
    for columns in [60, 120] {
        let rows = rows(columns, &dark);
        assert_eq!(on(&rows, dark.removed_word.bg), ["-"]);
        assert_eq!(on(&rows, dark.added_word.bg).concat(), "+// half");
        assert!(on(&rows, dark.removed_line.bg).concat().contains("gone"));
    }
    let reversed = rows(60, &Theme::default());
    let marked = reversed.iter().flat_map(|row| &row.spans).filter(|span| {
        span.style
            .add_modifier
            .contains(ratatui::style::Modifier::REVERSED)
    });
    let marked: String = marked.map(|span| span.content.as_ref()).collect();
    assert_eq!(marked, "-+ // half");
}

#[cfg(feature = "highlight")]
#[test]
fn code_has_the_colours_of_its_language() {
    let dark = Theme::new(ThemeName::Dark, ColorDepth::True);
    for columns in [60, 120] {
        let rows = rows(columns, &dark);
        let keywords = rows.iter().flat_map(|row| &row.spans);
        let keywords = keywords.filter(|s| s.style.fg == dark.keyword.fg && s.content == "fn");
        assert_eq!(keywords.count(), if columns == 60 { 1 } else { 2 });
        // Without backgrounds, the colour says what was added.
        let plain = Theme::default();
        let spans: Vec<Row> = self::rows(columns, &plain);
        assert!(
            spans
                .iter()
                .flat_map(|r| &r.spans)
                .all(|s| s.style.fg != plain.keyword.fg)
        );
    }
}
