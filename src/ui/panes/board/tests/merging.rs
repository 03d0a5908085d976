//! Merging from the board: marks, confirmation, and messages if nothing can be merged.

use pretty_assertions::assert_eq;

use crate::domain::graph::Claimer;
use crate::domain::ids::TaskId;
use crate::domain::screen::BoardShape;
use crate::domain::timestamp::Timestamp;
use crate::domain::worktree::BranchState;
use crate::protocol::Command;
use crate::ui::fixture::{
    NOON, apply_branches, apply_events, board_event, busy, cells, merging_screen, name, picture,
    press, top_popup,
};
use crate::ui::model::board::index::BoardStatus;
use crate::ui::model::style;
use crate::ui::popups::task_page::TaskPage;
use crate::ui::{ColorDepth, Effect, Theme, ThemeName, UiState};

pub fn on(width: u16, height: u16, id: u64) -> UiState {
    let mut state = merging_screen(width, height);
    press(&mut state, "esc 3");
    state.panes.board.selected = Some(TaskId(id));
    state
}

fn merge(id: u64) -> Effect {
    let task = TaskId(id);
    Effect::Command(Command::Merge { task })
}

#[test]
fn merge_needs_confirmation() {
    let all = || {
        let tasks = [2, 6, 1].map(TaskId).to_vec();
        Effect::Command(Command::MergeAll { tasks })
    };
    let diff = || Effect::Command(Command::ShowDiff { task: TaskId(2) });
    for (keys, expected) in [
        ("m", vec![]),
        ("m y", vec![merge(2)]),
        ("m y y", vec![merge(2), Effect::Copy("task".into())]),
        ("m A", vec![all()]),
        ("m D", vec![diff()]),
        ("m D y", vec![diff(), merge(2)]),
        ("m enter", vec![]),
        ("m m", vec![]),
        ("m n", vec![]),
        ("m esc", vec![]),
        ("m ctrl+c", vec![]),
        ("m ctrl+c ctrl+c ctrl+c", vec![Effect::Quit]),
    ] {
        let mut state = on(160, 45, 2);
        let done = press(&mut state, keys).into_iter();
        let done: Vec<Effect> = done
            .map(|d| match d {
                Effect::Copy(_) => Effect::Copy("task".into()),
                other => other,
            })
            .collect();
        assert_eq!(done, expected, "{keys}");
        let asks = top_popup(&state) == "MergeTask";
        assert_eq!(
            asks,
            ["m", "m D", "m enter", "m m"].contains(&keys),
            "{keys}"
        );
    }
}

#[test]
fn page_of_a_task_offers_the_actions_on_its_task() {
    // Another task is selected on the board, and a filter hides the task of the page.
    let mut state = on(160, 45, 6);
    press(&mut state, "/ \"nothing\" enter");
    crate::ui::app::popup::open(&mut state, TaskPage::pager(TaskId(2)));
    let hints = crate::ui::shell::hints::hints(&state);
    let offered = |words: &str| hints.iter().any(|h| h.words == words);
    assert!(offered("merge") && offered("diff") && !offered("complete"));
    assert!(!offered("graph or list") && !offered("add task"));
    assert_eq!(
        press(&mut state, "D"),
        [Effect::Command(Command::ShowDiff { task: TaskId(2) })]
    );
    assert_eq!(press(&mut state, "m y"), [merge(2)]);
    press(&mut state, "v");
    assert!(picture(&state).contains("works on the board, not on this page"));
}

#[test]
fn single_branch_has_no_merge_all() {
    let mut state = on(160, 45, 2);
    let gone = || BranchState::Gone;
    apply_branches(&mut state, &[("task-1", gone()), ("task-6", gone())]);
    press(&mut state, "m");
    assert!(!picture(&state).contains("A all"));
    assert_eq!(press(&mut state, "A"), []);
    assert_eq!(press(&mut state, "y"), [merge(2)]);
}

