//! The replay player: position, speed and next events of a recorded session. Pure.

#[cfg(test)]
mod tests;

use std::time::Duration;

use crate::domain::timestamp::Timestamp;
use crate::protocol::Event;

/// Maximum number of events to play. Of a longer recording, only the newest events are played.
pub const EVENTS_MAX: usize = 200_000;
/// Maximum pause between two events. Longer pauses are shortened to it.
pub const GAP_MAX: Duration = Duration::from_secs(3);
/// Time by which [`Player::jump`] and [`Player::jump_back`] move the position.
pub const JUMP: Duration = Duration::from_secs(10);
/// The allowed speed factors; 1 is the recorded speed.
pub const SPEEDS: std::ops::RangeInclusive<f64> = 0.1..=1000.0;

/// A recording and the position of the replay in it. All times are relative to the start of the recording, with long
/// pauses shortened to [`GAP_MAX`].
#[derive(Debug)]
pub struct Player {
    events: Vec<Event>,
    /// The time of each event since the start of the recording.
    times: Vec<Duration>,
    /// Number of events at or before the position; also the index of the next event.
    next_event: usize,
    /// The position, as the time since the start of the recording.
    time: Duration,
    speed: f64,
    is_playing: bool,
    /// The wall-clock time of the last call of [`Player::advance`].
    last_advance: Option<Timestamp>,
}

impl Player {
    /// Creates a player that starts playing at the beginning of the recording. `events` must be in the order in which
    /// they were recorded; only the newest [`EVENTS_MAX`] of them are used. `speed` is limited to [`SPEEDS`].
    pub fn new(mut events: Vec<Event>, speed: f64) -> Player {
        let surplus = events.len().saturating_sub(EVENTS_MAX);
        events.drain(..surplus);
        let mut time = Duration::ZERO;
        let mut before = events.first().map_or(Timestamp::default(), |e| e.at);
        let mut times = Vec::with_capacity(events.len());
        for event in &events {
            time += event.at.since(before).min(GAP_MAX);
            before = event.at;
            times.push(time);
        }
        Player {
            events,
            times,
            next_event: 0,
            time: Duration::ZERO,
            speed: clamp_speed(speed),
            is_playing: true,
            last_advance: None,
        }
    }

    pub fn len(&self) -> usize {
        self.events.len()
    }

    pub fn is_empty(&self) -> bool {
        self.events.is_empty()
    }

    /// Returns the number of events at or before the position.
    pub fn past_event_count(&self) -> usize {
        self.next_event
    }

    pub fn time(&self) -> Duration {
        self.time
    }

    /// Returns the duration of the replay at speed 1.
    pub fn length(&self) -> Duration {
        self.times.last().copied().unwrap_or_default()
    }

    /// Returns the speed factor; 1 is the recorded speed.
    pub fn speed(&self) -> f64 {
        self.speed
    }

    /// Returns whether the replay is running, that is, neither paused nor at the end of the recording.
    pub fn is_playing(&self) -> bool {
        self.is_playing && self.next_event < self.events.len()
    }

    /// Returns the events at or before the position, oldest first.
    pub fn past(&self) -> &[Event] {
        self.events.get(..self.next_event).unwrap_or_default()
    }

    /// Returns the recorded wall-clock time at the position; `Timestamp::default()` if the recording has no events.
    pub fn clock(&self) -> Timestamp {
        let at = self.next_event.saturating_sub(1);
        match (self.events.get(at), self.times.get(at)) {
            (Some(event), Some(time)) => event.at.after(self.time.saturating_sub(*time)),
            _ => Timestamp::default(),
        }
    }

    /// Returns the wall-clock time until the next event, at the current speed; `None` if there is no next event or the
    /// replay is paused.
    pub fn next_in(&self) -> Option<Duration> {
        let next = self.times.get(self.next_event)?;
        self.is_playing
            .then(|| next.saturating_sub(self.time).div_f64(self.speed))
    }

    /// Advances the position by the wall-clock time from the last call until `now`, times the speed. Does not move the
    /// position at the first call and while the replay is paused. Returns the events between the old and the new
    /// position, oldest first.
    pub fn advance(&mut self, now: Timestamp) -> &[Event] {
        let before = self.next_event;
        let passed = self.last_advance.map_or(Duration::ZERO, |at| now.since(at));
        self.last_advance = Some(now);
        if self.is_playing() {
            let to = self.time + passed.mul_f64(self.speed);
            self.stand_at(to);
        }
        self.events.get(before..self.next_event).unwrap_or_default()
    }

    /// Switches between playing and paused. At the end of the recording, starts again from the beginning.
    pub fn pause_or_play(&mut self) -> Seek {
        if self.next_event == self.events.len() && !self.is_empty() {
            self.is_playing = true;
            return self.seek(Duration::ZERO);
        }
        self.is_playing = !self.is_playing;
        Seek::Forward(0)
    }

    /// Goes one event forward and pauses. At the end of the recording, only pauses.
    pub fn step(&mut self) -> Seek {
        self.is_playing = false;
        self.happen(self.next_event + 1)
    }

    /// Goes one event back and pauses. At the start of the recording, only pauses.
    pub fn step_back(&mut self) -> Seek {
        self.is_playing = false;
        self.happen(self.next_event.saturating_sub(1))
    }

    pub fn jump(&mut self) -> Seek {
        self.seek(self.time + JUMP)
    }

    pub fn jump_back(&mut self) -> Seek {
        self.seek(self.time.saturating_sub(JUMP))
    }

    /// Goes to the position at the fraction `share` of the duration: 0 is the start, 1 is the end. Other values are
    /// limited to this range.
    pub fn seek_share(&mut self, share: f64) -> Seek {
        self.seek(self.length().mul_f64(share.clamp(0.0, 1.0)))
    }

    /// Doubles the speed, up to the maximum of [`SPEEDS`].
    pub fn faster(&mut self) {
        self.speed = clamp_speed(self.speed * 2.0);
    }

    /// Halves the speed, down to the minimum of [`SPEEDS`].
    pub fn slower(&mut self) {
        self.speed = clamp_speed(self.speed / 2.0);
    }

    fn seek(&mut self, time: Duration) -> Seek {
        let before = self.next_event;
        self.stand_at(time);
        Seek::between(before, self.next_event)
    }

    fn stand_at(&mut self, time: Duration) {
        self.time = time.min(self.length());
        self.next_event = self.times.partition_point(|t| *t <= self.time);
    }

    fn happen(&mut self, count: usize) -> Seek {
        let before = self.next_event;
        self.next_event = count.min(self.events.len());
        let last = self.next_event.checked_sub(1);
        let time = last.and_then(|at| self.times.get(at)).copied();
        self.time = time.unwrap_or_default();
        Seek::between(before, self.next_event)
    }
}

/// How to update a screen that shows the previous position, so that it shows the new one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Seek {
    /// Forward: apply this many of the newest events of [`Player::past`].
    Forward(usize),
    /// Backward: apply all events of [`Player::past`] to an empty screen.
    Rebuild,
}

impl Seek {
    fn between(before: usize, after: usize) -> Seek {
        match after.checked_sub(before) {
            Some(more) => Seek::Forward(more),
            None => Seek::Rebuild,
        }
    }
}

fn clamp_speed(speed: f64) -> f64 {
    speed.clamp(*SPEEDS.start(), *SPEEDS.end())
}
