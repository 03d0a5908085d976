//! Pure: the forms of tasks that are not on the screen: drafts, and what the board has not answered to.

use crate::domain::ids::TaskId;
use crate::ui::writing::task_form::TaskForm;

/// Most drafts that are kept, and most forms that are on their way to the board.
pub const FORMS_MAX: usize = 8;

/// The forms that are not on the screen. Both lists are the oldest first.
#[derive(Debug, Default)]
pub struct TaskForms {
    drafts: Vec<TaskForm>,
    sent: Vec<TaskForm>,
}

impl TaskForms {
    /// Keeps a form that was closed before it was taken. Of more than [`FORMS_MAX`] the oldest goes.
    pub fn keep(&mut self, form: Box<TaskForm>) {
        self.drafts.push(*form);
        if self.drafts.len() > FORMS_MAX {
            self.drafts.remove(0);
        }
    }

    /// The newest draft of that task, or of a new one.
    pub fn draft(&mut self, id: Option<TaskId>) -> Option<Box<TaskForm>> {
        let at = self.drafts.iter().rposition(|form| form.id == id)?;
        Some(Box::new(self.drafts.remove(at)))
    }

    /// Whether as many are on their way to the board as may be.
    pub fn is_full(&self) -> bool {
        self.sent.len() >= FORMS_MAX
    }

    /// A form is on its way to the board.
    pub fn sent(&mut self, form: Box<TaskForm>) {
        self.sent.push(*form);
    }

    /// The board has answered to the oldest of that task, or of a new one.
    pub fn answered(&mut self, id: Option<TaskId>) -> Option<Box<TaskForm>> {
        let at = self.sent.iter().position(|form| form.id == id)?;
        Some(Box::new(self.sent.remove(at)))
    }

    /// What is on its way will not arrive.
    pub fn come_back(&mut self) {
        for form in std::mem::take(&mut self.sent) {
            self.keep(Box::new(form));
        }
    }

    /// Whether there are none.
    #[cfg(test)]
    pub fn is_clear(&self) -> bool {
        self.drafts.is_empty() && self.sent.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn form(id: Option<u64>, error: &str) -> Box<TaskForm> {
        let mut form = TaskForm::new();
        form.id = id.map(TaskId);
        form.error = error.into();
        Box::new(form)
    }

    #[test]
    fn answers_go_to_the_oldest_of_their_task_and_drafts_come_back_newest_first() {
        let mut forms = TaskForms::default();
        for (id, name) in [(None, "a"), (Some(4), "b"), (None, "c")] {
            forms.sent(form(id, name));
        }
        let name = |form: Option<Box<TaskForm>>| form.map(|f| f.error);
        assert_eq!(name(forms.answered(Some(TaskId(9)))), None);
        assert_eq!(name(forms.answered(Some(TaskId(4)))), Some("b".into()));
        assert_eq!(name(forms.answered(None)), Some("a".into()));
        forms.keep(form(None, "d"));
        forms.come_back();
        assert_eq!(name(forms.draft(None)), Some("c".into()));
        assert_eq!(name(forms.draft(None)), Some("d".into()));
        assert!(forms.is_clear());
        for n in 0..=FORMS_MAX {
            forms.keep(form(None, &n.to_string()));
        }
        let left: Vec<_> = std::iter::from_fn(|| name(forms.draft(None))).collect();
        assert_eq!((left.len(), left.last()), (FORMS_MAX, Some(&"1".into())));
    }
}
