//! Tests of limits: the length of stored texts, the work per frame, unusual sizes, and control characters.

use pretty_assertions::assert_eq;
use proptest::prelude::*;

use crate::protocol::event::TurnEnd;
use crate::ui::transcript::tests::*;

#[test]
fn control_sequences_are_escaped() {
    let bad = "a\u{1b}[31mr\u{202e}x\u{9b}2J\u{7}\u{200b}";
    let all = transcript(&[
        prompt_event(bad),
        answer_event(bad, bad),
        said(&format!(
            "`{bad}`\n\n```{bad}\n{bad}\n```\n\n| {bad} |\n|---|\n\n[{bad}]({bad})"
        )),
        injected_message(bad),
        tool_start_event("1", bad, bad),
        output("1", bad),
        tool_end_event("1", Outcome::Error, bad, bad),
        notice(NoticeLevel::Error, bad),
        turn_end_event(TurnEnd::Failed {
            error: bad.into(),
            hint: bad.into(),
        }),
    ]);
    let mut open = transcript(&[tool_start_event("1", bad, bad), output("1", bad)]);
    open.toggle_selected();
    for transcript in [all, open] {
        let buffer = draw(&transcript, &mut TranscriptCache::default(), 60, 40);
        let shown: String = buffer
            .content
            .iter()
            .map(ratatui::buffer::Cell::symbol)
            .collect();
        assert!(shown.contains("a␛[31mr�x�2J␇"), "{shown}");
        let drives = |c: char| c.is_control() || "\u{202e}\u{200b}".contains(c);
        assert!(!shown.contains(drives));
    }
}

#[test]
fn cell_count_is_bounded_and_drop_is_shown() {
    let mut all = Transcript::default();
    for n in 0..CELLS_MAX + 50 {
        apply_all(&mut all, &[injected_message(&n.to_string())]);
        if n == 20 {
            all.scroll(Scroll::Top, view(60, 4));
            assert!(!all.is_following());
        }
    }
    assert_eq!(all.log.len(), CELLS_MAX);
    // The row at the top of the view was dropped, so the oldest remaining row is now at the top.
    assert_eq!(
        screen(&all, 60, 4),
        "… 50 older entries dropped; the full conversation is in\n  .transcripts/\n\n· 50\n"
    );
}

#[test]
fn total_size_is_bounded() {
    let mut all = Transcript::default();
    let much = "x ".repeat(1024 * 1024);
    for n in 0..300 {
        let call = n.to_string();
        apply_all(&mut all, &[tool_start_event(&call, "bash", "x")]);
        apply_all(
            &mut all,
            &[tool_end_event(&call, Outcome::Ok, &much, &much)],
        );
    }
    assert!(
        all.log.len() > 25 && all.log.len() < 50,
        "{}",
        all.log.len()
    );
    assert!(screen(&all, 60, 4).contains("✓ bash x +0 −0"));
}

#[test]
fn only_visible_cells_are_laid_out() {
    let mut all = Transcript::default();
    for n in 0..CELLS_MAX {
        apply_all(&mut all, &[said(&format!("answer **{n}**"))]);
    }
    let mut cache = TranscriptCache::default();
    draw(&all, &mut cache, 80, 30);
    assert_eq!(cache.layouts_kept(), 15);
    for _ in 0..10 {
        all.scroll(Scroll::PageUp, view(80, 30));
        draw(&all, &mut cache, 80, 30);
    }
    assert!(cache.layouts_kept() < 200, "{}", cache.layouts_kept());
    all.scroll(Scroll::Top, view(80, 30));
    assert!(screen(&all, 80, 30).starts_with("answer 0\n"));
}

/// Returns the number of rows that are laid out for the frame after `events`.
fn work(all: &mut Transcript, cache: &mut TranscriptCache, events: &[EventKind]) -> usize {
    draw(all, cache, 80, 30);
    let before = cache.rows_laid();
    apply_all(all, events);
    draw(all, cache, 80, 30);
    cache.rows_laid() - before
}

