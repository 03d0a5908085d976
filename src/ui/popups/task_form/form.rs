//! The form for creating or editing a task: its fields, and the command that they produce. No I/O.

use std::str::FromStr;

use crate::domain::graph::{NewTask, TaskEdit, TaskGraph};
use crate::domain::ids::{TaskId, TaskRef};
use crate::domain::task::Task;
use crate::domain::text::one_line;
use crate::domain::timestamp::Timestamp;
use crate::protocol::TaskCommand;
use crate::ui::widgets::composer::Composer;

/// The fields of the form, in display order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FormField {
    #[default]
    Subject,
    Description,
    /// Numbers of the tasks that block the task of the form.
    BlockedBy,
    /// Tags a teammate must have to claim the task.
    Tags,
}

impl FormField {
    pub const ALL: [FormField; 4] = [
        FormField::Subject,
        FormField::Description,
        FormField::BlockedBy,
        FormField::Tags,
    ];

    pub fn title(self) -> &'static str {
        match self {
            FormField::Subject => "Subject",
            FormField::Description => "Description",
            FormField::BlockedBy => "Waits for",
            FormField::Tags => "Tags",
        }
    }

    /// Returns the placeholder that an empty field shows to explain what to type.
    pub fn example(self) -> &'static str {
        match self {
            FormField::Subject => "one line: what to do",
            FormField::Description => "details, optional",
            FormField::BlockedBy => "numbers, e.g. 3 5",
            FormField::Tags => "tags the owner must have, e.g. rust docs",
        }
    }
}

#[derive(Debug, Default)]
pub struct TaskForm {
    /// The task that is edited; `None` for a new task.
    pub id: Option<TaskId>,
    /// The field with the keyboard focus.
    pub field: FormField,
    /// The reason why the form is invalid or the board has rejected it; empty if there is none.
    pub error: String,
    /// The task as it was when the form was opened. Only fields whose text has changed since are saved, so that changes
    /// that others have made in the meantime are kept.
    opened: Option<Task>,
    subject: Composer,
    description: Composer,
    waits: Composer,
    tags: Composer,
}

impl TaskForm {
    pub fn new() -> TaskForm {
        TaskForm::default()
    }

    pub fn for_task(task: &Task) -> TaskForm {
        let mut form = TaskForm {
            id: Some(task.id),
            opened: Some(task.clone()),
            ..TaskForm::default()
        };
        let numbers: Vec<String> = task.blocked_by.iter().map(|b| b.0.to_string()).collect();
        form.subject.set(&one_line(&task.subject));
        form.description.set(&task.description);
        form.waits.set(&numbers.join(" "));
        form.tags.set(&one_line(&task.tags.join(" ")));
        form
    }

    pub fn title(&self) -> String {
        match self.id {
            None => "New task".into(),
            Some(id) => format!("Edit {id}"),
        }
    }

    pub fn input(&self, field: FormField) -> &Composer {
        match field {
            FormField::Subject => &self.subject,
            FormField::Description => &self.description,
            FormField::BlockedBy => &self.waits,
            FormField::Tags => &self.tags,
        }
    }

    /// Returns the text of the focused field for an edit, and clears the error of the form.
    pub fn input_to_edit(&mut self) -> &mut Composer {
        self.error.clear();
        self.focused_input()
    }

    /// Returns the text of the focused field. Unlike [`TaskForm::input_to_edit`], does not clear the error of the form,
    /// because the input may leave the text unchanged.
    pub fn focused_input(&mut self) -> &mut Composer {
        match self.field {
            FormField::Subject => &mut self.subject,
            FormField::Description => &mut self.description,
            FormField::BlockedBy => &mut self.waits,
            FormField::Tags => &mut self.tags,
        }
    }

    /// Moves the focus by `by` fields forward, or backward if `by` is negative. The first field follows the last one.
    pub fn cycle_focus(&mut self, by: isize) {
        let all = FormField::ALL;
        let count = all.len().cast_signed();
        let at = all.iter().position(|f| *f == self.field).unwrap_or(0);
        let next = (at.cast_signed() + by).rem_euclid(count);
        self.field = all[next.cast_unsigned()];
    }

    pub fn is_empty(&self) -> bool {
        FormField::ALL
            .iter()
            .all(|f| self.input(*f).text().trim().is_empty())
    }

