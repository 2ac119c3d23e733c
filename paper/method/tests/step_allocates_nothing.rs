//! A step of phase 2 works in memory that earlier steps left behind.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

use fab_method::PhaseTwoBench;
use fabproj::set::built_in;

static ALLOCATIONS: AtomicUsize = AtomicUsize::new(0);

struct Counting;

// SAFETY: every call is passed on to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller keeps `alloc`'s contract.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the pointer came from `System.alloc` with this layout.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

#[test]
fn after_the_first_steps_nothing_is_allocated() {
    let set = built_in("blob-with-bite").unwrap();
    let mut bench = PhaseTwoBench::new(set.as_ref(), 1).unwrap();
    let first = bench.step();
    for _ in 0..3 {
        bench.step();
    }
    let before = ALLOCATIONS.load(Ordering::Relaxed);
    let mut last = first;
    for _ in 0..50 {
        last = bench.step();
    }
    assert_eq!(ALLOCATIONS.load(Ordering::Relaxed), before);
    assert!(last.reconstruction < first.reconstruction);
}
