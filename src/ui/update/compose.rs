//! The composer: sending and addressing messages, slash commands and interrupting an agent.

use super::{Do, answers};
use crate::domain::ids::Name;
use crate::domain::team::Activity;
use crate::protocol::Command;
use crate::protocol::event::Level;
use crate::ui::guide::first::{self, Weight};
use crate::ui::keymap::{Action, Context, SLASH};
use crate::ui::popup::boxes;
use crate::ui::popup::{Popup, Written};
use crate::ui::state::pane::Focus;
use crate::ui::state::{QUEUED_MAX, Queued, TWICE, UiState};
use crate::ui::textual::bytes;
use crate::ui::writing;
use crate::ui::writing::composer::Pasted;
use crate::ui::writing::task_form::Field;

/// Sends the message in the composer. Returns the action if the text is a slash command.
pub fn send(state: &mut UiState, out: &mut Vec<Do>) -> Option<Action> {
    let text = state.composer.text();
    let text = text.trim();
    if text.is_empty() {
        return None;
    }
    if let Some(focus) = text.strip_prefix("/compact ") {
        let focus = focus.trim().to_string();
        state.composer.take();
        compact(state, &focus, out);
        return None;
    }
    if let Some(found) = slash(text) {
        let Ok(action) = found else {
            let known: Vec<&str> = SLASH.iter().map(|(word, _, _)| *word).collect();
            let text = format!("Unknown command {text}. Available: {}.", known.join(" "));
            state.say(Level::Warn, text);
            return None;
        };
        state.composer.take();
        return Some(action);
    }
    if state.first_page().map(|p| p.weight) == Some(Weight::Missing) {
        let keys = first::keys_line(state);
        state.say_while(
            Level::Info,
            format!("No crew yet: the message stays here. {keys}"),
            |state| state.first_page().map(|p| p.weight) == Some(Weight::Missing),
        );
        return None;
    }
    let (to, words, addressed) = match addressed(state, text) {
        Ok(found) => found,
        Err(why) => {
            state.say(Level::Warn, why);
            return None;
        }
    };
    if addressed == Addressed::Shown && answers::answer(state, words, out) {
        return None;
    }
    if words.is_empty() {
        state.say(Level::Info, format!("Write a message after @{to}."));
        return None;
    }
    if let Some(parent) = to.parent() {
        let text = format!("Subagents take no messages. Write to {parent} instead (@{parent} …).");
        state.say(Level::Warn, text);
        return None;
    }
    if state.activity(&to) == Activity::Gone {
        state.say_while(
            Level::Warn,
            format!("{to} has shut down. Ask the lead to spawn it again."),
            move |state| state.activity(&to) == Activity::Gone,
        );
        return None;
    }
    let command = Command::Prompt {
        to: to.clone(),
        text: words.into(),
    };
    if let Some(text) = answers::still_open(state, &to) {
        state.say(Level::Info, text);
    } else if !state.seat.is_crew() {
        let text = format!("Sent to {to} as a message; it is read between two steps.");
        state.say(Level::Info, text);
    } else if to != state.shown {
        state.say(Level::Info, format!("Sent to {to}."));
    }
    state.queued.push(Queued {
        to,
        text: words.into(),
    });
    if state.queued.len() > QUEUED_MAX {
        state.queued.remove(0);
    }
    state.composer.take();
    out.push(Do::Command(command));
    None
}

/// Compacts the conversation of the shown agent.
pub fn compact(state: &mut UiState, focus: &str, out: &mut Vec<Do>) {
    let agent = state.shown.clone();
    if agent.parent().is_some() {
        state.say(Level::Warn, "Subagents compact automatically.");
        return;
    }
    let ended = |state: &UiState, agent: &Name| state.agents.get(agent).map(|a| a.ended);
    let (before, of) = (ended(state, &agent), agent.clone());
    state.say_while(
        Level::Info,
        format!("Compacting the conversation of {agent}…"),
        move |state| ended(state, &of) == before,
    );
    out.push(Do::Command(Command::Compact {
        agent,
        focus: focus.into(),
    }));
}

/// Looks up a one-word message that starts with a slash: its action, or `Err` for an unknown command. `None` for
/// anything else, such as a path.
fn slash(text: &str) -> Option<Result<Action, ()>> {
    let word = text.strip_prefix('/')?;
    if word.is_empty() || !word.chars().all(|c| c.is_ascii_lowercase()) {
        return None;
    }
    let found = SLASH.iter().find(|(name, _, _)| *name == text);
    Some(found.map(|(_, action, _)| *action).ok_or(()))
}

/// How the recipient of a message was chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Addressed {
    /// By `@name` at the start.
    ByName,
    /// By the conversation that is shown.
    Shown,
}

/// Returns the recipient and the text of a message: `@name text`, else the shown agent. Fails for an unknown name.
fn addressed<'a>(state: &UiState, text: &'a str) -> Result<(Name, &'a str, Addressed), String> {
    let Some(rest) = text.strip_prefix('@') else {
        return Ok((state.shown.clone(), text, Addressed::Shown));
    };
    let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
    let (name, words) = rest.split_at(end);
    let name = name.trim_end_matches([',', ':']);
    let Ok(party) = Name::party(name) else {
        return Ok((state.shown.clone(), text, Addressed::Shown));
    };
    if party.same(&Name::lead()) {
        return Ok((Name::lead(), words.trim(), Addressed::ByName));
    }
    match state.team.find(&party) {
        Some(member) => Ok((member.name.clone(), words.trim(), Addressed::ByName)),
        None => Err(format!("{}.", state.team.unknown(name))),
    }
}

