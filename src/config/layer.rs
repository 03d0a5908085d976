//! How the settings in a later file override those in an earlier file.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::hub::HubOptions;
use super::themes;
use crate::domain::budget::UsageBudgets;
use crate::domain::checkpoint::CheckpointSettings;
use crate::domain::checks::CheckSpec;
use crate::domain::custom_theme::CustomTheme;
use crate::domain::named_model::ModelUses;
use crate::domain::worktree::WorktreeSettings;

/// A setting whose value can be overridden, as a whole or in part, by a settings file that is read later.
pub trait Layer: Sized {
    fn layer(self, later: Self) -> Self;
}

impl<T> Layer for Option<T> {
    fn layer(self, later: Self) -> Self {
        later.or(self)
    }
}

/// Entries of a later file replace those with the same key. All other entries stay.
impl<V> Layer for BTreeMap<String, V> {
    fn layer(mut self, later: Self) -> Self {
        self.extend(later);
        self
    }
}

/// Themes of a later file replace those with the same name. All other themes stay.
impl Layer for Vec<Arc<CustomTheme>> {
    fn layer(self, later: Self) -> Self {
        themes::merge(self, later)
    }
}

/// Checks of a later file replace those with the same name. All other checks stay.
impl Layer for Vec<CheckSpec> {
    fn layer(mut self, later: Self) -> Self {
        let is_replaced = |spec: &CheckSpec| {
            later
                .iter()
                .any(|new| new.name.eq_ignore_ascii_case(&spec.name))
        };
        self.retain(|spec| !is_replaced(spec));
        self.extend(later);
        self
    }
}

impl Layer for ModelUses {
    fn layer(self, later: Self) -> Self {
        self.merged_with(later)
    }
}

impl Layer for UsageBudgets {
    fn layer(self, later: Self) -> Self {
        self.merged_with(later)
    }
}

impl Layer for CheckpointSettings {
    fn layer(self, later: Self) -> Self {
        self.merged_with(later)
    }
}

impl Layer for HubOptions {
    fn layer(self, later: Self) -> Self {
        self.merged_with(later)
    }
}

impl Layer for WorktreeSettings {
    fn layer(self, later: Self) -> Self {
        self.merged_with(later)
    }
}
