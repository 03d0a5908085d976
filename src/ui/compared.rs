//! What this dashboard was compared with, and what was taken over.
//!
//! Words alone, for whoever changes the screen: look here before a key, a popup or a line is made in another way.
//! `tests/architecture.rs` checks that each file that is named here exists.
//!
//! # What was looked at
//!
//! *Run* means: driven with keys and mouse in a terminal of 160x45, 100x30 and 70x20, beside `crewdeck --demo` in the
//! same sizes. *Read* means: its documentation or source, where it could not be run or does not show a thing by itself.
//! Files of other programs are named as they stand in their repositories.
//!
//! | tool | what it is | how |
//! |---|---|---|
//! | lazygit 0.66.2 | panes over a git repository | run; read: `docs/Config.md`, `docs/Undoing.md`, `docs/Searching.md`, `docs/keybindings`, `pkg/gui` |
//! | k9s, after 0.50.18 | lists of what runs in a cluster | read alone (it needs a cluster): `README.md`, `internal/ui`, `internal/view` |
//! | btop 1.2.13 | boxes of numbers that move | run; read: `README.md` of 1.4.7 |
//! | yazi 26.9.1 | columns of files | run; read: `yazi-config/preset` |
//! | opencode 1.18.33 | a conversation with one coding agent | run, with a scripted model on the same machine |
//! | tig 2.5.5 | lists of commits | run, as a second opinion on texts and lists |
//!
//! # First glance
//!
//! | tool | what it does well | taken over | not, and why |
//! |---|---|---|---|
//! | lazygit | numbered panes; the number is the key | pane numbers on the frames, the same key again for the whole screen: `src/ui/state/pane.rs`, `src/ui/view/frame.rs` | one big pane that follows the selection: here the conversation is the big one |
//! | btop | the frame carries words: title, counts, buttons; not a row is lost | counts above, progress and totals below, on the frame: `src/ui/view/frame.rs`, `src/ui/board/progress.rs` | colour gradients by value: states here have names, and each has its shape too (`src/ui/look.rs`) |
//! | btop | one table for what everything takes, the most first | `$`: by agent and by task, with a bar for the share: `src/ui/costs/table.rs` | sorting by each column: what is dear comes first |
//! | btop | a row of small bars says how busy something was | five minutes of each teammate: `src/ui/known/pulse.rs` | big graphs: what agents use is a sum, not a wave |
//! | k9s | the header says where one is and how it stands | one line: which project, who works, who waits, model, window, tokens, cost: `src/ui/view/status.rs`; project in the terminal's title | several rows of header and a logo: the rows are worth more |
//! | k9s | pulses: a page of its own for how all of it is (`internal/view/pulse.go`) | `p`: who waits, failed or stands still, with the key that helps: `src/ui/problems/mod.rs` | – |
//! | opencode | a conversation, one input, nearly nothing else; the output of tools is cut ("Click to expand") | folded tool calls, opened one by one, and those of one tool that follow each other in one line: `src/ui/transcript/fold.rs`, `src/ui/transcript/calls.rs`; names and values, not JSON: `src/ui/transcript/fields.rs`; the composer has the keys at the start | a screen that hides the rest of the crew: seeing it is the point here |
//!
//! # Focus and selection
//!
//! | tool | what it does well | taken over | not, and why |
//! |---|---|---|---|
//! | lazygit | the frame with the keys has another colour; a selected row is a bar | both, and a mark at the left of the row for terminals without colour: `src/ui/view/frame.rs` | – |
//! | lazygit, btop, yazi | a scroll bar, and which of how many rows is selected | a thumb in the right edge of whatever is longer than its place, which costs no column and which the mouse pulls: `src/ui/layout/scrollbar.rs`; "7 of 20" below it | a percentage: a row's number can be said to others |
//! | yazi | `j k g G`, half pages and arrows work alike everywhere | one table for all panes and popups: [`keymap`](crate::ui::keymap) | – |
//! | yazi | a column to the right shows what is selected | the letter below its list: `src/ui/view/inbox.rs`; the selected task's line below the board, with what it unblocks: `src/ui/view/board/mod.rs`, `src/ui/board/unlocks.rs` | a preview pane that is always there |
//! | yazi | a look at what is selected while one walks over the list | Space, where there is room beside the list, else in its lower part; a teammate's conversation grows there; PgUp, PgDn and the wheel scroll it, the other keys go on choosing: `src/ui/popup/peek.rs`, `src/ui/update/peek.rs` | a column that is always there: the conversation is worth more |
//! | k9s | Enter goes in, Esc comes back, from everything | the same, also out of filter, zoom and a teammate's conversation: `src/ui/update/movement.rs` | a trail of crumbs: there are two levels |
//!
//! # The line of keys
//!
//! | tool | what it does well | taken over | not, and why |
//! |---|---|---|---|
//! | lazygit | the last line names the keys of this pane; what does not fit is cut, and `?` stays | keys that do something now, the most useful first, help always: `src/ui/guide/hints.rs`, `src/ui/guide/bars.rs` | – |
//! | btop | the key is the highlighted letter in the word itself | – | words would have to be chosen by their letters, and people may change keys |
//! | k9s | keys at the top, in columns, always all of them | – | it takes six rows |
//! | yazi | after the first of two keys a panel lists the second ones | the hint line lists them: `src/ui/guide/hints.rs` | a panel: there is one such key |
//! | lazygit, opencode | a tip at the start | a line that says what comes next, made from what is on screen, in the demo alone: `src/ui/guide/tour.rs` | random tips: they are right by chance |
//!
//! # Help, palette, filter
//!
//! | tool | what it does well | taken over | not, and why |
//! |---|---|---|---|
//! | lazygit | `?` begins with the keys of this pane and can be filtered | both; it is made from the key map in use, so it can not be wrong: `src/ui/popup/readers.rs` | – |
//! | k9s | `:` goes anywhere by a word | `:` and `Ctrl+p`, with the key beside each action, so that it teaches them: `src/ui/state/rows.rs` | a language of commands: six panes need none |
//! | opencode | Ctrl+p from the input; letters that need not stand together; what suits now comes first | the same key, the same matching: `src/ui/textual/fuzzy.rs`; what waits first, then this pane's actions, then those of the others: `src/ui/state/rows.rs` | – |
//! | opencode, k9s | a word that is begun is completed: a list above the input, the rest of the word in the prompt (`internal/ui/prompt.go`) | a list above the composer for `/` and `@`: `src/ui/writing/complete.rs` | files behind `@`: agents find them by themselves |
//! | k9s | `/` with `!` for what is not wanted and labels | `owner:`, `status:`, `tag:` and `!`; what is not understood is said: `src/ui/board/filter.rs` | regular expressions: words are enough for titles |
//! | k9s, lazygit | every list can be filtered | board, team, inbox and event log, each keeps its own: `src/ui/writing/filters.rs`; texts are searched | lists that fit the screen: themes are few |
//! | yazi, btop | the filter narrows while it is written, Enter keeps it, a key clears it, the title says that there is one | all four: `src/ui/update/board.rs` | – |
//! | lazygit, tig | `/` in a long text, then `n` and `N` | in the conversation, folded output too, and in every text that is read; the match is counted on the frame: `src/ui/transcript/search.rs`, `src/ui/textual/text_search.rs` | – |
//! | lazygit, tig | a diff file by file, with a list of the files and keys between them | the list above, `]` and `[`, headings with what became of a file, numbers: `src/ui/diff/page.rs` | a pane for the list, staging of lines: the person reads what agents did, and merges it or not |
//! | lazygit, yazi | a line of the help can be chosen, and is done | the same; what means nothing here says where it does: `src/ui/popup/help.rs` | – |
//! | tig, lazygit | a key without a meaning says so | the same, with the pane in which it has one: `src/ui/update/unknown.rs` | – |
//!
//! # Popups, questions, decisions
//!
//! | tool | what it does well | taken over | not, and why |
//! |---|---|---|---|
//! | lazygit, yazi | what can not be taken back is asked first, and the question names what will be gone | ending a teammate by force, taking its task, a merge, removing a worktree (twice where work is lost), leaving while agents work: `src/ui/popup/boxes.rs`; after a merge the command that takes it back: `src/crew/branch_status.rs` | a question before each decision: an approval is itself the answer to one |
//! | k9s | Cancel has the focus in a question (`internal/ui/dialog/confirm.go`) | `n`, Esc, `q` and Ctrl+c are no, Enter is nothing; only in the question before leaving they mean what they say: [`keymap`](crate::ui::keymap) | buttons to walk over: two letters are faster |
//! | opencode | a permission shows the whole command; once, always, reject; a key shows it on the whole screen | the card with its buttons below a text that scrolls; `A` chooses how far a yes reaches: `src/ui/known/needs_card.rs`, `src/ui/view/needs.rs` | a cursor over the buttons, with Enter for yes: Enter opens the agent, so that nothing is approved by habit |
//! | opencode | the request takes the input's place, so it can not be missed | a pane that is there when something waits, a word in the status line, `w` from anywhere | taking the keys from who writes: a letter of a sentence must approve nothing (`src/ui/update/decide.rs`) |
//! | btop, opencode | the rest of the screen goes dim below a popup | the same, but where the popup is about what lies below it: `src/ui/view/popup.rs`, `src/ui/theme/mod.rs` | – |
//!
//! # Nothing there, not enough room, something wrong
//!
//! | tool | what it does well | taken over | not, and why |
//! |---|---|---|---|
//! | lazygit | an empty list says so | each empty pane says what will be there and how it comes about: `src/ui/view/frame.rs` | – |
//! | lazygit | at 70x20 the panes without the keys shrink to their titles | one pane at a time below 100 columns, the others as tabs with their counts, two from 36 rows on: `src/ui/layout/mod.rs`; a todo list that is done is its title: `src/ui/layout/arrange.rs` | titles one below the other: they cost a row each |
//! | lazygit | the panel with the keys can have more room (`expandFocusedSidePanel`) | a list that is longer than its pane grows while it has the keys; else rows change only when a pane gets its first one: `src/ui/layout/shares.rs` | growing without need: what jumps can not be read |
//! | btop | too small a window: what it is, what it needs (at 70x20 already) | what it is and what it needs, from below 60x16 on, and that the crew goes on: `src/ui/view/first.rs` | – |
//! | lazygit, yazi | 20x5 and back does no harm ("Not enough space"; cut columns) | any size is drawn: `tests/terminal.rs`, `src/ui/tests/robust.rs` | – |
//! | k9s, lazygit | a message has a level and goes by itself after six seconds; the keys stay in view beside it | the same with five, and a mark for the level; the next key puts it away once it was read; it is kept for later: `src/ui/state/mod.rs`, `src/ui/view/hints.rs` | faces as marks: not every font has them |
//! | tig | an unknown command is named | slash words and names that there are not, with those that there are: `src/ui/update/compose.rs` | – |
//! | opencode | the first page works without a key and says how to get one | the same, and the demo is one key away: `src/ui/view/first.rs` | a logo |
//!
//! # Mouse, copying, colours
//!
//! | tool | what it does well | taken over | not, and why |
//! |---|---|---|---|
//! | btop | "all buttons with a highlighted key are clickable" (`README.md`) | whatever is shown can be pressed: rows, tasks, buttons, tabs, hints, the border between the columns: `src/ui/hit/mod.rs`, `src/ui/update/mouse.rs` | – |
//! | k9s | the mouse is the terminal's until it is asked for (`enableMouse`) | `mouse = false` leaves it there; `M` gives it and takes it at any time: `src/app/mouse.rs`, `src/ui/terminal.rs` | leaving it by default: lazygit, btop and yazi answer to the first click, and Shift selects text all the same |
//! | k9s | falls back to OSC 52 for the clipboard, which works through ssh | OSC 52: `src/ui/terminal.rs` | programs of the desktop: they are not there on the other side |
//! | lazygit | a menu of what can be copied | `Y`: a message, a code block, all of it; `y` the nearest thing: `src/ui/transcript/copy.rs` | – |
//! | lazygit, tig | a text in `$EDITOR`, behind the screen | the conversation, with `v` in the editor and with `s` as lines of the terminal itself, which can scroll, search and select them: `src/app/errand.rs` | a pager of its own for it |
//! | opencode | each theme is shown while one walks over the list | the same, and Esc brings the old one back: `src/ui/popup/themes.rs` | thirty themes: two with measured contrast, none, and the terminal's own sixteen, which the person has chosen already: [`theme`](crate::ui::theme) |
//! | btop, k9s, opencode | themes that people write themselves | `[themes.NAME]`: colours for meanings over a base; what could not be read gets another colour, and is told: `src/ui/theme/own.rs` | a file for each, and folders of them |
//! | btop | 24 bits, 256 colours or 16, by a setting (`README.md`) | the same three, found out by itself: `src/ui/theme/depth.rs` | symbols for consoles without fonts |
//! | lazygit | under `NO_COLOR` there is no colour (btop, yazi and opencode keep theirs) | the same; states differ in shape and weight: `src/ui/theme/mono.rs` | – |
//!
//! # Keys of one's own
//!
//! | tool | what it does well | taken over | not, and why |
//! |---|---|---|---|
//! | lazygit, yazi | every action can have other keys, in lazygit none as well (`docs/keybindings/Custom_Keybindings.md`) | `[keys]`, for all contexts or one; none is `[]`: `src/ui/keymap/change.rs` | a file of its own beside the settings |
//! | k9s | own keys stand in the help (`README.md`, hotkeys) | in help, hints, palette and tour: `src/ui/keymap/map.rs` | being read again while it runs: a wrong file is told at the start, before the screen is taken |
//! | lazygit, k9s | commands of one's own on keys | – | running things is what the agents are for, below their guard; `Ctrl+z` gives the shell |
//! | lazygit, k9s | settings for each repository or cluster | only what suits a project; what a repository brings along can change no key: `src/config/trust.rs` | – |
//!
//! # What happened, and the way back
//!
//! | tool | what it does well | taken over | not, and why |
//! |---|---|---|---|
//! | lazygit | the log of the commands that it ran for you | the conversation shows each tool call; `@` tells what happened, by whom and why: `src/ui/event_log/mod.rs`; all of it is on disk and can be played again: [`replay`](crate::ui::replay), `src/app/journal.rs` | a pane that is always in view |
//! | lazygit | `z` takes back what git's reflog knows (`docs/Undoing.md`) | what was written comes back with Up, also after Ctrl+c: `src/ui/writing/composer.rs` | an undo: what an agent has heard it has heard; a decision is guarded before it is made (`src/ui/update/decide.rs`) |
//! | k9s | a log follows its end while a switch says so (`internal/view/log.go`) | it follows until one scrolls, and what came meanwhile is counted: `src/ui/transcript/follow.rs` | a switch for it: scrolling is the switch |
//! | yazi | work in the background has a page (`w`), and leaving asks because of it | `b` with the last output of each job; `q` asks: `src/ui/view/jobs.rs` | – |
//! | – | not compared: a call is not seen in a picture | a bell or a notification, only when the window is not looked at, at most one in ten seconds: [`attention`](crate::ui::attention) | – |
//! | btop, yazi, lazygit | the first screen within a fifth of a second | the same: `benches/screen.rs` measures it | – |
//!
//! # What the comparison left open
//!
//! Not refused, only not there. Whoever builds one moves its line up into a table.
//!
//! - the branch in the status line (lazygit, opencode, k9s)