/// Inserts a line break.
pub fn newline(state: &mut UiState) {
    match state.popups.last_mut().map(Popup::written) {
        Some(Some(Written::Comment(text))) => text.newline(),
        // The other fields are single-line.
        Some(Some(Written::Task(form))) if form.field == Field::Description => {
            form.writing().newline();
        }
        Some(
            Some(Written::Search | Written::Filter(_) | Written::Choice(_) | Written::Task(_))
            | None,
        ) => {}
        None => state.composer.newline(),
    }
}

/// Deletes from the cursor to the start of the line.
pub fn delete_to_start(state: &mut UiState) {
    match state.popups.last_mut().map(Popup::written) {
        Some(Some(Written::Comment(text))) => text.delete_to_start(),
        Some(Some(Written::Task(form))) => form.writing().delete_to_start(),
        Some(Some(Written::Search | Written::Filter(_) | Written::Choice(_)) | None) => {}
        None => state.composer.delete_to_start(),
    }
}

/// Returns the width of the focused text field, in columns.
pub fn width(state: &UiState) -> u16 {
    writing::room(state).map_or(u16::MAX, |room| room.width)
}

/// Scrolls the focused text field only if its cursor is out of view.
pub fn reveal(state: &mut UiState) {
    let Some(room) = writing::room(state) else {
        return;
    };
    match state.popups.last_mut().map(Popup::written) {
        Some(Some(Written::Comment(text))) => text.reveal(room),
        Some(Some(Written::Task(form))) => form.in_view().reveal(room),
        Some(Some(Written::Search | Written::Filter(_) | Written::Choice(_)) | None) => {}
        None => state.composer.reveal(room),
    }
}

/// Warns if a paste was truncated.
pub fn report(state: &mut UiState, pasted: Pasted) {
    match pasted {
        Pasted::Whole => {}
        Pasted::Cut { kept, of } => {
            let text = format!(
                "Pasted {} of {}. For longer text, save it to a file and name the file.",
                bytes(kept),
                bytes(of)
            );
            state.say(Level::Warn, text);
        }
    }
}

/// Opens the text in `$EDITOR`. Remembers the request of a comment, which may be decided in the meantime.
pub fn edit_outside(state: &mut UiState, out: &mut Vec<Do>) {
    let request = match state.popups.last() {
        Some(Popup::Comment(comment)) => state.requests.get(&comment.request),
        _ => None,
    };
    state.drafts.edited = request.map(|r| (r.id.clone(), r.from.clone()));
    out.push(Do::EditComposer);
}

/// Closes a popup, interrupts the shown agent, clears the focused draft, or quits on a second press when the agent is
/// idle. Each step takes its own key press, so a double tap on a draft does not quit.
pub fn interrupt(state: &mut UiState, out: &mut Vec<Do>) {
    if let Some(Popup::Task(_)) = state.popups.last() {
        return super::task_form::close(state);
    }
    if state.popups.pop().is_some() {
        return;
    }
    let agent = state.shown.clone();
    let is_running = state.holds_crew() && state.is_running(&agent);
    if is_running && state.interrupted.as_ref() != Some(&agent) {
        let waiting = state.queued.iter().filter(|q| q.to.same(&agent)).count();
        let next = match waiting {
            0 => String::new(),
            1 => " Your queued message is sent next.".into(),
            n => format!(" Your {n} queued messages are sent next."),
        };
        state.interrupted = Some(agent.clone());
        let stopped = agent.clone();
        state.say_while(
            Level::Info,
            format!("Stopping {agent}. Partial work is kept.{next}"),
            move |state| state.interrupted.as_ref() == Some(&stopped),
        );
        out.push(Do::Command(Command::Interrupt { agent }));
        return;
    }
    if !state.composer.is_empty() && state.focus == Focus::Composer {
        state.composer.take();
        state.quit_armed = None;
        let key = state.keymap.key(Context::Composer, Action::Older);
        state.say(Level::Info, format!("Draft cleared. {key} brings it back."));
        return;
    }
    let again = state
        .quit_armed
        .is_some_and(|at| state.now.since(at) <= TWICE);
    if again {
        out.push(Do::Quit);
        return;
    }
    state.quit_armed = Some(state.now);
    let key = state.keymap.key(Context::Everywhere, Action::Interrupt);
    let text = match (state.seat.leaves(), boxes::still(state)) {
        (Some(words), _) => format!("Press {key} again to leave.{words}"),
        (None, None) => format!("Press {key} again to quit."),
        (None, Some(still)) => format!("Press {key} again to quit. {still}"),
    };
    state.say(Level::Info, text);
    // The message expires together with the quit confirmation.
    if let Some(flash) = &mut state.flash {
        flash.until = state.now.after(TWICE);
    }
}

/// Cancels the pending quit confirmation and its status message.
pub fn disarm(state: &mut UiState) {
    let Some(at) = state.quit_armed.take() else {
        return;
    };
    let until = at.after(TWICE);
    state.flash.take_if(|flash| flash.until == until);
    state.dirty = true;
}
