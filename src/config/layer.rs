//! How a later settings file goes on top of an earlier one.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::themes;
use crate::domain::budget::UsageBudgets;
use crate::domain::custom_theme::CustomTheme;

/// A value of which a later one covers an earlier one, wholly or in part.
pub trait Layer: Sized {
    fn layer(self, later: Self) -> Self;
}

impl<T> Layer for Option<T> {
    fn layer(self, later: Self) -> Self {
        later.or(self)
    }
}

/// Entry by entry.
impl<V> Layer for BTreeMap<String, V> {
    fn layer(mut self, later: Self) -> Self {
        self.extend(later);
        self
    }
}

/// Theme by theme.
impl Layer for Vec<Arc<CustomTheme>> {
    fn layer(self, later: Self) -> Self {
        themes::merge(self, later)
    }
}

impl Layer for UsageBudgets {
    fn layer(self, later: Self) -> Self {
        self.merged_with(later)
    }
}
