//! An agent's todo list. The list is always replaced as a whole.

use serde::{Deserialize, Serialize};

/// Maximum number of items in a todo list. A longer list is rejected.
pub const TODO_MAX: usize = 20;

/// How far the work on a todo item has come.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum TodoStatus {
    /// Not started.
    #[default]
    Pending,
    /// Being worked on. At most one item may have this status.
    InProgress,
    /// Finished. Older lists write `done`.
    #[serde(alias = "done")]
    Completed,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TodoItem {
    /// The id. If the model gave none, the position in the list, counted from 1.
    pub id: String,
    pub text: String,
    pub status: TodoStatus,
}

/// Why a todo list is rejected. The messages begin as those of learn-claude-code, so that prompts written for it still
/// work.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TodoError {
    /// More than [`TODO_MAX`] items.
    #[error("Max 20 todos allowed: merge small steps or drop finished ones")]
    TooMany,
    /// The item with this id has no text.
    #[error("Item {0}: text required")]
    Empty(String),
    #[error("Only one task can be in_progress at a time")]
    TwoInProgress,
}

/// A todo list that has passed the checks of [`TodoList::new`].
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct TodoList {
    items: Vec<TodoItem>,
}

impl TodoList {
    /// Validates the items and returns them as a list.
    ///
    /// # Errors
    /// Fails if there are more than [`TODO_MAX`] items, if an item has no text, or if more than one item is in
    /// progress.
    pub fn new(items: Vec<TodoItem>) -> Result<TodoList, TodoError> {
        if items.len() > TODO_MAX {
            return Err(TodoError::TooMany);
        }
        if let Some(item) = items.iter().find(|i| i.text.trim().is_empty()) {
            return Err(TodoError::Empty(item.id.clone()));
        }
        if items
            .iter()
            .filter(|i| i.status == TodoStatus::InProgress)
            .count()
            > 1
        {
            return Err(TodoError::TwoInProgress);
        }
        Ok(TodoList { items })
    }

    pub fn items(&self) -> &[TodoItem] {
        &self.items
    }

    pub fn done(&self) -> usize {
        self.items
            .iter()
            .filter(|i| i.status == TodoStatus::Completed)
            .count()
    }

    /// Returns whether any item is not completed.
    pub fn has_open(&self) -> bool {
        self.done() < self.items.len()
    }

    /// Renders the list for the model: a line such as `[>] #2: text` for each item, and a last line that says how many
    /// items are completed. An empty list is rendered as `No todos.`
    pub fn render(&self) -> String {
        if self.items.is_empty() {
            return "No todos.".into();
        }
        let mut lines = Vec::new();
        for item in &self.items {
            let mark = match item.status {
                TodoStatus::Pending => "[ ]",
                TodoStatus::InProgress => "[>]",
                TodoStatus::Completed => "[x]",
            };
            lines.push(format!("{mark} #{}: {}", item.id, item.text));
        }
        lines.push(format!(
            "\n({}/{} completed)",
            self.done(),
            self.items.len()
        ));
        lines.join("\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn item(id: usize, text: &str, status: TodoStatus) -> TodoItem {
        TodoItem {
            id: id.to_string(),
            text: text.into(),
            status,
        }
    }

    #[test]
    fn invalid_todo_lists_are_rejected() {
        use TodoStatus::{InProgress, Pending};
        let many = (1..=21).map(|i| item(i, "x", Pending)).collect();
        assert_eq!(TodoList::new(many), Err(TodoError::TooMany));
        let empty = vec![item(1, "ok", Pending), item(2, "  ", Pending)];
        assert_eq!(TodoList::new(empty), Err(TodoError::Empty("2".into())));
        let two = vec![item(1, "a", InProgress), item(2, "b", InProgress)];
        assert_eq!(TodoList::new(two), Err(TodoError::TwoInProgress));
    }

    #[test]
    fn rendering_matches_learn_claude_code() {
        use TodoStatus::{Completed, InProgress};
        let list =
            TodoList::new(vec![item(1, "read", Completed), item(2, "fix", InProgress)]).unwrap();
        assert_eq!(
            list.render(),
            "[x] #1: read\n[>] #2: fix\n\n(1/2 completed)"
        );
        assert!(list.has_open());
        assert_eq!(TodoList::default().render(), "No todos.");
    }
}
