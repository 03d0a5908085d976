//! The environment variables that hooks have set for the commands of agents.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock};

/// Environment variables that change while a crew runs. All clones share them. Two values always compare as equal.
#[derive(Debug, Clone, Default)]
pub struct SessionVariables(Arc<RwLock<Arc<BTreeMap<String, String>>>>);

impl PartialEq for SessionVariables {
    fn eq(&self, _: &SessionVariables) -> bool {
        true
    }
}

impl Eq for SessionVariables {}

impl SessionVariables {
    /// Replaces all variables.
    pub fn set(&self, variables: BTreeMap<String, String>) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(variables);
    }

    pub fn current(&self) -> Arc<BTreeMap<String, String>> {
        Arc::clone(&self.0.read().unwrap_or_else(PoisonError::into_inner))
    }
}
