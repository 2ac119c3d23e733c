//! A training holds little memory, and its steps allocate none.

use std::sync::Mutex;

use fab_method::{Paper, PaperSettings};
use fabproj::set::built_in;
use fabproj::{Event, Session, train_with};

use crate::counting::{allocations, counted};
use crate::training::checked;

/// The most bytes that this thread holds while `work` runs. The paper's training stays on its caller's thread.
fn most(work: impl FnOnce()) -> isize {
    counted(work).1.most
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
            seen.lock().unwrap().push((phase_two, allocations()));
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
