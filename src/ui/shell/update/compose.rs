//! The composer: sends and addresses messages, edits text, and interrupts an agent.

use crate::domain::team::Activity;
use crate::protocol::Command;
use crate::ui::app::effect::Effect;
use crate::ui::app::onboarding::PageSeverity;
use crate::ui::app::popup::{Next, Popup, TextInput};
use crate::ui::app::{App, QUIT_WINDOW, onboarding, recipient};
use crate::ui::keymap::pane::Focus;
use crate::ui::keymap::{Action, Context};
use crate::ui::panes::needs::answers;
use crate::ui::popups::confirm::quit;
use crate::ui::shell::layout;
use crate::ui::shell::state::UiState;
use crate::ui::shell::update::slash::{self, Slash};
use crate::ui::shell::update::user_shell;
use crate::ui::text::bytes;
use crate::ui::transcript::Fold;
use crate::ui::widgets::area::inside;
use crate::ui::widgets::composer::{PasteResult, TextAreaSize};

/// Handles Enter in the composer. Does the first of these that applies:
///
/// - Does nothing if the draft is blank.
/// - Handles the draft as a slash command. If the caller must run the action of the command, returns this action; in
///   all other cases, the result is `None`.
/// - Runs a draft that begins with `!` as a shell command.
/// - Answers the open question of the shown agent, unless the draft names its recipient with `@`.
/// - Sends the draft as a message to an agent.
///
/// If this is not possible, the draft stays and a status message says why.
pub fn send(app: &mut App, out: &mut Vec<Effect>) -> Option<Action> {
    // A chip stands for a pasted text. It is replaced by that text only after the recipient is known, so that a name in
    // the pasted text does not count as the recipient.
    let text = app.input.composer.draft();
    let text = text.trim();
    if text.is_empty() {
        return None;
    }
    match slash::read(text) {
        _ if slash::is_from_file(app, text) => {}
        Slash::No => {}
        Slash::Unknown(why) => {
            app.warn(why);
            return None;
        }
        Slash::Elsewhere(what) => {
            let text = app.prefs.keymap.expand_keys(what);
            app.say(text);
            return None;
        }
        Slash::Command(action, argument) => return slash::run(app, action, argument, out),
    }
    if app.onboarding_page().map(|p| p.severity) == Some(PageSeverity::Missing) {
        let keys = onboarding::keys_line(app);
        app.say_while(
            format!("No crew is running yet, so your text stays in the composer. {keys}"),
            |app| app.onboarding_page().map(|p| p.severity) == Some(PageSeverity::Missing),
        );
        return None;
    }
    if let Some(command) = text.strip_prefix('!') {
        user_shell::run(app, command, out);
        return None;
    }
    let (to, words, is_named) = match recipient::split_recipient(app, text) {
        Ok(found) => found,
        Err(why) => {
            app.warn(why);
            return None;
        }
    };
    let attachments = app.input.mentions.of(words);
    let words = app.input.composer.expand(words);
    let words = words.trim();
    if !is_named && answers::answer(app, words, out) {
        return None;
    }
    if words.is_empty() {
        app.say(format!("Write a message after @{to}."));
        return None;
    }
    if let Some(parent) = to.parent() {
        let text = format!("Subagents take no messages. Write to {parent} instead (@{parent} …).");
        app.warn(text);
        return None;
    }
    if app.activity(&to) == Activity::Gone {
        let text = recipient::gone_text(app, &to);
        app.warn(text);
        app.keep_message_while(move |app| app.activity(&to) == Activity::Gone);
        return None;
    }
    if let Some(text) = answers::open_question_reminder(app, &to) {
        app.say(text);
    } else if let Some(why) = recipient::waiting_reason(app, &to) {
        app.say(format!("Sent to {to} as a message. {why}"));
    } else if !app.role.is_crew() {
        let text = format!("Sent to {to} as a message. {to} reads it before its next step.");
        app.say(text);
    } else if to != app.shown {
        app.say(format!("Sent to {to}."));
    }
    let command = app.queue_prompt(to, words.into(), attachments);
    out.push(Effect::Command(command));
    app.input.clear_sent();
    None
}

pub fn newline(app: &mut App) {
    edit(app, |input| match input {
        TextInput::Area {
            text,
            is_multiline: true,
        } => text.newline(),
        TextInput::Area { .. } | TextInput::Line(_) => {}
    });
}

/// If a backslash is directly before the cursor of the composer, replaces the backslash by a line break and returns
/// true. Otherwise, returns false.
pub fn continues_line(app: &mut App) -> bool {
    let continues = app.input.composer.before_cursor().0.ends_with('\\');
    if continues {
        app.input.composer.replace_before_cursor(1, "\n");
    }
    continues
}

/// Unfolds all tool calls of the shown conversation, or folds all if all are open. A status message says which of both
/// was done, or that the conversation has no tool output.
pub fn toggle_output(app: &mut App) {
    let text = match app.shown_agent().transcript.toggle_all() {
        None => "This conversation has no tool output.".into(),
        Some(fold) => {
            let (context, action) = match app.focus {
                Focus::Composer => (Context::Composer, Action::UnfoldPaste),
                Focus::Pane(_) => (Context::Panes, Action::ToggleOutput),
            };
            let key = app.prefs.keymap.key(context, action);
            match fold {
                Fold::Open => format!("All tool output is open; {key} folds it."),
                Fold::Folded => format!("All tool output is folded; {key} opens it."),
            }
        }
    };
    app.say(text);
}

