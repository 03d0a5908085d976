//! Tests of how cells are drawn.

use pretty_assertions::assert_eq;

use crate::protocol::event::TurnEnd;
use crate::ui::transcript::tests::*;

const DIFF: &str = "--- a/add.py\n+++ b/add.py\n@@ -1,2 +1,2 @@\n def add(a, b):\n-    return a - b\n+    return a + b\n";

#[test]
fn conversation_overview() {
    let all = transcript(&[
        prompt_event("Fix the bug\nin add.py, and say in one sentence what it was"),
        answer_event(
            "The user wants a fix.\nI look first.",
            "I look at **add.py**.\n\n1. read\n2. fix",
        ),
        tool_start_event(
            "1",
            "bash",
            "python3 -m pytest -q --maxfail=1 tests/test_add.py",
        ),
        tool_end_event(
            "1",
            Outcome::Error,
            "collected 3\nE assert -1 == 3\n[exit code 1]",
            "",
        ),
        tool_start_event("2", "edit_file", "add.py"),
        tool_end_event("2", Outcome::Ok, "Edited add.py", DIFF),
        injected_message("message from alice: 中文 too"),
        injected_message("claimed task #3: Write the docs"),
        notice(NoticeLevel::Warn, "the server is slow"),
        said("Done: `a - b` was `a + b`."),
        tool_start_event("3", "bash", "cargo test"),
        output("3", "Compiling\n10%\r60%\rrunning 3 tests\r\n"),
        delta("I wait"),
    ]);
    insta::assert_snapshot!(screen(&all, 50, 34));
}

#[test]
fn turn_ends_are_shown() {
    let all = transcript(&[
        turn_end_event(TurnEnd::Done),
        turn_end_event(TurnEnd::Interrupted),
        turn_end_event(TurnEnd::Stopped {
            why: "the same calls over and over".into(),
        }),
        turn_end_event(TurnEnd::Failed {
            error: "401: the key is wrong".into(),
            hint: "Set ANTHROPIC_API_KEY to a valid key.".into(),
        }),
    ]);
    insta::assert_debug_snapshot!(draw(&all, &mut TranscriptCache::default(), 40, 6));
}

#[test]
fn open_call_shows_colored_diff() {
    let mut one = transcript(&[
        tool_start_event("2", "edit_file", "add.py"),
        tool_end_event("2", Outcome::Ok, "Edited add.py", DIFF),
    ]);
    insta::assert_debug_snapshot!(draw(&one, &mut TranscriptCache::default(), 30, 9));
    one.toggle_selected();
    assert_eq!(screen(&one, 40, 2), "✓ edit_file add.py +1 −1\n\n");
}

/// Returns the events of a call that adds `lines` lines to a file.
fn write_events(id: &str, lines: usize) -> Vec<EventKind> {
    let text: Vec<String> = (1..=lines)
        .map(|n| format!("+let line_{n} = {n};\n"))
        .collect();
    let text = text.concat();
    let diff = format!("--- src/a.rs\n+++ src/a.rs\n@@ -0,0 +1,{lines} @@\n{text}");
    let end = tool_end_event(id, Outcome::Ok, "Wrote 99 bytes to src/a.rs", &diff);
    vec![tool_start_event(id, "write_file", "src/a.rs"), end]
}

#[test]
fn short_diff_is_open_and_long_one_is_a_line() {
    let short = transcript(&write_events("1", 21));
    assert_eq!(screen(&short, 40, 30).matches(" + let line").count(), 21);
    let mut long = transcript(&write_events("1", 22));
    assert_eq!(screen(&long, 40, 2), "✓ write_file src/a.rs +22 −0\n\n");
    long.toggle_selected();
    assert_eq!(screen(&long, 40, 30).matches(" + let line").count(), 22);
    // Of an edit that has failed, only the error is shown.
    let failed = tool_end_event("1", Outcome::Error, "Error: old_text was not found", "");
    let failed = transcript(&[tool_start_event("1", "edit_file", "a.rs"), failed]);
    let expected = "✗ edit_file a.rs\n  Error: old_text was not found\n\n";
    assert_eq!(screen(&failed, 40, 3), expected);
}