#[test]
fn frame_work_is_independent_of_transcript_length() {
    for cells in [100, CELLS_MAX] {
        let mut all = Transcript::default();
        for n in 0..cells {
            apply_all(&mut all, &[injected_message(&n.to_string())]);
        }
        let mut cache = TranscriptCache::default();
        assert_eq!(work(&mut all, &mut cache, &[]), 0);
        assert_eq!(work(&mut all, &mut cache, &[injected_message("new")]), 1);
        assert_eq!(work(&mut all, &mut cache, &[delta("one\n\n")]), 2);
        // Only the blank rows and the new text of the answer are laid out.
        assert_eq!(work(&mut all, &mut cache, &[delta("two\n\nthree ")]), 5);
        // An unfinished line is laid out together with the paragraph above it.
        assert_eq!(work(&mut all, &mut cache, &[delta("more")]), 5);
        assert_eq!(work(&mut all, &mut cache, &[delta("\n\nlast")]), 7);
        assert_eq!(work(&mut all, &mut cache, &[delta(" words")]), 5);
        let before = cache.rows_laid();
        all.scroll(Scroll::PageUp, view(80, 30));
        draw(&all, &mut cache, 80, 30);
        assert!(cache.rows_laid() - before <= 30);
        // At a new width, the visible cells are laid out once.
        let before = cache.rows_laid();
        draw(&all, &mut cache, 60, 30);
        assert!(cache.rows_laid() - before <= 60);
    }
}

#[test]
fn frame_work_is_independent_of_code_length() {
    let mut all = transcript(&[delta("This is it:\n\n```rust\n")]);
    let mut cache = TranscriptCache::default();
    for n in 0..400 {
        let line = delta(&format!("let x = {n};\n"));
        let laid = work(&mut all, &mut cache, &[line]);
        assert!(laid <= 70, "{laid} rows for line {n}");
    }
    let fresh = draw(&all, &mut TranscriptCache::default(), 80, 30);
    assert_eq!(draw(&all, &mut cache, 80, 30), fresh);
}

#[test]
fn frame_work_is_independent_of_list_or_paragraph_length() {
    let lines: [fn(usize) -> String; 4] = [
        |n| format!("- item {n} with **bold** and `code`\n"),
        |n| format!("{}. item\n   - inner\n\n", n + 1),
        |n| format!("- item {n}\n\n  its second paragraph\n\n"),
        |n| format!("line {n} with **bold**, `code` and [words](https://a.b/c_d)\n"),
    ];
    for line in lines {
        let mut all = transcript(&[delta("This is it:\n\n")]);
        let mut cache = TranscriptCache::default();
        for n in 0..400 {
            let laid = work(&mut all, &mut cache, &[delta(&line(n))]);
            assert!(laid <= 20, "{laid} rows for {:?}", line(n));
        }
        let fresh = draw(&all, &mut TranscriptCache::default(), 80, 30);
        assert_eq!(draw(&all, &mut cache, 80, 30), fresh);
    }
}

#[test]
fn frame_work_is_independent_of_table_length() {
    // The first rows of the table have the widest cells.
    let line = |n: usize| {
        format!(
            "| {n} | **cell {}** | `x` [words](https://a.b/c) |\n",
            999 - n
        )
    };
    let mut all = transcript(&[delta(
        "This is it:\n\n| n | what | where |\n|--:|---|---|\n",
    )]);
    let mut cache = TranscriptCache::default();
    work(
        &mut all,
        &mut cache,
        &[delta(&line(999)), delta(&line(998))],
    );
    for n in 0..400 {
        // The text arrives in small chunks, so that open markup makes a cell wider for a moment.
        let row = line(n);
        let (begin, end) = row.split_at(14);
        let laid =
            work(&mut all, &mut cache, &[delta(begin)]) + work(&mut all, &mut cache, &[delta(end)]);
        assert!(laid <= 60, "{laid} rows for {:?}", line(n));
    }
    let fresh = draw(&all, &mut TranscriptCache::default(), 80, 30);
    assert_eq!(draw(&all, &mut cache, 80, 30), fresh);
}

#[test]
fn growing_table_is_redrawn_at_most_once_per_column() {
    let mut all = transcript(&[delta("| n | what |\n|--:|---|\n")]);
    let mut cache = TranscriptCache::default();
    let (rows, mut laid) = (300, 0);
    for n in 0..rows {
        let wide = "x".repeat(n);
        laid += work(
            &mut all,
            &mut cache,
            &[delta(&format!("| {n} | {wide} |\n"))],
        );
        if n % 40 == 0 {
            let fresh = draw(&all, &mut TranscriptCache::default(), 80, 30);
            assert_eq!(draw(&all, &mut cache, 80, 30), fresh, "{n}");
        }
    }
    // If the whole table were laid out again for each row, this would be more than 130,000 rows.
    assert!(laid < 35_000, "{laid}");
}

