//! How a merge train that runs is shown. Pure.

use crate::domain::ids::TaskId;
use crate::domain::merge_train::{TrainPhase, TrainRemoval, TrainState};
use crate::domain::text::one_line;
use crate::ui::model::CrewModel;

/// Maximum number of tasks that are named together. Further tasks are only counted.
const NAMED_MAX: usize = 6;

pub fn is_running(model: &CrewModel) -> bool {
    let train = model.train.as_ref();
    train.is_some_and(|train| !train.has_ended())
}

/// Returns the descriptions of the merge train that runs, the longest first; `None` if none runs.
pub fn forms(model: &CrewModel) -> Option<[String; 3]> {
    let train = model.train.as_ref().filter(|train| !train.has_ended())?;
    let into = one_line(&train.into);
    let mut long = format!("Merge train to {into}: {}", doing(train, &names));
    let mut middle = format!("Train: {}", doing(train, &names));
    let mut short = format!("Train: {}", doing(train, &|tasks| tasks.len().to_string()));
    let landed = train.landed.as_slice();
    let out = train.thrown_out.as_slice();
    let waiting: Vec<TaskId> = train
        .waiting
        .iter()
        .filter(|task| !train.current.contains(task))
        .copied()
        .collect();
    if !waiting.is_empty() {
        long.push_str(&format!(", waiting: {}", names(&waiting)));
        middle.push_str(&format!(", waiting: {}", waiting.len()));
    }
    if !landed.is_empty() {
        long.push_str(&format!(", landed: {}", names(landed)));
        middle.push_str(&format!(", landed: {}", landed.len()));
    }
    if !out.is_empty() {
        let reasons: Vec<String> = out.iter().take(NAMED_MAX).map(removal).collect();
        let more = out.len().saturating_sub(NAMED_MAX);
        long.push_str(&format!(", out: {}", reasons.join(", ")));
        if more > 0 {
            long.push_str(&format!(" +{more}"));
        }
        middle.push_str(&format!(", out: {}", out.len()));
        short.push_str(&format!(", out: {}", out.len()));
    }
    Some([long, middle, short])
}

/// Returns what a train does. `list` lists tasks.
fn doing(train: &TrainState, list: &dyn Fn(&[TaskId]) -> String) -> String {
    match train.phase {
        TrainPhase::Checking if train.current.is_empty() => {
            format!("checking {} alone", one_line(&train.into))
        }
        TrainPhase::Checking => format!("checking {}", list(&train.current)),
        TrainPhase::Landing => format!("landing {}", list(&train.current)),
        TrainPhase::Ended | TrainPhase::Unknown => list(&train.waiting),
    }
}

/// Returns a task that was thrown out, and why.
pub fn removal(out: &TrainRemoval) -> String {
    match (out.is_conflict, out.with.as_slice()) {
        (true, _) => format!("{} (conflict)", out.task),
        (false, []) => format!("{} (checks red)", out.task),
        (false, with) => format!("{} (red with {})", out.task, names(with)),
    }
}

/// Returns the numbers of tasks.
pub fn names(tasks: &[TaskId]) -> String {
    let named: Vec<String> = tasks
        .iter()
        .take(NAMED_MAX)
        .map(TaskId::to_string)
        .collect();
    match tasks.len().saturating_sub(NAMED_MAX) {
        0 => named.join(" "),
        more => format!("{} +{more}", named.join(" ")),
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;
    use jiff::tz::TimeZone;

    fn state(phase: TrainPhase, current: &[u64]) -> TrainState {
        TrainState {
            into: "main".into(),
            phase,
            waiting: [1, 2, 3].map(TaskId).to_vec(),
            current: current.iter().copied().map(TaskId).collect(),
            landed: Vec::new(),
            thrown_out: Vec::new(),
            held_back: Vec::new(),
            why: String::new(),
        }
    }

    fn forms_of(train: TrainState) -> Option<[String; 3]> {
        let mut model = CrewModel::new(TimeZone::UTC);
        model.train = Some(train);
        forms(&model)
    }

    #[test]
    fn running_train_is_described_in_three_lengths() {
        let red = TrainRemoval {
            task: TaskId(5),
            with: vec![TaskId(1)],
            is_conflict: false,
        };
        let conflict = TrainRemoval {
            task: TaskId(6),
            with: Vec::new(),
            is_conflict: true,
        };
        let train = TrainState {
            landed: vec![TaskId(4)],
            thrown_out: vec![red, conflict],
            ..state(TrainPhase::Checking, &[1, 2])
        };
        let expected = [
            "Merge train to main: checking #1 #2, waiting: #3, landed: #4, out: #5 (red with #1), #6 (conflict)",
            "Train: checking #1 #2, waiting: 1, landed: 1, out: 2",
            "Train: checking 2, out: 2",
        ];
        assert_eq!(forms_of(train), Some(expected.map(String::from)));
        let base = forms_of(state(TrainPhase::Checking, &[])).unwrap();
        assert_eq!(base[2], "Train: checking main alone");
        let landing = forms_of(state(TrainPhase::Landing, &[1, 2, 3])).unwrap();
        assert_eq!(landing[0], "Merge train to main: landing #1 #2 #3");
        assert_eq!(forms_of(state(TrainPhase::Ended, &[])), None);
        let many: Vec<TaskId> = (1..=9).map(TaskId).collect();
        assert_eq!(names(&many), "#1 #2 #3 #4 #5 #6 +3");
    }
}
