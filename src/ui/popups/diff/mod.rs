//! The popup with a diff: of a task's branch, or of what a rewind would change.

use std::cell::RefCell;

use crate::domain::ids::TaskId;
use crate::domain::text::escape_control_chars;
use crate::ui::app::App;
use crate::ui::app::popup::{Copied, open as open_popup};
use crate::ui::diff::{Changes, FileMark, file_at, page};
use crate::ui::keymap::{Action, Context};
use crate::ui::popups::pager::{Page, Pager, PagerRow};
use crate::ui::theme::Theme;

#[derive(Debug)]
pub struct DiffPage {
    /// What the changes are, such as `Changes of task #3`.
    title: String,
    changes: Changes,
    /// The index of the file at the top of the visible part. The title names this file.
    pub file: usize,
    /// A cache of the last rendering: its width in columns, its theme and its rows. It does not affect what is drawn.
    rendered: RefCell<Option<(usize, Theme, Vec<PagerRow>)>>,
}

/// Opens the diff of a task's branch and closes any other open diff. If the branch has no changes, shows a status
/// message instead.
pub fn open(app: &mut App, task: TaskId, stat: &str, text: &str, untracked: &[String]) {
    let changes = Changes::new(stat, text, untracked);
    if changes.is_empty() {
        app.say(format!("The branch of {task} has no changes."));
        return;
    }
    app.popups.close_all::<Pager<DiffPage>>();
    show(app, format!("Changes of task {task}"), changes);
}

/// Opens `changes` above the other popups. `title` says what the changes are.
pub fn show(app: &mut App, title: String, changes: Changes) {
    let page = DiffPage {
        title,
        changes,
        file: 0,
        rendered: RefCell::default(),
    };
    open_popup(app, Pager::new(page));
}

impl DiffPage {
    fn next(&self, action: Action) -> Option<usize> {
        match action {
            Action::NextFile => Some(self.file + 1),
            _ => self.file.checked_sub(1),
        }
        .filter(|file| *file < self.changes.files().len())
    }
}

impl Page for DiffPage {
    const TIP: &'static str = "The changes, by file";

    fn title(&self, _app: &App) -> String {
        let files = self.changes.files();
        match files.get(self.file) {
            Some(file) if files.len() > 1 => {
                let at = format!("{}/{}", self.file + 1, files.len());
                format!("{} · {at} {file}", self.title)
            }
            Some(_) | None => self.title.clone(),
        }
    }

    fn rows(&self, _app: &App, width: usize, theme: &Theme) -> Vec<PagerRow> {
        let mut rendered = self.rendered.borrow_mut();
        if let Some((columns, look, rows)) = &*rendered
            && (*columns, look) == (width, theme)
        {
            return rows.clone();
        }
        let rows = page(&self.changes, width, theme);
        let rows: Vec<PagerRow> = rows.into_iter().map(PagerRow::from).collect();
        *rendered = Some((width, *theme, rows.clone()));
        rows
    }

    fn clipboard_text(&self) -> Option<Copied> {
        // The output of git is copied without line numbers, so that other programs can read it.
        Some(match escape_control_chars(self.changes.text()) {
            text if text.is_empty() => Copied::Nothing,
            text => Copied::Text("the diff".into(), text),
        })
    }

    fn contexts(&self) -> &'static [Context] {
        &[Context::Diff]
    }

    fn has_sections(&self) -> bool {
        true
    }

    fn select_section(&mut self, rows: &[PagerRow], line: usize) {
        let file = file_at(rows.iter().map(|row| row.file_mark), line);
        self.file = file.unwrap_or(self.file);
    }

    fn is_current(&self, row: &PagerRow) -> bool {
        self.changes.files().len() > 1 && row.file_mark == Some(FileMark::Begins(self.file))
    }

    fn section(&self, app: &mut App, action: Action, rows: &[PagerRow]) -> Option<usize> {
        let line = self
            .next(action)
            .and_then(|file| self.line_of_part(file, rows));
        if line.is_none() {
            let words = match action {
                _ if self.changes.files().len() < 2 => "No other file.",
                Action::NextFile => "This is the last file.",
                _ => "This is the first file.",
            };
            app.say(words);
        }
        line
    }

    fn has_section(&self, action: Action) -> Option<bool> {
        let is_file = matches!(action, Action::NextFile | Action::PrevFile);
        is_file.then(|| self.next(action).is_some())
    }

    fn part(&self, row: &PagerRow) -> Option<usize> {
        match row.file_mark? {
            FileMark::LeadsTo(file) | FileMark::Begins(file) => Some(file),
        }
    }

    fn line_of_part(&self, part: usize, rows: &[PagerRow]) -> Option<usize> {
        rows.iter()
            .position(|row| row.file_mark == Some(FileMark::Begins(part)))
    }
}
