//! An allocator that counts, per thread, so that tests do not disturb each other.
#![allow(dead_code, reason = "each test binary needs a part of it")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

/// Declare it as the `#[global_allocator]` of a test binary.
pub struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<usize> = const { Cell::new(0) };
    static HELD: Cell<isize> = const { Cell::new(0) };
    static MOST: Cell<isize> = const { Cell::new(0) };
}

fn count(bytes: isize) {
    // A thread that is being taken down has no counters any more.
    let _ = ALLOCATIONS.try_with(|counter| counter.set(counter.get() + usize::from(bytes > 0)));
    let _ = HELD.try_with(|held| {
        held.set(held.get() + bytes);
        let _ = MOST.try_with(|most| most.set(most.get().max(held.get())));
    });
}

// SAFETY: passes everything on to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as isize);
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        count(-(layout.size() as isize));
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(pointer, layout) }
    }
}

/// What some work has allocated.
#[derive(Clone, Copy, Debug)]
pub struct Count {
    pub allocations: usize,
    /// Bytes that are still held.
    pub held: isize,
    /// Most bytes held at a time.
    pub most: isize,
}

/// Allocations of this thread so far.
pub fn allocations() -> usize {
    ALLOCATIONS.get()
}

/// Runs `work` and counts its allocations on this thread.
pub fn counted<T>(work: impl FnOnce() -> T) -> (T, Count) {
    let (before, held) = (allocations(), HELD.get());
    MOST.set(held);
    let result = work();
    let count = Count {
        allocations: allocations() - before,
        held: HELD.get() - held,
        most: MOST.get() - held,
    };
    (result, count)
}
