//! Comparison of the dashboard with other terminal programs: what was adopted, what was not, and why.
//!
//! Read it before you change a key, a popup or a line of the screen. `tests/it/architecture.rs` checks that every file named
//! here exists.
//!
//! # Tools
//!
//! *Run* means: used with keys and mouse in terminals of 160x45, 100x30 and 70x20, next to `crewdeck --demo` in the same
//! sizes. *Read* means: documentation or source only. Files of other programs are named as in their repositories.
//!
//! | tool | purpose | how |
//! |---|---|---|
//! | lazygit 0.66.2 | panes over a git repository | run; read: `docs/Config.md`, `docs/Undoing.md`, `docs/Searching.md`, `docs/keybindings`, `pkg/gui` |
//! | k9s, after 0.50.18 | lists of cluster resources | read only (it needs a cluster): `README.md`, `internal/ui`, `internal/view` |
//! | btop 1.2.13 | system monitor | run; read: `README.md` of 1.4.7 |
//! | yazi 26.9.1 | file manager with columns | run; read: `yazi-config/preset` |
//! | opencode 1.18.33 | conversation with one coding agent | run, with a scripted local model |
//! | tig 2.5.5 | lists of commits | run, as a second reference for texts and lists |
//!
//! # Overview
//!
//! | tool | strength | adopted | not adopted, and why |
//! |---|---|---|---|
//! | lazygit | numbered panes; the number is the key | pane numbers on the frames; the same key again gives full screen: `src/ui/state/pane.rs`, `src/ui/view/frame.rs` | one large pane that follows the selection: here the conversation is the large one |
//! | btop | the frame carries title, counts and buttons, so no row is lost | counts in the upper frame, progress and totals in the lower one: `src/ui/view/frame.rs`, `src/ui/board/progress.rs` | colour gradients by value: statuses have names, each with its symbol (`src/ui/look.rs`) |
//! | btop | one table of resource use, largest first | `$`: by agent and by task, with a bar for the share: `src/ui/costs/table.rs` | sorting by any column: the most expensive rows come first |
//! | btop | a row of small bars shows recent activity | five minutes of each teammate: `src/ui/known/pulse.rs` | large graphs: token use is a sum, not a curve |
//! | k9s, lazygit, opencode | the header shows context and health | one line: project, branch, working and waiting agents, model, context, tokens, cost: `src/ui/view/status.rs`; the project in the terminal title | a header of several rows with a logo: rows are scarce |
//! | k9s | pulses: one page for overall health (`internal/view/pulse.go`) | `p`: agents that wait, failed or are stuck, with the key that helps: `src/ui/problems/mod.rs` | – |
//! | opencode | a conversation and one input; tool output is truncated ("Click to expand") | folded tool calls, opened one by one, with consecutive calls of one tool in one line: `src/ui/transcript/fold.rs`, `src/ui/transcript/calls.rs`; names and values instead of JSON: `src/ui/transcript/fields.rs`; the composer has the focus at the start | a screen that hides the other agents: seeing them is the purpose |
//!
//! # Focus and selection
//!
//! | tool | strength | adopted | not adopted, and why |
//! |---|---|---|---|
//! | lazygit | the focused frame has another colour; the selected row is a bar | both, and a mark at the left of the row for terminals without colour: `src/ui/view/frame.rs` | – |
//! | lazygit, btop, yazi | a scroll bar, and the position in the list | a draggable thumb in the right edge of the frame, which costs no column: `src/ui/layout/scrollbar.rs`; "7 of 20" below it | a percentage: a row number is easier to refer to |
//! | yazi | `j k g G`, half pages and arrows work the same everywhere | one table for all panes and popups: [`keymap`](crate::ui::keymap) | – |
//! | yazi | a column on the right shows the selected item | the message below its list: `src/ui/view/inbox.rs`; the selected task below the board, with what it unblocks: `src/ui/view/board/mod.rs`, `src/ui/board/unlocks.rs` | a permanent preview pane |
//! | yazi | a preview that follows the selection | Space, beside the list if there is room, else in its lower part; a teammate's conversation grows live; PgUp, PgDn and the wheel scroll it, other keys keep selecting: `src/ui/popup/peek.rs`, `src/ui/update/peek.rs` | a permanent column: the conversation needs the room |
//! | k9s | Enter opens, Esc goes back, everywhere | the same, also from filter, full screen and a teammate's conversation: `src/ui/update/movement.rs` | breadcrumbs: there are only two levels |
//!
//! # Hint line
//!
//! | tool | strength | adopted | not adopted, and why |
//! |---|---|---|---|
//! | lazygit | the last line shows the keys of this pane; what does not fit is dropped, `?` stays | only keys that have an effect now, most useful first, help always: `src/ui/guide/hints.rs`, `src/ui/guide/bars.rs` | – |
//! | btop | the key is a highlighted letter in the word | – | words would have to be chosen by letter, and users may change keys |
//! | k9s | all keys in columns at the top | – | it takes six rows |
//! | yazi | after the first key of a sequence, a panel lists the second keys | the hint line lists them: `src/ui/guide/hints.rs` | a panel: there is only one sequence |
//! | lazygit, opencode | a tip at the start | a tip for the next step, made from what is on screen, in the demo only: `src/ui/guide/tour.rs` | random tips: they rarely fit the situation |
//!
//! # Help, palette, filter
//!
//! | tool | strength | adopted | not adopted, and why |
//! |---|---|---|---|
//! | lazygit | `?` starts with the keys of this pane and can be filtered | both; generated from the active keymap: `src/ui/popup/readers.rs` | – |
//! | k9s | `:` goes anywhere by name | `:` and `Ctrl+p`, with the key beside each action: `src/ui/state/rows.rs` | a command language: six panes do not need one |
//! | opencode | Ctrl+p from the input; fuzzy matching; relevant actions first | the same key and matching: `src/ui/textual/fuzzy.rs`; waiting requests first, then this pane's actions, then the others: `src/ui/state/rows.rs` | – |
//! | opencode, k9s | completion: a list above the input, the rest of the word in the prompt (`internal/ui/prompt.go`) | a list above the composer for `/` and `@`: `src/ui/writing/complete.rs` | files after `@`: agents find files themselves |
//! | k9s | `/` with `!` for exclusion, and labels | `owner:`, `status:`, `tag:` and `!`; unknown terms are reported: `src/ui/board/filter.rs` | regular expressions: words are enough for titles |
//! | k9s, lazygit | every list can be filtered | board, team, inbox and event log, each with its own filter: `src/ui/writing/filters.rs`; texts are searched | short lists such as themes |
//! | yazi, btop | filtering while typing; Enter keeps the filter, a key clears it, the title shows it | all four: `src/ui/update/board.rs` | – |
//! | lazygit, tig | `/` in a long text, then `n` and `N` | in the conversation including folded output, and in every pager; the match count is on the frame: `src/ui/transcript/search.rs`, `src/ui/textual/text_search.rs` | – |
//! | lazygit, tig | a diff by file, with a list of files | the list at the top, `]` and `[`, headings with each file's status, line numbers: `src/ui/diff/page.rs` | a pane for the list, staging of lines: the user reviews and merges only |
//! | lazygit, yazi | a line of the help can be selected and run | the same; if it has no effect here, the message says where it does: `src/ui/popup/help.rs` | – |
//! | tig, lazygit | an unbound key is reported | the same, with the pane where it works: `src/ui/update/unknown.rs` | – |
//!
//! # Popups, dialogs, decisions
//!
//! | tool | strength | adopted | not adopted, and why |
//! |---|---|---|---|
//! | lazygit, yazi | irreversible actions ask first and name what will be lost | killing a teammate, taking its task, a merge, removing a worktree (twice if work is lost), quitting while agents work: `src/ui/popup/boxes.rs`; after a merge the command that undoes it: `src/crew/merge_report.rs` | a dialog before each decision: an approval is itself an answer |
//! | k9s | Cancel has the focus in a dialog (`internal/ui/dialog/confirm.go`) | `n`, Esc, `q` and Ctrl+c cancel, Enter does nothing; only the quit dialog accepts Enter and Ctrl+c: [`keymap`](crate::ui::keymap) | buttons with a cursor: two letters are faster |
//! | opencode | a permission shows the whole command; once, always, reject; a key for full screen | the card with buttons below a scrolling text; `A` chooses the scope: `src/ui/known/needs_card.rs`, `src/ui/view/needs.rs` | a cursor over the buttons with Enter to approve: Enter opens the agent, so that nothing is approved by habit |
//! | opencode | the request replaces the input, so it cannot be missed | a pane that appears with the first request, a count in the status line, `w` from anywhere | taking the focus while the user types: a typed letter must not approve anything (`src/ui/update/decide.rs`) |
//! | btop, opencode | the screen is dimmed behind a popup | the same, unless the popup is about what is behind it: `src/ui/view/popup.rs`, `src/ui/theme/mod.rs` | – |
//!
//! # Empty states, small screens, errors
//!
//! | tool | strength | adopted | not adopted, and why |
//! |---|---|---|---|
//! | lazygit | an empty list says so | each empty pane says what it will show and how to fill it: `src/ui/view/frame.rs` | – |
//! | lazygit | at 70x20 unfocused panes shrink to their titles | one pane at a time below 100 columns, the others as tabs with counts, two panes from 36 rows on: `src/ui/layout/mod.rs`; a completed todo list shrinks to its title: `src/ui/layout/arrange.rs` | stacked titles: each costs a row |
//! | lazygit | the focused panel can grow (`expandFocusedSidePanel`) | a list longer than its pane grows while focused; otherwise heights change only when a pane gets its first row: `src/ui/layout/shares.rs` | growing without need: moving panes cannot be read |
//! | btop | too small a window: its size and the required size (already at 70x20) | size and required size below 60x16, and that the crew keeps running: `src/ui/view/first.rs` | – |
//! | lazygit, yazi | resizing to 20x5 and back does no harm ("Not enough space"; cut columns) | any size is drawn: `tests/it/terminal.rs`, `src/ui/tests/robust.rs` | – |
//! | k9s, lazygit | a message has a level and disappears after six seconds; the keys stay visible | the same with five seconds, and a symbol for the level; the next key dismisses it once it was readable; it stays in the event log: `src/ui/state/mod.rs`, `src/ui/view/hints.rs` | emoji: not every font has them |
//! | tig | an unknown command is named | unknown slash commands and names, with the valid ones: `src/ui/update/compose.rs` | – |
//! | opencode | the first page works without a key and says how to get one | the same, and the demo is one key away: `src/ui/view/first.rs` | a logo |
//!
//! # Mouse, copying, colours
//!
//! | tool | strength | adopted | not adopted, and why |
//! |---|---|---|---|
//! | btop | "all buttons with a highlighted key are clickable" (`README.md`) | everything visible is clickable: rows, tasks, buttons, tabs, hints, the border between the columns: `src/ui/hit/mod.rs`, `src/ui/update/mouse.rs` | – |
//! | k9s | the terminal keeps the mouse by default (`enableMouse`) | `mouse = false` leaves it there; `M` toggles it at any time: `src/app/mouse.rs`, `src/ui/terminal.rs` | off by default: lazygit, btop and yazi react to the first click, and Shift still selects text |
//! | k9s | falls back to OSC 52 for the clipboard, which works over ssh | OSC 52: `src/ui/terminal.rs` | clipboard programs of the desktop: they are missing on the remote side |
//! | lazygit | a menu of what to copy | `Y`: a message, a code block, everything; `y` copies the selection: `src/ui/transcript/copy.rs` | – |
//! | lazygit, tig | a text in `$EDITOR` | the conversation, with `v` in the editor and with `s` in the terminal's scroll-back, which can search and select: `src/app/errand.rs` | a separate pager for it |
//! | opencode | live preview of themes | the same, and Esc restores the old one: `src/ui/popup/themes.rs` | thirty themes: two with measured contrast, one without colour, and the terminal's own sixteen colours: [`theme`](crate::ui::theme) |
//! | btop, k9s, opencode | custom themes | `[themes.NAME]`: colours by meaning over a base; unreadable colours are replaced and reported: `src/ui/theme/own.rs` | a file per theme |
//! | btop | 24 bits, 256 or 16 colours, by a setting (`README.md`) | the same three, detected automatically: `src/ui/theme/depth.rs` | symbols for consoles without fonts |
//! | lazygit | no colour with `NO_COLOR` (btop, yazi and opencode keep theirs) | the same; statuses differ in symbol and weight: `src/ui/theme/mono.rs` | – |
//!
//! # Custom keys
//!
//! | tool | strength | adopted | not adopted, and why |
//! |---|---|---|---|
//! | lazygit, yazi | every action can be rebound, in lazygit also unbound (`docs/keybindings/Custom_Keybindings.md`) | `[keys]`, for all contexts or one; `[]` unbinds: `src/ui/keymap/change.rs` | a separate keymap file |
//! | k9s | custom keys are in the help (`README.md`, hotkeys) | in help, hints, palette and tour: `src/ui/keymap/map.rs` | reloading at run time: an invalid file is reported at the start, before the screen is set up |
//! | lazygit, k9s | custom commands on keys | – | running commands is the agents' job, inside their sandbox; `Ctrl+z` gives a shell |
//! | lazygit, k9s | settings per repository or cluster | only settings that suit a project; a repository cannot change keys: `src/config/trust.rs` | – |
//!
//! # History and undo
//!
//! | tool | strength | adopted | not adopted, and why |
//! |---|---|---|---|
//! | lazygit | a log of the commands that it ran | the conversation shows each tool call; `@` shows all events with agent and reason: `src/ui/event_log/mod.rs`; everything is on disk and can be replayed: [`replay`](crate::ui::replay), `src/app/journal.rs` | a permanent pane |
//! | lazygit | `z` undoes what git's reflog knows (`docs/Undoing.md`) | earlier input comes back with Up, also after Ctrl+c: `src/ui/writing/composer.rs` | an undo: a message cannot be unsent; decisions are guarded beforehand instead (`src/ui/update/decide.rs`) |
//! | k9s | a log follows its end while a switch is on (`internal/view/log.go`) | it follows until the user scrolls, and counts new lines meanwhile: `src/ui/transcript/follow.rs` | a switch: scrolling is the switch |
//! | yazi | background tasks have a page (`w`), and quitting asks because of them | `b` with the last output of each job; `q` asks: `src/ui/view/jobs.rs` | – |
//! | – | not compared: notifications do not show on a screen | a bell or desktop notification, only while the window is not focused, at most one in ten seconds: [`attention`](crate::ui::attention) | – |
//! | btop, yazi, lazygit | first screen within a fifth of a second | the same: `benches/screen.rs` measures it | – |
