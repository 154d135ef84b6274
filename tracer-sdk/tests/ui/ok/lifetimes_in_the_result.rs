//! Lifetimes and types that expansions of attributes have stumbled over.
#![deny(warnings)]

use std::future::Future;

pub struct Agent<'a, const N: usize> {
    pub notes: [&'a str; N],
}

impl<'a, const N: usize> Agent<'a, N> {
    #[tracer_sdk::trace]
    pub fn first(&self) -> Option<&'a str> {
        self.notes.first().copied()
    }

    #[tracer_sdk::trace]
    pub fn each(&mut self) -> impl Iterator<Item = &mut &'a str> + '_ {
        self.notes.iter_mut()
    }

    #[tracer_sdk::trace(tool)]
    pub fn later<'b>(&'b self, name: &'b str) -> impl Future<Output = Result<&'b str, std::fmt::Error>> + use<'a, 'b, N> {
        async move { self.notes.iter().copied().find(|note| *note == name).ok_or(std::fmt::Error) }
    }

    #[tracer_sdk::trace]
    pub async fn visit<Visitor>(&mut self, mut visitor: Visitor) -> Result<&mut [&'a str], Box<dyn std::error::Error + Send + Sync + 'a>>
    where
        Visitor: AsyncFnMut(&str) -> Result<(), std::fmt::Error>,
    {
        for note in &self.notes {
            visitor(note).await?;
        }
        Ok(&mut self.notes)
    }
}

fn main() {}
