//! What a conversation looks like, and that reading it is calm.

use proptest::prelude::*;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use serde_json::json;

use super::draw::{Mark, lines};
use super::place::Viewport;
use super::*;
use crate::protocol::event::TurnEnd;
use crate::ui::textual::width;
use crate::ui::theme::Theme;

fn lead() -> Name {
    Name::lead()
}

fn said(text: &str) -> EventKind {
    EventKind::Said {
        agent: lead(),
        text: text.into(),
        thinking: String::new(),
    }
}

fn delta(text: &str) -> EventKind {
    EventKind::TextDelta {
        agent: lead(),
        text: text.into(),
    }
}

fn started(call: &str, tool: &str, on: &str) -> EventKind {
    EventKind::ToolStarted {
        agent: lead(),
        call: CallId(call.into()),
        tool: tool.into(),
        on: on.into(),
        input: json!({"command": on}),
    }
}

fn finished(call: &str, outcome: Outcome, output: &str, diff: &str) -> EventKind {
    EventKind::ToolFinished {
        agent: lead(),
        call: CallId(call.into()),
        tool: "x".into(),
        outcome,
        output: output.into(),
        diff: diff.into(),
        took_ms: 1500,
    }
}

fn transcript(events: &[EventKind]) -> Transcript {
    let mut out = Transcript::new();
    for event in events {
        out.apply(&lead(), event);
    }
    out
}

fn screen(transcript: &Transcript, columns: u16, rows: u16) -> String {
    let area = Rect::new(0, 0, columns, rows);
    let mut buffer = Buffer::empty(area);
    transcript.view(
        &mut TranscriptCache::default(),
        &Theme::default(),
        area,
        &mut buffer,
    );
    let mut out = String::new();
    for y in 0..rows {
        let mut row = String::new();
        for x in 0..columns {
            row.push_str(buffer[(x, y)].symbol());
        }
        out.push_str(row.trim_end());
        out.push('\n');
    }
    out
}

#[test]
fn a_conversation() {
    let all = transcript(&[
        EventKind::Prompted {
            agent: lead(),
            text: "Fix the bug\nin add.py".into(),
        },
        said(
            "I look at it. **Bold**, `code` and a list:\n\n1. first point that is long enough to wrap\n2. second\n   - nested\n\n```py\ndef add(a, b):\n    return a - b\n```",
        ),
        started("1", "bash", "python3 -m pytest -q"),
        finished("1", Outcome::Error, "1 failed\n[exit code 1]", ""),
        started("2", "edit_file", "add.py"),
        finished(
            "2",
            Outcome::Ok,
            "Edited add.py",
            "--- a\n+++ b\n-    return a - b\n+    return a + b\n",
        ),
        EventKind::Injected {
            agent: lead(),
            what: "letter from alice".into(),
        },
        said("| file | lines |\n|---|---:|\n| add.py | 2 |\n| 中文.py | 10 |\n\n> quoted\n\nDone."),
        EventKind::TurnEnded {
            agent: lead(),
            end: TurnEnd::Interrupted,
        },
    ]);
    insta::assert_snapshot!(screen(&all, 44, 36));
}

#[test]
fn an_open_tool_call_shows_its_diff_and_output() {
    let mut one = transcript(&[
        started("2", "edit_file", "add.py"),
        finished(
            "2",
            Outcome::Ok,
            "Edited add.py",
            "--- a\n+++ b\n-    return a - b\n+    return a + b\n",
        ),
    ]);
    one.toggle_selected();
    insta::assert_snapshot!(screen(&one, 40, 7));
    one.toggle_selected();
    assert_eq!(
        screen(&one, 40, 2),
        "✓ edit_file add.py · +1 −1 · 1.5 s\n\n"
    );
}

#[test]
fn streamed_words_give_way_to_the_whole_answer() {
    let words = "One **two** three.";
    let mut streamed = Transcript::new();
    for part in ["One **t", "wo** th", "ree."] {
        streamed.apply(&lead(), &delta(part));
    }
    assert_eq!(
        screen(&streamed, 30, 2),
        screen(&transcript(&[said(words)]), 30, 2)
    );
    streamed.apply(&lead(), &said(words));
    assert_eq!(streamed.cells.len(), 1);
    streamed.apply(&lead(), &delta("gone"));
    streamed.apply(&lead(), &EventKind::StreamReset { agent: lead() });
    assert_eq!(streamed.cells.len(), 1);
}

