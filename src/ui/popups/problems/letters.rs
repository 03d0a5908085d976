//! Pure: letters that nobody reads, told by whom they are for.

use crate::domain::ids::Name;
use crate::domain::stamp::Stamp;
use crate::domain::text::one_line;
use crate::protocol::event::LetterStep;
use crate::ui::app::App;
use crate::ui::model::Model;
use crate::ui::popups::problems::{Problem, STALLED_AFTER, Weight};
use crate::ui::text::age;
use crate::ui::text::aging::Aging;

/// What nobody has read yet: for whom, how many, and since when the first one waits.
fn unread(model: &Model) -> Vec<(String, usize, Stamp)> {
    let mut unread: Vec<(String, usize, Stamp)> = Vec::new();
    for traced in model.letters.iter().filter(|t| t.step == LetterStep::Sent) {
        let (to, at) = (one_line(&traced.letter.to), traced.letter.timestamp);
        match unread.iter_mut().find(|(who, ..)| *who == to) {
            // The first one that is kept waits the longest.
            Some((_, count, _)) => *count += 1,
            None => unread.push((to, 1, at)),
        }
    }
    unread.retain(|(to, ..)| to != "user");
    unread
}

fn is_here(to: &str, present: &[Name]) -> bool {
    present.iter().any(|n| n.as_str().eq_ignore_ascii_case(to))
}

/// Since when those wait who are here.
pub fn ages(model: &Model) -> Vec<Aging> {
    let present = model.present();
    let mut all = unread(model);
    all.retain(|(to, ..)| is_here(to, &present));
    let from = STALLED_AFTER;
    let age = |(_, _, since)| Aging { since, from };
    all.into_iter().map(age).collect()
}

/// Letters for somebody who is not here, and those that wait for long.
pub fn problems(app: &App) -> Vec<Problem> {
    let present = app.present();
    let told = unread(app).into_iter();
    told.filter_map(|(to, count, since)| {
        let letters = match count {
            1 => "1 message".to_string(),
            n => format!("{n} messages"),
        };
        let passed = app.now.since(since);
        if !is_here(&to, &present) {
            return Some(Problem {
                weight: Weight::Stuck,
                cause: format!(
                    "{letters} for {to}: nobody reads what is sent to {to}, who is not here"
                ),
                help: "{panes.focus_inbox}, then {inbox.open} reads them; {panes.compose} tells the lead who else should know",
            });
        }
        (passed >= STALLED_AFTER && since.0 > 0.0).then(|| Problem {
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
