//! Actions of the event log: moving the selection, filtering, and opening what a line is about.

use crate::domain::ids::Name;
use crate::ui::app::App;
use crate::ui::app::popup::{Next, open as open_popup};
use crate::ui::frame::navigation;
use crate::ui::keymap::direction::Scroll;
use crate::ui::model::CrewModel;
use crate::ui::model::event_log::{About, LogLine};
use crate::ui::popups::event_log::query::EventLogQuery;
use crate::ui::popups::event_log::{EventLogPopup, place};
use crate::ui::popups::jobs::JobsPopup;
use crate::ui::popups::task_page::TaskPage;
use crate::ui::popups::thread;
use crate::ui::widgets::line_input::LineInput;
use crate::ui::widgets::list;

impl EventLogPopup {
    /// Returns whether the filter contains more than blanks.
    pub fn is_filtered(&self) -> bool {
        !self.filter.text().trim().is_empty()
    }

    /// Returns whether the filter contains more than blanks or is being typed.
    pub fn has_filter(&self) -> bool {
        self.is_typing || self.is_filtered()
    }

    /// Closes and clears the filter.
    pub fn end_filter(&mut self) {
        self.is_typing = false;
        self.filter = LineInput::default();
    }

    /// Returns whether the filter contains the term `!`, with which only warnings and errors are shown.
    pub fn is_trouble_only(&self) -> bool {
        self.filter.text().split_whitespace().any(|w| w == "!")
    }

    pub fn query(&self) -> EventLogQuery {
        EventLogQuery::new(self.filter.text())
    }

    /// Returns the lines that match the filter, oldest first.
    pub fn rows<'a>(&self, model: &'a CrewModel) -> Vec<&'a LogLine> {
        let query = self.query();
        let lines = model.event_log.lines();
        lines.filter(|l| query.matches(l)).collect()
    }

    /// Returns the index of the selected line in `rows`. If no line is selected, the newest one counts as selected; if the
    /// selected line is not in `rows`, the next newer one does. `None` if `rows` is empty.
    pub fn row(&self, rows: &[&LogLine]) -> Option<usize> {
        let newest = rows.len().checked_sub(1)?;
        let Some(number) = self.selected else {
            return Some(newest);
        };
        // If the selected line is no longer in memory or filtered out, the next newer line counts as selected.
        let at = rows.iter().position(|l| l.number == number);
        at.or_else(|| rows.iter().position(|l| l.number > number))
            .or(Some(newest))
    }

    /// Selects the line at index `at` of `rows`. If this is the newest line, the selection moves to new lines when they
    /// arrive.
    fn select_in(&mut self, rows: &[&LogLine], at: usize) {
        let is_newest = at + 1 >= rows.len();
        let line = rows.get(at).filter(|_| !is_newest);
        self.selected = line.map(|l| l.number);
    }

    pub fn selected_line<'a>(&self, model: &'a CrewModel) -> Option<&'a LogLine> {
        let rows = self.rows(model);
        rows.get(self.row(&rows)?).copied()
    }

    /// Selects the line at index `at` of the list. If this is the newest line, the selection moves to new lines when
    /// they arrive.
    pub(super) fn select_row(&mut self, model: &CrewModel, at: usize) {
        let rows = self.rows(model);
        self.select_in(&rows, at);
    }

    /// Moves the selection. Once it is on the newest line, it moves to new lines when they arrive.
    pub(super) fn scroll(&mut self, app: &App, by: Scroll) {
        let rows = self.rows(app);
        let Some(at) = self.row(&rows) else { return };
        let room = place(app, self, rows.len(), at);
        let page = usize::from(room.rows.list.height).max(1);
        self.select_in(&rows, list::step(at, rows.len(), by, page));
    }

    /// Adds the term `!` to the filter, so that only warnings and errors are shown, or removes the term if the filter
    /// already contains it.
    pub(super) fn toggle_problems_only(&mut self) {
        let words: Vec<&str> = self.filter.text().split_whitespace().collect();
        let is_there = words.contains(&"!");
        let mut rest: Vec<&str> = words.into_iter().filter(|w| *w != "!").collect();
        if !is_there {
            rest.push("!");
        }
        let text = rest.join(" ");
        self.filter = LineInput::default();
        self.filter.insert(&text);
    }

    /// Opens what the selected line is about, such as a task or an agent. For a request that is closed, opens the
    /// conversation of its agent. If there is nothing to open, shows a status message instead.
    pub(super) fn show(&self, app: &mut App) -> Next {
        let Some(about) = self.selected_line(app).map(|l| l.about.clone()) else {
            return Next::Stay;
        };
        match about {
            About::Nothing => app.say("This event has no details."),
            About::Task(id) if app.model.board.get(id).is_some() => {
                open_popup(app, TaskPage::pager(id));
            }
            About::Task(id) => app.say(format!("{id} is no longer on the board.")),
            About::Agent(name) => return show_agent(app, &name),
            About::Message(id) => {
                let number = app.model.messages.iter().rev().find(|t| t.message.id == id);
                match number.map(|t| t.number) {
                    Some(number) => thread::open(app, number),
                    None => {
                        app.say(
                            "This message is not available: only the latest messages are kept.",
                        );
                    }
                }
            }
            About::Request(id, target) => {
                if app.model.requests.get(&id).is_some() {
                    navigation::show_request(app, id);
                    return Next::CloseAll;
                }
                return show_agent(app, &target);
            }
            About::Job(id) => {
                let row = app
                    .model
                    .jobs
                    .ordered_jobs()
                    .iter()
                    .position(|j| j.id == id);
                match row {
                    Some(row) => open_popup(app, JobsPopup::at(row)),
                    None => app.say("This job is not available: only the latest jobs are kept."),
                }
            }
        }
        Next::Stay
    }
}

fn show_agent(app: &mut App, name: &Name) -> Next {
    if app.model.agents.get(name).is_some() {
        navigation::show(app, name);
        return Next::CloseAll;
    }
    app.say(format!("The conversation of {name} is not available."));
    Next::Stay
}
