//! The slash commands of the composer, their aliases, and replacements for slash commands of similar programs.

use crate::ui::keymap::Action;
use crate::ui::keymap::pane::Pane;

/// The slash commands of the composer: command, action and description. The palette also lists a command whose action
/// has no key.
#[rustfmt::skip]
pub const SLASH: &[(&str, Action, &str)] = &[
    ("/model", Action::Models, "choose another model"),
    ("/approve", Action::ApproveShown, "approve the shown agent's request; takes a comment"),
    ("/reject", Action::RejectShown, "reject the shown agent's request; takes a comment"),
    ("/compact", Action::Compact, "summarise the conversation; takes what to keep"),
    ("/clear", Action::Clear, "empty this conversation; a copy stays on disk"),
    ("/rewind", Action::Rewind, "restore files or conversation to a checkpoint; takes @NAME"),
    ("/new", Action::NewSession, "start a new session"),
    ("/resume", Action::Sessions, "choose an earlier session and resume it"),
    ("/init", Action::Init, "let the lead write or improve AGENTS.md"),
    ("/memory", Action::Memory, "show what an agent was given: project memory, role, instructions"),
    ("/export", Action::Export, "write this conversation to a file: NAME.md or NAME.html"),
    ("/copy", Action::Copy, "copy the selection, or else the last answer"),
    ("/cost", Action::Popup("costs"), "show usage: tokens, cost, budgets, calls"),
    ("/doctor", Action::Doctor, "check this machine, the model and the project"),
    ("/permissions", Action::Popup("rules"), "view or revoke team permissions"),
    ("/theme", Action::Popup("themes"), "choose another theme"),
    ("/tasks", Action::Focus(Pane::Board), "go to the board"),
    ("/team", Action::Focus(Pane::Team), "go to the team; with a preset's name, start the preset"),
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
    ("/agents", "/team"), ("/approvals", "/permissions"), ("/bashes", "/jobs"), ("/board", "/tasks"), ("/budget", "/cost"), ("/checkpoints", "/rewind"),
    ("/commands", "/help"), ("/continue", "/resume"), ("/events", "/log"), ("/exit", "/quit"), ("/history", "/log"),
    ("/keybindings", "/help"), ("/keys", "/help"), ("/mcps", "/mcp"), ("/models", "/model"), ("/ps", "/jobs"), ("/q", "/quit"),
    ("/reset", "/clear"), ("/rules", "/permissions"), ("/save", "/export"), ("/sessions", "/resume"), ("/shortcuts", "/help"),
    ("/stats", "/cost"), ("/subagents", "/team"), ("/summarize", "/compact"), ("/teammates", "/team"), ("/themes", "/theme"), ("/tokens", "/cost"),
    ("/undo", "/rewind"), ("/usage", "/cost"),
];

/// Slash commands of similar programs that crewdeck does not have, each with a text that says what to use instead. In
/// the text, `{board.diff}` is replaced by the key of the action `diff` on the board.
#[rustfmt::skip]
pub const SLASH_ELSEWHERE: &[(&[&str], &str)] = &[
    (&["/add-dir"], "The setting write in config.toml lists more folders that commands may write to; restart crewdeck after a change."),
    (&["/auto", "/mode", "/yolo"], "crewdeck has no permission modes: {needs.approve_for_team} on a request allows it for the team; crewdeck --tool auto approves every permission request."),
    (&["/branch", "/fork"], "A conversation cannot be forked. /new starts a session, /resume returns to an earlier one."),
    (&["/btw", "/side"], "Write @NAME and a question to ask another agent without disturbing this one. {composer.focus_team} shows the team."),
    (&["/config", "/settings"], "Settings are in .crewdeck/config.toml of the project and in ~/.config/crewdeck/config.toml."),
    (&["/connect", "/login", "/logout"], "Set the API key of a provider in an environment variable; /doctor names and checks the variable. /mcp logs in to an MCP server."),
    (&["/context"], "The team ({composer.focus_team}) shows how full each agent's context is; /compact summarises the conversation."),
    (&["/details", "/thinking"], "{composer.unfold_paste} opens or folds all tool output of the conversation."),
    (&["/diff"], "Each task has its own diff: {composer.focus_board}, then {board.diff}."),
    (&["/editor"], "{composer.edit_in_editor} edits the draft in $EDITOR; {composer.focus_lead}, then {lead.read_in_editor} opens the conversation in $EDITOR."),
    (&["/effort", "/fast", "/reasoning"], "The reasoning effort depends on the model and on the agent's role; /model chooses another model."),
    (&["/find", "/search"], "{composer.focus_lead}, then {lead.search} searches the conversation."),
    (&["/hooks"], "Hooks are in ~/.config/crewdeck/hooks.json, .claude/settings.json and .crewdeck/hooks.json; crewdeck trust approves the project's."),
    (&["/keymap"], "Change keys in [keys] of ~/.config/crewdeck/config.toml; /help lists all keys."),
    (&["/output-style", "/personality"], "Write instructions for all agents in AGENTS.md; /init creates the file."),
    (&["/mention"], "Type @ and a part of a file's name to attach the file."),
    (&["/merge"], "Tasks are merged one by one or all at once: {composer.focus_board}, then {board.merge}."),
    (&["/plugins"], "/mcp lists the MCP servers, which add tools; /skills lists the skills, which are reusable instructions."),
    (&["/plan"], "Ask the lead for a plan first, or to spawn teammates that must plan before they work. Their plans wait for your approval in \"Needs you\"."),
    (&["/redo"], "A rewind records a checkpoint first: /rewind to that checkpoint undoes the rewind."),
    (&["/rename"], "Sessions have no names: /resume lists each with its first message and its tasks."),
    (&["/review", "/security-review"], "Ask the lead for a review: a teammate does it with the skill code-review (/skills)."),
    (&["/share"], "/export writes the conversation to a file: NAME.md or NAME.html."),
    (&["/status", "/statusline"], "The status line shows model and agents; /cost shows usage, /doctor checks the setup, /problems what is stuck."),
    (&["/stop"], "{everywhere.interrupt} stops the shown agent; /jobs, then {jobs.kill} stops a background job."),
    (&["/terminal-setup"], "{composer.newline} inserts a line break in every terminal. If Option types symbols, use the keys without Alt that /help lists."),
    (&["/timeline"], "{composer.focus_lead}, then {lead.prev_prompt} goes to your previous message."),
    (&["/todo", "/todos"], "{everywhere.todo} shows or hides the todo list."),
    (&["/vim"], "{composer.edit_in_editor} edits the draft in $EDITOR."),
];
