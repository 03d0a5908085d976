//! Test of the selected problem when an event changes the list.

use pretty_assertions::assert_eq;

use crate::domain::mail::MailKind;
use crate::domain::team::Activity;
use crate::protocol::event::DeliveryState;
use crate::protocol::{AgentEvent, EventKind, TeamEvent};
use crate::ui::UiState;
use crate::ui::fixture::{apply_events, mail_message, name, press, started_screen};
use crate::ui::popups::pager::Pager;
use crate::ui::popups::problems::ProblemsPage;

#[test]
fn selection_stays_on_one_of_two_similar_problems() {
    let mut state = started_screen(100, 30);
    let sent = |id: &str, to: &str| {
        EventKind::Team(TeamEvent::MessageMoved {
            message: mail_message(id, MailKind::Message, "lead", to, "hello"),
            step: DeliveryState::Sent,
        })
    };
    apply_events(&mut state, vec![sent("1", "dave"), sent("2", "erin")]);
    press(&mut state, "esc p j");
    let selected = |state: &UiState| {
        let pager = state.popups.top::<Pager<ProblemsPage>>().unwrap();
        pager.page.selected_problem(state).unwrap().cause
    };
    assert_eq!(
        selected(&state),
        "1 message for erin, who is not on the team"
    );
    // Another problem before both moves them down by a row.
    let why = "the server said no".to_string();
    let failed = AgentEvent::ActivityChanged {
        activity: Activity::Failed { why },
    };
    apply_events(&mut state, vec![failed.of(name("lead"))]);
    assert_eq!(
        selected(&state),
        "1 message for erin, who is not on the team"
    );
    // The number in the cause changes.
    apply_events(&mut state, vec![sent("3", "erin")]);
    assert_eq!(
        selected(&state),
        "2 messages for erin, who is not on the team"
    );
}
