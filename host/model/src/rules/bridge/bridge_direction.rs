//! Linux reads exported channels, and writes imported ones

use super::bridged_channels;
use crate::diagnostic::Report;
use crate::draft::Draft;

crate::rules::declaration::rule! {
    Error, "bridge-direction",
    "a bridge exports channels that its partition reads, and imports into channels that it writes",
    "The bridge holds the partition's end of the channel: it can take out what others put in, and put in what others take out.",
    check
}

fn check(draft: &Draft, report: &mut Report) {
    for (partition, bridge) in draft.bridges() {
        let owner = &partition.name.value;
        for (name, goes_out, channel) in bridged_channels(draft, bridge) {
            let reads = channel.readers().any(|reader| reader.value == *owner);
            let writes = channel
                .from
                .given()
                .is_some_and(|from| from.value == *owner);
            let [done, end, other, key] = match goes_out {
                true => ["exported", "read", "import", "to"],
                false => ["imported into", "written", "export", "from"],
            };
            if (goes_out && reads) || (!goes_out && writes) {
                continue;
            }
            let message = format!(
                "`{}` cannot be {done}: `{owner}` is not where it is {end}",
                name.value
            );
            let found = RULE.at(&name.span, message).here(format!("not {end} here"));
            let found = found.label(&channel.name.span, "this channel");
            report.add(found.help(match reads || writes {
                true => format!("it goes the other way: {other} it"),
                false => format!("let the channel go there, `{key} = \"{owner}\"`"),
            }));
        }
    }
}
