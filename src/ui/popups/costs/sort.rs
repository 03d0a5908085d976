//! The order of the rows in the tables of the cost panel.

use std::cmp::Reverse;

use crate::domain::ids::TaskId;
use crate::ui::model::costs::Used;
use crate::ui::popups::costs::accounts::Account;

/// The column by which the tables are sorted. Rows with equal values in that column are ordered by cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CostSort {
    /// The highest cost first; if no price is known, the most tokens.
    #[default]
    Share,
    /// By the name of the agent and the number of the task.
    Name,
    /// The most model calls first.
    Calls,
    /// The most output tokens first.
    Output,
}

impl CostSort {
    /// Returns the order that follows this one, for a key that cycles through all orders.
    pub fn next(self) -> CostSort {
        match self {
            CostSort::Share => CostSort::Name,
            CostSort::Name => CostSort::Calls,
            CostSort::Calls => CostSort::Output,
            CostSort::Output => CostSort::Share,
        }
    }

    /// Sorts `rows` in this order. The rows must already be sorted by cost; rows with equal values stay in that order.
    /// In the order by name, the row that sums up agents that are no longer in memory stays last.
    pub fn sort_accounts(self, rows: &mut [Account]) {
        match self {
            CostSort::Name => {
                rows.sort_by(|a, b| (a.name.is_none(), &a.name).cmp(&(b.name.is_none(), &b.name)));
            }
            CostSort::Share | CostSort::Calls | CostSort::Output => {
                rows.sort_by_key(|row| Reverse(self.figure(&row.used)));
            }
        }
    }

    /// Sorts `rows` in this order. The rows must already be sorted by cost; rows with equal values stay in that order.
    pub fn sort_tasks(self, rows: &mut [(TaskId, Used)]) {
        match self {
            CostSort::Name => rows.sort_by_key(|(id, _)| *id),
            CostSort::Share | CostSort::Calls | CostSort::Output => {
                rows.sort_by_key(|(_, used)| Reverse(self.figure(used)));
            }
        }
    }

    /// Returns the number by which a row with the usage `used` is sorted: its calls or output tokens. Returns 0 for the
    /// orders by cost and by name, which do not use this number.
    fn figure(self, used: &Used) -> u64 {
        match self {
            CostSort::Share | CostSort::Name => 0,
            CostSort::Calls => used.calls,
            CostSort::Output => used.usage.output,
        }
    }
}
