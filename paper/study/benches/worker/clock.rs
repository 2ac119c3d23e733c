//! The wall's clock, or the time that the process had on a core.

use std::time::Instant;

#[derive(Clone, Copy)]
pub enum Clock {
    Wall(Instant),
    #[cfg(unix)]
    Process,
}

impl Clock {
    /// The process's clock if that is wanted and there is one.
    pub fn new(process: bool) -> Self {
        #[cfg(unix)]
        if process {
            return Self::Process;
        }
        let _ = process;
        Self::Wall(Instant::now())
    }

    /// Seconds since some moment.
    pub fn seconds(self) -> f64 {
        match self {
            Self::Wall(start) => start.elapsed().as_secs_f64(),
            #[cfg(unix)]
            Self::Process => {
                let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
                time.tv_sec as f64 + 1e-9 * time.tv_nsec as f64
            }
        }
    }
}
