//! The panes, one folder for each. A pane owns its state and does not access other panes. Instead, it sends requests to
//! them with [`App::ask_panes`](crate::ui::app::App::ask_panes) or returns effects.

pub(in crate::ui) mod board;
pub(in crate::ui) mod feature;
pub(in crate::ui) mod inbox;
pub(in crate::ui) mod lead;
pub(in crate::ui) mod needs;
pub(in crate::ui) mod team;
pub(in crate::ui) mod todo;

use crate::ui::keymap::pane::Pane;
use crate::ui::panes::board::BoardPane;
use crate::ui::panes::feature::PaneFeature;
use crate::ui::panes::inbox::InboxPane;
use crate::ui::panes::lead::LeadPane;
use crate::ui::panes::needs::NeedsPane;
use crate::ui::panes::team::TeamPane;
use crate::ui::panes::todo::TodoListPane;

macro_rules! panes {
    ($($pane:ident => $field:ident: $state:ty,)*) => {
        #[derive(Debug, Default)]
        pub struct Panes {
            $(pub(in crate::ui) $field: $state,)*
        }

        impl Panes {
            pub fn get(&self, pane: Pane) -> &dyn PaneFeature {
                match pane {
                    $(Pane::$pane => &self.$field,)*
                }
            }

            pub fn get_mut(&mut self, pane: Pane) -> &mut dyn PaneFeature {
                match pane {
                    $(Pane::$pane => &mut self.$field,)*
                }
            }
        }
    };
}

panes! {
    Lead => lead: LeadPane,
    Todo => todo: TodoListPane,
    Board => board: BoardPane,
    Team => team: TeamPane,
    Inbox => inbox: InboxPane,
    Needs => needs: NeedsPane,
}