#[test]
fn wide_conversation_shows_both_versions_side_by_side() {
    let all = transcript(&[
        tool_start_event("2", "edit_file", "add.py"),
        tool_end_event("2", Outcome::Ok, "Edited add.py", DIFF),
    ]);
    insta::assert_snapshot!(screen(&all, 120, 5));
    assert!(!screen(&all, 109, 5).contains('│'));
}

#[test]
fn two_hundred_diffs_are_laid_out_only_where_they_are_visible() {
    let events: Vec<EventKind> = (0..200)
        .flat_map(|n| write_events(&n.to_string(), 18))
        .collect();
    let mut all = transcript(&events);
    let mut cache = TranscriptCache::default();
    draw(&all, &mut cache, 120, 40);
    let first = cache.rows_laid();
    assert!(first < 100, "{first}");
    for _ in 0..40 {
        all.scroll(Scroll::LineUp, view(120, 40));
        draw(&all, &mut cache, 120, 40);
    }
    assert!(cache.rows_laid() < first + 100, "{}", cache.rows_laid());
    let before = cache.rows_laid();
    draw(&all, &mut cache, 120, 40);
    assert_eq!(cache.rows_laid(), before);
}

#[test]
fn open_call_shows_command_and_output() {
    let mut one = transcript(&[
        tool_start_event("1", "bash", "seq 3"),
        tool_end_event("1", Outcome::Ok, "1\n\n  3 is a long line of output", ""),
    ]);
    one.toggle_selected();
    assert_eq!(
        screen(&one, 20, 7),
        "✓ bash seq 3\n  $ seq 3\n  1\n\n    3 is a long line\n↳  of output\n\n"
    );
}

#[test]
fn folded_cell_is_one_line_at_any_width() {
    let cases = [
        (
            60,
            "✓ bash cargo test --workspace --all-features · 12 lines",
        ),
        (50, "✓ bash cargo test --workspace --all-fe… · 12 lines"),
        (36, "✓ bash cargo test --work… · 12 lines"),
        (30, "✓ bash cargo test --workspace…"),
        (10, "✓ bash ca…"),
        (4, "✓ b…"),
        (1, "✓"),
    ];
    let one = transcript(&[
        tool_start_event("1", "bash", "cargo test --workspace --all-features"),
        tool_end_event("1", Outcome::Ok, &"line\n".repeat(12), ""),
    ]);
    for (columns, expected) in cases {
        assert_eq!(
            screen(&one, columns, 2),
            format!("{expected}\n\n"),
            "{columns}"
        );
    }
}

#[test]
fn failed_call_shows_error_before_subject() {
    let one = transcript(&[
        tool_start_event("1", "bash", "cargo test --workspace --all-features"),
        tool_end_event("1", Outcome::Error, "error: no\n[exit code 101]", ""),
    ]);
    assert_eq!(
        screen(&one, 24, 2),
        "✗ bash cargo… · exit 101\n  error: no\n"
    );
}

#[test]
fn running_call_shows_end_of_output() {
    let mut one = transcript(&[tool_start_event("1", "bash", "make")]);
    for n in 0..20 {
        apply(&mut one, &output("1", &format!("line {n}\nhalf")));
    }
    assert_eq!(
        screen(&one, 20, 7),
        "◐ bash make\n  halfline 16\n  halfline 17\n  halfline 18\n  halfline 19\n  half\n\n"
    );
}

#[test]
fn thinking_is_one_line_until_opened() {
    let mut one = transcript(&[
        thinking_delta("First I look.\nThen I"),
        thinking_delta(" think"),
    ]);
    assert_eq!(screen(&one, 40, 2), "∴ thinking · Then I think\n\n");
    apply_all(
        &mut one,
        &[answer_event("First I look.\nThen I think of it.", "Yes.")],
    );
    let folded = "∴ thought for 4 s · First I look.\n\nYes.\n\n";
    assert_eq!(screen(&one, 40, 4), folded);
    one.toggle_selected();
    assert_eq!(
        screen(&one, 20, 5),
        "∴ First I look.\n  Then I think of\n  it.\n\nYes.\n"
    );
}

