//! Finds with which commit of the base branch a branch breaks that is red alone on the base branch.

use super::step::TrainVerdict;

/// A search by halves over the commits of the base branch since a branch began. Before the first of them the branch is
/// green, as it was when its task was completed; after the last of them it is red.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartnerSearch {
    /// The highest number of commits after which the branch is known to be green; `None` if none is known.
    green: Option<usize>,
    /// The lowest number of commits after which the branch is known to be red.
    red: usize,
}

impl PartnerSearch {
    /// Starts a search over `commits` commits.
    pub fn new(commits: usize) -> PartnerSearch {
        PartnerSearch {
            green: None,
            red: commits,
        }
    }

    /// Returns after how many of the commits the branch is to be checked next; 0 means before the first of them. `None` if
    /// the search has ended.
    pub fn step(&self) -> Option<usize> {
        match self.green {
            None => (self.red > 0).then_some(0),
            Some(green) => (self.red - green > 1).then_some(usize::midpoint(green, self.red)),
        }
    }

    /// Takes the result of the current step; `None` if the branch cannot be checked there. Such a commit is passed over, but
    /// a search needs a green start.
    pub fn apply(&mut self, verdict: Option<TrainVerdict>) {
        let Some(at) = self.step() else { return };
        match verdict {
            Some(TrainVerdict::Red) => self.red = at,
            None if at == 0 => self.red = 0,
            None | Some(TrainVerdict::Green) => self.green = Some(at),
        }
    }

    /// Returns the index of the commit with which the branch breaks. `None` if the search has not ended, or the branch was
    /// not green before the first commit.
    pub fn found(&self) -> Option<usize> {
        self.green.filter(|green| self.red == green + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Searches `commits` commits, of which the one with the index `breaks` breaks the branch. Returns what is found, and
    /// the number of checks.
    fn search(commits: usize, breaks: usize) -> (Option<usize>, usize) {
        let mut search = PartnerSearch::new(commits);
        let mut checks = 0;
        while let Some(at) = search.step() {
            checks += 1;
            let verdict = if at > breaks {
                TrainVerdict::Red
            } else {
                TrainVerdict::Green
            };
            search.apply(Some(verdict));
        }
        (search.found(), checks)
    }

    #[test]
    fn each_commit_that_breaks_is_found_with_few_checks() {
        for commits in 1..=64 {
            for breaks in 0..commits {
                let (found, checks) = search(commits, breaks);
                assert_eq!(found, Some(breaks), "of {commits}");
                assert!(checks <= 7, "{checks} checks for {commits} commits");
            }
        }
    }

    #[test]
    fn search_without_a_green_start_finds_nothing() {
        for verdict in [None, Some(TrainVerdict::Red)] {
            let mut search = PartnerSearch::new(3);
            assert_eq!((search.step(), search.found()), (Some(0), None));
            search.apply(verdict);
            assert_eq!((search.step(), search.found()), (None, None));
            search.apply(Some(TrainVerdict::Green));
            assert_eq!(search.found(), None);
        }
        assert_eq!(PartnerSearch::new(0).step(), None);
    }

    #[test]
    fn commit_on_which_nothing_can_be_checked_is_passed_over() {
        let mut search = PartnerSearch::new(3);
        search.apply(Some(TrainVerdict::Green));
        assert_eq!(search.step(), Some(1));
        search.apply(None);
        assert_eq!(search.step(), Some(2));
        search.apply(Some(TrainVerdict::Red));
        assert_eq!(search.found(), Some(1));
    }
}
