//! Tests of the replay player: times, steps and jumps.

use pretty_assertions::assert_eq;

use crate::protocol::{CrewEvent, EventKind};
use crate::ui::replay::*;

/// Returns a player of events at these seconds.
fn player(seconds: &[f64]) -> Player {
    let events = seconds.iter().enumerate().map(|(i, at)| Event {
        seq: i as u64 + 1,
        at: Timestamp(1000.0 + at),
        kind: EventKind::Crew(CrewEvent::AllIdle),
    });
    Player::new(events.collect(), 1.0)
}

#[test]
fn passing_time_returns_the_passed_events() {
    let mut player = player(&[0.0, 1.0, 1.5, 4.0]);
    // Wall-clock times; only the differences between them matter.
    let cases = [
        (50.0, 1),
        (50.5, 0),
        (51.0, 1),
        (51.9, 1),
        (60.0, 1),
        (61.0, 0),
    ];
    for (now, expected) in cases {
        assert_eq!(player.advance(Timestamp(now)).len(), expected, "{now}");
    }
    assert!(!player.is_playing(), "it is over");
    assert_eq!(player.next_in(), None);
}

#[test]
fn long_pauses_are_shortened_and_the_clock_is_recorded() {
    let mut player = player(&[0.0, 3600.0, 3601.0]);
    assert_eq!(player.length(), GAP_MAX + Duration::from_secs(1));
    player.advance(Timestamp(0.0));
    player.advance(Timestamp(1.0));
    assert_eq!(player.clock(), Timestamp(1001.0));
    player.advance(Timestamp(3.5));
    assert_eq!(player.clock(), Timestamp(4600.5));
    assert_eq!(player.next_in(), Some(Duration::from_millis(500)));
    player.faster();
    assert_eq!(player.next_in(), Some(Duration::from_millis(250)));
}

#[test]
fn steps_and_jumps_return_the_events_to_apply() {
    let mut player = player(&[0.0, 1.0, 1.0, 2.0, 13.0]);
    assert_eq!(player.step(), Seek::Forward(1));
    assert_eq!(player.step(), Seek::Forward(1));
    assert_eq!(player.advance(Timestamp(99.0)).len(), 0, "no more events");
    assert_eq!(player.step_back(), Seek::Rebuild);
    assert_eq!(
        (player.past_event_count(), player.time()),
        (1, Duration::ZERO)
    );
    assert_eq!(player.step_back(), Seek::Rebuild);
    assert_eq!(
        player.step_back(),
        Seek::Forward(0),
        "there is nothing before"
    );
    assert_eq!(player.jump(), Seek::Forward(5));
    assert_eq!(player.jump_back(), Seek::Rebuild);
    assert_eq!(player.past_event_count(), 1);
    assert_eq!(player.seek_share(0.5), Seek::Forward(3));
    assert_eq!(player.seek_share(2.0), Seek::Forward(1));
    assert_eq!(
        player.pause_or_play(),
        Seek::Rebuild,
        "at the end it begins again"
    );
    assert_eq!((player.past_event_count(), player.is_playing()), (1, true));
}

#[test]
fn speed_is_bounded_and_an_empty_recording_works() {
    let mut player = player(&[]);
    for _ in 0..100 {
        player.faster();
    }
    assert!((player.speed() - SPEEDS.end()).abs() < f64::EPSILON);
    for _ in 0..100 {
        player.slower();
    }
    assert!((player.speed() - SPEEDS.start()).abs() < f64::EPSILON);
    assert!(player.is_empty() && player.past().is_empty());
    for seek in [
        player.step(),
        player.step_back(),
        player.jump(),
        player.jump_back(),
        player.seek_share(0.3),
        player.pause_or_play(),
    ] {
        assert_eq!(seek, Seek::Forward(0));
    }
}

#[test]
fn clock_going_back_repeats_no_event() {
    let mut player = player(&[0.0, 1.0, 0.5, 2.0]);
    let mut passed = 0;
    for now in [10.0, 11.0, 10.0, 12.0, 9.0, 15.0] {
        passed += player.advance(Timestamp(now)).len();
    }
    assert_eq!(passed, 4);
}
