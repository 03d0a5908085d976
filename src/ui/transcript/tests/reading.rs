//! Tests of scrolling: the rows that the user reads stay where they are.

use pretty_assertions::assert_eq;

use crate::ui::transcript::tests::*;

fn numbered_transcript(count: usize) -> Transcript {
    let events: Vec<EventKind> = (0..count)
        .map(|n| injected_message(&format!("{n}")))
        .collect();
    transcript(&events)
}

fn first_row(transcript: &Transcript, columns: u16, rows: u16) -> String {
    screen(transcript, columns, rows)
        .lines()
        .next()
        .unwrap()
        .to_string()
}

#[test]
fn scrolling_moves_by_rows() {
    use Scroll::*;
    let cases: [(&[Scroll], usize, bool); 14] = [
        (&[], 20, true),
        (&[LineUp], 19, false),
        (&[LineUp, LineDown], 20, true),
        (&[LineUp, LineUp, LineDown], 19, false),
        (&[HalfUp], 15, false),
        (&[PageUp], 11, false),
        (&[PageUp, PageDown], 20, true),
        (&[PageUp, PageUp], 2, false),
        (&[PageUp, PageUp, PageUp], 0, false),
        (&[Top], 0, false),
        (&[Top, LineUp], 0, false),
        (&[Top, LineDown, HalfDown], 6, false),
        (&[Top, PageDown, PageDown, PageDown, PageDown], 20, true),
        (&[Top, Bottom], 20, true),
    ];
    for (steps, first, follows) in cases {
        let mut all = numbered_transcript(30);
        for step in steps {
            all.scroll(*step, view(20, 10));
        }
        assert_eq!(first_row(&all, 20, 10), format!("· {first}"), "{steps:?}");
        assert_eq!(all.is_following(), follows, "{steps:?}");
    }
}

#[test]
fn short_transcript_does_not_scroll() {
    for step in [
        Scroll::LineUp,
        Scroll::PageUp,
        Scroll::Top,
        Scroll::LineDown,
    ] {
        let mut all = numbered_transcript(5);
        all.scroll(step, view(20, 10));
        assert!(all.is_following(), "{step:?}");
        let mut none = Transcript::default();
        none.scroll(step, view(20, 10));
        assert!(none.is_following(), "{step:?}");
    }
}

#[test]
fn anchored_view_does_not_move_when_content_arrives() {
    let mut all = numbered_transcript(30);
    apply_all(&mut all, &[delta("An answer that ")]);
    all.scroll(Scroll::HalfUp, view(20, 10));
    let before = screen(&all, 20, 8);
    for n in 0..20 {
        apply_all(&mut all, &[delta(&format!("goes on {n}\n\n"))]);
        assert_eq!(screen(&all, 20, 8), before);
    }
    apply_all(
        &mut all,
        &[said("It is whole"), tool_start_event("1", "bash", "ls")],
    );
    apply_all(
        &mut all,
        &[output("1", "x\ny\nz\n"), injected_message("message")],
    );
    assert_eq!(screen(&all, 20, 8), before);
}

#[test]
fn streaming_answer_does_not_move_anchored_view() {
    let mut all = Transcript::default();
    let paragraph = |n: usize| delta(&format!("paragraph {n} of some words\n\n"));
    for n in 0..20 {
        apply_all(&mut all, &[paragraph(n)]);
    }
    all.scroll(Scroll::PageUp, view(12, 10));
    let before = screen(&all, 12, 10);
    for n in 20..40 {
        apply_all(&mut all, &[paragraph(n)]);
    }
    assert_eq!(screen(&all, 12, 10), before);
    let whole = many(40, |n| format!("paragraph {n} of some words\n\n"));
    apply_all(&mut all, &[said(&whole)]);
    assert_eq!(screen(&all, 12, 10), before);
}

