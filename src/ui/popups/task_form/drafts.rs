//! Task forms that are not on the screen: drafts, and forms that were sent to the board and neither accepted nor
//! rejected yet. No I/O.

use crate::domain::ids::TaskId;
use crate::protocol::TaskCommand;
use crate::ui::app::popup::PopupMemory;
use crate::ui::popups::task_form::form::TaskForm;

/// Maximum number of drafts, and also of sent forms that the board has neither accepted nor rejected yet.
pub const FORMS_MAX: usize = 8;

/// The task forms that are not on the screen. The drafts and the sent forms are each ordered from oldest to newest.
#[derive(Debug, Default)]
pub struct TaskForms {
    drafts: Vec<TaskForm>,
    /// The sent forms that the board has neither accepted nor rejected yet, each with its command.
    sent: Vec<(TaskForm, TaskCommand)>,
}

impl TaskForms {
    /// Stores a form that the user closed without saving. If there are more than [`FORMS_MAX`] drafts then, the oldest
    /// one is dropped.
    pub fn store_draft(&mut self, form: TaskForm) {
        self.drafts.push(form);
        if self.drafts.len() > FORMS_MAX {
            self.drafts.remove(0);
        }
    }

    /// Removes and returns the newest draft of task `id`, or of a new task if `id` is `None`. Returns `None` if there
    /// is no such draft.
    pub fn take_draft(&mut self, id: Option<TaskId>) -> Option<TaskForm> {
        let at = self.drafts.iter().rposition(|form| form.id == id)?;
        Some(self.drafts.remove(at))
    }

    /// Returns whether [`FORMS_MAX`] sent forms wait for the board to accept or reject them, so that no further form
    /// can be sent.
    pub fn is_full(&self) -> bool {
        self.sent.len() >= FORMS_MAX
    }

    /// Stores a form that was sent to the board with `command`, until the board accepts or rejects it.
    pub fn add_sent(&mut self, form: TaskForm, command: TaskCommand) {
        self.sent.push((form, command));
    }

    /// Removes the oldest sent form of task `id`, or of a new task if `id` is `None`, because the board has accepted
    /// it. Returns whether there was such a form.
    pub fn accept(&mut self, id: Option<TaskId>) -> bool {
        let at = self.sent.iter().position(|(form, _)| form.id == id);
        at.map(|at| self.sent.remove(at)).is_some()
    }

    /// Removes and returns the form that was sent with `command`, because the board has rejected it. Returns `None` if
    /// no form was sent with `command`.
    pub fn take_rejected(&mut self, command: &TaskCommand) -> Option<TaskForm> {
        let at = self.sent.iter().position(|(_, sent)| sent == command)?;
        Some(self.sent.remove(at).0)
    }

    #[cfg(test)]
    pub fn is_clear(&self) -> bool {
        self.drafts.is_empty() && self.sent.is_empty()
    }
}

impl PopupMemory for TaskForms {
    /// Turns all sent forms into drafts, because the board will neither accept nor reject them any more.
    fn answers_will_not_come(&mut self) {
        for (form, _) in std::mem::take(&mut self.sent) {
            self.store_draft(form);
        }
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn form(id: Option<u64>, error: &str) -> TaskForm {
        let mut form = TaskForm::new();
        form.id = id.map(TaskId);
        form.error = error.into();
        form
    }

    #[test]
    fn answers_match_their_form_and_drafts_return_newest_first() {
        let mut forms = TaskForms::default();
        let command = |n| TaskCommand::Complete { task: TaskId(n) };
        for (n, (id, name)) in (1..).zip([(None, "a"), (Some(4), "b"), (None, "c"), (None, "e")]) {
            forms.add_sent(form(id, name), command(n));
        }
        let name = |form: Option<TaskForm>| form.map(|f| f.error);
        assert!(!forms.accept(Some(TaskId(9))));
        assert!(forms.accept(Some(TaskId(4))));
        assert_eq!(name(forms.take_rejected(&command(4))), Some("e".into()));
        assert_eq!(name(forms.take_rejected(&command(4))), None);
        assert!(forms.accept(None));
        forms.store_draft(form(None, "d"));
        forms.answers_will_not_come();
        assert_eq!(name(forms.take_draft(None)), Some("c".into()));
        assert_eq!(name(forms.take_draft(None)), Some("d".into()));
        assert!(forms.is_clear());
        for n in 0..=FORMS_MAX {
            forms.store_draft(form(None, &n.to_string()));
        }
        let left: Vec<_> = std::iter::from_fn(|| name(forms.take_draft(None))).collect();
        assert_eq!((left.len(), left.last()), (FORMS_MAX, Some(&"1".into())));
    }
}
