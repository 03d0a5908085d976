//! Checks that each key context is covered by a test in a real terminal.

use std::collections::BTreeSet;
use std::path::Path;

use crewdeck::ui::Pane;
use crewdeck::ui::keymap::{Context, TABLE};

/// Returns the file and the name of the test that covers the keys of a context. Without an entry for each context, this
/// does not compile.
fn test_of(context: Context) -> (&'static str, &'static str) {
    match context {
        Context::Everywhere | Context::Reader | Context::Filter | Context::Picker => {
            ("popups", "help_search_and_palette_run_actions")
        }
        Context::FirstRun | Context::Replay => {
            ("exit", "setup_page_and_replay_have_their_own_keys")
        }
        Context::Composer => ("composer", "composer_edits_sends_and_recalls_a_message"),
        Context::EmptyComposer => (
            "conventions",
            "question_mark_shows_the_keys_only_in_an_empty_composer",
        ),
        Context::Editing => ("composer", "deleted_text_returns_and_edits_are_undone"),
        Context::History => ("composer", "earlier_messages_are_searched"),
        Context::Completion => ("composer", "composer_completes_commands_and_names"),
        Context::EventLog => ("popups", "event_log_filters_and_opens_entries"),
        Context::Panes => ("panes", "numbers_tab_and_zoom_change_panes"),
        Context::In(Pane::Lead) | Context::Search => ("search", "conversation_search_and_copy"),
        Context::In(Pane::Todo | Pane::Inbox) => ("panes", "list_keys_move_by_rows"),
        Context::TaskForm => ("board", "task_form_creates_and_edits_a_task"),
        Context::In(Pane::Board) => ("board", "board_view_zoom_movement_and_filter"),
        Context::In(Pane::Team) | Context::Confirm => {
            ("team", "teammate_is_viewed_nudged_and_shut_down")
        }
        Context::In(Pane::Needs) | Context::Comment | Context::CommentVerdict => {
            ("needs", "plan_is_viewed_commented_and_rejected")
        }
        Context::Choices => ("needs", "question_takes_a_choice_and_permission_a_scope"),
        Context::Diff => ("diff", "diff_view_moves_file_by_file"),
        Context::Costs => ("costs", "cost_panel_matches_in_replay_and_after_restart"),
        Context::Peek => ("peek", "peek_previews_and_opens_the_selection"),
        Context::Jobs => ("popups", "each_popup_has_its_key"),
        Context::Servers => ("slash", "doctor_cost_permissions_and_typos_have_an_answer"),
        Context::ConfirmMerge => (
            "../merging",
            "merge_asks_first_can_be_undone_and_sees_other_merges",
        ),
        Context::ConfirmLoss => (
            "../user_actions",
            "worktree_removal_names_losses_before_it_confirms",
        ),
        Context::ConfirmRewind => ("rewind", "rewind_shows_changes_and_restores_files"),
        Context::Leave => (
            "exit",
            "interrupt_stops_an_agent_and_quit_asks_while_working",
        ),
    }
}

#[test]
fn every_key_context_has_a_test() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/keys");
    let mut covered = BTreeSet::new();
    for line in TABLE {
        let (file, test) = test_of(line.context);
        let text = std::fs::read_to_string(folder.join(format!("{file}.rs"))).unwrap();
        let exists = text.contains(&format!("#[test]\nfn {test}()"));
        assert!(exists, "{:?}: {file}.rs has no test {test}", line.context);
        covered.insert(format!("{:?}", line.context));
    }
    assert!(covered.len() >= 20, "{covered:?}");
}
