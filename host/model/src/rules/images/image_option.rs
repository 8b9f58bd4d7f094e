//! Load and entry addresses go with files

use crate::diagnostic::Report;
use crate::draft::Draft;
use crate::image_file::Content;

crate::rules::declaration::rule! {
    Error, "image-option",
    "`load`, `entry` and `device_tree` are given for files only, and `load` for flat ones only",
    "A crate is linked for its partition, an ELF file says where it goes, and a Linux always gets a \
     device tree.",
    check
}

fn check(draft: &Draft, report: &mut Report) {
    for (_, image) in super::images(draft) {
        let options = image.value.keys.iter();
        let is_option = |key: &str| ["load", "entry", "device_tree"].contains(&key);
        for key in options.filter(|key| is_option(&key.value) && image.value.file.is_absent()) {
            report.add(
                RULE.at(&key.span, format!("`{}` is for files", key.value))
                    .here("there is no `file` here")
                    .help("leave it out"),
            );
        }
    }
    for found in super::files(draft) {
        let is_elf = |file: &crate::image_file::Inspected| matches!(file.content, Content::Elf(_));
        let elf = found.file.as_ref().is_ok_and(is_elf);
        if let Some(load) = found.image.load.given().filter(|_| elf) {
            report.add(
                RULE.at(&load.span, "an ELF file says itself where it goes")
                    .here("not for ELF files")
                    .label(&found.name.span, "this is one")
                    .help("leave `load` out, or link the file for another address"),
            );
        }
    }
}
