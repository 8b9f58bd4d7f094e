//! The boot image: put together, and checked as the boot part will check it

use bulkhead_abi::boot::{BOOT_MAGIC, BootHeader, IMAGE_HEADER_SIZE, MONITOR_OFFSET};
use bulkhead_abi::config::{CONFIG_MAGIC, Config, ImageCheck, image_checksum_step};
use bulkhead_formats::address::Pa;
use bulkhead_formats::image_header::{self, ImageHeader};
use bulkhead_model::system::System;
use bulkhead_plan::purpose::Purpose;
use bulkhead_plan::tables::boot_uart;
use bulkhead_plan::{Inputs, Plan};
use sha2::{Digest, Sha256};
use zerocopy::{FromBytes, IntoBytes};

use crate::error::BuildError;

/// The boot image while it is put together.
struct Image {
    load: u64,
    bytes: Vec<u8>,
}

impl Image {
    fn put(&mut self, pa: Pa, part: &[u8]) -> Result<(), BuildError> {
        let start = pa.0.wrapping_sub(self.load) as usize;
        let place = start
            .checked_add(part.len())
            .and_then(|end| self.bytes.get_mut(start..end));
        match place {
            Some(place) => {
                place.copy_from_slice(part);
                Ok(())
            }
            None => Err(BuildError::internal(format!(
                "{pa} lies outside of the boot image"
            ))),
        }
    }
}

/// Puts the image together.
///
/// # Errors
/// Something has no place in it: a defect.
pub fn pack(system: &System, inputs: &Inputs, plan: &Plan) -> Result<Vec<u8>, BuildError> {
    let load = system.board.load;
    let size = plan.machine.image_size;
    let mut image = Image {
        load,
        bytes: vec![0; size as usize],
    };
    image.put(Pa(load), &boot_part(system, inputs, plan)?)?;
    for part in &inputs.monitor.parts {
        image.put(part.pa, &part.bytes)?;
    }
    image.put(plan.machine.pa(Purpose::Config)?, &plan.config)?;
    image.put(plan.machine.pa(Purpose::Tables)?, &plan.table_bytes)?;
    for pristine in &plan.machine.pristine {
        image.put(pristine.pa, &pristine.bytes)?;
    }
    verify(load, &image.bytes)?;
    Ok(image.bytes)
}

/// The boot part with both headers filled in.
fn boot_part(system: &System, inputs: &Inputs, plan: &Plan) -> Result<Vec<u8>, BuildError> {
    let mut boot = inputs.boot.clone();
    let image_size = plan.machine.image_size;
    let end = IMAGE_HEADER_SIZE + size_of::<BootHeader>();
    if boot.len() < end || boot.len() as u64 > MONITOR_OFFSET {
        return Err(BuildError::internal(format!(
            "the boot part has {} bytes",
            boot.len()
        )));
    }
    let header = ImageHeader {
        text_offset: 0,
        image_size,
        flags: image_header::FLAGS,
    };
    let config_pa = plan.machine.pa(Purpose::Config)?.0;
    let [uart, uart_kind] = boot_uart(system);
    let boot_header = BootHeader {
        magic: BOOT_MAGIC,
        config_pa,
        image_size,
        uart,
        uart_kind,
    };
    boot[IMAGE_HEADER_SIZE..end].copy_from_slice(boot_header.as_bytes());
    header
        .write(&mut boot)
        .map(|()| boot)
        .ok_or_else(|| BuildError::internal("no header".into()))
}

/// Checks a boot image as the boot part does: headers, digest, checksums.
///
/// # Errors
/// The defect.
pub fn verify(load: u64, image: &[u8]) -> Result<(), BuildError> {
    let bad = |what: &str| BuildError::internal(format!("the boot image {what}"));
    let at = |pa: u64, size: u64| {
        let start = usize::try_from(pa.wrapping_sub(load)).ok()?;
        image.get(start..start.checked_add(usize::try_from(size).ok()?)?)
    };
    ImageHeader::parse(image).ok_or_else(|| bad("has no `Image` header"))?;
    let boot = image
        .get(IMAGE_HEADER_SIZE..)
        .and_then(|rest| BootHeader::read_from_prefix(rest).ok());
    let (boot, _) = boot
        .filter(|(boot, _)| boot.magic == BOOT_MAGIC)
        .ok_or_else(|| bad("has no boot header"))?;
    let head = at(boot.config_pa, size_of::<Config>() as u64);
    let config = head.and_then(|head| Config::read_from_bytes(head).ok());
    let config = config
        .filter(|config| config.magic == CONFIG_MAGIC)
        .ok_or_else(|| bad("has no configuration"))?;
    let blob = at(boot.config_pa, config.size.into())
        .ok_or_else(|| bad("has a truncated configuration"))?;
    let tables =
        at(config.tables_pa, config.tables_size).ok_or_else(|| bad("has truncated tables"))?;
    if digest(&config, blob, tables) != config.digest {
        return Err(bad("has a wrong digest"));
    }
    let start = config.images.offset as usize;
    let checks = blob.get(start..start + config.images.count as usize * size_of::<ImageCheck>());
    for check in checks
        .unwrap_or_default()
        .chunks_exact(size_of::<ImageCheck>())
    {
        let check = ImageCheck::read_from_bytes(check).map_err(|_| bad("has a bad check list"))?;
        let bytes = at(check.pa, check.size).ok_or_else(|| bad("has a truncated guest image"))?;
        if checksum(bytes) != check.checksum {
            return Err(bad(&format!(
                "has a damaged guest image at {:#x}",
                check.pa
            )));
        }
    }
    Ok(())
}

fn digest(config: &Config, blob: &[u8], tables: &[u8]) -> [u8; 32] {
    let head = Config {
        digest: [0; 32],
        ..*config
    };
    Sha256::new_with_prefix(head.as_bytes())
        .chain_update(&blob[size_of::<Config>()..])
        .chain_update(tables)
        .finalize()
        .into()
}

fn checksum(bytes: &[u8]) -> u64 {
    let (words, _) = bytes.as_chunks();
    words
        .iter()
        .map(|word| u64::from_le_bytes(*word))
        .fold(0, image_checksum_step)
}
