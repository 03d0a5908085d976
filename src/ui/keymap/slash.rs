//! The slash commands of the composer, their aliases, and replacements for slash commands of similar programs.

use crate::ui::keymap::Action;
use crate::ui::keymap::pane::Pane;

/// The slash commands of the composer: command, action and description. The palette also lists a command whose action
/// has no key.
#[rustfmt::skip]
pub const SLASH: &[(&str, Action, &str)] = &[
    ("/model", Action::Models, "choose another model"),
    ("/approve", Action::ApproveShown, "approve the request of this agent; add a comment"),
    ("/reject", Action::RejectShown, "reject the request of this agent; add a comment"),
    ("/compact", Action::Compact, "summarise the conversation; add what it must keep"),
    ("/clear", Action::Clear, "empty this conversation; the old one stays on disk"),
    ("/new", Action::NewSession, "start a new session"),
    ("/resume", Action::Sessions, "choose an earlier session and resume it"),
    ("/init", Action::Init, "the lead writes or improves AGENTS.md"),
    ("/memory", Action::Memory, "show what an agent was given: project memory, role, instructions"),
    ("/export", Action::Export, "write this conversation to a file: NAME.md or NAME.html"),
    ("/copy", Action::Copy, "copy the last answer, or what is selected"),
    ("/cost", Action::Popup("costs"), "show usage: tokens, cost, budgets, calls"),
    ("/doctor", Action::Doctor, "check this machine, the model and the project"),
    ("/permissions", Action::Popup("rules"), "view or revoke team permissions"),
    ("/theme", Action::Popup("themes"), "choose another theme"),
    ("/tasks", Action::Focus(Pane::Board), "go to the board"),
    ("/team", Action::Focus(Pane::Team), "go to the team; add the name of a preset to start it"),
    ("/jobs", Action::Popup("jobs"), "show the background jobs"),
    ("/log", Action::Popup("event_log"), "show the event log: what happened, when, by whom and why"),
    ("/problems", Action::Popup("problems"), "show problems and fixes: agents that wait, failed or are stuck"),
    ("/mcp", Action::Popup("servers"), "show the MCP servers: state, tools, calls, log"),
    ("/skills", Action::Popup("skills"), "show the skills that agents can load"),
    ("/help", Action::Help, "show the keys"),
    ("/quit", Action::Close, "quit"),
];

/// Aliases of slash commands: alias, then command. The completion does not list them.
#[rustfmt::skip]
pub const SLASH_ALIASES: &[(&str, &str)] = &[
    ("/agents", "/team"), ("/approvals", "/permissions"), ("/bashes", "/jobs"), ("/board", "/tasks"), ("/budget", "/cost"),
    ("/commands", "/help"), ("/continue", "/resume"), ("/events", "/log"), ("/exit", "/quit"), ("/history", "/log"),
    ("/keybindings", "/help"), ("/keys", "/help"), ("/mcps", "/mcp"), ("/models", "/model"), ("/ps", "/jobs"), ("/q", "/quit"),
    ("/reset", "/clear"), ("/rules", "/permissions"), ("/save", "/export"), ("/sessions", "/resume"), ("/shortcuts", "/help"),
    ("/stats", "/cost"), ("/subagents", "/team"), ("/summarize", "/compact"), ("/teammates", "/team"), ("/themes", "/theme"), ("/tokens", "/cost"),
    ("/usage", "/cost"),
];

/// Slash commands of similar programs that crewdeck does not have, each with a text that says what to use instead. In
/// the text, `{board.diff}` is replaced by the key of the action `diff` on the board.
#[rustfmt::skip]
pub const SLASH_ELSEWHERE: &[(&[&str], &str)] = &[
    (&["/add-dir"], "The setting write names folders outside the project; restart crewdeck after a change."),
    (&["/auto", "/mode", "/yolo"], "crewdeck has no permission modes: {needs.approve_for_team} on a request allows it for the team; --tool auto at the start allows all."),
    (&["/branch", "/fork"], "A conversation cannot be forked. /new starts a session, /resume returns to an earlier one."),
    (&["/btw", "/side"], "Another agent can answer without disturbing this one: @NAME and the question. {composer.focus_team} shows the team."),
    (&["/config", "/settings"], "Settings are in .crewdeck/config.toml of the project and in ~/.config/crewdeck/config.toml."),
    (&["/connect", "/login", "/logout"], "The key of a provider is an environment variable, which /doctor names and checks. /mcp logs in to an MCP server."),
    (&["/context"], "The team ({composer.focus_team}) shows how full each context is; /compact summarises the conversation."),
    (&["/details", "/thinking"], "{composer.unfold_paste} opens or folds all tool output of the conversation."),
    (&["/diff"], "Each task has its own diff: {composer.focus_board}, then {board.diff}."),
    (&["/editor"], "{composer.edit_in_editor} edits the draft in $EDITOR; {composer.focus_lead}, then {lead.read_in_editor} opens the conversation there."),
    (&["/effort", "/fast", "/reasoning"], "The reasoning effort is that of the model: /model chooses another one."),
    (&["/find", "/search"], "{composer.focus_lead}, then {lead.search} searches the conversation."),
    (&["/hooks"], "Hooks are in ~/.config/crewdeck/hooks.json, .claude/settings.json and .crewdeck/hooks.json; crewdeck trust approves them."),
    (&["/keymap"], "Keys are changed in [keys] of ~/.config/crewdeck/config.toml; /help lists them."),
    (&["/output-style", "/personality"], "AGENTS.md holds what agents know about the project; /init writes it."),
    (&["/mention"], "Type @ and a part of the name to attach a file."),
    (&["/merge"], "Tasks are merged one by one or all at once: {composer.focus_board}, then {board.merge}."),
    (&["/plugins"], "/mcp lists the MCP servers, which add tools, and /skills the reusable instructions."),
    (&["/plan"], "Ask the lead for a plan first, or to spawn teammates that must plan before they work. Their plans wait for your approval in \"Needs you\"."),
    (&["/redo", "/rewind", "/undo"], "There are no checkpoints: each task works in its own worktree, and only a merge changes your branch."),
    (&["/rename"], "A session is listed with its first message and its tasks: /resume."),
    (&["/review", "/security-review"], "Ask the lead for a review: a teammate does it with the skill code-review (/skills)."),
    (&["/share"], "/export writes the conversation to a file: NAME.md or NAME.html."),
    (&["/status", "/statusline"], "The status line shows model and agents; /cost shows usage, /doctor checks the setup, /problems what is stuck."),
    (&["/stop"], "{everywhere.interrupt} stops the shown agent; /jobs lists the background jobs and stops them."),
    (&["/terminal-setup"], "{composer.newline} inserts a line break in every terminal. If Option types symbols, /help names other keys than Alt."),
    (&["/timeline"], "{composer.focus_lead}, then {lead.prev_prompt} goes to your previous message."),
    (&["/todo", "/todos"], "{everywhere.todo} shows or hides the todo list."),
    (&["/vim"], "{composer.edit_in_editor} edits the draft in $EDITOR."),
];
