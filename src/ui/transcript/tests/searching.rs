//! Tests of the search and of moving between prompts.

use pretty_assertions::assert_eq;

use crate::ui::keymap::direction::Way;
use crate::ui::transcript::tests::*;
use crate::ui::widgets::line_input::LineInput;

fn search(all: &mut Transcript, words: &str, viewport: Viewport) {
    all.begin_search();
    all.edit_search(|line| line.insert(words), viewport);
    all.finish_search_input();
}

fn story() -> Transcript {
    transcript(&[
        prompt_event("Fix the parser"),
        said("I look at the **parser** first."),
        tool_start_event("1", "bash", "cat parser.rs"),
        tool_end_event("1", Outcome::Ok, "fn parse\nfn other\nparser parser", ""),
        answer_event("The Parser is\nto blame.", "Mended."),
        prompt_event("Thanks"),
    ])
}

#[test]
fn search_counts_matches_and_wraps_around() {
    let mut all = story();
    search(&mut all, "parser", view(40, 4));
    // Matches in the subject, the input, the output (two) and the thinking are counted, whether folded or not.
    assert_eq!(all.match_position(), (7, 7));
    let mut actual = Vec::new();
    for _ in 0..8 {
        let round = all.next_match(Way::Forward, view(40, 4));
        actual.push((all.match_position().0, round));
    }
    let expected: Vec<_> = [1, 2, 3, 4, 5, 6, 7, 1]
        .into_iter()
        .map(|n| {
            (
                n,
                if n == 1 {
                    MatchStep::Wrapped
                } else {
                    MatchStep::Moved
                },
            )
        })
        .collect();
    assert_eq!(actual, expected);
    assert_eq!(all.next_match(Way::Back, view(40, 4)), MatchStep::Wrapped);
    assert_eq!(all.match_position(), (7, 7));
    all.end_search();
    assert_eq!(
        (all.match_position(), all.search().is_none()),
        ((0, 0), true)
    );
}

#[test]
fn search_opens_cell_for_match_and_folds_it_after() {
    let mut all = story();
    search(&mut all, "fn other", view(40, 6));
    assert_eq!(all.match_position(), (1, 1));
    assert!(screen(&all, 40, 6).contains("fn other"));
    all.begin_search();
    let clear = |line: &mut LineInput| *line = LineInput::default();
    all.edit_search(clear, view(40, 6));
    assert!(!screen(&all, 40, 30).contains("fn other"));
    all.edit_search(|line| line.insert("TO BLAME"), view(40, 6));
    assert!(screen(&all, 40, 6).contains("to blame"));
    all.end_search();
    assert!(!screen(&all, 40, 30).contains("to blame"));
}

#[test]
fn cancelled_search_restores_scroll_position() {
    let mut events: Vec<EventKind> = (0..50).map(|n| injected_message(&format!("{n}"))).collect();
    events.insert(3, injected_message("the word"));
    let mut all = transcript(&events);
    let before = screen(&all, 20, 5);
    all.begin_search();
    all.edit_search(|line| line.insert("word"), view(20, 5));
    assert!(screen(&all, 20, 5).contains("the word"));
    all.end_search();
    assert_eq!(screen(&all, 20, 5), before);
    assert!(all.is_following() && selected_cell_text(&all).is_none());
}

#[test]
fn wrapped_matches_are_highlighted() {
    let mut all = transcript(&[said("one two three"), said("say: one two")]);
    search(&mut all, "one two", view(8, 9));
    all.next_match(Way::Forward, view(8, 9));
    insta::assert_debug_snapshot!(draw(&all, &mut TranscriptCache::default(), 8, 6));
}

#[test]
fn match_count_follows_added_and_removed_cells() {
    let mut all = story();
    search(&mut all, "needle", view(40, 9));
    assert_eq!(all.match_position(), (0, 0));
    apply_all(&mut all, &[delta("a nee")]);
    assert_eq!(all.match_position().1, 0);
    apply_all(&mut all, &[delta("dle")]);
    assert_eq!(all.match_position().1, 1);
    apply_all(&mut all, &[reset()]);
    assert_eq!(all.match_position().1, 0);
    let many: Vec<EventKind> = (0..CELLS_MAX + 5)
        .map(|_| injected_message("needle"))
        .collect();
    apply_all(&mut all, &many);
    assert_eq!(all.match_position().1, CELLS_MAX);
}

#[test]
fn search_in_10000_cells_lays_out_only_visible_ones() {
    let events: Vec<EventKind> = (0..CELLS_MAX)
        .map(|n| said(&format!("# Answer {n}\n\nwith *words* {}", n % 100)))
        .collect();
    let mut all = transcript(&events);
    search(&mut all, "answer 17", view(40, 20));
    assert_eq!(all.match_position().1, 1 + 10 + 100);
    for _ in 0..20 {
        all.next_match(Way::Back, view(40, 20));
    }
    assert!(all.scratch.len() < 600, "{}", all.scratch.len());
}

#[test]
fn matches_in_omitted_lines_are_not_counted() {
    let lines: String = many(1000, |n| format!("line {n}\n"));
    let mut all = transcript(&[
        tool_start_event("1", "bash", "x"),
        tool_end_event("1", Outcome::Ok, &lines, ""),
    ]);
    for (words, count) in [
        ("line 99\n", 1),
        ("line 500", 0),
        ("line 950", 1),
        ("line", 200),
    ] {
        search(&mut all, "", view(40, 9));
        all.begin_search();
        all.edit_search(|line| *line = LineInput::default(), view(40, 9));
        all.edit_search(|line| line.insert(words.trim_end()), view(40, 9));
        assert!(
            all.match_position().1 >= count && (count > 0 || all.match_position().1 == 0),
            "{words}"
        );
    }
    assert_eq!(all.match_position().1, 200);
}

#[test]
fn jumps_between_prompts() {
    let mut events = Vec::new();
    for n in 0..5 {
        events.push(prompt_event(&format!("prompt {n}")));
        events.extend((0..20).map(|i| injected_message(&format!("{n}.{i}"))));
    }
    let mut all = transcript(&events);
    let first = |all: &Transcript| screen(all, 20, 6).lines().next().unwrap().to_string();
    for n in (0..5).rev() {
        assert!(all.go_to_prompt(Way::Back, view(20, 6)));
        assert_eq!(first(&all), format!("› prompt {n}"));
    }
    assert!(!all.go_to_prompt(Way::Back, view(20, 6)));
    assert!(all.go_to_prompt(Way::Forward, view(20, 6)));
    assert_eq!(first(&all), "› prompt 1");
    assert_eq!(selected_cell_text(&all).as_deref(), Some("prompt 1"));
    all.scroll(Scroll::PageDown, view(20, 6));
    all.scroll(Scroll::PageDown, view(20, 6));
    assert!(all.go_to_prompt(Way::Back, view(20, 6)));
    assert_eq!(first(&all), "› prompt 1");
    assert!(!Transcript::default().go_to_prompt(Way::Back, view(20, 6)));
}