#[test]
fn unmergeable_task_explains_why_and_has_no_hint() {
    for (id, words) in [
        (2, None),
        (3, Some("#3 is already merged (commit 0123456789).")),
        (4, Some("Not merged: #4 is still in progress.")),
        (5, Some("#5 has no worktree")),
        (7, Some("Not merged: complete #8 first")),
        (8, Some("Not merged: #8 is not completed yet.")),
        (9, Some("#9 has nothing to merge")),
    ] {
        let mut state = on(160, 45, id);
        let hints = crate::ui::shell::hints::hints(&state);
        let offers = hints.iter().any(|h| h.words == "merge");
        assert_eq!(offers, words.is_none(), "{id}");
        assert_eq!(press(&mut state, "m"), [], "{id}");
        assert_eq!(state.popups.is_empty(), words.is_some(), "{id}");
        if let Some(words) = words {
            assert!(picture(&state).contains(words), "{id}");
        }
    }
}

#[test]
fn merge_dialog_closes_when_merged_elsewhere() {
    let mut state = on(160, 45, 2);
    press(&mut state, "m");
    let into = "main".to_string();
    let commit = "99aabbcc11".to_string();
    let merged = BranchState::Merged { into, commit };
    apply_branches(&mut state, &[("task-6", merged.clone())]);
    assert!(picture(&state).contains("2 completed tasks are unmerged"));
    apply_branches(&mut state, &[("task-2", merged)]);
    assert!(state.popups.is_empty());
    assert!(picture(&state).contains("#2 is already merged (commit 99aabbcc11)."));
}

#[test]
fn unmerged_mark_has_own_shape_and_style_in_every_theme() {
    for name in ThemeName::ALL {
        for depth in [ColorDepth::True, ColorDepth::None] {
            let theme = Theme::new(name, depth);
            let state = merging_screen(160, 45);
            let cells = cells(&state, &theme);
            let marks: Vec<_> = cells.content.iter().filter(|c| c.symbol() == "⇡").collect();
            // There is one mark on each node of an unmerged completed task, and one beside the count in the title.
            assert_eq!(marks.len(), 5, "{name:?} {depth:?}");
            for cell in marks {
                let style = theme.ground.patch(theme.accent);
                assert_eq!(
                    Some(cell.fg),
                    style.fg.or(Some(cell.fg)),
                    "{name:?} {depth:?}"
                );
                assert!(
                    cell.modifier.contains(style.add_modifier),
                    "{name:?} {depth:?}"
                );
            }
        }
    }
}

#[test]
fn unmerged_count_equals_marked_tasks() {
    let marks = |state: &UiState| {
        let page = picture(state);
        let counted = (1..9).find(|n| page.contains(&format!("⇡ {n} unmerged")));
        (page.matches('⇡').count(), counted)
    };
    let mut state = merging_screen(160, 45);
    // #7 still counts: #8 resolves the conflict, but only in its own worktree.
    assert_eq!(marks(&state), (5, Some(4)));
    // #8 has merged the base branch into the branch of #7. Both tasks share this branch, which is counted and marked
    // once, at #7.
    let mut board = state.model.board.as_ref().clone();
    let claimer = Claimer {
        name: name("alice"),
        tags: vec![],
    };
    board
        .complete(TaskId(4), &claimer.name, Timestamp(NOON))
        .unwrap();
    board.claim(TaskId(8), &claimer, Timestamp(NOON)).unwrap();
    board
        .complete(TaskId(8), &claimer.name, Timestamp(NOON))
        .unwrap();
    apply_events(&mut state, vec![board_event(&board)]);
    assert_eq!(marks(&state), (6, Some(5)));
    // The branch that both tasks share can be merged from either task.
    for id in [7, 8] {
        press(&mut state, "esc 3");
        state.panes.board.selected = Some(TaskId(id));
        let hints = crate::ui::shell::hints::hints(&state);
        assert!(hints.iter().any(|h| h.words == "merge"), "{id}");
    }
}

