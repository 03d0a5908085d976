//! Implements [`PaneFeature`] for the board: drawing, mouse, keys and preview.

use ratatui::layout::Rect;

use crate::domain::ids::TaskId;
use crate::domain::text::escape_control_chars;
use crate::protocol::{BoardEvent, EventKind};
use crate::ui::app::App;
use crate::ui::app::effect::Effect;
use crate::ui::app::pane_request::PaneRequest;
use crate::ui::app::popup::{self, TextCursor};
use crate::ui::app::task_rules::{TaskAction, is_own, why_no_edit, why_no_removal, why_not};
use crate::ui::frame::hit::Hit;
use crate::ui::frame::layout;
use crate::ui::frame::list_filter::ListFilter;
use crate::ui::keymap::direction::{PanDirection, Scroll, Way};
use crate::ui::keymap::pane::{Focus, Pane};
use crate::ui::keymap::{Action, Context, KeyBinding};
use crate::ui::model::board::index::BoardStatus;
use crate::ui::model::board::{branches, index};
use crate::ui::panes::board::places::ABOUT_FROM;
use crate::ui::panes::board::{BoardPane, Shown, user_actions, view};
use crate::ui::panes::feature::{NOTCH, PaneCanvas, PaneFeature, Preview, SelectedItem};
use crate::ui::popups::pager::Pager;
use crate::ui::popups::task_form::form::TaskForm;
use crate::ui::popups::task_page::TaskPage;
use crate::ui::popups::{task_form, task_page};
use crate::ui::text::aging::ShownAge;
use crate::ui::theme::Theme;
use crate::ui::widgets::placed::PlacedPart;
use crate::ui::widgets::scrollbar::Scrollbar;

/// Number of columns by which one notch of the mouse wheel pans the graph to the left or right.
const NOTCH_COLUMNS: usize = 6;

/// The board requests a height from the layout that is a multiple of this number of rows, not counting the frame, so
/// that the height of the pane rarely changes.
const STEP: u16 = 4;

impl PaneFeature for BoardPane {
    fn draw(&self, app: &App, area: Rect, canvas: PaneCanvas<'_>) -> TextCursor {
        view::draw(self, app, area, canvas);
        None
    }

    fn targets(&self, app: &App, area: Rect, out: &mut Vec<PlacedPart<Hit>>) {
        let places = self.layout(app, layout::inside(area));
        let mut put = |at, what| out.push(PlacedPart { at, what });
        if let Some(row) = places.filter {
            put(row, Hit::In(Pane::Board, Action::Filter));
        }
        for (at, task) in self.in_view(app, &places) {
            if let Some(row) = self.row_of(app, task) {
                put(at, Hit::Row(Pane::Board, row));
            }
        }
        if let Shown::Graph(_) = places.shown {
            put(places.body, Hit::Ground(Pane::Board));
        }
    }

    fn scrollbar(&self, app: &App, area: Rect) -> Option<Scrollbar> {
        let places = self.layout(app, layout::inside(area));
        self.bar(app, &places, area)
    }

    fn content_rows(&self, app: &App) -> usize {
        app.model.board.len()
    }

    /// Returns the height of the pane: the rows of the content, rounded up to a multiple of [`STEP`] so that the panes
    /// below rarely move, and two rows for the frame. The content counts as at least [`ABOUT_FROM`] rows, so that the
    /// line that describes the selected task fits below a small graph. The result is at most `most`.
    fn wanted_height(&self, app: &App, width: u16, most: u16) -> u16 {
        let room = layout::inside(Rect::new(0, 0, width, most));
        let rows = self.rows_wanted(app, room).max(ABOUT_FROM.into());
        let steps = rows.div_ceil(usize::from(STEP));
        let rows = u16::try_from(steps)
            .unwrap_or(u16::MAX)
            .saturating_mul(STEP);
        rows.saturating_add(2).min(most)
    }

    fn scroll(&mut self, app: &mut App, area: Option<Rect>, by: Scroll) {
        self.scroll_by(app, inside(area), by);
    }

    fn select(&mut self, app: &App, row: usize) {
        self.select_row(app, row);
    }

    fn opens(&self, app: &App, row: usize, _is_second: bool) -> bool {
        self.selected_row(app).is_some_and(|(at, _)| at == row)
    }

    fn jump(&mut self, app: &mut App, area: Option<Rect>, bar: Scrollbar, row: u16) {
        self.jump_to(app, inside(area), bar.first_at(row), bar.row_at(row));
    }

