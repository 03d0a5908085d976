//! The picker of the model that the crew uses.

use crate::domain::text::one_line;
use crate::protocol::Command;
use crate::ui::app::App;
use crate::ui::app::effect::Effect;
use crate::ui::app::popup::{Next, open as open_popup};
use crate::ui::keymap::{Action, Context};
use crate::ui::model::ModelList;
use crate::ui::popups::picker::{Choices, Picker, PickerRow};

/// The content of the model picker: the named models of the settings, then the models that the provider lists.
#[derive(Debug)]
pub struct ModelChoices;

/// Opens the model picker with the model in use selected, and requests the list of models from the provider.
pub fn open(app: &mut App, out: &mut Vec<Effect>) {
    if app.model.models == ModelList::Unknown {
        app.model.models = ModelList::Asked;
    }
    let row = in_use(app);
    open_popup(app, Picker::new(ModelChoices, row));
    out.push(Effect::Command(Command::ListModels));
}

/// Returns the index of the row with the model in use, or 0 if the list does not contain that model.
fn in_use(app: &App) -> usize {
    let ModelList::Listed(names) = &app.model.models else {
        return 0;
    };
    let current = current(app);
    let latest = format!("{current}:latest");
    let at = names.iter().position(|name| name == current);
    at.or_else(|| names.iter().position(|name| *name == latest))
        .unwrap_or(0)
}

/// Returns the name of the model in use by the agent whose conversation is shown; a subagent counts as its parent. This
/// is the teammate's own model if one was chosen for it, otherwise the model of the lead.
fn current(app: &App) -> &str {
    let shown = app.shown.parent().unwrap_or_else(|| app.shown.clone());
    let member = app.model.team.find(&shown);
    let own = member.map(|member| member.model.as_str());
    own.filter(|name| !name.is_empty()).unwrap_or_else(|| {
        let setup = app.model.setup.as_ref();
        setup.map_or("", |setup| setup.model.as_str())
    })
}

/// Asks the crew to use the model `name`. If the conversation of a teammate or its subagent is shown, the change
/// applies to this teammate, otherwise to all agents without a model of their own.
pub fn use_model(app: &mut App, name: String, out: &mut Vec<Effect>) {
    let shown = app.shown.parent().unwrap_or_else(|| app.shown.clone());
    let agent = Some(shown).filter(|agent| !agent.is_lead());
    app.say(match &agent {
        Some(agent) => format!("The model of {agent} changes to {name} with its next call."),
        None => format!("The model changes to {name} with the next call."),
    });
    out.push(Effect::Command(Command::UseModel { name, agent }));
}

impl Choices for ModelChoices {
    type Item = String;

    const TIP: &'static str =
        "Named models of your settings, then the models that the server offers";

    fn title(&self, app: &App) -> String {
        let shown = app.shown.parent().unwrap_or_else(|| app.shown.clone());
        if shown.is_lead() {
            "Model".into()
        } else {
            format!("Model of {shown}")
        }
    }

    fn rows(&self, app: &App) -> Vec<PickerRow<String>> {
        let ModelList::Listed(names) = &app.model.models else {
            return Vec::new();
        };
        let current = current(app);
        let row = |name: &String| {
            let is_current = *name == current || *name == format!("{current}:latest");
            let aside = if is_current { "in use" } else { "" };
            PickerRow::new(one_line(name), aside.into(), name.clone())
        };
        names.iter().map(row).collect()
    }

    fn choose(&mut self, app: &mut App, name: String, out: &mut Vec<Effect>) -> Next {
        use_model(app, name, out);
        Next::Close
    }

    /// Returns the typed name as a model, because a provider may not list all its models; `None` if the user has typed
    /// nothing.
    fn item_of(&self, typed: &str) -> Option<String> {
        (!typed.is_empty()).then(|| typed.into())
    }

    fn none_matches(&self, app: &App, typed: &str) -> String {
        let key = app.prefs.keymap.key(Context::Picker, Action::Accept);
        match &app.model.models {
            _ if !typed.is_empty() => {
                format!("No listed model matches. {key} uses the name as typed: {typed}")
            }
            ModelList::Unknown | ModelList::Asked => "Loading models…".into(),
            ModelList::Listed(_) => {
                format!("The server lists no models. Type a name and press {key}.")
            }
        }
    }

    fn first_selected(&self, app: &App) -> Option<usize> {
        Some(in_use(app))
    }
}