#[test]
fn paragraph_that_becomes_heading_is_redrawn() {
    let mut all = Transcript::default();
    let mut cache = TranscriptCache::default();
    for n in 0..40 {
        work(&mut all, &mut cache, &[delta(&format!("line {n}\n"))]);
    }
    // The line `--` can still become a part of a heading, of a table or of a word, and is not drawn before that is known.
    assert!(work(&mut all, &mut cache, &[delta("--")]) >= 40);
    let shown = screen(&all, 80, 60);
    assert!(shown.starts_with("line 0\n") && !shown.contains("--"));
    work(&mut all, &mut cache, &[delta(" no")]);
    assert!(screen(&all, 80, 60).starts_with("line 0\n"));
    assert!(work(&mut all, &mut cache, &[delta("\n---\n")]) >= 40);
    assert!(screen(&all, 80, 60).starts_with("## line 0\n"));
    let fresh = draw(&all, &mut TranscriptCache::default(), 80, 30);
    assert_eq!(draw(&all, &mut cache, 80, 30), fresh);
}

#[test]
fn five_megabytes_and_long_lines_are_drawn() {
    let much = many(400_000, |n| format!("line {n}\n"));
    let long = "x".repeat(200 * 1024);
    let mut all = transcript(&[
        said(&long),
        prompt_event(&long),
        tool_start_event("1", "bash", &long),
    ]);
    for chunk in much.as_bytes().chunks(64 * 1024) {
        let chunk = String::from_utf8_lossy(chunk).into_owned();
        apply_all(&mut all, &[output("1", &chunk)]);
    }
    assert!(screen(&all, 80, 20).contains("line 399999"));
    apply_all(&mut all, &[tool_end_event("1", Outcome::Ok, &much, "")]);
    all.toggle_selected();
    all.scroll(Scroll::LineUp, view(80, 300));
    let shown = screen(&all, 80, 300);
    for words in ["line 0\n", "lines not shown …", "line 399998\n"] {
        assert!(shown.contains(words), "{words} in {shown}");
    }
    apply_all(&mut all, &[tool_start_event("2", "bash", "long")]);
    apply_all(
        &mut all,
        &[tool_end_event("2", Outcome::Error, &long, &long)],
    );
    all.select_next();
    all.toggle_selected();
    assert!(screen(&all, 80, 300).contains("rows not shown …"));
}

#[test]
fn very_long_answer_is_cut_with_a_mark() {
    let mut streamed = Transcript::default();
    let part = "some words of an answer that does not end\n\n".repeat(50);
    for _ in 0..500 {
        apply_all(&mut streamed, &[delta(&part)]);
    }
    streamed.scroll(Scroll::LineUp, view(60, 10));
    let shown = screen(&streamed, 60, 10);
    assert!(shown.contains("some words"));
    let whole = transcript(&[said(&part.repeat(500))]);
    let text = |t: &Transcript| t.log.cell(0).kind.text();
    assert_eq!(text(&streamed), text(&whole));
    assert!(text(&whole).len() < 257 * 1024 && text(&whole).contains("bytes cut here"));
}

#[test]
fn any_view_size_can_be_drawn() {
    let mut all = transcript(&[
        prompt_event("中文 👍"),
        answer_event(
            "hm",
            "# A\n\n| a | b |\n|---|---|\n| 中 | 2 |\n\n- x\n  - y",
        ),
        tool_start_event("1", "bash", "ls"),
        tool_end_event("1", Outcome::Error, "why\n[exit code 2]", "+a\n-b"),
    ]);
    all.toggle_selected();
    for columns in 0..30 {
        for rows in [0, 1, 2, 7] {
            draw(&all, &mut TranscriptCache::default(), columns, rows);
            for step in [Scroll::LineUp, Scroll::PageDown, Scroll::Top] {
                all.scroll(step, view(columns, rows));
            }
            all.reveal_selected(view(columns, rows));
        }
    }
    // Of an area that is partly outside the buffer, only the part inside is drawn.
    let mut buffer = Buffer::empty(Rect::new(0, 0, 10, 3));
    let area = Rect::new(5, 1, 20, 20);
    all.view(
        &mut TranscriptCache::default(),
        &Theme::default(),
        area,
        &mut buffer,
    );
}

