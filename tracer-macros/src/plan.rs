//! Checks the attribute against its kind and its function, and gives what is to be expanded.

use proc_macro2::Span;
use quote::ToTokens;
use syn::ext::IdentExt;
use syn::{Error, Expr, ExprLit, Lit, Path, Result};

use crate::arguments::{OptionValue, TraceArguments, WrittenOption};
use crate::messages;
use crate::options::{OptionForm, OptionRule, TraceKind, option};
use crate::parameters::{Parameter, parameters};
use crate::parse::TracedFn;
use crate::returned::{ReturnedTypes, Waits, returned};

/// Plan of a function's expansion. Everything in it is allowed.
pub(crate) struct ExpansionPlan<'a> {
    pub(crate) kind: TraceKind,
    pub(crate) name: Option<&'a Expr>,
    pub(crate) model: Option<&'a Expr>,
    pub(crate) provider: Option<&'a Expr>,
    /// The arguments to keep, if any were asked for.
    pub(crate) kept: Option<Vec<Parameter<'a>>>,
    /// Expression that gives the tokens of the answer.
    pub(crate) usage: Option<&'a Expr>,
    /// Span of `result`.
    pub(crate) result: Option<Span>,
    /// In the order written; the flag has no value.
    pub(crate) guardrails: Vec<GuardrailOption<'a>>,
    pub(crate) cancel_on_exceed: bool,
    /// Path of the SDK, when not at `::tracer_sdk`.
    pub(crate) sdk: Option<&'a Path>,
    pub(crate) returned: ReturnedTypes,
}

/// One guardrail.
pub(crate) struct GuardrailOption<'a> {
    pub(crate) word: &'static str,
    pub(crate) value: Option<&'a Expr>,
}

/// Checks everything and reports all mistakes at once.
pub(crate) fn plan<'a>(arguments: &'a TraceArguments, function: &'a TracedFn) -> Result<ExpansionPlan<'a>> {
    let mut plan = ExpansionPlan {
        kind: arguments.kind,
        name: None,
        model: None,
        provider: None,
        kept: None,
        usage: None,
        result: None,
        guardrails: Vec::new(),
        cancel_on_exceed: false,
        sdk: None,
        returned: returned(&function.signature),
    };
    let mut mistakes = Mistakes(None);
    if let Some(constness) = &function.signature.constness {
        mistakes.add(Error::new_spanned(constness, messages::CONST_FN));
    }
    if let Some(late) = arguments.entries.iter().find(|entry| is_kind(entry)) {
        // Other mistakes may be mistakes only for the kind that was not meant.
        return Err(Error::new(late.span, messages::late_kind(&late.word)));
    }
    let mut seen: Vec<&str> = Vec::new();
    for entry in &arguments.entries {
        match rule_of(entry, arguments.kind, &mut seen).and_then(|rule| plan.take(rule, entry, function)) {
            Ok(()) => {}
            Err(mistake) => mistakes.add(mistake),
        }
    }
    if plan.kind == TraceKind::Tool && plan.kept.is_none() && function.signature.inputs.is_empty() {
        // A function without parameters always has the same input: that is known, and nothing of it is secret.
        plan.kept = Some(Vec::new());
    }
    if plan.kind == TraceKind::Llm && !seen.contains(&"model") {
        mistakes.add(Error::new(arguments.kind_span, messages::NO_MODEL));
    }
    mistakes.or(plan)
}

fn is_kind(entry: &WrittenOption) -> bool {
    TraceKind::of(&entry.word).is_some() && matches!(entry.value, OptionValue::Nothing)
}

/// The rule for an option: it exists, is allowed on the kind, and is there for the first time.
fn rule_of<'a>(
    entry: &'a WrittenOption,
    kind: TraceKind,
    seen: &mut Vec<&'a str>,
) -> Result<&'static OptionRule> {
    let word = entry.word.as_str();
    let mistake = |message| Err(Error::new(entry.span, message));
    let Some(rule) = option(word) else {
        return mistake(messages::unknown(word, kind));
    };
    if !rule.kinds.contains(&kind) {
        return mistake(messages::misplaced(rule, kind));
    }
    if seen.contains(&word) {
        return mistake(messages::repeated(word));
    }
    seen.push(word);
    Ok(rule)
}

