//! The rows of the pickers.

use crate::domain::ids::RequestId;
use crate::domain::permission::PermissionScope;
use crate::domain::text::one_line;
use crate::ui::app::App;
use crate::ui::app::popup::{Choice, Picker};
use crate::ui::frame::pick::{PickEffect, PickerRow};
use crate::ui::keymap::pane::Pane;
use crate::ui::keymap::{Action, Context, KeyBinding};
use crate::ui::model::{CrewModel, Models};
use crate::ui::popups::themes;
use crate::ui::text::fuzzy;

/// Returns the rows of a picker that match its search, best match first; without a search all rows in their order.
pub fn picker_rows(app: &App, picker: &Picker) -> Vec<PickerRow> {
    let all: Vec<PickerRow> = match &picker.choice {
        Choice::Palette { contexts, .. } => palette(app, contexts),
        Choice::Models => models(app),
        Choice::Scopes(id) => scopes(app, id),
        Choice::Rules => rules(app),
        Choice::Copy => copies(app),
        Choice::Themes => themes::rows(&app.prefs),
    };
    let searched = picker.search.text();
    let mut scored: Vec<(i32, PickerRow)> = all
        .into_iter()
        .filter_map(|pick| {
            let whole = format!("{} {}", pick.words, pick.aside);
            let fit = fuzzy::fuzzy_match(searched, &whole)?;
            let words = pick.words.chars().count();
            let marked = fit.positions.into_iter().filter(|at| *at < words).collect();
            Some((fit.score, PickerRow { marked, ..pick }))
        })
        .collect();
    scored.sort_by_key(|(score, _)| std::cmp::Reverse(*score));
    scored.into_iter().map(|(_, pick)| pick).collect()
}

/// Returns all actions: open requests first, then the contexts where the palette was opened, then other panes.
pub fn palette(app: &App, contexts: &[Context]) -> Vec<PickerRow> {
    let mut rows: Vec<PickerRow> = Vec::new();
    let mut seen: Vec<Action> = Vec::new();
    let mut add = |binding: &KeyBinding, place: &str, does: PickEffect| {
        if binding.action.is_typed() || seen.contains(&binding.action) {
            return;
        }
        seen.push(binding.action);
        let key = binding.display_key();
        let aside = [place, &key].into_iter().filter(|s| !s.is_empty());
        rows.push(PickerRow {
            words: binding.words.into(),
            marked: Vec::new(),
            aside: aside.collect::<Vec<_>>().join("  "),
            does,
        });
    };
    for binding in contexts
        .iter()
        .flat_map(|context| app.prefs.keymap.in_context(*context))
    {
        add(binding, "", PickEffect::Action(binding.action));
    }
    for pane in Pane::ALL {
        for binding in app.prefs.keymap.in_context(Context::In(pane)) {
            add(binding, pane.title(), PickEffect::In(pane, binding.action));
        }
    }
    if app.model.requests.for_person() > 0 {
        let waits = PickEffect::Action(Action::Waiting);
        rows.sort_by_key(|row| row.does != waits);
    }
    rows
}

/// Returns the parts of the conversation that can be copied.
pub fn copies(app: &App) -> Vec<PickerRow> {
    let agent = app.model.agents.get(&app.shown);
    let all = agent.map_or_else(Vec::new, |a| a.transcript.copyable_portions());
    all.into_iter()
        .map(|(portion, words, gist)| PickerRow {
            words,
            marked: Vec::new(),
            aside: gist,
            does: PickEffect::Copy(portion),
        })
        .collect()
}

pub fn scopes(model: &CrewModel, id: &RequestId) -> Vec<PickerRow> {
    let call = model.requests.get(id).and_then(|r| r.call.as_ref());
    let scopes = call.map_or(&[][..], |c| c.scopes.as_slice()).iter();
    scopes
        .map(|scope| PickerRow {
            words: match scope {
                // A small screen covers the card with the list, so the command is repeated here.
                PermissionScope::Exact { command } => {
                    format!("this exact command: {}", one_line(command))
                }
                PermissionScope::Begins { .. } => one_line(&scope.to_string()),
            },
            marked: Vec::new(),
            aside: String::new(),
            does: PickEffect::Allow(scope.clone()),
        })
        .collect()
}

pub fn rules(model: &CrewModel) -> Vec<PickerRow> {
    model
        .rules
        .iter()
        .map(|rule| PickerRow {
            words: one_line(&rule.scope.to_string()),
            marked: Vec::new(),
            aside: rule.asked_by.to_string(),
            does: PickEffect::TakeBack(rule.number),
        })
        .collect()
}

pub fn models(model: &CrewModel) -> Vec<PickerRow> {
    let Models::Listed(names) = &model.models else {
        return Vec::new();
    };
    let current = model.setup.as_ref().map_or("", |s| s.model.as_str());
    names
        .iter()
        .map(|name| PickerRow {
            words: one_line(name),
            marked: Vec::new(),
            aside: if *name == current || *name == format!("{current}:latest") {
                "in use"
            } else {
                ""
            }
            .into(),
            does: PickEffect::Model(name.clone()),
        })
        .collect()
}

/// Returns the row of the current model in the list of models.
pub fn model_in_use(model: &CrewModel) -> usize {
    let Models::Listed(names) = &model.models else {
        return 0;
    };
    let current = model.setup.as_ref().map_or("", |s| s.model.as_str());
    let latest = format!("{current}:latest");
    let at = names.iter().position(|name| name == current);
    at.or_else(|| names.iter().position(|name| *name == latest))
        .unwrap_or(0)
}
