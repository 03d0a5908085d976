//! crewdeck: a full-screen terminal dashboard for a team of coding agents. This page is the map.
//!
//! # The picture
//!
//! A person talks to a **lead** agent. The lead writes tasks on a **board** and spawns **teammates**, which
//! claim ready tasks by themselves, write letters to one another, and ask before they carry out a plan. All
//! shared state is files below the root ([`store`] has the formats); what is in memory is a cache of them.
//!
//! Two queues meet in the middle. A [`protocol::Command`] goes down: what the person wants. A
//! [`protocol::Event`] comes up: what happened. Both are plain data, and a front end knows nothing else of
//! the crew: the dashboard, `crewdeck run --json`, the journal and the tests use the same two.
//!
//! ```text
//!  keys ─> ui::update ─> Command ─> crew ─> agent driver ─> model (HTTP)        files on disk are the truth;
//!  pixels <─ ui::view <─ UiState <─ Event <─ bus <─┬─ agent turns (pure machine) what is in memory is a
//!                                                 └─ file watcher on .tasks .team  cache of them
//! ```
//!
//! [`promises`] says what users can rely on, what keeps each promise, and which tests hold it.
//!
//! # The floors
//!
//! Each imports only what lies below it; `tests/it/architecture.rs` holds that.
//!
//! | floor | what it is | what it must not know |
//! |---|---|---|
//! | [`domain`] | plain data and rules: tasks, letters, requests, chat | files, async, the clock |
//! | [`protocol`] | Event, Command, the bus | who sends and who listens |
//! | [`process`] | one child with all that it starts, and where it may write | what it is for |
//! | [`store`] | the doors to the state files: Board, Post, Requests, Roster, Worktrees | agents, the screen |
//! | [`model`] | language models behind their wires | tools, the crew |
//! | [`tools`] | one file a tool, the table, the policy | models, the crew (it asks through [`tools::host::Host`]) |
//! | [`agent`] | one agent: the pure turn and idle machines, their driver | other agents, the screen |
//! | [`crew`] | the lead, the teammates, their subagents and background jobs, requests, the watcher | the screen |
//! | [`ui`] | state, update and view of the dashboard, all pure; a thin terminal | everything but domain and protocol |
//! | [`app`] | the roof: settings, assembly, the loops of the front ends | – |
//!
//! Beside them: [`config`] (settings), [`cli`] (the command line), [`verbs`] (its verbs on the state files),
//! [`doctor`] (what is found and what can be mended), [`fuzzing`] (what holds for every reader of bytes from outside).
//!
//! # Where is …
//!
//! - what an agent does next: [`agent::turn`] (within a turn), [`agent::idle`] (between two turns)
//! - when and how a conversation is shortened: [`agent::compact`]; what a log adds up to after a crash:
//!   [`domain::conversation`]; its file: [`store::Transcript`]
//! - what a tool may do: [`tools::policy`]; a new tool: one file in `tools/` and its line in [`tools::table`]
//! - where a program of an agent may write: [`process::confine`]; how it is ended: [`process::guard`]; how the history
//!   of the repository is kept from it: [`process::history`]
//! - what a repository may bring along: settings `config/trust.rs`, repositories inside `store/worktrees/nested_repos.rs`,
//!   files in the folders of [`domain::folders`]: nothing (`store/worktrees/merge.rs`)
//! - a skill that ships with crewdeck: a folder in `skills/` at the top level, and its line in `store/skills/built_in.rs`
//! - a new provider: one folder in `model/` and its arm in [`model::provider`]
//! - which call of a model may begin, and when: [`model::governor`]; what agents may use: [`domain::ceiling`]
//! - who decides a request: `crew/request_broker.rs`, and what becomes of it when nobody does: `crew/request_reminders.rs`; what the person allowed for the session: `crew/session_permissions.rs`, and what that
//!   covers: `tools/policy/scopes.rs`; the card of a request: `ui/known/needs_card.rs`, a plan on it: `ui/known/plan_pages.rs`
//! - which commands wait for one another and which go on beside: `crew/command_loop.rs`, for the crew and a viewer alike; what a refusal
//!   is about: [`protocol::Asked`], and what the screen gives back then: `ui/update/refused.rs`
//! - what the person does to the board by key, here or in a viewer: `crew/user_actions.rs`, by the rules of `domain/graph/rules.rs`;
//!   what is asked and said: `ui/update/hands.rs`, `ui/board/hands.rs`; the form of a task: `ui/writing/task_form.rs`, those that wait:
//!   `ui/writing/task_forms.rs`
//! - what would be lost with a worktree, and its removal by the person: `crew/worktree_removal.rs`, over `store/worktrees/remove.rs`
//!   (where it lies meanwhile: `trash.rs` beside it)
//! - who may take letters, and what a killed reader leaves: `store/reader.rs`; the wait for another one: `crew/message_delivery.rs`
//! - where a claimed task is worked on and how it is merged: `crew/worktrees.rs`, over [`store::Worktrees`]
//! - what is merged and what is not: `store/worktrees/branches.rs` asks git, and `merge_status.rs` beside it for the content where
//!   the history says no; `crew/branch_status.rs` tells, `ui/board/branches.rs` marks what [`domain::worktree::unmerged`] finds; the question before a merge: `ui/update/merge.rs`, `ui/popup/boxes.rs`
//! - who comes back after a restart: `crew/recovery.rs` and `crew/teammate/mod.rs`; what was decided and not followed:
//!   `crew/decision_followup.rs`; that all of it holds wherever crewdeck is killed: `tests/it/crash.rs`, `tests/resume.rs`
//! - what `crewdeck doctor` looks at: one file in `doctor/checks/` and its line in the table of [`doctor`]; what counts
//!   as left behind: [`domain::aftermath`]
//! - what the system's errors are called and what to do about them: [`store::words`]; who opens a state file:
//!   [`store::plain`]
//! - what the event log tells of each event, and by whom it was: `ui/event_log/tell.rs` and
//!   `ui/event_log/actors.rs`; what counts as a problem, and what helps: `ui/problems/`
//! - how a change of a file is noticed, and what is done where nobody tells of it: [`store::watch`]; in which folders
//!   git keeps the branches, and what is checked out: `store/refs.rs`
//! - what stands on the first page: `app/first.rs` and `app/ground.rs`; how it is shown: `ui/guide/first.rs`; how it goes:
//!   `app/dashboard/first.rs`; a new start from it: `app/dashboard/starts.rs`
//! - how a tool call looks: `ui/transcript/fold.rs`, which tools answer in crewdeck's own words: `ui/transcript/forms.rs`;
//!   a diff: `ui/diff/`
//! - which pane gets how many rows: `ui/layout/shares.rs`; the thumb of what is longer than its place: `ui/layout/scrollbar.rs`;
//!   what lists are filtered by: `ui/writing/filters.rs`
//! - what everybody has used, and what is spent on which task: `ui/costs/`; what is peeked at, and where: `ui/popup/peek.rs`
//! - who has the terminal while the screen is away (`$EDITOR`, the printed conversation): `app/errand.rs`
//! - how a text that is being written is broken into rows, and which cell a place in it has: `ui/writing/composer/rows.rs`; where
//!   such a text lies: `ui/writing/mod.rs`
//! - what the mouse can press: `ui/hit/`; what completes a word in the composer: `ui/writing/complete.rs`
//! - a session that is watched again: [`ui::replay`] (the player), `ui/update/replay.rs` (the screen moved through it)
//! - a second dashboard in the same directory: what it sees `app/follow.rs`, what it does `crew/viewer.rs`, how it takes
//!   over `app/viewing.rs` and `app/dashboard/crew.rs`; who runs the crew: `app/lock.rs`
//! - what a key does: [`ui::keymap`]; a colour, a new theme: [`ui::theme`]; the themes that people write:
//!   [`domain::own_theme`], `config/themes.rs`, `ui/theme/own.rs`
//! - which tools the dashboard was compared with, what was taken over and what not: [`ui::compared`]
//!
//! # Rules that hold everywhere
//!
//! - **Pure inside, IO at the edge.** Machines take inputs and give effects; time and ids come in as data.
//! - **A conversation sent to a model is valid**: each tool call has exactly one result, whatever was
//!   interrupted ([`domain::chat::check`]; the turn machine keeps it under every order of inputs).
//! - **A letter is acknowledged when the conversation that holds it is on disk**, not before; the line that holds it
//!   says how far the inbox was read, so that it does not come twice. One reader of an inbox at a time ([`store::Reader`]).
//! - **What follows from something on disk can be told from the disk again**: crewdeck may be killed between any two
//!   steps, and the next start does the second one.
//! - **Every change of the board is made under its lock, after a look at every file that it depends on**, and
//!   written whole; `store/board` says what that guarantees against whom. What changed travels, never the whole.
//! - **Every buffer, queue and file that is read has a stated bound**, and a cut says so.
//! - **Text from outside passes [`domain::text::harmless`] before it reaches a terminal.**
//! - **A child dies with all that it has started**: at its time-out, on interrupt, at exit, also by kill -9
//!   ([`process::guard`]). A program of an agent writes where [`process::confine`] lets it and nowhere else.

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
pub mod promises;
pub mod protocol;
pub mod store;
pub mod tools;
pub mod ui;
pub mod verbs;
