//! The colour in which a member's name is shown. The member's role sets it.

use serde::{Deserialize, Serialize};

use super::team::{COLOR, Member};

/// A colour that a role can set. The names are those of Claude Code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RoleColor {
    Red,
    Blue,
    Green,
    Yellow,
    Purple,
    Orange,
    Pink,
    Cyan,
}

impl Member {
    /// Returns the colour in which the member's name is shown; `None` for the default colour. The default also applies
    /// if the stored colour is not a [`RoleColor`], for example because another program wrote it.
    pub fn color(&self) -> Option<RoleColor> {
        serde_json::from_value(self.extra.get(COLOR)?.clone()).ok()
    }

    /// Sets the colour in which the member's name is shown; `None` removes the stored colour.
    pub fn set_color(&mut self, color: Option<RoleColor>) {
        let color = color.and_then(|color| serde_json::to_value(color).ok());
        match color {
            Some(color) => self.extra.insert(COLOR.into(), color),
            None => self.extra.remove(COLOR),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::ids::Name;
    use crate::domain::team::{MemberStatus, Team};

    #[test]
    fn color_is_that_of_the_last_member_and_unknown_ones_stay_in_the_file() {
        let text = r#"{"name":"alice","color":"mauve","x":1}"#;
        let mut alice: Member = serde_json::from_str(text).unwrap();
        assert_eq!(alice.color(), None);
        assert_eq!(serde_json::to_value(&alice).unwrap()["color"], "mauve");
        alice.status = MemberStatus::Shutdown;
        let mut team = Team {
            members: vec![alice],
            ..Team::default()
        };
        let mut again = Member::new(Name::member("alice").unwrap(), "coder");
        again.set_color(Some(RoleColor::Pink));
        team.add_member(again, 16).unwrap();
        let alice = &team.members[0];
        assert_eq!(alice.color(), Some(RoleColor::Pink));
        assert_eq!(serde_json::to_value(alice).unwrap()["x"], 1);
    }
}