#[test]
fn tool_call_as_text_is_explained() {
    let text = "{\"name\": \"bash\", \"arguments\": {\"command\": \"ls\"}}";
    let shown = screen(&transcript(&[said(text)]), 60, 5);
    assert_eq!(
        shown,
        "{\"name\": \"bash\", \"arguments\": {\"command\": \"ls\"}}\n\
         ▲ the model wrote a tool call as text, so the call was not\n  \
         run; the server's chat template may lack tool support\n\n\n"
    );
}

#[test]
fn complete_answer_replaces_streamed_text() {
    let words = "One **two** three.\n\n- a\n- b\n\n```\ncode\n\nmore\n```\n\n| a | b |\n|---|---|\n| 中 | 2 |\n\nEnd";
    let whole = screen(&transcript(&[said(words)]), 30, 20);
    for size in [1, 3, 7, 1000] {
        let mut streamed = Transcript::default();
        let mut cache = TranscriptCache::default();
        let chars: Vec<char> = words.chars().collect();
        for part in chars.chunks(size) {
            apply_all(&mut streamed, &[delta(&String::from_iter(part))]);
            let cached = draw(&streamed, &mut cache, 30, 20);
            let fresh = draw(&streamed, &mut TranscriptCache::default(), 30, 20);
            assert_eq!(cached, fresh, "the cache does not change the screen");
        }
        assert_eq!(screen(&streamed, 30, 20), whole, "portions of {size}");
        apply_all(&mut streamed, &[said(words)]);
        assert_eq!(screen(&streamed, 30, 20), whole);
        assert_eq!(streamed.log.len(), 1);
    }
}

#[test]
fn answers_of_same_length_do_not_share_a_layout() {
    let mut one = Transcript::default();
    let mut cache = TranscriptCache::default();
    let steps = [
        (delta("aa\n\nbb"), "aa||bb"),
        (said("cc\n\ndd"), "cc||dd"),
        (delta("ee\n\nff"), "cc||dd||ee||ff"),
        (reset(), "cc||dd"),
        (delta("gg\n\nhh"), "cc||dd||gg||hh"),
        (said(""), "cc||dd"),
        (said("ii\n\njj"), "cc||dd||ii||jj"),
    ];
    for (event, expected) in steps {
        apply_all(&mut one, &[event]);
        let buffer = draw(&one, &mut cache, 2, 9);
        let rows: Vec<String> = buffer
            .content
            .chunks(2)
            .map(|row| row.iter().map(ratatui::buffer::Cell::symbol).collect())
            .collect();
        let shown = rows.join("\n").replace("  ", "");
        assert_eq!(shown.trim_end().replace('\n', "|"), expected);
    }
}

/// Each step consists of events and the rows that are expected after them, separated by `|`.
#[test]
fn answer_is_drawn_after_each_event() {
    let mut one = Transcript::default();
    let mut cache = TranscriptCache::default();
    let steps: Vec<(Vec<EventKind>, &str)> = vec![
        (vec![delta("Hal"), delta("f")], "Half"),
        (vec![reset()], ""),
        (vec![delta("No"), delta("w")], "Now"),
        (vec![notice(NoticeLevel::Warn, "slow")], "Now||▲ slow"),
        (vec![delta(" on")], "Now on||▲ slow"),
        (vec![reset()], "▲ slow"),
        (vec![delta("Again")], "▲ slow||Again"),
        (vec![said("Again it is.")], "▲ slow||Again it is."),
        (vec![said("")], "▲ slow||Again it is."),
        (vec![delta("x"), said(" \n")], "▲ slow||Again it is."),
        (
            vec![
                delta("cut"),
                turn_end_event(TurnEnd::Interrupted),
                delta("new"),
            ],
            "▲ slow||Again it is.||cut||· interrupted||new",
        ),
    ];
    for (events, expected) in steps {
        apply_all(&mut one, &events);
        let shown = screen(&one, 20, 12);
        assert_eq!(shown.trim_end().replace('\n', "|"), expected, "{events:?}");
        let cached = draw(&one, &mut cache, 20, 12);
        assert_eq!(cached, draw(&one, &mut TranscriptCache::default(), 20, 12));
    }
}

