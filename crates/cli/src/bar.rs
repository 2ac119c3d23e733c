//! A progress bar with the time left.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Steps of the bar.
const LENGTH: u64 = 1000;

/// A bar on a terminal with a line of text below; silent elsewhere.
pub struct Bar {
    bar: ProgressBar,
    started: Instant,
    /// The share done when this process began: above zero for a resumed training.
    first: Mutex<Option<f64>>,
    quiet: bool,
}

impl Bar {
    /// A bar, hidden if `quiet`.
    pub fn new(quiet: bool) -> Self {
        let target = if quiet {
            ProgressDrawTarget::hidden()
        } else {
            ProgressDrawTarget::stderr()
        };
        let bar = ProgressBar::with_draw_target(Some(LENGTH), target);
        let template = "{bar:40.cyan/238} {percent:>3} %  {prefix}\n{wide_msg}";
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style.progress_chars("━━─"));
        }
        bar.enable_steady_tick(Duration::from_millis(200));
        Self {
            bar,
            started: Instant::now(),
            first: Mutex::new(None),
            quiet,
        }
    }

    /// Removes it.
    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }

    /// Replaces the text below.
    pub fn show(&self, message: String) {
        self.bar.set_message(message);
    }

    /// Writes a line that stays, unless quiet.
    pub fn say(&self, message: &str) {
        if !self.quiet {
            self.bar.suspend(|| eprintln!("{message}"));
        }
    }

    /// Moves it, never back: parallel work is not equally far.
    pub fn advance(&self, done: f64) {
        let position = (done.clamp(0.0, 1.0) * LENGTH as f64) as u64;
        if position < self.bar.position() {
            return;
        }
        self.bar.set_position(position);
        if let Some(seconds) = self.left(done) {
            self.bar
                .set_prefix(format!("{} left", whole_seconds(seconds)));
        }
    }

    /// Time left at the speed since this process began.
    fn left(&self, done: f64) -> Option<f64> {
        let mut first = self.first.lock().ok()?;
        let first = *first.get_or_insert(done);
        let share = done - first;
        (share > 0.01).then(|| self.started.elapsed().as_secs_f64() * (1.0 - done) / share)
    }
}

/// A time that is only known roughly.
pub fn whole_seconds(seconds: f64) -> String {
    let seconds = seconds.ceil() as u64;
    match seconds / 60 {
        0 => format!("{seconds} s"),
        minutes => format!("{minutes} min {} s", seconds % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_left_are_whole_seconds() {
        assert_eq!(whole_seconds(0.2), "1 s");
        assert_eq!(whole_seconds(59.0), "59 s");
        assert_eq!(whole_seconds(125.1), "2 min 6 s");
    }

    #[test]
    fn the_bar_never_moves_back_and_counts_from_where_it_began() {
        let bar = Bar::new(true);
        bar.advance(0.5);
        assert!(bar.left(0.505).is_none());
        bar.advance(0.25);
        assert_eq!(bar.bar.position(), 500);
        // Half of what was left when it began is done: as long again.
        let elapsed = bar.started.elapsed().as_secs_f64();
        let left = bar.left(0.75).unwrap_or(f64::NAN);
        assert!(left >= elapsed && left < elapsed + 1.0);
    }
}
