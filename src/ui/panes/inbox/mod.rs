//! The pane with the messages between the agents.

mod feature;
pub(in crate::ui) mod view;

use std::sync::Arc;

use crate::ui::frame::list_filter::ListFilter;
use crate::ui::model::CrewModel;
use crate::ui::model::messages::TrackedMessage;

#[derive(Debug)]
pub struct InboxPane {
    /// The number of the selected message in the log of messages. `None` means that the newest message is selected,
    /// also when newer messages arrive.
    pub selected: Option<u64>,
    pub filter: ListFilter,
}

impl Default for InboxPane {
    fn default() -> InboxPane {
        InboxPane {
            selected: None,
            filter: ListFilter::new("words  from:NAME  to:NAME  !word"),
        }
    }
}

impl InboxPane {
    /// Returns the numbers of the messages that match the filter, oldest first.
    pub fn message_numbers(&self, model: &CrewModel) -> Arc<Vec<u64>> {
        model.messages.matching_numbers(self.filter.words())
    }

    /// Returns the index of the selected row and the message in that row; for a broadcast, the first copy. If the selected
    /// message is filtered out or no longer in memory, the next newer message counts as selected, or the newest one if
    /// there is none. `None` if no message matches the filter.
    pub fn selected_message<'a>(
        &self,
        model: &'a CrewModel,
    ) -> Option<(usize, &'a TrackedMessage)> {
        let rows = self.message_numbers(model);
        let newest = rows.len().checked_sub(1)?;
        let at = match self.selected {
            None => newest,
            Some(number) => {
                let number = model.messages.row_of(number);
                rows.partition_point(|n| *n < number).min(newest)
            }
        };
        Some((at, model.messages.get(*rows.get(at)?)?))
    }

    /// Selects the row at index `at`. If this is the newest row, the selection moves to new messages when they arrive.
    fn select_row(&mut self, model: &CrewModel, at: usize) {
        let rows = self.message_numbers(model);
        let is_newest = at + 1 >= rows.len();
        self.selected = rows.get(at).copied().filter(|_| !is_newest);
    }
}
