//! Decides when the dashboard draws its next frame.

use tokio::time::Instant;

use super::super::frame_limiter::{FrameCause, FrameLimiter};

/// Collects the reasons for the next frame until the [`FrameLimiter`] allows it.
#[derive(Debug)]
pub struct FrameSchedule {
    /// Why the screen must be drawn again; `None` if it is up to date.
    stale: Option<FrameCause>,
    limiter: FrameLimiter,
    opened: Instant,
}

impl FrameSchedule {
    /// Returns a schedule whose first frame is due at once.
    pub fn new() -> FrameSchedule {
        FrameSchedule {
            stale: Some(FrameCause::Key),
            limiter: FrameLimiter::default(),
            opened: Instant::now(),
        }
    }

    /// Requests a frame. Of all causes since the last frame, the one with the highest priority decides when the next
    /// frame is due.
    pub fn request(&mut self, cause: FrameCause) {
        self.stale = self.stale.max(Some(cause));
    }

    /// Returns the time at which the next frame is due, which may be in the past; `None` if the screen is up to date.
    pub fn next(&self) -> Option<Instant> {
        let now = self.opened.elapsed();
        self.stale
            .map(|cause| self.opened + self.limiter.due(cause, now))
    }

    /// Records that a frame was drawn: the screen is up to date, and the limiter counts the frame.
    pub fn record_frame(&mut self) {
        self.stale = None;
        self.limiter.count_frame(self.opened.elapsed());
    }
}