    fn wheel(&mut self, app: &mut App, area: Option<Rect>, toward: PanDirection, zooms: bool) {
        let (area, zoom) = (inside(area), self.camera.zoom);
        match (toward, zooms) {
            (PanDirection::Up, true) => self.zoom(app, area, zoom.nearer()),
            (PanDirection::Down, true) => self.zoom(app, area, zoom.farther()),
            (PanDirection::Up | PanDirection::Down, false) => {
                self.wheel_by(app, area, toward, NOTCH);
            }
            (PanDirection::Left | PanDirection::Right, _) => {
                self.wheel_by(app, area, toward, NOTCH_COLUMNS);
            }
        }
    }

    fn drag(&mut self, app: &App, area: Option<Rect>, by: (isize, isize)) {
        self.pan_by(app, inside(area), by);
    }

    fn neighbour(&mut self, app: &mut App, area: Option<Rect>, way: Way) {
        self.along(app, inside(area), way);
    }

    fn has_neighbour(&self, app: &App) -> bool {
        !app.model.board.is_empty()
    }

    fn open(&mut self, app: &mut App, _area: Option<Rect>) {
        if let Some(id) = self.selected_task(app) {
            popup::open(app, TaskPage::pager(id));
        }
    }

    fn can_open(&self, app: &App) -> bool {
        self.selected_row(app).is_some()
    }

    fn act(
        &mut self,
        app: &mut App,
        area: Option<Rect>,
        action: Action,
        out: &mut Vec<Effect>,
    ) -> bool {
        let selected = self.target(app);
        let zoom = self.camera.zoom;
        match action {
            Action::ToggleGraph => self.toggle_shape(app, inside(area), out),
            Action::Pan(toward) => self.pan(app, inside(area), toward),
            Action::ZoomIn => self.zoom(app, inside(area), zoom.nearer()),
            Action::ZoomOut => self.zoom(app, inside(area), zoom.farther()),
            Action::Claim => user_actions::claim(app, selected, out),
            Action::Release => user_actions::release_selected(app, selected, out),
            Action::CompleteTask => user_actions::complete_selected(app, selected, out),
            Action::RemoveWorktree => user_actions::ask_removal(app, selected, out),
            Action::CopyWorktreePath => user_actions::copy_worktree_path(app, selected, out),
            Action::AddTask => task_form::add(app),
            Action::EditTask => user_actions::edit(app, selected),
            Action::ToggleBlocker => task_form::toggle_blocker(app, selected),
            Action::Merge => user_actions::merge(app, selected),
            Action::Diff => user_actions::ask_diff(app, selected, out),
            _ => return false,
        }
        true
    }

    fn offers(&self, app: &App, action: Action) -> Option<bool> {
        let task = || app.model.board.get(self.target(app)?);
        let can = |action| task().is_some_and(|task| why_not(app, task, action).is_none());
        Some(match action {
            Action::ToggleGraph | Action::Pan(_) | Action::ZoomIn | Action::ZoomOut => {
                !app.model.board.is_empty() && !self.filter.is_set()
            }
            Action::Claim => can(TaskAction::Claim),
            Action::Release => can(TaskAction::Release),
            // The user can also complete a task that has no owner, after a confirmation. That is rare, so the hints do
            // not offer the key for such a task.
            Action::CompleteTask => task().is_some_and(is_own) && can(TaskAction::Complete),
            Action::RemoveWorktree => task().is_some_and(|t| {
                branches::has_worktree(app, t) && why_no_removal(app, t.id).is_none()
            }),
            Action::EditTask => task().is_some_and(|t| why_no_edit(app, t.id).is_none()),
            Action::ToggleBlocker => {
                let form = app.popups.top::<TaskForm>();
                form.is_some_and(|form| form.id != self.selected_task(app))
            }
            Action::CopyWorktreePath => {
                task().is_some_and(|t| branches::why_no_worktree(app, t).is_none())
            }
            Action::Merge => task().is_some_and(|t| branches::is_mergeable(app, t)),
            Action::Diff => task().is_some_and(|t| branches::has_worktree(app, t)),
            _ => return None,
        })
    }

    fn hint(&self, app: &App, binding: &KeyBinding) -> Option<String> {
        if binding.action != Action::ToggleBlocker {
            return None;
        }
        let id = self.selected_task(app)?;
        Some(format!("wait for {id}"))
    }

