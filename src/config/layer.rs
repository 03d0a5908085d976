//! How the settings in a later file override those in an earlier file.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::themes;
use crate::domain::budget::UsageBudgets;
use crate::domain::custom_theme::CustomTheme;

/// A setting that a later settings file can override, as a whole or in part.
pub trait Layer: Sized {
    fn layer(self, later: Self) -> Self;
}

impl<T> Layer for Option<T> {
    fn layer(self, later: Self) -> Self {
        later.or(self)
    }
}

/// A later file overrides only the entries that it contains, not the whole map.
impl<V> Layer for BTreeMap<String, V> {
    fn layer(mut self, later: Self) -> Self {
        self.extend(later);
        self
    }
}

/// A later file overrides only the themes of the same name, not the whole list.
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
