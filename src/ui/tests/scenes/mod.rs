//! Snapshot tests of the screen: one snapshot per scene, at three sizes, with text and styles. A changed snapshot is a
//! visible change. `coverage.rs` checks that everything has a scene.
//!
//! Parts that are not drawn alone on a screen have their snapshots beside their code: graphs, Markdown, conversations,
//! the board pane, and the setup page (`app/onboarding`).

mod coverage;
mod panes;
mod picture;
mod popups;
pub mod scene_data;
mod screens;
pub mod work;

use crate::ui::UiState;

/// One screen size of each class.
pub const SIZES: [(u16, u16); 3] = [(160, 45), (100, 30), (70, 20)];

/// The part of the screen that a scene shows. The smaller it is, the fewer snapshots a change affects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shows {
    /// The whole screen.
    Screen,
    /// One pane and the hints.
    Pane(crate::ui::Pane),
    /// The popup and the hints.
    Popup,
}

/// A screen for a snapshot.
pub struct Scene {
    pub name: String,
    pub shows: Shows,
    pub sizes: Vec<(u16, u16)>,
    /// Makes the screen for a size.
    pub make: Box<dyn Fn(u16, u16) -> UiState>,
}

impl Scene {
    /// Creates a scene at [`SIZES`].
    pub fn new(name: &str, shows: Shows, make: impl Fn(u16, u16) -> UiState + 'static) -> Scene {
        Scene {
            name: name.into(),
            shows,
            sizes: SIZES.to_vec(),
            make: Box::new(make),
        }
    }

    /// Returns the scene at other sizes.
    pub fn at(mut self, sizes: &[(u16, u16)]) -> Scene {
        self.sizes = sizes.to_vec();
        self
    }
}

pub fn scenes() -> Vec<Scene> {
    let mut all = panes::scenes();
    all.extend(popups::scenes());
    all.extend(screens::scenes());
    all
}

#[test]
fn pictures() {
    for scene in scenes() {
        insta::assert_snapshot!(scene.name.as_str(), picture::of(&scene));
    }
}
