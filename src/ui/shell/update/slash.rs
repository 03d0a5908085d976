//! Slash commands: reads them from the composer, and runs those that have no key.

use crate::domain::ids::Name;
use crate::domain::slash_command;
use crate::domain::text::clip;
use crate::protocol::Command;
use crate::protocol::event::SessionInfo;
use crate::ui::app::effect::Effect;
use crate::ui::app::popup::open as open_popup;
use crate::ui::app::{App, onboarding};
use crate::ui::keymap::pane::Pane;
use crate::ui::keymap::{Action, SLASH, SLASH_ALIASES, SLASH_ELSEWHERE};
use crate::ui::popups::confirm::Confirmation;
use crate::ui::popups::confirm::clear::ClearConversation;
use crate::ui::popups::confirm::start_session;
use crate::ui::popups::{doctor, models, rewind, sessions};
use crate::ui::text::format_date;
use crate::ui::transcript::{ExportFormat, ExportHead};

/// The prompt that `/init` sends.
pub const INIT_PROMPT: &str = include_str!("init.md");
/// Minimum similarity, from 0 to 1, at which a mistyped command counts as a known one. Of a command with four
/// characters, one may be wrong.
const SIMILARITY_MIN: f64 = 0.7;

/// The result of reading a message as a slash command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Slash<'a> {
    /// The message is not a command, for example because it begins with a path.
    No,
    /// A text that looks like a command but names no known command, or a known command with text after it although it
    /// takes none. Holds the error message.
    Unknown(String),
    /// A command of similar programs that crewdeck does not have. The text says what to use instead, with placeholders
    /// for keys.
    Elsewhere(&'static str),
    /// The action of a command, and the text after the command, which may be empty.
    Command(Action, &'a str),
}

/// Reads a message as a slash command. A slash followed by lower-case ASCII characters or hyphens is a command. If more
/// words follow, the message is a command only if the first word is a known command or resembles one.
pub fn read(text: &str) -> Slash<'_> {
    let (word, argument) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    let argument = argument.trim();
    let is_letter = |b: u8| b.is_ascii_lowercase() || b == b'-';
    let is_command = |name: &str| !name.is_empty() && name.bytes().all(is_letter);
    if !word.strip_prefix('/').is_some_and(is_command) {
        return Slash::No;
    }
    let alias = SLASH_ALIASES.iter().find(|(alias, _)| *alias == word);
    let name = alias.map_or(word, |(_, name)| name);
    let mut elsewhere = SLASH_ELSEWHERE.iter();
    if let Some((_, what)) = elsewhere.find(|(others, _)| others.contains(&word)) {
        return Slash::Elsewhere(what);
    }
    match SLASH.iter().find(|(known, ..)| *known == name) {
        Some((_, action, _)) if argument.is_empty() || takes_text(*action) => {
            Slash::Command(*action, argument)
        }
        Some(_) => Slash::Unknown(format!("{word} takes no text after it.")),
        None => match nearest(word) {
            Some(nearest) => {
                Slash::Unknown(format!("Unknown command {word}. Did you mean {nearest}?"))
            }
            None if argument.is_empty() => Slash::Unknown(format!(
                "Unknown command {word}. Type / to see all commands."
            )),
            None => Slash::No,
        },
    }
}

/// Returns whether a message is a command that a file or a skill defines; the crew turns it into a prompt. False if a
/// built-in command has the same name.
pub fn is_from_file(app: &App, text: &str) -> bool {
    let name = slash_command::split(text).map(|(name, _)| name);
    name.is_some_and(|name| !is_built_in(name) && app.model.skills.command(name).is_some())
}

/// Returns whether a built-in command or one of its aliases is called `name`. `name` does not include the slash.
pub fn is_built_in(name: &str) -> bool {
    let is_name = |command: &str| command.strip_prefix('/') == Some(name);
    SLASH.iter().any(|(known, ..)| is_name(known))
        || SLASH_ALIASES.iter().any(|(alias, _)| is_name(alias))
}

/// Returns the known command that is most similar to `word`, with its slash; `None` if none is similar enough.
fn nearest(word: &str) -> Option<&'static str> {
    let aliases = SLASH_ALIASES.iter().map(|(alias, _)| *alias);
    let known = SLASH.iter().map(|(known, ..)| *known).chain(aliases);
    let characters = word.trim_start_matches('/');
    let score = |known: &str| strsim::normalized_damerau_levenshtein(characters, &known[1..]);
    let scored = known.map(|known| (score(known), known));
    let best = scored.max_by(|a, b| a.0.total_cmp(&b.0))?;
    (best.0 >= SIMILARITY_MIN).then_some(best.1)
}

