//! The screenshots in `assets/`, taken from the real program in a real terminal.
//!
//! `cargo test --test it gallery -- --ignored` renews all of them (about a minute); `gallery::board` instead of `gallery` renews
//! those of one story. Every test run checks that each picture exists and is linked.

mod animation;
mod cells;
mod color;
mod film;
mod layers;
mod scenes;
mod shapes;
mod svg;
mod tests;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use pretty_assertions::assert_eq;
use scenes::{SCENES, file, folder};

/// Maximum size of a picture, in bytes, so that a page with all pictures loads fast.
const SIZE_MAX: usize = 80_000;
/// Maximum size of the animated picture, in bytes.
const ANIMATION_SIZE_MAX: usize = 500_000;

macro_rules! stories {
    ($($module:ident::$story:ident),*) => {$(
        #[test]
        #[ignore = "takes pictures and writes them to assets/"]
        fn $story() {
            $module::$story();
        }
    )*};
}

stories!(
    scenes::first_glance,
    scenes::board,
    scenes::the_whole_demo,
    scenes::no_colour,
    scenes::permission,
    film::animated_demo
);

/// Returns the link targets of the pictures in a Markdown page.
fn picture_links(page: &Path) -> Vec<String> {
    let text = fs::read_to_string(page).unwrap();
    let pictures = text.split("![").skip(1);
    pictures
        .filter_map(|rest| rest.split_once("](")?.1.split_once(')'))
        .map(|(target, _)| target.to_string())
        .collect()
}

#[test]
fn every_scene_has_a_picture_in_the_gallery() {
    let scenes: BTreeSet<String> = SCENES
        .iter()
        .map(|(name, _)| format!("{name}.svg"))
        .collect();
    let existing: BTreeSet<String> = fs::read_dir(folder())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| Path::new(name).extension().is_some_and(|e| e == "svg"))
        .collect();
    assert_eq!(existing, scenes);
    let shown: BTreeSet<String> = picture_links(&folder().join("README.md"))
        .into_iter()
        .collect();
    assert_eq!(shown, scenes);
    for (name, about) in SCENES {
        let text = fs::read_to_string(file(name)).unwrap();
        let most = match *name {
            "demo" => ANIMATION_SIZE_MAX,
            _ => SIZE_MAX,
        };
        assert!(text.len() <= most, "{name}: {} bytes", text.len());
        let title = format!("<title>crewdeck – {about}</title>");
        assert!(text.starts_with("<svg ") && text.contains(&title), "{name}");
        assert_eq!(unclosed_elements(&text), Vec::<String>::new(), "{name}");
    }
}

#[test]
fn every_linked_picture_exists() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    for (page, least) in [("README.md", 2), ("assets/README.md", SCENES.len())] {
        let page = root.join(page);
        let shown = picture_links(&page);
        assert!(shown.len() >= least, "{}: {shown:?}", page.display());
        for target in shown {
            assert!(
                page.parent().unwrap().join(&target).is_file(),
                "{} shows {target}",
                page.display()
            );
        }
    }
}

/// Returns the elements that are not closed, and the closing tags that close none.
fn unclosed_elements(text: &str) -> Vec<String> {
    let mut open: Vec<String> = Vec::new();
    for tag in text.split('<').skip(1) {
        let (tag, _) = tag.split_once('>').unwrap_or((tag, ""));
        let name = tag.split([' ', '\n']).next().unwrap_or_default();
        match name.strip_prefix('/') {
            Some(name) if open.last().is_some_and(|last| last == name) => drop(open.pop()),
            None if tag.ends_with('/') => {}
            Some(_) | None => open.push(name.to_string()),
        }
    }
    open
}
