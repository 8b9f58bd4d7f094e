//! The weights that are checked in are those that training gives, and good for what they are used for

use bulkhead_drive_model::estimate::weights;
use bulkhead_drive_train::accuracy::Accuracy;
use bulkhead_drive_train::{JUDGED, LEARNT, drive, training};

#[test]
fn training_anew_gives_the_weights_that_are_checked_in() {
    let learnt: Vec<_> = LEARNT.flat_map(drive::samples).collect();
    let network = training::train(&learnt);
    assert!(
        network == *weights(),
        "`cargo run --release -p bulkhead-drive-train` writes them anew"
    );
}

#[test]
fn drives_that_were_not_learnt_from_are_estimated_well() {
    let judged: Vec<_> = JUDGED.flat_map(drive::samples).collect();
    let accuracy = Accuracy::of(weights(), &judged);
    assert!(accuracy.seen > 5_000, "{accuracy:?}");
    assert!(
        accuracy.grade < 0.004 && accuracy.headway < 0.03,
        "{accuracy:?}"
    );
}
