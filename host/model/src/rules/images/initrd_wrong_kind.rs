//! An initrd is a cpio archive

use crate::diagnostic::Report;
use crate::draft::Draft;
use crate::image_file::Content;

crate::rules::declaration::rule! {
    Error, "initrd-wrong-kind",
    "an initrd is a cpio archive (newc), plain or compressed",
    "Linux unpacks it into its first file system; it recognises cpio, gzip, zstd, xz, lzma, bzip2, lz4 \
     and lzo.",
    check
}

fn check(draft: &Draft, report: &mut Report) {
    for found in super::initrds(draft) {
        let Ok(file) = &found.file else { continue };
        let what = match &file.content {
            Content::Packed(_) => continue,
            Content::Linux(_) => "this is a kernel".into(),
            Content::Elf(_) => "this is an ELF file".into(),
            Content::Foreign(what, _) => format!("this is {what}"),
            Content::Truncated(_) | Content::Unknown => {
                "no cpio archive, no known compression".into()
            }
        };
        let message = format!("`{}` is no initrd", found.name.value);
        report.add(
            RULE.at(&found.name.span, message)
                .here(what)
                .help("make one by `find . | cpio -o -H newc`, or write `initrd = \"agent\"`"),
        );
    }
}
