//! Tests of call groups and of folded messages and answers.

use pretty_assertions::assert_eq;
use serde_json::json;

use crate::ui::keymap::direction::Way;
use crate::ui::transcript::tests::*;
use crate::ui::widgets::line_input::LineInput;

fn finished_call(tool: &str, on: &str, outcome: Outcome, said: &str) -> Vec<EventKind> {
    let call = CallId(format!("{tool} {on}"));
    vec![
        started_call(tool, on),
        AgentEvent::ToolFinished {
            call,
            tool: tool.into(),
            outcome,
            output: said.into(),
            diff: String::new(),
            took_ms: 10,
        }
        .of(bob()),
    ]
}

fn started_call(tool: &str, on: &str) -> EventKind {
    AgentEvent::ToolStarted {
        call: CallId(format!("{tool} {on}")),
        tool: tool.into(),
        on: on.into(),
        input: json!({"path": on}),
    }
    .of(bob())
}

/// Returns the events of `count` calls that read files.
fn reads(count: usize) -> Vec<EventKind> {
    let read = |n: usize| {
        finished_call(
            "read_file",
            &format!("f{n}"),
            Outcome::Ok,
            &format!("text {n}"),
        )
    };
    (1..=count).flat_map(read).collect()
}

fn lines(all: &Transcript) -> Vec<String> {
    let text = screen(all, 40, 30);
    let lines = text.lines().map(str::to_string);
    lines.filter(|line| !line.is_empty()).collect()
}

#[test]
fn three_calls_are_grouped_but_two_are_not() {
    let two = transcript(&reads(2));
    assert_eq!(
        lines(&two),
        ["✓ read_file f1 · text 1", "✓ read_file f2 · text 2"]
    );
    let mut all = transcript(&reads(3));
    assert_eq!(lines(&all), ["✓ read_file × 3 · f1 … f3"]);
    apply_all(&mut all, &[started_call("read_file", "f4")]);
    assert_eq!(lines(&all), ["◐ read_file × 4 · f1 … f4 · 1 running"]);
    // A call of another tool, an answer and a notice each end a group.
    apply_all(&mut all, &finished_call("glob", "*.rs", Outcome::Ok, "a"));
    apply_all(&mut all, &reads(2));
    apply_all(&mut all, &[said("I see."), notice(NoticeLevel::Info, "so")]);
    apply_all(&mut all, &reads(3));
    let expected = [
        "◐ read_file × 4 · f1 … f4 · 1 running",
        "✓ glob *.rs · a",
        "✓ read_file f1 · text 1",
        "✓ read_file f2 · text 2",
        "I see.",
        "· so",
        "✓ read_file × 3 · f1 … f3",
    ];
    assert_eq!(lines(&all), expected);
}

#[test]
fn commands_and_edits_are_not_grouped() {
    for tool in ["bash", "edit_file", "write_file", "task", "background_run"] {
        let calls = (1..=4).flat_map(|n| finished_call(tool, &n.to_string(), Outcome::Ok, ""));
        let all = transcript(&calls.collect::<Vec<_>>());
        assert_eq!(lines(&all).len(), 4, "{tool}");
    }
}

#[test]
fn group_header_shows_failures() {
    let mut calls = reads(3);
    calls.extend(finished_call(
        "read_file",
        "f9",
        Outcome::Error,
        "Error: no such file f9",
    ));
    calls.extend(finished_call(
        "read_file",
        "f8",
        Outcome::Error,
        "Error: no such file f8",
    ));
    let mut all = transcript(&calls);
    let expected = [
        "✗ read_file × 5 · f1 … f8 · 2 failed",
        "  Error: no such file f9",
    ];
    assert_eq!(lines(&all), expected);
    apply_all(
        &mut all,
        &[
            started_call("read_file", "f7"),
            turn_end_event(crate::protocol::event::TurnEnd::Done),
        ],
    );
    assert!(screen(&all, 70, 9).contains("2 failed · 1 not finished"));
}

