//! Pure: the form in which the person writes a task or changes one: what is in its fields, and what they come to.

use std::str::FromStr;

use crate::domain::graph::{NewTask, TaskEdit, TaskGraph};
use crate::domain::ids::{TaskId, TaskRef};
use crate::domain::stamp::Stamp;
use crate::domain::task::Task;
use crate::domain::text::one_line;
use crate::protocol::TaskWish;
use crate::ui::writing::composer::Composer;

/// The fields, in their order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Field {
    /// What is to be done, on one line.
    #[default]
    Subject,
    /// Everything else.
    Description,
    /// The numbers of the tasks that it waits for.
    Waits,
    /// What a claimer must be good at.
    Tags,
}

impl Field {
    /// All of them.
    pub const ALL: [Field; 4] = [
        Field::Subject,
        Field::Description,
        Field::Waits,
        Field::Tags,
    ];

    /// Its name.
    pub fn title(self) -> &'static str {
        match self {
            Field::Subject => "Subject",
            Field::Description => "Description",
            Field::Waits => "Waits for",
            Field::Tags => "Tags",
        }
    }

    /// What stands in it while it is empty.
    pub fn example(self) -> &'static str {
        match self {
            Field::Subject => "one line: what is to be done",
            Field::Description => "everything else, or nothing",
            Field::Waits => "numbers, as 3 5",
            Field::Tags => "what a teammate must be good at, as rust docs",
        }
    }
}

/// The form.
#[derive(Debug, Default)]
pub struct TaskForm {
    /// The task that is changed; `None`: a new one is written.
    pub id: Option<TaskId>,
    /// The field that has the keys.
    pub field: Field,
    /// Why it can not be taken as it is; empty: nobody has said so.
    pub error: String,
    /// The task as it was when its form was opened: what others change meanwhile is not undone.
    opened: Option<Task>,
    subject: Composer,
    description: Composer,
    waits: Composer,
    tags: Composer,
}

impl TaskForm {
    /// For a new task.
    pub fn new() -> TaskForm {
        TaskForm::default()
    }

    /// For a task that is there.
    pub fn of(task: &Task) -> TaskForm {
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

    /// Its title.
    pub fn title(&self) -> String {
        match self.id {
            None => "New task".into(),
            Some(id) => format!("Edit {id}"),
        }
    }

    /// What is written in a field.
    pub fn part(&self, field: Field) -> &Composer {
        match field {
            Field::Subject => &self.subject,
            Field::Description => &self.description,
            Field::Waits => &self.waits,
            Field::Tags => &self.tags,
        }
    }

    /// The field that has the keys. What was wrong may be so no more.
    pub fn writing(&mut self) -> &mut Composer {
        self.error.clear();
        self.in_view()
    }

    /// The field that has the keys, as long as nothing is written into it.
    pub fn in_view(&mut self) -> &mut Composer {
        match self.field {
            Field::Subject => &mut self.subject,
            Field::Description => &mut self.description,
            Field::Waits => &mut self.waits,
            Field::Tags => &mut self.tags,
        }
    }

    /// What is put into a field with one line has one line.
    pub fn fitting(&self, text: &str) -> String {
        match self.field {
            Field::Description => text.into(),
            Field::Subject | Field::Waits | Field::Tags => {
                let words: Vec<&str> = text.lines().map(str::trim).collect();
                words.join(" ").trim().into()
            }
        }
    }

    /// Gives the keys to the field after, or before.
    pub fn turn(&mut self, by: isize) {
        let all = Field::ALL;
        let count = all.len().cast_signed();
        let at = all.iter().position(|f| *f == self.field).unwrap_or(0);
        let next = (at.cast_signed() + by).rem_euclid(count);
        self.field = all[next.cast_unsigned()];
    }

    /// Whether nothing is written.
    pub fn is_empty(&self) -> bool {
        Field::ALL
            .iter()
            .all(|f| self.part(*f).text().trim().is_empty())
    }

    /// Adds a task to those that it waits for, or takes it out.
    pub fn turn_wait(&mut self, id: TaskId) {
        self.error.clear();
        let text = self.waits.text();
        let is_it = |word: &&str| matches!(word.parse(), Ok(TaskRef::Id(other)) if other == id);
        let mut words: Vec<&str> = words(&text).collect();
        let number = id.0.to_string();
        if words.iter().any(is_it) {
            words.retain(|word| !is_it(word));
        } else {
            words.push(&number);
        }
        self.waits.set(&words.join(" "));
    }

    /// What it comes to on that board, by the board's own rules; `None`: nothing is other than before.
    ///
    /// # Errors
    /// Why it can not be taken as it is.
    pub fn wish(&self, board: &TaskGraph) -> Result<Option<TaskWish>, String> {
        let blocked_by = numbers(&self.waits.text(), board)?;
        let tags: Vec<String> = words(&self.tags.text())
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
            let checked = tried.create(TaskId::MAX, new.clone(), Stamp::default());
            checked.map_err(|e| e.to_string())?;
            return Ok(Some(TaskWish::Add { new }));
        };
        let now = board.known(task).map_err(|e| e.to_string())?;
        let before = self.opened.as_ref().unwrap_or(now);
        let is_other = |a: &[TaskId], b: &[TaskId]| -> Vec<TaskId> {
            a.iter().copied().filter(|id| !b.contains(id)).collect()
        };
        let mut unblock = is_other(&before.blocked_by, &blocked_by);
        // What is done or gone meanwhile keeps it no more.
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
        let checked = tried.edit(task, &edit, Stamp::default());
        checked.map_err(|e| e.to_string())?;
        Ok(Some(TaskWish::Edit { task, edit }))
    }
}

