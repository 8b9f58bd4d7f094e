//! `cargo run --release -p bulkhead-drive-train`: trains the network and writes its weights

use bulkhead_drive_train::accuracy::Accuracy;
use bulkhead_drive_train::{JUDGED, LEARNT, drive, training};
use std::path::Path;

fn main() -> std::io::Result<()> {
    let learnt: Vec<_> = LEARNT.flat_map(drive::samples).collect();
    let judged: Vec<_> = JUDGED.flat_map(drive::samples).collect();
    let network = training::train(&learnt);
    for (which, samples) in [("learnt from", &learnt), ("judged by", &judged)] {
        let accuracy = Accuracy::of(&network, samples);
        println!(
            "{which} {} samples: grade within {:.3} % rms; {} with a vehicle ahead: headway within {:.2} m, {:.1} %",
            accuracy.samples,
            100.0 * accuracy.grade,
            accuracy.seen,
            accuracy.headway_m,
            100.0 * accuracy.headway
        );
    }
    let bytes: Vec<u8> = network
        .0
        .iter()
        .flat_map(|weight| weight.to_le_bytes())
        .collect();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../model/src/weights.bin");
    std::fs::write(&path, &bytes)?;
    println!("{}: {} bytes", path.display(), bytes.len());
    Ok(())
}
