//! Owns the attribute: `#[tile_kernel(instances(..), derive(..), crate = path)]`.
//!
//! *Guarantees*: an [`Attr`] lists at least one instance and each entry is well formed by itself. *Not here*:
//! whether the entries fit the function (`instance`).

use proc_macro2::{Ident, Span, TokenStream};
use syn::parse::{Parse, ParseStream};
use syn::{Expr, LitBool, LitInt, Path, Token, parenthesized};

use crate::diag::Diags;
use tile_ir::error::Code;

/// One argument of an instance entry.
#[derive(Clone, Debug)]
pub enum Arg {
    /// A name: an element type.
    Name(Ident),
    /// A size.
    Size(u64, Span),
    /// A switch.
    Flag(bool, Span),
}

impl Arg {
    /// The argument as written.
    pub fn text(&self) -> String {
        match self {
            Arg::Name(ident) => ident.to_string(),
            Arg::Size(v, _) => v.to_string(),
            Arg::Flag(b, _) => b.to_string(),
        }
    }

    /// Where the argument was written.
    pub fn span(&self) -> Span {
        match self {
            Arg::Name(ident) => ident.span(),
            Arg::Size(_, span) | Arg::Flag(_, span) => *span,
        }
    }
}

/// One entry of `instances(..)`.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Its generic arguments.
    pub args: Vec<Arg>,
    /// Sub-groups of a work-group as (rows, cols).
    pub subgroups: (u32, u32),
    /// `host`: the instance is for the host device alone.
    pub host_only: bool,
    /// The entry's opening bracket.
    pub span: Span,
}

/// The parsed attribute.
#[derive(Debug)]
pub struct Attr {
    /// The instances.
    pub entries: Vec<Entry>,
    /// Derived sizes with their defining expressions, in order.
    pub derives: Vec<(Ident, Expr)>,
    /// Device functions the kernel calls.
    pub functions: Vec<Path>,
    /// The crate that generated code names everything through.
    pub krate: Path,
}

/// The crate that generated code names everything through, unless the attribute says otherwise.
pub fn default_crate() -> Path {
    syn::parse_quote!(::tile_std)
}

impl Parse for Entry {
    fn parse(input: ParseStream<'_>) -> syn::Result<Entry> {
        let open: Token![<] = input.parse()?;
        let mut args = vec![];
        while !input.peek(Token![;]) && !input.peek(Token![>]) {
            if input.peek(LitBool) {
                let lit: LitBool = input.parse()?;
                args.push(Arg::Flag(lit.value, lit.span));
            } else if input.peek(LitInt) {
                let lit: LitInt = input.parse()?;
                args.push(Arg::Size(lit.base10_parse()?, lit.span()));
            } else if input.peek(syn::Ident) {
                args.push(Arg::Name(input.parse()?));
            } else {
                return Err(input.error(
                    "an instance argument is an element type, an integer literal, `true` or `false`\n  help: constants \
                     have no value the attribute can see; write the number",
                ));
            }
            if input.peek(Token![,]) {
                input.parse::<Token![,]>()?;
            } else if !input.peek(Token![;]) && !input.peek(Token![>]) {
                return Err(input.error("instance arguments are separated by commas"));
            }
        }
        let mut subgroups = None;
        let mut host_only = false;
        while input.peek(Token![;]) {
            input.parse::<Token![;]>()?;
            let key: Ident = input.parse()?;
            if key == "host" {
                host_only = true;
                continue;
            }
            if key != "subgroups" {
                return Err(syn::Error::new(
                    key.span(),
                    format!(
                        "unknown instance option `{key}`\n  help: the options are `subgroups = (rows, cols)` and `host`"
                    ),
                ));
            }
            input.parse::<Token![=]>()?;
            let pair;
            parenthesized!(pair in input);
            let rows: LitInt = pair.parse()?;
            pair.parse::<Token![,]>()?;
            let cols: LitInt = pair.parse()?;
            if pair.peek(Token![,]) {
                pair.parse::<Token![,]>()?;
            }
            if !pair.is_empty() {
                return Err(pair.error("`subgroups` is a pair: `(rows, cols)`"));
            }
            subgroups = Some((rows.base10_parse()?, cols.base10_parse()?));
        }
        input.parse::<Token![>]>()?;
        let Some(subgroups) = subgroups else {
            return Err(syn::Error::new(
                open.span,
                "an instance names the grid of sub-groups that forms a work-group\n  help: `<bf16, 32, 64; subgroups = (8, 4)>`",
            ));
        };
        Ok(Entry { args, subgroups, host_only, span: open.span })
    }
}

