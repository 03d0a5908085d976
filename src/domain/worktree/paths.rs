//! Paths that are shown to users and models.

use crate::domain::text::{clip, join_names, one_line};

/// Maximum number of paths that are kept.
const NAMES_MAX: usize = 5;
/// Maximum length of a path, in characters. Agents choose paths, and git accepts 4,096 bytes.
const PATH_MAX: usize = 100;

/// Some paths: the first ones, and the number of all.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PathSummary {
    names: Vec<String>,
    pub count: usize,
}

impl PathSummary {
    pub fn add(&mut self, path: &str) {
        self.count += 1;
        if self.names.len() < NAMES_MAX {
            self.names.push(one_line(&clip(path, PATH_MAX)));
        }
    }

    /// Returns the first paths and the number of further ones: `a, b and 3 more`.
    pub fn list(&self) -> String {
        join_names(&self.names, NAMES_MAX, self.count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_bounded_in_number_and_length() {
        let mut paths = PathSummary::default();
        paths.add(&format!("a\n{}", "x".repeat(4000)));
        for n in 0..1000 {
            paths.add(&n.to_string());
        }
        let list = paths.list();
        assert!(
            list.starts_with("a⏎x") && list.ends_with("3 and 996 more"),
            "{list}"
        );
        assert!(list.len() < 200, "{list}");
    }
}
