//! Trainings on 60,000 points stay under 300 MB.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use fab_method::PaperConfig;
use fabproj::set::built_in;
use fabproj::train::{Session, ShapeConfig, shape};

/// Bytes that are held, and the most that were.
static HELD: AtomicUsize = AtomicUsize::new(0);
static MOST: AtomicUsize = AtomicUsize::new(0);

struct Counting;

// SAFETY: every call is passed on to the system's allocator as it is.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let held = HELD.fetch_add(layout.size(), Relaxed) + layout.size();
        MOST.fetch_max(held, Relaxed);
        // SAFETY: the caller keeps the promises of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        HELD.fetch_sub(layout.size(), Relaxed);
        // SAFETY: the caller keeps the promises of `dealloc`.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const LIMIT: usize = 300_000_000;

/// Most bytes held while `work` runs.
fn most(work: impl FnOnce()) -> usize {
    MOST.store(HELD.load(Relaxed), Relaxed);
    work();
    MOST.load(Relaxed)
}

/// One test, since all tests of a file share the allocator. The number of steps has no influence.
#[test]
fn sixty_thousand_points_stay_under_the_limit() {
    let block = most(|| drop(vec![1_u8; 50_000_000]));
    assert!((50_000_000..60_000_000).contains(&block), "{block}");

    let set = built_in("two-moons").unwrap();
    let config = PaperConfig {
        samples: Some(60_000),
        phase_one_epochs: 1,
        phase_two_epochs: 1,
        ..PaperConfig::released()
    };
    let config = config.validate().unwrap();
    let session = Session::default();
    let released = most(|| drop(fab_method::train(set.as_ref(), &config, 1, &session).unwrap()));
    let config = ShapeConfig {
        feasible: 30_000,
        infeasible: 30_000,
        phase_one: 50,
        phase_two: 300,
        gate_steps: 50,
        ..ShapeConfig::default()
    };
    let ours = most(|| drop(shape(set.as_ref(), &config, 1, &session).unwrap()));
    println!("most bytes held: {released} by preset paper, {ours} by preset default");
    assert!(released < LIMIT && ours < LIMIT, "{released}, {ours}");
}
