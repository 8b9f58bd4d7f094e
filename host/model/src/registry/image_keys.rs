//! Keys of `image = { … }`

use super::Presence::Default;
use super::table::table;
use crate::document::At;
use crate::draft::section::Section;

table! {
    /// An image, and the keys that are written of it.
    ImageDraft [keys: Vec<At<String>> = Section::keys] in "partition.*.image." {
        built "crate": Text, Default("not built from source"), "image.crate = \"bulkhead-control\"",
            "A crate of this workspace, built for the bare machine. For kind `\"rtos\"` and `\"image\"`.";
        file: Text, Default("no file of your own"), "image.file = \"zephyr.elf\"",
            "An ELF file for AArch64, an arm64 `Image`, or a flat file, relative to the description. For kind `\"rtos\"` and `\"image\"`.";
        load: Number(0, u64::MAX), Default("start of the guest's memory"), "image.load = 0x4000_0000",
            "Guest-physical address at which a flat file is placed. An ELF file says so itself.";
        entry: Number(0, u64::MAX), Default("the ELF file's own, or the load address"), "image.entry = 0x4000_0000",
            "Guest-physical address at which a file is entered.";
        device_tree: Flag, Default("`false`"), "image.device_tree = true",
            "Whether a generated device tree is placed in memory and its address passed in x0, as U-Boot and Zephyr may want it. For `file` only.";
        kernel: Text, Default("no Linux"), "image.kernel = \"debian\"",
            "A Linux kernel: `\"debian\"` or `\"debian-rt\"`, fetched by the set-up, `\"pseudo-nmi\"`, which it compiles from \
             Debian's source, or the path of an uncompressed arm64 `Image`. For kind `\"linux\"`.";
        initrd: Text, Default("`\"agent\"`"), "image.initrd = \"agent\"",
            "The kernel's initial file system: `\"agent\"`, made by the tool (busybox, the kernel module, the agent), or the path of a file of \
             your own.";
    }
}