/// The words of a field with a list.
fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split([',', ' ', '\t', '\n'])
        .filter(|word| !word.is_empty())
}

/// The numbers of tasks, each once.
fn numbers(text: &str, board: &TaskGraph) -> Result<Vec<TaskId>, String> {
    let mut out = Vec::new();
    for word in words(text) {
        match TaskRef::from_str(word) {
            Ok(TaskRef::Id(id)) if out.contains(&id) => {}
            Ok(TaskRef::Id(id)) => out.push(id),
            Ok(TaskRef::Words(_)) | Err(_) => return Err(board.no_number(word).to_string()),
        }
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;
    use crate::domain::ids::Name;
    use crate::ui::fixture::hands;

    /// A form with these words in its fields.
    fn filled(id: Option<u64>, fields: [&str; 4]) -> TaskForm {
        let mut form = TaskForm {
            id: id.map(TaskId),
            ..TaskForm::default()
        };
        for (field, text) in Field::ALL.into_iter().zip(fields) {
            form.field = field;
            form.writing().set(text);
        }
        form
    }

    #[test]
    fn a_new_task_is_what_the_fields_say_or_is_refused_with_the_reason() {
        let state = hands(160, 45, None);
        let made = |fields| filled(None, fields).wish(&state.board);
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
            Ok(Some(TaskWish::Add { new }))
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
                "'two' is not the number of a task (list the tasks to see them)",
            ),
            (
                ["x", "", "1", ""],
                "task #1 is already completed: nothing has to wait for it",
            ),
        ] {
            assert_eq!(made(fields), Err(why.into()), "{fields:?}");
        }
        let long = "x".repeat(201);
        let why = "the subject is too long (200 characters at most): put the rest into a file and name it";
        assert_eq!(made([&long, "", "", ""]), Err(why.into()));
    }

    #[test]
    fn an_edit_says_what_is_other_and_nothing_else() {
        let state = hands(160, 45, None);
        let made = |id, fields| filled(Some(id), fields).wish(&state.board);
        let form = TaskForm::of(state.board.get(TaskId(4)).unwrap());
        assert_eq!(form.wish(&state.board), Ok(None));
        let edit = |edit| {
            Ok(Some(TaskWish::Edit {
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
    fn what_others_change_while_the_form_is_open_is_not_undone() {
        let mut board = (*hands(160, 45, None).board).clone();
        let mut form = TaskForm::of(board.get(TaskId(4)).unwrap());
        let now = Stamp(1.0);
        let others = TaskEdit {
            subject: Some("Describe the format well".into()),
            block_on: vec![TaskId(3)],
            tags: Some(vec!["docs".into()]),
            ..TaskEdit::default()
        };
        board.edit(TaskId(4), &others, now).unwrap();
        let alice = Name::member("alice").unwrap();
        board.complete(TaskId(2), &alice, now).unwrap();
        assert_eq!(form.wish(&board), Ok(None));
        form.field = Field::Waits;
        form.writing().set("5");
        let edit = TaskEdit {
            block_on: vec![TaskId(5)],
            ..TaskEdit::default()
        };
        let task = TaskId(4);
        assert_eq!(form.wish(&board), Ok(Some(TaskWish::Edit { task, edit })));
    }

    #[test]
    fn fields_follow_one_another_and_the_selected_task_goes_in_and_out() {
        let mut form = TaskForm::new();
        let mut seen = Vec::new();
        for by in [1, 1, 1, 1, -1] {
            form.turn(by);
            seen.push(form.field.title());
        }
        assert_eq!(
            seen,
            ["Description", "Waits for", "Tags", "Subject", "Tags"]
        );
        for (id, expected) in [(3, "3"), (5, "3 5"), (3, "5"), (5, "")] {
            form.turn_wait(TaskId(id));
            assert_eq!(form.part(Field::Waits).text(), expected);
        }
    }
}
