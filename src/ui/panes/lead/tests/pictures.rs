//! Pictures of attached images in the conversation.

use pretty_assertions::assert_eq;
use ratatui::Terminal;
use ratatui::backend::TestBackend;

use crate::domain::attachment::PromptImage;
use crate::protocol::{AgentEvent, EventKind};
use crate::ui::fixture::{apply_events, cells, name, picture, press, started_screen};
use crate::ui::{
    ColorDepth, ImageDrawing, Msg, PICTURES_MAX, Picture, PictureKey, PictureSize, PictureUpdate,
    PixelGrid, Theme, ThemeName, UiState, ViewCache, draw, update,
};

const FILE: &str = "0123456789abcdef.png";

/// Returns the event of a prompt with a text file and an image of 80 × 24 pixels, stored in the file `file`.
fn prompt(file: &str) -> EventKind {
    let event = AgentEvent::Prompted {
        text: "what is in @shot.png".into(),
        attachments: vec!["a.md · 3 lines".into(), "shot.png · 80x24 image".into()],
        images: vec![PromptImage {
            label: 1,
            file: file.into(),
            width: 80,
            height: 24,
        }],
    };
    event.of(name("lead"))
}

fn answer(text: &str) -> EventKind {
    let event = AgentEvent::AnswerFinished {
        text: text.into(),
        thinking: String::new(),
        thought_ms: 0,
    };
    event.of(name("lead"))
}

/// Returns a screen with a prompt and an image, in a terminal that draws images with `drawing`.
fn with_image(width: u16, height: u16, drawing: ImageDrawing) -> UiState {
    let mut state = started_screen(width, height);
    state.set_image_drawing(drawing);
    apply_events(&mut state, vec![prompt(FILE), answer("A chart.")]);
    state
}

/// Draws the screen and returns the pictures for which it has room.
fn wanted_pictures(state: &UiState) -> Vec<PictureKey> {
    let backend = TestBackend::new(state.size.width, state.size.height);
    let mut terminal = Terminal::new(backend).unwrap();
    let mut cache = ViewCache::default();
    let drawn = terminal.draw(|frame| draw(state, &mut cache, &Theme::default(), frame));
    drawn.unwrap();
    cache.pictures().to_vec()
}

/// Loads each picture on the screen as pixels of one colour.
fn load(state: &mut UiState) {
    for key in wanted_pictures(state) {
        let PictureSize { columns, rows } = key.size;
        let pixels = PixelGrid {
            width: columns,
            pixels: vec![[200, 10, 10, 255]; usize::from(columns) * usize::from(rows) * 2],
        };
        let news = PictureUpdate::Loaded(key, Picture::Pixels(pixels));
        update(state, Msg::Picture(news));
    }
}

fn without_blocks(text: &str) -> String {
    text.replace('▀', " ")
}

#[test]
fn picture_is_drawn_below_its_label() {
    let mut state = with_image(120, 35, ImageDrawing::HalfBlocks);
    let before = picture(&state);
    assert!(!before.contains('▀'));
    load(&mut state);
    let after = picture(&state);
    insta::assert_snapshot!("picture_120x35", after);
    // The rows of the picture were reserved before it was loaded, so nothing has moved.
    assert_eq!(without_blocks(&after), before);
    let theme = Theme::new(ThemeName::Dark, ColorDepth::True);
    let cells = cells(&state, &theme);
    let cell = cells.content.iter().find(|cell| cell.symbol() == "▀");
    let style = cell.unwrap().style();
    assert_eq!(style.fg.unwrap().to_string(), "#C80A0A");
    assert_eq!(style.bg, style.fg);
}

#[test]
fn terminal_image_is_drawn_at_placeholders() {
    let mut state = with_image(120, 35, ImageDrawing::Kitty);
    let keys = wanted_pictures(&state);
    let size = PictureSize {
        columns: 10,
        rows: 2,
    };
    let file = FILE.into();
    assert_eq!(keys, [PictureKey { file, size }]);
    let news = PictureUpdate::Loaded(keys[0].clone(), Picture::InTerminal(0x00ab_cd01));
    update(&mut state, Msg::Picture(news));
    let all = cells(&state, &Theme::default());
    let cells: Vec<_> = all.content.iter().collect();
    let shown = cells
        .iter()
        .filter(|c| c.symbol().starts_with('\u{10EEEE}'));
    let colors: Vec<String> = shown.map(|c| c.fg.to_string()).collect();
    assert_eq!(colors, vec!["#ABCD01"; 20]);
}

