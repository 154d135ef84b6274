//! The arguments of a traced call, as one object to serialise.

use serde::ser::{Serialize, SerializeMap, Serializer};

/// A list of named references that serialises as an object. It borrows: nothing is copied unless a span is recorded.
pub struct Arguments<Rest = ()> {
    entries: Rest,
}

/// One argument, and those before it.
struct Argument<'a, Rest, T: ?Sized> {
    earlier: Rest,
    name: &'static str,
    value: &'a T,
}

impl Arguments {
    /// No arguments.
    pub const fn new() -> Self {
        Self { entries: () }
    }
}

impl Default for Arguments {
    fn default() -> Self {
        Self::new()
    }
}

impl<Rest: Entries> Arguments<Rest> {
    /// Adds one argument. The type of the list stays opaque, so that messages about one that cannot be serialised do not show it.
    pub fn with<'a, T>(self, name: &'static str, value: &'a T) -> Arguments<impl Entries + use<'a, Rest, T>>
    where
        T: Serialize + ?Sized,
    {
        Arguments {
            entries: Argument {
                earlier: self.entries,
                name,
                value,
            },
        }
    }
}

/// A list of entries that can write itself into a map, in the order of the function's parameters.
pub trait Entries {
    /// Number of entries.
    const COUNT: usize;

    /// Writes each.
    fn write<Map: SerializeMap>(&self, map: &mut Map) -> Result<(), Map::Error>;
}

impl Entries for () {
    const COUNT: usize = 0;

    fn write<Map: SerializeMap>(&self, _map: &mut Map) -> Result<(), Map::Error> {
        Ok(())
    }
}

impl<Rest: Entries, T: Serialize + ?Sized> Entries for Argument<'_, Rest, T> {
    const COUNT: usize = Rest::COUNT + 1;

    fn write<Map: SerializeMap>(&self, map: &mut Map) -> Result<(), Map::Error> {
        self.earlier.write(map)?;
        map.serialize_entry(self.name, self.value)
    }
}

impl<List: Entries> Serialize for Arguments<List> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(List::COUNT))?;
        self.entries.write(&mut map)?;
        map.end()
    }
}

#[cfg(test)]
mod tests {
    use super::Arguments;

    #[test]
    fn arguments_are_an_object_in_the_order_of_the_parameters() {
        let arguments = Arguments::new()
            .with("query", "rust")
            .with("limit", &3)
            .with("after", &None::<u8>);
        assert_eq!(
            serde_json::to_string(&arguments).unwrap(),
            r#"{"query":"rust","limit":3,"after":null}"#
        );
        assert_eq!(serde_json::to_string(&Arguments::new()).unwrap(), "{}");
    }
}
