//! What it means for a train that the checks cannot run on a combination.

use super::{RunningTrain, TrainRunner};
use crate::checks::CombinationResult;
use crate::domain::checks::CheckSpec;
use crate::domain::ids::TaskId;
use crate::domain::merge_train::{Combination, TrainFact, TrainVerdict};

impl TrainRunner {
    /// Runs the checks on the combination of `members` with the commit `base`.
    ///
    /// Branches can also break each other in a way in which a check cannot run, for example if the setup fails on them
    /// together. Therefore such a combination is red if the check can run on the base branch alone at this moment, and
    /// still cannot run on the combination after that.
    pub(super) async fn check(
        &self,
        base: &str,
        members: &[TaskId],
        combination: Combination,
        running: &mut RunningTrain,
    ) -> Result<TrainFact, String> {
        let mut result = self.result_of(members, &combination, running).await?;
        if let CombinationResult::Unknown { specs, .. } = &result
            && !members.is_empty()
            && self.can_run_on(base, specs, running).await?
        {
            result = match self.result_of(members, &combination, running).await? {
                CombinationResult::Unknown { why, specs } if !specs.is_empty() => {
                    CombinationResult::Red(why)
                }
                other => other,
            };
        }
        Ok(fact(result, combination.content, running))
    }

    /// Like [`TrainRunner::check`], but a combination on which the checks cannot run is not red.
    pub(super) async fn check_once(
        &self,
        members: &[TaskId],
        combination: Combination,
        running: &mut RunningTrain,
    ) -> Result<TrainFact, String> {
        let result = self.result_of(members, &combination, running).await?;
        Ok(fact(result, combination.content, running))
    }

    async fn can_run_on(
        &self,
        base: &str,
        specs: &[CheckSpec],
        running: &RunningTrain,
    ) -> Result<bool, String> {
        let place = (&self.worktrees, base);
        let can_run = self.checks.can_run(specs, place, &running.cancel).await;
        if running.cancel.is_cancelled() {
            return Err("interrupted".into());
        }
        Ok(can_run)
    }
}

fn fact(result: CombinationResult, content: String, running: &mut RunningTrain) -> TrainFact {
    match result {
        CombinationResult::Green => TrainFact::Checked(TrainVerdict::Green),
        CombinationResult::Red(output) => {
            running.outputs.insert(content, output);
            TrainFact::Checked(TrainVerdict::Red)
        }
        CombinationResult::Unknown { why, .. } => TrainFact::Unchecked(why),
    }
}