#[test]
fn image_that_cannot_be_shown_has_a_reason_and_no_rows() {
    let mut state = with_image(120, 35, ImageDrawing::HalfBlocks);
    let rows = |state: &UiState| {
        let text = picture(state);
        let row = |words: &str| text.lines().position(|line| line.contains(words)).unwrap();
        row("A chart.") - row("+ shot.png")
    };
    assert_eq!(rows(&state), 9);
    let news = PictureUpdate::Failed {
        file: FILE.into(),
        why: "the file is gone".into(),
    };
    update(&mut state, Msg::Picture(news));
    let text = picture(&state);
    assert!(
        text.contains("+ shot.png · 80x24 image · not shown: the file is gone"),
        "{text}"
    );
    assert_eq!(rows(&state), 2);
    assert_eq!(wanted_pictures(&state), []);
}

#[test]
fn only_the_label_is_shown_without_colours_or_room() {
    let mut state = with_image(120, 35, ImageDrawing::LabelOnly);
    assert_eq!(wanted_pictures(&state), []);
    state.set_image_drawing(ImageDrawing::HalfBlocks);
    assert_eq!(wanted_pictures(&state).len(), 1);
    state.set_theme(ThemeName::Mono);
    assert_eq!(wanted_pictures(&state), []);
    state.set_theme(ThemeName::Dark);
    assert_eq!(wanted_pictures(&state).len(), 1);
    let state = with_image(80, 16, ImageDrawing::HalfBlocks);
    assert_eq!(wanted_pictures(&state).len(), 1);
    let low = wanted_pictures(&state)[0].size;
    assert_eq!((low.columns, low.rows), (40, 6));
    // After another crew has started in the same terminal, pictures are drawn too.
    let mut state = with_image(120, 35, ImageDrawing::HalfBlocks);
    state.forget_crew();
    apply_events(&mut state, vec![prompt(FILE), answer("Again.")]);
    assert_eq!(wanted_pictures(&state).len(), 1);
}

#[test]
fn picture_out_of_view_or_below_a_popup_is_not_loaded() {
    let mut state = with_image(120, 35, ImageDrawing::HalfBlocks);
    load(&mut state);
    press(&mut state, "f1");
    assert_eq!(wanted_pictures(&state), []);
    assert!(!picture(&state).contains('▀'));
    press(&mut state, "esc");
    assert!(picture(&state).contains('▀'));
    let long = "a line\n\n".repeat(60);
    apply_events(&mut state, vec![answer(&long)]);
    assert_eq!(wanted_pictures(&state), []);
    // If the user has scrolled up, the view does not move when the picture is dropped and loaded again.
    press(&mut state, "esc 1 g");
    let before = picture(&state);
    let key = wanted_pictures(&state)[0].clone();
    update(&mut state, Msg::Picture(PictureUpdate::Dropped(key)));
    assert_eq!(picture(&state), without_blocks(&before));
    load(&mut state);
    assert_eq!(picture(&state), before);
}

#[test]
fn hostile_image_names_are_ignored() {
    let long = "a".repeat(65);
    for file in ["../../etc/passwd", "\u{1b}_Ga=d", "a b.png", &long] {
        let mut state = started_screen(120, 35);
        state.set_image_drawing(ImageDrawing::HalfBlocks);
        apply_events(&mut state, vec![prompt(file), answer("A chart.")]);
        assert_eq!(wanted_pictures(&state), [], "{file}");
        assert!(picture(&state).contains("+ shot.png · 80x24 image"));
    }
}

#[test]
fn number_of_pictures_in_memory_is_bounded() {
    let mut state = with_image(120, 35, ImageDrawing::HalfBlocks);
    let key = |at: usize| PictureKey {
        file: format!("{at:03}.png"),
        size: PictureSize {
            columns: 1,
            rows: 1,
        },
    };
    for at in 0..100 {
        let news = PictureUpdate::Loaded(key(at), Picture::InTerminal(1));
        update(&mut state, Msg::Picture(news));
    }
    let kept = (0..100).filter(|at| state.pictures.get(&key(*at)).is_some());
    assert_eq!(kept.count(), PICTURES_MAX);
}

#[test]
fn events_of_older_versions_show_the_label() {
    let json = r#"{"agent":"lead","type":"prompted","text":"see","attachments":["shot.png · 80x24 image"]}"#;
    let event: EventKind = serde_json::from_str(json).unwrap();
    // For a prompt without images, the new version writes the same event as the old one.
    assert_eq!(
        serde_json::to_value(&event).unwrap(),
        serde_json::from_str::<serde_json::Value>(json).unwrap()
    );
    let mut state = started_screen(120, 35);
    state.set_image_drawing(ImageDrawing::HalfBlocks);
    apply_events(&mut state, vec![event]);
    assert_eq!(wanted_pictures(&state), []);
    assert!(picture(&state).contains("+ shot.png · 80x24 image"));
}
