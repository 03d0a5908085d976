//! Snapshot tests of the screen: one snapshot per scene, with text and styles at three sizes. If a snapshot changes,
//! the user sees a change. `coverage.rs` checks that every popup, key context, pane and layout has a scene.
//!
//! Parts that are not drawn alone on a screen have snapshots beside their code: graphs, Markdown, conversations, the
//! board pane, and the setup page (`app/onboarding`).

mod coverage;
mod hosts;
mod panes;
mod picture;
mod popups;
mod rewind;
pub mod scene_data;
mod screens;
pub mod work;

use crate::ui::UiState;

/// Columns and rows of one screen of each size class.
pub const SIZES: [(u16, u16); 3] = [(160, 45), (100, 30), (70, 20)];

/// The part of the screen that the snapshot of a scene shows. The smaller this part is, the fewer snapshots a change
/// affects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shows {
    /// The whole screen.
    Screen,
    /// One pane and the hint line.
    Pane(crate::ui::Pane),
    /// The popup and the hint line.
    Popup,
}

/// A screen of which the tests store snapshots.
pub struct Scene {
    pub name: String,
    pub shows: Shows,
    pub sizes: Vec<(u16, u16)>,
    /// Makes the screen with a number of columns and rows.
    pub make: Box<dyn Fn(u16, u16) -> UiState>,
}

impl Scene {
    /// Creates a scene with the sizes [`SIZES`].
    pub fn new(name: &str, shows: Shows, make: impl Fn(u16, u16) -> UiState + 'static) -> Scene {
        Scene {
            name: name.into(),
            shows,
            sizes: SIZES.to_vec(),
            make: Box::new(make),
        }
    }

    /// Replaces the sizes of the scene.
    pub fn at(mut self, sizes: &[(u16, u16)]) -> Scene {
        self.sizes = sizes.to_vec();
        self
    }
}

pub fn scenes() -> Vec<Scene> {
    let mut all = panes::scenes();
    all.extend(hosts::scenes());
    all.extend(popups::scenes());
    all.extend(rewind::scenes());
    all.extend(screens::scenes());
    all
}

#[test]
fn pictures() {
    for scene in scenes() {
        insta::assert_snapshot!(scene.name.as_str(), picture::of(&scene));
    }
}
