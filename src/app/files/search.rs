//! Matches queries against the list of files.

use super::index::FileIndex;
use crate::ui::{FileMatch, FoundFiles, FuzzyPattern};

const MATCHES_MAX: usize = 50;
/// Number of paths after which the search checks whether a newer query waits.
const CHECK_AFTER: usize = 4096;

/// A list of files, with the matches of the last query.
pub struct FileSearch {
    index: FileIndex,
    /// The last query, and the indexes of its matches in [`FileIndex::paths`], in ascending order. If the next query
    /// begins with the last one, only these matches are searched. `None` before the first query and after a search that
    /// was stopped.
    last: Option<(String, Vec<u32>)>,
}

impl FileSearch {
    pub fn new(index: FileIndex) -> FileSearch {
        FileSearch { index, last: None }
    }

    /// Returns at most `MATCHES_MAX` matches of `query`, the best ones first. Leaves out a directory whose path is the
    /// query. Stops and returns `None` when `is_outdated` returns true because a newer query waits.
    pub fn find(
        &mut self,
        query: &str,
        is_outdated: &mut dyn FnMut() -> bool,
    ) -> Option<FoundFiles> {
        let mut pattern = FuzzyPattern::of_path(query);
        let mut scored: Vec<(std::cmp::Reverse<u32>, usize, u32)> = Vec::new();
        let before = self
            .last
            .take()
            .filter(|(last, _)| query.starts_with(last.as_str()));
        let all = u32::try_from(self.index.paths.len()).unwrap_or(u32::MAX);
        let candidates: Box<dyn Iterator<Item = u32>> = match before {
            Some((_, matches)) => Box::new(matches.into_iter()),
            None => Box::new(0..all),
        };
        for (count, at) in candidates.enumerate() {
            if count % CHECK_AFTER == CHECK_AFTER - 1 && is_outdated() {
                return None;
            }
            let Some(path) = self.index.paths.get(at as usize) else {
                continue;
            };
            if let Some(score) = pattern.score(path) {
                // The list is sorted by depth. An empty query keeps this order.
                let length = if query.is_empty() { 0 } else { path.len() };
                scored.push((std::cmp::Reverse(score), length, at));
            }
        }
        let matches = scored.iter().map(|(_, _, at)| *at).collect();
        self.last = Some((query.into(), matches));
        if scored.len() > MATCHES_MAX {
            scored.select_nth_unstable(MATCHES_MAX);
            scored.truncate(MATCHES_MAX);
        }
        scored.sort_unstable();
        let paths = scored
            .iter()
            .filter_map(|(_, _, at)| self.index.paths.get(*at as usize));
        let files = paths
            // Leave out a directory that is equal to the query: the user has already chosen it.
            .filter(|path| !path.ends_with('/') || ***path != *query)
            .map(|path| FileMatch {
                path: path.to_string(),
                marked: pattern.find(path).unwrap_or_default().positions,
            });
        Some(FoundFiles {
            query: query.into(),
            files: files.collect(),
            state: self.index.state,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ui::FileListState;
    use pretty_assertions::assert_eq;

    fn search(paths: &[&str]) -> FileSearch {
        FileSearch::new(FileIndex {
            paths: paths.iter().map(|p| (*p).into()).collect(),
            state: FileListState::Complete,
        })
    }

    fn find_paths(search: &mut FileSearch, query: &str) -> Vec<String> {
        let found = search.find(query, &mut || false).unwrap();
        found.files.into_iter().map(|file| file.path).collect()
    }

    #[test]
    fn file_names_and_short_paths_come_first() {
        let mut search = search(&[
            "README.md",
            "src/",
            "src/main.rs",
            "src/domain/mail.rs",
            "docs/maintenance.rs.md",
        ]);
        assert_eq!(find_paths(&mut search, "")[..2], ["README.md", "src/"]);
        assert_eq!(find_paths(&mut search, "main.rs")[0], "src/main.rs");
        assert_eq!(
            find_paths(&mut search, "src/"),
            ["src/main.rs", "src/domain/mail.rs"]
        );
        assert_eq!(find_paths(&mut search, "zzz"), [] as [String; 0]);
        // A query that is not longer is searched in the whole list again.
        assert_eq!(find_paths(&mut search, "rdm")[0], "README.md");
    }

    #[test]
    fn newer_query_interrupts_the_search() {
        let paths: Vec<String> = (0..CHECK_AFTER * 3).map(|n| format!("file{n}")).collect();
        let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
        let mut search = search(&paths);
        assert_eq!(search.find("f", &mut || true), None);
        let found = search.find("f", &mut || false).unwrap();
        assert_eq!(found.files.len(), MATCHES_MAX);
        assert_eq!(found.files[0].marked, [0]);
    }
}