#[test]
fn group_and_its_calls_open_and_fold() {
    let mut all = transcript(&reads(3));
    all.toggle_selected();
    let open = [
        "✓ read_file × 3 · expanded",
        "✓ read_file f1 · text 1",
        "✓ read_file f2 · text 2",
        "✓ read_file f3 · text 3",
    ];
    assert_eq!(lines(&all), open);
    all.select_next();
    all.select_next();
    all.toggle_selected();
    assert_eq!(lines(&all)[3..5], ["  path  f2", "  text 2"]);
    all.select_prev();
    all.select_prev();
    all.toggle_selected();
    assert_eq!(lines(&all), ["✓ read_file × 3 · f1 … f3"]);
    // A call that its group hides cannot be selected.
    all.select_next();
    all.select_prev();
    assert_eq!(
        selected_cell_text(&all).unwrap(),
        "read_file f1\npath: f1\ntext 1\n\nread_file f2\npath: f2\ntext 2\n\nread_file f3\npath: f3\ntext 3"
    );
    let whole = all.portion_text(&Portion::Whole).unwrap();
    assert_eq!(whole.matches("read_file").count(), 3, "{whole}");
    all.toggle_at(0, view(40, 30));
    assert_eq!(
        lines(&all),
        [
            "✓ read_file × 3 · expanded",
            open[1],
            "✓ read_file f2 · text 2",
            "  path  f2",
            "  text 2",
            open[3]
        ]
    );
}

#[test]
fn open_or_selected_call_keeps_its_group_open() {
    for open in [true, false] {
        let mut all = transcript(&reads(2));
        all.select_prev();
        if open {
            all.toggle_selected();
            all.scroll(Scroll::Bottom, view(40, 30));
        }
        apply_all(&mut all, &reads(1));
        assert_eq!(lines(&all)[0], "✓ read_file × 3 · expanded");
    }
}

#[test]
fn search_opens_group_for_match_and_folds_it_after() {
    let mut all = transcript(&reads(4));
    apply_all(&mut all, &[said("text beside")]);
    all.begin_search();
    let view = view(40, 30);
    all.edit_search(|line: &mut LineInput| line.insert("text 3"), view);
    assert_eq!(all.match_position(), (1, 1));
    assert!(lines(&all)[0].ends_with("expanded"));
    all.edit_search(|line: &mut LineInput| *line = LineInput::default(), view);
    assert_eq!(lines(&all)[0], "✓ read_file × 4 · f1 … f4");
    all.edit_search(|line: &mut LineInput| line.insert("text"), view);
    all.finish_search_input();
    for nth in 2..=5 {
        all.next_match(Way::Forward, view);
        assert_eq!(all.match_position(), (nth, 5));
    }
    assert_eq!(lines(&all)[0], "✓ read_file × 4 · f1 … f4");
}

#[test]
fn large_folded_group_is_cheap_and_counts_every_call() {
    let mut all = transcript(&[prompt_event("Read it all.")]);
    apply_all(&mut all, &reads(30));
    all.scroll(Scroll::Top, view(40, 5));
    all.toggle_selected();
    all.scroll(Scroll::Top, view(40, 5));
    apply_all(&mut all, &reads(4_000));
    // The header of a group does not count as an entry.
    assert_eq!(all.unread_below(), 4_000);
    all.scroll(Scroll::Bottom, view(40, 5));
    all.scroll(Scroll::LineUp, view(40, 5));
    all.toggle_selected();
    all.select_prev();
    let mut cache = TranscriptCache::default();
    draw(&all, &mut cache, 40, 9);
    assert!(cache.rows_laid() < 30, "{}", cache.rows_laid());
}

#[test]
fn grouping_visible_calls_keeps_scroll_position() {
    let mut all = Transcript::default();
    apply_all(
        &mut all,
        &(0..40)
            .map(|n| said(&format!("word {n}")))
            .collect::<Vec<_>>(),
    );
    apply_all(&mut all, &reads(2));
    all.scroll(Scroll::LineUp, view(40, 10));
    apply_all(&mut all, &reads(1));
    let text = screen(&all, 40, 10);
    assert!(
        text.contains("word 36") && text.contains("✓ read_file × 3 · f1 … f1"),
        "{text}"
    );
    // From this position, all rows above and below can be reached by scrolling.
    for _ in 0..100 {
        all.scroll(Scroll::LineUp, view(40, 10));
    }
    assert!(screen(&all, 40, 10).starts_with("word 0\n"));
    for _ in 0..100 {
        all.scroll(Scroll::LineDown, view(40, 10));
    }
    assert!(all.is_following());
}

