//! The keys of the team pane: view, nudge, shut down.

use crate::keys::dashboard::{Dashboard, ESC, has_line};

#[test]
fn teammate_is_viewed_nudged_and_shut_down() {
    let mut dashboard = Dashboard::with_busy_crew();
    dashboard.press(ESC, "i to write");
    dashboard.press("4g", "! nudge");
    dashboard.press("s", "▾agent");
    dashboard.press("\r", " to alice ");
    dashboard.press(ESC, "! nudge");
    dashboard.press("!", "Asked alice for its status.");
    dashboard.send("x");
    dashboard
        .screen
        .wait("alice is gone", |t| has_line(t, &["· alice", "shut down"]));
    dashboard.press("gX", "Kill bob now");
    dashboard.clear("n", "Kill bob now");
    dashboard.press("X", "Kill bob now");
    dashboard.send("y");
    dashboard
        .screen
        .wait("bob is gone", |t| has_line(t, &["· bob", "shut down"]));
    dashboard.quit();
}
