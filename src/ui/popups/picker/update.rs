//! Opens pickers and takes what is selected in them.

use crate::domain::ids::RequestId;
use crate::domain::permission::PermissionScope;
use crate::protocol::Command;
use crate::protocol::event::NoticeLevel;
use crate::ui::app::App;
use crate::ui::app::effect::Effect;
use crate::ui::app::pane_request::PaneRequest;
use crate::ui::app::popup::{Choice, Popup, push};
use crate::ui::frame::navigation;
use crate::ui::frame::pick::PickEffect;
use crate::ui::keymap::Action;
use crate::ui::model::Models;
use crate::ui::popups::picker::rows as picker_rows;
use crate::ui::popups::themes;
use crate::ui::transcript::Portion;

/// Copies a part of the conversation.
pub fn copy(app: &mut App, portion: &Portion, out: &mut Vec<Effect>) {
    app.popups.pop();
    let Some(text) = app.shown_agent().transcript.portion_text(portion) else {
        app.say(NoticeLevel::Info, "That text no longer exists.");
        return;
    };
    let what = match portion {
        Portion::Cell(_) => "the message",
        Portion::Code(..) => "the code",
        Portion::Whole => "the conversation",
    };
    app.say(NoticeLevel::Info, format!("Copied {what}."));
    out.push(Effect::Copy(text));
}

pub fn choose(app: &mut App, out: &mut Vec<Effect>) -> Option<Action> {
    let Some(Popup::Picker(picker)) = app.popups.last() else {
        return None;
    };
    let picks = picker_rows::picker_rows(app, picker);
    let taken = picks.get(picker.row).map(|p| p.does.clone());
    let written = picker.search.text().trim().to_string();
    let choice = picker.choice.clone();
    match (choice, taken) {
        (Choice::Palette { focus, .. }, Some(PickEffect::Action(action))) => {
            app.popups.pop();
            app.focus = focus;
            Some(action)
        }
        (Choice::Palette { .. }, Some(PickEffect::In(pane, action))) => {
            app.popups.pop();
            navigation::focus(app, pane);
            Some(action)
        }
        (Choice::Models, Some(PickEffect::Model(name))) => {
            use_model(app, name, out);
            None
        }
        // A server may not list all its models, so a typed name is accepted.
        (Choice::Models, None) if !written.is_empty() => {
            use_model(app, written, out);
            None
        }
        (Choice::Scopes(id), Some(PickEffect::Allow(scope))) => {
            app.popups.pop();
            allow(app, &id, scope, out);
            None
        }
        (Choice::Rules, Some(PickEffect::TakeBack(rule))) => {
            app.popups.pop();
            out.push(Effect::Command(Command::TakeBack { rule }));
            None
        }
        (Choice::Copy, Some(PickEffect::Copy(portion))) => {
            crate::ui::popups::picker::update::copy(app, &portion, out);
            None
        }
        (Choice::Themes, Some(PickEffect::Theme(name))) => {
            themes::update::keep(app, name, out);
            None
        }
        (
            Choice::Palette { .. }
            | Choice::Models
            | Choice::Scopes(_)
            | Choice::Rules
            | Choice::Copy
            | Choice::Themes,
            Some(_) | None,
        ) => None,
    }
}

pub fn use_model(app: &mut App, name: String, out: &mut Vec<Effect>) {
    app.popups.pop();
    app.say(
        NoticeLevel::Info,
        format!("{name} is used from the next model call on."),
    );
    out.push(Effect::Command(Command::UseModel { name }));
}

/// Requests the list of models and opens the model picker.
pub fn models(app: &mut App, out: &mut Vec<Effect>) {
    if app.model.models == Models::Unknown {
        app.model.models = Models::Asked;
    }
    let mut popup = Popup::choose(Choice::Models);
    if let Popup::Picker(picker) = &mut popup {
        picker.row = picker_rows::model_in_use(app);
    }
    push(app, popup);
    out.push(Effect::Command(Command::ListModels));
}

/// Opens the list of session permissions.
pub fn rules(app: &mut App) {
    push(app, Popup::choose(Choice::Rules));
}

/// Approves a permission request and everything in `scope` until crewdeck exits.
fn allow(app: &mut App, id: &RequestId, scope: PermissionScope, out: &mut Vec<Effect>) {
    if app.model.requests.get(id).is_none() {
        app.say(NoticeLevel::Info, "This request is already closed.");
    } else if !app.model.requests.is_answered(id) {
        app.ask_panes(PaneRequest::SelectRequest(id.clone()));
        app.model.requests.answer(id);
        let request = id.clone();
        out.push(Effect::Command(Command::Allow { request, scope }));
    }
}
