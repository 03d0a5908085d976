//! Pure: what keeps the work from going on, each with its cause and with the key that helps.

use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::board::{self, Standing};
use super::state::UiState;
use super::textual::{age, wrap};
use super::theme::Theme;
use super::{look, sentence};
use crate::domain::graph::ATTEMPTS_MAX;
use crate::domain::ids::Name;
use crate::domain::task::Task;
use crate::domain::team::Activity;
use crate::domain::text::one_line;

/// Most problems that are listed.
pub const PROBLEMS_MAX: usize = 100;

/// After so many seconds in one activity an agent counts as stalled.
const STALLED_AFTER: u64 = 300;

/// Most tasks that are named in one problem.
const NAMED_MAX: usize = 8;

/// One problem.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// How much it matters.
    pub weight: Weight,
    /// What is wrong and why, in one line.
    pub cause: String,
    /// What helps.
    pub help: &'static str,
}

/// How much a problem matters, the worst first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Weight {
    /// It does not go on without the person.
    Person,
    /// Somebody failed.
    Failed,
    /// Something may not go on by itself.
    Stuck,
    /// It goes on by itself, later.
    Waits,
}

/// All of them, the worst first; at most [`PROBLEMS_MAX`].
pub fn problems(state: &UiState) -> Vec<Problem> {
    let requests = (0..state.requests.len()).filter_map(|at| state.requests.at(at));
    let asked = requests.map(|request| Problem {
        weight: Weight::Person,
        cause: one_line(&sentence::request(request)),
        help: "w shows it",
    });
    let present = state.present();
    let agents = present.iter().filter_map(|name| agent(state, name));
    let tasks = state.board.tasks().filter_map(|t| task(state, t, &present));
    let tasks = tasks.chain(unmerged(state));
    let mut out: Vec<Problem> = asked
        .chain(agents)
        .chain(tasks)
        .take(PROBLEMS_MAX)
        .collect();
    out.sort_by_key(|p| p.weight);
    out
}

fn agent(state: &UiState, name: &Name) -> Option<Problem> {
    let (weight, cause, help) = match state.activity(name) {
        Activity::Failed { why } => (
            Weight::Failed,
            format!("{name} failed: {}", one_line(&why)),
            "4, then Enter shows what it did; i writes to it",
        ),
        Activity::Stuck { why } => (
            Weight::Stuck,
            format!("{name} is stuck: {}", one_line(&why)),
            "4, then n nudges it; i writes to it",
        ),
        Activity::Backoff { cause, .. } => (
            Weight::Waits,
            format!("{name} tries again later: {}", one_line(&cause)),
            "m chooses another model",
        ),
        Activity::Queued { place } => (
            Weight::Waits,
            format!("{name} waits for a free call, place {place}"),
            "it goes on by itself",
        ),
        Activity::Thinking | Activity::Compacting | Activity::Tool { .. } => {
            let since = state
                .agents
                .get(name)
                .map(|a| a.since)
                .filter(|s| s.0 > 0.0);
            let passed = state.now.since(since?);
            if passed.as_secs() < STALLED_AFTER {
                return None;
            }
            let (_, doing, _) = look::activity(&state.activity(name), state.now, &Theme::default());
            (
                Weight::Stuck,
                format!("{name} is stalled: {doing} for {}", age(passed)),
                "4, then n nudges it; Ctrl+c stops the shown agent",
            )
        }
        // Who needs the person has a request, which is told.
        Activity::NeedsYou { .. } | Activity::Idle | Activity::Gone => return None,
    };
    Some(Problem {
        weight,
        cause,
        help,
    })
}

fn task(state: &UiState, task: &Task, present: &[Name]) -> Option<Problem> {
    let id = task.id;
    let owner = || one_line(&task.owner);
    let is_here = || {
        present
            .iter()
            .any(|n| n.as_str().eq_ignore_ascii_case(&task.owner))
    };
    match board::standing(&state.board, task) {
        Standing::InProgress | Standing::Assigned if is_here() || task.owner == "user" => None,
        Standing::InProgress | Standing::Assigned => Some(Problem {
            weight: Weight::Stuck,
            cause: format!("{id} belongs to {}, who is not here", owner()),
            help: "tell the lead: it gives the task to somebody else",
        }),
        Standing::Ready if task.attempts >= ATTEMPTS_MAX => Some(Problem {
            weight: Weight::Stuck,
            cause: format!(
                "{id} was given up {} times: nobody takes it unasked",
                task.attempts
            ),
            help: "3, then Enter shows it; tell the lead what to change",
        }),
        Standing::Blocked => {
            let lost = task
                .blocked_by
                .iter()
                .find(|b| state.board.get(**b).is_none())?;
            Some(Problem {
                weight: Weight::Stuck,
                cause: format!("{id} waits for {lost}, which is not on the board"),
                help: "tell the lead to take that line away",
            })
        }
        Standing::Ready | Standing::Done => None,
    }
}

