//! A Linux kernel is an uncompressed arm64 `Image`

use crate::diagnostic::Report;
use crate::draft::Draft;
use crate::image_file::Content;

crate::rules::declaration::rule! {
    Error, "kernel-wrong-kind",
    "a Linux kernel is an uncompressed arm64 `Image`",
    "The monitor does not unpack: it copies the kernel and enters it. Debian's `vmlinuz` for arm64 is \
     such an `Image`; `Image.gz` is unpacked by `gzip -d`, a `vmlinux` becomes one by `objcopy -O \
     binary`.",
    check
}

fn check(draft: &Draft, report: &mut Report) {
    for found in super::kernels(draft) {
        let Ok(file) = &found.file else { continue };
        let Some((what, advice)) = problem(&file.content) else {
            continue;
        };
        let message = format!("`{}` is no arm64 kernel image", found.name.value);
        report.add(RULE.at(&found.name.span, message).here(what).help(advice));
    }
}

/// The kind that it has instead, and the remedy.
fn problem(content: &Content) -> Option<(String, String)> {
    match content {
        Content::Linux(_) | Content::Truncated(_) => None,
        Content::Foreign(what, advice) => Some((format!("this is {what}"), (*advice).into())),
        Content::Packed("cpio") => Some((
            "this is a cpio archive".into(),
            "it looks like an initrd: `initrd = …`".into(),
        )),
        Content::Packed(how) => Some((
            format!("this is compressed by {how}"),
            format!("unpack it: `{how} -d`"),
        )),
        Content::Elf(_) => Some((
            "this is an ELF file".into(),
            "take the `Image` beside it in arch/arm64/boot, or `objcopy -O binary`".into(),
        )),
        Content::Unknown => Some((
            "there is no arm64 `Image` header in it".into(),
            "name an `Image`, or \"debian\" for the packaged kernel".into(),
        )),
    }
}
