//! Problems with unread messages, grouped by recipient. Pure.

use crate::domain::ids::Name;
use crate::domain::text::one_line;
use crate::domain::timestamp::Timestamp;
use crate::protocol::event::DeliveryState;
use crate::ui::app::App;
use crate::ui::model::CrewModel;
use crate::ui::popups::problems::{Problem, ProblemSeverity, ProblemTarget, STALLED_AFTER};
use crate::ui::text::age;
use crate::ui::text::aging::ShownAge;

/// Returns for each recipient with unread messages, except the user: the name, the number of unread messages, and the
/// time of the oldest one.
fn unread(model: &CrewModel) -> Vec<(String, usize, Timestamp)> {
    let mut unread: Vec<(String, usize, Timestamp)> = Vec::new();
    for traced in model
        .messages
        .iter()
        .filter(|t| t.step == DeliveryState::Sent)
    {
        let (to, at) = (one_line(&traced.message.to), traced.message.timestamp);
        match unread.iter_mut().find(|(who, ..)| *who == to) {
            // Messages are ordered by time, so the first one found is the oldest.
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

/// Returns for each recipient on the team the time of the oldest unread message.
pub fn ages(model: &CrewModel) -> Vec<ShownAge> {
    let present = model.present();
    let mut all = unread(model);
    all.retain(|(to, ..)| is_here(to, &present));
    let from = STALLED_AFTER;
    let age = |(_, _, since)| ShownAge { since, from };
    all.into_iter().map(age).collect()
}

/// Returns a problem for each recipient who is not on the team, and for each recipient whose oldest unread message has
/// waited for [`STALLED_AFTER`].
pub fn problems(app: &App) -> Vec<Problem> {
    let present = app.present();
    let inboxes = unread(app).into_iter();
    inboxes.filter_map(|(to, count, since)| {
        let messages = match count {
            1 => "1 message".to_string(),
            n => format!("{n} messages"),
        };
        let passed = app.now.since(since);
        if !is_here(&to, &present) {
            return Some(Problem {
                severity: ProblemSeverity::Stuck,
                cause: format!(
                    "{messages} for {to}, who is not on the team"
                ),
                help: "{panes.focus_inbox}, then {inbox.open} opens them; {panes.compose} writes to the lead",
                target: ProblemTarget::Inbox,
            });
        }
        (passed >= STALLED_AFTER && since.0 > 0.0).then(|| Problem {
            severity: ProblemSeverity::Stuck,
            cause: format!(
                "{to} has not read {messages}; the oldest has waited {}",
                age(passed)
            ),
            help: "{panes.focus_team}, select it, then {team.nudge} asks for its status; {panes.focus_inbox}, then {inbox.open} opens them",
            target: Name::party(&to).map_or(ProblemTarget::Inbox, ProblemTarget::Agent),
        })
    })
    .collect()
}
