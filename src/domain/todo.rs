//! An agent's own todo list and the rules of its whole-list replacement.

use serde::{Deserialize, Serialize};

/// Most items a list may hold.
pub const TODO_MAX: usize = 20;

/// Where an item stands.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum TodoStatus {
    /// Not begun.
    #[default]
    Pending,
    /// Being worked on; one item at most.
    InProgress,
    /// Finished. `done` is an older spelling.
    #[serde(alias = "done")]
    Completed,
}

/// One line of the list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TodoItem {
    /// Its id; the place in the list where the writer gave none.
    pub id: String,
    /// What is to be done.
    pub text: String,
    /// Where it stands.
    pub status: TodoStatus,
}

/// Why a list was refused. The texts are the reference's, so that prompts written for it still fit.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TodoError {
    /// More than [`TODO_MAX`] items.
    #[error("Max 20 todos allowed: merge small steps or drop finished ones")]
    TooMany,
    /// An item without text.
    #[error("Item {0}: text required")]
    Empty(String),
    /// More than one item in progress.
    #[error("Only one task can be in_progress at a time")]
    TwoInProgress,
}

/// A list that keeps the rules.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct TodoList {
    items: Vec<TodoItem>,
}

impl TodoList {
    /// A list of `items`, or why it is refused.
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

    /// The items in order.
    pub fn items(&self) -> &[TodoItem] {
        &self.items
    }

    /// How many items are completed.
    pub fn done(&self) -> usize {
        self.items
            .iter()
            .filter(|i| i.status == TodoStatus::Completed)
            .count()
    }

    /// Whether an item is still to be done.
    pub fn has_open(&self) -> bool {
        self.done() < self.items.len()
    }

    /// The list as the model reads it.
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
    fn the_three_rules() {
        use TodoStatus::{InProgress, Pending};
        let many = (1..=21).map(|i| item(i, "x", Pending)).collect();
        assert_eq!(TodoList::new(many), Err(TodoError::TooMany));
        let empty = vec![item(1, "ok", Pending), item(2, "  ", Pending)];
        assert_eq!(TodoList::new(empty), Err(TodoError::Empty("2".into())));
        let two = vec![item(1, "a", InProgress), item(2, "b", InProgress)];
        assert_eq!(TodoList::new(two), Err(TodoError::TwoInProgress));
    }

    #[test]
    fn it_renders_as_the_reference_does() {
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
