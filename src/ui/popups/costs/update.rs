//! Actions of the cost panel: select a line and open its agent or task.

use crate::protocol::event::NoticeLevel;
use crate::ui::app::popup::{CostView, Popup, Target, Text};
use crate::ui::app::{App, popup};
use crate::ui::frame::navigation;
use crate::ui::keymap::direction::Scroll;
use crate::ui::popups::costs::{lines, place, selected};
use crate::ui::theme::Theme;
use crate::ui::widgets::list;

/// Opens the cost panel.
pub fn open(app: &mut App) {
    let is_open = |p: &Popup| matches!(p, Popup::Costs(_));
    if !app.popups.iter().any(is_open) {
        popup::push(app, Popup::Costs(CostView::default()));
    }
}

/// Moves the selection among the lines that have a target.
pub fn scroll(app: &mut App, by: Scroll) {
    let Some(Popup::Costs(view)) = app.popups.last() else {
        return;
    };
    let lines = lines(app, &Theme::default());
    let page = usize::from(place(app.size, view, &lines).list.height).max(1);
    let at = selected(view, &lines);
    let mut targets = Vec::new();
    let mut here = 0;
    for (row, line) in lines.iter().enumerate() {
        if let Some(target) = &line.target {
            if Some(row) == at {
                here = targets.len();
            }
            targets.push(target.clone());
        }
    }
    let to = list::step(here, targets.len(), by, page);
    take(app, targets.into_iter().nth(to));
}

/// Selects a line, if it has a target.
pub fn select(app: &mut App, at: usize) {
    let line = lines(app, &Theme::default()).into_iter().nth(at);
    take(app, line.and_then(|line| line.target));
}

/// Pins the implicit selection of the first line, since new lines may come before it.
pub fn pin(app: &mut App) {
    let Some(Popup::Costs(view)) = app.popups.last() else {
        return;
    };
    if view.selected.is_none() {
        let lines = lines(app, &Theme::default());
        let at = selected(view, &lines);
        take(app, at.and_then(|at| lines.into_iter().nth(at)?.target));
    }
}

fn take(app: &mut App, target: Option<Target>) {
    if let (Some(Popup::Costs(view)), Some(target)) = (app.popups.last_mut(), target) {
        view.selected = Some(target);
    }
}

/// Opens the selected agent or task.
pub fn show(app: &mut App) {
    let Some(Popup::Costs(view)) = app.popups.last() else {
        return;
    };
    let lines = lines(app, &Theme::default());
    let target = selected(view, &lines).and_then(|at| lines.into_iter().nth(at)?.target);
    match target {
        Some(Target::Agent(name)) => {
            app.popups.clear();
            navigation::show(app, &name);
        }
        Some(Target::Task(id)) if app.model.board.get(id).is_some() => {
            popup::push(app, Popup::read(Text::Task(id)));
        }
        Some(Target::Task(id)) => {
            app.say(
                NoticeLevel::Info,
                format!("{id} is no longer on the board."),
            );
        }
        None => app.say_while(NoticeLevel::Info, "No tokens used yet.", |app| {
            app.model.agents.tokens() == 0
        }),
    }
}