impl<'a> ExpansionPlan<'a> {
    /// Takes one option into the plan, if it is written as it should be.
    fn take(
        &mut self,
        rule: &'static OptionRule,
        entry: &'a WrittenOption,
        function: &'a TracedFn,
    ) -> Result<()> {
        match (rule.form, &entry.value) {
            (OptionForm::Text, OptionValue::Expression(value)) => {
                if matches!(value, Expr::Lit(ExprLit { lit, .. }) if !matches!(lit, Lit::Str(_))) {
                    return Err(Error::new_spanned(value, messages::wrong_form(rule)));
                }
                match rule.word {
                    "model" => self.model = Some(value),
                    "provider" => self.provider = Some(value),
                    _ => self.name = Some(value),
                }
            }
            (OptionForm::Function, OptionValue::Expression(value)) if !matches!(value, Expr::Lit(_)) => {
                self.usage = Some(value);
            }
            (OptionForm::Number, OptionValue::Expression(value)) => {
                if rule.word == "stop_on_loop_min_repetitions" && is_below_two(value) {
                    return Err(Error::new_spanned(value, messages::TOO_FEW_REPETITIONS));
                }
                self.add_guardrail(rule, Some(value));
            }
            (OptionForm::Flag, OptionValue::Nothing) if rule.word == "result" => {
                self.result = Some(entry.span);
            }
            (OptionForm::Flag | OptionForm::FlagOrShape, OptionValue::Nothing) => {
                self.add_guardrail(rule, None);
            }
            (OptionForm::FlagOrShape, OptionValue::Expression(value)) if is_shape(value) => {
                self.add_guardrail(rule, Some(value));
            }
            (OptionForm::Selection, OptionValue::Nothing) => {
                self.kept = Some(parameters(&function.signature));
            }
            (OptionForm::Selection, OptionValue::Names(names)) => {
                if names.is_empty() {
                    return Err(Error::new(entry.span, messages::NO_NAMES));
                }
                self.kept = Some(selected(names, function)?);
            }
            (OptionForm::Cancel, OptionValue::Expression(value)) => {
                if value.to_token_stream().to_string() != "cancel" {
                    return Err(Error::new_spanned(value, messages::wrong_form(rule)));
                }
                if self.returned.waits == Waits::Never {
                    return Err(Error::new(entry.span, messages::NOT_ASYNC));
                }
                self.cancel_on_exceed = true;
            }
            (OptionForm::Path, OptionValue::Path(path)) => self.sdk = Some(path),
            _ => return Err(Error::new(entry.span, messages::wrong_form(rule))),
        }
        Ok(())
    }

    fn add_guardrail(&mut self, rule: &OptionRule, value: Option<&'a Expr>) {
        let word = rule.word;
        self.guardrails.push(GuardrailOption { word, value });
    }
}

/// The parameters of these names, in the order of the attribute.
fn selected<'a>(names: &'a [syn::Ident], function: &'a TracedFn) -> Result<Vec<Parameter<'a>>> {
    let signature = &function.signature;
    let mut kept: Vec<Parameter<'a>> = Vec::new();
    let mut mistakes = Mistakes(None);
    for name in names {
        if name == "self" {
            mistakes.add(Error::new(name.span(), messages::NO_SELF));
        } else if kept.iter().any(|earlier| earlier.name == name) {
            mistakes.add(Error::new(name.span(), messages::repeated(&name.to_string())));
        } else if let Some(parameter) = parameters(signature)
            .into_iter()
            .find(|parameter| parameter.name == name)
        {
            // The attribute's own token, so that the error of a type that cannot be serialised points to the option.
            kept.push(Parameter { name, ..parameter });
        } else {
            let there: Vec<String> = parameters(signature)
                .iter()
                .map(|parameter| parameter.name.to_string())
                .collect();
            let function = signature.ident.unraw().to_string();
            mistakes.add(Error::new(
                name.span(),
                messages::no_parameter(&function, &name.to_string(), &there),
            ));
        }
    }
    mistakes.or(kept)
}

/// The only word that `stop_on_loop` takes.
fn is_shape(value: &Expr) -> bool {
    matches!(value, Expr::Lit(ExprLit { lit: Lit::Str(word), .. }) if word.value() == "shape")
}

fn is_below_two(value: &Expr) -> bool {
    let Expr::Lit(ExprLit {
        lit: Lit::Int(number),
        ..
    }) = value
    else {
        return false;
    };
    number.base10_parse::<u64>().is_ok_and(|number| number < 2)
}

/// Mistakes found so far, reported together.
struct Mistakes(Option<Error>);

impl Mistakes {
    fn add(&mut self, mistake: Error) {
        match &mut self.0 {
            Some(earlier) => earlier.combine(mistake),
            None => self.0 = Some(mistake),
        }
    }

    /// Returns `wanted`, if there were no mistakes.
    fn or<T>(self, wanted: T) -> Result<T> {
        self.0.map_or(Ok(wanted), Err)
    }
}
