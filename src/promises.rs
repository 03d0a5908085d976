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
//! - `tests/it/race.rs::inbox_writers_without_a_lock_lose_no_message`: 16,000 letters from 8 processes
//! - `tests/it/race.rs::readers::crew_and_mail_read_never_both_receive_a_message`
//! - `tests/it/race.rs::readers::killed_crew_and_mail_read_receive_each_message_once`
//! - `tests/it/race.rs::readers::crew_does_not_wait_for_a_blocked_mail_reader`
//! - `tests/it/race.rs::readers::truncated_inbox_loses_no_later_message`: as the reference's readers cut it
//! - `src/store/reader.rs::messages_in_the_log_of_a_killed_reader_are_not_read_again`
//! - `src/store/reader.rs::inbox_truncated_and_refilled_unnoticed_loses_no_message`
//! - `src/store/reader.rs::inbox_truncated_before_acknowledge_loses_no_new_message`
//! - `tests/it/crash.rs::crew_killed_at_any_moment_does_its_work_once`: each letter stands once in one conversation
//! - `tests/it/resume.rs::message_already_in_the_conversation_is_not_redelivered`
//! - `tests/it/resume.rs::first_prompt_is_delivered_once_after_a_kill`
//! - `tests/it/resources.rs::disk::message_received_on_a_full_disk_is_processed_once`
//! - `tests/it/lasting.rs::saving::message_not_yet_in_a_log_is_not_acknowledged`
//! - `tests/it/lasting.rs::saving::unsaved_conversation_is_saved_later_and_mail_waits`
//! - `src/store/inbox.rs::growing_inbox_returns_each_message_once`
//! - `src/store/inbox.rs::bad_line_blocks_nothing_and_an_appended_message_is_kept`
//!
//! # 2. No task has two owners
//!
//! A claim is decided under the board's lock, after a fresh look at every file that it depends on. Numbers come from a
//! counter that only goes up.
//!
//! - `tests/it/race.rs::concurrent_claims_give_each_task_one_owner`
//! - `tests/it/race.rs::user_and_teammate_never_own_the_same_task`
//! - `tests/it/user_actions.rs::user_takes_a_task_from_a_working_teammate`: who had it does not complete it
//! - `tests/it/race.rs::one_agent_in_many_processes_has_at_most_one_open_task`
//! - `tests/it/race.rs::blockers_completed_concurrently_unblock_the_task`
//! - `tests/it/crash.rs::crew_killed_during_recovery_does_its_work_once`
//! - `tests/it/cli.rs::task_ids_are_never_reused`
//!
//! # 3. No file is ever half written
//!
//! Temporary file, fsync, rename, fsync of the folder ([`crate::store::atomic`]); append logs end a torn line before
//! they go on. What is damaged all the same is set aside under a new name, with a notice.
//!
//! - `tests/it/race.rs::process_killed_while_saving_leaves_complete_files`
//! - `src/store/transcript.rs::torn_last_line_is_set_aside_at_every_length`
//! - `src/store/board/tests.rs::damaged_task_file_is_reported_and_set_aside`
//! - `tests/it/resources.rs::disk::full_disk_tears_no_file_and_work_continues_with_room`
//! - `tests/it/resources.rs::files::irregular_task_roster_or_request_is_moved_aside`
//! - `tests/it/golden.rs::boards_of_other_programs_are_handled`
//!
//! # 4. The graph stays a DAG
//!
//! Every change of the board goes through one pure function, which refuses circles, unknown numbers and blocking on
//! finished work with the reason.
//!
//! - `src/domain/graph/tests.rs::graph_stays_acyclic_with_one_owner_per_task`: random changes
//! - `tests/it/board.rs::cli_refusals_name_the_remedy_and_change_nothing`
//! - `tests/it/board.rs::tool_refusals_name_the_remedy_and_change_nothing`
//!
//! # 5. kill -9 loses no work
//!
//! Everything that was said is in the log of its agent before anything follows from it; what an interrupted call left
//! open is answered when the log is read back ([`crate::domain::conversation`]). A prompt for the lead is on disk before it
//! is accepted, until the log that names it holds it ([`crate::store::PromptQueue`]).
//!
//! - `src/store/prompt_queue.rs::killed_session_keeps_prompts_missing_in_the_conversation`
//! - `tests/it/keys.rs::queued::resumed_crew_answers_a_queued_message`
//! - `tests/it/lasting.rs::resuming::session_killed_during_a_tool_call_is_resumed`
//! - `tests/it/team.rs::failures::resumed_team_restores_a_pending_plan_request`
//! - `tests/it/terminal.rs::resume_after_kill_restores_screen_and_conversation`
//! - `tests/it/needs.rs::request_pending_at_a_crash_is_reported_at_next_start`
//! - `tests/it/worktree_recovery.rs::killed_processes::creation_works_after_a_process_is_killed_at_any_time`
//! - `tests/it/crash.rs::demo_killed_at_any_moment_resumes`
//! - `tests/it/crash.rs::kill_of_whole_process_tree_leaves_no_git_debris`: locks, half-made worktrees, cut merges
//! - `tests/it/worktree_recovery.rs::debris::kill_before_or_after_any_git_change_is_repaired`
//! - `tests/it/worktree_recovery.rs::debris::merge_killed_while_writing_files_is_undone`
//! - `tests/it/resume.rs::working_team_resumes_although_the_lead_was_idle`
//! - `tests/it/resume/worktrees.rs::resolved_conflict_is_merged_after_a_restart`
//! - `tests/it/user_actions.rs::user_claim_gets_a_worktree_and_survives_a_kill`
//! - `tests/it/viewer.rs::one_of_two_viewers_takes_over_a_killed_crew`
//! - `tests/it/doctor.rs::state_of_a_killed_crew_is_repaired_and_work_kept`
//!
//! # 6. A worktree with unmerged or uncommitted work is never removed
//!
//! Whether work is merged is judged by content, not by the branch's name or ancestry; what can not be judged stays.
//! What is removed gets another name, is judged once more, and is put back or deleted; killed in between, the next look
//! does that. Who writes by the folder's name meanwhile finds none. What a program that works inside it (its current
//! directory, an open file) writes in the moment between the second look and the deletion is lost.
//!
//! - `tests/it/worktree_recovery.rs::removal::file_written_during_a_removal_is_not_lost`
//! - `tests/it/worktree_recovery.rs::removal::killed_removal_leaves_a_complete_worktree_or_none`
//! - `tests/it/worktree_recovery.rs::removal::interrupted_removal_is_finished_or_undone_by_next_read`
//! - `tests/it/worktree_recovery.rs::debris::partially_created_worktree_with_user_files_is_completed`
//! - `tests/it/worktree_recovery.rs::debris::user_changes_in_a_file_of_a_killed_merge_are_kept`
//! - `tests/it/worktree_recovery.rs::user_changes::own_merge_by_the_user_is_kept`
//! - `tests/it/worktree_recovery.rs::user_changes::content_is_compared_byte_by_byte`
//! - `tests/it/worktree_recovery.rs::removal::worktree_that_cannot_be_moved_to_the_trash_is_kept`
//! - `tests/it/user_actions.rs::worktree_removal_names_losses_before_it_confirms`: nor is more than was named
//! - `tests/it/worktrees.rs::uncommitted_or_unmerged_work_needs_a_forced_removal`
//! - `tests/it/worktrees.rs::merging::squashed_and_rebased_work_counts_as_merged`
//! - `tests/it/merging.rs::lead_is_notified_of_the_branches_that_the_board_counts`: one truth for both
//! - `src/domain/worktree/state.rs::removal_requires_clean_and_merged_worktree`
//! - `tests/it/doctor.rs::unneeded_files_are_cleared_and_content_is_kept`
//!
//! # 7. Every request is decided once, by someone named
//!
//! One state machine for all kinds; a decision is matched on id, kind and target under the request's lock. Nothing that
//! a branch or a repository brings along decides anything, or says who does. What is left to a lead that does not decide
//! waits for nobody for ever: the lead is reminded three times, then a headless run ends with an error, and who asked
//! comes back with `--resume`.
//!
//! - `tests/it/team.rs::undecided_requests::undecided_plan_ends_the_run_and_is_kept`
//! - `tests/it/team.rs::undecided_requests::lead_that_decides_after_a_reminder_gets_no_more`
//! - `tests/it/worktrees.rs::merging::branch_that_changes_crewdeck_folders_is_not_merged`
//! - `tests/it/cli.rs::project_settings_need_approval_from_any_source`
//! - `src/domain/request.rs::request_is_decided_only_once`
//! - `src/domain/request.rs::mismatched_or_own_decision_is_rejected`
//! - `tests/it/needs.rs::identical_permission_requests_share_one_decision`
//! - `tests/it/viewer.rs::concurrent_answers_make_one_decision`
//! - `tests/it/viewer.rs::shutdown_approved_in_a_file_is_executed`
//! - `tests/it/resume.rs::unreported_decision_is_reported_once_on_resume`
//! - `tests/it/resume.rs::undelivered_request_reaches_its_approver_on_resume`
//! - `tests/it/sandbox_writes.rs::teammate_writes_only_in_its_worktree`: nor can it write a decision into the files
//! - `tests/it/crew_tools.rs::send_message_ignores_forged_sender_and_type`
//!
//! # 8. A conversation sent to a model is always valid
//!
//! The turn machine keeps it under every order of inputs; every request that a test's server sees is checked.
//!
//! - `src/agent/turn/property_tests.rs::conversation_is_always_valid`
//! - `src/domain/conversation.rs::rebuilt_conversation_is_always_valid`
//! - `tests/it/wire.rs::messages_requests_are_valid_and_cache_the_prefix`
//! - `tests/it/chaos.rs::work_completes_despite_faults_of_the_messages_api`: a server that fails at three calls of ten checks all of them
//! - `tests/it/chaos.rs::work_completes_despite_faults_of_chat_completions`
//! - `src/model/governor/property_tests.rs::no_call_starts_early_and_one_probe_goes_first`
//!
//! # 9. Nothing unbounded
//!
//! Every buffer, queue, list and file that is read has a named bound beside it, and a cut says so.
//!
//! - `src/protocol/bus.rs::full_bus_drops_only_deltas`
//! - `src/app/dashboard/crew.rs::events_lost_before_the_start_are_counted_and_reported`
//! - `src/model/sse.rs::endless_line_is_rejected`
//! - `tests/it/tools.rs::command_output_is_truncated_with_a_mark`
//! - `tests/it/hostile.rs::deep_nesting_overflows_no_stack`
//! - `tests/it/hostile.rs::expansion_bombs_are_refused`
//! - `tests/it/hostile_tools.rs::any_tool_input_gets_a_bounded_result`
//! - `tests/it/resources.rs::descriptors::eight_working_agents_do_not_leak_open_files`
//! - `tests/it/lasting.rs::compaction::long_turn_stays_under_the_window_and_keeps_goals`
//! - `tests/it/lasting.rs::compaction::turn_that_compacts_twice_without_progress_ends`
//!
//! # 10. The terminal comes back
//!
//! - `tests/it/terminal.rs::sigterm_restores_the_terminal`
//! - `tests/it/onboarding.rs::starts::signal_during_demo_setup_exits`: between two starts
//! - `tests/it/terminal.rs::any_terminal_size_is_drawn_and_restored`
//! - `tests/it/resources.rs::environment::any_terminal_name_and_locale_works`
//!
//! # 11. Bytes from outside never drive the terminal
//!
//! Text passes [`crate::domain::text::harmless`] before it reaches a terminal: control characters and what hides or
//! reorders text are shown, not obeyed.
//!
//! - `src/domain/text.rs::control_characters_are_escaped`
//! - `tests/it/hostile_cli.rs::dashboard_writes_only_its_own_escape_sequences`: in a real terminal
//! - `tests/it/hostile_cli.rs::commands_escape_hostile_state`
//! - `tests/it/hostile.rs::any_keys_and_text_are_drawn`
//! - `tests/it/hostile.rs::fuzz_corpus_passes_and_covers_every_target`
//!
//! # 12. A child dies with all that it has started; children do not see API keys
//!
//! Programs of agents run below a guard ([`crate::process::guard`]), which also ends what left their group. On Linux
//! they write only where they may ([`crate::process::confine`]) and cannot destroy the history of the repository
//! ([`crate::process::history`]); what a kernel lacks for that is told at start.
//!
//! - `tests/it/history.rs::scripts_cannot_destroy_or_rewind_history`
//! - `tests/it/history.rs::commits_of_a_killed_crew_are_recovered`
//! - `tests/it/sandbox.rs::commands_cannot_reach_services_that_act_for_the_user`
//! - `tests/it/sandbox.rs::command_without_network_has_only_a_private_loopback`
//! - `tests/it/sandbox.rs::fork_bomb_is_killed_with_an_explanation`
//! - `tests/it/sandbox.rs::memory_bomb_is_killed_and_other_commands_continue`
//! - `tests/it/supervisor.rs::processes_outside_the_group_end_with_the_command`
//! - `tests/it/supervisor.rs::killed_crewdeck_leaves_no_program_or_supervisor`: by kill -9
//! - `tests/it/supervisor.rs::killed_supervisor_leaves_no_processes`
//! - `src/process/tests.rs::timeout_kills_the_group_and_keeps_its_output`: without a supervisor
//! - `tests/it/sandbox_writes.rs::root_commands_cannot_write_state_or_git_hooks`
//! - `tests/it/sandbox_writes.rs::teammate_writes_only_in_its_worktree`
//! - `tests/it/worktrees.rs::repository_kinds::nested_repository_starts_no_program`: by crewdeck's own git
//! - `tests/it/sandbox_writes.rs::only_the_project_is_visible_in_shared_memory`
//! - `tests/it/sandbox_writes.rs::commands_cannot_inspect_or_signal_crewdeck`
//! - `tests/it/sandboxed_tools.rs::commands_do_not_inherit_api_keys`
//! - `tests/it/sandboxed_tools.rs::destructive_commands_need_approval_and_do_no_harm`
//! - `src/domain/secret_env/tests.rs::secret_names_are_withheld`
//! - `src/domain/secret_env/tests.rs::harmless_variables_are_passed_on`
//! - `tests/it/secrets.rs::commands_do_not_see_secret_variables`
//!
//! # 13. Housekeeping costs no tokens
//!
//! The lead is woken by a letter, by the end of a background job, by the end of all work, and, when nobody can work on
//! without it, by a reminder of what it has not decided: three at most for a request.
//!
//! - `tests/it/team.rs::practice::s11_two_teammates_claim_tasks_without_extra_model_calls`
//!
//! # 14. Nothing that a project directory brings takes effect before the user approved exactly it
//!
//! Settings of a project that send a key somewhere, run something or loosen a rule wait for approval, which covers the
//! directory and every byte. No credential follows a redirect to another origin.
//!
//! - `tests/it/cli.rs::project_settings_need_approval_from_any_source`
//! - `tests/it/cli.rs::approval_covers_exactly_one_content_and_directory`
//! - `tests/it/cli.rs::project_settings_cannot_set_pass_env`
//! - `tests/it/onboarding.rs::trust::key_is_not_sent_before_the_project_is_approved`
//! - `tests/it/onboarding.rs::trust::settings_that_do_not_fit_cannot_be_approved`
//! - `src/model/redirect.rs::redirect_to_another_origin_is_not_followed`
//!
//! # The screen tells the truth
//!
//! Branches: one computation from git for the board, the counters and the commands. Messages: shown while they are
//! true. Keys and drafts reach what the user saw when typing.
//!
//! - `tests/it/worktrees.rs::branches::board_worktree_list_and_git_agree_after_every_step`
//! - `tests/it/merging.rs::board_and_commands_agree_with_git_through_a_conflict`
//! - `src/ui/tests/notices.rs::status_message_is_removed_when_outdated`
//! - `tests/it/merging.rs::demo_waits_for_plan_approval_and_says_goodbye_once`
//! - `src/ui/guide/tour_tests.rs::keys_in_the_demo_script_work_from_everywhere`
//! - `tests/it/needs.rs::text_typed_in_the_composer_answers_the_question`
//! - `tests/it/needs.rs::focus_returns_after_the_second_of_two_requests`
//! - `tests/it/needs.rs::permission_needs_its_end_in_view_before_approval`
//! - `tests/it/needs.rs::filler_in_a_permission_is_folded_and_marked`
//! - `src/ui/tests/drafts.rs::each_agent_has_its_own_draft`
//! - `src/ui/tests/focus.rs::ctrl_c_clears_draft_without_arming_quit`
//! - `tests/it/keys.rs::queued::interrupt_sends_the_queued_message_to_the_lead`
//! - `tests/it/keys.rs::queued::resumed_crew_answers_a_queued_message`
//! - `src/ui/transcript/tests/folding.rs::message_unfolds_in_place`
//! - `src/ui/transcript/tests/folding.rs::users_answer_is_shown_in_full_below_question`
//! - `src/ui/tests/kept_selection.rs::team_selection_follows_agent_that_moves_down`
//! - `src/ui/tests/beside_popups.rs::popups_leave_no_partial_text_beside_them`
//! - `tests/it/headless.rs::failing::run_with_open_tasks_lists_them_and_exits_4`
//!
//! # Servers and models of every kind are understood
//!
//! - `tests/it/vendors.rs::requests_of_every_role_follow_the_vendors_rules`
//! - `tests/it/vendors.rs::invalid_tool_name_is_answered_and_not_sent_back`
//! - `tests/it/vendors.rs::two_megabyte_tool_name_is_truncated_everywhere`
//! - `tests/it/wire.rs::lenient::character_split_over_two_events_is_joined`
//! - `src/model/retry.rs::sum_of_server_requested_waits_is_bounded`
//! - `src/tools/replace/tests.rs::known_model_mistakes_are_tolerated`
//! - `src/tools/replace/tests.rs::ambiguous_edit_is_refused`
//! - `tests/it/evals.rs::graders_accept_the_control_solution`
//! - `tests/it/evals.rs::graders_reject_the_untouched_start`
//!
//! # Commands cannot harm the repository, the user's services or the machine
//!
//! - `tests/it/history.rs::scripts_cannot_destroy_or_rewind_history`
//! - `tests/it/history.rs::commits_of_a_killed_crew_are_recovered`
//! - `tests/it/history.rs::refused_refs::refused_refs_are_named_with_a_remedy`
//! - `tests/it/history.rs::refused_refs::commits_on_a_locked_branch_are_kept`
//! - `tests/it/history.rs::refused_refs::commits_on_a_branch_moved_by_the_user_are_kept`
//! - `tests/it/history.rs::checkout::damage_to_head_index_and_reflog_is_undone`
//! - `tests/it/history.rs::bypasses::repository_is_read_only_without_mount_namespaces`
//! - `tests/it/history.rs::checkout::orphan_branch_without_a_commit_keeps_the_index`
//! - `tests/it/history.rs::refused_refs::commits_dropped_by_accepted_changes_are_kept`
//! - `tests/it/history.rs::concurrent::worktree_list_does_not_disturb_a_running_command`
//! - `tests/it/history.rs::concurrent::next_command_reports_refusals_of_a_killed_crew`
//! - `tests/it/history.rs::concurrent::checkout_is_restored_after_the_last_command`
//! - `tests/it/history.rs::concurrent::shallow_file_made_by_the_user_is_not_lost`
//! - `tests/it/history.rs::bypasses::ref_values_are_never_passed_as_git_options`
//! - `tests/it/history.rs::bypasses::offline_command_needs_network_namespaces`
//! - `tests/it/history.rs::bypasses::links_in_private_folders_are_not_followed`
//! - `tests/it/history.rs::bypasses::writable_hooks_do_not_run_with_approved_commands`
//! - `tests/it/history.rs::bypasses::scripts_cannot_push_to_an_outside_repository`
//! - `tests/it/sandbox.rs::commands_cannot_reach_services_that_act_for_the_user`
//! - `tests/it/sandbox.rs::command_without_network_has_only_a_private_loopback`
//! - `tests/it/sandbox.rs::fork_bomb_is_killed_with_an_explanation`
//! - `tests/it/sandbox.rs::memory_bomb_is_killed_and_other_commands_continue`
//!
//! # Size
//!
//! - `tests/it/headless.rs::scale::crew_runs_at_most_a_hundred_teammates`
//! - `tests/it/board.rs::change_cost_is_independent_of_board_size`
//! - `tests/it/board.rs::query_during_concurrent_changes_reads_few_files`
//!
//! # Beside the promises: secrets, and what the surroundings do
//!
//! What looks like a key, or is the value of a variable that holds one, becomes a mark before it reaches a file, the
//! screen or the model ([`crate::domain::redact`]). A disk that is full, a folder that can not be written, a limit that
//! is reached or a git that is missing is told in one line that says what to do, and work goes on where it can.
//!
//! - `tests/it/secrets.rs::tool_output_is_redacted_everywhere`
//! - `tests/it/resources.rs::repositories::unusable_repositories_are_reported_with_the_fix`
//! - `tests/it/resources.rs::permissions::read_only_file_system_is_reported_in_one_line`
//! - `tests/it/resources.rs::clock::crew_works_and_idles_correctly_while_the_clock_jumps`
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