fn takes_text(action: Action) -> bool {
    matches!(
        action,
        Action::Compact
            | Action::Export
            | Action::Memory
            | Action::Models
            | Action::Rewind
            | Action::Sessions
            | Action::Focus(Pane::Team)
            | Action::ApproveShown
            | Action::RejectShown
    )
}

/// Handles `action`, the action of a slash command in the composer. `argument` is the text after the command. Returns
/// the action if the caller must run it:
///
/// - An action that approves or rejects is returned. The draft stays in the composer, because it is the comment.
/// - An action with an empty `argument` is returned, and the composer is cleared.
/// - An action with an argument is run here, and the composer is cleared. If the action is refused, a status message
///   says why.
pub fn run(app: &mut App, action: Action, argument: &str, out: &mut Vec<Effect>) -> Option<Action> {
    if matches!(action, Action::ApproveShown | Action::RejectShown) {
        // The draft is the comment, so it stays in the composer until the decision is sent.
        return Some(action);
    }
    let argument = argument.to_string();
    app.input.clear_sent();
    if argument.is_empty() {
        return Some(action);
    }
    let refused = app.role.refuses(action);
    if let Some(why) = refused.or_else(|| onboarding::refuses(app, action)) {
        app.say(why);
        return None;
    }
    act(app, action, &argument, out);
    None
}

/// Runs `action`, the action of a slash command. `argument` is the text after the command; it may be empty. Does nothing
/// for an action that this file has no function for.
pub fn act(app: &mut App, action: Action, argument: &str, out: &mut Vec<Effect>) {
    match action {
        Action::Compact => compact(app, argument, out),
        Action::Clear => clear(app, out),
        Action::Rewind => rewind(app, argument, out),
        Action::NewSession => start_session::start(app, None, out),
        Action::Sessions if argument.is_empty() => sessions::open(app, out),
        Action::Sessions => start_session::start(app, Some(argument.into()), out),
        Action::Init => init(app, out),
        Action::Memory => show_memory(app, argument, out),
        Action::Focus(Pane::Team) => {
            let preset = argument.to_string();
            out.push(Effect::Command(Command::StartTeam { preset }));
        }
        Action::Export => export(app, argument, out),
        Action::Doctor => doctor::open(app, out),
        Action::Models => {
            models::use_model(app, argument.to_string(), out);
        }
        _ => {}
    }
}

/// Asks the crew to compact the conversation of the shown agent. `focus` says what the summary should focus on; it may
/// be empty. For a subagent, only shows a message that subagents compact automatically.
fn compact(app: &mut App, focus: &str, out: &mut Vec<Effect>) {
    let agent = app.shown.clone();
    if agent.parent().is_some() {
        app.warn("Subagents compact automatically.");
        return;
    }
    let ended = |app: &App, agent: &Name| app.model.agents.get(agent).map(|a| a.ended);
    let (before, of) = (ended(app, &agent), agent.clone());
    app.say_while(
        format!("Compacting the conversation of {agent}…"),
        move |app| ended(app, &of) == before,
    );
    out.push(Effect::Command(Command::Compact {
        agent,
        focus: focus.into(),
    }));
}

/// Empties the conversation of the shown agent. If the agent is working, asks the user first. For a subagent, only shows a
/// message that its conversation cannot be cleared.
fn clear(app: &mut App, out: &mut Vec<Effect>) {
    let agent = app.shown.clone();
    if agent.parent().is_some() {
        let text = "The conversation of a subagent ends with its work and cannot be cleared.";
        app.warn(text);
    } else if app.is_running(&agent) {
        open_popup(app, Confirmation(ClearConversation(agent)));
    } else {
        out.push(Effect::Command(Command::Clear { agent }));
    }
}

/// Opens the picker of the checkpoints of the agent `name`, as [`named_agent`] reads it.
fn rewind(app: &mut App, name: &str, out: &mut Vec<Effect>) {
    if let Some(agent) = named_agent(app, name) {
        rewind::open(app, &agent, out);
    }
}

/// Asks the crew to show the memory of the agent `name`, as [`named_agent`] reads it: the texts that the agent was
/// given.
fn show_memory(app: &mut App, name: &str, out: &mut Vec<Effect>) {
    if let Some(agent) = named_agent(app, name) {
        out.push(Effect::Command(Command::ShowMemory { agent }));
    }
}

