//! Shows the updates of a crew on a hub that another host leads.

use super::Dashboard;
use super::crew::CrewState;
use crate::app::hub_viewer::EventStep;
use crate::app::now;
use crate::crew::HubUpdate;
use crate::domain::timestamp::Timestamp;
use crate::protocol::EventKind;
use crate::ui::{Msg, update};

impl Dashboard {
    /// Shows an update. Does nothing if this is not the viewer of a crew on a hub.
    pub(super) fn apply_hub_update(&mut self, news: HubUpdate) {
        match news {
            HubUpdate::Lead(lead) => {
                let CrewState::Viewing(viewing) = &mut self.crew else {
                    return;
                };
                let notice = viewing.set_lead(lead);
                let role = viewing.role();
                self.state.set_role(role);
                if let Some((level, text)) = notice {
                    self.state.end_lead();
                    self.publish(level, &text);
                }
            }
            HubUpdate::Outage(cause) => {
                let CrewState::Viewing(viewing) = &mut self.crew else {
                    return;
                };
                let notice = viewing.set_outage(cause, now());
                let role = viewing.role();
                self.state.set_role(role);
                if let Some((level, text)) = notice {
                    self.publish(level, &text);
                }
            }
            HubUpdate::Events {
                events,
                stored_at,
                is_earlier,
            } => {
                let at = if is_earlier { stored_at } else { now() };
                for event in events {
                    self.show_hub_event(event, at, is_earlier);
                }
                if is_earlier {
                    self.state.mark_seen(now());
                }
            }
        }
    }

    fn show_hub_event(&mut self, event: EventKind, at: Timestamp, is_earlier: bool) {
        let CrewState::Viewing(viewing) = &mut self.crew else {
            return;
        };
        let step = viewing.note(&event);
        let event = viewing.number(event, at);
        match step {
            EventStep::Show => {}
            EventStep::EndLead => self.state.end_lead(),
            EventStep::Skip => return,
        }
        if is_earlier {
            // Drop the effects: past events must not ring the bell.
            drop(update(&mut self.state, Msg::Event(event)));
        } else {
            self.apply_event(event);
        }
    }
}
