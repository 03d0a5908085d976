//! What a page of Markdown came to, and what goes on behind it.

use super::blocks::List;
use super::code::Inside;
use super::table::Measured;
use crate::ui::textual::wrap::Row;

/// What goes on behind a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Onward {
    /// In the code with which it ends.
    pub code: Inside,
    /// The list with which it ends.
    pub list: Option<List>,
}

/// What a page came to.
pub struct Filled {
    /// Its rows.
    pub rows: Vec<Row>,
    /// The visible characters behind them.
    pub ink: usize,
    /// What goes on behind it.
    pub onward: Onward,
    /// What its first table would have by itself.
    pub measured: Option<Measured>,
}
