//! Numbers the interface: a digest of its source
//!
//! Whatever changes here changes the number, so that what was built before is refused by what is built now.
//! 16 bits, which one instruction loads.

use std::{fs, io, path::PathBuf};

fn main() -> io::Result<()> {
    println!("cargo:rerun-if-changed=src");
    let entries = fs::read_dir("src")?;
    let mut files: Vec<PathBuf> = entries
        .map(|entry| Ok(entry?.path()))
        .collect::<io::Result<_>>()?;
    files.sort();
    // FNV-1a.
    let mut digest = 0xcbf2_9ce4_8422_2325_u64;
    for file in files {
        for byte in fs::read(file)? {
            digest = (digest ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
        }
    }
    let folded = digest ^ digest >> 32;
    let version = (folded ^ folded >> 16) & 0xffff;
    println!("cargo:rustc-env=BULKHEAD_INTERFACE={:x}", version.max(1));
    Ok(())
}
