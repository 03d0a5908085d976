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

/// Why these tests are left out of the others.
macro_rules! pictures {
    ($($scene:ident),*) => {$(
        #[test]
        #[ignore = "takes pictures anew and writes them to assets/"]
        fn $scene() {
            scenes::$scene();
        }
    )*};
}

pictures!(first_glance, board, the_whole_demo, no_colour, permission);