    /// Adds a task to the blockers in the form, or removes it from them. Clears the error of the form.
    pub fn toggle_blocker(&mut self, id: TaskId) {
        self.error.clear();
        let text = self.waits.text();
        let is_it = |word: &&str| matches!(word.parse(), Ok(TaskRef::Id(other)) if other == id);
        let mut words: Vec<&str> = list_words(&text).collect();
        let number = id.0.to_string();
        if words.iter().any(is_it) {
            words.retain(|word| !is_it(word));
        } else {
            words.push(&number);
        }
        self.waits.set(&words.join(" "));
    }

    /// Returns the command that creates or updates the task, or `None` if nothing changed. The command is checked
    /// against the rules of `board`.
    ///
    /// # Errors
    /// Returns the reason if the form is invalid, or if the task cannot be changed or is no longer on the board.
    pub fn to_command(&self, board: &TaskGraph) -> Result<Option<TaskCommand>, String> {
        let blocked_by = task_numbers(&self.waits.text(), board)?;
        let tags: Vec<String> = list_words(&self.tags.text())
            .map(|tag| tag.trim_start_matches('#').to_string())
            .filter(|tag| !tag.is_empty())
            .collect();
        let (subject, description) = (self.subject.text(), self.description.text());
        let mut tried = board.clone();
        let Some(task) = self.id else {
            let new = NewTask {
                subject,
                description: description.trim_end().into(),
                blocked_by,
                tags,
                worktree: String::new(),
            };
            let checked = tried.create(TaskId::MAX, new.clone(), Timestamp::default());
            checked.map_err(|e| e.to_string())?;
            return Ok(Some(TaskCommand::Add { new }));
        };
        let now = board.require(task).map_err(|e| e.to_string())?;
        let before = self.opened.as_ref().unwrap_or(now);
        let is_other = |a: &[TaskId], b: &[TaskId]| -> Vec<TaskId> {
            a.iter().copied().filter(|id| !b.contains(id)).collect()
        };
        let mut unblock = is_other(&before.blocked_by, &blocked_by);
        // Blockers that were completed or deleted in the meantime no longer block the task, so they need not be
        // removed.
        unblock.retain(|id| now.blocked_by.contains(id));
        let edit = TaskEdit {
            subject: (subject != one_line(&before.subject)).then_some(subject),
            description: (description.trim_end() != before.description.trim_end())
                .then(|| description.trim_end().into()),
            block_on: is_other(&blocked_by, &before.blocked_by),
            unblock,
            tags: (tags != before.tags).then_some(tags),
        };
        if edit == TaskEdit::default() {
            return Ok(None);
        }
        let checked = tried.edit(task, &edit, Timestamp::default());
        checked.map_err(|e| e.to_string())?;
        Ok(Some(TaskCommand::Edit { task, edit }))
    }
}

/// Splits the text of a field with several values at commas and white space.
fn list_words(text: &str) -> impl Iterator<Item = &str> {
    text.split([',', ' ', '\t', '\n'])
        .filter(|word| !word.is_empty())
}

