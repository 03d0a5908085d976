//! The cost panel as a popup: its keys, its selection, and opening the selected agent or task.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::domain::ids::{Name, TaskId};
use crate::ui::app::App;
use crate::ui::app::effect::Effect;
use crate::ui::app::popup::{
    Copied, Next, Popup, Targets, TextCursor, open as open_popup, open_once,
};
use crate::ui::frame::navigation;
use crate::ui::keymap::direction::Scroll;
use crate::ui::keymap::{Action, Context};
use crate::ui::popups::costs::sort::CostSort;
use crate::ui::popups::costs::{CostLine, lines, place, text, view};
use crate::ui::popups::task_page::TaskPage;
use crate::ui::theme::Theme;
use crate::ui::widgets::list;

#[derive(Debug, Default)]
pub struct CostsPopup {
    /// The target of the selected line. `None` means the first line that has a target.
    selected: Option<CostTarget>,
    pub sort: CostSort,
}

/// What `Enter` on a line of the panel opens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CostTarget {
    Agent(Name),
    Task(TaskId),
}

pub fn open(app: &mut App) {
    open_once(app, CostsPopup::default());
}

impl CostsPopup {
    /// Returns the index of the selected line in `lines`. If the selected target is not in `lines`, the first line with a
    /// target counts as selected. `None` if no line has a target.
    pub fn row(&self, lines: &[CostLine]) -> Option<usize> {
        let wanted = self.selected.as_ref();
        let is_it = |line: &CostLine| wanted.is_some() && line.target.as_ref() == wanted;
        let first = || lines.iter().position(|line| line.target.is_some());
        lines.iter().position(is_it).or_else(first)
    }

    /// Returns the target of the selected line; `None` if the panel has no line that can be selected.
    pub fn target(&self, app: &App) -> Option<CostTarget> {
        let lines = lines(app, self.sort, &Theme::default());
        let row = self.row(&lines)?;
        lines.into_iter().nth(row)?.target
    }

    /// Selects the line with this target. If `target` is `None`, keeps the current selection.
    fn take(&mut self, target: Option<CostTarget>) {
        self.selected = target.or(self.selected.take());
    }

    /// Moves the selection among the lines that have a target.
    fn scroll(&mut self, app: &App, by: Scroll) {
        let lines = lines(app, self.sort, &Theme::default());
        let page = usize::from(place(app.size, self, &lines).list.height).max(1);
        let row = self.row(&lines);
        let mut targets = Vec::new();
        let mut here = 0;
        for (at, line) in lines.into_iter().enumerate() {
            if let Some(target) = line.target {
                if Some(at) == row {
                    here = targets.len();
                }
                targets.push(target);
            }
        }
        let to = list::step(here, targets.len(), by, page);
        self.take(targets.into_iter().nth(to));
    }

    fn show(&self, app: &mut App) -> Next {
        match self.target(app) {
            Some(CostTarget::Agent(name)) => {
                navigation::show(app, &name);
                return Next::CloseAll;
            }
            Some(CostTarget::Task(id)) if app.model.board.get(id).is_some() => {
                open_popup(app, TaskPage::pager(id));
            }
            Some(CostTarget::Task(id)) => {
                app.say(format!("{id} is no longer on the board."));
            }
            None => app.say_while("No tokens used yet.", |app| app.model.agents.tokens() == 0),
        }
        Next::Stay
    }
}

impl Popup for CostsPopup {
    fn context(&self) -> Context {
        Context::Costs
    }

    fn draw(&self, app: &App, theme: &Theme, screen: Rect, buffer: &mut Buffer) -> TextCursor {
        view::draw(app, self, theme, screen, buffer);
        None
    }

    fn targets(&self, app: &App) -> Targets {
        let lines = lines(app, self.sort, &Theme::default());
        Targets::list(place(app.size, self, &lines), lines.len())
    }

    fn tip(&self, _app: &App) -> String {
        "Tokens and cost of each agent and task".into()
    }

    fn act(&mut self, app: &mut App, action: Action, _out: &mut Vec<Effect>) -> Next {
        match action {
            Action::Move(by) => self.scroll(app, by),
            Action::Open => return self.show(app),
            Action::Sort => {
                self.selected = self.target(app);
                self.sort = self.sort.next();
            }
            _ => return Next::Pass,
        }
        Next::Stay
    }

    fn select(&mut self, app: &App, row: usize) {
        let line = lines(app, self.sort, &Theme::default())
            .into_iter()
            .nth(row);
        self.take(line.and_then(|line| line.target));
    }

    fn click_again(&self) -> Action {
        Action::Open
    }

    fn offers(&self, app: &App, action: Action) -> Option<bool> {
        let is_known = matches!(
            action,
            Action::Open | Action::Copy | Action::Sort | Action::Move(_)
        );
        is_known.then(|| app.model.agents.tokens() > 0)
    }

    fn clipboard_text(&self, app: &App) -> Copied {
        Copied::Text("the usage tables".into(), text(app, self.sort))
    }

    fn before_event(&mut self, app: &App) {
        // `None` means that the first line with a target is selected. The event may add lines above it, so the current
        // line is selected explicitly.
        if self.selected.is_none() {
            self.selected = self.target(app);
        }
    }
}
