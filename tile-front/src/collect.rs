//! Owns the collection of device functions: how the tokens of every function that a kernel reaches come together.
//!
//! Beside a device function `f` stands a module of its name with a macro `__tokens!`, which hands the function's own
//! tokens on, and `__fn_0`, `__fn_1`, .., the modules of the functions it lists. A collection asks one function after
//! the other, in an order that follows from what it has, so that the tokens so far are all the state there is.
//! *Guarantees*: a function that is reached by several ways is one function; a cycle ends the collection and is found.
//! *Not here*: what a function is (`function`).

use std::collections::VecDeque;

use proc_macro2::{Ident, Span, TokenStream, TokenTree};
use quote::{format_ident, quote};
use syn::{ItemFn, Path};

use crate::attr::FnAttr;

/// A device function as its macro hands it over.
#[derive(Clone, Debug)]
pub struct Entry {
    /// What tells it from all others.
    pub id: String,
    /// Its attribute.
    pub attr: FnAttr,
    /// The function, without attributes.
    pub item: ItemFn,
    /// Where each function of its `fns(..)` stands in [`Plan::entries`].
    pub calls: Vec<usize>,
}

/// What is known after some answers.
#[derive(Debug, Default)]
pub struct Plan {
    /// Every function reached, each once.
    pub entries: Vec<Entry>,
    /// Where each listed function stands in `entries`.
    pub listed: Vec<usize>,
    /// Whom to ask next: the path of a function's module.
    pub next: Option<TokenStream>,
    /// A function has mistakes, which are reported where it stands.
    pub broken: bool,
}

/// Who asked for a function: the kernel, or an entry.
#[derive(Clone, Copy)]
enum Asker {
    Root,
    Entry(usize),
}

/// The module of function number `i` of those that a function lists, inside its own module.
pub fn inner(i: usize) -> Ident {
    format_ident!("__fn_{}", i)
}

impl Plan {
    /// Works out what the answers say of the functions at `paths`.
    pub fn of(paths: &[TokenStream], answers: &[TokenStream]) -> Plan {
        let mut plan = Plan::default();
        let mut queue: VecDeque<(TokenStream, Asker)> =
            paths.iter().map(|path| (path.clone(), Asker::Root)).collect();
        for answer in answers {
            let Some((path, asker)) = queue.pop_front() else { break };
            let Some(entry) = read(answer) else {
                plan.broken = true;
                continue;
            };
            let index = match plan.entries.iter().position(|e| e.id == entry.id) {
                Some(index) => index,
                None => {
                    let index = plan.entries.len();
                    for i in 0..entry.attr.functions.len() {
                        let inner = inner(i);
                        queue.push_back((quote!(#path::#inner), Asker::Entry(index)));
                    }
                    plan.entries.push(entry);
                    index
                }
            };
            match asker {
                Asker::Root => plan.listed.push(index),
                Asker::Entry(by) => plan.entries[by].calls.push(index),
            }
        }
        plan.next = queue.pop_front().map(|(path, _)| path);
        plan
    }

    /// A cycle of calls, as the names of its functions; the first is also the last.
    pub fn cycle(&self) -> Option<Vec<String>> {
        let mut done = vec![false; self.entries.len()];
        (0..self.entries.len()).find_map(|start| self.cycle_from(start, &mut vec![], &mut done))
    }

    fn cycle_from(&self, at: usize, way: &mut Vec<usize>, done: &mut [bool]) -> Option<Vec<String>> {
        if let Some(first) = way.iter().position(|&i| i == at) {
            let names = way[first..].iter().chain([&at]).map(|&i| self.entries[i].item.sig.ident.to_string());
            return Some(names.collect());
        }
        if done[at] {
            return None;
        }
        way.push(at);
        let found = self.entries[at].calls.iter().find_map(|&next| self.cycle_from(next, way, done));
        way.pop();
        done[at] = true;
        found
    }
}

/// The tokens that a function's macro hands over.
pub fn answer(id: &str, attr: &TokenStream, item: &ItemFn) -> TokenStream {
    let mut bare = item.clone();
    bare.attrs.clear();
    bare.vis = syn::Visibility::Inherited;
    quote! { #[id = #id] #[tile_fn(#attr)] #bare }
}

/// Reads what [`answer`] made; in text that a person wrote, the id is missing and
/// the name stands for it.
pub fn read(tokens: &TokenStream) -> Option<Entry> {
    let mut item = syn::parse2::<ItemFn>(tokens.clone()).ok()?;
    let (mut id, mut attr) = (item.sig.ident.to_string(), FnAttr::default());
    for a in item.attrs.drain(..) {
        match &a.meta {
            syn::Meta::NameValue(pair) if pair.path.is_ident("id") => {
                if let syn::Expr::Lit(syn::ExprLit { lit: syn::Lit::Str(text), .. }) = &pair.value {
                    id = text.value();
                }
            }
            syn::Meta::List(list) if list.path.is_ident("tile_fn") => {
                attr = syn::parse2(list.tokens.clone()).ok()?;
            }
            syn::Meta::Path(_) | syn::Meta::NameValue(_) | syn::Meta::List(_) => {}
        }
    }
    Some(Entry { id, attr, item, calls: vec![] })
}

/// The answers to a collection whose functions stand side by side in a text: the answers themselves, as an expansion
/// keeps them, or functions without ids, which are known by their names.
pub fn replay(paths: &[Path], functions: &[TokenStream]) -> Vec<TokenStream> {
    if functions.iter().any(has_id) {
        return functions.to_vec();
    }
    let entries: Vec<(TokenStream, Entry)> =
        functions.iter().filter_map(|t| read(t).map(|e| (t.clone(), e))).collect();
    let mut queue: VecDeque<String> = paths.iter().map(last_name).collect();
    let (mut answers, mut seen) = (vec![], vec![]);
    while let Some(name) = queue.pop_front() {
        let Some((tokens, entry)) = entries.iter().find(|(_, e)| e.item.sig.ident == name) else {
            answers.push(TokenStream::new());
            continue;
        };
        answers.push(tokens.clone());
        if !seen.contains(&&entry.id) {
            seen.push(&entry.id);
            queue.extend(entry.attr.functions.iter().map(last_name));
        }
    }
    answers
}

fn has_id(tokens: &TokenStream) -> bool {
    syn::parse2::<ItemFn>(tokens.clone()).is_ok_and(|item| item.attrs.iter().any(|a| a.path().is_ident("id")))
}

fn last_name(path: &Path) -> String {
    path.segments.last().map(|s| s.ident.to_string()).unwrap_or_default()
}

/// The tokens where they stand, but with the hygiene of `root`: what is said of them is said of the user's text, not of
/// the macro that carried them.
pub fn at_home(tokens: TokenStream, root: Span) -> TokenStream {
    tokens
        .into_iter()
        .map(|mut token| {
            if let TokenTree::Group(group) = &token {
                let mut inner = proc_macro2::Group::new(group.delimiter(), at_home(group.stream(), root));
                inner.set_span(group.span().resolved_at(root));
                return TokenTree::Group(inner);
            }
            let span = token.span().resolved_at(root);
            token.set_span(span);
            token
        })
        .collect()
}