#[test]
fn results_are_matched_to_calls() {
    let all = transcript(&[
        tool_start_event("a", "one", "x"),
        tool_start_event("b", "two", "y"),
        tool_end_event("b", Outcome::Ok, "B", ""),
        tool_end_event("a", Outcome::Ok, "A", ""),
        tool_end_event("unknown", Outcome::Ok, "C", ""),
        tool_start_event("a", "again", "z"),
        tool_start_event("c", "late", "w"),
        turn_end_event(TurnEnd::Interrupted),
        tool_end_event("c", Outcome::Error, "too late", ""),
        tool_start_event("a", "third", "v"),
        tool_end_event("a", Outcome::Ok, "D", ""),
    ]);
    assert_eq!(
        screen(&all, 30, 9),
        "✓ one x · A\n✓ two y · B\n✓ bash · C\n◌ again z · not finished\n✗ late w\n  too late\n· interrupted\n✓ third v · D\n\n"
    );
}

#[test]
fn selected_cell_is_marked_and_can_be_copied() {
    let mut all = transcript(&[
        tool_start_event("1", "bash", "ls"),
        tool_end_event("1", Outcome::Ok, "a\nb", ""),
        said("Two files."),
        tool_start_event("2", "bash", "pwd"),
    ]);
    assert_eq!(selected_cell_text(&all), None);
    all.select_prev();
    assert_eq!(selected_cell_text(&all).unwrap(), "bash pwd\n$ pwd");
    all.select_prev();
    assert_eq!(selected_cell_text(&all).unwrap(), "bash ls\n$ ls\na\nb");
    insta::assert_debug_snapshot!(draw(&all, &mut TranscriptCache::default(), 30, 5));
    all.select_prev();
    assert_eq!(selected_cell_text(&all).unwrap(), "bash ls\n$ ls\na\nb");
    all.select_next();
    all.select_next();
    assert_eq!(selected_cell_text(&all).unwrap(), "bash pwd\n$ pwd");
    all.scroll(Scroll::Bottom, view(30, 5));
    assert_eq!(selected_cell_text(&all), None);
}

#[test]
fn folded_thinking_shows_duration() {
    let mut one = transcript(&[answer_event("I look first.\nThen I mend.", "Done.")]);
    let cases = [
        (60, "∴ thought for 4 s · I look first.\n\nDone.\n"),
        (32, "∴ thought for 4 s · I look firs…\n\nDone.\n"),
        (20, "∴ thought for 4 s\n\nDone.\n"),
        (8, "∴ thoug…\n\nDone.\n"),
    ];
    for (columns, expected) in cases {
        assert_eq!(screen(&one, columns, 3), expected);
    }
    one.toggle_selected();
    let open = "∴ I look first.\n  Then I mend.\n\nDone.\n";
    assert_eq!(screen(&one, 60, 4), open);
}

#[test]
fn code_and_urls_are_styled() {
    let all = transcript(&[said(
        "See https://a.b/c_d. or [docs](https://x.y)\n\n```rust\nlet x = \"1\"; // 2\n```",
    )]);
    insta::assert_debug_snapshot!(draw(&all, &mut TranscriptCache::default(), 50, 5));
}

#[test]
fn code_may_be_wider_than_text() {
    let (words, code) = ("word ".repeat(30), "x".repeat(150));
    let all = transcript(&[said(&format!("{words}\n\n```\n{code}\n```"))]);
    let shown = screen(&all, 170, 4);
    let widths: Vec<usize> = shown.lines().map(|row| row.chars().count()).collect();
    assert_eq!(widths, [119, 29, 0, 152], "{shown}");
}