#[test]
fn what_is_read_does_not_move_while_more_comes_in() {
    let view = Viewport {
        width: 30,
        height: 6,
    };
    let mut all = Transcript::new();
    for n in 0..30 {
        all.apply(&lead(), &said(&format!("answer {n}")));
    }
    all.scroll(Scroll::PageUp, view);
    assert!(!all.is_following());
    let before = screen(&all, 30, 6);
    for n in 0..5 {
        all.apply(&lead(), &delta(&format!("more {n} ")));
        all.apply(&lead(), &said("and more"));
    }
    assert_eq!(screen(&all, 30, 6), before);
    assert_eq!(all.unread_below(), 5);
    for _ in 0..40 {
        all.scroll(Scroll::PageDown, view);
    }
    assert!(all.is_following() && all.unread_below() == 0);
    assert!(screen(&all, 30, 6).contains("and more"));
    all.scroll(Scroll::Top, view);
    assert!(screen(&all, 30, 6).starts_with("answer 0\n"));
    all.scroll(Scroll::LineUp, view);
    assert!(screen(&all, 30, 6).starts_with("answer 0\n"));
    all.scroll(Scroll::Bottom, view);
    assert!(all.is_following());
}

#[test]
fn a_short_conversation_has_nothing_to_scroll() {
    let mut one = transcript(&[said("short")]);
    one.scroll(
        Scroll::PageUp,
        Viewport {
            width: 30,
            height: 6,
        },
    );
    assert!(one.is_following());
}

#[test]
fn control_sequences_are_shown() {
    let text = "a\u{1b}[31mred\u{202e}x\u{9b}2J";
    let shown = screen(&transcript(&[said(text), started("1", text, text)]), 60, 6);
    assert!(
        shown.contains("a␛[31mred�x�2J") && !shown.contains('\u{1b}'),
        "{shown}"
    );
}

#[test]
fn a_tool_call_that_came_as_text_is_explained() {
    let text = "{\"name\": \"bash\", \"arguments\": {\"command\": \"ls\"}}";
    let shown = screen(&transcript(&[said(text)]), 60, 8);
    assert!(shown.contains("wrote a tool call as text"), "{shown}");
    let calm = screen(&transcript(&[said("The name is add.")]), 60, 8);
    assert!(!calm.contains("tool call"), "{calm}");
}

#[test]
fn the_number_of_cells_is_bounded() {
    let mut all = Transcript::new();
    for n in 0..CELLS_MAX + 50 {
        all.apply(&lead(), &said(&n.to_string()));
    }
    assert_eq!(all.cells.len(), CELLS_MAX);
    assert_eq!(all.dropped, 50);
}

#[test]
fn five_megabytes_and_a_long_line_stay_bounded() {
    let long = "x".repeat(200 * 1024);
    let much = "line of output\n".repeat(350_000);
    let mut all = transcript(&[said(&long), started("1", "bash", "cat")]);
    for chunk in much.as_bytes().chunks(4096) {
        let chunk = String::from_utf8_lossy(chunk).into_owned();
        all.apply(
            &lead(),
            &EventKind::ToolOutput {
                agent: lead(),
                call: CallId("1".into()),
                chunk,
            },
        );
    }
    all.apply(&lead(), &finished("1", Outcome::Ok, &much, ""));
    all.toggle_selected();
    let Kind::Tool(run) = &all.cells[1].kind else {
        panic!()
    };
    assert!(run.output.len() < 300 * 1024 && run.output.contains("bytes cut here"));
    let drawn = lines(&all.cells[1].kind, None, Mark::Plain, 80, &Theme::default());
    assert!(drawn.len() < 300, "{}", drawn.len());
    assert!(screen(&all, 80, 20).contains("line of output"));
}

proptest! {
    /// Whatever a model writes: no line is wider than its room.
    #[test]
    fn no_line_is_too_wide(text in "[a-z *_`#>|\\-1.\\[\\]()中😀é\n]{0,200}", columns in 8usize..60) {
        for line in markdown::lines(&text, columns, &Theme::default()) {
            let wide: usize = line.spans.iter().map(|s| width(&s.content)).sum();
            prop_assert!(wide <= columns, "{wide} > {columns}: {line:?}");
        }
    }

    /// Wrapping loses no character but blanks.
    #[test]
    fn no_word_is_lost(text in "[a-z ,.中é]{0,120}", columns in 4usize..40) {
        let runs = [(text.clone(), ratatui::style::Style::default())];
        let out = flow::flow(&runs, columns, &flow::Margin::default(), flow::Break::Words);
        let drawn: String = out.iter().flat_map(|l| l.spans.iter()).map(|s| s.content.as_ref()).collect();
        let bare = |t: &str| t.replace(' ', "");
        prop_assert_eq!(bare(&drawn), bare(&text));
    }
}
