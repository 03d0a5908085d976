//! No place with keys of its own is left out: each is pressed by a test in a real terminal.

use std::collections::BTreeSet;
use std::path::Path;

use crewdeck::ui::Pane;
use crewdeck::ui::keymap::{Context, TABLE};

/// The file and the test that presses the keys of a context. A new context does not compile without a line.
fn pressed(context: Context) -> (&'static str, &'static str) {
    match context {
        Context::Everywhere | Context::Reader | Context::Filter | Context::Picker => {
            ("over", "the_help_is_searched_and_the_palette_acts")
        }
        Context::FirstRun | Context::Replay => {
            ("ends", "the_first_page_and_a_recording_have_their_own_keys")
        }
        Context::Composer => ("composer", "a_message_is_written_sent_and_called_back"),
        Context::Completion => ("composer", "a_word_is_completed"),
        Context::EventLog => ("over", "the_event_log_is_filtered_and_leads_on"),
        Context::Panes => ("panes", "numbers_tab_and_zoom"),
        Context::In(Pane::Lead) | Context::Search => ("find", "words_are_found_and_copied"),
        Context::In(Pane::Todo | Pane::Inbox) => ("panes", "lists_move_by_rows"),
        Context::TaskForm => ("board", "a_task_is_written_and_changed_in_a_form"),
        Context::In(Pane::Board) => ("board", "the_board_is_turned_zoomed_moved_and_filtered"),
        Context::In(Pane::Team) | Context::Confirm => {
            ("team", "a_teammate_is_looked_at_asked_and_ended")
        }
        Context::In(Pane::Needs) | Context::Comment | Context::CommentVerdict => {
            ("needs", "a_plan_is_looked_at_commented_and_rejected")
        }
        Context::Choices => (
            "needs",
            "a_question_takes_a_number_and_a_permission_a_reach",
        ),
        Context::Diff => ("diff", "a_diff_is_read_file_by_file"),
        Context::Costs => ("costs", "the_cost_panel_leads_to_an_agent_and_a_task"),
        Context::Peek => ("peek", "what_is_selected_is_peeked_at_and_opened"),
        Context::Jobs => ("over", "each_list_and_text_has_its_key"),
        Context::ConfirmMerge => (
            "../merging",
            "the_person_sees_what_is_not_merged_is_asked_and_can_take_it_back",
        ),
        Context::ConfirmLoss => (
            "../by_hand",
            "a_worktree_is_removed_and_what_is_lost_is_named_first",
        ),
        Context::Leave => (
            "ends",
            "an_agent_is_stopped_and_leaving_asks_while_one_works",
        ),
    }
}

#[test]
fn each_context_of_the_key_table_is_pressed_by_a_test() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/keys");
    let mut seen = BTreeSet::new();
    for line in TABLE {
        let (file, test) = pressed(line.context);
        let text = std::fs::read_to_string(folder.join(format!("{file}.rs"))).unwrap();
        let is_there = text.contains(&format!("#[test]\nfn {test}()"));
        assert!(is_there, "{:?}: {file}.rs has no test {test}", line.context);
        seen.insert(format!("{:?}", line.context));
    }
    assert!(seen.len() >= 20, "{seen:?}");
}
