//! Log lines about merge trains. Pure.

use crate::domain::merge_train::{TrainPhase, TrainRemoval, TrainState};
use crate::domain::text::one_line;
use crate::ui::model::CrewModel;
use crate::ui::model::board::train::{names, removal};
use crate::ui::model::event_log::{About, LogSeverity, NewLogLine, Topic};

/// Returns the log lines for a step of a train: which branches are checked, and which were thrown out. How the train ends
/// is not logged, because notices say it. `model` is the state before the step.
pub(in crate::ui) fn train_lines(model: &CrewModel, train: &TrainState) -> Vec<NewLogLine> {
    let before = model.train.as_ref().filter(|before| !before.has_ended());
    let mut lines = Vec::new();
    let is_known =
        |out: &&TrainRemoval| before.is_some_and(|before| before.thrown_out.contains(out));
    for out in train.thrown_out.iter().filter(|out| !is_known(out)) {
        let words = format!("taken out of the merge train: {}", removal(out));
        let line = NewLogLine::new(Topic::Worktree, words).about(About::Task(out.task));
        lines.push(line.tone(LogSeverity::Warn));
    }
    let is_new = before.is_none_or(|before| {
        before.phase != train.phase || before.current != train.current || before.into != train.into
    });
    if train.phase == TrainPhase::Checking && is_new {
        let what = match train.current.as_slice() {
            [] => "alone".to_string(),
            current => format!("with {}", names(current)),
        };
        let words = format!("merge train: checking {} {what}", one_line(&train.into));
        lines.push(NewLogLine::new(Topic::Worktree, words));
    }
    lines
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;
    use crate::domain::ids::TaskId;
    use jiff::tz::TimeZone;

    #[test]
    fn each_step_of_a_train_is_logged_once() {
        let mut model = CrewModel::new(TimeZone::UTC);
        let mut train = TrainState {
            into: "main".into(),
            phase: TrainPhase::Checking,
            waiting: [1, 2].map(TaskId).to_vec(),
            current: [1, 2].map(TaskId).to_vec(),
            landed: Vec::new(),
            thrown_out: Vec::new(),
            held_back: Vec::new(),
            why: String::new(),
        };
        let mut log = |train: &TrainState| {
            let lines = train_lines(&model, train);
            model.train = Some(train.clone());
            lines.into_iter().map(|line| line.words).collect::<Vec<_>>()
        };
        assert_eq!(log(&train), ["merge train: checking main with #1 #2"]);
        assert_eq!(log(&train), Vec::<String>::new());
        train.current = Vec::new();
        assert_eq!(log(&train), ["merge train: checking main alone"]);
        train.thrown_out.push(TrainRemoval {
            task: TaskId(2),
            with: vec![TaskId(1)],
            is_conflict: false,
        });
        train.current = vec![TaskId(1)];
        let both = [
            "taken out of the merge train: #2 (red with #1)",
            "merge train: checking main with #1",
        ];
        assert_eq!(log(&train), both);
        train.phase = TrainPhase::Landing;
        assert_eq!(log(&train), Vec::<String>::new());
        train.phase = TrainPhase::Ended;
        assert_eq!(log(&train), Vec::<String>::new());
    }
}