mod properties {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// A transcript that is drawn after each step looks like one that is drawn once. Scrolling down from the top
        /// visits every row that a high view shows.
        #[test]
        fn scrolling_down_visits_every_row(steps in proptest::collection::vec((0..8u8, 1..5usize), 1..14), rows in 3..9u16) {
            let mut all = Transcript::default();
            for (what, count) in steps {
                match what {
                    0 => apply_all(&mut all, &[said("words")]),
                    1 => apply_all(&mut all, &finished_call("glob", "g", Outcome::Error, "no")),
                    2 => { all.select_prev(); all.toggle_selected(); }
                    3 => (0..count).for_each(|_| all.select_prev()),
                    4 => apply_all(&mut all, &[started_call("glob", "late")]),
                    5 => all.shrink(count * 1_000),
                    _ => apply_all(&mut all, &reads(count)),
                }
            }
            let tall = screen(&all, 40, 300);
            let tall: Vec<&str> = tall.lines().map(str::trim_end).collect();
            let last = tall.iter().rposition(|l| !l.is_empty()).map_or(0, |at| at + 1);
            let mut passed: Vec<String> = Vec::new();
            all.scroll(Scroll::Top, view(40, rows));
            for _ in 0..400 {
                let now = screen(&all, 40, rows);
                passed.push(now.lines().next().unwrap_or_default().to_string());
                if all.is_following() {
                    passed.extend(now.lines().skip(1).map(str::to_string));
                    break;
                }
                all.scroll(Scroll::LineDown, view(40, rows));
            }
            while passed.last().is_some_and(String::is_empty) { passed.pop(); }
            prop_assert_eq!(passed, tall[..last].to_vec());
        }
    }
}

#[test]
fn message_unfolds_in_place() {
    let text = "I finished the parser.\n\nThe second paragraph of it says what is left: the needle, and more words than fit.";
    let mut all = transcript(&[
        delta("before"),
        message("message from alice", text),
        message("letter from bob", "of an older version"),
    ]);
    let folded = lines(&all);
    assert_eq!(
        folded[1..],
        [
            "✉ message from alice · I finished the p…",
            "✉ message from bob · of an older version"
        ]
    );
    all.select_prev();
    all.select_prev();
    all.toggle_selected();
    let open = lines(&all).join("\n");
    assert!(
        open.contains("  I finished the parser.") && open.contains("the needle"),
        "{open}"
    );
    assert_eq!(
        selected_cell_text(&all).unwrap(),
        format!("message from alice\n{text}")
    );
    all.toggle_selected();
    assert_eq!(lines(&all), folded);
}

#[test]
fn search_finds_text_in_folded_message() {
    let mut all = transcript(&[message("message from alice", "one\ntwo\nthe needle")]);
    all.begin_search();
    all.edit_search(|line: &mut LineInput| line.insert("needle"), view(40, 30));
    assert_eq!(all.match_position(), (1, 1));
    let open = lines(&all).join("\n");
    assert!(open.contains("the needle"), "{open}");
}

#[test]
fn search_counts_every_line_that_an_open_message_shows() {
    for (lines, shown) in [(900, 900), (1500, 1000)] {
        let lines_of_text: Vec<String> = (0..lines).map(|n| format!("needle {n}")).collect();
        let text = lines_of_text.join("\n") + "\n";
        let mut all = transcript(&[message("message from alice", &text)]);
        all.begin_search();
        all.edit_search(|line: &mut LineInput| line.insert("needle"), view(40, 30));
        assert_eq!(all.match_position().1, shown);
    }
}

