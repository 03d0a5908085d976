//! Names with whom a branch breaks that is red alone on the base branch: something that has landed since the branch began.

use super::{RunningTrain, TrainRunner};
use crate::domain::ids::TaskId;
use crate::domain::merge_train::{
    MergeTrain, PartnerSearch, ThrownOutReason, TrainFact, TrainVerdict,
};
use crate::store::{LandedCommit, LandedCommits};

/// Maximum number of commits of the base branch that are searched. Seven checks find one of them.
const SEARCHED_MAX: usize = 64;

/// With whom a branch breaks that is red alone on the base branch.
enum LandedPartner {
    /// The branch of this task.
    Task(TaskId),
    /// A commit that is not the merge of one branch, for example one of the user.
    Commit(LandedCommit),
}

impl TrainRunner {
    /// Finds the partners of the members that were thrown out alone since the last call, and adds them to `train` and
    /// `running`. A member whose partner cannot be found stays alone.
    pub(super) async fn name_partners(&self, train: &mut MergeTrain, running: &mut RunningTrain) {
        let new = train.thrown_out().iter().skip(running.searched);
        let alone: Vec<TaskId> = new
            .filter(|out| out.with.is_empty() && matches!(out.reason, ThrownOutReason::Red(_)))
            .map(|out| out.task)
            .collect();
        running.searched = train.thrown_out().len();
        for task in alone {
            let found = self.find_partner(task, train.base(), running).await;
            match found {
                Ok(Some(LandedPartner::Task(partner))) => {
                    train.add_partner(task, partner);
                    running.landed_before.insert(partner);
                }
                Ok(Some(LandedPartner::Commit(commit))) => {
                    running.breaking.insert(task, commit);
                }
                Ok(None) => {}
                Err(why) => {
                    tracing::warn!("it is not known with whom the branch of {task} breaks: {why}");
                }
            }
        }
    }

    /// Finds with what `task` breaks on the commit `base` of the base branch; `None` if it is older than what is searched.
    async fn find_partner(
        &self,
        task: TaskId,
        base: &str,
        running: &mut RunningTrain,
    ) -> Result<Option<LandedPartner>, String> {
        let branch = running.tasks.get(&task).map(|(_, branch)| branch);
        let tip = branch.ok_or("the task is not in the train")?.tip.clone();
        let base = base.to_string();
        let landed = self.with_store(move |store, _| store.landed_since(&base, &tip, SEARCHED_MAX));
        let Some(landed) = landed.await? else {
            return Ok(None);
        };
        let Some(mut commit) = self.search(task, &landed, running).await? else {
            return Ok(None);
        };
        // A train brings its branches with one commit: which of them is it?
        let hash = commit.hash.clone();
        let together = self.with_store(move |store, _| store.merged_together(&hash, SEARCHED_MAX));
        if let Some(together) = together.await?
            && let Some(inner) = self.search(task, &together, running).await?
        {
            commit = inner;
        }
        let hash = commit.hash.clone();
        let merged = self.with_store(move |store, _| store.merged_by(&hash));
        let partner = match merged.await?.as_slice() {
            [one] => one.task(),
            _ => None,
        };
        let named = partner.map_or(LandedPartner::Commit(commit), LandedPartner::Task);
        Ok(Some(named))
    }

    /// Finds the commit of `landed` with which `task` breaks; `None` if it is not known.
    async fn search(
        &self,
        task: TaskId,
        landed: &LandedCommits,
        running: &mut RunningTrain,
    ) -> Result<Option<LandedCommit>, String> {
        let mut search = PartnerSearch::new(landed.commits.len());
        while let Some(at) = search.step() {
            let before = at.checked_sub(1).and_then(|last| landed.commits.get(last));
            let base = before.map_or(&landed.start, |commit| &commit.hash);
            search.apply(self.verdict_on(base.clone(), task, running).await?);
        }
        let found = search.found().and_then(|at| landed.commits.get(at));
        Ok(found.cloned())
    }

    /// Returns the result of the checks on the branch of `task` together with the commit `base`; `None` if they cannot be
    /// combined or checked.
    async fn verdict_on(
        &self,
        base: String,
        task: TaskId,
        running: &mut RunningTrain,
    ) -> Result<Option<TrainVerdict>, String> {
        let TrainFact::Combined(combination) = self.combine(base, vec![task], running).await?
        else {
            return Ok(None);
        };
        match self.check_once(&[task], combination, running).await? {
            TrainFact::Checked(verdict) => Ok(Some(verdict)),
            _ => Ok(None),
        }
    }
}
