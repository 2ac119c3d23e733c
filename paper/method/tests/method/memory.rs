//! A training holds little memory, and its steps allocate none.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::Mutex;

use fab_method::{Paper, PaperSettings};
use fabproj::set::built_in;
use fabproj::{Event, Session, train_with};

use crate::training::checked;

thread_local! {
    static ALLOCATIONS: Cell<usize> = const { Cell::new(0) };
    static HELD: Cell<isize> = const { Cell::new(0) };
    static MOST: Cell<isize> = const { Cell::new(0) };
}

/// Counts the allocations of each thread, the bytes that it holds and the most that it held. The paper's
/// training stays on its caller's thread.
struct Counting;

// SAFETY: every call is passed on to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let _ = ALLOCATIONS.try_with(|count| count.set(count.get() + 1));
        hold(layout.size() as isize);
        // SAFETY: the caller keeps the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        hold(-(layout.size() as isize));
        // SAFETY: the pointer came from `System.alloc` with this layout.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

fn hold(bytes: isize) {
    let held = HELD.try_with(|held| {
        held.set(held.get() + bytes);
        held.get()
    });
    let _ = MOST.try_with(|most| most.set(most.get().max(held.unwrap_or(0))));
}

/// The most bytes that this thread holds while `work` runs.
fn most(work: impl FnOnce()) -> isize {
    MOST.set(HELD.get());
    let before = HELD.get();
    work();
    MOST.get() - before
}

#[test]
fn sixty_thousand_points_need_less_than_300_megabytes() {
    let block = most(|| drop(vec![1_u8; 50_000_000]));
    assert!((50_000_000..51_000_000).contains(&block), "{block}");
    // The number of steps has no influence.
    let settings = PaperSettings {
        samples: Some(60_000),
        batch: 4096,
        phase_one_epochs: 1,
        phase_two_epochs: 1,
        ..PaperSettings::released()
    };
    let set = built_in("two-moons").unwrap();
    let recipe = Paper::new(checked(settings), 1);
    let held = most(|| drop(train_with(&set, &recipe, &Session::new()).unwrap()));
    assert!((10_000_000..300_000_000).contains(&held), "{held}");
}

#[test]
fn steps_allocate_nothing_after_the_first() {
    let settings = PaperSettings {
        samples: Some(4_000),
        phase_one_epochs: 60,
        phase_two_epochs: 10,
        ..PaperSettings::released()
    };
    let set = built_in("blob-with-bite").unwrap();
    let seen = Mutex::new(Vec::with_capacity(1000));
    let watch = |event: &Event| {
        if let Event::Progress {
            unit, step, steps, ..
        } = event
            && step < steps
        {
            let phase_two = unit.contains("two");
            seen.lock().unwrap().push((phase_two, ALLOCATIONS.get()));
        }
    };
    let session = Session::new().observe(watch);
    train_with(&set, &Paper::new(checked(settings), 1), &session).unwrap();
    drop(session);
    let seen = seen.into_inner().unwrap();
    for phase_two in [false, true] {
        let counts = seen.iter().filter(|(phase, _)| *phase == phase_two);
        let counts: Vec<usize> = counts.map(|(_, count)| *count).collect();
        assert!(counts.len() > 1, "{seen:?}");
        assert!(counts.iter().all(|count| *count == counts[0]), "{seen:?}");
    }
}