fn event() -> impl Strategy<Value = EventKind> {
    let words = "[a-z *`#|>\n中👍-]{0,30}";
    let call = "[ab]";
    prop_oneof![
        words.prop_map(|t| delta(&t)),
        words.prop_map(|t| thinking_delta(&t)),
        words.prop_map(|t| said(&t)),
        "[ab]{2}\n\n[ab]{2}\n".prop_map(|t| said(&t)),
        "[ab]{2}\n\n[ab]{2}\n".prop_map(|t| delta(&t)),
        (words, words).prop_map(|(a, b)| answer_event(&a, &b)),
        Just(reset()),
        words.prop_map(|t| injected_message(&t)),
        words.prop_map(|t| prompt_event(&t)),
        words.prop_map(|t| notice(NoticeLevel::Warn, &t)),
        (call, words).prop_map(|(c, t)| tool_start_event(&c, "bash", &t)),
        (call, words).prop_map(|(c, t)| output(&c, &t)),
        (call, words).prop_map(|(c, t)| tool_end_event(&c, Outcome::Error, &t, "")),
        (call, words).prop_map(|(c, t)| tool_end_event(&c, Outcome::Ok, &t, "+x\n")),
        Just(turn_end_event(TurnEnd::Interrupted)),
    ]
}

#[derive(Debug, Clone)]
enum Step {
    Event(Box<EventKind>),
    Scroll(Scroll),
    Select,
    Toggle,
}

fn step() -> impl Strategy<Value = Step> {
    let scroll = proptest::sample::select(vec![
        Scroll::LineUp,
        Scroll::LineDown,
        Scroll::HalfUp,
        Scroll::PageDown,
        Scroll::Top,
        Scroll::Bottom,
    ]);
    prop_oneof![
        6 => event().prop_map(|e| Step::Event(Box::new(e))),
        2 => scroll.prop_map(Step::Scroll),
        1 => Just(Step::Select),
        1 => Just(Step::Toggle),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    /// In whatever order events, scrolling, selecting and folding happen, dropping the cache does not change the
    /// screen.
    #[test]
    fn dropping_the_cache_does_not_change_the_screen(steps in proptest::collection::vec(step(), 1..40)) {
        let mut all = Transcript::default();
        let mut cache = TranscriptCache::default();
        for (n, step) in steps.iter().enumerate() {
            let size = if n % 7 == 6 { (17, 5) } else { (24, 8) };
            match step {
                Step::Event(event) => apply(&mut all, event),
                Step::Scroll(by) => all.scroll(*by, view(size.0, size.1)),
                Step::Select => all.select_prev(),
                Step::Toggle => {
                    all.toggle_selected();
                    all.reveal_selected(view(size.0, size.1));
                }
            }
            let cached = draw(&all, &mut cache, size.0, size.1);
            let fresh = draw(&all, &mut TranscriptCache::default(), size.0, size.1);
            prop_assert_eq!(cached, fresh);
        }
    }

    /// While the view keeps a row at its top, new content below does not move the view.
    #[test]
    fn anchored_row_stays(
        before in proptest::collection::vec(event(), 10..30),
        after in proptest::collection::vec("[a-z *\n]{0,30}", 1..20),
    ) {
        let mut all = Transcript::default();
        apply_all(&mut all, &before);
        apply_all(&mut all, &[turn_end_event(TurnEnd::Interrupted)]);
        all.scroll(Scroll::Top, view(24, 6));
        prop_assume!(!all.is_following());
        let shown = screen(&all, 24, 6);
        for text in &after {
            apply_all(&mut all, &[delta(text), injected_message(text), prompt_event(text)]);
            prop_assert_eq!(&screen(&all, 24, 6), &shown);
        }
    }
}

#[test]
fn cleared_conversation_does_not_reuse_cell_numbers() {
    let mut transcript = transcript(&[prompt_event("one"), prompt_event("two")]);
    let next = transcript.log.next();
    let path = String::from(".transcripts/s1-lead.whole-1.jsonl");
    transcript.apply(&AgentEvent::Cleared { transcript: path });
    // Layouts are cached by cell number, so a number must not be used again.
    assert_eq!(transcript.log.number(0), next);
    assert_eq!(
        (transcript.log.len(), transcript.log.cell(0).entries),
        (1, 0)
    );
    assert!(transcript.ends_with("s1-lead.whole-1.jsonl"));
}
