//! Modules of a crate: what each defines, imports and names
//!
//! A module is a file or an inline `mod`. Code that exists only in tests is left out: a test may use
//! modules above and below the tested one.

use miette::{IntoDiagnostic, Result, WrapErr};
use proc_macro2::{TokenStream, TokenTree};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use syn::visit::{self, Visit};
use syn::{Attribute, Item, ItemMod, Meta, UseTree};

/// Segments of a path, as written.
pub(super) type Segments = Vec<String>;

/// Number of a module in its crate.
pub(super) type Id = usize;

/// One module of a crate.
#[derive(Default)]
pub(super) struct Module {
    pub(super) file: PathBuf,
    pub(super) parent: Option<Id>,
    /// Several where configurations have one each.
    pub(super) children: BTreeMap<String, Vec<Id>>,
    pub(super) items: BTreeSet<String>,
    /// Names that `use` brings into scope, and what they stand for.
    pub(super) imports: BTreeMap<String, Vec<Segments>>,
    pub(super) globs: Vec<Segments>,
    /// Paths in the module's code, those of `use` among them.
    pub(super) paths: BTreeSet<Segments>,
}

/// All modules of a crate; the first is its root.
#[derive(Default)]
pub(super) struct Tree {
    pub(super) modules: Vec<Module>,
    /// Macros by name and exclamation mark, since their scope is the text that follows.
    pub(super) macros: BTreeMap<String, Id>,
}

impl Tree {
    /// Reads the crate with this root file.
    pub(super) fn read(root: &Path) -> Result<Self> {
        let mut tree = Self::default();
        let folder = root.parent().unwrap_or(root).to_owned();
        tree.read_file(root.to_owned(), &folder, None)?;
        Ok(tree)
    }

    /// `below` is the folder of the module's children.
    fn read_file(&mut self, file: PathBuf, below: &Path, parent: Option<Id>) -> Result<Id> {
        let error = || format!("{} cannot be read", file.display());
        let text = std::fs::read_to_string(&file)
            .into_diagnostic()
            .wrap_err_with(error)?;
        let syntax = syn::parse_file(&text)
            .into_diagnostic()
            .wrap_err_with(error)?;
        self.read_items(&file, below, parent, &syntax.items)
    }

    fn read_items(
        &mut self,
        file: &Path,
        below: &Path,
        parent: Option<Id>,
        items: &[Item],
    ) -> Result<Id> {
        let id = self.modules.len();
        let mut reader = Reader::default();
        items.iter().for_each(|item| reader.visit_item(item));
        self.macros
            .extend(reader.macros.into_iter().map(|name| (name, id)));
        self.modules.push(Module {
            file: file.to_owned(),
            parent,
            ..reader.module
        });
        for module in reader.modules {
            for child in self.read_child(file, below, id, &module)? {
                let children = &mut self.modules[id].children;
                children
                    .entry(module.ident.to_string())
                    .or_default()
                    .push(child);
            }
        }
        Ok(id)
    }

    fn read_child(
        &mut self,
        file: &Path,
        below: &Path,
        id: Id,
        module: &ItemMod,
    ) -> Result<Vec<Id>> {
        let folder = below.join(module.ident.to_string());
        if let Some((_, items)) = &module.content {
            return Ok(vec![self.read_items(file, &folder, Some(id), items)?]);
        }
        let beside = file.parent().unwrap_or(file);
        let mut files: Vec<PathBuf> = paths(&module.attrs)
            .iter()
            .map(|path| beside.join(path))
            .collect();
        let plain = [
            below.join(format!("{}.rs", module.ident)),
            folder.join("mod.rs"),
        ];
        files.extend(plain.into_iter().find(|file| file.exists()));
        let folder_of = |file: &Path| match file.file_stem() {
            Some(name) if name != "mod" => file.with_extension(""),
            _ => file.parent().unwrap_or(file).to_owned(),
        };
        files
            .into_iter()
            .map(|file| {
                let folder = folder_of(&file);
                self.read_file(file, &folder, Some(id))
            })
            .collect()
    }
}

/// Files that `#[path]` names, for any configuration.
fn paths(attributes: &[Attribute]) -> Vec<String> {
    let tokens = attributes
        .iter()
        .filter_map(|attribute| match &attribute.meta {
            Meta::NameValue(meta) if meta.path.is_ident("path") => {
                Some(quote_of(&meta.value).into_iter().collect())
            }
            Meta::List(meta) if meta.path.is_ident("cfg_attr") => Some(path_values(&meta.tokens)),
            _ => None,
        });
    tokens.flat_map(|found: Vec<String>| found).collect()
}

/// Text of a string literal.
fn quote_of(value: &syn::Expr) -> Option<String> {
    match value {
        syn::Expr::Lit(syn::ExprLit {
            lit: syn::Lit::Str(text),
            ..
        }) => Some(text.value()),
        _ => None,
    }
}

/// Values of `path = "…"` among the tokens of a `cfg_attr`.
fn path_values(tokens: &TokenStream) -> Vec<String> {
    let tokens: Vec<TokenTree> = tokens.clone().into_iter().collect();
    let value = |three: &[TokenTree]| match three {
        [
            TokenTree::Ident(name),
            TokenTree::Punct(_),
            TokenTree::Literal(value),
        ] if name == "path" => Some(value.to_string().trim_matches('"').to_owned()),
        _ => None,
    };
    tokens.windows(3).filter_map(value).collect()
}

fn segments(path: &syn::Path) -> Segments {
    let names = path.segments.iter();
    names.map(|segment| segment.ident.to_string()).collect()
}

