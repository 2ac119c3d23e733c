//! Makes weights, writes and reads them as bytes, and projects a point, all without the standard library.
//! The exit status is 0 if the answer is right.
#![no_std]
#![no_main]

extern crate alloc;

use alloc::vec::Vec;
use core::alloc::{GlobalAlloc, Layout};
use core::cell::UnsafeCell;
use core::ffi::c_int;
use core::panic::PanicInfo;
use core::sync::atomic::{AtomicUsize, Ordering};

use fabproj_core::{Guard, LatentSet, Projector, Weights};

// The C library starts the program and copies memory; nothing else of it is used.
#[link(name = "c")]
unsafe extern "C" {
    fn abort() -> !;
}

#[panic_handler]
fn panic(_: &PanicInfo<'_>) -> ! {
    // SAFETY: no preconditions.
    unsafe { abort() }
}

/// The compiled core library names it, although nothing unwinds here.
#[unsafe(no_mangle)]
extern "C" fn rust_eh_personality() {}

/// The same for debug builds.
#[unsafe(no_mangle)]
extern "C" fn _Unwind_Resume() {}

const ARENA_BYTES: usize = 4 << 20;

/// Memory that is handed out once and never taken back.
#[repr(align(64))]
struct Arena {
    bytes: UnsafeCell<[u8; ARENA_BYTES]>,
    used: AtomicUsize,
}

// SAFETY: each byte is handed out once, by an atomic counter.
unsafe impl Sync for Arena {}

// SAFETY: pieces are aligned, inside the arena and never handed out twice.
unsafe impl GlobalAlloc for Arena {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let mut used = self.used.load(Ordering::Relaxed);
        loop {
            let start = used.next_multiple_of(layout.align());
            let end = start + layout.size();
            if layout.align() > 64 || end > ARENA_BYTES {
                return core::ptr::null_mut();
            }
            match self
                .used
                .compare_exchange(used, end, Ordering::Relaxed, Ordering::Relaxed)
            {
                // SAFETY: `start` lies inside the arena.
                Ok(_) => return unsafe { self.bytes.get().cast::<u8>().add(start) },
                Err(now) => used = now,
            }
        }
    }

    unsafe fn dealloc(&self, _: *mut u8, _: Layout) {}
}

#[global_allocator]
static ARENA: Arena = Arena {
    bytes: UnsafeCell::new([0; ARENA_BYTES]),
    used: AtomicUsize::new(0),
};

fn run() -> Option<Vec<f32>> {
    let disc = LatentSet::Ball {
        radius: 0.5,
        smooth: None,
    };
    let bytes = Weights::identity(2, disc).to_bytes().ok()?;
    let projector = Projector::from_bytes(&bytes).ok()?;
    let (out, _) = projector.project(&[3.0, 4.0], &[]).ok()?;
    let guard = Guard::from_fn(projector, |y, _| y[0] >= 0.0).ok()?;
    let mut right = [0.0; 2];
    let outcome = guard
        .project_into(&[-3.0, 4.0], &[], &mut right, &mut guard.workspace())
        .ok()?;
    assert!(outcome.is_verified() && right[0] >= 0.0_f64);
    Some(out)
}

#[unsafe(no_mangle)]
extern "C" fn main(_: c_int, _: *const *const u8) -> c_int {
    c_int::from(run().as_deref() != Some(&[0.3, 0.4]))
}
