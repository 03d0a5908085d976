//! A random number generator with a seed, so that a failed round can be repeated.

use std::time::Duration;

/// Seeded random number generator (splitmix64).
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, most: Duration) -> Duration {
        let most = u64::try_from(most.as_micros()).unwrap().max(1);
        Duration::from_micros(self.next() % most)
    }
}
