//! Packaged kernels are fetched by the set-up

use super::initrd_too_large::fetched;
use crate::diagnostic::Report;
use crate::draft::Draft;
use crate::resolve::PACKAGED_KERNELS;

crate::rules::declaration::rule! {
    Note, "kernel-not-fetched",
    "the packaged kernel has been fetched",
    "`make setup` fetches `\"debian\"` from the distribution's archive; `setup/setup.sh debian NAME` fetches `\"debian-rt\"`, and \
     compiles `\"pseudo-nmi\"`. \
     Until then the description can be checked, but not built.",
    check
}

fn check(draft: &Draft, report: &mut Report) {
    for (_, image) in super::images(draft) {
        let Some(name) = image.value.kernel.given() else {
            continue;
        };
        let packaged = PACKAGED_KERNELS.contains(&name.value.as_str());
        if packaged && !fetched(draft, &name.value).is_file() {
            report.add(
                RULE.at(
                    &name.span,
                    format!("the kernel `{}` has not been fetched yet", name.value),
                )
                .here("not in the cache")
                .help("run `setup/setup.sh debian NAME` with its name, or name an `Image` of your own"),
            );
        }
    }
}
