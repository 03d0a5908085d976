//! Every scene of the screen at three sizes, in words and in style: one list, one picture a scene. A change of a picture is
//! a change that people see. Nothing may be without a scene: `coverage.rs` holds that.
//!
//! Other pictures stand beside what they are of, because they are no screens of this floor: a part by itself at sizes that
//! no screen has (the drawing of a graph, Markdown, a conversation, a pane of the board), and the first page, whose words
//! are made above (`app/first`).

pub mod cast;
mod coverage;
mod panes;
mod picture;
mod popups;
mod wholes;
pub mod work;

use crate::ui::UiState;

/// One screen of each class.
pub const SIZES: [(u16, u16); 3] = [(160, 45), (100, 30), (70, 20)];

/// What of the screen a scene shows. The less it is, the fewer pictures does a change touch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shows {
    /// All of it.
    Screen,
    /// One pane, and the hints.
    Pane(crate::ui::Pane),
    /// What lies over the panes, and the hints.
    Popup,
}

/// A screen to be looked at.
pub struct Scene {
    /// The name of its picture.
    pub name: String,
    /// What is looked at.
    pub shows: Shows,
    /// The sizes of the screen.
    pub sizes: Vec<(u16, u16)>,
    /// The screen at a size.
    pub make: Box<dyn Fn(u16, u16) -> UiState>,
}

impl Scene {
    /// A scene at [`SIZES`].
    pub fn new(name: &str, shows: Shows, make: impl Fn(u16, u16) -> UiState + 'static) -> Scene {
        Scene {
            name: name.into(),
            shows,
            sizes: SIZES.to_vec(),
            make: Box::new(make),
        }
    }

    /// The same at other sizes.
    pub fn at(mut self, sizes: &[(u16, u16)]) -> Scene {
        self.sizes = sizes.to_vec();
        self
    }
}

/// All of them.
pub fn scenes() -> Vec<Scene> {
    let mut all = panes::scenes();
    all.extend(popups::scenes());
    all.extend(wholes::scenes());
    all
}

#[test]
fn pictures() {
    for scene in scenes() {
        insta::assert_snapshot!(scene.name.as_str(), picture::of(&scene));
    }
}