#[test]
fn unmerged_count_follows_the_done_count() {
    let (done, _) = style::status_symbol(BoardStatus::Done, &Theme::default());
    let (mut counted, mut long) = (0, 0);
    for width in (60..=200).step_by(2) {
        let page = picture(&merging_screen(width, 45));
        let before = page.lines().find_map(|row| Some(row.split_once("⇡ 4")?.0));
        if let Some(before) = before {
            let figures = before
                .trim_end_matches([' ', ','])
                .trim_end_matches(" done");
            assert!(figures.ends_with(&format!("{done} 7/9")), "{width}: {page}");
            counted += 1;
        }
        long += usize::from(page.contains("7/9 done, ⇡ 4 unmerged"));
    }
    assert!(counted > 30 && long > 10, "{counted} {long}");
}

#[test]
fn bar_is_full_of_the_done_mark_only_if_all_is_merged() {
    let bar = |state: &UiState, mark: char| picture(state).matches(mark).count();
    let mut state = merging_screen(160, 45);
    assert!(bar(&state, '═') > 0, "{}", picture(&state));
    let merged = |id: u64| {
        let into = "main".to_string();
        (
            format!("task-{id}"),
            BranchState::Merged {
                into,
                commit: String::new(),
            },
        )
    };
    let all: Vec<_> = [1, 2, 6, 7].map(merged).into();
    let all: Vec<_> = all.iter().map(|(n, s)| (n.as_str(), s.clone())).collect();
    apply_branches(&mut state, &all);
    assert_eq!(bar(&state, '═'), 0, "{}", picture(&state));
}

#[test]
fn counts_use_the_room_that_the_tab_leaves() {
    // The tab names the board, so the frame shows only "list".
    let mut with_all = 0;
    for width in 100..140 {
        let mut state = merging_screen(width, 30);
        press(&mut state, "esc 3");
        state.panes.board.shape = BoardShape::List;
        let page = picture(&state);
        let Some(head) = page
            .lines()
            .find_map(|row| Some(row.split_once(" list ─")?.1))
        else {
            continue;
        };
        let line = head.chars().take_while(|c| *c == '─').count();
        let counts = head
            .trim_start_matches('─')
            .trim_end_matches(['╮', '─', ' ']);
        // If a count is missing, there is no room for it.
        let is_all = ["●", "○", "✓", "⇡"]
            .iter()
            .all(|mark| counts.contains(mark));
        assert!(is_all || line < 12, "{width}: {page}");
        with_all += usize::from(is_all);
    }
    assert!(with_all > 20, "{with_all}");
}

#[test]
fn similar_symbols_get_their_words_before_the_others() {
    let (mut with_words, mut with_both) = (0, 0);
    for width in (60..=200).step_by(2) {
        let mut state = busy(width, 45);
        press(&mut state, "esc 3");
        let page = picture(&state);
        let row = page.lines().find(|row| row.contains("✓ 1/5"));
        let head = row.and_then(|row| row.split_once("● 2"));
        let head = head.map_or("", |(_, head)| head);
        let has = |word: &str| head.contains(word);
        let is_named = has("○ 1 ready") && has("◌ 1 ");
        // The word "done" is shorter than "ready", so it may fit alone.
        if has(" in progress") || has(" blocked") {
            assert!(is_named, "{width}: {page}");
            with_words += 1;
        }
        with_both += usize::from(is_named && has("◌ 1 blocked"));
    }
    assert!(
        with_words > 20 && with_both > 10,
        "{with_words} {with_both}"
    );
}

#[test]
fn no_merge_text_without_worktrees() {
    let mut state = busy(160, 45);
    press(&mut state, "esc 3 enter");
    let page = picture(&state);
    assert!(!page.contains("merge") && !page.contains('⇡'), "{page}");
}

#[test]
fn unmerged_tasks_are_a_problem_when_all_idle() {
    let mut state = merging_screen(100, 30);
    press(&mut state, "esc p");
    assert!(picture(&state).contains("#1 #2 #6 are unmerged"));
}
