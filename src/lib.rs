//! crewdeck: a full-screen terminal dashboard for a team of coding agents. This page describes the architecture.
//!
//! # Overview
//!
//! The user talks to a **lead** agent. The lead creates tasks on a **board** and spawns **teammates**. Teammates claim
//! ready tasks automatically, send messages to each other, and submit plans for approval before they carry them out.
//! All shared state is in files below the project root ([`store`] defines the formats); memory only caches them.
//!
//! A front end and the crew exchange two kinds of plain data. A [`protocol::Command`] says what the user wants, a
//! [`protocol::Event`] says what happened. The dashboard, `crewdeck run --json`, the journal and the tests all use
//! these two types and know nothing else of the crew.
//!
//! ```text
//!  keys ─> ui::update ─> Command ─> crew ─> agent driver ─> model (HTTP)        the files on disk are the
//!  screen <─ ui::view <─ UiState <─ Event <─ bus <─┬─ agent turns (pure machine) source of truth; memory
//!                                                 └─ file watcher on .tasks .team is a cache of them
//! ```
//!
//! `docs/GUARANTEES.md` lists the guarantees for users, what enforces each one, and which tests cover it.
//!
//! # Layers
//!
//! Each layer imports only from the layers above it in this table; `tests/it/architecture.rs` enforces that.
//!
//! | layer | contents | must not know |
//! |---|---|---|
//! | [`domain`] | plain data and rules: tasks, messages, requests, conversations | files, async, the clock |
//! | [`protocol`] | events, commands, the bus | who sends and who receives |
//! | [`process`] | a child process with its descendants, and where it may write | what it is for |
//! | [`store`] | access to the state files: Board, Post, Requests, Roster, Worktrees | agents, the screen |
//! | [`model`] | language models and their wire formats | tools, the crew |
//! | [`tools`] | one file per tool, the tool table, the policy | models, the crew (reached through [`tools::host::Host`]) |
//! | [`agent`] | one agent: the pure turn and idle machines, their driver | other agents, the screen |
//! | [`crew`] | the lead, teammates, subagents, background jobs, requests, the file watcher | the screen |
//! | [`ui`] | state, update and view of the dashboard, all pure; a thin terminal layer | everything but domain and protocol |
//! | [`app`] | settings, assembly, the main loops of the front ends | – |
//!
//! Outside the layers: [`config`] (settings), [`cli`] (the command line), [`verbs`] (its commands on the state files),
//! [`doctor`] (checks and repairs), [`fuzzing`] (invariants of every parser of external bytes).
//!
//! # Where to find things
//!
//! Agents and models
//! - what an agent does next: [`agent::turn`] (within a turn), [`agent::idle`] (between turns)
//! - compaction: [`agent::compact`]; conversation recovery after a crash: [`domain::conversation`]; the
//!   conversation file: [`store::Transcript`]
//! - permissions of a tool: [`tools::policy`]; a new tool: one file in `tools/` and an entry in [`tools::table`]
//! - a new provider: one folder in `model/` and an arm in [`model::provider`]
//! - scheduling of model calls: [`model::governor`]; budgets: [`domain::ceiling`]
//! - built-in skills: a folder in the top-level `skills/` and an entry in `store/skills/built_in.rs`
//!
//! Processes and the sandbox
//! - where a command may write: [`process::confine`]; how it is terminated: [`process::guard`]; protection of the git
//!   history: [`process::history`]
//! - content of the repository that is not trusted: settings (`config/trust.rs`), nested repositories
//!   (`store/worktrees/inside.rs`), files in the folders of [`domain::folders`] (`store/worktrees/merge.rs`)
//!
//! Requests and commands
//! - who decides a request: `crew/request_broker.rs`; reminders for undecided requests: `crew/request_reminders.rs`; permissions for the
//!   session: `crew/session_permissions.rs`, their scopes: `tools/policy/scopes.rs`; the approval card: `ui/known/needs_card.rs`, a plan
//!   on it: `ui/known/plan_pages.rs`
//! - which commands run in order and which concurrently: `crew/command_loop.rs`; the subject of a refused command:
//!   [`protocol::Asked`]; how the screen restores what was refused: `ui/update/refused.rs`
//! - the user's own actions on the board: `crew/user_actions.rs` under the rules of `domain/graph/may.rs`; their dialogs:
//!   `ui/update/hands.rs`, `ui/board/hands.rs`; the task form: `ui/writing/task_form.rs`, pending forms:
//!   `ui/writing/task_forms.rs`
//! - who may read an inbox, and recovery after a killed reader: `store/reader.rs`; waiting for another reader:
//!   `crew/message_delivery.rs`
//!
//! Worktrees and merging
//! - where a claimed task is worked on and how it is merged: `crew/worktrees.rs` over [`store::Worktrees`]
//! - removal of a worktree and what would be lost: `crew/worktree_removal.rs` over `store/worktrees/remove.rs`; the trash folder:
//!   `aside.rs` beside it
//! - merge status: `store/worktrees/branches.rs` asks git, `own.rs` compares content where the history is not enough;
//!   `crew/branch_status.rs` publishes it, `ui/board/branches.rs` shows what [`domain::worktree::unmerged`] finds; the merge
//!   dialog: `ui/update/merge.rs`, `ui/popup/boxes.rs`
//! - branch folders and the checked-out branch: `store/refs.rs`
//!
//! Restart and recovery
//! - which teammates are restored: `crew/recovery.rs` and `crew/teammate/mod.rs`; decisions that were not acted on:
//!   `crew/decision_followup.rs`; crash tests: `tests/it/crash.rs`, `tests/it/resume.rs`
//! - a second dashboard in the same directory: following `app/follow.rs`, acting `crew/viewer.rs`, taking over
//!   `app/viewing.rs` and `app/dashboard/crew.rs`; the crew lock: `app/lock.rs`
//! - checks of `crewdeck doctor`: one file in `doctor/checks/` and an entry in the table of [`doctor`]; leftovers of a
//!   dead session: [`domain::aftermath`]
//!
//! Files
//! - explanations of system errors: [`store::words`]; opening a state file: [`store::plain`]
//! - change detection and its poll fallback: [`store::watch`]
//!
//! The dashboard
//! - event log texts: `ui/event_log/tell.rs`, the agent behind each event: `ui/event_log/actors.rs`; problems and their
//!   fixes: `ui/problems/`
//! - the first page: content `app/first.rs` and `app/ground.rs`, view `ui/guide/first.rs`, control
//!   `app/dashboard/first.rs`, restarts `app/dashboard/starts.rs`
//! - tool calls in the transcript: `ui/transcript/fold.rs`, tools with texts of their own: `ui/transcript/forms.rs`;
//!   diffs: `ui/diff/`
//! - pane heights: `ui/layout/shares.rs`; scroll bars: `ui/layout/scrollbar.rs`; list filters: `ui/writing/filters.rs`
//! - usage and cost: `ui/costs/`; the preview pane: `ui/popup/peek.rs`
//! - external programs in the terminal (`$EDITOR`, the printed conversation): `app/errand.rs`
//! - text input: `ui/writing/mod.rs`; line wrapping and cursor cells: `ui/writing/composer/rows.rs`; completion:
//!   `ui/writing/complete.rs`; mouse targets: `ui/hit/`
//! - session replay: [`ui::replay`] (the player), `ui/update/replay.rs` (seeking)
//! - key bindings: [`ui::keymap`]; colours and built-in themes: [`ui::theme`]; custom themes: [`domain::own_theme`],
//!   `config/themes.rs`, `ui/theme/own.rs`
//! - comparison with other tools: `docs/PRIOR_ART.md`
//!
//! # Rules for all code
//!
//! - **Logic is pure, IO is at the edge.** State machines take inputs and return effects; time and ids are passed in.
//! - **A conversation sent to a model is valid**: each tool call has exactly one result, whatever was interrupted
//!   ([`domain::chat::check`]; the turn machine guarantees it for every order of inputs).
//! - **A message is acknowledged after the conversation that contains it is on disk.** The same line records how far the
//!   inbox was read, so no message is delivered twice. An inbox has one reader at a time ([`store::Reader`]).
//! - **Every follow-up step can be derived from the disk again**: crewdeck may be killed between any two steps, and the
//!   next start completes the second one.
//! - **A board change holds the board's lock, re-reads every file it depends on, and is written atomically**;
//!   `store/board` documents the guarantees. Writers send the change, never the whole board.
//! - **Every buffer, queue and file read has a stated limit**, and truncation is reported.
//! - **External text passes [`domain::text::harmless`] before it reaches a terminal.**
//! - **A child process is terminated with all its descendants**: on timeout, interrupt and exit, also after kill -9
//!   ([`process::guard`]). Commands of agents write only where [`process::confine`] allows it.

pub mod agent;
pub mod app;
pub mod cli;
pub mod config;
pub mod crew;
pub mod doctor;
pub mod domain;
#[doc(hidden)]
pub mod fuzzing;
pub mod model;
pub mod process;
pub mod protocol;
pub mod store;
pub mod tools;
pub mod ui;
pub mod verbs;