    fn filter(&self) -> Option<&ListFilter> {
        Some(&self.filter)
    }

    fn filter_mut(&mut self) -> Option<&mut ListFilter> {
        Some(&mut self.filter)
    }

    fn text_changed(&mut self) {
        self.selected = None;
    }

    fn can_filter(&self, app: &App) -> bool {
        !app.model.board.is_empty()
    }

    fn can_copy(&self, app: &App) -> bool {
        !app.model.board.is_empty()
    }

    fn clipboard_text(&self, app: &App) -> Option<(String, String)> {
        let id = self.selected_task(app)?;
        let task = app.model.board.get(id)?;
        let text = format!("{id} {}\n\n{}", task.subject, task.description);
        Some((format!("task {id}"), escape_control_chars(text.trim_end())))
    }

    fn selected_item(&self, app: &App) -> Option<SelectedItem> {
        self.selected_task(app).map(SelectedItem::Task)
    }

    fn preview(&self, app: &App, columns: usize, theme: &Theme) -> Option<Preview> {
        let id = self.selected_task(app)?;
        let task = app.model.board.get(id)?;
        Some(Preview {
            title: format!("Task {id}"),
            lines: task_page::lines(app, task, columns, theme),
            begin: 0,
            agent: None,
        })
    }

    fn ages(&self, app: &App) -> Vec<ShownAge> {
        let id = self.selected_task(app);
        id.map_or_else(Vec::new, |id| task_page::ages(app, id))
    }

    fn tour_tip(&self, app: &App) -> Option<String> {
        let key = |action| app.prefs.keymap.key(Context::In(Pane::Board), action);
        let task = app.model.board.get(self.selected_task(app)?)?;
        let (turn, open) = (key(Action::ToggleGraph), key(Action::Open));
        let changes = if branches::has_worktree(app, task) {
            format!(", {}: its changes", key(Action::Diff))
        } else {
            String::new()
        };
        Some(format!("{turn}: graph or list, {open}: the task{changes}"))
    }

    fn tab_count(&self, app: &App) -> String {
        if app.model.board.is_empty() {
            return String::new();
        }
        let done = index(app).count(BoardStatus::Done);
        format!(" {done}/{}", app.model.board.len())
    }

    fn handle_request(&mut self, request: &PaneRequest) {
        match request {
            PaneRequest::SelectTask(id) => self.selected = Some(*id),
            PaneRequest::ScreenRestored(screen) => self.shape = screen.board,
            PaneRequest::SelectAgent(_)
            | PaneRequest::SelectRequest(_)
            | PaneRequest::ShowRequest(_)
            | PaneRequest::ConversationOpened { .. } => {}
        }
    }

    fn before_event(&mut self, app: &App, event: &EventKind) {
        if app.focus == Focus::Pane(Pane::Board) && self.selected.is_none() {
            // `None` means that the first row is selected. The event may put another task there, so the current task is
            // selected explicitly.
            self.selected = self.selected_task(app);
        }
        self.row_before = match event {
            EventKind::Board(BoardEvent::BoardChanged { .. }) if self.selected.is_some() => {
                self.selected_row(app).map(|(row, _)| row)
            }
            _ => None,
        };
    }

    /// If the selected task has left the list, because it was filtered out or removed, selects the task that is now in
    /// the same row of the list, or the last task if the list has become shorter.
    fn after_event(&mut self, app: &App) {
        let Some(row) = self.row_before.take() else {
            return;
        };
        let all = self.rows(app);
        let index = index(app);
        if self
            .selected
            .is_some_and(|id| self.row_of(app, id).is_some())
        {
            return;
        }
        let next = all.get(row).or_else(|| all.get(all.len().checked_sub(1)?));
        let next = next.and_then(|row| index.id(row.task));
        self.selected = next.or(self.selected);
    }
}

impl BoardPane {
    /// Returns the task to which actions such as claim or merge apply: the task whose page is open, otherwise the
    /// selected task.
    fn target(&self, app: &App) -> Option<TaskId> {
        let page = app.popups.top::<Pager<TaskPage>>();
        page.map_or_else(|| self.selected_task(app), |pager| Some(pager.page.id()))
    }
}

/// Returns the area inside the pane's frame `area`; empty if the pane is not visible.
fn inside(area: Option<Rect>) -> Rect {
    area.map(layout::inside).unwrap_or_default()
}
