//! Where the values of names come from.

use crate::Numbers;

/// The values that formulas and references read: tensor arguments before the launch, and scalars.
pub trait Inputs {
    /// The value of a name; none where no argument is called that.
    ///
    /// # Errors
    /// Says why an argument that exists cannot be read as numbers.
    fn value(&self, name: &str) -> Result<Option<Numbers>, String>;

    /// All names, for suggestions.
    fn names(&self) -> Vec<String>;
}

impl Inputs for std::collections::BTreeMap<String, Numbers> {
    fn value(&self, name: &str) -> Result<Option<Numbers>, String> {
        Ok(self.get(name).cloned())
    }

    fn names(&self) -> Vec<String> {
        self.keys().cloned().collect()
    }
}