/// Runs an editing action in the focused multi-line text field. Does nothing if a popup without such a field is open.
pub fn edit_text(state: &mut UiState, action: Action) {
    edit(state, |input| {
        if let TextInput::Area { text, .. } = input {
            text.act(action);
        }
    });
    let pane = state.focus.pane();
    state.panes.get_mut(pane).text_changed();
}

/// Applies `change` to the text field of the topmost popup if a popup is open, else to the composer.
fn edit(app: &mut App, change: impl FnOnce(TextInput<'_>)) {
    if app.popups.is_empty() {
        let text = &mut app.input.composer;
        change(TextInput::Area {
            text,
            is_multiline: true,
        });
    } else {
        edit_popup(app, change);
    }
}

/// Applies `change` to the text field of the topmost popup. Returns `false` if that popup has no text field or no popup
/// is open.
pub fn edit_popup(app: &mut App, change: impl FnOnce(TextInput<'_>)) -> bool {
    let next = app.with_popup(|popup, app| {
        let Some(input) = popup.text_input() else {
            return Next::Pass;
        };
        change(input);
        popup.text_changed(app);
        Next::Stay
    });
    next != Next::Pass
}

/// Returns the width of the focused multi-line text field, in columns; `u16::MAX` if none has the focus.
pub fn width(state: &UiState) -> u16 {
    room(state).map_or(u16::MAX, |room| room.width)
}

/// Scrolls the focused multi-line text field so that its cursor is visible. Does nothing if no such field has the focus.
pub fn reveal(state: &mut UiState) {
    let Some(room) = room(state) else {
        return;
    };
    match state.popups.last_mut().map(Popup::text_input) {
        Some(Some(TextInput::Area { text, .. })) => text.reveal(room),
        Some(_) => {}
        None => state.input.composer.reveal(room),
    }
}

/// Warns the user if a pasted text was too long and was cut.
pub fn report(app: &mut App, pasted: PasteResult) {
    match pasted {
        PasteResult::Whole => {}
        PasteResult::Cut { kept, of } => {
            let text = format!(
                "Pasted {} of {}; the end is cut off. For longer text, save it to a file and write the path of that file.",
                bytes(kept),
                bytes(of)
            );
            app.warn(text);
        }
    }
}

/// Handles the interrupt key. Does the first of these that applies:
///
/// - Closes the topmost popup.
/// - Interrupts the shown agent, if it is working, the crew runs in this process, and no earlier press has done so.
/// - Clears the draft, if the composer has the focus.
/// - Quits, if the key was pressed before within [`QUIT_WINDOW`].
/// - Asks the user to press the key again to quit.
///
/// Each press does only one of these, so a double press on a draft does not quit.
pub fn interrupt(app: &mut App, out: &mut Vec<Effect>) {
    if app.close_popup() {
        return;
    }
    let agent = app.shown.clone();
    let is_running = app.holds_crew() && app.is_running(&agent);
    if is_running && app.keys.interrupted.as_ref() != Some(&agent) {
        let waiting = app
            .model
            .queued
            .iter()
            .filter(|q| q.to.same(&agent))
            .count();
        let next = match waiting {
            0 => String::new(),
            1 => " Your queued message is sent next.".into(),
            n => format!(" Your {n} queued messages are sent next."),
        };
        app.keys.interrupted = Some(agent.clone());
        let stopped = agent.clone();
        let text = if app.runs_command(&agent) {
            "Stopping your command.".to_string()
        } else {
            format!("Stopping {agent}. Partial work is kept.{next}")
        };
        app.say_while(text, move |app| {
            app.keys.interrupted.as_ref() == Some(&stopped)
        });
        out.push(Effect::Command(Command::Interrupt { agent }));
        return;
    }
    if !app.input.composer.is_empty() && app.focus == Focus::Composer {
        app.input.composer.take();
        app.keys.quit_armed = None;
        let key = app.prefs.keymap.key(Context::Composer, Action::Older);
        app.say_while(format!("Draft cleared. {key} brings it back."), |app| {
            app.input.composer.is_empty()
        });
        return;
    }
    if app.is_quit_armed() {
        out.push(Effect::Quit);
        return;
    }
    app.keys.quit_armed = Some(app.now);
    let key = app.prefs.keymap.key(Context::Everywhere, Action::Interrupt);
    let text = match (app.role.quit_suffix(), quit::what_would_stop(app)) {
        (Some(words), _) => format!("Press {key} again to leave.{words}"),
        (None, None) => format!("Press {key} again to quit."),
        (None, Some(still)) => format!("Press {key} again to quit. {still}"),
    };
    // The first press of a double press stops the agent. The message of the second one must not hide that.
    let stopping = if is_running {
        format!("Stopping {agent}. ")
    } else {
        String::new()
    };
    app.say(stopping + &text);
    // The message disappears when a second press would no longer quit.
    if let Some(message) = &mut app.status {
        message.until = app.now.after(QUIT_WINDOW);
    }
}

/// Ends the wait for the second key press that would quit, and removes its status message.
pub fn disarm(app: &mut App) {
    let Some(at) = app.keys.quit_armed.take() else {
        return;
    };
    let until = at.after(QUIT_WINDOW);
    app.status.take_if(|message| message.until == until);
    app.dirty = true;
}

/// Returns the size of the multi-line text area that has the keyboard focus; `None` if none has it.
pub fn room(state: &UiState) -> Option<TextAreaSize> {
    let area = match state.popups.last() {
        Some(popup) => popup.text_area(state),
        None if state.focus == Focus::Composer => {
            let area = layout::layout(state, state.size).composer;
            area.map(inside)
        }
        None => None,
    };
    area.map(TextAreaSize::from)
}