/// While somebody is at work, what is not merged is in nobody's way.
fn unmerged(state: &UiState) -> Option<Problem> {
    let all = board::to_merge(state);
    if all.is_empty() || state.busy() > 0 {
        return None;
    }
    let ids: Vec<String> = all
        .iter()
        .take(NAMED_MAX)
        .map(ToString::to_string)
        .collect();
    let more = match all.len() - ids.len() {
        0 => String::new(),
        n => format!(" and {n} more"),
    };
    let are = if all.len() == 1 { "is" } else { "are" };
    Some(Problem {
        weight: Weight::Person,
        cause: format!("{}{more} {are} done and not merged", ids.join(" ")),
        help: "3, then m merges; the lead can do it, too",
    })
}

/// The lines of the popup, `width` columns wide.
pub fn lines(state: &UiState, width: usize, theme: &Theme) -> Vec<Line<'static>> {
    let all = problems(state);
    if all.is_empty() {
        let words = "Nothing is in the way: nobody waits, failed or stands still.";
        return vec![Line::styled(words, theme.dim)];
    }
    let mut out = Vec::new();
    let mut push = |text: &str, head: (&str, Style), style: Style| {
        for (i, line) in wrap(text, width.saturating_sub(2)).into_iter().enumerate() {
            let head = Span::styled(
                if i == 0 {
                    head.0.to_string()
                } else {
                    "  ".into()
                },
                head.1,
            );
            out.push(Line::from(vec![head, Span::styled(line, style)]));
        }
    };
    let count = all.len();
    for problem in all {
        let head = match problem.weight {
            Weight::Person => ("◆ ", theme.waiting),
            Weight::Failed => ("✗ ", theme.error),
            Weight::Stuck => ("▲ ", theme.warn),
            Weight::Waits => ("◔ ", theme.dim),
        };
        push(&problem.cause, head, theme.text);
        push(problem.help, ("  ", theme.dim), theme.dim);
    }
    if count == PROBLEMS_MAX {
        let words = format!("No more than {PROBLEMS_MAX} are listed.");
        push(&words, ("  ", theme.dim), theme.dim);
    }
    out
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;
    use crate::protocol::EventKind;
    use crate::ui::fixture::{busy, name, picture, press, started, tell};
    use crate::ui::{Msg, update};

    fn told(state: &UiState) -> Vec<(Weight, String)> {
        let all = problems(state).into_iter();
        all.map(|p| (p.weight, p.cause)).collect()
    }

    #[test]
    fn whatever_is_in_the_way_is_told_with_its_cause() {
        let mut state = busy(100, 30);
        let does = |agent: &str, activity| EventKind::ActivityChanged {
            agent: name(agent),
            activity,
        };
        let why = || "the server said no".to_string();
        tell(
            &mut state,
            vec![
                does("carol", Activity::Failed { why: why() }),
                does("alice", Activity::Thinking),
            ],
        );
        let now = state.now.after(std::time::Duration::from_secs(400));
        update(&mut state, Msg::Tick { now });
        assert_eq!(
            told(&state),
            [
                (Weight::Person, "bob asks you to approve its plan".into()),
                (Weight::Failed, "carol failed: the server said no".into()),
                (Weight::Stuck, "alice is stalled: thinking for 6m".into()),
            ]
        );
        press(&mut state, "esc p");
        insta::assert_snapshot!("problems_100x30", picture(&state));
    }

    #[test]
    fn a_task_without_anybody_is_in_the_way() {
        let mut state = started(70, 20);
        let board = crate::ui::fixture::board_told(&crate::ui::fixture::board());
        tell(&mut state, vec![board]);
        let causes: Vec<String> = told(&state).into_iter().map(|(_, cause)| cause).collect();
        assert_eq!(
            causes,
            [
                "#2 belongs to bob, who is not here",
                "#3 belongs to alice, who is not here",
            ]
        );
    }

    #[test]
    fn a_calm_crew_has_none() {
        let mut state = started(70, 20);
        assert_eq!(told(&state), []);
        press(&mut state, "esc p");
        assert!(picture(&state).contains("Nothing is in the way"));
    }
}