#[test]
fn unread_cells_are_counted_until_visible() {
    let mut all = numbered_transcript(30);
    assert_eq!(all.unread_below(), 0);
    all.scroll(Scroll::PageUp, view(20, 10));
    assert_eq!(all.unread_below(), 0);
    for n in 0..6 {
        apply_all(&mut all, &[injected_message(&format!("new {n}"))]);
    }
    assert_eq!(all.unread_below(), 6);
    // The first visible row is the one above the row that was the newest before, so nothing new is visible.
    all.scroll(Scroll::PageDown, view(20, 10));
    assert_eq!(all.unread_below(), 6);
    all.scroll(Scroll::LineDown, view(20, 10));
    all.scroll(Scroll::LineDown, view(20, 10));
    assert_eq!(all.unread_below(), 4);
    all.scroll(Scroll::LineUp, view(20, 10));
    assert_eq!(all.unread_below(), 4);
    all.scroll(Scroll::Bottom, view(20, 10));
    assert_eq!(all.unread_below(), 0);
}

#[test]
fn resize_keeps_visible_text() {
    let words = many(400, |n| format!("word{n} "));
    let mut all = transcript(&[prompt_event("go"), said(&words), said("end")]);
    all.scroll(Scroll::Top, view(40, 10));
    for _ in 0..4 {
        all.scroll(Scroll::PageDown, view(40, 10));
    }
    let at_40 = first_row(&all, 40, 10);
    let first = at_40.split(' ').next().unwrap();
    for columns in [8, 13, 20, 39, 41, 80, 200] {
        let row = first_row(&all, columns, 10);
        assert!(
            row.split(' ').any(|w| w == first),
            "{columns}: {first} in {row}"
        );
    }
    assert_eq!(first_row(&all, 40, 10), at_40);
    // Scrolling continues from this row at the new width.
    all.scroll(Scroll::LineDown, view(20, 10));
    all.scroll(Scroll::LineUp, view(20, 10));
    assert!(first_row(&all, 20, 10).split(' ').any(|w| w == first));
}

#[test]
fn taller_view_is_filled() {
    let mut all = numbered_transcript(30);
    all.scroll(Scroll::LineUp, view(20, 10));
    assert_eq!(first_row(&all, 20, 10), "· 19");
    assert_eq!(first_row(&all, 20, 25), "· 5");
    assert_eq!(first_row(&all, 20, 50), "· 0");
}

#[test]
fn selected_cell_is_scrolled_into_view() {
    let mut all = Transcript::default();
    for n in 0..10 {
        let call = n.to_string();
        apply_all(&mut all, &[tool_start_event(&call, "bash", &call)]);
        let long = format!("{call}\n").repeat(20);
        apply_all(&mut all, &[tool_end_event(&call, Outcome::Ok, &long, "")]);
    }
    let small = view(30, 4);
    for n in (0..10).rev() {
        all.select_prev();
        all.reveal_selected(small);
        assert!(screen(&all, 30, 4).contains(&format!("bash {n} ")), "{n}");
    }
    assert!(!all.is_following());
    for n in 1..10 {
        all.select_next();
        all.reveal_selected(small);
        assert!(screen(&all, 30, 4).contains(&format!("bash {n} ")), "{n}");
    }
    assert!(all.is_following());
    // When the cell is open, its first row is at the top. When it is folded again, the view is as before.
    all.toggle_selected();
    all.reveal_selected(small);
    assert_eq!(first_row(&all, 30, 4), "✓ bash 9 · 20 lines");
    assert!(!all.is_following());
    all.toggle_selected();
    all.reveal_selected(small);
    assert!(all.is_following());
}

#[test]
fn anchored_answer_may_be_removed() {
    let mut all = numbered_transcript(3);
    let long = many(50, |n| format!("{n}\n\n"));
    apply_all(&mut all, &[delta(&long)]);
    all.scroll(Scroll::PageUp, view(20, 10));
    apply_all(&mut all, &[reset()]);
    assert_eq!(first_row(&all, 20, 10), "· 0");
    apply_all(&mut all, &[delta("new")]);
    assert!(screen(&all, 20, 10).contains("new"));
    all.scroll(Scroll::LineDown, view(20, 10));
    assert!(all.is_following());
}
