//! The user's requests to the selected teammate (shutdown, kill, status report), and the order of the list.

use crate::domain::ids::Name;
use crate::domain::team::MemberStatus;
use crate::domain::text::one_line;
use crate::protocol::Command;
use crate::ui::app::App;
use crate::ui::app::effect::Effect;
use crate::ui::app::popup;
use crate::ui::keymap::pane::Pane;
use crate::ui::keymap::{Action, Context};
use crate::ui::panes::team::{TeamItem, TeamPane};
use crate::ui::popups::confirm::Confirmation;
use crate::ui::popups::confirm::kill_teammate::KillTeammate;
use crate::ui::popups::rewind;

impl TeamPane {
    pub fn ask_shutdown(&self, app: &mut App, out: &mut Vec<Effect>) {
        if let Some(member) = self.selected_at_work(app) {
            let text = format!("Asked {member} to shut down; it finishes its step first.");
            app.say(text);
            out.push(Effect::Command(Command::AskShutdown { member }));
        }
    }

    /// Asks for confirmation to kill the selected teammate.
    pub fn force(&self, app: &mut App) {
        if let Some(member) = self.selected_at_work(app) {
            popup::open(app, Confirmation(KillTeammate(member)));
        }
    }

    /// Asks the selected teammate for a status report.
    pub fn nudge(&self, app: &mut App, out: &mut Vec<Effect>) {
        if let Some(member) = self.selected_at_work(app) {
            app.say(format!("Asked {member} for its status."));
            out.push(Effect::Command(Command::Nudge { member }));
        }
    }

    /// Opens the picker of the checkpoints of the selected teammate.
    pub fn rewind(&self, app: &mut App, out: &mut Vec<Effect>) {
        match self.selected_member(app) {
            Some((_, member)) => rewind::open(app, &member, out),
            None => self.say_no_agent(app),
        }
    }

    /// Sorts the list by the next column, and saves the order. The selected agent or host stays selected.
    pub fn sort_by_next(&mut self, app: &mut App, out: &mut Vec<Effect>) {
        self.selected = self.selected_item_row(app).map(|(_, item)| item);
        self.sort = self.sort.next(app);
        let by = self.sort.label();
        app.say(format!("Team sorted by {by}."));
        app.arrangement.screen.team_sort = self.sort;
        out.push(Effect::SaveScreen(app.arrangement.screen));
    }

    /// Says that no agent is selected: the heading of a host is, or the list is empty.
    fn say_no_agent(&self, app: &mut App) {
        match self.selected_item_row(app) {
            Some((_, TeamItem::Host(host))) => {
                let host = one_line(&host);
                app.say(format!("{host} is a host. Select an agent first."));
            }
            Some((_, TeamItem::LeftHosts)) => app.say("These are hosts. Select an agent first."),
            Some((_, TeamItem::Agent(_))) | None => {
                app.say_while("No teammates yet.", |app| app.model.team.members.is_empty());
            }
        }
    }

    /// Returns the selected teammate. If the list is empty, a host or a subagent is selected, or the selected teammate has
    /// shut down, says so in a status message and returns `None`.
    fn selected_at_work(&self, app: &mut App) -> Option<Name> {
        let Some((_, member)) = self.selected_member(app) else {
            self.say_no_agent(app);
            return None;
        };
        if let Some(parent) = member.parent() {
            let open = app.prefs.keymap.key(Context::In(Pane::Team), Action::Open);
            let stop = app.prefs.keymap.key(Context::Everywhere, Action::Interrupt);
            let text = format!(
                "{member} is a subagent of {parent}: {open} opens it, then {stop} stops it."
            );
            app.say(text);
            return None;
        }
        let status = app.model.team.find(&member).map(|m| m.status);
        if status == Some(MemberStatus::Shutdown) {
            app.say(format!("{member} has already shut down."));
            return None;
        }
        Some(member)
    }
}
