//! The pictures in `assets/`, taken from the real program. `cargo test --test gallery -- --ignored` takes them anew.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "gallery/color.rs"]
mod color;
#[path = "common/pty.rs"]
#[allow(dead_code)] // other tests use more of it
mod pty;
#[path = "gallery/scenes.rs"]
mod scenes;
#[path = "gallery/shapes.rs"]
mod shapes;
#[path = "gallery/svg.rs"]
mod svg;

#[test]
#[ignore = "writes the pictures in assets/ anew, which takes minutes"]
fn take_all_pictures() {
    scenes::take_all();
}