/// Returns the agent `name`. The name may begin with `@`; an empty name means the shown agent. If there is no such agent,
/// shows a warning and returns `None`.
fn named_agent(app: &mut App, name: &str) -> Option<Name> {
    let agent = match name.trim_start_matches('@') {
        "" => Some(app.shown.clone()),
        name => {
            let mut known = app.model.agents.all();
            let found = known.find(|(known, _)| known.as_str().eq_ignore_ascii_case(name));
            found.map(|(known, _)| known.clone())
        }
    };
    if agent.is_none() {
        app.warn(format!("There is no agent {}.", clip(name, 40)));
    }
    agent
}

fn init(app: &mut App, out: &mut Vec<Effect>) {
    let lead = Name::lead();
    if app.shown != lead {
        app.open_conversation(&lead);
    }
    let command = app.queue_prompt(lead, INIT_PROMPT.trim().into(), Vec::new());
    out.push(Effect::Command(command));
}

/// Exports the shown conversation to the file `name`, whose extension selects the format. If `name` is empty, the file
/// is named after the session and the agent. If no format has this extension or the conversation is empty, only shows a
/// status message.
fn export(app: &mut App, name: &str, out: &mut Vec<Effect>) {
    let setup = app.model.setup.as_ref();
    let session = setup.map_or("conversation", |setup| setup.session.as_str());
    let path = match name {
        "" => format!("crewdeck-{session}-{}.md", app.shown),
        name => name.to_string(),
    };
    let Some(format) = ExportFormat::of(&path) else {
        let text = format!("Cannot export to {path}: the file name must end with .md or .html.");
        return app.warn(text);
    };
    let head = ExportHead {
        agent: app.shown.to_string(),
        project: setup.map_or("", SessionInfo::project).to_string(),
        session: session.to_string(),
        model: setup.map_or_else(String::new, |setup| setup.model.clone()),
        // In a replay, `now` is the time of the shown state, not the current time.
        at: format_date(app.now, &app.prefs.zone),
        at_label: match app.replay {
            Some(_) => "Replayed up to",
            None => "Exported",
        },
    };
    let agent = app.model.agents.get(&app.shown);
    match agent.and_then(|agent| agent.transcript.export(&head, format)) {
        Some(text) => out.push(Effect::Export { path, text }),
        None => app.say("This conversation is empty."),
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;
    use crate::protocol::{AgentEvent, EventKind};
    use crate::ui::fixture::{apply_events, busy, name, press, started_screen, top_popup};
    use crate::ui::keymap::TABLE;
    use crate::ui::popups::palette::PaletteChoices;
    use crate::ui::popups::picker::Picker;
    use crate::ui::{SessionRole, UiState};

    #[test]
    fn messages_are_read_as_commands_or_text() {
        for (text, expected) in [
            ("/clear", Slash::Command(Action::Clear, "")),
            (
                "/compact  the tests ",
                Slash::Command(Action::Compact, "the tests"),
            ),
            ("/export a b.md", Slash::Command(Action::Export, "a b.md")),
            (
                "/model\tqwen3:8b",
                Slash::Command(Action::Models, "qwen3:8b"),
            ),
            ("/exit", Slash::Command(Action::Close, "")),
            ("/rules", Slash::Command(Action::Popup("rules"), "")),
            (
                "/clear now",
                Slash::Unknown("/clear takes no text after it.".into()),
            ),
            (
                "/exprot",
                Slash::Unknown("Unknown command /exprot. Did you mean /export?".into()),
            ),
            (
                "/exprot a.md",
                Slash::Unknown("Unknown command /exprot. Did you mean /export?".into()),
            ),
            (
                "/zzz",
                Slash::Unknown("Unknown command /zzz. Type / to see all commands.".into()),
            ),
            (
                "/security-zzz",
                Slash::Unknown("Unknown command /security-zzz. Type / to see all commands.".into()),
            ),
            ("/usr is full", Slash::No),
            ("/etc/hosts", Slash::No),
            ("/Clear", Slash::No),
            ("/", Slash::No),
            ("clear", Slash::No),
        ] {
            assert_eq!(read(text), expected, "{text}");
        }
        let known = SLASH.iter().map(|(name, ..)| *name);
        for (alias, name) in SLASH_ALIASES {
            assert!(known.clone().any(|k| k == *name), "{name}");
            assert!(known.clone().all(|k| k != *alias), "{alias}");
        }
    }

    fn clears(agent: &str) -> Vec<Effect> {
        let agent = name(agent);
        vec![Effect::Command(Command::Clear { agent })]
    }

    /// A state in which no agent works.
    fn idle() -> UiState {
        started_screen(160, 45)
    }

    #[test]
    fn commands_act_or_ask_first() {
        let mut state = idle();
        assert_eq!(press(&mut state, "\"/clear\" enter"), clears("lead"));
        assert_eq!(
            press(&mut state, "\"/new\" enter"),
            [Effect::StartSession(None)]
        );
        let effects = press(&mut state, "\"/resume 0190\" enter");
        assert_eq!(effects, [Effect::StartSession(Some("0190".into()))]);
        let name = String::from("qwen3:8b");
        let effects = press(&mut state, "\"/model qwen3:8b\" enter");
        assert_eq!(
            effects,
            [Effect::Command(Command::UseModel { name, agent: None })]
        );
        assert_eq!(
            press(&mut state, "\"/resume\" enter"),
            [Effect::ListSessions]
        );
        assert_eq!(
            press(&mut state, "esc \"/doctor\" enter"),
            [Effect::Diagnose]
        );
        let effects = press(&mut state, "esc \"/init\" enter");
        let [Effect::Command(Command::Prompt { to, text, .. })] = effects.as_slice() else {
            panic!("{effects:?}")
        };
        assert!(
            to.is_lead() && text.starts_with("Write an AGENTS.md"),
            "{text}"
        );

        let mut state = busy(160, 45);
        let lead = AgentEvent::TurnStarted.of(Name::lead());
        apply_events(&mut state, vec![lead]);
        assert_eq!(
            press(&mut state, "\"/clear\" enter enter"),
            [],
            "Enter does not confirm"
        );
        assert_eq!(press(&mut state, "y"), clears("lead"));
        assert_eq!(press(&mut state, "\"/new\" enter n \"/new\" enter"), []);
        assert_eq!(press(&mut state, "y"), [Effect::StartSession(None)]);
    }

    #[test]
    fn palette_has_every_command_that_no_key_runs() {
        let mut state = idle();
        press(&mut state, "ctrl+p");
        let palette = state.popups.top::<Picker<PaletteChoices>>();
        let rows = palette
            .map(|palette| palette.rows(&state))
            .unwrap_or_default();
        let is_bound = |action: Action| TABLE.iter().any(|binding| binding.action == action);
        for (word, action, words) in SLASH {
            let is_listed = rows
                .iter()
                .any(|row| row.words == *words && row.aside == *word);
            assert_eq!(is_listed, !is_bound(*action), "{word}");
        }
        let effects = press(&mut state, "\"empty this conversation\" enter");
        assert_eq!(effects, clears("lead"));
    }

    #[test]
    fn viewer_leaves_its_session_only_by_quitting() {
        let mut state = idle();
        state.set_role(SessionRole::Viewer(Some(7)));
        for typed in [
            "/clear",
            "/rewind",
            "/rewind @lead",
            "/new",
            "/resume",
            "/resume 0190",
            "/model x",
        ] {
            let effects = press(&mut state, &format!("\"{typed}\" enter"));
            assert_eq!(effects, [], "{typed}");
            let said = state.status.as_ref().map(|message| message.text.as_str());
            assert_eq!(
                said,
                Some(
                    "Only the crewdeck that runs this crew can do that: use its window (process 7)."
                ),
                "{typed}"
            );
        }
    }

    #[test]
    fn cleared_conversation_starts_with_the_name_of_the_old_one() {
        let mut state = idle();
        let said = |text: &str| AgentEvent::prompt(text).of(Name::lead());
        let transcript = String::from(".transcripts/s1-lead.whole-1.jsonl");
        let cleared: EventKind = AgentEvent::Cleared { transcript }.of(Name::lead());
        apply_events(&mut state, vec![said("before"), cleared, said("after")]);
        let effects = press(&mut state, "\"/export\" enter");
        let [Effect::Export { path, text }] = effects.as_slice() else {
            panic!("{effects:?}")
        };
        assert_eq!(path, "crewdeck-s1-lead.md");
        assert!(
            text.contains("whole-1.jsonl") && text.contains("after"),
            "{text}"
        );
        assert!(!text.contains("before"), "{text}");
        assert_eq!(top_popup(&state), "");
    }
}
