//! The rows of the pickers.

use crate::domain::ids::RequestId;
use crate::domain::rule::Scope;
use crate::domain::text::one_line;
use crate::ui::app::App;
use crate::ui::app::popup::{Choice, Picker};
use crate::ui::frame::pick::{Does, Pick};
use crate::ui::keymap::pane::Pane;
use crate::ui::keymap::{Action, Bound, Context};
use crate::ui::model::{CrewModel, Models};
use crate::ui::popups::themes;
use crate::ui::text::fuzzy;

/// Returns the rows of a picker that match its search, best match first; without a search all rows in their order.
pub fn picks(app: &App, picker: &Picker) -> Vec<Pick> {
    let all: Vec<Pick> = match &picker.choice {
        Choice::Palette { contexts, .. } => palette(app, contexts),
        Choice::Models => models(app),
        Choice::Scopes(id) => scopes(app, id),
        Choice::Rules => rules(app),
        Choice::Copy => copies(app),
        Choice::Themes => themes::rows(&app.prefs),
    };
    let searched = picker.search.text();
    let mut scored: Vec<(i32, Pick)> = all
        .into_iter()
        .filter_map(|pick| {
            let whole = format!("{} {}", pick.words, pick.aside);
            let fit = fuzzy::fit(searched, &whole)?;
            let words = pick.words.chars().count();
            let marked = fit.places.into_iter().filter(|at| *at < words).collect();
            Some((fit.score, Pick { marked, ..pick }))
        })
        .collect();
    scored.sort_by_key(|(score, _)| std::cmp::Reverse(*score));
    scored.into_iter().map(|(_, pick)| pick).collect()
}

/// Returns all actions: open requests first, then the contexts where the palette was opened, then other panes.
pub fn palette(app: &App, contexts: &[Context]) -> Vec<Pick> {
    let mut rows: Vec<Pick> = Vec::new();
    let mut seen: Vec<Action> = Vec::new();
    let mut add = |binding: &Bound, place: &str, does: Does| {
        if binding.action.is_typed() || seen.contains(&binding.action) {
            return;
        }
        seen.push(binding.action);
        let key = binding.shown();
        let aside = [place, &key].into_iter().filter(|s| !s.is_empty());
        rows.push(Pick {
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
        add(binding, "", Does::Action(binding.action));
    }
    for pane in Pane::ALL {
        for binding in app.prefs.keymap.in_context(Context::In(pane)) {
            add(binding, pane.title(), Does::In(pane, binding.action));
        }
    }
    if app.model.requests.for_person() > 0 {
        let waits = Does::Action(Action::Waiting);
        rows.sort_by_key(|row| row.does != waits);
    }
    rows
}

/// Returns the parts of the conversation that can be copied.
pub fn copies(app: &App) -> Vec<Pick> {
    let agent = app.model.agents.get(&app.shown);
    let all = agent.map_or_else(Vec::new, |a| a.transcript.portions());
    all.into_iter()
        .map(|(portion, words, gist)| Pick {
            words,
            marked: Vec::new(),
            aside: gist,
            does: Does::Copy(portion),
        })
        .collect()
}

pub fn scopes(model: &CrewModel, id: &RequestId) -> Vec<Pick> {
    let call = model.requests.get(id).and_then(|r| r.call.as_ref());
    let scopes = call.map_or(&[][..], |c| c.scopes.as_slice()).iter();
    scopes
        .map(|scope| Pick {
            words: match scope {
                // A small screen covers the card with the list, so the command is repeated here.
                Scope::Exact { command } => format!("this exact command: {}", one_line(command)),
                Scope::Begins { .. } => one_line(&scope.to_string()),
            },
            marked: Vec::new(),
            aside: String::new(),
            does: Does::Allow(scope.clone()),
        })
        .collect()
}

pub fn rules(model: &CrewModel) -> Vec<Pick> {
    model
        .rules
        .iter()
        .map(|rule| Pick {
            words: one_line(&rule.scope.to_string()),
            marked: Vec::new(),
            aside: rule.asked_by.to_string(),
            does: Does::TakeBack(rule.number),
        })
        .collect()
}

pub fn models(model: &CrewModel) -> Vec<Pick> {
    let Models::Listed(names) = &model.models else {
        return Vec::new();
    };
    let current = model.setup.as_ref().map_or("", |s| s.model.as_str());
    names
        .iter()
        .map(|name| Pick {
            words: one_line(name),
            marked: Vec::new(),
            aside: if *name == current || *name == format!("{current}:latest") {
                "in use"
            } else {
                ""
            }
            .into(),
            does: Does::Model(name.clone()),
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