/// Parses task numbers that are separated by commas or white space, and removes duplicates. Returns an error message if
/// a word is not a task number; `board` is used only for this message. Does not check whether the tasks exist.
fn task_numbers(text: &str, board: &TaskGraph) -> Result<Vec<TaskId>, String> {
    let mut out = Vec::new();
    for word in list_words(text) {
        match TaskRef::from_str(word) {
            Ok(TaskRef::Id(id)) if out.contains(&id) => {}
            Ok(TaskRef::Id(id)) => out.push(id),
            Ok(TaskRef::Subject(_)) | Err(_) => {
                return Err(board.not_a_number_error(word).to_string());
            }
        }
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;
    use crate::domain::ids::Name;
    use crate::ui::fixture::user_actions_board;

    /// Creates a form with `fields` as the texts of its fields, in the order of [`FormField::ALL`].
    fn build_form(id: Option<u64>, fields: [&str; 4]) -> TaskForm {
        let mut form = TaskForm {
            id: id.map(TaskId),
            ..TaskForm::default()
        };
        for (field, text) in FormField::ALL.into_iter().zip(fields) {
            form.field = field;
            form.input_to_edit().set(text);
        }
        form
    }

    #[test]
    fn new_task_is_built_from_fields_or_rejected() {
        let state = user_actions_board(160, 45, None);
        let made = |fields| build_form(None, fields).to_command(&state.model.board);
        let new = NewTask {
            subject: "Draw it".into(),
            description: "With a pen.\nThen in ink.".into(),
            blocked_by: vec![TaskId(2), TaskId(4)],
            tags: vec!["rust".into(), "ui".into()],
            worktree: String::new(),
        };
        assert_eq!(
            made([
                "Draw it",
                "With a pen.\nThen in ink.\n\n",
                "#2, 4 2",
                "#rust ui"
            ]),
            Ok(Some(TaskCommand::Add { new }))
        );
        for (fields, why) in [
            (
                ["", "x", "", ""],
                "a task needs a subject: one line that says what is to be done",
            ),
            (
                ["x", "", "9", ""],
                "task #9 does not exist: the board has 6 tasks, the last is #6",
            ),
            (
                ["x", "", "two", ""],
                "'two' is not the number of a task (list the tasks to see their numbers)",
            ),
            (
                ["x", "", "1", ""],
                "task #1 is already completed: leave it out of the blockers",
            ),
        ] {
            assert_eq!(made(fields), Err(why.into()), "{fields:?}");
        }
        let long = "x".repeat(201);
        let why = "the subject is too long (200 characters at most): put the rest into a file and name the file";
        assert_eq!(made([&long, "", "", ""]), Err(why.into()));
    }

    #[test]
    fn edit_contains_only_changed_fields() {
        let state = user_actions_board(160, 45, None);
        let made = |id, fields| build_form(Some(id), fields).to_command(&state.model.board);
        let form = TaskForm::for_task(state.model.board.get(TaskId(4)).unwrap());
        assert_eq!(form.to_command(&state.model.board), Ok(None));
        let edit = |edit| {
            Ok(Some(TaskCommand::Edit {
                task: TaskId(4),
                edit,
            }))
        };
        assert_eq!(
            made(4, ["Describe the format", "", "2", "docs"]),
            edit(TaskEdit {
                tags: Some(vec!["docs".into()]),
                ..TaskEdit::default()
            })
        );
        assert_eq!(
            made(4, ["Describe it", "All of it.", "3", ""]),
            edit(TaskEdit {
                subject: Some("Describe it".into()),
                description: Some("All of it.".into()),
                block_on: vec![TaskId(3)],
                unblock: vec![TaskId(2)],
                tags: None,
            })
        );
        for (id, fields, why) in [
            (
                2,
                ["Write the parser", "", "4", ""],
                "task #2 cannot wait for #4: #4 already waits for #2",
            ),
            (
                4,
                ["Describe the format", "", "4", ""],
                "task #4 cannot wait for itself",
            ),
            (4, [" ", "", "2", ""], "a task needs a subject"),
            (
                1,
                ["Another plan", "", "", ""],
                "task #1 is completed and cannot be changed",
            ),
        ] {
            let refusal = made(id, fields).unwrap_err();
            assert!(refusal.starts_with(why), "{refusal}");
        }
    }

    #[test]
    fn edit_keeps_concurrent_changes() {
        let mut board = (*user_actions_board(160, 45, None).board).clone();
        let mut form = TaskForm::for_task(board.get(TaskId(4)).unwrap());
        let now = Timestamp(1.0);
        let others = TaskEdit {
            subject: Some("Describe the format well".into()),
            block_on: vec![TaskId(3)],
            tags: Some(vec!["docs".into()]),
            ..TaskEdit::default()
        };
        board.edit(TaskId(4), &others, now).unwrap();
        let alice = Name::member("alice").unwrap();
        board.complete(TaskId(2), &alice, now).unwrap();
        assert_eq!(form.to_command(&board), Ok(None));
        form.field = FormField::BlockedBy;
        form.input_to_edit().set("5");
        let edit = TaskEdit {
            block_on: vec![TaskId(5)],
            ..TaskEdit::default()
        };
        let task = TaskId(4);
        assert_eq!(
            form.to_command(&board),
            Ok(Some(TaskCommand::Edit { task, edit }))
        );
    }

    #[test]
    fn focus_cycles_and_blockers_toggle() {
        let mut form = TaskForm::new();
        let mut actual = Vec::new();
        for by in [1, 1, 1, 1, -1] {
            form.cycle_focus(by);
            actual.push(form.field.title());
        }
        assert_eq!(
            actual,
            ["Description", "Waits for", "Tags", "Subject", "Tags"]
        );
        for (id, expected) in [(3, "3"), (5, "3 5"), (3, "5"), (5, "")] {
            form.toggle_blocker(TaskId(id));
            assert_eq!(form.input(FormField::BlockedBy).text(), expected);
        }
    }
}