/// Returns true if an item exists in tests only.
fn is_test(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| match &attribute.meta {
        Meta::Path(path) => path.is_ident("test"),
        Meta::List(list) if list.path.is_ident("cfg") => {
            let condition = list.tokens.to_string().replace(' ', "");
            condition == "test" || condition.starts_with("all(test,")
        }
        _ => false,
    })
}

/// Collects what a module defines and names; inner modules are left for the tree.
#[derive(Default)]
struct Reader {
    module: Module,
    modules: Vec<ItemMod>,
    macros: Vec<String>,
}

impl Reader {
    fn import(&mut self, tree: &UseTree, mut path: Segments) {
        match tree {
            UseTree::Path(inner) => {
                path.push(inner.ident.to_string());
                self.import(&inner.tree, path);
            }
            UseTree::Name(name) => self.import_as(&name.ident, path, &name.ident),
            UseTree::Rename(name) => self.import_as(&name.ident, path, &name.rename),
            UseTree::Glob(_) => self.module.globs.push(path),
            UseTree::Group(group) => {
                group
                    .items
                    .iter()
                    .for_each(|item| self.import(item, path.clone()));
            }
        }
    }

    /// `use path::{self}` imports the path itself.
    fn import_as(&mut self, name: &syn::Ident, mut path: Segments, bound: &syn::Ident) {
        let mut bound = bound.to_string();
        if name != "self" {
            path.push(name.to_string());
        } else if bound == "self" {
            bound = path.last().cloned().unwrap_or_default();
        }
        self.module.paths.insert(path.clone());
        self.module.imports.entry(bound).or_default().push(path);
    }

    /// Paths in the arguments of a macro with a grammar of its own.
    fn scan(&mut self, tokens: TokenStream) {
        let mut path = Segments::new();
        let mut colons = 0;
        for token in tokens {
            match token {
                TokenTree::Ident(name) => {
                    if colons != 2 {
                        self.end_path(&mut path);
                    }
                    path.push(name.to_string());
                    colons = 0;
                }
                TokenTree::Punct(mark) if mark.as_char() == ':' => colons += 1,
                TokenTree::Punct(mark) if mark.as_char() == '!' && path.len() == 1 => {
                    path[0].push('!');
                    self.end_path(&mut path);
                }
                TokenTree::Group(group) => {
                    self.end_path(&mut path);
                    self.scan(group.stream());
                }
                _ => self.end_path(&mut path),
            }
        }
        self.end_path(&mut path);
    }

    fn end_path(&mut self, path: &mut Segments) {
        let path = std::mem::take(path);
        if !path.is_empty() {
            self.module.paths.insert(path);
        }
    }

    fn define(&mut self, name: &syn::Ident) {
        self.module.items.insert(name.to_string());
    }
}

/// Name of an item that has one and attributes of any item.
fn heading(item: &Item) -> (&[Attribute], Option<&syn::Ident>) {
    match item {
        Item::Const(item) => (&item.attrs, Some(&item.ident)),
        Item::Enum(item) => (&item.attrs, Some(&item.ident)),
        Item::ExternCrate(item) => (&item.attrs, Some(&item.ident)),
        Item::Fn(item) => (&item.attrs, Some(&item.sig.ident)),
        Item::ForeignMod(item) => (&item.attrs, None),
        Item::Impl(item) => (&item.attrs, None),
        Item::Macro(item) => (&item.attrs, item.ident.as_ref()),
        Item::Mod(item) => (&item.attrs, None),
        Item::Static(item) => (&item.attrs, Some(&item.ident)),
        Item::Struct(item) => (&item.attrs, Some(&item.ident)),
        Item::Trait(item) => (&item.attrs, Some(&item.ident)),
        Item::TraitAlias(item) => (&item.attrs, Some(&item.ident)),
        Item::Type(item) => (&item.attrs, Some(&item.ident)),
        Item::Union(item) => (&item.attrs, Some(&item.ident)),
        Item::Use(item) => (&item.attrs, None),
        _ => (&[], None),
    }
}

impl<'s> Visit<'s> for Reader {
    fn visit_item(&mut self, item: &'s Item) {
        let (attributes, name) = heading(item);
        if is_test(attributes) {
            return;
        }
        match item {
            Item::Use(item) => self.import(&item.tree, Segments::new()),
            Item::Mod(item) => self.modules.push(item.clone()),
            Item::Macro(item) if item.ident.is_some() => {
                self.macros
                    .extend(item.ident.iter().map(|name| format!("{name}!")));
                self.scan(item.mac.tokens.clone());
            }
            Item::ForeignMod(block) => block.items.iter().for_each(|item| match item {
                syn::ForeignItem::Fn(item) => self.define(&item.sig.ident),
                syn::ForeignItem::Static(item) => self.define(&item.ident),
                _ => {}
            }),
            _ => {
                name.into_iter().for_each(|name| self.define(name));
                visit::visit_item(self, item);
            }
        }
    }

    fn visit_path(&mut self, path: &'s syn::Path) {
        self.module.paths.insert(segments(path));
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, call: &'s syn::Macro) {
        match call.path.get_ident() {
            Some(name) => self.module.paths.insert(vec![format!("{name}!")]),
            None => self.module.paths.insert(segments(&call.path)),
        };
        self.scan(call.tokens.clone());
    }

    // Neither is a dependency: an attribute's words are the compiler's, `pub(in path)` names a module above.
    fn visit_attribute(&mut self, _: &'s Attribute) {}
    fn visit_visibility(&mut self, _: &'s syn::Visibility) {}
}
