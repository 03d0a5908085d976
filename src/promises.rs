//! What crewdeck promises and how it is tested: each promise, what keeps it, the tests that would fail without it.
//!
//! A test is named by its file and function; `tests/architecture.rs` checks that each of them exists. All of them run
//! in `cargo test`, or one file alone: `cargo test --test race`, `cargo test --lib store::inbox`. What takes longer has
//! a command of its own, at the end of this page.
//!
//! # 1. No letter is lost, none is acted on twice
//!
//! An inbox is an append log; a reader has a cursor in it. A letter is acknowledged (the cursor moves) when the
//! conversation that holds it is on disk, and that line of the conversation says how far the inbox was read: after a
//! crash between the two, the line wins. Writers that take no lock append whole lines; a torn line waits, a bad one is
//! set aside and blocks nothing.
//!
//! - `tests/race.rs::writers_without_a_lock_lose_no_letter`: 16,000 letters from 8 processes
//! - `tests/lasting.rs::a_letter_that_no_log_holds_is_not_acknowledged`
//! - `tests/lasting.rs::what_could_not_be_saved_is_saved_later_and_its_letters_wait_till_then`
//! - `src/store/inbox.rs::growing_in_any_steps_each_letter_comes_once`
//! - `src/store/inbox.rs::a_bad_line_blocks_nothing_and_what_is_glued_behind_it_is_saved`
//!
//! # 2. No task has two owners
//!
//! A claim is decided under the board's lock, after a fresh look at every file that it depends on. Numbers come from a
//! counter that only goes up.
//!
//! - `tests/race.rs::eight_processes_claim_and_no_task_has_two_owners`
//! - `tests/race.rs::one_name_in_many_processes_never_has_two_open_tasks`
//! - `tests/race.rs::two_blockers_that_are_completed_at_once_free_the_join`
//! - `tests/cli.rs::numbers_are_never_used_again`
//!
//! # 3. No file is ever half written
//!
//! Temporary file, fsync, rename, fsync of the folder ([`crate::store::atomic`]); append logs end a torn line before
//! they go on. What is damaged all the same is set aside under a new name, with a notice.
//!
//! - `tests/race.rs::a_process_that_is_killed_while_it_saves_leaves_whole_files`
//! - `src/store/transcript.rs::a_torn_last_line_is_set_aside_at_every_length`
//! - `src/store/board/tests.rs::a_torn_file_is_told_to_who_wants_it_and_set_aside_by_the_next_reading`
//! - `tests/golden.rs::boards_of_other_programs`
//!
//! # 4. The graph stays a DAG
//!
//! Every change of the board goes through one pure function, which refuses circles, unknown numbers and blocking on
//! finished work with the reason.
//!
//! - `src/domain/graph/tests.rs::it_stays_a_dag_with_one_owner_a_task`: random changes
//! - `tests/board.rs::every_refusal_on_the_command_line_says_what_to_do_and_changes_nothing`
//! - `tests/board.rs::every_refusal_of_a_tool_says_what_to_do_and_changes_nothing`
//!
//! # 5. kill -9 loses no work
//!
//! Everything that was said is in the log of its agent before anything follows from it; what an interrupted call left
//! open is answered when the log is read back ([`crate::domain::conversation`]).
//!
//! - `tests/lasting.rs::killed_in_the_middle_of_a_tool_call_it_comes_back_and_goes_on`
//! - `tests/team.rs::a_killed_team_is_back_with_its_plan_and_its_open_request`
//! - `tests/terminal.rs::after_a_kill_the_screen_and_the_lead_are_back_where_they_stood`
//! - `tests/needs.rs::what_waits_when_crewdeck_dies_is_named_at_the_next_start`
//! - `tests/worktree_recovery.rs::a_process_that_is_killed_at_any_time_is_no_hindrance`
//!
//! # 6. A worktree with unmerged or uncommitted work is never removed
//!
//! Whether work is merged is judged by content, not by the branch's name or ancestry; what can not be judged stays.
//!
//! - `tests/worktrees.rs::dirty_and_unmerged_work_is_never_removed_unasked`
//! - `tests/worktrees.rs::squashed_and_rebased_work_counts_as_merged`
//! - `src/domain/worktree/state.rs::only_what_is_clean_and_merged_may_go`
//!
//! # 7. Every request is decided once, by someone named
//!
//! One state machine for all kinds; a decision is matched on id, kind and target under the request's lock. Nothing that
//! a branch or a repository brings along decides anything, or says who does.
//!
//! - `tests/worktrees.rs::a_branch_that_changes_the_folders_of_crewdeck_is_not_merged`
//! - `tests/cli.rs::what_comes_with_a_repository_can_not_loosen_anything`
//! - `src/domain/request.rs::it_is_decided_once_by_someone_named`
//! - `src/domain/request.rs::another_kind_or_target_or_oneself_does_not_count`
//! - `tests/needs.rs::two_who_ask_the_same_get_one_answer_with_its_comment`
//! - `tests/crew_tools.rs::a_letter_is_always_a_message_in_the_callers_own_name`
//!
//! # 8. A conversation sent to a model is always valid
//!
//! The turn machine keeps it under every order of inputs; every request that a test's server sees is checked.
//!
//! - `src/agent/turn/property_tests.rs::the_conversation_is_always_valid`
//! - `src/domain/conversation.rs::it_is_always_valid`
//! - `tests/wire.rs::messages_requests_are_valid_and_cache_their_prefix`
//!
//! # 9. Nothing unbounded
//!
//! Every buffer, queue, list and file that is read has a named bound beside it, and a cut says so.
//!
//! - `src/protocol/bus.rs::a_full_bus_drops_deltas_and_nothing_else`
//! - `src/model/sse.rs::an_endless_line_is_refused`
//! - `tests/tools.rs::the_output_of_a_command_is_bounded_with_a_mark`
//! - `tests/lasting.rs::three_hundred_turns_stay_under_the_limit_and_lose_nothing_that_matters`
//!
//! # 10. The terminal comes back
//!
//! - `tests/terminal.rs::sigterm_gives_the_terminal_back`
//! - `tests/terminal.rs::any_size_is_drawn_and_the_way_back_too`
//!
//! # 11. Bytes from outside never drive the terminal
//!
//! Text passes [`crate::domain::text::harmless`] before it reaches a terminal: control characters and what hides or
//! reorders text are shown, not obeyed.
//!
//! - `src/domain/text.rs::control_sequences_are_shown_and_not_obeyed`
//!
//! # 12. A child dies with all that it has started; children do not see API keys
//!
//! Programs of agents run below a guard ([`crate::process::guard`]), which also ends what left their group. On Linux
//! they write only where they may ([`crate::process::confine`]); what a kernel lacks for that is told at start.
//!
//! - `tests/guard.rs::what_gets_away_from_its_group_is_ended_with_its_command`
//! - `tests/guard.rs::when_crewdeck_is_killed_no_program_and_no_guard_lives_on`: by kill -9
//! - `tests/guard.rs::when_the_guard_is_killed_its_programs_are_found_and_ended`
//! - `src/process/tests.rs::the_time_out_ends_the_whole_group_and_keeps_what_was_said`: where there is no guard
//! - `tests/confinement.rs::the_state_and_what_git_runs_can_not_be_written_from_the_root`
//! - `tests/confinement.rs::a_teammate_writes_in_its_worktree_alone`
//! - `tests/worktrees.rs::no_program_of_a_repository_inside_is_started`: by crewdeck's own git
//! - `tests/confinement.rs::keys_are_not_seen_and_crewdeck_is_not_reached`
//! - `tests/held_tools.rs::keys_of_the_environment_are_in_no_command`
//! - `tests/held_tools.rs::what_destroys_is_asked_about_and_harmless_all_the_same`
//! - `src/process/environment.rs::keys_are_hidden_and_what_programs_need_is_not`
//!
//! # 13. Housekeeping costs no tokens
//!
//! - `tests/team.rs::s11_two_teammates_claim_three_tasks_and_housekeeping_costs_no_call`
//!
//! # Longer rounds
//!
//! | what | command |
//! |---|---|
//! | property tests with other and more inputs | `PROPTEST_CASES=50000 cargo test --lib` |