impl Parse for Attr {
    fn parse(input: ParseStream<'_>) -> syn::Result<Attr> {
        let mut attr = Attr { entries: vec![], derives: vec![], functions: vec![], krate: default_crate() };
        while !input.is_empty() {
            if input.peek(Token![crate]) {
                attr.krate = parse_crate(input)?;
            } else {
                let key: Ident = input.parse()?;
                if key == "instances" {
                    let list;
                    parenthesized!(list in input);
                    while !list.is_empty() {
                        attr.entries.push(list.parse()?);
                        if !list.is_empty() {
                            list.parse::<Token![,]>()?;
                        }
                    }
                } else if key == "derive" {
                    attr.derives.extend(parse_derives(input)?);
                } else if key == "fns" {
                    attr.functions.extend(parse_fns(input)?);
                } else {
                    return Err(syn::Error::new(
                        key.span(),
                        format!(
                            "unknown option `{key}`\n  help: the options are `instances(..)`, `derive(..)`, `fns(..)` and `crate = path`"
                        ),
                    ));
                }
            }
            if !input.is_empty() {
                input.parse::<Token![,]>()?;
            }
        }
        Ok(attr)
    }
}

/// The attribute of a device function: `#[tile_fn(fns(..), derive(..), crate = path)]`.
#[derive(Clone, Debug)]
pub struct FnAttr {
    /// Derived sizes with their defining expressions, in order.
    pub derives: Vec<(Ident, Expr)>,
    /// Device functions the function calls.
    pub functions: Vec<Path>,
    /// The crate that generated code names everything through.
    pub krate: Path,
}

impl Default for FnAttr {
    fn default() -> FnAttr {
        FnAttr { derives: vec![], functions: vec![], krate: default_crate() }
    }
}

impl Parse for FnAttr {
    fn parse(input: ParseStream<'_>) -> syn::Result<FnAttr> {
        let mut attr = FnAttr::default();
        while !input.is_empty() {
            if input.peek(Token![crate]) {
                attr.krate = parse_crate(input)?;
            } else {
                let key: Ident = input.parse()?;
                if key == "derive" {
                    attr.derives = parse_derives(input)?;
                } else if key == "fns" {
                    attr.functions = parse_fns(input)?;
                } else {
                    return Err(syn::Error::new(
                        key.span(),
                        format!(
                            "a device function has the options `fns(..)`, `derive(..)` and `crate = path`; here it is \
                             `{key}`\n  help: instances are listed by the kernels that call it"
                        ),
                    ));
                }
            }
            if !input.is_empty() {
                input.parse::<Token![,]>()?;
            }
        }
        Ok(attr)
    }
}

fn parse_crate(input: ParseStream<'_>) -> syn::Result<Path> {
    input.parse::<Token![crate]>()?;
    input.parse::<Token![=]>()?;
    input.call(Path::parse_mod_style)
}

/// `(HALF = BM / 2, ..)`
fn parse_derives(input: ParseStream<'_>) -> syn::Result<Vec<(Ident, Expr)>> {
    let list;
    parenthesized!(list in input);
    let mut out = vec![];
    while !list.is_empty() {
        let name: Ident = list.parse()?;
        list.parse::<Token![=]>()?;
        out.push((name, list.parse()?));
        if !list.is_empty() {
            list.parse::<Token![,]>()?;
        }
    }
    Ok(out)
}

/// `(f, other::g, ..)`
fn parse_fns(input: ParseStream<'_>) -> syn::Result<Vec<Path>> {
    let list;
    parenthesized!(list in input);
    let mut out = vec![];
    while !list.is_empty() {
        out.push(list.call(Path::parse_mod_style)?);
        if !list.is_empty() {
            list.parse::<Token![,]>()?;
        }
    }
    Ok(out)
}

/// Parses the attribute's tokens; reports what is wrong with them and gives `None` if nothing can be compiled.
pub fn parse_attr(tokens: TokenStream, diags: &mut Diags) -> Option<Attr> {
    let attr = match syn::parse2::<Attr>(tokens) {
        Ok(attr) => attr,
        Err(error) => {
            report(error, diags);
            return None;
        }
    };
    if attr.entries.is_empty() {
        diags.push(
            Code::Attribute,
            Span::call_site(),
            "the attribute lists the instances to compile; here it lists none",
            "`#[tile_kernel(instances(<bf16, f32, 32, 64; subgroups = (8, 4)>))]`",
        );
        return None;
    }
    Some(attr)
}

/// Reports what is wrong with an attribute.
pub fn report(error: syn::Error, diags: &mut Diags) {
    for e in error {
        let text = e.to_string();
        let (message, help) = text.split_once("\n  help: ").unwrap_or((&text, ""));
        diags.push(Code::Attribute, e.span(), message, help);
    }
}
