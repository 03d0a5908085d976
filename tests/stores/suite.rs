//! What a store must provide to be tested, and the list of the tests.

use std::path::Path;

use crewdeck::domain::graph::{Claimer, NewTask};
use crewdeck::domain::ids::{Name, TaskId};
use crewdeck::domain::task::Task;
use crewdeck::domain::timestamp::Timestamp;
use crewdeck::store::Stores;

pub const NOW: Timestamp = Timestamp(1.0);

/// A store with empty state.
pub trait Backend: Sync {
    /// Opens the state as another process does: without a shared cache.
    fn open(&self) -> Stores;

    /// Returns the folder with the logs of conversations.
    fn root(&self) -> &Path;

    /// Stores a task with fields that only another program knows.
    fn put_task(&self, task: &Task);

    /// Stores something that cannot be read in place of a task.
    fn damage_task(&self, id: TaskId);
}

/// Declares one test for each promise, for the store that `$new` creates.
macro_rules! conformance {
    ($new:expr $(, #[$attribute:meta])*) => {
        crate::suite::conformance!(@each $new, [$(#[$attribute])*],
            board: [
                racing_claims_give_each_task_one_owner,
                racing_claims_of_one_agent_leave_it_one_task,
                racing_claims_of_one_task_have_one_winner,
                task_numbers_are_never_reused,
                blockers_that_finish_at_once_release_their_dependents,
                claim_requires_all_blockers_done_and_matching_tags,
                graph_stays_free_of_cycles,
                racing_edits_do_not_close_a_cycle,
                no_task_waits_for_a_blocker_that_finished_at_the_same_time,
                rejected_changes_leave_the_board_unchanged,
                import_adds_all_tasks_or_none,
                import_of_several_megabytes_is_one_change,
                update_since_reports_what_changed,
                damaged_task_is_reported_once_and_keeps_its_number,
                removed_task_releases_its_dependents,
                unknown_fields_of_tasks_survive_changes,
            ],
            hosts: [
                claim_of_a_host_counts_for_its_session_only,
                ended_session_cannot_act_as_owner,
                user_is_not_limited_by_claims_of_hosts,
                lost_claim_is_released_once,
                restarted_host_adopts_its_open_tasks,
                task_that_no_host_has_claimed_is_not_limited,
                messages_of_an_ended_session_are_rejected,
            ],
            mail: [
                racing_senders_lose_no_message_and_none_is_read_twice,
                messages_come_again_until_they_are_acknowledged,
                inbox_has_one_reader_at_a_time,
                messages_in_the_log_of_a_killed_reader_are_not_read_again,
                messages_behind_one_that_is_not_ready_wait,
                send_once_sends_one_message_about_a_request,
                long_inbox_is_read_in_parts,
                recent_messages_show_their_delivery_state,
                recent_messages_follow_what_others_send_and_read,
                unread_messages_are_found_in_the_given_inboxes,
                unusable_messages_are_rejected,
            ],
            people: [
                racing_approvers_decide_a_request_once,
                only_a_matching_approver_decides,
                requests_are_stored_once_with_unknown_fields,
                racing_members_all_join_up_to_the_limit,
                racing_members_of_one_name_join_once,
                racing_changes_of_members_and_team_all_count,
                members_stay_in_the_order_in_which_they_joined,
                roster_changes_are_visible_to_others_at_once,
                every_kind_of_change_is_reported,
            ]
        );
    };
    (@each $new:expr, $attributes:tt, $($module:ident: [$($name:ident,)*]),*) => {
        $(mod $module {
            $(crate::suite::conformance!(@one $new, $attributes, $module, $name);)*
        })*
    };
    (@one $new:expr, [$(#[$attribute:meta])*], $module:ident, $name:ident) => {
        #[test]
        $(#[$attribute])*
        fn $name() {
            crate::$module::$name(&$new);
        }
    };
}
pub(crate) use conformance;

pub fn name(text: &str) -> Name {
    Name::party(text).unwrap()
}

pub fn claimer(text: &str) -> Claimer {
    Claimer {
        name: name(text),
        tags: Vec::new(),
    }
}

pub fn new(subject: &str, blocked_by: &[TaskId]) -> NewTask {
    NewTask {
        subject: subject.into(),
        blocked_by: blocked_by.to_vec(),
        ..NewTask::default()
    }
}

/// Runs `work` in `count` threads that start at the same time. Each gets its number and opens the state for itself.
pub fn race<T: Send>(
    backend: &dyn Backend,
    count: usize,
    work: impl Fn(usize, &Stores) -> T + Sync,
) -> Vec<T> {
    let start = std::sync::Barrier::new(count);
    let run = &|number: usize| {
        let stores = backend.open();
        // The first read is not part of the race.
        stores.board.read().unwrap();
        start.wait();
        work(number, &stores)
    };
    std::thread::scope(|threads| {
        let running: Vec<_> = (0..count).map(|n| threads.spawn(move || run(n))).collect();
        running.into_iter().map(|t| t.join().unwrap()).collect()
    })
}
