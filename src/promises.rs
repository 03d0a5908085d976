//! What crewdeck promises and how it is tested: each promise, what keeps it, the tests that would fail without it.
//!
//! A test is named by its file and function; `tests/it/architecture.rs` checks that each of them exists. All of them run
//! in `cargo test`, or one file alone: `cargo test --test it race::`, `cargo test --lib store::inbox`. What takes longer has
//! a command of its own, at the end of this page.
//!
//! # 1. No letter is lost, none is acted on twice
//!
//! An inbox is an append log; a reader has a cursor in it. A letter is acknowledged (the cursor moves) when the
//! conversation that holds it is on disk, and that line of the conversation says how far the inbox was read: after a
//! crash between the two, the line wins. Writers that take no lock append whole lines; a torn line waits, a bad one is
//! set aside and blocks nothing. Who takes letters, an agent or `crewdeck mail read`, has a lock from the look to the
//! acknowledgement ([`crate::store::Reader`]) and leaves in it which log it is about to write to: the next reader looks
//! there for what a killed one had written down. An agent waits a second for another reader, and leaves its letters for
//! later then. `mail read` prints before it acknowledges: killed in between, it prints the same letters again.
//!
//! - `tests/it/race.rs::writers_without_a_lock_lose_no_letter`: 16,000 letters from 8 processes
//! - `tests/it/race.rs::readers::a_crew_and_mail_read_never_both_get_a_letter`
//! - `tests/it/race.rs::readers::a_crew_that_is_killed_while_others_read_loses_none_and_gets_none_twice`
//! - `tests/it/race.rs::readers::a_crew_does_not_hang_on_a_reader_that_does_not_end_and_reads_later`
//! - `tests/it/race.rs::readers::an_inbox_that_is_cut_while_the_crew_has_it_loses_no_letter`: as the reference's readers cut it
//! - `src/store/reader.rs::messages_in_the_log_of_a_killed_reader_are_not_read_again`
//! - `src/store/reader.rs::inbox_truncated_and_refilled_unnoticed_loses_no_message`
//! - `src/store/reader.rs::inbox_truncated_before_acknowledge_loses_no_new_message`
//! - `tests/it/crash.rs::a_crew_that_is_killed_at_any_moment_does_its_work_once`: each letter stands once in one conversation
//! - `tests/it/resume.rs::a_letter_that_stands_in_the_conversation_does_not_come_again`
//! - `tests/it/resume.rs::a_member_that_had_not_heard_its_first_words_hears_them_once`
//! - `tests/it/resources.rs::disk::a_letter_that_comes_on_a_full_disk_is_acted_on_once`
//! - `tests/it/lasting.rs::saving::a_letter_that_no_log_holds_is_not_acknowledged`
//! - `tests/it/lasting.rs::saving::what_could_not_be_saved_is_saved_later_and_its_letters_wait_till_then`
//! - `src/store/inbox.rs::growing_inbox_returns_each_message_once`
//! - `src/store/inbox.rs::bad_line_blocks_nothing_and_an_appended_message_is_kept`
//!
//! # 2. No task has two owners
//!
//! A claim is decided under the board's lock, after a fresh look at every file that it depends on. Numbers come from a
//! counter that only goes up.
//!
//! - `tests/it/race.rs::eight_processes_claim_and_no_task_has_two_owners`
//! - `tests/it/race.rs::the_person_and_a_teammate_who_claim_at_once_are_never_both_the_owner`
//! - `tests/it/by_hand.rs::a_task_is_taken_from_one_at_work_who_goes_on_with_another`: who had it does not complete it
//! - `tests/it/race.rs::one_name_in_many_processes_never_has_two_open_tasks`
//! - `tests/it/race.rs::two_blockers_that_are_completed_at_once_free_the_join`
//! - `tests/it/crash.rs::a_crew_that_is_killed_while_it_comes_back_does_its_work_once`
//! - `tests/it/cli.rs::numbers_are_never_used_again`
//!
//! # 3. No file is ever half written
//!
//! Temporary file, fsync, rename, fsync of the folder ([`crate::store::atomic`]); append logs end a torn line before
//! they go on. What is damaged all the same is set aside under a new name, with a notice.
//!
//! - `tests/it/race.rs::a_process_that_is_killed_while_it_saves_leaves_whole_files`
//! - `src/store/transcript.rs::torn_last_line_is_set_aside_at_every_length`
//! - `src/store/board/tests.rs::damaged_task_file_is_reported_and_set_aside`
//! - `tests/it/resources.rs::disk::on_a_full_disk_nothing_is_half_written_and_with_room_the_work_goes_on`
//! - `tests/it/resources.rs::files::a_task_a_roster_or_a_request_that_is_no_file_is_set_aside_and_the_rest_works`
//! - `tests/it/golden.rs::boards_of_other_programs`
//!
//! # 4. The graph stays a DAG
//!
//! Every change of the board goes through one pure function, which refuses circles, unknown numbers and blocking on
//! finished work with the reason.
//!
//! - `src/domain/graph/tests.rs::graph_stays_acyclic_with_one_owner_per_task`: random changes
//! - `tests/it/board.rs::every_refusal_on_the_command_line_says_what_to_do_and_changes_nothing`
//! - `tests/it/board.rs::every_refusal_of_a_tool_says_what_to_do_and_changes_nothing`
//!
//! # 5. kill -9 loses no work
//!
//! Everything that was said is in the log of its agent before anything follows from it; what an interrupted call left
//! open is answered when the log is read back ([`crate::domain::conversation`]). A prompt for the lead is on disk before it
//! is accepted, until the log that names it holds it ([`crate::store::PromptQueue`]).
//!
//! - `src/store/prompt_queue.rs::killed_session_keeps_prompts_missing_in_the_conversation`
//! - `tests/it/keys.rs::queued::killed_crew_answers_the_queued_message_when_it_is_resumed`
//! - `tests/it/lasting.rs::resuming::killed_in_the_middle_of_a_tool_call_it_comes_back_and_goes_on`
//! - `tests/it/team.rs::endings::a_killed_team_is_back_with_its_plan_and_its_open_request`
//! - `tests/it/terminal.rs::after_a_kill_the_screen_and_the_lead_are_back_where_they_stood`
//! - `tests/it/needs.rs::what_waits_when_crewdeck_dies_is_named_at_the_next_start`
//! - `tests/it/worktree_recovery.rs::killed::a_process_that_is_killed_at_any_time_is_no_hindrance`
//! - `tests/it/crash.rs::the_demo_that_is_killed_at_any_moment_is_gone_on_with`
//! - `tests/it/crash.rs::no_git_debris_is_left_after_the_whole_process_tree_is_killed`: locks, half-made worktrees, cut merges
//! - `tests/it/worktree_recovery.rs::debris::a_kill_before_or_after_any_change_by_git_leaves_nothing`
//! - `tests/it/worktree_recovery.rs::debris::a_merge_cut_while_it_writes_files_is_undone`
//! - `tests/it/resume.rs::a_team_at_work_is_gone_on_with_although_the_lead_only_waited`
//! - `tests/it/resume/worktrees.rs::a_conflict_that_was_solved_is_merged_after_a_restart`
//! - `tests/it/by_hand.rs::what_the_person_claimed_gets_a_worktree_and_outlives_a_kill`
//! - `tests/it/viewer.rs::when_the_first_is_killed_one_of_two_takes_over_and_finishes_the_work`
//! - `tests/it/doctor.rs::what_a_killed_crew_left_is_found_and_mended_and_its_work_stays`
//!
//! # 6. A worktree with unmerged or uncommitted work is never removed
//!
//! Whether work is merged is judged by content, not by the branch's name or ancestry; what can not be judged stays.
//! What is removed gets another name, is judged once more, and is put back or deleted; killed in between, the next look
//! does that. Who writes by the folder's name meanwhile finds none. What a program that works inside it (its current
//! directory, an open file) writes in the moment between the second look and the deletion is lost.
//!
//! - `tests/it/worktree_recovery.rs::removal::what_is_written_by_name_while_it_is_removed_is_not_lost`
//! - `tests/it/worktree_recovery.rs::removal::a_process_that_is_killed_while_it_removes_leaves_all_or_nothing`
//! - `tests/it/worktree_recovery.rs::removal::a_removal_that_was_cut_off_is_put_in_order_by_the_next_look`
//! - `tests/it/worktree_recovery.rs::debris::a_half_made_worktree_that_holds_work_is_finished`
//! - `tests/it/worktree_recovery.rs::debris::work_of_the_user_in_a_file_of_a_cut_merge_stays`
//! - `tests/it/worktree_recovery.rs::own_work::the_users_own_merge_of_the_branch_stays`
//! - `tests/it/worktree_recovery.rs::own_work::content_is_compared_byte_by_byte`
//! - `tests/it/worktree_recovery.rs::removal::a_worktree_that_can_not_be_put_away_stands_where_it_stood`
//! - `tests/it/by_hand.rs::a_worktree_is_removed_and_what_is_lost_is_named_first`: nor is more than was named
//! - `tests/it/worktrees.rs::dirty_and_unmerged_work_is_never_removed_unasked`
//! - `tests/it/worktrees.rs::merging::squashed_and_rebased_work_counts_as_merged`
//! - `tests/it/merging.rs::the_lead_hears_of_the_branches_that_the_board_counts`: one truth for both
//! - `src/domain/worktree/state.rs::removal_requires_clean_and_merged_worktree`
//! - `tests/it/doctor.rs::worktrees_and_files_that_nobody_needs_are_cleared_and_those_with_content_stay`
//!
//! # 7. Every request is decided once, by someone named
//!
//! One state machine for all kinds; a decision is matched on id, kind and target under the request's lock. Nothing that
//! a branch or a repository brings along decides anything, or says who does. What is left to a lead that does not decide
//! waits for nobody for ever: the lead is reminded three times, then a headless run ends with an error, and who asked
//! comes back with `--resume`.
//!
//! - `tests/it/team.rs::undecided::a_plan_that_the_lead_never_decides_ends_the_run_and_is_kept`
//! - `tests/it/team.rs::undecided::a_lead_that_decides_when_it_is_reminded_is_not_reminded_again`
//! - `tests/it/worktrees.rs::merging::a_branch_that_changes_the_folders_of_crewdeck_is_not_merged`
//! - `tests/it/cli.rs::project_settings_need_approval_wherever_they_come_from`
//! - `src/domain/request.rs::request_is_decided_only_once`
//! - `src/domain/request.rs::mismatched_or_own_decision_is_rejected`
//! - `tests/it/needs.rs::two_who_ask_the_same_get_one_answer_with_its_comment`
//! - `tests/it/viewer.rs::two_answers_at_once_are_one_decision`
//! - `tests/it/viewer.rs::a_shutdown_that_was_decided_before_the_crew_read_of_it_is_carried_out`
//! - `tests/it/resume.rs::a_decision_that_was_not_told_is_told_once`
//! - `tests/it/resume.rs::a_request_that_had_not_reached_its_decider_reaches_it`
//! - `tests/it/confinement.rs::a_teammate_writes_in_its_worktree_alone`: nor can it write a decision into the files
//! - `tests/it/crew_tools.rs::a_letter_is_always_a_message_in_the_callers_own_name`
//!
//! # 8. A conversation sent to a model is always valid
//!
//! The turn machine keeps it under every order of inputs; every request that a test's server sees is checked.
//!
//! - `src/agent/turn/property_tests.rs::conversation_is_always_valid`
//! - `src/domain/conversation.rs::rebuilt_conversation_is_always_valid`
//! - `tests/it/wire.rs::messages_requests_are_valid_and_cache_their_prefix`
//! - `tests/it/chaos.rs::the_work_ends_whatever_messages_come_to`: a server that fails at three calls of ten checks all of them
//! - `tests/it/chaos.rs::the_work_ends_whatever_chat_completions_come_to`
//! - `src/model/governor/property_tests.rs::no_call_starts_early_and_one_probe_goes_first`
//!
//! # 9. Nothing unbounded
//!
//! Every buffer, queue, list and file that is read has a named bound beside it, and a cut says so.
//!
//! - `src/protocol/bus.rs::full_bus_drops_only_deltas`
//! - `src/app/dashboard/crew.rs::events_lost_before_the_start_are_counted_and_reported`
//! - `src/model/sse.rs::endless_line_is_rejected`
//! - `tests/it/tools.rs::the_output_of_a_command_is_bounded_with_a_mark`
//! - `tests/it/hostile.rs::nesting_without_end_overflows_no_stack`
//! - `tests/it/hostile.rs::few_bytes_that_stand_for_many_are_refused`
//! - `tests/it/hostile_tools.rs::any_input_is_answered_within_bounds`
//! - `tests/it/resources.rs::descriptors::eight_agents_at_work_do_not_keep_files_open`
//! - `tests/it/lasting.rs::compaction::a_hundred_rounds_stay_under_the_limit_and_lose_nothing_that_matters`
//! - `tests/it/lasting.rs::compaction::a_turn_that_only_forgets_and_begins_again_is_ended`
//!
//! # 10. The terminal comes back
//!
//! - `tests/it/terminal.rs::sigterm_gives_the_terminal_back`
//! - `tests/it/first.rs::starts::a_signal_while_the_demo_is_made_ends_it`: between two starts
//! - `tests/it/terminal.rs::any_size_is_drawn_and_the_way_back_too`
//! - `tests/it/resources.rs::surroundings::terminals_of_any_name_and_locale_work`
//!
//! # 11. Bytes from outside never drive the terminal
//!
//! Text passes [`crate::domain::text::harmless`] before it reaches a terminal: control characters and what hides or
//! reorders text are shown, not obeyed.
//!
//! - `src/domain/text.rs::control_characters_are_escaped`
//! - `tests/it/hostile_cli.rs::the_dashboard_writes_no_sequence_but_its_own`: in a real terminal
//! - `tests/it/hostile_cli.rs::verbs_show_what_others_wrote_and_obey_none_of_it`
//! - `tests/it/hostile.rs::any_keys_and_words_are_drawn`
//! - `tests/it/hostile.rs::what_a_fuzzer_kept_holds_and_every_target_has_some`
//!
//! # 12. A child dies with all that it has started; children do not see API keys
//!
//! Programs of agents run below a guard ([`crate::process::guard`]), which also ends what left their group. On Linux
//! they write only where they may ([`crate::process::confine`]) and cannot destroy the history of the repository
//! ([`crate::process::history`]); what a kernel lacks for that is told at start.
//!
//! - `tests/it/history.rs::scripts_cannot_destroy_or_rewind_history`
//! - `tests/it/history.rs::commits_of_a_killed_crew_are_taken_over`
//! - `tests/it/sandbox.rs::services_that_act_for_the_user_are_not_reached`
//! - `tests/it/sandbox.rs::a_command_without_network_has_only_a_loopback_of_its_own`
//! - `tests/it/sandbox.rs::a_fork_bomb_ends_with_a_line_that_says_so`
//! - `tests/it/sandbox.rs::a_memory_bomb_ends_and_other_commands_go_on`
//! - `tests/it/guard.rs::what_gets_away_from_its_group_is_ended_with_its_command`
//! - `tests/it/guard.rs::when_crewdeck_is_killed_no_program_and_no_guard_lives_on`: by kill -9
//! - `tests/it/guard.rs::when_the_guard_is_killed_its_programs_are_found_and_ended`
//! - `src/process/tests.rs::timeout_kills_the_group_and_keeps_its_output`: without a supervisor
//! - `tests/it/confinement.rs::the_state_and_what_git_runs_can_not_be_written_from_the_root`
//! - `tests/it/confinement.rs::a_teammate_writes_in_its_worktree_alone`
//! - `tests/it/worktrees.rs::surroundings::no_program_of_a_repository_inside_is_started`: by crewdeck's own git
//! - `tests/it/confinement.rs::a_project_in_shared_memory_is_reached_and_the_rest_of_it_is_not`
//! - `tests/it/confinement.rs::keys_are_not_seen_and_crewdeck_is_not_reached`
//! - `tests/it/held_tools.rs::keys_of_the_environment_are_in_no_command`
//! - `tests/it/held_tools.rs::what_destroys_is_asked_about_and_harmless_all_the_same`
//! - `src/domain/secret_env/tests.rs::secret_names_are_withheld`
//! - `src/domain/secret_env/tests.rs::harmless_variables_are_passed_on`
//! - `tests/it/secrets.rs::a_command_does_not_see_secrets_of_the_environment`
//!
//! # 13. Housekeeping costs no tokens
//!
//! The lead is woken by a letter, by the end of a background job, by the end of all work, and, when nobody can work on
//! without it, by a reminder of what it has not decided: three at most for a request.
//!
//! - `tests/it/team.rs::mechanisms::s11_two_teammates_claim_three_tasks_and_housekeeping_costs_no_call`
//!
//! # 14. Nothing that a project directory brings takes effect before the user approved exactly it
//!
//! Settings of a project that send a key somewhere, run something or loosen a rule wait for approval, which covers the
//! directory and every byte. No credential follows a redirect to another origin.
//!
//! - `tests/it/cli.rs::project_settings_need_approval_wherever_they_come_from`
//! - `tests/it/cli.rs::approval_covers_exactly_the_content_and_the_directory`
//! - `tests/it/cli.rs::a_project_cannot_choose_which_variables_commands_see`
//! - `tests/it/first.rs::trust::a_key_is_not_sent_before_the_project_is_approved`
//! - `tests/it/first.rs::trust::settings_that_do_not_fit_the_page_are_not_approved_on_it`
//! - `src/model/redirect.rs::redirect_to_another_origin_is_not_followed`
//!
//! # The screen tells the truth
//!
//! Branches: one computation from git for the board, the counters and the commands. Messages: shown while they are
//! true. Keys and drafts reach what the user saw when typing.
//!
//! - `tests/it/worktrees.rs::branches::board_worktree_list_and_git_agree_after_every_step`
//! - `tests/it/merging.rs::board_and_commands_agree_with_git_through_a_conflict`
//! - `src/ui/tests/notices.rs::a_message_is_withdrawn_when_it_is_no_longer_true`
//! - `tests/it/merging.rs::the_demo_waits_for_the_plan_and_says_farewell_once`
//! - `src/ui/guide/tour_tests.rs::the_keys_in_the_words_of_the_demo_work_from_everywhere`
//! - `tests/it/needs.rs::typing_an_answer_answers_the_question`
//! - `tests/it/needs.rs::the_second_of_two_requests_finds_the_focus_where_it_was`
//! - `tests/it/needs.rs::a_permission_is_not_given_before_its_end_was_in_view`
//! - `tests/it/needs.rs::what_fills_a_permission_is_folded_with_a_mark`
//! - `src/ui/tests/drafts.rs::each_agent_has_a_draft_of_its_own`
//! - `src/ui/tests/focus.rs::ctrl_c_on_a_draft_clears_it_and_does_not_arm_quit`
//! - `tests/it/keys.rs::queued::interrupt_sends_the_queued_message_to_the_lead`
//! - `tests/it/keys.rs::queued::killed_crew_answers_the_queued_message_when_it_is_resumed`
//! - `src/ui/transcript/tests/folding.rs::message_unfolds_in_place`
//! - `src/ui/transcript/tests/folding.rs::users_answer_is_shown_in_full_below_question`
//! - `src/ui/tests/kept_selection.rs::team_cursor_follows_an_agent_that_sinks`
//! - `src/ui/tests/beside_popups.rs::popups_leave_no_half_characters_and_no_scraps_beside_them`
//! - `tests/it/headless.rs::failing::a_run_that_ends_with_open_tasks_says_which_and_exits_with_4`
//!
//! # Servers and models of every kind are understood
//!
//! - `tests/it/vendors.rs::every_request_of_every_role_follows_the_vendors_rules`
//! - `tests/it/vendors.rs::an_invalid_tool_name_is_answered_and_not_sent_back`
//! - `tests/it/vendors.rs::a_tool_name_of_two_megabytes_is_bounded_everywhere`
//! - `tests/it/wire.rs::halves::a_character_split_over_events_is_joined_on_both_wires`
//! - `src/model/retry.rs::sum_of_server_requested_waits_is_bounded`
//! - `src/tools/replace/tests.rs::known_model_mistakes_are_tolerated`
//! - `src/tools/replace/tests.rs::ambiguous_edit_is_refused`
//! - `tests/it/evals.rs::graders_accept_the_control_solution`
//! - `tests/it/evals.rs::graders_reject_the_untouched_start`
//!
//! # Commands cannot harm the repository, the user's services or the machine
//!
//! - `tests/it/history.rs::scripts_cannot_destroy_or_rewind_history`
//! - `tests/it/history.rs::commits_of_a_killed_crew_are_taken_over`
//! - `tests/it/history.rs::refused::refused_refs_are_named_with_what_to_do`
//! - `tests/it/history.rs::refused::commits_on_a_locked_branch_are_kept`
//! - `tests/it/history.rs::refused::commits_on_a_branch_that_the_user_has_moved_are_kept`
//! - `tests/it/history.rs::checkout::damage_to_head_index_and_reflog_is_undone`
//! - `tests/it/history.rs::holes::without_a_view_commands_read_the_repository_and_cannot_write_it`
//! - `tests/it/history.rs::checkout::an_orphan_branch_without_a_commit_leaves_the_index_whole`
//! - `tests/it/history.rs::refused::commits_that_an_accepted_change_leaves_are_kept`
//! - `tests/it/history.rs::running::a_look_at_worktrees_leaves_a_running_command_alone`
//! - `tests/it/history.rs::running::refusals_of_a_killed_crew_are_in_the_result_of_the_next_command`
//! - `tests/it/history.rs::running::the_checkout_is_restored_when_the_last_command_has_ended`
//! - `tests/it/history.rs::running::a_shallow_that_the_user_makes_meanwhile_is_not_lost`
//! - `tests/it/history.rs::holes::ref_values_are_never_options_of_git`
//! - `tests/it/history.rs::holes::without_network_namespaces_a_command_without_network_does_not_start`
//! - `tests/it/history.rs::holes::links_in_the_private_folders_lead_nowhere`
//! - `tests/it/history.rs::holes::hooks_that_commands_can_write_do_not_run_with_an_approved_command`
//! - `tests/it/history.rs::holes::a_script_cannot_push_to_a_repository_outside`
//! - `tests/it/sandbox.rs::services_that_act_for_the_user_are_not_reached`
//! - `tests/it/sandbox.rs::a_command_without_network_has_only_a_loopback_of_its_own`
//! - `tests/it/sandbox.rs::a_fork_bomb_ends_with_a_line_that_says_so`
//! - `tests/it/sandbox.rs::a_memory_bomb_ends_and_other_commands_go_on`
//!
//! # Size
//!
//! - `tests/it/headless.rs::scale::a_hundred_teammates_work_in_one_crew_and_no_more`
//! - `tests/it/board.rs::a_change_reads_as_many_files_on_a_large_board_as_on_a_small_one`
//! - `tests/it/board.rs::a_question_beside_many_changes_reads_few_files`
//!
//! # Beside the promises: secrets, and what the surroundings do
//!
//! What looks like a key, or is the value of a variable that holds one, becomes a mark before it reaches a file, the
//! screen or the model ([`crate::domain::redact`]). A disk that is full, a folder that can not be written, a limit that
//! is reached or a git that is missing is told in one line that says what to do, and work goes on where it can.
//!
//! - `tests/it/secrets.rs::what_tools_bring_back_has_no_secrets_anywhere`
//! - `tests/it/resources.rs::repositories::repositories_without_worktrees_are_named_with_the_remedy`
//! - `tests/it/resources.rs::denied::a_file_system_that_is_read_only_is_one_line`
//! - `tests/it/resources.rs::clock::a_crew_whose_clock_jumps_does_its_work_and_rests_as_long_as_it_should`
//!
//! # Longer rounds
//!
//! | what | command |
//! |---|---|
//! | crews that are killed at random moments | `CREWDECK_ROUNDS=100 cargo test --test it crash:: -- --nocapture` |
//! | crews that are killed with all their programs | `CREWDECK_ROUNDS=500 cargo test --test it whole_process_tree -- --nocapture` |
//! | processes that create, claim, complete and save at once | `CREWDECK_ROUNDS=10 cargo test --test it race::` |
//! | a model's server that fails at three calls of ten | `CREWDECK_ROUNDS=20 cargo test --test it chaos:: -- --nocapture` |
//! | fuzzing of every reader of bytes from outside | `fuzz/README.md` says how |
//! | property tests with other and more inputs | `PROPTEST_CASES=50000 cargo test --lib` |
