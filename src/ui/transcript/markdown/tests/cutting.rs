//! Tests that cutting long lists, paragraphs and tables into pieces does not change the rows.

use pretty_assertions::assert_eq;
use proptest::prelude::*;

use crate::ui::transcript::markdown::tests::{
    cut, drawn_in_pieces, laid, looks_of_words, render_rows, stream_rows,
};

/// Generates lists and paragraphs that are long enough to be cut, with lines that end them or change their meaning.
fn long_blocks() -> impl Strategy<Value = String> {
    let words = "[a-z]{1,4}( [a-z]{1,4}){0,2}";
    let item = prop_oneof![
        6 => words.prop_map(|w| format!("- {w}\n")),
        6 => words.prop_map(|w| format!("7. {w}\n")),
        1 => words.prop_map(|w| format!("* [x] {w}\n")),
        1 => words.prop_map(|w| format!("- {w}\n\n  {w}\n\n")),
        1 => words.prop_map(|w| format!("1. {w}\n   - {w}\n   - {w}\n")),
        1 => words.prop_map(|w| format!("1. {w}\n  - {w}\n")),
        1 => words.prop_map(|w| format!("- {w}\n  ```rs\n  {w}\n- {w}\n  ```\n")),
        1 => words.prop_map(|w| format!("- # {w}\n  {w}\n\n")),
        1 => words.prop_map(|w| format!("- > {w}\n  {w}\n- | {w} |\n  |---|\n")),
    ];
    let line = prop_oneof![
        12 => words.prop_map(|w| format!("{w}\n")),
        4 => words.prop_map(|w| format!("{w} **{w}** `{w}` [{w}](http://{}_x)\n", w.len())),
        1 => words.prop_map(|w| format!("*{w}\n{w}* {w}  \n")),
    ];
    let row = prop_oneof![
        8 => words.prop_map(|w| format!("| {w} | **{w}** |\n")),
        2 => words.prop_map(|w| format!("| {w} | [{w}](http://{}) | {w} |\n", w.len())),
        1 => words.prop_map(|w| format!("|{w}\\|`{w}`\n")),
    ];
    let table = ("[a-z]{1,9}", proptest::collection::vec(row, 8..40))
        .prop_map(|(w, rows)| format!("\n| {w} | b |\n|---|:-:|\n{}", rows.concat()));
    let odd = prop_oneof![
        "[a-z]{0,3}[*_`~\\[\\]<\\\\]{1,2}[a-z*_`]{0,3}\n",
        proptest::sample::select(vec![
            "---\n",
            "===\n",
            "|---|\n",
            "a | b\n",
            "| a |\n|---|\n",
            "2. x\n",
            "-\n",
            "- - -\n",
            "\n",
            "\n\n",
            "# h\n",
            "> q\n",
            "<div>\n",
            "```\n",
            "text\n",
            "  in\n",
            "    code\n",
            "* \n",
            "-  wide\n",
            "+ x\n",
            "[x]: y\n",
            "end\\\n",
            "&amp;\n",
            "  - in\n",
            "10) ten\n",
        ])
        .prop_map(String::from),
    ];
    let many = prop_oneof![
        proptest::collection::vec(item, 6..24).prop_map(|all| all.concat()),
        words
            .prop_flat_map(|_| proptest::collection::vec(
                "(- [a-z]{1,3}|3\\. [a-z*]{1,3})\n",
                10..20
            ))
            .prop_map(|all| all.concat()),
        proptest::collection::vec(line, 10..30).prop_map(|all| all.concat()),
        table,
    ];
    let block = prop_oneof![3 => many, 2 => odd, 1 => Just("\n".to_string())];
    proptest::collection::vec(block, 1..8).prop_map(|all| all.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    /// At every point of the stream, a text that is rendered in pieces has the same rows as a text that is rendered as
    /// a whole.
    #[test]
    fn cut_long_blocks_draw_the_same_rows(
        text in long_blocks(),
        ends in proptest::collection::vec(any::<proptest::sample::Index>(), 8),
        columns in 8usize..40,
    ) {
        let ends = ends.iter().map(|end| end.index(text.len() + 1));
        for end in ends.chain([text.len()]).filter(|end| text.is_char_boundary(*end)) {
            let text = &text[..end];
            let (joined, whole) = (drawn_in_pieces(text, columns), render_rows(text, columns));
            prop_assert_eq!(looks_of_words(&joined), looks_of_words(&whole), "{:?}", text);
        }
    }

    /// However a text is split into chunks, and although the layout is reused after each chunk, the last frame is the
    /// same as if the whole text were drawn at once.
    #[test]
    fn streamed_text_is_drawn_like_the_whole(
        text in long_blocks(),
        ends in proptest::collection::vec(any::<proptest::sample::Index>(), 0..24),
        columns in 8usize..40,
    ) {
        let mut ends: Vec<usize> = ends.iter().map(|end| end.index(text.len() + 1)).collect();
        ends.push(text.len());
        ends.sort_unstable();
        let streamed = stream_rows(&text, &ends, columns);
        prop_assert_eq!(looks_of_words(&streamed), looks_of_words(&render_rows(&text, columns)), "{:?}", text);
    }
}

#[test]
fn pieces_of_a_long_table_share_one_layout() {
    let rows: Vec<String> = (0..60)
        .map(|n| format!("| {n} | row **{n}** |\n"))
        .collect();
    let rows = rows.concat();
    let wide = "| 99 | what is much wider than all that stands above it |\n";
    for end in [
        "",
        wide,
        "| 99 | what is still being writt",
        "| 99 | **bold**",
        "text\n",
        "\n- item\n",
    ] {
        let text = format!("Words.\n\n| n | what |\n|--:|---|\n{rows}{end}");
        let after = usize::from(end.ends_with("- item\n"));
        assert_eq!(cut(&text).len(), 6 + after, "{end}");
        for columns in [10, 14, 30, 80] {
            let (pieces, whole) = (laid(&text, columns), render_rows(&text, columns));
            assert_eq!(
                looks_of_words(&pieces.rows(0).cloned().collect::<Vec<_>>()),
                looks_of_words(&whole)
            );
            // The text offsets of the rows are the same too.
            let inks: Vec<usize> = (0..pieces.len())
                .map(|row| pieces.text_offset_of(row))
                .collect();
            assert_eq!(
                inks,
                whole.iter().map(|row| row.text_offset).collect::<Vec<_>>(),
                "{columns}"
            );
        }
    }
}

#[test]
fn what_is_no_top_level_table_is_not_cut() {
    for (begin, row) in [
        ("| a | b |\n|---|\n", "| a | b |\n"),
        ("> | a | b |\n> |---|---|\n", "> | a | b |\n"),
        ("| a | b |\n| a | b |\n", "| a | b |\n"),
    ] {
        let text = begin.to_string() + &row.repeat(40);
        assert_eq!(cut(&text).len(), 1, "{begin}");
    }
}
