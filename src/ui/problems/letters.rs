//! Pure: letters that nobody reads, told by whom they are for.

use super::{Problem, STALLED_AFTER, Weight};
use crate::domain::stamp::Stamp;
use crate::domain::text::one_line;
use crate::protocol::event::LetterStep;
use crate::ui::state::UiState;
use crate::ui::textual::age;

/// Letters for somebody who is not here, and those that wait for long.
pub fn problems(state: &UiState) -> Vec<Problem> {
    let present = state.present();
    let mut unread: Vec<(String, usize, Stamp)> = Vec::new();
    for traced in state.letters.iter().filter(|t| t.step == LetterStep::Sent) {
        let (to, at) = (one_line(&traced.letter.to), traced.letter.timestamp);
        match unread.iter_mut().find(|(who, ..)| *who == to) {
            // The first one that is kept waits the longest.
            Some((_, count, _)) => *count += 1,
            None => unread.push((to, 1, at)),
        }
    }
    let told = unread.into_iter().filter(|(to, ..)| to != "user");
    told.filter_map(|(to, count, since)| {
        let letters = match count {
            1 => "1 letter".to_string(),
            n => format!("{n} letters"),
        };
        let passed = state.now.since(since);
        let is_here = present.iter().any(|n| n.as_str().eq_ignore_ascii_case(&to));
        if !is_here {
            return Some(Problem {
                weight: Weight::Stuck,
                cause: format!(
                    "{letters} for {to}: nobody reads what is sent to {to}, who is not here"
                ),
                help: "{panes.focus_inbox}, then {inbox.open} reads them; {panes.compose} tells the lead who else should know",
            });
        }
        (passed.as_secs() >= STALLED_AFTER && since.0 > 0.0).then(|| Problem {
            weight: Weight::Stuck,
            cause: format!(
                "{to} has not read {letters}, the first one for {}",
                age(passed)
            ),
            help: "{panes.focus_team}, then {team.nudge} nudges it; {panes.focus_inbox}, then {inbox.open} reads them",
        })
    })
    .collect()
}