#[test]
fn omitted_entries_of_a_copied_conversation_are_counted_without_headers() {
    let mut events = vec![
        message("message from alice", "old"),
        message("message from bob", "old"),
    ];
    events.extend(reads(4));
    events.push(message("message from carol", &"x".repeat(200_000)));
    let mut all = transcript(&events);
    for _ in 0..5 {
        apply_all(
            &mut all,
            &[message("message from dan", &"y".repeat(200_000))],
        );
    }
    let whole = all.portion_text(&Portion::Whole).unwrap();
    let first = whole.lines().next().unwrap();
    // Two messages, four calls and the message of carol; the header of the calls is no entry.
    assert_eq!(first, "[… 7 older entries omitted …]");
}

/// Returns the events of a question that the user has answered with `answer`.
fn question_events(answer: &str) -> Vec<EventKind> {
    let question = "Which database shall the service use, given that it has one writer?";
    let call = CallId("ask".into());
    vec![
        AgentEvent::ToolStarted {
            call: call.clone(),
            tool: "ask_user".into(),
            on: question.into(),
            input: json!({"question": question}),
        }
        .of(bob()),
        AgentEvent::ToolFinished {
            call,
            tool: "ask_user".into(),
            outcome: Outcome::Ok,
            output: answer.into(),
            diff: String::new(),
            took_ms: 10,
        }
        .of(bob()),
    ]
}

#[test]
fn users_answer_is_shown_in_full_below_question() {
    let answer = "SQLite is simpler: one file, no server, and the one writer is all that we need.";
    let mut all = transcript(&question_events(&format!("The user answers: {answer}")));
    let rows = lines(&all);
    assert!(rows[0].starts_with("✓ ask_user Which database"), "{rows:?}");
    let words: Vec<&str> = rows[1..]
        .iter()
        .flat_map(|r| r.split_whitespace())
        .collect();
    assert_eq!(words.join(" "), format!("› {answer}"));
    all.select_prev();
    all.toggle_selected();
    let open = lines(&all);
    let words: Vec<&str> = open[1..]
        .iter()
        .flat_map(|r| r.split_whitespace())
        .collect();
    let words = words.join(" ");
    assert!(words.contains("given that it has one writer?"), "{words}");
    assert!(words.ends_with(&format!("› {answer}")), "{words}");
}

#[test]
fn notice_that_repeats_the_error_of_a_call_is_dropped_when_the_call_ends() {
    let error = "wt/task-5 does not merge into main: conflict in a.rs.";
    let mut all = transcript(&[started_call("merge", "task-5")]);
    all.push_notice(NoticeLevel::Warn, error);
    all.push_notice(NoticeLevel::Warn, "Something else.");
    let failed = |call: &str| AgentEvent::ToolFinished {
        call: CallId(call.into()),
        tool: "merge".into(),
        outcome: Outcome::Error,
        output: format!("Error: {error}"),
        diff: String::new(),
        took_ms: 10,
    };
    all.apply(&failed("merge task-5"));
    let rows = lines(&all).join("\n");
    assert_eq!(rows.matches("does not merge").count(), 1, "{rows}");
    assert!(rows.contains("▲ Something else."), "{rows}");
    // A notice about another branch stays.
    let mut all = transcript(&[started_call("merge", "task-5")]);
    all.push_notice(NoticeLevel::Warn, "wt/task-6 does not merge into main.");
    all.apply(&failed("merge task-5"));
    let rows = lines(&all).join("\n");
    assert_eq!(rows.matches("does not merge").count(), 2, "{rows}");
}

#[test]
fn head_of_a_call_shows_the_first_line_of_a_script() {
    let rows = lines(&transcript(&finished_call(
        "bash",
        "cd src\nls",
        Outcome::Ok,
        "a.rs",
    )));
    assert!(rows[0].starts_with("✓ bash cd src …"), "{rows:?}");
}

#[test]
fn answered_questions_are_not_grouped() {
    let mut events = Vec::new();
    for _ in 0..4 {
        events.extend(question_events("The person answers: yes"));
    }
    let rows = lines(&transcript(&events));
    assert_eq!(
        rows.iter().filter(|r| r.trim() == "› yes").count(),
        4,
        "{rows:?}"
    );
}
